//! Random failures of hosts: generator `failures`.
//!
//! Clusters are those of the first two generators. Their volumes suit a short run: they are up to 1 GiB, lie
//! on all nodes, and tolerate the loss of a node. In most questions a host (with Ceph sometimes a disk) fails
//! for good and is rebuilt elsewhere, or it returns and catches up, or its link fails. In the others a host,
//! a disk or a link becomes slow, a host joins or is drained, the encoding of a volume changes, or the
//! weight of an OSD changes. A quarter of the questions change the load, too.

use foretell_scenarios::{Change, Document};

use super::ursa_minor::Cluster;
use super::{Dice, System};

/// Warm-up and measured time.
pub const TIMES: (&str, &str) = ("10 s", "90 s");
/// Lowest rate of the slowest workload, and highest rate of all workloads together, in requests a second.
pub const RATES: (f64, f64) = (20.0, 8000.0);
/// Minimum number of requests of each workload in the degraded phase. With fewer, the truth itself is uncertain.
pub const MIN_DEGRADED: u64 = 100;

pub(super) const SIZES: [&str; 3] = ["256 MiB", "512 MiB", "1 GiB"];
const ENCODINGS: [(u64, u64); 7] = [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 5), (4, 6)];

/// Gives the volumes of a cluster encodings that tolerate the loss of a node.
pub(super) fn fit(
    dice: &mut Dice,
    document: &mut Document,
    cluster: &Cluster,
    system: System,
) -> Option<()> {
    let nodes = cluster.nodes();
    let fitting: Vec<(u64, u64)> =
        ENCODINGS.into_iter().filter(|(_, n)| *n <= nodes.len() as u64).collect();
    for (name, _) in &cluster.workloads {
        let (m, n) = *dice.of(&fitting);
        let size = dice.of(&SIZES);
        let mut set = |key: &str, value: &str| document.set(&format!("volume.{name}.{key}"), value);
        set("size", size).ok()?;
        set("encoding", &format!("{m}-of-{n}")).ok()?;
        set("nodes", &nodes.join(", ")).ok()?;
        if system == System::UrsaMinor {
            set("write_quorum", "all").ok()?;
        }
    }
    document.check().ok().map(drop)
}

/// A question about a failure.
pub(super) fn draw_changes(
    dice: &mut Dice,
    system: System,
    cluster: &Cluster,
) -> Option<Vec<Change>> {
    let is_ceph = system == System::Ceph;
    let host = dice.of(&cluster.nodes()).clone();
    let at = dice.between(8, 15);
    let mut texts = Vec::new();
    let kind = dice.between(0, 19);
    if kind < 6 {
        let (what, factors) = match kind {
            0 | 1 => (format!("host = \"{host}\""), [2, 4, 8]),
            2 | 3 => (format!("disk = \"{host}.disk0\""), [2, 4, 8]),
            _ => (format!("link = \"{host}\""), [10, 30, 100]),
        };
        let (factor, lasts) = (dice.of(&factors), dice.between(20, 40));
        texts.push(format!(
            "event.slow={{ at = \"{at} s\", what = \"slow\", {what}, factor = {factor}, for = \
             \"{lasts} s\" }}"
        ));
    } else if kind < 10 {
        texts.push(match kind {
            6 => format!("event.join={{ at = \"{at} s\", what = \"add\", host = \"{host}\" }}"),
            7 => format!("event.leave={{ at = \"{at} s\", what = \"drain\", host = \"{host}\" }}"),
            _ => {
                let (path, value) = if is_ceph {
                    let weight = dice.of(&["0", "0.3", "0.5", "0.8"]);
                    (format!("osd.{host}.disk0.reweight"), (*weight).to_owned())
                } else {
                    let (name, _) = dice.of(&cluster.workloads).clone();
                    let (m, n) = dice.of(&ENCODINGS);
                    (format!("volume.{name}.encoding"), format!("\"{m}-of-{n}\""))
                };
                format!(
                    "event.other={{ at = \"{at} s\", what = \"set\", set = {{ \"{path}\" = {value} }} }}"
                )
            }
        });
        let parallel = dice.of(&[1, 2, 4, 8]);
        texts.push(format!("recovery={{ parallel = {parallel} }}"));
    } else {
        let is_cut_off = kind == 10 || kind == 11;
        let what = if is_cut_off {
            format!("link = \"{host}\"")
        } else if is_ceph && dice.chance(0.3) {
            format!("disk = \"{host}.disk0\"")
        } else {
            format!("host = \"{host}\"")
        };
        let returns = dice.chance(0.5);
        let lasts = dice.between(15, 30);
        let lasts = if returns { format!(", for = \"{lasts} s\"") } else { String::new() };
        texts.push(format!("event.crash={{ at = \"{at} s\", what = \"fail\", {what}{lasts} }}"));
        let (grace, out_after) = (dice.between(2, 5), dice.between(5, 15));
        let out_after = if returns { "10 min".to_owned() } else { format!("{out_after} s") };
        let parallel = dice.of(&[1, 2, 4, 8]);
        let own = if is_ceph {
            format!("max_backfills = {}", dice.of(&[1, 2, 4]))
        } else {
            format!("timeout = \"{} ms\"", dice.of(&[300, 500, 1000]))
        };
        texts.push(format!(
            "recovery={{ heartbeat = \"1 s\", grace = \"{grace} s\", out_after = \"{out_after}\", parallel = \
             {parallel}, {own} }}"
        ));
    }
    draw_other_load(dice, cluster, &mut texts);
    texts.iter().map(|text| text.parse().ok()).collect()
}

/// In a quarter of all cases, another load.
pub(super) fn draw_other_load(dice: &mut Dice, cluster: &Cluster, texts: &mut Vec<String>) {
    if dice.chance(0.25) {
        let (name, rate) = dice.of(&cluster.workloads).clone();
        texts.push(match rate {
            Some(rate) => {
                format!("workload.{name}.rate={}", (rate * dice.between(5, 15) / 10).max(1))
            }
            None => format!("workload.{name}.outstanding={}", dice.of(&[1, 2, 4, 8, 16])),
        });
    }
}
