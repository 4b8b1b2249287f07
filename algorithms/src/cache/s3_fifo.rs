//! S3-FIFO (Yang et al., SOSP 2023): a small, a main and a ghost queue, all first in, first out.
//!
//! New objects enter the small queue. At its end, an object that was hit often enough since then
//! moves to the main queue; otherwise it leaves and becomes a ghost. A ghost that is requested
//! again enters the main queue at once. At the end of the main queue an object goes round once more
//! for each hit (at most three times); without hits it leaves and is not remembered.
//!
//! Choices, as in libCacheSim's current version: the target size of the small queue is 10 % of the
//! cache, and the ghosts number at most 90 % of it. An object needs 2 hits to move from small to
//! main (the paper's text says more than one) and starts there with none. The small queue evicts
//! objects unless the main queue holds *more* than its 90 %. Until the first eviction, objects that
//! do not fit into the small queue's share enter the main queue (the paper's first version let the
//! small queue fill the whole cache). With sizes, an object of the small queue's share or more is
//! refused. A cache of fewer than 20 objects has a small queue of one.

use super::shelves::{Shelves, part};
use super::{
    Evicted, Replacement, Room, SizedAccess, Unit, Weight, constructors, faces, on_shelves,
};

const SMALL: u32 = 0;
const MAIN: u32 = 1;
const GHOST: u32 = 2;

/// Number of hits from which an object moves from the small queue to the main one.
const ENOUGH: u8 = 2;
/// Maximum number of hits that are counted.
const MAX_HITS: u8 = 3;

/// S3-FIFO.
#[derive(Clone, Debug)]
pub struct S3Fifo<W: Weight = Unit> {
    shelves: Shelves<W, 3>,
    small_limit: u64,
    main_limit: u64,
    ghost_limit: u64,
    /// Whether anything was ever evicted.
    full_once: bool,
}

impl<W: Weight> S3Fifo<W> {
    fn with_room(room: Room) -> Self {
        let small_limit = part(room.capacity, 0.1);
        Self {
            small_limit,
            main_limit: room.capacity - small_limit,
            ghost_limit: part(room.capacity, 0.9),
            full_once: false,
            shelves: Shelves::new(room),
        }
    }

    fn evict_one(&mut self) -> Evicted {
        self.full_once = true;
        if self.shelves.used(MAIN) <= self.main_limit
            && let Some(evicted) = self.evict_from_small()
        {
            return evicted;
        }
        self.evict_from_main()
    }

    /// Evicts from the small queue. `None` if all of its objects move to the main queue.
    fn evict_from_small(&mut self) -> Option<Evicted> {
        let shelves = &mut self.shelves;
        while let Some(oldest) = shelves.back(SMALL) {
            let hits = std::mem::take(shelves.count_mut(oldest));
            if hits >= ENOUGH {
                shelves.shift(oldest, MAIN);
            } else if shelves.make_room(GHOST, shelves.size(oldest), self.ghost_limit) {
                return Some(shelves.add_ghost(oldest, GHOST));
            } else {
                return shelves.forget(oldest);
            }
        }
        None
    }

    fn evict_from_main(&mut self) -> Evicted {
        let shelves = &mut self.shelves;
        loop {
            let oldest = shelves.back(MAIN).expect("what is used is used by an object");
            let hits = shelves.count_mut(oldest);
            if *hits == 0 {
                return shelves.forget(oldest).expect("the main queue holds residents");
            }
            *hits -= 1;
            shelves.shift(oldest, MAIN);
        }
    }
}

impl<W: Weight> Replacement for S3Fifo<W> {
    #[inline]
    fn refer(&mut self, key: u64, size: u64, evict: &mut impl FnMut(Evicted)) -> SizedAccess {
        let known = self.shelves.find(key);
        if let Some(node) = known
            && let Some(slot) = self.shelves.slot(node)
        {
            let hits = self.shelves.count_mut(node);
            *hits = (*hits + 1).min(MAX_HITS);
            return SizedAccess::Hit { slot };
        }
        if size >= self.small_limit && size > 1 {
            return SizedAccess::Refused;
        }
        if let Some(ghost) = known {
            self.shelves.forget(ghost);
        }
        while self.shelves.room().lacks(size) {
            evict(self.evict_one());
        }
        let filling = !self.full_once && self.shelves.used(SMALL) >= self.small_limit;
        let queue = if known.is_some() || filling { MAIN } else { SMALL };
        let (_, slot) = self.shelves.admit(queue, key, size);
        SizedAccess::Miss { slot }
    }

    on_shelves!();
}

constructors!(S3Fifo);
faces!(S3Fifo);
