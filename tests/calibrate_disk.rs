//! `foretell calibrate disk`, through the command.

use crate::common;

use std::path::Path;

use common::fio::{Job, result};
use common::{Place, data, run, succeed, truth};
use serde_json::Value;
use tempfile::TempDir;

/// Latency on a device that has lanes and a bus, us: alone 80 us and 1 GB/s; side by side no more than
/// one request every 10 us, and 2 GB/s.
fn law(bs: u64, depth: u32) -> f64 {
    let bytes = bs as f64;
    let (alone, each) = (80.0 + bytes / 1000.0, 10.0 + bytes / 2000.0);
    let queued = f64::from(depth) * each;
    // a device does not change over from one to the other at once
    libm::pow(alone.powi(4) + queued.powi(4), 0.25)
}

const SIZES: [u64; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];
const DEPTHS: [u32; 5] = [1, 4, 16, 32, 64];

/// Random and sequential reads and writes of all sizes and depths.
fn matrix() -> Vec<Job> {
    let mut jobs = Vec::new();
    for bs in SIZES {
        for depth in DEPTHS {
            let latency = law(bs, depth);
            jobs.push(Job::full("randread", bs, depth, latency));
            jobs.push(Job::full("randwrite", bs, depth, latency * 1.5));
            jobs.push(Job::full("read", bs, depth, latency * 0.7));
            jobs.push(Job::full("write", bs, depth, latency * 0.9));
        }
    }
    jobs
}

/// Writes results, one job each; their paths.
fn files(dir: &TempDir, jobs: &[Job], version: u32) -> Vec<String> {
    let write = |(number, job): (usize, &Job)| {
        let path = dir.path().join(format!("r{number:03}.json"));
        std::fs::write(&path, result(&[job.json(version)], "sda", version)).unwrap();
        path.display().to_string()
    };
    jobs.iter().enumerate().map(write).collect()
}

fn arguments(files: &[String], more: &[&str]) -> Vec<String> {
    let first = ["calibrate", "disk", "--fio"].map(str::to_owned);
    let more = more.iter().map(|&word| word.to_owned());
    first.into_iter().chain(files.iter().cloned()).chain(more).collect()
}

fn found(files: &[String]) -> Value {
    serde_json::from_str(&succeed(arguments(files, &["--json"]))).unwrap()
}

#[test]
fn the_simulated_device_reproduces_what_fio_measured() {
    let dir = tempfile::tempdir().unwrap();
    let found = found(&files(&dir, &matrix(), 3));
    assert_eq!((found["runs_total"].as_u64(), found["runs_within"].as_u64()), (Some(80), Some(80)));
    for run in found["runs"].as_array().unwrap() {
        // these do not contradict each other: nothing is left but the rounding of the draws
        let errors = ["iops_error", "latency_error"].map(|key| run[key].as_f64().unwrap().abs());
        assert!(errors.iter().all(|error| *error < 0.02), "{run}");
    }
    // of each job, from all others: the law is smooth
    let errors = ["left_out_median_iops_error", "left_out_median_latency_error"];
    for key in errors {
        assert!(found[key].as_f64().unwrap() < 0.10, "{key}: {}", found[key]);
    }
}

#[test]
fn microseconds_of_fio_2_give_the_same_profile() {
    let dir = [3, 2].map(|_| tempfile::tempdir().unwrap());
    let jobs = &matrix()[..8];
    let profile = |at: usize, version| found(&files(&dir[at], jobs, version))["profile"].clone();
    assert_eq!(profile(0, 3), profile(1, 2));
}

#[test]
fn processes_of_a_job_count_together_however_they_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut job = Job::full("randread", 4096, 8, 200.0);
    job.numjobs = 4;
    let each = job.json(3);
    let apart = result(&[each.clone(), each.clone(), each.clone(), each], "sda", 3);
    job.seen = [Some((4.0 * 8.0 / 200.0 * 1e6, 200.0)), None];
    let together = result(&[job.json(3)], "sda", 3);
    let profile = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        found(&[path.display().to_string()])
    };
    let apart = profile("a.json", &apart);
    assert_eq!(apart["profile"], profile("b.json", &together)["profile"]);
    assert_eq!(apart["jobs"][0]["job"], "randread, 4 KiB, 32 outstanding");
    assert_eq!(apart["runs_within"], 1);
}

