//! Writes the resolved scenario as text: every default filled in, every profile included.
//!
//! Defaults that follow from other settings stay as written (`auto`, `all`, `100%`), so that a
//! change of the resolved scenario has the same meaning as one of the original. Comments give their
//! values.

use std::fmt::Write;

use foretell_input::toml_string;
use foretell_sorted::SortedMap;

use crate::document::Document;
use crate::error::ScenarioErrors;
use crate::model::{Scenario, WorkloadKind};
use crate::shape::{Shape, scenario};
use crate::tree::{Node, Table, Value};

/// Maximum length of a table in a line; a longer one gets its own header.
const INLINE: usize = 76;

impl Document {
    /// The complete scenario as TOML: with it and the traces that it names, the run can be repeated
    /// anywhere. Reading it gives the same [`Scenario`]. Errors as in [`Document::check`].
    ///
    /// Only the paths of traces, which are absolute, depend on this machine.
    pub fn resolved(&self) -> Result<String, ScenarioErrors> {
        let checked = self.checked()?;
        let mut tree = checked.tree;
        absolute_paths(&mut tree, &checked.scenario);
        Ok(write(&tree, &comments(&checked.scenario)))
    }
}

fn absolute_paths(tree: &mut Table, scenario: &Scenario) {
    let Some(section) = tree.get_mut("workload").and_then(Node::table_mut) else { return };
    for workload in &scenario.workloads {
        let table = section.get_mut(&workload.name).and_then(Node::table_mut);
        let Some(table) = table else { continue };
        let mut absolute = |key, path: &std::path::Path| {
            if let Some(file) = table.get_mut(key) {
                file.value = Value::Text(path.display().to_string());
            }
        };
        if let WorkloadKind::Trace { path, .. }
        | WorkloadKind::Fio { path }
        | WorkloadKind::Cosbench { path } = &workload.kind
        {
            absolute("file", path);
        }
        if let Some(path) = &workload.times {
            absolute("times", path);
        }
    }
}

/// The values of derived settings, by their paths.
fn comments(scenario: &Scenario) -> SortedMap<String, String> {
    let mut comments = SortedMap::new();
    comments.insert("warmup".to_owned(), scenario.warmup.to_string());
    if let Some(cost) = &scenario.tracking.cost {
        comments.insert("tracking.store".to_owned(), scenario.host(cost.store).name.clone());
    }
    for host in &scenario.hosts {
        if let Some(storage) = host.role.storage() {
            let path = format!("node.{}.cache", host.group);
            // from the group's first host, which may differ from the others
            for (key, size) in [
                ("dirty_background", storage.cache.dirty_background),
                ("dirty_limit", storage.cache.dirty_limit),
            ] {
                comments.entry(format!("{path}.{key}")).or_insert(size.to_string());
            }
        }
    }
    for volume in &scenario.volumes {
        let path = format!("volume.{}", volume.name);
        comments.insert(format!("{path}.group"), volume.group.to_string());
        comments.insert(format!("{path}.write_quorum"), volume.write_quorum.to_string());
    }
    for workload in &scenario.workloads {
        if let WorkloadKind::Ssio { working_set, .. } = &workload.kind {
            let path = format!("workload.{}.working_set", workload.name);
            comments.insert(path, working_set.to_string());
        }
    }
    comments
}

fn write(tree: &Table, comments: &SortedMap<String, String>) -> String {
    let mut text = String::from(
        "# A scenario in full: every default is filled in, every profile is included.\n",
    );
    let writer = Writer { comments };
    let plain = tree.entries.iter().filter(|entry| entry.node.table().is_none());
    for entry in plain {
        writer.key(&mut text, &entry.key, &entry.node, "");
    }
    for entry in &tree.entries {
        let Some(table) = entry.node.table() else { continue };
        let named =
            scenario().key(&entry.key).is_some_and(|key| matches!(key.shape, Shape::Map(_)));
        if named {
            for inner in &table.entries {
                let path = format!("{}.{}", entry.key, inner.key);
                let header = format!("{}.{}", entry.key, bare_or_quoted(&inner.key));
                writer.table(&mut text, inner.node.table(), &header, &path);
            }
        } else {
            writer.table(&mut text, Some(table), &entry.key, &entry.key);
        }
    }
    text
}

struct Writer<'a> {
    comments: &'a SortedMap<String, String>,
}

impl Writer<'_> {
    /// Writes a table under its header, and then its inner tables that are too long for a line.
    fn table(&self, text: &mut String, table: Option<&Table>, header: &str, path: &str) {
        let Some(table) = table else { return };
        let _ = writeln!(text, "\n[{header}]");
        let long = |node: &Node| node.table().is_some() && inline(node).len() > INLINE;
        for entry in table.entries.iter().filter(|entry| !long(&entry.node)) {
            self.key(text, &entry.key, &entry.node, path);
        }
        for entry in table.entries.iter().filter(|entry| long(&entry.node)) {
            let header = format!("{header}.{}", bare_or_quoted(&entry.key));
            let path = format!("{path}.{}", entry.key);
            self.table(text, entry.node.table(), &header, &path);
        }
    }

    fn key(&self, text: &mut String, key: &str, node: &Node, path: &str) {
        let value = inline(node);
        let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let _ = write!(text, "{} = {value}", bare_or_quoted(key));
        if let (Value::Text(written), Some(comment)) = (&node.value, self.comments.get(&path))
            && written != comment
        {
            let _ = write!(text, "  # {comment}");
        }
        text.push('\n');
    }
}

fn inline(node: &Node) -> String {
    match &node.value {
        Value::Text(text) | Value::Date(text) => toml_string(text),
        Value::Whole(whole) => whole.to_string(),
        // always with a decimal point or an exponent
        Value::Number(number) => format!("{number:?}"),
        Value::Flag(flag) => flag.to_string(),
        Value::List(list) => {
            format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Table(table) if table.entries.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let pairs: Vec<_> = table
                .entries
                .iter()
                .map(|entry| format!("{} = {}", bare_or_quoted(&entry.key), inline(&entry.node)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
    }
}

fn bare_or_quoted(key: &str) -> String {
    let bare =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if bare { key.to_owned() } else { toml_string(key) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::parse_value;

    #[test]
    fn strings_are_read_back() {
        for text in ["", "plain", "\"quotes\" and \\", "lines\nand\ttabs\u{1}\u{7f}", "Größe"] {
            let node = parse_value(&toml_string(text), 0).unwrap();
            assert_eq!(node.text(), Some(text));
        }
    }
}
