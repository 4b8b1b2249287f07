//! The measures of flash: units, rows and blocks.
//!
//! A *unit* is the amount of data that one entry of the mapping table maps. A *row* is a page of
//! each plane of a die, programmed together. A *block* here is a block of each plane of a die,
//! erased together (also called a superblock). A unit of flash has an *address*: its number,
//! counting dies first, then blocks, rows, and places in the row.

use foretell_scenarios::device::Ssd;
use foretell_units::Bytes;

/// A unit of flash.
pub(super) type Address = u32;
/// A unit that the host addresses.
pub(super) type Unit = u32;

/// The sizes of a drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Geometry {
    pub(super) dies: u32,
    pub(super) channels: u32,
    /// Units in a row.
    pub(super) row: u32,
    /// Rows in a block.
    pub(super) rows: u32,
    /// Blocks on a die.
    pub(super) blocks: u32,
    /// Rows that the host's data fill on a die: whole rows, the same number on every die.
    pub(super) user_rows: u32,
    /// Bytes in a unit.
    pub(super) unit: Bytes,
}

impl Geometry {
    pub(super) fn new(spec: &Ssd) -> Self {
        let dies = spec.all_dies();
        let row = (spec.page.get() / spec.mapping.get()) as u32 * spec.planes;
        let user_rows = spec.entries().div_ceil(u64::from(dies) * u64::from(row));
        Self {
            dies,
            channels: spec.channels,
            row,
            rows: spec.pages_per_block,
            blocks: u32::try_from(spec.blocks_per_plane()).expect("the scenario was checked"),
            user_rows: u32::try_from(user_rows).expect("the scenario was checked"),
            unit: spec.mapping,
        }
    }

    /// Units in a block.
    pub(super) fn block(&self) -> u32 {
        self.row * self.rows
    }

    /// Number of units that the host can address; slightly above its capacity, because rows are
    /// whole.
    pub(super) fn user(&self) -> Unit {
        self.user_rows * self.row * self.dies
    }

    /// Units of flash that the host's data take on a die if they are spread evenly.
    pub(super) fn user_per_die(&self) -> u32 {
        self.user_rows * self.row
    }

    /// The channel of a die. Dies are numbered so that neighbours are on different channels.
    pub(super) fn channel(&self, die: u32) -> u32 {
        die % self.channels
    }

    /// The address of the first unit of a row.
    pub(super) fn address(&self, die: u32, block: u32, row: u32) -> Address {
        ((die * self.blocks + block) * self.rows + row) * self.row
    }

    /// The row of an address, numbered over the whole drive.
    pub(super) fn row_of(&self, address: Address) -> u32 {
        address / self.row
    }

    /// The die of a row.
    pub(super) fn die_of_row(&self, row: u32) -> u32 {
        row / (self.rows * self.blocks)
    }

    /// The die, and its block, of an address.
    pub(super) fn die_and_block(&self, address: Address) -> (u32, u32) {
        let block = address / self.block();
        (block / self.blocks, block % self.blocks)
    }

    /// The number of an address within its block.
    pub(super) fn in_block(&self, address: Address) -> u32 {
        address % self.block()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_over_rows_blocks_and_dies() {
        let geometry = Geometry {
            dies: 4,
            channels: 2,
            row: 8,
            rows: 16,
            blocks: 10,
            user_rows: 100,
            unit: Bytes::kib(4),
        };
        // a die has 10 * 16 * 8 = 1280 units, a block 128
        let address = geometry.address(3, 9, 15);
        assert_eq!(address, 3 * 1280 + 9 * 128 + 15 * 8);
        assert_eq!(geometry.row_of(address + 7), address / 8);
        assert_eq!(geometry.die_of_row(geometry.row_of(address + 7)), 3);
        assert_eq!(geometry.die_and_block(address + 7), (3, 9));
        assert_eq!((geometry.user(), geometry.user_per_die()), (3200, 800));
    }
}
