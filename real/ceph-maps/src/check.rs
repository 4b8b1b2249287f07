//! Compares the counts of each OSD in a report with those computed from the maps.

use foretell_algorithms::crush::{ClusterMap, NONE, Placed};
use foretell_sorted::SortedMap;

use crate::inventory::Reported;

/// The result of a check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Number of placement groups that were placed.
    pub groups: usize,
    /// Number of OSDs that were compared.
    pub osds: usize,
    /// Number of OSDs whose number of groups is as reported.
    pub osds_equal: usize,
    /// Number of OSDs whose number of groups as primary is as reported.
    pub primaries_equal: usize,
    /// The OSDs with differences.
    pub differing: Vec<Difference>,
}

/// An OSD whose computed counts differ from the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Its number.
    pub osd: i32,
    /// The reported counts.
    pub reported: Reported,
    /// The computed counts.
    pub computed: Reported,
}

/// Compares `placed`, in the order of the map's groups, with the reported counts.
pub fn check(map: &ClusterMap, placed: &[Placed], reported: &SortedMap<i32, Reported>) -> Check {
    let mut computed: SortedMap<i32, Reported> =
        map.existing().map(|(osd, _)| (osd, Reported::default())).collect();
    for group in placed {
        for &osd in group.acting.iter().filter(|osd| **osd != NONE) {
            computed.entry(osd).or_default().groups += 1;
        }
        // the report counts primaries of the up set, not of the acting set
        if group.up_primary >= 0 {
            computed.entry(group.up_primary).or_default().primaries += 1;
        }
    }
    let mut check = Check {
        groups: placed.len(),
        osds: 0,
        osds_equal: 0,
        primaries_equal: 0,
        differing: Vec::new(),
    };
    let real = |osd: &&i32| **osd != NONE && **osd >= 0;
    let osds: foretell_sorted::SortedSet<i32> =
        computed.keys().chain(reported.keys()).filter(real).copied().collect();
    for osd in osds {
        let reported = reported.get(&osd).copied().unwrap_or_default();
        let computed = computed.get(&osd).copied().unwrap_or_default();
        check.osds += 1;
        check.osds_equal += usize::from(reported.groups == computed.groups);
        check.primaries_equal += usize::from(reported.primaries == computed.primaries);
        if reported != computed {
            check.differing.push(Difference { osd, reported, computed });
        }
    }
    check
}
