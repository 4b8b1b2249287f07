//! Maps a volume's bytes to fragments on nodes.
//!
//! A volume is a sequence of *blocks*; each block is encoded as a whole into n fragments. Blocks
//! are placed on nodes in *groups*, so that a request usually needs only one set of n nodes. On a
//! node the fragments of a volume form one file, group after group. With replication and no cipher
//! a block has no inner structure: a request touches only its own bytes, and the file holds plain
//! copies. Otherwise a request touches whole blocks, and a write of part of a block must fetch it
//! first.
//!
//! Under hashing a group belongs to one of a fixed number of *placement groups*, as in Ceph, and
//! only these are placed by the hash: a choice among a thousand nodes takes a thousand draws, which
//! would be too slow for each request.

use std::cell::OnceCell;

use foretell_units::{Bytes, SECTOR_BYTES, VolumeId};

use crate::codec::{Cipher, Encoding};
use crate::placement::{Layout, Placement, PlacementError};

/// The distribution of one volume.
#[derive(Clone, Debug)]
pub struct Distribution {
    encoding: Encoding,
    layout: Layout,
    placement: Placement,
    block: u64,
    group_blocks: u64,
    /// Bytes of a fragment, and the bytes that it takes in the node's file.
    fragment: u64,
    stride: u64,
    whole_blocks: bool,
    /// Under hashing: the nodes of each placement group, computed when first needed.
    placed: Vec<OnceCell<Box<[u32]>>>,
}

/// The part of a request that falls into one group: the same range of the file on each of n nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Which group.
    pub group: u64,
    /// First block of the volume that is touched.
    pub first_block: u64,
    /// Blocks touched.
    pub blocks: u64,
    /// Where it begins within the group's part of the node's file.
    pub start: Bytes,
    /// Bytes of the node's file that are touched.
    pub stored: Bytes,
    /// Bytes of the fragments, which a message carries.
    pub carried: Bytes,
}

/// The place of one fragment of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// Position in the volume's list of nodes.
    pub node: u32,
    /// Where the group's part of that node's file begins.
    pub base: Bytes,
}

impl Distribution {
    /// `nodes`: identities of the volume's nodes in order. `group` is rounded down to whole blocks,
    /// and to at most 1 GiB.
    pub fn new(
        volume: VolumeId,
        encoding: Encoding,
        cipher: Cipher,
        placement: Placement,
        block: Bytes,
        group: Bytes,
        nodes: &[u32],
    ) -> Result<Self, PlacementError> {
        let whole_blocks = !encoding.is_replication() || cipher != Cipher::None;
        let fragment = encoding.fragment_len(block).get();
        let stride =
            if whole_blocks { fragment.next_multiple_of(SECTOR_BYTES) } else { block.get() };
        // about a hundred fragments on each node, as Ceph's manual advises
        let wanted = (100 * nodes.len() / encoding.n()).clamp(64, 1 << 16).next_power_of_two();
        let placed = if placement == Placement::Hash { wanted } else { 0 };
        Ok(Self {
            placed: vec![OnceCell::new(); placed],
            encoding,
            layout: Layout::new(placement, volume, nodes)?,
            placement,
            block: block.get(),
            // a message's size in bytes must fit in 32 bits
            group_blocks: (group.get().min(1 << 30) / block.get()).max(1),
            fragment,
            stride,
            whole_blocks,
        })
    }

    /// The encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether requests touch whole blocks.
    pub fn whole_blocks(&self) -> bool {
        self.whole_blocks
    }

    /// The range that a request for `size` bytes at `offset` touches, as (offset, size).
    pub fn covering(&self, offset: Bytes, size: Bytes) -> (Bytes, Bytes) {
        if !self.whole_blocks {
            return (offset, size);
        }
        let start = offset.get() / self.block * self.block;
        let end = (offset + size).get().next_multiple_of(self.block);
        (Bytes(start), Bytes(end - start))
    }

