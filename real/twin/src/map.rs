//! `map.toml`: the scenario of each configuration, and how a row of `points.csv` sets its load.

use std::path::Path;

use foretell_core::Error;
use foretell_input::Limit;
use foretell_scenarios::ScenarioError;
use serde::{Deserialize, Serialize};

use crate::config::{Drive, INTERFACES_OF_GATEWAYS, MOST_BYTES, Source};
use crate::points::{Pattern, Row};
use crate::write::Entry;

/// The file's name in the directory.
pub const MAP_FILE: &str = "map.toml";

const HEAD: &str = "\
# Which scenario belongs to which `config`, written by `foretell import cluster`. Scenarios and the numbers
# below may be changed by hand; `foretell validate` and `foretell calibrate cluster` read both.
#
# A row of points.csv sets, in its configuration's scenario:
#   op_mix       workload.load.reads (share of reads)
#   block_bytes  workload.load.access
#   pattern      workload.load.pattern; `object`: random, in a configuration with gateways
#   clients      client.load.count: one simulated host for each client process; blank: `processes` below.
#                With `image_bytes` also volume.pool.size: an image for each client, at most `most_bytes` in all
#   iodepth      requests outstanding in all, divided among the clients; blank: 128 for each of them,
#                16 of requests of more than 64 KiB
#   jobs         nothing: iodepth is the total over all jobs
# With a rate limit (`rate_limit_iops`, or in the row's note) each client issues at most that number of
# reads a second, and of writes. Warm-up and duration are chosen so that each point has some thousand requests.

";

/// The content of the file.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// Name of the source.
    pub source: String,
    /// Its configurations.
    #[serde(default)]
    pub config: Vec<Mapped>,
    /// Drives, for points that measure them alone.
    #[serde(default, rename = "drive")]
    pub drives: Vec<MappedDrive>,
}

/// A drive.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MappedDrive {
    /// Its name in `config`.
    pub name: String,
    /// Its class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Capacity in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<f64>,
    /// Whether acknowledged writes survive a power loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_loss_protection: Option<bool>,
}

/// A configuration.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mapped {
    /// Its name in the column `config`.
    pub name: String,
    /// The scenario's file, in the same directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The reason why there is no scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Number of clients, if a row does not state it.
    pub processes: u32,
    /// Bandwidth of all client hosts together, Gbit/s.
    pub client_gbit: f64,
    /// Number of client hosts; fewer clients run on as many hosts as there are clients.
    #[serde(default = "one")]
    pub client_hosts: u32,
    /// Maximum reads a second, and writes a second, of each client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_limit_iops: Option<f64>,
    /// Bytes of each client's image, if the number of images is that of the clients of a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_bytes: Option<f64>,
    /// Maximum bytes of all images, with `image_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_bytes: Option<f64>,
    /// The drive of its OSDs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drive: Option<String>,
    /// OSDs on each drive; 0: its rows measure the drive alone.
    #[serde(default = "one")]
    pub osds_per_device: u32,
    /// Whether its clients use gateways: then its rows have the pattern `object`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gateways: bool,
    /// Background work that is not simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<String>,
    /// Assumptions about values that the source leaves open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// Values that the source itself calls unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

fn one() -> u32 {
    1
}

impl Mapped {
    /// Whether a row's pattern is one of its clients, else the reason.
    pub fn suits(&self, row: &Row) -> Result<(), String> {
        match (row.pattern == Pattern::Object, self.gateways) {
            (true, false) => Err(format!(
                "`pattern` is `object`, and `{}` has no gateways: `client.interface` is none of {}",
                self.name,
                INTERFACES_OF_GATEWAYS.map(|name| format!("`{name}`")).join(", ")
            )),
            (false, true) => Err(format!(
                "`pattern` is `{}`, and the clients of `{}` use gateways, which serve whole objects",
                row.pattern.name(),
                self.name
            )),
            _ => Ok(()),
        }
    }

    /// Maximum reads a second, and writes a second, of each client at a row.
    pub(crate) fn rate_limit(&self, row: &Row) -> Option<f64> {
        row.rate_limit_of_note().or(self.rate_limit_iops)
    }
}

impl Map {
    /// The map of the written scenarios.
    pub fn new(source: &Source, entries: &[Entry]) -> Self {
        let mapped = |entry: &Entry| Mapped {
            name: entry.config.clone(),
            scenario: entry.scenario.clone().ok(),
            refused: entry.scenario.clone().err(),
            processes: entry.processes,
            client_gbit: entry.client_gbit,
            client_hosts: entry.client_hosts,
            rate_limit_iops: entry.rate_limit,
            image_bytes: entry.images.map(|images| images.each),
            most_bytes: entry.images.map(|images| images.most),
            drive: entry.drive.clone(),
            osds_per_device: entry.osds_per_device,
            gateways: entry.gateways,
            background: entry.background.clone(),
            assumed: entry.assumed.clone(),
            unknown: entry.unknown.clone(),
        };
        let drive = |(name, drive): (&String, &Drive)| MappedDrive {
            name: name.clone(),
            kind: drive.kind.clone(),
            capacity_bytes: drive.capacity_bytes,
            power_loss_protection: drive.power_loss_protection,
        };
        Self {
            source: source.name.clone(),
            config: entries.iter().map(mapped).collect(),
            drives: source.drives.iter().map(drive).collect(),
        }
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        format!("{HEAD}{}", toml::to_string(self).expect("texts and numbers"))
    }

    /// Reads the file in a directory.
    pub fn load(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(MAP_FILE);
        let shown = path.display();
        let text = foretell_input::text(&path, Limit::SCENARIO).map_err(|error| {
            Error::Invalid(format!(
                "cannot read `{shown}`: {error}; `foretell import cluster CONFIG.json -o DIR` makes \
                 such directories"
            ))
        })?;
        let map: Self = toml::from_str(&text).map_err(|error| {
            let fault = ScenarioError::of_toml(MAP_FILE, &text, &error).line();
            Error::Invalid(format!("`{shown}` is not a map of clusters: {fault}"))
        })?;
        for config in &map.config {
            let wrong = |what: &str| {
                Error::Invalid(format!("`{shown}`: configuration `{}`: {what}", config.name))
            };
            let usable = config.client_gbit > 0.0 && config.client_gbit <= 1e9;
            if !usable || config.processes == 0 || config.processes > 1 << 20 {
                return Err(wrong("`client_gbit` and `processes` must be above 0"));
            }
            if config.rate_limit_iops.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
                return Err(wrong("`rate_limit_iops` must be above 0"));
            }
            let bytes = [config.image_bytes, config.most_bytes].into_iter().flatten();
            if bytes.into_iter().any(|bytes| !(1.0..=MOST_BYTES).contains(&bytes)) {
                return Err(wrong(
                    "`image_bytes` and `most_bytes` must be 1 or more, and below 2^53",
                ));
            }
            let outside = |file: &String| {
                file.is_empty() || file.contains(['/', '\\']) || file.starts_with('.')
            };
            if config.scenario.as_ref().is_some_and(outside) {
                return Err(wrong("`scenario` must be a file beside the map"));
            }
        }
        Ok(map)
    }

    /// The configuration of that name.
    pub fn find(&self, name: &str) -> Option<&Mapped> {
        self.config.iter().find(|config| config.name == name)
    }
}
