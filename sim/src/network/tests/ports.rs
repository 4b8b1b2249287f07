//! Compares a port that walks timetables with a port that has an event for each segment.

use foretell_units::{Bytes, Rate, Seed, SimTime};
use proptest::prelude::*;

use super::nic;
use crate::network::port::{Coming, Outcome, Port};
use crate::network::segment::{Run, SEGMENT_WIRE};
use crate::network::uplinks::Passage;

/// A train: when its sender's link begins it, that link's rate, and the run of segments.
#[derive(Clone, Copy, Debug)]
struct Train {
    start_ns: u64,
    mbit: u64,
    run: Run,
}

fn trains() -> impl Strategy<Value = Vec<Train>> {
    let mbit = prop::sample::select(vec![100_u64, 1000, 1000, 1000, 10_000]);
    let train = (0..1_000_u64, mbit, 90..60_000_u64).prop_map(|(start, mbit, wire)| Train {
        start_ns: start * 1_000,
        mbit,
        run: Run::message(Bytes(wire)),
    });
    prop::collection::vec(train, 1..40).prop_map(|mut trains| {
        trains.sort_by_key(|train| train.start_ns);
        trains
    })
}

/// Arrival times and sizes of the segments of a train.
fn timetable(train: &Train) -> Vec<(u64, u64)> {
    let time = |bytes: u64| (bytes * 8_000).div_ceil(train.mbit);
    (0..train.run.segments)
        .map(|index| {
            let before = u64::from(index);
            let bytes = (train.run.wire - before * SEGMENT_WIRE).min(SEGMENT_WIRE);
            (train.start_ns + before * time(SEGMENT_WIRE) + time(bytes), bytes)
        })
        .collect()
}

/// The outcome for each train: which of its segments passed, and when the last of these left.
type Fates = Vec<(Vec<bool>, u64)>;

fn fates_of_each(trains: &[Train], port: &Port, buffer: u64) -> Fates {
    let mut segments: Vec<(u64, usize, u64)> = Vec::new();
    for (number, train) in trains.iter().enumerate() {
        segments.extend(timetable(train).into_iter().map(|(at, bytes)| (at, number, bytes)));
    }
    segments.sort_by_key(|&(at, number, _)| (at, number));
    let mut fates: Fates = vec![(Vec::new(), 0); trains.len()];
    let mut free = 0_u64;
    for (at, number, bytes) in segments {
        let waiting = free.saturating_sub(at);
        let missing = port.missing(SimTime::from_ns(at), number as u64).as_ns();
        let missing = if waiting == 0 { 0 } else { missing };
        let passes = waiting + bytes * 8 + missing <= buffer * 8;
        if passes {
            free = free.max(at) + bytes * 8;
            fates[number].1 = free;
        }
        fates[number].0.push(passes);
    }
    fates
}

