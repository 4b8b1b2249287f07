//! Measures random operations in the steady state, how fast the write buffer accepts writes, and reads beside
//! writes.
//!
//! As in SNIA's *Solid State Storage Performance Test Specification* (2.0.2, 2020), the device is filled, and
//! then measured in rounds until the last five agree ([`is_steady`]). A round is a number of operations here,
//! not a minute, because the device's time is simulated.
#![allow(clippy::range_minus_one, clippy::range_plus_one, reason = "counts of rounds")]

use foretell_scenarios::device::Device as Profile;
use foretell_units::{Bytes, Op, SECTOR_BYTES, SimSpan, SimTime};
use foretell_whatif::{
    LongWrites, Mixed, QUANTILES, Random, ReadsBesideWrites, Rewriting, TAIL, WriteBuffer,
};

use super::rig::Bench;
use super::{FEW_PLACES, array};

/// Sizes of random operations.
const SIZES: [u64; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];
/// Numbers of outstanding reads, and of outstanding writes.
const READS: [u32; 5] = [1, 4, 16, 64, 256];
const WRITES: [u32; 3] = [1, 16, 64];
/// Mixes: shares of reads, sizes, and numbers of outstanding operations.
const SHARES: [f64; 3] = [0.7, 0.5, 0.3];
const MIXED_SIZES: [u64; 2] = [4 << 10, 64 << 10];
const MIXED: [u32; 3] = [1, 16, 64];
/// Number of rounds that must agree, and maximum number of rounds.
const WINDOW: usize = 5;
const MAX_ROUNDS: usize = 25;
/// How much the rounds' operations a second may differ, and how much the straight line through them may rise
/// or fall, as shares of their mean.
const EXCURSION: f64 = 0.2;
const SLOPE: f64 = 0.1;
/// A mix of reads and writes is measured for longer, because each kind is only a part of the operations, and
/// reads wait only now and then. These are the additional time (of the device) and the maximum number of
/// additional operations.
const MIXED_FOR: SimSpan = SimSpan::from_secs(1);
const MIXED_MOST: u64 = 4096;
/// Bytes of a round, and its minimum and maximum number of operations. A round has at least two operations
/// for each outstanding one.
const ROUND_BYTES: u64 = 4 << 20;
const ROUND: (u64, u64) = (48, 256);
/// Minimum length of a round in the device's time, and maximum number of operations that are added to reach
/// it.
const ROUND_TIME: SimSpan = SimSpan::from_ms(50);
const ROUND_MOST: u64 = 4096;
/// Maximum length of the measurement of one figure, in the device's time.
const PATIENCE: SimSpan = SimSpan::from_secs(60);
/// Writes that fill a buffer: bytes of each, and number outstanding.
const FILLING: (u64, u32) = (64 << 10, 16);
/// A load brings a buffer to its usual level within this many times the time that a full buffer takes to
/// drain.
const SETTLES: f64 = 3.0;
/// A buffer counts as full when it accepts writes at no more than this many times the rate that the device
/// sustains.
const FASTER: f64 = 1.3;
/// Reads beside writes: sizes of reads, number of reads measured beside as many writes as possible, bytes of a
/// write, and number of writes outstanding.
const BESIDE: [u64; 2] = [4 << 10, 64 << 10];
const READS_BESIDE: usize = 640;
const WRITES_BESIDE: (u64, u32) = (16 << 10, 16);
/// Rewriting: a small part of the drive is written again and again. The part has at least this number of bytes, and at
/// least this multiple of the buffer's size.
const PART_LEAST: (u64, u64) = (64 << 20, 4);
/// The part is at most the drive's capacity divided by this.
const PART_MOST: u64 = 64;
/// Bytes that are written to the part before it is measured. At most the capacity divided by the second number.
const REWRITTEN: (u64, u64) = (4 << 30, 8);
/// Bytes that are written one after the other: the least, the most, and the part of the capacity between them.
const IN_A_RUN: (u64, u64, u64) = (1 << 30, 4 << 30, 512);
/// Number of these writes after which their rate is noted.
const PIECE: u64 = 512;
/// Number of writes after which their rate is noted.
const PIECES: u64 = 1 << 10;
/// Sizes of the writes that are measured in the end.
const REWRITING: [u64; 2] = [4 << 10, 64 << 10];
/// Write rates as shares of the highest rate, in addition to none and all.
const SHARES_BESIDE: [f64; 2] = [0.1, 0.5];

