//! The schema in the program's form: the keys of each table, with their types, ranges and defaults.
//!
//! It is derived from the raw structs through their JSON Schema (`schema.rs`), so that parser,
//! checks, changes, editors and documents cannot disagree. Our own extensions of JSON Schema:
//! `x-when` (the key has a meaning only for these values of its neighbours), `x-required` (required
//! whenever it has a meaning), `x-tag` (the key that chooses among `oneOf`), `x-short` (a bare text
//! stands for a table with this key), `x-what` (name of a written quantity), `x-words` (words that
//! are allowed instead of a quantity).

use std::borrow::Cow;
use std::sync::OnceLock;

use serde_json::Value as Json;

use crate::system::FOR_TESTS;
use crate::tree::{Entry, Node, Table, Value};

/// The derived schema.
const KEPT: &str = include_str!("../schema.json");

/// The possible values of a key.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// A text; if `words` is not empty, one of these words.
    Text { words: Vec<String> },
    /// A whole number.
    Whole { min: i64, max: i64 },
    /// A finite number, whole or not.
    Number { min: Option<f64>, max: Option<f64>, above: Option<f64> },
    /// `true` or `false`.
    Flag,
    /// A list of elements of the same shape.
    List { item: Box<Shape>, at_least: usize },
    /// A table with known keys.
    Table(TableShape),
    /// A table whose keys are names.
    Map(Box<Shape>),
    /// One of these, distinguished by the type of the value.
    Either(Vec<Shape>),
    /// One of these tables, distinguished by the text of the key `tag`.
    Tagged { tag: String, branches: Vec<(String, TableShape)> },
}

/// The possible content of a table.
#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    /// Its keys in the order of the reference.
    pub(crate) keys: Vec<KeyShape>,
    /// The key that a bare text stands for.
    pub(crate) short: Option<String>,
}

/// A key of a table.
#[derive(Clone, Debug)]
pub(crate) struct KeyShape {
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    /// Neighbours, with the values for which this key has a meaning.
    pub(crate) when: Vec<(String, Vec<Json>)>,
    /// The first sentence of its description.
    pub(crate) about: String,
    /// Its name as a quantity, if it is one: "a size".
    pub(crate) what: Option<String>,
    pub(crate) examples: Vec<Json>,
}

/// The shape of a scenario.
pub(crate) fn scenario() -> &'static TableShape {
    static SHAPE: OnceLock<TableShape> = OnceLock::new();
    SHAPE.get_or_init(|| match shape(&with_systems_for_tests(json_schema())) {
        Shape::Table(table) => table,
        other => unreachable!("a scenario is a table, not {other:?}"),
    })
}

/// The shape of the entries of a section, such as `cpu`.
pub(crate) fn section(name: &str) -> &'static Shape {
    let key = scenario().key(name).expect("a section of the scenario");
    match &key.shape {
        Shape::Map(inner) => inner,
        other => other,
    }
}

/// The kinds of workloads (`ssio`, `trace`, ...) that have this key.
pub fn workload_kinds_with(key: &str) -> Vec<&'static str> {
    let Shape::Tagged { branches, .. } = section("workload") else { return Vec::new() };
    let has = branches.iter().filter(|(_, table)| table.key(key).is_some());
    has.map(|(kind, _)| kind.as_str()).collect()
}

/// A word that is allowed for a key of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Word {
    /// The word as it is written.
    pub name: String,
    /// Its meaning; empty if the schema does not give it.
    pub about: String,
}

/// The words of a key: `["volume", "*", "cipher"]`, where `*` stands for any name, or for the
/// elements of a list. For a table with kinds, such as `["workload", "*"]`, the kinds; for a key of such a table, the
/// words of all kinds. Empty if the key has no words.
pub fn words(path: &[&str]) -> Vec<Word> {
    fn choices(schema: &Json) -> impl Iterator<Item = &Json> {
        let branches = |word| schema.get(word).and_then(Json::as_array).into_iter().flatten();
        branches("oneOf").chain(branches("anyOf"))
    }
    fn step<'a>(schema: &'a Json, key: &str) -> Vec<&'a Json> {
        let inner = match key {
            "*" => schema.get("additionalProperties").or_else(|| schema.get("items")),
            key => schema.get("properties").and_then(|properties| properties.get(key)),
        };
        match inner {
            Some(inner) => vec![inner],
            None => choices(schema).flat_map(|branch| step(branch, key)).collect(),
        }
    }
    fn words_of(schema: &Json) -> Vec<Word> {
        let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
        if let Some(words) = schema.get("enum").and_then(Json::as_array) {
            let word = |name| Word { name: text(name), about: String::new() };
            return words.iter().map(word).collect();
        }
        let tag = schema.get("x-tag").and_then(Json::as_str);
        let word = |branch: &Json| {
            let name = match tag {
                Some(tag) => &branch["properties"][tag]["enum"][0],
                None => &branch["const"],
            };
            let about = || text(&branch["description"]);
            name.is_string().then(|| Word { name: text(name), about: about() })
        };
        choices(schema).filter_map(word).collect()
    }
    let begin = vec![json_schema()];
    let schemas = path.iter().fold(begin, |schemas, key| {
        schemas.into_iter().flat_map(|schema| step(schema, key)).collect()
    });
    let mut words: Vec<Word> = Vec::new();
    for word in schemas.into_iter().flat_map(words_of) {
        if !words.iter().any(|known| known.name == word.name) {
            words.push(word);
        }
    }
    words
}

