//! Tests of OSDs that fail, return, join and leave: no data are lost unnecessarily, and recoveries take the
//! time and the bytes that they must.

use crate::common;

use common::ceph::{ceph, cost};
use common::outages::{
    assert_as_without_events, draw_failures, draw_parts, event, event_of, fails, in_words, mean_ms,
    ms, nothing_is_lost, outages, recovery, returns, reweights, set_steady_disks, set_working_set,
    sets, with,
};
use common::{cluster, device, run, ssio};
use foretell_algorithms::message::{MESSAGE_HEADER, wire_bytes};
use foretell_scenarios::model::{
    Arrivals, Ceph, Payload, Role, Scenario, Switch, System, Think, Threads,
};
use foretell_scenarios::outages::{Action, Event, Part, Recovery, SettingChange};
use foretell_sim::truth::Truth;
use foretell_units::{Bytes, Rate, Seed, SimSpan, Stream};

fn threads() -> Threads {
    Threads {
        op: 4,
        messenger: 2,
        processors: None,
        message: cost(10),
        kv_round: SimSpan::from_us(20),
        kv_transaction: SimSpan::from_us(10),
        merge: SimSpan::from_us(60),
        flush: SimSpan::ZERO,
        locks: false,
    }
}

/// A small pool that receives a client's requests; objects of 64 KiB.
fn small(nodes: u32, m: u8, n: u8, reads: f64, outstanding: u32) -> Scenario {
    let mut scenario = cluster(nodes, 1, m, n);
    scenario.system = System::Ceph(ceph(8));
    scenario.warmup = ms(500);
    scenario.duration = Some(SimSpan::from_secs(6));
    let volume = &mut scenario.volumes[0];
    (volume.size, volume.group) = (Bytes::mib(4), Bytes::kib(64));
    volume.min_write = if m == 1 { n - n / 2 } else { (m + 1).min(n) };
    ssio(&mut scenario, 0, reads, outstanding);
    set_working_set(&mut scenario, Bytes::mib(1), Bytes::kib(8));
    scenario
}

fn set_ceph(scenario: &mut Scenario, change: impl FnOnce(&mut Ceph)) {
    if let System::Ceph(ceph) = &mut scenario.system {
        change(ceph);
    }
}

/// A random schedule of events: its scenario, and a description.
fn drawn(seed: u64) -> (Scenario, String) {
    let mut stream: Stream = Seed(seed).stream("schedule");
    let codes = [(1, 2), (1, 3), (2, 3), (2, 4), (3, 5)];
    let (m, n) = codes[stream.below(5) as usize];
    let nodes = u32::from(n) + stream.below(3) as u32;
    let mut scenario = small(nodes, m, n, 0.5, 1);
    scenario.seed = Seed(seed);
    scenario.payload = Payload::Real;
    scenario.duration = Some(ms(2500));
    let outstanding = 1 + stream.below(6) as u32;
    scenario.workloads[0].arrivals = Arrivals::Closed { outstanding, think: Think::Fixed(ms(4)) };
    // the lowest allowed value: any request that can be served is served
    scenario.volumes[0].min_write = m;
    let has_threads = stream.below(2) == 0;
    set_ceph(&mut scenario, |ceph| ceph.threads = has_threads.then(threads));
    let each = [Bytes(1536), Bytes::kib(8), Bytes::kib(24), Bytes::kib(100)];
    let each = each[stream.below(4) as usize];
    set_working_set(&mut scenario, Bytes::mib(1), each);
    let mut recovery = recovery();
    recovery.out_after = ms([100, 500, 100_000][stream.below(3) as usize]);
    recovery.parallel = 1 + stream.below(4) as u32;
    recovery.backfills = 1 + stream.below(3) as u32;
    recovery.pause = ms([0, 0, 3][stream.below(3) as usize]);
    // as many hosts as the code tolerates, each any number of times
    let victims = 1 + stream.below(u64::from(n - m)) as u32;
    let (first, mut events) = draw_failures(&mut stream, nodes, victims);
    draw_parts(seed, nodes, &mut events);
    // another host joins, or leaves
    let other = (first + victims) % nodes;
    if nodes > u32::from(n) && stream.below(3) == 0 {
        let action = [Action::Add, Action::Drain][stream.below(2) as usize];
        events.push(event(200 + stream.below(1000), other, action));
    }
    events.sort_by_key(|event| event.at);
    let text = format!(
        "seed {seed}: {m}-of-{n} on {nodes}, threads {has_threads}, {outstanding} x {each}, \
         {recovery:?}{}",
        in_words(&events)
    );
    let mut scenario = with(scenario, events, recovery);
    // the map gives a lower weight to some servers, and perhaps restores it
    let mut stream: Stream = Seed(seed).stream("weights");
    for _ in 0..stream.below(4) {
        let (at, host) = (50 + stream.below(1500), stream.below(u64::from(nodes)) as u32);
        let weight = [0, 0x8000, 0xc000, 0x1_0000][stream.below(4) as usize];
        reweights(&mut scenario, at, host, weight);
    }
    let text = format!("{text}, {:?}", scenario.outages.as_ref().unwrap().settings);
    (scenario, text)
}

