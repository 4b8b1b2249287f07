use super::super::tests::plain;
use super::*;
use proptest::prelude::*;

fn drive(geometry: Geometry) -> Option<Drive> {
    Drive::new(plain(geometry)).ok()
}

/// The physical sector of each address of a zone, found by walking over the zone.
fn walk(geometry: &Geometry, zone: &Zone, addresses: u64) -> Vec<u64> {
    let track = u64::from(zone.sectors_per_track);
    let cylinder = track * u64::from(geometry.heads);
    let whole = zone.cylinders() * cylinder;
    let slipped = |unit: u64| zone.slips.contains(&unit);
    let of_groups = !matches!(
        geometry.sparing,
        Sparing::None | Sparing::Tracks | Sparing::AtEnd | Sparing::Zone | Sparing::ZoneSlipsAtEnd
    );
    let (size, front, to_end) = match geometry.sparing {
        Sparing::Cylinder => (cylinder, 0, false),
        Sparing::CylinderSlipsAtEnd => (cylinder, 0, true),
        Sparing::CylinderFront => (cylinder, zone.spares, false),
        Sparing::CylinderFrontSlipsAtEnd => (cylinder, zone.spares, true),
        Sparing::Track => (track, 0, false),
        Sparing::Range(cylinders) => (cylinder * u64::from(cylinders), 0, false),
        _ => (whole, 0, true),
    };
    let tracks = geometry.sparing == Sparing::Tracks;
    let mut places = Vec::new();
    for group in 0..whole.div_ceil(size) {
        let end = ((group + 1) * size).min(whole);
        let complete = end == (group + 1) * size;
        let spares = if complete && of_groups { zone.spares } else { 0 };
        let used = end - group * size - spares;
        let good = |sector: &u64| !slipped(if tracks { sector / track } else { *sector });
        if to_end {
            places.extend((group * size + front..group * size + front + used).filter(good));
        } else {
            let all: Vec<u64> = (group * size..end).filter(good).collect();
            let used = (used as usize).min(all.len());
            // data stays away from the spares: unused front spares are left free first
            places.extend(if front > 0 { &all[all.len() - used..] } else { &all[..used] });
        }
    }
    let stand_in = |place: u64| {
        let unit = if tracks { place / track } else { place };
        let found = zone.defects.iter().find(|(bad, _)| *bad == unit);
        found.map_or(place, |(_, good)| if tracks { good * track + place % track } else { *good })
    };
    let reserved = zone.reserved as usize;
    places.into_iter().map(stand_in).skip(reserved).take(addresses as usize).collect()
}

fn sparing() -> impl Strategy<Value = Sparing> {
    prop_oneof![
        Just(Sparing::None),
        Just(Sparing::Tracks),
        Just(Sparing::Cylinder),
        Just(Sparing::Track),
        Just(Sparing::CylinderSlipsAtEnd),
        Just(Sparing::CylinderFront),
        Just(Sparing::CylinderFrontSlipsAtEnd),
        Just(Sparing::AtEnd),
        (1_u32..4).prop_map(Sparing::Range),
        Just(Sparing::Zone),
        Just(Sparing::ZoneSlipsAtEnd),
    ]
}

