//! The part of the truth for scenarios with events.

use foretell_scenarios::outages::Action;
use foretell_sorted::SortedMap;
use foretell_systems::{HoursLeft, RunPhase, Unit};
use foretell_units::{SimTime, is_zero};
use serde::Serialize;

use crate::cluster::Cluster;
use crate::outages::Second;
use crate::truth::{ResponseTime, response_time};

/// The effects of failures on a run.
#[derive(Clone, Debug, Serialize)]
pub struct OutageTruth {
    /// Phases that occurred in the measured time, in order: `before`, `degraded`, `recovering`, `after`. Repeated
    /// occurrences of a phase are counted together.
    pub phases: Vec<PhaseTruth>,
    /// The beginnings of phases, in order: each phase lasts until the next change.
    pub phase_changes: Vec<PhaseChange>,
    /// Events at hosts in the measured time, in order: the scenario's events, and their ends.
    pub happened: Vec<Happening>,
    /// Recoveries, in the order in which they began.
    pub recoveries: Vec<RecoveryTruth>,
    /// Requests that were given up in the measured time.
    pub failed_requests: u64,
    /// Requests that began to wait in the measured time because too few servers of a group were up: with Ceph fewer
    /// than `min_size`, with Ursa Minor fewer than `min_write`, or than a read needs. Only if there were any.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting_below_min_size: u64,
    /// Requests that were given up since the beginning, including the warm-up. Together with those completed and in
    /// flight they are the requests issued.
    pub requests_failed: u64,
    /// Bytes of volumes that are lost because too few fragments remain.
    pub bytes_lost: u64,
    /// With Swift: reads since the beginning in which a client got an older version than the one that was acknowledged
    /// last. Other systems have no such reads, and not this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale_reads: Option<u64>,
    /// Results of the measured time by the second.
    pub timeline: Vec<SecondTruth>,
}

/// The beginning of a phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseChange {
    /// Time of the beginning, from the end of the warm-up.
    pub at_s: f64,
    /// Name of the phase.
    pub phase: &'static str,
}

/// An event at a host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Happening {
    /// Time of the event, from the end of the warm-up.
    pub at_s: f64,
    /// The event's name in the scenario.
    pub event: String,
    /// `fail`, `return`, `add`, `drain`, `set`, `slow`, or `slow-ends`.
    pub what: &'static str,
    /// The host, or its disk, `osd1.disk0`, or its link, `osd1.link`; for `set`, the setting: `volume.mail.encoding`.
    pub host: String,
}

/// Clients' results in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseTruth {
    /// Name of the phase.
    pub phase: &'static str,
    /// Total length of the phase.
    pub seconds: f64,
    /// Results of workloads, by name.
    pub workloads: SortedMap<String, PhaseWorkload>,
}

/// Results of a workload in a phase.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseWorkload {
    /// Requests completed per second.
    pub throughput_rps: f64,
    /// Bytes read and written per second.
    pub throughput_bytes_per_s: f64,
    /// Response times, from issue to completion, of the requests completed in the phase.
    pub response_time_ms: ResponseTime,
    /// Requests completed.
    pub requests: u64,
    /// Requests given up.
    pub failed_requests: u64,
    /// Requests that began to wait because too few servers of a group were up. Only if there were any.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting_below_min_size: u64,
}

