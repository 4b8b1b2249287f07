//! Writes a scenario for each configuration, with comments, and `map.toml`, which links both.
//!
//! Values that the source does not state are assumed here, and every assumption is listed in the scenario and in the
//! map. A system that cannot be simulated is refused by name.

use std::fmt::Write as _;

use foretell_sorted::SortedMap;
use foretell_units::Bytes;
use toml::{Table, Value};

use crate::backfill::{Place, backfill};
use crate::config::{Config, Drive, NetworkConfig, Source};
use crate::drives::{self, Model};
use crate::notes::Facts;
use crate::points::Row;

/// Throughput of a physical core with two threads relative to one thread (Intel's own figure for the gain of
/// simultaneous multithreading is up to 30 %).
const SMT_YIELD: f64 = 1.3;
/// Assumed number of cores of a node if its processor is not known.
const ASSUMED_CORES: u32 = 32;
/// Assumed bandwidth of a node if its network is not known, Gbit/s.
const ASSUMED_GBIT: f64 = 25.0;
/// Bandwidth within a node, if clients run on the only one, Gbit/s: a copy through the loopback device.
const LOOPBACK_GBIT: f64 = 400.0;
/// Time of the flushes in a round of commits, on a drive without power-loss protection: one flush of data and one of
/// the log. Public measurements of desktop drives lie between 500 and 1500 flushed writes a second.
const FLUSHES: &str = "2 ms";
/// Half of a message's latency: adapter and link (about 8 us with kernel TCP at 25 Gbit/s and more), and half of the
/// time to wake the threads at its end (messenger, op thread: about 10 us each from idle). Assumed.
const WAY: &str = "18 us";
/// The same for messages within a node.
const LOCAL_WAY: &str = "12 us";
/// `bluestore_cache_meta_ratio`: the share of an OSD's caches for onodes.
const META_RATIO: f64 = 0.45;
/// `bluestore_max_blob_size_ssd`; memory in bytes for an object, and for each of its blobs: the blob, its checksums (4
/// bytes for 4 KiB) and its extent. Assumed from the sizes of these structures.
const BLOB: f64 = 65_536.0;
const ONODE: f64 = 1024.0;
const EXTENT: f64 = 460.0;
/// Bytes of an object's metadata in the tables of `RocksDB`. Assumed.
const TABLES: f64 = 3072.0;
/// Maximum share of the usable capacity that the volume takes, if its size is not known.
const ASSUMED_FILL: f64 = 0.4;
/// Maximum number of groups of a volume in a scenario.
const MOST_GROUPS: u64 = 65_536;

/// The outcome for a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub(crate) config: String,
    /// The scenario's file, or the reason why the configuration is refused.
    pub(crate) scenario: Result<String, String>,
    /// Number of clients, if a row does not state it.
    pub(crate) processes: u32,
    /// Bandwidth of all client hosts together, Gbit/s.
    pub(crate) client_gbit: f64,
    /// Number of hosts that clients run on.
    pub(crate) client_hosts: u32,
    /// Maximum IOPS of each client in each direction.
    pub(crate) rate_limit: Option<f64>,
    /// The images of its clients, if the number of images is that of the clients of a row.
    pub(crate) images: Option<Images>,
    /// The drive of its OSDs, or the drive that its rows measure alone.
    pub(crate) drive: Option<String>,
    /// OSDs on each drive; 0: its rows measure the drive alone.
    pub(crate) osds_per_device: u32,
    /// Whether the drive loses unflushed data.
    pub(crate) flushes: bool,
    pub(crate) assumed: Vec<String>,
    pub(crate) unknown: Vec<String>,
}

/// Images of clients, one for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Images {
    /// Bytes of each.
    pub(crate) each: f64,
    /// Maximum bytes of all together.
    pub(crate) most: f64,
}

/// All output for a source.
pub struct Written {
    /// Scenarios by the names of their files.
    pub files: SortedMap<String, String>,
    /// The outcome for each configuration.
    pub entries: Vec<Entry>,
}

