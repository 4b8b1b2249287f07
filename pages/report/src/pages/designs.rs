//! Runs as designs to choose from: what each holds, survives, serves and costs, how fast it answers, what limits it, and
//! how long its drives last.

use serde_json::Value;

use super::run::{Run, busiest_workloads};
use crate::cluster::{self, MIN_EXTRAPOLATED_S};
use crate::page::{Part, Section, Table};
use crate::words::{at, count, entries, known, number, percent, short_name, survivors, text};

const TIB: f64 = (1_u64 << 40) as f64;

/// The section with one table: a column for each design, a row for each figure.
pub(super) fn section(runs: &[&Run]) -> Section {
    let mut head = vec![String::new()];
    head.extend(runs.iter().map(|run| short_name(&run.name)));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut table = Table::new("The designs, by what decides between them", head.len(), &head);
    let mut row = |label: String, of: &dyn Fn(&Value) -> Option<String>| {
        let cells: Vec<Option<String>> =
            runs.iter().map(|run| run.truth.as_ref().and_then(of)).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".to_owned()));
            table.rows.push(std::iter::once(label).chain(cells).collect());
        }
    };
    for name in names(runs, |truth| {
        let volumes = truth.get("capacity").map(|capacity| entries(capacity, "volumes"));
        volumes.into_iter().flatten().map(|(name, _)| name.clone()).collect()
    }) {
        let volume = |truth: &Value| truth.get("capacity")?.get("volumes")?.get(&name).cloned();
        let label = |what: &str| format!("{}: {what}", short_name(&name));
        row(label("usable"), &|truth| {
            Some(format!("{:.2} TiB", at(&volume(truth)?, &["usable_bytes"])? / TIB))
        });
        row(label("survives any"), &|truth| units(&volume(truth)?, "survives"));
        row(label("serves without any"), &|truth| units(&volume(truth)?, "serves"));
        row(label("cost"), &|truth| {
            let cost = at(&volume(truth)?, &["cost_per_usable_tib"])?;
            let currency = text(truth, &["capacity", "currency"]).unwrap_or_default();
            Some(format!("{cost:.0} {currency}/usable TiB"))
        });
    }
    for name in names(runs, shown_workloads) {
        let label = |what: &str| format!("{}: {what}", short_name(&name));
        let of = |path: &'static [&'static str]| {
            let name = name.clone();
            move |truth: &Value| {
                let seen = truth.get("workloads")?.get(&name)?;
                Some(known(at(seen, path), number))
            }
        };
        row(label("p99 ms"), &of(&["response_time_ms", "p99"]));
        row(label("mean ms"), &of(&["response_time_ms", "mean"]));
        row(label("requests/s"), &of(&["throughput_rps"]));
    }
    row("limit".to_owned(), &busiest);
    row("first drive worn out".to_owned(), &worn);
    row("failures".to_owned(), &failures);
    let mut section = Section::new("Designs");
    if table.rows.is_empty() {
        section.push(Part::Gap("None of these runs has a `truth.json`.".to_owned()));
    } else {
        section.push(Part::Table(table));
    }
    section
}

/// Names in the truths of all runs, each once, in their order.
fn names(runs: &[&Run], of: impl Fn(&Value) -> Vec<String>) -> Vec<String> {
    let mut names = Vec::new();
    for name in runs.iter().filter_map(|run| run.truth.as_ref()).flat_map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn shown_workloads(truth: &Value) -> Vec<String> {
    busiest_workloads(truth).0.into_iter().map(|(name, _)| name.clone()).collect()
}

/// How many units may fail, whichever they are: `2 devices or 2 hosts`; `None` if the run does not say.
fn units(volume: &Value, key: &str) -> Option<String> {
    let kinds = volume.get(key)?.as_object()?;
    Some(survivors(kinds.iter().filter_map(|(kind, number)| Some((number.as_u64()?, kind)))))
}

/// The busiest resource, and whether it is a bottleneck.
pub(super) fn busiest(truth: &Value) -> Option<String> {
    let (host, resource) = cluster::bottleneck(truth)?;
    let busy = at(truth, &["bottleneck", "utilization"])?;
    let name = short_name(format!("{resource} of {host}"));
    Some(format!("{}: {name}, {} busy", cluster::verdict(busy), percent(busy)))
}

/// When the first solid-state drive is worn out at the measured rate; `None` without such drives.
fn worn(truth: &Value) -> Option<String> {
    let resources =
        entries(truth, "hosts").flat_map(|(_, of)| of.as_object().into_iter().flatten());
    let flash: Vec<&Value> =
        resources.filter_map(|(_, of)| of.get("flash")).filter(|flash| flash.is_object()).collect();
    if flash.is_empty() {
        return None;
    }
    let seconds = at(truth, &["simulated_seconds"]).unwrap_or(0.0);
    let years = flash.iter().filter_map(|flash| at(flash, &["years_until_worn"]));
    Some(match years.min_by(f64::total_cmp) {
        None => "unknown: the drives have no rated endurance".to_owned(),
        Some(_) if seconds < MIN_EXTRAPOLATED_S => {
            format!("unknown: {} s are too short to extrapolate", number(seconds))
        }
        Some(years) => format!("in {} years", number(years)),
    })
}

/// What failures cost; `None` without any.
fn failures(truth: &Value) -> Option<String> {
    let failed = at(truth, &["failed_requests"])?;
    let lost = at(truth, &["bytes_lost"])?;
    let lost = if lost > 0.0 {
        format!("{} MB lost", number(lost / 1e6))
    } else {
        "no data lost".to_owned()
    };
    Some(format!("{}, {lost}", count(failed as u64, "request given up", "requests given up")))
}