/// The results.
pub(super) struct Steady {
    pub(super) stream_bytes_per_s: [Vec<f64>; 2],
    pub(super) random: [Vec<Random>; 2],
    pub(super) mixed: Vec<Mixed>,
    pub(super) rewriting: Option<Rewriting>,
    pub(super) long_writes: Option<LongWrites>,
    pub(super) write_buffer: Option<WriteBuffer>,
    pub(super) beside: Vec<ReadsBesideWrites>,
}

/// Random operations: number outstanding, and share of reads.
#[derive(Clone, Copy)]
pub(super) struct Load {
    pub(super) bytes: u64,
    pub(super) depth: u32,
    pub(super) read_share: f64,
    /// Number of sectors, from the beginning of the device, that the operations use.
    pub(super) sectors: u64,
}

/// The results of a round, or of several.
#[derive(Clone, Copy, Default)]
pub(super) struct Round {
    seconds: f64,
    /// By [`Op`]: number of completed operations, and the sum of their times, ns.
    done: [(u64, f64); 2],
}

impl Round {
    pub(super) fn per_s(&self, op: Op) -> f64 {
        self.done[place(op)].0 as f64 / self.seconds.max(1e-9)
    }

    fn mean_ns(&self, op: Op) -> f64 {
        let (count, sum) = self.done[place(op)];
        sum / count.max(1) as f64
    }

    fn all_per_s(&self) -> f64 {
        self.per_s(Op::Read) + self.per_s(Op::Write)
    }

    fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        for (sum, more) in self.done.iter_mut().zip(other.done) {
            sum.0 += more.0;
            sum.1 += more.1;
        }
    }

    fn random(&self, op: Op, load: &Load, steady: bool) -> Random {
        let (mean_ns, per_s) = (self.mean_ns(op), self.per_s(op));
        Random { bytes: load.bytes, depth: load.depth, mean_ns, per_s, steady }
    }
}

