//! Passing over most of a long run: detail in samples, and between them only what lasts.
//!
//! Queues forget within seconds, caches do not. So a long run is replayed in detail for a stretch of
//! each of its periods; in between, requests only touch caches and dirty pages, at the rate at which
//! they were issued in the stretch before (Wunderlich et al., *SMARTS: Accelerating
//! Microarchitecture Simulation via Rigorous Statistical Sampling*, ISCA 2003, do the same with
//! processors). What is under way waits meanwhile. Disk operations then take no time, and the flusher
//! keeps as many pages dirty as the stretch before lets expect.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_algorithms::node::{FileAccess, NOBODY};
use foretell_scenarios::model::ReadFrom;
use foretell_units::{Breadcrumb, Bytes, Op, SimSpan, SimTime, Thread};

use super::instance::Instance;
use super::{Material, NOBODY_WAITS, Replay};
use crate::error::WhatIfError;

/// Requests that are replayed in detail; of fewer, all are.
const DETAILED: f64 = 400_000.0;
/// The first part of a stretch, in which queues find their lengths again, is one in so many.
pub(super) const SETTLING: u64 = 4;
/// Stretches in the warm-up, and in the measured time.
const PERIODS: (u32, u32) = (4, 20);
/// Shortest stretch: disks' queues need so long.
const SHORTEST: f64 = 0.5;

/// Part of the detail that goes to the beginning: what begins cold must not be taken for its habit.
const BEGINNING: f64 = 0.25;

/// How a long run is replayed: period after period.
pub(super) struct Plan(pub(super) Vec<Period>);

/// A stretch in detail, and what is passed over after it.
#[derive(Clone, Copy)]
pub(super) struct Period {
    pub(super) detail: SimSpan,
    pub(super) passed_over: SimSpan,
    /// Whether the warm-up is over.
    pub(super) measured: bool,
}

impl Plan {
    /// A plan, unless all is to be replayed in detail.
    pub(super) fn of(material: &Material) -> Option<Self> {
        let scenario = material.scenario;
        let duration = scenario.duration?.as_secs_f64();
        let warmup = scenario.warmup.as_secs_f64();
        let streams = material.requests.iter().flat_map(|known| &known.of_clients);
        let requests: usize = streams.map(|stream| stream.len()).sum();
        let whole = warmup + duration;
        let periods = f64::from(PERIODS.0 + PERIODS.1);
        let share = (DETAILED / requests as f64).max(SHORTEST * periods / whole);
        if share >= 0.5 {
            return None;
        }
        let mut plan = Vec::new();
        let mut add = |count: u32, whole: f64, share: f64, measured: bool| {
            let period = whole / f64::from(count);
            let detail = SimSpan::from_secs_f64(period * share);
            let passed_over = SimSpan::from_secs_f64(period * (1.0 - share));
            plan.extend((0..count).map(|_| Period { detail, passed_over, measured }));
        };
        let beginning = whole * share * BEGINNING;
        if beginning > warmup / 2.0 {
            add(1, warmup, (beginning / warmup).min(1.0), false);
        } else {
            let first = beginning.max(warmup / f64::from(PERIODS.0));
            add(1, first, beginning / first, false);
            add(PERIODS.0 - 1, warmup - first, share, false);
        }
        add(PERIODS.1, duration, share, true);
        Some(Self(plan))
    }
}

