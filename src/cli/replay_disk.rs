//! Arguments of `replay-disk`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `replay-disk`.
#[derive(Debug, Args)]
pub struct ReplayDiskArguments {
    /// A disk: the name of a profile that comes with the program, or a device file (TOML).
    pub device: String,
    /// A trace in DiskSim's `validate` format, plain or compressed (gzip, zstd): lines of `R|W
    /// action block sectors service_us next_us`.
    pub trace: PathBuf,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}
