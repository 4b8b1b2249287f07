//! A drive file as it is written.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use foretell_units::{Bytes, Rate, SimSpan};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::device::Tolerance;
use crate::drive::After;
use crate::raw::{Quantity, Share};

/// A disk with moving heads, described in detail.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct File {
    /// Kind of device.
    #[serde(rename = "kind")]
    #[schemars(with = "String", extend("enum" = ["drive"]))]
    pub(super) _kind: Kind,
    /// Where the figures come from: a data sheet, a measurement, or why something was assumed.
    pub(super) source: String,
    /// Revolutions per minute.
    #[schemars(extend("minimum" = 60, "maximum" = 1_000_000))]
    pub(super) rpm: u32,
    /// Maximum deviation of a drive's speed from `rpm`, in either direction. Each drive has its own speed
    /// within it. The default is assumed: product manuals state 0.1 % to 0.5 %.
    #[serde(default = "usual_tolerance")]
    #[schemars(extend("default" = "0.2%"))]
    pub(super) rpm_tolerance: Share,
    /// Number of recording surfaces.
    #[schemars(extend("minimum" = 1, "maximum" = 1024))]
    pub(super) heads: u32,
    /// The order in which tracks are numbered.
    #[serde(default)]
    #[schemars(extend("default" = "plain"))]
    pub(super) numbering: NumberingName,
    /// Where spare sectors are. If a bad sector is slipped (skipped), the sectors after it move on by one
    /// place, up to the next spare sector.
    #[serde(default)]
    #[schemars(extend("default" = "none"))]
    pub(super) sparing: SparingName,
    /// Number of cylinders that share spare sectors.
    #[schemars(extend("minimum" = 1, "x-when" = { "sparing": ["range"] }, "x-required" = true))]
    pub(super) spare_range: Option<u32>,
    /// Time to activate another head.
    #[serde(default)]
    #[schemars(extend("default" = "0 ms"))]
    pub(super) head_switch: Span,
    /// Time that a write adds to a seek or a head switch. It may be negative.
    #[serde(default)]
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_settle: SignedSpan,
    /// Number of commands that the drive holds at once. It serves them in the order of shortest
    /// positioning time.
    #[serde(default = "one")]
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 1024))]
    pub(super) queue_depth: u32,
    /// Time to move the arm: measured points, a formula, or points with a formula for longer distances.
    pub(super) seek: SeekTable,
    /// Layout of the sectors, by the figures of a data sheet. It replaces `zone`.
    pub(super) medium: Option<Medium>,
    /// Layout of the sectors, zone by zone from the outermost inwards: `[[device.NAME.zone]]`, or
    /// `[[zone]]` in a device file. It replaces `medium`.
    pub(super) zone: Option<Vec<ZoneTable>>,
    /// Transfer between host and buffer.
    pub(super) bus: BusTable,
    /// Times that the controller takes.
    #[serde(default)]
    #[schemars(extend("default" = {}))]
    pub(super) overhead: OverheadTable,
    /// The on-board buffer.
    #[serde(default)]
    #[schemars(extend("default" = {}))]
    pub(super) cache: CacheTable,
}