/// The scenarios of a source. Only those `points` are used that measure single drives.
pub fn write(source: &Source, points: &[Row]) -> Written {
    let mut files = SortedMap::new();
    let mut entries = Vec::new();
    for (name, config) in &source.configs {
        let mut entry = Entry {
            config: name.clone(),
            scenario: Err(String::new()),
            processes: 1,
            client_gbit: ASSUMED_GBIT,
            client_hosts: 1,
            rate_limit: config.client.rate_limit_iops,
            images: None,
            drive: source.measured_by(name).map(str::to_owned),
            osds_per_device: 1,
            flushes: false,
            assumed: Vec::new(),
            unknown: config.unknown.clone(),
        };
        match scenario(source, name, config, points, &mut entry) {
            Ok(text) => {
                let file = file_name(name, &files);
                files.insert(file.clone(), text);
                entry.scenario = Ok(file);
            }
            Err(reason) => entry.scenario = Err(reason),
        }
        entries.push(entry);
    }
    Written { files, entries }
}

/// A file name that is not in use yet.
fn file_name(config: &str, files: &SortedMap<String, String>) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = config.chars().map(plain).take(100).collect();
    let name = name.trim_start_matches(['.', '-']);
    let name = if name.is_empty() || name == "map" || name == "fitted" { "config" } else { name };
    let mut file = format!("{name}.toml");
    let mut number = 2;
    while files.contains_key(&file) {
        file = format!("{name}-{number}.toml");
        number += 1;
    }
    file
}

/// The model of a drive, with assumptions.
fn drive_of(source: &Source, name: Option<&str>, points: &[Row]) -> Model {
    let drive: Option<&Drive> = name.and_then(|name| source.drives.get(name));
    let raw = drive.and_then(|drive| drive.raw_config.as_deref());
    let rows: Vec<&Row> = points.iter().filter(|row| Some(row.config.as_str()) == raw).collect();
    let mut model = drives::model(name, drive, &rows);
    if drive.is_none() && name.is_some_and(|name| !source.drives.contains_key(name)) {
        let name = name.unwrap_or_default();
        model.assumed.insert(0, format!("`drives` does not have `{name}`"));
    }
    model
}

fn scenario(
    source: &Source,
    name: &str,
    config: &Config,
    points: &[Row],
    entry: &mut Entry,
) -> Result<String, String> {
    let system = config.system.as_deref().unwrap_or_else(|| {
        entry.assumed.push("the system is not said; taken as Ceph".to_owned());
        "ceph"
    });
    let devices = config.data_devices();
    let model_name = devices.and_then(|devices| devices.model.as_deref());
    let model_name = model_name.map(str::to_owned).or_else(|| entry.drive.clone());
    entry.drive.clone_from(&model_name);
    let model_name = model_name.as_deref();
    let drive = drive_of(source, model_name, points);
    let known = model_name.and_then(|name| source.drives.get(name));
    entry.flushes = known.and_then(|drive| drive.power_loss_protection) == Some(false);
    entry.osds_per_device = match system {
        "drive" => {
            entry.client_gbit = 8000.0;
            0
        }
        _ => devices.and_then(|devices| devices.osds_per_device).unwrap_or(1).max(1),
    };
    entry.assumed.extend(drive.assumed.iter().cloned());
    let facts = Facts::of(&source.notes);
    let logs = logs(source, config, points);
    let text = match system {
        "drive" => raw_drive(&drive),
        "ceph" => cluster(config, (&drive, &logs), Software::Ceph, (known, &facts), entry)?,
        "vitastor" => {
            entry.assumed.push(
                "Vitastor is approximated: Ceph's protocol with software costs of its own"
                    .to_owned(),
            );
            cluster(config, (&drive, &logs), Software::Vitastor, (known, &facts), entry)?
        }
        other => {
            return Err(format!(
                "the system `{other}` cannot be simulated; `ceph`, `vitastor` (approximated) and \
                 `drive` can"
            ));
        }
    };
    let mut head = String::new();
    let version = config.version.as_deref().unwrap_or("version not known");
    let _ = writeln!(head, "# {}: {}, {system} {version}.", one_line(&source.name), one_line(name));
    head.push_str("# Written by `foretell import cluster`; map.toml says how rows of points.csv set its load.\n");
    for (title, lines) in [("Assumed", &entry.assumed), ("Unknown to the source", &entry.unknown)] {
        if !lines.is_empty() {
            let _ = writeln!(head, "# {title}:");
            for line in lines {
                let _ = writeln!(head, "#   - {}", one_line(line));
            }
        }
    }
    Ok(head + &text)
}

/// A foreign text for a comment: one line, without control characters.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

