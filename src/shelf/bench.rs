//! Measuring a storage device as an operator does when it is installed: a program that reads and
//! writes it and looks at the clock.

use std::collections::BTreeSet;

use foretell_algorithms::io_scheduler::Io;
use foretell_scenarios::device::Device as Profile;
use foretell_scenarios::model::{Disk, Scheduler};
use foretell_sim::device::Device;
use foretell_units::{Op, SECTOR_BYTES, Sectors, Seed, SimSpan, SimTime, Stream};
use foretell_whatif::{Continued, Measurement, Positioning, QUANTILES, Random};

/// Places at which the rate of sequential operations is measured.
const PLACES: u64 = 17;
/// Trials for each distance.
const TRIALS: usize = 96;
/// Sizes of random operations.
const SIZES: [u64; 4] = [4 << 10, 16 << 10, 64 << 10, 256 << 10];
/// How many random operations the device has at a time.
const DEPTHS: [u32; 5] = [1, 4, 16, 64, 256];
/// Sectors of the operations whose positioning is measured: 8 KiB.
const PIECE: u64 = 16;
/// Sectors of large operations: 128 KiB.
const LARGE: u64 = 256;
/// A buffer of so many writes is hardly ever full.
const HARDLY_FULL: u32 = 1000;
/// Longest measuring of one figure, in the device's own time.
const PATIENCE: SimSpan = SimSpan::from_secs(20);

/// A device on the bench.
struct Bench {
    device: Device<u32>,
    now: SimTime,
    calls: BTreeSet<SimTime>,
    sectors: u64,
    stream: Stream,
}

/// What is measured of a device.
pub(crate) fn measure(name: &str, profile: &Profile) -> Measurement {
    let spec =
        Disk { device_name: name.to_owned(), device: profile.clone(), scheduler: Scheduler::Fcfs };
    let depth = match profile {
        Profile::Drive(drive) => drive.specification().queue_depth,
        Profile::Ssd(ssd) => ssd.queue_depth,
        Profile::Mechanical(_) | Profile::Measured { .. } => 1,
        Profile::Array(_) => 256,
        Profile::Curves(curves) => curves.queue_depth,
    };
    let fresh = || Bench {
        device: Device::new(&spec),
        now: SimTime::ZERO,
        calls: BTreeSet::new(),
        sectors: profile.capacity().get() / SECTOR_BYTES,
        stream: Seed(1).stream("bench"),
    };
    let moves = matches!(profile, Profile::Mechanical(_) | Profile::Drive(_));
    let (mut reads, mut writes) = (fresh(), fresh());
    let stream_bytes_per_s = [reads.streams(Op::Read), writes.streams(Op::Write)];
    let write_alone_ns = writes.writes_alone();
    let buffered_writes = fresh().buffered_writes(write_alone_ns[0].1);
    let is_soon_full = moves && (1..HARDLY_FULL).contains(&buffered_writes);
    let joined_writes = |alone_ns| fresh().joined_writes(buffered_writes, alone_ns);
    let joined_write_sectors = if is_soon_full { joined_writes(write_alone_ns[1].1) } else { 0 };
    let random_ns = fresh().random(Op::Read, 8 << 10, 1).mean_ns;
    let (read_ahead_sectors, read_ahead_holds_read) = fresh().read_ahead(random_ns);
    let reads_on = read_ahead_sectors > 0;
    let read_ahead_streams = if reads_on { fresh().read_ahead_streams(random_ns) } else { 0 };
    let outer = stream_bytes_per_s[0][0];
    let read_ahead_stops = fresh().read_ahead_stops(random_ns, read_ahead_sectors, outer);
    let ops = [Op::Read, Op::Write];
    let positioning = ops.map(|op| {
        // the medium passes as fast for writes, which may lose a turn between two operations
        let rates = &stream_bytes_per_s[0];
        let buffered = if op == Op::Write && is_soon_full { buffered_writes } else { 0 };
        if moves { fresh().positioning(op, buffered, rates) } else { Vec::new() }
    });
    let continued = ops.map(|op| if moves { fresh().continued(op, outer) } else { Vec::new() });
    let depths: Vec<u32> = DEPTHS.into_iter().filter(|&at| at == 1 || at <= depth).collect();
    let random = ops.map(|op| {
        let mut found = Vec::new();
        for bytes in SIZES {
            // the deepest first: a buffer is then full
            let mut bench = fresh();
            for &depth in depths.iter().rev() {
                bench.pause(SimSpan::from_ms(if depth == 1 { 2000 } else { 0 }));
                found.push(bench.random(op, bytes, depth));
            }
        }
        found.reverse();
        found.sort_by_key(|point| (point.bytes, point.depth));
        found
    });
    let read_ahead_hit_ns = fresh().read_ahead_hits();
    let waiting = || fresh().reads_wait_for_writes(read_ahead_hit_ns[0].1);
    let reads_wait_for_writes = reads_on && is_soon_full && waiting();
    Measurement {
        capacity_bytes: profile.capacity().get(),
        depth,
        stream_bytes_per_s,
        positioning,
        continued,
        random,
        buffered_writes,
        joined_write_sectors,
        write_alone_ns,
        read_ahead_sectors,
        read_ahead_holds_read,
        read_ahead_streams,
        read_ahead_stops,
        read_ahead_hit_ns,
        reads_wait_for_writes,
    }
}

