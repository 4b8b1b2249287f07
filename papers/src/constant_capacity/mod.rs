//! The experiments of Ra and Lee. Does the capacity of Ceph and Swift stay constant over mixes of reads
//! and writes? How well do two points for each size predict the rest?
//!
//! Every mix is simulated. The plain rule is given the two pure points of each size (reads alone, writes
//! alone). The bottleneck-aware estimator is also given a measurement of the mix that is balanced
//! according to these two points; neither estimator is judged by this mix. Several sizes are mixed by
//! their share of the requests.

mod load;
mod mixes;
mod sizes;
mod verdict;

use foretell_algorithms::message::{SEGMENT_DATA, SEGMENT_WIRE};
use foretell_estimate::{
    Bottleneck, Fault, Knowledge, Links, Point, ReadShare, Series, Survey, WritePath,
};
use foretell_files::Directory;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::{Bytes, Rate};

use super::lab::{self, Results};
use super::plan::Plan;
use super::sheet::Sheet;
use crate::Options;
use crate::error::Error;
use load::{Laboratory, SIZES_KIB, Storage, WORKERS, read_percentages};
pub use mixes::named as size_name;
pub use verdict::{Errors, Verdict};

/// Number of runs of each point.
const SEEDS: u64 = 2;
const QUICK_SEEDS: u64 = 1;
/// Bandwidth of the Swift proxy's adapter.
const PROXY_BITS_PER_S: f64 = 10e9;
/// Names of the estimators.
const ESTIMATORS: [&str; 2] = ["plain", "aware"];
/// Names of the figures' files.
pub(super) const FILES: [&str; 9] =
    ["fig02a", "fig02b", "fig02c", "fig02d", "fig02e", "fig02f", "fig03", "fig04", "fig05"];

/// The knowledge of the estimators about one storage system.
struct Known {
    /// The pure points alone, for the plain rule.
    series: Series,
    /// By size in KiB: the mix that the better estimator is given, as a percentage of reads. Empty if no
    /// mixes were needed.
    extra_mixes: SortedMap<u32, u32>,
    /// The estimator that was also given these mixes.
    aware: Bottleneck,
}

/// The measurements that figures need of a storage system.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Need {
    Nothing,
    PureLoads,
    /// The pure loads, and the balanced mix of each size.
    Balanced,
    AllMixes,
}

/// Runs the experiments.
pub(super) fn reproduce(options: &Options<'_>, directory: &Directory) -> Result<Verdict, Error> {
    let wanted = |file: &str| options.wants(file);
    let laboratory = Laboratory::new(directory, options.quick, options.keep)?;
    let seeds = if options.quick { QUICK_SEEDS } else { SEEDS };
    let measure = |loads: Vec<(Storage, load::Sizes, u32)>| {
        let mut plan = Plan::default();
        for (storage, sizes, reads) in loads {
            if storage == Storage::Swift {
                laboratory.write_file(&sizes, reads)?;
            }
            plan.measure(&laboratory.setup(storage, &sizes, reads));
        }
        match lab::perform(&plan, seeds, options.workers, directory, false) {
            (results, None) => Ok(results),
            (_, Some(failure)) => Err(failure),
        }
    };
    let results = measure(loads(&wanted)).and_then(|results| {
        let pure = Measurements { laboratory: &laboratory, results: &results };
        let later = measure(balanced(&pure, &wanted)?)?;
        Ok(results.and(later))
    });
    let results = results?;
    let measured = Measurements { laboratory: &laboratory, results: &results };
    let mut known = SortedMap::new();
    for storage in Storage::ALL.into_iter().filter(|of| need(*of, &wanted) > Need::Nothing) {
        known.insert(storage, measured.known(storage, need(storage, &wanted) > Need::PureLoads)?);
    }
    let mut sheets = Vec::new();
    for (storage, known) in &known {
        if need(*storage, &wanted) == Need::AllMixes {
            sheets.extend(mixes::sheets(*storage, known, &measured));
        }
    }
    if wanted("fig03") {
        sheets.push(mixes::ratios(&known));
    }
    if wanted("fig04") || wanted("fig05") {
        sheets.extend(sizes::sheets(&known[&Storage::Swift], &measured));
    }
    sheets.retain(|sheet: &Sheet| wanted(sheet.file));
    for sheet in &sheets {
        sheet.write(directory)?;
    }
    let verdict = Verdict::of(&sheets, &known, &measured, options.quick, seeds);
    directory.write("summary.json", foretell_core::to_json(&verdict).as_bytes())?;
    Ok(verdict)
}

