//! Effects of hosts that fail, return or are slow on the replayed cluster and its clients.
//!
//! The state machines are those of the storage system itself ([`foretell_systems`]). Only the machines on
//! which they run are models. As in a simulation, a request belongs to the phase in which it ends. The
//! records do not show when a host sent its last heartbeat before it failed, so the next heartbeat is assumed
//! to be due half an interval after the failure.

use foretell_scenarios::outages::{Action, Event as OutageEvent, Part};
use foretell_systems::{Done, Progress, RunPhase, RunPhases, Unit};
use foretell_units::{Bytes, SimTime};

use super::agenda::Event;
use super::{Engine, Replay};
use crate::answer::ResponseTimeMs;

/// Future events, and what clients see of them.
pub(super) struct Outages<'a> {
    events: &'a [OutageEvent],
    /// When the measured time began.
    from: SimTime,
    phases: RunPhases,
    /// By phase and workload.
    tallies: [Vec<PhaseTally>; 4],
}

/// Requests of a workload that ended in a phase.
#[derive(Clone, Debug, Default)]
struct PhaseTally {
    responses_ns: Vec<u64>,
    bytes: u64,
    failed: u64,
    below_min_size: u64,
}

/// Effects of events on the replayed cluster.
#[derive(Clone, Debug)]
pub(crate) struct OutageOutcome {
    /// Phases with nonzero length, in order.
    pub(crate) phases: Vec<PhaseOutcome>,
    /// When phases began, s from the beginning of the measured time.
    pub(crate) phase_changes: Vec<(f64, RunPhase)>,
    /// Recoveries, in the order in which they began.
    pub(crate) recoveries: Vec<RecoveryOutcome>,
    /// Number of failed requests.
    pub(crate) failed: u64,
    /// Number of requests that waited because too few servers of a group were up.
    pub(crate) below_min_size: u64,
    /// Bytes of volumes that are lost because too few fragments remain.
    pub(crate) bytes_lost: Bytes,
    /// Reads that got an older version than the one acknowledged last; `None`: there are no such reads.
    pub(crate) stale_reads: Option<u64>,
}

/// A phase.
#[derive(Clone, Debug)]
pub(crate) struct PhaseOutcome {
    pub(crate) phase: RunPhase,
    pub(crate) seconds: f64,
    /// By workload.
    pub(crate) workloads: Vec<PhaseWorkloadOutcome>,
}

/// Figures of a workload in a phase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PhaseWorkloadOutcome {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) failed: u64,
    pub(crate) below_min_size: u64,
    pub(crate) response_ms: ResponseTimeMs,
}

/// A recovery.
#[derive(Clone, Debug)]
pub(crate) struct RecoveryOutcome {
    /// The failed host or disk (`osd1.disk0`) that made it necessary, or a volume: `volume.mail`.
    pub(crate) host: String,
    pub(crate) kind: &'static str,
    /// From the beginning of the measured time, s.
    pub(crate) began_s: f64,
    pub(crate) ended_s: Option<f64>,
    pub(crate) objects: u64,
    pub(crate) read: Bytes,
    pub(crate) sent: Bytes,
    pub(crate) written: Bytes,
    pub(crate) progress: Progress,
}

impl<'a> Outages<'a> {
    /// `None` for a scenario without events.
    pub(super) fn of(engine: &Engine<'a>, from: SimTime) -> Option<Box<Self>> {
        let scenario = engine.scenario;
        let events = &scenario.outages.as_ref()?.events[..];
        let nothing = || vec![PhaseTally::default(); scenario.workloads.len()];
        let tallies = RunPhase::ALL.map(|_| nothing());
        Some(Box::new(Self { events, from, phases: RunPhases::new(from), tallies }))
    }
}

