//! Device files of detailed drives (`kind = "drive"`): text to [`Drive`] and back.
//!
//! A file gives the layout of sectors in one of two ways. Either zone by zone (`[[zone]]`), or by a
//! data sheet's values (`[medium]`): the capacity, and either the media rates at the edge and at
//! the hub, or the number of cylinders and the sectors of an innermost track as a share of an
//! outermost one. From these, zones are derived. Missing skews are derived as a manufacturer
//! chooses them: just large enough that a sequential access loses no revolution at a change of
//! track or cylinder. Seek times are measured points, Ruemmler & Wilkes's three parts, or a data
//! sheet's three values (single cylinder, average, full stroke). Cache features that a file does
//! not mention are off.

pub(crate) mod raw;
mod write;

use foretell_units::{Bytes, Rate, SECTOR_BYTES, Sectors, SimSpan};
use thiserror::Error;

pub use write::write;

use crate::device::{Seek, Tolerance};
use crate::drive::{
    Bus, Cache, Drive, EarlyWrite, ExtraDisconnect, Fault, Geometry, Numbering, Overhead,
    ReadAhead, Requested, SeekCurve, SeekFormula, Sparing, Specification, Zone,
};
use crate::plain_toml;

use raw::{
    BusTable, CacheTable, File, Lee, Medium, NumberingName, OverheadTable, ReadAheadName,
    RequestedName, SeekTable, Span, SparingName, ZoneTable,
};

/// Why a text is not a drive file.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum DriveFileError {
    /// The text is not TOML of the right form. The message gives line and column.
    #[error("{message}{}", help.as_ref().map_or(String::new(), |help| format!("{help}\n")))]
    Form {
        /// What is wrong and where.
        message: String,
        /// What was probably meant.
        help: Option<String>,
    },
    /// Two settings contradict each other, or one is missing.
    #[error("{0}")]
    Settings(String),
    /// The values do not describe a possible drive.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<toml::de::Error> for DriveFileError {
    fn from(error: toml::de::Error) -> Self {
        let (words, help) = plain_toml::words(error.message());
        Self::Form { message: error.to_string().replace(error.message(), &words), help }
    }
}

/// Reads a drive file.
pub fn parse(text: &str) -> Result<Drive, DriveFileError> {
    let file: File = toml::from_str(text)?;
    file.checked()
}

fn settings<T>(message: impl Into<String>) -> Result<T, DriveFileError> {
    Err(DriveFileError::Settings(message.into()))
}

impl File {
    /// The drive described by the file.
    pub(crate) fn checked(self) -> Result<Drive, DriveFileError> {
        Ok(Drive::new(self.specification()?)?)
    }

