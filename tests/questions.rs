//! Questions about Ceph, Swift and virtual machines, as users ask them: `tests/questions/*.toml`.
//!
//! Each file has runs, each a shipped scenario with settings, and questions, each one or more changes.
//! That all of them can be asked is checked always; `cargo test --release --test program questions -- --ignored
//! --nocapture` scores them, and prints the errors.

use crate::common;

use std::fs;

use common::*;
use foretell_scenarios::{Change, Document};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Questions {
    run: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    name: String,
    scenario: String,
    set: Vec<String>,
    questions: Vec<Vec<String>>,
}

const FILES: [&str; 3] = ["ceph", "swift", "guest"];

fn runs(file: &str) -> Vec<Run> {
    let text = fs::read_to_string(format!("tests/questions/{file}.toml")).unwrap();
    toml::from_str::<Questions>(&text).unwrap().run
}

fn changed(document: &Document, changes: &[String]) -> Document {
    let mut document = document.clone();
    for change in changes {
        let Change { path, value } = change.parse().unwrap();
        document.set(&path, &value).unwrap_or_else(|error| panic!("{change}: {error}"));
    }
    document.check().unwrap_or_else(|errors| panic!("{changes:?}: {}", errors.lines()));
    document
}

#[test]
fn every_question_is_possible_and_changes_something() {
    for file in FILES {
        let runs = runs(file);
        let count: usize = runs.iter().map(|run| run.questions.len()).sum();
        assert!(count >= 12, "{file}: {count}");
        for Run { scenario, set, questions, .. } in runs {
            let document = changed(&Document::load(&scenario).unwrap(), &set);
            for question in questions {
                let after = changed(&document, &question);
                let differs = after.resolved().unwrap() != document.resolved().unwrap();
                assert!(differs, "{scenario}: {question:?}");
            }
        }
    }
}

#[test]
#[ignore = "simulates for many minutes"]
fn answers_are_within_a_few_percent_of_what_happens() {
    for file in FILES {
        let mut errors = Vec::new();
        for Run { name, scenario, set, questions } in runs(file) {
            let place = Place::with("");
            let dir = place.path("run");
            let dir = dir.to_str().unwrap();
            let set = set.iter().flat_map(|change| ["--set", change.as_str()]);
            succeed(["run", scenario.as_str(), "-o", dir].into_iter().chain(set));
            println!("{file}: {name}");
            for question in questions {
                let changes = question.iter().flat_map(|change| ["--what-if", change.as_str()]);
                let text = succeed(["score", dir, "--json"].into_iter().chain(changes));
                let scores: Value = serde_json::from_str(&text).unwrap();
                for found in scores["comparisons"].as_array().unwrap() {
                    let metric = found["metric"].as_str().unwrap();
                    if !["throughput_rps", "response_time_ms.mean"].contains(&metric) {
                        continue;
                    }
                    let error = found["error"].as_f64().unwrap();
                    println!("  {:5.1} %  {metric:21}  {}", 100.0 * error, question.join(", "));
                    errors.push(error);
                }
            }
        }
        errors.sort_by(f64::total_cmp);
        let (median, p90) = (errors[errors.len() / 2], errors[errors.len() * 9 / 10]);
        println!("{file}: median {:.1} %, 90 % under {:.1} %", 100.0 * median, 100.0 * p90);
        assert!(median <= 0.03 && p90 < 0.12, "{file}: {median} {p90}");
    }
}
