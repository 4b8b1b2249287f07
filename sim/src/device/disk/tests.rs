//! Whole disks: scheduler, held commands and mechanism together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_scenarios::device::{Mechanical, Seek, Tolerance};
use foretell_scenarios::drive_file;
use foretell_units::{Bytes, Rate, Seed};
use model::Scheduler::{self, Cfq, Deadline, Elevator, Fcfs, Noop, Sstf};
use proptest::prelude::*;

use super::*;
use foretell_units::Op;

const ALL: [Scheduler; 6] = [Fcfs, Elevator, Sstf, Noop, Deadline, Cfq];

/// A disk of 100 GiB that turns in 8.3 ms.
fn mechanical() -> Device {
    Device::Mechanical(Mechanical {
        capacity: Bytes::gib(100),
        rpm: 7200,
        rpm_tolerance: Tolerance::USUAL,
        cylinders: 50_000,
        seek: Seek {
            knee: 1000,
            short_ms: 1.0,
            short_ms_per_sqrt: 0.1,
            long_ms: 4.0,
            long_ms_per_cylinder: 0.0002,
        },
        outer_rate: Rate::bytes_per_s(60_000_000),
        inner_rate: Rate::bytes_per_s(30_000_000),
        overhead: SimSpan::from_us(100),
    })
}

/// The shipped drive of 2005, holding up to `queue_depth` commands.
fn sata(queue_depth: u32) -> Device {
    let text = include_str!("../../../../scenarios/devices/sata-7200-2005.toml");
    let drive = drive_file::parse(text).unwrap();
    let spec = drive::Drive::new(&drive);
    assert!(spec.sectors() >= Sectors(488_000_000));
    let mut specification = drive.specification().clone();
    specification.queue_depth = queue_depth;
    let drive = foretell_scenarios::drive::Drive::new(specification).unwrap();
    Device::Drive(std::sync::Arc::new(drive))
}

fn disk(scheduler: Scheduler, device: &Device) -> Disk<usize> {
    let device_name = "test".to_owned();
    Disk::new(&model::Disk {
        device_name,
        device: device.clone(),
        scheduler,
        class: None,
        db: None,
        wal: None,
    })
}

fn at_ms(ms: u64) -> SimTime {
    SimTime::ZERO + SimSpan::from_ms(ms)
}

/// An operation, when it arrived, and when it was done.
struct Served {
    io: Io<usize>,
    arrived: SimTime,
    finished: SimTime,
}

/// Runs a disk. The operations of `first` arrive by themselves; `follow` returns the operation that
/// follows a completion, and its time. Tags are replaced by the order of arrival. Ends when nothing is
/// outstanding.
fn run(
    disk: &mut Disk<usize>,
    first: impl IntoIterator<Item = (SimTime, Io<usize>)>,
    mut follow: impl FnMut(&Served) -> Option<(SimTime, Io<usize>)>,
) -> Vec<Served> {
    // calls of the disk before arrivals
    let mut calls = BinaryHeap::new();
    let mut arrivals: Vec<(SimTime, Io<usize>)> = first.into_iter().collect();
    let mut asked: Vec<(SimTime, Io<usize>)> = Vec::new();
    let mut served = Vec::new();
    loop {
        let arrival = (0..arrivals.len()).min_by_key(|index| arrivals[*index].0);
        let call = calls.peek().map(|Reverse(at)| *at);
        let now = match (call, arrival) {
            (Some(call), Some(arrival)) if arrivals[arrival].0 < call => arrivals[arrival].0,
            (Some(call), _) => call,
            (None, Some(arrival)) => arrivals[arrival].0,
            (None, None) => break,
        };
        if call == Some(now) {
            calls.pop();
            let Completion { done, next } = disk.complete(now);
            calls.extend(next.map(Reverse));
            let Some(Done { io, started, .. }) = done else { continue };
            let arrived = asked[io.tag].0;
            assert!(arrived <= started && started < now);
            served.push(Served { io, arrived, finished: now });
            arrivals.extend(follow(&served[served.len() - 1]));
        } else {
            let (_, io) = arrivals.remove(arrival.expect("it is the first"));
            let io = Io { tag: asked.len(), ..io };
            asked.push((now, io));
            calls.extend(disk.submit(now, io).map(Reverse));
        }
        disk.audit(now).unwrap();
    }
    assert_eq!(disk.present(), 0, "all is served");
    let mut tags: Vec<usize> = served.iter().map(|served| served.io.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..asked.len()).collect::<Vec<_>>(), "each once");
    served
}

fn read(thread: u64, lbn: u64, sectors: u64) -> Io<usize> {
    Io { lbn: Sectors(lbn), sectors: Sectors(sectors), op: Op::Read, thread, tag: 0 }
}

