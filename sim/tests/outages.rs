//! Tests of hosts that fail and return: no data are lost unnecessarily, and recoveries take the time that they must.

use crate::common;

use std::fmt::Write as _;

use common::outages::{
    assert_as_without_events, draw_failures, draw_parts, event, event_of, fails, in_words, mean_ms,
    ms, nothing_is_lost, outages, recovery, returns, set_steady_disks, set_working_set, sets, with,
};
use common::{cluster_with, run, ssio};
use foretell_algorithms::codec::Encoding;
use foretell_algorithms::message::{MESSAGE_HEADER, wire_bytes};
use foretell_scenarios::model::{
    Arrivals, Cipher, Hedge, Payload, Placement, ReadFrom, Scenario, Switch, Think, Volume,
};
use foretell_scenarios::outages::{Action, Event, Part, Recovery, SettingChange};
use foretell_sim::truth::{PhaseTruth, Truth};
use foretell_units::{Bytes, Rate, Seed, SimSpan, Stream, VolumeId};

/// A small volume m-of-n that receives a client's requests.
fn small(nodes: u32, m: u8, n: u8, reads: f64, outstanding: u32) -> Scenario {
    let encoding = Encoding::new(u32::from(m), u32::from(n)).unwrap();
    small_with(nodes, encoding, reads, outstanding)
}

/// The same with any encoding.
fn small_with(nodes: u32, encoding: Encoding, reads: f64, outstanding: u32) -> Scenario {
    let mut scenario = cluster_with(nodes, 1, encoding);
    scenario.warmup = ms(500);
    scenario.duration = Some(SimSpan::from_secs(6));
    let volume = &mut scenario.volumes[0];
    (volume.size, volume.group) = (Bytes::mib(4), Bytes::kib(64));
    ssio(&mut scenario, 0, reads, outstanding);
    set_working_set(&mut scenario, Bytes::mib(1), Bytes::kib(8));
    scenario
}

/// A random schedule of events: its scenario, a description, and whether all data must survive it.
fn drawn(seed: u64) -> (Scenario, String) {
    let mut stream: Stream = Seed(seed).stream("schedule");
    let codes = ["1-of-2", "1-of-3", "2-of-3", "2-of-4", "3-of-5", "lrc(4,2,1)", "lrc(2,2,1)"];
    let encoding: Encoding = codes[stream.below(7) as usize].parse().unwrap();
    let (n, tolerates) = (encoding.n() as u8, encoding.tolerates() as u8);
    let nodes = u32::from(n) + stream.below(3) as u32;
    let mut scenario = small_with(nodes, encoding, 0.5, 1);
    scenario.seed = Seed(seed);
    scenario.payload = Payload::Real;
    scenario.duration = Some(ms(2000));
    let outstanding = 1 + stream.below(6) as u32;
    scenario.workloads[0].arrivals = Arrivals::Closed { outstanding, think: Think::Fixed(ms(4)) };
    let volume = &mut scenario.volumes[0];
    let least = n - tolerates;
    volume.write_quorum = least + stream.below(u64::from(tolerates) + 1) as u8;
    volume.min_write = least;
    if stream.below(2) == 0 {
        volume.cipher = Cipher::Aes128Cbc;
    }
    if stream.below(2) == 0 {
        volume.read_from = ReadFrom::Random;
    }
    if stream.below(2) == 0 {
        volume.placement = Placement::Hash;
    }
    let mut hedging: Stream = Seed(seed).stream("hedge");
    let delays =
        [None, None, Some(Hedge::After(ms(1 + hedging.below(20)))), Some(Hedge::Quantile(500))];
    volume.hedge = delays[hedging.below(4) as usize];
    let (quorum, cipher, hedge) = (volume.write_quorum, volume.cipher, volume.hedge);
    let each = [Bytes(1536), Bytes::kib(8), Bytes::kib(24), Bytes::kib(100)];
    let each = each[stream.below(4) as usize];
    set_working_set(&mut scenario, Bytes::mib(1), each);
    let mut recovery = recovery();
    recovery.out_after = ms([100, 500, 100_000][stream.below(3) as usize]);
    recovery.parallel = 1 + stream.below(4) as u32;
    // as many nodes as the code tolerates, each any number of times
    let victims = 1 + stream.below(u64::from(tolerates)) as u32;
    let (first, mut events) = draw_failures(&mut stream, nodes, victims);
    let (join, leave) = draw_members(seed, (first + victims) % nodes, nodes - u32::from(n));
    draw_parts(seed, nodes, &mut events);
    events.extend(join.clone().into_iter().chain(leave));
    events.sort_by_key(|event| event.at);
    let encodings: Vec<Encoding> = codes.iter().map(|code| code.parse().unwrap()).collect();
    let mut scenario = with(scenario, events, recovery);
    let changes = draw_settings(seed, &mut scenario, victims, join.is_some(), &encodings);
    let events = &scenario.outages.as_ref().unwrap().events;
    let text = format!(
        "seed {seed}: {encoding} on {nodes}, quorum {quorum}, {cipher:?}, {hedge:?}, {each}, \
         {recovery:?}{}{changes}",
        in_words(events)
    );
    (scenario, text)
}

