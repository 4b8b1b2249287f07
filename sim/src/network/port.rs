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
//!
//! **The last place.** Here cables of one rate have it to the bit. A sender whose cable feeds a full port
//! at the port's own rate would find the place of the segment that has just left each time, and whoever
//! came in between would find none, for ever. Real clocks drift against each other by up to 200 ppm
//! (IEEE 802.3: 100 either way), a segment's time in sixty milliseconds, so that either comes first in
//! turn. In place of that, up to a segment's worth of the buffer is missing for a segment that comes, at
//! random: Floyd & Jacobson, *On Traffic Phase Effects in Packet-Switched Gateways*, 1992, say why
//! simulations need it.

use std::collections::VecDeque;

use foretell_scenarios::model;
use foretell_units::{Bytes, Rate, Seed, SimSpan, SimTime};

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
    /// A byte, if that is a whole number of nanoseconds.
    byte: Option<SimSpan>,
    /// What the buffer holds: in bytes, and in time.
    room: Bytes,
    buffer: SimSpan,
    /// Of what is missing of it for a segment; `None`: nothing ever is.
    places: Option<Seed>,
    /// Trains on their way, of which segments have not been walked, by the arrival of the first.
    coming: VecDeque<Coming>,
    /// What these have left.
    coming_service: SimSpan,
    /// When the last of them ends, and which it is.
    last_end: (SimTime, u64),
    /// Whether something that has arrived since the last walk may have been dropped.
    doubtful: bool,
    /// Segments that have gone on to the host, and those dropped.
    pub(super) passed: u64,
    pub(super) dropped: u64,
    /// Segments that the host sent again, and times that it waited in vain for an acknowledgement.
    pub(super) resent: u64,
    pub(super) timeouts: u64,
    /// Whether the walk goes segment by segment always.
    pub(super) single_steps: bool,
}

/// No train.
const NONE: u32 = u32::MAX;

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
    /// Segments since the last drop, or in all.
    segments: u32,
    /// When all that was queued at the first of the latest drops in a row has left; zero: nothing
    /// was dropped.
    cut: SimTime,
    /// How many segments pass in one stride.
    count: u32,
    /// When the first segment arrives.
    head: SimTime,
    /// Whether a look at the port is planned for the moment when the last segment arrives.
    watched: bool,
    /// Whether the first segment has arrived.
    entered: bool,
}

/// The trains that matter next.
#[derive(Clone, Copy, Debug)]
struct Survey {
    /// Whose segment arrives next.
    front: usize,
    /// Whose last segment arrives first.
    ending: usize,
    /// How many begin before that, from the first.
    count: usize,
}

/// What became of segments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// A segment was dropped, perhaps the last of its train, after so many segments of the train had
    /// passed since the last drop.
    Dropped { train: u32, passed: u32, last: bool },
    /// The last segment of a train has arrived, after so many had passed since the last drop. What
    /// has passed has left by `finish`; where the last segments were dropped, all that was queued
    /// at the first of these drops has, and the last one has come.
    Done { train: u32, passed: u32, finish: SimTime },
}

impl Coming {
    /// A train whose first and last segments arrive at `head` and `tail`.
    #[inline]
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
            segments: run.segments,
            cut: SimTime::ZERO,
            count: 0,
            head,
            watched: false,
            entered: false,
        }
    }

    #[inline]
    fn next(&self) -> (SimTime, u64) {
        (self.next_at, self.sequence)
    }

    #[inline]
    fn end(&self) -> (SimTime, u64) {
        (self.tail, self.sequence)
    }

    /// Service of what is left.
    #[inline]
    fn service(&self, segment: SimSpan) -> SimSpan {
        segment * u64::from(self.left - 1) + self.last
    }

    /// How many of the segments left arrive up to `end` (time and sequence number), in which no
    /// other train's last segment comes later than this one's.
    #[inline]
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

    /// Moves on by so many segments.
    #[inline]
    fn advance(&mut self, count: u32) {
        self.left -= count;
        self.next_at =
            if self.left <= 1 { self.tail } else { self.next_at + self.spacing * u64::from(count) };
    }

    /// Service of the next so many segments.
    #[inline]
    fn part(&self, count: u32, segment: SimSpan) -> SimSpan {
        if count == self.left { self.service(segment) } else { segment * u64::from(count) }
    }

    /// When the last of the next so many segments, one at least, leaves a port that is free at
    /// `free`, if nothing else comes.
    ///
    /// Each but the last takes `segment`, and they come evenly: so the port has no pause after the
    /// first of them, or pauses before each.
    #[inline]
    fn finish_alone(&self, count: u32, free: SimTime, segment: SimSpan) -> SimTime {
        let start = free.max(self.next_at);
        let whole = count == self.left;
        let last = if whole { self.last } else { segment };
        if count == 1 {
            return start + last;
        }
        let full = u64::from(count - 1);
        let steady = start + segment * full;
        let paused = self.next_at + self.spacing * (full - 1) + segment;
        let tail = if whole { self.tail } else { self.next_at + self.spacing * full };
        steady.max(paused).max(tail) + last
    }
}

