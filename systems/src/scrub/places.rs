//! The places of disks that hold data of volumes when a run begins.

use foretell_algorithms::node::AddressSpace;
use foretell_scenarios::model::Scenario;
use foretell_scenarios::outages::{Action, Outages};
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, HostId};

use crate::objects::Target;
use crate::store::file_sizes;
use crate::volume::Volume;

/// Consecutive bytes of a disk, or of the data on it in a store of objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Region {
    /// The volume whose data they are.
    pub(crate) volume: u32,
    /// The first byte.
    pub(crate) begin: Bytes,
    /// Number of bytes.
    pub(crate) size: Bytes,
}

/// By disk: its regions with data, in the order of addresses.
pub(crate) type Places = SortedMap<Target, Vec<Region>>;

/// The places of a system whose nodes keep volumes as files.
pub(crate) fn of_files(scenario: &Scenario, volumes: &[Volume]) -> Places {
    let mut places = Places::new();
    for index in 0..scenario.hosts.len() {
        let host = HostId::from(index);
        let Some(storage) = scenario.host(host).role.storage() else { continue };
        let sizes = file_sizes(scenario, host, volumes);
        let space = AddressSpace::new(&storage.settings(Bytes::ZERO), &sizes);
        // later volumes are what these become while the cluster runs
        let first = volumes.iter().take(scenario.volumes.len());
        for (volume, held) in (0..).zip(first) {
            if !held.nodes.contains(&host) {
                continue;
            }
            let size = held.distribution.file_size(held.size);
            for disk in 0..storage.disks.len() as u32 {
                let parts = space.on_disk(volume, size, disk).into_iter();
                let regions = parts.map(|(begin, size)| Region { volume, begin, size });
                places.entry(Target { host, disk }).or_default().extend(regions);
            }
        }
    }
    places
}

/// Leaves out disks that hold nothing until they join.
pub(crate) fn without_joining(places: &mut Places, outages: &Outages) {
    for event in outages.events.iter().filter(|event| event.action == Action::Add) {
        let joins = |target: &Target| {
            target.host == event.host && event.part.disk().is_none_or(|disk| disk == target.disk)
        };
        places.retain(|target, _| !joins(target));
    }
}
