//! ARC, the adaptive replacement cache (Megiddo & Modha, FAST 2003).
//!
//! T1 holds objects that were recently seen once, T2 those seen at least twice, both in LRU order.
//! B1 and B2 hold the ghosts of objects that left them. The target size of T1 is p: a hit in B1
//! shows that T1 was too small and raises p, a hit in B2 lowers it. T1 and B1 together remember at
//! most c objects, and all four at most 2c, where c is the capacity.
//!
//! The paper leaves open whether p is an integer. We use a real number and steps of
//! max(1, |B2|/|B1|) and max(1, |B1|/|B2|), where the ghosts are counted before the hit one is
//! removed, as libCacheSim does. The paper's REPLACE requires |T1| ≥ 1 and (|T1| > p, or |T1| = p and the key
//! was in B2). If T2 is empty, T1 evicts whatever p is. With sizes, counts are sums of sizes. Each
//! object that leaves removes at most one ghost, so the bounds hold only approximately.

use super::shelves::Shelves;
use super::{
    Evicted, Replacement, Room, SizedAccess, Unit, Weight, constructors, faces, on_shelves,
};

const T1: u32 = 0;
const T2: u32 = 1;
const B1: u32 = 2;
const B2: u32 = 3;

/// ARC.
#[derive(Clone, Debug)]
pub struct Arc<W: Weight = Unit> {
    shelves: Shelves<W, 4>,
    /// The target size of T1: p of the paper.
    target: f64,
}

impl<W: Weight> Arc<W> {
    fn with_room(room: Room) -> Self {
        Self { shelves: Shelves::new(room), target: 0.0 }
    }

    /// Adapts the target to a hit on `ghost`.
    fn adapt(&mut self, ghost: u32) {
        let (b1, b2) = (self.shelves.used(B1) as f64, self.shelves.used(B2) as f64);
        self.target = if self.shelves.queue(ghost) == B1 {
            (self.target + (b2 / b1).max(1.0)).min(self.room().capacity as f64)
        } else {
            (self.target - (b1 / b2).max(1.0)).max(0.0)
        };
    }

    /// REPLACE of the paper. `found_in` is the ghost queue where the key was.
    fn replace(&mut self, found_in: Option<u32>) -> Evicted {
        let shelves = &mut self.shelves;
        let t1 = shelves.used(T1) as f64;
        let over = t1 > self.target || (found_in == Some(B2) && t1 >= self.target);
        match (shelves.back(T1), shelves.back(T2)) {
            (Some(oldest), None) => shelves.add_ghost(oldest, B1),
            (Some(oldest), Some(_)) if over => shelves.add_ghost(oldest, B1),
            (_, Some(oldest)) => shelves.add_ghost(oldest, B2),
            (None, None) => unreachable!("what is used is used by an object"),
        }
    }

    /// Case IV of the paper: the key, of an object of `size`, is in none of the four queues.
    fn make_way(&mut self, size: u64) -> Evicted {
        let shelves = &mut self.shelves;
        let capacity = shelves.room().capacity;
        let once = shelves.used(T1) + shelves.used(B1);
        if once + size > capacity {
            if shelves.used(B1) == 0 {
                return shelves.forget_back(T1).expect("T1 holds residents");
            }
            shelves.forget_back(B1);
        } else if once + shelves.used(T2) + shelves.used(B2) >= 2 * capacity && shelves.used(B2) > 0
        {
            shelves.forget_back(B2);
        }
        self.replace(None)
    }
}

impl<W: Weight> Replacement for Arc<W> {
    fn refer(&mut self, key: u64, size: u64, evict: &mut impl FnMut(Evicted)) -> SizedAccess {
        let known = self.shelves.find(key);
        if let Some(node) = known
            && let Some(slot) = self.shelves.slot(node)
        {
            self.shelves.shift(node, T2);
            return SizedAccess::Hit { slot };
        }
        if size > self.room().capacity {
            return SizedAccess::Refused;
        }
        let found_in = known.map(|ghost| {
            self.adapt(ghost);
            let queue = self.shelves.queue(ghost);
            self.shelves.forget(ghost);
            queue
        });
        while self.room().lacks(size) {
            evict(if found_in.is_some() { self.replace(found_in) } else { self.make_way(size) });
        }
        let queue = if found_in.is_some() { T2 } else { T1 };
        let (_, slot) = self.shelves.admit(queue, key, size);
        SizedAccess::Miss { slot }
    }

    on_shelves!();
}

constructors!(Arc);
faces!(Arc);
