//! The cores of a host, which share one ready queue: round-robin with a quantum.
//!
//! A thread that becomes ready joins the end of the queue; a free core takes the first. A thread
//! keeps its core while it does not block: if a step of a task creates work for its own processor,
//! the core does that next, message after message, until no work is left or the quantum is used up.
//! Then, if other threads wait, the core takes the first of them, and the interrupted thread goes
//! to the end of the queue. A core that switches to another thread than its last one first spends
//! the time of a context switch.
//!
//! With simultaneous multithreading, two of the cores here are one physical core, which does less
//! than twice the work of one thread. Operating systems use physical cores first, so up to half of
//! the threads run at full speed; each further one shares a core. All threads run at the same
//! average speed, which follows from the number that run when a slice begins.
//!
//! The simulator and the predictor share this code. Not modelled: priorities, affinity, caches,
//! interrupts that steal time from the running thread (their cost is part of the work of the
//! message that caused them).
#![allow(clippy::struct_field_names, reason = "cores of a host")]

use std::collections::VecDeque;

use foretell_units::{Breadcrumb, SimSpan, SimTime, Thread};

use crate::slab::Slab;

/// Work for the processor; `T` says what follows when it is done.
#[derive(Clone, Copy, Debug)]
pub struct Task<T> {
    /// The thread that runs.
    pub thread: Thread,
    /// The request that it runs for.
    pub breadcrumb: Breadcrumb,
    /// Time on the core.
    pub work: SimSpan,
    /// What the caller does when the work is done.
    pub then: T,
}

/// A core starts to run a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Which core.
    pub core: u32,
    /// The thread that ran before; idle if none.
    pub from: Thread,
    /// The request that it ran for.
    pub from_breadcrumb: Breadcrumb,
    /// The thread that runs now.
    pub to: Thread,
    /// The request that it runs for.
    pub breadcrumb: Breadcrumb,
    /// When to call [`Cores::step_ends`].
    pub end: SimTime,
}

/// The result of a slice's end.
#[derive(Clone, Copy, Debug)]
pub struct StepEnd<T> {
    /// The thread that ran.
    pub ran: Thread,
    /// The request that it ran for.
    pub breadcrumb: Breadcrumb,
    /// When the slice was begun.
    pub started: SimTime,
    /// When its task was submitted.
    pub arrived: SimTime,
    /// The follow-up of the completed work, unless only the quantum was used up. The core is then
    /// held: it takes work from [`Cores::follow`] and runs nothing until [`Cores::go_on`].
    pub done: Option<T>,
    /// The next slice of the core, if it is not held.
    pub next: Option<Slice>,
}

/// Cores with one ready queue.
#[derive(Clone, Debug)]
pub struct Cores<T> {
    cores: Vec<Core<T>>,
    /// A bit for each core that is idle.
    idle: Vec<u64>,
    idle_count: u32,
    ready: VecDeque<Waiting<T>>,
    following: Slab<Following<T>>,
    quantum: SimSpan,
    context_switch: SimSpan,
    switches: u64,
    /// Throughput of two threads on a physical core, as a multiple of one; `None`: each core is physical.
    smt: Option<f64>,
}

/// A core; with a `T` of eight bytes it fills one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Core<T> {
    running: Option<Job<T>>,
    started: SimTime,
    /// The rest of the quantum after the running slice.
    quantum: SimSpan,
    /// The running thread, or the last one.
    thread: Thread,
    follows: Chain,
}

/// Unfinished work for the processor; its thread is stored beside it.
#[derive(Clone, Copy, Debug)]
struct Job<T> {
    breadcrumb: Breadcrumb,
    then: T,
    /// Remaining work after the running slice.
    left: SimSpan,
    arrived: SimTime,
}

/// A ready thread.
#[derive(Clone, Copy, Debug)]
struct Waiting<T> {
    thread: Thread,
    job: Job<T>,
    /// Its further steps, which do not give up the core.
    follows: Chain,
}

/// The first and last of a chain of steps.
#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Following<T> {
    thread: Thread,
    job: Job<T>,
    next: u32,
}

const NONE: u32 = u32::MAX;

impl Chain {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

impl<T: Copy> Cores<T> {
    /// `cores` idle cores, at least one.
    pub fn new(cores: u32, quantum: SimSpan, context_switch: SimSpan) -> Self {
        assert!(cores > 0);
        assert!(!quantum.is_zero());
        let core = Core {
            running: None,
            started: SimTime::ZERO,
            quantum,
            thread: Thread::IDLE,
            follows: Chain::EMPTY,
        };
        let bits = |word: u32| match cores - word * 64 {
            rest @ 0..64 => (1 << rest) - 1,
            _ => u64::MAX,
        };
        Self {
            cores: vec![core; cores as usize],
            idle: (0..cores.div_ceil(64)).map(bits).collect(),
            idle_count: cores,
            ready: VecDeque::new(),
            following: Slab::new(),
            quantum,
            context_switch,
            switches: 0,
            smt: None,
        }
    }

