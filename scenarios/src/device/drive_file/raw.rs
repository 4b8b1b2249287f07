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
    /// What kind of device it is.
    #[serde(rename = "kind")]
    #[schemars(with = "String", extend("enum" = ["drive"]))]
    pub(super) _kind: Kind,
    /// Where the figures come from: a data sheet, a measurement, or why something was assumed.
    pub(super) source: String,
    /// Revolutions per minute.
    #[schemars(extend("minimum" = 60, "maximum" = 1_000_000))]
    pub(super) rpm: u32,
    /// By how much the speed of a drive of this kind may differ from that, either way; each has a
    /// speed of its own within it. The default is assumed: product manuals state 0.1 % to 0.5 %.
    #[serde(default = "usual_tolerance")]
    #[schemars(extend("default" = "0.2%"))]
    pub(super) rpm_tolerance: Share,
    /// Recording surfaces.
    #[schemars(extend("minimum" = 1, "maximum" = 1024))]
    pub(super) heads: u32,
    /// The order in which tracks are numbered.
    #[serde(default)]
    #[schemars(extend("default" = "plain"))]
    pub(super) numbering: NumberingName,
    /// Where spare sectors are kept, into which slipped (skipped) sectors push their successors.
    #[serde(default)]
    #[schemars(extend("default" = "none"))]
    pub(super) sparing: SparingName,
    /// Cylinders that share spare sectors.
    #[schemars(extend("minimum" = 1, "x-when" = { "sparing": ["range"] }, "x-required" = true))]
    pub(super) spare_range: Option<u32>,
    /// Time to activate another head.
    #[serde(default)]
    #[schemars(extend("default" = "0 ms"))]
    pub(super) head_switch: Span,
    /// What a write adds to a seek or a head switch; may be negative.
    #[serde(default)]
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_settle: SignedSpan,
    /// Commands that the drive holds at once and serves in the order of shortest positioning time.
    #[serde(default = "one")]
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 1024))]
    pub(super) queue_depth: u32,
    /// Time to move the arm: measured points, a formula, or points and a formula beyond them.
    pub(super) seek: SeekTable,
    /// Where sectors lie, by the figures of a data sheet; else `zone` says it.
    pub(super) medium: Option<Medium>,
    /// Where sectors lie, zone by zone from the outermost inwards: `[[zone]]`.
    pub(super) zone: Option<Vec<ZoneTable>>,
    /// Data between host and buffer.
    pub(super) bus: BusTable,
    /// Controller time.
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
    /// Every cylinder from the first head to the last.
    #[default]
    Plain,
    /// A cylinder switch stays on its surface; the first cylinder of a zone begins at head 0.
    SerpentineByZone,
    /// A cylinder switch stays on its surface; even cylinders begin at head 0.
    Serpentine,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(super) enum SparingName {
    /// Nowhere.
    #[default]
    None,
    /// Whole tracks at the end of each zone; spares, slips and defects count tracks.
    Tracks,
    /// At the end of each cylinder.
    Cylinder,
    /// At the end of each track.
    Track,
    /// At the end of each cylinder; slips push up to the end of the zone.
    CylinderSlipsAtEnd,
    /// At the front of each cylinder.
    CylinderFront,
    /// At the front of each cylinder; slips push up to the end of the zone.
    CylinderFrontSlipsAtEnd,
    /// Only what slips use up, at the end of each zone.
    AtEnd,
    /// At the end of each range of `spare_range` cylinders.
    Range,
    /// At the end of each zone.
    Zone,
    /// At the end of each zone, besides what slips use.
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
    /// Measured points, each a distance in cylinders and a time in milliseconds, by distance;
    /// interpolated.
    #[serde(default)]
    #[schemars(with = "Vec<Vec<f64>>", extend("default" = []))]
    pub(super) table_ms: Vec<(u32, f64)>,
    /// Ruemmler & Wilkes's formula, beyond the last point.
    pub(super) three_part: Option<ThreePart>,
    /// Lee & Katz's formula, beyond the last point.
    pub(super) lee: Option<Lee>,
    /// A data sheet's figures, from which Lee & Katz's formula is derived.
    pub(super) data_sheet: Option<DataSheet>,
}

