//! `foretell score`: random questions, seeds, past scores, suites.

use crate::common;

use std::fs;

use common::questions::{CLUSTER, json};
use common::*;
use serde_json::Value;

#[test]
fn random_clusters_are_drawn_and_scored_alike_each_time() {
    let once = || {
        let mut found = json(&succeed(["score", "--random", "1", "--seed", "7", "--json"]));
        for case in found["cases"].as_array_mut().unwrap() {
            // the host's time
            case.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_in_s"));
        }
        found
    };
    let first = once();
    assert_eq!(first["cases"].as_array().unwrap().len(), 1);
    assert!(first["errors"]["throughput_rps"]["median"].as_f64().unwrap() < 0.5);
    assert_eq!(once(), first);
}

#[test]
fn a_random_question_that_the_model_refuses_is_counted() {
    // `fast` does not follow other loads, and half of the questions of `v4` are about these
    let score = ["score", "--random", "1", "--generator", "v4", "--seed", "4", "--model", "fast"];
    let text = succeed(score);
    assert!(text.starts_with("Questions without an answer: 1 of 1. The first: `"), "{text}");
    assert!(!text.contains("case 0"), "a case without an answer has no error: {text}");
    let found = json(&succeed(score.iter().copied().chain(["--json"])));
    let case = &found["cases"][0];
    assert!(case["refused"].as_str().unwrap().contains("ask with `replay`"), "{case}");
    assert_eq!(case["comparisons"].as_array().unwrap().len(), 0);
}

#[test]
fn a_score_over_seeds_has_means_and_deviations() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=10 s"]);
    let dir = dir.to_str().unwrap();
    let change = "workload.mail.outstanding=2";
    let once = json(&succeed(["score", dir, "--what-if", change, "--json"]));
    let twice = json(&succeed(["score", dir, "--what-if", change, "--repeat", "2", "--json"]));
    let of = |scores: &Value, key: &str| scores["comparisons"][0][key].as_f64();
    assert_eq!((of(&once, "measured_sd"), of(&once, "predicted_sd")), (None, None));
    // of two values the deviation is their distance by the root of two: the first run is one of them
    let (mean, deviation) = (of(&twice, "measured").unwrap(), of(&twice, "measured_sd").unwrap());
    let off = (mean - of(&once, "measured").unwrap()).abs();
    assert!((off * 2.0 / f64::sqrt(2.0) - deviation).abs() < 1e-6, "{off} {deviation}");
    assert!(of(&twice, "predicted_sd").unwrap() > 0.0);
}

