//! Linux's CFQ: every thread's reads have the disk for a slice of time, in turn.
//!
//! After `block/cfq-iosched.c` as of Linux 2.6.3x, with its defaults and threads of equal, usual
//! priority: each thread has a queue for its reads; writes, being written back by nobody in
//! particular, share one. The queue whose turn it is serves up to 8 requests at a time for 100 ms,
//! counted from its first completion (writes: 40 ms, 16 requests); when it runs empty before, the
//! disk idles up to 8 ms for the thread's next operation (2 ms for one that seeks; not at all for
//! one whose thinking takes longer, or one that seeks on a disk with a queue of its own). A slice
//! begins with the oldest request if that has waited 125 ms (a write 250 ms); then the next by
//! address is taken, where distances backwards count double and those beyond 16 MiB are not gone.
//! What is left of a slice shortens the wait for the next one. A read takes the disk from writes.
//!
//! Left out: classes and priorities, groups, synchronous writes, cooperating threads whose queues
//! are joined, the separate trees of later kernels for threads that are not idled for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use foretell_units::{Op, Sectors, SimSpan, SimTime};

use super::pool::{Merging, Number, Pool};
use super::{Choice, Request, Scheduler};
use crate::disk::Io;

const QUANTUM: u32 = 8;
const SLICE_READS: SimSpan = SimSpan::from_ms(100);
const SLICE_WRITES: SimSpan = SimSpan::from_ms(40);
/// `slice_async_rq` = 2 at the usual priority: 2 × (2 + 2 × 3).
const MOST_WRITES: u32 = 16;
const IDLE: SimSpan = SimSpan::from_ms(8);
const IDLE_SEEKY: SimSpan = SimSpan::from_ms(2);
const EXPIRY_READS: SimSpan = SimSpan::from_ms(125);
const EXPIRY_WRITES: SimSpan = SimSpan::from_ms(250);
const BACK_SEEK_MAX: u64 = 16 * 1024 * 2;
const BACK_SEEK_PENALTY: u64 = 2;
/// A jump of more sectors is a seek.
const SEEK: u64 = 800;
/// The slice of the highest priority, from which a turn's place in the round is measured.
const SLICE_BEST: SimSpan = SimSpan::from_ms(180);

/// Whose queue: a thread's reads, or all writes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Reads(u32),
    Writes,
}

impl Owner {
    fn of<T>(io: &Io<T>) -> Self {
        match io.op {
            Op::Read => Self::Reads(io.thread),
            Op::Write => Self::Writes,
        }
    }

    /// How long its turn lasts.
    fn slice(self) -> SimSpan {
        match self {
            Self::Reads(_) => SLICE_READS,
            Self::Writes => SLICE_WRITES,
        }
    }
}

#[derive(Debug)]
struct Queue<T> {
    waiting: Pool<T>,
    in_flight: u32,
    /// Its place in the round while it waits for its turn.
    turn: Option<(SimTime, u64)>,
    /// What was left of its last slice (negative: what was used beyond it), nanoseconds.
    left_ns: i64,
    habits: Habits,
}

/// What is known of how a thread issues operations.
#[derive(Clone, Copy, Debug)]
struct Habits {
    /// Weighted as the kernel does it: each sample counts 1/8 of all.
    think_samples: u64,
    think_total_ns: u64,
    think_mean: SimSpan,
    /// The last 32 operations, one bit each: whether it was a seek.
    seeks: u32,
    /// Where its last operation ended.
    place: Option<Sectors>,
    /// When its last request was done.
    done: Option<SimTime>,
}

impl Habits {
    const NEW: Self = Self {
        think_samples: 0,
        think_total_ns: 0,
        think_mean: SimSpan::ZERO,
        seeks: 0,
        place: None,
        done: None,
    };

