//! A device modelled by its measured latencies.
//!
//! A request that finds n − 1 others in the device takes the mean latency measured for such requests with n
//! outstanding ([`Curves`](foretell_scenarios::device::Curves)). So a closed loop of n requests achieves n
//! divided by that latency, whatever the device is inside. On a device whose latency grows with n, a burst is
//! served one after the other, as by a queue. The latency depends on the operation, on the size, on whether
//! the request begins where one of the last requests ended, and on the share of reads among the last
//! requests. This share is an average in which each request has 63/64 of the weight of the next one.
//!
//! All requests of a measurement have the same size. A request that meets requests of other sizes waits for
//! each larger one as long as for one of its own size. For a smaller one it waits less, in the ratio of the
//! times that the two sizes take at the device's highest throughput. So a large request among small ones
//! takes little longer than alone.
//!
//! Between measurements, latencies are interpolated linearly in the number outstanding, the size and the share
//! of reads. Below the smallest number or size, the latency at the smallest one applies. Beyond the largest
//! number outstanding they grow in proportion, so throughput never exceeds the measured one. Beyond the largest
//! size they grow in proportion too, so the rate in bytes stays constant.
//!
//! Left out: variation among latencies of equal requests; dependence on the address (zones of a disk, cached
//! data); dependence on time (a write buffer that fills, garbage collection beyond the average measured).

use std::collections::VecDeque;

use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::device::{self, Order};
use foretell_units::{Op, SECTOR_BYTES, Sectors, SimSpan, SimTime};

use crate::agenda::Agenda;
use crate::device::{Done, Inside};
use crate::ledger::{Ledger, Usage, Violation};

/// Number of sequential streams that the device can track.
const STREAMS: usize = 64;
/// Weight of one request in the share of reads.
const WEIGHT: f64 = 1.0 / 64.0;

/// A device modelled by its latency curves.
#[derive(Debug)]
pub struct Curves {
    /// Latencies by [`Order`] and [`Op`].
    latencies: [[Latencies; 2]; 2],
    tells_orders: bool,
    /// Ends of the last requests, the latest first.
    ends: VecDeque<Sectors>,
    /// Share of reads among the last requests; NaN before the first.
    reads: f64,
    inside: Slab<Option<Inner>>,
    finishes: Agenda<u32>,
    ledger: Ledger,
    /// Sum over finished requests of the time that each takes at the highest throughput, ns.
    work: u64,
    marked: (SimTime, u64),
}

#[derive(Clone, Copy, Debug)]
struct Inner {
    arrived: SimTime,
    bytes: f64,
    io: Io<u32>,
    work: SimSpan,
}

/// Latencies of one order and operation: by share of reads, by size, by number outstanding.
#[derive(Clone, Debug, Default)]
struct Latencies(Vec<(f64, Vec<OfSize>)>);

/// A size in bytes, and its curve.
type OfSize = (f64, Vec<Point>);

/// Number of requests outstanding, and latency in ns.
type Point = (f64, f64);

impl Latencies {
    fn of(curves: &[device::Curve], order: Order, op: Op) -> Self {
        let mut curves: Vec<&device::Curve> =
            curves.iter().filter(|curve| curve.order == order && curve.op == op).collect();
        curves.sort_by(|a, b| a.reads.total_cmp(&b.reads).then(a.block.cmp(&b.block)));
        let by_share = curves.chunk_by(|a, b| a.reads.total_cmp(&b.reads).is_eq());
        let latencies = by_share.map(|equal| {
            let of_size = |curve: &&device::Curve| {
                let point =
                    |(count, latency): &(u32, SimSpan)| (f64::from(*count), latency.as_ns() as f64);
                (curve.block.get() as f64, curve.points.iter().map(point).collect())
            };
            (equal[0].reads, equal.iter().map(of_size).collect())
        });
        Self(latencies.collect())
    }

