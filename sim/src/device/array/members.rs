//! The members of an array, and their work on the array's jobs ([`Jobs`]).

use foretell_algorithms::array::{Jobs, Layout, Range};
use foretell_algorithms::io_scheduler::Io;
use foretell_scenarios::device::Array as Spec;
use foretell_scenarios::model;
use foretell_units::{Op, Owner, Sectors, SimSpan, SimTime};

use crate::agenda::Agenda;
use crate::device::Device;
use crate::ledger::{Usage, Violation};
use crate::ssd::Written;

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
    /// With the service time that members have spent on each job.
    jobs: Jobs<SimSpan>,
    operations: MemberOps,
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
        let turn = owner.map_or(0, |owner| owner.stream("copies").below(copies) as u32);
        Self {
            devices: (0..spec.members).map(device).collect(),
            calls: Agenda::new(),
            jobs: Jobs::new(turn),
            layout,
            operations: MemberOps::default(),
        }
    }

    /// Starts reading sectors of the array. Returns the job's number.
    pub(super) fn read(&mut self, now: SimTime, range: Range, thread: u64) -> u32 {
        let present = |member: u32| self.devices[member as usize].present();
        let job = self.jobs.read(&self.layout, range, thread, SimSpan::ZERO, present);
        self.begin(now, job);
        job
    }

    /// Starts writing ranges of a stripe of the array. Returns the job's number.
    pub(super) fn write(
        &mut self,
        now: SimTime,
        stripe: u64,
        ranges: &[Range],
        thread: u64,
    ) -> u32 {
        let (job, may_begin) = self.jobs.write(&self.layout, stripe, ranges, thread, SimSpan::ZERO);
        if may_begin {
            self.begin(now, job);
        }
        job
    }

    /// Starts the next operations of a job. Returns whether there are any.
    fn begin(&mut self, now: SimTime, job: u32) -> bool {
        let Some(phase) = self.jobs.begin(job) else { return false };
        for piece in &phase.pieces {
            let (lbn, sectors) = (Sectors(piece.lbn), Sectors(piece.sectors));
            let io = Io { lbn, sectors, op: phase.op, thread: phase.thread, tag: job };
            if let Some(call) = self.devices[piece.member as usize].submit(now, io) {
                self.calls.schedule(call, piece.member);
            }
        }
        true
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
        let spent = self.jobs.about(job);
        *spent += done.service;
        let service = *spent;
        if !self.jobs.done(job) || self.begin(now, job) {
            return None;
        }
        if let Some(next) = self.jobs.end(job) {
            self.begin(now, next);
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
