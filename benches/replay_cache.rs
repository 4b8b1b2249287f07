//! `foretell replay-cache` on a binary trace: references per CPU-second of the whole command,
//! reading and counting included.
//!
//! `cargo bench -p foretell --bench replay_cache`. Each figure is the best of several runs; the
//! targets stand beside. The command prints its results too.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use cpu_time::ProcessTime;
use foretell::cli::Cli;
use foretell_units::Seed;
use foretell_workloads::generate::Zipf;

/// References in the trace.
const REFERENCES: u64 = 10_000_000;

/// Writes a trace in the format `oracleGeneral`: reads of 4 KiB of a million objects by Zipf's law
/// with exponent 1.
fn write_trace(path: &Path) -> std::io::Result<()> {
    let zipf = Zipf::new(1_000_000, 1.0).expect("a law");
    let mut stream = Seed(1).stream("bench");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for number in 0..REFERENCES {
        // an odd factor permutes the numbers modulo 2^20, so that popular objects lie apart
        let object = zipf.draw(&mut stream).wrapping_mul(0x9e37_79b1) & ((1 << 20) - 1);
        file.write_all(&((number / 1000) as u32).to_le_bytes())?;
        file.write_all(&object.to_le_bytes())?;
        file.write_all(&4096_u32.to_le_bytes())?;
        file.write_all(&(-1_i64).to_le_bytes())?;
    }
    file.flush()
}

/// Runs the command several times.
fn measure(name: &str, target: &str, trace: &Path, arguments: &[&str]) {
    let line = ["foretell", "replay-cache", trace.to_str().expect("a plain path"), "--jobs", "1"];
    let best = (0..5)
        .map(|_| {
            let cli = Cli::parse_from(line.iter().chain(arguments));
            let start = ProcessTime::now();
            assert!(foretell::execute(cli) == ExitCode::SUCCESS);
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    let rate = REFERENCES as f64 / best / 1e6;
    println!("\n=> {name:36} {rate:8.2} M references/CPU-s {best:7.2} CPU-s  {target}\n");
}

fn main() {
    let directory = tempfile::tempdir().expect("a directory");
    let trace = directory.path().join("zipf.oracleGeneral.bin");
    write_trace(&trace).expect("a trace");
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    for (name, target, arguments) in [
        ("lru, 100,000 objects", "target 15 M/s", "--policy lru --size 100000"),
        ("s3-fifo, 100,000 objects", "target 10 M/s", "--policy s3-fifo --size 100000"),
        ("sieve, 100,000 objects", "target 10 M/s", "--policy sieve --size 100000"),
        ("all policies, 100,000 objects", "", "--policy all --size 100000"),
        ("lru, 100,000 pages of 4 KiB", "", "--policy lru --size 100000 --pages 4KiB --block 4KiB"),
        ("exact curve of lru", "target 3 CPU-s", "--curve"),
        ("curve of lru from a tenth", "", "--sample 0.1"),
    ] {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            let arguments: Vec<&str> = arguments.split(' ').collect();
            measure(name, target, &trace, &arguments);
        }
    }
}
