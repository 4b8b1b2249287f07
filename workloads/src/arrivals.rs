//! The times at which requests are issued.
//!
//! This module has plain data and samplers of time spans; the simulator decides what a span is added
//! to. In a *closed* loop, a request waits for an earlier one to complete. In an *open* loop, requests
//! arrive regardless of completions. The two react differently to overload, so they are separate
//! variants and never mixed: a closed loop slows down, an open one queues.

use std::num::NonZeroU32;

use foretell_algorithms::bursts::{Bursts, Phase};
use foretell_units::{SimSpan, SimTime, Stream};
use thiserror::Error;

/// The times at which a workload issues requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Arrivals {
    /// At most this many requests are outstanding. Each completion is followed, after a think time, by
    /// the next request. A trace in a closed loop proceeds as fast as its outstanding requests allow:
    /// its times are not used.
    Closed {
        /// Highest number of outstanding requests.
        outstanding: NonZeroU32,
        /// Time from a completion to the next issue.
        think: Think,
    },
    /// At its own times, regardless of completions.
    Open(OpenLoop),
    /// At the times of a trace.
    Trace(SpeedUp),
}

/// Impossible settings of arrivals.
#[derive(Clone, Copy, PartialEq, Debug, Error)]
pub enum ArrivalError {
    /// A rate is out of range.
    #[error("`rate` is {found}; wanted from {RATE_MIN} to {RATE_MAX} requests per second")]
    Rate {
        /// The value.
        found: f64,
    },
    /// A speed-up factor is invalid.
    #[error("`speed_up` is {found}; wanted a factor above zero")]
    SpeedUp {
        /// The value.
        found: f64,
    },
    /// A state of bursty arrivals has no length.
    #[error("a state of bursty arrivals lasts {found} in the mean; wanted more than 0 ns")]
    NoSojourn {
        /// The length.
        found: SimSpan,
    },
    /// Bursty arrivals with almost no requests.
    #[error(
        "bursty arrivals bring {found} requests in a quiet time and a burst together, in the \
         mean; wanted at least {MIN_REQUESTS_PER_CYCLE}"
    )]
    TooRare {
        /// Mean number of requests per cycle.
        found: f64,
    },
}

/// The lowest rate, one request in eleven days. At lower rates a simulation hardly sees any request.
pub const RATE_MIN: f64 = 1e-6;
/// The highest rate: one request a nanosecond, the unit of time.
pub const RATE_MAX: f64 = 1e9;
/// Minimum mean number of requests in a cycle of both states of bursty arrivals. With fewer, drawing
/// the next request would take too long.
const MIN_REQUESTS_PER_CYCLE: f64 = 1e-3;

/// Time between a completion and the next issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Think {
    /// No think time: the next request is issued at once.
    None,
    /// Always this long.
    Fixed(SimSpan),
    /// Exponential with this mean.
    Exponential(SimSpan),
}

impl Think {
    /// Draws a think time.
    pub fn draw(self, stream: &mut Stream) -> SimSpan {
        match self {
            Self::None => SimSpan::ZERO,
            Self::Fixed(span) => span,
            Self::Exponential(mean) => stream.exponential(mean),
        }
    }

    /// The mean think time.
    pub fn mean(self) -> SimSpan {
        match self {
            Self::None => SimSpan::ZERO,
            Self::Fixed(mean) | Self::Exponential(mean) => mean,
        }
    }
}

/// A mean rate of requests.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct RequestRate {
    per_s: f64,
}

impl RequestRate {
    /// `per_s` requests per second.
    ///
    /// # Errors
    ///
    /// If it is not in [`RATE_MIN`] to [`RATE_MAX`].
    pub fn per_s(per_s: f64) -> Result<Self, ArrivalError> {
        if (RATE_MIN..=RATE_MAX).contains(&per_s) {
            Ok(Self { per_s })
        } else {
            Err(ArrivalError::Rate { found: per_s })
        }
    }

    /// Requests per second.
    pub fn as_per_s(self) -> f64 {
        self.per_s
    }

