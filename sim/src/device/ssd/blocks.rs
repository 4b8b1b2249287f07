//! The blocks of one die: which are free, open or closed, and how many of their units are valid.
//!
//! Closed blocks are in linked lists by number of valid units. So the block with the fewest is found
//! without a search, and losing a unit moves a block by one list.

use std::collections::VecDeque;

use super::bits::Bits;
use super::geometry::{Geometry, Unit};
use super::home::Home;

/// Free blocks that are reserved for the collector, so that it can always proceed.
const KEPT_FREE: u32 = 1;

/// A die collects garbage when it has room for less than this many blocks. The room consists of free blocks,
/// the rest of both open blocks, and what the collector has gained so far, which is less than a block and a row. Room
/// comes in whole rows. So if the host may write, free and open blocks have room for two blocks, and if the block for
/// host data is full, two blocks are free and the host may open one.
pub(super) const ENOUGH_ROOM: u32 = 3;

/// Stands for no block, or for no unit.
pub(super) const NONE: u32 = u32::MAX;

/// The two sources of writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writer {
    /// Data from the host.
    Host = 0,
    /// Data moved by the collector. They have separate blocks, because data that have been valid for long are
    /// likely to stay valid.
    Collector = 1,
}

/// The use of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Free,
    Open,
    Closed,
    /// Being collected.
    Victim,
}

#[derive(Clone, Debug)]
struct Block {
    state: State,
    valid: u32,
    /// Neighbours in the list of closed blocks with the same number of valid units.
    previous: u32,
    next: u32,
    /// Index of its list in [`Blocks::owners`]; [`NONE`] while the block has its initial content.
    owners: u32,
}

/// The blocks of one die.
#[derive(Debug)]
pub(super) struct Blocks {
    all: Vec<Block>,
    /// First closed block of each number of valid units.
    heads: Vec<u32>,
    /// Lower bound for the valid units of closed blocks.
    fewest: u32,
    free: VecDeque<u32>,
    /// The open block and its next row, by writer.
    open: [(u32, u32); 2],
    /// Valid units of all blocks together.
    valid: u32,
    /// Marks units whose programmed or initial content is no longer valid.
    stale: Bits,
    /// The unit that was written to each place, for each block that was written to.
    owners: Vec<Box<[Unit]>>,
    /// Indices of lists that are no longer in use.
    spare: Vec<u32>,
    units: u32,
    row: u32,
}

impl Blocks {
    /// The blocks in their initial state.
    pub(super) fn new(geometry: &Geometry, home: &Home) -> Self {
        let empty =
            Block { state: State::Free, valid: 0, previous: NONE, next: NONE, owners: NONE };
        let units = geometry.block();
        let mut this = Self {
            all: vec![empty; geometry.blocks as usize],
            heads: vec![NONE; units as usize + 1],
            fewest: units,
            free: (home.used()..geometry.blocks).collect(),
            open: [(NONE, 0); 2],
            valid: 0,
            stale: Bits::new(units),
            owners: Vec::new(),
            spare: Vec::new(),
            units,
            row: geometry.row,
        };
        for block in 0..home.used() {
            let valid = home.filled(block) * geometry.row;
            this.all[block as usize].valid = valid;
            this.valid += valid;
            this.close(block);
        }
        this
    }

    /// Number of free blocks.
    fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// Number of units in free blocks and in the rest of open ones.
    pub(super) fn room(&self) -> u32 {
        let rest = |(block, row): (u32, u32)| {
            if block == NONE { 0 } else { self.units - row * self.row }
        };
        self.free() * self.units + rest(self.open[0]) + rest(self.open[1])
    }

    /// Number of valid units of the die.
    pub(super) fn valid(&self) -> u32 {
        self.valid
    }

    /// Number of valid units of a block.
    pub(super) fn valid_in(&self, block: u32) -> u32 {
        self.all[block as usize].valid
    }

    /// The units that were written to a block; `None` if it has its initial content.
    pub(super) fn owners(&self, block: u32) -> Option<&[Unit]> {
        let owners = self.all[block as usize].owners;
        (owners != NONE).then(|| &*self.owners[owners as usize])
    }

