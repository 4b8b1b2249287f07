//! A host's processor: its cores, scheduled by the host's own scheduler, and its busy time.

use foretell_algorithms::cores::{Cores, Slice, Task};
use foretell_systems::Continuation;
use foretell_units::{Breadcrumb, SimSpan, SimTime, Thread};

/// The processor of a host.
#[derive(Debug)]
pub(super) struct Cpu {
    cores: Cores<Continuation>,
    /// Busy time of ended slices, including context switches.
    busy: SimSpan,
}

/// The result of a slice's end.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepEnd {
    /// The completed work; `None` if only the quantum was used up. The core is held until [`Cpu::go_on`].
    pub(super) done: Option<Continuation>,
    /// The core's next slice, if it is not held.
    pub(super) next: Option<Slice>,
}

fn task(thread: Thread, work: SimSpan, then: Continuation) -> Task<Continuation> {
    Task { thread, breadcrumb: Breadcrumb::NONE, work, then }
}

impl Cpu {
    pub(super) fn new(cores: u32, quantum: SimSpan, context_switch: SimSpan) -> Self {
        Self { cores: Cores::new(cores, quantum, context_switch), busy: SimSpan::ZERO }
    }

    /// Gives each physical core two hardware threads. Together they do `smt` times the work of one.
    pub(super) fn with_smt(self, smt: Option<f64>) -> Self {
        Self { cores: self.cores.with_smt(smt), ..self }
    }

    /// A thread has work. Returns the slice if a core was free for it.
    pub(super) fn submit(
        &mut self,
        now: SimTime,
        thread: Thread,
        work: SimSpan,
        then: Continuation,
    ) -> Option<Slice> {
        self.cores.submit(now, task(thread, work, then))
    }

    /// The thread that holds a core has more work.
    pub(super) fn follow(
        &mut self,
        now: SimTime,
        core: u32,
        thread: Thread,
        work: SimSpan,
        then: Continuation,
    ) {
        self.cores.follow(now, core, task(thread, work, then));
    }

    /// The running slice of a core ends.
    pub(super) fn step_ends(&mut self, now: SimTime, core: u32) -> StepEnd {
        let end = self.cores.step_ends(now, core);
        self.busy += now - end.started;
        StepEnd { done: end.done, next: end.next }
    }

    /// Releases a held core. Returns its next slice; `None`: it idles.
    pub(super) fn go_on(&mut self, now: SimTime, core: u32) -> Option<Slice> {
        self.cores.go_on(now, core, Breadcrumb::NONE)
    }

    /// Busy time of all cores together until `now`.
    pub(super) fn busy(&self, now: SimTime) -> SimSpan {
        let running = self.cores.present().filter_map(|(_, started)| started);
        running.fold(self.busy, |busy, started| busy + (now - started))
    }

    pub(super) fn count(&self) -> usize {
        self.cores.count() as usize
    }
}
