//! The threads of an OSD, and the processors that it may use.
//!
//! Without settings of threads, an OSD's work runs on any free core of its host. With them:
//!
//! - *Messenger threads* (`ms_async_op_threads`) read each incoming message and write each outgoing one. This costs
//!   a fixed time for each message and a time for each byte.
//! - *Op threads* (`osd_op_num_shards` × `osd_op_num_threads_per_shard`) carry out operations. `BlueStore` reads the
//!   device synchronously, so a thread that reads waits for the device. For a write, the primary first sends the
//!   copies, then does its own transaction.
//! - *The kv thread*, one in each OSD, commits in rounds. Each round takes all transactions that wait at its
//!   start, so that many transactions share the cost of a round. On a drive without power-loss protection
//!   each round also waits for the drive's flushes.
//! - *Background threads* of the key-value store write its tables and merge them after each round. No request waits
//!   for them.
//! - All of them share the *processors* that the OSD may use, limited by a container's quota or by `numactl`.
//!
//! With a scheduler, op threads belong to shards, and the shard's queue determines the next operation
//! (`scheduler`). With a throttle, a transaction that exceeds the limit of bytes in flight to the store
//! (`bluestore_throttle_bytes`) waits, and so does its thread. With `spins`, a thread of a shard keeps a core
//! busy while all waiting operations have reached their limits: before 17.2.4 the first thread of a shard
//! polled without a pause (issue 56530 of Ceph's tracker).
//!
//! With `locks`, an op thread holds the lock of its operation's placement group while it works or waits for the
//! device (`locks`).
//!
//! Sources: Ceph's configuration reference for the threads; `BlueStore::_do_read`, which waits for its reads, and
//! `BlueStore::_kv_sync_thread`. Left out: the assignment of messages to messenger threads and, without a scheduler,
//! of operations to shards (any free thread takes them); the finisher (its work is the kv thread's).

use std::collections::VecDeque;

use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::{OpScheduler, OpSchedulerKind, Scenario, Threads};
use foretell_units::{Bytes, HostId, SimSpan, SimTime};

use super::capacities;
use super::locks::{GroupLock, Locks};
use super::scheduler::{Class, Pick, Policy, Scheduler};

/// Threads, or processors, and the jobs that wait for one.
#[derive(Debug)]
struct Pool {
    free: u32,
    waiting: VecDeque<u32>,
}

impl Pool {
    fn new(size: u32) -> Self {
        Self { free: size, waiting: VecDeque::new() }
    }

    /// Takes one for a job. Returns whether one was free; otherwise the job waits.
    fn take(&mut self, job: u32) -> bool {
        let there = self.free > 0;
        if there {
            self.free -= 1;
        } else {
            self.waiting.push_back(job);
        }
        there
    }

    /// Returns one to the pool. Returns the job that gets it next.
    fn give(&mut self) -> Option<u32> {
        let next = self.waiting.pop_front();
        self.free += u32::from(next.is_none());
        next
    }
}

/// Kinds of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Threads that read and write messages.
    Messenger,
    /// Threads that carry out operations.
    Op,
    /// The thread that commits.
    Commit,
    /// Threads of the key-value store. They serve no single request.
    Background,
}

/// The step that follows a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Next {
    /// A message was read: next, the operation is carried out.
    Arrived,
    /// The operation is decided: next, devices are read and copies are sent.
    Decided,
    /// The data read before a write are encoded: next, shards are sent.
    Encoded,
    /// The transaction of the server's own copy or shard is prepared: next, it is committed.
    Prepared,
    /// The kv thread has finished the round of the transactions in it.
    Committed,
    /// A message to another OSD, or an answer, was written: next, it is sent.
    Send,
    /// A shard whose operations had reached their limits checks them again.
    Wake,
    /// The message of a chore was read: next, the chore waits for a thread.
    ChoreArrived,
    /// A chore is carried out.
    ChoreDecided,
    /// A thread of a shard that spins has polled for a while.
    Spin,
    /// A thread begins with the chunk of a scrubber: next, the device is read.
    Scrub,
    /// The checksum of the scrubber's chunk is computed.
    Scrubbed,
    /// Nothing: the key-value store has merged the commits.
    Nothing,
    /// The answer of another OSD was read: the task of the server in front continues.
    Counted,
}

