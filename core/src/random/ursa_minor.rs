//! Random clusters of Ursa Minor, and questions about them: generator `v1`.
//!
//! 3 to 12 nodes of mixed hardware, 1 to 4 workloads, any encoding, cipher and placement, and one or
//! two changes.

use std::fmt::Write;

use super::Dice;

pub(super) const CPUS: [&str; 3] = ["pentium4-2.6", "pentium4-3.0", "xeon-2023"];
pub(super) const DISKS: [&str; 6] =
    ["sata-7200-2005", "barracuda-7200.8", "cheetah-15k", "fc-15k-2008", "sata-ssd", "nvme-3gbs"];
pub(super) const POLICIES: [&str; 9] =
    ["lru", "fifo", "clock", "lfu", "2q", "arc", "lirs", "s3-fifo", "sieve"];
pub(super) const SCHEDULERS: [&str; 6] = ["elevator", "fcfs", "sstf", "noop", "deadline", "cfq"];
pub(super) const CACHES: [&str; 6] = ["32 MiB", "64 MiB", "128 MiB", "256 MiB", "512 MiB", "1 GiB"];
const ENCODINGS: [(u32, u32); 9] =
    [(1, 1), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 5), (4, 5), (4, 6)];
pub(super) const RATES: [&str; 4] = ["1 Gbit/s", "1 Gbit/s", "10 Gbit/s", "100 Mbit/s"];
pub(super) const ACCESSES: [&str; 6] = ["4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB", "256 KiB"];

/// The properties of the drawn cluster that questions need.
pub(super) struct Cluster {
    /// Storage nodes by group: name and count.
    pub(super) groups: Vec<(String, u64)>,
    pub(super) clients: u64,
    /// Workloads by name, each with a volume of the same name. The number is the arrival rate, or `None` for
    /// a closed loop.
    pub(super) workloads: Vec<(String, Option<u64>)>,
}

impl Cluster {
    /// The names of all storage nodes.
    pub(super) fn nodes(&self) -> Vec<String> {
        let names = |(group, count): &(String, u64)| {
            (0..*count).map(|index| format!("{group}{index}")).collect::<Vec<_>>()
        };
        self.groups.iter().flat_map(names).collect()
    }
}

pub(super) fn draw_cluster(dice: &mut Dice) -> (String, Cluster) {
    let total = dice.between(3, 12);
    let kinds = dice.between(1, 3).min(total);
    let mut text = String::from("warmup = \"20 s\"\nduration = \"20 s\"\n");
    let _ = writeln!(text, "seed = {}", dice.between(1, 1 << 30));
    // predictions need the records of requests only; the other types also cost time
    text += if dice.chance(0.8) {
        "tracking = { types = [\"request\"], overhead = true }\n"
    } else {
        "tracking = { overhead = true }\n"
    };
    let mut groups = Vec::new();
    let mut left = total;
    for kind in 0..kinds {
        let others = kinds - kind - 1;
        let count = if others == 0 { left } else { dice.between(1, left - others) };
        left -= count;
        let name = ["brick", "slab", "tile"][kind as usize].to_owned();
        draw_node(dice, &mut text, &name, count);
        groups.push((name, count));
    }
    let clients = dice.between(1, 4);
    let (cpu, rate) = (dice.of(&CPUS), dice.of(&RATES[..3]));
    let _ = writeln!(
        text,
        "[client.app]\ncount = {clients}\ncpu = \"{cpu}\"\nnic = {{ rate = \"{rate}\" }}"
    );
    let mut cluster = Cluster { groups, clients, workloads: Vec::new() };
    let workloads = dice.between(1, 4);
    for index in 0..workloads {
        let name = ["mail", "web", "home", "logs"][index as usize].to_owned();
        let (m, n) = *dice.of(&ENCODINGS);
        let nodes = draw_nodes(dice, &cluster, u64::from(n));
        let size = dice.of(&[1, 2, 4, 8, 16]);
        let cipher = if dice.chance(0.3) { "aes-128-cbc" } else { "none" };
        let placement = if dice.chance(0.3) { "hash" } else { "rotate" };
        let read_from = if dice.chance(0.2) { "random" } else { "primary" };
        let quorum =
            if dice.chance(0.15) && m < n { (m + 1).to_string() } else { "\"all\"".into() };
        let _ = writeln!(
            text,
            "[volume.{name}]\nsize = \"{size} GiB\"\nnodes = \"{nodes}\"\nencoding = \
             \"{m}-of-{n}\"\ncipher = \"{cipher}\"\nplacement = \"{placement}\"\nread_from = \
             \"{read_from}\"\nwrite_quorum = {quorum}"
        );
        let rate = dice.chance(0.25).then(|| dice.between(5, 80));
        let workload = draw_workload(dice, &name, clients, rate);
        let _ = writeln!(text, "[workload.{name}]\n{workload}");
        cluster.workloads.push((name, rate));
    }
    (text, cluster)
}

