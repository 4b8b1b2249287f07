//! The tables of low-level metrics, for sweeps whose scenario collects them.

use foretell_datasets::{Column, Kind, Role, Row, Run, TableSchema, Value};
use foretell_metrics::{Collected, Metric};
use foretell_scenarios::model::Scenario;

use super::RECORDS_PER_FILE;

/// Columns that both tables begin with.
fn identity() -> Vec<Column> {
    vec![
        Column::new("run_id", Kind::Whole, Role::Identity, "", "number of the run"),
        Column::new(
            "ts_ns",
            Kind::Whole,
            Role::Identity,
            "nanoseconds",
            "when, since the simulation began; of hosts by their own clocks",
        ),
    ]
}

pub(super) fn host_table() -> TableSchema {
    let mut columns = identity();
    columns.push(Column::new("host", Kind::Text, Role::Identity, "", "the host"));
    columns.push(Column::new("group", Kind::Text, Role::Identity, "", "the group of the host"));
    for metric in Metric::all() {
        let unit = match metric.column() {
            name if name.ends_with("_percent") => "percent",
            name if name.ends_with("_bytes_per_s") => "bytes per second",
            name if name.ends_with("_per_s") => "per second",
            name if name.ends_with("_bytes") => "bytes",
            _ => "",
        };
        let (name, meaning) = (metric.column(), metric.meaning());
        columns.push(Column::new(name, Kind::Number, Role::Observed, unit, meaning));
    }
    TableSchema {
        name: "metrics".to_owned(),
        description: "A row is what dstat would print on a host in one second.".to_owned(),
        columns,
        rows_per_file: RECORDS_PER_FILE,
    }
}

pub(super) fn host_rows(run: &Run, scenario: &Scenario, metrics: &Collected) -> Vec<Row> {
    let row = |sample: &foretell_metrics::Sample| {
        let host = &scenario.hosts[sample.host as usize];
        let mut row = vec![
            Value::count(run.number),
            Value::Whole(sample.ts_ns),
            Value::from(&*host.name),
            Value::from(&*host.group),
        ];
        row.extend(sample.values.map(Value::number));
        row
    };
    metrics.hosts.iter().map(row).collect()
}

pub(super) fn client_table() -> TableSchema {
    let mut columns = identity();
    let about = [
        ("workload", Kind::Text, Role::Identity, "", "the workload"),
        ("client", Kind::Text, Role::Identity, "", "the client machine"),
        ("op", Kind::Text, Role::Identity, "", "`read` or `write`"),
        ("interval_ns", Kind::Whole, Role::Observed, "nanoseconds", "how long was counted"),
        ("operations", Kind::Whole, Role::Observed, "requests", "requests completed in that time"),
        ("bytes", Kind::Whole, Role::Observed, "bytes", "bytes that they read or wrote"),
        ("response_ns", Kind::Whole, Role::Observed, "nanoseconds", "sum of their response times"),
    ];
    columns.extend(
        about.map(|(name, kind, role, unit, about)| Column::new(name, kind, role, unit, about)),
    );
    TableSchema {
        name: "client_metrics".to_owned(),
        description: "A row is what a client saw of one kind of operation in an interval."
            .to_owned(),
        columns,
        rows_per_file: RECORDS_PER_FILE,
    }
}

pub(super) fn client_rows(run: &Run, scenario: &Scenario, metrics: &Collected) -> Vec<Row> {
    let row = |sample: &foretell_metrics::ClientSample| {
        vec![
            Value::count(run.number),
            Value::Whole(sample.ts_ns),
            Value::from(&*scenario.workloads[sample.workload as usize].name),
            Value::from(&*scenario.hosts[sample.client as usize].name),
            Value::from(if sample.is_write { "write" } else { "read" }),
            Value::Whole(sample.interval_ns),
            Value::count(sample.operations),
            Value::count(sample.bytes),
            Value::count(sample.response_ns),
        ]
    };
    metrics.clients.iter().map(row).collect()
}
