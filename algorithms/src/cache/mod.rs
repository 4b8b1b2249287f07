//! Replacement policies: which object leaves a full cache.
//!
//! A policy owns the map from key to slot and nothing else. A resident object keeps its slot until
//! it leaves. Slots are below the capacity and assigned densely, so a caller can keep dirty flags
//! or times in arrays beside it (with [`Pages`], they are below four times the capacity). All
//! policies here admit on every miss. A cache of unit-size objects then evicts at most one, and the
//! new object often takes the slot of the old one.
//! Ghosts (keys that a policy remembers after their objects have left) have no slot.
//!
//! Each policy is generic in its [`Weight`]. With [`Unit`] every object counts as one and the
//! policy is a [`Policy`]. So it is with [`Pages`], for keys that come in runs. With [`BySize`] each
//! object has its own size, the capacity is in the same unit, and the policy is a [`SizedPolicy`].
//!
//! Where a paper leaves a choice, we choose as libCacheSim does (Yang et al., the reference
//! implementation of most of these policies), so that miss ratios can be compared. Each file lists
//! such choices. Memory grows with the objects held, not with the capacity.

mod arc;
mod chain;
mod clock;
mod directory;
mod fifo;
pub(crate) mod index;
mod kind;
mod lfu;
mod lirs;
mod lru;
mod one_queue;
mod s3_fifo;
mod shelves;
mod sieve;
mod store;
mod two_q;
mod weight;

pub use arc::Arc;
pub use clock::Clock;
pub use fifo::Fifo;
pub use kind::{AnyPolicy, PolicyKind, PolicyKindError};
pub use lfu::Lfu;
pub use lirs::Lirs;
pub use lru::Lru;
pub use one_queue::OneQueue;
pub use s3_fifo::S3Fifo;
pub use sieve::Sieve;
pub(crate) use store::Store;
pub use two_q::TwoQ;
pub use weight::{BySize, Pages, Unit, Weight};

/// The largest capacity in objects: slots and ghosts are numbered with 32 bits.
pub const MAX_CAPACITY: usize = 1 << 29;

/// The result of an access to a cache of unit-size objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The object was resident.
    Hit {
        /// Its slot.
        slot: u32,
    },
    /// The object was not resident; it is now.
    Miss {
        /// Its new slot.
        slot: u32,
        /// The object that was evicted, if the cache was full.
        evicted: Option<Evicted>,
    },
}

impl Access {
    /// Whether the object was resident before the access.
    pub const fn is_hit(self) -> bool {
        matches!(self, Self::Hit { .. })
    }

    /// The object's slot now.
    pub const fn slot(self) -> u32 {
        match self {
            Self::Hit { slot } | Self::Miss { slot, .. } => slot,
        }
    }
}

/// An evicted object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Evicted {
    /// Its key.
    pub key: u64,
    /// Its former slot. The slot may already be in use again when the caller sees this.
    pub slot: u32,
}

/// The result of an access to a cache of objects with sizes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SizedAccess {
    /// The object was resident.
    Hit {
        /// Its slot.
        slot: u32,
    },
    /// The object was not resident; it is now.
    Miss {
        /// Its new slot.
        slot: u32,
    },
    /// The object was not resident and is too large to be admitted; nothing changed.
    Refused,
}

/// A cache of unit-size objects.
pub trait Policy {
    /// References `key`, and admits it if it is not resident.
    fn access(&mut self, key: u64) -> Access;

    /// The slot of `key` if it is resident. Has no effect on any later decision.
    fn contains(&self, key: u64) -> Option<u32>;

    /// Removes `key`, as when its object is deleted, and returns its slot. A ghost of `key` is forgotten too.
    fn remove(&mut self, key: u64) -> Option<u32>;

    /// Number of resident objects.
    fn len(&self) -> usize;

    /// Whether nothing is resident.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The largest number of resident objects.
    fn capacity(&self) -> usize;

    /// Allocates memory for this number of objects, if they are known to come. Has no effect on any decision.
    fn reserve(&mut self, objects: usize);
}

/// A cache of objects that have sizes.
///
/// An object keeps the size of its admission until it leaves: a hit with another size does not
/// change it. Slots are below the largest number of objects ever resident together.
pub trait SizedPolicy {
    /// References `key`, an object of `size`, and admits it if it is not resident and not too
    /// large. Appends the evicted objects to `evicted`, in the order in which they left.
    fn access_sized(&mut self, key: u64, size: u64, evicted: &mut Vec<Evicted>) -> SizedAccess;

    /// As [`Policy::contains`].
    fn contains(&self, key: u64) -> Option<u32>;

    /// As [`Policy::remove`].
    fn remove(&mut self, key: u64) -> Option<u32>;

    /// Number of resident objects.
    fn len(&self) -> usize;

    /// Whether nothing is resident.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sum of the sizes of the resident objects.
    fn used(&self) -> u64;

    /// The largest sum of sizes.
    fn capacity(&self) -> u64;
}

