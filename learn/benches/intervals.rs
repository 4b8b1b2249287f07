//! Coverage of prediction intervals on held-out rows, overall and by tenth of the prediction.
//!
//! `cargo bench -p foretell-learn --bench intervals [-- PART]`: models whose name contains PART. Intervals are
//! calibrated inside the training rows of each fold. The data sets are in `../shared/data/regression` and
//! `../shared/data/dstat` (their READMEs name the sources). Rows of dstat cover one second each, so its folds
//! leave out whole runs.

use std::fs::File;
use std::num::NonZeroUsize;
use std::path::Path;

use cpu_time::ProcessTime;
use foretell_learn::metrics::Scores;
use foretell_learn::{
    Cells, Dataset, Folds, IntervalCoverage, IntervalSettings, Method, Scale, Spec, Table,
    Training, Transform, out_of_fold_with,
};
use foretell_units::Seed;

/// Models, how they transform inputs and target, and how intervals are made.
const MODELS: &[(&str, Transform, Method, Scale)] = &[
    ("gp", Transform::Auto, Method::Cross, Scale::Auto),
    ("gp", Transform::Auto, Method::Cross, Scale::Local),
    ("lrm", Transform::Auto, Method::Cross, Scale::Auto),
    ("mars", Transform::Auto, Method::Cross, Scale::Auto),
    ("mars", Transform::None, Method::Cross, Scale::Auto),
    ("cubist", Transform::None, Method::Cross, Scale::Auto),
    ("cubist", Transform::None, Method::Split, Scale::Auto),
    ("cubist", Transform::None, Method::CvPlus, Scale::Auto),
    ("cubist", Transform::None, Method::Cross, Scale::None),
    ("boost:ntrees=100", Transform::LogTarget, Method::Cross, Scale::Auto),
    ("boost:ntrees=100", Transform::None, Method::Cross, Scale::Quantiles),
    ("forest:ntrees=100", Transform::None, Method::Cross, Scale::Auto),
    ("forest:ntrees=100", Transform::None, Method::Cross, Scale::Quantiles),
];

fn main() {
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let Some(shared) = foretell_test_data::shared(".") else { return };
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let sets = sets(&shared);
    println!("model, transform, method, unit | set: rows, MAPE %, held % [tenths] high/low CPU-s");
    for (text, transform, method, scale) in MODELS {
        if part.as_ref().is_some_and(|part| !text.contains(part.as_str())) {
            continue;
        }
        let spec: Spec = text.parse().expect("a model");
        println!("{text}, {transform:?}, {method:?}, {scale:?}");
        let (mut held, mut rows, mut worst) = (0.0, 0, 1.0_f64);
        for (name, data, folds) in &sets {
            let is_positive = data.y.iter().all(|y| *y > 0.0);
            let transform = match transform {
                Transform::LogTarget if !is_positive => Transform::None,
                other => *other,
            };
            let settings =
                IntervalSettings { method: *method, scale: *scale, ..IntervalSettings::default() };
            let training = Training { transform, intervals: Some(settings) };
            let start = ProcessTime::now();
            let found = match out_of_fold_with(&spec, data, folds, &training, NonZeroUsize::MIN) {
                Ok(found) => found,
                Err(fault) => {
                    println!("  {name}: {fault}");
                    continue;
                }
            };
            let seconds = start.elapsed().as_secs_f64();
            let intervals = found.intervals.expect("they were asked for");
            let coverage = IntervalCoverage::of(&data.y, &found.predicted, &intervals);
            let scores = Scores::of(&data.y, &found.predicted).expect("rows");
            let tenths: Vec<String> =
                coverage.by_decile.iter().map(|(_, s)| format!("{:.0}", 100.0 * s)).collect();
            let least = coverage
                .by_decile
                .iter()
                .map(|(rows, share)| IntervalCoverage::probability(*rows, *share, 0.85))
                .fold(1.0, f64::min);
            println!(
                "  {name:<18} {} {:>8.2} {:>6.1} [{}] {:.3} least p {least:.4} {seconds:.1}",
                data.y.len(),
                scores.mape_percent.unwrap_or(f64::NAN),
                100.0 * coverage.all,
                tenths.join(" "),
                coverage.median_ratio.unwrap_or(f64::NAN),
            );
            held += coverage.all * data.y.len() as f64;
            rows += data.y.len();
            worst = worst.min(least);
        }
        println!(
            "  all: {rows} rows, {:.1} % held, least p {worst:.4}",
            100.0 * held / rows as f64
        );
    }
}

fn sets(shared: &Path) -> Vec<(String, Dataset, Folds)> {
    let table =
        |path: &Path| Table::read(File::open(path).expect("the set"), "set", &[]).expect("a table");
    let mut sets = Vec::new();
    for set in ["diabetes", "ssd_random_iops", "ssd_sequential_lat", "cache_lat"] {
        let directory = shared.join("regression");
        let table = table(&directory.join(format!("{set}.csv")));
        let data = Dataset::new(&table, "y", &[]).expect("the sets are sound");
        let folds = File::open(directory.join(format!("{set}.folds.csv"))).expect("folds");
        let folds = Folds::read(folds, set, data.y.len()).expect("folds are sound");
        sets.push((set.to_owned(), data, folds));
    }
    let table = table(&shared.join("dstat/fio-and-dstat-1s.csv"));
    let constant = table.columns().filter(|(_, cells)| match cells {
        Cells::Numbers(numbers) => numbers.iter().all(|v| (v - numbers[0]).abs() < 1e-300),
        Cells::Names { levels, .. } => levels.len() < 2,
    });
    let mut drop: Vec<String> = constant.map(|(name, _)| name.to_owned()).collect();
    for other in ["rep", "bs", "rwmixread", "sec_in_job", "epoch", "write_iops"] {
        if !drop.iter().any(|name| name == other) {
            drop.push(other.to_owned());
        }
    }
    let runs = |column: &str| match table.column(column).expect("a column") {
        Cells::Numbers(numbers) => numbers.iter().map(|v| *v as i64).collect::<Vec<_>>(),
        Cells::Names { codes, .. } => {
            codes.iter().map(|code| (*code as u64).cast_signed()).collect()
        }
    };
    let mut data = Dataset::new(&table, "read_iops", &drop).expect("a sound set");
    let (repeats, sizes, mixes) = (runs("rep"), runs("bs"), runs("rwmixread"));
    let groups: Vec<i64> =
        (0..data.y.len()).map(|r| (repeats[r] * 100 + sizes[r]) * 1000 + mixes[r]).collect();
    let folds = Folds::random_by_group(&groups, 10, Seed(1)).expect("groups");
    data.groups = Some(groups);
    sets.push(("dstat".to_owned(), data, folds));
    sets
}
