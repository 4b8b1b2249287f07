//! Tests of whole drives: against hand calculation, at their limits, over a long time.

use foretell_scenarios::device::{Precondition, Ssd as Spec};
use foretell_units::{Bytes, Op, Rate, Sectors, Seed, SimSpan, SimTime};
use proptest::prelude::*;

use super::*;

/// 2 channels × 1 chip × 2 dies × 2 planes; 16 KiB pages of 4 units; 64 blocks of 8 pages.
pub(crate) fn small() -> Spec {
    let blocks = 64;
    let flash = 4 * 2 * blocks * 8 * 16_384;
    Spec {
        capacity: Bytes(flash / 100 * 75),
        over_provisioning: 0.25,
        channels: 2,
        chips: 1,
        dies: 2,
        planes: 2,
        page: Bytes::kib(16),
        pages_per_block: 8,
        mapping: Bytes::kib(4),
        read: SimSpan::from_us(50),
        program: SimSpan::from_us(500),
        erase: SimSpan::from_us(3000),
        // 4 KiB in 10.24 us
        channel_rate: Rate::bytes_per_s(400_000_000),
        buffer: Bytes::kib(512),
        power_loss_protection: true,
        queue_depth: 64,
        // 4 KiB in 4.096 us
        host_rate: Rate::bytes_per_s(1_000_000_000),
        duplex: true,
        command: SimSpan::from_us(1),
        latency: SimSpan::from_us(10),
        precondition: Precondition::Sequential,
        endurance: None,
    }
}

fn io(op: Op, unit: u64, units: u64) -> Io<u32> {
    Io { lbn: Sectors(unit * 8), sectors: Sectors(units * 8), op, thread: 0, tag: 0 }
}

/// Submits all operations at zero. Returns when each is done, by tag.
fn times(spec: &Spec, ios: &[Io<u32>]) -> Vec<u64> {
    let mut ssd = Ssd::new(spec);
    let mut next = None;
    for (tag, io) in ios.iter().enumerate() {
        next = ssd.submit(SimTime::ZERO, Io { tag: tag as u32, ..*io });
    }
    let mut found = vec![0; ios.len()];
    let mut done = Vec::new();
    while let Some(at) = next {
        next = ssd.complete(at, &mut done);
        for io in done.drain(..).map(|done| done.io) {
            found[io.tag as usize] = at.as_ns();
        }
    }
    found
}

/// The result of a closed loop.
struct Run {
    /// Seconds from the end of the warm-up to the end.
    seconds: f64,
    ssd: Ssd<u32>,
    written: Written,
    now: SimTime,
}

/// Keeps `outstanding` operations outstanding: `warm` that are not counted, then `count` that are.
fn closed_loop(
    spec: &Spec,
    outstanding: u32,
    warm: u64,
    count: u64,
    mut draw: impl FnMut() -> Io<u32>,
) -> Run {
    let mut ssd = Ssd::new(spec);
    let mut next = None;
    for _ in 0..outstanding {
        next = ssd.submit(SimTime::ZERO, draw());
    }
    let (mut taken, mut done, mut begun) = (0, Vec::new(), SimTime::ZERO);
    let mut before = Written::default();
    loop {
        let now = next.expect("something is outstanding");
        next = ssd.complete(now, &mut done);
        for _ in done.drain(..) {
            taken += 1;
            if taken == warm {
                begun = now;
                before = ssd.written();
                ssd.mark(now);
            }
            if taken == warm + count {
                ssd.audit(now).unwrap();
                let written = ssd.written().since(&before);
                return Run { seconds: (now - begun).as_secs_f64(), ssd, written, now };
            }
            let wake = ssd.submit(now, draw());
            next = [next, wake].into_iter().flatten().min();
        }
    }
}

