//! `foretell completions`: a script with which a shell completes our commands, options and names.
//!
//! Names of scenarios are offered to `run` only in bash, which falls back to files where no name fits.
//! Other shells would no longer offer files.

use clap::Command;
use clap_complete::Shell;
use foretell_scenarios::ShippedKind;

use crate::cli::{CompletionsArguments, Names, command};
use crate::failure::Failure;
use crate::output;

/// Runs the command.
pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut command = command();
    if arguments.shell == Shell::Bash {
        command = with_names(command);
    }
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "foretell", &mut script);
    let script = String::from_utf8(script).expect("scripts are texts");
    output::print(&script)
}

fn with_names(command: Command) -> Command {
    let scenario = |argument: clap::Arg| argument.value_parser(Names(&[ShippedKind::Scenario]));
    let sweep = |argument: clap::Arg| argument.value_parser(Names(&[ShippedKind::Sweep]));
    let device = |argument: clap::Arg| argument.value_parser(Names(&[ShippedKind::Device]));
    command
        .mut_subcommand("run", |run| run.mut_arg("scenario", scenario))
        .mut_subcommand("sweep", |run| run.mut_arg("sweep", sweep))
        .mut_subcommand("replay-disk", |run| run.mut_arg("device", device))
}
