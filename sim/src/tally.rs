//! The results of one workload as its clients see them.

use foretell_units::{Bytes, Op, SimSpan, SimTime};
use hdrhistogram::Histogram;

use crate::batches::Batches;
use crate::intervals::Intervals;
use crate::ledger::{Ledger, Violation};

/// Most response times that are kept individually: 64 MB.
const MAX_RESPONSES: usize = 4 << 20;

/// Requests of one workload. Only completions after the warm-up count, except where a field includes all
/// since the beginning.
pub(crate) struct Tally {
    pub(crate) completed: u64,
    /// Requests that were given up, since the beginning.
    pub(crate) failed: u64,
    from: SimTime,
    /// When the last request ended.
    pub(crate) last: SimTime,
    pub(crate) reads: OpTally,
    pub(crate) writes: OpTally,
    pub(crate) batches: Batches,
    pub(crate) intervals: Option<Intervals>,
    pub(crate) ledger: Ledger,
    /// Completion times and response times of requests since the beginning, including the warm-up, if they
    /// were asked for.
    pub(crate) responses: Option<Vec<(SimTime, SimSpan)>>,
}

/// Requests of one direction.
pub(crate) struct OpTally {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) response_ns: u128,
    pub(crate) max: SimSpan,
    /// Response times in nanoseconds, to three digits.
    pub(crate) histogram: Histogram<u64>,
}

impl OpTally {
    pub(crate) fn new() -> Self {
        Self {
            requests: 0,
            bytes: 0,
            response_ns: 0,
            max: SimSpan::ZERO,
            histogram: Histogram::new(3).expect("three digits are possible"),
        }
    }

    pub(crate) fn add(&mut self, response: SimSpan, size: Bytes) {
        self.requests += 1;
        self.bytes += size.get();
        self.response_ns += u128::from(response.as_ns());
        self.max = self.max.max(response);
        self.histogram.record(response.as_ns().max(1)).expect("the histogram grows by itself");
    }
}

impl Tally {
    pub(crate) fn new(from: SimTime, intervals: Option<Intervals>) -> Self {
        Self {
            completed: 0,
            failed: 0,
            from,
            last: SimTime::ZERO,
            reads: OpTally::new(),
            writes: OpTally::new(),
            batches: Batches::new(from),
            intervals,
            ledger: Ledger::default(),
            responses: None,
        }
    }

    pub(crate) fn issued(&mut self, now: SimTime) {
        self.ledger.arrive(now);
    }

    pub(crate) fn completed(&mut self, now: SimTime, issued: SimTime, op: Op, size: Bytes) {
        self.ledger.depart(now, issued);
        self.last = now;
        self.completed += 1;
        if let Some(responses) = &mut self.responses
            && responses.len() < MAX_RESPONSES
        {
            responses.push((now, now - issued));
        }
        if now < self.from {
            return;
        }
        let response = now - issued;
        match op {
            Op::Read => self.reads.add(response, size),
            Op::Write => self.writes.add(response, size),
        }
        self.batches.add(now, response);
        if let Some(intervals) = &mut self.intervals {
            intervals.add(now, op, response);
        }
    }

    /// A request was given up.
    pub(crate) fn given_up(&mut self, now: SimTime, issued: SimTime) {
        self.ledger.depart(now, issued);
        self.last = now;
        self.failed += 1;
    }

    /// Measuring begins.
    pub(crate) fn mark(&mut self, now: SimTime) {
        self.ledger.mark(now);
    }

    /// Measuring restarts, with these intervals: only completions from now on count.
    pub(crate) fn restart(&mut self, now: SimTime, intervals: Option<Intervals>) {
        let (completed, failed) = (self.completed, self.failed);
        let (ledger, responses) = (std::mem::take(&mut self.ledger), self.responses.take());
        *self = Self { completed, failed, ledger, responses, ..Self::new(now, intervals) };
    }

    /// Number of requests that completed after the warm-up.
    pub(crate) fn measured(&self) -> u64 {
        self.reads.requests + self.writes.requests
    }

    /// Whether the operational laws hold, given the issue times of outstanding requests.
    pub(crate) fn audit(
        &mut self,
        now: SimTime,
        outstanding: impl Iterator<Item = SimTime>,
    ) -> Result<(), Violation> {
        self.ledger.audit(now, outstanding.map(|issued| (issued, None)))
    }
}