/// A recovery.
#[derive(Clone, Debug, Serialize)]
pub struct RecoveryTruth {
    /// The host, or its disk (`osd1.disk0`), whose failure made the recovery necessary; or the volume that is
    /// converted: `volume.mail`.
    pub host: String,
    /// `rebuild`: fragments are rebuilt on other hosts; `catch-up`: the host itself gets the writes that it
    /// missed; `rebalance`: fragments move because a host joins or leaves; `convert`: a volume gets another
    /// encoding or placement.
    pub kind: &'static str,
    /// When the first fragment was begun, from the end of the warm-up.
    pub began_s: f64,
    /// When the last fragment was done; `null`: the recovery had not ended when the run did.
    pub ended_s: Option<f64>,
    /// Number of fragments of groups that were rebuilt or brought up to date.
    pub objects: u64,
    /// Bytes that nodes read for the recovery.
    pub bytes_read: u64,
    /// Bytes of fragments that nodes sent for the recovery.
    pub bytes_sent: u64,
    /// Bytes that nodes wrote for the recovery.
    pub bytes_written: u64,
    /// Bytes written in a second, from its beginning to its end, or to that of the run.
    pub rate_bytes_per_s: f64,
    /// Share of the bytes to write that has been written.
    pub share_done: f64,
    /// Time that the rest takes at this rate, h; `null`: it cannot be told.
    pub hours_left: Option<HoursLeft>,
    /// Why `hours_left` cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

/// A second of the measured time.
#[derive(Clone, Debug, Serialize)]
pub struct SecondTruth {
    /// Start of the second, from the end of the warm-up.
    pub second: u64,
    /// Requests completed, of all workloads.
    pub requests: u64,
    /// Requests given up.
    pub failed_requests: u64,
    /// Mean response time of the completed requests; `null`: there were none.
    pub mean_ms: Option<f64>,
    /// Bytes that recoveries wrote.
    pub recovered_bytes: u64,
}

impl OutageTruth {
    /// The effects of failures on a run that has ended, if its scenario has events.
    pub(crate) fn of(cluster: &mut Cluster) -> Option<Self> {
        let now = cluster.engine.agenda.now();
        let mark = cluster.mark_at();
        let may_be_stale = cluster.scenario.system.traits().reads_may_be_stale();
        let outages = cluster.outages.as_mut()?;
        outages.phases.close(now);
        outages.fill_seconds(now);
        let names: Vec<String> =
            cluster.scenario.workloads.iter().map(|workload| workload.name.clone()).collect();
        let mut phases = Vec::new();
        for phase in RunPhase::ALL {
            let seconds = outages.phases.lasted(phase).as_secs_f64();
            if seconds == 0.0 {
                continue;
            }
            let tallies = names.iter().cloned().zip(&outages.tallies[phase.index()]);
            let of = |(name, tally): (String, &crate::outages::PhaseTally)| {
                let done = &tally.completed;
                let mean = done.response_ns as f64 / 1e6 / (done.requests as f64).max(1.0);
                let workload = PhaseWorkload {
                    throughput_rps: done.requests as f64 / seconds,
                    throughput_bytes_per_s: done.bytes as f64 / seconds,
                    response_time_ms: response_time(mean, &done.histogram, done.max.as_ms_f64()),
                    requests: done.requests,
                    failed_requests: tally.failed,
                    waiting_below_min_size: tally.below_min_size,
                };
                (name, workload)
            };
            let workloads = tallies.map(of).collect();
            phases.push(PhaseTruth { phase: phase.name(), seconds, workloads });
        }
        let since = |time: SimTime| time.saturating_since(mark).as_secs_f64();
        let of_unit = |Unit { host, disk }: Unit| {
            let disk = disk.map(|disk| format!(".disk{disk}")).unwrap_or_default();
            format!("{}{disk}", cluster.scenario.host(host).name)
        };
        let settings = cluster.scenario.outages.iter().flat_map(|outages| &outages.settings);
        let settings: Vec<_> = settings.collect();
        let changes = outages.phases.changes().iter();
        let phase_changes = changes
            .map(|(began, phase)| PhaseChange { at_s: since(*began), phase: phase.name() })
            .collect();
        let happened = outages.events.iter().filter(|event| mark + event.at <= now).map(|event| {
            let what = event.action.name();
            let at_s = event.at.as_secs_f64();
            let host = match event.action {
                Action::Set { number } => settings[number as usize].path.clone(),
                _ => event.part.of(&cluster.scenario.host(event.host).name),
            };
            Happening { at_s, event: event.name.clone(), what, host }
        });
        let happened = happened.collect();
        let recoveries = cluster.protocol.recoveries().iter().map(|one| {
            let progress = cluster.protocol.progress(one, now);
            RecoveryTruth {
                host: match cluster.protocol.volume_of(one) {
                    Some(volume) => format!("volume.{}", cluster.scenario.volume(volume).name),
                    None => of_unit(cluster.protocol.unit(one)),
                },
                kind: one.kind.name(),
                began_s: since(one.began),
                ended_s: one.ended.map(since),
                objects: one.objects,
                bytes_read: one.read.get(),
                bytes_sent: one.sent.get(),
                bytes_written: one.written.get(),
                rate_bytes_per_s: progress.rate_bytes_per_s,
                share_done: progress.share_done,
                hours_left: progress.hours_left.ok(),
                why: progress.hours_left.err(),
            }
        });
        let second = |(second, of): (u64, &Second)| SecondTruth {
            second,
            requests: of.requests,
            failed_requests: of.failed,
            mean_ms: (of.requests > 0).then(|| of.response_ns as f64 / 1e6 / of.requests as f64),
            recovered_bytes: of.rebuilt,
        };
        let waiting = outages.tallies.iter().flatten().map(|tally| tally.below_min_size);
        Some(Self {
            waiting_below_min_size: waiting.sum(),
            phases,
            phase_changes,
            happened,
            recoveries: recoveries.collect(),
            failed_requests: outages.failed,
            requests_failed: cluster.tallies.iter().map(|tally| tally.failed).sum(),
            bytes_lost: cluster.protocol.bytes_lost().get(),
            stale_reads: may_be_stale.then(|| cluster.protocol.stale_reads()),
            timeline: (0..).zip(&outages.seconds).map(second).collect(),
        })
    }
}
