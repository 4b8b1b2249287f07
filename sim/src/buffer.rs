//! A node's buffer cache: which pages are in memory, which of them are dirty or still being read.
//!
//! The replacement policy is the one that a real node would run, from `algorithms`. A page enters
//! at the moment of its miss, so hits and misses are those of the policy on the plain sequence of
//! references; whoever hits a page that is still on its way waits for it. A dirty page that the
//! policy evicts is written out at once and leaves the cache without delaying anybody (it stays in
//! the write's own buffer). Parts of pages are not distinguished: a write of part of a page does
//! not read the rest first (as Linux, which keeps 512-byte buffers within a page, need not).

use std::collections::VecDeque;

use foretell_algorithms::cache::{Access, AnyPolicy, Policy};
use foretell_units::{Breadcrumb, Bytes, SimTime};

/// A page of a file: the file's number above, the page's below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct PageKey(u64);

/// Bits of the page number.
const PAGE_BITS: u32 = 40;

impl PageKey {
    /// Page `index` of `file`.
    pub(crate) fn new(file: u32, index: u64) -> Self {
        debug_assert!(index < 1 << PAGE_BITS && file < 1 << (64 - PAGE_BITS));
        Self((u64::from(file) << PAGE_BITS) | index)
    }

    /// The file.
    pub(crate) const fn file(self) -> u32 {
        (self.0 >> PAGE_BITS) as u32
    }

    /// The page's number in the file.
    pub(crate) const fn index(self) -> u64 {
        self.0 & ((1 << PAGE_BITS) - 1)
    }

    /// The page so many pages on.
    pub(crate) const fn plus(self, pages: u64) -> Self {
        Self(self.0 + pages)
    }
}

/// Pages that follow one another in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// The first.
    pub(crate) first: PageKey,
    /// How many.
    pub(crate) pages: u32,
}

impl Run {
    fn extend(runs: &mut Vec<Self>, page: PageKey) {
        match runs.last_mut() {
            Some(run) if run.first.plus(u64::from(run.pages)) == page => run.pages += 1,
            _ => runs.push(Self { first: page, pages: 1 }),
        }
    }
}

/// Notes that `owner` had dirtied `page`, which may continue the last run noted.
fn own(owners: &mut Vec<(Run, Breadcrumb)>, page: PageKey, owner: Breadcrumb) {
    match owners.last_mut() {
        Some((run, last)) if *last == owner && run.first.plus(u64::from(run.pages)) == page => {
            run.pages += 1;
        }
        _ => owners.push((Run { first: page, pages: 1 }, owner)),
    }
}

/// What a read or a write of pages leads to; kept by the caller and used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// Pages that were there.
    pub(crate) hits: Vec<Run>,
    /// Pages that must be read.
    pub(crate) misses: Vec<Run>,
    /// Slots of the missed pages, in order.
    missed_slots: Vec<u32>,
    /// Reads under way that bring pages that were asked for.
    pub(crate) awaited: Vec<u32>,
    /// Clean pages that left.
    pub(crate) evicted: Vec<Run>,
    /// Dirty pages that left and must be written, with the request that dirtied them.
    pub(crate) spilled: Vec<(Run, Breadcrumb)>,
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

/// The buffer cache of one node.
#[derive(Debug)]
pub(crate) struct Buffer {
    policy: AnyPolicy,
    page: Bytes,
    /// By slot of the policy.
    states: Vec<State>,
    /// Pages in the order in which they became dirty; some are clean again by now.
    dirtied: VecDeque<(PageKey, SimTime)>,
    dirty_pages: u64,
}

#[derive(Clone, Copy, Debug)]
struct State {
    /// Who dirtied the page.
    owner: Breadcrumb,
    /// The read that brings it, or [`NO_READ`].
    read: u32,
    dirty: bool,
}

const NO_READ: u32 = u32::MAX;
const CLEAN: State = State { owner: Breadcrumb::NONE, read: NO_READ, dirty: false };

impl Buffer {
    /// An empty cache with pages of that size.
    pub(crate) fn new(policy: AnyPolicy, page: Bytes) -> Self {
        Self { policy, page, states: Vec::new(), dirtied: VecDeque::new(), dirty_pages: 0 }
    }

    /// Size of a page.
    pub(crate) fn page(&self) -> Bytes {
        self.page
    }

    /// Dirty pages in the cache.
    pub(crate) fn dirty_pages(&self) -> u64 {
        self.dirty_pages
    }

