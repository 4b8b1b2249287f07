//! Other events on a request's hosts while it was outstanding.

use foretell_ati::{Body, Header, Phase, Record, RecordKind, RunDb};
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::HostId;

use crate::failure::Failure;

/// Simultaneous records are a nanosecond apart each; a longer gap than this means that time has
/// passed.
pub(super) const AT_ONCE_NS: u64 = 100;

/// Switches and disk completions on all its hosts while the request was outstanding.
#[derive(Default)]
pub(super) struct Around {
    /// By (host, process, thread): times at which a switch took the processor away.
    switched_away: SortedMap<(u32, u32, u32), Vec<u64>>,
    /// By (host, disk): times of completions.
    completions: SortedMap<(u32, u32), Vec<u64>>,
}

impl Around {
    /// Collects these events for a request, from all its records.
    pub(super) fn of(db: &RunDb, records: &[Record]) -> Result<Self, Failure> {
        let mut around = Self::default();
        let start = records.first().map_or(0, |record| record.header.ts_ns);
        let hosts: SortedSet<HostId> = records.iter().map(|record| record.header.host).collect();
        let end = records.last().map_or(start, |record| record.header.ts_ns);
        // a slice may end after the last record, and waiting for an operation may have begun before
        // the first
        let (from, to) = (start.saturating_sub(1_000_000_000), end + 100_000_000);
        let mut switches = Vec::new();
        for kind in [RecordKind::UserThreadSwitch, RecordKind::KernelProcessSwitch] {
            let involved = |record: &&Record| hosts.contains(&record.header.host);
            db.scan_between(kind, from, to, |record| {
                switches.extend(Some(record).filter(involved).copied());
            })
            .map_err(Failure::NotARun)?;
        }
        switches.sort_by_key(|switch| (switch.header.host, switch.header.ts_ns));
        around.switched_away = switched_away(&switches);
        db.scan_between(RecordKind::DiskOp, from, to, |record| {
            if let Body::DiskOp { disk, phase: Phase::Complete, .. } = record.body {
                let key = (record.header.host.0, disk);
                around.completions.entry(key).or_default().push(record.header.ts_ns);
            }
        })
        .map_err(Failure::NotARun)?;
        Ok(around)
    }

    /// The time after `ts` at which a thread lost its processor.
    pub(super) fn switched_away(&self, host: u32, pid: u32, tid: u32, ts: u64) -> Option<u64> {
        self.switched_away.get(&(host, pid, tid))?.iter().copied().find(|&end| end > ts)
    }

    /// The completion on a disk before the one at `ts`.
    pub(super) fn completion_before(&self, host: u32, disk: u32, ts: u64) -> Option<u64> {
        self.completions.get(&(host, disk))?.iter().rev().copied().find(|&other| other < ts)
    }

    /// The last completion of any disk of a host after `from`, up to `to`.
    pub(super) fn completion_in(&self, host: u32, from: u64, to: u64) -> Option<u64> {
        let disks = self.completions.range((host, 0)..=(host, u32::MAX));
        disks
            .filter_map(|(_, all)| all.iter().copied().rfind(|&at| at <= to))
            .filter(|&at| at > from + AT_ONCE_NS)
            .max()
    }
}

/// Times at which a switch took the processor from a thread, by (host, process, thread). They are
/// computed from all switches of these hosts, ordered by time.
///
/// A switch of processes names the processor and the thread that gets it; a switch within a process
/// names both threads. So the thread that leaves a processor is the one that got it last.
fn switched_away(switches: &[Record]) -> SortedMap<(u32, u32, u32), Vec<u64>> {
    let mut away: SortedMap<_, Vec<u64>> = SortedMap::new();
    // by host and processor: the running thread
    let mut running: SortedMap<(u32, u32), (u32, u32)> = SortedMap::new();
    // threads running on an unknown processor: host, process, thread
    let mut somewhere: Vec<(u32, u32, u32)> = Vec::new();
    for switch in switches {
        let Header { ts_ns, host: HostId(host), pid, tid, .. } = switch.header;
        let left = match switch.body {
            // the record belongs to the old thread
            Body::KernelProcessSwitch { cpu, oldprocess, .. } if oldprocess == pid => {
                running.remove(&(host, cpu));
                somewhere.retain(|at| *at != (host, pid, tid));
                Some((pid, tid))
            }
            Body::UserThreadSwitch { oldthread, .. } if oldthread == tid => {
                running.retain(|&(on, _), thread| on != host || *thread != (pid, tid));
                somewhere.retain(|at| *at != (host, pid, tid));
                Some((pid, tid))
            }
            Body::KernelProcessSwitch { cpu, oldprocess, .. } => {
                let before = running.insert((host, cpu), (pid, tid));
                before.filter(|(process, _)| *process == oldprocess).or_else(|| {
                    let of_process =
                        somewhere.iter().position(|at| at.0 == host && at.1 == oldprocess);
                    of_process.map(|at| somewhere.remove(at)).map(|(_, pid, tid)| (pid, tid))
                })
            }
            Body::UserThreadSwitch { oldthread, newthread } => {
                let old = (pid, oldthread);
                let of_host = running.range_mut((host, 0)..=(host, u32::MAX));
                let new = (pid, newthread);
                if let Some((_, thread)) = of_host.into_iter().find(|(_, thread)| **thread == old) {
                    *thread = new;
                } else {
                    // in a sample, the switch that started the old thread may be missing
                    somewhere.retain(|at| *at != (host, pid, oldthread));
                    somewhere.push((host, pid, newthread));
                }
                Some(old)
            }
            _ => None,
        };
        if let Some((pid, tid)) = left {
            away.entry((host, pid, tid)).or_default().push(ts_ns);
        }
    }
    away
}
