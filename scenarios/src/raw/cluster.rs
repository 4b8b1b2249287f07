//! The storage system as written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::cpu::RawCost;
use super::leaf::{At, HostPatterns, Size, Time};

/// The storage system. `system` says which, and each is read as the struct of its
/// own.
pub(crate) enum RawCluster {}

impl JsonSchema for RawCluster {
    fn schema_name() -> Cow<'static, str> {
        "cluster".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-tag": "system",
            "oneOf": [
                RawUrsaMinor::json_schema(generator),
                RawCeph::json_schema(generator),
                RawSwift::json_schema(generator),
            ]
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// Clients encode and send fragments to all nodes themselves, as in Thereska et al. 2006.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawUrsaMinor {
    /// What storage system it is.
    #[schemars(extend("enum" = ["ursa-minor"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) system: At<String>,
}

/// Ceph: each disk of a node is an OSD with a device of its own, a volume is a pool, and the first
/// OSD of a placement group does for the others what clients ask for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCeph {
    /// What storage system it is.
    #[schemars(extend("enum" = ["ceph"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) system: At<String>,
    /// How an OSD writes to its device.
    #[schemars(extend("default" = "bluestore"))]
    pub(crate) store: At<RawStore>,
    /// Writes shorter than this go to the write-ahead log, and to their place later: 16 KiB on flash
    /// (`min_alloc_size` up to Octopus), 64 KiB on disks.
    #[schemars(extend("default" = "16 KiB", "x-when" = { "store": ["bluestore"] }))]
    pub(crate) deferred_below: Option<Size>,
    /// Metadata that a write leaves in the log beside its data: the object's, the placement group's log.
    /// Assumed: two or three records of the key-value store, of about a kilobyte in all; a commit of several
    /// writes takes whole blocks of 4 KiB.
    #[schemars(extend("default" = "1 KiB"))]
    pub(crate) metadata: Size,
    /// Copies of placement groups on each OSD, as `mon_target_pg_per_osd`; the groups of a pool are
    /// the next power of two.
    #[schemars(extend("default" = 100, "minimum" = 1, "maximum" = 10_000))]
    pub(crate) placement_groups_per_osd: At<i64>,
    /// Processor time of an OSD for a client's read, beside messages and copies. Assumed: see
    /// `docs/systems.md`.
    #[schemars(extend("default" = { "fixed": "100 us", "rate": "2 GB/s" }))]
    pub(crate) read: RawCost,
    /// Processor time of the primary for a client's write. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "60 us" }))]
    pub(crate) write: RawCost,
    /// Processor time of an OSD, the primary too, for each copy or shard that it writes: transaction,
    /// check sums, the key-value store. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "150 us", "rate": "1 GB/s" }))]
    pub(crate) commit: RawCost,
    /// The threads of an OSD, and the processors that it may use. Without it, its work runs on any core of
    /// its host.
    pub(crate) threads: Option<RawThreads>,
    /// Order in which the threads of an OSD serve operations; without it, first come, first served. Only with `threads`.
    pub(crate) scheduler: Option<RawOpScheduler>,
    /// Objects whose metadata (onodes) an OSD holds in memory. For others it first reads two blocks of the device, one
    /// after the other. Without it, those of all objects. Only with `threads`.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000_000, "examples" = [100_000]))]
    pub(crate) onodes: Option<At<i64>>,
    /// Whether clients join writes, as librbd does (`rbd_io_scheduler = simple`, the default since Octopus): while a
    /// write to an object is under way, others of the same client to that object wait, and go out as one where they
    /// follow each other. Not with events.
    #[schemars(extend("default" = false))]
    pub(crate) coalesce: At<bool>,
    /// Monitors: hosts of client groups, to which each node reports every five seconds.
    pub(crate) monitors: Option<At<HostPatterns>>,
    /// Ceph's own placement: a file that `ceph report`, `ceph osd crush dump` or `crushtool -d` wrote, or
    /// `ceph-map.json` of `foretell import ceph -o`; or the text of such a file. A relative path is taken
    /// from the scenario's directory, or in a change from the current one. Without it, copies are on
    /// distinct hosts, by capacity. OSDs are taken to be up, and `in` or `out` as the map says.
    #[schemars(extend("examples" = ["ceph-map.json"]))]
    #[allow(dead_code, reason = "read when all volumes are known")]
    pub(crate) crush: Option<At<String>>,
}

