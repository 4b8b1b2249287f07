//! Real inputs: traces of every format are imported, inspected, and used.

use crate::common;

use std::fs;
use std::path::Path;

use common::*;
use serde_json::Value;
use tempfile::TempDir;

/// Two requests in each text format, under the name that `import` knows it by: a read of 4096 B
/// and a write of 512 B.
const TEXTS: [(&str, &str); 9] = [
    ("csv", "version,time(s),op,size(B),lbn\n1,10,28,4096,8\n1,11,2a,512,7\n"),
    (
        "msr",
        "128166372003061629,hm,1,Read,4096,4096,413\n128166372013061629,hm,1,Write,3584,512,9\n",
    ),
    ("alibaba", "419,R,4096,4096,1577808144360767\n419,W,3584,512,1577808145360767\n"),
    ("tencent", "1538323200,8,8,0,1063\n1538323201,7,1,1,1063\n"),
    ("spc", "0,8,4096,r,0.0\n0,7,512,W,1.0\n"),
    (
        "fio-iolog",
        "fio version 3 iolog\n1 /a add\n2 /a open\n10 /a read 4096 4096\n1000010 /a write 3584 512\n",
    ),
    (
        "blkparse",
        "  8,0 3 1 0.000000000 697 Q R 8 + 8 [k]\n  8,0 3 2 1.000000000 697 Q W 7 + 1 [k]\n",
    ),
    ("disksim", "0.0 0 8 8 1\n1000.0 0 7 1 0\n"),
    ("foretell", "time_ns,op,offset,size\n5,R,4096,4096\n1000000005,W,3584,512\n"),
];

/// What all of them hold.
const OWN: &str = "time_ns,op,offset,size\n0,R,4096,4096\n1000000000,W,3584,512\n";

fn write(dir: &TempDir, name: &str, text: impl AsRef<[u8]>) -> String {
    let path = dir.path().join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(arguments)).unwrap()
}

#[test]
fn each_format_is_imported_by_name_and_by_content() {
    let dir = tempfile::tempdir().unwrap();
    for (format, text) in TEXTS {
        let file = write(&dir, &format!("{format}.txt"), text);
        for as_what in [format, "auto", "trace"] {
            assert_eq!(succeed(["import", as_what, &file]), OWN, "{format} as {as_what}");
        }
        let out = dir.path().join(format!("{format}.own.csv.gz")).display().to_string();
        let printed = succeed(["import", "trace", &file, "--format", format, "-o", &out]);
        assert!(printed.starts_with(&format!("2 requests ({format}) in ")), "{printed}");
        assert_eq!(succeed(["import", "auto", &out]), OWN, "what was compressed");
        let inspected = json(&["inspect", &out, "--json"]);
        assert_eq!(inspected["requests"], 2);
        assert_eq!(
            (&inspected["read"]["bytes"], &inspected["write"]["bytes"]),
            (&4096.into(), &512.into())
        );
    }
}