    fn specification(self) -> Result<Specification, DriveFileError> {
        let rpm = self.rpm.max(1);
        let Some(rpm_tolerance) = self.rpm_tolerance.number().and_then(Tolerance::share) else {
            return settings(format!(
                "`rpm_tolerance` is a share such as \"0.2%\", at most {}",
                Tolerance::MAX
            ));
        };
        let heads = self.heads.max(1);
        let (mut zones, given) = match (self.medium, self.zone) {
            (Some(medium), None) => {
                let zones = medium.zones(rpm, heads)?;
                let none = vec![(None, None); zones.len()];
                (zones, none)
            }
            (None, Some(zones)) => {
                let skews =
                    zones.iter().map(|zone| (zone.track_skew, zone.cylinder_skew)).collect();
                (zones.into_iter().map(Zone::from).collect(), skews)
            }
            (Some(_), Some(_)) => {
                return settings(
                    "`medium` and `zone` both say where sectors lie; give one of them",
                );
            }
            (None, None) => {
                return settings(
                    "nothing says where sectors lie; give `[medium]` with capacity and rates, or \
                     `[[zone]]` for each zone",
                );
            }
        };
        let cylinders = zones.last().map_or(1, |zone: &Zone| zone.last_cylinder.saturating_add(1));
        let seek = self.seek.curve(cylinders)?;
        let head_switch = self.head_switch.0;
        let period_ns = 60e9 / f64::from(rpm);
        for (zone, (track_skew, cylinder_skew)) in zones.iter_mut().zip(given) {
            let sector_ns = period_ns / f64::from(zone.sectors_per_track.max(1));
            // sectors that pass during a move, including the settling of a write; the next one begins after it
            let passing = |moved: SimSpan| {
                let settled = moved.as_ns().saturating_add_signed(self.write_settle.0.max(0));
                (settled as f64 / sector_ns).floor() + 1.0
            };
            zone.track_skew = track_skew.unwrap_or_else(|| passing(head_switch));
            let step = seek.time(1).max(head_switch);
            zone.cylinder_skew = cylinder_skew.unwrap_or_else(|| passing(step));
        }
        Ok(Specification {
            source: self.source,
            rpm: self.rpm,
            rpm_tolerance,
            geometry: Geometry {
                heads: self.heads,
                numbering: match self.numbering {
                    NumberingName::Plain => Numbering::Plain,
                    NumberingName::SerpentineByZone => Numbering::SerpentineByZone,
                    NumberingName::Serpentine => Numbering::Serpentine,
                },
                sparing: self.sparing.sparing(self.spare_range)?,
                zones,
            },
            seek,
            head_switch,
            write_settle_ns: self.write_settle.0,
            bus: self.bus.bus()?,
            overhead: self.overhead.into(),
            cache: self.cache.into(),
            queue_depth: self.queue_depth,
        })
    }
}

impl SparingName {
    fn sparing(&self, range: Option<u32>) -> Result<Sparing, DriveFileError> {
        let sparing = match self {
            Self::None => Sparing::None,
            Self::Tracks => Sparing::Tracks,
            Self::Cylinder => Sparing::Cylinder,
            Self::Track => Sparing::Track,
            Self::CylinderSlipsAtEnd => Sparing::CylinderSlipsAtEnd,
            Self::CylinderFront => Sparing::CylinderFront,
            Self::CylinderFrontSlipsAtEnd => Sparing::CylinderFrontSlipsAtEnd,
            Self::AtEnd => Sparing::AtEnd,
            Self::Range => match range {
                Some(range) => return Ok(Sparing::Range(range)),
                None => {
                    return settings(
                        "`sparing` is \"range\" but `spare_range`, the cylinders of a range, is missing",
                    );
                }
            },
            Self::Zone => Sparing::Zone,
            Self::ZoneSlipsAtEnd => Sparing::ZoneSlipsAtEnd,
        };
        match range {
            None => Ok(sparing),
            Some(_) => settings("`spare_range` is given but `sparing` is not \"range\""),
        }
    }
}

impl SeekTable {
    fn curve(self, cylinders: u32) -> Result<SeekCurve, DriveFileError> {
        let beyond = match (self.three_part, self.lee, self.data_sheet) {
            (None, None, None) => None,
            (Some(part), None, None) => Some(SeekFormula::ThreePart(Seek {
                knee: part.knee,
                short_ms: part.short_ms,
                short_ms_per_sqrt: part.short_ms_per_sqrt,
                long_ms: part.long_ms,
                long_ms_per_cylinder: part.long_ms_per_cylinder,
            })),
            (None, Some(Lee { root_ms, linear_ms, single_ms }), None) => {
                Some(SeekFormula::Lee { root_ms, linear_ms, single_ms })
            }
            (None, None, Some(sheet)) => Some(SeekFormula::lee(
                sheet.single.0.as_ms_f64(),
                sheet.average.0.as_ms_f64(),
                sheet.full.0.as_ms_f64(),
                cylinders,
            )),
            _ => {
                return settings(
                    "`seek` has several formulas; give one of `three_part`, `lee`, `data_sheet`",
                );
            }
        };
        Ok(SeekCurve { points: self.table_ms, beyond })
    }
}

