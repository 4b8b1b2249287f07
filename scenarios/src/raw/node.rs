//! Hosts as written.

use std::borrow::Cow;

use foretell_algorithms::cache::PolicyKind;
use foretell_algorithms::io_scheduler::SchedulerKind;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use super::cpu::RawCpuUse;
use super::leaf::{At, HostPatterns, PartSize, Size, Speed, Time};
use crate::schema;

/// Names of the replacement policies that there are.
fn policies() -> Vec<&'static str> {
    PolicyKind::ALL.iter().map(|policy| policy.name()).collect()
}

/// A group of equal storage nodes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawNode {
    /// Number of hosts. Each is named by the group's name and a number from 0.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 10_000_000))]
    #[allow(dead_code, reason = "read when groups are expanded")]
    pub(crate) count: At<i64>,
    /// The processor: a profile, and the values that differ from it.
    #[allow(dead_code, reason = "laid over its profile first")]
    pub(crate) cpu: RawCpuUse,
    /// The buffer cache.
    pub(crate) cache: At<RawCache>,
    /// Battery-backed memory that holds written data until it is on disk. `none`: there is no such memory.
    #[schemars(extend("default" = "none", "x-words" = ["none"], "examples" = ["64 MiB"]))]
    pub(crate) nvram: At<String>,
    /// Where written pages are stored on disk.
    #[schemars(extend("default" = "in-place"))]
    pub(crate) layout: At<RawLayout>,
    /// Bytes that a log-structured layout writes in one disk operation.
    #[schemars(extend("default" = "512 KiB", "x-when" = { "layout": ["log-structured"] }))]
    pub(crate) segment: Option<Size>,
    /// Stripe unit: bytes of a file on one disk before the next disk follows.
    #[schemars(extend("default" = "1 MiB"))]
    pub(crate) stripe: Size,
    /// The disks, in order.
    #[schemars(extend("minItems" = 1))]
    pub(crate) disk: Vec<RawNodeDisk>,
    /// The network adapter.
    #[schemars(extend("default" = {}))]
    pub(crate) nic: RawNic,
    /// A second network adapter, at the same switch, as for Ceph's `cluster_network`. Messages from a server to another
    /// server go over it if both nodes have one: copies and shards of writes, recovery, replication. Messages
    /// of clients use `nic`.
    pub(crate) cluster_nic: Option<RawNic>,
    /// With this table, the hosts of the group are virtual machines. Several of them may share the adapter
    /// and the disks of a machine. Without it, each host is a machine of its own.
    #[allow(dead_code, reason = "read when groups are expanded")]
    pub(crate) machine: Option<RawMachine>,
    /// Monitors to which these nodes report: hosts of client groups. Without it, the monitors of `cluster`.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) monitors: Option<At<HostPatterns>>,
    /// Numbers of the OSDs on these nodes, host by host and disk by disk: `0-11, 24-35`. If no group has
    /// this key, OSDs are numbered from 0 over all nodes. Only if a CRUSH map places volumes.
    #[schemars(extend("examples" = ["0-11"]))]
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) osds: Option<At<String>>,
    /// The rack of these nodes. With a list of racks, the first node is in the first rack, the second node
    /// in the second rack, and so on. After the last rack, the list begins again. Only in one of these cases:
    /// with `system = "ceph"` without `crush`; with `uplink` in `[switch]`; if an event names a rack.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) rack: Option<At<HostPatterns>>,
    /// The room of these nodes, written like `rack`. Each rack is in one room.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) room: Option<At<HostPatterns>>,
    /// The datacenter of these nodes, written like `rack`. Each room is in one datacenter.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) datacenter: Option<At<HostPatterns>>,
}

/// The machines on which virtual machines run: `count` machines, or those `of` another group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawMachine {
    /// Number of machines. The hosts are assigned to them in turn. Their adapters and disks are the group's
    /// `nic` and `disk`.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000_000))]
    pub(crate) count: Option<At<i64>>,
    /// Another group whose machines these nodes share. It replaces `count`.
    pub(crate) of: Option<At<String>>,
    /// Bandwidth of each virtual machine, in each direction. Without it, only the link of its machine
    /// limits it.
    #[schemars(extend("examples" = ["250 Mbit/s"]))]
    pub(crate) bandwidth: Option<Speed>,
}

