//! A port of the switch, with its cable: what is queued there and what is on its way there.
//!
//! A train of segments that is on its way has a timetable: its segments reach the switch at known
//! times, since its sender's cable is busy with nothing else. So a port need not be told of each
//! segment. Now and then it *walks* its timetables up to the present and finds what became of the
//! segments that have arrived: exactly what it would have found one by one, in the order of arrival
//! and, at equal times, in the order in which the trains were sent.
//!
//! Where nothing can be dropped the walk goes from one train's end to the next: first come, first
//! served, a train's last segment leaves when all that arrived up to it has been served; and a
//! train from a cable that is no slower than the port's lets the port have no pause from its first
//! segment to its last. Where the buffer could overflow the walk goes segment by segment.

use foretell_scenarios::model;
use foretell_units::{Bytes, SimSpan, SimTime};

use super::segment::{Run, SEGMENT_WIRE};
use crate::ledger::{Usage, Violation};
use crate::link::Link;

/// One host's cable, and the switch's output queue for it. Amounts of data are in the time that
/// they take on the cable to the host.
#[derive(Debug)]
pub(super) struct Port {
    /// Host to switch.
    pub(super) transmit: Link,
    /// Switch to host. What is booked here and has not left is in the buffer. A job is a train.
    receive: Link,
    pub(super) latency: SimSpan,
    /// A full segment.
    pub(super) segment: SimSpan,
    /// What the buffer holds.
    buffer: SimSpan,
    /// Trains on their way, of which segments have not been walked.
    coming: Vec<Coming>,
    /// What these have left.
    coming_service: SimSpan,
    /// Segments that have gone on to the host, and those dropped.
    pub(super) passed: u64,
    pub(super) dropped: u64,
    /// Times that the host waited in vain for an acknowledgement.
    pub(super) timeouts: u64,
    /// Whether the walk goes segment by segment always.
    pub(super) single_steps: bool,
}

/// The timetable of a train.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    /// The train.
    pub(super) train: u32,
    /// Segments left: full ones, but for the last.
    left: u32,
    /// When the next one arrives; the following ones after so long each, the last at `tail`.
    next_at: SimTime,
    spacing: SimSpan,
    tail: SimTime,
    /// Trains are numbered in the order in which they were sent.
    sequence: u64,
    /// The last segment's service here.
    last: SimSpan,
    /// Bytes on the wire of the last segment.
    last_wire: u32,
    /// Segments since the last drop, or in all.
    segments: u32,
    /// When all that was queued at the first of the latest drops in a row has left.
    cut: SimTime,
    /// When the first segment arrives.
    head: SimTime,
    /// Whether a look at the port is planned for the moment when the last segment arrives.
    watched: bool,
    /// Whether the first segment has arrived.
    entered: bool,
}

/// What became of segments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// A segment was dropped, after so many segments of its train had passed since the last drop.
    Dropped { train: u32, passed: u32, segment: Run },
    /// The last segment of a train has arrived, after so many had passed since the last drop. What
    /// has passed has left by `finish`; where the last segments were dropped, all that was queued
    /// at the first of these drops has, and the last one has come.
    Done { train: u32, passed: u32, finish: SimTime },
}

impl Coming {
    /// A train whose first and last segments arrive at `head` and `tail`.
    pub(super) fn new(
        train: u32,
        sequence: u64,
        run: Run,
        (head, tail): (SimTime, SimTime),
        spacing: SimSpan,
    ) -> Self {
        Self {
            train,
            left: run.segments,
            next_at: head,
            spacing,
            tail,
            sequence,
            last: SimSpan::ZERO,
            last_wire: run.last_wire() as u32,
            segments: run.segments,
            cut: SimTime::ZERO,
            head,
            watched: false,
            entered: false,
        }
    }

    fn next(&self) -> (SimTime, u64) {
        (self.next_at, self.sequence)
    }