/// a + b·√d up to the knee, c + e·d beyond.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct ThreePart {
    /// Last distance of the first part, cylinders.
    #[schemars(extend("minimum" = 0, "maximum" = 10_000_000))]
    pub(super) knee: u32,
    /// a, milliseconds.
    pub(super) short_ms: f64,
    /// b, milliseconds per square root of a cylinder.
    pub(super) short_ms_per_sqrt: f64,
    /// c, milliseconds.
    pub(super) long_ms: f64,
    /// e, milliseconds per cylinder.
    pub(super) long_ms_per_cylinder: f64,
}

/// a·√(d−1) + b·(d−1) + c.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
#[allow(clippy::struct_field_names, reason = "the unit comes last in a file's keys")]
pub(super) struct Lee {
    /// a, milliseconds per square root of a cylinder.
    pub(super) root_ms: f64,
    /// b, milliseconds per cylinder.
    pub(super) linear_ms: f64,
    /// c, milliseconds.
    pub(super) single_ms: f64,
}

/// The three figures of a data sheet.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct DataSheet {
    /// To the next cylinder.
    pub(super) single: Span,
    /// Mean over random pairs of cylinders.
    pub(super) average: Span,
    /// From the outermost to the innermost cylinder.
    pub(super) full: Span,
}

/// The figures of a data sheet: either both rates, or cylinders and a share.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct Medium {
    /// Bytes that it holds, at least.
    pub(super) capacity: Size,
    /// Rate at which data passes the head on the outermost track.
    pub(super) outer_rate: Option<Speed>,
    /// Rate at which data passes the head on the innermost track.
    pub(super) inner_rate: Option<Speed>,
    /// Cylinders, if they are known rather than the rates.
    #[schemars(extend("minimum" = 1, "maximum" = 4_000_000))]
    pub(super) cylinders: Option<u32>,
    /// Sectors on the innermost track, as a share of those on the outermost.
    #[schemars(extend("minimum" = 0.1, "maximum" = 1))]
    pub(super) inner_share: Option<f64>,
    /// Zones, each of as many cylinders.
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
    /// First cylinder.
    pub(super) first_cylinder: u32,
    /// Last cylinder, included.
    pub(super) last_cylinder: u32,
    /// Sectors of 512 bytes on a track, spares included.
    pub(super) sectors_per_track: u32,
    /// How far the zone's first sector lies behind the index mark, sectors.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) first_sector: f64,
    /// By how much the first sector of a track lies behind that of the track before, sectors; else
    /// just enough for a head switch and a write's settling.
    pub(super) track_skew: Option<f64>,
    /// The same across a change of cylinder; else just enough for the shortest seek.
    pub(super) cylinder_skew: Option<f64>,
    /// Sectors (or tracks' worth of them) at the zone's beginning that no address reaches.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) reserved: u64,
    /// Spare sectors (or tracks) of each unit that has its own.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) spares: u64,
    /// Bad sectors (or tracks), counted from the zone's beginning, whose successors moved up.
    #[serde(default)]
    #[schemars(extend("default" = []))]
    pub(super) slips: Vec<u64>,
    /// Bad sectors (or tracks), each with the place that stands in for it.
    #[serde(default)]
    #[schemars(with = "Vec<Vec<u64>>", extend("default" = []))]
    pub(super) defects: Vec<(u64, u64)>,
}

/// Data between host and buffer: a rate, or a time for each direction.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct BusTable {
    /// Rate of either direction.
    pub(super) rate: Option<Speed>,
    /// Time for 512 bytes towards the host.
    pub(super) read_sector: Option<Span>,
    /// Time for 512 bytes from the host.
    pub(super) write_sector: Option<Span>,
    /// Whether a read keeps the bus until its last sector has passed, waiting for the medium.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) held_by_reads: bool,
}

/// Controller time.
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub(super) struct OverheadTable {
    /// Of every command, before anything else.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) command: Span,
    /// Of a read whose first sector is in the buffer, before data moves.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) read_hit: AfterSpan,
    /// Of any other read, before the arm moves.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) read_miss: AfterSpan,
    /// Of a write that is reported early, before data or arm move.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_hit: AfterSpan,
    /// Of a write that is reported when it is on the medium, before data or arm move.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_miss: AfterSpan,
    /// At the end of a read.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) read_completion: Span,
    /// At the end of a write.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_completion: Span,
    /// Before data moves.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) data_preparation: Span,
    /// To take the bus again after leaving it.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) first_reselect: Span,
    /// The same for a write that had left it before its data, once it is on the medium.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) other_reselect: Span,
    /// For a read to leave the bus.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) read_disconnect: AfterSpan,
    /// For a write to leave the bus.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) write_disconnect: Span,
    /// The least time between a write's overhead and the medium, unless it continues one that is still
    /// being written.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) least_write_seek: Span,
    /// For a write after a write elsewhere, which leaves the bus before its data, if so.
    pub(super) extra_disconnect: Option<ExtraTable>,
}

