//! Roll-ups kept while rows are written: the number of rows, and the span of each range of rows.
//!
//! Rows are in the order of posting, which is nearly the order of time and of breadcrumbs. So the minimum
//! and maximum timestamp and breadcrumb of each range of rows, a *zone*, locate the rows of one request or
//! of one second without an index. An index would cost more to maintain than the rows themselves (Thereska
//! et al. 2006 asks for the records of a request; DESIGN: live indexes halve the rate).

use foretell_units::{Breadcrumb, HostId};

use crate::{Record, RecordKind};

/// Number of rows in a zone: small enough to scan in a millisecond, large enough that the zones of 300
/// million rows take two megabytes.
pub(crate) const ZONE_ROWS: u64 = 8192;

/// Counts and zones of the rows written so far.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Number of records by host and kind.
    hosts: Vec<[u64; RecordKind::COUNT]>,
    /// The current zone of each table.
    open: [Zone; RecordKind::COUNT],
    /// Zones that are full.
    closed: Vec<(RecordKind, Zone)>,
}

/// A range of rows of one table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Zone {
    /// Number of rows before it in its table.
    pub(crate) before: u64,
    /// Number of rows in it.
    pub(crate) rows: u64,
    /// Smallest timestamp.
    pub(crate) ts_min_ns: u64,
    /// Largest timestamp.
    pub(crate) ts_max_ns: u64,
    /// Smallest breadcrumb other than zero, minus one: so zero wraps around and is never the smallest.
    breadcrumb_min_less_1: u64,
    /// Largest breadcrumb.
    breadcrumb_max: u64,
}

impl Default for Zone {
    fn default() -> Self {
        Self::after(0)
    }
}

impl Zone {
    /// An empty zone after `before` rows.
    const fn after(before: u64) -> Self {
        Self {
            before,
            rows: 0,
            ts_min_ns: u64::MAX,
            ts_max_ns: 0,
            breadcrumb_min_less_1: u64::MAX,
            breadcrumb_max: 0,
        }
    }

    /// The smallest and largest breadcrumb other than zero, if there is one.
    pub(crate) fn breadcrumbs(&self) -> Option<(Breadcrumb, Breadcrumb)> {
        (self.breadcrumb_max > 0)
            .then(|| (Breadcrumb(self.breadcrumb_min_less_1 + 1), Breadcrumb(self.breadcrumb_max)))
    }
}

impl Tally {
    /// Counts `record`.
    #[inline]
    pub(crate) fn add(&mut self, record: &Record) {
        let kind = record.body.kind();
        let host = record.header.host.index();
        if host >= self.hosts.len() {
            self.hosts.resize(host + 1, [0; RecordKind::COUNT]);
        }
        self.hosts[host][kind.index()] += 1;
        let zone = &mut self.open[kind.index()];
        let (ts, breadcrumb) = (record.header.ts_ns, record.header.breadcrumb.0);
        zone.rows += 1;
        zone.ts_min_ns = zone.ts_min_ns.min(ts);
        zone.ts_max_ns = zone.ts_max_ns.max(ts);
        zone.breadcrumb_min_less_1 = zone.breadcrumb_min_less_1.min(breadcrumb.wrapping_sub(1));
        zone.breadcrumb_max = zone.breadcrumb_max.max(breadcrumb);
        if zone.rows == ZONE_ROWS {
            self.closed.push((kind, *zone));
            *zone = Zone::after(zone.before + zone.rows);
        }
    }

    /// Number of records of each kind.
    pub(crate) fn records(&self) -> [u64; RecordKind::COUNT] {
        RecordKind::ALL.map(|kind| self.hosts.iter().map(|host| host[kind.index()]).sum())
    }

    /// Number of records of each kind from each host, where there are any.
    pub(crate) fn by_host(&self) -> impl Iterator<Item = (RecordKind, HostId, u64)> {
        RecordKind::ALL.into_iter().flat_map(|kind| {
            let counts = self.hosts.iter().map(move |host| host[kind.index()]);
            counts.enumerate().filter(|(_, n)| *n > 0).map(move |(host, n)| (kind, host.into(), n))
        })
    }

    /// All zones; those of one table in the order of its rows.
    pub(crate) fn zones(&self) -> impl Iterator<Item = (RecordKind, Zone)> {
        let open = RecordKind::ALL.into_iter().zip(self.open).filter(|(_, zone)| zone.rows > 0);
        self.closed.iter().copied().chain(open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Header};

    fn switch(ts_ns: u64, breadcrumb: u64, host: u32) -> Record {
        let breadcrumb = Breadcrumb(breadcrumb);
        let header = Header { ts_ns, breadcrumb, host: HostId(host), pid: 1, tid: 1 };
        Record { header, body: Body::UserThreadSwitch { oldthread: 0, newthread: 1 } }
    }

    #[test]
    fn zones_span_their_rows_and_leave_out_breadcrumb_zero() {
        let mut tally = Tally::default();
        tally.add(&switch(10, 0, 0));
        let own = tally.zones().next().unwrap().1;
        assert_eq!((own.ts_min_ns, own.ts_max_ns, own.breadcrumbs()), (10, 10, None));
        // 1 row before + 9999 rows = one full zone of 8192 and one of 10 000 - 8192 = 1808
        (1..10_000).for_each(|n| tally.add(&switch(10 + n, n, 1)));
        let zones: Vec<Zone> = tally.zones().map(|(_, zone)| zone).collect();
        let spans: Vec<_> = zones.iter().map(|z| (z.before, z.rows, z.breadcrumbs())).collect();
        let between = |a, b| Some((Breadcrumb(a), Breadcrumb(b)));
        assert_eq!(spans, [(0, 8192, between(1, 8191)), (8192, 1808, between(8192, 9999))]);
        assert_eq!((zones[1].ts_min_ns, zones[1].ts_max_ns), (8202, 10_009));
    }

    #[test]
    fn counts_by_kind_and_host() {
        let mut tally = Tally::default();
        for host in [0, 2, 2] {
            tally.add(&switch(0, 1, host));
        }
        let kind = RecordKind::UserThreadSwitch;
        assert_eq!(
            tally.by_host().collect::<Vec<_>>(),
            [(kind, HostId(0), 1), (kind, HostId(2), 2)]
        );
        assert_eq!(tally.records()[kind.index()], 3);
    }
}
