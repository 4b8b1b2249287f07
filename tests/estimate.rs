//! `foretell estimate`, through the command.

use crate::common;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use common::fio::{Job, result};
use common::{Place, data, run, succeed};
use serde_json::{Value, json};
use tempfile::TempDir;

fn csv(dir: &TempDir, lines: &str) -> String {
    let path = dir.path().join("points.csv");
    fs::write(&path, format!("bs,read_percent,iops\n{lines}")).unwrap();
    path.display().to_string()
}

fn asked(arguments: &[&str]) -> Value {
    let all = ["estimate", "--json"].iter().chain(arguments);
    serde_json::from_str(&succeed(all)).unwrap()
}

fn near(found: &Value, wanted: f64) {
    let found = found.as_f64().unwrap();
    assert!((found / wanted - 1.0).abs() < 1e-6, "{found}, wanted {wanted}");
}

/// What a wrong input is answered with.
fn refused(arguments: &[&str]) -> String {
    let done = run(["estimate"].iter().chain(arguments));
    assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
    done.stderr
}

#[test]
fn the_rule_of_the_paper_by_arithmetic() {
    let dir = tempfile::tempdir().unwrap();
    let points = "16k,100,9000\n16k,0,3000\n1M,100,1000\n1M,0,500\n16k,50,4500\n";
    let file = csv(&dir, points);
    let found = asked(&["--csv", &file, "--read", "70", "--sizes", "16K:0.3,1M:0.7"]);
    let series = &found["series"][0];
    near(&series["sizes"][0]["f_rw"], 3.0);
    near(&series["sizes"][0]["capacity_iops"], 9000.0);
    near(&series["sizes"][1]["f_rw"], 2.0);
    // k = 9000 / (70 + 90) and 1000 / (70 + 60); 100 (0.3 · 56.25 + 0.7 · 7.6923)
    let total = 100.0 * (0.3 * 56.25 + 0.7 * 1000.0 / 130.0);
    let plain = &series["predictions"][0]["plain"];
    near(&plain["iops"], total);
    near(&plain["read_iops"], 0.7 * total);
    // 9000 / (0.5 + 0.5 · 3) = 4500, as measured
    assert!(series["measured"][0]["plain"]["error"].as_f64().unwrap() < 1e-9);
    assert_eq!(series["doubts"], json!([]));
    let text = succeed(["estimate", "--csv", &file, "--read", "70"]);
    assert!(text.contains("no reason to distrust the plain rule"), "{text}");
}

#[test]
fn one_mixed_size_helps_another() {
    // both at the larger of 100 r us and 100 (1 - r) us
    let dir = tempfile::tempdir().unwrap();
    let points = "4k,100,10000\n4k,0,10000\n4k,50,20000\n8k,100,5000\n8k,0,5000\n8k,50,10000\n";
    let found = asked(&["--csv", &csv(&dir, points)]);
    let errors = &found["series"][0]["errors"];
    near(&errors["plain"]["mean"], 0.5);
    let aware = errors["bottleneck_aware"]["mean"].as_f64().unwrap();
    assert!(aware < 0.35, "{aware}");
    assert!(found["series"][0]["doubts"].to_string().contains("under-predicts by 50.0 %"));
}

/// 100 us of processors for small requests, 1000 us of a link for large ones.
#[test]
fn sizes_that_wait_for_different_parts_gain_by_what_is_outstanding() {
    let dir = tempfile::tempdir().unwrap();
    let points = "4k,100,10000\n4k,0,10000\n1000k,100,1000\n1000k,0,1000\n";
    let file = csv(&dir, points);
    let iops = |more: &[&str]| {
        let asked_for = ["--csv", &file, "--read", "100", "--sizes", "4K:0.9,1000K:0.1"];
        let found = asked(&[&asked_for[..], more].concat());
        found["series"][0]["predictions"][0]["bottleneck_aware"]["iops"].as_f64().unwrap()
    };
    // one after the other: 0.9 · 100 + 0.1 · 1000 = 190 us
    assert!((iops(&[]) / (1e6 / 190.0) - 1.0).abs() < 1e-6);
    let link = "8192 Mbit/s";
    let links = ["--link-in", link, "--link-out", link, "--write-path", "proxy"];
    let among = |outstanding: &str| iops(&[&links[..], &["--outstanding", outstanding]].concat());
    assert!((among("1") / (1e6 / 190.0) - 1.0).abs() < 1e-6);
    // the link alone: 0.9 · 4 + 0.1 · 1000 = 103.6 us
    assert!((among("1000000") / (1e6 / 103.6) - 1.0).abs() < 0.01, "{}", among("1000000"));
    assert!(among("1") < among("32") && among("32") < among("1000000"));
    let text = succeed(["estimate", "--csv", &file]);
    assert!(text.contains("One more point would help most here: 4 KiB at 50 % reads"), "{text}");
    assert!(refused(&["--csv", &file, "--outstanding", "4"]).contains("--link-in"));
}

