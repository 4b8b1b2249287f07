//! Recognises files, and joins several into one cluster.

use std::path::Path;

use foretell_algorithms::crush::{ClusterMap, CrushMap, MapParts};
use foretell_input::Limit;
use foretell_sorted::SortedMap;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::crush_json::CrushJson;
use crate::crush_text;
use crate::error::ReadError;
use crate::inventory::{Inventory, ReportJson};
use crate::osd_json::{OsdMapJson, Wrong};
use crate::statistics::Statistics;

/// The result of reading.
#[derive(Debug)]
pub enum Imported {
    /// A cluster: its map, and the inventory.
    Cluster(Box<ClusterMap>, Box<Inventory>),
    /// A single CRUSH map.
    Crush(Box<CrushMap>),
}

/// The key under which statistics of other files are kept.
const STATISTICS: &str = "foretell_statistics";

#[derive(Deserialize)]
struct Kept {
    foretell_statistics: Statistics,
}

#[derive(Deserialize)]
struct ReportMaps {
    osdmap: OsdMapJson,
    crushmap: CrushJson,
}

/// Parts of a cluster, collected file by file.
#[derive(Default)]
struct Parts {
    /// The CRUSH map, with the file's name.
    crush: Option<(String, MapParts)>,
    osds: Option<(String, OsdMapJson)>,
    report: Option<ReportJson>,
    statistics: Statistics,
    notes: Vec<String>,
    /// The CRUSH map as JSON, if it was JSON.
    kept_crush: Option<serde_json::Value>,
}

/// Reads a report, or an OSD map with a CRUSH map, or a CRUSH map alone, from one or more files.
pub fn read_files<P: AsRef<Path>>(files: &[P]) -> Result<Imported, ReadError> {
    read_parts(files)?.join()
}

fn read_parts<P: AsRef<Path>>(files: &[P]) -> Result<Parts, ReadError> {
    let mut parts = Parts::default();
    for file in files {
        let name = file.as_ref().display().to_string();
        let bytes = foretell_input::bytes(file.as_ref(), Limit::CEPH)
            .map_err(|error| ReadError::File { file: name.clone(), error })?;
        let text = String::from_utf8(bytes).map_err(|_| ReadError::Value {
            file: name.clone(),
            what: "it is not text; `crushtool -d` and `osdmaptool --dump json` turn maps into text"
                .to_owned(),
        })?;
        parts.add(name, &text)?;
    }
    Ok(parts)
}

/// The content of these files in one document that [`read_files`] can read. Keys, addresses, serial
/// numbers, and anything else that is not used are dropped.
pub fn keepable<P: AsRef<Path>>(files: &[P]) -> Result<String, ReadError> {
    read_parts(files)?.keepable()
}

/// The same for the text of one file; `file` is its name in errors. The text of a CRUSH map is kept
/// unchanged.
pub fn keepable_text(file: &str, text: &str) -> Result<String, ReadError> {
    let mut parts = Parts::default();
    parts.add(file.to_owned(), text)?;
    if parts.osds.is_some() && parts.kept_crush.is_some() {
        // keep the placement, without information on stored data
        parts.report = None;
        return parts.keepable();
    }
    match parts.kept_crush {
        Some(crush) => Ok(crush.to_string()),
        None => Ok(text.to_owned()),
    }
}

impl Parts {
    fn keepable(self) -> Result<String, ReadError> {
        let parts = self;
        let (Some(kept), Some(_)) = (parts.kept_crush, &parts.osds) else {
            return Err(ReadError::Parts(
                "only a cluster can be kept: give a report, or an OSD map and a CRUSH map as JSON"
                    .to_owned(),
            ));
        };
        let mut document = match parts.report {
            Some(report) => serde_json::to_value(report).expect("keys are texts"),
            None => serde_json::json!({}),
        };
        document["crushmap"] = kept;
        if !parts.statistics.is_empty() {
            document[STATISTICS] = serde_json::to_value(&parts.statistics).expect("keys are texts");
        }
        document["osdmap"] = parts.osds.map_or_else(Default::default, |(_, osds)| {
            serde_json::to_value(osds).expect("keys are texts")
        });
        Ok(serde_json::to_string(&document).expect("keys are texts"))
    }
}

/// Reads the text of one file; `file` is its name in errors.
pub fn read_text(file: &str, text: &str) -> Result<Imported, ReadError> {
    let mut parts = Parts::default();
    parts.add(file.to_owned(), text)?;
    parts.join()
}

