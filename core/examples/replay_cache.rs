//! Hit rates of two policies over a trace of blocks that are read in a loop.
//!
//!     cargo run --release -p foretell-core --example replay_cache

use std::ops::ControlFlow;

use foretell_core::replay_cache::{CacheReplay, CacheSize};
use foretell_core::{replay_cache, to_json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::temp_dir().join("foretell-example-trace.txt");
    let blocks = (0..20_000).map(|number| format!("{}\n", number % 1_000));
    std::fs::write(&file, blocks.collect::<String>())?;
    let report = replay_cache(
        &CacheReplay {
            trace: file,
            policies: vec!["lru".parse()?, "s3-fifo".parse()?],
            sizes: vec![CacheSize::Count(500)],
            ..CacheReplay::default()
        },
        |_| ControlFlow::Continue(()),
    )?;
    for row in report.rows() {
        println!("{}: {:.1} %", row.policy, 100.0 * row.outcome.ratio().unwrap_or(0.0));
    }
    println!("{}", to_json(&report));
    Ok(())
}
