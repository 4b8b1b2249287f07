//! Compares models with the output of established implementations, term by term, and their errors with
//! the reference's errors. The data is outside the project; if it is absent, the tests say so and pass.

use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use foretell_learn::metrics::Scores;
use foretell_learn::{
    Cells, Dataset, Folds, LinearModel, Matrix, Model, Spec, Table, Term, Trained, Transform,
    out_of_fold,
};
use serde_json::Value;

fn directory() -> Option<PathBuf> {
    foretell_test_data::shared("regression")
}

fn table(path: &Path) -> Table {
    Table::read(File::open(path).unwrap(), &path.display().to_string(), &[]).unwrap()
}

fn data(set: &str) -> Option<Dataset> {
    Some(Dataset::new(&table(&directory()?.join(format!("{set}.csv"))), "y", &[]).unwrap())
}

fn dump(name: &str) -> PathBuf {
    directory().unwrap().join("dumps").join(format!("diabetes.{name}"))
}

fn numbers(table: &Table, column: &str) -> Vec<f64> {
    match table.column(column).unwrap() {
        Cells::Numbers(numbers) => numbers.clone(),
        Cells::Names { .. } => panic!("{column} holds names"),
    }
}

fn fit(spec: &str, data: &Dataset) -> Model {
    spec.parse::<Spec>().unwrap().fit(&data.x, &data.y).unwrap()
}

fn linear(model: Model) -> LinearModel {
    match model {
        Model::Linear(model) => model,
        other => panic!("{other:?}"),
    }
}

fn assert_near(found: f64, wanted: f64, relative: f64, what: &str) {
    let off = (found - wanted).abs() / wanted.abs().max(1e-9);
    assert!(off <= relative, "{what}: {found}, wanted {wanted}");
}

#[test]
fn least_squares_has_the_coefficients_of_r() {
    let Some(data) = data("diabetes") else { return };
    let names = data.schema.column_names();
    for (spec, name) in [("lrm:interactions=false", "lm_main.csv"), ("lrm", "lm_pairwise.csv")] {
        let wanted = table(&dump(name));
        let coefficients = numbers(&wanted, "coef");
        let Cells::Names { levels, codes } = wanted.column("term").unwrap() else { panic!() };
        let model = linear(fit(spec, &data));
        assert_near(model.intercept, coefficients[0], 1e-6, name);
        assert_eq!(model.terms.len() + 1, coefficients.len());
        for (term, coefficient) in &model.terms {
            let label = match *term {
                Term::Column(a) => names[a].clone(),
                Term::Product(a, b) => format!("{}:{}", names[a], names[b]),
            };
            let row = codes.iter().position(|&code| levels[code] == label).unwrap();
            assert_near(coefficient.unwrap(), coefficients[row], 1e-6, &label);
        }
    }
}

#[test]
fn cart_grows_the_tree_of_rpart() {
    let Some(data) = data("diabetes") else { return };
    let text = fs::read_to_string(dump("rpart_20_0.01.tree.csv")).unwrap();
    let Model::Tree(tree) = fit("cart:minsplit=20,cp=0.01", &data) else { panic!() };
    let names = data.schema.column_names();
    // rpart numbers the children of node k 2k and 2k + 1; `ncat` 1 puts higher values first
    let mut place = std::collections::BTreeMap::from([(1_u64, 0_usize)]);
    let mut rows = 0;
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').map(|cell| cell.trim_matches('"')).collect();
        let number: u64 = cells[0].parse().unwrap();
        let node = &tree.nodes[place[&number]];
        rows += 1;
        assert_eq!(node.rows.to_string(), cells[2]);
        assert_near(node.deviance, cells[3].parse().unwrap(), 1e-9, "deviance");
        assert_near(node.mean, cells[4].parse().unwrap(), 1e-9, "mean");
        match &node.split {
            None => assert_eq!(cells[1], "<leaf>"),
            Some(split) => {
                assert_eq!(cells[1], names[split.column]);
                assert_near(split.cut, cells[6].parse().unwrap(), 1e-12, "cut");
                let (first, second) = match cells[7] {
                    "-1" => (split.left, split.right),
                    _ => (split.right, split.left),
                };
                place.insert(2 * number, first);
                place.insert(2 * number + 1, second);
            }
        }
    }
    assert_eq!(rows, tree.nodes.len());
}

