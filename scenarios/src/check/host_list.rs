//! Lists of hosts: storage nodes of volumes, clients of workloads.

use foretell_sorted::SortedSet;
use foretell_units::HostId;

use super::{Context, Hosts};
use crate::error::Problem;
use crate::host_pattern;
use crate::raw::{At, HostPatterns};
use crate::source::Place;

/// Which hosts may be named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AllowedHosts {
    /// Storage nodes.
    Nodes,
    /// Hosts that are not storage nodes.
    Clients,
    /// All hosts.
    Both,
}

impl Context<'_> {
    /// The hosts that patterns name, without repetition.
    pub(crate) fn hosts_of(
        &mut self,
        patterns: &At<HostPatterns>,
        allowed: AllowedHosts,
        whose: &str,
        hosts: &Hosts,
    ) -> Option<Vec<HostId>> {
        match patterns.get() {
            HostPatterns::One(text) => {
                self.host_list([(text.as_str(), patterns.place())], allowed, whose, hosts)
            }
            HostPatterns::Many(list) => {
                let list = list.iter().map(|at| (at.get().as_str(), at.place()));
                self.host_list(list, allowed, whose, hosts)
            }
        }
    }

    pub(crate) fn host_list<'p>(
        &mut self,
        patterns: impl IntoIterator<Item = (&'p str, Place)>,
        allowed: AllowedHosts,
        whose: &str,
        hosts: &Hosts,
    ) -> Option<Vec<HostId>> {
        let mut list = Vec::new();
        let mut seen = SortedSet::new();
        let mut good = true;
        for (text, place) in patterns {
            let found = match host_pattern::hosts(text, &hosts.groups) {
                Ok(found) => found,
                Err(error) => {
                    if !hosts.incomplete {
                        let place = self.sources.part(place, text, error.part);
                        self.add(Problem::new(place, error.message).maybe_help(error.help));
                    }
                    good = false;
                    continue;
                }
            };
            for (number, part) in found {
                let id = HostId::from(number);
                let group = hosts.groups.iter().rfind(|group| group.first <= number);
                let is_node = group.is_some_and(|group| group.is_node);
                let misfit = match (allowed, is_node) {
                    (AllowedHosts::Nodes, false) => Some(("a client", "a storage node")),
                    (AllowedHosts::Clients, true) => Some(("a storage node", "a client")),
                    _ => None,
                };
                let message = if let Some((is, wants)) = misfit {
                    format!("`{}` is {is}, but {whose} needs {wants}", hosts.name(id))
                } else if !seen.insert(number) {
                    format!("`{}` is named twice for {whose}", hosts.name(id))
                } else {
                    list.push(id);
                    continue;
                };
                let place = self.sources.part(place, text, part);
                self.add(Problem::new(place, message));
                good = false;
                break;
            }
        }
        good.then_some(list)
    }
}
