//! Tests of scrubbing: rates, the load of disks, what clients lose, failures, the queues of Ceph.

use crate::common;

use std::collections::BTreeMap;

use common::outages::{event_of, fails, ms, recovery, returns, with};
use common::{cluster, run, run_recorded, ssio};
use foretell_ati::{Body, Phase};
use foretell_scenarios::Document;
use foretell_scenarios::device::{Curve, Curves, Device, Order};
use foretell_scenarios::model::{Arrivals, Role, Scenario, Scrub, Storage, System};
use foretell_scenarios::outages::{Action, Part};
use foretell_sim::truth::{CacheTruth, ScrubTruth, Truth};
use foretell_systems::process::SCRUBBER;
use foretell_units::{Breadcrumb, Bytes, HostId, Op, Rate, SimSpan};

/// Nodes with disks of their own, and few requests. `system` adds the system's own settings.
fn idle(system: &str) -> Scenario {
    scenario(&format!(
        "{system}\nwarmup = \"1 s\"\nduration = \"20 s\"\n\
         [node.brick]\ncount = 4\ncpu = \"xeon-2023\"\ncache = {{ size = \"64 MiB\" }}\n\
         disk = [{{ device = \"sata-7200-2005\", count = 2 }}]\n\
         [client.app]\ncount = 2\ncpu = \"xeon-2023\"\n\
         [volume.mail]\nsize = \"8 GiB\"\nnodes = \"brick\"\nencoding = \"1-of-3\"\n\
         [workload.mail]\nvolume = \"mail\"\nclient = \"app0\"\nkind = \"ssio\"\nreads = 1\n\
         access = \"4 KiB\"\nworking_set = \"16 MiB\"\narrivals = \"poisson\"\nrate = 1\n"
    ))
}

fn scenario(text: &str) -> Scenario {
    let document = Document::parse("scrub.toml", text, ".");
    let checked = document.and_then(|document| document.check());
    checked.unwrap_or_else(|errors| panic!("{}\n{text}", errors.lines()))
}

const SYSTEMS: [&str; 4] = [
    "",
    "cluster = { system = \"ceph\" }",
    "cluster = { system = \"ceph\", threads = {}, scheduler = { kind = \"wpq\" } }",
    "cluster = { system = \"swift\", proxies = \"app1\" }",
];

/// The scenario with scrubbers that read at most `rate` bytes per second, in chunks of `chunk`.
fn scrubbed(mut scenario: Scenario, rate: u64, chunk: Bytes) -> Scenario {
    scenario.scrub = Some(Scrub { rate: Rate::bytes_per_s(rate), chunk });
    scenario
}

fn scrub(truth: &Truth) -> ScrubTruth {
    truth.scrub.expect("it is scrubbed")
}

/// The truth as text, without the time that it took to find it.
fn as_text(truth: &Truth) -> String {
    format!("{:?}", Truth { wall_seconds: 0.0, ..truth.clone() })
}

fn storages(scenario: &mut Scenario) -> impl Iterator<Item = &mut Storage> {
    scenario.hosts.iter_mut().filter_map(|host| match &mut host.role {
        Role::Node(storage) => Some(storage),
        Role::Client => None,
    })
}

/// Disks that serve one operation at a time, each in the same time.
fn set_one_server(scenario: &mut Scenario, each: SimSpan) {
    let curve = |op, block| Curve {
        order: Order::Random,
        op,
        reads: if op == Op::Read { 1.0 } else { 0.0 },
        block,
        points: vec![(1, each)],
    };
    let blocks = [Bytes::kib(4), Bytes::mib(1)];
    let all =
        blocks.into_iter().flat_map(|block| [curve(Op::Read, block), curve(Op::Write, block)]);
    let curves = Curves {
        capacity: Bytes::gib(200),
        queue_depth: 1,
        flush: SimSpan::ZERO,
        curves: all.collect(),
    };
    for storage in storages(scenario) {
        storage.cache = common::cache(Bytes::kib(512));
        storage.cache.read_ahead = Bytes::ZERO;
        storage.disks[0].device = Device::Curves(curves.clone());
    }
}

/// One node with one disk, and requests of one client at this rate.
fn one_disk(rate_rps: f64, each: SimSpan) -> Scenario {
    let mut scenario = cluster(1, 1, 1, 1);
    ssio(&mut scenario, 0, 1.0, 1);
    scenario.workloads[0].arrivals = Arrivals::Poisson { rate_rps };
    scenario.duration = Some(SimSpan::from_secs(200));
    set_one_server(&mut scenario, each);
    scenario
}

