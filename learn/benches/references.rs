//! Out-of-fold errors of every model beside those of established implementations.
//!
//! `cargo bench -p foretell-learn --bench references [-- PART]`: rows whose model's name contains
//! PART. Data and references are in `../shared/data/regression` (its README names the sources).

use std::fs::File;
use std::num::NonZeroUsize;

use cpu_time::ProcessTime;
use foretell_learn::metrics::Scores;
use foretell_learn::{Cells, Dataset, Folds, Spec, Table, Transform, out_of_fold_with};

/// Our models, each with the name of its reference.
const MODELS: &[(&str, &str)] = &[
    ("lrm:interactions=false", "R/lm_main"),
    ("lrm", "R/lm_pairwise"),
    ("ridge", "R/glmnet_ridge"),
    ("lasso", "R/glmnet_lasso"),
    ("elasticnet", "R/glmnet_enet0.5"),
    ("mars:degree=1", "R/earth_d1"),
    ("mars:degree=2", "R/earth_d2"),
    ("mars:degree=2,penalty=2", "R/earth_d2_pen2"),
    ("mars:degree=2,nnodes=201,threshold=1e-5", "R/earth_d2_nk201_t1e-5"),
    ("cart", "R/rpart_20_0.01"),
    ("cart:cp=0.001", "R/rpart_20_0.001"),
    ("cart:minsplit=5,cp=0.0001", "R/rpart_5_0.0001"),
    ("cart:minsplit=5,cp=0,prune=cv", "R/rpart_5_cvmin"),
    ("cart:minsplit=5,cp=0,prune=cv1se", "R/rpart_5_cv1se"),
    ("tree", "py/sk_dt"),
    ("tree:minleaf=5", "py/sk_dt_leaf5"),
    ("forest", "R/ranger_500"),
    ("forest:ntrees=100,minsplit=2", "py/sk_rf100"),
    ("m5", "weka/m5p_M4"),
    ("m5:smoothing=0", "weka/m5p_M4_unsmoothed"),
    ("m5:prune=false", "weka/m5p_M4_unpruned"),
    ("cubist:ntrees=1,ninstances=0", "R/cubist_c1_n0"),
    ("cubist:ntrees=1,ninstances=5", "R/cubist_c1_n5"),
    ("cubist:ntrees=1,ninstances=9", "R/cubist_c1_n9"),
    ("cubist:ntrees=10,ninstances=0", "R/cubist_c10_n0"),
    ("cubist:ntrees=10,ninstances=5", "R/cubist_c10_n5"),
    ("cubist:ntrees=10,ninstances=9", "R/cubist_c10_n9"),
    ("cubist:ntrees=50,ninstances=0", "R/cubist_c50_n0"),
    ("cubist:ntrees=50,ninstances=5", "R/cubist_c50_n5"),
    ("cubist:ntrees=50,ninstances=9", "R/cubist_c50_n9"),
    ("boost:ntrees=100,depth=30,leaves=31,minleaf=20,rows=1,columns=1", "py/lgbm_default"),
    ("boost", "py/lgbm_default"),
    ("boost:rows=1,columns=1", "py/lgbm_default"),
    ("gp", "fe/gp_matern_fe"),
];

struct Reference {
    set: String,
    name: String,
    log: bool,
    rmse: f64,
    mape: f64,
}

fn main() {
    let Some(directory) = foretell_test_data::shared("regression") else { return };
    let file = File::open(directory.join("reference.csv")).expect("the set");
    let references = references(file);
    let part = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    println!("set target model | RMSE reference, ours, ratio | MAPE % reference, ours | CPU s");
    for set in ["diabetes", "ssd_random_iops", "ssd_sequential_lat", "cache_lat"] {
        let table = table(&directory.join(format!("{set}.csv")));
        let data = Dataset::new(&table, "y", &[]).expect("the sets are sound");
        let folds = File::open(directory.join(format!("{set}.folds.csv"))).expect("folds");
        let folds = Folds::read(folds, set, data.y.len()).expect("folds are sound");
        for log in [false, true] {
            for (ours, name) in MODELS {
                if part.as_ref().is_some_and(|part| !ours.contains(part.as_str())) {
                    continue;
                }
                let found = references.iter().find(|reference| {
                    reference.set == set && reference.name == *name && reference.log == log
                });
                let Some(reference) = found else { continue };
                let spec: Spec = ours.parse().expect("a model");
                let start = ProcessTime::now();
                // a Gaussian process chooses logarithms of inputs itself; the reference was given
                // such inputs
                let transform = if ours.starts_with("gp") {
                    Transform::Auto
                } else {
                    Transform::of_target(log)
                };
                let found =
                    out_of_fold_with(&spec, &data, &folds, &transform.into(), NonZeroUsize::MIN);
                let predicted = found.expect("it fits").predicted;
                let seconds = start.elapsed().as_secs_f64();
                let scores = Scores::of(&data.y, &predicted).expect("rows");
                println!(
                    "{set:<15} {:<3} {ours:<40} | {:>12.4} {:>12.4} {:>7.4} | {:>7.2} {:>7.2} | {seconds:.3}",
                    if log { "log" } else { "raw" },
                    reference.rmse,
                    scores.rmse,
                    scores.rmse / reference.rmse,
                    reference.mape,
                    scores.mape_percent.unwrap_or(f64::NAN),
                );
            }
        }
    }
}

fn table(path: &std::path::Path) -> Table {
    let file = File::open(path).expect("the set");
    Table::read(file, &path.display().to_string(), &[]).expect("a table")
}

fn references(file: File) -> Vec<Reference> {
    let table = Table::read(file, "reference.csv", &[]).expect("a table");
    let names = |column: &str| match table.column(column).expect("a column") {
        Cells::Names { levels, codes } => {
            codes.iter().map(|&code| levels[code].clone()).collect::<Vec<_>>()
        }
        Cells::Numbers(_) => panic!("{column} holds names"),
    };
    let numbers = |column: &str| match table.column(column).expect("a column") {
        Cells::Numbers(numbers) => numbers.clone(),
        Cells::Names { .. } => panic!("{column} holds numbers"),
    };
    let (sets, models) = (names("dataset"), names("model"));
    let (makers, targets) = (names("implementation"), names("target"));
    let (rmse, mape) = (numbers("rmse"), numbers("mape_percent"));
    (0..table.rows())
        .map(|row| Reference {
            set: sets[row].clone(),
            name: format!("{}/{}", makers[row], models[row]),
            log: targets[row] == "log",
            rmse: rmse[row],
            mape: mape[row],
        })
        .collect()
}
