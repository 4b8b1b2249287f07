//! LIRS (Jiang & Zhang, SIGMETRICS 2002): keeps objects whose last two uses were close together.
//!
//! The recency of an object is the number of others used since its last use. Its inter-reference
//! recency (IRR) is the recency that it had at its last use. Objects of low IRR (LIR) hold nearly
//! all of the cache; the others (HIR) share a small rest, and are remembered for a while after they
//! leave. Stack S holds, most recent first, the LIR objects and those HIR objects, resident or
//! ghosts, that are more recent than the oldest LIR object; it is pruned so that its bottom is LIR.
//! Queue Q holds the resident HIR objects; its oldest leaves. An HIR object that is used while in S
//! has an IRR below the recency of the bottom: it becomes LIR and the bottom becomes HIR, at the
//! young end of Q. One that is used while only in Q enters S, and moves to the young end of Q.
//!
//! Choices: 1 % of the cache, at least one object, is for HIR (the paper's choice and
//! libCacheSim's). Until LIR objects fill the rest, new objects are LIR. The paper lets S grow
//! without bound; here, as in libCacheSim, S is limited to twice the capacity by forgetting the
//! oldest ghosts. With sizes, an object larger than the HIR part is refused.
//!
//! libCacheSim differs from the paper if a hit finds an object only in Q: the bottom of S then
//! becomes HIR, and an object may leave although nothing was admitted. We follow the paper. On real
//! traces the miss ratios are within .0005 of each other for objects of unit size, and up to .02
//! apart (ours lower) with sizes.

use super::chain::Chain;
use super::directory::Queue;
use super::shelves::{Shelves, part};
use super::{Evicted, Replacement, Room, SizedAccess, Unit, Weight, constructors, faces};

/// Stack S.
const STACK: Queue = 0;
/// Residents that are not in S: HIR, only in Q.
const APART: Queue = 1;

/// Queue Q.
const HIR: Queue = 0;
/// The ghosts, by the time at which they left.
const GHOSTS: Queue = 1;

/// LIRS.
#[derive(Clone, Debug)]
pub struct Lirs<W: Weight = Unit> {
    /// S, and the rest; a count of 1 marks LIR objects.
    shelves: Shelves<W, 2>,
    /// Q, and the ghosts.
    chain: Chain,
    lir_used: u64,
    hir_used: u64,
    lir_limit: u64,
    hir_limit: u64,
}

impl<W: Weight> Lirs<W> {
    fn with_room(room: Room) -> Self {
        let hir_limit = part(room.capacity, 0.01);
        Self {
            hir_limit,
            lir_limit: room.capacity - hir_limit,
            lir_used: 0,
            hir_used: 0,
            chain: Chain::new(2),
            shelves: Shelves::new(room),
        }
    }

    fn is_lir(&mut self, node: u32) -> bool {
        *self.shelves.count_mut(node) == 1
    }

    /// Removes HIR objects and ghosts from the bottom of S. Every change ends with this, so that
    /// the bottom is LIR, or S is empty.
    fn prune(&mut self) {
        while let Some(bottom) = self.shelves.back(STACK)
            && !self.is_lir(bottom)
        {
            if self.shelves.slot(bottom).is_some() {
                self.shelves.shift(bottom, APART);
            } else {
                self.chain.unlink(bottom);
                self.shelves.forget(bottom);
            }
        }
    }

    /// Makes the LIR object at the bottom of S the youngest in Q.
    fn demote_bottom(&mut self) {
        let bottom = self.shelves.back(STACK).expect("LIR objects are in S");
        let size = self.shelves.size(bottom);
        self.lir_used -= size;
        self.hir_used += size;
        *self.shelves.count_mut(bottom) = 0;
        self.shelves.shift(bottom, APART);
        self.chain.push_front(HIR, bottom);
        self.prune();
    }

    /// Evicts the oldest object in Q. It is remembered if it is in S.
    fn evict_one(&mut self) -> Evicted {
        if self.chain.back(HIR).is_none() {
            self.demote_bottom();
        }
        let oldest = self.chain.back(HIR).expect("Q has objects");
        self.hir_used -= self.shelves.size(oldest);
        if self.shelves.queue(oldest) == STACK {
            self.chain.push_front(GHOSTS, oldest);
            self.shelves.evict(oldest)
        } else {
            self.chain.unlink(oldest);
            self.shelves.forget(oldest).expect("Q holds residents")
        }
    }

    /// Handles a use of a resident.
    fn hit(&mut self, node: u32) {
        let stacked = self.shelves.queue(node) == STACK;
        self.shelves.shift(node, STACK);
        let size = self.shelves.size(node);
        if stacked && !self.is_lir(node) && size <= self.lir_limit {
            self.chain.unlink(node);
            self.hir_used -= size;
            self.lir_used += size;
            *self.shelves.count_mut(node) = 1;
            while self.lir_used > self.lir_limit {
                self.demote_bottom();
            }
        } else if !self.is_lir(node) {
            self.chain.push_front(HIR, node);
        }
        self.prune();
    }

    /// Admits an object that is not resident; `again` if it was a ghost in S.
    fn admit(
        &mut self,
        key: u64,
        size: u64,
        again: bool,
        evict: &mut impl FnMut(Evicted),
    ) -> SizedAccess {
        let lir = size <= self.lir_limit && (again || self.lir_used + size <= self.lir_limit);
        while lir && self.lir_used + size > self.lir_limit {
            self.demote_bottom();
        }
        while self.shelves.room().lacks(size) || (!lir && self.hir_used + size > self.hir_limit) {
            evict(self.evict_one());
        }
        let (node, slot) = self.shelves.admit(STACK, key, size);
        if lir {
            self.lir_used += size;
            *self.shelves.count_mut(node) = 1;
        } else {
            self.hir_used += size;
            self.chain.push_front(HIR, node);
        }
        self.prune();
        while self.shelves.used(STACK) > 2 * self.room().capacity
            && let Some(ghost) = self.chain.back(GHOSTS)
        {
            self.chain.unlink(ghost);
            self.shelves.forget(ghost);
        }
        SizedAccess::Miss { slot }
    }
}

impl<W: Weight> Replacement for Lirs<W> {
    fn refer(&mut self, key: u64, size: u64, evict: &mut impl FnMut(Evicted)) -> SizedAccess {
        let known = self.shelves.find(key);
        if let Some(node) = known
            && let Some(slot) = self.shelves.slot(node)
        {
            self.hit(node);
            return SizedAccess::Hit { slot };
        }
        if size > self.hir_limit {
            return SizedAccess::Refused;
        }
        if let Some(ghost) = known {
            self.chain.unlink(ghost);
            self.shelves.forget(ghost);
        }
        self.admit(key, size, known.is_some(), evict)
    }

    fn slot_of(&self, key: u64) -> Option<u32> {
        self.shelves.slot_of(key)
    }

    fn forget(&mut self, key: u64) -> Option<u32> {
        let node = self.shelves.find(key)?;
        let size = self.shelves.size(node);
        if self.is_lir(node) {
            self.lir_used -= size;
        } else {
            self.chain.unlink(node);
            if self.shelves.slot(node).is_some() {
                self.hir_used -= size;
            }
        }
        let left = self.shelves.forget(node);
        self.prune();
        left.map(|object| object.slot)
    }

    fn residents(&self) -> usize {
        self.shelves.residents()
    }

    fn reserve(&mut self, objects: usize) {
        self.shelves.reserve(objects);
    }

    fn room(&self) -> &Room {
        self.shelves.room()
    }
}

constructors!(Lirs);
faces!(Lirs);
