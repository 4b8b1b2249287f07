//! CPU-seconds of large Ceph clusters that lose a rack while clients go on.

#[path = "../tests/common/mod.rs"]
mod common;

use common::run;
use cpu_time::ProcessTime;
use foretell_scenarios::Document;

/// A cluster of `hosts` hosts with ten disks each, in `racks` racks, and 2,000 requests a second.
fn cluster(hosts: u32, racks: u32, data: &str, duration: &str) -> String {
    let names: Vec<String> = (0..racks).map(|rack| format!("\"r{rack}\"")).collect();
    format!(
        r#"
warmup   = "2 s"
duration = "{duration}"
record   = "none"

[cluster]
system   = "ceph"
monitors = "mon"

[node.osd]
count = {hosts}
rack  = [{racks}]
cpu   = {{ profile = "xeon-2023", cores = 32 }}
cache = {{ size = "2 GiB" }}
disk  = [{{ device = "hdd-4tb-7200", scheduler = "elevator", count = 10 }}]
nic   = {{ rate = "25 Gbit/s", latency = "5 us" }}

[client.mon]
count = 3
cpu   = "xeon-2023"
nic   = {{ rate = "25 Gbit/s", latency = "5 us" }}

[client.app]
count = 10
cpu   = "xeon-2023"
nic   = {{ rate = "25 Gbit/s", latency = "5 us" }}

[switch]
model = "queue"

[volume.images]
size           = "{data}"
nodes          = "osd"
encoding       = "1-of-3"
failure_domain = "rack"

[workload.vms]
volume   = "images"
client   = "app"
kind     = "ssio"
reads    = "70%"
access   = "4 KiB"
arrivals = "poisson"
rate     = 200

[tracking]
overhead = false

[event.rack]
at   = "60 s"
what = "fail"
rack = "r3"

[recovery]
out_after = "30 s"
"#,
        racks = names.join(", "),
    )
}

fn main() {
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    for (what, scenario) in [
        ("1,000 OSDs, ten minutes", cluster(100, 10, "2 TiB", "10 min")),
        ("10,000 OSDs, an hour", cluster(1000, 50, "20 TiB", "1 h")),
    ] {
        if wanted.as_ref().is_some_and(|wanted| !what.contains(wanted.as_str())) {
            continue;
        }
        let document = Document::parse("rack", &scenario, ".").expect("it is TOML");
        let scenario = document.check().expect("it is a scenario");
        let start = ProcessTime::now();
        let truth = run(&scenario).expect("it runs");
        let cpu_s = start.elapsed().as_secs_f64();
        let recoveries = truth.outages.iter().flat_map(|outages| &outages.recoveries);
        let bytes: u64 = recoveries.map(|recovery| recovery.bytes_written).sum();
        println!(
            "{what}: {cpu_s:.1} CPU-s, {} events, {} requests, {:.0} GB rebuilt",
            truth.events,
            truth.requests_completed,
            bytes as f64 / 1e9
        );
    }
}
