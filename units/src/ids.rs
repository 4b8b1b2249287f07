//! Identities. Each is an index into the tables of one run, dense from zero.

use std::fmt;

macro_rules! index_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into a table.
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("fewer than 2^32 of a kind"))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

index_id!(
    /// A host: a storage node or a client machine.
    HostId
);
index_id!(
    /// A disk, numbered within its host.
    DiskId
);
index_id!(
    /// A volume. On a storage node its fragments form one file, so it is the file's number too.
    VolumeId
);
index_id!(
    /// A workload.
    WorkloadId
);

/// What correlates the records of one request within and across hosts (Thereska et al. 2006, III-B).
///
/// Zero belongs to no request: the host's own work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Breadcrumb(pub u64);

impl Breadcrumb {
    /// Work that no request caused.
    pub const NONE: Self = Self(0);
}

impl fmt::Display for Breadcrumb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A thread as a host's operating system names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// Process; 0 is idle.
    pub pid: u32,
    /// Thread, unique on the host while it lives.
    pub tid: u32,
}

impl Thread {
    /// No thread: the core idles.
    pub const IDLE: Self = Self { pid: 0, tid: 0 };
}