    fn end(&self) -> (SimTime, u64) {
        (self.tail, self.sequence)
    }

    /// Service of what is left.
    fn service(&self, segment: SimSpan) -> SimSpan {
        segment * u64::from(self.left - 1) + self.last
    }

    /// How many of the segments left arrive up to `end` (time and sequence number), in which no
    /// other train's last segment comes later than this one's.
    fn arriving(&self, end: (SimTime, u64)) -> u32 {
        if self.next() > end {
            return 0;
        }
        if self.end() <= end {
            return self.left;
        }
        let span = (end.0 - self.next_at).as_ns();
        let spacing = self.spacing.as_ns();
        let intervals = span / spacing;
        let tie = span == intervals * spacing && self.sequence > end.1;
        let count = intervals + u64::from(!tie);
        // the last comes after `end`
        count.min(u64::from(self.left) - 1) as u32
    }

    /// Moves on by so many segments, not all.
    fn advance(&mut self, count: u32) {
        self.left -= count;
        self.next_at =
            if self.left == 1 { self.tail } else { self.next_at + self.spacing * u64::from(count) };
    }
}

impl Port {
    /// An idle port with so large a buffer.
    pub(super) fn new(nic: &model::Nic, buffer: Bytes) -> Self {
        let unlimited = buffer == Bytes(u64::MAX);
        Self {
            transmit: Link::new(nic.rate),
            receive: Link::new(nic.rate),
            latency: nic.latency,
            segment: nic.rate.time_for(Bytes(SEGMENT_WIRE)),
            buffer: if unlimited { SimSpan::MAX } else { nic.rate.time_for(buffer) },
            coming: Vec::new(),
            coming_service: SimSpan::ZERO,
            passed: 0,
            dropped: 0,
            timeouts: 0,
            single_steps: false,
        }
    }

    /// Time that a run takes on the cable: full segments, and the last.
    pub(super) fn service(&self, run: Run) -> SimSpan {
        self.segment * u64::from(run.segments - 1) + self.last(run)
    }

    /// Time that the last segment of a run takes on the cable.
    fn last(&self, run: Run) -> SimSpan {
        self.receive.rate().time_for(Bytes(run.last_wire()))
    }

    /// Books a run on the cable to the switch: when its first and last segments are there.
    pub(super) fn transmit(&mut self, now: SimTime, run: Run) -> (SimTime, SimTime) {
        let busy = self.transmit.book(now, self.service(run));
        let tail = busy.finish + self.latency;
        let head = if run.segments == 1 { tail } else { busy.start + self.segment + self.latency };
        (head, tail)
    }

    /// Whether the buffer would hold all that is there and on its way.
    pub(super) fn ample(&self, now: SimTime) -> bool {
        self.receive.backlog(now) + self.coming_service <= self.buffer
    }

    /// Whether nothing is there or on its way.
    pub(super) fn quiet(&self, now: SimTime) -> bool {
        self.coming.is_empty() && self.receive.backlog(now).is_zero()
    }

    /// When the next segment arrives.
    pub(super) fn next(&self) -> Option<(SimTime, u64)> {
        self.coming.iter().map(Coming::next).min()
    }

    /// When the next segment of a train arrives.
    pub(super) fn next_of(&self, train: u32) -> Option<SimTime> {
        self.coming.iter().find(|coming| coming.train == train).map(|coming| coming.next_at)
    }

    /// A train is on its way. Returns when its last segment leaves, if nothing is dropped and
    /// nothing else is sent; never too late.
    pub(super) fn announce(&mut self, mut coming: Coming, run: Run) -> SimTime {
        coming.last = self.last(run);
        let own = coming.service(self.segment);
        // what will have arrived before its last segment is served before it
        let (mut first, mut before) = (coming.head, SimSpan::ZERO);
        for other in &self.coming {
            if other.tail <= coming.tail {
                first = first.min(other.next_at);
                before += other.service(self.segment);
            }
        }
        let queued = self.receive.free_at().max(first) + before + own;
        let alone = finish_alone(&coming, self.receive.free_at(), self.segment);
        self.coming_service += own;
        self.coming.push(coming);
        queued.max(alone)
    }

