//! The selection of records that a run keeps.
//!
//! A long run posts more records than anyone wants to keep. Dropping single records would be wrong:
//! a request with some of its records missing would have the wrong demand. So whole requests are
//! sampled, by a hash of the breadcrumb: every host takes the same decision without communication.
//! Breadcrumbs count up from one in every run, so the hash depends on the run's seed, too. Otherwise
//! each run of a sweep would keep the same requests.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use foretell_units::{Breadcrumb, Seed};
use thiserror::Error;

use crate::{KindSet, RecordKind};

/// Requests whose records are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requests {
    /// All requests.
    All,
    /// One request in this number, and the hosts' own work.
    OneIn(NonZeroU32),
    /// None, and not the hosts' own work either.
    None,
}

/// Selects the records to keep, by request and by type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    requests: Requests,
    kinds: KindSet,
    /// A request is kept if the hash of its breadcrumb does not exceed this.
    threshold: u64,
    /// Differs from run to run; breadcrumbs are combined with it before they are hashed.
    salt: u64,
}

impl Selection {
    /// Every record.
    pub const ALL: Self = Self::new(Requests::All, KindSet::ALL);
    /// No record.
    pub const NONE: Self = Self::new(Requests::None, KindSet::EMPTY);

    /// The records of these `requests` and `kinds`.
    pub const fn new(requests: Requests, kinds: KindSet) -> Self {
        let (threshold, kinds) = match requests {
            Requests::All => (u64::MAX, kinds),
            Requests::OneIn(k) => (u64::MAX / k.get() as u64, kinds),
            Requests::None => (0, KindSet::EMPTY),
        };
        Self { requests, kinds, threshold, salt: 0 }
    }

    /// The same requests, but only records of `kinds`.
    pub const fn of_kinds(self, kinds: KindSet) -> Self {
        Self { salt: self.salt, ..Self::new(self.requests, kinds) }
    }

    /// As many requests, but those that belong to this `seed`.
    pub const fn of_seed(self, seed: Seed) -> Self {
        // hashed, because seeds that follow each other would only exchange the numbers of requests
        Self { salt: hash(seed.0), ..self }
    }

    /// The selected requests.
    pub const fn requests(self) -> Requests {
        self.requests
    }

    /// The selected types.
    pub const fn kinds(self) -> KindSet {
        self.kinds
    }

    /// Whether to post a record of `kind` for the request of `breadcrumb`. Takes about a
    /// nanosecond.
    ///
    /// [`Breadcrumb::NONE`], a host's own work, is kept unless nothing is kept.
    #[inline]
    pub const fn wants(&self, kind: RecordKind, breadcrumb: Breadcrumb) -> bool {
        self.kinds.contains(kind)
            && (self.threshold == u64::MAX
                || breadcrumb.0 == Breadcrumb::NONE.0
                || hash(breadcrumb.0 ^ self.salt) <= self.threshold)
    }
}

/// Spreads breadcrumbs, which count up from one, evenly and without a pattern that a workload could
/// match: the finaliser of splitmix64 (Steele, Lea & Flood 2014).
const fn hash(breadcrumb: u64) -> u64 {
    let mut x = breadcrumb;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl fmt::Display for Selection {
    /// In the form read by [`Selection::from_str`]; the types are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.requests {
            Requests::All => f.write_str("all"),
            Requests::OneIn(k) => write!(f, "every 1/{k} requests"),
            Requests::None => f.write_str("none"),
        }
    }
}

/// The reason why a text is not a selection of records.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum SelectionError {
    /// It has none of the supported forms.
    #[error(
        "`{text}` does not say which records to keep; write \"all\", \"none\" or \
         \"every 1/100 requests\""
    )]
    Unknown {
        /// The text as found.
        text: String,
    },
    /// It is a fraction, but not of the form 1/K.
    #[error(
        "`{fraction}` is not a share of the requests; write 1/K with K from 1 to 4294967295, such \
         as \"every 1/100 requests\""
    )]
    Fraction {
        /// The fraction as found.
        fraction: String,
    },
}

impl FromStr for Selection {
    type Err = SelectionError;
    /// Reads `"all"`, `"none"`, `"every 1/100 requests"`.
    fn from_str(text: &str) -> Result<Self, SelectionError> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match *words.as_slice() {
            ["all"] => Ok(Self::ALL),
            ["none"] => Ok(Self::NONE),
            ["every", fraction, "request" | "requests"] => {
                let k = fraction.strip_prefix("1/").and_then(|k| k.parse().ok());
                let k =
                    k.ok_or_else(|| SelectionError::Fraction { fraction: fraction.to_owned() })?;
                Ok(Self::new(Requests::OneIn(k), KindSet::ALL))
            }
            _ => Err(SelectionError::Unknown { text: text.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["all", "none", "every 1/100 requests"] {
            assert_eq!(text.parse::<Selection>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let message = |text: &str| text.parse::<Selection>().unwrap_err().to_string();
        assert!(message("some").contains("`some`") && message("some").contains("\"all\""));
        for text in ["every 1/0 requests", "every 2/3 requests", "every 1/-1 requests"] {
            let fraction = text.split(' ').nth(1).unwrap();
            assert!(message(text).starts_with(&format!("`{fraction}` is not a share")));
        }
    }

    #[test]
    fn samples_whole_requests_in_proportion() {
        let selection: Selection = "every 1/100 requests".parse().unwrap();
        let kept = (1..=1_000_000)
            .filter(|b| selection.wants(RecordKind::DiskOp, Breadcrumb(*b)))
            .inspect(|b| assert!(selection.wants(RecordKind::Request, Breadcrumb(*b))))
            .count();
        // binomial: 10 000 ± 4 × √(10^6 × 0.01 × 0.99) = 10 000 ± 398
        assert!((9_602..=10_398).contains(&kept), "{kept}");
    }

    #[test]
    fn runs_with_other_seeds_keep_other_requests() {
        let kept = |seed: u64| -> Vec<u64> {
            let selection =
                "every 1/100 requests".parse::<Selection>().unwrap().of_seed(Seed(seed));
            assert_eq!(selection, selection.of_kinds(KindSet::ALL), "of the same seed");
            let wants = |b: &u64| selection.wants(RecordKind::Request, Breadcrumb(*b));
            (1..=100_000).filter(wants).collect()
        };
        let runs = [0, 1, 2, 42].map(kept);
        for (place, one) in runs.iter().enumerate() {
            // binomial: 1000 ± 4 × √(10^5 × 0.01 × 0.99) = 1000 ± 126
            assert!((874..=1126).contains(&one.len()), "{}", one.len());
            for other in &runs[place + 1..] {
                // by chance 10 are in both
                let both = one.iter().filter(|b| other.contains(b)).count();
                assert!(both < 30, "{both}");
            }
        }
    }

    #[test]
    fn keeps_the_hosts_own_work_unless_nothing_is_kept() {
        let own = |s: &Selection| s.wants(RecordKind::BufferFlush, Breadcrumb::NONE);
        assert!(own(&"every 1/4294967295 requests".parse().unwrap()));
        assert!(own(&Selection::ALL));
        assert!(!own(&Selection::NONE));
        assert!(!own(&Selection::NONE.of_kinds(KindSet::ALL)));
        assert!(!own(&Selection::ALL.of_kinds(KindSet::ALL.without(RecordKind::BufferFlush))));
    }
}
