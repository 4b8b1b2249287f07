//! Compares encodings: what clients see, and what each costs in space.
//!
//!     cargo run --release -p foretell-core --example run

use foretell_core::{Error, Scenario, run, unwatched};

fn main() -> Result<(), Error> {
    let mut scenario = Scenario::load("first-look")?;
    scenario.set("duration", "5 s")?;
    for encoding in ["1-of-2", "1-of-3", "3-of-5"] {
        scenario.set("volume.mail.encoding", encoding)?;
        let outcome = run(&scenario, unwatched)?;
        let mail = &outcome.truth.workloads["mail"];
        let (rate, mean) = (mail.throughput_rps, mail.response_time_ms.mean);
        let overhead = outcome.capacity.volumes["mail"].overhead;
        println!("{encoding}: {rate:.0} requests/s, {mean:.2} ms, {overhead:.2} bytes a byte");
    }
    Ok(())
}
