//! Tests of Swift's object servers that fail and return: proxies go on with other servers, replicators make all copies
//! the same again, and reads that return an older version are counted.

use crate::common;

use std::collections::BTreeSet;

use common::outages::{
    assert_as_without_events, draw_failures, draw_parts, event_of, fails, in_words, ms, outages,
    returns, set_steady_disks, set_working_set, with,
};
use common::swift::{add_disks, never_avoiding, quick, rate, small};
use common::{run, run_recorded};
use foretell_ati::{Body, Phase};
use foretell_scenarios::model::{Arrivals, Payload, Scenario, System, Think};
use foretell_scenarios::outages::{Action, Event, Part};
use foretell_sim::truth::Truth;
use foretell_units::{Bytes, Op, Seed, SimSpan, Stream};

fn mean_ms(truth: &Truth, phase: &str) -> f64 {
    common::outages::mean_ms(truth, phase)
}

#[test]
fn with_one_of_three_hosts_down_all_requests_go_on() {
    for nodes in [3, 4, 6] {
        let scenario = small(nodes, 3, 0.5, 4);
        let truth = run(&with(scenario, vec![fails(2000, 0, true)], quick())).unwrap();
        let found = outages(&truth);
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0), "{nodes} nodes");
        let requests: Vec<u64> = found.timeline.iter().map(|second| second.requests).collect();
        assert!(requests.iter().all(|count| *count > 50), "{nodes} nodes: {requests:?}");
        assert_eq!(found.phase_changes.last().unwrap().phase, "degraded");
    }
}

#[test]
fn the_third_copy_of_a_write_is_on_a_handoff() {
    // to the proxy, to three servers, and back: 8 messages, if there are three servers besides the failed one
    for (nodes, messages) in [(3, 6.0), (4, 8.0), (6, 8.0)] {
        let mut scenario = small(nodes, 3, 0.0, 4);
        (scenario.warmup, scenario.duration) = (ms(0), Some(SimSpan::from_secs(20)));
        let all_on_three = nodes == 3;
        // no replicator compares anything meanwhile
        let mut recovery = quick();
        recovery.swift.replicator_interval = SimSpan::from_secs(1000);
        let truth = run(&with(scenario, vec![fails(1, 0, true)], recovery)).unwrap();
        let sent = truth.network.messages_sent as f64 / truth.requests_completed as f64;
        let margin = if all_on_three { 0.01 } else { 0.02 };
        assert!((sent / messages - 1.0).abs() < margin, "{nodes} nodes: {sent} messages a write");
    }
    // and it goes from there to the host that has returned: four hosts, so each other one is a handoff
    let mut scenario = small(4, 3, 0.0, 1);
    rate(&mut scenario, 20.0);
    let events = vec![fails(1000, 0, true), returns(3000, 0)];
    let truth = run(&with(scenario, events, quick())).unwrap();
    assert_eq!(outages(&truth).phase_changes.last().unwrap().phase, "after");
}

#[test]
fn a_host_that_returns_gets_what_was_written_meanwhile_and_nothing_else() {
    // three copies on three hosts: each host has everything; on more, partitions have handoffs
    for nodes in [3, 5] {
        let mut scenario = small(nodes, 3, 0.0, 1);
        rate(&mut scenario, 9.0);
        scenario.warmup = ms(0);
        let events = vec![fails(1000, 2, true), returns(4000, 2)];
        let scenario = with(scenario, events, never_avoiding());
        let (truth, recorder) = run_recorded(&scenario);
        let writes = recorder.records().iter().filter_map(|record| match record.body {
            Body::Request { phase: Phase::Issue, op: Op::Write, offset, .. } => {
                Some((record.header.ts_ns, offset))
            }
            _ => None,
        });
        // 8 KiB at a time
        let blocks: BTreeSet<u64> = writes
            .filter(|(at, _)| (1_000_000_000..4_000_000_000).contains(at))
            .map(|(_, offset)| offset / 8192)
            .collect();
        let [one] = outages(&truth).recoveries.as_slice() else {
            panic!("{:?}", outages(&truth).recoveries)
        };
        assert_eq!((one.kind, one.host.as_str()), ("catch-up", "brick2"));
        assert!(one.ended_s.is_some());
        let written = 8192 * blocks.len() as u64;
        if nodes == 3 {
            assert_eq!(one.bytes_written, written, "{blocks:?}");
        } else {
            // three in five copies
            let share = one.bytes_written as f64 / written as f64;
            assert!((0.3..0.9).contains(&share), "{share}");
        }
        assert_eq!((one.bytes_read, one.bytes_sent), (one.bytes_written, one.bytes_written));
        let recovered: u64 = outages(&truth).timeline.iter().map(|one| one.recovered_bytes).sum();
        assert_eq!(recovered, one.bytes_written);
        let names: Vec<&str> = outages(&truth).phases.iter().map(|phase| phase.phase).collect();
        assert_eq!(names, ["before", "degraded", "recovering", "after"]);
    }
}

