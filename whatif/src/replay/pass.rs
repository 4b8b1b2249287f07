//! Skips most of a long run. Short stretches are replayed in detail. Between them, only state that lasts is
//! updated.
//!
//! Queues lose their state within seconds, but caches do not. So a long run is divided into periods, and only
//! one stretch of each is replayed in detail. In the skipped time after a stretch, requests only touch caches
//! and dirty pages, at the rate of this stretch. (Wunderlich et al., *SMARTS: Accelerating Microarchitecture
//! Simulation via Rigorous Statistical Sampling*, ISCA 2003, do the same with processors.) Disk operations
//! take no time in skipped time, outstanding requests wait, and the flusher keeps the number of dirty pages
//! that follows from the last stretch. Runs with events are replayed in full detail.
//!
//! The fast model fills caches before its first stretch (see `fill`). It leaves out the time between
//! stretches: for the nodes, no time passes, and they keep their cached pages, including dirty ones.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_scenarios::model::{Arrivals, Scenario};
use foretell_systems::Access;
use foretell_units::{HostId, SimSpan, SimTime};

use super::disks::Disks;
use super::engine::{Engine, choose};
use super::fill::Fill;
use super::{Material, Replay};
use crate::error::WhatIfError;
use crate::observed::Streams;

/// A stretch has this number of parts. The first is not measured, because in it queues return to their usual
/// lengths.
pub(super) const SETTLING: u64 = 4;

/// Number of detailed requests for each outstanding one, and how many of these belong to the beginning, which starts
/// with empty queues. (Assumed. They were tried on one run, and no others: `docs/architecture.md`.)
const TURNS: f64 = 8.0;
const TURNS_OF_BEGINNING: f64 = 2.0;

/// How much of a run is replayed in detail.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Detail {
    /// Number of requests that are replayed in detail. A run with fewer is replayed completely.
    requests: f64,
    /// Minimum number of detailed requests of each workload, because the mean of a few says little.
    of_each: f64,
    /// Maximum number of requests in all stretches, if stretches are made longer for a workload or a disk's
    /// queue.
    most_requests: f64,
    /// Shortest stretch, s: queues of disks need some time.
    shortest_s: f64,
    /// Share of the detailed requests that belong to the beginning, so that a cold start does not count as
    /// usual behavior.
    beginning: f64,
    /// Number of stretches in the warm-up, and in the measured time.
    periods: (u32, u32),
    /// Number of requests before the first stretch, if the run has at least twice as many. The latest of them
    /// fill caches, and the time between stretches is left out. With `None`, time between stretches is
    /// skipped, and its requests touch caches.
    fills: Option<f64>,
}

impl Detail {
    /// For an answer by the replay alone.
    pub(crate) const WHOLE: Self = Self {
        requests: 400_000.0,
        of_each: 0.0,
        most_requests: f64::INFINITY,
        shortest_s: 0.5,
        periods: (4, 20),
        beginning: 0.25,
        fills: None,
    };
    /// For a comparison with a replay of the recorded run in the same stretches. Chance affects both in the
    /// same way.
    pub(crate) const SHORT: Self = Self {
        requests: 2_000.0,
        of_each: 500.0,
        most_requests: 8_000.0,
        shortest_s: 0.125,
        periods: (1, 16),
        beginning: 0.1,
        fills: Some(300_000.0),
    };
    /// The same if no device has an arm or a controller with a cache: queues of flash settle sooner. At 35,000
    /// requests/s, answers from 5,000 requests are as near to those of the replay as answers from 8,000.
    pub(crate) const SHORT_OF_FLASH: Self =
        Self { shortest_s: 0.03, most_requests: 5_000.0, ..Self::SHORT };

    /// The same with longer stretches, if this many requests are outstanding on average: a stretch in which few of them
    /// complete shows nothing.
    pub(crate) fn with_outstanding(self, outstanding: f64) -> Self {
        let requests = self.requests.max(TURNS * outstanding);
        Self {
            requests,
            most_requests: self.most_requests.max(requests),
            beginning: self.beginning.max(TURNS_OF_BEGINNING * outstanding / requests),
            ..self
        }
    }

    /// Whether only part of a run is replayed in detail.
    pub(crate) fn is_part_of(self, scenario: &Scenario, requests: &[Streams]) -> bool {
        Plan::with(self, scenario, requests).is_some()
    }

