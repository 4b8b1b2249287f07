//! The inputs of `report`: each path is recognised by its content.

use std::path::{Path, PathBuf};

use foretell_ati::{RunDb, STORE_FILE, open_run};
use foretell_datasets::{FollowedSweep, numbers, texts};
use foretell_input::Limit;
use foretell_report::chart::Column;
use foretell_report::{
    Completed, Observed, PathStep, Picture, Reproduction, Run, Source, Sweep, UnderWay, observe,
};
use serde_json::Value;

use super::clusters;
use crate::failure::Failure;
use crate::import::MAP_FILE;
use crate::trace::path;
use foretell_core::TRUTH_FILE;

/// File with the claims of a reproduction.
const SUMMARY_FILE: &str = "summary.json";
/// File that marks a sweep's data set.
const SWEEP_FILE: &str = "sweep.json";
/// The files that are read from directories.
pub(super) const FILES: [&str; 5] = [STORE_FILE, TRUTH_FILE, SUMMARY_FILE, SWEEP_FILE, MAP_FILE];

/// What can be shown, besides stores.
const SHOWN: &str = "the directory of a result, or the output of `score`, `ask`, `validate` or `replay-cache` with `--json`";

/// Limit of a document printed by a command.
const DOCUMENT: Limit = Limit::new(64 << 20, "a document of `--json`");
/// Limit of a picture of a reproduction.
const PICTURE: Limit = Limit::new(4 << 20, "a picture");
/// Maximum number of pictures of a reproduction.
const MAX_PICTURES: usize = 64;

/// The name of each result: the last part of its path, or the whole path if two names would be
/// equal.
pub(super) fn names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| path.display().to_string())
    };
    let short: Vec<String> = paths.iter().map(last).collect();
    let is_alone = |name: &String| short.iter().filter(|other| *other == name).count() == 1;
    let chosen = paths
        .iter()
        .zip(&short)
        .map(|(path, name)| if is_alone(name) { name.clone() } else { path.display().to_string() });
    chosen.collect()
}

/// Reads what is at `path`.
pub(super) fn read(path: &Path, name: &str) -> Result<Source, Failure> {
    if path.is_dir() {
        let has = |file: &str| path.join(file).is_file();
        if has(SWEEP_FILE) {
            return sweep(path, name);
        }
        if has(SUMMARY_FILE) {
            return reproduction(path, name);
        }
        if has(MAP_FILE) {
            return clusters::read(path, name);
        }
        let partial = path.join(foretell_ati::PARTIAL_FILE).exists();
        if has(STORE_FILE) || partial {
            return run(path, name);
        }
        return Err(Failure::Usage(format!(
            "`{}` holds nothing that can be shown; expected the directory of a run (`{STORE_FILE}`), a sweep \
             (`{SWEEP_FILE}`), a reproduction (`{SUMMARY_FILE}`) or an imported cluster (`{MAP_FILE}`)",
            path.display()
        )));
    }
    if is_store(path)? {
        return run(path, name);
    }
    document(path, name)
}

/// Whether a file begins like an SQLite file.
fn is_store(path: &Path) -> Result<bool, Failure> {
    use std::io::Read;

    let failed = |error| Failure::file("read", path)(error);
    let file = foretell_input::open(path).map_err(failed)?;
    let mut begins = Vec::new();
    file.take(15).read_to_end(&mut begins).map_err(failed)?;
    Ok(begins == b"SQLite format 3")
}

fn json(path: &Path, limit: Limit) -> Result<Value, Failure> {
    let text = foretell_input::text(path, limit).map_err(Failure::file("read", path))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::Usage(format!("`{}` is no JSON document: {error}", path.display()))
    })
}

/// A document printed with `--json`, recognised by its keys.
fn document(path: &Path, name: &str) -> Result<Source, Failure> {
    let document = json(path, DOCUMENT).map_err(|failure| match failure {
        Failure::Usage(what) => Failure::Usage(format!("{what}; expected {SHOWN}")),
        other => other,
    })?;
    let has = |key: &str| document.get(key).is_some();
    let name = name.to_owned();
    if has("comparisons") {
        return Ok(Source::Score(name, document));
    }
    if has("references") && (has("curve") || has("results")) {
        return Ok(Source::Cache(name, document));
    }
    if has("rows") && has("errors") {
        return Ok(Source::Validation(name, document));
    }
    if document["predicted"]["rows"].is_array() {
        return Ok(Source::Validation(name, document["predicted"].clone()));
    }
    if has("workloads") && has("utilization") {
        return Ok(Source::Answer(name, document));
    }
    let hint = if has("workloads") && has("hosts") {
        "; it looks like a truth: give the directory of the run, `foretell run SCENARIO -o DIR`"
    } else if has("replicates") {
        "; replicates of a run are not shown"
    } else {
        ""
    };
    Err(Failure::Usage(format!(
        "`{}` is not a document that can be shown; expected {SHOWN}{hint}",
        path.display()
    )))
}