#[test]
fn closed_form_a_third_of_reads_waits_for_a_connection() {
    let mut scenario = small(3, 3, 1.0, 1);
    set_steady_disks(&mut scenario, ms(1));
    rate(&mut scenario, 20.0);
    scenario.duration = Some(SimSpan::from_secs(60));
    let truth = run(&with(scenario, vec![fails(10_000, 0, true)], never_avoiding())).unwrap();
    // 20 ms for every third read: proxies choose the first server at random
    let extra = mean_ms(&truth, "degraded") - mean_ms(&truth, "before");
    assert!((extra / (20.0 / 3.0) - 1.0).abs() < 0.1, "{extra} ms");
}

#[test]
fn closed_form_every_write_waits_for_a_connection() {
    let mut scenario = small(3, 3, 0.0, 1);
    set_steady_disks(&mut scenario, ms(1));
    rate(&mut scenario, 10.0);
    scenario.duration = Some(SimSpan::from_secs(20));
    let truth = run(&with(scenario, vec![fails(5_000, 0, true)], never_avoiding())).unwrap();
    let extra = mean_ms(&truth, "degraded") - mean_ms(&truth, "before");
    assert!((extra - 20.0).abs() < 0.5, "{extra} ms");
}

#[test]
fn a_server_with_too_many_errors_is_avoided() {
    let errors = |limit| {
        let mut scenario = small(3, 3, 1.0, 1);
        set_steady_disks(&mut scenario, ms(1));
        rate(&mut scenario, 50.0);
        let mut recovery = quick();
        recovery.swift.error_suppression_limit = limit;
        recovery.swift.error_suppression_interval = SimSpan::from_secs(60);
        let truth = run(&with(scenario, vec![fails(1000, 0, true)], recovery)).unwrap();
        // 5 s at 50 reads/s; each error takes 20 ms
        mean_ms(&truth, "degraded") * 250.0 / 20.0
    };
    // a server is avoided after one error more than the limit
    let one = errors(0);
    for limit in [5, 10, 30] {
        let more = errors(limit) - one;
        assert!((more - f64::from(limit)).abs() < 0.5, "{limit}: {more} errors more");
    }
}

#[test]
fn requests_fail_when_too_few_servers_are_left() {
    // two of three hosts: writes have no quorum, reads have a copy
    for (reads, fail) in [(1.0, false), (0.0, true)] {
        let scenario = small(3, 3, reads, 2);
        let events = vec![fails(2000, 0, true), fails(2000, 1, true)];
        let truth = run(&with(scenario, events, quick())).unwrap();
        assert_eq!(outages(&truth).failed_requests > 10, fail, "{reads}");
        let last = outages(&truth).timeline.last().unwrap();
        assert_eq!(last.requests > 100, !fail, "{reads}: {last:?}");
    }
}

#[test]
fn a_host_that_stays_away_leaves_the_cluster_degraded() {
    let truth = run(&with(small(6, 3, 0.5, 2), vec![fails(1000, 0, false)], quick())).unwrap();
    let found = outages(&truth);
    assert!(found.recoveries.is_empty(), "{:?}", found.recoveries);
    assert_eq!((found.bytes_lost, found.failed_requests), (0, 0));
    assert_eq!(found.phase_changes.len(), 2);
    // all three hosts of some partitions
    let events = (0..3).map(|host| fails(1000, host, false)).collect();
    let truth = run(&with(small(6, 3, 1.0, 2), events, quick())).unwrap();
    let lost = outages(&truth).bytes_lost;
    // each of 20 sets of three hosts has a twentieth of 64 objects of 64 KiB, with a margin for hashing
    assert!((1..=10).contains(&(lost / 65_536)) && lost.is_multiple_of(65_536), "{lost} bytes");
    assert!(outages(&truth).failed_requests > 0);
}

#[test]
fn reads_are_stale_only_until_replicators_have_caught_up() {
    let stale = |returns_at: Option<u64>| {
        let mut scenario = small(3, 3, 0.5, 4);
        scenario.payload = Payload::Real;
        let mut events = vec![fails(1000, 0, true)];
        events.extend(returns_at.map(|at| returns(at, 0)));
        let mut recovery = never_avoiding();
        recovery.swift.replicator_interval = SimSpan::from_secs(2);
        let truth = run(&with(scenario, events, recovery)).unwrap();
        outages(&truth).stale_reads.unwrap()
    };
    let (never, back) = (stale(None), stale(Some(3000)));
    // a few in which the third copy of an acknowledged write was still on its way
    assert!(never < 5 && back > 2 * never + 5, "{never} {back}");
}

