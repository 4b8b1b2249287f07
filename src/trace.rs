//! `foretell trace`: the path of one request, from its records alone.
//!
//! The records of the request's breadcrumb give its steps on every host. What they do not say is
//! found from the records around them: a thread runs until the next switch away from it; a disk
//! serves one operation at a time, so an operation waits until the one before it completes. A
//! message's arrival is not recorded; what its transfer needs at the least is known from the link
//! rates, the rest of the time until its receiver runs is waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use foretell_ati::{Body, Facts, Header, Phase, Record, RecordKind, Requests, RunDb, open_run};
use foretell_units::{Breadcrumb, Bytes, HostId, Rate};
use serde_json::json;

use crate::cli::TraceArguments;
use crate::failure::Failure;
use crate::tables;

/// Something that happened to the request.
struct Step {
    /// Since the request was issued.
    at_ns: u64,
    host: String,
    resource: String,
    what: String,
    waiting_ns: Option<u64>,
    service_ns: Option<u64>,
}

/// Runs the command.
pub(crate) fn trace(arguments: &TraceArguments) -> Result<(), Failure> {
    if arguments.breadcrumb == Breadcrumb::NONE.0 {
        return Err(Failure::Usage(
            "breadcrumb 0 marks what hosts do for no request; those of requests count from 1"
                .to_owned(),
        ));
    }
    let db = open_run(&arguments.directory).map_err(Failure::NotARun)?;
    let records = db.trace(Breadcrumb(arguments.breadcrumb)).map_err(Failure::NotARun)?;
    let Some(first) = records.first() else {
        return Err(Failure::Usage(nothing_of(&db, arguments.breadcrumb)?));
    };
    let facts = db.facts().map_err(Failure::NotARun)?;
    let steps = Path { db: &db, facts: &facts, start: first.header.ts_ns }.steps(&records)?;
    let text =
        if arguments.json { as_json(arguments.breadcrumb, &steps) } else { as_table(&steps) };
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}

/// Why there may be no record of a request.
fn nothing_of(db: &RunDb, breadcrumb: u64) -> Result<String, Failure> {
    let store = db.path().display();
    let selection = db.selection().map_err(Failure::NotARun)?;
    Ok(match selection.requests() {
        Requests::None => format!(
            "`{store}` has no records at all: the run kept none (`record = \"none\"`, or \
             `--no-records`)"
        ),
        Requests::OneIn(_) => format!(
            "no record of `{store}` has breadcrumb {breadcrumb}; the run kept `{selection}`, whose \
             breadcrumbs are in the column `breadcrumb` of the table `request`"
        ),
        Requests::All => format!(
            "no record of `{store}` has breadcrumb {breadcrumb}; breadcrumbs of requests are in \
             the column `breadcrumb` of the table `request`"
        ),
    })
}

struct Path<'a> {
    db: &'a RunDb,
    facts: &'a Facts,
    start: u64,
}

/// Switches and disk completions of all hosts while the request was under way.
#[derive(Default)]
struct Around {
    /// By (host, thread's process and number): when a switch took the processor from it.
    switched_away: BTreeMap<(u32, u32, u32), Vec<u64>>,
    /// By (host, disk): completions.
    completions: BTreeMap<(u32, u32), Vec<u64>>,
}

