//! Maps the bytes of a node's files to its disks.
//!
//! Files lie one after the other in the node's address space, which is striped over the disks: a
//! row has one stripe on each disk. Each row begins with another disk, pseudo-randomly. Otherwise
//! the fragments that are read first, every n-th stripe of a file, would all lie on the same disks.
//! The in-place layout needs nothing else. In the log-structured layout a flushed page moves to the
//! head of a log. The log consists of segments, each contiguous on one disk, on the disks in turn.
//! It lies behind the files, or over their end if no space is left behind them. When the disks are
//! full, the log starts again at its beginning. The Activity DB grows without end: addresses beyond
//! the last byte wrap around to the first. Not modelled: file system metadata, fragmentation,
//! cleaning of the log.

use foldhash::fast::FixedState;
use foretell_units::{Bytes, SECTOR_BYTES, Sectors};
use hashbrown::HashMap;

use super::NodeSettings;
use super::buffer::PageKey;
use crate::mix;

/// A contiguous place on one disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// Which disk.
    pub disk: u32,
    /// First sector.
    pub lbn: Sectors,
    /// Contiguous bytes there.
    pub bytes: Bytes,
}

/// The address space of one node.
#[derive(Clone, Debug)]
pub struct AddressSpace {
    disks: u64,
    stripe: u64,
    page: u64,
    /// Where each file begins; the last element is the end of the files.
    bases: Vec<u64>,
    capacity: u64,
    log: Option<Log>,
}

#[derive(Clone, Debug)]
struct Log {
    segment: u64,
    /// On each disk: where the first segment begins, and the number of segments.
    base: u64,
    segments: u64,
    /// The segment being filled, counted over all disks in turn, and the bytes in it.
    filling: u64,
    filled: u64,
    /// Places of flushed pages.
    moved: HashMap<PageKey, Home, FixedState>,
}

/// A byte of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Home {
    disk: u32,
    at: u64,
}

impl AddressSpace {
    /// `file_sizes`: what each file needs on this node; zero if the node holds none of it.
    pub fn new(settings: &NodeSettings, file_sizes: &[Bytes]) -> Self {
        let stripe = settings.stripe.get().next_multiple_of(SECTOR_BYTES);
        let disks = u64::from(settings.disks);
        let smallest = settings.disk_capacity.get();
        let page = settings.page.get();
        let mut bases = vec![0];
        for size in file_sizes {
            let end = bases[bases.len() - 1] + size.get().next_multiple_of(page.max(stripe));
            bases.push(end);
        }
        let capacity = (smallest / stripe * stripe * disks).max(stripe);
        let log = match settings.log_segment {
            None => None,
            Some(segment) => {
                let whole_pages = smallest / page * page;
                let segment = segment.get().next_multiple_of(page).min(whole_pages).max(page);
                let files_end = bases[bases.len() - 1].div_ceil(stripe * disks) * stripe;
                let base = files_end.min(whole_pages.saturating_sub(segment));
                Some(Log {
                    segment,
                    base,
                    segments: ((whole_pages.saturating_sub(base)) / segment).max(1),
                    filling: 0,
                    filled: 0,
                    moved: HashMap::default(),
                })
            }
        };
        Self { disks, stripe, page, bases, capacity, log }
    }

    /// Bytes written to the log in one operation; `None`: pages are written in place.
    pub fn segment(&self) -> Option<Bytes> {
        self.log.as_ref().map(|log| Bytes(log.segment))
    }

    /// Locates the file's bytes from the beginning of `page` on, up to `most` of them.
    pub fn locate(&self, page: PageKey, most: Bytes) -> Extent {
        let home = self.bases[page.file() as usize] + page.index() * self.page;
        let Some(log) = &self.log else {
            return self.extent(home, most);
        };
        let pages = most.get().div_ceil(self.page);
        let first = log.moved.get(&page).copied();
        // as many pages as are adjacent both in the file and on the disk
        let together = (1..pages)
            .take_while(|&next| {
                let lies = log.moved.get(&page.plus(next)).copied();
                lies == first.map(|Home { disk, at }| Home { disk, at: at + next * self.page })
            })
            .count() as u64;
        let most = most.min(Bytes((together + 1) * self.page));
        match first {
            Some(Home { disk, at }) => {
                Extent { disk, lbn: Sectors(at / SECTOR_BYTES), bytes: most }
            }
            None => self.extent(home, most),
        }
    }

