//! A port of the switch, with its link: the segments queued there and those on their way to it.
//!
//! The sender's link sends a train without interruption. So a train on its way has a timetable: its segments
//! reach the switch at known times. Therefore a port needs no event for each segment. From time to time it
//! *walks* its timetables up to the present, and finds which of the arrived segments passed and which were
//! dropped. The result is exactly the same as with one event for each segment, in the order of arrival and,
//! at equal times, in the order in which the trains were sent.
//!
//! If nothing can be dropped, the walk goes from the end of one train to the end of the next. Service is first
//! come, first served, so a train's last segment leaves when everything that arrived up to it has been served. A
//! train from a link that is no slower than the port's keeps the port busy from its first segment to its last.
//! If the buffer could overflow, the walk goes segment by segment.
//!
//! **The last place.** In the simulation, links of the same nominal rate have exactly the same rate. A
//! sender whose link feeds a full port at the port's own rate would always get the place of the segment that
//! has just left. Segments from other senders, which arrive in between, would never find a place. Real clocks
//! drift against each other by up to 200 ppm (IEEE 802.3: 100 either way), which is the time of a segment in
//! sixty milliseconds, so senders take turns. To model this, a random part of the buffer, up to one segment,
//! is unavailable to each arriving segment. Floyd & Jacobson, *On Traffic Phase Effects in Packet-Switched
//! Gateways*, 1992, explain why simulations need this.

use std::collections::VecDeque;

use foretell_scenarios::model;
use foretell_units::{Bytes, Rate, Seed, SimSpan, SimTime};

use super::segment::{Run, SEGMENT_WIRE};
use super::uplinks::Passage;
use crate::ledger::{Usage, Violation};
use crate::link::Link;

/// One host's link, and the switch's output queue for it. Amounts of data are expressed as the time that they
/// take on the link to the host.
#[derive(Debug)]
pub(super) struct Port {
    /// The direction from host to switch.
    pub(super) transmit: Link,
    /// The direction from switch to host. Data booked here that have not left are in the buffer. A job is a
    /// train.
    receive: Link,
    pub(super) latency: SimSpan,
    /// Time of a full segment.
    pub(super) segment: SimSpan,
    /// Time of a byte, if that is a whole number of nanoseconds.
    byte: Option<SimSpan>,
    /// Capacity of the buffer: in bytes, and in time.
    room: Bytes,
    buffer: SimSpan,
    /// Seed for the unavailable part of the buffer for each segment; `None`: all of it is always available.
    places: Option<Seed>,
    /// Trains on their way with segments that have not been walked, ordered by the arrival of their first
    /// segment.
    coming: VecDeque<Coming>,
    /// Service time of their remaining segments.
    coming_service: SimSpan,
    /// End time of the last of them, with its sequence number.
    last_end: (SimTime, u64),
    /// Whether a segment that arrived since the last walk may have been dropped.
    doubtful: bool,
    /// Segments that were passed to the host, and those dropped.
    pub(super) passed: u64,
    pub(super) dropped: u64,
    /// Segments that the host retransmitted, and its retransmission timeouts.
    pub(super) resent: u64,
    pub(super) timeouts: u64,
    /// Whether the walk always goes segment by segment.
    pub(super) single_steps: bool,
}

/// Stands for no train.
const NONE: u32 = u32::MAX;

/// The timetable of a train.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    /// The train.
    pub(super) train: u32,
    /// Remaining segments: full ones, except for the last.
    left: u32,
    /// Arrival of the next segment. The following ones come at intervals of `spacing`, the last at `tail`.
    next_at: SimTime,
    spacing: SimSpan,
    tail: SimTime,
    /// Trains are numbered in the order in which they were sent.
    sequence: u64,
    /// Service time of the last segment here.
    last: SimSpan,
    /// Number of segments since the last drop, or in total without a drop.
    segments: u32,
    /// When everything queued at the first of the latest consecutive drops has left; zero: nothing was dropped.
    cut: SimTime,
    /// Number of segments that pass in the current stride.
    count: u32,
    /// Arrival of the first segment.
    head: SimTime,
    /// Whether an examination of the port is planned for the arrival of the last segment.
    watched: bool,
    /// Whether the first segment has arrived.
    entered: bool,
}