#[test]
fn one_operation_by_hand() {
    let spec = small();
    // sense 50 us, 4 KiB over the channel 10.24, interface 1 + 4.096, latency 10
    assert_eq!(times(&spec, &[io(Op::Read, 0, 1)]), [50_000 + 10_240 + 5_096 + 10_000]);
    // written to memory: interface and latency
    assert_eq!(times(&spec, &[io(Op::Write, 0, 1)]), [5_096 + 10_000]);
    // a row of 8 units is sensed at once: 50 us, 81.92, 1 + 32.768, 10
    assert_eq!(times(&spec, &[io(Op::Read, 0, 8)]), [50_000 + 81_920 + 33_768 + 10_000]);
    // two rows on two channels at once; the second waits for the interface
    let two = 50_000 + 81_920 + 33_768 + 32_768 + 10_000;
    assert_eq!(times(&spec, &[io(Op::Read, 0, 16)]), [two]);
}

#[test]
fn dies_channels_and_the_interface_are_shared_by_hand() {
    let spec = small();
    // units 0 and 1 are on one die: the second is sensed after the first has left the register
    let first = 50_000 + 10_240 + 5_096 + 10_000;
    let found = times(&spec, &[io(Op::Read, 0, 1), io(Op::Read, 1, 1)]);
    assert_eq!(found, [first, first + 50_000 + 10_240]);
    // rows 0 and 2 (units 0 and 16) are on two dies of one channel
    let found = times(&spec, &[io(Op::Read, 0, 1), io(Op::Read, 16, 1)]);
    assert_eq!(found, [first, first + 10_240]);
    // rows 0 and 1 are on two channels, and share the interface
    let found = times(&spec, &[io(Op::Read, 0, 1), io(Op::Read, 8, 1)]);
    assert_eq!(found, [first, first + 5_096]);
    // a half-duplex interface: the read's data leave before, or after, the write's data come in
    let mut half = small();
    half.duplex = false;
    let found = times(&half, &[io(Op::Read, 0, 1), io(Op::Write, 100, 13)]);
    // the write has the interface until 1 + 13 × 4.096 = 54.248 us, before 60.24
    assert_eq!(found, [first, 54_248 + 10_000]);
    let found = times(&half, &[io(Op::Read, 0, 1), io(Op::Write, 100, 15)]);
    // 1 + 15 × 4.096 = 62.44 us
    assert_eq!(found, [62_440 + 5_096 + 10_000, 62_440 + 10_000]);
}

#[test]
fn a_read_of_what_is_in_the_buffer_needs_no_flash() {
    let spec = small();
    let mut ssd = Ssd::new(&spec);
    let at = SimTime::from_ns;
    assert_eq!(ssd.submit(at(0), io(Op::Write, 7, 1)), Some(at(15_096)));
    let mut done = Vec::new();
    assert_eq!(ssd.complete(at(15_096), &mut done), None);
    // interface from the drive 5.096 us, latency 10
    assert_eq!(ssd.submit(at(20_000), io(Op::Read, 7, 1)), Some(at(35_096)));
    ssd.complete(at(35_096), &mut done);
    // seven more units fill the row, which is programmed
    ssd.submit(at(100_000), io(Op::Write, 800, 7));
    assert_eq!(ssd.complete(at(1_000_000), &mut done), None);
    assert_eq!(done.len(), 3);
    assert_eq!(ssd.written().programmed, Bytes::kib(32));
    // from flash again: 50 + 10.24 + 5.096 + 10
    ssd.submit(at(1_000_000), io(Op::Read, 7, 1));
    ssd.complete(at(1_075_335), &mut done);
    assert_eq!(done.len(), 3);
    ssd.complete(at(1_075_336), &mut done);
    assert_eq!(done.len(), 4);
}

