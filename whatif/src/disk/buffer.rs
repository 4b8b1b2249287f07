//! A write buffer, as far as measurements tell: it fills as fast as writes come, and drains as fast as
//! the device keeps up with writes in its steady state, more slowly beside reads.
//!
//! What is written again while it is there takes no more room and is drained once. A read beside writes takes
//! longer, as was measured of reads beside as many writes. Left out: that what is being drained has to be
//! drained again when it is written again, and that reads find what is there.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use foretell_units::{SimSpan, SimTime, Stream};
use hashbrown::HashMap;

use super::measurement::{Beside, Measurement, Mixed, QUANTILES, Random};

/// Shortest moment over which it is told how busy the device is with writes, ns.
const SHORTEST: f64 = 1e6;
/// How long it is remembered how busy the device is with reads, ns (assumed: tens of reads of a disk,
/// hundreds of a solid-state drive).
const REMEMBERED: f64 = 5e7;
/// However many reads there are, so much of the pace is left (assumed).
const LEAST_PACE: f64 = 0.05;
/// A write that takes longer than so many times of one that finds room has waited for room.
const WAITED: f64 = 3.0;

/// A write buffer and what drains it.
#[derive(Debug)]
pub(super) struct Buffer {
    room: u64,
    held: u64,
    /// What is held, in the order in which it leaves.
    leaving: VecDeque<Leaving>,
    /// By number of a page: when it has left.
    pages: HashMap<u64, SimTime, FixedState>,
    /// By size in bytes: how long the device drains a write, ns.
    drain: Vec<(f64, f64)>,
    /// By how much draining is slower beside reads that take all of the device.
    slowed: f64,
    /// By size in bytes of a read: by share of writes, how long it takes.
    beside: Vec<(f64, Vec<Waits>)>,
    /// Until when it drains what is there.
    until: SimTime,
    /// How busy the device is with draining, and with reading, as far as is remembered at `seen`.
    draining: f64,
    reading: f64,
    seen: SimTime,
    /// A moment, ns.
    moment: f64,
    /// When a write last found nothing to drain.
    empty_at: SimTime,
    /// When it was looked at last for how it fills, and how long it would have drained then.
    marked: (SimTime, SimSpan),
}

/// A write that is held.
#[derive(Clone, Copy, Debug)]
struct Leaving {
    /// When it has left.
    at: SimTime,
    /// Bytes that it takes.
    bytes: u64,
    /// Its pages.
    first: u64,
    count: u64,
}

/// Pieces in which what came in a time that was passed over leaves, at the most.
const MOST_PIECES: u64 = 4096;

/// Bytes of a page, by which writes are known again.
const PAGE: u64 = 4096;

/// How long reads take beside such a share of all writes that are possible, ns.
type Waits = (f64, [f64; QUANTILES]);