const fn place(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

/// Measures a device that holds `depth` operations at once.
pub(super) fn measure(name: &str, profile: &Profile, depth: u32) -> Steady {
    let mut bench = Bench::new(name, profile);
    let sectors = bench.sectors;
    let load = |bytes: u64, depth: u32, read_share: f64| Load { bytes, depth, read_share, sectors };
    // the last number is what the device holds at once, if that is less than the highest of the list
    let within = |depths: &[u32]| -> Vec<u32> {
        let most = depths.iter().copied().max().unwrap_or(1).min(depth.max(1));
        let fewer = depths.iter().copied().filter(|&at| at < most);
        fewer.chain([most]).collect()
    };
    let mut random = [Vec::new(), Vec::new()];
    for bytes in SIZES {
        for depth in within(&READS) {
            let load = load(bytes, depth, 1.0);
            let (round, steady) = bench.steady(&load);
            random[0].push(round.random(Op::Read, &load, steady));
        }
    }
    let idle = idle_reads(&mut bench, profile);
    let places = if matches!(profile, Profile::Array(_)) { super::PLACES } else { FEW_PLACES };
    let stream_reads = bench.streams(Op::Read, places, 24);
    let mut filling = bench.fill(profile, FILLING.0);
    let mut mixed = Vec::new();
    for bytes in SIZES {
        if keeps_sizes_apart(profile) {
            bench = Bench::new(name, profile);
            filling = bench.fill(profile, bytes);
        }
        // the largest number outstanding comes first, so that the buffer stays full
        bench.top_up(profile, &filling);
        for depth in within(&WRITES).into_iter().rev() {
            let load = load(bytes, depth, 0.0);
            let (round, steady) = bench.steady(&load);
            random[1].push(round.random(Op::Write, &load, steady));
        }
        let shares = if MIXED_SIZES.contains(&bytes) { &SHARES[..] } else { &[] };
        for depth in within(&MIXED) {
            for &read_share in shares {
                bench.top_up(profile, &filling);
                let load = load(bytes, depth, read_share);
                bench.settle(profile, &filling, &load);
                let (round, steady) = bench.steady(&load);
                let ops = [Op::Read, Op::Write];
                mixed.push(Mixed {
                    bytes,
                    depth,
                    read_share,
                    mean_ns: ops.map(|op| round.mean_ns(op)),
                    per_s: ops.map(|op| round.per_s(op)),
                    steady,
                });
            }
        }
    }
    random[1].sort_by_key(|point| (point.bytes, point.depth));
    let stream_writes = bench.streams(Op::Write, places, 24);
    let (write_buffer, beside) = bench.buffering(profile, &filling, &random[1], idle);
    let rewriting = bench.rewriting(profile, write_buffer.as_ref());
    let long_writes = match profile {
        // what was written again leaves blocks that are cheap to collect, so this needs a drive of its own
        Profile::Ssd(ssd) => {
            let mut bench = Bench::new(name, profile);
            bench.fill(profile, FILLING.0);
            bench.long_writes(ssd.capacity)
        }
        _ => None,
    };
    Steady {
        stream_bytes_per_s: [stream_reads, stream_writes],
        random,
        mixed,
        rewriting,
        long_writes,
        write_buffer,
        beside,
    }
}

/// Whether the device is an array with a write cache. There the data of a stripe leave together, so what is
/// measured with one size must not follow writes of another.
fn keeps_sizes_apart(profile: &Profile) -> bool {
    let Profile::Array(array) = profile else { return false };
    array.cache.as_ref().is_some_and(|cache| cache.write.is_some())
}

/// Times of reads on an idle device that has a write buffer, by size.
fn idle_reads(bench: &mut Bench, profile: &Profile) -> Vec<(u64, Vec<f64>)> {
    if !matches!(profile, Profile::Ssd(_)) {
        return Vec::new();
    }
    let mut times = |bytes: u64| {
        let sectors = bytes / SECTOR_BYTES;
        let mut one = || {
            let lbn = bench.anywhere(sectors);
            bench.one(Op::Read, lbn, sectors)
        };
        (bytes, (0..READS_BESIDE).map(|_| one()).collect())
    };
    BESIDE.map(&mut times).into()
}

/// Whether the last rounds agree: their operations a second differ by at most 20 % of their mean, and
/// the line through them by at most 10 %.
fn is_steady(rates: &[f64]) -> bool {
    let Some(window) = rates.len().checked_sub(WINDOW).map(|from| &rates[from..]) else {
        return false;
    };
    let count = WINDOW as f64;
    let mean = window.iter().sum::<f64>() / count;
    let most = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = window.iter().copied().fold(f64::INFINITY, f64::min);
    let middle = (count - 1.0) / 2.0;
    let (mut products, mut squares) = (0.0, 0.0);
    for (at, rate) in window.iter().enumerate() {
        let off = at as f64 - middle;
        products += off * (rate - mean);
        squares += off * off;
    }
    let rise = (products / squares * (count - 1.0)).abs();
    most - least <= EXCURSION * mean && rise <= SLOPE * mean
}

/// Points of the distribution of some values, from the least to the greatest.
pub(super) fn quantiles(mut found: Vec<f64>) -> [f64; QUANTILES] {
    found.sort_by(f64::total_cmp);
    std::array::from_fn(|place| quantile(&found, place as f64 / (QUANTILES - 1) as f64))
}

/// A quantile of sorted values, interpolated linearly.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len() - 1;
    let at = share * last as f64;
    let below = (at as usize).min(last.saturating_sub(1));
    let part = at - below as f64;
    sorted[below] * (1.0 - part) + sorted[(below + 1).min(last)] * part
}

