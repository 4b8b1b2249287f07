//! Tests of Swift's rings that change, of disks that fail, and of reads that ask for the newest version.

use crate::common;

use common::outages::{
    event, event_of, fails, mean_ms, ms, outages, returns, set_steady_disks, with,
};
use common::run;
use common::swift::{add_disks, never_avoiding, quick, rate, small};
use foretell_scenarios::model::{Payload, Scenario, System};
use foretell_scenarios::outages::{Action, Event, Part, Recovery};
use foretell_sim::truth::{RecoveryTruth, Truth};
use foretell_units::{Bytes, SimSpan};

/// All copies of a volume of 4 MiB.
const COPIES: u64 = 3 * (4 << 20);

/// A cluster whose clients only read, so that only whole objects of 64 KiB move.
fn reading(nodes: u32, disks: usize) -> Scenario {
    let mut scenario = small(nodes, 3, 1.0, 2);
    add_disks(&mut scenario, disks - 1);
    scenario.payload = Payload::Real;
    scenario
}

fn disk_event(at: u64, host: u32, disk: u32, action: Action) -> Event {
    event_of(at, host, Part::Disk(disk), action)
}

fn loses_disk(at: u64, which: (u32, u32)) -> Event {
    disk_event(at, which.0, which.1, Action::Fail { keeps: false })
}

fn drains(at: u64, host: u32) -> Event {
    event(at, host, Action::Drain)
}

/// The only recovery, which has ended. No request has failed, and nothing is lost.
fn only_recovery(truth: &Truth) -> &RecoveryTruth {
    let found = outages(truth);
    assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
    let [one] = found.recoveries.as_slice() else { panic!("{:?}", found.recoveries) };
    assert!(one.ended_s.is_some() && one.bytes_written.is_multiple_of(65_536), "{one:?}");
    assert_eq!((one.bytes_read, one.bytes_sent), (one.bytes_written, one.bytes_written));
    assert_eq!(one.objects * 65_536, one.bytes_written);
    one
}

#[test]
fn all_that_a_lost_disk_had_is_rebuilt_on_handoffs() {
    let mut all = 0;
    for which in (0..4).flat_map(|host| [(host, 0), (host, 1)]) {
        let scenario = with(reading(4, 2), vec![loses_disk(1000, which)], quick());
        let truth = run(&scenario).unwrap();
        let one = only_recovery(&truth);
        let name = format!("brick{}.disk{}", which.0, which.1);
        assert_eq!((one.kind, one.host.as_str()), ("rebuild", name.as_str()));
        assert_eq!(outages(&truth).phase_changes.last().unwrap().phase, "after");
        all += one.bytes_written;
    }
    // each copy is on one of the eight disks
    assert_eq!(all, COPIES);
}

#[test]
fn without_a_handoff_a_partition_stays_short_of_a_copy() {
    let truth = run(&with(reading(3, 1), vec![loses_disk(1000, (0, 0))], quick())).unwrap();
    let found = outages(&truth);
    assert!(found.recoveries.is_empty() && found.bytes_lost == 0 && found.failed_requests == 0);
    assert_eq!(found.phase_changes.last().unwrap().phase, "degraded");
}

#[test]
fn a_rebuilt_cluster_survives_the_next_disks_one_by_one() {
    let events = (0..4).map(|host| loses_disk(300 + 1400 * u64::from(host), (host, 0))).collect();
    let truth = run(&with(reading(4, 2), events, quick())).unwrap();
    let found = outages(&truth);
    assert_eq!((found.bytes_lost, found.failed_requests), (0, 0));
    assert_eq!(found.recoveries.len(), 4);
    // without the rebuilds three disks would have taken the last copies with them
    let events = (0..4).map(|host| loses_disk(300 + host, (host as u32, 0))).collect();
    let truth = run(&with(reading(4, 2), events, quick())).unwrap();
    assert!(outages(&truth).bytes_lost > 0);
}

