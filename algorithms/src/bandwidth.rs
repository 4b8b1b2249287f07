//! The bandwidth that a virtual machine has of its machine's cable, as Linux's `tc` limits it.
//!
//! A message goes at the limited rate, after those before it; in front of the cable it is gathered as a
//! token bucket would, so that it takes the cable no longer than at the cable's own rate. TCP does not
//! feel the limit: what is held back waits in the virtual adapter, which has room for it.

use foretell_units::{Bytes, Rate, SimSpan, SimTime};

/// One direction of a virtual adapter.
#[derive(Clone, Copy, Debug)]
struct Lane {
    rate: Rate,
    /// When what has passed is through.
    free_at: SimTime,
}

impl Lane {
    /// A message begins to pass at `from`, or after those before it; when it is through.
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
    /// Nothing has passed yet.
    pub fn new(rate: Rate) -> Self {
        let lane = Lane { rate, free_at: SimTime::ZERO };
        Self { out: lane, inward: lane }
    }

    /// When a message that is sent now may go on to the cable, where it takes `on_cable`.
    pub fn let_out(&mut self, now: SimTime, wire: Bytes, on_cable: SimSpan) -> SimTime {
        let through = self.out.pass(now, wire);
        now.max(SimTime::ZERO + through.saturating_since(SimTime::ZERO + on_cable))
    }

    /// When a message is in whose last byte has come over the cable now, on which it took `on_cable`.
    pub fn let_in(&mut self, now: SimTime, wire: Bytes, on_cable: SimSpan) -> SimTime {
        let began = SimTime::ZERO + now.saturating_since(SimTime::ZERO + on_cable);
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
        let (wire, on_cable) = (Bytes(100_000), SimSpan::from_us(800));
        // the cable has each when its last byte is out, and no sooner
        assert_eq!(limit.let_out(us(1000), wire, on_cable), us(1000 + 3200 - 800));
        assert_eq!(limit.let_out(us(1000), wire, on_cable), us(1000 + 6400 - 800));
        assert_eq!(limit.let_out(us(9000), wire, on_cable), us(9000 + 3200 - 800));
        // on the way in the first byte was there 800 us before the last
        assert_eq!(limit.let_in(us(1000), wire, on_cable), us(200 + 3200));
        assert_eq!(limit.let_in(us(1000), wire, on_cable), us(200 + 6400));
    }

    #[test]
    fn a_limit_of_the_cables_own_rate_only_keeps_the_order() {
        let mut limit = Limit::new("1 Gbit/s".parse().unwrap());
        let (wire, on_cable) = (Bytes(100_000), SimSpan::from_us(800));
        assert_eq!(limit.let_out(us(1000), wire, on_cable), us(1000));
        assert_eq!(limit.let_out(us(1000), wire, on_cable), us(1800));
        assert_eq!(limit.let_in(us(5000), wire, on_cable), us(5000));
    }
}
