//! The block layer of a virtual machine, modelled on Linux's, and a simplified file system above it.
//!
//! A guest's requests are cut into block operations of at most `largest` bytes. These wait in an I/O
//! scheduler (`algorithms`), which merges adjacent operations. At most `queue_depth` requests are
//! outstanding at the storage at a time. Guests of one machine share its processor, on which the
//! hypervisor takes time for each request sent, and its adapter; see [`crate::Protocol::machine`].
//!
//! The file system is ext4 with direct I/O on existing files: extents are as long as files and lie where
//! the workload says, nothing is cached, and only modification times change. So each commit to the journal
//! contains the inode blocks of the files that were written (an inode of 256 bytes for each file of 16
//! MiB, so a block of 4 KiB for each 256 MiB of addresses), one descriptor block and one commit block. A
//! separate thread writes the commits one after the other in an area at the end of the volume.
//!
//! Left out: allocation of blocks, the page cache, locks on inodes (ext4 lets one thread write to a file at a
//! time), writing inodes back from the journal, barriers, plugging, and the limit of requests in the
//! scheduler (128 in Linux). Also left out: how a hypervisor shares its processor among guests. Here, their
//! threads take turns like those of one system. Operations of a merged request take one of the `queue_depth`
//! places, but each is a separate message. All volumes of a guest use one scheduler.
//!
//! Sources: Linux 2.6.32, `block/` and `Documentation/filesystems/ext4.txt`; Noorshams et al. 2013,
//! Section 4.

mod core;

use std::collections::BTreeSet;

use foretell_algorithms::io_scheduler::{Choice, Io, Request, Scheduler, Writes, scheduler_for};
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::{self, Scenario};
use foretell_units::{Bytes, HostId, Op, Owner, SECTOR_BYTES, Sectors, SimSpan, SimTime};

use crate::system::VolumeExtent;

/// Stands for no block operation, for data that are not sent by a guest.
pub(crate) const NO_OPERATION: u32 = u32::MAX;

/// Amount of file data whose inodes share one block.
const INODE_BLOCK_COVERS: Bytes = Bytes::mib(256);
/// Bytes in a journal block.
const JOURNAL_BLOCK: Bytes = Bytes::kib(4);
/// Bytes of the journal, as `mke2fs` sets it for file systems of some gigabytes and more. A smaller volume
/// is all journal.
const JOURNAL: Bytes = Bytes::mib(128);

/// A block operation: a range of a volume that a request reads or writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    /// The request that it is a part of.
    pub(crate) request: u32,
    pub(crate) op: Op,
    /// Its offset in the volume.
    pub(crate) offset: Bytes,
    pub(crate) size: Bytes,
    arrived: SimTime,
    /// Number of its parts that were sent and are not answered.
    parts_left: u32,
    /// The scheduler's request that it was merged into, while that is outstanding.
    merged_in: u32,
    live: bool,
}

/// The block layer of one guest.
#[derive(Debug)]
pub struct Guest {
    scheduler: Box<dyn Scheduler<u32>>,
    operations: Slab<Operation>,
    /// The scheduler's outstanding requests, with the number of their operations that are not done.
    under_way: Slab<Option<(Request<u32>, u32)>>,
    depth: u32,
    largest: Bytes,
    /// End of the last request that was sent.
    head: Sectors,
    /// The last requested wake-up time, while it is in the future.
    wake: Option<SimTime>,
    pub(crate) journal: Journal,
    /// Processor time of the hypervisor for each message sent.
    pub(crate) hypervisor: SimSpan,
}

/// The journal of a guest's file system.
#[derive(Debug)]
pub(crate) struct Journal {
    /// Time from a transaction's first write to its commit; zero means no journal.
    every: SimSpan,
    /// The same for the next transaction: the first one began before the simulation did.
    next: SimSpan,
    /// Inode blocks changed since the last commit.
    changed: BTreeSet<u64>,
    /// Start of its area in the volume, size of the area, and how far it is written.
    begin: Bytes,
    area: Bytes,
    written: Bytes,
}

impl Journal {
    /// Records a write to that offset of the volume. Returns the time until the next commit if none was
    /// due.
    pub(crate) fn note_write(&mut self, offset: Bytes) -> Option<SimSpan> {
        if self.every.is_zero() {
            return None;
        }
        let first = self.changed.is_empty();
        self.changed.insert(offset.get() / INODE_BLOCK_COVERS.get());
        first.then(|| std::mem::replace(&mut self.next, self.every))
    }

    /// Commits the changes. Returns where to write, and how much.
    pub(crate) fn commit(&mut self) -> (Bytes, Bytes) {
        let blocks = self.changed.len() as u64 + 2;
        self.changed.clear();
        let size = (JOURNAL_BLOCK * blocks).min(self.area);
        if self.written + size > self.area {
            self.written = Bytes::ZERO;
        }
        let at = self.begin + self.written;
        self.written += size;
        (at, size)
    }
}

