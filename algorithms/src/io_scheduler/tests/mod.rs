//! Tests of the order of service.

mod naive;

use super::SchedulerKind::{Cfq, Deadline, Elevator, Fcfs, Noop, Sstf};
use super::*;
use foretell_units::SimSpan;

fn ms(ms: u64) -> SimTime {
    SimTime::ZERO + SimSpan::from_ms(ms)
}

fn io(op: Op, thread: u64, lbn: u64) -> Io<u64> {
    Io { lbn: Sectors(lbn), sectors: Sectors(8), op, thread, tag: lbn }
}

fn new(name: SchedulerKind) -> Box<dyn Scheduler<u64>> {
    scheduler(name, 1)
}

/// Takes the next request; there must be one.
fn take(queue: &mut dyn Scheduler<u64>, now: SimTime, head: u64) -> Request<u64> {
    match queue.next(now, Sectors(head)) {
        Choice::Serve(request) => request,
        other => panic!("a request is due at {now:?}, not {other:?}"),
    }
}

/// Takes a request and serves it within a millisecond. Returns its direction and address.
fn serve(queue: &mut dyn Scheduler<u64>, now: u64, head: u64) -> (Op, u64) {
    let request = take(queue, ms(now), head);
    queue.served(ms(now + 1), &request);
    (request.op, request.lbn.get())
}

/// Takes all requests, each with the head at the end of the one before.
fn drain(queue: &mut dyn Scheduler<u64>, now: SimTime, head: u64) -> Vec<u64> {
    let mut head = Sectors(head);
    let mut order = Vec::new();
    while let Choice::Serve(request) = queue.next(now, head) {
        head = request.end();
        order.push(request.lbn.get());
        queue.served(now, &request);
    }
    order
}

/// (first sector, sectors, operations) of each request in the order in which they are taken.
fn merged(name: SchedulerKind, lbns: &[u64]) -> Vec<(u64, u64, usize)> {
    let mut queue = new(name);
    for lbn in lbns {
        queue.add(SimTime::ZERO, io(Op::Read, 0, *lbn));
    }
    let mut found = Vec::new();
    while let Choice::Serve(request) = queue.next(SimTime::ZERO, Sectors(0)) {
        found.push((request.lbn.get(), request.sectors.get(), request.operations().count()));
    }
    found
}

fn order(name: SchedulerKind, head: u64) -> Vec<u64> {
    let mut queue = new(name);
    for lbn in [500, 100, 300, 900, 316] {
        queue.add(SimTime::ZERO, io(Op::Read, 0, lbn));
    }
    drain(&mut *queue, SimTime::ZERO, head)
}

#[test]
fn fcfs_and_noop_keep_the_order_of_arrival() {
    assert_eq!(order(Fcfs, 305), [500, 100, 300, 900, 316]);
    assert_eq!(order(Noop, 305), [500, 100, 300, 900, 316]);
}

#[test]
fn the_elevator_goes_up_and_begins_again_at_the_lowest() {
    assert_eq!(order(Elevator, 305), [316, 500, 900, 100, 300]);
}

#[test]
fn sstf_takes_the_nearest() {
    // from 308 both 300 and 316 are 8 away: the lower is first, which ends at 308 again; from 324
    // the 500 is 176 away, the 100 is 224; from 508 the 900 is 392 away, the 100 is 408
    assert_eq!(order(Sstf, 308), [300, 316, 500, 900, 100]);
}

#[test]
fn the_textbooks_schedulers_merge_nothing() {
    for name in [Fcfs, Elevator, Sstf] {
        assert_eq!(merged(name, &[100, 108]), [(100, 8, 1), (108, 8, 1)], "{name:?}");
    }
}

#[test]
fn linuxs_merge_behind_a_waiting_request() {
    for name in [Noop, Deadline, Cfq] {
        assert_eq!(merged(name, &[100, 500, 108]), [(100, 16, 2), (500, 8, 1)], "{name:?}");
    }
}

