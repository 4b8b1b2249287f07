//! The memory of an array's controller: its contents and its read-ahead.

use foretell_units::{Breadcrumb, Bytes, SECTOR_BYTES, SimTime};

use super::layout::Range;
use super::written::{CacheHits, Written};
use crate::cache::PolicyKind;
use crate::node::{Buffer, Effects, Owner, PageKey, Run, Streams};

/// Number of sequential streams that an array follows. Assumed, because a storage server has memory
/// for the streams of many hosts.
const STREAMS: usize = 256;

/// Owner of an array's pages: no request in particular.
const OWNER: Owner = Owner { breadcrumb: Breadcrumb::NONE, workload: u32::MAX };

/// Settings of the volatile cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheSettings {
    /// Replacement policy.
    pub policy: PolicyKind,
    /// Memory for pages.
    pub size: Bytes,
    /// Size of a page.
    pub page: Bytes,
    /// Maximum read-ahead of a sequential stream.
    pub read_ahead: Bytes,
}

/// Missed pages that must be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Missing {
    /// Sectors of the array.
    pub(super) range: Range,
    /// Index of the first among the missed pages.
    pub(super) slot: usize,
    /// Number of pages.
    pub(super) pages: u32,
}

/// The volatile cache.
#[derive(Debug)]
pub(super) struct Cache {
    buffer: Buffer,
    streams: Streams,
    effects: Effects,
    /// Sectors of a page.
    page: u64,
    /// Sectors of the array.
    sectors: u64,
    hits: CacheHits,
}

impl Cache {
    /// An empty cache of an array with this number of sectors.
    pub(super) fn new(spec: &CacheSettings, sectors: u64) -> Self {
        let pages = spec.size.get() / spec.page.get();
        let capacity = usize::try_from(pages).expect("a 64-bit machine");
        Self {
            buffer: Buffer::new(spec.policy.build_for_pages(capacity), spec.page),
            streams: Streams::following(STREAMS, (spec.read_ahead.get() / spec.page.get()) as u32),
            effects: Effects::default(),
            page: spec.page.get() / SECTOR_BYTES,
            sectors,
            hits: CacheHits::default(),
        }
    }

    /// Sectors of a page.
    pub(super) fn page(&self) -> u64 {
        self.page
    }

    /// Pages requested by reads since counting began, and the hits.
    pub(super) fn hits(&self) -> CacheHits {
        self.hits
    }

    /// Starts to count.
    pub(super) fn mark(&mut self) {
        self.hits = CacheHits::default();
    }

    /// The pages of a range of sectors.
    pub(super) fn run(&self, range: Range) -> Run {
        let (first, end) = range;
        let from = first / self.page;
        let pages = (end.div_ceil(self.page) - from) as u32;
        Run { first: PageKey::new(0, from), pages }
    }

    /// Reads a range. Appends the pages to fetch to `missing`, and the jobs to wait for to
    /// `awaited`. Returns the pages to read ahead. Pages that only the write cache holds are taken
    /// from there.
    pub(super) fn read(
        &mut self,
        range: Range,
        written: Option<&Written>,
        missing: &mut Vec<Missing>,
        awaited: &mut Vec<u32>,
    ) -> Option<Run> {
        let run = self.run(range);
        self.buffer.read(run, &mut self.effects);
        self.missing(written, missing);
        awaited.extend_from_slice(&self.effects.awaited);
        self.hits.pages += u64::from(run.pages);
        let missed: u64 = missing.iter().map(|missing| u64::from(missing.pages)).sum();
        self.hits.hits += u64::from(run.pages) - missed;
        self.streams.read(run, self.sectors.div_ceil(self.page))
    }

    /// Enters the pages of `run` that are not cached, for read-ahead. Appends them to `missing`.
    pub(super) fn read_ahead(
        &mut self,
        run: Run,
        written: Option<&Written>,
        missing: &mut Vec<Missing>,
    ) {
        self.buffer.read_ahead(run, &mut self.effects);
        self.missing(written, missing);
    }

    fn missing(&self, written: Option<&Written>, missing: &mut Vec<Missing>) {
        let mut slot = 0;
        for run in &self.effects.misses {
            let begin = missing.len();
            for page in run.first.index()..run.first.index() + u64::from(run.pages) {
                let here = written.is_some_and(|written| written.contains(page));
                if !here {
                    let (from, until) = (page * self.page, (page + 1) * self.page);
                    let until = until.min(self.sectors);
                    match missing[begin..].last_mut() {
                        Some(last) if last.range.1 == from => {
                            last.range.1 = until;
                            last.pages += 1;
                        }
                        _ => missing.push(Missing { range: (from, until), slot, pages: 1 }),
                    }
                }
                slot += 1;
            }
        }
    }

    /// Reports that `job` brings the missing pages of the last look-up. Returns the ticket for [`Cache::arrived`].
    pub(super) fn fetching(&mut self, missing: &Missing, job: u32) -> u32 {
        self.buffer.reading(&self.effects, missing.slot, missing.pages, job)
    }

    /// The job with this ticket has brought its pages.
    pub(super) fn arrived(&mut self, ticket: u32) {
        self.buffer.arrived(ticket);
    }

    /// Allocates memory for this number of bytes, which are known to come.
    pub(super) fn expect(&mut self, bytes: Bytes) {
        self.buffer.reserve(bytes.get().div_ceil(self.page * SECTOR_BYTES));
    }

    /// Sectors are read before the simulation begins, and are in the cache at once.
    pub(super) fn touch(&mut self, range: Range) {
        let run = self.run(range);
        self.buffer.read(run, &mut self.effects);
    }

    /// Written sectors enter the cache.
    pub(super) fn enter(&mut self, now: SimTime, range: Range) {
        let run = self.run(range);
        self.buffer.write(now, run, OWNER, false, &mut self.effects);
    }
}
