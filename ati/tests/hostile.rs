//! Tests that an altered store is read as far as it is valid, or rejected with the place of the fault;
//! that nothing in it is executed, and that reading always ends.
#![allow(clippy::format_push_string, reason = "tests")]

use std::path::Path;

use foretell_ati::rusqlite::Connection;
use foretell_ati::{
    Demand, Facts, Host, HostKind, RecordKind, Recorder, STORE_FILE, Selection, StoreError,
    open_run, synthetic,
};
use foretell_metrics::{ClientSample, Collected, METRICS, Sample};
use foretell_units::{Breadcrumb, HostId, Seed, SimSpan, WorkloadId};

/// A store with data in each table that is read.
fn store(dir: &Path) {
    store_of(dir, 2000);
}

/// A store of records of `requests` requests.
fn store_of(dir: &Path, requests: u64) {
    let mut recorder = Recorder::create(dir, Selection::ALL).unwrap();
    for record in synthetic::records(requests, Seed(3)) {
        recorder.post(record);
    }
    let mut facts = Facts {
        hosts: vec![Host { host: HostId(0), name: "brick0".to_owned(), kind: HostKind::Node }],
        ..Facts::default()
    };
    facts.set("warmup", 5_i64, "ns");
    let demands = [Demand {
        workload: WorkloadId(0),
        host: HostId(0),
        resource: "cpu".to_owned(),
        busy: SimSpan::from_ms(1),
        operations: 7,
    }];
    let client = ClientSample {
        ts_ns: 5,
        interval_ns: 5,
        workload: 0,
        client: 0,
        is_write: false,
        operations: 1,
        bytes: 1,
        response_ns: 1,
    };
    let host = Sample { ts_ns: 5, host: 0, values: [0.5; METRICS] };
    let metrics = Collected { hosts: vec![host], clients: vec![client] };
    let conclusion =
        foretell_ati::Conclusion { facts: &facts, demands: &demands, metrics: &metrics };
    recorder.conclude(&conclusion).unwrap();
}

/// Reads everything that is ever read from a store. Returns the error, if any.
fn read(dir: &Path) -> Result<(), StoreError> {
    let run = open_run(dir)?;
    run.facts()?;
    run.selection()?;
    run.demands()?;
    run.metrics()?;
    run.trace(Breadcrumb(7))?;
    run.scan_between(RecordKind::DiskOp, 0, u64::MAX, |_| ())?;
    for kind in RecordKind::ALL {
        run.count(kind)?;
        run.scan(kind, |_| ())?;
    }
    Ok(())
}

/// The error for a store altered by this SQL.
#[track_caller]
fn altered(sql: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path());
    read(dir.path()).expect("it is sound before");
    let db = Connection::open(dir.path().join(STORE_FILE)).unwrap();
    db.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    drop(db);
    let before = names(dir.path());
    let found = read(dir.path()).expect_err(sql).to_string();
    assert_eq!(names(dir.path()), before, "{sql}");
    found
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_value_out_of_range_is_named_with_table_row_and_column() {
    for (sql, place, wanted) in [
        (
            "UPDATE request SET ts_ns = -1 WHERE rowid = 40",
            "row 40 of `request`, `ts_ns` is -1",
            "from 0",
        ),
        (
            "UPDATE request SET ts_ns = 9223372036854775807 WHERE rowid = 3",
            "row 3 of `request`, `ts_ns` is 9223372036854775807",
            "2^62",
        ),
        ("UPDATE disk_op SET host = -7", "row 1 of `disk_op`, `host` is -7", "2^32"),
        ("UPDATE disk_op SET op = 2", "row 1 of `disk_op`, `op` is 2", "0 or 1"),
        ("UPDATE request SET client = 'x'", "of `request`, `client` is the text `x`", "whole"),
        ("UPDATE request SET size = 1.5", "of `request`, `size` is 1.5", "whole"),
        ("UPDATE request SET offset = x'00ff'", "`offset` is a blob of 2 bytes", "whole"),
        ("UPDATE hosts SET host = -1", "row 1 of `hosts`, `host` is -1", "2^32"),
        ("UPDATE hosts SET kind = 'spy'", "`kind` is the text `spy`", "`monitor`"),
        ("UPDATE hosts SET name = x'ff'", "`name` is a blob", "a text"),
        ("UPDATE facts SET value = 9e999 WHERE path = 'warmup'", "`value` is inf", "finite"),
        ("UPDATE facts SET path = x'07' WHERE path = 'warmup'", "is a blob", "text"),
        (
            "UPDATE rollup_demand SET busy_ns = -5",
            "row 1 of `rollup_demand`, `busy_ns` is -5",
            "2^62",
        ),
        ("UPDATE rollup_demand SET workload = 1 << 40", "`workload` is 1099511627776", "2^32"),
        ("UPDATE rollup_records SET records = 'many'", "`records` is the text `many`", "whole"),
        ("UPDATE metrics SET cpu_usr_percent = 9e999", "`cpu_usr_percent` is inf", "finite"),
        ("UPDATE client_metrics SET interval_ns = 0", "`interval_ns` is 0", "1 ns"),
        ("UPDATE client_metrics SET op = 2", "`op` is 2", "0 or 1"),
        ("UPDATE zones SET ts_min_ns = -1", "of `zones`, `ts_min_ns` is -1", "2^62"),
        ("UPDATE zones SET last_rowid = 1 << 60", "of `zones`, `first_rowid`", "zone before"),
    ] {
        let found = altered(sql);
        assert!(found.contains(place) && found.contains(wanted), "{sql}: {found}");
    }
}

