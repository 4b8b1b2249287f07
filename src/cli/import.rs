//! What can be typed after `import`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Arguments of `import`.
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// What is imported.
    #[command(subcommand)]
    pub format: ImportFormat,
}

/// What can be imported.
#[derive(Debug, Subcommand)]
pub enum ImportFormat {
    /// DiskSim's description of a drive (.parv, .diskspecs, .model, .seek), as a device file.
    Diskspecs(DiskspecsArguments),
}

/// Arguments of `import diskspecs`.
#[derive(Debug, Args)]
pub struct DiskspecsArguments {
    /// The description: its first file (.parv, else .diskspecs, else .model), from which the others
    /// are found; or all of them.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Which disk, if the description has several: the name of its block.
    #[arg(long, value_name = "NAME")]
    pub disk: Option<String>,
    /// Write the device file here. Without it the file is printed.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
}