#[test]
fn a_bad_line_is_an_error_with_its_number_or_counted() {
    let dir = tempfile::tempdir().unwrap();
    for (format, text) in TEXTS {
        // the last line is cut to its first half
        let (good, last) = text.trim_end().rsplit_once('\n').unwrap();
        let line = text.lines().count();
        let bad = format!("{good}\n{}?\n{last}\n", &last[..last.len() / 2]);
        let file = write(&dir, "bad.txt", bad);
        let out = dir.path().join("out.csv").display().to_string();
        let done = run(["import", format, &file, "-o", &out]);
        assert_eq!(done.status, Some(2), "{format}: {}", done.stderr);
        assert!(done.stderr.contains(&format!("line {line}: ")), "{format}: {}", done.stderr);
        assert!(
            !Path::new(&out).exists()
                && files(dir.path()).iter().all(|name| !name.contains("partial"))
        );
        let summary = json(&["import", format, &file, "-o", &out, "--skip-bad", "--json"]);
        assert_eq!((&summary["requests"], &summary["bad"]), (&2.into(), &1.into()), "{format}");
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn an_imported_trace_gives_the_results_of_the_original() {
    let Some(path) = data("traces/cloudPhysicsIO.vscsi") else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = path.display().to_string();
    let own = dir.path().join("own.csv.zst").display().to_string();
    let summary = json(&["import", "vscsi", &path, "-o", &own, "--json"]);
    assert_eq!((&summary["requests"], &summary["has_times"]), (&113_872.into(), &true.into()));
    let caches = |trace: &str| {
        json(&["replay-cache", trace, "--policy", "lru,arc", "--size", "1000,10000", "--json"])["results"]
            .clone()
    };
    assert_eq!(caches(&path), caches(&own));
    let truth = |trace: &str| {
        let mut truth = json(&[
            "run",
            trace,
            "--json",
            "--set",
            "workload.replay.requests=2000",
            "--no-records",
        ]);
        truth["wall_seconds"] = Value::Null;
        truth
    };
    assert_eq!(truth(&path), truth(&own));
}

#[test]
fn a_real_trace_is_inspected() {
    let Some(path) = data("traces/cloudPhysicsIO.csv") else { return };
    let found = json(&["inspect", &path.display().to_string(), "--json"]);
    // counted with other programs, see the tests of the readers
    assert_eq!((&found["requests"], &found["read"]["requests"]), (&113_872.into(), &46_974.into()));
    let bytes =
        found["read"]["bytes"].as_u64().unwrap() + found["write"]["bytes"].as_u64().unwrap();
    assert_eq!(bytes, 4_205_978_112);
    assert_eq!(found["arrivals"]["seconds"], 7200.0);
    assert_eq!(found["reuse"]["sample"], 1.0);
    let dir = tempfile::tempdir().unwrap();
    succeed(["inspect".as_ref(), path.as_os_str(), "-o".as_ref(), dir.path().as_os_str()]);
    let expected = [
        "addresses.png",
        "addresses.svg",
        "arrivals.png",
        "arrivals.svg",
        "inspect.json",
        "reuse.png",
        "reuse.svg",
        "sizes.png",
        "sizes.svg",
    ];
    assert_eq!(files(dir.path()), expected);
    // the clock counts seconds: it says nothing of less
    assert_eq!(found["arrivals"]["clock_seconds"], 1.0);
    assert!(found["arrivals"]["gap_squared_variation"].is_null());
    let text = succeed(["inspect".as_ref(), path.as_os_str()]);
    for word in ["113872 requests in 7200 s", "footprint", "dispersion", "begin where"] {
        assert!(text.contains(word), "no `{word}` in\n{text}");
    }
}

#[test]
fn a_trace_without_requests_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(&dir, "empty.csv", "time_ns,op,offset,size\n");
    let out = dir.path().join("out.csv").display().to_string();
    for command in [vec!["inspect", &file], vec!["import", "auto", &file, "-o", &out]] {
        let done = run(&command);
        assert_eq!(done.status, Some(2));
        assert!(done.stderr.contains("holds no requests"), "{}", done.stderr);
    }
    let done = run(["import", "msrr", &file]);
    assert!(done.status == Some(2) && done.stderr.contains("msr"), "{}", done.stderr);
    let done = run(["inspect", &file, "--format", "vcsi"]);
    assert!(done.stderr.contains("did you mean `vscsi`?"), "{}", done.stderr);
}

#[test]
fn what_an_import_to_standard_output_left_out_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(&dir, "bl.txt", "12\n13\nfoo\n15\n");
    let done = run(["import", "block-list", &file, "--skip-bad"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(done.stdout.lines().count(), 4, "{}", done.stdout);
    assert_eq!(done.stderr, "note: 1 bad lines or records left out\n");
}

#[test]
fn an_absent_device_gets_the_names_of_those_that_are_there() {
    let dir = tempfile::tempdir().unwrap();
    let (_, text) = TEXTS[1];
    let file = write(&dir, "m.csv", text.replacen("hm,1", "hm,0", 1));
    for command in [vec!["inspect", &file], vec!["import", "msr", &file]] {
        let done = run(command.into_iter().chain(["--device", "hm.1"]));
        assert_eq!(done.status, Some(2));
        let wanted = "is to device `hm.1`; its first devices are `hm_0`, `hm_1`";
        assert!(done.stderr.contains(wanted), "{}", done.stderr);
    }
}

#[test]
fn options_without_effect_for_a_format_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_, text) = TEXTS[1];
    let file = write(&dir, "m.csv", text);
    for (command, option, wanted) in [
        (
            vec!["import", "msr", &file],
            ["--block", "4 KiB"],
            "block sizes belong to `oracle-general`",
        ),
        (vec!["import", "auto", &file], ["--blkparse-action", "Q"], "belongs to `blkparse`"),
        (vec!["inspect", &file], ["--blkparse-action", "C"], "actions belong to `blkparse`"),
    ] {
        let done = run(command.into_iter().chain(option));
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""));
        let what = "has no effect: the trace is read as `msr`";
        assert!(done.stderr.contains(what) && done.stderr.contains(wanted), "{}", done.stderr);
    }
}

