//! A bit for each unit of each block of a die. Most bits are clear, and only words with a set bit take
//! memory.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// The bits.
#[derive(Debug)]
pub(super) struct Bits {
    /// The words that are not zero, by number, blocks one after the other.
    words: HashMap<u32, u64, FixedState>,
    /// Words for each block.
    of_block: u32,
}

impl Bits {
    /// Clear bits for blocks of `units` units.
    pub(super) fn new(units: u32) -> Self {
        Self { words: HashMap::with_hasher(FixedState::default()), of_block: units.div_ceil(64) }
    }

    /// Whether the bit of a unit is set.
    pub(super) fn get(&self, block: u32, unit: u32) -> bool {
        let word = self.words.get(&(block * self.of_block + unit / 64));
        word.is_some_and(|word| word >> (unit % 64) & 1 == 1)
    }

    /// Sets the bit of a unit.
    pub(super) fn set(&mut self, block: u32, unit: u32) {
        let word = self.words.entry(block * self.of_block + unit / 64).or_insert(0);
        *word |= 1 << (unit % 64);
    }

    /// Clears the bits of a block.
    pub(super) fn clear(&mut self, block: u32) {
        for word in block * self.of_block..(block + 1) * self.of_block {
            self.words.remove(&word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_set_and_cleared_by_block() {
        let mut bits = Bits::new(100);
        let set = [(0, 0), (0, 63), (1, 0), (1, 99), (30_000_000, 64)];
        for (block, unit) in set {
            assert!(!bits.get(block, unit));
            bits.set(block, unit);
        }
        assert!(set.iter().all(|(block, unit)| bits.get(*block, *unit)) && !bits.get(0, 64));
        bits.clear(1);
        assert!(bits.get(0, 0) && bits.get(0, 63) && bits.get(30_000_000, 64));
        assert!(!bits.get(1, 0) && !bits.get(1, 99));
        assert_eq!(bits.words.len(), 2);
    }
}
