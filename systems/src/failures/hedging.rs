//! Hedged reads: if the answers to a read are late, the client asks one more node. This module determines the
//! delay after which it asks, and counts such reads.
//!
//! Source: Dean and Barroso 2013 ("The Tail at Scale"): a request is sent once more when the first has been
//! outstanding for longer than the 95th percentile. Simplified: a client uses the response times of its own
//! reads of a volume, regardless of their size. A superfluous request is not withdrawn.

use std::collections::VecDeque;

use foretell_algorithms::node::NO_CLIENT;
use foretell_scenarios::model::{Hedge, Scenario};
use foretell_sorted::SortedMap;
use foretell_units::{HostId, SimSpan};

/// Number of reads that a client remembers.
const REMEMBERED: usize = 1000;
/// Minimum number of reads above a percentile for an estimate.
const MIN_ABOVE: u64 = 10;

/// The state of hedged reads.
pub(crate) struct Hedging {
    /// Number of reads that asked one more node, by workload.
    sent: Vec<u64>,
    /// Response times seen, by volume and client, if the delay is a percentile.
    seen: SortedMap<(u32, HostId), Seen>,
}

/// Response times of a client's last reads, ns.
#[derive(Default)]
struct Seen {
    in_order: VecDeque<u64>,
    sorted: Vec<u64>,
}

impl Hedging {
    pub(super) fn of(scenario: &Scenario) -> Self {
        Self { sent: vec![0; scenario.workloads.len()], seen: SortedMap::new() }
    }

    /// How long a client waits for its nodes before it asks another, if it does at all.
    pub(crate) fn delay(&self, hedge: Hedge, volume: u32, client: HostId) -> Option<SimSpan> {
        match hedge {
            Hedge::After(delay) => Some(delay),
            Hedge::Quantile(share) => self.seen.get(&(volume, client))?.quantile(share),
        }
    }

    /// Records the response time of a client's read.
    pub(crate) fn note(&mut self, hedge: Hedge, volume: u32, client: HostId, took: SimSpan) {
        if matches!(hedge, Hedge::Quantile(_)) {
            self.seen.entry((volume, client)).or_default().add(took.as_ns());
        }
    }

    /// Counts a read of a workload that asks one more node.
    pub(crate) fn count(&mut self, workload: u32) {
        if workload != NO_CLIENT {
            self.sent[workload as usize] += 1;
        }
    }

    /// Number of reads that asked one more node, by workload.
    pub(crate) fn sent(&self) -> &[u64] {
        &self.sent
    }
}

impl Seen {
    fn add(&mut self, took: u64) {
        if self.in_order.len() == REMEMBERED
            && let Some(oldest) = self.in_order.pop_front()
        {
            let place = self.sorted.partition_point(|known| *known < oldest);
            self.sorted.remove(place);
        }
        self.in_order.push_back(took);
        let place = self.sorted.partition_point(|known| *known < took);
        self.sorted.insert(place, took);
    }

    /// A percentile, in thousandths; `None` while there are too few reads above it.
    fn quantile(&self, share: u16) -> Option<SimSpan> {
        let count = self.sorted.len() as u64;
        let below = (count * u64::from(share)).div_ceil(1000);
        if count - below < MIN_ABOVE {
            return None;
        }
        // reads that took exactly this long were in time
        Some(SimSpan::from_ns(self.sorted[below as usize - 1] + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_that_of_the_last_reads() {
        let mut seen = Seen::default();
        (0..199).for_each(|ns| seen.add(ns));
        assert_eq!(seen.quantile(950), None);
        seen.add(199);
        assert_eq!(seen.quantile(950), Some(SimSpan::from_ns(190)));
        // old response times are forgotten
        (0..1000).for_each(|ns| seen.add(5000 + ns));
        assert_eq!(seen.quantile(500), Some(SimSpan::from_ns(5500)));
        assert_eq!(seen.quantile(990), Some(SimSpan::from_ns(5990)));
    }
}
