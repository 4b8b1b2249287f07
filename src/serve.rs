//! `foretell serve`: a page on which scenarios are written, run, asked about and compared.

use std::env::VarError;

use std::path::{Path, PathBuf};

use foretell_input::Limit;
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

/// The environment variable with the token.
const TOKEN: &str = "FORETELL_TOKEN";
/// The size limit of a file with a token.
const TOKEN_FILE: Limit = Limit::new(4096, "a token");

/// The token that requests must carry: from the command line, or else from the environment.
fn token(arguments: &ServeArguments) -> Result<Option<String>, Failure> {
    if let Some(path) = &arguments.token_file {
        let text = foretell_input::text(path, TOKEN_FILE).map_err(Failure::file("read", path))?;
        // an empty token is refused like any other bad one
        return Ok(Some(text.trim().to_owned()));
    }
    if arguments.token.is_some() {
        return Ok(arguments.token.clone());
    }
    match std::env::var(TOKEN) {
        // an empty token is refused, too: somebody wanted one
        Ok(token) => Ok(Some(token)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(Failure::Usage(format!("the environment variable `{TOKEN}` is not text in UTF-8")))
        }
    }
}

/// Runs the command.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let token = token(arguments)?;
    let query = if token.is_some() { "?token=..." } else { "" };
    let options = Options {
        directory: arguments.directory.clone(),
        address: arguments.address,
        port: arguments.port,
        token,
        jobs: usize::from(arguments.jobs),
    };
    let ready = |address| {
        let directory = arguments.directory.display();
        let message = format!("Serving `{directory}` at http://{address}/{query} until Ctrl-C.\n");
        // the server works even without standard output
        let _ = crate::output::print(&message);
    };
    foretell_serve::serve(&options, Commands, ready)
        .map_err(|error| Failure::Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn given(more: &[&str]) -> Result<Option<String>, Failure> {
        let words = ["foretell", "serve"].iter().chain(more);
        let Command::Serve(arguments) = Cli::try_parse_from(words).unwrap().command else {
            panic!("it is `serve`")
        };
        token(&arguments)
    }

    #[test]
    fn a_token_comes_from_a_file_or_the_command_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("token");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let file = path.display().to_string();
        let known = Some("0123456789abcdef".to_owned());
        assert_eq!(given(&["--token-file", &file]).unwrap(), known);
        assert_eq!(given(&["--token", "0123456789abcdef"]).unwrap(), known);
        assert!(given(&["--token-file", "nowhere"]).unwrap_err().to_string().contains("nowhere"));
        let both = ["foretell", "serve", "--token", "0123456789abcdef", "--token-file", &file];
        assert!(Cli::try_parse_from(both).is_err(), "which one is meant?");
    }
}
