//! Real inputs: traces of every format are imported, inspected, and used.

mod common;

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
        let told = succeed(["import", "trace", &file, "--format", format, "-o", &out]);
        assert!(told.starts_with(&format!("2 requests ({format}) in ")), "{told}");
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
        let told = json(&["import", format, &file, "-o", &out, "--skip-bad", "--json"]);
        assert_eq!((&told["requests"], &told["bad"]), (&2.into(), &1.into()), "{format}");
        fs::remove_file(&out).unwrap();
    }
}

#[test]
fn an_imported_trace_gives_the_results_of_the_original() {
    let Some(path) = data("traces/cloudPhysicsIO.vscsi") else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = path.display().to_string();
    let own = dir.path().join("own.csv.zst").display().to_string();
    let told = json(&["import", "vscsi", &path, "-o", &own, "--json"]);
    assert_eq!((&told["requests"], &told["has_times"]), (&113_872.into(), &true.into()));
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
