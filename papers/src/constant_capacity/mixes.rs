//! Figures 2 and 3: the capacity by share of reads, the errors of estimates, and the cost of a
//! write.

use foretell_pictures::Chart;
use foretell_sorted::SortedMap;
use foretell_units::Bytes;

use super::load::{SIZES_KIB, Storage, read_percentages};
use super::{ESTIMATORS, Known, Measurements, share};
use crate::chart::OfSheet as _;
use crate::sheet::{Row, Sheet};
use crate::statistics::Spread;

/// The paper calls sizes up to this many KiB small.
const SMALL_KIB: u32 = 32;

/// Whether requests of this size are small in the paper's terms.
pub(super) fn small(kib: u32) -> bool {
    kib <= SMALL_KIB
}

fn size(kib: u32) -> Bytes {
    Bytes::kib(u64::from(kib))
}

/// A request size for readers.
pub fn named(kib: u32) -> String {
    if kib < 1024 { format!("{kib} KiB") } else { format!("{} MiB", kib / 1024) }
}

/// Figures 2a to 2c for Ceph, or 2d to 2f for Swift.
pub(super) fn sheets(storage: Storage, known: &Known, measured: &Measurements) -> [Sheet; 3] {
    let (files, titles) = match storage {
        Storage::Ceph => (
            ["fig02a", "fig02b", "fig02c"],
            [
                "Ceph: C by share of reads",
                "Ceph: errors, small requests",
                "Ceph: errors, large ones",
            ],
        ),
        Storage::Swift => (
            ["fig02d", "fig02e", "fig02f"],
            [
                "Swift: C by share of reads",
                "Swift: errors, small objects",
                "Swift: errors, large ones",
            ],
        ),
    };
    let mut capacity = Sheet::predicted_by(files[0], titles[0], Vec::new());
    let estimators = || ESTIMATORS.map(str::to_owned).to_vec();
    let mut errors = [1, 2].map(|at| Sheet::predicted_by(files[at], titles[at], estimators()));
    for kib in SIZES_KIB {
        let rule = known.series.sizes[&size(kib)].plain();
        for reads in read_percentages() {
            let runs = measured.runs(storage, &vec![(kib, 100)], reads);
            let of_mix = |iops: &f64| {
                rule.capacity_of(foretell_estimate::Throughput::split(*iops, share(reads)))
            };
            capacity.rows.push(Row {
                series: named(kib),
                x: reads.to_string(),
                metric: "capacity_reads_per_s",
                measured: Spread::of(&runs.iter().map(of_mix).collect::<Vec<_>>()),
                predicted: Vec::new(),
            });
            let aware = known.aware.estimate(size(kib), share(reads));
            let one = |mean| Spread { mean, deviation: 0.0 };
            // no estimator is judged by a mix that one of them was given
            let judged = share(reads).is_mixed() && known.extra_mixes[&kib] != reads;
            let estimates =
                [rule.throughput(share(reads)).total(), aware.expect("the size was measured").iops];
            errors[usize::from(!small(kib))].rows.push(Row {
                series: named(kib),
                x: reads.to_string(),
                metric: "iops",
                measured: Spread::of(&runs),
                predicted: if judged { estimates.map(one).to_vec() } else { Vec::new() },
            });
        }
    }
    let groups: [(&'static str, &[u32]); 2] =
        [("small", &SIZES_KIB[..4]), ("large", &SIZES_KIB[4..])];
    for (name, sizes) in groups {
        let mut chart = Chart::lines(name, titles[0], "reads, % of requests", "C, reads/s");
        let series: Vec<String> = sizes.iter().map(|kib| named(*kib)).collect();
        let series: Vec<&str> = series.iter().map(String::as_str).collect();
        chart.measured_only(&capacity, "capacity_reads_per_s", &series);
        capacity.chart(chart);
    }
    for (sheet, (_, sizes)) in errors.iter_mut().zip(groups) {
        let mut chart = Chart::lines("", sheet.title, "reads, % of requests", "error, %");
        for kib in sizes {
            chart.errors(sheet, "iops", &named(*kib), &ESTIMATORS);
        }
        sheet.chart(chart);
    }
    let [small, large] = errors;
    [capacity, small, large]
}

/// Figure 3.
pub(super) fn ratios(known: &SortedMap<Storage, Known>) -> Sheet {
    let mut sheet = Sheet::predicted_by("fig03", "What a write costs, in reads", Vec::new());
    for (storage, known) in known {
        for kib in SIZES_KIB {
            let mean = known.series.sizes[&size(kib)].plain().f_rw();
            sheet.rows.push(Row {
                series: storage.name().to_owned(),
                x: named(kib),
                metric: "f_rw",
                measured: Spread { mean, deviation: 0.0 },
                predicted: Vec::new(),
            });
        }
    }
    let mut chart = Chart::bars("", sheet.title, "size of requests", "f_rw");
    chart.measured_only(&sheet, "f_rw", &Storage::ALL.map(Storage::name));
    sheet.chart(chart);
    sheet
}
