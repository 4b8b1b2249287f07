//! What can be typed after `serve`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

/// Arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArguments {
    /// Runs in this directory are offered. New ones are kept in its subdirectory `served`, and scenarios may
    /// name files below it.
    #[arg(default_value = ".", value_name = "DIR")]
    pub directory: PathBuf,
    /// Port; 0 takes any that is free.
    #[arg(long, default_value_t = 8080)]
    pub port: u16,
    /// Address to listen on. One that others can reach needs `--token`.
    #[arg(long, default_value = "127.0.0.1", value_name = "ADDRESS")]
    pub address: IpAddr,
    /// What every request must carry: open the page with `?token=TOKEN` once, or send `Authorization: Bearer
    /// TOKEN`. 16 or more letters, digits, `-` or `_`.
    #[arg(long, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Runs at a time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub jobs: u8,
}
