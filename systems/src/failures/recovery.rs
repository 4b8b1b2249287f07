//! Recoveries: their jobs, who does them, and their costs.

use std::collections::BTreeSet;
use std::ops::Range;

use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::{Bytes, HostId, SimTime};

use super::pace::Pace;
use super::{Blocks, Holder, Slot};

/// Kinds of recovery; each closes holes of its kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// The fragments of a node are rebuilt on others.
    Rebuild,
    /// A node gets the writes that it has missed.
    CatchUp,
    /// Fragments move to a node that joins, or from one that leaves.
    Rebalance,
    /// A volume gets another encoding or placement; the volume's number takes the place of the host.
    Convert,
}

impl Kind {
    /// Name in results.
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
    /// The host whose failure made it necessary.
    pub host: HostId,
    /// Its kind.
    pub kind: Kind,
    /// When the first fragment was begun.
    pub began: SimTime,
    /// When the last one was done; `None` while the recovery continues.
    pub ended: Option<SimTime>,
    /// Number of fragments of groups that were rebuilt or brought up to date.
    pub objects: u64,
    /// Bytes that nodes read for it.
    pub read: Bytes,
    /// Bytes of fragments that nodes sent for it.
    pub sent: Bytes,
    /// Bytes that were written.
    pub written: Bytes,
    /// The same over time.
    pub(crate) pace: Pace,
}

/// A fragment that a node is rebuilding.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) slot: Slot,
    /// The node that rebuilds it: its holder.
    pub(crate) host: HostId,
    /// Blocks to rebuild after the current ones.
    pub(crate) rest: Blocks,
    /// The current blocks.
    pub(crate) at_hand: Range<u64>,
    pub(crate) stage: Stage,
    /// Number of its recovery.
    pub(crate) recovery: usize,
    /// Number of fragments of the current blocks that it reads.
    pub(crate) sources: u32,
    /// For a fragment that moves: its target. It is copied from its holder.
    pub(crate) to: Option<Holder>,
}

/// The progress of a job with its current blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// It reads fragments from other nodes.
    Reading {
        /// The part of a request that waits for them.
        part: u32,
    },
    /// The blocks are decoded, and the missing fragment is encoded.
    Computing,
    /// The fragment is being written.
    Writing {
        /// The exchange of the host with itself.
        exchange: u32,
    },
    /// The host failed during the computation.
    Cancelled,
}

/// A group that changes to another volume: it is read, decoded, encoded and written. Clients' requests for it
/// wait.
#[derive(Debug)]
pub(crate) struct Conversion {
    /// The volume of the scenario, and the group's number.
    pub(crate) volume: u32,
    pub(crate) group: u64,
    /// The old volume and the new one.
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The node that converts it.
    pub(crate) host: HostId,
    pub(crate) stage: ConversionStage,
    /// Clients' requests that wait.
    pub(crate) held: Vec<u32>,
    /// Number of its recovery.
    pub(crate) recovery: usize,
}

/// The progress of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConversionStage {
    /// Requests that clients have begun are completed first.
    Waiting,
    /// Fragments are being read.
    Reading {
        /// The request for them.
        request: u32,
        /// The part of the request that waits for them.
        part: u32,
    },
    /// Blocks are decoded and encoded.
    Computing {
        /// The request.
        request: u32,
    },
    /// New fragments are being written.
    Writing {
        /// The request.
        request: u32,
        /// The part of the request that waits for that.
        part: u32,
    },
}

impl ConversionStage {
    /// The request of this stage, if it has one.
    pub(crate) fn request(self) -> Option<u32> {
        match self {
            Self::Waiting => None,
            Self::Reading { request, .. }
            | Self::Computing { request }
            | Self::Writing { request, .. } => Some(request),
        }
    }
}

/// Current and future jobs, and all recoveries so far.
#[derive(Default)]
pub(crate) struct Recoveries {
    /// Jobs by request.
    pub(crate) jobs: SortedMap<u32, Job>,
    /// Groups that are being converted, as (volume, group).
    pub(crate) conversions: SortedMap<(u32, u64), Conversion>,
    /// Groups that wait to be converted, by the node that will convert them.
    pub(crate) to_convert: SortedMap<HostId, BTreeSet<(u32, u64)>>,
    /// When nodes next check groups that cannot be converted yet.
    pub(crate) looks: SortedMap<HostId, SimTime>,
    /// Requests whose conversion was cancelled during the computation.
    pub(crate) dropped: SortedSet<u32>,
    /// Fragments that wait for their holder to rebuild them.
    pub(crate) waiting: SortedMap<HostId, BTreeSet<Slot>>,
    /// Fragments that cannot be rebuilt while too few others are reachable.
    pub(crate) stuck: BTreeSet<(HostId, Slot)>,
    /// End times of a holder's pauses; each pause blocks one job.
    pub(crate) pauses: SortedMap<HostId, Vec<SimTime>>,
    /// Recoveries in the order in which they began.
    pub(crate) all: Vec<Recovery>,
    /// Bytes written by all recoveries: read after each event of the simulation.
    pub(crate) written: Bytes,
}

impl Recoveries {
    /// Whether anything is being rebuilt.
    pub(crate) fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
            || !self.conversions.is_empty()
            || self.pauses.values().any(|pauses| !pauses.is_empty())
    }

    /// Number of jobs that a holder works on, or pauses after.
    pub(crate) fn active(&self, host: HostId) -> usize {
        let jobs = self.jobs.values().filter(|job| job.host == host);
        let conversions = self.conversions.values().filter(|one| one.host == host);
        jobs.count() + conversions.count() + self.pauses.get(&host).map_or(0, Vec::len)
    }

    /// Number of groups of a volume that are not converted yet.
    pub(crate) fn unconverted(&self, volume: u32) -> u64 {
        let waiting = self.to_convert.values().flatten().filter(|(other, _)| *other == volume);
        let begun = self.conversions.keys().filter(|(other, _)| *other == volume);
        (waiting.count() + begun.count()) as u64
    }

    /// The conversion that a request belongs to.
    pub(crate) fn conversion_of(&mut self, request: u32) -> Option<&mut Conversion> {
        self.conversions.values_mut().find(|one| one.stage.request() == Some(request))
    }

    /// Number of outstanding requests with which nodes rebuild or convert.
    pub(crate) fn requests(&self) -> usize {
        let conversions = self.conversions.values().filter_map(|one| one.stage.request());
        self.jobs.len() + conversions.count() + self.dropped.len()
    }

    /// The recovery with this key: the one in progress, or a new one.
    pub(crate) fn of(&mut self, key: (HostId, Kind), now: SimTime) -> usize {
        let (host, kind) = key;
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
            pace: Pace::new(now),
        });
        self.all.len() - 1
    }

    /// A node has written bytes for a recovery.
    pub(crate) fn writes(&mut self, recovery: usize, now: SimTime, bytes: Bytes) {
        let one = &mut self.all[recovery];
        one.written += bytes;
        one.pace.add(now, bytes);
        self.written += bytes;
    }

    /// A host no longer has to rebuild a fragment.
    pub(crate) fn forget(&mut self, host: HostId, slot: Slot) {
        if let Some(waiting) = self.waiting.get_mut(&host) {
            waiting.remove(&slot);
        }
        self.stuck.remove(&(host, slot));
    }

    /// Fragments that could not be rebuilt are tried again.
    pub(crate) fn try_stuck(&mut self) {
        for (host, slot) in std::mem::take(&mut self.stuck) {
            self.waiting.entry(host).or_default().insert(slot);
        }
    }
}
