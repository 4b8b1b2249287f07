//! The hosts of a cluster: OSDs of a node, its processors, its network adapters.

use super::ASSUMED_GBIT;
use crate::config::{Config, NetworkConfig};

/// Throughput of a physical core with two threads relative to one thread (Intel's own figure for the gain of
/// simultaneous multithreading is up to 30 %).
pub(super) const SMT_YIELD: f64 = 1.3;
/// Assumed number of cores of a node if its processor is not known.
const ASSUMED_CORES: u32 = 32;
/// Bandwidth within a node, if clients run on the only one, Gbit/s: a copy through the loopback device.
const LOOPBACK_GBIT: f64 = 400.0;
/// Half of a message's latency: adapter and link (about 8 us with kernel TCP at 25 Gbit/s and more), and half of the
/// time to wake the threads at its end (messenger, op thread: about 10 us each from idle). Assumed.
const WAY: &str = "18 us";
/// The same for messages within a node.
const LOCAL_WAY: &str = "12 us";

/// The number of nodes, and of OSDs in each; those that are down are left out. `per_device`: OSDs on each drive.
pub(super) fn osds(config: &Config, per_device: u32, assumed: &mut Vec<String>) -> (u32, u32) {
    let nodes = config.nodes.unwrap_or_else(|| {
        assumed.push("the number of nodes is not known; 3 are assumed".to_owned());
        3
    });
    let count = config.data_devices().and_then(|devices| devices.count).unwrap_or_else(|| {
        assumed.push("the number of drives of a node is not known; 4 are assumed".to_owned());
        4
    });
    if per_device > 1 {
        assumed.push(format!(
            "{per_device} OSDs share a drive: each has an equal part of its rate and room"
        ));
    }
    without_down(nodes, count * per_device, config.osds_down.unwrap_or(0), assumed)
}

/// Nodes, and OSDs in each, without those that are down.
fn without_down(nodes: u32, per_node: u32, down: u32, assumed: &mut Vec<String>) -> (u32, u32) {
    if down == 0 {
        return (nodes, per_node);
    }
    assumed.push(format!(
        "{down} OSDs down: the cluster has as many fewer, and what they held is on the others"
    ));
    let left = (nodes * per_node).saturating_sub(down).max(1);
    if down.is_multiple_of(per_node) && nodes > down / per_node {
        (nodes - down / per_node, per_node)
    } else {
        (nodes, (left / nodes).max(1))
    }
}

/// Cores of a node as counted by its operating system, whether pairs of them are one physical core, and the source in
/// words.
pub(super) fn processors(
    config: &Config,
    per_node: u32,
    assumed: &mut Vec<String>,
) -> (u32, bool, String) {
    let cpu = &config.node.cpu;
    if let Some(threads) = config.node.threads_per_osd {
        // the network's share of the work runs on further threads; a quota's threads always share cores with siblings
        let cores = (1.5 * threads * f64::from(per_node)).round().max(1.0) as u32;
        let cores = cpu.threads.map_or(cores, |all| cores.min(all.max(1)));
        return (cores.min(1024), false, format!("of them {threads} for each OSD"));
    }
    let physical = cpu.cores.or_else(|| cpu.threads.map(|threads| threads.div_ceil(2)));
    let Some(physical) = physical else {
        assumed.push(format!(
            "the processors are not known; {ASSUMED_CORES} cores a node are assumed"
        ));
        return (ASSUMED_CORES, false, "assumed".to_owned());
    };
    if cpu.threads.is_some_and(|threads| threads <= physical) {
        return (physical.min(1024), false, format!("{physical} cores"));
    }
    let shown = format!("{physical} cores, two threads each do {SMT_YIELD} times the work of one");
    ((2 * physical).min(1024), true, shown)
}

/// The network adapters of a node.
pub(super) struct Adapters {
    /// Bandwidth of the first, Gbit/s.
    pub(super) gbit: f64,
    /// Bandwidth of the second, for messages between nodes; `None`: there is none.
    pub(super) cluster_gbit: Option<f64>,
    /// Time of each message on its way, without its bytes.
    pub(super) latency: &'static str,
}

/// The adapters of a node: those for other nodes are the second one, all others together the first.
pub(super) fn network(config: &Config, nodes: u32, assumed: &mut Vec<String>) -> Adapters {
    let networks = &config.node.network;
    let has = |network: &NetworkConfig, purpose| network.purpose.as_deref() == Some(purpose);
    let local = networks.iter().any(|network| has(network, "loopback"));
    if local || nodes == 1 && config.client.on_storage_nodes == Some(true) {
        assumed.push(format!("messages within the node: {LOOPBACK_GBIT} Gbit/s"));
        return Adapters { gbit: LOOPBACK_GBIT, cluster_gbit: None, latency: LOCAL_WAY };
    }
    let of = |is_cluster: bool| {
        let known = networks.iter().filter(|network| has(network, "cluster") == is_cluster);
        let rates =
            known.filter_map(|known| Some(known.gbit_per_s? * f64::from(known.count.unwrap_or(1))));
        rates.reduce(|sum, rate| sum + rate)
    };
    let latency = WAY;
    match (of(false), of(true)) {
        // a node alone sends nothing to other nodes
        (Some(gbit), cluster) => {
            Adapters { gbit, cluster_gbit: cluster.filter(|_| nodes > 1), latency }
        }
        (None, Some(gbit)) => {
            assumed
                .push("the clients' network is not known; they use that of the nodes".to_owned());
            Adapters { gbit, cluster_gbit: None, latency }
        }
        (None, None) => {
            let what = "the network is not known";
            assumed.push(format!("{what}; {ASSUMED_GBIT} Gbit/s a node are assumed"));
            Adapters { gbit: ASSUMED_GBIT, cluster_gbit: None, latency }
        }
    }
}