/// The JSON Schema of a scenario as text, for editors: `scenario.schema.json`.
pub fn schema_text() -> String {
    let mut schema = json_schema().clone();
    spell_out_short_forms(&mut schema);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

/// States in standard JSON Schema that a text may stand for a table.
fn spell_out_short_forms(schema: &mut Json) {
    match schema {
        Json::Array(list) => list.iter_mut().for_each(spell_out_short_forms),
        Json::Object(object) => {
            object.values_mut().for_each(spell_out_short_forms);
            if object.remove("x-short").is_some() {
                let mut table = std::mem::take(object);
                for outer in ["description", "default"] {
                    if let Some(value) = table.remove(outer) {
                        object.insert(outer.to_owned(), value);
                    }
                }
                let either = [serde_json::json!({ "type": "string" }), Json::Object(table)];
                object.insert("anyOf".to_owned(), either.into_iter().collect());
            }
        }
        _ => {}
    }
}

/// The JSON Schema of a scenario, which a test of `schema.rs` keeps up to date.
pub(crate) fn json_schema() -> &'static Json {
    static SCHEMA: OnceLock<Json> = OnceLock::new();
    SCHEMA.get_or_init(|| serde_json::from_str(KEPT).expect("a test keeps it"))
}

/// The schema with the systems that only tests have, none of which has settings; documents leave them out.
fn with_systems_for_tests(schema: &Json) -> Cow<'_, Json> {
    let mut schema = Cow::Borrowed(schema);
    for name in FOR_TESTS {
        let systems = &mut schema.to_mut()["properties"]["cluster"]["oneOf"];
        let mut system = systems[0].clone();
        system["properties"]["system"]["enum"] = serde_json::json!([name]);
        systems.as_array_mut().expect("a list of systems").push(system);
    }
    schema
}

fn shape(schema: &Json) -> Shape {
    let number = |name: &str| schema.get(name).and_then(Json::as_f64);
    if let Some(Json::Array(branches)) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
        if let Some(tag) = schema.get("x-tag").and_then(Json::as_str) {
            let branch = |branch: &Json| {
                let name = &branch["properties"][tag]["enum"][0];
                (name.as_str().unwrap_or_default().to_owned(), table(branch))
            };
            return Shape::Tagged {
                tag: tag.to_owned(),
                branches: branches.iter().map(branch).collect(),
            };
        }
        let words: Option<Vec<String>> =
            branches.iter().map(|branch| Some(branch.get("const")?.as_str()?.to_owned())).collect();
        return match words {
            Some(words) => Shape::Text { words },
            None => Shape::Either(branches.iter().map(shape).collect()),
        };
    }
    match schema.get("type").and_then(Json::as_str) {
        Some("integer") => Shape::Whole {
            min: schema.get("minimum").and_then(Json::as_i64).unwrap_or(i64::MIN),
            max: schema.get("maximum").and_then(Json::as_i64).unwrap_or(i64::MAX),
        },
        Some("number") => Shape::Number {
            min: number("minimum"),
            max: number("maximum"),
            above: number("exclusiveMinimum"),
        },
        Some("boolean") => Shape::Flag,
        Some("array") => Shape::List {
            item: Box::new(shape(&schema["items"])),
            at_least: schema.get("minItems").and_then(Json::as_u64).unwrap_or(0) as usize,
        },
        Some("object") => match schema.get("additionalProperties") {
            Some(inner @ Json::Object(_)) => Shape::Map(Box::new(shape(inner))),
            _ => Shape::Table(table(schema)),
        },
        _ => {
            let words = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
            Shape::Text { words: words.filter_map(Json::as_str).map(str::to_owned).collect() }
        }
    }
}

