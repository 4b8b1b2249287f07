//! Describes shapes and values in words.

use serde_json::Value as Json;

use crate::names::one_of;
use crate::shape::{KeyShape, Shape};
use crate::tree::Value;

/// The text for the middle of a sentence: in lower case unless the first word is a name.
pub(super) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first)
            if chars.clone().next().is_some_and(char::is_lowercase) || text.starts_with("A ") =>
        {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// An example of a key's value.
pub(super) fn example(key: Option<&KeyShape>) -> Option<String> {
    let key = key?;
    if let Some(example) = key.examples.first() {
        return Some(format!("for example `{} = {example}`", key.name));
    }
    match &key.shape {
        Shape::Table(table) => {
            let needed: Vec<String> = table
                .keys
                .iter()
                .filter(|key| key.required && key.when.is_empty())
                .map(|key| match key.examples.first() {
                    Some(example) => format!("{} = {example}", key.name),
                    None => format!("{} = ...", key.name),
                })
                .collect();
            (!needed.is_empty())
                .then(|| format!("for example `{} = {{ {} }}`", key.name, needed.join(", ")))
        }
        Shape::List { item, .. } => match &**item {
            Shape::Table(table) => {
                let first = table.keys.iter().find(|key| key.required)?;
                let value = first.examples.first().map_or("...".to_owned(), Json::to_string);
                Some(format!("for example `{} = [{{ {} = {value} }}]`", key.name, first.name))
            }
            _ => None,
        },
        Shape::Text { words } if !words.is_empty() => {
            Some(format!("one of {}", one_of(words.iter().map(String::as_str))))
        }
        _ => None,
    }
}

/// A plain value as it is written; empty for other values.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("`{text}`"),
        Value::Whole(whole) => whole.to_string(),
        // as it is written: 5.0, not 5
        Value::Number(number) => format!("{number:?}"),
        Value::Flag(flag) => flag.to_string(),
        Value::Date(date) => format!("the date {date}"),
        Value::List(_) | Value::Table(_) => String::new(),
    }
}

/// A description of a shape, for messages.
pub(super) fn describe(shape: &Shape) -> String {
    match shape {
        Shape::Text { words } if words.is_empty() => "a text in quotes".to_owned(),
        Shape::Text { words } if words.len() == 1 => one_of(words.iter().map(String::as_str)),
        Shape::Text { words } => format!("one of {}", one_of(words.iter().map(String::as_str))),
        Shape::Whole { .. } => "a whole number".to_owned(),
        Shape::Number { .. } => "a number".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::List { .. } => "a list".to_owned(),
        Shape::Table(table) if table.short.is_some() => "a text in quotes, or a table".to_owned(),
        Shape::Table(_) | Shape::Map(_) | Shape::Tagged { .. } => "a table".to_owned(),
        Shape::Either(branches) => branches.iter().map(describe).collect::<Vec<_>>().join(", or "),
    }
}