    /// Mean time from one request to the next, in nanoseconds.
    fn gap_ns(self) -> f64 {
        1e9 / self.per_s
    }
}

/// Arrivals of an open loop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OpenLoop {
    /// Random: gaps are exponential and independent.
    Poisson(RequestRate),
    /// Regular: gaps are equal, to the nanosecond. The first arrival is at a random time within a gap,
    /// so that streams of the same rate do not arrive together.
    Deterministic(RequestRate),
    /// In bursts.
    Bursty(Bursty),
}

impl OpenLoop {
    /// The mean rate, in requests per second.
    pub fn mean_rate_per_s(self) -> f64 {
        match self {
            Self::Poisson(rate) | Self::Deterministic(rate) => rate.as_per_s(),
            Self::Bursty(bursty) => bursty.mean_rate_per_s(),
        }
    }

    /// The gaps between arrivals, drawn from `stream`.
    pub fn gaps(self, mut stream: Stream) -> Gaps {
        let phase = match self {
            Self::Bursty(bursty) => Some(Phase::start(bursty.0, &mut stream)),
            Self::Poisson(_) | Self::Deterministic(_) => None,
        };
        let first_ns = match self {
            Self::Deterministic(rate) => Some(stream.unit() * rate.gap_ns()),
            // these are memoryless: the first gap has the same distribution as the others
            Self::Poisson(_) | Self::Bursty(_) => None,
        };
        Gaps { arrivals: self, phase, first_ns, fraction_ns: 0.0, stream }
    }
}

/// Arrivals in bursts: [`Bursts`] whose settings were checked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bursty(Bursts);

impl Bursty {
    /// Arrivals of `quiet_per_s` requests per second, possibly zero, for a mean time of `quiet`, then
    /// of `burst_per_s` for a mean time of `burst`, and so on. The start is at a random point of this
    /// cycle, not at a burst.
    ///
    /// # Errors
    ///
    /// If a rate is out of range, a state has no length, or there are almost no arrivals.
    pub fn new(
        quiet_per_s: f64,
        quiet: SimSpan,
        burst_per_s: f64,
        burst: SimSpan,
    ) -> Result<Self, ArrivalError> {
        if quiet_per_s != 0.0 {
            RequestRate::per_s(quiet_per_s)?;
        }
        RequestRate::per_s(burst_per_s)?;
        for found in [quiet, burst] {
            if found.is_zero() {
                return Err(ArrivalError::NoSojourn { found });
            }
        }
        let found = quiet_per_s * quiet.as_secs_f64() + burst_per_s * burst.as_secs_f64();
        if found < MIN_REQUESTS_PER_CYCLE {
            return Err(ArrivalError::TooRare { found });
        }
        let (rates_per_s, lasting) = ([quiet_per_s, burst_per_s], [quiet, burst]);
        Ok(Self(Bursts { rates_per_s, lasting }))
    }

    /// The mean rate over both states, in requests per second.
    pub fn mean_rate_per_s(self) -> f64 {
        self.0.mean_rate_per_s()
    }
}

/// Gaps between the arrivals of an open loop.
#[derive(Clone, Debug)]
pub struct Gaps {
    arrivals: OpenLoop,
    phase: Option<Phase>,
    /// Time from the start to the first arrival, if it differs from a gap and has not been used yet.
    first_ns: Option<f64>,
    /// Sum of the rounding remainders so far, so that a rate of three a second does not drift.
    fraction_ns: f64,
    stream: Stream,
}

impl Gaps {
    /// Time from one arrival to the next, or from the start to the first.
    pub fn next_interarrival(&mut self) -> SimSpan {
        let gap_ns = match (self.arrivals, &mut self.phase) {
            (OpenLoop::Bursty(bursty), Some(phase)) => phase.gap_ns(bursty.0, &mut self.stream),
            (OpenLoop::Bursty(_), None) => unreachable!("bursty arrivals have a phase"),
            (OpenLoop::Deterministic(rate), _) => {
                self.first_ns.take().unwrap_or_else(|| rate.gap_ns())
            }
            (OpenLoop::Poisson(rate), _) => self.stream.exponential_unit() * rate.gap_ns(),
        };
        let exact = gap_ns + self.fraction_ns;
        let whole = libm::floor(exact);
        self.fraction_ns = exact - whole;
        SimSpan::from_ns(whole as u64)
    }
}