#[test]
fn mixed_jobs_give_their_directions_their_own_latencies() {
    let dir = tempfile::tempdir().unwrap();
    // 16 / (0.7 * 200 us + 0.3 * 400 us)
    let all = 16.0 / 260.0 * 1e6;
    let mixed = Job {
        rwmixread: 70,
        seen: [Some((all * 0.7, 200.0)), Some((all * 0.3, 400.0))],
        ..Job::full("randrw", 8192, 16, 1.0)
    };
    let reads = Job::full("randread", 8192, 16, 150.0);
    let found = found(&files(&dir, &[mixed, reads], 3));
    assert_eq!(found["runs_within"], 2);
    assert_eq!(found["jobs"][0]["job"], "randrw 70 % reads, 8 KiB, 16 outstanding");
    let profile = found["profile"].as_str().unwrap();
    assert!(profile.contains("reads = 0.7\n") && profile.contains("reads = 1\n"), "{profile}");
}

#[test]
fn what_cannot_be_fitted_is_said() {
    let dir = tempfile::tempdir().unwrap();
    // two repetitions agree, one is half as fast: the device is as the two
    let jobs = [200.0, 204.0, 400.0].map(|latency| Job::full("randread", 4096, 16, latency));
    let names = files(&dir, &jobs, 3);
    let found = found(&names);
    assert_eq!((found["runs_total"].as_u64(), found["runs_within"].as_u64()), (Some(3), Some(2)));
    assert_eq!(found["jobs"][0]["scattered"], true);
    let text = succeed(arguments(&names, &[]));
    assert!(text.contains("no: its repetitions differ"), "{text}");
    assert!(text.contains("2 of 3 runs reproduced: IOPS within 10 %"), "{text}");
    assert!(text.contains("note: reads were") || text.contains("note: writes were not measured"));
    assert!(text.contains("kind = \"curves\""), "without -o the profile is printed: {text}");
}

#[test]
fn time_outside_the_device_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let mut slow = Job::full("randread", 4096, 4, 100.0);
    // a tenth of what four requests of 100 us could be
    slow.seen = [Some((4_000.0, 100.0)), None];
    let found = found(&files(&dir, &[slow], 3));
    let notes = found["notes"].to_string();
    assert!(
        notes.contains("randread, 4 KiB, 4 outstanding: 90 % of the time passes outside"),
        "{notes}"
    );
}

#[test]
fn bad_results_are_refused_with_reasons() {
    let dir = tempfile::tempdir().unwrap();
    let good = result(&[Job::full("randread", 4096, 16, 200.0).json(3)], "sda", 3);
    let other = result(&[Job::full("randread", 4096, 16, 200.0).json(3)], "nvme0n1", 3);
    let mut idle = Job::full("randread", 4096, 16, 200.0);
    idle.seen = [None, None];
    let mut failed = Job::full("randread", 4096, 16, 200.0).json(3);
    failed["error"] = 5.into();
    let mut lost = Job::full("randread", 4096, 16, 200.0).json(3);
    lost["read"]["iops"] = 0.into();
    let mut silent = Job::full("randread", 4096, 16, 200.0).json(3);
    silent["job options"]["bs"] = "4q".into();
    let fault = |texts: &[&str], more: &[&str]| {
        let names: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(number, text)| {
                let path = dir.path().join(format!("f{number}.json"));
                std::fs::write(&path, text).unwrap();
                path.display().to_string()
            })
            .collect();
        let done = run(arguments(&names, more));
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
        done.stderr.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (texts, reason) in [
        (vec![&good[..good.len() / 2]], "is no JSON document"),
        (vec!["{}"], "has no list of `jobs`"),
        (vec!["{\"jobs\": []}"], "has an empty list of `jobs`"),
        (vec![&result(&[idle.json(3)], "sda", 3)], "neither read nor wrote anything"),
        (vec![&result(&[failed], "sda", 3)], "ended with error 5"),
        (vec![&result(&[lost], "sda", 3)], "none of them may be zero"),
        (vec![&result(&[silent], "sda", 3)], "option `bs` is `4q`"),
        (vec![&good, &other], "of different devices, `sda` in"),
    ] {
        let message = fault(&texts, &[]);
        assert!(message.contains(reason), "{message}");
    }
    let message = fault(&[&good], &["-o", "profile.txt"]);
    assert!(message.contains("NAME.toml"), "{message}");
    let done = run(["calibrate", "disk", "--fio", "no-such.json"]);
    assert!(done.status == Some(2) && done.stderr.contains("no-such.json"), "{}", done.stderr);
    // alike, if that is said
    let names = ["f0.json", "f1.json"].map(|name| dir.path().join(name).display().to_string());
    std::fs::write(&names[0], &good).unwrap();
    std::fs::write(&names[1], &other).unwrap();
    succeed(arguments(&names, &["--one-device"]));
}

