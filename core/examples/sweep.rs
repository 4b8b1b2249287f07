//! Does the first runs of a sweep on all processors, and prints the throughput of each run beside its
//! factors.
//!
//!     cargo run --release -p foretell-core --example sweep -- scenarios/sweeps/encoding-choice.toml

use std::ops::ControlFlow;
use std::thread::available_parallelism;

use foretell_core::{Error, Sweep};

fn main() -> Result<(), Error> {
    let file = std::env::args().nth(1).expect("a sweep file");
    let sweep = Sweep::load(file)?;
    let threads = available_parallelism().unwrap_or(std::num::NonZeroUsize::MIN);
    let done = sweep.perform(threads, |swept, result| {
        let what: Vec<String> =
            swept.factors.iter().map(|(name, value)| format!("{name}={value}")).collect();
        match result {
            Ok(outcome) => {
                let rate: f64 = outcome.truth.workloads.values().map(|w| w.throughput_rps).sum();
                println!("{rate:.0} requests/s: {}", what.join(", "));
            }
            Err(error) => println!("{}: {error}", what.join(", ")),
        }
        if swept.run < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    match done {
        Ok(runs) => println!("all {runs} runs"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
