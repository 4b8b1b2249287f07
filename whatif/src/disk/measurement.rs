//! What is measured of a storage device when it is installed.
//!
//! Nothing here needs to know what the device is made of: these are the figures of a program that
//! reads and writes it and looks at the clock (Worthington et al., *On-Line Extraction of SCSI Disk
//! Drive Parameters*, SIGMETRICS 1995, measure in this way). Paper 004, III-C.7, takes four of them:
//! random and sequential, read and write; here the random ones depend on the distance and on how
//! many operations the device holds, and the sequential ones on the place and on the pause before.

use foretell_units::{Op, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

/// Points of a distribution that are kept, from the least to the greatest.
pub const QUANTILES: usize = 17;

/// What was measured of a device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Bytes that it holds.
    pub capacity_bytes: u64,
    /// Most operations that it was given at once.
    pub depth: u32,
    /// Rate of long sequential reads and writes at places evenly spaced from the first sector to
    /// the last, bytes/s: by [`Op`].
    pub stream_bytes_per_s: [Vec<f64>; 2],
    /// One operation at a time: by [`Op`], by distance.
    pub positioning: [Vec<Positioning>; 2],
    /// 64 KiB that continue the operation before, after a pause, one at a time: by [`Op`].
    pub continued: [Vec<Continued>; 2],
    /// Random operations over the whole device: by [`Op`], for each size by how many are there.
    pub random: [Vec<Random>; 2],
    /// Random writes of 8 KiB one after the other: how many are taken faster than the medium can.
    pub buffered_writes: u32,
    /// Sectors that the last of them may have with those that continue it, which are taken as fast; 0:
    /// they are as any other.
    #[serde(default)]
    pub joined_write_sectors: u64,
    /// Times of single random writes after a pause, by size in bytes, ns.
    pub write_alone_ns: Vec<(u64, f64)>,
    /// Sectors behind a read that are in the device's buffer a while later.
    pub read_ahead_sectors: u64,
    /// Whether they are counted from the first sector of the read, which itself takes of that room;
    /// otherwise from its end.
    #[serde(default)]
    pub read_ahead_holds_read: bool,
    /// Behind how many of the last reads something is.
    pub read_ahead_streams: u32,
    /// Whether it reads on no further, once it has read so far, before a reader has taken it all.
    #[serde(default)]
    pub read_ahead_stops: bool,
    /// Times of reads of what is there, by size in bytes, ns.
    pub read_ahead_hit_ns: Vec<(u64, f64)>,
    /// Whether such a read waits until writes that were taken before it are on the medium.
    #[serde(default)]
    pub reads_wait_for_writes: bool,
}

/// The longest time and the highest rate that a device may have: 11 days, a petabyte a second.
const MOST: f64 = 1e15;
/// Most operations that a device may hold, and most streams that it may read on behind.
const MOST_HELD: u32 = 1 << 16;

impl Measurement {
    /// Whether a device can have been measured so; else what of it no bench gives. Of a measurement that
    /// others may have written.
    pub(crate) fn check(&self) -> Result<(), String> {
        let time = |ns: f64| (0.0..=MOST).contains(&ns);
        let rate = |per_s: f64| per_s > 0.0 && per_s <= MOST;
        let sizes = |times: &[(u64, f64)]| {
            times.iter().all(|(_, ns)| time(*ns)) && times.is_sorted_by(|a, b| a.0 < b.0)
        };
        let held = |count: u32| count <= MOST_HELD;
        let position = |point: &Positioning| {
            point.quantiles_ns.iter().all(|ns| time(*ns))
                && point.distance_sectors.unsigned_abs() <= self.capacity_bytes / SECTOR_BYTES
        };
        let pause = |point: &Continued| time(point.pause_ns) && time(point.mean_ns);
        let random = |point: &Random| {
            held(point.depth) && time(point.mean_ns) && rate(point.per_s) && point.bytes < 1 << 40
        };
        let streams = |rates: &Vec<f64>| rates.len() >= 2 && rates.iter().all(|per_s| rate(*per_s));
        let checks = [
            ("capacity_bytes", (SECTOR_BYTES..1 << 62).contains(&self.capacity_bytes)),
            ("depth", held(self.depth)),
            ("stream_bytes_per_s", self.stream_bytes_per_s.iter().all(streams)),
            ("positioning", self.positioning.iter().flatten().all(position)),
            ("continued", self.continued.iter().flatten().all(pause)),
            ("random", self.random.iter().flatten().all(random)),
            ("buffered_writes", self.buffered_writes <= 1 << 24),
            ("joined_write_sectors", self.joined_write_sectors < 1 << 40),
            ("write_alone_ns", sizes(&self.write_alone_ns)),
            ("read_ahead_sectors", self.read_ahead_sectors < 1 << 40),
            ("read_ahead_streams", held(self.read_ahead_streams)),
            ("read_ahead_hit_ns", sizes(&self.read_ahead_hit_ns)),
        ];
        match checks.iter().find(|(_, holds)| !holds) {
            None => Ok(()),
            Some((field, _)) => Err(format!("a `{field}` that no device has")),
        }
    }

    /// Whether it serves several operations side by side.
    pub fn is_parallel(&self) -> bool {
        let reads = self.of_size(Op::Read, 4096);
        let rps = |depth| reads.iter().find(|point| point.depth == depth).map(|p| p.per_s);
        match (rps(1), rps(16)) {
            (Some(one), Some(many)) => many > 4.0 * one,
            _ => false,
        }
    }

    /// Random operations of one size.
    pub(crate) fn of_size(&self, op: Op, bytes: u64) -> Vec<Random> {
        let points = &self.random[index(op)];
        points.iter().filter(|point| point.bytes == bytes).copied().collect()
    }
}

/// The place of an operation's direction in a pair.
pub(crate) const fn index(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

/// Time of an operation of 8 KiB besides its transfer, a distance after the one before, without a
/// pause. Of writes that go into a buffer: on the medium.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Positioning {
    /// Where the operation before ended, on average.
    pub from_sector: u64,
    /// From the end of the operation before to this one's first sector; negative: backwards.
    pub distance_sectors: i64,
    /// Its distribution, ns.
    pub quantiles_ns: [f64; QUANTILES],
}

/// Time of an operation of 64 KiB that continues the one before after a pause.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Continued {
    /// The pause, ns.
    pub pause_ns: f64,
    /// Mean time besides the transfer, ns.
    pub mean_ns: f64,
}

/// Random operations of one size, so many at a time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Random {
    /// Bytes of each.
    pub bytes: u64,
    /// How many the device had at a time.
    pub depth: u32,
    /// Mean response time, ns.
    pub mean_ns: f64,
    /// Operations a second.
    pub per_s: f64,
}
