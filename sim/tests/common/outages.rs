//! Common parts of the tests of failures.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use foretell_scenarios::device::{Curve, Curves, Device, Order};
use foretell_scenarios::model::{Role, Scenario, WorkloadKind};
use foretell_scenarios::outages::{
    Action, Event, Outages, Part, Recovery, Setting, SettingChange, SwiftRecovery,
};
use foretell_sim::truth::{OutageTruth, Truth};
use foretell_units::{Bytes, HostId, Op, Seed, SimSpan, Stream};

use super::run;

pub(crate) fn ms(ms: u64) -> SimSpan {
    SimSpan::from_ms(ms)
}

/// Settings with which failures are noticed fast.
pub(crate) fn recovery() -> Recovery {
    Recovery {
        heartbeat: ms(100),
        grace: ms(300),
        out_after: SimSpan::from_secs(1000),
        timeout: ms(100),
        give_up: SimSpan::from_secs(30),
        parallel: 4,
        pause: SimSpan::ZERO,
        backfills: 1,
        swift: SwiftRecovery::USUAL,
    }
}

/// Adds changes of settings, with their times in ms.
pub(crate) fn sets(scenario: &mut Scenario, settings: Vec<(u64, SettingChange)>) {
    let outages = scenario.outages.as_mut().expect("it has events");
    for (number, (at, change)) in (0..).zip(settings) {
        outages.events.push(event(at, 0, Action::Set { number }));
        let path = format!("setting{number}");
        outages.settings.push(Setting { path, at: ms(at), change });
    }
    outages.events.sort_by_key(|event| event.at);
}

/// Changes the weight of an OSD, the first disk of its host, to another part of what the map would give to it; 65,536
/// stands for all.
pub(crate) fn reweights(scenario: &mut Scenario, at: u64, host: u32, weight: u32) {
    let outages = scenario.outages.as_mut().expect("it has events");
    let number = outages.settings.len() as u32;
    outages.events.push(event_of(at, host, Part::Disk(0), Action::Set { number }));
    let (path, change) = (format!("osd.brick{host}.disk0.reweight"), SettingChange::Weight(weight));
    outages.settings.push(Setting { path, at: ms(at), change });
    outages.events.sort_by_key(|event| event.at);
}

/// `at`: ms.
pub(crate) fn event(at: u64, host: u32, action: Action) -> Event {
    Event { name: format!("e{at}"), at: ms(at), host: HostId(host), part: Part::Whole, action }
}

/// The same for a part of the host.
pub(crate) fn event_of(at: u64, host: u32, part: Part, action: Action) -> Event {
    Event { part, ..event(at, host, action) }
}

pub(crate) fn fails(at: u64, host: u32, keeps: bool) -> Event {
    event(at, host, Action::Fail { keeps })
}

pub(crate) fn returns(at: u64, host: u32) -> Event {
    event(at, host, Action::Return)
}

pub(crate) fn with(mut scenario: Scenario, events: Vec<Event>, recovery: Recovery) -> Scenario {
    scenario.outages = Some(Outages { events, recovery, settings: Vec::new() });
    scenario
}

pub(crate) fn outages(truth: &Truth) -> &OutageTruth {
    truth.outages.as_ref().expect("there are events")
}

/// Sets disks that take the time `each` for every operation, and caches with almost no hits.
pub(crate) fn set_steady_disks(scenario: &mut Scenario, each: SimSpan) {
    let curve = |op| Curve {
        order: Order::Random,
        op,
        reads: if op == Op::Read { 1.0 } else { 0.0 },
        block: Bytes::kib(4),
        points: vec![(1, each)],
    };
    let curves = [Op::Read, Op::Write].map(|op| Curve {
        // the same time for larger ones, up to 1 MiB
        points: vec![(1, each), (64, each)],
        ..curve(op)
    });
    let large = curves.clone().map(|curve| Curve { block: Bytes::mib(1), ..curve });
    let curves = curves.into_iter().chain(large).collect();
    let device = Device::Curves(Curves {
        capacity: Bytes::gib(200),
        queue_depth: 64,
        flush: SimSpan::ZERO,
        curves,
    });
    for host in &mut scenario.hosts {
        if let Role::Node(storage) = &mut host.role {
            storage.cache = super::cache(Bytes::kib(512));
            storage.cache.read_ahead = Bytes::ZERO;
            storage.disks[0].device = device.clone();
        }
    }
}

/// Mean response time of clients in a phase, ms.
pub(crate) fn mean_ms(truth: &Truth, phase: &str) -> f64 {
    let found = outages(truth).phases.iter().find(|found| found.phase == phase);
    let found = found.unwrap_or_else(|| panic!("no phase `{phase}`"));
    found.workloads["load0"].response_time_ms.mean
}

pub(crate) fn set_working_set(scenario: &mut Scenario, set: Bytes, each: Bytes) {
    for workload in &mut scenario.workloads {
        if let WorkloadKind::Ssio { access, working_set, .. } = &mut workload.kind {
            (*access, *working_set) = (each, set);
        }
    }
}

