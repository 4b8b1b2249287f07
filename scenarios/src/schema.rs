//! Derives the schema of scenarios from the raw structs: only in tests, which keep it as `schema.json`.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value as Json};

use crate::raw::RawScenario;

/// The JSON Schema of a scenario.
fn derived() -> Schema {
    let settings = SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<RawScenario>();
    tidy(schema.ensure_object());
    schema.insert("title".into(), "foretell scenario".into());
    schema
}

/// Adapts serde's `Option` and our defaults to TOML: there is no `null`, and keys with a default are not required.
fn tidy(schema: &mut Map<String, Json>) {
    if let Some(Json::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Json::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let tagged = schema.contains_key("x-tag");
    for choice in ["anyOf", "oneOf"] {
        if let Some(Json::Array(branches)) = schema.get_mut(choice) {
            branches.retain(|branch| branch["type"] != "null");
            if let ([Json::Object(only)], false) = (branches.as_slice(), tagged) {
                let only = only.clone();
                schema.remove(choice);
                for (key, value) in only {
                    schema.entry(key).or_insert(value);
                }
            }
        }
    }
    schema.remove("format");
    // Descriptions become one paragraph; line breaks of the source are removed.
    if let Some(Json::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let has_default: Vec<String> = schema
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
        .filter(|(_, property)| property.get("default").is_some())
        .map(|(name, _)| name.clone())
        .collect();
    if let Some(Json::Array(required)) = schema.get_mut("required") {
        required.retain(|name| !has_default.iter().any(|other| name == other));
        if required.is_empty() {
            schema.remove("required");
        }
    }
    for (key, value) in schema.iter_mut() {
        match value {
            Json::Object(object) if key == "properties" => {
                for property in object.values_mut() {
                    property.as_object_mut().map(tidy);
                }
            }
            Json::Object(object) if key == "items" || key == "additionalProperties" => tidy(object),
            Json::Array(list) if matches!(key.as_str(), "anyOf" | "oneOf") => {
                for branch in list {
                    branch.as_object_mut().map(tidy);
                }
            }
            _ => {}
        }
    }
}

/// Gives a table the key `name` of another table, described by `about`.
pub(crate) fn take_property(schema: &mut Schema, mut from: Schema, name: &str, about: &str) {
    let properties = |schema| match Map::get_mut(schema, "properties") {
        Some(Json::Object(properties)) => properties,
        _ => panic!("a table has keys"),
    };
    let mut property = properties(from.ensure_object()).remove(name).expect("the table has it");
    property["description"] = about.into();
    properties(schema.ensure_object()).insert(name.to_owned(), property);
}

/// Makes every key of a table (and of inner tables, but not of those in lists) optional and without
/// a default; drops the keys `without`.
pub(crate) fn make_partial(schema: &mut Schema, without: &[&str]) {
    fn partial(schema: &mut Map<String, Json>) {
        schema.remove("required");
        for property in
            schema.get_mut("properties").and_then(Json::as_object_mut).into_iter().flatten()
        {
            if let Json::Object(property) = property.1 {
                property.remove("default");
                property.remove("x-required");
                partial(property);
            }
        }
    }
    let schema = schema.ensure_object();
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        for name in without {
            properties.remove(*name);
        }
    }
    partial(schema);
}

#[cfg(test)]
mod tests {
    use super::derived;

    #[test]
    fn the_kept_schema_is_that_of_the_structs() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.json");
        let text = format!("{}\n", serde_json::to_string(derived().as_value()).unwrap());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(file, &text).unwrap();
        }
        let kept = std::fs::read_to_string(file).unwrap_or_default();
        assert!(kept == text, "`{file}` is not up to date; set UPDATE=1 and run the test twice");
    }
}
