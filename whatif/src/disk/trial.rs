//! Runs a device model through the operations of a measurement, for comparison.

use std::sync::Arc;

use foretell_algorithms::io_scheduler::{Io, SchedulerKind};
use foretell_units::{Op, SECTOR_BYTES, Sectors, Seed, SimTime};

use super::{Disk, Done, Measurement};

/// Random operations at a queue depth.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// Bytes of each.
    pub bytes: u64,
    /// Queue depth.
    pub depth: u32,
    /// Share of reads.
    pub read_share: f64,
    /// Number of operations before measuring begins, and while it lasts.
    pub operations: (u64, u64),
}

/// The model's results for a trial: operations a second and mean response time, ns, by [`Op`]. The
/// scheduler orders the waiting operations.
pub fn trial(measured: &Measurement, scheduler: SchedulerKind, trial: &Trial) -> [(f64, f64); 2] {
    let seed = Seed(1 << 63);
    let measured = Arc::new(measured.clone());
    let mut disk = Disk::new(scheduler, &measured, seed.stream("disk"));
    let mut draws = seed.stream("trial");
    let sectors = trial.bytes / SECTOR_BYTES;
    let places = (measured.capacity_bytes / SECTOR_BYTES / sectors).max(1);
    let mut next = |now: SimTime, tag: u32, disk: &mut Disk| {
        let op = if draws.chance(trial.read_share) { Op::Read } else { Op::Write };
        let lbn = Sectors(draws.below(places) * sectors);
        let call = disk.submit(now, Io { lbn, sectors: Sectors(sectors), op, thread: 1, tag });
        ((op, now), call)
    };
    let mut now = SimTime::ZERO;
    let (mut started, mut call) = (Vec::new(), None);
    for tag in 0..trial.depth {
        let (one, at) = next(now, tag, &mut disk);
        started.push(one);
        call = at;
    }
    let (before, counted) = trial.operations;
    let (mut done, mut all, mut from) = (Vec::new(), 0, now);
    let mut found = [(0_u64, 0.0); 2];
    while all < before + counted {
        let Some(at) = call else { break };
        now = now.max(at);
        call = disk.complete(now, &mut done);
        for Done { number, .. } in std::mem::take(&mut done) {
            let (op, since) = started[number as usize];
            all += 1;
            if all == before {
                from = now;
            } else if all > before {
                let sum = &mut found[super::index(op)];
                sum.0 += 1;
                sum.1 += (now - since).as_ns() as f64;
            }
            let (one, at) = next(now, number, &mut disk);
            started[number as usize] = one;
            call = at;
        }
    }
    let seconds = (now - from).as_secs_f64().max(1e-9);
    found.map(|(count, sum)| (count as f64 / seconds, sum / (count as f64).max(1.0)))
}
