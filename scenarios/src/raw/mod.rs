//! A scenario as written: the structs that serde fills and that the schema is derived from.
//!
//! Each key is declared here once, with its meaning (the doc comment, which becomes the schema's
//! description and the reference in `docs/scenario.md`), its default (`"default"`), the range of
//! a number, and when it means anything at all (`"x-when"`: the neighbours' values for which it
//! does). Defaults are filled into the tree before it is read, so a key with a default is not
//! optional here; an `Option` is a key that may be absent.

mod cluster;
mod cpu;
mod device;
mod event;
mod leaf;
mod node;
mod scrub;
mod volume;
mod workload;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use crate::device::file::RawDevice;
pub(crate) use cluster::{
    RawCeph, RawCluster, RawGateway, RawOpQueue, RawOpScheduler, RawProfile, RawStore, RawSwift,
    RawThreads,
};
pub(crate) use cpu::{RawCost, RawCpu};
pub(crate) use device::{RawDisk, RawMeasured, RawSeek};
pub(crate) use event::{RawEvent, RawRecovery, RawWhat};
pub(crate) use leaf::{
    At, CountOrWord, Frequency, HostPatterns, PartSize, Quantity, Share, Size, Speed, Time,
};
pub(crate) use node::{
    RawCache, RawClient, RawGuest, RawHost, RawLayout, RawLogDevice, RawMachine, RawNic, RawNode,
    RawNodeDisk, RawWrite,
};
pub(crate) use scrub::RawScrub;
pub(crate) use volume::{RawCipher, RawDomain, RawPlacement, RawReadFrom, RawRule, RawVolume};
pub(crate) use workload::{
    Pacing, RawArrivals, RawChoice, RawCosbench, RawFfsb, RawFio, RawIozone, RawOltp, RawPace,
    RawPattern, RawPostmark, RawRecorded, RawSsio, RawThrough, RawTrace, RawTraceArrivals,
    RawWithin, RawWorkload,
};

// Its parts are read one by one, so that one that is wrong does not hide the others.
/// A storage cluster, its workloads, and the length of the run.
#[derive(JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[allow(dead_code, clippy::zero_sized_map_values, reason = "only its schema is used")]
pub(crate) struct RawScenario {
    /// Seed of every random stream: the same scenario with the same seed gives the same run.
    #[schemars(extend("default" = 42, "minimum" = 0))]
    pub(crate) seed: At<i64>,
    /// Simulated time before measuring begins. `auto` is zero if every workload replays a trace, or if
    /// every workload ends by itself and there is no `duration`. Otherwise it is 5 s.
    #[schemars(extend("default" = "auto", "x-words" = ["auto"]))]
    pub(crate) warmup: At<String>,
    /// Measured time after the warm-up. It may be left out if every workload ends by itself, such as a
    /// trace or a workload with `requests`.
    pub(crate) duration: Option<Time>,
    /// Divides the measured time into intervals. Their means show the accuracy of the run.
    pub(crate) intervals: Option<RawIntervals>,
    /// Requests whose records are kept in `run.db`: `all`, `none`, or a sample such as `every 1/100
    /// requests`. All records of a sampled request are kept. Recording uses no resources of the simulated system, except
    /// with `tracking.overhead = true`.
    #[schemars(extend("default" = "all", "examples" = ["all", "none", "every 1/100 requests"]))]
    pub(crate) record: At<String>,
    /// Whether requests carry real bytes.
    #[schemars(extend("default" = "none"))]
    pub(crate) payload: At<RawPayload>,
    /// The storage system. Without it, `ursa-minor`, the system of Thereska et al. 2006.
    pub(crate) cluster: Option<RawCluster>,
    /// Groups of storage nodes: `[node.brick]` with `count = 8` is `brick0` to `brick7`.
    #[schemars(extend("default" = {}))]
    pub(crate) node: BTreeMap<String, RawNode>,
    /// Groups of client machines. They issue requests, encode and decode.
    #[schemars(extend("default" = {}))]
    pub(crate) client: BTreeMap<String, RawClient>,
    /// Single hosts that differ from their group: `[host.brick3]`. The keys given here replace those of
    /// the group. Inner tables are merged key by key, except that a `cpu` with a `profile` replaces the
    /// group's. A list, such as `disk`, replaces the group's list.
    #[schemars(extend("default" = {}))]
    pub(crate) host: BTreeMap<String, RawHost>,
    /// The switch between the hosts.
    #[schemars(extend("default" = {}))]
    pub(crate) switch: RawSwitch,
    /// Volumes: sets of data, each with its own distribution over nodes.
    #[schemars(extend("default" = {}))]
    pub(crate) volume: BTreeMap<String, RawVolume>,
    /// Workloads: the requests to the volumes.
    #[schemars(extend("default" = {}))]
    pub(crate) workload: BTreeMap<String, RawWorkload>,
    /// Rules by which Ceph places volumes over nodes, racks, rooms and classes of devices. Only with
    /// `system = "ceph"` and without `crush`.
    pub(crate) rule: Option<BTreeMap<String, RawRule>>,
    /// Events in the cluster during the run: hosts fail, return or slow down.
    pub(crate) event: Option<BTreeMap<String, RawEvent>>,
    /// How the storage system notices failures and recovers from them. Only with events.
    pub(crate) recovery: Option<RawRecovery>,
    /// Scrubbing: storage servers read all that their disks store, over and over, and compare checksums.
    /// Without it, nothing is scrubbed.
    pub(crate) scrub: Option<RawScrub>,
    /// Activity tracking: what is recorded, and the cost of recording in the simulated system.
    #[schemars(extend("default" = {}))]
    pub(crate) tracking: RawTracking,
    /// Processor profiles of this scenario. They take precedence over those in `cpus/NAME.toml` beside it,
    /// and over those that come with `foretell`.
    #[schemars(extend("default" = {}))]
    pub(crate) cpu: BTreeMap<String, RawCpu>,
    /// Device profiles of this scenario. They take precedence over those in `devices/NAME.toml` beside it,
    /// and over those that come with `foretell`.
    #[schemars(extend("default" = {}))]
    pub(crate) device: BTreeMap<String, RawDevice>,
}

