//! Tests of whole arrays: against hand calculation, at their limits, under random load.

use foretell_scenarios::device::{
    Array as Spec, ArrayCache, Destage, Device as Member, Level, WriteCache as WriteSpec,
};
use foretell_units::{Rate, Seed};
use proptest::prelude::*;

use super::*;
use crate::ssd::tests::small;

/// Members with simple times: a read of 4 KiB takes 75.336 us, a write 15.096 us.
const READ: u64 = 50_000 + 10_240 + 5_096 + 10_000;
const WRITE: u64 = 5_096 + 10_000;
/// Time of 4 KiB on the array's interface, and the overhead of an operation.
const PAGE: u64 = 4_096;
const OVERHEAD: u64 = 2_000;

/// An array of drives with stripe units of 64 KiB, without caches.
fn array(level: Level, members: u32) -> Spec {
    Spec {
        level,
        members,
        device_name: "small".to_owned(),
        device: Member::Ssd(small()),
        stripe_unit: Bytes::kib(64),
        cache: None,
        rate: Rate::bytes_per_s(1_000_000_000),
        overhead: SimSpan::from_ns(OVERHEAD),
    }
}

/// The same with a cache of 256 pages, and with a write cache of `written` pages if that is not 0.
fn cached(level: Level, members: u32, written: u64) -> Spec {
    let page = Bytes::kib(4);
    let write = (written > 0).then(|| WriteSpec {
        size: page * written,
        destage: Destage::Marks,
        high: page * (written * 3 / 4),
        low: page * (written / 2),
        // 4 KiB in 8.192 us
        mirror_rate: Rate::bytes_per_s(500_000_000),
    });
    let read_ahead = Bytes::ZERO;
    let policy = "lru".to_owned();
    let cache = ArrayCache { size: page * 256, page, policy, read_ahead, write };
    Spec { cache: Some(cache), ..array(level, members) }
}

/// An operation on `pages` pages of 4 KiB.
fn io(op: Op, page: u64, pages: u64) -> Io<u32> {
    Io { lbn: Sectors(page * 8), sectors: Sectors(pages * 8), op, thread: 0, tag: 0 }
}

fn new(spec: &Spec) -> Array<u32> {
    Array::new(spec, Scheduler::Fcfs)
}

/// Submits all operations at `at`. Returns for each, by number, how long after `at` it is done.
fn times_from(array: &mut Array<u32>, at: SimTime, ios: &[Io<u32>]) -> Vec<u64> {
    let mut next = None;
    for (tag, io) in ios.iter().enumerate() {
        next = array.submit(at, Io { tag: tag as u32, ..*io });
    }
    let mut found = vec![0; ios.len()];
    let mut done = Vec::new();
    while let Some(now) = next {
        next = array.complete(now, &mut done);
        for done in done.drain(..) {
            found[done.io.tag as usize] = (now - at).as_ns();
        }
        array.audit(now).unwrap();
    }
    found
}

fn times(spec: &Spec, ios: &[Io<u32>]) -> Vec<u64> {
    times_from(&mut new(spec), SimTime::ZERO, ios)
}

/// Member operations for the operations given, which are done one after the other.
fn operations(spec: &Spec, ios: &[Io<u32>]) -> (u64, u64) {
    let mut array = new(spec);
    for (second, io) in (1..).zip(ios) {
        times_from(&mut array, SimTime::ZERO + SimSpan::from_secs(second), &[*io]);
    }
    let MemberOps { reads, writes } = array.member_operations();
    (reads, writes)
}

#[test]
fn one_operation_by_hand() {
    for level in [Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5] {
        let spec = array(level, 4);
        // the member, the interface, the overhead
        assert_eq!(times(&spec, &[io(Op::Read, 5, 1)]), [READ + PAGE + OVERHEAD], "{level:?}");
    }
    // a write's data first come in; copies are written at the same time
    for level in [Level::Raid0, Level::Raid1, Level::Raid10] {
        let spec = array(level, 4);
        assert_eq!(times(&spec, &[io(Op::Write, 5, 1)]), [PAGE + WRITE + OVERHEAD], "{level:?}");
    }
    // with parity, old data and parity are read first
    let found = times(&array(Level::Raid5, 7), &[io(Op::Write, 5, 1)]);
    assert_eq!(found, [PAGE + READ + WRITE + OVERHEAD]);
}

