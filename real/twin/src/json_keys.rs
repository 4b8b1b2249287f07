//! Keys of a JSON document that occur twice, and keys that a reader does not use.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The paths of keys that occur twice in their table. A reader gets the last of them.
///
/// Errors if the text is no JSON.
pub(crate) fn duplicates(text: &str) -> Result<Vec<String>, serde_json::Error> {
    let mut found = Vec::new();
    let walk = Walk { path: String::new(), found: &mut found };
    walk.deserialize(&mut serde_json::Deserializer::from_str(text))?;
    Ok(found)
}

/// Visits a value, and all values in it.
struct Walk<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let path = joined(&self.path, &key);
            if !seen.insert(key) {
                self.found.push(path.clone());
            }
            map.next_value_seed(Walk { path, found: self.found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Walk { path: self.path.clone(), found: self.found })?.is_some()
        {
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Adds the paths of keys of `written` that are not in `used`, which has all keys that a reader knows. Keys without a
/// value count as absent.
pub(crate) fn unused(written: &Value, used: &Value, path: &str, found: &mut BTreeSet<String>) {
    match (written, used) {
        (Value::Object(written), Value::Object(used)) => {
            for (key, value) in written.iter().filter(|(_, value)| !value.is_null()) {
                let path = joined(path, key);
                match used.get(key) {
                    Some(used) => unused(value, used, &path, found),
                    None => {
                        found.insert(path);
                    }
                }
            }
        }
        (Value::Array(written), Value::Array(used)) => {
            let written = written.iter().filter(|value| !value.is_null());
            for (written, used) in written.zip(used) {
                unused(written, used, path, found);
            }
        }
        _ => {}
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Names in backticks, the first of them only if there are many.
pub(crate) fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(MOST);
    if more == 0 { shown.join(", ") } else { format!("{} and {more} more", shown.join(", ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_that_occur_twice_are_found_at_any_depth() {
        let text = r#"{"a": {"b": 1, "c": [{"d": null, "d": 2}], "b": "x"}, "e": -1.5, "a": true}"#;
        assert_eq!(duplicates(text).unwrap(), ["a.c.d", "a.b", "a"]);
        assert!(duplicates("{").is_err());
    }

    #[test]
    fn keys_that_are_not_known_are_found() {
        let mut found = BTreeSet::new();
        let written = json!({"a": {"x": 1, "y": null}, "l": [{"k": 1, "m": 2}], "z": 3});
        let used = json!({"a": {"b": null}, "l": [{"k": 1}]});
        unused(&written, &used, "", &mut found);
        assert_eq!(found.iter().collect::<Vec<_>>(), ["a.x", "l.m", "z"]);
    }
}
