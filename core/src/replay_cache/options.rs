//! Options of a replay: the trace, what its objects are, and which caches.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use foretell_algorithms::cache::PolicyKind;
use foretell_units::{Bytes, QuantityError};
use foretell_workloads::trace::Format;

/// Options of a replay. By default, the exact curve of LRU is computed, and each address is an object. A
/// trace must be given.
#[derive(Clone, Default, Debug)]
pub struct CacheReplay {
    /// A block trace, plain or compressed (gzip, zstd).
    pub trace: PathBuf,
    /// Policies. Repetitions are ignored. If empty: LRU.
    pub policies: Vec<PolicyKind>,
    /// Sizes of caches. If empty: the curve of LRU.
    pub sizes: Vec<CacheSize>,
    /// What an object is.
    pub objects: Objects,
    /// Also gives the curve of LRU if there are sizes.
    pub curve: bool,
    /// Estimates that curve from a sample (SHARDS).
    pub sample: Option<Sample>,
    /// Format of the trace, if its content does not show it.
    pub format: Option<Format>,
    /// Size of a block, for formats that do not define it.
    pub block: Option<Bytes>,
    /// Only requests to this device, in formats that distinguish devices.
    pub device: Option<String>,
    /// The action that makes a request, in blkparse's format; `None`: `Q`, queued.
    pub blkparse_action: Option<char>,
    /// Skip and count lines and records that are wrong.
    pub skip_bad: bool,
    /// Number of threads among which the caches are divided; by default one for each core. Results do not
    /// depend on it.
    pub threads: Option<NonZeroUsize>,
}

/// What an object is, and its size.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Objects {
    /// Each address is an object. All objects have the same size.
    #[default]
    Addresses,
    /// Each page of this size is an object.
    Pages(Bytes),
    /// Each address is an object. It has the size of the request that brings it into the cache.
    BySize,
}

/// The size of a cache as the user gave it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CacheSize {
    /// A bare number, at least 1.
    Count(u64),
    /// A number of bytes with a unit, at least 1 byte.
    Amount(Bytes),
    /// A share of all different objects, above 0 and at most 1.
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
                Err(format!("`{text}` leaves no room; a cache holds at least one object"))
            }
            size => Ok(size),
        }
    }
}

/// The sample of a trace.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Sample {
    /// A share of the objects, above 0 and at most 1.
    Rate(f64),
    /// At most this number of objects.
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
                "`{text}` is not a sample; write a share of the objects (`0.01`, `1%`), or a maximum \
                 number of objects (`8192`)"
            )
        })
    }
}

/// The number in `text` divided by `whole`, if the result is above 0 and at most 1.
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
            assert!(sample(text).unwrap_err().contains("write a share"), "{text}");
        }
    }
}