#[test]
fn a_write_of_part_of_a_unit_reads_the_rest_first() {
    let spec = small();
    let mut ssd = Ssd::new(&spec);
    let at = SimTime::from_ns;
    let mut done = Vec::new();
    let part = Io { lbn: Sectors(8), sectors: Sectors(1), op: Op::Write, thread: 0, tag: 0 };
    // 512 B: 1 us + 0.512, and the latency
    assert_eq!(ssd.submit(at(0), part), Some(at(11_512)));
    ssd.complete(at(11_512), &mut done);
    // seven whole units; the row is complete when the rest of the first unit was read, at 1.512 + 50
    // + 10.24 = 61.752 us, and is programmed 81.92 + 500 us later
    ssd.submit(at(11_512), io(Op::Write, 800, 7));
    ssd.complete(at(643_671), &mut done);
    assert_eq!(ssd.written().programmed, Bytes::ZERO);
    ssd.complete(at(643_672), &mut done);
    assert_eq!(ssd.written().programmed, Bytes::kib(32));
}

#[test]
fn writes_again_in_the_buffer_are_programmed_once() {
    let run = closed_loop(&small(), 4, 0, 999, {
        let mut count = 0;
        move || {
            count += 1;
            // units 0..4 over and over: a row is never full
            io(Op::Write, count % 4, 1)
        }
    });
    assert!(run.written.host >= Bytes::kib(4) * 999);
    assert_eq!(run.written.programmed, Bytes::ZERO);
}

#[test]
fn the_queue_depth_limits_what_is_inside() {
    let mut spec = small();
    spec.queue_depth = 2;
    // three rows on different dies; the third enters when the first is done
    let reads = [io(Op::Read, 0, 1), io(Op::Read, 8, 1), io(Op::Read, 24, 1)];
    let found = times(&spec, &reads);
    let one = 50_000 + 10_240 + 5_096 + 10_000;
    assert_eq!(found, [one, one + 5_096, 2 * one]);
}

#[test]
fn a_write_that_finds_the_buffer_full_of_less_than_a_row_makes_it_leave() {
    let mut spec = small();
    // room for two units; a row has eight
    spec.buffer = Bytes::kib(8);
    let found = times(&spec, &[io(Op::Write, 0, 2), io(Op::Write, 100, 1)]);
    // two units are there at 1 + 2 × 4.096 = 9.192 us, and in flash, padded to a row, 81.92 + 500 us
    // later; then there is room
    assert_eq!(found, [19_192, 9_192 + 581_920 + 5_096 + 10_000]);
}

/// A drive in which nothing but dies and channels takes time.
#[test]
fn without_power_loss_protection_a_write_is_done_when_it_is_in_flash() {
    let spec = Spec { power_loss_protection: false, ..small() };
    // command and data 5.096 us, a whole row over the channel 81.92 us, programming, latency
    let alone = 1_000 + 4_096 + 81_920 + 500_000 + 10_000;
    let kept = times(&small(), &[io(Op::Write, 0, 1)]);
    assert_eq!(kept, [1_000 + 4_096 + 10_000]);
    assert_eq!(times(&spec, &[io(Op::Write, 0, 1)]), [alone]);
    // two on two dies at the same time; a write of two rows ends with the later one
    let two = times(&spec, &[io(Op::Write, 0, 1), io(Op::Write, 100, 1)]);
    assert!(two[1] < alone + 100_000, "{two:?}");
    let long = times(&spec, &[io(Op::Write, 0, 16)]);
    assert!((alone..2 * alone).contains(&long[0]), "{long:?}");
    // written again while it is leaving: each write waits for its own data
    let again = times(&spec, &[io(Op::Write, 0, 1), io(Op::Write, 0, 1)]);
    assert!(again.iter().all(|&at| at >= alone), "{again:?}");
    // a closed loop achieves no more than the dies can program, one row each
    let mut stream = Seed(1).stream("units");
    let draw = || io(Op::Write, stream.below(1000), 1);
    let run = closed_loop(&spec, 16, 200, 2000, draw);
    let per_s = 2000.0 / run.seconds;
    assert!(per_s < 4.0 * 8.0 / 0.0005, "{per_s}");
    assert!(run.written.padding > Bytes::ZERO);
}

fn bare(spec: &Spec) -> Spec {
    Spec {
        host_rate: Rate::bytes_per_s(1_000_000_000_000),
        command: SimSpan::ZERO,
        latency: SimSpan::ZERO,
        queue_depth: 4096,
        ..spec.clone()
    }
}