    fn observe<T>(&mut self, now: SimTime, io: &Io<T>) {
        if let Some(done) = self.done {
            let think = now.saturating_since(done).min(IDLE * 2);
            self.think_samples = (7 * self.think_samples + 256) / 8;
            self.think_total_ns = (7 * self.think_total_ns + 256 * think.as_ns()) / 8;
            self.think_mean =
                SimSpan::from_ns((self.think_total_ns + 128) / self.think_samples.max(1));
        }
        if let Some(place) = self.place {
            let jump = place.get().abs_diff(io.lbn.get()) > SEEK;
            self.seeks = self.seeks << 1 | u32::from(jump);
        }
        self.place = Some(io.lbn + io.sectors);
    }

    /// More than an eighth of its operations are seeks.
    fn seeky(&self) -> bool {
        self.seeks.count_ones() > 32 / 8
    }

    /// Whether its thinking is known well enough to be counted on.
    fn known(&self) -> bool {
        self.think_samples > 80
    }

    /// How long it is worth waiting for its next operation.
    fn idle(&self, disk_queues: bool) -> SimSpan {
        if (self.known() && self.think_mean > IDLE) || (self.seeky() && disk_queues) {
            SimSpan::ZERO
        } else if self.seeky() {
            IDLE_SEEKY
        } else {
            IDLE
        }
    }
}

/// The queue whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Turn {
    owner: Owner,
    /// When the slice is over; it begins with the first completion.
    end: Option<SimTime>,
    taken: u32,
    /// Until when the disk idles for it.
    idle: Option<SimTime>,
}

#[derive(Debug)]
pub(super) struct Cfq<T> {
    queues: BTreeMap<Owner, Queue<T>>,
    /// Queues that wait for their turn, by their places in the round.
    round: BTreeSet<((SimTime, u64), Owner)>,
    sequence: u64,
    turn: Option<Turn>,
    disk_queues: bool,
}

impl<T: Copy> Cfq<T> {
    /// `disk_queues`: whether the disk holds several commands at once.
    pub(super) fn new(disk_queues: bool) -> Self {
        Self {
            queues: BTreeMap::new(),
            round: BTreeSet::new(),
            sequence: 0,
            turn: None,
            disk_queues,
        }
    }

    /// Gives a queue its place in the round: behind those that wait, by what it is due.
    fn line_up(&mut self, now: SimTime, owner: Owner, at_once: bool) {
        let slice = owner.slice();
        let others = self.round.len() as u64 + u64::from(self.turn.is_some());
        let queue = self.queues.get_mut(&owner).expect("it has a queue");
        let due = now + (SLICE_BEST - slice) * others;
        let due = due.as_ns().saturating_add_signed(-queue.left_ns);
        let due = if at_once { SimTime::ZERO } else { SimTime::from_ns(due) };
        queue.left_ns = 0;
        self.sequence += 1;
        queue.turn = Some((due, self.sequence));
        self.round.insert(((due, self.sequence), owner));
    }

    /// Ends the present turn; what is left of it counts for the next unless the queue gave it up.
    fn expire(&mut self, now: SimTime, gave_up: bool) {
        let Some(turn) = self.turn.take() else { return };
        let queue = self.queues.get_mut(&turn.owner).expect("it has a queue");
        if !gave_up {
            let end = turn.end.unwrap_or(now + turn.owner.slice());
            queue.left_ns = end.as_ns().cast_signed() - now.as_ns().cast_signed();
        }
        if !queue.waiting.is_empty() {
            self.line_up(now, turn.owner, false);
        }
    }

    /// Whether the turn goes on, and what comes of it: `None` if it is over.
    fn go_on(&mut self, now: SimTime, head: Sectors) -> Option<Choice<T>> {
        let turn = self.turn.as_mut()?;
        let queue = self.queues.get_mut(&turn.owner).expect("it has a queue");
        if turn.end.is_some_and(|end| now >= end) {
            return None;
        }
        if queue.waiting.is_empty() {
            return match turn.idle {
                Some(until) if until > now => Some(Choice::Wait(until)),
                // its completion will decide
                None if queue.in_flight > 0 && matches!(turn.owner, Owner::Reads(_)) => {
                    Some(Choice::Nothing)
                }
                _ => None,
            };
        }
        if queue.in_flight >= QUANTUM && !self.round.is_empty() {
            return Some(Choice::Nothing);
        }
        let (expiry, most) = match turn.owner {
            Owner::Reads(_) => (EXPIRY_READS, u32::MAX),
            Owner::Writes => (EXPIRY_WRITES, MOST_WRITES),
        };
        if turn.taken >= most {
            return None;
        }
        let expired = queue.waiting.oldest().filter(|(_, arrived)| {
            turn.taken == 0 && *arrived + expiry <= now
        });
        let number = match expired {
            Some((number, _)) => number,
            None => nearest(&queue.waiting, head)?,
        };
        turn.taken += 1;
        turn.idle = None;
        queue.in_flight += 1;
        queue.waiting.take(number).map(Choice::Serve)
    }
}

