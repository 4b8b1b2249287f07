//! The parts of an array that take time: its members, its interface, and the link between its halves.

use std::collections::VecDeque;
use std::fmt::Debug;

use foretell_algorithms::array::{Hardware, Layout, Range};
use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::device::Array as Spec;
use foretell_scenarios::model::Scheduler;
use foretell_units::{Bytes, Op, Owner, Rate, SECTOR_BYTES, SimSpan, SimTime};

use super::members::{JobDone, Members};
use crate::ssd::line::Line;

/// Index of the interface to the array; also that of writes.
const TO: usize = 0;
/// Index of the interface from the array; also that of reads.
const FROM: usize = 1;

/// The parts, and the operations in the array.
#[derive(Debug)]
pub(super) struct Parts<T> {
    pub(super) members: Members,
    rate: Rate,
    overhead: SimSpan,
    interface: [Line; 2],
    /// The link to the controller's other half, if there is a write cache.
    mirror: Option<(Line, Rate)>,
    requests: Slab<Request<T>>,
    /// Written data on their way from the host, in order.
    arrivals: VecDeque<(SimTime, u32)>,
    /// Writes whose second copy is on its way, in order.
    mirroring: VecDeque<(SimTime, u32)>,
    /// Operations with a known time of completion: writes and reads, each in order.
    leaving: [VecDeque<(SimTime, u32)>; 2],
}

/// An operation in the array.
#[derive(Clone, Copy, Debug)]
struct Request<T> {
    io: Io<T>,
    arrived: SimTime,
    /// The operation's sectors.
    range: Range,
    service: SimSpan,
    /// Whether this slot is in use; slots are reused.
    live: bool,
}

/// An event.
#[derive(Debug)]
pub(super) enum Next<T> {
    /// Members have done a job.
    JobDone(JobDone),
    /// The data of a write are in the controller.
    DataArrived { request: u32, range: Range, thread: u64 },
    /// An operation is done for the host.
    Leaves { io: Io<T>, arrived: SimTime, service: SimSpan },
    /// An event that neither the controller nor the host sees.
    Nothing,
}

/// Time of the first event of a queue.
fn front(queue: &VecDeque<(SimTime, u32)>) -> SimTime {
    queue.front().map_or(SimTime::MAX, |front| front.0)
}

fn bytes(range: Range) -> Bytes {
    let (first, end) = range;
    Bytes((end - first) * SECTOR_BYTES)
}

impl<T: Copy + Debug> Parts<T> {
    pub(super) fn new(
        spec: &Spec,
        layout: Layout,
        scheduler: Scheduler,
        owner: Option<&Owner>,
    ) -> Self {
        let write = spec.cache.as_ref().and_then(|cache| cache.write);
        Self {
            members: Members::new(spec, layout, scheduler, owner),
            rate: spec.rate,
            overhead: spec.overhead,
            interface: [Line::default(); 2],
            mirror: write.map(|write| (Line::default(), write.mirror_rate)),
            requests: Slab::new(),
            arrivals: VecDeque::new(),
            mirroring: VecDeque::new(),
            leaving: [VecDeque::new(), VecDeque::new()],
        }
    }

    /// An operation arrives. The data of a write start their transfer. Returns the operation's number.
    pub(super) fn arrives(&mut self, now: SimTime, io: Io<T>, range: Range) -> u32 {
        let service = SimSpan::ZERO;
        let id = self.requests.insert(Request { io, arrived: now, range, service, live: true });
        if io.op == Op::Write {
            let at = self.transfer(now, id, TO);
            self.arrivals.push_back((at, id));
        }
        id
    }

    /// Books the interface for the data of a request. Returns when the transfer ends.
    fn transfer(&mut self, now: SimTime, id: u32, direction: usize) -> SimTime {
        let request = &mut self.requests[id];
        let span = self.rate.time_for(bytes(request.range));
        request.service += span;
        self.interface[direction].book(now, span)
    }

