//! Posting activity records, and what that costs the simulated hosts.
//!
//! Thereska et al. 2006, III-B and IV-D: records are posted on the critical path, buffered in 20 MB of each
//! host's memory, and shipped in batches to the host that keeps the Activity DB. Here the time for
//! posting is charged to the task that the host runs next, and a full batch is a message like any
//! other, which the storing node writes to a file of its own.

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
    /// Kept for a store alone.
    demands: Option<Demands>,
}

#[derive(Clone, Copy)]
struct HostCost {
    /// Whose processor posts and whose adapter ships; the accounts below are that host's.
    machine: HostId,
    post: SimSpan,
    /// Time for posts that no task has been charged with yet.
    debt: SimSpan,
    unshipped: u64,
}

impl Tracker {
    /// `machines`: by host, whose processor and adapter it has.
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
            // hosts that post as much as each other do not ship at the same time
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

    /// Posts a record, if it is one of those kept.
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

    /// What each workload demanded of each resource.
    pub(crate) fn demands(&self) -> Vec<foretell_ati::Demand> {
        self.demands.as_ref().map_or_else(Vec::new, Demands::rows)
    }

    /// Posts the switch that begins `slice`: of processes where the process changes, of user-level
    /// threads where it stays.
    ///
    /// The record is of the thread that gets the processor; of the one that loses it where only
    /// that one's request is recorded, so that a sample of requests has both ends of each slice.
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

    /// Posts that `core` falls idle after `ran`, which worked for the request of `breadcrumb`.
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
        // of the thread that stops running, so that its time can be summed
        self.post(now, host, ran, breadcrumb, body);
    }

    /// Takes the time that posts have cost `machine`, and guests on it, since the last call.
    #[inline]
    pub(crate) fn take_debt(&mut self, machine: HostId) -> SimSpan {
        std::mem::take(&mut self.hosts[machine.index()].debt)
    }

    /// A machine whose batch is to be shipped, if there is one.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Option<HostId> {
        self.due.pop()
    }

    /// What tracking costs, if anything.
    pub(crate) fn cost(&self) -> Option<&TrackingCost> {
        self.cost.as_ref()
    }

    /// Whether the store has failed, so that going on is of no use.
    pub(crate) fn failed(&self) -> bool {
        self.recorder.failed()
    }

    /// The recorder, to be finished.
    pub(crate) fn into_recorder(self) -> Recorder {
        self.recorder
    }
}
