//! A device behind its I/O scheduler. The algorithm of the scheduler is known.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use foretell_algorithms::io_scheduler::{Choice, Io, Request, Scheduler, SchedulerKind, scheduler};
use foretell_units::{Sectors, SimSpan, SimTime, Stream};

use super::lanes::Lanes;
use super::rotating::{Begun, Held, Rotating};
use super::{Done, Measurement, Operation, Served, Taken};

/// A device and its scheduler.
#[derive(Debug)]
pub(crate) struct Drive {
    scheduler: Box<dyn Scheduler<u32>>,
    device: Device,
    depth: usize,
    /// Outstanding operations: waiting or in service.
    present: usize,
    /// Requests in the device's queue besides those in service.
    waiting: Vec<Waiting>,
    /// Requests in service, by slot.
    serving: Vec<Option<Serving>>,
    free: Vec<usize>,
    done_at: BinaryHeap<Reverse<(SimTime, u64, usize)>>,
    sequence: u64,
    again: Option<SimTime>,
    head: Sectors,
    busy: SimSpan,
    worked: SimSpan,
}

/// A request in the device's queue.
#[derive(Debug)]
struct Waiting {
    request: Request<u32>,
    held: Held,
}

/// A request in service.
#[derive(Debug)]
struct Serving {
    request: Request<u32>,
    taken: Taken,
}

/// A drive delays no command for longer than this (assumed: no known drive starves one).
const HELD_BACK: SimSpan = SimSpan::from_secs(1);

#[derive(Debug)]
enum Device {
    Rotating(Box<Rotating>),
    Lanes(Box<Lanes>),
}

impl Drive {
    /// An idle device.
    pub(super) fn new(kind: SchedulerKind, measured: &Arc<Measurement>, stream: Stream) -> Self {
        let depth = measured.depth.max(1);
        let device = if measured.is_parallel() {
            Device::Lanes(Box::new(Lanes::new(measured, stream)))
        } else {
            Device::Rotating(Box::new(Rotating::new(Arc::clone(measured), stream)))
        };
        Self {
            scheduler: scheduler(kind, depth),
            depth: depth as usize,
            present: 0,
            device,
            waiting: Vec::new(),
            serving: Vec::new(),
            free: Vec::new(),
            done_at: BinaryHeap::new(),
            sequence: 0,
            again: None,
            head: Sectors(0),
            busy: SimSpan::ZERO,
            worked: SimSpan::ZERO,
        }
    }

    /// Remembers the backlog of its buffer.
    pub(super) fn mark(&mut self, now: SimTime) {
        if let Device::Lanes(lanes) = &mut self.device {
            lanes.mark(now);
        }
    }

    /// Skips a time that is `longer` times as long as the time since the mark.
    pub(super) fn pass_over(&mut self, now: SimTime, longer: f64) {
        if let Device::Lanes(lanes) = &mut self.device {
            lanes.pass_over(now, longer);
        }
    }

    /// Outstanding operations: waiting or in service.
    pub(super) fn present(&self) -> usize {
        self.present
    }

    fn in_service(&self) -> usize {
        self.serving.len() - self.free.len()
    }

    /// Adds an operation.
    pub(super) fn submit(&mut self, now: SimTime, io: Io<u32>) -> Option<SimTime> {
        self.present += 1;
        self.scheduler.add(now, io);
        self.go_on(now);
        self.next()
    }

    /// Appends the completed operations. Returns when to call again.
    pub(super) fn complete(&mut self, now: SimTime, done: &mut Vec<Done>) -> Option<SimTime> {
        while let Some(&Reverse((at, _, slot))) = self.done_at.peek() {
            if at > now {
                break;
            }
            self.done_at.pop();
            let served = self.serving[slot].take().expect("it was served");
            let Serving { request, taken } = served;
            self.free.push(slot);
            self.scheduler.served(now, &request);
            let others = std::iter::repeat(Taken::default());
            let numbers = request.operations().map(|(_, io)| io.tag);
            let each = numbers.zip(std::iter::once(taken).chain(others));
            let before = done.len();
            done.extend(each.map(|(number, taken)| Done { number, taken }));
            self.present -= done.len() - before;
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
        while self.in_service() + self.waiting.len() < self.depth {
            match self.scheduler.next(now, self.head) {
                Choice::Serve(request) => {
                    self.head = request.end();
                    match &mut self.device {
                        Device::Lanes(_) => self.serve(now, request, Begun::default()),
                        Device::Rotating(disk) => {
                            let angle = if self.depth > 1 {
                                let held = self.waiting.iter();
                                let held = held.map(|one| (one.request.lbn, one.held.angle));
                                disk.angle_beside(request.lbn, held)
                            } else {
                                0.0
                            };
                            let held = Held { since: now, angle };
                            self.waiting.push(Waiting { request, held });
                        }
                    }
                }
                Choice::Wait(until) => {
                    self.again = Some(until);
                    break;
                }
                Choice::Nothing => break,
            }
        }
        if self.in_service() == 0 && !self.waiting.is_empty() {
            let (chosen, reach_ns) = self.reached_first(now);
            let Waiting { request, held } = self.waiting.remove(chosen);
            self.serve(now, request, Begun { reach_ns, held: now - held.since });
        }
    }

    /// The waiting request that the arm reaches first, and its positioning time.
    fn reached_first(&mut self, now: SimTime) -> (usize, Option<f64>) {
        let Device::Rotating(disk) = &mut self.device else { return (0, None) };
        if self.waiting.len() == 1 || now >= self.waiting[0].held.since + HELD_BACK {
            return (0, None);
        }
        let mut best = (0, f64::INFINITY);
        for (index, Waiting { request, held }) in self.waiting.iter().enumerate() {
            let reach = disk.reach_ns(
                now,
                Operation { op: request.op, lbn: request.lbn, sectors: request.sectors },
                *held,
            );
            if reach < best.1 {
                best = (index, reach);
            }
        }
        (best.0, Some(best.1))
    }

    fn serve(&mut self, now: SimTime, request: Request<u32>, begun: Begun) {
        let what = Operation { op: request.op, lbn: request.lbn, sectors: request.sectors };
        let Served { done, taken } = match &mut self.device {
            Device::Rotating(disk) => disk.serve(now, what, begun),
            Device::Lanes(lanes) => lanes.serve(now, what),
        };
        self.busy += taken.service;
        self.worked += taken.work;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.serving.push(None);
            self.serving.len() - 1
        });
        self.serving[slot] = Some(Serving { request, taken });
        self.sequence += 1;
        self.done_at.push(Reverse((done, self.sequence, slot)));
    }

    /// Time for which the host saw it busy.
    pub(super) fn busy(&self) -> SimSpan {
        self.busy
    }

    /// Time for which it had work.
    pub(super) fn worked(&self) -> SimSpan {
        self.worked
    }
}
