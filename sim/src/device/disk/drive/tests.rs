use super::*;
use foretell_scenarios::device::Tolerance;
use foretell_scenarios::drive::{
    EarlyWrite, ExtraDisconnect, Geometry, Numbering, Requested, SeekCurve, Sparing, Specification,
    Zone,
};
use proptest::prelude::*;

/// A drive of this geometry that turns in 10 ms and seeks 1 ms from one cylinder to the next, plus 10
/// µs for each further cylinder. It switches heads in no time, and has no buffer and no overheads.
pub(super) fn plain(geometry: Geometry) -> Specification {
    Specification {
        source: "a test".to_owned(),
        rpm: 6000,
        rpm_tolerance: Tolerance::USUAL,
        geometry,
        seek: SeekCurve { points: vec![(1, 1.0), (2, 1.01)], beyond: None },
        head_switch: SimSpan::ZERO,
        write_settle_ns: 0,
        bus: Bus { read_sector: SimSpan::ZERO, write_sector: SimSpan::ZERO, held_by_reads: false },
        overhead: Overhead::default(),
        cache: Cache {
            enabled: false,
            segments: 1,
            segment: Sectors(64),
            separate_write_segment: false,
            read_ahead: ReadAhead::Off,
            least_read_ahead: Sectors(0),
            most_read_ahead: Sectors(0),
            read_ahead_on_hit: false,
            requested: Requested::Replaced,
            keep_passing: false,
            read_as_passing: false,
            write_as_passing: false,
            early_write: EarlyWrite::Off,
            combine_writes: false,
            read_hits_on_writes: false,
            hits_on_next: false,
            full_hits_while_busy: false,
            partial_hits_while_busy: false,
            partial_hits_at_once: true,
            stops_in_sector: false,
            leaves_while_reading_on: false,
            high_water: 0.0,
            water_by_request: true,
        },
        queue_depth: 1,
    }
}

fn zone(cylinders: u32, sectors_per_track: u32) -> Zone {
    Zone {
        first_cylinder: 0,
        last_cylinder: cylinders - 1,
        sectors_per_track,
        first_sector: 0.0,
        track_skew: 0.0,
        cylinder_skew: 0.0,
        reserved: 0,
        spares: 0,
        slips: vec![],
        defects: vec![],
    }
}

fn geometry(heads: u32, zone: Zone) -> Geometry {
    Geometry { heads, numbering: Numbering::Plain, sparing: Sparing::None, zones: vec![zone] }
}

/// [`plain`], with two heads and 100 sectors on a track: a sector passes in 0.1 ms.
fn simple() -> Specification {
    plain(geometry(2, zone(1000, 100)))
}

/// [`simple`] with a segment of 100 sectors, filled by read-ahead.
fn caching() -> Specification {
    let mut spec = simple();
    spec.cache.enabled = true;
    spec.cache.segments = 2;
    spec.cache.segment = Sectors(100);
    spec.cache.read_ahead = ReadAhead::Segment;
    spec.cache.read_hits_on_writes = true;
    spec.cache.combine_writes = true;
    spec.bus.read_sector = us(10);
    spec.bus.write_sector = us(10);
    spec
}

fn us(n: u64) -> SimSpan {
    SimSpan::from_us(n)
}

fn at_us(n: u64) -> SimTime {
    SimTime::ZERO + us(n)
}

fn drive(spec: &Specification) -> Drive {
    Drive::new(&Spec::new(spec.clone()).unwrap())
}

fn read(drive: &mut Drive, now: SimTime, lbn: u64, sectors: u64) -> Served {
    drive.serve(now, Op::Read, Sectors(lbn), Sectors(sectors))
}

fn write(drive: &mut Drive, now: SimTime, lbn: u64, sectors: u64) -> Served {
    drive.serve(now, Op::Write, Sectors(lbn), Sectors(sectors))
}

