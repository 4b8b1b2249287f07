//! Utilization of processors, links and disks over time, and the lengths of disk queues. One pass over
//! each of the tables: `disk_op`, `network_transmit` and the tables of switches.
//!
//! A disk is busy while it has an operation that is issued and not complete. A link is busy with a message
//! for as long as the message's bytes take at the link's rate, beginning when the message is handed over.
//! A processor is busy between the switch to a process and the next switch. The intervals in which sampled
//! requests used each resource are also passed to [`Spans`].

use std::hash::Hash;

use foretell_ati::{Body, Facts, KindSet, Phase, RecordKind, RunDb, StoreError};
use foretell_sorted::SortedMap;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::grid::{Grid, Integral};
use super::spans::{Spans, What};

/// Maximum number of resources that are followed; a hostile store may name any number.
const MAX_RESOURCES: usize = 8192;
/// Maximum number of threads running on a host's processors.
const MAX_RUNNING: usize = 1024;

/// A part of a host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Part {
    /// Its processor.
    Cpu,
    /// The sending direction of its link.
    Transmit,
    /// The receiving direction.
    Receive,
    /// The sending direction of its second adapter's link.
    ClusterTransmit,
    /// The receiving direction.
    ClusterReceive,
    /// One of its disks.
    Disk(u32),
}

impl Part {
    /// Its name in `truth.json`.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Cpu => "cpu".to_owned(),
            Self::Transmit => "nic_transmit".to_owned(),
            Self::Receive => "nic_receive".to_owned(),
            Self::ClusterTransmit => "cluster_nic_transmit".to_owned(),
            Self::ClusterReceive => "cluster_nic_receive".to_owned(),
            Self::Disk(disk) => format!("disk{disk}"),
        }
    }
}

/// The activity of a resource over time.
#[derive(Clone, Debug)]
pub(crate) struct OverTime {
    /// Share of time busy, by bin.
    pub busy: Integral,
    /// Outstanding operations, by bin; only for disks.
    pub queue: Option<Integral>,
}

/// All resources, and hit rates of caches.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    /// By host and part.
    pub by_resource: SortedMap<(u32, Part), OverTime>,
    /// By node and bin: bytes of reads that hit its cache, and all bytes of reads.
    pub caches: SortedMap<u32, Vec<(f64, f64)>>,
    /// Whether there were more resources than are followed.
    pub too_many: bool,
}

/// State of each host or disk while a table is read. A hostile store may name any number of them.
struct Known<K, T> {
    all: HashMap<K, T, foldhash::fast::FixedState>,
    too_many: bool,
}

impl<K: Hash + Eq, T> Known<K, T> {
    fn new() -> Self {
        Self { all: HashMap::default(), too_many: false }
    }

    /// The state of `key`, initially `new`; `None` if there are too many keys already.
    #[inline]
    fn of(&mut self, key: K, new: impl FnOnce() -> T) -> Option<&mut T> {
        let is_full = self.all.len() >= MAX_RESOURCES;
        match self.all.entry(key) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(_) if is_full => {
                self.too_many = true;
                None
            }
            Entry::Vacant(empty) => Some(empty.insert(new())),
        }
    }
}

/// State of a disk while its operations are read.
struct Disk {
    depth: u32,
    changed_ns: u64,
    completed_ns: u64,
    busy: Integral,
    queue: Integral,
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
    let mut disks: Known<(u32, u32), Disk> = Known::new();
    let new = || Disk {
        depth: 0,
        changed_ns: 0,
        completed_ns: 0,
        busy: Integral::new(grid),
        queue: Integral::new(grid),
    };
    let mut issued: HashMap<Operation, u64, foldhash::fast::FixedState> = HashMap::default();
    db.scan(RecordKind::DiskOp, |record| {
        let Body::DiskOp { disk, lbn, op, phase, .. } = record.body else { return };
        let (host, ts) = (record.header.host.0, record.header.ts_ns);
        let Some(now) = disks.of((host, disk), new) else { return };
        if now.depth > 0 {
            now.busy.add(grid, now.changed_ns, ts, 1.0);
            now.queue.add(grid, now.changed_ns, ts, f64::from(now.depth));
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
                    // as in `foretell trace`: the disk serves one operation after the other
                    let taken_up = now.completed_ns.clamp(from, ts);
                    spans.add(breadcrumb, from, taken_up, What::DiskWait, host, disk);
                    spans.add(breadcrumb, taken_up, ts, What::DiskService, host, disk);
                }
                now.completed_ns = ts;
            }
        }
    })?;
    found.too_many |= disks.too_many;
    found.by_resource.extend(disks.all.into_iter().map(|((host, disk), of)| {
        ((host, Part::Disk(disk)), OverTime { busy: of.busy, queue: Some(of.queue) })
    }));
    Ok(())
}

/// A link while messages are read: its rate in bits a second, and the utilization of either direction.
struct Link {
    rate: f64,
    transmit: Option<Integral>,
    receive: Option<Integral>,
}