/// Times of reads, ns, beside writes at this share of their highest rate.
fn reads_of(bytes: u64, write_share: f64, mut times: Vec<f64>) -> ReadsBesideWrites {
    times.sort_by(f64::total_cmp);
    let tail_ns = TAIL.iter().map(|share| quantile(&times, *share)).collect();
    let mean_ns = Some(times.iter().sum::<f64>() / times.len() as f64);
    ReadsBesideWrites { bytes, write_share, tail_ns, mean_ns, quantiles_ns: quantiles(times) }
}

/// How fast the buffer was filled.
struct Filling {
    /// Seconds and bytes since the beginning, at several times.
    taken: Vec<(f64, f64)>,
    /// Bytes a second after it was full: in the last quarter of what was written.
    when_full: f64,
}

impl Filling {
    fn of(taken: Vec<(f64, f64)>) -> Self {
        let last = taken.last().copied().unwrap_or((0.0, 0.0));
        let from = taken.iter().find(|(_, bytes)| *bytes >= 0.75 * last.1);
        let from = from.copied().unwrap_or((0.0, 0.0));
        let when_full = (last.1 - from.1) / (last.0 - from.0).max(1e-9);
        Self { taken, when_full }
    }
}

impl Bench {
    /// Measures rounds until they agree. Returns the sum of the last rounds, and whether they agreed.
    fn steady(&mut self, load: &Load) -> (Round, bool) {
        // a round of a mix must have many operations of each kind
        let mixed = load.read_share > 0.0 && load.read_share < 1.0;
        let most = if mixed { ROUND.1 } else { (ROUND_BYTES / load.bytes).clamp(ROUND.0, ROUND.1) };
        let most = most.max(2 * u64::from(load.depth));
        let begin = self.now;
        let (mut rounds, mut rates) = (Vec::new(), Vec::new());
        let mut under_way = self.begin(load);
        loop {
            let from = self.now;
            let mut round = self.round(load, &mut under_way, most, begin + PATIENCE);
            // a fast device's round goes on, because its dies are programmed in waves of several milliseconds
            let until = (from + ROUND_TIME).min(begin + PATIENCE);
            let more = self.round(load, &mut under_way, ROUND_MOST, until);
            round.add(&more);
            rounds.push(round);
            rates.extend(rounds.last().map(Round::all_per_s));
            let steady = is_steady(&rates);
            if steady || rounds.len() == MAX_ROUNDS || self.now >= begin + PATIENCE {
                if mixed {
                    let until = self.now + MIXED_FOR;
                    rounds.push(self.round(load, &mut under_way, MIXED_MOST, until));
                }
                self.end();
                let mut window = Round::default();
                let from = rounds.len().saturating_sub(WINDOW);
                rounds[from..].iter().for_each(|round| window.add(round));
                return (window, steady);
            }
        }
    }

    /// Measures one round of `operations` operations.
    fn once(&mut self, load: &Load, operations: u64) -> Round {
        let mut under_way = self.begin(load);
        let patience = self.now + PATIENCE;
        let round = self.round(load, &mut under_way, operations, patience);
        self.end();
        round
    }

    /// Measures a number of operations. Before them, as many operations as are outstanding are done and not
    /// counted.
    pub(super) fn after_the_first(&mut self, load: &Load, operations: u64) -> Round {
        let mut under_way = self.begin(load);
        let patience = self.now + PATIENCE;
        self.round(load, &mut under_way, u64::from(load.depth), patience);
        let round = self.round(load, &mut under_way, operations, patience);
        self.end();
        round
    }

    /// Starts operations up to the load's depth. Returns the direction and start time of each.
    fn begin(&mut self, load: &Load) -> Vec<(Op, SimTime)> {
        (0..load.depth).map(|tag| self.draw(load, tag)).collect()
    }

