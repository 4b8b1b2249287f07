//! A map as a vector of pairs.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Bound, Index, Range, RangeBounds};

/// A map whose entries are in a vector, in the order of their keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SortedMap<K, V> {
    entries: Vec<(K, V)>,
}

impl<K, V> SortedMap<K, V> {
    /// A map without entries.
    #[must_use]
    pub const fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the map has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// The entries in the order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        self.entries.iter().map(pair)
    }

    /// The entries in the order of their keys; the values can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        self.entries.iter_mut().map(pair_mut)
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.entries.iter().map(key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.entries.iter().map(value)
    }

    /// The values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.entries.iter_mut().map(value_mut)
    }

    /// The keys in order; the values are dropped.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.entries.into_iter().map(own_key)
    }

    /// The values in the order of their keys, which are dropped.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.entries.into_iter().map(own_value)
    }

    /// The entry with the least key.
    #[must_use]
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.entries.first().map(pair)
    }

    /// Removes the entry with the least key.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        if self.entries.is_empty() { None } else { Some(self.entries.remove(0)) }
    }

    /// Removes the entry with the greatest key.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        self.entries.pop()
    }

    /// Keeps the entries for which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    /// Where `key` is, or where it would be.
    fn place<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|entry| entry.0.borrow().cmp(key))
    }

    /// Where to add `key`, or where it is. Keys are often added in order: the last is compared first.
    fn place_to_add(&self, key: &K) -> Result<usize, usize> {
        match self.entries.last() {
            Some(last) if last.0 < *key => Err(self.entries.len()),
            _ => self.place(key),
        }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| &self.entries[at].1)
    }

    /// The value of `key`, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| &mut self.entries[at].1)
    }

    /// Whether `key` has a value.
    #[must_use]
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.place(key).is_ok()
    }

    /// Gives `key` a value, and returns the value that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place_to_add(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.entries[at].1, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes `key`, and returns its value.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.place(key).ok().map(|at| self.entries.remove(at).1)
    }

    /// The place of `key`, to read or to fill it.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { place: self.place_to_add(&key), map: self, key }
    }

    /// The entries with keys in `keys`.
    ///
    /// # Panics
    ///
    /// Panics if the range begins after its end.
    pub fn range(&self, keys: impl RangeBounds<K>) -> Iter<'_, K, V> {
        self.entries[self.places(&keys)].iter().map(pair)
    }

    /// The entries with keys in `keys`; the values can be changed.
    ///
    /// # Panics
    ///
    /// Panics if the range begins after its end.
    pub fn range_mut(&mut self, keys: impl RangeBounds<K>) -> IterMut<'_, K, V> {
        let places = self.places(&keys);
        self.entries[places].iter_mut().map(pair_mut)
    }

    fn places(&self, keys: &impl RangeBounds<K>) -> Range<usize> {
        let before = |key: &K, equal: bool| {
            self.entries
                .partition_point(|entry| if equal { entry.0 <= *key } else { entry.0 < *key })
        };
        let from = match keys.start_bound() {
            Bound::Included(key) => before(key, false),
            Bound::Excluded(key) => before(key, true),
            Bound::Unbounded => 0,
        };
        let to = match keys.end_bound() {
            Bound::Included(key) => before(key, true),
            Bound::Excluded(key) => before(key, false),
            Bound::Unbounded => self.entries.len(),
        };
        from..to
    }

    /// Sorts the entries by key. Of entries with one key, the last stays.
    fn sort(&mut self) {
        if self.entries.is_sorted_by(|a, b| a.0 < b.0) {
            return;
        }
        self.entries.sort_by(|a, b| a.0.cmp(&b.0));
        self.entries.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
    }
}

/// Iterates over the entries of a map.
pub(crate) type Iter<'a, K, V> =
    std::iter::Map<std::slice::Iter<'a, (K, V)>, fn(&'a (K, V)) -> (&'a K, &'a V)>;

/// Iterates over the entries of a map, whose values can be changed.
pub(crate) type IterMut<'a, K, V> =
    std::iter::Map<std::slice::IterMut<'a, (K, V)>, fn(&'a mut (K, V)) -> (&'a K, &'a mut V)>;

fn pair<K, V>(entry: &(K, V)) -> (&K, &V) {
    (&entry.0, &entry.1)
}

fn pair_mut<K, V>(entry: &mut (K, V)) -> (&K, &mut V) {
    (&entry.0, &mut entry.1)
}

