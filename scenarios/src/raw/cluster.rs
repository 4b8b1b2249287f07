//! The storage system as written.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::cpu::RawCost;
use super::leaf::{At, HostPatterns, Size, Time};

/// The storage system. Its key `system` determines which of the structs below is read.
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

/// Clients encode data themselves and send the fragments to the nodes themselves, as in Thereska et al. 2006.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawUrsaMinor {
    /// Name of the storage system.
    #[schemars(extend("enum" = ["ursa-minor"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) system: At<String>,
}

/// Ceph: each disk of a node is an OSD with a device of its own, and a volume is a pool. Clients send
/// requests to the first OSD of a placement group, its primary, which works with the other OSDs for them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCeph {
    /// Name of the storage system.
    #[schemars(extend("enum" = ["ceph"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) system: At<String>,
    /// How an OSD writes to its device.
    #[schemars(extend("default" = "bluestore"))]
    pub(crate) store: At<RawStore>,
    /// Writes shorter than this go to the write-ahead log first, and to their place later. On flash Ceph
    /// used 16 KiB before Nautilus 14.2.8 (`min_alloc_size`), and has deferred no write since (`0 B`). On
    /// disks it uses 64 KiB.
    #[schemars(extend("default" = "16 KiB", "x-when" = { "store": ["bluestore"] }))]
    pub(crate) deferred_below: Option<Size>,
    /// Metadata that a write adds to the log in addition to its data: the metadata of the object, and the log
    /// of the placement group. Assumed: two or three records of the key-value store, about a kilobyte in
    /// total. What a commit writes to the log, for one write or for several together, is rounded up to whole
    /// blocks of 4 KiB.
    #[schemars(extend("default" = "1 KiB"))]
    pub(crate) metadata: Size,
    /// Number of copies of placement groups on each OSD, like Ceph's `mon_target_pg_per_osd`. The number
    /// of groups of a pool is rounded up to the next power of two.
    #[schemars(extend("default" = 100, "minimum" = 1, "maximum" = 10_000))]
    pub(crate) placement_groups_per_osd: At<i64>,
    /// Processor time of an OSD for a client's read, in addition to messages and copies. Assumed: see
    /// `docs/systems.md`.
    #[schemars(extend("default" = { "fixed": "100 us", "rate": "2 GB/s" }))]
    pub(crate) read: RawCost,
    /// Processor time of the primary for a client's write. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "60 us" }))]
    pub(crate) write: RawCost,
    /// Processor time of an OSD, including the primary, for each copy or shard that it writes: transaction,
    /// checksums, key-value store. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "150 us", "rate": "1 GB/s" }))]
    pub(crate) commit: RawCost,
    /// The threads of an OSD, and the processors that they may use. Without this table, an OSD's work runs
    /// on any core of its host.
    pub(crate) threads: Option<RawThreads>,
    /// Order in which the threads of an OSD serve operations. Without it, first come, first served. Only
    /// with `threads`.
    pub(crate) scheduler: Option<RawOpScheduler>,
    /// Number of objects whose metadata (onodes) an OSD keeps in memory. For any other object, it first
    /// reads two blocks of the device, one after the other. Without it, the onodes of all objects are in
    /// memory. Only with `threads`.
    #[schemars(extend("minimum" = 1, "maximum" = 1_000_000_000, "examples" = [100_000]))]
    pub(crate) onodes: Option<At<i64>>,
    /// Whether clients merge writes, as librbd does (`rbd_io_scheduler = simple`, the default since
    /// Octopus). While a write to an object is outstanding, other writes of the same client to that
    /// object wait. When it completes, adjacent waiting writes are sent as one write. Not with events.
    #[schemars(extend("default" = false))]
    pub(crate) coalesce: At<bool>,
    /// Monitors: hosts of client groups. Each node reports to one of them every five seconds.
    pub(crate) monitors: Option<At<HostPatterns>>,
    /// Gateways for objects (RADOS Gateway, RGW): they serve the volumes with a `bucket_index`.
    pub(crate) gateway: Option<RawGateway>,
    /// CRUSH map that places the data. It is a file written by `ceph report`, `ceph osd crush dump` or
    /// `crushtool -d`, or `ceph-map.json` as written by `foretell import ceph -o`, or the text of such a
    /// file. A relative path starts at the scenario's directory; in a change, at the current directory.
    /// All OSDs are assumed to be up, and `in` or `out` as in the map. Without a map, copies are on
    /// distinct hosts, in proportion to capacity.
    #[schemars(extend("examples" = ["ceph-map.json"]))]
    #[allow(dead_code, reason = "read when all volumes are known")]
    pub(crate) crush: Option<At<String>>,
}