#[test]
fn what_was_written_last_is_read_whatever_fails_within_the_codes_tolerance() {
    // 1147, 2474: a server acted for two shards of a group, so one failure lost both; 4853, 7855: a server lost its
    // data after they had been read for a recovery, and the real bytes did not arrive
    nothing_is_lost(&[1147, 2474, 4853, 7855], drawn);
}

/// The effect of events on an idle cluster with slow links.
fn alone(nodes: u32, m: u8, n: u8, event: Event, change: impl Fn(&mut Recovery)) -> Truth {
    alone_with(64, nodes, m, n, event, change)
}

/// The same with `size` MiB in objects of 64 KiB.
fn alone_with(
    size: u64,
    nodes: u32,
    m: u8,
    n: u8,
    event: Event,
    change: impl Fn(&mut Recovery),
) -> Truth {
    let mut scenario = cluster(nodes, 1, m, n);
    scenario.system = System::Ceph(ceph(64));
    (scenario.warmup, scenario.switch) = (ms(0), Switch::QUEUE);
    scenario.duration = Some(SimSpan::from_secs(200));
    let volume = &mut scenario.volumes[0];
    (volume.size, volume.group) = (Bytes::mib(size), Bytes::kib(64));
    volume.min_write = m;
    for host in &mut scenario.hosts {
        host.nic.rate = Rate::bits_per_s(20_000_000);
        if let Role::Node(storage) = &mut host.role {
            storage.disks[0].device = device("sata-ssd");
        }
    }
    let mut recovery = Recovery { out_after: ms(500), parallel: 16, backfills: 16, ..recovery() };
    change(&mut recovery);
    run(&with(scenario, vec![event], recovery)).unwrap()
}

/// Bytes in a shard of an object of 64 KiB, which has eight blocks of 8 KiB.
fn shard(m: u8) -> u64 {
    match m {
        1 => 65_536,
        2 => 32_768,
        // 8192 / 3 B is 2731 B, which take 6 sectors
        _ => 8 * 3072,
    }
}

#[test]
fn closed_form_a_host_that_joins_is_filled_at_the_rate_of_its_link() {
    for (m, n) in [(1, 2), (1, 3), (2, 4), (3, 5)] {
        // few at a time: primaries that first gather shards for many would leave its link idle meanwhile
        let joins = event(1000, 0, Action::Add);
        // with this many hosts no primary gathers shards long after the others are done
        let nodes = u32::from(n) + 3 * u32::from(m);
        let truth = alone_with(256, nodes, m, n, joins, |recovery| {
            (recovery.parallel, recovery.backfills) = (8, 1000);
        });
        let [one] = outages(&truth).recoveries.as_slice() else { panic!("{m}-of-{n}") };
        assert_eq!((one.kind, one.host.as_str()), ("rebalance", "brick0"));
        // its share of 4096 objects, with a margin for hashing
        let share = 4096.0 * f64::from(n) / f64::from(nodes);
        assert!((one.objects as f64 / share - 1.0).abs() < 0.5, "{m}-of-{n}: {one:?}");
        let bytes = one.objects * shard(m);
        assert_eq!(one.bytes_written, bytes, "{m}-of-{n}");
        assert_eq!(one.bytes_read, u64::from(m) * bytes, "{m}-of-{n}");
        assert_eq!(one.bytes_sent, u64::from(m) * bytes, "{m}-of-{n}");
        let message = wire_bytes(Bytes(shard(m)) + MESSAGE_HEADER);
        let expected = Rate::bits_per_s(20_000_000).time_for(message * one.objects).as_secs_f64();
        let took = one.ended_s.unwrap() - one.began_s;
        assert!((took / expected - 1.0).abs() < 0.03, "{m}-of-{n}: {took} s, {expected} s");
        assert_eq!(outages(&truth).phases.last().unwrap().phase, "after");
    }
}