impl Guest {
    /// The block layer of a host, if it is a guest; `clock`: the source of the phase of its commits.
    pub(crate) fn of(scenario: &Scenario, id: HostId, clock: &Owner) -> Option<Box<Self>> {
        let spec = scenario.host(id).guest.as_ref()?;
        let number = id.0 - crate::protocol::machine_of(scenario, id).0;
        let own = scenario.workloads.iter().find(|workload| workload.clients.contains(&id));
        // the file system is in the volume of the first workload
        let volume = own.map_or(Bytes::ZERO, |workload| scenario.volume(workload.volume).size);
        Some(Box::new(Self::new(spec, u64::from(number), volume, clock)))
    }

    /// An idle block layer of the `number`th guest of its machine, whose journal is in a volume of
    /// `volume` bytes.
    pub(crate) fn new(spec: &model::Guest, number: u64, volume: Bytes, clock: &Owner) -> Self {
        let scheduler = scheduler_for(spec.scheduler, spec.queue_depth, Writes::Synchronous);
        let begin = volume.saturating_sub(JOURNAL * (number + 1));
        Self {
            scheduler,
            operations: Slab::new(),
            under_way: Slab::new(),
            depth: spec.queue_depth,
            largest: spec.largest,
            head: Sectors(0),
            wake: None,
            journal: Journal {
                every: spec.journal_commit,
                next: clock.stream("journal").part_of(spec.journal_commit),
                changed: BTreeSet::new(),
                begin,
                area: JOURNAL.min(volume),
                written: Bytes::ZERO,
            },
            hypervisor: spec.hypervisor,
        }
    }

    /// A thread reads or writes a range of a volume, which begins at the guest's address `base`. Returns
    /// the number of operations.
    pub(crate) fn submit(
        &mut self,
        now: SimTime,
        request: u32,
        op: Op,
        thread: u64,
        base: Bytes,
        extent: VolumeExtent,
    ) -> u32 {
        let (mut at, end, mut count) = (extent.offset, extent.offset + extent.size, 0);
        while at < end {
            let size = end.saturating_sub(at).min(self.largest);
            let tag = self.operations.insert(Operation {
                request,
                op,
                offset: at,
                size,
                arrived: now,
                parts_left: 0,
                merged_in: NO_OPERATION,
                live: true,
            });
            let address = base + at;
            let lbn = Sectors(address.get() / SECTOR_BYTES);
            let last = (address + size).get().div_ceil(SECTOR_BYTES);
            let sectors = Sectors(last - lbn.get());
            self.scheduler.add(now, Io { lbn, sectors, op, thread, tag });
            at += size;
            count += 1;
        }
        count
    }

    /// Appends the operations to send now to `sent`. Returns when to ask again, unless that time was
    /// returned before.
    pub(crate) fn take(&mut self, now: SimTime, sent: &mut Vec<u32>) -> Option<SimTime> {
        if self.wake.is_some_and(|wake| wake <= now) {
            self.wake = None;
        }
        while (self.under_way.len() as u32) < self.depth {
            match self.scheduler.next(now, self.head) {
                Choice::Serve(request) => {
                    self.head = request.end();
                    let count = 1 + request.merged.len() as u32;
                    let first = sent.len();
                    sent.extend(request.operations().map(|(_, io)| io.tag));
                    let place = self.under_way.insert(Some((request, count)));
                    for &operation in &sent[first..] {
                        self.operations[operation].merged_in = place;
                    }
                }
                Choice::Wait(until) if self.wake.is_none_or(|wake| until < wake) => {
                    self.wake = Some(until);
                    return self.wake;
                }
                Choice::Wait(_) | Choice::Nothing => return None,
            }
        }
        None
    }

    pub(crate) fn operation(&self, id: u32) -> &Operation {
        &self.operations[id]
    }

    /// A part of an operation is sent.
    pub(crate) fn part_sent(&mut self, id: u32) {
        self.operations[id].parts_left += 1;
    }

    /// A part of an operation is answered. If that completes the operation, returns when the operation
    /// entered the block layer.
    pub(crate) fn part_done(&mut self, now: SimTime, id: u32) -> Option<SimTime> {
        let operation = &mut self.operations[id];
        operation.parts_left -= 1;
        if operation.parts_left > 0 {
            return None;
        }
        let operation = self.operations.remove(id);
        operation.live = false;
        let (place, arrived) = (operation.merged_in, operation.arrived);
        let (_, left) = self.under_way[place].as_mut().expect("it is under way");
        *left -= 1;
        if *left == 0 {
            let (request, _) = self.under_way.remove(place).take().expect("it was under way");
            self.scheduler.served(now, &request);
        }
        Some(arrived)
    }

