//! How busy processors, links and disks were over time, and how long their queues were: one pass over each
//! of the tables `disk_op`, `network_transmit` and of switches.
//!
//! A disk is busy while it has an operation that is issued and not complete. A link carries a message for
//! as long as its bytes take at the link's rate, from the time at which it was handed over. A processor is
//! busy between the switch to a process and the next switch. On the way, the intervals in which sampled
//! requests used each are handed to [`Spans`].

use std::collections::BTreeMap;

use foretell_ati::{Body, FactValue, Facts, KindSet, Phase, RecordKind, RunDb, StoreError};
use hashbrown::HashMap;

use super::grid::{Grid, Integral};
use super::spans::{Spans, What};

/// Resources that are followed; a hostile store may name any number.
const MOST_RESOURCES: usize = 8192;
/// Threads on processors of a host.
const MOST_RUNNING: usize = 1024;

/// What of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Part {
    /// Its processor.
    Cpu,
    /// The sending direction of its cable.
    Transmit,
    /// The receiving direction.
    Receive,
    /// One of its disks.
    Disk(u32),
}

impl Part {
    /// As `truth.json` has it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Cpu => "cpu".to_owned(),
            Self::Transmit => "nic_transmit".to_owned(),
            Self::Receive => "nic_receive".to_owned(),
            Self::Disk(disk) => format!("disk{disk}"),
        }
    }
}

/// A resource over time.
#[derive(Clone, Debug)]
pub(crate) struct OverTime {
    /// Share of time busy, by bin.
    pub busy: Integral,
    /// Operations under way, by bin; of disks.
    pub queue: Option<Integral>,
}

/// All resources, and hit rates of caches.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    /// By host and part.
    pub by_resource: BTreeMap<(u32, Part), OverTime>,
    /// By node and bin: bytes that reads found in its cache, and bytes that they asked for.
    pub caches: BTreeMap<u32, Vec<(f64, f64)>>,
    /// Whether there were more than are followed.
    pub too_many: bool,
}

impl Resources {
    fn at(&mut self, grid: &Grid, host: u32, part: Part) -> Option<&mut OverTime> {
        if self.by_resource.len() == MOST_RESOURCES {
            let known = self.by_resource.get_mut(&(host, part));
            self.too_many |= known.is_none();
            return known;
        }
        Some(self.by_resource.entry((host, part)).or_insert_with(|| OverTime {
            busy: Integral::new(grid),
            queue: matches!(part, Part::Disk(_)).then(|| Integral::new(grid)),
        }))
    }
}

/// A disk while its operations are read.
#[derive(Default)]
struct Disk {
    depth: u32,
    changed_ns: u64,
    completed_ns: u64,
}

/// An operation: host, disk, breadcrumb, address, whether it writes.
type Operation = (u32, u32, u64, u64, bool);

/// Reads disk operations.
pub(crate) fn disks(
    db: &RunDb,
    grid: &Grid,
    found: &mut Resources,
    spans: &mut Spans,
) -> Result<(), StoreError> {
    let mut disks: BTreeMap<(u32, u32), Disk> = BTreeMap::new();
    let mut issued: HashMap<Operation, u64, foldhash::fast::FixedState> = HashMap::default();
    db.scan(RecordKind::DiskOp, |record| {
        spans.keep(record);
        let Body::DiskOp { disk, lbn, op, phase, .. } = record.body else { return };
        let (host, ts) = (record.header.host.0, record.header.ts_ns);
        let Some(over_time) = found.at(grid, host, Part::Disk(disk)) else { return };
        let now = disks.entry((host, disk)).or_default();
        if now.depth > 0 {
            over_time.busy.add(grid, now.changed_ns, ts, 1.0);
            if let Some(queue) = &mut over_time.queue {
                queue.add(grid, now.changed_ns, ts, f64::from(now.depth));
            }
        }
        now.changed_ns = ts;
        let breadcrumb = record.header.breadcrumb.0;
        let key = (host, disk, breadcrumb, lbn, op == foretell_units::Op::Write);
        let sampled = spans.wants(breadcrumb);
        match phase {
            Phase::Issue => {
                now.depth = now.depth.saturating_add(1);
                if sampled {
                    issued.insert(key, ts);
                }
            }
            Phase::Complete => {
                now.depth = now.depth.saturating_sub(1);
                if let Some(from) = issued.remove(&key).filter(|_| sampled) {
                    // as `foretell trace` has it: the disk takes up one operation after the other
                    let taken_up = now.completed_ns.clamp(from, ts);
                    spans.add(breadcrumb, from, taken_up, What::DiskWait, host, disk);
                    spans.add(breadcrumb, taken_up, ts, What::DiskService, host, disk);
                }
                now.completed_ns = ts;
            }
        }
    })
}

