//! Placement of objects on servers: placement groups of Ceph, partitions of Swift.
#![allow(clippy::struct_field_names, clippy::unused_self, reason = "a piece of an object")]

use foretell_algorithms::codec::Encoding;
use foretell_algorithms::crush::stable_mod;
use foretell_algorithms::mix;
use foretell_algorithms::placement::partition_of;
use foretell_scenarios::model::{CpuProfile, Scenario, Storage, Volume};
use foretell_units::{Bytes, HostId, SECTOR_BYTES, SimSpan};

use super::BLOCK;

/// A storage device of a host: an OSD, or a device of an object server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Target {
    /// The host.
    pub host: HostId,
    /// The number of the device.
    pub disk: u32,
}

/// A volume as a set of objects.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) encoding: Encoding,
    /// Number of copies or shards that complete a write.
    pub(crate) quorum: u32,
    /// Bytes of the volume in one object.
    object: u64,
    /// Unit of erasure coding, and its bytes on each server.
    block: u64,
    stride: u64,
    /// Targets of each group or partition, the primary first.
    targets: Vec<Target>,
    finding: Finding,
    /// Number of devices that the pool is spread over.
    devices: u64,
    /// Offset of its data on each device, after those of earlier pools.
    base: u64,
    /// Whether it holds a bucket index: what is written are records in the tables of its servers.
    pub(crate) is_index: bool,
}

/// How the group of an object is determined.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Finding {
    /// By the last bits of its hash.
    Mask(u64),
    /// As Ceph does if the number of groups is not a power of two.
    StableMod(u32),
    /// By the ring with that partition power.
    Ring(u32),
}

/// The part of a request that is in one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// The object's offset in the volume, which also serves as its name.
    pub(crate) object: Bytes,
    /// The piece's offset in the object.
    pub(crate) start: Bytes,
    /// Size in bytes.
    pub(crate) size: Bytes,
    /// Whether it is the whole object, so that a write of it needs nothing of what was there.
    pub(crate) is_whole: bool,
}

/// The part of a piece on each of the servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Address on the device.
    pub address: Bytes,
    /// The key in the server's cache.
    pub key: Bytes,
    /// Size in bytes.
    pub size: Bytes,
}

/// The placement of a volume's objects.
pub(crate) struct Groups {
    /// Targets of each group or partition, the one in front first.
    pub(crate) targets: Vec<Target>,
    pub(crate) finding: Finding,
    /// Number of copies or shards that complete a write.
    pub(crate) quorum: u32,
    /// Number of devices that the volume is spread over.
    pub(crate) devices: u64,
}

impl Pool {
    /// The pool of a volume whose data begins at `base` on each device.
    pub(super) fn new(volume: &Volume, groups: Groups, base: u64) -> Self {
        let encoding = volume.encoding;
        let fragment = encoding.fragment_len(volume.block).get();
        let Groups { targets, finding, quorum, devices } = groups;
        Self {
            encoding,
            quorum,
            object: volume.group.get(),
            block: volume.block.get(),
            stride: fragment.next_multiple_of(SECTOR_BYTES),
            targets,
            finding,
            devices,
            base,
            is_index: false,
        }
    }

    /// The blocks that a write of a piece covers in part, and so must read first.
    pub(super) fn partial(
        volume: &crate::Volume,
        piece: &Piece,
    ) -> impl Iterator<Item = u64> + use<> {
        let partial = volume.distribution.partial_blocks(piece.start, piece.size);
        partial.take(if piece.is_whole { 0 } else { usize::MAX })
    }

    /// Number of these blocks.
    pub(crate) fn partial_blocks(volume: &crate::Volume, piece: &Piece) -> u64 {
        Self::partial(volume, piece).count() as u64
    }

    /// Time to encode the blocks whose shard `shard` is on a server.
    pub(crate) fn encoding_time(
        &self,
        volume: &crate::Volume,
        cpu: &CpuProfile,
        shard: Bytes,
    ) -> SimSpan {
        volume.encode_time(cpu, shard * self.encoding.m() as u64)
    }

