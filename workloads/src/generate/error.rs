//! Settings that no generator can have.

use foretell_units::Bytes;
use thiserror::Error;

/// Why a generator cannot be made.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum GenerateError {
    /// A share is not one.
    #[error("`{setting}` is {found}; wanted a share from 0 to 1")]
    Share {
        /// Which setting.
        setting: &'static str,
        /// What it is.
        found: f64,
    },
    /// The hot part is nothing or everything.
    #[error("`fraction` is {found}; wanted a fraction of the working set above 0 and below 1")]
    Fraction {
        /// What it is.
        found: f64,
    },
    /// The exponent of a Zipf law is out of range.
    #[error("`alpha` is {found}; wanted an exponent from 0 to {max}")]
    Alpha {
        /// What it is.
        found: f64,
        /// The largest.
        max: f64,
    },
    /// Requests of no bytes.
    #[error("`access` is 0 B; wanted at least 1 B")]
    NoAccess,
    /// The working set is larger than the volume.
    #[error("`working_set` is {working_set}, but the volume has {volume}")]
    BeyondVolume {
        /// What it is.
        working_set: Bytes,
        /// What there is.
        volume: Bytes,
    },
    /// The working set has too few accesses.
    #[error(
        "`working_set` is {working_set}; wanted at least {wanted}: {least} accesses of {access}"
    )]
    TooSmall {
        /// What it is.
        working_set: Bytes,
        /// What it must be.
        wanted: Bytes,
        /// How many accesses the pattern needs.
        least: u64,
        /// Bytes of one.
        access: Bytes,
    },
    /// The working set has more accesses than a pattern draws from.
    #[error("the working set has {found} accesses; wanted at most {max}")]
    TooManyBlocks {
        /// How many there are.
        found: u64,
        /// The most.
        max: u64,
    },
    /// A pool of files that cannot be.
    #[error(
        "{files} files of {smallest} to {largest} in {subdirectories} subdirectories; wanted at \
         least one file, one subdirectory, and sizes in rising order"
    )]
    NoFiles {
        /// Files.
        files: u32,
        /// Subdirectories.
        subdirectories: u32,
        /// The smallest file.
        smallest: Bytes,
        /// The largest.
        largest: Bytes,
    },
    /// The stride is not a number of accesses.
    #[error("`step` is {step}; wanted a multiple of `access`, {access}, below {working_set}")]
    Step {
        /// What it is.
        step: Bytes,
        /// Bytes of an access.
        access: Bytes,
        /// The working set.
        working_set: Bytes,
    },
}
