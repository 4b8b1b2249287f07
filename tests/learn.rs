//! `foretell learn`, through the command.

use crate::common;

use std::fmt::Write;
use std::path::PathBuf;

use common::{data, run, succeed};
use serde_json::Value;
use tempfile::TempDir;

/// A table of 60 rows: y = 3·size + 10 where kind is `ssd`, with a little that repeats every 7 rows.
fn table() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    let mut text = String::from("size,jobs,kind,y\n");
    for row in 0..60 {
        let (size, jobs) = (row % 12 + 1, row % 5);
        let (kind, bonus) = if row % 3 == 0 { ("ssd", 10.0) } else { ("disk", 0.0) };
        let y = 3.0 * f64::from(size) + bonus + 0.1 * f64::from(row % 7);
        let _ = writeln!(text, "{size},{jobs},{kind},{y}");
    }
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed([&["learn"], arguments].concat())).expect("one JSON document")
}

fn fault(arguments: &[&str]) -> String {
    let done = run([&["learn"], arguments].concat());
    assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{arguments:?}");
    done.stderr
}

#[test]
fn evaluate_prints_errors_of_each_model() {
    let (_directory, path) = table();
    let path = path.to_str().unwrap();
    let document = json(&[
        "evaluate",
        "--data",
        path,
        "--target",
        "y",
        "--model",
        "lrm:interactions=false",
        "--model",
        "cart",
        "--json",
    ]);
    assert_eq!((&document["rows"], &document["folds"]), (&60.into(), &10.into()));
    let models = document["models"].as_array().unwrap();
    assert_eq!(models[0]["model"], "lrm:interactions=false");
    // linear up to 0.1 × (row mod 7), whose deviation is 0.2
    assert!(models[0]["rmse"].as_f64().unwrap() < 0.25);
    assert!(models[1]["rmse"].as_f64().unwrap() > 1.0);
    for key in ["rmse", "mape_percent", "median_ape_percent", "r2"] {
        assert!(models[0][key].is_number(), "{key}");
    }
    assert!(models[1]["against_first"]["p_value"].as_f64().unwrap() < 1e-6);
    let text = succeed(["learn", "evaluate", "--data", path, "--target", "y", "--model", "m5"]);
    assert!(text.contains("60 rows, 3 features, 10 folds; target `y`"), "{text}");
}

#[test]
fn a_model_is_trained_kept_shown_and_asked() {
    let (directory, path) = table();
    let path = path.to_str().unwrap();
    let model = directory.path().join("m.json");
    let model = model.to_str().unwrap();
    let text = succeed([
        "learn",
        "train",
        "--data",
        path,
        "--target",
        "y",
        "--model",
        "lrm:interactions=false",
        "-o",
        model,
    ]);
    assert!(text.contains("kind=ssd"), "{text}");
    assert_eq!(succeed(["learn", "show", model]), text[..text.find("\non these").unwrap()]);
    // columns by name, in any order; the target may be absent
    let asked = directory.path().join("ask.csv");
    std::fs::write(&asked, "kind,size,jobs,note\nssd,4,0,1\ndisk,4,0,1\n").unwrap();
    let document = json(&["predict", model, "--data", asked.to_str().unwrap(), "--json"]);
    let predicted = document["predictions"].as_array().unwrap();
    // ssd is 10 better; 12 and 22 and the mean of what repeats, 0.3
    let difference = predicted[0].as_f64().unwrap() - predicted[1].as_f64().unwrap();
    assert!((difference - 10.0).abs() < 0.2, "{difference}");
    assert!((predicted[1].as_f64().unwrap() - 12.3).abs() < 0.4);
    std::fs::write(&asked, "kind,size,jobs\ntape,4,0\n").unwrap();
    let fault = fault(&["predict", model, "--data", asked.to_str().unwrap()]);
    assert!(fault.contains("row 1: `kind` is `tape`, which the model never saw"), "{fault}");
}

