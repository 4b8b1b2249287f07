//! Events as written: what fails, returns or slows down during a run, and how the system reacts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::leaf::{At, HostPatterns, Setting, Time};

/// An event in the cluster during the run. Exactly one of `host`, `disk`, `link` and `rack` names what it
/// happens to. An event that changes settings has none of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawEvent {
    /// Time of the event, counted from the end of the warm-up.
    pub(crate) at: Time,
    /// What happens.
    pub(crate) what: At<RawWhat>,
    /// Storage nodes, written like `nodes` of a volume. If there are several, the event affects all of them at
    /// the same time.
    pub(crate) host: Option<At<HostPatterns>>,
    /// A disk of a storage node: `brick3.disk0`. With Ceph, only this OSD fails; with Swift, only this device.
    /// With `ursa-minor`, files are striped over all disks of a node, so a node that has lost a disk serves
    /// nothing. With `slow`, only this disk is slow.
    #[schemars(extend("examples" = ["brick3.disk0"]))]
    pub(crate) disk: Option<At<String>>,
    /// The link of a host, by the host's name. While the link has failed, nothing reaches or leaves the
    /// host. The host itself keeps running and keeps its data. A client's link can be slow, but it cannot
    /// fail.
    pub(crate) link: Option<At<HostPatterns>>,
    /// A rack, by its name: all storage nodes whose `rack` has this name, together.
    pub(crate) rack: Option<At<String>>,
    /// Duration of the event. A host or disk that fails for this time keeps its data, as does one that a
    /// later event returns. Without either, a host or disk that fails loses its data.
    #[serde(rename = "for")]
    #[schemars(extend("x-when" = { "what": ["fail", "slow"] }, "examples" = ["10 s"]))]
    pub(crate) lasts: Option<Time>,
    /// Factor by which something takes longer: the work of the host's processor, each operation of the
    /// disk, or each transfer over the link. More than 1.
    #[schemars(extend("minimum" = 1.0, "maximum" = 1000.0, "x-when" = { "what": ["slow"] }))]
    pub(crate) factor: Option<At<f64>>,
    /// New values of settings, by their paths in the scenario. Of a volume, with `ursa-minor`: `encoding`,
    /// `cipher`, `nodes`, `placement`, `write_quorum` and `min_write`. The volume's data are moved and
    /// encoded again, group by group. Of `recovery`: `parallel`, `pause` and, with Ceph, `max_backfills`.
    /// With Ceph also the weights of OSDs, `osd.brick3.disk0.reweight`, from 0 to 1, as `ceph osd reweight`
    /// sets them. A weight is the share of its placement groups that an OSD keeps.
    #[schemars(extend("x-when" = { "what": ["set"] }, "examples" = [{ "volume.mail.encoding": "3-of-5" }]))]
    #[allow(clippy::zero_sized_map_values, reason = "what is set is read from the tree")]
    pub(crate) set: Option<BTreeMap<String, Setting>>,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawWhat {
    /// It stops at once. Nothing else is notified.
    Fail,
    /// It returns with the data that it held.
    Return,
    /// The host's processor, the disk or the link takes `factor` times as long.
    Slow,
    /// It joins the cluster. Until then it holds nothing: Ceph's map, Swift's rings, and volumes that name
    /// it in `nodes` leave it out.
    Add,
    /// Its data move elsewhere while it continues to serve requests.
    Drain,
    /// The settings in `set` change.
    Set,
}

/// How the storage system notices failures and recovers from them. Only with events. With Swift, only `give_up` and
/// the keys that say so have an effect.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawRecovery {
    /// Interval between heartbeats of a storage node.
    #[schemars(extend("default" = "1 s"))]
    pub(crate) heartbeat: Time,
    /// Age of a node's last heartbeat at which the node is declared down. All clients know this at once.
    #[schemars(extend("default" = "5 s"))]
    pub(crate) grace: Time,
    /// Time for which a node must be down before its data are rebuilt on other nodes.
    #[schemars(extend("default" = "10 min"))]
    pub(crate) out_after: Time,
    /// Time for which a client waits for a node's answer before it asks other nodes. From then on, it
    /// reads from the silent node only if the other nodes do not suffice. This ends when the node
    /// answers, when it is known to be down or to have returned, or after `grace`. Ceph's clients have no
    /// such timeout: they wait for a new map.
    #[schemars(extend("default" = "1 s"))]
    pub(crate) timeout: Time,
    /// Time after which a request fails if it is not complete.
    #[schemars(extend("default" = "60 s"))]
    pub(crate) give_up: Time,
    /// Number of fragments that a node rebuilds at the same time. With Ceph: number of objects that an OSD
    /// recovers at the same time as a primary, `osd_recovery_max_active` (10 on flash, 3 on disks).
    #[schemars(extend("default" = 4, "minimum" = 1, "maximum" = 1000))]
    pub(crate) parallel: At<i64>,
    /// Pause of a node after each fragment that it rebuilds. With Ceph: pause of a primary after it has
    /// begun to recover an object, `osd_recovery_sleep` (0.1 s on disks).
    #[schemars(extend("default" = "0 s"))]
    pub(crate) pause: Time,
    /// With Ceph: maximum number of placement groups that an OSD recovers at a time as a primary
    /// (`osd_max_backfills`). The same limit applies separately to the recoveries in which it is a
    /// target. Without it, 1.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000))]
    pub(crate) max_backfills: Option<At<i64>>,
    /// With Swift: time after which a proxy gives up connecting to an object server and takes the next one
    /// (`conn_timeout`). Without it, 0.5 s.
    pub(crate) conn_timeout: Option<Time>,
    /// With Swift: time for which a proxy or a replicator waits for the answer of a server that has gone down
    /// (`node_timeout`). Without it, 10 s.
    pub(crate) node_timeout: Option<Time>,
    /// With Swift: maximum number of object servers that a proxy asks for a request (`request_node_count`).
    /// Without it, twice the number of copies.
    #[schemars(extend("minimum" = 1, "maximum" = 1000))]
    pub(crate) request_node_count: Option<At<i64>>,
    /// With Swift: a proxy avoids a server that has had more errors than this (`error_suppression_limit`).
    /// Without it, 10.
    #[schemars(extend("minimum" = 0, "maximum" = 1_000_000))]
    pub(crate) error_suppression_limit: Option<At<i64>>,
    /// With Swift: a proxy forgets the errors of a server that has had no error for this time
    /// (`error_suppression_interval`). Without it, 60 s.
    pub(crate) error_suppression_interval: Option<Time>,
    /// With Swift: time between two passes of a server's replicator (`interval` of the object replicator).
    /// Without it, 30 s.
    pub(crate) replicator_interval: Option<Time>,
    /// With Swift: number of partitions that a replicator works on at the same time (its `concurrency`).
    /// Without it, 1.
    #[schemars(extend("minimum" = 1, "maximum" = 1000))]
    pub(crate) replicator_concurrency: Option<At<i64>>,
    /// With Swift: minimum time between moves of two replicas of the same partition (`min_part_hours` of the
    /// ring). Without it, 1 h.
    pub(crate) min_part_hours: Option<Time>,
}
