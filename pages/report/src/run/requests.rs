//! Statistics of clients' requests, from one pass over the table `request`: distributions by workload
//! and operation, rates and response times over time, outstanding requests, a sample of requests, and
//! the slowest.
//!
//! Memory is bounded: it holds histograms, bins, a sample of fixed size, and outstanding requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_ati::{Body, Phase, RecordKind, RunDb, StoreError};
use foretell_sorted::SortedMap;
use foretell_units::Op;
use hashbrown::HashMap;
use hdrhistogram::{Counter, Histogram};

use super::grid::{Grid, Integral};

/// Maximum number of workloads shown separately. A cluster has fewer; a hostile store may have any
/// number.
const MAX_WORKLOADS: usize = 64;
/// Maximum number of outstanding requests that are followed.
const MAX_OUTSTANDING: usize = 4 << 20;
/// Number of requests of a workload that are sampled.
const SAMPLE: usize = 20_000;
/// Number of slowest requests that are kept.
const SLOWEST: usize = 4;
/// Longest response time: longer ones count as this, 1000 s.
const MAX_NS: u64 = 1_000_000_000_000;

/// A request that was completed in the measured time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Completed {
    /// Time from issue to completion.
    pub response_ns: u64,
    /// Its breadcrumb, a unique number.
    pub breadcrumb: u64,
    /// Time at which it was issued.
    pub issued_ns: u64,
    /// Number of its workload, as in `workloads`.
    pub workload: u32,
    /// Whether it wrote.
    pub is_write: bool,
    /// Bytes asked for.
    pub bytes: u64,
}

/// Requests of a workload, or of one operation of it.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Response times in nanoseconds, to three digits.
    pub times: Histogram<u64>,
    /// Exact sum of the response times.
    pub sum_ns: u128,
    /// Bytes asked for.
    pub bytes: u128,
    /// By bin: requests completed.
    pub completed: Vec<u64>,
    /// By bin: bytes.
    pub moved: Vec<f64>,
}

impl Seen {
    fn new(grid: &Grid) -> Self {
        Self {
            times: histogram(3),
            sum_ns: 0,
            bytes: 0,
            completed: vec![0; grid.bins],
            moved: vec![0.0; grid.bins],
        }
    }

    fn add(&mut self, bin: usize, request: &Completed) {
        count(&mut self.times, request.response_ns);
        self.sum_ns += u128::from(request.response_ns);
        self.bytes += u128::from(request.bytes);
        self.completed[bin] += 1;
        self.moved[bin] += request.bytes as f64;
    }

    /// Requests completed.
    pub(crate) fn requests(&self) -> u64 {
        self.times.len()
    }

    /// Mean response time in milliseconds.
    pub(crate) fn mean_ms(&self) -> Option<f64> {
        (self.requests() > 0).then(|| self.sum_ns as f64 / self.requests() as f64 / 1e6)
    }

    /// The response time in milliseconds that a share of the requests did not exceed.
    pub(crate) fn quantile_ms(&self, share: f64) -> Option<f64> {
        (self.requests() > 0).then(|| self.times.value_at_quantile(share) as f64 / 1e6)
    }
}

/// The requests of a workload.
#[derive(Debug)]
pub(crate) struct OfWorkload {
    /// All its requests.
    pub all: Seen,
    /// Its reads and its writes.
    pub by_op: [Seen; 2],
    /// By bin: response times to two digits.
    pub over_time: Vec<Histogram<u32>>,
    /// Outstanding requests.
    pub under_way: Integral,
    /// A random sample of its requests: those with the smallest hashes.
    sample: BinaryHeap<(u64, Completed)>,
}

impl OfWorkload {
    fn new(grid: &Grid) -> Self {
        let bin = histogram(2);
        Self {
            all: Seen::new(grid),
            by_op: [Seen::new(grid), Seen::new(grid)],
            over_time: vec![bin; grid.bins],
            under_way: Integral::new(grid),
            sample: BinaryHeap::new(),
        }
    }

