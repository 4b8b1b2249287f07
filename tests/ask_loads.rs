//! `foretell ask` and `score` about loads: bursts, threads, readers with pauses, drawn think times.

use crate::common;

use common::questions::json;
use common::*;
use serde_json::Value;

/// Two nodes with this device, one client, and a workload with these settings.
fn cluster(device: &str, duration: &str, workload: &str) -> Place {
    Place::with(&format!(
        r#"
        warmup = "1 s"
        duration = "{duration}"
        [node.store]
        count = 2
        cpu = "xeon-2023"
        cache = {{ size = "64 MiB" }}
        disk = [{{ device = "{device}", scheduler = "noop" }}]
        nic = {{ rate = "10 Gbit/s", latency = "20 us" }}
        [client.app]
        cpu = "xeon-2023"
        nic = {{ rate = "10 Gbit/s", latency = "20 us" }}
        [volume.data]
        size = "20 GiB"
        nodes = "store"
        encoding = "1-of-2"
        [workload.load]
        volume = "data"
        client = "app"
        {workload}
        "#
    ))
}

/// The comparison of a figure of workload `load`.
fn of<'a>(scored: &'a Value, metric: &str) -> &'a Value {
    let mut all = scored["comparisons"].as_array().unwrap().iter();
    all.find(|one| one["metric"] == metric).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn other_bursts_are_drawn() {
    let place = cluster(
        "nvme-3gbs",
        "8 s",
        r#"kind = "ssio"
        reads = "100%"
        arrivals = "bursty"
        burst_rate = 4000
        burst = "40 ms"
        quiet_rate = 400
        quiet = "120 ms""#,
    );
    let run = place.keep("run", &[]).display().to_string();
    for change in ["workload.load.burst_rate=8000", "workload.load.burst=80 ms"] {
        let scored = json(&succeed(["score", &run, "--what-if", change, "--json"]));
        let throughput = of(&scored, "throughput_rps");
        let measured = number(&throughput["measured"]);
        assert!(number(&throughput["low"]) < measured, "{throughput}");
        assert!(number(&throughput["high"]) > measured, "{throughput}");
        let mean = of(&scored, "response_time_ms.mean");
        assert!(number(&mean["error"]) < 0.08, "{change}: {mean}");
    }
    // short stretches would contain too few of them
    let asked = ["ask", &run, "--model", "fast", "--what-if", "workload.load.burst_rate=8000"];
    let done = common::run(asked);
    assert_eq!(done.status, Some(2), "{}", done.stdout);
    assert!(done.stderr.contains("bursts"), "{}", done.stderr);
}

#[test]
fn threads_are_outstanding_requests() {
    let place = cluster(
        "nvme-3gbs",
        "2 s",
        r#"kind = "ffsb"
        reads = "70%"
        file_set = "4 GiB"
        threads = 8"#,
    );
    let run = place.keep("run", &[]).display().to_string();
    let score = |key: &str| {
        let change = format!("workload.load.{key}=20");
        json(&succeed(["score", &run, "--what-if", &change, "--json"]))
    };
    let (threads, outstanding) = (score("threads"), score("outstanding"));
    assert_eq!(threads["comparisons"], outstanding["comparisons"]);
    let throughput = of(&threads, "throughput_rps");
    assert!(number(&throughput["error"]) < 0.1, "{throughput}");
    let asked = ["ask", &run, "--what-if", "workload.load.reads=50%"];
    assert_eq!(
        common::run(asked).status,
        Some(2),
        "the records do not show how requests were chosen"
    );
}

#[test]
fn a_reader_with_pauses_waits_where_read_ahead_has_stopped() {
    let place = cluster(
        "hdd-16tb-7200",
        "20 s",
        r#"kind = "ssio"
        reads = "100%"
        access = "256 KiB"
        pattern = "sequential"
        think = "exponential 5 ms""#,
    );
    let run = place.keep("run", &[]).display().to_string();
    let answer = json(&succeed(["ask", &run, "--json"]));
    let misfit = number(&answer["workloads"]["load"]["misfit"]["mean_response_time"]);
    assert!(misfit.abs() < 0.15, "{misfit}");
}

#[test]
fn think_times_are_those_that_were_drawn() {
    let place = cluster(
        "nvme-3gbs",
        "4 s",
        r#"kind = "ssio"
        reads = "100%"
        outstanding = 4
        think = "exponential 40 ms""#,
    );
    let run = place.keep("run", &["--seed", "4"]).display().to_string();
    let recorded = number(&truth_of(&place.path("run"))["workloads"]["load"]["throughput_rps"]);
    // the mean of so few think times is several percent off
    let change = "node.store.nic.latency=21 us";
    let answer = json(&succeed(["ask", &run, "--what-if", change, "--json"]));
    let predicted = number(&answer["workloads"]["load"]["throughput_rps"]);
    assert!((predicted / recorded - 1.0).abs() < 0.003, "{predicted} {recorded}");
    let model = number(&answer["workloads"]["load"]["misfit"]["throughput"]);
    assert!(model.abs() > 0.01, "the model draws its own think times: {model}");
}