impl Bench {
    fn submit(&mut self, op: Op, lbn: u64, sectors: u64, tag: u32) {
        let io = Io { lbn: Sectors(lbn), sectors: Sectors(sectors), op, thread: 1, tag };
        if let Some(at) = self.device.submit(self.now, io) {
            self.calls.insert(at);
        }
    }

    /// Waits for the next operation to be done, until then at the most.
    fn step(&mut self, until: SimTime) -> Option<u32> {
        while let Some(&at) = self.calls.first() {
            if at > until {
                break;
            }
            self.calls.pop_first();
            self.now = self.now.max(at);
            let completion = self.device.complete(self.now);
            if let Some(next) = completion.next {
                self.calls.insert(next);
            }
            if let Some(done) = completion.done {
                return Some(done.io.tag);
            }
        }
        None
    }

    /// Lets time pass.
    fn pause(&mut self, span: SimSpan) {
        let until = self.now + span;
        while self.step(until).is_some() {}
        self.now = until;
    }

    /// One operation, nothing else being there: how long it takes.
    fn one(&mut self, op: Op, lbn: u64, sectors: u64) -> f64 {
        let start = self.now;
        self.submit(op, lbn.min(self.sectors - sectors), sectors, 0);
        while self.step(SimTime::from_ns(u64::MAX)).is_none() {}
        (self.now - start).as_ns() as f64
    }

    /// A multiple of so many sectors, of which as many follow.
    fn anywhere(&mut self, sectors: u64) -> u64 {
        self.stream.below(self.sectors / sectors - 1) * sectors
    }

    /// Rates of long sequential operations over the device.
    fn streams(&mut self, op: Op) -> Vec<f64> {
        let piece = 512;
        let pieces = 48;
        let run = piece * pieces;
        let rate = |bench: &mut Self, place: u64| {
            let last = bench.sectors.saturating_sub(run + piece);
            let from = last / (PLACES - 1) * place;
            bench.one(op, from, piece);
            let start = bench.now;
            for number in 1..pieces {
                bench.one(op, from + number * piece, piece);
            }
            let spent = (bench.now - start).as_secs_f64();
            ((pieces - 1) * piece * SECTOR_BYTES) as f64 / spent
        };
        (0..PLACES).map(|place| rate(self, place)).collect()
    }

    /// Positioning around the middle of the device, whose buffer takes so many operations before it
    /// has done one.
    fn positioning(&mut self, op: Op, buffered: u32, bytes_per_s: &[f64]) -> Vec<Positioning> {
        let mut distances: Vec<i64> = Vec::new();
        let mut near = 8_i64;
        while near <= 8192 {
            distances.extend([near, -near]);
            near *= 2;
        }
        let mut far = 16_384.0;
        while far < 0.95 * self.sectors as f64 {
            distances.extend([far as i64, -(far as i64)]);
            far *= 1.8;
        }
        let end = (self.sectors - self.sectors / 64).cast_signed();
        distances.extend([end, -end]);
        distances.sort_unstable();
        let mut measured = |&distance: &i64| self.distance((op, buffered), distance, bytes_per_s);
        distances.iter().map(&mut measured).collect()
    }

