//! An operator's knowledge of the storage: its links and its redundancy.

use std::num::NonZeroU32;

use foretell_units::{Bytes, Rate};

use crate::point::ReadShare;

/// A pure load that uses at least this share of a link's capacity is assumed to wait for that link.
const FULL: f64 = 0.85;

/// A measurement may use more than a link's capacity by this share: links and rates are rounded.
const TOLERANCE: f64 = 0.05;

/// Total capacity of the links of all storage nodes; each carries both directions at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Links {
    /// Towards the storage nodes.
    pub into: Rate,
    /// Away from them.
    pub out_of: Rate,
}

/// The sender of a write's copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WritePath {
    /// The client, or a proxy that is not a storage node (Swift).
    #[default]
    Client,
    /// The first storage node sends them to the others (Ceph).
    Primary,
    /// A proxy (Swift), and the links are those of the proxies: all data read or written go in and out.
    Proxy,
}

/// Knowledge beyond the points.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Knowledge {
    /// The links, if known.
    pub links: Option<Links>,
    /// Number of fragments that hold the data (m of m-of-n); 1: copies.
    pub needed: u32,
    /// Total number of fragments (n of m-of-n), or copies.
    pub stored: u32,
    /// The sender of the fragments or copies.
    pub path: WritePath,
    /// Number of outstanding requests, for a load of several sizes; `None`: unknown.
    pub outstanding: Option<NonZeroU32>,
}

impl Default for Knowledge {
    /// Only the assumption that data are stored once.
    fn default() -> Self {
        Self { links: None, needed: 1, stored: 1, path: WritePath::Client, outstanding: None }
    }
}

/// A load that links cannot carry.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Overload {
    /// `in` or `out`, as seen from the hosts that the links belong to.
    pub direction: &'static str,
    /// The load in this direction.
    pub bits_per_s: f64,
    /// What the links carry.
    pub link: Rate,
}

/// Bytes in each direction of the storage's links for each byte of a request.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Traffic {
    into: f64,
    out_of: f64,
}

impl Knowledge {
    fn of_reads(self) -> Traffic {
        match self.path {
            WritePath::Client => Traffic { into: 0.0, out_of: 1.0 },
            // the primary has one of the fragments and fetches the others
            WritePath::Primary => {
                let fetched = f64::from(self.needed - 1) / f64::from(self.needed);
                Traffic { into: fetched, out_of: 1.0 + fetched }
            }
            WritePath::Proxy => Traffic { into: 1.0, out_of: 1.0 },
        }
    }

    fn of_writes(self) -> Traffic {
        let fragment = 1.0 / f64::from(self.needed);
        match self.path {
            WritePath::Client => Traffic { into: f64::from(self.stored) * fragment, out_of: 0.0 },
            WritePath::Primary => {
                let sent_on = f64::from(self.stored - 1) * fragment;
                Traffic { into: 1.0 + sent_on, out_of: sent_on }
            }
            WritePath::Proxy => Traffic { into: 1.0, out_of: f64::from(self.stored) * fragment },
        }
    }

    /// Mean time of a link for a request of this mix, in each direction, s.
    pub(crate) fn seconds(self, size: Bytes, reads: ReadShare) -> Option<[f64; 2]> {
        let links = self.links?;
        let (read, write, share) = (self.of_reads(), self.of_writes(), reads.fraction());
        let bytes = size.get() as f64;
        let mix = |read: f64, write: f64| bytes * (share * read + (1.0 - share) * write);
        Some([
            mix(read.into, write.into) / links.into.as_bytes_per_s_f64(),
            mix(read.out_of, write.out_of) / links.out_of.as_bytes_per_s_f64(),
        ])
    }

    /// Maximum rate that the links allow, requests a second.
    pub fn ceiling(self, size: Bytes, reads: ReadShare) -> Option<f64> {
        let [into, out_of] = self.seconds(size, reads)?;
        let longest = into.max(out_of);
        (longest > 0.0).then(|| 1.0 / longest)
    }

    /// The direction of the links that cannot carry this load, if there is one. Measurements may exceed a link's
    /// capacity by 5 %: links and rates are rounded.
    pub fn overload(self, size: Bytes, reads: ReadShare, iops: f64) -> Option<Overload> {
        let (busy, links) = (self.seconds(size, reads)?, self.links?);
        let directions = [("in", links.into), ("out", links.out_of)];
        let mut used = busy.into_iter().zip(directions);
        let (busy, (direction, link)) = used.find(|(busy, _)| busy * iops > 1.0 + TOLERANCE)?;
        let bits_per_s = busy * iops * link.as_bytes_per_s_f64() * 8.0;
        Some(Overload { direction, bits_per_s, link })
    }