/// The volume changes its encoding once or twice, to one that tolerates at least as many failures; its conversion may
/// be throttled.
fn draw_settings(
    seed: u64,
    scenario: &mut Scenario,
    victims: u32,
    joins: bool,
    encodings: &[Encoding],
) -> String {
    let mut stream: Stream = Seed(seed).stream("settings");
    let mut now = scenario.volumes[0].clone();
    // nodes that join, leave or fail are not available when it changes
    let there = now.nodes.len() - usize::from(joins);
    let mut settings = Vec::new();
    let mut text = String::new();
    let tolerates = |encoding: &Encoding| encoding.tolerates() as u32 >= victims;
    let fit: Vec<Encoding> =
        encodings.iter().copied().filter(|one| one.n() < there && tolerates(one)).collect();
    let count = if fit.is_empty() { 0 } else { stream.below(3) };
    for _ in 0..count {
        now.encoding = fit[stream.below(fit.len() as u64) as usize];
        if stream.below(3) == 0 {
            now.cipher = [Cipher::None, Cipher::Aes128Cbc][stream.below(2) as usize];
            now.placement = [Placement::Rotate, Placement::Hash][stream.below(2) as usize];
        }
        let n = now.encoding.n() as u8;
        now.min_write = n - now.encoding.tolerates() as u8;
        now.write_quorum = now.min_write + stream.below(u64::from(n - now.min_write) + 1) as u8;
        let at = 50 + stream.below(1200);
        let _ = write!(text, "\n  {at} ms {} {:?}", now.encoding, now.cipher);
        let (volume, now) = (VolumeId(0), Box::new(now.clone()));
        settings.push((at, SettingChange::Volume { volume, now }));
    }
    if stream.below(4) == 0 {
        let parallel = 1 + stream.below(8) as u32;
        let now = Recovery { parallel, ..scenario.outages.as_ref().unwrap().recovery };
        settings.push((50 + stream.below(1200), SettingChange::Recovery(now)));
    }
    settings.sort_by_key(|(at, _)| *at);
    sets(scenario, settings);
    text
}

/// Another host joins or leaves, or one does after the other, if there are more hosts than needed.
fn draw_members(seed: u64, host: u32, spare: u32) -> (Option<Event>, Option<Event>) {
    let mut stream: Stream = Seed(seed).stream("members");
    let mut at = || 50 + stream.below(1300);
    let joins = event(at(), host, Action::Add);
    let leaves = event(at(), host, Action::Drain);
    let after = joins.at < leaves.at;
    match (spare, seed % 4) {
        (0, _) | (_, 0) => (None, None),
        (_, 1) => (Some(joins), None),
        (_, 2) => (None, Some(leaves)),
        _ => (after.then_some(joins), Some(leaves)),
    }
}

#[test]
fn what_was_written_last_is_read_whatever_fails_within_the_codes_tolerance() {
    nothing_is_lost(&[], drawn);
}

/// Nodes that join and leave, and settings that change, without failures and without redundancy. If a node lacks the
/// data that it is asked for, no other node can answer, and clients do not ask again.
fn drawn_without_failures(seed: u64) -> (Scenario, String) {
    let mut stream: Stream = Seed(seed).stream("moves");
    let codes = ["1-of-1", "2-of-2", "1-of-2", "2-of-3"];
    let encodings: Vec<Encoding> = codes.iter().map(|code| code.parse().unwrap()).collect();
    let encoding = encodings[stream.below(4) as usize];
    let nodes = encoding.n() as u32 + 2 + stream.below(3) as u32;
    let outstanding = 1 + stream.below(8) as u32;
    let mut scenario = small_with(nodes, encoding, 0.5, outstanding);
    scenario.seed = Seed(seed);
    scenario.payload = Payload::Real;
    scenario.duration = Some(ms(3500));
    let think = Think::Fixed(ms([0, 4][stream.below(2) as usize]));
    scenario.workloads[0].arrivals = Arrivals::Closed { outstanding, think };
    if stream.below(2) == 0 {
        scenario.volumes[0].placement = Placement::Hash;
    }
    let each = [Bytes(1536), Bytes::kib(8), Bytes::kib(24), Bytes::kib(100)];
    let each = each[stream.below(4) as usize];
    set_working_set(&mut scenario, Bytes::mib(1), each);
    let mut recovery = Recovery { timeout: SimSpan::from_secs(20), ..recovery() };
    recovery.parallel = 1 + stream.below(4) as u32;
    let mut at = || 50 + stream.below(1300);
    let joins = event(at(), seed as u32 % nodes, Action::Add);
    let leaves = event(at(), (seed as u32 + 1) % nodes, Action::Drain);
    let mut events = match seed % 4 {
        0 => vec![joins],
        1 => vec![leaves],
        2 => vec![joins, leaves],
        _ => vec![],
    };
    events.sort_by_key(|event| event.at);
    let mut scenario = with(scenario, events, recovery);
    let changes = draw_settings(seed, &mut scenario, 0, seed.is_multiple_of(2), &encodings);
    let events = &scenario.outages.as_ref().unwrap().events;
    let text = format!(
        "seed {seed}: {encoding} on {nodes}, {outstanding} x {each}, {recovery:?}{}{changes}",
        in_words(events)
    );
    (scenario, text)
}

#[test]
fn what_was_written_last_is_read_while_everything_moves() {
    // 1913: a write that spans two groups was complete in one of them, and the fragment that the new holder lacked was
    // rebuilt from the version before
    nothing_is_lost(&[1913], drawn_without_failures);
}

