//! The steps of a request, from its records and those around them.
//!
//! A thread runs until the next switch away from it. A disk serves one operation at a time, so an
//! operation waits until the one before it completes. A message's arrival is not recorded: the
//! minimum time of its transfer follows from the link rates, and the remaining time until its
//! receiver runs is waiting. A thread that finds its page in the cache while another request is
//! still reading it waits for that request's disk operation. A writer waits before its write is
//! recorded if too much data is dirty.
//!
//! That a thread is woken is not recorded either. A thread that ran before is taken to sleep until another thread of the
//! request stops on its host: a client's thread sleeps until the threads that talk to nodes have the answers. So if a
//! thread loses its processor while others of its request run on, part of its waiting is left out.

use foretell_ati::{Body, Facts, Header, Phase, Record, RunDb};
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::{Bytes, Rate};

use super::around::{AT_ONCE_NS, Around};
use crate::failure::Failure;

/// An event of the request.
pub(crate) struct PathStep {
    /// Time since the request was issued.
    pub(crate) at_ns: u64,
    pub(crate) host: String,
    pub(crate) resource: String,
    pub(crate) what: String,
    pub(crate) waiting_ns: Option<u64>,
    pub(crate) service_ns: Option<u64>,
}

/// The steps of the request that left these records.
pub(crate) fn steps(
    db: &RunDb,
    facts: &Facts,
    records: &[Record],
) -> Result<Vec<PathStep>, Failure> {
    let start = records.first().map_or(0, |record| record.header.ts_ns);
    let around = Around::of(db, records)?;
    let mut path = Path {
        facts,
        around,
        start,
        steps: Vec::new(),
        last: SortedMap::new(),
        made: SortedMap::new(),
        found: SortedSet::new(),
        flying: SortedMap::new(),
        at_disk: SortedMap::new(),
    };
    for record in records {
        path.follow(record);
    }
    Ok(path.steps)
}

/// The last activity of a thread.
#[derive(Clone, Copy)]
enum Last {
    /// It can run since then: its disk operation completed, or its write found room.
    Woken(u64),
    /// It ran until then.
    Stopped(u64),
}

impl Last {
    fn at(self) -> u64 {
        match self {
            Self::Woken(at) | Self::Stopped(at) => at,
        }
    }
}

/// The state of a request while its records are followed.
struct Path<'a> {
    facts: &'a Facts,
    around: Around,
    start: u64,
    steps: Vec<PathStep>,
    /// By host and thread: the thread's last activity.
    last: SortedMap<(u32, u32), Last>,
    /// By host: the time of the request's last event there.
    made: SortedMap<u32, u64>,
    /// Threads that found a page in the cache; the page may still be on its way there.
    found: SortedSet<(u32, u32)>,
    /// Messages under way, by receiver and thread: index of the step, and time of sending.
    flying: SortedMap<(u32, u32), (usize, u64)>,
    /// Outstanding disk operations, by host, disk, address and direction: index of the step, and
    /// time of issue.
    at_disk: SortedMap<(u32, u32, u64, u8), (usize, u64)>,
}