fn draw_node(dice: &mut Dice, text: &mut String, name: &str, count: u64) {
    let cpu = dice.of(&CPUS);
    let policy = if dice.chance(0.5) { "lru" } else { dice.of(&POLICIES) };
    let size = dice.of(&CACHES);
    let disk = dice.of(dice.disks);
    let scheduler = if dice.chance(0.5) { "elevator" } else { dice.of(&SCHEDULERS) };
    let disks = *dice.of(&[1, 1, 1, 2, 3]);
    let rate = dice.of(&RATES);
    let through = dice.chance(0.15);
    let write = if through { "through" } else { "back" };
    let _ = writeln!(
        text,
        "[node.{name}]\ncount = {count}\ncpu = \"{cpu}\"\ncache = {{ policy = \"{policy}\", size = \
         \"{size}\", write = \"{write}\" }}\ndisk = [{{ device = \"{disk}\", scheduler = \
         \"{scheduler}\", count = {disks} }}]\nnic = {{ rate = \"{rate}\" }}"
    );
    if dice.chance(0.25) {
        *text += "layout = \"log-structured\"\n";
        if !through && dice.chance(0.5) {
            *text += "nvram = \"16 MiB\"\n";
        }
    }
}

/// A list of at least `least` consecutive nodes.
pub(super) fn draw_nodes(dice: &mut Dice, cluster: &Cluster, least: u64) -> String {
    let nodes = cluster.nodes();
    let count = dice.between(least.min(nodes.len() as u64), nodes.len() as u64);
    let first = dice.between(0, nodes.len() as u64 - 1) as usize;
    let names: Vec<String> =
        (0..count as usize).map(|at| nodes[(first + at) % nodes.len()].clone()).collect();
    names.join(", ")
}

/// The keys of a workload. `rate` is the arrival rate of an open workload.
pub(super) fn draw_workload(
    dice: &mut Dice,
    volume: &str,
    clients: u64,
    rate: Option<u64>,
) -> String {
    let first = dice.between(0, clients - 1);
    let last = dice.between(first, clients - 1);
    let reads = dice.of(&[0, 20, 50, 70, 90, 100]);
    let pattern = match dice.between(0, 9) {
        0..4 => "random",
        4 | 5 => "sequential",
        6..9 => "zipf",
        _ => "hot-cold",
    };
    let access = dice.of(&ACCESSES);
    let share = dice.of(&[5, 20, 50, 100]);
    let mut text = format!(
        "volume = \"{volume}\"\nclient = \"app[{first}-{last}]\"\nkind = \"ssio\"\nreads = \
         \"{reads}%\"\npattern = \"{pattern}\"\naccess = \"{access}\"\nworking_set = \"{share}%\"\n"
    );
    if let Some(rate) = rate {
        let _ = writeln!(text, "arrivals = \"poisson\"\nrate = {rate}");
    } else {
        let _ = writeln!(text, "outstanding = {}", dice.of(&[1, 2, 3, 4, 6, 8, 12, 16, 32]));
        if dice.chance(0.3) {
            let ms = dice.of(&[1, 5, 20, 100]);
            let law = if dice.chance(0.5) { "exponential " } else { "" };
            let _ = writeln!(text, "think = \"{law}{ms} ms\"");
        }
    }
    text
}

/// A change, or `None` if the drawn change does not apply.
pub(super) fn draw_change(dice: &mut Dice, cluster: &Cluster) -> Option<String> {
    let (name, rate) = dice.of(&cluster.workloads).clone();
    let group = dice.of(&cluster.groups).0.clone();
    Some(match dice.between(0, 14) {
        0 | 1 => {
            let (m, n) = dice.of(&ENCODINGS);
            format!("volume.{name}.encoding={m}-of-{n}")
        }
        2 => {
            let cipher = dice.of(&["none", "aes-128-cbc"]);
            format!("volume.{name}.cipher={cipher}")
        }
        3 | 4 => format!("volume.{name}.nodes={}", draw_nodes(dice, cluster, 3)),
        5 if rate.is_none() => {
            let outstanding = dice.of(&[1, 2, 4, 8, 16, 32]);
            format!("workload.{name}.outstanding={outstanding}")
        }
        6 if rate.is_none() => {
            let think = dice.of(&["0 ms", "2 ms", "10 ms", "exponential 50 ms"]);
            format!("workload.{name}.think={think}")
        }
        7 => {
            let rate = dice.chance(0.3).then(|| dice.between(5, 60));
            let workload = draw_workload(dice, &name, cluster.clients, rate);
            let inline = workload.trim().replace('\n', ", ");
            format!("workload.new={{ {inline} }}")
        }
        8 if cluster.workloads.len() > 1 => format!("workload.{name}=none"),
        9 => format!("node.{group}.cache.size={}", dice.of(&CACHES)),
        10 => format!("node.{group}.cache.policy={}", dice.of(&POLICIES)),
        11 => format!("node.{group}.disk.0.device={}", dice.of(dice.disks)),
        12 => format!("node.{group}.nic.rate={}", dice.of(&RATES)),
        13 => {
            let client = dice.between(0, cluster.clients - 1);
            format!("workload.{name}.client=app{client}")
        }
        14 => {
            let rate = rate?;
            format!("workload.{name}.rate={}", (rate * dice.between(5, 20) / 10).max(1))
        }
        _ => return None,
    })
}
