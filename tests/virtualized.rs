//! Virtual machines before a storage server: the effects of Noorshams et al. 2013 come out of the model, at small scale.

use crate::common;

use common::*;
use serde_json::Value;

/// Two seconds of `virtualized` with these changes, and caches a hundred times smaller: 20 MiB that keep
/// written data without power, and 512 MiB.
fn small(changes: &[&str]) -> Value {
    let own = [
        "warmup=1 s",
        "duration=2 s",
        "intervals.longest=2 s",
        "intervals.requests=1",
        "device.ds8700-raid5.write_cache=20 MiB",
        "device.ds8700-raid5.read_cache=512 MiB",
        "workload.ffsb.file_set=256 MiB",
    ];
    let mut arguments = vec!["run", "scenarios/virtualized.toml", "--json"];
    for change in own.iter().chain(changes) {
        arguments.extend(["--set", change]);
    }
    serde_json::from_str(&succeed(arguments)).unwrap()
}

fn mean_ms(truth: &Value, direction: &str) -> f64 {
    truth["workloads"]["ffsb"][direction]["response_time_ms"]["mean"].as_f64().unwrap()
}

#[test]
fn cfq_serves_sequential_threads_one_by_one_and_noop_all_at_once() {
    let of = |scheduler: &str, pattern: &str| {
        let scheduler = format!("client.vm.guest.scheduler={scheduler}");
        let pattern = format!("workload.ffsb.pattern={pattern}");
        let truth = small(&[&scheduler, &pattern, "workload.ffsb.reads=100%"]);
        truth["workloads"]["ffsb"]["throughput_rps"].as_f64().unwrap()
    };
    // what is in the cache takes 0.25 ms, and the processors serve 46 000 a second
    let (cfq, noop) = (of("cfq", "sequential"), of("noop", "sequential"));
    assert!(
        (3_000.0..5_000.0).contains(&cfq) && (40_000.0..50_000.0).contains(&noop),
        "{cfq} {noop}"
    );
    // for threads that seek, the queue of the storage is filled
    let random = of("cfq", "random");
    assert!((40_000.0..50_000.0).contains(&random), "{random}");
}

#[test]
fn files_beyond_each_cache_make_requests_slow() {
    let noop = "client.vm.guest.scheduler=noop";
    let writes = |set: &str| {
        let set = format!("workload.ffsb.file_set={set}");
        mean_ms(
            &small(&[noop, &set, "workload.ffsb.reads=0%", "workload.ffsb.request=16 KiB"]),
            "write",
        )
    };
    let (within, beyond) = (writes("16 MiB"), writes("256 MiB"));
    assert!(beyond > 5.0 * within, "{within} {beyond}");
    let reads = |set: &str| {
        let set = format!("workload.ffsb.file_set={set}");
        mean_ms(&small(&[noop, &set, "workload.ffsb.reads=100%"]), "read")
    };
    let (within, beyond) = (reads("496 MiB"), reads("1 GiB"));
    assert!(beyond > 5.0 * within, "{within} {beyond}");
}

#[test]
fn machines_share_processors_and_have_queues_of_their_own() {
    let requests = |machines: u32, threads: u32| {
        let (count, threads) =
            (format!("client.vm.count={machines}"), format!("workload.ffsb.threads={threads}"));
        let truth = small(&[
            &count,
            &threads,
            "client.vm.guest.scheduler=noop",
            "workload.ffsb.reads=100%",
            "workload.ffsb.file_set=64 MiB",
        ]);
        // the first machine's figures are those of what all share
        let busy = truth["hosts"]["vm0"]["cpu"]["utilization"].as_f64().unwrap();
        (truth["workloads"]["ffsb"]["throughput_rps"].as_f64().unwrap(), busy)
    };
    let ((one, busy), (two, _)) = (requests(1, 90), requests(2, 45));
    assert!(busy > 0.99 && (two / one - 1.0).abs() < 0.01, "{one} {two} {busy}");
    // what one machine cannot do with two requests at a time, three can with two each
    let depth = |machines: u32| {
        let count = format!("client.vm.count={machines}");
        let truth = small(&[
            &count,
            "client.vm.guest.scheduler=noop",
            "client.vm.guest.queue_depth=2",
            "workload.ffsb.reads=100%",
            "workload.ffsb.file_set=64 MiB",
        ]);
        truth["workloads"]["ffsb"]["throughput_rps"].as_f64().unwrap()
    };
    let (one, three) = (depth(1), depth(3));
    assert!((three / one - 3.0).abs() < 0.1, "{one} {three}");
}

#[test]
fn the_measured_time_grows_until_the_intervals_agree() {
    let seconds = |change: &str| {
        // by turns of CFQ an interval may have no reads at all
        let noop = "client.vm.guest.scheduler=noop";
        let truth = small(&[noop, "intervals.error=100%", change, "intervals.longest=8 s"]);
        let read = &truth["workloads"]["ffsb"]["read"];
        assert_eq!(read["interval_means_ms"].as_array().unwrap().len(), 5);
        assert!(read["relative_standard_error"].as_f64().unwrap() > 0.0);
        truth["simulated_seconds"].as_f64().unwrap().round() as u64
    };
    // a hundred threads do some thousands of requests in a second
    let changes = ["intervals.requests=1", "intervals.error=0%", "intervals.requests=1000000000"];
    assert_eq!(changes.map(seconds), [2, 8, 8]);
}

#[test]
fn what_was_measured_before_intervals_agree_is_warm_up() {
    // of 1 to 3 s the intervals differ; from then on it is measured for 4 s
    let grown = small(&["intervals.error=0%", "intervals.longest=4 s"]);
    let plain = small(&["warmup=3 s", "duration=4 s", "intervals.longest=4 s"]);
    let seen = |truth: &Value| {
        let (workload, hosts) = (truth["workloads"]["ffsb"].clone(), truth["hosts"].clone());
        (workload, hosts, truth["caches"].clone(), truth["simulated_seconds"].clone())
    };
    assert_eq!(seen(&grown), seen(&plain));
}

#[test]
fn what_cannot_be_is_told() {
    let refused = |scenario: &str, change: &str| {
        let done = run(["run", scenario, "--set", change]);
        assert_eq!(done.status, Some(2), "{change}");
        done.stderr
    };
    let text = refused("scenarios/virtualized.toml", "intervals.longest=1 s");
    assert!(text.contains("`longest`, 1 s, is less than `duration`, 5 s"), "{text}");
    let text = refused("scenarios/virtualized.toml", "client.vm.guest.largest=1000 B");
    assert!(text.contains("is not a whole number of sectors"), "{text}");
    let text = refused("scenarios/first-look.toml", "intervals={error=2.0}");
    assert!(text.contains("intervals.error"), "{text}");
}

#[test]
fn a_run_of_virtual_machines_can_be_asked_about() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run").display().to_string();
    let mut arguments = vec!["run", "scenarios/virtualized.toml", "-o", &path];
    for change in [
        "record=all",
        "warmup=0.1 s",
        "duration=0.2 s",
        "intervals.longest=auto",
        "workload.ffsb.file_set=64 MiB",
        "tracking.overhead=false",
    ] {
        arguments.extend(["--set", change]);
    }
    succeed(arguments);
    let printed = succeed(["ask", &path, "--json", "--what-if", "client.vm.guest.queue_depth=8"]);
    let answer: Value = serde_json::from_str(&printed).unwrap();
    assert!(answer["workloads"]["ffsb"]["throughput_rps"].as_f64().unwrap() > 0.0, "{printed}");
}
