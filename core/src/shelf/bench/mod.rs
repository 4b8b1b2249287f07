//! Measures a storage device as an operator does after installing it: a program reads and writes the device,
//! and measures the times.
//!
//! Random operations are measured in the steady state, as in SNIA's *Solid State Storage Performance Test
//! Specification*. First, enough data are written to fill the device's buffer. Then operations are measured
//! in rounds until the number of operations per second no longer changes. A solid-state drive begins as full
//! as its profile says, so that it collects garbage during the measurement. For an array, a single member is
//! measured. The controller is measured with operations that do not need a member.

mod array;
mod disk;
mod rig;
mod steady;

use std::sync::{Mutex, PoisonError};

use foretell_scenarios::device::Device as Profile;
use foretell_units::{Op, SECTOR_BYTES};
use foretell_whatif::{LaneShape, Measurement};

use rig::Bench;

/// Places at which the rate of sequential operations is measured.
const PLACES: u64 = 17;
/// The same for a device on which all places are equally fast.
const FEW_PLACES: u64 = 3;
/// Sectors of the operations whose positioning is measured: 8 KiB.
const PIECE: u64 = 16;
/// Sectors of large operations: 128 KiB.
const LARGE: u64 = 256;
/// A buffer that accepts this number of writes or more is hardly ever full.
const HARDLY_FULL: u32 = 1000;

/// The measurements that this process has made.
static MEASURED: Mutex<Vec<(Profile, Measurement)>> = Mutex::new(Vec::new());

/// The measurement of a device. Each profile is measured once.
pub(crate) fn measure(name: &str, profile: &Profile) -> Measurement {
    let known = |all: &[(Profile, Measurement)]| {
        all.iter().find(|(known, _)| known == profile).map(|(_, measured)| measured.clone())
    };
    let lock = || MEASURED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(measured) = known(&lock()) {
        return measured;
    }
    // another thread may measure the same profile meanwhile; the result is the same
    let measured = measure_now(name, profile);
    lock().push((profile.clone(), measured.clone()));
    measured
}

fn measure_now(name: &str, profile: &Profile) -> Measurement {
    let depth = match profile {
        Profile::Drive(drive) => drive.specification().queue_depth,
        Profile::Ssd(ssd) => ssd.queue_depth,
        Profile::Mechanical(_) | Profile::Measured { .. } => 1,
        Profile::Array(_) => 256,
        Profile::Curves(curves) => curves.queue_depth,
    };
    let fresh = || Bench::new(name, profile);
    let steady = steady::measure(name, profile, depth);
    let mut measured = Measurement {
        capacity_bytes: profile.capacity().get(),
        depth,
        stream_bytes_per_s: steady.stream_bytes_per_s,
        positioning: [Vec::new(), Vec::new()],
        continued: [Vec::new(), Vec::new()],
        random: steady.random,
        mixed: steady.mixed,
        rewriting: steady.rewriting,
        long_writes: steady.long_writes,
        write_buffer: steady.write_buffer,
        beside: steady.beside,
        array: None,
        buffered_writes: 0,
        joined_write_sectors: 0,
        write_alone_ns: fresh().writes_alone(),
        read_ahead_sectors: 0,
        read_ahead_holds_read: false,
        read_ahead_streams: 0,
        read_ahead_stops: false,
        hits_end_read_ahead: false,
        read_ahead_hit_ns: Vec::new(),
        reads_wait_for_writes: false,
        shape: LaneShape::default(),
    };
    match profile {
        Profile::Mechanical(_) | Profile::Drive(_) => turning(&mut measured, &fresh),
        Profile::Array(array) => {
            measured.array = Some(Box::new(array::measure(name, profile, array)));
        }
        _ => {}
    }
    measured
}