    /// Evaluates `of` for a size and a share of reads, with interpolation between the measurements.
    fn at(&self, reads: f64, bytes: f64, of: impl Fn(&[Point]) -> f64) -> f64 {
        between(&self.0, reads, |sizes| {
            let (largest, _) = sizes.last().expect("a share of reads has a size");
            let found = between(sizes, bytes, |points| of(points));
            found * (bytes / largest).max(1.0)
        })
    }
}

/// Evaluates `of` at `at`, with linear interpolation between neighbours; beyond the ends it is the value at the
/// end.
fn between<T>(known: &[(f64, T)], at: f64, of: impl Fn(&T) -> f64) -> f64 {
    let above = known.partition_point(|(place, _)| *place < at);
    let Some((high, after)) = known.get(above) else {
        return of(&known.last().expect("there is one").1);
    };
    if above == 0 {
        return of(after);
    }
    let (low, before) = &known[above - 1];
    let share = (at - low) / (high - low);
    of(before) * (1.0 - share) + of(after) * share
}

/// Latency with `outstanding` requests, ns.
fn latency(points: &[Point], outstanding: f64) -> f64 {
    let (most, _) = points.last().expect("a curve has points");
    between(points, outstanding, |latency| *latency) * (outstanding / most).max(1.0)
}

/// Shortest time between two completions, ns: at the number outstanding with the highest throughput.
fn least(points: &[Point]) -> f64 {
    points.iter().map(|(count, latency)| latency / count).fold(f64::INFINITY, f64::min)
}

impl Curves {
    /// An idle device.
    pub fn new(spec: &device::Curves) -> Self {
        let ops = [Op::Read, Op::Write];
        let mut latencies = [Order::Random, Order::Sequential]
            .map(|order| ops.map(|op| Latencies::of(&spec.curves, order, op)));
        let tells_orders = (0..2).all(|order| latencies[order].iter().any(|of| !of.0.is_empty()));
        // a curve that was not measured is copied from the other order, else from the other operation
        for turn in 0..2 {
            for place in 0..4 {
                let (order, op) = (place / 2, place % 2);
                let other = if turn == 0 { [1 - order, op] } else { [order, 1 - op] };
                if latencies[order][op].0.is_empty() {
                    latencies[order][op] = latencies[other[0]][other[1]].clone();
                }
            }
        }
        Self {
            latencies,
            tells_orders,
            ends: VecDeque::with_capacity(STREAMS + 1),
            reads: f64::NAN,
            inside: Slab::new(),
            finishes: Agenda::new(),
            ledger: Ledger::default(),
            work: 0,
            marked: (SimTime::ZERO, 0),
        }
    }

    /// Number of requests of `bytes` bytes to which the requests in the device amount. A smaller request
    /// counts as a fraction of one.
    fn alike(&self, bytes: f64, least: impl Fn(f64) -> f64) -> f64 {
        let own = least(bytes);
        // there are few sizes: a request mostly has the size of the previous one
        let mut known = (bytes, 1.0);
        let mut count = 0.0;
        for inner in self.inside.places().flatten() {
            if inner.bytes >= bytes {
                count += 1.0;
                continue;
            }
            if inner.bytes.total_cmp(&known.0).is_ne() {
                known = (inner.bytes, (least(inner.bytes) / own).min(1.0));
            }
            count += known.1;
        }
        count
    }

    fn order(&mut self, io: &Io<u32>) -> Order {
        if !self.tells_orders {
            return Order::Random;
        }
        let end = io.lbn + io.sectors;
        let found = self.ends.iter().position(|known| *known == io.lbn);
        if let Some(place) = found {
            self.ends.remove(place);
        }
        self.ends.push_front(end);
        self.ends.truncate(STREAMS);
        if found.is_some() { Order::Sequential } else { Order::Random }
    }

    /// Updates and returns the share of reads, including this request.
    fn share(&mut self, op: Op) -> f64 {
        let read = if op == Op::Read { 1.0 } else { 0.0 };
        self.reads =
            if self.reads.is_nan() { read } else { self.reads + (read - self.reads) * WEIGHT };
        self.reads
    }
}

