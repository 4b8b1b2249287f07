//! The position of a logical block on the medium.
//!
//! The physical sectors of a zone are numbered along the first track, then along the next. Addresses number
//! the same sectors, but leave out reserved, spare, slipped and replaced ones. So the position follows from
//! the address by arithmetic, except for slips and defects. These are few and sorted, and take one search
//! each. Consecutive sectors on the medium form a *run*: it ends with its track, before a slipped or replaced
//! sector, and before spares. A slip shifts its successors on the track too. In schemes with spares for each
//! track or cylinder it also advances the skew (both as in DiskSim's `layout_g1`). Tests check the map
//! against a walk over every physical sector.

use foretell_scenarios::drive::{Drive, Geometry, Numbering, Sparing, Zone};

/// An angle as a fraction of a revolution: 2⁶⁴ is one turn, so that sums wrap around by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Turn(u64);

impl Turn {
    /// Angle of `sectors` sectors on a track of `per_track`.
    fn of_sectors(sectors: f64, per_track: u32) -> Self {
        let turns = sectors / f64::from(per_track);
        let fraction = turns - turns.floor();
        // a fraction that rounds up to one turn becomes 0
        Self((fraction * 18_446_744_073_709_551_616.0) as u128 as u64)
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }

    fn times(self, count: u64) -> Self {
        Self(self.0.wrapping_mul(count))
    }

    /// Time after the index mark at which this angle passes, if a turn takes `period_ns`.
    pub(super) fn after_index_ns(self, period_ns: u64) -> u64 {
        ((u128::from(self.0) * u128::from(period_ns)) >> 64) as u64
    }
}

/// The position at which a run of sectors begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) cylinder: u32,
    pub(super) head: u32,
    /// Index of the zone.
    pub(super) zone: u32,
    /// Number of the first sector on the track.
    pub(super) sector: u32,
    /// Angle at which it begins.
    pub(super) angle: Turn,
    /// Length of the run from here, at least one sector.
    pub(super) run: u64,
}

/// The map of a drive's addresses.
#[derive(Debug)]
pub(super) struct Layout {
    /// First address of each zone.
    starts: Vec<u64>,
    zones: Vec<ZoneMap>,
    total: u64,
    heads: u64,
}

#[derive(Debug)]
struct ZoneMap {
    first_cylinder: u32,
    per_track: u64,
    /// The first cylinder of those whose tracks alternate in direction: from here on, every second
    /// cylinder has them in backward order.
    backwards: Option<u32>,
    first: Turn,
    track_skew: Turn,
    cylinder_skew: Turn,
    sector: Turn,
    reserved: u64,
    /// Sectors in one unit of slips, spares and defects: 1, or a track.
    unit: u64,
    /// Number of physical units in the zone.
    units: u64,
    grouping: Grouping,
    /// Whether earlier slips advance the skew, and over what range they count.
    pushes: Pushes,
    /// Slips that move addresses, sorted.
    slips: Vec<Slip>,
    /// All slipped units.
    bad: Vec<u64>,
    /// Defective units and their replacements, sorted by defective unit.
    defects: Vec<(u64, u64)>,
}

/// How units are grouped around their spares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Grouping {
    /// The zone as a whole.
    Whole,
    /// Groups of `size` units; `used` of them have addresses, and `front` spares come before these.
    /// With `to_end`, a slip moves everything after it. Otherwise it moves only the rest of its group
    /// towards the group's spares: away from front spares, so that the group's data always ends with
    /// the group, or up to spares at its end.
    Groups { size: u64, used: u64, front: u64, to_end: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pushes {
    No,
    Track,
    Cylinder,
}

/// A slip in terms of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slip {
    /// First address (in units, the reserve included) that it moves.
    threshold: u64,
    /// Places by which addresses from here on move.
    shift: u64,
    group: u64,
    /// Number of slips in its group.
    mates: u64,
}

impl Layout {
    pub(super) fn new(drive: &Drive) -> Self {
        let specification = drive.specification();
        let geometry = &specification.geometry;
        let mut starts = Vec::new();
        let mut total = 0;
        for zone in &geometry.zones {
            starts.push(total);
            total += specification.sectors_in(zone);
        }
        let zones = geometry.zones.iter().map(|zone| ZoneMap::new(geometry, zone)).collect();
        Self { starts, zones, total, heads: u64::from(geometry.heads) }
    }

