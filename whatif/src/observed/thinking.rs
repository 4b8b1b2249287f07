//! How many requests a client issues before it thinks, or waits for its next arrival.
//!
//! An operator knows the think time of a workload, and how many threads it has. Some benchmarks think after each
//! request, others after a transaction of several requests. The records show which: all time in which a thread has no
//! request outstanding is think time. In an open loop they show it by the number of requests for each arrival.
//!
//! Left out: the time that clients compute between requests, which counts as think time here.

use foretell_scenarios::model::{Arrivals, Workload};
use foretell_units::SimTime;

use super::requests::{has_own_concurrency, has_threads};

/// Whether clients of this kind of workload think after each request. Benchmarks with threads of their own may think
/// after transactions. Of guests, it is measured.
pub(super) fn thinks_after_each(kind: Option<&str>, is_of_guests: bool) -> bool {
    kind.is_some_and(has_own_concurrency) || !is_of_guests && !kind.is_some_and(has_threads)
}

/// A number of requests that is so close to one counts as one: the rest is chance.
const ONE: f64 = 0.02;
/// Least mean number of think times after a completion.
const MIN_PAUSES: f64 = 1e-6;

fn near_one(found: f64) -> f64 {
    if (found - 1.0).abs() < ONE { 1.0 } else { found }
}

/// The requests of a workload in progress in the measured time.
#[derive(Clone, Copy, Debug)]
pub(super) struct InProgress {
    from: SimTime,
    until: SimTime,
    /// The latest time that was counted.
    at: SimTime,
    count: u32,
    /// Number of requests that were issued in the measured time.
    issued: u32,
    /// Time that its requests were in progress, all added up.
    busy_s: f64,
}

impl InProgress {
    pub(super) fn new(from: SimTime, until: SimTime) -> Self {
        Self { from, until, at: from, count: 0, issued: 0, busy_s: 0.0 }
    }

    /// At a time, a request is issued or completes.
    pub(super) fn step(&mut self, now: SimTime, issued: bool) {
        self.issued += u32::from(issued && now >= self.from && now <= self.until);
        let now = now.max(self.from).min(self.until);
        self.busy_s += f64::from(self.count) * now.saturating_since(self.at).as_secs_f64();
        self.at = self.at.max(now);
        self.count = if issued { self.count + 1 } else { self.count.saturating_sub(1) };
    }

    /// The records end, or the workload has ended before.
    pub(super) fn end(&mut self, ended: bool) {
        if ended {
            self.until = self.at;
        } else {
            self.busy_s +=
                f64::from(self.count) * self.until.saturating_since(self.at).as_secs_f64();
            self.at = self.until;
        }
    }

    /// Mean number of requests of a transaction, if `completed` requests of the workload completed. Without think times
    /// and without a rate the records do not show it. Then it is known only of kinds without transactions of several
    /// requests.
    pub(super) fn per_transaction(
        &self,
        workload: &Workload,
        kind: Option<&str>,
        completed: usize,
    ) -> Option<f64> {
        let Arrivals::Closed { outstanding, think } = workload.arrivals else {
            let Some(rate_rps) = workload.arrivals.mean_rate_rps() else { return Some(1.0) };
            let arrivals = rate_rps * workload.clients.len() as f64 * self.span_s();
            let found = if self.issued == 0 { 1.0 } else { f64::from(self.issued) / arrivals };
            return Some(near_one(found));
        };
        let think_s = think.mean().as_secs_f64();
        if think_s <= 0.0 {
            return (!kind.is_some_and(has_threads)).then_some(1.0);
        }
        if completed == 0 {
            return None;
        }
        let threads = f64::from(outstanding) * workload.clients.len() as f64;
        let others_s = (threads * self.span_s() - self.busy_s).max(0.0);
        let pauses = others_s / (completed as f64 * think_s);
        Some(near_one(pauses.max(MIN_PAUSES).recip()))
    }

    fn span_s(&self) -> f64 {
        self.until.saturating_since(self.from).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::SimSpan;

    use super::*;

    #[test]
    fn time_in_progress_is_counted_within_the_measured_time() {
        let at = |ms| SimTime::ZERO + SimSpan::from_ms(ms);
        let mut progress = InProgress::new(at(100), at(200));
        // before the measured time, across its beginning, within it, and at its end
        for (ms, issued) in [
            (10, true),
            (20, false),
            (90, true),
            (110, false),
            (120, true),
            (140, false),
            (190, true),
        ] {
            progress.step(at(ms), issued);
        }
        progress.end(false);
        assert!((progress.busy_s - 0.040).abs() < 1e-9, "{progress:?}");
        assert!((progress.span_s() - 0.1).abs() < 1e-9);
    }
}
