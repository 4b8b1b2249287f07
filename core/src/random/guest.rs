//! Random virtual machines, and questions about them.
//!
//! 1 to 6 guests run on one machine, each with a file system and a block layer. They use 1 to 4
//! storage nodes of Ursa Minor. Some of the nodes are storage servers without a cache of their own in
//! front of an array.

use std::fmt::{Display, Write};

use super::Dice;
use super::ursa_minor::{CACHES, CPUS, Cluster, POLICIES, RATES, draw_workload};

const GUEST_SCHEDULERS: [&str; 3] = ["cfq", "noop", "deadline"];
const DEPTHS: [u32; 5] = [1, 4, 8, 32, 128];
const LARGEST: [&str; 3] = ["16 KiB", "64 KiB", "512 KiB"];
const COMMITS: [&str; 4] = ["0 s", "500 ms", "5 s", "30 s"];
const HYPERVISORS: [&str; 3] = ["0 s", "5 us", "50 us"];
const ENCODINGS: [(u32, u32); 4] = [(1, 1), (1, 2), (1, 3), (2, 3)];

/// A machine with guests, and the storage that they reach through its adapter.
pub(super) fn draw_cluster(dice: &mut Dice) -> (String, Cluster) {
    let mut text = String::from("warmup = \"20 s\"\nduration = \"20 s\"\n");
    let _ = writeln!(text, "seed = {}", dice.between(1, 1 << 30));
    text += "tracking = { types = [\"request\"], overhead = true }\n";
    let nodes = dice.between(1, 4);
    let (cpu, rate) = (dice.of(&CPUS), dice.of(&RATES[..3]));
    let array = dice.chance(0.25);
    let (cache, disk) = if array {
        ("size = \"0 B\"".to_owned(), "ds8700-raid5")
    } else {
        let size = dice.of(&CACHES);
        let policy = if dice.chance(0.5) { "lru" } else { dice.of(&POLICIES) };
        let write = if dice.chance(0.5) { "through" } else { "back" };
        (
            format!("policy = \"{policy}\", size = \"{size}\", write = \"{write}\""),
            *dice.of(dice.disks),
        )
    };
    let _ = writeln!(
        text,
        "[node.server]\ncount = {nodes}\ncpu = \"{cpu}\"\ncache = {{ {cache} }}\ndisk = \
         [\"{disk}\"]\nnic = {{ rate = \"{rate}\" }}"
    );
    let guests = dice.between(1, 6);
    let (cpu, rate) = (dice.of(&CPUS), dice.of(&RATES[..3]));
    let (scheduler, depth) = (dice.of(&GUEST_SCHEDULERS), dice.of(&DEPTHS));
    let (largest, commit) = (dice.of(&LARGEST), dice.of(&COMMITS));
    let _ = writeln!(
        text,
        "[client.app]\ncount = {guests}\ncpu = \"{cpu}\"\nnic = {{ rate = \"{rate}\" }}\nguest = {{ \
         scheduler = \"{scheduler}\", queue_depth = {depth}, largest = \"{largest}\", journal_commit = \
         \"{commit}\", hypervisor = \"{}\" }}",
        dice.of(&HYPERVISORS)
    );
    let groups = vec![("server".to_owned(), nodes)];
    let mut cluster = Cluster { groups, clients: guests, workloads: Vec::new() };
    for index in 0..dice.between(1, 2) {
        let name = ["mail", "web"][index as usize].to_owned();
        let (m, n) = dice.of(&ENCODINGS);
        let size = dice.of(&[1, 2, 4, 8, 16]);
        let _ = writeln!(
            text,
            "[volume.{name}]\nsize = \"{size} GiB\"\nnodes = \"server\"\nencoding = \"{m}-of-{n}\""
        );
        let rate = dice.chance(0.3).then(|| dice.between(10, 100));
        let workload = draw_workload(dice, &name, guests, rate);
        let _ = writeln!(text, "[workload.{name}]\n{workload}");
        cluster.workloads.push((name, rate));
    }
    (text, cluster)
}

/// A change, or `None` if the drawn change does not apply.
pub(super) fn draw_change(dice: &mut Dice, cluster: &Cluster) -> Option<String> {
    let (name, rate) = dice.of(&cluster.workloads).clone();
    Some(match dice.between(0, 13) {
        0 | 1 => set("scheduler", dice.of(&GUEST_SCHEDULERS)),
        2 | 3 => set("queue_depth", dice.of(&DEPTHS)),
        4 => set("largest", dice.of(&LARGEST)),
        5 => set("journal_commit", dice.of(&COMMITS)),
        6 => set("hypervisor", dice.of(&HYPERVISORS)),
        7 => {
            let (m, n) = dice.of(&ENCODINGS);
            format!("volume.{name}.encoding={m}-of-{n}")
        }
        8 => format!("node.server.cache.size={}", dice.of(&CACHES)),
        9 => format!("node.server.disk.0.device={}", dice.of(dice.disks)),
        10 => format!("client.app.nic.rate={}", dice.of(&RATES)),
        11 if rate.is_none() => {
            format!("workload.{name}.outstanding={}", dice.of(&[1, 2, 4, 8, 16, 32]))
        }
        12 => {
            let rate = rate?;
            format!("workload.{name}.rate={}", (rate * dice.between(5, 15) / 10).max(1))
        }
        13 => {
            let last = dice.between(0, cluster.clients - 1);
            format!("workload.{name}.client=app[0-{last}]")
        }
        _ => return None,
    })
}

fn set<T: Display>(key: &str, value: &T) -> String {
    format!("client.app.guest.{key}={value}")
}
