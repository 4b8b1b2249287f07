//! Policies by name.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Access, Clock, Fifo, Lru, Policy, Sieve};
use crate::names;

/// A name that is no policy's.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{found}` is not a cache policy; {wanted}")]
pub struct PolicyKindError {
    found: String,
    wanted: String,
}

/// One line for each policy: its variant, its name, its type.
macro_rules! policies {
    ($($(#[$doc:meta])* $kind:ident $name:literal $policy:ident,)+) => {
        /// Which policy.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum PolicyKind {
            $($(#[$doc])* $kind,)+
        }

        impl PolicyKind {
            /// All there are, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$kind,)+];

            /// The name as scenarios write it: `"lru"`, `"s3-fifo"`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            /// An empty cache for `capacity` unit-size objects, from 1 to
            /// [`MAX_CAPACITY`](super::MAX_CAPACITY).
            pub fn build(self, capacity: usize) -> AnyPolicy {
                match self {
                    $(Self::$kind => AnyPolicy::$kind($policy::new(capacity)),)+
                }
            }
        }

        /// A policy that was chosen by name. What it does is the policy's own.
        #[derive(Clone, Debug)]
        pub enum AnyPolicy {
            $($(#[$doc])* $kind($policy),)+
        }

        impl AnyPolicy {
            /// Which policy it is.
            pub const fn kind(&self) -> PolicyKind {
                match self {
                    $(Self::$kind(_) => PolicyKind::$kind,)+
                }
            }
        }

        impl Policy for AnyPolicy {
            #[inline]
            fn access(&mut self, key: u64) -> Access {
                match self {
                    $(Self::$kind(policy) => policy.access(key),)+
                }
            }
            #[inline]
            fn contains(&self, key: u64) -> Option<u32> {
                match self {
                    $(Self::$kind(policy) => policy.contains(key),)+
                }
            }
            fn remove(&mut self, key: u64) -> Option<u32> {
                match self {
                    $(Self::$kind(policy) => policy.remove(key),)+
                }
            }
            fn len(&self) -> usize {
                match self {
                    $(Self::$kind(policy) => policy.len(),)+
                }
            }
            fn capacity(&self) -> usize {
                match self {
                    $(Self::$kind(policy) => policy.capacity(),)+
                }
            }
        }
    };
}

policies! {
    /// [`Lru`].
    Lru "lru" Lru,
    /// [`Fifo`].
    Fifo "fifo" Fifo,
    /// [`Clock`].
    Clock "clock" Clock,
    /// [`Sieve`].
    Sieve "sieve" Sieve,
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PolicyKind {
    type Err = PolicyKindError;

    /// Reads the name that [`PolicyKind::name`] gives.
    fn from_str(text: &str) -> Result<Self, PolicyKindError> {
        Self::ALL.iter().copied().find(|kind| kind.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            PolicyKindError { found: text.to_owned(), wanted: names::wanted(text, &names) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for &kind in PolicyKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(kind.build(7).kind(), kind);
            assert_eq!(kind.build(7).capacity(), 7);
        }
    }

    #[test]
    fn suggests_the_nearest_name() {
        let message = "clok".parse::<PolicyKind>().unwrap_err().to_string();
        assert!(
            message.contains("`clok`") && message.contains("did you mean `clock`?"),
            "{message}"
        );
    }
}