    /// The same with two hardware threads for each physical core, which together do `smt` times the work of one.
    #[must_use]
    pub fn with_smt(self, smt: Option<f64>) -> Self {
        Self { smt, ..self }
    }

    /// Duration of a slice of work with the number of threads that run now.
    fn stretched(&self, work: SimSpan) -> SimSpan {
        let Some(smt) = self.smt else { return work };
        let (busy, physical) = (self.count() - self.idle_count, self.count().div_ceil(2));
        let Some(sharing) = busy.checked_sub(physical).filter(|sharing| *sharing > 0) else {
            return work;
        };
        let done = f64::from(physical) + (smt - 1.0) * f64::from(sharing);
        SimSpan::from_ns((work.as_ns() as f64 * f64::from(busy) / done).round() as u64)
    }

    /// Makes `task` ready. Returns the slice if a core was free; the first free core is used.
    pub fn submit(&mut self, now: SimTime, task: Task<T>) -> Option<Slice> {
        let (thread, job) = job_of(now, task);
        let waiting = Waiting { thread, job, follows: Chain::EMPTY };
        if self.idle_count == 0 {
            self.ready.push_back(waiting);
            return None;
        }
        let word = self.idle.iter().position(|&bits| bits != 0).expect("a core is idle");
        let core = word * 64 + self.idle[word].trailing_zeros() as usize;
        self.idle[word] &= self.idle[word] - 1;
        self.idle_count -= 1;
        Some(self.take_up(now, core, waiting, Thread::IDLE, Breadcrumb::NONE))
    }

    /// The running slice of `core` ends.
    pub fn step_ends(&mut self, now: SimTime, core: u32) -> StepEnd<T> {
        let index = core as usize;
        let core = &mut self.cores[index];
        let job = core.running.take().expect("a slice was running");
        let (ran, breadcrumb) = (core.thread, job.breadcrumb);
        let (started, arrived) = (core.started, job.arrived);
        let (mut done, mut next) = (None, None);
        if job.left.is_zero() {
            done = Some(job.then);
        } else {
            next = Some(self.interrupt(now, index, ran, job, breadcrumb));
        }
        StepEnd { ran, breadcrumb, started, arrived, done, next }
    }

    /// Adds work for the thread that holds `core`, after all work added before.
    pub fn follow(&mut self, now: SimTime, core: u32, task: Task<T>) {
        let (thread, job) = job_of(now, task);
        let added = self.following.insert(Following { thread, job, next: NONE });
        let core = &mut self.cores[core as usize];
        assert!(core.running.is_none(), "the core is held");
        if core.follows.first == NONE {
            core.follows.first = added;
        } else {
            self.following[core.follows.last].next = added;
        }
        core.follows.last = added;
    }

    /// Releases a held core. It continues with the added work, or else with the first ready thread;
    /// `None`: it idles. `ran`: the request that it ran for.
    pub fn go_on(&mut self, now: SimTime, core: u32, ran: Breadcrumb) -> Option<Slice> {
        let index = core as usize;
        let core = &mut self.cores[index];
        let from = core.thread;
        if core.follows.first != NONE {
            let Following { thread, job, next } = *self.following.remove(core.follows.first);
            core.follows.first = next;
            if core.quantum.is_zero() {
                return Some(self.interrupt(now, index, thread, job, ran));
            }
            return Some(self.run(now, index, thread, job, from, ran));
        }
        if let Some(waiting) = self.ready.pop_front() {
            return Some(self.take_up(now, index, waiting, from, ran));
        }
        self.idle[index / 64] |= 1 << (index % 64);
        self.idle_count += 1;
        None
    }

    /// The quantum of a core is used up: its thread goes to the end of the queue.
    fn interrupt(
        &mut self,
        now: SimTime,
        index: usize,
        thread: Thread,
        job: Job<T>,
        ran: Breadcrumb,
    ) -> Slice {
        let core = &mut self.cores[index];
        let from = core.thread;
        let mut next = Waiting { thread, job, follows: core.follows };
        if let Some(first) = self.ready.pop_front() {
            self.ready.push_back(next);
            next = first;
        }
        self.take_up(now, index, next, from, ran)
    }