#[test]
fn search_finds_parameters_in_ranges() {
    let (_directory, path) = table();
    let path = path.to_str().unwrap();
    let document = json(&[
        "search",
        "--data",
        path,
        "--target",
        "y",
        "--model",
        "cart",
        "--range",
        "minsplit=2..20",
        "--range",
        "cp=0..0.5",
        "--iterations",
        "3",
        "--json",
    ]);
    let (found, before) =
        (document["rmse"].as_f64().unwrap(), document["rmse_before"].as_f64().unwrap());
    assert!(found < before, "{found} {before}");
    // the corner, and the 6 × 6 grid with it
    assert!(document["evaluations"].as_u64().unwrap() >= 36);
    let evaluated = json(&[
        "evaluate",
        "--data",
        path,
        "--target",
        "y",
        "--model",
        "cart",
        "--search",
        "--iterations",
        "2",
        "--fold-count",
        "3",
        "--json",
    ]);
    assert_eq!(evaluated["models"][0]["searches"].as_array().unwrap().len(), 3);
}

#[test]
fn wrong_input_is_told() {
    let (directory, path) = table();
    let path = path.to_str().unwrap();
    let evaluate = ["evaluate", "--data", path, "--target", "y", "--model"];
    let expect_fault = |arguments: &[&str], text: &str| {
        let fault = fault(arguments);
        assert!(fault.contains(text), "{fault}");
    };
    expect_fault(&[&evaluate[..], &["marz"]].concat(), "did you mean `mars`?");
    expect_fault(&[&evaluate[..], &["mars:nnode=3"]].concat(), "did you mean `nnodes`?");
    expect_fault(
        &["evaluate", "--data", path, "--target", "yy", "--model", "lrm"],
        "there is no column `yy`; did you mean `y`?",
    );
    expect_fault(
        &["evaluate", "--data", "absent.csv", "--target", "y", "--model", "lrm"],
        "`absent.csv`",
    );
    expect_fault(
        &[&evaluate[..], &["lrm", "--split", "train"]].concat(),
        "is a table and has no split `train`",
    );
    expect_fault(
        &[&evaluate[..], &["lrm", "--fold-count", "0"]].concat(),
        "expected a whole number from 1",
    );
    let folds = directory.path().join("f.csv");
    std::fs::write(&folds, "row,fold\n0,0\n1,1\n").unwrap();
    let folds = folds.to_str().unwrap();
    expect_fault(
        &[&evaluate[..], &["lrm", "--folds", folds]].concat(),
        "2 rows, but the data has 60",
    );
    let bad = directory.path().join("bad.csv");
    for (text, wanted) in [
        ("a,y\n1,2\nx,3\n", "line 3, column `a`: `x` is not a number"),
        ("a,y\n1,2\ninf,3\n", "line 3, column `a`: `inf` is not a finite number"),
        ("a,b,y\n1,7,2\n2,7,3\n", "column `b` is constant (always 7)"),
    ] {
        std::fs::write(&bad, text).unwrap();
        let bad = bad.to_str().unwrap();
        expect_fault(&["train", "--data", bad, "--target", "y", "--model", "lrm"], wanted);
    }
    std::fs::write(&bad, "a,y\n1,2\n2,-3\n").unwrap();
    let bad = bad.to_str().unwrap();
    expect_fault(
        &["train", "--data", bad, "--target", "y", "--model", "lrm", "--log-target"],
        "row 2: the target is -3; its logarithm needs values above 0",
    );
    expect_fault(&["show", bad], "not a saved model");
}

#[test]
fn published_errors_of_r_on_real_storage() {
    let Some(set) = data("regression/ssd_random_iops.csv") else { return };
    let folds = data("regression/ssd_random_iops.folds.csv").unwrap();
    let document = json(&[
        "evaluate",
        "--data",
        set.to_str().unwrap(),
        "--folds",
        folds.to_str().unwrap(),
        "--target",
        "y",
        "--log-target",
        "--model",
        "mars:degree=2,nnodes=21,threshold=0.001",
        "--model",
        "cart",
        "--json",
    ]);
    // earth 26365.138 and MAPE 21.029 %; rpart 54281.762 and 83.991 %
    for (model, rmse, mape) in [(0, "26365.1", "21.03"), (1, "54281.8", "83.99")] {
        let model = &document["models"][model];
        assert_eq!(format!("{:.1}", model["rmse"].as_f64().unwrap()), rmse);
        assert_eq!(format!("{:.2}", model["mape_percent"].as_f64().unwrap()), mape);
    }
}

/// A table of a run's features, beside the run's directory; the names of its columns.
fn features(place: &common::Place, arguments: &[&str]) -> (PathBuf, Vec<String>) {
    let path = place.path("features.csv");
    let output = ["-o", path.to_str().unwrap(), "--window", "10", "--keep-constant"];
    succeed([&["learn", "features"], arguments, &output].concat());
    let text = std::fs::read_to_string(&path).unwrap();
    let names = text.lines().next().unwrap().split(',').map(str::to_owned).collect();
    (path, names)
}

