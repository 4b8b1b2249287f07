//! What is rebuilt, by whom, and what that has cost.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use foretell_units::{Bytes, HostId, SimTime};

use super::{Blocks, Holder, Slot};

/// What closes holes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// What a node held is rebuilt on others.
    Rebuild,
    /// A node gets what it has missed.
    CatchUp,
    /// What a node that joins is to hold, or what one that leaves held, moves.
    Rebalance,
    /// A volume is encoded or placed otherwise; its number stands for the host.
    Convert,
}

impl Kind {
    /// As results name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rebuild => "rebuild",
            Self::CatchUp => "catch-up",
            Self::Rebalance => "rebalance",
            Self::Convert => "convert",
        }
    }
}

/// A recovery, from the first fragment to the last.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// Whose failure made it necessary.
    pub host: HostId,
    /// What it does.
    pub kind: Kind,
    /// When the first fragment was begun.
    pub began: SimTime,
    /// When the last one was done; `None`: it goes on.
    pub ended: Option<SimTime>,
    /// Fragments of groups that were rebuilt or caught up.
    pub objects: u64,
    /// Bytes that nodes read for it.
    pub read: Bytes,
    /// Bytes of fragments that they sent for it.
    pub sent: Bytes,
    /// Bytes that were written.
    pub written: Bytes,
}

/// A fragment that a node is rebuilding.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) slot: Slot,
    /// Who rebuilds it: its holder.
    pub(crate) host: HostId,
    /// Blocks to be rebuilt after those at hand.
    pub(crate) rest: Blocks,
    /// Blocks at hand.
    pub(crate) at_hand: Range<u64>,
    pub(crate) stage: Stage,
    /// Number of its recovery.
    pub(crate) recovery: usize,
    /// Fragments that it reads of the blocks at hand.
    pub(crate) sources: u32,
    /// Of a fragment that moves: where it goes. It is copied from its holder.
    pub(crate) to: Option<Holder>,
}

/// How far a job is with the blocks at hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Fragments of others come.
    Reading {
        /// The part that waits for them.
        part: u32,
    },
    /// They are decoded, and the missing one is encoded.
    Computing,
    /// It is written.
    Writing {
        /// The exchange of the host with itself.
        exchange: u32,
    },
    /// The host has failed while it computed.
    Cancelled,
}

/// A group that becomes one of another volume: it is read, decoded, encoded and written. Clients wait meanwhile.
#[derive(Debug)]
pub(crate) struct Conversion {
    /// The volume of the scenario, and which of its groups.
    pub(crate) volume: u32,
    pub(crate) group: u64,
    /// From which volume to which.
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Who does it.
    pub(crate) host: HostId,
    pub(crate) stage: ConversionStage,
    /// Requests of clients that wait.
    pub(crate) held: Vec<u32>,
    /// Number of its recovery.
    pub(crate) recovery: usize,
}

/// How far a conversion is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionStage {
    /// What clients have begun goes on.
    Draining,
    /// Fragments come.
    Reading {
        /// The request with which they were asked for.
        request: u32,
        /// The part that waits for them.
        part: u32,
    },
    /// They are decoded and encoded.
    Computing {
        /// The request.
        request: u32,
    },
    /// New fragments are written.
    Writing {
        /// The request.
        request: u32,
        /// The part that waits for them.
        part: u32,
    },
}

impl ConversionStage {
    /// The request that it is about.
    pub(crate) fn request(self) -> Option<u32> {
        match self {
            Self::Draining => None,
            Self::Reading { request, .. }
            | Self::Computing { request }
            | Self::Writing { request, .. } => Some(request),
        }
    }
}

/// Jobs under way and to come, and recoveries so far.
#[derive(Default)]
pub(crate) struct Recoveries {
    /// By request.
    pub(crate) jobs: BTreeMap<u32, Job>,
    /// Groups that are converted, as (volume, group).
    pub(crate) conversions: BTreeMap<(u32, u64), Conversion>,
    /// Groups that wait for it, by who is to do it.
    pub(crate) to_convert: BTreeMap<HostId, BTreeSet<(u32, u64)>>,
    /// When nodes look next at groups that cannot be converted yet.
    pub(crate) looks: BTreeMap<HostId, SimTime>,
    /// Requests whose conversion came to nothing while it computed.
    pub(crate) dropped: BTreeSet<u32>,
    /// Fragments that wait for their holder to rebuild them.
    pub(crate) waiting: BTreeMap<HostId, BTreeSet<Slot>>,
    /// Fragments that cannot be rebuilt as long as too few others are in reach.
    pub(crate) stuck: BTreeSet<(HostId, Slot)>,
    /// By holder: until when it pauses, for each job that it does not begin meanwhile.
    pub(crate) pauses: BTreeMap<HostId, Vec<SimTime>>,
    /// In the order in which they began.
    pub(crate) all: Vec<Recovery>,
    /// Bytes that all of them have written: looked at after each event of the simulation.
    pub(crate) written: Bytes,
}

impl Recoveries {
    /// Whether anything is being rebuilt.
    pub(crate) fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
            || !self.conversions.is_empty()
            || self.pauses.values().any(|pauses| !pauses.is_empty())
    }

    /// Fragments that a holder works on or pauses after.
    pub(crate) fn active(&self, host: HostId) -> usize {
        let jobs = self.jobs.values().filter(|job| job.host == host);
        let conversions = self.conversions.values().filter(|one| one.host == host);
        jobs.count() + conversions.count() + self.pauses.get(&host).map_or(0, Vec::len)
    }

    /// The conversion that a request is about.
    pub(crate) fn conversion_of(&mut self, request: u32) -> Option<&mut Conversion> {
        self.conversions.values_mut().find(|one| one.stage.request() == Some(request))
    }

    /// Requests outstanding with which nodes rebuild or convert.
    pub(crate) fn requests(&self) -> usize {
        let conversions = self.conversions.values().filter_map(|one| one.stage.request());
        self.jobs.len() + conversions.count() + self.dropped.len()
    }

    /// The recovery that closes such holes: the one under way, or a new one.
    pub(crate) fn of(&mut self, (host, kind): (HostId, Kind), now: SimTime) -> usize {
        let is_it = |one: &Recovery| one.host == host && one.kind == kind && one.ended.is_none();
        if let Some(found) = self.all.iter().position(is_it) {
            return found;
        }
        let (objects, read, sent, written) = (0, Bytes::ZERO, Bytes::ZERO, Bytes::ZERO);
        self.all.push(Recovery {
            host,
            kind,
            began: now,
            ended: None,
            objects,
            read,
            sent,
            written,
        });
        self.all.len() - 1
    }

    /// A fragment is not a host's to rebuild any more.
    pub(crate) fn forget(&mut self, host: HostId, slot: Slot) {
        if let Some(waiting) = self.waiting.get_mut(&host) {
            waiting.remove(&slot);
        }
        self.stuck.remove(&(host, slot));
    }

    /// What cannot be rebuilt may be possible now.
    pub(crate) fn try_stuck(&mut self) {
        for (host, slot) in std::mem::take(&mut self.stuck) {
            self.waiting.entry(host).or_default().insert(slot);
        }
    }
}