#[test]
fn an_unknown_format_says_how_to_give_it() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(&dir, "lc.csv", "these,are,words\n");
    for (command, how) in [
        (vec!["run", &file], "with `--set workload.replay.format=NAME`"),
        (vec!["inspect", &file], "with `--format NAME`"),
        (vec!["import", "auto", &file], "with `--format NAME`"),
    ] {
        let done = run(&command);
        assert_eq!(done.status, Some(2));
        assert!(done.stderr.contains(how), "{command:?}: {}", done.stderr);
    }
}

/// A cluster on which Thereska et al. 2006's benchmarks end soon.
const BENCHMARKS: &str = r#"
warmup   = "0 s"

[node.brick]
count = 2
cpu   = "pentium4-2.6"
cache = { size = "64 MiB" }
disk  = ["cheetah-15k"]

[client.app]
count = 2
cpu   = "xeon-p4-3.0"

[volume.data]
size  = "6 GiB"
nodes = "brick"
"#;

/// The truth of [`BENCHMARKS`] with one workload `w`.
fn benchmark(workload: &str, changes: &[&str]) -> Value {
    let place = Place::with(&format!(
        "{BENCHMARKS}\n[workload.w]\nvolume = \"data\"\nclient = \"app0\"\n{workload}"
    ));
    let changes = changes.iter().flat_map(|change| ["--set", change]);
    let arguments: Vec<&str> = ["--json", "--no-records"].into_iter().chain(changes).collect();
    truth(&succeed(place.arguments(&arguments)))
}

#[test]
fn oltp_counts_transactions_by_the_minute() {
    let direct = "kind = \"oltp\"\nthrough = \"direct\"\ntransactions = 200\noutstanding = 5";
    let truth = benchmark(direct, &[]);
    let seen = &truth["workloads"]["w"];
    // 200 transactions of four records, each read and written
    assert_eq!((&seen["read"]["requests"], &seen["write"]["requests"]), (&800.into(), &800.into()));
    assert_eq!(
        seen["throughput_bytes_per_s"].as_f64(),
        Some(1600.0 * 8192.0 / truth["simulated_seconds"].as_f64().unwrap())
    );
    let report = &seen["benchmark"];
    assert_eq!((&report["unit"], &report["transactions"]), (&"tpm".into(), &200.into()));
    let minutes = truth["simulated_seconds"].as_f64().unwrap() / 60.0;
    assert!((report["value"].as_f64().unwrap() * minutes / 200.0 - 1.0).abs() < 1e-9, "{report}");
    assert!(seen["outstanding_mean"].as_f64().unwrap() <= 5.0);
    // a transaction's steps follow each other: with one at a time there is one request at a time,
    // and a transaction takes as long as its eight requests
    let truth = benchmark(direct, &["workload.w.outstanding=1"]);
    let seen = &truth["workloads"]["w"];
    assert!(seen["outstanding_mean"].as_f64().unwrap() <= 1.0);
    let of = |value: &Value| value["mean"].as_f64().unwrap();
    let (transaction, request) =
        (of(&seen["benchmark"]["transaction_time_ms"]), of(&seen["response_time_ms"]));
    assert!((transaction / request / 8.0 - 1.0).abs() < 1e-9, "{transaction} {request}");
}

#[test]
fn a_file_server_answers_what_it_has() {
    // a database of four records: after each has been read once, reads are the server's
    let small = "kind = \"oltp\"\ntransactions = 100\ndatabase = \"32 KiB\"";
    let seen = &benchmark(small, &[])["workloads"]["w"];
    assert_eq!((&seen["read"]["requests"], &seen["write"]["requests"]), (&4.into(), &400.into()));
    assert_eq!(seen["benchmark"]["server_hit_rate"], 396.0 / 400.0);
}