#[test]
fn a_read_waits_for_its_sector_and_its_bus() {
    let mut spec = simple();
    spec.overhead.read_miss.read = us(500);
    spec.bus.read_sector = us(10);
    // sector 50 begins 5 ms after the index mark and passes until 5.1; then 10 µs of bus
    assert_eq!(read(&mut drive(&spec), at_us(0), 50, 1).finish, at_us(5_110));
    // sector 4 has passed when the overhead is done at 0.5 ms: it ends at 10.5, and then crosses the
    // bus
    assert_eq!(read(&mut drive(&spec), at_us(0), 4, 1).finish, at_us(10_510));
}

#[test]
fn a_move_costs_the_longer_of_seek_and_switch_and_a_write_settles() {
    let mut spec = simple();
    spec.head_switch = us(700);
    spec.write_settle_ns = 300_000;
    // address 150: cylinder 0, head 1, sector 50: reached at 0.7, the sector begins at 5.0
    assert_eq!(read(&mut drive(&spec), at_us(0), 150, 1).finish, at_us(5_100));
    // address 107: 0.7 ms is just in time for a read, but a write is there only at 1.0
    assert_eq!(read(&mut drive(&spec), at_us(0), 107, 1).finish, at_us(800));
    assert_eq!(write(&mut drive(&spec), at_us(0), 107, 1).finish, at_us(10_800));
    // address 2011: cylinder 10, head 0, sector 11: a seek of 1.09 ms
    assert_eq!(read(&mut drive(&spec), at_us(0), 2011, 1).finish, at_us(1_200));
    assert_eq!(write(&mut drive(&spec), at_us(0), 2011, 1).finish, at_us(11_200));
}

#[test]
fn skews_let_a_sequential_read_go_on_without_losing_a_turn() {
    let mut skewed = zone(1000, 100);
    skewed.track_skew = 8.0;
    skewed.cylinder_skew = 12.0;
    let mut spec = plain(geometry(2, skewed));
    spec.head_switch = us(800);
    // 100 sectors, a head switch of 8 sector times, 100 sectors, a seek of 1 ms within a skew of
    // 12, 100 sectors
    let took = read(&mut drive(&spec), at_us(0), 0, 300).finish;
    assert_eq!(took, at_us(10_000 + 800 + 10_000 + 1_200 + 10_000));
}

#[test]
fn reading_ahead_serves_what_follows() {
    let mut drive = drive(&caching());
    // sectors 0 to 7: on the medium until 0.8 ms, and one sector of bus
    assert_eq!(read(&mut drive, at_us(0), 0, 8).finish, at_us(810));
    // at 3 ms thirty sectors have been read: 8 to 15 are sent at once
    let served = read(&mut drive, at_us(3_000), 8, 8);
    assert_eq!((served.finish, served.buffer_use), (at_us(3_080), BufferUse::Whole));
    // 25 to 34: ten are wanted; the last comes off the medium at 3.5 ms
    let served = read(&mut drive, at_us(3_100), 25, 10);
    assert_eq!((served.finish, served.buffer_use), (at_us(3_510), BufferUse::Part));
    // read-ahead continues to 100 sectors after that, then stops: at 50 ms all are in the segment
    let served = read(&mut drive, at_us(50_000), 134, 1);
    assert_eq!((served.finish, served.buffer_use), (at_us(50_010), BufferUse::Whole));
    // the first sectors have been pushed out
    assert_eq!(read(&mut drive, at_us(51_000), 0, 8).buffer_use, BufferUse::Nothing);
}

#[test]
fn a_command_elsewhere_stops_reading_ahead_at_a_sector_boundary() {
    let mut spec = caching();
    let mut stopped = drive(&spec);
    read(&mut stopped, at_us(0), 0, 1);
    // at 0.45 ms sector 4 is under the head: the arm is free at 0.5 and arrives at 1.5. Sector 16 of
    // cylinder 1, which begins at 1.6, is the first that it can read
    assert_eq!(read(&mut stopped, at_us(450), 216, 1).finish, at_us(1_710));
    // the five sectors that passed are in the buffer
    assert_eq!(read(&mut stopped, at_us(2_000), 1, 4).buffer_use, BufferUse::Whole);
    // if it stops within the sector, the arm arrives at 1.45 ms: sector 15 begins at 1.5
    spec.cache.stops_in_sector = true;
    let mut stopped = drive(&spec);
    read(&mut stopped, at_us(0), 0, 1);
    assert_eq!(read(&mut stopped, at_us(450), 215, 1).finish, at_us(1_610));
}