/// Devices that OSDs share for logs or for tables.
struct Logs {
    /// `wal` or `db`: the key of a disk, and the name of the device.
    what: &'static str,
    /// Number of devices in a node.
    count: u32,
    model: Model,
    shown: String,
}

/// The devices of a node for logs and for tables.
fn logs(source: &Source, config: &Config, points: &[Row]) -> Vec<Logs> {
    let found = |what| {
        let devices = config.log_devices(what)?;
        let name = devices.model.as_deref();
        Some(Logs {
            what,
            count: devices.count.unwrap_or(1).max(1),
            model: drive_of(source, name, points),
            shown: name.unwrap_or("device of unknown model").to_owned(),
        })
    };
    ["db", "wal"].into_iter().filter_map(found).collect()
}

impl Logs {
    /// The key of the disks of a node with this number of OSDs; `None` if their parts would be too small.
    fn key(&self, osds: u32, assumed: &mut Vec<String>) -> Option<String> {
        let Self { what, count, model, shown } = self;
        let count = (*count).min(osds);
        let shared_by = osds.div_ceil(count);
        let held =
            if *what == "db" { "tables, and logs without a device of their own" } else { "logs" };
        if model.capacity / u64::from(shared_by) < Bytes::gib(1).get() {
            assumed.push(format!("`{shown}` is too small for {held}: they lie on the data drives"));
            return None;
        }
        assumed.extend(model.assumed.iter().cloned());
        assumed.push(format!(
            "{held}: on `{shown}`, {count} a node, of each of which {shared_by} OSDs have equal parts"
        ));
        Some(format!(", {what} = {{ device = \"{what}\", scheduler = \"noop\", count = {count} }}"))
    }
}

/// A scenario of a single drive.
fn raw_drive(drive: &Model) -> String {
    let size = drive.capacity / 2 / 8192 * 8192;
    let cost = "{ fixed = \"0 us\", rate = \"8000 Gbit/s\" }";
    let free = format!(
        "{{ profile = \"xeon-2023\", cores = 64, context_switch = \"0 us\", request = {{ fixed = \"0 us\" }}, \
         send = {cost}, receive = {cost}, copy = {cost} }}"
    );
    let nic = "nic = { rate = \"8000 Gbit/s\", latency = \"0 us\" }\n";
    format!(
        "warmup   = \"20 ms\"\nduration = \"100 ms\"\nrecord   = \"none\"\n\n\
         # A drive alone: the client, its processor and the way to it cost nothing.\n\
         [node.drive]\ncpu   = {free}\ncache = {{ size = \"0 B\" }}   # direct I/O\n\
         disk  = [{{ device = \"drive\", scheduler = \"noop\" }}]\n{nic}\n\
         [client.load]\ncpu = {free}\n{nic}\n[switch]\nmodel = \"queue\"\n\n\
         [volume.pool]\nsize  = \"{size} B\"\nnodes = \"drive\"\n\n\
         [workload.load]\nvolume = \"pool\"\nclient = \"load\"\nkind   = \"ssio\"\nreads  = \"100%\"\n\
         access = \"4 KiB\"\n\n\
         [tracking]\noverhead = false\n\n{}",
        device_text(&[("drive", drive)])
    )
}

fn device_text(models: &[(&str, &Model)]) -> String {
    let mut top = Table::new();
    let mut devices = Table::new();
    for (name, model) in models {
        devices.insert((*name).to_owned(), Value::Table(model.table()));
    }
    top.insert("device".to_owned(), Value::Table(devices));
    toml::to_string(&top).expect("a table of texts and numbers")
}

/// Software costs of an OSD before any fit. `docs/systems.md` names the sources.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Software {
    Ceph,
    Vitastor,
}

impl Software {
    /// Lines of `[cluster]`.
    fn costs(self) -> &'static str {
        match self {
            Self::Ceph => {
                "read      = { fixed = \"100 us\", rate = \"2 GB/s\" }\n\
                 write     = { fixed = \"60 us\", rate = \"2 GB/s\" }\n\
                 commit    = { fixed = \"150 us\", rate = \"1 GB/s\" }\n\
                 threads.message        = { fixed = \"10 us\", rate = \"2 GB/s\" }\n\
                 threads.kv_round       = \"20 us\"\n\
                 threads.kv_transaction = \"10 us\"\n\
                 threads.merge          = \"60 us\"\n"
            }
            // assumed from the author's count: 3 to 4.7 cores a node at 160,000 to 895,000 requests a second
            Self::Vitastor => {
                "read      = { fixed = \"10 us\", rate = \"4 GB/s\" }\n\
                 write     = { fixed = \"8 us\", rate = \"4 GB/s\" }\n\
                 commit    = { fixed = \"15 us\", rate = \"2 GB/s\" }\n\
                 threads.message        = { fixed = \"2 us\", rate = \"2 GB/s\" }\n\
                 threads.kv_round       = \"2 us\"\n\
                 threads.kv_transaction = \"1 us\"\n\
                 threads.merge          = \"0 us\"\n"
            }
        }
    }
}