#[test]
fn beyond_tolerance_loss_is_reported() {
    for seed in 0..20 {
        let (mut scenario, text) = drawn(seed);
        let volume = &scenario.volumes[0];
        let (encoding, nodes) = (volume.encoding, volume.nodes.len() as u32);
        // all fail at the same time, more than the code tolerates: some block has lost them all. A code with groups
        // survives some losses beyond that, but not the loss of all parities and one more
        let lost = (encoding.n() - encoding.m()) as u32;
        let first = seed as u32 % nodes;
        let lost = (0..=lost).map(|more| (first + more) % nodes);
        let recovery = Recovery { give_up: ms(500), ..recovery() };
        let events = lost.map(|host| fails(1000, host, false)).collect();
        scenario = with(scenario, events, recovery);
        let truth = run(&scenario).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let found = outages(&truth);
        assert!(found.failed_requests > 0, "{text}");
        let size = scenario.volumes[0].size.get();
        assert!(found.bytes_lost > 0 && found.bytes_lost <= size, "{text}");
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
fn until_the_first_event_a_run_is_as_without() {
    assert_as_without_events(small(5, 2, 3, 0.6, 4));
}

#[test]
fn the_same_seed_gives_the_same_failures() {
    for seed in [3, 8] {
        let (scenario, text) = drawn(seed);
        let again = || format!("{:?}", run(&scenario).unwrap());
        assert_eq!(again(), again(), "{text}");
    }
}

#[test]
fn phases_add_up_to_the_run() {
    let scenario = small(5, 2, 3, 0.6, 4);
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
    // each phase lasts from its beginning to that of the next
    let happened: Vec<_> = found.happened.iter().map(|one| (one.at_s, one.what)).collect();
    assert_eq!(happened, [(1.0, "fail"), (3.0, "return")]);
    for (place, phase) in found.phases.iter().enumerate() {
        let change = &found.phase_changes[place];
        let next = found.phase_changes.get(place + 1).map_or(6.0, |next| next.at_s);
        assert_eq!(change.phase, phase.phase);
        assert!((next - change.at_s - phase.seconds).abs() < 1e-9, "{:?}", found.phase_changes);
    }
    assert_eq!(found.phase_changes.len(), 4);
}

/// Nodes that rebuild the data of brick0 in an otherwise idle cluster: (slowest link's bytes, the recovery).
fn rebuilt_alone(nodes: u32, m: u8, n: u8, change: impl Fn(&mut Scenario, &mut Recovery)) -> Truth {
    rebuilt_alone_with(nodes, Encoding::new(u32::from(m), u32::from(n)).unwrap(), change)
}

fn rebuilt_alone_with(
    nodes: u32,
    encoding: Encoding,
    change: impl Fn(&mut Scenario, &mut Recovery),
) -> Truth {
    let mut scenario = cluster_with(nodes, 1, encoding);
    (scenario.warmup, scenario.switch) = (ms(0), Switch::QUEUE);
    scenario.duration = Some(SimSpan::from_secs(60));
    scenario.volumes[0].size = Bytes::mib(8 * u64::from(nodes));
    for host in &mut scenario.hosts {
        host.nic.rate = Rate::bits_per_s(20_000_000);
    }
    // a group takes up to 0.4 s on a link, and 16 groups wait for it
    let timeout = SimSpan::from_secs(30);
    let mut recovery = Recovery { out_after: ms(500), parallel: 16, timeout, ..recovery() };
    change(&mut scenario, &mut recovery);
    run(&with(scenario, vec![fails(1000, 0, false)], recovery)).unwrap()
}

#[test]
fn closed_form_rebuild_time_is_bytes_by_the_slowest_rate() {
    // under rotation over n + 1 nodes each of the others receives the same amount: 8 n groups in total
    for (m, n) in [(1, 2), (2, 3), (3, 5)] {
        let truth = rebuilt_alone(u32::from(n) + 1, m, n, |_, _| {});
        let [one] = outages(&truth).recoveries.as_slice() else { panic!("{m}-of-{n}") };
        assert_eq!(
            (one.kind, one.host.as_str(), one.objects),
            ("rebuild", "brick0", 8 * u64::from(n))
        );
        // a group is 128 blocks of 8 KiB; a fragment of 8192 / 3 B is 2731 B, which take 6 sectors
        let (fragment, stored) = match m {
            1 => (8192, 8192),
            2 => (4096, 4096),
            _ => (2731, 3072),
        };
        let lost = 8 * u64::from(n) * 128;
        assert_eq!(one.bytes_written, lost * stored, "{m}-of-{n}");
        assert_eq!(one.bytes_read, u64::from(m) * lost * stored, "{m}-of-{n}");
        assert_eq!(one.bytes_sent, u64::from(m) * lost * fragment, "{m}-of-{n}");
        // each of n links receives 8 m messages with a fragment of a group
        let message = wire_bytes(Bytes(128 * fragment) + MESSAGE_HEADER);
        let expected = Rate::bits_per_s(20_000_000).time_for(message * (8 * u64::from(m)));
        let (expected, took) = (expected.as_secs_f64(), one.ended_s.unwrap() - one.began_s);
        assert!((took / expected - 1.0).abs() < 0.03, "{m}-of-{n}: {took} s, {expected} s");
        assert_eq!((outages(&truth).bytes_lost, outages(&truth).failed_requests), (0, 0));
        assert_eq!(outages(&truth).phases.last().unwrap().phase, "after");
    }
}

#[test]
fn closed_form_a_local_code_rebuilds_from_the_group() {
    // 8 nodes, 7 fragments: each of the 7 fragments of a group was the lost node's in 8 of its 56 groups
    let encoding: Encoding = "lrc(4,2,1)".parse().unwrap();
    let truth = rebuilt_alone_with(8, encoding, |_, _| {});
    let [one] = outages(&truth).recoveries.as_slice() else { panic!("one recovery") };
    assert_eq!((one.kind, one.objects), ("rebuild", 56));
    let fragment = 128 * 2048;
    assert_eq!(one.bytes_written, 56 * fragment);
    // data fragments and local parities are rebuilt from two others of their local group, the global parity from four
    let read = 8 * (6 * 2 + 4) * fragment;
    assert_eq!((one.bytes_read, one.bytes_sent), (read, read));
    assert_eq!((outages(&truth).bytes_lost, outages(&truth).failed_requests), (0, 0));
}

#[test]
fn a_lost_group_is_decoded_from_the_global_parity() {
    // fragments 0 and 1 of the first local group are lost at the same time: the local group is not enough
    let encoding: Encoding = "lrc(4,2,1)".parse().unwrap();
    let mut scenario = small_with(7, encoding, 1.0, 2);
    scenario.payload = Payload::Real;
    let recovery = Recovery { out_after: SimSpan::from_secs(100), ..recovery() };
    let events = vec![fails(1000, 0, true), fails(1000, 1, true)];
    let truth = run(&with(scenario, events, recovery)).unwrap();
    let found = outages(&truth);
    assert_eq!((found.bytes_lost, found.failed_requests), (0, 0));
    let degraded = found.phases.iter().find(|phase| phase.phase == "degraded").unwrap();
    assert!(degraded.workloads["load0"].requests > 20);
}

#[test]
fn closed_form_pauses_throttle_a_rebuild() {
    let truth = rebuilt_alone(4, 2, 3, |scenario, recovery| {
        for host in &mut scenario.hosts {
            host.nic.rate = Rate::bits_per_s(10_000_000_000);
        }
        (recovery.parallel, recovery.pause) = (1, SimSpan::from_secs(2));
    });
    let one = &outages(&truth).recoveries[0];
    // three nodes rebuild 8 fragments each, with 7 pauses in between
    let took = one.ended_s.unwrap() - one.began_s;
    assert!((14.0..14.0 * 1.03).contains(&took), "{took} s");
}

/// One client that reads `each` from one node, from a disk that takes 2 ms; a part of the node is slow from 2 s to 4
/// s.
fn slow_for_2_s(each: Bytes, part: Part, factor: f64) -> Truth {
    let mut scenario = small(1, 1, 1, 1.0, 1);
    scenario.switch = Switch::QUEUE;
    scenario.volumes[0].size = Bytes::gib(1);
    set_working_set(&mut scenario, Bytes::gib(1), each);
    set_steady_disks(&mut scenario, ms(2));
    let slow = |at, factor| event_of(at, 0, part, Action::Slow { factor });
    let recovery = Recovery { timeout: SimSpan::from_secs(20), ..recovery() };
    run(&with(scenario, vec![slow(2000, factor), slow(4000, 1.0)], recovery)).unwrap()
}

#[test]
fn closed_form_a_slow_disk_takes_factor_times_as_long() {
    let truth = slow_for_2_s(Bytes::kib(32), Part::Disk(0), 6.0);
    let found = outages(&truth);
    let names: Vec<&str> = found.phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(names, ["before", "degraded", "after"]);
    // 10 ms more on the disk, and no other difference
    let more = mean_ms(&truth, "degraded") - mean_ms(&truth, "before");
    assert!((more / 10.0 - 1.0).abs() < 0.02, "{more} ms");
    let after = mean_ms(&truth, "after") - mean_ms(&truth, "before");
    assert!(after.abs() < 0.5, "{after} ms");
    let happened: Vec<_> =
        found.happened.iter().map(|one| (one.at_s, one.what, one.host.as_str())).collect();
    let disk = "brick0.disk0";
    assert_eq!(happened, [(2.0, "slow", disk), (4.0, "slow-ends", disk)]);
    assert_eq!((found.failed_requests, found.recoveries.len()), (0, 0));
}

#[test]
fn closed_form_a_slow_link_takes_factor_times_as_long() {
    let truth = slow_for_2_s(Bytes::kib(512), Part::Link, 10.0);
    // an answer of 512 KiB and its header at 1 Gbit/s, and nine times as much more; a request with only a header
    let wire = wire_bytes(Bytes::kib(512) + MESSAGE_HEADER) + wire_bytes(MESSAGE_HEADER);
    let nine = 9.0 * Rate::bits_per_s(1_000_000_000).time_for(wire).as_secs_f64() * 1e3;
    let more = mean_ms(&truth, "degraded") - mean_ms(&truth, "before");
    assert!((more / nine - 1.0).abs() < 0.02, "{more} ms, {nine} ms");
    let after = mean_ms(&truth, "after") - mean_ms(&truth, "before");
    assert!(after.abs() < 0.5, "{after} ms");
    assert_eq!(outages(&truth).happened[0].host, "brick0.link");
}

#[test]
fn a_host_that_is_cut_off_catches_up_as_one_that_returns() {
    let scenario = small(5, 2, 3, 0.5, 4);
    let of = |part: Part| {
        let event = |at, action| event_of(at, 1, part, action);
        let events = vec![event(1000, Action::Fail { keeps: true }), event(3000, Action::Return)];
        run(&with(scenario.clone(), events, recovery())).unwrap()
    };
    let (cut, failed) = (of(Part::Link), of(Part::Whole));
    for truth in [&cut, &failed] {
        let found = outages(truth);
        let [one] = found.recoveries.as_slice() else { panic!("{found:?}") };
        assert_eq!((one.kind, one.host.as_str()), ("catch-up", "brick1"));
        assert!(one.ended_s.is_some() && one.began_s >= 3.0, "{one:?}");
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
        // the others continue meanwhile
        let degraded = found.phases.iter().find(|phase| phase.phase == "degraded").unwrap();
        assert!(degraded.workloads["load0"].requests > 100, "{degraded:?}");
    }
    let names =
        |truth: &Truth| outages(truth).happened.iter().map(|one| one.host.clone()).collect();
    let (cut, failed): (Vec<String>, Vec<String>) = (names(&cut), names(&failed));
    assert_eq!((cut[0].as_str(), failed[0].as_str()), ("brick1.link", "brick1"));
}

#[test]
fn what_a_host_holds_that_stays_cut_off_is_rebuilt_and_not_lost() {
    // all copies at once: if hosts failed, the volume would be lost
    let scenario = small(3, 1, 3, 0.5, 4);
    let cut = |host| event_of(2000, host, Part::Link, Action::Fail { keeps: true });
    let few = Recovery { give_up: SimSpan::from_secs(1), ..recovery() };
    let truth = run(&with(scenario, (0..3).map(cut).collect(), few)).unwrap();
    assert_eq!(outages(&truth).bytes_lost, 0);
    assert!(outages(&truth).failed_requests >= 8);
    // one of four hosts is out after a while
    let scenario = small(4, 1, 2, 0.5, 4);
    let recovery = Recovery { out_after: ms(500), ..recovery() };
    let truth = run(&with(scenario, vec![cut(1)], recovery)).unwrap();
    let found = outages(&truth);
    assert_eq!(
        (found.recoveries[0].kind, found.recoveries[0].host.as_str()),
        ("rebuild", "brick1")
    );
    assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
    assert_eq!(found.phases.last().unwrap().phase, "after");
}

/// Volume 0 of a scenario is converted at 1 s.
fn converts(scenario: Scenario, change: impl Fn(&mut Volume), recovery: Recovery) -> Scenario {
    let mut now = Box::new(scenario.volumes[0].clone());
    change(&mut now);
    let mut scenario = with(scenario, Vec::new(), recovery);
    sets(&mut scenario, vec![(1000, SettingChange::Volume { volume: VolumeId(0), now })]);
    scenario
}

fn encode_as(volume: &mut Volume, code: &str) {
    volume.encoding = code.parse().unwrap();
    let n = volume.encoding.n() as u8;
    (volume.write_quorum, volume.min_write) = (n, n - volume.encoding.tolerates() as u8);
}

#[test]
fn a_volume_is_encoded_otherwise_while_clients_go_on() {
    for (before, after) in [((1, 2), "3-of-5"), ((3, 5), "1-of-3"), ((2, 3), "lrc(2,2,1)")] {
        let mut scenario = small(6, before.0, before.1, 0.5, 4);
        scenario.payload = Payload::Real;
        scenario.duration = Some(SimSpan::from_secs(12));
        // requests that begin and end within blocks, and in the next group
        set_working_set(&mut scenario, Bytes::mib(4), Bytes(20_000));
        let scenario = converts(scenario, |volume| encode_as(volume, after), recovery());
        let truth = run(&scenario).unwrap();
        let found = outages(&truth);
        let [one] = found.recoveries.as_slice() else { panic!("{after}: {found:?}") };
        assert_eq!((one.kind, one.host.as_str(), one.objects), ("convert", "volume.mail", 64));
        assert!(one.ended_s.is_some(), "{after}: {one:?}");
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
        assert_eq!(found.happened[0].what, "set");
        // afterwards it behaves like a cluster with that encoding from the beginning
        let encoding: Encoding = after.parse().unwrap();
        let fragment = encoding.fragment_len(Bytes::kib(8)).get();
        let stored = if encoding.is_replication() { 8192 } else { fragment.next_multiple_of(512) };
        let blocks = Bytes::mib(4).get() / 8192;
        assert_eq!(one.bytes_written, blocks * stored * encoding.n() as u64);
        assert!(found.timeline[11].requests > 20, "{found:?}");
        let names: Vec<&str> = found.phases.iter().map(|phase| phase.phase).collect();
        assert_eq!(names, ["before", "recovering", "after"]);
    }
}

#[test]
fn closed_form_a_conversion_takes_the_bytes_by_the_slowest_rate() {
    // all data move from three nodes to three others. These read all of it and pass two thirds on
    let mut scenario = cluster_with(6, 1, Encoding::new(1, 1).unwrap());
    (scenario.warmup, scenario.switch) = (ms(0), Switch::QUEUE);
    scenario.duration = Some(SimSpan::from_secs(200));
    scenario.volumes[0].size = Bytes::mib(96);
    for host in &mut scenario.hosts {
        host.nic.rate = Rate::bits_per_s(20_000_000);
    }
    let all = scenario.volumes[0].nodes.clone();
    scenario.volumes[0].nodes.truncate(3);
    let timeout = SimSpan::from_secs(30);
    let change = |volume: &mut Volume| {
        volume.nodes = all[3..].to_vec();
        encode_as(volume, "2-of-3");
    };
    let scenario = converts(scenario, change, Recovery { timeout, ..recovery() });
    let truth = run(&scenario).unwrap();
    let found = outages(&truth);
    let [one] = found.recoveries.as_slice() else { panic!("{found:?}") };
    let mib = Bytes::mib(1).get();
    assert_eq!((one.objects, one.bytes_read, one.bytes_written), (96, 96 * mib, 96 * 3 * mib / 2));
    // one fragment of each group belongs to the converting node itself
    assert_eq!(one.bytes_sent, 96 * mib + 96 * mib);
    // each of the new nodes receives 32 MiB of groups, and two halves of the others' groups
    let group = wire_bytes(Bytes::mib(1) + MESSAGE_HEADER).get();
    let fragment = wire_bytes(Bytes::kib(512) + MESSAGE_HEADER).get();
    let at_least = (32 * group + 64 * fragment) as f64 * 8.0 / 20e6;
    let took = one.ended_s.unwrap() - one.began_s;
    assert!((1.0..1.03).contains(&(took / at_least)), "{took} s, {at_least} s");
}

#[test]
fn a_throttle_that_changes_is_kept_to_from_then_on() {
    let encoding = Encoding::new(1, 1).unwrap();
    let mut scenario = cluster_with(3, 1, encoding);
    (scenario.warmup, scenario.switch) = (ms(0), Switch::QUEUE);
    scenario.duration = Some(SimSpan::from_secs(60));
    scenario.volumes[0].size = Bytes::mib(60);
    let slow = Recovery { parallel: 1, pause: SimSpan::from_secs(2), ..recovery() };
    let mut scenario = with(scenario, vec![event(1000, 0, Action::Add)], slow);
    let now = Recovery { pause: ms(500), ..slow };
    sets(&mut scenario, vec![(21_000, SettingChange::Recovery(now))]);
    let truth = run(&scenario).unwrap();
    let [one] = outages(&truth).recoveries.as_slice() else { panic!("one recovery") };
    // 20 groups: ten in the first 20 s, the others half a second each, except for the pause in progress
    let took = one.ended_s.unwrap() - one.began_s;
    assert_eq!(one.objects, 20);
    assert!((24.0..26.5).contains(&took), "{took} s");
}

/// The effect of a node that joins or is drained on an idle cluster with links of 20 Mbit/s.
fn moved_alone(nodes: u32, m: u8, n: u8, event: Event) -> Truth {
    let encoding = Encoding::new(u32::from(m), u32::from(n)).unwrap();
    let mut scenario = cluster_with(nodes, 1, encoding);
    (scenario.warmup, scenario.switch) = (ms(0), Switch::QUEUE);
    scenario.duration = Some(SimSpan::from_secs(90));
    // 30 groups of 1 MiB for each of four nodes
    scenario.volumes[0].size = Bytes::mib(120);
    for host in &mut scenario.hosts {
        host.nic.rate = Rate::bits_per_s(20_000_000);
    }
    let timeout = SimSpan::from_secs(30);
    run(&with(scenario, vec![event], Recovery { timeout, ..recovery() })).unwrap()
}

#[test]
fn closed_form_a_move_takes_the_bytes_by_the_rate_of_one_link() {
    for ((m, n), fragment) in [((1, 2), 8192_u64), ((1, 3), 8192), ((2, 3), 4096), ((3, 5), 2731)] {
        let nodes = u32::from(n) + 2;
        // 120 groups of n fragments, over n + 1 nodes before or after
        let fair = 120 * u64::from(n) / u64::from(nodes);
        let held = 120 / u64::from(nodes) * u64::from(n);
        for (action, moved) in [(Action::Add, fair), (Action::Drain, held)] {
            let size = |by: u32| 120 % by == 0;
            if action == Action::Drain && !size(nodes) {
                continue;
            }
            let truth = moved_alone(nodes, m, n, event(1000, 1, action));
            let found = outages(&truth);
            let [one] = found.recoveries.as_slice() else { panic!("{m}-of-{n}: {found:?}") };
            assert_eq!((one.kind, one.host.as_str(), one.objects), ("rebalance", "brick1", moved));
            // a group has 128 blocks; 2731 bytes are stored as 6 sectors
            let stored = fragment.next_multiple_of(512);
            assert_eq!(
                (one.bytes_read, one.bytes_written),
                (moved * 128 * stored, moved * 128 * stored)
            );
            assert_eq!(one.bytes_sent, moved * 128 * fragment);
            let wire = wire_bytes(Bytes(128 * fragment) + MESSAGE_HEADER).get() * moved;
            let at_least = wire as f64 * 8.0 / 20e6;
            let took = one.ended_s.unwrap() - one.began_s;
            assert!((1.0..1.03).contains(&(took / at_least)), "{m}-of-{n}: {took} s, {at_least} s");
            let names: Vec<&str> = found.phases.iter().map(|phase| phase.phase).collect();
            assert_eq!(names, ["before", "recovering", "after"]);
        }
    }
}

#[test]
fn a_drained_node_is_not_missed_and_one_that_joined_serves() {
    let mut scenario = small(5, 2, 3, 0.7, 4);
    scenario.payload = Payload::Real;
    let events =
        vec![event(500, 0, Action::Add), event(1500, 1, Action::Drain), fails(4500, 1, false)];
    let recovery = Recovery { out_after: ms(100), ..recovery() };
    let truth = run(&with(scenario, events, recovery)).unwrap();
    let found = outages(&truth);
    assert_eq!((found.failed_requests, found.bytes_lost), (0, 0));
    let kinds: Vec<_> = found.recoveries.iter().map(|one| (one.kind, one.host.as_str())).collect();
    assert_eq!(kinds, [("rebalance", "brick0"), ("rebalance", "brick1")]);
    // 64 groups of three fragments: a fifth of them moves to the new node; then brick1 has the rest of its fourth
    assert_eq!(found.recoveries[0].objects, 64 * 3 / 5);
    let last = found.phase_changes.last().unwrap();
    assert!(last.phase == "after" && last.at_s < 4.5, "{:?}", found.phase_changes);
    // it got no further requests: no client waited for an answer
    let after = found.phases.iter().find(|phase| phase.phase == "after").unwrap();
    assert!(after.workloads["load0"].response_time_ms.max < 100.0);
    // a node that has joined serves its part
    let reads = |host: &str| truth.hosts[host]["cpu"].demand_ms_per_request;
    assert!(reads("brick0") > 0.5 * reads("brick2"), "{} {}", reads("brick0"), reads("brick2"));
}

#[test]
fn writes_that_never_end_do_not_keep_a_fragment_from_moving() {
    // 16 clients write to the same eight groups all the time
    let mut scenario = small(4, 2, 3, 0.0, 16);
    scenario.payload = Payload::Real;
    set_working_set(&mut scenario, Bytes::kib(512), Bytes::kib(8));
    let truth = run(&with(scenario, vec![event(500, 2, Action::Drain)], recovery())).unwrap();
    let found = outages(&truth);
    let [one] = found.recoveries.as_slice() else { panic!("{found:?}") };
    assert!(one.ended_s.is_some_and(|ended| ended < 5.0), "{one:?}");
    assert_eq!((one.objects, found.failed_requests), (48, 0));
    assert!(found.timeline[1].requests > 50, "{:?}", found.timeline);
}

#[test]
fn a_node_catches_up_with_what_it_has_missed_and_no_more() {
    let mut scenario = small(4, 2, 3, 0.0, 1);
    scenario.duration = Some(SimSpan::from_secs(8));
    // few writes, so that each block is written at most once while the node is down
    scenario.workloads[0].arrivals = Arrivals::Deterministic { rate_rps: 20.0 };
    let truth = run(&with(scenario, vec![fails(1000, 2, true), returns(4000, 2)], recovery()));
    let truth = truth.unwrap();
    let [one] = outages(&truth).recoveries.as_slice() else { panic!("one recovery") };
    assert_eq!((one.kind, one.host.as_str()), ("catch-up", "brick2"));
    // 60 writes of a block in 3 s: three in four have a fragment there, and some blocks are written twice
    let blocks = one.bytes_written / 4096;
    assert!((25..=50).contains(&blocks), "{blocks} blocks");
    assert_eq!((one.bytes_read, one.bytes_sent), (2 * one.bytes_written, 2 * one.bytes_written));
}

#[test]
fn degraded_reads_ask_as_many_nodes_and_decode() {
    // one block per read: a request to each of m nodes, and their answers
    for (m, n) in [(1, 3), (2, 3), (3, 5)] {
        let scenario = small(u32::from(n), m, n, 1.0, 4);
        let truth = run(&with(scenario.clone(), vec![fails(0, 0, true)], recovery())).unwrap();
        let messages = truth.network.messages_sent as f64;
        let reads = truth.requests_completed as f64;
        let asked = messages / reads / 2.0;
        assert!((asked / f64::from(m) - 1.0).abs() < 0.01, "{m}-of-{n}: {asked} nodes a read");
        assert_eq!(outages(&truth).failed_requests, 0);
        // in m of n groups brick0 has a data fragment; decoding these takes the client longer
        let healthy = run(&scenario).unwrap();
        let of = |truth: &Truth| truth.hosts["app0"]["cpu"].demand_ms_per_request;
        let more_ms = of(&truth) - of(&healthy);
        let decoding =
            if m > 1 { (2.0 + 8192.0 / 500.0) / 1e3 * f64::from(m) / f64::from(n) } else { 0.0 };
        assert!(
            (more_ms - decoding).abs() < 0.02 * decoding + 2e-4,
            "{m}-of-{n}: {more_ms} {decoding}"
        );
    }
}

#[test]
fn writes_wait_for_min_write_fragments() {
    for (min_write, goes_on) in [(2, true), (3, false)] {
        let mut scenario = small(3, 2, 3, 0.0, 2);
        scenario.volumes[0].min_write = min_write;
        let events = vec![fails(2000, 1, true), returns(4000, 1)];
        let truth = run(&with(scenario, events, recovery())).unwrap();
        let found = outages(&truth);
        let in_second = |second: usize| found.timeline[second].requests;
        assert_eq!(in_second(3) > 100, goes_on, "{min_write}: {:?}", found.timeline);
        assert!(in_second(5) > 100, "{min_write}: {:?}", found.timeline);
        assert_eq!(found.failed_requests, 0);
        assert_eq!(found.waiting_below_min_size, if goes_on { 0 } else { 2 });
    }
}

#[test]
fn a_host_that_is_back_is_asked_at_once() {
    // no other node has the data; it is down for less than `grace`, so it is never declared down
    for down in [50, 150, 350, 950, 1250, 3100] {
        let recovery = Recovery { grace: SimSpan::from_secs(5), ..recovery() };
        let events = vec![fails(1000, 0, true), returns(1000 + down, 0)];
        let truth = run(&with(small(1, 1, 1, 1.0, 2), events, recovery)).unwrap();
        let longest = truth.workloads["load0"].response_time_ms.max;
        assert!((longest - down as f64).abs() < 100.0, "{down} ms: {longest} ms");
        assert_eq!(outages(&truth).failed_requests, 0);
    }
}

#[test]
fn what_nobody_can_rebuild_stays_where_it_was() {
    let recovery = Recovery { out_after: SimSpan::ZERO, ..recovery() };
    for (nodes, m, n, victims) in [(3, 1, 1, 1), (4, 1, 2, 2), (5, 2, 3, 3)] {
        let events = (0..victims).flat_map(|host| {
            [fails(1000, host, true), returns(2500 + 100 * u64::from(host), host)]
        });
        let mut events: Vec<Event> = events.collect();
        events.sort_by_key(|event| event.at);
        let mut scenario = small(nodes, m, n, 0.7, 2);
        scenario.payload = Payload::Real;
        let truth = run(&with(scenario, events, recovery)).unwrap();
        let found = outages(&truth);
        let text = format!("{m}-of-{n} on {nodes}: {found:?}");
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0), "{text}");
        assert!(found.timeline[5].requests > 100, "{text}");
        assert!(found.phases.iter().any(|p| p.phase == "after" && p.seconds > 1.0), "{text}");
    }
}

