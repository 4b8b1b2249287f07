//! Recognises files, and joins several into one cluster.

use std::collections::BTreeMap;
use std::path::Path;

use foretell_algorithms::crush::{ClusterMap, CrushMap, MapParts};
use foretell_input::{Limit, one_line};
use foretell_sorted::SortedMap;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::contradictions::contradictions;
use crate::crush_json::CrushJson;
use crate::crush_text;
use crate::documents::{documents, recognised, table_for_people, without_frames};
use crate::error::ReadError;
use crate::inventory::{Inventory, ReportJson};
use crate::keys::{self, Kind};
use crate::osd_json::{OsdMapJson, Wrong};
use crate::statistics::Statistics;

/// The result of reading.
#[derive(Debug)]
pub enum Imported {
    /// A cluster: its map, and the inventory.
    Cluster(Box<ClusterMap>, Box<Inventory>),
    /// A single CRUSH map, and notes for users.
    Crush(Box<CrushMap>, Vec<String>),
}

/// The key under which statistics of other files are kept.
const STATISTICS: &str = "foretell_statistics";

#[derive(Deserialize)]
struct MaybeKept {
    foretell_statistics: Option<Statistics>,
}

#[derive(Deserialize)]
struct ReportMaps {
    osdmap: OsdMapJson,
    crushmap: CrushJson,
}

/// A part of a cluster, and where it was found.
struct Part<T> {
    /// The file's name, and its place among the files.
    file: (usize, String),
    part: T,
}

/// Parts of a cluster, collected file by file.
#[derive(Default)]
struct Parts {
    /// Number of files so far.
    files: usize,
    crush: Option<Part<MapParts>>,
    osds: Option<Part<OsdMapJson>>,
    report: Option<Part<ReportJson>>,
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
            Some(report) => serde_json::to_value(report.part).expect("keys are texts"),
            None => serde_json::json!({}),
        };
        document["crushmap"] = kept;
        if !parts.statistics.is_empty() {
            document[STATISTICS] = serde_json::to_value(&parts.statistics).expect("keys are texts");
        }
        document["osdmap"] = parts.osds.map_or_else(Default::default, |osds| {
            serde_json::to_value(osds.part).expect("keys are texts")
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
        self.files += 1;
        let text = without_frames(text);
        if !text.starts_with(['{', '[']) {
            return self.add_text(file, &text);
        }
        let json = |error| ReadError::Json { file: file.clone(), error };
        // of several documents of one kind the last counts; of each OSD's counters all do
        let mut kinds: BTreeMap<Kind, Vec<&str>> = BTreeMap::new();
        let mut nothing = None;
        for document in documents(&text).map_err(json)? {
            match kind_of(&file, document) {
                Ok(kind) => kinds.entry(kind).or_default().push(document),
                Err(error @ (ReadError::Nothing { .. } | ReadError::Unknown { .. })) => {
                    nothing.get_or_insert((error, 0)).1 += 1;
                }
                Err(error) => return Err(error),
            }
        }
        if let Some((error, count)) = nothing {
            if kinds.is_empty() {
                return Err(error);
            }
            let skipped = match count {
                1 => "a document of this file is not used".to_owned(),
                count => format!("{count} documents of this file are not used; the first"),
            };
            self.notes.push(format!("{skipped}: {error}"));
        }
        for (kind, documents) in kinds {
            if documents.len() > 1 && kind != Kind::PerfDump {
                let (count, command) = (documents.len(), kind.command());
                self.notes
                    .push(format!("{file}: {count} documents of `{command}`; the last counts"));
            }
            let last = documents.len() - 1;
            let counts = documents
                .iter()
                .enumerate()
                .filter(|(at, _)| *at == last || kind == Kind::PerfDump);
            for (_, document) in counts {
                self.add_document(&file, kind, document)?;
                self.notes.extend(keys::note(&file, kind, document));
            }
        }
        Ok(())
    }

    fn add_text(&mut self, file: String, text: &str) -> Result<(), ReadError> {
        if is_prometheus(text) {
            let found = self.statistics.add_prometheus(text, &mut self.notes);
            if found.used > 0 {
                return Ok(());
            }
            if let Some(other) = found.other {
                return Err(ReadError::Nothing {
                    file,
                    found: format!(
                        "metrics of Ceph, such as `{other}`, but none of OSDs and pools that are read: give what the \
                         manager's module `prometheus` prints, with `ceph_pool_stored` and `ceph_osd_stat_bytes`"
                    ),
                });
            }
        }
        if !crush_text::looks_like_a_map(text) {
            return Err(match table_for_people(text) {
                Some(command) => {
                    let found = format!("a table for people: give `{command} -f json`");
                    ReadError::Nothing { file, found }
                }
                None => ReadError::NoMap { file },
            });
        }
        let crush = crush_text::read(&file, text, &mut self.notes)?;
        self.kept_crush = None;
        self.add_crush(file, crush)
    }

    fn add_document(&mut self, file: &str, kind: Kind, text: &str) -> Result<(), ReadError> {
        let json = |error| ReadError::Json { file: file.to_owned(), error };
        let value = |what| ReadError::Value { file: file.to_owned(), what };
        match kind {
            Kind::Report => {
                let maps: ReportMaps = serde_json::from_str(text).map_err(json)?;
                let report: ReportJson = serde_json::from_str(text).map_err(json)?;
                let part = Part { file: (self.files, file.to_owned()), part: report };
                if self.report.replace(part).is_some_and(|first| first.file.0 != self.files) {
                    return Err(ReadError::Parts(format!("{file} is a second report")));
                }
                self.kept_crush = serde_json::to_value(&maps.crushmap).ok();
                let crush = maps.crushmap.parts(&mut self.notes).map_err(value)?;
                self.add_crush(file.to_owned(), crush)?;
                let kept: MaybeKept = serde_json::from_str(text).map_err(json)?;
                if let Some(statistics) = kept.foretell_statistics {
                    self.statistics.add(statistics);
                }
                self.add_osds(file.to_owned(), maps.osdmap)
            }
            Kind::OsdMap => {
                let osds = serde_json::from_str(text).map_err(json)?;
                self.add_osds(file.to_owned(), osds)
            }
            Kind::CrushMap => {
                let crush: CrushJson = serde_json::from_str(text).map_err(json)?;
                self.kept_crush = serde_json::to_value(&crush).ok();
                let crush = crush.parts(&mut self.notes).map_err(value)?;
                self.add_crush(file.to_owned(), crush)
            }
            Kind::Pools | Kind::OsdDf | Kind::OsdPerf | Kind::PerfDump => {
                let document = serde_json::from_str(text).map_err(json)?;
                if self.statistics.add_json(kind, &document, &mut self.notes).map_err(value)? {
                    return Ok(());
                }
                let found = format!("`{}`, but no figures of OSDs or pools", kind.command());
                Err(ReadError::Nothing { file: file.to_owned(), found })
            }
        }
    }

    fn add_crush(&mut self, file: String, crush: MapParts) -> Result<(), ReadError> {
        let part = Part { file: (self.files, file), part: crush };
        match &self.crush {
            Some(first) if first.file.0 != self.files => Err(ReadError::Parts(format!(
                "{} and {} both have a CRUSH map",
                first.file.1, part.file.1
            ))),
            _ => {
                self.crush = Some(part);
                Ok(())
            }
        }
    }

    fn add_osds(&mut self, file: String, osds: OsdMapJson) -> Result<(), ReadError> {
        let part = Part { file: (self.files, file), part: osds };
        match &self.osds {
            Some(first) if first.file.0 != self.files => Err(ReadError::Parts(format!(
                "{} and {} both have an OSD map",
                first.file.1, part.file.1
            ))),
            _ => {
                self.osds = Some(part);
                Ok(())
            }
        }
    }

    fn join(mut self) -> Result<Imported, ReadError> {
        let Some(Part { file: (_, file), part: crush }) = self.crush else {
            let found = if self.osds.is_some() {
                "the files have an OSD map, and no CRUSH map"
            } else {
                "the files have figures of OSDs or pools, and no CRUSH map"
            };
            return Err(ReadError::Parts(format!(
                "{found}; give the output of `ceph osd crush dump` too, or of `ceph report`, which has all"
            )));
        };
        let crush = CrushMap::new(crush).map_err(|error| ReadError::Crush { file, error })?;
        let Some(Part { file: (_, file), part: osds }) = self.osds else {
            if !self.statistics.is_empty() {
                self.notes.push(
                    "figures of OSDs and pools are not used: without an OSD map there are none (`ceph osd dump -f json`)"
                        .to_owned(),
                );
            }
            return Ok(Imported::Crush(Box::new(crush), self.notes));
        };
        let map = osds.map(crush, &mut self.notes).map_err(|wrong| match wrong {
            Wrong::Value(what) => ReadError::Value { file: file.clone(), what },
            Wrong::Map(error) => ReadError::Cluster { file: file.clone(), error },
        })?;
        self.notes.extend(contradictions(&map));
        let mut inventory = Inventory {
            osds: osds.osd_facts(),
            pools: osds.pool_facts(),
            full_ratio: osds.full_ratio(),
            nearfull_ratio: osds.nearfull_ratio(),
            has_cluster_network: osds.has_cluster_network(),
            notes: self.notes,
            ..Inventory::default()
        };
        if let Some(report) = self.report {
            report.part.add_to(&mut inventory);
        }
        self.statistics.add_to(&mut inventory);
        inventory.drop_impossible_levels();
        inventory.complete_pools(&map);
        inventory.note_assumed_shards(&map);
        Ok(Imported::Cluster(Box::new(map), Box::new(inventory)))
    }
}

