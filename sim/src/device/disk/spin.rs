//! The rotation of a disk's platters: their speed and angle.
//!
//! No two disks turn in step. A disk was switched on at an unknown time, so its platters' angle at the
//! start of the simulation is random. Its motor keeps its speed within a tolerance, so two disks of
//! one kind drift apart. Both are drawn from the disk's own random stream. Assumed: the speed is
//! uniform within the tolerance (data sheets give bounds, no distribution), and constant.
//!
//! A turn takes a whole number of nanoseconds, so the angle at any time is exact and no rounding error
//! accumulates. A disk on the bench, whose behaviour is compared or measured, turns at its nominal
//! speed and is at its index mark at time zero.

use foretell_scenarios::device::Tolerance;
use foretell_units::{SimSpan, SimTime, Stream};

/// The rotation of platters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spin {
    period_ns: u64,
    /// Time before the start of the simulation at which the index mark last passed.
    ahead_ns: u64,
}

impl Spin {
    /// At nominal speed, with the index mark passing at time zero.
    pub fn nominal(revolution: SimSpan) -> Self {
        Self { period_ns: revolution.as_ns().max(1), ahead_ns: 0 }
    }

    /// At a random speed within `tolerance` of the nominal one, and at a random angle.
    pub fn drawn(revolution: SimSpan, tolerance: Tolerance, stream: &mut Stream) -> Self {
        let nominal = revolution.as_ns().max(1);
        let most = tolerance.of(nominal);
        let period_ns = (nominal - most + stream.below(2 * most + 1)).max(1);
        Self { period_ns, ahead_ns: stream.below(period_ns) }
    }

    /// Time of a revolution.
    pub fn period(self) -> SimSpan {
        SimSpan::from_ns(self.period_ns)
    }

    /// The same in nanoseconds.
    pub(super) fn period_ns(self) -> u64 {
        self.period_ns
    }

    /// Time since the index mark last passed, nanoseconds: less than a turn.
    pub fn since_index_ns(self, now: SimTime) -> u64 {
        (now.as_ns() + self.ahead_ns) % self.period_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Seed;

    const TURN: SimSpan = SimSpan::from_ns(8_333_333);

    fn tolerance(share: f64) -> Tolerance {
        Tolerance::share(share).unwrap()
    }

    #[test]
    fn on_the_bench_the_angle_is_the_time_modulo_a_turn() {
        let spin = Spin::nominal(TURN);
        assert_eq!(spin.period(), TURN);
        assert_eq!(spin.since_index_ns(SimTime::ZERO), 0);
        assert_eq!(spin.since_index_ns(SimTime::from_ns(3 * 8_333_333 + 17)), 17);
    }

    #[test]
    fn speeds_are_within_the_tolerance_and_angles_are_any() {
        let (mut slowest, mut fastest) = (0, u64::MAX);
        let mut quarters = [0_i32; 4];
        for disk in 0..4000 {
            let mut stream = Seed(3).stream(&format!("host/n{disk}/disk0/platter"));
            let spin = Spin::drawn(TURN, tolerance(0.002), &mut stream);
            // 0.2 % of 8,333,333 ns
            assert!(spin.period_ns.abs_diff(TURN.as_ns()) <= 16_666, "{spin:?}");
            slowest = slowest.max(spin.period_ns);
            fastest = fastest.min(spin.period_ns);
            quarters[(spin.since_index_ns(SimTime::ZERO) * 4 / spin.period_ns) as usize] += 1;
        }
        assert!(slowest > TURN.as_ns() + 16_000 && fastest < TURN.as_ns() - 16_000);
        // 1000 each, standard deviation 27; the limit is four of them
        assert!(quarters.iter().all(|count| (count - 1000).abs() < 110), "{quarters:?}");
    }

    #[test]
    fn a_motor_without_tolerance_only_has_a_phase() {
        let spin = Spin::drawn(TURN, tolerance(0.0), &mut Seed(3).stream("platter"));
        assert_eq!(spin.period(), TURN);
        assert_ne!(spin.since_index_ns(SimTime::ZERO), 0);
    }

    #[test]
    fn a_month_of_turns_adds_no_rounding() {
        let spin = Spin::drawn(TURN, tolerance(0.002), &mut Seed(5).stream("platter"));
        let start = spin.since_index_ns(SimTime::ZERO);
        // 311 million turns
        let month = SimTime::ZERO + spin.period() * 311_000_000;
        assert_eq!(spin.since_index_ns(month), start);
    }
}
