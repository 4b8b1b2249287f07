//! `foretell serve`: a page on which scenarios are written, run, asked about and compared.

use std::path::{Path, PathBuf};

use foretell_serve::{Options, Tools};

use crate::cli::ServeArguments;
use crate::failure::Failure;

/// The functions of other commands that the server uses.
struct Commands;

impl Tools for Commands {
    fn report(&self, runs: &[PathBuf]) -> Result<String, String> {
        let page = crate::report::page_of(runs, None).map_err(|error| error.to_string())?;
        Ok(page.html())
    }

    fn trace(&self, run: &Path, request: u64) -> Result<String, String> {
        crate::trace::document(run, request).map_err(|error| error.to_string())
    }
}

/// Runs the command.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let options = Options {
        directory: arguments.directory.clone(),
        address: arguments.address,
        port: arguments.port,
        token: arguments.token.clone(),
        jobs: usize::from(arguments.jobs),
    };
    let ready = |address| {
        let directory = arguments.directory.display();
        let token = if arguments.token.is_some() { "?token=..." } else { "" };
        let message = format!("Serving `{directory}` at http://{address}/{token} until Ctrl-C.\n");
        // the server works even without standard output
        let _ = crate::output::print(&message);
    };
    foretell_serve::serve(&options, Commands, ready)
        .map_err(|error| Failure::Usage(error.to_string()))
}
