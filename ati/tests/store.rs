//! Tests that a store keeps the posted records, finds them again, and rejects other files.

use std::path::Path;

use foretell_ati::{
    Demand, Facts, Host, HostKind, KindSet, Method, PARTIAL_FILE, Process, Record, RecordKind,
    Recorder, STORE_FILE, Selection, StoreError, Summary, Volume, Workload, open_run, rusqlite,
    synthetic,
};
use foretell_units::{Breadcrumb, Bytes, HostId, Seed, SimSpan, VolumeId, WorkloadId};

/// Records `records` into `dir`.
fn store(dir: &Path, method: Method, records: &[Record]) -> Summary {
    let mut recorder = Recorder::create_by(method, dir, Selection::ALL).unwrap();
    for record in records {
        recorder.post(*record);
    }
    recorder.finish(&facts(), &demands()).unwrap()
}

fn facts() -> Facts {
    let host = |host, name: &str, kind| Host { host: HostId(host), name: name.to_owned(), kind };
    let mut facts = Facts {
        hosts: vec![host(0, "brick0", HostKind::Node), host(8, "app0", HostKind::Client)],
        volumes: vec![Volume {
            volume: VolumeId(0),
            name: "mail".to_owned(),
            size: Bytes::gib(20),
            encoding: "1-of-3".to_owned(),
            cipher: "none".to_owned(),
            nodes: vec![HostId(2), HostId(0), HostId(1)],
        }],
        workloads: vec![Workload {
            workload: WorkloadId(0),
            name: "postmark".to_owned(),
            volume: VolumeId(0),
            clients: vec![HostId(8)],
        }],
        processes: vec![Process { process: 1, name: "server".to_owned() }],
        settings: Vec::new(),
    };
    facts.set("node.brick0.cache.policy", "lru", "");
    facts.set("node.brick0.cache.size", 512_i64 << 20, "bytes");
    facts.set("node.brick0.disk.0.rate", 6.25e7, "bytes/s");
    facts
}

fn demands() -> Vec<Demand> {
    vec![Demand {
        workload: WorkloadId(0),
        host: HostId(0),
        resource: "disk0".to_owned(),
        busy: SimSpan::from_ms(1500),
        operations: 130,
    }]
}

/// Everything of `kind` in the store of `dir`.
fn scan(dir: &Path, kind: RecordKind) -> Vec<Record> {
    let mut found = Vec::new();
    open_run(dir).unwrap().scan(kind, |record| found.push(*record)).unwrap();
    found
}

#[test]
fn what_is_posted_is_found_again() {
    // 130 000 records: many pages, many zones, many batches
    let records = synthetic::records(10_000, Seed(1));
    for method in [Method::Pages, Method::Statements] {
        let dir = tempfile::tempdir().unwrap();
        let summary = store(dir.path(), method, &records);
        assert_eq!(summary.total(), records.len() as u64);
        let run = open_run(dir.path()).unwrap();
        for kind in RecordKind::ALL {
            let expected: Vec<Record> =
                records.iter().filter(|record| record.body.kind() == kind).copied().collect();
            assert!(scan(dir.path(), kind) == expected, "{kind}");
            assert_eq!(summary.records(kind), expected.len() as u64);
            assert_eq!(run.count(kind).unwrap(), expected.len() as u64);
        }
        assert_eq!(summary.bytes(), run.bytes().unwrap());
        let check: String =
            run.sql().pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
    }
}

#[test]
fn a_row_takes_40_bytes_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let sample = synthetic::records(10_000, Seed(1));
    // 2 M records, a simulated run of half an hour: the numbers have their usual length
    let records: Vec<Record> = synthetic::repeated(&sample, 10_000, 2_000_000).collect();
    let summary = store(dir.path(), Method::Pages, &records);
    let bytes_a_row = summary.bytes() as f64 / summary.total() as f64;
    assert!(bytes_a_row < 40.0, "{bytes_a_row}");
}

