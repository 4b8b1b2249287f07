//! Drives compared with their measured counterparts: DiskSim's validation set.
//!
//! The descriptions and traces are read from `../shared/data/disks`, relative to the project's root.
//! If that directory is absent, the tests print a note and pass.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use foretell_scenarios::diskspecs::{Import, import_file};
use foretell_scenarios::drive_file;
use foretell_sim::disk::drive::Drive;
use foretell_sim::disk::replay::{Comparison, replay_validate};

fn data(name: &str) -> Option<PathBuf> {
    Some(foretell_test_data::shared("disks")?.join(name))
}

fn import(name: &str) -> Option<Import> {
    let file = data(name)?;
    Some(import_file(&file, None).unwrap_or_else(|error| panic!("{error}")))
}

/// What DiskSim 4.0 prints for a drive of its validation set, ms.
#[derive(Clone, Copy)]
struct Published {
    mean_ms: f64,
    rms_ms: f64,
}

/// Replays a drive's trace. Mean and demerit figure are those of DiskSim 4.0, to the digits that it
/// prints, and the mean differs from that of the real drive by at most `mean` (a share of it).
fn validate(parameters: &str, trace: &str, disksim: Published, mean: f64) {
    let Some(import) = import(parameters) else { return };
    let trace = BufReader::new(File::open(data(trace).unwrap()).unwrap());
    let found: Comparison = replay_validate(&mut Drive::new(&import.drive), trace).unwrap();
    println!("{}: {found:?}", import.name);
    assert!((found.rms_ms - disksim.rms_ms).abs() < 0.0006, "{found:?}");
    assert!((found.model.mean_ms - disksim.mean_ms).abs() < 0.0011, "{found:?}");
    assert!((found.model.mean_ms / found.real.mean_ms - 1.0).abs() < mean, "{found:?}");
}

#[test]
fn published_validation_of_the_hp_c3323a() {
    // 15.573 of 15.765 ms, 1.2 % off
    let disksim = Published { mean_ms: 15.573, rms_ms: 0.305 };
    validate("hp_c3323a.parv", "hp_c3323a.trace", disksim, 0.02);
}

#[test]
fn published_validation_of_the_cheetah_9lp() {
    // 4.231 of 4.273 ms, 1.0 % off
    let disksim = Published { mean_ms: 4.231, rms_ms: 0.107 };
    validate("cheetah9LP.parv", "cheetah9LP.trace", disksim, 0.02);
}

#[test]
fn published_validation_of_the_barracuda() {
    // 6.426 of 6.627 ms, 3.0 % off
    let disksim = Published { mean_ms: 6.426, rms_ms: 0.348 };
    validate("barracuda.parv", "barracuda.trace", disksim, 0.04);
}

/// The shipped files of the three drives contain only data-sheet figures and a fitted seek curve:
/// two dozen figures instead of a hundred. They are nearly as accurate.
#[test]
fn shipped_files_of_the_three_drives_keep_to_the_same_bounds() {
    for (device, trace, disksim_rms_ms) in [
        ("hp-c3323a.toml", "hp_c3323a.trace", 0.305),
        ("cheetah-9lp.toml", "cheetah9LP.trace", 0.107),
        ("barracuda-4lp.toml", "barracuda.trace", 0.348),
    ] {
        let Some(trace) = data(trace) else { return };
        let devices = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scenarios/devices");
        let text = std::fs::read_to_string(devices.join(device)).unwrap();
        let spec = drive_file::parse(&text).unwrap_or_else(|error| panic!("{device}: {error}"));
        let trace = BufReader::new(File::open(trace).unwrap());
        let found = replay_validate(&mut Drive::new(&spec), trace).unwrap();
        println!("{device}: {found:?}");
        assert!(found.rms_ms <= 1.5 * disksim_rms_ms, "{device}: {found:?}");
    }
}

#[test]
fn what_is_written_as_a_device_file_replays_alike() {
    let Some(import) = import("cheetah9LP.parv") else { return };
    let back = drive_file::parse(&drive_file::write(&import.drive)).unwrap();
    assert_eq!(back, import.drive);
}

#[test]
fn a_description_without_a_bus_takes_that_of_the_parameter_file_beside_it() {
    let Some(whole) = import("hp_c3323a.parv") else { return };
    let part = import("hp_c3323a_validate.diskspecs").unwrap();
    assert_eq!(whole.name, part.name);
    let (whole, part) = (whole.drive.specification(), part.drive.specification());
    // 0.1455 ms a sector
    assert_eq!(part.bus.read_sector.as_ns(), 145_500);
    assert_eq!(whole.bus, part.bus);
    assert_eq!(whole.geometry, part.geometry);
}

#[test]
fn real_summaries_are_those_of_the_trace() {
    let Some(import) = import("hp_c3323a.parv") else { return };
    let trace = BufReader::new(File::open(data("hp_c3323a.trace").unwrap()).unwrap());
    let found = replay_validate(&mut Drive::new(&import.drive), trace).unwrap();
    // the data's own README: 9,074 requests, mean 15.765, p95 29.92, p99 37.11 ms
    assert_eq!(found.requests, 9074);
    let figures = [found.real.mean_ms, found.real.p95_ms, found.real.p99_ms];
    for (found, given) in figures.into_iter().zip([15.765, 29.92, 37.11]) {
        assert!((found - given).abs() < 0.006, "{found} is not {given}");
    }
}