#[test]
fn an_early_write_takes_overhead_and_bus_and_the_next_command_waits_for_the_medium() {
    let mut spec = caching();
    spec.cache.early_write = EarlyWrite::On;
    spec.overhead.write_hit.read = us(200);
    let mut drive = drive(&spec);
    let served = write(&mut drive, at_us(0), 50, 10);
    // 0.2 ms and ten sectors of 10 µs
    assert_eq!((served.finish, served.buffer_use), (at_us(300), BufferUse::Early));
    // written from 5 to 6 ms; a read of cylinder 1, sector 70 seeks after that
    assert_eq!(read(&mut drive, at_us(1_000), 270, 1).finish, at_us(7_110));
    // and hits the written sectors
    assert_eq!(read(&mut drive, at_us(8_000), 50, 10).buffer_use, BufferUse::Whole);
}

#[test]
fn a_write_is_done_when_the_medium_and_the_bus_are() {
    let mut spec = simple();
    spec.overhead.write_miss.read = us(500);
    spec.bus.write_sector = us(200);
    // the bus brings sector k at 0.5 + 0.2·(k + 1) ms; from sector 50, at 5 ms, ten are written
    assert_eq!(write(&mut drive(&spec), at_us(0), 50, 10).finish, at_us(6_000));
    // from sector 10 on: the first arrives at 0.7. The k-th's place passes at 1.0 + 0.1·k, its data
    // arrives at 0.7 + 0.2·k: the fourth is late (1.4 > 1.3)... the fifth is (1.5 > 1.4), so four are
    // written and the rest a turn later, until 12.0
    assert_eq!(write(&mut drive(&spec), at_us(0), 10, 10).finish, at_us(12_000));
}

#[test]
fn writing_behind_runs_at_the_rate_of_the_medium_once_the_buffer_is_full() {
    let mut skewed = zone(1000, 100);
    skewed.track_skew = 5.0;
    skewed.cylinder_skew = 15.0;
    let mut spec = plain(geometry(2, skewed));
    spec.cache = caching().cache;
    spec.cache.early_write = EarlyWrite::On;
    spec.bus.write_sector = us(1);
    let mut drive = drive(&spec);
    let mut now = at_us(0);
    for number in 0..1000 {
        now = write(&mut drive, now, number * 20, 20).finish;
    }
    // 200 tracks of 10 ms, 100 head switches of 0.5 ms and 99 seeks of 1.5; less one segment
    let medium = 2_000_000 + 50_000 + 148_500 - 10_000;
    let took = (now - at_us(0)).as_ns() / 1000;
    assert!(took.abs_diff(medium) < 12_000, "{took} us");
}

#[test]
fn sectors_are_taken_as_they_pass_where_the_drive_can() {
    let mut spec = caching();
    spec.bus.read_sector = SimSpan::ZERO;
    spec.cache.read_as_passing = true;
    // half a turn late: the whole track is in the buffer after one turn, not after one and a half
    assert_eq!(read(&mut drive(&spec), at_us(5_000), 0, 100).finish, at_us(15_000));
    spec.cache.read_as_passing = false;
    assert_eq!(read(&mut drive(&spec), at_us(5_000), 0, 100).finish, at_us(20_000));
    // sectors 60 to 79 pass while the drive waits for sector 80, and are kept
    spec.cache.keep_passing = true;
    let mut drive = drive(&spec);
    read(&mut drive, at_us(6_000), 80, 1);
    assert_eq!(read(&mut drive, at_us(9_000), 60, 20).buffer_use, BufferUse::Whole);
    assert_eq!(read(&mut drive, at_us(9_000), 59, 20).buffer_use, BufferUse::Nothing);
}