    /// Whether requests of an open loop come in bursts, and the stretches contain too few bursts to represent the run.
    pub(crate) fn sees_few_bursts(self, scenario: &Scenario, requests: &[Streams]) -> bool {
        let Some(plan) = Plan::with(self, scenario, requests) else { return false };
        let stretches = plan.stretches();
        let workloads = scenario.workloads.iter().zip(requests);
        let mut open =
            workloads.filter(|(workload, _)| !matches!(workload.arrivals, Arrivals::Closed { .. }));
        open.any(|(_, streams)| {
            let count = |(from, until): &(SimTime, SimTime)| streams.issued_between(*from, *until);
            let counts: Vec<f64> = stretches.iter().map(|stretch| count(stretch) as f64).collect();
            error_by_bursts(&counts) > MAX_BURST_ERROR
        })
    }

    /// Share of a run to replay in detail. `whole` is the length of the run, s, `requests` its number of
    /// requests, and `fewest` that of the workload with the fewest.
    fn share(self, whole: f64, requests: f64, fewest: f64) -> f64 {
        let periods = f64::from(self.periods.0 + self.periods.1);
        let shortest = self.shortest_s * periods / whole;
        let least = shortest.max(self.of_each / fewest.max(1.0));
        (self.requests / requests).max(least.min(self.most_requests / requests))
    }
}

/// Largest error of a mean by bursts with which stretches represent a run (assumed: the replay of the recorded run sees
/// the same bursts, so that most of the error cancels).
const MAX_BURST_ERROR: f64 = 0.1;

/// The standard error of the mean of these counts beyond that of Poisson arrivals, as a part of the mean.
fn error_by_bursts(counts: &[f64]) -> f64 {
    let number = counts.len() as f64;
    let mean = counts.iter().sum::<f64>() / number;
    let squares: f64 = counts.iter().map(|count| (count - mean).powi(2)).sum();
    let beyond_chance = squares / (number - 1.0) - mean;
    (beyond_chance.max(0.0) / number).sqrt() / mean.max(1.0)
}

/// How a long run is replayed: period after period.
pub(super) struct Plan {
    /// The fill of caches before the first stretch. If there is one, the time between stretches is left out.
    pub(super) fill: Option<Fill>,
    pub(super) periods: Vec<Period>,
}

/// When batches of records are appended to the Activity DB while simulated time is skipped.
pub(super) struct Appends {
    next: SimTime,
    every: SimSpan,
}

impl Appends {
    /// A number of batches, evenly spaced over a span.
    pub(super) fn new(begin: SimTime, span: SimSpan, batches: f64) -> Self {
        let every = span.as_secs_f64() / batches.max(1e-9);
        let every = SimSpan::from_secs_f64(every.clamp(1e-6, 1e9));
        Self { next: begin + every, every }
    }
}

/// A detailed stretch, and the skipped time after it.
#[derive(Clone, Copy)]
pub(super) struct Period {
    pub(super) detail: SimSpan,
    pub(super) passed_over: SimSpan,
    /// Whether it belongs to the measured time.
    pub(super) measured: bool,
}

impl Plan {
    /// The measured parts of its stretches, in the time of a run whose rate is that of the recorded one.
    fn stretches(&self) -> Vec<(SimTime, SimTime)> {
        let mut at = self.fill.as_ref().map_or(SimTime::ZERO, |fill| fill.until);
        let mut stretches = Vec::new();
        for period in &self.periods {
            let end = at + period.detail;
            if period.measured {
                stretches.push((at + period.detail / SETTLING, end));
            }
            at = end + period.passed_over;
        }
        stretches
    }

    /// A plan, unless the run is replayed in full detail.
    pub(super) fn of(material: &Material) -> Option<Self> {
        Self::with(material.detail, material.scenario, material.requests)
    }