impl Inside for Curves {
    fn submit(&mut self, now: SimTime, io: Io<u32>) {
        self.ledger.arrive(now);
        let order = self.order(&io);
        let reads = self.share(io.op);
        let latencies = &self.latencies[order as usize][io.op as usize];
        let bytes = (io.sectors.get().max(1) * SECTOR_BYTES) as f64;
        let work_of = |bytes: f64| latencies.at(reads, bytes, least);
        let outstanding = self.alike(bytes, work_of) + 1.0;
        let lasts = latencies.at(reads, bytes, |points| latency(points, outstanding));
        let work = SimSpan::from_ns(work_of(bytes) as u64);
        let id = self.inside.insert(Some(Inner { arrived: now, bytes, io, work }));
        self.finishes.schedule(now + SimSpan::from_ns((lasts as u64).max(1)), id);
    }

    fn complete(&mut self, now: SimTime, done: &mut Vec<Done<u32>>) {
        while self.finishes.next_at().is_some_and(|at| at <= now) {
            let id = self.finishes.next().expect("it is there");
            let inner = self.inside.remove(id).take().expect("it is inside until it is done");
            self.ledger.depart(now, inner.arrived);
            self.work += inner.work.as_ns();
            done.push(Done { io: inner.io, service: inner.work });
        }
    }

    fn wake(&self, _: SimTime) -> Option<SimTime> {
        self.finishes.next_at()
    }

    fn mark(&mut self, now: SimTime) {
        self.ledger.mark(now);
        self.marked = (now, self.work);
    }

    /// Utilization is relative to the highest throughput that the device reaches for the requests it got.
    fn usage(&mut self, now: SimTime) -> Usage {
        let (since, before) = self.marked;
        let work = self.work - before;
        let span = (now - since).as_ns().max(1);
        // work is counted at completion, which may be soon after the mark
        let utilization = (work as f64 / span as f64).min(1.0);
        Usage { utilization, busy: SimSpan::from_ns(work.min(span)), ..self.ledger.usage(now, 1) }
    }

    fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        let inside = self.inside.places().flatten().map(|inner| (inner.arrived, None));
        self.ledger.audit(now, inside)
    }
}

#[cfg(test)]
mod tests {
    use foretell_scenarios::device::Curve;
    use foretell_units::Bytes;

    use super::*;

    fn curve(order: Order, op: Op, reads: f64, kib: u64, points: &[(u32, u64)]) -> Curve {
        let points = points.iter().map(|(n, us)| (*n, SimSpan::from_us(*us))).collect();
        Curve { order, op, reads, block: Bytes::kib(kib), points }
    }

    fn device(curves: Vec<Curve>) -> Curves {
        let capacity = Bytes::gib(1);
        Curves::new(&device::Curves { capacity, queue_depth: 64, flush: SimSpan::ZERO, curves })
    }

    fn io(op: Op, lbn: u64, kib: u64) -> Io<u32> {
        Io { lbn: Sectors(lbn), sectors: Sectors(kib * 2), op, thread: 0, tag: 0 }
    }

