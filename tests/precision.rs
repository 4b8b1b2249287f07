//! `foretell run --precision`: runs that go on until a figure is known well enough.

use crate::common;

use common::succeed;
use serde_json::Value;

/// A disk that is read at random, which takes a while until its queue is as long as it stays.
const LOAD: [&str; 6] = [
    "first-look",
    "--no-records",
    "--set",
    "workload.mail.working_set=20 GiB",
    "--set",
    "warmup=1 s",
];

fn run(more: &[&str]) -> Value {
    let text = succeed([&["run"], &LOAD[..], more, &["--json"]].concat());
    let mut truth: Value = serde_json::from_str(&text).unwrap();
    let keys = truth.as_object_mut().unwrap();
    keys.remove("wall_seconds");
    truth
}

#[test]
fn a_run_goes_on_until_it_knows_enough() {
    let short = ["--set", "duration=4 s"];
    let once = run(&short);
    let known = |truth: &Value| {
        let response = &truth["workloads"]["mail"]["response_time_ms"];
        response["mean_half_width"].as_f64().unwrap() / response["mean"].as_f64().unwrap()
    };
    assert!(known(&once) > 0.05, "{}", known(&once));
    let mut precise = run(&[&short[..], &["--precision", "mail mean 4%"]].concat());
    let precision = precise.as_object_mut().unwrap().remove("precision").unwrap();
    assert_eq!((&precision["reached"], &precision["figure"]), (&true.into(), &"mean".into()));
    assert!(known(&precise) <= 0.04, "{}", known(&precise));
    // it is the run with this warm-up and this duration
    let seconds = |key: &str| format!("{:.0} ns", precision[key].as_f64().unwrap() * 1e9);
    let (warmup, duration) = (seconds("warmup_s"), seconds("duration_s"));
    let sets = [format!("warmup={warmup}"), format!("duration={duration}")];
    let same = run(&["--set", &sets[0], "--set", &sets[1]]);
    assert_eq!(precise, same);
}

#[test]
fn a_limit_ends_it() {
    let text = succeed(
        [
            &["run"],
            &LOAD[..],
            &["--set", "duration=2 s", "--precision", "mail throughput 0.05%", "--limit", "5 s"],
        ]
        .concat(),
    );
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("mail: throughput ± "), "{first}");
    assert!(
        first.contains("less precise than requested") && first.ends_with("measured for 5.000 s"),
        "{first}"
    );
}

fn refused<const N: usize>(arguments: [&str; N]) -> String {
    let done = common::run(arguments);
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    done.stderr
}

#[test]
fn wrong_goals_are_named() {
    for (goal, wanted) in [
        ("mail", "is not a precision"),
        ("mail p99 2%", "`p99` is not a figure"),
        ("mail mean 2", "is not a percentage"),
        ("male mean 2%", "there is no workload `male`; there are `mail`, `web`"),
    ] {
        let error = refused(["run", "first-look", "--precision", goal]);
        assert!(error.contains(wanted), "{goal}: {error}");
    }
    let error = refused(["run", "first-look", "--limit", "1 s"]);
    assert!(error.contains("--precision"), "{error}");
}
