//! Characteristics of a trace: sizes, sequentiality, footprint, reuse, burstiness. They are computed in
//! one pass and in constant memory.
//!
//! - *Sequential*: a request that begins where the previous one ended; *in a stream*: one that begins
//!   where one of the last 64 requests ended (interleaved sequential streams).
//! - *Footprint and reuse* count pages of 4 KiB. If a trace touches more than 2^19 pages, only a sample
//!   of the pages is tracked, chosen by a hash of their addresses (SHARDS, Waldspurger et al. 2015).
//!   The rate is halved whenever the sample is full, so figures are exact up to that size, and
//!   estimates with an error below 1 % above. A reference is one request's touch of one page; a reuse
//!   gap is the number of requests of the trace between two touches of a page.
//! - *Burstiness*: the squared coefficient of variation of the gaps between arrivals (1 for Poisson
//!   arrivals), and the index of dispersion of counts: variance divided by mean of the number of
//!   arrivals in windows of a given length (also 1 for Poisson arrivals, at all lengths). Windows
//!   shorter than the resolution of the trace's clock are meaningless.
//! - *Pictures*: counts over time and over addresses, in a fixed number of cells whose width is doubled
//!   whenever the trace exceeds them.

use foretell_units::{Bytes, SimTime};
use hashbrown::HashTable;

use crate::{Op, Request};

/// Number of request ends that are remembered to recognise streams.
pub(super) const STREAMS: usize = 64;
/// Highest number of tracked pages.
pub(super) const MAX_PAGES: usize = 1 << 19;
/// Bytes of a page.
const PAGE: u64 = 4096;
/// Number of different sizes that are counted exactly; further ones are counted by powers of two.
const MAX_SIZES: usize = 4096;
/// Highest number of pages of one request that are examined, spread evenly over it: a request of 4 GiB
/// has 2²⁰.
const MAX_PAGES_PER_REQUEST: u64 = 4096;
/// Windows of the index of dispersion, in nanoseconds.
const WINDOWS_NS: [u64; 4] = [10_000_000, 100_000_000, 1_000_000_000, 60_000_000_000];
/// Number of cells of a series.
const CELLS: usize = 512;
/// Numbers of cells of a heat map: time, addresses.
const HEAT: (usize, usize) = (256, 128);

/// Count, mean and variance of a quantity (Welford 1962).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let off = value - self.mean;
        self.mean += off / self.count as f64;
        self.squares += off * (value - self.mean);
    }

    /// Adds `count` zeros together.
    fn add_zeros(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        let (before, added) = (self.count as f64, count as f64);
        self.count += count;
        let total = self.count as f64;
        self.squares += self.mean * self.mean * before * added / total;
        self.mean *= before / total;
    }

    /// The mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The variance; `None` with fewer than two values.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// Variance divided by squared mean; `None` if that is meaningless.
    pub fn squared_variation(&self) -> Option<f64> {
        self.variance().filter(|_| self.mean > 0.0).map(|variance| variance / self.mean.powi(2))
    }

    /// Variance divided by mean; `None` if that is meaningless.
    pub fn dispersion(&self) -> Option<f64> {
        self.variance().filter(|_| self.mean > 0.0).map(|variance| variance / self.mean)
    }
}

/// Number of requests of each size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SizeCounts {
    /// (size, count), sorted by size.
    counts: Vec<(u64, u64)>,
    total: u64,
    /// Index of the previous size: traces often repeat it.
    last: usize,
}

impl SizeCounts {
    fn add(&mut self, size: u64) {
        self.total += 1;
        if let Some((known, count)) = self.counts.get_mut(self.last)
            && *known == size
        {
            *count += 1;
            return;
        }
        let size = if self.counts.len() < MAX_SIZES { size } else { self.rounded(size) };
        match self.counts.binary_search_by_key(&size, |(size, _)| *size) {
            Ok(index) => {
                self.counts[index].1 += 1;
                self.last = index;
            }
            Err(index) => {
                self.counts.insert(index, (size, 1));
                self.last = index;
            }
        }
    }

    /// The size itself if it is known, else the next power of two.
    fn rounded(&self, size: u64) -> u64 {
        let known = self.counts.binary_search_by_key(&size, |(size, _)| *size).is_ok();
        if known { size } else { size.checked_next_power_of_two().unwrap_or(u64::MAX) }
    }