/// Overheads of writes on a drive that disconnects before their data, in us: command 200, disconnecting
/// 30, away 70, disconnecting again 40, the arm 10 later; reconnecting 100, and 50 at the end.
fn twice_leaving() -> Specification {
    let mut spec = simple();
    spec.cache.segments = 2;
    spec.cache.separate_write_segment = true;
    spec.bus.write_sector = us(200);
    spec.overhead.first_reselect = us(100);
    spec.overhead.other_reselect = us(50);
    spec.overhead.extra_disconnect = Some(ExtraDisconnect {
        command: us(200),
        disconnect: us(30),
        away: us(70),
        second_disconnect: us(40),
        seek_delay: us(10),
        gathered: Sectors(10),
        gathered_of_long: Sectors(15),
        long: Sectors(45),
    });
    spec
}

#[test]
fn a_write_goes_to_the_medium_when_enough_of_it_is_in_the_buffer() {
    let spec = twice_leaving();
    // The bus brings sector k at 0.2·(k + 1) ms, so ten of twelve are there at 2.0. Sector 20, which
    // passes from 2.0 on, is in time, and so are the others; then the bus again, for 0.1 ms
    assert_eq!(write(&mut drive(&spec), at_us(0), 20, 12).finish, at_us(3_200 + 100));
    // sector 19 passes at 1.9 ms: a turn later
    assert_eq!(write(&mut drive(&spec), at_us(0), 19, 12).finish, at_us(11_900 + 1_200 + 100));
    // a shorter write must be there as a whole: at 0.8 ms
    assert_eq!(write(&mut drive(&spec), at_us(0), 8, 4).finish, at_us(1_200 + 100));
    // of a long one, fifteen must be there: at 3.0 ms sector 30 is in time. But the bus is half as fast
    // as the medium, so the fifteen ahead last for fourteen more, and the rest comes a turn later
    let long = write(&mut drive(&spec), at_us(0), 29, 45).finish;
    assert!(long > at_us(12_900) && long < at_us(25_000), "{long:?}");
}

#[test]
fn a_write_after_a_write_elsewhere_leaves_the_bus_first() {
    let spec = twice_leaving();
    let mut twice = drive(&spec);
    let first = write(&mut twice, at_us(0), 8, 1).finish;
    // 0.2 ms of bus, 0.9 ms until sector 8 has passed, and the bus again
    assert_eq!(first, at_us(900 + 100));
    // command, disconnecting, away, and the bus again: data from 10.4 ms on, in the buffer at 10.6. The
    // arm could have moved at 10.21; sector 7 passes from 10.7 on; then the bus once more
    assert_eq!(write(&mut twice, at_us(10_000), 7, 1).finish, at_us(10_800 + 50));
    // a write that continues the last one does not disconnect twice
    assert_eq!(write(&mut twice, at_us(20_000), 8, 1).finish, at_us(20_900 + 100));
    // nor does one after a read, which has another segment
    read(&mut twice, at_us(30_000), 50, 1);
    assert_eq!(write(&mut twice, at_us(40_000), 8, 1).finish, at_us(40_900 + 100));
}

#[test]
fn a_write_that_has_to_wait_for_another_leaves_the_bus_but_once() {
    let mut spec = twice_leaving();
    spec.cache.enabled = true;
    spec.cache.early_write = EarlyWrite::On;
    let mut drive = drive(&spec);
    write(&mut drive, at_us(0), 50, 1);
    // sector 50 is written until 5.1 ms; then the bus, 0.1, and the data, 0.2
    assert_eq!(write(&mut drive, at_us(1_000), 7, 1).finish, at_us(5_100 + 100 + 200));
}

