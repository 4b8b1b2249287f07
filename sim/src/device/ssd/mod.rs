//! A solid-state drive.
//!
//! Modelled, with the parts and times of the profile ([`Ssd`](foretell_scenarios::device::Ssd)):
//!
//! - **flash**: a die does one thing at a time. It senses a page (or one of each plane, if they are
//!   neighbours) and sends it; it receives and programs a page of each plane; or it erases a block of each
//!   plane. It holds its register until a transfer is over, so sensing and programming do not overlap with the
//!   die's own transfers. Dies on a channel share it, first come, first served;
//! - **translation**: one entry for each *unit* (a page or a part of one). Data are written to dies in
//!   round-robin order, over channels first, then chips, then dies in a chip. Each die collects garbage
//!   greedily and at the pace of writing: when it has room for less than three blocks, each row from the host
//!   waits for as much of the collection of a block as frees a row on average;
//! - **write buffer**: a write is done when it is in the buffer, which keeps data without power. Data leave
//!   the buffer for flash at once, a row at a time. On a drive without power-loss protection, a write is done
//!   when all its data are in flash (`durable.rs`). A write of part of a unit first reads the rest. A write
//!   to a unit that still waits replaces it; a read of such a unit is served from memory;
//! - **host**: a queue of limited depth in front, first come, first served; an interface, half or full duplex,
//!   that each command occupies for a fixed time in addition to its data; a latency.
//!
//! At a die, reads go before writes. But reads overtake a waiting write (or collection) only for as long as
//! programming takes. So under load, reads and writes each get about half of the die. Collection goes before
//! the host's writes. Left out: cache and suspend commands, reading pages of different rows in several planes
//! at once, moving data within a die without the channel, trim, wear and its levelling, misses of the mapping
//! table, SLC caches, collection while the drive is idle, several host queues. Numbers and structure follow
//! MQSim (Tavakkol et al., FAST 2018), the write amplification Desnoyers (SYSTOR 2012).
//!
//! **Memory**: data in their initial place need none. Each unit that was written or moved needs 4 bytes, in
//! pages of 1024; each unit of a written block 4 bytes; each unit that is no longer valid in its place an
//! eighth of a byte, in pages of 32,768; each block of a written die 56 bytes. A terabyte with 4 KiB units
//! needs 4 MB once every die has been written to, and 2 GB at worst.
//!
//! **Interface**: [`Ssd::submit`] and [`Ssd::complete`] return the latest time at which the drive must be
//! called. It may also be called at any other time: the state of the drive depends on the times of commands
//! alone.

mod bits;
mod blocks;
mod buffer;
mod durable;
mod ends;
mod flash;
mod geometry;
mod home;
mod host;
pub(crate) mod line;
mod table;
#[cfg(test)]
pub(crate) mod tests;
mod translation;

use std::collections::VecDeque;

use foretell_scenarios::device::Ssd as Spec;
use foretell_units::{Bytes, Rate, SimSpan, SimTime, Stream};

use crate::device::{Done, Inside};
use crate::ledger::{Ledger, Usage, Violation};
use foretell_algorithms::io_scheduler::Io;

use buffer::Buffer;
use durable::Durable;
use ends::Ends;
use flash::Die;
use host::{Arrival, Requests};
use line::Line;
use translation::Translation;

/// Bytes that a drive has written, and blocks that it has erased, since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Written {
    /// Data that the host wrote, whole units.
    pub host: Bytes,
    /// Programmed data of the host. They are fewer than `host` if units were written again while in the
    /// buffer.
    pub programmed: Bytes,
    /// Data moved by garbage collection.
    pub moved: Bytes,
    /// Parts of rows that were programmed without data.
    pub padding: Bytes,
    /// Blocks erased; those of all planes together count as one.
    pub erased: u64,
}

impl Written {
    /// Write amplification: data programmed divided by data written by the host; NaN if nothing was written.
    pub fn amplification(&self) -> f64 {
        (self.programmed + self.moved).get() as f64 / self.host.get() as f64
    }

    /// The sum for this drive and another.
    pub fn and(&self, other: &Self) -> Self {
        Self {
            host: self.host + other.host,
            programmed: self.programmed + other.programmed,
            moved: self.moved + other.moved,
            padding: self.padding + other.padding,
            erased: self.erased + other.erased,
        }
    }

    /// The difference from `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            host: self.host - before.host,
            programmed: self.programmed - before.programmed,
            moved: self.moved - before.moved,
            padding: self.padding - before.padding,
            erased: self.erased - before.erased,
        }
    }
}

