//! The tables of a sweep's data set: their columns, and the rows of a run.
//!
//! Columns follow from the base scenario, so that every shard has the same ones. A workload's
//! figures are under its name, and resources under the group of their hosts (the number of hosts in
//! a group may vary).

mod metrics;
mod names;
mod outages;
mod scrub;

use std::collections::{BTreeMap, BTreeSet};

use foretell_ati::{Body, Phase, Record, RecordKind};
use foretell_datasets::{Column, Factor, Kind, Role, Row, Run, TableSchema, Value};
use foretell_metrics::Collected;
use foretell_scenarios::model::{Role as HostRole, Scenario};
use foretell_sim::truth::{OpTruth, ResponseTime, Truth, WorkloadTruth};
use foretell_sorted::SortedMap;
use foretell_units::{Breadcrumb, SimSpan};

use crate::error::Error;

/// Maximum number of rows of a file of runs.
const RUNS_PER_FILE: u64 = 250_000;
/// Maximum number of rows of a file of requests or records.
const RECORDS_PER_FILE: u64 = 5_000_000;

/// The first columns of every table; in `runs` and `failures` further ones follow.
const NUMBERS: [(&str, &str); 4] = [
    ("run_id", "number of the run"),
    ("point", "number of the design point"),
    ("replicate", "number of the run among those of its point"),
    ("seed", "seed of the run's random draws"),
];

/// Kinds of resources: name in columns, name in `truth.json`, and description.
const RESOURCES: [(&str, &str, &str); 6] = [
    ("cpu", "cpu", "processors"),
    ("disk", "disk", "disks"),
    ("nic_transmit", "nic_transmit", "network adapters, sending"),
    ("nic_receive", "nic_receive", "network adapters, receiving"),
    ("cluster_nic_transmit", "cluster_nic_transmit", "second network adapters, sending"),
    ("cluster_nic_receive", "cluster_nic_receive", "second network adapters, receiving"),
];

/// A group of hosts.
#[derive(Debug)]
struct Group {
    name: String,
    is_node: bool,
    /// Whether hosts of the base scenario, or of a level of a factor, have second adapters.
    has_second: bool,
}

impl Group {
    /// The kinds of resources that its hosts have.
    fn resources(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let Self { is_node, has_second, .. } = *self;
        RESOURCES.into_iter().filter(move |(kind, ..)| match *kind {
            "disk" => is_node,
            "cluster_nic_transmit" | "cluster_nic_receive" => has_second,
            _ => true,
        })
    }
}

/// The layout of a sweep's tables.
#[expect(clippy::struct_excessive_bools, reason = "which tables and columns there are")]
#[derive(Debug)]
pub struct Tables {
    workloads: Vec<String>,
    groups: Vec<Group>,
    /// Whether the measured time is cut into intervals, so that there is a standard error.
    intervals: bool,
    /// Whether some reads are hedged.
    hedges: bool,
    /// Whether there is a table of requests.
    requests: bool,
    records: Vec<RecordKind>,
    /// Whether runs collect low-level metrics.
    metrics: bool,
    /// Whether the base scenario, or a level of a factor, has events.
    outages: bool,
    /// Whether reads may be stale when there are events.
    stale: bool,
    /// Whether the base scenario, or a level of a factor, has scrubbers.
    scrub: bool,
    schemas: Vec<TableSchema>,
}

/// Whether a sweep may make a table of this name.
pub fn is_known(name: &str) -> bool {
    let record = |name: &str| name.parse::<RecordKind>().is_ok();
    let ours = [
        "runs",
        "failures",
        "requests",
        "hosts",
        "volumes",
        "workloads",
        "metrics",
        "client_metrics",
    ];
    ours.contains(&name) || name.strip_prefix("records_").is_some_and(record)
}

/// Facts that a run shares with the other runs of its point.
#[derive(Clone, Copy, Debug)]
pub struct PointFacts<'a> {
    /// SHA-256 of the point's scenario without its seed, in hexadecimal digits, or the first of them.
    pub scenario_hash: &'a str,
    /// Version of the program.
    pub tool_version: &'a str,
}

