//! Linux's CFQ: the reads of each thread have the disk for a time slice, in turn.
//!
//! After `block/cfq-iosched.c` of Linux 2.6.32 (with the seek history of 2.6.33) and its defaults,
//! for threads of equal, default priority:
//!
//! - each thread has a queue for its reads; writes, which are written back on behalf of no thread,
//!   share one queue; operations are merged within a queue;
//! - the active queue has the disk for 100 ms (writes: 40 ms or 16 requests), counted from its
//!   first completion, with up to 8 requests in the drive (any number if no other queue waits);
//! - if it runs empty before that, the disk is kept idle for the thread's next read: up to 8 ms, 2
//!   ms for a thread that seeks. It is not kept idle for a thread that seeks on a drive that holds
//!   several commands, for one with a longer think time, or if the drive holds requests;
//! - a slice begins with the oldest request if that has waited 125 ms (a write 250 ms). Otherwise,
//!   and after that, the next by address is taken, where backward distances count double and those
//!   beyond 16 MiB are used only if nothing lies ahead;
//! - a queue that gets requests joins the round behind the others. Its due time is 80 ms (writes
//!   140) from now for each of them, less the unused part of its last slice (or more if it
//!   overran), unless that slice ended for lack of requests;
//! - a read preempts the turn of writes; writes wait while reads are in the drive, and a thread for
//!   which the disk would idle waits while writes are in the drive.
//!
//! With direct I/O ([`Writes::Synchronous`]) a thread waits for its writes as for its reads, and
//! both are in its queue.
//!
//! Left out: classes and priorities, groups, a mix of synchronous and other writes, joined queues
//! of cooperating threads, and the separate trees (with their depth limits) of later kernels for
//! threads without idling.

mod habits;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use foretell_units::{Op, Sectors, SimSpan, SimTime};

use super::pool::{Merging, Number, Pool};
use super::{Choice, Request, Scheduler, Writes};
use crate::io_scheduler::Io;
use habits::Habits;

/// `quantum`.
const QUANTUM: u32 = 8;
/// `slice_sync`.
const SLICE_SYNC: SimSpan = SimSpan::from_ms(100);
/// `slice_async`.
const SLICE_ASYNC: SimSpan = SimSpan::from_ms(40);
/// `slice_async_rq` = 2 at the usual priority: 2 × (2 + 2 × 3).
const MAX_WRITES: u32 = 16;
/// `slice_idle`.
const IDLE: SimSpan = SimSpan::from_ms(8);
/// `fifo_expire_sync`, `fifo_expire_async`.
const EXPIRY: [SimSpan; 2] = [SimSpan::from_ms(125), SimSpan::from_ms(250)];
/// `back_seek_max`: 16 MiB, in sectors.
const BACK_SEEK_MAX: u64 = 16 * 1024 * 2;
/// `back_seek_penalty`.
const BACK_SEEK_PENALTY: u64 = 2;
/// The slice of the highest priority, from which a queue's due time in the round is computed.
const SLICE_BEST: SimSpan = SimSpan::from_ms(180);

/// The owner of a queue: a thread (for its reads, and its writes if they are synchronous), or all
/// writes that no thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Owner {
    Thread(u64),
    Writes,
}

impl Owner {
    /// The owner of operation `io`, given the kind of writes.
    fn of<T>(io: &Io<T>, writes: Writes) -> Self {
        match (io.op, writes) {
            (Op::Read, _) | (Op::Write, Writes::Synchronous) => Self::Thread(io.thread),
            (Op::Write, Writes::Background) => Self::Writes,
        }
    }

    /// Index of the owner's kind.
    fn kind(self) -> usize {
        match self {
            Self::Thread(_) => SYNC,
            Self::Writes => ASYNC,
        }
    }

    /// Length of its slice.
    fn slice(self) -> SimSpan {
        match self {
            Self::Thread(_) => SLICE_SYNC,
            Self::Writes => SLICE_ASYNC,
        }
    }
}

/// Indices of operations that threads wait for, and of those that none waits for.
const SYNC: usize = 0;
const ASYNC: usize = 1;

