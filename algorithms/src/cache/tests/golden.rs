//! Miss ratios on real traces, against libCacheSim's (and the traces' own documentation).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cache::{Policy, PolicyKind};

/// The real traces, where they are present.
fn trace_file(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/traces").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: ../shared/data is absent");
    None
}

/// The block numbers of the `CloudPhysics` trace, reads and writes alike.
fn cloud_physics() -> Option<Vec<u64>> {
    let text = std::fs::read_to_string(trace_file("cloudPhysicsIO.csv")?).unwrap();
    let last = |line: &str| line.rsplit(',').next().unwrap().parse().unwrap();
    Some(text.lines().skip(1).map(last).collect())
}

/// A trace of one block number a line.
fn block_trace(name: &str) -> Option<Vec<u64>> {
    let mut text = String::new();
    let file = File::open(trace_file(name)?).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    Some(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
}

fn miss_ratio(kind: &str, capacity: usize, trace: &[u64]) -> f64 {
    let mut policy = kind.parse::<PolicyKind>().unwrap().build(capacity);
    let misses = trace.iter().filter(|&&key| !policy.access(key).is_hit()).count();
    misses as f64 / trace.len() as f64
}

fn to_four_digits(ratio: f64) -> String {
    format!("{ratio:.4}")
}

#[test]
fn golden_cloudphysics_exact() {
    let Some(trace) = cloud_physics() else { return };
    assert_eq!(trace.len(), 113_872);
    for (kind, capacity, ratio) in [
        ("lru", 489, "0.8380"),
        ("fifo", 489, "0.8476"),
        ("clock", 489, "0.8372"),
        ("lru", 9_794, "0.7249"),
        ("fifo", 9_794, "0.7128"),
        ("clock", 9_794, "0.7483"),
    ] {
        let found = to_four_digits(miss_ratio(kind, capacity, &trace));
        assert_eq!(found, ratio, "{kind} {capacity}");
    }
}

#[test]
fn golden_lru_hit_ratios_of_five_traces() {
    for (name, capacity, ratio) in [
        ("sprite.trace.gz", 100, "0.2158"),
        ("sprite.trace.gz", 400, "0.7077"),
        ("sprite.trace.gz", 1000, "0.9064"),
        ("multi1.trace.gz", 1000, "0.4823"),
        ("multi1.trace.gz", 2000, "0.8321"),
        ("2_pools.trace.gz", 400, "0.4915"),
        ("loop.trace.gz", 1000, "0.0000"),
        ("loop.trace.gz", 1024, "0.9980"),
    ] {
        let Some(trace) = block_trace(name) else { return };
        let found = to_four_digits(1.0 - miss_ratio("lru", capacity, &trace));
        assert_eq!(found, ratio, "{name} {capacity}");
    }
    let Some(trace) = cloud_physics() else { return };
    for (capacity, ratio) in [(1_000, "0.1673"), (10_000, "0.3024"), (40_000, "0.5697")] {
        let found = to_four_digits(1.0 - miss_ratio("lru", capacity, &trace));
        assert_eq!(found, ratio, "{capacity}");
    }
}
