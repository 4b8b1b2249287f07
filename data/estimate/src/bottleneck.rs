//! The bottleneck-aware estimator: the cost of a mix is between the sum of its costs and the largest of them.
//!
//! Let a and b be the seconds that a read and a write alone cost (1 / IOPS), and r the share of
//! reads. A request of the mix costs ((r a)^p + ((1 - r) b)^p)^(1/p). p = 1 is the
//! constant-capacity rule: one resource serves both. As p goes to infinity, the slower of two
//! parallel resources determines the cost, such as the two directions of a link. Below 1, reads and
//! writes interfere with each other. At r = 0 and r = 1 the exponent has no effect, and only the
//! pure points count.
//!
//! The cost of a mix is that of the part that it keeps busy longest. The cost of each part is
//! linear in r, so the cost of the mix is convex. Between two measured mixes it is below the chord
//! of the fit there, above the extensions of the neighbouring chords, and above the cost of its
//! reads alone or its writes alone. The estimate is the (geometric) middle of this range. With many
//! mixes this is the form itself; with only one, it does not follow the form's flat ends. If there
//! is only one mix, the balanced one
//! ([`ConstantCapacity::balanced`](crate::ConstantCapacity::balanced)) leaves the smallest range:
//! for all possible parts, the middle is then off by at most 12 %. With half reads, where a write
//! costs five reads, it is off by at most 27 %.
//!
//! A size's exponent comes from its mixed points and, the less these determine it, the more from
//! the exponents of the other sizes. Without any mixed points it comes from what the operator
//! knows, or it is 1. The fit is by least squares of logarithms, with each point weighted by its
//! standard error. Its parameters are: a and b of each size, because pure points are measurements
//! too; log₂ p of each size, with a normal prior about its mean over the sizes; and that mean, with
//! a normal prior about 0. The uncertainty is that of the fit, linearised at its optimum. The
//! widths of the priors were chosen beforehand: exponents of sizes differ by a factor of 2, their
//! mean differs from 1 by the same factor, and the form is accurate to 5 %.

use std::num::NonZeroU32;

use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::Bytes;

use crate::circuit::{Part, seconds_each};
use crate::knowledge::Knowledge;
use crate::point::ReadShare;
use crate::rest::Rest;
use crate::survey::{Series, SizePoints};

/// Relative error of the form itself.
const FORM: f64 = 0.05;
/// Standard deviation of log₂ p among sizes, and of its mean.
const AMONG_SIZES: f64 = 1.0;
const OF_MEAN: f64 = 1.0;
/// Expected log₂ p if the links show that reads and writes use opposite directions: near the maximum.
const OPPOSITE: f64 = 2.0;
/// Range of log₂ p. Exponents outside are equivalent to its ends: a tenth of the load's cost, and the maximum.
const LOG2_EXPONENT: std::ops::RangeInclusive<f64> = -3.0..=6.0;
/// Number of standard errors to each side of an estimate that hold 95 % of a normal distribution.
pub const Z95: f64 = 1.959_964;
/// Maximum number of rounds of the fit; it ends when nothing changes by more than [`STILL`].
const MOST_ROUNDS: usize = 500;
const STILL: f64 = 1e-10;

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// Requests a second, reads and writes together.
    pub iops: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The fit of one size.
#[derive(Clone, Debug)]
struct Size {
    /// Natural logarithms of the seconds of a read and of a write, and log₂ p.
    at: [f64; 3],
    covariance: [[f64; 3]; 3],
    /// Measured mixes, in order, including the pure ones; if the size has no others, those of all sizes.
    measured: Vec<ReadShare>,
}

impl Size {
    /// Seconds of a request of this pure load without the other.
    fn alone(&self, reads: ReadShare) -> f64 {
        libm::exp(log_cost(self.at, reads).0)
    }
}

/// The estimator, fitted to a series.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    sizes: SortedMap<Bytes, Size>,
    knowledge: Knowledge,
    /// The resources besides the links, for reads and for writes.
    rest: [Rest; 2],
}

/// Only reads, and only writes.
const PURE: [ReadShare; 2] = [ReadShare::READS, ReadShare::WRITES];

/// The range that convexity leaves: the lowest and the highest possible cost.
#[derive(Clone, Copy, Debug)]
struct Between {
    least: f64,
    most: f64,
}

impl Between {
    fn middle(self) -> f64 {
        (self.least * self.most).sqrt()
    }

