//! Files of statistics in addition to a cluster's maps: each is recognised by its content.

use std::path::PathBuf;

use foretell_ceph_maps::{Imported, Inventory, keepable, read_files};

const OSDS: &str = r#"{ "max_osd": 2, "pools": [{ "pool": 3, "pool_name": "p", "flags": 1, "type": 1, "size": 2,
  "min_size": 1, "crush_rule": 0, "pg_num": 8, "pg_placement_num": 8 }],
  "osds": [{ "osd": 0, "up": 1, "weight": 1.0 }, { "osd": 1, "up": 1, "weight": 1.0 }] }"#;
const CRUSH: &str = r#"{ "devices": [], "types": [{ "type_id": 0, "name": "osd" }, { "type_id": 1, "name": "host" }],
  "buckets": [{ "id": -1, "name": "h", "type_id": 1, "alg": "straw2", "items": [{ "id": 0, "weight": 65536 }, { "id": 1, "weight": 65536 }] }],
  "rules": [{ "rule_id": 0, "rule_name": "r", "type": 1, "steps": [{ "op": "take", "item": -1 },
    { "op": "choose_firstn", "num": 0, "type": "osd" }, { "op": "emit" }] }],
  "tunables": { "choose_local_tries": 0, "choose_local_fallback_tries": 0, "choose_total_tries": 50, "chooseleaf_descend_once": 1 } }"#;
const DF: &str = r#"{ "nodes": [{ "id": -1, "name": "h" }, { "id": 1, "device_class": "ssd", "kb": 2048, "kb_used": 512 }],
  "stray": [], "summary": {} }"#;
const PERF: &str = r#"{ "osdstats": { "osd_perf_infos": [{ "id": 0, "perf_stats": { "commit_latency_ms": 7, "commit_latency_ns": 7500000 } }] } }"#;
const DUMP: &str = r#"{ "osd": { "op": 9, "op_r_latency": { "avgcount": 2, "sum": 0.004 } } }"#;
const PROMETHEUS: &str = r#"# HELP ceph_pool_rd reads
ceph_osd_metadata{ceph_daemon="osd.0",hostname="n1",cluster_addr="10.1.2.3"} 1.0
ceph_osd_stat_bytes{ceph_daemon="osd.0"} 4096.0
ceph_pool_rd{pool_id="3"} 30.0
ceph_pool_rd_bytes{pool_id="3"} 122880.0
ceph_pool_wr{pool_id="3"} 10.0
ceph_pool_stored{pool_id="3"} 1000000.0
"#;

fn written(texts: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let write = |(number, text): (usize, &&str)| {
        let path = directory.path().join(format!("file{number}"));
        std::fs::write(&path, text).unwrap();
        path
    };
    let files = texts.iter().enumerate().map(write).collect();
    (directory, files)
}

fn inventory(files: &[PathBuf]) -> Inventory {
    match read_files(files).unwrap() {
        Imported::Cluster(_, inventory) => *inventory,
        Imported::Crush(..) => panic!("there are OSDs"),
    }
}

#[test]
fn each_file_adds_what_it_says() {
    // in any order
    let (_directory, files) = written(&[PROMETHEUS, DF, OSDS, PERF, CRUSH, DUMP]);
    let found = inventory(&files);
    assert_eq!(found.osds[&1].bytes, Some(2 << 20));
    assert_eq!(
        (found.osds[&1].used_bytes, found.osds[&1].class.as_deref()),
        (Some(512 << 10), Some("ssd"))
    );
    assert_eq!(found.osds[&0].bytes, Some(4096));
    assert_eq!((found.osds[&0].host.as_deref(), found.osds[&0].commit_ms), (Some("n1"), Some(7.5)));
    let pool = &found.pools[&3];
    let traffic = pool.traffic.unwrap();
    assert_eq!((pool.stored_bytes, traffic.reads, traffic.writes), (Some(1_000_000), 30, 10));
    assert_eq!(found.op_ms, (Some(2.0), None));
    // the kept document gives the same result, without addresses
    let kept = keepable(&files).unwrap();
    assert!(!kept.contains("10.1.2.3"));
    let (_directory, again) = written(&[&kept]);
    assert_eq!(inventory(&again), found);
}

#[test]
fn a_wrong_file_is_named() {
    for (wrong, what) in [
        (r#"{ "nodes": [{ "id": 1.5 }], "summary": {} }"#, "no OSD's number"),
        (r#"{ "nodes": 3 }"#, "is none of"),
        ("ceph_pool_rd", "is not a file of a Ceph cluster"),
    ] {
        let (_directory, files) = written(&[OSDS, CRUSH, wrong]);
        let error = read_files(&files).unwrap_err().to_string();
        assert!(error.contains("file2") && error.contains(what), "{error}");
    }
}