    /// Times of operations a distance after another.
    fn distance(
        &mut self,
        (op, buffered): (Op, u32),
        distance_sectors: i64,
        bytes_per_s: &[f64],
    ) -> Positioning {
        // spread over so much that the device's own buffer does not know the place
        let spread = self.sectors / 8;
        let room = self.sectors - 4 * PIECE;
        // beyond a track the angle of the platter is any
        let way = distance_sectors.unsigned_abs();
        let scatter = if way >= 1024 { (way / 4).max(1024).min(self.sectors / 64) } else { 0 };
        let way = (way + scatter).min(room - 1);
        let spread = spread.min(room - way).max(1);
        let first = (room - way - spread) / 2 + if distance_sectors < 0 { way } else { 0 };
        let mut found: Vec<f64> = (0..TRIALS)
            .map(|_| {
                let idle = self.stream.below(20_000_000);
                self.pause(SimSpan::from_ns(idle));
                let from = first + self.stream.below(spread);
                self.one(op, from, PIECE);
                let off =
                    (self.stream.below(2 * scatter + 1)).cast_signed() - scatter.cast_signed();
                let to = (from + PIECE).saturating_add_signed(distance_sectors + off);
                let place = (to * (PLACES - 1) / self.sectors).min(PLACES - 1) as usize;
                let transfer = (PIECE * SECTOR_BYTES) as f64 / bytes_per_s[place] * 1e9;
                let mut taken = self.one(op, to, PIECE);
                // what went into the buffer is on the medium when so many more have been taken
                for _ in 0..buffered {
                    let elsewhere = self.anywhere(PIECE);
                    taken = self.one(op, elsewhere, PIECE);
                }
                (taken - transfer).max(0.0)
            })
            .collect();
        found.sort_by(f64::total_cmp);
        let quantiles_ns = std::array::from_fn(|place| {
            let at = place as f64 / (QUANTILES - 1) as f64 * (TRIALS - 1) as f64;
            let below = (at as usize).min(TRIALS - 2);
            let part = at - below as f64;
            found[below] * (1.0 - part) + found[below + 1] * part
        });
        let from_sector = first + spread / 2;
        Positioning { from_sector, distance_sectors, quantiles_ns }
    }

    /// What a pause costs before an operation that continues another.
    fn continued(&mut self, op: Op, bytes_per_s: f64) -> Vec<Continued> {
        let piece = 128;
        let transfer = (piece * SECTOR_BYTES) as f64 / bytes_per_s * 1e9;
        let pauses_us = [0, 200, 500, 1000, 2000, 3000, 4000, 6000, 8000, 12_000, 20_000, 50_000];
        let mut found = Vec::new();
        for pause_us in pauses_us {
            let mut sum = 0.0;
            let trials = 24;
            let mut at = 0;
            for _ in 0..trials {
                let skip = self.stream.below(self.sectors / 64);
                let idle = self.stream.below(20_000_000);
                self.pause(SimSpan::from_ns(idle));
                at = (at + skip) % (self.sectors / 32);
                self.one(op, at, piece);
                self.one(op, at + piece, piece);
                self.pause(SimSpan::from_us(pause_us));
                sum += self.one(op, at + 2 * piece, piece) - transfer;
                at += 3 * piece;
            }
            let pause_ns = pause_us as f64 * 1e3;
            found.push(Continued { pause_ns, mean_ns: sum / f64::from(trials) });
        }
        found
    }

    /// Times of single random writes after a pause, by size.
    fn writes_alone(&mut self) -> Vec<(u64, f64)> {
        let mut mean = |bytes: u64| {
            let (sectors, trials) = (bytes / SECTOR_BYTES, 24);
            let mut sum = 0.0;
            for _ in 0..trials {
                let idle = 50_000_000 + self.stream.below(20_000_000);
                self.pause(SimSpan::from_ns(idle));
                let lbn = self.anywhere(sectors);
                sum += self.one(Op::Write, lbn, sectors);
            }
            (bytes, sum / f64::from(trials))
        };
        [PIECE, LARGE].map(|sectors| mean(sectors * SECTOR_BYTES)).to_vec()
    }