/// Division of the measured time into intervals of equal length.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawIntervals {
    /// Number of intervals.
    #[schemars(extend("default" = 5, "minimum" = 2, "maximum" = 1000))]
    pub(crate) count: At<i64>,
    /// Minimum number of requests of a workload in each interval. If a workload has fewer, the run is
    /// measured again, for twice as long. The means of short intervals can agree although they are
    /// inaccurate, because slow changes affect all intervals alike.
    #[schemars(extend("default" = 1, "minimum" = 1))]
    pub(crate) requests: At<i64>,
    /// Maximum relative standard error of the intervals' mean response times. While the error of the reads
    /// or the writes of a workload exceeds it, the run is measured again, for twice as long. The time
    /// measured before then counts as warm-up.
    #[schemars(extend("default" = "5%"))]
    pub(crate) error: At<Share>,
    /// Maximum measured time. `auto` is `duration`: the measured time is then never doubled.
    #[schemars(extend("default" = "auto", "x-words" = ["auto"], "examples" = ["5 min"]))]
    pub(crate) longest: At<String>,
}

/// Whether requests carry real bytes.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawPayload {
    /// Only sizes are simulated.
    None,
    /// Real bytes are encrypted, encoded, stored, read back and compared. This takes longer, but checks the
    /// result of every read.
    Real,
}

/// The switch between the hosts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawSwitch {
    /// How closely the network is modelled.
    #[schemars(extend("default" = "tcp"))]
    pub(crate) model: At<RawNetworkModel>,
    /// Buffer of each output port. Segments that do not fit are dropped and sent again.
    #[schemars(extend("default" = "512 KiB", "x-when" = { "model": ["tcp"] }))]
    pub(crate) port_buffer: Option<Size>,
    /// Buffer shared by all output ports. Each port uses at most `port_buffer` of it. Without it, each port
    /// has its own buffer.
    #[schemars(extend("x-when" = { "model": ["tcp"] }))]
    pub(crate) shared_buffer: Option<Size>,
    /// With a shared buffer, a port may queue at most this multiple of the buffer's free part (dynamic
    /// threshold, Choudhury and Hahne 1998).
    #[schemars(extend(
        "default" = 1.0, "minimum" = 0.001, "maximum" = 1000, "x-when" = { "model": ["tcp"] }
    ))]
    pub(crate) shared_buffer_alpha: Option<At<f64>>,
    /// `RTO_min`: minimum time, in addition to a round trip, before a sender sends unacknowledged data
    /// again.
    #[schemars(extend("default" = "200 ms", "x-when" = { "model": ["tcp"] }))]
    pub(crate) retransmit_timeout: Option<Time>,
    /// Maximum data in flight that a receiver accepts on one connection.
    #[schemars(extend("default" = "4 MiB", "x-when" = { "model": ["tcp"] }))]
    pub(crate) receive_window: Option<Size>,
    /// Congestion window, in segments, of a connection that is new or was idle for long (RFC 6928: 10).
    #[schemars(extend(
        "default" = 10, "minimum" = 1, "maximum" = 65535, "x-when" = { "model": ["tcp"] }
    ))]
    pub(crate) initial_window: Option<At<i64>>,
    /// Whether senders probe for losses at the end of their data instead of waiting for the timeout
    /// (RACK-TLP, RFC 8985). Linux has done so since 2013.
    #[schemars(extend("default" = true, "x-when" = { "model": ["tcp"] }))]
    pub(crate) loss_probes: Option<At<bool>>,
    /// Rate, in each direction, of the uplink from each rack's switch to the core. All hosts of a rack share
    /// it. Hosts without a `rack` are connected to the core directly. Without it, racks have no effect on
    /// the network.
    #[schemars(extend("examples" = ["40 Gbit/s"]))]
    pub(crate) uplink: Option<Speed>,
}

