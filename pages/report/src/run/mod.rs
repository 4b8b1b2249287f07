//! A run, read once from its store. Memory is bounded by bins, histograms and samples, not by the number
//! of records.

mod grid;
mod requests;
mod resources;
mod spans;

use foretell_ati::{Facts, Record, RecordKind, Requests as Kept, RunDb, StoreError, open_run};
use foretell_sorted::SortedMap;
use foretell_units::Breadcrumb;

use crate::words::cut;

pub(crate) use self::grid::Grid;
pub use self::requests::Completed;
pub(crate) use self::requests::{OfWorkload, Requests, Seen};
pub(crate) use self::resources::{Part, Resources};
pub(crate) use self::spans::{Charged, Spans, What};

/// Number of requests of a workload whose time is broken down for the mean, and for the tail.
const CHARGED: usize = 1000;
/// The slowest share of the sampled requests of a workload, which counts as its tail.
const TAIL: f64 = 0.01;
/// Maximum number of workloads whose time is broken down.
const CHARGED_WORKLOADS: usize = 8;

/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 256;
/// Maximum number of records kept of a request.
const MAX_RECORDS: usize = 65_536;

/// Breakdown of the time of a workload's requests.
#[derive(Debug)]
pub(crate) struct Breakdown {
    /// Number of the workload.
    pub workload: u32,
    /// The breakdown over all requests.
    pub mean: Charged,
    /// The breakdown over the slowest 1 % of the requests.
    pub tail: Charged,
}

/// Statistics from the records of a run.
#[derive(Debug)]
pub struct Observed {
    /// The facts that an operator knows.
    pub facts: Facts,
    /// The measured time in bins.
    pub(crate) grid: Grid,
    /// One in this number of requests was recorded; 0: none.
    pub(crate) one_in: u32,
    /// Response times and throughput of clients, if requests were recorded.
    pub(crate) requests: Option<Requests>,
    /// Activity of resources, if all requests were recorded.
    pub(crate) resources: Option<Resources>,
    /// Breakdowns of time, by workload.
    pub(crate) breakdowns: Vec<Breakdown>,
    /// A request near the median of each workload, for comparison with the slowest.
    pub(crate) typical: Vec<Completed>,
    /// All records of the requests of [`Observed::wanted`], ordered by time.
    pub records: SortedMap<u64, Vec<Record>>,
    /// Notes about what cannot be shown, and why.
    pub(crate) gaps: Vec<String>,
}

/// Reads a run's records.
///
/// Errors as the store does: it may be damaged, or written by another program.
pub fn observe(db: &RunDb) -> Result<Observed, StoreError> {
    let facts = db.facts()?;
    let time = |path: &str| facts.integer(path).map(i64::unsigned_abs);
    let (warmup, measured) = (time("warmup")?, time("measured")?);
    let selection = db.selection()?;
    let one_in = match selection.requests() {
        Kept::All => 1,
        Kept::OneIn(some) => some.get(),
        Kept::None => 0,
    };
    let count = db.count(RecordKind::Request)? / 2;
    let grid = Grid::new(warmup, measured, count);
    let mut observed = Observed {
        facts,
        grid,
        one_in,
        requests: None,
        resources: None,
        breakdowns: Vec::new(),
        typical: Vec::new(),
        records: SortedMap::new(),
        gaps: Vec::new(),
    };
    if one_in == 0 {
        observed.gaps.push(
            "The run kept no records (`--no-records`, or `record = \"none\"`). Nothing over time, no \
             percentiles beyond the 99th, and no single requests can be shown."
                .to_owned(),
        );
        return Ok(observed);
    }
    let has = |kind| selection.kinds().contains(kind);
    if has(RecordKind::Request) {
        let requests = requests::read(db, &grid)?;
        observed.typical = typical(&requests);
        observed.requests = Some(requests);
    } else {
        observed.gaps.push(
            "The run did not record requests (`record` leaves the type `request` out). What clients saw \
             over time and single requests cannot be shown."
                .to_owned(),
        );
    }
    if one_in > 1 {
        observed.gaps.push(format!(
            "The run recorded one request in {one_in}. Percentiles and time lines are of these; how busy \
             resources were over time, and hit rates, cannot be shown, because other requests used them, too."
        ));
    }
    observed.read_resources(db, &has)?;
    observed.shorten_names();
    Ok(observed)
}

impl Observed {
    /// Requests whose paths a page shows: the typical ones, then the slowest.
    pub fn wanted(&self) -> Vec<Completed> {
        let slowest = self.requests.iter().flat_map(|requests| &requests.slowest);
        self.typical.iter().chain(slowest).copied().collect()
    }

    /// Shortens names that are longer than any scenario's: each step of each request would hold a copy.
    fn shorten_names(&mut self) {
        let facts = &mut self.facts;
        let hosts = facts.hosts.iter_mut().map(|host| &mut host.name);
        let workloads = facts.workloads.iter_mut().map(|workload| &mut workload.name);
        let processes = facts.processes.iter_mut().map(|process| &mut process.name);
        for name in hosts.chain(workloads).chain(processes) {
            if name.len() > LONGEST_NAME {
                *name = cut(name, LONGEST_NAME);
            }
        }
    }

