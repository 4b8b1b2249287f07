//! The five kinds of buckets, and how each draws one of its items.
//!
//! Source: Weil et al., *CRUSH*, SC 2006 (uniform, list, tree, straw); straw2 as in Ceph since
//! Hammer. Where Ceph would read beyond its arrays (a tree without weight), no item is drawn.

use super::hash::{LANES, hash3, hash3_lanes, hash4};
use super::logarithm::BELOW;
use super::map::{Algorithm, Bucket, CrushError, Tunables};
use super::straw::straws;

/// A bucket prepared for draws.
#[derive(Clone, Debug)]
pub(super) struct Urn {
    pub(super) id: i32,
    /// The type by which a rule chooses. Never 0, which is the type of devices.
    pub(super) kind: u16,
    pub(super) items: Vec<i32>,
    pub(super) draw: Draw,
}

/// The state of each kind of bucket for its draws.
#[derive(Clone, Debug)]
pub(super) enum Draw {
    Uniform,
    /// Weights, and their sums up to and including each item.
    List {
        weights: Vec<u32>,
        sums: Vec<u32>,
    },
    /// Weights of a binary tree's nodes; leaf `i` is node 2 i + 1.
    Tree {
        nodes: Vec<u32>,
    },
    Straw {
        straws: Vec<u32>,
    },
    Straw2(Straw2),
}

impl Urn {
    pub(super) fn new(bucket: &Bucket, tunables: &Tunables) -> Result<Self, CrushError> {
        let weights: Vec<u32> = bucket.items.iter().map(|item| item.weight).collect();
        let items: Vec<i32> = bucket.items.iter().map(|item| item.id).collect();
        let draw = match bucket.algorithm {
            Algorithm::Uniform => Draw::Uniform,
            Algorithm::List => {
                let mut sum = 0_u32;
                let mut sums = Vec::with_capacity(weights.len());
                for weight in &weights {
                    sum = sum.checked_add(*weight).ok_or_else(|| bucket.too_heavy())?;
                    sums.push(sum);
                }
                Draw::List { weights, sums }
            }
            Algorithm::Tree => {
                Draw::Tree { nodes: tree(&weights).ok_or_else(|| bucket.too_heavy())? }
            }
            Algorithm::Straw => {
                Draw::Straw { straws: straws(&weights, tunables.straw_calc_version) }
            }
            Algorithm::Straw2 => Draw::Straw2(Straw2::new(&items, &weights)),
        };
        Ok(Self { id: bucket.id, kind: bucket.kind, items, draw })
    }

    /// The item drawn for input `x` and attempt `r`; `set` replaces a straw2 bucket's own weights.
    pub(super) fn draw(
        &self,
        shuffle: &mut Shuffle,
        x: u32,
        r: i32,
        set: Option<&Straw2>,
    ) -> Option<i32> {
        match &self.draw {
            Draw::Uniform => self.shuffled(shuffle, x, r),
            Draw::List { weights, sums } => Some(self.list(weights, sums, x, r)),
            Draw::Tree { nodes } => self.tree(nodes, x, r),
            Draw::Straw { straws } => Some(self.straw(straws, x, r)),
            Draw::Straw2(own) => Some(self.items[set.unwrap_or(own).draw(x, r)]),
        }
    }

    /// The item at position `r` of a random permutation of all items.
    pub(super) fn shuffled(&self, shuffle: &mut Shuffle, x: u32, r: i32) -> Option<i32> {
        let at = (r.cast_unsigned() % self.items.len() as u32) as usize;
        self.items.get(shuffle.at(x, self.id, self.items.len(), at)).copied()
    }