fn disk_utilization(truth: &Truth) -> f64 {
    truth.hosts["brick0"]["disk0"].utilization
}

#[test]
fn idle_disks_are_read_at_the_rate() {
    for system in SYSTEMS {
        let truth = run(&scrubbed(idle(system), 10_000_000, Bytes::kib(256))).unwrap();
        let found = scrub(&truth);
        assert_eq!(found.disks, 8, "{system}");
        // 10 MB/s of 8 disks for 20 s
        let off = found.bytes as f64 / (10e6 * 8.0 * 20.0) - 1.0;
        assert!(off.abs() < 0.01, "{system}: {off}");
        assert!((found.disk_bytes_per_s / 10e6 - 1.0).abs() < 0.01, "{system}");
        // nothing is cut off: parts of disks are multiples of 256 KiB, or nearly
        let chunks = found.bytes as f64 / 262_144.0;
        assert!((found.chunks as f64 / chunks - 1.0).abs() < 0.01, "{system}");
    }
}

#[test]
fn passes_end_after_all_that_is_stored() {
    for system in SYSTEMS {
        let mut scenario = idle(system);
        scenario.volumes[0].size = Bytes::mib(256);
        let found = scrub(&run(&scrubbed(scenario, 10_000_000, Bytes::kib(256))).unwrap());
        // three copies of 256 MiB on 8 disks: 100.7 MB each, 10.07 s; twice in 20 s, but for the phase
        assert!((12..=20).contains(&found.passes), "{system}: {found:?}");
    }
}

#[test]
fn closed_form_utilization_grows_by_the_time_of_chunks() {
    // a chunk of 256 KiB at 5.24288 MB/s every 50 ms, and each takes 5 ms
    let each = ms(5);
    for rate_rps in [0.01, 40.0, 80.0] {
        let before = run(&one_disk(rate_rps, each)).unwrap();
        let after = run(&scrubbed(one_disk(rate_rps, each), 5_242_880, Bytes::kib(256))).unwrap();
        let more = disk_utilization(&after) - disk_utilization(&before);
        assert!((more / 0.1 - 1.0).abs() < 0.02, "{rate_rps}: {more}");
        // utilization law: throughput times service time
        let busy = (scrub(&after).chunks as f64 / 200.0
            + after.workloads["load0"].throughput_rps
                * (1.0 - after.workloads["load0"].read_hit_rate.unwrap_or(0.0)))
            * 0.005;
        assert!((disk_utilization(&after) / busy - 1.0).abs() < 0.05, "{rate_rps}: {busy}");
    }
}

#[test]
fn closed_form_clients_wait_as_in_an_md1_queue() {
    // 80 requests/s of 5 ms: M/D/1 at 0.4 waits 0.4 × 5 / (2 × 0.6) = 1.667 ms; with 40 chunks/s of 5 ms, at 0.6,
    // 3.75 ms. Chunks come regularly and one at a time, so the wait is between that and the one without their
    // variance, of a queue for the rest of the time
    let each = ms(5);
    let mean = |truth: &Truth| truth.workloads["load0"].response_time_ms.mean;
    let before = mean(&run(&one_disk(80.0, each)).unwrap());
    let with = scrubbed(one_disk(80.0, each), 40 * 262_144, Bytes::kib(256));
    let more = mean(&run(&with).unwrap()) - before;
    assert!((1.4..=2.1).contains(&more), "{more}");
}

#[test]
fn a_disk_that_is_too_slow_is_read_as_fast_as_it_can() {
    // 100 MB/s in chunks of 256 KiB would be 381/s, and each takes 5 ms: 200/s at most
    let found = run(&scrubbed(one_disk(0.01, ms(5)), 100_000_000, Bytes::kib(256))).unwrap();
    // one at a time: after each, the processor computes the checksum, 262 us, and switches
    let chunks = scrub(&found).chunks as f64 / 200.0;
    assert!((chunks * (0.005 + 0.000_262) - 1.0).abs() < 0.01, "{chunks}");
}