/// One node with the device `it`, and a client that runs a fio job.
const CLUSTER: &str = r#"
warmup   = "200 ms"
duration = "1 s"

[tracking]
overhead = false

[node.server]
cpu   = { profile = "xeon-2023", cores = 16 }
cache = { size = "8 MiB", read_ahead = "0 B", write = "through" }
disk  = ["it"]
nic   = { rate = "100 Gbit/s", latency = "1 us" }

[client.app]
cpu = { profile = "xeon-2023", cores = 16 }
nic = { rate = "100 Gbit/s", latency = "1 us" }

[volume.v]
size     = "1 GiB"
nodes    = "server"
encoding = "1-of-1"

[workload.w]
volume = "v"
client = "app"
kind   = "fio"
file   = "job.fio"
"#;

/// The profile serves a scenario: the same job there, behind a network that hardly matters.
fn in_a_cluster(device: &Path, job: &str) -> Value {
    let place = Place::with(CLUSTER);
    std::fs::create_dir(place.path("devices")).unwrap();
    std::fs::copy(device, place.path("devices/it.toml")).unwrap();
    std::fs::write(place.path("job.fio"), job).unwrap();
    truth(&succeed(place.arguments(&["--json"])))
}

#[test]
fn the_profile_runs_in_a_cluster() {
    let dir = tempfile::tempdir().unwrap();
    let latency = 2000.0;
    let job = Job::full("randread", 65536, 16, latency);
    let device = dir.path().join("it.toml");
    let more = ["-o", device.to_str().unwrap()];
    succeed(arguments(&files(&dir, &[job], 3), &more));
    let job =
        "[j]\nioengine=libaio\nrw=randread\nbs=64k\niodepth=16\nsize=1g\ntime_based\nruntime=10\n";
    let found = in_a_cluster(&device, job);
    let reads = found["workloads"]["w"]["throughput_rps"].as_f64().unwrap();
    // 16 / 2 ms, less what network and processors take, about 50 us; the cache has 1 % of the volume
    assert!((reads / 8000.0 - 1.0).abs() < 0.05, "{reads}");
}

#[test]
fn the_real_results_are_reproduced_as_far_as_they_agree() {
    let Some(dir) = data("fio/randrw-interleaved") else { return };
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    names.sort();
    let all = found(&names);
    assert_eq!(
        (all["runs_total"].as_u64(), all["jobs"].as_array().unwrap().len()),
        (Some(120), 20)
    );
    // six repetitions of each job, on a busy host: they lie up to a factor of 2.4 apart
    assert!(all["runs_within"].as_u64().unwrap() >= 75, "{}", all["runs_within"]);
    for job in all["jobs"].as_array().unwrap() {
        let lowest = job["iops"].as_array().unwrap().iter().filter_map(Value::as_f64);
        let (least, most) = lowest.fold((f64::MAX, 0.0), |(a, b), x| (x.min(a), x.max(b)));
        let simulated = job["iops_simulated"].as_f64().unwrap();
        assert!(simulated > least * 0.9 && simulated < most * 1.1, "{job}");
    }
    let left_out = ["left_out_median_iops_error", "left_out_median_latency_error"];
    let left_out = left_out.map(|key| all[key].as_f64().unwrap());
    assert!(left_out[0] < 0.10 && left_out[1] < 0.15, "{left_out:?}");
    // without repetitions there is nothing to disagree
    for cycle in 1..=6 {
        let of_it = |name: &&String| name.contains(&format!("/c{cycle}-"));
        let of_it: Vec<String> = names.iter().filter(of_it).cloned().collect();
        let one = found(&of_it);
        assert_eq!((one["runs_total"].as_u64(), one["runs_within"].as_u64()), (Some(20), Some(20)));
    }
}

/// The result of a job of writes of 4 KiB, one at a time. `flush`: its option for flushes; `sync_us`: their latency.
fn durable(option: &str, processes: u32, write_us: f64, sync_us: Option<f64>) -> String {
    let per_s = f64::from(processes) * 1e6 / (write_us + sync_us.unwrap_or(0.0));
    let count = (per_s * 10.0) as u64;
    let sync = sync_us.map_or_else(String::new, |us| {
        format!(r#", "sync": {{"total_ios": {count}, "lat_ns": {{"mean": {}}}}}"#, us * 1e3)
    });
    format!(
        r#"{{"fio version": "fio-3.36", "jobs": [{{"jobname": "wal", "groupid": 0, "error": 0, "job options": {{
        "rw": "write", "bs": "4k", "ioengine": "libaio", "direct": "1", "numjobs": "{processes}", "size": "1g",
        {option}}}, "read": {{"total_ios": 0}}, "write": {{"total_ios": {count}, "iops": {per_s}, "runtime": 10000,
        "io_bytes": {}, "lat_ns": {{"mean": {}}}}}{sync}}}]}}"#,
        count * 4096,
        write_us * 1e3
    )
}

