//! The locks that operations of an OSD wait for.
//!
//! - *Of a placement group*: an op thread holds it while it carries out an operation, which includes a read of the
//!   device and the preparation of a transaction. Another thread that has taken an operation of the same group from the
//!   queue waits for the lock, and does nothing else meanwhile (`OSD::ShardedOpWQ::_process`).
//! - *Of an object*, at its primary: reads share it with reads, and writes with writes. It is held from when the
//!   operation is carried out until all copies or shards have committed it. So a read waits for outstanding writes,
//!   without holding a thread, and a write waits for reads from other OSDs (erasure coding). Operations do not overtake
//!   those that wait (`ObjectContext::rwstate`).
//!
//! Sources: `src/osd/OSD.cc`, `src/osd/PrimaryLogPG.cc` (`get_rw_locks`, `release_object_locks`) and
//! `src/osd/osd_internal_types.h` (`RWState`) of Ceph, Luminous to Reef. Left out: other users of a group's lock
//! (completions of commits, scrubbing).

use std::collections::{BTreeMap, VecDeque};

use foretell_units::{Bytes, Op};

/// A placement group: its volume, and its number in the volume.
pub(super) type GroupLock = (u32, u32);

/// The locks of an OSD's placement groups.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// Locks that are held, and the jobs that wait for each with their threads.
    taken: BTreeMap<GroupLock, VecDeque<u32>>,
}

impl Locks {
    /// Takes a lock for a job, if it needs one. If another job has it, this one waits. Returns whether the job may
    /// proceed.
    pub(super) fn take(&mut self, job: u32, lock: Option<GroupLock>) -> bool {
        let Some(lock) = lock else { return true };
        if let Some(waiting) = self.taken.get_mut(&lock) {
            waiting.push_back(job);
            return false;
        }
        self.taken.insert(lock, VecDeque::new());
        true
    }

    /// Releases a lock. Returns the job that gets it next.
    pub(super) fn give(&mut self, lock: Option<GroupLock>) -> Option<u32> {
        let lock = lock?;
        let next = self.taken.get_mut(&lock)?.pop_front();
        if next.is_none() {
            self.taken.remove(&lock);
        }
        next
    }
}

/// How an operation holds the lock of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hold {
    /// With all others in the same direction.
    Shared(Op),
    /// Alone.
    Alone,
}

/// The holders of an object's lock, and the tasks that wait.
#[derive(Debug)]
struct Object {
    hold: Hold,
    count: u32,
    waiting: Vec<u32>,
}

/// The locks of objects at their primaries.
#[derive(Debug)]
pub(super) struct ObjectLocks {
    /// Whether all operations need locks, and not just updates of bucket indexes.
    for_all: bool,
    taken: BTreeMap<(u32, Bytes), Object>,
}

impl ObjectLocks {
    pub(super) fn new(for_all: bool) -> Self {
        Self { for_all, taken: BTreeMap::new() }
    }

    /// How an operation on an object, perhaps one of a bucket index, holds its lock; `None`: it needs no lock.
    pub(super) fn hold_of(&self, op: Op, is_of_index: bool) -> Option<Hold> {
        if is_of_index && op == Op::Write {
            return Some(Hold::Alone);
        }
        self.for_all.then_some(Hold::Shared(op))
    }

    /// Takes the lock of an object of a volume for a task. If the task cannot have it, it waits. Returns whether it has
    /// it.
    pub(super) fn take(&mut self, task: u32, hold: Hold, object: (u32, Bytes)) -> bool {
        let Some(found) = self.taken.get_mut(&object) else {
            self.taken.insert(object, Object { hold, count: 1, waiting: Vec::new() });
            return true;
        };
        let has = found.hold == hold && hold != Hold::Alone && found.waiting.is_empty();
        if has {
            found.count += 1;
        } else {
            found.waiting.push(task);
        }
        has
    }

    /// A task that holds the lock of an object is done. Returns the tasks that try again, in order.
    pub(super) fn give(&mut self, object: (u32, Bytes)) -> Vec<u32> {
        let Some(found) = self.taken.get_mut(&object) else { return Vec::new() };
        found.count -= 1;
        if found.count > 0 {
            return Vec::new();
        }
        self.taken.remove(&object).map_or_else(Vec::new, |found| found.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_groups_operations_have_its_lock_one_after_the_other() {
        let mut locks = Locks::default();
        assert!(locks.take(1, Some((0, 7))));
        assert!(!locks.take(2, Some((0, 7))) && !locks.take(3, Some((0, 7))));
        // another group, and a job that needs no lock
        assert!(locks.take(4, Some((1, 7))) && locks.take(5, None));
        assert_eq!([0; 3].map(|_| locks.give(Some((0, 7)))), [Some(2), Some(3), None]);
        assert!(locks.take(6, Some((0, 7))));
        assert_eq!(locks.give(None), None);
    }

    #[test]
    fn reads_wait_for_writes_and_nobody_overtakes() {
        let mut locks = ObjectLocks::new(true);
        let object = (0, Bytes::mib(4));
        let [read, write] = [Op::Read, Op::Write].map(Hold::Shared);
        assert!(locks.take(1, write, object) && locks.take(2, write, object));
        assert!(!locks.take(3, read, object));
        // a write would share the lock, but a read waits
        assert!(!locks.take(4, write, object));
        assert!(locks.take(5, read, (0, Bytes::ZERO)));
        assert!(locks.give(object).is_empty());
        assert_eq!(locks.give(object), [3, 4]);
        assert!(locks.take(3, read, object) && !locks.take(4, write, object));
    }

    #[test]
    fn updates_of_an_index_have_its_objects_alone() {
        let mut locks = ObjectLocks::new(false);
        let object = (0, Bytes::ZERO);
        assert_eq!(locks.hold_of(Op::Write, false), None);
        let alone = locks.hold_of(Op::Write, true).expect("it needs a lock");
        assert!(locks.take(1, alone, object));
        assert!(!locks.take(2, alone, object) && !locks.take(3, alone, object));
        assert!(locks.take(4, alone, (0, Bytes::mib(4))));
        assert_eq!(locks.give(object), [2, 3]);
        assert!(locks.take(2, alone, object) && !locks.take(3, alone, object));
    }
}