    /// Calls `watch` with each train on its way for which no look is planned at the moment when its
    /// last segment arrives, and with that moment.
    pub(super) fn watch_all(&mut self, mut watch: impl FnMut(u32, SimTime)) {
        for coming in &mut self.coming {
            if !coming.watched {
                coming.watched = true;
                watch(coming.train, coming.tail);
            }
        }
    }

    /// Finds out what became of the segments that arrive by `now`.
    pub(super) fn walk(&mut self, now: SimTime, outcomes: &mut Vec<Outcome>) {
        while let Some(front) = self.front().filter(|&front| self.coming[front].next_at <= now) {
            if self.single_steps || !self.stride(front, now, outcomes) {
                self.step(front, |_| true, outcomes);
            }
        }
        self.receive.settle(now);
    }

    /// The train whose segment arrives next.
    fn front(&self) -> Option<usize> {
        if self.coming.len() <= 1 {
            return self.coming.len().checked_sub(1);
        }
        (0..self.coming.len()).min_by_key(|&index| self.coming[index].next())
    }

    /// Walks up to the next end of a train, or up to `now`, if nothing can be dropped on the way;
    /// whether it has.
    fn stride(&mut self, front: usize, now: SimTime, outcomes: &mut Vec<Outcome>) -> bool {
        let segment = self.segment;
        let (mut end, mut ending) = ((now, u64::MAX), None);
        for (index, coming) in self.coming.iter().enumerate() {
            if coming.end() < end {
                (end, ending) = (coming.end(), Some(index));
            }
        }
        let first = &self.coming[front];
        let start = self.receive.free_at().max(first.next_at);
        let waiting = start - first.next_at;
        if self.coming.len() == 1 {
            // nobody comes between
            let count = first.arriving(end);
            let service = part(first, count, segment);
            if waiting + service > self.buffer {
                return false;
            }
            let mut alone = *first;
            if count < alone.left {
                // as if the segments that arrive were all
                alone.tail = alone.next_at + alone.spacing * u64::from(count - 1);
                (alone.left, alone.last) = (count, segment);
            }
            let finish = finish_alone(&alone, self.receive.free_at(), segment);
            self.receive.serve(finish, service);
            self.pass(front, count, service, outcomes);
            return true;
        }
        // it must be as fast as the port, or there are pauses
        if first.spacing > segment {
            return false;
        }
        let works = self.coming.iter().map(|coming| part(coming, coming.arriving(end), segment));
        let work: SimSpan = works.sum();
        if waiting + work > self.buffer {
            return false;
        }
        self.receive.serve(start + work, work);
        // the one that ends comes last, so that the others keep their places
        for index in 0..self.coming.len() {
            if Some(index) != ending {
                let count = self.coming[index].arriving(end);
                let service = part(&self.coming[index], count, segment);
                self.pass(index, count, service, outcomes);
            }
        }
        if let Some(index) = ending {
            let service = self.coming[index].service(segment);
            self.pass(index, self.coming[index].left, service, outcomes);
        }
        true
    }

    /// So many segments of a train have passed, and have been booked.
    fn pass(&mut self, index: usize, count: u32, service: SimSpan, outcomes: &mut Vec<Outcome>) {
        if count == 0 {
            return;
        }
        self.coming_service -= service;
        self.passed += u64::from(count);
        let coming = &mut self.coming[index];
        if !coming.entered {
            coming.entered = true;
            self.receive.arrive(coming.head);
        }
        if count < coming.left {
            coming.advance(count);
            return;
        }
        let finish = self.receive.free_at();
        let Coming { train, segments, head, .. } = self.coming.swap_remove(index);
        self.receive.leave(head, finish);
        outcomes.push(Outcome::Done { train, passed: segments, finish });
    }

