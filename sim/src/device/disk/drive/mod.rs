//! A detailed disk drive, validated against measured drives: mechanics, bus, controller, on-board buffer.
//!
//! Commands are given one at a time to [`Drive::serve`], which returns the time at which the host sees the
//! command done. Activity between commands is kept as a plan (read ahead from one sector to another, or write
//! behind until a time). The plan is carried out when the next command comes, so there are no events inside a
//! drive. A host that lets the drive hold several commands asks [`Drive::reaches_first`]. Modelled after
//! Ruemmler & Wilkes, *An Introduction to Disk Drive Modeling* (1994) and DiskSim (Bucy et al.,
//! CMU-PDL-08-101, 2008):
//!
//! - **mechanics**: exact angle, seek, head switch, settling, skews, zones, slips, defects;
//! - **bus**: a time for each sector, in step with the medium; water mark; disconnecting and reconnecting;
//! - **reads**: hit whole or in part in a segment, also while the medium still delivers; read-ahead after each read
//!   until its limit or the next command; sectors kept in the order in which they pass the head;
//! - **writes**: reported when on the medium, or early, when in the buffer; writing behind, joined by writes that
//!   continue it, delayed while the buffer is full of unwritten sectors;
//! - **drives of 1992 to 1994**: the drive disconnects from the bus, and later reconnects, for a command that
//!   comes while the arm writes, does its minimum read-ahead, or (in some drives) moves. A write after a
//!   write elsewhere disconnects before its data, and goes to the medium only when part of it is in the
//!   buffer. Writes that continue a stream are the only ones without a minimum time before the medium.
//!
//! Some of this behaviour is in DiskSim's code but not in its manual. The drives' parameters were extracted
//! with that code. `Other reselect overhead` applies only to writes that disconnect twice. At least 10
//! sectors (15 if the write has 45 or more) of such a drive's writes must be in the buffer first. A drive
//! that keeps sectors that pass the head also reads the wanted sectors in the order in which they pass.
//! `Disconnect write if seek` concerns every command that cannot stop read-ahead at once.
//!
//! Where DiskSim's behaviour follows from its code rather than from drives, this model differs: a write that continues
//! another is accepted as soon as the buffer has room. Left out: several segments of unwritten data (another write
//! waits for the first), prepending to unwritten data, water marks of writes, contention for the bus with other
//! devices.
//!
//! The table shows the effect of each part: the RMS distance in ms from the HP C3323A, the Cheetah 9LP and
//! the Barracuda 4LP (see [`super::replay`]) if this part is left out of their descriptions:
//!
//! | left out | HP | Cheetah | Barracuda |
//! | --- | --- | --- | --- |
//! | nothing (DiskSim 4.0: .305, .107, .348) | .305 | .107 | .348 |
//! | immediate reporting of writes (the HP has none) | – | 2.47 | 3.66 |
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
    /// Position of the arm while there is no background activity.
    position: Position,
    background: Background,
    /// How long the command in service was held, beyond its first overhead.
    made_ready: SimSpan,
    /// Direction of the last command.
    last: Op,
    /// The sectors of the read in service, with the times at which they come off the medium.
    runs: Vec<Run>,
    /// The sectors being written behind, with the times at which they reach the medium.
    writes: VecDeque<Run>,
}

/// Activity that continues without a command.
#[derive(Clone, Copy, Debug)]
enum Background {
    Nothing,
    Reading(Reading),
    Writing(Writing),
}

/// Reading ahead into a segment.
#[derive(Clone, Copy, Debug)]
struct Reading {
    segment: usize,
    /// The track that is being read.
    position: Position,
    /// When the head reached, or will reach, that track.
    settled: SimTime,
    /// The sectors of that track.
    run: Run,
    /// Address at which the read-ahead ends.
    limit: u64,
    /// Address before which the read-ahead cannot be stopped.
    least: u64,
}

/// Writing behind, out of a segment.
#[derive(Clone, Copy, Debug)]
struct Writing {
    segment: usize,
    done: SimTime,
}

/// A command from a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Direction.
    pub op: Op,
    /// The first sector.
    pub lbn: Sectors,
    /// Number of sectors.
    pub sectors: Sectors,
}

/// The result of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served {
    /// When the host sees it done.
    pub finish: SimTime,
    /// What the buffer did for it.
    pub buffer_use: BufferUse,
}

