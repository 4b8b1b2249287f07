//! Random clusters of Ceph and of Swift, and questions about them.
//!
//! Clusters have 3 to 9 nodes of one or two kinds, each with 1 to 3 devices. Ceph clusters use `BlueStore` or
//! `FileStore`, replicated and erasure-coded pools, and monitors. Their nodes may be virtual machines. Swift
//! clusters have one to three proxies.

use std::fmt::Write;

use super::Dice;
use super::ursa_minor::{CACHES, CPUS, Cluster, POLICIES, RATES, SCHEDULERS, draw_workload};

const POOLS: [(u32, u32); 8] = [(1, 1), (1, 2), (1, 3), (1, 3), (2, 3), (2, 4), (3, 5), (4, 6)];
const COPIES: [u32; 3] = [2, 3, 4];
const CORES: [u32; 4] = [1, 2, 4, 16];
const GROUPS_PER_OSD: [u32; 4] = [10, 30, 100, 200];
const DEFERRED: [&str; 3] = ["4 KiB", "16 KiB", "64 KiB"];
const POWERS: [u32; 3] = [6, 10, 14];
const BANDWIDTHS: [&str; 3] = ["100 Mbit/s", "250 Mbit/s", "500 Mbit/s"];

/// A cluster of Ceph.
pub(super) fn draw_ceph(dice: &mut Dice) -> (String, Cluster) {
    let mut cluster = draw_hosts(dice);
    let mut text = head(dice);
    text += "[cluster]\nsystem = \"ceph\"\n";
    let _ = writeln!(text, "placement_groups_per_osd = {}", dice.of(&GROUPS_PER_OSD));
    if dice.chance(0.3) {
        text += "store = \"filestore\"\n";
    } else {
        let _ = writeln!(text, "deferred_below = \"{}\"", dice.of(&DEFERRED));
    }
    let has_monitors = dice.chance(0.5);
    if has_monitors {
        text += "monitors = \"mon\"\n";
    }
    let virtual_machines = dice.chance(0.2);
    for (name, count) in cluster.groups.clone() {
        draw_node(dice, &mut text, &name, count);
        if virtual_machines {
            let _ = writeln!(text, "machine = {{ count = {} }}", dice.between(1, count));
        }
    }
    draw_client(dice, &mut text, "app", cluster.clients);
    if has_monitors {
        draw_client(dice, &mut text, "mon", 1);
    }
    draw_load(dice, &mut text, &mut cluster, |dice| {
        let (m, n) = dice.of(&POOLS);
        format!("{m}-of-{n}")
    });
    (text, cluster)
}

/// A cluster of Swift.
pub(super) fn draw_swift(dice: &mut Dice) -> (String, Cluster) {
    let mut cluster = draw_hosts(dice);
    let mut text = head(dice);
    let power = dice.of(&POWERS);
    let _ = writeln!(
        text,
        "[cluster]\nsystem = \"swift\"\nproxies = \"proxy\"\npartition_power = {power}"
    );
    for (name, count) in cluster.groups.clone() {
        draw_node(dice, &mut text, &name, count);
    }
    draw_client(dice, &mut text, "app", cluster.clients);
    let proxies = dice.between(1, 3);
    draw_client(dice, &mut text, "proxy", proxies);
    draw_load(dice, &mut text, &mut cluster, |dice| format!("1-of-{}", dice.of(&COPIES)));
    (text, cluster)
}

fn head(dice: &mut Dice) -> String {
    let mut text = String::from("warmup = \"20 s\"\nduration = \"20 s\"\n");
    let _ = writeln!(text, "seed = {}", dice.between(1, 1 << 30));
    text += if dice.chance(0.8) {
        "tracking = { types = [\"request\"], overhead = true }\n"
    } else {
        "tracking = { overhead = true }\n"
    };
    text
}

fn draw_hosts(dice: &mut Dice) -> Cluster {
    let total = dice.between(3, 9);
    let first = if dice.chance(0.3) { dice.between(1, total - 1) } else { total };
    let mut groups = vec![("osd".to_owned(), first)];
    if first < total {
        groups.push(("slab".to_owned(), total - first));
    }
    let clients = dice.between(1, 4);
    Cluster { groups, clients, workloads: Vec::new() }
}

fn draw_node(dice: &mut Dice, text: &mut String, name: &str, count: u64) {
    let (cpu, cores) = (dice.of(&CPUS), dice.of(&CORES));
    let policy = if dice.chance(0.5) { "lru" } else { dice.of(&POLICIES) };
    let (size, disk, disks) = (dice.of(&CACHES), dice.of(dice.disks), dice.between(1, 3));
    let scheduler = if dice.chance(0.5) { "noop" } else { dice.of(&SCHEDULERS) };
    let rate = dice.of(&RATES);
    let _ = writeln!(
        text,
        "[node.{name}]\ncount = {count}\ncpu = {{ profile = \"{cpu}\", cores = {cores} }}\ncache = {{ \
         policy = \"{policy}\", size = \"{size}\" }}\ndisk = [{{ device = \"{disk}\", scheduler = \
         \"{scheduler}\", count = {disks} }}]\nnic = {{ rate = \"{rate}\" }}"
    );
}

