//! What else happened on the hosts of a request while it was under way.

use std::collections::{BTreeMap, BTreeSet};

use foretell_ati::{Body, Header, Phase, Record, RecordKind, RunDb};
use foretell_units::HostId;

use crate::failure::Failure;

/// Records of one moment are apart by a nanosecond each; beyond this something has passed.
pub(super) const AT_ONCE_NS: u64 = 100;

/// Switches and disk completions of all hosts while the request was under way.
#[derive(Default)]
pub(super) struct Around {
    /// By (host, thread's process and number): when a switch took the processor from it.
    switched_away: BTreeMap<(u32, u32, u32), Vec<u64>>,
    /// By (host, disk): completions.
    completions: BTreeMap<(u32, u32), Vec<u64>>,
}

impl Around {
    /// Collects it for a request, from all its records.
    pub(super) fn of(db: &RunDb, records: &[Record]) -> Result<Self, Failure> {
        let mut around = Self::default();
        let start = records.first().map_or(0, |record| record.header.ts_ns);
        let hosts: BTreeSet<HostId> = records.iter().map(|record| record.header.host).collect();
        let end = records.last().map_or(start, |record| record.header.ts_ns);
        // a slice may last beyond the last record, an operation may have been waited for before
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

    /// When a thread lost its processor after `ts`.
    pub(super) fn switched_away(&self, host: u32, pid: u32, tid: u32, ts: u64) -> Option<u64> {
        self.switched_away.get(&(host, pid, tid))?.iter().copied().find(|&end| end > ts)
    }

    /// When a disk completed the operation before the one that it completed at `ts`.
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

/// When a switch took the processor from a thread, by (host, process, thread), from all switches
/// of these hosts, in the order of time.
///
/// A switch of processes names the processor and the thread that gets it, a switch within a process
/// both threads; so who leaves a processor is known from who got it last.
fn switched_away(switches: &[Record]) -> BTreeMap<(u32, u32, u32), Vec<u64>> {
    let mut away: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    // by host and processor: who runs
    let mut running: BTreeMap<(u32, u32), (u32, u32)> = BTreeMap::new();
    for switch in switches {
        let Header { ts_ns, host: HostId(host), pid, tid, .. } = switch.header;
        let left = match switch.body {
            // the record is the old thread's
            Body::KernelProcessSwitch { cpu, oldprocess, .. } if oldprocess == pid => {
                running.remove(&(host, cpu));
                Some((pid, tid))
            }
            Body::UserThreadSwitch { oldthread, .. } if oldthread == tid => {
                running.retain(|&(on, _), thread| on != host || *thread != (pid, tid));
                Some((pid, tid))
            }
            Body::KernelProcessSwitch { cpu, .. } => running.insert((host, cpu), (pid, tid)),
            Body::UserThreadSwitch { oldthread, newthread } => {
                let old = (pid, oldthread);
                let of_host = running.range_mut((host, 0)..=(host, u32::MAX));
                if let Some((_, thread)) = of_host.into_iter().find(|(_, thread)| **thread == old) {
                    *thread = (pid, newthread);
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