#[test]
fn closed_form_what_a_dead_host_held_is_rebuilt_at_the_rate_of_one_disks_hosts() {
    // two copies on two hosts: the remaining host pushes everything to the only host without a copy
    let truth = alone(3, 1, 2, fails(1000, 0, false), |_| {});
    let [one] = outages(&truth).recoveries.as_slice() else { panic!("one recovery") };
    assert_eq!((one.kind, one.host.as_str()), ("rebuild", "brick0"));
    assert_eq!((one.bytes_written, one.bytes_sent), (one.objects * 65_536, one.objects * 65_536));
    // brick1 pushes to brick2 and brick2 to brick1; the one that pushes more ends last
    let message = wire_bytes(Bytes(65_536) + MESSAGE_HEADER);
    let rate = Rate::bits_per_s(20_000_000);
    let most = rate.time_for(message * one.objects).as_secs_f64();
    let took = one.ended_s.unwrap() - one.began_s;
    assert!(took > most / 2.0 && took < most * 0.6, "{took} s of {most} s");
    assert_eq!((outages(&truth).bytes_lost, outages(&truth).failed_requests), (0, 0));
}

#[test]
fn recovery_traffic_is_m_times_what_was_lost() {
    for (m, n) in [(1, 3), (2, 3), (2, 4), (3, 5)] {
        let truth = alone(u32::from(n) + 1, m, n, fails(1000, 2, false), |_| {});
        let [one] = outages(&truth).recoveries.as_slice() else { panic!("{m}-of-{n}") };
        let lost = one.objects * shard(m);
        let found = (one.bytes_read, one.bytes_sent, one.bytes_written);
        assert_eq!(found, (u64::from(m) * lost, u64::from(m) * lost, lost), "{m}-of-{n}");
        // n of n + 1 hosts had a shard of each of 1024 objects
        let held = 1024.0 * f64::from(n) / f64::from(n + 1);
        assert!((one.objects as f64 / held - 1.0).abs() < 0.15, "{m}-of-{n}: {one:?}");
    }
}

#[test]
fn closed_form_sleep_throttles_a_recovery() {
    let truth = alone(3, 1, 3, event(1000, 0, Action::Add), |recovery| {
        (recovery.parallel, recovery.pause) = (1, ms(100));
    });
    // three hosts hold everything: until the third joins, two are primaries of 1024 objects
    let one = &outages(&truth).recoveries[0];
    assert_eq!(one.objects, 1024);
    let took = one.ended_s.unwrap() - one.began_s;
    // each primary begins with one in 100 ms; the primary of more of them ends last
    assert!((0.5 * 102.4..0.6 * 102.4).contains(&took), "{took} s");
}

