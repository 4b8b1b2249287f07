//! Arguments of `calibrate`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use foretell_algorithms::codec::Encoding;
use foretell_units::Bytes;

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// What to calibrate.
    #[command(subcommand)]
    pub what: Calibration,
}

/// What can be calibrated.
#[derive(Debug, Subcommand)]
pub enum Calibration {
    /// Measure this host's processor by running the real codecs, and write a profile of it.
    Cpu(CalibrateCpuArguments),
    /// Write a profile of a device from results of fio on it.
    Disk(CalibrateDiskArguments),
    /// Fit the software costs of a measured cluster to a few of its points, and predict the others.
    Cluster(CalibrateClusterArguments),
}

/// Arguments of `calibrate disk`.
#[derive(Debug, Args)]
pub struct CalibrateDiskArguments {
    /// Results of fio (`--output-format=json`), all of one device.
    #[arg(long, value_name = "FILE.json", num_args = 1.., required = true)]
    pub fio: Vec<PathBuf>,
    /// Write the profile here. A scenario beside `devices/NAME.toml` can use the device as `NAME`. Without
    /// it, the profile is printed.
    #[arg(short = 'o', long = "output", value_name = "FILE.toml")]
    pub output: Option<PathBuf>,
    /// Capacity of the device. Without it, the total size of the jobs' files.
    #[arg(long, value_name = "SIZE")]
    pub capacity: Option<Bytes>,
    /// Treat devices with different names as one device, such as equal disks of several hosts.
    #[arg(long)]
    pub one_device: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `calibrate cpu`.
#[derive(Debug, Args)]
pub struct CalibrateCpuArguments {
    /// Write the profile here. A scenario beside `cpus/NAME.toml` can use the processor as `NAME`. Without
    /// it, the profile is printed.
    #[arg(short = 'o', long = "output", value_name = "FILE.toml")]
    pub output: Option<PathBuf>,
    /// Encodings to measure, each with and without encryption.
    #[arg(
        long,
        value_name = "M-of-N",
        value_delimiter = ',',
        default_values = ["1-of-1", "1-of-3", "3-of-5"]
    )]
    pub encodings: Vec<Encoding>,
    /// Minimum number of operations of each kind in a run.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub operations: u32,
    /// Size of the request whose demands are shown.
    #[arg(long, value_name = "SIZE", default_value = "32 KiB")]
    pub request: Bytes,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `calibrate cluster`.
#[derive(Debug, Args)]
pub struct CalibrateClusterArguments {
    /// Directory that `import cluster` wrote. The fitted parameters are written there to `fitted.toml`, for
    /// `validate`.
    pub directory: PathBuf,
    /// Table of the points to fit to; `docs/clusters.md` describes its columns. Rows that measure a drive
    /// alone describe the drive.
    #[arg(long, value_name = "CAL.csv")]
    pub points: PathBuf,
    /// Predict these points with the fitted parameters.
    #[arg(long, value_name = "ALL.csv")]
    pub predict: Option<PathBuf>,
    /// Number of threads; by default one for each core. The results do not depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
