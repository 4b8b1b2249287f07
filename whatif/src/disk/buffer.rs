//! The model of a write buffer, from measurements. The buffer fills as fast as writes arrive. It drains at
//! the device's steady-state write rate, and more slowly while the device also reads.
//!
//! A page that is rewritten in the buffer takes no additional room and is drained once. Reads take longer
//! while the device writes, as measured at the same rate of writes. Two effects are left out. A page that is
//! rewritten while it is being drained must be drained again. Reads can hit pages in the buffer.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use foretell_sorted::SortedMap;
use foretell_units::{SimSpan, SimTime, Stream};
use hashbrown::HashMap;

use super::measurement::{Measurement, Mixed, QUANTILES, Random, ReadsBesideWrites, TAIL};
use super::rewrites::PAGE;

/// Shortest time constant over which the share of time with writes is averaged, ns.
const SHORTEST: f64 = 1e6;
/// Time constant over which the share of time with reads is averaged, ns (assumed: tens of reads of
/// a disk, hundreds of a solid-state drive).
const REMEMBERED: f64 = 5e7;
/// Share of the draining rate that remains with any number of reads (assumed).
const MIN_PACE: f64 = 0.05;
/// A write that takes more than this many times as long as a write that finds room has waited for room.
const WAITED: f64 = 3.0;

/// A write buffer and what drains it.
#[derive(Debug)]
pub(super) struct Buffer {
    room: u64,
    held: u64,
    /// Held writes, in the order in which they leave.
    leaving: VecDeque<Leaving>,
    /// By page number: when the page leaves.
    pages: HashMap<u64, SimTime, FixedState>,
    /// By size in bytes: time to drain a write, ns.
    drain: Vec<(f64, f64)>,
    /// By size in bytes of a write: share of the draining rate that is lost beside reads that use the whole device.
    slowed: Vec<(f64, f64)>,
    /// By size in bytes of a read and by share of writes: distribution of its response time.
    beside: Vec<(f64, Vec<Waits>)>,
    /// When the buffer will be drained.
    until: SimTime,
    /// Average shares of time in which the device drains, and reads, as of `seen`.
    draining: f64,
    reading: f64,
    seen: SimTime,
    /// Time constant of the average for draining, ns.
    moment: f64,
    /// When a write last found the buffer empty.
    empty_at: SimTime,
    /// Time of the last [`Self::mark`], and how long the buffer would have taken to drain then.
    marked: (SimTime, SimSpan),
}

/// A write in the buffer.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    /// When it leaves.
    at: SimTime,
    /// Bytes of room that it takes.
    bytes: u64,
    /// Its pages.
    first: u64,
    count: u64,
}

/// Maximum number of pieces in which writes of a skipped time leave.
const MAX_PIECES: u64 = 4096;

/// Distribution of read response times beside this share of the highest write rate, ns.
type Waits = (f64, Distribution);

/// A distribution of times.
#[derive(Clone, Debug)]
struct Distribution {
    /// Points with the share of the times that are shorter, and the time in ns.
    points: Vec<(f64, f64)>,
    /// Mean time, ns.
    mean_ns: f64,
    /// Factor of waits with which their mean is the measured one. Between two quantiles, times are drawn as if they were
    /// spread evenly, but most of them are near the shorter one if waiting begins there.
    scale: f64,
}

impl Distribution {
    fn of(known: &ReadsBesideWrites) -> Self {
        let share = |place: usize| place as f64 / (QUANTILES - 1) as f64;
        let mut points: Vec<(f64, f64)> =
            known.quantiles_ns.iter().enumerate().map(|(place, ns)| (share(place), *ns)).collect();
        let longest = points.pop();
        points.extend(TAIL.into_iter().zip(known.tail_ns.iter().copied()));
        points.extend(longest);
        let mean_ns = known.mean_ns.unwrap_or_else(|| evenly_spread(&points));
        Self { points, mean_ns, scale: 1.0 }
    }

    /// The same with waits whose mean is the measured one. `idle`: times without writes.
    fn scaled(self, idle: &Self) -> Self {
        let drawn = evenly_spread(&self.points) - evenly_spread(&idle.points);
        let scale = if drawn > 0.0 { (self.mean_ns - idle.mean_ns) / drawn } else { 1.0 };
        Self { scale: scale.clamp(0.5, 1.5), ..self }
    }

    /// The time at this quantile, interpolated linearly.
    fn at(&self, quantile: f64) -> f64 {
        by_size(&self.points, quantile)
    }
}

/// Mean of times that are spread evenly between these quantiles, ns.
fn evenly_spread(points: &[(f64, f64)]) -> f64 {
    let pairs = points.windows(2);
    pairs.map(|pair| (pair[1].0 - pair[0].0) * f64::midpoint(pair[0].1, pair[1].1)).sum()
}

