//! What is measured of a storage device when it is installed.
//!
//! Nothing here needs to know what the device is made of: these are the figures of a program that
//! reads and writes it and looks at the clock (Worthington et al., *On-Line Extraction of SCSI Disk
//! Drive Parameters*, SIGMETRICS 1995, measure in this way). Thereska et al. 2006, III-C.7, takes four of them:
//! random and sequential, read and write; here the random ones depend on the distance and on how
//! many operations the device holds, and the sequential ones on the place and on the pause before.

use foretell_units::{Op, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

use super::lanes::LaneShape;

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
    /// Random operations over the whole device, reads alone and writes alone, in its steady state: by
    /// [`Op`], for each size by how many are there.
    pub random: [Vec<Random>; 2],
    /// Random reads and writes together, in the steady state: by size, number and share of reads.
    #[serde(default)]
    pub mixed: Vec<Mixed>,
    /// Of a device that works side by side: how writes are taken until its buffer is full; `None`: no
    /// faster than in the steady state.
    #[serde(default)]
    pub write_buffer: Option<WriteBuffer>,
    /// Of a device with such a buffer: reads beside writes.
    #[serde(default)]
    pub beside: Vec<Beside>,
    /// Of an array: what is known of it.
    #[serde(default)]
    pub array: Option<Box<ArrayFacts>>,
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
    /// Derived from the rest when it is first needed.
    #[serde(skip)]
    pub shape: LaneShape,
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
        // with the transfer subtracted, noise may leave less than nothing
        let pause = |point: &Continued| time(point.pause_ns) && point.mean_ns.abs() <= MOST;
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
    /// Whether it had come to its steady state: in the last five rounds, operations a second differed by
    /// at most 20 % of their mean, and the line through them by at most 10 % (SNIA, *Solid State Storage
    /// Performance Test Specification*, 2.0.2, 2020, 2.1.24).
    #[serde(default)]
    pub steady: bool,
}

/// Random operations of one size, so many at a time, of which a share reads.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mixed {
    /// Bytes of each.
    pub bytes: u64,
    /// How many the device had at a time.
    pub depth: u32,
    /// Share of those that were asked for which read.
    pub read_share: f64,
    /// Mean response time, ns: by [`Op`].
    pub mean_ns: [f64; 2],
    /// Operations a second: by [`Op`].
    pub per_s: [f64; 2],
    /// As in [`Random`].
    pub steady: bool,
}

/// A buffer that writes go into faster than the device keeps up with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WriteBuffer {
    /// Bytes for which there is room.
    pub bytes: u64,
    /// Random writes as long as there is room.
    pub burst: Vec<Random>,
}

/// Reads one at a time beside writes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Beside {
    /// Bytes of each read.
    pub bytes: u64,
    /// Writes, as a share of the most bytes a second that the device keeps up with.
    pub write_share: f64,
    /// Distribution of the reads' response times, ns.
    pub quantiles_ns: [f64; QUANTILES],
}

/// What an operator knows of an array: how it was set up, what its members do by themselves, and what
/// its controller adds to that.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArrayFacts {
    /// `raid0`, `raid1`, `raid10` or `raid5`.
    pub level: String,
    /// How many members.
    pub members: u32,
    /// Bytes that lie on one member before the next follows.
    pub stripe_unit_bytes: u64,
    /// What is measured of a member.
    pub member: Measurement,
    /// The controller's caches.
    pub cache: Option<ArrayCacheFacts>,
    /// Time of an operation in the controller beside that of its members, by [`Op`], by size in bytes,
    /// ns: of reads that are found in memory, and writes.
    pub controller_ns: [Vec<(u64, f64)>; 2],
    /// Of that, the time in which the controller can do no other in the same direction.
    pub line_ns: [Vec<(u64, f64)>; 2],
}

/// Caches of an array, by its data sheet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArrayCacheFacts {
    /// Memory for pages.
    pub bytes: u64,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Name of the replacement policy.
    pub policy: String,
    /// Most that is read ahead of a sequential stream.
    pub read_ahead_bytes: u64,
    /// Memory that keeps written data without power.
    pub write: Option<WriteCacheFacts>,
}

/// A write cache of an array, by its data sheet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WriteCacheFacts {
    /// Memory for written pages.
    pub bytes: u64,
    /// Written bytes at which destaging ends.
    pub low_bytes: u64,
    /// Written bytes beyond which destaging begins, or is at its fastest.
    pub high_bytes: u64,
    /// `marks` or `linear`.
    pub destage: String,
}

/// Of a device of 1 GiB, of which nothing was measured.
#[cfg(test)]
pub(super) fn nothing() -> Measurement {
    Measurement {
        capacity_bytes: 1 << 30,
        depth: 1,
        stream_bytes_per_s: [vec![1e8; 2], vec![1e8; 2]],
        positioning: [Vec::new(), Vec::new()],
        continued: [Vec::new(), Vec::new()],
        random: [Vec::new(), Vec::new()],
        mixed: Vec::new(),
        write_buffer: None,
        beside: Vec::new(),
        array: None,
        buffered_writes: 0,
        joined_write_sectors: 0,
        write_alone_ns: Vec::new(),
        read_ahead_sectors: 0,
        read_ahead_holds_read: false,
        read_ahead_streams: 0,
        read_ahead_stops: false,
        read_ahead_hit_ns: Vec::new(),
        reads_wait_for_writes: false,
        shape: LaneShape::default(),
    }
}