impl Replay<'_> {
    /// Passes over a time; `detail`: how long was replayed in detail before.
    pub(super) fn pass_over(&mut self, span: SimSpan, detail: SimSpan) -> Result<(), WhatIfError> {
        if span.is_zero() {
            return Ok(());
        }
        self.tracking.paused = true;
        self.ticks_from = SimTime::ZERO;
        let longer = span.as_secs_f64() / detail.as_secs_f64().max(1e-9);
        for node in self.nodes.iter_mut().flatten() {
            node.pass_over(longer);
        }
        let from = self.now + self.skipped;
        let until = from + span;
        let rates: Vec<f64> = self
            .instances
            .iter()
            .map(|instance| instance.issued as f64 / detail.as_secs_f64().max(1e-9))
            .collect();
        let mut next: BinaryHeap<Reverse<(SimTime, usize)>> = BinaryHeap::new();
        for (index, (instance, &rate)) in self.instances.iter_mut().zip(&rates).enumerate() {
            next.extend(instance.passes_at(from, rate).map(|at| Reverse((at, index))));
        }
        let now = self.now;
        // the Activity DB grows as it did
        let batch = self.tracking.cost().map_or(0, |cost| cost.batch.get()).max(1);
        let grown = self.database.saturating_sub(self.database_before).get() as f64;
        let every = span.as_secs_f64() / (grown * longer / batch as f64).max(1e-9);
        let every = SimSpan::from_secs_f64(every.clamp(1e-6, 1e9));
        let mut stores_at = from + every;
        loop {
            let whole = until.saturating_since(SimTime::ZERO);
            self.work_goes_on(whole)?;
            let first = next.peek().map_or(until, |&Reverse((at, _))| at);
            while stores_at < until && stores_at <= first {
                self.work_goes_on(whole)?;
                self.skipped = stores_at.saturating_since(now);
                self.touch_database();
                stores_at += every;
            }
            let Some(Reverse((at, index))) = next.pop().filter(|_| first < until) else { break };
            self.skipped = at.saturating_since(now);
            self.tick_all();
            if self.touch(index) {
                let after = self.instances[index].passes_at(at, rates[index]);
                next.extend(after.map(|at| Reverse((at, index))));
            }
        }
        self.skipped = until.saturating_since(now);
        self.tick_all();
        self.tracking.paused = false;
        for host in 0..self.nodes.len() as u32 {
            let Some((node, mut around)) = self.node_if_any(host) else { continue };
            node.resume();
            if let Some(at) = node.tick_at {
                around.schedule_tick(at);
            }
        }
        Ok(())
    }

    /// Flushers look whose time has come.
    fn tick_all(&mut self) {
        let due = self.now + self.skipped;
        if self.ticks_from > due {
            return;
        }
        self.ticks_from = SimTime::MAX;
        for host in 0..self.nodes.len() as u32 {
            let Some((node, mut around)) = self.node_if_any(host) else { continue };
            node.tick(&mut around);
            let next = node.tick_at.unwrap_or(SimTime::MAX);
            self.ticks_from = self.ticks_from.min(next);
        }
    }

    /// A batch of records is appended to the Activity DB.
    fn touch_database(&mut self) {
        let Some(cost) = self.tracking.cost() else { return };
        let (host, size) = (cost.store.0, cost.batch);
        let access = FileAccess {
            leg: NOBODY_WAITS,
            op: Op::Write,
            file: self.scenario.volumes.len() as u32,
            offset: self.database,
            size,
            breadcrumb: Breadcrumb::NONE,
            thread: Thread::IDLE,
            workload: NOBODY,
            reader: u64::MAX,
        };
        self.database += size;
        self.touch_node(host, &access);
    }

    fn touch_node(&mut self, host: u32, access: &FileAccess) {
        let Some((node, mut around)) = self.node_if_any(host) else { return };
        node.touch(&mut around, access);
        let next = node.tick_at.unwrap_or(SimTime::MAX);
        self.ticks_from = self.ticks_from.min(next);
    }

    /// The next request of an instance touches the nodes' caches; whether there is one.
    fn touch(&mut self, index: usize) -> bool {
        let Some(wanted) = self.instances[index].pull() else {
            return false;
        };
        let Instance { volume, workload, client, .. } = self.instances[index];
        let volume = volume as usize;
        let distribution = &self.distributions[volume];
        let (offset, size) = (wanted.offset, wanted.size);
        if wanted.op == Op::Write {
            let block = distribution.block();
            let partial: Vec<u64> = distribution.partial_blocks(offset, size).collect();
            for number in partial {
                self.touch_range(index, (workload, client), Op::Read, (block * number, block));
            }
        }
        let range = self.distributions[volume].covering(offset, size);
        self.touch_range(index, (workload, client), wanted.op, range);
        true
    }

    fn touch_range(
        &mut self,
        index: usize,
        (workload, client): (u32, u32),
        op: Op,
        (offset, size): (Bytes, Bytes),
    ) {
        let file = self.instances[index].volume;
        let volume = &self.scenario.volumes[file as usize];
        let (m, n) = (usize::from(volume.m), usize::from(volume.n));
        let mut nodes = std::mem::take(&mut self.scratch.nodes);
        let mut places = std::mem::take(&mut self.scratch.places);
        let pieces = self.distributions[file as usize].pieces(offset, size);
        for piece in pieces {
            self.distributions[file as usize].places(piece.group, &mut nodes, &mut places);
            let asked = if op == Op::Read { m } else { n };
            let first = if op == Op::Read && volume.read_from == ReadFrom::Random {
                self.instances[index].choosing.below(n as u64) as usize
            } else {
                0
            };
            for fragment in 0..asked {
                let place = places[(first + fragment) % n];
                let access = FileAccess {
                    leg: NOBODY_WAITS,
                    op,
                    file,
                    offset: place.base + piece.start,
                    size: piece.stored,
                    breadcrumb: Breadcrumb::NONE,
                    thread: Thread::IDLE,
                    workload,
                    reader: u64::from(client) << 32 | u64::from(workload),
                };
                let host = volume.nodes[place.node as usize].0;
                self.touch_node(host, &access);
            }
        }
        (self.scratch.nodes, self.scratch.places) = (nodes, places);
    }
}
