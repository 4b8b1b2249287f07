//! The activity record: a header common to all types, and a payload.
//!
//! Source: Thereska et al. 2006, Figure 2 and Table II. The header's `host` is ours: the paper has one
//! activity database per computer, we have one store for all.

use std::fmt;

use foretell_units::{Breadcrumb, HostId, SimTime};

use crate::Body;

/// The header of every record (Thereska et al. 2006, Figure 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Time of posting on the host's clock: nanoseconds since the start of the simulation, unique on
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
    /// Time, host, process and request.
    pub header: Header,
    /// The payload.
    pub body: Body,
}

// A record crosses a channel in batches by plain copy; each takes one cache line.
const _: () = assert!(size_of::<Record>() == 64);

/// The end of an operation that a record marks. Stored as 0 and 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    /// The operation begins.
    Issue = 0,
    /// The operation has ended.
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

/// The hosts' clocks as in the paper: no reading is ever repeated on a host.
///
/// If several records of a host fall on the same simulated nanosecond, each later one reads one
/// nanosecond more. Posts must be in the order of time.
#[derive(Clone, Debug, Default)]
pub struct HostClock {
    next_ns: Vec<u64>,
}

impl HostClock {
    /// Clocks of `hosts` hosts.
    pub fn new(hosts: usize) -> Self {
        Self { next_ns: vec![0; hosts] }
    }

    /// Reads the clock of `host` at `now`: nanoseconds, later than all its previous readings.
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
    use foretell_units::Op;

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