fn table(schema: &Json) -> TableShape {
    let required = schema.get("required").and_then(Json::as_array);
    let is_required = |name: &str| required.is_some_and(|list| list.iter().any(|r| r == name));
    let key = |(name, property): (&String, &Json)| KeyShape {
        name: name.clone(),
        shape: shape(property),
        required: is_required(name) || property.get("x-required").is_some(),
        default: property.get("default").map(value),
        when: property
            .get("x-when")
            .and_then(Json::as_object)
            .into_iter()
            .flatten()
            .map(|(key, values)| (key.clone(), values.as_array().cloned().unwrap_or_default()))
            .collect(),
        about: first_sentence(property.get("description").and_then(Json::as_str).unwrap_or("")),
        what: property.get("x-what").and_then(Json::as_str).map(str::to_owned),
        examples: property.get("examples").and_then(Json::as_array).cloned().unwrap_or_default(),
    };
    TableShape {
        keys: schema["properties"].as_object().into_iter().flatten().map(key).collect(),
        short: schema.get("x-short").and_then(Json::as_str).map(str::to_owned),
    }
}

/// The text up to the first full stop, without it.
fn first_sentence(text: &str) -> String {
    text.split(". ").next().unwrap_or("").trim_end_matches('.').to_owned()
}

/// A default of the schema as a value of the tree.
fn value(json: &Json) -> Value {
    match json {
        Json::String(text) => Value::Text(text.clone()),
        Json::Bool(flag) => Value::Flag(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Whole(whole),
            None => Value::Number(number.as_f64().unwrap_or_default()),
        },
        Json::Array(_) => Value::List(Vec::new()),
        Json::Object(object) => {
            let entry = |(key, json): (&String, &Json)| {
                let place = crate::source::Place::default();
                let node = Node { value: value(json), place };
                Entry { key: key.clone(), key_place: place, node }
            };
            Value::Table(Table { entries: object.iter().map(entry).collect() })
        }
        Json::Null => Value::Table(Table::default()),
    }
}

impl TableShape {
    pub(crate) fn key(&self, name: &str) -> Option<&KeyShape> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.keys.iter().map(|key| key.name.as_str())
    }

    /// The value of a key of `table`: the written one, or the default.
    fn value_of<'a>(&'a self, table: &'a Table, key: &str) -> Option<&'a Value> {
        match table.get(key) {
            Some(node) => Some(&node.value),
            None => self.key(key)?.default.as_ref(),
        }
    }

    /// The neighbour whose value makes `key` meaningless in `table`, with the values for which it
    /// would have a meaning.
    pub(crate) fn meaningless<'a>(
        &self,
        table: &Table,
        key: &'a KeyShape,
    ) -> Option<&'a (String, Vec<Json>)> {
        key.when.iter().find(|(neighbour, values)| {
            self.value_of(table, neighbour)
                .is_some_and(|found| !values.iter().any(|value| same(found, value)))
        })
    }
}

impl Shape {
    /// The shape of a table for `node`; `None` if it should not be a table, or if its tag is missing.
    pub(crate) fn table_for(&self, node: &Table) -> Option<&TableShape> {
        match self {
            Self::Table(table) => Some(table),
            Self::Tagged { tag, branches } => {
                let found = node.get(tag)?.text()?;
                branches.iter().find(|(name, _)| name == found).map(|(_, table)| table)
            }
            _ => None,
        }
    }

    /// Whether a text is allowed here.
    pub(crate) fn takes_text(&self) -> bool {
        match self {
            Self::Text { .. } => true,
            Self::Either(branches) => branches.iter().any(Self::takes_text),
            Self::Table(table) => table.short.is_some(),
            _ => false,
        }
    }

    /// Whether the type of a value fits, regardless of its content.
    pub(crate) fn fits(&self, node: &Node) -> bool {
        match (self, &node.value) {
            (Self::Text { .. }, Value::Text(_))
            | (Self::Whole { .. }, Value::Whole(_))
            | (Self::Number { .. }, Value::Whole(_) | Value::Number(_))
            | (Self::Flag, Value::Flag(_))
            | (Self::List { .. }, Value::List(_))
            | (Self::Table(_) | Self::Map(_) | Self::Tagged { .. }, Value::Table(_)) => true,
            (Self::Table(table), Value::Text(_)) => table.short.is_some(),
            (Self::Either(branches), _) => branches.iter().any(|branch| branch.fits(node)),
            _ => false,
        }
    }
}

/// Whether a value of the tree equals one of the schema.
fn same(value: &Value, json: &Json) -> bool {
    match (value, json) {
        (Value::Text(a), Json::String(b)) => a == b,
        (Value::Flag(a), Json::Bool(b)) => a == b,
        (Value::Whole(a), Json::Number(b)) => b.as_i64() == Some(*a),
        _ => false,
    }
}