#[test]
fn postmark_ends_with_its_last_transaction() {
    let truth = benchmark("kind = \"postmark\"\nfiles = 500\ntransactions = 300", &[]);
    let report = &truth["workloads"]["w"]["benchmark"];
    assert_eq!((&report["unit"], &report["transactions"]), (&"tps".into(), &300.into()));
    let seconds = truth["simulated_seconds"].as_f64().unwrap();
    assert!((report["value"].as_f64().unwrap() * seconds / 300.0 - 1.0).abs() < 1e-9);
    // with a duration beyond its end the result is the same
    let longer =
        benchmark("kind = \"postmark\"\nfiles = 500\ntransactions = 300", &["duration=1 h"]);
    assert_eq!(longer["workloads"]["w"]["benchmark"], *report);
    let too_much = "kind = \"postmark\"\nfiles = 2000000";
    let place = Place::with(&format!(
        "{BENCHMARKS}\n[workload.w]\nvolume = \"data\"\nclient = \"app\"\n{too_much}"
    ));
    let done = run(place.arguments(&[]));
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("workload `w` cannot be simulated"), "{}", done.stderr);
}

#[test]
fn iozone_reports_megabytes_per_second_by_phase() {
    let truth = benchmark("kind = \"iozone\"\nthrough = \"direct\"\nfile = \"10 MiB\"", &[]);
    let seen = &truth["workloads"]["w"];
    // 160 records of 64 KiB, written and read
    assert_eq!((&seen["read"]["requests"], &seen["write"]["requests"]), (&160.into(), &160.into()));
    let report = &seen["benchmark"];
    assert_eq!(report["unit"], "MB/s");
    let of = |key: &str| report[key].as_f64().unwrap();
    // one record at a time: a direction's time is the sum of its response times
    for (direction, key) in [("read", "read_mb_per_s"), ("write", "write_mb_per_s")] {
        let mean_s = seen[direction]["response_time_ms"]["mean"].as_f64().unwrap() / 1e3;
        assert!((of(key) / (0.065_536 / mean_s) - 1.0).abs() < 1e-6, "{direction}: {report}");
    }
    // the whole is the harmonic mean of two equal amounts
    let harmonic = 2.0 / (1.0 / of("read_mb_per_s") + 1.0 / of("write_mb_per_s"));
    assert!((of("value") / harmonic - 1.0).abs() < 1e-9);
}

#[test]
fn ffsb_threads_read_or_write_one_file_at_a_time() {
    let workload = "kind = \"ffsb\"\nreads = 0.5\nfile_set = \"160 MiB\"\nthreads = 3\noperations = 20\nsub_requests = 16";
    let truth = benchmark(workload, &[]);
    let seen = &truth["workloads"]["w"];
    // twenty operations of sixteen sub-requests of 4 KiB
    assert_eq!(seen["requests"], 320);
    assert_eq!(
        (&seen["benchmark"]["unit"], &seen["benchmark"]["transactions"]),
        (&"op/s".into(), &20.into())
    );
    assert!(seen["outstanding_mean"].as_f64().unwrap() <= 3.0);
}

#[test]
fn no_closed_load_has_more_outstanding_than_it_may() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = "[j]\nioengine=libaio\nrw=randrw\nbs=8k\niodepth=4\nnumjobs=2\nsize=64m\ntime_based\n\
                runtime=2\n";
    let jobs = write(&dir, "deep.fio", jobs);
    let objects = write(&dir, "small.xml", OBJECTS);
    for (workload, most) in [
        ("kind = \"ssio\"\nreads = 0.5\noutstanding = 5".to_owned(), 5),
        ("kind = \"oltp\"\noutstanding = 4".to_owned(), 4),
        (
            "kind = \"ffsb\"\nreads = 0.5\nfile_set = \"160 MiB\"\nthreads = 3\noperations = 20"
                .to_owned(),
            3,
        ),
        ("kind = \"postmark\"\nfiles = 500\ntransactions = 200".to_owned(), 1),
        (format!("kind = \"fio\"\nfile = \"{jobs}\""), 8),
        // four workers of one work and two of another
        (format!("kind = \"cosbench\"\nfile = \"{objects}\""), 6),
    ] {
        let place = Place::with(&format!(
            "duration = \"2 s\"\n{BENCHMARKS}\n[workload.w]\nvolume = \"data\"\nclient = \
             \"app0\"\n{workload}"
        ));
        succeed(place.keeping("kept", &[]));
        let db = store(&place.path("kept"));
        let steps = integers(&db, "SELECT phase, ts_ns FROM request ORDER BY ts_ns");
        let (mut now, mut highest) = (0, 0);
        for step in &steps {
            now += if step[0] == 0 { 1 } else { -1 };
            highest = highest.max(now);
        }
        assert!(steps.len() > 100, "{workload}: {} records", steps.len());
        assert_eq!(highest, most, "{workload}");
    }
}