    /// Number of addresses.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The place of `lbn`; addresses beyond the end have the place of the last one.
    pub(super) fn locate(&self, lbn: u64) -> Place {
        let lbn = lbn.min(self.total - 1);
        let number = self.starts.partition_point(|start| *start <= lbn) - 1;
        let end = self.starts.get(number + 1).copied().unwrap_or(self.total);
        let mut place = self.zones[number].locate(lbn - self.starts[number], self.heads);
        place.run = place.run.min(end - lbn);
        place.zone = number as u32;
        place
    }

    /// Sectors that pass in one turn at the place of `lbn`, spares included.
    pub(super) fn sectors_per_track(&self, lbn: u64) -> u64 {
        let lbn = lbn.min(self.total - 1);
        self.zones[self.starts.partition_point(|start| *start <= lbn) - 1].per_track
    }

    /// The address after the last sector of the track of `lbn`, which is at `place`. A sector that
    /// was replaced by one elsewhere does not end the track.
    pub(super) fn track_end(&self, lbn: u64, place: &Place) -> u64 {
        let here = |other: &Place| other.cylinder == place.cylinder && other.head == place.head;
        let mut end = lbn + place.run;
        while end < self.total {
            let next = self.locate(end);
            if here(&next) {
                end += next.run;
            } else if next.run == 1 && end + 1 < self.total && here(&self.locate(end + 1)) {
                end += 1;
            } else {
                break;
            }
        }
        end
    }

    /// Number of consecutive sectors directly before `lbn`, which is at `place`, on its track.
    pub(super) fn before(&self, lbn: u64, place: &Place) -> u64 {
        let mut first = lbn.saturating_sub(u64::from(place.sector));
        loop {
            let run = self.locate(first);
            if first + run.run > lbn {
                let same = run.cylinder == place.cylinder && run.head == place.head;
                return if same { lbn - first } else { 0 };
            }
            first += run.run;
        }
    }
}

impl ZoneMap {
    fn new(geometry: &Geometry, zone: &Zone) -> Self {
        let heads = u64::from(geometry.heads);
        let per_track = u64::from(zone.sectors_per_track);
        let tracks = zone.cylinders() * heads;
        let cylinder = heads * per_track;
        let unit = if geometry.sparing == Sparing::Tracks { per_track } else { 1 };
        let units = tracks * per_track / unit;
        let groups = |size: u64, front: bool, to_end: bool| Grouping::Groups {
            size,
            used: size.saturating_sub(zone.spares).max(1),
            front: if front { zone.spares } else { 0 },
            to_end,
        };
        let grouping = match geometry.sparing {
            Sparing::Cylinder => groups(cylinder, false, false),
            Sparing::CylinderSlipsAtEnd => groups(cylinder, false, true),
            Sparing::CylinderFront => groups(cylinder, true, false),
            Sparing::CylinderFrontSlipsAtEnd => groups(cylinder, true, true),
            Sparing::Track => groups(per_track, false, false),
            // the last range has no spares if it is shorter
            Sparing::Range(cylinders) if cylinder * u64::from(cylinders) < units => {
                groups(cylinder * u64::from(cylinders), false, false)
            }
            _ => Grouping::Whole,
        };
        let pushes = match geometry.sparing {
            Sparing::Track => Pushes::Track,
            Sparing::Cylinder
            | Sparing::CylinderSlipsAtEnd
            | Sparing::CylinderFront
            | Sparing::CylinderFrontSlipsAtEnd => Pushes::Cylinder,
            _ => Pushes::No,
        };
        let mut defects = zone.defects.clone();
        defects.sort_unstable();
        defects.dedup_by_key(|pair| pair.0);
        defects.retain(|(bad, good)| bad != good);
        Self {
            first_cylinder: zone.first_cylinder,
            per_track,
            backwards: match geometry.numbering {
                Numbering::Plain => None,
                Numbering::SerpentineByZone => Some(zone.first_cylinder),
                Numbering::Serpentine => Some(0),
            },
            first: Turn::of_sectors(zone.first_sector, zone.sectors_per_track),
            track_skew: Turn::of_sectors(zone.track_skew, zone.sectors_per_track),
            cylinder_skew: Turn::of_sectors(zone.cylinder_skew, zone.sectors_per_track),
            sector: Turn::of_sectors(1.0, zone.sectors_per_track),
            reserved: zone.reserved,
            unit,
            units,
            grouping,
            pushes,
            slips: thresholds(&zone.slips, grouping),
            bad: zone.slips.clone(),
            defects,
        }
    }