/// The trains to examine next.
#[derive(Clone, Copy, Debug)]
struct Survey {
    /// The train whose segment arrives next.
    front: usize,
    /// The train whose last segment arrives first.
    ending: usize,
    /// Number of trains, from the first, that begin before that.
    count: usize,
}

/// The outcome for segments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    /// A segment was dropped, perhaps the last of its train. `passed`: segments of the train that had passed
    /// since the previous drop.
    Dropped { train: u32, passed: u32, last: bool },
    /// The last segment of a train has arrived. `passed`: segments that had passed since the last drop. The
    /// segments that passed have left by `finish`. If the last segments were dropped, `finish` is when everything
    /// queued at the first of these drops has left and the last segment has arrived.
    Done { train: u32, passed: u32, finish: SimTime },
}

impl Coming {
    /// A train that arrives in `passage`.
    #[inline]
    pub(super) fn new(train: u32, sequence: u64, run: Run, passage: Passage) -> Self {
        let Passage { head, tail, spacing } = passage;
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

    /// Service time of the remaining segments.
    #[inline]
    fn service(&self, segment: SimSpan) -> SimSpan {
        segment * u64::from(self.left - 1) + self.last
    }

    /// How many of the remaining segments arrive up to `end` (time and sequence number). No other train's last
    /// segment may come before this one's within that time.
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
        // the last one comes after `end`
        count.min(u64::from(self.left) - 1) as u32
    }

    /// Advances by `count` segments.
    #[inline]
    fn advance(&mut self, count: u32) {
        self.left -= count;
        self.next_at =
            if self.left <= 1 { self.tail } else { self.next_at + self.spacing * u64::from(count) };
    }

    /// Service time of the next `count` segments.
    #[inline]
    fn part(&self, count: u32, segment: SimSpan) -> SimSpan {
        if count == self.left { self.service(segment) } else { segment * u64::from(count) }
    }

    /// When the last of the next `count` segments, at least one, leaves a port that is free at `free`, if nothing
    /// else comes.
    ///
    /// Each but the last takes `segment`, and they arrive evenly. So the port is either busy continuously after
    /// the first of them, or pauses before each.
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
    /// An idle port with a buffer of size `buffer`. `places`: seed for the unavailable part of the buffer.
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

    /// Sets the rate of the link for later bookings. Earlier arrivals have been walked; `run`: the segments of
    /// each train on its way.
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

    /// Time that a run takes on the link: full segments, and the last one.
    #[inline]
    pub(super) fn service(&self, run: Run) -> SimSpan {
        self.segment * u64::from(run.segments - 1) + self.last(run)
    }

    /// Time that the last segment of a run takes on the link.
    #[inline]
    fn last(&self, run: Run) -> SimSpan {
        let bytes = run.last_wire();
        self.byte.map_or_else(|| self.receive.rate().time_for(Bytes(bytes)), |byte| byte * bytes)
    }

    /// Books a run on the link to the switch. Returns when its first and last segments are there.
    #[inline]
    pub(super) fn transmit(&mut self, now: SimTime, run: Run) -> (SimTime, SimTime) {
        let busy = self.transmit.book(now, self.service(run));
        let tail = busy.finish + self.latency;
        let head = if run.segments == 1 { tail } else { busy.start + self.segment + self.latency };
        (head, tail)
    }

    /// Whether no segment that is here or on its way could be dropped, or has been dropped unnoticed.
    #[inline]
    pub(super) fn is_safe(&self, now: SimTime) -> bool {
        !self.doubtful && self.ample(now)
    }

    /// Whether the buffer can hold everything that is here, as far as the port was walked, and everything that
    /// was on its way then.
    #[inline]
    fn ample(&self, now: SimTime) -> bool {
        self.receive.backlog(now) + self.coming_service + self.most_missing() <= self.buffer
    }

    /// The largest part of the buffer that may be unavailable.
    #[inline]
    fn most_missing(&self) -> SimSpan {
        if self.places.is_some() { self.segment } else { SimSpan::ZERO }
    }

    /// The unavailable part of the buffer for the segment of a train that arrives at `at`.
    pub(super) fn missing(&self, at: SimTime, train: u64) -> SimSpan {
        let Some(places) = self.places else { return SimSpan::ZERO };
        let Seed(bits) = places.child(train).child(at.as_ns());
        let part = (u128::from(bits) * u128::from(self.segment.as_ns())) >> 64;
        SimSpan::from_ns(part as u64)
    }

