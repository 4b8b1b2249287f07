//! Claims about the order of service.

use super::*;
use foretell_units::SimSpan;

fn ms(ms: u64) -> SimTime {
    SimTime::ZERO + SimSpan::from_ms(ms)
}

fn io(op: Op, thread: u32, lbn: u64) -> Io<u64> {
    Io { lbn: Sectors(lbn), sectors: Sectors(8), op, thread, tag: lbn }
}

fn new(name: model::Scheduler) -> Box<dyn Scheduler<u64>> {
    scheduler(name, 1)
}

/// The next request, which must be one.
fn take(queue: &mut dyn Scheduler<u64>, now: SimTime, head: u64) -> Request<u64> {
    match queue.next(now, Sectors(head)) {
        Choice::Serve(request) => request,
        other => panic!("a request is due at {now:?}, not {other:?}"),
    }
}

fn order(name: model::Scheduler, head: u64) -> Vec<u64> {
    let mut queue = new(name);
    for lbn in [500, 100, 300, 900, 310] {
        queue.add(SimTime::ZERO, io(Op::Read, 0, lbn));
    }
    let mut head = head;
    (0..5)
        .map(|_| {
            head = take(&mut *queue, SimTime::ZERO, head).lbn.get();
            head
        })
        .collect()
}

#[test]
fn fcfs_keeps_the_order_of_arrival() {
    assert_eq!(order(model::Scheduler::Fcfs, 305), [500, 100, 300, 900, 310]);
}

#[test]
fn the_elevator_goes_up_and_begins_again_at_the_lowest() {
    assert_eq!(order(model::Scheduler::Elevator, 305), [310, 500, 900, 100, 300]);
}

#[test]
fn sstf_takes_the_nearest() {
    // from 305 both 300 and 310 are 5 away: the lower first
    assert_eq!(order(model::Scheduler::Sstf, 305), [300, 310, 500, 100, 900]);
}

#[test]
fn noop_merges_what_continues_a_waiting_request() {
    let mut queue = new(model::Scheduler::Noop);
    for lbn in [100, 500, 108] {
        queue.add(SimTime::ZERO, io(Op::Read, 0, lbn));
    }
    let first = take(&mut *queue, SimTime::ZERO, 0);
    assert_eq!((first.lbn, first.sectors, first.merged.len()), (Sectors(100), Sectors(16), 1));
    assert_eq!(take(&mut *queue, SimTime::ZERO, 0).lbn, Sectors(500));
}

#[test]
fn deadline_passes_writes_over_twice() {
    let mut queue = new(model::Scheduler::Deadline);
    queue.add(SimTime::ZERO, io(Op::Write, 0, 50));
    for number in 0..40 {
        queue.add(SimTime::ZERO, io(Op::Read, 0, 1000 + 100 * number));
    }
    let mut before = 0;
    while take(&mut *queue, SimTime::ZERO, 0).op == Op::Read {
        before += 1;
    }
    // two batches of 16
    assert_eq!(before, 32);
}

#[test]
fn cfq_waits_for_the_thread_whose_turn_it_is() {
    let mut queue = new(model::Scheduler::Cfq);
    queue.add(ms(0), io(Op::Read, 1, 100));
    queue.add(ms(0), io(Op::Read, 2, 9000));
    let first = take(&mut *queue, ms(0), 0);
    queue.served(ms(5), &first);
    // 5 ms + 8 ms
    assert!(matches!(queue.next(ms(5), Sectors(108)), Choice::Wait(until) if until == ms(13)));
    assert_eq!(take(&mut *queue, ms(13), 108).lbn, Sectors(9000));
}