#[test]
fn links_hold_what_they_carry() {
    let dir = tempfile::tempdir().unwrap();
    // 1000 B at 10 000 a second are 80 Mbit/s
    let file = csv(&dir, "1000,100,10000\n1000,0,10000\n");
    let links =
        ["--csv", &file, "--read", "50", "--link-in", "80 Mbit/s", "--link-out", "80 Mbit/s"];
    let found = asked(&links);
    let series = &found["series"][0];
    // half of each: 50 us twice, p = 4
    let wanted = 1e6 / (50.0 * libm::pow(2.0, 0.25));
    let ours = series["predictions"][0]["bottleneck_aware"]["iops"].as_f64().unwrap();
    assert!((ours / wanted - 1.0).abs() < 1e-3, "{ours} {wanted}");
    near(&series["predictions"][0]["plain"]["iops"], 10_000.0);
    assert!(series["doubts"].to_string().contains("opposite directions"));
}

#[test]
fn more_than_the_links_carry_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    // 1000 a second of 1 MiB are 8.4 Gbit/s
    let file = csv(&dir, "1M,100,1000\n1M,0,500\n");
    let links = |rate: &'static str| ["--csv", &file, "--link-in", rate, "--link-out", rate];
    let narrow = refused(&links("1 Gbit/s"));
    let wanted =
        "1 MiB: 1000 reads/s were measured, which is 8.4 Gbit/s; the links out carry 1 Gbit/s";
    assert!(narrow.contains(wanted), "{narrow}");
    // 5 % more is an error of measurement
    succeed(["estimate"].iter().chain(&links("8 Gbit/s")));
    // three copies of 500 writes a second
    let copies = refused(&[&links("10 Gbit/s")[..], &["--encoding", "1-of-3"]].concat());
    assert!(
        copies.contains("500 writes/s were measured, which is 12.6 Gbit/s; the links in"),
        "{copies}"
    );
    let path = refused(&["--csv", &file, "--write-path", "proxy"]);
    assert!(path.contains("--link-in"), "{path}");
    let read = refused(&["--csv", &file, "--read", ""]);
    assert!(read.contains("expected a percentage from 0 to 100"), "{read}");
}

#[test]
fn fio_results_fall_into_orders_sizes_and_mixes() {
    let dir = tempfile::tempdir().unwrap();
    let mixed = Job {
        rw: "randrw",
        bs: 4096,
        iodepth: 4,
        numjobs: 1,
        rwmixread: 70,
        seen: [Some((7000.0, 400.0)), Some((3000.0, 400.0))],
    };
    let jobs = [
        Job::full("randread", 4096, 4, 250.0),
        Job::full("randwrite", 4096, 4, 500.0),
        mixed,
        Job::full("read", 4096, 4, 100.0),
        Job::full("write", 4096, 4, 200.0),
    ];
    fs::create_dir(dir.path().join("deeper")).unwrap();
    for (index, job) in jobs.iter().enumerate() {
        let text = result(&[job.json(3)], "sda", 3);
        fs::write(dir.path().join(format!("deeper/{index}.json")), text).unwrap();
    }
    // hidden files, such as a manifest, are no results
    fs::write(dir.path().join("deeper/.foretell.json"), "{}").unwrap();
    let path = dir.path().display().to_string();
    let found = asked(&["--fio", &path]);
    let names: Vec<&str> =
        found["series"].as_array().unwrap().iter().map(|s| s["series"].as_str().unwrap()).collect();
    assert_eq!(names, ["random, 4 outstanding", "sequential, 4 outstanding"]);
    let random = &found["series"][0];
    near(&random["sizes"][0]["capacity_iops"], 16_000.0);
    near(&random["sizes"][0]["f_rw"], 2.0);
    // 16000 / (0.7 + 0.3 · 2) = 12308, measured 10000
    near(&random["measured"][0]["plain"]["error"], 16_000.0 / 1.3 / 10_000.0 - 1.0);
    assert!(found["series"][1]["doubts"].to_string().contains("sequential"));
    // the pure writes are taken away
    fs::remove_file(dir.path().join("deeper/1.json")).unwrap();
    let fault = refused(&["--fio", &path]);
    assert!(fault.contains("size 4 KiB (random, 4 outstanding): the pure-write point"), "{fault}");
    let rest = asked(&["--fio", &path, "--skip"]);
    assert_eq!(rest["series"].as_array().unwrap().len(), 1);
    assert!(rest["notes"].to_string().contains("pure-write point is missing"));
    // a result put there twice
    fs::copy(dir.path().join("deeper/3.json"), dir.path().join("again.json")).unwrap();
    assert!(refused(&["--fio", &path, "--skip"]).contains("are the same point"));
    fs::write(dir.path().join("again.json"), "{\"fio version\": \"fio-9\"}").unwrap();
    assert!(refused(&["--fio", &path]).contains("has no list of `jobs`"));
}