#[test]
fn a_request_is_traced_from_host_to_host() {
    let dir = tempfile::tempdir().unwrap();
    let records = synthetic::records(10_000, Seed(2));
    store(dir.path(), Method::Pages, &records);
    let run = open_run(dir.path()).unwrap();
    for breadcrumb in [1, 2, 5_000, 9_999, 10_000].map(Breadcrumb) {
        let expected: Vec<Record> = records
            .iter()
            .filter(|record| record.header.breadcrumb == breadcrumb)
            .copied()
            .collect();
        assert!(expected.len() >= 12);
        assert_eq!(run.trace(breadcrumb).unwrap(), expected);
    }
    for absent in [0, 10_001, u64::MAX] {
        assert_eq!(run.trace(Breadcrumb(absent)).unwrap(), []);
    }
}

#[test]
fn the_hosts_own_work_is_traced_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = synthetic::records(3_000, Seed(2));
    for record in records.iter_mut().step_by(1000) {
        record.header.breadcrumb = Breadcrumb::NONE;
    }
    store(dir.path(), Method::Pages, &records);
    let own: Vec<Record> = records.iter().step_by(1000).copied().collect();
    assert_eq!(open_run(dir.path()).unwrap().trace(Breadcrumb::NONE).unwrap(), own);
}

#[test]
fn a_stretch_of_time_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let records = synthetic::records(10_000, Seed(3));
    store(dir.path(), Method::Pages, &records);
    let run = open_run(dir.path()).unwrap();
    let end = records.last().unwrap().header.ts_ns + 1;
    for (from, to) in [(0, end), (0, u64::MAX), (end / 3, end / 2), (7, 7), (9, 3), (end, end + 9)]
    {
        for kind in RecordKind::ALL {
            let expected = records.iter().filter(|record| {
                record.body.kind() == kind
                    && record.header.ts_ns >= from
                    && record.header.ts_ns < to
            });
            let mut found = Vec::new();
            run.scan_between(kind, from, to, |record| found.push(*record)).unwrap();
            assert!(found == expected.copied().collect::<Vec<_>>(), "{kind} {from}..{to}");
        }
    }
}

#[test]
fn facts_and_rollups_read_back() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), Method::Pages, &[]);
    let run = open_run(dir.path()).unwrap();
    let mut expected = facts();
    expected.set("records.kinds", RecordKind::ALL.map(RecordKind::name).join(","), "");
    expected.set("records.selection", "all", "");
    assert_eq!(run.facts().unwrap(), expected);
    assert_eq!(run.demands().unwrap(), demands());
    assert_eq!(run.selection().unwrap(), Selection::ALL);
}

#[test]
fn the_selection_is_a_fact() {
    let dir = tempfile::tempdir().unwrap();
    let kinds: KindSet = [RecordKind::Request, RecordKind::DiskOp].into_iter().collect();
    let selection = "every 1/100 requests".parse::<Selection>().unwrap().of_kinds(kinds);
    let recorder = Recorder::create(dir.path(), selection).unwrap();
    assert!(!recorder.wants(RecordKind::BufferWrite, Breadcrumb::NONE));
    recorder.finish(&Facts::default(), &[]).unwrap();
    assert_eq!(open_run(dir.path()).unwrap().selection().unwrap(), selection);
}

#[test]
fn views_show_names() {
    let dir = tempfile::tempdir().unwrap();
    let records = synthetic::records(1_000, Seed(1));
    store(dir.path(), Method::Pages, &records);
    let db = rusqlite::Connection::open(dir.path().join(STORE_FILE)).unwrap();
    let sql = "SELECT workload, client, file, op, phase FROM request_named
               WHERE client = 'app0' AND phase = 'complete' AND op = 'write' LIMIT 1";
    let words: [String; 5] = db
        .query_row(sql, [], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        })
        .unwrap();
    assert_eq!(words, ["postmark", "app0", "mail", "write", "complete"]);
    let sql = "SELECT busy_ms FROM rollup_demand_named WHERE host = 'brick0'";
    let busy_ms: f64 = db.query_row(sql, [], |row| row.get(0)).unwrap();
    assert!((busy_ms - 1500.0).abs() < 1e-9);
}