    /// Blocks that a write of `size` bytes at `offset` covers in part, so that it must fetch them
    /// first: at most the first and the last.
    pub fn partial_blocks(&self, offset: Bytes, size: Bytes) -> impl Iterator<Item = u64> + use<> {
        let (first, last) = (offset.get() / self.block, (offset + size).get() / self.block);
        let cut_first = !offset.get().is_multiple_of(self.block);
        let cut_last = !(offset + size).get().is_multiple_of(self.block);
        let wanted = self.whole_blocks;
        let head = (wanted && cut_first).then_some(first);
        let tail = (wanted && cut_last && !(cut_first && last == first)).then_some(last);
        head.into_iter().chain(tail)
    }

    /// Bytes of a block.
    pub fn block(&self) -> Bytes {
        Bytes(self.block)
    }

    /// Blocks of a group.
    pub fn group_blocks(&self) -> u64 {
        self.group_blocks
    }

    /// Bytes that a group takes in the file of each of its nodes.
    pub fn group_stored(&self) -> Bytes {
        Bytes(self.group_blocks * self.stride)
    }

    /// The pieces of a request, in order of address. For whole-block volumes the request must
    /// begin and end on a block ([`Distribution::covering`]).
    pub fn pieces(&self, offset: Bytes, size: Bytes) -> impl Iterator<Item = Piece> + use<> {
        let (block, stride, fragment) = (self.block, self.stride, self.fragment);
        let (group_bytes, whole) = (self.group_blocks * block, self.whole_blocks);
        let mut at = offset.get();
        let end = (offset + size).get();
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let group = at / group_bytes;
            let stop = end.min((group + 1) * group_bytes);
            let first_block = at / block;
            let blocks = stop.div_ceil(block) - first_block;
            let within = at - group * group_bytes;
            let piece = if whole {
                Piece {
                    group,
                    first_block,
                    blocks,
                    start: Bytes(within / block * stride),
                    stored: Bytes(blocks * stride),
                    carried: Bytes(blocks * fragment),
                }
            } else {
                let bytes = Bytes(stop - at);
                let start = Bytes(within);
                Piece { group, first_block, blocks, start, stored: bytes, carried: bytes }
            };
            at = stop;
            Some(piece)
        })
    }

    /// Writes the places of the n fragments of `group` into `places`, fragment 0 first. `scratch`
    /// is filled with the nodes.
    pub fn places(&self, group: u64, scratch: &mut Vec<u32>, places: &mut Vec<Place>) {
        scratch.clear();
        let n = self.encoding.n();
        if self.placed.is_empty() {
            scratch.resize(n, 0);
            self.layout.nodes_for(group, scratch);
        } else {
            let placement_group = spread(group) as usize & (self.placed.len() - 1);
            let nodes = self.placed[placement_group].get_or_init(|| {
                let mut nodes = vec![0; n].into_boxed_slice();
                self.layout.nodes_for(placement_group as u64, &mut nodes);
                nodes
            });
            scratch.extend_from_slice(nodes);
        }
        let group_bytes = self.group_blocks * self.stride;
        places.clear();
        places.extend(scratch.iter().map(|&node| Place {
            node,
            base: Bytes(self.rank(group, u64::from(node)) * group_bytes),
        }));
    }

    /// Number of groups before `group` that the node holds. It is exact under rotation, and an
    /// average under hashing, where an exact count would need a table.
    fn rank(&self, group: u64, node: u64) -> u64 {
        let n = self.encoding.n() as u64;
        let nodes = self.layout.node_count() as u64;
        if self.placement == Placement::Hash {
            return (u128::from(group) * u128::from(n) / u128::from(nodes)) as u64;
        }
        // In each cycle of N groups the node holds those that begin at it or at one of the n − 1
        // nodes before it, counted around.
        let (cycle, turn) = (group / nodes, group % nodes);
        let within = if turn <= node {
            turn - (node + 1).saturating_sub(n)
        } else {
            node + 1 + (turn - (nodes + node + 1 - n))
        };
        cycle * n + within
    }

    /// Bytes that a node's file needs for a volume of `size`.
    pub fn file_size(&self, size: Bytes) -> Bytes {
        let group_bytes = self.group_blocks * self.block;
        let groups = size.get().div_ceil(group_bytes);
        let n = self.encoding.n() as u64;
        let nodes = self.layout.node_count() as u64;
        let held = if self.placement == Placement::Hash {
            (u128::from(groups) * u128::from(n)).div_ceil(u128::from(nodes)) as u64 + 1
        } else {
            groups.div_ceil(nodes) * n
        };
        Bytes(held * self.group_blocks * self.stride)
    }
}