    /// Allocates room for these pages, at most a segment, at the head of the log: one extent.
    pub fn append(&mut self, pages: &[PageKey]) -> Extent {
        let (disks, page) = (self.disks, self.page);
        let bytes = pages.len() as u64 * page;
        let log = self.log.as_mut().expect("only a log is appended to");
        assert!(bytes <= log.segment, "{bytes} bytes for a segment of {}", log.segment);
        if log.filled + bytes > log.segment {
            log.filling = (log.filling + 1) % (log.segments * disks);
            log.filled = 0;
        }
        let disk = (log.filling % disks) as u32;
        let at = log.base + log.filling / disks * log.segment + log.filled;
        log.filled += bytes;
        for (index, key) in pages.iter().enumerate() {
            log.moved.insert(*key, Home { disk, at: at + index as u64 * page });
        }
        Extent { disk, lbn: Sectors(at / SECTOR_BYTES), bytes: Bytes(bytes) }
    }

    /// The parts of a disk that hold the first `size` bytes of a file, in the order of addresses: first byte
    /// and size of each. In the log-structured layout, the places that pages have before they move to the log.
    pub fn on_disk(&self, file: u32, size: Bytes, disk: u32) -> Vec<(Bytes, Bytes)> {
        let begin = self.bases[file as usize].min(self.capacity);
        let end = (begin + size.get()).min(self.capacity);
        let row_bytes = self.stripe * self.disks;
        let mut found: Vec<(u64, u64)> = Vec::new();
        let mut add = |from: u64, to: u64| match found.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ if from < to => found.push((from, to)),
            _ => {}
        };
        let (mut row, last) = (begin / row_bytes, end.div_ceil(row_bytes));
        while row < last {
            let (row_begin, whole) = (row * row_bytes, end / row_bytes);
            if begin <= row_begin && row < whole {
                // rows as a whole have a stripe on each disk
                add(row * self.stripe, whole * self.stripe);
                row = whole;
                continue;
            }
            for number in 0..self.disks {
                let first = row_begin + number * self.stripe;
                let (from, to) = (first.max(begin), (first + self.stripe).min(end));
                if from < to && self.extent(first, Bytes(1)).disk == disk {
                    let place = row * self.stripe;
                    add(place + (from - first), place + (to - first));
                }
            }
            row += 1;
        }
        found.into_iter().map(|(from, to)| (Bytes(from), Bytes(to - from))).collect()
    }

    fn extent(&self, address: u64, most: Bytes) -> Extent {
        let address = address % self.capacity;
        let (number, within) = (address / self.stripe, address % self.stripe);
        let row = number / self.disks;
        let on_disk = row * self.stripe + within;
        // with one disk, all stripes are contiguous
        let in_one_piece = if self.disks == 1 { u64::MAX } else { self.stripe - within };
        Extent {
            disk: (number.wrapping_add(mix(row)) % self.disks) as u32,
            lbn: Sectors(on_disk / SECTOR_BYTES),
            bytes: Bytes(most.get().min(in_one_piece)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::PolicyKind;
    use crate::node::WritePolicy;
    use foretell_units::SimSpan;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A node with `disks` disks of 200 MB, and its layout.
    fn settings(disks: u32, stripe: Bytes, log_segment: Option<Bytes>) -> NodeSettings {
        NodeSettings {
            policy: PolicyKind::Lru,
            cache: Bytes::mib(64),
            page: Bytes::kib(4),
            write: WritePolicy::Back,
            dirty_background: Bytes::mib(6),
            dirty_limit: Bytes::mib(25),
            dirty_expire: SimSpan::from_secs(30),
            flush_interval: SimSpan::from_secs(5),
            read_ahead: Bytes::kib(128),
            disks,
            disk_capacity: Bytes(CAPACITY),
            stripe,
            log_segment,
        }
    }

    const CAPACITY: u64 = 200_000_000;

    fn within_its_disk(extent: Extent, disks: u32) {
        assert!(extent.disk < disks, "{extent:?}");
        let end = extent.lbn.get() * SECTOR_BYTES + extent.bytes.get();
        assert!(end <= CAPACITY, "{extent:?} ends at {end}");
    }

    #[test]
    fn files_are_striped_over_the_disks() {
        let space =
            AddressSpace::new(&settings(2, Bytes::kib(64), None), &[Bytes::mib(1), Bytes::mib(1)]);
        let at = |file, page, most| {
            let Extent { disk, lbn, bytes } = space.locate(PageKey::new(file, page), Bytes(most));
            (disk, lbn.get() * SECTOR_BYTES, bytes.get())
        };
        // 16 pages of 4 KiB a stripe; a row has a stripe on each disk
        let (first, _, _) = at(0, 0, 4096);
        assert_eq!(at(0, 0, 8192), (first, 0, 8192));
        assert_eq!(at(0, 15, 8192), (first, 15 * 4096, 4096), "a stripe ends");
        assert_eq!(at(0, 16, 8192), (1 - first, 0, 8192));
        assert_eq!(at(0, 32, 4096).1, 65_536);
        // the second file begins after 1 MiB: row 8
        assert_eq!(at(1, 0, 4096).1, 8 * 65_536);
    }

    #[test]
    fn every_nth_stripe_is_spread_over_all_disks() {
        for disks in 2..7_u32 {
            let space = AddressSpace::new(&settings(disks, Bytes::kib(4), None), &[Bytes::mib(64)]);
            for n in 1..9_u64 {
                let mut on = vec![0_u32; disks as usize];
                for number in 0..2_000 {
                    let extent = space.locate(PageKey::new(0, number * n % 16_384), Bytes(4096));
                    on[extent.disk as usize] += 1;
                }
                // 2000 of `disks` equal parts: five standard deviations
                let mean = 2_000.0 / f64::from(disks);
                let off = |count: &u32| (f64::from(*count) - mean).abs() < 5.0 * mean.sqrt();
                assert!(on.iter().all(off), "{disks} disks, every {n}th: {on:?}");
            }
        }
    }

    /// The parts of a disk that hold a file, page by page.
    fn pages_on(space: &AddressSpace, file: u32, pages: u64, disk: u32) -> Vec<u64> {
        let places = (0..pages).map(|page| space.locate(PageKey::new(file, page), Bytes(4096)));
        let mut found: Vec<u64> =
            places.filter(|at| at.disk == disk).map(|at| at.lbn.get() * SECTOR_BYTES).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn oracle_the_parts_of_a_disk_are_those_of_all_pages() {
        for disks in 1..5_u32 {
            // 37, 100 and 13 pages: files begin and end within rows of stripes of 16 pages
            let sizes = [37_u64, 100, 13].map(|pages| Bytes(pages * 4096));
            let space = AddressSpace::new(&settings(disks, Bytes::kib(64), None), &sizes);
            for (file, size) in (0..).zip(sizes) {
                let mut bytes = 0;
                for disk in 0..disks {
                    let parts = space.on_disk(file, size, disk);
                    assert!(
                        parts.windows(2).all(|two| two[0].0 + two[0].1 < two[1].0),
                        "{parts:?}"
                    );
                    let pages = |(begin, size): &(Bytes, Bytes)| {
                        let (begin, count) = (begin.get(), size.get() / 4096);
                        (0..count).map(move |page| begin + page * 4096)
                    };
                    let found: Vec<u64> = parts.iter().flat_map(pages).collect();
                    assert_eq!(found, pages_on(&space, file, size.get() / 4096, disk));
                    bytes += parts.iter().map(|(_, size)| size.get()).sum::<u64>();
                }
                assert_eq!(bytes, size.get());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// Appended pages are found where they were put. No two live pages share a sector. Nothing
        /// lies beyond its disk, although the log wraps around many times.
        #[test]
        fn a_log_keeps_pages_apart(
            disks in 1_u32..5,
            segment in 0_usize..3,
            stripe in 0_usize..2,
            batches in prop::collection::vec(prop::collection::vec(0_u64..400, 1..16), 1..80),
        ) {
            let segment = [Bytes::kib(64), Bytes::kib(512), Bytes::mib(48)][segment];
            let stripe = [Bytes::kib(64), Bytes::mib(1)][stripe];
            let settings = settings(disks, stripe, Some(segment));
            let mut space = AddressSpace::new(&settings, &[Bytes::mib(64)]);
            let room = space.segment().unwrap().get() / 4096;
            // disk and sector of each page, and the latest page put there
            let mut lies: BTreeMap<u64, (u32, u64)> = BTreeMap::new();
            let mut holds: BTreeMap<(u32, u64), u64> = BTreeMap::new();
            for mut batch in batches {
                batch.dedup();
                batch.truncate(room as usize);
                let keys: Vec<PageKey> = batch.iter().map(|&page| PageKey::new(0, page)).collect();
                let extent = space.append(&keys);
                within_its_disk(extent, disks);
                prop_assert_eq!(extent.bytes.get(), keys.len() as u64 * 4096);
                for (index, &page) in batch.iter().enumerate() {
                    let home = (extent.disk, extent.lbn.get() + index as u64 * 8);
                    lies.insert(page, home);
                    holds.insert(home, page);
                }
            }
            for (&page, &home) in lies.iter().filter(|(page, home)| holds[home] == **page) {
                let found = space.locate(PageKey::new(0, page), Bytes(4096));
                prop_assert_eq!((found.disk, found.lbn.get()), home);
            }
            for page in 0..400 {
                within_its_disk(space.locate(PageKey::new(0, page), Bytes::kib(64)), disks);
            }
        }
    }
}