#[test]
fn a_disk_that_returns_catches_up_and_handoffs_drop_what_they_held() {
    for writes in [0.0, 0.5] {
        let mut scenario = small(4, 3, 1.0 - writes, 1);
        add_disks(&mut scenario, 1);
        rate(&mut scenario, 20.0);
        scenario.payload = Payload::Real;
        let back = disk_event(3000, 1, 0, Action::Return);
        let fail = disk_event(1000, 1, 0, Action::Fail { keeps: true });
        let truth = run(&with(scenario, vec![fail, back], quick())).unwrap();
        let found = outages(&truth);
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
        assert_eq!(found.phase_changes.last().unwrap().phase, "after");
        let caught_up: Vec<u64> = found
            .recoveries
            .iter()
            .filter(|one| one.kind == "catch-up" && one.host == "brick1.disk0")
            .map(|one| one.bytes_written)
            .collect();
        // at most 20 writes of 8 KiB in 2 s, and fewer of these belong on the disk
        assert_eq!(caught_up.is_empty(), writes == 0.0, "{:?}", found.recoveries);
        assert!(caught_up.iter().sum::<u64>() <= 30 * 8192, "{caught_up:?}");
    }
}

#[test]
fn closed_form_a_lost_disk_costs_one_answer_and_is_then_avoided() {
    let mean = |event: Event| {
        let mut scenario = small(3, 3, 1.0, 1);
        set_steady_disks(&mut scenario, ms(1));
        rate(&mut scenario, 20.0);
        scenario.duration = Some(SimSpan::from_secs(30));
        let mut recovery = quick();
        recovery.swift.error_suppression_interval = SimSpan::from_secs(1000);
        let truth = run(&with(scenario, vec![event], recovery)).unwrap();
        mean_ms(&truth, "degraded")
    };
    // 25 s at 20 reads/s: only one of 500 reads asks the disk, and 11 wait 20 ms for a connection to the host
    let (disk, host) = (mean(loses_disk(5000, (0, 0))), mean(fails(5000, 0, true)));
    assert!((host - disk - 11.0 * 20.0 / 500.0).abs() < 0.02, "{host} {disk} ms");
}

#[test]
fn all_that_a_drained_host_had_moves_once() {
    let mut all = 0;
    for host in 0..5 {
        let truth = run(&with(reading(5, 1), vec![drains(1000, host)], quick())).unwrap();
        let one = only_recovery(&truth);
        assert_eq!((one.kind, one.host.as_str()), ("rebalance", format!("brick{host}").as_str()));
        let names: Vec<&str> = outages(&truth).phases.iter().map(|phase| phase.phase).collect();
        assert!(names.contains(&"before") && names.contains(&"after"), "{names:?}");
        all += one.bytes_written;
    }
    // and sometimes a copy that keeps the ring even
    let share = all as f64 / COPIES as f64;
    assert!((1.0..1.1).contains(&share), "{share}");
}

#[test]
fn a_drained_host_is_not_missed() {
    let events = vec![drains(500, 2), fails(4000, 2, false), fails(4500, 0, true)];
    let truth = run(&with(reading(5, 1), events, quick())).unwrap();
    let found = outages(&truth);
    assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
    // if it fails at once, some objects had their three copies on it and on the two others
    let events =
        vec![drains(500, 2), fails(510, 2, false), fails(510, 0, false), fails(510, 1, false)];
    let truth = run(&with(reading(5, 1), events, quick())).unwrap();
    assert!(outages(&truth).bytes_lost > 0);
}

#[test]
fn a_host_that_joins_gets_its_share() {
    let truth = run(&with(reading(6, 1), vec![event(1000, 5, Action::Add)], quick())).unwrap();
    let one = only_recovery(&truth);
    assert_eq!((one.kind, one.host.as_str()), ("rebalance", "brick5"));
    // a sixth of 192 copies of objects; partitions have one object each on average
    let share = one.bytes_written as f64 / (COPIES as f64 / 6.0);
    assert!((0.6..1.4).contains(&share), "{share}");
    let late = run(&with(reading(6, 1), vec![event(5900, 5, Action::Add)], quick())).unwrap();
    let busy = |truth: &Truth| truth.hosts["brick5"]["disk0"].utilization;
    assert!(busy(&late) < 0.01 && busy(&truth) > 0.02, "{} {}", busy(&late), busy(&truth));
}