fn key<K, V>(entry: &(K, V)) -> &K {
    &entry.0
}

fn value<K, V>(entry: &(K, V)) -> &V {
    &entry.1
}

fn value_mut<K, V>(entry: &mut (K, V)) -> &mut V {
    &mut entry.1
}

fn own_key<K, V>(entry: (K, V)) -> K {
    entry.0
}

fn own_value<K, V>(entry: (K, V)) -> V {
    entry.1
}

/// The place of a key in a map, with a value or without.
#[derive(Debug)]
pub struct Entry<'a, K, V> {
    map: &'a mut SortedMap<K, V>,
    place: Result<usize, usize>,
    key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    /// The value, which is `value` if there was none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, which `value` makes if there was none.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let Self { map, place, key } = self;
        let at = place.unwrap_or_else(|at| {
            map.entries.insert(at, (key, value()));
            at
        });
        &mut map.entries[at].1
    }

    /// The value, which is the default if there was none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self { entries: entries.into_iter().collect() };
        map.sort();
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for SortedMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        Self::from_iter(entries)
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        self.entries.extend(entries);
        self.sort();
    }
}

impl<K, V> IntoIterator for SortedMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a SortedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut SortedMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("no entry found for key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn a_map_does_what_a_tree_does(
            first in prop::collection::vec((0u8..20, any::<u16>()), 0..30),
            steps in prop::collection::vec((0u8..9, 0u8..20, any::<u16>()), 0..60),
        ) {
            let mut tree: BTreeMap<u8, u16> = first.iter().copied().collect();
            let mut map: SortedMap<u8, u16> = first.into_iter().collect();
            for (step, key, value) in steps {
                match step {
                    0 => prop_assert_eq!(map.insert(key, value), tree.insert(key, value)),
                    1 => prop_assert_eq!(map.remove(&key), tree.remove(&key)),
                    2 => *map.entry(key).or_insert(value) += 0,
                    3 => *map.entry(key).or_default() ^= value,
                    4 => prop_assert_eq!(map.pop_first(), tree.pop_first()),
                    5 => map.values_mut().for_each(|v| *v = v.wrapping_add(value)),
                    6 => map.retain(|k, v| (u16::from(*k) ^ *v) % 7 != value % 7),
                    7 => map.extend([(key, value), (3, 4), (key, 5)]),
                    _ => map.clear(),
                }
                match step {
                    2 => {
                        tree.entry(key).or_insert(value);
                    }
                    3 => *tree.entry(key).or_default() ^= value,
                    5 => tree.values_mut().for_each(|v| *v = v.wrapping_add(value)),
                    6 => tree.retain(|k, v| (u16::from(*k) ^ *v) % 7 != value % 7),
                    7 => tree.extend([(key, value), (3, 4), (key, 5)]),
                    8 => tree.clear(),
                    _ => {}
                }
                prop_assert!(map.iter().eq(&tree));
                prop_assert_eq!(map.get(&key), tree.get(&key));
                prop_assert_eq!(map.first_key_value(), tree.first_key_value());
                let ends = (key.min(value as u8 % 20), key.max(value as u8 % 20));
                prop_assert!(map.range(ends.0..ends.1).eq(tree.range(ends.0..ends.1)));
                prop_assert!(map.range(ends.0..=ends.1).eq(tree.range(ends.0..=ends.1)));
                let outer = (Bound::Excluded(ends.0), Bound::Unbounded);
                prop_assert!(map.range(outer).eq(tree.range(outer)));
                map.range_mut(..=key).for_each(|(_, v)| *v ^= value);
                tree.range_mut(..=key).for_each(|(_, v)| *v ^= value);
                if value % 5 == 0 {
                    prop_assert_eq!(map.pop_last(), tree.pop_last());
                }
                prop_assert_eq!(format!("{map:?}"), format!("{tree:?}"));
            }
        }
    }

    #[test]
    fn of_equal_keys_the_last_value_stays() {
        let map: SortedMap<&str, u8> = [("b", 1), ("a", 2), ("b", 3), ("b", 4)].into();
        assert_eq!(map.into_iter().collect::<Vec<_>>(), [("a", 2), ("b", 4)]);
    }

    #[test]
    fn strings_are_found_by_text() {
        let map = SortedMap::from([("b".to_owned(), 1), ("a".to_owned(), 2)]);
        assert_eq!((map["a"], map.get("c")), (2, None));
    }
}