    /// Total number of requests.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Sizes and their counts, in increasing order.
    pub fn counts(&self) -> &[(u64, u64)] {
        &self.counts
    }

    /// The size that a share `q` of the requests does not exceed; `None` without requests.
    pub fn quantile(&self, q: f64) -> Option<Bytes> {
        let wanted = ((self.total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        self.counts
            .iter()
            .find(|(_, count)| {
                seen += count;
                seen >= wanted
            })
            .map(|(size, _)| Bytes(*size))
    }

    /// The most frequent size, and its share.
    pub fn most_common(&self) -> Option<(Bytes, f64)> {
        let (size, count) = self.counts.iter().max_by_key(|(size, count)| (count, !size))?;
        Some((Bytes(*size), *count as f64 / self.total as f64))
    }
}

/// Numbers of reads and writes over time, in cells of equal width.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    width_ns: u64,
    cells: Vec<[u64; 2]>,
}

impl Series {
    fn new() -> Self {
        Self { width_ns: 1_000_000, cells: Vec::new() }
    }

    fn add(&mut self, at: SimTime, op: Op) {
        while at.as_ns() / self.width_ns >= CELLS as u64 {
            self.width_ns *= 2;
            let halves = self.cells.chunks(2);
            self.cells = halves
                .map(|pair| {
                    pair.iter().fold([0, 0], |sum, cell| [sum[0] + cell[0], sum[1] + cell[1]])
                })
                .collect();
        }
        let cell = (at.as_ns() / self.width_ns) as usize;
        if cell >= self.cells.len() {
            self.cells.resize(cell + 1, [0, 0]);
        }
        self.cells[cell][op as usize] += 1;
    }

    /// Seconds in a cell.
    pub fn width_s(&self) -> f64 {
        self.width_ns as f64 / 1e9
    }

    /// Numbers of reads and writes in each cell.
    pub fn cells(&self) -> &[[u64; 2]] {
        &self.cells
    }
}

/// Numbers of requests over time (or order, without times) and addresses.
#[derive(Clone, PartialEq, Debug)]
pub struct Heat {
    across: u64,
    up: u64,
    /// Row by row from the lowest address.
    counts: Vec<u64>,
}

impl Heat {
    fn new() -> Self {
        Self { across: 1, up: PAGE, counts: vec![0; HEAT.0 * HEAT.1] }
    }

    fn add(&mut self, x: u64, address: u64) {
        let (columns, rows) = HEAT;
        while x / self.across >= columns as u64 {
            self.across = self.across.saturating_mul(2);
            self.fold(|column, row| (column / 2, row));
        }
        while address / self.up >= rows as u64 {
            self.up = self.up.saturating_mul(2);
            self.fold(|column, row| (column, row / 2));
        }
        let (column, row) = ((x / self.across) as usize, (address / self.up) as usize);
        self.counts[row * columns + column] += 1;
    }

    fn fold(&mut self, to: impl Fn(usize, usize) -> (usize, usize)) {
        let columns = HEAT.0;
        let mut folded = vec![0; self.counts.len()];
        for (index, count) in self.counts.iter().enumerate() {
            let (column, row) = to(index % columns, index / columns);
            folded[row * columns + column] += count;
        }
        self.counts = folded;
    }

    /// Number of cells in each dimension.
    pub fn shape(&self) -> (usize, usize) {
        HEAT
    }

    /// Requests in a cell.
    pub fn at(&self, column: usize, row: usize) -> u64 {
        self.counts[row * HEAT.0 + column]
    }

    /// Width of a cell (nanoseconds, or requests without times) and its height (bytes).
    pub fn cell(&self) -> (u64, u64) {
        (self.across, self.up)
    }
}

/// The reuse of pages.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reuse {
    /// Number of different pages touched.
    pub pages: u64,
    /// Number of these read at least once.
    pub pages_read: u64,
    /// Number of these written at least once.
    pub pages_written: u64,
    /// Number of touches of pages.
    pub references: u64,
    /// Share of the touches whose page was touched before.
    pub reused: f64,
    /// Share of the different pages that are touched only once.
    pub touched_once: f64,
    /// Number of touches by the gap since the last touch of their page, for reads and for writes: entry
    /// i counts gaps from 2^i to below 2^(i+1) requests.
    pub gaps: Vec<[u64; 2]>,
    /// Share of the pages that was tracked; at 1 the figures are exact.
    pub sample: f64,
}

