//! A transfer line: one transfer after the other, in the order of booking.

use foretell_units::{SimSpan, SimTime};

/// A channel, or one direction of an interface.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    /// When the last transfer booked ends.
    free: SimTime,
    /// Total time booked since the beginning.
    booked: SimSpan,
    /// Busy time until measuring began.
    before: SimSpan,
}

impl Line {
    /// Books a transfer that could begin at `now`. Returns when it ends. `now` must not go
    /// backwards.
    pub(crate) fn book(&mut self, now: SimTime, span: SimSpan) -> SimTime {
        self.free = self.free.max(now) + span;
        self.booked += span;
        self.free
    }

    /// Measuring begins.
    pub(crate) fn mark(&mut self, now: SimTime) {
        self.before = self.busy(now);
    }

    /// Busy time since measuring began.
    pub(crate) fn busy_since_mark(&self, now: SimTime) -> SimSpan {
        self.busy(now) - self.before
    }

    /// Busy time until `now`. Bookings that reach beyond `now` are one contiguous piece that begins
    /// at `now` or before.
    fn busy(&self, now: SimTime) -> SimSpan {
        self.booked - self.free.saturating_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_follow_one_another() {
        let ns = SimSpan::from_ns;
        let at = SimTime::from_ns;
        let mut line = Line::default();
        assert_eq!(line.book(at(10), ns(5)), at(15));
        assert_eq!(line.book(at(12), ns(5)), at(20));
        line.mark(at(17));
        assert_eq!(line.book(at(30), ns(10)), at(40));
        // busy from 17 to 20 and from 30 to 33
        assert_eq!(line.busy_since_mark(at(33)), ns(6));
    }
}
