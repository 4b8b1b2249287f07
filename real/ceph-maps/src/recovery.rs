//! The hours that a plan takes at the throttle of each device class, and the share of a device left for clients.
//!
//! [`pace()`] needs a rate for each OSD. Here it follows from the OSD's device class: the rate that was asked for, or
//! the part of a device's bandwidth that Ceph's mClock reserves for recovery.

use foretell_algorithms::crush::ClusterMap;
use foretell_sorted::SortedMap;
use thiserror::Error;

use crate::inventory::Inventory;
use crate::pace::{Pace, Throttle, pace};
use crate::plan::Plan;

const MIB: f64 = (1_u64 << 20) as f64;
/// Bandwidth in bytes a second that mClock assumes for a disk, and for any other device:
/// `osd_mclock_max_sequential_bandwidth_hdd` and `_ssd` (Ceph's defaults).
const ASSUMED: (f64, f64) = (150.0 * MIB, 1200.0 * MIB);
/// Default share of that bandwidth for recovery: its reservation in the profile `balanced`, Ceph's default since
/// Reef.
const RESERVED: f64 = 0.5;

/// A rate at which recovery may read and write an OSD.
#[derive(Clone, PartialEq, Debug)]
pub struct RecoveryRate {
    /// Device class: `hdd`, `ssd`, `nvme`. `None`: all classes without a rate of their own.
    pub class: Option<String>,
    /// Bytes a second.
    pub bytes_per_s: f64,
}

/// The limits of recovery that an operator sets.
#[derive(Clone, PartialEq, Debug)]
pub struct RecoveryLimits {
    /// Rates; of several for one class the last counts. A class without any gets half of the bandwidth that mClock
    /// assumes of its devices.
    pub rates: Vec<RecoveryRate>,
    /// Number of backfills that an OSD does at a time as a primary, and separately as a target: `osd_max_backfills`.
    pub max_backfills: u32,
}

/// A rate for a class that no OSD has.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("no OSD is of the class `{class}`; OSDs are of: {}", .known.join(", "))]
pub struct UnknownClass {
    /// The class.
    pub class: String,
    /// The classes of the OSDs, sorted.
    pub known: Vec<String>,
}

/// The duration of a plan's moves.
#[derive(Clone, PartialEq, Debug)]
pub struct Recovery {
    /// Times, bytes, and the work of each OSD.
    pub pace: Pace,
    /// By device class: the OSDs that take part.
    pub classes: SortedMap<String, ClassRecovery>,
    /// Number of backfills that an OSD does at a time.
    pub max_backfills: u32,
}

/// Recovery on the OSDs of a device class.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassRecovery {
    /// OSDs that take part.
    pub osds: usize,
    /// Rate of recovery on each of them, bytes a second.
    pub bytes_per_s: f64,
    /// Share of the device's assumed bandwidth that this is, at most 1.
    pub share: f64,
}

impl Recovery {
    /// The duration of a plan within these limits; `map` and `known`: the cluster after the change. `None` if the
    /// files do not say how much data the pools hold.
    ///
    /// # Errors
    ///
    /// If a rate names a class that no OSD has.
    pub fn of(
        plan: &Plan,
        (map, known): (&ClusterMap, &Inventory),
        limits: &RecoveryLimits,
    ) -> Result<Option<Self>, UnknownClass> {
        let classes = classes(map, known);
        for class in limits.rates.iter().filter_map(|rate| rate.class.as_ref()) {
            if !classes.values().any(|known| known == class) {
                let mut known: Vec<String> = classes.into_values().collect();
                known.sort_unstable();
                known.dedup();
                return Err(UnknownClass { class: class.clone(), known });
            }
        }
        if !plan.bytes_known {
            return Ok(None);
        }
        let throttle = Throttle {
            bytes_per_s: classes.iter().map(|(osd, class)| (*osd, limits.of(class).0)).collect(),
            max_backfills: limits.max_backfills as usize,
        };
        let pace = pace(plan, map, &throttle);
        let mut by_class: SortedMap<String, ClassRecovery> = SortedMap::new();
        for class in pace.osds.keys().filter_map(|osd| classes.get(osd)) {
            let (bytes_per_s, share) = limits.of(class);
            let none = ClassRecovery { osds: 0, bytes_per_s, share };
            by_class.entry(class.clone()).or_insert(none).osds += 1;
        }
        Ok(Some(Self { pace, classes: by_class, max_backfills: limits.max_backfills }))
    }

    /// The OSD that finishes last, and its time in seconds; of several the one with the lowest number. `None` if
    /// nothing moves.
    pub fn last(&self) -> Option<(i32, f64)> {
        let ends = self.pace.osds.iter().map(|(osd, part)| (*osd, part.until));
        ends.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }
}

impl RecoveryLimits {
    /// The rate for a class in bytes a second, and its share of the device's assumed bandwidth.
    fn of(&self, class: &str) -> (f64, f64) {
        let whole = if class == "hdd" { ASSUMED.0 } else { ASSUMED.1 };
        let of = |wanted: Option<&str>| {
            self.rates.iter().rev().find(|rate| rate.class.as_deref() == wanted)
        };
        let asked = of(Some(class)).or_else(|| of(None));
        let rate = asked.map_or(RESERVED * whole, |asked| asked.bytes_per_s);
        (rate, (rate / whole).min(1.0))
    }
}

/// Device class of each OSD; a disk's class if none is known.
fn classes(map: &ClusterMap, known: &Inventory) -> SortedMap<i32, String> {
    let parts = map.crush.parts();
    let buckets = parts.buckets.iter().filter(|bucket| !bucket.is_shadow());
    let osds = buckets.flat_map(|bucket| &bucket.items).map(|item| item.id).filter(|id| *id >= 0);
    let class = |osd: i32| {
        let reported = known.osds.get(&osd).and_then(|facts| facts.class.clone());
        let class = parts.classes.get(&osd).cloned().or(reported);
        class.unwrap_or_else(|| "hdd".to_owned())
    };
    osds.map(|osd| (osd, class(osd))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_has_its_own_rate_or_that_of_all_or_half_of_its_devices() {
        let rate = |class: Option<&str>, mib: f64| RecoveryRate {
            class: class.map(str::to_owned),
            bytes_per_s: mib * MIB,
        };
        let limits = |rates| RecoveryLimits { rates, max_backfills: 1 };
        let close = |(rate, share): (f64, f64), wanted: (f64, f64)| {
            assert!((rate / MIB - wanted.0).abs() < 1e-9 && (share - wanted.1).abs() < 1e-9);
        };
        let none = limits(Vec::new());
        close(none.of("hdd"), (75.0, 0.5));
        close(none.of("nvme"), (600.0, 0.5));
        let some =
            limits(vec![rate(Some("hdd"), 15.0), rate(None, 300.0), rate(Some("hdd"), 30.0)]);
        close(some.of("hdd"), (30.0, 0.2));
        close(some.of("ssd"), (300.0, 0.25));
        // no device gives more than it has
        close(limits(vec![rate(None, 300.0)]).of("hdd"), (300.0, 1.0));
    }
}
