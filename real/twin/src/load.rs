//! A scenario under the load of a point, simulated for as long as the point needs.
//!
//! The length is found by trying: the first run takes a few milliseconds, and each further run four times as long,
//! until enough requests are done. Then the point is simulated once more, with a warm-up as long as the outstanding
//! requests and a tenth of the measured ones take. Each point is simulated separately with the scenario's own seed, so results do not depend on
//! threads or order.

use std::path::Path;

use foretell_core::Error;
use foretell_core::Simulation;
use foretell_core::jobs::Workers;
use foretell_input::Limit;
use foretell_scenarios::{Document, ScenarioError};
use foretell_sim::truth::{Truth, WorkloadTruth};
use foretell_sorted::SortedMap;
use foretell_units::Bytes;
use toml::{Table, Value};

use crate::config::Drive;
use crate::drives::Model;
use crate::map::{Map, Mapped};
use crate::parameters::{Values, table_at};
use crate::points::{Figures, Pattern, Row};
use crate::report::Outcome;
use crate::write::{reason, volume_bytes};

/// Outstanding requests of a client, if a row does not state them: the depth of most published runs; and the depth
/// for requests of more than 64 KiB.
const ASSUMED_DEPTH: u32 = 128;
const ASSUMED_LARGE_DEPTH: u32 = 16;
/// Maximum number of simulated client hosts; further clients share hosts.
const MOST_CLIENTS: u32 = 512;
/// Outstanding requests of a rate-limited client in each direction.
const LIMITED_DEPTH: u32 = 32;
/// Length of the first run, and of the longest.
const FIRST_NS: u64 = 4_000_000;
const LONGEST_NS: u64 = 64_000_000_000;

/// Simulated seconds of a point with recovery beside the load.
const RECOVERY_S: u64 = 16;
const SHORT_RECOVERY_S: u64 = 8;

/// How much of a point is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Minimum number of measured requests.
    pub(crate) requests: u64,
    /// Minimum number of measured requests as a share of the outstanding ones.
    pub(crate) outstanding: f64,
}

impl Effort {
    /// Gives throughput within about 2 %.
    pub const FULL: Self = Self { requests: 6000, outstanding: 1.0 };
    /// Gives throughput within about 3 %.
    pub const SHORT: Self = Self { requests: 2000, outstanding: 0.3 };
}

/// The scenarios of a directory as TOML tables, and the map.
pub struct Twin {
    /// Which scenario belongs to which configuration.
    pub map: Map,
    /// Scenarios by file.
    tables: SortedMap<String, Table>,
}

impl Twin {
    /// Reads a directory that `import cluster` wrote. All its scenarios are checked.
    pub fn load(directory: &Path) -> Result<Self, Error> {
        let map = Map::load(directory)?;
        let mut tables = SortedMap::new();
        for config in &map.config {
            let Some(file) = &config.scenario else { continue };
            let path = directory.join(file);
            Document::load(&path)?.check()?;
            let text = foretell_input::text(&path, Limit::SCENARIO)
                .map_err(|error| Error::Invalid(format!("`{}`: {error}", path.display())))?;
            let shown = path.display().to_string();
            let table: Table = toml::from_str(&text).map_err(|error| {
                Error::Invalid(ScenarioError::of_toml(&shown, &text, &error).line())
            })?;
            tables.insert(file.clone(), table);
        }
        Ok(Self { map, tables })
    }

    /// The same from scenarios in memory.
    pub fn of(map: Map, files: &SortedMap<String, String>) -> Self {
        let table = |(file, text): (&String, &String)| {
            (file.clone(), toml::from_str(text).expect("we wrote it"))
        };
        Self { map, tables: files.iter().map(table).collect() }
    }

    /// Properties of a drive in the map, besides its points.
    pub(crate) fn drive(&self, name: &str) -> Option<Drive> {
        self.map.drives.iter().find(|drive| drive.name == name).map(|drive| Drive {
            kind: drive.kind.clone(),
            capacity_bytes: drive.capacity_bytes,
            power_loss_protection: drive.power_loss_protection,
            ..Drive::default()
        })
    }