/// Reads messages. Links whose rate is not among the facts are left out.
pub(crate) fn links(
    db: &RunDb,
    facts: &Facts,
    grid: &Grid,
    found: &mut Resources,
    spans: &mut Spans,
) -> Result<(), StoreError> {
    // by host, and whether it is the second adapter's
    let mut links: Known<(u32, bool), Link> = Known::new();
    for host in &facts.hosts {
        for (adapter, second) in [("nic", false), ("cluster_nic", true)] {
            let path = format!("{}.{}.{adapter}.rate", host.kind.table(), host.name);
            let rate = facts.real(&path).unwrap_or(0.0);
            if rate > 0.0 {
                let link = || Link { rate, transmit: None, receive: None };
                links.of((host.host.0, second), link);
            }
        }
    }
    db.scan(RecordKind::NetworkTransmit, |record| {
        let Body::NetworkTransmit { sender, receiver, numbytes } = record.body else { return };
        let ts = record.header.ts_ns;
        let second = facts.is_server(record.header.pid)
            && [sender, receiver].iter().all(|host| links.all.contains_key(&(*host, true)));
        for (host, sends) in [(sender, true), (receiver, false)] {
            let Some(link) = links.all.get_mut(&(host, second)) else { continue };
            let lasts = (numbytes as f64 * 8e9 / link.rate) as u64;
            let direction = if sends { &mut link.transmit } else { &mut link.receive };
            let busy = direction.get_or_insert_with(|| Integral::new(grid));
            busy.add(grid, ts, ts.saturating_add(lasts), 1.0);
        }
        if spans.wants(record.header.breadcrumb.0) {
            spans.sent(record.header.breadcrumb.0, ts, receiver);
        }
    })?;
    found.too_many |= links.too_many;
    found.by_resource.extend(links.all.into_iter().flat_map(|((host, second), link)| {
        let parts = if second {
            [Part::ClusterTransmit, Part::ClusterReceive]
        } else {
            [Part::Transmit, Part::Receive]
        };
        let both = parts.into_iter().zip([link.transmit, link.receive]);
        both.filter_map(move |(part, busy)| {
            Some(((host, part), OverTime { busy: busy?, queue: None }))
        })
    }));
    Ok(())
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

/// State of a host's processor while switches are read.
struct Processor {
    on: Vec<Running>,
    /// Share of one core in all cores.
    weight: f64,
    busy: Integral,
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
        let cores = known.and_then(|host| {
            facts.integer(&format!("{}.{}.cpu.cores", host.kind.name(), host.name)).ok()
        });
        cores.filter(|cores| *cores > 0).unwrap_or(1)
    };
    let mut hosts: Known<u32, Processor> = Known::new();
    let kinds: KindSet =
        [RecordKind::UserThreadSwitch, RecordKind::KernelProcessSwitch].into_iter().collect();
    db.scan_in_time(kinds, |record| {
        let (header, ts) = (record.header, record.header.ts_ns);
        let host = header.host.0;
        let new = || Processor {
            on: Vec::new(),
            weight: 1.0 / cores(host) as f64,
            busy: Integral::new(grid),
        };
        let Some(Processor { on, weight, busy }) = hosts.of(host, new) else { return };
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
            busy.add(grid, ended.since_ns, ts, *weight);
            if spans.wants(ended.breadcrumb) {
                spans.add(ended.breadcrumb, ended.since_ns, ts, What::Cpu, host, 0);
            }
        }
        let next = match record.body {
            Body::KernelProcessSwitch { cpu, newprocess, .. } if newprocess != 0 => {
                // if only the request that stops is recorded, the header is that request's
                (newprocess == header.pid).then_some((cpu, header.tid))
            }
            Body::UserThreadSwitch { newthread, .. } if newthread == header.tid => {
                ended.map(|ended| (ended.cpu, newthread))
            }
            _ => None,
        };
        if let Some((cpu, tid)) = next
            && on.len() < MAX_RUNNING
        {
            let (pid, breadcrumb) = (header.pid, header.breadcrumb.0);
            on.push(Running { cpu, pid, tid, breadcrumb, since_ns: ts });
        }
    })?;
    found.too_many |= hosts.too_many;
    let of_hosts = hosts.all.into_iter();
    found.by_resource.extend(
        of_hosts.map(|(host, of)| ((host, Part::Cpu), OverTime { busy: of.busy, queue: None })),
    );
    Ok(())
}

/// Reads hits and misses of caches.
pub(crate) fn caches(db: &RunDb, grid: &Grid, found: &mut Resources) -> Result<(), StoreError> {
    for kind in [RecordKind::BufferReadHit, RecordKind::BufferReadMiss] {
        db.scan(kind, |record| {
            let (hit, size) = match record.body {
                Body::BufferReadHit { size, .. } => (1.0, f64::from(size)),
                Body::BufferReadMiss { size, .. } => (0.0, f64::from(size)),
                _ => return,
            };
            let host = record.header.host.0;
            let Some(bin) = grid.bin(record.header.ts_ns) else { return };
            if !found.caches.contains_key(&host) && found.caches.len() == MAX_RESOURCES {
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
