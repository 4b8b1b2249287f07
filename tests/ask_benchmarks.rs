//! `foretell ask` and `score` about benchmarks that run in steps of their own: transactions, phases.

use crate::common;

use common::questions::json;
use common::*;

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
