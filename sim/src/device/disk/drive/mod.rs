//! A disk drive as measured drives behave: mechanics, bus, controller, on-board buffer.
//!
//! One command after the other is given to [`Drive::serve`], which says when the host sees it done.
//! What the drive does in between is kept as an intention (reading along from here until there,
//! writing behind until then) and worked out when the next command comes: there are no events
//! inside a drive. A host that lets the drive hold several commands asks [`Drive::reaches_first`]. Modelled after Ruemmler & Wilkes, *An Introduction to Disk Drive Modeling*
//! (1994) and DiskSim (Bucy et al., CMU-PDL-08-101, 2008):
//!
//! - **mechanics**: exact angle, seek, head switch, settling, skews, zones, slips, defects;
//! - **bus**: a time for each sector, in step with the medium; water mark; leaving and taking it;
//! - **reads**: found whole or in part in a segment, also while the medium still delivers;
//!   read-ahead after each read until its limit or the next command; sectors kept in the order in
//!   which they pass the head;
//! - **writes**: reported when on the medium, or early, when in the buffer; writing behind, joined by
//!   writes that continue it, held back while the buffer is full of unwritten sectors;
//! - **drives of 1992 to 1994**: a command that comes while the arm writes, reads on by force, or (of
//!   some) moves, leaves the bus and takes it again; a write after a write elsewhere leaves it before
//!   its data, and none goes to the medium before part of it is in the buffer; the least time before
//!   the medium is spared to writes that stream on alone.
//!
//! Some of that is in DiskSim's code and not in its manual, and drives' parameters were extracted
//! with that code: `Other reselect overhead` is paid by writes that leave the bus twice and by nothing
//! else; 10 sectors (of 45 and more: 15) of such a drive's writes must be in the buffer first; a drive
//! that keeps sectors that pass also reads the wanted ones as they pass; `Disconnect write if seek` is
//! about any command that cannot stop read-ahead at once.
//!
//! Where DiskSim's behaviour follows from its code rather than from drives, ours differs: a write that
//! continues another is taken as soon as the buffer has room. Left out: several segments of unwritten data (another write waits for the first),
//! prepending to unwritten data, water marks of writes, contention for the bus with other devices.
//!
//! What matters, as RMS distance in ms from the HP C3323A, the Cheetah 9LP and the Barracuda 4LP (see
//! [`super::replay`]) with one thing left out of their full descriptions:
//!
//! | left out | HP | Cheetah | Barracuda |
//! | --- | --- | --- | --- |
//! | nothing (DiskSim 4.0: .305, .107, .348) | .314 | .107 | .348 |
//! | early write report (the HP has none) | – | 2.47 | 3.66 |
//! | controller overheads | 2.82 | .42 | .87 |
//! | read-ahead | 2.50 | .79 | 1.22 |
//! | bus time | 2.14 | .66 | .97 |
//! | skews | 1.94 | .17 | .35 |
//! | water mark (only the HP has one) | 1.46 | – | – |
//! | difference of hit and miss overheads | .89 | .11 | .37 |
//! | head switch, settling, slips, each at most | .33 | .12 | .36 |
//! | measured seek table; Ruemmler & Wilkes's three parts instead | .31 | .10 | .40 |
//! | zones; one zone of mean density instead | .23 | .11 | .33 |

mod layout;
mod mechanics;
mod read;
mod run;
mod segments;
mod transfer;
mod write;

use std::collections::VecDeque;

use foretell_scenarios::drive::{After, Bus, Cache, Drive as Spec, Overhead, ReadAhead};
use foretell_units::{Op, Sectors, SimSpan, SimTime};

use super::spin::Spin;
use mechanics::{Mechanics, Position};
use run::Run;
use segments::Segments;

/// A drive.
#[derive(Debug)]
pub struct Drive {
    mechanics: Mechanics,
    bus: Bus,
    overhead: Overhead,
    cache: Cache,
    segments: Segments,
    /// Where the arm stands while nothing goes on.
    position: Position,
    background: Background,
    /// How long the command in service was held, beyond its first overhead.
    made_ready: SimSpan,
    /// What the last command was.
    last: Op,
    /// The sectors of the read in service, as they come off the medium.
    runs: Vec<Run>,
    /// The sectors being written behind, as they reach the medium.
    writes: VecDeque<Run>,
}

/// What goes on without a command.
#[derive(Clone, Copy, Debug)]
enum Background {
    Nothing,
    Reading(Reading),
    Writing(Writing),
}