    fn draw(&mut self, load: &Load, tag: u32) -> (Op, SimTime) {
        let sectors = load.bytes / SECTOR_BYTES;
        let op = match load.read_share {
            share if share >= 1.0 => Op::Read,
            share if share <= 0.0 => Op::Write,
            share if self.stream.chance(share) => Op::Read,
            _ => Op::Write,
        };
        let lbn = self.stream.below((load.sectors / sectors).max(1)) * sectors;
        self.submit(op, lbn, sectors, tag);
        (op, self.now)
    }

    /// Measures a number of operations, fewer if `until` comes first.
    fn round(
        &mut self,
        load: &Load,
        under_way: &mut [(Op, SimTime)],
        operations: u64,
        until: SimTime,
    ) -> Round {
        let (from, mut round) = (self.now, Round::default());
        for _ in 0..operations {
            let Some(tag) = self.step(until) else { break };
            let (op, since) = under_way[tag as usize];
            let sum = &mut round.done[place(op)];
            sum.0 += 1;
            sum.1 += (self.now - since).as_ns() as f64;
            under_way[tag as usize] = self.draw(load, tag);
        }
        round.seconds = (self.now - from).as_secs_f64();
        round
    }

    /// Waits for outstanding operations.
    pub(super) fn end(&mut self) {
        // the bench may not have seen all completions yet
        while self.under_way > 0 {
            if self.step(SimTime::from_ns(u64::MAX)).is_none() {
                break;
            }
        }
    }

    /// Writes `bytes` bytes at a time at random places, until the buffer must have been full according to its
    /// size in the data sheet.
    fn fill(&mut self, profile: &Profile, bytes: u64) -> Filling {
        let depth = FILLING.1;
        let load = Load { bytes, depth, read_share: 0.0, sectors: self.sectors };
        let promised = match profile {
            Profile::Ssd(ssd) => 2 * ssd.buffer.get(),
            Profile::Array(array) => array::fill(self, array, bytes),
            _ => 0,
        };
        let began = self.now;
        let (mut under_way, mut taken) = (self.begin(&load), vec![(0.0, 0.0)]);
        let mut sum = 0;
        while sum < promised {
            let round = self.round(&load, &mut under_way, 16, SimTime::from_ns(u64::MAX));
            sum += round.done[place(Op::Write)].0 * bytes;
            taken.push(((self.now - began).as_secs_f64(), sum as f64));
        }
        self.end();
        Filling::of(taken)
    }

    /// Fills the buffer of a solid-state drive again.
    fn top_up(&mut self, profile: &Profile, filling: &Filling) {
        let Profile::Ssd(ssd) = profile else { return };
        let (bytes, depth) = FILLING;
        let load = Load { bytes, depth, read_share: 0.0, sectors: self.sectors };
        let mut under_way = self.begin(&load);
        for _ in 0..2 * ssd.buffer.get() / (16 * bytes) + 1 {
            let round = self.round(&load, &mut under_way, 16, SimTime::from_ns(u64::MAX));
            if round.per_s(Op::Write) * bytes as f64 <= FASTER * filling.when_full {
                break;
            }
        }
        self.end();
    }

    /// Applies a load until the buffer of a solid-state drive has the level at which this load keeps it.
    /// Three times the time to drain a full buffer is enough. Without this, rounds would agree too early,
    /// while the device still drains earlier writes.
    fn settle(&mut self, profile: &Profile, filling: &Filling, load: &Load) {
        let Profile::Ssd(ssd) = profile else { return };
        let drained_s = ssd.buffer.get() as f64 / filling.when_full.max(1.0);
        let until = self.now + SimSpan::from_secs_f64(SETTLES * drained_s).min(PATIENCE);
        let mut under_way = self.begin(load);
        self.round(load, &mut under_way, u64::MAX, until);
        self.end();
    }

