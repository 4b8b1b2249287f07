//! Posting of activity records, and its cost on the simulated hosts.
//!
//! As in Thereska et al. 2006, III-B and IV-D, records are posted on the critical path, buffered in 20 MB of
//! each host's memory, and shipped in batches to the host that keeps the Activity DB. The time of posting is
//! charged to the task that the host runs next. A full batch is an ordinary message, which the storing node
//! writes to a separate file.

use foretell_ati::{Body, Header, HostClock, Record, Recorder, Resource};
use foretell_scenarios::model::{self, Scenario, TrackingCost};
use foretell_units::{Breadcrumb, HostId, SimSpan, SimTime};

use crate::cluster::owner_of;
use crate::cpu::{Slice, Thread};
use crate::demand::Demands;

/// Posts records of all hosts.
pub(crate) struct Tracker {
    recorder: Recorder,
    clock: HostClock,
    cost: Option<TrackingCost>,
    hosts: Vec<HostCost>,
    /// Machines whose batch is full.
    due: Vec<HostId>,
    /// Present only if a store is kept.
    demands: Option<Demands>,
}

#[derive(Clone, Copy)]
struct HostCost {
    /// The machine whose processor posts and whose adapter ships; the accounts below are kept for it.
    machine: HostId,
    post: SimSpan,
    /// Time of posts that has not been charged to a task yet.
    debt: SimSpan,
    unshipped: u64,
}

impl Tracker {
    /// `machines`: for each host, the machine whose processor and adapter it uses.
    pub(crate) fn new(
        scenario: &Scenario,
        machines: impl Iterator<Item = HostId>,
        recorder: Recorder,
    ) -> Self {
        let batch = scenario.tracking.cost.as_ref().map(|cost| cost.batch.get());
        let host = |(index, (host, machine)): (usize, (&model::Host, HostId))| HostCost {
            machine,
            post: host.cpu.post,
            debt: SimSpan::ZERO,
            // a random beginning, so that hosts that post at the same rate do not ship at the same time
            unshipped: batch.map_or(0, |batch| {
                let owner = owner_of(scenario, HostId::from(index));
                owner.stream("records").below(batch.max(1))
            }),
        };
        let disks =
            |host: &model::Host| host.role.storage().map_or(0, model::Storage::device_count);
        let demands = recorder
            .is_kept()
            .then(|| Demands::new(scenario.workloads.len(), scenario.hosts.iter().map(disks)));
        Self {
            recorder,
            demands,
            clock: HostClock::new(scenario.hosts.len()),
            cost: scenario.tracking.cost.clone(),
            hosts: scenario.hosts.iter().zip(machines).enumerate().map(host).collect(),
            due: Vec::new(),
        }
    }

    /// Posts a record, if records of its kind are kept.
    #[inline]
    pub(crate) fn post(
        &mut self,
        now: SimTime,
        host: HostId,
        thread: Thread,
        breadcrumb: Breadcrumb,
        body: Body,
    ) {
        if self.recorder.wants(body.kind(), breadcrumb) {
            self.keep(now, host, thread, breadcrumb, body);
        }
    }

    fn keep(
        &mut self,
        now: SimTime,
        host: HostId,
        thread: Thread,
        breadcrumb: Breadcrumb,
        body: Body,
    ) {
        let ts_ns = self.clock.stamp(host, now);
        let header = Header { ts_ns, breadcrumb, host, pid: thread.pid, tid: thread.tid };
        self.recorder.post(Record { header, body });
        if let Some(cost) = &self.cost {
            let machine = self.hosts[host.index()].machine;
            let account = &mut self.hosts[machine.index()];
            account.debt += account.post;
            account.unshipped += cost.record.get();
            if account.unshipped >= cost.batch.get() {
                account.unshipped = 0;
                self.due.push(machine);
            }
        }
    }

    /// Charges a workload with the use of a resource.
    #[inline]
    pub(crate) fn charge(
        &mut self,
        host: HostId,
        resource: Resource,
        workload: u32,
        busy: impl FnOnce() -> SimSpan,
    ) {
        if let Some(demands) = &mut self.demands {
            demands.charge(host, resource, workload, busy());
        }
    }

    /// Measuring begins.
    pub(crate) fn mark(&mut self) {
        if let Some(demands) = &mut self.demands {
            demands.mark();
        }
    }

    /// The demand of each workload at each resource.
    pub(crate) fn demands(&self) -> Vec<foretell_ati::Demand> {
        self.demands.as_ref().map_or_else(Vec::new, Demands::rows)
    }

    /// Posts the switch that begins `slice`: a process switch if the process changes, a switch of
    /// user-level threads otherwise.
    ///
    /// The record belongs to the thread that gets the processor. If only the request of the thread that
    /// loses it is recorded, it belongs to that thread, so that a sample of requests has both ends of each
    /// slice.
    pub(crate) fn post_switch(&mut self, now: SimTime, host: HostId, slice: &Slice) {
        let (from, to) = (slice.from, slice.to);
        let body = if from.pid != to.pid {
            let (oldprocess, newprocess) = (from.pid, to.pid);
            Body::KernelProcessSwitch { cpu: slice.core, oldprocess, newprocess }
        } else if from.tid != to.tid {
            Body::UserThreadSwitch { oldthread: from.tid, newthread: to.tid }
        } else {
            return;
        };
        if self.recorder.wants(body.kind(), slice.breadcrumb) {
            self.keep(now, host, to, slice.breadcrumb, body);
        } else if from != Thread::IDLE {
            self.post(now, host, from, slice.from_breadcrumb, body);
        }
    }

    /// Posts that `core` becomes idle after `ran`, which worked for the request of `breadcrumb`.
    pub(crate) fn post_idle(
        &mut self,
        now: SimTime,
        host: HostId,
        core: u32,
        ran: Thread,
        breadcrumb: Breadcrumb,
    ) {
        let (oldprocess, newprocess) = (ran.pid, Thread::IDLE.pid);
        let body = Body::KernelProcessSwitch { cpu: core, oldprocess, newprocess };
        // recorded for the thread that stops running, so that its time can be summed
        self.post(now, host, ran, breadcrumb, body);
    }

    /// Takes the posting time of `machine`, and of guests on it, since the last call.
    #[inline]
    pub(crate) fn take_debt(&mut self, machine: HostId) -> SimSpan {
        std::mem::take(&mut self.hosts[machine.index()].debt)
    }

    /// A machine with a batch to ship, if there is one.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Option<HostId> {
        self.due.pop()
    }

    /// The costs of tracking, if it has any.
    pub(crate) fn cost(&self) -> Option<&TrackingCost> {
        self.cost.as_ref()
    }

    /// Whether the store has failed, so that continuing is useless.
    pub(crate) fn failed(&self) -> bool {
        self.recorder.failed()
    }

    /// The recorder, to be finished.
    pub(crate) fn into_recorder(self) -> Recorder {
        self.recorder
    }
}
