//! A node's buffer cache: which pages are in memory, and which of them are dirty or still being read.
//!
//! The replacement policy is a real one, from `algorithms`. A page enters at its miss, so hits and
//! misses are those of the policy on the plain sequence of references. A reference that hits a page
//! still being read waits for it. A dirty page that the policy evicts is written out at once and
//! leaves the cache without delaying anything (it stays in the write's own buffer). Parts of pages
//! are not distinguished: if a page is written in part, the node first reads the rest, as Linux
//! does.

use foldhash::fast::FixedState;
use foretell_units::{Breadcrumb, Bytes, SimTime};
use hashbrown::HashMap;

use crate::cache::{Access, AnyPolicy, Pages, Policy, Store};
use crate::slab::Slab;

/// A page of a file: the file number in the upper bits, the page number in the lower ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PageKey(u64);

/// Number of bits of the page number.
const PAGE_BITS: u32 = 40;

impl PageKey {
    /// Page `index` of `file`.
    pub fn new(file: u32, index: u64) -> Self {
        debug_assert!(index < 1 << PAGE_BITS && file < 1 << (64 - PAGE_BITS));
        Self((u64::from(file) << PAGE_BITS) | index)
    }

    /// The file.
    pub const fn file(self) -> u32 {
        (self.0 >> PAGE_BITS) as u32
    }

    /// The page's number in the file.
    pub const fn index(self) -> u64 {
        self.0 & ((1 << PAGE_BITS) - 1)
    }

    /// The page this number of pages later in the file.
    pub const fn plus(self, pages: u64) -> Self {
        Self(self.0 + pages)
    }
}

/// Consecutive pages of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The first.
    pub first: PageKey,
    /// Number of pages.
    pub pages: u32,
}

impl Run {
    fn extend(runs: &mut Vec<Self>, page: PageKey) {
        match runs.last_mut() {
            Some(run) if run.first.plus(u64::from(run.pages)) == page => run.pages += 1,
            _ => runs.push(Self { first: page, pages: 1 }),
        }
    }
}

/// Whose write dirtied a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Owner {
    /// The request.
    pub breadcrumb: Breadcrumb,
    /// Its workload, or [`super::NO_CLIENT`].
    pub workload: u32,
}

/// Records that `owner` had dirtied `page`. Extends the last run if it continues there.
fn own(owners: &mut Vec<(Run, Owner)>, page: PageKey, owner: Owner) {
    match owners.last_mut() {
        Some((run, last)) if *last == owner && run.first.plus(u64::from(run.pages)) == page => {
            run.pages += 1;
        }
        _ => owners.push((Run { first: page, pages: 1 }, owner)),
    }
}

/// The results of a read or a write of pages. The caller keeps and reuses it.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Pages that were in the cache.
    pub hits: Vec<Run>,
    /// Pages that must be read.
    pub misses: Vec<Run>,
    /// Slots of the missed pages, in order.
    missed_slots: Vec<u32>,
    /// Outstanding reads that bring requested pages.
    pub awaited: Vec<u32>,
    /// Clean pages that left.
    pub evicted: Vec<Run>,
    /// Dirty pages that left and must be written, with the request that dirtied them.
    pub spilled: Vec<(Run, Owner)>,
}

impl Effects {
    fn clear(&mut self) {
        self.hits.clear();
        self.misses.clear();
        self.missed_slots.clear();
        self.awaited.clear();
        self.evicted.clear();
        self.spilled.clear();
    }
}

/// The buffer cache of one node. A large cache is mostly at rest, so pages take memory here while they are read, and
/// slots up to the highest that was ever dirty.
#[derive(Clone, Debug)]
pub struct Buffer {
    policy: AnyPolicy<Pages>,
    page: Bytes,
    dirty: DirtyRuns,
    dirty_pages: u64,
    /// The dirty run of each page, or [`NONE`], by slot of the policy. Slots beyond the end are clean.
    dirty_run: Store<u32>,
    /// Outstanding reads, in the order of their tickets.
    reads: Vec<Outstanding>,
    /// Tickets of the reads that bring pages, by slot.
    arriving: HashMap<u32, u32, FixedState>,
    next_ticket: u32,
    /// Emptied lists of slots, for reads to come.
    spare: Vec<Vec<u32>>,
}

