//! The order of writes to an erasure-coded placement group.
//!
//! The primary carries out writes to a group in the order of arrival. A write sends its shards when all
//! earlier writes have sent theirs, and is answered when all earlier ones are. It reads the stripes that it
//! covers in part without waiting. If an earlier outstanding write has read or covers a stripe, the stripe is
//! not read from devices: the primary keeps it in memory until that write is done.
//!
//! Source: Ceph's `ECBackend` (its three lists of waiting operations and `ExtentCache`), Kraken to Squid.
//! Left out: reads that wait for writes to their object. With events, `outages` orders the writes of a group.

use std::collections::VecDeque;
use std::ops::Range;

use crate::system::Few;

/// The progress of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It is reading and encoding.
    Prepares,
    /// Its shards can be sent.
    Ready,
    /// Its shards have been sent.
    Writes,
    /// Its shards are written.
    Done,
}

#[derive(Clone, Debug)]
struct Write {
    task: u32,
    object: u64,
    stripes: Range<u64>,
    state: State,
}

/// The outstanding writes to a placement group, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipeline {
    writes: VecDeque<Write>,
}

impl Pipeline {
    /// A write begins that covers these stripes of an object, those of `partial` in part. Returns the number of
    /// stripes that it must read.
    pub(super) fn enter(
        &mut self,
        task: u32,
        object: u64,
        stripes: Range<u64>,
        partial: impl Iterator<Item = u64>,
    ) -> u64 {
        let is_held = |stripe: &u64| {
            let holds = |one: &Write| one.object == object && one.stripes.contains(stripe);
            self.writes.iter().any(holds)
        };
        let reads = partial.filter(|stripe| !is_held(stripe)).count();
        self.writes.push_back(Write { task, object, stripes, state: State::Prepares });
        reads as u64
    }

    /// The shards of a write can be sent. Returns the writes whose shards are sent now.
    pub(super) fn ready(&mut self, task: u32) -> Few<u32> {
        self.find(task).state = State::Ready;
        let mut begin = Few::new();
        for write in &mut self.writes {
            match write.state {
                State::Prepares => break,
                State::Ready => {
                    write.state = State::Writes;
                    begin.push(write.task);
                }
                State::Writes | State::Done => {}
            }
        }
        begin
    }

    /// The shards of a write are written. Returns the writes that are answered now.
    pub(super) fn done(&mut self, task: u32) -> Few<u32> {
        self.find(task).state = State::Done;
        let mut over = Few::new();
        while self.writes.front().is_some_and(|write| write.state == State::Done) {
            over.extend(self.writes.pop_front().map(|write| write.task));
        }
        over
    }

    fn find(&mut self, task: u32) -> &mut Write {
        self.writes.iter_mut().find(|write| write.task == task).expect("it has begun")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_go_out_and_are_answered_in_order() {
        let mut group = Pipeline::default();
        assert_eq!(group.enter(1, 0, 0..1, [0].into_iter()), 1);
        assert_eq!(group.enter(2, 0, 5..9, [].into_iter()), 0);
        assert_eq!(group.enter(3, 7, 5..7, [5, 6].into_iter()), 2);
        assert!(group.ready(2).is_empty());
        assert_eq!(group.ready(1)[..], [1, 2]);
        assert!(group.done(2).is_empty());
        assert_eq!(group.ready(3)[..], [3]);
        assert_eq!(group.done(1)[..], [1, 2]);
        assert_eq!(group.done(3)[..], [3]);
    }

    #[test]
    fn stripes_of_a_write_under_way_are_not_read() {
        let mut group = Pipeline::default();
        assert_eq!(group.enter(1, 0, 0..3, [2].into_iter()), 1);
        // stripe 2 is in memory; that of another object is not
        assert_eq!(group.enter(2, 0, 2..5, [2, 4].into_iter()), 1);
        assert_eq!(group.enter(3, 4, 2..3, [2].into_iter()), 1);
        group.ready(1);
        group.done(1);
        group.ready(2);
        group.done(2);
        assert_eq!(group.enter(4, 0, 2..3, [2].into_iter()), 1);
    }
}
