use crate::drive::After;
use proptest::prelude::*;

use super::*;

const SHEET: &str = r#"
kind = "drive"
source = "a data sheet of our own invention"
rpm = 7200
heads = 4
head_switch = "0.8 ms"
write_settle = "0.4 ms"
medium = { capacity = "100 GB", outer_rate = "60 MB/s", inner_rate = "30 MB/s", zones = 4 }
seek = { data_sheet = { single = "1 ms", average = "8.5 ms", full = "17 ms" } }
bus = { rate = "150 MB/s" }

[overhead]
read_hit = "0.1 ms"
write_hit = ["0.2 ms", "0.3 ms"]

[cache]
enabled = true
segments = 16
segment_sectors = 1024
read_ahead = "segment"
early_write = true
"#;

fn changed(old: &str, new: &str) -> Result<Drive, DriveFileError> {
    assert!(SHEET.contains(old));
    parse(&SHEET.replace(old, new))
}

fn fault(old: &str, new: &str) -> String {
    changed(old, new).unwrap_err().to_string()
}

#[test]
fn derives_zones_and_skews_from_a_data_sheet() {
    let drive = parse(SHEET).unwrap();
    let spec = drive.specification();
    let per_track: Vec<_> = spec.geometry.zones.iter().map(|zone| zone.sectors_per_track).collect();
    // 60 MB/s × 8.3333 ms / 512 = 976.6 sectors, then 50, 40, 30 MB/s
    assert_eq!(per_track, [977, 814, 651, 488]);
    // 195 312 500 sectors in 4 heads × 2930 sectors: 16 665 cylinders a zone, rounded up
    assert_eq!(spec.geometry.zones[0].last_cylinder, 16_664);
    assert_eq!(spec.geometry.zones[3].last_cylinder, 4 * 16_665 - 1);
    assert!(drive.capacity() >= "100 GB".parse().unwrap());
    // 0.8 + 0.4 ms in which sectors of 8.53 µs pass: 140.7; 1 + 0.4 ms: 164.1
    assert_eq!(spec.geometry.zones[0].track_skew, 141.0);
    assert_eq!(spec.geometry.zones[0].cylinder_skew, 165.0);
    // 512 bytes at 150 MB/s
    assert_eq!(spec.bus.read_sector, SimSpan::from_ns(3414));
    assert_eq!(spec.overhead.write_hit.write, SimSpan::from_us(300));
    assert_eq!(spec.overhead.read_hit.write, SimSpan::from_us(100));
    // a single cylinder and the full stroke
    assert_eq!(spec.seek.time(1), SimSpan::from_ms(1));
    assert!((spec.seek.time(66_659).as_ms_f64() - 17.0).abs() < 0.01);
}

#[test]
fn names_the_fault_and_the_nearest_name() {
    let found = fault("head_switch", "head_swich");
    assert!(found.contains("line 6") && found.contains("did you mean `head_switch`?"), "{found}");
    let found = fault("\"segment\"", "\"segmnt\"");
    assert!(found.contains("did you mean `segment`?"), "{found}");
    let found = fault("\"0.8 ms\"", "\"0.8 sec\"");
    assert!(found.contains("`sec` is not a unit of a time"), "{found}");
    let found = fault("kind = \"drive\"", "kind = \"tape\"");
    assert!(found.contains("tape") && found.contains("drive"), "{found}");
    let found = fault("source = \"a data sheet of our own invention\"", "");
    assert!(found.contains("the key `source` is missing"), "{found}");
    let found = fault("rpm = 7200", "rpm = 7");
    assert_eq!(found, "`rpm`: 7 was found; a disk turns 60 to 1000000 times a minute");
    let found = fault("rpm = 7200", "rpm = 7200\nrpm_tolerance = \"20%\"");
    assert_eq!(found, "`rpm_tolerance` is a share such as \"0.2%\", at most 10%");
    let found = fault("bus = { rate = \"150 MB/s\" }", "bus = { read_sector = \"1 us\" }");
    assert_eq!(found, "give `bus.rate`, or `bus.write_sector` for a sector");
    let found = fault("inner_rate = \"30 MB/s\"", "inner_rate = \"70 MB/s\"");
    assert!(found.starts_with("`medium.outer_rate` is below `medium.inner_rate`"), "{found}");
    let found = fault("capacity = \"100 GB\"", "capacity = \"100 PB\"");
    assert!(found.contains("cylinders at these rates"), "{found}");
    let found = fault(
        "[cache]",
        "[[zone]]\nfirst_cylinder = 0\nlast_cylinder = 1\nsectors_per_track = 1\n[cache]",
    );
    assert!(found.starts_with("`medium` and `zone` both say"), "{found}");
    let found = fault("[\"0.2 ms\", \"0.3 ms\"]", "[\"0.2 ms\"]");
    assert!(found.contains("a time such as"), "{found}");
}

