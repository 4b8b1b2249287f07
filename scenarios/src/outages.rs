//! Events in a cluster during a run, and the reaction of its storage system: the checked model.

use foretell_units::{HostId, SimSpan, VolumeId};

use crate::model::Volume;

/// Events of a run, and the storage system's reaction.
#[derive(Clone, PartialEq, Debug)]
pub struct Outages {
    /// In the order of time. An event for several hosts, or one that ends by itself, becomes several of these.
    pub events: Vec<Event>,
    /// How failures are detected, and the reaction, until a setting changes it.
    pub recovery: Recovery,
    /// Settings that change while the cluster runs; events refer to them by number.
    pub settings: Vec<Setting>,
}

/// A setting that changes while the cluster runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// Its path in the scenario, `volume.mail.encoding`; several paths are joined by commas.
    pub path: String,
    /// Time of the change, counted from the end of the warm-up.
    pub at: SimSpan,
    /// The new value.
    pub change: SettingChange,
}

/// The kind of change.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingChange {
    /// The encoding or the place of a volume.
    Volume {
        /// The volume.
        volume: VolumeId,
        /// The volume after the change.
        now: Box<Volume>,
    },
    /// The speed of recoveries.
    Recovery(Recovery),
    /// The weight of an OSD, as `ceph osd reweight` sets it: 0 to [`FULL_WEIGHT`]. The event names the OSD.
    Weight(u32),
}

/// The weight with which an OSD holds all placement groups that the map places on it.
pub const FULL_WEIGHT: u32 = 0x1_0000;

/// The part of a host that an event concerns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The whole host: processor, disks and link.
    Whole,
    /// One of its disks.
    Disk(u32),
    /// Its link.
    Link,
}

impl Part {
    /// The disk's number, if it is a disk.
    pub fn disk(self) -> Option<u32> {
        match self {
            Self::Disk(disk) => Some(disk),
            Self::Whole | Self::Link => None,
        }
    }

    /// Its name in results: `brick3`, `brick3.disk0`, `brick3.link`.
    pub fn of(self, host: &str) -> String {
        match self {
            Self::Whole => host.to_owned(),
            Self::Disk(disk) => format!("{host}.disk{disk}"),
            Self::Link => format!("{host}.link"),
        }
    }

    /// Whether two parts of one host cannot fail independently of each other.
    pub(crate) fn meets(self, other: Self) -> bool {
        self == other || self.disk().is_none() || other.disk().is_none()
    }
}

/// An event at a host.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Its name in the scenario.
    pub name: String,
    /// Its time, counted from the end of the warm-up.
    pub at: SimSpan,
    /// Its host; meaningless for settings that do not belong to a host.
    pub host: HostId,
    /// The part of the host.
    pub part: Part,
    /// The action.
    pub action: Action,
}

/// An action on a host, or on a part of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    /// It stops. A failed link lets nothing through, but the host keeps running.
    Fail {
        /// Whether it will return with its data.
        keeps: bool,
    },
    /// It returns.
    Return,
    /// It joins now; before that it held nothing.
    Add,
    /// Its data move elsewhere, and it takes no further part.
    Drain,
    /// It takes `factor` times as long from now on; 1 ends that. For a whole host, its processor does.
    Slow {
        /// At least 1.
        factor: f64,
    },
    /// A setting changes.
    Set {
        /// Its number among the settings.
        number: u32,
    },
}

impl Event {
    /// The disk that it makes slow, or normal again.
    pub fn slow_disk(&self) -> Option<u32> {
        self.part.disk().filter(|_| matches!(self.action, Action::Slow { .. }))
    }
}

impl Action {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fail { .. } => "fail",
            Self::Return => "return",
            Self::Add => "add",
            Self::Drain => "drain",
            Self::Set { .. } => "set",
            Self::Slow { factor } if factor > 1.0 => "slow",
            Self::Slow { .. } => "slow-ends",
        }
    }
}

