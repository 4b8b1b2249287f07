//! Errors with parameters searched inside the training folds (Algorithm 1 of Noorshams et al. 2013: k = 4, n = 5,
//! 10 iterations), beside those with the defaults and with the parameters from R's own search.
//!
//! `cargo bench -p foretell-learn --bench searches [-- PART]`: rows that contain PART, such as
//! `cart`, `raw`, `cache_lat`. Cubist takes minutes.

use std::fs::File;

use cpu_time::ProcessTime;
use foretell_learn::metrics::Scores;
use foretell_learn::{
    Cells, Dataset, Folds, InnerFolds, SearchSettings, Spec, Table, Transform, default_ranges,
    out_of_fold, tuned_out_of_fold,
};
use foretell_units::Seed;

fn main() {
    let Some(directory) = foretell_test_data::shared("regression") else { return };
    let open = |name: &str| File::open(directory.join(name));
    let file = open("reference.csv").expect("the set");
    let references = Table::read(file, "reference.csv", &[]).expect("a table");
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    println!(
        "set target model | RMSE default, tuned, tunedR, tuned/tunedR | points in 10 searches | CPU s"
    );
    let settings = SearchSettings::default();
    for set in ["ssd_random_iops", "cache_lat"] {
        let table = Table::read(open(&format!("{set}.csv")).expect("the set"), set, &[]);
        let data = Dataset::new(&table.expect("a table"), "y", &[]).expect("a sound set");
        let folds = open(&format!("{set}.folds.csv")).expect("folds");
        let folds = Folds::read(folds, set, data.y.len()).expect("sound folds");
        for log in [false, true] {
            for (model, name) in
                [("cart", "rpart_tuned"), ("mars", "earth_tuned"), ("cubist", "cubist_tuned")]
            {
                let target = if log { "log" } else { "raw" };
                let row = format!("{set} {target} {model}");
                if part.as_ref().is_some_and(|part| !row.contains(part.as_str())) {
                    continue;
                }
                let spec: Spec = model.parse().expect("a model");
                let plain = out_of_fold(&spec, &data, &folds, log, settings.jobs).expect("it fits");
                let start = ProcessTime::now();
                let ranges = |rows: usize| default_ranges(spec.kind(), rows - rows / 10);
                let tuned = tuned_out_of_fold(
                    &spec,
                    &data,
                    &folds,
                    Transform::of_target(log),
                    ranges,
                    &settings,
                    InnerFolds { count: 10, seed: Seed(1) },
                )
                .expect("it can be searched");
                let seconds = start.elapsed().as_secs_f64();
                let rmse = |p: &[f64]| Scores::of(&data.y, p).expect("rows").rmse;
                let points: usize =
                    tuned.searches.iter().map(|search| search.found.evaluated.len()).sum();
                let wanted = reference(&references, set, name, target);
                let reached = rmse(&tuned.predicted);
                println!(
                    "{row:<28} | {:>12.2} {reached:>12.2} {wanted:>12.2} {:.4} | {points} | {seconds:.1}",
                    rmse(&plain),
                    reached / wanted
                );
            }
        }
    }
}

fn reference(table: &Table, set: &str, model: &str, target: &str) -> f64 {
    let is = |column: &str, row: usize, wanted: &str| match table.column(column) {
        Ok(Cells::Names { levels, codes }) => levels[codes[row]] == wanted,
        _ => false,
    };
    let row = (0..table.rows()).find(|&row| {
        is("dataset", row, set) && is("model", row, model) && is("target", row, target)
    });
    match (table.column("rmse"), row) {
        (Ok(Cells::Numbers(numbers)), Some(row)) => numbers[row],
        _ => f64::NAN,
    }
}
