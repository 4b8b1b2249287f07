//! A table of 32-bit numbers that are mostly zero.
//!
//! A mapping table of a terabyte has 10⁸ entries, and a run of random writes sets some of them, far apart. A
//! line of eight neighbouring entries is created when one of them is first set, and found by a hash of its
//! number. So the memory depends on the number of entries that a run sets, not on the size of the drive:
//! about 45 bytes for an entry whose neighbours are not set, and 6 bytes for each if all are set.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Entries in a line: half a cache line of the processor.
const LINE: u32 = 8;

/// A table of numbers, zero at first.
#[derive(Debug)]
pub(super) struct Table {
    /// Place in `lines` of each line, by its number.
    places: HashMap<u32, u32, FixedState>,
    lines: Vec<[u32; LINE as usize]>,
}

impl Table {
    /// A table of zeros.
    pub(super) fn new() -> Self {
        Self { places: HashMap::with_hasher(FixedState::default()), lines: Vec::new() }
    }

    /// The number at `index`.
    pub(super) fn get(&self, index: u32) -> u32 {
        let place = self.places.get(&(index / LINE));
        place.map_or(0, |place| self.lines[*place as usize][(index % LINE) as usize])
    }

    /// Sets the number at `index`.
    pub(super) fn set(&mut self, index: u32, value: u32) {
        let place = *self.places.entry(index / LINE).or_insert_with(|| {
            self.lines.push([0; LINE as usize]);
            self.lines.len() as u32 - 1
        });
        self.lines[place as usize][(index % LINE) as usize] = value;
    }

    /// Number of lines that take memory.
    #[cfg(test)]
    fn taken(&self) -> usize {
        self.lines.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_where_something_is_written() {
        let mut table = Table::new();
        assert_eq!((table.get(123_456_789), table.taken()), (0, 0));
        table.set(123_456_789, 7);
        table.set(123_456_788, 8);
        assert_eq!((table.get(123_456_789), table.get(123_456_788)), (7, 8));
        assert_eq!((table.get(123_456_790), table.taken()), (0, 1));
        table.set(u32::MAX, 9);
        assert_eq!((table.get(u32::MAX), table.get(u32::MAX - 1), table.taken()), (9, 0, 2));
    }
}
