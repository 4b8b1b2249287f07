//! The measurement of a storage device, made when the device was installed.
//!
//! Nothing here depends on the device's internals: a program reads and writes the device and measures the
//! times, as in Worthington et al., *On-Line Extraction of SCSI Disk Drive Parameters*, SIGMETRICS 1995.
//! Thereska et al. 2006, III-C.7, uses four figures: random and sequential, read and write. Here the random
//! figures also depend on the distance and the queue depth, and the sequential figures on the place on the
//! device and on the pause before the operation.

use foretell_units::{Op, SECTOR_BYTES};
use serde::{Deserialize, Serialize};

use super::lanes::LaneShape;

/// Number of points kept of a distribution, from minimum to maximum.
pub const QUANTILES: usize = 17;

/// The further points of a distribution whose tail is long. Few operations take nearly as long as the longest.
pub const TAIL: [f64; 4] = [0.96, 0.98, 0.99, 0.997];

/// The measurement of a device.
#[expect(clippy::struct_excessive_bools, reason = "each was found by a measurement of its own")]
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measurement {
    /// Capacity in bytes.
    pub capacity_bytes: u64,
    /// Maximum number of operations that were outstanding at once.
    pub depth: u32,
    /// Rate of long sequential reads and writes at places evenly spaced from the first sector to
    /// the last, bytes/s, by [`Op`].
    pub stream_bytes_per_s: [Vec<f64>; 2],
    /// Positioning with one operation at a time, by [`Op`] and distance.
    pub positioning: [Vec<Positioning>; 2],
    /// 64 KiB operations that continue the previous one after a pause, one at a time, by [`Op`].
    pub continued: [Vec<Continued>; 2],
    /// Random operations over the whole device in its steady state, only reads and only writes, by
    /// [`Op`]; for each size by queue depth.
    pub random: [Vec<Random>; 2],
    /// Random reads and writes together in the steady state, by size, queue depth and share of reads.
    #[serde(default)]
    pub mixed: Vec<Mixed>,
    /// For a solid-state drive: writes to data that it wrote recently.
    #[serde(default)]
    pub rewriting: Option<Rewriting>,
    /// For a solid-state drive: a long run of sequential writes.
    #[serde(default)]
    pub long_writes: Option<LongWrites>,
    /// For a parallel device: writes until its buffer is full. `None`: they are no faster than in the steady state.
    #[serde(default)]
    pub write_buffer: Option<WriteBuffer>,
    /// For a device with such a buffer: reads beside writes.
    #[serde(default)]
    pub beside: Vec<ReadsBesideWrites>,
    /// For an array: its known facts.
    #[serde(default)]
    pub array: Option<Box<ArrayFacts>>,
    /// Number of consecutive random writes of 8 KiB that the device accepts faster than the medium could
    /// write them.
    pub buffered_writes: u32,
    /// Maximum number of sectors of the last of these writes together with writes that continue it and are
    /// accepted as fast. 0: such writes count as any other.
    #[serde(default)]
    pub joined_write_sectors: u64,
    /// Times of single random writes after a pause, ns, by size in bytes.
    pub write_alone_ns: Vec<(u64, f64)>,
    /// Number of sectors behind a read that the device has in its buffer a while later.
    pub read_ahead_sectors: u64,
    /// Whether these sectors are counted from the first sector of the read, so that the read takes part of
    /// the room. Otherwise they are counted from its end.
    #[serde(default)]
    pub read_ahead_holds_read: bool,
    /// Number of recent reads that have read-ahead in the buffer.
    pub read_ahead_streams: u32,
    /// Whether read-ahead stops at that length until a reader has taken all of it.
    #[serde(default)]
    pub read_ahead_stops: bool,
    /// Whether a read that hits the read-ahead of another stream ends the read-ahead in progress.
    #[serde(default)]
    pub hits_end_read_ahead: bool,
    /// Times of reads that hit the read-ahead, ns, by size in bytes.
    pub read_ahead_hit_ns: Vec<(u64, f64)>,
    /// Whether such a read waits until earlier writes are on the medium.
    #[serde(default)]
    pub reads_wait_for_writes: bool,
    /// Computed from the rest when first needed.
    #[serde(skip)]
    pub shape: LaneShape,
}

