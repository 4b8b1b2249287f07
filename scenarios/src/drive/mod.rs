//! A disk drive described in detail: zones, skews, seek curve, overheads, on-board cache.
//!
//! The terms are those of Ruemmler & Wilkes, *An Introduction to Disk Drive Modeling* (1994). For a
//! drive's cache they are those of Bucy, Schindler, Schlosser & Ganger, *The DiskSim Simulation
//! Environment Version 4.0 Reference Manual* (CMU-PDL-08-101, 2008). A [`Specification`] is the
//! content of a file; a [`Drive`] is a checked specification.

use std::sync::Arc;

use foretell_units::{Bytes, Rate, SECTOR_BYTES, Sectors, SimSpan};

use crate::device::Tolerance;

mod check;
mod seek;

pub use check::Fault;
use seek::SeekTimes;
pub use seek::{SeekCurve, SeekFormula};

/// A checked drive.
#[derive(Clone, PartialEq, Debug)]
pub struct Drive {
    specification: Specification,
    total: u64,
    seek_times: SeekTimes,
}

/// The content of a drive file, unchecked.
#[derive(Clone, PartialEq, Debug)]
pub struct Specification {
    /// Where the figures come from: a citation, a measurement, or a derivation.
    pub source: String,
    /// Revolutions per minute.
    pub rpm: u32,
    /// The possible deviation of a drive's speed from that.
    pub rpm_tolerance: Tolerance,
    /// The layout of sectors.
    pub geometry: Geometry,
    /// Time to move the arm.
    pub seek: SeekCurve,
    /// Time to activate another head.
    pub head_switch: SimSpan,
    /// Time that a write adds to a seek or a head switch, nanoseconds. Negative in a few measured
    /// drives, whose reads settle longer than their writes.
    pub write_settle_ns: i64,
    /// Transfer between host and buffer.
    pub bus: Bus,
    /// Controller time.
    pub overhead: Overhead,
    /// The on-board buffer.
    pub cache: Cache,
    /// Number of commands that the drive holds at once and serves in the order of shortest
    /// positioning time; 1: only the one in service.
    pub queue_depth: u32,
}

/// The layout of sectors.
#[derive(Clone, PartialEq, Debug)]
pub struct Geometry {
    /// Recording surfaces.
    pub heads: u32,
    /// The order in which tracks are numbered.
    pub numbering: Numbering,
    /// Where spare sectors are kept.
    pub sparing: Sparing,
    /// Zones from the outermost (lowest addresses) inwards.
    pub zones: Vec<Zone>,
}

/// The order in which tracks are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbering {
    /// Every cylinder from the first head to the last.
    Plain,
    /// A cylinder switch stays on its surface; the first cylinder of a zone begins at head 0.
    SerpentineByZone,
    /// A cylinder switch stays on its surface; even cylinders begin at head 0.
    Serpentine,
}

/// Where spare sectors are kept. A slipped (skipped) sector shifts the following sectors up to the
/// next spare. "At the end" means that slips shift all following sectors and use no spares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sparing {
    /// No spares.
    None,
    /// Whole tracks at the end of a zone; spares, slips and defects count tracks.
    Tracks,
    /// Sectors at the end of each cylinder.
    Cylinder,
    /// Sectors at the end of each track.
    Track,
    /// Sectors at the end of each cylinder; slips at the end of the zone.
    CylinderSlipsAtEnd,
    /// Sectors at the front of each cylinder.
    CylinderFront,
    /// Sectors at the front of each cylinder; slips at the end of the zone.
    CylinderFrontSlipsAtEnd,
    /// No spares except those that slips use up at the end.
    AtEnd,
    /// Sectors at the end of each range of this number of cylinders.
    Range(u32),
    /// Sectors at the end of each zone.
    Zone,
    /// Sectors at the end of each zone, besides those used by slips.
    ZoneSlipsAtEnd,
}

/// Cylinders with the same number of sectors on a track.
#[derive(Clone, PartialEq, Debug)]
pub struct Zone {
    /// First cylinder.
    pub first_cylinder: u32,
    /// Last cylinder, inclusive.
    pub last_cylinder: u32,
    /// Sectors of 512 bytes on a track, including spares.
    pub sectors_per_track: u32,
    /// Offset of the zone's first sector from the index mark, sectors.
    pub first_sector: f64,
    /// Offset of the first sector of a track from that of the track before, sectors.
    pub track_skew: f64,
    /// The same across a change of cylinder, sectors.
    pub cylinder_skew: f64,
    /// Sectors at the zone's beginning without an address.
    pub reserved: u64,
    /// Spare sectors (or tracks) of each unit that has its own spares.
    pub spares: u64,
    /// Slipped bad sectors (or tracks), counted from the zone's beginning, ascending.
    pub slips: Vec<u64>,
    /// Bad sectors (or tracks) and their replacements.
    pub defects: Vec<(u64, u64)>,
}