    fn with(of: Detail, scenario: &Scenario, requests: &[Streams]) -> Option<Self> {
        // failures, hedged reads and reads of the newest version do not occur in skipped time
        if scenario.outages.is_some() || scenario.hedges() || scenario.reads_newest() {
            return None;
        }
        let duration = scenario.duration?.as_secs_f64();
        let warmup = scenario.warmup.as_secs_f64();
        let by_workload = || requests.iter().map(Streams::count).filter(|count| *count > 0);
        let all = by_workload().sum::<usize>() as f64;
        let fewest = by_workload().min().unwrap_or(0) as f64;
        let whole = warmup + duration;
        let share = of.share(whole, all, fewest);
        if share >= 0.5 {
            return None;
        }
        let mut periods = Vec::new();
        let mut add = |count: u32, span: f64, share: f64, measured: bool| {
            let period = span / f64::from(count);
            let detail = SimSpan::from_secs_f64(period * share);
            let passed_over = SimSpan::from_secs_f64(period * (1.0 - share));
            periods.extend((0..count).map(|_| Period { detail, passed_over, measured }));
        };
        let beginning = whole * share * of.beginning;
        let mut fill = None;
        if let Some(requests) = of.fills {
            let end = (requests * whole / all).min(whole / 2.0).max(warmup - beginning);
            fill = Some(Fill { until: SimTime::ZERO + SimSpan::from_secs_f64(end) });
            add(1, beginning, 1.0, false);
            let left = whole - end - beginning;
            add(of.periods.1, left, (share * whole / left).min(1.0), true);
        } else if beginning > warmup / 2.0 {
            add(1, warmup, (beginning / warmup).min(1.0), false);
            add(of.periods.1, duration, share, true);
        } else {
            let first = beginning.max(warmup / f64::from(of.periods.0));
            add(1, first, beginning / first, false);
            add(of.periods.0 - 1, warmup - first, share, false);
            add(of.periods.1, duration, share, true);
        }
        // nothing is skipped after the last stretch
        periods.last_mut()?.passed_over = SimSpan::ZERO;
        Some(Self { fill, periods })
    }
}