/// A run of 90 s with metrics, of a light load.
fn metrics_run(place: &common::Place) -> PathBuf {
    let more = ["record=none", "tracking.metrics=true", "warmup=0 s", "duration=90 s"];
    place.keep("run", &more.map(|change| ["--set", change]).concat())
}

#[test]
fn features_of_a_run_and_of_its_exported_files_are_alike() {
    let place = common::Place::with(common::SMALL);
    let run = metrics_run(&place);
    let (path, names) = features(&place, &[run.to_str().unwrap()]);
    for name in ["set", "TPr", "OPw", "osd.network.send.sum", "osd.cpu.usr.p95"] {
        assert!(names.iter().any(|known| known == name), "{name} in {names:?}");
    }
    let of_run = std::fs::read_to_string(path).unwrap();
    let files = place.path("dstat");
    succeed(["export", run.to_str().unwrap(), "--dstat", "-o", files.to_str().unwrap()]);
    let hosts: Vec<String> = (0..4)
        .map(|host| format!("osd={}", files.join(format!("dstat-brick{host}.csv")).display()))
        .collect();
    let clients = files.join("clients.csv");
    let mut arguments = vec!["--clients", clients.to_str().unwrap()];
    arguments.extend(hosts.iter().flat_map(|host| ["--dstat", host]));
    let (path, exported_names) = features(&place, &arguments);
    assert_eq!(exported_names, names);
    let of_files = std::fs::read_to_string(path).unwrap();
    // dstat's times are whole seconds, so windows may hold a sample more or less
    let place_of = |name: &str| names.iter().position(|known| known == name).unwrap();
    let column = |text: &str, name: &str| -> Vec<f64> {
        let rows = text.lines().skip(1);
        rows.map(|row| row.split(',').nth(place_of(name)).unwrap().parse().unwrap()).collect()
    };
    for name in ["OPr", "osd.network.send.sum", "osd.cpu.sys.mean"] {
        let (a, b) = (column(&of_run, name), column(&of_files, name));
        // without the first row of each file the first window is not whole
        assert!(a.len() - b.len() <= 1 && b.len() > 10, "{} {}", a.len(), b.len());
        for (a, b) in a[a.len() - b.len()..].iter().zip(&b) {
            assert!((a - b).abs() <= 0.05 * a, "{name}: {a} {b}");
        }
    }
}

#[test]
fn metrics_of_a_real_host_tell_what_fio_saw() {
    let Some(joined) = data("dstat/fio-and-dstat-1s.csv") else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("features.csv");
    let (table, joined) = (path.to_str().unwrap(), format!("osd={}", joined.display()));
    succeed(["learn", "features", "--joined", &joined, "--window", "1", "-o", table]);
    for (target, other) in [("OPr", "OPw"), ("OPw", "OPr")] {
        let drop = format!("set,time_s,{other}");
        let document = json(&[
            "evaluate",
            "--data",
            table,
            "--target",
            target,
            "--drop",
            &drop,
            "--blocks",
            "10",
            "--score-above",
            "1000",
            "--model",
            "inside-out",
            "--json",
        ]);
        let accuracy = document["models"][0]["accuracy_percent"].as_f64().unwrap();
        assert!(accuracy >= 90.0, "{target}: {accuracy}");
    }
}

#[test]
fn faults_of_features_are_told() {
    let place = common::Place::with(common::SMALL);
    let plain = place.keep("plain", &["--set", "record=none"]);
    let plain = plain.to_str().unwrap();
    let message = fault(&["features", plain, "-o", "f.csv"]);
    assert!(
        message.contains("holds no metrics") && message.contains("tracking.metrics=true"),
        "{message}"
    );
    let message = fault(&["features", "-o", "f.csv"]);
    assert!(message.contains("nothing to read"), "{message}");
    let message = fault(&["features", "--joined", "nokind", "-o", "f.csv"]);
    assert!(message.contains("osd=node3.csv"), "{message}");
    let run = metrics_run(&place);
    let message = fault(&["features", run.to_str().unwrap(), "--window", "600", "-o", "f.csv"]);
    assert!(message.contains("`--window` must be at least one interval"), "{message}");
}

