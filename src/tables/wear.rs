//! What writing cost solid-state drives: a row for each kind of drive of each group of hosts, by the drive that wears out
//! first.

use std::cmp::Ordering;

use comfy_table::Table;
use foretell_report::MIN_EXTRAPOLATED_S;
use foretell_scenarios::model::Scenario;
use foretell_sim::truth::{FlashTruth, Truth};

use super::{number, table};

/// The drives of a kind in a group of hosts.
struct Drives {
    name: String,
    all: FlashTruth,
    /// The drive to which most was written for its endurance, and which one it is.
    worst: (FlashTruth, String),
}

/// The rows: those that wear out first at the top; `None` without solid-state drives.
pub(super) fn table_of(scenario: &Scenario, truth: &Truth) -> Option<Table> {
    let mut kinds: Vec<Drives> = Vec::new();
    for host in &scenario.hosts {
        let Some(storage) = host.role.storage() else { continue };
        let resources = &truth.hosts[&host.name];
        for (number, disk) in storage.devices().enumerate() {
            let resource = format!("disk{number}");
            let Some(flash) = resources.get(&resource).and_then(|known| known.flash) else {
                continue;
            };
            let name = format!("{} {}", host.group, disk.device_name);
            let one = || (flash, format!("{} {resource}", host.name));
            match kinds.iter_mut().find(|known| known.name == name) {
                Some(known) => {
                    known.all = known.all.and(&flash);
                    if by_wear(&flash, &known.worst.0).is_gt() {
                        known.worst = one();
                    }
                }
                None => kinds.push(Drives { name, all: flash, worst: one() }),
            }
        }
    }
    kinds.sort_by(|a, b| by_wear(&b.worst.0, &a.worst.0));
    let carries = truth.simulated_seconds >= MIN_EXTRAPOLATED_S;
    let mut head = vec!["", "drives", "MB/s each", "amplified", "erased", "worst", "its MB/s"];
    if carries {
        head.extend(["its endurance", "worn out in"]);
    }
    let mut rows = table(&head);
    for Drives { name, all, worst: (worst, which) } in &kinds {
        let mb_per_s = |flash: &FlashTruth| {
            let seconds = truth.simulated_seconds.max(1e-9);
            number(flash.written_bytes as f64 / seconds / f64::from(flash.drives) / 1e6)
        };
        let amplified = all.write_amplification;
        let mut row = vec![
            name.clone(),
            all.drives.to_string(),
            mb_per_s(all),
            amplified.map_or_else(String::new, |times| format!("{} ×", number(times))),
            all.blocks_erased.to_string(),
            which.clone(),
            mb_per_s(worst),
        ];
        if carries {
            let each = f64::from(worst.drives);
            let endurance = worst.endurance_bytes.map(|bytes| number(bytes as f64 / each / 1e12));
            row.push(endurance.map_or_else(String::new, |tb| format!("{tb} TB")));
            let years = worst.years_until_worn.map(number);
            row.push(years.map_or_else(String::new, |years| format!("{years} years")));
        }
        rows.add_row(row);
    }
    (!kinds.is_empty()).then_some(rows)
}

/// Compares how fast two drives wear: by their endurance. A drive of unknown endurance comes after all others; two such
/// drives are compared by what is written to each drive.
fn by_wear(a: &FlashTruth, b: &FlashTruth) -> Ordering {
    let written = |flash: &FlashTruth| flash.written_bytes as f64;
    let worn = |flash: &FlashTruth| {
        let endurance = flash.endurance_bytes.filter(|bytes| *bytes > 0)?;
        Some(written(flash) / endurance as f64)
    };
    let each = |flash: &FlashTruth| written(flash) / f64::from(flash.drives);
    match (worn(a), worn(b)) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        (None, None) => each(a).total_cmp(&each(b)),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drive_that_wears_out_first_comes_first() {
        let drive = |drives, written_bytes, endurance_bytes| FlashTruth {
            drives,
            written_bytes,
            programmed_bytes: 0,
            moved_bytes: 0,
            write_amplification: None,
            blocks_erased: 0,
            written_bytes_per_day: 0.0,
            endurance_bytes,
            years_until_worn: None,
        };
        let all = [
            drive(1, 10, Some(100)),
            drive(1, 50, Some(1000)),
            // even if nothing is written to drives whose endurance is known
            drive(1, 0, Some(100)),
            // to each of two drives less than to the one after
            drive(1, 60, None),
            drive(2, 100, Some(0)),
        ];
        for (place, a) in all.iter().enumerate() {
            for b in &all[place + 1..] {
                assert!(by_wear(a, b).is_gt() && by_wear(b, a).is_lt(), "{a:?} {b:?}");
            }
        }
    }
}
