//! Linux's deadline: upwards by address in batches of one direction, but nobody waits too long.
//!
//! After Documentation/block/deadline-iosched.txt and its defaults: a read expires after 500 ms, a
//! write after 5 s; a batch is up to 16 requests upwards from where the last one of that direction
//! was; a new batch is of reads unless writes have been passed over twice; it begins with the oldest
//! request of its direction if that has expired, or if there is none further up.

use std::fmt::Debug;

use foretell_units::{Op, Sectors, SimSpan, SimTime};

use super::pool::{Merging, Pool};
use super::{Choice, Scheduler};
use crate::disk::Io;

const EXPIRY: [SimSpan; 2] = [SimSpan::from_ms(500), SimSpan::from_secs(5)];
const BATCH: u32 = 16;
const WRITES_STARVED: u32 = 2;

#[derive(Debug)]
pub(super) struct Deadline<T> {
    /// Reads, writes.
    waiting: [Pool<T>; 2],
    /// Where the last request of either direction ended.
    heads: [Sectors; 2],
    direction: Op,
    /// Requests served in this batch; none before the first.
    batch: Option<u32>,
    /// How often writes have been passed over.
    starved: u32,
}

impl<T: Copy> Deadline<T> {
    pub(super) fn new() -> Self {
        Self {
            waiting: [Pool::new(Merging::BackAndFront), Pool::new(Merging::BackAndFront)],
            heads: [Sectors(0); 2],
            direction: Op::Read,
            batch: None,
            starved: 0,
        }
    }

    fn above(&self, op: Op) -> Option<u64> {
        self.waiting[op as usize].above(self.heads[op as usize]).map(|(number, _)| number)
    }

    /// The direction of a new batch.
    fn turn(&mut self) -> Option<Op> {
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

    fn choose(&mut self, now: SimTime) -> Option<(Op, u64)> {
        if let Some(served) = self.batch.filter(|served| *served < BATCH)
            && let Some(number) = self.above(self.direction)
        {
            self.batch = Some(served + 1);
            return Some((self.direction, number));
        }
        let op = self.turn()?;
        let (oldest, arrived) = self.waiting[op as usize].oldest()?;
        let expired = arrived + EXPIRY[op as usize] <= now;
        let number = if expired { oldest } else { self.above(op).unwrap_or(oldest) };
        self.direction = op;
        self.batch = Some(1);
        Some((op, number))
    }
}

impl<T: Copy + Debug + Send> Scheduler<T> for Deadline<T> {
    fn add(&mut self, now: SimTime, io: Io<T>) {
        self.waiting[io.op as usize].add(now, io);
    }

    fn next(&mut self, now: SimTime, _head: Sectors) -> Choice<T> {
        let Some((op, number)) = self.choose(now) else {
            self.batch = None;
            return Choice::Nothing;
        };
        let request = self.waiting[op as usize].take(number).expect("it was chosen among them");
        self.heads[op as usize] = request.end();
        Choice::Serve(request)
    }

    fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_> {
        Box::new(self.waiting.iter().flat_map(Pool::arrivals))
    }
}
