//! Second network adapters of nodes: whether any message uses them.

use foretell_units::HostId;

use super::crush::key;
use super::{Context, Hosts, section};
use crate::error::Problem;
use crate::model::System;
use crate::tree::{Node, Table};

impl Context<'_> {
    /// Refuses second adapters that no message can use.
    pub(super) fn adapters_are_used(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        system: &System,
        has_events: bool,
    ) {
        let Some(written) = cluster_nic(tree) else { return };
        if hosts.incomplete {
            return;
        }
        let with_one = |id: &HostId| hosts.get(*id).is_some_and(|host| host.cluster_nic.is_some());
        let mut machines: Vec<HostId> = (0..hosts.count())
            .map(HostId::from)
            .filter(with_one)
            .map(|id| hosts.first_on_machine(id))
            .collect();
        machines.sort_unstable();
        machines.dedup();
        if let [only] = machines[..] {
            let message = format!(
                "`cluster_nic` has no effect: `{}` is the only machine that has one",
                hosts.name(only)
            );
            let help = "give it to all nodes, or leave it out";
            self.add(Problem::new(written.place, message).help(help));
        } else if !has_events && !system.traits().nodes_exchange() {
            let message = format!(
                "`cluster_nic` has no effect with `system = \"{}\"` in a scenario without events: nodes send \
                 messages to each other only while they recover",
                system.name()
            );
            let help = "add an event, or leave `cluster_nic` out";
            self.add(Problem::new(written.place, message).help(help));
        }
    }
}

/// The first second adapter that the scenario writes.
fn cluster_nic(tree: &Table) -> Option<&Node> {
    section(tree, "node").chain(section(tree, "host")).find_map(|entry| key(entry, "cluster_nic"))
}
