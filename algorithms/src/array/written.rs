//! The write cache: pages that hosts have written and that are not on the members yet.
//!
//! Pages are kept by stripe, and stripes in the order of their last write (LRW, the baseline of
//! Gill & Modha, WOW, FAST 2005): the least recently written stripe is destaged first, with all its
//! pages. A page takes room until it is on the members; if it is rewritten meanwhile, it takes room
//! twice.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::layout::Range;
use crate::slab::Slab;

const NONE: u32 = u32::MAX;

/// Pages of requests to an array's caches, and the hits among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CacheHits {
    /// Pages read, or written.
    pub pages: u64,
    /// For reads, pages that were in either cache or being fetched; for writes, pages that already
    /// waited to be destaged, so that the members are written only once.
    pub hits: u64,
}

/// When a write cache is destaged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destage {
    /// From the high mark down to the low mark, at the members' highest rate.
    Marks,
    /// Continuously: between the low and the high mark, the number of stripes being destaged grows
    /// from none to the maximum.
    Linear,
}

impl Destage {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Marks, Self::Linear];

    /// As scenarios call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Marks => "marks",
            Self::Linear => "linear",
        }
    }
}

/// Maximum number of stripes being destaged, for each member. Assumed, because it is enough for the
/// schedulers of the members to choose from.
const DESTAGES_PER_MEMBER: u32 = 4;

/// Controls the number of stripes that are destaged at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    destage: Destage,
    /// Pages above which it is destaged, and pages at which it stops.
    high: u64,
    low: u64,
    most: u32,
    /// Whether it is being destaged to the low mark.
    emptying: bool,
}

impl Marks {
    /// For an array with this number of members; marks are in pages.
    pub(super) fn new(destage: Destage, low: u64, high: u64, members: u32) -> Self {
        Self { destage, high, low, most: DESTAGES_PER_MEMBER * members, emptying: false }
    }

    /// Number of pages above which it is destaged.
    pub(super) fn high(&self) -> u64 {
        self.high
    }

    /// Updates whether to destage, given the number of waiting pages.
    pub(super) fn look(&mut self, waiting: u64) {
        self.emptying = waiting > self.high || (self.emptying && waiting > self.low);
    }

    /// Number of stripes that should be being destaged, with this number of waiting pages;
    /// `blocked`: writes wait for room.
    pub(super) fn wanted(&self, waiting: u64, blocked: bool) -> u32 {
        // if a write waits for room, destaging goes on at its highest rate
        if blocked {
            return self.most;
        }
        match self.destage {
            Destage::Marks if self.emptying && waiting > self.low => self.most,
            Destage::Marks => 0,
            Destage::Linear => {
                let (above, range) = (waiting.saturating_sub(self.low), self.high - self.low);
                let most = u64::from(self.most);
                (above * most).div_ceil(range.max(1)).min(most) as u32
            }
        }
    }
}

/// The written pages.
#[derive(Debug)]
pub(super) struct Written {
    /// Capacity in pages.
    capacity: u64,
    /// Pages of a stripe.
    stripe: u64,
    /// Pages that wait to be destaged.
    waiting: u64,
    /// Pages that are being destaged.
    leaving: u64,
    /// Pages written since counting began, and those that already waited.
    hits: CacheHits,
    by_number: HashMap<u64, u32, FixedState>,
    stripes: Slab<Stripe>,
    /// The least recently written stripe, and the most recently written one.
    oldest: u32,
    newest: u32,
}

/// The waiting pages of a stripe.
#[derive(Debug)]
struct Stripe {
    number: u64,
    pages: u32,
    /// A bit for each page.
    bits: Vec<u64>,
    older: u32,
    newer: u32,
}

