//! Where on a node's disks a file's bytes lie.
//!
//! Files lie one after the other in the node's address space, which goes over the disks in turn,
//! one stripe each. In the in-place layout that is all. In the log-structured layout a flushed page
//! moves to the head of a log behind the files, which starts again at its beginning when the disks
//! are full. Not modelled: file system metadata, fragmentation, cleaning of the log.

use foldhash::fast::FixedState;
use foretell_scenarios::model::{Layout, Storage};
use foretell_units::{Bytes, SECTOR_BYTES, Sectors};
use hashbrown::HashMap;

use crate::buffer::PageKey;

/// A contiguous place on one disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// Which disk.
    pub(crate) disk: u32,
    /// First sector.
    pub(crate) lbn: Sectors,
    /// Bytes that lie there in one piece.
    pub(crate) bytes: Bytes,
}

/// The address space of one node.
#[derive(Debug)]
pub(crate) struct AddressSpace {
    disks: u64,
    stripe: u64,
    page: u64,
    /// Where each file begins; after the last, where the files end.
    bases: Vec<u64>,
    capacity: u64,
    log: Option<Log>,
}

#[derive(Debug)]
struct Log {
    segment: u64,
    /// Next free byte of the address space.
    head: u64,
    /// Where flushed pages lie.
    moved: HashMap<PageKey, u64, FixedState>,
}

impl AddressSpace {
    /// `file_sizes`: what each file needs on this node, zero where it holds none of it.
    pub(crate) fn new(storage: &Storage, file_sizes: &[Bytes]) -> Self {
        let stripe = storage.stripe.get().next_multiple_of(SECTOR_BYTES);
        let disks = storage.disks.len() as u64;
        let smallest =
            storage.disks.iter().map(|disk| disk.device.capacity().get()).min().unwrap_or(0);
        let page = storage.cache.page.get();
        let mut bases = vec![0];
        for size in file_sizes {
            let end = bases[bases.len() - 1] + size.get().next_multiple_of(page.max(stripe));
            bases.push(end);
        }
        let capacity = (smallest / stripe * stripe * disks).max(stripe);
        let log = match storage.layout {
            Layout::InPlace => None,
            Layout::LogStructured { segment } => Some(Log {
                segment: segment.get().next_multiple_of(page),
                head: bases[bases.len() - 1],
                moved: HashMap::default(),
            }),
        };
        Self { disks, stripe, page, bases, capacity, log }
    }

    /// Bytes that are written to the log in one operation; `None`: pages are written in place.
    pub(crate) fn segment(&self) -> Option<Bytes> {
        self.log.as_ref().map(|log| Bytes(log.segment))
    }

    /// Where the file's bytes from the beginning of `page` on lie, up to `most` of them.
    pub(crate) fn locate(&self, page: PageKey, most: Bytes) -> Extent {
        let home = self.bases[page.file() as usize] + page.index() * self.page;
        let Some(log) = &self.log else {
            return self.extent(home, most);
        };
        let start = log.moved.get(&page).copied();
        let pages = most.get().div_ceil(self.page);
        // as many pages as follow one another both in the file and on the disk
        let together = (1..pages)
            .take_while(|&next| {
                let lies = log.moved.get(&page.plus(next)).copied();
                lies == start.map(|start| start + next * self.page)
            })
            .count() as u64;
        self.extent(start.unwrap_or(home), most.min(Bytes((together + 1) * self.page)))
    }

    /// Makes room for so many pages at the head of the log: one extent, on one disk.
    pub(crate) fn append(&mut self, pages: &[PageKey]) -> Extent {
        let (files_end, capacity) = (self.bases[self.bases.len() - 1], self.capacity);
        let bytes = pages.len() as u64 * self.page;
        let stripe = self.stripe;
        let log = self.log.as_mut().expect("only a log is appended to");
        // a segment does not cross from one disk to the next, unless it is longer than a stripe
        let left = stripe - log.head % stripe;
        if bytes > left {
            log.head += left;
        }
        if log.head + bytes > capacity {
            log.head = files_end.min(capacity.saturating_sub(bytes));
        }
        let head = log.head;
        for (index, page) in pages.iter().enumerate() {
            log.moved.insert(*page, head + index as u64 * self.page);
        }
        log.head += bytes;
        Extent { bytes: Bytes(bytes), ..self.extent(head, Bytes(bytes)) }
    }

    fn extent(&self, address: u64, most: Bytes) -> Extent {
        let address = address % self.capacity;
        let (row, within) = (address / self.stripe, address % self.stripe);
        let on_disk = row / self.disks * self.stripe + within;
        // with one disk, stripe follows stripe
        let in_one_piece = if self.disks == 1 { u64::MAX } else { self.stripe - within };
        Extent {
            disk: (row % self.disks) as u32,
            lbn: Sectors(on_disk / SECTOR_BYTES),
            bytes: Bytes(most.get().min(in_one_piece)),
        }
    }
}
