//! The activity record: a header common to all types, and the payload of one.
//!
//! Source: Thereska et al. 2006, Figure 2 and Table II. The header's `host` is ours: the paper keeps an
//! activity database for each computer, we keep one store for all.

use std::fmt;

use foretell_units::{Breadcrumb, HostId, Op, SimTime};

use crate::RecordKind;

/// What every record begins with (Thereska et al. 2006, Figure 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// When it was posted, by the clock of the simulation: nanoseconds since its start, unique on
    /// its host (see [`HostClock`]).
    pub ts_ns: u64,
    /// The request that caused it; [`Breadcrumb::NONE`] for the host's own work.
    pub breadcrumb: Breadcrumb,
    /// The host that posted it.
    pub host: HostId,
    /// Kernel-level process on that host.
    pub pid: u32,
    /// User-level thread within that process.
    pub tid: u32,
}

/// One activity record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Who, when, and for whom.
    pub header: Header,
    /// What.
    pub body: Body,
}

// A record crosses a channel in batches by plain copy; one cache line each.
const _: () = assert!(size_of::<Record>() == 64);

/// The payload of a record: one variant for each type of Table II, and [`Body::Request`].
///
/// `file` is the volume's number ([`foretell_units::VolumeId`]): on a storage node the fragments
/// of a volume form one file. Offsets and sizes are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Body {
    /// CPU demand: a user-level context switch within the header's process.
    UserThreadSwitch {
        /// The thread that leaves the processor.
        oldthread: u32,
        /// The thread that gets it.
        newthread: u32,
    },
    /// CPU demand: a kernel-level context switch. Process 0 is the idle loop.
    KernelProcessSwitch {
        /// Which processor of the host.
        cpu: u32,
        /// The process that leaves the processor.
        oldprocess: u32,
        /// The process that gets it.
        newprocess: u32,
    },
    /// Buffer cache demand: a read found its data in the cache.
    BufferReadHit {
        /// The file.
        file: u32,
        /// Where the read begins, in bytes.
        offset: u64,
        /// Bytes read.
        size: u32,
    },
    /// Buffer cache demand: a read did not find its data in the cache.
    BufferReadMiss {
        /// The file.
        file: u32,
        /// Where the read begins, in bytes.
        offset: u64,
        /// Bytes read.
        size: u32,
    },
    /// Buffer cache demand: a write that marks the buffer dirty.
    BufferWrite {
        /// The file.
        file: u32,
        /// Where the write begins, in bytes.
        offset: u64,
        /// Bytes written.
        size: u32,
    },
    /// Buffer cache demand: pages are prefetched; nobody waits for them.
    BufferReadAhead {
        /// The file.
        file: u32,
        /// Where the first page begins, in bytes.
        offset: u64,
        /// Number of pages.
        numpages: u32,
        /// Bytes a page.
        pagesize: u32,
    },
    /// Buffer cache demand: a dirty page goes to disk.
    BufferFlush {
        /// The file.
        file: u32,
        /// Where the page begins, in bytes.
        offset: u64,
        /// Bytes flushed.
        size: u32,
    },
    /// Buffer cache demand: a page leaves the cache.
    BufferEvict {
        /// The file.
        file: u32,
        /// Where the page begins, in bytes.
        offset: u64,
        /// Bytes evicted.
        size: u32,
    },
    /// Network demand: a message is handed to the network.
    NetworkTransmit {
        /// The host that sends ([`HostId`]).
        sender: u32,
        /// The host that is to receive it.
        receiver: u32,
        /// Bytes on the wire, protocol headers included.
        numbytes: u64,
    },
    /// Disk demand, posted when an operation is sent to the disk and again when it completes.
    ///
    /// The two postings of one operation agree in host, breadcrumb, disk, `lbn` and `op`; that
    /// pairs them, as a request has at most one outstanding operation of a kind at one address of
    /// one disk. Work of no request (breadcrumb 0) pairs first with first in time.
    DiskOp {
        /// Which disk of the host.
        disk: u32,
        /// Logical block number of the first sector (512 bytes each).
        lbn: u64,
        /// Bytes, a multiple of 512.
        size: u32,
        /// Whether it reads or writes.
        op: Op,
        /// Whether it begins or ends.
        phase: Phase,
    },
    /// A client's own request, posted by the client library when it is issued and when it
    /// completes. Not in Table II; the two postings agree in breadcrumb.
    Request {
        /// The workload that asked ([`foretell_units::WorkloadId`]).
        workload: u32,
        /// The client machine ([`HostId`]); the record's own host.
        client: u32,
        /// Whether it reads or writes.
        op: Op,
        /// The file.
        file: u32,
        /// Where it begins, in bytes.
        offset: u64,
        /// Bytes asked for.
        size: u64,
        /// Whether it begins or ends.
        phase: Phase,
    },
}

