//! Requests per CPU-second of a disk array.
//!
//! `cargo bench -p foretell-sim --bench array`. A closed loop keeps 64 operations of 4 KiB outstanding
//! at the shipped `ds8700-raid5`. One working set fits its caches, so only the controller works. The
//! other is larger, so the seven drives work too.

use cpu_time::ProcessTime;
use foretell_scenarios::device::{Array as Spec, Device};
use foretell_scenarios::model::Scheduler;
use foretell_sim::array::Array;
use foretell_sim::device::Model as _;
use foretell_sim::disk::Io;
use foretell_units::{Op, Sectors, Seed, SimTime};

fn shipped() -> Spec {
    let Ok(Device::Array(spec)) = Device::named("ds8700-raid5") else {
        panic!("it is not an array")
    };
    *spec
}

/// Keeps 64 operations outstanding on a working set of `mib` MiB. The first `warm` operations are not
/// timed.
fn run(what: &str, reads: f64, random: bool, mib: u64, warm: u64, count: u64) {
    let mut stream = Seed(3).stream("bench");
    let range = (mib << 20) / 4096;
    let mut place = 0;
    let mut draw = || {
        place = if random { stream.below(range) } else { (place + 1) % range };
        let op = if stream.chance(reads) { Op::Read } else { Op::Write };
        Io { lbn: Sectors(place * 8), sectors: Sectors(8), op, thread: 0, tag: () }
    };
    let mut array = Array::new(&shipped(), Scheduler::Elevator);
    let mut next = None;
    for _ in 0..64 {
        next = array.submit(SimTime::ZERO, draw());
    }
    let mut done = Vec::new();
    let (mut taken, mut start, mut begun) = (0, ProcessTime::now(), SimTime::ZERO);
    let mut before = array.member_operations();
    let now = loop {
        let now = next.expect("something is outstanding");
        next = array.complete(now, &mut done);
        for _ in done.drain(..) {
            taken += 1;
            if taken == warm {
                array.mark(now);
                (begun, start, before) = (now, ProcessTime::now(), array.member_operations());
            }
            let wake = array.submit(now, draw());
            next = [next, wake].into_iter().flatten().min();
        }
        if taken >= warm + count {
            break now;
        }
    };
    let took = start.elapsed().as_secs_f64();
    let rate = count as f64 / took / 1e6;
    let iops = count as f64 / (now - begun).as_secs_f64();
    let hits = array.hits().unwrap_or_default().read;
    let found = hits.hits as f64 / hits.pages.max(1) as f64;
    let after = array.member_operations();
    let members = (after.reads + after.writes - before.reads - before.writes) as f64;
    println!(
        "{what}: {rate:.2} M requests per CPU-second ({iops:.0} a second simulated, {found:.3} hits, \
         {:.3} operations of members each)",
        members / count as f64
    );
}

fn main() {
    let million = 1_000_000;

    run("reads in the cache", 1.0, true, 64, million, 4 * million);
    run("writes in the write cache", 0.0, true, 512, million, 4 * million);
    run("half and half in the caches", 0.5, true, 512, million, 4 * million);
    run("sequential reads", 1.0, false, 100_000, 200_000, million);
    run("sequential writes", 0.0, false, 100_000, million, 2 * million);
    run("random reads", 1.0, true, 800_000, 20_000, 200_000);
    run("random writes, destaged", 0.0, true, 800_000, 600_000, 200_000);
}