#[test]
fn requests_that_wait_too_long_fail_and_are_counted() {
    let scenario = small(3, 2, 3, 1.0, 3);
    let recovery = Recovery { give_up: SimSpan::from_secs(1), ..recovery() };
    let events =
        vec![fails(2000, 0, true), fails(2000, 1, true), returns(4500, 0), returns(4500, 1)];
    let truth = run(&with(scenario, events, recovery)).unwrap();
    let found = outages(&truth);
    // three requests wait from 2 s on, then those after them: each of the three slots fails twice before the nodes return
    assert_eq!(found.failed_requests, 6, "{found:?}");
    assert_eq!(found.bytes_lost, 0);
    let issued = truth.requests_completed + found.failed_requests + truth.requests_in_flight;
    assert_eq!(truth.requests_issued, issued);
    assert!(found.timeline[5].requests > 100);
}

#[test]
fn a_slow_processor_takes_longer_and_nothing_else() {
    let mut scenario = small(1, 1, 1, 1.0, 1);
    // all data are cached: a read uses only processors and links
    set_working_set(&mut scenario, Bytes::kib(64), Bytes::kib(8));
    let events = vec![event(2000, 0, Action::Slow { factor: 50.0 })];
    let truth = run(&with(scenario, events, recovery())).unwrap();
    let [before, slow] = outages(&truth).phases.as_slice() else { panic!("two phases") };
    let p50 = |phase: &PhaseTruth| phase.workloads["load0"].response_time_ms.p50;
    // the node receives, handles and sends 5 + 10 + 5 us and copies: 8 KiB at 400 MB/s and 1 GB/s
    let per_read = 0.020 + 8192.0 / 400e3 + 8192.0 / 1e6;
    let more = p50(slow) - p50(before);
    assert!((more / (49.0 * per_read) - 1.0).abs() < 0.05, "{more} ms, {per_read} ms a read");
    assert_eq!(slow.phase, "degraded");
}