#[test]
fn writes_what_it_reads() {
    let drive = parse(SHEET).unwrap();
    assert_eq!(parse(&write(&drive)).unwrap(), drive);
}

/// A specification with random values of all settings.
#[allow(clippy::too_many_lines, reason = "one specification has that many settings")]
fn specification() -> impl Strategy<Value = Specification> {
    let span = || (0_u64..10_000_000_000).prop_map(SimSpan::from_ns);
    let after = move || (span(), span()).prop_map(|(read, write)| After { read, write });
    let spans = proptest::collection::vec(span(), 16);
    let afters = proptest::collection::vec(after(), 5);
    let flags = proptest::collection::vec(any::<bool>(), 18);
    let zone = (
        (1_u32..100, 1_u32..300, -50.0_f64..50.0, 0.0_f64..90.0),
        proptest::collection::btree_set(0_u64..200, 0..30),
    );
    let zones = proptest::collection::vec(zone, 1..4);
    let points = proptest::collection::btree_map(1_u32..5000, 0.0_f64..30.0, 1..20);
    let choices = (0_usize..11, 0_usize..3, 0_usize..5, 0_usize..3, 0_usize..3, 0.0_f64..1.0);
    (spans, afters, flags, zones, points, choices, ".{1,20}", any::<i32>()).prop_map(
        |(spans, afters, flags, zones, points, choices, source, settle)| {
            let sparing = [
                Sparing::None,
                Sparing::Tracks,
                Sparing::Cylinder,
                Sparing::Track,
                Sparing::CylinderSlipsAtEnd,
                Sparing::CylinderFront,
                Sparing::CylinderFrontSlipsAtEnd,
                Sparing::AtEnd,
                Sparing::Range(3),
                Sparing::Zone,
                Sparing::ZoneSlipsAtEnd,
            ][choices.0];
            let mut next = 0;
            let zones = zones
                .into_iter()
                .map(|((cylinders, sectors_per_track, first, skew), slips)| {
                    let first_cylinder = next;
                    next += cylinders + 1;
                    Zone {
                        first_cylinder,
                        last_cylinder: first_cylinder + cylinders - 1,
                        sectors_per_track,
                        first_sector: first,
                        track_skew: skew,
                        cylinder_skew: skew / 3.0,
                        reserved: u64::from(flags[16]),
                        spares: u64::from(flags[17]),
                        slips: slips.into_iter().collect(),
                        defects: if flags[16] { vec![(3, 7)] } else { vec![] },
                    }
                })
                .collect();
            let beyond = [
                None,
                Some(SeekFormula::lee(1.0, 8.0 + choices.5, 17.0, 5000)),
                Some(SeekFormula::ThreePart(Seek {
                    knee: 300,
                    short_ms: choices.5,
                    short_ms_per_sqrt: 0.1,
                    long_ms: 3.0,
                    long_ms_per_cylinder: 0.000_1,
                })),
            ][choices.4];
            Specification {
                source,
                rpm: 7200,
                rpm_tolerance: Tolerance::USUAL,
                geometry: Geometry {
                    heads: 3,
                    numbering: [
                        Numbering::Plain,
                        Numbering::SerpentineByZone,
                        Numbering::Serpentine,
                    ][choices.1],
                    sparing,
                    zones,
                },
                seek: SeekCurve { points: points.into_iter().collect(), beyond },
                head_switch: spans[0],
                write_settle_ns: i64::from(settle),
                bus: Bus { read_sector: spans[1], write_sector: spans[2], held_by_reads: flags[0] },
                overhead: Overhead {
                    command: spans[3],
                    read_hit: afters[0],
                    read_miss: afters[1],
                    write_hit: afters[2],
                    write_miss: afters[3],
                    read_completion: spans[4],
                    write_completion: spans[5],
                    data_preparation: spans[6],
                    first_reselect: spans[7],
                    other_reselect: spans[8],
                    read_disconnect: afters[4],
                    write_disconnect: spans[9],
                    least_write_seek: spans[10],
                    extra_disconnect: flags[1].then_some(ExtraDisconnect {
                        command: spans[11],
                        disconnect: spans[12],
                        away: spans[13],
                        second_disconnect: spans[14],
                        seek_delay: spans[15],
                        gathered: Sectors(10),
                        gathered_of_long: Sectors(u64::from(flags[8]) * 15),
                        long: Sectors(45),
                    }),
                },
                cache: Cache {
                    enabled: flags[2],
                    segments: 2 + u32::from(flags[3]),
                    segment: Sectors(100),
                    separate_write_segment: flags[4],
                    read_ahead: [
                        ReadAhead::Off,
                        ReadAhead::Track,
                        ReadAhead::Cylinder,
                        ReadAhead::Segment,
                        ReadAhead::NextTrack,
                    ][choices.2],
                    least_read_ahead: Sectors(u64::from(flags[5])),
                    most_read_ahead: Sectors(50 * u64::from(flags[6])),
                    read_ahead_on_hit: flags[7],
                    requested: [Requested::Replaced, Requested::Kept, Requested::Dropped]
                        [choices.3],
                    keep_passing: flags[8],
                    read_as_passing: flags[9],
                    write_as_passing: flags[10],
                    early_write: if flags[11] { EarlyWrite::On } else { EarlyWrite::Off },
                    combine_writes: flags[12],
                    read_hits_on_writes: flags[13],
                    hits_on_next: flags[14],
                    full_hits_while_busy: flags[15],
                    partial_hits_while_busy: flags[16],
                    partial_hits_at_once: flags[17],
                    stops_in_sector: flags[8],
                    leaves_while_reading_on: flags[9],
                    high_water: choices.5,
                    water_by_request: flags[9],
                },
                queue_depth: 1 + u32::from(flags[10]) * 31,
            }
        },
    )
}

