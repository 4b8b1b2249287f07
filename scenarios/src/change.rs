//! Changes: `volume.mail.encoding=3-of-5`.
//!
//! A path leads through the tables of the scenario by their keys: `switch.port_buffer`,
//! `volume.mail.size`, `node.brick.cache.size`. A list's element has its number,
//! `node.brick.disk.0.device` or `node.brick.disk[0].device`. One host of a group is
//! `node.brick3.nic.rate` or `node.brick[3].nic.rate`; that fills `[host.brick3]`. A name with a
//! dot may stand in quotes, `device."barracuda-7200.8".rpm`, but need not.
//!
//! The value is TOML if it is, and a text otherwise, whichever the key takes: `8`, `1 GiB`,
//! `3-of-5`, `brick[3-7]`, `"brick[3-7]"`. Nothing takes a key away, so that its default holds
//! again (`workload.mail.think=`). Entries are added whole, `workload.new={ volume = "mail", ... }`,
//! and taken away by `none`: `workload.mail=none`. A change that makes other keys meaningless
//! (`arrivals`, `kind`, `layout`, `pattern`) takes these away, unless they were changed too.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::check::groups_of;
use crate::document::Document;
use crate::error::{Problem, Problems, ScenarioErrors};
use crate::host_pattern::{self, Group};
use crate::names::{is_name, is_profile_name, meant, nearest, one_of};
use crate::overlay::drop_meaningless;
use crate::profiles::{self, ProfileKind};
use crate::shape::{self, KeyShape, Shape, TableShape};
use crate::source::{Place, SourceKind, Sources};
use crate::structure::check_value;
use crate::tree::{Entry, Node, Table, Value, parse_value};

/// A change of a scenario, `path=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Where: `volume.mail.encoding`.
    pub path: String,
    /// What to: `3-of-5`; empty for the default.
    pub value: String,
}

/// A text that is no change.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a change; write PATH=VALUE, such as `volume.mail.encoding=3-of-5`")]
pub struct ChangeError(String);

impl FromStr for Change {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Self, ChangeError> {
        match text.split_once('=') {
            Some((path, value)) if !path.trim().is_empty() => {
                Ok(Self { path: path.trim().to_owned(), value: value.to_owned() })
            }
            _ => Err(ChangeError(text.to_owned())),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.path, self.value)
    }
}

impl Document {
    /// Changes the value at `path`. Errors, and changes nothing, if there is no such path or the
    /// value does not fit it; whether the scenario as a whole is right, [`Document::check`] tells.
    ///
    /// Errors show the change as `--set path=value`.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), ScenarioErrors> {
        self.apply("--set", &Change { path: path.to_owned(), value: value.to_owned() })
    }

    /// As [`Document::set`], with the option by which the change was given, for errors:
    /// `--what-if`.
    pub fn apply(&mut self, option: &str, change: &Change) -> Result<(), ScenarioErrors> {
        let prefix = format!("{option} ");
        let text = format!("{prefix}{change}");
        let mut sources = self.sources.clone();
        let path_base = sources.add(option, &text, SourceKind::Change) + prefix.len();
        let value_base = path_base + change.path.len() + 1;
        let mut tree = self.tree.clone();
        let mut changer = Changer {
            groups: groups_of(&tree).into_iter().map(|(group, _)| group).collect(),
            value: &change.value,
            value_base,
            path_base,
            problems: Problems::default(),
            base: &self.base,
            sources,
        };
        if let Err(problem) = changer.change(&mut tree, &change.path) {
            changer.problems.add(problem);
        }
        let Changer { problems, sources, .. } = changer;
        match problems.into_errors(&sources) {
            Some(errors) => Err(errors),
            None => {
                (self.tree, self.sources) = (tree, sources);
                Ok(())
            }
        }
    }
}

/// A step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Step {
    text: String,
    /// `[3]`, not `.3`.
    bracket: bool,
    range: Range<usize>,
}