impl Zone {
    /// Number of cylinders in the zone.
    pub fn cylinders(&self) -> u64 {
        u64::from(self.last_cylinder) + 1 - u64::from(self.first_cylinder)
    }
}

/// Transfer between host and buffer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bus {
    /// Time for a sector of 512 bytes towards the host.
    pub read_sector: SimSpan,
    /// Time for a sector of 512 bytes from the host.
    pub write_sector: SimSpan,
    /// Whether a read holds the bus until its last sector has been read, while it waits for the medium.
    pub held_by_reads: bool,
}

/// A time that depends on the kind of the command before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct After {
    /// After a read.
    pub read: SimSpan,
    /// After a write.
    pub write: SimSpan,
}

/// Controller time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overhead {
    /// For every command, before anything else.
    pub command: SimSpan,
    /// For a read whose first sector is in the buffer, before the transfer.
    pub read_hit: After,
    /// For any other read, before the arm moves.
    pub read_miss: After,
    /// For a write that is reported early, before the transfer or arm movement.
    pub write_hit: After,
    /// For a write that is reported when it is on the medium, before the transfer or arm movement.
    pub write_miss: After,
    /// At the end of a read.
    pub read_completion: SimSpan,
    /// At the end of a write.
    pub write_completion: SimSpan,
    /// Before the transfer.
    pub data_preparation: SimSpan,
    /// To reacquire the bus after leaving it.
    pub first_reselect: SimSpan,
    /// The same for a write that left the bus before its data, once it is on the medium.
    pub other_reselect: SimSpan,
    /// For a read to leave the bus.
    pub read_disconnect: After,
    /// For a write to leave the bus.
    pub write_disconnect: SimSpan,
    /// Minimum time between a write's overhead and its first access to the medium, unless it
    /// continues a write in progress.
    pub least_write_seek: SimSpan,
    /// For a write that follows a write elsewhere and leaves the bus before its data; `None`: it does not.
    pub extra_disconnect: Option<ExtraDisconnect>,
}

/// Times of a write that leaves the bus before its data (seen in the HP C2247 family).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExtraDisconnect {
    /// Replaces the write overhead.
    pub command: SimSpan,
    /// To leave the bus.
    pub disconnect: SimSpan,
    /// Time away from the bus.
    pub away: SimSpan,
    /// To leave the bus after the data.
    pub second_disconnect: SimSpan,
    /// Between the command overhead and the start of the arm.
    pub seek_delay: SimSpan,
    /// Sectors of a write that must be in the buffer before its first one goes to the medium; for a
    /// shorter write, all.
    pub gathered: Sectors,
    /// The same for a long write.
    pub gathered_of_long: Sectors,
    /// Number of sectors from which a write is long.
    pub long: Sectors,
}

impl ExtraDisconnect {
    /// Sectors that must be in the buffer before the first of `sectors` goes to the medium.
    pub fn gathered(&self, sectors: u64) -> u64 {
        let least = if sectors < self.long.get() { self.gathered } else { self.gathered_of_long };
        least.get().min(sectors)
    }
}

/// Extent of read-ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadAhead {
    /// Not at all.
    Off,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full.
    Segment,
    /// To the end of the track; to the end of the next track if the segment already holds the end
    /// of the track before. So it is one track ahead of a sequential reader.
    NextTrack,
}

/// Treatment of a read's own sectors once the host has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requested {
    /// Read-ahead may replace them.
    Replaced,
    /// They are kept: read-ahead ends when they and the read-ahead fill the segment.
    Kept,
    /// They are dropped at once.
    Dropped,
}

/// When a write is reported as completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EarlyWrite {
    /// When it is on the medium.
    Off,
    /// When it is in the buffer. A write that continues the one in progress is accepted at once;
    /// any other waits for the medium.
    On,
}

