//! A host's processor, as far as a predictor needs it: cores that share one queue, first come, first
//! served. Left out: that long tasks are interrupted for others (their quantum is longer than
//! nearly all tasks).

use foretell_units::{SimSpan, SimTime, Thread};

/// Cores of a host.
#[derive(Debug)]
pub(super) struct Cores {
    each: Vec<Core>,
    switch: SimSpan,
    /// Busy time that was begun, switches included.
    busy: SimSpan,
    tasks: u64,
}

#[derive(Clone, Copy, Debug)]
struct Core {
    free_at: SimTime,
    /// Who ran last.
    thread: Thread,
}

/// When a task is done, and what was recorded of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Booked {
    pub(super) done: SimTime,
    /// Whether the core had been idle.
    pub(super) was_idle: bool,
}

impl Cores {
    pub(super) fn new(cores: u32, switch: SimSpan) -> Self {
        let core = Core { free_at: SimTime::ZERO, thread: Thread::IDLE };
        Self { each: vec![core; cores as usize], switch, busy: SimSpan::ZERO, tasks: 0 }
    }

    /// A thread's work; the first idle core takes it, or the one that is free first.
    pub(super) fn submit(&mut self, now: SimTime, thread: Thread, work: SimSpan) -> Booked {
        let mut best = 0;
        for (index, core) in self.each.iter().enumerate() {
            if core.free_at <= now {
                best = index;
                break;
            }
            if core.free_at < self.each[best].free_at {
                best = index;
            }
        }
        let core = &mut self.each[best];
        let was_idle = core.free_at <= now;
        let switch = if core.thread == thread { SimSpan::ZERO } else { self.switch };
        let done = core.free_at.max(now) + switch + work;
        (core.free_at, core.thread) = (done, thread);
        self.busy += switch + work;
        self.tasks += 1;
        Booked { done, was_idle }
    }

    /// Busy time of all cores together until `now`.
    pub(super) fn busy(&self, now: SimTime) -> SimSpan {
        let ahead = self.each.iter().map(|core| core.free_at.saturating_since(now));
        ahead.fold(self.busy, SimSpan::saturating_sub)
    }

    pub(super) fn count(&self) -> usize {
        self.each.len()
    }
}