    /// Reads somewhere, and lets the device read on.
    fn read_somewhere(&mut self, sectors: u64) -> u64 {
        let at = self.stream.below(self.sectors / 2);
        self.one(Op::Read, at, sectors);
        self.pause(SimSpan::from_ms(60));
        at + sectors
    }

    /// How far the device reads on behind a read of so many sectors.
    fn reads_on(&mut self, sectors: u64, random_ns: f64) -> u64 {
        const MOST: u64 = 1 << 14;
        let end = self.read_somewhere(sectors);
        let hit = self.one(Op::Read, end, PIECE).min(0.25 * random_ns);
        // what lies behind may come under the head at once, but hardly again and again
        let mut is_known = |distance: u64| {
            (0..4).all(|trial| {
                let end = self.read_somewhere(sectors);
                self.pause(SimSpan::from_us(2300) * trial);
                self.one(Op::Read, end + distance - PIECE, PIECE) < 1.5 * hit
            })
        };
        let mut known = 0;
        let mut unknown = PIECE;
        while unknown <= MOST && is_known(unknown) {
            (known, unknown) = (unknown, 2 * unknown);
        }
        while known < MOST && unknown - known > PIECE {
            let between = known.midpoint(unknown) / PIECE * PIECE;
            if is_known(between) {
                known = between;
            } else {
                unknown = between;
            }
        }
        known
    }

    /// How far the device reads on, and whether from the beginning of a read rather than from its end.
    fn read_ahead(&mut self, random_ns: f64) -> (u64, bool) {
        let behind_small = self.reads_on(PIECE, random_ns);
        let large = 8 * PIECE;
        let behind_large = self.reads_on(large, random_ns);
        let holds_read = behind_small > large && behind_large + large / 2 < behind_small;
        if holds_read { (behind_small + PIECE, true) } else { (behind_small, false) }
    }

    /// Behind how many reads the device remembers what it has read on to.
    fn read_ahead_streams(&mut self, random_ns: f64) -> u32 {
        let mut streams = 0;
        for doubling in 0..=6_u32 {
            let many = 1 << doubling;
            let first = self.read_somewhere(PIECE);
            for _ in 1..many {
                self.read_somewhere(PIECE);
            }
            if self.one(Op::Read, first, PIECE) >= 0.25 * random_ns {
                break;
            }
            streams = many;
        }
        streams
    }

    /// Whether a reader that is half as fast as the medium has to wait for it again and again: the
    /// device has read on as far as it does, stops, and loses its place.
    fn read_ahead_stops(&mut self, random_ns: f64, far: u64, bytes_per_s: f64) -> bool {
        let sectors = 8 * PIECE;
        let transfer = SimSpan::from_secs_f64((sectors * SECTOR_BYTES) as f64 / bytes_per_s);
        let mut at = self.read_somewhere(PIECE);
        let mut waits = 0;
        for _ in 0..16 * far / sectors {
            waits += u32::from(self.one(Op::Read, at, sectors) >= 0.25 * random_ns);
            at += sectors;
            self.pause(transfer);
        }
        waits > 1
    }

    /// Whether a read of what the device has read on to waits for a write that was taken before it and
    /// is not on the medium: `hit_ns` is the time of one that does not.
    fn reads_wait_for_writes(&mut self, hit_ns: f64) -> bool {
        const TRIALS: usize = 9;
        let waits = (0..TRIALS).filter(|_| {
            let end = self.read_somewhere(PIECE);
            let lbn = self.anywhere(PIECE);
            self.one(Op::Write, lbn, PIECE);
            self.one(Op::Read, end, PIECE) > 5.0 * hit_ns
        });
        waits.count() > TRIALS / 2
    }

    /// Times of reads of what the device has read on to, by size.
    fn read_ahead_hits(&mut self) -> Vec<(u64, f64)> {
        let mut mean = |bytes: u64| {
            let (sectors, trials) = (bytes / SECTOR_BYTES, 12);
            let mut sum = 0.0;
            for _ in 0..trials {
                let end = self.read_somewhere(PIECE);
                sum += self.one(Op::Read, end, sectors);
            }
            (bytes, sum / f64::from(trials))
        };
        [4 << 10, 64 << 10].map(&mut mean).to_vec()
    }