impl Written {
    /// A cache of `capacity` pages with this number of pages in a stripe.
    pub(super) fn new(capacity: u64, stripe: u64) -> Self {
        Self {
            capacity,
            stripe,
            waiting: 0,
            leaving: 0,
            hits: CacheHits::default(),
            by_number: HashMap::with_hasher(FixedState::default()),
            stripes: Slab::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Pages that wait to be destaged.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Pages that take room.
    pub(super) fn held(&self) -> u64 {
        self.waiting + self.leaving
    }

    /// Pages written since counting began, and those that already waited.
    pub(super) fn hits(&self) -> CacheHits {
        self.hits
    }

    /// Starts to count.
    pub(super) fn mark(&mut self) {
        self.hits = CacheHits::default();
    }

    /// Whether a page waits to be destaged.
    pub(super) fn contains(&self, page: u64) -> bool {
        let Some(&id) = self.by_number.get(&(page / self.stripe)) else { return false };
        let within = page % self.stripe;
        self.stripes[id].bits[within as usize / 64] >> (within % 64) & 1 == 1
    }

    /// Writes `pages` from `first` on, if there is room for those that do not wait already, or if
    /// the cache is empty. Returns whether it did.
    pub(super) fn write(&mut self, first: u64, pages: u64) -> bool {
        let held = self.held();
        // nearly always there is room, whichever pages already wait
        if held > 0 && held + pages > self.capacity {
            let fresh = (first..first + pages).filter(|page| !self.contains(*page)).count();
            if held + fresh as u64 > self.capacity {
                return false;
            }
        }
        let before = self.waiting;
        let (mut page, end) = (first, first + pages);
        while page < end {
            let number = page / self.stripe;
            let until = end.min((number + 1) * self.stripe);
            self.add(number, page - number * self.stripe, until - number * self.stripe);
            page = until;
        }
        self.hits.pages += pages;
        self.hits.hits += pages - (self.waiting - before);
        true
    }

    fn add(&mut self, number: u64, from: u64, until: u64) {
        let id = if let Some(&id) = self.by_number.get(&number) {
            self.unlink(id);
            id
        } else {
            let words = self.stripe.div_ceil(64) as usize;
            let blank = Stripe { number, pages: 0, bits: Vec::new(), older: NONE, newer: NONE };
            let id = self.stripes.insert(blank);
            self.stripes[id].bits.resize(words, 0);
            self.by_number.insert(number, id);
            id
        };
        let stripe = &mut self.stripes[id];
        for page in from..until {
            let (word, bit) = (&mut stripe.bits[page as usize / 64], 1 << (page % 64));
            if *word & bit == 0 {
                *word |= bit;
                stripe.pages += 1;
                self.waiting += 1;
            }
        }
        self.link_newest(id);
    }

    /// Takes the pages of the least recently written stripe. Appends them to `ranges`, in pages of
    /// the stripe, and returns the stripe's number and its number of pages. They keep their room
    /// until [`Written::destaged`].
    pub(super) fn take_oldest(&mut self, ranges: &mut Vec<Range>) -> Option<(u64, u64)> {
        let id = self.oldest;
        if id == NONE {
            return None;
        }
        self.unlink(id);
        let stripe = self.stripes.remove(id);
        self.by_number.remove(&stripe.number);
        for (word, bits) in (0..).zip(&stripe.bits) {
            let mut bits = *bits;
            while bits != 0 {
                let from = bits.trailing_zeros();
                let length = (bits >> from).trailing_ones();
                let begin = word * 64 + u64::from(from);
                match ranges.last_mut() {
                    Some((_, until)) if *until == begin => *until += u64::from(length),
                    _ => ranges.push((begin, begin + u64::from(length))),
                }
                bits = if from + length == 64 {
                    0
                } else {
                    bits >> (from + length) << (from + length)
                };
            }
        }
        let pages = u64::from(stripe.pages);
        self.waiting -= pages;
        self.leaving += pages;
        Some((stripe.number, pages))
    }

    /// This number of pages that were taken are now on the members.
    pub(super) fn destaged(&mut self, pages: u64) {
        self.leaving -= pages;
    }

    fn link_newest(&mut self, id: u32) {
        let older = std::mem::replace(&mut self.newest, id);
        (self.stripes[id].older, self.stripes[id].newer) = (older, NONE);
        if older == NONE {
            self.oldest = id;
        } else {
            self.stripes[older].newer = id;
        }
    }

    fn unlink(&mut self, id: u32) {
        let &Stripe { older, newer, .. } = &self.stripes[id];
        if older == NONE {
            self.oldest = newer;
        } else {
            self.stripes[older].newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else {
            self.stripes[newer].older = older;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_stripe_left_alone_for_longest_leaves_first_with_all_its_pages() {
        let mut written = Written::new(100, 70);
        assert!(written.write(69, 3) && written.write(10, 2) && written.write(75, 1));
        // stripe 0 has pages 10, 11 and 69, stripe 1 (written last) 0, 1 and 5
        let mut ranges = Vec::new();
        assert_eq!(written.take_oldest(&mut ranges), Some((0, 3)));
        assert_eq!(ranges, [(10, 12), (69, 70)]);
        assert_eq!((written.waiting(), written.held()), (3, 6));
        ranges.clear();
        assert_eq!(written.take_oldest(&mut ranges), Some((1, 3)));
        assert_eq!(ranges, [(0, 2), (5, 6)]);
        written.destaged(6);
        assert_eq!((written.take_oldest(&mut ranges), written.held()), (None, 0));
    }

    #[test]
    fn writing_again_needs_no_room_but_while_the_page_leaves() {
        let mut written = Written::new(4, 8);
        assert!(written.write(0, 4));
        assert!(written.write(1, 3) && !written.write(3, 2));
        let mut ranges = Vec::new();
        written.take_oldest(&mut ranges);
        assert!(!written.write(0, 1));
        written.destaged(4);
        // a write larger than the cache is accepted by an empty one
        assert!(written.write(0, 9) && !written.write(20, 1));
    }

    proptest! {
        #[test]
        fn oracle_pages_match_a_list(
            capacity in 1_u64..200, stripe in 1_u64..150,
            steps in prop::collection::vec((0_u64..600, 0_u64..90), 1..200),
        ) {
            let mut written = Written::new(capacity, stripe);
            // pages in the order of the stripes' last writes; pages being destaged
            let mut list: Vec<(u64, Vec<u64>)> = Vec::new();
            let mut leaving = 0;
            for (first, pages) in steps {
                if pages == 0 {
                    let mut ranges = Vec::new();
                    let found = written.take_oldest(&mut ranges);
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    let count = expected.as_ref().map(|(number, pages)| (*number, pages.len() as u64));
                    prop_assert_eq!(found, count);
                    if let Some((number, mut pages)) = expected {
                        pages.sort_unstable();
                        let base = number * stripe;
                        let all = ranges.iter().flat_map(|&(from, until)| base + from..base + until);
                        prop_assert_eq!(all.collect::<Vec<_>>(), pages.clone());
                        prop_assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
                        leaving += pages.len() as u64;
                    }
                    // every other time the pages taken before arrive
                    if first % 2 == 0 {
                        written.destaged(leaving);
                        leaving = 0;
                    }
                } else {
                    let held = leaving + list.iter().map(|(_, pages)| pages.len() as u64).sum::<u64>();
                    let there = |page: &u64| list.iter().any(|(_, pages)| pages.contains(page));
                    let fresh = (first..first + pages).filter(|page| !there(page)).count() as u64;
                    let fits = held == 0 || held + fresh <= capacity;
                    prop_assert_eq!(written.write(first, pages), fits);
                    for page in (first..first + pages).filter(|_| fits) {
                        let place = list.iter().position(|(number, _)| *number == page / stripe);
                        let mut entry = match place {
                            Some(place) => list.remove(place),
                            None => (page / stripe, Vec::new()),
                        };
                        if !entry.1.contains(&page) {
                            entry.1.push(page);
                        }
                        list.push(entry);
                    }
                }
                let waiting = list.iter().map(|(_, pages)| pages.len() as u64).sum::<u64>();
                prop_assert_eq!((written.waiting(), written.held()), (waiting, waiting + leaving));
                prop_assert_eq!(written.contains(first), list.iter().any(|(_, p)| p.contains(&first)));
            }
        }
    }
}
