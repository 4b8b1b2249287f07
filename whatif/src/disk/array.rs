//! The model of an array: its controller in front of measured members.
//!
//! The controller's decisions follow from its level, its members and the sizes of its caches
//! ([`foretell_algorithms::array`]): where sectors lie, what members read and write, what its caches hold,
//! when written data are destaged. The service times were measured: those of a single member, and those of
//! the controller for operations that need no member.
//!
//! Left out: failed members, and the division of the controller into two halves.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use foretell_algorithms::array::{
    CacheSettings, Controller, Destage, Hardware, Jobs, Layout, Level, Range, WriteCacheSettings,
};
use foretell_algorithms::cache::PolicyKind;
use foretell_algorithms::io_scheduler::{Io, SchedulerKind};
use foretell_algorithms::slab::Slab;
use foretell_units::{Bytes, Op, SECTOR_BYTES, Sectors, Seed, SimSpan, SimTime, Stream};

use super::buffer::by_size;
use super::measurement::{ArrayCacheFacts, ArrayFacts, WriteCacheFacts, index};
use super::{Disk, Done, Taken};

/// An array.
#[derive(Debug)]
pub(crate) struct Array {
    layout: Layout,
    controller: Controller,
    parts: Parts,
    /// Outstanding operations: waiting or in service.
    present: usize,
    done: Vec<Done>,
    /// Scratch buffer.
    member_done: Vec<Done>,
}

/// The parts of an array that take time, and the operations in the array.
#[derive(Debug)]
struct Parts {
    layout: Layout,
    members: Vec<Disk>,
    /// By member: when it is called next.
    calls: Vec<Option<SimTime>>,
    jobs: Jobs<Spent>,
    /// By [`Op`].
    ways: [Way; 2],
    requests: Slab<Request>,
    agenda: BinaryHeap<Reverse<(SimTime, u64, ArrayStep)>>,
    sequence: u64,
    /// Work of members that is not yet charged to any request.
    behind: SimSpan,
}

/// An event inside the array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum ArrayStep {
    /// A member's call is due.
    Member(u32),
    /// Written data have arrived in the controller.
    Arrived(u32),
    /// An operation completes for the host.
    Done(u32),
}

/// What members have spent on a job.
#[derive(Clone, Copy, Default, Debug)]
struct Spent {
    service: SimSpan,
    /// Time of its operations without queueing: the phases one after the other, the longest operation of each.
    alone: SimSpan,
    /// The longest operation of the phase that is under way.
    longest: SimSpan,
}

/// The way of data through the controller in one direction: its time by size in bytes, ns.
#[derive(Debug)]
struct Way {
    /// Time in which it can serve no other operation of that direction.
    line: Vec<(f64, f64)>,
    /// Its total time for an operation.
    alone: Vec<(f64, f64)>,
    free_at: SimTime,
}

impl Way {
    fn new(line: &[(u64, f64)], alone: &[(u64, f64)]) -> Self {
        let known =
            |all: &[(u64, f64)]| all.iter().map(|(bytes, ns)| (*bytes as f64, *ns)).collect();
        Self { line: known(line), alone: known(alone), free_at: SimTime::ZERO }
    }

    /// Schedules an operation. Returns when its transfer ends, and the transfer time.
    fn book(&mut self, now: SimTime, bytes: u64) -> (SimTime, SimSpan) {
        let line = SimSpan::from_ns(by_size(&self.line, bytes as f64) as u64);
        self.free_at = self.free_at.max(now) + line;
        (self.free_at, line)
    }

    /// The rest of the controller's time, which delays no other operation.
    fn delay(&self, bytes: u64) -> SimSpan {
        let rest = by_size(&self.alone, bytes as f64) - by_size(&self.line, bytes as f64);
        SimSpan::from_ns(rest.max(1000.0) as u64)
    }
}

/// An operation in the array.
#[derive(Clone, Copy, Debug)]
struct Request {
    tag: u32,
    op: Op,
    range: Range,
    thread: u64,
    service: SimSpan,
    /// Time of the awaited jobs without queueing.
    alone: SimSpan,
    work: SimSpan,
}