/// A read under way.
#[derive(Clone, Debug)]
struct Outstanding {
    ticket: u32,
    /// The caller's number.
    read: u32,
    /// Slots of the pages that it brings. A slot may be another page's by now.
    slots: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Buffer {
    /// An empty cache with pages of this size.
    pub fn new(policy: AnyPolicy<Pages>, page: Bytes) -> Self {
        Self {
            policy,
            page,
            dirty: DirtyRuns::new(),
            dirty_pages: 0,
            dirty_run: Store::default(),
            reads: Vec::new(),
            arriving: HashMap::with_hasher(FixedState::default()),
            next_ticket: 0,
            spare: Vec::new(),
        }
    }

    /// Allocates memory for this number of pages, up to the capacity, if they are known to come.
    pub fn reserve(&mut self, pages: u64) {
        let pages = usize::try_from(pages).unwrap_or(usize::MAX).min(self.policy.capacity());
        self.policy.reserve(pages);
    }

    /// Size of a page.
    pub fn page(&self) -> Bytes {
        self.page
    }

    /// Pages in the cache.
    pub fn pages(&self) -> u64 {
        self.policy.len() as u64
    }

    /// Dirty pages in the cache.
    pub fn dirty_pages(&self) -> u64 {
        self.dirty_pages
    }

    /// Looks up the pages of `run` for reading. Missed pages enter the cache. The caller starts
    /// their reads and reports them with [`Buffer::reading`].
    pub fn read(&mut self, run: Run, effects: &mut Effects) {
        effects.clear();
        let mut before = NONE;
        for index in 0..u64::from(run.pages) {
            let page = run.first.plus(index);
            let (slot, hit) = self.refer(page, effects);
            if !hit {
                Run::extend(&mut effects.misses, page);
                effects.missed_slots.push(slot);
                continue;
            }
            Run::extend(&mut effects.hits, page);
            let Some(&ticket) = self.arriving.get(&slot) else { continue };
            if ticket == before {
                continue;
            }
            before = ticket;
            let read = self.reads[self.under_way(ticket)].read;
            if !effects.awaited.contains(&read) {
                effects.awaited.push(read);
            }
        }
    }

    /// Enters the pages of `run` that are not in the cache, for read-ahead.
    pub fn read_ahead(&mut self, run: Run, effects: &mut Effects) {
        effects.clear();
        for index in 0..u64::from(run.pages) {
            let page = run.first.plus(index);
            if self.policy.contains(page.0).is_none() {
                let (slot, _) = self.refer(page, effects);
                Run::extend(&mut effects.misses, page);
                effects.missed_slots.push(slot);
            }
        }
    }

    /// Reports that read `read` brings the missed pages number `from..from + pages` of the last
    /// look-up. Returns the ticket for [`Buffer::arrived`].
    pub fn reading(&mut self, effects: &Effects, from: usize, pages: u32, read: u32) -> u32 {
        let ticket = self.next_ticket;
        self.next_ticket = if ticket + 1 == NONE { 0 } else { ticket + 1 };
        let mut slots = self.spare.pop().unwrap_or_default();
        slots.extend_from_slice(&effects.missed_slots[from..from + pages as usize]);
        self.arriving.extend(slots.iter().map(|slot| (*slot, ticket)));
        self.reads.push(Outstanding { ticket, read, slots });
        ticket
    }

    /// Whether a page is in the cache.
    pub fn contains(&self, page: PageKey) -> bool {
        self.policy.contains(page.0).is_some()
    }

    /// Reports that read `read` fills up a page that was written in part; no other request waits
    /// for it. Returns the ticket for [`Buffer::arrived`].
    pub fn filling(&mut self, read: u32) -> u32 {
        self.reading(&Effects::default(), 0, 0, read)
    }

    /// The read with this ticket has brought its pages.
    pub fn arrived(&mut self, ticket: u32) {
        let place = self.under_way(ticket);
        let mut slots = self.reads.remove(place).slots;
        for slot in slots.drain(..) {
            if self.arriving.get(&slot) == Some(&ticket) {
                self.arriving.remove(&slot);
            }
        }
        self.spare.push(slots);
    }

    /// The index of a ticket among the outstanding reads, which are in the order of their tickets.
    fn under_way(&self, ticket: u32) -> usize {
        let oldest = self.reads.first().map_or(ticket, |read| read.ticket);
        let age = |ticket: u32| ticket.wrapping_sub(oldest);
        let found = self.reads.binary_search_by_key(&age(ticket), |read| age(read.ticket));
        found.expect("it is under way")
    }

    /// Writes the pages of `run`. If `dirty`, they are dirty afterwards, otherwise they equal those on disk.
    pub fn write(
        &mut self,
        now: SimTime,
        run: Run,
        owner: Owner,
        dirty: bool,
        effects: &mut Effects,
    ) {
        effects.clear();
        // the write itself holds the run until its end: its pages may leave before that
        let fresh = if dirty { self.dirty.begin(run, owner, now) } else { NONE };
        for index in 0..u64::from(run.pages) {
            let page = run.first.plus(index);
            let (slot, _) = self.refer(page, effects);
            // the pages being read are now known, so that no request needs to wait for them
            self.arriving.remove(&slot);
            if dirty && self.dirty_run(slot) == NONE {
                self.dirty.runs[fresh].left += 1;
                *self.dirty_run_mut(slot) = fresh;
                self.dirty_pages += 1;
            }
        }
        if dirty {
            self.dirty.release(fresh);
        }
    }

    /// The time since which the oldest dirty page has been dirty.
    pub fn oldest_dirty(&self) -> Option<SimTime> {
        (self.dirty.oldest != NONE).then(|| self.dirty.runs[self.dirty.oldest].since)
    }

    /// Takes the oldest dirty page with its dirty neighbours, up to `most` pages in all, for
    /// writing. They are clean from now on. Appends to `owners` who had dirtied which pages.
    pub fn take_dirty(&mut self, most: u32, owners: &mut Vec<(Run, Owner)>) -> Option<Run> {
        let oldest = self.dirty.oldest;
        if oldest == NONE {
            return None;
        }
        let DirtyRun { run: whole, .. } = self.dirty.runs[oldest];
        let first = (0..u64::from(whole.pages))
            .map(|index| whole.first.plus(index))
            .find(|page| {
                let slot = self.policy.contains(page.0);
                slot.is_some_and(|slot| self.dirty_run(slot) == oldest)
            })
            .expect("a dirty run has dirty pages");
        let mut run = Run { first, pages: 0 };
        while run.pages < most {
            let page = run.first.plus(u64::from(run.pages));
            let Some(owner) = self.clean(page) else { break };
            own(owners, page, owner);
            run.pages += 1;
        }
        while run.pages < most && run.first.index() > 0 {
            let page = PageKey(run.first.0 - 1);
            let Some(owner) = self.clean(page) else { break };
            owners.push((Run { first: page, pages: 1 }, owner));
            run = Run { first: page, pages: run.pages + 1 };
        }
        Some(run)
    }

    /// Makes a page clean if it is in the cache and dirty. Returns who had dirtied it.
    fn clean(&mut self, page: PageKey) -> Option<Owner> {
        let run = self.take_dirty_run(self.policy.contains(page.0)?);
        (run != NONE).then(|| self.no_longer_dirty(run))
    }

    /// The dirty run of the page in this slot, or [`NONE`].
    fn dirty_run(&self, slot: u32) -> u32 {
        self.dirty_run.get(slot as usize).copied().unwrap_or(NONE)
    }

    fn dirty_run_mut(&mut self, slot: u32) -> &mut u32 {
        let slot = slot as usize;
        self.dirty_run.grow_to(slot + 1, NONE);
        self.dirty_run.at_mut(slot)
    }

    /// The same; the page is clean from now on.
    fn take_dirty_run(&mut self, slot: u32) -> u32 {
        let run = self.dirty_run(slot);
        if run != NONE {
            *self.dirty_run_mut(slot) = NONE;
        }
        run
    }

    /// A page of a dirty run is clean or gone. Returns who had dirtied it.
    fn no_longer_dirty(&mut self, run: u32) -> Owner {
        self.dirty_pages -= 1;
        let owner = self.dirty.runs[run].owner;
        self.dirty.release(run);
        owner
    }

    /// References `page`. Returns its slot and whether it was in the cache. Records evictions.
    fn refer(&mut self, page: PageKey, effects: &mut Effects) -> (u32, bool) {
        match self.policy.access(page.0) {
            Access::Hit { slot } => (slot, true),
            Access::Miss { slot, evicted } => {
                if let Some(evicted) = evicted {
                    self.arriving.remove(&evicted.slot);
                    let key = PageKey(evicted.key);
                    match self.take_dirty_run(evicted.slot) {
                        NONE => Run::extend(&mut effects.evicted, key),
                        run => {
                            let owner = self.no_longer_dirty(run);
                            own(&mut effects.spilled, key, owner);
                        }
                    }
                }
                // a page that left while it was read may have had this slot
                self.arriving.remove(&slot);
                (slot, false)
            }
        }
    }
}

/// Pages that one write dirtied, while any of them is dirty; a list by age.
#[derive(Clone, Debug)]
struct DirtyRuns {
    runs: Slab<DirtyRun>,
    oldest: u32,
    newest: u32,
}

#[derive(Clone, Copy, Debug)]
struct DirtyRun {
    run: Run,
    owner: Owner,
    since: SimTime,
    /// Number of pages still dirty from this write, plus one while the write itself goes on.
    left: u32,
    older: u32,
    newer: u32,
}

impl DirtyRuns {
    fn new() -> Self {
        Self { runs: Slab::new(), oldest: NONE, newest: NONE }
    }

