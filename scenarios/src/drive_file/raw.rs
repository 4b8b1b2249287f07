//! A drive file as it is written.

use foretell_units::{Bytes, Rate, SimSpan};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use crate::drive::After;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(rename = "kind")]
    pub(super) _kind: Kind,
    pub(super) source: String,
    pub(super) rpm: u32,
    pub(super) heads: u32,
    #[serde(default)]
    pub(super) numbering: NumberingName,
    #[serde(default)]
    pub(super) sparing: SparingName,
    pub(super) spare_range: Option<u32>,
    #[serde(default)]
    pub(super) head_switch: Span,
    #[serde(default)]
    pub(super) write_settle: SignedSpan,
    pub(super) queue_depth: Option<u32>,
    pub(super) seek: SeekTable,
    pub(super) medium: Option<Medium>,
    pub(super) zone: Option<Vec<ZoneTable>>,
    pub(super) bus: BusTable,
    #[serde(default)]
    pub(super) overhead: OverheadTable,
    #[serde(default)]
    pub(super) cache: CacheTable,
}

#[derive(Deserialize)]
pub(super) enum Kind {
    #[serde(rename = "drive")]
    Drive,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NumberingName {
    #[default]
    Plain,
    SerpentineByZone,
    Serpentine,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SparingName {
    #[default]
    None,
    Tracks,
    Cylinder,
    Track,
    CylinderSlipsAtEnd,
    CylinderFront,
    CylinderFrontSlipsAtEnd,
    AtEnd,
    Range,
    Zone,
    ZoneSlipsAtEnd,
}

/// A time such as "0.5 ms".
#[derive(Clone, Copy, Default)]
pub(super) struct Span(pub(super) SimSpan);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

/// A time that may be less than nothing: "-0.1 ms".
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

#[derive(Clone, Copy)]
pub(super) struct Size(pub(super) Bytes);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Speed(pub(super) Rate);

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeekTable {
    #[serde(default)]
    pub(super) table_ms: Vec<(u32, f64)>,
    pub(super) three_part: Option<ThreePart>,
    pub(super) lee: Option<Lee>,
    pub(super) data_sheet: Option<DataSheet>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ThreePart {
    pub(super) knee: u32,
    pub(super) short_ms: f64,
    pub(super) short_ms_per_sqrt: f64,
    pub(super) long_ms: f64,
    pub(super) long_ms_per_cylinder: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_field_names, reason = "the unit comes last in a file's keys")]
pub(super) struct Lee {
    pub(super) root_ms: f64,
    pub(super) linear_ms: f64,
    pub(super) single_ms: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DataSheet {
    pub(super) single: Span,
    pub(super) average: Span,
    pub(super) full: Span,
}

/// A data sheet's figures of the medium: either both rates, or cylinders and a share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Medium {
    pub(super) capacity: Size,
    pub(super) outer_rate: Option<Speed>,
    pub(super) inner_rate: Option<Speed>,
    pub(super) cylinders: Option<u32>,
    pub(super) inner_share: Option<f64>,
    pub(super) zones: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ZoneTable {
    pub(super) first_cylinder: u32,
    pub(super) last_cylinder: u32,
    pub(super) sectors_per_track: u32,
    #[serde(default)]
    pub(super) first_sector: f64,
    pub(super) track_skew: Option<f64>,
    pub(super) cylinder_skew: Option<f64>,
    #[serde(default)]
    pub(super) reserved: u64,
    #[serde(default)]
    pub(super) spares: u64,
    #[serde(default)]
    pub(super) slips: Vec<u64>,
    #[serde(default)]
    pub(super) defects: Vec<(u64, u64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BusTable {
    pub(super) rate: Option<Speed>,
    pub(super) read_sector: Option<Span>,
    pub(super) write_sector: Option<Span>,
    #[serde(default)]
    pub(super) held_by_reads: bool,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OverheadTable {
    pub(super) command: Span,
    pub(super) read_hit: AfterSpan,
    pub(super) read_miss: AfterSpan,
    pub(super) write_hit: AfterSpan,
    pub(super) write_miss: AfterSpan,
    pub(super) read_completion: Span,
    pub(super) write_completion: Span,
    pub(super) data_preparation: Span,
    pub(super) first_reselect: Span,
    pub(super) other_reselect: Span,
    pub(super) read_disconnect: AfterSpan,
    pub(super) write_disconnect: Span,
    pub(super) least_write_seek: Span,
    pub(super) extra_disconnect: Option<ExtraTable>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ExtraTable {
    pub(super) command: Span,
    pub(super) disconnect: Span,
    pub(super) away: Span,
    pub(super) second_disconnect: Span,
    pub(super) seek_delay: Span,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReadAheadName {
    #[default]
    Off,
    Track,
    Cylinder,
    Segment,
    NextTrack,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RequestedName {
    #[default]
    Replaced,
    Kept,
    Dropped,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
#[allow(clippy::struct_excessive_bools, reason = "firmware has independent switches")]
pub(super) struct CacheTable {
    pub(super) enabled: Option<bool>,
    pub(super) segments: Option<u32>,
    pub(super) segment_sectors: Option<u64>,
    pub(super) separate_write_segment: bool,
    pub(super) read_ahead: ReadAheadName,
    pub(super) least_read_ahead_sectors: u64,
    pub(super) most_read_ahead_sectors: u64,
    pub(super) read_ahead_on_hit: bool,
    pub(super) requested: RequestedName,
    pub(super) keep_passing: bool,
    pub(super) read_as_passing: bool,
    pub(super) write_as_passing: bool,
    pub(super) early_write: bool,
    pub(super) combine_writes: bool,
    pub(super) read_hits_on_writes: bool,
    pub(super) hits_on_next: bool,
    pub(super) full_hits_while_busy: bool,
    pub(super) partial_hits_while_busy: bool,
    pub(super) partial_hits_at_once: Option<bool>,
    pub(super) stops_in_sector: bool,
    pub(super) high_water: f64,
    pub(super) water_by_segment: bool,
}
