//! The hits that caches would have had on a real trace.
//!
//! The trace is read once and given to all caches (one for each policy and size) and to the curve of LRU.
//! Time plays no role: a cache sees references in the order of the trace, and admits each object that it
//! misses.

mod curve;
mod follow;
mod options;
mod references;
mod report;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use foretell_algorithms::cache::{MAX_CAPACITY, PolicyKind};
use foretell_units::Bytes;

pub use options::{CacheReplay, CacheSize, Objects, Sample};
pub use report::{CacheReport, CacheRow, Outcome};

use crate::error::Error;
use curve::Curve;
use follow::{Cache, Follower, follow_all};
use references::{References, footprint};
use report::Replayed;

/// The largest cache of objects with sizes, in bytes.
const MAX_BYTES: u64 = 1 << 61;

/// How much of a trace was followed.
#[derive(Clone, Copy, Debug)]
pub struct CacheProgress {
    /// Requests so far.
    pub requests: u64,
    /// Bytes of the file that were read.
    pub read_bytes: u64,
    /// Size of the file in bytes; `None` if it is not a plain file.
    pub of_bytes: Option<u64>,
}

/// The observer; [`ControlFlow::Break`] ends the replay.
pub type Observer<'a> = &'a mut dyn FnMut(CacheProgress) -> ControlFlow<()>;

/// Replays a trace through caches. `observer` is called from time to time.
///
/// # Errors
///
/// [`Error::Trace`] if the trace cannot be read, [`Error::Invalid`] if the options are impossible,
/// [`Error::Interrupted`] if the observer ended it.
pub fn replay_cache(
    replay: &CacheReplay,
    mut observer: impl FnMut(CacheProgress) -> ControlFlow<()>,
) -> Result<CacheReport, Error> {
    let plan = Plan::of(replay, &mut observer)?;
    let mut references = References::open(replay, &mut observer)?;
    let threads = replay.threads.or_else(|| std::thread::available_parallelism().ok());
    let threads = threads.unwrap_or(NonZeroUsize::MIN);
    let followers = follow_all(&mut references, plan.followers(replay), threads)?;
    let totals = references.totals();
    if totals.requests == [0, 0] {
        let trace = replay.trace.display();
        return Err(Error::Invalid(format!("trace `{trace}` holds no requests")));
    }
    let mut replayed = Replayed { caches: Vec::new(), curve: None };
    for follower in followers {
        match follower {
            Follower::Cache(cache) => replayed.caches.push(cache),
            Follower::Curve(curve) => replayed.curve = Some(curve),
        }
    }
    Ok(CacheReport::new(&replay.trace, plan, &references, replayed))
}

/// The caches and the curve to replay.
pub(crate) struct Plan {
    /// Policies, each once.
    kinds: Vec<PolicyKind>,
    /// Sizes in objects, pages or bytes, each once.
    sizes: Vec<u64>,
    objects: Objects,
    /// Whether the curve of LRU is computed. It gives the hits of LRU caches of all sizes, so these
    /// need not be replayed.
    curve: bool,
}

impl Plan {
    fn of(arguments: &CacheReplay, observer: Observer<'_>) -> Result<Self, Error> {
        let kinds = each_once(match arguments.policies.as_slice() {
            [] => vec![PolicyKind::Lru],
            some => some.to_vec(),
        });
        let objects = arguments.objects;
        if arguments.sizes.is_empty() {
            if objects == Objects::BySize {
                let fault = "objects that have the sizes of their requests need sizes of caches: the curve \
                             of all sizes needs objects of one size";
                return Err(Error::Invalid(fault.to_owned()));
            }
            if let Some(kind) = kinds.iter().find(|kind| **kind != PolicyKind::Lru) {
                return Err(Error::Invalid(format!(
                    "policy `{kind}` needs `--size`, such as `--size 10%`; only `lru` has a curve \
                     of all sizes"
                )));
            }
        }
        let curve = arguments.curve || arguments.sample.is_some() || arguments.sizes.is_empty();
        let mut all = None;
        let mut sizes = Vec::new();
        for size in &arguments.sizes {
            sizes.push(capacity(*size, objects, || match all {
                Some(all) => Ok(all),
                None => Ok(*all.insert(footprint(arguments, &mut *observer)?)),
            })?);
        }
        Ok(Self { kinds, sizes: each_once(sizes), objects, curve })
    }