    /// Times of the next events: an operation is done; written data arrive; written data are in the
    /// other half; a member must be called.
    fn nexts(&self) -> [SimTime; 4] {
        let leaves = front(&self.leaving[TO]).min(front(&self.leaving[FROM]));
        [leaves, front(&self.arrivals), front(&self.mirroring), self.members.next_call()]
    }

    /// Earliest time at which a host may see something; [`SimTime::MAX`] if nothing is under way.
    pub(super) fn seen(&self) -> SimTime {
        let [leaves, arrival, mirrored, call] = self.nexts();
        let inside = arrival.min(mirrored).min(call);
        // a host sees any event inside the array only after the overhead
        let seen = if inside == SimTime::MAX { inside } else { inside + self.overhead };
        leaves.min(seen)
    }

    /// Takes the next event up to `now`, with its time.
    pub(super) fn next(&mut self, now: SimTime) -> Option<(SimTime, Next<T>)> {
        let [leaves, arrival, mirrored, call] = self.nexts();
        let next = leaves.min(arrival).min(mirrored).min(call);
        if next > now || next == SimTime::MAX {
            return None;
        }
        let event = if call == next {
            self.members.call().map_or(Next::Nothing, Next::JobDone)
        } else if arrival == next {
            let (_, request) = self.arrivals.pop_front().expect("it is there");
            let Request { range, io, .. } = self.requests[request];
            Next::DataArrived { request, range, thread: io.thread }
        } else if mirrored == next {
            let (_, id) = self.mirroring.pop_front().expect("it is there");
            self.leaving[TO].push_back((next + self.overhead, id));
            Next::Nothing
        } else {
            self.leaves(next)
        };
        Some((next, event))
    }

    /// An operation is done for the host.
    fn leaves(&mut self, now: SimTime) -> Next<T> {
        let queue = usize::from(front(&self.leaving[TO]) > front(&self.leaving[FROM]));
        let (at, id) = self.leaving[queue].pop_front().expect("it is there");
        assert_eq!(at, now);
        let request = self.requests.remove(id);
        assert!(std::mem::replace(&mut request.live, false));
        let Request { io, arrived, service, .. } = *request;
        Next::Leaves { io, arrived, service }
    }

    /// When the operations that are in the array arrived.
    pub(super) fn present(&self) -> impl Iterator<Item = SimTime> + '_ {
        let live = self.requests.places().filter(|request| request.live);
        live.map(|request| request.arrived)
    }

    /// The interface in both directions, and the link to the other half.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.interface.iter().chain(self.mirror.iter().map(|(line, _)| line))
    }

    pub(super) fn mark(&mut self, now: SimTime) {
        self.members.mark(now);
        let mirror = self.mirror.iter_mut().map(|(line, _)| line);
        self.interface.iter_mut().chain(mirror).for_each(|line| line.mark(now));
    }
}

impl<T: Copy + Debug> Hardware for Parts<T> {
    type Work = SimSpan;

    fn read(&mut self, now: SimTime, range: Range, thread: u64) -> u32 {
        self.members.read(now, range, thread)
    }

    fn write(&mut self, now: SimTime, stripe: u64, ranges: &[Range], thread: u64) -> u32 {
        self.members.write(now, stripe, ranges, thread)
    }

    /// The data start their transfer to the host.
    fn fetched(&mut self, now: SimTime, request: u32) {
        let at = self.transfer(now, request, FROM);
        self.leaving[FROM].push_back((at + self.overhead, request));
    }

    /// The data also cross the link to the other half.
    fn admitted(&mut self, now: SimTime, request: u32) {
        let (line, rate) = self.mirror.as_mut().expect("there is a write cache");
        let at = line.book(now, rate.time_for(bytes(self.requests[request].range)));
        self.mirroring.push_back((at, request));
    }

    fn stored(&mut self, now: SimTime, request: u32) {
        self.leaving[TO].push_back((now + self.overhead, request));
    }

    /// Destaging and read-ahead are charged to no request.
    fn charge(&mut self, request: Option<u32>, work: SimSpan) {
        if let Some(request) = request {
            self.requests[request].service += work;
        }
    }
}