#[test]
fn members_operations_are_those_of_the_book() {
    let (unit, write) = (16, Op::Write);
    // (reads, writes) of members
    let seven = array(Level::Raid5, 7);
    assert_eq!(operations(&seven, &[io(write, 5, 1)]), (2, 2));
    assert_eq!(operations(&seven, &[io(write, 0, 4 * unit)]), (2, 5));
    assert_eq!(operations(&seven, &[io(write, 0, 6 * unit)]), (0, 7));
    // a stripe and a page of the next stripe
    assert_eq!(operations(&seven, &[io(write, 0, 6 * unit + 1)]), (2, 9));
    assert_eq!(operations(&array(Level::Raid5, 3), &[io(write, 0, 1)]), (1, 2));
    assert_eq!(operations(&array(Level::Raid0, 4), &[io(write, 0, 4 * unit)]), (0, 4));
    assert_eq!(operations(&array(Level::Raid1, 3), &[io(write, 0, 1)]), (0, 3));
    assert_eq!(operations(&array(Level::Raid10, 4), &[io(write, unit - 1, 2)]), (0, 4));
    for level in [Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5] {
        assert_eq!(operations(&array(level, 4), &[io(Op::Read, 0, 1)]), (1, 0), "{level:?}");
    }
}

#[test]
fn reads_are_spread_over_copies() {
    // three reads of the same sectors are on three members, and share the interface
    let one = READ + PAGE + OVERHEAD;
    let reads = [io(Op::Read, 5, 1); 4];
    let found = times(&array(Level::Raid1, 4), &reads);
    assert_eq!(found, [one, one + PAGE, one + 2 * PAGE, one + 3 * PAGE]);
    // of a pair, each member has two reads: the second is sensed (50 us) and sent (10.24 us) after the
    // first
    let found = times(&array(Level::Raid10, 4), &reads);
    assert_eq!(found[..2], [one, one + PAGE]);
    assert_eq!(found[2..], [one + 60_240, one + 60_240 + PAGE]);
}

#[test]
fn writes_to_a_stripe_with_parity_take_turns() {
    let spec = array(Level::Raid5, 7);
    let one = PAGE + READ + WRITE + OVERHEAD;
    // on different units of the same stripe; the second comes in while the first is read
    let found = times(&spec, &[io(Op::Write, 0, 1), io(Op::Write, 16, 1)]);
    assert_eq!(found[0], one);
    assert_eq!(found[1], one + READ + WRITE);
    // two stripes apart they share no member: stripe 0 has data on member 0, parity on 6; stripe 2 has
    // data on 5, parity on 4
    let found = times(&spec, &[io(Op::Write, 0, 1), io(Op::Write, 2 * 96, 1)]);
    assert_eq!(found, [one, one + PAGE]);
}

#[test]
fn what_was_read_is_there() {
    let spec = cached(Level::Raid5, 4, 0);
    let mut array = new(&spec);
    let at = |ms| SimTime::ZERO + SimSpan::from_ms(ms);
    let missed = READ + PAGE + OVERHEAD;
    // a second read of a page that is being fetched waits for it; no member reads it again
    let found = times_from(&mut array, at(0), &[io(Op::Read, 9, 1), io(Op::Read, 9, 1)]);
    assert_eq!(found, [missed, missed + PAGE]);
    assert_eq!(times_from(&mut array, at(10), &[io(Op::Read, 9, 1)]), [PAGE + OVERHEAD]);
    // of two pages only the missing one is read
    let found = times_from(&mut array, at(20), &[io(Op::Read, 9, 2)]);
    assert_eq!(found, [missed + PAGE]);
    assert_eq!(array.member_operations(), MemberOps { reads: 2, writes: 0 });
    assert_eq!(array.hits().unwrap().read, CacheHits { pages: 5, hits: 3 });
    // a write goes through to the members, and its page is cached afterwards
    let found = times_from(&mut array, at(30), &[io(Op::Write, 50, 1)]);
    assert_eq!(found, [PAGE + READ + WRITE + OVERHEAD]);
    assert_eq!(times_from(&mut array, at(40), &[io(Op::Read, 50, 1)]), [PAGE + OVERHEAD]);
}

