//! Table of how much data volumes hold, and of how many failures lose no data and stop no requests.

use std::fmt::Write as _;

use foretell_core::Capacities;
use foretell_report::survivors;
use foretell_scenarios::model::Scenario;
use foretell_sorted::SortedMap;

/// The table as text.
pub(crate) fn text(capacity: &Capacities) -> String {
    let cost = format!("{}/usable TiB", capacity.currency);
    let mut table = crate::tables::table(&[
        "volume",
        "stored",
        "usable",
        "overhead",
        "fullest",
        "survives any",
        "serves without any",
        &cost,
    ]);
    for (name, volume) in &capacity.volumes {
        table.add_row([
            name.clone(),
            crate::import::in_tib(volume.stored_bytes),
            crate::import::in_tib(volume.usable_bytes),
            format!("{:.2}", volume.overhead),
            format!("{:.1} %", 100.0 * volume.fill),
            some_of(&volume.survives),
            some_of(&volume.serves),
            volume.cost_per_usable_tib.map_or("-".to_owned(), |cost| format!("{cost:.0}")),
        ]);
    }
    let mut text = String::new();
    let _ = writeln!(text, "What volumes hold and survive\n{}", crate::screen::fitted(&table, 1));
    text
}

/// The setting that says how many copies or fragments of a group must be up: Ceph's, or Ursa Minor's.
pub(crate) fn least_key(scenario: &Scenario) -> &'static str {
    if scenario.system.traits().disks_are_servers() { "min_size" } else { "min_write" }
}

/// What a group consists of.
pub(crate) fn members(scenario: &Scenario) -> &'static str {
    if scenario.system.traits().clients_encode() { "fragments" } else { "copies or shards" }
}

fn some_of(kinds: &SortedMap<String, usize>) -> String {
    survivors(kinds.iter().map(|(kind, count)| (*count as u64, kind)))
}