/// What the on-board buffer did for a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferUse {
    /// Nothing: the medium was read or written.
    Nothing,
    /// The first sectors of a read were in the buffer, or on their way to it.
    Part,
    /// All sectors of a read were in the buffer, or on their way to it.
    Whole,
    /// A write was reported before it was on the medium.
    Early,
}

impl Drive {
    /// A drive on the bench: its arm is at the outermost cylinder and its buffer is empty. It turns at nominal speed,
    /// and its index mark passes at time zero.
    pub fn new(spec: &Spec) -> Self {
        Self::turning(spec, Spin::nominal(spec.revolution()))
    }

    /// The same drive with the rotation `spin`.
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

    /// Number of sectors that the drive holds.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.mechanics.layout.total())
    }

    /// Serves a command that arrives at `now`, when no other is in service. `now` must not be before the finish of the
    /// last command. Sectors beyond the end of the disk are left out.
    pub fn serve(&mut self, now: SimTime, op: Op, lbn: Sectors, sectors: Sectors) -> Served {
        self.serve_held(now, now, Command { op, lbn, sectors })
    }

    /// Serves a command that the drive has held since `since`: the controller's overhead before any movement has been
    /// done meanwhile.
    pub fn serve_held(&mut self, now: SimTime, since: SimTime, command: Command) -> Served {
        let (first, next) = self.sectors_of(command);
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

    /// Chooses the command that the drive could begin first if it started at `now`: one whose sectors are in the
    /// buffer or on their way to it, or whose first missing sector comes under the head first. Ties go to the first;
    /// `None` without commands.
    ///
    /// No command begins before the write-behind in progress is done.
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

    /// Earliest time at which the drive could begin a command.
    fn reaches(&self, now: SimTime, command: Command) -> SimTime {
        let (first, next) = self.sectors_of(command);
        let (from, free) = match &self.background {
            Background::Nothing => (self.position, now),
            Background::Reading(reading) => (reading.position, now),
            Background::Writing(writing) => (self.position, now.max(writing.done)),
        };
        let wanted = match command.op {
            Op::Read => self.missing(first, next),
            Op::Write => Some(first),
        };
        let Some(wanted) = wanted else { return free };
        let approach = self.mechanics.approach(from, free, wanted, command.op);
        approach.settled + approach.wait
    }

    /// The first sector of a read that is neither in the buffer nor on its way to it; `None` if there is none.
    fn missing(&self, first: u64, next: u64) -> Option<u64> {
        let Some((segment, is_whole)) = self.find(first, next) else { return Some(first) };
        let is_there = is_whole || self.reading_into() == Some(segment);
        (!is_there).then(|| self.segments.get(segment).end)
    }

    /// The first sector of a command, and the one after its last. Sectors beyond the end of the disk are left out.
    fn sectors_of(&self, command: Command) -> (u64, u64) {
        let total = self.mechanics.layout.total();
        let first = command.lbn.get().min(total - 1);
        (first, first.saturating_add(command.sectors.get().max(1)).min(total))
    }

    /// Remaining part of an overhead for the command in service.
    fn preparing(&self, overhead: After) -> SimSpan {
        self.after(overhead).saturating_sub(self.made_ready)
    }

    fn after(&self, after: After) -> SimSpan {
        match self.last {
            Op::Read => after.read,
            Op::Write => after.write,
        }
    }

    /// Carries out the planned read-ahead and write-behind up to `now`.
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

    /// Read-ahead has ended; the arm stays where it is.
    fn rest(&mut self, reading: &Reading) {
        self.position = reading.position;
        self.background = Background::Nothing;
        if !self.cache.enabled {
            self.segments.clear(reading.segment);
        }
    }

    /// The write-behind has ended: everything is on the medium.
    fn written(&mut self, writing: Writing) {
        if !(self.cache.enabled && self.cache.read_hits_on_writes) {
            self.segments.clear(writing.segment);
        }
        self.writes.clear();
        self.background = Background::Nothing;
    }

    /// Continues the read-ahead with the next run; `false` where read-ahead ends by its rule.
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

    /// Stops the background activity for a command elsewhere. Returns when the arm is free for it. The controller is
    /// occupied until then: the command's overhead follows.
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

    /// Whether the background activity cannot be stopped at once. If so, a command disconnects from the bus until it
    /// can.
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

    /// The segment that the read-ahead fills.
    fn reading_into(&self) -> Option<usize> {
        match self.background {
            Background::Reading(reading) => Some(reading.segment),
            Background::Writing(_) | Background::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests;