    /// Begins a run, which its write holds until it releases it.
    fn begin(&mut self, run: Run, owner: Owner, since: SimTime) -> u32 {
        let older = self.newest;
        let id = self.runs.insert(DirtyRun { run, owner, since, left: 1, older, newer: NONE });
        self.newest = id;
        if older == NONE {
            self.oldest = id;
        } else {
            self.runs[older].newer = id;
        }
        id
    }

    /// Releases one hold on the run.
    fn release(&mut self, id: u32) {
        self.runs[id].left -= 1;
        if self.runs[id].left == 0 {
            self.end(id);
        }
    }

    fn end(&mut self, id: u32) {
        let DirtyRun { older, newer, .. } = *self.runs.remove(id);
        if older == NONE {
            self.oldest = newer;
        } else {
            self.runs[older].newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else {
            self.runs[newer].older = older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::PolicyKind;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// An operation on the buffer; page numbers are below 24.
    #[derive(Clone, Copy, Debug)]
    enum BufferStep {
        Read { first: u64, pages: u32 },
        Write { first: u64, pages: u32, dirty: bool },
        ReadAhead { first: u64, pages: u32 },
        TakeDirty { most: u32 },
    }

    fn step() -> impl Strategy<Value = BufferStep> {
        let run = || (0..24_u64, 1..6_u32);
        prop_oneof![
            2 => run().prop_map(|(first, pages)| BufferStep::Read { first, pages }),
            4 => (run(), prop::bool::weighted(0.9))
                .prop_map(|((first, pages), dirty)| BufferStep::Write { first, pages, dirty }),
            1 => run().prop_map(|(first, pages)| BufferStep::ReadAhead { first, pages }),
            2 => (1..8_u32).prop_map(|most| BufferStep::TakeDirty { most }),
        ]
    }

    fn run(first: u64, pages: u32) -> Run {
        Run { first: PageKey::new(0, first), pages }
    }

    fn pages(run: Run) -> impl Iterator<Item = u64> {
        (0..u64::from(run.pages)).map(move |index| run.first.plus(index).index())
    }

    /// The write that dirtied each dirty page, in a simple map.
    #[derive(Default)]
    struct Naive {
        dirty: BTreeMap<u64, u64>,
    }

    impl Naive {
        /// Pages have left the buffer; those of the write in progress may have been dirtied just before.
        fn left(&mut self, effects: &Effects, writing: Option<(Run, u64)>) {
            for (spilled, owner) in &effects.spilled {
                for page in pages(*spilled) {
                    if self.dirty.get(&page) == Some(&owner.breadcrumb.0) {
                        self.dirty.remove(&page);
                    } else {
                        let (run, write) = writing.expect("only a write makes pages dirty");
                        assert!(pages(run).any(|written| written == page), "{page} was clean");
                        assert_eq!(owner.breadcrumb.0, write);
                    }
                }
            }
        }

        fn are_clean(&self, evicted: &[Run]) {
            for page in evicted.iter().flat_map(|run| pages(*run)) {
                assert!(!self.dirty.contains_key(&page), "{page} was dirty");
            }
        }
    }

    /// A run that is longer than the cache drives out its own first pages while they are read.
    #[test]
    fn nobody_waits_for_a_read_of_a_page_that_left() {
        let policy = crate::cache::PolicyKind::Fifo.build_for_pages(2);
        let mut buffer = Buffer::new(policy, Bytes::kib(4));
        let mut effects = Effects::default();
        let run = |first, pages| Run { first: PageKey::new(0, first), pages };
        buffer.read(run(100, 3), &mut effects);
        let ticket = buffer.reading(&effects, 0, 3, 7);
        buffer.read(run(102, 1), &mut effects);
        assert_eq!((effects.hits.len(), effects.awaited.as_slice()), (1, &[7][..]));
        // another cache has page 100, so nothing is read
        buffer.read(run(100, 1), &mut effects);
        assert_eq!((effects.misses.len(), effects.awaited.len()), (1, 0));
        buffer.read(run(100, 1), &mut effects);
        assert_eq!((effects.hits.len(), effects.awaited.len()), (1, 0));
        buffer.arrived(ticket);
        buffer.read(run(102, 1), &mut effects);
        assert_eq!((effects.hits.len(), effects.awaited.len()), (1, 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

        /// Each dirtied page is dirty until it is spilled or taken, exactly once. This holds for
        /// every policy, and for writes larger than the cache.
        #[test]
        fn dirty_pages_are_those_of_a_map(
            policy in prop::sample::select(PolicyKind::ALL.to_vec()),
            capacity in 1_usize..9,
            steps in prop::collection::vec(step(), 1..60),
        ) {
            let mut buffer = Buffer::new(policy.build_for_pages(capacity), Bytes::kib(4));
            let (mut naive, mut effects) = (Naive::default(), Effects::default());
            for (number, step) in (1..).zip(steps) {
                let now = SimTime::from_ns(number);
                match step {
                    BufferStep::Read { first, pages } => {
                        buffer.read(run(first, pages), &mut effects);
                        let found: u32 = effects.hits.iter().map(|run| run.pages).sum();
                        let missed: u32 = effects.misses.iter().map(|run| run.pages).sum();
                        prop_assert_eq!(found + missed, pages);
                        // a page may leave dirty, be read again, and leave clean
                        naive.left(&effects, None);
                        naive.are_clean(&effects.evicted);
                    }
                    BufferStep::ReadAhead { first, pages } => {
                        buffer.read_ahead(run(first, pages), &mut effects);
                        // a page may leave dirty, be read again, and leave clean
                        naive.left(&effects, None);
                        naive.are_clean(&effects.evicted);
                    }
                    BufferStep::Write { first, pages: count, dirty } => {
                        let owner = Owner { breadcrumb: Breadcrumb(number), workload: 0 };
                        let run = run(first, count);
                        buffer.write(now, run, owner, dirty, &mut effects);
                        naive.left(&effects, dirty.then_some((run, number)));
                        for page in pages(run).filter(|_| dirty) {
                            // with a run larger than the cache, the first pages have already left
                            if buffer.policy.contains(PageKey::new(0, page).0).is_some() {
                                naive.dirty.entry(page).or_insert(number);
                            }
                        }
                    }
                    BufferStep::TakeDirty { most } => {
                        let mut owners = Vec::new();
                        let taken = buffer.take_dirty(most, &mut owners);
                        prop_assert_eq!(taken.is_some(), !naive.dirty.is_empty());
                        let Some(taken) = taken else { continue };
                        prop_assert!(taken.pages >= 1 && taken.pages <= most);
                        let oldest = naive.dirty.values().min().copied();
                        let mut since = Vec::new();
                        for page in pages(taken) {
                            since.push(naive.dirty.remove(&page).expect("it was dirty"));
                        }
                        prop_assert!(since.contains(&oldest.unwrap()));
                        let mut owned: Vec<(u64, u64)> = owners
                            .iter()
                            .flat_map(|(run, owner)| pages(*run).map(|page| (page, owner.breadcrumb.0)))
                            .collect();
                        owned.sort_unstable();
                        let wanted: Vec<(u64, u64)> = pages(taken).zip(since).collect();
                        prop_assert_eq!(owned, wanted);
                    }
                }
                prop_assert_eq!(buffer.dirty_pages(), naive.dirty.len() as u64);
                prop_assert_eq!(
                    buffer.oldest_dirty().map(SimTime::as_ns),
                    naive.dirty.values().min().copied()
                );
            }
        }
    }
}