/// Draws failures and returns of `victims` hosts of a ring of `nodes`, and the first of these hosts. Each fails
/// several times, until it stays away or the time is over.
pub(crate) fn draw_failures(stream: &mut Stream, nodes: u32, victims: u32) -> (u32, Vec<Event>) {
    let first = stream.below(u64::from(nodes)) as u32;
    let mut events = Vec::new();
    for victim in 0..victims {
        let host = (first + victim) % nodes;
        let mut at = 100 + stream.below(800);
        loop {
            let lasts = 1 + [20, 150, 700][stream.below(3) as usize] * stream.below(100) / 50;
            let back = at + lasts;
            let stays_away = stream.below(4) == 0;
            events.push(fails(at, host, !stays_away));
            if stays_away {
                break;
            }
            events.push(returns(back, host));
            at = back + 1 + stream.below(900);
            if at > 1700 {
                break;
            }
        }
    }
    (first, events)
}

/// Changes some of the failures drawn, so that hosts are cut off instead of stopping and lose no data. And lets disks
/// and links of some of `nodes` hosts be slow for a while, up to four times as slow.
pub(crate) fn draw_parts(seed: u64, nodes: u32, events: &mut Vec<Event>) {
    let mut stream: Stream = Seed(seed).stream("parts");
    for host in 0..nodes {
        let is_cut_off = stream.below(3) == 0;
        for event in events.iter_mut().filter(|event| event.host.0 == host && is_cut_off) {
            if let Action::Fail { .. } = event.action {
                event.action = Action::Fail { keeps: true };
            }
            if matches!(event.action, Action::Fail { .. } | Action::Return) {
                event.part = Part::Link;
            }
        }
        for part in [Part::Disk(0), Part::Link] {
            if stream.below(4) == 0 {
                let (at, lasts) = (50 + stream.below(1200), 1 + stream.below(500));
                let factor = 1.0 + (1 + stream.below(12)) as f64 / 4.0;
                events.push(event_of(at, host, part, Action::Slow { factor }));
                events.push(event_of(at + lasts, host, part, Action::Slow { factor: 1.0 }));
            }
        }
    }
    events.sort_by_key(|event| event.at);
}

/// Describes a drawn schedule in words.
pub(crate) fn in_words(events: &[Event]) -> String {
    let mut text = String::new();
    for Event { at, host, part, action, .. } in events {
        let host = part.of(&format!("brick{}", host.0));
        let _ = write!(text, "\n  {at} {host} {action:?}");
    }
    text
}

/// Runs drawn schedules: no data are lost, no request fails, each read returns the data written last, and no
/// outstanding request has waited for longer than 1.5 s at the end.
///
/// `FORETELL_SCHEDULES=10000` runs more of them, `FORETELL_SCHEDULE=17` one.
///
/// `once_failed`: schedules that have once revealed a fault; these are always run.
pub(crate) fn nothing_is_lost(
    once_failed: &[u64],
    drawn: impl Fn(u64) -> (Scenario, String) + Sync,
) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds: Vec<u64> = if let Some(seed) = number("FORETELL_SCHEDULE") {
        vec![seed]
    } else {
        let count = number("FORETELL_SCHEDULES").unwrap_or(60);
        let others = once_failed.iter().copied().filter(|seed| *seed >= count);
        (0..count).chain(others).collect()
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut compared, mut recoveries) = (0, BTreeMap::new());
        loop {
            let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return (compared, recoveries);
            };
            let (scenario, text) = drawn(seed);
            let truth = run(&scenario).unwrap_or_else(|error| panic!("{text}\n{error}"));
            let found = outages(&truth);
            assert_eq!((found.failed_requests, found.bytes_lost), (0, 0), "{text}");
            let blocks = truth.blocks_compared.unwrap();
            assert!(blocks > 0, "{text}");
            compared += blocks;
            for one in found.recoveries.iter().filter(|one| one.ended_s.is_some()) {
                *recoveries.entry(one.kind).or_insert(0) += 1;
            }
            let oldest = truth.unfinished.oldest_ms.unwrap_or(0.0);
            assert!(oldest < 1500.0, "{text}\n{oldest} ms");
        }
    };
    thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let (compared, recoveries) = thread.join().expect("a schedule failed: see above");
            println!("{compared} blocks compared, {recoveries:?}");
        }
    });
}

/// Asserts that a run is the same until its first event, at 3 s, as without events.
pub(crate) fn assert_as_without_events(scenario: Scenario) {
    let plain = Scenario { duration: Some(SimSpan::from_secs(3)), ..scenario.clone() };
    let plain = run(&plain).unwrap();
    let truth = run(&with(scenario, vec![fails(3000, 1, true)], recovery())).unwrap();
    let before = &outages(&truth).phases[0];
    assert_eq!((before.phase, before.seconds), ("before", 3.0));
    let (one, other) = (&before.workloads["load0"], &plain.workloads["load0"]);
    assert_eq!(one.requests, other.requests);
    assert!((one.response_time_ms.mean - other.response_time_ms.mean).abs() < 1e-9);
    assert!((one.response_time_ms.p99 - other.response_time_ms.p99).abs() < 1e-9);
}
