//! Clients' results before, during and after outages of hosts: for each phase, and for each second.
//!
//! A request counts in the phase and the second in which it ends.

use foretell_scenarios::model::Scenario;
use foretell_scenarios::outages::{Event, Part};
use foretell_systems::{Health, RunPhase, RunPhases};
use foretell_units::{Bytes, HostId, SimTime};

use crate::tally::OpTally;

/// Requests of a workload in a phase.
pub(crate) struct PhaseTally {
    pub(crate) completed: OpTally,
    pub(crate) failed: u64,
    /// Requests that began to wait because too few servers of a group were up.
    pub(crate) below_min_size: u64,
}

/// The results of one second.
#[derive(Clone, Copy, Default)]
pub(crate) struct Second {
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) response_ns: u128,
    pub(crate) rebuilt: u64,
}

/// Events to come, and their effects on clients.
pub(crate) struct Outages {
    pub(crate) events: Vec<Event>,
    from: SimTime,
    pub(crate) phases: RunPhases,
    /// Results of each workload, by phase.
    pub(crate) tallies: [Vec<PhaseTally>; 4],
    pub(crate) seconds: Vec<Second>,
    rebuilt: u64,
    /// Requests that failed during the measured time.
    pub(crate) failed: u64,
}

impl Outages {
    /// The outages of a scenario with events; measuring begins at `from`.
    pub(crate) fn of(scenario: &Scenario, from: SimTime) -> Option<Box<Self>> {
        let events = scenario.outages.as_ref()?.events.clone();
        let tally = |_| PhaseTally { completed: OpTally::new(), failed: 0, below_min_size: 0 };
        let tallies = |_| scenario.workloads.iter().map(tally).collect();
        Some(Box::new(Self {
            events,
            from,
            phases: RunPhases::new(from),
            tallies: RunPhase::ALL.map(tallies),
            seconds: Vec::new(),
            rebuilt: 0,
            failed: 0,
        }))
    }

    /// One of the events has occurred.
    pub(crate) fn begin(&mut self) {
        self.phases.begin();
    }

    /// Records that a part of a host is slow from now on, or no longer is.
    pub(crate) fn set_slow(&mut self, what: (HostId, Part), is_slow: bool) {
        self.phases.set_slow(what, is_slow);
    }

    /// Examines the cluster after an event; `rebuilt`: bytes written by recoveries so far.
    pub(crate) fn look(&mut self, now: SimTime, health: Health, rebuilt: Bytes) {
        if !self.phases.has_begun() {
            return;
        }
        self.phases.look(now, health);
        if rebuilt.get() > self.rebuilt {
            self.second(now).rebuilt += rebuilt.get() - self.rebuilt;
            self.rebuilt = rebuilt.get();
        }
    }

    /// A request of a workload begins to wait because too few servers of a group are up.
    pub(crate) fn begins_to_wait(&mut self, now: SimTime, workload: u32) {
        if now >= self.from {
            self.tallies[self.phases.phase().index()][workload as usize].below_min_size += 1;
        }
    }

    fn second(&mut self, now: SimTime) -> &mut Second {
        let index = (now.saturating_since(self.from).as_ns() / 1_000_000_000) as usize;
        if index >= self.seconds.len() {
            self.seconds.resize(index + 1, Second::default());
        }
        &mut self.seconds[index]
    }

    /// A request of a workload has ended.
    pub(crate) fn ended(
        &mut self,
        now: SimTime,
        workload: u32,
        issued: SimTime,
        size: Bytes,
        failed: bool,
    ) {
        if now < self.from {
            return;
        }
        let tally = &mut self.tallies[self.phases.phase().index()][workload as usize];
        if failed {
            tally.failed += 1;
            self.failed += 1;
            self.second(now).failed += 1;
            return;
        }
        let response = now - issued;
        tally.completed.add(response, size);
        let second = self.second(now);
        second.requests += 1;
        second.response_ns += u128::from(response.as_ns());
    }

    /// Adds the seconds up to `end`, where the run ends, including those in which no request ended.
    pub(crate) fn fill_seconds(&mut self, end: SimTime) {
        let count = end.saturating_since(self.from).as_ns().div_ceil(1_000_000_000) as usize;
        if count > self.seconds.len() {
            self.seconds.resize(count, Second::default());
        }
    }
}