#[test]
fn a_second_replica_of_a_partition_moves_only_after_min_part_hours() {
    let moved = |least: SimSpan| {
        let recovery = quick();
        let swift =
            foretell_scenarios::outages::SwiftRecovery { min_part_hours: least, ..recovery.swift };
        let recovery = Recovery { swift, ..recovery };
        let events = vec![drains(500, 0), drains(3000, 1)];
        let truth = run(&with(reading(6, 1), events, recovery)).unwrap();
        let found = outages(&truth);
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
        let each = |one: &RecoveryTruth| (one.host.clone(), one.bytes_written);
        found.recoveries.iter().map(each).collect::<Vec<_>>()
    };
    let (always, hourly) = (moved(SimSpan::ZERO), moved(SimSpan::from_secs(3600)));
    assert_eq!(always[0], hourly[0]);
    assert_eq!((always[1].0.as_str(), hourly[1].0.as_str()), ("brick1", "brick1"));
    // half of the copies on a host belong to partitions that the first event has moved
    assert!(hourly[1].1 * 4 < always[1].1 * 3, "{always:?} {hourly:?}");
}

#[test]
fn reads_go_on_while_partitions_move() {
    let mut scenario = small(5, 3, 0.5, 4);
    scenario.payload = Payload::Real;
    let events = vec![drains(1000, 0)];
    let mut recovery = quick();
    recovery.swift.replicator_interval = SimSpan::from_secs(1);
    let truth = run(&with(scenario, events, recovery)).unwrap();
    let found = outages(&truth);
    assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
    assert!(found.timeline.iter().all(|second| second.requests > 100), "{:?}", found.timeline);
}

fn set_newest(scenario: &mut Scenario) {
    let System::Swift(swift) = &mut scenario.system else { unreachable!("it is Swift's") };
    swift.x_newest = true;
}

#[test]
fn closed_form_a_read_of_the_newest_version_asks_all_servers() {
    // to the proxy and back, to each of at most 6 servers for its version, and to one for the data
    for (nodes, plain, newest) in [(3, 4.0, 10.0), (5, 4.0, 14.0), (8, 4.0, 16.0)] {
        let messages = |scenario: Scenario| {
            let truth = run(&scenario).unwrap();
            truth.network.messages_sent as f64 / truth.requests_completed as f64
        };
        let mut scenario = small(nodes, 3, 1.0, 2);
        (scenario.warmup, scenario.duration) = (ms(0), Some(SimSpan::from_secs(20)));
        let before = messages(scenario.clone());
        set_newest(&mut scenario);
        let after = messages(scenario);
        assert!((before - plain).abs() < 0.02 && (after - newest).abs() < 0.02, "{before} {after}");
    }
}

#[test]
fn reads_of_the_newest_version_are_never_stale() {
    let stale = |newest: bool| {
        let mut scenario = small(3, 3, 0.5, 4);
        scenario.payload = Payload::Real;
        if newest {
            set_newest(&mut scenario);
        }
        let events = vec![fails(1000, 0, true), returns(3000, 0)];
        let mut recovery = never_avoiding();
        recovery.swift.replicator_interval = SimSpan::from_secs(2);
        let truth = run(&with(scenario, events, recovery)).unwrap();
        assert_eq!(outages(&truth).failed_requests, 0);
        (outages(&truth).stale_reads.unwrap(), truth.blocks_compared.unwrap())
    };
    let (with, without) = (stale(true), stale(false));
    assert!(with.0 == 0 && with.1 > 0 && without.0 > 5, "{with:?} {without:?}");
}

#[test]
fn the_newest_version_is_that_of_a_handoff_if_no_primary_has_it() {
    // one client writes a block while two of three primaries are away; they return, and the third one fails
    let mut scenario = small(6, 3, 0.5, 1);
    scenario.payload = Payload::Real;
    set_newest(&mut scenario);
    common::outages::set_working_set(&mut scenario, Bytes::kib(256), Bytes::kib(8));
    let mut events: Vec<Event> = (0..2).map(|host| fails(1000, host, true)).collect();
    events.extend((0..2).map(|host| returns(3000, host)));
    events.push(fails(3001, 2, true));
    let mut recovery = never_avoiding();
    recovery.swift.replicator_interval = SimSpan::from_secs(100);
    let truth = run(&with(scenario, events, recovery)).unwrap();
    assert_eq!(outages(&truth).stale_reads, Some(0));
}
