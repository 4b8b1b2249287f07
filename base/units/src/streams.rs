//! Random draws from streams named after their owner.
//!
//! A stream depends only on the run's seed and on its name. So adding a client does not shift the
//! draws of another, and a before/after pair of runs shares its random numbers. The generator is
//! xoshiro256++ (Blackman & Vigna 2019). It is named here because a library's "small" generator may
//! change. Logarithms come from `libm`, so a draw has the same bits on every machine.

use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::{Beat, SimSpan};

/// The seed of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(pub u64);

impl Seed {
    /// The stream that belongs to `owner`, for example `"workload/mail/arrivals"`.
    pub fn stream(self, owner: &str) -> Stream {
        // FNV-1a separates names; splitmix64 (inside `seed_from_u64`) spreads the bits.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in owner.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let seed = mix(self.0 ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(mix(hash));
        Stream { rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// A separate seed for part `index` of something larger, such as one run of a sweep.
    pub fn child(self, index: u64) -> Self {
        Self(mix(self.0 ^ mix(index.wrapping_add(0x5851_f42d_4c95_7f2d))))
    }
}

/// An owner of streams, for example a host or one of its disks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    seed: Seed,
    name: String,
    /// Its number, if the beats of all owners are spread evenly.
    number: Option<u32>,
}

/// Multiples of the golden ratio, modulo one, are spread evenly, however many there are (a Kronecker sequence).
const GOLDEN_RATIO: f64 = 0.618_033_988_749_894_9;

impl Owner {
    /// The owner with that name, for example `"host/brick3"`, in the run with `seed`.
    pub fn new(seed: Seed, name: impl Into<String>) -> Self {
        Self { seed, name: name.into(), number: None }
    }

    /// The same owner, with beats that are spread evenly among those of owners with other numbers. For predictions:
    /// records do not show phases, and phases that happen to be close to each other would distort all of them.
    pub fn spread(self, number: u32) -> Self {
        Self { number: Some(number), ..self }
    }

    /// The owner `name` below this one, for example `"disk0"` of `"host/brick3"`.
    pub fn below(&self, name: impl std::fmt::Display) -> Self {
        let name = format!("{}/{name}", self.name);
        Self { seed: self.seed, name, number: self.number }
    }

    /// The beat of `what`, with a phase that is random, or spread evenly.
    pub fn beat(&self, what: &str, period: SimSpan) -> Beat {
        let Some(number) = self.number else {
            return Beat::drawn(period, &mut self.stream(what));
        };
        let part = (f64::from(number) + 0.5) * GOLDEN_RATIO % 1.0;
        Beat::new(period, SimSpan::from_secs_f64(period.as_secs_f64() * part))
    }

    /// The beat of `what`, if all that matters is the time from an event to the next tick. For predictions, this is
    /// half a period.
    pub fn beat_after_events(&self, what: &str, period: SimSpan) -> Beat {
        match self.number {
            Some(_) => Beat::unknown(period),
            None => Beat::drawn(period, &mut self.stream(what)),
        }
    }

    /// The stream for `what`, for example `"flusher"` of `"host/brick3"`.
    pub fn stream(&self, what: &str) -> Stream {
        self.seed.stream(&format!("{}/{what}", self.name))
    }
}

/// The finaliser of splitmix64: a bijection that spreads every bit.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A stream of random draws with one owner.
#[derive(Clone, Debug)]
pub struct Stream {
    rng: Xoshiro256PlusPlus,
}

impl Stream {
    /// 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A whole number, uniform in `0..bound`; `bound` must not be zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.rng.random_range(0..bound)
    }

    /// A time span, uniform from zero to just below `whole`; zero if `whole` is zero.
    pub fn part_of(&mut self, whole: SimSpan) -> SimSpan {
        SimSpan::from_ns(self.below(whole.as_ns().max(1)))
    }

    /// A number, uniform in `[0, 1)`, a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.rng.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// `true` with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A time span with exponential distribution and the given mean.
    pub fn exponential(&mut self, mean: SimSpan) -> SimSpan {
        SimSpan::from_ns((self.exponential_unit() * mean.as_ns() as f64) as u64)
    }

    /// A number with exponential distribution and mean 1.
    pub fn exponential_unit(&mut self) -> f64 {
        Exp1.sample(&mut self.rng)
    }

    /// A draw from any distribution of `rand_distr`.
    pub fn sample<T, D: Distribution<T>>(&mut self, distribution: &D) -> T {
        distribution.sample(&mut self.rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimTime;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let draw = |seed, name| Seed(seed).stream(name).bits();
        assert_eq!(draw(42, "workload/mail"), draw(42, "workload/mail"));
        assert_ne!(draw(42, "workload/mail"), draw(42, "workload/web"));
        assert_ne!(draw(42, "workload/mail"), draw(43, "workload/mail"));
    }

    #[test]
    fn spread_owners_have_phases_far_from_each_other() {
        let period = SimSpan::from_secs(30);
        for count in 2..40 {
            let beat = |number| Owner::new(Seed(1), "host").spread(number).beat("pass", period);
            let mut phases: Vec<f64> =
                (0..count).map(|number| beat(number).phase().as_secs_f64()).collect();
            phases.sort_by(f64::total_cmp);
            phases.push(phases[0] + 30.0);
            for pair in phases.windows(2) {
                let gap = (pair[1] - pair[0]) / 30.0 * f64::from(count);
                assert!((0.3..3.0).contains(&gap), "{count}: {gap}");
            }
        }
    }

    #[test]
    fn predictions_wait_half_a_period_for_the_first_tick_after_an_event() {
        let (period, now) = (SimSpan::from_secs(6), SimTime::ZERO + SimSpan::from_secs(50));
        let host = Owner::new(Seed(1), "host/brick3");
        let drawn = host.beat_after_events("heartbeat", period);
        assert_eq!(drawn, host.beat("heartbeat", period));
        let known = host.spread(3).beat_after_events("heartbeat", period);
        assert_eq!(known.after(now), now + period / 2);
    }

    #[test]
    fn an_owner_names_its_streams() {
        let host = Owner::new(Seed(42), "host/brick3");
        let draw = |mut stream: Stream| stream.bits();
        let seed = Seed(42);
        assert_eq!(draw(host.stream("flusher")), draw(seed.stream("host/brick3/flusher")));
        let disk = host.below("disk0");
        assert_eq!(draw(disk.stream("platter")), draw(seed.stream("host/brick3/disk0/platter")));
    }

    #[test]
    fn golden_draws_never_change() {
        let mut stream = Seed(42).stream("golden");
        let draws =
            [stream.bits(), stream.below(1000), stream.exponential(SimSpan::from_ms(1)).as_ns()];
        assert_eq!(draws, GOLDEN, "the same seed must give the same run in every version");
    }

    const GOLDEN: [u64; 3] = [5_251_745_736_705_938_868, 625, 1_148_115];

    #[test]
    fn exponential_has_its_mean() {
        let mut stream = Seed(1).stream("mean");
        let mean = SimSpan::from_us(100);
        let total: SimSpan = (0..100_000).map(|_| stream.exponential(mean)).sum();
        // the standard error of the mean is mean / √n = 0.32 %; the limit is four of them
        let found = total.as_secs_f64() / 100_000.0;
        assert!((found / 100e-6 - 1.0).abs() < 0.013, "{found}");
    }
}
