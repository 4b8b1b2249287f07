//! The duration of a change under a recovery throttle, as JSON and as text.

use std::fmt::Write as _;

use foretell_algorithms::crush::ClusterMap;
use foretell_ceph_maps::{
    ClassRecovery, Inventory, Plan, Recovery, RecoveryLimits, RecoveryRate, UnknownClass,
};
use serde_json::{Value, json};

use crate::cli::{ClassRate, PlanArguments};
use crate::failure::Failure;
use crate::import::in_tib;

const MIB: f64 = (1_u64 << 20) as f64;
/// A year in seconds.
const YEAR: f64 = 365.25 * 86_400.0;

/// The duration of a plan.
pub(super) struct Time(Recovery);

impl Time {
    /// The duration; `None` if the files do not say how much data the pools hold.
    pub(super) fn of(
        plan: &Plan,
        cluster: (&ClusterMap, &Inventory),
        arguments: &PlanArguments,
    ) -> Result<Option<Self>, Failure> {
        let rate = |ClassRate { class, rate }: &ClassRate| RecoveryRate {
            class: class.clone(),
            bytes_per_s: rate.as_bytes_per_s_f64(),
        };
        let rates = &arguments.recovery_rate;
        let twice = rates
            .iter()
            .enumerate()
            .find(|(at, rate)| rates[..*at].iter().any(|other| other.class == rate.class));
        if let Some((_, ClassRate { class, .. })) = twice {
            let class = class.as_deref().unwrap_or("all OSDs");
            return Err(Failure::Usage(format!("`--recovery-rate` of {class} is given twice")));
        }
        let limits = RecoveryLimits {
            rates: arguments.recovery_rate.iter().map(rate).collect(),
            max_backfills: arguments.max_backfills,
        };
        let recovery = Recovery::of(plan, cluster, &limits);
        let recovery = recovery.map_err(|UnknownClass { class, known }| {
            let known = known.join(", ");
            Failure::Usage(format!(
                "`--recovery-rate` names the class `{class}`, but OSDs here are of: {known}"
            ))
        })?;
        Ok(recovery.map(Self))
    }

    /// As JSON.
    pub(super) fn document(&self) -> Value {
        let Recovery { pace, classes, max_backfills } = &self.0;
        let hours = |seconds: f64| seconds / 3600.0;
        let [half, most, nearly] = pace.shares.map(|(_, at)| hours(at));
        let last = self.0.last().map(|(osd, at)| json!({ "osd": osd, "hours": hours(at) }));
        let class = |(name, of): (&String, &ClassRecovery)| {
            json!({
                "class": name,
                "osds": of.osds,
                "recovery_bytes_per_s": of.bytes_per_s.round() as u64,
                "left_for_clients": 1.0 - of.share,
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

    /// The duration as text.
    pub(super) fn text(&self) -> String {
        let Recovery { pace, classes, max_backfills } = &self.0;
        let mut text = String::new();
        if pace.lost > 0 {
            let _ = writeln!(text, "{} groups cannot be read from any OSD that is up", pace.lost);
        }
        let Some((last, _)) = self.0.last() else { return text };
        let _ = write!(text, "that takes {}", span(pace.seconds));
        if pace.degraded_s > 0.0 {
            let _ = write!(text, "; no copy or shard is missing after {}", span(pace.degraded_s));
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
            "meanwhile {} are read and {} written; of {} OSDs that take part, on average {:.0} are at work",
            in_tib(pace.bytes_read),
            in_tib(pace.bytes_written),
            pace.osds.len(),
            pace.osds_at_work
        );
        for (class, ClassRecovery { osds, bytes_per_s, share }) in classes {
            let _ = writeln!(
                text,
                "  {osds} {class} OSDs: recovery at {}, {:.0} % of the device left for clients",
                pace_of(*bytes_per_s),
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