/// A grid of 5 × 4 × 3 where y = 1000·size^0.7·jobs/(1 + share/200): a power law.
fn grid() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("grid.csv");
    let mut text = String::from("name;size;jobs;reads_percent;y\n");
    for (size, jobs, reads) in [4, 8, 16, 32, 64].into_iter().flat_map(|size| {
        [1, 4, 16, 64].into_iter().flat_map(move |jobs| [0, 50, 100].map(|r| (size, jobs, r)))
    }) {
        let y = 1000.0 * libm::pow(f64::from(size), 0.7) * f64::from(jobs)
            / (1.0 + f64::from(reads) / 200.0);
        let _ = writeln!(text, "s{size}j{jobs}r{reads};{size};{jobs};{reads};{y}");
    }
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

#[test]
fn a_process_is_scored_between_levels_with_intervals_and_keys() {
    let (directory, path) = grid();
    let path = path.to_str().unwrap();
    let out = directory.path().join("p.csv");
    let common = ["--data", path, "--target", "y", "--key", "name"];
    let document = json(
        &[
            &["evaluate", "--cv", "leave-level-out", "--model", "gp", "--model", "cart"],
            &common[..],
            &["--intervals", "--predictions", out.to_str().unwrap(), "--json"],
        ]
        .concat(),
    );
    // of 5, 4 and 3 levels 3, 2 and 1 lie between others
    assert_eq!(document["folds"], 6);
    let gp = &document["models"][0];
    assert!(gp["mape_percent"].as_f64().unwrap() < 3.0, "{gp}");
    assert!(document["models"][1]["mape_percent"].as_f64().unwrap() > 20.0);
    assert_eq!(gp["by_level"].as_array().unwrap().len(), 6);
    assert!(gp["intervals"]["coverage_percent"].is_number());
    let lines = std::fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert!(lines[0].starts_with("row,name,left_out,y,gp,low,high,cart,"), "{}", lines[0]);
    // a row with k levels between others stands k times: 36 + 30 + 20
    assert_eq!(lines.len(), 1 + 36 + 30 + 20);
    assert!(lines[1].starts_with("2,s4j1r50,"), "{}", lines[1]);
    // plain folds come with a note, those that leave levels out do not
    let text = succeed([&["learn", "evaluate", "--model", "cart"], &common[..]].concat());
    assert!(text.contains("note: `size` takes 5 values"), "{text}");
    assert!(text.contains("--cv leave-level-out"), "{text}");
    assert!(document["notes"].is_null(), "{document}");
}

#[test]
fn score_learns_from_one_table_chooses_and_tells_errors_on_another() {
    let (directory, path) = grid();
    let other = directory.path().join("between.csv");
    // 1000·24^0.7·32/1.375 and 1000·6^0.7·2/1.125
    let rows: Vec<String> = [(24.0_f64, 32.0, 75.0), (6.0, 2.0, 25.0), (12.0, 8.0, 10.0)]
        .iter()
        .map(|(size, jobs, reads)| {
            let y = 1000.0 * libm::pow(*size, 0.7) * jobs / (1.0 + reads / 200.0);
            format!("n,{size},{jobs},{reads},{y}\n")
        })
        .collect();
    std::fs::write(&other, format!("name,size,jobs,reads_percent,y\n{}", rows.concat())).unwrap();
    let document = json(&[
        "score",
        "--data",
        path.to_str().unwrap(),
        "--target",
        "y",
        "--drop",
        "name",
        "--test",
        other.to_str().unwrap(),
        "--model",
        "cart",
        "--model",
        "gp",
        "--json",
    ]);
    assert_eq!(
        (&document["chosen"], &document["chosen_by"]),
        (&"gp".into(), &"mape_percent".into())
    );
    assert!(document["models"][1]["tests"][0]["errors"]["mae"].as_f64().unwrap() > 0.0);
    assert_eq!(document["validation"], "leaving out levels of the design");
    let gp = &document["models"][1];
    assert!(gp["tests"][0]["errors"]["mape_percent"].as_f64().unwrap() < 3.0, "{gp}");
}

