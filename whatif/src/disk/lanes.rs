//! A device that serves operations side by side, as far as measurements tell: lanes that addresses
//! fall on at random, each serving one operation at a time, and a delay that keeps nobody waiting.
//!
//! How long an operation keeps its lane follows from the most operations a second that were measured
//! and the number of lanes; the rest of its time alone is the delay. The number of lanes is what
//! fits the throughput measured in between best. A write is taken as soon as the device's buffer has
//! room, and keeps its lane afterwards. Left out: which operations the device prefers.

use std::collections::VecDeque;
use std::sync::Arc;

use foretell_algorithms::mix;
use foretell_units::{Op, SECTOR_BYTES, Sectors, SimSpan, SimTime};

use super::measurement::{Measurement, Random, index};
use super::{Served, Taken};

/// Addresses of so many bytes fall on one lane.
const GRAIN: u64 = 4096;
/// Numbers of lanes that are tried.
const TRIED: [usize; 10] = [1, 2, 4, 7, 12, 24, 48, 96, 192, 384];

/// The lanes of a device.
#[derive(Debug)]
pub(super) struct Lanes {
    free_at: Vec<SimTime>,
    /// By [`Op`]: what an operation of a size takes.
    costs: [Vec<Cost>; 2],
    /// Bytes that are taken before they are written.
    buffer: u64,
    buffered: u64,
    /// When buffered writes are written, and their bytes.
    written: VecDeque<(SimTime, u64)>,
}

/// What an operation of a size takes.
#[derive(Clone, Copy, Debug)]
struct Cost {
    bytes: f64,
    /// Time alone, ns.
    alone: f64,
    /// Time of the whole device, ns: the inverse of the most operations a second.
    share: f64,
}

impl Lanes {
    pub(super) fn new(measured: &Arc<Measurement>) -> Self {
        let costs = [Op::Read, Op::Write].map(|op| costs(&measured.random[index(op)]));
        let reads = measured.of_size(Op::Read, 4096);
        let misfit = |lanes: usize| -> f64 {
            let cost = cost_of(&costs[0], 4096.0);
            let known = reads.iter().filter(|point| point.depth > 1);
            known
                .map(|point| {
                    let found = throughput(lanes, &cost, point.depth as usize);
                    (found / point.per_s).ln().powi(2)
                })
                .sum()
        };
        let lanes = TRIED.into_iter().min_by(|a, b| misfit(*a).total_cmp(&misfit(*b)));
        Self {
            free_at: vec![SimTime::ZERO; lanes.unwrap_or(1)],
            costs,
            buffer: u64::from(measured.buffered_writes) * 8192,
            buffered: 0,
            written: VecDeque::new(),
        }
    }

    /// Serves an operation.
    pub(super) fn serve(
        &mut self,
        now: SimTime,
        (op, lbn, sectors): (Op, Sectors, Sectors),
    ) -> Served {
        let bytes = sectors.get() * SECTOR_BYTES;
        let lanes = self.free_at.len();
        let cost = cost_of(&self.costs[index(op)], bytes as f64);
        // a large operation is spread over several lanes
        let first = mix(lbn.get() * SECTOR_BYTES / GRAIN) as usize;
        let share = SimSpan::from_ns(cost.share as u64);
        let alone = SimSpan::from_ns(cost.alone.max(1000.0) as u64);
        let taken = Taken { service: share, work: share, alone };
        let hold = cost.share * lanes as f64;
        let wide = (hold / cost.alone.max(1.0)).ceil().clamp(1.0, lanes as f64) as usize;
        let each = SimSpan::from_ns((hold / wide as f64) as u64);
        let mut last = now;
        for lane in 0..wide {
            let free_at = &mut self.free_at[(first + lane) % lanes];
            *free_at = (*free_at).max(now) + each;
            last = last.max(*free_at);
        }
        let delay = SimSpan::from_ns((cost.alone - hold / wide as f64).max(0.0) as u64);
        if op == Op::Read {
            let done = (last + delay).max(now + SimSpan::from_ns(1000));
            return Served { done, taken };
        }
        while self.written.front().is_some_and(|(at, _)| *at <= now) {
            let (_, bytes) = self.written.pop_front().expect("it is there");
            self.buffered -= bytes;
        }
        self.buffered += bytes;
        // the lanes are not in order, but the buffer is
        let last = self.written.back().map_or(last, |(before, _)| last.max(*before));
        self.written.push_back((last, bytes));
        let mut room_at = now;
        let mut over = self.buffered.saturating_sub(self.buffer.max(bytes));
        for (at, bytes) in &self.written {
            if over == 0 {
                break;
            }
            room_at = *at;
            over = over.saturating_sub(*bytes);
        }
        Served { done: room_at + alone, taken }
    }
}

/// The costs of the sizes that were measured, in their order.
fn costs(points: &[Random]) -> Vec<Cost> {
    let mut sizes: Vec<u64> = points.iter().map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let cost = |bytes: u64| {
        let here = || points.iter().filter(|point| point.bytes == bytes);
        let alone = here().find(|point| point.depth == 1).map_or(0.0, |point| point.mean_ns);
        let most = here().map(|point| point.per_s).fold(1.0, f64::max);
        Cost { bytes: bytes as f64, alone, share: 1e9 / most }
    };
    sizes.into_iter().map(cost).collect()
}

/// The cost of any size, from the neighbours that were measured.
fn cost_of(costs: &[Cost], bytes: f64) -> Cost {
    let Some(last) = costs.len().checked_sub(1) else {
        return Cost { bytes, alone: 0.0, share: 0.0 };
    };
    let above = costs.partition_point(|cost| cost.bytes < bytes).clamp(1.min(last), last);
    let (low, high) = (costs[above.saturating_sub(1)], costs[above]);
    let span = high.bytes - low.bytes;
    if bytes <= costs[0].bytes || span <= 0.0 {
        return Cost { bytes, ..costs[0] };
    }
    // in a straight line, also beyond the largest
    let part = (bytes - low.bytes) / span;
    Cost {
        bytes,
        alone: low.alone + (high.alone - low.alone) * part,
        share: low.share + (high.share - low.share) * part,
    }
}

/// Operations a second of so many that are always there, on so many lanes.
fn throughput(lanes: usize, cost: &Cost, depth: usize) -> f64 {
    const OPERATIONS: usize = 3000;
    let hold = cost.share * lanes as f64;
    let delay = (cost.alone - hold).max(0.0);
    let mut free = vec![0.0_f64; lanes];
    let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<u64>> =
        (0..depth).map(|_| std::cmp::Reverse(0)).collect();
    let mut last = 0;
    for operation in 0..OPERATIONS {
        let std::cmp::Reverse(now) = ready.pop().expect("there is always one");
        let lane = mix(operation as u64) as usize % lanes;
        free[lane] = free[lane].max(now as f64) + hold;
        let done = (free[lane] + delay) as u64;
        last = last.max(done);
        ready.push(std::cmp::Reverse(done));
    }
    OPERATIONS as f64 / last as f64 * 1e9
}