    fn list(&self, weights: &[u32], sums: &[u32], x: u32, r: i32) -> i32 {
        let (r, id) = (r.cast_unsigned(), self.id.cast_unsigned());
        let mut newest_first = self.items.iter().zip(weights).zip(sums).rev();
        let chosen = newest_first.find(|((item, weight), sum)| {
            let draw = u64::from(hash4(x, item.cast_unsigned(), r, id) & 0xffff);
            (draw * u64::from(**sum)) >> 16 < u64::from(**weight)
        });
        chosen.map_or(self.items[0], |((item, _), _)| *item)
    }

    fn tree(&self, nodes: &[u32], x: u32, r: i32) -> Option<i32> {
        let (r, id) = (r.cast_unsigned(), self.id.cast_unsigned());
        let mut node = nodes.len() >> 1;
        while node & 1 == 0 {
            let point = (u64::from(hash4(x, node as u32, r, id)) * u64::from(nodes[node])) >> 32;
            let half = 1 << (node.trailing_zeros() - 1);
            let left = node - half;
            node = if point < u64::from(nodes[left]) { left } else { node + half };
        }
        self.items.get(node >> 1).copied()
    }

    fn straw(&self, straws: &[u32], x: u32, r: i32) -> i32 {
        let r = r.cast_unsigned();
        let mut longest = 0;
        let mut chosen = self.items[0];
        for (item, straw) in self.items.iter().zip(straws) {
            let draw = u64::from(hash3(x, item.cast_unsigned(), r) & 0xffff) * u64::from(*straw);
            // the first of equal draws wins
            if draw > longest {
                (longest, chosen) = (draw, *item);
            }
        }
        chosen
    }
}

/// Sums of weights in a binary tree whose leaf `i` is node 2 i + 1; `None` if a sum exceeds 32 bits.
fn tree(weights: &[u32]) -> Option<Vec<u32>> {
    let mut nodes = vec![0_u32; 2 * weights.len().next_power_of_two().max(1)];
    let depth = nodes.len().trailing_zeros();
    for (leaf, weight) in weights.iter().enumerate() {
        let mut node = 2 * leaf + 1;
        nodes[node] = *weight;
        for _ in 1..depth {
            let height = node.trailing_zeros();
            let on_the_right = node & (2 << height) != 0;
            node = if on_the_right { node - (1 << height) } else { node + (1 << height) };
            nodes[node] = nodes[node].checked_add(*weight)?;
        }
    }
    Some(nodes)
}

/// Weights of a straw2 bucket: its own, or a weight set that replaces them.
///
/// An item's draw is an exponential variable with its weight as rate, in fixed point: a logarithm
/// divided by the weight. The division is done in floating point, and repeated in integers only if
/// it could change the result.
#[derive(Clone, Debug)]
pub(super) struct Straw2 {
    /// The hash input of each item: its id, unless other ids are set. Padded with zeros.
    ids: Vec<[u32; LANES]>,
    /// 1 / weight; infinite for a weight of 0, and beyond the last item.
    inverse: Vec<[f64; LANES]>,
    weights: Vec<u32>,
}

impl Straw2 {
    pub(super) fn new(ids: &[i32], weights: &[u32]) -> Self {
        debug_assert_eq!(ids.len(), weights.len());
        let chunks = ids.len().div_ceil(LANES);
        let mut all = Self {
            ids: vec![[0; LANES]; chunks],
            inverse: vec![[f64::INFINITY; LANES]; chunks],
            weights: weights.to_vec(),
        };
        for (at, (id, weight)) in ids.iter().zip(weights).enumerate() {
            all.ids[at / LANES][at % LANES] = id.cast_unsigned();
            all.inverse[at / LANES][at % LANES] = 1.0 / f64::from(*weight);
        }
        all
    }

    /// The same weights with other ids hashed.
    pub(super) fn with_ids(&self, ids: &[i32]) -> Self {
        Self::new(ids, &self.weights)
    }