#[test]
fn deadline_and_cfq_merge_before_any_noop_before_the_last_to_grow() {
    for name in [Deadline, Cfq] {
        assert_eq!(merged(name, &[100, 500, 492]), [(100, 8, 1), (492, 16, 2)], "{name:?}");
    }
    // the 100 came first and none has grown yet, so noop checks that one
    assert_eq!(merged(Noop, &[100, 500, 492]), [(100, 8, 1), (500, 8, 1), (492, 8, 1)]);
    assert_eq!(merged(Noop, &[100, 500, 92]), [(92, 16, 2), (500, 8, 1)]);
    // the 500 has grown
    assert_eq!(merged(Noop, &[100, 500, 508, 492]), [(100, 8, 1), (492, 24, 3)]);
}

#[test]
fn a_read_is_not_merged_into_a_write() {
    for name in [Noop, Deadline, Cfq] {
        let mut queue = new(name);
        queue.add(SimTime::ZERO, io(Op::Write, 0, 100));
        queue.add(SimTime::ZERO, io(Op::Read, 0, 108));
        assert_eq!(drain(&mut *queue, SimTime::ZERO, 0).len(), 2, "{name:?}");
    }
}

#[test]
fn a_request_grows_to_512_kib() {
    let lbns: Vec<u64> = (0..130).map(|number| 8 * number).collect();
    // 1024 sectors are 128 operations of 8
    assert_eq!(merged(Noop, &lbns), [(0, 1024, 128), (1024, 16, 2)]);
}

#[test]
fn deadline_passes_writes_over_twice() {
    let mut queue = new(Deadline);
    queue.add(SimTime::ZERO, io(Op::Write, 0, 50));
    for number in 0..40 {
        queue.add(SimTime::ZERO, io(Op::Read, 0, 1000 + 100 * number));
    }
    let mut before = 0;
    while serve(&mut *queue, 0, 0).0 == Op::Read {
        before += 1;
    }
    // two batches of 16
    assert_eq!(before, 32);
}

#[test]
fn deadline_goes_up_in_batches_and_begins_again_with_the_oldest() {
    let mut queue = new(Deadline);
    for lbn in [500, 300, 700, 100] {
        queue.add(SimTime::ZERO, io(Op::Read, 0, lbn));
    }
    // from the oldest, 500, to 700; none is beyond that, and the oldest is then 300
    assert_eq!(drain(&mut *queue, SimTime::ZERO, 0), [500, 700, 300, 100]);
}

#[test]
fn deadline_a_read_that_has_waited_500_ms_or_a_write_5_s_begins_the_next_batch() {
    for (op, now, seventeenth) in [
        (Op::Read, 499, 2600),
        (Op::Read, 500, 100),
        (Op::Write, 4999, 2600),
        (Op::Write, 5000, 100),
    ] {
        let mut queue = new(Deadline);
        queue.add(ms(0), io(op, 0, 1000));
        queue.add(ms(0), io(op, 0, 100));
        for number in 1..=16 {
            queue.add(ms(1), io(op, 0, 1000 + 100 * number));
        }
        for number in 0..16 {
            assert_eq!(serve(&mut *queue, 1, 0).1, 1000 + 100 * number);
        }
        // otherwise the next batch continues upwards
        assert_eq!(serve(&mut *queue, now, 0).1, seventeenth, "{op:?} at {now} ms");
    }
}

#[test]
fn deadline_a_batch_of_the_other_direction_begins_with_the_oldest() {
    let mut queue = new(Deadline);
    for lbn in [500, 600] {
        queue.add(ms(0), io(Op::Read, 0, lbn));
    }
    assert_eq!(serve(&mut *queue, 0, 0), (Op::Read, 500));
    for lbn in [900, 100] {
        queue.add(ms(0), io(Op::Write, 0, lbn));
    }
    let mut next = || serve(&mut *queue, 0, 0);
    // no read is left; of the writes 900 is the oldest, and nothing is above it
    assert_eq!([next(), next(), next()], [(Op::Read, 600), (Op::Write, 900), (Op::Write, 100)]);
}

