//! The members of an array, and the jobs that they do for the array.
//!
//! A job is one set of operations on members, or two sets, one after the other: for instance the reads for
//! the parity of a stripe, and then its writes. Jobs that write to the same stripe with parity are done one
//! after the other, because the parity must match all data of the stripe.

use std::collections::VecDeque;

use foretell_algorithms::array::{Layout, Piece, Plan, Range, Way};
use foretell_scenarios::device::Array as Spec;
use foretell_scenarios::model;
use foretell_sorted::SortedMap;
use foretell_units::{Op, Owner, Sectors, SimSpan, SimTime};

use crate::agenda::Agenda;
use crate::device::Device;
use crate::ledger::{Usage, Violation};
use crate::ssd::Written;
use foretell_algorithms::io_scheduler::Io;
use foretell_algorithms::slab::Slab;

/// Number of operations that members have finished, by direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemberOps {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

/// The members and their jobs.
#[derive(Debug)]
pub(super) struct Members {
    layout: Layout,
    devices: Vec<Device<u32>>,
    /// The times at which members must be called.
    calls: Agenda<u32>,
    jobs: Slab<Job>,
    /// Stripes that are being written, and the jobs that wait for them.
    locked: SortedMap<u64, VecDeque<u32>>,
    /// The copy that was read last; ties go to the next one.
    turn: u32,
    operations: MemberOps,
}

#[derive(Debug)]
struct Job {
    /// Operations that are still outstanding.
    left: u32,
    /// Pieces to read first, and then pieces to write.
    reads: Vec<Piece>,
    writes: Vec<Piece>,
    /// The stripe that the job has locked or waits for.
    stripe: Option<u64>,
    thread: u64,
    service: SimSpan,
}

/// A job that is done.
#[derive(Clone, Copy, Debug)]
pub(super) struct JobDone {
    pub(super) job: u32,
    /// Service time that the members spent on it.
    pub(super) service: SimSpan,
}

impl Members {
    /// Idle members. Each serves its waiting operations in the order of the scheduler. Without an
    /// owner they start as bench devices do.
    pub(super) fn new(
        spec: &Spec,
        layout: Layout,
        scheduler: model::Scheduler,
        owner: Option<&Owner>,
    ) -> Self {
        let member = model::Disk {
            device_name: spec.device_name.clone(),
            device: spec.device.clone(),
            scheduler,
            class: None,
            db: None,
            wal: None,
        };
        let device = |number: u32| match owner {
            Some(owner) => Device::installed(&member, &owner.below(format_args!("member{number}"))),
            None => Device::new(&member),
        };
        let copies = u64::from(layout.copies().max(1));
        Self {
            devices: (0..spec.members).map(device).collect(),
            calls: Agenda::new(),
            jobs: Slab::new(),
            locked: SortedMap::new(),
            turn: owner.map_or(0, |owner| owner.stream("copies").below(copies) as u32),
            layout,
            operations: MemberOps::default(),
        }
    }

    /// Starts reading sectors of the array. Returns the job's number.
    pub(super) fn read(&mut self, now: SimTime, range: Range, thread: u64) -> u32 {
        let mut reads = Vec::new();
        self.layout.pieces(range, &mut reads);
        let copies = self.layout.copies();
        for piece in &mut reads {
            piece.member += self.copy_to_read(piece.member, copies);
        }
        self.start(now, Plan { way: Way::NoParity, reads, writes: Vec::new() }, None, thread)
    }

    /// Chooses which of the copies from member `first` on is read: the one with the fewest
    /// operations. Ties go to the copy whose turn it is.
    fn copy_to_read(&mut self, first: u32, copies: u32) -> u32 {
        if copies == 1 {
            return 0;
        }
        self.turn = (self.turn + 1) % copies;
        let turns = (0..copies).map(|step| (self.turn + step) % copies);
        let copy = turns.min_by_key(|copy| self.devices[(first + copy) as usize].present());
        copy.expect("there are copies")
    }