impl Replay<'_> {
    /// Skips a time in which requests touch caches. `detail` is the length of the last stretch.
    pub(super) fn pass_over(&mut self, span: SimSpan, detail: SimSpan) -> Result<(), WhatIfError> {
        if span.is_zero() {
            return Ok(());
        }
        let longer = self.disks_pass_over(span, detail);
        self.engine.tracking.paused = true;
        self.engine.ticks_from = SimTime::ZERO;
        for node in self.engine.nodes.iter_mut().flatten() {
            node.pass_over(longer);
        }
        let begin = self.engine.now + self.engine.skipped;
        let until = begin + span;
        let rates: Vec<f64> = self
            .instances
            .iter()
            .map(|instance| instance.issued as f64 / detail.as_secs_f64().max(1e-9))
            .collect();
        let mut next: BinaryHeap<Reverse<(SimTime, usize)>> = BinaryHeap::new();
        for (index, (instance, &rate)) in self.instances.iter_mut().zip(&rates).enumerate() {
            next.extend(instance.passes_at(begin, rate).map(|at| Reverse((at, index))));
        }
        let now = self.engine.now;
        // the Activity DB grows at the rate of the last stretch
        let batch = self.engine.tracking.cost().map_or(0, |cost| cost.batch.get()).max(1);
        let grown = self.protocol.database().saturating_sub(self.database_before).get() as f64;
        let mut appends = Appends::new(begin, span, grown * longer / batch as f64);
        loop {
            let whole = until.saturating_since(SimTime::ZERO);
            self.work_goes_on(whole)?;
            let first = next.peek().map_or(until, |&Reverse((at, _))| at);
            self.append_batches(&mut appends, first, until, touch_node)?;
            let Some(Reverse((at, index))) = next.pop().filter(|_| first < until) else { break };
            self.engine.skipped = at.saturating_since(now);
            self.tick_all();
            if self.touch(index, touch_node) {
                let after = self.instances[index].passes_at(at, rates[index]);
                next.extend(after.map(|at| Reverse((at, index))));
            }
        }
        self.resume_at(until.saturating_since(now));
        Ok(())
    }

    /// Leaves out a time: clients advance in their records, but no time passes for nodes. `detail` is the
    /// length of the last stretch.
    pub(super) fn leave_out(&mut self, span: SimSpan, detail: SimSpan) {
        if !span.is_zero() {
            self.disks_pass_over(span, detail);
            self.clients_go_on(span);
        }
    }

    /// Clients leave out the requests that were recorded in a time.
    pub(super) fn clients_go_on(&mut self, span: SimSpan) {
        self.engine.left_out += span;
        let until = self.engine.time_of_clients();
        for instance in &mut self.instances {
            instance.leave_out_until(until);
        }
    }

    /// Write buffers of devices that were filling go on filling. Returns the length of the skipped
    /// time as a multiple of the detailed one.
    fn disks_pass_over(&mut self, span: SimSpan, detail: SimSpan) -> f64 {
        let longer = span.as_secs_f64() / detail.as_secs_f64().max(1e-9);
        let now = self.engine.now;
        let disks = self.engine.disks.iter_mut().flat_map(Disks::iter_mut);
        disks.for_each(|disk| disk.pass_over(now, longer));
        longer
    }

    /// Ends skipping. `skipped` is the total skipped time so far.
    pub(super) fn resume_at(&mut self, skipped: SimSpan) {
        self.engine.skipped = skipped;
        self.tick_all();
        self.engine.tracking.paused = false;
        for host in 0..self.engine.nodes.len() as u32 {
            let Some((node, mut around)) = self.engine.node(host) else { continue };
            node.resume(&mut around);
        }
    }

    /// Lets all flushers act that are due.
    pub(super) fn tick_all(&mut self) {
        let due = self.engine.now + self.engine.skipped;
        if self.engine.ticks_from > due {
            return;
        }
        self.engine.ticks_from = SimTime::MAX;
        for host in 0..self.engine.nodes.len() as u32 {
            let Some((node, mut around)) = self.engine.node(host) else { continue };
            node.tick(&mut around);
            let next = node.next_tick().unwrap_or(SimTime::MAX);
            self.engine.ticks_from = self.engine.ticks_from.min(next);
        }
    }

    /// Appends the batches that come before the first request and before the end of the skipped time. `serve` is given
    /// each access to a node.
    pub(super) fn append_batches(
        &mut self,
        appends: &mut Appends,
        first: SimTime,
        until: SimTime,
        mut serve: impl FnMut(&mut Engine, HostId, &Access),
    ) -> Result<(), WhatIfError> {
        while appends.next < until && appends.next <= first {
            self.work_goes_on(until.saturating_since(SimTime::ZERO))?;
            self.engine.skipped = appends.next.saturating_since(self.engine.now);
            // a batch of records
            if let Some(cost) = self.engine.tracking.cost() {
                let (host, size) = (cost.store, cost.batch);
                let access = self.protocol.append_records(size);
                serve(&mut self.engine, host, &access);
            }
            appends.next += appends.every;
        }
        Ok(())
    }

    /// An instance's next request accesses nodes, in no time. `serve` is given each access. Returns whether there is a
    /// request.
    pub(super) fn touch(
        &mut self,
        index: usize,
        mut serve: impl FnMut(&mut Engine, HostId, &Access),
    ) -> bool {
        let Some(wanted) = self.instances[index].pull() else {
            return false;
        };
        let issue = self.request_of(index as u32, wanted);
        let Self { protocol, engine, .. } = self;
        // a copy, because the engine is borrowed for the nodes meanwhile
        let mut choosing = engine.choosing[index].clone();
        protocol.touch(
            &issue,
            |fragments, m| choose(&mut choosing, fragments, m),
            |host, access| serve(engine, host, access),
        );
        engine.choosing[index] = choosing;
        true
    }
}

/// Serves an access that takes no time.
fn touch_node(engine: &mut Engine, host: HostId, access: &Access) {
    let Some((node, mut around)) = engine.node(host.0) else { return };
    node.touch(&mut around, access);
    let next = node.next_tick().unwrap_or(SimTime::MAX);
    engine.ticks_from = engine.ticks_from.min(next);
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;

    #[test]
    fn counts_of_bursts_vary_more_than_by_chance() {
        let mut draws = Seed(1).stream("arrivals");
        let mut arrivals = |mean: f64| {
            let gap = SimSpan::from_secs_f64(1.0 / mean);
            let mut at = SimSpan::ZERO;
            let mut count = 0.0;
            while at < SimSpan::from_secs(1) {
                at += draws.exponential(gap);
                count += 1.0;
            }
            count
        };
        let steady: Vec<f64> = (0..16).map(|_| arrivals(300.0)).collect();
        assert!(error_by_bursts(&steady) < 0.02, "{steady:?}");
        // one in four stretches is in a burst
        let bursty: Vec<f64> =
            (0..16).map(|k| arrivals(if k % 4 == 0 { 900.0 } else { 100.0 })).collect();
        assert!(error_by_bursts(&bursty) > 0.2, "{bursty:?}");
        assert!(error_by_bursts(&[0.0; 16]).abs() < f64::EPSILON);
    }
}