/// Draws of random operations, aligned to their size.
fn random(spec: &Spec, op: Op, bytes: Bytes) -> impl FnMut() -> Io<u32> + use<> {
    let mut stream = Seed(11).stream("ssd/test");
    let (places, sectors) = (spec.capacity.get() / bytes.get(), bytes.get() / 512);
    move || {
        let lbn = Sectors(stream.below(places) * sectors);
        Io { lbn, sectors: Sectors(sectors), op, thread: 0, tag: 0 }
    }
}

/// Draws of sequential operations.
fn sequential(spec: &Spec, op: Op, bytes: Bytes) -> impl FnMut() -> Io<u32> + use<> {
    let (places, sectors) = (spec.capacity.get() / bytes.get(), bytes.get() / 512);
    let mut place = 0;
    move || {
        let lbn = Sectors(place % places * sectors);
        place += 1;
        Io { lbn, sectors: Sectors(sectors), op, thread: 0, tag: 0 }
    }
}

/// Asserts that a figure is close to its bound and does not exceed it.
fn approaches(found: f64, bound: f64, least: f64) {
    let share = found / bound;
    assert!(share > least && share <= 1.0 + 1e-9, "{found} is {share} of {bound}");
}

fn mqsim() -> Spec {
    Spec {
        // 64 dies × 2 planes × 2048 blocks × 256 pages × 8 KiB, less 7 %
        capacity: Bytes(511_272_906_588),
        over_provisioning: 0.07,
        channels: 8,
        chips: 4,
        dies: 2,
        planes: 2,
        page: Bytes::kib(8),
        pages_per_block: 256,
        mapping: Bytes::kib(8),
        read: SimSpan::from_us(75),
        program: SimSpan::from_us(750),
        erase: SimSpan::from_us(3800),
        channel_rate: Rate::bytes_per_s(333_000_000),
        buffer: Bytes::mib(256),
        queue_depth: 65_535,
        host_rate: Rate::bytes_per_s(4_000_000_000),
        duplex: true,
        command: SimSpan::ZERO,
        latency: SimSpan::ZERO,
        precondition: Precondition::Sequential,
        endurance: None,
        power_loss_protection: true,
    }
}

#[test]
fn bound_reads_by_dies() {
    let mut spec = bare(&mqsim());
    spec.channel_rate = Rate::bytes_per_s(100_000_000_000);
    let run = closed_loop(&spec, 2048, 20_000, 100_000, random(&spec, Op::Read, Bytes::kib(8)));
    // 64 dies / 75 us = 853 333 a second
    approaches(100_000.0 / run.seconds, 64.0 / 75e-6, 0.98);
    let mut ssd = run.ssd;
    approaches(ssd.usage(run.now).utilization, 1.0, 0.98);
}

#[test]
fn bound_reads_by_channels() {
    let spec = bare(&mqsim());
    let run = closed_loop(&spec, 2048, 20_000, 100_000, random(&spec, Op::Read, Bytes::kib(8)));
    // 8 × 333 MB/s
    approaches(100_000.0 * 8192.0 / run.seconds, 8.0 * 333e6, 0.98);
    // the channels are the busiest part
    let mut ssd = run.ssd;
    approaches(ssd.usage(run.now).utilization, 1.0, 0.98);
}

#[test]
fn bound_sequential_reads_by_channels() {
    let spec = bare(&mqsim());
    let draw = sequential(&spec, Op::Read, Bytes::kib(256));
    let run = closed_loop(&spec, 16, 100, 5000, draw);
    approaches(5000.0 * 262_144.0 / run.seconds, 8.0 * 333e6, 0.95);
}

#[test]
fn bound_reads_by_the_interface() {
    let mut spec = mqsim();
    spec.host_rate = Rate::bytes_per_s(1_000_000_000);
    let run = closed_loop(&spec, 256, 10_000, 50_000, random(&spec, Op::Read, Bytes::kib(8)));
    approaches(50_000.0 * 8192.0 / run.seconds, 1e9, 0.98);
}

