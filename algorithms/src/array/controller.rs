//! What an array's controller does with each operation, from its arrival to its end.
//!
//! A read takes pages from the cache, and waits for jobs of members that bring the missing ones. A write goes into
//! the write cache, and waits for room there if it is full. Without a write cache it waits until members have stored
//! its data. The write cache is destaged as its marks demand.
//!
//! The controller has no clock. What takes time is the caller's: [`Hardware`].

use std::collections::VecDeque;

use foretell_units::{Bytes, Op, SECTOR_BYTES, SimTime};

use super::cache::{Cache, CacheSettings, Missing};
use super::layout::{Layout, Range};
use super::written::{CacheHits, Destage, Marks, Written};

/// What takes time in an array: its members, and the ways of data through the controller.
pub trait Hardware {
    /// What members have spent on a job.
    type Work;

    /// Members begin to read sectors of the array. Returns the number of the job; numbers are dense.
    fn read(&mut self, now: SimTime, range: Range, thread: u64) -> u32;

    /// Members begin to write ranges of a stripe. Returns the number of the job; numbers are dense.
    fn write(&mut self, now: SimTime, stripe: u64, ranges: &[Range], thread: u64) -> u32;

    /// The data of a read are in the controller.
    fn fetched(&mut self, now: SimTime, request: u32);

    /// The data of a write are in the write cache.
    fn admitted(&mut self, now: SimTime, request: u32);

    /// The data of a write are on the members.
    fn stored(&mut self, now: SimTime, request: u32);

    /// Members have worked for a request, or for none in particular.
    fn charge(&mut self, request: Option<u32>, work: Self::Work);
}

/// Settings of the write cache, which keeps data without power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteCacheSettings {
    /// Its size.
    pub size: Bytes,
    /// Its low and high mark.
    pub marks: (Bytes, Bytes),
    /// When it is destaged.
    pub destage: Destage,
}