impl Tables {
    /// The tables of a sweep with this base scenario and these factors; `requests`: whether there is a table of
    /// requests; `records`: the types of records with a table each.
    ///
    /// # Errors
    ///
    /// If two columns would have the same name, or a record type is unknown.
    pub fn new(
        base: &Scenario,
        factors: &[Factor],
        requests: bool,
        records: &[String],
    ) -> Result<Self, Error> {
        let workloads: Vec<String> = base.workloads.iter().map(|w| w.name.clone()).collect();
        let mut paths = factors.iter().flat_map(Factor::paths);
        let second_in_a_level = paths.any(|path| path.contains(".cluster_nic"));
        let mut groups: Vec<Group> = Vec::new();
        for host in &base.hosts {
            let name = host.group.clone();
            let is_node = matches!(host.role, HostRole::Node(_));
            let has_second = host.cluster_nic.is_some() || is_node && second_in_a_level;
            match groups.iter_mut().find(|known| known.name == name) {
                Some(known) => known.has_second |= has_second,
                None => groups.push(Group { name, is_node, has_second }),
            }
        }
        let records = records
            .iter()
            .map(|name| name.parse::<RecordKind>())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| Error::Invalid(format!("output.records: {error}")))?;
        let (intervals, metrics) = (base.intervals.is_some(), base.tracking.metrics.is_some());
        let schemas = Vec::new();
        let outages = base.outages.is_some()
            || factors.iter().flat_map(Factor::paths).any(|path| path.starts_with("event."));
        let stale = base.system.traits().reads_may_be_stale();
        let scrub = base.scrub.is_some()
            || factors.iter().flat_map(Factor::paths).any(|path| path.starts_with("scrub"));
        let hedges = base.hedges()
            || factors
                .iter()
                .flat_map(Factor::paths)
                .any(|path| path.rsplit('.').next() == Some("hedge"));
        let mut tables = Self {
            workloads,
            groups,
            intervals,
            hedges,
            requests,
            records,
            metrics,
            outages,
            stale,
            scrub,
            schemas,
        };
        tables.schemas.push(tables.runs(factors));
        tables.schemas.push(failures(factors));
        if tables.requests {
            tables.schemas.push(request_table());
        }
        tables.schemas.extend(tables.records.iter().map(|kind| record_table(*kind)));
        if !tables.records.is_empty() {
            tables.schemas.extend(names::tables());
        }
        if tables.metrics {
            tables.schemas.extend([metrics::host_table(), metrics::client_table()]);
        }
        for table in &tables.schemas {
            let mut names: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
            names.sort_unstable();
            if let Some([name, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Error::Invalid(format!(
                    "table `{}` would have two columns `{}`; name the factor, workload or group otherwise",
                    table.name, name
                )));
            }
        }
        Ok(tables)
    }

    /// The schemas of the tables.
    pub fn schemas(&self) -> &[TableSchema] {
        &self.schemas
    }

    /// The types of records that a run has to keep.
    pub fn kinds(&self) -> Vec<&'static str> {
        let requests = self.requests.then_some(RecordKind::Request);
        let all = requests.into_iter().chain(self.records.iter().copied());
        let mut names: Vec<&str> = all.map(RecordKind::name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A part of a design point's scenario that the base scenario lacks, if there is any.
    pub fn unknown(&self, scenario: &Scenario) -> Option<String> {
        let workload = scenario.workloads.iter().find(|w| !self.workloads.contains(&w.name));
        if let Some(workload) = workload {
            return Some(format!("workload `{}`", workload.name));
        }
        if scenario.outages.is_some() && !self.outages {
            return Some("events".to_owned());
        }
        let known = |group: &str| self.groups.iter().any(|known| known.name == group);
        let host = scenario.hosts.iter().find(|host| !known(&host.group));
        host.map(|host| format!("group of hosts `{}`", host.group))
    }

    fn runs(&self, factors: &[Factor]) -> TableSchema {
        let mut columns = identity();
        let text =
            |name: &str, about: &str| Column::new(name, Kind::Text, Role::Identity, "", about);
        columns.push(text(
            "scenario_hash",
            "SHA-256 of the scenario with all its defaults, without the seed",
        ));
        columns.push(text("tool_version", "version of the program"));
        columns.push(text("split", "`train`, `validation`, `test` or `test_extrapolation`"));
        columns.extend(factors.iter().map(Factor::column));
        for workload in &self.workloads {
            workload_columns(workload, self.intervals, self.hedges, &mut columns);
        }
        for group in &self.groups {
            group_columns(group, &mut columns);
        }
        if self.outages {
            outages::columns(&self.workloads, self.stale, &mut columns);
        }
        if self.scrub {
            scrub::columns(&mut columns);
        }
        let observed =
            |name, kind, unit, about: &str| Column::new(name, kind, Role::Observed, unit, about);
        columns.push(observed(
            "bottleneck",
            Kind::Text,
            "",
            "group and kind of the resource with the highest utilization",
        ));
        columns.push(observed(
            "bottleneck_utilization",
            Kind::Number,
            "",
            "its share of time busy",
        ));
        columns.push(observed(
            "network_segments_dropped",
            Kind::Whole,
            "segments",
            "segments dropped at full ports of the switch, the warm-up's included",
        ));
        columns.push(observed(
            "network_timeouts",
            Kind::Whole,
            "",
            "retransmission timeouts, the warm-up's included",
        ));
        columns.push(observed("events", Kind::Whole, "", "events simulated"));
        columns.push(observed(
            "simulated_s",
            Kind::Number,
            "seconds",
            "measured time, without the warm-up",
        ));
        TableSchema {
            name: "runs".to_owned(),
            description: "A row is a run: what was set, and what clients and resources did."
                .to_owned(),
            columns,
            rows_per_file: RUNS_PER_FILE,
        }
    }

    /// The rows of a successful run, table by table as in [`Tables::schemas`]. The scenario must have no parts that
    /// are [`unknown`](Tables::unknown). The last argument: truth, kept records, collected metrics.
    pub fn rows(
        &self,
        run: &Run,
        facts: &PointFacts<'_>,
        scenario: &Scenario,
        (truth, records, metrics): &(Truth, Vec<Record>, Collected),
    ) -> Vec<Vec<Row>> {
        let mut tables = vec![vec![self.run_row(run, facts, scenario, truth)], Vec::new()];
        let requests = measured_requests(truth.warmup, records);
        let measured: BTreeSet<u64> =
            requests.iter().map(|(issue, _)| issue.header.breadcrumb.0).collect();
        // a table of records joins the table of requests: no record of a request that is not in there
        let is_measured = |record: &Record| match record.header.breadcrumb {
            Breadcrumb::NONE => record.header.ts_ns >= truth.warmup.as_ns(),
            breadcrumb => measured.contains(&breadcrumb.0),
        };
        if self.requests {
            tables.push(request_rows(run, scenario, requests));
        }
        for kind in &self.records {
            let of_kind =
                records.iter().filter(|record| record.body.kind() == *kind && is_measured(record));
            let row = |record: &Record| {
                let cells = record.row().into_iter().map(Value::Whole);
                std::iter::once(Value::count(run.number)).chain(cells).collect()
            };
            tables.push(of_kind.map(row).collect());
        }
        if !self.records.is_empty() {
            tables.extend(names::rows(run, scenario));
        }
        if self.metrics {
            tables.push(metrics::host_rows(run, scenario, metrics));
            tables.push(metrics::client_rows(run, scenario, metrics));
        }
        tables
    }

    /// The rows of a run that failed, table by table; `error`: why.
    pub fn failed(&self, run: &Run, error: &str) -> Vec<Vec<Row>> {
        let mut row = numbers(run);
        row.extend(run.point.values().cloned());
        row.push(Value::from(error));
        let mut tables = vec![Vec::new(); self.schemas.len()];
        tables[1].push(row);
        tables
    }

    fn run_row(
        &self,
        run: &Run,
        facts: &PointFacts<'_>,
        scenario: &Scenario,
        truth: &Truth,
    ) -> Row {
        let mut row = numbers(run);
        row.push(Value::from(facts.scenario_hash));
        row.push(Value::from(facts.tool_version));
        row.push(Value::from(run.part.name()));
        row.extend(run.point.values().cloned());
        for name in &self.workloads {
            workload_cells(truth.workloads.get(name), self.intervals, self.hedges, &mut row);
        }
        let group_of: SortedMap<&str, &str> =
            scenario.hosts.iter().map(|host| (&*host.name, &*host.group)).collect();
        for group in &self.groups {
            group_cells(group, &group_of, truth, &mut row);
        }
        if self.outages {
            outages::cells(&self.workloads, self.stale, truth.outages.as_ref(), &mut row);
        }
        if self.scrub {
            scrub::cells(truth.scrub.as_ref(), &mut row);
        }
        let bottleneck = &truth.bottleneck;
        let group = group_of.get(&*bottleneck.host).copied().unwrap_or_default();
        let kind = bottleneck.resource.trim_end_matches(|c: char| c.is_ascii_digit());
        row.push(if group.is_empty() {
            Value::Missing
        } else {
            Value::Text(format!("{group} {kind}"))
        });
        row.push(Value::number(bottleneck.utilization));
        row.push(Value::count(truth.network.segments_dropped));
        row.push(Value::count(truth.network.timeouts));
        row.push(Value::count(truth.events));
        row.push(Value::number(truth.simulated_seconds));
        row
    }
}