    /// Bytes on each device for `bytes` bytes of the volume.
    pub(super) fn share(&self, bytes: u64) -> u64 {
        let (m, n) = (self.encoding.m() as u128, self.encoding.n() as u128);
        let share = u128::from(bytes) * n / (m * u128::from(self.devices));
        share as u64 / BLOCK * BLOCK
    }

    /// The pieces of a request; a request for a whole object is one piece, whatever its size.
    pub(crate) fn pieces(
        &self,
        offset: Bytes,
        size: Bytes,
        whole: bool,
    ) -> impl Iterator<Item = Piece> + use<> {
        let object_bytes = self.object;
        let (mut at, end) = (offset.get(), (offset + size).get());
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let object = if whole { at } else { at / object_bytes * object_bytes };
            let stop = if whole { end } else { end.min(object + object_bytes) };
            let (start, size) = (Bytes(at - object), Bytes(stop - at));
            at = stop;
            Some(Piece { object: Bytes(object), start, size, is_whole: whole })
        })
    }

    /// The targets of an object, the primary first.
    pub(crate) fn targets(&self, object: Bytes) -> &[Target] {
        self.targets_of(self.group(object))
    }

    /// The targets of a group, the primary first.
    pub(crate) fn targets_of(&self, group: usize) -> &[Target] {
        let copies = self.encoding.n();
        &self.targets[group * copies..][..copies]
    }

    /// The group of an object.
    pub(crate) fn group(&self, object: Bytes) -> usize {
        match self.finding {
            Finding::Mask(mask) => (mix(object.get()) & mask) as usize,
            Finding::StableMod(groups) => stable_mod(mix(object.get()) as u32, groups) as usize,
            Finding::Ring(power) => partition_of(power, object.get()),
        }
    }

    /// The group of the object that has a byte of the volume, where objects are of equal size.
    pub(crate) fn group_at(&self, address: u64) -> usize {
        self.group(Bytes(address / self.object * self.object))
    }

    /// Number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.targets.len() / self.encoding.n()
    }

    /// Bytes of the volume in one object.
    pub(crate) fn object(&self) -> u64 {
        self.object
    }

    /// The part of a piece on each server: for a copy, the same bytes; for a shard, its parts of
    /// all blocks that the piece touches.
    pub(crate) fn shard(&self, piece: &Piece) -> Shard {
        let (start, size) = if self.is_coded() {
            let first = piece.start.get() / self.block;
            let last = (piece.start + piece.size).get().div_ceil(self.block);
            (first * self.stride, (last - first) * self.stride)
        } else {
            (piece.start.get(), piece.size.get())
        };
        Shard {
            address: Bytes(self.base + self.share(piece.object.get()) + start),
            // a shard has data of only one object, and is shorter than the object
            key: piece.object + Bytes(start),
            size: Bytes(size),
        }
    }

    /// Offset of its data on each device.
    pub(super) fn base(&self) -> Bytes {
        Bytes(self.base)
    }

    /// Number of objects of a volume of that size that have a copy or a shard on each device.
    pub(super) fn objects(&self, volume: Bytes) -> f64 {
        let copies = volume.get() as f64 / self.object as f64 * self.encoding.n() as f64;
        copies / self.devices.max(1) as f64
    }

    /// The blocks of an object that a piece touches.
    pub(super) fn blocks(&self, piece: &Piece) -> std::ops::Range<u64> {
        piece.start.get() / self.block..(piece.start + piece.size).get().div_ceil(self.block)
    }

    /// Whether objects are erasure-coded.
    pub(super) fn is_coded(&self) -> bool {
        !self.encoding.is_replication()
    }

    /// Bytes of a block's shard.
    pub(super) fn stride(&self) -> Bytes {
        Bytes(self.stride)
    }
}

/// Capacities of a node's devices.
pub(crate) fn capacities(scenario: &Scenario, node: HostId) -> impl Iterator<Item = f64> {
    let storage = scenario.host(node).role.storage();
    let capacities = storage.into_iter().flat_map(Storage::capacities);
    capacities.map(|capacity| capacity.get() as f64)
}
