//! A host's processor: cores that share one ready queue, round-robin with a quantum.
//!
//! A thread that becomes ready joins the end of the queue; a free core takes the first. A thread
//! that has used up its quantum goes to the end if others wait. A core that takes up another thread
//! than it ran last first loses the time of a context switch. Not modelled: priorities, affinity,
//! caches, interrupts that steal time from the running thread (their cost is in the work of the
//! message that caused them), simultaneous multithreading.

use std::collections::VecDeque;

use foretell_units::{Breadcrumb, SimSpan, SimTime};

pub use foretell_units::Thread;

use crate::ledger::{Ledger, Usage, Violation};

/// Work for the processor; `T` says what happens when it is done.
#[derive(Clone, Copy, Debug)]
pub struct Task<T> {
    /// Who runs.
    pub thread: Thread,
    /// For which request.
    pub breadcrumb: Breadcrumb,
    /// Time on the core.
    pub work: SimSpan,
    /// What the caller does when the work is done.
    pub then: T,
}

/// A core that takes up a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Which core.
    pub core: u32,
    /// Who ran before; idle if nobody.
    pub from: Thread,
    /// For which request.
    pub from_breadcrumb: Breadcrumb,
    /// Who runs now.
    pub to: Thread,
    /// For which request that runs now.
    pub breadcrumb: Breadcrumb,
    /// When to call [`Cpu::slice_ends`].
    pub end: SimTime,
}

/// What the end of a slice brings.
#[derive(Clone, Copy, Debug)]
pub struct SliceEnd<T> {
    /// Who ran.
    pub ran: Thread,
    /// For which request.
    pub breadcrumb: Breadcrumb,
    /// What is to be done now that the work is, unless the thread only used up its quantum.
    pub done: Option<T>,
    /// The next slice of that core; `None`: it idles.
    pub next: Option<Slice>,
}

/// Cores with one ready queue.
#[derive(Clone, Debug)]
pub struct Cpu<T> {
    cores: Vec<Core<T>>,
    idle: u32,
    ready: VecDeque<(Thread, Job<T>)>,
    quantum: SimSpan,
    context_switch: SimSpan,
    ledger: Ledger,
    switches: u64,
}

/// A core: one line of the cache for a `T` of eight bytes.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Core<T> {
    running: Option<Job<T>>,
    /// Work that the running slice does, without the context switch.
    slice: SimSpan,
    started: SimTime,
    /// Who runs, or ran last.
    thread: Thread,
}

/// A thread's work for the processor that is not done yet; the thread itself stands beside it.
#[derive(Clone, Copy, Debug)]
struct Job<T> {
    breadcrumb: Breadcrumb,
    then: T,
    left: SimSpan,
    arrived: SimTime,
}

impl<T: Copy> Cpu<T> {
    /// `cores` idle cores, one at the least.
    pub fn new(cores: u32, quantum: SimSpan, context_switch: SimSpan) -> Self {
        assert!(cores > 0);
        assert!(!quantum.is_zero());
        let core = Core {
            running: None,
            slice: SimSpan::ZERO,
            started: SimTime::ZERO,
            thread: Thread::IDLE,
        };
        Self {
            cores: vec![core; cores as usize],
            idle: cores,
            ready: VecDeque::new(),
            quantum,
            context_switch,
            ledger: Ledger::default(),
            switches: 0,
        }
    }

    /// Makes `task` ready. Returns the slice if a core was free for it.
    pub fn submit(&mut self, now: SimTime, task: Task<T>) -> Option<Slice> {
        self.ledger.arrive(now);
        let Task { thread, breadcrumb, work, then } = task;
        let job = Job { breadcrumb, then, left: work, arrived: now };
        if self.idle == 0 {
            self.ready.push_back((thread, job));
            return None;
        }
        let core = self.cores.iter().position(|core| core.running.is_none()).expect("idle > 0");
        self.idle -= 1;
        Some(self.take_up(now, core, thread, job, (Thread::IDLE, Breadcrumb::NONE)))
    }