    /// The scenario of a row's configuration, or the reason why it cannot be simulated.
    pub(crate) fn scenario_of(&self, row: &Row) -> Result<(&Mapped, &Table), String> {
        let mapped = self.map.find(&row.config).ok_or_else(|| {
            let names = self.map.config.iter().map(|config| config.name.as_str());
            no_configuration(&row.config, names)
        })?;
        match (&mapped.scenario, &mapped.refused) {
            (Some(file), _) => {
                mapped.suits(row)?;
                Ok((mapped, &self.tables[file]))
            }
            (None, Some(reason)) => Err(reason.clone()),
            (None, None) => Err("the map has no scenario for it".to_owned()),
        }
    }
}

/// The reason why the rows of a configuration that is not among `names` cannot be simulated.
pub fn no_configuration<'a>(config: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let near = foretell_scenarios::meant(config, names).unwrap_or_default();
    format!("there is no configuration `{config}`. {near}")
}

/// The prediction of a point.
pub fn predict(
    twin: &Twin,
    row: &Row,
    values: &Values,
    effort: Effort,
    workers: Workers<'_>,
) -> Result<Figures, Error> {
    let (mapped, table) = twin.scenario_of(row).map_err(Error::Invalid)?;
    let mut table = table.clone();
    apply_drive(&mut table, mapped, values);
    values.apply(&mut table);
    let load = Load::of(row, mapped);
    load.apply(&mut table)
        .map_err(|fault| Error::Invalid(format!("row {} ({}): {fault}", row.number, row.config)))?;
    let mut figures = simulate(&mut table, &load, effort, workers)?;
    let tail = values.tail(row);
    figures.p99_ms = figures.p99_ms.map(|p99| tail.of_simulated(p99));
    Ok(figures)
}

/// The predictions of rows.
pub fn outcomes(
    twin: &Twin,
    rows: &[Row],
    values: &Values,
    effort: Effort,
    workers: Workers<'_>,
) -> Result<Vec<Outcome>, Error> {
    let one = |row: &Row| {
        let predicted = match twin.scenario_of(row) {
            Ok(_) => match predict(twin, row, values, effort, workers) {
                Ok(figures) => Ok(figures),
                // the row's load does not fit its scenario
                Err(Error::Invalid(reason)) => Err(reason),
                Err(Error::Scenario(errors)) => Err(reason(&errors)),
                Err(error) => return Err(error),
            },
            Err(reason) => Err(reason),
        };
        let beside = twin.map.find(&row.config).and_then(|mapped| mapped.background.clone());
        Ok(Outcome { row: row.clone(), predicted, is_fitted_to: false, beside })
    };
    workers.perform(rows, one).all()
}

/// Puts in the drive as measured alone, if it was, with the fitted corrections.
fn apply_drive(table: &mut Table, mapped: &Mapped, values: &Values) {
    let Some(device) = table_at(table, &["device"]).and_then(|devices| devices.get_mut("drive"))
    else {
        return;
    };
    let measured = mapped.drive.as_ref().and_then(|name| values.drives.get(name));
    let model = match measured {
        Some(model) => Some(model.part(mapped.osds_per_device.max(1))),
        None => device.as_table().and_then(Model::of_table),
    };
    // a drive measured alone needs no correction; corrections are for drives in a cluster
    let (read, write) =
        if mapped.osds_per_device == 0 { (1.0, 1.0) } else { values.drive_factors() };
    if let Some(model) = model {
        *device = Value::Table(model.slower(read, write).table());
    }
}

/// The load of a row.
struct Load {
    clients: u32,
    /// Outstanding requests of each client.
    depth: u32,
    reads: f64,
    block: u64,
    pattern: Pattern,
    /// Requests a second of each client in each direction.
    limit: Option<f64>,
    client_gbit: f64,
    /// Bytes of all images, if the row says how many there are.
    images: Option<f64>,
}

