//! Facts, roll-ups and metrics of a store.

use std::collections::BTreeMap;

use foretell_metrics::{ClientSample, Collected, METRICS, Metric, Sample};
use foretell_units::{Bytes, HostId, SimSpan, VolumeId, WorkloadId};
use rusqlite::types::ValueRef;

use super::RunDb;
use crate::{
    Demand, Fact, FactValue, Facts, Host, HostKind, Process, RecordKind, StoreError, Volume,
    Workload,
};

/// Number of columns of `metrics` before the metrics themselves.
const METRICS_BEFORE: usize = 2;

impl RunDb {
    /// Number of records of `kind` in the store, from the roll-ups.
    pub fn count(&self, kind: RecordKind) -> Result<u64, StoreError> {
        let columns = &["kind", "records"];
        let counts =
            self.list("rollup_records", columns, "WHERE kind = ?", [kind.name()], |cells| {
                cells.amount(1)
            })?;
        Ok(counts.into_iter().fold(0, u64::saturating_add))
    }

    /// The demand of each workload at each resource, in the order of workload, host, resource.
    pub fn demands(&self) -> Result<Vec<Demand>, StoreError> {
        let columns = &["workload", "host", "resource", "busy_ns", "operations"];
        let rest = "ORDER BY workload, host, resource";
        self.list("rollup_demand", columns, rest, [], |cells| {
            Ok(Demand {
                workload: WorkloadId(cells.id(0)?),
                host: HostId(cells.id(1)?),
                resource: cells.text(2)?,
                busy: SimSpan::from_ns(cells.amount(3)?),
                operations: cells.amount(4)?,
            })
        })
    }

    /// The collectors' samples, in the order of posting; empty if the run had no collectors. Errors
    /// if the store was written before metrics existed.
    pub fn metrics(&self) -> Result<Collected, StoreError> {
        let all = Metric::all().map(Metric::column);
        let columns: Vec<&str> = ["ts_ns", "host"].into_iter().chain(all).collect();
        let hosts = self.list("metrics", &columns, "ORDER BY rowid", [], |cells| {
            let mut values = [0.0; METRICS];
            for (index, value) in values.iter_mut().enumerate() {
                *value = cells.real(METRICS_BEFORE + index)?;
            }
            Ok(Sample { ts_ns: cells.amount(0)?.cast_signed(), host: cells.id(1)?, values })
        })?;
        let columns = &[
            "ts_ns",
            "interval_ns",
            "workload",
            "client",
            "op",
            "operations",
            "bytes",
            "response_ns",
        ];
        let clients = self.list("client_metrics", columns, "ORDER BY rowid", [], |cells| {
            let interval_ns = cells.amount(1)?.cast_signed();
            if interval_ns == 0 {
                return Err(cells.bad(1, "a time of 1 ns at least"));
            }
            Ok(ClientSample {
                ts_ns: cells.amount(0)?.cast_signed(),
                interval_ns,
                workload: cells.id(2)?,
                client: cells.id(3)?,
                is_write: cells.flag(4)?,
                operations: cells.amount(5)?,
                bytes: cells.amount(6)?,
                response_ns: cells.amount(7)?,
            })
        })?;
        Ok(Collected { hosts, clients })
    }

    /// All facts: tables in the order of their numbers, settings in the order of their paths.
    pub fn facts(&self) -> Result<Facts, StoreError> {
        let columns = &["host", "name", "kind"];
        let hosts = self.list("hosts", columns, "ORDER BY host", [], |cells| {
            let kind = match cells.text(2)?.as_str() {
                "node" => HostKind::Node,
                "client" => HostKind::Client,
                "monitor" => HostKind::Monitor,
                _ => return Err(cells.bad(2, "`node`, `client` or `monitor`")),
            };
            Ok(Host { host: HostId(cells.id(0)?), name: cells.text(1)?, kind })
        })?;
        Ok(Facts {
            hosts,
            volumes: self.volumes()?,
            workloads: self.workloads()?,
            processes: self.processes()?,
            settings: self.settings()?,
        })
    }

    /// Pairs of numbers, grouped by the first one.
    fn pairs(
        &self,
        table: &'static str,
        columns: &'static [&'static str; 2],
        order: &str,
    ) -> Result<BTreeMap<u32, Vec<HostId>>, StoreError> {
        let pairs =
            self.list(table, columns, order, [], |cells| Ok((cells.id(0)?, cells.id(1)?)))?;
        let mut of: BTreeMap<u32, Vec<HostId>> = BTreeMap::new();
        for (one, host) in pairs {
            of.entry(one).or_default().push(HostId(host));
        }
        Ok(of)
    }

    fn volumes(&self) -> Result<Vec<Volume>, StoreError> {
        let mut nodes =
            self.pairs("volume_nodes", &["volume", "host"], "ORDER BY volume, position")?;
        let columns = &["volume", "name", "size_bytes", "encoding", "cipher"];
        self.list("volumes", columns, "ORDER BY volume", [], |cells| {
            let volume = cells.id(0)?;
            Ok(Volume {
                volume: VolumeId(volume),
                name: cells.text(1)?,
                size: Bytes(cells.amount(2)?),
                encoding: cells.text(3)?,
                cipher: cells.text(4)?,
                nodes: nodes.remove(&volume).unwrap_or_default(),
            })
        })
    }

    fn workloads(&self) -> Result<Vec<Workload>, StoreError> {
        let order = "ORDER BY workload, client";
        let mut clients = self.pairs("workload_clients", &["workload", "client"], order)?;
        let columns = &["workload", "name", "volume"];
        self.list("workloads", columns, "ORDER BY workload", [], |cells| {
            let workload = cells.id(0)?;
            Ok(Workload {
                workload: WorkloadId(workload),
                name: cells.text(1)?,
                volume: VolumeId(cells.id(2)?),
                clients: clients.remove(&workload).unwrap_or_default(),
            })
        })
    }

    fn processes(&self) -> Result<Vec<Process>, StoreError> {
        self.list("processes", &["process", "name"], "ORDER BY process", [], |cells| {
            Ok(Process { process: cells.id(0)?, name: cells.text(1)? })
        })
    }

    pub(super) fn settings(&self) -> Result<Vec<Fact>, StoreError> {
        self.list("facts", &["path", "value", "unit"], "ORDER BY path", [], |cells| {
            let value = match cells.cell(1)? {
                ValueRef::Integer(value) => FactValue::Integer(value),
                ValueRef::Real(_) => FactValue::Real(cells.real(1)?),
                _ => FactValue::Text(cells.text(1)?),
            };
            Ok(Fact { path: cells.text(0)?, value, unit: cells.text(2)? })
        })
    }
}
