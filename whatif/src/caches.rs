//! The records of caches: hits, misses and evictions, as recorded and as modelled.
//!
//! The fast model replays short stretches, and its answers are worth nothing if the caches in them are not in the state
//! of the recorded run: half empty, say, or with other pages. So it first compares the records that caches post in its
//! stretches of the recorded run with those that were recorded.

use std::ops::{AddAssign, Sub};

use foretell_ati::{RecordKind, Records, StoreError};
use foretell_units::SimSpan;

/// Number of records that caches posted in the measured time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct CacheRecords {
    pub(crate) hits: u64,
    pub(crate) misses: u64,
    pub(crate) evictions: u64,
}

/// The same for each completed request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheRates {
    records: CacheRecords,
    requests: f64,
}

/// Largest difference of a share that counts as alike, beside chance (assumed: less than the error of an answer).
const ALIKE: f64 = 0.05;
/// Differences up to this number of standard errors may be chance. Misses come in clusters, so it is more than usual.
const BY_CHANCE: f64 = 5.0;

impl CacheRecords {
    const KINDS: [RecordKind; 3] =
        [RecordKind::BufferReadHit, RecordKind::BufferReadMiss, RecordKind::BufferEvict];

    /// Counts those of a run after its warm-up. `None` if the run did not keep records of these kinds.
    pub(crate) fn recorded(
        run: &impl Records,
        warmup: SimSpan,
    ) -> Result<Option<Self>, StoreError> {
        let kept = run.selection()?.kinds();
        if !Self::KINDS.into_iter().all(|kind| kept.contains(kind)) {
            return Ok(None);
        }
        let count = |kind| run.count_since(kind, warmup.as_ns());
        let [hits, misses, evictions] = Self::KINDS.map(count);
        Ok(Some(Self { hits: hits?, misses: misses?, evictions: evictions? }))
    }

    /// A cache posts a record.
    pub(crate) fn count(&mut self, kind: RecordKind) {
        match kind {
            RecordKind::BufferReadHit => self.hits += 1,
            RecordKind::BufferReadMiss => self.misses += 1,
            RecordKind::BufferEvict => self.evictions += 1,
            _ => {}
        }
    }

    /// The records for each of a number of requests.
    pub(crate) fn by_request(self, requests: f64) -> CacheRates {
        CacheRates { records: self, requests }
    }
}

impl Sub for CacheRecords {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            hits: self.hits - before.hits,
            misses: self.misses - before.misses,
            evictions: self.evictions - before.evictions,
        }
    }
}

impl AddAssign for CacheRecords {
    fn add_assign(&mut self, more: Self) {
        self.hits += more.hits;
        self.misses += more.misses;
        self.evictions += more.evictions;
    }
}

impl CacheRates {
    /// How the caches of modelled stretches differ from the recorded ones, if they do by more than chance.
    pub(crate) fn unlike(&self, stretches: &Self) -> Option<String> {
        let lookups = |rates: &Self| (rates.records.hits + rates.records.misses) as f64;
        let miss_rate = |rates: &Self| rates.records.misses as f64 / lookups(rates).max(1.0);
        let evictions = |rates: &Self| rates.records.evictions as f64 / rates.requests.max(1.0);
        let (was, is) = (miss_rate(self), miss_rate(stretches));
        let chance = (was * (1.0 - was) / lookups(stretches).max(1.0)).sqrt();
        if (is - was).abs() > ALIKE * was + BY_CHANCE * chance {
            let percent = |share: f64| 100.0 * share;
            return Some(format!(
                "the caches of its short stretches miss {:.1} % of the reads, those of the recorded run {:.1} %",
                percent(is),
                percent(was)
            ));
        }
        let (was, is) = (evictions(self), evictions(stretches));
        let requests = stretches.requests.max(1.0);
        let chance = (was.max(1.0 / requests) / requests).sqrt();
        if (is - was).abs() > ALIKE * was + BY_CHANCE * chance {
            return Some(format!(
                "the caches of its short stretches post {is:.3} evictions for a request, those of the recorded run {was:.3}"
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(hits: u64, misses: u64, evictions: u64) -> CacheRates {
        CacheRecords { hits, misses, evictions }.by_request((hits + misses) as f64)
    }

    #[test]
    fn stretches_with_other_misses_or_evictions_are_unlike_the_run() {
        let recorded = rates(800_000, 200_000, 300_000);
        // 2 % more misses, and 2 % fewer evictions
        assert_eq!(recorded.unlike(&rates(3980, 1020, 1470)), None);
        // caches that are not full: no evictions
        let unlike = recorded.unlike(&rates(4000, 1000, 0)).unwrap();
        assert!(unlike.contains("post 0.000 evictions"), "{unlike}");
        // half-empty caches: twice the misses
        let unlike = recorded.unlike(&rates(3000, 2000, 1500)).unwrap();
        assert!(unlike.contains("miss 40.0 %"), "{unlike}");
    }

    #[test]
    fn few_stretches_prove_nothing() {
        // 5 standard errors of 20 reads at 20 % are 45 %
        assert_eq!(rates(800, 200, 0).unlike(&rates(12, 8, 0)), None);
    }
}