    /// Starts writing ranges of a stripe of the array. Returns the job's number.
    pub(super) fn write(
        &mut self,
        now: SimTime,
        stripe: u64,
        ranges: &[Range],
        thread: u64,
    ) -> u32 {
        let locks = self.layout.parity(stripe).map(|_| stripe);
        self.start(now, self.layout.plan(stripe, ranges), locks, thread)
    }

    fn start(&mut self, now: SimTime, plan: Plan, stripe: Option<u64>, thread: u64) -> u32 {
        let Plan { reads, writes, .. } = plan;
        let service = SimSpan::ZERO;
        let job = self.jobs.insert(Job { left: 0, reads, writes, stripe, thread, service });
        if let Some(stripe) = stripe {
            if let Some(waiting) = self.locked.get_mut(&stripe) {
                waiting.push_back(job);
                return job;
            }
            self.locked.insert(stripe, VecDeque::new());
        }
        self.go_on(now, job);
        job
    }

    /// Starts the next operations of a job. Returns whether there are any.
    fn go_on(&mut self, now: SimTime, job: u32) -> bool {
        let state = &mut self.jobs[job];
        let (op, pieces) = if state.reads.is_empty() {
            (Op::Write, std::mem::take(&mut state.writes))
        } else {
            (Op::Read, std::mem::take(&mut state.reads))
        };
        state.left = pieces.len() as u32;
        let thread = state.thread;
        for piece in &pieces {
            let (lbn, sectors) = (Sectors(piece.lbn), Sectors(piece.sectors));
            let io = Io { lbn, sectors, op, thread, tag: job };
            if let Some(call) = self.devices[piece.member as usize].submit(now, io) {
                self.calls.schedule(call, piece.member);
            }
        }
        !pieces.is_empty()
    }

    /// Time at which a member must next be called.
    pub(super) fn next_call(&self) -> SimTime {
        self.calls.next_at().unwrap_or(SimTime::MAX)
    }

    /// Calls the member that is due next. Returns the job that this finishes, if any.
    pub(super) fn call(&mut self) -> Option<JobDone> {
        let member = self.calls.next()?;
        let now = self.calls.now();
        let completion = self.devices[member as usize].complete(now);
        if let Some(call) = completion.next {
            self.calls.schedule(call, member);
        }
        let done = completion.done?;
        match done.io.op {
            Op::Read => self.operations.reads += 1,
            Op::Write => self.operations.writes += 1,
        }
        let job = done.io.tag;
        let state = &mut self.jobs[job];
        state.service += done.service;
        state.left -= 1;
        if state.left > 0 || self.go_on(now, job) {
            return None;
        }
        let (stripe, service) = (self.jobs[job].stripe, self.jobs[job].service);
        self.jobs.remove(job);
        if let Some(stripe) = stripe {
            let waiting = self.locked.get_mut(&stripe).expect("the job has locked it");
            match waiting.pop_front() {
                Some(next) => {
                    self.go_on(now, next);
                }
                None => {
                    self.locked.remove(&stripe);
                }
            }
        }
        Some(JobDone { job, service })
    }

    /// Number of operations that members have done since the beginning.
    pub(super) fn operations(&self) -> MemberOps {
        self.operations
    }

    pub(super) fn mark(&mut self, now: SimTime) {
        for device in &mut self.devices {
            device.mark(now);
        }
    }

    /// Usage of each member since the mark.
    pub(super) fn usage(&mut self, now: SimTime) -> impl Iterator<Item = Usage> + '_ {
        self.devices.iter_mut().map(move |device| device.usage(now))
    }

    #[cfg(test)]
    pub(super) fn spins(&self) -> Vec<crate::disk::Spin> {
        self.devices.iter().flat_map(Device::spins).collect()
    }

    /// Bytes written to the flash of all members since the mark, if they have flash.
    pub(super) fn flash(&self) -> Option<Written> {
        let of_members = self.devices.iter().filter_map(Device::flash);
        of_members.reduce(|all, one| all.and(&one))
    }

    /// Whether the operational laws hold at each member.
    pub(super) fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.devices.iter_mut().try_for_each(|device| device.audit(now))
    }
}