/// A group of equal client machines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawClient {
    /// Number of hosts. Each is named by the group's name and a number from 0.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 10_000_000))]
    #[allow(dead_code, reason = "read when groups are expanded")]
    pub(crate) count: At<i64>,
    /// The processor: a profile, and the values that differ from it.
    #[allow(dead_code, reason = "laid over its profile first")]
    pub(crate) cpu: RawCpuUse,
    /// The network adapter.
    #[schemars(extend("default" = {}))]
    pub(crate) nic: RawNic,
    /// With this table, the hosts of the group are virtual machines (guests) on one machine. They share its
    /// processor and its adapter.
    pub(crate) guest: Option<RawGuest>,
    /// The rack of these clients, written like that of nodes. Only with `uplink` in `[switch]`.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) rack: Option<At<HostPatterns>>,
}

/// The block layer of a virtual machine, as in Linux. All its requests go through it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawGuest {
    /// The order in which waiting requests are sent.
    #[schemars(extend("default" = "cfq"))]
    pub(crate) scheduler: At<RawScheduler>,
    /// Maximum number of outstanding requests of a guest. Further requests wait in its scheduler.
    #[schemars(extend("default" = 32, "minimum" = 1, "maximum" = 65536))]
    pub(crate) queue_depth: At<i64>,
    /// Maximum size of a request that is sent. Larger requests are split.
    #[schemars(extend("default" = "512 KiB"))]
    pub(crate) largest: Size,
    /// Processor time of the machine that the hypervisor takes for each request sent, in addition to the
    /// guest's own.
    #[schemars(extend("default" = "5 us"))]
    pub(crate) hypervisor: Time,
    /// Interval between commits of the file system's journal while files are written. A commit writes the
    /// inodes of these files (one block for each 256 MiB of addresses), and two more blocks. `0 s`: there
    /// are no commits.
    #[schemars(extend("default" = "5 s"))]
    pub(crate) journal_commit: Time,
}

/// Keys of `[node.NAME]` that single hosts do not have.
const OF_GROUPS: [&str; 7] = ["count", "machine", "monitors", "osds", "rack", "room", "datacenter"];

/// A host that differs from its group: any keys of `[node.NAME]` (of a client: of `[client.NAME]`) except
/// those of [`OF_GROUPS`]. It is never read in this form: it is laid over the group first. `guest` is the only key of
/// clients that nodes do not have.
#[derive(Debug, Deserialize)]
pub(crate) struct RawHost {}

impl JsonSchema for RawHost {
    fn schema_name() -> Cow<'static, str> {
        "host".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut table = RawNode::json_schema(generator);
        schema::make_partial(&mut table, &OF_GROUPS);
        let mut client = RawClient::json_schema(generator);
        schema::make_partial(&mut client, &[]);
        let about = "The block layer of a client whose group has a `guest`.";
        schema::take_property(&mut table, client, "guest", about);
        table.insert("description".into(), "A host that differs from its group.".into());
        table
    }

    fn inline_schema() -> bool {
        true
    }
}

/// A buffer cache.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCache {
    /// Replacement policy.
    #[schemars(extend("default" = "lru", "enum" = policies()))]
    pub(crate) policy: At<String>,
    /// Memory for pages. `0 B`: there is no cache, and every access goes to the disks unchanged.
    pub(crate) size: Size,
    /// Size of a page: a power of two, 512 B or more.
    #[schemars(extend("default" = "4 KiB"))]
    pub(crate) page: Size,
    /// When a write is acknowledged.
    #[schemars(extend("default" = "back"))]
    pub(crate) write: At<RawWrite>,
    /// Amount of dirty pages above which the flusher starts: a size, or a percentage of the cache. `auto`
    /// is 10 %, as in Linux 2.4 to 2.6. If there is NVRAM, it is half of the NVRAM.
    #[schemars(extend("default" = "auto", "x-words" = ["auto"], "x-when" = { "write": ["back"] }))]
    pub(crate) dirty_background: Option<At<PartSize>>,
    /// Amount of dirty pages above which writers wait: a size, or a percentage of the cache. `auto` is 40
    /// %, as in Linux 2.4 to 2.6. If there is NVRAM, it is all of the NVRAM.
    #[schemars(extend("default" = "auto", "x-words" = ["auto"], "x-when" = { "write": ["back"] }))]
    pub(crate) dirty_limit: Option<At<PartSize>>,
    /// Age at which a dirty page is always flushed.
    #[schemars(extend("default" = "30 s", "x-when" = { "write": ["back"] }))]
    pub(crate) dirty_expire: Option<Time>,
    /// Interval at which the flusher looks for old pages. The flushers of different nodes run at
    /// different times.
    #[schemars(extend("default" = "5 s", "x-when" = { "write": ["back"] }))]
    pub(crate) flush_interval: Option<Time>,
    /// Maximum read-ahead of a sequential stream. `0 B`: no read-ahead.
    #[schemars(extend("default" = "128 KiB"))]
    pub(crate) read_ahead: Size,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawWrite {
    /// As soon as it is in the cache (or in the NVRAM, if there is one).
    Back,
    /// When the disk reports it as written. A disk may report a write that is only in its own buffer, see
    /// `early_write`.
    Through,
}