/// The longest time, ns, and the highest rate that a device may have: 11 days, a petabyte a second.
const MAX_FIGURE: f64 = 1e15;
/// Maximum queue depth of a device, and maximum number of its read-ahead streams.
const MAX_HELD: u32 = 1 << 16;

impl Measurement {
    /// Whether the device is neither an array nor positions an arm.
    pub(crate) fn is_flash(&self) -> bool {
        self.array.is_none() && self.positioning.iter().all(Vec::is_empty)
    }

    /// Checks whether any device can have this measurement, because a store may contain anything. The error
    /// names an impossible part.
    pub(crate) fn check(&self) -> Result<(), String> {
        let time = |ns: f64| (0.0..=MAX_FIGURE).contains(&ns);
        let rate = |per_s: f64| per_s > 0.0 && per_s <= MAX_FIGURE;
        let sizes = |times: &[(u64, f64)]| {
            times.iter().all(|(_, ns)| time(*ns)) && times.is_sorted_by(|a, b| a.0 < b.0)
        };
        let held = |count: u32| count <= MAX_HELD;
        let position = |point: &Positioning| {
            point.quantiles_ns.iter().all(|ns| time(*ns))
                && point.distance_sectors.unsigned_abs() <= self.capacity_bytes / SECTOR_BYTES
        };
        // after the transfer time is subtracted, noise may leave a negative time
        let pause = |point: &Continued| time(point.pause_ns) && point.mean_ns.abs() <= MAX_FIGURE;
        let random = |point: &Random| {
            held(point.depth) && time(point.mean_ns) && rate(point.per_s) && point.bytes < 1 << 40
        };
        let beside = |point: &ReadsBesideWrites| {
            let tail = &point.tail_ns;
            point.quantiles_ns.iter().chain(tail).all(|ns| time(*ns))
                && (tail.is_empty() || tail.len() == TAIL.len())
                && point.mean_ns.is_none_or(time)
        };
        let is_run = |known: &LongWrites| {
            !known.rates.is_empty()
                && known.rates.iter().all(|(bytes, per_s)| *bytes < 1 << 62 && rate(*per_s))
                && known.rates.is_sorted_by(|a, b| a.0 < b.0)
        };
        let streams = |rates: &Vec<f64>| rates.len() >= 2 && rates.iter().all(|per_s| rate(*per_s));
        let checks = [
            ("capacity_bytes", (SECTOR_BYTES..1 << 62).contains(&self.capacity_bytes)),
            ("depth", held(self.depth)),
            ("stream_bytes_per_s", self.stream_bytes_per_s.iter().all(streams)),
            ("positioning", self.positioning.iter().flatten().all(position)),
            ("continued", self.continued.iter().flatten().all(pause)),
            ("random", self.random.iter().flatten().all(random)),
            ("beside", self.beside.iter().all(beside)),
            ("rewriting", self.rewriting.iter().flat_map(|known| &known.random).all(random)),
            ("long_writes", self.long_writes.as_ref().is_none_or(is_run)),
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

    /// Whether it serves several operations in parallel.
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

/// The index of a direction in a pair.
pub(crate) const fn index(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

/// Distances from this on are measured at random angles of the platter, shorter ones exactly.
pub const ANY_ANGLE_SECTORS: u64 = 1024;

/// Time of an 8 KiB operation without its transfer, at a distance from the previous operation, without a
/// pause. For writes into a buffer: the time on the medium.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Positioning {
    /// Mean end of the previous operation.
    pub from_sector: u64,
    /// Distance from the end of the previous operation to the first sector of this one; negative: backwards.
    pub distance_sectors: i64,
    /// Distribution of the time, ns.
    pub quantiles_ns: [f64; QUANTILES],
}

/// Time of a 64 KiB operation that continues the previous one after a pause.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Continued {
    /// The pause, ns.
    pub pause_ns: f64,
    /// Mean time without the transfer, ns.
    pub mean_ns: f64,
}

/// Random operations of one size at one queue depth.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Random {
    /// Bytes of each.
    pub bytes: u64,
    /// Queue depth.
    pub depth: u32,
    /// Mean response time, ns.
    pub mean_ns: f64,
    /// Operations a second.
    pub per_s: f64,
    /// Whether it had reached its steady state: in the last five rounds, operations a second
    /// differed by at most 20 % of their mean, and the line through them by at most 10 % (SNIA,
    /// *Solid State Storage Performance Test Specification*, 2.0.2, 2020, 2.1.24).
    #[serde(default)]
    pub steady: bool,
}

/// Random reads and writes of one size at one queue depth.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mixed {
    /// Bytes of each.
    pub bytes: u64,
    /// Queue depth.
    pub depth: u32,
    /// Share of reads among the operations issued.
    pub read_share: f64,
    /// Mean response time, ns: by [`Op`].
    pub mean_ns: [f64; 2],
    /// Operations a second: by [`Op`].
    pub per_s: [f64; 2],
    /// As in [`Random`].
    pub steady: bool,
}

