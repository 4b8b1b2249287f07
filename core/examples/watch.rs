//! Watches a run, and ends it when it has seen enough.
//!
//!     cargo run --release -p foretell-core --example watch

use std::ops::ControlFlow;

use foretell_core::{Error, Scenario, run};

fn main() -> Result<(), Error> {
    let scenario = Scenario::load("first-look")?;
    let mut seen = 0;
    let outcome = run(&scenario, |progress| {
        seen = progress.requests;
        if seen < 2_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    match outcome {
        Ok(outcome) => println!("{} events", outcome.truth.events),
        Err(Error::Run(error)) => println!("ended after {seen} requests: {error}"),
        Err(error) => return Err(error),
    }
    Ok(())
}