    /// Random writes one after the other that are taken faster than the medium can: `alone_ns` is
    /// the time of one after a pause.
    fn buffered_writes(&mut self, alone_ns: f64) -> u32 {
        const MOST: u32 = 100_000;
        self.pause(SimSpan::from_secs(1));
        for number in 0..MOST {
            let lbn = self.anywhere(PIECE);
            if self.one(Op::Write, lbn, PIECE) > 5.0 * alone_ns {
                return number;
            }
            // they are all alike: nothing is buffered
            if number == 500 && alone_ns > 1e6 {
                return 0;
            }
        }
        MOST
    }

    /// Sectors that one random write and those that continue it may leave in a device's buffer, where
    /// these are taken as fast as any: `alone_ns` is the time of one after a pause.
    fn joined_writes(&mut self, buffered: u32, alone_ns: f64) -> u64 {
        const MOST: u64 = 1 << 16;
        const TRIALS: usize = 9;
        let mut joined = [0; TRIALS];
        for joined in &mut joined {
            self.pause(SimSpan::from_secs(1));
            for _ in 1..buffered {
                let lbn = self.anywhere(PIECE);
                self.one(Op::Write, lbn, PIECE);
            }
            let first = self.stream.below(self.sectors.saturating_sub(MOST + LARGE).max(1));
            self.one(Op::Write, first, LARGE);
            let mut end = LARGE;
            while end < MOST && self.one(Op::Write, first + end, LARGE) < 1.5 * alone_ns {
                end += LARGE;
            }
            *joined = if end > LARGE { end } else { 0 };
        }
        joined.sort_unstable();
        joined[TRIALS / 2]
    }

    /// Random operations, so many at a time.
    fn random(&mut self, op: Op, bytes: u64, depth: u32) -> Random {
        let sectors = bytes / SECTOR_BYTES;
        let wanted = if depth == 1 { 200 } else { 400 + 20 * u64::from(depth) };
        let blocks = self.sectors / sectors;
        let begin = self.now;
        let mut started = Vec::new();
        for tag in 0..depth {
            started.push(self.now);
            let lbn = self.stream.below(blocks) * sectors;
            self.submit(op, lbn, sectors, tag);
        }
        let (mut done, mut sum, mut counted) = (0, 0.0, 0_u64);
        let mut from = self.now;
        let warm = u64::from(depth) * 2;
        while done < wanted + warm && self.now < begin + PATIENCE {
            let Some(tag) = self.step(SimTime::from_ns(u64::MAX)) else { break };
            done += 1;
            if done == warm {
                from = self.now;
            }
            if done > warm {
                sum += (self.now - started[tag as usize]).as_ns() as f64;
                counted += 1;
            }
            started[tag as usize] = self.now;
            let lbn = self.stream.below(blocks) * sectors;
            self.submit(op, lbn, sectors, tag);
        }
        let seconds = (self.now - from).as_secs_f64().max(1e-9);
        // what is still there is waited for
        while self.device.present() > 0 {
            if self.step(SimTime::from_ns(u64::MAX)).is_none() {
                break;
            }
        }
        Random {
            bytes,
            depth,
            mean_ns: sum / counted.max(1) as f64,
            per_s: counted as f64 / seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use foretell_scenarios::Document;

    use super::*;

    #[test]
    fn a_drives_buffer_is_measured_to_the_sector() {
        let scenario = Document::shipped("first-look").unwrap().unwrap().check().unwrap();
        let mut storage = scenario.hosts.iter().filter_map(|host| host.role.storage());
        let disk = &storage.next().unwrap().disks[0];
        assert_eq!(disk.device_name, "sata-7200-2005");
        let found = measure(&disk.device_name, &disk.device);
        // segments of 1024 sectors hold what is read on to, and a write with what continues it
        assert_eq!((found.read_ahead_sectors, found.read_ahead_holds_read), (1024, false));
        assert_eq!((found.buffered_writes, found.joined_write_sectors), (1, 1024));
        // nothing else is done until all is written
        assert!(found.reads_wait_for_writes);
        // a write a little before the last waits for a turn of 8.3 ms, all but that
        let before = found.positioning[1].iter().find(|point| point.distance_sectors == -64);
        let middle_ms = before.unwrap().quantiles_ns[QUANTILES / 2] / 1e6;
        assert!((6.5..8.3).contains(&middle_ms), "{middle_ms}");
    }
}