/// A name in the form in which column names begin.
fn prefix(name: &str) -> String {
    name.replace('-', "_")
}

fn identity() -> Vec<Column> {
    let column =
        |(name, about): (&str, &str)| Column::new(name, Kind::Whole, Role::Identity, "", about);
    NUMBERS.into_iter().map(column).collect()
}

fn numbers(run: &Run) -> Row {
    [run.number, run.point.number, run.replicate, run.seed].map(Value::count).into()
}

fn failures(factors: &[Factor]) -> TableSchema {
    let mut columns = identity();
    columns.extend(factors.iter().map(Factor::column));
    let about = "why the run failed";
    columns.push(Column::new("error", Kind::Text, Role::Observed, "", about));
    TableSchema {
        name: "failures".to_owned(),
        description: "A row is a run that failed.".to_owned(),
        columns,
        rows_per_file: RUNS_PER_FILE,
    }
}

const TIMES: [(&str, &str); 5] = [
    ("mean", "mean response time"),
    ("p50", "median response time"),
    ("p95", "response time that 95 % of the requests do not exceed"),
    ("p99", "response time that 99 % of the requests do not exceed"),
    ("max", "longest response time"),
];

fn workload_columns(workload: &str, intervals: bool, hedges: bool, columns: &mut Vec<Column>) {
    let of = prefix(workload);
    for (op, whose) in [("", "all requests"), ("_read", "reads"), ("_write", "writes")] {
        let mut add = |name: &str, kind, unit: &str, about: &str| {
            let about = format!("{about}: {whose} of workload `{workload}`");
            columns.push(Column::new(
                format!("{of}{op}_{name}"),
                kind,
                Role::Observed,
                unit,
                about,
            ));
        };
        add(
            "throughput_rps",
            Kind::Number,
            "requests per second",
            "requests completed in a second",
        );
        add(
            "throughput_bytes_per_s",
            Kind::Number,
            "bytes per second",
            "bytes read and written in a second",
        );
        for (name, about) in TIMES {
            add(&format!("response_time_{name}_ms"), Kind::Number, "milliseconds", about);
        }
        add("requests", Kind::Whole, "requests", "requests completed");
        if intervals && !op.is_empty() {
            add(
                "relative_standard_error",
                Kind::Number,
                "",
                "standard error of the intervals' mean response times, relative to their mean",
            );
        }
        if op.is_empty() {
            add(
                "throughput_half_width_rps",
                Kind::Number,
                "requests per second",
                "half-width of the 95 % confidence interval of the throughput",
            );
            add(
                "response_time_mean_half_width_ms",
                Kind::Number,
                "milliseconds",
                "half-width of the 95 % confidence interval of the mean response time",
            );
            add(
                "outstanding_mean",
                Kind::Number,
                "requests",
                "requests outstanding on average, of all clients together",
            );
            add(
                "read_hit_rate",
                Kind::Number,
                "",
                "share of the pages that reads ask for which the nodes' caches have",
            );
            if hedges {
                add("hedges", Kind::Whole, "reads", "reads that asked one more node");
            }
        }
    }
}