impl Replay<'_> {
    /// Puts the scenario's events on the agenda.
    pub(super) fn schedule_events(&mut self) {
        let Some(outages) = &self.outages else { return };
        for (number, event) in (0..).zip(outages.events) {
            self.engine.agenda.schedule(outages.from + event.at, Event::Happens { number });
        }
    }

    /// One of the scenario's events takes place.
    pub(super) fn happens(&mut self, number: u32) {
        let Self { protocol, engine, outages, .. } = self;
        let outages = outages.as_mut().expect("there are events");
        outages.phases.begin();
        let OutageEvent { host, part, action, .. } = outages.events[number as usize];
        // to the other hosts, a host that is cut off is the same as a failed one
        protocol.happens(engine, Unit { host, disk: part.disk() }, action);
        match action {
            Action::Fail { .. } if part == Part::Link => engine.cut_off.push(host),
            Action::Return if part == Part::Link => engine.cut_off.retain(|other| *other != host),
            Action::Fail { .. } | Action::Add | Action::Drain | Action::Set { .. } => {}
            Action::Return => {
                // its flusher handles the work that has waited in the meantime
                if let Some((node, mut around)) = engine.node(host.0) {
                    node.tick(&mut around);
                }
            }
            Action::Slow { factor } => {
                match part {
                    Part::Whole => {
                        engine.slow.retain(|(other, _)| *other != host);
                        if factor > 1.0 {
                            engine.slow.push((host, factor));
                        }
                    }
                    Part::Disk(disk) => {
                        let machine = engine.links.machine(host);
                        let (now, agenda) = (engine.now, &mut engine.agenda);
                        engine.disks[machine.index()]
                            .slow_down(now, agenda, machine.0, disk, factor);
                    }
                    Part::Link => {
                        let rate = engine.scenario.host(host).nic.rate.slower(factor);
                        engine.links.set_rate(host, rate);
                    }
                }
                outages.phases.set_slow((host, part), factor > 1.0);
            }
        }
    }

    /// Updates the phase from the cluster's health after an event of the replay.
    pub(super) fn look_at_health(&mut self) {
        if let Some(outages) = &mut self.outages {
            outages.phases.look(self.engine.now, self.protocol.health());
            while let Some(workload) = self.protocol.take_below_min_size() {
                if self.engine.now >= outages.from {
                    let phase = outages.phases.phase().index();
                    outages.tallies[phase][workload as usize].below_min_size += 1;
                }
            }
        }
    }

    /// Counts a request that has ended.
    pub(super) fn note_end(&mut self, done: &Done) {
        let Some(outages) = &mut self.outages else { return };
        if self.engine.now < outages.from {
            return;
        }
        let phase = outages.phases.phase().index();
        let tally = &mut outages.tallies[phase][done.issue.workload as usize];
        if done.failed {
            tally.failed += 1;
        } else {
            tally.responses_ns.push((self.engine.now - done.issued).as_ns());
            tally.bytes += done.issue.size.get();
        }
    }

    /// The effects of events, at the end of the replay.
    pub(super) fn outage_outcome(&mut self) -> Option<OutageOutcome> {
        let Self { protocol, engine, outages, .. } = self;
        let outages = outages.as_mut()?;
        outages.phases.close(engine.now);
        let may_be_stale = engine.scenario.system.traits().reads_may_be_stale();
        let since = |at: SimTime| at.saturating_since(outages.from).as_secs_f64();
        let seen = |tally: &mut PhaseTally| PhaseWorkloadOutcome {
            requests: tally.responses_ns.len() as u64,
            bytes: tally.bytes,
            failed: tally.failed,
            below_min_size: tally.below_min_size,
            response_ms: ResponseTimeMs::of(std::mem::take(&mut tally.responses_ns)),
        };
        let mut phases = Vec::new();
        for phase in RunPhase::ALL {
            let seconds = outages.phases.lasted(phase).as_secs_f64();
            if seconds > 0.0 {
                let workloads = outages.tallies[phase.index()].iter_mut().map(seen).collect();
                phases.push(PhaseOutcome { phase, seconds, workloads });
            }
        }
        let name = |Unit { host, disk }: Unit| {
            let disk = disk.map(|disk| format!(".disk{disk}")).unwrap_or_default();
            format!("{}{disk}", engine.scenario.host(host).name)
        };
        let recoveries = protocol.recoveries().iter().map(|one| RecoveryOutcome {
            host: match protocol.volume_of(one) {
                Some(volume) => format!("volume.{}", engine.scenario.volume(volume).name),
                None => name(protocol.unit(one)),
            },
            kind: one.kind.name(),
            began_s: since(one.began),
            ended_s: one.ended.map(since),
            objects: one.objects,
            read: one.read,
            sent: one.sent,
            written: one.written,
            progress: protocol.progress(one, engine.now),
        });
        let tallies = outages.tallies.iter().flatten();
        Some(OutageOutcome {
            phases,
            phase_changes: outages
                .phases
                .changes()
                .iter()
                .map(|(at, p)| (since(*at), *p))
                .collect(),
            recoveries: recoveries.collect(),
            failed: tallies.clone().map(|tally| tally.failed).sum(),
            below_min_size: tallies.map(|tally| tally.below_min_size).sum(),
            bytes_lost: protocol.bytes_lost(),
            stale_reads: may_be_stale.then(|| protocol.stale_reads()),
        })
    }
}