/// The on-board buffer.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "firmware has independent switches")]
pub struct Cache {
    /// Whether data are kept for later commands.
    pub enabled: bool,
    /// Number of segments, each a run of consecutive sectors.
    pub segments: u32,
    /// Size of a segment.
    pub segment: Sectors,
    /// Whether one segment is reserved for writes; reads never hit in it.
    pub separate_write_segment: bool,
    /// Extent of read-ahead.
    pub read_ahead: ReadAhead,
    /// Minimum sectors of read-ahead before another command may stop it.
    pub least_read_ahead: Sectors,
    /// Maximum sectors of read-ahead; 0: limited only by `read_ahead` and the segment's size.
    pub most_read_ahead: Sectors,
    /// Whether a full hit makes the arm continue read-ahead from there.
    pub read_ahead_on_hit: bool,
    /// Treatment of a read's own sectors.
    pub requested: Requested,
    /// Whether sectors that pass before the first requested one are kept.
    pub keep_passing: bool,
    /// Whether sectors are read in the order in which they pass the head, not by address.
    pub read_as_passing: bool,
    /// The same for writing.
    pub write_as_passing: bool,
    /// When a write is reported as completed.
    pub early_write: EarlyWrite,
    /// Whether a write that continues another may share its segment.
    pub combine_writes: bool,
    /// Whether reads hit written data.
    pub read_hits_on_writes: bool,
    /// Whether a read of the sector that is currently being read ahead counts as a hit.
    pub hits_on_next: bool,
    /// Whether a full hit is served while the arm writes.
    pub full_hits_while_busy: bool,
    /// Whether a partial hit is, too.
    pub partial_hits_while_busy: bool,
    /// Whether a partial hit sends its available data at once, regardless of the water mark.
    pub partial_hits_at_once: bool,
    /// Whether read-ahead can be stopped within a sector.
    pub stops_in_sector: bool,
    /// Whether a command leaves the bus if it comes while read-ahead cannot be stopped at once, until it can.
    pub leaves_while_reading_on: bool,
    /// Share of a read (or of a segment) that must be in the buffer before the read takes the bus.
    pub high_water: f64,
    /// Whether water marks are shares of the request (otherwise of the segment).
    pub water_by_request: bool,
}

impl Drive {
    /// Checks a specification.
    pub fn new(specification: Specification) -> Result<Self, Fault> {
        let total = check::check(&specification)?;
        Ok(Self { specification, total, seek_times: SeekTimes::default() })
    }

    /// The specification.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// Its number of sectors.
    pub fn sectors(&self) -> Sectors {
        Sectors(self.total)
    }

    /// Seek times in nanoseconds by distance in cylinders; all disks of this drive share them.
    pub fn seek_times(&self) -> Arc<[u32]> {
        let zones = &self.specification.geometry.zones;
        let cylinders = zones.last().map_or(0, |zone| zone.last_cylinder) + 1;
        self.seek_times.of(&self.specification.seek, cylinders)
    }

    /// Its capacity in bytes.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.total * SECTOR_BYTES)
    }

    /// Time of a revolution at nominal speed.
    pub fn revolution(&self) -> SimSpan {
        SimSpan::from_ns(60_000_000_000 / u64::from(self.specification.rpm))
    }

    /// Rate at which sectors of a zone's track pass under the head.
    pub fn media_rate(&self, zone: &Zone) -> Rate {
        let bits = u64::from(zone.sectors_per_track) * SECTOR_BYTES * 8;
        Rate::bits_per_s((bits * u64::from(self.specification.rpm) / 60).max(1))
    }
}

impl Specification {
    /// Number of addressable sectors in `zone`; 0 if the zone's own values leave none.
    pub fn sectors_in(&self, zone: &Zone) -> u64 {
        addressable(&self.geometry, zone).unwrap_or(0)
    }
}

/// Number of addressable sectors in `zone`; `None` if spares and reserved sectors exceed the zone.
fn addressable(geometry: &Geometry, zone: &Zone) -> Option<u64> {
    let cylinders = zone.cylinders();
    let track = u64::from(zone.sectors_per_track);
    let tracks = cylinders.checked_mul(u64::from(geometry.heads))?;
    let all = tracks.checked_mul(track)?;
    let slips = zone.slips.len() as u64;
    let lost = match geometry.sparing {
        Sparing::None => 0,
        Sparing::Tracks => zone.spares.checked_mul(track)?,
        Sparing::Cylinder | Sparing::CylinderFront => zone.spares.checked_mul(cylinders)?,
        Sparing::Track => zone.spares.checked_mul(tracks)?,
        Sparing::CylinderSlipsAtEnd | Sparing::CylinderFrontSlipsAtEnd => {
            zone.spares.checked_mul(cylinders)?.checked_add(slips)?
        }
        Sparing::AtEnd => slips,
        Sparing::Range(range) => zone.spares.checked_mul(cylinders / u64::from(range.max(1)))?,
        Sparing::Zone => zone.spares,
        Sparing::ZoneSlipsAtEnd => zone.spares.checked_add(slips)?,
    };
    all.checked_sub(zone.reserved)?.checked_sub(lost)
}