/// How a storage system detects failures, and its reaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// Interval between heartbeats.
    pub heartbeat: SimSpan,
    /// Age of the last heartbeat at which a node is declared down.
    pub grace: SimSpan,
    /// Time from then until its data are rebuilt elsewhere.
    pub out_after: SimSpan,
    /// Timeout of a client that waits for a node.
    pub timeout: SimSpan,
    /// Maximum time of a client's request, after which it fails.
    pub give_up: SimSpan,
    /// Fragments that a node rebuilds in parallel; for Ceph, objects that an OSD recovers as a primary.
    pub parallel: u32,
    /// For Ceph: number of placement groups whose recovery an OSD takes part in at a time, counted
    /// separately as a primary and as a target.
    pub backfills: u32,
    /// Pause after each fragment or object.
    pub pause: SimSpan,
    /// For Swift: time-outs of proxies, and passes of replicators.
    pub swift: SwiftRecovery,
}

/// How Swift notices servers that are down, and how its replicators work. [`SwiftRecovery::USUAL`] has the defaults of
/// its documentation (*Proxy Server Configuration*, *Object Server Configuration*, *The Rings*).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SwiftRecovery {
    /// Time after which a proxy gives up connecting to an object server: `conn_timeout`.
    pub conn_timeout: SimSpan,
    /// Time after which a proxy or a replicator gives up waiting for an answer: `node_timeout`.
    pub node_timeout: SimSpan,
    /// Number of servers that a proxy asks at most for a request; `None`: twice the number of copies.
    pub request_node_count: Option<u32>,
    /// Number of errors of a server beyond which a proxy avoids it: `error_suppression_limit`.
    pub error_suppression_limit: u32,
    /// Time without an error after which its errors are forgotten: `error_suppression_interval`.
    pub error_suppression_interval: SimSpan,
    /// Time between two passes of a replicator: `interval` of the object replicator.
    pub replicator_interval: SimSpan,
    /// Number of partitions that a replicator works on at the same time: its `concurrency`.
    pub replicator_concurrency: u32,
    /// Time from a move of a replica of a partition during which no other replica of it moves: `min_part_hours`.
    pub min_part_hours: SimSpan,
}

impl SwiftRecovery {
    /// The defaults.
    pub const USUAL: Self = Self {
        conn_timeout: SimSpan::from_ms(500),
        node_timeout: SimSpan::from_secs(10),
        request_node_count: None,
        error_suppression_limit: 10,
        error_suppression_interval: SimSpan::from_secs(60),
        replicator_interval: SimSpan::from_secs(30),
        replicator_concurrency: 1,
        min_part_hours: SimSpan::from_secs(3600),
    };

    /// Number of servers that a proxy asks at most for a request to a volume with that number of copies.
    pub fn asked(&self, copies: u32) -> u32 {
        self.request_node_count.unwrap_or(2 * copies)
    }
}

impl Recovery {
    /// For scenarios without failures.
    pub const NONE: Self = Self {
        heartbeat: SimSpan::from_secs(1),
        grace: SimSpan::from_secs(1),
        out_after: SimSpan::ZERO,
        timeout: SimSpan::ZERO,
        give_up: SimSpan::ZERO,
        parallel: 1,
        backfills: 1,
        pause: SimSpan::ZERO,
        swift: SwiftRecovery::USUAL,
    };
}

impl Outages {
    /// Hosts that fail or are drained at some time, without repetition.
    pub fn leaving(&self) -> Vec<HostId> {
        self.hosts(|action| matches!(action, Action::Fail { .. } | Action::Drain))
    }

    /// Hosts that join after a time, without repetition.
    pub fn joining_after(&self, at: SimSpan) -> Vec<HostId> {
        let mut later = self.clone();
        later.events.retain(|event| event.at > at);
        later.joining()
    }

    /// Hosts that join at some time, without repetition.
    pub fn joining(&self) -> Vec<HostId> {
        self.hosts(|action| matches!(action, Action::Add))
    }

    fn hosts(&self, is_such: impl Fn(Action) -> bool) -> Vec<HostId> {
        let such = |event: &&Event| is_such(event.action);
        let mut hosts: Vec<HostId> = self.events.iter().filter(such).map(|e| e.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }
}
