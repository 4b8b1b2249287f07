//! A set as a vector.

use std::borrow::Borrow;
use std::fmt;
use std::ops::RangeBounds;

use crate::SortedMap;

/// A set whose members are in a vector, in order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedSet<T> {
    members: SortedMap<T, ()>,
}

impl<T> SortedSet<T> {
    /// A set without members.
    #[must_use]
    pub const fn new() -> Self {
        Self { members: SortedMap::new() }
    }

    /// The number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the set has no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.members.clear();
    }

    /// The members in order.
    pub fn iter(&self) -> Iter<'_, T> {
        self.members.iter().map(member)
    }

    /// The least member.
    #[must_use]
    pub fn first(&self) -> Option<&T> {
        self.members.first_key_value().map(member)
    }

    /// The greatest member.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.members.keys().next_back()
    }

    /// Removes the least member.
    pub fn pop_first(&mut self) -> Option<T> {
        self.members.pop_first().map(own)
    }

    /// Keeps the members for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.members.retain(|member, ()| keep(member));
    }
}

impl<T: Ord> SortedSet<T> {
    /// Whether `member` is in the set.
    #[must_use]
    pub fn contains<Q: Ord + ?Sized>(&self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.members.contains_key(member)
    }

    /// Adds `member`; whether it was missing.
    pub fn insert(&mut self, member: T) -> bool {
        self.members.insert(member, ()).is_none()
    }

    /// Removes `member`; whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, member: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.members.remove(member).is_some()
    }

    /// The members in `range`.
    ///
    /// # Panics
    ///
    /// Panics if the range begins after its end.
    pub fn range(&self, range: impl RangeBounds<T>) -> Iter<'_, T> {
        self.members.range(range).map(member)
    }

    /// Whether no member is in `other`.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|member| other.contains(member))
    }
}

/// Iterates over the members of a set.
pub(crate) type Iter<'a, T> =
    std::iter::Map<crate::map::Iter<'a, T, ()>, fn((&'a T, &'a ())) -> &'a T>;

fn member<'a, T>((member, ()): (&'a T, &'a ())) -> &'a T {
    member
}

fn own<T>((member, ()): (T, ())) -> T {
    member
}

impl<T> Default for SortedSet<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for SortedSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<T: Ord> FromIterator<T> for SortedSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(members: I) -> Self {
        Self { members: members.into_iter().map(|member| (member, ())).collect() }
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for SortedSet<T> {
    fn from(members: [T; N]) -> Self {
        Self::from_iter(members)
    }
}

impl<T: Ord> Extend<T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, members: I) {
        self.members.extend(members.into_iter().map(|member| (member, ())));
    }
}

impl<'a, T: Ord + Copy> Extend<&'a T> for SortedSet<T> {
    fn extend<I: IntoIterator<Item = &'a T>>(&mut self, members: I) {
        self.extend(members.into_iter().copied());
    }
}

impl<T> IntoIterator for SortedSet<T> {
    type Item = T;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(T, ())>, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter().map(own)
    }
}

impl<'a, T> IntoIterator for &'a SortedSet<T> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_does_what_a_tree_does(
            first in prop::collection::vec(0u8..20, 0..30),
            steps in prop::collection::vec((0u8..5, 0u8..20), 0..60),
        ) {
            let other: SortedSet<u8> = [1, 2, 7, 19].into();
            let other_tree: BTreeSet<u8> = [1, 2, 7, 19].into();
            let mut tree: BTreeSet<u8> = first.iter().copied().collect();
            let mut set: SortedSet<u8> = first.into_iter().collect();
            for (step, member) in steps {
                match step {
                    0 => prop_assert_eq!(set.insert(member), tree.insert(member)),
                    1 => prop_assert_eq!(set.remove(&member), tree.remove(&member)),
                    2 => prop_assert_eq!(set.pop_first(), tree.pop_first()),
                    3 => {
                        set.retain(|kept| *kept != member);
                        tree.retain(|kept| *kept != member);
                    }
                    _ => {
                        set.extend([member, 3]);
                        tree.extend([member, 3]);
                    }
                }
                prop_assert!(set.iter().eq(&tree));
                prop_assert_eq!((set.first(), set.last()), (tree.first(), tree.last()));
                prop_assert_eq!(set.contains(&member), tree.contains(&member));
                prop_assert!(set.range(member..).eq(tree.range(member..)));
                prop_assert_eq!(set.is_disjoint(&other), tree.is_disjoint(&other_tree));
            }
        }
    }
}
