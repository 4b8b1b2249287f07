//! A finished store, opened for reading: what it is, its facts and its roll-ups.

mod scan;
#[cfg(test)]
mod tests;
mod walk;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use foretell_metrics::{ClientSample, Collected, METRICS, Sample};
use foretell_units::{Bytes, HostId, SimSpan, VolumeId, WorkloadId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, params};

use crate::conclude::{KINDS_FACT, SELECTION_FACT};
use crate::target::{io_error, sql_error};
use crate::{
    APPLICATION_ID, Demand, Fact, FactValue, Facts, Host, HostKind, PARTIAL_FILE, Process,
    RecordKind, SCHEMA_VERSION, STORE_FILE, Selection, StoreError, Volume, Workload,
};

/// Bytes of the store that SQLite may map into memory, so that a scan copies nothing. A store is
/// replaced by a rerun, never changed, so the map stays good.
const MAPPED_BYTES: i64 = 1 << 40;

/// The store of a finished run, open for reading.
#[derive(Debug)]
pub struct RunDb {
    db: Connection,
    path: PathBuf,
    /// The same file, for reading past SQL.
    file: File,
}

/// Opens the store of the run in `dir` (or the store itself, if `dir` is a file).
///
/// Errors if there is none, if the run did not finish, or if the file is no store, is of another
/// schema version, or is shorter than it should be.
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
        // a pipe of that name would be waited for
        return Err(StoreError::Missing { dir: dir.to_owned() });
    }
    let file = check(&path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = || {
        let db = Connection::open_with_flags(&path, flags)?;
        db.pragma_update_and_check(None, "mmap_size", MAPPED_BYTES, |_| Ok(()))?;
        Ok(db)
    };
    let db = open().map_err(sql_error("open", &path))?;
    Ok(RunDb { db, path, file })
}

/// Opens the file at `path` if it is a whole store that we can read, by the header that every SQLite
/// file begins with (sqlite.org/fileformat2.html, 1.3). SQLite itself says of all faults that the
/// file is malformed.
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
    // The size of the largest page, 65 536, is written as 1.
    let page_bytes = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let expected = u64::from(at(28)) * page_bytes;
    let found = file.metadata().map_err(read)?.len();
    if found < expected {
        return Err(StoreError::Truncated { path: path.to_owned(), expected, found });
    }
    Ok(file)
}

impl RunDb {
    /// The store's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the store.
    pub fn bytes(&self) -> Result<u64, StoreError> {
        let metadata = std::fs::metadata(&self.path).map_err(io_error("look at", &self.path))?;
        Ok(metadata.len())
    }

    /// The store itself, for SQL: tables and columns are those of `docs/records.md`.
    pub fn sql(&self) -> &Connection {
        &self.db
    }