impl Medium {
    /// Zones with equal numbers of cylinders, whose sectors per track decrease in equal steps.
    fn zones(&self, rpm: u32, heads: u32) -> Result<Vec<Zone>, DriveFileError> {
        let count = self.zones;
        if !(1..=1000).contains(&count) {
            return settings(format!("`medium.zones` is {count}; a disk has 1 to 1000 zones"));
        }
        let sectors = self.capacity.0.get().div_ceil(SECTOR_BYTES).max(1);
        let (outer, inner) = self.sectors_per_track(rpm, heads, sectors)?;
        let per_track: Vec<u32> = (0..count)
            .map(|zone| {
                let inwards = f64::from(zone) / f64::from((count - 1).max(1));
                (outer + (inner - outer) * inwards).round().clamp(1.0, 1e6) as u32
            })
            .collect();
        // this number of cylinders in each zone holds the capacity
        let per_step: u64 = per_track.iter().map(|sectors| u64::from(*sectors)).sum();
        let each = sectors.div_ceil(per_step * u64::from(heads));
        let most = 4_000_000 / count;
        let Some(each) = u32::try_from(each).ok().filter(|each| *each <= most) else {
            return settings(format!(
                "`medium.capacity` needs {} cylinders at these rates; a disk has at most 4000000",
                each.saturating_mul(u64::from(count))
            ));
        };
        let zone = |(number, sectors_per_track): (u32, u32)| Zone {
            first_cylinder: number * each,
            last_cylinder: (number + 1) * each - 1,
            sectors_per_track,
            first_sector: 0.0,
            track_skew: 0.0,
            cylinder_skew: 0.0,
            reserved: 0,
            spares: 0,
            slips: Vec::new(),
            defects: Vec::new(),
        };
        Ok((0..).zip(per_track).map(zone).collect())
    }

    /// Sectors on the outermost and on the innermost track.
    fn sectors_per_track(
        &self,
        rpm: u32,
        heads: u32,
        sectors: u64,
    ) -> Result<(f64, f64), DriveFileError> {
        match (self.outer_rate, self.inner_rate, self.cylinders, self.inner_share) {
            (Some(outer), Some(inner), None, None) => {
                let revolution_s = 60.0 / f64::from(rpm);
                let passing =
                    |rate: Rate| rate.as_bytes_per_s_f64() * revolution_s / SECTOR_BYTES as f64;
                if outer.0 < inner.0 {
                    return settings(
                        "`medium.outer_rate` is below `medium.inner_rate`; more sectors pass outside",
                    );
                }
                Ok((passing(outer.0), passing(inner.0)))
            }
            (None, None, Some(cylinders), Some(share)) => {
                if cylinders == 0 || !(0.1..=1.0).contains(&share) {
                    return settings(format!(
                        "`medium.cylinders` is {cylinders} and `medium.inner_share` {share}; there is \
                         at least one cylinder, and the share lies between 0.1 and 1"
                    ));
                }
                let mean = sectors as f64 / (f64::from(cylinders) * f64::from(heads));
                let outer = mean * 2.0 / (1.0 + share);
                Ok((outer, outer * share))
            }
            _ => settings(
                "`medium` needs `capacity` and either `outer_rate` and `inner_rate`, or `cylinders` \
                 and `inner_share` (sectors on the innermost track, as a share of the outermost)",
            ),
        }
    }
}

impl From<ZoneTable> for Zone {
    fn from(zone: ZoneTable) -> Self {
        Self {
            first_cylinder: zone.first_cylinder,
            last_cylinder: zone.last_cylinder,
            sectors_per_track: zone.sectors_per_track,
            first_sector: zone.first_sector,
            track_skew: zone.track_skew.unwrap_or(0.0),
            cylinder_skew: zone.cylinder_skew.unwrap_or(0.0),
            reserved: zone.reserved,
            spares: zone.spares,
            slips: zone.slips,
            defects: zone.defects,
        }
    }
}

