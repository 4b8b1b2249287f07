//! Clocks that tick independently.
//!
//! Periodic activity in a computer (a flusher that looks for old pages, a journal that commits, a
//! node that reports) uses a timer that was started at an arbitrary time. So two hosts with the same
//! software tick at the same rate, but not together: each has a *phase*, which the builder of the
//! hosts draws from a random stream of the host.

use crate::{SimSpan, SimTime, Stream};

/// A clock that first ticks `phase` after the start of the simulation, and then every `period`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beat {
    period: SimSpan,
    phase: Phase,
}

/// The time of a clock's first tick.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Known(SimSpan),
    Unknown,
}

impl Beat {
    /// Ticks every `period` (at least a nanosecond), shifted by `phase` modulo the period.
    pub fn new(period: SimSpan, phase: SimSpan) -> Self {
        let period = period.max(SimSpan::from_ns(1));
        Self { period, phase: Phase::Known(SimSpan::from_ns(phase.as_ns() % period.as_ns())) }
    }

    /// Ticks every `period`, at a phase that is not known. From any time, the next tick is half a period away: the mean.
    pub fn unknown(period: SimSpan) -> Self {
        Self { phase: Phase::Unknown, ..Self::new(period, SimSpan::ZERO) }
    }

    /// Ticks every `period`, at a phase drawn from `stream`.
    pub fn drawn(period: SimSpan, stream: &mut Stream) -> Self {
        Self::new(period, stream.part_of(period))
    }

    /// Time of the first tick, from the start.
    pub fn phase(self) -> SimSpan {
        match self.phase {
            Phase::Known(phase) => phase,
            Phase::Unknown => self.period / 2,
        }
    }

    /// The first tick after `now`; a tick at `now` does not count.
    pub fn after(self, now: SimTime) -> SimTime {
        let Phase::Known(phase) = self.phase else { return now + self.period / 2 };
        let period = self.period.as_ns();
        match now.as_ns().checked_sub(phase.as_ns()) {
            None => SimTime::ZERO + phase,
            Some(since) => now + SimSpan::from_ns(period - since % period),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    fn s(seconds: u64) -> SimTime {
        SimTime::ZERO + SimSpan::from_secs(seconds)
    }

    #[test]
    fn ticks_follow_each_other_by_a_period_from_the_phase_on() {
        let beat = Beat::new(SimSpan::from_secs(5), SimSpan::from_secs(2));
        assert_eq!(beat.after(s(0)), s(2));
        assert_eq!(beat.after(s(1)), s(2));
        // a tick at the present time is over
        assert_eq!(beat.after(s(2)), s(7));
        assert_eq!(beat.after(s(3)), s(7));
        assert_eq!(beat.after(s(7)), s(12));
        // whole periods do not count in the phase
        assert_eq!(Beat::new(SimSpan::from_secs(5), SimSpan::from_secs(17)), beat);
        assert_eq!(
            Beat::new(SimSpan::ZERO, SimSpan::from_secs(1)).after(s(3)).as_ns(),
            3_000_000_001
        );
    }

    #[test]
    fn the_next_tick_of_an_unknown_clock_is_always_half_a_period_away() {
        let beat = Beat::unknown(SimSpan::from_secs(4));
        for now in [0, 1, 7, 8] {
            assert_eq!(beat.after(s(now)), s(now + 2));
        }
        assert_eq!(beat.phase(), SimSpan::from_secs(2));
    }

    #[test]
    fn phases_are_spread_over_the_period() {
        let period = SimSpan::from_secs(5);
        let mut quarters = [0; 4];
        for host in 0..4000 {
            let beat = Beat::drawn(period, &mut Seed(7).stream(&format!("host/{host}/flusher")));
            quarters[(beat.phase().as_ns() * 4 / period.as_ns()) as usize] += 1;
        }
        // 1000 each, standard deviation √(4000 · ¼ · ¾) = 27; the limit is four of them
        assert!(quarters.iter().all(|count: &i32| (count - 1000).abs() < 110), "{quarters:?}");
    }
}