fn walked(trains: &[Train], mut port: Port, single_steps: bool) -> Fates {
    port.single_steps = single_steps;
    let mut outcomes = Vec::new();
    let mut ends = Vec::new();
    for (number, train) in trains.iter().enumerate() {
        let table = timetable(train);
        let (head, tail) = (table[0].0, table[table.len() - 1].0);
        let (head, tail) = (SimTime::from_ns(head), SimTime::from_ns(tail));
        let spacing = Rate::bits_per_s(train.mbit * 1_000_000).time_for(Bytes(SEGMENT_WIRE));
        let now = SimTime::from_ns(train.start_ns);
        // some ports are examined often, some seldom
        if number % 3 == 0 {
            port.walk(now, &mut outcomes);
        }
        let coming =
            Coming::new(number as u32, number as u64, train.run, Passage { head, tail, spacing });
        port.announce(coming, train.run);
        ends.push(port.earliest(number as u32));
    }
    port.walk(SimTime::from_ns(10_000_000_000), &mut outcomes);
    let mut fates: Fates = vec![(Vec::new(), 0); trains.len()];
    for outcome in outcomes {
        match outcome {
            Outcome::Dropped { train, passed, last } => {
                let fate = &mut fates[train as usize].0;
                fate.extend((0..passed).map(|_| true));
                fate.push(false);
                assert_eq!(last, fate.len() as u32 == trains[train as usize].run.segments);
            }
            Outcome::Done { train, passed, finish } => {
                let (fate, at) = &mut fates[train as usize];
                fate.extend((0..passed).map(|_| true));
                *at = finish.as_ns();
            }
        }
    }
    if port.dropped == 0 {
        for (least, fate) in ends.iter().zip(&fates) {
            assert!(least.as_ns() <= fate.1, "a bound is never too late");
        }
    }
    let end = SimTime::from_ns(20_000_000_000);
    port.audit(end).unwrap();
    assert_eq!(port.segments_coming(), 0);
    fates
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn oracle_walks_find_what_each_segment_finds(
        trains in trains(),
        buffer in prop::sample::select(vec![1_538_u64, 5_000, 16_384, 65_536, 262_144, 1 << 30]),
        places in prop::option::of(0..100_u64),
    ) {
        let port = || Port::new(&nic(1000), Bytes(buffer), places.map(Seed));
        let slow = fates_of_each(&trains, &port(), buffer);
        for single_steps in [false, true] {
            let fast = walked(&trains, port(), single_steps);
            for (number, (fast, slow)) in fast.iter().zip(&slow).enumerate() {
                prop_assert_eq!(&fast.0, &slow.0, "train {}", number);
                if slow.0.last() == Some(&true) {
                    prop_assert_eq!(fast.1, slow.1, "train {}", number);
                } else {
                    // no sooner than the segments that passed have left
                    prop_assert!(fast.1 >= slow.1);
                }
            }
        }
    }
}

#[test]
fn a_full_port_drops_the_tail() {
    // the buffer holds 4 segments; two trains of 5 arrive together, twice as fast as they leave
    let train = Train { start_ns: 0, mbit: 1000, run: Run::message(Bytes(5 * SEGMENT_WIRE)) };
    let port = Port::new(&nic(1000), Bytes(4 * SEGMENT_WIRE), None);
    let fates = walked(&[train, train], port, false);
    // queued at the arrival of the n-th pair: 0 and 1, 1 and 2, 2 and 3, 3 and 4 (full). So the last one's
    // place is taken by then, and so is that of the second of the fifth pair
    let passed: Vec<Vec<bool>> = fates.iter().map(|fate| fate.0.clone()).collect();
    assert_eq!(passed[0], [true, true, true, true, true]);
    assert_eq!(passed[1], [true, true, true, false, false]);
    // 8 segments in a row, from the arrival of the first
    assert_eq!(fates[0].1, 12_304 + 8 * 12_304);
}

#[test]
fn who_fills_a_port_at_its_own_rate_does_not_keep_its_last_place() {
    // A train fills the buffer at twice its rate, up to the last byte, and another one keeps it full at
    // the port's own rate. Every 10 ms another segment arrives in between, at a different phase.
    let full = Train { start_ns: 0, mbit: 2000, run: Run::message(Bytes(79 * SEGMENT_WIRE)) };
    let after = 79 * 6_152;
    let steady =
        Train { start_ns: after, mbit: 1000, run: Run::message(Bytes(50_000 * SEGMENT_WIRE)) };
    let others = (1..50).map(|n| Train {
        start_ns: after + n * 10_000_111,
        mbit: 1000,
        run: Run::message(Bytes(SEGMENT_WIRE)),
    });
    let trains: Vec<Train> = [full, steady].into_iter().chain(others).collect();
    let passed = |places| {
        let port = Port::new(&nic(1000), Bytes(40 * SEGMENT_WIRE), places);
        let fates = walked(&trains, port, false);
        fates[2..].iter().filter(|(passed, _)| passed[0]).count()
    };
    assert_eq!(passed(None), 0);
    assert!(passed(Some(Seed(1))) > 49 / 4, "{}", passed(Some(Seed(1))));
}