#[test]
fn mars_has_the_terms_and_knots_of_earth() {
    let Some(data) = data("diabetes") else { return };
    let names = data.schema.column_names();
    for (spec, name) in [
        ("mars:degree=1", "earth_d1"),
        ("mars:degree=1,minspan=1,endspan=1", "earth_d1_minspan1"),
        ("mars:degree=2", "earth_d2"),
        ("mars:degree=2,fast_k=0", "earth_d2_fastk0"),
        ("mars:degree=2,nprune=10", "earth_d2_nprune10"),
        ("mars:degree=2,nnodes=61,threshold=0.0001,fast_k=0", "earth_d2_nk61_t1e4_fastk0"),
    ] {
        let text = fs::read_to_string(dump(&format!("{name}.json"))).unwrap();
        let wanted: Value = serde_json::from_str(&text).unwrap();
        let Model::Mars(model) = fit(spec, &data) else { panic!() };
        let selected = wanted["selected_terms_1based"].as_array().unwrap();
        let coefficients = wanted["coefficients"].as_array().unwrap();
        assert_eq!(model.terms.len(), selected.len(), "{name}");
        for ((basis, coefficient), (term, beta)) in
            model.terms.iter().zip(selected.iter().zip(coefficients))
        {
            let term = term.as_u64().unwrap() as usize - 1;
            let label = wanted["term_names"][term].as_str().unwrap();
            assert_eq!(basis.name(&names), label, "{name}");
            assert_near(*coefficient, beta.as_f64().unwrap(), 1e-6, label);
        }
        assert_near(model.rss, wanted["rss"].as_f64().unwrap(), 1e-9, name);
        assert_near(model.gcv, wanted["gcv"].as_f64().unwrap(), 1e-9, name);
    }
}

#[test]
fn penalised_models_have_the_coefficients_of_glmnet() {
    let Some(data) = data("diabetes") else { return };
    let names = data.schema.column_names();
    for (kind, name) in [
        ("ridge:lambda=", "glmnet_a0_path.csv"),
        ("lasso:lambda=", "glmnet_a1_path.csv"),
        ("elasticnet:l1_ratio=0.5,lambda=", "glmnet_a0.5_path.csv"),
    ] {
        let path = table(&dump(name));
        let lambdas = numbers(&path, "lambda");
        for row in [5, 20, 45, lambdas.len() - 1] {
            let model = linear(fit(&format!("{kind}{}", lambdas[row]), &data));
            // glmnet stops at changes of 10⁻⁷ of the deviance, so its coefficients are accurate to a
            // few digits
            let scale = numbers(&path, "bmi")[row].abs();
            for (column, name) in names.iter().enumerate() {
                let wanted = numbers(&path, name)[row];
                let found = model.terms[column].1.unwrap();
                let spread = 1.0_f64.max(10.0 * f64::from(u8::from(name == "s5")));
                let off = (found - wanted).abs();
                assert!(
                    off <= 2e-3 * wanted.abs().max(scale * spread),
                    "{kind}{} {name}: {found}, wanted {wanted}",
                    lambdas[row]
                );
            }
        }
    }
}

#[test]
fn cubist_has_the_rule_of_the_original() {
    let Some(data) = data("diabetes") else { return };
    let Model::Cubist(model) = fit("cubist", &data) else { panic!() };
    assert_eq!((model.members.len(), model.members[0].len()), (1, 1));
    let rule = &model.members[0][0];
    assert!(rule.conditions.is_empty());
    // outcome = -313.6 + 73 s5 - 1.04 s1 + 0.84 s2 + 5.7 bmi + 1.13 bp - 22 sex, the intercept rounded
    assert_near(rule.model.intercept, -313.6, 1e-3, "intercept");
    let names = data.schema.column_names();
    let slopes: Vec<(&str, f64)> = rule
        .model
        .slopes
        .iter()
        .map(|(column, slope)| (names[*column].as_str(), (slope * 100.0).round() / 100.0))
        .collect();
    let wanted =
        [("sex", -22.0), ("bmi", 5.7), ("bp", 1.13), ("s1", -1.04), ("s2", 0.84), ("s5", 73.0)];
    assert_eq!(slopes, wanted);
}

