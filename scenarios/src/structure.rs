//! The structure of a tree against the shape: unknown keys, wrong types, words that do not exist,
//! numbers out of range, keys that are missing or mean nothing here.
//!
//! What is wrong is reported and taken out, so that the rest can be checked too. Sections in which
//! something was wrong are remembered: errors that would only follow from that are not reported.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::Value as Json;

use crate::error::{Problem, Problems};
use crate::names::{self, meant, nearest, one_of};
use crate::shape::{KeyShape, Shape, TableShape, scenario};
use crate::source::Place;
use crate::tree::{Entry, Node, Table, Value};

/// Sections of names, and whether their names are those of profiles.
const SECTIONS: [(&str, bool); 7] = [
    ("node", false),
    ("client", false),
    ("host", false),
    ("volume", false),
    ("workload", false),
    ("cpu", true),
    ("device", true),
];

/// Entries with something wrong in them, and sections that may lack entries.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    entries: BTreeSet<(String, String)>,
    sections: BTreeSet<String>,
}

impl Broken {
    /// Whether something was wrong in the entry.
    pub(crate) fn entry(&self, section: &str, name: &str) -> bool {
        self.entries.contains(&(section.to_owned(), name.to_owned()))
    }

    /// Whether the section may lack an entry, or has a wrong one.
    pub(crate) fn section(&self, section: &str) -> bool {
        self.sections.contains(section) || self.entries.iter().any(|(name, _)| name == section)
    }

    pub(crate) fn add(&mut self, section: &str, name: &str) {
        self.entries.insert((section.to_owned(), name.to_owned()));
    }
}

/// Checks the structure of a whole scenario.
pub(crate) fn check_scenario(tree: &mut Table, problems: &mut Problems) -> Broken {
    let mut broken = Broken::default();
    let shape = scenario();
    for entry in &tree.entries {
        if shape.key(&entry.key).is_none() {
            if let Some(meant) = nearest(&entry.key, shape.names()) {
                broken.sections.insert(meant.to_owned());
            }
        }
    }
    for (section, profiles) in SECTIONS {
        let Shape::Map(inner) = &shape.key(section).expect("a section").shape else {
            unreachable!("`{section}` is a table of names")
        };
        let Some(table) = tree.get_mut(section).and_then(Node::table_mut) else { continue };
        table.entries.retain_mut(|entry| {
            let before = problems.len();
            let mut path = format!("{section}.{}", entry.key);
            check_name(section, profiles, entry, problems);
            let keep = Checker { problems, path: &mut path }.value(
                &mut entry.node,
                inner,
                entry.key_place,
                None,
            );
            if problems.len() > before {
                broken.add(section, &entry.key);
            }
            keep
        });
    }
    let mut path = String::new();
    let before = problems.len();
    let mut checker = Checker { problems, path: &mut path };
    checker.table(tree, shape, Place::default());
    // Problems of sections of names are found twice and kept once.
    if problems.len() > before {
        broken.sections.insert(String::new());
    }
    broken
}

fn check_name(section: &str, profiles: bool, entry: &Entry, problems: &mut Problems) {
    let name = &entry.key;
    let group = matches!(section, "node" | "client" | "host");
    let good = if profiles { names::is_profile_name(name) } else { names::is_name(name) };
    if good && !(group && !name.starts_with(|c: char| c.is_ascii_alphabetic())) {
        return;
    }
    let begin = if group { "a letter" } else { "a letter or a digit" };
    let more = if profiles { ", `_`, `-`, `+` and `.`" } else { ", `_` and `-`" };
    let message = format!("`{name}` cannot be the name of a {section}");
    problems.add(
        Problem::new(entry.key_place, message).help(format!(
            "a name begins with {begin} and has letters, digits{more}, 64 at the most"
        )),
    );
}

