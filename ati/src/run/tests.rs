//! Reading without SQL compared with reading by SQL.

use std::path::Path;

use foretell_units::Seed;
use proptest::prelude::*;

use super::*;
use crate::columns::tests::any_record;
use crate::tally::ZONE_ROWS;
use crate::{KindSet, Record, Recorder, STORE_FILE, synthetic};

fn store(dir: &Path, records: &[Record]) -> RunDb {
    let mut recorder = Recorder::create(dir, Selection::ALL).unwrap();
    for record in records {
        recorder.post(*record);
    }
    recorder.finish(&Facts::default(), &[]).unwrap();
    open_run(dir).unwrap()
}

/// Changes the store in `dir` by SQL and opens it.
fn change(dir: &Path, sql: &str) -> RunDb {
    Connection::open(dir.join(STORE_FILE)).unwrap().execute_batch(sql).unwrap();
    open_run(dir).unwrap()
}

/// Asserts that both ways find the same in every table. Returns the records.
fn compare(run: &RunDb) -> Vec<Record> {
    let mut all = Vec::new();
    for kind in RecordKind::ALL {
        let (mut by_pages, mut by_sql) = (Vec::new(), Vec::new());
        let pages = run.scan(kind, |record| by_pages.push(*record));
        let sql = run.scan_by_sql(kind, |record| by_sql.push(*record));
        assert_eq!(pages.map_err(|e| e.to_string()), sql.map_err(|e| e.to_string()), "{kind}");
        assert!(by_pages == by_sql, "{kind}: {} and {} records", by_pages.len(), by_sql.len());
        all.extend(by_sql);
    }
    all
}

/// Whether all pages of `kind` are understood.
fn understood(run: &RunDb, kind: RecordKind) -> bool {
    let mut cursor = run.cursor(kind).unwrap();
    while run.fill(&mut cursor).unwrap() {}
    cursor.walk.is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn oracle_pages_are_read_as_by_sql(
        mut records in proptest::collection::vec(any_record(), 0..2000),
    ) {
        for record in &mut records {
            // Hosts must be dense from zero, because the recorder uses them as indices.
            record.header.host.0 %= 300;
        }
        let dir = tempfile::tempdir().unwrap();
        let run = store(dir.path(), &records);
        prop_assert_eq!(compare(&run).len(), records.len());
        for kind in RecordKind::ALL {
            prop_assert!(understood(&run, kind));
        }
    }

    #[test]
    fn damage_never_panics(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..200),
    ) {
        let dir = tempfile::tempdir().unwrap();
        store(dir.path(), &synthetic::records(2000, Seed(1)));
        let path = dir.path().join(STORE_FILE);
        let mut bytes = std::fs::read(&path).unwrap();
        for (place, byte) in damage {
            // after the schema, so that the store opens; half of the damage is in page headers
            let mut at = crate::schema::PAGE_BYTES + place.index(bytes.len() - crate::schema::PAGE_BYTES);
            if byte % 2 == 0 {
                at = at / crate::schema::PAGE_BYTES * crate::schema::PAGE_BYTES + at % 64;
            }
            bytes[at] = byte;
        }
        std::fs::write(&path, bytes).unwrap();
        // the damage may include the schema
        let Ok(run) = open_run(dir.path()) else { return Ok(()) };
        for kind in RecordKind::ALL {
            let mut found = 0;
            // Records or an error: never more records than fit in the pages.
            let _ = run.scan(kind, |_| found += 1);
            prop_assert!(found < 1_000_000);
        }
        let _ = run.scan_in_time(KindSet::ALL, |_| ());
        let _ = run.trace(foretell_units::Breadcrumb(1000));
    }
}

#[test]
fn stores_that_sqlite_rewrote_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let records = synthetic::records(2000, Seed(1));
    store(dir.path(), &records);
    for sql in [
        "VACUUM",
        "PRAGMA page_size = 1024; VACUUM",
        "PRAGMA page_size = 65536; VACUUM",
        "CREATE INDEX by_breadcrumb ON disk_op (breadcrumb)",
    ] {
        let run = change(dir.path(), sql);
        assert_eq!(compare(&run).len(), records.len(), "{sql}");
        assert!(understood(&run, RecordKind::DiskOp), "{sql}");
    }
    let run = change(dir.path(), "DELETE FROM request WHERE rowid % 3 = 0");
    assert!(understood(&run, RecordKind::Request));
    // 4000 rows of `request`, two for each of 2000, less 4000 / 3 = 1333
    assert_eq!(compare(&run).len(), records.len() - 1333);
}

