//! The command line of `foretell`: one file for each command. It connects the crates and models
//! nothing.

mod ask;
mod calibrate;
mod capacity;
pub mod cli;
mod completions;
mod estimate;
mod export;
mod failure;
mod import;
mod init;
mod inspect;
mod interrupt;
mod jobs;
mod laboratory;
mod learn;
mod list;
mod man;
mod output;
mod plan;
mod prices;
mod progress;
mod replay_cache;
mod replay_disk;
mod report;
mod reproduce;
mod run;
mod scenario;
mod schema;
mod score;
mod screen;
#[cfg(feature = "serve")]
mod serve;
mod show;
mod sweep;
mod tables;
mod trace;
mod validate;

use std::process::ExitCode;

use cli::{Cli, Command};
pub use failure::{Failure, report_usage};

/// The text for a call without arguments.
const WELCOME: &str = "\
A storage-cluster simulator that predicts what a change would do.

Three commands to try:
  foretell run first-look      simulate a small cluster: throughput, response times, bottleneck
  foretell list                what comes with the program: scenarios, devices, policies
  foretell init first.toml     write a scenario of your own, with comments

`foretell help` lists all commands, `foretell COMMAND --help` explains one.
";

/// Prints how to begin.
pub fn welcome() -> ExitCode {
    output::print(WELCOME).map_or_else(Failure::report, |()| ExitCode::SUCCESS)
}

/// Runs a command and returns the exit status: 0 success, 1 a run failed, 2 wrong input, 130
/// interrupted.
pub fn execute(cli: Cli) -> ExitCode {
    interrupt::install();
    let done = match cli.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Ask(arguments) => ask::ask(&arguments),
        Command::Score(arguments) => score::score(&arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Report(arguments) => report::report(&arguments),
        Command::Laboratory(arguments) => laboratory::laboratory(&arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::serve(&arguments),
        #[cfg(not(feature = "serve"))]
        Command::Serve(_) => Err(Failure::Usage(
            "this build has no server; build with `--features serve`".to_owned(),
        )),
        Command::Trace(arguments) => trace::trace(&arguments),
        Command::ReplayCache(arguments) => replay_cache::replay_cache(&arguments),
        Command::Calibrate(arguments) => calibrate::calibrate(&arguments),
        Command::Validate(arguments) => validate::validate(&arguments),
        Command::Estimate(arguments) => estimate::estimate(&arguments),
        Command::ReplayDisk(arguments) => replay_disk::replay_disk(&arguments),
        Command::Plan(arguments) => plan::plan(&arguments),
        Command::Import(arguments) => import::import(&arguments),
        Command::Learn(arguments) => learn::learn(&arguments),
        Command::Sweep(arguments) => sweep::sweep(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Inspect(arguments) => inspect::inspect(&arguments),
        Command::List(arguments) => list::list(&arguments),
        Command::Show(arguments) => show::show(&arguments),
        Command::Schema(arguments) => schema::schema(&arguments),
        Command::Init(arguments) => init::init(&arguments),
        Command::Completions(arguments) => completions::completions(&arguments),
        Command::Man(arguments) => man::man(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