fn usual_tolerance() -> Share {
    Share::Text(Tolerance::USUAL.to_string())
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn usual_segment() -> u64 {
    1024
}

#[derive(Deserialize)]
pub(super) enum Kind {
    #[serde(rename = "drive")]
    Drive,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(super) enum NumberingName {
    /// In every cylinder from the first head to the last.
    #[default]
    Plain,
    /// In every second cylinder from the last head to the first, so that a change of cylinder stays on
    /// the same surface. The first cylinder of each zone begins at head 0.
    SerpentineByZone,
    /// In every second cylinder from the last head to the first, so that a change of cylinder stays on
    /// the same surface. Cylinders with even numbers begin at head 0.
    Serpentine,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(super) enum SparingName {
    /// There are no spare sectors.
    #[default]
    None,
    /// Whole tracks at the end of each zone. `spares`, `slips` and `defects` count tracks.
    Tracks,
    /// At the end of each cylinder.
    Cylinder,
    /// At the end of each track.
    Track,
    /// At the end of each cylinder. Slips do not use them: all sectors up to the end of the zone move.
    CylinderSlipsAtEnd,
    /// At the front of each cylinder.
    CylinderFront,
    /// At the front of each cylinder. Slips do not use them: all sectors up to the end of the zone move.
    CylinderFrontSlipsAtEnd,
    /// Only as many as slips use up, at the end of each zone.
    AtEnd,
    /// At the end of each range of `spare_range` cylinders.
    Range,
    /// At the end of each zone.
    Zone,
    /// At the end of each zone, in addition to those that slips use up.
    ZoneSlipsAtEnd,
}

/// A quantity that is read from text, with the schema of that text.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name(pub(super) $inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                text(deserializer).map(Self)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Quantity::<$inner>::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                Quantity::<$inner>::json_schema(generator)
            }

            fn inline_schema() -> bool {
                true
            }
        }
    };
}

quantity!(
    /// A time such as "0.5 ms".
    Span(SimSpan)
);
quantity!(
    /// A size such as "250 GB".
    Size(Bytes)
);
quantity!(
    /// A rate such as "65 MB/s".
    Speed(Rate)
);

impl Default for Span {
    fn default() -> Self {
        Self(SimSpan::ZERO)
    }
}

fn text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// A time that may be less than nothing: "-0.1 ms". In nanoseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct SignedSpan(pub(super) i64);

impl<'de> Deserialize<'de> for SignedSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (size, sign) = match text.trim().strip_prefix('-') {
            Some(size) => (size, -1),
            None => (text.trim(), 1),
        };
        let span: SimSpan = size.parse().map_err(D::Error::custom)?;
        let ns = i64::try_from(span.as_ns()).unwrap_or(i64::MAX);
        Ok(Self(ns * sign))
    }
}

impl JsonSchema for SignedSpan {
    fn schema_name() -> Cow<'static, str> {
        "a time, or less than none".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-what": "a time", "examples": ["0.5 ms", "-0.1 ms"] })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// One time, or two: after a read, and after a write.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "a time such as \"0.5 ms\", or two: after a read and after a write")]
pub(super) enum AfterSpan {
    Both(Span),
    Each([Span; 2]),
}

impl Default for AfterSpan {
    fn default() -> Self {
        Self::Both(Span::default())
    }
}

impl From<AfterSpan> for After {
    fn from(span: AfterSpan) -> Self {
        match span {
            AfterSpan::Both(span) => Self { read: span.0, write: span.0 },
            AfterSpan::Each([read, write]) => Self { read: read.0, write: write.0 },
        }
    }
}