/// Checks a profile's file, or any other table that stands alone.
pub(crate) fn check_alone(
    table: Table,
    shape: &Shape,
    base: usize,
    problems: &mut Problems,
) -> Option<Node> {
    // what is missing is shown at the beginning of the text
    let place = Place { start: base, end: base };
    let mut node = Node { value: Value::Table(table), place };
    let before = problems.len();
    let keep = Checker { problems, path: &mut String::new() }.value(&mut node, shape, place, None);
    (keep && problems.len() == before).then_some(node)
}

/// Checks one value that is to be put at `path`.
pub(crate) fn check_value(node: &mut Node, key: &KeyShape, path: &str, problems: &mut Problems) {
    let place = node.place;
    let mut path = path.to_owned();
    Checker { problems, path: &mut path }.value(node, &key.shape, place, Some(key));
}

/// Fills in defaults; the tree must have been checked.
///
/// `place` is that of the table's key; defaults get its beginning, without extent.
pub(crate) fn complete(table: &mut Table, shape: &TableShape, place: Place) {
    let place = Place { end: place.start, ..place };
    for key in &shape.keys {
        let Some(default) = &key.default else { continue };
        if table.get(&key.name).is_none() && shape.meaningless(table, key).is_none() {
            let node = Node { value: default.clone(), place };
            table.entries.push(Entry { key: key.name.clone(), key_place: place, node });
        }
    }
    table.entries.sort_by_key(|entry| shape.keys.iter().position(|key| key.name == entry.key));
    for entry in &mut table.entries {
        if let Some(key) = shape.key(&entry.key) {
            complete_node(&mut entry.node, &key.shape, entry.key_place);
        }
    }
}

/// Fills in defaults in a value.
pub(crate) fn complete_node(node: &mut Node, shape: &Shape, place: Place) {
    match (&mut node.value, shape) {
        (Value::Table(table), Shape::Map(inner)) => {
            for entry in &mut table.entries {
                complete_node(&mut entry.node, inner, entry.key_place);
            }
        }
        (Value::Table(table), _) => {
            if let Some(shape) = shape.table_for(table).cloned() {
                complete(table, &shape, place);
            }
        }
        (Value::List(list), Shape::List { item, .. }) => {
            for node in list {
                let place = node.place;
                complete_node(node, item, place);
            }
        }
        _ => {}
    }
}

struct Checker<'a> {
    problems: &'a mut Problems,
    path: &'a mut String,
}

