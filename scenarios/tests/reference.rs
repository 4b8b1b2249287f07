//! The schema and the reference agree with the program.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use foretell_scenarios::{schema_text, shipped_names};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn schema() -> Value {
    serde_json::from_str(&schema_text()).unwrap()
}

/// Compares a file with its expected content, or writes it if `UPDATE` is set.
fn keep(file: &Path, text: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(file, text).unwrap();
    }
    let found = fs::read_to_string(file).unwrap_or_default();
    let name = file.display();
    assert!(found == text, "`{name}` is not up to date; set UPDATE=1 and run the test again");
}

#[test]
fn the_schema_is_that_of_the_program() {
    keep(&root().join("scenario.schema.json"), &schema_text());
}

/// The branch of a schema that is a table, if a text may stand for it.
fn long_form(schema: &Value) -> &Value {
    let branches = schema["anyOf"].as_array().into_iter().flatten();
    branches.into_iter().find(|branch| branch["type"] == "object").unwrap_or(schema)
}

/// A table of the schema by its path: `*` is any name, `[]` an element of a list, and a kind
/// selects one of several tables.
fn table<'a>(schema: &'a Value, path: &str) -> &'a Value {
    path.split('/').filter(|step| !step.is_empty()).fold(long_form(schema), |schema, step| {
        let inner = match step {
            "*" => &schema["additionalProperties"],
            "[]" => &schema["items"],
            name => match schema["oneOf"].as_array() {
                Some(branches) => branches
                    .iter()
                    .find(|branch| {
                        let tag = |key: &str| branch["properties"][key]["enum"][0] == name;
                        tag("kind") || tag("system")
                    })
                    .unwrap_or_else(|| panic!("{path}: no kind {name}")),
                None => &schema["properties"][name],
            },
        };
        assert!(inner.is_object(), "{path}: nothing at {step}");
        long_form(inner)
    })
}

/// The values of a key, for readers.
fn takes(property: &Value) -> String {
    if let Some(what) = property["x-what"].as_str() {
        return what.trim_start_matches("a ").to_owned();
    }
    if let Some(words) = property["enum"].as_array() {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    let branches = property["oneOf"].as_array().or(property["anyOf"].as_array());
    if let Some(branches) = branches {
        let mut parts: Vec<String> = branches
            .iter()
            .map(|branch| match branch["const"].as_str() {
                Some(word) => format!("`\"{word}\"`"),
                None => takes(branch),
            })
            .collect();
        parts.dedup();
        let separator = if property["oneOf"].is_array() { ", " } else { " or " };
        return parts.join(separator);
    }
    match property["type"].as_str() {
        Some("string") => "text".to_owned(),
        Some("integer") => {
            let bound = |name: &str| property[name].as_i64();
            match (bound("minimum"), bound("maximum")) {
                (Some(low), Some(high)) => format!("whole number, {low} to {high}"),
                (Some(low), None) => format!("whole number, {low} or more"),
                _ => "whole number".to_owned(),
            }
        }
        Some("number") => {
            let bound = |name: &str| property[name].as_f64();
            match (bound("minimum"), bound("maximum")) {
                (Some(low), Some(high)) => format!("number, {low} to {high}"),
                _ => "number".to_owned(),
            }
        }
        Some("boolean") => "`true`, `false`".to_owned(),
        Some("array") => format!("list of {}", takes(&property["items"])),
        Some("object") => "table".to_owned(),
        other => panic!("no words for {other:?}: {property}"),
    }
}

/// The keys of a table as a table of Markdown.
fn keys(table: &Value, partial: bool) -> String {
    let required = table["required"].as_array();
    let mut text = String::from("| key | takes | default | meaning |\n| --- | --- | --- | --- |\n");
    for (name, property) in table["properties"].as_object().unwrap() {
        let is_required = required.is_some_and(|list| list.iter().any(|other| other == name))
            || property["x-required"] == true;
        let default = match &property["default"] {
            Value::Null if partial => "as in the group".to_owned(),
            Value::Null if is_required => "must be given".to_owned(),
            Value::Null => "none".to_owned(),
            Value::Object(default) if !default.is_empty() => {
                let part = |(key, value): (&String, &Value)| format!("{key} = {value}");
                let parts: Vec<_> = default.iter().map(part).collect();
                format!("`{{ {} }}`", parts.join(", "))
            }
            Value::Object(_) => "all defaults".to_owned(),
            value => format!("`{value}`"),
        };
        let default = if default == "all defaults" && takes(property) == "table" && is_section(name)
        {
            "none".to_owned()
        } else {
            default
        };
        let mut meaning = property["description"].as_str().unwrap_or_default().to_owned();
        assert!(!meaning.is_empty(), "`{name}` has no description");
        for (neighbour, values) in property["x-when"].as_object().into_iter().flatten() {
            let values = values.as_array().unwrap().iter().map(|v| format!("`{neighbour} = {v}`"));
            let _ = write!(meaning, " Only with {}.", values.collect::<Vec<_>>().join(" or "));
        }
        for branch in property["oneOf"].as_array().into_iter().flatten() {
            if let (Some(word), Some(about)) =
                (branch["const"].as_str(), branch["description"].as_str())
            {
                let _ = write!(meaning, "<br>`{word}`: {about}");
            }
        }
        let _ = writeln!(text, "| `{name}` | {} | {default} | {meaning} |", takes(property));
    }
    text
}

/// Whether a key of the scenario is a section of names, which is empty by default.
fn is_section(name: &str) -> bool {
    ["node", "client", "host", "volume", "workload", "cpu", "device"].contains(&name)
}

#[test]
fn the_reference_has_every_key_with_its_default() {
    let schema = schema();
    let file = root().join("../docs/scenario.md");
    let Ok(found) = fs::read_to_string(&file) else {
        println!("skipped: docs/scenario.md is absent");
        return;
    };
    let mut shown = Vec::new();
    let mut text = String::new();
    let mut inside = false;
    for line in found.lines() {
        if let Some(path) = line.strip_prefix("<!-- keys: ").and_then(|l| l.strip_suffix(" -->")) {
            let table = table(&schema, path);
            let _ = write!(text, "{line}\n{}", keys(table, path == "/host/*"));
            shown.push(table.to_string());
            inside = true;
        } else if line == "<!-- end -->" {
            inside = false;
        }
        if !inside {
            let _ = writeln!(text, "{line}");
        }
    }
    keep(&file, &text);
    let mut missing = Vec::new();
    let is_cost = |table: &Value| {
        let keys = table["properties"].as_object().into_iter().flatten();
        keys.map(|(name, _)| name.as_str()).eq(["fixed", "rate"])
    };
    walk(&schema, "", &mut |path, table| {
        if !shown.contains(&table.to_string()) && !is_cost(table) {
            missing.push(path.to_owned());
        }
    });
    // for `[host]` and for differences from a profile, the reference only says that they are like others
    missing.retain(|path| !path.starts_with("/host/*/") && !path.contains("/cpu/"));
    assert!(missing.is_empty(), "not in docs/scenario.md: {missing:?}");
}

/// Visits every table with keys.
fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Value)) {
    let schema = long_form(schema);
    for branch in schema["oneOf"].as_array().into_iter().flatten() {
        walk(branch, path, visit);
    }
    if let Some(properties) = schema["properties"].as_object() {
        visit(path, schema);
        for (name, property) in properties {
            walk(property, &format!("{path}/{name}"), visit);
        }
    }
    if schema["additionalProperties"].is_object() {
        walk(&schema["additionalProperties"], &format!("{path}/*"), visit);
    }
    if schema["items"].is_object() {
        walk(&schema["items"], &format!("{path}/[]"), visit);
    }
}

