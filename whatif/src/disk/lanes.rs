//! The model of a device that serves operations in parallel, from measurements. The device has a number of
//! *lanes*, to which addresses map at random. A lane serves one operation at a time. Each operation also has
//! a delay that occupies no lane.
//!
//! Throughput is limited either by the lanes, when all are busy, or by a line (such as the host interface)
//! that every operation passes first. In the first case, the time for which an operation occupies its lane
//! follows from the highest measured throughput and the number of lanes. The delay is the rest of the time
//! that the operation takes on an idle device. In the second case, an operation occupies its lane for all of
//! that time except its time on the line. The case and the number of lanes are chosen to fit the throughput
//! of small reads at each depth. If the device has a write buffer ([`Buffer`]), writes wait for room in the
//! buffer, and occupy lanes only while they enter it; reads wait for writes in progress. Without a buffer,
//! the interference of reads and writes follows from measurements of both together. Left out: priorities of
//! the device among operations.

use std::sync::{Arc, OnceLock};

use foretell_algorithms::mix;
use foretell_units::{Op, SECTOR_BYTES, Sectors, SimSpan, SimTime, Stream};

use super::buffer::{Buffer, by_size, most_per_s};
use super::measurement::{Measurement, Mixed, Random, index};
use super::rewrites::Rewrites;
use super::runs::Runs;
use super::{Operation, Served, Taken};

/// Addresses within this number of bytes map to the same lane.
const GRAIN: u64 = 4096;
/// Largest size of the operations that the shape of the lanes is fitted to, bytes.
const SMALL: u64 = 16 << 10;
/// Numbers of lanes that are tried in the fit.
const TRIED: [usize; 18] = [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 90, 128, 181, 256, 362, 512];
/// Shortest time of an operation, ns, so that time passes.
const MIN_OPERATION_NS: f64 = 1000.0;
/// Weight of one operation in the moving average of the share of reads.
const WEIGHT: f64 = 1.0 / 64.0;

/// The lanes of a device.
#[derive(Debug)]
pub(super) struct Lanes {
    free_at: Vec<SimTime>,
    /// When the line in front of the lanes is free, if the line is the limit.
    line_free_at: Option<SimTime>,
    /// By [`Op`]: the cost of an operation by size.
    costs: [Costs; 2],
    buffer: Option<Buffer>,
    /// For a drive on which it matters: what was written recently.
    rewrites: Option<Rewrites>,
    /// For a drive on which it matters: sequential writes.
    runs: Option<Runs>,
    /// Without a buffer, by share of reads: factor by which a mix of operations takes less of the device than
    /// the same operations alone.
    together: Vec<(f64, f64)>,
    /// Moving average of the share of reads.
    reads: f64,
    stream: Stream,
}

/// The shape of a device's lanes, computed once for all devices with the same measurement.
#[derive(Clone, Debug, Default)]
pub struct LaneShape(OnceLock<Shape>);

impl LaneShape {
    fn of(&self, find: impl FnOnce() -> Shape) -> Shape {
        *self.0.get_or_init(find)
    }
}

impl PartialEq for LaneShape {
    /// Always equal: it follows from the measurement that contains it.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Number of lanes, and whether the line in front of them is the limit.
#[derive(Clone, Copy, Debug)]
struct Shape {
    lanes: usize,
    has_line: bool,
}

/// Costs by size in bytes, ns.
#[derive(Debug)]
struct Costs {
    /// Time without other operations.
    alone: Vec<(f64, f64)>,
    /// Time of the whole device: the inverse of the highest rate.
    share: Vec<(f64, f64)>,
}

/// The cost of an operation, ns.
#[derive(Clone, Copy, Debug)]
struct Cost {
    alone: f64,
    share: f64,
}

impl Costs {
    fn of(points: &[Random]) -> Self {
        let share = most_per_s(points).into_iter().map(|(bytes, per_s)| (bytes, 1e9 / per_s));
        let share: Vec<(f64, f64)> = share.collect();
        let alone = |bytes: f64| {
            let here = points.iter().filter(|point| (point.bytes as f64).total_cmp(&bytes).is_eq());
            here.min_by_key(|point| point.depth).map_or(0.0, |point| point.mean_ns)
        };
        Self { alone: share.iter().map(|(bytes, _)| (*bytes, alone(*bytes))).collect(), share }
    }

