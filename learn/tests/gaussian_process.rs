//! Gaussian processes compared with scikit-learn's, and their uses: transforms, intervals, large data.
//!
//! `data/scikit_learn_gp.py` made `data/scikit-learn-gp.json`.

use std::fs::File;
use std::path::PathBuf;

use foretell_learn::{Dataset, Feature, Matrix, Model, Schema, Spec, Trained, Transform};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

fn matrix(rows: &Value) -> Matrix {
    let rows: Vec<Vec<f64>> = rows.as_array().expect("rows").iter().map(numbers).collect();
    let columns: Vec<Vec<f64>> =
        (0..rows[0].len()).map(|c| rows.iter().map(|row| row[c]).collect()).collect();
    Matrix::from_columns(&columns).expect("numbers")
}

fn reference() -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/scikit-learn-gp.json");
    serde_json::from_reader(File::open(path).expect("the file")).expect("JSON")
}

fn dataset(x: Matrix, y: Vec<f64>) -> Dataset {
    let name = |column| Feature { name: format!("x{column}"), levels: None };
    let schema = Schema { features: (0..x.columns()).map(name).collect() };
    Dataset { schema, target: "y".to_owned(), x, y, groups: None }
}

/// Likelihoods, predictions and deviations at given hyperparameters equal scikit-learn's to 10⁻⁶. The
/// best likelihood found is not worse than the one found by its optimizer with eight restarts.
#[test]
fn oracle_scikit_learn() {
    let reference = reference();
    let data = dataset(matrix(&reference["x"]), numbers(&reference["y"]));
    let test = matrix(&reference["test"]);
    for case in reference["cases"].as_array().unwrap() {
        let spec: Spec = case["spec"].as_str().unwrap().parse().unwrap();
        let trained = Trained::fit(&spec, &data, &Transform::None.into()).unwrap();
        let Model::Gp(gp) = &trained.model else { panic!("{spec} is a process") };
        let found = gp.log_marginal_likelihood;
        if let Some(best) = case["best"].as_f64() {
            println!("{spec}: {found:.6}, scikit-learn {best:.6}");
            assert!(found > best - 1e-4, "{spec}: {found} {best}");
            continue;
        }
        let wanted = case["log_marginal_likelihood"].as_f64().unwrap();
        assert!((found - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{spec}: {found} {wanted}");
        let near = |found: &[f64], wanted: &[f64]| {
            for (found, wanted) in found.iter().zip(wanted) {
                let off = (found - wanted).abs() / wanted.abs().max(1.0);
                assert!(off < 1e-6, "{spec}: {found} {wanted}");
            }
        };
        near(&trained.predict(&test), &numbers(&case["mean"]));
        near(&trained.deviations(&test).unwrap(), &numbers(&case["sigma"]));
    }
}

/// y = a·b², a power law: only logarithms make it linear, and they are found.
#[test]
fn a_power_law_is_learned_from_logarithms() {
    let mut stream = foretell_units::Seed(3).stream("test");
    let columns: Vec<Vec<f64>> =
        (0..2).map(|_| (0..60).map(|_| libm::pow(10.0, 2.0 * stream.unit())).collect()).collect();
    let y: Vec<f64> = (0..60).map(|row| columns[0][row] * columns[1][row].powi(2)).collect();
    let data = dataset(Matrix::from_columns(&columns).unwrap(), y);
    let ask = Matrix::from_columns(&[vec![2.0, 50.0, 400.0], vec![3.0, 20.0, 200.0]]).unwrap();
    for model in ["gp", "lrm:interactions=false", "mars", "cubist"] {
        let trained =
            Trained::fit(&model.parse().unwrap(), &data, &Transform::Auto.into()).unwrap();
        assert!(trained.view.log_target && trained.view.inputs.is_some(), "{model}");
        // the last row is beyond all training rows
        for (found, wanted) in trained.predict(&ask).iter().zip([18.0, 20_000.0, 16_000_000.0]) {
            assert!((found / wanted - 1.0_f64).abs() < 0.03, "{model}: {found} {wanted}");
        }
    }
}

#[test]
fn a_kept_process_predicts_the_same() {
    let reference = reference();
    let data = dataset(matrix(&reference["x"]), numbers(&reference["y"]));
    let test = matrix(&reference["test"]);
    let training = foretell_learn::Training {
        transform: Transform::Auto,
        intervals: Some(foretell_learn::IntervalSettings::default()),
    };
    let trained = Trained::fit(&"gp".parse().unwrap(), &data, &training).unwrap();
    let mut kept = Vec::new();
    trained.save(&mut kept).unwrap();
    let loaded = Trained::load(kept.as_slice()).unwrap();
    assert_eq!(trained.predict(&test), loaded.predict(&test));
    assert_eq!(trained.predict_intervals(&test, None), loaded.predict_intervals(&test, None));
    for (interval, value) in
        trained.predict_intervals(&test, None).unwrap().iter().zip(trained.predict(&test))
    {
        assert!(interval.low < value && value < interval.high);
    }
}

/// Beyond 5,000 rows predictions come from near rows: as good as the noise allows.
#[test]
fn many_rows_are_predicted_from_near_ones() {
    let mut stream = foretell_units::Seed(4).stream("test");
    let n = 6_000;
    let columns: Vec<Vec<f64>> = (0..2).map(|_| (0..n).map(|_| stream.unit()).collect()).collect();
    let truth = |a: f64, b: f64| libm::sin(5.0 * a) + a * b;
    let y =
        (0..n).map(|r| truth(columns[0][r], columns[1][r]) + 0.1 * (stream.unit() - 0.5)).collect();
    let data = dataset(Matrix::from_columns(&columns).unwrap(), y);
    let spec: Spec = "gp:length_scale=1,noise=0.002,fit=false".parse().unwrap();
    let trained = Trained::fit(&spec, &data, &Transform::None.into()).unwrap();
    let ask: Vec<Vec<f64>> = (0..2).map(|_| (0..50).map(|_| stream.unit()).collect()).collect();
    let x = Matrix::from_columns(&ask).unwrap();
    let deviations = trained.deviations(&x).unwrap();
    let missed: Vec<f64> = trained
        .predict(&x)
        .iter()
        .enumerate()
        .map(|(row, found)| (found - truth(ask[0][row], ask[1][row])).abs())
        .collect();
    println!("{missed:?}");
    // noise of 0.029 on each row; in corners there are fewer of them around
    let squares: f64 = missed.iter().map(|miss| miss * miss).sum();
    let rms = (squares / missed.len() as f64).sqrt();
    assert!(rms < 0.015, "{rms}");
    for (miss, deviation) in missed.iter().zip(&deviations) {
        assert!(*miss < 0.05, "{miss}");
        assert!((0.025..0.06).contains(deviation), "{deviation}");
    }
}