#[test]
fn a_sleep_that_changes_is_kept_to_from_then_on() {
    let took = |changes: bool| {
        let mut scenario = cluster(3, 1, 1, 3);
        scenario.system = System::Ceph(ceph(64));
        (scenario.warmup, scenario.switch) = (ms(0), Switch::QUEUE);
        scenario.duration = Some(SimSpan::from_secs(120));
        let volume = &mut scenario.volumes[0];
        (volume.size, volume.group) = (Bytes::mib(64), Bytes::kib(64));
        volume.min_write = 1;
        let slow = Recovery { parallel: 1, pause: ms(100), backfills: 16, ..recovery() };
        let mut scenario = with(scenario, vec![event(1000, 0, Action::Add)], slow);
        let now = Recovery { pause: ms(20), ..slow };
        if changes {
            sets(&mut scenario, vec![(21_000, SettingChange::Recovery(now))]);
        }
        let truth = run(&scenario).unwrap();
        let one = &outages(&truth).recoveries[0];
        one.ended_s.unwrap() - one.began_s
    };
    let (slow, throttled) = (took(false), took(true));
    // from its 20th second on, five times as fast
    let expected = 20.0 + (slow - 20.0) / 5.0;
    assert!((throttled / expected - 1.0).abs() < 0.1, "{slow} s, {throttled} s");
}

#[test]
fn an_osd_takes_part_in_no_more_than_its_backfills() {
    // one object in progress at a time on each server: with one backfill the groups come one after the other
    let took = |backfills| {
        let truth = alone(6, 1, 2, event(1000, 0, Action::Add), |recovery| {
            (recovery.backfills, recovery.parallel) = (backfills, 1);
        });
        let one = &outages(&truth).recoveries[0];
        (one.ended_s.unwrap() - one.began_s) / one.objects as f64
    };
    // 64 KiB take 27 ms on a link; recovering one at a time waits for its disks in between
    let (one, many) = (took(1), took(16));
    assert!((0.026..0.032).contains(&many) && one > 1.05 * many, "{one} {many}");
}

#[test]
fn until_the_first_event_a_run_is_as_without() {
    for has_threads in [false, true] {
        let mut scenario = small(5, 2, 3, 0.6, 4);
        set_ceph(&mut scenario, |ceph| ceph.threads = has_threads.then(threads));
        assert_as_without_events(scenario);
    }
}

#[test]
fn the_same_seed_gives_the_same_failures() {
    for seed in [3, 8] {
        let (scenario, text) = drawn(seed);
        let again = || {
            let mut truth = run(&scenario).unwrap();
            truth.wall_seconds = 0.0;
            format!("{truth:?}")
        };
        assert_eq!(again(), again(), "{text}");
    }
}

#[test]
fn phases_add_up_to_the_run() {
    let mut scenario = small(5, 2, 3, 0.6, 4);
    scenario.volumes[0].min_write = 2;
    let truth = run(&with(scenario, vec![fails(1000, 1, true), returns(3000, 1)], recovery()));
    let truth = truth.unwrap();
    let found = outages(&truth);
    let names: Vec<&str> = found.phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(names, ["before", "degraded", "recovering", "after"]);
    let seconds: f64 = found.phases.iter().map(|phase| phase.seconds).sum();
    assert!((seconds - 6.0).abs() < 1e-9);
    let requests: u64 = found.phases.iter().map(|p| p.workloads["load0"].requests).sum();
    assert_eq!(requests, truth.workloads["load0"].requests);
    let by_second: u64 = found.timeline.iter().map(|second| second.requests).sum();
    assert_eq!((by_second, found.timeline.len()), (requests, 6));
    let recovered: u64 = found.timeline.iter().map(|second| second.recovered_bytes).sum();
    let written: u64 = found.recoveries.iter().map(|one| one.bytes_written).sum();
    assert_eq!(recovered, written);
    assert_eq!(found.recoveries[0].kind, "catch-up");
    assert!(found.recoveries[0].ended_s.is_some());
}

#[test]
fn a_returning_osd_gets_the_objects_that_were_written_and_no_others() {
    let mut scenario = small(4, 1, 3, 0.0, 1);
    scenario.duration = Some(SimSpan::from_secs(8));
    scenario.workloads[0].arrivals = Arrivals::Deterministic { rate_rps: 3.0 };
    let truth = run(&with(scenario, vec![fails(1000, 2, true), returns(4000, 2)], recovery()));
    let truth = truth.unwrap();
    let [one] = outages(&truth).recoveries.as_slice() else { panic!("one recovery") };
    assert_eq!((one.kind, one.host.as_str()), ("catch-up", "brick2"));
    // 9 writes in 3 s to 16 objects, and three in four of these have a copy there
    assert!((3..=9).contains(&one.objects), "{one:?}");
    assert_eq!(one.bytes_written, one.objects * 65_536);
}