    /// The position of the drawn item: the first of those with the best draw, or the first of all if none has weight.
    fn draw(&self, x: u32, r: i32) -> usize {
        let below = &*BELOW;
        let (mut nearest, mut limit, mut chosen) = (u64::MAX, f64::INFINITY, 0);
        for (chunk, (ids, inverse)) in self.ids.iter().zip(&self.inverse).enumerate() {
            let hashes = hash3_lanes(x, ids, r.cast_unsigned());
            for lane in 0..LANES {
                let below = below[(hashes[lane] & 0xffff) as usize];
                // relative error at most 2^-52
                if below * inverse[lane] < limit {
                    let at = chunk * LANES + lane;
                    let exact = below as u64 / u64::from(self.weights[at]);
                    if exact < nearest {
                        (nearest, chosen) = (exact, at);
                        limit = exact as f64 * (1.0 + 4.0 * f64::EPSILON);
                    }
                }
            }
        }
        chosen
    }
}

/// The beginning of a random permutation of a bucket's items, for one input.
#[derive(Clone, Default, Debug)]
pub(super) struct Shuffle {
    x: u32,
    /// Number of positions that are determined; 0 if there is no permutation yet.
    settled: usize,
    order: Vec<u32>,
}

impl Shuffle {
    /// The item at position `at` of `size`.
    fn at(&mut self, x: u32, bucket: i32, size: usize, at: usize) -> usize {
        if self.settled == 0 || self.x != x {
            self.x = x;
            self.settled = 0;
            self.order.clear();
            self.order.extend(0..size as u32);
        }
        while self.settled <= at {
            let first = self.settled;
            let rest = (size - first) as u32;
            if rest > 1 {
                let other = hash3(x, bucket.cast_unsigned(), first as u32) % rest;
                self.order.swap(first, first + other as usize);
            }
            self.settled += 1;
        }
        self.order[at] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_draw_is_the_plain_one() {
        // weights from 1/65536 to 65535, some zero, and many equal; the plain method divides for each item
        let weights: Vec<u32> =
            (0..37_u32).map(|i| if i % 9 == 4 { 0 } else { 1 << (i % 32) | i }).collect();
        let ids: Vec<i32> = (0..37).map(|i| i * 7 - 100).collect();
        let urn = Straw2::new(&ids, &weights);
        let plain = |x: u32, r: i32| {
            let (mut high, mut best) = (0, i64::MIN);
            for (at, (id, weight)) in ids.iter().zip(&weights).enumerate() {
                let u = hash3(x, id.cast_unsigned(), r.cast_unsigned()) & 0xffff;
                let below = BELOW[u as usize] as i64;
                let draw = if *weight == 0 { i64::MIN } else { -below / i64::from(*weight) };
                if at == 0 || draw > best {
                    (high, best) = (at, draw);
                }
            }
            high
        };
        for x in 0..20_000 {
            assert_eq!(urn.draw(x, (x % 5).cast_signed()), plain(x, (x % 5).cast_signed()), "{x}");
        }
        assert_eq!(Straw2::new(&[3, 4], &[0, 0]).draw(1, 1), 0);
    }

    #[test]
    fn a_shuffle_is_a_permutation_in_any_order_of_asking() {
        let mut up = Shuffle::default();
        let forth: Vec<usize> = (0..11).map(|at| up.at(5, -3, 11, at)).collect();
        let mut down = Shuffle::default();
        let mut back: Vec<usize> = (0..11).rev().map(|at| down.at(5, -3, 11, at)).collect();
        back.reverse();
        assert_eq!(forth, back);
        back.sort_unstable();
        assert_eq!(back, (0..11).collect::<Vec<_>>());
    }

    #[test]
    fn a_tree_adds_up() {
        // leaves 1, 3, 5; node 2 is the left half, node 6 the right half, node 4 the root
        assert_eq!(tree(&[1, 2, 4]).unwrap(), [0, 1, 3, 2, 7, 4, 4, 0]);
        assert_eq!(tree(&[9]).unwrap(), [0, 9]);
        assert!(tree(&[u32::MAX, 1]).is_none());
    }
}
