//! Whether the objects of a cache all count as one, or each by its size.
//!
//! A policy is written once, in terms of sizes. For objects of unit size the compiler removes the sizes.

use std::fmt::Debug;

/// Stores the sizes of a cache's objects.
pub trait Weight: sealed::Sealed + Clone + Debug + Default {
    /// Stores the size of the object at `position`.
    fn set(&mut self, position: u32, size: u64);
    /// The size of the object at `position`.
    fn get(&self, position: u32) -> u64;
}

/// Every object counts as one: pages of a buffer cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unit;

/// Every object has its own size, in bytes.
#[derive(Clone, Debug, Default)]
pub struct BySize(Vec<u64>);

impl Weight for Unit {
    #[inline]
    fn set(&mut self, _: u32, size: u64) {
        debug_assert!(size == 1);
    }
    #[inline]
    fn get(&self, _: u32) -> u64 {
        1
    }
}

impl Weight for BySize {
    fn set(&mut self, position: u32, size: u64) {
        let position = position as usize;
        if position >= self.0.len() {
            self.0.resize(position + 1, 0);
        }
        self.0[position] = size;
    }
    fn get(&self, position: u32) -> u64 {
        self.0[position as usize]
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Unit {}
    impl Sealed for super::BySize {}
}
