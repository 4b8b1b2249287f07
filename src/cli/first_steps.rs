//! Arguments of `list`, `show`, `init`, `completions` and `man`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use foretell_scenarios::ShippedKind;

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// What to list. Without it, all names are listed.
    pub kind: Option<ListKind>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// What can be listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ListKind {
    /// Scenarios that come with the program.
    Scenarios,
    /// Sweeps that come with the program.
    Sweeps,
    /// Profiles of storage devices.
    Devices,
    /// Profiles of processors.
    Cpus,
    /// Replication and erasure codes.
    Encodings,
    /// Ciphers of volumes.
    Ciphers,
    /// Placements of groups of blocks on nodes.
    Placements,
    /// Replacement policies of caches.
    Policies,
    /// I/O schedulers of disks and guests.
    Schedulers,
    /// Kinds of workloads.
    Workloads,
    /// Orders of addresses of a workload.
    Patterns,
    /// Arrival processes of a workload.
    Arrivals,
    /// Storage systems.
    Systems,
    /// Formats of block traces.
    Formats,
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowNamedArguments {
    /// A scenario, sweep, device or cpu: `first-look`, `sata-ssd`, `sweeps/virtualized`.
    #[arg(value_parser = Names(&ShippedKind::ALL), hide_possible_values = true)]
    pub name: String,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `init`.
#[derive(Debug, Args)]
pub struct InitArguments {
    /// The file to write. It must not exist.
    #[arg(default_value = "scenario.toml", value_name = "FILE.toml")]
    pub file: PathBuf,
    /// Copy this scenario that comes with the program, instead of the commented first one.
    #[arg(long, value_name = "NAME", value_parser = Names(&[ShippedKind::Scenario]),
          hide_possible_values = true)]
    pub from: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell that completes commands.
    pub shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArguments {
    /// The command, such as `learn train`. Without it, the page of `foretell` itself is printed.
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    pub command: Vec<String>,
    /// Write the pages of all commands into this directory.
    #[arg(short = 'o', long = "output", value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace foretell's files in DIR even if another command made them, or if they were changed since.
    /// Files that foretell did not make are never replaced.
    #[arg(long, requires = "output")]
    pub force: bool,
}

/// Accepts any text. Shells offer the names of what comes with the program.
#[derive(Clone, Copy)]
pub(crate) struct Names(pub(crate) &'static [ShippedKind]);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let shipped = self.0.iter().flat_map(|kind| kind.files());
        Some(Box::new(shipped.map(|(name, _)| PossibleValue::new(*name))))
    }
}

/// The directory in which profiles are found by name.
pub(crate) fn here() -> &'static Path {
    Path::new("")
}
