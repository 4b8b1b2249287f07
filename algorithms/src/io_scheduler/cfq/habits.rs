//! CFQ's statistics of how a thread issues its reads.

use foretell_units::{Sectors, SimSpan, SimTime};

use super::IDLE;
use crate::io_scheduler::Io;

/// Maximum time for which the disk is kept idle for a thread that seeks.
const IDLE_SEEKY: SimSpan = SimSpan::from_ms(2);
/// A jump of more sectors than this is a seek.
const SEEK: u64 = 800;
/// A thread counts as seeking if more than this number of its last 32 operations are seeks.
const SEEKS: u32 = 32 / 8;

/// Statistics of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Habits {
    /// Weighted as in the kernel: each new sample has a weight of one eighth.
    samples: u64,
    total_ns: u64,
    mean: SimSpan,
    /// The last 32 operations, one bit each: whether the operation was a seek.
    seeks: u32,
    /// Where its last operation ended.
    place: Option<Sectors>,
    /// When its last request was done.
    done: Option<SimTime>,
}

impl Habits {
    /// The thread issues an operation; `merged`: it was merged into a waiting request.
    pub(super) fn issues<T>(&mut self, now: SimTime, io: &Io<T>, merged: bool) {
        let place = self.place.replace(io.lbn + io.sectors);
        if merged {
            return;
        }
        if let Some(done) = self.done {
            let think = now.saturating_since(done).min(IDLE * 2);
            self.samples = (7 * self.samples + 256) / 8;
            self.total_ns = (7 * self.total_ns + 256 * think.as_ns()) / 8;
            self.mean = SimSpan::from_ns((self.total_ns + 128) / self.samples);
        }
        if let Some(place) = place {
            let jump = place.get().abs_diff(io.lbn.get()) > SEEK;
            self.seeks = self.seeks << 1 | u32::from(jump);
        }
    }

    /// One of its requests is done.
    pub(super) fn done(&mut self, now: SimTime) {
        self.done = Some(now);
    }

    /// Whether it seeks.
    pub(super) fn seeky(&self) -> bool {
        self.seeks.count_ones() > SEEKS
    }

    /// Mean think time between two operations, once about three have been seen.
    pub(super) fn think(&self) -> Option<SimSpan> {
        (self.samples > 80).then_some(self.mean)
    }

    /// How long the disk is kept idle for the thread's next operation; `disk_queues`: whether the
    /// disk holds several commands.
    pub(super) fn idle(&self, disk_queues: bool) -> SimSpan {
        match self.think() {
            Some(think) if think > IDLE => SimSpan::ZERO,
            _ if self.seeky() && disk_queues => SimSpan::ZERO,
            _ if self.seeky() => IDLE_SEEKY,
            _ => IDLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Op;

    fn io(lbn: u64) -> Io<()> {
        Io { lbn: Sectors(lbn), sectors: Sectors(8), op: Op::Read, thread: 0, tag: () }
    }

    fn ms(ms: u64) -> SimTime {
        SimTime::ZERO + SimSpan::from_ms(ms)
    }

    #[test]
    fn five_jumps_of_more_than_800_sectors_in_32_make_a_thread_seeky() {
        let mut habits = Habits::default();
        let mut place = 0;
        let mut issue = |jump: u64| {
            habits.issues(ms(0), &io(place + jump), false);
            place += jump + 8;
            habits
        };
        issue(0);
        for _ in 0..4 {
            assert!(!issue(801).seeky());
        }
        assert_eq!(issue(800).idle(true), SimSpan::from_ms(8), "800 is not a jump");
        assert!(issue(801).seeky());
        assert_eq!(issue(0).idle(false), SimSpan::from_ms(2));
        assert_eq!(issue(0).idle(true), SimSpan::ZERO);
        // the bits, newest last, are 1111 0 1 00: after 25 more sequential ones the first is shifted out
        for _ in 0..24 {
            assert!(issue(0).seeky());
        }
        assert!(!issue(0).seeky());
    }

    #[test]
    fn the_third_sample_counts_and_a_thread_that_thinks_for_more_than_8_ms_is_not_waited_for() {
        let mut habits = Habits::default();
        for (number, known) in [false, false, true].into_iter().enumerate() {
            habits.done(ms(100 * number as u64));
            habits.issues(ms(100 * number as u64 + 9), &io(8 * number as u64), false);
            // weights 32, 60, 84: the kernel counts on more than 80
            assert_eq!(habits.think().is_some(), known);
        }
        // totals 288, 540, (7 × 540 + 256 × 9) / 8 = 760.5 ms; over 84, which is 84.5 rounded down
        assert_eq!(habits.think().unwrap().as_ns() / 1000, 9053);
        assert_eq!(habits.idle(false), SimSpan::ZERO);
    }

    #[test]
    fn what_is_merged_is_no_sample_but_moves_the_place() {
        let mut habits = Habits::default();
        habits.issues(ms(0), &io(0), false);
        habits.issues(ms(0), &io(8), true);
        habits.issues(ms(0), &io(16 + 800), false);
        assert_eq!(habits.seeks, 0);
    }
}
