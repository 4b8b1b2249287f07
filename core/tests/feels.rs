//! Each kind of change that can be asked, on a cluster that feels it: a model must not answer as if nothing happened.
//!
//! The caches of the cluster hold a part of the working set and turn over many times, disks are busy, and links and
//! processors are slow enough to matter.

use foretell_core::{Asked, Change, Model, Run, Scenario, record, run, unwatched};
use foretell_sim::truth::Truth;

const CLUSTER: &str = r#"
warmup   = "4 s"
duration = "12 s"
tracking = { overhead = false }

[node.brick]
count = 4
cpu   = { profile = "pentium4-2.6" }
cache = { policy = "lru", size = "6 MiB" }
disk  = [{ device = "cheetah-15k", scheduler = "elevator" }]
nic   = { rate = "100 Mbit/s", latency = "50 us" }

[client.app]
count = 3
cpu   = { profile = "pentium4-2.6" }
nic   = { rate = "1 Gbit/s", latency = "50 us" }

[volume.data]
size     = "72 MiB"
nodes    = "brick"
encoding = "1-of-2"

[workload.shop]
volume      = "data"
client      = "app[0-1]"
kind        = "ssio"
reads       = "75%"
pattern     = "zipf"
access      = "8 KiB"
outstanding = 6

[workload.scan]
volume   = "data"
client   = "app2"
kind     = "ssio"
reads    = "100%"
access   = "16 KiB"
arrivals = "poisson"
rate     = 60
"#;

/// One change of each kind, or several where they are felt in different ways.
const CHANGES: [&str; 33] = [
    "node.brick.cache.policy=fifo",
    "node.brick.cache.policy=lfu",
    "node.brick.cache.policy=arc",
    "node.brick.cache.policy=lirs",
    "node.brick.cache.policy=s3-fifo",
    "node.brick.cache.size=24 MiB",
    "node.brick.cache.size=1 MiB",
    "node.brick.cache.page=16 KiB",
    "node.brick.cache.write=through",
    "node.brick.cache.dirty_background=2%",
    "node.brick.disk.0.device=sata-7200-2005",
    "node.brick.disk.0.device=sata-ssd",
    "node.brick.disk.0.count=2",
    "node.brick.disk.0.scheduler=fcfs",
    "node.brick.nic.rate=10 Mbit/s",
    "node.brick.nic.latency=2 ms",
    "node.brick.cpu.request={ fixed = \"2 ms\" }",
    "node.brick.layout=log-structured",
    "node.brick.nvram=2 MiB",
    "node.brick.count=6",
    "volume.data.encoding=1-of-4",
    "volume.data.encoding=2-of-3",
    "volume.data.cipher=aes-128-cbc",
    "volume.data.nodes=brick[0-1]",
    "volume.data.read_from=random",
    "workload.shop.outstanding=1",
    "workload.shop.think=20 ms",
    "workload.shop.client=app[0-2]",
    "workload.shop.reads=20%",
    "workload.shop.alpha=1.4",
    "workload.shop.access=64 KiB",
    "workload.scan.rate=240",
    "workload.scan=none",
];

/// An error of the fast model that one answer of ten exceeds: see docs/commands.md.
const USUAL_ERROR: f64 = 0.08;

/// Throughput and mean response time of the workload that is compared.
fn figures(truth: &Truth) -> [f64; 2] {
    let shop = &truth.workloads["shop"];
    [shop.throughput_rps, shop.response_time_ms.mean]
}

/// How far apart two figures are, as a part of the larger one.
fn distance(one: f64, other: f64) -> f64 {
    (one - other).abs() / one.max(other)
}

#[test]
fn a_model_follows_what_the_simulation_feels_or_refuses() {
    let scenario = Scenario::parse(CLUSTER, "").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let before = figures(&record(&scenario, directory.path(), unwatched).unwrap().truth);
    let recorded = Run::open(directory.path()).unwrap();
    let mut faults = Vec::new();
    let (mut felt, mut fast) = (0, 0);
    for text in CHANGES {
        let change: Change = text.parse().unwrap();
        let mut changed = scenario.clone();
        changed.set(&change.path, &change.value).unwrap();
        let after = figures(&run(&changed, unwatched).unwrap().truth);
        for model in [Model::Fast, Model::Replay] {
            let answer = match recorded.answered(std::slice::from_ref(&change), Asked::Of(model)) {
                Ok(answer) => answer,
                // the fast model may refuse
                Err(_) if model == Model::Fast => continue,
                Err(error) => panic!("{text}: {error}"),
            };
            fast += u32::from(model == Model::Fast);
            let shop = &answer.answer.workloads["shop"];
            let predicted = [shop.throughput_rps, shop.response_time_ms.mean];
            for ((before, after), predicted) in before.iter().zip(after).zip(predicted) {
                let moved = distance(*before, after);
                felt += u32::from(moved > 0.1);
                // nearer to the truth than to the recorded run, or with an error that answers usually have
                let error = distance(predicted, after);
                if moved > 0.1 && error > (0.5 * moved).max(USUAL_ERROR) {
                    faults.push(format!(
                        "{text}, {model}: {before:.4} becomes {after:.4}, predicted {predicted:.4}"
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // the cluster feels most changes, and the fast model answers most questions
    assert!(felt >= 50 && fast >= 20, "{felt} figures moved, {fast} fast answers");
}