    fn at(&self, bytes: f64) -> Cost {
        Cost { alone: by_size(&self.alone, bytes), share: by_size(&self.share, bytes) }
    }
}

impl Lanes {
    pub(super) fn new(measured: &Arc<Measurement>, stream: Stream) -> Self {
        let burst = measured.write_buffer.as_ref().map(|buffer| &buffer.burst);
        let writes = burst.unwrap_or(&measured.random[index(Op::Write)]);
        let costs = [Costs::of(&measured.random[index(Op::Read)]), Costs::of(writes)];
        let shape = measured.shape.of(|| fitting(&measured.random[index(Op::Read)], &costs[0]));
        Self {
            free_at: vec![SimTime::ZERO; shape.lanes],
            line_free_at: shape.has_line.then_some(SimTime::ZERO),
            buffer: Buffer::new(measured, |bytes| costs[0].at(bytes).share),
            rewrites: Rewrites::new(measured),
            runs: Runs::new(measured),
            together: together(&measured.mixed, &costs),
            costs,
            reads: 0.5,
            stream,
        }
    }

    /// Remembers the backlog of its buffer.
    pub(super) fn mark(&mut self, now: SimTime) {
        if let Some(buffer) = &mut self.buffer {
            buffer.mark(now);
        }
    }

    /// Skips a time that is `longer` times as long as the time since the mark.
    pub(super) fn pass_over(&mut self, now: SimTime, longer: f64) {
        if let Some(buffer) = &mut self.buffer {
            buffer.pass_over(now, longer);
        }
    }

    /// Serves an operation.
    pub(super) fn serve(&mut self, now: SimTime, what: Operation) -> Served {
        let Operation { op, lbn, sectors } = what;
        let bytes = sectors.get() * SECTOR_BYTES;
        let mut cost = self.costs[index(op)].at(bytes as f64);
        let is_read = f64::from(u8::from(op == Op::Read));
        self.reads += (is_read - self.reads) * WEIGHT;
        let mut drained = 1.0_f64;
        if op == Op::Write {
            let from = lbn.get() * SECTOR_BYTES;
            if let Some(known) = &mut self.rewrites {
                drained = known.write(from, bytes);
            }
            if let Some(known) = &mut self.runs {
                drained = drained.min(known.write(from, bytes));
            }
        }
        if self.buffer.is_none() {
            cost.share *= drained / by_share(&self.together, self.reads);
        }
        let (last, delay) = self.keep_lanes(now, lbn, cost);
        let alone = SimSpan::from_ns(cost.alone.max(MIN_OPERATION_NS) as u64);
        let share = SimSpan::from_ns(cost.share as u64);
        let mut done = (last + delay).max(now + SimSpan::from_ns(MIN_OPERATION_NS as u64));
        let mut work = share;
        match (&mut self.buffer, op) {
            (None, _) => {}
            (Some(buffer), Op::Read) => {
                let waits = buffer.read(now, bytes as f64, cost.share, &mut self.stream);
                done += SimSpan::from_ns(waits as u64);
            }
            (Some(buffer), Op::Write) => {
                let from = lbn.get() * SECTOR_BYTES;
                let (room_at, busy) = buffer.take(now, from, bytes, drained);
                done = done.max(room_at + alone);
                work = work.max(busy);
            }
        }
        Served { done, taken: Taken { service: work, work, alone } }
    }