    /// Looks the pages of `run` up for reading. Missed pages enter the cache; the caller starts
    /// their reads and tells with [`Buffer::reading`].
    pub(crate) fn read(&mut self, run: Run, effects: &mut Effects) {
        effects.clear();
        for index in 0..u64::from(run.pages) {
            let page = run.first.plus(index);
            match self.refer(page, effects) {
                (slot, true) => {
                    let read = self.states[slot].read;
                    if read != NO_READ && !effects.awaited.contains(&read) {
                        effects.awaited.push(read);
                    }
                    Run::extend(&mut effects.hits, page);
                }
                (slot, false) => {
                    Run::extend(&mut effects.misses, page);
                    effects.missed_slots.push(slot as u32);
                }
            }
        }
    }

    /// Enters those pages of `run` that are not in the cache, for reading ahead.
    pub(crate) fn read_ahead(&mut self, run: Run, effects: &mut Effects) {
        effects.clear();
        for index in 0..u64::from(run.pages) {
            let page = run.first.plus(index);
            if self.policy.contains(page.0).is_none() {
                let (slot, _) = self.refer(page, effects);
                Run::extend(&mut effects.misses, page);
                effects.missed_slots.push(slot as u32);
            }
        }
    }

    /// Read `read` brings the missed pages number `from..from + pages` of the last look-up.
    pub(crate) fn reading(&mut self, effects: &Effects, from: usize, pages: u32, read: u32) {
        for slot in &effects.missed_slots[from..from + pages as usize] {
            self.states[*slot as usize].read = read;
        }
    }

    /// Read `read` has brought the pages of `run`.
    pub(crate) fn arrived(&mut self, run: Run, read: u32) {
        for index in 0..u64::from(run.pages) {
            if let Some(slot) = self.policy.contains(run.first.plus(index).0) {
                let state = &mut self.states[slot as usize];
                if state.read == read {
                    state.read = NO_READ;
                }
            }
        }
    }

    /// Writes the pages of `run`; they are dirty afterwards if `dirty`, else they are as on disk.
    pub(crate) fn write(
        &mut self,
        now: SimTime,
        run: Run,
        owner: Breadcrumb,
        dirty: bool,
        effects: &mut Effects,
    ) {
        effects.clear();
        for index in 0..u64::from(run.pages) {
            let page = run.first.plus(index);
            let (slot, _) = self.refer(page, effects);
            let state = &mut self.states[slot];
            // what was being read is now known; nobody needs to wait for it
            state.read = NO_READ;
            if dirty {
                state.owner = owner;
                if !state.dirty {
                    state.dirty = true;
                    self.dirty_pages += 1;
                    self.dirtied.push_back((page, now));
                }
            }
        }
    }

    /// When the page that has been dirty longest became so.
    pub(crate) fn oldest_dirty(&mut self) -> Option<SimTime> {
        while let Some(&(page, since)) = self.dirtied.front() {
            if self.is_dirty(page).is_some() {
                return Some(since);
            }
            self.dirtied.pop_front();
        }
        None
    }

    /// Takes the page that has been dirty longest, and dirty neighbours up to `most` pages in all,
    /// to be written; they are clean from now on. Appends to `owners` who had dirtied which pages.
    pub(crate) fn take_dirty(&mut self, most: u32, owners: &mut Vec<(Run, Breadcrumb)>) -> Option<Run> {
        self.oldest_dirty()?;
        let (oldest, _) = self.dirtied.pop_front()?;
        let mut run = Run { first: oldest, pages: 0 };
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

    /// The slot of `page` if it is in the cache and dirty.
    fn is_dirty(&self, page: PageKey) -> Option<usize> {
        let slot = self.policy.contains(page.0)? as usize;
        self.states[slot].dirty.then_some(slot)
    }

    /// Makes a dirty page clean; who had dirtied it.
    fn clean(&mut self, page: PageKey) -> Option<Breadcrumb> {
        let slot = self.is_dirty(page)?;
        self.states[slot].dirty = false;
        self.dirty_pages -= 1;
        Some(self.states[slot].owner)
    }

    /// Refers to `page`; its slot, and whether it was there. Notes what had to leave.
    fn refer(&mut self, page: PageKey, effects: &mut Effects) -> (usize, bool) {
        match self.policy.access(page.0) {
            Access::Hit { slot } => (slot as usize, true),
            Access::Miss { slot, evicted } => {
                if let Some(evicted) = evicted {
                    let state = self.states[evicted.slot as usize];
                    let key = PageKey(evicted.key);
                    if state.dirty {
                        self.dirty_pages -= 1;
                        own(&mut effects.spilled, key, state.owner);
                    } else {
                        Run::extend(&mut effects.evicted, key);
                    }
                    self.states[evicted.slot as usize] = CLEAN;
                }
                let slot = slot as usize;
                if slot >= self.states.len() {
                    self.states.resize(slot + 1, CLEAN);
                }
                self.states[slot] = CLEAN;
                (slot, false)
            }
        }
    }
}