#[test]
fn bound_writes_by_programming() {
    let mut spec = bare(&mqsim());
    spec.channel_rate = Rate::bytes_per_s(100_000_000_000);
    spec.buffer = Bytes::mib(8);
    let draw = sequential(&spec, Op::Write, Bytes::kib(128));
    let run = closed_loop(&spec, 32, 2000, 20_000, draw);
    // 64 dies × 2 planes × 8 KiB / 750 us = 1.398 GB/s
    approaches(20_000.0 * 131_072.0 / run.seconds, 64.0 * 2.0 * 8192.0 / 750e-6, 0.97);
    // with the real channels, a row of 16 KiB takes 49.2 us more on the die
    let mut spec = bare(&mqsim());
    spec.buffer = Bytes::mib(8);
    let draw = sequential(&spec, Op::Write, Bytes::kib(128));
    let run = closed_loop(&spec, 32, 2000, 20_000, draw);
    approaches(20_000.0 * 131_072.0 / run.seconds, 64.0 * 2.0 * 8192.0 / 799.2e-6, 0.95);
}

/// Write amplification of greedy collection under uniform random writes, with `alpha` times as much
/// flash as data and `n` units per block: Desnoyers, Analytic Modeling of SSD Write Performance,
/// SYSTOR 2012. For large blocks it is the closed form of Xiang & Kurkoski (arXiv 1110.4245).
fn desnoyers(alpha: f64, n: f64) -> f64 {
    let scaled = alpha * (1.0 + 0.5 / n);
    let least = 0.5 - n / alpha * lambert(-scaled * libm::exp(-scaled));
    n / (n - (least - 1.0))
}

/// The principal branch of Lambert's W from −1/e to 0.
fn lambert(x: f64) -> f64 {
    let (mut low, mut high) = (-1.0_f64, 0.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle * libm::exp(middle) < x { low = middle } else { high = middle }
    }
    low
}

