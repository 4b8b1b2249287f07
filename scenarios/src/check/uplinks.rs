//! Uplinks of racks: which hosts share one.

use foretell_sorted::SortedMap;
use foretell_units::HostId;

use super::crush::key;
use super::topology::by_rack;
use super::{Context, Hosts, section};
use crate::error::Problem;
use crate::model::{Rack, Uplinks};
use crate::raw::RawSwitch;
use crate::tree::{Node, Table};

/// The rate of uplinks as the scenario writes it.
pub(super) fn uplink(tree: &Table) -> Option<&Node> {
    tree.get("switch")?.table()?.get("uplink")
}

impl Context<'_> {
    /// The uplinks of racks; `None`: there are none. Reports what is wrong.
    pub(super) fn uplinks(&mut self, tree: &Table, hosts: &Hosts) -> Result<Option<Uplinks>, ()> {
        let Some(node) = uplink(tree) else {
            self.refuse_racks_of_clients(tree);
            return Ok(None);
        };
        self.uplinks_at(node, tree, hosts).map(Some).ok_or(())
    }

    fn uplinks_at(&mut self, node: &Node, tree: &Table, hosts: &Hosts) -> Option<Uplinks> {
        let raw: RawSwitch = self.part(tree, "switch")?;
        let rate = self.rate(raw.uplink.as_ref()?)?;
        if hosts.incomplete {
            return None;
        }
        let groups = section(tree, "node").chain(section(tree, "client"));
        let racks = by_rack(groups, hosts);
        if racks.is_empty() {
            let message = "`uplink` has no effect, because no host is in a rack";
            let help = "give groups of nodes or clients a `rack`, or leave `uplink` out";
            self.add(Problem::new(node.place, message).help(help));
            return None;
        }
        if racks.len() == 1 && racks.values().next()?.len() == hosts.count() {
            let message = "`uplink` has no effect, because all hosts are in one rack";
            let help = "name several racks, `rack = [\"r0\", \"r1\"]`, or leave `uplink` out";
            self.add(Problem::new(node.place, message).help(help));
            return None;
        }
        self.machines_are_whole(node, &racks, hosts)?;
        let racks = racks.into_iter().map(|(name, mut hosts)| {
            hosts.sort_unstable();
            Rack { name, hosts }
        });
        Some(Uplinks { rate, racks: racks.collect() })
    }

    /// Virtual machines share a link, so those of one machine are in one rack.
    fn machines_are_whole(
        &mut self,
        node: &Node,
        racks: &SortedMap<String, Vec<HostId>>,
        hosts: &Hosts,
    ) -> Option<()> {
        let in_rack =
            racks.iter().flat_map(|(name, all)| all.iter().map(move |host| (*host, name)));
        let rack: SortedMap<HostId, &String> = in_rack.collect();
        for id in (0..hosts.count()).map(HostId::from) {
            let first = hosts.first_on_machine(id);
            if rack.get(&id) != rack.get(&first) {
                let (one, other) = (hosts.name(first), hosts.name(id));
                let message = format!(
                    "`{one}` and `{other}` are virtual machines on one machine, but not in one rack"
                );
                let help = "give the groups on that machine the same `rack`";
                self.add(Problem::new(node.place, message).help(help));
                return None;
            }
        }
        Some(())
    }

    /// Racks of clients have no meaning without uplinks.
    fn refuse_racks_of_clients(&mut self, tree: &Table) {
        for entry in section(tree, "client") {
            if let Some(rack) = key(entry, "rack") {
                let message = "`rack` of a client has no effect without `uplink` in `[switch]`";
                let help = "set `uplink` in `[switch]`, or leave `rack` out";
                self.add(Problem::new(rack.place, message).help(help));
            }
        }
    }
}