impl Body {
    /// The type of this payload.
    #[inline]
    pub const fn kind(&self) -> RecordKind {
        match self {
            Self::UserThreadSwitch { .. } => RecordKind::UserThreadSwitch,
            Self::KernelProcessSwitch { .. } => RecordKind::KernelProcessSwitch,
            Self::BufferReadHit { .. } => RecordKind::BufferReadHit,
            Self::BufferReadMiss { .. } => RecordKind::BufferReadMiss,
            Self::BufferWrite { .. } => RecordKind::BufferWrite,
            Self::BufferReadAhead { .. } => RecordKind::BufferReadAhead,
            Self::BufferFlush { .. } => RecordKind::BufferFlush,
            Self::BufferEvict { .. } => RecordKind::BufferEvict,
            Self::NetworkTransmit { .. } => RecordKind::NetworkTransmit,
            Self::DiskOp { .. } => RecordKind::DiskOp,
            Self::Request { .. } => RecordKind::Request,
        }
    }
}

impl fmt::Display for Body {
    /// The name of the type and its arguments, as Table II has them:
    /// `disk_op disk 0, lbn 8, size 4096, op read, phase issue`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind())?;
        macro_rules! arguments {
            ($first:ident $(, $name:ident)*) => {{
                write!(f, concat!(" ", stringify!($first), " {}"), $first)?;
                $(write!(f, concat!(", ", stringify!($name), " {}"), $name)?;)*
            }};
        }
        match self {
            Self::UserThreadSwitch { oldthread, newthread } => arguments!(oldthread, newthread),
            Self::KernelProcessSwitch { cpu, oldprocess, newprocess } => {
                arguments!(cpu, oldprocess, newprocess);
            }
            Self::BufferReadHit { file, offset, size }
            | Self::BufferReadMiss { file, offset, size }
            | Self::BufferWrite { file, offset, size }
            | Self::BufferFlush { file, offset, size }
            | Self::BufferEvict { file, offset, size } => arguments!(file, offset, size),
            Self::BufferReadAhead { file, offset, numpages, pagesize } => {
                arguments!(file, offset, numpages, pagesize);
            }
            Self::NetworkTransmit { sender, receiver, numbytes } => {
                arguments!(sender, receiver, numbytes);
            }
            Self::DiskOp { disk, lbn, size, op, phase } => arguments!(disk, lbn, size, op, phase),
            Self::Request { workload, client, op, file, offset, size, phase } => {
                arguments!(workload, client, op, file, offset, size, phase);
            }
        }
        Ok(())
    }
}

/// Which end of an operation a record marks. Stored as 0 and 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// It begins.
    Issue = 0,
    /// It has ended.
    Complete = 1,
}

impl Phase {
    /// `issue` or `complete`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Complete => "complete",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The hosts' clocks as the paper has them: no reading is ever given twice on a host.
///
/// Where several records of a host fall on the same simulated nanosecond, the later ones read one
/// nanosecond more each. For posts in the order of time.
#[derive(Clone, Debug, Default)]
pub struct HostClock {
    next_ns: Vec<u64>,
}

impl HostClock {
    /// Clocks of `hosts` hosts.
    pub fn new(hosts: usize) -> Self {
        Self { next_ns: vec![0; hosts] }
    }

    /// Reads the clock of `host` at `now`: nanoseconds, later than all its readings before.
    #[inline]
    pub fn stamp(&mut self, host: HostId, now: SimTime) -> u64 {
        if host.index() >= self.next_ns.len() {
            self.next_ns.resize(host.index() + 1, 0);
        }
        let next = &mut self.next_ns[host.index()];
        let ts = now.as_ns().max(*next);
        *next = ts + 1;
        ts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_reads_like_table_two() {
        let (op, phase) = (Op::Read, Phase::Issue);
        let body = Body::DiskOp { disk: 0, lbn: 8, size: 4096, op, phase };
        assert_eq!(body.to_string(), "disk_op disk 0, lbn 8, size 4096, op read, phase issue");
    }

    #[test]
    fn a_timestamp_is_unique_on_its_host() {
        let mut clock = HostClock::new(1);
        let mut at = |host, ns| clock.stamp(HostId(host), SimTime::from_ns(ns));
        assert_eq!([at(0, 5), at(0, 5), at(0, 5), at(0, 9)], [5, 6, 7, 9]);
        assert_eq!([at(3, 5), at(3, 5)], [5, 6]);
    }
}
