//! Requests per CPU-second of solid-state drives.
//!
//! `cargo bench -p foretell-sim --bench ssd`. A closed loop keeps 64 operations of 4 KiB
//! outstanding at a drive that was filled with random writes. It does reads, writes with garbage
//! collection in steady state, and seven reads to three writes; over the whole drive and over 64
//! GiB of it. MQSim (Tavakkol et al., FAST 2018) does 62,000 requests a CPU-second on such a
//! machine.

use cpu_time::ProcessTime;
use foretell_scenarios::device::{Device, Ssd as Spec};
use foretell_sim::disk::Io;
use foretell_sim::ssd::Ssd;
use foretell_units::{Op, Sectors, Seed, SimTime};

fn shipped(name: &str) -> Spec {
    let Ok(Device::Ssd(spec)) = Device::named(name) else { panic!("{name} is no such drive") };
    spec
}

/// Keeps 64 operations outstanding. The warm-up before the clock runs has `count` operations too,
/// because the first use of memory costs the system as much as the drive itself.
fn run(name: &str, what: &str, reads: f64, gib: u64, count: u64) {
    let spec = shipped(name);
    let mut stream = Seed(3).stream("bench");
    let range = spec.capacity.get().min(gib << 30) / 4096;
    let mut draw = || {
        let op = if stream.chance(reads) { Op::Read } else { Op::Write };
        Io { lbn: Sectors(stream.below(range) * 8), sectors: Sectors(8), op, thread: 0, tag: () }
    };
    let mut ssd = Ssd::new(&spec);
    let mut next = None;
    for _ in 0..64 {
        next = ssd.submit(SimTime::ZERO, draw());
    }
    let mut done = Vec::new();
    let (mut taken, mut start, mut begun) = (0, ProcessTime::now(), SimTime::ZERO);
    let mut before = ssd.written();
    let mut warm = false;
    let now = loop {
        let now = next.expect("something is outstanding");
        next = ssd.complete(now, &mut done);
        taken += done.len() as u64;
        if taken >= count && !warm {
            (warm, taken, begun, start) = (true, 0, now, ProcessTime::now());
            before = ssd.written();
        }
        if warm && taken >= count {
            break now;
        }
        for _ in done.drain(..) {
            let wake = ssd.submit(now, draw());
            next = [next, wake].into_iter().flatten().min();
        }
    };
    let took = start.elapsed().as_secs_f64();
    let rate = taken as f64 / took / 1e6;
    let iops = taken as f64 / (now - begun).as_secs_f64();
    let written = ssd.written().since(&before);
    println!(
        "{name}, {what}: {rate:.2} M requests per CPU-second ({iops:.0} a second simulated, \
         amplification {:.2})",
        written.amplification()
    );
}

fn main() {
    let all = u64::MAX >> 30;
    for name in ["nvme-3gbs", "sata-ssd", "mqsim-default"] {
        run(name, "reads", 1.0, all, 4_000_000);
        run(name, "writes", 0.0, all, 2_000_000);
        run(name, "7 reads to 3 writes", 0.7, all, 3_000_000);
        run(name, "writes within 64 GiB", 0.0, 64, 2_000_000);
        run(name, "7 reads to 3 writes within 64 GiB", 0.7, 64, 3_000_000);
    }
}
