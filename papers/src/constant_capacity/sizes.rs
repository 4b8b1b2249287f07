//! Figures 4 and 5: objects of two sizes in one load on Swift.

use foretell_estimate::total_of_sizes;
use foretell_pictures::Chart;
use foretell_units::Bytes;

use super::load::{Sizes, Storage};
use super::mixes::named;
use super::{ESTIMATORS, Known, Measurements, share};
use crate::chart::OfSheet as _;
use crate::sheet::{Row, Sheet};
use crate::statistics::Spread;

/// Pairs of sizes in KiB, with the share of reads.
const CASES: [(u32, u32, u32); 3] = [(16, 1024, 100), (64, 1024, 0), (16, 512, 50)];
/// Shares of the first size, in percent.
const SHARES: [u32; 5] = [10, 30, 50, 70, 90];

/// The loads that are simulated for these cases.
pub(super) fn loads() -> impl Iterator<Item = (Sizes, u32)> {
    CASES.into_iter().flat_map(|(one, other, reads)| {
        SHARES.into_iter().map(move |share| (vec![(one, share), (other, 100 - share)], reads))
    })
}

fn case((one, other, reads): (u32, u32, u32)) -> String {
    let what = match reads {
        100 => "reads",
        0 => "writes",
        _ => "reads and writes",
    };
    format!("{} and {} {what}", named(one), named(other))
}

/// Figure 4: measured and estimated throughput; Figure 5: the errors.
pub(super) fn sheets(known: &Known, measured: &Measurements) -> [Sheet; 2] {
    let estimators = || ESTIMATORS.map(str::to_owned).to_vec();
    let mut both =
        Sheet::predicted_by("fig04", "Swift: objects of two sizes, operations/s", estimators());
    for (one, other, reads) in CASES {
        for first in SHARES {
            let sizes = vec![(one, first), (other, 100 - first)];
            let runs = measured.runs(Storage::Swift, &sizes, reads);
            let part = |(kib, percent): &(u32, u32)| {
                (Bytes::kib(u64::from(*kib)), f64::from(*percent) / 100.0)
            };
            let parts: Vec<(Bytes, f64)> = sizes.iter().map(part).collect();
            let rules: Vec<_> = parts
                .iter()
                .map(|(size, share)| (*share, known.series.sizes[size].plain()))
                .collect();
            let plain = total_of_sizes(&rules, share(reads)).total();
            let aware = known.aware.of_sizes(&parts, share(reads)).expect("sizes were measured");
            let spread = |mean| Spread { mean, deviation: 0.0 };
            both.rows.push(Row {
                series: case((one, other, reads)),
                x: format!("{first}/{}", 100 - first),
                metric: "iops",
                measured: Spread::of(&runs),
                predicted: [plain, aware.iops].map(spread).to_vec(),
            });
        }
    }
    let mut errors = Sheet::predicted_by("fig05", "Swift: errors with two sizes", estimators());
    errors.rows.clone_from(&both.rows);
    for (index, of) in CASES.into_iter().enumerate() {
        let name = case(of);
        let label = ["reads", "writes", "mixed"][index];
        let mut chart = Chart::bars(label, name.clone(), "shares of the requests, %", "ops/s");
        chart.both(&both, "iops", &[&name]);
        both.chart(chart);
        let mut chart = Chart::bars(label, name.clone(), "shares of the requests, %", "error, %");
        chart.errors(&errors, "iops", &name, &ESTIMATORS);
        errors.chart(chart);
    }
    [both, errors]
}
