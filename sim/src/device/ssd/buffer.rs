//! The write buffer: units that the host has written and that are not yet in flash.
//!
//! Room for a unit is taken when its transfer is booked, and held until its row is programmed. Rows
//! are formed from units in the order in which they became ready.

use std::collections::VecDeque;

use super::geometry::Unit;

/// The state of a unit in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// The write covered only a part of it; the rest is being read from flash.
    Filling,
    /// Ready; may be overwritten in place.
    Waiting,
    /// In a row on its way to flash, or kept for the collector: its content can no longer change.
    Leaving,
    /// Like `Leaving`, but written again meanwhile: its content is garbage.
    Superseded,
}

/// The write buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    units: Vec<(Unit, Stage)>,
    free: Vec<u32>,
    waiting: VecDeque<u32>,
    /// Number of units that fit.
    capacity: u64,
    /// Number of units that have room, including those still on their way from the host.
    held: u64,
    filling: u64,
    leaving: u64,
}

impl Buffer {
    /// An empty buffer with room for `capacity` units.
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

    /// Takes room for up to `most` units. Returns for how many.
    pub(super) fn reserve(&mut self, most: u32) -> u32 {
        let count = u64::from(most).min(self.capacity - self.held);
        self.held += count;
        count as u32
    }

    /// Whether there is room for a unit.
    pub(super) fn has_room(&self) -> bool {
        self.held < self.capacity
    }

    /// Frees the room of a unit.
    pub(super) fn release(&mut self) {
        self.held -= 1;
    }

    /// Enters a unit that has room. Returns its place.
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

    /// Keeps a unit for the collector, in separate memory. Returns its place.
    pub(super) fn keep(&mut self, unit: Unit) -> u32 {
        self.put(unit, Stage::Leaving)
    }

    /// Forgets a unit kept for the collector: it is in flash.
    pub(super) fn forget(&mut self, place: u32) {
        self.free.push(place);
    }

    /// The rest of a partly written unit has been read.
    pub(super) fn filled(&mut self, place: u32) {
        self.units[place as usize].1 = Stage::Waiting;
        self.filling -= 1;
        self.waiting.push_back(place);
    }

    /// The state of the unit at a place.
    pub(super) fn stage(&self, place: u32) -> Stage {
        self.units[place as usize].1
    }

    /// The unit at a place.
    pub(super) fn unit(&self, place: u32) -> Unit {
        self.units[place as usize].0
    }

    /// A unit on its way to flash was written again.
    pub(super) fn supersede(&mut self, place: u32) {
        let stage = &mut self.units[place as usize].1;
        debug_assert_eq!(*stage, Stage::Leaving);
        *stage = Stage::Superseded;
    }

    /// Number of units that are ready to leave.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }

    /// Whether nothing is on its way into or out of flash.
    pub(super) fn is_still(&self) -> bool {
        self.filling == 0 && self.leaving == 0
    }

    /// Appends the places of the next units to leave, at most `most`, to `row`.
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