fn workload_cells(truth: Option<&WorkloadTruth>, intervals: bool, hedges: bool, row: &mut Row) {
    let Some(truth) = truth else {
        // 8 columns for each of 3 kinds of requests, and 4 more; an error for each of two kinds
        let columns = 3 * (TIMES.len() + 3) + 4 + usize::from(hedges) + 2 * usize::from(intervals);
        row.extend(std::iter::repeat_n(Value::Missing, columns));
        return;
    };
    row.push(Value::number(truth.throughput_rps));
    row.push(Value::number(truth.throughput_bytes_per_s));
    time_cells(&truth.response_time_ms, truth.requests, row);
    row.push(Value::count(truth.requests));
    row.push(truth.throughput_rps_half_width.into());
    row.push(truth.response_time_ms.mean_half_width.into());
    row.push(Value::number(truth.outstanding_mean));
    row.push(truth.read_hit_rate.into());
    if hedges {
        row.push(truth.hedges.map_or(Value::Missing, Value::count));
    }
    for op in [&truth.read, &truth.write] {
        let OpTruth { throughput_rps, throughput_bytes_per_s, response_time_ms, requests, .. } = op;
        row.push(Value::number(*throughput_rps));
        row.push(Value::number(*throughput_bytes_per_s));
        time_cells(response_time_ms, *requests, row);
        row.push(Value::count(*requests));
        if intervals {
            row.push(op.relative_standard_error.into());
        }
    }
}