/// Factor by which a trace is replayed faster than it was recorded.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct SpeedUp {
    factor: f64,
}

impl SpeedUp {
    /// The recorded speed.
    pub const NONE: Self = Self { factor: 1.0 };

    /// `factor` times as fast; 2 halves every gap.
    ///
    /// # Errors
    ///
    /// If the factor is not above zero and finite.
    pub fn by(factor: f64) -> Result<Self, ArrivalError> {
        if factor > 0.0 && factor.is_finite() {
            Ok(Self { factor })
        } else {
            Err(ArrivalError::SpeedUp { found: factor })
        }
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        self.factor
    }

    /// Replay time of a request recorded at `at`. Preserves the order of times; exact up to 104 days
    /// (2⁵³ ns), and to 53 bits beyond that.
    pub fn replayed(self, at: SimTime) -> SimTime {
        if self == Self::NONE {
            return at;
        }
        SimTime::from_ns(libm::rint(at.as_ns() as f64 / self.factor) as u64)
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;

    fn rate(per_s: f64) -> RequestRate {
        RequestRate::per_s(per_s).unwrap()
    }

    /// Gaps in seconds.
    fn gaps(arrivals: OpenLoop, count: usize) -> Vec<f64> {
        let mut gaps = arrivals.gaps(Seed(8).stream("gaps"));
        (0..count).map(|_| gaps.next_interarrival().as_secs_f64()).collect()
    }

    /// Mean and squared coefficient of variation.
    fn moments(gaps: &[f64]) -> (f64, f64) {
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        (mean, variance / mean.powi(2))
    }

    #[test]
    fn deterministic_arrivals_do_not_drift() {
        // a third of a second is 333 333 333.3 ns: one gap in three is a nanosecond longer
        let mut gaps = OpenLoop::Deterministic(rate(3.0)).gaps(Seed(1).stream("gaps"));
        // the first one is at a random time within a gap
        assert!(gaps.next_interarrival().as_ns() < 333_333_333);
        let first: Vec<u64> = (0..3).map(|_| gaps.next_interarrival().as_ns()).collect();
        assert!(first.iter().all(|gap| (333_333_333..=333_333_334).contains(gap)), "{first:?}");
        let rest: SimSpan = (3..3_000_000).map(|_| gaps.next_interarrival()).sum();
        let total = rest.as_ns() + first.iter().sum::<u64>();
        assert!(total.abs_diff(1_000_000_000_000_000) <= 1, "{total}");
    }

    #[test]
    fn equal_streams_of_a_rate_do_not_arrive_together() {
        let mut quarters = [0_i32; 4];
        for client in 0..4000 {
            let stream = Seed(1).stream(&format!("workload/w/app{client}/arrivals"));
            let first = OpenLoop::Deterministic(rate(1.0)).gaps(stream).next_interarrival();
            quarters[(first.as_secs_f64() * 4.0) as usize] += 1;
        }
        // 1000 each, standard deviation 27; the limit is four of them
        assert!(quarters.iter().all(|count| (count - 1000).abs() < 110), "{quarters:?}");
    }

    #[test]
    fn poisson_gaps_fit_the_exponential_law() {
        let mut gaps = gaps(OpenLoop::Poisson(rate(5_000.0)), 100_000);
        let (mean, variation) = moments(&gaps);
        // standard errors: 1/√n of the mean; √8/√n of the squared variation
        assert!((mean * 5_000.0 - 1.0).abs() < 0.013, "{mean}");
        assert!((variation - 1.0).abs() < 0.036, "{variation}");
        // Kolmogorov and Smirnov: the largest distance between the distributions is below 1.95/√n with
        // probability 0.999
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps.iter().enumerate().map(|(index, gap)| {
            let law = 1.0 - libm::exp(-gap * 5_000.0);
            (law - index as f64 / n).abs().max((law - (index + 1) as f64 / n).abs())
        });
        let distance = distance.fold(0.0, f64::max);
        assert!(distance < 1.95 / n.sqrt(), "{distance}");
    }

    #[test]
    fn high_rates_are_met_although_time_is_whole_nanoseconds() {
        // if gaps with a mean of 3.33 ns were rounded down each time, the rate would be 17 % too high
        let (mean, _) = moments(&gaps(OpenLoop::Poisson(rate(3e8)), 100_000));
        assert!((mean * 3e8 - 1.0).abs() < 0.013, "{mean}");
    }

    #[test]
    fn bursty_gaps_have_the_moments_of_the_closed_form() {
        // On for 10 ms, off for 30 ms, 1000 a second when on: an interrupted Poisson process has
        // hyperexponential gaps of mean (w1 + w2) / (l w2) = 4 ms and squared variation
        // 1 + 2 l w1 / (w1 + w2)^2 = 1 + 2 * 1000 * 100 / 133.3^2 = 12.25, w1 = 1/on, w2 = 1/off.
        let (on, off) = (SimSpan::from_ms(10), SimSpan::from_ms(30));
        let bursty = Bursty::new(0.0, off, 1_000.0, on).unwrap();
        assert!((bursty.mean_rate_per_s() - 250.0).abs() < 1e-9);
        let (mean, variation) = moments(&gaps(OpenLoop::Bursty(bursty), 1_000_000));
        assert!((mean / 0.004 - 1.0).abs() < 0.02, "{mean}");
        assert!((variation / 12.25 - 1.0).abs() < 0.04, "{variation}");
    }

    #[test]
    fn two_equal_states_are_poisson() {
        let span = SimSpan::from_ms(7);
        let bursty = Bursty::new(400.0, span, 400.0, span).unwrap();
        let (mean, variation) = moments(&gaps(OpenLoop::Bursty(bursty), 100_000));
        assert!((mean * 400.0 - 1.0).abs() < 0.013, "{mean}");
        assert!((variation - 1.0).abs() < 0.036, "{variation}");
    }

    #[test]
    fn thinking_has_its_mean() {
        let mut stream = Seed(2).stream("think");
        let ms = SimSpan::from_ms(1);
        assert_eq!(Think::None.draw(&mut stream), SimSpan::ZERO);
        assert_eq!(Think::Fixed(ms).draw(&mut stream), ms);
        let total: SimSpan = (0..100_000).map(|_| Think::Exponential(ms).draw(&mut stream)).sum();
        assert!((total.as_secs_f64() / 100.0 - 1.0).abs() < 0.013, "{total}");
        assert_eq!(Think::Exponential(ms).mean(), ms);
    }

    #[test]
    fn a_speed_up_divides_times() {
        let at = SimTime::from_ns(3_000_000_001);
        assert_eq!(SpeedUp::NONE.replayed(SimTime::MAX), SimTime::MAX);
        assert_eq!(SpeedUp::by(2.0).unwrap().replayed(at), SimTime::from_ns(1_500_000_000));
        assert_eq!(SpeedUp::by(0.5).unwrap().replayed(at), SimTime::from_ns(6_000_000_002));
        assert_eq!(SpeedUp::by(1e-300).unwrap().replayed(at), SimTime::MAX);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let message = RequestRate::per_s(0.0).unwrap_err().to_string();
        assert_eq!(message, "`rate` is 0; wanted from 0.000001 to 1000000000 requests per second");
        assert!(RequestRate::per_s(f64::NAN).is_err());
        assert!(RequestRate::per_s(f64::INFINITY).is_err());
        for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(SpeedUp::by(factor).is_err());
        }
        let ms = SimSpan::from_ms(1);
        let error = Bursty::new(0.0, ms, 0.5, ms).unwrap_err().to_string();
        assert!(error.contains("bring 0.0005 requests"), "{error}");
        let error = Bursty::new(1.0, SimSpan::ZERO, 0.5, ms).unwrap_err().to_string();
        assert!(error.contains("lasts 0 ns"), "{error}");
        assert!(Bursty::new(-1.0, ms, 0.5, ms).is_err());
    }
}