/// Reading along into a segment.
#[derive(Clone, Copy, Debug)]
struct Reading {
    segment: usize,
    /// The track on which it is.
    position: Position,
    /// When the head was, or will be, on that track.
    settled: SimTime,
    /// Sectors of that track.
    run: Run,
    /// Where it ends.
    limit: u64,
    /// Before which it cannot be stopped.
    least: u64,
}

/// Writing behind, out of a segment.
#[derive(Clone, Copy, Debug)]
struct Writing {
    segment: usize,
    done: SimTime,
}

/// What a host asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Direction.
    pub op: Op,
    /// First sector.
    pub lbn: Sectors,
    /// How many.
    pub sectors: Sectors,
}

/// How a command was served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served {
    /// When the host sees it done.
    pub finish: SimTime,
    /// Whether the buffer helped.
    pub found: Found,
}

/// What the on-board buffer did for a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// Nothing: the medium was read or written.
    Nothing,
    /// The first sectors of a read were there, or coming.
    Part,
    /// A read was there as a whole.
    Whole,
    /// A write was reported before it was on the medium.
    Early,
}

impl Drive {
    /// A drive whose arm stands at the outermost cylinder and whose buffer is empty, on the bench:
    /// at nominal speed, its index mark passing as time begins.
    pub fn new(spec: &Spec) -> Self {
        Self::turning(spec, Spin::nominal(spec.revolution()))
    }

    /// The same, whose platters turn in that way.
    pub fn turning(spec: &Spec, spin: Spin) -> Self {
        let specification = spec.specification();
        Self {
            mechanics: Mechanics::new(spec, spin),
            bus: specification.bus,
            overhead: specification.overhead,
            cache: specification.cache,
            segments: Segments::new(&specification.cache),
            position: Position::default(),
            background: Background::Nothing,
            made_ready: SimSpan::ZERO,
            last: Op::Read,
            runs: Vec::new(),
            writes: VecDeque::new(),
        }
    }

    #[cfg(test)]
    pub(super) fn spin(&self) -> Spin {
        self.mechanics.spin()
    }