#[test]
fn open_arrivals_have_the_rates_asked_for() {
    let rate = |arrivals: &str, duration: &str| {
        let workload = format!("kind = \"ssio\"\nreads = 1\nworking_set = \"1 MiB\"\n{arrivals}");
        let truth = benchmark(&workload, &[&format!("duration={duration}")]);
        truth["requests_issued"].as_f64().unwrap() / truth["simulated_seconds"].as_f64().unwrap()
    };
    // every 10 ms, from a time within the first 10 ms on
    let regular = rate("arrivals = \"deterministic\"\nrate = 100", "1 s");
    assert!((99.0..=100.0).contains(&regular), "{regular}");
    // a fifth of the time 500 a second, else 50: 140; counts of 100 cycles of 1 s scatter by 6 %
    let bursty = "arrivals = \"bursty\"\nburst_rate = 500\nburst = \"200 ms\"\nquiet_rate = 50\nquiet = \"800 ms\"";
    let found = rate(bursty, "200 s");
    assert!((found / 140.0 - 1.0).abs() < 0.25, "{found}");
    let poisson = rate("arrivals = \"poisson\"\nrate = 200", "50 s");
    // 10 000 arrivals scatter by 1 %
    assert!((poisson / 200.0 - 1.0).abs() < 0.04, "{poisson}");
}

#[test]
fn a_benchmark_may_arrive_at_the_times_of_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    let times = write(
        &dir,
        "times.csv",
        "time_ns,op,offset,size\n0,R,0,512\n500000000,W,0,512\n2000000000,R,0,512\n",
    );
    let workload = format!(
        "kind = \"oltp\"\nrecords = 1\nthrough = \"direct\"\narrivals = \"times\"\ntimes = \"{times}\"\nspeed_up = 2.0"
    );
    let truth = benchmark(&workload, &[]);
    // three transactions of a read and a write, the last one second after the first
    assert_eq!(truth["workloads"]["w"]["requests"], 6);
    let seconds = truth["simulated_seconds"].as_f64().unwrap();
    assert!((1.0..1.5).contains(&seconds), "{seconds}");
}

#[test]
fn what_benchmarks_report_is_documented() {
    let truth = benchmark("kind = \"iozone\"\nfile = \"1 MiB\"", &[]);
    let docs = fs::read_to_string(root().join("docs/commands.md")).unwrap();
    let section = docs.split("### `truth.json`").nth(1).unwrap().split("\n## ").next().unwrap();
    for key in truth["workloads"]["w"]["benchmark"].as_object().unwrap().keys() {
        assert!(section.contains(&format!("`{key}`")), "`{key}` is not documented");
    }
}

/// A fio job file: one job after the other, and one limited by its rate.
const JOBS: &str = "\
[global]
ioengine=libaio
direct=1
bs=4k

[first]
rw=read
size=64k
iodepth=4
numjobs=2

[second]
stonewall
rw=randrw
rwmixread=70
size=1m
rate_iops=200,100
iodepth=8
time_based
runtime=2
ramp_time=1
";

#[test]
fn fio_jobs_run_as_their_file_says() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(&dir, "jobs.fio", JOBS);
    let truth = benchmark(&format!("kind = \"fio\"\nfile = \"{file}\""), &[]);
    let seen = &truth["workloads"]["w"];
    let job = |name: &str, operation: &str| {
        let jobs = seen["jobs"].as_array().unwrap();
        jobs.iter().find(|j| j["job"] == name && j["operation"] == operation).unwrap()
    };
    // two processes read 16 blocks each
    let first = job("first", "read");
    assert_eq!((&first["operations"], &first["bytes"]), (&32.into(), &131_072.into()));
    assert!(
        seen["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .all(|j| j["job"] != "first" || j["operation"] == "read")
    );
    // 200 reads and 100 writes a second at the most, but seven of ten are reads: for each write there
    // are 7/3 reads, so that reads limit, and 200 of 10/7 come in a second; two seconds are counted
    let (reads, writes) = (job("second", "read"), job("second", "write"));
    let of = |job: &Value, key: &str| job[key].as_f64().unwrap();
    assert!((of(reads, "operations_per_s") / 200.0 - 1.0).abs() < 0.05, "{reads}");
    assert!((of(writes, "operations_per_s") / 85.7 - 1.0).abs() < 0.25, "{writes}");
    assert!((of(reads, "seconds") - 2.0).abs() < 0.05, "{reads}");
    // the second began when the first had ended
    let total = truth["simulated_seconds"].as_f64().unwrap();
    assert!(total > 2.9 && total < 3.2, "{total}");
}

