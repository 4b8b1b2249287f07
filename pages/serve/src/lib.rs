//! `foretell serve`: scenarios in a browser. They are edited with the checker's messages in place, run with live
//! progress, asked about by sliders, and compared.
//!
//! The server offers the library's functions over HTTP and JSON, described by `/api/openapi.json`, and one page
//! that uses nothing else. Runs are kept below the served directory, so they outlive the server. Sweeps in that
//! directory are followed while `foretell sweep` does their runs.
//!
//! Access ([`guard`]): without a token the server listens only on this machine, and answers only requests with its
//! own `Host` and `Origin`. So no other page in the user's browser can use it. With a token every request must
//! carry it. A scenario or a question may read files of the served directory only. Sizes, times and numbers are limited
//! ([`limits`]).
//!
//! Left out: several users with separate rights, encryption (use a reverse proxy for it), saving scenarios, beginning
//! sweeps.

mod api;
mod connections;
pub mod guard;
pub mod limits;
mod problem;
mod runs;
mod settings;
mod sweeps;
mod turns;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use guard::Guard;
use runs::Runs;
use sweeps::Sweeps;

/// Functions that the server needs from the program around it.
pub trait Tools: Send + Sync + 'static {
    /// The page of `foretell report` about the results in these directories.
    fn report(&self, results: &[PathBuf]) -> Result<String, String>;
    /// The document of `foretell trace --json` about a request of a run.
    fn trace(&self, run: &Path, request: u64) -> Result<String, String>;
}

/// Settings of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The served directory: its runs are offered, and new runs are kept in its subdirectory `served`.
    pub directory: PathBuf,
    /// The address to listen on.
    pub address: IpAddr,
    /// The port; 0: any free port.
    pub port: u16,
    /// The token that requests must carry; needed if other machines can connect.
    pub token: Option<String>,
    /// Number of simultaneous runs.
    pub jobs: usize,
}

/// The reason why the server does not run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Other machines could connect without a token.
    #[error(
        "{0} can be reached by others: give a token of 16 characters or more (`--token-file`, or the environment \
         variable `FORETELL_TOKEN`)"
    )]
    NeedsToken(IpAddr),
    /// The token can be guessed, or does not fit into an address and a cookie.
    #[error("a token has 16 characters or more: letters, digits, `-` and `_`")]
    BadToken,
    /// The directory cannot be served.
    #[error("cannot serve `{}`: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The error.
        error: io::Error,
    },
    /// The address cannot be used.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error.
        error: io::Error,
    },
    /// The server ended.
    #[error("the server ended: {0}")]
    Ended(io::Error),
}

/// Minimum length of a token in characters; shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// Serves until the process ends. `ready` is called with the address once connections are accepted.
///
/// # Errors
///
/// If the directory is not a directory, the address cannot be listened on, or other machines could connect without
/// a token.
pub fn serve(
    options: &Options,
    tools: impl Tools,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let is_good = |token: &String| {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        token.len() >= SHORTEST_TOKEN && token.chars().all(fits)
    };
    if !options.token.as_ref().is_none_or(is_good) {
        return Err(ServeError::BadToken);
    }
    if options.token.is_none() && !options.address.is_loopback() {
        return Err(ServeError::NeedsToken(options.address));
    }
    let wrong = |error| ServeError::Directory { path: options.directory.clone(), error };
    let directory = options.directory.canonicalize().map_err(wrong)?;
    let runs = Runs::new(&directory, options.jobs).map_err(wrong)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(limits::BLOCKING_THREADS + api::turns())
        .enable_all()
        .build()
        .map_err(ServeError::Ended)?;
    let address = SocketAddr::new(options.address, options.port);
    runtime.block_on(async {
        let listen = |error| ServeError::Listen { address, error };
        let listener = tokio::net::TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let guard = Guard::new(address, options.token.as_deref());
        let sweeps = Sweeps::new(&directory);
        let router = api::router(Arc::new(runs), sweeps, Arc::new(tools), guard);
        ready(address);
        connections::serve(listener, router).await;
        Ok(())
    })
}
