//! Zipf's law: rank `r` (from 1) is drawn with probability in proportion to r^−α.
//!
//! Composition and rejection (Devroye, "Non-Uniform Random Variate Generation", II.3 and II.4).
//! Ranks are divided into segments: at first single ranks, then segments with a width of a
//! sixteenth of their first rank, so 2⁴⁰ ranks make 440 segments. A segment is drawn by an alias
//! table, as if all its ranks were as likely as its first. Then a rank is drawn uniformly in it,
//! and kept with probability (first / rank)^α; otherwise everything is drawn again. Kept ranks have
//! exactly Zipf's distribution (up to the 53 bits of `f64`). No sum over ranks is ever needed, so
//! any population costs the same. At least (16/17)^α of the draws are kept. The same share is kept
//! without computing a power, because the segment's last rank is kept with at least that
//! probability.
//!
//! `rand_distr::Zipf`, which inverts an integral by logarithms and powers, takes four to six times
//! as long per draw (`cargo bench -p foretell-workloads`).

use foretell_units::Stream;

use super::{AliasTable, GenerateError};

/// The largest exponent. Above it, only the first few ranks would ever be drawn.
pub const ZIPF_ALPHA_MAX: f64 = 16.0;

/// The largest population: ranks are exact in `f64`.
const POPULATION_MAX: u64 = 1 << 53;

/// Ratio of a segment's first rank to its width.
const FINENESS: u64 = 16;

/// Zipf's law over ranks `0..population`; rank 0 is the most popular.
#[derive(Clone, Debug)]
pub struct Zipf {
    alpha: f64,
    population: u64,
    table: AliasTable,
    segments: Vec<Segment>,
}

/// Ranks, counted from 1, that are equally likely before rejection.
#[derive(Clone, Copy, Debug)]
struct Segment {
    first: u64,
    width: u64,
    /// The probability of keeping its last rank, which is the lowest one.
    surely: f64,
}

impl Zipf {
    /// Zipf's law with exponent `alpha` over `population` ranks; `alpha` = 0 is uniform.
    ///
    /// # Errors
    ///
    /// If `alpha` is not in 0 to [`ZIPF_ALPHA_MAX`], or the population is 0 or above 2⁵³.
    pub fn new(population: u64, alpha: f64) -> Result<Self, GenerateError> {
        if !(0.0..=ZIPF_ALPHA_MAX).contains(&alpha) {
            return Err(GenerateError::Alpha { found: alpha, max: ZIPF_ALPHA_MAX });
        }
        if !(1..=POPULATION_MAX).contains(&population) {
            return Err(GenerateError::TooManyBlocks { found: population, max: POPULATION_MAX });
        }
        let mut segments = Vec::new();
        let mut weights = Vec::new();
        let mut first = 1;
        while first <= population {
            let width = (first / FINENESS).clamp(1, population - first + 1);
            let last = first + width - 1;
            let surely = libm::pow(first as f64 / last as f64, alpha);
            segments.push(Segment { first, width, surely });
            weights.push(width as f64 * libm::pow(first as f64, -alpha));
            first += width;
        }
        Ok(Self { alpha, population, table: AliasTable::new(&weights), segments })
    }

    /// Number of ranks.
    pub fn population(&self) -> u64 {
        self.population
    }

