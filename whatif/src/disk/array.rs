//! The model of an array: its controller in front of measured members.
//!
//! The controller's decisions follow from its level, its members and the sizes of its caches
//! ([`foretell_algorithms::array`]): where sectors lie, what members read and write, what its caches hold,
//! when written data are destaged. The service times were measured: those of a single member, and those of
//! the controller for operations that need no member.
//!
//! Left out: failed members, and the division of the controller into two halves.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use foretell_algorithms::array::{
    Cache, CacheSettings, Destage, Layout, Level, Marks, Missing, Piece, Range, Written,
};
use foretell_algorithms::cache::PolicyKind;
use foretell_algorithms::io_scheduler::{Io, SchedulerKind};
use foretell_algorithms::slab::Slab;
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, Op, SECTOR_BYTES, Sectors, Seed, SimSpan, SimTime, Stream};

use super::buffer::by_size;
use super::measurement::{ArrayCacheFacts, ArrayFacts, WriteCacheFacts, index};
use super::{Disk, Done, Taken};

/// An array.
#[derive(Debug)]
pub(crate) struct Array {
    layout: Layout,
    members: Vec<Disk>,
    /// By member: when it is called next.
    calls: Vec<Option<SimTime>>,
    /// The copy that a read used last.
    turn: u32,
    cache: Option<Cache>,
    write_cache: Option<WriteCache>,
    /// By [`Op`].
    controller: [Controller; 2],
    requests: Slab<Request>,
    jobs: Slab<Job>,
    /// Locked stripes (being written), and the jobs that wait for each.
    locked: SortedMap<u64, VecDeque<u32>>,
    agenda: BinaryHeap<Reverse<(SimTime, u64, Step)>>,
    sequence: u64,
    /// Outstanding operations: waiting or in service.
    present: usize,
    done: Vec<Done>,
    /// Work of members that is not yet charged to any request.
    behind: SimSpan,
    /// Scratch buffers.
    missing: Vec<Missing>,
    awaited: Vec<u32>,
    ranges: Vec<Range>,
    member_done: Vec<Done>,
}

/// An event inside the array.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    /// A member's call is due.
    Member(u32),
    /// Written data have arrived in the controller.
    Arrived(u32),
    /// An operation completes for the host.
    Done(u32),
}

/// The controller's time for an operation in one direction, by size in bytes, ns.
#[derive(Debug)]
struct Controller {
    /// Time in which it can serve no other operation of that direction.
    line: Vec<(f64, f64)>,
    /// Its total time for an operation.
    alone: Vec<(f64, f64)>,
    free_at: SimTime,
}

impl Controller {
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

#[derive(Debug)]
struct WriteCache {
    written: Written,
    marks: Marks,
    /// Stripes that are being destaged.
    destages: u32,
    /// Writes that wait for room.
    blocked: VecDeque<u32>,
}

/// An operation in the array.
#[derive(Clone, Copy, Debug)]
struct Request {
    tag: u32,
    op: Op,
    range: Range,
    thread: u64,
    /// Jobs that it waits for.
    waits: u32,
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

/// Operations on members that together serve one purpose.
#[derive(Debug)]
struct Job {
    purpose: Purpose,
    /// Outstanding operations.
    left: u32,
    /// Pieces to read first, and to write after that.
    reads: Vec<Piece>,
    writes: Vec<Piece>,
    /// The stripe that it has locked or waits for.
    stripe: Option<u64>,
    thread: u64,
    service: SimSpan,
    /// Time of its operations without queueing: the phases one after the other, the longest operation of each.
    alone: SimSpan,
    longest: SimSpan,
}

#[derive(Debug)]
enum Purpose {
    /// Reads missing data: the cache's ticket if the data enter the cache, and the requests that wait for them.
    Fetch { ticket: Option<u32>, waiting: Vec<u32> },
    /// Writes through for a request.
    Store { request: u32 },
    /// Destages this number of pages from the write cache.
    Destage { pages: u64 },
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
        let caches = facts.cache.as_ref();
        Self {
            layout,
            calls: vec![None; members.len()],
            members,
            turn: 0,
            cache: caches.map(|cache| Cache::new(&settings(cache), layout.sectors())),
            write_cache: caches.and_then(|cache| write_cache(cache, &layout, facts.members)),
            controller: [Op::Read, Op::Write].map(|op| {
                Controller::new(&facts.line_ns[index(op)], &facts.controller_ns[index(op)])
            }),
            requests: Slab::new(),
            jobs: Slab::new(),
            locked: SortedMap::new(),
            agenda: BinaryHeap::new(),
            sequence: 0,
            present: 0,
            done: Vec::new(),
            behind: SimSpan::ZERO,
            missing: Vec::new(),
            awaited: Vec::new(),
            ranges: Vec::new(),
            member_done: Vec::new(),
        }
    }