#[test]
fn cosbench_reports_are_points() {
    let dir = tempfile::tempdir().unwrap();
    let header = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Avg-ProcTime,60%-ResTime,\
                  80%-ResTime,90%-ResTime,95%-ResTime,99%-ResTime,100%-ResTime,Throughput,Bandwidth,\
                  Succ-Ratio,Status,Detailed Status";
    let row = |stage: &str, op: &str, count: u64, per_s: f64| {
        let bytes = count * 16_000;
        format!(
            "{stage},{op},{op},{count},{bytes},1,1,1,1,1,1,1,1,{per_s},1,100%,completed,a @ b,c @ d\n"
        )
    };
    let text = [
        format!("{header}\n"),
        "prepare,init,init-write,5,5,1,1,1,1,1,1,1,1,1,1,100%,completed,a @ b\n".to_owned(),
        row("reads", "read", 900, 90.0),
        row("writes", "write", 300, 30.0),
        row("both", "read", 225, 22.5),
        row("both", "write", 225, 22.5),
    ];
    fs::write(dir.path().join("w1.csv"), text.concat()).unwrap();
    fs::write(dir.path().join("run-history.csv"), "Id,Name\nw1,x\n").unwrap();
    let path = dir.path().display().to_string();
    let found = asked(&["--cosbench", &path]);
    let series = &found["series"][0];
    assert_eq!(series["sizes"][0]["size_bytes"], 16_000);
    near(&series["sizes"][0]["f_rw"], 3.0);
    assert_eq!(series["measured"][0]["read_percent"], 50.0);
    near(&series["measured"][0]["measured"]["iops"], 45.0);
    // the same run twice
    let all = text.concat();
    for (again, fault) in [
        (text.concat(), "line 7 is a second heading"),
        (row("reads", "read", 900, 90.0), "line 7 is line 3 again"),
    ] {
        fs::write(dir.path().join("w1.csv"), format!("{all}{again}")).unwrap();
        let message = refused(&["--cosbench", &path]);
        assert!(message.contains(fault), "{message}");
    }
    fs::write(dir.path().join("w1.csv"), all).unwrap();
    fs::write(dir.path().join("w2.csv"), format!("{header}\n{}", row("none", "read", 0, 0.0)))
        .unwrap();
    assert!(refused(&["--cosbench", &path]).contains("stage `none`: 0 requests a second"));
    fs::remove_file(dir.path().join("w1.csv")).unwrap();
    fs::remove_file(dir.path().join("w2.csv")).unwrap();
    assert!(refused(&["--cosbench", &path]).contains("no reports of COSBench"));
}

#[test]
fn stages_of_cosbench_with_other_numbers_of_workers_are_other_series() {
    let dir = tempfile::tempdir().unwrap();
    let mut text =
        "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Throughput,Succ-Ratio\n".to_owned();
    // requests a second, and ms: 1 and 64 outstanding
    for (stage, op, per_s, ms) in [
        ("a", "read", 100, 10),
        ("b", "write", 50, 20),
        ("c", "read", 2000, 32),
        ("d", "write", 1000, 64),
    ] {
        let count = per_s * 60;
        let bytes = count * 4000;
        writeln!(text, "{stage},{op},{op},{count},{bytes},{ms},{per_s},100%").unwrap();
    }
    fs::write(dir.path().join("w1.csv"), text).unwrap();
    let found = asked(&["--cosbench", &dir.path().display().to_string()]);
    let series = found["series"].as_array().unwrap();
    let named = |name: &str| series.iter().find(|one| one["series"] == name).unwrap();
    near(&named("1 outstanding")["sizes"][0]["reads_alone"]["iops"], 100.0);
    near(&named("64 outstanding")["sizes"][0]["reads_alone"]["iops"], 2000.0);
}

#[test]
fn a_stage_of_cosbench_with_several_sizes_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().display().to_string();
    let header = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Throughput\n";
    let report =
        |rows: &str| fs::write(dir.path().join("w1.csv"), format!("{header}{rows}")).unwrap();
    // two works of a stage: 100 objects of 16 kB, 100 of 1 MB
    report("m,read,read,100,1600000,10\nm,read,read,100,100000000,10\n");
    let message = refused(&["--cosbench", &path]);
    assert!(
        message.contains("stage `m`: its objects have several sizes, 16000 B on average"),
        "{message}"
    );
    // one work whose sizes are drawn: 61 of 16 kB and 39 of 1 MB, and a hundred and one in all
    report("m,read,read,101,39976000,10\n");
    let message = refused(&["--cosbench", &path]);
    assert!(
        message.contains("39976000 B is not a whole number of bytes for each of 101"),
        "{message}"
    );
}