impl Load {
    fn of(row: &Row, mapped: &Mapped) -> Self {
        let clients = row.clients.unwrap_or(mapped.processes).max(1);
        // with few clients, not all hosts are used
        let share =
            f64::from(clients.min(mapped.client_hosts)) / f64::from(mapped.client_hosts.max(1));
        let assumed = if row.block > 65_536 { ASSUMED_LARGE_DEPTH } else { ASSUMED_DEPTH };
        let total = row.outstanding.unwrap_or_else(|| clients.saturating_mul(assumed));
        let limit = mapped.rate_limit(row);
        let hosts = clients.min(MOST_CLIENTS);
        // with more clients than the limit, several share a host
        let limit = limit.map(|limit| limit * f64::from(clients) / f64::from(hosts));
        let clients = if limit.is_some() { hosts } else { divided(total, hosts) };
        Self {
            clients,
            depth: (f64::from(total) / f64::from(clients)).round().max(1.0) as u32,
            reads: row.reads,
            block: row.block,
            pattern: row.pattern,
            limit,
            client_gbit: mapped.client_gbit * share.max(1e-3),
            images: mapped.image_bytes.map(|each| {
                let all = each * f64::from(row.clients.unwrap_or(mapped.processes).max(1));
                all.min(mapped.most_bytes.unwrap_or(f64::MAX))
            }),
        }
    }

    /// Total number of outstanding requests.
    fn outstanding(&self) -> u64 {
        u64::from(self.clients) * u64::from(self.depth)
    }

    /// Applies this load to a scenario.
    fn apply(&self, table: &mut Table) -> Result<(), String> {
        if let Some(client) = table_at(table, &["client", "load"]) {
            client.insert("count".to_owned(), Value::Integer(self.clients.into()));
            let gbit = self.client_gbit / f64::from(self.clients);
            if let Some(nic) = client.get_mut("nic").and_then(Value::as_table_mut) {
                nic.insert("rate".to_owned(), Value::String(format!("{gbit:.6} Gbit/s")));
            }
        }
        if let Some(bytes) = self.images
            && let Some(pool) = table_at(table, &["volume", "pool"])
        {
            let block = pool.get("block").and_then(Value::as_str);
            let block = block.and_then(|text| text.parse::<Bytes>().ok()).map_or(8192, Bytes::get);
            let size = volume_bytes(bytes, block);
            pool.insert("size".to_owned(), Value::String(format!("{size} B")));
        }
        let workloads = table_at(table, &["workload"]).ok_or("its scenario has no workload")?;
        let load = workloads.get("load").and_then(Value::as_table);
        let mut load = load.ok_or("its scenario has no `[workload.load]`")?.clone();
        let mut set = |key: &str, value: Value| load.insert(key.to_owned(), value);
        set("reads", Value::Float(self.reads));
        set("access", Value::String(format!("{} B", self.block)));
        // objects are accessed as a whole, in any order
        let pattern = match self.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Random | Pattern::Object => "random",
        };
        set("pattern", Value::String(pattern.to_owned()));
        let depth = if self.limit.is_some() { LIMITED_DEPTH } else { self.depth };
        set("outstanding", Value::Integer(depth.into()));
        if let Some(limit) = self.limit {
            let think = f64::from(LIMITED_DEPTH) / limit * 1e6;
            set("think", Value::String(format!("exponential {think:.0} us")));
            if self.reads > 0.0 && self.reads < 1.0 {
                set("reads", Value::Float(1.0));
                let mut writes = load.clone();
                writes.insert("reads".to_owned(), Value::Float(0.0));
                workloads.insert("writes".to_owned(), Value::Table(writes));
            }
        }
        workloads.insert("load".to_owned(), Value::Table(load));
        Ok(())
    }
}

/// The largest number of clients that divides the outstanding requests evenly, if that is at least half of the
/// clients.
fn divided(total: u32, clients: u32) -> u32 {
    let most = clients.min(total).max(1);
    (most.div_ceil(2)..=most).rev().find(|count| total.is_multiple_of(*count)).unwrap_or(most)
}

