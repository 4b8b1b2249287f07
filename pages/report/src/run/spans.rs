//! Breakdown of the time of sampled requests: each instant of a request is charged to one activity.
//!
//! Parts of a request run in parallel, so the times of its steps do not add up to its response time. The
//! charged times do. An instant counts as service of a disk if any disk serves the request then, else as
//! waiting for a disk, else as processor time, else as network time (a message is under way, or waits for
//! its receiver's processor), else as other waiting. Work that a request leaves behind (a delayed write)
//! counts only until its client has the answer.

use foretell_sorted::SortedMap;
use hashbrown::HashMap;

use super::requests::Completed;

/// Maximum number of intervals kept of a request.
const MAX_SPANS: usize = 4096;

/// The activity of a request at an instant; the first one that applies counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum What {
    /// A disk serves it.
    DiskService,
    /// It waits in a disk's queue.
    DiskWait,
    /// A processor works for it.
    Cpu,
    /// A message is under way, or waits for the receiver's processor.
    Network,
    /// None of these: it waits for a processor, for room in a cache, for another request.
    Other,
}

impl What {
    /// All of them.
    pub(crate) const ALL: [Self; 5] =
        [Self::DiskService, Self::DiskWait, Self::Cpu, Self::Network, Self::Other];

    /// Its name in words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::DiskService => "disk, in service",
            Self::DiskWait => "disk, waiting in its queue",
            Self::Cpu => "processor",
            Self::Network => "network and the receiver's processor",
            Self::Other => "other waiting",
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Span {
    from_ns: u64,
    to_ns: u64,
    what: What,
    host: u32,
    unit: u32,
}

#[derive(Default, Debug)]
struct OfRequest {
    spans: Vec<Span>,
    /// Sent messages: time and receiver.
    sent: Vec<(u64, u32)>,
}

/// Intervals of sampled requests.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    by_request: HashMap<u64, OfRequest, foldhash::fast::FixedState>,
}

/// Mean times of a set of requests, by activity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Charged {
    /// Number of requests.
    pub requests: usize,
    /// Mean nanoseconds of a request, in the order of [`What::ALL`].
    pub by_what: [f64; 5],
    /// Mean nanoseconds by host and disk, waiting included.
    pub by_disk: SortedMap<(u32, u32), f64>,
}

impl Charged {
    /// Mean response time.
    pub(crate) fn total_ns(&self) -> f64 {
        self.by_what.iter().sum()
    }
}

impl Spans {
    /// Spans for these requests, without any interval yet.
    pub(crate) fn of(breadcrumbs: impl IntoIterator<Item = u64>) -> Self {
        let empty = |breadcrumb| (breadcrumb, OfRequest::default());
        Self { by_request: breadcrumbs.into_iter().map(empty).collect() }
    }

    /// An empty copy for the same requests.
    pub(crate) fn empty(&self) -> Self {
        let mut sampled: Vec<u64> = self.by_request.keys().copied().collect();
        sampled.sort_unstable();
        Self::of(sampled)
    }

    /// Adds the intervals of another one for the same requests.
    pub(crate) fn absorb(&mut self, other: Self) {
        let mut by_request: Vec<_> = other.by_request.into_iter().collect();
        by_request.sort_unstable_by_key(|(breadcrumb, _)| *breadcrumb);
        for (breadcrumb, found) in by_request {
            let of = self.by_request.entry(breadcrumb).or_default();
            of.spans.extend(found.spans);
            of.sent.extend(found.sent);
        }
    }

    /// Whether a request is in the sample.
    #[inline]
    pub(crate) fn wants(&self, breadcrumb: u64) -> bool {
        self.by_request.contains_key(&breadcrumb)
    }

    /// Adds an interval.
    pub(crate) fn add(
        &mut self,
        breadcrumb: u64,
        from_ns: u64,
        to_ns: u64,
        what: What,
        host: u32,
        unit: u32,
    ) {
        if let Some(of) = self.by_request.get_mut(&breadcrumb)
            && of.spans.len() < MAX_SPANS
        {
            of.spans.push(Span { from_ns, to_ns, what, host, unit });
        }
    }

    /// Adds a message. It is under way until a processor of its receiver works for the request.
    pub(crate) fn sent(&mut self, breadcrumb: u64, at_ns: u64, receiver: u32) {
        if let Some(of) = self.by_request.get_mut(&breadcrumb)
            && of.sent.len() < MAX_SPANS
        {
            of.sent.push((at_ns, receiver));
        }
    }

