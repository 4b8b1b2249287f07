//! Arguments of `serve`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Directory whose runs and sweeps the page offers. New runs are kept in its subdirectory `served`.
    /// Scenarios may name files in it and below.
    #[arg(default_value = ".", value_name = "DIR")]
    pub directory: PathBuf,
    /// Port to listen on; 0 takes any free port.
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Address to listen on. If other computers can reach it, a token is required.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub address: IpAddr,
    /// Secret that every request must carry: open the page once with `?token=TOKEN`, or send
    /// `Authorization: Bearer TOKEN`. It has at least 16 letters, digits, `-` or `_`. Other users of this
    /// computer can see the command line, but not the environment variable `FORETELL_TOKEN` or a `--token-file`.
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub token: Option<String>,
    /// File with the token.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Number of simulations at a time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub jobs: u8,
}