#[test]
fn past_scores_say_how_far_off_an_answer_is_to_be_expected() {
    let place = Place::with(CLUSTER);
    let dir = place.keep("run", &["--set", "duration=5 s"]);
    let (dir, history) = (dir.to_str().unwrap(), place.path("history.csv"));
    let (change, file) = ("volume.web.encoding=1-of-3", history.to_str().unwrap());
    let expected = |more: &[&str]| {
        let asked = ["ask", dir, "--what-if", change, "--model", "replay", "--json"];
        let answer = json(&succeed(asked.iter().chain(more).copied()));
        answer["workloads"]["mail"]["expected_error"]["throughput_rps"].clone()
    };
    let shipped = expected(&[]);
    let (median, p90) = (shipped["median"].as_f64().unwrap(), shipped["p90"].as_f64().unwrap());
    assert!(0.0 <= median && median < p90 && p90 < 1.0, "{shipped}");
    // scores of this very question are most like it
    for _ in 0..2 {
        succeed(["score", dir, "--what-if", change, "--history", file]);
    }
    let text = fs::read_to_string(&history).unwrap();
    let header =
        "model,metric,misfit,moved,error,utilization,system,device,change,arrivals,requests\n";
    assert!(text.starts_with(&format!("{header}bounds,throughput_rps,")), "{text}");
    assert!(text.contains(",ursa-minor,disk,encoding,closed,"), "{text}");
    assert!(text.contains(",ursa-minor,disk,encoding,open,"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("model")).count(), 1);
    let errors: Vec<f64> = text
        .lines()
        .filter(|line| line.starts_with("replay,throughput_rps"))
        .map(|line| line.split(',').nth(4).unwrap().parse().unwrap())
        .collect();
    assert_eq!(errors.len(), 4, "two workloads, twice");
    let mut many = text.clone();
    for _ in 0..40 {
        many += text.split_once('\n').unwrap().1;
    }
    fs::write(&history, many).unwrap();
    let own = expected(&["--history", file]);
    // without its sign: an error and its reciprocal are as wide
    let alike = |error: &f64| (libm::exp(libm::log(1.0 + error).abs()) - 1.0).max(0.0);
    let median = own["median"].as_f64().unwrap();
    assert!(errors.iter().any(|error| (median - alike(error)).abs() < 1e-9), "{own} {errors:?}");
    // every figure has an interval around it
    let answer = json(&succeed(["ask", dir, "--what-if", change, "--json"]));
    for (name, workload) in answer["workloads"].as_object().unwrap() {
        let times = &workload["response_time_ms"];
        for (metric, figure) in [
            ("throughput_rps", &workload["throughput_rps"]),
            ("response_time_ms.mean", &times["mean"]),
            ("response_time_ms.p99", &times["p99"]),
        ] {
            let interval = &workload["interval"][metric];
            let (low, high) =
                (interval["low"].as_f64().unwrap(), interval["high"].as_f64().unwrap());
            let figure = figure.as_f64().unwrap();
            assert!(low < figure && figure < high, "{name} {metric}: {low} {figure} {high}");
        }
    }
    assert!(succeed(["ask", dir, "--what-if", change]).contains("In 9 of 10 cases like this"));
    fs::write(&history, "time,iops\n1,2\n").unwrap();
    for command in ["ask", "score"] {
        let done = run([command, dir, "--what-if", change, "--history", file]);
        assert_eq!(done.status, Some(2), "{command}: {}", done.stderr);
        assert!(done.stderr.contains("not a history of scores: line 1"), "{}", done.stderr);
    }
}

#[test]
fn a_suite_of_ones_own_is_scored() {
    let place = Place::with(CLUSTER);
    let scenario = place.path("scenario.toml");
    let suite = place.path("suite.toml");
    let text = format!(
        r#"
[[run]]
name = "mine"
scenario = '{}'
set = ["duration=10 s"]
[[run.question]]
ask = "Is the network the limit?"
what_if = ["node.brick.nic.rate=10 Gbit/s"]
[[run.question]]
what_if = ["node.brick.cpu.quantum=1 ms"]
class = "slices"
[[run.question]]
ask = "The second office too"
what_if = ["workload.mail.client=app"]
"#,
        scenario.display()
    );
    fs::write(&suite, text).unwrap();
    let found = json(&succeed(["score", "--suite", suite.to_str().unwrap(), "--json"]));
    let questions = found["questions"].as_array().unwrap();
    let classes: Vec<&str> = questions.iter().map(|one| one["class"].as_str().unwrap()).collect();
    assert_eq!(classes, ["disks and traces", "slices", "added clients"]);
    assert!(questions[1]["refused"].as_str().unwrap().contains("cannot be asked"));
    let comparison = &questions[0]["comparisons"][0];
    assert!(comparison["low"].as_f64() < comparison["high"].as_f64(), "{comparison}");
    assert_eq!(comparison["class"], "ursa-minor disk network");
    assert!(comparison["error"].as_f64().unwrap() < 0.1, "{comparison}");
    let all = found["classes"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&all["class"], &all["questions"], &all["refused"]),
        (&"all".into(), &3.into(), &1.into())
    );
    fs::write(&suite, "[[run]]\nname = \"a\"\nquestion = []\n").unwrap();
    let done = run(["score", "--suite", suite.to_str().unwrap()]);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("needs a scenario"), "{}", done.stderr);
}
