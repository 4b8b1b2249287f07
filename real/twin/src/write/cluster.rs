//! A cluster under Ceph's protocol.

use std::fmt::Write as _;

use super::Entry;
use super::drive::device_text;
use super::hosts::{Adapters, SMT_YIELD, network, osds, processors};
use super::logs::Logs;
use super::pool::{domain, encoding, groups, onodes, volume_bytes, volume_size};
use super::software::{Software, coalesce, deferred};
use crate::backfill::{Place, backfill};
use crate::config::{Config, Drive};
use crate::drives::Model;
use crate::notes::Facts;

/// Time of the flushes in a round of commits, on a drive without power-loss protection: one flush of data and one of
/// the log. Public measurements of desktop drives lie between 500 and 1500 flushed writes a second.
const FLUSHES: &str = "2 ms";
/// Copies of a bucket index: Ceph's default for pools.
const INDEX_COPIES: u32 = 3;
/// Maximum number of groups of a volume in a scenario.
const MOST_GROUPS: u64 = 65_536;
/// Maximum number of clients in a scenario; a row's load starts its own number.
const MOST_CLIENTS: u32 = 4096;

/// The text of a scenario, without its comments at the top; or the reason why the configuration is refused.
pub(super) fn cluster(
    config: &Config,
    (drive, logs): (&Model, &[Logs]),
    software: Software,
    (known, facts): (Option<&Drive>, &Facts),
    entry: &mut Entry,
) -> Result<String, String> {
    let assumed = &mut entry.assumed;
    let (nodes, per_node) = osds(config, entry.osds_per_device, assumed);
    let part = drive.part(entry.osds_per_device);
    let mut models = vec![("drive", &part)];
    let mut log_keys = String::new();
    for one in logs {
        if let Some(key) = one.key(per_node, assumed) {
            log_keys.push_str(&key);
            models.push((one.what, &one.model));
        }
    }
    let encoding = encoding(config, u64::from(nodes) * u64::from(per_node), assumed)?;
    let domain = domain(config, nodes, encoding.1, assumed);
    let (cores, is_threaded, threads) = processors(config, per_node, assumed);
    let smt = if is_threaded { format!("smt = {SMT_YIELD:?}, ") } else { String::new() };
    let Adapters { gbit, cluster_gbit, latency } = network(config, nodes, assumed);
    clients(config, (nodes, per_node), gbit, facts, entry);
    let gateways = gateways(config, software, (nodes, per_node), domain, entry);
    let assumed = &mut entry.assumed;
    let background = config.background.kind.as_deref().unwrap_or("none");
    if let Some(background) = config.background_not_simulated() {
        assumed.push(format!("not simulated: `{background}` in the background"));
    }
    let store = config.store.kind.as_deref().unwrap_or("bluestore");
    if software == Software::Ceph && store != "bluestore" {
        assumed.push(format!("the store `{store}` is taken as BlueStore"));
    }
    let (deferred, why) = deferred(config, software, known, assumed);
    let (m, n) = encoding;
    let usable = part.capacity as f64 * f64::from(nodes * per_node) * f64::from(m) / f64::from(n);
    let groups = groups(config, nodes, per_node, n, assumed);
    let block = if m > 1 { u64::from(m) * 4096 } else { 8192 };
    let group = (4_u64 << 20).div_ceil(block) * block;
    let moved = if background == "backfill" {
        let place = Place { nodes, per_node, encoding, domain, groups, block, group, usable };
        Some(backfill(config, known, facts.throttle, &place, assumed)?)
    } else {
        None
    };
    let image = moved.as_ref().map(|moved| moved.image.min(usable - moved.bytes));
    let size = volume_bytes(volume_size(config, image, usable, entry), block);
    let moved = moved.unwrap_or_default();
    let quota = config.node.threads_per_osd.map_or_else(String::new, |threads| {
        let threads = threads.round().max(1.0);
        format!("threads.processors     = {threads}   # threads that an OSD may use\n")
    });
    let assumed = &mut entry.assumed;
    let flush = if entry.flushes {
        assumed.push(format!("each round of commits waits {FLUSHES} for the drive's flushes"));
        format!("threads.flush          = \"{FLUSHES}\"   # no power-loss protection\n")
    } else {
        String::new()
    };
    // bytes of copies or shards in a node
    let stored = size as f64 * f64::from(n) / f64::from(nodes);
    let onodes = onodes(config, facts, m, stored, per_node, assumed);
    let merges = coalesce(config, software, background, assumed);
    let second = cluster_gbit.map_or_else(String::new, |gbit| {
        format!("cluster_nic = {{ rate = \"{gbit} Gbit/s\", latency = \"{latency}\" }}\n")
    });
    let mut text = String::new();
    let _ = write!(
        text,
        "warmup   = \"50 ms\"\nduration = \"100 ms\"\nrecord   = \"none\"\n\n\
         [cluster]\nsystem    = \"ceph\"\n{}{}{}{}{}{merges}{onodes}deferred_below = \"{deferred} B\"   # {why}\n\n\
         [node.osd]\ncount = {nodes}\n\
         cpu   = {{ profile = \"xeon-2023\", cores = {cores}, {smt}request = {{ fixed = \"0 us\" }} }}   # {threads}\n\
         cache = {{ size = \"64 MiB\" }}   # measured volumes are larger than caches\n\
         disk  = [{{ device = \"drive\", scheduler = \"noop\", count = {per_node}{log_keys} }}]\n\
         nic   = {{ rate = \"{gbit} Gbit/s\", latency = \"{latency}\" }}\n\
         {second}rack  = \"all\"\n\n\
         # Each client is one process with two busy threads: fio with librbd, or a virtual machine.\n\
         [client.load]\ncount = {}\n\
         cpu   = {{ profile = \"xeon-2023\", cores = 2, request = {{ fixed = \"15 us\" }} }}\n\
         nic   = {{ rate = \"{gbit} Gbit/s\", latency = \"{latency}\" }}\n\n\
         [switch]\nmodel = \"queue\"\n\n\
         [volume.pool]\nsize     = \"{size} B\"\nnodes    = \"osd\"\nencoding = \"{m}-of-{n}\"\n\
         block    = \"{block} B\"\ngroup    = \"{group} B\"\nplacement_groups = {}\n\
         failure_domain = \"{domain}\"\n{}\n\
         [workload.load]\nvolume  = \"pool\"\nclient  = \"load\"\nkind    = \"ssio\"\nreads   = \"100%\"\n\
         access  = \"4 KiB\"\noutstanding = 32\n\n\
         [tracking]\noverhead = false\n\n",
        software.costs(),
        quota,
        flush,
        moved.cluster,
        gateways.key,
        entry.processes.min(MOST_CLIENTS),
        groups.min(MOST_GROUPS),
        gateways.index
    );
    text.push_str(&moved.tables);
    text.push_str(&device_text(&models));
    Ok(text)
}

