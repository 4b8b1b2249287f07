//! The experiments of paper 002: does the capacity of Ceph and Swift stay constant over mixes of reads
//! and writes, and how well do two points for each size predict the rest?
//!
//! Every mix is simulated. The plain rule is given the two pure points of each size; the
//! bottleneck-aware estimator also the mix of half reads, which is then no point that either is judged
//! by. Several sizes are mixed by their share of the requests.

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
use load::{Laboratory, SIZES_KIB, Storage, read_percentages};
use verdict::Verdict;

/// How often each point is measured.
const SEEDS: u64 = 3;
const QUICK_SEEDS: u64 = 1;
/// The mix that the better estimator is told.
const TOLD: u32 = 50;
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
    /// With the mix that is told.
    aware: Bottleneck,
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
    for storage in Storage::ALL.into_iter().filter(|storage| needs(*storage, &wanted).0) {
        known.insert(storage, measured.known(storage)?);
    }
    let mut sheets = Vec::new();
    for storage in Storage::ALL.into_iter().filter(|storage| needs(*storage, &wanted).1) {
        sheets.extend(mixes::sheets(storage, &known[&storage], &measured));
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
    let verdict = Verdict::of(&sheets, arguments.quick, seeds);
    write_whole(&directory.join("summary.json"), &crate::output::json(&verdict))?;
    crate::output::print(&verdict.table(directory))
}

/// Whether figures need the points of a storage system that estimators are told, and all its mixes.
fn needs(storage: Storage, wanted: &impl Fn(&str) -> bool) -> (bool, bool) {
    let mixes = match storage {
        Storage::Ceph => ["fig02a", "fig02b", "fig02c"],
        Storage::Swift => ["fig02d", "fig02e", "fig02f"],
    };
    let all = mixes.into_iter().any(wanted);
    let sizes = storage == Storage::Swift && (wanted("fig04") || wanted("fig05"));
    (all || sizes || wanted("fig03"), all)
}

/// Everything that is simulated for the figures that are wanted.
fn loads(wanted: &impl Fn(&str) -> bool) -> Vec<(Storage, load::Sizes, u32)> {
    let mut loads = Vec::new();
    for storage in Storage::ALL {
        let (told, all) = needs(storage, wanted);
        let needed = |reads: &u32| all || told && [0, TOLD, 100].contains(reads);
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

    /// What those who estimate are told of one storage system.
    fn known(&self, storage: Storage) -> Result<Known, Failure> {
        let points = |wanted: &[u32]| -> Vec<Point> {
            let mixes = SIZES_KIB.iter().flat_map(|kib| wanted.iter().map(move |r| (*kib, *r)));
            let of = |(kib, reads): (u32, u32)| {
                let runs = self.runs(storage, &vec![(kib, 100)], reads);
                runs.into_iter().enumerate().map(move |(run, iops)| Point {
                    series: String::new(),
                    size: Bytes::kib(u64::from(kib)),
                    reads: share(reads),
                    iops,
                    origin: format!("{} {kib} KiB, {reads} % reads, run {run}", storage.name()),
                })
            };
            mixes.flat_map(of).collect()
        };
        let series = |wanted: &[u32]| {
            let wrong = |fault: Fault| Failure::Usage(fault.to_string());
            let (survey, _) = Survey::new(&points(wanted), false).map_err(wrong)?;
            Ok::<_, Failure>(survey.series.into_values().next().expect("there is a series"))
        };
        // Clients of Ceph are on its own nodes, where each link carries what clients and OSDs send and
        // receive; of Swift the proxy's link is known, and what TCP leaves of it.
        let goodput = SEGMENT_DATA as f64 / SEGMENT_WIRE as f64;
        let proxy = Rate::bits_per_s((PROXY_BITS_PER_S * goodput) as u64);
        let links = Links { into: proxy, out_of: proxy };
        let (path, links) = match storage {
            Storage::Ceph => (WritePath::Primary, None),
            Storage::Swift => (WritePath::Proxy, Some(links)),
        };
        let knowledge = Knowledge { stored: 3, path, links, ..Knowledge::default() };
        let aware = Bottleneck::fit(&series(&[0, TOLD, 100])?, knowledge);
        Ok(Known { series: series(&[0, 100])?, aware })
    }
}

/// A share of reads by its percentage.
fn share(percent: u32) -> ReadShare {
    ReadShare::from_percent(f64::from(percent)).expect("it is a percentage")
}
