//! A cluster as a scenario. The report's data become hosts, drives and volumes. Everything else is assumed,
//! and every assumption is marked in a comment.
//!
//! Volumes are placed by the cluster's own map. Left out, with a comment in the scenario: separate devices for
//! databases and logs, cache tiers, compression, snapshots, pools that no rule can place.

mod devices;
mod hosts;
mod load;
mod names;
mod pools;

use std::fmt::Write as _;

use foretell_algorithms::crush::{ClusterMap, ClusterMapError};
use foretell_input::one_line;

use crate::inventory::Inventory;
use hosts::Cluster;

/// A scenario of a cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scenario {
    /// TOML.
    pub text: String,
    /// Differences from the cluster, for users; also among the text's comments.
    pub caveats: Vec<String>,
    /// Measurements that would replace the most important assumptions.
    pub measure: Vec<String>,
}

/// Writes a scenario of the cluster. `map_file` is the name of the map's file in the scenario. `None` if no
/// pool can be simulated.
pub fn scenario(
    map: &ClusterMap,
    inventory: &Inventory,
    map_file: &str,
) -> Result<Option<Scenario>, ClusterMapError> {
    let cluster = Cluster::of(map, inventory);
    let mut caveats = cluster.caveats.clone();
    let pools = pools::pools(map, inventory, &cluster, &mut caveats)?;
    if pools.is_empty() {
        return Ok(None);
    }
    let measure = measurements(&cluster, &pools);
    let mut text = head(map, inventory, &caveats, &measure);
    let _ = write!(
        text,
        "warmup   = \"5 s\" # assumed\nduration = \"30 s\" # assumed\n\n\
         [cluster]\nsystem = \"ceph\"\ncrush  = \"{map_file}\" # the cluster's own placement\n"
    );
    if cluster.disks_prevail() {
        text.push_str(
            "deferred_below = \"64 KiB\" # Ceph's default on disks, which most drives are\n",
        );
    }
    text.push_str(&cluster.text());
    text.push_str(load::CLIENTS);
    for pool in &pools {
        text.push_str(&pool.text(&cluster));
    }
    text.push_str(&load::workloads(&pools));
    text.push_str(&cluster.device_text());
    Ok(Some(Scenario { text, caveats, measure }))
}

/// The comments at the head of the scenario.
fn head(map: &ClusterMap, inventory: &Inventory, caveats: &[String], measure: &[String]) -> String {
    let version = inventory
        .version
        .as_ref()
        .map_or(String::new(), |version| format!("Ceph {}, ", one_line(version)));
    let (osds, pools, groups) = (map.existing().count(), map.pools().len(), map.group_count());
    let mut text = format!(
        "# A Ceph cluster, imported: {version}{osds} OSDs, {pools} pools, {groups} placement groups.\n"
    );
    if let Some((total, used)) = inventory.total_bytes.filter(|(total, _)| *total > 0) {
        let tib = |bytes: u64| bytes as f64 / (1_u64 << 40) as f64;
        let share = 100.0 * used as f64 / total as f64;
        let _ = writeln!(
            text,
            "# {:.1} of {:.1} TiB of its drives are used ({share:.1} %).",
            tib(used),
            tib(total)
        );
    }
    for line in latencies(inventory) {
        let _ = writeln!(text, "# {}", one_line(&line));
    }
    text.push_str(
        "#\n# Comments mark what is assumed because no file has it. All else is as the cluster reports it.\n",
    );
    if !caveats.is_empty() {
        text.push_str("#\n# Not as in the cluster:\n");
        for caveat in caveats {
            bullet(&mut text, caveat);
        }
    }
    text.push_str("#\n# Measure next, in order of worth:\n");
    for step in measure {
        bullet(&mut text, step);
    }
    text.push('\n');
    text
}

/// Latencies reported by the cluster, to compare runs with.
fn latencies(inventory: &Inventory) -> Vec<String> {
    let mut lines = Vec::new();
    let commits = inventory.osds.iter().filter_map(|(osd, facts)| Some((facts.commit_ms?, *osd)));
    let mut commits: Vec<(f64, i32)> = commits.collect();
    commits.sort_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some((median, _)), Some((worst, osd))) =
        (commits.get(commits.len() / 2), commits.last())
    {
        lines.push(format!(
            "Commits take {median:.1} ms on the median OSD, {worst:.1} ms on the slowest, osd.{osd}."
        ));
    }
    let (read, write) = inventory.op_ms;
    for (word, ms) in [("Reads", read), ("Writes", write)] {
        if let Some(ms) = ms {
            lines.push(format!("{word} take {ms:.2} ms in the mean, by the counters of OSDs."));
        }
    }
    lines
}

/// An item of a list, in lines of at most 100 characters.
fn bullet(text: &mut String, point: &str) {
    let lines = textwrap::Options::new(100)
        .initial_indent("# - ")
        .subsequent_indent("#   ")
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    let _ = writeln!(text, "{}", textwrap::fill(&one_line(point), lines));
}

/// Measurements to make, those with the largest effect on results first.
fn measurements(cluster: &Cluster, pools: &[pools::Volume]) -> Vec<String> {
    let mut measure = Vec::new();
    measure.push(
        "The load: a block trace of a client (`foretell import trace`), or rates of each pool from \
         `ceph osd pool stats -f json` at a busy hour. Counters of a report are means since the pool was made."
            .to_owned(),
    );
    let drives: Vec<String> = cluster.drives().map(|drive| format!("`{}`", drive.name)).collect();
    if !drives.is_empty() {
        measure.push(format!(
            "The drives {}: fio on one of each, empty or about to be replaced, then `foretell calibrate disk \
             --fio FILE...`, which makes a device for the scenario.",
            drives.join(", ")
        ));
    }
    let network = if cluster.has_cluster_network {
        "The networks of clients and of OSDs: the rates of both adapters (`ethtool`)."
    } else {
        "The network: the rate of the adapters (`ethtool`), one or two networks."
    };
    measure.push(network.to_owned());
    measure
        .push("Processors: cores and costs of a host (`foretell calibrate cpu` on it).".to_owned());
    if pools.iter().any(|pool| pool.assumed_size) {
        measure.push(
            "What pools hold: `ceph df detail -f json` beside the maps, or `ceph report`."
                .to_owned(),
        );
    }
    measure
}