/// A cluster under Ceph's protocol.
#[expect(clippy::too_many_lines, reason = "each part of a configuration becomes a line or two")]
fn cluster(
    config: &Config,
    (drive, logs): (&Model, &[Logs]),
    software: Software,
    (known, facts): (Option<&Drive>, &Facts),
    entry: &mut Entry,
) -> Result<String, String> {
    let assumed = &mut entry.assumed;
    let nodes = config.nodes.unwrap_or_else(|| {
        assumed.push("the number of nodes is not known; 3 are assumed".to_owned());
        3
    });
    let devices = config.data_devices();
    let per_device = devices.and_then(|devices| devices.osds_per_device).unwrap_or(1).max(1);
    let count = devices.and_then(|devices| devices.count).unwrap_or_else(|| {
        assumed.push("the number of drives of a node is not known; 4 are assumed".to_owned());
        4
    });
    let per_node = count * per_device;
    if per_device > 1 {
        assumed.push(format!(
            "{per_device} OSDs share a drive: each has an equal part of its rate and room"
        ));
    }
    let down = config.osds_down.unwrap_or(0);
    let (per_node, nodes) = without_down(per_node, nodes, down, assumed);
    let part = drive.part(per_device);
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
    if domain == "host" && nodes < encoding.1 {
        return Err(format!(
            "{} copies or shards on different hosts need {} nodes; there are {nodes}",
            encoding.1, encoding.1
        ));
    }
    let (cores, is_threaded, threads) = processors(config, per_node, assumed);
    let smt = if is_threaded { format!("smt = {SMT_YIELD:?}, ") } else { String::new() };
    let Adapters { gbit, cluster_gbit, latency } = network(config, nodes, assumed);
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
    let processes = config.client.processes.or(config.client.images).unwrap_or_else(|| {
        let processes = nodes * per_node;
        assumed.push(format!(
            "the number of clients is not known: where a row does not say it, {processes}, one an OSD"
        ));
        processes
    });
    entry.processes = processes;
    if config.client.on_storage_nodes == Some(true) {
        assumed.push("clients run on processors and adapters of their own".to_owned());
    }
    let background = config.background.kind.as_deref().unwrap_or("none");
    if !["none", "backfill"].contains(&background) {
        assumed.push(format!("not simulated: `{background}` in the background"));
    }
    if let Some(kind) = config.store.kind.as_deref()
        && software == Software::Ceph
        && kind != "bluestore"
    {
        assumed.push(format!("the store `{kind}` is taken as BlueStore"));
    }
    let (deferred, why) = deferred(config, assumed);
    let (m, n) = encoding;
    let usable = part.capacity as f64 * f64::from(nodes * per_node) * f64::from(m) / f64::from(n);
    let groups = if let Some(groups) = config.pool.pg_num {
        u64::from(groups)
    } else {
        let wanted = u64::from(nodes) * u64::from(per_node) * 100 / u64::from(n);
        let groups = wanted.max(1).next_power_of_two();
        assumed.push(format!("the number of placement groups is not known; {groups} are assumed"));
        groups
    };
    let block = if m > 1 { u64::from(m) * 4096 } else { 8192 };
    let group = (4_u64 << 20).div_ceil(block) * block;
    let moved = if background == "backfill" {
        let place = Place { nodes, per_node, encoding, domain, groups, block, group, usable };
        Some(backfill(config, known, facts.throttle, &place, assumed)?)
    } else {
        None
    };
    let most = usable * ASSUMED_FILL;
    let size = match (&moved, config.client.image_bytes, config.client.images) {
        (Some(moved), _, _) => moved.image.min(usable - moved.bytes),
        (None, Some(bytes), Some(images)) => bytes * f64::from(images),
        (None, Some(each), None) => {
            entry.images = Some(Images { each, most });
            assumed.push(format!(
                "each client of a row has an image of its own, together at most {} % of the room",
                ASSUMED_FILL * 100.0
            ));
            most
        }
        (None, None, _) => {
            assumed.push(format!("volumes take {} % of the room", ASSUMED_FILL * 100.0));
            usable
        }
    };
    let size = volume_bytes(size.min(most), block);
    let moved = moved.unwrap_or_default();
    let quota = config.node.threads_per_osd.map_or_else(String::new, |threads| {
        format!(
            "threads.processors     = {}   # threads that an OSD may use\n",
            threads.round().max(1.0)
        )
    });
    let flush = if entry.flushes {
        entry
            .assumed
            .push(format!("each round of commits waits {FLUSHES} for the drive's flushes"));
        format!("threads.flush          = \"{FLUSHES}\"   # no power-loss protection\n")
    } else {
        String::new()
    };
    // bytes of copies or shards in a node
    let stored = size as f64 * f64::from(n) / f64::from(nodes);
    let onodes = onodes(config, facts, m, stored, per_node, &mut entry.assumed);
    let joins = coalesce(config, software, background, &mut entry.assumed);
    let second = cluster_gbit.map_or_else(String::new, |gbit| {
        format!("cluster_nic = {{ rate = \"{gbit} Gbit/s\", latency = \"{latency}\" }}\n")
    });
    let mut text = String::new();
    let _ = write!(
        text,
        "warmup   = \"50 ms\"\nduration = \"100 ms\"\nrecord   = \"none\"\n\n\
         [cluster]\nsystem    = \"ceph\"\n{}{}{}{}{joins}{onodes}deferred_below = \"{deferred} B\"   # {why}\n\n\
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
         failure_domain = \"{domain}\"\n\n\
         [workload.load]\nvolume  = \"pool\"\nclient  = \"load\"\nkind    = \"ssio\"\nreads   = \"100%\"\n\
         access  = \"4 KiB\"\noutstanding = 32\n\n\
         [tracking]\noverhead = false\n\n",
        software.costs(),
        quota,
        flush,
        moved.cluster,
        processes.min(4096),
        groups.min(MOST_GROUPS)
    );
    text.push_str(&moved.tables);
    text.push_str(&device_text(&models));
    Ok(text)
}

