//! Arrivals in bursts: a Poisson process that switches between two rates, after exponential times (a
//! Markov-modulated Poisson process of two states; Fischer & Meier-Hellstern, *The Markov-modulated Poisson
//! process cookbook*, 1993).
//!
//! Workloads and predictions draw from the same law.

use foretell_units::{SimSpan, Stream};

/// The law.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursts {
    /// Arrivals per second in a quiet time and in a burst.
    pub rates_per_s: [f64; 2],
    /// Mean lengths of a quiet time and of a burst.
    pub lasting: [SimSpan; 2],
}

/// The current state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Phase {
    /// 0: quiet, 1: burst.
    state: usize,
    /// Time until it changes.
    left_ns: f64,
}

impl Bursts {
    /// The mean rate over both states, in arrivals per second.
    pub fn mean_rate_per_s(self) -> f64 {
        let [quiet, burst] = self.lasting.map(SimSpan::as_secs_f64);
        (self.rates_per_s[0] * quiet + self.rates_per_s[1] * burst) / (quiet + burst)
    }

    fn lasting_ns(self, state: usize, stream: &mut Stream) -> f64 {
        stream.exponential_unit() * self.lasting[state].as_ns() as f64
    }
}

impl Phase {
    /// A random state, with probability in proportion to its share of time. Exponential times are
    /// memoryless, so the rest of it is as long as a whole one.
    pub fn start(bursts: Bursts, stream: &mut Stream) -> Self {
        let [quiet, burst] = bursts.lasting.map(SimSpan::as_secs_f64);
        let state = usize::from(stream.chance(burst / (quiet + burst)));
        Self { state, left_ns: bursts.lasting_ns(state, stream) }
    }

    /// Nanoseconds to the next arrival: an exponential number of expected arrivals is consumed at the
    /// rate of the current state. At least one rate must be above zero.
    pub fn gap_ns(&mut self, bursts: Bursts, stream: &mut Stream) -> f64 {
        let mut expected = stream.exponential_unit();
        let mut gap = 0.0;
        loop {
            let per_ns = bursts.rates_per_s[self.state] / 1e9;
            let here = per_ns * self.left_ns;
            if expected < here {
                let step = expected / per_ns;
                self.left_ns -= step;
                return gap + step;
            }
            expected -= here;
            gap += self.left_ns;
            self.state = 1 - self.state;
            self.left_ns = bursts.lasting_ns(self.state, stream);
        }
    }
}