/// Gateways for objects.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawGateway {
    /// Hosts that run gateways: storage nodes or hosts of client groups. A load balancer gives each request to the
    /// next of them in turn.
    pub(crate) hosts: At<HostPatterns>,
    /// Processor time of a gateway for a read, in addition to messages and copies: see `docs/systems.md`.
    #[schemars(extend("default" = { "fixed": "900 us", "rate": "1 GB/s" }))]
    pub(crate) read: RawCost,
    /// Processor time of a gateway for a write, as above.
    #[schemars(extend("default" = { "fixed": "1.4 ms", "rate": "120 MB/s" }))]
    pub(crate) write: RawCost,
}

/// The threads of an OSD.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawThreads {
    /// Number of threads that carry out operations: `osd_op_num_shards` times
    /// `osd_op_num_threads_per_shard`. Ceph has 16 on flash and 5 on disks. A thread that reads waits for
    /// the device.
    #[schemars(extend("default" = 16, "minimum" = 1, "maximum" = 4096))]
    pub(crate) op: At<i64>,
    /// Number of threads that read and write messages (`ms_async_op_threads`).
    #[schemars(extend("default" = 3, "minimum" = 1, "maximum" = 4096))]
    pub(crate) messenger: At<i64>,
    /// Maximum number of processors that all threads of an OSD use at a time, such as a container's quota.
    /// Without it, they may use all processors of the host.
    #[schemars(extend("minimum" = 1, "maximum" = 4096))]
    pub(crate) processors: Option<At<i64>>,
    /// Time that a messenger thread takes for each message, in addition to the time for the network.
    /// Assumed: see `docs/systems.md`.
    #[schemars(extend("default" = { "fixed": "10 us", "rate": "2 GB/s" }))]
    pub(crate) message: RawCost,
    /// Time that the kv thread takes for each round of commits. A round commits all transactions that wait
    /// when it begins. Assumed, as above.
    #[schemars(extend("default" = "20 us"))]
    pub(crate) kv_round: Time,
    /// Time that the kv thread takes for each transaction in a round. Assumed, as above.
    #[schemars(extend("default" = "10 us"))]
    pub(crate) kv_transaction: Time,
    /// Processor time of the key-value store's background threads for each transaction. They write and
    /// merge its tables. No request waits for them. Assumed, as above.
    #[schemars(extend("default" = "60 us"))]
    pub(crate) merge: Time,
    /// Time that each round waits until the drive has flushed data and log: some milliseconds on drives
    /// without power-loss protection, zero on others.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) flush: Time,
    /// Whether operations wait for locks. An op thread holds the lock of its operation's placement group
    /// while it works or reads the device. Other threads with operations of the same group wait for the
    /// lock and do nothing else. A read also waits until outstanding writes to its object are committed.
    /// Not with events.
    #[schemars(extend("default" = false))]
    pub(crate) locks: At<bool>,
}

