//! From a key to the number of its node, by open addressing.
//!
//! A simulated node looks up runs of consecutive pages, so the hash keeps eight neighbours
//! together: the key without its low three bits is hashed, and the low three bits choose among
//! eight adjacent places, in an order that differs from group to group (so keys that are all
//! multiples of eight, as block numbers often are, spread out as well). Places are eight bytes,
//! hence a group is one cache line.
//!
//! A place holds 32 bits of the hash and the node's number. The hash bits decide nearly every
//! comparison without a look at the node, and tell where an entry belongs when the table grows
//! or a deletion closes a gap. Linear probing with backward-shift deletion (Knuth, vol. 3, 6.4,
//! algorithm R) leaves no tombstones: a cache deletes as often as it inserts.

/// Places of the smallest table.
const SMALLEST: usize = 16;

/// Maps keys, that the caller stores, to node numbers, which are never zero.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// Hash above, node number below; zero where free.
    places: Vec<u64>,
    len: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { places: vec![0; SMALLEST], len: 0 }
    }
}

/// 32 bits of hash, in which the low three tell the keys of a group of eight apart.
pub(crate) fn hash(key: u64) -> u32 {
    // The two halves of a 128-bit product, folded: low bits of the key decide the upper part of
    // the lower half, high bits of the key the lower part of the upper half.
    let product = u128::from(key >> 3) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
    (product >> 64) as u32 ^ (product >> 32) as u32 ^ (key & 7) as u32
}

impl Index {
    fn mask(&self) -> usize {
        self.places.len() - 1
    }

    /// The node whose key has this `hash` and satisfies `is_it`.
    pub(crate) fn find(&self, hash: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.mask();
        let mut at = hash as usize & mask;
        loop {
            let place = self.places[at & mask];
            if place == 0 {
                return None;
            }
            if (place >> 32) as u32 == hash && is_it(place as u32) {
                return Some(place as u32);
            }
            at += 1;
        }
    }

    /// Adds `node`, whose key is not in the table yet.
    pub(crate) fn insert(&mut self, hash: u32, node: u32) {
        debug_assert!(node != 0);
        if (self.len + 1) * 2 > self.places.len() {
            self.grow();
        }
        self.place(u64::from(hash) << 32 | u64::from(node));
        self.len += 1;
    }

    fn place(&mut self, entry: u64) {
        let mask = self.mask();
        let mut at = (entry >> 32) as usize & mask;
        while self.places[at & mask] != 0 {
            at += 1;
        }
        self.places[at & mask] = entry;
    }

    fn grow(&mut self) {
        let doubled = vec![0; self.places.len() * 2];
        for entry in std::mem::replace(&mut self.places, doubled) {
            if entry != 0 {
                self.place(entry);
            }
        }
    }

    /// Takes `node`, which is in the table under `hash`, out of it.
    pub(crate) fn remove(&mut self, hash: u32, node: u32) {
        let mask = self.mask();
        let entry = u64::from(hash) << 32 | u64::from(node);
        let mut gap = hash as usize & mask;
        while self.places[gap] != entry {
            assert!(self.places[gap] != 0, "node {node} is not in the index");
            gap = (gap + 1) & mask;
        }
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let follower = self.places[at];
            if follower == 0 {
                break;
            }
            // It may move into the gap unless its home lies after the gap.
            let home = (follower >> 32) as usize & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(gap) & mask) {
                self.places[gap] = follower;
                gap = at;
            }
        }
        self.places[gap] = 0;
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_group_of_eight_shares_a_line() {
        for group in 0..1_000_u64 {
            let line = hash(group * 8) >> 3;
            let mut lanes = [false; 8];
            for key in group * 8..group * 8 + 8 {
                assert_eq!(hash(key) >> 3, line);
                lanes[(hash(key) & 7) as usize] = true;
            }
            assert_eq!(lanes, [true; 8]);
        }
    }

    /// Mean and largest number of places looked at to find each of `keys`.
    fn probes(keys: impl Iterator<Item = u64>) -> (f64, usize) {
        let mut index = Index::default();
        let mut nodes = vec![u64::MAX];
        for key in keys {
            index.insert(hash(key), nodes.len() as u32);
            nodes.push(key);
        }
        let mask = index.mask();
        let (mut total, mut most) = (0, 0);
        for (at, &entry) in index.places.iter().enumerate().filter(|(_, entry)| **entry != 0) {
            let far = at.wrapping_sub((entry >> 32) as usize) & mask;
            total += far + 1;
            most = most.max(far + 1);
        }
        (total as f64 / (nodes.len() - 1) as f64, most)
    }

    #[test]
    fn keys_of_many_patterns_spread_out() {
        // Just below the load of 1/2 at which the table grows, random hashing needs 1.5 probes a
        // hit (Knuth 6.4); whole groups of eight collide together, which costs up to eight times
        // the 0.5 in excess.
        const N: u64 = 130_000;
        for (what, mean, keys) in [
            ("consecutive", 6.0, Box::new(0..N) as Box<dyn Iterator<Item = u64>>),
            ("multiples of 8", 1.7, Box::new((0..N).map(|i| i * 8))),
            ("multiples of 64", 1.7, Box::new((0..N).map(|i| i * 64))),
            ("multiples of 4096", 1.7, Box::new((0..N).map(|i| i << 12))),
            ("high bits", 1.7, Box::new((0..N).map(|i| i << 40))),
            ("two volumes", 6.0, Box::new((0..N).map(|i| (i & 1) << 40 | i >> 1))),
            ("squares", 1.8, Box::new((0..N).map(|i| i * i))),
            ("top bits", 1.7, Box::new((0..N).map(u64::reverse_bits))),
        ] {
            let (found, most) = probes(keys);
            println!("{what}: {found} {most}");
            assert!(found < mean && most < 1000, "{what}: mean {found}, most {most}");
        }
    }

    proptest! {
        /// A small key space, so that keys come back and probes wrap around.
        #[test]
        fn oracle_index_matches_a_tree(
            steps in prop::collection::vec((any::<bool>(), 0_u64..200), 0..600)
        ) {
            let mut index = Index::default();
            let mut tree = BTreeMap::new();
            let mut keys = vec![u64::MAX];
            for (insert, key) in steps {
                let found = index.find(hash(key), |node| keys[node as usize] == key);
                prop_assert_eq!(found, tree.get(&key).copied());
                match found {
                    None if insert => {
                        let node = keys.len() as u32;
                        keys.push(key);
                        index.insert(hash(key), node);
                        tree.insert(key, node);
                    }
                    Some(node) if !insert => {
                        index.remove(hash(key), node);
                        tree.remove(&key);
                    }
                    _ => {}
                }
                prop_assert_eq!(index.len, tree.len());
            }
            for key in 0..200 {
                let found = index.find(hash(key), |node| keys[node as usize] == key);
                prop_assert_eq!(found, tree.get(&key).copied());
            }
        }
    }
}
