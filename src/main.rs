//! The command `foretell`.

use std::process::ExitCode;

use foretell::cli;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if arguments.len() < 2 {
        return foretell::welcome();
    }
    match cli::parse(arguments) {
        Ok(cli) => foretell::execute(cli),
        Err(error) => foretell::report_usage(&error),
    }
}
