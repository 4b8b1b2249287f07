//! Swift's ring: a table that says which devices hold the replicas of each partition.
//!
//! A partition is the first bits of an object's hash; their number is the *partition power*. Each
//! device should hold replicas in proportion to its weight. Replicas of one partition are in
//! distinct zones while there are enough, then on distinct devices. A ring that is rebuilt from
//! another list moves only what it must: replicas of removed devices, replicas that needlessly
//! share a zone, and the surplus of a device that holds too many (`OpenStack` Swift, *The Rings*,
//! and its `RingBuilder`). *Hand-offs* stand in for devices of a partition that cannot be reached.
//! Swift moves at most one replica of a partition at a time, and another one only after `min_part_hours`:
//! [`Ring::rebalanced`]. Left out: regions. Swift hashes with MD5; here it is splitmix64.

use super::PlacementError;
use crate::mix::mix;

/// A device of a ring.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RingDevice {
    /// Its identity among all devices.
    pub id: u32,
    /// Failure domain: a node, a rack.
    pub zone: u32,
    /// Its share relative to the others'.
    pub weight: f64,
}

/// The table of a ring.
#[derive(Clone, PartialEq, Debug)]
pub struct Ring {
    power: u32,
    replicas: usize,
    /// Identities of devices: for each partition in order, one entry per replica.
    table: Vec<u32>,
}

/// The largest partition power: a table of 16 million entries for each replica.
pub const MAX_POWER: u32 = 24;

impl Ring {
    /// A ring of 2^`power` partitions with `replicas` copies each.
    ///
    /// # Errors
    ///
    /// If there are fewer devices than replicas, if a device is listed twice, or if a weight is not
    /// positive and finite.
    ///
    /// # Panics
    ///
    /// If `power` is above [`MAX_POWER`] or there are no replicas.
    pub fn new(
        power: u32,
        replicas: usize,
        devices: &[RingDevice],
    ) -> Result<Self, PlacementError> {
        assert!(power <= MAX_POWER && replicas > 0, "2^{power} partitions, {replicas} replicas");
        let nowhere = vec![NOWHERE; replicas << power];
        Self { power, replicas, table: nowhere }.rebuilt(devices)
    }

    /// The ring for another list of devices, moving no more than necessary.
    ///
    /// # Errors
    ///
    /// As [`Ring::new`].
    pub fn rebuilt(&self, devices: &[RingDevice]) -> Result<Self, PlacementError> {
        check(devices, self.replicas)?;
        let mut ring = self.clone();
        for round in 0..ROUNDS {
            let mut builder = Builder::new(&ring, devices);
            builder.take_up(&ring, round);
            builder.deal_out();
            let even = builder.is_even();
            ring.table = builder.table.iter().map(|&place| devices[place as usize].id).collect();
            if even {
                break;
            }
        }
        Ok(ring)
    }

    /// The ring for another list of devices, if at most one replica of each partition moves, and none of a partition
    /// that `may_move` excludes. A replica on a device that is no longer listed moves before others of its partition.
    ///
    /// # Errors
    ///
    /// As [`Ring::new`].
    pub fn rebalanced(
        &self,
        devices: &[RingDevice],
        may_move: impl Fn(usize) -> bool,
    ) -> Result<Self, PlacementError> {
        let whole = self.rebuilt(devices)?;
        let mut ring = self.clone();
        for partition in (0..self.partitions()).filter(|partition| may_move(*partition)) {
            let (old, new) = (self.devices(partition), whole.devices(partition));
            let moves = |replica: &usize| !old.contains(&new[*replica]);
            let stays = |replica: &usize| devices.iter().any(|one| one.id == old[*replica]);
            let first = (0..self.replicas).filter(moves).min_by_key(stays);
            if let Some(replica) = first {
                ring.table[partition * self.replicas + replica] = new[replica];
            }
        }
        Ok(ring)
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        1 << self.power
    }

    /// The partition of the object with this number.
    pub fn partition(&self, object: u64) -> usize {
        partition_of(self.power, object)
    }

    /// Identities of the devices of a partition.
    pub fn devices(&self, partition: usize) -> &[u32] {
        &self.table[partition * self.replicas..][..self.replicas]
    }

