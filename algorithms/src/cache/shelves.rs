//! The common part of policies with ghosts: several queues of residents and ghosts.
//!
//! A ghost is a key that a policy remembers after its object has left. A resident has a slot; a
//! ghost has none. Both have a node, and the object's size.

use super::directory::{Directory, Queue};
use super::{Evicted, Room, Weight};

/// The slot value of a ghost.
const NO_SLOT: u32 = u32::MAX;

/// The place of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    slot: u32,
    queue: u8,
    /// For the policy to use; zero at admission.
    pub(crate) count: u8,
}

impl Default for Place {
    fn default() -> Self {
        Self { slot: NO_SLOT, queue: 0, count: 0 }
    }
}

/// Keys in `Q` queues, some of them resident.
#[derive(Clone, Debug)]
pub(crate) struct Shelves<W: Weight, const Q: usize> {
    keys: Directory<Place, W::Neighbours>,
    sizes: W,
    /// Sum of sizes in each queue.
    used: [u64; Q],
    /// Room of the residents.
    room: Room,
    free_slots: Vec<u32>,
    slots: u32,
}

impl<W: Weight, const Q: usize> Shelves<W, Q> {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            keys: Directory::new(Q as u32),
            sizes: W::default(),
            used: [0; Q],
            room,
            free_slots: Vec::new(),
            slots: 0,
        }
    }

    pub(crate) fn room(&self) -> &Room {
        &self.room
    }

    /// Allocates memory for this number of keys in total.
    pub(crate) fn reserve(&mut self, keys: usize) {
        self.keys.reserve(keys);
    }

    /// Number of residents.
    pub(crate) fn residents(&self) -> usize {
        self.slots as usize - self.free_slots.len()
    }

    /// Sum of the sizes in `queue`.
    #[inline]
    pub(crate) fn used(&self, queue: Queue) -> u64 {
        self.used[queue as usize]
    }

    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        self.keys.find(key)
    }

    /// The slot of a resident.
    #[inline]
    pub(crate) fn slot(&self, node: u32) -> Option<u32> {
        let slot = self.keys.mark(node).slot;
        (slot != NO_SLOT).then_some(slot)
    }

    #[inline]
    pub(crate) fn slot_of(&self, key: u64) -> Option<u32> {
        self.find(key).and_then(|node| self.slot(node))
    }

    #[inline]
    pub(crate) fn queue(&self, node: u32) -> Queue {
        u32::from(self.keys.mark(node).queue)
    }

    #[inline]
    pub(crate) fn size(&self, node: u32) -> u64 {
        self.sizes.get(self.keys.position(node))
    }

    pub(crate) fn back(&self, queue: Queue) -> Option<u32> {
        self.keys.back(queue)
    }

    #[inline]
    pub(crate) fn count_mut(&mut self, node: u32) -> &mut u8 {
        &mut self.keys.mark_mut(node).count
    }

    /// Makes `key`, which must not be there, a resident at the front of `queue`. Returns its node and its slot.
    pub(crate) fn admit(&mut self, queue: Queue, key: u64, size: u64) -> (u32, u32) {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        let node = self.keys.push_front(queue, key, Place { slot, queue: queue as u8, count: 0 });
        self.sizes.set(self.keys.position(node), size);
        self.used[queue as usize] += size;
        self.room.used += size;
        (node, slot)
    }

    /// Moves `node` to the front of `queue`.
    #[inline]
    pub(crate) fn shift(&mut self, node: u32, queue: Queue) {
        let (from, size) = (self.queue(node), self.size(node));
        self.used[from as usize] -= size;
        self.used[queue as usize] += size;
        self.keys.mark_mut(node).queue = queue as u8;
        self.keys.move_to_front(queue, node);
    }

    /// Turns a resident into a ghost at the front of `queue`.
    pub(crate) fn add_ghost(&mut self, node: u32, queue: Queue) -> Evicted {
        self.shift(node, queue);
        self.evict(node)
    }

    /// Turns a resident into a ghost in its present position.
    pub(crate) fn evict(&mut self, node: u32) -> Evicted {
        let slot = std::mem::replace(&mut self.keys.mark_mut(node).slot, NO_SLOT);
        self.free_slots.push(slot);
        self.room.used -= self.size(node);
        Evicted { key: self.keys.key(node), slot }
    }

    /// Forgets `node`, resident or ghost. Returns the evicted object if it was resident.
    pub(crate) fn forget(&mut self, node: u32) -> Option<Evicted> {
        let (slot, size) = (self.slot(node), self.size(node));
        self.used[self.queue(node) as usize] -= size;
        if let Some(slot) = slot {
            self.free_slots.push(slot);
            self.room.used -= size;
        }
        let key = self.keys.key(node);
        self.keys.remove(node);
        slot.map(|slot| Evicted { key, slot })
    }

    /// Forgets the node at the back of `queue`, which must not be empty.
    pub(crate) fn forget_back(&mut self, queue: Queue) -> Option<Evicted> {
        let node = self.back(queue).expect("the queue is not empty");
        self.forget(node)
    }

    /// Forgets ghosts at the back of `queue` until `size` more fits into `limit`. Returns whether it does.
    pub(crate) fn make_room(&mut self, queue: Queue, size: u64, limit: u64) -> bool {
        if size > limit {
            return false;
        }
        while self.used(queue) + size > limit {
            self.forget_back(queue);
        }
        true
    }
}

/// The share `share` of `capacity`, rounded down, but at least one.
pub(crate) fn part(capacity: u64, share: f64) -> u64 {
    ((capacity as f64 * share) as u64).max(1)
}
