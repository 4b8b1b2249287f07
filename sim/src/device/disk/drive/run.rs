//! Sectors that pass the head one after the other.

use foretell_units::{SimSpan, SimTime};

/// Time for which one sector is under the head, in nanoseconds times 2³².
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pace(u64);

impl Pace {
    /// No time: for sectors that have been read before.
    pub(super) const NONE: Self = Self(0);

    /// Pace on a track of `per_track` sectors that takes `period_ns`.
    pub(super) fn new(period_ns: u64, per_track: u32) -> Self {
        Self((period_ns << 32) / u64::from(per_track))
    }

    /// Time for `count` sectors.
    pub(super) fn span(self, count: u64) -> SimSpan {
        SimSpan::from_ns(((u128::from(count) * u128::from(self.0)) >> 32) as u64)
    }

    /// Number of sectors that begin within `span`; one that begins at its end is not counted.
    pub(super) fn begun_within(self, span: SimSpan) -> u64 {
        (span.as_ns() << 32).div_ceil(self.0.max(1))
    }

    /// Number of whole sectors that pass within `span`.
    pub(super) fn whole_within(self, span: SimSpan) -> u64 {
        (span.as_ns() << 32) / self.0.max(1)
    }

    /// Number of sectors that are done within `span`, which is at most a second or two.
    fn done_within(self, span: SimSpan) -> u64 {
        // k are done if ⌊k·pace / 2³²⌋ ≤ span
        (((span.as_ns() + 1) << 32) - 1) / self.0.max(1)
    }
}

/// Consecutive sectors: on the medium, or in the buffer at once (pace [`Pace::NONE`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// Address of the first sector.
    pub(super) first: u64,
    /// Number of sectors.
    pub(super) count: u64,
    /// Time at which the first sector begins to pass.
    pub(super) start: SimTime,
    /// Time of each sector.
    pub(super) pace: Pace,
}

impl Run {
    /// Address after the last sector.
    pub(super) fn next(&self) -> u64 {
        self.first + self.count
    }

    /// Time at which the last sector is done.
    pub(super) fn end(&self) -> SimTime {
        self.done(self.count)
    }

    /// Time at which `count` sectors are done.
    pub(super) fn done(&self, count: u64) -> SimTime {
        self.start + self.pace.span(count)
    }

    /// Number of sectors that are done at `now`.
    pub(super) fn done_by(&self, now: SimTime) -> u64 {
        if now < self.start {
            0
        } else if self.end() <= now {
            self.count
        } else {
            self.pace.done_within(now - self.start).min(self.count)
        }
    }

    /// The part of the run from address `first` to before `next`.
    pub(super) fn part(&self, first: u64, next: u64) -> Self {
        let first = first.max(self.first);
        let count = next.min(self.next()).saturating_sub(first);
        Self { first, count, start: self.done(first - self.first), pace: self.pace }
    }
}
