//! What a simulation would take of this machine's memory, checked before anything is built.

use foretell_units::Bytes;

use super::{Context, Hosts};
use crate::device::{Device, Ssd};
use crate::error::Problem;
use crate::tree::Table;

/// Memory of an erase block, by which it is found when garbage is collected: 20 bytes, and 4 for those that
/// are free at first.
const BYTES_BY_BLOCK: u64 = 24;

/// Memory of a die, for each unit of one of its blocks: two blocks that are being written, and lists of
/// blocks by how many units are valid.
const BYTES_BY_UNIT: u64 = 12;

/// Bytes in GiB, for messages.
pub(crate) fn gib(bytes: Bytes) -> f64 {
    bytes.get() as f64 / Bytes::gib(1).get() as f64
}

/// What the tables of flash take once every die has been written to.
fn of_flash(ssd: &Ssd) -> u64 {
    let die = ssd.blocks_per_plane() * BYTES_BY_BLOCK + ssd.entries_per_block() * BYTES_BY_UNIT;
    u64::from(ssd.all_dies()).saturating_mul(die)
}

fn of_device(device: &Device) -> u64 {
    match device {
        Device::Ssd(ssd) => of_flash(ssd),
        Device::Array(array) => of_device(&array.device).saturating_mul(u64::from(array.members)),
        Device::Mechanical(_) | Device::Drive(_) | Device::Curves(_) | Device::Measured { .. } => 0,
    }
}

impl Context<'_> {
    /// Checks that the tables of all solid-state drives have room in memory.
    pub(super) fn flash_fits(&mut self, tree: &Table, hosts: &Hosts) {
        let mut needed = 0_u64;
        let mut largest = None;
        for nodes in hosts.storage_by_group(tree) {
            let (mut of_group, mut place) = (0_u64, None);
            for (_, entry, storage) in nodes {
                let disks = storage.disks.iter().map(|disk| of_device(&disk.device));
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