#[test]
fn a_group_serves_with_min_size_copies_and_waits_with_fewer() {
    for (down, min_size, goes_on) in [(1, 2, true), (2, 2, false), (2, 1, true), (1, 3, false)] {
        let mut scenario = small(3, 1, 3, 0.5, 2);
        scenario.volumes[0].min_write = min_size;
        let events: Vec<Event> = (0..down).map(|host| fails(2000, host, true)).collect();
        let back = (0..down).map(|host| returns(4000, host));
        let events = events.into_iter().chain(back).collect();
        let truth = run(&with(scenario, events, recovery())).unwrap();
        let found = outages(&truth);
        let in_second = |second: usize| found.timeline[second].requests;
        assert_eq!(in_second(3) > 100, goes_on, "{down} {min_size}: {:?}", found.timeline);
        assert!(in_second(5) > 100, "{down} {min_size}: {:?}", found.timeline);
        assert_eq!(found.failed_requests, 0);
        // a request waits once, whatever it waits for: as many as are outstanding, and they are served later
        let waiting = if goes_on { 0 } else { 2 };
        assert_eq!(found.waiting_below_min_size, waiting, "{down} {min_size}");
        let in_phases = found.phases.iter().flat_map(|phase| phase.workloads.values());
        assert_eq!(in_phases.map(|of| of.waiting_below_min_size).sum::<u64>(), waiting);
        assert_eq!(truth.unfinished.waiting_below_min_size, 0);
    }
}

#[test]
fn a_group_does_not_serve_while_it_peers() {
    // 40 ms on the link: two rounds of peering take 160 ms, and then a request goes to the primary
    let longest = |latency| {
        let mut scenario = small(3, 1, 3, 1.0, 2);
        for host in &mut scenario.hosts {
            host.nic.latency = latency;
        }
        // it returns before anyone has noticed
        let events = vec![fails(2000, 0, true), returns(2001, 0)];
        let recovery = Recovery { grace: SimSpan::from_secs(5), ..recovery() };
        let truth = run(&with(scenario, events, recovery)).unwrap();
        assert_eq!(outages(&truth).failed_requests, 0);
        truth.workloads["load0"].response_time_ms.max
    };
    let (near, far) = (longest(SimSpan::from_us(50)), longest(ms(20)));
    // a read takes a round trip of 80 ms, peering takes two, and a lost message was on its way for at most
    // one
    assert!(near < 60.0, "{near} ms");
    assert!((240.0..380.0).contains(&far), "{far} ms");
}

#[test]
fn degraded_reads_take_any_m_shards_and_decode() {
    for (m, n) in [(2, 3), (3, 5)] {
        let mut scenario = small(u32::from(n), m, n, 1.0, 4);
        scenario.volumes[0].min_write = m;
        let degraded = with(scenario.clone(), vec![fails(0, 0, true)], recovery());
        let (truth, healthy) = (run(&degraded).unwrap(), run(&scenario).unwrap());
        // to the primary and back, and to m - 1 others and back
        let asked = truth.network.messages_sent as f64 / truth.requests_completed as f64 / 2.0;
        assert!((asked / f64::from(m) - 1.0).abs() < 0.01, "{m}-of-{n}: {asked} servers a read");
        assert_eq!(outages(&truth).failed_requests, 0);
        let of = |truth: &Truth| -> f64 {
            let nodes = (0..n).map(|node| {
                let cpu = &truth.hosts[&format!("brick{node}")]["cpu"];
                cpu.utilization
            });
            nodes.sum::<f64>() / truth.requests_completed as f64
        };
        assert!(of(&truth) > of(&healthy), "{m}-of-{n}");
    }
}

