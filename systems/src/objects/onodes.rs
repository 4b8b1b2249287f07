//! The objects whose metadata an OSD holds in memory.
//!
//! `BlueStore` keeps an object's onode (the places of its extents, their checksums) in a separate cache. On a
//! miss it reads from `RocksDB`: first the onode, and then the part of its extent map that is needed, each a
//! block of the device. Under random access, the cache holds as many of a volume's objects as fit: a random
//! subset, and the most recently used ones.
//!
//! Source: `BlueStore::Collection::get_onode` and `ExtentMap::fault_range`, which look up two keys. Left out: misses of
//! `RocksDB`'s filters and indices, which are assumed in memory; changes of the subset that is in memory.

use foretell_algorithms::cache::{AnyPolicy, Policy, PolicyKind};
use foretell_algorithms::mix;
use foretell_units::Bytes;

use super::Target;

/// Keys that are looked up one after the other for an object that is not in memory.
const KEYS: u8 = 2;

/// The metadata in memory of a cluster's OSDs.
#[derive(Debug)]
pub(super) struct Onodes {
    /// The number of each host's first OSD.
    first: Vec<u32>,
    /// By OSD: the most recently used of the objects that are not always in memory.
    recent: Vec<AnyPolicy>,
    /// By volume: the share of its objects that is always in memory, in units of 2^-64.
    resident: Vec<u64>,
}

impl Onodes {
    /// OSDs by host. Each OSD holds the metadata of `held` objects. `objects`: number of objects on an OSD,
    /// by volume.
    pub(super) fn new(osds: impl Iterator<Item = usize>, held: u64, objects: &[f64]) -> Self {
        let mut first = Vec::new();
        let mut count = 0;
        for osds in osds {
            first.push(count);
            count += osds as u32;
        }
        let share = held as f64 / objects.iter().sum::<f64>().max(1.0);
        // above one it saturates
        let resident = (share * u64::MAX as f64) as u64;
        let capacity = usize::try_from(held.max(64)).expect("a 64-bit machine");
        Self {
            first,
            recent: (0..count).map(|_| PolicyKind::Lru.build(capacity)).collect(),
            resident: vec![resident; objects.len()],
        }
    }

    /// Number of keys that an OSD must look up to use an object; it holds the object's metadata from now on.
    pub(super) fn look_up(&mut self, osd: Target, volume: u32, object: Bytes) -> u8 {
        let number = self.first[osd.host.index()] + osd.disk;
        let key = u64::from(volume) << 48 ^ object.get() >> 12;
        if mix(key ^ u64::from(number) << 32) <= self.resident[volume as usize] {
            return 0;
        }
        if self.recent[number as usize].access(key).is_hit() { 0 } else { KEYS }
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::HostId;

    use super::*;

    const OSD: Target = Target { host: HostId(1), disk: 1 };

    fn misses(all: &mut Onodes, objects: std::ops::Range<u64>) -> usize {
        let object = |number| Bytes::mib(4 * number);
        objects.filter(|&number| all.look_up(OSD, 0, object(number)) > 0).count()
    }

    #[test]
    fn a_share_is_there_and_what_was_used_last() {
        let mut all = Onodes::new([1, 2].into_iter(), 1000, &[4000.0]);
        // three quarters of 400 are missing, within four deviations of 35
        let missed = misses(&mut all, 0..400);
        assert!((265..=335).contains(&missed), "{missed}");
        assert_eq!(misses(&mut all, 0..400), 0);
        // more than 3000 others push them out
        misses(&mut all, 1000..5000);
        assert_eq!(misses(&mut all, 0..400), missed);
    }

    #[test]
    fn where_all_fits_nothing_is_looked_up() {
        let mut all = Onodes::new([1, 2].into_iter(), 4000, &[4000.0]);
        assert_eq!(misses(&mut all, 0..4000), 0);
    }
}
