//! `foretell ask` and `score` about what is between clients and nodes: uplinks, second adapters, gateways.

use crate::common;

use std::path::Path;

use common::questions::{errors, json, score};
use common::*;

/// Asserts that throughput and mean response time are predicted within ten percent of what happens.
fn is_right(dir: &Path, changes: &[&str]) {
    for (what, error) in errors(&score(dir, changes)) {
        println!("{changes:?}: {what} is {:.1} % off", 100.0 * error);
        assert!(error < 0.1, "{changes:?}: {what} is {:.1} % off", 100.0 * error);
    }
}

/// Four nodes in two racks, whose clients are at the core and read what caches hold.
const RACKS: &str = r#"
seed = 5
warmup = "2 s"
duration = "10 s"
switch = { uplink = "4 Gbit/s" }

[node.brick]
count = 4
rack  = ["r0", "r1"]
cpu   = "xeon-2023"
nic   = { rate = "10 Gbit/s" }
cache = { size = "2 GiB" }
disk  = ["sata-ssd"]

[client.app]
count = 2
cpu   = "xeon-2023"
nic   = { rate = "10 Gbit/s" }

[volume.mail]
size     = "1 GiB"
nodes    = "brick"
encoding = "1-of-2"

[workload.mail]
volume      = "mail"
client      = "app"
kind        = "ssio"
reads       = "80%"
access      = "64 KiB"
outstanding = 8
"#;

#[test]
fn uplinks_of_racks_are_predicted_within_ten_percent_of_what_happens() {
    let place = Place::with(RACKS);
    let dir = place.keep("run", &[]);
    for changes in [
        &[][..],
        &["switch.uplink=800 Mbit/s"],
        &["switch.uplink=100 Gbit/s"],
        &["client.app.rack=r0", "switch.uplink=1 Gbit/s"],
    ] {
        is_right(&dir, changes);
    }
    let dir = dir.to_str().unwrap();
    let slow = ["ask", dir, "--json", "--what-if", "switch.uplink=800 Mbit/s"];
    let bottleneck = json(&succeed(slow))["bottleneck"].clone();
    assert_eq!(bottleneck["resource"], "uplink_transmit", "{bottleneck}");
}

#[test]
fn what_is_on_its_way_over_a_long_link_does_not_wait_in_a_port() {
    let place = Place::with(RACKS);
    let dir = place.keep("run", &[]);
    // a port holds 512 KiB, and 5 ms of a link that is fully used are 6 MB
    for changes in [
        &["node.brick.nic.latency=1ms"][..],
        &["node.brick.nic.latency=5ms"],
        &["node.brick.nic.latency=10ms", "client.app.nic.latency=5ms"],
    ] {
        is_right(&dir, changes);
    }
}

#[test]
fn the_fast_model_follows_more_requests_than_its_usual_stretches_hold() {
    let place = Place::with(RACKS);
    // caches that are full soon, and 4000 requests outstanding
    let many = ["--set", "node.brick.cache.size=16 MiB", "--set", "workload.mail.outstanding=2000"];
    let dir = place.keep("run", &many);
    let fast = |change: &str| {
        json(&succeed([
            "ask",
            dir.to_str().unwrap(),
            "--json",
            "--model",
            "fast",
            "--what-if",
            change,
        ]))
    };
    for change in ["client.app.nic.rate=1 Gbit/s", "volume.mail.encoding=1-of-3"] {
        let predicted = &fast(change)["workloads"]["mail"]["throughput_rps"];
        let changed = [&["--json", "--no-records"], &many[..], &["--set", change]].concat();
        let truth = truth(&succeed(place.arguments(&changed)));
        let error = predicted.as_f64().unwrap()
            / truth["workloads"]["mail"]["throughput_rps"].as_f64().unwrap()
            - 1.0;
        println!("{change}: {:.1} % off", 100.0 * error);
        assert!(error.abs() < 0.1, "{change}: {:.1} % off", 100.0 * error);
    }
    // without failures nothing waits for servers that are down
    let notes = fast("volume.mail.min_write=2")["notes"].to_string();
    assert!(notes.contains("no server fails in this scenario"), "{notes}");
}

/// Ceph with three copies on four nodes, whose links limit writes.
const COPIES: &str = r#"
seed = 7
warmup = "1 s"
duration = "5 s"

[cluster]
system = "ceph"

[node.osd]
count = 4
cpu   = "xeon-2023"
nic   = { rate = "2 Gbit/s" }
cache = { size = "256 MiB" }
disk  = [{ device = "optane-p4800x", scheduler = "noop" }]

[client.app]
count = 2
cpu   = "xeon-2023"
nic   = { rate = "10 Gbit/s" }

[volume.mail]
size     = "1 GiB"
nodes    = "osd"
encoding = "1-of-3"

[workload.mail]
volume      = "mail"
client      = "app"
kind        = "ssio"
reads       = "30%"
access      = "64 KiB"
outstanding = 8
"#;