/// Cells of response times; they are missing, not zero, if there were no requests.
fn time_cells(times: &ResponseTime, requests: u64, row: &mut Row) {
    let ResponseTime { mean, p50, p95, p99, max, .. } = *times;
    let cell = |ms| if requests > 0 { Value::number(ms) } else { Value::Missing };
    row.extend([mean, p50, p95, p99, max].map(cell));
}

fn group_columns(group: &Group, columns: &mut Vec<Column>) {
    let (name, of) = (&group.name, prefix(&group.name));
    let mut add = |column: String, about: String| {
        columns.push(Column::new(column, Kind::Number, Role::Observed, "", about));
    };
    for (kind, _, about) in group.resources() {
        add(
            format!("{of}_{kind}_utilization_mean"),
            format!("share of time busy, average over the {about} of `{name}`"),
        );
        add(
            format!("{of}_{kind}_utilization_max"),
            format!("share of time busy, of the busiest of the {about} of `{name}`"),
        );
    }
    if group.is_node {
        add(
            format!("{of}_cache_read_hit_rate"),
            format!("share of the pages that reads ask for which the caches of `{name}` have"),
        );
    }
}

fn group_cells(group: &Group, group_of: &SortedMap<&str, &str>, truth: &Truth, row: &mut Row) {
    let is_of = |host: &str| group_of.get(host) == Some(&&*group.name);
    for (_, resource, _) in group.resources() {
        let hosts = truth.hosts.iter().filter(|(host, _)| is_of(host));
        let found: Vec<f64> = hosts
            .flat_map(|(_, resources)| resources)
            .filter(|(name, _)| name.trim_end_matches(|c: char| c.is_ascii_digit()) == resource)
            .map(|(_, truth)| truth.utilization)
            .collect();
        if found.is_empty() {
            row.extend([Value::Missing, Value::Missing]);
            continue;
        }
        row.push(Value::number(found.iter().sum::<f64>() / found.len() as f64));
        row.push(Value::number(found.iter().copied().fold(0.0, f64::max)));
    }
    if group.is_node {
        let caches = || truth.caches.iter().filter(|(host, _)| is_of(host)).map(|(_, cache)| cache);
        let pages: u64 = caches().map(|cache| cache.pages_read).sum();
        let hits: f64 = caches()
            .map(|cache| cache.read_hit_rate.unwrap_or(0.0) * cache.pages_read as f64)
            .sum();
        row.push(if pages > 0 { Value::number(hits / pages as f64) } else { Value::Missing });
    }
}