/// A random schedule: its scenario, and a description. `mild`: no more servers fail at a time than each write and each
/// read can do without.
fn drawn(seed: u64, mild: bool) -> (Scenario, String) {
    let mut stream: Stream = Seed(seed).stream("schedule");
    let copies = [3, 3, 4, 5][stream.below(4) as usize];
    let quorum = copies / 2 + 1;
    let most = if mild { copies - quorum } else { copies };
    let victims = 1 + stream.below(u64::from(most)) as u32;
    // as many servers as a write needs stay up
    let spare = if mild { victims } else { stream.below(3) as u32 };
    let nodes = u32::from(copies) + spare + stream.below(2) as u32;
    let mut scenario = small(nodes, copies, 0.5, 1);
    scenario.seed = Seed(seed);
    scenario.payload = Payload::Real;
    scenario.duration = Some(ms(2500));
    let outstanding = 1 + stream.below(6) as u32;
    scenario.workloads[0].arrivals = Arrivals::Closed { outstanding, think: Think::Fixed(ms(4)) };
    let each = [Bytes(1536), Bytes::kib(8), Bytes::kib(24), Bytes::kib(100)];
    let each = each[stream.below(4) as usize];
    let set = [Bytes::kib(256), Bytes::mib(1)][stream.below(2) as usize];
    set_working_set(&mut scenario, set, each);
    let mut recovery = quick();
    recovery.swift.error_suppression_limit = [0, 2, 1000][stream.below(3) as usize];
    recovery.swift.error_suppression_interval = ms([10, 300][stream.below(2) as usize]);
    recovery.swift.replicator_interval = ms([20, 100, 700][stream.below(3) as usize]);
    recovery.swift.replicator_concurrency = 1 + stream.below(3) as u32;
    if mild {
        // a second replica that moves before the first one is there may leave none where proxies look
        recovery.swift.min_part_hours = SimSpan::from_secs(3600);
    }
    let (first, mut events) = draw_failures(&mut stream, nodes, victims);
    draw_parts(seed, nodes, &mut events);
    let newest = draw_rings(seed, first, victims, nodes, &mut scenario, &mut events);
    if newest {
        recovery.swift.error_suppression_limit = 1_000_000;
    }
    events.sort_by_key(|event| event.at);
    let text = format!(
        "seed {seed}: {copies} copies on {nodes}, {outstanding} x {each} of {set}, newest {newest}, \
         {:?}{}",
        recovery.swift,
        in_words(&events)
    );
    (with(scenario, events, recovery), text)
}

/// Lets the disks of some hosts fail instead of the hosts. One of the hosts that do not fail may be drained, and one may
/// join. Reads may ask for the newest version, which is then returned. Returns whether they do.
fn draw_rings(
    seed: u64,
    first: u32,
    victims: u32,
    nodes: u32,
    scenario: &mut Scenario,
    events: &mut Vec<Event>,
) -> bool {
    let mut stream: Stream = Seed(seed).stream("rings");
    add_disks(scenario, stream.below(2) as usize);
    for host in (0..victims).map(|victim| (first + victim) % nodes) {
        if stream.below(2) > 0 {
            continue;
        }
        let is_its = |event: &&mut Event| event.host.0 == host && event.part == Part::Whole;
        for event in events.iter_mut().filter(is_its) {
            event.part = Part::Disk(0);
        }
    }
    let (least, mut left) = (u32::from(scenario.volumes[0].n()), nodes);
    let mut others = (first + victims..first + nodes).map(|host| host % nodes);
    for action in [Action::Drain, Action::Add] {
        let Some(host) = others.next().filter(|_| stream.below(2) > 0) else { continue };
        if left > least {
            left -= 1;
            let at = 300 + stream.below(1000);
            if action == Action::Add {
                events.retain(|event| event.host.0 != host);
            }
            events.push(event_of(at, host, Part::Whole, action));
        }
    }
    let System::Swift(swift) = &mut scenario.system else { unreachable!("it is Swift's") };
    // a request for several blocks may find the newest ones on different servers
    swift.x_newest = stream.below(3) == 0;
    if swift.x_newest {
        set_working_set(scenario, Bytes::kib(256), Bytes::kib(8));
    }
    scenario.reads_newest()
}

