//! The devices that hold a volume, in a system whose servers choose them, and how many of them may be down while the
//! volume is served.

use foretell_scenarios::model::Scenario;
use foretell_units::{HostId, VolumeId};

use crate::protocol::machine_of;
use crate::system::AnySystem;

/// The devices (host, and number of its disk) of the first placement group or partition, then those of the
/// second, and so on: one for each copy or shard. `None` where clients spread volumes over nodes
/// themselves.
pub fn devices_of(scenario: &Scenario, volume: VolumeId) -> Option<Vec<(HostId, u32)>> {
    let targets = AnySystem::devices(scenario, volume)?;
    Some(targets.into_iter().map(|target| (target.host, target.disk)).collect())
}

/// Numbers of hosts or of devices that are down at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Down {
    /// Hosts.
    pub hosts: usize,
    /// Devices.
    pub devices: usize,
}

/// How many hosts, or devices, may be down at once, whichever they are, while every group of a volume accepts reads and
/// writes. A CRUSH map may know more: `SystemTraits::serves`.
pub fn serves_without(scenario: &Scenario, volume: VolumeId) -> Down {
    let found = AnySystem::serves_without(scenario, volume);
    found.unwrap_or_else(|| {
        // each copy or fragment is on a host of its own, and no read needs more of them than a write
        let volume = scenario.volume(volume);
        let spare = usize::from(volume.n() - volume.min_write);
        Down { hosts: spare, devices: spare }
    })
}

/// Whether a resource of a host stores the records of tracking, or receives them from other hosts, at a cost: the disks
/// with the file of the records or, if servers keep objects, the device with the log of the first disk's server.
pub fn keeps_records(scenario: &Scenario, host: &str, resource: &str) -> bool {
    let Some(cost) = &scenario.tracking.cost else { return false };
    let Some(storage) = scenario.host(cost.store).role.storage() else { return false };
    if scenario.host(machine_of(scenario, cost.store)).name != host {
        return false;
    }
    let devices = if scenario.system.traits().servers_keep_objects() {
        let own = &storage.disks[0];
        let device = own.wal.or(own.db).map_or(0, |part| storage.place_of(part).0);
        device..device + 1
    } else {
        0..storage.disks.len() as u32
    };
    let is_disk = devices.map(|disk| format!("disk{disk}")).any(|disk| disk == resource);
    is_disk || resource == "nic_receive"
}