/// The threads of an OSD.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawThreads {
    /// Threads that carry out operations, `osd_op_num_shards` times `osd_op_num_threads_per_shard`: 16 on
    /// flash, 5 on disks. A thread that reads waits for the device.
    #[schemars(extend("default" = 16, "minimum" = 1, "maximum" = 4096))]
    pub(crate) op: At<i64>,
    /// Threads that read and write messages, `ms_async_op_threads`.
    #[schemars(extend("default" = 3, "minimum" = 1, "maximum" = 4096))]
    pub(crate) messenger: At<i64>,
    /// Processors that all threads of an OSD may use at a time, as a container's quota; without it, all of the
    /// host's.
    #[schemars(extend("minimum" = 1, "maximum" = 4096))]
    pub(crate) processors: Option<At<i64>>,
    /// Time of a messenger thread for each message, beside the network's. Assumed: see `docs/systems.md`.
    #[schemars(extend("default" = { "fixed": "10 us", "rate": "2 GB/s" }))]
    pub(crate) message: RawCost,
    /// Time of the kv thread for each round of commits: all that wait go in one. Assumed, as above.
    #[schemars(extend("default" = "20 us"))]
    pub(crate) kv_round: Time,
    /// Time of the kv thread for each transaction in a round. Assumed, as above.
    #[schemars(extend("default" = "10 us"))]
    pub(crate) kv_transaction: Time,
    /// Processor time of the key-value store's background threads for each transaction: they write and merge
    /// its tables. No request waits for them. Assumed, as above.
    #[schemars(extend("default" = "60 us"))]
    pub(crate) merge: Time,
    /// What each round waits for the drive to flush data and log: some milliseconds on drives without power-loss
    /// protection, nothing on others.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) flush: Time,
    /// Whether operations wait for locks: an op thread has the lock of its operation's placement group while it works
    /// or reads the device, and others with operations of the group wait with it. A read also waits until writes to
    /// its object are committed. Not with events.
    #[schemars(extend("default" = false))]
    pub(crate) locks: At<bool>,
}

/// What the threads of an OSD do next, as `osd_op_queue` and the settings that belong to it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawOpScheduler {
    /// How a queue chooses.
    #[schemars(extend("default" = "wpq"))]
    pub(crate) kind: At<RawOpQueue>,
    /// Queues of an OSD, each with its part of the op threads: `osd_op_num_shards`, 8 on flash, 1 to 5 on disks.
    #[schemars(extend("default" = 8, "minimum" = 1, "maximum" = 4096))]
    pub(crate) shards: At<i64>,
    /// Operations of 4 KiB a second that the OSD is taken to be able to do, as `ceph tell osd.N bench` measures
    /// and `osd_mclock_max_capacity_iops_ssd` keeps.
    #[schemars(extend(
        "default" = 21_500.0, "exclusiveMinimum" = 0.0, "maximum" = 1e9, "x-when" = { "kind": ["mclock"] }
    ))]
    pub(crate) capacity: Option<At<f64>>,
    /// Who has how much of it: `osd_mclock_profile`, with the shares of Pacific and Quincy.
    #[schemars(extend("default" = "high_client_ops", "x-when" = { "kind": ["mclock"] }))]
    pub(crate) profile: Option<At<RawProfile>>,
    /// Whether a thread of each shard spins, which takes a core, while all that waits has reached its limit: so
    /// before Ceph 17.2.4 (issue 56530 of its tracker).
    #[schemars(extend("default" = false, "x-when" = { "kind": ["mclock"] }))]
    pub(crate) spins: Option<At<bool>>,
    /// Bytes that may be on their way to the store, `bluestore_throttle_bytes`: a thread whose transaction is
    /// beyond that waits with it. Without it, any number.
    pub(crate) throttle: Option<Size>,
}

/// How a queue chooses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawOpQueue {
    /// By priority: 63 for clients, 3 for recovery.
    Wpq,
    /// By reservation, weight and limit.
    Mclock,
}

/// A profile of mClock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum RawProfile {
    /// Clients have half of the OSD reserved, and twice the weight of recovery.
    HighClientOps,
    /// Both have two fifths reserved, and equal weights.
    Balanced,
    /// Recovery has three fifths reserved, twice the weight of clients, and twice the capacity as its limit.
    HighRecoveryOps,
}

/// How an OSD writes to its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawStore {
    /// Large writes go to their place at once, small ones through the log of the key-value store.
    Bluestore,
    /// All writes go to a journal, and to the file system later.
    Filestore,
}

/// Swift: proxies take requests, a ring says which object servers have the copies, and a write is
/// complete when most of them have it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawSwift {
    /// What storage system it is.
    #[schemars(extend("enum" = ["swift"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) system: At<String>,
    /// Hosts that run proxies, of client groups: a client's instances take them in turn.
    pub(crate) proxies: At<HostPatterns>,
    /// The ring has two to the power of this many partitions.
    #[schemars(extend("default" = 10, "minimum" = 1, "maximum" = 24))]
    pub(crate) partition_power: At<i64>,
    /// Metadata that an object server writes with an object: its extended attributes, directory
    /// entries, the file system's journal. Assumed: two blocks.
    #[schemars(extend("default" = "8 KiB"))]
    pub(crate) metadata: Size,
    /// Processor time of a proxy for a request, beside messages and copies. Assumed: see
    /// `docs/systems.md`.
    #[schemars(extend("default" = { "fixed": "1 ms", "rate": "2 GB/s" }))]
    pub(crate) proxy: RawCost,
    /// Processor time of a proxy for each exchange with an object server: one for a read, two with each of
    /// the servers that write (headers and `100 Continue`, then data). Assumed, as above.
    #[schemars(extend("default" = { "fixed": "400 us", "rate": "2 GB/s" }))]
    pub(crate) relay: RawCost,
    /// Processor time of an object server for a read. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "700 us", "rate": "1 GB/s" }))]
    pub(crate) read: RawCost,
    /// Processor time of an object server for a write. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "1 ms", "rate": "1 GB/s" }))]
    pub(crate) write: RawCost,
}