fn run(path: &Path, name: &str) -> Result<Source, Failure> {
    let db = open_run(path).map_err(Failure::NotARun)?;
    let beside = if path.is_dir() { Some(path.join(TRUTH_FILE)) } else { None };
    let truth = match beside.filter(|file| file.exists()) {
        Some(file) => Some(json(&file, Limit::TRUTH)?),
        None => None,
    };
    let observed = observe(&db).map_err(Failure::NotARun)?;
    let wanted = observed.wanted();
    // each path reads the other events around its request, so both halves are done in parallel
    let (first, second) = wanted.split_at(wanted.len().div_ceil(2));
    let beside = open_run(path).map_err(Failure::NotARun)?;
    let observed_ref = &observed;
    let (first, second) = std::thread::scope(|scope| {
        let second = scope.spawn(move || paths(&beside, observed_ref, second));
        let first = paths(&db, observed_ref, first);
        (first, second.join().expect("a reader does not panic"))
    });
    let paths: Vec<_> = first?.into_iter().chain(second?).collect();
    Ok(Source::Run(Box::new(Run { name: name.to_owned(), observed, truth, paths })))
}

/// The steps of each of these requests.
fn paths(
    db: &RunDb,
    observed: &Observed,
    requests: &[Completed],
) -> Result<Vec<(Completed, Vec<PathStep>)>, Failure> {
    let ms = |ns: u64| ns as f64 / 1e6;
    let mut paths = Vec::new();
    for request in requests {
        let records = observed.records.get(&request.breadcrumb).map(Vec::as_slice);
        let steps = path::steps(db, &observed.facts, records.unwrap_or_default())?;
        let steps = steps.into_iter().map(|step| PathStep {
            at_ms: ms(step.at_ns),
            host: step.host,
            resource: step.resource,
            what: step.what,
            waiting_ms: step.waiting_ns.map(ms),
            service_ms: step.service_ns.map(ms),
        });
        paths.push((*request, steps.collect()));
    }
    Ok(paths)
}

fn sweep(path: &Path, name: &str) -> Result<Source, Failure> {
    let followed = FollowedSweep::open(path, true)?;
    let manifest = followed.manifest();
    let wanted: Vec<_> = manifest.explorable().collect();
    let names: Vec<String> = wanted.iter().map(|column| column.name.clone()).collect();
    let cells = followed.cells(&names)?;
    let columns = wanted.iter().zip(&cells).filter_map(|(column, cells)| {
        let (name, unit, role) = (&column.name, &column.unit, column.role.word());
        match numbers(cells) {
            Some(values) => Some(Column::of_numbers(name, unit, role, values)),
            None => Column::of_texts(name, unit, role, &texts(cells)),
        }
    });
    let columns = columns.collect();
    let progress = followed.progress();
    let (over, succeeded, runs) = (progress.over(), progress.succeeded, manifest.runs());
    let under_way = (!progress.is_complete).then_some(UnderWay { over, succeeded, runs });
    Ok(Source::Sweep(Sweep {
        name: name.to_owned(),
        title: manifest.title.clone(),
        description: manifest.description.clone(),
        factors: manifest.factors.clone(),
        under_way,
        columns,
    }))
}

fn reproduction(path: &Path, name: &str) -> Result<Source, Failure> {
    let summary = json(&path.join(SUMMARY_FILE), DOCUMENT)?;
    if !summary.is_object() || !(summary["rows"].is_array() || summary["paper"].is_string()) {
        return Err(Failure::Usage(format!(
            "`{}` is not a summary of a reproduction: it has neither `rows` nor `paper`",
            path.join(SUMMARY_FILE).display()
        )));
    }
    let failed = |error| Failure::file("read", path)(error);
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        // a link could point to any file of the user, so only plain files are read
        let is_plain = file.symlink_metadata().is_ok_and(|found| found.is_file());
        if file.extension().is_some_and(|ending| ending == "svg") && is_plain {
            files.push(file);
        }
    }
    files.sort();
    files.truncate(MAX_PICTURES);
    let mut pictures = Vec::new();
    for file in files {
        let svg = foretell_input::bytes(&file, PICTURE).map_err(Failure::file("read", &file))?;
        let head = &svg[..svg.len().min(1024)];
        if !head.windows(4).any(|found| found == b"<svg") {
            let message = format!("`{}` is no SVG picture", file.display());
            return Err(Failure::Usage(message));
        }
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        pictures.push(Picture { name: stem.unwrap_or_default(), svg });
    }
    Ok(Source::Reproduction(Reproduction { name: name.to_owned(), summary, pictures }))
}
