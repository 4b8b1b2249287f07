//! `foretell reproduce`: figures of a paper as tables and pictures, and what holds of its claims.

use crate::common;

use std::fs;

use common::{files, run, succeed};

#[test]
fn a_figure_is_a_table_two_pictures_and_rows_of_the_summary() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    let path = directory.to_str().unwrap();
    let printed = succeed(["reproduce", "ursa-minor", "--quick", "--figure", "fig09", "-o", path]);
    // recorded runs are gone
    assert_eq!(files(&directory), ["fig09.csv", "fig09.png", "fig09.svg", "summary.json"]);
    let png = fs::read(directory.join("fig09.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    let svg = fs::read_to_string(directory.join("fig09.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("measured") && svg.contains("S2"), "{svg}");

    let csv = fs::read_to_string(directory.join("fig09.csv")).unwrap();
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let header = &lines[0];
    assert_eq!(header[..5], ["series", "x", "metric", "measured_mean", "measured_sd"]);
    let error = header.iter().position(|name| *name == "replay_error").unwrap();
    let places: Vec<&str> = lines[1..].iter().map(|line| line[1]).collect();
    assert_eq!(places, ["original", "S1", "S2"]);
    for line in &lines[1..] {
        let found: f64 = line[error].parse().unwrap();
        assert!(found <= 0.10, "{line:?}");
    }

    let summary = fs::read_to_string(directory.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(
        (&summary["paper"], &summary["quick"], &summary["seeds"]),
        (&"ursa-minor".into(), &true.into(), &3.into())
    );
    let rows = summary["rows"].as_array().unwrap();
    // three of the figure, one of all predictions
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert!(row["holds"].is_boolean() && row["ours"].is_string(), "{row}");
        assert!(row["holds"] == true || row["why"].is_string(), "{row}");
        assert!(printed.contains(row["claim"].as_str().unwrap()), "{row}");
    }
    for model in ["replay", "bounds", "mva"] {
        assert_eq!(summary["predictions"][model]["comparisons"], 3);
    }
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn the_number_of_threads_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut tables = Vec::new();
    for jobs in ["1", "3"] {
        let directory = place.path().join(jobs);
        let path = directory.to_str().unwrap();
        let arguments =
            ["reproduce", "ursa-minor", "--quick", "--figure", "fig09", "--jobs", jobs, "-o", path];
        succeed(arguments);
        tables.push(
            ["fig09.csv", "summary.json"].map(|name| fs::read(directory.join(name)).unwrap()),
        );
    }
    assert!(tables[0] == tables[1]);
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn what_a_write_costs_comes_out_of_ceph_and_swift() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("out");
    let path = directory.to_str().unwrap();
    succeed(["reproduce", "constant-capacity", "--quick", "--figure", "fig03", "-o", path]);
    // runs and workload files are gone
    assert_eq!(files(&directory), ["fig03.csv", "fig03.png", "fig03.svg", "summary.json"]);
    let csv = fs::read_to_string(directory.join("fig03.csv")).unwrap();
    for (system, low, high) in [("Ceph", 3.0, 9.0), ("Swift", 2.0, 3.0)] {
        let rows: Vec<&str> = csv.lines().filter(|line| line.starts_with(system)).collect();
        assert_eq!(rows.len(), 9, "{csv}");
        for row in rows {
            let ratio: f64 = row.split(',').nth(3).unwrap().parse().unwrap();
            assert!((low..=high).contains(&ratio), "{row}");
        }
    }
    let summary = fs::read_to_string(directory.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!((&summary["paper"], &summary["seeds"]), (&"constant-capacity".into(), &1.into()));
    assert_eq!(summary["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn a_figure_of_another_paper_is_refused() {
    let other = run(["reproduce", "constant-capacity", "--figure", "fig07", "-o", "nowhere"]);
    assert_eq!(other.status, Some(2));
    assert!(other.stderr.contains("has no figure `fig07`; it has fig02a"), "{}", other.stderr);
    assert!(!std::path::Path::new("nowhere").exists());
}

#[test]
fn an_unknown_paper_or_figure_is_told_with_the_nearest() {
    let paper = run(["reproduce", "ursa-mino", "-o", "nowhere"]);
    assert_eq!(paper.status, Some(2));
    assert!(paper.stderr.contains("'ursa-minor'"), "{}", paper.stderr);
    let figure = run(["reproduce", "ursa-minor", "--figure", "fig7", "-o", "nowhere"]);
    assert_eq!(figure.status, Some(2));
    assert!(figure.stderr.contains("'fig07'"), "{}", figure.stderr);
}

#[test]
fn a_directory_that_cannot_be_made_is_told_before_anything_runs() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    let path = file.join("out");
    let done = run(["reproduce", "ursa-minor", "-o", path.to_str().unwrap()]);
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("cannot make the directory"), "{}", done.stderr);
    assert!(done.stderr.contains("is a file; choose another directory"), "{}", done.stderr);
    assert_eq!(done.stdout, "");
}
