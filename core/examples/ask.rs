//! Keeps the records of one run, asks them what changes would do, and checks one of the answers.
//!
//!     cargo run --release -p foretell-core --example ask

use foretell_core::{Change, Model, Run, Scenario, record, unwatched};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scenario = Scenario::load("first-look")?;
    scenario.set("duration", "5 s")?;
    let directory = std::env::temp_dir().join("foretell-example-ask");
    record(&scenario, &directory, unwatched)?;

    let run = Run::open(&directory)?;
    let changes = [
        "volume.mail.encoding=1-of-2",
        "node.brick.cache.size=64 MiB",
        "client.app.nic.rate=10 Gbit/s",
    ];
    for change in changes {
        let change: Change = change.parse()?;
        let answer = run.ask(std::slice::from_ref(&change), Model::Replay)?;
        println!("{change}: {:.0} requests/s", answer.workloads["mail"].throughput_rps);
    }
    let change: Change = changes[0].parse()?;
    for found in run.score(&[change], Model::Replay, unwatched)? {
        println!("{} {}: off by {:.1} %", found.workload, found.metric, 100.0 * found.error);
    }
    Ok(())
}
