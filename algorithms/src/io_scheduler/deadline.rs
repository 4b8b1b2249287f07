//! Linux's deadline scheduler: ascending by address in batches of one direction, with bounded waiting.
//!
//! After Documentation/block/deadline-iosched.txt, with its defaults, and
//! `deadline_dispatch_requests` (Linux 2.6 to 4.x). A batch is up to 16 requests of one direction,
//! ascending by address: each is followed by the request that was next when it was taken. A new
//! batch is of reads unless writes have been skipped twice. It continues where the last batch ended
//! if that had the same direction and the oldest request has not expired (a read after 500 ms, a
//! write after 5 s). Otherwise it begins with the oldest.

use std::fmt::Debug;

use foretell_units::{Op, Sectors, SimSpan, SimTime};

use super::Io;
use super::pool::{Merging, Number, Pool};
use super::{Choice, Scheduler};

/// `read_expire`, `write_expire`.
pub(super) const EXPIRY: [SimSpan; 2] = [SimSpan::from_ms(500), SimSpan::from_secs(5)];
/// `fifo_batch`.
pub(super) const BATCH: u32 = 16;
/// `writes_starved`.
pub(super) const WRITES_STARVED: u32 = 2;

#[derive(Debug)]
pub(super) struct Deadline<T> {
    /// Reads, writes.
    waiting: [Pool<T>; 2],
    /// The next request by address after the last one, determined when that was taken.
    next: Option<(Op, Number)>,
    /// Number of requests in this batch.
    batch: u32,
    /// Number of times that writes have been skipped.
    starved: u32,
}

impl<T: Copy> Deadline<T> {
    pub(super) fn new() -> Self {
        Self {
            waiting: [Pool::new(Merging::BackAndFront), Pool::new(Merging::BackAndFront)],
            next: None,
            batch: 0,
            starved: 0,
        }
    }

    /// The direction of a new batch.
    fn direction(&mut self) -> Option<Op> {
        let waits = |op: Op| !self.waiting[op as usize].is_empty();
        match (waits(Op::Read), waits(Op::Write)) {
            (false, false) => None,
            (true, false) => Some(Op::Read),
            (true, true) if self.starved < WRITES_STARVED => {
                self.starved += 1;
                Some(Op::Read)
            }
            (_, true) => {
                self.starved = 0;
                Some(Op::Write)
            }
        }
    }

    fn choose(&mut self, now: SimTime) -> Option<(Op, Number)> {
        if let Some(next) = self.next
            && self.batch < BATCH
        {
            return Some(next);
        }
        self.batch = 0;
        let op = self.direction()?;
        let (oldest, arrived) = self.waiting[op as usize].oldest()?;
        let expired = arrived + EXPIRY[op as usize] <= now;
        match self.next {
            Some((same, next)) if same == op && !expired => Some((op, next)),
            _ => Some((op, oldest)),
        }
    }
}

impl<T: Copy + Debug + Send> Scheduler<T> for Deadline<T> {
    fn add(&mut self, now: SimTime, io: Io<T>) {
        self.waiting[io.op as usize].add(now, io);
    }

    fn next(&mut self, now: SimTime, _head: Sectors) -> Choice<T> {
        let Some((op, number)) = self.choose(now) else { return Choice::Nothing };
        let waiting = &mut self.waiting[op as usize];
        let request = waiting.take(number);
        self.batch += 1;
        self.next = waiting.after(number, request.lbn).map(|next| (op, next));
        Choice::Serve(request)
    }

    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_> {
        Box::new(self.waiting.iter().flat_map(Pool::arrivals))
    }
}