#[test]
fn what_a_fio_file_cannot_ask_for_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |jobs: &str| {
        let file = write(&dir, "jobs.fio", jobs);
        let workload = format!(
            "[workload.w]\nvolume = \"data\"\nclient = \"app0\"\nkind = \"fio\"\nfile = \"{file}\""
        );
        let done = run(Place::with(&format!("{BENCHMARKS}\n{workload}")).arguments(&[]));
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
        done.stderr
    };
    let message = refused("[a]\nrw=read\nsize=1m\nverify=md5\n");
    assert!(message.contains("line 4, job `a`: `verify` is not supported"), "{message}");
    assert!(refused("[a]\nrw=read\nsize=7g\n").contains("but the volume has 6 GiB"));
    assert!(
        refused("[a]\nrw=read\n[b]\nrw=read\n")
            .contains("job `a` has neither `size` nor `filename`")
    );
    assert!(refused("").contains("has no job"));
}

#[test]
fn a_fio_job_that_ends_in_the_warm_up_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = "[a]\nrw=read\nbs=64k\nsize=1g\ntime_based\nruntime=2\n";
    let file = write(&dir, "jobs.fio", jobs);
    let workload = format!(
        "[workload.w]\nvolume = \"data\"\nclient = \"app0\"\nkind = \"fio\"\nfile = \"{file}\""
    );
    let place = Place::with(&format!("{BENCHMARKS}\n{workload}"));
    for warmup in ["2 s", "3 s"] {
        let more = ["--no-records", "--set", &format!("warmup={warmup}"), "--set", "duration=1s"];
        let printed = succeed(place.arguments(&more));
        assert!(printed.contains("job `a` (at 2.00 s)"), "{printed}");
        assert!(printed.contains("Set `warmup = \"0 s\"`"), "{printed}");
        // a last request gives no rate
        assert!(!printed.contains("What jobs did"), "{printed}");
        let truth = truth(&succeed(place.arguments(&[more.as_slice(), &["--json"]].concat())));
        let seen = &truth["workloads"]["w"];
        assert_eq!(seen["ended_in_warmup"][0]["job"], "a", "{seen}");
        assert!(seen["jobs"].is_null(), "{seen}");
    }
}

#[test]
fn a_workload_that_ends_before_the_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let jobs = "[a]\nrw=read\nbs=64k\nsize=1g\ntime_based\nruntime=1\n";
    let file = write(&dir, "jobs.fio", jobs);
    let workload = format!(
        "[workload.w]\nvolume = \"data\"\nclient = \"app0\"\nkind = \"fio\"\nfile = \"{file}\""
    );
    let place = Place::with(&format!("{BENCHMARKS}\n{workload}"));
    let of = |duration: &str| {
        let more = ["--no-records", "--set", "warmup=0 s", "--set", duration];
        let truth = truth(&succeed(place.arguments(&[&more[..], &["--json"]].concat())));
        (succeed(place.arguments(&more)), truth["workloads"]["w"]["ended_s"].clone())
    };
    let (printed, ended_s) = of("duration=4 s");
    assert!((ended_s.as_f64().unwrap() - 1.0).abs() < 0.05, "{ended_s}");
    assert!(printed.contains("`w` ended after 1.0"), "{printed}");
    assert!(printed.contains("its rates in the table count all 4.00 s"), "{printed}");
    let (printed, ended_s) = of("duration=1 s");
    assert!(ended_s.is_null() && !printed.contains("ended after"), "{printed}");
}