impl Path<'_> {
    fn follow(&mut self, record: &Record) {
        let header = record.header;
        let (host, thread, ts) = (header.host.0, (header.host.0, header.tid), header.ts_ns);
        match record.body {
            // a record of the thread that leaves: its end is already known
            Body::KernelProcessSwitch { oldprocess, .. } if oldprocess == header.pid => {}
            Body::UserThreadSwitch { oldthread, .. } if oldthread == header.tid => {}
            Body::KernelProcessSwitch { .. } | Body::UserThreadSwitch { .. } => self.runs(&header),
            Body::NetworkTransmit { sender, receiver, numbytes } => {
                let what = format!("{numbytes} bytes to {}", self.host(receiver));
                let service = self.transfer_ns(header.pid, sender, receiver, Bytes(numbytes));
                let step = self.add(&header, "network", what, None, service);
                self.flying.insert((receiver, header.tid), (step, ts));
            }
            Body::DiskOp { disk, lbn, size, op, phase } => {
                let key = (host, disk, lbn, op as u8);
                match phase {
                    Phase::Issue => {
                        let what = format!("{} {size} bytes at sector {lbn}", op.name());
                        let step = self.add(&header, &format!("disk{disk}"), what, None, None);
                        self.at_disk.insert(key, (step, ts));
                    }
                    Phase::Complete => {
                        let Some((step, issued)) = self.at_disk.remove(&key) else { return };
                        let before = self.around.completion_before(host, disk, ts).unwrap_or(0);
                        let taken_up = before.max(issued);
                        self.steps[step].waiting_ns = Some(taken_up - issued);
                        self.steps[step].service_ns = Some(ts - taken_up);
                        self.found.remove(&thread);
                        self.last.insert(thread, Last::Woken(ts));
                    }
                }
            }
            Body::Request { op, offset, size, phase, .. } => {
                let what = match phase {
                    Phase::Issue => format!("{} of {size} bytes at {offset} begins", op.name()),
                    Phase::Complete => format!("{} is complete", op.name()),
                };
                self.add(&header, "request", what, None, None);
                self.made.insert(host, ts);
            }
            Body::BufferReadHit { offset, size, .. } => {
                self.cached(&header, format!("hit: {size} bytes at {offset}"));
                self.found.insert(thread);
            }
            Body::BufferReadMiss { offset, size, .. } => {
                self.cached(&header, format!("miss: {size} bytes at {offset}"));
            }
            Body::BufferWrite { offset, size, .. } => {
                let last = self.last.insert(thread, Last::Woken(ts));
                let waiting = last
                    .map(|last| ts.saturating_sub(last.at()))
                    .filter(|&waiting| waiting > AT_ONCE_NS);
                let when = if waiting.is_some() { ", when there was room" } else { "" };
                let what = format!("write: {size} bytes at {offset}{when}");
                self.add(&header, "cache", what, waiting, None);
            }
            Body::BufferReadAhead { offset, numpages, .. } => {
                self.cached(&header, format!("reads {numpages} pages ahead at {offset}"));
            }
            // events without a duration of their own
            body => self.cached(&header, body.to_string()),
        }
    }

    /// A thread gets a processor.
    fn runs(&mut self, header: &Header) {
        let (host, ts) = (header.host.0, header.ts_ns);
        let thread = (host, header.tid);
        let end = self.around.switched_away(host, header.pid, header.tid, ts);
        let arrived = self.flying.remove(&thread);
        let last = self.last.get(&thread).copied().filter(|_| arrived.is_none());
        let others = self.made.get(&host).copied().filter(|_| arrived.is_none());
        let mut since = match last {
            Some(Last::Woken(at)) => Some(at),
            // another thread of the request has woken it, or started it
            Some(Last::Stopped(at)) => Some(others.map_or(at, |others| others.max(at))),
            None => others,
        };
        if let Some(from) = last.map(Last::at).filter(|_| self.found.remove(&thread))
            && let Some(read) = self.around.completion_in(host, from, ts)
        {
            let what = "waits for a page that another request reads".to_owned();
            self.add(header, "cache", what, Some(read - from), None);
            since = Some(read);
        }
        let waiting = since.map(|since| ts.saturating_sub(since));
        let what = format!("{} runs (thread {})", self.process(header.pid), header.tid);
        self.add(header, "cpu", what, waiting, end.map(|end| end - ts));
        if let Some((step, sent)) = arrived {
            let service = self.steps[step].service_ns.unwrap_or(0);
            self.steps[step].waiting_ns = Some((ts - sent).saturating_sub(service));
        }
        self.last.insert(thread, Last::Stopped(end.unwrap_or(ts)));
        self.made.insert(host, end.unwrap_or(ts));
    }

    fn cached(&mut self, header: &Header, what: String) {
        self.add(header, "cache", what, None, None);
    }

    /// Adds a step and returns its index.
    fn add(
        &mut self,
        header: &Header,
        resource: &str,
        what: String,
        waiting_ns: Option<u64>,
        service_ns: Option<u64>,
    ) -> usize {
        self.steps.push(PathStep {
            at_ns: header.ts_ns - self.start,
            host: self.host(header.host.0),
            resource: resource.to_owned(),
            what,
            waiting_ns,
            service_ns,
        });
        self.steps.len() - 1
    }

    fn process(&self, number: u32) -> String {
        let known = self.facts.processes.iter().find(|known| known.process == number);
        known.map_or_else(|| format!("process {number}"), |known| known.name.clone())
    }

    fn host(&self, host: u32) -> String {
        let known = self.facts.hosts.iter().find(|known| known.host.0 == host);
        known.map_or_else(|| format!("host {host}"), |known| known.name.clone())
    }

    /// Minimum time of a transfer that a process sends: the bytes at the rate of the slower link, and the latencies of
    /// both links.
    fn transfer_ns(&self, process: u32, sender: u32, receiver: u32, bytes: Bytes) -> Option<u64> {
        let fact = |host: u32, name: &str| {
            let known = self.facts.hosts.iter().find(|known| known.host.0 == host)?;
            let path = format!("{}.{}.{name}", known.kind.table(), known.name);
            self.facts.integer(&path).ok()
        };
        let both = |name: &str| fact(sender, name).zip(fact(receiver, name));
        let second = both("cluster_nic.rate").zip(both("cluster_nic.latency"));
        let second = second.filter(|_| self.facts.is_server(process));
        let (rates, latencies) = second.or_else(|| both("nic.rate").zip(both("nic.latency")))?;
        let rate = rates.0.min(rates.1);
        let latency = latencies.0.checked_add(latencies.1)?;
        let rate = Rate::bits_per_s(u64::try_from(rate).ok().filter(|&bits| bits > 0)?);
        rate.time_for(bytes).as_ns().checked_add(u64::try_from(latency).ok()?)
    }
}