    /// Occupies lanes with an operation. Returns when the last of them is done with it, and the delay that follows.
    fn keep_lanes(&mut self, now: SimTime, lbn: Sectors, cost: Cost) -> (SimTime, SimSpan) {
        let lanes = self.free_at.len();
        // a large operation is spread over several lanes
        let first = (mix(lbn.get() * SECTOR_BYTES / GRAIN) % lanes as u64) as usize;
        if let Some(line_free_at) = &mut self.line_free_at {
            *line_free_at = (*line_free_at).max(now) + SimSpan::from_ns(cost.share as u64);
            let hold = SimSpan::from_ns((cost.alone - cost.share).max(0.0) as u64);
            let free_at = &mut self.free_at[first];
            *free_at = (*free_at).max(*line_free_at) + hold;
            return (*free_at, SimSpan::ZERO);
        }
        let hold = cost.share * lanes as f64;
        let wide = (hold / cost.alone.max(1.0)).ceil().clamp(1.0, lanes as f64) as usize;
        let each = SimSpan::from_ns((hold / wide as f64) as u64);
        let mut last = now;
        for lane in 0..wide {
            let free_at = &mut self.free_at[(first + lane) % lanes];
            *free_at = (*free_at).max(now) + each;
            last = last.max(*free_at);
        }
        (last, SimSpan::from_ns((cost.alone - hold / wide as f64).max(0.0) as u64))
    }
}

/// By share of reads: the sum of the device shares that measured reads and writes took together,
/// where each alone would take the whole device; 1 for reads or writes alone.
fn together(mixed: &[Mixed], costs: &[Costs; 2]) -> Vec<(f64, f64)> {
    let mut known: Vec<(f64, f64)> = vec![(0.0, 1.0), (1.0, 1.0)];
    for point in mixed {
        let used = |op: usize| point.per_s[op] * costs[op].at(point.bytes as f64).share / 1e9;
        let used = used(0) + used(1);
        // for each share, the mix with the largest sum
        match known.iter_mut().find(|(share, _)| share.total_cmp(&point.read_share).is_eq()) {
            Some((_, most)) => *most = most.max(used),
            None => known.push((point.read_share, used)),
        }
    }
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    known
}

/// Interpolates linearly by share of reads.
fn by_share(known: &[(f64, f64)], share: f64) -> f64 {
    let above = known.partition_point(|(at, _)| *at < share).clamp(1, known.len() - 1);
    let (low, high) = (known[above - 1], known[above]);
    let part = ((share - low.0) / (high.0 - low.0)).clamp(0.0, 1.0);
    low.1 * (1.0 - part) + high.1 * part
}

/// The shape that best fits the measured throughput of small reads.
fn fitting(reads: &[Random], costs: &Costs) -> Shape {
    // a larger operation is spread over several lanes
    let small = |point: &&Random| point.depth > 1 && point.bytes <= SMALL;
    let known: Vec<&Random> = reads.iter().filter(small).collect();
    let misfit = |shape: Shape| -> f64 {
        let off = |point: &&Random| {
            let cost = costs.at(point.bytes as f64);
            throughput(shape, &cost, point.depth as usize) / point.per_s
        };
        known.iter().map(|point| libm::log(off(point)).powi(2)).sum()
    };
    let shapes =
        TRIED.into_iter().flat_map(|lanes| [false, true].map(|has_line| Shape { lanes, has_line }));
    let best = shapes.map(|shape| (misfit(shape), shape)).min_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(Shape { lanes: 1, has_line: false }, |(_, shape)| shape)
}

/// Throughput with `depth` outstanding operations on lanes of this shape, operations a second.
fn throughput(shape: Shape, cost: &Cost, depth: usize) -> f64 {
    const OPERATIONS: usize = 3000;
    let (hold, delay) = if shape.has_line {
        ((cost.alone - cost.share).max(0.0), 0.0)
    } else {
        let hold = cost.share * shape.lanes as f64;
        (hold, (cost.alone - hold).max(0.0))
    };
    let mut free = vec![0.0_f64; shape.lanes];
    let mut line_free = 0.0_f64;
    let mut ready: std::collections::BinaryHeap<std::cmp::Reverse<u64>> =
        (0..depth).map(|_| std::cmp::Reverse(0)).collect();
    let mut last = 0;
    for operation in 0..OPERATIONS {
        let std::cmp::Reverse(now) = ready.pop().expect("there is always one");
        let lane = (mix(operation as u64) % shape.lanes as u64) as usize;
        let mut from = now as f64;
        if shape.has_line {
            line_free = line_free.max(from) + cost.share;
            from = line_free;
        }
        free[lane] = free[lane].max(from) + hold;
        let done = (free[lane] + delay) as u64;
        last = last.max(done);
        ready.push(std::cmp::Reverse(done));
    }
    OPERATIONS as f64 / last as f64 * 1e9
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::super::measurement::{QUANTILES, ReadsBesideWrites, WriteBuffer, nothing};
    use super::*;

    const US: f64 = 1e3;
    const KIB4: Sectors = Sectors(8);

    fn random(depth: u32, mean_us: f64, per_s: f64) -> Random {
        Random { bytes: 4096, depth, mean_ns: mean_us * US, per_s, steady: true }
    }

    /// 4 KiB: reads take 100 us, 16 in parallel; 1000 writes a second; the buffer holds 256 writes,
    /// which enter it in 20 us each, 50,000 a second. Beside the highest rate of writes, reads take
    /// from 100 us to 2.1 ms.
    fn measurement() -> Measurement {
        let times = |longest: f64| {
            std::array::from_fn(|at| (100.0 + longest * at as f64 / (QUANTILES - 1) as f64) * US)
        };
        let beside = |(write_share, longest): (f64, f64)| ReadsBesideWrites {
            bytes: 4096,
            write_share,
            quantiles_ns: times(longest),
            tail_ns: Vec::new(),
            mean_ns: None,
        };
        Measurement {
            depth: 32,
            random: [
                vec![random(1, 100.0, 10_000.0), random(16, 100.0, 160_000.0)],
                vec![random(1, 1000.0, 1000.0), random(16, 16_000.0, 1000.0)],
            ],
            write_buffer: Some(WriteBuffer {
                bytes: 1 << 20,
                burst: vec![random(1, 20.0, 50_000.0), random(16, 320.0, 50_000.0)],
            }),
            beside: [(0.0, 0.0), (1.0, 2000.0)].map(beside).to_vec(),
            ..nothing()
        }
    }

    fn lanes(measured: Measurement) -> Lanes {
        Lanes::new(&Arc::new(measured), Seed(1).stream("disk"))
    }

    fn ms(span: SimSpan) -> f64 {
        span.as_ms_f64()
    }

    #[test]
    fn a_burst_is_taken_at_once_as_far_as_there_is_room() {
        let mut drive = lanes(measurement());
        let times: Vec<f64> = (0..600)
            .map(|at| {
                let write = Operation { op: Op::Write, lbn: Sectors(at * 1000), sectors: KIB4 };
                ms(drive.serve(SimTime::ZERO, write).done - SimTime::ZERO)
            })
            .collect();
        // at the interface's rate first; then one each millisecond, when another has drained
        assert!(times[255] < 10.0, "{}", times[255]);
        for (at, expected) in [(300, 45.0), (599, 344.0)] {
            assert!((times[at] - expected).abs() < 2.0, "{at}: {} ms", times[at]);
        }
        // half a second later nearly all of the buffer is free again
        let later = SimTime::ZERO + SimSpan::from_ms(590);
        let write = Operation { op: Op::Write, lbn: Sectors(0), sectors: KIB4 };
        assert!(ms(drive.serve(later, write).done - later) < 0.1);
    }

    #[test]
    fn what_is_written_again_while_it_is_held_is_drained_once() {
        let mut drive = lanes(measurement());
        // 16 pages, rewritten: they need no room, so 50,000 a second go in
        let mut last = SimTime::ZERO;
        for at in 0..10_000 {
            let write = Operation { op: Op::Write, lbn: Sectors(at % 16 * 8), sectors: KIB4 };
            let now = SimTime::ZERO + SimSpan::from_us(25) * at;
            last = drive.serve(now, write).done;
            assert!(ms(last - now) < 1.0, "{at}: {} ms", ms(last - now));
        }
        // each page takes a millisecond to drain, once in 16 ms
        let mut work = SimSpan::ZERO;
        for at in 0..1000 {
            let now = last + SimSpan::from_us(100) * at;
            let served = drive
                .serve(now, Operation { op: Op::Write, lbn: Sectors(at % 16 * 8), sectors: KIB4 });
            work += served.taken.work;
        }
        assert!((80.0..=125.0).contains(&ms(work)), "{} ms of 100", ms(work));
    }

    #[test]
    fn reads_wait_for_what_is_written_meanwhile() {
        let mut drive = lanes(measurement());
        let read_ms = |drive: &mut Lanes, at: SimTime| {
            ms(drive
                .serve(
                    at,
                    Operation { op: Op::Read, lbn: Sectors(at.as_ns() % 100_000), sectors: KIB4 },
                )
                .done
                - at)
        };
        assert!((read_ms(&mut drive, SimTime::ZERO) - 0.1).abs() < 0.01);
        let (mut now, mut sum) = (SimTime::ZERO, 0.0);
        // half of the highest rate of writes
        for _ in 0..2000 {
            drive.serve(
                now,
                Operation { op: Op::Write, lbn: Sectors(now.as_ns() % 99_991), sectors: KIB4 },
            );
            now += SimSpan::from_us(1300);
            sum += read_ms(&mut drive, now);
            now += SimSpan::from_us(700);
        }
        // half of 1.1 ms and half of 0.1 ms, depending on whether a write is in progress
        assert!((sum / 2000.0 - 0.6).abs() < 0.1, "{} ms", sum / 2000.0);
        now += SimSpan::from_secs(1);
        assert!((read_ms(&mut drive, now) - 0.1).abs() < 0.01);
    }

    #[test]
    fn beside_few_writes_most_reads_wait_for_none() {
        let mut drive = lanes(measurement());
        let (mut now, mut times) = (SimTime::ZERO, Vec::new());
        // a tenth of the highest rate of writes; reads come at any time between two of them
        for at in 0..4000_u64 {
            drive.serve(
                now,
                Operation { op: Op::Write, lbn: Sectors(now.as_ns() % 99_991), sectors: KIB4 },
            );
            let pause = SimSpan::from_us(at * 7919 % 10_000);
            let read =
                Operation { op: Op::Read, lbn: Sectors(now.as_ns() % 100_000), sectors: KIB4 };
            times.push(ms(drive.serve(now + pause, read).done - (now + pause)) - 0.1);
            now += SimSpan::from_ms(10);
        }
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        // a tenth of 1 ms
        assert!((0.08..0.12).contains(&mean), "{mean} ms");
        let waited: Vec<f64> = times.iter().copied().filter(|wait| *wait > 0.01).collect();
        let share = waited.len() as f64 / times.len() as f64;
        assert!((0.07..0.13).contains(&share), "{share} of the reads");
        // those that do wait take as long as beside the highest rate of writes
        let mean = mean / share;
        assert!((0.85..1.15).contains(&mean), "{mean} ms");
    }

    #[test]
    fn reads_and_writes_without_a_buffer_are_in_each_others_way_as_measured() {
        // each alone reaches 1000 a second; together each reaches as much as alone, or half
        for (per_s, expected) in [(1000.0, 2000.0), (500.0, 1000.0)] {
            let one = || vec![random(1, 1000.0, 1000.0), random(16, 16_000.0, 1000.0)];
            let mixed = Mixed {
                bytes: 4096,
                depth: 16,
                read_share: 0.5,
                mean_ns: [16e6; 2],
                per_s: [per_s; 2],
                steady: true,
            };
            let measured = Measurement { random: [one(), one()], mixed: vec![mixed], ..nothing() };
            let mut device = lanes(measured);
            let mut last = SimTime::ZERO;
            for at in 0..4000 {
                let op = if at % 2 == 0 { Op::Read } else { Op::Write };
                last = last.max(
                    device
                        .serve(
                            SimTime::ZERO,
                            Operation { op, lbn: Sectors(at * 64), sectors: KIB4 },
                        )
                        .done,
                );
            }
            let found = 4000.0 / (last - SimTime::ZERO).as_secs_f64();
            assert!((found / expected - 1.0).abs() < 0.1, "{found} a second, not {expected}");
        }
    }
}
