//! `foretell calibrate disk`: the profile of a device from results of fio.
//!
//! The library fits the device ([`foretell_core::calibrate::disk`]). This module shows measured and simulated figures
//! side by side.

mod report;

use foretell_core::calibrate::disk::{self as curves, evidence};
use foretell_files::FileKind;
use foretell_scenarios::curves_file;
use foretell_units::{Bytes, SECTOR_BYTES};

use super::cpu::profile_name;
use crate::cli::CalibrateDiskArguments;
use crate::failure::Failure;
use report::Report;

/// Assumed capacity of a device, if no result states it.
const ASSUMED_CAPACITY: Bytes = Bytes::gib(1024);

/// What a profile begins with.
const FILE: FileKind<'_> = FileKind::beginning(
    "a profile of `foretell calibrate disk`",
    "# latencies measured by fio in ",
);

/// Runs the command.
pub(super) fn calibrate(arguments: &CalibrateDiskArguments) -> Result<(), Failure> {
    if let Some(path) = &arguments.output {
        profile_name(path)?;
        foretell_files::check(path, FILE)?;
    }
    let evidence = evidence::read(&arguments.fio, arguments.one_device)?;
    let conditions = curves::conditions(&evidence);
    let mut notes: Vec<String> = evidence.notes.iter().cloned().collect();
    notes.extend(curves::assumptions(&conditions));
    let files = evidence
        .runs
        .iter()
        .map(|run| run.jobs.iter().try_fold(Bytes::ZERO, |sum, job| Some(sum + job.files?)));
    let capacity = match (arguments.capacity, files.flatten().max()) {
        (Some(capacity), _) if capacity < Bytes(SECTOR_BYTES) => {
            let fault = format!("`--capacity {capacity}`: a device holds at least one sector");
            return Err(Failure::Usage(fault));
        }
        (Some(capacity), _) => capacity,
        (None, Some(files)) => {
            notes.push(format!(
                "the capacity is assumed to be {files}, the total size of the jobs' files"
            ));
            files
        }
        (None, None) => {
            notes.push(format!("no job has a `size`: a capacity of {ASSUMED_CAPACITY} is assumed"));
            ASSUMED_CAPACITY
        }
    };
    let fitted = curves::fit(&conditions, capacity)?;
    let left_out = (0..conditions.len())
        .map(|number| curves::left_out(&conditions, number, capacity))
        .collect::<Result<Vec<_>, _>>()?;
    let report = Report::new(&evidence, &conditions, &fitted, &left_out, notes);
    let profile = curves_file::write(&fitted.device, &report.source(), &report.head());
    if let Some(path) = &arguments.output {
        foretell_files::write(path, FILE, profile.as_bytes())?;
    }
    let printed = if arguments.json {
        report.json(&profile)
    } else {
        report.text(arguments.output.as_deref(), &profile)
    };
    crate::output::print(&printed)
}