impl Buffer {
    /// `read_share_ns`: time of the whole device that a read of a size in bytes takes.
    pub(super) fn new(measured: &Measurement, read_share_ns: impl Fn(f64) -> f64) -> Option<Self> {
        let known = measured.write_buffer.as_ref()?;
        let drain = most_per_s(&measured.random[1]);
        let drain: Vec<(f64, f64)> =
            drain.into_iter().map(|(bytes, per_s)| (bytes, 1e9 / per_s)).collect();
        let mut beside: Vec<(f64, Vec<Waits>)> = Vec::new();
        for known in &measured.beside {
            let bytes = known.bytes as f64;
            let waits = (known.write_share, Distribution::of(known));
            match beside.iter_mut().find(|(known, _)| known.total_cmp(&bytes).is_eq()) {
                Some((_, all)) => all.push(waits),
                None => beside.push((bytes, vec![waits])),
            }
        }
        beside.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, all) in &mut beside {
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, idle)) = all.first().cloned() {
                *all = all.drain(..).map(|(share, times)| (share, times.scaled(&idle))).collect();
            }
        }
        // about the time that a read waits for a write in progress
        let longest = |all: &[Waits]| {
            let last = all.last().map_or(0.0, |(_, times)| times.at(0.5));
            last - all.first().map_or(0.0, |(_, times)| times.at(0.5))
        };
        let moment = beside.first().map_or(0.0, |(_, all)| 2.0 * longest(all));
        let slowed = slowed(&measured.mixed, &known.burst, &drain, read_share_ns);
        Some(Self {
            room: known.bytes,
            held: 0,
            leaving: VecDeque::new(),
            pages: HashMap::default(),
            drain,
            slowed,
            beside,
            until: SimTime::ZERO,
            draining: 0.0,
            reading: 0.0,
            seen: SimTime::ZERO,
            moment: moment.max(SHORTEST),
            empty_at: SimTime::ZERO,
            marked: (SimTime::ZERO, SimSpan::ZERO),
        })
    }

    /// Remembers the backlog, for [`Self::pass_over`].
    pub(super) fn mark(&mut self, now: SimTime) {
        self.marked = (now, self.until.saturating_since(now));
    }

    /// Skips a time that is `longer` times as long as the time since the mark. If the backlog grew, it goes
    /// on growing at the same rate. If it came and went, it is the same afterwards.
    pub(super) fn pass_over(&mut self, now: SimTime, longer: f64) {
        self.forget_what_left(now);
        let (since, before) = self.marked;
        let backlog = self.until.saturating_since(now);
        let more = backlog.saturating_sub(before).as_ns() as f64 * longer;
        if self.empty_at >= since || more <= 0.0 || self.held == 0 {
            return;
        }
        let per_ns = self.held as f64 / backlog.as_ns() as f64;
        let bytes = self.room.saturating_sub(self.held).min((more * per_ns) as u64);
        let each = (bytes / MAX_PIECES).max(PAGE);
        let mut left = bytes;
        while left > 0 {
            let bytes = each.min(left);
            left -= bytes;
            self.until += SimSpan::from_ns((bytes as f64 / per_ns) as u64);
            self.held += bytes;
            self.leaving.push_back(Leaving { at: self.until, bytes, first: 0, count: 0 });
        }
    }

    fn look(&mut self, now: SimTime) {
        let passed = now.saturating_since(self.seen).as_ns() as f64;
        if passed <= 0.0 {
            return;
        }
        // since `seen` it was first busy and then idle; earlier times count less
        let idle = now.saturating_since(self.until.max(self.seen)).as_ns() as f64;
        let left = libm::exp(-passed / self.moment);
        self.draining = self.draining * left + (libm::exp(-idle / self.moment) - left);
        self.reading *= libm::exp(-passed / REMEMBERED);
        self.seen = now;
    }

    fn forget_what_left(&mut self, now: SimTime) {
        while let Some(left) = self.leaving.front().filter(|held| held.at <= now).copied() {
            self.leaving.pop_front();
            self.held -= left.bytes;
            for page in left.first..left.first + left.count {
                if self.pages.get(&page) == Some(&left.at) {
                    self.pages.remove(&page);
                }
            }
        }
    }

    /// Takes a write at a byte of the device. Returns when there is room for it, and how long it
    /// keeps the device busy. `share`: its time as a share of that of random writes over the whole device.
    pub(super) fn take(
        &mut self,
        now: SimTime,
        from: u64,
        bytes: u64,
        share: f64,
    ) -> (SimTime, SimSpan) {
        self.look(now);
        self.forget_what_left(now);
        let first = from / PAGE;
        let count = ((from + bytes).div_ceil(PAGE) - first).max(1);
        let is_held = |page: &u64| self.pages.get(page).is_some_and(|at| *at > now);
        let again = (first..first + count).filter(is_held).count() as u64;
        let bytes = bytes * (count - again) / count;
        if bytes == 0 {
            return (now, SimSpan::ZERO);
        }
        if self.until <= now {
            self.empty_at = now;
        }
        let slowed = by_size_within(&self.slowed, bytes as f64);
        let pace = (1.0 - slowed * self.reading).max(MIN_PACE);
        let drained_ns = by_size(&self.drain, bytes as f64) * share / pace;
        let work = SimSpan::from_ns(drained_ns as u64);
        let at = self.until.max(now) + work;
        self.until = at;
        self.held += bytes;
        self.leaving.push_back(Leaving { at, bytes, first, count });
        for page in first..first + count {
            // a page already in the buffer leaves at its earlier time
            let leaves = self.pages.entry(page).or_insert(at);
            if *leaves <= now {
                *leaves = at;
            }
        }
        let mut room_at = now;
        let mut over = self.held.saturating_sub(self.room.max(bytes));
        for held in &self.leaving {
            if over == 0 {
                break;
            }
            room_at = held.at;
            over = over.saturating_sub(held.bytes);
        }
        (room_at, work)
    }

    /// Extra time of a read because of the writes beside it, ns. `share_ns`: time of the whole device that it takes.
    ///
    /// It is drawn from the measurements at the neighbouring sizes and shares of writes. The nearer neighbour
    /// is drawn more often. With few writes, most reads do not wait, and some wait for a die that is being
    /// programmed. With more writes, more reads wait, but the waits do not become longer. So one of two
    /// measured points is drawn, and not a value between them.
    pub(super) fn read(
        &mut self,
        now: SimTime,
        bytes: f64,
        share_ns: f64,
        draws: &mut Stream,
    ) -> f64 {
        self.look(now);
        self.reading = (self.reading + share_ns / REMEMBERED).min(1.0);
        let share = self.draining;
        let Some((_, all)) = near(&self.beside, bytes, draws) else { return 0.0 };
        let Some((_, times)) = near(all, share, draws) else { return 0.0 };
        waits(times, &all[0].1, draws.unit())
    }
}