/// The size of a volume of about that many bytes: whole objects, in whole blocks of `block` bytes.
pub(crate) fn volume_bytes(bytes: f64, block: u64) -> u64 {
    let unit = f64::from(4 << 20);
    let size = (bytes / unit).floor().max(4.0) * unit;
    (size as u64) / block * block
}

/// The line with the number of objects whose metadata fits into an OSD's memory. Empty if the node's memory
/// holds the metadata of all objects, or if the number of objects or the memory is not known.
fn onodes(
    config: &Config,
    facts: &Facts,
    m: u32,
    size: f64,
    osds: u32,
    assumed: &mut Vec<String>,
) -> String {
    let osds = f64::from(osds);
    // OSDs read tables through the page cache (`bluefs_buffered_io`)
    let tables = size / f64::from(4 << 20) * TABLES;
    let room = config.node.memory_bytes.map(|memory| memory * 0.9 - facts.cache * osds);
    if config.client.image_bytes.is_none() || room.is_none_or(|room| tables < room) {
        assumed.push("metadata of all objects are in memory".to_owned());
        return String::new();
    }
    let blobs = f64::from(4 << 20) / f64::from(m) / BLOB;
    let held = (facts.cache * META_RATIO / (ONODE + EXTENT * blobs)).round().max(1.0);
    assumed.push(format!("an OSD holds the metadata of {held} objects in memory"));
    format!("onodes    = {held}\n")
}

/// The line that lets clients coalesce writes, if they use librbd of Octopus or later.
fn coalesce(
    config: &Config,
    software: Software,
    background: &str,
    assumed: &mut Vec<String>,
) -> &'static str {
    let librbd = config.client.interface.as_deref() == Some("librbd");
    if software != Software::Ceph || !librbd {
        return "";
    }
    let release = release(config.version.as_deref());
    if release.is_some_and(|release| release < 15) {
        return "";
    }
    if background == "backfill" {
        assumed.push("librbd joins no writes beside backfill".to_owned());
        return "";
    }
    "coalesce  = true   # librbd, rbd_io_scheduler = simple since Octopus\n"
}

