//! Maps and sets in key order, each a sorted vector.
//!
//! They are used like [`BTreeMap`] and [`BTreeSet`], whose methods they have, and iterate in the same order. The
//! difference is what the compiler makes of them: every crate that uses a `BTreeMap` gets a copy of its code for
//! each pair of types, and these copies were a third of what most crates here gave to LLVM. A sorted vector needs far
//! less, in compile time as in bytes.
//!
//! They are for maps that stay small, that are filled in order of their keys, or that are collected at once: an entry
//! that is added or removed moves all entries after it. A map that grows with the number of objects, groups, requests
//! or threads, and not in order, is a `BTreeMap`.
//!
//! [`BTreeMap`]: std::collections::BTreeMap
//! [`BTreeSet`]: std::collections::BTreeSet

mod map;
mod serial;
mod set;

pub use map::{Entry, SortedMap};
pub use set::SortedSet;