    /// Measures how fast writes are accepted until the buffer is full, and times of reads beside writes.
    fn buffering(
        &mut self,
        profile: &Profile,
        filling: &Filling,
        writes: &[Random],
        idle: Vec<(u64, Vec<f64>)>,
    ) -> (Option<WriteBuffer>, Vec<ReadsBesideWrites>) {
        // without power-loss protection, a write is complete only when it is in flash: nothing is buffered
        if !matches!(profile, Profile::Ssd(ssd) if ssd.power_loss_protection) {
            return (None, Vec::new());
        }
        let most_per_s = |bytes: u64| {
            let here = writes.iter().filter(|point| point.bytes == bytes);
            here.map(|point| point.per_s).fold(1.0, f64::max)
        };
        let bytes_per_s = most_per_s(FILLING.0) * FILLING.0 as f64;
        let ahead = filling.taken.iter().map(|(seconds, bytes)| bytes - seconds * bytes_per_s);
        let room = ahead.fold(0.0, f64::max);
        let mut beside = Vec::new();
        for (bytes, times) in idle {
            beside.push(reads_of(bytes, 0.0, times));
            for write_share in SHARES_BESIDE {
                // first, the buffer drains
                self.pause(SimSpan::from_secs_f64(1.5 * room / bytes_per_s));
                let per_s = write_share * most_per_s(WRITES_BESIDE.0);
                // few reads wait beside few writes, so more reads are measured
                let count = (READS_BESIDE as f64 / write_share) as usize;
                let every = Some(SimSpan::from_secs_f64(1.0 / per_s));
                let times = self.reads_beside(bytes, count, every);
                beside.push(reads_of(bytes, write_share, times));
            }
            self.top_up(profile, filling);
            let times = self.reads_beside(bytes, READS_BESIDE, None);
            beside.push(reads_of(bytes, 1.0, times));
        }
        let mut burst = Vec::new();
        for bytes in SIZES {
            for depth in [1, 16] {
                let (load, most) = (
                    Load { bytes, depth, read_share: 0.0, sectors: self.sectors },
                    (room / 4.0 / bytes as f64) as u64,
                );
                if most < 2 * u64::from(depth) {
                    continue;
                }
                self.pause(SimSpan::from_secs_f64(1.5 * room / bytes_per_s));
                let round = self.once(&load, most.min(64));
                burst.push(round.random(Op::Write, &load, true));
            }
        }
        let fastest = |bytes: u64| {
            let here = burst.iter().filter(|point| point.bytes == bytes);
            here.map(|point| point.per_s).fold(0.0, f64::max)
        };
        let is_faster = SIZES.iter().any(|&bytes| fastest(bytes) > FASTER * most_per_s(bytes));
        if !is_faster {
            return (None, Vec::new());
        }
        (Some(WriteBuffer { bytes: room as u64, burst }), beside)
    }

    /// For a solid-state drive: writes to a small part of it, again and again.
    fn rewriting(&mut self, profile: &Profile, buffer: Option<&WriteBuffer>) -> Option<Rewriting> {
        let Profile::Ssd(ssd) = profile else { return None };
        let room = buffer.map_or(0, |buffer| buffer.bytes);
        let (least, times) = PART_LEAST;
        let part = (least.max(times * room) / SECTOR_BYTES).min(self.sectors / PART_MOST);
        let load =
            |(bytes, depth): (u64, u32)| Load { bytes, depth, read_share: 0.0, sectors: part };
        let (filling, most) = (load(FILLING), ssd.capacity.get() / REWRITTEN.1);
        let (mut written, mut rates) = (0, Vec::new());
        while written < REWRITTEN.0.min(most) {
            let round = self.once(&filling, PIECES);
            written += round.done[place(Op::Write)].0 * filling.bytes;
            rates.push((written, round.per_s(Op::Write)));
        }
        let random = REWRITING.map(|bytes| {
            let load = load((bytes, FILLING.1));
            let (round, steady) = self.steady(&load);
            round.random(Op::Write, &load, steady)
        });
        let middle = rates.first()?.1.midpoint(rates.last()?.1);
        let after_bytes = rates.iter().find(|(_, per_s)| *per_s >= middle)?.0;
        Some(Rewriting { after_bytes, random: random.into() })
    }