fn steps(path: &str) -> Result<Vec<Step>, (Range<usize>, &'static str)> {
    let bytes = path.as_bytes();
    let mut steps = Vec::new();
    let mut at = 0;
    loop {
        let start = at;
        match bytes.get(at) {
            Some(&quote @ (b'"' | b'\'')) => {
                let rest = &path[at + 1..];
                let len =
                    rest.find(quote as char).ok_or((start..path.len(), "a quote is not closed"))?;
                let text = rest[..len].to_owned();
                at += len + 2;
                steps.push(Step { text, bracket: false, range: start..at });
            }
            _ => {
                let rest = &path[at..];
                let len = rest.find(['.', '[']).unwrap_or(rest.len());
                let text = rest[..len].trim();
                at += len;
                if text.is_empty() {
                    return Err((start..(at + 1).min(path.len()), "a name is missing"));
                }
                steps.push(Step { text: text.to_owned(), bracket: false, range: start..at });
            }
        }
        while bytes.get(at) == Some(&b'[') {
            let start = at;
            let rest = &path[at + 1..];
            let len = rest.find(']').ok_or((start..path.len(), "a bracket is not closed"))?;
            at += len + 2;
            let text = rest[..len].trim().to_owned();
            if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err((start..at, "a number in brackets is wanted"));
            }
            steps.push(Step { text, bracket: true, range: start..at });
        }
        match bytes.get(at) {
            None => return Ok(steps),
            Some(b'.') => at += 1,
            Some(_) => return Err((at..path.len(), "a dot is missing")),
        }
    }
}

struct Changer<'a> {
    groups: Vec<Group>,
    value: &'a str,
    value_base: usize,
    path_base: usize,
    problems: Problems,
    base: &'a std::path::Path,
    sources: Sources,
}

type Outcome = Result<(), Problem>;