#[test]
fn runs_of_the_simulator_are_points() {
    let place = Place::with(
        "seed = 1\nwarmup = \"100 ms\"\nduration = \"1 s\"\n[node.brick]\ncount = 1\n\
         cpu = \"pentium4-2.6\"\ncache = { size = \"16 MiB\" }\ndisk = [\"cheetah-15k\"]\n\
         [client.app]\ncount = 1\ncpu = \"xeon-p4-3.0\"\n\
         [volume.v]\nsize = \"1 GiB\"\nnodes = \"brick\"\nencoding = \"1-of-1\"\n\
         [workload.w]\nvolume = \"v\"\nclient = \"app0\"\nkind = \"ssio\"\nreads = \"100%\"\n\
         access = \"4 KiB\"\noutstanding = 4\n",
    );
    let runs = place.path("runs");
    for percent in ["0", "50", "100"] {
        let reads = format!("workload.w.reads={percent}%");
        place.keep(&format!("runs/{percent}"), &["--no-records", "--set", &reads]);
    }
    let found = asked(&["--run", &runs.display().to_string()]);
    let series = &found["series"][0];
    assert_eq!(series["sizes"][0]["size_bytes"], 4096);
    assert_eq!(series["measured"].as_array().unwrap().len(), 1);
    let truth = common::truth_of(&runs.join("100"));
    let wanted = truth["workloads"]["w"]["throughput_rps"].as_f64().unwrap();
    near(&series["sizes"][0]["capacity_iops"], wanted);
}

#[test]
fn wrong_points_are_refused_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let of = |lines: &str| refused(&["--csv", &csv(&dir, lines)]);
    assert!(of("4k,100,9\n").contains("size 4 KiB: the pure-write point is missing"));
    assert!(of("4k,0,9\n4k,50,9\n").contains("size 4 KiB: the pure-read point is missing"));
    assert!(of("4k,100,0\n").contains("line 2: 0 requests a second"));
    assert!(of("4k,100,9\n4k,0,3\n4k,0,3\n").contains("line 3 and"));
    assert!(of("4k,100,9\n4k,0,3\n4k,0,300\n").contains("contradict each other"));
    let beyond = of("4k,100,9\n4k,0,3\n4k,50,80\n");
    assert!(beyond.contains("line 4: 4 KiB, 50 % reads: 40 reads a second in the mix"), "{beyond}");
    assert!(of("4q,100,9\n").contains("`bs` is `4q`"));
    assert!(of("4k,101,9\n").contains("`read_percent` is `101`"));
    assert!(of("4k,100,fast\n").contains("`iops` is `fast`"));
    assert!(of("4k,100,NaN\n").contains("NaN requests a second"));
    assert!(of("4k,100,-1\n").contains("-1 requests a second"));
    assert!(of("4k,100\n").contains("points.csv"));
    assert!(of("").contains("no points"));
    let good = csv(&dir, "4k,100,9\n4k,0,3\n");
    assert!(refused(&["--csv", &good, "--read", "101"]).contains("from 0 to 100"));
    let unknown = refused(&["--csv", &good, "--read", "50", "--sizes", "8K:1"]);
    assert!(unknown.contains("8 KiB was not measured; the measured sizes are 4 KiB"), "{unknown}");
    assert!(refused(&["--csv", &good, "--sizes", "4K:1"]).contains("--read"));
    assert!(refused(&["--csv", "/nowhere.csv"]).contains("cannot read `/nowhere.csv`"));
    assert!(refused(&[]).contains("--fio"));
    let path = dir.path().join("points.csv");
    fs::write(&path, "size,read_percent,iops\n").unwrap();
    assert!(refused(&["--csv", &good]).contains("has no column `bs`"));
}

/// Six cycles of 20 runs on a busy virtual machine.
#[test]
fn real_runs_are_estimated_better_than_by_the_plain_rule() {
    let Some(results) = data("fio/randrw-interleaved") else { return };
    let all = asked(&["--fio", &results.display().to_string()]);
    let errors = &all["series"][0]["errors"];
    let mean = |which: &str| errors[which]["mean"].as_f64().unwrap();
    println!("mean error: plain {}, aware {}", mean("plain"), mean("bottleneck_aware"));
    assert_eq!(all["series"][0]["measured"].as_array().unwrap().len(), 12);
    assert!(mean("bottleneck_aware") < mean("plain"));
    // and whatever else lies above does no harm
    let above =
        results.parent().map(Path::to_path_buf).map(|path: PathBuf| path.display().to_string());
    let again = asked(&["--fio", &above.unwrap()]);
    assert_eq!(all["series"], again["series"]);
    assert!(again["notes"].to_string().contains("iolog_run"), "{}", again["notes"]);
}