/// Each read of thread 1 continues the last, one at a time, and takes 5 ms.
fn sequential_reads(queue: &mut dyn Scheduler<u64>, now: u64, number: u64) {
    queue.add(ms(now), io(Op::Read, 1, 1000 + 8 * number));
}

#[test]
fn cfq_a_thread_has_the_disk_for_100_ms_from_its_first_completion() {
    let mut queue = new(Cfq);
    sequential_reads(&mut *queue, 0, 0);
    queue.add(ms(0), io(Op::Read, 2, 9000));
    let mut turns = Vec::new();
    for number in 1..=24 {
        let request = take(&mut *queue, ms(5 * number - 5), 0);
        queue.served(ms(5 * number), &request);
        turns.push(request.first.thread);
        if request.first.thread == 1 {
            sequential_reads(&mut *queue, 5 * number, number);
        } else {
            queue.add(ms(5 * number), io(Op::Read, 2, 9000 + 8 * number));
        }
    }
    // the completion at 5 ms, and those until 105 ms
    assert_eq!(turns, [[1; 21].as_slice(), &[2; 3]].concat());
}

#[test]
fn cfq_waits_8_ms_for_the_thread_whose_turn_it_is() {
    let mut queue = new(Cfq);
    queue.add(ms(0), io(Op::Read, 1, 100));
    queue.add(ms(0), io(Op::Read, 2, 9000));
    let first = take(&mut *queue, ms(0), 0);
    queue.served(ms(5), &first);
    // 5 ms + 8 ms
    assert!(matches!(queue.next(ms(5), Sectors(108)), Choice::Wait(until) if until == ms(13)));
    // its next read arrives in time
    queue.add(ms(12), io(Op::Read, 1, 108));
    assert_eq!(serve(&mut *queue, 12, 108).1, 108);
    // then none arrives, after 13 ms
    assert!(matches!(queue.next(ms(13), Sectors(116)), Choice::Wait(until) if until == ms(21)));
    assert_eq!(serve(&mut *queue, 21, 116).1, 9000);
}

#[test]
fn cfq_waits_for_nobody_when_nobody_else_does() {
    let mut queue = new(Cfq);
    queue.add(ms(0), io(Op::Read, 1, 100));
    serve(&mut *queue, 0, 0);
    assert!(matches!(queue.next(ms(1), Sectors(108)), Choice::Nothing));
    // a new thread finds the disk idling until 1 + 8 ms
    queue.add(ms(4), io(Op::Read, 2, 9000));
    assert!(matches!(queue.next(ms(4), Sectors(108)), Choice::Wait(until) if until == ms(9)));
}

/// CFQ after thread 1 has seeked, with a waiting request of thread 2.
fn after_jumps(depth: u32) -> Box<dyn Scheduler<u64>> {
    let mut queue = scheduler(Cfq, depth);
    for number in 0..6 {
        queue.add(ms(number), io(Op::Read, 1, 10_000 * (number + 1)));
        serve(&mut *queue, number, 0);
    }
    queue.add(ms(6), io(Op::Read, 2, 100));
    queue
}

#[test]
fn cfq_waits_2_ms_for_a_thread_that_seeks() {
    let mut queue = after_jumps(1);
    // its last request completed at 6 ms
    assert!(matches!(queue.next(ms(6), Sectors(0)), Choice::Wait(until) if until == ms(8)));
    assert_eq!(serve(&mut *queue, 8, 0).1, 100);
}

#[test]
fn cfq_does_not_wait_for_a_thread_that_seeks_if_the_drive_holds_several_commands() {
    let mut queue = after_jumps(32);
    assert_eq!(serve(&mut *queue, 6, 0).1, 100);
}

#[test]
fn cfq_does_not_wait_for_a_thread_that_thinks_for_longer() {
    let mut queue = new(Cfq);
    for number in 0..4 {
        queue.add(ms(10 * number), io(Op::Read, 1, 8 * number));
        // completed within 1 ms: a think time of 9 ms
        serve(&mut *queue, 10 * number, 0);
    }
    queue.add(ms(31), io(Op::Read, 2, 9000));
    assert_eq!(serve(&mut *queue, 31, 0).1, 9000);
}