/// The parts of a scenario in which clients use gateways; empty without gateways.
#[derive(Default)]
struct Gateways {
    /// The key of the cluster.
    key: String,
    /// The key of the pool, and the pool of its bucket index.
    index: String,
}

/// Gateways on the nodes, one each, and a bucket index on the same OSDs.
fn gateways(
    config: &Config,
    software: Software,
    (nodes, per_node): (u32, u32),
    domain: &str,
    entry: &mut Entry,
) -> Gateways {
    if software != Software::Ceph || !config.has_gateways() {
        return Gateways::default();
    }
    entry.gateways = true;
    entry.assumed.push(
        "a gateway on each node, with the processors and adapters of the node, at the default costs".to_owned(),
    );
    entry.assumed.push(format!("the bucket index is in {INDEX_COPIES} copies on the same OSDs"));
    let places = if domain == "host" { nodes } else { nodes * per_node };
    let copies = INDEX_COPIES.min(places);
    Gateways {
        key: "gateway   = { hosts = \"osd\" }\n".to_owned(),
        index: format!(
            "bucket_index = \"index\"\n\n[volume.index]\nsize     = \"1 GiB\"\nnodes    = \"osd\"\n\
             encoding = \"1-of-{copies}\"\nfailure_domain = \"{domain}\"\n"
        ),
    }
}

/// Notes the hosts, the bandwidth and the number of clients.
fn clients(
    config: &Config,
    (nodes, per_node): (u32, u32),
    gbit: f64,
    facts: &Facts,
    entry: &mut Entry,
) {
    let assumed = &mut entry.assumed;
    let hosts = config.client.hosts.unwrap_or_else(|| {
        assumed.push(format!("the number of client hosts is not known; {nodes} are assumed"));
        nodes
    });
    entry.client_gbit = f64::from(hosts) * gbit;
    if let Some(limit) = facts.client_gbit.filter(|limit| *limit < entry.client_gbit) {
        assumed.push(format!("notes: something limits all clients together to {limit} Gbit/s"));
        entry.client_gbit = limit;
    }
    entry.client_hosts = hosts;
    entry.processes = config.client.processes.or(config.client.images).unwrap_or_else(|| {
        let processes = nodes * per_node;
        assumed.push(format!(
            "the number of clients is not known: where a row does not say it, {processes}, one an OSD"
        ));
        processes
    });
    if config.client.on_storage_nodes == Some(true) {
        assumed.push("clients run on processors and adapters of their own".to_owned());
    }
}