    /// Completion time, in us, of a request that comes to the idle device at 0.
    fn alone(device: &mut Curves, io: Io<u32>) -> f64 {
        let begin = device.finishes.now();
        device.submit(begin, io);
        let end = device.wake(begin).unwrap();
        device.complete(end, &mut Vec::new());
        (end - begin).as_ns() as f64 / 1e3
    }

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 0.002, "{found} us, not {wanted}");
    }

    #[test]
    fn latency_is_that_of_the_number_outstanding() {
        let points = [(1, 100), (4, 160), (8, 320)];
        let mut device = device(vec![curve(Order::Random, Op::Read, 1.0, 4, &points)]);
        let mut finishes = Vec::new();
        for _ in 0..16 {
            device.submit(SimTime::ZERO, io(Op::Read, 8, 4));
        }
        while let Some(at) = device.wake(SimTime::ZERO) {
            device.complete(at, &mut Vec::new());
            device.audit(at).unwrap();
            finishes.push(at.as_ns() / 1000);
        }
        // 100, 120, 140, 160 and then 40 more for each: 25,000 a second, also beyond eight
        assert_eq!(finishes[..9], [100, 120, 140, 160, 200, 240, 280, 320, 360]);
        assert_eq!(finishes[15], 640);
    }

    #[test]
    fn latency_is_interpolated_between_sizes_and_grows_with_the_rate_beyond() {
        let of = |kib, us| curve(Order::Random, Op::Read, 1.0, kib, &[(1, us)]);
        let mut device = device(vec![of(16, 200), of(4, 140)]);
        for (kib, us) in [(1, 140.0), (4, 140.0), (10, 170.0), (16, 200.0), (64, 800.0)] {
            close(alone(&mut device, io(Op::Read, 8, kib)), us);
        }
    }

    #[test]
    fn a_large_request_waits_for_small_ones_as_for_what_they_are() {
        // 4 KiB: 10 us each at the highest throughput; 1 MiB: 1000 us
        let of = |kib, us| curve(Order::Random, Op::Write, 0.0, kib, &[(1, us), (4, 4 * us)]);
        let mut device = device(vec![of(4, 10), of(1024, 1000)]);
        for _ in 0..20 {
            device.submit(SimTime::ZERO, io(Op::Write, 8, 4));
        }
        device.submit(SimTime::ZERO, io(Op::Write, 8, 1024));
        // a small request waits for the large one as for one of its own size
        device.submit(SimTime::ZERO, io(Op::Write, 8, 4));
        let mut ends = Vec::new();
        while let Some(at) = device.wake(SimTime::ZERO) {
            let mut done = Vec::new();
            device.complete(at, &mut done);
            ends.extend(done.iter().map(|done| (done.io.sectors.get(), at.as_ns() / 1000)));
        }
        assert_eq!(ends[19..], [(8, 200), (8, 220), (2048, 1200)]);
    }

    #[test]
    fn the_share_of_reads_is_that_of_the_last_requests() {
        let of = |reads, us| curve(Order::Random, Op::Read, reads, 4, &[(1, us)]);
        let write = curve(Order::Random, Op::Write, 0.0, 4, &[(1, 50)]);
        let mut device = device(vec![of(1.0, 100), of(0.0, 300), write]);
        close(alone(&mut device, io(Op::Read, 8, 4)), 100.0);
        // writes have one curve; each multiplies the share of reads by 63/64
        close(alone(&mut device, io(Op::Write, 8, 4)), 50.0);
        let share = 63.0 / 64.0 * 63.0 / 64.0 + 1.0 / 64.0;
        close(alone(&mut device, io(Op::Read, 8, 4)), 300.0 - 200.0 * share);
    }

    #[test]
    fn what_begins_where_another_ended_is_sequential() {
        let mut device = device(vec![
            curve(Order::Random, Op::Read, 1.0, 4, &[(1, 100)]),
            curve(Order::Sequential, Op::Read, 1.0, 4, &[(1, 10)]),
        ]);
        // two parallel streams, then a jump; writes use the curves of reads
        let times = [(0, 100.0), (1000, 100.0), (8, 10.0), (1008, 10.0), (4, 100.0), (16, 10.0)];
        for (lbn, us) in times {
            close(alone(&mut device, io(Op::Read, lbn, 4)), us);
        }
        close(alone(&mut device, io(Op::Write, 24, 4)), 10.0);
    }

    #[test]
    fn utilization_is_the_share_of_the_most_that_can_be_done() {
        let points = [(1, 100), (8, 200)];
        let mut device = device(vec![curve(Order::Random, Op::Read, 1.0, 4, &points)]);
        device.mark(SimTime::ZERO);
        // one outstanding: 10,000 a second of at most 40,000
        for _ in 0..100 {
            alone(&mut device, io(Op::Read, 8, 4));
        }
        let usage = device.usage(device.finishes.now());
        assert!((usage.utilization - 0.25).abs() < 1e-9, "{usage:?}");
        assert_eq!((usage.operations, usage.queue_length_mean), (100, 1.0));
    }
}