/// The common part that each policy implements once, for either weight. `Policy` and `SizedPolicy`
/// are its public interfaces.
pub(crate) trait Replacement {
    fn refer(&mut self, key: u64, size: u64, evict: &mut impl FnMut(Evicted)) -> SizedAccess;
    fn slot_of(&self, key: u64) -> Option<u32>;
    fn forget(&mut self, key: u64) -> Option<u32>;
    fn residents(&self) -> usize;
    fn room(&self) -> &Room;
    fn reserve(&mut self, objects: usize);
}

/// The used part of the capacity, and the capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    used: u64,
    capacity: u64,
}

impl Room {
    pub(crate) fn new(capacity: u64) -> Self {
        assert!(capacity >= 1, "a cache needs room for one object at least");
        assert!(capacity <= 1 << 61, "twice a capacity of {capacity}, and an object, are too much");
        Self { used: 0, capacity }
    }

    /// Room for this number of objects of unit size.
    pub(crate) fn of_objects(capacity: usize) -> Self {
        assert!(capacity <= MAX_CAPACITY, "a capacity of {capacity} objects");
        Self::new(capacity as u64)
    }

    pub(crate) const fn lacks(&self, size: u64) -> bool {
        size > self.capacity - self.used
    }
}

/// Gives a policy its constructors.
macro_rules! constructors {
    ($policy:ident) => {
        impl $policy {
            /// An empty cache for `capacity` unit-size objects, from 1 to [`MAX_CAPACITY`].
            ///
            /// [`MAX_CAPACITY`]: crate::cache::MAX_CAPACITY
            pub fn new(capacity: usize) -> Self {
                Self::with_room($crate::cache::Room::of_objects(capacity))
            }
        }

        impl $policy<$crate::cache::Pages> {
            /// The same for pages: objects that come in runs of consecutive keys.
            pub fn of_pages(capacity: usize) -> Self {
                Self::with_room($crate::cache::Room::of_objects(capacity))
            }
        }

        impl $policy<$crate::cache::BySize> {
            /// An empty cache for objects whose sizes add up to `capacity`, from 1 to 2⁶¹.
            pub fn sized(capacity: u64) -> Self {
                Self::with_room($crate::cache::Room::new(capacity))
            }
        }
    };
}
use constructors;

/// The parts of [`Replacement`] that are the same for policies whose only state per object is in `shelves`.
macro_rules! on_shelves {
    () => {
        fn slot_of(&self, key: u64) -> Option<u32> {
            self.shelves.slot_of(key)
        }

        fn forget(&mut self, key: u64) -> Option<u32> {
            let node = self.shelves.find(key)?;
            self.shelves.forget(node).map(|object| object.slot)
        }

        fn residents(&self) -> usize {
            self.shelves.residents()
        }

        fn room(&self) -> &$crate::cache::Room {
            self.shelves.room()
        }

        fn reserve(&mut self, objects: usize) {
            self.shelves.reserve(objects);
        }
    };
}
use on_shelves;

/// Gives a policy its public interfaces.
macro_rules! faces {
    ($policy:ident) => {
        impl<W: $crate::cache::weight::Equal> $crate::cache::Policy for $policy<W> {
            #[inline]
            fn access(&mut self, key: u64) -> $crate::cache::Access {
                use $crate::cache::{Access, Replacement, SizedAccess};
                let mut evicted = None;
                match self.refer(key, 1, &mut |object| {
                    debug_assert!(evicted.is_none());
                    evicted = Some(object);
                }) {
                    SizedAccess::Hit { slot } => Access::Hit { slot },
                    SizedAccess::Miss { slot } => Access::Miss { slot, evicted },
                    SizedAccess::Refused => unreachable!("there is room for one object"),
                }
            }
            #[inline]
            fn contains(&self, key: u64) -> Option<u32> {
                $crate::cache::Replacement::slot_of(self, key)
            }
            fn remove(&mut self, key: u64) -> Option<u32> {
                $crate::cache::Replacement::forget(self, key)
            }
            fn len(&self) -> usize {
                $crate::cache::Replacement::residents(self)
            }
            fn capacity(&self) -> usize {
                let capacity = $crate::cache::Replacement::room(self).capacity;
                usize::try_from(capacity).unwrap_or(usize::MAX)
            }
            fn reserve(&mut self, objects: usize) {
                $crate::cache::Replacement::reserve(self, objects);
            }
        }

        impl $crate::cache::SizedPolicy for $policy<$crate::cache::BySize> {
            fn access_sized(
                &mut self,
                key: u64,
                size: u64,
                evicted: &mut Vec<$crate::cache::Evicted>,
            ) -> $crate::cache::SizedAccess {
                $crate::cache::Replacement::refer(self, key, size, &mut |object| {
                    evicted.push(object);
                })
            }
            fn contains(&self, key: u64) -> Option<u32> {
                $crate::cache::Replacement::slot_of(self, key)
            }
            fn remove(&mut self, key: u64) -> Option<u32> {
                $crate::cache::Replacement::forget(self, key)
            }
            fn len(&self) -> usize {
                $crate::cache::Replacement::residents(self)
            }
            fn used(&self) -> u64 {
                $crate::cache::Replacement::room(self).used
            }
            fn capacity(&self) -> u64 {
                $crate::cache::Replacement::room(self).capacity
            }
        }
    };
}
use faces;

#[cfg(test)]
mod tests;
