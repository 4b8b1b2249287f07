//! `foretell replay-disk`: compares a disk model with the real disk whose trace it replays.

use std::io::BufReader;
use std::path::Path;

use foretell_scenarios::device::Device;
use foretell_sim::disk::Mechanism;
use foretell_sim::disk::drive::Drive;
use foretell_sim::disk::replay::{Comparison, Summary, TraceError, replay_validate};
use foretell_workloads::trace::decompressed;
use serde_json::{Value, json};

use crate::cli::ReplayDiskArguments;
use crate::failure::Failure;
use crate::screen::fitted;
use crate::tables::table;

/// Runs the command.
pub(crate) fn replay_disk(arguments: &ReplayDiskArguments) -> Result<(), Failure> {
    let device = Device::named(&arguments.device)?;
    let found = compare(&device, &arguments.trace)?;
    let text = if arguments.json { as_json(arguments, &found) } else { as_text(arguments, &found) };
    crate::output::print(&text)
}

fn compare(device: &Device, trace: &Path) -> Result<Comparison, Failure> {
    let shown = trace.display();
    let unreadable =
        |error: std::io::Error| Failure::Usage(format!("cannot read the trace `{shown}`: {error}"));
    let file = foretell_input::open(trace).map_err(unreadable)?;
    let input = BufReader::new(decompressed(file).map_err(unreadable)?);
    let found = match device {
        Device::Mechanical(disk) => replay_validate(&mut Mechanism::new(disk), input),
        Device::Drive(drive) => replay_validate(&mut Drive::new(drive), input),
        _ => {
            return Err(Failure::Usage(
                "`replay-disk` compares disks with moving heads, of kind `disk` or `drive`; this device is \
                 of another kind"
                    .to_owned(),
            ));
        }
    };
    found.map_err(|error| match error {
        TraceError::Read { error, .. } => unreadable(error),
        error => Failure::Usage(format!("{shown}: {error}")),
    })
}

fn as_text(arguments: &ReplayDiskArguments, found: &Comparison) -> String {
    let mut times = table(&["", "n", "mean ms", "p95 ms", "p99 ms"]);
    for (what, summary) in [("model", &found.model), ("real disk", &found.real)] {
        times.add_row([
            what.to_owned(),
            found.requests.to_string(),
            format!("{:.3}", summary.mean_ms),
            format!("{:.3}", summary.p95_ms),
            format!("{:.3}", summary.p99_ms),
        ]);
    }
    let share = match found.real.mean_ms {
        mean if mean > 0.0 => format!(", {:.1} % of the real mean", 100.0 * found.rms_ms / mean),
        _ => String::new(),
    };
    format!(
        "{}, {}: {} requests, {} reads and {} writes, one at a time\n\n{}\n\n\
         RMS demerit {:.3} ms{share}\n",
        arguments.device,
        arguments.trace.display(),
        found.requests,
        found.reads,
        found.requests - found.reads,
        fitted(&times, 1),
        found.rms_ms
    )
}

fn as_json(arguments: &ReplayDiskArguments, found: &Comparison) -> String {
    let times = |summary: &Summary| -> Value {
        json!({
            "mean_ms": summary.mean_ms,
            "p95_ms": summary.p95_ms,
            "p99_ms": summary.p99_ms,
        })
    };
    let document = json!({
        "device": arguments.device,
        "trace": arguments.trace.display().to_string(),
        "requests": found.requests,
        "reads": found.reads,
        "writes": found.requests - found.reads,
        "model": times(&found.model),
        "real": times(&found.real),
        "rms_ms": found.rms_ms,
    });
    crate::output::json(&document)
}
