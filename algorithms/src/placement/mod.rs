//! Which node of a volume holds which fragment of a group of blocks.
//!
//! `rotate` walks around the list of nodes. It is even to the last fragment, and a sequential
//! reader uses all nodes in turn, but adding or removing a node moves nearly everything. `hash`
//! draws straws, as straw2 of CRUSH does (Weil et al., SC 2006; Ceph). For each fragment every node
//! draws a length from a hash of (volume, group, fragment, node), scaled by its weight. The longest
//! straw wins among the nodes that hold no earlier fragment of the group. A node's straws do not
//! depend on the others. So an added node takes its share from all, and nothing else moves, except
//! where it displaces a node that then wins a later fragment of the same group. A separate draw for
//! each fragment keeps the other fragments in place (CRUSH's *indep* mode), which matters to
//! erasure codes, where fragments are not copies of each other.
//!
//! [`Crush`] draws straws twice, for a host and then for one of its devices, as Ceph does. [`Ring`]
//! is Swift's table of partitions.

mod crush;
mod ring;

use std::fmt;
use std::str::FromStr;

use foretell_units::VolumeId;
use thiserror::Error;

use crate::mix::mix;
use crate::names;

pub use crush::{Crush, CrushHost, DevicePlace};
pub use ring::{MAX_POWER, Ring, RingDevice, partition_of};

/// How many units may fail, whichever they are, so that `needed` members of a group are left. `units`: the unit of each
/// member, such as its host or rack.
pub fn tolerated<U: Ord>(units: impl IntoIterator<Item = U>, needed: usize) -> usize {
    let mut units: Vec<U> = units.into_iter().collect();
    units.sort_unstable();
    let mut sizes: Vec<usize> = units.chunk_by(|a, b| a == b).map(<[U]>::len).collect();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut left = units.len();
    let holds = sizes.into_iter().take_while(|size| {
        let holds = left >= needed + size;
        left -= size;
        holds
    });
    holds.count()
}

/// How groups of blocks are spread over a volume's nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Placement {
    /// Group g begins at node g mod N and takes the nodes that follow.
    #[default]
    Rotate,
    /// Each fragment is on the node with the best hash of volume, group, fragment and node.
    Hash,
}

impl Placement {
    /// All placements.
    pub const ALL: &[Self] = &[Self::Rotate, Self::Hash];

    /// The name as scenarios write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rotate => "rotate",
            Self::Hash => "hash",
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a placement is not possible.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum PlacementError {
    /// No placement has this name.
    #[error("`{found}` is not a placement; {wanted}")]
    Name {
        /// The name as found.
        found: String,
        /// The known names.
        wanted: String,
    },
    /// There are no nodes.
    #[error("a placement needs one node at least; the list is empty")]
    NoNodes,
    /// There are fewer devices than copies.
    #[error("{replicas} replicas need so many devices; there are {devices}")]
    Few {
        /// Number of devices.
        devices: usize,
        /// Number of copies wanted.
        replicas: usize,
    },
    /// A node is listed twice.
    #[error("node {id} occurs twice in the list of nodes")]
    Duplicate {
        /// The node's identity.
        id: u32,
    },
    /// A weight is not positive and finite.
    #[error("node {id} has weight {weight}; a weight is positive and finite")]
    Weight {
        /// The node's identity.
        id: u32,
        /// As found.
        weight: f64,
    },
}

impl FromStr for Placement {
    type Err = PlacementError;

    /// Reads the name that [`Placement::name`] gives.
    fn from_str(text: &str) -> Result<Self, PlacementError> {
        Self::ALL.iter().copied().find(|placement| placement.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|placement| placement.name()).collect();
            PlacementError::Name { found: text.to_owned(), wanted: names::wanted(text, &names) }
        })
    }
}

/// A node that may be chosen.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Its hashed identity; a node draws the same straws in every list.
    identity: u64,
    weight: f64,
}

/// A [`Placement`] on the nodes of one volume.
#[derive(Clone, Debug)]
pub struct Layout {
    placement: Placement,
    volume: u64,
    nodes: Vec<Candidate>,
    /// Whether all weights are equal, so that logarithms are not needed.
    even: bool,
}

impl Layout {
    /// Nodes of equal weight with the identities `ids` (such as host numbers).
    ///
    /// The identities matter only to [`Placement::Hash`]: a node in two lists draws the same straws in both.
    ///
    /// # Errors
    ///
    /// If the list is empty or names a node twice.
    pub fn new(
        placement: Placement,
        volume: VolumeId,
        ids: &[u32],
    ) -> Result<Self, PlacementError> {
        let even: Vec<_> = ids.iter().map(|&id| (id, 1.0)).collect();
        Self::weighted(placement, volume, &even)
    }