/// The place where a document does not match the schema (patterns of texts are not checked).
fn mismatch(value: &Value, schema: &Value, path: &str) -> Option<String> {
    let fits = |branch: &&Value| mismatch(value, branch, path).is_none();
    if let Some(branches) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
        let count = branches.iter().filter(fits).count();
        let exactly_one = schema["oneOf"].is_array();
        return (count == 0 || exactly_one && count > 1).then(|| format!("{path}: {count} fit"));
    }
    let right = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64(),
        Some("number") => value.is_number(),
        _ => true,
    };
    if !right || schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
        return Some(format!("{path}: {value}"));
    }
    if schema["const"].is_string() && schema["const"] != *value {
        return Some(format!("{path}: {value}"));
    }
    for name in schema["required"].as_array().into_iter().flatten() {
        if value[name.as_str().unwrap()].is_null() {
            return Some(format!("{path}: no {name}"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        let inner_schema = match &schema["properties"][name] {
            Value::Null => &schema["additionalProperties"],
            property => property,
        };
        if !inner_schema.is_object() {
            return Some(format!("{path}.{name} is unknown"));
        }
        if let Some(fault) = mismatch(inner, inner_schema, &format!("{path}.{name}")) {
            return Some(fault);
        }
    }
    let items = value.as_array().into_iter().flatten();
    items.into_iter().find_map(|item| mismatch(item, &schema["items"], &format!("{path}[]")))
}

#[test]
fn scenarios_have_the_form_of_the_schema() {
    let schema = schema();
    for name in shipped_names() {
        let text = fs::read_to_string(root().join(format!("{name}.toml"))).unwrap();
        let value: Value = toml::from_str(&text).unwrap();
        assert_eq!(mismatch(&value, &schema, name), None);
        // also the resolved scenario: all defaults match the schema
        if name != "trace-replay" {
            let document = foretell_scenarios::Document::shipped(name).unwrap().unwrap();
            let value: Value = toml::from_str(&document.resolved().unwrap()).unwrap();
            assert_eq!(mismatch(&value, &schema, name), None);
        }
    }
    let wrong: Value = toml::from_str("[volume.v]\nsize = 1").unwrap();
    assert!(mismatch(&wrong, &schema, "").is_some());
}