/// How closely the network is modelled.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawNetworkModel {
    /// TCP over ports with finite buffers: windows, losses, fast retransmits, timeouts.
    Tcp,
    /// Only queues for links: buffers and windows are unlimited.
    Queue,
}

/// Activity tracking: what is recorded, and the cost of recording in the simulated system.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawTracking {
    /// Types of records that are kept, by the names of their tables. An empty list keeps all types.
    #[schemars(extend("default" = []))]
    pub(crate) types: Vec<At<RawRecordType>>,
    /// Whether tracking uses resources of the simulated system: CPU for each record posted, memory of each
    /// node, and network and disk for shipping. Thereska et al. 2006 saw a cost of less than 6 %. A fast cluster pays
    /// more: one node stores the records of all, about 64 B for each step of each request, and may become the
    /// bottleneck.
    #[schemars(extend("default" = false))]
    pub(crate) overhead: At<bool>,
    /// Memory taken from each node's cache for records that wait to be shipped (20 MB in Thereska et al.
    /// 2006).
    #[schemars(extend("default" = "20 MB", "x-when" = { "overhead": [true] }))]
    pub(crate) buffer: Option<Size>,
    /// Size of a record when shipped.
    #[schemars(extend("default" = "64 B", "x-when" = { "overhead": [true] }))]
    pub(crate) record_size: Option<Size>,
    /// Bytes of waiting records at which they are shipped.
    #[schemars(extend("default" = "64 KiB", "x-when" = { "overhead": [true] }))]
    pub(crate) batch: Option<Size>,
    /// The storage node that stores the records. `auto` is the first node.
    #[schemars(extend("default" = "auto", "x-when" = { "overhead": [true] }))]
    pub(crate) store: Option<At<String>>,
    /// Whether the 32 metrics of dstat are collected on each host every second, and the measurements of
    /// clients every 5 s. Collecting them costs the simulated system nothing.
    #[schemars(extend("default" = false))]
    pub(crate) metrics: At<bool>,
    /// Standard deviation of the hosts' clocks around the true time. NTP on one network leaves
    /// milliseconds.
    #[schemars(extend("default" = "5 ms", "x-when" = { "metrics": [true] }))]
    pub(crate) clock_skew: Option<Time>,
    /// Mean delay with which a collector wakes.
    #[schemars(extend("default" = "2 ms", "x-when" = { "metrics": [true] }))]
    pub(crate) sample_delay: Option<Time>,
}

/// A type of record; its table in `run.db` has the same name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
#[allow(missing_docs, reason = "documented with the records")]
pub(crate) enum RawRecordType {
    UserThreadSwitch,
    KernelProcessSwitch,
    BufferReadHit,
    BufferReadMiss,
    BufferWrite,
    BufferReadAhead,
    BufferFlush,
    BufferEvict,
    NetworkTransmit,
    DiskOp,
    Request,
}

impl RawRecordType {
    /// The name of its table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UserThreadSwitch => "user_thread_switch",
            Self::KernelProcessSwitch => "kernel_process_switch",
            Self::BufferReadHit => "buffer_read_hit",
            Self::BufferReadMiss => "buffer_read_miss",
            Self::BufferWrite => "buffer_write",
            Self::BufferReadAhead => "buffer_read_ahead",
            Self::BufferFlush => "buffer_flush",
            Self::BufferEvict => "buffer_evict",
            Self::NetworkTransmit => "network_transmit",
            Self::DiskOp => "disk_op",
            Self::Request => "request",
        }
    }
}