/// The kind of a JSON document; an error that says what it is if there is nothing to read in it.
fn kind_of(file: &str, text: &str) -> Result<Kind, ReadError> {
    let json = |error| ReadError::Json { file: file.to_owned(), error };
    let list = text.trim_start().starts_with('[');
    let keys: Vec<String> = if list {
        let entries: Vec<serde_json::Value> = serde_json::from_str(text).map_err(json)?;
        let first = entries.into_iter().next();
        let keys = first.and_then(|first| Some(first.as_object()?.keys().cloned().collect()));
        keys.unwrap_or_default()
    } else {
        let keys: SortedMap<String, IgnoredAny> = serde_json::from_str(text).map_err(json)?;
        keys.into_keys().collect()
    };
    let kind = Kind::of(|key| keys.iter().any(|found| found == key)).filter(|_| !list);
    kind.ok_or_else(|| {
        let file = file.to_owned();
        if let Some(found) = recognised(&keys) {
            return ReadError::Nothing { file, found: found.to_owned() };
        }
        let keys: Vec<String> =
            keys.iter().take(5).map(|key| format!("`{}`", one_line(key))).collect();
        let keys = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
        let of = if list { "its list has entries with the keys" } else { "it has the keys" };
        ReadError::Unknown { file, keys: format!("{of} {keys}") }
    })
}

/// Whether a text is in Prometheus format, and not a CRUSH map.
fn is_prometheus(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.any(|line| line.starts_with("ceph_"))
        && lines.all(|line| !line.starts_with("tunable ") && !line.starts_with("device "))
}
