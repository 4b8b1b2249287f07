//! Flushes of a device's volatile write buffer.
//!
//! A device without power-loss protection holds written data in a volatile buffer. They are durable after a flush that
//! begins when they have arrived. The device carries out one flush at a time, and each takes the same time. Writes that
//! arrive during a flush share the next one.
//!
//! Left out: flushes that take longer the more data they write, requests that are slower beside a flush.

use foretell_units::{SimSpan, SimTime};

/// The flushes of a device.
#[derive(Clone, Debug)]
pub struct Flushes {
    span: SimSpan,
    /// End of the last flush that has begun.
    end: SimTime,
    /// Whether another flush follows it at once.
    another: bool,
    /// Time of all flushes, including those that have not ended.
    total: SimSpan,
    /// Busy time up to the mark.
    before: SimSpan,
}

impl Flushes {
    /// None is in progress; each takes `span`.
    pub fn new(span: SimSpan) -> Self {
        let (end, total, before) = (SimTime::ZERO, SimSpan::ZERO, SimSpan::ZERO);
        Self { span, end, another: false, total, before }
    }

    /// Returns when data that arrived by `now` are durable. `now` must not go backwards.
    pub fn durable_at(&mut self, now: SimTime) -> SimTime {
        if self.another && now >= self.end {
            self.end += self.span;
            self.another = false;
        }
        if now >= self.end {
            self.end = now + self.span;
            self.total += self.span;
            return self.end;
        }
        // the flush in progress may have begun before these data arrived
        if !self.another {
            self.another = true;
            self.total += self.span;
        }
        self.end + self.span
    }

    /// Time spent flushing, from the beginning to `now`.
    fn busy_until(&self, now: SimTime) -> SimSpan {
        let last = if self.another { self.end + self.span } else { self.end };
        self.total.saturating_sub(last.saturating_since(now))
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        self.before = self.busy_until(now);
    }

    /// Time spent flushing since the mark.
    pub fn busy(&self, now: SimTime) -> SimSpan {
        self.busy_until(now).saturating_sub(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> SimTime {
        SimTime::ZERO + SimSpan::from_us(us)
    }

    #[test]
    fn what_arrives_during_a_flush_shares_the_next_one() {
        let mut flushes = Flushes::new(SimSpan::from_us(100));
        // alone: 10 to 110; during it: all until 210; during that one: until 310
        let durable = [10, 20, 90, 150].map(|us| flushes.durable_at(at(us)));
        assert_eq!(durable, [at(110), at(210), at(210), at(310)]);
        // an idle device begins at once
        assert_eq!(flushes.durable_at(at(400)), at(500));
    }

    #[test]
    fn busy_time_is_that_of_flushes_up_to_now() {
        let mut flushes = Flushes::new(SimSpan::from_us(100));
        flushes.durable_at(at(10));
        flushes.durable_at(at(20));
        flushes.mark(at(60));
        // 60 to 210 of two flushes from 10 on
        assert_eq!(flushes.busy(at(160)), SimSpan::from_us(100));
        assert_eq!(flushes.busy(at(1000)), SimSpan::from_us(150));
    }
}
