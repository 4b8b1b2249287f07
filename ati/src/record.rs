//! The activity record: a header common to all types, and the payload of one.
//!
//! Source: Thereska et al. 2006, Figure 2 and Table II. The header's `host` is ours: the paper keeps an
//! activity database for each computer, we keep one store for all.

use std::fmt;

use foretell_units::{Breadcrumb, HostId, SimTime};

use crate::Body;

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