/// Reads messages. Where a link's rate is not among the facts it stays out.
pub(crate) fn links(
    db: &RunDb,
    facts: &Facts,
    grid: &Grid,
    found: &mut Resources,
    spans: &mut Spans,
) -> Result<(), StoreError> {
    let rates: BTreeMap<u32, f64> = facts
        .hosts
        .iter()
        .filter_map(|host| {
            let kind = host.kind.name();
            let value = &facts.get(&format!("{kind}.{}.nic.rate", host.name))?.value;
            let rate = match value {
                FactValue::Integer(rate) => *rate as f64,
                FactValue::Real(rate) => *rate,
                FactValue::Text(_) => return None,
            };
            (rate > 0.0).then_some((host.host.0, rate))
        })
        .collect();
    db.scan(RecordKind::NetworkTransmit, |record| {
        spans.keep(record);
        let Body::NetworkTransmit { sender, receiver, numbytes } = record.body else { return };
        let ts = record.header.ts_ns;
        for (host, part) in [(sender, Part::Transmit), (receiver, Part::Receive)] {
            let Some(rate) = rates.get(&host) else { continue };
            let lasts = (numbytes as f64 * 8e9 / rate) as u64;
            if let Some(over_time) = found.at(grid, host, part) {
                over_time.busy.add(grid, ts, ts.saturating_add(lasts), 1.0);
            }
        }
        if spans.wants(record.header.breadcrumb.0) {
            spans.sent(record.header.breadcrumb.0, ts, receiver);
        }
    })
}

/// A thread on a processor.
#[derive(Clone, Copy)]
struct Running {
    cpu: u32,
    pid: u32,
    tid: u32,
    breadcrumb: u64,
    since_ns: u64,
}

/// Reads switches of processes and threads.
pub(crate) fn processors(
    db: &RunDb,
    facts: &Facts,
    grid: &Grid,
    found: &mut Resources,
    spans: &mut Spans,
) -> Result<(), StoreError> {
    let cores = |host: u32| {
        let known = facts.hosts.iter().find(|known| known.host.0 == host);
        known.and_then(|host| {
            facts.integer(&format!("{}.{}.cpu.cores", host.kind.name(), host.name)).ok()
        })
    };
    let mut weight: HashMap<u32, f64, foldhash::fast::FixedState> = HashMap::default();
    let mut running: HashMap<u32, Vec<Running>, foldhash::fast::FixedState> = HashMap::default();
    let kinds: KindSet =
        [RecordKind::UserThreadSwitch, RecordKind::KernelProcessSwitch].into_iter().collect();
    db.scan_in_time(kinds, |record| {
        spans.keep(record);
        let (header, ts) = (record.header, record.header.ts_ns);
        let host = header.host.0;
        if !running.contains_key(&host) && running.len() == MOST_RESOURCES {
            return;
        }
        let on = running.entry(host).or_default();
        let ended = match record.body {
            Body::KernelProcessSwitch { cpu, .. } => {
                on.iter().position(|running| running.cpu == cpu)
            }
            Body::UserThreadSwitch { oldthread, .. } => {
                on.iter().position(|running| (running.pid, running.tid) == (header.pid, oldthread))
            }
            _ => None,
        };
        let ended = ended.map(|index| on.swap_remove(index));
        if let Some(ended) = ended {
            let one = *weight.entry(host).or_insert_with(|| {
                1.0 / cores(host).filter(|cores| *cores > 0).unwrap_or(1) as f64
            });
            if let Some(over_time) = found.at(grid, host, Part::Cpu) {
                over_time.busy.add(grid, ended.since_ns, ts, one);
            }
            if spans.wants(ended.breadcrumb) {
                spans.add(ended.breadcrumb, ended.since_ns, ts, What::Cpu, host, 0);
            }
        }
        let next = match record.body {
            Body::KernelProcessSwitch { cpu, newprocess, .. } if newprocess != 0 => {
                // where only the request that stops is recorded, the header is of that one
                (newprocess == header.pid).then_some((cpu, header.tid))
            }
            Body::UserThreadSwitch { newthread, .. } if newthread == header.tid => {
                ended.map(|ended| (ended.cpu, newthread))
            }
            _ => None,
        };
        if let Some((cpu, tid)) = next
            && on.len() < MOST_RUNNING
        {
            let (pid, breadcrumb) = (header.pid, header.breadcrumb.0);
            on.push(Running { cpu, pid, tid, breadcrumb, since_ns: ts });
        }
    })
}

/// Reads what caches hit and missed.
pub(crate) fn caches(
    db: &RunDb,
    grid: &Grid,
    found: &mut Resources,
    spans: &mut Spans,
) -> Result<(), StoreError> {
    for kind in [RecordKind::BufferReadHit, RecordKind::BufferReadMiss] {
        db.scan(kind, |record| {
            spans.keep(record);
            let (hit, size) = match record.body {
                Body::BufferReadHit { size, .. } => (1.0, f64::from(size)),
                Body::BufferReadMiss { size, .. } => (0.0, f64::from(size)),
                _ => return,
            };
            let host = record.header.host.0;
            let Some(bin) = grid.bin(record.header.ts_ns) else { return };
            if !found.caches.contains_key(&host) && found.caches.len() == MOST_RESOURCES {
                found.too_many = true;
                return;
            }
            let bins = found.caches.entry(host).or_insert_with(|| vec![(0.0, 0.0); grid.bins]);
            bins[bin].0 += hit * size;
            bins[bin].1 += size;
        })?;
    }
    Ok(())
}

/// Reads the tables that only the paths of single requests need.
pub(crate) fn others(db: &RunDb, spans: &mut Spans) -> Result<(), StoreError> {
    for kind in [
        RecordKind::Request,
        RecordKind::BufferWrite,
        RecordKind::BufferReadAhead,
        RecordKind::BufferFlush,
        RecordKind::BufferEvict,
    ] {
        db.scan(kind, |record| spans.keep(record))?;
    }
    Ok(())
}
