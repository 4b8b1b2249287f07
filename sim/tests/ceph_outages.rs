//! OSDs that fail, return, join and leave: nothing is lost that need not be, and recoveries take the time and
//! the bytes that they must.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use common::{cluster, run, ssio};
use foretell_algorithms::message::{MESSAGE_HEADER, wire_bytes};
use foretell_scenarios::model::{
    Arrivals, Ceph, Cost, OsdStore, Payload, Role, Scenario, Switch, System, Think, Threads,
    WorkloadKind,
};
use foretell_scenarios::outages::{Action, Event, Outages, Recovery};
use foretell_sim::truth::{OutageTruth, Truth};
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, Stream};

fn ms(ms: u64) -> SimSpan {
    SimSpan::from_ms(ms)
}

fn cost(us: u64) -> Cost {
    Cost { fixed: SimSpan::from_us(us), rate: Some(Rate::bytes_per_s(4_000_000_000)) }
}

fn ceph() -> Ceph {
    Ceph {
        store: OsdStore::BlueStore { deferred_below: Bytes::kib(16) },
        metadata: Bytes::kib(1),
        placement_groups_per_osd: 8,
        read: cost(60),
        write: cost(60),
        commit: cost(60),
        threads: None,
        monitors: Vec::new(),
        own_monitors: BTreeMap::new(),
        places: None,
    }
}

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
    }
}

/// Everything is noticed fast.
fn recovery() -> Recovery {
    Recovery {
        heartbeat: ms(100),
        grace: ms(300),
        out_after: SimSpan::from_secs(1000),
        timeout: ms(100),
        give_up: SimSpan::from_secs(30),
        parallel: 4,
        backfills: 1,
        pause: SimSpan::ZERO,
    }
}

fn event(at: u64, host: u32, action: Action) -> Event {
    Event { name: format!("e{at}"), at: ms(at), host: HostId(host), disk: None, action }
}

fn fails(at: u64, host: u32, keeps: bool) -> Event {
    event(at, host, Action::Fail { keeps })
}

fn returns(at: u64, host: u32) -> Event {
    event(at, host, Action::Return)
}

fn with(mut scenario: Scenario, events: Vec<Event>, recovery: Recovery) -> Scenario {
    scenario.outages = Some(Outages { events, recovery });
    scenario
}

fn outages(truth: &Truth) -> &OutageTruth {
    truth.outages.as_ref().expect("there are events")
}

/// A small pool on which requests of a client fall; objects of 64 KiB.
fn small(nodes: u32, m: u8, n: u8, reads: f64, outstanding: u32) -> Scenario {
    let mut scenario = cluster(nodes, 1, m, n);
    scenario.system = System::Ceph(ceph());
    scenario.warmup = ms(500);
    scenario.duration = Some(SimSpan::from_secs(6));
    let volume = &mut scenario.volumes[0];
    (volume.size, volume.group) = (Bytes::mib(4), Bytes::kib(64));
    volume.min_write = if m == 1 { n - n / 2 } else { (m + 1).min(n) };
    ssio(&mut scenario, 0, reads, outstanding);
    set_working_set(&mut scenario, Bytes::mib(1), Bytes::kib(8));
    scenario
}

fn set_working_set(scenario: &mut Scenario, set: Bytes, each: Bytes) {
    for workload in &mut scenario.workloads {
        if let WorkloadKind::Ssio { access, working_set, .. } = &mut workload.kind {
            (*access, *working_set) = (each, set);
        }
    }
}

fn set_ceph(scenario: &mut Scenario, change: impl FnOnce(&mut Ceph)) {
    if let System::Ceph(ceph) = &mut scenario.system {
        change(ceph);
    }
}

/// A schedule, its scenario in words.
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
    // as low as it may be: whatever can be served is
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
    // as many hosts as the code tolerates, each as often as it likes
    let victims = 1 + stream.below(u64::from(n - m)) as u32;
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
    // another one joins, or leaves
    let other = (first + victims) % nodes;
    if nodes > u32::from(n) && stream.below(3) == 0 {
        let action = [Action::Add, Action::Drain][stream.below(2) as usize];
        events.push(event(200 + stream.below(1000), other, action));
    }
    events.sort_by_key(|event| event.at);
    let mut text = format!(
        "seed {seed}: {m}-of-{n} on {nodes}, threads {has_threads}, {outstanding} x {each}, \
         {recovery:?}"
    );
    for Event { at, host, action, .. } in &events {
        let _ = write!(text, "\n  {at} brick{} {action:?}", host.0);
    }
    (with(scenario, events, recovery), text)
}

#[test]
fn what_was_written_last_is_read_whatever_fails_within_the_codes_tolerance() {
    // FORETELL_SCHEDULES=10000 for more, FORETELL_SCHEDULE=17 for one of them
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("FORETELL_SCHEDULE") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FORETELL_SCHEDULES").unwrap_or(200),
    };
    let (mut compared, mut recoveries) = (0, 0);
    for seed in seeds {
        let (scenario, text) = drawn(seed);
        let truth = run(&scenario).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let found = outages(&truth);
        assert_eq!((found.failed_requests, found.bytes_lost), (0, 0), "{text}");
        let blocks = truth.blocks_compared.unwrap();
        assert!(blocks > 0, "{text}");
        compared += blocks;
        recoveries += found.recoveries.len();
        // nobody waits for longer than it takes to notice, to peer and to recover an object
        let oldest = truth.unfinished.oldest_ms.unwrap_or(0.0);
        assert!(oldest < 1500.0, "{text}\n{oldest} ms");
    }
    assert!(recoveries > 0);
    println!("{compared} blocks compared, {recoveries} recoveries");
}