#[test]
fn options_without_effect_are_refused() {
    let (_directory, path) = table();
    let data = ["--data", path.to_str().unwrap(), "--target", "y", "--model", "cart"];
    let refused = |step: &str, options: &[&str], wanted: &str| {
        let message = fault(&[&[step], &data[..], options].concat());
        assert!(message.contains(wanted), "{options:?}: {message}");
    };
    for options in [
        ["--range", "minsplit=3..20"],
        ["--splits", "4"],
        ["--explorations", "4"],
        ["--iterations", "4"],
        ["--least-gain", "0.1"],
    ] {
        refused("evaluate", &options, "--search");
    }
    for options in [
        ["--level", "80"],
        ["--interval-method", "split"],
        ["--interval-scale", "none"],
        ["--interval-folds", "5"],
        ["--interval-group", "kind"],
    ] {
        refused("evaluate", &options, "--intervals");
        refused("train", &[&options[..], &["--no-intervals"]].concat(), "cannot be used with");
    }
    refused("evaluate", &["--search", "--range", "nnodes=3..20"], "has no parameter `nnodes`");
    for option in ["--drop", "--key", "--group"] {
        refused("train", &[option, "y"], &format!("`{option} y`: `y` is the target"));
    }
}

#[test]
fn extrapolations_are_noted() {
    let (directory, path) = table();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (model, asked) = (file("m.json"), file("ask.csv"));
    let data = path.to_str().unwrap();
    succeed(["learn", "train", "--data", data, "--target", "y", "--model", "cart", "-o", &model]);
    let noted = |rows: &str| {
        std::fs::write(&asked, format!("kind,size,jobs\n{rows}")).unwrap();
        let done = run(["learn", "predict", &model, "--data", &asked]);
        assert_eq!(done.status, Some(0));
        done.stderr
    };
    assert_eq!(noted("ssd,1,0\ndisk,12,4\n"), "");
    assert_eq!(
        noted("ssd,1,0\nssd,100000,4\n"),
        "note: row 2: `size` = 100000 is outside the training rows (1 to 12)\n"
    );
    let many = noted(&"ssd,0,9\n".repeat(3));
    assert!(many.ends_with("note: 3 more values are outside the training rows\n"), "{many}");
}

#[test]
fn a_test_with_the_training_rows_is_noted() {
    let (directory, path) = table();
    let data = path.to_str().unwrap();
    let copy = directory.path().join("copy.csv").display().to_string();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&copy, &text).unwrap();
    let other = directory.path().join("other.csv").display().to_string();
    std::fs::write(&other, text.lines().take(30).collect::<Vec<_>>().join("\n")).unwrap();
    let model = ["learn", "score", "--data", data, "--target", "y", "--model", "lrm"];
    for (test, is_noted) in [(data, true), (&copy, true), (&other, false)] {
        let done = run([&model[..], &["--test", test]].concat());
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        assert_eq!(
            done.stderr.contains("holds the rows that the models learn from"),
            is_noted,
            "{test}"
        );
    }
}

#[test]
fn the_logarithm_of_the_target_leaves_the_choice_of_inputs() {
    let (_directory, path) = grid();
    let mape = |more: &[&str]| {
        let data =
            ["evaluate", "--data", path.to_str().unwrap(), "--target", "y", "--drop", "name"];
        let document = json(&[&data[..], &["--model", "gp", "--json"], more].concat());
        document["models"][0]["mape_percent"].as_f64().unwrap()
    };
    let (auto, both) = (mape(&[]), mape(&["--log-target"]));
    // the target is a product of powers: with logarithms of target and inputs it is nearly linear
    assert!(auto < 3.0 && both < 3.0, "{auto} {both}");
    assert!((mape(&["--log-target", "--transform", "auto"]) - both).abs() < 1e-9);
    assert!(mape(&["--log-target", "--transform", "none"]) > both);
}

#[test]
fn values_that_are_too_large_are_refused_by_the_name_of_their_column() {
    let (directory, path) = table();
    let text = std::fs::read_to_string(&path).unwrap();
    let model = directory.path().join("m.json");
    for (from, to, column) in [
        ("\n5,4,", "\n1e300,4,", "`size` = 1e300"),
        ("\n5,4,", "\n5,-1.5e299,", "`jobs` = -1.5e299"),
    ] {
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        for spec in ["lrm", "gp", "tree"] {
            let data =
                ["train", "--data", path.to_str().unwrap(), "--target", "y", "--model", spec];
            let said = fault(&[&data[..], &["-o", model.to_str().unwrap()]].concat());
            assert!(said.contains("row 5: ") && said.contains(column), "{spec}: {said}");
            assert!(!model.exists());
        }
    }
    // a target is a column, too
    std::fs::write(&path, "x,y\n1,1e300\n2,2e300\n3,1e300\n").unwrap();
    let said =
        fault(&["train", "--data", path.to_str().unwrap(), "--target", "y", "--model", "lrm"]);
    assert!(said.contains("`y` = 1e300 is too large"), "{said}");
}

