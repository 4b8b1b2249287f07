//! The page writer compared with `INSERT` statements, and checked by SQLite's integrity check.

use std::path::Path;

use foretell_units::Seed;
use proptest::prelude::*;
use rusqlite::Connection;

use super::*;
use crate::columns::tests::any_record;
use crate::columns::write_row;
use crate::statements::StatementWriter;
use crate::{Record, RecordKind, synthetic};

/// Writes `records` with `writer` and returns the open file.
fn write<W: RowWriter>(mut writer: W, records: impl IntoIterator<Item = Record>) -> Connection {
    for record in records {
        write_row(&record, &mut writer).unwrap();
    }
    writer.finish().unwrap()
}

/// The rows of a table, rowid first.
fn rows(db: &Connection, kind: RecordKind) -> Vec<Vec<i64>> {
    let mut statement = db.prepare(&format!("SELECT rowid, * FROM {kind}")).unwrap();
    let columns = statement.column_count();
    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|index| row.get(index)).collect();
    statement.query_map([], row).unwrap().map(Result::unwrap).collect()
}

/// SQLite's verdict on the file: "ok", or the errors.
fn integrity(db: &Connection) -> String {
    db.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap()
}

/// The schema, without the numbers of pages.
fn schema_text(db: &Connection) -> Vec<(String, String)> {
    let mut statement = db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Asserts that both writers create the same tables from `records`.
fn compare(records: &[Record], fanout: usize) {
    let dir = tempfile::tempdir().unwrap();
    let pages = PageWriter::with_fanout(&dir.path().join("pages"), fanout).unwrap();
    let pages = write(pages, records.iter().copied());
    let statements = StatementWriter::create(&dir.path().join("statements")).unwrap();
    let statements = write(statements, records.iter().copied());
    assert_eq!(integrity(&pages), "ok");
    assert_eq!(schema_text(&pages), schema_text(&statements));
    for kind in RecordKind::ALL {
        assert!(rows(&pages, kind) == rows(&statements, kind), "{kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn oracle_pages_hold_the_rows_that_statements_insert(
        records in proptest::collection::vec(any_record(), 0..3000),
    ) {
        compare(&records, CHILDREN);
    }
}

#[test]
fn oracle_trees_of_many_levels() {
    // 12 records of some 31 bytes per request: 16 KiB hold about 500 rows. The fullest table, with 6
    // of 12 records, has 60 000 rows in 120 leaves: with 4 children per page there are four levels
    // above them.
    compare(&synthetic::records(10_000, Seed(7)), 4);
}

#[test]
fn every_number_of_leaves_makes_a_sound_tree() {
    let dir = tempfile::tempdir().unwrap();
    let record = synthetic::records(1, Seed(1))[0];
    let kind = record.body.kind();
    // Rows of some 40 bytes, 400 to a leaf: from none to 60 leaves, one to four levels above them.
    for thousands in 0..25 {
        let path = dir.path().join(thousands.to_string());
        let writer = PageWriter::with_fanout(&path, 4).unwrap();
        let db = write(writer, std::iter::repeat_n(record, thousands as usize * 1000));
        assert_eq!(integrity(&db), "ok");
        let count: i64 =
            db.query_row(&format!("SELECT count(*) FROM {kind}"), [], |row| row.get(0)).unwrap();
        assert_eq!(count, thousands * 1000);
        // by rowid: from the root, not along the leaves
        let found: i64 = db
            .query_row(
                &format!(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 97 FROM n WHERE i < {count})
                     SELECT count(*) FROM n JOIN {kind} AS r ON r.rowid = n.i WHERE i <= {count}"
                ),
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(found, (count + 96) / 97);
    }
}

/// Makes a file of more than a gibibyte without writing it all: it has a hole up to the page before
/// the one that SQLite locks.
fn skip_to_lock_page(writer: &mut PageWriter) {
    let page = (LOCK_BYTE / PAGE_BYTES as u64) as u32;
    writer.file.next = page;
    writer.file.file.seek(SeekFrom::Start(u64::from(page - 1) * PAGE_BYTES as u64)).unwrap();
}

#[test]
fn the_page_that_sqlite_locks_stays_unused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large");
    let mut writer = PageWriter::create(&path).unwrap();
    skip_to_lock_page(&mut writer);
    let records = synthetic::records(2000, Seed(3));
    let db = write(writer, records.iter().copied());
    let page_count = db.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0));
    let page_count = page_count.unwrap().unsigned_abs();
    assert!(page_count * PAGE_BYTES as u64 > LOCK_BYTE + 10 * PAGE_BYTES as u64);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), page_count * PAGE_BYTES as u64);
    // The whole file has pages that belong to no table, those of the hole; the tables must be valid.
    for kind in RecordKind::ALL {
        let check: String =
            db.query_row(&format!("PRAGMA integrity_check({kind})"), [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "{kind}");
        let expected = records.iter().filter(|record| record.body.kind() == kind).count();
        assert_eq!(rows(&db, kind).len(), expected, "{kind}");
    }
}

#[test]
fn the_same_records_make_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let file = |path: &Path| {
        drop(write(PageWriter::create(path).unwrap(), synthetic::records(3000, Seed(5))));
        std::fs::read(path).unwrap()
    };
    assert!(file(&dir.path().join("a")) == file(&dir.path().join("b")));
}
