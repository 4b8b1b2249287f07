//! Walks through a tree along its shape. Errors are reported, and the wrong parts removed.

use std::fmt::Write;

use serde_json::Value as Json;

use super::words::{describe, example, lower_first, plain};
use crate::error::{Problem, Problems};
use crate::names::{belongs, meant, nearest, one_of};
use crate::shape::{KeyShape, Shape, TableShape};
use crate::source::Place;
use crate::system::FOR_TESTS;
use crate::tree::{Entry, Node, Table, Value};

/// A check in progress.
pub(super) struct Checker<'a> {
    pub(super) problems: &'a mut Problems,
    /// The path of the current position.
    pub(super) path: &'a mut String,
    /// The name of the outermost table, for messages.
    pub(super) whole: &'static str,
}

impl Checker<'_> {
    /// Checks a value. Returns `false` if it is unusable. `place`: the place of its key.
    pub(super) fn value(
        &mut self,
        node: &mut Node,
        shape: &Shape,
        place: Place,
        key: Option<&KeyShape>,
    ) -> bool {
        if !shape.fits(node) {
            self.wrong_type(node, shape, key);
            return false;
        }
        match (shape, &mut node.value) {
            (Shape::Either(branches), _) => {
                let branch = branches.iter().find(|branch| branch.fits(node));
                if let (Some(Shape::Text { words }), Some(text)) = (branch, node.text())
                    && !words.is_empty()
                    && !words.iter().any(|word| word == text)
                {
                    self.wrong_type(node, shape, key);
                    return false;
                }
                branch.is_none_or(|branch| self.value(node, branch, place, key))
            }
            (Shape::Text { words }, Value::Text(text)) => {
                if words.is_empty() || words.iter().any(|word| word == text) {
                    return true;
                }
                let words = words.iter().map(String::as_str);
                let message = match nearest(text, words.clone()) {
                    Some(_) => format!("`{}` cannot be `{text}`", self.path),
                    None => format!(
                        "`{}` cannot be `{text}`; it is one of {}",
                        self.path,
                        one_of(words.clone())
                    ),
                };
                let help = nearest(text, words.clone())
                    .map(|word| format!("did you mean `{word}`? There are {}", one_of(words)));
                self.problems.add(Problem::new(node.place, message).maybe_help(help));
                false
            }
            (Shape::Whole { min, max }, Value::Whole(found)) => {
                let (min, max, found) = (*min, *max, *found);
                if (min..=max).contains(&found) {
                    return true;
                }
                let wanted = if max == i64::MAX {
                    format!("{min} or more")
                } else {
                    format!("from {min} to {max}")
                };
                let message = format!("`{}` is {found}, and must be {wanted}", self.path);
                self.problems.add(Problem::new(node.place, message));
                false
            }
            (Shape::Number { min, max, above }, Value::Whole(_) | Value::Number(_)) => {
                let found = match node.value {
                    Value::Whole(whole) => whole as f64,
                    Value::Number(number) => number,
                    _ => unreachable!("it fits"),
                };
                self.number(found, *min, *max, *above, node.place)
            }
            (Shape::List { item, at_least }, Value::List(list)) => {
                if list.len() < *at_least {
                    let message = format!("`{}` is an empty list", self.path);
                    self.problems.add(Problem::new(node.place, message).maybe_help(example(key)));
                    return false;
                }
                let mut good = true;
                let length = self.path.len();
                for (index, node) in list.iter_mut().enumerate() {
                    let _ = write!(self.path, "[{index}]");
                    let place = node.place;
                    good &= self.value(node, item, place, None);
                    self.path.truncate(length);
                }
                good
            }
            (Shape::Map(inner), Value::Table(table)) => {
                self.entries(table, |this, entry| {
                    this.value(&mut entry.node, inner, entry.key_place, None)
                });
                true
            }
            (Shape::Table(inner), Value::Text(_)) => {
                if let Some(short) = &inner.short {
                    node.expand(short);
                }
                self.value(node, shape, place, key)
            }
            (Shape::Table(inner), Value::Table(table)) => self.table(table, inner, place),
            (Shape::Tagged { tag, branches }, Value::Table(table)) => {
                let Some(inner) = self.branch(table, tag, branches, place) else { return false };
                self.unknown_keys(table, tag, inner, branches);
                self.table(table, inner, place)
            }
            _ => true,
        }
    }

    /// Checks a number against its limits: minimum, maximum, and exclusive minimum.
    fn number(
        &mut self,
        found: f64,
        min: Option<f64>,
        max: Option<f64>,
        above: Option<f64>,
        place: Place,
    ) -> bool {
        let right = found.is_finite()
            && min.is_none_or(|min| found >= min)
            && max.is_none_or(|max| found <= max)
            && above.is_none_or(|above| found > above);
        if right {
            return true;
        }
        let wanted = match (min, max, above) {
            (_, _, Some(above)) => format!("more than {above}"),
            (Some(min), Some(max), _) => format!("from {min} to {max}"),
            (Some(min), None, _) => format!("{min} or more"),
            (None, Some(max), _) => format!("{max} or less"),
            (None, None, None) => "finite".to_owned(),
        };
        let message = format!("`{}` is {found}, and must be {wanted}", self.path);
        self.problems.add(Problem::new(place, message));
        false
    }

    /// Checks each entry with its key added to the path, and drops unusable ones.
    fn entries(&mut self, table: &mut Table, mut good: impl FnMut(&mut Self, &mut Entry) -> bool) {
        let length = self.path.len();
        table.entries.retain_mut(|entry| {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(&entry.key);
            let keep = good(self, entry);
            self.path.truncate(length);
            keep
        });
    }

    pub(super) fn table(&mut self, table: &mut Table, shape: &TableShape, place: Place) -> bool {
        let mut unknown = Vec::new();
        let parent = self.path.clone();
        self.entries(table, |this, entry| {
            let Some(key) = shape.key(&entry.key) else {
                unknown.push(entry.key.clone());
                this.unknown_key(&parent, entry, shape);
                return false;
            };
            let keep = this.value(&mut entry.node, &key.shape, entry.key_place, Some(key));
            if !keep && key.required {
                // it is there, although wrong, so it is not reported as missing
                unknown.push(key.name.clone());
            }
            keep
        });
        let mut missing = Vec::new();
        for key in &shape.keys {
            let entry = table.entry(&key.name);
            match (entry, shape.meaningless(table, key)) {
                (Some(entry), Some((neighbour, values))) => {
                    self.meaningless(table, shape, entry, neighbour, values);
                }
                (None, None) if key.required => missing.push(key),
                _ => {}
            }
        }
        let complete = missing.is_empty();
        missing.retain(|key| {
            !unknown.iter().any(|name| nearest(name, shape.names()) == Some(&key.name))
        });
        self.missing(&parent, &missing, place);
        let meaningless: Vec<String> = shape
            .keys
            .iter()
            .filter(|key| shape.meaningless(table, key).is_some())
            .map(|key| key.name.clone())
            .collect();
        table.entries.retain(|entry| !meaningless.contains(&entry.key));
        complete
    }

    /// The name of a table in messages.
    fn owner(&self, article: &str, path: &str) -> String {
        if path.is_empty() { format!("{article} {}", self.whole) } else { format!("`{path}`") }
    }

    /// The path of a key of the table at the current position.
    fn inner(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn unknown_key(&mut self, parent: &str, entry: &Entry, shape: &TableShape) {
        if self.problems.is_full() {
            return;
        }
        let owner = self.owner("a", parent);
        let message = format!("{owner} has no key `{}`", entry.key);
        let help = meant(&entry.key, shape.names());
        self.problems.add(Problem::new(entry.key_place, message).maybe_help(help));
    }

    /// The shape of the table chosen by the tag.
    fn branch<'a>(
        &mut self,
        table: &Table,
        tag: &str,
        branches: &'a [(String, TableShape)],
        place: Place,
    ) -> Option<&'a TableShape> {
        // messages are those for users, whose program does not have the test systems
        let names = branches.iter().map(|(name, _)| name.as_str());
        let names = names.filter(|name| !FOR_TESTS.contains(name));
        let Some(node) = table.get(tag) else {
            let message = format!("{} has no `{tag}`", self.owner("the", self.path));
            let help = format!("add `{tag} = \"...\"`, one of {}", one_of(names));
            self.problems.add(Problem::new(place, message).help(help));
            return None;
        };
        let Some(found) = node.text() else {
            let message =
                format!("`{}` is {}, and must be a text", self.inner(tag), node.value.kind());
            self.problems
                .add(Problem::new(node.place, message).help(format!("one of {}", one_of(names))));
            return None;
        };
        let chosen = branches.iter().find(|(name, _)| name == found).map(|(_, table)| table);
        if chosen.is_none() {
            let message = format!("`{}` cannot be `{found}`", self.inner(tag));
            self.problems.add(Problem::new(node.place, message).maybe_help(meant(found, names)));
        }
        chosen
    }

    /// Reports and drops keys that only other branches have.
    fn unknown_keys(
        &mut self,
        table: &mut Table,
        tag: &str,
        inner: &TableShape,
        branches: &[(String, TableShape)],
    ) {
        table.entries.retain(|entry| {
            let others: Vec<&str> = branches
                .iter()
                .filter(|(_, branch)| branch.key(&entry.key).is_some())
                .map(|(name, _)| name.as_str())
                .collect();
            if inner.key(&entry.key).is_some() || others.is_empty() {
                return true;
            }
            let message = format!("`{}` would have no effect", self.inner(&entry.key));
            let help = belongs(&entry.key, tag, others);
            self.problems.add(Problem::new(entry.key_place, message).help(help));
            false
        });
    }

    fn meaningless(
        &mut self,
        table: &Table,
        shape: &TableShape,
        entry: &Entry,
        neighbour: &str,
        values: &[Json],
    ) {
        let found = match table.get(neighbour) {
            Some(node) => plain(&node.value),
            None => shape
                .key(neighbour)
                .and_then(|key| key.default.as_ref())
                .map_or(String::new(), plain),
        };
        let wanted: Vec<_> =
            values.iter().map(|value| format!("`{neighbour} = {value}`")).collect();
        let message =
            format!("`{}` would have no effect: `{neighbour}` is {found}", self.inner(&entry.key));
        let help = format!("leave it out, or set {}", wanted.join(" or "));
        self.problems.add(Problem::new(entry.key_place, message).help(help));
    }

    fn missing(&mut self, parent: &str, keys: &[&KeyShape], place: Place) {
        let Some(first) = keys.first() else { return };
        let owner = self.owner("the", parent);
        let names = one_of(keys.iter().map(|key| key.name.as_str()));
        let message = format!("{owner} has no {names}");
        let about = format!("`{}` is required: {}", first.name, lower_first(&first.about));
        let help = match (example(Some(first)), keys.len()) {
            (_, 2..) => "all of these must be given".to_owned(),
            (Some(example), _) => format!("{about}; {example}"),
            (None, _) => about,
        };
        self.problems.add(Problem::new(place, message).help(help));
    }

    fn wrong_type(&mut self, node: &Node, shape: &Shape, key: Option<&KeyShape>) {
        let found = match &node.value {
            Value::Text(text) => format!("the text {text:?}"),
            other => match plain(other) {
                text if text.is_empty() => other.kind().to_owned(),
                text => text,
            },
        };
        let quantity = key.and_then(|key| key.what.as_deref());
        let wanted = match (quantity, &node.value) {
            (Some(what), Value::Whole(_) | Value::Number(_)) => {
                format!("{what} with its unit, in quotes")
            }
            (Some(what), _) => format!("{what} in quotes"),
            (None, _) => describe(shape),
        };
        let message = format!("`{}` is {found}, and must be {wanted}", self.path);
        let as_number = match (shape, &node.value) {
            (Shape::Whole { .. } | Shape::Number { .. }, Value::Text(text)) => {
                text.trim().parse::<f64>().ok().map(|number| {
                    if number.abs() >= i64::MAX as f64 {
                        format!("whole numbers end at {}", i64::MAX)
                    } else {
                        format!("write {} without quotes", text.trim())
                    }
                })
            }
            (Shape::Whole { .. }, Value::Number(number))
                if number.fract() == 0.0 && number.abs() < 1e15 =>
            {
                Some(format!("write {number}"))
            }
            (Shape::Flag, Value::Text(text)) if matches!(text.as_str(), "true" | "false") => {
                Some(format!("write {text} without quotes"))
            }
            _ => None,
        };
        let help = as_number.or_else(|| example(key));
        self.problems.add(Problem::new(node.place, message).maybe_help(help));
    }
}