impl Checker<'_> {
    /// Checks a value; `false` if it is of no use. `place` is that of its key.
    fn value(
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
                if let (Some(Shape::Text { words }), Some(text)) = (branch, node.text()) {
                    if !words.is_empty() && !words.iter().any(|word| word == text) {
                        self.wrong_type(node, shape, key);
                        return false;
                    }
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
                self.number(found, (*min, *max, *above), node.place)
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
                self.strangers(table, inner, branches);
                self.table(table, inner, place)
            }
            _ => true,
        }
    }

    fn number(
        &mut self,
        found: f64,
        (min, max, above): (f64, f64, Option<f64>),
        place: Place,
    ) -> bool {
        let low = above.map_or(found >= min, |above| found > above);
        if found.is_finite() && low && found <= max {
            return true;
        }
        let wanted = match above {
            Some(above) => format!("more than {above}"),
            None if min == f64::MIN && max == f64::MAX => "finite".to_owned(),
            None if max == f64::MAX => format!("{min} or more"),
            None => format!("from {min} to {max}"),
        };
        let message = format!("`{}` is {found}, and must be {wanted}", self.path);
        self.problems.add(Problem::new(place, message));
        false
    }

    /// Checks each entry with its key added to the path, and drops those of no use.
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

    fn table(&mut self, table: &mut Table, shape: &TableShape, place: Place) -> bool {
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
                // it is there, if wrong: nobody needs to hear that it is missing as well
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

    fn unknown_key(&mut self, parent: &str, entry: &Entry, shape: &TableShape) {
        let owner = if parent.is_empty() { "a scenario".to_owned() } else { format!("`{parent}`") };
        let message = format!("{owner} has no key `{}`", entry.key);
        let help = meant(&entry.key, shape.names());
        self.problems.add(Problem::new(entry.key_place, message).maybe_help(help));
    }

    /// The table chosen by the tag.
    fn branch<'a>(
        &mut self,
        table: &Table,
        tag: &str,
        branches: &'a [(String, TableShape)],
        place: Place,
    ) -> Option<&'a TableShape> {
        let names = branches.iter().map(|(name, _)| name.as_str());
        let Some(node) = table.get(tag) else {
            let message = format!("`{}` has no `{tag}`", self.path);
            let help = format!("add `{tag} = \"...\"`, one of {}", one_of(names));
            self.problems.add(Problem::new(place, message).help(help));
            return None;
        };
        let Some(found) = node.text() else {
            let message =
                format!("`{}.{tag}` is {}, and must be a text", self.path, node.value.kind());
            self.problems
                .add(Problem::new(node.place, message).help(format!("one of {}", one_of(names))));
            return None;
        };
        let chosen = branches.iter().find(|(name, _)| name == found).map(|(_, table)| table);
        if chosen.is_none() {
            let message = format!("`{}.{tag}` cannot be `{found}`", self.path);
            self.problems.add(Problem::new(node.place, message).maybe_help(meant(found, names)));
        }
        chosen
    }

    /// Reports and drops keys that only another branch has.
    fn strangers(
        &mut self,
        table: &mut Table,
        inner: &TableShape,
        branches: &[(String, TableShape)],
    ) {
        let path = self.path.clone();
        table.entries.retain(|entry| {
            let others: Vec<&str> = branches
                .iter()
                .filter(|(_, branch)| branch.key(&entry.key).is_some())
                .map(|(name, _)| name.as_str())
                .collect();
            if inner.key(&entry.key).is_some() || others.is_empty() {
                return true;
            }
            let message = format!("`{path}.{}` would have no effect", entry.key);
            self.problems.add(Problem::new(entry.key_place, message).help(format!(
                "`{}` belongs to the kind {}",
                entry.key,
                one_of(others)
            )));
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
            format!("`{}.{}` would have no effect: `{neighbour}` is {found}", self.path, entry.key);
        let help = format!("leave it out, or set {}", wanted.join(" or "));
        self.problems.add(Problem::new(entry.key_place, message).help(help));
    }

    fn missing(&mut self, parent: &str, keys: &[&KeyShape], place: Place) {
        let Some(first) = keys.first() else { return };
        let owner =
            if parent.is_empty() { "the scenario".to_owned() } else { format!("`{parent}`") };
        let names = one_of(keys.iter().map(|key| key.name.as_str()));
        let message = format!("{owner} has no {names}");
        let about = format!("`{}` is wanted: {}", first.name, lower_first(&first.about));
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
            (Shape::Whole { .. } | Shape::Number { .. }, Value::Text(text)) => text
                .trim()
                .parse::<f64>()
                .ok()
                .map(|_| format!("write {} without quotes", text.trim())),
            (Shape::Flag, Value::Text(text)) if matches!(text.as_str(), "true" | "false") => {
                Some(format!("write {text} without quotes"))
            }
            _ => None,
        };
        let help = as_number.or_else(|| example(key));
        self.problems.add(Problem::new(node.place, message).maybe_help(help));
    }
}

/// As the middle of a sentence, unless the first word is a name.
fn lower_first(text: &str) -> String {
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
fn example(key: Option<&KeyShape>) -> Option<String> {
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

/// A plain value as it would be written, or nothing.
fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("`{text}`"),
        Value::Whole(whole) => whole.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Date(date) => format!("the date {date}"),
        Value::List(_) | Value::Table(_) => String::new(),
    }
}

/// What a shape is, for people.
fn describe(shape: &Shape) -> String {
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
