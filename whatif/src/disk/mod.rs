//! The lower tier's disk module: how long a node's disk takes for the operations that reach it.
//!
//! A disk is its I/O scheduler, which is software and known, in front of a device of which only
//! measurements are known: [`Measurement`]. Service times follow from the distance, the place, the
//! pause before, and how many operations are there, so that a queue that is not full (paper 004,
//! Postmark at 512 MB) and one that is both come out.

mod lanes;
mod measurement;
mod rotating;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use foretell_algorithms::io_scheduler::{Choice, Io, Request, Scheduler, SchedulerKind, scheduler};
use foretell_units::{Sectors, SimSpan, SimTime, Stream};

use lanes::Lanes;
pub(crate) use measurement::index;
pub use measurement::{Continued, Measurement, Positioning, QUANTILES, Random};
use rotating::Rotating;

/// A disk of a node.
#[derive(Debug)]
pub(crate) struct Disk {
    scheduler: Box<dyn Scheduler<u32>>,
    device: Device,
    depth: usize,
    /// Requests that the device holds beside the one that its arm serves, and since when.
    waiting: Vec<(Request<u32>, SimTime)>,
    /// Requests in service, by slot.
    serving: Vec<Option<(Request<u32>, SimSpan)>>,
    free: Vec<usize>,
    done_at: BinaryHeap<Reverse<(SimTime, u64, usize)>>,
    sequence: u64,
    again: Option<SimTime>,
    head: Sectors,
    busy: SimSpan,
}

/// A drive holds no command back for longer (assumed: none is known to starve one).
const HELD_BACK: SimSpan = SimSpan::from_secs(1);

#[derive(Debug)]
enum Device {
    Rotating(Box<Rotating>),
    Lanes(Lanes),
}

impl Disk {
    /// An idle disk.
    pub(crate) fn new(kind: SchedulerKind, measured: &Arc<Measurement>, stream: Stream) -> Self {
        let depth = measured.depth.max(1);
        let device = if measured.is_parallel() {
            Device::Lanes(Lanes::new(measured))
        } else {
            Device::Rotating(Box::new(Rotating::new(Arc::clone(measured), stream)))
        };
        Self {
            scheduler: scheduler(kind, depth),
            depth: depth as usize,
            device,
            waiting: Vec::new(),
            serving: Vec::new(),
            free: Vec::new(),
            done_at: BinaryHeap::new(),
            sequence: 0,
            again: None,
            head: Sectors(0),
            busy: SimSpan::ZERO,
        }
    }

    fn present(&self) -> usize {
        self.serving.len() - self.free.len()
    }

    /// Adds an operation.
    pub(crate) fn submit(&mut self, now: SimTime, io: Io<u32>) -> Option<SimTime> {
        self.scheduler.add(now, io);
        self.go_on(now);
        self.next()
    }

    /// Appends the numbers of the operations that are done, each with its service; of those that
    /// were merged the first has it all. Returns when to call again.
    pub(crate) fn complete(
        &mut self,
        now: SimTime,
        done: &mut Vec<(u32, SimSpan)>,
    ) -> Option<SimTime> {
        while let Some(&Reverse((at, _, slot))) = self.done_at.peek() {
            if at > now {
                break;
            }
            self.done_at.pop();
            let (request, service) = self.serving[slot].take().expect("it was served");
            self.free.push(slot);
            self.scheduler.served(now, &request);
            let services = std::iter::once(service).chain(std::iter::repeat(SimSpan::ZERO));
            done.extend(request.operations().map(|(_, io)| io.tag).zip(services));

        }
        self.go_on(now);
        self.next()
    }

    fn next(&self) -> Option<SimTime> {
        let done = self.done_at.peek().map(|Reverse((at, _, _))| *at);
        done.into_iter().chain(self.again).min()
    }