/// The controller of an array.
#[derive(Debug)]
pub struct Controller {
    layout: Layout,
    cache: Option<Cache>,
    /// Present only with a cache.
    write_cache: Option<WriteCache>,
    /// By the caller's number of a request.
    requests: Vec<Request>,
    /// By number of a job.
    purposes: Vec<Purpose>,
    /// Scratch buffers.
    missing: Vec<Missing>,
    awaited: Vec<u32>,
    ranges: Vec<Range>,
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

impl WriteCache {
    /// How many stripes should be in destaging now.
    fn wanted_destages(&self) -> u32 {
        self.marks.wanted(self.written.waiting(), !self.blocked.is_empty())
    }
}

/// The purpose of a job of members.
#[derive(Debug)]
enum Purpose {
    /// It fetches data. `ticket`: the cache's ticket if the data enter the cache; `waiting`: reads that wait for the
    /// data.
    Fetch { ticket: Option<u32>, waiting: Vec<u32> },
    /// It writes the data of a request through to the members.
    Store { request: u32 },
    /// It destages this number of pages from the write cache.
    Destage { pages: u64 },
}

/// A request in the array.
#[derive(Clone, Copy, Default, Debug)]
struct Request {
    range: Range,
    /// Number of jobs that it still waits for.
    waits: u32,
}

/// Stores the purpose of a job; jobs are numbered densely.
fn is_for(purposes: &mut Vec<Purpose>, job: u32, purpose: Purpose) {
    let job = job as usize;
    if job == purposes.len() {
        purposes.push(purpose);
    } else {
        purposes[job] = purpose;
    }
}

impl Controller {
    /// The controller of an array with this number of members, with empty caches. There is a write cache only if
    /// there is a cache.
    pub fn new(
        layout: Layout,
        members: u32,
        cache: Option<&CacheSettings>,
        write: Option<&WriteCacheSettings>,
    ) -> Self {
        let write_cache = cache.zip(write).map(|(cache, write)| {
            let pages = |bytes: Bytes| bytes.get() / cache.page.get();
            let stripe = pages(Bytes(layout.stripe() * SECTOR_BYTES)).max(1);
            let (low, high) = (pages(write.marks.0), pages(write.marks.1));
            WriteCache {
                written: Written::new(pages(write.size), stripe),
                marks: Marks::new(write.destage, low, high, members),
                destages: 0,
                blocked: VecDeque::new(),
            }
        });
        Self {
            layout,
            cache: cache.map(|cache| Cache::new(cache, layout.sectors())),
            write_cache,
            requests: Vec::new(),
            purposes: Vec::new(),
            missing: Vec::new(),
            awaited: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// A read arrives. The caller's numbers of requests are dense, and are used again after a request has ended.
    pub fn read(
        &mut self,
        now: SimTime,
        id: u32,
        range: Range,
        thread: u64,
        hardware: &mut impl Hardware,
    ) {
        self.begin(id, range);
        let Some(cache) = &mut self.cache else {
            let job = hardware.read(now, range, thread);
            self.requests[id as usize].waits = 1;
            is_for(&mut self.purposes, job, Purpose::Fetch { ticket: None, waiting: vec![id] });
            return;
        };
        let written = self.write_cache.as_ref().map(|write| &write.written);
        self.missing.clear();
        self.awaited.clear();
        let ahead = cache.read(range, written, &mut self.missing, &mut self.awaited);
        let waits = self.awaited.len() + self.missing.len();
        self.requests[id as usize].waits = waits as u32;
        for job in &self.awaited {
            match &mut self.purposes[*job as usize] {
                Purpose::Fetch { waiting, .. } => waiting.push(id),
                other => unreachable!("{other:?} brings no pages"),
            }
        }
        self.fetch(now, thread, Some(id), hardware);
        if waits == 0 {
            hardware.fetched(now, id);
        }
        if let Some(ahead) = ahead
            && let Some(cache) = &mut self.cache
        {
            let written = self.write_cache.as_ref().map(|write| &write.written);
            self.missing.clear();
            cache.read_ahead(ahead, written, &mut self.missing);
            self.fetch(now, thread, None, hardware);
        }
    }

    /// A request begins in the controller.
    fn begin(&mut self, id: u32, range: Range) {
        let id = id as usize;
        if id >= self.requests.len() {
            self.requests.resize(id + 1, Request::default());
        }
        self.requests[id] = Request { range, waits: 0 };
    }

    /// Starts the jobs that fetch missing data. A given request waits for them.
    fn fetch(&mut self, now: SimTime, thread: u64, id: Option<u32>, hardware: &mut impl Hardware) {
        let Some(cache) = &mut self.cache else { return };
        for missing in &self.missing {
            let job = hardware.read(now, missing.range, thread);
            let ticket = Some(cache.fetching(missing, job));
            let waiting = id.into_iter().collect();
            is_for(&mut self.purposes, job, Purpose::Fetch { ticket, waiting });
        }
    }

    /// The data of a write are in the controller. For the caller's numbers see [`Controller::read`].
    pub fn write(
        &mut self,
        now: SimTime,
        id: u32,
        range: Range,
        thread: u64,
        hardware: &mut impl Hardware,
    ) {
        self.begin(id, range);
        if let Some(write) = &mut self.write_cache {
            write.blocked.push_back(id);
            if write.blocked.len() == 1 {
                self.unblock(now, hardware);
            }
            return;
        }
        if let Some(cache) = &mut self.cache {
            cache.enter(now, range);
        }
        let stripe = self.layout.stripe();
        let (mut from, end) = range;
        while from < end {
            let number = from / stripe;
            let until = end.min((number + 1) * stripe);
            let range = (from - number * stripe, until - number * stripe);
            let job = hardware.write(now, number, &[range], thread);
            is_for(&mut self.purposes, job, Purpose::Store { request: id });
            self.requests[id as usize].waits += 1;
            from = until;
        }
    }

    /// Admits waiting writes to the write cache, in order, as long as there is room.
    fn unblock(&mut self, now: SimTime, hardware: &mut impl Hardware) {
        let (Some(write), Some(cache)) = (&mut self.write_cache, &mut self.cache) else { return };
        while let Some(&id) = write.blocked.front() {
            let range = self.requests[id as usize].range;
            let run = cache.run(range);
            if !write.written.write(run.first.index(), u64::from(run.pages)) {
                break;
            }
            write.blocked.pop_front();
            cache.enter(now, range);
            hardware.admitted(now, id);
        }
        self.destage(now, hardware);
    }

    /// Starts destaging stripes until the wanted number is in progress.
    fn destage(&mut self, now: SimTime, hardware: &mut impl Hardware) {
        let (Some(write), Some(cache)) = (&mut self.write_cache, &self.cache) else { return };
        write.marks.look(write.written.waiting());
        while write.destages < write.wanted_destages() {
            self.ranges.clear();
            let Some((stripe, pages)) = write.written.take_oldest(&mut self.ranges) else { break };
            let page = cache.page();
            for range in &mut self.ranges {
                *range = (range.0 * page, range.1 * page);
            }
            let job = hardware.write(now, stripe, &self.ranges, 0);
            write.destages += 1;
            is_for(&mut self.purposes, job, Purpose::Destage { pages });
        }
    }

    /// Members have done a job.
    pub fn done<H: Hardware>(&mut self, now: SimTime, job: u32, work: H::Work, hardware: &mut H) {
        let nothing = Purpose::Destage { pages: 0 };
        match std::mem::replace(&mut self.purposes[job as usize], nothing) {
            Purpose::Fetch { ticket, waiting } => {
                if let (Some(ticket), Some(cache)) = (ticket, &mut self.cache) {
                    cache.arrived(ticket);
                }
                // the job is charged to the first request only: others wait for the same data
                hardware.charge(waiting.first().copied(), work);
                for id in waiting {
                    if self.goes_on(id) {
                        hardware.fetched(now, id);
                    }
                }
            }
            Purpose::Store { request } => {
                hardware.charge(Some(request), work);
                if self.goes_on(request) {
                    hardware.stored(now, request);
                }
            }
            Purpose::Destage { pages } => {
                hardware.charge(None, work);
                if let Some(write) = &mut self.write_cache {
                    write.written.destaged(pages);
                    write.destages -= 1;
                }
                self.unblock(now, hardware);
            }
        }
    }

    /// A job for a request is done. Returns whether it was the last one.
    fn goes_on(&mut self, id: u32) -> bool {
        let request = &mut self.requests[id as usize];
        request.waits -= 1;
        request.waits == 0
    }

    /// Updates the caches for an operation that takes no time. Destaging takes no time either.
    pub fn touch(&mut self, now: SimTime, op: Op, range: Range) {
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

    /// Allocates memory for this number of bytes, which [`Controller::touch`] will bring.
    pub fn expect(&mut self, bytes: Bytes) {
        if let Some(cache) = &mut self.cache {
            cache.expect(bytes);
        }
    }

    /// Starts to count hits.
    pub fn mark(&mut self) {
        if let Some(cache) = &mut self.cache {
            cache.mark();
        }
        if let Some(write) = &mut self.write_cache {
            write.written.mark();
        }
    }

    /// Hits of reads, and of writes if there is a write cache; `None` without a cache.
    pub fn hits(&self) -> Option<(CacheHits, Option<CacheHits>)> {
        let write = self.write_cache.as_ref().map(|write| write.written.hits());
        self.cache.as_ref().map(|cache| (cache.hits(), write))
    }

    /// Bytes in the write cache, including those being destaged.
    pub fn written(&self) -> Bytes {
        match (&self.cache, &self.write_cache) {
            (Some(cache), Some(write)) => Bytes(write.written.held() * cache.page() * SECTOR_BYTES),
            _ => Bytes::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Sectors;

    use super::super::layout::Level;
    use super::*;
    use crate::cache::PolicyKind;

    #[test]
    fn a_linear_threshold_destages_the_more_the_fuller_the_cache_is() {
        // room for 1024 pages, marks at 512 and 768; each page is in its own stripe
        let layout = Layout::new(Level::Raid0, 4, 128, 1_000_000);
        let page = Bytes::kib(4);
        let cache = CacheSettings {
            policy: PolicyKind::Lru,
            size: page * 4096,
            page,
            read_ahead: Bytes::ZERO,
        };
        let marks = (page * 512, page * 768);
        let write = WriteCacheSettings { size: page * 1024, marks, destage: Destage::Linear };
        let mut array = Controller::new(layout, 4, Some(&cache), Some(&write));
        let touch = |array: &mut Controller, page: u64| {
            let range = layout.range(Sectors(page * layout.stripe()), Sectors(8));
            array.touch(SimTime::ZERO, Op::Write, range);
        };
        (0..512).for_each(|page| touch(&mut array, page));
        let wanted = |array: &Controller| array.write_cache.as_ref().unwrap().wanted_destages();
        assert_eq!(wanted(&array), 0);
        // at most 4 for each of 4 members: one more for each sixteenth of the way between the marks
        for (page, expected) in [(512, 1), (528, 2), (640, 9), (767, 16)] {
            let held = array.write_cache.as_ref().unwrap().written.waiting();
            (held..=page).for_each(|page| touch(&mut array, page));
            assert_eq!(wanted(&array), expected, "{page}");
        }
    }
}