#[test]
fn only_what_streams_on_is_spared_the_least_time_before_the_medium() {
    let mut spec = caching();
    spec.cache.early_write = EarlyWrite::On;
    spec.overhead.least_write_seek = us(2_000);
    let mut streams = drive(&spec);
    write(&mut streams, at_us(0), 30, 10);
    // written from 3.0 to 4.0 ms; a write to sectors before it takes until 5.0, and a read of sector 60
    // of the same track waits for nothing else
    write(&mut streams, at_us(3_500), 40, 10);
    assert_eq!(read(&mut streams, at_us(4_500), 60, 1).finish, at_us(6_110));
    let mut pauses = drive(&spec);
    write(&mut pauses, at_us(0), 30, 10);
    // at 4.2 ms the first write is on the medium: the next begins no sooner than at 6.2, when its place
    // has passed, and ends at 15.0
    write(&mut pauses, at_us(4_200), 40, 10);
    assert_eq!(read(&mut pauses, at_us(6_000), 60, 1).finish, at_us(16_110));
}

#[test]
fn a_write_leaves_the_bus_while_the_least_is_read_ahead() {
    let mut spec = caching();
    spec.cache.least_read_ahead = Sectors(30);
    spec.overhead.first_reselect = us(100);
    spec.overhead.write_disconnect = us(40);
    let mut waits = drive(&spec);
    // sector 0 passes until 0.1 ms, then the bus is taken
    assert_eq!(read(&mut waits, at_us(0), 0, 1).finish, at_us(100 + 100 + 10));
    // until 3.1 ms the drive reads ahead to sector 30; then the bus, and the first sector at 3.21: in
    // time for sector 40, which begins at 4.0; and the bus again
    assert_eq!(write(&mut waits, at_us(1_000), 40, 10).finish, at_us(5_000 + 100));
    // for sector 32, which begins at 3.2, it is too late
    let mut late = drive(&spec);
    read(&mut late, at_us(0), 0, 1);
    assert_eq!(write(&mut late, at_us(1_000), 32, 10).finish, at_us(14_200 + 100));
}

#[test]
fn some_drives_leave_the_bus_whenever_read_ahead_does_not_stop_at_once() {
    let mut spec = caching();
    spec.overhead.first_reselect = us(100);
    let command = |spec: &Specification| {
        let mut drive = drive(spec);
        read(&mut drive, at_us(0), 0, 1);
        // sector 9 is under the head until 1.0 ms; sector 11 begins at 1.1
        write(&mut drive, at_us(950), 11, 1).finish
    };
    // in the buffer at 0.96, on the medium at 1.2, and the bus again
    assert_eq!(command(&spec), at_us(1_200 + 100));
    // the bus is taken again from 1.0 to 1.1, and the data arrive at 1.11: a turn later
    spec.cache.leaves_while_reading_on = true;
    assert_eq!(command(&spec), at_us(11_200 + 100));
    // a drive that stops within a sector stops at once
    spec.cache.stops_in_sector = true;
    assert_eq!(command(&spec), at_us(1_200 + 100));
}

#[test]
fn a_read_pays_the_same_each_time_it_takes_the_bus() {
    let mut spec = caching();
    spec.overhead.first_reselect = us(150);
    spec.overhead.other_reselect = us(1_000);
    // The bus is much faster than the medium. Sector 0 is in the buffer at 0.1 ms and taken from 0.25
    // on: two are there, sent at 0.27. The bus is taken for the third, in at 0.3, until 0.45, when the
    // fourth is there too...
    assert_eq!(read(&mut drive(&spec), at_us(0), 0, 4).finish, at_us(470));
}

#[test]
fn to_keep_what_passes_a_drive_reads_from_where_it_lands() {
    let mut spec = caching();
    spec.bus.read_sector = SimSpan::ZERO;
    spec.cache.keep_passing = true;
    // the head lands on sector 50 of 40 to 89: these are read first, and the request is complete after
    // a turn
    assert_eq!(read(&mut drive(&spec), at_us(5_000), 40, 50).finish, at_us(15_000));
    // if the first wanted sector is the first of the track, no passing sectors are kept
    assert_eq!(read(&mut drive(&spec), at_us(5_000), 0, 100).finish, at_us(20_000));
}

