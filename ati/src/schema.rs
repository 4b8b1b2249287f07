//! The tables of `run.db`: names, columns and their meanings.
//!
//! SQLite keeps the text of a `CREATE TABLE` with its comments, so the store documents itself: use
//! `.schema` in any SQLite tool.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use foretell_metrics::{METRICS, Metric};
use rusqlite::{Connection, OpenFlags};

use crate::kind::HEADER_COLUMNS;
use crate::target::sql_error;
use crate::{RecordKind, StoreError};

/// Version of the schema, in `PRAGMA user_version`.
pub const SCHEMA_VERSION: i32 = 1;

/// `fore` in ASCII, in `PRAGMA application_id`: distinguishes our stores from other files.
pub const APPLICATION_ID: i32 = 0x666f_7265;

/// The meaning of a column of the header.
fn header_comment(column: &str) -> &'static str {
    match column {
        "ts_ns" => "nanoseconds since the simulation began; unique on its host",
        "breadcrumb" => "the request that caused it; 0: the host's own work",
        "pid" => "kernel-level process on the host",
        "tid" => "user-level thread of the process",
        "host" => "the host that posted it -> hosts",
        _ => unreachable!("`{column}` is not a column of the header"),
    }
}

/// The meaning of a column of the payload.
fn payload_comment(kind: RecordKind, column: &str) -> &'static str {
    let place = kind.payload_columns().iter().position(|name| *name == column);
    let place = place.unwrap_or_else(|| unreachable!("`{column}` is not a column of `{kind}`"));
    kind.payload_meanings()[place].trim_start()
}

impl RecordKind {
    /// The meaning of one of its [`RecordKind::columns`].
    pub fn meaning(self, column: &str) -> &'static str {
        if HEADER_COLUMNS.contains(&column) {
            header_comment(column)
        } else {
            payload_comment(self, column)
        }
    }
}

/// The `CREATE TABLE` for one type of record.
fn record_table(kind: RecordKind) -> String {
    let header = HEADER_COLUMNS.into_iter().map(|name| (name, header_comment(name)));
    let payload = kind.payload_columns().iter().map(|name| (*name, payload_comment(kind, name)));
    let last = kind.columns().count() - 1;
    let mut sql = format!("CREATE TABLE {kind} (\n");
    for (index, (name, comment)) in header.chain(payload).enumerate() {
        let comma = if index == last { "" } else { "," };
        let _ = writeln!(sql, "  {name} INTEGER NOT NULL{comma} -- {comment}");
    }
    sql.push_str(");\n");
    sql
}

/// All tables of records, with which a writer of rows starts.
pub(crate) fn record_tables() -> String {
    RecordKind::ALL.into_iter().map(record_table).collect()
}