#[test]
fn requests_wait_only_for_objects_that_they_need_and_that_are_lacking() {
    // 64 objects are written while a host is down, and the recovery sleeps for 50 ms after each
    let mut scenario = small(3, 1, 3, 0.0, 1);
    scenario.workloads[0].arrivals = Arrivals::Deterministic { rate_rps: 200.0 };
    set_working_set(&mut scenario, Bytes::mib(4), Bytes::kib(8));
    let recovery = Recovery { parallel: 1, pause: ms(200), ..recovery() };
    let events = vec![fails(1000, 0, true), returns(3000, 0)];
    let truth = run(&with(scenario, events, recovery)).unwrap();
    let found = outages(&truth);
    assert_eq!(found.failed_requests, 0);
    // some 50 ms are usual; with 200 ms for each of 64 objects the last one would wait for seconds
    let longest = |phase: &str| {
        let found = found.phases.iter().find(|one| one.phase == phase);
        found.map_or(0.0, |phase| phase.workloads["load0"].response_time_ms.max)
    };
    assert!(longest("recovering") < 600.0, "{found:?}");
    let [one] = found.recoveries.as_slice() else { panic!("{found:?}") };
    // within a second, writes need most of the objects: 200 a second to 64 of them
    let took = one.ended_s.unwrap() - one.began_s;
    assert!(took < 2.0, "{took} s");
}

#[test]
fn beyond_tolerance_loss_is_reported() {
    for seed in 0..20 {
        let (mut scenario, text) = drawn(seed);
        let volume = &scenario.volumes[0];
        let (m, nodes) = (volume.m(), volume.nodes.len() as u32);
        // fewer hosts remain than a read needs shards: everything is lost
        let first = seed as u32 % nodes;
        let lost = (0..=nodes - u32::from(m)).map(|more| (first + more) % nodes);
        let recovery = Recovery { give_up: ms(500), ..recovery() };
        let events = lost.map(|host| fails(1000, host, false)).collect();
        scenario = with(scenario, events, recovery);
        let truth = run(&scenario).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let found = outages(&truth);
        assert!(found.failed_requests > 0, "{text}");
        let size = scenario.volumes[0].size.get();
        assert_eq!(found.bytes_lost, size, "{text}");
        let issued = truth.requests_completed + found.failed_requests + truth.requests_in_flight;
        assert!(truth.requests_issued >= issued, "{text}");
    }
}

#[test]
fn all_copies_at_once_is_a_result_and_no_error() {
    let scenario = small(3, 1, 3, 0.5, 4);
    let size = scenario.volumes[0].size.get();
    let recovery = Recovery { give_up: SimSpan::from_secs(1), ..recovery() };
    let events = (0..3).map(|host| fails(2000, host, false)).collect();
    let truth = run(&with(scenario, events, recovery)).unwrap();
    let found = outages(&truth);
    assert_eq!(found.bytes_lost, size);
    assert!(found.failed_requests >= 8, "{found:?}");
    assert!(found.recoveries.is_empty());
}

#[test]
fn closed_form_a_slow_disk_and_a_slow_link_take_factor_times_as_long() {
    for (part, factor) in [(Part::Disk(0), 6.0), (Part::Link, 10.0)] {
        let mut scenario = small(1, 1, 1, 1.0, 1);
        scenario.switch = Switch::QUEUE;
        let volume = &mut scenario.volumes[0];
        (volume.size, volume.group) = (Bytes::gib(1), Bytes::mib(4));
        set_working_set(&mut scenario, Bytes::gib(1), Bytes::kib(512));
        set_steady_disks(&mut scenario, ms(2));
        let slow = |at, factor| event_of(at, 0, part, Action::Slow { factor });
        let events = vec![slow(2000, factor), slow(4000, 1.0)];
        let truth = run(&with(scenario, events, recovery())).unwrap();
        let more = mean_ms(&truth, "degraded") - mean_ms(&truth, "before");
        let wire = wire_bytes(Bytes::kib(512) + MESSAGE_HEADER) + wire_bytes(MESSAGE_HEADER);
        let link = Rate::bits_per_s(1_000_000_000).time_for(wire).as_secs_f64() * 1e3;
        let wanted = if part == Part::Link { 9.0 * link } else { 10.0 };
        // the request in progress when the slow time begins is slow only in part
        assert!((more / wanted - 1.0).abs() < 0.03, "{part:?}: {more} ms, {wanted} ms");
    }
}

