//! The end of a store: facts, roll-ups, views, and the marks of completeness.

use std::path::Path;

use foretell_metrics::{Collected, METRICS};
use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, Transaction, params, params_from_iter};

use crate::schema::{APPLICATION_ID, FACT_TABLES, SCHEMA_VERSION, metrics_tables, views};
use crate::tally::Tally;
use crate::target::sql_error;
use crate::{Conclusion, Demand, FactValue, Facts, KindSet, Selection, StoreError};

/// Path of the fact that names the requests whose records were kept, in the form that [`Selection`]
/// reads.
pub(crate) const SELECTION_FACT: &str = "records.selection";

/// Path of the fact that names the types of records that were kept: names of tables, separated by
/// commas.
pub(crate) const KINDS_FACT: &str = "records.kinds";

/// Writes everything except the records into `db`, marks it complete, and closes it.
pub(crate) fn conclude(
    mut db: Connection,
    selection: Selection,
    tally: &Tally,
    conclusion: &Conclusion<'_>,
    path: &Path,
) -> Result<(), StoreError> {
    let mut facts = conclusion.facts.clone();
    facts.set(SELECTION_FACT, selection.to_string(), "");
    facts.set(KINDS_FACT, kinds_text(selection.kinds()), "");
    facts.check()?;
    let mut write = || {
        let transaction = db.transaction()?;
        transaction.execute_batch(FACT_TABLES)?;
        transaction.execute_batch(&metrics_tables())?;
        transaction.execute_batch(&views())?;
        insert_facts(&transaction, &facts)?;
        insert_rollups(&transaction, tally, conclusion.demands)?;
        insert_metrics(&transaction, conclusion.metrics)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        transaction.commit()
    };
    write().map_err(sql_error("write", path))?;
    db.close().map_err(|(_, error)| sql_error("write", path)(error))
}

/// The names of `kinds`, separated by commas.
fn kinds_text(kinds: KindSet) -> String {
    kinds.iter().map(crate::RecordKind::name).collect::<Vec<_>>().join(",")
}

fn insert_facts(db: &Transaction<'_>, facts: &Facts) -> rusqlite::Result<()> {
    let mut insert = db.prepare("INSERT INTO hosts VALUES (?, ?, ?)")?;
    for host in &facts.hosts {
        insert.execute(params![host.host.0, host.name, host.kind.name()])?;
    }
    let mut insert = db.prepare("INSERT INTO volumes VALUES (?, ?, ?, ?, ?)")?;
    let mut insert_node = db.prepare("INSERT INTO volume_nodes VALUES (?, ?, ?)")?;
    for volume in &facts.volumes {
        let size = volume.size.get().cast_signed();
        insert.execute(params![
            volume.volume.0,
            volume.name,
            size,
            volume.encoding,
            volume.cipher
        ])?;
        for (position, node) in (0_i64..).zip(&volume.nodes) {
            insert_node.execute(params![volume.volume.0, position, node.0])?;
        }
    }
    let mut insert = db.prepare("INSERT INTO workloads VALUES (?, ?, ?)")?;
    let mut insert_client = db.prepare("INSERT INTO workload_clients VALUES (?, ?)")?;
    for w in &facts.workloads {
        insert.execute(params![w.workload.0, w.name, w.volume.0])?;
        for client in &w.clients {
            insert_client.execute(params![w.workload.0, client.0])?;
        }
    }
    let mut insert = db.prepare("INSERT INTO processes VALUES (?, ?)")?;
    for process in &facts.processes {
        insert.execute(params![process.process, process.name])?;
    }
    let mut insert = db.prepare("INSERT INTO facts VALUES (?, ?, ?)")?;
    for fact in &facts.settings {
        insert.execute(params![fact.path, fact.value, fact.unit])?;
    }
    Ok(())
}

fn insert_rollups(db: &Transaction<'_>, tally: &Tally, demands: &[Demand]) -> rusqlite::Result<()> {
    let mut insert = db.prepare("INSERT INTO rollup_records VALUES (?, ?, ?)")?;
    for (kind, host, records) in tally.by_host() {
        insert.execute(params![kind.name(), host.0, records.cast_signed()])?;
    }
    let mut insert = db.prepare("INSERT INTO rollup_demand VALUES (?, ?, ?, ?, ?)")?;
    for demand in demands {
        insert.execute(params![
            demand.workload.0,
            demand.host.0,
            demand.resource,
            demand.busy.as_ns().cast_signed(),
            demand.operations.cast_signed()
        ])?;
    }
    let mut insert = db.prepare("INSERT INTO zones VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    for (kind, zone) in tally.zones() {
        let breadcrumbs = zone.breadcrumbs();
        insert.execute(params![
            kind.name(),
            zone.before.cast_signed() + 1,
            (zone.before + zone.rows).cast_signed(),
            zone.ts_min_ns.cast_signed(),
            zone.ts_max_ns.cast_signed(),
            breadcrumbs.map(|(min, _)| min.0.cast_signed()),
            breadcrumbs.map(|(_, max)| max.0.cast_signed())
        ])?;
    }
    Ok(())
}

impl ToSql for FactValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Integer(value) => value.to_sql(),
            Self::Real(value) => value.to_sql(),
            Self::Text(value) => value.to_sql(),
        }
    }
}

fn insert_metrics(db: &Transaction<'_>, metrics: &Collected) -> rusqlite::Result<()> {
    let places = vec!["?"; 2 + METRICS].join(", ");
    let mut insert = db.prepare(&format!("INSERT INTO metrics VALUES ({places})"))?;
    for sample in &metrics.hosts {
        let values = sample.values.iter().map(|value| value as &dyn ToSql);
        let header: [&dyn ToSql; 2] = [&sample.ts_ns, &sample.host];
        insert.execute(params_from_iter(header.into_iter().chain(values)))?;
    }
    let mut insert = db.prepare("INSERT INTO client_metrics VALUES (?, ?, ?, ?, ?, ?, ?, ?)")?;
    for sample in &metrics.clients {
        insert.execute(params![
            sample.ts_ns,
            sample.interval_ns,
            sample.workload,
            sample.client,
            sample.is_write,
            sample.operations.cast_signed(),
            sample.bytes.cast_signed(),
            sample.response_ns.cast_signed()
        ])?;
    }
    Ok(())
}
