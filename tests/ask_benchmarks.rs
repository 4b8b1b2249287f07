//! `foretell ask` and `score` about benchmarks that run in steps of their own: transactions, phases.

use crate::common;

use common::questions::json;
use common::*;
use serde_json::Value;

#[test]
fn benchmarks_that_have_ended_end_in_the_replay() {
    let place = Place::with("");
    let run = place.path("run").display().to_string();
    succeed(["run", "benchmarks", "-o", &run]);
    let answer = json(&succeed(["ask", &run, "--what-if", "workload.oltp=none", "--json"]));
    // IOzone has written and read its file before the middle of the run, and makes way for PostMark
    for workload in ["iozone", "postmark"] {
        let misfit = &answer["workloads"][workload]["misfit"];
        for figure in ["throughput", "mean_response_time"] {
            let off = misfit[figure].as_f64().unwrap();
            assert!(off.abs() < 0.05, "{workload} {figure}: {off}");
        }
    }
}

#[test]
fn clients_that_think_after_transactions_do_so_in_the_replay() {
    let place = Place::with("");
    let run = place.path("run").display().to_string();
    let think = "workload.oltp.think=exponential 20 ms";
    let many = "workload.oltp.outstanding=24";
    let none = ["--set", "workload.iozone=none", "--set", "workload.postmark=none"];
    succeed(
        ["run", "benchmarks", "--set", think, "--set", many]
            .into_iter()
            .chain(none)
            .chain(["-o", &run]),
    );
    let change = "workload.oltp.think=exponential 5 ms";
    let answer = json(&succeed(["ask", &run, "--what-if", change, "--json"]));
    let off = answer["workloads"]["oltp"]["misfit"]["throughput"].as_f64().unwrap();
    assert!(off.abs() < 0.05, "a transaction has several requests: {off}");
    let scored = json(&succeed(["score", &run, "--what-if", change, "--json"]));
    for comparison in scored["comparisons"].as_array().unwrap() {
        let metric = comparison["metric"].as_str().unwrap();
        if ["throughput_rps", "response_time_ms.mean"].contains(&metric) {
            assert!(comparison["error"].as_f64().unwrap() < 0.05, "{comparison}");
        }
    }
}

/// Predicted throughput of a workload, and its error, after a change.
fn scored(run: &str, change: &str, workload: &str) -> (f64, f64) {
    let found = json(&succeed(["score", run, "--what-if", change, "--json"]));
    let mut all = found["comparisons"].as_array().unwrap().iter();
    let of_it = |one: &&Value| one["workload"] == workload && one["metric"] == "throughput_rps";
    let throughput = all.find(of_it).unwrap();
    (throughput["predicted"].as_f64().unwrap(), throughput["error"].as_f64().unwrap())
}

#[test]
fn a_rate_of_transactions_is_not_one_of_requests() {
    let place = Place::with("");
    let run = place.path("run").display().to_string();
    let settings =
        ["workload.iozone=none", "workload.oltp.arrivals=poisson", "workload.oltp.rate=15"];
    let settings = settings.iter().flat_map(|one| ["--set", *one]);
    succeed(["run", "benchmarks"].into_iter().chain(settings).chain(["-o", &run]));
    for (change, transactions) in [("workload.oltp.rate=20", 20.0), ("workload.oltp.rate=8", 8.0)] {
        let (predicted, error) = scored(&run, change, "oltp");
        assert!(predicted > 4.0 * transactions, "{change}: {predicted} requests a second");
        assert!(error < 0.1, "{change}: {predicted}, {error} off");
    }
    // a client that is new has transactions, too, and thinks after them
    let new = "workload.new={ volume = \"database\", client = \"nfs2\", kind = \"oltp\", outstanding = 8, \
               think = \"exponential 100 ms\" }";
    let (predicted, error) = scored(&run, new, "new");
    assert!(error < 0.1, "{predicted}, {error} off");
    // without a rate and without think times, the records do not show how many requests a transaction has
    let closed = place.path("closed").display().to_string();
    let settings = ["--set", "workload.iozone=none", "--set", "duration=10 s"];
    succeed(["run", "benchmarks"].into_iter().chain(settings).chain(["-o", &closed]));
    for change in ["workload.oltp.think=20 ms", "workload.oltp.arrivals=poisson"] {
        let rate = ["--what-if", "workload.oltp.rate=15"];
        let more = if change.ends_with("poisson") { &rate[..] } else { &[] };
        let asked = ["ask", &closed, "--what-if", change].into_iter().chain(more.iter().copied());
        let done = common::run(asked);
        assert_eq!(done.status, Some(2), "{change}: {}", done.stdout);
        assert!(
            done.stderr.contains("how many requests a transaction of `oltp` has"),
            "{}",
            done.stderr
        );
    }
}
