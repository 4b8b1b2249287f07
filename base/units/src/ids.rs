//! Identifiers. Each is an index into the tables of one run, dense from zero.

use std::fmt;

macro_rules! index_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// Its value as an index into a table.
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
    /// A volume. On a storage node its fragments form one file, so this is also the file's number.
    VolumeId
);
index_id!(
    /// A workload.
    WorkloadId
);

/// Links the records of one request within a host and across hosts (Thereska et al. 2006, III-B).
///
/// Zero stands for no request: the host's own work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Breadcrumb(pub u64);

impl Breadcrumb {
    /// Work that was not caused by a request.
    pub const NONE: Self = Self(0);
}

impl fmt::Display for Breadcrumb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A thread, as identified by a host's operating system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Thread {
    /// Number of the process; 0 is idle.
    pub pid: u32,
    /// Number of the thread, unique on the host while the thread exists.
    pub tid: u32,
}

impl Thread {
    /// No thread: the core idles.
    pub const IDLE: Self = Self { pid: 0, tid: 0 };
}
