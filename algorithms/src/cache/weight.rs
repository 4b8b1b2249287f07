//! Whether the objects of a cache all count as one, or each by its size.
//!
//! A policy is written once, in terms of sizes. For objects of unit size the compiler removes the sizes.

use std::fmt::Debug;

use super::directory::{Neighbours, Together};

/// Stores the sizes of a cache's objects.
pub trait Weight: sealed::Sealed + Clone + Debug + Default {
    /// How many consecutive keys have their nodes in one leaf.
    type Neighbours: Neighbours;

    /// Stores the size of the object at `position`.
    fn set(&mut self, position: u32, size: u64);
    /// The size of the object at `position`.
    fn get(&self, position: u32) -> u64;
}

/// A weight with which every object counts as one.
pub trait Equal: Weight {}

/// Every object counts as one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unit;

/// Every object counts as one, and most objects come with those of the neighbouring keys: pages of a buffer
/// cache. The policy takes less memory, but slots are not dense.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages;

/// Every object has its own size, in bytes.
#[derive(Clone, Debug, Default)]
pub struct BySize(Vec<u64>);

/// Weights that store nothing.
macro_rules! equal {
    ($weight:ident, $neighbours:ty) => {
        impl Equal for $weight {}

        impl Weight for $weight {
            type Neighbours = $neighbours;

            #[inline]
            fn set(&mut self, _: u32, size: u64) {
                debug_assert!(size == 1);
            }
            #[inline]
            fn get(&self, _: u32) -> u64 {
                1
            }
        }
    };
}

equal!(Unit, Together<1>);
equal!(Pages, Together<4>);

impl Weight for BySize {
    type Neighbours = Together<1>;

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
    impl Sealed for super::Pages {}
    impl Sealed for super::BySize {}
}