    /// Identities of the devices that stand in for those of a partition, in order: Swift's hand-offs.
    ///
    /// From another place of the table on, chosen by the partition's hash: first one device of each zone that the
    /// partition is not in, then all others (`get_more_nodes` in `swift/common/ring/ring.py`). `devices`: those of
    /// the ring. No more than `most` are looked for.
    pub fn more(&self, partition: usize, devices: &[RingDevice], most: usize) -> Vec<u32> {
        let zone = |id: u32| devices.iter().find(|device| device.id == id).map(|one| one.zone);
        let mut found: Vec<u32> = self.devices(partition).to_vec();
        let mut zones: Vec<Option<u32>> = found.iter().map(|&id| zone(id)).collect();
        let mut all: Vec<Option<u32>> = devices.iter().map(|device| Some(device.zone)).collect();
        all.sort_unstable();
        all.dedup();
        let start = (mix(partition as u64) % self.partitions() as u64) as usize * self.replicas;
        let (before, behind) = self.table.split_at(start);
        let enough = devices.len().min(self.replicas.saturating_add(most));
        for &id in behind.iter().chain(before) {
            if found.len() == enough || all.iter().all(|zone| zones.contains(zone)) {
                break;
            }
            if !zones.contains(&zone(id)) {
                zones.push(zone(id));
                found.push(id);
            }
        }
        for &id in behind.iter().chain(before) {
            if found.len() == enough {
                break;
            }
            if !found.contains(&id) {
                found.push(id);
            }
        }
        found.split_off(self.replicas)
    }
}

/// The partition of the object with this number, out of 2^`power` partitions.
pub fn partition_of(power: u32, object: u64) -> usize {
    // a shift by 64 gives none
    mix(object).checked_shr(64 - power).unwrap_or(0) as usize
}

/// Maximum number of rounds. A partition that lost two replicas in one round gives a new zone only
/// one of them; the remaining imbalance is left to the next round.
const ROUNDS: u64 = 8;

/// No device.
const NOWHERE: u32 = u32::MAX;

fn check(devices: &[RingDevice], replicas: usize) -> Result<(), PlacementError> {
    let mut ids: Vec<_> = devices.iter().map(|device| device.id).collect();
    ids.sort_unstable();
    if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(PlacementError::Duplicate { id: pair[0] });
    }
    let wrong = |device: &&RingDevice| !(device.weight.is_finite() && device.weight > 0.0);
    if let Some(&RingDevice { id, weight, .. }) = devices.iter().find(wrong) {
        return Err(PlacementError::Weight { id, weight });
    }
    if devices.len() < replicas {
        return Err(PlacementError::Few { devices: devices.len(), replicas });
    }
    Ok(())
}

/// A ring being built.
struct Builder<'a> {
    devices: &'a [RingDevice],
    replicas: usize,
    zones: usize,
    /// Number of replicas that each device should hold.
    wanted: Vec<f64>,
    held: Vec<f64>,
    /// Positions in the list of devices.
    table: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(ring: &Ring, devices: &'a [RingDevice]) -> Self {
        let mut zones: Vec<u32> = devices.iter().map(|device| device.zone).collect();
        zones.sort_unstable();
        zones.dedup();
        let wanted = wanted(devices, ring.partitions() as f64, ring.replicas as f64);
        Self {
            devices,
            replicas: ring.replicas,
            zones: zones.len(),
            wanted,
            held: vec![0.0; devices.len()],
            table: vec![NOWHERE; ring.table.len()],
        }
    }

    fn partition(&self, replica: usize) -> &[u32] {
        &self.table[replica / self.replicas * self.replicas..][..self.replicas]
    }

    /// Number of replicas of `replica`'s partition in the zone of a device, and on the device itself.
    fn near(&self, replica: usize, device: usize) -> (usize, usize) {
        let zone = self.devices[device].zone;
        let others = self.partition(replica).iter().filter(|&&other| other != NOWHERE);
        others.fold((0, 0), |(in_zone, on_it), &other| {
            let other = other as usize;
            (
                in_zone + usize::from(self.devices[other].zone == zone),
                on_it + usize::from(other == device),
            )
        })
    }

    /// Keeps replicas in their places if they may stay there.
    fn take_up(&mut self, old: &Ring, round: u64) {
        let mut places: Vec<(u32, u32)> =
            self.devices.iter().map(|device| device.id).zip(0..).collect();
        places.sort_unstable();
        let most_in_zone = self.replicas.div_ceil(self.zones);
        let count = self.table.len();
        // a hashed order, so that a device with too many gives up replicas of unrelated partitions
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|&replica| mix(round << 32 | replica as u64));
        for replica in order {
            let found = places.binary_search_by_key(&old.table[replica], |(id, _)| *id);
            let Ok(found) = found else { continue };
            let device = places[found].1 as usize;
            let (in_zone, on_it) = self.near(replica, device);
            let room = self.held[device] + 1.0 <= self.wanted[device].ceil();
            if on_it == 0 && in_zone < most_in_zone && room {
                self.put(replica, device);
            }
        }
    }

    /// Gives each replica without a device to the device that lacks most.
    fn deal_out(&mut self) {
        for replica in 0..self.table.len() {
            if self.table[replica] != NOWHERE {
                continue;
            }
            let lacks = |device: usize| self.wanted[device] - self.held[device];
            let best = (0..self.devices.len())
                .min_by(|&a, &b| {
                    let ((zone_a, on_a), (zone_b, on_b)) =
                        (self.near(replica, a), self.near(replica, b));
                    (on_a, zone_a)
                        .cmp(&(on_b, zone_b))
                        .then(lacks(b).total_cmp(&lacks(a)))
                        // so that not always the same device is next
                        .then_with(|| draw(replica, a).cmp(&draw(replica, b)))
                })
                .expect("there is a device");
            self.put(replica, best);
        }
    }

    /// Whether no device holds too many replicas.
    fn is_even(&self) -> bool {
        self.held.iter().zip(&self.wanted).all(|(held, wanted)| *held < wanted + 1.0)
    }

    fn put(&mut self, replica: usize, device: usize) {
        self.table[replica] = device as u32;
        self.held[device] += 1.0;
    }
}