    fn read_resources(
        &mut self,
        db: &RunDb,
        has: &impl Fn(RecordKind) -> bool,
    ) -> Result<(), StoreError> {
        let sampled = self.requests.as_ref().map(sample).unwrap_or_default();
        let breadcrumbs = sampled.iter().flat_map(|(_, mean, tail)| mean.iter().chain(tail));
        let mut spans = Spans::of(breadcrumbs.map(|request| request.breadcrumb));
        let mut found = Resources::default();
        let (facts, grid) = (&self.facts, &self.grid);
        let mut missing = Vec::new();
        // switches are half of all records, so they are read in parallel through a store of their own
        let mut of_processors = spans.empty();
        let mut processors = Resources::default();
        let has_switches = has(RecordKind::KernelProcessSwitch);
        let beside = open_run(db.path())?;
        let (spans_beside, found_beside) = (&mut of_processors, &mut processors);
        std::thread::scope(|scope| {
            let switches = scope.spawn(move || {
                if !has_switches {
                    return Ok(());
                }
                resources::processors(&beside, facts, grid, found_beside, spans_beside)
            });
            if has(RecordKind::DiskOp) {
                resources::disks(db, grid, &mut found, &mut spans)?;
            } else {
                missing.push("disks");
            }
            if has(RecordKind::NetworkTransmit) {
                resources::links(db, facts, grid, &mut found, &mut spans)?;
            } else {
                missing.push("links");
            }
            if has(RecordKind::BufferReadHit) && has(RecordKind::BufferReadMiss) {
                resources::caches(db, grid, &mut found)?;
            } else {
                missing.push("caches");
            }
            switches.join().expect("a reader does not panic")
        })?;
        if !has_switches {
            missing.push("processors");
        }
        spans.absorb(of_processors);
        found.too_many |= processors.too_many;
        found.by_resource.extend(processors.by_resource);
        if !missing.is_empty() {
            self.gaps.push(format!(
                "The run did not record what its {} did (`record` leaves those types out).",
                missing.join(", ")
            ));
        }
        if missing.iter().all(|what| *what == "caches") {
            self.breakdowns = sampled
                .iter()
                .map(|(workload, mean, tail)| Breakdown {
                    workload: *workload,
                    mean: spans.charge(mean),
                    tail: spans.charge(tail),
                })
                .collect();
        } else if self.requests.is_some() {
            self.gaps.push(
                "Where the time of requests goes needs the records of disks, links and processors."
                    .to_owned(),
            );
        }
        if found.too_many {
            self.gaps.push("There are more resources than can be followed over time.".to_owned());
        }
        self.records = whole(db, &self.wanted())?;
        self.resources = (self.one_in == 1).then_some(found);
        Ok(())
    }
}

/// All records of these requests, ordered by time.
fn whole(db: &RunDb, requests: &[Completed]) -> Result<SortedMap<u64, Vec<Record>>, StoreError> {
    let breadcrumbs: Vec<_> = requests.iter().map(|one| Breadcrumb(one.breadcrumb)).collect();
    let mut whole: SortedMap<u64, Vec<Record>> = SortedMap::new();
    for kind in RecordKind::ALL {
        db.scan_requests(kind, &breadcrumbs, |record| {
            let records = whole.entry(record.header.breadcrumb.0).or_default();
            if records.len() < MAX_RECORDS {
                records.push(*record);
            }
        })?;
    }
    for records in whole.values_mut() {
        records.sort_by_key(|record| (record.header.ts_ns, record.header.host));
    }
    Ok(whole)
}

/// By workload: the requests whose time is broken down, for the mean and for the tail.
fn sample(requests: &Requests) -> Vec<(u32, Vec<Completed>, Vec<Completed>)> {
    let mut workloads: Vec<_> = requests.by_workload.iter().collect();
    workloads.sort_by_key(|(number, seen)| (u64::MAX - seen.all.requests(), **number));
    workloads.truncate(CHARGED_WORKLOADS);
    workloads.sort_by_key(|(number, _)| **number);
    workloads
        .into_iter()
        .map(|(number, seen)| {
            let sample = seen.sample();
            let mean = sample.iter().take(CHARGED).copied().collect();
            let mut slowest = sample;
            slowest.sort_unstable_by(|a, b| b.cmp(a));
            let tail = ((slowest.len() as f64 * TAIL).ceil() as usize).max(1);
            slowest.truncate(tail);
            (*number, mean, slowest)
        })
        .collect()
}

/// The median request among the sampled requests of each of the first workloads.
fn typical(requests: &Requests) -> Vec<Completed> {
    let middle = |seen: &OfWorkload| {
        let mut sample = seen.sample();
        sample.sort_unstable();
        sample.get(sample.len() / 2).copied()
    };
    requests.by_workload.values().take(2).filter_map(middle).collect()
}
