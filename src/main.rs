//! The command `foretell`.

use std::process::ExitCode;

use clap::Parser;
use foretell::cli::Cli;

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => foretell::execute(cli),
        Err(error) => foretell::report_usage(&error),
    }
}