/// The measurements that the wanted figures need.
fn need(storage: Storage, wanted: &impl Fn(&str) -> bool) -> Need {
    let mixes = match storage {
        Storage::Ceph => ["fig02a", "fig02b", "fig02c"],
        Storage::Swift => ["fig02d", "fig02e", "fig02f"],
    };
    if mixes.into_iter().any(wanted) {
        Need::AllMixes
    } else if storage == Storage::Swift && (wanted("fig04") || wanted("fig05")) {
        Need::Balanced
    } else if wanted("fig03") {
        Need::PureLoads
    } else {
        Need::Nothing
    }
}

/// All loads to simulate for the wanted figures, except the balanced mixes.
fn loads(wanted: &impl Fn(&str) -> bool) -> Vec<(Storage, load::Sizes, u32)> {
    let mut loads = Vec::new();
    for storage in Storage::ALL {
        let need = need(storage, wanted);
        let needed = |reads: &u32| match need {
            Need::Nothing => false,
            Need::PureLoads | Need::Balanced => !share(*reads).is_mixed(),
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

/// The balanced mixes that no figure has measured yet; they follow from the pure loads.
fn balanced(
    measured: &Measurements<'_>,
    wanted: &impl Fn(&str) -> bool,
) -> Result<Vec<(Storage, load::Sizes, u32)>, Error> {
    let mut loads = Vec::new();
    for storage in Storage::ALL.into_iter().filter(|of| need(*of, wanted) > Need::PureLoads) {
        let extra_mixes = extra_mixes(&measured.pure(storage)?);
        let mixes = extra_mixes.into_iter().map(|(kib, reads)| (storage, vec![(kib, 100)], reads));
        loads
            .extend(mixes.filter(|(storage, sizes, reads)| !measured.has(*storage, sizes, *reads)));
    }
    Ok(loads)
}

/// By size: the mix that the better estimator is given, rounded to a whole percentage of reads.
fn extra_mixes(pure: &Series) -> SortedMap<u32, u32> {
    let balanced = |kib: u32| {
        let mix = pure.sizes[&Bytes::kib(u64::from(kib))].plain().telling_percent();
        (kib, mix)
    };
    SIZES_KIB.into_iter().map(balanced).collect()
}

/// The measurements.
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

    /// The resources that limited clusters under requests of these sizes, with this share of reads.
    fn bottlenecks(&self, storage: Storage, sizes: &[u32], reads: u32) -> SortedSet<String> {
        let setup = |kib: &u32| self.laboratory.setup(storage, &vec![(*kib, 100)], reads);
        sizes.iter().flat_map(|kib| self.results.bottlenecks(&setup(kib))).collect()
    }

    /// Whether this load was measured.
    fn has(&self, storage: Storage, sizes: &load::Sizes, reads: u32) -> bool {
        self.results.has(&self.laboratory.setup(storage, sizes, reads))
    }

    /// The knowledge of the estimators about one storage system; `mixes`: including the balanced mixes.
    fn known(&self, storage: Storage, mixes: bool) -> Result<Known, Error> {
        let series = self.pure(storage)?;
        let extra_mixes = if mixes { extra_mixes(&series) } else { SortedMap::new() };
        // Clients of Ceph are on its own nodes, where each link carries the traffic of clients and OSDs.
        // For Swift, the proxy's link is known, and the share of it that remains after TCP headers.
        let goodput = SEGMENT_DATA as f64 / SEGMENT_WIRE as f64;
        let proxy = Rate::bits_per_s((PROXY_BITS_PER_S * goodput) as u64);
        let links = Links { into: proxy, out_of: proxy };
        let (path, links, outstanding) = match storage {
            Storage::Ceph => (WritePath::Primary, None, None),
            Storage::Swift => (WritePath::Proxy, Some(links), Some(WORKERS)),
        };
        let knowledge = Knowledge { stored: 3, path, links, outstanding, ..Knowledge::default() };
        let mut points = pure_loads();
        points.extend(extra_mixes.iter().map(|(kib, reads)| (*kib, *reads)));
        let aware = Bottleneck::fit(&self.series(storage, &points)?, knowledge);
        Ok(Known { series, extra_mixes, aware })
    }

    /// The pure loads of all sizes.
    fn pure(&self, storage: Storage) -> Result<Series, Error> {
        self.series(storage, &pure_loads())
    }

    /// Measurements of these sizes in KiB with these percentages of reads.
    fn series(&self, storage: Storage, wanted: &[(u32, u32)]) -> Result<Series, Error> {
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
        let wrong = |fault: Fault| Error::invalid(fault.to_string());
        let survey = Survey::of_different_runs(&points).map_err(wrong)?;
        Ok(survey.series.into_values().next().expect("there is a series"))
    }
}

/// All sizes in KiB, with pure writes and with pure reads.
fn pure_loads() -> Vec<(u32, u32)> {
    SIZES_KIB.into_iter().flat_map(|kib| [(kib, 0), (kib, 100)]).collect()
}

/// A share of reads by its percentage.
fn share(percent: u32) -> ReadShare {
    ReadShare::from_percent(f64::from(percent)).expect("it is a percentage")
}