/// Adds the measurements that only disks need.
fn turning(measured: &mut Measurement, fresh: &dyn Fn() -> Bench) {
    let (mut reads, mut writes) = (fresh(), fresh());
    measured.stream_bytes_per_s =
        [reads.streams(Op::Read, PLACES, 48), writes.streams(Op::Write, PLACES, 48)];
    let alone = |measured: &Measurement, place: usize| measured.write_alone_ns[place].1;
    measured.buffered_writes = fresh().buffered_writes(alone(measured, 0));
    let is_soon_full = (1..HARDLY_FULL).contains(&measured.buffered_writes);
    if is_soon_full {
        let (buffered, alone) = (measured.buffered_writes, alone(measured, 1));
        measured.joined_write_sectors = fresh().joined_writes(buffered, alone);
    }
    let random_ns = fresh().random_reads_ns();
    let (sectors, holds_read) = fresh().read_ahead(random_ns);
    (measured.read_ahead_sectors, measured.read_ahead_holds_read) = (sectors, holds_read);
    let reads_on = sectors > 0;
    if reads_on {
        measured.read_ahead_streams = fresh().read_ahead_streams(random_ns);
    }
    let rates = measured.stream_bytes_per_s[0].clone();
    measured.read_ahead_stops = fresh().read_ahead_stops(random_ns, sectors, rates[0]);
    let ops = [Op::Read, Op::Write];
    measured.positioning = ops.map(|op| {
        // the medium turns at the same speed for writes; the rates of reads are used, because sequential
        // writes may lose a turn between two operations
        let buffered = if op == Op::Write && is_soon_full { measured.buffered_writes } else { 0 };
        fresh().positioning(op, buffered, &rates)
    });
    measured.continued = ops.map(|op| fresh().continued(op, rates[0]));
    measured.read_ahead_hit_ns = fresh().read_ahead_hits();
    let hit_ns = measured.read_ahead_hit_ns[0].1;
    measured.hits_end_read_ahead =
        measured.read_ahead_streams > 1 && fresh().hits_end_read_ahead(hit_ns, sectors);
    let waiting = || fresh().reads_wait_for_writes(hit_ns);
    measured.reads_wait_for_writes = reads_on && is_soon_full && waiting();
}

impl Bench {
    /// Mean time of random reads of 8 KiB, one at a time.
    fn random_reads_ns(&mut self) -> f64 {
        let mean = |bench: &mut Self| -> f64 {
            let lbn = bench.anywhere(PIECE);
            bench.one(Op::Read, lbn, PIECE)
        };
        (0..200).map(|_| mean(self)).sum::<f64>() / 200.0
    }

    /// Rates of long sequential operations over the device.
    fn streams(&mut self, op: Op, places: u64, pieces: u64) -> Vec<f64> {
        let piece = 512;
        let run = piece * pieces;
        let rate = |bench: &mut Self, place: u64| {
            let last = bench.sectors.saturating_sub(run + piece);
            let from = last / (places - 1) * place;
            bench.one(op, from, piece);
            let start = bench.now;
            for number in 1..pieces {
                bench.one(op, from + number * piece, piece);
            }
            let spent = (bench.now - start).as_secs_f64();
            ((pieces - 1) * piece * SECTOR_BYTES) as f64 / spent
        };
        (0..places).map(|place| rate(self, place)).collect()
    }
}

#[cfg(test)]
mod tests {
    use foretell_algorithms::io_scheduler::SchedulerKind;
    use foretell_scenarios::Document;
    use foretell_whatif::{QUANTILES, Random, Trial, trial};

    use super::*;

    #[test]
    fn a_drives_buffer_is_measured_to_the_sector() {
        let scenario = Document::shipped("first-look").unwrap().unwrap().check().unwrap();
        let mut storage = scenario.hosts.iter().filter_map(|host| host.role.storage());
        let disk = &storage.next().unwrap().disks[0];
        assert_eq!(disk.device_name, "sata-7200-2005");
        let found = measure(&disk.device_name, &disk.device);
        // a segment has 1024 sectors; it holds read-ahead data, or a write with the writes that continue it
        assert_eq!((found.read_ahead_sectors, found.read_ahead_holds_read), (1024, false));
        assert_eq!((found.buffered_writes, found.joined_write_sectors), (1, 1024));
        // the device does nothing else until all data are written
        assert!(found.reads_wait_for_writes);
        // a hit in another segment stops read-ahead
        assert!(found.hits_end_read_ahead);
        // a write just before the last one waits for almost a whole turn of 8.3 ms
        let before = found.positioning[1].iter().find(|point| point.distance_sectors == -64);
        let middle_ms = before.unwrap().quantiles_ns[QUANTILES / 2] / 1e6;
        assert!((6.5..8.3).contains(&middle_ms), "{middle_ms}");
    }

