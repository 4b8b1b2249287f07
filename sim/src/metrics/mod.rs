//! Collectors: what dstat would print on each host each second, and what a benchmark's drivers see.
//!
//! Each host's collector wakes once in each second of the host's own clock and posts the 32 metrics of
//! `foretell_metrics` (see `host` for what each is derived from). Hosts' clocks are off by what NTP
//! leaves; collectors were not started at the same moment; each wakes a little late (Hsu et al. 2016, IV-A:
//! "inefficiency of data collectors, system clock skews"). Drivers count the requests that complete in
//! each interval of 5 s, as COSBench does. Collectors only look: a run with them is the same run.

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
    /// When each collector wakes next, by host; [`DRIVERS`] for the drivers.
    due: BinaryHeap<Reverse<(SimTime, u32)>>,
    collected: Collected,
}

/// Stands for the drivers where a host is named.
const DRIVERS: u32 = u32::MAX;

impl Collectors {
    /// Those of a scenario that asks for them.
    pub(crate) fn new(scenario: &Scenario, settings: &model::Metrics) -> Self {
        let count = scenario.hosts.len();
        let hosts: Vec<HostMeter> = scenario
            .hosts
            .iter()
            .map(|host| {
                let stream =
                    |what: &str| scenario.seed.stream(&format!("metrics/{}{what}", host.name));
                HostMeter::new(host, count, settings, (stream(""), stream("/ticks")))
            })
            .collect();
        let drivers = Drivers::new(scenario);
        let mut due: BinaryHeap<_> =
            (0..).zip(&hosts).map(|(number, host)| Reverse((host.due(), number))).collect();
        due.push(Reverse((drivers.due(), DRIVERS)));
        Self { hosts, drivers, due, collected: Collected::default() }
    }

    /// When the next collector wakes.
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

    /// A host's processor takes up another thread, or none.
    pub(crate) fn switched(&mut self, host: HostId) {
        self.hosts[host.index()].switched();
    }

    /// A host has that many idle cores from `now` on.
    pub(crate) fn idle(&mut self, now: SimTime, host: HostId, cores: u32) {
        self.hosts[host.index()].set_idle(now, cores);
    }

    /// A thread of a host begins to wait for a disk.
    pub(crate) fn waits(&mut self, now: SimTime, host: HostId) {
        self.hosts[host.index()].waits(now, 1);
    }

    /// A thread of a host waits no more.
    pub(crate) fn waits_no_more(&mut self, now: SimTime, host: HostId) {
        self.hosts[host.index()].waits(now, -1);
    }

    /// A host sends a message, of so many bytes on the wire, to another.
    pub(crate) fn sent(&mut self, host: HostId, to: HostId, wire: Bytes) {
        self.hosts[host.index()].sent(to, wire);
    }

    /// A host has received one.
    pub(crate) fn received(&mut self, host: HostId, from: HostId, wire: Bytes) {
        self.hosts[host.index()].received(from, wire);
    }

    /// A client's request is complete.
    pub(crate) fn completed(
        &mut self,
        workload: u32,
        client: HostId,
        op: Op,
        (size, response): (Bytes, SimSpan),
    ) {
        self.drivers.completed(workload, client, op, size, response);
    }

    /// All that was posted; nothing is left here.
    pub(crate) fn take(&mut self) -> Collected {
        std::mem::take(&mut self.collected)
    }
}
