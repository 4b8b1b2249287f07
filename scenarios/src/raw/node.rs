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
    /// How many; the hosts are called by the group's name and a number from 0.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 10_000_000))]
    #[allow(dead_code, reason = "read when groups are expanded")]
    pub(crate) count: At<i64>,
    /// The processor: a profile, and what differs from it.
    #[allow(dead_code, reason = "laid over its profile first")]
    pub(crate) cpu: RawCpuUse,
    /// The buffer cache.
    pub(crate) cache: At<RawCache>,
    /// Battery-backed memory that holds written data until it is on disk; `none`: none fitted.
    #[schemars(extend("default" = "none", "x-words" = ["none"], "examples" = ["64 MiB"]))]
    pub(crate) nvram: At<String>,
    /// Where written pages go on disk.
    #[schemars(extend("default" = "in-place"))]
    pub(crate) layout: At<RawLayout>,
    /// Bytes that a log-structured layout writes in one disk operation.
    #[schemars(extend("default" = "512 KiB", "x-when" = { "layout": ["log-structured"] }))]
    pub(crate) segment: Option<Size>,
    /// How much of a file is on one disk before the next one follows.
    #[schemars(extend("default" = "1 MiB"))]
    pub(crate) stripe: Size,
    /// The disks, in order.
    #[schemars(extend("minItems" = 1))]
    pub(crate) disk: Vec<RawNodeDisk>,
    /// The network adapter.
    #[schemars(extend("default" = {}))]
    pub(crate) nic: RawNic,
    /// The hosts of the group are virtual machines, several of which may share a machine's adapter and
    /// disks. Without it each is a machine.
    #[allow(dead_code, reason = "read when groups are expanded")]
    pub(crate) machine: Option<RawMachine>,
    /// Monitors that these nodes report to: hosts of client groups. Without it, those of the `cluster`.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) monitors: Option<At<HostPatterns>>,
    /// Numbers of the OSDs on these nodes, host by host and disk by disk: `0-11, 24-35`. Without it in any
    /// group, they count from 0 over all nodes. Only where a CRUSH map places volumes.
    #[schemars(extend("examples" = ["0-11"]))]
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) osds: Option<At<String>>,
    /// The rack of these nodes. With a list of racks, the first node is in the first rack, the second in the
    /// second, and so on, over and over. Only with `system = "ceph"`, and without `crush`; or where an event names a
    /// rack.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) rack: Option<At<HostPatterns>>,
    /// The room of these nodes, as `rack`. A rack is in one room.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) room: Option<At<HostPatterns>>,
    /// The datacenter of these nodes, as `rack`. A room is in one datacenter.
    #[allow(dead_code, reason = "read when all hosts are known")]
    pub(crate) datacenter: Option<At<HostPatterns>>,
}

/// Machines that virtual machines run on: `count`, or those `of` another group.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawMachine {
    /// How many machines the hosts are dealt to in turn. Their adapters and disks are the group's `nic`
    /// and `disk`.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000_000))]
    pub(crate) count: Option<At<i64>>,
    /// Another group, whose machines these nodes share, instead of `count`.
    pub(crate) of: Option<At<String>>,
    /// Bandwidth of each virtual machine, in each direction; without it, its machine's cable alone limits
    /// it.
    #[schemars(extend("examples" = ["250 Mbit/s"]))]
    pub(crate) bandwidth: Option<Speed>,
}

/// A group of equal client machines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawClient {
    /// How many; the hosts are called by the group's name and a number from 0.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 10_000_000))]
    #[allow(dead_code, reason = "read when groups are expanded")]
    pub(crate) count: At<i64>,
    /// The processor: a profile, and what differs from it.
    #[allow(dead_code, reason = "laid over its profile first")]
    pub(crate) cpu: RawCpuUse,
    /// The network adapter.
    #[schemars(extend("default" = {}))]
    pub(crate) nic: RawNic,
    /// Virtual machines: the hosts of the group are guests of one machine, and share its processor and
    /// its adapter.
    pub(crate) guest: Option<RawGuest>,
}

/// What a virtual machine has of its own: a block layer, as Linux's, that requests go through.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawGuest {
    /// The order in which waiting requests are sent.
    #[schemars(extend("default" = "cfq"))]
    pub(crate) scheduler: At<RawScheduler>,
    /// Most outstanding requests of a guest; others wait in its scheduler.
    #[schemars(extend("default" = 32, "minimum" = 1, "maximum" = 65536))]
    pub(crate) queue_depth: At<i64>,
    /// The largest request that is sent: larger ones are split.
    #[schemars(extend("default" = "512 KiB"))]
    pub(crate) largest: Size,
    /// Time of the machine's processor that the hypervisor takes for each request sent, beside the
    /// guest's own.
    #[schemars(extend("default" = "5 us"))]
    pub(crate) hypervisor: Time,
    /// How often the file system's journal is committed, if files were written: their inodes, which
    /// lie in a block for each 256 MiB, and two blocks more. `0 s`: never.
    #[schemars(extend("default" = "5 s"))]
    pub(crate) journal_commit: Time,
}

/// Keys of `[node.NAME]` that single hosts do not have.
const OF_GROUPS: [&str; 7] = ["count", "machine", "monitors", "osds", "rack", "room", "datacenter"];