fn numbering() -> impl Strategy<Value = Numbering> {
    prop_oneof![
        Just(Numbering::Plain),
        Just(Numbering::SerpentineByZone),
        Just(Numbering::Serpentine),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn oracle_arithmetic_finds_what_a_walk_over_the_zone_finds(
        heads in 1_u32..4,
        per_track in 4_u32..12,
        first_cylinder in 0_u32..3,
        cylinders in 1_u32..7,
        spares in 0_u64..4,
        reserved in 0_u64..9,
        sparing in sparing(),
        numbering in numbering(),
        slips in proptest::collection::btree_set(0_u64..120, 0..6),
        defects in proptest::collection::btree_map(0_u64..120, 0_u64..120, 0..2),
        skews in (0.0_f64..9.0, 0.0_f64..9.0, 0.0_f64..9.0),
    ) {
        let track = u64::from(per_track);
        let cylinder = track * u64::from(heads);
        let units = u64::from(cylinders) * u64::from(heads)
            * if sparing == Sparing::Tracks { 1 } else { track };
        // no group has more slips than spares: DiskSim's rule, and ours
        let group = match sparing {
            Sparing::Cylinder | Sparing::CylinderFront => cylinder,
            Sparing::Track => track,
            Sparing::Range(range) => cylinder * u64::from(range),
            _ => units,
        };
        let mut slips: Vec<u64> = slips.into_iter().filter(|slip| *slip < units).collect();
        let limited = !matches!(
            sparing,
            Sparing::CylinderSlipsAtEnd | Sparing::CylinderFrontSlipsAtEnd
                | Sparing::AtEnd | Sparing::ZoneSlipsAtEnd
        );
        if limited {
            let mut kept: Vec<u64> = Vec::new();
            for slip in slips {
                let mates = kept.iter().filter(|other| **other / group == slip / group).count();
                let complete = (slip / group + 1) * group <= units;
                if complete && sparing != Sparing::None && (mates as u64) < spares {
                    kept.push(slip);
                }
            }
            slips = kept;
        }
        let in_zone = |(bad, good): &(u64, u64)| *bad < units && *good < units;
        let defects: Vec<(u64, u64)> = defects.into_iter().filter(in_zone).collect();
        let zone = Zone {
            first_cylinder,
            last_cylinder: first_cylinder + cylinders - 1,
            sectors_per_track: per_track,
            first_sector: skews.0,
            track_skew: skews.1,
            cylinder_skew: skews.2,
            reserved,
            spares,
            slips,
            defects,
        };
        let geometry = Geometry { heads, numbering, sparing, zones: vec![zone] };
        let Some(drive) = drive(geometry) else { return Ok(()) };
        let geometry = &drive.specification().geometry;
        let zone = &geometry.zones[0];
        let layout = Layout::new(&drive);
        let places = walk(geometry, zone, layout.total());
        prop_assert_eq!(places.len() as u64, layout.total());
        for (lbn, physical) in places.iter().enumerate() {
            let place = layout.locate(lbn as u64);
            let number = physical / track;
            let cylinder = first_cylinder + (number / u64::from(heads)) as u32;
            let index = (number % u64::from(heads)) as u32;
            let odd = match numbering {
                Numbering::Plain => false,
                Numbering::SerpentineByZone => (cylinder - first_cylinder) % 2 == 1,
                Numbering::Serpentine => cylinder % 2 == 1,
            };
            let head = if odd { heads - 1 - index } else { index };
            let found = (place.cylinder, place.head, u64::from(place.sector));
            prop_assert_eq!(found, (cylinder, head, physical % track), "address {}", lbn);
            // a run continues as long as places follow each other on the track
            let same_track = |count: &u64| {
                places.get(lbn + *count as usize) == Some(&(physical + count))
                    && (physical + count) / track == number
            };
            let follow = (1..=track).take_while(same_track).count() as u64 + 1;
            // (a replacement may happen to be in sequence; the layout need not detect that)
            let exact = zone.defects.is_empty();
            prop_assert!(place.run <= follow && (!exact || place.run == follow), "run of {}", lbn);
            // consecutive sectors before it on the track
            let before = (1..=lbn)
                .take_while(|back| {
                    let back = *back as u64;
                    *physical >= back
                        && places[lbn - back as usize] == physical - back
                        && (physical - back) / track == number
                })
                .count() as u64;
            let found = layout.before(lbn as u64, &place);
            prop_assert!(found <= before && (!exact || found == before), "before {}", lbn);
            // the angle, as a fraction of a revolution
            let cylinder = f64::from(cylinder - first_cylinder);
            let switches = f64::from(index) + f64::from(heads - 1) * cylinder;
            let earlier = |slip: &&u64| match sparing {
                Sparing::Track => **slip / track < number,
                Sparing::Cylinder | Sparing::CylinderSlipsAtEnd | Sparing::CylinderFront
                | Sparing::CylinderFrontSlipsAtEnd => {
                    **slip / (track * u64::from(heads)) < number / u64::from(heads)
                }
                _ => false,
            };
            let pushed = zone.slips.iter().filter(earlier).count() as f64;
            let sectors = skews.0 + skews.1 * switches + skews.2 * cylinder + pushed
                + f64::from(place.sector);
            let turns = sectors / f64::from(per_track);
            let expected = (turns - turns.floor()) * 1e9;
            let apart = (place.angle.after_index_ns(1_000_000_000) as f64 - expected).abs();
            prop_assert!(!(2.0..1e9 - 2.0).contains(&apart), "angle of {}: {} ns", lbn, apart);
        }
    }
}

#[test]
fn zones_follow_each_other_and_the_end_is_the_last_address() {
    let zone = |first, last, per_track| Zone {
        first_cylinder: first,
        last_cylinder: last,
        sectors_per_track: per_track,
        first_sector: 0.0,
        track_skew: 0.0,
        cylinder_skew: 0.0,
        reserved: 0,
        spares: 0,
        slips: vec![],
        defects: vec![],
    };
    let geometry = Geometry {
        heads: 2,
        numbering: Numbering::Plain,
        sparing: Sparing::None,
        zones: vec![zone(0, 9, 100), zone(11, 20, 50)],
    };
    let layout = Layout::new(&drive(geometry).unwrap());
    // 10 cylinders × 2 heads × 100 sectors, then × 50; cylinder 10 holds no data
    assert_eq!(layout.total(), 2000 + 1000);
    let first_inner = layout.locate(2000);
    assert_eq!((first_inner.cylinder, first_inner.head, first_inner.zone), (11, 0, 1));
    assert_eq!(layout.locate(1999).run, 1);
    assert_eq!(layout.locate(u64::MAX), layout.locate(2999));
}
