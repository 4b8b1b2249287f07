//! CPU-seconds of fits and predictions.
//!
//! `cargo bench -p foretell-learn --bench fits`. Each figure is the best of three runs, with its
//! target beside it. Synthetic data is drawn from a fixed seed.

use std::fs::File;
use std::hint::black_box;
use std::num::NonZeroUsize;

use cpu_time::ProcessTime;
use foretell_learn::{Dataset, Folds, Matrix, Spec, Table, out_of_fold};
use foretell_units::{Seed, Stream};

fn best_of_three<T>(mut work: impl FnMut() -> T) -> f64 {
    (0..3)
        .map(|_| {
            let start = ProcessTime::now();
            black_box(work());
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Columns that depend on `hidden` common causes, and a target that is a nonlinear function of
/// them.
fn synthetic(rows: usize, columns: usize, hidden: usize) -> (Matrix, Vec<f64>) {
    let mut stream = Seed(7).stream("bench/fits");
    let draw = |stream: &mut Stream| stream.unit() * 2.0 - 1.0;
    let causes: Vec<Vec<f64>> =
        (0..hidden).map(|_| (0..rows).map(|_| draw(&mut stream)).collect()).collect();
    let x: Vec<Vec<f64>> = (0..columns)
        .map(|column| {
            let cause = &causes[column % hidden];
            cause.iter().map(|cause| cause + 0.5 * draw(&mut stream)).collect()
        })
        .collect();
    let y = (0..rows)
        .map(|row| {
            let (a, b, c) = (causes[0][row], causes[1][row], causes[2][row]);
            10.0 * a * b + 5.0 * (c - 0.2).max(0.0) + 3.0 * a + 0.3 * draw(&mut stream)
        })
        .collect();
    (Matrix::from_columns(&x).expect("finite"), y)
}

fn main() {
    // cargo passes `--bench`; a test run of benches passes nothing and should not take minutes
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let spec = |text: &str| text.parse::<Spec>().expect("a model");
    println!("{:<58} {:>9} {:>9}", "CPU-seconds", "found", "target");
    let row =
        |name: &str, found: f64, target: &str| println!("{name:<58} {found:>9.3} {target:>9}");

    let (x, y) = synthetic(1_000_000, 10, 5);
    for text in ["cart", "cart:minsplit=20,cp=0"] {
        let found = best_of_three(|| spec(text).fit(&x, &y).expect("it fits"));
        row(&format!("{text}, 1,000,000 x 10"), found, "5");
    }
    let few: Vec<usize> = (0..1000).collect();
    let (few_x, few_y) = (x.take_rows(&few), y[..1000].to_vec());
    for text in ["lrm", "mars", "cart", "m5", "cubist", "cubist:ntrees=10,ninstances=5"] {
        let model = spec(text).fit(&few_x, &few_y).expect("it fits");
        let found = best_of_three(|| model.predict(&x));
        row(&format!("{text}: 1,000,000 predictions"), found, "-");
    }

    let (x, y) = synthetic(2000, 8, 4);
    let found = best_of_three(|| spec("gp").fit(&x, &y).expect("it fits"));
    row("gp, 2,000 x 8", found, "20");

    let (x, y) = synthetic(5300, 128, 12);
    for (text, target) in [
        ("lrm:interactions=false", "-"),
        ("ridge:lambda=0.1", "-"),
        ("lasso:lambda=0.1", "-"),
        ("lasso", "-"),
        ("pca", "-"),
        ("inside-out", "-"),
        ("auto-dtl", "-"),
        ("two-level:second=relative", "-"),
        ("boost", "-"),
        ("forest:ntrees=100", "10.9"),
        ("forest:ntrees=100,mtry=128", "31.5"),
    ] {
        let found = best_of_three(|| spec(text).fit(&x, &y).expect("it fits"));
        row(&format!("{text}, 5,300 x 128"), found, target);
    }

    // the size of Hsu et al. 2016: 32 metrics with 4 features each, for OSDs and for monitors
    let (x, y) = synthetic(5300, 256, 12);
    for text in ["inside-out", "two-level:second=relative", "adaptive-lasso"] {
        let found = best_of_three(|| spec(text).fit(&x, &y).expect("it fits"));
        row(&format!("{text}, grid and ten folds, 5,300 x 256"), found, "60");
    }

    let Some(directory) = foretell_test_data::shared("regression") else { return };
    let file = File::open(directory.join("ssd_random_iops.csv")).expect("the set");
    let table = Table::read(file, "ssd_random_iops.csv", &[]).expect("a table");
    let data = Dataset::new(&table, "y", &[]).expect("a sound set");
    let folds = File::open(directory.join("ssd_random_iops.folds.csv")).expect("folds");
    let folds = Folds::read(folds, "folds", data.y.len()).expect("sound folds");
    for (text, target) in [
        ("mars:degree=2,nnodes=201,threshold=1e-5", "1.1"),
        ("mars:degree=2,nnodes=201,threshold=1e-5,fast_k=0", "-"),
        ("cart", "-"),
        ("m5", "-"),
        ("cubist:ntrees=50,ninstances=5", "5"),
    ] {
        let found = best_of_three(|| {
            out_of_fold(&spec(text), &data, &folds, false, NonZeroUsize::MIN).expect("it fits")
        });
        row(&format!("{text}, ten folds"), found, target);
    }
}