/// Threads that read sequentially in pieces of 64 KiB from places 40 GB apart, each a millisecond
/// after its last completion, for `span`. Returns bytes a second in total.
fn streams(scheduler: Scheduler, threads: u64, span: SimSpan) -> f64 {
    let device = sata(1);
    let first = (0..threads).map(|thread| (SimTime::ZERO, read(thread, thread * 80_000_000, 128)));
    let end = SimTime::ZERO + span;
    let served = run(&mut disk(scheduler, &device), first, |done| {
        let next = Io { lbn: done.io.lbn + done.io.sectors, ..done.io };
        (done.finished < end).then_some((done.finished + SimSpan::from_ms(1), next))
    });
    served.len() as f64 * 65_536.0 / span.as_secs_f64()
}

#[test]
fn two_streams_alternate_under_deadline_and_take_turns_under_cfq() {
    let span = SimSpan::from_secs(20);
    // alone, 64 KiB at 84 MB/s and a millisecond between: 1.8 ms for 64 KiB, and sometimes a turn
    let alone = streams(Deadline, 1, span) / 1e6;
    assert!((25.0..40.0).contains(&alone), "{alone} MB/s");
    // two: for each 64 KiB a seek over some 40 GB (8 ms or so), half a turn, and the transfer
    let deadline = streams(Deadline, 2, span) / 1e6;
    assert!((4.0..7.0).contains(&deadline), "{deadline} MB/s");
    // 100 ms for each thread between two seeks
    let cfq = streams(Cfq, 2, span) / 1e6;
    assert!(cfq > 0.8 * alone && cfq <= alone, "{cfq} MB/s of {alone}");
}

/// Mean response time, in milliseconds, of random reads with `outstanding` requests in a closed loop.
fn random_reads(scheduler: Scheduler, device: &Device, outstanding: u64) -> f64 {
    let mut stream = Seed(1).stream("places");
    let mut place = move || stream.below(488_000_000);
    let first: Vec<_> = (0..outstanding).map(|_| (SimTime::ZERO, read(0, place(), 8))).collect();
    let mut left = 4000;
    let served = run(&mut disk(scheduler, device), first, |done| {
        left -= 1;
        (left > 0).then(|| (done.finished, read(0, place(), 8)))
    });
    let end = served.iter().map(|served| served.finished).max().unwrap();
    end.as_secs_f64() * 1e3 / served.len() as f64
}

#[test]
fn a_drive_that_holds_32_commands_serves_random_reads_faster() {
    // one at a time: seek 8, half a turn 4.17, command 0.15, 0.1 of transfer: 12.4 ms a read
    let one = random_reads(Fcfs, &sata(1), 32);
    assert!((one - 12.4).abs() < 0.3, "{one}");
    // of 32, the one that the head reaches first; measured drives with 32 commands serve two to three
    // times the rate
    let held = random_reads(Fcfs, &sata(32), 32);
    assert!((2.0..3.0).contains(&(one / held)), "{one} {held}");
    // an elevator above the drive shortens seeks, not rotation
    let elevator = random_reads(Elevator, &sata(1), 32);
    assert!(held < elevator && elevator < one, "{held} {elevator} {one}");
    // and it makes no difference above a drive that holds all commands
    let both = random_reads(Elevator, &sata(32), 32);
    assert!((both / held - 1.0).abs() < 0.05, "{both} {held}");
    // CFQ does not keep such a drive idle
    let cfq = random_reads(Cfq, &sata(32), 32);
    assert!((cfq / held - 1.0).abs() < 0.05, "{cfq} {held}");
}

#[test]
fn a_drive_that_holds_commands_but_gets_one_at_a_time_is_no_faster() {
    assert_eq!(random_reads(Fcfs, &sata(32), 1), random_reads(Fcfs, &sata(1), 1));
}

#[test]
fn a_drive_holds_no_command_back_for_more_than_a_second() {
    // thirty-one readers near the edge, and one read of the hub
    let mut stream = Seed(2).stream("places");
    let mut place = move || stream.below(1_000_000);
    let mut first: Vec<_> = (0..31).map(|_| (SimTime::ZERO, read(0, place(), 8))).collect();
    first.push((at_ms(1), read(0, 480_000_000, 8)));
    let end = at_ms(3000);
    let served = run(&mut disk(Fcfs, &sata(32)), first, |done| {
        (done.finished < end && done.io.lbn < Sectors(400_000_000))
            .then(|| (done.finished, read(0, place(), 8)))
    });
    let far = served.iter().find(|served| served.io.lbn > Sectors(400_000_000)).unwrap();
    let waited = far.finished - far.arrived;
    // then the one in service ends, and the arm seeks and turns
    assert!(waited > SimSpan::from_secs(1) && waited < SimSpan::from_ms(1050), "{waited}");
}