fn request_table() -> TableSchema {
    let column = |name: &str, kind, role, unit: &str, about: &str| {
        Column::new(name, kind, role, unit, about)
    };
    TableSchema {
        name: "requests".to_owned(),
        description:
            "A row is a request: a sample of those issued after the warm-up and completed."
                .to_owned(),
        columns: vec![
            column("run_id", Kind::Whole, Role::Identity, "", "number of the run"),
            column(
                "breadcrumb",
                Kind::Whole,
                Role::Identity,
                "",
                "number of the request in its run, as in the tables of records",
            ),
            column("workload", Kind::Text, Role::Factor, "", "the workload"),
            column("client", Kind::Text, Role::Factor, "", "the client machine"),
            column("volume", Kind::Text, Role::Factor, "", "the volume"),
            column("op", Kind::Text, Role::Factor, "", "`read` or `write`"),
            column(
                "offset_bytes",
                Kind::Whole,
                Role::Factor,
                "bytes",
                "where it begins in the volume",
            ),
            column("size_bytes", Kind::Whole, Role::Factor, "bytes", "bytes asked for"),
            column(
                "issued_ns",
                Kind::Whole,
                Role::Observed,
                "nanoseconds",
                "when it was issued, since the simulation began",
            ),
            column(
                "response_time_ms",
                Kind::Number,
                Role::Observed,
                "milliseconds",
                "from issue to completion",
            ),
        ],
        rows_per_file: RECORDS_PER_FILE,
    }
}

/// The requests issued after the warm-up and completed, in the order of issue: the records of both ends. Equal times
/// keep the order of completion.
fn measured_requests(warmup: SimSpan, records: &[Record]) -> Vec<(&Record, &Record)> {
    let mut issued: BTreeMap<u64, &Record> = BTreeMap::new();
    let mut found = Vec::new();
    for record in records {
        let Body::Request { phase, .. } = record.body else { continue };
        if phase == Phase::Issue {
            issued.insert(record.header.breadcrumb.0, record);
        } else if let Some(issue) = issued.remove(&record.header.breadcrumb.0)
            && issue.header.ts_ns >= warmup.as_ns()
        {
            found.push((issue, record));
        }
    }
    found.sort_by_key(|(issue, _)| issue.header.ts_ns);
    found
}

fn request_rows(run: &Run, scenario: &Scenario, requests: Vec<(&Record, &Record)>) -> Vec<Row> {
    let row = |(issue, completion): (&Record, &Record)| {
        let Body::Request { workload, client, op, file, offset, size, .. } = completion.body else {
            return None;
        };
        let ns = completion.header.ts_ns - issue.header.ts_ns;
        Some(vec![
            Value::count(run.number),
            Value::count(issue.header.breadcrumb.0),
            Value::from(&*scenario.workloads[workload as usize].name),
            Value::from(&*scenario.hosts[client as usize].name),
            Value::from(&*scenario.volumes[file as usize].name),
            Value::from(if op == foretell_ati::Op::Read { "read" } else { "write" }),
            Value::count(offset),
            Value::count(size),
            Value::count(issue.header.ts_ns),
            Value::number(ns as f64 / 1e6),
        ])
    };
    requests.into_iter().filter_map(row).collect()
}

/// The schema of a table of records of one type, with the columns of `run.db`.
fn record_table(kind: RecordKind) -> TableSchema {
    let mut table = plain_record_table(kind);
    table.name = format!("records_{kind}");
    table.description += " Its request is in the table `requests`. Breadcrumb 0: the hosts' own work after the warm-up.";
    let about = "number of the run";
    table.columns.insert(0, Column::new("run_id", Kind::Whole, Role::Identity, "", about));
    table
}

/// The same for records of a single run.
pub fn plain_record_table(kind: RecordKind) -> TableSchema {
    let column =
        |name: &str| Column::new(name, Kind::Whole, Role::Observed, "", kind.meaning(name));
    TableSchema {
        name: kind.name().to_owned(),
        description: format!("A row is an activity record of type `{kind}`."),
        columns: kind.columns().map(column).collect(),
        rows_per_file: RECORDS_PER_FILE,
    }
}