/// The next request by address: upwards, or backwards if that is less than half as far.
fn nearest<T: Copy>(waiting: &Pool<T>, head: Sectors) -> Option<Number> {
    let upwards = waiting.above(head).map(|(number, lbn)| (lbn.get() - head.get(), number));
    let back = |(number, lbn): (Number, Sectors)| {
        let distance = head.get() - lbn.get();
        (distance <= BACK_SEEK_MAX).then_some((distance * BACK_SEEK_PENALTY, number))
    };
    let backwards = waiting.below(head).and_then(back);
    match (upwards, backwards) {
        (Some(up), Some(down)) if down.0 < up.0 => Some(down.1),
        (Some(up), _) => Some(up.1),
        (None, Some(down)) => Some(down.1),
        // all lie far behind: from the lowest again
        (None, None) => waiting.lowest().map(|(number, _)| number),
    }
}

impl<T: Copy + Debug + Send> Scheduler<T> for Cfq<T> {
    fn add(&mut self, now: SimTime, io: Io<T>) {
        let owner = Owner::of(&io);
        let queue = self.queues.entry(owner).or_insert_with(|| Queue {
            waiting: Pool::new(Merging::BackAndFront),
            in_flight: 0,
            turn: None,
            left_ns: 0,
            habits: Habits::NEW,
        });
        queue.habits.observe(now, &io);
        queue.waiting.add(now, io);
        if self.turn.is_some_and(|turn| turn.owner == owner) {
            return;
        }
        let preempts = io.op == Op::Read
            && self.turn.is_some_and(|turn| turn.owner == Owner::Writes);
        if preempts {
            self.expire(now, false);
        }
        match self.queues[&owner].turn {
            None => self.line_up(now, owner, preempts),
            Some(place) if preempts => {
                self.round.remove(&(place, owner));
                self.line_up(now, owner, true);
            }
            Some(_) => {}
        }
    }

    fn next(&mut self, now: SimTime, head: Sectors) -> Choice<T> {
        loop {
            if let Some(choice) = self.go_on(now, head) {
                return choice;
            }
            let over = self.turn.is_some_and(|turn| turn.end.is_some_and(|end| now >= end));
            self.expire(now, !over);
            let Some((_, owner)) = self.round.pop_first() else { return Choice::Nothing };
            let queue = self.queues.get_mut(&owner).expect("it has a queue");
            queue.turn = None;
            self.turn = Some(Turn { owner, end: None, taken: 0, idle: None });
        }
    }

    fn served(&mut self, now: SimTime, request: &Request<T>) {
        let owner = Owner::of(&request.first);
        let queue = self.queues.get_mut(&owner).expect("it has a queue");
        queue.in_flight -= 1;
        queue.habits.done = Some(now);
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.owner == owner) else { return };
        let end = *turn.end.get_or_insert(now + owner.slice());
        if request.op == Op::Read && queue.waiting.is_empty() && queue.in_flight == 0 && now < end {
            let idle = queue.habits.idle(self.disk_queues);
            // not if it would think for longer than its slice lasts
            let worth = !queue.habits.known() || queue.habits.think_mean <= end - now;
            turn.idle = Some(now + if worth { idle } else { SimSpan::ZERO });
        }
    }

    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_> {
        Box::new(self.queues.values().flat_map(|queue| queue.waiting.arrivals()))
    }
}