impl Path<'_> {
    fn steps(&self, records: &[Record]) -> Result<Vec<Step>, Failure> {
        let around = self.around(records)?;
        let mut steps = Vec::new();
        // When the last thing ended that a thread of a host did: from then on it could run.
        let mut ready: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        // Messages under way, by receiver and thread: (index of the step, when it was sent).
        let mut flying: BTreeMap<(u32, u32), (usize, u64)> = BTreeMap::new();
        // Disk operations under way, by host, disk, address and direction.
        let mut at_disk: BTreeMap<(u32, u32, u64, u8), (usize, u64)> = BTreeMap::new();
        for record in records {
            let header = record.header;
            let (host, tid, ts) = (header.host.0, header.tid, header.ts_ns);
            let mut add = |resource: String, what: String, waiting_ns, service_ns| {
                steps.push(Step {
                    at_ns: ts - self.start,
                    host: self.host(host),
                    resource,
                    what,
                    waiting_ns,
                    service_ns,
                });
                steps.len() - 1
            };
            match record.body {
                Body::KernelProcessSwitch { newprocess: 0, .. } => {}
                Body::KernelProcessSwitch { .. } | Body::UserThreadSwitch { .. } => {
                    let ends = around.switched_away.get(&(host, header.pid, tid));
                    let end = ends.and_then(|ends| ends.iter().find(|&&end| end > ts)).copied();
                    let arrived = flying.remove(&(host, tid));
                    let since = ready.get(&(host, tid)).copied().filter(|_| arrived.is_none());
                    let waiting = since.map(|since| ts.saturating_sub(since));
                    let what = format!("thread {tid} of process {} runs", header.pid);
                    add("cpu".to_owned(), what, waiting, end.map(|end| end - ts));
                    if let Some((step, sent)) = arrived {
                        let service = steps[step].service_ns.unwrap_or(0);
                        steps[step].waiting_ns = Some((ts - sent).saturating_sub(service));
                    }
                    ready.insert((host, tid), end.unwrap_or(ts));
                }
                Body::NetworkTransmit { sender, receiver, numbytes } => {
                    let what = format!("{numbytes} bytes to {}", self.host(receiver));
                    let service = self.transfer_ns(sender, receiver, Bytes(numbytes));
                    let step = add("network".to_owned(), what, None, service);
                    flying.insert((receiver, tid), (step, ts));
                }
                Body::DiskOp { disk, lbn, size, op, phase } => {
                    let key = (host, disk, lbn, op as u8);
                    match phase {
                        Phase::Issue => {
                            let what = format!("{} {size} bytes at sector {lbn}", op.name());
                            let step = add(format!("disk{disk}"), what, None, None);
                            at_disk.insert(key, (step, ts));
                        }
                        Phase::Complete => {
                            let Some((step, issued)) = at_disk.remove(&key) else { continue };
                            let completions = around.completions.get(&(host, disk));
                            let before = completions
                                .and_then(|all| all.iter().rev().find(|&&other| other < ts))
                                .copied()
                                .unwrap_or(0);
                            let taken_up = before.max(issued);
                            steps[step].waiting_ns = Some(taken_up - issued);
                            steps[step].service_ns = Some(ts - taken_up);
                            ready.insert((host, tid), ts);
                        }
                    }
                }
                Body::Request { op, offset, size, phase, .. } => {
                    let what = match phase {
                        Phase::Issue => format!("{} of {size} bytes at {offset} begins", op.name()),
                        Phase::Complete => format!("{} is complete", op.name()),
                    };
                    add("request".to_owned(), what, None, None);
                }
                Body::BufferReadHit { offset, size, .. } => {
                    add("cache".to_owned(), format!("hit: {size} bytes at {offset}"), None, None);
                }
                Body::BufferReadMiss { offset, size, .. } => {
                    add("cache".to_owned(), format!("miss: {size} bytes at {offset}"), None, None);
                }
                Body::BufferWrite { offset, size, .. } => {
                    add("cache".to_owned(), format!("write: {size} bytes at {offset}"), None, None);
                }
                Body::BufferReadAhead { offset, numpages, .. } => {
                    let what = format!("reads {numpages} pages ahead at {offset}");
                    add("cache".to_owned(), what, None, None);
                }
                Body::BufferFlush { offset, size, .. } => {
                    add("cache".to_owned(), format!("flush: {size} bytes at {offset}"), None, None);
                }
                Body::BufferEvict { offset, size, .. } => {
                    add("cache".to_owned(), format!("evict: {size} bytes at {offset}"), None, None);
                }
            }
        }
        Ok(steps)
    }

    /// Collects what else happened while the request was under way.
    fn around(&self, records: &[Record]) -> Result<Around, Failure> {
        let mut around = Around::default();
        let hosts: BTreeSet<HostId> = records.iter().map(|record| record.header.host).collect();
        let end = records.last().map_or(self.start, |record| record.header.ts_ns);
        // a slice may last beyond the last record, an operation may have been waited for before
        let (from, to) = (self.start.saturating_sub(1_000_000_000), end + 100_000_000);
        let mut switches = Vec::new();
        for kind in [RecordKind::UserThreadSwitch, RecordKind::KernelProcessSwitch] {
            let involved = |record: &&Record| hosts.contains(&record.header.host);
            self.db
                .scan_between(kind, from, to, |record| {
                    switches.extend(Some(record).filter(involved).copied());
                })
                .map_err(Failure::NotARun)?;
        }
        switches.sort_by_key(|switch| (switch.header.host, switch.header.ts_ns));
        around.switched_away = switched_away(&switches);
        self.db
            .scan_between(RecordKind::DiskOp, from, to, |record| {
                if let Body::DiskOp { disk, phase: Phase::Complete, .. } = record.body {
                    let key = (record.header.host.0, disk);
                    around.completions.entry(key).or_default().push(record.header.ts_ns);
                }
            })
            .map_err(Failure::NotARun)?;
        Ok(around)
    }

    fn host(&self, host: u32) -> String {
        let known = self.facts.hosts.iter().find(|known| known.host.0 == host);
        known.map_or_else(|| format!("host {host}"), |known| known.name.clone())
    }

    /// What a transfer needs at the least: the slower link and both cables.
    fn transfer_ns(&self, sender: u32, receiver: u32, bytes: Bytes) -> Option<u64> {
        let fact = |host: u32, name: &str| {
            let known = self.facts.hosts.iter().find(|known| known.host.0 == host)?;
            let path = format!("{}.{}.nic.{name}", known.kind.name(), known.name);
            self.facts.integer(&path).ok()
        };
        let rate = fact(sender, "rate")?.min(fact(receiver, "rate")?);
        let latency = fact(sender, "latency")? + fact(receiver, "latency")?;
        let rate = Rate::bits_per_s(u64::try_from(rate).ok().filter(|&bits| bits > 0)?);
        Some(rate.time_for(bytes).as_ns() + u64::try_from(latency).ok()?)
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
            Body::KernelProcessSwitch { cpu, newprocess: 0, oldprocess } => {
                // the record is the old thread's
                running.remove(&(host, cpu));
                Some((oldprocess, tid))
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

fn as_table(steps: &[Step]) -> String {
    let mut table = tables::table(&["ms", "host", "resource", "what", "waiting ms", "service ms"]);
    let ms = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
    for step in steps {
        table.add_row([
            ms(step.at_ns),
            step.host.clone(),
            step.resource.clone(),
            step.what.clone(),
            step.waiting_ns.map(ms).unwrap_or_default(),
            step.service_ns.map(ms).unwrap_or_default(),
        ]);
    }
    for column in 1..4 {
        let column = table.column_mut(column).expect("there are six");
        column.set_cell_alignment(comfy_table::CellAlignment::Left);
    }
    format!("{table}\n")
}

fn as_json(breadcrumb: u64, steps: &[Step]) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    let steps: Vec<_> = steps
        .iter()
        .map(|step| {
            json!({
                "at_ms": ms(step.at_ns),
                "host": step.host,
                "resource": step.resource,
                "what": step.what,
                "waiting_ms": step.waiting_ns.map(ms),
                "service_ms": step.service_ns.map(ms),
            })
        })
        .collect();
    format!("{:#}\n", json!({ "breadcrumb": breadcrumb, "steps": steps }))
}