#[test]
fn the_action_of_blkparse_can_be_chosen_wherever_a_trace_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let lines = "8,16 1 1 0.000000000 9 D R 2048 + 8 [x]\n8,16 1 2 0.000100000 0 C R 2048 + 8 [0]\n\
                 8,16 1 3 0.001000000 9 D WS 4096 + 16 [x]\n";
    let file = write(&dir, "issue.blkparse", lines);
    let output = dir.path().join("out.trace").display().to_string();
    let commands: [&[&str]; 4] = [
        &["run", &file, "--no-records", "--set", "warmup=0s"],
        &["inspect", &file],
        &["replay-cache", &file],
        &["import", "auto", &file, "-o", &output],
    ];
    for command in commands {
        let done = run(command.iter().copied());
        assert_eq!(done.status, Some(2), "{command:?}: {}", done.stdout);
        let message = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(message.contains("2 have `D`, 1 have `C`"), "{message}");
        assert!(message.contains("--blkparse-action D"), "{message}");
        succeed(command.iter().copied().chain(["--blkparse-action", "D"]));
    }
    let set = ["run", &file, "--no-records", "--set", "workload.replay.blkparse_action=D"];
    succeed(set.into_iter().chain(["--set", "warmup=0s"]));
    let spc = write(&dir, "some.spc", "0,1,4096,r,0.1\n");
    let done = run(["replay-cache", &spc, "--format", "spc", "--blkparse-action", "D"]);
    assert!(done.stderr.contains("actions belong to"), "{}", done.stderr);
}

/// A small COSBench workload.
const OBJECTS: &str = r#"<?xml version="1.0" encoding="UTF-8" ?>
<workload name="small" description="sample">
  <storage type="s3" config="accesskey=a" />
  <workflow>
    <workstage name="init"><work type="init" workers="1" config="cprefix=x;containers=r(1,2)" /></workstage>
    <workstage name="prepare">
      <work type="prepare" workers="3" config="containers=r(1,2);objects=r(1,10);sizes=c(64)KB" />
    </workstage>
    <workstage name="main">
      <work name="main" workers="4" rampup="1" runtime="2">
        <operation type="read" ratio="80" config="containers=u(1,2);objects=u(1,10)" />
        <operation type="write" ratio="20" config="containers=u(1,2);objects=u(11,20);sizes=c(64)KB" />
      </work>
      <work name="counted" workers="2" totalOps="5">
        <operation type="list" ratio="100" config="containers=u(1,2)" />
      </work>
    </workstage>
    <workstage name="cleanup"><work type="cleanup" workers="1" config="containers=r(1,2);objects=r(1,20)" /></workstage>
    <workstage name="dispose"><work type="dispose" workers="1" config="containers=r(1,2)" /></workstage>
  </workflow>
</workload>
"#;

