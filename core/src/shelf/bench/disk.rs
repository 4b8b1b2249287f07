//! Measures what a disk's times depend on: distances, the capacity of its buffer, its read-ahead.

use foretell_units::{Op, SECTOR_BYTES, SimSpan};
use foretell_whatif::{ANY_ANGLE_SECTORS, Continued, Positioning};

use super::rig::Bench;
use super::steady::quantiles;
use super::{LARGE, PIECE, PLACES};

/// Below this distance, in sectors, positioning ahead is measured at four distances for each doubling. Assumed: while a
/// drive handles a command, fewer sectors pass the head.
const FINELY: i64 = 128;
/// Maximum number of trials for a distance that find their data in the buffer.
const FEW_HITS: usize = 4;
/// Length of a long track, in sectors. Trials for one distance end at places scattered over such a length, so that all
/// angles of the platter occur. A wider scatter would vary the seek time, too, and a drive that chooses the nearest of
/// many commands would seem faster than it is.
const TRACK: u64 = 4096;
/// Trials for each distance: a mean of times that are spread over a revolution is then within 3 %.
const TRIALS: usize = 400;

/// Removes the few trials that found their data in the drive's buffer, where an earlier trial had put them. The shortest
/// positioning times are close to each other. Hits are far below them.
fn without_hits(times_ns: &mut Vec<f64>) {
    times_ns.sort_by(f64::total_cmp);
    let usual = times_ns.get(FEW_HITS).copied().unwrap_or(0.0);
    let hits = times_ns.iter().take(FEW_HITS).filter(|time| **time < 0.7 * usual).count();
    times_ns.drain(..hits);
}