/// Parts of tables are read with the same result as by checking all rows; also if SQL takes over in the
/// middle.
#[test]
fn oracle_stretches_are_read_as_whole_tables() {
    let dir = tempfile::tempdir().unwrap();
    let records = synthetic::records(60_000, Seed(7));
    store(dir.path(), &records);
    for sql in [
        "",
        "PRAGMA page_size = 1024; VACUUM",
        "ALTER TABLE request ADD COLUMN note TEXT; UPDATE request SET note = 'slow' WHERE rowid = 20000",
    ] {
        let run = change(dir.path(), sql);
        for kind in RecordKind::ALL {
            let mut all = Vec::new();
            run.scan_by_sql(kind, |record| all.push(*record)).unwrap();
            let Some(middle) = all.get(all.len() / 2) else { continue };
            let (crumb, ts) = (middle.header.breadcrumb, middle.header.ts_ns);
            let wanted = [all[0].header.breadcrumb, crumb];
            let mut found = Vec::new();
            run.scan_requests(kind, &wanted, |record| found.push(*record)).unwrap();
            let expected = all.iter().filter(|one| wanted.contains(&one.header.breadcrumb));
            assert!(found == expected.copied().collect::<Vec<_>>(), "{kind} of requests, {sql}");
            for (from, to) in [(ts, ts + 1), (ts - ts / 10, ts + ts / 10), (0, u64::MAX)] {
                found.clear();
                run.scan_between(kind, from, to, |record| found.push(*record)).unwrap();
                let expected = all.iter().filter(|one| (from..to).contains(&one.header.ts_ns));
                assert!(found == expected.copied().collect::<Vec<_>>(), "{kind} {from}, {sql}");
                // wrong by less than the rows of a zone
                let later = all.iter().filter(|one| one.header.ts_ns >= from).count() as u64;
                let counted = run.count_since(kind, from).unwrap();
                assert!(counted.abs_diff(later) < ZONE_ROWS, "{kind} {from}: {counted}, {later}");
            }
            assert_eq!(run.count_since(kind, 0).unwrap(), all.len() as u64);
        }
    }
}

#[test]
fn what_is_not_understood_is_read_by_sql() {
    let dir = tempfile::tempdir().unwrap();
    let records = synthetic::records(2000, Seed(1));
    store(dir.path(), &records);
    // A new column: older rows are shorter, newer ones are longer.
    let run = change(dir.path(), "ALTER TABLE request ADD COLUMN note TEXT");
    assert!(understood(&run, RecordKind::Request));
    let sql = "UPDATE request SET note = 'slow' WHERE rowid = 2000";
    let run = change(dir.path(), sql);
    assert!(!understood(&run, RecordKind::Request));
    assert_eq!(compare(&run).len(), records.len());
    let run = change(dir.path(), "PRAGMA journal_mode = WAL");
    assert!(!understood(&run, RecordKind::DiskOp));
    assert_eq!(compare(&run).len(), records.len());
    drop(run);
    // Values that no recorder writes: both ways must give the same error.
    let run = change(dir.path(), "PRAGMA journal_mode = DELETE; UPDATE disk_op SET op = 7");
    assert!(run.scan(RecordKind::DiskOp, |_| ()).is_err());
    compare(&run);
}

#[test]
fn tables_are_merged_in_the_order_of_time() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = synthetic::records(3000, Seed(4));
    for (ts_ns, record) in (0..).zip(&mut records) {
        record.header.ts_ns = ts_ns;
    }
    let run = store(dir.path(), &records);
    for kinds in [
        KindSet::ALL,
        KindSet::EMPTY,
        [RecordKind::BufferReadHit, RecordKind::BufferReadMiss].into_iter().collect(),
    ] {
        let mut merged = Vec::new();
        run.scan_in_time(kinds, |record| merged.push(*record)).unwrap();
        let expected = records.iter().filter(|record| kinds.contains(record.body.kind()));
        assert!(merged == expected.copied().collect::<Vec<_>>());
    }
}
