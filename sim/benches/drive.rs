//! Requests per CPU-second of replay on each real drive's description.
//!
//! `cargo bench -p foretell-sim --bench drive`. The trace of each drive in `../shared/data/disks`
//! is replayed repeatedly.

use std::fs::File;
use std::io::BufReader;

use cpu_time::ProcessTime;
use foretell_scenarios::diskspecs::import_file;
use foretell_sim::disk::drive::Drive;
use foretell_sim::disk::replay::{read_trace, replay};

fn main() {
    let Some(disks) = foretell_test_data::shared("disks") else { return };
    for name in ["hp_c3323a", "cheetah9LP", "barracuda"] {
        let import = import_file(&disks.join(name).with_extension("parv"), None)
            .unwrap_or_else(|error| panic!("{error}"));
        let file =
            File::open(disks.join(name).with_extension("trace")).expect("the trace is there");
        let trace = read_trace(BufReader::new(file)).expect("the trace is whole");
        let rounds = 300;
        let start = ProcessTime::now();
        let mut total = 0;
        for _ in 0..rounds {
            let mut drive = Drive::new(&import.drive);
            total += replay(&mut drive, &trace).len();
        }
        let took = start.elapsed().as_secs_f64();
        let rate = total as f64 / took / 1e6;
        println!("{name}: {rate:.2} M requests per CPU-second ({total} requests, {took:.2} s)");
    }
}
