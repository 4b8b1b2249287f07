//! The flash side: the next step of each die.

use std::collections::VecDeque;

use foretell_units::{Bytes, SimSpan, SimTime};

use super::Ssd;
use super::blocks::{ENOUGH_ROOM, Writer};
use super::buffer::{Buffer, Stage};
use super::geometry::{Address, Geometry, Unit};
use super::translation::Place;

/// Rows that may wait at a die, besides the one that it is programming.
const ROWS_WAITING: usize = 2;

/// A read of a page, or of neighbouring pages in several planes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sensing {
    pub(super) purpose: Purpose,
    /// Bytes to send over the channel.
    pub(super) bytes: u32,
}

/// The purpose of a read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// Data for a command.
    Host(u32),
    /// The rest of the partly written unit at that place in the buffer.
    Fill(u32),
    /// Data that the collector moves.
    Collect,
}

/// The current work of a die.
#[derive(Clone, Copy, Debug, Default)]
enum Work {
    #[default]
    Nothing,
    /// From the cells to the register.
    Sense(Sensing),
    /// From the register over the channel.
    Send(Sensing),
    /// Over the channel to the register, then to the cells.
    Program(Writer, Address),
    Erase,
}

/// A die.
#[derive(Debug, Default)]
pub(super) struct Die {
    work: Work,
    since: SimTime,
    reads: VecDeque<Sensing>,
    /// Rows that wait, as places in the buffer.
    rows: VecDeque<Vec<u32>>,
    /// The row that is being programmed.
    row: Vec<u32>,
    /// Number of reads that may still pass the waiting writes.
    credit: u32,
    collection: Option<Collection>,
    /// Units that have been read for the collector, and their places.
    found: Vec<(Unit, Place)>,
    /// Units of the row that is being programmed for the collector, and their places.
    moving: Vec<(Unit, Option<Place>)>,
}

/// A block being collected.
#[derive(Clone, Copy, Debug)]
struct Collection {
    victim: u32,
    /// The next row to examine.
    row: u32,
    /// Valid units of the victim when it was chosen.
    valid: u32,
    /// Units of the rows that have been programmed for it.
    programmed: u32,
}

impl Collection {
    /// Units to add to the room of the die for the collection so far. Its gain in the end counts as spread evenly over
    /// the victim, so rows that it has programmed do not count against the room. Otherwise a victim whose valid
    /// data lie together would stop the host's writes until all of them are moved.
    fn gained(&self, geometry: &Geometry) -> u32 {
        let (block, rows) = (u64::from(geometry.block()), u64::from(geometry.rows));
        let gain = block.saturating_sub(u64::from(self.valid));
        self.programmed + (gain * u64::from(self.row) / rows) as u32
    }
}

impl Die {
    /// When its current work began; `None` if it does nothing.
    pub(super) fn since(&self) -> Option<SimTime> {
        (!matches!(self.work, Work::Nothing)).then_some(self.since)
    }

    fn is_idle(&self) -> bool {
        matches!(self.work, Work::Nothing)
    }
}

/// The buffer's place, if it still holds the latest content of its unit.
fn latest(buffer: &Buffer, place: u32) -> Option<Place> {
    (buffer.stage(place) != Stage::Superseded).then_some(Place::Buffer(place))
}

impl<T: Copy> Ssd<T> {
    /// Adds a read to a die.
    pub(super) fn add_read(&mut self, now: SimTime, die: u32, sensing: Sensing) {
        self.dies[die as usize].reads.push_back(sensing);
        if self.dies[die as usize].is_idle() {
            self.take_up(now, die);
        }
    }

    /// Sends units that wait in the buffer to dies, one row each, as long as dies have room.
    pub(super) fn form_rows(&mut self, now: SimTime) {
        let row = u64::from(self.translation.geometry().row);
        while self.buffer.waiting() >= row || self.must_pad() {
            let Some(die) = self.die_with_room() else { break };
            let mut places = self.rows.pop().unwrap_or_default();
            self.buffer.take(row as u32, &mut places);
            self.dies[die as usize].rows.push_back(places);
            if self.dies[die as usize].is_idle() {
                self.take_up(now, die);
            }
        }
    }

    /// Whether a row must leave although it is not full. Otherwise writes that wait for room would never find
    /// any. On a drive without power-loss protection writes wait for flash, so units leave at once and no
    /// write waits for the next one.
    fn must_pad(&self) -> bool {
        if self.durable.is_some() {
            return self.buffer.waiting() > 0 && self.arrivals.is_empty();
        }
        !self.stalled.is_empty()
            && self.buffer.waiting() > 0
            && self.buffer.is_still()
            && self.arrivals.is_empty()
    }