#[test]
fn a_small_model_is_a_small_file() {
    let directory = tempfile::tempdir().unwrap();
    let (data, model) = (directory.path().join("t.csv"), directory.path().join("m.json"));
    let mut text = String::from("a,b,y\n");
    for row in 0..400_u32 {
        let (a, b) = (row * 7 % 31, row * 13 % 17);
        let _ = writeln!(text, "{a},{b},{}", a / 8 * 100 + b + row * 29 % 11);
    }
    std::fs::write(&data, text).unwrap();
    let (data, saved) = (data.to_str().unwrap(), model.to_str().unwrap());
    succeed(["learn", "train", "--data", data, "--target", "y", "--model", "cart", "-o", saved]);
    let bytes = std::fs::metadata(&model).unwrap().len();
    assert!(bytes < 150_000, "{bytes} bytes");
}

#[test]
fn a_kept_model_predicts_with_intervals() {
    let (directory, path) = table();
    let model = directory.path().join("m.json");
    let model = model.to_str().unwrap();
    let data = path.to_str().unwrap();
    for kind in ["gp", "cubist", "forest:ntrees=20"] {
        succeed(["learn", "train", "--data", data, "--target", "y", "--model", kind, "-o", model]);
        let text = succeed(["learn", "predict", model, "--data", data, "--key", "kind"]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "row,kind,predicted,low,high");
        assert!(lines[1].starts_with("1,ssd,") && lines.len() == 61, "{text}");
        for line in &lines[1..] {
            let cells: Vec<f64> =
                line.split(',').skip(2).map(|cell| cell.parse().unwrap()).collect();
            assert!(cells[1] <= cells[0] && cells[0] <= cells[2], "{kind}: {line}");
        }
        let wide = json(&["predict", model, "--data", data, "--level", "99", "--json"]);
        let narrow = json(&["predict", model, "--data", data, "--level", "50", "--json"]);
        let width = |of: &Value| of["high"][5].as_f64().unwrap() - of["low"][5].as_f64().unwrap();
        assert!(width(&wide) > width(&narrow), "{kind}");
        assert_eq!(wide["sigma"].is_array(), kind == "gp");
    }
}

#[test]
fn trees_learn_with_missing_values_and_others_name_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.tsv");
    let mut text = String::from("a\tb\ty\n");
    for row in 0..40 {
        let a = if row % 4 == 0 { String::new() } else { (row % 4).to_string() };
        let y = if row % 4 == 0 { 50 } else { row % 4 };
        let _ = writeln!(text, "{a}\t{}\t{y}", row % 7);
    }
    std::fs::write(&path, text).unwrap();
    let data = path.to_str().unwrap();
    let evaluate = ["evaluate", "--data", data, "--target", "y", "--json", "--model"];
    for model in ["tree", "cart:minsplit=4", "forest:ntrees=20", "boost:minleaf=1,rows=1"] {
        let document = json(&[&evaluate[..], &[model]].concat());
        assert!(document["models"][0]["rmse"].as_f64().unwrap() < 2.0, "{model}: {document}");
    }
    let fault = fault(&[&evaluate[..], &["lrm"]].concat());
    assert!(fault.contains("row 1: `a` is missing; `lrm` needs every value"), "{fault}");
}

#[test]
fn a_model_is_explained() {
    let (directory, path) = table();
    let pictures = directory.path().join("pictures");
    let document = json(&[
        "explain",
        "--data",
        path.to_str().unwrap(),
        "--target",
        "y",
        "--model",
        "lrm:interactions=false",
        "--pictures",
        pictures.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(document["importance"][0]["feature"], "size");
    assert_eq!(document["importance"][2]["feature"], "jobs");
    let curve = document["learning_curve"].as_array().unwrap();
    assert_eq!(curve.last().unwrap()["rows"], 54);
    for picture in ["importance.svg", "learning-curve.png", "dependence-size.svg"] {
        assert!(pictures.join(picture).is_file(), "{picture}");
    }
}
