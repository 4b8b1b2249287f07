//! A virtual machine's bandwidth limit on its machine's link, as Linux's `tc` enforces it.
//!
//! Messages pass at the limited rate, one after the other. In front of the link a message is
//! gathered, as in a token bucket, so that it occupies the link only for its time at the link's
//! own rate. TCP does not notice the limit: delayed messages wait in the virtual adapter, which has
//! room for them.

use foretell_units::{Bytes, Rate, SimSpan, SimTime};

/// One direction of a virtual adapter.
#[derive(Clone, Copy, Debug)]
struct Lane {
    rate: Rate,
    /// When all earlier messages have passed.
    free_at: SimTime,
}

impl Lane {
    /// A message begins to pass at `from`, or after the earlier ones. Returns when it has passed.
    fn pass(&mut self, from: SimTime, wire: Bytes) -> SimTime {
        self.free_at = self.free_at.max(from) + self.rate.time_for(wire);
        self.free_at
    }
}

/// A virtual adapter with limited bandwidth, the same in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    out: Lane,
    inward: Lane,
}

impl Limit {
    /// A limit that no message has passed yet.
    pub fn new(rate: Rate) -> Self {
        let lane = Lane { rate, free_at: SimTime::ZERO };
        Self { out: lane, inward: lane }
    }

    /// When a message that is sent now may go on to the link, where it takes `on_link`.
    pub fn let_out(&mut self, now: SimTime, wire: Bytes, on_link: SimSpan) -> SimTime {
        let through = self.out.pass(now, wire);
        now.max(SimTime::ZERO + through.saturating_since(SimTime::ZERO + on_link))
    }

    /// When a message is received whose last byte arrives over the link now; it took `on_link` there.
    pub fn let_in(&mut self, now: SimTime, wire: Bytes, on_link: SimSpan) -> SimTime {
        let began = SimTime::ZERO + now.saturating_since(SimTime::ZERO + on_link);
        now.max(self.inward.pass(began, wire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> SimTime {
        SimTime::ZERO + SimSpan::from_us(us)
    }

    #[test]
    fn messages_go_one_after_the_other_at_the_limited_rate() {
        // 100 kB take 800 us at 1 Gbit/s and 3200 us at 250 Mbit/s
        let mut limit = Limit::new("250 Mbit/s".parse().unwrap());
        let (wire, on_link) = (Bytes(100_000), SimSpan::from_us(800));
        // the link gets each message so that its last byte leaves on time, not earlier
        assert_eq!(limit.let_out(us(1000), wire, on_link), us(1000 + 3200 - 800));
        assert_eq!(limit.let_out(us(1000), wire, on_link), us(1000 + 6400 - 800));
        assert_eq!(limit.let_out(us(9000), wire, on_link), us(9000 + 3200 - 800));
        // inward, the first byte arrived 800 us before the last
        assert_eq!(limit.let_in(us(1000), wire, on_link), us(200 + 3200));
        assert_eq!(limit.let_in(us(1000), wire, on_link), us(200 + 6400));
    }

    #[test]
    fn a_limit_of_the_cables_own_rate_only_keeps_the_order() {
        let mut limit = Limit::new("1 Gbit/s".parse().unwrap());
        let (wire, on_link) = (Bytes(100_000), SimSpan::from_us(800));
        assert_eq!(limit.let_out(us(1000), wire, on_link), us(1000));
        assert_eq!(limit.let_out(us(1000), wire, on_link), us(1800));
        assert_eq!(limit.let_in(us(5000), wire, on_link), us(5000));
    }
}
