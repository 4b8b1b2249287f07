//! Which servers have an object: placement groups of Ceph, partitions of Swift.

use foretell_algorithms::codec::Encoding;
use foretell_algorithms::mix;
use foretell_algorithms::placement::{Crush, CrushHost, Ring, RingDevice, partition_of};
use foretell_scenarios::model::{Scenario, Storage, System, Volume};
use foretell_units::{Bytes, HostId, SECTOR_BYTES, VolumeId};

use super::BLOCK;
use crate::error::SimError;

/// A storage device of a host: an OSD, or a device of an object server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) host: HostId,
    pub(crate) disk: u32,
}

/// A volume as a set of objects.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    pub(crate) encoding: Encoding,
    /// Copies or shards that complete a write.
    pub(crate) quorum: u32,
    /// Bytes of the volume in one object.
    object: u64,
    /// Unit of erasure coding, and bytes of it on each server.
    block: u64,
    stride: u64,
    /// Targets of each group or partition, the primary first.
    targets: Vec<Target>,
    finding: Finding,
    /// Devices that the pool is spread over.
    devices: u64,
    /// Where its data begins on each device, beyond those of the pools before it.
    base: u64,
}

/// How an object's group is found.
#[derive(Clone, Copy, Debug)]
enum Finding {
    /// By the last bits of its hash.
    Mask(u64),
    /// By the ring of that partition power.
    Ring(u32),
}

/// The part of a request that is on one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    /// The object's beginning in the volume, which is its name as well.
    pub(crate) object: Bytes,
    /// Where in it the piece begins.
    pub(crate) start: Bytes,
    /// Bytes.
    pub(crate) size: Bytes,
}

/// What a piece is on each of the servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shard {
    /// Where on the device.
    pub(crate) address: Bytes,
    /// What the server's cache knows it by.
    pub(crate) key: Bytes,
    /// Bytes.
    pub(crate) size: Bytes,
}

impl Pool {
    /// The pools of a scenario by volume; none where clients place fragments themselves.
    pub(crate) fn of_scenario(scenario: &Scenario) -> Result<Vec<Option<Self>>, SimError> {
        let mut pools = Vec::new();
        let mut base = 0;
        for (index, volume) in scenario.volumes.iter().enumerate() {
            let id = VolumeId::from(index);
            let impossible = |reason: String| SimError::Impossible {
                what: format!("volume `{}`", volume.name),
                reason,
            };
            let pool = match &scenario.system {
                System::UrsaMinor => None,
                System::Ceph(ceph) => {
                    let wanted = ceph.placement_groups_per_osd;
                    Some(Self::crush(scenario, id, wanted, base).map_err(impossible)?)
                }
                System::Swift(swift) => Some(
                    Self::ring(scenario, id, swift.partition_power, base).map_err(impossible)?,
                ),
            };
            base += pool.as_ref().map_or(0, |pool| pool.share(volume.size.get()));
            pools.push(pool);
        }
        Ok(pools)
    }

    fn crush(scenario: &Scenario, id: VolumeId, per_osd: u32, base: u64) -> Result<Self, String> {
        let volume = scenario.volume(id);
        let hosts = volume
            .nodes
            .iter()
            .map(|&node| CrushHost { id: node.0, devices: capacities(scenario, node).collect() });
        let hosts: Vec<CrushHost> = hosts.collect();
        let crush = Crush::new(id, &hosts).map_err(|error| error.to_string())?;
        let copies = usize::from(volume.n);
        let devices: usize = hosts.iter().map(|host| host.devices.len()).sum();
        let groups = (devices * per_osd as usize).div_ceil(copies).next_power_of_two();
        let places = (0..groups as u64).flat_map(|group| crush.devices_for(group, copies));
        let targets =
            places.map(|(host, disk)| Target { host: volume.nodes[host as usize], disk }).collect();
        let finding = Finding::Mask(groups as u64 - 1);
        Self::new(volume, (targets, finding), u32::from(volume.n), devices as u64, base)
    }

    fn ring(scenario: &Scenario, id: VolumeId, power: u32, base: u64) -> Result<Self, String> {
        let volume = scenario.volume(id);
        let mut devices = Vec::new();
        let mut all = Vec::new();
        for &node in &volume.nodes {
            for (disk, weight) in (0..).zip(capacities(scenario, node)) {
                let number = all.len() as u32;
                devices.push(RingDevice { id: number, zone: node.0, weight });
                all.push(Target { host: node, disk });
            }
        }
        let copies = usize::from(volume.n);
        let ring = Ring::new(power, copies, &devices).map_err(|error| error.to_string())?;
        let targets = (0..ring.partitions())
            .flat_map(|partition| ring.devices(partition).iter().map(|&id| all[id as usize]))
            .collect();
        let quorum = u32::from(volume.n) / 2 + 1;
        Self::new(volume, (targets, Finding::Ring(power)), quorum, all.len() as u64, base)
    }

    fn new(
        volume: &Volume,
        (targets, finding): (Vec<Target>, Finding),
        quorum: u32,
        devices: u64,
        base: u64,
    ) -> Result<Self, String> {
        let encoding = Encoding::new(u32::from(volume.m), u32::from(volume.n))
            .map_err(|error| error.to_string())?;
        let fragment = encoding.fragment_len(volume.block).get();
        Ok(Self {
            encoding,
            quorum,
            object: volume.group.get(),
            block: volume.block.get(),
            stride: fragment.next_multiple_of(SECTOR_BYTES),
            targets,
            finding,
            devices,
            base,
        })
    }

    /// What of so many bytes of the volume is on each device.
    fn share(&self, bytes: u64) -> u64 {
        let (m, n) = (self.encoding.m() as u128, self.encoding.n() as u128);
        let share = u128::from(bytes) * n / (m * u128::from(self.devices));
        share as u64 / BLOCK * BLOCK
    }

    /// The pieces of a request; one that is whole is on one object, whatever its size.
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
            let piece =
                Piece { object: Bytes(object), start: Bytes(at - object), size: Bytes(stop - at) };
            at = stop;
            Some(piece)
        })
    }

    /// The targets of an object, the primary first.
    pub(crate) fn targets(&self, object: Bytes) -> &[Target] {
        let group = match self.finding {
            Finding::Mask(mask) => (mix(object.get()) & mask) as usize,
            Finding::Ring(power) => partition_of(power, object.get()),
        };
        let copies = self.encoding.n();
        &self.targets[group * copies..][..copies]
    }

    /// What a piece is on each server: its own bytes of a copy; of a shard, that of all blocks that
    /// it touches.
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
            // of a shard, data of one object only: it is shorter than the object
            key: piece.object + Bytes(start),
            size: Bytes(size),
        }
    }

    /// Whether objects are erasure-coded.
    fn is_coded(&self) -> bool {
        !self.encoding.is_replication()
    }

    /// Bytes of a block's shard.
    pub(crate) fn stride(&self) -> Bytes {
        Bytes(self.stride)
    }
}

/// Capacities of a node's devices.
fn capacities(scenario: &Scenario, node: HostId) -> impl Iterator<Item = f64> {
    let storage = scenario.host(node).role.storage();
    let capacities = storage.into_iter().flat_map(Storage::capacities);
    capacities.map(|capacity| capacity.get() as f64)
}
