//! `foretell calibrate`: measures profiles of real hardware, and fits costs of clusters' software.

mod cluster;
mod codecs;
mod cpu;
mod disk;
mod machine;
mod profile;
mod sockets;
mod stopwatch;

use crate::cli::{CalibrateArguments, Calibration};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn calibrate(arguments: &CalibrateArguments) -> Result<(), Failure> {
    match &arguments.what {
        Calibration::Cpu(arguments) => cpu::calibrate(arguments),
        Calibration::Disk(arguments) => disk::calibrate(arguments),
        Calibration::Cluster(arguments) => cluster::calibrate(arguments),
    }
}
