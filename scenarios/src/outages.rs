//! What happens to a cluster during a run, and how its storage system reacts: the checked model.

use foretell_units::{HostId, SimSpan, VolumeId};

use crate::model::Volume;

/// Events of a run, and what the storage system does about them.
#[derive(Clone, PartialEq, Debug)]
pub struct Outages {
    /// In order of time. What an event is for several hosts, or ends by itself, are several of these.
    pub events: Vec<Event>,
    /// How failures are noticed, and what follows, until a setting says otherwise.
    pub recovery: Recovery,
    /// What changes while the cluster runs, by the number that an event has.
    pub settings: Vec<Setting>,
}

/// A setting that changes while the cluster runs.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// Its path in the scenario, `volume.mail.encoding`; several are joined by commas.
    pub path: String,
    /// When, counted from the end of the warm-up.
    pub at: SimSpan,
    /// What it is from then on.
    pub change: SettingChange,
}

/// What changes.
#[derive(Clone, PartialEq, Debug)]
pub enum SettingChange {
    /// How a volume is encoded, or where it is.
    Volume {
        /// Which.
        volume: VolumeId,
        /// As it is to be.
        now: Box<Volume>,
    },
    /// How fast recoveries are.
    Recovery(Recovery),
    /// The weight of an OSD, as `ceph osd reweight` sets it: 0 to [`FULL_WEIGHT`]. The event says which OSD.
    Weight(u32),
}

/// The weight of an OSD that holds all placement groups that the map places on it.
pub const FULL_WEIGHT: u32 = 0x1_0000;

/// What of a host an event is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// All of it: its processor, its disks and its cable.
    Whole,
    /// One of its disks.
    Disk(u32),
    /// Its cable.
    Link,
}

impl Part {
    /// Which disk, if it is one.
    pub fn disk(self) -> Option<u32> {
        match self {
            Self::Disk(disk) => Some(disk),
            Self::Whole | Self::Link => None,
        }
    }

    /// As results name it: `brick3`, `brick3.disk0`, `brick3.link`.
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

/// Something that happens to a host.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// Its name in the scenario.
    pub name: String,
    /// When, counted from the end of the warm-up.
    pub at: SimSpan,
    /// To which host; without meaning for settings that are not of a host.
    pub host: HostId,
    /// To which part of it.
    pub part: Part,
    /// What.
    pub action: Action,
}

/// What happens to a host, or to a part of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Action {
    /// It stops. A cable that fails lets nothing through; the host lives on.
    Fail {
        /// Whether it will be back with what it held.
        keeps: bool,
    },
    /// It is back.
    Return,
    /// It takes part from now on; until then it held nothing.
    Add,
    /// What it holds moves elsewhere, and it takes part no more.
    Drain,
    /// It takes `factor` times as long from now on; 1 ends that. Of a whole host, its processor does.
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
    /// The disk that it makes slow, or fast again.
    pub fn slow_disk(&self) -> Option<u32> {
        self.part.disk().filter(|_| matches!(self.action, Action::Slow { .. }))
    }
}

impl Action {
    /// As results name it.
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

/// How a storage system notices failures, and what follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// Time between signs of life.
    pub heartbeat: SimSpan,
    /// Age of the last one at which a node is declared down.
    pub grace: SimSpan,
    /// From then on until what it held is rebuilt elsewhere.
    pub out_after: SimSpan,
    /// How long a client waits for a node.
    pub timeout: SimSpan,
    /// How long a client's request may take until it fails.
    pub give_up: SimSpan,
    /// Fragments that a node rebuilds side by side; of Ceph, objects that an OSD recovers as a primary.
    pub parallel: u32,
    /// Of Ceph: placement groups whose recovery an OSD takes part in at a time, as a primary and as a target.
    pub backfills: u32,
    /// Pause after each of them.
    pub pause: SimSpan,
}

impl Recovery {
    /// Where nothing fails.
    pub const NONE: Self = Self {
        heartbeat: SimSpan::from_secs(1),
        grace: SimSpan::from_secs(1),
        out_after: SimSpan::ZERO,
        timeout: SimSpan::ZERO,
        give_up: SimSpan::ZERO,
        parallel: 1,
        backfills: 1,
        pause: SimSpan::ZERO,
    };
}

impl Outages {
    /// Hosts that fail or are drained at some time, none twice.
    pub fn leaving(&self) -> Vec<HostId> {
        self.hosts(|action| matches!(action, Action::Fail { .. } | Action::Drain))
    }

    /// Hosts that join after a time, none twice.
    pub fn joining_after(&self, at: SimSpan) -> Vec<HostId> {
        let mut later = self.clone();
        later.events.retain(|event| event.at > at);
        later.joining()
    }

    /// Hosts that join at some time, none twice.
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
