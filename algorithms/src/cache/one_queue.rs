//! The common part of policies without ghosts. They hold only residents, and differ in what a hit
//! does and in which object they evict.

use std::fmt::Debug;

use super::directory::{Directory, Mark, Neighbours, Queue};
use super::{Evicted, Replacement, Room, SizedAccess, Unit, Weight};

/// The only queue; new objects enter at its front.
pub(crate) const QUEUE: Queue = 0;

/// The decisions of a policy without ghosts.
pub trait Rule: Clone + Debug + Default {
    /// The mark of each object, initially the default.
    type Mark: Mark;

    /// `node` was admitted.
    #[inline]
    fn admitted(&mut self, _keys: &mut Directory<Self::Mark, impl Neighbours>, _node: u32) {}

    /// `node` was hit.
    fn hit(&mut self, keys: &mut Directory<Self::Mark, impl Neighbours>, node: u32);

    /// Chooses the next object to evict. There is at least one object.
    fn victim(&mut self, keys: &mut Directory<Self::Mark, impl Neighbours>) -> u32;

    /// `node` is about to leave, evicted or removed.
    #[inline]
    fn leaving(&mut self, _keys: &mut Directory<Self::Mark, impl Neighbours>, _node: u32) {}
}

/// A cache whose policy remembers only residents.
#[derive(Clone, Debug)]
pub struct OneQueue<R: Rule, W: Weight = Unit> {
    keys: Directory<R::Mark, W::Neighbours>,
    rule: R,
    sizes: W,
    room: Room,
}

impl<R: Rule, W: Weight> OneQueue<R, W> {
    pub(crate) fn with_room(room: Room) -> Self {
        Self { keys: Directory::new(1), rule: R::default(), sizes: W::default(), room }
    }

    /// Removes `node` and returns its slot.
    #[inline]
    fn leave(&mut self, node: u32) -> u32 {
        self.rule.leaving(&mut self.keys, node);
        let slot = self.keys.position(node);
        self.room.used -= self.sizes.get(slot);
        self.keys.remove(node);
        slot
    }
}

impl<R: Rule, W: Weight> Replacement for OneQueue<R, W> {
    #[inline]
    fn refer(&mut self, key: u64, size: u64, evict: &mut impl FnMut(Evicted)) -> SizedAccess {
        if let Some(node) = self.keys.find(key) {
            self.rule.hit(&mut self.keys, node);
            return SizedAccess::Hit { slot: self.keys.position(node) };
        }
        if size > self.room.capacity {
            return SizedAccess::Refused;
        }
        while self.room.lacks(size) {
            let victim = self.rule.victim(&mut self.keys);
            let key = self.keys.key(victim);
            evict(Evicted { key, slot: self.leave(victim) });
        }
        let node = self.keys.push_front(QUEUE, key, R::Mark::default());
        self.rule.admitted(&mut self.keys, node);
        let slot = self.keys.position(node);
        self.sizes.set(slot, size);
        self.room.used += size;
        SizedAccess::Miss { slot }
    }

    #[inline]
    fn slot_of(&self, key: u64) -> Option<u32> {
        self.keys.find(key).map(|node| self.keys.position(node))
    }

    fn forget(&mut self, key: u64) -> Option<u32> {
        self.keys.find(key).map(|node| self.leave(node))
    }

    fn residents(&self) -> usize {
        self.keys.len()
    }

    fn room(&self) -> &Room {
        &self.room
    }

    fn reserve(&mut self, objects: usize) {
        self.keys.reserve(objects);
    }
}