    /// A core starts to run a thread, with a new quantum.
    fn take_up(
        &mut self,
        now: SimTime,
        index: usize,
        waiting: Waiting<T>,
        from: Thread,
        from_breadcrumb: Breadcrumb,
    ) -> Slice {
        let core = &mut self.cores[index];
        (core.quantum, core.follows) = (self.quantum, waiting.follows);
        self.run(now, index, waiting.thread, waiting.job, from, from_breadcrumb)
    }

    fn run(
        &mut self,
        now: SimTime,
        index: usize,
        thread: Thread,
        mut job: Job<T>,
        from: Thread,
        from_breadcrumb: Breadcrumb,
    ) -> Slice {
        let slice = job.left.min(self.cores[index].quantum);
        let lasts = self.stretched(slice);
        let core = &mut self.cores[index];
        let switch = if core.thread == thread {
            SimSpan::ZERO
        } else {
            self.switches += 1;
            self.context_switch
        };
        job.left -= slice;
        core.quantum -= slice;
        (core.thread, core.started) = (thread, now);
        core.running = Some(job);
        Slice {
            core: index as u32,
            from,
            from_breadcrumb,
            to: thread,
            breadcrumb: job.breadcrumb,
            end: now + switch + lasts,
        }
    }

    /// Number of cores.
    pub fn count(&self) -> u32 {
        self.cores.len() as u32
    }

    /// Cores that run nothing, and are not held.
    pub fn idle(&self) -> u32 {
        self.idle_count
    }

    /// Context switches so far.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// For each unfinished task: when it was submitted and, if it runs, when its slice began.
    pub fn present(&self) -> impl Iterator<Item = (SimTime, Option<SimTime>)> {
        let running = self.cores.iter().filter_map(|core| {
            let job = core.running?;
            Some((job.arrived, Some(core.started)))
        });
        let ready = self.ready.iter().map(|waiting| (waiting.job.arrived, None));
        let chains = self.cores.iter().map(|core| core.follows.first);
        let chains = chains.chain(self.ready.iter().map(|waiting| waiting.follows.first));
        let follow = chains.flat_map(|first| self.chain(first)).map(|job| (job.arrived, None));
        running.chain(ready).chain(follow)
    }