impl JsonSchema for AfterSpan {
    fn schema_name() -> Cow<'static, str> {
        "a time, or one after a read and one after a write".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let time = Span::json_schema(generator);
        json_schema!({
            "x-what": "a time, or one after a read and one after a write",
            "anyOf": [time, { "type": "array", "minItems": 2, "maxItems": 2, "items": time }],
            "examples": ["0.5 ms", ["0.5 ms", "0.7 ms"]]
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Time to move the arm.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct SeekTable {
    /// Measured points in the order of distance. Each point is a distance in cylinders and a time in
    /// milliseconds. Between two points, the time is interpolated linearly.
    #[serde(default)]
    #[schemars(with = "Vec<Vec<f64>>", extend("default" = []))]
    pub(super) table_ms: Vec<(u32, f64)>,
    /// Formula of Ruemmler & Wilkes 1994, for distances beyond the last point.
    pub(super) three_part: Option<ThreePart>,
    /// Formula of Lee & Katz 1993, for distances beyond the last point.
    pub(super) lee: Option<Lee>,
    /// Figures of a data sheet. The formula of Lee & Katz 1993 is derived from them.
    pub(super) data_sheet: Option<DataSheet>,
}

/// a + b·√d up to the knee, c + e·d beyond.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct ThreePart {
    /// Longest distance of the first part, in cylinders.
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub(super) knee: u32,
    /// The constant a, in milliseconds.
    pub(super) short_ms: f64,
    /// The factor b, in milliseconds per square root of a cylinder.
    pub(super) short_ms_per_sqrt: f64,
    /// The constant c, in milliseconds.
    pub(super) long_ms: f64,
    /// The factor e, in milliseconds per cylinder.
    pub(super) long_ms_per_cylinder: f64,
}

/// a·√(d−1) + b·(d−1) + c.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
#[allow(clippy::struct_field_names, reason = "the unit comes last in a file's keys")]
pub(super) struct Lee {
    /// The factor a, in milliseconds per square root of a cylinder.
    pub(super) root_ms: f64,
    /// The factor b, in milliseconds per cylinder.
    pub(super) linear_ms: f64,
    /// The constant c, in milliseconds.
    pub(super) single_ms: f64,
}

/// The three figures of a data sheet.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct DataSheet {
    /// Seek time to the next cylinder.
    pub(super) single: Span,
    /// Mean seek time over random pairs of cylinders.
    pub(super) average: Span,
    /// Seek time from the outermost to the innermost cylinder.
    pub(super) full: Span,
}

/// The figures of a data sheet: either both rates, or cylinders and a share.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Medium {
    /// Minimum number of bytes that it holds. It may hold a little more, because zones are whole
    /// cylinders.
    pub(super) capacity: Size,
    /// Rate at which data passes the head on the outermost track.
    pub(super) outer_rate: Option<Speed>,
    /// Rate at which data passes the head on the innermost track.
    pub(super) inner_rate: Option<Speed>,
    /// Number of cylinders, if it is known and the rates are not.
    #[schemars(extend("minimum" = 1, "maximum" = 4_000_000))]
    pub(super) cylinders: Option<u32>,
    /// Number of sectors on the innermost track, as a share of the number on the outermost.
    #[schemars(extend("minimum" = 0.1, "maximum" = 1))]
    pub(super) inner_share: Option<f64>,
    /// Number of zones. All zones have the same number of cylinders.
    #[serde(default = "usual_zones")]
    #[schemars(extend("default" = 16, "minimum" = 1, "maximum" = 1000))]
    pub(super) zones: u32,
}

fn usual_zones() -> u32 {
    16
}

/// Cylinders with the same number of sectors on a track.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct ZoneTable {
    /// First cylinder of the zone.
    pub(super) first_cylinder: u32,
    /// Last cylinder of the zone.
    pub(super) last_cylinder: u32,
    /// Number of sectors of 512 bytes on a track, including spares.
    pub(super) sectors_per_track: u32,
    /// Offset of the zone's first sector from the index mark, in sectors.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) first_sector: f64,
    /// Offset of the first sector of a track from that of the track before, in sectors. Without it, just
    /// enough for a head switch and a write's settling.
    pub(super) track_skew: Option<f64>,
    /// The same offset if the track before is on another cylinder. Without it, just enough for the
    /// shortest seek and a write's settling.
    pub(super) cylinder_skew: Option<f64>,
    /// Number of sectors at the beginning of the zone that have no address.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) reserved: u64,
    /// Number of spare sectors of each zone, range, cylinder or track, as `sparing` says. With `sparing =
    /// "tracks"`: number of spare tracks of the zone.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) spares: u64,
    /// Slipped bad sectors (or tracks), counted from the beginning of the zone.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    pub(super) slips: Vec<u64>,
    /// Other bad sectors (or tracks). Each entry has the bad one and its replacement.
    #[serde(default)]
    #[schemars(with = "Vec<Vec<u64>>", extend("default" = []))]
    pub(super) defects: Vec<(u64, u64)>,
}