impl Bench {
    /// Positioning times around the middle of a device. Its buffer accepts `buffered` operations before the
    /// first of them is complete.
    pub(super) fn positioning(
        &mut self,
        op: Op,
        buffered: u32,
        bytes_per_s: &[f64],
    ) -> Vec<Positioning> {
        let mut distances: Vec<i64> = Vec::new();
        let mut near = 8_i64;
        while near <= 8192 {
            distances.extend([near, -near]);
            if near < FINELY {
                // a short way ahead is either just reached, or missed for a whole revolution
                distances.extend([5, 6, 7].map(|quarters| near * quarters / 4));
            }
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
        let mut measured = |&distance: &i64| self.distance(op, buffered, distance, bytes_per_s);
        distances.iter().map(&mut measured).collect()
    }

    /// Times of operations at a distance from the previous operation.
    fn distance(
        &mut self,
        op: Op,
        buffered: u32,
        distance_sectors: i64,
        bytes_per_s: &[f64],
    ) -> Positioning {
        // spread over so wide an area that the device's buffer does not hold the data
        let spread = self.sectors / 8;
        let room = self.sectors - 4 * PIECE;
        let way = distance_sectors.unsigned_abs();
        let is_scattered = way >= ANY_ANGLE_SECTORS;
        let scatter = (way / 4).clamp(ANY_ANGLE_SECTORS, TRACK).min(self.sectors / 64);
        let scatter = if is_scattered { scatter } else { 0 };
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
                // an operation in the buffer is on the medium when `buffered` more have been accepted
                for _ in 0..buffered {
                    let elsewhere = self.anywhere(PIECE);
                    taken = self.one(op, elsewhere, PIECE);
                }
                (taken - transfer).max(0.0)
            })
            .collect();
        if is_scattered {
            without_hits(&mut found);
        }
        let quantiles_ns = quantiles(found);
        let from_sector = first + spread / 2;
        Positioning { from_sector, distance_sectors, quantiles_ns }
    }

    /// The cost of a pause before an operation that continues another.
    pub(super) fn continued(&mut self, op: Op, bytes_per_s: f64) -> Vec<Continued> {
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
    pub(super) fn writes_alone(&mut self) -> Vec<(u64, f64)> {
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

    /// Reads somewhere, and gives the device time to read ahead.
    fn read_somewhere(&mut self, sectors: u64) -> u64 {
        let at = self.stream.below(self.sectors / 2);
        self.one(Op::Read, at, sectors);
        self.pause(SimSpan::from_ms(60));
        at + sectors
    }

    /// How far the device reads ahead after a read of `sectors` sectors.
    fn reads_on(&mut self, sectors: u64, random_ns: f64) -> u64 {
        const MAX_SECTORS: u64 = 1 << 14;
        let end = self.read_somewhere(sectors);
        let hit = self.one(Op::Read, end, PIECE).min(0.25 * random_ns);
        // sectors that were not read ahead may by chance be under the head at once, but hardly four times
        let mut is_known = |distance: u64| {
            (0..4).all(|trial| {
                let end = self.read_somewhere(sectors);
                self.pause(SimSpan::from_us(2300) * trial);
                self.one(Op::Read, end + distance - PIECE, PIECE) < 1.5 * hit
            })
        };
        let mut known = 0;
        let mut unknown = PIECE;
        while unknown <= MAX_SECTORS && is_known(unknown) {
            (known, unknown) = (unknown, 2 * unknown);
        }
        while known < MAX_SECTORS && unknown - known > PIECE {
            let between = known.midpoint(unknown) / PIECE * PIECE;
            if is_known(between) {
                known = between;
            } else {
                unknown = between;
            }
        }
        known
    }

    /// How far the device reads ahead, and whether that is counted from the beginning of a read or
    /// from its end.
    pub(super) fn read_ahead(&mut self, random_ns: f64) -> (u64, bool) {
        let behind_small = self.reads_on(PIECE, random_ns);
        let large = 8 * PIECE;
        let behind_large = self.reads_on(large, random_ns);
        let holds_read = behind_small > large && behind_large + large / 2 < behind_small;
        if holds_read { (behind_small + PIECE, true) } else { (behind_small, false) }
    }

    /// The number of recent reads whose read-ahead the device remembers.
    pub(super) fn read_ahead_streams(&mut self, random_ns: f64) -> u32 {
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

    /// Whether a sequential reader at half the speed of the medium has to wait several times. Then the device
    /// stops when it has read ahead as far as it can, and later has to position again.
    pub(super) fn read_ahead_stops(&mut self, random_ns: f64, far: u64, bytes_per_s: f64) -> bool {
        let sectors = 8 * PIECE;
        let transfer = SimSpan::from_secs_f64((sectors * SECTOR_BYTES) as f64 / bytes_per_s);
        let mut at = self.read_somewhere(PIECE);
        let mut waits = 0;
        for _ in 0..16 * far / sectors {
            waits += u32::from(self.one(Op::Read, at, sectors) >= 0.25 * random_ns);
            at += sectors;
            self.pause(transfer);
            // a reader in step with the platter might always return just before the next sector passes
            if at / far > (at - sectors) / far {
                self.pause(SimSpan::from_us(2300) * (at / far % 9));
            }
        }
        waits > 1
    }

    /// Whether a read that hits the read-ahead of another stream ends the read-ahead in progress. `hit_ns` is the time
    /// of a hit, `far` the number of sectors that the device reads ahead.
    pub(super) fn hits_end_read_ahead(&mut self, hit_ns: f64, far: u64) -> bool {
        const TRIALS: usize = 9;
        let ended = (0..TRIALS).filter(|_| {
            let other = self.read_somewhere(PIECE);
            let lbn = self.anywhere(PIECE + far);
            self.one(Op::Read, lbn, PIECE);
            self.one(Op::Read, other, PIECE);
            self.pause(SimSpan::from_ms(60));
            self.one(Op::Read, lbn + far / 2, PIECE) > 5.0 * hit_ns
        });
        ended.count() > TRIALS / 2
    }

    /// Whether a read of read-ahead data waits for an earlier write that was accepted but is not on the
    /// medium yet. `hit_ns` is the time of a read that does not wait.
    pub(super) fn reads_wait_for_writes(&mut self, hit_ns: f64) -> bool {
        const TRIALS: usize = 9;
        let waits = (0..TRIALS).filter(|_| {
            let end = self.read_somewhere(PIECE);
            let lbn = self.anywhere(PIECE);
            self.one(Op::Write, lbn, PIECE);
            self.one(Op::Read, end, PIECE) > 5.0 * hit_ns
        });
        waits.count() > TRIALS / 2
    }

    /// Times of reads of read-ahead data, by size.
    pub(super) fn read_ahead_hits(&mut self) -> Vec<(u64, f64)> {
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

    /// Number of consecutive random writes that the device accepts faster than the medium can write them.
    /// `alone_ns` is the time of a single write after a pause.
    pub(super) fn buffered_writes(&mut self, alone_ns: f64) -> u32 {
        const MAX_WRITES: u32 = 100_000;
        self.pause(SimSpan::from_secs(1));
        for number in 0..MAX_WRITES {
            let lbn = self.anywhere(PIECE);
            if self.one(Op::Write, lbn, PIECE) > 5.0 * alone_ns {
                return number;
            }
            // all writes take equally long: nothing is buffered
            if number == 500 && alone_ns > 1e6 {
                return 0;
            }
        }
        MAX_WRITES
    }

    /// Number of sectors that a random write and the writes that continue it can put into a device's buffer
    /// before one of them has to wait. `alone_ns` is the time of a single write after a pause.
    pub(super) fn joined_writes(&mut self, buffered: u32, alone_ns: f64) -> u64 {
        const MAX_SECTORS: u64 = 1 << 16;
        const TRIALS: usize = 9;
        let mut joined = [0; TRIALS];
        for joined in &mut joined {
            self.pause(SimSpan::from_secs(1));
            for _ in 1..buffered {
                let lbn = self.anywhere(PIECE);
                self.one(Op::Write, lbn, PIECE);
            }
            let first = self.stream.below(self.sectors.saturating_sub(MAX_SECTORS + LARGE).max(1));
            self.one(Op::Write, first, LARGE);
            let mut end = LARGE;
            while end < MAX_SECTORS && self.one(Op::Write, first + end, LARGE) < 1.5 * alone_ns {
                end += LARGE;
            }
            *joined = if end > LARGE { end } else { 0 };
        }
        joined.sort_unstable();
        joined[TRIALS / 2]
    }
}