/// A host that differs from its group: any keys of `[node.NAME]` (of a client: of
/// `[client.NAME]`) but those of [`OF_GROUPS`]. Never read as such: it is laid over the group first.
#[derive(Debug, Deserialize)]
pub(crate) struct RawHost {}

impl JsonSchema for RawHost {
    fn schema_name() -> Cow<'static, str> {
        "host".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut table = RawNode::json_schema(generator);
        schema::make_partial(&mut table, &OF_GROUPS);
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
    /// Memory for pages. `0 B`: none, and every access goes to the disks as it is.
    pub(crate) size: Size,
    /// Size of a page: a power of two, 512 B or more.
    #[schemars(extend("default" = "4 KiB"))]
    pub(crate) page: Size,
    /// When a write is acknowledged.
    #[schemars(extend("default" = "back"))]
    pub(crate) write: At<RawWrite>,
    /// Written data not yet on disk beyond which the flusher starts: a size, or a percentage of
    /// the cache. `auto` is 10 %, as in Linux, or half of the NVRAM where fitted.
    #[schemars(extend("default" = "auto", "x-words" = ["auto"], "x-when" = { "write": ["back"] }))]
    pub(crate) dirty_background: Option<At<PartSize>>,
    /// Written data not yet on disk beyond which writers wait: a size, or a percentage of the
    /// cache. `auto` is 40 %, as in Linux, or all of the NVRAM where fitted.
    #[schemars(extend("default" = "auto", "x-words" = ["auto"], "x-when" = { "write": ["back"] }))]
    pub(crate) dirty_limit: Option<At<PartSize>>,
    /// Age at which a written page is flushed in any case.
    #[schemars(extend("default" = "30 s", "x-when" = { "write": ["back"] }))]
    pub(crate) dirty_expire: Option<Time>,
    /// How often the flusher looks; each node's at times of its own.
    #[schemars(extend("default" = "5 s", "x-when" = { "write": ["back"] }))]
    pub(crate) flush_interval: Option<Time>,
    /// Most that is read ahead of a sequential stream; `0 B` for none.
    #[schemars(extend("default" = "128 KiB"))]
    pub(crate) read_ahead: Size,
}

/// When a write is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawWrite {
    /// As soon as it is in the cache (or in NVRAM, where fitted).
    Back,
    /// When the disk has it (which may report it from its own buffer, see `early_write`).
    Through,
}

/// Where written pages go on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawLayout {
    /// A page has one place.
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
    /// The order in which waiting operations are served: of a solid-state drive, those that it does
    /// not take (`queue_depth`); of an array, those that wait at each of its members.
    #[schemars(extend("default" = "elevator"))]
    pub(crate) scheduler: At<RawScheduler>,
    /// How many of these.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 1024))]
    pub(crate) count: At<i64>,
    /// The device class by which a step of a rule names them (`take default class nvme`). Without it, disks
    /// with moving heads are `hdd`, all others `ssd`. Only with rules in `[rule]`.
    #[schemars(extend("examples" = ["nvme"]))]
    pub(crate) class: Option<At<String>>,
    /// A device on which these disks, each of them an OSD, have the tables of their key-value stores, in equal parts.
    /// Their logs are on it, too, unless `wal` names another device. Without it, both are on the disk itself. Only with
    /// `system = "ceph"` and `store = "bluestore"`.
    #[schemars(extend("examples" = ["optane-p4800x"]))]
    pub(crate) db: Option<RawLogDevice>,
    /// A device on which these disks, each of them an OSD, have their write-ahead logs, in equal parts. Only with
    /// `system = "ceph"` and `store = "bluestore"`.
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
    /// The order in which waiting operations are served, as of a disk.
    #[schemars(extend("default" = "elevator"))]
    pub(crate) scheduler: At<RawScheduler>,
    /// How many of these. The disks are dealt to them in turn.
    #[schemars(extend("default" = 1, "minimum" = 1, "maximum" = 1024))]
    pub(crate) count: At<i64>,
}

/// The order in which waiting operations are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawScheduler {
    /// Upwards from the head's position, then again from the lowest (C-LOOK).
    Elevator,
    /// First come, first served.
    Fcfs,
    /// The nearest block first.
    Sstf,
    /// Linux's noop: first come, first served; operations that follow each other are merged.
    Noop,
    /// Linux's deadline: batches of up to 16 upwards, reads before writes; a read that has waited
    /// 500 ms or a write that has waited 5 s begins the next batch. Operations are merged.
    Deadline,
    /// Linux's CFQ: the reads of each workload of each client (in a guest, reads and writes of each
    /// thread) have the disk for 100 ms in turn, in which it waits up to 8 ms for the next one;
    /// writes share a turn of 40 ms. Operations are merged.
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

/// A full-duplex network adapter and its cable.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawNic {
    /// Line rate in each direction.
    #[schemars(extend("default" = "1 Gbit/s"))]
    pub(crate) rate: Speed,
    /// From the last bit sent to the last bit arrived at the switch, or from switch to host.
    #[schemars(extend("default" = "50 us"))]
    pub(crate) latency: Time,
}
