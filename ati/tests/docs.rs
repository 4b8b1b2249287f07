//! Tests that `docs/records.md` describes the contents of a store.

use std::collections::BTreeSet;
use std::path::Path;

use foretell_ati::rusqlite::Connection;
use foretell_ati::{APPLICATION_ID, RecordKind, Recorder, SCHEMA_VERSION, STORE_FILE, Selection};
use foretell_units::Seed;

fn docs() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/records.md");
    std::fs::read_to_string(path).expect("docs/records.md")
}

/// Names of the tables or views of a store.
fn names(db: &Connection, what: &str) -> BTreeSet<String> {
    let mut list = db.prepare("SELECT name FROM sqlite_schema WHERE type = ?").unwrap();
    list.query_map([what], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Columns of a table or view, in order.
fn columns(db: &Connection, table: &str) -> Vec<String> {
    let mut list = db.prepare("SELECT name FROM pragma_table_info(?)").unwrap();
    list.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// The names in the first column of the table of a section.
fn described(section: &str) -> Vec<String> {
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`')).map(|(name, _)| name.to_owned()).collect()
}

/// A store of synthetic records, opened as any tool would open it.
fn store(dir: &Path) -> Connection {
    let mut recorder = Recorder::create(dir, Selection::ALL).unwrap();
    for record in foretell_ati::synthetic::records(500, Seed(1)) {
        recorder.post(record);
    }
    recorder.finish(&foretell_ati::Facts::default(), &[]).unwrap();
    Connection::open(dir.join(STORE_FILE)).unwrap()
}

#[test]
fn every_table_and_column_is_documented_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let db = store(dir.path());
    let docs = docs();

    let header = docs.split("\n## The header\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let header = described(header);
    let mut documented = BTreeSet::new();
    for section in docs.split("\n### `").skip(1) {
        let (table, rest) = section.split_once('`').unwrap();
        let rest = rest.split("\n## ").next().unwrap();
        let mut expected = columns(&db, table);
        if table.parse::<RecordKind>().is_ok() {
            let payload = expected.split_off(header.len());
            assert_eq!(expected, header, "the header of `{table}`");
            expected = payload;
        }
        assert_eq!(described(rest), expected, "the columns of `{table}`");
        documented.insert(table.to_owned());
    }
    assert_eq!(documented, names(&db, "table"));
    for view in names(&db, "view") {
        assert!(docs.contains(&format!("`{view}`")), "the view `{view}`");
    }
    assert!(docs.contains(&format!("version of this schema, {SCHEMA_VERSION}.")));
    assert!(docs.contains(&format!("{APPLICATION_ID:#x}")));
}

#[test]
fn every_example_runs() {
    let dir = tempfile::tempdir().unwrap();
    let db = store(dir.path());
    let docs = docs();
    let examples: Vec<&str> =
        docs.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(examples.len(), 5);
    for sql in examples {
        let mut statement = db.prepare(sql).unwrap_or_else(|e| panic!("{e}:\n{sql}"));
        let mut rows = statement.query([]).unwrap();
        while rows.next().unwrap_or_else(|e| panic!("{e}:\n{sql}")).is_some() {}
    }
}