/// A buffer that accepts writes faster than the device does in its steady state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WriteBuffer {
    /// Its capacity in bytes.
    pub bytes: u64,
    /// Random writes while there is room.
    pub burst: Vec<Random>,
}

/// A long run of sequential writes to a solid-state drive that was written at random.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LongWrites {
    /// For each part of the run: the bytes from the beginning of the run to the middle of the part, and the rate in the
    /// part, bytes/s.
    pub rates: Vec<(u64, f64)>,
}

/// Writes to a small part of a solid-state drive, again and again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rewriting {
    /// Bytes written until writes are faster than random writes over the whole drive by half of what they gain in the
    /// end.
    pub after_bytes: u64,
    /// Random writes in the steady state.
    pub random: Vec<Random>,
}

/// Reads one at a time beside writes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ReadsBesideWrites {
    /// Bytes of each read.
    pub bytes: u64,
    /// Rate of the writes, as a share of the highest rate that the device sustains.
    pub write_share: f64,
    /// Distribution of the reads' response times, ns.
    pub quantiles_ns: [f64; QUANTILES],
    /// The quantiles [`TAIL`] of this distribution, ns. Empty in records of earlier versions.
    #[serde(default)]
    pub tail_ns: Vec<f64>,
    /// Mean response time, ns. Unknown in records of earlier versions.
    #[serde(default)]
    pub mean_ns: Option<f64>,
}

/// An operator's facts about an array: its configuration, the measurement of its members, and the
/// times of its controller.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ArrayFacts {
    /// `raid0`, `raid1`, `raid10` or `raid5`.
    pub level: String,
    /// Number of members.
    pub members: u32,
    /// Bytes on one member before the next member follows.
    pub stripe_unit_bytes: u64,
    /// The measurement of a member.
    pub member: Measurement,
    /// The controller's caches.
    pub cache: Option<ArrayCacheFacts>,
    /// Time of an operation in the controller, without that of the members, ns, by [`Op`] and size in bytes:
    /// for reads that hit its cache, and for writes.
    pub controller_ns: [Vec<(u64, f64)>; 2],
    /// The part of that time in which the controller can do nothing else in the same direction.
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
    /// Maximum read-ahead of a sequential stream.
    pub read_ahead_bytes: u64,
    /// Memory that keeps written data without power.
    pub write: Option<WriteCacheFacts>,
}

/// A write cache of an array, by its data sheet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct WriteCacheFacts {
    /// Memory for written pages.
    pub bytes: u64,
    /// Written bytes at which destaging stops.
    pub low_bytes: u64,
    /// Written bytes above which destaging begins, or has its highest rate.
    pub high_bytes: u64,
    /// `marks` or `linear`.
    pub destage: String,
}

/// A device of 1 GiB without any measurements.
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
        rewriting: None,
        long_writes: None,
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
        hits_end_read_ahead: false,
        read_ahead_hit_ns: Vec::new(),
        reads_wait_for_writes: false,
        shape: LaneShape::default(),
    }
}