fn draw_client(dice: &mut Dice, text: &mut String, name: &str, count: u64) {
    let (cpu, rate) = (dice.of(&CPUS), dice.of(&RATES[..3]));
    let _ = writeln!(
        text,
        "[client.{name}]\ncount = {count}\ncpu = \"{cpu}\"\nnic = {{ rate = \"{rate}\" }}"
    );
}

fn draw_load(
    dice: &mut Dice,
    text: &mut String,
    cluster: &mut Cluster,
    encoding: impl Fn(&mut Dice) -> String,
) {
    for index in 0..dice.between(1, 3) {
        let name = ["mail", "web", "home"][index as usize].to_owned();
        let size = dice.of(&[1, 2, 4, 8, 16]);
        let nodes = cluster.nodes().join(", ");
        let encoding = encoding(dice);
        let _ = writeln!(
            text,
            "[volume.{name}]\nsize = \"{size} GiB\"\nnodes = \"{nodes}\"\nencoding = \"{encoding}\""
        );
        let rate = dice.chance(0.3).then(|| dice.between(10, 150));
        let workload = draw_workload(dice, &name, cluster.clients, rate);
        let _ = writeln!(text, "[workload.{name}]\n{workload}");
        cluster.workloads.push((name, rate));
    }
}

/// A change of a cluster of Ceph, or `None` if the drawn change does not apply.
pub(super) fn draw_ceph_change(dice: &mut Dice, cluster: &Cluster) -> Option<String> {
    let (name, _) = dice.of(&cluster.workloads).clone();
    let group = dice.of(&cluster.groups).0.clone();
    Some(match dice.between(0, 9) {
        0 | 1 => {
            let (m, n) = dice.of(&POOLS);
            format!("volume.{name}.encoding={m}-of-{n}")
        }
        2 => format!("cluster.placement_groups_per_osd={}", dice.of(&GROUPS_PER_OSD)),
        3 => format!("cluster.store={}", dice.of(&["bluestore", "filestore"])),
        4 => format!("cluster.deferred_below={}", dice.of(&DEFERRED)),
        5 if dice.chance(0.5) => {
            format!("node.{group}.machine.bandwidth={}", dice.of(&BANDWIDTHS))
        }
        _ => return draw_common_change(dice, cluster),
    })
}

/// A change of a cluster of Swift, or `None` if the drawn change does not apply.
pub(super) fn draw_swift_change(dice: &mut Dice, cluster: &Cluster) -> Option<String> {
    let (name, _) = dice.of(&cluster.workloads).clone();
    Some(match dice.between(0, 7) {
        0 => format!("volume.{name}.encoding=1-of-{}", dice.of(&COPIES)),
        1 => format!("cluster.partition_power={}", dice.of(&POWERS)),
        2 => format!("client.proxy.count={}", dice.between(1, 4)),
        3 => format!("client.proxy.cpu.cores={}", dice.of(&CORES)),
        _ => return draw_common_change(dice, cluster),
    })
}

fn draw_common_change(dice: &mut Dice, cluster: &Cluster) -> Option<String> {
    let (name, rate) = dice.of(&cluster.workloads).clone();
    let group = dice.of(&cluster.groups).0.clone();
    Some(match dice.between(0, 10) {
        0 => format!("node.{group}.cpu.cores={}", dice.of(&CORES)),
        1 => format!("node.{group}.disk.0.device={}", dice.of(dice.disks)),
        2 => format!("node.{group}.nic.rate={}", dice.of(&RATES)),
        3 => format!("node.{group}.cache.size={}", dice.of(&CACHES)),
        4 => format!("node.{group}.cache.policy={}", dice.of(&POLICIES)),
        5 if rate.is_none() => {
            format!("workload.{name}.outstanding={}", dice.of(&[1, 2, 4, 8, 16, 32]))
        }
        6 => {
            let rate = rate?;
            format!("workload.{name}.rate={}", (rate * dice.between(5, 15) / 10).max(1))
        }
        7 if cluster.workloads.len() > 1 => format!("workload.{name}=none"),
        8 => format!("workload.{name}.client=app{}", dice.between(0, cluster.clients - 1)),
        9 => {
            let nodes = cluster.nodes();
            let count = dice.between(3, nodes.len() as u64) as usize;
            format!("volume.{name}.nodes={}", nodes[..count].join(", "))
        }
        10 => {
            let workload = draw_workload(dice, &name, cluster.clients, None);
            format!("workload.new={{ {} }}", workload.trim().replace('\n', ", "))
        }
        _ => return None,
    })
}