proptest! {
    #[test]
    fn every_drive_is_read_back_as_it_was_written(specification in specification()) {
        if let Ok(drive) = Drive::new(specification) {
            let text = write(&drive);
            let back = parse(&text);
            prop_assert_eq!(back.as_ref(), Ok(&drive), "{}", text);
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(
        place in 0.0_f64..1.0,
        removed in 0_usize..40,
        put in prop_oneof![
            ".{0,10}", Just("0".to_owned()), Just("-1".to_owned()), Just("nan".to_owned()),
            Just("1e308".to_owned()), Just("9223372036854775807".to_owned()),
            Just("4294967295".to_owned()),
        ],
    ) {
        let from = (SHEET.len() as f64 * place) as usize;
        let to = (from + removed).min(SHEET.len());
        let mut text = SHEET.to_owned();
        text.replace_range(from..to, &put);
        let _ = parse(&text);
    }
}

#[test]
fn the_shipped_drives_are_drives() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/devices");
    let mut found = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        let is_drive = |line: &str| line.starts_with("kind") && line.contains("\"drive\"");
        if text.lines().any(is_drive) {
            let drive = parse(&text);
            assert!(drive.is_ok(), "{}: {}", entry.path().display(), drive.unwrap_err());
            found += 1;
        }
    }
    assert!(found > 0, "there are drive files in {folder}");
}
