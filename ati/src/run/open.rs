//! Opening of a store, which may have been written or altered by others.
//!
//! The checks here need not be repeated elsewhere. They are: the file is a store of ours and complete;
//! each table is a table, with the columns that we read (a view of that name could compute without end);
//! and nothing in the file's schema is executed (sqlite.org/security.html). The contents of rows are
//! checked when they are read: `cells.rs` and [`crate::columns`]. Every query is limited to the work that
//! a store of this size can require, because the pages of a damaged file may form a cycle.

use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use super::RunDb;
use crate::schema::{Layout, layouts};
use crate::target::{io_error, sql_error};
use crate::{APPLICATION_ID, PARTIAL_FILE, SCHEMA_VERSION, STORE_FILE, StoreError};

/// Most bytes of a row: the configuration of a very large cluster has a few million.
const MAX_ROW: i32 = 256 << 20;

/// Instructions of SQLite's machine between two checks of their number.
const BETWEEN_LOOKS: i32 = 100_000;

/// Maximum number of instructions: per byte of the store, and in addition. Reading a record takes half an
/// instruction per byte; sorting and searching take several times that.
const MAX_WORK: (u64, u64) = (16, 100_000_000);

/// Opens the store of the run in `dir` (or the store itself, if `dir` is a file).
///
/// Errors if there is none, if the run did not finish, or if the file is not a store, has another schema
/// version, is shorter than it should be, or has something else in place of a table.
pub fn open_run(dir: &Path) -> Result<RunDb, StoreError> {
    let path = if dir.is_file() { dir.to_owned() } else { dir.join(STORE_FILE) };
    if !path.exists() {
        let dir = dir.to_owned();
        return Err(if dir.join(PARTIAL_FILE).exists() {
            StoreError::Interrupted { dir }
        } else {
            StoreError::Missing { dir }
        });
    }
    if !path.is_file() && !path.is_dir() {
        // opening a pipe of that name would block
        return Err(StoreError::Missing { dir: dir.to_owned() });
    }
    let file = check(&path)?;
    let bytes = file.metadata().map_err(io_error("look at", &path))?.len();
    let db = connect(&path, bytes).map_err(sql_error("open", &path))?;
    check_tables(&db, &path)?;
    Ok(RunDb { db, path, file })
}

/// Opens the file at `path` if it is a complete store that we can read, according to the header at the
/// beginning of every SQLite file (sqlite.org/fileformat2.html, 1.3). SQLite itself would report every
/// fault as a malformed file.
fn check(path: &Path) -> Result<File, StoreError> {
    let read = |source| io_error("read", path)(source);
    let mut header = [0; 100];
    let mut file = File::open(path).map_err(read)?;
    let not_a_store = |found| Err(StoreError::NotAStore { path: path.to_owned(), found });
    match file.read_exact(&mut header) {
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(read(error)),
        Ok(()) if header.starts_with(b"SQLite format 3\0") => {}
        _ => return not_a_store("it is not an SQLite file".to_owned()),
    }
    let at = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
    let application = at(68).cast_signed();
    if application != APPLICATION_ID {
        return not_a_store(format!(
            "its application_id is {application:#x}, not {APPLICATION_ID:#x}"
        ));
    }
    let (found, known) = (at(60).cast_signed(), SCHEMA_VERSION);
    if found != known {
        let remedy =
            if found > known { "use a newer `foretell`" } else { "run the scenario again" };
        return Err(StoreError::Version { path: path.to_owned(), found, known, remedy });
    }
    // The largest page size, 65 536, is written as 1.
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let expected = u64::from(at(28)) * page_bytes;
    let found = file.metadata().map_err(read)?.len();
    if found < expected {
        return Err(StoreError::Truncated { path: path.to_owned(), expected, found });
    }
    for side in ["-wal", "-journal"] {
        let file = beside(path, side);
        if std::fs::metadata(&file).is_ok_and(|there| there.len() > 0) {
            return Err(StoreError::Unfinished { path: path.to_owned(), file });
        }
    }
    Ok(file)
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Connects to the store in such a way that nothing in it is executed and nothing is written beside it.
fn connect(path: &Path, bytes: u64) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut db = Connection::open_with_flags(uri(path), flags)?;
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
    ] {
        db.set_db_config(setting, on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, MAX_ROW),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_COLUMN, 200),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 50),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 5),
        (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        db.set_limit(limit, most)?;
    }
    // a page with overlapping cells is detected when it is read
    db.pragma_update(None, "cell_size_check", true)?;
    let (each, more) = MAX_WORK;
    let mut left =
        (bytes.saturating_mul(each).saturating_add(more)) / u64::from(BETWEEN_LOOKS.unsigned_abs());
    let enough = move || {
        left = left.saturating_sub(1);
        left == 0
    };
    db.progress_handler(BETWEEN_LOOKS, Some(enough))?;
    Ok(db)
}

/// The path with SQLite's parameter that declares the file immutable. So there are no locks, and files
/// beside it are neither read nor created. (A rerun replaces a store and changes none.)
fn uri(path: &Path) -> OsString {
    let mut uri = OsString::from("file:");
    #[cfg(unix)]
    {
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        let mut escaped = Vec::new();
        let bytes = path.as_os_str().as_bytes();
        if bytes.starts_with(b"//") {
            // otherwise the first component would be an authority
            escaped.extend_from_slice(b"//");
        }
        for byte in bytes {
            if byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
                escaped.push(*byte);
            } else {
                escaped.extend_from_slice(format!("%{byte:02x}").as_bytes());
            }
        }
        uri.push(OsString::from_vec(escaped));
    }
    #[cfg(not(unix))]
    uri.push(path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23"));
    uri.push("?immutable=1");
    uri
}

/// Checks that each of our tables is a table with the required columns: they must be stored columns, come
/// first, and be in order. Others may follow.
fn check_tables(db: &Connection, path: &Path) -> Result<(), StoreError> {
    let not_a_store = |found: String| Err(StoreError::NotAStore { path: path.to_owned(), found });
    for Layout { table, columns, optional } in layouts() {
        match kind(db, table).map_err(sql_error("read", path))? {
            None if *optional => continue,
            None => return not_a_store(format!("it has no table `{table}`")),
            // a view or a virtual table has no page
            Some((kind, page)) if kind == "table" && page > 0 => {}
            Some(_) => return not_a_store(format!("its `{table}` is not a table")),
        }
        let found = stored_columns(db, table).map_err(sql_error("read", path))?;
        for (place, column) in columns.iter().enumerate() {
            if found.get(place) != Some(column) {
                return not_a_store(format!(
                    "its table `{table}` has no column `{column}` in place {}",
                    place + 1
                ));
            }
        }
    }
    Ok(())
}

/// The schema's entry for a name.
fn kind(db: &Connection, name: &str) -> rusqlite::Result<Option<(String, i64)>> {
    let sql = "SELECT type, rootpage FROM sqlite_schema WHERE name = ?";
    db.query_row(sql, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
}

/// The columns of a table, up to the first computed one.
fn stored_columns(db: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare(&format!("PRAGMA table_xinfo(\"{table}\")"))?;
    let rows = statement.query_map([], |row| Ok((row.get(1)?, row.get::<_, i64>(6)?)))?;
    let all: Vec<(String, i64)> = rows.collect::<Result<_, _>>()?;
    Ok(all.into_iter().take_while(|(_, hidden)| *hidden == 0).map(|(name, _)| name).collect())
}