/// Data between host and buffer: a rate, or a time for each direction.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct BusTable {
    /// Transfer rate in each direction.
    pub(super) rate: Option<Speed>,
    /// Time to transfer 512 bytes to the host.
    pub(super) read_sector: Option<Span>,
    /// Time to transfer 512 bytes from the host.
    pub(super) write_sector: Option<Span>,
    /// Whether a read keeps the bus until its last sector is transferred, also while it waits for the
    /// medium.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) held_by_reads: bool,
}

/// Times that the controller takes.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub(super) struct OverheadTable {
    /// Overhead of every command, before anything else.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) command: Span,
    /// Overhead of a read whose first sector is in the buffer, before the transfer.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) read_hit: AfterSpan,
    /// Overhead of any other read, before the arm moves.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) read_miss: AfterSpan,
    /// Overhead before the transfer and before the arm moves, for a write that is reported early.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_hit: AfterSpan,
    /// Overhead before the transfer and before the arm moves, for a write that is reported only when it is on
    /// the medium.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_miss: AfterSpan,
    /// Overhead at the end of a read.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) read_completion: Span,
    /// Overhead at the end of a write.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_completion: Span,
    /// Overhead before each transfer.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) data_preparation: Span,
    /// Time to take the bus again after leaving it.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) first_reselect: Span,
    /// Time to take the bus again when a write is on the medium. Only for a write that left the bus before
    /// its data were transferred (see `extra_disconnect`).
    #[schemars(extend("default" = "0 ms"))]
    pub(super) other_reselect: Span,
    /// Time for a read to leave the bus.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) read_disconnect: AfterSpan,
    /// Time for a write to leave the bus.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_disconnect: Span,
    /// Minimum time between the overhead of a write and its first access to the medium. It does not apply
    /// to a write that joins one in progress (see `combine_writes`).
    #[schemars(extend("default" = "0 ms"))]
    pub(super) least_write_seek: Span,
    /// Times of a write that follows a write to another place, and therefore leaves the bus before its data
    /// are transferred. Without this table, such a write is like any other.
    pub(super) extra_disconnect: Option<ExtraTable>,
}

