//! Collectors: the output of dstat on each host each second, and the measurements of a benchmark's drivers.
//!
//! Each host's collector wakes once in each second of the host's own clock and posts the 32 metrics of
//! `foretell_metrics` (`host` says how each is derived). The clocks of hosts have the errors that NTP leaves,
//! collectors do not start at the same moment, and each wakes slightly late (Hsu et al. 2016, IV-A:
//! "inefficiency of data collectors, system clock skews"). Drivers count the requests that complete in each
//! interval of 5 s, as COSBench does. Collectors only observe: they do not change the run.

mod clients;
mod host;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_metrics::Collected;
use foretell_scenarios::model::{self, Scenario};
use foretell_units::{Bytes, HostId, Op, SimSpan, SimTime};

use crate::cpu::Cpu;
use crate::node::Node;
use clients::Drivers;
use host::HostMeter;

pub(crate) use host::Work;

/// The collectors of a run.
pub(crate) struct Collectors {
    hosts: Vec<HostMeter>,
    drivers: Drivers,
    /// Next wake-up of each collector, by host; [`DRIVERS`] stands for the drivers.
    due: BinaryHeap<Reverse<(SimTime, u32)>>,
    collected: Collected,
}

/// Stands for the drivers in place of a host.
const DRIVERS: u32 = u32::MAX;

impl Collectors {
    /// The collectors of a scenario that asks for metrics.
    pub(crate) fn new(scenario: &Scenario, settings: &model::Metrics) -> Self {
        let count = scenario.hosts.len();
        let hosts: Vec<HostMeter> = scenario
            .hosts
            .iter()
            .map(|host| {
                let stream =
                    |what: &str| scenario.seed.stream(&format!("metrics/{}{what}", host.name));
                HostMeter::new(host, count, settings, stream(""), stream("/ticks"))
            })
            .collect();
        let drivers = Drivers::new(scenario);
        let mut due: BinaryHeap<_> =
            (0..).zip(&hosts).map(|(number, host)| Reverse((host.due(), number))).collect();
        due.push(Reverse((drivers.due(), DRIVERS)));
        Self { hosts, drivers, due, collected: Collected::default() }
    }

    /// Time of the next collector's wake-up.
    pub(crate) fn next_due(&self) -> SimTime {
        self.due.peek().expect("collectors wake again and again").0.0
    }

    /// The next collector posts. `parts`: a host's processor and storage.
    pub(crate) fn collect<'a, T: Copy + 'a>(
        &mut self,
        parts: impl FnOnce(HostId) -> (&'a mut Cpu<T>, Option<&'a Node>),
    ) {
        let Reverse((now, number)) = self.due.pop().expect("collectors wake again and again");
        let next = if number == DRIVERS {
            self.drivers.collect(now, &mut self.collected.clients);
            self.drivers.due()
        } else {
            let (cpu, node) = parts(HostId(number));
            let meter = &mut self.hosts[number as usize];
            let sample = meter.sample(now, number, cpu, node);
            self.collected.hosts.push(sample);
            meter.due()
        };
        self.due.push(Reverse((next, number)));
    }

    /// A host is given work.
    pub(crate) fn work(&mut self, host: HostId, work: Work) {
        self.hosts[host.index()].give(work);
    }

    /// A host's processor switches to another thread, or becomes idle.
    pub(crate) fn switched(&mut self, host: HostId) {
        self.hosts[host.index()].switched();
    }

    /// A host has `cores` idle cores from `now` on.
    pub(crate) fn idle(&mut self, now: SimTime, host: HostId, cores: u32) {
        self.hosts[host.index()].set_idle(now, cores);
    }

    /// A thread of a host begins to wait for a disk.
    pub(crate) fn waits(&mut self, now: SimTime, host: HostId) {
        self.hosts[host.index()].waits(now, 1);
    }

    /// A thread of a host stops waiting.
    pub(crate) fn waits_no_more(&mut self, now: SimTime, host: HostId) {
        self.hosts[host.index()].waits(now, -1);
    }

    /// A host sends a message of `wire` bytes on the wire to another.
    pub(crate) fn sent(&mut self, host: HostId, to: HostId, wire: Bytes) {
        self.hosts[host.index()].sent(to, wire);
    }

    /// A host has received a message.
    pub(crate) fn received(&mut self, host: HostId, from: HostId, wire: Bytes) {
        self.hosts[host.index()].received(from, wire);
    }

    /// A client's request is complete.
    pub(crate) fn completed(
        &mut self,
        workload: u32,
        client: HostId,
        op: Op,
        size: Bytes,
        response: SimSpan,
    ) {
        self.drivers.completed(workload, client, op, size, response);
    }

    /// Returns all samples and keeps none.
    pub(crate) fn take(&mut self) -> Collected {
        std::mem::take(&mut self.collected)
    }
}