/// Tables of facts and roll-ups, filled at the end of a run.
pub(crate) const FACT_TABLES: &str = "
CREATE TABLE hosts (
  host INTEGER PRIMARY KEY,      -- number of the host in the records
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL             -- 'node', 'client' or 'monitor'
);
CREATE TABLE volumes (
  volume INTEGER PRIMARY KEY,    -- number of the volume; `file` in the records
  name TEXT NOT NULL UNIQUE,
  size_bytes INTEGER NOT NULL,   -- bytes that clients can address
  encoding TEXT NOT NULL,        -- 'm-of-n'; m = 1 is replication
  cipher TEXT NOT NULL           -- 'aes-128-cbc', or 'none'
);
CREATE TABLE volume_nodes (
  volume INTEGER NOT NULL,       -- -> volumes
  position INTEGER NOT NULL,     -- place in the order of placement, from 0
  host INTEGER NOT NULL,         -- the node that stands there -> hosts
  PRIMARY KEY (volume, position)
) WITHOUT ROWID;
CREATE TABLE workloads (
  workload INTEGER PRIMARY KEY,  -- number of the workload in the records
  name TEXT NOT NULL UNIQUE,
  volume INTEGER NOT NULL        -- the volume it uses -> volumes
);
CREATE TABLE workload_clients (
  workload INTEGER NOT NULL,     -- -> workloads
  client INTEGER NOT NULL,       -- a host that runs an instance of it -> hosts
  PRIMARY KEY (workload, client)
) WITHOUT ROWID;
CREATE TABLE processes (
  process INTEGER PRIMARY KEY,   -- number of the process on each host; `pid` in the records
  name TEXT NOT NULL             -- 'server', 'flusher', or the workload that it runs
);
CREATE TABLE facts (
  path TEXT PRIMARY KEY,         -- as in the scenario: 'node.brick0.cache.size'
  value NOT NULL,                -- integer, real or text
  unit TEXT NOT NULL             -- of a number: 'bytes', 'ns'; else ''
) WITHOUT ROWID;
CREATE TABLE rollup_records (
  kind TEXT NOT NULL,            -- name of a table of records
  host INTEGER NOT NULL,         -- -> hosts
  records INTEGER NOT NULL,      -- rows of that table from that host
  PRIMARY KEY (kind, host)
) WITHOUT ROWID;
CREATE TABLE rollup_demand (
  workload INTEGER NOT NULL,     -- who asked -> workloads
  host INTEGER NOT NULL,         -- of which host -> hosts
  resource TEXT NOT NULL,        -- of which resource of it: 'cpu', 'nic_transmit', 'nic_receive', 'disk0' ...
  busy_ns INTEGER NOT NULL,      -- nanoseconds that it was busy for it
  operations INTEGER NOT NULL,   -- operations that it served for it
  PRIMARY KEY (workload, host, resource)
) WITHOUT ROWID;
CREATE TABLE zones (
  kind TEXT NOT NULL,            -- name of a table of records
  first_rowid INTEGER NOT NULL,  -- first row of the zone
  last_rowid INTEGER NOT NULL,   -- its last row
  ts_min_ns INTEGER NOT NULL,    -- earliest `ts_ns` in it
  ts_max_ns INTEGER NOT NULL,    -- latest
  breadcrumb_min INTEGER,        -- least `breadcrumb` in it but 0; NULL if all are 0
  breadcrumb_max INTEGER,        -- greatest
  PRIMARY KEY (kind, first_rowid)
) WITHOUT ROWID;
";

/// The table of hosts' low-level metrics.
fn metrics_table() -> String {
    let mut sql = String::from(
        "CREATE TABLE metrics (
  ts_ns INTEGER NOT NULL,        -- when, by the host's own clock; nanoseconds since the simulation began
  host INTEGER NOT NULL,         -- -> hosts\n",
    );
    for metric in Metric::all() {
        let comma = if metric.index() + 1 == METRICS { "" } else { "," };
        let (column, meaning) = (metric.column(), metric.meaning());
        let _ = writeln!(sql, "  {column} REAL NOT NULL{comma} -- {meaning}");
    }
    sql.push_str(");\n");
    sql
}

/// The measurements of workload drivers.
const CLIENT_METRICS_TABLE: &str = "
CREATE TABLE client_metrics (
  ts_ns INTEGER NOT NULL,        -- when the interval ended; nanoseconds since the simulation began
  interval_ns INTEGER NOT NULL,  -- how long it was
  workload INTEGER NOT NULL,     -- -> workloads
  client INTEGER NOT NULL,       -- the client machine -> hosts
  op INTEGER NOT NULL,           -- 0: read, 1: write
  operations INTEGER NOT NULL,   -- requests completed in it
  bytes INTEGER NOT NULL,        -- bytes that they read or wrote
  response_ns INTEGER NOT NULL   -- sum of their response times
);
";

/// Tables of metrics, filled at the end of a run that collected them.
pub(crate) fn metrics_tables() -> String {
    metrics_table() + CLIENT_METRICS_TABLE
}

/// The required layout of a table.
pub(crate) struct Layout {
    /// Its name.
    pub(crate) table: String,
    /// Its columns, in order.
    pub(crate) columns: Vec<String>,
    /// Whether older stores lack it.
    pub(crate) optional: bool,
}

/// All tables.
pub(crate) fn layouts() -> &'static [Layout] {
    static ALL: LazyLock<Vec<Layout>> = LazyLock::new(|| {
        let mut all = Vec::new();
        let metrics = metrics_tables();
        for (sql, optional) in
            [(record_tables().as_str(), false), (FACT_TABLES, false), (&metrics, true)]
        {
            for table in sql.split("CREATE TABLE ").skip(1) {
                let (name, rest) =
                    table.split_once(" (\n").expect("columns begin on their own line");
                let lines = rest.lines().take_while(|line| !line.starts_with(')'));
                let words = lines.filter_map(|line| line.split_whitespace().next());
                let columns = words.filter(|word| *word != "PRIMARY").map(str::to_owned).collect();
                all.push(Layout { table: name.to_owned(), columns, optional });
            }
        }
        all
    });
    &ALL
}