fn of_text(text: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wal.json");
    std::fs::write(&path, text).unwrap();
    found(&[path.display().to_string()])
}

#[test]
fn the_time_of_flushes_is_the_devices() {
    let found = of_text(&durable(r#""fdatasync": "1""#, 1, 80.0, Some(2000.0)));
    let profile = found["profile"].as_str().unwrap();
    assert!(profile.contains("flush = \"2000000 ns\"\n"), "{profile}");
    assert!(profile.contains("latency = [\"80000 ns\"]"), "{profile}");
    let runs = found["runs"].as_array().unwrap();
    let row = |operation: &str| runs.iter().find(|run| run["operation"] == operation).unwrap();
    assert_eq!(row("flush")["latency_mean_ms"], 2.0);
    for operation in ["write", "flush"] {
        assert_eq!(row(operation)["within"], true, "{found}");
    }
    // nothing of it is the host's
    assert!(!found["notes"].to_string().contains("outside the device"), "{found}");
    assert!(!found["notes"].to_string().contains("ignored"), "{found}");
}

#[test]
fn flushes_of_several_processes_are_shared() {
    // four processes: a flush waits for the one in progress
    let found = of_text(&durable(r#""fdatasync": "1""#, 4, 80.0, Some(3500.0)));
    let profile = found["profile"].as_str().unwrap();
    let flush = profile.lines().find_map(|line| line.strip_prefix("flush = \"")).unwrap();
    let ns: f64 = flush.trim_end_matches(" ns\"").parse().unwrap();
    assert!((1.7e6..3.5e6).contains(&ns), "{ns}");
    assert!(found["runs"].as_array().unwrap().iter().all(|run| run["within"] == true), "{found}");
}

#[test]
fn flushes_of_unknown_length_are_not_booked_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wal.json");
    std::fs::write(&path, durable(r#""fdatasync": "1""#, 1, 80.0, None)).unwrap();
    let done = run(arguments(&[path.display().to_string()], &[]));
    let message = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(done.status, Some(2));
    assert!(message.contains("does not say how long its flushes took"), "{message}");
    // synchronous writes include their flushes
    let found = of_text(&durable(r#""sync": "1""#, 1, 2080.0, None));
    assert!(!found["profile"].as_str().unwrap().contains("flush ="));
    assert!(found["notes"].to_string().contains("latencies of writes include flushes"), "{found}");
}

#[test]
fn writes_on_a_device_with_flushes_are_as_slow_as_it_permits() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("devices")).unwrap();
    let found = of_text(&durable(r#""fdatasync": "1""#, 1, 80.0, Some(2000.0)));
    let profile = found["profile"].as_str().unwrap();
    std::fs::write(dir.path().join("devices/wal.toml"), profile).unwrap();
    let scenario = r#"
duration = "3 s"
warmup = "1 s"
[cluster]
system = "ceph"
[node.n]
count = 3
cpu = "xeon-2023"
cache = { size = "64 MiB" }
disk = ["wal"]
nic = { rate = "25 Gbit/s", latency = "5 us" }
[client.c]
cpu = "xeon-2023"
nic = { rate = "25 Gbit/s", latency = "5 us" }
[volume.v]
size = "512 MiB"
nodes = "n"
encoding = "1-of-3"
[workload.w]
kind = "ssio"
volume = "v"
client = "c"
reads = "0%"
access = "4 KiB"
outstanding = 1
"#;
    let path = dir.path().join("c.toml");
    std::fs::write(&path, scenario).unwrap();
    let rate = |changes: &[&str]| {
        let mut arguments = vec!["run".to_owned(), path.display().to_string()];
        for change in changes.iter().chain(&["record=none"]) {
            arguments.extend(["--set".to_owned(), (*change).to_owned()]);
        }
        arguments.push("--json".to_owned());
        let found: Value = serde_json::from_str(&succeed(arguments)).unwrap();
        found["workloads"]["w"]["throughput_rps"].as_f64().unwrap()
    };
    // 2.08 ms for a durable write, and the cluster's own time
    let alone = rate(&[]);
    assert!((300.0..481.0).contains(&alone), "{alone}");
    // writes that are outstanding together share flushes
    assert!(rate(&["workload.w.outstanding=16"]) > 4.0 * alone);
}
