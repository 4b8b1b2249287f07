//! Phases of a run with events, as named in results: before, degraded, recovering, after.
//!
//! An engine checks the cluster's [`Health`] after each of its events. The phases follow from that and from
//! the hosts that are slow, so a simulation and a prediction define them in the same way.

use foretell_scenarios::outages::Part;
use foretell_units::{HostId, SimSpan, SimTime};

use super::Health;

/// A phase of a run with events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RunPhase {
    /// No event has occurred yet.
    Before,
    /// A host is down or slow, or a fragment is stale, and nothing is being rebuilt.
    Degraded,
    /// Fragments are being rebuilt.
    Recovering,
    /// Everything is normal again.
    After,
}

impl RunPhase {
    /// All phases, in the order in which a single failure passes through them.
    pub const ALL: [Self; 4] = [Self::Before, Self::Degraded, Self::Recovering, Self::After];

    /// Name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Degraded => "degraded",
            Self::Recovering => "recovering",
            Self::After => "after",
        }
    }

    /// Index in [`RunPhase::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// The current phase of a run, and the length of each phase so far.
#[derive(Clone, Debug)]
pub struct RunPhases {
    from: SimTime,
    phase: RunPhase,
    since: SimTime,
    has_begun: bool,
    slow: Vec<(HostId, Part)>,
    changes: Vec<(SimTime, RunPhase)>,
    lasted: [SimSpan; 4],
}

impl RunPhases {
    /// Phases of a run whose measuring begins at `from`.
    pub fn new(from: SimTime) -> Self {
        let phase = RunPhase::Before;
        Self {
            from,
            phase,
            since: from,
            has_begun: false,
            slow: Vec::new(),
            changes: vec![(from, phase)],
            lasted: [SimSpan::ZERO; 4],
        }
    }

    /// One of the events has occurred.
    pub fn begin(&mut self) {
        self.has_begun = true;
    }

    /// Records that a part of a host is slow from now on, or no longer is.
    pub fn set_slow(&mut self, what: (HostId, Part), is_slow: bool) {
        self.slow.retain(|other| *other != what);
        if is_slow {
            self.slow.push(what);
        }
    }

    /// Updates the phase from the cluster's health after an event of the engine. Times must not decrease.
    pub fn look(&mut self, now: SimTime, health: Health) {
        if !self.has_begun {
            return;
        }
        let phase = match health {
            Health::Recovering => RunPhase::Recovering,
            Health::Degraded => RunPhase::Degraded,
            Health::Whole if !self.slow.is_empty() => RunPhase::Degraded,
            Health::Whole => RunPhase::After,
        };
        if phase == self.phase {
            return;
        }
        self.close(now);
        self.phase = phase;
        // a phase of zero length does not count
        self.changes.pop_if(|(began, _)| *began >= now);
        if self.changes.last().is_none_or(|(_, last)| *last != phase) {
            self.changes.push((now.max(self.from), phase));
        }
    }

    /// Counts the current phase up to now.
    pub fn close(&mut self, now: SimTime) {
        self.lasted[self.phase.index()] += now.saturating_since(self.since);
        self.since = now.max(self.since);
    }

    /// Whether an event has occurred.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The current phase.
    pub fn phase(&self) -> RunPhase {
        self.phase
    }

    /// The times at which the phase changed, with the new phase.
    pub fn changes(&self) -> &[(SimTime, RunPhase)] {
        &self.changes
    }

    /// Total length of a phase up to the last close.
    pub fn lasted(&self, phase: RunPhase) -> SimSpan {
        self.lasted[phase.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_each_other_and_their_times_add_up() {
        let at = |s: u64| SimTime::ZERO + SimSpan::from_secs_f64(s as f64);
        let mut phases = RunPhases::new(at(10));
        phases.look(at(12), Health::Degraded);
        assert_eq!(phases.phase(), RunPhase::Before, "nothing has happened");
        phases.begin();
        for (second, health) in
            [(15, Health::Degraded), (20, Health::Recovering), (26, Health::Whole)]
        {
            phases.look(at(second), health);
        }
        phases.close(at(30));
        // 10 to 15, 15 to 20, 20 to 26, 26 to 30
        let seconds = RunPhase::ALL.map(|phase| phases.lasted(phase).as_secs_f64());
        assert_eq!(seconds.map(|s| s as u64), [5, 5, 6, 4]);
        assert_eq!(phases.changes().len(), 4);
    }

    #[test]
    fn a_slow_host_degrades_a_whole_cluster() {
        let mut phases = RunPhases::new(SimTime::ZERO);
        phases.begin();
        let (host, disk) = ((HostId(3), Part::Whole), (HostId(3), Part::Disk(0)));
        phases.set_slow(host, true);
        phases.set_slow(disk, true);
        phases.look(SimTime::from_ns(5), Health::Whole);
        assert_eq!(phases.phase(), RunPhase::Degraded);
        phases.set_slow(host, false);
        phases.look(SimTime::from_ns(7), Health::Whole);
        assert_eq!(phases.phase(), RunPhase::Degraded, "its disk is still slow");
        phases.set_slow(disk, false);
        phases.look(SimTime::from_ns(9), Health::Whole);
        assert_eq!(phases.phase(), RunPhase::After);
    }
}