#[test]
fn the_formula_gives_the_published_figure() {
    // Xiang & Kurkoski: 30 % of over-provisioning, 2.36; simulated 2.35
    assert!((desnoyers(1.3, 1e6) - 2.36).abs() < 0.005);
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn published_write_amplification_of_random_writes() {
    // alpha 1.07 to 1.28: 7, 15 and 28 % more flash than data; 1.3 is the case with the published
    // 2.35
    for (alpha, blocks) in [(1.07, 768), (1.15, 512), (1.28, 512), (1.3, 512), (1.5, 512)] {
        let (dies, units) = (4, 128);
        let flash = dies * blocks * units;
        let capacity = Bytes((flash as f64 / alpha) as u64 * 4096);
        let spec = Spec {
            capacity,
            over_provisioning: 1.0 - (capacity.get() / 4096) as f64 / flash as f64,
            channels: 2,
            chips: 2,
            dies: 1,
            planes: 2,
            page: Bytes::kib(4),
            pages_per_block: 64,
            mapping: Bytes::kib(4),
            buffer: Bytes::kib(512),
            precondition: Precondition::Random,
            ..bare(&small())
        };
        assert_eq!(spec.blocks_per_plane(), blocks);
        let draw = random(&spec, Op::Write, Bytes::kib(4));
        // one drive capacity to settle, two to measure
        let run = closed_loop(&spec, 64, flash, 2 * flash, draw);
        let (found, expected) = (run.written.amplification(), desnoyers(alpha, units as f64));
        assert!((found / expected - 1.0).abs() < 0.1, "{alpha}: {found}, published {expected}");
        println!("{alpha}: {found:.3}, published {expected:.3}");
    }
}

#[test]
fn sequential_writes_are_not_amplified() {
    let mut spec = bare(&small());
    spec.precondition = Precondition::Random;
    let units = spec.capacity.get() / 4096;
    let draw = sequential(&spec, Op::Write, Bytes::kib(32));
    let run = closed_loop(&spec, 8, units / 4, units / 4, draw);
    assert!(run.written.amplification() < 1.01, "{:?}", run.written);
}

/// Writes at fixed times to a drive after random writes. Returns the longest time that a write took.
fn longest_write(
    spec: &Spec,
    gap: SimSpan,
    count: u32,
    mut draw: impl FnMut() -> Io<u32>,
) -> SimSpan {
    let mut ssd = Ssd::new(spec);
    let (mut wake, mut done, mut longest) = (None::<SimTime>, Vec::new(), SimSpan::ZERO);
    let begun = |tag: u32| SimTime::ZERO + gap * u64::from(tag);
    for tag in 0..count {
        let now = begun(tag);
        while let Some(at) = wake.filter(|at| *at <= now) {
            wake = ssd.complete(at, &mut done);
            for end in done.drain(..) {
                longest = longest.max(at - begun(end.io.tag));
            }
        }
        let next = ssd.submit(now, Io { tag, ..draw() });
        wake = [wake, next].into_iter().flatten().min();
    }
    longest
}

#[test]
fn sequential_writes_beside_random_ones_do_not_stall() {
    // 8 dies, and long blocks; the sequential writes leave one end of many blocks valid
    let mut spec = bare(&small());
    (spec.dies, spec.pages_per_block, spec.capacity) = (4, 256, spec.capacity * 64);
    spec.precondition = Precondition::Random;
    let (mut log, mut rest) =
        (sequential(&spec, Op::Write, Bytes::kib(32)), random(&spec, Op::Write, Bytes::kib(4)));
    let mut number = 0;
    let draw = || {
        number += 1;
        if number % 9 == 0 { log() } else { rest() }
    };
    // 64 KiB in 1.62 ms; if all dies reached such ends at the same time, writes would wait for more than 20 ms
    let longest = longest_write(&spec, SimSpan::from_us(180), 200_000, draw);
    assert!(longest < SimSpan::from_ms(1), "{longest:?}");
}

#[test]
fn valid_data_that_lie_together_in_a_block_do_not_stop_its_die() {
    // two streams overwrite a part of each block that they come by, so that its other data lie together
    let mut spec = bare(&small());
    (spec.dies, spec.pages_per_block, spec.capacity) = (4, 256, spec.capacity * 64);
    (spec.precondition, spec.power_loss_protection) = (Precondition::Random, false);
    let mut log = sequential(&spec, Op::Write, Bytes::kib(32));
    let mut small = sequential(&spec, Op::Write, Bytes::kib(4));
    let half = Sectors(spec.capacity.get() / 2 / 4096 * 8);
    let mut number = 0;
    let draw = || {
        number += 1;
        let other = small();
        if number % 3 == 0 { log() } else { Io { lbn: other.lbn + half, ..other } }
    };
    // a row takes 0.5 ms; a whole block would take 128 ms
    let longest = longest_write(&spec, SimSpan::from_us(400), 60_000, draw);
    println!("longest: {longest:?}");
    assert!(longest < SimSpan::from_ms(10), "{longest:?}");
}

#[test]
fn reads_and_writes_share_a_busy_die() {
    let mut spec = bare(&small());
    spec.channel_rate = Rate::bytes_per_s(100_000_000_000);
    spec.buffer = Bytes::mib(1);
    let mut reads = random(&spec, Op::Read, Bytes::kib(4));
    let mut writes = sequential(&spec, Op::Write, Bytes::kib(32));
    let mut ssd = Ssd::new(&spec);
    let (mut next, mut done, mut counts) = (None, Vec::new(), [0_u64; 2]);
    for _ in 0..128 {
        ssd.submit(SimTime::ZERO, reads());
        next = ssd.submit(SimTime::ZERO, writes());
    }
    while let Some(now) = next.filter(|now| *now < SimTime::from_ns(200_000_000)) {
        next = ssd.complete(now, &mut done);
        for io in done.drain(..).map(|done| done.io) {
            counts[io.op as usize] += 1;
            let wake = ssd.submit(now, if io.op == Op::Read { reads() } else { writes() });
            next = [next, wake].into_iter().flatten().min();
        }
    }
    // 0.2 s × 4 dies; half of it for reads of 50 us, half for rows in 500 us
    approaches(counts[0] as f64, 0.5 * 0.2 * 4.0 / 50e-6, 0.85);
    assert!((counts[1] as f64 / (0.5 * 0.2 * 4.0 / 500e-6) - 1.0).abs() < 0.2, "{counts:?}");
}

/// An operation at a time.
#[derive(Clone, Copy, Debug)]
struct Given {
    gap_ns: u64,
    first: u64,
    sectors: u64,
    write: bool,
}

fn given() -> impl Strategy<Value = Given> {
    (0_u64..200_000, 0_u64..200_000, 1_u64..200, any::<bool>())
        .prop_map(|(gap_ns, first, sectors, write)| Given { gap_ns, first, sectors, write })
}

/// Completion times of the operations if the drive is called when it asks for it and also every
/// `extra`.
fn played(spec: &Spec, given: &[Given], extra: Option<u64>) -> (Vec<(u32, u64)>, Written) {
    let mut ssd = Ssd::new(spec);
    let (mut clock, mut wake) = (0, None::<SimTime>);
    let (mut found, mut done) = (Vec::new(), Vec::new());
    let mut until = |ssd: &mut Ssd<u32>, end: u64, clock: &mut u64, wake: &mut Option<SimTime>| {
        while let Some(at) = wake.filter(|at| at.as_ns() <= end) {
            // as if the drive were called for another reason in between
            while let Some(between) = extra.map(|extra| *clock + extra).filter(|t| *t < at.as_ns())
            {
                ssd.complete(SimTime::from_ns(between), &mut done);
                assert!(done.is_empty(), "something is done before it was said to be");
                *clock = between;
            }
            *wake = ssd.complete(at, &mut done);
            *clock = at.as_ns();
            found.extend(done.drain(..).map(|done| (done.io.tag, at.as_ns())));
            ssd.audit(at).unwrap();
        }
    };
    let mut arrival = 0;
    for (tag, given) in given.iter().enumerate() {
        arrival += given.gap_ns;
        until(&mut ssd, arrival, &mut clock, &mut wake);
        clock = arrival;
        let op = if given.write { Op::Write } else { Op::Read };
        let (lbn, sectors) = (Sectors(given.first), Sectors(given.sectors));
        let io = Io { lbn, sectors, op, thread: 0, tag: tag as u32 };
        wake = ssd.submit(SimTime::from_ns(arrival), io);
    }
    until(&mut ssd, u64::MAX, &mut clock, &mut wake);
    let end = SimTime::from_ns(clock + 10_000_000_000);
    assert_eq!((ssd.complete(end, &mut done), done.len()), (None, 0));
    let written = ssd.written();
    (found, written)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn everything_is_done_once_whenever_the_drive_is_woken(
        given in prop::collection::vec(given(), 1..120),
        depth in 1_u32..20, buffer in 1_u64..200, random in any::<bool>(), duplex in any::<bool>(),
        protected in any::<bool>(),
        extra in 1_000_u64..50_000, latency in 0_u64..20_000,
    ) {
        let mut spec = small();
        spec.queue_depth = depth;
        spec.buffer = Bytes::kib(4) * buffer;
        spec.duplex = duplex;
        spec.power_loss_protection = protected;
        spec.latency = SimSpan::from_ns(latency);
        spec.precondition = if random { Precondition::Random } else { Precondition::Sequential };
        let (found, written) = played(&spec, &given, None);
        let mut tags: Vec<u32> = found.iter().map(|(tag, _)| *tag).collect();
        tags.sort_unstable();
        prop_assert_eq!(tags, (0..given.len() as u32).collect::<Vec<_>>());
        prop_assert!(written.programmed <= written.host);
        // the oracle: a drive that is called all the time
        prop_assert_eq!(played(&spec, &given, Some(extra)), (found, written));
    }
}