    /// The unit that holds the address unit `address`, and the number of units that follow in
    /// sequence.
    fn physical(&self, address: u64) -> (u64, u64) {
        let passed = self.slips.partition_point(|slip| slip.threshold <= address);
        let next = self.slips.get(passed).map_or(u64::MAX, |slip| slip.threshold - address);
        let last = passed.checked_sub(1).map(|index| self.slips[index]);
        let (unit, room) = match self.grouping {
            Grouping::Whole => (address + last.map_or(0, |slip| slip.shift), next),
            Grouping::Groups { size, used, front, to_end: true } => {
                let slot = address + last.map_or(0, |slip| slip.shift);
                (slot / used * size + slot % used + front, next.min(used - slot % used))
            }
            Grouping::Groups { size, used, front, to_end: false } => {
                let group = address / used;
                let here = |slip: &Slip| slip.group == group;
                let shift = last.filter(here).map_or(0, |slip| slip.shift);
                // front spares that replace slipped units hold data
                let mates = if front == 0 {
                    0
                } else {
                    let coming = self.slips.get(passed).copied();
                    last.filter(here).or(coming.filter(here)).map_or(0, |slip| slip.mates)
                };
                let skipped = front.saturating_sub(mates);
                let within = address % used;
                (group * size + skipped + within + shift, next.min(used - within))
            }
        };
        (unit.min(self.units - 1), room.max(1))
    }

    fn locate(&self, offset: u64, heads: u64) -> Place {
        let address = offset + self.reserved;
        let (address, rest) =
            if self.unit == 1 { (address, 0) } else { (address / self.unit, address % self.unit) };
        let (mut unit, mut room) = self.physical(address);
        if !self.defects.is_empty() {
            let at = self.defects.partition_point(|(bad, _)| *bad < unit);
            match self.defects.get(at) {
                Some((bad, good)) if *bad == unit => (unit, room) = (*good, 1),
                Some((bad, _)) => room = room.min(bad - unit),
                None => {}
            }
        }
        let physical = unit * self.unit + rest;
        let (track, sector) = (physical / self.per_track, physical % self.per_track);
        let (cylinder, index) = (track / heads, track % heads);
        let number = u64::from(self.first_cylinder) + cylinder;
        let head = match self.backwards {
            Some(even) if (number - u64::from(even)) % 2 == 1 => heads - 1 - index,
            _ => index,
        };
        let pushed = match self.pushes {
            Pushes::No => 0,
            Pushes::Track => self.bad.partition_point(|slip| slip / self.per_track < track),
            Pushes::Cylinder => {
                self.bad.partition_point(|slip| slip / (self.per_track * heads) < cylinder)
            }
        };
        let angle = self
            .first
            .plus(self.track_skew.times(index + (heads - 1) * cylinder))
            .plus(self.cylinder_skew.times(cylinder))
            .plus(self.sector.times(sector + pushed as u64));
        Place {
            cylinder: number as u32,
            head: head as u32,
            zone: 0,
            sector: sector as u32,
            angle,
            run: (self.per_track - sector).min(room.saturating_mul(self.unit) - rest),
        }
    }
}

/// Converts the places of slips into the first addresses that they move.
fn thresholds(slips: &[u64], grouping: Grouping) -> Vec<Slip> {
    match grouping {
        Grouping::Whole => (0..)
            .zip(slips)
            .map(|(earlier, slip)| Slip {
                threshold: slip - earlier,
                shift: earlier + 1,
                group: 0,
                mates: 0,
            })
            .collect(),
        Grouping::Groups { size, used, front, to_end: true } => {
            // a slip among spares moves nothing
            let slot = |slip: &u64| {
                let within = (slip % size).checked_sub(front).filter(|slot| *slot < used)?;
                Some((slip / size, slip / size * used + within))
            };
            (0..)
                .zip(slips.iter().filter_map(slot))
                .map(|(earlier, (group, slot))| Slip {
                    threshold: slot - earlier,
                    shift: earlier + 1,
                    group,
                    mates: 0,
                })
                .collect()
        }
        Grouping::Groups { size, used, front, to_end: false } => {
            let mut found = Vec::new();
            for mates in slips.chunk_by(|a, b| a / size == b / size) {
                let group = mates[0] / size;
                let count = mates.len() as u64;
                let skipped = front.saturating_sub(count);
                found.extend((0..).zip(mates).map(|(earlier, slip)| Slip {
                    threshold: group * used
                        + (slip % size - earlier).saturating_sub(skipped).min(used),
                    shift: earlier + 1,
                    group,
                    mates: count,
                }));
            }
            found
        }
    }
}

#[cfg(test)]
mod tests;
