//! What clients saw before, while and after hosts were down: phases, and a time line by the second.
//!
//! A request belongs to the phase and the second in which it ends.

use foretell_scenarios::model::Scenario;
use foretell_scenarios::outages::Event;
use foretell_systems::Health;
use foretell_units::{Bytes, HostId, SimSpan, SimTime};

use crate::tally::OpTally;

/// Phases of a run with events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// Nothing has happened yet.
    Before,
    /// A host is down or slow, or a fragment out of date, and nothing is being rebuilt.
    Degraded,
    /// Fragments are being rebuilt.
    Recovering,
    /// All is well again.
    After,
}

impl Phase {
    /// All, in the order in which a single failure goes through them.
    pub(crate) const ALL: [Self; 4] = [Self::Before, Self::Degraded, Self::Recovering, Self::After];

    /// As results name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Degraded => "degraded",
            Self::Recovering => "recovering",
            Self::After => "after",
        }
    }
}

/// Requests of a workload in a phase.
pub(crate) struct PhaseTally {
    pub(crate) completed: OpTally,
    pub(crate) failed: u64,
}

/// What a second saw.
#[derive(Clone, Copy, Default)]
pub(crate) struct Second {
    pub(crate) requests: u64,
    pub(crate) failed: u64,
    pub(crate) response_ns: u128,
    pub(crate) rebuilt: u64,
}

/// Events to come, and what clients see of them.
pub(crate) struct Outages {
    pub(crate) events: Vec<Event>,
    from: SimTime,
    phase: Phase,
    since: SimTime,
    has_begun: bool,
    slow: Vec<HostId>,
    /// When a phase began that was not the one before it.
    pub(crate) changes: Vec<(SimTime, Phase)>,
    /// By phase: how long it lasted, and what each workload saw.
    pub(crate) lasted: [SimSpan; 4],
    pub(crate) tallies: [Vec<PhaseTally>; 4],
    pub(crate) seconds: Vec<Second>,
    rebuilt: u64,
    /// Requests that failed in the measured time.
    pub(crate) failed: u64,
}

impl Outages {
    /// Of a scenario with events; measuring begins at `from`.
    pub(crate) fn of(scenario: &Scenario, from: SimTime) -> Option<Box<Self>> {
        let events = scenario.outages.as_ref()?.events.clone();
        let tally = |_| PhaseTally { completed: OpTally::new(), failed: 0 };
        let tallies = |_| scenario.workloads.iter().map(tally).collect();
        Some(Box::new(Self {
            events,
            from,
            phase: Phase::Before,
            since: from,
            has_begun: false,
            slow: Vec::new(),
            changes: vec![(from, Phase::Before)],
            lasted: [SimSpan::ZERO; 4],
            tallies: Phase::ALL.map(tallies),
            seconds: Vec::new(),
            rebuilt: 0,
            failed: 0,
        }))
    }

    /// One of the events has happened.
    pub(crate) fn begin(&mut self) {
        self.has_begun = true;
    }

    /// A host is slow from now on, or is not any more.
    pub(crate) fn set_slow(&mut self, host: HostId, is_slow: bool) {
        self.slow.retain(|other| *other != host);
        if is_slow {
            self.slow.push(host);
        }
    }

    /// Looks at the cluster after an event; `rebuilt`: bytes written by recoveries so far.
    pub(crate) fn look(&mut self, now: SimTime, health: Health, rebuilt: Bytes) {
        if !self.has_begun {
            return;
        }
        let phase = match health {
            Health::Recovering => Phase::Recovering,
            Health::Degraded => Phase::Degraded,
            Health::Whole if !self.slow.is_empty() => Phase::Degraded,
            Health::Whole => Phase::After,
        };
        if phase != self.phase {
            self.close(now);
            self.phase = phase;
            // a phase that ends as it begins was none
            self.changes.pop_if(|(began, _)| *began >= now);
            if self.changes.last().is_none_or(|(_, last)| *last != phase) {
                self.changes.push((now.max(self.from), phase));
            }
        }
        if rebuilt.get() > self.rebuilt {
            self.second(now).rebuilt += rebuilt.get() - self.rebuilt;
            self.rebuilt = rebuilt.get();
        }
    }

    /// The phase so far counts.
    pub(crate) fn close(&mut self, now: SimTime) {
        self.lasted[self.phase as usize] += now.saturating_since(self.since);
        self.since = now.max(self.since);
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
        (issued, size): (SimTime, Bytes),
        failed: bool,
    ) {
        if now < self.from {
            return;
        }
        let tally = &mut self.tallies[self.phase as usize][workload as usize];
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

    /// The seconds of a run that ends at `end`: also those in which nothing ended.
    pub(crate) fn fill_seconds(&mut self, end: SimTime) {
        let count = end.saturating_since(self.from).as_ns().div_ceil(1_000_000_000) as usize;
        if count > self.seconds.len() {
            self.seconds.resize(count, Second::default());
        }
    }
}