/// What a write pays that leaves the bus before its data (seen in the HP C2247 family).
#[derive(Deserialize, Default, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(inline)]
pub(super) struct ExtraTable {
    /// Instead of the write overhead.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) command: Span,
    /// To leave the bus.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) disconnect: Span,
    /// Away from the bus.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) away: Span,
    /// To leave the bus after the data.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) second_disconnect: Span,
    /// Between the command overhead and the start of the arm.
    #[schemars(extend("default" = "0 ms"))]
    pub(super) seek_delay: Span,
    /// Sectors of any write that must be in the buffer before its first one goes to the medium; all of
    /// a shorter write.
    #[schemars(extend("default" = 0))]
    pub(super) gathered_sectors: u64,
    /// The same of a long write.
    #[schemars(extend("default" = 0))]
    pub(super) gathered_of_long_sectors: u64,
    /// Sectors from which on a write is long.
    #[schemars(extend("default" = 0))]
    pub(super) long_sectors: u64,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(super) enum ReadAheadName {
    /// Not at all.
    #[default]
    Off,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// Until the segment is full.
    Segment,
    /// One track ahead of a sequential reader.
    NextTrack,
}

#[derive(Deserialize, Default, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(super) enum RequestedName {
    /// Read-ahead may push them out.
    #[default]
    Replaced,
    /// Read-ahead ends when the segment is full.
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
    /// Whether data stays for later commands; else the buffer only matches speeds.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) enabled: bool,
    /// Runs of consecutive sectors that it holds.
    #[serde(default = "one")]
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 65_536))]
    pub(super) segments: u32,
    /// Sectors in a segment.
    #[serde(default = "usual_segment")]
    #[schemars(extend("default" = 1024, "minimum" = 1))]
    pub(super) segment_sectors: u64,
    /// Whether one segment is kept for writes, in which reads find nothing.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) separate_write_segment: bool,
    /// How far the drive reads on after a read.
    #[serde(default)]
    #[schemars(extend("default" = "off"))]
    pub(super) read_ahead: ReadAheadName,
    /// Sectors that it reads on before another command may stop it.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) least_read_ahead_sectors: u64,
    /// Sectors that it reads on at most; 0 leaves it to `read_ahead` and the segment's size.
    #[serde(default)]
    #[schemars(extend("default" = 0))]
    pub(super) most_read_ahead_sectors: u64,
    /// Whether a read found whole in the buffer makes the arm read on from there.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) read_ahead_on_hit: bool,
    /// What becomes of a read's own sectors once the host has them.
    #[serde(default)]
    #[schemars(extend("default" = "replaced"))]
    pub(super) requested: RequestedName,
    /// Whether sectors that pass before the first wanted one are kept.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) keep_passing: bool,
    /// Whether sectors are read in the order in which they pass, not by address.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) read_as_passing: bool,
    /// The same for writing.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) write_as_passing: bool,
    /// Whether a write is reported when it is in the buffer.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) early_write: bool,
    /// Whether a write that continues another may join it in its segment.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) combine_writes: bool,
    /// Whether reads find written data.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) read_hits_on_writes: bool,
    /// Whether a read of the sector that is just being read ahead counts as found.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) hits_on_next: bool,
    /// Whether a read found whole in the buffer is served while the arm writes.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) full_hits_while_busy: bool,
    /// Whether a read found in part is, too.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) partial_hits_while_busy: bool,
    /// Whether a read found in part sends what is there at once, whatever the water mark.
    #[serde(default = "yes")]
    #[schemars(extend("default" = true))]
    pub(super) partial_hits_at_once: bool,
    /// Whether read-ahead can be stopped within a sector.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) stops_in_sector: bool,
    /// Whether a command that comes while read-ahead cannot be stopped at once leaves the bus until it
    /// can.
    #[serde(default)]
    #[schemars(extend("default" = false))]
    pub(super) leaves_while_reading_on: bool,
    /// Share of a read that must be in the buffer before it takes the bus.
    #[serde(default)]
    #[schemars(extend("default" = 0, "minimum" = 0, "maximum" = 1))]
    pub(super) high_water: f64,
    /// Whether that is a share of a segment instead.
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