/// A solid-state drive; `T` is the caller's tag for an operation, returned when it is done.
#[derive(Debug)]
pub struct Ssd<T> {
    times: Times,
    translation: Translation,
    dies: Vec<Die>,
    channels: Vec<Line>,
    ends: Ends,
    /// The die that gets the next row, if it has room.
    turn: u32,
    /// Whether no die had room for a row, and none has gained room since.
    full: bool,
    /// Limit for the valid units of a die, so that it does not spend its time collecting.
    most_valid: u32,
    buffer: Buffer,
    /// Writes that are done when they are in flash; `None` if writes are done when they are in the buffer.
    durable: Option<Durable>,
    /// Lists of places, kept for reuse.
    rows: Vec<Vec<u32>>,
    /// Interface to and from the host; if it is half-duplex, the first is used for both.
    interface: [Line; 2],
    requests: Requests<T>,
    /// Commands that the drive has not taken yet.
    outside: VecDeque<(SimTime, Io<T>)>,
    /// Commands in the drive.
    inside: u32,
    queue_depth: u32,
    /// Writes that wait for room in the buffer.
    stalled: VecDeque<u32>,
    /// Written data on their way from the host, in order.
    arrivals: VecDeque<Arrival>,
    /// Commands with a known time of completion: writes and reads, each in order.
    leaving: [VecDeque<(SimTime, u32)>; 2],
    /// Commands that are done and have not been returned.
    done: Vec<Done<T>>,
    written: Written,
    /// Value of `written` when measuring began.
    written_before: Written,
    ledger: Ledger,
    /// Ledger of the dies; a job in it is one piece of a die's work.
    die_ledger: Ledger,
    marked: SimTime,
}

/// Times and rates of the profile.
#[derive(Clone, Copy, Debug)]
struct Times {
    read: SimSpan,
    program: SimSpan,
    erase: SimSpan,
    channel_rate: Rate,
    host_rate: Rate,
    duplex: bool,
    command: SimSpan,
    latency: SimSpan,
    /// Reads that may pass a waiting write.
    reads_before_write: u32,
}

impl<T: Copy> Ssd<T> {
    /// An idle drive.
    pub fn new(spec: &Spec) -> Self {
        let translation = Translation::new(spec);
        let geometry = translation.geometry();
        let (dies, channels) = (geometry.dies as usize, geometry.channels as usize);
        let spare = geometry.blocks * geometry.block() - geometry.user_per_die();
        Self {
            times: Times {
                read: spec.read,
                program: spec.program,
                erase: spec.erase,
                channel_rate: spec.channel_rate,
                host_rate: spec.host_rate,
                duplex: spec.duplex,
                command: spec.command,
                latency: spec.latency,
                reads_before_write: spec.program.as_ns().div_ceil(spec.read.as_ns()) as u32,
            },
            // a die may exceed its share by half of its spare flash, and so keeps the other half spare
            most_valid: geometry.user_per_die() + spare / 2,
            translation,
            dies: (0..dies).map(|_| Die::default()).collect(),
            channels: vec![Line::default(); channels],
            ends: Ends::new(dies as u32),
            turn: 0,
            full: false,
            buffer: Buffer::new(spec.buffer.get() / spec.mapping.get()),
            durable: (!spec.power_loss_protection).then(Durable::default),
            rows: Vec::new(),
            interface: [Line::default(); 2],
            requests: Requests::default(),
            outside: VecDeque::new(),
            inside: 0,
            queue_depth: spec.queue_depth,
            stalled: VecDeque::new(),
            arrivals: VecDeque::new(),
            leaving: [VecDeque::new(), VecDeque::new()],
            done: Vec::new(),
            written: Written::default(),
            written_before: Written::default(),
            ledger: Ledger::default(),
            die_ledger: Ledger::default(),
            marked: SimTime::ZERO,
        }
    }

    /// The first row goes to a random die: a drive that has been in use may be anywhere in its round.
    pub(crate) fn begin_at_any_die(&mut self, stream: &mut Stream) {
        self.turn = stream.below(self.dies.len() as u64) as u32;
    }

    /// Adds an operation. Returns when to call [`Ssd::complete`].
    ///
    /// `now` must not go backwards. Sectors beyond the end are replaced by the last one.
    pub fn submit(&mut self, now: SimTime, io: Io<T>) -> Option<SimTime> {
        self.run(now);
        self.ledger.arrive(now);
        if self.inside < self.queue_depth {
            self.begin(now, now, io);
        } else {
            self.outside.push_back((now, io));
        }
        self.wake(now)
    }

    /// Appends the operations that are done at `now` to `done`, in order. Returns when to call again; `None`:
    /// not before something is submitted.
    pub fn complete(&mut self, now: SimTime, done: &mut Vec<Done<T>>) -> Option<SimTime> {
        self.run(now);
        done.append(&mut self.done);
        self.wake(now)
    }