impl Next {
    /// Whether the job serves a scrubber, whose number is in place of a task's.
    pub(super) fn is_of_scrubber(self) -> bool {
        matches!(self, Self::Scrub | Self::Scrubbed)
    }
}

/// Whether the store may accept a transaction while others are in flight. One that exceeds the throttle by itself
/// may be added as long as the others are within it (Ceph's `Throttle::_should_wait`).
const fn fits(in_flight: u64, bytes: u64, throttle: u64) -> bool {
    if bytes >= throttle { in_flight <= throttle } else { in_flight + bytes <= throttle }
}

/// Marks the numbers of chores among those of tasks.
pub(super) const CHORE: u32 = 1 << 31;

/// The cost of a transaction in the store's throttle: its bytes plus `bluestore_throttle_cost_per_io_ssd`.
const fn throttled(bytes: u64) -> u64 {
    bytes + 4000
}

/// A job of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// The OSD, as numbered by [`Daemons::osd`].
    pub(super) osd: u32,
    pub(super) host: HostId,
    pub(super) place: Place,
    /// The task that it serves; for a round of commits, the first task; for a scrubber, its number.
    pub(super) task: u32,
    /// The exchange that it serves.
    pub(super) exchange: u32,
    pub(super) span: SimSpan,
    pub(super) next: Next,
    /// The class of the operation, the bytes that it brings, and the shard.
    pub(super) class: Class,
    pub(super) bytes: u64,
    pub(super) shard: u32,
    /// The lock that an op thread holds during the job, if there are locks.
    pub(super) lock: Option<GroupLock>,
}

#[derive(Debug)]
struct Osd {
    messenger: Pool,
    op: Pool,
    processors: Option<Pool>,
    locks: Locks,
    /// Transactions that wait for the kv thread, and those of its current round.
    waiting: Vec<u32>,
    round: Vec<u32>,
    committing: bool,
    /// With a scheduler: shards, which choose the next operation instead of `op`.
    shards: Vec<Shard>,
    /// Bytes in flight to the store, and transactions that wait with their threads until there are fewer.
    in_flight: u64,
    held: VecDeque<Job>,
}

/// Some of an OSD's op threads, and their queue.
#[derive(Debug)]
struct Shard {
    free: u32,
    queue: Scheduler,
    /// When it checks again, if all waiting operations have reached their limits.
    wakes: Option<SimTime>,
}

/// The next step of a shard.
#[derive(Clone, Copy, Debug)]
pub(super) enum Following {
    /// A job gets a thread. The flag says whether it has a processor too.
    Job(u32, bool),
    /// It checks again at this time.
    At(SimTime),
    /// Nothing.
    Nothing,
}

/// The threads of all OSDs of a cluster.
#[derive(Debug)]
pub(super) struct Daemons {
    pub(super) threads: Threads,
    throttle: Option<u64>,
    /// Whether a thread of a shard spins until the next operation is below its limit.
    pub(super) spins: bool,
    /// The number of each host's first OSD.
    first: Vec<u32>,
    osds: Vec<Osd>,
    pub(super) jobs: Slab<Job>,
}

impl Daemons {
    pub(super) fn new(
        scenario: &Scenario,
        threads: Threads,
        scheduler: Option<&OpScheduler>,
    ) -> Self {
        let shards = || {
            let Some(OpScheduler { shards, kind, .. }) = scheduler else { return Vec::new() };
            let policy = match *kind {
                OpSchedulerKind::Wpq => Policy::Wpq,
                OpSchedulerKind::Mclock { capacity, shares, .. } => {
                    Policy::Mclock { capacity: capacity / f64::from(*shards), shares }
                }
            };
            let shard = |number: u32| Shard {
                free: threads.op / shards + u32::from(number < threads.op % shards),
                queue: Scheduler::new(policy),
                wakes: None,
            };
            (0..*shards).map(shard).collect()
        };
        let spins = scheduler
            .is_some_and(|found| matches!(found.kind, OpSchedulerKind::Mclock { spins: true, .. }));
        let throttle = scheduler.and_then(|found| found.throttle).map(Bytes::get);
        let mut first = Vec::with_capacity(scenario.hosts.len());
        let mut count = 0;
        for index in 0..scenario.hosts.len() {
            first.push(count);
            count += capacities(scenario, HostId::from(index)).count() as u32;
        }
        let osd = |_| Osd {
            messenger: Pool::new(threads.messenger),
            op: Pool::new(threads.op),
            processors: threads.processors.map(Pool::new),
            locks: Locks::default(),
            waiting: Vec::new(),
            round: Vec::new(),
            committing: false,
            shards: shards(),
            in_flight: 0,
            held: VecDeque::new(),
        };
        let osds = (0..count).map(osd).collect();
        Self { threads, throttle, spins, first, osds, jobs: Slab::new() }
    }

