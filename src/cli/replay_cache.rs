//! What can be typed after `replay-cache`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use foretell_algorithms::cache::{PolicyKind, PolicyKindError};
use foretell_units::{Bytes, QuantityError};
use foretell_workloads::trace::Format;

/// Arguments of `replay-cache`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct ReplayCacheArguments {
    /// A block trace, plain or compressed (gzip, zstd).
    pub trace: PathBuf,
    /// Policies by name, such as `lru,arc,s3-fifo`, or `all`.
    #[arg(long = "policy", value_name = "P", value_delimiter = ',', default_value = "lru")]
    pub policies: Vec<PolicyChoice>,
    /// Sizes of the cache: a number of objects (or pages, with --pages), an amount with a unit
    /// (with --pages or --by-size), or a share of all different objects, such as `10%`. Without
    /// any: the curve of LRU.
    #[arg(long = "size", value_name = "N", value_delimiter = ',')]
    pub sizes: Vec<CacheSize>,
    /// Split requests into pages of so many bytes; a page is an object. Without it the object is
    /// what the request's address names, whatever the request's size.
    #[arg(long, value_name = "SIZE")]
    pub pages: Option<Bytes>,
    /// Objects are as large as the request that brings them in; sizes are in bytes.
    #[arg(long, conflicts_with = "pages")]
    pub by_size: bool,
    /// Print the hit ratio of LRU caches of all sizes, from one pass.
    #[arg(long, conflicts_with = "by_size")]
    pub curve: bool,
    /// Estimate that curve (SHARDS): from this share of the objects (`0.01`, `1%`), or from so
    /// many objects at most (`8192`).
    #[arg(long, value_name = "RATE", conflicts_with = "by_size")]
    pub sample: Option<Sample>,
    /// Format of the trace, if it cannot be told from its content.
    #[arg(long, value_name = "NAME")]
    pub format: Option<Format>,
    /// What a block number counts, in formats that do not say.
    #[arg(long, value_name = "SIZE")]
    pub block: Option<Bytes>,
    /// Only requests to this device, in formats that tell devices apart.
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// Leave out lines and records that are wrong, and say how many.
    #[arg(long)]
    pub skip_bad: bool,
    /// Caches are shared out among so many threads; without it, among all cores. The results do
    /// not depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// One policy, or all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyChoice {
    /// All there are.
    All,
    /// This one.
    One(PolicyKind),
}

impl FromStr for PolicyChoice {
    type Err = PolicyKindError;

    fn from_str(text: &str) -> Result<Self, PolicyKindError> {
        match text.trim() {
            "all" => Ok(Self::All),
            name => name.parse().map(Self::One),
        }
    }
}

/// The size of a cache as typed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CacheSize {
    /// A bare number, at least 1.
    Count(u64),
    /// A number with a unit, at least 1 byte.
    Amount(Bytes),
    /// A share of all there is, above 0 and at most 1.
    Share(f64),
}

impl FromStr for CacheSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let digits = text.replace('_', "");
        let size = if let Some(percent) = text.strip_suffix('%') {
            let Some(share) = share(percent, 100.0) else {
                return Err(format!("`{text}` is not a share above 0% and at most 100%"));
            };
            Self::Share(share)
        } else if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let count = digits.parse().map_err(|_| format!("`{text}` is too large for a cache"))?;
            Self::Count(count)
        } else {
            match text.parse() {
                Ok(amount) => Self::Amount(amount),
                Err(QuantityError::NotANumber { .. } | QuantityError::NoUnit { .. }) => {
                    return Err(format!(
                        "`{text}` is not the size of a cache; write a number of objects \
                         (`10000`), an amount (`1GiB`), or a share of all objects (`10%`)"
                    ));
                }
                Err(error) => return Err(error.to_string()),
            }
        };
        match size {
            Self::Count(0) | Self::Amount(Bytes::ZERO) => {
                Err(format!("`{text}` leaves no room; a cache holds one object at least"))
            }
            size => Ok(size),
        }
    }
}

/// How much of a trace is followed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sample {
    /// A share of the objects, above 0 and at most 1.
    Rate(f64),
    /// At most so many objects.
    Objects(usize),
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let rate = match text.strip_suffix('%') {
            Some(percent) => share(percent, 100.0),
            None => share(text, 1.0),
        };
        let objects = || text.parse().ok().filter(|objects| *objects > 1).map(Self::Objects);
        rate.map(Self::Rate).or_else(objects).ok_or_else(|| {
            format!(
                "`{text}` is not a sample; write the share of the objects that is followed \
                 (`0.01`, `1%`), or how many are at most (`8192`)"
            )
        })
    }
}

/// The number in `text` divided by `whole`, if that is above 0 and at most 1.
fn share(text: &str, whole: f64) -> Option<f64> {
    let share = text.trim().parse::<f64>().ok()? / whole;
    (share > 0.0 && share <= 1.0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counts_amounts_or_shares() {
        let size = |text: &str| text.parse::<CacheSize>();
        assert_eq!(size("489"), Ok(CacheSize::Count(489)));
        assert_eq!(size("1_000"), Ok(CacheSize::Count(1000)));
        assert_eq!(size("1GiB"), Ok(CacheSize::Amount(Bytes::gib(1))));
        assert_eq!(size("12.5%"), Ok(CacheSize::Share(0.125)));
        for (text, fault) in [
            ("0", "leaves no room"),
            ("0 KiB", "leaves no room"),
            ("0%", "above 0%"),
            ("101%", "at most 100%"),
            ("many", "write a number of objects"),
            ("1.5", "write a number of objects"),
            ("1 GIB", "`GIB` is not a unit"),
            ("-1 KiB", "negative"),
            ("99999999999999999999", "too large"),
            ("", "write a number of objects"),
        ] {
            let message = size(text).unwrap_err();
            assert!(message.contains(fault), "{text}: {message}");
        }
    }

    #[test]
    fn samples_are_rates_or_counts() {
        let sample = |text: &str| text.parse::<Sample>();
        assert_eq!(sample("0.25"), Ok(Sample::Rate(0.25)));
        assert_eq!(sample("25%"), Ok(Sample::Rate(0.25)));
        assert_eq!(sample("1"), Ok(Sample::Rate(1.0)));
        assert_eq!(sample("8192"), Ok(Sample::Objects(8192)));
        for text in ["0", "-0.1", "1.5", "200%", "nan", "some", ""] {
            assert!(sample(text).unwrap_err().contains("write the share"), "{text}");
        }
    }
}
