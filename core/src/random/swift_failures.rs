//! Random failures in clusters of Swift: generator `failures2`.
//!
//! In half of the questions a host or a disk fails, for a while or for good, or a link fails. In the others
//! a host, a disk or a link becomes slow, or a host joins or is drained. Replicators pause for only a few
//! seconds between passes, so that recoveries end within the run. Some reads ask for the newest version. A
//! quarter of the questions change the load, too.

use foretell_scenarios::{Change, Document};

use super::Dice;
use super::failures::{SIZES, draw_other_load};
use super::ursa_minor::Cluster;

/// Gives the volumes of a cluster copies that tolerate the loss of a node.
pub(super) fn fit(dice: &mut Dice, document: &mut Document, cluster: &Cluster) -> Option<()> {
    let nodes = cluster.nodes().join(", ");
    for (name, _) in &cluster.workloads {
        let copies = dice.of(&[2, 3, 3, 3]);
        let size = dice.of(&SIZES);
        let mut set = |key: &str, value: &str| document.set(&format!("volume.{name}.{key}"), value);
        set("size", size).ok()?;
        set("encoding", &format!("1-of-{copies}")).ok()?;
        set("nodes", &nodes).ok()?;
    }
    if dice.chance(0.15) {
        document.set("cluster.x_newest", "true").ok()?;
    }
    document.check().ok().map(drop)
}

/// A question about a failure.
pub(super) fn draw_changes(dice: &mut Dice, cluster: &Cluster) -> Option<Vec<Change>> {
    let host = dice.of(&cluster.nodes()).clone();
    let at = dice.between(8, 15);
    let kind = dice.between(0, 19);
    let what = match kind % 5 {
        0 | 1 => format!("host = \"{host}\""),
        2 | 3 => format!("disk = \"{host}.disk0\""),
        _ => format!("link = \"{host}\""),
    };
    let lasts = dice.between(15, 30);
    let event = match kind {
        0..=4 => {
            let factor = if kind == 4 { dice.of(&[10, 30, 100]) } else { dice.of(&[2, 4, 8]) };
            format!("what = \"slow\", {what}, factor = {factor}, for = \"{lasts} s\"")
        }
        5..=14 if dice.chance(0.5) => format!("what = \"fail\", {what}, for = \"{lasts} s\""),
        5..=14 => format!("what = \"fail\", {what}"),
        15 | 16 => format!("what = \"add\", host = \"{host}\""),
        _ => format!("what = \"drain\", host = \"{host}\""),
    };
    let mut texts = vec![format!("event.one={{ at = \"{at} s\", {event} }}")];
    texts.push(format!(
        "recovery={{ node_timeout = \"{} s\", error_suppression_interval = \"{} s\", replicator_interval = \
         \"{} s\", replicator_concurrency = {} }}",
        dice.of(&[1, 3, 10]),
        dice.of(&[5, 20, 60]),
        dice.of(&[2, 5, 10]),
        dice.of(&[1, 1, 2, 4]),
    ));
    draw_other_load(dice, cluster, &mut texts);
    texts.iter().map(|text| text.parse().ok()).collect()
}