    /// A shipped device.
    fn shipped(name: &str) -> Profile {
        let mut document = Document::shipped("solid-state").unwrap().unwrap();
        document.set("node.sata.disk.0.device", name).unwrap();
        let scenario = document.check().unwrap();
        let found = scenario.hosts.iter().find(|host| host.name == "sata0").unwrap();
        found.role.storage().unwrap().disks[0].device.clone()
    }

    fn most_per_s(points: &[Random], bytes: u64) -> f64 {
        let here = points.iter().filter(|point| point.bytes == bytes);
        here.map(|point| point.per_s).fold(0.0, f64::max)
    }

    #[test]
    fn a_solid_state_drive_is_measured_when_its_buffer_is_full() {
        let found = measure("sata-ssd", &shipped("sata-ssd"));
        // its profile: 97,000 random reads and 29,000 random writes of 4 KB a second, 16 MiB of buffer
        let (reads, writes) =
            (most_per_s(&found.random[0], 4096), most_per_s(&found.random[1], 4096));
        assert!((reads / 97_000.0 - 1.0).abs() < 0.05, "{reads}");
        assert!((writes / 29_000.0 - 1.0).abs() < 0.05, "{writes}");
        let buffer = found.write_buffer.as_ref().unwrap();
        let mib = buffer.bytes as f64 / f64::from(1 << 20);
        assert!((13.0..19.0).contains(&mib), "{mib} MiB");
        assert!(most_per_s(&buffer.burst, 4096) > 90_000.0);
        for point in found.random.iter().flatten() {
            assert!(point.steady, "{point:?}");
        }
        // the mix has the requested share, and obeys Little's law: reads wait for dies that are being
        // programmed, so that latency limits a closed loop of sixteen, not the rate of the flash
        let half = found.mixed.iter().find(|point| {
            point.bytes == 4096 && point.depth == 16 && (point.read_share - 0.5).abs() < 0.01
        });
        let half = half.unwrap();
        let [reads, writes] = half.per_s;
        assert!((reads / writes - 1.0).abs() < 0.1, "{reads} {writes}");
        let outstanding = (reads * half.mean_ns[0] + writes * half.mean_ns[1]) / 1e9;
        assert!((outstanding / 16.0 - 1.0).abs() < 0.02, "{outstanding}");
        assert!(half.mean_ns[0] > 0.5e6, "{:?}", half.mean_ns);
        // a read waits up to 2 ms for a die that is being programmed
        let beside = |share: f64| {
            let known = found.beside.iter().filter(|known| known.bytes == 4096);
            let known =
                known.min_by_key(|known| ((known.write_share - share).abs() * 100.0) as u32);
            known.unwrap().quantiles_ns
        };
        assert!(beside(0.0)[QUANTILES - 2] < 0.12e6);
        assert!(beside(1.0)[QUANTILES / 2] > 0.5e6 && beside(1.0)[QUANTILES - 2] > 1.5e6);
    }

