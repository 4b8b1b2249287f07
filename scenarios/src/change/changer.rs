//! Applies a change along a path through the tree and its shape.

use std::ops::Range;

use super::concurrency::as_called_here;
use super::path::{KeyStep, steps};
use crate::error::{Problem, Problems};
use crate::host_pattern::Group;
use crate::names::{belongs, meant, one_of};
use crate::overlay::drop_meaningless;
use crate::shape::{self, KeyShape, Shape, TableShape};
use crate::source::{Place, Sources};
use crate::structure::check_value;
use crate::tree::{Entry, Node, Table, Value};

/// A change in progress.
pub(super) struct Changer<'a> {
    /// The groups of hosts before the change.
    pub(super) groups: Vec<Group>,
    /// The value as given.
    pub(super) value: &'a str,
    /// Addresses of the value and the path.
    pub(super) value_base: usize,
    pub(super) path_base: usize,
    pub(super) problems: Problems,
    pub(super) base: &'a std::path::Path,
    pub(super) sources: Sources,
}

pub(super) type Outcome = Result<(), Problem>;

impl Changer<'_> {
    pub(super) fn place(&self, range: Range<usize>) -> Place {
        Place { start: self.path_base + range.start, end: self.path_base + range.end }
    }

    pub(super) fn fail(&self, step: &KeyStep, message: String) -> Problem {
        Problem::new(self.place(step.range.clone()), message)
    }

    /// Whether the value removes the entry or key.
    pub(super) fn takes_away(&self) -> bool {
        self.value.trim().is_empty()
    }

    pub(super) fn takes_entry_away(&self) -> bool {
        self.takes_away() || self.value.trim() == "none"
    }

    pub(super) fn change(&mut self, tree: &mut Table, path: &str) -> Outcome {
        let steps = steps(path).map_err(|(range, why)| {
            Problem::new(self.place(range), format!("`{path}` is not a path: {why}"))
                .help("a path is such as `volume.mail.encoding` or `node.brick.disk[0].device`")
        })?;
        let steps = as_called_here(tree, steps);
        match self.host(tree, &steps)? {
            Some((name, rest)) => self.in_host(tree, &name, &steps[..rest], &steps[rest..]),
            None => self.table(tree, shape::scenario(), &steps, ""),
        }
    }

    /// Follows the rest of a path in a table.
    fn table(
        &mut self,
        table: &mut Table,
        shape: &TableShape,
        steps: &[KeyStep],
        path: &str,
    ) -> Outcome {
        let (step, rest) = steps.split_first().expect("a step is left");
        let Some(key) = shape.key(&step.text).filter(|_| !step.bracket) else {
            let owner = if path.is_empty() { "a scenario".to_owned() } else { format!("`{path}`") };
            let message = format!("{owner} has no key `{}`", step.text);
            let elsewhere = if path.is_empty() { named(table, &step.text) } else { Vec::new() };
            let help = if elsewhere.is_empty() {
                meant(&step.text, shape.names())
            } else {
                let paths = one_of(elsewhere.iter().map(String::as_str));
                Some(format!("a path begins with the section and the name in it: {paths}"))
            };
            return Err(self.fail(step, message).maybe_help(help));
        };
        let path = join(path, step);
        if rest.is_empty() {
            if matches!(key.shape, Shape::Map(_)) {
                return Err(self.whole_section(step));
            }
            self.leaf(table, key, &path);
            let changed = self.changed_keys(table);
            drop_meaningless(table, shape, |name| !changed.iter().any(|other| other == name));
            return Ok(());
        }
        let node = self.inside(table, key, step);
        self.value(node, &key.shape, rest, &path, step)
    }

    /// Keys of a table that this change or earlier ones have set.
    fn changed_keys(&self, table: &Table) -> Vec<String> {
        let changed = table.entries.iter().filter(|entry| self.sources.is_change(entry.key_place));
        changed.map(|entry| entry.key.clone()).collect()
    }

    fn whole_section(&self, step: &KeyStep) -> Problem {
        let name = &step.text;
        self.fail(step, format!("`{name}` is a section, and is not changed as a whole")).help(format!(
            "add an entry, `{name}.NAME={{ ... }}`, take one away, `{name}.NAME=none`, or change \
             a key, `{name}.NAME.KEY=VALUE`"
        ))
    }

    /// Sets or removes a key of `table`.
    fn leaf(&mut self, table: &mut Table, key: &KeyShape, path: &str) {
        // a table that may be left out goes with `none`, as entries do
        let is_table = matches!(key.shape, Shape::Table(TableShape { short: None, .. }));
        if self.takes_away() || is_table && !key.required && self.takes_entry_away() {
            table.remove(&key.name);
            return;
        }
        let mut node = self.node_for(&key.shape);
        check_value(&mut node, key, path, &mut self.problems);
        let entry = Entry { key: key.name.clone(), key_place: node.place, node };
        table.insert(entry);
    }

    /// The value of a key whose inside is changed. If it is missing, the default is changed.
    pub(super) fn inside<'t>(
        &self,
        table: &'t mut Table,
        key: &KeyShape,
        step: &KeyStep,
    ) -> &'t mut Node {
        if table.get(&key.name).is_none() {
            let place = self.place(step.range.clone());
            let value = match &key.default {
                Some(Value::Table(default)) => Value::Table(default.clone()),
                _ => Value::Table(Table::default()),
            };
            let node = Node { value, place };
            table.insert(Entry { key: key.name.clone(), key_place: place, node });
        }
        table.get_mut(&key.name).expect("it is there now")
    }

    /// Follows the rest of a path in a value.
    pub(super) fn value(
        &mut self,
        node: &mut Node,
        shape: &Shape,
        steps: &[KeyStep],
        path: &str,
        step: &KeyStep,
    ) -> Outcome {
        if let (Shape::Table(TableShape { short: Some(short), .. }), Value::Text(_)) =
            (shape, &node.value)
        {
            node.expand(short);
        }
        match (shape, &mut node.value) {
            (Shape::Table(inner), Value::Table(table)) => self.table(table, inner, steps, path),
            (Shape::Map(inner), Value::Table(_)) => self.entries(node, inner, steps, path),
            (Shape::Tagged { tag, branches }, Value::Table(table)) => {
                self.tagged(table, tag, branches, steps, path)
            }
            (Shape::List { item, .. }, Value::List(list)) => self.list(list, item, steps, path),
            (Shape::List { .. }, _) => Err(self
                .fail(step, format!("`{path}` has no elements yet"))
                .help(format!("set the whole list, `{path}=[...]`"))),
            (Shape::Table(_) | Shape::Map(_) | Shape::Tagged { .. }, found) => {
                let message = format!("`{path}` is {}, and must be a table", found.kind());
                Err(self.fail(step, message))
            }
            _ => Err(self.fail(&steps[0], format!("`{path}` is a value, and has no parts"))),
        }
    }

    fn list(&mut self, list: &mut [Node], item: &Shape, steps: &[KeyStep], path: &str) -> Outcome {
        let (step, rest) = steps.split_first().expect("a step is left");
        let count = list.len();
        let index = step.text.parse::<usize>().ok().filter(|&index| index < count);
        let Some(index) = index else {
            let message = match step.text.parse::<usize>() {
                Ok(_) => {
                    format!("`{path}` has {count} element{}", if count == 1 { "" } else { "s" })
                }
                Err(_) => format!("`{path}` is a list, and `{}` is not a number", step.text),
            };
            let help = match count {
                0 => format!("set the whole list, `{path}=[...]`"),
                1 => format!("its only element is `{path}[0]`"),
                _ => format!("its elements are `{path}[0]` to `{path}[{}]`", count - 1),
            };
            return Err(self.fail(step, message).help(help));
        };
        let path = format!("{path}[{index}]");
        if !rest.is_empty() {
            return self.value(&mut list[index], item, rest, &path, step);
        }
        let key = KeyShape::anonymous(item.clone());
        let mut node = self.node_for(item);
        check_value(&mut node, &key, &path, &mut self.problems);
        list[index] = node;
        Ok(())
    }

    fn tagged(
        &mut self,
        table: &mut Table,
        tag: &str,
        branches: &[(String, TableShape)],
        steps: &[KeyStep],
        path: &str,
    ) -> Outcome {
        let step = &steps[0];
        if step.text == tag && steps.len() == 1 {
            let key = KeyShape::anonymous(Shape::Text {
                words: branches.iter().map(|(name, _)| name.clone()).collect(),
            });
            let key = KeyShape { name: tag.to_owned(), ..key };
            self.leaf(table, &key, &join(path, step));
        }
        let chosen = table.get(tag).and_then(Node::text);
        let Some((_, branch)) = branches.iter().find(|(name, _)| Some(name.as_str()) == chosen)
        else {
            if step.text == tag {
                // it was removed, or is wrong and reported as such
                return Ok(());
            }
            let names = one_of(branches.iter().map(|(name, _)| name.as_str()));
            return Err(self
                .fail(step, format!("`{path}` has no `{tag}` that says what it is"))
                .help(format!("set `{path}.{tag}` first, to one of {names}")));
        };
        if step.text == tag {
            // keys of another kind are removed, unless they were changed as well
            let changed = self.changed_keys(table);
            let stays = |name: &String| {
                branch.key(name).is_some() || !branches.iter().any(|(_, b)| b.key(name).is_some())
            };
            table.entries.retain(|entry| stays(&entry.key) || changed.contains(&entry.key));
            drop_meaningless(table, branch, |name| !changed.iter().any(|other| other == name));
            return Ok(());
        }
        if branch.key(&step.text).is_none() {
            let others: Vec<&str> = branches
                .iter()
                .filter(|(_, other)| other.key(&step.text).is_some())
                .map(|(name, _)| name.as_str())
                .collect();
            if !others.is_empty() {
                let chosen = chosen.unwrap_or_default();
                let message =
                    format!("`{path}.{}` would have no effect: `{tag}` is `{chosen}`", step.text);
                let help = belongs(&step.text, tag, others);
                return Err(self.fail(step, message).help(help));
            }
        }
        self.table(table, branch, steps, path)
    }
}

impl KeyShape {
    /// A key without a name, to check a value against the shape.
    pub(super) fn anonymous(shape: Shape) -> Self {
        Self {
            name: String::new(),
            shape,
            required: false,
            default: None,
            when: Vec::new(),
            about: String::new(),
            what: None,
            examples: Vec::new(),
        }
    }
}

fn join(path: &str, step: &KeyStep) -> String {
    if path.is_empty() { step.text.clone() } else { format!("{path}.{}", step.text) }
}

/// Paths of the keys with this name in the sections of a scenario.
fn named(scenario: &Table, name: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut under = vec![(String::new(), scenario)];
    while let Some((path, table)) = under.pop() {
        for entry in &table.entries {
            let path =
                if path.is_empty() { entry.key.clone() } else { format!("{path}.{}", entry.key) };
            if entry.key == name {
                paths.push(path);
            } else if let Some(table) = entry.node.table() {
                under.push((path, table));
            }
        }
    }
    paths.sort();
    paths
}
