//! Checks that a specification describes a possible drive.

use std::fmt;

use foretell_units::SimSpan;
use thiserror::Error;

use super::{Cache, Geometry, SeekCurve, Sparing, Specification, addressable};

/// Why a specification is not a possible drive.
#[derive(Clone, PartialEq, Debug, Error)]
#[error("{place}: {found}; {wanted}")]
pub struct Fault {
    /// The setting, in backticks.
    pub place: String,
    /// The value found.
    pub found: String,
    /// What is allowed.
    pub wanted: String,
}

fn fault(place: impl fmt::Display, found: impl fmt::Display, wanted: impl fmt::Display) -> Fault {
    Fault { place: place.to_string(), found: found.to_string(), wanted: wanted.to_string() }
}

/// Maximum number of cylinders; a table of seek times has one entry for each distance.
const MAX_CYLINDERS: u32 = 4_000_000;
const LONGEST: SimSpan = SimSpan::from_secs(10);

/// Checks a specification. Returns the number of addressable sectors.
pub(super) fn check(spec: &Specification) -> Result<u64, Fault> {
    if spec.source.trim().is_empty() {
        return Err(fault("`source`", "it is empty", "say where the figures come from"));
    }
    if !(60..=1_000_000).contains(&spec.rpm) {
        let wanted = "a disk turns 60 to 1000000 times a minute";
        return Err(fault("`rpm`", format!("{} was found", spec.rpm), wanted));
    }
    if !(1..=1024).contains(&spec.geometry.heads) {
        let found = format!("{} was found", spec.geometry.heads);
        return Err(fault("`heads`", found, "a disk has 1 to 1024 heads"));
    }
    check_sparing(spec.geometry.sparing)?;
    check_zones(&spec.geometry)?;
    check_seek(&spec.seek)?;
    check_spans(spec)?;
    check_cache(&spec.cache)?;
    if !(1..=1024).contains(&spec.queue_depth) {
        let found = format!("{} was found", spec.queue_depth);
        return Err(fault("`queue_depth`", found, "a drive holds 1 to 1024 commands"));
    }
    let mut total = 0;
    for (number, zone) in spec.geometry.zones.iter().enumerate() {
        let sectors = addressable(&spec.geometry, zone).filter(|sectors| *sectors > 0);
        let sectors = sectors.ok_or_else(|| {
            let found = "reserved and spare sectors leave no room for data";
            fault(format!("zone {number}"), found, "at least one sector must remain")
        })?;
        total += sectors;
    }
    if total > 1 << 50 {
        let found = format!("{total} sectors");
        return Err(fault("`zone`", found, "a disk has at most 2^50 sectors"));
    }
    Ok(total)
}

fn check_sparing(sparing: Sparing) -> Result<(), Fault> {
    match sparing {
        Sparing::Range(0) => {
            Err(fault("`spare_range`", "0 was found", "a range has at least one cylinder"))
        }
        _ => Ok(()),
    }
}

fn check_zones(geometry: &Geometry) -> Result<(), Fault> {
    if geometry.zones.is_empty() {
        return Err(fault("`zone`", "there is none", "a disk has at least one zone"));
    }
    let mut next = 0;
    for (number, zone) in geometry.zones.iter().enumerate() {
        let at = |setting: &str| format!("`{setting}` of zone {number}");
        if zone.first_cylinder < next {
            let found = format!("{} was found", zone.first_cylinder);
            let wanted = format!("the cylinders before {next} belong to the zone before");
            return Err(fault(at("first_cylinder"), found, wanted));
        }
        if zone.last_cylinder < zone.first_cylinder || zone.last_cylinder >= MAX_CYLINDERS {
            let found = format!("{} was found", zone.last_cylinder);
            let wanted = format!(
                "it is at least `first_cylinder`, {}, and below {MAX_CYLINDERS}",
                zone.first_cylinder
            );
            return Err(fault(at("last_cylinder"), found, wanted));
        }
        if !(1..=1_000_000).contains(&zone.sectors_per_track) {
            let found = format!("{} was found", zone.sectors_per_track);
            return Err(fault(at("sectors_per_track"), found, "a track has 1 to 1000000 sectors"));
        }
        let skews = [
            ("first_sector", zone.first_sector),
            ("track_skew", zone.track_skew),
            ("cylinder_skew", zone.cylinder_skew),
        ];
        for (name, skew) in skews {
            if !skew.is_finite() || skew.abs() > 1e9 {
                return Err(fault(at(name), format!("{skew} was found"), "a number of sectors"));
            }
        }
        let places = zone.cylinders() * u64::from(geometry.heads);
        let places = match geometry.sparing {
            Sparing::Tracks => places,
            _ => places * u64::from(zone.sectors_per_track),
        };
        let disorder = zone.slips.iter().zip(zone.slips.iter().skip(1)).find(|(a, b)| a >= b);
        if let Some((earlier, later)) = disorder {
            let found = format!("{earlier} stands before {later}");
            return Err(fault(at("slips"), found, "slips ascend"));
        }
        let defects = zone.defects.iter().flat_map(|(bad, good)| [bad, good]);
        if let Some(outside) = zone.slips.iter().chain(defects).find(|place| **place >= places) {
            let wanted = format!("the zone ends before {places}");
            return Err(fault(at("slips` or `defects"), format!("{outside} was found"), wanted));
        }
        next = zone.last_cylinder + 1;
    }
    Ok(())
}