impl Request {
    fn bytes(&self) -> u64 {
        (self.range.1 - self.range.0) * SECTOR_BYTES
    }
}

impl Array {
    /// An idle array with empty caches.
    pub(super) fn new(kind: SchedulerKind, facts: &ArrayFacts, mut stream: Stream) -> Self {
        let level = Level::ALL.into_iter().find(|level| level.name() == facts.level);
        let sectors = facts.member.capacity_bytes / SECTOR_BYTES;
        let unit = (facts.stripe_unit_bytes / SECTOR_BYTES).max(1);
        let layout = Layout::new(level.unwrap_or(Level::Raid0), facts.members, unit, sectors);
        let member = Arc::new(facts.member.clone());
        let members = (0..facts.members).map(|number| {
            let stream = Seed(stream.bits()).stream(&format!("member{number}"));
            Disk::new(kind, &member, stream)
        });
        let members: Vec<Disk> = members.collect();
        let write = facts.cache.as_ref().and_then(write_cache);
        let cache = facts.cache.as_ref().map(cache);
        Self {
            layout,
            controller: Controller::new(layout, facts.members, cache.as_ref(), write.as_ref()),
            parts: Parts {
                layout,
                calls: vec![None; members.len()],
                members,
                jobs: Jobs::new(0),
                ways: [Op::Read, Op::Write]
                    .map(|op| Way::new(&facts.line_ns[index(op)], &facts.controller_ns[index(op)])),
                requests: Slab::new(),
                agenda: BinaryHeap::new(),
                sequence: 0,
                behind: SimSpan::ZERO,
            },
            present: 0,
            done: Vec::new(),
            member_done: Vec::new(),
        }
    }

    /// Adds an operation. Returns when to call again.
    pub(super) fn submit(&mut self, now: SimTime, io: Io<u32>) -> Option<SimTime> {
        self.run(now);
        self.present += 1;
        let range = self.layout.range(io.lbn, io.sectors);
        let id = self.parts.arrives(now, &io, range);
        if io.op == Op::Read {
            self.controller.read(now, id, range, io.thread, &mut self.parts);
        }
        self.next(now)
    }

    /// Appends the completed operations. Returns when to call again.
    pub(super) fn complete(&mut self, now: SimTime, done: &mut Vec<Done>) -> Option<SimTime> {
        self.run(now);
        done.append(&mut self.done);
        self.next(now)
    }

    fn next(&self, now: SimTime) -> Option<SimTime> {
        if !self.done.is_empty() {
            return Some(now);
        }
        self.parts.agenda.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Processes all events up to `now`.
    fn run(&mut self, now: SimTime) {
        while let Some((at, step)) = self.parts.next_step(now) {
            match step {
                ArrayStep::Member(member) => self.call(at, member),
                ArrayStep::Arrived(id) => {
                    let Request { range, thread, .. } = self.parts.requests[id];
                    self.controller.write(at, id, range, thread, &mut self.parts);
                }
                ArrayStep::Done(id) => {
                    self.present -= 1;
                    self.done.push(self.parts.leaves(id));
                }
            }
        }
    }

    /// A call of a member is due.
    fn call(&mut self, now: SimTime, member: u32) {
        let mut done = std::mem::take(&mut self.member_done);
        self.parts.call(now, member, &mut done);
        for Done { number: job, taken } in done.drain(..) {
            if let Some(spent) = self.parts.operation_done(now, job, taken) {
                self.controller.done(now, job, spent, &mut self.parts);
            }
        }
        self.member_done = done;
    }

    /// An operation that takes no time; only the caches change.
    pub(super) fn touch(&mut self, now: SimTime, op: Op, lbn: Sectors, sectors: Sectors) {
        self.controller.touch(now, op, self.layout.range(lbn, sectors));
    }

    /// Its members.
    pub(super) fn members_mut(&mut self) -> &mut [Disk] {
        &mut self.parts.members
    }

    /// Outstanding operations: waiting or in service.
    pub(super) fn present(&self) -> usize {
        self.present
    }

    /// Mean time for which the host saw its members busy.
    pub(super) fn busy(&self) -> SimSpan {
        let members = &self.parts.members;
        members.iter().map(Disk::busy).sum::<SimSpan>() / members.len() as u64
    }

    /// Mean time for which its members had work.
    pub(super) fn worked(&self) -> SimSpan {
        let members = &self.parts.members;
        members.iter().map(Disk::worked).sum::<SimSpan>() / members.len() as u64
    }
}

impl Parts {
    fn schedule(&mut self, at: SimTime, step: ArrayStep) {
        self.sequence += 1;
        self.agenda.push(Reverse((at, self.sequence, step)));
    }