#[test]
fn cfq_a_slice_begins_with_a_read_that_has_waited_125_ms_or_a_write_250_ms() {
    for (op, now, first) in [
        (Op::Read, 124, 1000),
        (Op::Read, 125, 5_000_000),
        (Op::Write, 249, 1000),
        (Op::Write, 250, 5_000_000),
    ] {
        let mut queue = new(Cfq);
        for lbn in [5_000_000, 6_000_000, 1000, 2000] {
            queue.add(ms(0), io(op, 1, lbn));
        }
        assert_eq!(serve(&mut *queue, now, 0).1, first, "{op:?} at {now} ms");
        // only the first request of a slice
        assert_eq!(serve(&mut *queue, now, 0).1, if first == 1000 { 2000 } else { 1000 });
    }
}

#[test]
fn cfq_counts_distances_backwards_double_and_does_not_go_back_over_16_mib() {
    let from = |head: u64, lbns: &[u64]| {
        let mut queue = new(Cfq);
        for lbn in lbns {
            queue.add(ms(0), io(Op::Read, 1, *lbn));
        }
        serve(&mut *queue, 0, head).1
    };
    // 100 ahead; 40, 50, 60 behind
    assert_eq!(from(1000, &[1100, 960]), 960);
    assert_eq!(from(1000, &[1100, 950]), 1100);
    assert_eq!(from(1000, &[1100, 940]), 1100);
    // 16 MiB are 32 768 sectors
    assert_eq!(from(100_000, &[200_000, 67_232]), 67_232);
    assert_eq!(from(100_000, &[200_000, 67_231]), 200_000);
    // with nothing ahead and all too far behind, it starts again at the lowest
    assert_eq!(from(100_000, &[60_000, 10_000]), 10_000);
}

#[test]
fn cfq_writes_have_16_requests_or_40_ms() {
    // each takes 1 ms or 5 ms; the first 45 ms hold 9 of 5 ms
    for (service, most) in [(1, 16), (5, 9)] {
        let mut queue = new(Cfq);
        for number in 0..40 {
            queue.add(ms(0), io(Op::Write, 0, 100 * number));
        }
        queue.add(ms(0), io(Op::Read, 1, 1_000_000));
        let (mut now, mut writes) = (0, 0);
        loop {
            let request = take(&mut *queue, ms(now), 0);
            now += service;
            queue.served(ms(now), &request);
            if request.op == Op::Read {
                break;
            }
            writes += 1;
        }
        assert_eq!(writes, most);
    }
}

#[test]
fn cfq_a_read_takes_the_disk_from_writes() {
    let mut queue = new(Cfq);
    for number in 0..40 {
        queue.add(ms(0), io(Op::Write, 0, 100 * number));
    }
    assert_eq!(serve(&mut *queue, 0, 0).0, Op::Write);
    queue.add(ms(1), io(Op::Read, 1, 1_000_000));
    assert_eq!(serve(&mut *queue, 1, 0).0, Op::Read);
}

#[test]
fn cfq_gives_a_thread_eight_places_in_a_drive_that_others_wait_for() {
    for (others, most) in [(0, 20), (1, 8)] {
        let mut queue = scheduler(Cfq, 32);
        for number in 0..20 {
            queue.add(ms(0), io(Op::Read, 1, 100 * number));
        }
        for number in 0..others {
            queue.add(ms(0), io(Op::Read, 2, 1_000_000 + number));
        }
        let mut taken = Vec::new();
        while let Choice::Serve(request) = queue.next(ms(0), Sectors(0)) {
            taken.push(request);
        }
        assert_eq!(taken.len(), most);
        // one completed, one more may be taken
        queue.served(ms(1), &taken[0]);
        assert_eq!(matches!(queue.next(ms(1), Sectors(0)), Choice::Serve(_)), others > 0);
    }
}
