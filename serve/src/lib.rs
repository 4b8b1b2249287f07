//! `foretell serve`: scenarios in a browser. They are edited with the checker's messages in place, run with live
//! progress, asked by sliders, and compared.
//!
//! The server offers what the library does as HTTP and JSON, described by `/api/openapi.json`, and one page that
//! uses nothing else. Runs are kept below the directory that is served, so that they outlive the server.
//!
//! Who may do what ([`guard`]): without a token the server listens on this machine alone, and answers requests
//! only whose `Host` and `Origin` are its own, so that no other page in the user's browser can use it. With a
//! token every request must carry it. A scenario may read files of the served directory alone. Sizes, times and
//! numbers are limited ([`limits`]).
//!
//! Left out: several users with rights of their own, encryption (put a reverse proxy before it), saving scenarios.

mod api;
pub mod guard;
pub mod limits;
mod problem;
mod runs;
mod settings;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use guard::Guard;
use runs::Runs;

/// What the server takes from the program that it is part of.
pub trait Tools: Send + Sync + 'static {
    /// The page of `foretell report` about runs in these directories.
    fn report(&self, runs: &[PathBuf]) -> Result<String, String>;
    /// The document of `foretell trace --json` about a request of a run.
    fn trace(&self, run: &Path, request: u64) -> Result<String, String>;
}

/// What is served, to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs in it are offered, and new ones kept in its subdirectory `served`.
    pub directory: PathBuf,
    /// Where to listen.
    pub address: IpAddr,
    /// 0: any that is free.
    pub port: u16,
    /// What requests must carry; needed where others than this machine can connect.
    pub token: Option<String>,
    /// Runs at a time.
    pub jobs: usize,
}

/// Why there is no server.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Others could connect, and do what they like.
    #[error("{0} can be reached by others: give a token of 16 characters or more (`--token`)")]
    NeedsToken(IpAddr),
    /// The token can be guessed, or does not fit into an address and a cookie.
    #[error("a token has 16 characters or more: letters, digits, `-` and `_`")]
    BadToken,
    /// The directory cannot be served.
    #[error("cannot serve `{}`: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        error: io::Error,
    },
    /// The address cannot be used.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// The server ended.
    #[error("the server ended: {0}")]
    Ended(io::Error),
}

/// Characters of a token at least: fewer can be guessed.
const SHORTEST_TOKEN: usize = 16;

/// Serves until the process ends. `ready` is given the address once connections are accepted.
///
/// # Errors
///
/// If the directory is none, the address cannot be listened on, or others could connect without a token.
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
        .max_blocking_threads(limits::BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(ServeError::Ended)?;
    let address = SocketAddr::new(options.address, options.port);
    runtime.block_on(async {
        let listen = |error| ServeError::Listen { address, error };
        let listener = tokio::net::TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let guard = Guard::new(address, options.token.as_deref());
        let router = api::router(Arc::new(runs), Arc::new(tools), guard);
        ready(address);
        axum::serve(listener, router).await.map_err(ServeError::Ended)
    })
}