    /// Earliest time at which something may be done. After the current work of a die or of the interface, the
    /// latency passes before the host sees it.
    pub(crate) fn wake(&self, now: SimTime) -> Option<SimTime> {
        if !self.done.is_empty() {
            return Some(now);
        }
        let latency = self.times.latency;
        let [writes, reads] = &self.leaving;
        let certain = [writes.front(), reads.front()].into_iter().flatten().map(|(at, _)| *at);
        let arrival = self.arrivals.front().map(|arrival| arrival.at);
        let end = Some(self.ends.first().0).filter(|end| *end != SimTime::MAX);
        let possible = arrival.into_iter().chain(end);
        certain.chain(possible.map(|at| at + latency)).min()
    }

    /// Processes all events up to `now`.
    fn run(&mut self, now: SimTime) {
        loop {
            let (end, die) = self.ends.first();
            let arrival = self.arrivals.front().map_or(SimTime::MAX, |arrival| arrival.at);
            let [writes, reads] = &self.leaving;
            let front = |queue: &VecDeque<(SimTime, u32)>| {
                queue.front().map_or(SimTime::MAX, |(at, _)| *at)
            };
            let (write, read) = (front(writes), front(reads));
            let next = end.min(arrival).min(write).min(read);
            if next > now || next == SimTime::MAX {
                return;
            }
            if end == next {
                self.die_ends(next, die);
            } else if arrival == next {
                let arrival = self.arrivals.pop_front().expect("it is there");
                self.arrives(&arrival);
            } else {
                self.leaves(next, usize::from(write != next));
            }
        }
    }

    /// Operations waiting or in service.
    pub fn present(&self) -> u64 {
        self.ledger.present()
    }

    /// Bytes written since the beginning.
    pub fn written(&self) -> Written {
        self.written
    }

    /// Bytes written since the mark.
    pub fn written_since_mark(&self) -> Written {
        self.written.since(&self.written_before)
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        self.run(now);
        self.ledger.mark(now);
        self.die_ledger.mark(now);
        self.lines().for_each(|line| line.mark(now));
        self.written_before = self.written;
        self.marked = now;
    }

    fn lines(&mut self) -> impl Iterator<Item = &mut Line> {
        self.channels.iter_mut().chain(&mut self.interface)
    }

    /// Usage of the drive since the mark.
    ///
    /// Queue length and operations are those of the host's operations. Utilization and busy time are those of
    /// the busiest part: the dies (mean number of busy dies divided by their number, collection included), the
    /// channels (likewise), or the interface to or from the host.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        self.run(now);
        let queue = self.ledger.usage(now, 1);
        let dies = self.die_ledger.usage(now, self.dies.len() as u32);
        let span = (now - self.marked).as_ns().max(1) as f64;
        let part = |lines: &[Line]| {
            let busy: SimSpan = lines.iter().map(|line| line.busy_since_mark(now)).sum();
            (busy.as_ns() as f64 / span / lines.len() as f64, busy)
        };
        let [to, from] = self.interface;
        let parts = [part(&self.channels), part(&[to]), part(&[from])];
        let mut busiest = (dies.utilization, dies.busy);
        for part in parts {
            if part.0 > busiest.0 {
                busiest = part;
            }
        }
        Usage { utilization: busiest.0, busy: busiest.1, ..queue }
    }

    /// Whether the operational laws hold for the queue of operations and for the dies.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.run(now);
        let inside = self.requests.arrivals();
        let outside = self.outside.iter().map(|(arrived, _)| *arrived);
        let jobs = inside.chain(outside).map(|arrived| (arrived, None));
        self.ledger.audit(now, jobs)?;
        let working = self.dies.iter().filter_map(Die::since);
        self.die_ledger.audit(now, working.map(|since| (since, Some(since))))
    }
}

impl Inside for Ssd<u32> {
    fn submit(&mut self, now: SimTime, io: Io<u32>) {
        Self::submit(self, now, io);
    }

    fn complete(&mut self, now: SimTime, done: &mut Vec<Done<u32>>) {
        Self::complete(self, now, done);
    }

    fn wake(&self, now: SimTime) -> Option<SimTime> {
        Self::wake(self, now)
    }

    fn mark(&mut self, now: SimTime) {
        Self::mark(self, now);
    }

    fn usage(&mut self, now: SimTime) -> Usage {
        Self::usage(self, now)
    }

    fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        Self::audit(self, now)
    }

    fn flash(&self) -> Option<Written> {
        Some(self.written_since_mark())
    }
}
