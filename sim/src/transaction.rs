//! Transactions in progress: step after step, and their results.

use foretell_scenarios::model::{Workload, WorkloadKind};
use foretell_systems::process::transaction_thread;
use foretell_systems::{Continuation, Hosts as _, Work, WorkKind};
use foretell_units::{Breadcrumb, Bytes, SimSpan, SimTime};
use foretell_workloads::transaction::{TransactionStep, Unit};
use hdrhistogram::Histogram;

use crate::cluster::Cluster;

/// Stands for the transaction of a request that belongs to none.
pub(crate) const NO_TRANSACTION: u32 = u32::MAX;
/// Stands for the transaction of a request that writes a guest's journal; it belongs to no client.
pub(crate) const JOURNAL: u32 = u32::MAX - 1;

/// A transaction in progress.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) instance: u32,
    begun: SimTime,
    steps: Vec<TransactionStep>,
    next: usize,
    /// Its kind, if its workload has several.
    kind: usize,
}

/// Transactions of one workload that completed after the warm-up.
#[derive(Debug)]
pub(crate) struct TransactionTally {
    pub(crate) unit: Unit,
    from: SimTime,
    pub(crate) completed: u64,
    /// When the last one completed.
    last: SimTime,
    pub(crate) response_ns: u128,
    pub(crate) max: SimSpan,
    /// Transaction times in nanoseconds, to three digits.
    pub(crate) histogram: Histogram<u64>,
    /// Number of reads, and of those that a file server's cache served.
    pub(crate) reads: [u64; 2],
    /// Bytes by direction (0 read, 1 write), and the time during which such a step was in progress.
    pub(crate) moved: [Moved; 2],
}

/// Bytes moved in one direction, and the time that this took.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Moved {
    pub(crate) bytes: u64,
    outstanding: u32,
    since: SimTime,
    active: SimSpan,
}

impl Moved {
    fn begins(&mut self, now: SimTime) {
        if self.outstanding == 0 {
            self.since = now;
        }
        self.outstanding += 1;
    }

    fn ends(&mut self, now: SimTime, from: SimTime, bytes: Bytes) {
        self.outstanding -= 1;
        if self.outstanding == 0 {
            self.active += now.saturating_since(self.since.max(from));
        }
        if now >= from {
            self.bytes += bytes.get();
        }
    }

    /// Seconds, up to now, during which at least one step was in progress.
    fn active_s(&self, now: SimTime, from: SimTime) -> f64 {
        let open = if self.outstanding > 0 {
            now.saturating_since(self.since.max(from))
        } else {
            SimSpan::ZERO
        };
        (self.active + open).as_secs_f64()
    }
}

impl TransactionTally {
    /// The tally of a workload that counts transactions; `from`: the end of the warm-up.
    pub(crate) fn of(workload: &Workload, from: SimTime) -> Option<Self> {
        let unit = match workload.kind {
            WorkloadKind::Ssio { .. }
            | WorkloadKind::Trace { .. }
            | WorkloadKind::Fio { .. }
            | WorkloadKind::Recorded => {
                return None;
            }
            WorkloadKind::Oltp { .. } => Unit::PerMinute,
            WorkloadKind::Postmark { .. } => Unit::PerSecond,
            WorkloadKind::Iozone { .. } => Unit::MegabytesPerSecond,
            WorkloadKind::Ffsb { .. } | WorkloadKind::Cosbench { .. } => Unit::OperationsPerSecond,
        };
        Some(Self {
            unit,
            from,
            completed: 0,
            last: from,
            response_ns: 0,
            max: SimSpan::ZERO,
            histogram: Histogram::new(3).expect("three digits are possible"),
            reads: [0; 2],
            moved: [Moved::default(); 2],
        })
    }

    /// Measuring restarts: only completions from now on count.
    pub(crate) fn restart(&mut self, now: SimTime) {
        (self.from, self.completed, self.last) = (now, 0, now);
        (self.response_ns, self.max, self.reads) = (0, SimSpan::ZERO, [0; 2]);
        self.histogram.reset();
        for moved in &mut self.moved {
            (moved.bytes, moved.active) = (0, SimSpan::ZERO);
        }
    }

    /// Length in seconds of the workload's measured time: up to now, or, if it has ended, up to its
    /// last transaction.
    pub(crate) fn measured_s(&self, now: SimTime, ended: bool) -> f64 {
        let end = if ended { self.last } else { now };
        end.saturating_since(self.from).as_secs_f64()
    }