    /// Empty caches and an empty curve. The curve comes first because it takes longest.
    fn followers(&self, arguments: &CacheReplay) -> Vec<Follower> {
        let curve = self.curve.then(|| Follower::Curve(Curve::new(arguments.sample)));
        let mut followers: Vec<Follower> = curve.into_iter().collect();
        for &size in &self.sizes {
            for &kind in self.kinds.iter().filter(|kind| !self.is_on_curve(**kind)) {
                followers.push(Follower::Cache(match self.objects {
                    Objects::BySize => Cache::sized(kind, size),
                    Objects::Addresses | Objects::Pages(_) => {
                        Cache::unit(kind, usize::try_from(size).unwrap_or(usize::MAX))
                    }
                }));
            }
        }
        followers
    }

    /// Whether the curve gives the hits of caches of this policy.
    fn is_on_curve(&self, kind: PolicyKind) -> bool {
        self.curve && kind == PolicyKind::Lru
    }
}

/// A cache's size in its unit. If the size is a share, it is a share of the total that `all` gives.
fn capacity(
    size: CacheSize,
    objects: Objects,
    all: impl FnOnce() -> Result<u64, Error>,
) -> Result<u64, Error> {
    let capacity = match (size, objects) {
        (CacheSize::Count(count), _) => count,
        (CacheSize::Amount(amount), Objects::BySize) => amount.get(),
        (CacheSize::Amount(amount), Objects::Pages(Bytes(page))) => {
            match amount.get() / page.max(1) {
                0 => {
                    return Err(Error::Invalid(format!(
                        "a cache of {amount} does not hold one page of {}",
                        Bytes(page)
                    )));
                }
                pages => pages,
            }
        }
        (CacheSize::Amount(amount), Objects::Addresses) => {
            return Err(Error::Invalid(format!(
                "`--size` is {amount}, but objects have no size here; give a number of objects, or split \
                 requests into pages (`--pages 4KiB`), or let objects have the sizes of their requests \
                 (`--by-size`)"
            )));
        }
        // one part in 10^12 is added, so that 29 % of 100 is 29 despite rounding
        (CacheSize::Share(share), _) => {
            ((all()? as f64 * share * (1.0 + 1e-12)).floor() as u64).max(1)
        }
    };
    let (most, what) = match objects {
        Objects::BySize => (MAX_BYTES, "bytes"),
        Objects::Pages(_) => (MAX_CAPACITY as u64, "pages"),
        Objects::Addresses => (MAX_CAPACITY as u64, "objects"),
    };
    if capacity > most {
        let fault = format!("a cache of {capacity} {what} is too large; the maximum is {most}");
        return Err(Error::Invalid(fault));
    }
    Ok(capacity)
}

/// Removes repetitions. Each element stays where it occurs first.
fn each_once<T: Copy + PartialEq>(things: Vec<T>) -> Vec<T> {
    let mut once = Vec::new();
    for thing in things {
        if !once.contains(&thing) {
            once.push(thing);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_pages(size: CacheSize) -> Result<u64, String> {
        let all = || Ok(100);
        capacity(size, Objects::Pages(Bytes::kib(4)), all).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_size_becomes_a_number_of_pages() {
        assert_eq!(in_pages(CacheSize::Count(7)), Ok(7));
        // 10 KiB hold two pages of 4 KiB
        assert_eq!(in_pages(CacheSize::Amount(Bytes::kib(10))), Ok(2));
        assert_eq!(in_pages(CacheSize::Share(29.0 / 100.0)), Ok(29));
        assert_eq!(in_pages(CacheSize::Share(0.001)), Ok(1));
        let fault = in_pages(CacheSize::Amount(Bytes(4095))).unwrap_err();
        assert_eq!(fault, "a cache of 4095 B does not hold one page of 4 KiB");
        let fault = in_pages(CacheSize::Count(1 << 30)).unwrap_err();
        assert_eq!(fault, "a cache of 1073741824 pages is too large; the maximum is 536870912");
    }
}