impl Changer<'_> {
    fn place(&self, range: Range<usize>) -> Place {
        Place { start: self.path_base + range.start, end: self.path_base + range.end }
    }

    fn fail(&self, step: &Step, message: String) -> Problem {
        Problem::new(self.place(step.range.clone()), message)
    }

    /// Whether the value takes the entry or key away.
    fn takes_away(&self) -> bool {
        self.value.trim().is_empty()
    }

    fn takes_entry_away(&self) -> bool {
        self.takes_away() || self.value.trim() == "none"
    }

    fn change(&mut self, tree: &mut Table, path: &str) -> Outcome {
        let steps = steps(path).map_err(|(range, why)| {
            Problem::new(self.place(range), format!("`{path}` is not a path: {why}"))
                .help("a path is such as `volume.mail.encoding` or `node.brick.disk[0].device`")
        })?;
        match self.host(tree, &steps)? {
            Some((name, rest)) => self.in_host(tree, &name, &steps[..rest], &steps[rest..]),
            None => self.table(tree, shape::scenario(), &steps, ""),
        }
    }

    /// The host that a path leads to and how many steps lead there, if it leads to a host.
    fn host(&self, tree: &Table, steps: &[Step]) -> Result<Option<(String, usize)>, Problem> {
        let [section, first, ..] = steps else { return Ok(None) };
        let section = section.text.as_str();
        if !matches!(section, "node" | "client" | "host") {
            return Ok(None);
        }
        let group_exists = tree
            .get(section)
            .and_then(Node::table)
            .is_some_and(|section| section.get(&first.text).is_some());
        let (name, count, last) = match steps.get(2) {
            Some(index) if index.bracket && section != "host" => {
                (format!("{}{}", first.text, index.text), 3, index)
            }
            _ if group_exists && section != "host" => return Ok(None),
            _ => (first.text.clone(), 2, first),
        };
        let Some(number) = host_pattern::host(&name, &self.groups) else {
            if count == 2 && section != "host" {
                // not a host at all: as with any other name
                return Ok(None);
            }
            let message = format!("there is no host `{name}`");
            let help = match host_pattern::hosts(&name, &self.groups) {
                Err(error) => error.help,
                Ok(_) => Some(format!("`{name}` is a group; its hosts have numbers, `{name}0`")),
            };
            return Err(self.fail(last, message).maybe_help(help));
        };
        let group = self.groups.iter().rfind(|group| group.first <= number);
        let is_node = group.is_some_and(|group| group.is_node);
        if (section == "node" && !is_node) || (section == "client" && is_node) {
            let right = if is_node { "node" } else { "client" };
            let message = format!("`{name}` is a {right}, not a {section}");
            return Err(self.fail(last, message).help(format!("write `{right}.{name}`")));
        }
        Ok(Some((name, count)))
    }

    /// The rest of a path in `[host.NAME]`.
    fn in_host(&mut self, tree: &mut Table, name: &str, way: &[Step], rest: &[Step]) -> Outcome {
        let last = way.last().expect("steps led to the host");
        let inner = shape::section("host");
        let path = format!("host.{name}");
        if rest.is_empty() && way[0].text != "host" {
            let message = format!("`{name}` is one host of a group, and is not changed as a whole");
            return Err(self.fail(last, message).help(format!(
                "change one of its keys, `{}.{name}.KEY=VALUE`, or the `count` of its group",
                way[0].text
            )));
        }
        let from_group = self.list_of_group(tree, name, rest);
        let section = self.inside(tree, shape::scenario().key("host").expect("a section"), last);
        let Value::Table(hosts) = &mut section.value else {
            return Err(self.fail(last, "`host` is not a table".to_owned()));
        };
        if rest.is_empty() {
            if self.takes_entry_away() {
                hosts.remove(name);
                return Ok(());
            }
            return self.whole_entry(hosts, inner, name, &path);
        }
        if hosts.get(name).is_none() {
            let place = self.place(last.range.clone());
            let node = Node { value: Value::Table(Table::default()), place };
            hosts.insert(Entry { key: name.to_owned(), key_place: place, node });
        }
        let node = hosts.get_mut(name).expect("it is there now");
        if let (Some(entry), Value::Table(table)) = (from_group, &mut node.value) {
            if table.get(&entry.key).is_none() {
                table.insert(entry);
            }
        }
        self.value(node, inner, rest, &path, last)
    }

    /// The list of the host's group that a path leads into: a host has its own only as a whole.
    fn list_of_group(&self, tree: &Table, name: &str, rest: &[Step]) -> Option<Entry> {
        let key = rest.first().filter(|_| rest.len() > 1)?;
        let number = host_pattern::host(name, &self.groups)?;
        let group = self.groups.iter().rfind(|group| group.first <= number)?;
        let section = if group.is_node { "node" } else { "client" };
        let group = tree.get(section)?.table()?.get(&group.name)?.table()?;
        group.entry(&key.text).filter(|entry| matches!(entry.node.value, Value::List(_))).cloned()
    }

    /// The rest of a path in a table.
    fn table(
        &mut self,
        table: &mut Table,
        shape: &TableShape,
        steps: &[Step],
        path: &str,
    ) -> Outcome {
        let (step, rest) = steps.split_first().expect("a step is left");
        let Some(key) = shape.key(&step.text).filter(|_| !step.bracket) else {
            let owner = if path.is_empty() { "a scenario".to_owned() } else { format!("`{path}`") };
            let message = format!("{owner} has no key `{}`", step.text);
            return Err(self.fail(step, message).maybe_help(meant(&step.text, shape.names())));
        };
        let path = join(path, step);
        if rest.is_empty() {
            if matches!(key.shape, Shape::Map(_)) {
                return Err(self.whole_section(step));
            }
            self.leaf(table, key, &path);
        } else {
            let node = self.inside(table, key, step);
            self.value(node, &key.shape, rest, &path, step)?;
        }
        let sources = &self.sources;
        let from_change = |table: &Table, name: &str| {
            table.entry(name).is_some_and(|entry| sources.is_change(entry.key_place))
        };
        let before = table.clone();
        drop_meaningless(table, shape, |name| !from_change(&before, name));
        Ok(())
    }

    fn whole_section(&self, step: &Step) -> Problem {
        let name = &step.text;
        self.fail(step, format!("`{name}` is a section, and is not changed as a whole")).help(format!(
            "add an entry, `{name}.NAME={{ ... }}`, take one away, `{name}.NAME=none`, or change \
             a key, `{name}.NAME.KEY=VALUE`"
        ))
    }

    /// Sets or takes away a key of `table`.
    fn leaf(&mut self, table: &mut Table, key: &KeyShape, path: &str) {
        if self.takes_away() {
            table.remove(&key.name);
            return;
        }
        let mut node = self.node_for(&key.shape);
        check_value(&mut node, key, path, &mut self.problems);
        let entry = Entry { key: key.name.clone(), key_place: node.place, node };
        table.insert(entry);
    }

    /// The value as it is to be read for a shape.
    fn node_for(&self, shape: &Shape) -> Node {
        let trimmed = self.value.trim();
        let start = self.value_base + (self.value.len() - self.value.trim_start().len());
        let place = Place { start, end: start + trimmed.len() };
        let text = Node { value: Value::Text(trimmed.to_owned()), place };
        let parsed = parse_value(trimmed, start);
        match (parsed, shape) {
            (Some(node), _) if shape.fits(&node) => node,
            _ if shape.takes_text() => text,
            (parsed, Shape::List { item, .. }) if item.takes_text() => match parsed {
                Some(node) if !matches!(node.value, Value::Text(_)) => node,
                _ => Node { value: Value::List(split(trimmed, start)), place },
            },
            (Some(node), _) => node,
            (None, _) => text,
        }
    }

    /// The value of a key that is to be changed inside; made if it is not there.
    fn inside<'t>(&self, table: &'t mut Table, key: &KeyShape, step: &Step) -> &'t mut Node {
        if table.get(&key.name).is_none() {
            let place = self.place(step.range.clone());
            let node = Node { value: Value::Table(Table::default()), place };
            table.insert(Entry { key: key.name.clone(), key_place: place, node });
        }
        table.get_mut(&key.name).expect("it is there now")
    }

    /// The rest of a path in a value.
    fn value(
        &mut self,
        node: &mut Node,
        shape: &Shape,
        steps: &[Step],
        path: &str,
        step: &Step,
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
                self.tagged(table, (tag, branches), steps, path)
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

    fn list(&mut self, list: &mut [Node], item: &Shape, steps: &[Step], path: &str) -> Outcome {
        let (step, rest) = steps.split_first().expect("a step is left");
        let count = list.len();
        let index = step.text.parse::<usize>().ok().filter(|&index| index < count);
        let Some(index) = index else {
            let message = match step.text.parse::<usize>() {
                Ok(_) => {
                    format!("`{path}` has {count} element{}", if count == 1 { "" } else { "s" })
                }
                Err(_) => format!("`{path}` is a list, and `{}` is no number", step.text),
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
        (tag, branches): (&str, &[(String, TableShape)]),
        steps: &[Step],
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
                // it was taken away, or is wrong and reported as such
                return Ok(());
            }
            let names = one_of(branches.iter().map(|(name, _)| name.as_str()));
            return Err(self
                .fail(step, format!("`{path}` has no `{tag}` that says what it is"))
                .help(format!("set `{path}.{tag}` first, to one of {names}")));
        };
        if step.text == tag {
            let sources = &self.sources;
            let before = table.clone();
            drop_meaningless(table, branch, |name| {
                before.entry(name).is_some_and(|entry| !sources.is_change(entry.key_place))
            });
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
                let help = format!("`{}` belongs to the kind {}", step.text, one_of(others));
                return Err(self.fail(step, message).help(help));
            }
        }
        self.table(table, branch, steps, path)
    }

    /// The rest of a path in a section of names.
    fn entries(
        &mut self,
        section: &mut Node,
        inner: &Shape,
        steps: &[Step],
        name: &str,
    ) -> Outcome {
        let Value::Table(table) = &mut section.value else { return Ok(()) };
        let (entry, rest) = find(table, steps);
        let Some(entry) = entry else { return self.absent(table, inner, steps, name) };
        let path = format!("{name}.{entry}");
        if rest.is_empty() {
            if self.takes_entry_away() {
                table.remove(&entry);
                return Ok(());
            }
            return self.whole_entry(table, inner, &entry, &path);
        }
        let step = &steps[steps.len() - rest.len() - 1];
        let node = table.get_mut(&entry).expect("it was found");
        self.value(node, inner, rest, &path, step)
    }

    /// Adds or replaces a whole entry.
    fn whole_entry(
        &mut self,
        table: &mut Table,
        inner: &Shape,
        entry: &str,
        path: &str,
    ) -> Outcome {
        let key = KeyShape { name: entry.to_owned(), ..KeyShape::anonymous(inner.clone()) };
        let mut node = self.node_for(inner);
        check_value(&mut node, &key, path, &mut self.problems);
        table.insert(Entry { key: entry.to_owned(), key_place: node.place, node });
        Ok(())
    }

    /// A name that a section does not have.
    fn absent(
        &mut self,
        table: &mut Table,
        inner: &Shape,
        steps: &[Step],
        section: &str,
    ) -> Outcome {
        let step = &steps[0];
        let is_table = parse_value(self.value.trim(), 0).is_some_and(|node| node.table().is_some());
        let profile = match section {
            "cpu" => Some(ProfileKind::Cpu),
            "device" => Some(ProfileKind::Device),
            _ => None,
        };
        if let Some(kind) = profile {
            if let Some((name, count)) = self.profile(kind, steps) {
                let (file, text) = match profiles::text_of(kind, &name, self.base) {
                    Ok(Some(found)) => found,
                    _ => return Ok(()),
                };
                let node =
                    profiles::read(kind, &file, &text, &mut self.sources, &mut self.problems);
                let Some(node) = node else { return Ok(()) };
                table.insert(Entry { key: name.clone(), key_place: node.place, node });
                let rest = &steps[count..];
                let path = format!("{section}.{name}");
                if rest.is_empty() {
                    return self.whole_entry(table, inner, &name, &path);
                }
                let node = table.get_mut(&name).expect("it was put there");
                return self.value(node, inner, rest, &path, &steps[count - 1]);
            }
        }
        let whole: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
        let whole = whole.join(".");
        let may_be_added = match profile {
            Some(_) => is_profile_name(&whole),
            None => steps.len() == 1 && is_name(&whole),
        };
        if is_table && may_be_added && section != "host" {
            return self.whole_entry(table, inner, &whole, &format!("{section}.{whole}"));
        }
        let message = format!("there is no {section} `{}`", step.text);
        let near = nearest(&step.text, table.keys());
        let help = if let Some(near) = near {
            Some(format!("did you mean `{section}.{near}`?"))
        } else if profile.is_some() {
            let known = profiles::known(profile.expect("it is some"), Some(table), self.base);
            meant(&step.text, known.iter().map(String::as_str))
        } else if steps.len() == 1 {
            Some(format!("a new one is added whole, `{section}.{}={{ ... }}`", step.text))
        } else {
            meant(&step.text, table.keys())
        };
        Err(self.fail(step, message).maybe_help(help))
    }

    /// The profile that a path begins with, among those not in the scenario, and its steps.
    fn profile(&self, kind: ProfileKind, steps: &[Step]) -> Option<(String, usize)> {
        (1..=steps.len()).rev().find_map(|count| {
            let name = joined(&steps[..count])?;
            let known = matches!(profiles::text_of(kind, &name, self.base), Ok(Some(_)));
            known.then_some((name, count))
        })
    }
}

