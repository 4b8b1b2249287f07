//! Imported Ceph clusters, for `report`.

use std::path::Path;

use foretell_algorithms::crush::PoolKind;
use foretell_ceph_maps::{Imported, osd_bytes, read_files};
use foretell_report::{Ceph, Pool, Source};
use foretell_sorted::SortedMap;

use crate::failure::Failure;
use crate::import::MAP_FILE;

const TIB: f64 = (1_u64 << 40) as f64;

/// Reads the cluster in a directory of `import ceph`.
pub(super) fn read(path: &Path, name: &str) -> Result<Source, Failure> {
    let usage = |error: String| Failure::Usage(error);
    let imported = read_files(&[path.join(MAP_FILE)]).map_err(|error| usage(error.to_string()))?;
    let Imported::Cluster(map, inventory) = imported else {
        return Err(usage(format!(
            "`{}` is a CRUSH map alone, without placement groups; import the OSD map or a report",
            path.join(MAP_FILE).display()
        )));
    };
    let placed = map.place_all().map_err(|error| usage(error.to_string()))?;
    let mut groups: SortedMap<i32, u64> = SortedMap::new();
    for osd in placed.iter().flat_map(|placed| &placed.up) {
        *groups.entry(*osd).or_default() += 1;
    }
    let osds = map.existing().filter(|(_, osd)| osd.weight > 0).map(|(osd, _)| {
        (osd, osd_bytes(&map, &inventory, osd) / TIB, groups.get(&osd).copied().unwrap_or(0))
    });
    let pools = map.pools().values().map(|pool| Pool {
        name: pool.name.clone(),
        groups: u64::from(pool.pg_num),
        size: u64::from(pool.size),
        kind: if pool.kind == PoolKind::Replicated { "replicated" } else { "erasure-coded" },
    });
    let (pools, osds) = (pools.collect(), osds.collect());
    let notes = inventory.notes.clone();
    Ok(Source::Ceph(Ceph { name: name.to_owned(), pools, osds, notes }))
}