    /// The number of the OSD on a disk of a host.
    pub(super) fn osd(&self, host: HostId, disk: u32) -> u32 {
        self.first[host.index()] + disk
    }

    /// The host of an OSD.
    pub(super) fn host(&self, osd: u32) -> HostId {
        HostId::from(self.first.partition_point(|first| *first <= osd) - 1)
    }

    /// A job arrives. Returns it if it can run now.
    pub(super) fn begin(&mut self, job: Job, now: SimTime) -> Option<u32> {
        let id = self.jobs.insert(job);
        let osd = &mut self.osds[job.osd as usize];
        if job.place == Place::Op && !osd.shards.is_empty() {
            osd.shards[job.shard as usize].queue.push(now, id, job.class, job.bytes);
            return None;
        }
        let has_thread = match job.place {
            Place::Messenger => osd.messenger.take(id),
            Place::Op => osd.op.take(id),
            Place::Commit | Place::Background => true,
        };
        (has_thread && osd.locks.take(id, job.lock) && osd.on_processor(id)).then_some(id)
    }

    /// A thread that has waited for its device goes on with this job. Returns the job if it has a processor.
    pub(super) fn go_on(&mut self, job: Job) -> Option<u32> {
        let id = self.jobs.insert(job);
        self.osds[job.osd as usize].on_processor(id).then_some(id)
    }

    /// A job's work is done, and it leaves the processor. Returns the job that runs there next.
    pub(super) fn leave_processor(&mut self, osd: u32) -> Option<u32> {
        self.osds[osd as usize].processors.as_mut()?.give()
    }

    /// A thread is free again. Returns the job that it can begin now.
    pub(super) fn leave_thread(&mut self, osd: u32, place: Place) -> Option<u32> {
        let osd = &mut self.osds[osd as usize];
        let next = match place {
            Place::Messenger => osd.messenger.give(),
            Place::Op => osd.op.give(),
            Place::Commit | Place::Background => None,
        }?;
        let lock = self.jobs[next].lock;
        (osd.locks.take(next, lock) && osd.on_processor(next)).then_some(next)
    }

    /// An op thread has finished with an operation of a placement group. Returns the job that gets the lock next, if
    /// that job can run now.
    pub(super) fn unlock(&mut self, osd: u32, lock: Option<GroupLock>) -> Option<u32> {
        let osd = &mut self.osds[osd as usize];
        let next = osd.locks.give(lock)?;
        osd.on_processor(next).then_some(next)
    }

    /// Whether a scheduler chooses the next operation of the op threads.
    pub(super) fn has_shards(&self) -> bool {
        self.osds.first().is_some_and(|osd| !osd.shards.is_empty())
    }

    /// Number of shards; at least one.
    pub(super) fn shards(&self) -> u32 {
        self.osds.first().map_or(1, |osd| (osd.shards.len() as u32).max(1))
    }

    /// A thread of a shard is free again.
    pub(super) fn free_thread(&mut self, osd: u32, shard: u32) {
        self.osds[osd as usize].shards[shard as usize].free += 1;
    }

    /// A shard has checked its operations again.
    pub(super) fn wakes(&mut self, osd: u32, shard: u32) {
        self.osds[osd as usize].shards[shard as usize].wakes = None;
    }

