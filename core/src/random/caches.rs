//! Random clusters of Ursa Minor whose caches turn over, and questions about these caches: generator `caches`.
//!
//! The working set is larger than the caches, and requests prefer some addresses, so the policy decides what is
//! evicted. Caches are as large as the buffers of disks or larger, because predictions leave out what such a buffer
//! holds. The caller makes the warm-up long enough for requests to replace the contents of all caches several times
//! ([`seconds_to_turn_over`]).

use std::fmt::Write;

use foretell_scenarios::model::Scenario;

use super::Dice;
use super::ursa_minor::{Cluster, POLICIES, RATES};

const DISKS: [&str; 7] = [
    "sata-7200-2005",
    "cheetah-15k",
    "hdd-16tb-7200",
    "hdd-4tb-7200",
    "sata-ssd",
    "nvme-3gbs",
    "nvme-7gbs",
];
const ENCODINGS: [(u32, u32); 5] = [(1, 1), (1, 2), (1, 3), (2, 3), (3, 5)];
const ACCESSES: [&str; 4] = ["8 KiB", "16 KiB", "32 KiB", "64 KiB"];
const SIZES: [&str; 5] = ["128 MiB", "256 MiB", "512 MiB", "1 GiB", "2 GiB"];

pub(super) fn draw_cluster(dice: &mut Dice) -> (String, Cluster) {
    let count = dice.between(3, 8);
    let clients = dice.between(1, 4);
    let policy = if dice.chance(0.5) { "lru" } else { *dice.of(&POLICIES) };
    let mib = *dice.of(&[256, 512, 1024]);
    let disk = dice.of(&DISKS);
    let mut text = String::from("warmup = \"20 s\"\nduration = \"20 s\"\n");
    let _ = writeln!(text, "seed = {}", dice.between(1, 1 << 30));
    // without the processor time of records, and without most of their bytes
    text += "tracking = { overhead = false, types = [\"request\", \"buffer_read_hit\", \"buffer_read_miss\", \
             \"buffer_evict\"] }\n";
    let _ = writeln!(
        text,
        "[node.brick]\ncount = {count}\ncpu = \"xeon-2023\"\ncache = {{ policy = \"{policy}\", size = \
         \"{mib} MiB\" }}\ndisk = [\"{disk}\"]\nnic = {{ rate = \"10 Gbit/s\" }}\n[client.app]\ncount = \
         {clients}\ncpu = \"xeon-2023\"\nnic = {{ rate = \"10 Gbit/s\" }}"
    );
    let mut cluster =
        Cluster { groups: vec![("brick".to_owned(), count)], clients, workloads: Vec::new() };
    let workloads = dice.between(1, 2);
    for index in 0..workloads {
        let name = ["mail", "web"][index as usize].to_owned();
        let fits = |(_, n): &&(u32, u32)| u64::from(*n) <= count;
        let encodings: Vec<_> = ENCODINGS.iter().filter(fits).copied().collect();
        let (m, n) = *dice.of(&encodings);
        // the working sets of all workloads are 1.5 to 6 times the caches
        let size_mib = mib * count * dice.between(3, 12) / 2 / workloads;
        let read_from = if dice.chance(0.3) { "random" } else { "primary" };
        let _ = writeln!(
            text,
            "[volume.{name}]\nsize = \"{size_mib} MiB\"\nnodes = \"brick\"\nencoding = \"{m}-of-{n}\"\nread_from = \
             \"{read_from}\""
        );
        let reads = dice.of(&[60, 80, 90, 100]);
        let pattern = match dice.between(0, 5) {
            0..3 => format!("\"zipf\"\nalpha = {}", dice.of(&["0.7", "0.9", "0.99", "1.1"])),
            3 | 4 => "\"hot-cold\"".to_owned(),
            _ => "\"random\"".to_owned(),
        };
        let (access, outstanding) = (dice.of(&ACCESSES), dice.of(&[4, 8, 16]));
        let _ = writeln!(
            text,
            "[workload.{name}]\nvolume = \"{name}\"\nclient = \"app\"\nkind = \"ssio\"\nreads = \"{reads}%\"\npattern = \
             {pattern}\naccess = \"{access}\"\noutstanding = {outstanding}"
        );
        cluster.workloads.push((name, None));
    }
    (text, cluster)
}

/// A change, mostly one of caches.
pub(super) fn draw_change(dice: &mut Dice, cluster: &Cluster) -> String {
    let (name, _) = dice.of(&cluster.workloads).clone();
    match dice.between(0, 9) {
        0..4 => format!("node.brick.cache.policy={}", dice.of(&POLICIES)),
        4..6 => format!("node.brick.cache.size={}", dice.of(&SIZES)),
        6 => {
            let (m, n) = dice.of(&ENCODINGS[..3]);
            format!("volume.{name}.encoding={m}-of-{n}")
        }
        7 => format!("node.brick.disk.0.device={}", dice.of(&DISKS)),
        8 => format!("workload.{name}.outstanding={}", dice.of(&[1, 4, 8, 32])),
        _ => format!("node.brick.nic.rate={}", dice.of(&RATES)),
    }
}

/// Time in which requests at this rate, each of the workload's size, read and write as many bytes as all caches hold.
pub(crate) fn seconds_to_turn_over(scenario: &Scenario, bytes_per_s: f64) -> f64 {
    let storage = scenario.hosts.iter().filter_map(|host| host.role.storage());
    let cached: u64 = storage.map(|storage| storage.cache.size.get()).sum();
    cached as f64 / bytes_per_s.max(1.0)
}