impl KeyShape {
    /// A key without a name, for checking a value of the shape.
    fn anonymous(shape: Shape) -> Self {
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

fn join(path: &str, step: &Step) -> String {
    if path.is_empty() { step.text.clone() } else { format!("{path}.{}", step.text) }
}

/// The name that steps form if its dots were not meant as such.
fn joined(steps: &[Step]) -> Option<String> {
    let plain = steps.iter().all(|step| !step.bracket);
    plain.then(|| steps.iter().map(|step| step.text.as_str()).collect::<Vec<_>>().join("."))
}

/// The entry that a path begins with, longest name first, and what is left of the path.
fn find<'s>(table: &Table, steps: &'s [Step]) -> (Option<String>, &'s [Step]) {
    for count in (1..=steps.len()).rev() {
        if let Some(name) = joined(&steps[..count]).filter(|name| table.get(name).is_some()) {
            return (Some(name), &steps[count..]);
        }
    }
    (None, steps)
}

/// The texts between commas that are not in brackets.
fn split(text: &str, base: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    let ends = text.char_indices().chain([(text.len(), ',')]);
    for (at, c) in ends {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == text.len() => {
                let part = &text[start..at];
                let from = base + start + (part.len() - part.trim_start().len());
                let part = part.trim();
                let place = Place { start: from, end: from + part.len() };
                nodes.push(Node { value: Value::Text(part.to_owned()), place });
                start = at + 1;
            }
            _ => {}
        }
    }
    nodes
}
