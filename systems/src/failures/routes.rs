//! What groups of volumes have become while the cluster runs.
//!
//! A volume that is encoded or placed otherwise becomes another one, of the same blocks and groups, group by group. The
//! software has these *successors* as volumes of their own, behind those of the scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::volume::Volume;

/// For each volume of the scenario that changes: by group, which volume it is now.
#[derive(Default)]
pub(crate) struct Routes {
    now: BTreeMap<u32, Arc<Vec<u32>>>,
    /// By the number of a setting that is about volumes: the successor.
    successors: Vec<u32>,
    /// What each volume is to become.
    targets: BTreeMap<u32, u32>,
}

impl Routes {
    /// At the beginning, when all is as the scenario says.
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

    /// What a group of a volume of the scenario is now.
    pub(crate) fn now(&self, volume: u32, group: u64) -> u32 {
        self.now.get(&volume).map_or(volume, |all| all[group as usize])
    }

    /// A group is another one's from now on.
    pub(crate) fn set(&mut self, volume: u32, group: u64, now: u32) {
        let all = self.now.get_mut(&volume).expect("it changes");
        Arc::make_mut(all)[group as usize] = now;
    }

    /// What a volume is to become.
    pub(crate) fn target(&self, volume: u32) -> Option<u32> {
        self.targets.get(&volume).copied()
    }

    /// A volume is to become the successor with that number.
    pub(crate) fn begin(&mut self, volume: u32, number: usize) {
        self.targets.insert(volume, self.successors[number]);
    }
}
