//! Arguments of `replay-cache`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use foretell_algorithms::cache::{PolicyKind, PolicyKindError};
use foretell_core::replay_cache::{CacheSize, Sample};
use foretell_units::Bytes;
use foretell_workloads::trace::Format;

use super::import::ReadingArguments;

/// Arguments of `replay-cache`.
#[derive(Debug, Args)]
pub struct ReplayCacheArguments {
    /// A block trace, plain or compressed (gzip, zstd).
    pub trace: PathBuf,
    /// Names of policies, such as `lru,arc,s3-fifo`, or `all`.
    #[arg(long = "policy", value_name = "P", value_delimiter = ',', default_value = "lru")]
    pub policies: Vec<PolicyChoice>,
    /// Sizes of the cache: a number of objects (or pages, with --pages), an amount with a unit (with --pages
    /// or --by-size), or a share of all different objects, such as `10%`. Without it, the hit rates of LRU
    /// caches of all sizes.
    #[arg(long = "size", value_name = "N", value_delimiter = ',')]
    pub sizes: Vec<CacheSize>,
    /// Split requests into pages of this size. Each page is then an object. Without it, each address is an
    /// object, whatever the sizes of requests.
    #[arg(long, value_name = "SIZE")]
    pub pages: Option<Bytes>,
    /// An object has the size of the request that brings it into the cache. Sizes of caches are then in
    /// bytes.
    #[arg(long, conflicts_with = "pages")]
    pub by_size: bool,
    /// Print the hit rate of LRU caches of all sizes, from one pass.
    #[arg(long, conflicts_with = "by_size")]
    pub curve: bool,
    /// Estimate the curve of --curve from a sample of the objects (the method SHARDS): from this share of them
    /// (`0.01`, `1%`), or from at most this number (`8192`).
    #[arg(long, value_name = "RATE", conflicts_with = "by_size")]
    pub sample: Option<Sample>,
    /// Format of the trace, if its content does not show it.
    #[arg(long, value_name = "NAME")]
    pub format: Option<Format>,
    /// How its lines are read.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// Number of threads among which the caches are divided; by default one for each core. The results do not
    /// depend on it.
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// One policy, or all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyChoice {
    /// All policies.
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