#[test]
fn reading_a_track_ahead_goes_on_behind_a_slipped_sector() {
    let mut slipped = zone(1000, 100);
    slipped.slips = vec![50];
    slipped.spares = 1;
    let mut geometry = geometry(2, slipped);
    geometry.sparing = Sparing::Zone;
    let mut spec = plain(geometry);
    spec.cache = caching().cache;
    spec.cache.read_ahead = ReadAhead::NextTrack;
    spec.cache.segment = Sectors(400);
    let mut drive = drive(&spec);
    read(&mut drive, at_us(0), 0, 8);
    // the track has 99 sectors, 0 to 98; the slip after 49 does not end it
    assert_eq!(read(&mut drive, at_us(50_000), 90, 9).buffer_use, BufferUse::Whole);
    assert_eq!(read(&mut drive, at_us(100_000), 300, 1).buffer_use, BufferUse::Nothing);
}

#[test]
fn a_drive_that_reads_along_takes_up_what_continues_it() {
    let held = |lbn| Command { op: Op::Read, lbn: Sectors(lbn), sectors: Sectors(8) };
    for (hits_on_next, expected) in [(true, 8), (false, 12)] {
        let mut spec = caching();
        spec.cache.hits_on_next = hits_on_next;
        let mut drive = drive(&spec);
        let first = read(&mut drive, at_us(0), 0, 8);
        // sector 8 has begun to pass, and sector 12 comes soon
        let commands = [held(30), held(12), held(8)];
        let chosen = drive.reaches_first(first.finish, commands.into_iter()).unwrap();
        assert_eq!(commands[chosen].lbn, Sectors(expected), "{hits_on_next}");
    }
}

#[test]
fn a_drive_takes_up_a_read_in_part_by_the_first_sector_that_is_missing() {
    let held = |lbn| Command { op: Op::Read, lbn: Sectors(lbn), sectors: Sectors(8) };
    let mut spec = caching();
    spec.cache.read_ahead = ReadAhead::Off;
    let mut drive = drive(&spec);
    let first = read(&mut drive, at_us(0), 0, 8);
    // sectors 4 to 7 are in the buffer; sector 8 has passed, and comes again in a revolution
    let commands = [held(4), held(30)];
    let chosen = drive.reaches_first(first.finish, commands.into_iter()).unwrap();
    assert_eq!(commands[chosen].lbn, Sectors(30));
    // all of a read in the buffer is served at once
    let commands = [held(30), Command { sectors: Sectors(4), ..held(4) }];
    let chosen = drive.reaches_first(first.finish, commands.into_iter()).unwrap();
    assert_eq!(commands[chosen].lbn, Sectors(4));
}