/// The view of a table of records, with names in place of numbers.
fn named_view(kind: RecordKind) -> String {
    let host = |column| format!("(SELECT name FROM hosts WHERE host = r.{column}) AS {column}");
    let columns: Vec<String> = kind
        .columns()
        .map(|column| match column {
            "host" | "sender" | "receiver" | "client" => host(column),
            "file" => {
                "ifnull((SELECT name FROM volumes WHERE volume = r.file), 'activity-db') AS file"
                    .to_owned()
            }
            "workload" => {
                "(SELECT name FROM workloads WHERE workload = r.workload) AS workload".to_owned()
            }
            "op" => "iif(r.op = 0, 'read', 'write') AS op".to_owned(),
            "phase" => "iif(r.phase = 0, 'issue', 'complete') AS phase".to_owned(),
            _ => format!("r.{column}"),
        })
        .collect();
    format!("CREATE VIEW {kind}_named AS SELECT\n  {}\nFROM {kind} AS r;\n", columns.join(",\n  "))
}

/// Views for human readers: names in place of numbers.
pub(crate) fn views() -> String {
    let mut sql: String = RecordKind::ALL.into_iter().map(named_view).collect();
    sql.push_str(
        "CREATE VIEW rollup_records_named AS SELECT
  c.kind,
  (SELECT name FROM hosts WHERE host = c.host) AS host,
  c.records
FROM rollup_records AS c;
CREATE VIEW rollup_demand_named AS SELECT
  (SELECT name FROM workloads WHERE workload = d.workload) AS workload,
  (SELECT name FROM hosts WHERE host = d.host) AS host,
  d.resource,
  d.busy_ns / 1e6 AS busy_ms,
  d.operations
FROM rollup_demand AS d;
CREATE VIEW metrics_named AS SELECT
  m.ts_ns / 1e9 AS ts_s,
  (SELECT name FROM hosts WHERE host = m.host) AS host_name,
  m.*
FROM metrics AS m;
CREATE VIEW client_metrics_named AS SELECT
  c.ts_ns / 1e9 AS ts_s,
  (SELECT name FROM workloads WHERE workload = c.workload) AS workload,
  (SELECT name FROM hosts WHERE host = c.client) AS client,
  iif(c.op = 0, 'read', 'write') AS op,
  c.operations / (c.interval_ns / 1e9) AS operations_per_s,
  c.bytes / (c.interval_ns / 1e9) AS bytes_per_s,
  iif(c.operations > 0, c.response_ns / 1e6 / c.operations, NULL) AS response_ms
FROM client_metrics AS c;
",
    );
    sql
}

/// The names of all tables that a store may have.
pub fn table_names() -> Vec<String> {
    let sql = record_tables() + FACT_TABLES + &metrics_table() + CLIENT_METRICS_TABLE;
    let tables = sql.lines().filter_map(|line| line.strip_prefix("CREATE TABLE "));
    tables.filter_map(|rest| rest.split(' ').next()).map(str::to_owned).collect()
}

/// Bytes in a page of the store; see [`crate::pages`] for the choice.
pub(crate) const PAGE_BYTES: usize = 16_384;

/// Opens a store for writing: without journal, locks or syncing (the file is worthless until it is
/// complete).
pub(crate) fn open_for_writing(path: &Path) -> Result<Connection, StoreError> {
    // if it has vanished meanwhile, it is not created again
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    open_with(path, flags)
}

fn open_with(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    // SQLite then follows no link, not even on the way to the file
    let real =
        path.parent().and_then(|parent| Some(parent.canonicalize().ok()?.join(path.file_name()?)));
    let real = real.as_deref().unwrap_or(path);
    let open = || {
        let db = Connection::open_with_flags(real, flags | OpenFlags::SQLITE_OPEN_NOFOLLOW)?;
        db.pragma_update(None, "page_size", PAGE_BYTES.to_string())?;
        db.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
        db.pragma_update(None, "synchronous", "OFF")?;
        db.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
        Ok(db)
    };
    open().map_err(sql_error("create", path))
}

/// Begins the file at `path` with the empty tables of all record types.
pub(crate) fn create(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = open_with(path, flags)?;
    let sql = format!("BEGIN; {} COMMIT;", record_tables());
    db.execute_batch(&sql).map_err(sql_error("create", path))?;
    Ok(db)
}
