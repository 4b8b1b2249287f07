//! Shipped solid-state drives compared with the figures of their data sheets.

use crate::common;

use common::device;
use foretell_scenarios::device::{Device, Precondition, Ssd as Spec};
use foretell_sim::disk::Io;
use foretell_sim::ssd::Ssd;
use foretell_units::{Bytes, Op, Sectors, Seed, SimTime};

fn ssd(name: &str) -> Spec {
    let Device::Ssd(spec) = device(name) else { panic!("`{name}` is a solid-state drive") };
    spec
}

/// Operations of one size and kind, sequential or random.
#[derive(Clone, Copy)]
struct Load {
    op: Op,
    size: Bytes,
    random: bool,
    outstanding: u32,
}

const SEQUENTIAL: Load =
    Load { op: Op::Read, size: Bytes::kib(128), random: false, outstanding: 32 };
const RANDOM: Load = Load { op: Op::Read, size: Bytes::kib(4), random: true, outstanding: 128 };

/// Operations a second of a closed loop: `warm` operations that are not counted, then the same
/// number that are.
fn rate(spec: &Spec, load: Load, warm: u64) -> f64 {
    measured(spec, load, warm).0
}

/// The same, and the number of erased blocks.
fn measured(spec: &Spec, load: Load, warm: u64) -> (f64, u64) {
    let mut stream = Seed(8).stream("load");
    let places = spec.capacity.get() / load.size.get();
    let mut next_place = 0;
    let mut draw = || {
        let place = if load.random { stream.below(places) } else { next_place };
        next_place += 1;
        let sectors = load.size.get() / 512;
        Io {
            lbn: Sectors(place * sectors),
            sectors: Sectors(sectors),
            op: load.op,
            thread: 0,
            tag: (),
        }
    };
    let mut ssd = Ssd::new(spec);
    let mut next = None;
    for _ in 0..load.outstanding {
        next = ssd.submit(SimTime::ZERO, draw());
    }
    let (mut taken, mut begun, mut done) = (0, SimTime::ZERO, Vec::new());
    loop {
        let now = next.expect("something is outstanding");
        next = ssd.complete(now, &mut done);
        for _ in done.drain(..) {
            taken += 1;
            if taken == warm {
                begun = now;
            }
            if taken == 2 * warm {
                ssd.audit(now).unwrap();
                let per_s = warm as f64 / (now - begun).as_secs_f64();
                return (per_s, ssd.written().erased);
            }
            let wake = ssd.submit(now, draw());
            next = [next, wake].into_iter().flatten().min();
        }
    }
}

fn within_5_percent(what: &str, found: f64, published: f64) {
    println!("{what}: {found:.0}, published {published:.0}");
    assert!((found / published - 1.0).abs() < 0.05, "{what}: {found}, published {published}");
}

/// The four figures of a data sheet: bytes a second of sequential reads and writes, operations a
/// second of random reads and writes of 4 KiB.
fn published(name: &str, outstanding: u32, figures: [f64; 4]) {
    let spec = ssd(name);
    let [read, write, random_read, random_write] = figures;
    let size = SEQUENTIAL.size.get() as f64;
    within_5_percent("sequential reads", size * rate(&spec, SEQUENTIAL, 20_000), read);
    // sequential writes are measured on a drive that was written sequentially (SNIA, PTS 2.0.2, throughput test); with
    // little spare room, so that it soon collects blocks
    let mut written = spec.clone();
    (written.precondition, written.over_provisioning) = (Precondition::Sequential, 0.003);
    let load = Load { op: Op::Write, ..SEQUENTIAL };
    let (per_s, erased) = measured(&written, load, 40_000);
    assert!(erased > 0, "it collects blocks");
    within_5_percent("sequential writes", size * per_s, write);
    // after random writes, a part of the data in each block must be moved at first
    let (per_s, erased) = measured(&spec, load, 20_000);
    assert!(erased > 0 && size * per_s > 0.4 * write, "{erased}, {}", size * per_s);
    let load = Load { outstanding, ..RANDOM };
    within_5_percent("random reads", rate(&spec, load, 100_000), random_read);
    let load = Load { op: Op::Write, outstanding, ..RANDOM };
    within_5_percent("random writes", rate(&spec, load, 200_000), random_write);
}

#[test]
fn published_figures_of_the_sata_drive() {
    published("sata-ssd", 32, [520e6, 485e6, 97_000.0, 29_000.0]);
}

#[test]
fn published_figures_of_the_nvme_drive() {
    // random figures with 4 workers of 64 outstanding each
    published("nvme-3gbs", 256, [3.2e9, 1.05e9, 490_000.0, 38_000.0]);
    // 85 us and 20 us with one outstanding
    let spec = ssd("nvme-3gbs");
    let one = Load { outstanding: 1, ..RANDOM };
    let read = 1e6 / rate(&spec, one, 1000);
    assert!((read / 85.0 - 1.0).abs() < 0.05, "{read} us");
    let write = 1e6 / rate(&spec, Load { op: Op::Write, ..one }, 1000);
    assert!((write / 20.0 - 1.0).abs() < 0.2, "{write} us");
}
