//! Which objects' metadata an OSD holds in memory.
//!
//! `BlueStore` keeps an object's onode (where its extents lie, their check sums) in a cache of its own. What it does
//! not hold it reads from `RocksDB` first: the onode, and then the part of its extent map that is needed, each a block
//! of the device. Under random access the cache has any part of a volume's objects that fits, and what was used last.
//!
//! Source: `BlueStore::Collection::get_onode` and `ExtentMap::fault_range`, which look two keys up. Left out: filters
//! and indices of `RocksDB` are in memory; which part of the objects is in memory does not change.

use foretell_algorithms::cache::{AnyPolicy, Policy, PolicyKind};
use foretell_algorithms::mix;
use foretell_units::Bytes;

use super::Target;

/// Keys that are looked up one after the other for an object that is not in memory.
const KEYS: u8 = 2;

/// What the OSDs of a cluster have in memory.
#[derive(Debug)]
pub(super) struct Onodes {
    /// By host, the number of its first OSD.
    first: Vec<u32>,
    /// By OSD: what was used last of the objects that are not always there.
    recent: Vec<AnyPolicy>,
    /// By volume: a share of 2^64 of its objects is always there.
    resident: Vec<u64>,
}

impl Onodes {
    /// OSDs by host, each of which holds the metadata of so many objects. `objects`: by volume, how many lie on an OSD.
    pub(super) fn new(osds: impl Iterator<Item = usize>, held: u64, objects: &[f64]) -> Self {
        let mut first = Vec::new();
        let mut count = 0;
        for osds in osds {
            first.push(count);
            count += osds as u32;
        }
        let share = held as f64 / objects.iter().sum::<f64>().max(1.0);
        // beyond one it saturates
        let resident = (share * u64::MAX as f64) as u64;
        let capacity = usize::try_from(held.max(64)).expect("a 64-bit machine");
        Self {
            first,
            recent: (0..count).map(|_| PolicyKind::Lru.build(capacity)).collect(),
            resident: vec![resident; objects.len()],
        }
    }

    /// How many keys an OSD looks up to use an object, which it holds from now on.
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
        // three quarters of 400 are not there, within four deviations of 35
        let missed = misses(&mut all, 0..400);
        assert!((265..=335).contains(&missed), "{missed}");
        assert_eq!(misses(&mut all, 0..400), 0);
        // 3000 others and more push them out
        misses(&mut all, 1000..5000);
        assert_eq!(misses(&mut all, 0..400), missed);
    }

    #[test]
    fn where_all_fits_nothing_is_looked_up() {
        let mut all = Onodes::new([1, 2].into_iter(), 4000, &[4000.0]);
        assert_eq!(misses(&mut all, 0..4000), 0);
    }
}