#[test]
fn writes_are_done_in_memory_until_it_is_full() {
    // room for 16 written pages, destaged beyond 12, down to 8
    let spec = cached(Level::Raid5, 7, 16);
    let mut array = new(&spec);
    let at = |ms| SimTime::ZERO + SimSpan::from_ms(ms);
    // the interface, then the link to the other half
    let done = PAGE + 2 * PAGE + OVERHEAD;
    for page in 0..12 {
        // each on a stripe of its own
        assert_eq!(times_from(&mut array, at(page), &[io(Op::Write, 96 * page, 1)]), [done]);
    }
    assert_eq!(array.member_operations(), MemberOps::default());
    assert_eq!(array.written(), Bytes::kib(48));
    // the thirteenth exceeds the high mark, and five are destaged
    assert_eq!(times_from(&mut array, at(20), &[io(Op::Write, 96 * 12, 1)]), [done]);
    assert_eq!(array.member_operations(), MemberOps { reads: 10, writes: 10 });
    assert_eq!(array.written(), Bytes::kib(32));
    // the least recently written were destaged: a page that is still there needs no room
    assert_eq!(times_from(&mut array, at(30), &[io(Op::Write, 96 * 12, 1)]), [done]);
    assert_eq!(array.written(), Bytes::kib(32));
    assert_eq!(array.hits().unwrap().write, Some(CacheHits { pages: 14, hits: 1 }));
    // a dozen at once: four wait for room until the stripes destaged at the fifth are on the members
    let many: Vec<_> = (20..32).map(|page| io(Op::Write, 96 * page, 1)).collect();
    let found = times_from(&mut array, at(40), &many);
    // the others are done one after the other over the link
    for (number, found) in (0..8).zip(&found) {
        assert_eq!(*found, done + number * 2 * PAGE);
    }
    // the fifth has arrived after 5 pages on the interface; then 5 are destaged
    let least = 5 * PAGE + READ + WRITE;
    assert!(found[8..].iter().all(|found| *found > least), "{found:?}");
    assert!(array.written() <= Bytes::kib(48));
}

#[test]
fn written_pages_of_a_stripe_leave_together() {
    let spec = cached(Level::Raid5, 7, 128);
    let mut array = new(&spec);
    // ten stripes of 96 pages, one page at a time
    for page in 0..960 {
        let at = SimTime::ZERO + SimSpan::from_ms(50) * page;
        times_from(&mut array, at, &[io(Op::Write, page, 1)]);
    }
    let MemberOps { reads, writes } = array.member_operations();
    // all stripes but the last are written whole: seven writes and no read
    assert_eq!((reads, writes % 7), (0, 0));
    assert!(writes >= 7 * 8, "{writes}");
}

#[test]
fn what_was_touched_is_there_and_no_member_was_asked() {
    let mut array = new(&cached(Level::Raid0, 4, 64));
    array.touch(Op::Write, Sectors(0), Sectors(8));
    array.touch(Op::Read, Sectors(80), Sectors(8));
    // 4 KiB over the interface, and the overhead
    let times = times_from(&mut array, SimTime::ZERO, &[io(Op::Read, 0, 1), io(Op::Read, 10, 1)]);
    assert_eq!(times, [PAGE + OVERHEAD, 2 * PAGE + OVERHEAD]);
    assert_eq!(array.member_operations(), MemberOps::default());
}

#[test]
fn sequential_reads_are_read_ahead() {
    let mut spec = cached(Level::Raid5, 5, 0);
    if let Some(cache) = &mut spec.cache {
        cache.read_ahead = Bytes::kib(256);
    }
    let mut array = new(&spec);
    let mut waits = 0;
    for page in 0..512 {
        let at = SimTime::ZERO + SimSpan::from_ms(1) * page;
        let found = times_from(&mut array, at, &[io(Op::Read, page, 1)]);
        waits += u64::from(found != [PAGE + OVERHEAD]);
    }
    // only the first two wait: the second starts the read-ahead
    assert_eq!(waits, 2);
    // random reads start no read-ahead
    let before = array.member_operations().reads;
    for (second, page) in (10..).zip([5000, 3001, 4002, 2003]) {
        let at = SimTime::ZERO + SimSpan::from_secs(second);
        times_from(&mut array, at, &[io(Op::Read, page, 1)]);
    }
    assert_eq!(array.member_operations().reads, before + 4);
}