    /// Whether no segment is here or on its way.
    pub(super) fn quiet(&self, now: SimTime) -> bool {
        self.coming.is_empty() && self.receive.backlog(now).is_zero()
    }

    /// Arrival of the next segment.
    pub(super) fn next(&self) -> Option<(SimTime, u64)> {
        self.coming.iter().map(Coming::next).min()
    }

    /// Arrival of the next segment of a train.
    pub(super) fn next_of(&self, train: u32) -> Option<SimTime> {
        self.coming.iter().find(|coming| coming.train == train).map(|coming| coming.next_at)
    }

    /// Records a train that is on its way.
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

    /// When the last segment of a train on its way leaves, if nothing is dropped and nothing else is sent. It is
    /// never too late if the port is safe.
    #[inline]
    pub(super) fn earliest(&self, train: u32) -> SimTime {
        let first = self.coming.front().expect("the train is on its way");
        let of = |coming: &&Coming| coming.train == train;
        let coming = self.coming.iter().rev().find(of).expect("it is on its way");
        let free = self.receive.free_at();
        let finish = coming.finish_alone(coming.left, free, self.segment);
        if self.last_end == coming.end() {
            // everything on its way arrives, and is served, before the train's last segment
            return finish.max(free.max(first.head) + self.coming_service);
        }
        finish
    }

    /// Calls `watch` with each train on its way for which no examination is planned at the arrival of its last
    /// segment, and with the time of that arrival.
    pub(super) fn watch_all(&mut self, mut watch: impl FnMut(u32, SimTime)) {
        self.doubtful = true;
        for coming in &mut self.coming {
            if !coming.watched {
                coming.watched = true;
                watch(coming.train, coming.tail);
            }
        }
    }

    /// Finds the outcome of a train that is on its way and has arrived by `now`, and of everything that arrived
    /// before it. Returns when its last segment leaves, if all of it has passed; otherwise its end is among the
    /// outcomes.
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

    /// Finds the outcome of the segments that arrive by `now`.
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

    /// Examines the trains that begin before the first one ends.
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

    /// Passes all segments that arrive up to `end`, which is no later than the end of any train, if none can be
    /// dropped. Returns whether it has.
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
                // the first train keeps the port busy
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

    /// The last segment of a train has passed. Returns the train and, if it is `wanted` and all of it has passed,
    /// when it leaves; otherwise its end is added to the outcomes.
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

    /// The next segment to arrive is queued or dropped. `room`: whether the shared memory has room for it, given
    /// the number of unavailable bytes.
    pub(super) fn step_next(
        &mut self,
        room: impl FnOnce(&Self, u64) -> bool,
        outcomes: &mut Vec<Outcome>,
    ) {
        self.step(self.survey().front, room, outcomes);
    }

    /// The next segment of a train is queued or dropped. Returns the train if the segment was its last.
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
        // if nothing waits, there is a place
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

    /// Bytes in the buffer, and bytes on their way.
    pub(super) fn bytes(&self, now: SimTime) -> (u64, u64) {
        (self.to_bytes(self.receive.backlog(now)), self.to_bytes(self.coming_service))
    }

    /// Bytes that take `service` on the link.
    fn to_bytes(&self, service: SimSpan) -> u64 {
        let bits_by_s = u128::from(self.receive.rate().as_bits_per_s());
        (u128::from(service.as_ns()) * bits_by_s / 8_000_000_000) as u64
    }

    /// Number of segments on their way.
    pub(super) fn segments_coming(&self) -> u64 {
        self.coming.iter().map(|coming| u64::from(coming.left)).sum()
    }

    /// Measuring begins.
    pub(super) fn mark(&mut self, now: SimTime) {
        self.transmit.mark(now);
        self.receive.mark(now);
    }

    /// Usage of the link since the mark: (host to switch, switch to host).
    pub(super) fn usage(&mut self, now: SimTime) -> (Usage, Usage) {
        (self.transmit.usage(now), self.receive.usage(now))
    }

    /// Whether the operational laws hold on the link.
    pub(super) fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.transmit.audit(now)?;
        let entered = self.coming.iter().filter(|coming| coming.entered);
        self.receive.audit_with(now, entered.map(|coming| coming.head))
    }
}