    /// Charges the time of requests to activities.
    pub(crate) fn charge(&self, requests: &[Completed]) -> Charged {
        let mut charged = Charged { requests: requests.len(), ..Charged::default() };
        for request in requests {
            if let Some(of) = self.by_request.get(&request.breadcrumb) {
                of.charge(request, &mut charged);
            }
        }
        let count = requests.len().max(1) as f64;
        for sum in &mut charged.by_what {
            *sum /= count;
        }
        for sum in charged.by_disk.values_mut() {
            *sum /= count;
        }
        charged
    }
}

impl OfRequest {
    fn charge(&self, request: &Completed, charged: &mut Charged) {
        let (issued, completed) = (request.issued_ns, request.issued_ns + request.response_ns);
        let mut spans = self.spans.clone();
        for &(sent, receiver) in &self.sent {
            let runs = self.spans.iter().filter(|span| {
                span.what == What::Cpu && span.host == receiver && span.from_ns >= sent
            });
            let to_ns = runs.map(|span| span.from_ns).min().unwrap_or(completed);
            spans.push(Span { from_ns: sent, to_ns, what: What::Network, host: receiver, unit: 0 });
        }
        // the begin and end of each interval, by time
        let mut changes: Vec<(u64, bool, Span)> = Vec::new();
        for span in spans {
            let (from, to) = (span.from_ns.max(issued), span.to_ns.min(completed));
            if from < to {
                changes.extend([(from, true, span), (to, false, span)]);
            }
        }
        changes.sort_unstable_by_key(|(at, begins, _)| (*at, *begins));
        let mut open = [0_u32; 4];
        let mut disks: Vec<(What, u32, u32)> = Vec::new();
        let mut last = issued;
        for (at, begins, span) in changes.into_iter().chain([(completed, false, NOTHING)]) {
            let what = What::ALL
                .into_iter()
                .find(|what| open.get(*what as usize).is_some_and(|open| *open > 0));
            let what = what.unwrap_or(What::Other);
            let lasted = (at - last) as f64;
            charged.by_what[what as usize] += lasted;
            if matches!(what, What::DiskService | What::DiskWait) {
                let of: Vec<_> = disks.iter().filter(|disk| disk.0 == what).collect();
                for (_, host, disk) in &of {
                    *charged.by_disk.entry((*host, *disk)).or_default() += lasted / of.len() as f64;
                }
            }
            last = at;
            let Some(open) = open.get_mut(span.what as usize) else { continue };
            let disk = (span.what, span.host, span.unit);
            let is_disk = matches!(span.what, What::DiskService | What::DiskWait);
            if begins {
                *open += 1;
                disks.extend(is_disk.then_some(disk));
            } else {
                *open -= 1;
                if let Some(index) = disks.iter().position(|one| *one == disk) {
                    disks.swap_remove(index);
                }
            }
        }
    }
}

/// The span that ends the walk over a request.
const NOTHING: Span = Span { from_ns: 0, to_ns: 0, what: What::Other, host: 0, unit: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    // 0..100: disk 10..40 (waits until 20), processor 30..50, a message sent at 50 to host 2, which
    // runs at 70..80; the rest is other waiting: 0..10, 80..100
    #[test]
    fn each_instant_is_charged_once() {
        let request = Completed {
            response_ns: 100,
            breadcrumb: 7,
            issued_ns: 0,
            workload: 0,
            is_write: false,
            bytes: 1,
        };
        let mut spans = Spans::of([7]);
        spans.add(7, 10, 20, What::DiskWait, 1, 0);
        spans.add(7, 20, 40, What::DiskService, 1, 0);
        spans.add(7, 30, 50, What::Cpu, 1, 0);
        spans.sent(7, 50, 2);
        spans.add(7, 70, 80, What::Cpu, 2, 0);
        // after the answer
        spans.add(7, 120, 180, What::DiskService, 1, 1);
        let charged = spans.charge(&[request]);
        assert_eq!(charged.by_what.map(|ns| ns as u64), [20, 10, 20, 20, 30]);
        assert_eq!(charged.by_disk, SortedMap::from([((1, 0), 30.0)]));
        assert!((charged.total_ns() - 100.0).abs() < 1e-9);
    }
}
