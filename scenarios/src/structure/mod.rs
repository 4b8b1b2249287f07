//! Checks the structure of a tree against the shape: unknown keys, wrong types, unknown words,
//! numbers out of range, keys that are missing or have no meaning here.
//!
//! Wrong parts are reported and removed, so that the rest can be checked too. Sections with errors
//! are remembered: errors that would only follow from these are not reported.

mod checker;
mod complete;
mod words;

use checker::Checker;
pub(crate) use complete::{complete, complete_node};
use foretell_sorted::SortedSet;

use crate::error::{Problem, Problems};
use crate::names::{self, nearest};
use crate::shape::{KeyShape, Shape, scenario};
use crate::source::Place;
use crate::tree::{Entry, Node, Table, Value};

/// Sections whose keys are names, and whether these are names of profiles.
const SECTIONS: [(&str, bool); 7] = [
    ("node", false),
    ("client", false),
    ("host", false),
    ("volume", false),
    ("workload", false),
    ("cpu", true),
    ("device", true),
];

/// The name of the outermost table, unless it is a profile's.
const SCENARIO: &str = "scenario";

/// Entries with errors, and sections that may lack entries.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    entries: SortedSet<(String, String)>,
    sections: SortedSet<String>,
}

impl Broken {
    /// Whether the entry had an error.
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
        if shape.key(&entry.key).is_none()
            && let Some(meant) = nearest(&entry.key, shape.names())
        {
            broken.sections.insert(meant.to_owned());
        }
    }
    for key in &shape.keys {
        let Shape::Map(inner) = &key.shape else { continue };
        let Some(entry) = tree.entries.iter_mut().find(|entry| entry.key == key.name) else {
            continue;
        };
        if has_no_name(entry, inner, problems) {
            broken.sections.insert(key.name.clone());
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
            let keep = Checker { problems, path: &mut path, whole: SCENARIO }.value(
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
    let mut checker = Checker { problems, path: &mut path, whole: SCENARIO };
    checker.table(tree, shape, Place::default());
    // Problems in sections of names are found twice and kept once.
    if problems.len() > before {
        broken.sections.insert(String::new());
    }
    broken
}

/// Reports keys that are directly in a section of names, as in `[node]` in place of `[node.NAME]`, and removes them.
fn has_no_name(section: &mut Entry, inner: &Shape, problems: &mut Problems) -> bool {
    let is_key = |name: &str| match inner {
        Shape::Table(table) => table.key(name).is_some(),
        Shape::Tagged { branches, .. } => {
            branches.iter().any(|(_, table)| table.key(name).is_some())
        }
        _ => false,
    };
    let name = section.key.clone();
    let Some(table) = section.node.table_mut() else { return false };
    let is_wrong = |entry: &Entry| is_key(&entry.key) && !inner.fits(&entry.node);
    let Some(first) = table.entries.iter().find(|entry| is_wrong(entry)) else { return false };
    let message = format!("`[{name}]` has no name: write `[{name}.NAME]`");
    let help = format!("`{}` is a key of each {name}", first.key);
    problems.add(Problem::new(section.key_place, message).also(first.key_place).help(help));
    table.entries.retain(|entry| !is_key(&entry.key));
    true
}

fn check_name(section: &str, profiles: bool, entry: &Entry, problems: &mut Problems) {
    let name = &entry.key;
    let group = matches!(section, "node" | "client" | "host");
    let good = if profiles { names::is_profile_name(name) } else { names::is_name(name) };
    let begins_right = !group || name.starts_with(|c: char| c.is_ascii_alphabetic());
    if good && begins_right {
        return;
    }
    let begin = if group { "a letter" } else { "a letter or a digit" };
    let more = if profiles { ", `_`, `-`, `+` and `.`" } else { ", `_` and `-`" };
    let message = format!("`{name}` cannot be the name of a {section}");
    problems.add(
        Problem::new(entry.key_place, message)
            .help(format!("a name begins with {begin} and has letters, digits{more}, at most 64")),
    );
}

/// Checks a profile's file, or any other separate table.
pub(crate) fn check_alone(
    table: Table,
    shape: &Shape,
    base: usize,
    problems: &mut Problems,
) -> Option<Node> {
    // missing keys are shown at the beginning of the text
    let place = Place { start: base, end: base };
    let mut node = Node { value: Value::Table(table), place };
    let before = problems.len();
    let mut checker = Checker { problems, path: &mut String::new(), whole: "profile" };
    let keep = checker.value(&mut node, shape, place, None);
    (keep && problems.len() == before).then_some(node)
}

/// Checks a value for `path`.
pub(crate) fn check_value(node: &mut Node, key: &KeyShape, path: &str, problems: &mut Problems) {
    let place = node.place;
    let mut path = path.to_owned();
    let mut checker = Checker { problems, path: &mut path, whole: SCENARIO };
    checker.value(node, &key.shape, place, Some(key));
}