    /// Variance of the logarithm, if all values in the range are equally likely.
    fn variance(self) -> f64 {
        libm::log(self.most / self.least).powi(2) / 12.0
    }
}

/// Logarithm of the cost at `at`, and its derivatives.
fn log_cost(at: [f64; 3], reads: ReadShare) -> (f64, [f64; 3]) {
    if reads == ReadShare::READS {
        return (at[0], [1.0, 0.0, 0.0]);
    }
    if reads == ReadShare::WRITES {
        return (at[1], [0.0, 1.0, 0.0]);
    }
    let exponent = libm::exp2(at[2]);
    let read = at[0] + libm::log(reads.fraction());
    let write = at[1] + libm::log(1.0 - reads.fraction());
    let (larger, smaller) = (read.max(write), read.min(write));
    let rest = libm::exp(exponent * (smaller - larger));
    let log = larger + libm::log1p(rest) / exponent;
    let of_larger = 1.0 / (1.0 + rest);
    let of_read = if read >= write { of_larger } else { 1.0 - of_larger };
    let mean = of_read * read + (1.0 - of_read) * write;
    (log, [of_read, 1.0 - of_read, std::f64::consts::LN_2 * (mean - log)])
}

/// The possible range of the cost of a mix between measured ones. `None` if it is a measured mix,
/// if there are none, or if reads and writes interfere, so that the cost is not convex.
fn between(at: [f64; 3], reads: ReadShare, measured: &[ReadShare]) -> Option<Between> {
    if measured.len() <= 2 || at[2] < 0.0 {
        return None;
    }
    let above = measured.binary_search(&reads).err()?;
    let point = |index: usize| {
        let mix = measured.get(index)?;
        Some((mix.fraction(), libm::exp(log_cost(at, *mix).0)))
    };
    let (low, high) = (point(above - 1)?, point(above)?);
    let share = reads.fraction();
    let line = |a: (f64, f64), b: (f64, f64)| a.1 + (b.1 - a.1) * (share - a.0) / (b.0 - a.0);
    let most = line(low, high);
    let before = above.checked_sub(2).and_then(point).map(|earlier| line(earlier, low));
    let after = point(above + 1).map(|later| line(high, later));
    let alone = (share * libm::exp(at[0])).max((1.0 - share) * libm::exp(at[1]));
    let least = alone.max(before.unwrap_or(0.0)).max(after.unwrap_or(0.0)).min(most);
    Some(Between { least, most })
}

/// The points of a size: mix, logarithm of its cost, and inverse of its variance.
fn observations(points: &SizePoints) -> Vec<(ReadShare, f64, f64)> {
    let pure = [(ReadShare::READS, &points.read), (ReadShare::WRITES, &points.write)];
    let mixed = points.mixed.iter().map(|(reads, measured)| (*reads, measured));
    let weighted = |(reads, measured): (ReadShare, &crate::survey::Measured)| {
        // a pure point measures its cost directly, without the form's error
        let form = if reads.is_mixed() { FORM } else { 0.0 };
        let error = measured.error.unwrap_or(FORM).max(1e-3);
        (reads, -libm::log(measured.iops), 1.0 / (form * form + error * error))
    };
    pure.into_iter().chain(mixed).map(weighted).collect()
}

/// Inverse of a symmetric, positive definite matrix.
fn inverse(of: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let minor = |row: usize, column: usize| {
        let [a, b] = [(row + 1) % 3, (row + 2) % 3];
        let [c, d] = [(column + 1) % 3, (column + 2) % 3];
        of[a][c] * of[b][d] - of[a][d] * of[b][c]
    };
    let determinant: f64 = (0..3).map(|column| of[0][column] * minor(0, column)).sum();
    let mut inverse = [[0.0; 3]; 3];
    for (row, values) in inverse.iter_mut().enumerate() {
        for (column, value) in values.iter_mut().enumerate() {
            *value = minor(column, row) / determinant;
        }
    }
    inverse
}

