//! What clients would see before, during and after outages, and the cost of recoveries. The names are those
//! in the truth of a run.

use foretell_sorted::SortedMap;
use foretell_systems::HoursLeft;
use foretell_units::is_zero;
use serde::Serialize;

use crate::answer::ResponseTimeMs;
use crate::circumstances::Circumstances;
use crate::expected::{ExpectedError, Interval};
use crate::replay::OutageOutcome;

/// The effects of events.
#[derive(Clone, Debug, Serialize)]
pub struct OutageAnswer {
    /// Phases of the measured time with nonzero length, in order: `before`, `degraded`, `recovering`, `after`.
    pub phases: Vec<PhaseAnswer>,
    /// The beginnings of phases, in order.
    pub phase_changes: Vec<PhaseChange>,
    /// Recoveries, in the order in which they begin.
    pub recoveries: Vec<RecoveryAnswer>,
    /// Requests that fail in the measured time.
    pub failed_requests: u64,
    /// Requests of the replay that wait because too few servers of a group are up: with Ceph fewer than `min_size`, with
    /// Ursa Minor fewer than `min_write`, or than a read needs. Only if there are any.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting_below_min_size: u64,
    /// Bytes of volumes that are lost because too few fragments remain.
    pub bytes_lost: u64,
    /// With Swift: reads in the replay in which a client gets an older version than the one that was acknowledged last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_reads: Option<u64>,
}

/// What clients would see in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseAnswer {
    /// Its name.
    pub phase: &'static str,
    /// Its total length.
    pub seconds: f64,
    /// Workloads by name.
    pub workloads: SortedMap<String, PhaseWorkload>,
}

/// What clients of a workload would see in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseWorkload {
    /// Requests completed in a second.
    pub throughput_rps: f64,
    /// Bytes read and written in a second.
    pub throughput_bytes_per_s: f64,
    /// Time from issue to completion, of requests that complete in the phase.
    pub response_time_ms: ResponseTimeMs,
    /// Requests completed in the replay.
    pub requests: u64,
    /// Requests that failed in the replay.
    pub failed_requests: u64,
    /// Requests of the replay that begin to wait because too few servers of a group are up. Only if there are any.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting_below_min_size: u64,
    /// Expected error by metric, for metrics with enough past scores of failures.
    #[serde(skip_serializing_if = "SortedMap::is_empty")]
    pub expected_error: SortedMap<&'static str, ExpectedError>,
    /// The interval that holds the truth in 90 % of all cases, by metric, for metrics with enough
    /// past scores of failures.
    #[serde(skip_serializing_if = "SortedMap::is_empty")]
    pub interval: SortedMap<&'static str, Interval>,
    /// Properties by which similar past scores are found.
    #[serde(skip)]
    pub circumstances: Circumstances,
}

/// The beginning of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseChange {
    /// Time of the beginning, from the end of the warm-up.
    pub at_s: f64,
    /// Its name.
    pub phase: &'static str,
}

/// A recovery.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecoveryAnswer {
    /// The failed host or disk (`osd1.disk0`) that makes the recovery necessary, or a volume: `volume.mail`.
    pub host: String,
    /// `rebuild`, `catch-up`, `rebalance` or `convert`.
    pub kind: &'static str,
    /// Time of the beginning, from the end of the warm-up.
    pub began_s: f64,
    /// Time of the end, from the end of the warm-up; `null` if it would not end in the measured time.
    pub ended_s: Option<f64>,
    /// Number of fragments of groups that are rebuilt or brought up to date; for Ceph, of copies and shards
    /// of objects.
    pub objects: u64,
    /// Bytes that nodes read for the recovery.
    pub bytes_read: u64,
    /// Bytes of fragments that nodes send for the recovery.
    pub bytes_sent: u64,
    /// Bytes that nodes write for the recovery.
    pub bytes_written: u64,
    /// Bytes written in a second, from its beginning to its end, or to that of the measured time.
    pub rate_bytes_per_s: f64,
    /// Share of the bytes to write that is written in the measured time.
    pub share_done: f64,
    /// Time that the rest takes at this rate, h; `null`: it cannot be told.
    pub hours_left: Option<HoursLeft>,
    /// Why `hours_left` cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

impl PhaseWorkload {
    /// A predicted figure. `metric` is the name that `score` gives it, without the phase.
    pub fn figure(&self, metric: &str) -> Option<f64> {
        match metric {
            "throughput_rps" => Some(self.throughput_rps),
            _ => self.response_time_ms.figure(metric),
        }
    }
}

impl OutageAnswer {
    /// Makes the answer from the outcome of the replay. `workload` gives the name of a workload and the
    /// answer about it, from its number, its outcome in the phase, and the length of the phase, s.
    pub(crate) fn of(
        outcome: &OutageOutcome,
        workload: impl Fn(usize, &crate::replay::PhaseWorkloadOutcome, f64) -> (String, PhaseWorkload),
    ) -> Self {
        let phases = outcome.phases.iter().map(|found| {
            let each = found.workloads.iter().enumerate();
            let workloads = each.map(|(index, seen)| workload(index, seen, found.seconds));
            PhaseAnswer {
                phase: found.phase.name(),
                seconds: found.seconds,
                workloads: workloads.collect(),
            }
        });
        let changes = outcome.phase_changes.iter();
        let recoveries = outcome.recoveries.iter().map(|one| RecoveryAnswer {
            host: one.host.clone(),
            kind: one.kind,
            began_s: one.began_s,
            ended_s: one.ended_s,
            objects: one.objects,
            bytes_read: one.read.get(),
            bytes_sent: one.sent.get(),
            bytes_written: one.written.get(),
            rate_bytes_per_s: one.progress.rate_bytes_per_s,
            share_done: one.progress.share_done,
            hours_left: one.progress.hours_left.ok(),
            why: one.progress.hours_left.err(),
        });
        Self {
            phases: phases.collect(),
            phase_changes: changes
                .map(|(at_s, phase)| PhaseChange { at_s: *at_s, phase: phase.name() })
                .collect(),
            recoveries: recoveries.collect(),
            failed_requests: outcome.failed,
            waiting_below_min_size: outcome.below_min_size,
            bytes_lost: outcome.bytes_lost.get(),
            stale_reads: outcome.stale_reads,
        }
    }
}