/// OSDs of a node, and nodes, without those that are down.
fn without_down(per_node: u32, nodes: u32, down: u32, assumed: &mut Vec<String>) -> (u32, u32) {
    if down == 0 {
        return (per_node, nodes);
    }
    assumed.push(format!(
        "{down} OSDs down: the cluster has as many fewer, and what they held is on the others"
    ));
    let left = (nodes * per_node).saturating_sub(down).max(1);
    if down.is_multiple_of(per_node) && nodes > down / per_node {
        (per_node, nodes - down / per_node)
    } else {
        ((left / nodes).max(1), nodes)
    }
}

/// Number of shards that suffice, and of all shards.
fn encoding(config: &Config, osds: u64, assumed: &mut Vec<String>) -> Result<(u32, u32), String> {
    let pool = &config.pool;
    let erasure = match pool.kind.as_deref() {
        Some("erasure") => true,
        Some("replicated") => false,
        Some(other) => return Err(format!("a pool of kind `{other}` cannot be simulated")),
        None => pool.k.is_some(),
    };
    let (m, n) = if erasure {
        let k = pool.k.ok_or("an erasure-coded pool without `k`")?;
        let m = pool.m.or(pool.size.map(|size| size.saturating_sub(k)));
        (k, k + m.ok_or("an erasure-coded pool without `m`")?)
    } else {
        let size = pool.size.unwrap_or_else(|| {
            assumed.push("the number of copies is not known; 3 are assumed".to_owned());
            3
        });
        (1, size)
    };
    let there = u32::try_from(osds).unwrap_or(u32::MAX);
    if n > there && m <= there {
        assumed.push(format!("{there} OSDs are there for {n} copies or shards: {m}-of-{there}"));
        return Ok((m, there));
    }
    if n > there {
        return Err(format!("{m}-of-{n} on {osds} OSDs: too few are up"));
    }
    Ok((m, n))
}

fn domain(config: &Config, nodes: u32, n: u32, assumed: &mut Vec<String>) -> &'static str {
    match config.pool.failure_domain.as_deref() {
        Some("osd") => "osd",
        Some("host") if nodes >= n => "host",
        known => {
            let domain = if nodes >= n { "host" } else { "osd" };
            if known.is_none() {
                assumed.push(format!("the failure domain is not known; `{domain}` is taken"));
            } else {
                assumed.push(format!(
                    "failure domain `{}`: taken as `{domain}`",
                    known.unwrap_or_default()
                ));
            }
            domain
        }
    }
}

