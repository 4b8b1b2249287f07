//! The command `foretell`.

use std::process::ExitCode;

use clap::Parser;
use foretell::cli::Cli;

fn main() -> ExitCode {
    // wrong usage ends here, with status 2
    let cli = Cli::parse();
    foretell::execute(cli)
}