impl BusTable {
    fn bus(&self) -> Result<Bus, DriveFileError> {
        let of_rate = self.rate.map(|rate| rate.0.time_for(Bytes(SECTOR_BYTES)));
        let pick = |own: Option<Span>, name: &str| match (own, of_rate) {
            (Some(span), None) => Ok(span.0),
            (None, Some(span)) => Ok(span),
            (Some(_), Some(_)) => {
                settings(format!("`bus.rate` and `bus.{name}` say the same; give one of them"))
            }
            (None, None) => settings(format!("give `bus.rate`, or `bus.{name}` for a sector")),
        };
        Ok(Bus {
            read_sector: pick(self.read_sector, "read_sector")?,
            write_sector: pick(self.write_sector, "write_sector")?,
            held_by_reads: self.held_by_reads,
        })
    }
}

impl From<OverheadTable> for Overhead {
    fn from(table: OverheadTable) -> Self {
        Self {
            command: table.command.0,
            read_hit: table.read_hit.into(),
            read_miss: table.read_miss.into(),
            write_hit: table.write_hit.into(),
            write_miss: table.write_miss.into(),
            read_completion: table.read_completion.0,
            write_completion: table.write_completion.0,
            data_preparation: table.data_preparation.0,
            first_reselect: table.first_reselect.0,
            other_reselect: table.other_reselect.0,
            read_disconnect: table.read_disconnect.into(),
            write_disconnect: table.write_disconnect.0,
            least_write_seek: table.least_write_seek.0,
            extra_disconnect: table.extra_disconnect.map(|extra| ExtraDisconnect {
                command: extra.command.0,
                disconnect: extra.disconnect.0,
                away: extra.away.0,
                second_disconnect: extra.second_disconnect.0,
                seek_delay: extra.seek_delay.0,
                gathered: Sectors(extra.gathered_sectors),
                gathered_of_long: Sectors(extra.gathered_of_long_sectors),
                long: Sectors(extra.long_sectors),
            }),
        }
    }
}

impl From<CacheTable> for Cache {
    fn from(table: CacheTable) -> Self {
        Self {
            enabled: table.enabled,
            segments: table.segments,
            segment: Sectors(table.segment_sectors),
            separate_write_segment: table.separate_write_segment,
            read_ahead: match table.read_ahead {
                ReadAheadName::Off => ReadAhead::Off,
                ReadAheadName::Track => ReadAhead::Track,
                ReadAheadName::Cylinder => ReadAhead::Cylinder,
                ReadAheadName::Segment => ReadAhead::Segment,
                ReadAheadName::NextTrack => ReadAhead::NextTrack,
            },
            least_read_ahead: Sectors(table.least_read_ahead_sectors),
            most_read_ahead: Sectors(table.most_read_ahead_sectors),
            read_ahead_on_hit: table.read_ahead_on_hit,
            requested: match table.requested {
                RequestedName::Replaced => Requested::Replaced,
                RequestedName::Kept => Requested::Kept,
                RequestedName::Dropped => Requested::Dropped,
            },
            keep_passing: table.keep_passing,
            read_as_passing: table.read_as_passing,
            write_as_passing: table.write_as_passing,
            early_write: if table.early_write { EarlyWrite::On } else { EarlyWrite::Off },
            combine_writes: table.combine_writes,
            read_hits_on_writes: table.read_hits_on_writes,
            hits_on_next: table.hits_on_next,
            full_hits_while_busy: table.full_hits_while_busy,
            partial_hits_while_busy: table.partial_hits_while_busy,
            partial_hits_at_once: table.partial_hits_at_once,
            stops_in_sector: table.stops_in_sector,
            leaves_while_reading_on: table.leaves_while_reading_on,
            high_water: table.high_water,
            water_by_request: !table.water_by_segment,
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "tests by arithmetic expect exact figures")]
mod tests;
