//! The experiments of paper 002: does the capacity of Ceph and Swift stay constant over mixes of reads
//! and writes, and how well do two points for each size predict the rest?
//!
//! Every mix is simulated. The plain rule is given the two pure points of each size; the
//! bottleneck-aware estimator also the mix that the two points say is balanced, which is then no point
//! that either is judged by. Several sizes are mixed by their share of the requests.

mod load;
mod mixes;
mod sizes;
mod verdict;

use std::collections::BTreeMap;

use foretell_algorithms::message::{SEGMENT_DATA, SEGMENT_WIRE};
use foretell_estimate::{
    Bottleneck, Fault, Knowledge, Links, Point, ReadShare, Series, Survey, WritePath,
};
use foretell_units::{Bytes, Rate};

use super::lab::{self, Results};
use super::plan::Plan;
use super::sheet::Sheet;
use super::write;
use crate::cli::ReproduceArguments;
use crate::directory::write_whole;
use crate::failure::Failure;
use crate::jobs;
use load::{Laboratory, SIZES_KIB, Storage, WORKERS, read_percentages};
use verdict::Verdict;

/// How often each point is measured.
const SEEDS: u64 = 2;
const QUICK_SEEDS: u64 = 1;
/// The adapter of Swift's proxy.
const PROXY_BITS_PER_S: f64 = 10e9;
/// Names of those who estimate.
const ESTIMATORS: [&str; 2] = ["plain", "aware"];
/// Names of the figures' files.
pub(super) const FILES: [&str; 9] =
    ["fig02a", "fig02b", "fig02c", "fig02d", "fig02e", "fig02f", "fig03", "fig04", "fig05"];

/// What is known of one storage system.
struct Known {
    /// Pure points alone, and what the rule makes of them.
    series: Series,
    /// The mix of each size that is told, as the percentage of reads; none: no mixes were needed.
    told: BTreeMap<u32, u32>,
    /// With that.
    aware: Bottleneck,
}

/// What figures need of a storage system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Need {
    Nothing,
    PureLoads,
    AllMixes,
}

/// Runs the experiments.
pub(super) fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let directory = &arguments.output;
    let wanted = |file: &str| arguments.wants(file);
    let laboratory = Laboratory::new(directory, arguments.quick);
    let seeds = if arguments.quick { QUICK_SEEDS } else { SEEDS };
    std::fs::create_dir_all(&laboratory.files)
        .map_err(Failure::file("create", &laboratory.files))?;
    let mut plan = Plan::default();
    for (storage, sizes, reads) in loads(&wanted) {
        if storage == Storage::Swift {
            laboratory.write_file(&sizes, reads)?;
        }
        plan.measure(&laboratory.setup(storage, &sizes, reads));
    }
    let threads = jobs::threads(arguments.jobs);
    let (results, failure) = lab::perform(&plan, seeds, threads, &directory.join("runs"), false);
    laboratory.clear(arguments.keep);
    if let Some(failure) = failure {
        return Err(failure);
    }
    let measured = Measurements { laboratory: &laboratory, results: &results };
    let mut known = BTreeMap::new();
    for storage in Storage::ALL {
        match need(storage, &wanted) {
            Need::Nothing => None,
            of => known.insert(storage, measured.known(storage, of == Need::AllMixes)?),
        };
    }
    let mut sheets = Vec::new();
    for (storage, known) in known.iter().filter(|(_, known)| !known.told.is_empty()) {
        sheets.extend(mixes::sheets(*storage, known, &measured));
    }
    if wanted("fig03") {
        sheets.push(mixes::ratios(&known));
    }
    if wanted("fig04") || wanted("fig05") {
        sheets.extend(sizes::sheets(&known[&Storage::Swift], &measured));
    }
    sheets.retain(|sheet: &Sheet| wanted(sheet.file));
    for sheet in &sheets {
        write(directory, sheet)?;
    }
    let verdict = Verdict::of(&sheets, &known, arguments.quick, seeds);
    write_whole(&directory.join("summary.json"), &crate::output::json(&verdict))?;
    crate::output::print(&verdict.table(directory))
}

fn need(storage: Storage, wanted: &impl Fn(&str) -> bool) -> Need {
    let mixes: &[&str] = match storage {
        Storage::Ceph => &["fig02a", "fig02b", "fig02c"],
        Storage::Swift => &["fig02d", "fig02e", "fig02f", "fig04", "fig05"],
    };
    match (mixes.iter().copied().any(wanted), wanted("fig03")) {
        (true, _) => Need::AllMixes,
        (false, true) => Need::PureLoads,
        (false, false) => Need::Nothing,
    }
}

