//! The cost of activity tracking on hosts: processor time for each record, and the shipping of batches.

use foretell_ati::{KindSet, RecordKind, Requests, Selection};
use foretell_scenarios::model::{Scenario, TrackingCost};
use foretell_units::SimSpan;

use super::SEED;

/// Costs of the records that hosts post.
#[derive(Debug)]
pub(super) struct Tracking {
    cost: Option<TrackingCost>,
    kinds: KindSet,
    /// Share of the requests that leave records.
    share: f64,
    hosts: Vec<Account>,
    due: Vec<u32>,
    /// Whether posts are free at present.
    pub(super) paused: bool,
}

#[derive(Clone, Copy, Debug)]
struct Account {
    post_ns: f64,
    debt_ns: f64,
    unshipped: f64,
}

impl Tracking {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let tracking = &scenario.tracking;
        let selection: Selection = tracking.record.parse().unwrap_or(Selection::ALL);
        let kinds = if tracking.kinds.is_empty() {
            KindSet::ALL
        } else {
            tracking.kinds.iter().filter_map(|name| name.parse::<RecordKind>().ok()).collect()
        };
        let share = match selection.requests() {
            Requests::All => 1.0,
            Requests::OneIn(k) => 1.0 / f64::from(k.get()),
            Requests::None => 0.0,
        };
        let batch = tracking.cost.as_ref().map_or(0.0, |cost| cost.batch.get() as f64);
        let account = |host: &foretell_scenarios::model::Host| Account {
            post_ns: host.cpu.post.as_ns() as f64,
            debt_ns: 0.0,
            // the fill level of the first batch at the beginning of the replay is unknown
            unshipped: batch * SEED.stream(&format!("{}/records", host.name)).unit(),
        };
        Self {
            cost: tracking.cost.clone(),
            kinds,
            share,
            hosts: scenario.hosts.iter().map(account).collect(),
            due: Vec::new(),
            paused: false,
        }
    }

    /// A host posts a record.
    #[inline]
    pub(super) fn post(&mut self, host: u32, kind: RecordKind) {
        let Some(cost) = &self.cost else { return };
        if self.paused || !self.kinds.contains(kind) {
            return;
        }
        let account = &mut self.hosts[host as usize];
        account.debt_ns += account.post_ns * self.share;
        account.unshipped += cost.record.get() as f64 * self.share;
        if account.unshipped >= cost.batch.get() as f64 {
            account.unshipped = 0.0;
            self.due.push(host);
        }
    }

    /// Takes the time that a host's posts have cost since the last call.
    pub(super) fn take_debt(&mut self, host: u32) -> SimSpan {
        SimSpan::from_ns(std::mem::take(&mut self.hosts[host as usize].debt_ns) as u64)
    }

    /// A host with a batch to ship.
    pub(super) fn next_due(&mut self) -> Option<u32> {
        self.due.pop()
    }

    pub(super) fn cost(&self) -> Option<&TrackingCost> {
        self.cost.as_ref()
    }
}
