//! Tests that requests left unfinished at the end of a run are reported.

use crate::common;

use std::fs;

use common::{cluster, run, ssio};
use foretell_scenarios::model::{Arrivals, Pattern, Scenario, WorkloadKind};
use foretell_units::{Bytes, SimSpan};

/// A loop of four requests on one disk.
fn loop_of_four() -> Scenario {
    let mut scenario = cluster(1, 1, 1, 1);
    ssio(&mut scenario, 0, 1.0, 4);
    scenario
}

#[test]
fn what_is_outstanding_at_the_end_is_counted() {
    let truth = run(&loop_of_four()).unwrap();
    let load = &truth.workloads["load0"];
    assert_eq!((load.unfinished.requests, truth.unfinished.requests), (4, 4));
    assert_eq!(truth.requests_in_flight, 4);
    let oldest_ms = load.unfinished.oldest_ms.unwrap();
    assert_eq!(truth.unfinished.oldest_ms, Some(oldest_ms));
    // no request starves behind an elevator
    assert!(oldest_ms > 0.0 && oldest_ms < 2.0 * load.response_time_ms.max, "{oldest_ms}");
    assert!(!load.hides_the_unfinished());
}

#[test]
fn a_run_that_ends_by_itself_leaves_nothing() {
    let mut scenario = loop_of_four();
    scenario.duration = None;
    scenario.workloads[0].requests = Some(2000);
    let truth = run(&scenario).unwrap();
    assert_eq!((truth.unfinished.requests, truth.unfinished.oldest_ms), (0, None));
}

#[test]
fn a_queue_that_grows_is_not_hidden() {
    // a disk serves some hundred random reads a second, of 400 that arrive; the node's cache holds a small
    // part of 1 GiB
    let mut scenario = loop_of_four();
    if let WorkloadKind::Ssio { working_set, .. } = &mut scenario.workloads[0].kind {
        *working_set = Bytes::gib(1);
    }
    scenario.duration = Some(SimSpan::from_secs(20));
    scenario.workloads[0].arrivals = Arrivals::Poisson { rate_rps: 400.0 };
    let truth = run(&scenario).unwrap();
    let load = &truth.workloads["load0"];
    assert!(load.unfinished.requests > 1000, "{:?}", load.unfinished);
    assert!(load.outstanding_accounted_for() < 0.8 * load.outstanding_mean);
    assert!(load.hides_the_unfinished());
}

#[test]
fn a_trace_that_is_cut_off_says_how_much_was_replayed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cut.trace");
    // 100 reads, one every 100 ms; DiskSim's columns: ms, device, sector, sectors, read
    let lines: Vec<String> = (0..100).map(|n| format!("{}.0 0 {} 8 1", n * 100, n * 8)).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    for (wrap, duration_s, cut) in [(true, 5, true), (false, 5, true), (true, 20, false)] {
        let mut scenario = loop_of_four();
        scenario.warmup = SimSpan::ZERO;
        scenario.duration = Some(SimSpan::from_secs(duration_s));
        let load = &mut scenario.workloads[0];
        load.kind = WorkloadKind::Trace {
            path: path.clone(),
            format: Some("disksim".to_owned()),
            block: None,
            device: None,
            blkparse_action: 'Q',
            skip_bad: false,
            read_share: None,
            access: None,
            wrap,
        };
        load.arrivals = Arrivals::Trace { speed_up: 1.0 };
        let truth = run(&scenario).unwrap();
        let trace = truth.workloads["load0"].trace.unwrap();
        assert_eq!((trace.requests_total, trace.seconds_total), (Some(100), Some(9.9)));
        assert_eq!(trace.is_cut(), cut, "{trace:?}");
        // those at 0, 0.1, ... 4.9 s
        let expected = if cut { (50, Some(4.9)) } else { (100, Some(9.9)) };
        assert_eq!((trace.requests, trace.seconds), expected);
    }
    // a workload without a trace reports none
    let mut scenario = loop_of_four();
    if let WorkloadKind::Ssio { pattern, .. } = &mut scenario.workloads[0].kind {
        *pattern = Pattern::Sequential;
    }
    assert_eq!(run(&scenario).unwrap().workloads["load0"].trace, None);
}