impl Parts {
    fn add(&mut self, file: String, text: &str) -> Result<(), ReadError> {
        let json = |error| ReadError::Json { file: file.clone(), error };
        let value = |what| ReadError::Value { file: file.clone(), what };
        let text = without_frame(text);
        if !text.starts_with(['{', '[']) {
            if is_prometheus(text) && self.statistics.add_prometheus(text) {
                return Ok(());
            }
            if !crush_text::looks_like_a_map(text) {
                return Err(ReadError::NoMap { file });
            }
            let crush = crush_text::read(&file, text)?;
            return self.add_crush(file, crush);
        }
        if text.starts_with('[') {
            let keys = "of a list".to_owned();
            return Err(ReadError::Unknown { file, keys });
        }
        let keys: SortedMap<String, IgnoredAny> = serde_json::from_str(text).map_err(json)?;
        let has = |key: &str| keys.contains_key(key);
        if has("osdmap") && has("crushmap") {
            let maps: ReportMaps = serde_json::from_str(text).map_err(json)?;
            let report: ReportJson = serde_json::from_str(text).map_err(json)?;
            if self.report.replace(report).is_some() {
                return Err(ReadError::Parts(format!("{file} is a second report")));
            }
            self.kept_crush = serde_json::to_value(&maps.crushmap).ok();
            let crush = maps.crushmap.parts(&mut self.notes).map_err(value)?;
            self.add_crush(file.clone(), crush)?;
            if has(STATISTICS) {
                let kept: Kept = serde_json::from_str(text).map_err(json)?;
                self.statistics = kept.foretell_statistics;
            }
            self.add_osds(file, maps.osdmap)
        } else if has("osds") && has("pools") {
            let osds = serde_json::from_str(text).map_err(json)?;
            self.add_osds(file, osds)
        } else if has("buckets") && has("rules") {
            let crush: CrushJson = serde_json::from_str(text).map_err(json)?;
            self.kept_crush = serde_json::to_value(&crush).ok();
            let crush = crush.parts(&mut self.notes).map_err(value)?;
            self.add_crush(file, crush)
        } else if has("nodes") || has("osdstats") || has("osd_perf_infos") || has("osd") {
            let document = serde_json::from_str(text).map_err(json)?;
            if self.statistics.add_json(&document).map_err(value)? {
                return Ok(());
            }
            let keys: Vec<String> = keys.keys().take(5).map(|key| format!("`{key}`")).collect();
            Err(ReadError::Unknown { file, keys: keys.join(", ") })
        } else {
            let keys: Vec<String> = keys.keys().take(5).map(|key| format!("`{key}`")).collect();
            Err(ReadError::Unknown { file, keys: keys.join(", ") })
        }
    }

    fn add_crush(&mut self, file: String, crush: MapParts) -> Result<(), ReadError> {
        if let Some((first, _)) = &self.crush {
            return Err(ReadError::Parts(format!("{first} and {file} both have a CRUSH map")));
        }
        self.crush = Some((file, crush));
        Ok(())
    }

    fn add_osds(&mut self, file: String, osds: OsdMapJson) -> Result<(), ReadError> {
        if let Some((first, _)) = &self.osds {
            return Err(ReadError::Parts(format!("{first} and {file} both have an OSD map")));
        }
        self.osds = Some((file, osds));
        Ok(())
    }

    fn join(self) -> Result<Imported, ReadError> {
        let Some((file, crush)) = self.crush else {
            return Err(ReadError::Parts(
                "there is no CRUSH map; give the output of `ceph osd crush dump` too".to_owned(),
            ));
        };
        let crush = CrushMap::new(crush).map_err(|error| ReadError::Crush { file, error })?;
        let Some((file, osds)) = self.osds else { return Ok(Imported::Crush(Box::new(crush))) };
        let map = osds.map(crush).map_err(|wrong| match wrong {
            Wrong::Value(what) => ReadError::Value { file: file.clone(), what },
            Wrong::Map(error) => ReadError::Cluster { file: file.clone(), error },
        })?;
        let mut inventory = Inventory {
            osds: osds.osd_facts(),
            pools: osds.pool_facts(),
            full_ratio: osds.full_ratio,
            nearfull_ratio: osds.nearfull_ratio,
            has_cluster_network: osds.has_cluster_network(),
            notes: self.notes,
            ..Inventory::default()
        };
        if let Some(report) = self.report {
            report.add_to(&mut inventory);
        }
        self.statistics.add_to(&mut inventory);
        Ok(Imported::Cluster(Box::new(map), Box::new(inventory)))
    }
}

/// Whether a text is in Prometheus format, and not a CRUSH map.
fn is_prometheus(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.any(|line| line.starts_with("ceph_"))
        && lines.all(|line| !line.starts_with("tunable ") && !line.starts_with("device "))
}

/// The text without the line `report 1234567890`, which `ceph report` prints to standard error and
/// which ends up in many files.
fn without_frame(text: &str) -> &str {
    let is_frame = |line: &str| {
        line.strip_prefix("report ").is_some_and(|number| number.trim().parse::<u64>().is_ok())
    };
    let mut text = text.trim_start_matches('\u{feff}').trim();
    if let Some((first, rest)) = text.split_once('\n')
        && is_frame(first)
    {
        text = rest.trim_start();
    }
    if let Some((rest, last)) = text.rsplit_once('\n')
        && is_frame(last)
    {
        text = rest.trim_end();
    }
    text
}