    /// Assigns the next row for `writer`, as block and row; `None` if the host may not open another
    /// block. From now on the row belongs to `units`.
    pub(super) fn next_row(
        &mut self,
        writer: Writer,
        units: impl Iterator<Item = Unit>,
    ) -> Option<(u32, u32)> {
        let (mut block, mut row) = self.open[writer as usize];
        if block == NONE {
            let kept = if writer == Writer::Host { KEPT_FREE } else { 0 };
            if self.free() <= kept {
                return None;
            }
            block = self.free.pop_front()?;
            row = 0;
            let owners = self.spare.pop().unwrap_or_else(|| {
                self.owners.push(vec![NONE; self.units as usize].into());
                self.owners.len() as u32 - 1
            });
            self.owners[owners as usize].fill(NONE);
            let opened = &mut self.all[block as usize];
            assert!(opened.state == State::Free && opened.valid == 0);
            (opened.state, opened.owners) = (State::Open, owners);
            self.stale.clear(block);
        }
        let first = (row * self.row) as usize;
        let owners = &mut self.owners[self.all[block as usize].owners as usize];
        for (place, unit) in owners[first..first + self.row as usize].iter_mut().zip(units) {
            *place = unit;
        }
        let full = (row + 1) * self.row == self.units;
        self.open[writer as usize] = if full { (NONE, 0) } else { (block, row + 1) };
        Some((block, row))
    }

    /// A row has been programmed. If it is the last of its block, the block can be collected from now
    /// on.
    pub(super) fn programmed(&mut self, block: u32, row: u32) {
        if (row + 1) * self.row == self.units {
            assert_eq!(self.all[block as usize].state, State::Open);
            self.close(block);
        }
    }

    /// Counts `units` units of a programmed row as valid.
    pub(super) fn add_valid(&mut self, block: u32, units: u32) {
        let block = &mut self.all[block as usize];
        debug_assert!(block.state == State::Open);
        block.valid += units;
        self.valid += units;
    }

    /// Marks a programmed unit of a block as not valid.
    pub(super) fn set_stale(&mut self, block: u32, unit: u32) {
        self.stale.set(block, unit);
    }

    /// Whether a programmed unit of a block is not valid.
    pub(super) fn is_stale(&self, block: u32, unit: u32) -> bool {
        self.stale.get(block, unit)
    }

    /// `units` units of a victim, which are marked as stale, were moved.
    pub(super) fn moved(&mut self, victim: u32, units: u32) {
        let block = &mut self.all[victim as usize];
        debug_assert!(block.state == State::Victim);
        block.valid -= units;
        self.valid -= units;
    }

    /// A unit of a block is no longer valid.
    pub(super) fn drop_valid(&mut self, block: u32, unit: u32) {
        debug_assert!(!self.is_stale(block, unit));
        self.set_stale(block, unit);
        self.valid -= 1;
        if self.all[block as usize].state == State::Closed {
            self.unlink(block);
            self.all[block as usize].valid -= 1;
            self.link(block);
        } else {
            self.all[block as usize].valid -= 1;
        }
    }

    /// Takes the closed block with the fewest valid units as victim; `None` if all closed blocks are
    /// fully valid.
    pub(super) fn choose_victim(&mut self) -> Option<u32> {
        while self.fewest < self.units && self.heads[self.fewest as usize] == NONE {
            self.fewest += 1;
        }
        if self.fewest == self.units {
            return None;
        }
        let block = self.heads[self.fewest as usize];
        self.unlink(block);
        self.all[block as usize].state = State::Victim;
        Some(block)
    }

    /// A victim without valid units has been erased.
    pub(super) fn erased(&mut self, block: u32) {
        let erased = &mut self.all[block as usize];
        assert!(erased.state == State::Victim && erased.valid == 0);
        erased.state = State::Free;
        let owners = std::mem::replace(&mut erased.owners, NONE);
        if owners != NONE {
            self.spare.push(owners);
        }
        self.free.push_back(block);
    }

    fn close(&mut self, block: u32) {
        self.all[block as usize].state = State::Closed;
        self.link(block);
    }

    fn link(&mut self, block: u32) {
        let valid = self.all[block as usize].valid;
        let next = std::mem::replace(&mut self.heads[valid as usize], block);
        let here = &mut self.all[block as usize];
        (here.previous, here.next) = (NONE, next);
        if next != NONE {
            self.all[next as usize].previous = block;
        }
        self.fewest = self.fewest.min(valid);
    }

    fn unlink(&mut self, block: u32) {
        let &Block { valid, previous, next, .. } = &self.all[block as usize];
        if previous == NONE {
            self.heads[valid as usize] = next;
        } else {
            self.all[previous as usize].next = next;
        }
        if next != NONE {
            self.all[next as usize].previous = previous;
        }
    }

    /// The fewest valid units of any closed block, found by examining all: the oracle of
    /// [`Blocks::choose_victim`].
    #[cfg(test)]
    pub(super) fn fewest_by_search(&self) -> Option<u32> {
        let closed = self.all.iter().filter(|block| block.state == State::Closed);
        closed.map(|block| block.valid).min()
    }

    /// States and valid units of all blocks.
    #[cfg(test)]
    pub(super) fn states(&self) -> impl Iterator<Item = (State, u32)> {
        self.all.iter().map(|block| (block.state, block.valid))
    }
}