/// How the threads of an OSD choose their next operation: `osd_op_queue` and related settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawOpScheduler {
    /// How a queue chooses the next operation.
    #[schemars(extend("default" = "wpq"))]
    pub(crate) kind: At<RawOpQueue>,
    /// Number of queues of an OSD (`osd_op_num_shards`). Each queue has its part of the op threads. Ceph
    /// has 8 on flash and 1 to 5 on disks.
    #[schemars(extend("default" = 8, "minimum" = 1, "maximum" = 4096))]
    pub(crate) shards: At<i64>,
    /// Capacity that mClock assumes for the OSD, in operations of 4 KiB per second
    /// (`osd_mclock_max_capacity_iops_ssd`). `ceph tell osd.N bench` measures it.
    #[schemars(extend(
        "default" = 21_500.0, "exclusiveMinimum" = 0.0, "maximum" = 1e9, "x-when" = { "kind": ["mclock"] }
    ))]
    pub(crate) capacity: Option<At<f64>>,
    /// How clients and recovery share the capacity (`osd_mclock_profile`). The shares are those of
    /// Pacific and Quincy.
    #[schemars(extend("default" = "high_client_ops", "x-when" = { "kind": ["mclock"] }))]
    pub(crate) profile: Option<At<RawProfile>>,
    /// Whether a thread of each op queue spins, and so occupies a core, while all waiting operations have
    /// reached their limits. Ceph did so before 17.2.4 (issue 56530 of its tracker).
    #[schemars(extend("default" = false, "x-when" = { "kind": ["mclock"] }))]
    pub(crate) spins: Option<At<bool>>,
    /// Maximum bytes of transactions that the store has not committed (`bluestore_throttle_bytes`). If a
    /// transaction would exceed it, its thread waits. Without it, there is no limit.
    pub(crate) throttle: Option<Size>,
}

/// How a queue chooses the next operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawOpQueue {
    /// By priority: 63 for clients, 5 for scrubbing, 3 for recovery.
    Wpq,
    /// By reservation, weight and limit.
    Mclock,
}

/// A profile of mClock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(crate) enum RawProfile {
    /// Half of the capacity is reserved for clients. Their weight is twice that of recovery.
    HighClientOps,
    /// Two fifths of the capacity are reserved for clients, and two fifths for recovery. Their weights are
    /// equal.
    Balanced,
    /// Three fifths of the capacity are reserved for recovery. Its weight is twice that of clients, and its
    /// limit is twice the capacity.
    HighRecoveryOps,
}

/// How an OSD writes to its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawStore {
    /// Large writes go directly to their place on the device. Small writes go through the log of the
    /// key-value store first.
    Bluestore,
    /// All writes go to a journal first, and to the file system later.
    Filestore,
}

/// Swift: clients send requests to proxies. A ring determines the object servers that have the copies. A
/// write is complete when a majority of these servers has it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawSwift {
    /// Name of the storage system.
    #[schemars(extend("enum" = ["swift"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) system: At<String>,
    /// Hosts that run proxies; they belong to client groups. Each instance of a client uses one of them; they
    /// are assigned to instances in turn.
    pub(crate) proxies: At<HostPatterns>,
    /// The ring has 2^`partition_power` partitions.
    #[schemars(extend("default" = 10, "minimum" = 1, "maximum" = 24))]
    pub(crate) partition_power: At<i64>,
    /// Whether clients send `X-Newest` with each read. If so, the proxy asks up to `request_node_count` servers for
    /// their versions, and reads from the server with the newest. Otherwise it reads from the first server that has
    /// the data, which may be stale.
    #[schemars(extend("default" = false))]
    pub(crate) x_newest: At<bool>,
    /// Metadata that an object server writes with an object: its extended attributes, directory entries,
    /// and the file system's journal. Assumed: two blocks.
    #[schemars(extend("default" = "8 KiB"))]
    pub(crate) metadata: Size,
    /// Processor time of a proxy for a request, in addition to messages and copies. Assumed: see
    /// `docs/systems.md`.
    #[schemars(extend("default" = { "fixed": "1 ms", "rate": "2 GB/s" }))]
    pub(crate) proxy: RawCost,
    /// Processor time of a proxy for each exchange with an object server. A read has one exchange. A write
    /// has two with each server that writes: headers and `100 Continue`, then data. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "400 us", "rate": "2 GB/s" }))]
    pub(crate) relay: RawCost,
    /// Processor time of an object server for a read. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "700 us", "rate": "1 GB/s" }))]
    pub(crate) read: RawCost,
    /// Processor time of an object server for a write. Assumed, as above.
    #[schemars(extend("default" = { "fixed": "1 ms", "rate": "1 GB/s" }))]
    pub(crate) write: RawCost,
}
