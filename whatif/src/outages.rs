//! What clients would see before, while and after hosts are down, and what recoveries would take: by the same
//! names as in the truth of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::answer::ResponseTimeMs;
use crate::circumstances::Circumstances;
use crate::expected::{ExpectedError, Interval};
use crate::replay::OutageOutcome;

/// What events would do.
#[derive(Clone, Debug, Serialize)]
pub struct OutageAnswer {
    /// Phases of the measured time that last at all, in order: `before`, `degraded`, `recovering`, `after`.
    pub phases: Vec<PhaseAnswer>,
    /// When the phases begin and give way to each other, in order.
    pub phase_changes: Vec<PhaseChange>,
    /// What is rebuilt, in the order in which it begins.
    pub recoveries: Vec<RecoveryAnswer>,
    /// Requests that are given up in the measured time.
    pub failed_requests: u64,
    /// Bytes of volumes that too few fragments are left of.
    pub bytes_lost: u64,
}

/// What clients would see in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseAnswer {
    /// Its name.
    pub phase: &'static str,
    /// How long it lasts, all in all.
    pub seconds: f64,
    /// By name.
    pub workloads: BTreeMap<String, PhaseWorkload>,
}

/// What clients of a workload would see in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseWorkload {
    /// Requests completed in a second.
    pub throughput_rps: f64,
    /// Bytes read and written in a second.
    pub throughput_bytes_per_s: f64,
    /// From issue to completion, of the requests completed in it.
    pub response_time_ms: ResponseTimeMs,
    /// Requests completed in the replay.
    pub requests: u64,
    /// Requests given up in the replay.
    pub failed_requests: u64,
    /// How far off this is to be expected: by metric, as far as failures were scored.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub expected_error: BTreeMap<&'static str, ExpectedError>,
    /// Where the truth is to be expected in 90 % of all cases: by metric, as far as failures were scored.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub interval: BTreeMap<&'static str, Interval>,
    /// What past scores are to be compared by.
    #[serde(skip)]
    pub circumstances: Circumstances,
}

/// The beginning of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseChange {
    /// When, from the end of the warm-up.
    pub at_s: f64,
    /// Its name.
    pub phase: &'static str,
}

/// A recovery.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecoveryAnswer {
    /// The host whose failure makes it necessary, or its disk: `osd1.disk0`; or a volume: `volume.mail`.
    pub host: String,
    /// `rebuild`, `catch-up`, `rebalance` or `convert`.
    pub kind: &'static str,
    /// When it begins, from the end of the warm-up.
    pub began_s: f64,
    /// When it is done; `null`: it would still be going on.
    pub ended_s: Option<f64>,
    /// Fragments of groups that are rebuilt or brought up to date; of Ceph, copies and shards of objects.
    pub objects: u64,
    /// Bytes that nodes read for it.
    pub bytes_read: u64,
    /// Bytes of fragments that nodes send for it.
    pub bytes_sent: u64,
    /// Bytes that nodes write.
    pub bytes_written: u64,
}

impl PhaseWorkload {
    /// A predicted figure, by the name that `score` gives it behind that of the phase.
    pub fn figure(&self, metric: &str) -> Option<f64> {
        match metric {
            "throughput_rps" => Some(self.throughput_rps),
            _ => self.response_time_ms.figure(metric),
        }
    }
}

impl OutageAnswer {
    /// Of what the replay found; `workload`: its name and what clients of it see, by its number, the phase's
    /// outcome and its length, s.
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
        });
        Self {
            phases: phases.collect(),
            phase_changes: changes
                .map(|(at_s, phase)| PhaseChange { at_s: *at_s, phase: phase.name() })
                .collect(),
            recoveries: recoveries.collect(),
            failed_requests: outcome.failed,
            bytes_lost: outcome.bytes_lost.get(),
        }
    }
}
