//! The constant-capacity rule of Ra and Lee, equations 1 to 7.
//!
//! A system has a constant capacity. A write uses `f_rw` times as much of it as a read:
//! `C = T_read + f_rw · T_write`. Both parameters follow from two points, only reads and only writes.

use crate::point::ReadShare;

/// Requests a second.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Throughput {
    /// Reads.
    pub read: f64,
    /// Writes.
    pub write: f64,
}

impl Throughput {
    /// From a total rate, requests a second, and this share of reads.
    pub fn split(total: f64, reads: ReadShare) -> Self {
        Self { read: total * reads.fraction(), write: total * (1.0 - reads.fraction()) }
    }

    /// The total rate.
    pub fn total(self) -> f64 {
        self.read + self.write
    }
}

/// The rule for one request size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConstantCapacity {
    reads_alone: f64,
    writes_alone: f64,
}

impl ConstantCapacity {
    /// From the rates of only reads and only writes, requests a second; `None` unless both are positive and finite.
    pub fn new(reads_alone: f64, writes_alone: f64) -> Option<Self> {
        let good = |iops: f64| iops > 0.0 && iops.is_finite();
        (good(reads_alone) && good(writes_alone)).then_some(Self { reads_alone, writes_alone })
    }

    /// C, in reads a second (equation 3 with reads alone).
    pub fn capacity(self) -> f64 {
        self.reads_alone
    }

    /// Cost of a write, in reads (equation 4).
    pub fn f_rw(self) -> f64 {
        self.reads_alone / self.writes_alone
    }

    /// The mix in which reads and writes each use half of the capacity. There, the rule and the
    /// other extreme (reads and writes in parallel) differ by a factor of 2, and elsewhere by less.
    /// So measuring this mix gives the most information.
    pub fn balanced(self) -> ReadShare {
        let percent = 100.0 * self.f_rw() / (1.0 + self.f_rw());
        ReadShare::from_percent(percent).expect("a share of a whole")
    }

    /// The same, rounded to a whole percentage of reads between 1 and 99.
    pub fn telling_percent(self) -> u32 {
        self.balanced().percent().round().clamp(1.0, 99.0) as u32
    }

    /// k of equation 6: rate per percent of the mix, requests a second.
    pub fn k(self, reads: ReadShare) -> f64 {
        let percent = reads.percent();
        self.capacity() / (percent + (100.0 - percent) * self.f_rw())
    }

    /// `T_read = k · R_read` and `T_write = k · R_write`.
    pub fn throughput(self, reads: ReadShare) -> Throughput {
        Throughput::split(100.0 * self.k(reads), reads)
    }

    /// C computed from a measured mix (equation 3): the same for each mix if the rule holds.
    pub fn capacity_of(self, mix: Throughput) -> f64 {
        mix.read + self.f_rw() * mix.write
    }
}

/// `T_total` of equation 7: each size has its own share of the capacity, such as separate workers.
///
/// `sizes`: share, from 0 to 1, and rule of each size.
pub fn total_of_sizes(sizes: &[(f64, ConstantCapacity)], reads: ReadShare) -> Throughput {
    let total: f64 = sizes.iter().map(|(share, rule)| 100.0 * share * rule.k(reads)).sum();
    Throughput::split(total, reads)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn share(percent: f64) -> ReadShare {
        ReadShare::from_percent(percent).unwrap()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn equations_1_to_6_by_arithmetic() {
        // C = 9000, f_rw = 9000 / 3000 = 3; at 70 %: k = 9000 / (70 + 30 · 3) = 56.25
        let rule = ConstantCapacity::new(9000.0, 3000.0).unwrap();
        assert!(near(rule.capacity(), 9000.0) && near(rule.f_rw(), 3.0));
        assert!(near(rule.k(share(70.0)), 56.25));
        let mix = rule.throughput(share(70.0));
        assert!(near(mix.read, 3937.5) && near(mix.write, 1687.5));
        assert!(near(rule.capacity_of(mix), 9000.0));
        // 75 reads cost 75 and 25 writes 3 · 25
        assert_eq!(rule.balanced(), share(75.0));
    }

    #[test]
    fn equation_7_adds_the_sizes_by_their_shares() {
        let small = ConstantCapacity::new(9000.0, 3000.0).unwrap();
        let large = ConstantCapacity::new(1000.0, 500.0).unwrap();
        // at 50 %: k = 9000 / (50 + 150) = 45 and 1000 / (50 + 100) = 6.667: 100 (0.3 · 45 + 0.7 · 6.667)
        let total = total_of_sizes(&[(0.3, small), (0.7, large)], share(50.0)).total();
        assert!(near(total, 100.0 * (0.3 * 45.0 + 0.7 * 1000.0 / 150.0)), "{total}");
        // case 1 of the paper: only reads, k = T / 100
        let reads = total_of_sizes(&[(0.1, small), (0.9, large)], ReadShare::READS).total();
        assert!(near(reads, 0.1 * 9000.0 + 0.9 * 1000.0), "{reads}");
    }

    #[test]
    fn nothing_follows_from_zero() {
        assert_eq!(ConstantCapacity::new(0.0, 1.0), None);
        assert_eq!(ConstantCapacity::new(1.0, f64::NAN), None);
        assert_eq!(ConstantCapacity::new(1.0, f64::INFINITY), None);
    }

    proptest! {
        #[test]
        fn any_mix_keeps_the_capacity_and_lies_between_the_points(
            reads in 1e-3..1e9_f64, writes in 1e-3..1e9_f64, percent in 0.0..=100.0_f64,
        ) {
            let rule = ConstantCapacity::new(reads, writes).unwrap();
            let mix = rule.throughput(share(percent));
            prop_assert!((rule.capacity_of(mix) / reads - 1.0).abs() < 1e-9);
            let (low, high) = (reads.min(writes), reads.max(writes));
            prop_assert!(mix.total() >= low * (1.0 - 1e-9) && mix.total() <= high * (1.0 + 1e-9));
        }
    }
}