#[test]
fn scrubs_leave_caches_alone() {
    for system in SYSTEMS {
        let mut scenario = idle(system);
        scenario.volumes[0].size = Bytes::mib(32);
        scenario.workloads[0].arrivals = Arrivals::Poisson { rate_rps: 2000.0 };
        // by node: pages read, and the share of hits
        let pages = |truth: &Truth| -> Vec<(f64, f64)> {
            let caches = truth.caches.values();
            let of =
                |cache: &CacheTruth| (cache.pages_read as f64, cache.read_hit_rate.unwrap_or(0.0));
            caches.map(of).collect()
        };
        let before = run(&scenario).unwrap();
        let after = run(&scrubbed(scenario, 10_000_000, Bytes::kib(256))).unwrap();
        for ((read, hits), (now_read, now_hits)) in pages(&before).into_iter().zip(pages(&after)) {
            let more = (now_read - read).abs() / read.max(1.0);
            assert!(more < 0.01 && (now_hits - hits).abs() < 0.01, "{system}: {hits} {now_hits}");
        }
    }
}

#[test]
fn runs_are_functions_of_the_seed() {
    for system in SYSTEMS {
        let mut scenario = scrubbed(idle(system), 20_000_000, Bytes::kib(128));
        let (first, again) = (run(&scenario).unwrap(), run(&scenario).unwrap());
        assert_eq!(as_text(&first), as_text(&again), "{system}");
        scenario.seed.0 += 1;
        assert_ne!(as_text(&first), as_text(&run(&scenario).unwrap()), "{system}");
    }
}

#[test]
fn disk_operations_of_scrubbers_are_recorded() {
    let mut scenario = scrubbed(idle(""), 5_000_000, Bytes::kib(512));
    scenario.duration = Some(SimSpan::from_secs(4));
    let (truth, recorder) = run_recorded(&scenario);
    // those of each disk, in the order of time
    let mut read: BTreeMap<(HostId, u32), Vec<u64>> = BTreeMap::new();
    for record in recorder.records() {
        let Body::DiskOp { disk, lbn, size, phase: Phase::Issue, .. } = record.body else {
            continue;
        };
        if record.header.pid == SCRUBBER {
            assert_eq!(record.header.breadcrumb, Breadcrumb::NONE);
            assert_eq!(size, 512 << 10, "no cached page splits a chunk");
            read.entry((record.header.host, disk)).or_default().push(lbn);
        }
    }
    assert_eq!(read.len() as u64, scrub(&truth).disks);
    for (disk, lbns) in read {
        // 5 MB/s for 5 s: 47 chunks, one after the other
        assert!((47..=49).contains(&lbns.len()), "{disk:?}: {}", lbns.len());
        let follows = lbns.windows(2).filter(|two| two[1] == two[0] + 1024).count();
        assert!(follows + 2 >= lbns.len(), "{disk:?}: {lbns:?}");
    }
}

#[test]
fn scrubbers_of_a_failed_host_stop_and_go_on() {
    for system in SYSTEMS {
        let mut scenario = scrubbed(idle(system), 10_000_000, Bytes::kib(256));
        if !system.is_empty() {
            scenario.workloads[0].arrivals = Arrivals::Poisson { rate_rps: 50.0 };
        }
        // one of four hosts is down for 10 of 20 s: it reads half, and the others all
        let down = vec![fails(5000, 1, true), returns(15_000, 1)];
        let found = scrub(&run(&with(scenario.clone(), down, recovery())).unwrap());
        let expected = 10e6 * (6.0 * 20.0 + 2.0 * 10.0);
        let off = found.bytes as f64 / expected - 1.0;
        assert!(off.abs() < 0.01, "{system}: {off}");
        if system.contains("ceph") {
            // one of eight OSDs
            let disk = |at, action| event_of(at, 1, Part::Disk(1), action);
            let down = vec![disk(5000, Action::Fail { keeps: true }), disk(15_000, Action::Return)];
            let found = scrub(&run(&with(scenario.clone(), down, recovery())).unwrap());
            let off = found.bytes as f64 / (10e6 * (7.0 * 20.0 + 10.0)) - 1.0;
            assert!(off.abs() < 0.01, "{system}: {off}");
        }
        // down for good, short times that end within a chunk, and a link
        let link = |at, action| event_of(at, 2, Part::Link, action);
        let mut events = vec![fails(5000, 1, false)];
        for time in 0..20 {
            events.push(link(1000 + 31 * time, Action::Fail { keeps: true }));
            events.push(link(1003 + 31 * time, Action::Return));
        }
        events.sort_by_key(|event| event.at);
        let found = scrub(&run(&with(scenario, events, recovery())).unwrap());
        let expected = 10e6 * (6.0 * 20.0 + 2.0 * 5.0);
        let off = found.bytes as f64 / expected - 1.0;
        assert!((-0.01..=0.005).contains(&off), "{system}: {off}");
    }
}

