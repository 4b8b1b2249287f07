//! The smallest parts of a scenario as written: quantities, shares, names.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use foretell_units::{Bytes, Rate, SimSpan};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_spanned::Spanned;

use crate::source::Place;

/// Something and where it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent, bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct At<T>(Spanned<T>);

impl<T> At<T> {
    pub(crate) fn get(&self) -> &T {
        self.0.get_ref()
    }

    pub(crate) fn place(&self) -> Place {
        self.0.span().into()
    }
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }

    fn inline_schema() -> bool {
        true
    }
}

/// A quantity that is written as a text with a unit.
pub(crate) trait Unit: FromStr<Err: fmt::Display> {
    /// For the schema: what it is, a regular expression, and an example.
    const WHAT: &'static str;
    const PATTERN: &'static str;
    const EXAMPLE: &'static str;
}

impl Unit for Bytes {
    const WHAT: &'static str = "a size";
    const PATTERN: &'static str =
        r"^\s*(\+?[0-9][0-9_.]*(e-?[0-9]+)?\s*([KMGTP]iB|[kKMGTP]B|B)|0)\s*$";
    const EXAMPLE: &'static str = "512 MiB";
}

impl Unit for SimSpan {
    const WHAT: &'static str = "a time";
    const PATTERN: &'static str =
        r"^\s*(\+?[0-9][0-9_.]*(e-?[0-9]+)?\s*(s|ms|us|µs|ns|min|h)|0)\s*$";
    const EXAMPLE: &'static str = "10 ms";
}

impl Unit for Rate {
    const WHAT: &'static str = "a rate";
    const PATTERN: &'static str =
        r"^\s*\+?[0-9][0-9_.]*(e-?[0-9]+)?\s*([kKMG]?bit/s|[kMG]?B/s|[KMG]iB/s)\s*$";
    const EXAMPLE: &'static str = "1 Gbit/s";
}

/// The text of a quantity.
#[derive(Clone, Debug)]
pub(crate) struct Quantity<T> {
    pub(crate) text: String,
    unit: PhantomData<T>,
}

impl<'de, T> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self { text, unit: PhantomData })
    }
}

impl<T: Unit> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        T::WHAT.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "pattern": T::PATTERN, "x-what": T::WHAT, "examples": [T::EXAMPLE]
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// A size.
pub(crate) type Size = At<Quantity<Bytes>>;
/// A length of time.
pub(crate) type Time = At<Quantity<SimSpan>>;
/// A data rate.
pub(crate) type Speed = At<Quantity<Rate>>;

/// Implements the schema of a type that is written in more than one way.
macro_rules! written_as {
    ($type:ty, $what:literal, $schema:tt) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $what.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }

            fn inline_schema() -> bool {
                true
            }
        }
    };
}

/// A share: a number from 0 to 1, or a percentage.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Share {
    Number(f64),
    Text(String),
}

impl Share {
    /// The number, if it is one from 0 to 1.
    pub(crate) fn number(&self) -> Option<f64> {
        let share = match self {
            Self::Number(share) => Some(*share),
            Self::Text(text) => text
                .trim()
                .strip_suffix('%')
                .and_then(|percent| percent.trim().parse::<f64>().ok())
                .map(|percent| percent / 100.0),
        };
        share.filter(|share| (0.0..=1.0).contains(share))
    }
}

written_as!(Share, "a share", {
    "x-what": "a share",
    "anyOf": [
        { "type": "number", "minimum": 0, "maximum": 1 },
        { "type": "string", "pattern": r"^\s*[0-9][0-9.]*\s*%\s*$" }
    ],
    "examples": [0.7, "70%"]
});

/// A frequency: requests per second, or a text such as `200/s`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Frequency {
    Number(f64),
    Text(String),
}

written_as!(Frequency, "a frequency", {
    "x-what": "a frequency",
    "anyOf": [
        { "type": "number", "exclusiveMinimum": 0 },
        { "type": "string", "pattern": r"^\s*[0-9][0-9_.]*\s*/\s*(s|min|h)\s*$" }
    ],
    "examples": [200, "200/s"]
});

/// A whole number, or a word instead.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum CountOrWord {
    Count(i64),
    Word(#[allow(dead_code, reason = "there is one word")] String),
}

written_as!(CountOrWord, "a count or `all`", {
    "anyOf": [
        { "type": "integer", "minimum": 1, "maximum": 255 },
        { "type": "string", "enum": ["all"] }
    ]
});

/// A size, or a percentage of another one, or a word.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct PartSize(pub(crate) String);

written_as!(PartSize, "a size or a percentage", {
    "type": "string", "x-what": "a size or a percentage", "examples": ["64 MiB", "10%"]
});

/// The new value of a setting. It is read where it is set.
#[derive(Clone, Debug)]
pub(crate) struct Setting;

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

written_as!(Setting, "a setting", {
    "anyOf": [
        { "type": "string" },
        { "type": "number" },
        { "type": "array", "items": { "type": "string" }, "minItems": 1 }
    ],
    "x-what": "a text, a number or a list of texts"
});

/// Hosts by name: one pattern, or a list of them.
#[derive(Clone, Debug)]
pub(crate) enum HostPatterns {
    One(String),
    Many(Vec<At<String>>),
}

impl<'de> Deserialize<'de> for HostPatterns {
    // by hand: what serde makes of `untagged` loses the places
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Patterns;
        impl<'de> Visitor<'de> for Patterns {
            type Value = HostPatterns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("hosts: a text, or a list of texts")
            }

            fn visit_str<E>(self, text: &str) -> Result<HostPatterns, E> {
                Ok(HostPatterns::One(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<HostPatterns, A::Error> {
                let mut list = Vec::new();
                while let Some(pattern) = seq.next_element()? {
                    list.push(pattern);
                }
                Ok(HostPatterns::Many(list))
            }
        }
        deserializer.deserialize_any(Patterns)
    }
}

written_as!(HostPatterns, "hosts", {
    "anyOf": [
        { "type": "string", "minLength": 1 },
        { "type": "array", "items": { "type": "string", "minLength": 1 }, "minItems": 1 }
    ],
    "examples": ["brick[0-4]", ["brick[0-2]", "fast0"]]
});
