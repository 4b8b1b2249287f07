//! The devices that hold a volume, in a system whose servers choose them.

use foretell_scenarios::model::Scenario;
use foretell_units::{HostId, VolumeId};

use crate::system::AnySystem;

/// The devices (host, and number of its disk) of the first placement group or partition, then those of the
/// second, and so on: one for each copy or shard. `None` where clients spread volumes over nodes
/// themselves.
pub fn devices_of(scenario: &Scenario, volume: VolumeId) -> Option<Vec<(HostId, u32)>> {
    let targets = AnySystem::devices(scenario, volume)?;
    Some(targets.into_iter().map(|target| (target.host, target.disk)).collect())
}