/// Where written pages are stored on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawLayout {
    /// Each page has a fixed place.
    InPlace,
    /// Pages are appended to a log in segments, as on Ursa Minor's nodes.
    LogStructured,
}

/// Equal disks of a node. A text alone is the device.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("x-short" = "device"))]
pub(crate) struct RawNodeDisk {
    /// Name of the device's profile.
    #[schemars(extend("examples" = ["barracuda-7200.8"]))]
    pub(crate) device: At<String>,
    /// The order in which waiting operations are served. For a solid-state drive, these are the
    /// operations beyond its `queue_depth`. For an array, they are the operations that wait at each of
    /// its members.
    #[schemars(extend("default" = "elevator"))]
    pub(crate) scheduler: At<RawScheduler>,
    /// Number of these disks.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 1024))]
    pub(crate) count: At<i64>,
    /// Device class of these disks, as a step of a rule names it (`take default class nvme`). Without it,
    /// disks with moving heads are `hdd`, and all others are `ssd`. Only with rules in `[rule]`.
    #[schemars(extend("examples" = ["nvme"]))]
    pub(crate) class: Option<At<String>>,
    /// A device for the key-value tables of these OSDs (each disk is one OSD). Each disk has an
    /// equal part of it. The write-ahead logs are on it too, unless `wal` names another device. Without
    /// `db`, tables and logs are on the disk itself. Only with `system = "ceph"` and `store = "bluestore"`.
    #[schemars(extend("examples" = ["optane-p4800x"]))]
    pub(crate) db: Option<RawLogDevice>,
    /// A device for the write-ahead logs of these OSDs (each disk is one OSD). Each disk has an equal
    /// part of it. Only with `system = "ceph"` and `store = "bluestore"`.
    #[schemars(extend("examples" = ["optane-p4800x"]))]
    pub(crate) wal: Option<RawLogDevice>,
}

/// Devices that OSDs share for tables or logs. A text alone is the device.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline, extend("x-short" = "device"))]
pub(crate) struct RawLogDevice {
    /// Name of the device's profile.
    #[schemars(extend("examples" = ["optane-p4800x"]))]
    pub(crate) device: At<String>,
    /// The order in which waiting operations are served, as for a disk.
    #[schemars(extend("default" = "elevator"))]
    pub(crate) scheduler: At<RawScheduler>,
    /// Number of these devices. The disks are assigned to them in turn.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 1024))]
    pub(crate) count: At<i64>,
}

/// The order in which waiting operations are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawScheduler {
    /// By ascending address from the head's position, then again from the lowest (C-LOOK).
    Elevator,
    /// First come, first served.
    Fcfs,
    /// The nearest block first.
    Sstf,
    /// Linux's noop: first come, first served. Adjacent operations are merged.
    Noop,
    /// Linux's deadline: batches of up to 16 operations by ascending address, reads before writes. A read
    /// that has waited 500 ms, or a write that has waited 5 s, begins the next batch. Adjacent operations
    /// are merged.
    Deadline,
    /// Linux's CFQ: queues get the disk in turn. The reads of each workload of each client have a queue. All
    /// writes share one queue, whose turn lasts 40 ms. (In a guest, each thread has one queue for its reads
    /// and writes, and no queue is shared.) The turn of any other queue lasts 100 ms. During such a turn, the
    /// disk waits up to 8 ms for the queue's next operation. Adjacent operations are merged.
    Cfq,
}

impl RawScheduler {
    /// The scheduler that is meant.
    pub(crate) fn known(self) -> SchedulerKind {
        match self {
            Self::Elevator => SchedulerKind::Elevator,
            Self::Fcfs => SchedulerKind::Fcfs,
            Self::Sstf => SchedulerKind::Sstf,
            Self::Noop => SchedulerKind::Noop,
            Self::Deadline => SchedulerKind::Deadline,
            Self::Cfq => SchedulerKind::Cfq,
        }
    }
}

/// A full-duplex network adapter and its link.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawNic {
    /// Line rate in each direction.
    #[schemars(extend("default" = "1 Gbit/s"))]
    pub(crate) rate: Speed,
    /// Propagation delay between host and switch, in each direction.
    #[schemars(extend("default" = "50 us"))]
    pub(crate) latency: Time,
}
