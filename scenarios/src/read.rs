//! Reading structs from the tree through serde, with places for `Spanned`.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_spanned::de::{SpannedDeserializer, is_spanned};
use thiserror::Error;

use crate::tree::{Entry, Node, Value};

/// What serde says; the structure was checked before, so nobody should ever see it.
#[derive(Debug, Error)]
#[error("{0}")]
pub(crate) struct ReadError(String);

impl serde::de::Error for ReadError {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// Reads a struct.
pub(crate) fn read<T: DeserializeOwned>(node: &Node) -> Result<T, ReadError> {
    T::deserialize(Reader(node))
}

/// A value as serde wants it.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a Node);

impl<'de> IntoDeserializer<'de, ReadError> for Reader<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match &self.0.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Whole(whole) => visitor.visit_i64(*whole),
            Value::Number(number) => visitor.visit_f64(*number),
            Value::Flag(flag) => visitor.visit_bool(*flag),
            Value::Date(date) => Err(ReadError::custom(format!("`{date}` is a date"))),
            Value::List(list) => visitor.visit_seq(SeqDeserializer::new(list.iter().map(Reader))),
            Value::Table(table) => {
                let pair = |entry: &'de Entry| (entry.key.as_str(), Reader(&entry.node));
                visitor.visit_map(MapDeserializer::new(table.entries.iter().map(pair)))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if is_spanned(name) {
            visitor.visit_map(SpannedDeserializer::new(self, self.0.place.range()))
        } else {
            self.deserialize_any(visitor)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match &self.0.value {
            // the closed sets of a scenario are words without content
            Value::Text(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_spanned::Spanned;

    use super::*;
    use crate::tree::parse_value;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        a: Spanned<String>,
        b: Option<Vec<i64>>,
    }

    #[test]
    fn structs_get_values_and_places() {
        let pair: Pair = read(&parse_value("{ a = \"x\", b = [1, 2] }", 100).unwrap()).unwrap();
        assert_eq!((pair.a.get_ref().as_str(), pair.a.span()), ("x", 106..109));
        assert_eq!(pair.b.unwrap(), [1, 2]);
        assert!(read::<Pair>(&parse_value("{ a = \"x\", c = 1 }", 0).unwrap()).is_err());
        assert!(read::<Pair>(&parse_value("1", 0).unwrap()).is_err());
    }
}
