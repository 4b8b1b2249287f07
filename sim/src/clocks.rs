//! Tests that all parts of a cluster have separate clocks.
//!
//! Everything periodic (a platter's rotation, a flusher's wake-up, a journal's commit, a node's report) has
//! its own phase, drawn from a stream named after its owner. If clocks were in step, the fragments of one
//! request would wait equally long on all nodes, and all nodes would flush at the same time.

use std::ops::ControlFlow;

use foretell_ati::{Body, Recorder, Selection};
use foretell_scenarios::Document;
use foretell_scenarios::model::Scenario;
use foretell_units::{SimSpan, SimTime};

use crate::cluster::Cluster;
use crate::device::Device;
use crate::disk::Spin;
use crate::event::Event;

fn scenario(text: &str) -> Scenario {
    let document = Document::parse("clocks.toml", text, ".");
    document.and_then(|document| document.check()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn cluster(text: &str) -> Cluster {
    Cluster::new(scenario(text), Recorder::none()).unwrap()
}

/// Asserts that the phases, parts of `period`, are all different and lie in every quarter of it.
fn assert_spread(what: &str, mut phases: Vec<u64>, period: SimSpan) {
    let count = phases.len();
    let mut quarters = [0; 4];
    for phase in &phases {
        quarters[(phase * 4 / period.as_ns()) as usize] += 1;
    }
    phases.sort_unstable();
    phases.dedup();
    assert_eq!(phases.len(), count, "{what}: some are the same");
    // a fourth each; with sixty, fewer than five in a quarter occur in one case of 2000
    assert!(quarters.iter().all(|found| *found >= count / 12), "{what}: {quarters:?} of {count}");
}

/// Sixty nodes with two disks each, all of them written to now and then.
const NODES: &str = r#"
seed = 7
warmup = "0 s"
duration = "20 s"
[node.n]
count = 60
cpu = "xeon-2023"
cache = { size = "32 MiB", dirty_expire = "1 s", flush_interval = "5 s" }
disk = ["barracuda-7200.8", "sata-7200-2005"]
[client.c]
cpu = "xeon-2023"
[volume.v]
size = "6 GiB"
nodes = "n"
[workload.w]
volume = "v"
client = "c"
kind = "ssio"
reads = 0
access = "4 KiB"
arrivals = "poisson"
rate = "2000/s"
"#;

#[test]
fn no_two_disks_turn_together() {
    let arrays = "\n[node.a]\ncount = 2\ncpu = \"xeon-2023\"\ncache = { size = \"32 MiB\" }\n\
                  disk = [\"ds8700-raid5\"]\n";
    let cluster = cluster(&format!("{NODES}{arrays}"));
    let disks = cluster.engine.disks.iter().flatten();
    let spins: Vec<Spin> = disks.flat_map(Device::spins).collect();
    // two disks on each node, and seven members of each array
    assert_eq!(spins.len(), 60 * 2 + 2 * 7);
    let turn = SimSpan::from_ns(8_333_333);
    let of_nodes: Vec<&Spin> = spins.iter().take(120).collect();
    let phases = |spin: &&Spin| spin.since_index_ns(SimTime::ZERO).min(turn.as_ns() - 1);
    assert_spread("platters", of_nodes.iter().map(phases).collect(), turn);
    let mut speeds: Vec<u64> = spins.iter().map(|spin| spin.period().as_ns()).collect();
    speeds.sort_unstable();
    speeds.dedup();
    // each of the 120 platters has one of 33,333 possible periods, so hardly any period occurs twice
    assert!(speeds.len() > 130, "{}", speeds.len());
}

#[test]
fn flushers_of_equal_nodes_wake_at_times_of_their_own() {
    let mut cluster = Cluster::new(scenario(NODES), Recorder::in_memory(Selection::ALL)).unwrap();
    cluster.run(|_| ControlFlow::Continue(())).unwrap();
    let recorder = cluster.into_recorder();
    let mut first = vec![None; 60];
    for record in recorder.records() {
        if matches!(record.body, Body::BufferFlush { .. }) {
            let host = record.header.host.index();
            first[host].get_or_insert(record.header.ts_ns);
        }
    }
    let period = SimSpan::from_secs(5);
    let phases = first.iter().map(|at| at.expect("each node flushes") % period.as_ns());
    assert_spread("flushers", phases.collect(), period);
}

#[test]
fn nodes_of_ceph_report_at_times_of_their_own() {
    let text = r#"
duration = "1 s"
cluster = { system = "ceph", monitors = "mon" }
[client.mon]
cpu = "xeon-2023"
[client.c]
cpu = "xeon-2023"
[node.osd]
count = 60
cpu = "xeon-2023"
cache = { size = "32 MiB" }
disk = ["sata-ssd"]
[volume.v]
size = "6 GiB"
nodes = "osd"
encoding = "1-of-3"
[workload.w]
volume = "v"
client = "c"
kind = "ssio"
reads = 1
"#;
    let cluster = cluster(text);
    let reports = cluster.engine.agenda.pending().filter_map(|(at, event)| match event {
        Event::System { .. } => Some(at.as_ns()),
        _ => None,
    });
    let reports: Vec<u64> = reports.collect();
    assert_eq!(reports.len(), 60);
    assert_spread("reports", reports, SimSpan::from_secs(5));
}

/// One client reads m fragments of 4 KiB from nine disks, one request after the other. The disks turn
/// in 10 ms and seek in no time; processors and links take next to none.
fn reads(m: u64) -> String {
    format!(
        r#"
seed = 3
warmup = "1 s"
duration = "300 s"
tracking = {{ overhead = false }}
[cpu.free]
source = "nothing but disks"
cores = 64
quantum = "10 ms"
context_switch = "0 s"
request = {{}}
send = {{}}
receive = {{}}
copy = {{}}
encrypt = {{}}
decrypt = {{}}
code = {{}}
post = "0 s"
[device.turns]
kind = "disk"
source = "nothing but rotation"
capacity = "100 GB"
rpm = 6000
cylinders = 1000
seek = {{ knee = 1, short = "0 ms", short_per_sqrt = "0 ms", long = "0 ms", long_per_cylinder = "0 ms" }}
outer_rate = "50 MB/s"
inner_rate = "50 MB/s"
overhead = "0 ms"
[node.n]
count = 9
cpu = "free"
nic = {{ rate = "100 Gbit/s", latency = "1 us" }}
cache = {{ size = "1 MiB", read_ahead = "0 B" }}
disk = ["turns"]
[client.c]
cpu = "free"
nic = {{ rate = "100 Gbit/s", latency = "1 us" }}
[volume.v]
size = "{} GiB"
nodes = "n"
encoding = "{m}-of-9"
block = "{} KiB"
[workload.w]
volume = "v"
client = "c"
kind = "ssio"
reads = 1
access = "{} KiB"
outstanding = 1
think = "exponential 23 ms"
"#,
        40 * m,
        4 * m,
        4 * m
    )
}

/// Mean response time in ms.
fn mean_ms(mut cluster: Cluster) -> f64 {
    let truth = cluster.run(|_| ControlFlow::Continue(())).unwrap();
    assert!(truth.workloads["w"].requests > 8000);
    truth.workloads["w"].response_time_ms.mean
}

#[test]
fn closed_form_the_slowest_of_m_fragments_waits_for_m_in_m_plus_1_of_a_turn() {
    for m in [1, 2, 4, 8] {
        let unlocked = mean_ms(cluster(&reads(m)));
        // the same disks, with their platters in phase
        let mut locked = cluster(&reads(m));
        for (host, disks) in locked.scenario.hosts.iter().zip(&mut locked.engine.disks) {
            if let Some(storage) = host.role.storage() {
                *disks = storage.devices().map(Device::new).collect();
            }
        }
        let locked = mean_ms(locked);
        // A single wait is uniform over a turn T, so its mean is T/2. The longest of m independent
        // waits has the mean m/(m + 1) T; waits in phase have that of one. Everything else is the
        // same.
        let expected = 10.0 * (m as f64 / (m as f64 + 1.0) - 0.5);
        let found = unlocked - locked;
        // standard error: √2 · 2.9 ms / √8000 = 0.046 ms
        assert!((found - expected).abs() < 0.15, "{m}: {unlocked} - {locked} is not {expected}");
    }
}