#[test]
fn what_is_no_table_of_ours_is_refused() {
    let endless = "WITH RECURSIVE more(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM more)";
    let facts = format!(
        "DROP TABLE facts;
         CREATE VIEW facts AS {endless} SELECT 'p' || x AS path, x AS value, '' AS unit FROM more"
    );
    assert!(altered(&facts).contains("its `facts` is not a table"));
    let request = RecordKind::Request.columns().collect::<Vec<_>>();
    let columns: Vec<String> = request.iter().map(|column| format!("x AS {column}")).collect();
    let request = format!(
        "DROP TABLE request; CREATE VIEW request AS {endless} SELECT {} FROM more",
        columns.join(", ")
    );
    assert!(altered(&request).contains("its `request` is not a table"));
    let fts = "DROP TABLE facts; CREATE VIRTUAL TABLE facts USING fts5(path, value, unit)";
    assert!(altered(fts).contains("its `facts` is not a table"));
    let computed = "DROP TABLE processes;
         CREATE TABLE processes (process INTEGER PRIMARY KEY,
                                 name TEXT AS (hex(zeroblob(100000000))));
         INSERT INTO processes VALUES (1)";
    assert!(altered(computed).contains("no column `name` in place 2"));
    assert!(altered("DROP TABLE hosts").contains("no table `hosts`"));
    assert!(
        altered("ALTER TABLE request RENAME COLUMN client TO customer")
            .contains("no column `client` in place 7")
    );
    assert!(
        altered(
            "DROP TABLE volumes;
             CREATE TABLE volumes (name TEXT, volume INTEGER, size_bytes INTEGER, encoding TEXT, cipher TEXT)"
        )
        .contains("no column `volume` in place 1")
    );
}

#[test]
fn what_else_is_in_a_store_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path());
    let db = Connection::open(dir.path().join(STORE_FILE)).unwrap();
    // views of views of views: reading the last one reads a billion rows
    let mut sql = "ALTER TABLE hosts ADD COLUMN note TEXT;
                   CREATE VIEW v0 AS SELECT * FROM hosts;"
        .to_owned();
    for level in 1..30 {
        let below = level - 1;
        sql += &format!("CREATE VIEW v{level} AS SELECT a.host FROM v{below} AS a, v{below} AS b;");
    }
    sql += "CREATE TRIGGER t AFTER INSERT ON hosts BEGIN SELECT 1; END;
            CREATE INDEX by_ts ON request (ts_ns);
            CREATE TABLE mine (a, b);";
    db.execute_batch(&sql).unwrap();
    drop(db);
    read(dir.path()).unwrap();
}

#[test]
fn pages_that_are_pointed_to_twice_are_damage() {
    let dir = tempfile::tempdir().unwrap();
    // the root of a smaller store has only one child
    store_of(dir.path(), 100_000);
    let path = dir.path().join(STORE_FILE);
    let db = Connection::open(&path).unwrap();
    // many small pages, so that there are interior ones
    db.execute_batch("PRAGMA page_size = 512; VACUUM").unwrap();
    let root: u32 = db
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 'request'", [], |row| {
            row.get(0)
        })
        .unwrap();
    drop(db);
    let mut bytes = std::fs::read(&path).unwrap();
    // let each entry of the root point to its last child
    let page = &mut bytes[(root as usize - 1) * 512..root as usize * 512];
    assert_eq!(page[0], 0x05, "the root is an inner page");
    let cells = u16::from_be_bytes([page[3], page[4]]) as usize;
    let last: [u8; 4] = page[8..12].try_into().unwrap();
    for cell in 0..cells {
        let at = u16::from_be_bytes([page[12 + 2 * cell], page[13 + 2 * cell]]) as usize;
        page[at..at + 4].copy_from_slice(&last);
    }
    std::fs::write(&path, bytes).unwrap();
    let found = read(dir.path()).unwrap_err().to_string();
    assert!(found.contains("damaged") || found.contains("malformed"), "{found}");
}

#[test]
fn changes_that_wait_beside_a_store_are_named() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path());
    for ending in ["-wal", "-journal"] {
        let beside = dir.path().join(format!("{STORE_FILE}{ending}"));
        std::fs::write(&beside, [1, 2, 3]).unwrap();
        let found = open_run(dir.path()).unwrap_err().to_string();
        assert!(found.contains(ending) && found.contains("close the program"), "{found}");
        std::fs::remove_file(beside).unwrap();
    }
    // a store that was left in that mode is read, and no file is created beside it
    let db = Connection::open(dir.path().join(STORE_FILE)).unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL; UPDATE hosts SET name = 'b'").unwrap();
    drop(db);
    let before = names(dir.path());
    read(dir.path()).unwrap();
    assert_eq!(names(dir.path()), before);
}

#[test]
fn a_store_is_found_whatever_its_directory_is_called() {
    for name in ["a b", "50% #1?x=y&z", "ü", "-", "file:"] {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join(name);
        store(&dir);
        read(&dir).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