    /// Whether a load with this cost per request, in seconds, waits for a link.
    pub(crate) fn fills_a_link(self, size: Bytes, reads: ReadShare, cost: f64) -> bool {
        self.seconds(size, reads).is_some_and(|[into, out_of]| into.max(out_of) >= FULL * cost)
    }

    /// Whether only reads and only writes, at these rates, each fill a link in a direction that the
    /// other leaves largely free.
    pub fn opposite(self, size: Bytes, read_iops: f64, write_iops: f64) -> bool {
        let used = |iops: f64, reads| {
            self.seconds(size, reads).map(|seconds| seconds.map(|busy| busy * iops))
        };
        let (Some(read), Some(write)) =
            (used(read_iops, ReadShare::READS), used(write_iops, ReadShare::WRITES))
        else {
            return false;
        };
        read[1] >= FULL && write[0] >= FULL && read[0] < 0.5 && write[1] < 0.5
    }

    /// Whether writes must read first, because data are coded.
    pub fn is_coded(self) -> bool {
        self.needed > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(needed: u32, stored: u32, path: WritePath) -> Knowledge {
        // 1 MB/s in, 2 MB/s out
        let links =
            Links { into: Rate::bytes_per_s(1_000_000), out_of: Rate::bytes_per_s(2_000_000) };
        Knowledge { links: Some(links), needed, stored, path, outstanding: None }
    }

    fn ceiling(knowledge: Knowledge, percent: f64) -> f64 {
        knowledge.ceiling(Bytes(1000), ReadShare::from_percent(percent).unwrap()).unwrap()
    }

    #[test]
    fn links_carry_what_the_encoding_sends() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b, "{a} {b}");
        // reads of 1 kB at 2 MB/s; writes thrice at 1 MB/s
        let copies = known(1, 3, WritePath::Client);
        near(ceiling(copies, 100.0), 2000.0);
        near(ceiling(copies, 0.0), 1000.0 / 3.0);
        // half and half: 0.5 kB out, 1.5 kB in
        near(ceiling(copies, 50.0), 1000.0 / 1.5);
        // 3-of-5: five thirds in
        near(ceiling(known(3, 5, WritePath::Client), 0.0), 600.0);
        // a primary receives one copy and forwards two to other nodes: 3 kB in, 2 kB out
        near(ceiling(known(1, 3, WritePath::Primary), 0.0), 1000.0 / 3.0);
        assert_eq!(Knowledge::default().ceiling(Bytes(1), ReadShare::READS), None);
    }

    #[test]
    fn a_load_above_the_links_is_an_overload() {
        let once = known(1, 1, WritePath::Client);
        // 1 kB each: 2000 reads/s are the 2 MB/s of the links out, and 5 % more may be measured
        assert_eq!(once.overload(Bytes(1000), ReadShare::READS, 2090.0), None);
        let over = once.overload(Bytes(1000), ReadShare::READS, 2110.0).unwrap();
        assert_eq!(over.direction, "out");
        assert!((over.bits_per_s - 16_880_000.0).abs() < 1.0, "{over:?}");
        // three copies go in
        let copies = known(1, 3, WritePath::Client);
        assert_eq!(copies.overload(Bytes(1000), ReadShare::WRITES, 340.0), None);
        assert_eq!(copies.overload(Bytes(1000), ReadShare::WRITES, 360.0).unwrap().direction, "in");
        assert_eq!(Knowledge::default().overload(Bytes(1000), ReadShare::READS, 1e9), None);
    }

    #[test]
    fn opposite_directions_need_both_links_full() {
        let once = known(1, 1, WritePath::Client);
        assert!(once.opposite(Bytes(1000), 1900.0, 950.0));
        assert!(!once.opposite(Bytes(1000), 1900.0, 500.0));
        // forwarding copies fills two thirds of the outward link if it is no wider than the inward one
        let narrow = Rate::bytes_per_s(1_000_000);
        let links = Some(Links { into: narrow, out_of: narrow });
        let primary = Knowledge { links, ..known(1, 3, WritePath::Primary) };
        assert!(!primary.opposite(Bytes(1000), 1000.0, 333.3));
        assert!(!Knowledge::default().opposite(Bytes(1000), 1.0, 1.0));
    }
}
