//! The face of `foretell`: one file for each command. It joins the crates and models nothing.

mod ask;
mod calibrate;
mod capacity;
pub mod cli;
mod cosbench;
mod directory;
mod estimate;
mod export;
mod facts;
mod failure;
mod font;
mod import;
mod inspect;
mod interrupt;
mod jobs;
mod learn;
mod observed;
mod output;
mod plan;
mod prices;
mod progress;
mod replay_cache;
mod replay_disk;
mod reproduce;
mod run;
mod scenario;
mod score;
mod screen;
mod shelf;
mod simulate;
mod sweep;
mod tables;
mod trace;

use std::process::ExitCode;

use cli::{Cli, Command};
pub use failure::{Failure, report_usage};

/// Runs a command and says how the process ends: 0 success, 1 a run failed, 2 wrong input, 130
/// interrupted.
pub fn execute(cli: Cli) -> ExitCode {
    interrupt::install();
    let done = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Ask(arguments) => ask::ask(&arguments),
        Command::Score(arguments) => score::score(&arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Trace(arguments) => trace::trace(&arguments),
        Command::ReplayCache(arguments) => replay_cache::replay_cache(&arguments),
        Command::Calibrate(arguments) => calibrate::calibrate(&arguments),
        Command::Estimate(arguments) => estimate::estimate(&arguments),
        Command::ReplayDisk(arguments) => replay_disk::replay_disk(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Learn(arguments) => learn::learn(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Inspect(arguments) => inspect::inspect(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