    /// Nodes with identities and weights. A node of twice the weight gets twice as many first
    /// fragments, and of all fragments as nearly twice as many as distinct nodes allow. Weights
    /// matter only to [`Placement::Hash`].
    ///
    /// # Errors
    ///
    /// If the list is empty or names a node twice, or a weight is not positive and finite.
    pub fn weighted(
        placement: Placement,
        volume: VolumeId,
        nodes: &[(u32, f64)],
    ) -> Result<Self, PlacementError> {
        let (_, first) = *nodes.first().ok_or(PlacementError::NoNodes)?;
        let mut ids: Vec<_> = nodes.iter().map(|&(id, _)| id).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PlacementError::Duplicate { id: pair[0] });
        }
        if let Some(&(id, weight)) = nodes.iter().find(|(_, w)| !(w.is_finite() && *w > 0.0)) {
            return Err(PlacementError::Weight { id, weight });
        }
        Ok(Self {
            placement,
            volume: mix(u64::from(volume.0)),
            nodes: nodes
                .iter()
                .map(|&(id, weight)| Candidate { identity: mix(u64::from(id) << 32), weight })
                .collect(),
            even: nodes.iter().all(|(_, weight)| weight.to_bits() == first.to_bits()),
        })
    }

    /// The placement.
    pub const fn placement(&self) -> Placement {
        self.placement
    }

    /// Number of nodes.
    pub const fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// Fills `out` with the nodes of fragments 0, 1, 2 … of group `group`, as indices into the
    /// list. They are distinct; `out` must not be longer than the list.
    pub fn nodes_for(&self, group: u64, out: &mut [u32]) {
        let count = self.nodes.len();
        assert!(out.len() <= count, "{} fragments on {count} nodes", out.len());
        match self.placement {
            Placement::Rotate => {
                let mut node = (group % count as u64) as u32;
                for place in out {
                    *place = node;
                    node += 1;
                    if node == count as u32 {
                        node = 0;
                    }
                }
            }
            Placement::Hash => {
                let group = mix(self.volume ^ group);
                for fragment in 0..out.len() {
                    let (earlier, rest) = out.split_at_mut(fragment);
                    rest[0] = self.longest_straw(mix(group ^ fragment as u64), earlier);
                }
            }
        }
    }

    /// The winner of draw `draw` among the nodes that are not in `earlier`.
    fn longest_straw(&self, draw: u64, earlier: &[u32]) -> u32 {
        let mut best = (f64::NEG_INFINITY, 0, 0);
        for (node, candidate) in self.nodes.iter().enumerate() {
            let node = node as u32;
            let hash = mix(draw ^ candidate.identity);
            // Straw2: ln(u) / weight with u uniform on (0, 1]. The probability that a node has the
            // largest draw is proportional to its weight. With equal weights the hash alone gives
            // the same order.
            let length = if self.even {
                0.0
            } else {
                libm::log(((hash >> 11) + 1) as f64 / (1_u64 << 53) as f64) / candidate.weight
            };
            if (length, hash) > (best.0, best.1) && !earlier.contains(&node) {
                best = (length, hash, node);
            }
        }
        best.2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GROUPS: u64 = 20_000;

    #[test]
    fn whichever_units_fail_enough_members_are_left() {
        // 8-of-12 on three hosts: a failure leaves 8; 9 are needed to serve
        let hosts = (0..12).map(|member| member % 3);
        assert_eq!(tolerated(hosts.clone(), 8), 1);
        assert_eq!(tolerated(hosts, 9), 0);
        // the host with two members is the first to fail
        assert_eq!(tolerated([1, 1, 2, 3], 2), 1);
        assert_eq!(tolerated([1, 2, 3, 4], 2), 2);
        assert_eq!(tolerated([1, 2], 3), 0, "there are too few from the beginning");
    }

    fn ids(range: std::ops::Range<u32>) -> Vec<u32> {
        range.collect()
    }

    fn layout(placement: Placement, ids: &[u32]) -> Layout {
        Layout::new(placement, VolumeId(3), ids).unwrap()
    }

    fn nodes_for(layout: &Layout, group: u64, n: usize) -> Vec<u32> {
        let mut out = vec![u32::MAX; n];
        layout.nodes_for(group, &mut out);
        out
    }

    #[test]
    fn rotate_walks_around() {
        let layout = layout(Placement::Rotate, &[10, 11, 12, 13, 14]);
        assert_eq!(nodes_for(&layout, 0, 3), [0, 1, 2]);
        assert_eq!(nodes_for(&layout, 4, 3), [4, 0, 1]);
        // 1 000 000 007 mod 5 = 2
        assert_eq!(nodes_for(&layout, 1_000_000_007, 5), [2, 3, 4, 0, 1]);
    }

    /// Chi-square of how often each of 12 nodes holds fragment `fragment` of n.
    fn chi_square(layout: &Layout, n: usize, fragment: usize) -> f64 {
        let mut counts = vec![0.0; layout.node_count()];
        for group in 0..GROUPS {
            counts[nodes_for(layout, group, n)[fragment] as usize] += 1.0;
        }
        let expected = GROUPS as f64 / counts.len() as f64;
        counts.iter().map(|count| (count - expected) * (count - expected) / expected).sum()
    }

    #[test]
    fn hash_is_even_for_every_fragment() {
        let layout = layout(Placement::Hash, &ids(0..12));
        for fragment in 0..5 {
            // 11 degrees of freedom: 31.3 is exceeded once in a thousand
            let found = chi_square(&layout, 5, fragment);
            assert!(found < 31.3, "fragment {fragment}: {found}");
        }
    }

    #[test]
    fn hash_separates_volumes() {
        let ids = ids(0..12);
        let of = |volume| Layout::new(Placement::Hash, VolumeId(volume), &ids).unwrap();
        let same = (0..GROUPS)
            .filter(|&group| nodes_for(&of(1), group, 1) == nodes_for(&of(2), group, 1))
            .count();
        // independent: 1/12 of 20 000 = 1667, standard deviation 39; four of them
        assert!((1511..1823).contains(&same), "{same}");
    }

    #[test]
    fn weights_are_shares() {
        // 1 : 1 : 2 : 4, so eighths
        let nodes = [(0, 1.0), (1, 1.0), (2, 2.0), (3, 4.0)];
        let layout = Layout::weighted(Placement::Hash, VolumeId(0), &nodes).unwrap();
        let mut counts = [0.0_f64; 4];
        for group in 0..GROUPS {
            counts[nodes_for(&layout, group, 2)[0] as usize] += 1.0;
        }
        for (count, (_, weight)) in counts.iter().zip(nodes) {
            let expected = GROUPS as f64 * weight / 8.0;
            // four standard deviations of a binomial count
            let wide = 4.0 * (expected * (1.0 - weight / 8.0)).sqrt();
            assert!((count - expected).abs() < wide, "{count} for {expected}");
        }
    }

    #[test]
    fn equal_weights_need_no_logarithm() {
        let even = layout(Placement::Hash, &[5, 6, 7, 8, 9]);
        let by_logarithm = Layout { even: false, ..even.clone() };
        for group in 0..2_000 {
            assert_eq!(nodes_for(&even, group, 3), nodes_for(&by_logarithm, group, 3));
        }
    }

    #[test]
    fn a_node_added_takes_its_share_and_little_else_moves() {
        let before = layout(Placement::Hash, &ids(0..10));
        let after = layout(Placement::Hash, &ids(0..11));
        let (mut to_new, mut elsewhere) = (0.0, 0.0);
        for group in 0..GROUPS {
            for (old, new) in nodes_for(&before, group, 4).iter().zip(nodes_for(&after, group, 4)) {
                if new == 10 {
                    to_new += 1.0;
                } else if new != *old {
                    elsewhere += 1.0;
                }
            }
        }
        let all = (4 * GROUPS) as f64;
        // Its share is 1/11. At fragment s it has won an earlier one with probability s/11. Then a
        // node that it displaced is one of the 11 - s still available, and wins with 1/(11 - s):
        // (1/10 + 2/9 + 3/8) / 11 of 4 fragments are 1.58 %.
        let (share, moved) = (to_new / all, elsewhere / all);
        assert!((share - 1.0 / 11.0).abs() < 0.004, "{share}");
        assert!((moved - 0.0158).abs() < 0.002, "{moved}");
    }

    #[test]
    fn the_order_of_the_list_does_not_matter_to_hash() {
        let forth = layout(Placement::Hash, &[3, 4, 5, 6, 7]);
        let back = layout(Placement::Hash, &[7, 6, 5, 4, 3]);
        for group in 0..500 {
            let mirrored: Vec<_> = nodes_for(&back, group, 3).iter().map(|node| 4 - node).collect();
            assert_eq!(nodes_for(&forth, group, 3), mirrored);
        }
    }

    #[test]
    fn names_the_fault() {
        let fault = |nodes: &[(u32, f64)]| {
            Layout::weighted(Placement::Hash, VolumeId(0), nodes).unwrap_err().to_string()
        };
        assert!(fault(&[]).contains("one node at least"));
        assert!(fault(&[(1, 1.0), (2, 1.0), (1, 1.0)]).contains("node 1 occurs twice"));
        assert!(fault(&[(1, 0.0)]).contains("weight 0"));
        assert!(fault(&[(1, f64::NAN)]).contains("weight NaN"));
        let message = "hsah".parse::<Placement>().unwrap_err().to_string();
        assert!(message.contains("did you mean `hash`?"), "{message}");
        for &placement in Placement::ALL {
            assert_eq!(placement.to_string().parse(), Ok(placement));
        }
    }

    proptest! {
        #[test]
        fn nodes_are_distinct_and_within_the_list(
            (count, n) in (1_u32..30).prop_flat_map(|count| (Just(count), 0..=count)),
            group in any::<u64>(),
            hash in any::<bool>(),
        ) {
            let placement = if hash { Placement::Hash } else { Placement::Rotate };
            let mut nodes = nodes_for(&layout(placement, &ids(0..count)), group, n as usize);
            nodes.sort_unstable();
            nodes.dedup();
            prop_assert_eq!(nodes.len(), n as usize);
            prop_assert!(nodes.iter().all(|&node| node < count));
        }
    }
}