proptest! {
    #[test]
    fn oracle_runs_come_as_sector_after_sector(
        heads in 1_u32..4,
        per_track in 3_u32..20,
        skews in (0.0_f64..5.0, 0.0_f64..5.0),
        slips in proptest::collection::btree_set(0_u64..100, 0..4),
        first in 0_u64..150,
        sectors in 1_u64..80,
        at in 0_u64..20_000,
    ) {
        let mut zone = zone(50, per_track);
        zone.track_skew = skews.0;
        zone.cylinder_skew = skews.1;
        zone.spares = 10;
        zone.slips = slips.into_iter().collect();
        let mut geometry = geometry(heads, zone);
        geometry.sparing = Sparing::Zone;
        let spec = plain(geometry);
        let mut drive = drive(&spec);
        let next = (first + sectors).min(drive.sectors().get());
        prop_assume!(first < next);
        drive.fetch(at_us(at), 0, first, next, next);
        let mechanics = &drive.mechanics;
        let mut position = Position::default();
        let mut now = at_us(at);
        for sector in first..next {
            let approach = mechanics.approach(position, now, sector, Op::Read);
            position = approach.position;
            now = approach.run(sector).done(1);
            let run = drive.runs.iter().find(|run| run.next() > sector).unwrap();
            let found = run.done(sector - run.first + 1);
            let apart = found.saturating_since(now).max(now.saturating_since(found));
            prop_assert!(apart <= SimSpan::from_ns(40), "sector {}: {} and {}", sector, found, now);
        }
    }

    #[test]
    fn every_command_ends_within_a_move_and_two_turns_for_each_track(
        seed in proptest::collection::vec((0_u64..2000, 1_u64..150, 0_u64..30_000, any::<bool>()), 1..40),
        flags in proptest::collection::vec(any::<bool>(), 14),
        ahead in 0_usize..5,
        (most, least) in (0_u64..120, 0_u64..20),
        segments in 2_u32..5,
        segment in 1_u64..130,
        (bus, water) in (0_u64..150, 0.0_f64..1.0),
        fees in 0_u64..400,
    ) {
        let mut zone = zone(10, 100);
        (zone.track_skew, zone.cylinder_skew) = (7.0, 20.0);
        let mut spec = plain(geometry(2, zone));
        spec.head_switch = us(600);
        spec.write_settle_ns = if flags[0] { 200_000 } else { -100_000 };
        spec.bus = Bus { read_sector: us(bus), write_sector: us(bus), held_by_reads: flags[1] };
        let fee = us(fees);
        let both = After { read: fee, write: fee };
        spec.overhead = Overhead {
            command: fee,
            read_hit: both,
            read_miss: both,
            write_hit: both,
            write_miss: both,
            read_completion: fee,
            write_completion: fee,
            data_preparation: fee,
            first_reselect: fee,
            other_reselect: fee,
            read_disconnect: both,
            write_disconnect: fee,
            least_write_seek: fee,
            extra_disconnect: flags[2].then_some(foretell_scenarios::drive::ExtraDisconnect {
                command: fee,
                disconnect: fee,
                away: fee,
                second_disconnect: fee,
                seek_delay: fee,
                gathered: Sectors(10),
                gathered_of_long: Sectors(15),
                long: Sectors(45),
            }),
        };
        spec.cache = Cache {
            enabled: flags[3],
            segments,
            segment: Sectors(segment),
            separate_write_segment: flags[4],
            read_ahead: [
                ReadAhead::Off,
                ReadAhead::Track,
                ReadAhead::Cylinder,
                ReadAhead::Segment,
                ReadAhead::NextTrack,
            ][ahead],
            least_read_ahead: Sectors(least),
            most_read_ahead: Sectors(most),
            read_ahead_on_hit: flags[5],
            requested: if flags[6] { Requested::Dropped } else { Requested::Kept },
            keep_passing: flags[7],
            read_as_passing: flags[8],
            write_as_passing: flags[8],
            early_write: if flags[9] { EarlyWrite::On } else { EarlyWrite::Off },
            combine_writes: flags[10],
            read_hits_on_writes: flags[11],
            hits_on_next: flags[12],
            full_hits_while_busy: flags[13],
            partial_hits_while_busy: flags[13],
            partial_hits_at_once: flags[12],
            stops_in_sector: flags[11],
            leaves_while_reading_on: flags[12],
            high_water: water,
            water_by_request: flags[0],
        };
        let mut drive = drive(&spec);
        let mut now = SimTime::ZERO;
        for (lbn, sectors, pause, is_read) in seed {
            let op = if is_read { Op::Read } else { Op::Write };
            // earlier activity: a write ends, or a track and the minimum read-ahead are read
            let before = match drive.background {
                Background::Nothing => now,
                Background::Writing(writing) => writing.done.max(now),
                Background::Reading(_) => now + us(10_000) * 5,
            };
            let served = drive.serve(now, op, Sectors(lbn), Sectors(sectors));
            prop_assert!(served.finish > now);
            let tracks = sectors / 100 + 2 + sectors.div_ceil(segment);
            let track = drive.mechanics.longest_move() + us(20_000);
            let pieces = (us(bus) + fee * 3) * sectors;
            let longest = track * tracks + pieces + fee * 15;
            prop_assert!(served.finish <= before + longest, "{} after {}", served.finish, before);
            now = served.finish + us(pause);
        }
    }
}