    /// The sectors of an operation, clamped to the array's size.
    fn range(&self, lbn: Sectors, sectors: Sectors) -> Range {
        let last = self.layout.sectors();
        let first = lbn.get().min(last - 1);
        (first, (first + sectors.get().max(1)).min(last))
    }

    /// Adds an operation. Returns when to call again.
    pub(super) fn submit(&mut self, now: SimTime, io: Io<u32>) -> Option<SimTime> {
        self.run(now);
        self.present += 1;
        let range = self.range(io.lbn, io.sectors);
        let id = self.requests.insert(Request {
            tag: io.tag,
            op: io.op,
            range,
            thread: io.thread,
            waits: 0,
            service: SimSpan::ZERO,
            alone: SimSpan::ZERO,
            work: SimSpan::ZERO,
        });
        match io.op {
            Op::Read => self.read(now, id),
            Op::Write => {
                let at = self.transfer(now, id);
                self.schedule(at, Step::Arrived(id));
            }
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
        self.agenda.peek().map(|Reverse((at, _, _))| *at)
    }

    fn schedule(&mut self, at: SimTime, step: Step) {
        self.sequence += 1;
        self.agenda.push(Reverse((at, self.sequence, step)));
    }

    /// Processes all events up to `now`.
    fn run(&mut self, now: SimTime) {
        while self.agenda.peek().is_some_and(|Reverse((at, _, _))| *at <= now) {
            let Some(Reverse((at, _, step))) = self.agenda.pop() else { break };
            match step {
                Step::Member(member) => self.call(at, member),
                Step::Arrived(id) => self.arrives(at, id),
                Step::Done(id) => self.leaves(id),
            }
        }
    }

    /// Schedules the transfer of a request's data through the controller.
    fn transfer(&mut self, now: SimTime, id: u32) -> SimTime {
        let request = &mut self.requests[id];
        let (at, line) = self.controller[index(request.op)].book(now, request.bytes());
        request.service += line;
        request.work = request.work.max(line);
        at
    }

    fn read(&mut self, now: SimTime, id: u32) {
        let Request { range, thread, .. } = self.requests[id];
        let Some(cache) = &mut self.cache else {
            self.requests[id].waits = 1;
            self.fetch(now, range, thread, Purpose::Fetch { ticket: None, waiting: vec![id] });
            return;
        };
        let written = self.write_cache.as_ref().map(|write| &write.written);
        self.missing.clear();
        self.awaited.clear();
        let ahead = cache.read(range, written, &mut self.missing, &mut self.awaited);
        let waits = self.awaited.len() + self.missing.len();
        self.requests[id].waits = waits as u32;
        for job in &self.awaited {
            if let Purpose::Fetch { waiting, .. } = &mut self.jobs[*job].purpose {
                waiting.push(id);
            }
        }
        self.fetch_missing(now, thread, Some(id));
        if waits == 0 {
            self.send(now, id);
        }
        if let Some(ahead) = ahead
            && let Some(cache) = &mut self.cache
        {
            let written = self.write_cache.as_ref().map(|write| &write.written);
            self.missing.clear();
            cache.read_ahead(ahead, written, &mut self.missing);
            self.fetch_missing(now, thread, None);
        }
    }

    /// Starts jobs that read the missing data. A given request waits for them.
    fn fetch_missing(&mut self, now: SimTime, thread: u64, id: Option<u32>) {
        let missing = std::mem::take(&mut self.missing);
        for missing in &missing {
            let waiting = id.into_iter().collect();
            let purpose = Purpose::Fetch { ticket: None, waiting };
            let job = self.fetch(now, missing.range, thread, purpose);
            let ticket = self.cache.as_mut().map(|cache| cache.fetching(missing, job));
            if let Purpose::Fetch { ticket: known, .. } = &mut self.jobs[job].purpose {
                *known = ticket;
            }
        }
        self.missing = missing;
    }

    /// Starts reading sectors.
    fn fetch(&mut self, now: SimTime, range: Range, thread: u64, purpose: Purpose) -> u32 {
        let mut reads = Vec::new();
        self.layout.pieces(range, &mut reads);
        let copies = self.layout.copies();
        for piece in &mut reads {
            piece.member += self.copy_to_read(piece.member, copies);
        }
        self.start(now, (reads, Vec::new()), None, thread, purpose)
    }

    /// Chooses one of the copies from `first` on to read: the one with the fewest outstanding
    /// operations. Ties go to the copy whose turn it is.
    fn copy_to_read(&mut self, first: u32, copies: u32) -> u32 {
        if copies == 1 {
            return 0;
        }
        self.turn = (self.turn + 1) % copies;
        let turns = (0..copies).map(|step| (self.turn + step) % copies);
        let copy = turns.min_by_key(|copy| self.members[(first + copy) as usize].present());
        copy.unwrap_or(0)
    }

    /// Starts to write ranges of a stripe.
    fn write(
        &mut self,
        now: SimTime,
        stripe: u64,
        ranges: &[Range],
        thread: u64,
        purpose: Purpose,
    ) {
        let locks = self.layout.parity(stripe).map(|_| stripe);
        let plan = self.layout.plan(stripe, ranges);
        self.start(now, (plan.reads, plan.writes), locks, thread, purpose);
    }

    fn start(
        &mut self,
        now: SimTime,
        (reads, writes): (Vec<Piece>, Vec<Piece>),
        stripe: Option<u64>,
        thread: u64,
        purpose: Purpose,
    ) -> u32 {
        let nothing = SimSpan::ZERO;
        let (service, alone, longest) = (nothing, nothing, nothing);
        let job = Job { purpose, left: 0, reads, writes, stripe, thread, service, alone, longest };
        let job = self.jobs.insert(job);
        if let Some(stripe) = stripe {
            if let Some(waiting) = self.locked.get_mut(&stripe) {
                waiting.push_back(job);
                return job;
            }
            self.locked.insert(stripe, VecDeque::new());
        }
        self.go_on(now, job);
        job
    }

    /// Starts the next phase of a job. Returns whether there is one.
    fn go_on(&mut self, now: SimTime, job: u32) -> bool {
        let state = &mut self.jobs[job];
        state.alone += std::mem::take(&mut state.longest);
        let (op, pieces) = if state.reads.is_empty() {
            (Op::Write, std::mem::take(&mut state.writes))
        } else {
            (Op::Read, std::mem::take(&mut state.reads))
        };
        state.left = pieces.len() as u32;
        let thread = state.thread;
        for piece in &pieces {
            let (lbn, sectors) = (Sectors(piece.lbn), Sectors(piece.sectors));
            let io = Io { lbn, sectors, op, thread, tag: job };
            let at = self.members[piece.member as usize].submit(now, io);
            self.name(piece.member, at);
        }
        !pieces.is_empty()
    }

    /// Schedules a call of a member, unless an earlier one is scheduled.
    fn name(&mut self, member: u32, at: Option<SimTime>) {
        let Some(at) = at else { return };
        let call = &mut self.calls[member as usize];
        if call.is_none_or(|call| at < call) {
            *call = Some(at);
            self.schedule(at, Step::Member(member));
        }
    }

    /// A call of a member is due.
    fn call(&mut self, now: SimTime, member: u32) {
        if self.calls[member as usize] != Some(now) {
            return;
        }
        self.calls[member as usize] = None;
        let mut done = std::mem::take(&mut self.member_done);
        let next = self.members[member as usize].complete(now, &mut done);
        self.name(member, next);
        for Done { number: job, taken } in done.drain(..) {
            let state = &mut self.jobs[job];
            state.service += taken.work;
            state.longest = state.longest.max(taken.alone);
            state.left -= 1;
            if state.left == 0 && !self.go_on(now, job) {
                self.job_done(now, job);
            }
        }
        self.member_done = done;
    }

    fn job_done(&mut self, now: SimTime, job: u32) {
        let nothing = Purpose::Destage { pages: 0 };
        let state = &mut self.jobs[job];
        let purpose = std::mem::replace(&mut state.purpose, nothing);
        let (stripe, service, alone) = (state.stripe, state.service, state.alone);
        self.jobs.remove(job);
        if let Some(stripe) = stripe {
            match self.locked.get_mut(&stripe).and_then(VecDeque::pop_front) {
                Some(next) => {
                    self.go_on(now, next);
                }
                None => {
                    self.locked.remove(&stripe);
                }
            }
        }
        let members = self.members.len() as u64;
        match purpose {
            Purpose::Fetch { ticket, waiting } => {
                if let (Some(ticket), Some(cache)) = (ticket, &mut self.cache) {
                    cache.arrived(ticket);
                }
                match waiting.first() {
                    Some(&first) => self.charge(first, (service, alone), members),
                    None => self.behind += service / members,
                }
                for id in waiting {
                    self.requests[id].waits -= 1;
                    if self.requests[id].waits == 0 {
                        self.send(now, id);
                    }
                }
            }
            Purpose::Store { request } => {
                self.charge(request, (service, alone), members);
                self.requests[request].waits -= 1;
                if self.requests[request].waits == 0 {
                    self.ends(now, request);
                }
            }
            Purpose::Destage { pages } => {
                self.behind += service / members;
                if let Some(write) = &mut self.write_cache {
                    write.written.destaged(pages);
                    write.destages -= 1;
                }
                self.unblock(now);
            }
        }
    }

    /// Charges a request for the work of members: their total service time, and the time without queueing.
    fn charge(&mut self, id: u32, (service, alone): (SimSpan, SimSpan), members: u64) {
        let request = &mut self.requests[id];
        request.service += service;
        request.alone = request.alone.max(alone);
        request.work += service / members;
    }

    /// A read's data are in the controller and go to the host.
    fn send(&mut self, now: SimTime, id: u32) {
        let at = self.transfer(now, id);
        self.ends(at, id);
    }

    /// The request ends after the controller's remaining delay.
    fn ends(&mut self, now: SimTime, id: u32) {
        let request = &self.requests[id];
        let delay = self.controller[index(request.op)].delay(request.bytes());
        self.schedule(now + delay, Step::Done(id));
    }

    /// A write's data are in the controller.
    fn arrives(&mut self, now: SimTime, id: u32) {
        if let Some(write) = &mut self.write_cache {
            write.blocked.push_back(id);
            if write.blocked.len() == 1 {
                self.unblock(now);
            }
            return;
        }
        let Request { range, thread, .. } = self.requests[id];
        if let Some(cache) = &mut self.cache {
            cache.enter(now, range);
        }
        let stripe = self.layout.stripe();
        let (mut from, end) = range;
        self.requests[id].waits = ((end - 1) / stripe - from / stripe + 1) as u32;
        while from < end {
            let number = from / stripe;
            let until = end.min((number + 1) * stripe);
            let range = (from - number * stripe, until - number * stripe);
            self.write(now, number, &[range], thread, Purpose::Store { request: id });
            from = until;
        }
    }

    /// Admits writes into the write cache, in order, while there is room.
    fn unblock(&mut self, now: SimTime) {
        loop {
            let (Some(write), Some(cache)) = (&mut self.write_cache, &mut self.cache) else {
                return;
            };
            let Some(&id) = write.blocked.front() else { break };
            let range = self.requests[id].range;
            let run = cache.run(range);
            if !write.written.write(run.first.index(), u64::from(run.pages)) {
                break;
            }
            write.blocked.pop_front();
            cache.enter(now, range);
            self.ends(now, id);
        }
        self.destage(now);
    }

    /// Destages stripes from the write cache to the members, as its policy demands.
    fn destage(&mut self, now: SimTime) {
        if let Some(write) = &mut self.write_cache {
            write.marks.look(write.written.waiting());
        }
        loop {
            let (Some(write), Some(cache)) = (&mut self.write_cache, &self.cache) else { return };
            let wanted = write.marks.wanted(write.written.waiting(), !write.blocked.is_empty());
            if write.destages >= wanted {
                return;
            }
            let mut ranges = std::mem::take(&mut self.ranges);
            ranges.clear();
            let taken = write.written.take_oldest(&mut ranges);
            if let Some((stripe, pages)) = taken {
                let page = cache.page();
                for range in &mut ranges {
                    *range = (range.0 * page, range.1 * page);
                }
                write.destages += 1;
                self.write(now, stripe, &ranges, 0, Purpose::Destage { pages });
            }
            self.ranges = ranges;
            if taken.is_none() {
                return;
            }
        }
    }

    /// An operation completes for the host.
    fn leaves(&mut self, id: u32) {
        let request = *self.requests.remove(id);
        let controller = &self.controller[index(request.op)];
        let alone = by_size(&controller.alone, request.bytes() as f64);
        let alone = request.alone + SimSpan::from_ns(alone as u64);
        // uncharged work of members is charged to the next requests that complete
        let work = request.work + std::mem::take(&mut self.behind);
        let taken = Taken { service: request.service, work, alone };
        self.present -= 1;
        self.done.push(Done { number: request.tag, taken });
    }

    /// An operation that takes no time; only the caches change.
    pub(super) fn touch(&mut self, now: SimTime, op: Op, lbn: Sectors, sectors: Sectors) {
        let range = self.range(lbn, sectors);
        let Some(cache) = &mut self.cache else { return };
        if op == Op::Read {
            cache.touch(range);
            return;
        }
        cache.enter(now, range);
        let Some(write) = &mut self.write_cache else { return };
        let run = cache.run(range);
        write.written.write(run.first.index(), u64::from(run.pages));
        while write.written.waiting() > write.marks.high() {
            self.ranges.clear();
            let Some((_, pages)) = write.written.take_oldest(&mut self.ranges) else { break };
            write.written.destaged(pages);
        }
    }

    /// Its members.
    pub(super) fn members_mut(&mut self) -> &mut [Disk] {
        &mut self.members
    }

    /// Outstanding operations: waiting or in service.
    pub(super) fn present(&self) -> usize {
        self.present
    }

    /// Mean time for which the host saw its members busy.
    pub(super) fn busy(&self) -> SimSpan {
        self.members.iter().map(Disk::busy).sum::<SimSpan>() / self.members.len() as u64
    }

    /// Mean time for which its members had work.
    pub(super) fn worked(&self) -> SimSpan {
        self.members.iter().map(Disk::worked).sum::<SimSpan>() / self.members.len() as u64
    }
}

fn settings(cache: &ArrayCacheFacts) -> CacheSettings {
    CacheSettings {
        policy: cache.policy.parse().unwrap_or(PolicyKind::Lru),
        size: Bytes(cache.bytes),
        page: Bytes(cache.page_bytes.max(SECTOR_BYTES)),
        read_ahead: Bytes(cache.read_ahead_bytes),
    }
}

fn write_cache(cache: &ArrayCacheFacts, layout: &Layout, members: u32) -> Option<WriteCache> {
    let WriteCacheFacts { bytes, low_bytes, high_bytes, destage } = cache.write.as_ref()?;
    let pages = |bytes: u64| bytes / cache.page_bytes.max(SECTOR_BYTES);
    let destage = Destage::ALL.into_iter().find(|known| known.name() == *destage);
    let marks = (pages(*low_bytes), pages(*high_bytes));
    Some(WriteCache {
        written: Written::new(pages(*bytes), pages(layout.stripe() * SECTOR_BYTES).max(1)),
        marks: Marks::new(destage.unwrap_or(Destage::Marks), marks, members),
        destages: 0,
        blocked: VecDeque::new(),
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