#[test]
fn an_osd_that_is_cut_off_lacks_what_was_written_meanwhile() {
    let scenario = small(5, 1, 3, 0.5, 4);
    let cut = event_of(1000, 1, Part::Link, Action::Fail { keeps: true });
    let back = event_of(3000, 1, Part::Link, Action::Return);
    let truth = run(&with(scenario.clone(), vec![cut.clone(), back], recovery())).unwrap();
    let found = outages(&truth);
    assert_eq!(
        (found.recoveries[0].kind, found.recoveries[0].host.as_str()),
        ("catch-up", "brick1")
    );
    assert!(found.recoveries.iter().all(|one| one.ended_s.is_some()), "{found:?}");
    assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
    assert_eq!(found.phases.last().unwrap().phase, "after");
    // a host that stays away is out, and none of its data are lost
    let recovery = Recovery { out_after: ms(500), backfills: 8, ..recovery() };
    let truth = run(&with(scenario, vec![cut], recovery)).unwrap();
    let found = outages(&truth);
    assert!(found.recoveries.iter().any(|one| one.kind == "rebuild"), "{found:?}");
    assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
}

#[test]
fn the_map_gives_an_osd_as_much_as_its_weight_says() {
    let mut scenario = small(6, 1, 2, 0.5, 2);
    set_ceph(&mut scenario, |ceph| ceph.placement_groups_per_osd = 128);
    scenario.payload = Payload::Real;
    scenario.duration = Some(SimSpan::from_secs(20));
    scenario.volumes[0].size = Bytes::mib(24);
    let recovery = Recovery { backfills: 8, ..recovery() };
    let moved = |weights: &[(u64, u32)]| {
        let mut scenario = with(scenario.clone(), Vec::new(), recovery);
        for (at, weight) in weights {
            reweights(&mut scenario, *at, 1, *weight);
        }
        let truth = run(&scenario).unwrap();
        let found = outages(&truth).clone();
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
        assert_eq!(found.phases.last().unwrap().phase, "after");
        assert_eq!(found.happened[0].host, "osd.brick1.disk0.reweight");
        let named = |one: &foretell_sim::truth::RecoveryTruth| {
            assert_eq!((one.kind, one.host.as_str()), ("rebalance", "brick1.disk0"));
            assert!(one.ended_s.is_some(), "{one:?}");
            one.objects
        };
        found.recoveries.iter().map(named).collect::<Vec<u64>>()
    };
    let drained = event_of(1000, 1, Part::Disk(0), Action::Drain);
    let drained = run(&with(scenario.clone(), vec![drained], recovery)).unwrap();
    // a weight of zero moves as much as draining does
    let all = moved(&[(1000, 0)]);
    assert_eq!(all, [outages(&drained).recoveries[0].objects]);
    // half the weight moves half, of 128 objects or so, and back
    let half = moved(&[(1000, 0x8000)]);
    let share = half[0] as f64 / all[0] as f64;
    assert!((0.35..0.65).contains(&share), "{half:?} of {all:?}");
    let back = moved(&[(1000, 0x8000), (10_000, 0x1_0000)]);
    assert_eq!(back, [half[0], half[0]]);
}

#[test]
fn a_disk_fails_alone() {
    let mut scenario = small(4, 1, 3, 0.5, 4);
    for host in &mut scenario.hosts {
        if let Role::Node(storage) = &mut host.role {
            storage.disks.push(storage.disks[0].clone());
        }
    }
    let one = |host: u32, part: Part| {
        let recovery = Recovery { out_after: ms(500), backfills: 8, ..recovery() };
        let event = Event { part, ..fails(1000, host, false) };
        let truth = run(&with(scenario.clone(), vec![event], recovery)).unwrap();
        let found = outages(&truth).clone();
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
        found.recoveries[0].clone()
    };
    let (disk, host) = (one(1, Part::Disk(1)), one(1, Part::Whole));
    assert_eq!((disk.host.as_str(), host.host.as_str()), ("brick1.disk1", "brick1"));
    let share = disk.objects as f64 / host.objects as f64;
    assert!((0.3..0.7).contains(&share), "{} of {}", disk.objects, host.objects);
}
