//! Policies by name.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{
    Arc, BySize, Clock, Evicted, Fifo, Lfu, Lirs, Lru, Pages, Replacement, Room, S3Fifo, Sieve,
    SizedAccess, TwoQ, Unit, Weight, faces,
};
use crate::names;

/// The name is not that of a policy.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{found}` is not a cache policy; {wanted}")]
pub struct PolicyKindError {
    found: String,
    wanted: String,
}

/// One line for each policy: its variant, its name, its type.
macro_rules! policies {
    ($($(#[$doc:meta])* $kind:ident $name:literal $policy:ident,)+) => {
        /// A policy's kind.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum PolicyKind {
            $($(#[$doc])* $kind,)+
        }

        impl PolicyKind {
            /// All policies, in the order of the documentation.
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

            /// The same for pages: objects that come in runs of consecutive keys.
            pub fn build_for_pages(self, capacity: usize) -> AnyPolicy<Pages> {
                match self {
                    $(Self::$kind => AnyPolicy::$kind($policy::of_pages(capacity)),)+
                }
            }

            /// An empty cache for objects whose sizes add up to `capacity`, from 1 to 2⁶¹.
            pub fn build_sized(self, capacity: u64) -> AnyPolicy<BySize> {
                match self {
                    $(Self::$kind => AnyPolicy::$kind($policy::sized(capacity)),)+
                }
            }
        }

        /// A policy that was chosen by name. It behaves as the policy itself.
        #[derive(Clone, Debug)]
        pub enum AnyPolicy<W: Weight = Unit> {
            $($(#[$doc])* $kind($policy<W>),)+
        }

        impl<W: Weight> AnyPolicy<W> {
            /// The kind of this policy.
            pub const fn kind(&self) -> PolicyKind {
                match self {
                    $(Self::$kind(_) => PolicyKind::$kind,)+
                }
            }
        }

        impl<W: Weight> Replacement for AnyPolicy<W> {
            #[inline]
            fn refer(
                &mut self,
                key: u64,
                size: u64,
                evict: &mut impl FnMut(Evicted),
            ) -> SizedAccess {
                match self {
                    $(Self::$kind(policy) => policy.refer(key, size, evict),)+
                }
            }
            #[inline]
            fn slot_of(&self, key: u64) -> Option<u32> {
                match self {
                    $(Self::$kind(policy) => policy.slot_of(key),)+
                }
            }
            fn forget(&mut self, key: u64) -> Option<u32> {
                match self {
                    $(Self::$kind(policy) => policy.forget(key),)+
                }
            }
            fn residents(&self) -> usize {
                match self {
                    $(Self::$kind(policy) => policy.residents(),)+
                }
            }
            fn room(&self) -> &Room {
                match self {
                    $(Self::$kind(policy) => policy.room(),)+
                }
            }
            fn reserve(&mut self, objects: usize) {
                match self {
                    $(Self::$kind(policy) => Replacement::reserve(policy, objects),)+
                }
            }
        }
    };
}

faces!(AnyPolicy);

policies! {
    /// [`Lru`].
    Lru "lru" Lru,
    /// [`Fifo`].
    Fifo "fifo" Fifo,
    /// [`Clock`].
    Clock "clock" Clock,
    /// [`Lfu`].
    Lfu "lfu" Lfu,
    /// [`TwoQ`].
    TwoQ "2q" TwoQ,
    /// [`Arc`].
    Arc "arc" Arc,
    /// [`Lirs`].
    Lirs "lirs" Lirs,
    /// [`S3Fifo`].
    S3Fifo "s3-fifo" S3Fifo,
    /// [`Sieve`].
    Sieve "sieve" Sieve,
}

impl PolicyKind {
    /// A description in one sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Lru => "Evicts what has not been used for the longest time.",
            Self::Fifo => "Evicts what came first.",
            Self::Clock => "FIFO with a second chance for what was used since the hand passed.",
            Self::Lfu => "Evicts what has been used least often.",
            Self::TwoQ => {
                "2Q (Johnson & Shasha 1994): a FIFO for newcomers, LRU for what comes back."
            }
            Self::Arc => {
                "ARC (Megiddo & Modha 2003): balances recency and frequency by its misses."
            }
            Self::Lirs => "LIRS (Jiang & Zhang 2002): keeps what is reused at short distances.",
            Self::S3Fifo => {
                "S3-FIFO (Yang et al. 2023): a small and a main FIFO, and a list of those evicted."
            }
            Self::Sieve => {
                "SIEVE (Zhang et al. 2024): FIFO order, a hand that spares what was used."
            }
        }
    }
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
    use crate::cache::Policy;

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
