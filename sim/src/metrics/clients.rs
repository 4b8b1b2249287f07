//! The measurements of workload drivers: requests, bytes and response times of each interval.

use foretell_metrics::ClientSample;
use foretell_scenarios::model::Scenario;
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, HostId, Op, SimSpan, SimTime};

/// Reporting interval of COSBench's drivers (Hsu et al. 2016, IV-A).
const INTERVAL: SimSpan = SimSpan::from_secs(5);

/// All drivers: one for each workload and client.
pub(super) struct Drivers {
    /// Tallies by workload and client.
    tallies: SortedMap<(u32, u32), [Tally; 2]>,
    due: SimTime,
}

/// Requests of one direction in the current interval.
#[derive(Clone, Copy, Default)]
struct Tally {
    operations: u64,
    bytes: u64,
    response_ns: u64,
}

impl Drivers {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let workloads = (0..).zip(&scenario.workloads);
        let of = |(number, workload): (u32, &foretell_scenarios::model::Workload)| {
            workload.clients.iter().map(|client| (number, client.0)).collect::<Vec<_>>()
        };
        let tallies = workloads.flat_map(of).map(|key| (key, [Tally::default(); 2])).collect();
        Self { tallies, due: SimTime::ZERO + INTERVAL }
    }

    /// End of the current interval.
    pub(super) fn due(&self) -> SimTime {
        self.due
    }

    pub(super) fn completed(
        &mut self,
        workload: u32,
        client: HostId,
        op: Op,
        size: Bytes,
        response: SimSpan,
    ) {
        let tally = &mut self.tallies.entry((workload, client.0)).or_default()[op as usize];
        tally.operations += 1;
        tally.bytes += size.get();
        // a store's integers have 63 bits
        let sum = tally.response_ns.saturating_add(response.as_ns());
        tally.response_ns = sum.min(i64::MAX as u64);
    }

    /// Ends the interval: adds a sample for each driver and direction, also for those without
    /// requests.
    pub(super) fn collect(&mut self, now: SimTime, samples: &mut Vec<ClientSample>) {
        for (&(workload, client), tallies) in &mut self.tallies {
            for (tally, is_write) in tallies.iter_mut().zip([false, true]) {
                let Tally { operations, bytes, response_ns } = std::mem::take(tally);
                samples.push(ClientSample {
                    ts_ns: now.as_ns().cast_signed(),
                    interval_ns: INTERVAL.as_ns().cast_signed(),
                    workload,
                    client,
                    is_write,
                    operations,
                    bytes,
                    response_ns,
                });
            }
        }
        self.due = now + INTERVAL;
    }
}
