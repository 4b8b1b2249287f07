//! Changes of one host: a path through its group ends in `[host.NAME]`.

use super::changer::{Changer, Outcome};
use super::path::KeyStep;
use crate::error::Problem;
use crate::host_pattern;
use crate::shape;
use crate::tree::{Entry, Node, Table, Value};

impl Changer<'_> {
    /// The host to which a path leads and the number of steps to it, if it leads to a host.
    pub(super) fn host(
        &self,
        tree: &Table,
        steps: &[KeyStep],
    ) -> Result<Option<(String, usize)>, Problem> {
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
                // not a host at all: handled as any other name
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

    /// Follows the rest of a path in `[host.NAME]`.
    pub(super) fn in_host(
        &mut self,
        tree: &mut Table,
        name: &str,
        way: &[KeyStep],
        rest: &[KeyStep],
    ) -> Outcome {
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
                if hosts.get(name).is_none() {
                    return Err(self.nothing_of_its_own(name, last));
                }
                hosts.remove(name);
            } else {
                self.whole_entry(hosts, inner, name, &path);
            }
            return Ok(());
        }
        if hosts.get(name).is_none() {
            let place = self.place(last.range.clone());
            let node = Node { value: Value::Table(Table::default()), place };
            hosts.insert(Entry { key: name.to_owned(), key_place: place, node });
        }
        let node = hosts.get_mut(name).expect("it is there now");
        if let (Some(entry), Value::Table(table)) = (from_group, &mut node.value)
            && table.get(&entry.key).is_none()
        {
            table.insert(entry);
        }
        self.value(node, inner, rest, &path, last)
    }

    /// Removing `[host.NAME]` makes a host like its group again; most hosts already are.
    fn nothing_of_its_own(&self, name: &str, last: &KeyStep) -> Problem {
        let group = host_pattern::host(name, &self.groups)
            .and_then(|number| self.groups.iter().rfind(|group| group.first <= number));
        let section = if group.is_some_and(|group| group.is_node) { "node" } else { "client" };
        let group = group.map_or("its group", |group| group.name.as_str());
        let message = format!("`{name}` is as its group: there is no `[host.{name}]` to take away");
        self.fail(last, message).help(format!(
            "a host cannot be taken out of a cluster in this way: set `{section}.{group}.count`, or change \
             the `nodes` of volumes and the `client` of workloads that name it"
        ))
    }

    /// The list of the host's group that a path enters: a host can only have a whole list of its own.
    fn list_of_group(&self, tree: &Table, name: &str, rest: &[KeyStep]) -> Option<Entry> {
        let key = rest.first().filter(|_| rest.len() > 1)?;
        let number = host_pattern::host(name, &self.groups)?;
        let group = self.groups.iter().rfind(|group| group.first <= number)?;
        let section = if group.is_node { "node" } else { "client" };
        let group = tree.get(section)?.table()?.get(&group.name)?.table()?;
        group.entry(&key.text).filter(|entry| matches!(entry.node.value, Value::List(_))).cloned()
    }
}
