//! The duration of a change under a recovery throttle, and the share of the OSDs left for clients meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use foretell_algorithms::crush::ClusterMap;
use foretell_ceph_maps::{Inventory, Pace, Plan, Throttle, pace};
use serde_json::{Value, json};

use crate::cli::{ClassRate, PlanArguments};
use crate::failure::Failure;
use crate::import::in_tib;

/// Bandwidth in bytes a second that mClock assumes for a disk, and for any other device:
/// `osd_mclock_max_sequential_bandwidth_hdd` and `_ssd` (Ceph's defaults).
const TAKEN_FOR: (f64, f64) = (150.0 * MIB, 1200.0 * MIB);
/// Default share of that bandwidth for recovery: its reservation in the profile `balanced`, Ceph's default since
/// Reef.
const RECOVERY: f64 = 0.5;

const MIB: f64 = (1_u64 << 20) as f64;
/// A year in seconds.
const YEAR: f64 = 365.25 * 86_400.0;

/// The duration of a plan.
pub(super) struct Time {
    pace: Pace,
    /// By device class: number of OSDs, recovery bandwidth in bytes a second, and its share of the device.
    classes: BTreeMap<String, (usize, f64, f64)>,
    max_backfills: u32,
}

impl Time {
    /// The duration; `None` if the files do not say how much data the pools hold.
    pub(super) fn of(
        plan: &Plan,
        (map, known): (&ClusterMap, &Inventory),
        arguments: &PlanArguments,
    ) -> Result<Option<Self>, Failure> {
        let classes = classes(map, known);
        let names: BTreeSet<&str> = classes.values().map(String::as_str).collect();
        for ClassRate { class, .. } in &arguments.recovery_rate {
            if let Some(class) = class.as_deref().filter(|class| !names.contains(class)) {
                let names = names.iter().copied().collect::<Vec<_>>().join(", ");
                return Err(Failure::Usage(format!(
                    "`--recovery-rate` names the class `{class}`, but OSDs here are of: {names}"
                )));
            }
        }
        if !plan.bytes_known {
            return Ok(None);
        }
        let rate = |class: &str| {
            let whole = if class == "hdd" { TAKEN_FOR.0 } else { TAKEN_FOR.1 };
            let of = |wanted: Option<&str>| {
                let mut rates = arguments.recovery_rate.iter().rev();
                rates.find(|rate| rate.class.as_deref() == wanted)
            };
            let asked = of(Some(class)).or_else(|| of(None));
            let rate = asked.map_or(RECOVERY * whole, |asked| asked.rate.as_bytes_per_s_f64());
            (rate, (rate / whole).min(1.0))
        };
        let throttle = Throttle {
            bytes_per_s: classes.iter().map(|(osd, class)| (*osd, rate(class).0)).collect(),
            max_backfills: arguments.max_backfills as usize,
        };
        let pace = pace(plan, map, &throttle);
        let mut by_class: BTreeMap<String, (usize, f64, f64)> = BTreeMap::new();
        for osd in pace.osds.keys() {
            let Some(class) = classes.get(osd) else { continue };
            let (rate, share) = rate(class);
            by_class.entry(class.clone()).or_insert((0, rate, share)).0 += 1;
        }
        let max_backfills = arguments.max_backfills;
        Ok(Some(Self { pace, classes: by_class, max_backfills }))
    }

    /// As JSON.
    pub(super) fn document(&self) -> Value {
        let Self { pace, classes, max_backfills } = self;
        let hours = |seconds: f64| seconds / 3600.0;
        let [half, most, nearly] = pace.shares.map(|(_, at)| hours(at));
        let last = self.last().map(|(osd, at)| json!({ "osd": osd, "hours": hours(at) }));
        let class = |(name, (osds, rate, share)): (&String, &(usize, f64, f64))| {
            json!({
                "class": name,
                "osds": osds,
                "recovery_bytes_per_s": rate.round() as u64,
                "left_for_clients": 1.0 - share,
            })
        };
        json!({
            "hours": hours(pace.seconds),
            "degraded_hours": hours(pace.degraded_s),
            "half_hours": half,
            "p90_hours": most,
            "p99_hours": nearly,
            "bytes_read": pace.bytes_read.round() as u64,
            "bytes_written": pace.bytes_written.round() as u64,
            "osds": pace.osds.len(),
            "osds_at_work": pace.osds_at_work,
            "last": last,
            "lost_groups": pace.lost,
            "max_backfills": max_backfills,
            "classes": classes.iter().map(class).collect::<Value>(),
        })
    }

    /// The OSD that finishes last, and its time.
    fn last(&self) -> Option<(i32, f64)> {
        let ends = self.pace.osds.iter().map(|(osd, part)| (*osd, part.until));
        ends.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
    }

    /// The duration as text.
    pub(super) fn text(&self) -> String {
        let Self { pace, classes, max_backfills } = self;
        let mut text = String::new();
        if pace.lost > 0 {
            let _ = writeln!(text, "{} groups cannot be read from any OSD that is up", pace.lost);
        }
        let Some((last, _)) = self.last() else { return text };
        let _ = write!(text, "that takes {}", span(pace.seconds));
        if pace.degraded_s > 0.0 {
            let _ = write!(text, "; no copy or chunk is missing after {}", span(pace.degraded_s));
        }
        let [(_, half), (_, most), _] = pace.shares;
        let _ = writeln!(
            text,
            " (half after {}, 90 % after {}; osd.{last} is the last)",
            span(half),
            span(most)
        );
        let _ = writeln!(
            text,
            "meanwhile {} are read and {} written; of {} OSDs that take part {:.0} are at work in the mean",
            in_tib(pace.bytes_read),
            in_tib(pace.bytes_written),
            pace.osds.len(),
            pace.osds_at_work
        );
        for (class, (osds, rate, share)) in classes {
            let _ = writeln!(
                text,
                "  {osds} {class} OSDs: recovery at {}, {:.0} % of the device left for clients",
                pace_of(*rate),
                100.0 * (1.0 - share)
            );
        }
        let _ = writeln!(
            text,
            "  {max_backfills} backfill{} of an OSD at a time; network and processors are taken not to limit",
            if *max_backfills == 1 { "" } else { "s" }
        );
        text
    }
}

/// Device class of each OSD; a disk's class if none is known.
fn classes(map: &ClusterMap, known: &Inventory) -> BTreeMap<i32, String> {
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

/// A time in a suitable unit.
fn span(seconds: f64) -> String {
    match seconds {
        less if less < 90.0 => format!("{less:.0} s"),
        less if less < 5400.0 => format!("{:.0} min", less / 60.0),
        less if less < 172_800.0 => format!("{:.1} h", less / 3600.0),
        more if more < YEAR => format!("{:.1} days", more / 86_400.0),
        more => format!("{:.0} years", more / YEAR),
    }
}

/// A rate in a suitable unit.
fn pace_of(bytes_per_s: f64) -> String {
    match bytes_per_s {
        less if less < 1024.0 => format!("{less:.0} B/s"),
        less if less < MIB => format!("{:.0} KiB/s", less / 1024.0),
        more => format!("{:.0} MiB/s", more / MIB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_are_said_in_units_of_their_size() {
        assert_eq!([60.0, 7200.0, 864_000.0].map(span), ["60 s", "2.0 h", "10.0 days"]);
        // a tebibyte at 1 B/s
        assert_eq!(span(1.1e12), "34857 years");
        assert_eq!([1.0, 2048.0, 75.0 * MIB].map(pace_of), ["1 B/s", "2 KiB/s", "75 MiB/s"]);
    }
}
