//! A host's processor: its cores (see [`foretell_algorithms::cores`]), and the accounting of their
//! queue.

use foretell_algorithms::cores::Cores;
use foretell_units::{Breadcrumb, SimSpan, SimTime};

pub use foretell_algorithms::cores::{Slice, StepEnd, Task};
pub use foretell_units::Thread;

use crate::ledger::{Ledger, Usage, Violation};

/// Cores with one ready queue. A job in its accounts is a task.
#[derive(Clone, Debug)]
pub struct Cpu<T> {
    cores: Cores<T>,
    ledger: Ledger,
}

impl<T: Copy> Cpu<T> {
    /// `cores` idle cores, at least one.
    pub fn new(cores: u32, quantum: SimSpan, context_switch: SimSpan) -> Self {
        Self { cores: Cores::new(cores, quantum, context_switch), ledger: Ledger::default() }
    }

    /// The same processor where two cores are threads of one physical core. Together they do `smt`
    /// times the work of one.
    #[must_use]
    pub fn with_smt(self, smt: Option<f64>) -> Self {
        Self { cores: self.cores.with_smt(smt), ..self }
    }

    /// Makes `task` ready. Returns the slice if a core was free for it.
    pub fn submit(&mut self, now: SimTime, task: Task<T>) -> Option<Slice> {
        self.ledger.arrive(now);
        let slice = self.cores.submit(now, task)?;
        self.ledger.start(now);
        Some(slice)
    }

    /// The running time slice of `core` ends. If its work is done, the core is held until
    /// [`Cpu::go_on`].
    pub fn step_ends(&mut self, now: SimTime, core: u32) -> StepEnd<T> {
        let end = self.cores.step_ends(now, core);
        self.ledger.stop(now, end.started);
        if end.done.is_some() {
            self.ledger.depart(now, end.arrived);
        } else {
            self.ledger.start(now);
        }
        end
    }

    /// Gives the thread that holds `core` its next task.
    pub fn follow(&mut self, now: SimTime, core: u32, task: Task<T>) {
        self.ledger.arrive(now);
        self.cores.follow(now, core, task);
    }

    /// A held core continues; it idles on `None`. `ran`: the request for which it ran.
    pub fn go_on(&mut self, now: SimTime, core: u32, ran: Breadcrumb) -> Option<Slice> {
        let slice = self.cores.go_on(now, core, ran)?;
        self.ledger.start(now);
        Some(slice)
    }

    /// The running time slice of `core` ends, and its task has no further steps.
    pub fn slice_ends(&mut self, now: SimTime, core: u32) -> StepEnd<T> {
        let mut end = self.step_ends(now, core);
        if end.done.is_some() {
            end.next = self.go_on(now, core, end.breadcrumb);
        }
        end
    }

    /// Number of cores that run nothing.
    pub fn idle(&self) -> u32 {
        self.cores.idle()
    }

    /// Number of threads that run or are ready.
    pub fn present(&self) -> u64 {
        self.ledger.present()
    }

    /// Busy time of all cores since the beginning, summed.
    pub fn busy(&mut self, now: SimTime) -> SimSpan {
        self.ledger.busy(now)
    }

    /// Context switches so far.
    pub fn switches(&self) -> u64 {
        self.cores.switches()
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        self.ledger.mark(now);
    }

    /// The processor's usage since the mark.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        self.ledger.usage(now, self.cores.count())
    }

    /// Whether the operational laws hold.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        self.ledger.audit(now, self.cores.present())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(tid: u32, work_us: u64) -> Task<u32> {
        Task {
            thread: Thread { pid: 1, tid },
            breadcrumb: Breadcrumb(u64::from(tid)),
            work: SimSpan::from_us(work_us),
            then: tid,
        }
    }

    fn us(us: u64) -> SimTime {
        SimTime::ZERO + SimSpan::from_us(us)
    }

    #[test]
    fn the_accounts_know_all_that_is_present() {
        let mut cpu = Cpu::new(1, SimSpan::from_us(10), SimSpan::from_us(1));
        cpu.submit(us(0), task(1, 15));
        cpu.submit(us(0), task(2, 5));
        // 1 has run 10 of 15, then 2 its 5, then 1 the rest, each after a switch
        cpu.slice_ends(us(11), 0);
        cpu.slice_ends(us(17), 0);
        let end = cpu.step_ends(us(23), 0);
        assert_eq!(end.done, Some(1));
        cpu.follow(us(23), 0, task(1, 4));
        cpu.follow(us(23), 0, task(1, 1));
        assert_eq!((cpu.present(), cpu.audit(us(23))), (2, Ok(())));
        assert_eq!(cpu.go_on(us(23), 0, end.breadcrumb).unwrap().end, us(27));
        cpu.slice_ends(us(27), 0);
        assert_eq!(cpu.audit(us(27)), Ok(()));
        assert_eq!(cpu.slice_ends(us(28), 0).next, None);
        // busy for 28 of 56 us
        let usage = cpu.usage(us(56));
        assert_eq!((usage.utilization, usage.operations), (0.5, 4));
        assert_eq!((cpu.audit(us(56)), cpu.switches()), (Ok(()), 3));
    }
}