    /// The next step of a shard.
    pub(super) fn next_of(&mut self, osd: u32, shard: u32, now: SimTime) -> Following {
        let osd = &mut self.osds[osd as usize];
        let found = &mut osd.shards[shard as usize];
        if found.free == 0 {
            return Following::Nothing;
        }
        match found.queue.pop(now) {
            Pick::Nothing => Following::Nothing,
            Pick::At(at) => {
                if found.wakes.is_some_and(|wakes| wakes <= at) {
                    return Following::Nothing;
                }
                found.wakes = Some(at);
                Following::At(at)
            }
            Pick::Job(job) => {
                found.free -= 1;
                let lock = self.jobs[job].lock;
                Following::Job(job, osd.locks.take(job, lock) && osd.on_processor(job))
            }
        }
    }

    /// Whether a transaction may go to the store. If not, it waits with its thread.
    pub(super) fn admit(&mut self, job: &Job) -> bool {
        let Some(throttle) = self.throttle else { return true };
        let osd = &mut self.osds[job.osd as usize];
        let bytes = throttled(job.bytes);
        let may = osd.held.is_empty() && fits(osd.in_flight, bytes, throttle);
        if may {
            osd.in_flight += bytes;
        } else {
            osd.held.push_back(*job);
        }
        may
    }

    /// A transaction has reached the store.
    pub(super) fn release(&mut self, osd: u32, bytes: u64) {
        let osd = &mut self.osds[osd as usize];
        osd.in_flight = osd.in_flight.saturating_sub(throttled(bytes));
    }

    /// The next transaction that waits for others to reach the store, if it may go now.
    pub(super) fn admit_held(&mut self, osd: u32) -> Option<Job> {
        let throttle = self.throttle?;
        let osd = &mut self.osds[osd as usize];
        let bytes = throttled(osd.held.front()?.bytes);
        if !fits(osd.in_flight, bytes, throttle) {
            return None;
        }
        osd.in_flight += bytes;
        osd.held.pop_front()
    }

    /// Lets a transaction wait for the kv thread. Returns whether that begins a round.
    pub(super) fn queue_commit(&mut self, osd: u32, task: u32) -> bool {
        let osd = &mut self.osds[osd as usize];
        osd.waiting.push(task);
        !osd.committing
    }

    /// The kv thread takes all waiting transactions. Returns the time of its round; `None` if nothing waits.
    pub(super) fn begin_round(&mut self, osd: u32) -> Option<(u32, SimSpan)> {
        let Threads { kv_round, kv_transaction, .. } = self.threads;
        let osd = &mut self.osds[osd as usize];
        osd.committing = !osd.waiting.is_empty();
        let first = *osd.waiting.first()?;
        std::mem::swap(&mut osd.round, &mut osd.waiting);
        Some((first, kv_round + kv_transaction * osd.round.len() as u64))
    }

    /// An OSD stops: jobs that wait for its threads are lost. Returns the scrubbers among those that they served.
    pub(super) fn stop(&mut self, osd: u32) -> Vec<u32> {
        let osd = &mut self.osds[osd as usize];
        osd.waiting.clear();
        osd.in_flight = 0;
        for job in std::mem::take(&mut osd.held) {
            match osd.shards.get_mut(job.shard as usize) {
                Some(shard) => shard.free += 1,
                None => osd.op.free += 1,
            }
        }
        let mut lost = Vec::new();
        for shard in &mut osd.shards {
            lost.extend(shard.queue.drain());
        }
        for pool in [&mut osd.messenger, &mut osd.op].into_iter().chain(&mut osd.processors) {
            lost.extend(pool.waiting.drain(..));
        }
        let jobs = lost.into_iter().map(|job| *self.jobs.remove(job));
        jobs.filter(|job| job.next.is_of_scrubber()).map(|job| job.task).collect()
    }

    /// A round has ended. Returns its transactions.
    pub(super) fn end_round(&mut self, osd: u32) -> Vec<u32> {
        std::mem::take(&mut self.osds[osd as usize].round)
    }
}

impl Osd {
    /// Gives a job a processor, or lets it wait for one.
    fn on_processor(&mut self, job: u32) -> bool {
        self.processors.as_mut().is_none_or(|pool| pool.take(job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_longest_has_the_next_thread() {
        let mut pool = Pool::new(2);
        assert_eq!([1, 2, 3, 4].map(|job| pool.take(job)), [true, true, false, false]);
        assert_eq!([pool.give(), pool.give(), pool.give()], [Some(3), Some(4), None]);
        assert_eq!(pool.free, 1);
    }
}