    /// Times at which the operations inside entered.
    pub fn arrivals(&self) -> impl Iterator<Item = SimTime> {
        let live = self.operations.places().filter(|operation| operation.live);
        live.map(|operation| operation.arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_scenarios::model::Scheduler as Name;
    use foretell_units::Seed;

    fn spec(scheduler: Name, queue_depth: u32) -> model::Guest {
        model::Guest {
            scheduler,
            queue_depth,
            largest: Bytes::kib(512),
            hypervisor: SimSpan::ZERO,
            journal_commit: SimSpan::from_secs(5),
        }
    }

    fn clock() -> Owner {
        Owner::new(Seed(1), "host/g")
    }

    fn guest(scheduler: Name, queue_depth: u32) -> Guest {
        Guest::new(&spec(scheduler, queue_depth), 0, Bytes::gib(1), &clock())
    }

    fn ms(ms: u64) -> SimTime {
        SimTime::ZERO + SimSpan::from_ms(ms)
    }

    /// Submits 4 KiB at `at` times 4 KiB for a thread; the request has the thread's number.
    fn submit(guest: &mut Guest, now: SimTime, op: Op, thread: u32, at: u64) {
        let extent = VolumeExtent { offset: Bytes::kib(4) * at, size: Bytes::kib(4) };
        guest.submit(now, thread, op, u64::from(thread), Bytes::ZERO, extent);
    }

    /// Takes the operations to send now, and sends each as one part. Returns their requests too.
    fn sent(guest: &mut Guest, now: SimTime) -> (Vec<u32>, Vec<u32>, Option<SimTime>) {
        let mut operations = Vec::new();
        let again = guest.take(now, &mut operations);
        for &operation in &operations {
            guest.part_sent(operation);
        }
        let requests = operations.iter().map(|at| guest.operation(*at).request).collect();
        (operations, requests, again)
    }

    #[test]
    fn large_requests_are_split_and_neighbours_merged() {
        let mut guest = guest(Name::Noop, 1);
        // 1.25 MiB are 512, 512 and 256 KiB
        let whole = VolumeExtent { offset: Bytes::ZERO, size: Bytes::kib(1280) };
        assert_eq!(guest.submit(ms(0), 7, Op::Read, 1, Bytes::ZERO, whole), 3);
        submit(&mut guest, ms(0), Op::Read, 2, 320);
        let (first, requests, _) = sent(&mut guest, ms(0));
        assert_eq!(requests, [7]);
        assert_eq!(guest.part_done(ms(1), first[0]), Some(ms(0)));
        let (second, ..) = sent(&mut guest, ms(1));
        assert_eq!(guest.part_done(ms(2), second[0]), Some(ms(0)));
        // the third part and what follows it are one request
        let (third, requests, _) = sent(&mut guest, ms(2));
        assert_eq!(requests, [7, 2]);
        guest.part_done(ms(3), third[0]);
        assert_eq!(guest.under_way.len(), 1);
        guest.part_done(ms(4), third[1]);
        assert_eq!(guest.under_way.len(), 0);
        assert_eq!(guest.arrivals().count(), 0);
    }

    #[test]
    fn noop_keeps_the_queue_full_where_cfq_waits_for_a_sequential_thread() {
        for (name, expected) in [(Name::Noop, vec![1, 2, 3]), (Name::Cfq, vec![1])] {
            let mut guest = guest(name, 32);
            for thread in 1..4 {
                submit(&mut guest, ms(0), Op::Write, thread, u64::from(thread) * 10_000);
            }
            let (operations, requests, _) = sent(&mut guest, ms(0));
            assert_eq!(requests, expected, "{name:?}");
            guest.part_done(ms(1), operations[0]);
            let (_, requests, again) = sent(&mut guest, ms(1));
            assert!(requests.is_empty());
            // for a thread with synchronous writes, CFQ keeps the disk idle for 8 ms
            assert_eq!(again, (name == Name::Cfq).then_some(ms(9)), "{name:?}");
        }
    }

    #[test]
    fn a_commit_writes_the_inode_blocks_of_what_was_written_and_two_more() {
        let mut journal = guest(Name::Noop, 1).journal;
        // the first transaction began before the simulation
        let first = journal.note_write(Bytes::mib(1)).unwrap();
        assert!(first < SimSpan::from_secs(5), "{first}");
        assert_eq!(journal.note_write(Bytes::mib(255)), None);
        assert_eq!(journal.note_write(Bytes::mib(256)), None);
        let begin = Bytes::gib(1).saturating_sub(Bytes::mib(128));
        assert_eq!(journal.commit(), (begin, Bytes::kib(16)));
        assert_eq!(journal.note_write(Bytes::ZERO), Some(SimSpan::from_secs(5)));
        assert_eq!(journal.commit(), (begin + Bytes::kib(16), Bytes::kib(12)));
    }

    #[test]
    fn a_journal_stays_within_a_volume_smaller_than_itself() {
        let spec = spec(Name::Noop, 1);
        let volume = Bytes::kib(100);
        let mut journal = Guest::new(&spec, 3, volume, &clock()).journal;
        // eight commits of 12 KiB fit; then it starts again from the beginning
        let begins: Vec<u64> = (0..9)
            .map(|_| {
                journal.note_write(Bytes::ZERO);
                let (at, size) = journal.commit();
                assert!(at + size <= volume, "{at} {size}");
                at.get() >> 10
            })
            .collect();
        assert_eq!(begins, [0, 12, 24, 36, 48, 60, 72, 84, 0]);
    }
}