#[test]
fn bound_random_reads_by_the_members() {
    // four drives of four dies: 16 / 60.24 us = 265 604 a second
    let mut spec = array(Level::Raid0, 4);
    spec.rate = Rate::bytes_per_s(100_000_000_000);
    let pages = new(&spec).sectors().get() / 8;
    let mut stream = Seed(2).stream("array");
    let mut array = new(&spec);
    let (mut next, mut done, mut taken) = (None, Vec::new(), 0);
    for _ in 0..400 {
        next = array.submit(SimTime::ZERO, io(Op::Read, stream.below(pages), 1));
    }
    let (warm, count) = (5_000, 50_000);
    let mut begun = SimTime::ZERO;
    let rate = loop {
        let now = next.unwrap();
        next = array.complete(now, &mut done);
        for _ in done.drain(..) {
            taken += 1;
            if taken == warm {
                begun = now;
                array.mark(now);
            }
            let wake = array.submit(now, io(Op::Read, stream.below(pages), 1));
            next = [next, wake].into_iter().flatten().min();
        }
        if taken >= warm + count {
            let share = array.usage(now).utilization;
            assert!(share > 0.95 && share <= 1.0, "{share}");
            break f64::from(taken - warm) / (now - begun).as_secs_f64();
        }
    };
    let share = rate / (16.0 / 60.24e-6);
    assert!(share > 0.95 && share <= 1.0, "{rate} is {share} of the bound");
}

#[derive(Clone, Copy, Debug)]
struct Given {
    gap_ns: u64,
    first: u64,
    sectors: u64,
    write: bool,
}

fn given() -> impl Strategy<Value = Given> {
    let first = prop_oneof![0_u64..3000, 0_u64..600_000];
    (0_u64..300_000, first, 1_u64..600, any::<bool>())
        .prop_map(|(gap_ns, first, sectors, write)| Given { gap_ns, first, sectors, write })
}

/// Completion times of the operations if the array is called when it asks for it and also every
/// `extra`.
fn played(spec: &Spec, given: &[Given], extra: Option<u64>) -> (Vec<(u32, u64)>, MemberOps) {
    let mut array = new(spec);
    let (mut clock, mut wake) = (0, None::<SimTime>);
    let (mut found, mut done) = (Vec::new(), Vec::new());
    let mut until =
        |array: &mut Array<u32>, end: u64, clock: &mut u64, wake: &mut Option<SimTime>| {
            while let Some(at) = wake.filter(|at| at.as_ns() <= end) {
                while let Some(between) =
                    extra.map(|extra| *clock + extra).filter(|t| *t < at.as_ns())
                {
                    array.complete(SimTime::from_ns(between), &mut done);
                    assert!(done.is_empty(), "something is done before it was said to be");
                    *clock = between;
                }
                *wake = array.complete(at, &mut done);
                *clock = at.as_ns();
                found.extend(done.drain(..).map(|done| (done.io.tag, at.as_ns())));
                array.audit(at).unwrap();
            }
        };
    let mut arrival = 0;
    for (tag, given) in (0..).zip(given) {
        arrival += given.gap_ns;
        until(&mut array, arrival, &mut clock, &mut wake);
        clock = arrival;
        let op = if given.write { Op::Write } else { Op::Read };
        let (lbn, sectors) = (Sectors(given.first), Sectors(given.sectors));
        let io = Io { lbn, sectors, op, thread: 0, tag };
        wake = array.submit(SimTime::from_ns(arrival), io);
    }
    until(&mut array, u64::MAX, &mut clock, &mut wake);
    let operations = array.member_operations();
    (found, operations)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn everything_is_done_once_whenever_the_array_is_woken(
        given in prop::collection::vec(given(), 1..80),
        level in prop::sample::select(
            vec![Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5]),
        pairs in 2_u32..4, cache in any::<bool>(), written in 0_u64..40, ahead in 0_u64..100,
        extra in 1_000_u64..50_000,
    ) {
        let mut spec =
            if cache { cached(level, 2 * pairs, written) } else { array(level, 2 * pairs) };
        if let Some(cache) = &mut spec.cache {
            cache.read_ahead = Bytes::kib(4) * ahead;
        }
        let (found, operations) = played(&spec, &given, None);
        let mut tags: Vec<u32> = found.iter().map(|(tag, _)| *tag).collect();
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..given.len() as u32).collect::<Vec<_>>());
        // the oracle: an array that is called all the time
        prop_assert_eq!(played(&spec, &given, Some(extra)), (found, operations));
    }
}
