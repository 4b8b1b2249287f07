//! A TOML document as a tree in which every key and value knows its place.
//!
//! Changes are made on this tree, defaults are filled in, and the raw structs are read from it
//! through serde. Tables keep the order of the text, by which hosts and volumes are numbered.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Problem;
use crate::source::Place;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Whole(i64),
    Number(f64),
    Flag(bool),
    /// Dates have no meaning in a scenario; they are kept so that they can be refused by name.
    Date(String),
    List(Vec<Node>),
    Table(Table),
}

/// Entries in the order of the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Expands a bare text to the table with one entry that it stands for.
    pub(crate) fn expand(&mut self, key: &str) {
        let inner = self.clone();
        let entry = Entry { key: key.to_owned(), key_place: self.place, node: inner };
        self.value = Value::Table(Table { entries: vec![entry] });
    }
}

impl Value {
    /// Its type, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Whole(_) => "a whole number",
            Self::Number(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

impl Table {
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Entry> {
        let index = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(index))
    }

    /// Sets the value of a key, at its old position if it has one.
    pub(crate) fn insert(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|old| old.key == entry.key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> + Clone {
        self.entries.iter().map(|entry| entry.key.as_str())
    }
}

/// Reads a whole document; `base` is the address of the text's first byte.
///
/// Every syntax error is found: the parser continues after each.
pub(crate) fn parse_document(text: &str, base: usize) -> Result<Table, Vec<Problem>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let mut problems = Vec::new();
        let table = Shifted { base, problems: &mut problems }.table(document.into_inner());
        if problems.is_empty() { Ok(table) } else { Err(problems) }
    } else {
        Err(errors.iter().map(|error| syntax(error, text, base)).collect())
    }
}

/// Reads one value, as on the right of `=`; `None` if the text is not a value.
pub(crate) fn parse_value(text: &str, base: usize) -> Option<Node> {
    let (value, errors) = DeValue::parse_recoverable(text);
    let mut problems = Vec::new();
    let node = Shifted { base, problems: &mut problems }.node(value);
    (errors.is_empty() && problems.is_empty()).then_some(node)
}

fn syntax(error: &toml::de::Error, text: &str, base: usize) -> Problem {
    let mut span = error.span().unwrap_or(0..0);
    if span.is_empty() {
        // something to underline: the word that ends here, or the last character before the end
        let before = text.get(..span.start).unwrap_or("");
        let word = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        let last = before.chars().next_back().map_or(0, char::len_utf8);
        span = word.len().min(span.start - last)..span.start;
    }
    let place = Place { start: base + span.start, end: base + span.end };
    let message = error.message();
    let found = text.get(span).unwrap_or("").trim();
    if message.starts_with("string values must be quoted") && !found.is_empty() {
        Problem::new(place, format!("`{found}` is not a value of TOML"))
            .help(format!("a text is written in quotes: \"{found}\""))
    } else if message == "duplicate key" {
        Problem::new(place, format!("`{found}` occurs twice"))
    } else {
        Problem::new(place, format!("this is not TOML: {message}"))
    }
}

struct Shifted<'a> {
    base: usize,
    problems: &'a mut Vec<Problem>,
}

impl Shifted<'_> {
    fn place(&self, span: std::ops::Range<usize>) -> Place {
        Place { start: self.base + span.start, end: self.base + span.end }
    }

    fn table(&mut self, table: DeTable<'_>) -> Table {
        let entries = table
            .into_iter()
            .map(|(key, value)| Entry {
                key_place: self.place(key.span()),
                key: key.into_inner().into_owned(),
                node: self.node(value),
            })
            .collect();
        Table { entries }
    }

    fn node(&mut self, node: Spanned<DeValue<'_>>) -> Node {
        let place = self.place(node.span());
        let value = match node.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(whole) => Value::Whole(
                i64::from_str_radix(whole.as_str(), whole.radix()).unwrap_or_else(|_| {
                    let message = format!("`{whole}` is too large for a whole number");
                    self.problems.push(Problem::new(place, message));
                    0
                }),
            ),
            DeValue::Float(number) => Value::Number(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => Value::Flag(flag),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(list) => {
                Value::List(list.into_iter().map(|node| self.node(node)).collect())
            }
            DeValue::Table(table) => Value::Table(self.table(table)),
        };
        Node { value, place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_keep_the_order_of_the_text() {
        let table = parse_document("[z]\nb = 1\na = 2\n[y]\n[z.c]", 1).unwrap();
        assert_eq!(table.keys().collect::<Vec<_>>(), ["z", "y"]);
        let z = table.get("z").unwrap().table().unwrap();
        assert_eq!(z.keys().collect::<Vec<_>>(), ["b", "a", "c"]);
        // "[z]\nb = 1": the 1 is byte 8, and addresses begin at 1
        assert_eq!(z.get("b").unwrap().place, Place { start: 9, end: 10 });
    }

    #[test]
    fn every_syntax_error_is_found() {
        let problems = parse_document("a = 1 GiB\nb = 2\nc = = 3\n", 1).unwrap_err();
        assert!(problems.len() >= 2, "{problems:?}");
        assert!(problems.iter().all(|problem| problem.place.end > problem.place.start));
        assert!(parse_document("a = 99999999999999999999", 1).is_err());
    }

    #[test]
    fn a_bare_word_is_not_a_value() {
        for text in ["3-of-5", "1 GiB", "brick[3-7]", "lru", "", "8 9"] {
            assert!(parse_value(text, 0).is_none(), "{text}");
        }
        for text in ["8", "\"x\"", "1.5", "true", "[1, 2]", "{ a = 1 }"] {
            assert!(parse_value(text, 0).is_some(), "{text}");
        }
    }
}