/// Sends neighbouring groups to unrelated placement groups (the finaliser of splitmix64).
fn spread(group: u64) -> u64 {
    let x = (group ^ (group >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(m: u32, n: u32, cipher: Cipher, nodes: u32) -> Distribution {
        let ids: Vec<u32> = (0..nodes).collect();
        let encoding = Encoding::new(m, n).unwrap();
        let (block, group) = (Bytes::kib(8), Bytes::kib(32));
        Distribution::new(VolumeId(0), encoding, cipher, Placement::Rotate, block, group, &ids)
            .unwrap()
    }

    #[test]
    fn replicas_are_plain_copies() {
        let plain = distribution(1, 3, Cipher::None, 5);
        let pieces: Vec<_> = plain.pieces(Bytes::kib(30), Bytes::kib(4)).collect();
        // groups of 32 KiB: 2 KiB at the end of group 0, 2 KiB at the beginning of group 1
        assert_eq!(
            pieces.iter().map(|p| (p.group, p.start, p.stored, p.carried)).collect::<Vec<_>>(),
            [
                (0, Bytes::kib(30), Bytes::kib(2), Bytes::kib(2)),
                (1, Bytes(0), Bytes::kib(2), Bytes::kib(2)),
            ]
        );
        assert_eq!(plain.partial_blocks(Bytes::kib(30), Bytes::kib(4)).count(), 0);
    }

    #[test]
    fn coded_requests_touch_whole_blocks() {
        let coded = distribution(3, 5, Cipher::None, 5);
        let (offset, size) = coded.covering(Bytes::kib(6), Bytes::kib(4));
        assert_eq!((offset, size), (Bytes(0), Bytes::kib(16)));
        let piece = coded.pieces(offset, size).next().unwrap();
        // 8192 / 3 = 2730.7: fragments of 2731 bytes, each in 6 sectors
        assert_eq!((piece.carried, piece.stored), (Bytes(2 * 2731), Bytes(2 * 3072)));
        assert_eq!(coded.partial_blocks(Bytes::kib(6), Bytes::kib(4)).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(coded.partial_blocks(Bytes::kib(9), Bytes::kib(4)).collect::<Vec<_>>(), [1]);
        assert_eq!(coded.partial_blocks(Bytes::kib(8), Bytes::kib(16)).count(), 0);
    }

    #[test]
    fn under_hashing_groups_spread_evenly() {
        let ids: Vec<u32> = (0..20).collect();
        let encoding = Encoding::new(2, 3).unwrap();
        let (block, group) = (Bytes::kib(8), Bytes::kib(32));
        let hashed = Distribution::new(
            VolumeId(1),
            encoding,
            Cipher::None,
            Placement::Hash,
            block,
            group,
            &ids,
        )
        .unwrap();
        let (mut scratch, mut places) = (Vec::new(), Vec::new());
        let mut held = [0_u32; 20];
        for group in 0..20_000 {
            hashed.places(group, &mut scratch, &mut places);
            for place in &places {
                held[place.node as usize] += 1;
            }
        }
        // 1024 placement groups × 3 over 20 nodes: 154 each, standard deviation 12 = 8 %
        let mean = 20_000.0 * 3.0 / 20.0;
        for node in held {
            assert!((f64::from(node) / mean - 1.0).abs() < 0.32, "{held:?}");
        }
    }

    #[test]
    fn under_rotation_a_nodes_groups_fill_its_file_without_gaps() {
        for (n, nodes) in [(3, 3), (3, 5), (1, 4), (5, 8), (2, 7)] {
            let distribution = distribution(1, n, Cipher::None, nodes);
            let mut held = vec![Vec::new(); nodes as usize];
            let (mut scratch, mut places) = (Vec::new(), Vec::new());
            for group in 0..u64::from(nodes) * 3 {
                distribution.places(group, &mut scratch, &mut places);
                for place in &places {
                    held[place.node as usize].push(place.base.get() / Bytes::kib(32).get());
                }
            }
            for ranks in held {
                // in order of address, and 0, 1, 2 … 3n − 1
                assert_eq!(ranks, (0..u64::from(n) * 3).collect::<Vec<_>>(), "{n} of {nodes}");
            }
        }
    }
}
