//! A real block trace through the whole cluster: two hours of one virtual machine, libCacheSim's
//! cloudPhysicsIO (`../shared/data/README.md`): 113,872 requests; 46,974 are reads.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;

use common::*;
use serde_json::Value;

const REQUESTS: u64 = 113_872;
const READS: u64 = 46_974;
const PAGE: u64 = 4096;

/// One after the other, so that pages are referred to in the order of the trace; in groups so large
/// that no request is cut into two, of which the shorter would overtake the longer; no read-ahead,
/// so that nothing else refers to pages; and the whole cache for pages.
const IN_ORDER: [&str; 8] = [
    "--set",
    "workload.replay.arrivals=closed",
    "--set",
    "volume.data.group=1 GiB",
    "--set",
    "node.server.cache.read_ahead=0 B",
    "--set",
    "tracking.overhead=false",
];

fn replay(trace: &Path, more: &[&str]) -> Value {
    let mut arguments = vec!["run", trace.to_str().unwrap(), "--json"];
    arguments.extend(more);
    truth(&succeed(arguments))
}

/// None is lost, and each is of the right kind.
fn all_replayed(truth: &Value, reads: u64) {
    let counts = ["requests_issued", "requests_completed", "requests_in_flight"]
        .map(|count| truth[count].as_u64().unwrap());
    assert_eq!(counts, [REQUESTS, REQUESTS, 0]);
    assert_eq!(truth["network"]["segments_dropped"], 0);
    // nothing is warm-up
    let load = &truth["workloads"]["replay"];
    assert_eq!(load["requests"], REQUESTS);
    assert_eq!(load["read"]["requests"], reads);
    assert_eq!(load["write"]["requests"], REQUESTS - reads);
}

/// The trace as (read, first page, pages), by nothing but splitting lines at commas.
fn references(trace: &Path) -> Vec<(bool, u64, u64)> {
    let text = std::fs::read_to_string(trace).unwrap();
    let reference = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let [op, size, lbn] = [fields[2], fields[3], fields[4]];
        let (size, lbn): (u64, u64) = (size.parse().unwrap(), lbn.parse().unwrap());
        let (first, end) = (lbn * 512 / PAGE, (lbn * 512 + size).div_ceil(PAGE));
        (op == "28", first, end - first)
    };
    text.lines().skip(1).map(reference).collect()
}

/// (pages read, pages found) of the slowest thing that is LRU: every page and the moment of its
/// last reference, once by page and once by moment.
fn naive_lru(references: &[(bool, u64, u64)], capacity: usize) -> (u64, u64) {
    let (mut last_use, mut by_age) = (BTreeMap::new(), BTreeMap::new());
    let (mut read, mut found, mut now) = (0, 0, 0_u64);
    for &(is_read, first, pages) in references {
        for page in first..first + pages {
            now += 1;
            let before = last_use.insert(page, now);
            if let Some(before) = before {
                by_age.remove(&before);
            }
            by_age.insert(now, page);
            if last_use.len() > capacity {
                let (_, oldest) = by_age.pop_first().unwrap();
                last_use.remove(&oldest);
            }
            read += u64::from(is_read);
            found += u64::from(is_read && before.is_some());
        }
    }
    (read, found)
}

/// (pages read, pages found) of the simulated node.
fn simulated(truth: &Value) -> (u64, u64) {
    let cache = &truth["caches"]["server0"];
    let pages = cache["pages_read"].as_u64().unwrap();
    let found = cache["read_hit_rate"].as_f64().unwrap() * pages as f64;
    assert!((found - found.round()).abs() < 1e-6, "{found} is a number of pages");
    (pages, found.round() as u64)
}

#[test]
fn every_request_is_replayed_in_every_format() {
    for (name, reads) in [
        ("cloudPhysicsIO.csv", READS),
        ("cloudPhysicsIO.vscsi", READS),
        // says nothing of reading or writing: everything reads
        ("cloudPhysicsIO.oracleGeneral.bin", REQUESTS),
    ] {
        let Some(trace) = data(&format!("traces/{name}")) else { return };
        // at its own times, two hours, and as fast as 16 outstanding requests allow
        let truth = replay(&trace, &[]);
        all_replayed(&truth, reads);
        let seconds = truth["simulated_seconds"].as_f64().unwrap();
        assert!((7190.0..7210.0).contains(&seconds), "{name}: {seconds} s");
        let closed = "workload.replay.arrivals=closed";
        let truth = replay(&trace, &["--set", closed, "--set", "workload.replay.outstanding=16"]);
        all_replayed(&truth, reads);
        let outstanding = truth["workloads"]["replay"]["outstanding_mean"].as_f64().unwrap();
        assert!((15.9..=16.0).contains(&outstanding), "{name}: {outstanding}");
    }
}

#[test]
fn oracle_the_nodes_cache_hits_as_an_lru_of_as_many_pages() {
    let Some(csv) = data("traces/cloudPhysicsIO.csv") else { return };
    let references = references(&csv);
    assert_eq!(references.len() as u64, REQUESTS);
    let mut rates = Vec::new();
    for mib in [16, 64, 256, 1024] {
        let size = format!("node.server.cache.size={mib} MiB");
        let arguments = [&IN_ORDER[..], &["--set", &size]].concat();
        let truth = replay(&csv, &arguments);
        all_replayed(&truth, READS);
        let lru = naive_lru(&references, mib << 20 >> 12);
        assert_eq!(simulated(&truth), lru, "{mib} MiB: (pages read, pages found)");
        rates.push(lru.1 as f64 / lru.0 as f64);
    }
    eprintln!("hit rates {rates:.4?}");
    // the test would prove little where everything or nothing hits
    assert!(rates.is_sorted() && rates[0] > 0.01 && rates[0] < 0.2, "{rates:?}");
    assert!(rates.iter().filter(|&&rate| (0.05..0.95).contains(&rate)).count() >= 4, "{rates:?}");
}

#[test]
fn at_its_own_times_the_cache_hits_about_as_an_lru() {
    let Some(csv) = data("traces/cloudPhysicsIO.csv") else { return };
    // The trace counts whole seconds, so dozens of requests begin at once, and large ones are
    // overtaken by small ones: not the order of the trace, but nearly.
    let arguments = ["--no-records", "--set", "node.server.cache.read_ahead=0 B"];
    let (pages, found) = simulated(&replay(&csv, &arguments));
    let (lru_pages, lru_found) = naive_lru(&references(&csv), 1 << 30 >> 12);
    assert_eq!(pages, lru_pages);
    let off = (found as f64 - lru_found as f64) / pages as f64;
    assert!(off.abs() < 0.002, "{off}");
}

#[test]
fn the_same_trace_in_another_format_is_the_same_run() {
    let Some(csv) = data("traces/cloudPhysicsIO.csv") else { return };
    let vscsi = csv.with_extension("vscsi");
    // in order; at their own times they differ, as one counts seconds and the other microseconds
    let replayed = |trace: &Path| {
        let mut truth = replay(trace, &IN_ORDER);
        truth["workloads"]["replay"]["trace"].take();
        timeless(truth)
    };
    assert_eq!(replayed(&csv), replayed(&vscsi));
}

#[test]
fn compressed_lists_of_blocks_are_replayed() {
    let Some(trace) = data("traces/multi1.trace.gz") else { return };
    let closed = "workload.replay.arrivals=closed";
    let truth = replay(&trace, &["--no-records", "--set", closed]);
    // ../shared/data/README.md: 15,858 blocks
    assert_eq!(truth["requests_completed"], 15_858);
    assert_eq!(truth["workloads"]["replay"]["read"]["requests"], 15_858);
}