#[test]
fn cubist_corrects_by_neighbours_as_the_original() {
    let Some(data) = data("diabetes") else { return };
    let folds = directory().unwrap().join("diabetes.folds.csv");
    let folds = Folds::read(File::open(folds).unwrap(), "folds", data.y.len()).unwrap();
    let wanted = table(&dump("cubist_c1_fold0_out_of_sample.csv"));
    let rows = numbers(&wanted, "row");
    for count in [0, 2, 5, 9] {
        let spec: Spec = format!("cubist:ninstances={count}").parse().unwrap();
        let predicted = out_of_fold(&spec, &data, &folds, false, NonZeroUsize::MIN).unwrap();
        let wanted = numbers(&wanted, &format!("n{count}"));
        // the original's mean distance of two rows, which limits neighbours, comes from a random sample
        let near = rows
            .iter()
            .zip(&wanted)
            .filter(|(row, wanted)| (predicted[**row as usize] - *wanted).abs() < 0.5)
            .count();
        assert!(near * 10 >= rows.len() * 9, "{count} neighbours: {near} of {}", rows.len());
    }
}

#[test]
fn m5_has_the_model_of_weka() {
    let Some(data) = data("diabetes") else { return };
    let Model::M5(model) = fit("m5", &data) else { panic!() };
    // Weka: one leaf, y = -21.591 sex + 5.7111 bmi + 1.1266 bp - 1.0429 s1 + 0.8433 s2 + 73.3065 s5
    // - 313.7666
    assert_eq!(model.nodes.len(), 1);
    let plane = &model.nodes[0].model;
    assert_near(plane.intercept, -313.7666, 1e-4, "intercept");
    let wanted = [-21.591, 5.7111, 1.1266, -1.0429, 0.8433, 73.3065];
    assert_eq!(plane.slopes.len(), wanted.len());
    for ((_, slope), wanted) in plane.slopes.iter().zip(wanted) {
        assert_near(*slope, wanted, 1e-3, "slope");
    }
}