/// Draws one of the two neighbours of a value; the nearer one more often.
fn near<'a, T>(known: &'a [(f64, T)], value: f64, draws: &mut Stream) -> Option<&'a (f64, T)> {
    let last = known.len().checked_sub(1)?;
    let above = known.partition_point(|(at, _)| *at < value);
    let (low, high) = (&known[above.saturating_sub(1)], &known[above.min(last)]);
    let part =
        if high.0 > low.0 { ((value - low.0) / (high.0 - low.0)).clamp(0.0, 1.0) } else { 0.0 };
    Some(if draws.chance(part) { high } else { low })
}

/// Extra time of a read at quantile `chance`, compared with no writes, ns.
fn waits(times: &Distribution, idle: &Distribution, chance: f64) -> f64 {
    (times.at(chance) - idle.at(chance)).max(0.0) * times.scale
}

/// By size in bytes: share of the write rate that is lost beside reads that use the whole device. It is the best fit to
/// the mixes in which writes waited for room.
fn slowed(
    mixed: &[Mixed],
    burst: &[Random],
    drain: &[(f64, f64)],
    read_share_ns: impl Fn(f64) -> f64,
) -> Vec<(f64, f64)> {
    let mut sums: SortedMap<u64, (f64, f64)> = SortedMap::new();
    for point in mixed {
        let bytes = point.bytes as f64;
        let alone = burst.iter().filter(|known| known.bytes == point.bytes);
        let alone = alone.map(|known| known.mean_ns).fold(f64::INFINITY, f64::min);
        if point.mean_ns[1] > WAITED * alone {
            let reading = point.per_s[0] * read_share_ns(bytes) / 1e9;
            let pace = point.per_s[1] * by_size(drain, bytes) / 1e9;
            let (products, squares) = sums.entry(point.bytes).or_default();
            *products += reading * (1.0 - pace);
            *squares += reading * reading;
        }
    }
    let share = |(bytes, (products, squares)): (u64, (f64, f64))| {
        (bytes as f64, if squares > 0.0 { (products / squares).clamp(0.0, 1.0) } else { 0.0 })
    };
    sums.into_iter().map(share).collect()
}

/// By size in bytes: the highest measured rate, operations a second.
pub(super) fn most_per_s(points: &[Random]) -> Vec<(f64, f64)> {
    let mut sizes: Vec<u64> = points.iter().map(|point| point.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let most = |bytes: u64| {
        let here = points.iter().filter(|point| point.bytes == bytes);
        (bytes as f64, here.map(|point| point.per_s).fold(1.0, f64::max))
    };
    sizes.into_iter().map(most).collect()
}

/// Interpolates linearly by size, and extrapolates beyond the largest. Below the smallest size, its value holds.
pub(super) fn by_size(known: &[(f64, f64)], bytes: f64) -> f64 {
    let Some(last) = known.len().checked_sub(1) else { return 0.0 };
    let above = known.partition_point(|(at, _)| *at < bytes).clamp(1.min(last), last);
    let (low, high) = (known[above.saturating_sub(1)], known[above]);
    if bytes <= known[0].0 || high.0 <= low.0 {
        return known[0].1;
    }
    (low.1 + (high.1 - low.1) * (bytes - low.0) / (high.0 - low.0)).max(0.0)
}

/// Interpolates linearly by size. Below the smallest size and above the largest, their values hold.
fn by_size_within(known: &[(f64, f64)], bytes: f64) -> f64 {
    let largest = known.last().map_or(0.0, |(bytes, _)| *bytes);
    by_size(known, bytes.min(largest))
}