#[test]
fn second_adapters_are_predicted_within_ten_percent_of_what_happens() {
    let place = Place::with(COPIES);
    let dir = place.keep("run", &[]);
    let added = "node.osd.cluster_nic={ rate = \"1 Gbit/s\" }";
    for changes in [&[added][..], &["node.osd.cluster_nic={ rate = \"10 Gbit/s\" }"]] {
        is_right(&dir, changes);
    }
    let asked = ["ask", dir.to_str().unwrap(), "--json", "--what-if", added];
    let bottleneck = json(&succeed(asked))["bottleneck"].clone();
    let resource = bottleneck["resource"].as_str().unwrap();
    assert!(resource.starts_with("cluster_nic_"), "{bottleneck}");
    // recorded with second adapters, asked without
    let both = place.keep("both", &["--set", added]);
    for changes in [
        &["node.osd.cluster_nic.rate=3 Gbit/s"][..],
        &["node.osd.cluster_nic=none", "node.osd.nic.rate=10 Gbit/s"],
    ] {
        is_right(&both, changes);
    }
}

/// Ceph with a gateway in front of coded data on disks; the bucket index has copies on flash.
const GATEWAYS: &str = r#"
seed = 3
warmup = "5 s"
duration = "40 s"

[cluster]
system  = "ceph"
gateway = { hosts = "rgw0" }

[node.osd]
count = 4
cpu   = "xeon-2023"
cache = { size = "256 MiB" }
disk  = ["cheetah-15k", "cheetah-15k"]

[node.fast]
count = 3
cpu   = "xeon-2023"
cache = { size = "256 MiB" }
disk  = ["sata-ssd"]

[client.rgw]
count = 2
cpu   = { profile = "xeon-2023", cores = 2 }

[client.app]
count = 2
cpu   = "xeon-2023"

[volume.photos]
size         = "8 GiB"
nodes        = "osd"
encoding     = "2-of-3"
bucket_index = "index"

[volume.index]
size     = "64 MiB"
nodes    = "fast"
encoding = "1-of-2"

[workload.photos]
volume      = "photos"
client      = "app"
kind        = "ssio"
reads       = "60%"
access      = "256 KiB"
outstanding = 8

[tracking]
overhead = false
"#;

#[test]
fn gateways_are_predicted_within_ten_percent_of_what_happens() {
    let place = Place::with(GATEWAYS);
    let dir = place.keep("run", &[]);
    for changes in [
        &[][..],
        &["cluster.gateway.write.fixed=40 ms", "cluster.gateway.read.fixed=40 ms"],
        &["client.rgw.nic.rate=200 Mbit/s"],
        &["cluster.gateway.hosts=rgw", "client.rgw.nic.rate=200 Mbit/s"],
        &["volume.index.nodes=osd"],
        &["volume.photos.encoding=1-of-3"],
        &["workload.photos.outstanding=3"],
    ] {
        is_right(&dir, changes);
    }
    let slow =
        ["ask", dir.to_str().unwrap(), "--json", "--what-if", "cluster.gateway.read.fixed=40 ms"];
    let bottleneck = json(&succeed(slow))["bottleneck"].clone();
    assert_eq!((&bottleneck["host"], &bottleneck["resource"]), (&"rgw0".into(), &"cpu".into()));
    // gateways are taken away, and introduced
    let none = ["cluster.gateway=none", "volume.photos.bucket_index=none"];
    is_right(&dir, &none);
    let set: Vec<&str> = none.iter().flat_map(|change| ["--set", change]).collect();
    let without = place.keep("without", &set);
    is_right(
        &without,
        &["cluster.gateway={ hosts = \"rgw\" }", "volume.photos.bucket_index=index"],
    );
}

/// COSBench through gateways: 8 workers that write objects of 6 MB.
const COSBENCH: &str = r#"<workload name="w"><storage type="none"/><workflow><workstage name="main">
<work name="main" workers="8" runtime="20"><operation type="write" ratio="100"
config="cprefix=s3;containers=u(1,2);objects=u(1,50);sizes=c(6)MB"/></work>
</workstage></workflow></workload>"#;

/// fio with 24 requests outstanding.
const FIO: &str =
    "[a]\nrw=randwrite\nbs=64k\niodepth=8\nnumjobs=3\nruntime=20\ntime_based\nsize=1g\n";

#[test]
fn questions_about_cosbench_and_fio_know_how_many_requests_were_outstanding() {
    let place = Place::with(GATEWAYS);
    for (kind, text) in [("cosbench", COSBENCH), ("fio", FIO)] {
        let file = place.path(&format!("{kind}.jobs"));
        std::fs::write(&file, text).unwrap();
        let workload = format!(
            "workload.photos={{ volume = \"photos\", client = \"app0\", kind = \"{kind}\", file = {:?} }}",
            file.display().to_string()
        );
        let dir = place.keep(kind, &["--set", &workload, "--set", "duration=15 s"]);
        for changes in [&[][..], &["client.rgw.nic.rate=300 Mbit/s"]] {
            is_right(&dir, changes);
        }
    }
}