/// Cores of a node as counted by its operating system, whether pairs of them are one physical core, and the source in
/// words.
fn processors(config: &Config, per_node: u32, assumed: &mut Vec<String>) -> (u32, bool, String) {
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
struct Adapters {
    /// Bandwidth of the first, Gbit/s.
    gbit: f64,
    /// Bandwidth of the second, for messages between nodes; `None`: there is none.
    cluster_gbit: Option<f64>,
    latency: &'static str,
}

/// The adapters of a node: those for other nodes are the second one, all others together the first.
fn network(config: &Config, nodes: u32, assumed: &mut Vec<String>) -> Adapters {
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

/// Size in bytes below which writes go through the log, and the reason.
fn deferred(config: &Config, assumed: &mut Vec<String>) -> (u64, String) {
    if let Some(bytes) = config.store.min_alloc_size_bytes {
        let bytes = bytes as u64;
        let deferred = if bytes > 4096 { bytes } else { 0 };
        return (deferred, format!("min_alloc_size {bytes}"));
    }
    let release = release(config.version.as_deref());
    if release.is_none() {
        assumed.push(
            "the release is not known; writes are assumed to work as in Pacific and later"
                .to_owned(),
        );
    }
    match release {
        Some(release) if release < 16 => {
            (16_384, format!("min_alloc_size_ssd of release {release}: 16 KiB"))
        }
        _ => (0, "min_alloc_size_ssd is 4 KiB since Pacific: no write is deferred".to_owned()),
    }
}

/// Ceph's major release: `18.2.0`, `Reef`, `19.2.1 (Squid)`.
fn release(version: Option<&str>) -> Option<u32> {
    const NAMES: [(&str, u32); 9] = [
        ("luminous", 12),
        ("mimic", 13),
        ("nautilus", 14),
        ("octopus", 15),
        ("pacific", 16),
        ("quincy", 17),
        ("reef", 18),
        ("squid", 19),
        ("tentacle", 20),
    ];
    let version = version?.to_lowercase();
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    let named = || NAMES.iter().find(|(name, _)| version.contains(name)).map(|(_, number)| *number);
    digits.parse().ok().or_else(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_scenarios::Document;

    fn written(text: &str) -> Written {
        write(&Source::parse(text).unwrap(), &[])
    }

    #[test]
    fn a_configuration_of_which_nothing_is_known_can_be_simulated() {
        let all = written(r#"{"configs": {"a b/../c": {}}}"#);
        let (file, text) = all.files.first_key_value().unwrap();
        assert_eq!(file, "a-b-..-c.toml");
        Document::parse(file, text, "").unwrap().check().unwrap();
        assert!(all.entries[0].assumed.len() > 6, "{:?}", all.entries[0].assumed);
    }

    #[test]
    fn codes_domains_and_parts_of_drives_can_be_simulated() {
        for pool in [
            r#"{"kind": "erasure", "k": 4, "m": 2, "failure_domain": "osd", "pg_num": 100}"#,
            r#"{"kind": "erasure", "k": 3, "m": 2}"#,
            r#"{"kind": "replicated", "size": 2, "failure_domain": "rack"}"#,
        ] {
            let text = format!(
                r#"{{"configs": {{"a": {{"nodes": 2, "osds_down": 1, "node": {{"devices":
                [{{"model": "unheard of", "count": 3, "osds_per_device": 2}}]}}, "pool": {pool}}}}}}}"#
            );
            let all = written(&text);
            let (file, text) = all.files.first_key_value().expect("it is not refused");
            Document::parse(file, text, "").unwrap().check().unwrap_or_else(|e| panic!("{e}"));
        }
    }

    #[test]
    fn logs_and_tables_lie_on_devices_of_their_own() {
        let of = |roles: &str, bytes: &str| {
            let text = format!(
                r#"{{"drives": {{"fast": {{"kind": "optane", "capacity_bytes": {bytes}}}}}, "configs": {{"a": {{"node":
                {{"devices": [{{"model": "x", "count": 3, "osds_per_device": 2}}, {roles}]}}}}}}}}"#
            );
            let all = written(&text);
            let (file, text) = all.files.first_key_value().expect("it is not refused");
            let scenario = Document::parse(file, text, "").unwrap().check().unwrap();
            let disks = |disk: &foretell_scenarios::model::Disk| (disk.db, disk.wal);
            let storage = scenario.hosts[0].role.storage().unwrap();
            let devices = storage.log_devices.iter().map(|disk| disk.device_name.clone());
            (storage.disks.iter().map(disks).collect::<Vec<_>>(), devices.collect::<Vec<_>>())
        };
        let role = |role: &str| format!(r#"{{"model": "fast", "count": 1, "role": "{role}"}}"#);
        let (disks, devices) = of(&role("wal-db"), "375e9");
        assert_eq!(devices, ["db"]);
        let parts: Vec<_> = disks.iter().map(|(db, wal)| (db.unwrap().parts, *wal)).collect();
        assert_eq!(parts, [(6, None); 6]);
        let (disks, devices) = of(&format!("{}, {}", role("wal"), role("db")), "375e9");
        assert_eq!(devices, ["db", "wal"]);
        assert!(disks.iter().all(|(db, wal)| db.unwrap().device == 0 && wal.unwrap().device == 1));
        let (disks, devices) = of(&role("wal"), "5e9");
        assert!(devices.is_empty() && disks.iter().all(|disk| *disk == (None, None)));
    }

    #[test]
    fn what_cannot_be_simulated_is_refused_with_a_reason() {
        let all = written(
            r#"{"configs": {"a": {"system": "gluster"}, "b": {"pool": {"kind": "erasure"}}}}"#,
        );
        let reason = |at: usize| all.entries[at].scenario.clone().unwrap_err();
        assert!(reason(0).contains("`gluster`"), "{}", reason(0));
        assert!(reason(1).contains("without `k`"));
        assert!(all.files.is_empty());
    }

    #[test]
    fn releases_are_known_by_number_and_name() {
        assert_eq!(release(Some("12.2.8-52 (Red Hat Ceph Storage 3.2)")), Some(12));
        assert_eq!(release(Some("Reef pre-release")), Some(18));
        assert_eq!(release(Some("nightly")), None);
    }
}
