//! Settings that no generator accepts.

use foretell_units::Bytes;
use thiserror::Error;

/// The reason why a generator cannot be made.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum GenerateError {
    /// A share is not in 0 to 1.
    #[error("`{setting}` is {found}; wanted a share from 0 to 1")]
    Share {
        /// The setting.
        setting: &'static str,
        /// The value.
        found: f64,
    },
    /// The hot part is empty or everything.
    #[error("`fraction` is {found}; wanted a fraction of the working set above 0 and below 1")]
    Fraction {
        /// The value.
        found: f64,
    },
    /// The exponent of a Zipf law is out of range.
    #[error("`alpha` is {found}; wanted an exponent from 0 to {max}")]
    Alpha {
        /// The value.
        found: f64,
        /// The largest possible value.
        max: f64,
    },
    /// Requests of zero bytes.
    #[error("`access` is 0 B; wanted at least 1 B")]
    NoAccess,
    /// The working set is larger than the volume.
    #[error("`working_set` is {working_set}, but the volume has {volume}")]
    BeyondVolume {
        /// Size of the working set.
        working_set: Bytes,
        /// Size of the volume.
        volume: Bytes,
    },
    /// The working set has too few accesses.
    #[error(
        "`working_set` is {working_set}; wanted at least {wanted}: {least} accesses of {access}"
    )]
    TooSmall {
        /// Size of the working set.
        working_set: Bytes,
        /// Smallest possible size.
        wanted: Bytes,
        /// Minimum number of accesses for the pattern.
        least: u64,
        /// Bytes of one access.
        access: Bytes,
    },
    /// The working set has more accesses than a pattern supports.
    #[error("the working set has {found} accesses; wanted at most {max}")]
    TooManyBlocks {
        /// Number of accesses.
        found: u64,
        /// Highest possible number.
        max: u64,
    },
    /// An impossible pool of files.
    #[error(
        "{files} files of {smallest} to {largest} in {subdirectories} subdirectories; wanted at \
         least one file, one subdirectory, and sizes in rising order"
    )]
    NoFiles {
        /// Number of files.
        files: u32,
        /// Number of subdirectories.
        subdirectories: u32,
        /// The smallest file.
        smallest: Bytes,
        /// The largest file.
        largest: Bytes,
    },
    /// The stride is not a multiple of the access size.
    #[error("`step` is {step}; wanted a multiple of `access`, {access}, below {working_set}")]
    Step {
        /// The stride.
        step: Bytes,
        /// Bytes of an access.
        access: Bytes,
        /// The working set.
        working_set: Bytes,
    },
}
