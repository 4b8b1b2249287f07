//! Checks the memory that a simulation would take of this machine, before anything is built.

use foretell_units::Bytes;

use super::{Context, Hosts};
use crate::error::Problem;
use crate::tree::Table;

/// Bytes in GiB, for messages.
pub(crate) fn gib(bytes: Bytes) -> f64 {
    bytes.get() as f64 / Bytes::gib(1).get() as f64
}

impl Context<'_> {
    /// Checks that the tables of all solid-state drives fit into memory.
    pub(super) fn flash_fits(&mut self, tree: &Table, hosts: &Hosts) {
        let mut needed = 0_u64;
        let mut largest = None;
        for nodes in hosts.storage_by_group(tree) {
            let (mut of_group, mut place) = (0_u64, None);
            for (_, entry, storage) in nodes {
                let disks = storage.devices().map(|disk| disk.device.table_bytes());
                of_group = of_group.saturating_add(disks.fold(0, u64::saturating_add));
                let disk = entry.node.table().and_then(|table| table.entry("disk"));
                place = Some(disk.map_or(entry.key_place, |disk| disk.key_place));
            }
            needed = needed.saturating_add(of_group);
            if let Some(place) = place
                && largest.is_none_or(|(most, _)| of_group > most)
            {
                largest = Some((of_group, place));
            }
        }
        let Some(available) = foretell_input::available_memory() else { return };
        if let Some((_, place)) = largest
            && needed > available
        {
            let message = format!(
                "the mapping tables of these solid-state drives take {:.1} GiB of memory, and {:.1} GiB \
                 are free",
                gib(Bytes(needed)),
                gib(Bytes(available))
            );
            let help =
                "fewer drives, or drives with larger erase blocks (`pages_per_block`), take less";
            self.add(Problem::new(place, message).help(help));
        }
    }
}