fn check_seek(seek: &SeekCurve) -> Result<(), Fault> {
    if seek.points.is_empty() && seek.beyond.is_none() {
        return Err(fault("`seek`", "it is empty", "give points or a formula"));
    }
    if let Some((distance, _)) = seek.points.first().filter(|(distance, _)| *distance == 0) {
        let found = format!("a distance of {distance}");
        return Err(fault("`seek.points`", found, "distances begin at one cylinder"));
    }
    if let Some(pair) = seek.points.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        let found = format!("distance {} stands before {}", pair[0].0, pair[1].0);
        return Err(fault("`seek.points`", found, "distances ascend"));
    }
    let possible = |ms: f64| ms.is_finite() && (0.0..=10_000.0).contains(&ms);
    if let Some((distance, ms)) = seek.points.iter().find(|(_, ms)| !possible(*ms)) {
        let found = format!("{ms} ms for {distance} cylinders");
        return Err(fault("`seek.points`", found, "a seek takes 0 to 10000 ms"));
    }
    if let Some(formula) = seek.beyond {
        for distance in [1, 10, 1000, MAX_CYLINDERS] {
            let ms = formula.time_ms(distance);
            if !ms.is_finite() || ms.abs() > 1e7 {
                let found = format!("the formula gives {ms} ms for {distance} cylinders");
                return Err(fault("`seek`", found, "a seek takes 0 to 10000 ms"));
            }
        }
    }
    Ok(())
}

fn check_spans(spec: &Specification) -> Result<(), Fault> {
    let overhead = &spec.overhead;
    let extra = overhead.extra_disconnect.unwrap_or_default();
    let spans = [
        ("head_switch", spec.head_switch),
        ("write_settle", SimSpan::from_ns(spec.write_settle_ns.unsigned_abs())),
        ("bus.read_sector", spec.bus.read_sector),
        ("bus.write_sector", spec.bus.write_sector),
        ("overhead.command", overhead.command),
        ("overhead.read_hit", overhead.read_hit.read.max(overhead.read_hit.write)),
        ("overhead.read_miss", overhead.read_miss.read.max(overhead.read_miss.write)),
        ("overhead.write_hit", overhead.write_hit.read.max(overhead.write_hit.write)),
        ("overhead.write_miss", overhead.write_miss.read.max(overhead.write_miss.write)),
        ("overhead.read_completion", overhead.read_completion),
        ("overhead.write_completion", overhead.write_completion),
        ("overhead.data_preparation", overhead.data_preparation),
        ("overhead.first_reselect", overhead.first_reselect),
        ("overhead.other_reselect", overhead.other_reselect),
        (
            "overhead.read_disconnect",
            overhead.read_disconnect.read.max(overhead.read_disconnect.write),
        ),
        ("overhead.write_disconnect", overhead.write_disconnect),
        ("overhead.least_write_seek", overhead.least_write_seek),
        ("overhead.extra_disconnect.command", extra.command),
        ("overhead.extra_disconnect.disconnect", extra.disconnect),
        ("overhead.extra_disconnect.away", extra.away),
        ("overhead.extra_disconnect.second_disconnect", extra.second_disconnect),
        ("overhead.extra_disconnect.seek_delay", extra.seek_delay),
    ];
    match spans.iter().find(|(_, span)| *span > LONGEST) {
        Some((name, span)) => {
            Err(fault(format!("`{name}`"), format!("{span} was found"), "it is at most 10 s"))
        }
        None => Ok(()),
    }
}

fn check_cache(cache: &Cache) -> Result<(), Fault> {
    if !(1..=65_536).contains(&cache.segments) {
        let found = format!("{} was found", cache.segments);
        return Err(fault("`cache.segments`", found, "a buffer has 1 to 65536 segments"));
    }
    if cache.separate_write_segment && cache.segments < 2 {
        let found = "there is but one segment";
        return Err(fault("`cache.separate_write_segment`", found, "reads need another segment"));
    }
    if !(1..=1 << 32).contains(&cache.segment.get()) {
        let found = format!("{} sectors were found", cache.segment.get());
        return Err(fault("`cache.segment`", found, "a segment has at least one sector"));
    }
    if cache.most_read_ahead.get().max(cache.least_read_ahead.get()) > 1 << 32 {
        let found = format!("{} sectors were found", cache.most_read_ahead.get());
        return Err(fault("`cache.most_read_ahead`", found, "it is at most 2^32 sectors"));
    }
    if !(0.0..=1.0).contains(&cache.high_water) {
        let found = format!("{} was found", cache.high_water);
        return Err(fault("`cache.high_water`", found, "it is a share from 0 to 1"));
    }
    Ok(())
}
