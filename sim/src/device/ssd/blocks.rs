//! The blocks of one die: which are free, open or closed, and how much of each is valid.
//!
//! Closed blocks hang in lists by the number of valid units, so the block with the fewest is found
//! without a search, and losing a unit moves a block by one list.

use std::collections::VecDeque;

use super::bits::Bits;
use super::geometry::{Geometry, Unit};
use super::home::Home;

/// Free blocks that are for the collector, so that it can always go on.
const KEPT_FREE: u32 = 1;

/// Blocks' worth of room below which a die collects garbage. Room are free blocks, the rest of both
/// open blocks, and what the collector has emptied of its victim; so at this much, if the host's
/// block is full, two blocks are free and the host may open one.
pub(super) const ENOUGH_ROOM: u32 = 3;

/// No block; no unit.
pub(super) const NONE: u32 = u32::MAX;

/// Who writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writer {
    /// Data from the host.
    Host = 0,
    /// Data moved by the collector. They lie in blocks of their own: what has survived long is
    /// likely to survive longer.
    Collector = 1,
}

/// What a block is used for.
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
    /// Neighbours in the list of closed blocks with as many valid units.
    previous: u32,
    next: u32,
    /// Index of its list in [`Blocks::owners`]; [`NONE`] while the block holds what it held at first.
    owners: u32,
}

/// The blocks of one die.
#[derive(Debug)]
pub(super) struct Blocks {
    all: Vec<Block>,
    /// By number of valid units: the first closed block with so many.
    heads: Vec<u32>,
    /// No closed block has fewer valid units.
    fewest: u32,
    free: VecDeque<u32>,
    /// By writer: the open block and its next row.
    open: [(u32, u32); 2],
    /// Valid units of all blocks.
    valid: u32,
    /// Whether what was programmed to a unit, or was there at first, is no longer valid.
    stale: Bits,
    /// By block that was written to: the unit that was written to each of its places.
    owners: Vec<Box<[Unit]>>,
    /// Indices of lists that no block uses any more.
    spare: Vec<u32>,
    units: u32,
    row: u32,
}

impl Blocks {
    /// The blocks as they are at first.
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

    /// Blocks that are free.
    fn free(&self) -> u32 {
        self.free.len() as u32
    }

    /// Units in free blocks and the rest of open ones.
    pub(super) fn room(&self) -> u32 {
        let rest = |(block, row): (u32, u32)| {
            if block == NONE { 0 } else { self.units - row * self.row }
        };
        self.free() * self.units + rest(self.open[0]) + rest(self.open[1])
    }

    /// Valid units of the die.
    pub(super) fn valid(&self) -> u32 {
        self.valid
    }

    /// Valid units of a block.
    #[cfg(test)]
    pub(super) fn valid_in(&self, block: u32) -> u32 {
        self.all[block as usize].valid
    }

    /// Which units were written to a block; `None`: it holds what it held at first.
    pub(super) fn owners(&self, block: u32) -> Option<&[Unit]> {
        let owners = self.all[block as usize].owners;
        (owners != NONE).then(|| &*self.owners[owners as usize])
    }

    /// The next row to be written by `writer`, as block and row; `None` if the host may not open
    /// another block. The units of the row are `units` from now on.
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

    /// A row has been programmed; a block whose last row that is can be collected from now on.
    pub(super) fn programmed(&mut self, block: u32, row: u32) {
        if (row + 1) * self.row == self.units {
            assert_eq!(self.all[block as usize].state, State::Open);
            self.close(block);
        }
    }

    /// So many units of a row that was programmed are valid.
    pub(super) fn add_valid(&mut self, block: u32, units: u32) {
        let block = &mut self.all[block as usize];
        debug_assert!(block.state == State::Open);
        block.valid += units;
        self.valid += units;
    }

    /// Marks a unit of a block as not valid, although it was programmed.
    pub(super) fn set_stale(&mut self, block: u32, unit: u32) {
        self.stale.set(block, unit);
    }

    /// Whether a unit of a block is not valid, although it was programmed.
    pub(super) fn is_stale(&self, block: u32, unit: u32) -> bool {
        self.stale.get(block, unit)
    }

    /// So many units of a victim, which are marked as stale, were moved.
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

    /// Takes the closed block with the fewest valid units as victim; `None` if nothing is gained
    /// by any.
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

    /// A victim, of which nothing is valid any more, has been erased.
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

    /// The fewest valid units of any closed block, by looking at all: the oracle of
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