fn times(matrix: [[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| dot(row, vector))
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Sum of weighted squares, with the prior of the exponent about `mean`.
fn loss(at: [f64; 3], seen: &[(ReadShare, f64, f64)], mean: f64) -> f64 {
    let of_points: f64 = seen
        .iter()
        .map(|(reads, cost, weight)| weight * (log_cost(at, *reads).0 - cost).powi(2))
        .sum();
    of_points + ((at[2] - mean) / AMONG_SIZES).powi(2)
}

/// Normal matrix and gradient at `at`.
fn normal(
    at: [f64; 3],
    seen: &[(ReadShare, f64, f64)],
    mean: f64,
    variance: f64,
) -> ([[f64; 3]; 3], [f64; 3]) {
    let mut matrix = [[0.0; 3]; 3];
    let mut gradient = [0.0; 3];
    for (reads, cost, weight) in seen {
        let (found, slope) = log_cost(at, *reads);
        for row in 0..3 {
            gradient[row] += weight * slope[row] * (found - cost);
            for column in 0..3 {
                matrix[row][column] += weight * slope[row] * slope[column];
            }
        }
    }
    matrix[2][2] += 1.0 / variance;
    gradient[2] += (at[2] - mean) / variance;
    (matrix, gradient)
}

/// Minimizes the loss, starting from `at` (Levenberg and Marquardt).
fn descend(mut at: [f64; 3], seen: &[(ReadShare, f64, f64)], mean: f64) -> [f64; 3] {
    let mut damping = 1e-4;
    let mut before = loss(at, seen, mean);
    for _ in 0..100 {
        let (mut matrix, gradient) = normal(at, seen, mean, AMONG_SIZES * AMONG_SIZES);
        for (index, row) in matrix.iter_mut().enumerate() {
            row[index] *= 1.0 + damping;
        }
        let step = times(inverse(matrix), gradient);
        let mut next = [at[0] - step[0], at[1] - step[1], at[2] - step[2]];
        next[2] = next[2].clamp(*LOG2_EXPONENT.start(), *LOG2_EXPONENT.end());
        let after = loss(next, seen, mean);
        if after <= before {
            let moved = (0..3).map(|index| (next[index] - at[index]).abs()).fold(0.0, f64::max);
            (at, before, damping) = (next, after, damping * 0.2);
            if moved < STILL {
                break;
            }
        } else {
            damping *= 10.0;
        }
    }
    at
}

impl Bottleneck {
    /// Fits the estimator to a series.
    pub fn fit(series: &Series, knowledge: Knowledge) -> Self {
        let seen: Vec<_> = series.sizes.values().map(observations).collect();
        // the offset from the links is added to the sizes' common mean
        let offsets: Vec<f64> = series
            .sizes
            .iter()
            .map(|(size, points)| {
                let opposite = knowledge.opposite(*size, points.read.iops, points.write.iops);
                if opposite { OPPOSITE } else { 0.0 }
            })
            .collect();
        let mut mean = 0.0;
        let start = |(points, offset): (&SizePoints, &f64)| {
            [-libm::log(points.read.iops), -libm::log(points.write.iops), *offset]
        };
        let mut at: Vec<[f64; 3]> = series.sizes.values().zip(&offsets).map(start).collect();
        // sizes without a mixed point do not inform the mean
        let telling: Vec<bool> =
            series.sizes.values().map(|points| !points.mixed.is_empty()).collect();
        let count = telling.iter().filter(|telling| **telling).count() as f64;
        let precision = count / AMONG_SIZES.powi(2) + 1.0 / OF_MEAN.powi(2);
        for _ in 0..MOST_ROUNDS {
            for ((at, seen), offset) in at.iter_mut().zip(&seen).zip(&offsets) {
                *at = descend(*at, seen, mean + offset);
            }
            let own = at.iter().zip(&offsets).zip(&telling).filter(|(_, telling)| **telling);
            let sum: f64 = own.map(|((at, offset), _)| at[2] - offset).sum();
            let next = sum / AMONG_SIZES.powi(2) / precision;
            let moved = (next - mean).abs();
            mean = next;
            if moved < STILL {
                break;
            }
        }
        let of_all: SortedSet<ReadShare> = series.mixed().map(|(_, reads, _)| reads).collect();
        let sizes = series.sizes.iter().zip(at).zip(seen.iter().zip(&offsets));
        let sizes = sizes.map(|(((size, points), at), (seen, offset))| {
            let variance = AMONG_SIZES.powi(2) + 1.0 / precision;
            let (matrix, _) = normal(at, seen, mean + offset, variance);
            let own: SortedSet<ReadShare> = points.mixed.keys().copied().collect();
            let mut measured = if own.is_empty() { of_all.clone() } else { own };
            measured.extend(PURE);
            let measured = measured.into_iter().collect();
            (*size, Size { at, covariance: inverse(matrix), measured })
        });
        let sizes: SortedMap<Bytes, Size> = sizes.collect();
        let rest = PURE.map(|pure| {
            let costs = sizes.iter().map(|(size, fitted)| (*size, fitted.alone(pure)));
            let shown: Vec<(Bytes, f64)> =
                costs.filter(|(size, cost)| !knowledge.fills_a_link(*size, pure, *cost)).collect();
            Rest::of(&shown)
        });
        Self { sizes, knowledge, rest }
    }

    /// The exponent p of a size; `None`: it has no points.
    pub fn exponent(&self, size: Bytes) -> Option<f64> {
        Some(libm::exp2(self.sizes.get(&size)?.at[2]))
    }

    /// Requests a second of a mix; `None`: the size has no points.
    pub fn estimate(&self, size: Bytes, reads: ReadShare) -> Option<Estimate> {
        let fitted = self.sizes.get(&size)?;
        let (mut cost, slope) = log_cost(fitted.at, reads);
        let mut variance = dot(slope, times(fitted.covariance, slope));
        if let Some(between) = between(fitted.at, reads, &fitted.measured) {
            cost = libm::log(between.middle());
            variance += between.variance();
        }
        let width = Z95 * variance.max(0.0).sqrt();
        // a pure measurement may exceed the stated capacity of the links
        let ceiling = reads.is_mixed().then(|| self.knowledge.ceiling(size, reads)).flatten();
        let most = ceiling.unwrap_or(f64::INFINITY);
        let of = |log: f64| libm::exp(-log).min(most);
        Some(Estimate { iops: of(cost), low: of(cost + width), high: of(cost - width) })
    }

    /// Requests a second of several sizes, each with its share (from 0 to 1) of the requests.
    /// `None` if a size has no points.
    ///
    /// If sizes are served one after the other, a request costs the mean over its sizes. If the
    /// links are known, sizes may wait for different parts in parallel: the links, and the rest.
    /// The cost is at least the time that any one part needs for all sizes. How near the cost comes
    /// to that depends on the number of outstanding requests. If that number is known, requests
    /// circulate between the parts; otherwise the estimate is the (geometric) middle.
    pub fn of_sizes(&self, sizes: &[(Bytes, f64)], reads: ReadShare) -> Option<Estimate> {
        let (mut seconds, mut least, mut most, mut alone) = (0.0, 0.0, 0.0, 0.0_f64);
        let mut costs = Vec::new();
        for (size, share) in sizes {
            let one = self.estimate(*size, reads)?;
            seconds += share / one.iops;
            least += share / one.high;
            most += share / one.low;
            alone = alone.max(share / one.iops);
            costs.push((*size, *share, 1.0 / one.iops));
        }
        let Some(parts) = self.parts(sizes, reads) else {
            return Some(Estimate { iops: 1.0 / seconds, low: 1.0 / most, high: 1.0 / least });
        };
        let longest = parts.iter().map(|part| part.mean).fold(alone, f64::max);
        let between = Between { least: longest.min(seconds), most: seconds };
        let cost = match self.knowledge.outstanding {
            Some(outstanding) => self
                .going_round(&costs, reads, outstanding)
                .map_or(seconds, |cost| cost.clamp(between.least, between.most)),
            None => between.middle(),
        };
        let of = |limit: f64| limit * cost / seconds;
        let width = libm::exp(Z95 * between.variance().sqrt());
        Some(Estimate { iops: 1.0 / cost, low: 1.0 / (of(most) * width), high: width / of(least) })
    }

    /// The rest, and both directions of the links, with the requests' demands on each. `None` if no
    /// links are known, or if a size has no points.
    fn parts(&self, sizes: &[(Bytes, f64)], reads: ReadShare) -> Option<[Part; 3]> {
        let mut needed = Vec::new();
        for (size, share) in sizes {
            let fitted = self.sizes.get(size)?;
            for (pure, of_pure, rest) in [
                (ReadShare::READS, reads.fraction(), &self.rest[0]),
                (ReadShare::WRITES, 1.0 - reads.fraction(), &self.rest[1]),
            ] {
                let [into, out_of] = self.knowledge.seconds(*size, pure)?;
                let cost = fitted.alone(pure);
                let hidden = self.knowledge.fills_a_link(*size, pure, cost);
                let rest = if hidden { rest.seconds(*size).min(cost) } else { cost };
                needed.push((share * of_pure, [rest, into, out_of]));
            }
        }
        let part = |at: usize| {
            let of_part: Vec<(f64, f64)> =
                needed.iter().map(|(share, seconds)| (*share, seconds[at])).collect();
            Part::of(&of_part)
        };
        Some([part(0), part(1), part(2)])
    }

    /// Seconds per request if `outstanding` requests of these sizes (with share and cost) circulate.
    ///
    /// The points are of a system with this number of outstanding requests. The rest may work on
    /// several requests at once, so a request without queueing spends there between one and
    /// `outstanding` times the rest's time per request. The middle is taken. The result is
    /// corrected by the error that this makes for each size alone.
    fn going_round(
        &self,
        costs: &[(Bytes, f64, f64)],
        reads: ReadShare,
        outstanding: NonZeroU32,
    ) -> Option<f64> {
        let round = |sizes: &[(Bytes, f64)]| {
            let parts = self.parts(sizes, reads)?;
            let delay = f64::from(outstanding.get() - 1) / 2.0 * parts[0].mean;
            seconds_each(&parts, delay, outstanding)
        };
        let seconds: f64 = costs.iter().map(|(_, share, cost)| share * cost).sum();
        let mut correction = 0.0;
        for (size, share, cost) in costs {
            correction += share * cost / seconds * libm::log(cost / round(&[(*size, 1.0)])?);
        }
        let sizes: Vec<(Bytes, f64)> =
            costs.iter().map(|(size, share, _)| (*size, *share)).collect();
        Some(round(&sizes)? * libm::exp(correction))
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Rate;
    use proptest::prelude::*;

    use super::*;
    use crate::knowledge::{Links, WritePath};
    use crate::point::Point;
    use crate::survey::Survey;

    fn share(percent: f64) -> ReadShare {
        ReadShare::from_percent(percent).unwrap()
    }

    /// Sizes in KiB with the costs of a read and a write, us; and mixes in percent of reads.
    fn series(sizes: &[(u64, f64, f64)], mixes: &[f64], law: impl Fn(f64, f64) -> f64) -> Series {
        let mut points = Vec::new();
        for (kib, read, write) in sizes {
            for percent in [0.0, 100.0].iter().chain(mixes) {
                let cost = law(percent / 100.0 * read, (1.0 - percent / 100.0) * write);
                points.push(Point {
                    series: String::new(),
                    size: Bytes::kib(*kib),
                    reads: share(*percent),
                    iops: 1e6 / cost,
                    origin: String::new(),
                });
            }
        }
        Survey::new(&points, false).unwrap().0.series.remove("").unwrap()
    }

    const SIZES: [(u64, f64, f64); 3] = [(4, 10.0, 30.0), (16, 20.0, 50.0), (64, 50.0, 80.0)];

    fn max(a: f64, b: f64) -> f64 {
        a.max(b)
    }

    #[test]
    fn without_mixed_points_it_is_the_plain_rule() {
        let series = series(&SIZES, &[], max);
        let fitted = Bottleneck::fit(&series, Knowledge::default());
        for (size, points) in &series.sizes {
            for percent in [0.0, 10.0, 50.0, 90.0, 100.0] {
                let ours = fitted.estimate(*size, share(percent)).unwrap();
                let plain = points.plain().throughput(share(percent)).total();
                assert!((ours.iops / plain - 1.0).abs() < 1e-6, "{percent} {ours:?} {plain}");
                assert!(ours.low < ours.iops && ours.iops < ours.high);
            }
        }
    }

    #[test]
    fn one_mixed_point_tells_the_largest_of_two_from_their_sum() {
        let both = series(&SIZES[..1], &[50.0], max);
        let fitted = Bottleneck::fit(&both, Knowledge::default());
        // at 80 %: 8 us of reads and 6 us of writes in parallel take 8 us, not 14
        let ours = fitted.estimate(Bytes::kib(4), share(80.0)).unwrap().iops;
        let plain = both.sizes[&Bytes::kib(4)].plain().throughput(share(80.0)).total();
        let error = |found: f64| (found / (1e6 / 8.0) - 1.0).abs();
        assert!(error(ours) < error(plain) / 2.0, "{ours} {plain}");
    }

    #[test]
    fn the_balanced_mix_leaves_least_open() {
        // A processor for both, and a drive for writes: the larger cost determines the result, with
        // a kink between them.
        for (read, write, cpu) in [(10.0, 54.0, 45.0), (10.0, 40.0, 35.0), (10.0, 25.0, 12.0)] {
            let law = |reads: f64, writes: f64| max(reads + writes * cpu / write, writes);
            let sizes = [(4, read, write)];
            let given = |percent: f64| series(&sizes, &[percent], law);
            let balanced = given(50.0).sizes[&Bytes::kib(4)].plain().balanced();
            let worst = |percent: f64| {
                let fitted = Bottleneck::fit(&given(percent), Knowledge::default());
                let error = |asked: u32| {
                    let reads = f64::from(asked) / 100.0;
                    let ours = fitted.estimate(Bytes::kib(4), share(f64::from(asked))).unwrap();
                    (ours.iops * law(reads * read, (1.0 - reads) * write) / 1e6 - 1.0).abs()
                };
                (1..100).map(error).fold(0.0, f64::max)
            };
            let (best, half) = (worst(balanced.percent()), worst(50.0));
            assert!(best < 0.13 && best < half, "{write} {best} {half}");
        }
    }

    #[test]
    fn between_measured_mixes_the_cost_is_within_what_convexity_allows() {
        // three parts: a read costs 1, 1/4 and 0.6 of its cost there, a write 1/2, 1 and 0.9
        let law = |read: f64, write: f64| {
            max(max(read + write / 2.0, read / 4.0 + write), 0.6 * read + 0.9 * write)
        };
        let all = series(&SIZES, &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0], law);
        let given = series(&SIZES, &[50.0], law);
        let fitted = Bottleneck::fit(&given, Knowledge::default());
        for (size, reads, measured) in all.mixed() {
            let ours = fitted.estimate(size, reads).unwrap();
            let error = (ours.iops / measured.iops - 1.0).abs();
            assert!(error < 0.1, "{size} {reads} % {error}");
            assert!(ours.low < measured.iops && measured.iops < ours.high, "{ours:?}");
        }
    }

    #[test]
    fn sizes_that_wait_for_different_parts_go_side_by_side() {
        // 4 KiB: 100 us of a processor and 3.5 us of a link; 1 MiB: 100 us and 894 us
        let link = 1_048_576.0 / 894e-6;
        let knowledge = Knowledge {
            links: Some(Links {
                into: Rate::bytes_per_s(link as u64),
                out_of: Rate::bytes_per_s(link as u64),
            }),
            path: WritePath::Proxy,
            ..Knowledge::default()
        };
        let series = series(&[(4, 100.0, 100.0), (1024, 894.0, 894.0)], &[], |a, b| a + b);
        let sizes = [(Bytes::kib(4), 0.9), (Bytes::mib(1), 0.1)];
        // the processor needs 100 us for each, the link 3.15 + 89.4: together 100 us, not 90 + 89.4
        let error = |knowledge| {
            let fitted = Bottleneck::fit(&series, knowledge);
            let found = fitted.of_sizes(&sizes, ReadShare::READS).unwrap();
            assert!(found.low < found.iops && found.iops < found.high);
            (found.iops / 1e4 - 1.0).abs()
        };
        let (with, without) = (error(knowledge), error(Knowledge::default()));
        assert!(with < 0.3 && without > 0.4, "{with} {without}");
        // many outstanding requests keep the slowest part busy; a single one visits the parts one after the other
        let among = |outstanding| {
            let outstanding = NonZeroU32::new(outstanding);
            let fitted = Bottleneck::fit(&series, Knowledge { outstanding, ..knowledge });
            fitted.of_sizes(&sizes, ReadShare::READS).unwrap().iops
        };
        let after_each_other = 1e6 / (90.0 + 89.4);
        assert!((among(1) / after_each_other - 1.0).abs() < 1e-9, "{}", among(1));
        assert!(among(1) < among(32) && among(32) < among(1000), "{} {}", among(32), among(1000));
        assert!((among(1_000_000) / 1e4 - 1.0).abs() < 0.01, "{}", among(1_000_000));
        // one size alone gives its measured value
        let knowledge = Knowledge { outstanding: NonZeroU32::new(32), ..knowledge };
        let only = Bottleneck::fit(&series, knowledge);
        let only = only.of_sizes(&[(Bytes::mib(1), 1.0)], ReadShare::READS).unwrap().iops;
        assert!((only / (1e6 / 894.0) - 1.0).abs() < 1e-9, "{only}");
    }

    #[test]
    fn other_sizes_tell_of_one_that_was_never_mixed() {
        let all = series(&SIZES, &[30.0, 50.0, 70.0], max);
        let mut rest = all.clone();
        for percent in [30.0, 50.0, 70.0] {
            rest = rest.without(Bytes::kib(16), share(percent));
        }
        let fitted = Bottleneck::fit(&rest, Knowledge::default());
        for (size, reads, measured) in all.mixed().filter(|(size, ..)| *size == Bytes::kib(16)) {
            let plain = all.sizes[&size].plain().throughput(reads).total();
            let ours = fitted.estimate(size, reads).unwrap().iops;
            let error = |found: f64| (found / measured.iops - 1.0).abs();
            assert!(error(ours) < error(plain) / 2.0, "{reads} {ours} {plain}");
        }
    }

    #[test]
    fn links_in_opposite_directions_need_no_mixed_point() {
        // 4 KiB take 10 us out, and 30 us in: both at the rate of their link
        let rate = |us: f64| Rate::bytes_per_s((4096.0 / us * 1e6) as u64);
        let links = Links { into: rate(30.0), out_of: rate(10.0) };
        let known = Knowledge { links: Some(links), ..Knowledge::default() };
        let series = series(&SIZES[..1], &[], max);
        let ours = Bottleneck::fit(&series, known).estimate(Bytes::kib(4), share(75.0)).unwrap();
        // 7.5 us each: the largest is 7.5, the sum is 15, and p = 4 gives 7.5 · 2^(1/4)
        assert!((ours.iops / (1e6 / (7.5 * libm::pow(2.0, 0.25))) - 1.0).abs() < 1e-3, "{ours:?}");
    }

    #[test]
    fn sizes_by_requests_cost_one_after_the_other() {
        let series = series(&SIZES, &[], |a, b| a + b);
        let fitted = Bottleneck::fit(&series, Knowledge::default());
        // 0.3 · 10 + 0.7 · 50 = 38 us
        let sizes = [(Bytes::kib(4), 0.3), (Bytes::kib(64), 0.7)];
        let found = fitted.of_sizes(&sizes, ReadShare::READS).unwrap();
        assert!((found.iops / (1e6 / 38.0) - 1.0).abs() < 1e-6, "{found:?}");
        assert_eq!(fitted.of_sizes(&[(Bytes(1), 1.0)], ReadShare::READS), None);
    }

    #[test]
    fn derivatives_are_those_of_the_cost() {
        for at in [[-9.0, -8.0, 0.3], [-8.0, -9.5, -1.0], [-8.0, -8.0, 3.0]] {
            for percent in [0.0, 20.0, 60.0, 100.0] {
                let (_, slope) = log_cost(at, share(percent));
                for index in 0..3 {
                    let (mut low, mut high) = (at, at);
                    (low[index], high[index]) = (at[index] - 1e-5, at[index] + 1e-5);
                    let rise = log_cost(high, share(percent)).0 - log_cost(low, share(percent)).0;
                    assert!((rise / 2e-5 - slope[index]).abs() < 1e-6, "{at:?} {percent} {index}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn anything_measured_gives_an_estimate_with_its_interval(
            costs in prop::collection::vec(
                // mixes that are faster by more than that are refused earlier
                (0.01..1e6_f64, 0.01..1e6_f64, 1.05 / crate::survey::CONTRADICTION..10.0), 1..5,
            ),
            percent in 0.0..=100.0_f64,
        ) {
            let sizes: Vec<(u64, f64, f64)> =
                costs.iter().zip(1..).map(|((read, write, _), kib)| (kib, *read, *write)).collect();
            let factor = costs[0].2;
            let series = series(&sizes, &[40.0], |a, b| if a * b > 0.0 { factor * (a + b) } else { a + b });
            let fitted = Bottleneck::fit(&series, Knowledge::default());
            for size in series.sizes.keys() {
                let found = fitted.estimate(*size, share(percent)).unwrap();
                prop_assert!(found.iops.is_finite() && found.iops > 0.0);
                prop_assert!(found.low <= found.iops && found.iops <= found.high, "{:?}", found);
            }
        }
    }
}