    /// Takes the next event up to `now`, with its time.
    fn next_step(&mut self, now: SimTime) -> Option<(SimTime, ArrayStep)> {
        self.agenda.peek().filter(|Reverse((at, _, _))| *at <= now)?;
        self.agenda.pop().map(|Reverse((at, _, step))| (at, step))
    }

    /// An operation arrives. The data of a write go to the controller. Returns the operation's number.
    fn arrives(&mut self, now: SimTime, io: &Io<u32>, range: Range) -> u32 {
        let nothing = SimSpan::ZERO;
        let (service, alone, work) = (nothing, nothing, nothing);
        let &Io { tag, op, thread, .. } = io;
        let id = self.requests.insert(Request { tag, op, range, thread, service, alone, work });
        if op == Op::Write {
            let at = self.transfer(now, id);
            self.schedule(at, ArrayStep::Arrived(id));
        }
        id
    }

    /// Schedules the transfer of a request's data through the controller.
    fn transfer(&mut self, now: SimTime, id: u32) -> SimTime {
        let request = &mut self.requests[id];
        let (at, line) = self.ways[index(request.op)].book(now, request.bytes());
        request.service += line;
        request.work = request.work.max(line);
        at
    }

    /// The request ends after the controller's remaining delay.
    fn ends(&mut self, now: SimTime, id: u32) {
        let request = &self.requests[id];
        let delay = self.ways[index(request.op)].delay(request.bytes());
        self.schedule(now + delay, ArrayStep::Done(id));
    }

    /// Starts the next phase of a job. Returns whether there is one.
    fn begin(&mut self, now: SimTime, job: u32) -> bool {
        let spent = self.jobs.about(job);
        spent.alone += std::mem::take(&mut spent.longest);
        let Some(phase) = self.jobs.begin(job) else { return false };
        for piece in &phase.pieces {
            let (lbn, sectors) = (Sectors(piece.lbn), Sectors(piece.sectors));
            let io = Io { lbn, sectors, op: phase.op, thread: phase.thread, tag: job };
            let at = self.members[piece.member as usize].submit(now, io);
            self.name(piece.member, at);
        }
        true
    }

    /// Schedules a call of a member, unless an earlier one is scheduled.
    fn name(&mut self, member: u32, at: Option<SimTime>) {
        let Some(at) = at else { return };
        let call = &mut self.calls[member as usize];
        if call.is_none_or(|call| at < call) {
            *call = Some(at);
            self.schedule(at, ArrayStep::Member(member));
        }
    }

    /// A call of a member is due. Appends the operations that it has done.
    fn call(&mut self, now: SimTime, member: u32, done: &mut Vec<Done>) {
        if self.calls[member as usize] != Some(now) {
            return;
        }
        self.calls[member as usize] = None;
        let next = self.members[member as usize].complete(now, done);
        self.name(member, next);
    }

    /// A member has done an operation of a job. Returns what was spent on the job, if this was its last one.
    fn operation_done(&mut self, now: SimTime, job: u32, taken: Taken) -> Option<Spent> {
        let spent = self.jobs.about(job);
        spent.service += taken.work;
        spent.longest = spent.longest.max(taken.alone);
        if !self.jobs.done(job) || self.begin(now, job) {
            return None;
        }
        let spent = *self.jobs.about(job);
        if let Some(next) = self.jobs.end(job) {
            self.begin(now, next);
        }
        Some(spent)
    }

