//! How measured 99th percentiles differ from simulated ones.
//!
//! The simulator does not model most causes of the tails of a cluster. Two laws describe them:
//!
//! - a *factor*: contention that is stronger than simulated makes tails longer in proportion to the load;
//! - a *stall*: now and then something holds requests up for a time that does not depend on the load, such as a
//!   compaction, a retransmission, or garbage collection in a drive.
//!
//! The points of the fit decide between them. A stall needs two points or more; its residuals must have at most half
//! of the factor's sum of squares.
//!
//! Left out: a mix of both, and tails that begin at a certain load.

/// The shortest and the longest stall, in ms.
const STALLS_MS: (f64, f64) = (1e-3, 1e4);
/// The smallest and the largest factor.
const FACTORS: (f64, f64) = (0.05, 100.0);
/// Number of steps of the search for the stall: from one to the next it grows by half a percent.
const STEPS: u32 = 3232;

/// How a measured 99th percentile follows from a simulated one: multiplied by the factor, plus the stall.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Tail {
    pub(crate) factor: f64,
    pub(crate) stall_ms: f64,
}

impl Tail {
    /// As simulated.
    pub(crate) const NONE: Self = Self { factor: 1.0, stall_ms: 0.0 };

    /// The tail of points: the measured and the simulated 99th percentile of each, in ms. `None` if there are none.
    pub(crate) fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.is_empty() {
            return None;
        }
        let log = |tail: Self, &(measured, simulated): &(f64, f64)| {
            libm::log(measured / tail.of_simulated(simulated))
        };
        let residuals =
            |tail: Self| points.iter().map(|point| log(tail, point).powi(2)).sum::<f64>();
        let mean =
            points.iter().map(|point| log(Self::NONE, point)).sum::<f64>() / points.len() as f64;
        let factor = libm::exp(mean).clamp(FACTORS.0, FACTORS.1);
        let factor = Self { factor, stall_ms: 0.0 };
        if points.len() < 2 {
            return Some(factor);
        }
        let step = libm::log(STALLS_MS.1 / STALLS_MS.0) / f64::from(STEPS);
        let stalls = (0..=STEPS).map(|at| Self {
            factor: 1.0,
            stall_ms: STALLS_MS.0 * libm::exp(step * f64::from(at)),
        });
        let stall = stalls.min_by(|a, b| residuals(*a).total_cmp(&residuals(*b)))?;
        Some(if residuals(stall) <= residuals(factor) / 2.0 { stall } else { factor })
    }

    /// The 99th percentile in ms that is expected where this one is simulated.
    pub(crate) fn of_simulated(self, ms: f64) -> f64 {
        ms * self.factor + self.stall_ms
    }

    /// The tail of a mix with this share of reads.
    pub(crate) fn mixed(reads: Self, writes: Self, share: f64) -> Self {
        let log = libm::log(reads.factor) * share + libm::log(writes.factor) * (1.0 - share);
        Self {
            factor: libm::exp(log),
            stall_ms: reads.stall_ms * share + writes.stall_ms * (1.0 - share),
        }
    }

    /// In words.
    pub(crate) fn words(self) -> String {
        let Self { factor, stall_ms } = self;
        match (factor, stall_ms > 0.0) {
            (1.0, true) => format!("99th percentiles are the simulated ones plus {stall_ms:.3} ms"),
            (_, true) => {
                format!(
                    "99th percentiles are {factor:.2} times the simulated ones, plus {stall_ms:.3} ms"
                )
            }
            (_, false) => format!("99th percentiles are {factor:.2} times the simulated ones"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_points_decide_between_a_factor_and_a_stall() {
        let simulated = [1.0, 5.0, 40.0];
        let tail = Tail::of(&simulated.map(|ms| (ms * 3.0, ms))).unwrap();
        assert!((tail.factor - 3.0).abs() < 1e-9 && tail.stall_ms <= 0.0, "{tail:?}");
        let tail = Tail::of(&simulated.map(|ms| (ms + 30.0, ms))).unwrap();
        assert!(
            (tail.factor - 1.0).abs() < 1e-12 && (tail.stall_ms / 30.0 - 1.0).abs() < 0.01,
            "{tail:?}"
        );
        assert_eq!(
            tail.words(),
            format!("99th percentiles are the simulated ones plus {:.3} ms", tail.stall_ms)
        );
    }

    #[test]
    fn one_point_gives_a_factor_and_no_point_nothing() {
        let tail = Tail::of(&[(6.0, 2.0)]).unwrap();
        assert!((tail.factor - 3.0).abs() < 1e-12 && tail.stall_ms <= 0.0);
        assert_eq!(Tail::of(&[]), None);
    }

    #[test]
    fn tails_shorter_than_simulated_have_no_stall() {
        let tail = Tail::of(&[(1.0, 2.0), (4.0, 9.0), (0.5, 0.9)]).unwrap();
        assert!(tail.factor < 1.0 && tail.stall_ms <= 0.0, "{tail:?}");
    }

    #[test]
    fn a_mix_is_between_reads_and_writes() {
        let reads = Tail { factor: 4.0, stall_ms: 0.0 };
        let writes = Tail { factor: 1.0, stall_ms: 10.0 };
        let mixed = Tail::mixed(reads, writes, 0.5);
        assert!((mixed.factor - 2.0).abs() < 1e-12 && (mixed.stall_ms - 5.0).abs() < 1e-12);
    }
}