    /// Figures from data sheets: highest rates of random 4 KiB reads and writes a second, times of a single 4
    /// KiB operation, sequential MB/s.
    #[test]
    fn profiles_of_today_do_what_their_data_sheets_say() {
        let found = |name: &str| measure(name, &shipped(name));
        let alone_us = |random: &[Random]| random[0].mean_ns / 1e3;
        let mb_per_s = |streams: &[f64]| streams.iter().copied().fold(0.0, f64::max) / 1e6;
        let near = |what: &str, found: f64, printed: f64, share: f64| {
            println!("{what}: {found:.1}, printed {printed}");
            assert!((found / printed - 1.0).abs() <= share, "{what}: {found}, printed {printed}");
        };
        for (name, reads, outer) in
            [("hdd-16tb-7200", 170.0, 261.0), ("hdd-24tb-7200", 168.0, 285.0)]
        {
            let disk = found(name);
            let sixteen =
                disk.random[0].iter().find(|point| point.bytes == 4096 && point.depth == 16);
            near(&format!("{name}: reads, 16 at a time"), sixteen.unwrap().per_s, reads, 0.1);
            near(&format!("{name}: MB/s"), mb_per_s(&disk.stream_bytes_per_s[0]), outer, 0.05);
        }
        let four = found("hdd-4tb-7200");
        near("hdd-4tb-7200: MB/s", mb_per_s(&four.stream_bytes_per_s[0]), 215.0, 0.05);
        let nvme = found("nvme-7gbs");
        near("nvme-7gbs: reads", most_per_s(&nvme.random[0], 4096), 1e6, 0.1);
        near("nvme-7gbs: writes", most_per_s(&nvme.random[1], 4096), 180e3, 0.1);
        // data sheets state rates with many requests outstanding
        let read_mb_per_s = |random: &[Random]| most_per_s(random, 262_144) * 0.262_144;
        near("nvme-7gbs: MB/s read", read_mb_per_s(&nvme.random[0]), 6800.0, 0.1);
        let optane = found("optane-p4800x");
        near("optane-p4800x: reads", most_per_s(&optane.random[0], 4096), 584_800.0, 0.1);
        near("optane-p4800x: writes", most_per_s(&optane.random[1], 4096), 500e3, 0.15);
        near("optane-p4800x: a read alone, us", alone_us(&optane.random[0]), 8.9, 0.1);
        near("optane-p4800x: MB/s read", read_mb_per_s(&optane.random[0]), 2400.0, 0.1);
        // one at a time, each followed by a flush
        for name in ["sata-ssd-no-plp", "nvme-no-plp"] {
            let drive = found(name);
            let one = drive.random[1].iter().find(|point| point.bytes == 4096 && point.depth == 1);
            let per_s = one.unwrap().per_s;
            println!("{name}: {per_s:.0} writes a second one at a time");
            assert!((400.0..1500.0).contains(&per_s), "{name}: {per_s}");
            assert!(drive.write_buffer.is_none());
        }
    }

    #[test]
    fn an_array_is_measured_when_its_write_cache_is_full() {
        let profile = shipped("ds8700-raid5");
        let found = measure("ds8700-raid5", &profile);
        let facts = found.array.as_ref().unwrap();
        // a write needs two reads and two writes, on seven members that each do about 200 operations a second
        let member = most_per_s(&facts.member.random[0], 4096);
        for bytes in [4096, 16_384] {
            let writes = most_per_s(&found.random[1], bytes);
            assert!((0.5..2.5).contains(&(writes / (7.0 * member / 4.0))), "{bytes}: {writes}");
        }
        // a write into the cache takes 0.2 ms, and 4 KiB over the link between the controllers and over the
        // interface
        assert!((facts.controller_ns[1][0].1 / 0.2067e6 - 1.0).abs() < 0.01);
        assert!((facts.line_ns[1][0].1 / 4096.0 - 1.0).abs() < 0.1, "{:?}", facts.line_ns[1]);
    }

    /// The models reproduce the measured loads.
    #[test]
    #[ignore = "takes minutes: `.ci/run --full` runs it"]
    fn models_do_what_was_measured() {
        for (name, scheduler) in
            [("sata-ssd", SchedulerKind::Fcfs), ("nvme-3gbs", SchedulerKind::Fcfs)]
        {
            let measured = measure(name, &shipped(name));
            let mut wrong = Vec::new();
            let mut check = |bytes: u64, depth: u32, read_share: f64, known: [(f64, f64); 2]| {
                let buffer = measured.write_buffer.as_ref().map_or(0, |buffer| buffer.bytes);
                // where writes arrive hardly faster than the buffer drains, it takes long to fill
                let before = if read_share < 1.0 { buffer / bytes * 12 } else { 400 };
                let operations = (before.min(60_000), 20_000);
                let found =
                    trial(&measured, scheduler, &Trial { bytes, depth, read_share, operations });
                for (op, (found, known)) in ["reads", "writes"].iter().zip(found.iter().zip(known))
                {
                    if known.0 > 0.0 && (found.0 / known.0 - 1.0).abs() > 0.15 {
                        wrong.push(format!(
                            "{name} {bytes} B x {depth}, {read_share} reads: {op} {:.0}/s, not {:.0}",
                            found.0, known.0
                        ));
                    }
                }
            };
            for (place, share) in [(0, 1.0), (1, 0.0)] {
                for point in &measured.random[place] {
                    let mut known = [(0.0, 0.0); 2];
                    known[place] = (point.per_s, point.mean_ns);
                    check(point.bytes, point.depth, share, known);
                }
            }
            for point in &measured.mixed {
                let known = [0, 1].map(|op| (point.per_s[op], point.mean_ns[op]));
                check(point.bytes, point.depth, point.read_share, known);
            }
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}