    /// An operation completes for the host.
    fn leaves(&mut self, id: u32) -> Done {
        let request = *self.requests.remove(id);
        let way = &self.ways[index(request.op)];
        let alone = by_size(&way.alone, request.bytes() as f64);
        let alone = request.alone + SimSpan::from_ns(alone as u64);
        // uncharged work of members is charged to the next requests that complete
        let work = request.work + std::mem::take(&mut self.behind);
        Done { number: request.tag, taken: Taken { service: request.service, work, alone } }
    }
}

impl Hardware for Parts {
    type Work = Spent;

    fn read(&mut self, now: SimTime, range: Range, thread: u64) -> u32 {
        let present = |member: u32| self.members[member as usize].present() as u64;
        let job = self.jobs.read(&self.layout, range, thread, Spent::default(), present);
        self.begin(now, job);
        job
    }

    fn write(&mut self, now: SimTime, stripe: u64, ranges: &[Range], thread: u64) -> u32 {
        let (job, may_begin) =
            self.jobs.write(&self.layout, stripe, ranges, thread, Spent::default());
        if may_begin {
            self.begin(now, job);
        }
        job
    }

    /// The data go to the host.
    fn fetched(&mut self, now: SimTime, request: u32) {
        let at = self.transfer(now, request);
        self.ends(at, request);
    }

    fn admitted(&mut self, now: SimTime, request: u32) {
        self.ends(now, request);
    }

    fn stored(&mut self, now: SimTime, request: u32) {
        self.ends(now, request);
    }

    /// A request is charged for the total service time of members, and for the time without queueing.
    fn charge(&mut self, request: Option<u32>, spent: Spent) {
        let share = spent.service / self.members.len() as u64;
        let Some(request) = request else {
            self.behind += share;
            return;
        };
        let request = &mut self.requests[request];
        request.service += spent.service;
        request.alone = request.alone.max(spent.alone);
        request.work += share;
    }
}

fn cache(cache: &ArrayCacheFacts) -> CacheSettings {
    CacheSettings {
        policy: cache.policy.parse().unwrap_or(PolicyKind::Lru),
        size: Bytes(cache.bytes),
        page: Bytes(cache.page_bytes.max(SECTOR_BYTES)),
        read_ahead: Bytes(cache.read_ahead_bytes),
    }
}

fn write_cache(cache: &ArrayCacheFacts) -> Option<WriteCacheSettings> {
    let WriteCacheFacts { bytes, low_bytes, high_bytes, destage } = cache.write.as_ref()?;
    let destage = Destage::ALL.into_iter().find(|known| known.name() == *destage);
    Some(WriteCacheSettings {
        size: Bytes(*bytes),
        marks: (Bytes(*low_bytes), Bytes(*high_bytes)),
        destage: destage.unwrap_or(Destage::Marks),
    })
}

#[cfg(test)]
mod tests {
    use super::super::measurement::{Measurement, Positioning, QUANTILES, nothing};
    use super::*;

    const MS: f64 = 1e6;
    const KIB4: Sectors = Sectors(8);

    /// Members that take 5 ms to position and transfer 100 MB/s; a controller that takes 0.1 ms.
    fn facts(level: &str, members: u32, cache: Option<ArrayCacheFacts>) -> ArrayFacts {
        let positioning = |distance_sectors| Positioning {
            from_sector: 0,
            distance_sectors,
            quantiles_ns: [5.0 * MS; QUANTILES],
        };
        let positioning = [-100_000, -64, 64, 100_000].map(positioning).to_vec();
        let member = Measurement { positioning: [positioning.clone(), positioning], ..nothing() };
        let sizes = |ns: f64| vec![(4096, ns), (65_536, ns)];
        ArrayFacts {
            level: level.to_owned(),
            members,
            stripe_unit_bytes: 64 << 10,
            member,
            cache,
            controller_ns: [sizes(0.1 * MS), sizes(0.1 * MS)],
            line_ns: [sizes(0.0), sizes(0.0)],
        }
    }