#[test]
fn requests_add_up_with_those_that_fail_in_the_warm_up() {
    // 40 requests wait for a disk that serves some hundred a second, and give up after 100 ms
    let mut scenario = small(1, 1, 1, 1.0, 40);
    set_working_set(&mut scenario, Bytes::mib(1), Bytes::kib(8));
    scenario.volumes[0].size = Bytes::gib(1);
    set_working_set(&mut scenario, Bytes::gib(1), Bytes::kib(8));
    let recovery = Recovery { timeout: ms(50), give_up: ms(100), ..recovery() };
    let truth = run(&with(scenario, vec![fails(5900, 0, true)], recovery)).unwrap();
    let found = outages(&truth);
    assert!(found.requests_failed > found.failed_requests, "{found:?}");
    let ended = truth.requests_completed + found.requests_failed + truth.requests_in_flight;
    assert_eq!(truth.requests_issued, ended);
}

#[test]
fn a_recovery_with_nothing_left_to_rebuild_from_is_not_under_way() {
    // the data of brick0 are being rebuilt on the others when one of these is lost too
    for (m, n, nodes) in [(1, 2, 3), (2, 3, 5)] {
        for (timeout, parallel, pause) in [(100, 1, 50), (2000, 4, 0), (2000, 1, 20)] {
            let mut scenario = small(nodes, m, n, 0.3, 4);
            scenario.duration = Some(SimSpan::from_secs(12));
            scenario.volumes[0].size = Bytes::mib(32);
            let events = vec![fails(1000, 0, false), fails(1400, 1, false)];
            let (timeout, pause) = (ms(timeout), ms(pause));
            let out_after = SimSpan::ZERO;
            let recovery = Recovery { out_after, parallel, pause, timeout, ..recovery() };
            let truth = run(&with(scenario, events, recovery)).unwrap();
            let found = outages(&truth);
            let text = format!("{m}-of-{n} {timeout} {parallel} {pause}: {:?}", found.recoveries);
            let last: Vec<u64> = found.timeline.iter().map(|one| one.recovered_bytes).collect();
            let idle = last.iter().rev().take_while(|bytes| **bytes == 0).count();
            let phase = found.phases.iter().find(|phase| phase.phase == "recovering");
            let lasted = phase.map_or(0.0, |phase| phase.seconds);
            assert!(lasted < 12.5 - idle as f64, "{text}: {lasted} s, idle for {idle} s");
        }
    }
}