impl Port {
    /// An idle port with so large a buffer. `places`: of what is missing of it.
    pub(super) fn new(nic: &model::Nic, buffer: Bytes, places: Option<Seed>) -> Self {
        let unlimited = buffer == Bytes(u64::MAX);
        let mut port = Self {
            transmit: Link::new(nic.rate),
            receive: Link::new(nic.rate),
            latency: nic.latency,
            segment: SimSpan::ZERO,
            byte: None,
            room: buffer,
            buffer: SimSpan::MAX,
            places: places.filter(|_| !unlimited),
            coming: VecDeque::new(),
            coming_service: SimSpan::ZERO,
            last_end: (SimTime::ZERO, 0),
            doubtful: false,
            passed: 0,
            dropped: 0,
            resent: 0,
            timeouts: 0,
            single_steps: false,
        };
        port.set_rate(nic.rate, |_| unreachable!("nothing is on its way"));
        port
    }

    /// What is booked on the cable from now on goes at this rate. What came before has been walked; `run`: of the
    /// trains on their way.
    pub(super) fn set_rate(&mut self, rate: Rate, run: impl Fn(u32) -> Run) {
        self.transmit.set_rate(rate);
        self.receive.set_rate(rate);
        self.segment = rate.time_for(Bytes(SEGMENT_WIRE));
        self.byte = Some(rate.time_for(Bytes(1)))
            .filter(|byte| byte.as_ns() * rate.as_bits_per_s() == 8_000_000_000);
        if self.room < Bytes(u64::MAX) {
            self.buffer = rate.time_for(self.room);
        }
        self.coming_service = SimSpan::ZERO;
        for place in 0..self.coming.len() {
            let last = self.last(run(self.coming[place].train));
            self.coming[place].last = last;
            self.coming_service += self.coming[place].service(self.segment);
        }
    }

    /// Time that a run takes on the cable: full segments, and the last.
    #[inline]
    pub(super) fn service(&self, run: Run) -> SimSpan {
        self.segment * u64::from(run.segments - 1) + self.last(run)
    }

    /// Time that the last segment of a run takes on the cable.
    #[inline]
    fn last(&self, run: Run) -> SimSpan {
        let bytes = run.last_wire();
        self.byte.map_or_else(|| self.receive.rate().time_for(Bytes(bytes)), |byte| byte * bytes)
    }

    /// Books a run on the cable to the switch: when its first and last segments are there.
    #[inline]
    pub(super) fn transmit(&mut self, now: SimTime, run: Run) -> (SimTime, SimTime) {
        let busy = self.transmit.book(now, self.service(run));
        let tail = busy.finish + self.latency;
        let head = if run.segments == 1 { tail } else { busy.start + self.segment + self.latency };
        (head, tail)
    }

    /// Whether nothing that is there or on its way could be dropped, or was without its being known.
    #[inline]
    pub(super) fn is_safe(&self, now: SimTime) -> bool {
        !self.doubtful && self.ample(now)
    }

    /// Whether the buffer would hold all that is there, as far as the port was walked, and all that
    /// was on its way then.
    #[inline]
    fn ample(&self, now: SimTime) -> bool {
        self.receive.backlog(now) + self.coming_service + self.most_missing() <= self.buffer
    }