    /// What arrives next finds room, or is dropped. `room`: whether there is room elsewhere for so
    /// much more.
    pub(super) fn step_next(
        &mut self,
        room: impl FnOnce(&Self) -> bool,
        outcomes: &mut Vec<Outcome>,
    ) {
        let front = self.front().expect("something is coming");
        self.step(front, room, outcomes);
    }

    fn step(
        &mut self,
        index: usize,
        room: impl FnOnce(&Self) -> bool,
        outcomes: &mut Vec<Outcome>,
    ) {
        let Coming { train, left, next_at, last, last_wire, segments, head, .. } =
            self.coming[index];
        let service = if left == 1 { last } else { self.segment };
        let waiting = self.receive.backlog(next_at);
        if waiting + service <= self.buffer && room(self) {
            self.receive.serve(next_at + waiting + service, service);
            self.pass(index, 1, service, outcomes);
            return;
        }
        self.dropped += 1;
        self.coming_service -= service;
        let wire = if left == 1 { u64::from(last_wire) } else { SEGMENT_WIRE };
        let segment = Run { segments: 1, wire };
        let coming = &mut self.coming[index];
        if !coming.entered {
            coming.entered = true;
            self.receive.arrive(head);
        }
        let passed = segments - left;
        if passed > 0 {
            coming.cut = self.receive.free_at();
        }
        outcomes.push(Outcome::Dropped { train, passed, segment });
        coming.segments = left - 1;
        if left > 1 {
            coming.advance(1);
            return;
        }
        let finish = coming.cut.max(next_at);
        self.coming.swap_remove(index);
        self.receive.leave(head, next_at);
        outcomes.push(Outcome::Done { train, passed: 0, finish });
    }

    /// Bytes in the buffer, and on their way.
    pub(super) fn bytes(&self, now: SimTime) -> (u64, u64) {
        (self.to_bytes(self.receive.backlog(now)), self.to_bytes(self.coming_service))
    }

    /// Bytes of so much service.
    fn to_bytes(&self, service: SimSpan) -> u64 {
        let bits_by_s = u128::from(self.receive.rate().as_bits_per_s());
        (u128::from(service.as_ns()) * bits_by_s / 8_000_000_000) as u64
    }

    /// Segments on their way.
    pub(super) fn segments_coming(&self) -> u64 {
        self.coming.iter().map(|coming| u64::from(coming.left)).sum()
    }

    /// Measuring begins.
    pub(super) fn mark(&mut self, now: SimTime) {
        self.transmit.mark(now);
        self.receive.mark(now);
    }

    /// What the cable did since the mark: (host to switch, switch to host).
    pub(super) fn usage(&mut self, now: SimTime) -> (Usage, Usage) {
        (self.transmit.usage(now), self.receive.usage(now))
    }

    /// Whether the operational laws hold on the cable.
    pub(super) fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.transmit.audit(now)?;
        let entered = self.coming.iter().filter(|coming| coming.entered);
        self.receive.audit_with(now, entered.map(|coming| coming.head))
    }
}

/// Service of the next so many segments of a train.
fn part(coming: &Coming, count: u32, segment: SimSpan) -> SimSpan {
    if count == coming.left { coming.service(segment) } else { segment * u64::from(count) }
}

/// When the last segment of a train leaves a port that is free at `free`, if nothing else comes.
///
/// Each segment but the last takes `segment`, and they come evenly: so the port has no pause after
/// the first of them, or pauses before each.
fn finish_alone(coming: &Coming, free: SimTime, segment: SimSpan) -> SimTime {
    let start = free.max(coming.next_at);
    if coming.left == 1 {
        return start + coming.last;
    }
    let full = u64::from(coming.left - 1);
    let steady = start + segment * full;
    let paused = coming.next_at + coming.spacing * (full - 1) + segment;
    steady.max(paused).max(coming.tail) + coming.last
}
