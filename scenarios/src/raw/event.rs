//! Events as written: what fails, returns or slows down during a run, and how the system reacts.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::leaf::{At, HostPatterns, Setting, Time};

/// Something that happens to the cluster during the run. Exactly one of `host`, `disk`, `link` and `rack`
/// says to what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawEvent {
    /// When, counted from the end of the warm-up.
    pub(crate) at: Time,
    /// What happens.
    pub(crate) what: At<RawWhat>,
    /// Storage nodes, as `nodes` of a volume names them; several at once fail together.
    pub(crate) host: Option<At<HostPatterns>>,
    /// A disk of a storage node: `brick3.disk0`. With Ceph it is an OSD, which fails alone. Otherwise files are
    /// striped over all disks of a node, so a node that has lost one serves nothing. One that is slow is slow alone.
    #[schemars(extend("examples" = ["brick3.disk0"]))]
    pub(crate) disk: Option<At<String>>,
    /// The cable of a host, by the host's name. While it has failed, nothing gets to the host or away from it; the
    /// host itself lives on and keeps what it holds. A client's cable can be slow, and cannot fail.
    pub(crate) link: Option<At<HostPatterns>>,
    /// A rack by its name: all storage nodes that are in it by their `rack`, together.
    pub(crate) rack: Option<At<String>>,
    /// How long it lasts. What fails for a time keeps its data; so does what a later `return` brings back.
    /// Everything else that fails loses what it held.
    #[serde(rename = "for")]
    #[schemars(extend("x-when" = { "what": ["fail", "slow"] }, "examples" = ["10 s"]))]
    pub(crate) lasts: Option<Time>,
    /// How many times longer it takes: the host's processor, each operation of the disk, or what goes over the cable.
    /// More than 1.
    #[schemars(extend("minimum" = 1.0, "maximum" = 1000.0, "x-when" = { "what": ["slow"] }))]
    pub(crate) factor: Option<At<f64>>,
    /// Settings by their paths in the scenario, and what they are from then on. Of a volume: `encoding`, `cipher`,
    /// `nodes`, `placement`, `write_quorum` and `min_write`, with `ursa-minor`; data are moved and encoded again group
    /// by group. Of `recovery`: `parallel`, `pause` and, with Ceph, `max_backfills`. With Ceph also the weights of OSDs,
    /// `osd.brick3.disk0.reweight`, from 0 to 1, as `ceph osd reweight` sets them: the share of its placement groups that
    /// an OSD keeps.
    #[schemars(extend("x-when" = { "what": ["set"] }, "examples" = [{ "volume.mail.encoding": "3-of-5" }]))]
    #[allow(clippy::zero_sized_map_values, reason = "what is set is read from the tree")]
    pub(crate) set: Option<BTreeMap<String, Setting>>,
}

/// What happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawWhat {
    /// It stops at once, without notice.
    Fail,
    /// It is back, with the data that it held.
    Return,
    /// It takes `factor` times as long: the host's processor, or the disk, or the cable.
    Slow,
    /// It joins. Until then it holds nothing: volumes that name it in their `nodes`, or Ceph's map, leave it out.
    Add,
    /// Its data move elsewhere, while it goes on serving.
    Drain,
    /// Settings change, as `set` says.
    Set,
}

/// How the storage system notices failures and recovers from them. Only with events.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawRecovery {
    /// Time between two heartbeats of a storage node.
    #[schemars(extend("default" = "1 s"))]
    pub(crate) heartbeat: Time,
    /// A node is declared down when its last heartbeat is this old; clients then know at once.
    #[schemars(extend("default" = "5 s"))]
    pub(crate) grace: Time,
    /// What a node held is rebuilt on others when it has been down this long.
    #[schemars(extend("default" = "10 min"))]
    pub(crate) out_after: Time,
    /// A client that gets no answer from a node for this long asks others, and leaves that node alone until its next
    /// heartbeat. Ceph's clients have no such timeout: they wait for a new map.
    #[schemars(extend("default" = "1 s"))]
    pub(crate) timeout: Time,
    /// A request without an answer fails this long after its issue.
    #[schemars(extend("default" = "60 s"))]
    pub(crate) give_up: Time,
    /// Fragments that a node rebuilds side by side. With Ceph: objects that an OSD recovers side by side as a
    /// primary, `osd_recovery_max_active` (10 on flash, 3 on disks).
    #[schemars(extend("default" = 4, "minimum" = 1, "maximum" = 1000))]
    pub(crate) parallel: At<i64>,
    /// Pause of a node between two fragments that it rebuilds one after the other. With Ceph:
    /// pause of a primary after it has begun with an object, `osd_recovery_sleep` (0.1 s on disks).
    #[schemars(extend("default" = "0 s"))]
    pub(crate) pause: Time,
    /// With Ceph: the most placement groups that an OSD recovers at a time as a primary, and the same number as a
    /// target: `osd_max_backfills`. Without it, 1.
    #[schemars(extend("minimum" = 1, "maximum" = 10_000))]
    pub(crate) max_backfills: Option<At<i64>>,
}
