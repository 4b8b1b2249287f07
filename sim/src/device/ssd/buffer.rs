//! The write buffer: units that the host has written and the flash has not.
//!
//! A unit has a place here from the moment when its transfer is booked until its row is
//! programmed. Rows are formed from units in the order in which they became ready.

use std::collections::VecDeque;

use super::geometry::Unit;

/// How far a unit in the buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Part of it is being read from flash, because only the rest was written.
    Filling,
    /// Ready; may be written again in place.
    Waiting,
    /// In a row on its way to flash, or kept for the collector: its content is fixed.
    Leaving,
    /// The same, and written again meanwhile: its content is garbage.
    Superseded,
}

/// The write buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    units: Vec<(Unit, Stage)>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    /// Units for which there is room.
    capacity: u64,
    /// Units that have room, those still on their way from the host included.
    held: u64,
    filling: u64,
    leaving: u64,
}

impl Buffer {
    /// An empty buffer with room for so many units.
    pub(super) fn new(capacity: u64) -> Self {
        assert!(capacity > 0);
        Self {
            units: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            capacity,
            held: 0,
            filling: 0,
            leaving: 0,
        }
    }

    /// Takes room for up to `most` units; how many it took.
    pub(super) fn reserve(&mut self, most: u32) -> u32 {
        let count = u64::from(most).min(self.capacity - self.held);
        self.held += count;
        count as u32
    }

    /// Whether there is room for a unit.
    pub(super) fn has_room(&self) -> bool {
        self.held < self.capacity
    }

    /// Gives the room of a unit back.
    pub(super) fn release(&mut self) {
        self.held -= 1;
    }

    /// Enters a unit that has room; its place.
    pub(super) fn enter(&mut self, unit: Unit, filling: bool) -> u32 {
        let stage = if filling { Stage::Filling } else { Stage::Waiting };
        let place = self.put(unit, stage);
        if filling {
            self.filling += 1;
        } else {
            self.waiting.push_back(place);
        }
        place
    }

    fn put(&mut self, unit: Unit, stage: Stage) -> u32 {
        if let Some(place) = self.free.pop() {
            self.units[place as usize] = (unit, stage);
            place
        } else {
            self.units.push((unit, stage));
            self.units.len() as u32 - 1
        }
    }

    /// Keeps a unit for the collector, in memory of its own; its place.
    pub(super) fn keep(&mut self, unit: Unit) -> u32 {
        self.put(unit, Stage::Leaving)
    }

    /// A unit kept for the collector is in flash.
    pub(super) fn forget(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The rest of a unit has been read.
    pub(super) fn filled(&mut self, place: u32) {
        self.units[place as usize].1 = Stage::Waiting;
        self.filling -= 1;
        self.waiting.push_back(place);
    }

    /// How far the unit at a place is.
    pub(super) fn stage(&self, place: u32) -> Stage {
        self.units[place as usize].1
    }

    /// The unit at a place.
    pub(super) fn unit(&self, place: u32) -> Unit {
        self.units[place as usize].0
    }

    /// A unit that leaves was written again.
    pub(super) fn supersede(&mut self, place: u32) {
        let stage = &mut self.units[place as usize].1;
        debug_assert_eq!(*stage, Stage::Leaving);
        *stage = Stage::Superseded;
    }

    /// Units that are ready to leave.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Whether nothing is on its way into or out of flash.
    pub(super) fn is_still(&self) -> bool {
        self.filling == 0 && self.leaving == 0
    }

    /// Appends the places of the next units to leave, `most` at the most, to `row`.
    pub(super) fn take(&mut self, most: u32, row: &mut Vec<u32>) {
        for _ in 0..most {
            let Some(place) = self.waiting.pop_front() else { break };
            self.units[place as usize].1 = Stage::Leaving;
            self.leaving += 1;
            row.push(place);
        }
    }

    /// The unit at a place is in flash.
    pub(super) fn left(&mut self, place: u32) {
        self.leaving -= 1;
        self.free.push(place);
        self.release();
    }
}