/// What a write pays that leaves the bus before its data (seen in the HP C2247 family).
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub(super) struct ExtraTable {
    /// Overhead of such a write. It replaces `write_hit` and `write_miss`.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) command: Span,
    /// Time to leave the bus.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) disconnect: Span,
    /// Time away from the bus.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) away: Span,
    /// Time to leave the bus after the data.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) second_disconnect: Span,
    /// Time between `command` and the start of the arm.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) seek_delay: Span,
    /// Minimum number of sectors of a write that must be in the buffer before the first one goes to the
    /// medium. A shorter write must be in the buffer as a whole. It applies to all writes except those that
    /// join one in progress.
    #[schemars(extend("default" = 0))]
    pub(super) gathered_sectors: u64,
    /// The same number for a long write.
    #[schemars(extend("default" = 0))]
    pub(super) gathered_of_long_sectors: u64,
    /// Minimum number of sectors of a long write.
    #[schemars(extend("default" = 0))]
    pub(super) long_sectors: u64,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(super) enum ReadAheadName {
    /// There is no read-ahead.
    #[default]
    Off,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full.
    Segment,
    /// To the end of the track. If the segment began on an earlier track, to the end of the next track. So the
    /// drive is one track ahead of a sequential reader.
    NextTrack,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(super) enum RequestedName {
    /// Read-ahead may replace them.
    #[default]
    Replaced,
    /// They are kept. Read-ahead ends when the segment is full.
    Kept,
    /// They are dropped at once.
    Dropped,
}

/// The on-board buffer.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
#[allow(clippy::struct_excessive_bools, reason = "firmware has independent switches")]
pub(super) struct CacheTable {
    /// Whether data is kept for later commands. Otherwise the buffer only makes up for the different
    /// speeds of bus and medium.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) enabled: bool,
    /// Number of segments. Each holds consecutive sectors.
    #[serde(default = "one")]
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 65_536))]
    pub(super) segments: u32,
    /// Number of sectors in a segment.
    #[serde(default = "usual_segment")]
    #[schemars(extend("default" = 1024, "minimum" = 1))]
    pub(super) segment_sectors: u64,
    /// Whether one segment is reserved for writes. Reads find nothing in it.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) separate_write_segment: bool,
    /// How far the drive reads ahead after a read.
    #[serde(default)]
    #[schemars(extend("default" = "off"))]
    pub(super) read_ahead: ReadAheadName,
    /// Minimum number of sectors that the drive reads ahead before another command may stop it.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) least_read_ahead_sectors: u64,
    /// Maximum number of sectors that the drive reads ahead. With 0, only `read_ahead` and the segment's
    /// size limit it.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) most_read_ahead_sectors: u64,
    /// Whether a read whose sectors are all in the buffer makes the drive read ahead from there.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) read_ahead_on_hit: bool,
    /// What happens to a read's own sectors once the host has them.
    #[serde(default)]
    #[schemars(extend("default" = "replaced"))]
    pub(super) requested: RequestedName,
    /// Whether sectors that pass the head before the first requested one are kept.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) keep_passing: bool,
    /// Whether sectors are read in the order in which they pass the head. Otherwise they are read by
    /// address.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) read_as_passing: bool,
    /// Whether sectors are written in the order in which they pass the head. Otherwise they are written
    /// by address.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) write_as_passing: bool,
    /// Whether a write is reported as complete when it is in the buffer.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) early_write: bool,
    /// Whether a write that continues the one in progress may join it in its segment.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) combine_writes: bool,
    /// Whether reads find written data in the buffer.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) read_hits_on_writes: bool,
    /// Whether a read of the sector that the drive is reading ahead at that moment counts as found in the
    /// buffer.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) hits_on_next: bool,
    /// Whether a read whose sectors are all in the buffer is served while the arm is busy with earlier
    /// writes or read-ahead.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) full_hits_while_busy: bool,
    /// The same for a read if the buffer holds only its first sectors.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) partial_hits_while_busy: bool,
    /// Whether a drive sends the first sectors of a read at once if the buffer holds only these, whatever
    /// `high_water` is.
    #[serde(default = "yes")]
    #[schemars(extend("default" = true))]
    pub(super) partial_hits_at_once: bool,
    /// Whether the drive can stop reading ahead in the middle of a sector.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) stops_in_sector: bool,
    /// Whether a new command leaves the bus if the drive cannot stop reading ahead at once. It takes
    /// the bus again when read-ahead has stopped.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) leaves_while_reading_on: bool,
    /// Share of a read that must be in the buffer before the read takes the bus.
    #[serde(default)]
    #[schemars(extend("default" = 0, "minimum" = 0, "maximum" = 1))]
    pub(super) high_water: f64,
    /// Whether `high_water` is a share of a segment. Otherwise it is a share of the read.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) water_by_segment: bool,
}

impl Default for CacheTable {
    fn default() -> Self {
        Self {
            enabled: false,
            segments: one(),
            segment_sectors: usual_segment(),
            separate_write_segment: false,
            read_ahead: ReadAheadName::default(),
            least_read_ahead_sectors: 0,
            most_read_ahead_sectors: 0,
            read_ahead_on_hit: false,
            requested: RequestedName::default(),
            keep_passing: false,
            read_as_passing: false,
            write_as_passing: false,
            early_write: false,
            combine_writes: false,
            read_hits_on_writes: false,
            hits_on_next: false,
            full_hits_while_busy: false,
            partial_hits_while_busy: false,
            partial_hits_at_once: yes(),
            stops_in_sector: false,
            leaves_while_reading_on: false,
            high_water: 0.0,
            water_by_segment: false,
        }
    }
}
