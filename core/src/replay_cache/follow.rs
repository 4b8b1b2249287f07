//! Caches and curves that follow a trace. Each is independent of the others, and one pass over the trace
//! serves all of them.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use foretell_algorithms::cache::{
    AnyPolicy, BySize, Evicted, Policy, PolicyKind, SizedAccess, SizedPolicy,
};

use super::curve::Curve;
use super::references::{Reference, References};
use crate::error::Error;

/// Maximum number of batches that wait for a thread.
const AHEAD: usize = 8;
/// Maximum number of threads. More would only wait for a core.
const MAX_THREADS: usize = 64;

/// References and the bytes that they request.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Count {
    pub(crate) references: u64,
    /// Saturates at 2⁶⁴ − 1.
    pub(crate) bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.references += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// The sum of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            references: self.references + other.references,
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// A cache that follows a trace.
pub(crate) struct Cache {
    pub(crate) kind: PolicyKind,
    /// In objects, pages or bytes.
    pub(crate) capacity: u64,
    policy: Objects,
    /// By direction, and by miss or hit.
    counts: [[Count; 2]; 2],
    /// References to objects that are larger than the cache.
    pub(crate) refused: u64,
}

/// A policy, by the unit of its capacity.
enum Objects {
    Unit(AnyPolicy),
    Sized(AnyPolicy<BySize>),
}

impl Cache {
    /// An empty cache of `capacity` objects of one size.
    pub(crate) fn unit(kind: PolicyKind, capacity: usize) -> Self {
        Self::new(kind, capacity as u64, Objects::Unit(kind.build(capacity)))
    }

    /// An empty cache of `capacity` bytes.
    pub(crate) fn sized(kind: PolicyKind, capacity: u64) -> Self {
        Self::new(kind, capacity, Objects::Sized(kind.build_sized(capacity)))
    }

    fn new(kind: PolicyKind, capacity: u64, policy: Objects) -> Self {
        Self { kind, capacity, policy, counts: Default::default(), refused: 0 }
    }

    /// Misses and hits of `op`: 0 read, 1 write.
    pub(crate) fn counts(&self, op: usize) -> [Count; 2] {
        self.counts[op]
    }

    fn follow(&mut self, batch: &[Reference]) {
        match &mut self.policy {
            Objects::Unit(policy) => {
                for reference in batch {
                    let hit = policy.access(reference.key).is_hit();
                    self.counts[reference.op as usize][usize::from(hit)].add(reference.bytes);
                }
            }
            Objects::Sized(policy) => {
                let mut evicted: Vec<Evicted> = Vec::new();
                for reference in batch {
                    evicted.clear();
                    let access = policy.access_sized(reference.key, reference.bytes, &mut evicted);
                    let hit = matches!(access, SizedAccess::Hit { .. });
                    self.refused += u64::from(access == SizedAccess::Refused);
                    self.counts[reference.op as usize][usize::from(hit)].add(reference.bytes);
                }
            }
        }
    }
}

/// A cache or a curve that follows a trace.
#[expect(clippy::large_enum_variant, reason = "there are a handful, and caches are most of them")]
pub(crate) enum Follower {
    Cache(Cache),
    Curve(Curve),
}

impl Follower {
    fn follow(&mut self, batch: &[Reference]) {
        match self {
            Self::Cache(cache) => cache.follow(batch),
            Self::Curve(curve) => curve.follow(batch),
        }
    }
}

/// Runs all `followers` over all references, and returns them in order.
///
/// Each follower stays on one thread and sees all references in order, so results do not depend on
/// the number of threads.
pub(crate) fn follow_all(
    references: &mut References<'_>,
    mut followers: Vec<Follower>,
    jobs: NonZeroUsize,
) -> Result<Vec<Follower>, Error> {
    let jobs = jobs.get().min(followers.len()).min(MAX_THREADS);
    let mut batch = Vec::new();
    if jobs <= 1 {
        loop {
            references.next(&mut batch)?;
            if batch.is_empty() {
                return Ok(followers);
            }
            for follower in &mut followers {
                follower.follow(&batch);
            }
        }
    }
    let mut shares: Vec<Vec<(usize, Follower)>> = (0..jobs).map(|_| Vec::new()).collect();
    for (index, follower) in followers.drain(..).enumerate() {
        shares[index % jobs].push((index, follower));
    }
    std::thread::scope(|scope| {
        let (senders, threads): (Vec<_>, Vec<_>) = shares
            .into_iter()
            .map(|share| {
                let (sender, receiver) = sync_channel(AHEAD);
                (sender, scope.spawn(move || follow_share(share, &receiver)))
            })
            .unzip();
        let outcome = loop {
            match references.next(&mut batch) {
                Ok(()) if batch.is_empty() => break Ok(()),
                Ok(()) => {}
                Err(failure) => break Err(failure),
            }
            let full = Arc::new(std::mem::take(&mut batch));
            for sender in &senders {
                sender.send(Arc::clone(&full)).expect("the thread takes all batches");
            }
        };
        drop(senders);
        let mut done: Vec<(usize, Follower)> = threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("followers do not panic"))
            .collect();
        outcome?;
        done.sort_by_key(|(index, _)| *index);
        Ok(done.into_iter().map(|(_, follower)| follower).collect())
    })
}

/// One thread's work.
fn follow_share(
    mut share: Vec<(usize, Follower)>,
    batches: &Receiver<Arc<Vec<Reference>>>,
) -> Vec<(usize, Follower)> {
    for batch in batches {
        for (_, follower) in &mut share {
            follower.follow(&batch);
        }
    }
    share
}