    /// Rows of a small table.
    fn list<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let list = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.db.prepare_cached(sql)?;
            statement.query_map(parameters, row)?.collect()
        };
        list().map_err(sql_error("read", &self.path))
    }

    /// How many records of `kind` the store has, from the roll-ups.
    pub fn count(&self, kind: RecordKind) -> Result<u64, StoreError> {
        let sql = "SELECT ifnull(sum(records), 0) FROM rollup_records WHERE kind = ?";
        let count = self.db.query_row(sql, params![kind.name()], |row| row.get::<_, i64>(0));
        count.map(i64::cast_unsigned).map_err(sql_error("read", &self.path))
    }

    /// What each workload demanded of each resource, in the order of workload, host, resource.
    pub fn demands(&self) -> Result<Vec<Demand>, StoreError> {
        self.list(
            "SELECT workload, host, resource, busy_ns, operations FROM rollup_demand \
             ORDER BY workload, host, resource",
            [],
            |row| {
                Ok(Demand {
                    workload: WorkloadId(row.get(0)?),
                    host: HostId(row.get(1)?),
                    resource: row.get(2)?,
                    busy: SimSpan::from_ns(row.get::<_, i64>(3)?.cast_unsigned()),
                    operations: row.get::<_, i64>(4)?.cast_unsigned(),
                })
            },
        )
    }

    /// What collectors posted, in the order of posting; nothing if the run had none. Errors if the
    /// store was written before there were metrics.
    pub fn metrics(&self) -> Result<Collected, StoreError> {
        let hosts = self.list("SELECT * FROM metrics ORDER BY rowid", [], |row| {
            let mut values = [0.0; METRICS];
            for (index, value) in values.iter_mut().enumerate() {
                *value = row.get(2 + index)?;
            }
            Ok(Sample { ts_ns: row.get(0)?, host: row.get(1)?, values })
        })?;
        let sql = "SELECT ts_ns, interval_ns, workload, client, op, operations, bytes, response_ns \
                   FROM client_metrics ORDER BY rowid";
        let clients = self.list(sql, [], |row| {
            Ok(ClientSample {
                ts_ns: row.get(0)?,
                interval_ns: row.get(1)?,
                workload: row.get(2)?,
                client: row.get(3)?,
                is_write: row.get(4)?,
                operations: row.get::<_, i64>(5)?.cast_unsigned(),
                bytes: row.get::<_, i64>(6)?.cast_unsigned(),
                response_ns: row.get::<_, i64>(7)?.cast_unsigned(),
            })
        })?;
        Ok(Collected { hosts, clients })
    }

    /// All facts: tables in the order of their numbers, settings in the order of their paths.
    pub fn facts(&self) -> Result<Facts, StoreError> {
        let hosts = self.list("SELECT host, name, kind FROM hosts ORDER BY host", [], |row| {
            Ok((HostId(row.get(0)?), row.get(1)?, row.get::<_, String>(2)?))
        })?;
        let hosts = hosts.into_iter().map(|(host, name, kind)| {
            let kind = match kind.as_str() {
                "node" => HostKind::Node,
                "client" => HostKind::Client,
                "monitor" => HostKind::Monitor,
                _ => {
                    return Err(StoreError::BadFact {
                        path: format!("hosts.{name}.kind"),
                        wanted: "`node`, `client` or `monitor`",
                        found: format!("`{kind}`"),
                    });
                }
            };
            Ok(Host { host, name, kind })
        });
        Ok(Facts {
            hosts: hosts.collect::<Result<_, _>>()?,
            volumes: self.volumes()?,
            workloads: self.workloads()?,
            processes: self.processes()?,
            settings: self.settings()?,
        })
    }

    fn volumes(&self) -> Result<Vec<Volume>, StoreError> {
        let nodes = self.list(
            "SELECT volume, host FROM volume_nodes ORDER BY volume, position",
            [],
            |row| Ok((VolumeId(row.get(0)?), HostId(row.get(1)?))),
        )?;
        self.list(
            "SELECT volume, name, size_bytes, encoding, cipher FROM volumes ORDER BY volume",
            [],
            |row| {
                let volume = VolumeId(row.get(0)?);
                let here = nodes.iter().filter(|(of, _)| *of == volume);
                Ok(Volume {
                    volume,
                    name: row.get(1)?,
                    size: Bytes(row.get::<_, i64>(2)?.cast_unsigned()),
                    encoding: row.get(3)?,
                    cipher: row.get(4)?,
                    nodes: here.map(|(_, host)| *host).collect(),
                })
            },
        )
    }

    fn workloads(&self) -> Result<Vec<Workload>, StoreError> {
        let clients: Vec<(u32, u32)> = self.list(
            "SELECT workload, client FROM workload_clients ORDER BY workload, client",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        self.list("SELECT workload, name, volume FROM workloads ORDER BY workload", [], |row| {
            let workload = row.get(0)?;
            let here = clients.iter().filter(|(of, _)| *of == workload);
            Ok(Workload {
                workload: WorkloadId(workload),
                name: row.get(1)?,
                volume: VolumeId(row.get(2)?),
                clients: here.map(|(_, client)| HostId(*client)).collect(),
            })
        })
    }

    fn processes(&self) -> Result<Vec<Process>, StoreError> {
        self.list("SELECT process, name FROM processes ORDER BY process", [], |row| {
            Ok(Process { process: row.get(0)?, name: row.get(1)? })
        })
    }

    fn settings(&self) -> Result<Vec<Fact>, StoreError> {
        self.list("SELECT path, value, unit FROM facts ORDER BY path", [], |row| {
            let value = match row.get_ref(1)? {
                ValueRef::Integer(value) => FactValue::Integer(value),
                ValueRef::Real(value) => FactValue::Real(value),
                other => FactValue::Text(other.as_str()?.to_owned()),
            };
            Ok(Fact { path: row.get(0)?, value, unit: row.get(2)? })
        })
    }

    /// Which records the run kept.
    pub fn selection(&self) -> Result<Selection, StoreError> {
        let facts = Facts { settings: self.settings()?, ..Facts::default() };
        let bad = |path: &str, wanted, found: String| StoreError::BadFact {
            path: path.to_owned(),
            wanted,
            found,
        };
        let selection: Selection = facts.text(SELECTION_FACT)?.parse().map_err(|error| {
            bad(SELECTION_FACT, "a selection of records", format!("this: {error}"))
        })?;
        let kinds = facts.text(KINDS_FACT)?;
        let kinds = kinds.split(',').filter(|name| !name.is_empty()).map(str::parse::<RecordKind>);
        let kinds = kinds.collect::<Result<_, _>>().map_err(|error| {
            bad(KINDS_FACT, "names of tables of records", format!("this: {error}"))
        })?;
        Ok(selection.of_kinds(kinds))
    }
}
