//! Reads structs from the tree through serde, with places for `Spanned`.

use serde::de::value::{BorrowedStrDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_spanned::de::is_spanned;
use thiserror::Error;

use crate::tree::{Entry, Node, Value};

/// An error of serde. The structure was checked before, so users should never see it.
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
    T::deserialize(Reader::Value(node))
}

/// A value for serde. Each entry point calls only one or few methods of the visitor, so that
/// impossible cases of a struct are not compiled.
#[derive(Clone, Copy)]
enum Reader<'a> {
    Value(&'a Node),
    /// Where a value begins or ends, for `Spanned`.
    Offset(usize),
}

impl<'de> Reader<'de> {
    /// A description of a value that has a wrong type.
    fn unexpected(self) -> Unexpected<'de> {
        match self {
            Self::Offset(at) => Unexpected::Unsigned(at as u64),
            Self::Value(node) => match &node.value {
                Value::Text(text) => Unexpected::Str(text),
                Value::Whole(whole) => Unexpected::Signed(*whole),
                Value::Number(number) => Unexpected::Float(*number),
                Value::Flag(flag) => Unexpected::Bool(*flag),
                Value::Date(_) => Unexpected::Other("a date"),
                Value::List(_) => Unexpected::Seq,
                Value::Table(_) => Unexpected::Map,
            },
        }
    }

    fn refuse<V: Visitor<'de>>(self, visitor: &V) -> ReadError {
        ReadError::invalid_type(self.unexpected(), visitor)
    }

    /// A number, a text or a flag.
    fn scalar<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self {
            Self::Offset(at) => visitor.visit_u64(at as u64),
            Self::Value(node) => match &node.value {
                Value::Text(text) => visitor.visit_str(text),
                Value::Whole(whole) => visitor.visit_i64(*whole),
                Value::Number(number) => visitor.visit_f64(*number),
                Value::Flag(flag) => visitor.visit_bool(*flag),
                _ => Err(self.refuse(&visitor)),
            },
        }
    }

    fn entries(self) -> Option<std::slice::Iter<'de, Entry>> {
        match self {
            Self::Value(Node { value: Value::Table(table), .. }) => Some(table.entries.iter()),
            _ => None,
        }
    }
}

/// The fields of a struct.
enum Fields<'de> {
    /// The fields of a table; the value of the key that was given last.
    Table(std::slice::Iter<'de, Entry>, Option<&'de Node>),
    /// The fields of `Spanned`: beginning, end, and value; and the number already given.
    Spanned(&'static [&'static str], &'de Node, usize),
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ReadError> {
        let key = match self {
            Self::Table(entries, value) => entries.next().map(|entry| {
                *value = Some(&entry.node);
                entry.key.as_str()
            }),
            Self::Spanned(names, _, given) => names.get(*given).copied(),
        };
        key.map(|key| seed.deserialize(BorrowedStrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let value = match self {
            Self::Table(_, value) => Reader::Value(value.take().expect("a key was given")),
            Self::Spanned(_, node, given) => {
                *given += 1;
                match given {
                    1 => Reader::Offset(node.place.range().start),
                    2 => Reader::Offset(node.place.range().end),
                    _ => Reader::Value(node),
                }
            }
        };
        seed.deserialize(value)
    }
}

impl<'de> IntoDeserializer<'de, ReadError> for Reader<'de> {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! scalars {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
            self.scalar(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self {
            Self::Value(Node { value: Value::List(_), .. }) => self.deserialize_seq(visitor),
            Self::Value(Node { value: Value::Table(_), .. }) => self.deserialize_map(visitor),
            _ => self.scalar(visitor),
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

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self {
            Self::Value(Node { value: Value::List(list), .. }) => {
                visitor.visit_seq(SeqDeserializer::new(list.iter().map(Reader::Value)))
            }
            _ => Err(self.refuse(&visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _length: usize,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let entries = self.entries().ok_or_else(|| self.refuse(&visitor))?;
        visitor.visit_map(Fields::Table(entries, None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let fields = match self {
            Self::Value(node) if is_spanned(name) => Fields::Spanned(fields, node, 0),
            _ => Fields::Table(self.entries().ok_or_else(|| self.refuse(&visitor))?, None),
        };
        visitor.visit_map(fields)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self {
            // the enums of a scenario are words without content
            Self::Value(Node { value: Value::Text(text), .. }) => {
                visitor.visit_enum(text.as_str().into_deserializer())
            }
            _ => Err(self.refuse(&visitor)),
        }
    }

    scalars! {
        deserialize_bool deserialize_i64 deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64
        deserialize_f64 deserialize_str deserialize_string
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u128 f32 char bytes byte_buf unit unit_struct tuple_struct identifier
        ignored_any
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
