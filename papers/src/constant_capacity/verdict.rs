//! `summary.json` and the table at the end: the paper's claims, and the errors of the estimators.

use foretell_sorted::{SortedMap, SortedSet};
use serde::Serialize;

use super::load::{SIZES_KIB, Storage};
use super::mixes::{named, small};
use super::{ESTIMATORS, Known, Measurements};
use crate::figures::percent;
use crate::sheet::{Claim, Sheet};
use crate::statistics::median;

/// The results of all figures.
#[derive(Debug, Serialize)]
pub struct Verdict {
    paper: &'static str,
    quick: bool,
    /// Runs of each point.
    seeds: u64,
    /// The paper's claims.
    pub rows: Vec<Claim>,
    /// By storage system and size in KiB: the mix, as a percentage of reads, that the better estimator is
    /// given in addition to the pure loads. No estimator is judged by it.
    pub extra_mix_read_percent: SortedMap<&'static str, SortedMap<u32, u32>>,
    /// By figure, then by estimator.
    pub errors: SortedMap<&'static str, SortedMap<&'static str, Errors>>,
}

/// Errors of one estimator over a figure's points.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Errors {
    /// Points that were estimated.
    pub points: usize,
    /// Median error.
    pub median_error: f64,
    /// The largest error.
    pub worst_error: f64,
}

/// A claim of the paper about errors, and the goal for the better estimator.
struct Goal {
    file: &'static str,
    figure: &'static str,
    /// The paper's statement about the plain rule.
    statement: &'static str,
    most: f64,
    /// The storage system of the figure, and whether its requests are small; `None`: any.
    of: Option<(Storage, bool)>,
    /// Median and worst error that the better estimator should not exceed; an infinite worst error is no
    /// limit.
    ours: (f64, f64),
}

const GOALS: [Goal; 5] = [
    Goal {
        file: "fig02b",
        figure: "Fig. 2b",
        statement: "Ceph, up to 32 KB: accuracy is about 90 % or above",
        most: 0.10,
        of: Some((Storage::Ceph, true)),
        ours: (0.05, 0.10),
    },
    Goal {
        file: "fig02c",
        figure: "Fig. 2c",
        statement: "Ceph, larger: errors of 5 to 25 %",
        most: 0.25,
        of: Some((Storage::Ceph, false)),
        ours: (0.10, f64::INFINITY),
    },
    Goal {
        file: "fig02e",
        figure: "Fig. 2e",
        statement: "Swift, up to 32 KB: accuracy is about 90 % or above",
        most: 0.10,
        of: Some((Storage::Swift, true)),
        ours: (0.05, 0.10),
    },
    Goal {
        file: "fig02f",
        figure: "Fig. 2f",
        statement: "Swift, larger: errors of 5 to 25 %",
        most: 0.25,
        of: Some((Storage::Swift, false)),
        ours: (0.10, f64::INFINITY),
    },
    Goal {
        file: "fig05",
        figure: "Fig. 5",
        statement: "two sizes: errors are less than 9 %",
        most: 0.09,
        of: None,
        ours: (0.06, 0.06),
    },
];

impl Verdict {
    pub(super) fn of(
        sheets: &[Sheet],
        known: &SortedMap<Storage, Known>,
        measured: &Measurements<'_>,
        quick: bool,
        seeds: u64,
    ) -> Self {
        let mut rows = Vec::new();
        let mut errors = SortedMap::new();
        for (storage, statement, range) in [
            (Storage::Ceph, "f_rw of Ceph is 3 to 9, by size", 3.0..=9.0),
            (Storage::Swift, "f_rw of Swift is 2 to 3, by size", 2.0..=3.0),
        ] {
            let Some(sheet) = sheets.iter().find(|sheet| sheet.file == "fig03") else { continue };
            let of_it = || sheet.rows.iter().filter(|row| row.series == storage.name());
            let found: Vec<f64> = of_it().map(|row| row.measured.mean).collect();
            let outside = |kib: &u32| {
                let mut of_it = of_it();
                of_it.any(|row| row.x == named(*kib) && !range.contains(&row.measured.mean))
            };
            let outside: Vec<u32> = SIZES_KIB.into_iter().filter(outside).collect();
            let waits = measured.bottlenecks(storage, &outside, 0);
            let why = (waits.len() == 1)
                .then(|| format!("where it is outside of that, writes wait for {}", all(&waits)));
            let low = found.iter().copied().fold(f64::INFINITY, f64::min);
            let high = found.iter().copied().fold(0.0, f64::max);
            let holds = range.contains(&low) && range.contains(&high);
            let ours = format!("{low:.2} to {high:.2}");
            rows.push(Claim::new("Fig. 3", statement, holds, ours, why));
        }
        for goal in GOALS {
            let Some(sheet) = sheets.iter().find(|sheet| sheet.file == goal.file) else { continue };
            let of = |estimator: usize| {
                let found: Vec<f64> =
                    sheet.rows.iter().filter_map(|row| row.error(estimator)).collect();
                let worst_error = found.iter().copied().fold(0.0, f64::max);
                let median_error = median(&found).unwrap_or(0.0);
                Errors { points: found.len(), median_error, worst_error }
            };
            let (plain, aware) = (of(0), of(1));
            let shown = |errors: Errors| {
                format!(
                    "median {}, worst {}",
                    percent(errors.median_error),
                    percent(errors.worst_error)
                )
            };
            let holds = plain.worst_error <= goal.most;
            let why = goal.of.and_then(|(storage, small)| added_up(measured, storage, small));
            let ours = format!("the plain rule: {}", shown(plain));
            rows.push(Claim::new(goal.figure, goal.statement, holds, ours, why));
            let (median, worst) = goal.ours;
            let holds = aware.median_error <= median && aware.worst_error <= worst;
            rows.push(Claim::new(
                goal.figure,
                "the same, told one more mix of each size, which is not judged",
                holds,
                shown(aware),
                None,
            ));
            let by = ESTIMATORS.into_iter().zip([plain, aware]).collect();
            errors.insert(goal.file, by);
        }
        let with_mixes = known.iter().filter(|(_, known)| !known.extra_mixes.is_empty());
        let extra_mix_read_percent = with_mixes
            .map(|(storage, known)| (storage.name(), known.extra_mixes.clone()))
            .collect();
        Self { paper: "constant-capacity", quick, seeds, rows, extra_mix_read_percent, errors }
    }
}

/// The reason, if reads and writes of these sizes have no bottleneck in common: the rule adds up times of
/// different resources.
fn added_up(measured: &Measurements<'_>, storage: Storage, is_small: bool) -> Option<String> {
    let sizes: Vec<u32> = SIZES_KIB.into_iter().filter(|kib| small(*kib) == is_small).collect();
    let [writes, reads] = [0, 100].map(|reads| measured.bottlenecks(storage, &sizes, reads));
    writes.is_disjoint(&reads).then(|| {
        format!(
            "writes wait for {}, reads for {}, whose times the rule adds up",
            all(&writes),
            all(&reads)
        )
    })
}

fn all(names: &SortedSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(" or ")
}