/// Number of schedules, or the one to run: `FORETELL_SCHEDULES=1000`, `FORETELL_SCHEDULE=17`.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("FORETELL_SCHEDULE") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FORETELL_SCHEDULES").unwrap_or(usual),
    }
}

/// What is guaranteed of a read: it returns, for each block, a version that was written, as it was written; and if
/// that is older than the one that was acknowledged last when the client sent the read, it is counted as stale. (The
/// simulation compares both with what it really wrote where: a difference ends the run.) As long as no more servers fail than a quorum can do without, no request fails and nothing is lost.
#[test]
fn each_read_returns_what_was_written_last_or_is_counted_as_stale() {
    let (mut compared, mut stale, mut recoveries) = (0, 0, 0);
    for seed in seeds(40) {
        let (scenario, text) = drawn(seed, true);
        let truth = run(&scenario).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let found = outages(&truth);
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0), "{text}");
        let oldest = truth.unfinished.oldest_ms.unwrap_or(0.0);
        // a slow disk may have a backlog of third copies
        assert!(oldest < 2000.0, "{text}\n{oldest} ms");
        compared += truth.blocks_compared.unwrap();
        if scenario.reads_newest() {
            assert_eq!(found.stale_reads, Some(0), "{text}");
        }
        stale += found.stale_reads.unwrap();
        recoveries += found.recoveries.iter().filter(|one| one.ended_s.is_some()).count();
    }
    println!("{compared} blocks compared, {stale} stale reads, {recoveries} recoveries");
    assert!(compared > 0);
}

/// The same with any number of failures: requests may fail then, and data may be lost.
#[test]
fn whatever_fails_a_read_returns_what_was_written() {
    let (mut compared, mut failed, mut lost) = (0, 0, 0);
    for seed in seeds(30) {
        let (scenario, text) = drawn(seed, false);
        let truth = run(&scenario).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let found = outages(&truth);
        // a request may wait for each server in turn
        let oldest = truth.unfinished.oldest_ms.unwrap_or(0.0);
        assert!(oldest < 1500.0, "{text}\n{oldest} ms");
        compared += truth.blocks_compared.unwrap();
        (failed, lost) = (failed + found.failed_requests, lost + found.bytes_lost);
    }
    println!("{compared} blocks compared, {failed} requests failed, {lost} bytes lost");
    assert!(compared > 0);
}

/// In this schedule a handoff drops a partition while a client reads from it, as soon as the primary has it again.
#[test]
fn a_file_that_is_dropped_while_it_is_read_is_still_sent() {
    let (scenario, text) = drawn(1409, false);
    let truth = run(&scenario).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert!(outages(&truth).recoveries.iter().any(|one| one.kind == "catch-up"), "{text}");
    assert!(truth.unfinished.oldest_ms.unwrap_or(0.0) < 1500.0, "{text}");
}

#[test]
fn until_the_first_event_a_run_is_as_without() {
    assert_as_without_events(small(5, 3, 0.6, 4));
}

#[test]
fn the_same_seed_gives_the_same_failures() {
    for seed in [3, 8] {
        let (scenario, text) = drawn(seed, false);
        let again = || {
            let mut truth = run(&scenario).unwrap();
            truth.wall_seconds = 0.0;
            format!("{truth:?}")
        };
        assert_eq!(again(), again(), "{text}");
    }
}

#[test]
fn real_bytes_change_no_time() {
    for seed in 0..5 {
        let (mut scenario, text) = drawn(seed, true);
        let real = run(&scenario).unwrap();
        scenario.payload = Payload::None;
        let without = run(&scenario).unwrap();
        assert_eq!(real.requests_completed, without.requests_completed, "{text}");
        let stale = |truth: &Truth| outages(truth).stale_reads;
        assert_eq!(stale(&real), stale(&without), "{text}");
    }
}

#[test]
fn a_host_that_is_cut_off_is_as_one_that_fails() {
    let events = |part| -> Vec<Event> {
        let fail = event_of(1000, 2, part, Action::Fail { keeps: true });
        vec![fail, event_of(3000, 2, part, Action::Return)]
    };
    let run = |part| {
        let mut scenario = small(4, 3, 0.0, 1);
        rate(&mut scenario, 20.0);
        run(&with(scenario, events(part), never_avoiding())).unwrap()
    };
    let (failed, cut_off) = (run(Part::Whole), run(Part::Link));
    let one = |truth: &Truth| {
        let one = &outages(truth).recoveries[0];
        (one.objects, one.bytes_written, one.ended_s.is_some())
    };
    assert_eq!(one(&failed), one(&cut_off));
}