    /// The running slice of `core` ends at `now`.
    pub fn slice_ends(&mut self, now: SimTime, core: u32) -> SliceEnd<T> {
        let index = core as usize;
        let core = &mut self.cores[index];
        let mut job = core.running.take().expect("a slice was running");
        let (ran, breadcrumb) = (core.thread, job.breadcrumb);
        job.left -= core.slice;
        self.ledger.stop(now, core.started);
        let done = job.left.is_zero().then_some(job.then);
        if done.is_some() {
            self.ledger.depart(now, job.arrived);
        } else {
            self.ready.push_back((ran, job));
        }
        let next = if let Some((thread, job)) = self.ready.pop_front() {
            Some(self.take_up(now, index, thread, job, (ran, breadcrumb)))
        } else {
            self.idle += 1;
            None
        };
        SliceEnd { ran, breadcrumb, done, next }
    }

    fn take_up(
        &mut self,
        now: SimTime,
        index: usize,
        thread: Thread,
        job: Job<T>,
        (from, from_breadcrumb): (Thread, Breadcrumb),
    ) -> Slice {
        let core = &mut self.cores[index];
        let switch = if core.thread == thread {
            SimSpan::ZERO
        } else {
            self.switches += 1;
            self.context_switch
        };
        core.thread = thread;
        core.slice = job.left.min(self.quantum);
        core.started = now;
        core.running = Some(job);
        self.ledger.start(now);
        Slice {
            core: index as u32,
            from,
            from_breadcrumb,
            to: thread,
            breadcrumb: job.breadcrumb,
            end: now + switch + core.slice,
        }
    }

    /// Cores that run nothing.
    pub fn idle(&self) -> u32 {
        self.idle
    }

    /// Threads that run or are ready.
    pub fn present(&self) -> u64 {
        self.ledger.present()
    }

    /// Time that cores were busy since the beginning, summed over them.
    pub fn busy(&mut self, now: SimTime) -> SimSpan {
        self.ledger.busy(now)
    }

    /// Context switches so far.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        self.ledger.mark(now);
    }

    /// What the processor did since the mark.
    pub fn usage(&mut self, now: SimTime) -> Usage {
        self.ledger.usage(now, self.cores.len() as u32)
    }

    /// Whether the operational laws hold.
    pub fn audit(&mut self, now: SimTime) -> Result<(), Violation> {
        let running = self
            .cores
            .iter()
            .filter_map(|core| core.running.map(|job| (job.arrived, Some(core.started))));
        let ready = self.ready.iter().map(|(_, job)| (job.arrived, None));
        self.ledger.audit(now, running.chain(ready))
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
    fn round_robin_by_hand() {
        // One core, quantum 10 us, switch 1 us. Thread 1 has 15 us of work, thread 2 has 5 us.
        let mut cpu = Cpu::new(1, SimSpan::from_us(10), SimSpan::from_us(1));
        assert_eq!(cpu.submit(us(0), task(1, 15)).unwrap().end, us(11));
        assert_eq!(cpu.submit(us(0), task(2, 5)), None);
        // 1 has run 10 of 15; 2 is taken up: 11 + 1 + 5
        let end = cpu.slice_ends(us(11), 0);
        assert!(end.done.is_none());
        assert_eq!(end.next.unwrap().end, us(17));
        // 2 is done; 1 goes on with its last 5: 17 + 1 + 5
        let end = cpu.slice_ends(us(17), 0);
        assert_eq!(end.done.unwrap(), 2);
        assert_eq!(end.next.unwrap().end, us(23));
        let end = cpu.slice_ends(us(23), 0);
        assert_eq!((end.done.unwrap(), end.next), (1, None));
        assert_eq!(cpu.usage(us(46)).utilization, 0.5);
        assert_eq!(cpu.audit(us(46)), Ok(()));
        assert_eq!(cpu.switches(), 3);
    }

    #[test]
    fn a_thread_alone_is_not_switched() {
        let mut cpu = Cpu::new(2, SimSpan::from_us(10), SimSpan::from_us(1));
        let first = cpu.submit(us(0), task(1, 25)).unwrap();
        assert_eq!((first.from, first.end), (Thread::IDLE, us(11)));
        let second = cpu.slice_ends(us(11), 0).next.unwrap();
        assert_eq!((second.from, second.end), (Thread { pid: 1, tid: 1 }, us(21)));
    }
}