#[test]
fn cosbench_workloads_run_stage_by_stage() {
    let dir = tempfile::tempdir().unwrap();
    let file = write(&dir, "small.xml", OBJECTS);
    let workload = format!(
        "[workload.w]\nvolume = \"data\"\nclient = \"app0\"\nkind = \"cosbench\"\nfile = \"{file}\""
    );
    let place = Place::with(&format!("{BENCHMARKS}\n{workload}"));
    let out = dir.path().join("out").display().to_string();
    let truth = truth(&succeed(place.arguments(&["--json", "--no-records", "-o", &out])));
    let jobs = truth["workloads"]["w"]["jobs"].as_array().unwrap();
    let count = |stage: &str, operation: &str| {
        let of = jobs.iter().filter(|j| j["stage"] == stage && j["operation"] == operation);
        of.map(|job| job["operations"].as_u64().unwrap()).sum::<u64>()
    };
    // two containers of ten objects, of which twenty are deleted in each
    assert_eq!(
        (count("s1-init", "init"), count("s2-prepare", "prepare"), count("s3-main", "list")),
        (2, 20, 5)
    );
    assert_eq!((count("s4-cleanup", "cleanup"), count("s5-dispose", "dispose")), (40, 2));
    let (reads, writes) = (count("s3-main", "read"), count("s3-main", "write"));
    let share = reads as f64 / (reads + writes) as f64;
    // four standard deviations of a share of 0.8
    assert!(
        (share - 0.8).abs() < 4.0 * (0.16 / (reads + writes) as f64).sqrt(),
        "{reads} {writes}"
    );
    let read = jobs.iter().find(|j| j["stage"] == "s3-main" && j["operation"] == "read").unwrap();
    assert_eq!(
        (read["bytes"].as_u64(), read["seconds"].as_f64().map(f64::round)),
        (Some(reads * 64_000), Some(2.0))
    );
    // in COSBench's own layout, for scripts that read that
    let archived = |name: &str| fs::read_to_string(Path::new(&out).join("archive").join(name));
    let csv = archived("w1-small/w1-small.csv").unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0].join(","), COSBENCH_COLUMNS);
    let names: Vec<String> = rows[1..].iter().map(|row| row[..3].join(",")).collect();
    assert_eq!(
        names,
        [
            "s1-init,init-write,init",
            "s2-prepare,prepare-write,prepare",
            "s3-main,read,read",
            "s3-main,write,write",
            "s3-main,list,list",
            "s4-cleanup,cleanup-delete,cleanup",
            "s5-dispose,dispose-delete,dispose"
        ]
    );
    for row in &rows[1..] {
        let whole = |at: usize| row[at].parse::<u64>().unwrap();
        // quantiles are ends of buckets of 10 ms, in order; 100 % is not below the mean
        assert!((7..=12).all(|at| whole(at) % 10 == 0), "{row:?}");
        assert!((8..=12).all(|at| whole(at) >= whole(at - 1)), "{row:?}");
        assert!(whole(12) as f64 >= row[5].parse::<f64>().unwrap(), "{row:?}");
        assert_eq!((row[6], row[15], row[16]), ("N/A", "100%", "completed"));
        assert!(
            row[17].starts_with("waiting @ 1970-01-01 00:00:") && row.len() == 17 + 8,
            "{row:?}"
        );
        assert!(row[24].starts_with("completed @ 1970-01-01 00:00:"), "{row:?}");
        for at in [5, 13, 14] {
            let digits = row[at].split_once('.').map_or("", |(_, digits)| digits);
            assert!(digits.len() <= 2 && !digits.ends_with('0'), "{row:?}");
        }
    }
    let row = &rows[3];
    assert_eq!((row[3], row[4]), (&*reads.to_string(), &*(reads * 64_000).to_string()));
    // two seconds were counted: bandwidth is in bytes a second
    let rates = [13, 14].map(|at| row[at].parse::<f64>().unwrap());
    assert!((rates[1] / rates[0] - 64_000.0).abs() < 1_000.0, "{row:?}");
    let history = archived("run-history.csv").unwrap();
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines[0], "Id,Name,Submitted-At,Started-At,Stopped-At,Op-Info,State");
    assert!(lines[1].starts_with("w1,small,1970-01-01 00:00:"), "{history}");
    assert!(
        lines[1].ends_with(",init prepare read write list cleanup dispose,finished"),
        "{history}"
    );
    assert_eq!(lines.len(), 2);
    let matrix = archived("workloads.csv").unwrap();
    let lines: Vec<&str> = matrix.lines().collect();
    assert!(lines[0].starts_with("Id,Op-Name,Op-Count,Byte-Count,Worker-Count,Avg-ResTime,"));
    assert!(lines.iter().all(|line| line.split(',').count() == 17), "{matrix}");
    let found = format!("w1-s3-main-2,write,{writes},{},4,", writes * 64_000);
    assert!(lines[4].starts_with(&found), "{matrix}");
    let config = ",100%,20% containers=u(1-2) objects=u(11-20) sizes=c(64)KB";
    assert!(lines[4].ends_with(config), "{matrix}");
}

/// The first line of a report, as COSBench 0.4 writes it.
const COSBENCH_COLUMNS: &str = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,\
     60%-ResTime,80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,Bandwidth,\
     Succ-Ratio,Status,Detailed Status";

#[test]
fn fio_results_become_a_table() {
    let Some(dir) = data("fio/randrw-interleaved") else { return };
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    names.sort();
    let arguments: Vec<&str> =
        ["import", "fio-json"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let table = succeed(&arguments);
    let columns = table.lines().next().unwrap().split(',').count();
    assert!(table.lines().all(|line| line.split(',').count() == columns));
    // six cycles of four sizes; of five shares of reads two are pure and three are rows for both
    assert_eq!(table.lines().count(), 1 + 6 * 4 * (2 + 3 * 2));
    let file = tempfile::tempdir().unwrap();
    let file = write(&file, "no.json", "[]");
    let done = run(["import", "fio-json", &file]);
    assert!(done.status == Some(2) && done.stderr.contains("list of `jobs`"), "{}", done.stderr);
}
