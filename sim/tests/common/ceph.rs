//! Ceph settings for tests.

use foretell_scenarios::model::{Ceph, Cost, OsdStore};
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, Rate, SimSpan};

/// A fixed time in microseconds, and a rate of 4 GB/s.
pub(crate) fn cost(us: u64) -> Cost {
    Cost { fixed: SimSpan::from_us(us), rate: Some(Rate::bytes_per_s(4_000_000_000)) }
}

/// Settings with this number of placement groups for each OSD.
pub(crate) fn ceph(placement_groups_per_osd: u32) -> Ceph {
    Ceph {
        store: OsdStore::BlueStore { deferred_below: Bytes::kib(16) },
        metadata: Bytes::kib(1),
        placement_groups_per_osd,
        read: cost(60),
        write: cost(60),
        commit: cost(60),
        threads: None,
        scheduler: None,
        onodes: None,
        coalesce: false,
        monitors: Vec::new(),
        own_monitors: SortedMap::new(),
        gateway: None,
        places: None,
    }
}