    /// For a solid-state drive that was written at random: a long run of sequential writes.
    fn long_writes(&mut self, capacity: Bytes) -> Option<LongWrites> {
        let (bytes, depth) = FILLING;
        let sectors = bytes / SECTOR_BYTES;
        let (least, most, part) = IN_A_RUN;
        let length = (capacity.get() / part).clamp(least, most).min(capacity.get() / 8);
        let pieces = length / (PIECE * bytes);
        if pieces < 8 {
            return None;
        }
        let from = self.sectors / 2 / sectors * sectors;
        let mut next = 0;
        let mut write = |bench: &mut Self, tag: u32| {
            bench.submit(Op::Write, from + next * sectors, sectors, tag);
            next += 1;
        };
        (0..depth).for_each(|tag| write(self, tag));
        let mut rates = Vec::new();
        for _ in 0..pieces {
            let began = self.now;
            for _ in 0..PIECE {
                let tag = self.step(SimTime::from_ns(u64::MAX))?;
                write(self, tag);
            }
            let seconds = (self.now - began).as_secs_f64();
            rates.push((PIECE * bytes) as f64 / seconds.max(1e-9));
        }
        self.end();
        // a drive collects in waves, which get longer with the run; the parts do so, too
        let piece_bytes = PIECE * bytes;
        let bounds = [0, 1, 2, 4, 8, 16].map(|sixteenths| rates.len() * sixteenths / 16);
        let mean = |part: &[f64]| {
            part.len() as f64 / part.iter().map(|rate| rate.recip()).sum::<f64>().max(1e-12)
        };
        let parts = bounds.windows(2).filter(|ends| ends[0] < ends[1]);
        let parts = parts.map(|ends| {
            let middle = (ends[0] + ends[1]) as u64 * piece_bytes / 2;
            (middle, mean(&rates[ends[0]..ends[1]]))
        });
        Some(LongWrites { rates: parts.collect() })
    }

    /// Times of single reads beside writes. The writes come at a fixed interval, or as fast as the device
    /// accepts them.
    fn reads_beside(&mut self, bytes: u64, count: usize, every: Option<SimSpan>) -> Vec<f64> {
        const READER: u32 = u32::MAX;
        let (sectors, (write_bytes, writers)) = (bytes / SECTOR_BYTES, WRITES_BESIDE);
        let write_sectors = write_bytes / SECTOR_BYTES;
        let write = |bench: &mut Self| {
            let lbn = bench.anywhere(write_sectors);
            bench.submit(Op::Write, lbn, write_sectors, 0);
        };
        let read = |bench: &mut Self| {
            let lbn = bench.anywhere(sectors);
            bench.submit(Op::Read, lbn, sectors, READER);
            bench.now
        };
        if every.is_none() {
            (0..writers).for_each(|_| write(self));
        }
        let mut next_write = every.map(|_| self.now);
        let mut since = read(self);
        // the first reads are not counted, because the collection of garbage still depends on earlier writes
        let (settling, wanted) = (count / 2, count + count / 2);
        let mut times = Vec::with_capacity(wanted);
        while times.len() < wanted {
            let until = next_write.unwrap_or(SimTime::from_ns(u64::MAX));
            match self.step(until) {
                Some(READER) => {
                    times.push((self.now - since).as_ns() as f64);
                    since = read(self);
                }
                Some(_) if every.is_none() => write(self),
                Some(_) => {}
                None => {
                    let (Some(at), Some(every)) = (next_write, every) else { break };
                    self.now = at;
                    write(self);
                    next_write = Some(at + self.stream.exponential(every));
                }
            }
        }
        self.end();
        times.split_off(settling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_that_agree_are_steady() {
        assert!(!is_steady(&[100.0; 4]));
        assert!(is_steady(&[900.0, 100.0, 104.0, 96.0, 108.0, 100.0]));
        // the smallest and the largest differ by 21 %
        assert!(!is_steady(&[100.0, 111.0, 90.0, 100.0, 100.0]));
        // each is 3 % higher than the last, 12 % in total
        assert!(!is_steady(&[94.0, 97.0, 100.0, 103.0, 106.0]));
        assert!(is_steady(&[96.0, 98.0, 100.0, 102.0, 104.0]));
    }
}
