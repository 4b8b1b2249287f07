//! Changes of a section's entries: whole entries, new entries, profiles that are fetched.

use super::changer::{Changer, Outcome};
use super::path::{KeyStep, find, joined};
use crate::names::{is_name, is_profile_name, meant, nearest};
use crate::profiles::{self, ProfileKind};
use crate::shape::{KeyShape, Shape};
use crate::structure::check_value;
use crate::tree::{Entry, Node, Table, Value, parse_value};

impl Changer<'_> {
    /// Follows the rest of a path in a section whose keys are names.
    pub(super) fn entries(
        &mut self,
        section: &mut Node,
        inner: &Shape,
        steps: &[KeyStep],
        name: &str,
    ) -> Outcome {
        let Value::Table(table) = &mut section.value else { return Ok(()) };
        let (entry, rest) = find(table, steps);
        let Some(entry) = entry else { return self.absent(table, inner, steps, name) };
        let path = format!("{name}.{entry}");
        if rest.is_empty() {
            if self.takes_entry_away() {
                table.remove(&entry);
            } else {
                self.whole_entry(table, inner, &entry, &path);
            }
            return Ok(());
        }
        let step = &steps[steps.len() - rest.len() - 1];
        let node = table.get_mut(&entry).expect("it was found");
        self.value(node, inner, rest, &path, step)
    }

    /// Adds or replaces a whole entry.
    pub(super) fn whole_entry(
        &mut self,
        table: &mut Table,
        inner: &Shape,
        entry: &str,
        path: &str,
    ) {
        let key = KeyShape { name: entry.to_owned(), ..KeyShape::anonymous(inner.clone()) };
        let mut node = self.node_for(inner);
        check_value(&mut node, &key, path, &mut self.problems);
        table.insert(Entry { key: entry.to_owned(), key_place: node.place, node });
    }

    /// Handles a name that is not in a section.
    fn absent(
        &mut self,
        table: &mut Table,
        inner: &Shape,
        steps: &[KeyStep],
        section: &str,
    ) -> Outcome {
        let step = &steps[0];
        let is_table = parse_value(self.value.trim(), 0).is_some_and(|node| node.table().is_some());
        let profile = match section {
            "cpu" => Some(ProfileKind::Cpu),
            "device" => Some(ProfileKind::Device),
            _ => None,
        };
        let shipped = profile.and_then(|kind| Some((kind, self.profile(kind, steps)?)));
        if let Some((kind, (name, count))) = shipped {
            let (way, rest) = steps.split_at(count);
            return self.fetched(table, inner, kind, &name, way, rest);
        }
        let whole: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
        let whole = whole.join(".");
        let may_be_added = match profile {
            Some(_) => is_profile_name(&whole),
            None => steps.len() == 1 && is_name(&whole),
        };
        if is_table && may_be_added && section != "host" {
            self.whole_entry(table, inner, &whole, &format!("{section}.{whole}"));
            return Ok(());
        }
        let message = format!("there is no {section} `{}`", step.text);
        let near = nearest(&step.text, table.keys());
        let help = if let Some(near) = near {
            Some(format!("did you mean `{section}.{near}`?"))
        } else if let Some(kind) = profile {
            let known = profiles::known(kind, Some(table), self.sources.beside(self.base));
            meant(&step.text, known.iter().map(String::as_str))
        } else if steps.len() == 1 {
            Some(format!("a new one is added whole, `{section}.{}={{ ... }}`", step.text))
        } else {
            meant(&step.text, table.keys())
        };
        Err(self.fail(step, message).maybe_help(help))
    }

    /// Puts a profile into the scenario, and changes it there.
    fn fetched(
        &mut self,
        table: &mut Table,
        inner: &Shape,
        kind: ProfileKind,
        name: &str,
        way: &[KeyStep],
        rest: &[KeyStep],
    ) -> Outcome {
        let Ok(Some((file, text))) = profiles::text_of(kind, name, self.sources.beside(self.base))
        else {
            return Ok(());
        };
        let node = profiles::read(kind, &file, &text, &mut self.sources, &mut self.problems);
        let Some(node) = node else { return Ok(()) };
        let path = format!("{}.{name}", kind.section());
        table.insert(Entry { key: name.to_owned(), key_place: node.place, node });
        if rest.is_empty() {
            self.whole_entry(table, inner, name, &path);
            return Ok(());
        }
        let node = table.get_mut(name).expect("it was put there");
        self.value(node, inner, rest, &path, &way[way.len() - 1])
    }

    /// The profile at the beginning of a path, among those outside the scenario, and its number of steps.
    fn profile(&self, kind: ProfileKind, steps: &[KeyStep]) -> Option<(String, usize)> {
        (1..=steps.len()).rev().find_map(|count| {
            let name = joined(&steps[..count])?;
            let known = matches!(
                profiles::text_of(kind, &name, self.sources.beside(self.base)),
                Ok(Some(_))
            );
            known.then_some((name, count))
        })
    }
}