#[test]
fn nothing_has_the_name_of_a_store_until_it_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, partial) = (dir.path().join(STORE_FILE), dir.path().join(PARTIAL_FILE));
    store(dir.path(), Method::Pages, &[]);
    assert!(whole.exists() && !partial.exists());
    // A rerun keeps the old store until the new one is complete ...
    let recorder = Recorder::create(dir.path(), Selection::ALL).unwrap();
    assert!(whole.exists() && partial.exists());
    open_run(dir.path()).unwrap();
    // ... and a rerun that is given up keeps it for good.
    drop(recorder);
    assert!(whole.exists() && !partial.exists());
    // An unfinished store without an old one is not a run.
    std::fs::remove_file(&whole).unwrap();
    let recorder = Recorder::create(dir.path(), Selection::ALL).unwrap();
    assert!(!whole.exists() && partial.exists());
    let message = open_run(dir.path()).unwrap_err().to_string();
    assert!(message.contains("interrupted") && message.contains("run it again"), "{message}");
    drop(recorder);
    assert!(!whole.exists() && !partial.exists());
}

#[test]
fn one_run_at_a_time_writes_into_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let first = Recorder::create(dir.path(), Selection::ALL).unwrap();
    let second = Recorder::create(dir.path(), Selection::ALL).unwrap_err();
    assert!(
        matches!(second, StoreError::Files(foretell_files::FilesError::Busy { .. })),
        "{second}"
    );
    first.finish(&Facts::default(), &[]).unwrap();
    Recorder::create(dir.path(), Selection::ALL).unwrap();
}

#[test]
fn contradictory_facts_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let mut facts = facts();
    facts.set("node.brick0.cache.size", 1_i64, "bytes");
    let recorder = Recorder::create(dir.path(), Selection::ALL).unwrap();
    let message = recorder.finish(&facts, &[]).unwrap_err().to_string();
    assert!(message.contains("fact `node.brick0.cache.size`"), "{message}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_is_no_store_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(STORE_FILE);
    let refusal = || open_run(dir.path()).unwrap_err().to_string();

    assert!(refusal().contains("has no `run.db`; make one"), "{}", refusal());

    std::fs::write(&path, "ts_ns,breadcrumb\n".repeat(1000)).unwrap();
    assert!(refusal().contains("it is not an SQLite file"), "{}", refusal());

    std::fs::write(&path, "").unwrap();
    assert!(refusal().contains("it is not an SQLite file"), "{}", refusal());

    let set = |sql: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    set("CREATE TABLE other (x)");
    assert!(refusal().contains("its application_id is 0x0, not 0x666f7265"), "{}", refusal());

    // a directory with other files in it is not written to
    std::fs::remove_file(&path).unwrap();
    store(dir.path(), Method::Pages, &synthetic::records(1_000, Seed(1)));
    set("PRAGMA user_version = 2");
    assert!(refusal().contains("has schema version 2, and this version"), "{}", refusal());
    assert!(refusal().contains("use a newer `foretell`"), "{}", refusal());
    set("PRAGMA user_version = 0");
    assert!(refusal().contains("run the scenario again"), "{}", refusal());

    set("PRAGMA user_version = 1; UPDATE request SET phase = 5 WHERE rowid = 3");
    let run = open_run(dir.path()).unwrap();
    let message = run.scan(RecordKind::Request, |_| ()).unwrap_err().to_string();
    assert!(
        message.contains("row 3 of `request`") && message.contains("`phase` is 5"),
        "{message}"
    );

    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let expected = format!("should have {} bytes and has {}", bytes.len(), bytes.len() / 2);
    assert!(refusal().contains(&expected), "{}", refusal());
}

#[test]
fn a_recorder_in_memory_keeps_its_records() {
    let mut recorder = Recorder::in_memory(Selection::ALL);
    let records = synthetic::records(1_000, Seed(1));
    for record in &records {
        recorder.post(*record);
    }
    assert!(recorder.records() == records);
    let summary = recorder.finish(&Facts::default(), &[]).unwrap();
    assert_eq!((summary.total(), summary.bytes()), (records.len() as u64, 0));
}
