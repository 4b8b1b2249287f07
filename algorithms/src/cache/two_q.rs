//! 2Q, the full version (Johnson & Shasha, VLDB 1994).
//!
//! New objects enter a FIFO queue, A1in. An object that leaves A1in becomes a ghost in A1out. A
//! ghost that is requested again enters Am, an LRU queue. So a single pass over much data flows
//! through A1in and does not affect Am. A hit in A1in changes nothing: the paper assumes that it is
//! correlated with the first access.
//!
//! Choices, as in libCacheSim: the target size of A1in is a quarter of the cache, and A1out
//! remembers half as many objects as the cache holds (the paper recommends 25 % and 50 %), rounded
//! down. A1in evicts an object only if it holds *more* than its share; otherwise Am evicts its
//! oldest, which leaves no ghost. A requested ghost leaves A1out before room is made. With sizes,
//! shares are of bytes, and an object larger than A1in's share is refused. A cache of fewer than 4
//! objects has an A1in of one.

use super::shelves::{Shelves, part};
use super::{
    Evicted, Replacement, Room, SizedAccess, Unit, Weight, constructors, faces, on_shelves,
};

const IN: u32 = 0;
const MAIN: u32 = 1;
const OUT: u32 = 2;

/// 2Q.
#[derive(Clone, Debug)]
pub struct TwoQ<W: Weight = Unit> {
    shelves: Shelves<W, 3>,
    in_limit: u64,
    out_limit: u64,
}

impl<W: Weight> TwoQ<W> {
    fn with_room(room: Room) -> Self {
        Self {
            in_limit: part(room.capacity, 0.25),
            out_limit: room.capacity / 2,
            shelves: Shelves::new(room),
        }
    }

    fn evict_one(&mut self) -> Evicted {
        let shelves = &mut self.shelves;
        if shelves.used(IN) <= self.in_limit
            && let Some(oldest) = shelves.back(MAIN)
        {
            return shelves.forget(oldest).expect("Am holds residents");
        }
        let oldest = shelves.back(IN).expect("Am is empty, so A1in is not");
        if shelves.make_room(OUT, shelves.size(oldest), self.out_limit) {
            shelves.add_ghost(oldest, OUT)
        } else {
            shelves.forget(oldest).expect("A1in holds residents")
        }
    }
}

impl<W: Weight> Replacement for TwoQ<W> {
    fn refer(&mut self, key: u64, size: u64, evict: &mut impl FnMut(Evicted)) -> SizedAccess {
        let known = self.shelves.find(key);
        if let Some(node) = known
            && let Some(slot) = self.shelves.slot(node)
        {
            if self.shelves.queue(node) == MAIN {
                self.shelves.shift(node, MAIN);
            }
            return SizedAccess::Hit { slot };
        }
        if size > self.in_limit {
            return SizedAccess::Refused;
        }
        if let Some(ghost) = known {
            self.shelves.forget(ghost);
        }
        while self.shelves.room().lacks(size) {
            evict(self.evict_one());
        }
        let queue = if known.is_some() { MAIN } else { IN };
        let (_, slot) = self.shelves.admit(queue, key, size);
        SizedAccess::Miss { slot }
    }

    on_shelves!();
}

constructors!(TwoQ);
faces!(TwoQ);