    fn go_on(&mut self, now: SimTime) {
        self.again = None;
        while self.present() + self.waiting.len() < self.depth {
            match self.scheduler.next(now, self.head) {
                Choice::Serve(request) => {
                    self.head = request.end();
                    match self.device {
                        Device::Lanes(_) => self.serve(now, request, None),
                        Device::Rotating(_) => self.waiting.push((request, now)),
                    }
                }
                Choice::Wait(until) => {
                    self.again = Some(until);
                    break;
                }
                Choice::Nothing => break,
            }
        }
        if self.present() == 0 && !self.waiting.is_empty() {
            let (chosen, reach_ns) = self.reached_first(now);
            let (request, _) = self.waiting.remove(chosen);
            self.serve(now, request, reach_ns);
        }
    }

    /// Which of the waiting requests the arm reaches first, and how long that takes.
    fn reached_first(&mut self, now: SimTime) -> (usize, Option<f64>) {
        let Device::Rotating(disk) = &mut self.device else { return (0, None) };
        if self.waiting.len() == 1 || now >= self.waiting[0].1 + HELD_BACK {
            return (0, None);
        }
        let mut best = (0, f64::INFINITY);
        for (index, (request, _)) in self.waiting.iter().enumerate() {
            let reach = disk.reach_ns(request.op, request.lbn);
            if reach < best.1 {
                best = (index, reach);
            }
        }
        (best.0, Some(best.1))
    }

    fn serve(&mut self, now: SimTime, request: Request<u32>, reach_ns: Option<f64>) {
        let what = (request.op, request.lbn, request.sectors);
        let (at, service) = match &mut self.device {
            Device::Rotating(disk) => disk.serve(now, what, reach_ns),
            Device::Lanes(lanes) => lanes.serve(now, what),
        };
        self.busy += service;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.serving.push(None);
            self.serving.len() - 1
        });
        self.serving[slot] = Some((request, service));
        self.sequence += 1;
        self.done_at.push(Reverse((at, self.sequence, slot)));
    }

    /// Time for which it has been given work.
    pub(crate) fn busy(&self) -> SimSpan {
        self.busy
    }
}

#[cfg(test)]
mod fit {
    use super::*;
    use foretell_ati::{Body, Phase, RecordKind, open_run};
    use foretell_units::{Op, Seed};
    use std::collections::BTreeMap;