/// A position in the round; the lowest is next. First the due time of a queue, ns (it may be negative if much
/// of its slice was left); the second number distinguishes equal times.
type Place = (i64, u64);

#[derive(Debug)]
struct Queue<T> {
    waiting: Pool<T>,
    /// Requests in the drive.
    in_drive: u32,
    /// Its position while it waits for its turn.
    place: Option<Place>,
    /// Unused part of its last slice, ns (negative if it overran).
    left_ns: i64,
    habits: Habits,
}

/// The active queue.
#[derive(Clone, Copy, Debug)]
struct Turn {
    owner: Owner,
    /// End of the slice; known from the first completion on.
    end: Option<SimTime>,
    taken: u32,
    /// Until when the disk idles for it.
    idle: Option<SimTime>,
}

#[derive(Debug)]
pub(super) struct Cfq<T> {
    queues: BTreeMap<Owner, Queue<T>>,
    round: BTreeSet<(Place, Owner)>,
    lined_up: u64,
    turn: Option<Turn>,
    /// Requests in the drive: those that threads wait for, and writes that none waits for.
    in_drive: [u32; 2],
    disk_queues: bool,
    writes: Writes,
}

impl<T: Copy> Cfq<T> {
    /// `disk_queues`: whether the disk holds several commands at once.
    pub(super) fn new(disk_queues: bool, writes: Writes) -> Self {
        Self {
            queues: BTreeMap::new(),
            round: BTreeSet::new(),
            lined_up: 0,
            turn: None,
            in_drive: [0; 2],
            disk_queues,
            writes,
        }
    }

    fn queue(&mut self, owner: Owner) -> &mut Queue<T> {
        self.queues.get_mut(&owner).expect("an owner has a queue from its first operation on")
    }

    /// Gives a queue its position in the round: by its due time, or before all others.
    fn line_up(&mut self, now: SimTime, owner: Owner, before_all: bool) {
        let others = self.round.len() as u64 + u64::from(self.turn.is_some());
        self.lined_up += 1;
        let number = self.lined_up;
        let queue = self.queue(owner);
        let due = if before_all {
            i64::MIN
        } else {
            let due = now + (SLICE_BEST - owner.slice()) * others;
            due.as_ns().cast_signed() - std::mem::take(&mut queue.left_ns)
        };
        let place = (due, number);
        let before = queue.place.replace(place);
        if let Some(before) = before {
            self.round.remove(&(before, owner));
        }
        self.round.insert((place, owner));
    }

    /// Ends the turn. The rest of the slice is kept for the next one, unless the queue gave it up.
    fn end_turn(&mut self, now: SimTime, gave_up: bool) {
        let Some(turn) = self.turn.take() else { return };
        let queue = self.queue(turn.owner);
        if let Some(end) = turn.end
            && !gave_up
        {
            queue.left_ns = end.as_ns().cast_signed() - now.as_ns().cast_signed();
        }
        if !queue.waiting.is_empty() {
            self.line_up(now, turn.owner, false);
        }
    }

    /// The choice of the active queue; `None` if its turn is over.
    fn go_on(&mut self, now: SimTime, head: Sectors) -> Option<Choice<T>> {
        let alone = self.round.is_empty();
        let (disk_queues, in_drive) = (self.disk_queues, self.in_drive);
        let turn = self.turn.as_mut()?;
        let queue = self.queues.get_mut(&turn.owner).expect("it has a queue");
        let kind = turn.owner.kind();
        if turn.end.is_some_and(|end| now >= end) {
            return None;
        }
        let idle = if kind == SYNC { queue.habits.idle(disk_queues) } else { SimSpan::ZERO };
        if queue.waiting.is_empty() {
            return match turn.idle {
                // a newly arriving operation asks again
                _ if alone => Some(Choice::Nothing),
                Some(until) if until > now => Some(Choice::Wait(until)),
                None if queue.in_drive > 0 && !idle.is_zero() => Some(Choice::Nothing),
                _ => None,
            };
        }
        if kind == ASYNC && turn.taken >= MAX_WRITES && !alone {
            return None;
        }
        let others_drain =
            if kind == SYNC { in_drive[ASYNC] > 0 && !idle.is_zero() } else { in_drive[SYNC] > 0 };
        if others_drain || (queue.in_drive >= QUANTUM && !alone) {
            return Some(Choice::Nothing);
        }
        let oldest = queue.waiting.oldest().filter(|_| turn.taken == 0);
        let number = match oldest {
            Some((oldest, arrived)) if arrived + EXPIRY[kind] <= now => oldest,
            _ => nearest(&queue.waiting, head)?,
        };
        turn.taken += 1;
        turn.idle = None;
        queue.in_drive += 1;
        self.in_drive[kind] += 1;
        Some(Choice::Serve(queue.waiting.take(number)))
    }
}