    /// A cache of 1024 pages, and a write cache of 64 pages.
    fn caches() -> ArrayCacheFacts {
        let write = WriteCacheFacts {
            bytes: 64 << 12,
            low_bytes: 32 << 12,
            high_bytes: 48 << 12,
            destage: "marks".to_owned(),
        };
        ArrayCacheFacts {
            bytes: 1024 << 12,
            page_bytes: 4096,
            policy: "lru".to_owned(),
            read_ahead_bytes: 0,
            write: Some(write),
        }
    }

    fn array(facts: &ArrayFacts) -> Array {
        Array::new(SchedulerKind::Elevator, facts, Seed(1).stream("disk"))
    }

    /// Submits operations at once. Returns when each is done after `at`, ms.
    fn times_ms(array: &mut Array, at: SimTime, ios: &[(Op, u64)]) -> Vec<f64> {
        let (mut times, mut done) = (vec![0.0; ios.len()], Vec::new());
        let mut call = None;
        for (tag, &(op, lbn)) in (0..).zip(ios) {
            let lbn = Sectors(lbn);
            call = array.submit(at, Io { lbn, sectors: KIB4, op, thread: 1, tag });
        }
        while let Some(now) = call {
            call = array.complete(now, &mut done);
            for Done { number, .. } in done.drain(..) {
                times[number as usize] = (now - at).as_ms_f64();
            }
            if array.present() == 0 {
                break;
            }
        }
        times
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 0.01, "{found} ms, not {expected}");
    }

    #[test]
    fn a_small_write_to_raid_5_reads_before_it_writes() {
        // 4 KiB transfer in 0.041 ms; old data and parity are read in parallel, then the new are written
        let mut five = array(&facts("raid5", 5, None));
        near(times_ms(&mut five, SimTime::ZERO, &[(Op::Write, 4000)])[0], 10.18);
        let mut zero = array(&facts("raid0", 4, None));
        near(times_ms(&mut zero, SimTime::ZERO, &[(Op::Write, 4000)])[0], 5.14);
        // units of 128 sectors: four reads on four members take no longer than one
        let reads: Vec<(Op, u64)> = (0..4).map(|unit| (Op::Read, 128 * unit + 40_960)).collect();
        for time in times_ms(&mut zero, SimTime::ZERO + SimSpan::from_secs(1), &reads) {
            near(time, 5.14);
        }
    }

    #[test]
    fn what_is_in_the_caches_needs_no_member_as_long_as_there_is_room() {
        let mut five = array(&facts("raid5", 5, Some(caches())));
        let at = SimTime::ZERO + SimSpan::from_secs(1);
        let burst: Vec<(Op, u64)> = (0..200).map(|page| (Op::Write, 4096 * page)).collect();
        let times = times_ms(&mut five, at, &burst);
        // the first 64 pages find room; each later one waits until another leaves
        for time in &times[..64] {
            near(*time, 0.1);
        }
        assert!(times[64] > 5.0 && times[199] > 200.0, "{} {}", times[64], times[199]);
        // each takes four operations of 5 ms on five members
        let each = (times[199] - times[99]) / 100.0;
        assert!((3.5..6.0).contains(&each), "{each} ms");
        let at = at + SimSpan::from_secs(60);
        near(times_ms(&mut five, at, &[(Op::Read, 4096 * 150)])[0], 0.1);
        near(times_ms(&mut five, at + SimSpan::from_secs(1), &[(Op::Read, 999_424)])[0], 5.14);
    }

    #[test]
    fn what_takes_no_time_is_remembered() {
        let mut ten = array(&facts("raid10", 4, Some(caches())));
        ten.touch(SimTime::ZERO, Op::Read, Sectors(8000), KIB4);
        ten.touch(SimTime::ZERO, Op::Write, Sectors(9000), KIB4);
        let found = times_ms(&mut ten, SimTime::ZERO, &[(Op::Read, 8000), (Op::Read, 9000)]);
        for time in found {
            near(time, 0.1);
        }
    }
}
