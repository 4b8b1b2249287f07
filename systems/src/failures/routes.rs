//! The current volumes of groups that change while the cluster runs.
//!
//! When a volume gets another encoding or placement, its groups move, one after the other, to another volume
//! with the same blocks and groups. Such a *successor* is a separate volume for the software. Successors are
//! numbered after the volumes of the scenario.

use std::sync::Arc;

use foretell_sorted::SortedMap;

use crate::volume::Volume;

/// For each volume of the scenario that changes: the current volume of each group.
#[derive(Default)]
pub(crate) struct Routes {
    now: SortedMap<u32, Arc<Vec<u32>>>,
    /// The successor for each setting that concerns volumes, by the setting's number.
    successors: Vec<u32>,
    /// The volume that each volume is changing to.
    targets: SortedMap<u32, u32>,
}

impl Routes {
    /// The initial state, as in the scenario.
    pub(super) fn of(volumes: &[Volume]) -> Self {
        let mut routes = Self::default();
        for (id, volume) in (0..).zip(volumes) {
            let of = volume.of.0;
            if of != id {
                let groups = volumes[of as usize].groups() as usize;
                routes.now.entry(of).or_insert_with(|| Arc::new(vec![of; groups]));
                routes.successors.push(id);
            }
        }
        routes
    }

    /// Whether no volume changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.now.is_empty()
    }

    pub(super) fn of_volume(&self, volume: u32) -> Option<Arc<Vec<u32>>> {
        self.now.get(&volume).cloned()
    }

    /// The current volume of a group of a scenario's volume.
    pub(crate) fn now(&self, volume: u32, group: u64) -> u32 {
        self.now.get(&volume).map_or(volume, |all| all[group as usize])
    }

    /// A group belongs to another volume from now on.
    pub(crate) fn set(&mut self, volume: u32, group: u64, now: u32) {
        let all = self.now.get_mut(&volume).expect("it changes");
        Arc::make_mut(all)[group as usize] = now;
    }

    /// The volume that a volume is changing to.
    pub(crate) fn target(&self, volume: u32) -> Option<u32> {
        self.targets.get(&volume).copied()
    }

    /// A volume begins to change to the successor with that number.
    pub(crate) fn begin(&mut self, volume: u32, number: usize) {
        self.targets.insert(volume, self.successors[number]);
    }
}