#[test]
fn closed_form_swift_computes_the_sum_that_it_computes_for_writes() {
    let scenario = idle(SYSTEMS[3]);
    let System::Swift(swift) = &scenario.system else { panic!("it is Swift") };
    let chunk = Bytes::kib(256);
    // without the fixed part of a request
    let each = swift.write.of(chunk) - swift.write.of(Bytes::ZERO);
    let cores = f64::from(scenario.hosts[1].cpu.cores);
    let busy = |truth: &Truth| truth.hosts["brick1"]["cpu"].utilization * cores;
    let (before, after) =
        (run(&scenario).unwrap(), run(&scrubbed(scenario, 10_000_000, chunk)).unwrap());
    // two disks
    let expected = 2.0 * 10e6 / chunk.get() as f64 * each.as_secs_f64();
    let found = busy(&after) - busy(&before);
    assert!((found / expected - 1.0).abs() < 0.05, "{found} {expected}");
}

#[test]
fn events_after_the_end_change_no_scrub() {
    for system in SYSTEMS {
        let scenario = scrubbed(idle(system), 10_000_000, Bytes::kib(256));
        let plain = run(&scenario).unwrap();
        let later = run(&with(scenario, vec![fails(25_000, 1, true)], recovery())).unwrap();
        assert_eq!(scrub(&plain), scrub(&later), "{system}");
        let busy = |truth: &Truth| truth.hosts["brick1"]["cpu"].utilization.to_bits();
        assert_eq!(busy(&plain), busy(&later), "{system}");
    }
}

/// An OSD on a solid-state drive whose clients have many requests outstanding.
fn busy_osd(scheduler: &str) -> Scenario {
    scenario(&format!(
        "warmup = \"1 s\"\nduration = \"10 s\"\ntracking = {{ overhead = false }}\n\
         cluster = {{ system = \"ceph\", threads = {{ op = 2, processors = 1 }}, scheduler = {scheduler} }}\n\
         [node.osd]\ncpu = \"xeon-2023\"\ncache = {{ size = \"1 MiB\" }}\n\
         disk = [\"nvme-3gbs\"]\n\
         [client.app]\ncount = 2\ncpu = \"xeon-2023\"\n\
         [volume.pool]\nsize = \"8 GiB\"\nnodes = \"osd\"\n\
         [workload.load]\nvolume = \"pool\"\nclient = \"app\"\nkind = \"ssio\"\nreads = 1\n\
         access = \"4 KiB\"\noutstanding = 64\n"
    ))
}

#[test]
fn the_queue_of_a_busy_osd_holds_scrubbers_back() {
    let found = |scheduler: &str| {
        let truth = run(&scrubbed(busy_osd(scheduler), 400_000_000, Bytes::kib(512))).unwrap();
        (scrub(&truth).disk_bytes_per_s / 1e6, truth.workloads["load"].throughput_rps)
    };
    let wpq = found("{ kind = \"wpq\", shards = 1 }");
    let mclock = |profile: &str| {
        found(&format!(
            "{{ kind = \"mclock\", shards = 1, profile = \"{profile}\", capacity = 4000.0 }}"
        ))
    };
    let (clients, balanced) = (mclock("high_client_ops"), mclock("balanced"));
    // a chunk costs 4000 × (50 us + 50 MiB × 11 ns) = 2307 operations. Clients do less than the 8000 operations/s that
    // a weight of 2 stands for, so scrubbing has all of the same weight: 3.47 chunks/s, 1.82 MB/s
    assert!((clients.0 / 1.818 - 1.0).abs() < 0.03, "{clients:?}");
    // clients have a limit there, all of the capacity, and scrubbing has none
    assert!((balanced.1 / 4000.0 - 1.0).abs() < 0.01, "{balanced:?}");
    assert!((balanced.0 / 400.0 - 1.0).abs() < 0.01, "{balanced:?}");
    // clients have 63 times ten parts, a chunk of 512 KiB has 5: much more than with mClock
    assert!(wpq.0 > 5.0 * clients.0, "{wpq:?} {clients:?}");
    assert!(wpq.1 < clients.1, "{wpq:?} {clients:?}");
    // without clients nothing holds scrubbers back but the disk and the threads
    let mut quiet = busy_osd("{ kind = \"mclock\", shards = 1, capacity = 4000.0 }");
    quiet.workloads[0].arrivals = Arrivals::Poisson { rate_rps: 1.0 };
    let alone = scrub(&run(&scrubbed(quiet, 400_000_000, Bytes::kib(512))).unwrap());
    assert!((alone.disk_bytes_per_s / 400e6 - 1.0).abs() < 0.01, "{alone:?}");
}