    #[test]
    #[ignore = "a tool"]
    fn fit() {
        let dir = std::env::var("RUN").unwrap();
        let run = open_run(std::path::Path::new(&dir)).unwrap();
        let facts = run.facts().unwrap();
        let mut ops: BTreeMap<(u32, u32), Vec<(u64, u64, u64, u64, Op)>> = BTreeMap::new();
        let mut open: BTreeMap<(u32, u64, u32, u64, u32, u8), Vec<u64>> = BTreeMap::new();
        run.scan(RecordKind::DiskOp, |record| {
            let Body::DiskOp { disk, lbn, size, op, phase } = record.body else { return };
            let h = record.header;
            let key = (h.host.0, h.breadcrumb.0, disk, lbn, size, op as u8);
            if phase == Phase::Issue {
                open.entry(key).or_default().push(h.ts_ns);
            } else if let Some(list) = open.get_mut(&key) {
                let issued = list.remove(0);
                ops.entry((h.host.0, disk)).or_default().push((
                    issued,
                    h.ts_ns,
                    lbn,
                    u64::from(size),
                    op,
                ));
            }
        })
        .unwrap();
        let mut classes: BTreeMap<String, (u64, f64, f64)> = BTreeMap::new();
        let mut closed = BTreeMap::new();
        for ((host, disk), mut list) in ops {
            let name = facts.hosts[host as usize].name.clone();
            let device = facts.text(&format!("node.{name}.disk{disk}.device")).unwrap().to_owned();
            let text = facts.text(&crate::measurement_fact(&device)).unwrap();
            let measured: Measurement = serde_json::from_str(text).unwrap();
            let scheduler = facts.text(&format!("node.{name}.disk{disk}.scheduler")).unwrap();
            let kind = [SchedulerKind::Fcfs, SchedulerKind::Sstf, SchedulerKind::Elevator, SchedulerKind::Noop, SchedulerKind::Cfq, SchedulerKind::Deadline].into_iter().find(|k| k.name() == scheduler).unwrap();
            let flat: Vec<(u64, u64, Op)> = list.iter().map(|op| (op.2, op.3, op.4)).collect();
            closed.insert((host, disk), (kind, Arc::new(measured.clone()), flat));
            let mut model = Rotating::new(Arc::new(measured), Seed(1).stream("x"));
            list.sort_by_key(|op| op.1);
            let mut last: Option<(u64, Op, u64)> = None;
            for (issued, done, lbn, size, op) in list {
                let start = last.map_or(issued, |l| l.0.max(issued));
                let (at, _) = model.serve(
                    SimTime::from_ns(start),
                    (op, Sectors(lbn), Sectors(size / 512)),
                    None,
                );
                let idle = last.is_none_or(|l| issued > l.0);
                let near = last.is_some_and(|l| lbn.abs_diff(l.2) < 8192);
                let same = last.is_some_and(|l| lbn == l.2);
                let class = format!(
                    "{:?} after {:?} idle {idle} near {near} same {same}",
                    op,
                    last.map(|l| l.1)
                );
                let entry = classes.entry(class).or_default();
                entry.0 += 1;
                entry.1 += (done - start) as f64 / 1e6;
                entry.2 += (at.as_ns() - start) as f64 / 1e6;
                model.force(SimTime::from_ns(done));
                last = Some((done, op, lbn + size / 512));
            }
        }
        if let Some((_, (_, measured, _))) = closed.iter().next() {
            let mut stream = Seed(2).stream("r");
            for op in [Op::Read, Op::Write] { for span in [0.01, 0.07, 0.3, 1.0] { for (depth, bytes) in [(1_usize, 4096_u64), (1, 61440), (16, 4096), (16, 61440)] {
                let mut disk = Disk::new(SchedulerKind::Fcfs, measured, Seed(1).stream("x"));
                let (mut now, mut done, mut next, mut finished) = (SimTime::ZERO, Vec::new(), 0, 0);
                while finished < 4000 {
                    while next < 4000 && next - finished < depth {
                        let lbn = stream.below((measured.capacity_bytes as f64 * span) as u64 / bytes) * bytes / 512;
                        disk.submit(now, Io { lbn: Sectors(lbn), sectors: Sectors(bytes / 512), op, thread: 1, tag: next as u32 });
                        next += 1;
                    }
                    now = disk.next().unwrap();
                    done.clear();
                    disk.complete(now, &mut done);
                    finished += done.len();
                }
                println!("closed random {op:?} {span} depth {depth} {bytes} {:.3} ms", now.as_secs_f64() * 1e3 / 4000.0);
            }
            } }
        }
        for (n, list) in closed {
            let (kind, measured, ops) = list;
            for depth in [1_usize, 4, 16, 64] {
                let mut disk = Disk::new(kind, &measured, Seed(1).stream("x"));
                let mut now = SimTime::ZERO;
                let mut done = Vec::new();
                let mut next = 0;
                let mut finished = 0;
                let total = ops.len().min(20000);
                while finished < total {
                    while next < total && next - finished < depth {
                        let (lbn, size, op) = ops[next];
                        let io = Io { lbn: Sectors(lbn), sectors: Sectors(size / 512), op, thread: 1, tag: next as u32 };
                        disk.submit(now, io);
                        next += 1;
                    }
                    now = disk.next().unwrap();
                    done.clear();
                    disk.complete(now, &mut done);
                    finished += done.len();
                }
                println!("closed {n:?} depth {depth} {:.3} ms each after", now.as_secs_f64() * 1e3 / total as f64);
            }
        }
        for (class, (n, seen, said)) in classes {
            println!("{class:60} {n:7} {:.3} {:.3}", seen / n as f64, said / n as f64);
        }
    }
}