impl Reuse {
    /// The gap, in requests, that a share `q` of the reuses does not exceed (up to a factor of two);
    /// `None` if no page is reused.
    pub fn gap_quantile(&self, q: f64) -> Option<u64> {
        let total: u64 = self.gaps.iter().flatten().sum();
        let wanted = ((total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.gaps.iter().position(|counts| {
            seen += counts.iter().sum::<u64>();
            seen >= wanted
        })?;
        Some((1_u64 << bucket).saturating_mul(2) - 1)
    }
}

/// A tracked page.
#[derive(Clone, Copy, Debug)]
struct Page {
    number: u64,
    /// The last request that touched it.
    last: u64,
    /// 1: read, 2: written, 4: touched more than once.
    flags: u8,
}

/// The tracked pages, and the results.
#[derive(Debug)]
struct Pages {
    table: HashTable<Page>,
    /// Pages with a hash below this are tracked.
    below: u64,
    touches: u64,
    again: u64,
    /// Counts for reads and for writes.
    gaps: Vec<[u64; 2]>,
}

/// Spreads page numbers (the finalizer of `SplitMix64`; Steele et al. 2014).
fn spread(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Pages {
    fn new() -> Self {
        Self { table: HashTable::new(), below: u64::MAX, touches: 0, again: 0, gaps: Vec::new() }
    }

    /// The table must not use the hash that chooses the sample: its high bits would be alike.
    fn slot(number: u64) -> u64 {
        spread(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn touch(&mut self, number: u64, request: u64, op: Op) {
        if spread(number) > self.below {
            return;
        }
        self.touches += 1;
        let direction = if op == Op::Read { 1 } else { 2 };
        let slot = Self::slot(number);
        if let Some(page) = self.table.find_mut(slot, |page| page.number == number) {
            let bucket = (request - page.last).max(1).ilog2() as usize;
            page.last = request;
            page.flags |= direction | 4;
            self.again += 1;
            if bucket >= self.gaps.len() {
                self.gaps.resize(bucket + 1, [0; 2]);
            }
            self.gaps[bucket][usize::from(op == Op::Write)] += 1;
            return;
        }
        if self.table.len() >= MAX_PAGES {
            self.halve();
            if spread(number) > self.below {
                return;
            }
        }
        let page = Page { number, last: request, flags: direction };
        self.table.insert_unique(slot, page, |page| Self::slot(page.number));
    }

    /// Tracks half as many pages from now on. Counts of the dropped pages are scaled down, as if the
    /// new rate had been used from the beginning.
    fn halve(&mut self) {
        self.below /= 2;
        let below = self.below;
        self.table.retain(|page| spread(page.number) <= below);
        self.touches /= 2;
        self.again /= 2;
        self.gaps.iter_mut().flatten().for_each(|count| *count /= 2);
    }

    fn reuse(&self) -> Reuse {
        let sample = self.below as f64 / u64::MAX as f64;
        let scaled = |count: u64| (count as f64 / sample).round() as u64;
        let (mut read, mut written, mut once) = (0, 0, 0);
        for page in &self.table {
            read += u64::from(page.flags & 1);
            written += u64::from(page.flags >> 1 & 1);
            once += u64::from(page.flags & 4 == 0);
        }
        let pages = self.table.len() as u64;
        let share =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        Reuse {
            pages: scaled(pages),
            pages_read: scaled(read),
            pages_written: scaled(written),
            references: scaled(self.touches),
            reused: share(self.again, self.touches),
            touched_once: share(once, pages),
            gaps: self.gaps.iter().map(|counts| counts.map(scaled)).collect(),
            sample,
        }
    }
}

/// Arrivals in windows of one length.
#[derive(Clone, Copy, Debug)]
struct Window {
    length_ns: u64,
    /// Index of the window that is being counted.
    index: u64,
    count: u64,
    most: u64,
    counts: Moments,
}

impl Window {
    fn new(length_ns: u64) -> Self {
        Self { length_ns, index: 0, count: 0, most: 0, counts: Moments::default() }
    }

    fn add(&mut self, at_ns: u64) {
        let index = at_ns / self.length_ns;
        if index > self.index {
            self.counts.add(self.count as f64);
            self.counts.add_zeros(index - self.index - 1);
            self.index = index;
            self.count = 0;
        }
        self.count += 1;
        self.most = self.most.max(self.count);
    }
}

/// Collects a trace's requests for a [`Profile`].
#[derive(Debug)]
pub struct Profiler {
    requests: [u64; 2],
    bytes: [u64; 2],
    sizes: [SizeCounts; 2],
    sequential: u64,
    streamed: u64,
    ends: [u64; STREAMS],
    lowest: u64,
    highest: u64,
    last: Option<SimTime>,
    /// The smallest gap above zero: the resolution of the trace's clock.
    least_gap: u64,
    gaps: Moments,
    windows: [Window; WINDOWS_NS.len()],
    pages: Pages,
    series: Series,
    heat: Heat,
}

impl Default for Profiler {
    fn default() -> Self {
        Self::new()
    }
}

impl Profiler {
    /// An empty profiler.
    pub fn new() -> Self {
        Self {
            requests: [0; 2],
            bytes: [0; 2],
            sizes: [SizeCounts::default(), SizeCounts::default()],
            sequential: 0,
            streamed: 0,
            ends: [u64::MAX; STREAMS],
            lowest: u64::MAX,
            highest: 0,
            last: None,
            least_gap: u64::MAX,
            gaps: Moments::default(),
            windows: WINDOWS_NS.map(Window::new),
            pages: Pages::new(),
            series: Series::new(),
            heat: Heat::new(),
        }
    }

    /// Adds the next request of the trace. Times must not decrease, as those of a
    /// [`TraceReader`](super::TraceReader) never do.
    pub fn add(&mut self, request: Request) {
        let access = request.access;
        let (op, offset, size) = (access.op, access.offset.get(), access.size.get());
        let number = self.requests[0] + self.requests[1];
        self.requests[op as usize] += 1;
        self.bytes[op as usize] = self.bytes[op as usize].saturating_add(size);
        self.sizes[op as usize].add(size);
        let before = self.ends[(number as usize).wrapping_sub(1) % STREAMS];
        self.sequential += u64::from(offset == before);
        self.streamed += u64::from(self.ends.contains(&offset));
        self.ends[number as usize % STREAMS] = access.end().get();
        self.lowest = self.lowest.min(offset);
        self.highest = self.highest.max(access.end().get());
        if let Some(at) = request.at {
            if let Some(last) = self.last {
                let gap = at.saturating_since(last);
                self.gaps.add(gap.as_secs_f64());
                if !gap.is_zero() {
                    self.least_gap = self.least_gap.min(gap.as_ns());
                }
            }
            self.last = Some(at);
            for window in &mut self.windows {
                window.add(at.as_ns());
            }
            self.series.add(at, op);
        }
        self.heat.add(request.at.map_or(number, SimTime::as_ns), offset);
        let (first, end) = (offset / PAGE, access.end().get().div_ceil(PAGE));
        let step = (end - first).div_ceil(MAX_PAGES_PER_REQUEST).max(1);
        let mut page = first;
        while page < end {
            self.pages.touch(page, number, op);
            page += step;
        }
    }

    /// The characteristics of the trace.
    pub fn finish(self) -> Profile {
        let requests: u64 = self.requests.iter().sum();
        let share = |count: u64| if requests == 0 { 0.0 } else { count as f64 / requests as f64 };
        let seconds = self.last.map(SimTime::as_secs_f64);
        let dispersions = self.windows.iter().map(|window| {
            // the last window is incomplete, and not counted
            let is_long_enough = window.length_ns >= self.least_gap;
            let dispersion = window.counts.dispersion().filter(|_| is_long_enough);
            (window.length_ns as f64 / 1e9, dispersion, window.most)
        });
        Profile {
            requests: self.requests,
            bytes: self.bytes.map(Bytes),
            sequential: share(self.sequential),
            streamed: share(self.streamed),
            lowest: Bytes(if requests == 0 { 0 } else { self.lowest }),
            highest: Bytes(self.highest),
            seconds,
            clock_s: (self.least_gap < u64::MAX).then(|| self.least_gap as f64 / 1e9),
            gaps: self.gaps,
            dispersions: dispersions.collect(),
            reuse: self.pages.reuse(),
            sizes: self.sizes,
            series: self.series,
            heat: self.heat,
        }
    }
}

/// Characteristics of a trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// Number of reads, of writes.
    pub requests: [u64; 2],
    /// Bytes read, written; limited to 2⁶⁴ − 1.
    pub bytes: [Bytes; 2],
    /// Sizes of reads, of writes.
    pub sizes: [SizeCounts; 2],
    /// Share of the requests that begin where the previous one ended.
    pub sequential: f64,
    /// Share of the requests that begin where one of the last 64 ended.
    pub streamed: f64,
    /// The lowest byte requested.
    pub lowest: Bytes,
    /// The byte after the highest requested.
    pub highest: Bytes,
    /// Time from the first request to the last; `None`: no times.
    pub seconds: Option<f64>,
    /// The smallest gap above zero between two arrivals, seconds: the resolution of the trace's clock.
    pub clock_s: Option<f64>,
    /// Gaps between arrivals, seconds.
    pub gaps: Moments,
    /// By length of window, seconds: index of dispersion of counts, and highest number of arrivals in
    /// one window.
    pub dispersions: Vec<(f64, Option<f64>, u64)>,
    /// The reuse of pages.
    pub reuse: Reuse,
    /// Requests over time.
    pub series: Series,
    /// Requests over time and addresses.
    pub heat: Heat,
}

impl Profile {
    /// Squared coefficient of variation of the gaps between arrivals; `None` if the trace's clock is
    /// too coarse for it, or there are no times.
    pub fn gap_variation(&self) -> Option<f64> {
        let clock_is_fine =
            self.clock_s.zip(self.gaps.mean()).is_some_and(|(clock, mean)| clock <= mean);
        self.gaps.squared_variation().filter(|_| clock_is_fine)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use foretell_units::Seed;

    use super::*;
    use crate::Access;
    use crate::arrivals::{Bursty, OpenLoop, RequestRate};

    fn request(at_ns: u64, op: Op, offset: u64, size: u64) -> Request {
        let access = Access { op, offset: Bytes(offset), size: Bytes(size) };
        Request { at: Some(SimTime::from_ns(at_ns)), access }
    }

    fn profile(requests: impl IntoIterator<Item = Request>) -> Profile {
        let mut profiler = Profiler::new();
        requests.into_iter().for_each(|request| profiler.add(request));
        profiler.finish()
    }

    #[test]
    fn sequential_and_streamed_requests_are_told() {
        // two interleaved sequential streams: no request continues the previous one, but all except the
        // two first ones are in a stream
        let interleaved = (0..20).flat_map(|i| {
            [request(i, Op::Read, i * 4096, 4096), request(i, Op::Write, (1 << 30) + i * 512, 512)]
        });
        let found = profile(interleaved);
        assert!(found.sequential.abs() < 1e-12);
        assert!((found.streamed - 38.0 / 40.0).abs() < 1e-12);
        assert_eq!((found.requests, found.bytes[1]), ([20, 20], Bytes(20 * 512)));
        assert_eq!(found.sizes[0].quantile(0.5), Some(Bytes(4096)));
        assert_eq!(found.sizes[1].most_common(), Some((Bytes(512), 1.0)));
    }

    #[test]
    fn oracle_footprint_and_reuse_are_those_of_a_naive_count() {
        let mut stream = Seed(2).stream("profile");
        let requests: Vec<Request> = (0..5_000)
            .map(|i| {
                let op = if stream.chance(0.5) { Op::Read } else { Op::Write };
                request(i, op, stream.below(3_000) * 1000, 1 + stream.below(20_000))
            })
            .collect();
        let mut last: BTreeMap<u64, usize> = BTreeMap::new();
        let (mut touches, mut again, mut gaps) = (0, 0, vec![[0_u64; 2]; 13]);
        let mut written = BTreeSet::new();
        for (number, request) in requests.iter().enumerate() {
            let access = request.access;
            for page in access.offset.get() / 4096..access.end().get().div_ceil(4096) {
                touches += 1;
                if access.op == Op::Write {
                    written.insert(page);
                }
                if let Some(before) = last.insert(page, number) {
                    again += 1;
                    let gap = &mut gaps[(number - before).max(1).ilog2() as usize];
                    gap[usize::from(access.op == Op::Write)] += 1;
                }
            }
        }
        let found = profile(requests).reuse;
        assert_eq!((found.pages, found.references), (last.len() as u64, touches));
        assert_eq!(found.pages_written, written.len() as u64);
        assert!((found.reused - f64::from(again) / touches as f64).abs() < 1e-12);
        gaps.truncate(found.gaps.len());
        assert_eq!((found.gaps, found.sample), (gaps, 1.0));
    }

    #[test]
    fn reuses_count_for_the_direction_that_uses_a_page_again() {
        // written, then read, read, written again, one request apart
        let ops = [Op::Write, Op::Read, Op::Read, Op::Write];
        let found = profile((0..).zip(ops).map(|(i, op)| request(i, op, 0, 4096))).reuse;
        assert_eq!(found.gaps, [[2, 1]]);
    }

    #[test]
    fn a_trace_larger_than_the_sample_is_estimated() {
        // 3 × 2¹⁹ pages, each touched twice: half of the touches are reuses, all 2¹⁹ × 3 requests apart
        let pages = 3 * MAX_PAGES as u64;
        let found =
            profile((0..2 * pages).map(|i| request(i, Op::Read, i % pages * 4096, 4096))).reuse;
        assert!(found.sample < 1.0, "{}", found.sample);
        assert!((found.pages as f64 / pages as f64 - 1.0).abs() < 0.01, "{}", found.pages);
        assert!((found.reused - 0.5).abs() < 0.01, "{}", found.reused);
        // log2(3 × 2¹⁹) is 20.6
        assert_eq!(found.gap_quantile(0.5), Some((1 << 21) - 1));
    }

    #[test]
    fn poisson_arrivals_are_not_bursty_and_bursts_are() {
        let of = |arrivals: OpenLoop| {
            let mut gaps = arrivals.gaps(Seed(3).stream("gaps"));
            let mut at = 0;
            profile((0..200_000).map(|_| {
                at += gaps.next_interarrival().as_ns();
                request(at, Op::Read, 0, 1)
            }))
        };
        let poisson = of(OpenLoop::Poisson(RequestRate::per_s(100.0).unwrap()));
        assert!((poisson.gaps.squared_variation().unwrap() - 1.0).abs() < 0.03);
        for (length, dispersion, _) in &poisson.dispersions[..3] {
            assert!((dispersion.unwrap() - 1.0).abs() < 0.1, "{length} {dispersion:?}");
        }
        let second = foretell_units::SimSpan::from_secs(1);
        let bursty = of(OpenLoop::Bursty(Bursty::new(10.0, second, 1000.0, second).unwrap()));
        assert!(bursty.gaps.squared_variation().unwrap() > 2.0);
        // at one second counts are about 10 or 1000: the dispersion is in the hundreds
        assert!(bursty.dispersions[2].1.unwrap() > 100.0);
    }

    #[test]
    fn pictures_hold_every_request_however_long_the_trace() {
        let found = profile((0..10_000_u64).map(|i| request(i * i * 1_000, Op::Write, i << 20, 1)));
        let in_series: u64 = found.series.cells().iter().map(|cell| cell[1]).sum();
        let (columns, rows) = found.heat.shape();
        let in_heat: u64 = (0..columns)
            .flat_map(|x| (0..rows).map(move |y| (x, y)))
            .map(|(x, y)| found.heat.at(x, y))
            .sum();
        assert_eq!((in_series, in_heat), (10_000, 10_000));
        assert!(found.series.cells().len() <= CELLS);
    }

    #[test]
    fn zeros_in_a_row_are_counted_as_one_by_one() {
        let (mut fast, mut slow) = (Moments::default(), Moments::default());
        for value in [3.0, 5.0] {
            fast.add(value);
            slow.add(value);
        }
        fast.add_zeros(4);
        (0..4).for_each(|_| slow.add(0.0));
        assert!(
            (fast.mean - slow.mean).abs() < 1e-12 && (fast.squares - slow.squares).abs() < 1e-9
        );
    }

    #[test]
    fn nothing_is_profiled_without_a_fault() {
        let found = profile([]);
        assert_eq!((found.requests, found.seconds, found.lowest), ([0, 0], None, Bytes(0)));
        assert_eq!(found.sizes[0].quantile(0.5), None);
        assert_eq!(found.reuse.gap_quantile(0.5), None);
    }
}