/// The next request by address: upwards, or backwards if that is less than half as far away.
fn nearest<T: Copy>(waiting: &Pool<T>, head: Sectors) -> Option<Number> {
    let upwards = waiting.above(head).map(|(number, lbn)| (lbn.get() - head.get(), number));
    let backwards = waiting.below(head).and_then(|(number, lbn)| {
        let distance = head.get() - lbn.get();
        (distance <= BACK_SEEK_MAX).then_some((distance * BACK_SEEK_PENALTY, number))
    });
    match (upwards, backwards) {
        (Some((up, _)), Some((down, number))) if down < up => Some(number),
        (Some((_, number)), _) | (None, Some((_, number))) => Some(number),
        // all are far behind: start again from the lowest
        (None, None) => waiting.lowest(),
    }
}

impl<T: Copy + Debug + Send> Scheduler<T> for Cfq<T> {
    fn add(&mut self, now: SimTime, io: Io<T>) {
        let owner = Owner::of(&io, self.writes);
        let queue = self.queues.entry(owner).or_insert_with(|| Queue {
            waiting: Pool::new(Merging::BackAndFront),
            in_drive: 0,
            place: None,
            left_ns: 0,
            habits: Habits::default(),
        });
        let merged = queue.waiting.add(now, io);
        queue.habits.issues(now, &io, merged);
        let lined_up = queue.place.is_some();
        match self.turn {
            Some(turn) if turn.owner == owner => {}
            Some(Turn { owner: Owner::Writes, .. }) => {
                self.end_turn(now, false);
                self.line_up(now, owner, true);
            }
            _ if !lined_up => self.line_up(now, owner, false),
            _ => {}
        }
    }

    fn next(&mut self, now: SimTime, head: Sectors) -> Choice<T> {
        loop {
            if let Some(choice) = self.go_on(now, head) {
                return choice;
            }
            let over = self.turn.is_some_and(|turn| turn.end.is_some_and(|end| now >= end));
            self.end_turn(now, !over);
            let Some((_, owner)) = self.round.pop_first() else { return Choice::Nothing };
            self.queue(owner).place = None;
            self.turn = Some(Turn { owner, end: None, taken: 0, idle: None });
        }
    }

    fn served(&mut self, now: SimTime, request: &Request<T>) {
        let owner = Owner::of(&request.first, self.writes);
        self.in_drive[owner.kind()] -= 1;
        let (disk_queues, drive_is_empty) = (self.disk_queues, self.in_drive == [0; 2]);
        let queue = self.queues.get_mut(&owner).expect("it has a queue");
        queue.in_drive -= 1;
        queue.habits.done(now);
        let Some(turn) = self.turn.as_mut().filter(|turn| turn.owner == owner) else { return };
        let end = *turn.end.get_or_insert(now + owner.slice());
        if queue.waiting.is_empty() && queue.in_drive == 0 {
            // not if its think time exceeds the rest of its slice
            let worth = drive_is_empty
                && owner.kind() == SYNC
                && queue.habits.think().is_none_or(|think| now + think <= end);
            let idle = if worth { queue.habits.idle(disk_queues) } else { SimSpan::ZERO };
            turn.idle = Some(now + idle);
        }
    }

    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_> {
        Box::new(self.queues.values().flat_map(|queue| queue.waiting.arrivals()))
    }
}