impl Buffer {
    /// `read_share_ns`: time of the whole device that a read of a size in bytes takes.
    pub(super) fn new(measured: &Measurement, read_share_ns: impl Fn(f64) -> f64) -> Option<Self> {
        let known = measured.write_buffer.as_ref()?;
        let drain = most_per_s(&measured.random[1]);
        let drain: Vec<(f64, f64)> =
            drain.into_iter().map(|(bytes, per_s)| (bytes, 1e9 / per_s)).collect();
        let mut beside: Vec<(f64, Vec<Waits>)> = Vec::new();
        for Beside { bytes, write_share, quantiles_ns } in &measured.beside {
            let bytes = *bytes as f64;
            let waits = (*write_share, *quantiles_ns);
            match beside.iter_mut().find(|(known, _)| known.total_cmp(&bytes).is_eq()) {
                Some((_, all)) => all.push(waits),
                None => beside.push((bytes, vec![waits])),
            }
        }
        beside.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (_, all) in &mut beside {
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        // about as long as a read waits for what the device is writing
        let longest = |all: &[Waits]| {
            let last = all.last().map_or(0.0, |(_, times)| times[QUANTILES / 2]);
            last - all.first().map_or(0.0, |(_, times)| times[QUANTILES / 2])
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

    /// Remembers how full it is, for [`Self::pass_over`].
    pub(super) fn mark(&mut self, now: SimTime) {
        self.marked = (now, self.until.saturating_since(now));
    }

    /// A time is passed over that is `longer` times as long as that since it was marked. What comes faster than
    /// it is drained fills it at the same rate; whose backlog comes and goes is as full afterwards.
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
        let each = (bytes / MOST_PIECES).max(PAGE);
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
        // since `seen` it was busy first and idle then, and what is longer ago counts less
        let idle = now.saturating_since(self.until.max(self.seen)).as_ns() as f64;
        let left = (-passed / self.moment).exp();
        self.draining = self.draining * left + ((-idle / self.moment).exp() - left);
        self.reading *= (-passed / REMEMBERED).exp();
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

    /// Takes a write at a byte of the device; when there is room for it, and how long it will keep the device
    /// busy.
    pub(super) fn take(&mut self, now: SimTime, from: u64, bytes: u64) -> (SimTime, SimSpan) {
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
        let pace = (1.0 - self.slowed * self.reading).max(LEAST_PACE);
        let work = SimSpan::from_ns((by_size(&self.drain, bytes as f64) / pace) as u64);
        let at = self.until.max(now) + work;
        self.until = at;
        self.held += bytes;
        self.leaving.push_back(Leaving { at, bytes, first, count });
        for page in first..first + count {
            // what was there leaves when it would have
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

    /// How much longer a read takes for the writes beside it, ns; `share_ns`: time of the whole device that
    /// it takes.
    ///
    /// Drawn from what was measured of the nearest shares of writes and sizes, of each as often as it is near.
    /// Most reads beside few writes wait for none and some for a die that is being programmed; between two
    /// measured points there are more of those, not longer waits of all.
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

/// One of the two neighbours of a value, drawn: the nearer, the oftener.
fn near<'a, T>(known: &'a [(f64, T)], value: f64, draws: &mut Stream) -> Option<&'a (f64, T)> {
    let last = known.len().checked_sub(1)?;
    let above = known.partition_point(|(at, _)| *at < value);
    let (low, high) = (&known[above.saturating_sub(1)], &known[above.min(last)]);
    let part =
        if high.0 > low.0 { ((value - low.0) / (high.0 - low.0)).clamp(0.0, 1.0) } else { 0.0 };
    Some(if draws.chance(part) { high } else { low })
}

/// By how much longer a read takes than beside no writes, ns, that takes longer than a part `chance` of its like.
fn waits(times: &[f64; QUANTILES], idle: &[f64; QUANTILES], chance: f64) -> f64 {
    let at = chance * (QUANTILES - 1) as f64;
    let below = (at as usize).min(QUANTILES - 2);
    let rest = at - below as f64;
    let of = |times: &[f64; QUANTILES]| times[below] * (1.0 - rest) + times[below + 1] * rest;
    (of(times) - of(idle)).max(0.0)
}

/// By how much writes are slower beside reads that take the whole device: what fits those mixes best in
/// which writes waited for room.
fn slowed(
    mixed: &[Mixed],
    burst: &[Random],
    drain: &[(f64, f64)],
    read_share_ns: impl Fn(f64) -> f64,
) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for point in mixed {
        let bytes = point.bytes as f64;
        let alone = burst.iter().filter(|known| known.bytes == point.bytes);
        let alone = alone.map(|known| known.mean_ns).fold(f64::INFINITY, f64::min);
        if point.mean_ns[1] > WAITED * alone {
            let reading = point.per_s[0] * read_share_ns(bytes) / 1e9;
            let pace = point.per_s[1] * by_size(drain, bytes) / 1e9;
            products += reading * (1.0 - pace);
            squares += reading * reading;
        }
    }
    if squares > 0.0 { (products / squares).clamp(0.0, 1.0) } else { 0.0 }
}

/// By size in bytes, the most operations a second of those that were measured.
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

/// The value for a size, in a straight line between and beyond those that are known; below the smallest
/// as there.
pub(super) fn by_size(known: &[(f64, f64)], bytes: f64) -> f64 {
    let Some(last) = known.len().checked_sub(1) else { return 0.0 };
    let above = known.partition_point(|(at, _)| *at < bytes).clamp(1.min(last), last);
    let (low, high) = (known[above.saturating_sub(1)], known[above]);
    if bytes <= known[0].0 || high.0 <= low.0 {
        return known[0].1;
    }
    (low.1 + (high.1 - low.1) * (bytes - low.0) / (high.0 - low.0)).max(0.0)
}