/// Response time of one distant read that arrives among many reads near each other.
fn far_read(scheduler: Scheduler, far: Op) -> SimSpan {
    let far = Io { op: far, ..read(9, 150_000_000, 8) };
    let mut stream = Seed(3).stream("places");
    let first = (0..4).map(|thread| (SimTime::ZERO, read(thread, 8 * thread, 8)));
    let end = at_ms(20_000);
    let served = run(&mut disk(scheduler, &mechanical()), first.chain([(at_ms(3), far)]), |done| {
        let next = read(done.io.thread, stream.below(10_000), 8);
        (done.finished < end && done.io.thread < 9).then_some((done.finished, next))
    });
    let far = served.iter().find(|served| served.io.thread == 9).unwrap();
    far.finished - far.arrived
}

#[test]
fn sstf_starves_what_deadline_and_cfq_do_not() {
    assert!(far_read(Sstf, Op::Read) > SimSpan::from_secs(19));
    // at most four threads that seek have their time slices of 100 ms first
    let cfq = far_read(Cfq, Op::Read);
    assert!(cfq < SimSpan::from_ms(450), "{cfq}");
    let cfq = far_read(Cfq, Op::Write);
    assert!(cfq < SimSpan::from_ms(1000), "{cfq}");
    // 500 ms, the rest of a batch of 16, its own time
    let deadline = far_read(Deadline, Op::Read);
    assert!(deadline < SimSpan::from_ms(500 + 17 * 30), "{deadline}");
    // a write is passed over twice: two batches
    let deadline = far_read(Deadline, Op::Write);
    assert!(deadline < SimSpan::from_ms(34 * 30), "{deadline}");
}

/// Four to twelve operations at once; the operations that follow them are anywhere or nearby.
#[derive(Clone, Debug)]
struct Crowd {
    seed: u64,
    threads: u64,
    near: u64,
    writes: u64,
    think: u64,
}

fn crowd() -> impl Strategy<Value = Crowd> {
    (any::<u64>(), 1_u64..12, 1_u64..1_000_000, 0_u64..4, 0_u64..12).prop_map(
        |(seed, threads, near, writes, think)| Crowd { seed, threads, near, writes, think },
    )
}

fn serve_crowd(crowd: &Crowd, scheduler: Scheduler, device: &Device, most: usize) -> Vec<Served> {
    let mut stream = Seed(crowd.seed).stream("crowd");
    let Crowd { threads, near, writes, think, .. } = *crowd;
    let mut draw = move |thread: u64| {
        let place =
            if stream.below(4) == 0 { stream.below(190_000_000) } else { stream.below(near) };
        let op = if stream.below(4) < writes { Op::Write } else { Op::Read };
        let wait = SimSpan::from_ms(if think == 0 { 0 } else { stream.below(think) });
        (wait, Io { op, ..read(thread, place / 8 * 8, 8 << stream.below(3)) })
    };
    let first: Vec<_> = (0..threads)
        .map(|thread| {
            let (wait, io) = draw(thread);
            (SimTime::ZERO + wait, io)
        })
        .collect();
    let mut left = most;
    run(&mut disk(scheduler, device), first, move |done| {
        left = left.checked_sub(1)?;
        let (wait, io) = draw(done.io.thread);
        Some((done.finished + wait, io))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// [`run`] itself checks that each operation is done once, and the operational laws after
    /// every event.
    #[test]
    fn every_operation_is_done_once_and_the_laws_hold(crowd in crowd(), depth in 1_u32..9) {
        for scheduler in ALL {
            serve_crowd(&crowd, scheduler, &sata(depth), 200);
            serve_crowd(&crowd, scheduler, &mechanical(), 200);
        }
    }

    #[test]
    fn nobody_starves_under_deadline_or_cfq(crowd in crowd()) {
        // at most 12 wait, each takes at most 27 ms: the arm's 14 ms, a turn, a few sectors. Deadline:
        // a write's 5 s; then each of those before it is the first of a batch of 16, after two batches
        // of reads. CFQ: a round of 12 time slices, each 100 ms, one service and 8 ms of idling, and a
        // place in it that is at most 12 × 140 ms late; the oldest begins a slice.
        let bound = |scheduler| match scheduler {
            Deadline => SimSpan::from_ms(5000 + 12 * 3 * 16 * 27),
            _ => SimSpan::from_ms(12 * (140 + 100 + 27 + 8) + 12 * 27),
        };
        for scheduler in [Deadline, Cfq] {
            for served in serve_crowd(&crowd, scheduler, &mechanical(), 600) {
                let waited = served.finished - served.arrived;
                prop_assert!(waited <= bound(scheduler), "{scheduler:?}: {waited}");
            }
        }
    }
}