    /// The most that may be missing of the buffer.
    #[inline]
    fn most_missing(&self) -> SimSpan {
        if self.places.is_some() { self.segment } else { SimSpan::ZERO }
    }

    /// What is missing of the buffer for the segment of a train that arrives at `at`.
    pub(super) fn missing(&self, at: SimTime, train: u64) -> SimSpan {
        let Some(places) = self.places else { return SimSpan::ZERO };
        let Seed(bits) = places.child(train).child(at.as_ns());
        let part = (u128::from(bits) * u128::from(self.segment.as_ns())) >> 64;
        SimSpan::from_ns(part as u64)
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

    /// A train is on its way.
    #[inline]
    pub(super) fn announce(&mut self, mut coming: Coming, run: Run) {
        coming.last = self.last(run);
        self.last_end = self.last_end.max(coming.end());
        self.coming_service += coming.service(self.segment);
        let mut place = self.coming.len();
        while place > 0 && self.coming[place - 1].head > coming.head {
            place -= 1;
        }
        self.coming.insert(place, coming);
    }

    /// When the last segment of a train on its way leaves, if nothing is dropped and nothing else is
    /// sent; never too late if the port is safe.
    #[inline]
    pub(super) fn earliest(&self, train: u32) -> SimTime {
        let first = self.coming.front().expect("the train is on its way");
        let of = |coming: &&Coming| coming.train == train;
        let coming = self.coming.iter().rev().find(of).expect("it is on its way");
        let free = self.receive.free_at();
        let finish = coming.finish_alone(coming.left, free, self.segment);
        if self.last_end == coming.end() {
            // all that is on its way arrives, and is served, before its last segment
            return finish.max(free.max(first.head) + self.coming_service);
        }
        finish
    }

    /// Calls `watch` with each train on its way for which no look is planned at the moment when its
    /// last segment arrives, and with that moment.
    pub(super) fn watch_all(&mut self, mut watch: impl FnMut(u32, SimTime)) {
        self.doubtful = true;
        for coming in &mut self.coming {
            if !coming.watched {
                coming.watched = true;
                watch(coming.train, coming.tail);
            }
        }
    }

    /// Finds out what became of a train that is on its way and has arrived by `now`, and of what
    /// arrived before it. Returns when its last segment leaves, if all of it has passed; otherwise
    /// its end is among the outcomes.
    #[inline]
    pub(super) fn conclude(
        &mut self,
        now: SimTime,
        train: u32,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<SimTime> {
        self.receive.settle(now);
        loop {
            let survey = self.survey();
            let end = self.coming[survey.ending].end();
            if self.stride(&survey, end) {
                let (ended, finish) = self.end(survey.ending, train, outcomes);
                if ended == train {
                    return finish;
                }
            } else if self.step(survey.front, |_, _| true, outcomes) == Some(train) {
                return None;
            }
        }
    }

    /// Finds out what became of the segments that arrive by `now`.
    pub(super) fn walk(&mut self, now: SimTime, outcomes: &mut Vec<Outcome>) {
        while !self.coming.is_empty() {
            let survey = self.survey();
            if self.coming[survey.front].next_at > now {
                break;
            }
            let end = self.coming[survey.ending].end().min((now, u64::MAX));
            if !self.stride(&survey, end) {
                self.step(survey.front, |_, _| true, outcomes);
            } else if self.coming[survey.ending].left == 0 {
                self.end(survey.ending, NONE, outcomes);
            }
        }
        self.receive.settle(now);
        self.doubtful &= !self.ample(now);
    }

    /// Looks at the trains that begin before the first one ends.
    #[inline]
    fn survey(&self) -> Survey {
        let mut survey = Survey { front: 0, ending: 0, count: 1 };
        let first = &self.coming[0];
        let (mut next, mut end) = (first.next(), first.end());
        for (index, coming) in self.coming.iter().enumerate().skip(1) {
            if coming.head > end.0 {
                break;
            }
            survey.count = index + 1;
            if coming.next() < next {
                (next, survey.front) = (coming.next(), index);
            }
            if coming.end() < end {
                (end, survey.ending) = (coming.end(), index);
            }
        }
        survey
    }

    /// Lets pass what arrives up to `end`, which is no later than the end of any train, if nothing
    /// of it can be dropped; whether it has.
    #[inline]
    fn stride(&mut self, survey: &Survey, end: (SimTime, u64)) -> bool {
        if self.single_steps {
            return false;
        }
        let segment = self.segment;
        let free = self.receive.free_at();
        let first = &self.coming[survey.front];
        let (start, count) = (free.max(first.next_at), first.arriving(end));
        let mut work = first.part(count, segment);
        let mut finish = first.finish_alone(count, free, segment);
        if survey.count > 1 {
            let (own, steady) = (work, first.spacing <= segment);
            for (index, coming) in self.coming.iter_mut().enumerate().take(survey.count) {
                coming.count = coming.arriving(end);
                if index != survey.front {
                    work += coming.part(coming.count, segment);
                }
            }
            if work > own {
                if !steady {
                    return false;
                }
                // the first one lets the port have no pause
                finish = start + work;
            }
        }
        let held = start - self.coming[survey.front].next_at + work;
        if held + self.most_missing() > self.buffer {
            return false;
        }
        self.receive.serve(start, finish, work);
        self.coming_service -= work;
        self.coming[survey.front].count = count;
        for coming in self.coming.iter_mut().take(survey.count) {
            if coming.count > 0 {
                self.passed += u64::from(coming.count);
                if !coming.entered {
                    coming.entered = true;
                    self.receive.arrive(coming.head);
                }
                coming.advance(coming.count);
            }
        }
        true
    }

    /// The last segment of a train has passed. Returns which train it is, and, if it is the one
    /// that is `wanted` and all of it has passed, when it leaves; otherwise that is an outcome.
    #[inline]
    fn end(
        &mut self,
        index: usize,
        wanted: u32,
        outcomes: &mut Vec<Outcome>,
    ) -> (u32, Option<SimTime>) {
        let finish = self.receive.free_at();
        let ended = self.coming.remove(index).expect("it is on its way");
        let Coming { train, segments: passed, head, cut, .. } = ended;
        self.receive.leave(head, finish);
        if train == wanted && cut == SimTime::ZERO {
            return (train, Some(finish));
        }
        outcomes.push(Outcome::Done { train, passed, finish });
        (train, None)
    }

    /// What arrives next finds room, or is dropped. `room`: whether there is room elsewhere, of which so
    /// many bytes are missing.
    pub(super) fn step_next(
        &mut self,
        room: impl FnOnce(&Self, u64) -> bool,
        outcomes: &mut Vec<Outcome>,
    ) {
        self.step(self.survey().front, room, outcomes);
    }

    /// The next segment of a train finds room, or is dropped; which train that was the last of, if
    /// it was.
    fn step(
        &mut self,
        index: usize,
        room: impl FnOnce(&Self, u64) -> bool,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<u32> {
        let Coming { train, left, next_at, last, segments, head, sequence, .. } =
            self.coming[index];
        let service = if left == 1 { last } else { self.segment };
        let waiting = self.receive.backlog(next_at);
        // where nobody waits, there is a place
        let missing =
            if waiting.is_zero() { SimSpan::ZERO } else { self.missing(next_at, sequence) };
        let fits = waiting + service + missing <= self.buffer && room(self, self.to_bytes(missing));
        self.coming_service -= service;
        if !self.coming[index].entered {
            self.coming[index].entered = true;
            self.receive.arrive(head);
        }
        if fits {
            self.passed += 1;
            let start = next_at + waiting;
            self.receive.serve(start, start + service, service);
            if left == 1 {
                self.end(index, NONE, outcomes);
                return Some(train);
            }
        } else {
            self.dropped += 1;
            let passed = segments - left;
            outcomes.push(Outcome::Dropped { train, passed, last: left == 1 });
            let coming = &mut self.coming[index];
            if passed > 0 || coming.cut == SimTime::ZERO {
                coming.cut = self.receive.free_at();
            }
            coming.segments = left - 1;
            if left == 1 {
                let finish = coming.cut.max(next_at);
                self.coming.remove(index);
                self.receive.leave(head, next_at);
                outcomes.push(Outcome::Done { train, passed: 0, finish });
                return Some(train);
            }
        }
        self.coming[index].advance(1);
        None
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
