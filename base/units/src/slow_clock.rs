//! The clock of a device that may be slow for a while.

use crate::{SimSpan, SimTime};

/// Factors are stored in millionths, so that converting forth and back is exact to the nanosecond.
const UNIT: u128 = 1_000_000;

/// The clock of a device that takes `factor` times as long for everything: it runs slower than the cluster's
/// clock by that factor. The device itself knows only its own time, so it need not know that it is slow.
#[derive(Clone, Copy, Debug)]
pub struct SlowClock {
    /// The factor in millionths, at least a million.
    factor: u128,
    /// Time at which the factor was set: by the cluster's clock, and by this one.
    since: (SimTime, SimTime),
}

impl Default for SlowClock {
    /// A clock that runs like the cluster's.
    fn default() -> Self {
        Self { factor: UNIT, since: (SimTime::ZERO, SimTime::ZERO) }
    }
}

impl SlowClock {
    /// Sets the factor from `now` on: everything takes `factor` times as long, 1 or more. `now` must not go
    /// backwards.
    pub fn set(&mut self, now: SimTime, factor: f64) {
        self.since = (now, self.own(now));
        self.factor = ((factor * UNIT as f64).round() as u128).max(UNIT);
    }

    /// This clock's reading at a time of the cluster, which must not be before the factor was set.
    #[inline]
    pub fn own(&self, now: SimTime) -> SimTime {
        let (since, own) = self.since;
        let passed = now.saturating_since(since);
        if self.factor == UNIT {
            return own + passed;
        }
        own + span(u128::from(passed.as_ns()) * UNIT / self.factor)
    }

    /// Time of the cluster at which this clock reads `own`, which must not be before the factor was set.
    /// [`SlowClock::own`] of the result is `own` again.
    #[inline]
    pub fn common(&self, own: SimTime) -> SimTime {
        let (since, began) = self.since;
        since + self.stretched(own.saturating_since(began))
    }

    /// Length by the cluster's clock of a time that takes `span` by this clock, rounded up.
    #[inline]
    pub fn stretched(&self, span: SimSpan) -> SimSpan {
        if self.factor == UNIT {
            return span;
        }
        self::span((u128::from(span.as_ns()) * self.factor).div_ceil(UNIT))
    }
}

fn span(ns: u128) -> SimSpan {
    SimSpan::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    #[test]
    fn what_is_due_takes_longer_from_the_moment_when_it_is_slow() {
        let mut clock = SlowClock::default();
        assert_eq!((clock.own(at(70)), clock.common(at(70))), (at(70), at(70)));
        // of 100 ns, 30 remain at 70, and take 120
        clock.set(at(70), 4.0);
        assert_eq!((clock.common(at(100)), clock.own(at(190))), (at(190), at(100)));
        assert_eq!(clock.stretched(SimSpan::from_ns(30)), SimSpan::from_ns(120));
        // at 110, 20 of them remain
        clock.set(at(110), 1.0);
        assert_eq!((clock.own(at(110)), clock.common(at(100))), (at(80), at(130)));
    }

    #[test]
    fn there_and_back_is_the_same_to_the_nanosecond() {
        for factor in [1.0, 1.000_001, 1.5, std::f64::consts::PI, 999.999_999] {
            let mut clock = SlowClock::default();
            clock.set(at(12_345_678_901), factor);
            for own in (0..2000).chain(1 << 40..(1 << 40) + 2000) {
                let own = at(12_345_678_901 + own);
                assert_eq!(clock.own(clock.common(own)), own, "{factor}");
            }
        }
    }
}