fn simulate(
    table: &mut Table,
    load: &Load,
    effort: Effort,
    workers: Workers<'_>,
) -> Result<Figures, Error> {
    if table.contains_key("event") {
        return beside_recovery(table, effort, workers);
    }
    // large requests take long and vary less, so fewer are needed
    let requests = if load.block > 65_536 { effort.requests / 3 } else { effort.requests };
    let least = (effort.outstanding * load.outstanding() as f64) as u64;
    let wanted = requests.max(least);
    // rate-limited clients wait most of the time
    let think_ns = load.limit.map_or(0, |limit| (2e9 * f64::from(LIMITED_DEPTH) / limit) as u64);
    let mut try_ns = FIRST_NS.max(think_ns);
    let rate = loop {
        let truth = run(table, try_ns / 2 + think_ns, try_ns, workers)?;
        let done: u64 = truth.workloads.values().map(|workload| workload.requests).sum();
        let enough = (wanted / 10).max(load.outstanding() / 4).max(100);
        if done >= wanted && truth.unfinished.requests < done {
            return Ok(figures(&truth));
        }
        if done >= enough || try_ns >= LONGEST_NS {
            break (done.max(1) as f64) * 1e9 / try_ns as f64;
        }
        try_ns *= 4;
    };
    let span = |requests: f64| ((requests / rate * 1e9) as u64).clamp(FIRST_NS, LONGEST_NS);
    let warmup = span(load.outstanding() as f64 + wanted as f64 / 10.0) + think_ns;
    let truth = run(table, warmup, span(wanted as f64), workers)?;
    Ok(figures(&truth))
}

/// Throughput, mean latency and recovery are measured in the second half, after the beginning has settled;
/// percentiles are of the whole time.
fn beside_recovery(
    table: &mut Table,
    effort: Effort,
    workers: Workers<'_>,
) -> Result<Figures, Error> {
    let seconds =
        if effort.requests < Effort::FULL.requests { SHORT_RECOVERY_S } else { RECOVERY_S };
    let truth = run(table, 500_000_000, seconds * 1_000_000_000, workers)?;
    let mut figures = figures(&truth);
    let Some(outages) = &truth.outages else { return Ok(figures) };
    let half = &outages.timeline[outages.timeline.len() / 2..];
    let of = |sum: f64| Some(sum / half.len() as f64).filter(|rate| *rate > 0.0);
    let requests: f64 = half.iter().map(|second| second.requests as f64).sum();
    let waited: f64 =
        half.iter().map(|second| second.requests as f64 * second.mean_ms.unwrap_or(0.0)).sum();
    let recovered: f64 = half.iter().map(|second| second.recovered_bytes as f64).sum();
    figures.iops = of(requests);
    figures.mean_ms = figures.iops.map(|_| waited / requests);
    figures.recovery_mib_per_s = of(recovered / f64::from(1 << 20));
    Ok(figures)
}

fn run(
    table: &mut Table,
    warmup_ns: u64,
    duration_ns: u64,
    workers: Workers<'_>,
) -> Result<Truth, Error> {
    table.insert("warmup".to_owned(), Value::String(format!("{warmup_ns} ns")));
    table.insert("duration".to_owned(), Value::String(format!("{duration_ns} ns")));
    let text = toml::to_string(table).expect("it was read from such a text");
    let document = Document::parse("scenario of a point", &text, "")?;
    Simulation::new(&document)?.run(|progress| workers.go_on(progress))
}

/// The figures of all clients together.
fn figures(truth: &Truth) -> Figures {
    let all: Vec<_> = truth.workloads.values().filter(|one| one.requests > 0).collect();
    let iops: f64 = all.iter().map(|one| one.throughput_rps).sum();
    if iops <= 0.0 {
        return Figures::default();
    }
    let mean: f64 =
        all.iter().map(|one| one.throughput_rps * one.response_time_ms.mean).sum::<f64>() / iops;
    let most = |of: fn(&WorkloadTruth) -> f64| all.iter().map(|one| of(one)).max_by(f64::total_cmp);
    Figures {
        iops: Some(iops),
        mean_ms: Some(mean),
        p50_ms: most(|one| one.response_time_ms.p50),
        p95_ms: most(|one| one.response_time_ms.p95),
        p99_ms: most(|one| one.response_time_ms.p99),
        recovery_mib_per_s: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outstanding_requests_are_divided_evenly_where_that_is_possible() {
        assert_eq!(divided(24, 16), 12);
        assert_eq!(divided(5, 16), 5);
        assert_eq!(divided(1680, 105), 105);
        assert_eq!(divided(588, 16), 14);
        assert_eq!(divided(97, 16), 16);
        assert_eq!(divided(1, 8), 1);
    }
}