    /// Seconds, up to now, during which data were read (0) or written (1).
    pub(crate) fn active_s(&self, direction: usize, now: SimTime) -> f64 {
        self.moved[direction].active_s(now, self.from)
    }

    fn completed(&mut self, now: SimTime, begun: SimTime) {
        if now < self.from {
            return;
        }
        let response = now - begun;
        self.completed += 1;
        self.last = now;
        self.response_ns += u128::from(response.as_ns());
        self.max = self.max.max(response);
        self.histogram.record(response.as_ns().max(1)).expect("the histogram grows by itself");
    }

    fn step_begins(&mut self, now: SimTime, step: TransactionStep) {
        self.moved[direction(step)].begins(now);
    }

    fn step_ends(&mut self, now: SimTime, step: TransactionStep) {
        let direction = direction(step);
        let bytes = match step {
            TransactionStep::Io(access) => access.size,
            TransactionStep::Cached(bytes) => bytes,
        };
        self.moved[direction].ends(now, self.from, bytes);
        if direction == 0 && now >= self.from {
            self.reads[0] += 1;
            self.reads[1] += u64::from(matches!(step, TransactionStep::Cached(_)));
        }
    }
}

/// 0: a read, 1: a write.
fn direction(step: TransactionStep) -> usize {
    match step {
        TransactionStep::Io(access) => access.op as usize,
        TransactionStep::Cached(_) => 0,
    }
}

impl Cluster {
    /// An instance begins its next transaction. Returns whether there was one.
    pub(crate) fn begin_transaction(&mut self, instance: u32) -> bool {
        if !self.process_goes_on(instance) {
            return false;
        }
        let mut steps = std::mem::take(&mut self.spare_steps);
        steps.clear();
        if !self.instances[instance as usize].next_transaction(&mut steps) {
            self.spare_steps = steps;
            self.ends(instance);
            return false;
        }
        assert!(!steps.is_empty(), "a transaction has a step");
        let begun = self.engine.agenda.now();
        let kind = self.instances[instance as usize].transaction_kind();
        let id = self.transactions.insert(Transaction { instance, begun, steps, next: 0, kind });
        self.next_step(id);
        true
    }

    fn next_step(&mut self, id: u32) {
        let now = self.engine.agenda.now();
        let transaction = &self.transactions[id];
        let (instance, step) = (transaction.instance, transaction.steps[transaction.next]);
        let owner = &self.instances[instance as usize];
        let (client, workload) = (owner.client, owner.workload.0);
        if let Some(tally) = &mut self.transaction_tallies[workload as usize] {
            tally.step_begins(now, step);
        }
        match step {
            TransactionStep::Io(access) => {
                self.start_request(instance, access.op, access.offset, access.size, id);
            }
            TransactionStep::Cached(bytes) => {
                let cpu = self.engine.cpu(client);
                let span = cpu.request.of(bytes) + cpu.copy.of(bytes);
                self.engine.compute(Work {
                    host: client,
                    workload,
                    thread: transaction_thread(id, workload),
                    breadcrumb: Breadcrumb::NONE,
                    // without this minimum, time would stand still on a processor without costs
                    span: span.max(SimSpan::from_ns(1)),
                    work_kind: WorkKind::Application,
                    then: Continuation::Load { number: id },
                });
            }
        }
    }

    /// The step that a transaction waited for is done.
    pub(crate) fn step_done(&mut self, id: u32) {
        let now = self.engine.agenda.now();
        let transaction = &mut self.transactions[id];
        let (instance, step) = (transaction.instance, transaction.steps[transaction.next]);
        transaction.next += 1;
        let more = transaction.next < transaction.steps.len();
        let begun = transaction.begun;
        let workload = self.instances[instance as usize].workload.0;
        if let Some(tally) = &mut self.transaction_tallies[workload as usize] {
            tally.step_ends(now, step);
            if !more {
                tally.completed(now, begun);
            }
        }
        if more {
            self.next_step(id);
            return;
        }
        let ended = self.transactions.remove(id);
        let kind = ended.kind;
        self.spare_steps = std::mem::take(&mut ended.steps);
        let bytes = self.spare_steps.iter().map(|step| match step {
            TransactionStep::Io(access) => access.size,
            TransactionStep::Cached(bytes) => *bytes,
        });
        let bytes = bytes.sum();
        self.count_for_job(instance, kind, begun, bytes);
        self.follow_up(instance);
    }
}