    /// The next die, in round-robin order, that can take a row.
    fn die_with_room(&mut self) -> Option<u32> {
        if self.full {
            return None;
        }
        let geometry = *self.translation.geometry();
        let count = geometry.dies;
        for step in 0..count {
            let die = (self.turn + step) % count;
            let state = &self.dies[die as usize];
            if state.rows.len() < ROWS_WAITING {
                let coming = (state.rows.len() as u32 + 2) * geometry.row;
                if self.translation.valid(die) + coming <= self.most_valid {
                    self.turn = (die + 1) % count;
                    return Some(die);
                }
            }
        }
        self.full = true;
        None
    }

    /// A die has finished its current work or a part of it.
    pub(super) fn die_ends(&mut self, now: SimTime, die: u32) {
        let state = &mut self.dies[die as usize];
        if let Work::Sense(sensing) = state.work {
            state.work = Work::Send(sensing);
            let end = self.book_channel(now, die, Bytes(u64::from(sensing.bytes)));
            self.ends.set(die, end);
            return;
        }
        let work = std::mem::take(&mut state.work);
        self.die_ledger.stop(now, state.since);
        self.die_ledger.depart(now, state.since);
        match work {
            Work::Send(sensing) => self.sent(now, sensing),
            Work::Program(Writer::Host, address) => self.row_programmed(now, die, address),
            Work::Program(Writer::Collector, address) => self.row_moved(die, address),
            Work::Erase => self.erased(die),
            Work::Nothing | Work::Sense(_) => unreachable!("it was doing something else"),
        }
        // the completion may already have given the die new work
        if self.dies[die as usize].is_idle() {
            self.take_up(now, die);
        }
        if self.dies[die as usize].is_idle() {
            self.ends.set(die, SimTime::MAX);
        }
        self.form_rows(now);
    }

    fn sent(&mut self, now: SimTime, sensing: Sensing) {
        match sensing.purpose {
            Purpose::Host(request) => {
                self.send_to_host(now, request, Bytes(u64::from(sensing.bytes)));
            }
            Purpose::Fill(place) => self.buffer.filled(place),
            Purpose::Collect => {}
        }
    }

    fn row_programmed(&mut self, now: SimTime, die: u32, address: Address) {
        let unit_bytes = self.translation.geometry().unit;
        let mut row = std::mem::take(&mut self.dies[die as usize].row);
        self.written.programmed += unit_bytes * row.len() as u64;
        let buffer = &self.buffer;
        let units = row.iter().map(|&place| (buffer.unit(place), latest(buffer, place)));
        self.translation.row_programmed(address, 0, units);
        for place in row.drain(..) {
            self.buffer.left(place);
            self.programmed(now, place);
        }
        self.rows.push(row);
        self.unstall(now);
    }

    fn row_moved(&mut self, die: u32, address: Address) {
        let unit_bytes = self.translation.geometry().unit;
        let mut moving = std::mem::take(&mut self.dies[die as usize].moving);
        let victim = self.dies[die as usize].collection.map_or(0, |collection| collection.victim);
        self.written.moved += unit_bytes * moving.len() as u64;
        for (_, from) in &mut moving {
            match *from {
                Some(Place::Flash(address)) if self.translation.is_valid(die, victim, address) => {}
                Some(Place::Buffer(place)) => {
                    *from = latest(&self.buffer, place);
                    self.buffer.forget(place);
                }
                Some(Place::Flash(_)) | None => *from = None,
            }
        }
        self.translation.row_programmed(address, victim, moving.drain(..));
        self.dies[die as usize].moving = moving;
    }

    fn erased(&mut self, die: u32) {
        let state = &mut self.dies[die as usize];
        let collection = state.collection.take().expect("it collects what it erases");
        self.translation.blocks(die).erased(collection.victim);
        self.written.erased += 1;
        self.full = false;
    }

    /// Lets an idle die begin its next work, if there is any.
    fn take_up(&mut self, now: SimTime, die: u32) {
        let collects = self.collects(die);
        let state = &mut self.dies[die as usize];
        let writes = collects || !state.rows.is_empty();
        if !state.reads.is_empty() && (!writes || state.credit > 0) {
            state.credit = state.credit.saturating_sub(u32::from(writes));
            let sensing = state.reads.pop_front().expect("it is there");
            self.work_on(now, die, Work::Sense(sensing), self.times.read);
        } else if collects {
            self.collect(now, die);
        } else if let Some(row) = state.rows.pop_front() {
            self.full = false;
            self.program(now, die, row);
        }
    }

