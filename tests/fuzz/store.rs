//! A store that somebody altered: by SQL, and byte by byte.

use std::fs;
use std::path::Path;

use foretell_ati::rusqlite::types::Value;
use foretell_ati::rusqlite::{Connection, params};
use foretell_units::Stream;

use crate::mutate::{below, bytes, hostile_text, one_of, text};

/// In place of a cell.
const CELLS: [&str; 24] = [
    "NULL",
    "0",
    "1",
    "2",
    "-1",
    "7",
    "255",
    "4096",
    "4294967295",
    "4294967296",
    "1 << 53",
    "1 << 62",
    "9223372036854775807",
    "-9223372036854775808",
    "0.5",
    "1e300",
    "9e999",
    "'x'",
    "''",
    "x'00ff'",
    "zeroblob(100000)",
    "abs(random() % 1000)",
    "hex(randomblob(50))",
    "'0'",
];

/// A view that never ends.
const ENDLESS: &str =
    "WITH RECURSIVE more(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM more) SELECT x AS";

/// Alters the store at `path`, once or a few times.
pub(crate) fn alter(stream: &mut Stream, path: &Path) {
    if stream.chance(0.25) {
        let damaged = damaged(stream, &fs::read(path).unwrap());
        fs::write(path, damaged).unwrap();
        return;
    }
    let Ok(db) = Connection::open(path) else { return };
    let _ = db.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
    for _ in 0..1 + below(stream, 3) {
        // what SQLite itself refuses is no case
        let _ = once(stream, &db);
    }
    let _ = db.close();
}

/// Bytes changed anywhere, or in the headers of pages.
fn damaged(stream: &mut Stream, whole: &[u8]) -> Vec<u8> {
    if stream.chance(0.3) {
        return bytes(stream, whole);
    }
    let mut damaged = whole.to_vec();
    let page = 16_384;
    for _ in 0..1 + below(stream, 20) {
        let first = below(stream, damaged.len() / page) * page;
        let reach = [16, 120, page][below(stream, 3)];
        let within = below(stream, reach);
        let byte = [0, 1, 2, 5, 13, 0x7f, 0x80, 0xff, stream.bits() as u8][below(stream, 9)];
        if let Some(cell) = damaged.get_mut(first + within) {
            *cell = byte;
        }
    }
    damaged
}

fn names(db: &Connection, sql: &str) -> Vec<String> {
    let Ok(mut statement) = db.prepare(sql) else { return Vec::new() };
    let Ok(rows) = statement.query_map([], |row| row.get(0)) else { return Vec::new() };
    rows.flatten().collect()
}

fn once(stream: &mut Stream, db: &Connection) -> foretell_ati::rusqlite::Result<()> {
    let tables = names(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    if tables.is_empty() {
        return Ok(());
    }
    // what predictions are made of, most often
    let table = match below(stream, 4) {
        0 => "request",
        1 => "facts",
        _ => one_of(stream, &tables),
    };
    let columns = names(db, &format!("SELECT name FROM pragma_table_info('{table}')"));
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    if columns.is_empty() {
        return Ok(());
    }
    let (column, other) = (one_of(stream, &columns), one_of(stream, &columns));
    let cell = one_of(stream, &CELLS);
    let some = match below(stream, 4) {
        0 => "1".to_owned(),
        1 => format!("rowid % {} = 0", 2 + below(stream, 50)),
        2 => format!("rowid = {}", 1 + below(stream, 500)),
        _ => format!("{other} > {}", below(stream, 5000)),
    };
    let sql = match below(stream, 24) {
        0..=7 => format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = {cell} WHERE {some}"),
        8 => format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = \"{other}\" WHERE {some}"),
        9 => format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = -\"{column}\" WHERE {some}"),
        10 => format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = \"{column}\" * 1000003 WHERE {some}"),
        11 => format!("DELETE FROM \"{table}\" WHERE {some}"),
        12 => format!("INSERT OR IGNORE INTO \"{table}\" SELECT * FROM \"{table}\" LIMIT 5000"),
        13 => format!("DROP TABLE \"{table}\""),
        14 => format!("ALTER TABLE \"{table}\" DROP COLUMN \"{column}\""),
        15 => format!("ALTER TABLE \"{table}\" RENAME COLUMN \"{column}\" TO \"x\""),
        16 => format!("ALTER TABLE \"{table}\" ADD COLUMN extra TEXT DEFAULT 'x'"),
        17 => {
            let all: Vec<String> = columns.iter().map(|column| format!("x AS \"{column}\"")).collect();
            format!("DROP TABLE \"{table}\"; CREATE VIEW \"{table}\" AS {ENDLESS} y, {} FROM more", all.join(", "))
        }
        18 => format!("ALTER TABLE \"{table}\" RENAME TO \"{}\"", hostile_text(stream).replace('"', "")),
        19 => [
            "PRAGMA page_size = 512; VACUUM",
            "PRAGMA page_size = 65536; VACUUM",
            "PRAGMA user_version = 2",
            "PRAGMA application_id = 7",
            "PRAGMA journal_mode = WAL",
            "CREATE TABLE \"../../victim\" (a, b); INSERT INTO \"../../victim\" VALUES (1, 2)",
            "CREATE VIRTUAL TABLE extra USING fts5(a); INSERT INTO extra VALUES ('x')",
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2 WHERE type = 'table'",
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE x' WHERE rowid = 3",
        ][below(stream, 9)]
        .to_owned(),
        // a view that an earlier change put in the table's place may never end
        _ if !tables.contains(&"facts") => return Ok(()),
        _ => return fact(stream, db),
    };
    db.execute_batch(&sql)
}

/// Changes a fact that is a text with a structure of its own: the configuration, what was measured.
fn fact(stream: &mut Stream, db: &Connection) -> foretell_ati::rusqlite::Result<()> {
    let paths = names(db, "SELECT path FROM facts WHERE typeof(value) = 'text' ORDER BY path");
    let long: Vec<&str> = paths
        .iter()
        .map(String::as_str)
        .filter(|path| {
            *path == "configuration" || path.ends_with(".measured") || stream.chance(0.05)
        })
        .collect();
    if long.is_empty() {
        return Ok(());
    }
    let path = one_of(stream, &long);
    let old: String =
        db.query_row("SELECT value FROM facts WHERE path = ?", [path], |row| row.get(0))?;
    let new = text(stream, old.as_bytes(), &[]);
    let new = match String::from_utf8(new) {
        Ok(text) => Value::Text(text),
        Err(bytes) => Value::Blob(bytes.into_bytes()),
    };
    db.execute("UPDATE facts SET value = ? WHERE path = ?", params![new, path]).map(drop)
}
