//! Shows how good predictions are in general. Random questions about random clusters are each answered and
//! then simulated.
//!
//! `cargo run --release -p foretell-core --example score`

use foretell_core::jobs::{Unwatched, Workers};
use foretell_core::random::{Draw, Generator};
use foretell_core::score::{Judge, experience, score_random, spread};
use foretell_core::{Asked, Error};

fn main() -> Result<(), Error> {
    let experience = experience(None)?;
    let threads = std::thread::available_parallelism().unwrap_or(std::num::NonZeroUsize::MIN);
    let workers = Workers { threads, watch: &Unwatched };
    let judge = Judge { asked: Asked::Auto, experience: &experience, workers };
    let draw = Draw { seed: 7, system: None, generator: Generator::V4 };
    let scored = score_random(2, draw, judge)?;
    for metric in ["throughput_rps", "response_time_ms.mean"] {
        let errors = spread(scored.iter().flat_map(|case| &case.comparisons), metric);
        println!("{metric}: half of {} within {:.1} %", errors.count, 100.0 * errors.median);
    }
    Ok(())
}
