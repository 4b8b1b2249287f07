//! How flash is counted: in units, rows and blocks.
//!
//! A *unit* is what one entry of the mapping table maps. A *row* is a page of each plane of a die:
//! it is programmed at once. A *block* here is a block of each plane of a die, erased at once
//! (others say superblock). A unit of flash has an *address*: its number, dies first, then blocks,
//! rows, and places in the row.

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
    /// Units of a row.
    pub(super) row: u32,
    /// Rows of a block.
    pub(super) rows: u32,
    /// Blocks of a die.
    pub(super) blocks: u32,
    /// Rows of a die that the host's data fill: whole rows, on every die the same.
    pub(super) user_rows: u32,
    /// Bytes of a unit.
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

    /// Units of a block.
    pub(super) fn block(&self) -> u32 {
        self.row * self.rows
    }

    /// Units that the host can address; a little more than its capacity, as rows are whole.
    pub(super) fn user(&self) -> Unit {
        self.user_rows * self.row * self.dies
    }

    /// Units of flash on a die that hold the host's data if it is evenly spread.
    pub(super) fn user_per_die(&self) -> u32 {
        self.user_rows * self.row
    }

    /// The channel on which a die is. Dies are numbered so that neighbours are on different ones.
    pub(super) fn channel(&self, die: u32) -> u32 {
        die % self.channels
    }

    /// The address of the first unit of a row.
    pub(super) fn address(&self, die: u32, block: u32, row: u32) -> Address {
        ((die * self.blocks + block) * self.rows + row) * self.row
    }

    /// The row that an address is in, numbered over the whole drive.
    pub(super) fn row_of(&self, address: Address) -> u32 {
        address / self.row
    }

    /// The die of a row.
    pub(super) fn die_of_row(&self, row: u32) -> u32 {
        row / (self.rows * self.blocks)
    }

    /// The die and its block that an address is in.
    pub(super) fn die_and_block(&self, address: Address) -> (u32, u32) {
        let block = address / self.block();
        (block / self.blocks, block % self.blocks)
    }

    /// Which unit of its block an address is.
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