/// Everything that is simulated for the figures that are wanted.
fn loads(wanted: &impl Fn(&str) -> bool) -> Vec<(Storage, load::Sizes, u32)> {
    let mut loads = Vec::new();
    for storage in Storage::ALL {
        let need = need(storage, wanted);
        let needed = |reads: &u32| match need {
            Need::Nothing => false,
            Need::PureLoads => [0, 100].contains(reads),
            Need::AllMixes => true,
        };
        for kib in SIZES_KIB {
            let reads = read_percentages().filter(needed);
            loads.extend(reads.map(|reads| (storage, vec![(kib, 100)], reads)));
        }
    }
    if wanted("fig04") || wanted("fig05") {
        loads.extend(sizes::loads().map(|(sizes, reads)| (Storage::Swift, sizes, reads)));
    }
    loads
}

/// What was measured.
struct Measurements<'a> {
    laboratory: &'a Laboratory,
    results: &'a Results,
}

impl Measurements<'_> {
    /// Requests a second of each run.
    fn runs(&self, storage: Storage, sizes: &load::Sizes, reads: u32) -> Vec<f64> {
        let setup = self.laboratory.setup(storage, sizes, reads);
        self.results.truths(&setup, |truth| storage.iops(truth))
    }

    /// What those who estimate are told of one storage system; `mixes`: also the balanced ones.
    fn known(&self, storage: Storage, mixes: bool) -> Result<Known, Failure> {
        let pure: Vec<(u32, u32)> =
            SIZES_KIB.into_iter().flat_map(|kib| [(kib, 0), (kib, 100)]).collect();
        let series = self.series(storage, &pure)?;
        // Clients of Ceph are on its own nodes, where each link carries what clients and OSDs send and
        // receive; of Swift the proxy's link is known, and what TCP leaves of it.
        let goodput = SEGMENT_DATA as f64 / SEGMENT_WIRE as f64;
        let proxy = Rate::bits_per_s((PROXY_BITS_PER_S * goodput) as u64);
        let links = Links { into: proxy, out_of: proxy };
        let (path, links, outstanding) = match storage {
            Storage::Ceph => (WritePath::Primary, None, None),
            Storage::Swift => (WritePath::Proxy, Some(links), Some(WORKERS)),
        };
        let knowledge =
            Knowledge { stored: 3, path, links, outstanding, ..Knowledge::default() };
        let balanced = |kib: u32| {
            let rule = series.sizes[&Bytes::kib(u64::from(kib))].plain();
            (kib, nearest_measured(rule.balanced()))
        };
        let told: BTreeMap<u32, u32> = SIZES_KIB.into_iter().filter(|_| mixes).map(balanced).collect();
        let all: Vec<(u32, u32)> =
            pure.into_iter().chain(told.iter().map(|(kib, reads)| (*kib, *reads))).collect();
        let aware = Bottleneck::fit(&self.series(storage, &all)?, knowledge);
        Ok(Known { series, told, aware })
    }

    /// Measurements of sizes in KiB with percentages of reads.
    fn series(&self, storage: Storage, wanted: &[(u32, u32)]) -> Result<Series, Failure> {
        let of = |(kib, reads): &(u32, u32)| {
            let (kib, reads) = (*kib, *reads);
            let runs = self.runs(storage, &vec![(kib, 100)], reads);
            runs.into_iter().enumerate().map(move |(run, iops)| Point {
                series: String::new(),
                size: Bytes::kib(u64::from(kib)),
                reads: share(reads),
                iops,
                origin: format!("{} {kib} KiB, {reads} % reads, run {run}", storage.name()),
            })
        };
        let points: Vec<Point> = wanted.iter().flat_map(of).collect();
        let wrong = |fault: Fault| Failure::Usage(fault.to_string());
        let (survey, _) = Survey::new(&points, false).map_err(wrong)?;
        Ok(survey.series.into_values().next().expect("there is a series"))
    }
}

/// Of the mixes that are measured, that which is nearest to this one.
fn nearest_measured(reads: ReadShare) -> u32 {
    let far = |percent: &u32| (f64::from(*percent) - reads.percent()).abs();
    let mixes = read_percentages().filter(|percent| share(*percent).is_mixed());
    mixes.min_by(|a, b| far(a).total_cmp(&far(b))).expect("there are mixes")
}

/// A share of reads by its percentage.
fn share(percent: u32) -> ReadShare {
    ReadShare::from_percent(f64::from(percent)).expect("it is a percentage")
}