    /// Whether a die must collect garbage because it has too little room. Since this is checked for each
    /// row, collection keeps pace with the host.
    fn collects(&mut self, die: u32) -> bool {
        // a die that was never written needs no room
        if !self.translation.is_written(die) {
            return false;
        }
        let geometry = *self.translation.geometry();
        let collection = self.dies[die as usize].collection;
        let gained = collection.map_or(0, |collection| collection.gained(&geometry));
        let room = self.translation.blocks(die).room() + gained;
        if room >= ENOUGH_ROOM * geometry.block() {
            return false;
        }
        if collection.is_some() {
            return true;
        }
        let blocks = self.translation.blocks(die);
        let Some(victim) = blocks.choose_victim() else { return false };
        let valid = blocks.valid_in(victim);
        self.dies[die as usize].collection =
            Some(Collection { victim, row: 0, valid, programmed: 0 });
        true
    }

    /// The next step of collection. If the valid units read fill a row, program it. Else read the next
    /// row that has valid units. Else erase; units left over are kept until they fill a row.
    fn collect(&mut self, now: SimTime, die: u32) {
        let geometry = *self.translation.geometry();
        let row = geometry.row as usize;
        let state = &mut self.dies[die as usize];
        let mut collection = state.collection.expect("it was chosen to be collected");
        if state.found.len() >= row {
            collection.programmed += geometry.row;
            state.collection = Some(collection);
            let moved = state.found.drain(..row).map(|(unit, from)| (unit, Some(from)));
            state.moving.extend(moved);
            let units = state.moving.iter().map(|(unit, _)| *unit);
            let address = self.translation.next_row(die, Writer::Collector, units);
            let address = address.expect("a free block is kept for the collector");
            self.start_program(now, die, Writer::Collector, address, row);
            return;
        }
        let before = state.found.len();
        while state.found.len() == before && collection.row < geometry.rows {
            let Collection { victim, row, .. } = collection;
            self.translation.valid_units(die, victim, row, &mut state.found);
            collection.row += 1;
        }
        state.collection = Some(collection);
        let read = (state.found.len() - before) as u64;
        if read > 0 {
            let bytes = (read * geometry.unit.get()) as u32;
            let sensing = Sensing { purpose: Purpose::Collect, bytes };
            self.work_on(now, die, Work::Sense(sensing), self.times.read);
        } else {
            for (unit, from) in &mut state.found {
                if matches!(*from, Place::Flash(address) if self.translation.is_valid(die, collection.victim, address))
                {
                    let place = self.buffer.keep(*unit);
                    self.translation.put_in_buffer(*unit, place);
                    *from = Place::Buffer(place);
                }
            }
            // units that were written again meanwhile need not be kept
            state.found.retain(|(_, from)| matches!(from, Place::Buffer(_)));
            self.work_on(now, die, Work::Erase, self.times.erase);
        }
    }

    fn program(&mut self, now: SimTime, die: u32, row: Vec<u32>) {
        let units = row.iter().map(|place| self.buffer.unit(*place));
        let address = self.translation.next_row(die, Writer::Host, units);
        let address = address.expect("collection goes before a row that has no room");
        let count = row.len();
        self.dies[die as usize].row = row;
        self.start_program(now, die, Writer::Host, address, count);
    }

    /// Sends a row of `count` units to a die and starts programming.
    fn start_program(
        &mut self,
        now: SimTime,
        die: u32,
        writer: Writer,
        address: Address,
        count: usize,
    ) {
        let geometry = self.translation.geometry();
        let padding = u64::from(geometry.row) - count as u64;
        self.written.padding += geometry.unit * padding;
        let bytes = geometry.unit * u64::from(geometry.row);
        let received = self.book_channel(now, die, bytes);
        let span = (received - now) + self.times.program;
        self.work_on(now, die, Work::Program(writer, address), span);
    }

    fn work_on(&mut self, now: SimTime, die: u32, work: Work, span: SimSpan) {
        let state = &mut self.dies[die as usize];
        debug_assert!(state.is_idle());
        let write = match work {
            Work::Sense(sensing) => matches!(sensing.purpose, Purpose::Collect),
            _ => true,
        };
        if write {
            state.credit = self.times.reads_before_write;
        }
        (state.work, state.since) = (work, now);
        self.die_ledger.arrive(now);
        self.die_ledger.start(now);
        self.ends.set(die, now + span);
    }

    fn book_channel(&mut self, now: SimTime, die: u32, bytes: Bytes) -> SimTime {
        let channel = self.translation.geometry().channel(die);
        let span = self.times.channel_rate.time_for(bytes);
        self.channels[channel as usize].book(now, span)
    }
}