    fn chain(&self, first: u32) -> impl Iterator<Item = Job<T>> {
        let at = |place: u32| (place != NONE).then(|| self.following[place]);
        let next = move |step: &Following<T>| at(step.next);
        std::iter::successors(at(first), next).map(|step| step.job)
    }
}

fn job_of<T>(now: SimTime, task: Task<T>) -> (Thread, Job<T>) {
    let Task { thread, breadcrumb, work, then } = task;
    (thread, Job { breadcrumb, then, left: work, arrived: now })
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

    /// Ends a slice and adds the follow-up tasks. Returns the completed task, and the next slice.
    fn end(
        cores: &mut Cores<u32>,
        now: SimTime,
        core: u32,
        follows: &[Task<u32>],
    ) -> (Option<u32>, Option<Slice>) {
        let end = cores.step_ends(now, core);
        let Some(done) = end.done else { return (None, end.next) };
        for &task in follows {
            cores.follow(now, core, task);
        }
        (Some(done), cores.go_on(now, core, end.breadcrumb))
    }

    #[test]
    fn closed_form_threads_of_one_core_slow_each_other_down() {
        // four threads on two physical cores; two threads on one do 1.5 times the work of one
        let mut cores = Cores::new(4, SimSpan::from_ms(10), SimSpan::ZERO).with_smt(Some(1.5));
        let lasts: Vec<u64> = (1..=5)
            .filter_map(|tid| cores.submit(us(0), task(tid, 30)))
            .map(|slice| (slice.end - us(0)).as_ns() / 1000)
            .collect();
        // one and two at full speed; three do 2.5 in total, four do 3: 30 x 3 / 2.5 and 30 x 4 / 3
        assert_eq!(lasts, [30, 30, 36, 40]);
        // the fifth begins when one is done, so that four run again
        let (done, next) = end(&mut cores, us(30), 0, &[]);
        assert_eq!((done, next.unwrap().end), (Some(1), us(70)));
    }

    #[test]
    fn round_robin_by_hand() {
        // One core, quantum 10 us, switch 1 us. Thread 1 has 15 us of work, thread 2 has 5 us.
        let mut cores = Cores::new(1, SimSpan::from_us(10), SimSpan::from_us(1));
        assert_eq!(cores.submit(us(0), task(1, 15)).unwrap().end, us(11));
        assert_eq!(cores.submit(us(0), task(2, 5)), None);
        // 1 has run 10 of 15; 2 is taken up: 11 + 1 + 5
        let (done, next) = end(&mut cores, us(11), 0, &[]);
        assert_eq!((done, next.unwrap().end), (None, us(17)));
        // 2 is done; 1 goes on with its last 5: 17 + 1 + 5
        let (done, next) = end(&mut cores, us(17), 0, &[]);
        assert_eq!((done, next.unwrap().end), (Some(2), us(23)));
        assert_eq!(end(&mut cores, us(23), 0, &[]), (Some(1), None));
        assert_eq!((cores.switches(), cores.idle()), (3, 1));
    }

    #[test]
    fn what_does_not_block_keeps_its_core() {
        // Thread 1 does 5 us, then two steps of 4 us each, while thread 2 waits: the quantum, 10 us, ends
        // 1 us into the last of them.
        let mut cores = Cores::new(1, SimSpan::from_us(10), SimSpan::ZERO);
        assert_eq!(cores.submit(us(0), task(1, 5)).unwrap().end, us(5));
        assert_eq!(cores.submit(us(1), task(2, 3)), None);
        let (done, next) = end(&mut cores, us(5), 0, &[task(1, 4), task(1, 4)]);
        assert_eq!((done, next.unwrap().end), (Some(1), us(9)));
        assert_eq!(cores.present().count(), 3);
        assert_eq!(end(&mut cores, us(9), 0, &[]).1.unwrap().end, us(10));
        let (done, next) = end(&mut cores, us(10), 0, &[]);
        assert_eq!((done, next.unwrap().to.tid, next.unwrap().end), (None, 2, us(13)));
        let (done, next) = end(&mut cores, us(13), 0, &[]);
        assert_eq!((done, next.unwrap().to.tid, next.unwrap().end), (Some(2), 1, us(16)));
        // a step that begins when the quantum has just been used up also waits, with all that follows it
        assert_eq!(cores.submit(us(14), task(3, 10)), None);
        let (_, next) = end(&mut cores, us(16), 0, &[task(1, 7), task(1, 1), task(1, 1)]);
        assert_eq!(next.unwrap().end, us(23));
        let (_, next) = end(&mut cores, us(23), 0, &[]);
        assert_eq!((next.unwrap().to.tid, next.unwrap().end), (3, us(33)));
        assert_eq!(cores.present().count(), 3);
        let (_, next) = end(&mut cores, us(33), 0, &[]);
        assert_eq!((next.unwrap().to.tid, next.unwrap().end), (1, us(34)));
        assert_eq!(end(&mut cores, us(34), 0, &[]).1.unwrap().end, us(35));
        assert_eq!(end(&mut cores, us(35), 0, &[]), (Some(1), None));
    }

    #[test]
    fn a_thread_alone_is_not_switched() {
        let mut cores = Cores::new(2, SimSpan::from_us(10), SimSpan::from_us(1));
        let first = cores.submit(us(0), task(1, 25)).unwrap();
        assert_eq!((first.from, first.end), (Thread::IDLE, us(11)));
        let second = end(&mut cores, us(11), 0, &[]).1.unwrap();
        assert_eq!((second.from, second.end), (Thread { pid: 1, tid: 1 }, us(21)));
    }

    #[test]
    fn a_core_that_is_held_takes_nothing_else() {
        let mut cores = Cores::new(2, SimSpan::from_ms(10), SimSpan::ZERO);
        cores.submit(us(0), task(1, 5));
        assert_eq!(cores.step_ends(us(5), 0).done, Some(1));
        // a thread that this wakes finds the other core
        assert_eq!(cores.submit(us(5), task(2, 5)).unwrap().core, 1);
        assert_eq!(cores.submit(us(5), task(3, 5)), None);
        cores.follow(us(5), 0, task(1, 5));
        assert_eq!(cores.go_on(us(5), 0, Breadcrumb(1)).unwrap().to.tid, 1);
    }

    #[test]
    fn the_first_idle_core_is_taken_of_many() {
        let mut cores = Cores::new(130, SimSpan::from_ms(10), SimSpan::ZERO);
        for core in 0..130 {
            assert_eq!(cores.submit(us(0), task(core, 5)).unwrap().core, core);
        }
        assert_eq!(cores.submit(us(1), task(130, 1)), None);
        assert_eq!(end(&mut cores, us(5), 100, &[]).1.unwrap().to.tid, 130);
        for core in [129, 3, 64] {
            assert_eq!(end(&mut cores, us(5), core, &[]).1, None);
        }
        for core in [3, 64, 129] {
            assert_eq!(cores.submit(us(6), task(core, 5)).unwrap().core, core);
        }
    }

    #[test]
    fn a_core_is_one_line_of_the_cache() {
        // like an event's follow-up, this type has a niche
        assert_eq!(size_of::<Core<(std::num::NonZero<u32>, u32)>>(), 64);
    }
}