    /// A random sample, in random order.
    pub(crate) fn sample(&self) -> Vec<Completed> {
        let mut all: Vec<_> = self.sample.iter().copied().collect();
        all.sort_unstable();
        all.into_iter().map(|(_, request)| request).collect()
    }
}

/// The requests of all workloads.
#[derive(Debug)]
pub(crate) struct Requests {
    /// By workload number.
    pub by_workload: SortedMap<u32, OfWorkload>,
    /// The slowest requests of all, the slowest first.
    pub slowest: Vec<Completed>,
}

/// Reads the requests of a store.
pub(crate) fn read(db: &RunDb, grid: &Grid) -> Result<Requests, StoreError> {
    let mut under_way: HashMap<u64, (u64, u32), foldhash::fast::FixedState> = HashMap::default();
    let mut by_workload: SortedMap<u32, OfWorkload> = SortedMap::new();
    let mut slowest: BinaryHeap<Reverse<Completed>> = BinaryHeap::new();
    db.scan(RecordKind::Request, |record| {
        let Body::Request { workload, op, size, phase, .. } = record.body else { return };
        let (breadcrumb, ts) = (record.header.breadcrumb.0, record.header.ts_ns);
        if phase == Phase::Issue {
            if under_way.len() < MAX_OUTSTANDING {
                under_way.insert(breadcrumb, (ts, workload));
            }
            return;
        }
        let Some((issued_ns, _)) = under_way.remove(&breadcrumb) else { return };
        if !by_workload.contains_key(&workload) && by_workload.len() == MAX_WORKLOADS {
            return;
        }
        let seen = by_workload.entry(workload).or_insert_with(|| OfWorkload::new(grid));
        seen.under_way.add(grid, issued_ns, ts, 1.0);
        let Some(bin) = grid.bin(ts) else { return };
        let is_write = op == Op::Write;
        let response_ns = ts.saturating_sub(issued_ns);
        let request =
            Completed { response_ns, breadcrumb, issued_ns, workload, is_write, bytes: size };
        seen.all.add(bin, &request);
        seen.by_op[usize::from(is_write)].add(bin, &request);
        count(&mut seen.over_time[bin], response_ns);
        keep_least(&mut seen.sample, SAMPLE, (mixed(breadcrumb), request));
        if slowest.len() < SLOWEST {
            slowest.push(Reverse(request));
        } else if slowest.peek().is_some_and(|least| least.0 < request) {
            slowest.pop();
            slowest.push(Reverse(request));
        }
    })?;
    // requests outstanding at the end count as outstanding until the end
    let mut left: Vec<(u64, u32)> = under_way.into_values().collect();
    left.sort_unstable();
    for (issued_ns, workload) in left {
        if let Some(seen) = by_workload.get_mut(&workload) {
            seen.under_way.add(grid, issued_ns, grid.end_ns(), 1.0);
        }
    }
    let mut slowest: Vec<_> = slowest.into_iter().map(|Reverse(request)| request).collect();
    slowest.sort_unstable_by(|a, b| b.cmp(a));
    by_workload.retain(|_, seen| seen.all.requests() > 0);
    Ok(Requests { by_workload, slowest })
}

/// An empty histogram with `digits` significant digits. It grows with its values.
fn histogram<C: Counter>(digits: u8) -> Histogram<C> {
    let mut histogram = Histogram::new(digits).expect("one to five digits are possible");
    histogram.auto(true);
    histogram
}

/// Counts a response time.
fn count<C: Counter>(histogram: &mut Histogram<C>, response_ns: u64) {
    histogram.record(response_ns.clamp(1, MAX_NS)).expect("it grows to that");
}

/// Keeps the `most` smallest items.
fn keep_least<T: Ord>(heap: &mut BinaryHeap<T>, most: usize, item: T) {
    if heap.len() < most {
        heap.push(item);
    } else if heap.peek().is_some_and(|greatest| item < *greatest) {
        heap.pop();
        heap.push(item);
    }
}

/// A pseudorandom number: the finalizer of `SplitMix64` (Steele, Lea and Flood 2014).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
