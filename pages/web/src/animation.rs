//! Requests on their way, for a page to draw: the steps of each exchange, from the records of a period.
//!
//! An exchange is a thread of a request; it has the same number at its client and at its node. Its arrival at a
//! host is not recorded, so it counts as arrived when it next posts a record. An exchange that began before the
//! shown period begins with its first record in the period.

use std::collections::BTreeMap;

use foretell_core::MemoryRun;
use foretell_core::records::{Body, HostKind, Phase, Records};
use serde::Serialize;

/// Maximum number of exchanges shown; the period ends before there are more.
const MAX_DOTS: usize = 6000;

/// The exchanges of a period of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Animation {
    /// Begin of the period, µs since the start of the run.
    from_us: f64,
    /// End of the period.
    to_us: f64,
    hosts: Vec<Host>,
    dots: Vec<Dot>,
}

#[derive(Debug, Serialize)]
struct Host {
    name: String,
    is_node: bool,
    disks: usize,
}

/// An exchange.
#[derive(Debug, Serialize)]
struct Dot {
    /// The request's breadcrumb.
    of: u64,
    /// Whether it writes; false if that is not known.
    write: bool,
    /// Whether it is the request itself, which waits at its client.
    whole: bool,
    /// Its steps: µs since the animation began, [`ExchangeStep`], the host that recorded it, and the target host or the
    /// disk.
    steps: Vec<(f64, u8, u32, u32)>,
}

/// What an exchange does; the page uses the same numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum ExchangeStep {
    /// It works on a host.
    Works = 0,
    /// It leaves for another host.
    Leaves = 1,
    /// It finds its data in the host's cache.
    Hit = 2,
    /// It does not find its data in the host's cache.
    Miss = 3,
    /// It is written to the cache.
    Written = 4,
    /// It waits for a disk, and is then served.
    Disk = 5,
    /// The disk has served it.
    Served = 6,
    /// It is complete.
    Complete = 7,
}

/// The animation of a run between two times in ns.
pub(crate) fn animation(run: &MemoryRun, from_ns: u64, to_ns: u64) -> Result<Animation, String> {
    let facts = run.facts().map_err(|error| error.to_string())?;
    let host = |known: &foretell_core::records::Host| Host {
        name: known.name.clone(),
        is_node: known.kind == HostKind::Node,
        disks: 0,
    };
    let mut hosts: Vec<Host> = facts.hosts.iter().map(host).collect();
    let us = |ns: u64| (ns - from_ns) as f64 / 1000.0;
    let (mut dots, mut end_ns) = (Vec::<Dot>::new(), to_ns);
    // index of the exchange by breadcrumb and thread
    let mut known: BTreeMap<(u64, u32), usize> = BTreeMap::new();
    let mut writes: BTreeMap<u64, bool> = BTreeMap::new();
    for record in run.records() {
        let header = record.header;
        if !(from_ns..to_ns).contains(&header.ts_ns) {
            continue;
        }
        if let Body::DiskOp { disk, .. } = record.body
            && let Some(host) = hosts.get_mut(header.host.index())
        {
            host.disks = host.disks.max(disk as usize + 1);
        }
        if header.breadcrumb.0 == 0 {
            continue;
        }
        if let Body::Request { op, .. } = record.body {
            writes.insert(header.breadcrumb.0, op != foretell_core::records::Op::Read);
        }
        let key = (header.breadcrumb.0, header.tid);
        let index = *known.entry(key).or_insert_with(|| {
            dots.push(Dot { of: key.0, write: false, whole: false, steps: Vec::new() });
            dots.len() - 1
        });
        if dots.len() > MAX_DOTS {
            dots.pop();
            end_ns = header.ts_ns;
            break;
        }
        let dot = &mut dots[index];
        let at = us(header.ts_ns);
        let (step, other) = match record.body {
            Body::NetworkTransmit { receiver, .. } => (ExchangeStep::Leaves, receiver),
            Body::BufferReadHit { .. } => (ExchangeStep::Hit, 0),
            Body::BufferReadMiss { .. } => (ExchangeStep::Miss, 0),
            Body::BufferWrite { .. } => (ExchangeStep::Written, 0),
            Body::DiskOp { disk, phase: Phase::Issue, .. } => (ExchangeStep::Disk, disk),
            Body::DiskOp { disk, phase: Phase::Complete, .. } => (ExchangeStep::Served, disk),
            Body::Request { phase, .. } => {
                dot.whole = true;
                let is_issue = phase == Phase::Issue;
                (if is_issue { ExchangeStep::Works } else { ExchangeStep::Complete }, 0)
            }
            _ => (ExchangeStep::Works, 0),
        };
        // a thread that gives up its processor only matters if it has arrived since its last step
        let has_arrived = |last: &(f64, u8, u32, u32)| {
            last.1 == ExchangeStep::Leaves as u8 && last.3 == header.host.0
        };
        let is_news = step != ExchangeStep::Works || dot.steps.last().is_none_or(has_arrived);
        if is_news {
            dot.steps.push((at, step as u8, header.host.0, other));
        }
    }
    for dot in &mut dots {
        dot.write = writes.get(&dot.of).copied().unwrap_or(false);
    }
    Ok(Animation { from_us: from_ns as f64 / 1000.0, to_us: end_ns as f64 / 1000.0, hosts, dots })
}

/// Quantiles of the response times, ms, of a workload's requests that completed from this time on, at equal
/// shares, from the smallest to the largest.
pub(crate) fn quantiles(
    run: &MemoryRun,
    workload: &str,
    from_ns: u64,
    count: usize,
) -> Result<Vec<f64>, String> {
    let facts = run.facts().map_err(|error| error.to_string())?;
    let number = facts.workloads.iter().find(|known| known.name == workload);
    let number = number.ok_or_else(|| format!("there is no workload `{workload}`"))?.workload;
    let mut open = BTreeMap::new();
    let mut times = Vec::new();
    for record in run.records() {
        let Body::Request { workload, phase, .. } = record.body else { continue };
        let (breadcrumb, at) = (record.header.breadcrumb.0, record.header.ts_ns);
        if workload != number.0 {
            continue;
        }
        if phase == Phase::Issue {
            open.insert(breadcrumb, at);
        } else if let Some(issued) = open.remove(&breadcrumb)
            && at >= from_ns
        {
            times.push((at - issued) as f64 / 1e6);
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    let Some(last) = times.len().checked_sub(1) else { return Ok(Vec::new()) };
    Ok((0..=count).map(|place| times[place * last / count.max(1)]).collect())
}