    /// Draws a rank, from 0.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        loop {
            let segment = self.segments[self.table.draw(stream)];
            if segment.width == 1 {
                return segment.first - 1;
            }
            let rank = segment.first + stream.below(segment.width);
            let chance = stream.unit();
            if chance < segment.surely || chance < self.keep(segment.first, rank) {
                return rank - 1;
            }
        }
    }

    /// The probability of keeping a rank.
    #[cold]
    fn keep(&self, first: u64, rank: u64) -> f64 {
        libm::pow(first as f64 / rank as f64, self.alpha)
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::chi_square::assert_fits;

    /// The oracle: a cumulative sum that is searched.
    struct NaiveZipf {
        sums: Vec<f64>,
    }

    impl NaiveZipf {
        fn new(population: u64, alpha: f64) -> Self {
            let mut total = 0.0;
            let sums = (1..=population).map(|rank| {
                total += libm::pow(rank as f64, -alpha);
                total
            });
            Self { sums: sums.collect() }
        }

        fn draw(&self, stream: &mut Stream) -> u64 {
            let place = stream.unit() * self.sums[self.sums.len() - 1];
            self.sums.partition_point(|sum| *sum <= place) as u64
        }
    }

    #[test]
    fn oracle_draws_fit_the_law_as_naive_ones_do() {
        for alpha in [0.0, 0.3, 0.8, 0.99, 1.0, 1.2, 2.5, 8.0] {
            for population in [2, 20, 100, 5_000] {
                let fast = Zipf::new(population, alpha).unwrap();
                let naive = NaiveZipf::new(population, alpha);
                let mut stream = Seed(3).stream("zipf");
                let weights: Vec<f64> =
                    (1..=population).map(|rank| libm::pow(rank as f64, -alpha)).collect();
                let mut counts = [vec![0; population as usize], vec![0; population as usize]];
                for _ in 0..200_000 {
                    counts[0][fast.draw(&mut stream) as usize] += 1;
                    counts[1][naive.draw(&mut stream) as usize] += 1;
                }
                assert_fits(&counts[0], &weights);
                assert_fits(&counts[1], &weights);
            }
        }
    }

    /// The sum of r^−α for `from <= r < to`: term by term below 10⁴, and above by Euler and
    /// Maclaurin's formula, whose next term is below 10⁻¹⁶ of the sum there.
    fn sum(from: u64, to: u64, alpha: f64) -> f64 {
        let middle = to.min(10_000).max(from);
        let terms: f64 = (from..middle).map(|rank| libm::pow(rank as f64, -alpha)).sum();
        if middle == to {
            return terms;
        }
        let (a, b) = (middle as f64, (to - 1) as f64);
        let integral = if (alpha - 1.0).abs() < 1e-9 {
            libm::log(b / a)
        } else {
            (libm::pow(b, 1.0 - alpha) - libm::pow(a, 1.0 - alpha)) / (1.0 - alpha)
        };
        let ends = f64::midpoint(libm::pow(a, -alpha), libm::pow(b, -alpha));
        let slopes = alpha * (libm::pow(a, -alpha - 1.0) - libm::pow(b, -alpha - 1.0)) / 12.0;
        terms + integral + ends + slopes
    }

    #[test]
    fn a_population_of_2_to_the_40_fits_the_law() {
        for alpha in [0.0, 0.5, 0.9, 1.0, 1.1] {
            let population = 1_u64 << 40;
            let zipf = Zipf::new(population, alpha).unwrap();
            assert!(zipf.segments.len() < 450, "{}", zipf.segments.len());
            // cells of 1, 2, 3, then each a third wider: different from the sampler's segments
            let mut edges = vec![1_u64];
            while edges[edges.len() - 1] < population {
                let last = edges[edges.len() - 1];
                edges.push((last + last.div_ceil(3)).min(population));
            }
            *edges.last_mut().unwrap() = population + 1;
            let mut counts = vec![0; edges.len() - 1];
            let mut stream = Seed(4).stream("zipf");
            for _ in 0..1_000_000 {
                let rank = zipf.draw(&mut stream) + 1;
                counts[edges.partition_point(|edge| *edge <= rank) - 1] += 1;
            }
            let weights: Vec<f64> =
                edges.windows(2).map(|edge| sum(edge[0], edge[1], alpha)).collect();
            assert_fits(&counts, &weights);
        }
    }

    #[test]
    #[should_panic(expected = "chi-square")]
    fn a_slightly_different_exponent_is_noticed() {
        let zipf = Zipf::new(1_000, 1.01).unwrap();
        let mut stream = Seed(3).stream("zipf");
        let mut counts = vec![0; 1_000];
        for _ in 0..1_000_000 {
            counts[zipf.draw(&mut stream) as usize] += 1;
        }
        assert_fits(&counts, &(1..=1_000).map(|rank| 1.0 / f64::from(rank)).collect::<Vec<_>>());
    }

    #[test]
    fn impossible_laws_are_refused() {
        let message = |population, alpha| Zipf::new(population, alpha).unwrap_err().to_string();
        assert_eq!(message(9, -0.1), "`alpha` is -0.1; wanted an exponent from 0 to 16");
        assert!(message(9, f64::NAN).starts_with("`alpha` is NaN"));
        assert!(message(0, 1.0).contains("has 0 accesses"));
        assert!(message(u64::MAX, 1.0).contains("at most 9007199254740992"));
        assert_eq!(Zipf::new(1, 1.0).unwrap().draw(&mut Seed(1).stream("one")), 0);
    }
}