#[test]
fn errors_out_of_fold_are_those_of_the_references() {
    let Some(directory) = directory() else { return };
    for set in ["diabetes", "ssd_random_iops", "ssd_sequential_lat", "cache_lat"] {
        let data = data(set).unwrap();
        let folds = File::open(directory.join(format!("{set}.folds.csv"))).unwrap();
        let folds = Folds::read(folds, set, data.y.len()).unwrap();
        for &(spec, log, wanted, tolerance) in errors_wanted(set) {
            let spec: Spec = spec.parse().unwrap();
            let predicted = out_of_fold(&spec, &data, &folds, log, NonZeroUsize::MIN).unwrap();
            let rmse = Scores::of(&data.y, &predicted).unwrap().rmse;
            let off = rmse / wanted - 1.0;
            assert!(off.abs() <= tolerance, "{set} {spec} log {log}: {rmse}, wanted {wanted}");
        }
    }
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn forests_are_no_worse_than_rangers() {
    let Some(directory) = directory() else { return };
    for (set, raw, log) in [
        ("diabetes", 56.783_096, 58.450_803),
        ("ssd_random_iops", 39_789.945, 58_393.87),
        ("cache_lat", 1_157_312.8, 1_279_738.8),
    ] {
        let data = data(set).unwrap();
        let folds = File::open(directory.join(format!("{set}.folds.csv"))).unwrap();
        let folds = Folds::read(folds, set, data.y.len()).unwrap();
        for (log, wanted) in [(false, raw), (true, log)] {
            // with few columns ranger leaves most nodes without the column that matters; we do not
            let spec: Spec = "forest".parse().unwrap();
            let predicted = out_of_fold(&spec, &data, &folds, log, NonZeroUsize::MIN).unwrap();
            let rmse = Scores::of(&data.y, &predicted).unwrap().rmse;
            assert!(rmse <= 1.05 * wanted, "{set} log {log}: {rmse}, ranger's {wanted}");
        }
    }
}

/// Model, whether of the logarithm, the reference's RMSE, relative tolerance.
fn errors_wanted(set: &str) -> &'static [(&'static str, bool, f64, f64)] {
    match set {
        "diabetes" => &[
            ("lrm", false, 57.100_892, 1e-6),
            ("mars:degree=1", false, 56.648_846, 1e-6),
            ("mars:degree=2,nnodes=201,threshold=1e-5", true, 60.043_522, 1e-6),
            ("cart", false, 62.072_177, 1e-6),
            ("m5", false, 54.994_19, 1e-6),
            ("cubist:ntrees=10,ninstances=5", false, 57.692_844, 0.001),
        ],
        "ssd_random_iops" => &[
            ("lrm", true, 60_338.841, 1e-6),
            ("mars:degree=2", false, 46_885.796, 1e-6),
            ("mars:degree=2,nnodes=201,threshold=1e-5", false, 35_957.46, 1e-6),
            ("cart", false, 47_360.495, 1e-6),
            ("m5", false, 25_276.244, 1e-6),
            ("cubist:ninstances=5", true, 24_792.503, 0.02),
        ],
        "ssd_sequential_lat" => &[
            // equal reductions, and a limit on a step's gain, decide which terms enter here
            ("mars:degree=2,nnodes=201,threshold=1e-5", false, 14_762_113.0, 0.002),
            ("mars:degree=2,nnodes=201,threshold=1e-5", true, 3_637_203.0, 1e-6),
            ("m5", false, 17_641_674.0, 1e-6),
            ("m5:smoothing=0", false, 19_699_356.0, 1e-6),
            ("m5:prune=false", false, 16_897_852.0, 1e-6),
        ],
        _ => &[
            ("lrm", false, 1_421_400.5, 1e-6),
            ("mars:degree=2", true, 1_389_537.4, 1e-6),
            ("mars:degree=1", false, 1_845_545.5, 1e-6),
            ("cart:cp=0.001", false, 1_723_406.1, 1e-6),
            ("m5", true, 861_493.77, 0.0003),
            ("m5:smoothing=0", false, 742_069.34, 1e-6),
            ("cubist:ninstances=9", false, 638_622.85, 0.001),
        ],
    }
}

#[test]
fn kept_models_predict_the_same() {
    let mut stream = foretell_units::Seed(3).stream("test");
    let mut column = || -> Vec<f64> { (0..60).map(|_| stream.unit()).collect() };
    let columns = [column(), column(), column()];
    let y: Vec<f64> =
        (0..60).map(|row| 1.0 + columns[0][row] * columns[1][row] + columns[2][row]).collect();
    let names = (0..3).map(|i| foretell_learn::Feature { name: format!("x{i}"), levels: None });
    let data = Dataset {
        schema: foretell_learn::Schema { features: names.collect() },
        target: "y".to_owned(),
        x: Matrix::from_columns(&columns).unwrap(),
        y,
        groups: None,
    };
    for spec in [
        "lrm",
        "ridge",
        "lasso",
        "elasticnet",
        "mars",
        "cart:minsplit=5",
        "tree",
        "forest:ntrees=5",
        "m5",
        "cubist:ntrees=3,ninstances=4",
        "pca:components=2",
        "inside-out",
        "auto-rfl",
        "two-level:second=boost",
        "boost:ntrees=20",
    ] {
        let trained =
            Trained::fit(&spec.parse().unwrap(), &data, &Transform::LogTarget.into()).unwrap();
        let mut kept = Vec::new();
        trained.save(&mut kept).unwrap();
        let loaded = Trained::load(kept.as_slice()).unwrap();
        let (before, after) = (trained.predict(&data.x), loaded.predict(&data.x));
        for (row, (before, after)) in before.iter().zip(after).enumerate() {
            assert_near(after, *before, 1e-12, spec);
            let mut values = Vec::new();
            data.x.copy_row(row, &mut values);
            assert_near(libm::exp(trained.model.predict_row(&values)), *before, 1e-12, spec);
        }
        assert!(!loaded.describe().is_empty());
    }
    assert!(Trained::load(&b"{\"a\": 1}"[..]).is_err());
}
