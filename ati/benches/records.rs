//! Records written to a store per CPU-second of the whole process, including the writer thread.
//!
//! `cargo bench -p foretell-ati --bench records [-- wants|none|statements|pages [MILLIONS]]`

#![allow(clippy::disallowed_methods, reason = "a bench measures the time of the host")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use foretell_ati::{Facts, KindSet, Method, RecordKind, Recorder, Selection, open_run, synthetic};
use foretell_units::{Breadcrumb, Seed};

/// CPU seconds that this process has used in user and in system mode.
///
/// From `/proc/self/stat`, fields 14 and 15, in ticks of 10 ms; for all threads, including those
/// that have ended.
fn cpu_seconds() -> (f64, f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("this bench is for Linux");
    let after_name = stat.rsplit_once(')').expect("pid (name) state ...").1;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>().expect("a number of ticks") / 100.0;
    (ticks(11), ticks(12))
}

/// Peak memory of this process, in MiB.
fn peak_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this bench is for Linux");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("peak memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a size") / 1024
}

/// Directory of the store: `FORETELL_BENCH_DIR`, or the directory of temporary files.
fn scratch() -> PathBuf {
    let parent = std::env::var_os("FORETELL_BENCH_DIR").map_or_else(std::env::temp_dir, Into::into);
    parent.join(format!("foretell-bench-{}", std::process::id()))
}

fn record(method: Option<Method>, millions: u64) {
    let requests = 20_000;
    let sample = synthetic::records(requests, Seed(1));
    let total = millions * 1_000_000;
    let dir = scratch();
    let (user, system) = cpu_seconds();
    let start = Instant::now();
    let mut recorder = match method {
        Some(method) => {
            Recorder::create_by(method, &dir, Selection::ALL).expect("a directory to write to")
        }
        None => Recorder::none(),
    };
    let mut sum = 0;
    for record in synthetic::repeated(&sample, requests, total) {
        if method.is_some() {
            recorder.post(record);
        } else {
            sum ^= record.header.ts_ns;
        }
    }
    std::hint::black_box(sum);
    let posted = start.elapsed().as_secs_f64();
    let summary = recorder.finish(&Facts::default(), &[]).expect("a store");
    let wall = start.elapsed().as_secs_f64();
    let (user, system) = (cpu_seconds().0 - user, cpu_seconds().1 - system);
    let rate = total as f64 / 1e6;
    println!(
        "{:<12} {millions:>4} M records: {:>6.2} M/CPU-s ({user:.2} s user, {system:.2} s system), \
         wall {posted:.2} s to post, {wall:.2} s in all, {:.1} bytes a row, peak {} MiB",
        method.map_or_else(|| "none".to_owned(), |method| format!("{method:?}")),
        rate / (user + system),
        summary.bytes() as f64 / total as f64,
        peak_memory_mib(),
    );
    if method.is_some() {
        read(&dir, total);
    }
    let _ = std::fs::remove_dir_all(&dir);
}

/// Reads the store back: every table, one request, one second of time.
fn read(dir: &Path, total: u64) {
    let run = open_run(dir).expect("a store");
    let mut start = Instant::now();
    let mut lap = || std::mem::replace(&mut start, Instant::now()).elapsed().as_secs_f64();
    let mut records = 0;
    let mut last_ns = 0;
    for kind in RecordKind::ALL {
        let scan = run.scan(kind, |record| {
            records += 1;
            last_ns = last_ns.max(record.header.ts_ns);
        });
        scan.expect("readable tables");
    }
    assert_eq!(records, total);
    let scan = lap();
    for kind in RecordKind::ALL {
        run.scan_by_sql(kind, |_| records += 1).expect("readable tables");
    }
    let scan_by_sql = lap();
    run.scan_in_time(KindSet::ALL, |_| records += 1).expect("readable tables");
    let in_time = lap();
    let mut sum = 0.0;
    for kind in RecordKind::ALL {
        let sql = format!("SELECT ifnull(sum(breadcrumb), 0) FROM {kind}");
        sum += run.sql().query_row(&sql, [], |row| row.get::<_, f64>(0)).expect("a sum");
    }
    let sums = lap();
    let mut found = 0;
    let middle = total / 24;
    for breadcrumb in middle..middle + 20 {
        found += run.trace(Breadcrumb(breadcrumb)).expect("records").len();
    }
    let trace = lap() / 20.0;
    let mut within = 0;
    for kind in RecordKind::ALL {
        let middle = last_ns / 2;
        let scan = run.scan_between(kind, middle, middle + 1_000_000_000, |_| within += 1);
        scan.expect("readable tables");
    }
    let between = lap();
    println!(
        "             read: {:.1} M records/s, by SQL {:.1} M, merged {:.1} M, SQL sums {:.1} M rows/s ({sum:.0}), trace {:.1} ms \
         ({found} records in 20), one second {:.0} ms ({within} records)",
        total as f64 / 1e6 / scan,
        total as f64 / 1e6 / scan_by_sql,
        total as f64 / 1e6 / in_time,
        total as f64 / 1e6 / sums,
        trace * 1e3,
        between * 1e3,
    );
}

/// Measures the cost of asking whether a record is wanted.
fn wants() {
    for text in ["all", "none", "every 1/100 requests"] {
        let selection: Selection = text.parse().expect("a selection");
        let recorder = Recorder::in_memory(selection);
        let start = Instant::now();
        let asked: u64 = 200_000_000;
        let wanted = (0..asked)
            .filter(|n| {
                let breadcrumb = std::hint::black_box(Breadcrumb(*n));
                recorder.wants(RecordKind::DiskOp, breadcrumb)
            })
            .count();
        let ns = start.elapsed().as_secs_f64() * 1e9 / asked as f64;
        println!("wants        \"{text}\": {ns:.2} ns ({wanted} wanted)");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let millions = arguments.get(1).map_or(10, |n| n.parse().expect("millions of records"));
    let wanted = |name: &str| arguments.first().is_none_or(|first| first == name);
    if wanted("wants") {
        wants();
    }
    if wanted("none") {
        record(None, millions);
    }
    if wanted("statements") {
        record(Some(Method::Statements), millions);
    }
    if wanted("pages") {
        record(Some(Method::Pages), millions);
    }
}