    /// Sectors that it holds.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.mechanics.layout.total())
    }

    /// Serves a command that arrives at `now`, when no other is in service; `now` must not be
    /// before the finish of the last. Sectors beyond the end of the disk are left out.
    pub fn serve(&mut self, now: SimTime, op: Op, lbn: Sectors, sectors: Sectors) -> Served {
        self.serve_held(now, now, Command { op, lbn, sectors })
    }

    /// The same for a command that the drive has held since `since`: what its controller does before
    /// anything moves has been done meanwhile.
    pub fn serve_held(&mut self, now: SimTime, since: SimTime, command: Command) -> Served {
        let total = self.mechanics.layout.total();
        let first = command.lbn.get().min(total - 1);
        let next = first.saturating_add(command.sectors.get().max(1)).min(total);
        let held = now - since;
        let at = now + self.overhead.command.saturating_sub(held);
        self.made_ready = held.saturating_sub(self.overhead.command);
        self.catch_up(at);
        let served = match command.op {
            Op::Read => self.read(at, first, next),
            Op::Write => self.write(at, first, next),
        };
        self.last = command.op;
        Served { finish: served.finish.max(now + SimSpan::from_ns(1)), ..served }
    }

    /// Which of some commands the drive could begin first if it took it up at `now`: whose first
    /// sector is in the buffer, or comes under the head first. The first of equals; `None` of none.
    ///
    /// Nothing is begun before what is being written behind is done.
    pub fn reaches_first(
        &mut self,
        now: SimTime,
        commands: impl Iterator<Item = Command>,
    ) -> Option<usize> {
        self.catch_up(now);
        let reached = commands.map(|command| self.reaches(now, command));
        let (index, _) = reached.enumerate().min_by_key(|(_, reached)| *reached)?;
        Some(index)
    }

    /// When it could begin with a command.
    fn reaches(&self, now: SimTime, command: Command) -> SimTime {
        let first = command.lbn.get().min(self.mechanics.layout.total() - 1);
        let (from, free) = match &self.background {
            Background::Nothing => (self.position, now),
            Background::Reading(reading) => (reading.position, now),
            Background::Writing(writing) => (self.position, now.max(writing.done)),
        };
        if command.op == Op::Read && self.cache.enabled && self.holds_or_reads(first) {
            return free;
        }
        let approach = self.mechanics.approach(from, free, first, command.op);
        approach.settled + approach.wait
    }

    /// Whether a sector is in the buffer, or under the head of a drive that reads along.
    fn holds_or_reads(&self, sector: u64) -> bool {
        let comes_next = |segment| self.segments.get(segment).end == sector;
        self.segments.find(sector, sector + 1, None).is_some()
            || self.cache.hits_on_next && self.reading_into().is_some_and(comes_next)
    }

    /// What is left of an overhead for the command in service.
    fn preparing(&self, overhead: After) -> SimSpan {
        self.after(overhead).saturating_sub(self.made_ready)
    }

    fn after(&self, after: After) -> SimSpan {
        match self.last {
            Op::Read => after.read,
            Op::Write => after.write,
        }
    }

    /// Works out what has been read or written by itself up to `now`.
    fn catch_up(&mut self, now: SimTime) {
        match self.background {
            Background::Reading(mut reading) => {
                while reading.run.end() <= now
                    && reading.run.next() < reading.limit
                    && self.step(&mut reading)
                {}
                let reached = (reading.run.first + reading.run.done_by(now)).min(reading.limit);
                self.segments.extend(reading.segment, reached);
                if reached < reading.limit {
                    self.background = Background::Reading(reading);
                } else {
                    self.rest(&reading);
                }
            }
            Background::Writing(writing) if writing.done <= now => self.written(writing),
            Background::Writing(_) | Background::Nothing => {}
        }
    }

    /// Reading along has ended; the arm stays where it is.
    fn rest(&mut self, reading: &Reading) {
        self.position = reading.position;
        self.background = Background::Nothing;
        if !self.cache.enabled {
            self.segments.clear(reading.segment);
        }
    }

    /// Everything is on the medium.
    fn written(&mut self, writing: Writing) {
        if !(self.cache.enabled && self.cache.read_hits_on_writes) {
            self.segments.clear(writing.segment);
        }
        self.writes.clear();
        self.background = Background::Nothing;
    }

    /// Reads along into the next run; `false` where read-ahead ends by its rule.
    fn step(&mut self, reading: &mut Reading) -> bool {
        let next = reading.run.next();
        let approach = self.mechanics.approach(reading.position, reading.run.end(), next, Op::Read);
        let same = match self.cache.read_ahead {
            ReadAhead::Track => approach.position == reading.position,
            ReadAhead::Cylinder => approach.position.cylinder == reading.position.cylinder,
            ReadAhead::Off | ReadAhead::Segment | ReadAhead::NextTrack => true,
        };
        if !same && next >= reading.least {
            reading.limit = next;
            return false;
        }
        reading.position = approach.position;
        reading.settled = approach.settled;
        reading.run = approach.run(next);
        true
    }

    /// Stops what goes on, for a command elsewhere; when the arm is free for it. The controller is
    /// occupied until then: the overhead of the command follows.
    fn stop(&mut self, now: SimTime) -> SimTime {
        match self.background {
            Background::Nothing => now,
            Background::Writing(writing) => {
                self.written(writing);
                writing.done.max(now)
            }
            Background::Reading(mut reading) => {
                let mut free = now;
                if self.segments.get(reading.segment).end < reading.least {
                    while reading.run.next() < reading.least && self.step(&mut reading) {}
                    free = reading.run.done(reading.least.saturating_sub(reading.run.first));
                    self.segments.extend(reading.segment, reading.least);
                } else if now < reading.settled {
                    free = reading.settled;
                } else if now < reading.run.start && !self.cache.stops_in_sector {
                    free = reading.run.start;
                } else if !self.cache.stops_in_sector {
                    let done = (reading.run.done_by(now) + 1).min(reading.run.count);
                    free = reading.run.done(done);
                    let reached = (reading.run.first + done).min(reading.limit);
                    self.segments.extend(reading.segment, reached);
                }
                self.rest(&reading);
                free.max(now)
            }
        }
    }

    /// Whether what goes on cannot be stopped at once: a command leaves the bus until it can.
    fn is_held(&self, now: SimTime) -> bool {
        match &self.background {
            Background::Nothing => false,
            Background::Writing(_) => true,
            Background::Reading(reading) => {
                let moves = now < reading.settled || !self.cache.stops_in_sector;
                self.segments.get(reading.segment).end < reading.least
                    || self.cache.leaves_while_reading_on && moves
            }
        }
    }

    /// The segment into which the drive reads along.
    fn reading_into(&self) -> Option<usize> {
        match self.background {
            Background::Reading(reading) => Some(reading.segment),
            Background::Writing(_) | Background::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests;
