//! Series: numbers by time.

use crate::{Collected, METRICS, Metric};

/// Columns of numbers over one column of times.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Series {
    /// Times in seconds, not decreasing. Their origin is known to the creator of the series.
    pub times: Vec<f64>,
    /// Names of the columns.
    pub names: Vec<String>,
    /// Values by name, then time.
    pub columns: Vec<Vec<f64>>,
}

impl Series {
    /// A series without rows.
    pub fn empty(names: Vec<String>) -> Self {
        let columns = vec![Vec::new(); names.len()];
        Self { times: Vec::new(), names, columns }
    }

    /// Adds a row with one value for each name.
    pub fn push(&mut self, time: f64, values: impl IntoIterator<Item = f64>) {
        self.times.push(time);
        for (column, value) in self.columns.iter_mut().zip(values) {
            column.push(value);
        }
    }

    /// A column by its name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        let index = self.names.iter().position(|known| known == name)?;
        Some(&self.columns[index])
    }

    /// Sorts rows by their times; rows with the same time keep their order.
    pub(crate) fn sort(&mut self) {
        if self.times.is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..self.times.len()).collect();
        order.sort_by(|&a, &b| self.times[a].total_cmp(&self.times[b]));
        let sorted = |values: &[f64]| order.iter().map(|&row| values[row]).collect::<Vec<f64>>();
        self.times = sorted(&self.times);
        self.columns = self.columns.iter().map(|column| sorted(column)).collect();
    }
}

/// The metrics of one host.
#[derive(Clone, PartialEq, Debug)]
pub struct HostSeries {
    /// Prefix of its metrics: `osd`, `mon`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Metrics by their short names, with times on the host's own clock.
    pub series: Series,
}

/// Clients' measurements, which are predicted from features: read and write throughput, read and
/// write IOPS.
pub const TARGETS: [Target; 4] = [
    Target { name: "TPr", column: "read_bytes_per_s" },
    Target { name: "TPw", column: "write_bytes_per_s" },
    Target { name: "OPr", column: "read_iops" },
    Target { name: "OPw", column: "write_iops" },
];

/// One of the predicted figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Name in the paper.
    pub name: &'static str,
    /// Name in a log of clients.
    pub column: &'static str,
}

/// Measurements of hosts' collectors and of clients over the same time.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Observed {
    /// Storage hosts.
    pub hosts: Vec<HostSeries>,
    /// All clients together: the columns are named as in [`TARGETS`], and times are the ends of
    /// intervals.
    pub clients: Series,
}

impl Observed {
    /// The observations of a run. `kinds`: each host's prefix and name, by its number; hosts without
    /// a prefix, such as clients, are left out. `workloads`: those whose requests count; all if it is
    /// empty.
    pub fn of_run(
        collected: &Collected,
        kinds: &[(Option<&str>, &str)],
        workloads: &[u32],
    ) -> Self {
        let names: Vec<String> = Metric::all().map(|metric| metric.short().to_owned()).collect();
        let mut of_host: Vec<Option<usize>> = Vec::new();
        let mut hosts = Vec::new();
        for (kind, name) in kinds {
            of_host.push(kind.map(|kind| {
                let series = Series::empty(names.clone());
                hosts.push(HostSeries { kind: kind.to_owned(), name: (*name).to_owned(), series });
                hosts.len() - 1
            }));
        }
        for sample in &collected.hosts {
            if let Some(Some(place)) = of_host.get(sample.host as usize) {
                let values: [f64; METRICS] = sample.values;
                hosts[*place].series.push(sample.ts_ns as f64 / 1e9, values);
            }
        }
        let mut clients = Series::empty(TARGETS.map(|target| target.column.to_owned()).into());
        for sample in &collected.clients {
            if !workloads.is_empty() && !workloads.contains(&sample.workload) {
                continue;
            }
            let time = sample.ts_ns as f64 / 1e9;
            if clients.times.last().is_none_or(|last| *last < time) {
                clients.push(time, [0.0; TARGETS.len()]);
            }
            let seconds = sample.interval_ns as f64 / 1e9;
            let row = clients.times.len() - 1;
            let direction = usize::from(sample.is_write);
            clients.columns[direction][row] += sample.bytes as f64 / seconds;
            clients.columns[2 + direction][row] += sample.operations as f64 / seconds;
        }
        Self { hosts, clients }
    }
}