fn draw(replica: usize, device: usize) -> u64 {
    mix((replica as u64) << 32 | device as u64)
}

/// Number of replicas that each device should hold: in proportion to its weight, but at most one of each partition.
fn wanted(devices: &[RingDevice], partitions: f64, replicas: f64) -> Vec<f64> {
    let mut wanted = vec![f64::NAN; devices.len()];
    let mut left = partitions * replicas;
    loop {
        let open = || (0..devices.len()).filter(|&device| wanted[device].is_nan());
        let weight: f64 = open().map(|device| devices[device].weight).sum();
        let full: Vec<usize> =
            open().filter(|&device| devices[device].weight / weight * left > partitions).collect();
        if full.is_empty() {
            for device in open().collect::<Vec<_>>() {
                wanted[device] = devices[device].weight / weight * left;
            }
            return wanted;
        }
        for device in full {
            wanted[device] = partitions;
            left -= partitions;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn devices(zones: u32, each: u32) -> Vec<RingDevice> {
        let device = |id| RingDevice { id, zone: id / each, weight: 1.0 };
        (0..zones * each).map(device).collect()
    }

    fn held(ring: &Ring, devices: &[RingDevice]) -> Vec<usize> {
        let of = |device: &RingDevice| ring.table.iter().filter(|&&id| id == device.id).count();
        devices.iter().map(of).collect()
    }

    /// Number of replicas that are on another device than before.
    fn moved(before: &Ring, after: &Ring) -> usize {
        (0..before.partitions())
            .map(|partition| {
                let old = before.devices(partition);
                after.devices(partition).iter().filter(|id| !old.contains(id)).count()
            })
            .sum()
    }

    fn in_one_zone(ring: &Ring, devices: &[RingDevice]) -> usize {
        let zone = |id: u32| devices.iter().find(|device| device.id == id).unwrap().zone;
        (0..ring.partitions())
            .filter(|&partition| {
                let ids = ring.devices(partition);
                let zones: Vec<u32> = ids.iter().map(|&id| zone(id)).collect();
                (1..zones.len()).any(|index| zones[..index].contains(&zones[index]))
            })
            .count()
    }

    #[test]
    fn replicas_are_in_distinct_zones_and_each_device_holds_its_share() {
        let devices = devices(4, 2);
        let ring = Ring::new(10, 3, &devices).unwrap();
        assert_eq!(in_one_zone(&ring, &devices), 0);
        // 3 * 1024 / 8 = 384
        assert!(held(&ring, &devices).iter().all(|held| held.abs_diff(384) <= 2), "{ring:?}");
    }

    #[test]
    fn devices_hold_by_weight() {
        let mut devices = devices(8, 1);
        devices[3].weight = 2.0;
        let ring = Ring::new(12, 3, &devices).unwrap();
        // a ninth of 12,288 replicas is 1365.3, and two ninths are 2730.7
        for (held, device) in held(&ring, &devices).into_iter().zip(&devices) {
            let expected = device.weight * 12_288.0 / 9.0;
            assert!((held as f64 - expected).abs() < 3.0, "{held} {expected}");
        }
    }

    #[test]
    fn what_must_move_moves() {
        let before = devices(5, 2);
        let ring = Ring::new(12, 3, &before).unwrap();
        // one more device in a new zone: its share is 1/11 of 12,288 replicas, and little else moves
        let mut more = before.clone();
        more.push(RingDevice { id: 50, zone: 9, weight: 1.0 });
        let grown = ring.rebuilt(&more).unwrap();
        let share = held(&grown, &more)[10];
        // each of the ten others may keep 1118 although its share is 1117.1
        assert_eq!(share, 12_288 - 10 * 1118);
        assert!(moved(&ring, &grown) <= share + share / 10, "{}", moved(&ring, &grown));
        assert_eq!(in_one_zone(&grown, &more), 0);
        // one device fewer: its tenth moves
        let less: Vec<_> = before.iter().copied().filter(|device| device.id != 7).collect();
        let shrunk = ring.rebuilt(&less).unwrap();
        let gone = held(&ring, &before)[7];
        assert!(moved(&ring, &shrunk) <= gone + gone / 10, "{} {gone}", moved(&ring, &shrunk));
        assert_eq!(moved(&ring, &ring.rebuilt(&before).unwrap()), 0);
    }

    #[test]
    fn one_replica_of_a_partition_moves_at_a_time() {
        let before = devices(6, 1);
        let ring = Ring::new(8, 3, &before).unwrap();
        // two of six devices leave: a fifth of the partitions has replicas on both
        let less: Vec<_> = before.iter().copied().filter(|device| device.id > 1).collect();
        let once = ring.rebalanced(&less, |_| true).unwrap();
        let leaving = |ring: &Ring, partition: usize| {
            ring.devices(partition).iter().filter(|id| **id < 2).count()
        };
        let mut on_both = 0;
        for partition in 0..ring.partitions() {
            let (old, new) = (ring.devices(partition), once.devices(partition));
            let differ = (0..3).filter(|&replica| old[replica] != new[replica]).count();
            assert!(differ <= 1, "{old:?} {new:?}");
            assert!(new[0] != new[1] && new[1] != new[2] && new[0] != new[2], "{new:?}");
            assert_eq!(leaving(&once, partition), leaving(&ring, partition).saturating_sub(1));
            on_both += usize::from(leaving(&ring, partition) == 2);
        }
        assert!(on_both.abs_diff(51) < 25, "{on_both} of 256");
        // the others follow
        let twice = once.rebalanced(&less, |partition| leaving(&once, partition) > 0).unwrap();
        assert!((0..ring.partitions()).all(|partition| leaving(&twice, partition) == 0));
        assert_eq!(ring.rebalanced(&less, |_| false).unwrap(), ring);
    }

    #[test]
    fn names_the_fault() {
        let fault = |devices: &[RingDevice]| Ring::new(4, 3, devices).unwrap_err().to_string();
        assert!(fault(&devices(1, 2)).contains("3 replicas"), "{}", fault(&devices(1, 2)));
        let mut twice = devices(3, 1);
        twice[2].id = 0;
        assert!(fault(&twice).contains("occurs twice"));
        let mut weightless = devices(3, 1);
        weightless[1].weight = 0.0;
        assert!(fault(&weightless).contains("weight 0"));
    }

    #[test]
    fn handoffs_are_all_other_devices_and_other_zones_come_first() {
        let devices = devices(5, 2);
        let ring = Ring::new(6, 3, &devices).unwrap();
        let mut firsts = Vec::new();
        for partition in 0..ring.partitions() {
            let (own, more) = (ring.devices(partition), ring.more(partition, &devices, usize::MAX));
            let mut all = [own, &more].concat();
            let mut zones: Vec<u32> = all[..5].iter().map(|id| id / 2).collect();
            zones.sort_unstable();
            // three zones have copies, and the first two hand-offs are in the other two
            assert_eq!(zones, [0, 1, 2, 3, 4]);
            all.sort_unstable();
            assert_eq!(all, (0..10).collect::<Vec<u32>>());
            firsts.push(more[0]);
        }
        firsts.sort_unstable();
        firsts.dedup();
        assert!(firsts.len() > 5, "partitions have different hand-offs: {firsts:?}");
    }

    proptest! {
        #[test]
        fn each_partition_has_distinct_devices(
            zones in 1_u32..6, each in 1_u32..4, power in 0_u32..8, heavy in 0_usize..3,
        ) {
            let mut list = devices(zones, each);
            let count = list.len();
            list[heavy % count].weight = 7.5;
            let replicas = count.min(3);
            let ring = Ring::new(power, replicas, &list).unwrap();
            for partition in 0..ring.partitions() {
                let mut ids = ring.devices(partition).to_vec();
                ids.sort_unstable();
                ids.dedup();
                prop_assert_eq!(ids.len(), replicas);
            }
            if zones as usize >= replicas {
                prop_assert_eq!(in_one_zone(&ring, &list), 0);
            }
            prop_assert!((0..1000).all(|object| ring.partition(object) < ring.partitions()));
        }
    }
}
