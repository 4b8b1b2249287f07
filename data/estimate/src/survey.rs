//! Checks points and groups them by series, size and mix, with the spread of repeated runs.

use foretell_sorted::SortedMap;
use foretell_units::Bytes;
use thiserror::Error;

use crate::plain::ConstantCapacity;
use crate::point::{Point, ReadShare};

/// Points that differ by more than this factor contradict each other. Noise is smaller (runs on a
/// busy virtual machine differ by at most 2.4); the cause is another unit or another system.
pub(crate) const CONTRADICTION: f64 = 4.0;

/// Weight of the common spread of all points, in runs, when one point's own spread is estimated.
const COMMON_RUNS: f64 = 4.0;

/// Why points cannot be used.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum Fault {
    /// There are no points.
    #[error("there are no points; expected requests a second of reads alone and of writes alone")]
    Nothing,
    /// A rate is not positive.
    #[error("{origin}: {iops} requests a second; expected a number above 0")]
    Rate {
        /// Source of the point.
        origin: String,
        /// The rate found.
        iops: f64,
    },
    /// A size is zero.
    #[error("{origin}: the size of requests is 0; expected a size of 1 B at least")]
    Size {
        /// Source of the point.
        origin: String,
    },
    /// The same point twice.
    #[error(
        "{first} and {second} are the same point: {size}, {reads} % reads, {iops} requests a second; \
         give each run once"
    )]
    Duplicate {
        /// Source of the first point.
        first: String,
        /// Source of the second point.
        second: String,
        /// Size of the requests.
        size: Bytes,
        /// The mix.
        reads: ReadShare,
        /// Requests a second.
        iops: f64,
    },
    /// Runs of one point that contradict each other.
    #[error(
        "{low_origin} and {high_origin} contradict each other: {size}, {reads} % reads, \
         {low} and {high} requests a second"
    )]
    Contradiction {
        /// Source of the lower run.
        low_origin: String,
        /// Source of the higher run.
        high_origin: String,
        /// Size of the requests.
        size: Bytes,
        /// The mix.
        reads: ReadShare,
        /// Requests a second.
        low: f64,
        /// Requests a second.
        high: f64,
    },
    /// A mix with more reads, or writes, than the load without the other.
    #[error(
        "{origin}: {size}, {reads} % reads: {found:.0} {what} a second in the mix and {alone:.0} alone \
         contradict each other"
    )]
    Beyond {
        /// Source of the point.
        origin: String,
        /// Size of the requests.
        size: Bytes,
        /// The mix.
        reads: ReadShare,
        /// `reads` or `writes`.
        what: &'static str,
        /// Their rate in the mix, per second.
        found: f64,
        /// Their rate alone, per second.
        alone: f64,
    },
    /// One of the two required points is missing.
    #[error("{}", missing(series, *size, *reads))]
    Missing {
        /// The series.
        series: String,
        /// Size of the requests.
        size: Bytes,
        /// Only reads or only writes.
        reads: ReadShare,
    },
}

fn missing(series: &str, size: Bytes, reads: ReadShare) -> String {
    let (what, percent) =
        if reads == ReadShare::READS { ("pure-read", "100") } else { ("pure-write", "0") };
    let of = if series.is_empty() { String::new() } else { format!(" ({series})") };
    format!("size {size}{of}: the {what} point is missing; measure it with {percent} % reads")
}

/// Runs of one size and mix.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Mean of the runs, requests a second.
    pub iops: f64,
    /// Number of runs.
    pub runs: usize,
    /// Standard deviation of one run, relative to the mean; `None`: one run.
    pub spread: Option<f64>,
    /// Relative standard error of the mean; with few runs mostly from the common spread of all
    /// points in the series. `None`: no point of the series was repeated.
    pub error: Option<f64>,
}

/// All points of one size.
#[derive(Clone, PartialEq, Debug)]
pub struct SizePoints {
    /// Only reads.
    pub read: Measured,
    /// Only writes.
    pub write: Measured,
    /// All mixes.
    pub mixed: SortedMap<ReadShare, Measured>,
}

impl SizePoints {
    /// The constant-capacity rule from the two pure points.
    pub fn plain(&self) -> ConstantCapacity {
        ConstantCapacity::new(self.read.iops, self.write.iops).expect("rates were checked")
    }

    /// Relative standard error of the rule's estimate, from the errors of the two pure points.
    pub fn plain_error(&self, reads: ReadShare) -> Option<f64> {
        let (read, write) = (self.read.error?, self.write.error?);
        let cost = |share: f64, iops: f64| share / iops;
        let of_reads = cost(reads.fraction(), self.read.iops);
        let of_writes = cost(1.0 - reads.fraction(), self.write.iops);
        let weight = of_reads / (of_reads + of_writes);
        Some(libm::hypot(weight * read, (1.0 - weight) * write))
    }
}

/// Points that differ only in size and mix.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// By size.
    pub sizes: SortedMap<Bytes, SizePoints>,
}

impl Series {
    /// The mixed points.
    pub fn mixed(&self) -> impl Iterator<Item = (Bytes, ReadShare, &Measured)> {
        self.sizes.iter().flat_map(|(size, points)| {
            points.mixed.iter().map(move |(reads, measured)| (*size, *reads, measured))
        })
    }

    /// The series without one mixed point and all its runs.
    pub fn without(&self, size: Bytes, reads: ReadShare) -> Self {
        let mut rest = self.clone();
        if let Some(points) = rest.sizes.get_mut(&size) {
            points.mixed.remove(&reads);
        }
        rest
    }
}

/// All measurements.
#[derive(Clone, PartialEq, Debug)]
pub struct Survey {
    /// Series by name.
    pub series: SortedMap<String, Series>,
}

type Grouped<'a> = SortedMap<&'a str, SortedMap<Bytes, SortedMap<ReadShare, Vec<&'a Point>>>>;

impl Survey {
    /// Checks the points and groups them. A size without both pure points is a fault; with `skip`,
    /// it is left out and its fault is returned.
    ///
    /// # Errors
    ///
    /// If there is nothing to estimate from, if a rate or size is not positive, if a point is given
    /// twice, or if runs contradict each other.
    pub fn new(points: &[Point], skip: bool) -> Result<(Self, Vec<Fault>), Fault> {
        Self::checked(points, skip, check_duplicates)
    }

    /// The same for runs that are known to be different, so that they may have equal results.
    ///
    /// # Errors
    ///
    /// As in [`Self::new`], except for points that are given twice; also if a size lacks a pure point.
    pub fn of_different_runs(points: &[Point]) -> Result<Self, Fault> {
        Ok(Self::checked(points, false, |_| Ok(()))?.0)
    }

    fn checked(
        points: &[Point],
        skip: bool,
        check_runs: fn(&[&Point]) -> Result<(), Fault>,
    ) -> Result<(Self, Vec<Fault>), Fault> {
        let mut grouped: Grouped<'_> = SortedMap::new();
        for point in points {
            let origin = point.origin.clone();
            if !(point.iops > 0.0 && point.iops.is_finite()) {
                return Err(Fault::Rate { origin, iops: point.iops });
            }
            if point.size == Bytes::ZERO {
                return Err(Fault::Size { origin });
            }
            let sizes = grouped.entry(&point.series).or_default();
            sizes.entry(point.size).or_default().entry(point.reads).or_default().push(point);
        }
        let mut left_out = Vec::new();
        let mut all = SortedMap::new();
        for (name, sizes) in grouped {
            for runs in sizes.values().flat_map(SortedMap::values) {
                check_runs(runs)?;
                check_spread(runs)?;
            }
            let common = common_spread(sizes.values().flat_map(SortedMap::values));
            let mut kept = SortedMap::new();
            for (size, mixes) in sizes {
                let mut mixed: SortedMap<ReadShare, Measured> =
                    mixes.iter().map(|(reads, runs)| (*reads, measured(runs, common))).collect();
                let (read, write) =
                    (mixed.remove(&ReadShare::READS), mixed.remove(&ReadShare::WRITES));
                let missing = |reads| Fault::Missing { series: name.to_owned(), size, reads };
                match (read, write) {
                    (Some(read), Some(write)) => {
                        check_mixes(size, &mixes, [read.iops, write.iops])?;
                        kept.insert(size, SizePoints { read, write, mixed });
                    }
                    (None, _) => left_out.push(missing(ReadShare::READS)),
                    (_, None) => left_out.push(missing(ReadShare::WRITES)),
                }
            }
            if !kept.is_empty() {
                all.insert(name.to_owned(), Series { sizes: kept });
            }
        }
        if let Some(fault) = left_out.first().filter(|_| !skip || all.is_empty()) {
            return Err(fault.clone());
        }
        if all.is_empty() {
            return Err(Fault::Nothing);
        }
        Ok((Self { series: all }, left_out))
    }
}

/// Sorted by result; runs with equal results keep their order.
fn sorted<'a>(runs: &[&'a Point]) -> Vec<&'a Point> {
    let mut sorted = runs.to_vec();
    sorted.sort_by(|a, b| a.iops.total_cmp(&b.iops));
    sorted
}

/// Checks that no run of a point is given twice.
fn check_duplicates(runs: &[&Point]) -> Result<(), Fault> {
    for pair in sorted(runs).windows(2) {
        if pair[0].iops.total_cmp(&pair[1].iops).is_eq() {
            return Err(Fault::Duplicate {
                first: pair[0].origin.clone(),
                second: pair[1].origin.clone(),
                size: pair[0].size,
                reads: pair[0].reads,
                iops: pair[0].iops,
            });
        }
    }
    Ok(())
}

/// Checks that the runs of a point do not contradict each other.
fn check_spread(runs: &[&Point]) -> Result<(), Fault> {
    let sorted = sorted(runs);
    let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
    if high.iops > CONTRADICTION * low.iops {
        return Err(Fault::Contradiction {
            low_origin: low.origin.clone(),
            high_origin: high.origin.clone(),
            size: low.size,
            reads: low.reads,
            low: low.iops,
            high: high.iops,
        });
    }
    Ok(())
}

/// Checks that no mix makes its reads or writes several times faster than they are alone.
fn check_mixes(
    size: Bytes,
    mixes: &SortedMap<ReadShare, Vec<&Point>>,
    alone: [f64; 2],
) -> Result<(), Fault> {
    for (reads, runs) in mixes.iter().filter(|(reads, _)| reads.is_mixed()) {
        let shares = [("reads", reads.fraction()), ("writes", 1.0 - reads.fraction())];
        for ((what, share), alone) in shares.into_iter().zip(alone) {
            let found = share * mean(runs);
            if found > CONTRADICTION * alone {
                let (origin, reads) = (runs[0].origin.clone(), *reads);
                return Err(Fault::Beyond { origin, size, reads, what, found, alone });
            }
        }
    }
    Ok(())
}

fn mean(runs: &[&Point]) -> f64 {
    runs.iter().map(|run| run.iops).sum::<f64>() / runs.len() as f64
}

/// Sum of the squares of the runs' relative deviations from their mean.
fn squares(runs: &[&Point]) -> f64 {
    let mean = mean(runs);
    runs.iter().map(|run| (run.iops / mean - 1.0).powi(2)).sum()
}

/// Relative variance of one run, over all points that were repeated.
fn common_spread<'a>(points: impl Iterator<Item = &'a Vec<&'a Point>>) -> Option<f64> {
    let (mut sum, mut freedom) = (0.0, 0);
    for runs in points {
        sum += squares(runs);
        freedom += runs.len() - 1;
    }
    (freedom > 0).then(|| sum / freedom as f64)
}

fn measured(runs: &[&Point], common: Option<f64>) -> Measured {
    let (count, sum) = (runs.len() as f64, squares(runs));
    let error = common
        .map(|common| ((COMMON_RUNS * common + sum) / (COMMON_RUNS + count - 1.0) / count).sqrt());
    let spread = (runs.len() > 1).then(|| (sum / (count - 1.0)).sqrt());
    Measured { iops: mean(runs), runs: runs.len(), spread, error }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn point(kib: u64, percent: f64, iops: f64, origin: &str) -> Point {
        Point {
            series: String::new(),
            size: Bytes::kib(kib),
            reads: ReadShare::from_percent(percent).unwrap(),
            iops,
            origin: origin.to_owned(),
        }
    }

    fn fault(points: &[Point]) -> String {
        Survey::new(points, false).unwrap_err().to_string()
    }

    #[test]
    fn runs_of_one_point_give_its_mean_and_spread() {
        let points =
            [point(4, 100.0, 90.0, "a"), point(4, 100.0, 110.0, "b"), point(4, 0.0, 50.0, "c")];
        let (survey, _) = Survey::new(&points, false).unwrap();
        let of = &survey.series[""].sizes[&Bytes::kib(4)];
        assert!((of.read.iops - 100.0).abs() < 1e-9 && of.read.runs == 2);
        // deviations of 10 % each way: variance 0.02 over one degree of freedom
        assert!((of.read.spread.unwrap() - 0.02_f64.sqrt()).abs() < 1e-12);
        // the only spread is also the common one: 0.02 / 2
        assert!((of.read.error.unwrap() - 0.01_f64.sqrt()).abs() < 1e-12);
        // a single run is assumed to have the spread of the others
        assert_eq!(of.write.spread, None);
        assert!((of.write.error.unwrap() - 0.02_f64.sqrt()).abs() < 1e-12);
        // only writes: the error of the write point alone
        assert_eq!(of.plain_error(ReadShare::WRITES), of.write.error);
    }

    #[test]
    fn faults_name_the_point() {
        let both = [point(4, 100.0, 9.0, "a:1"), point(4, 0.0, 3.0, "a:2")];
        let with = |more: Point| fault(&[both[0].clone(), both[1].clone(), more]);
        assert!(with(point(16, 100.0, 1.0, "a:3")).contains("size 16 KiB: the pure-write point"));
        assert!(with(point(16, 50.0, 1.0, "a:3")).contains("size 16 KiB: the pure-read point"));
        assert!(with(point(4, 50.0, 0.0, "a:3")).starts_with("a:3: 0 requests a second"));
        assert!(with(point(4, 0.0, 3.0, "a:3")).starts_with("a:2 and a:3 are the same point"));
        assert!(with(point(4, 0.0, 12.1, "a:3")).contains("contradict"));
        // half of 80 is more than four times 9
        let beyond = with(point(4, 50.0, 80.0, "a:3"));
        assert_eq!(
            beyond,
            "a:3: 4 KiB, 50 % reads: 40 reads a second in the mix and 9 alone contradict each other"
        );
        assert!(with(point(0, 0.0, 31.0, "a:3")).contains("size of requests is 0"));
        assert!(fault(&[]).contains("no points"));
    }

    #[test]
    fn different_runs_may_find_the_same() {
        let points =
            [point(4, 100.0, 9.0, "a"), point(4, 100.0, 9.0, "b"), point(4, 0.0, 3.0, "c")];
        assert!(fault(&points).starts_with("a and b are the same point"));
        let survey = Survey::of_different_runs(&points).unwrap();
        assert_eq!(survey.series[""].sizes[&Bytes::kib(4)].read.spread, Some(0.0));
        // everything else is checked as usual
        assert!(matches!(Survey::of_different_runs(&points[..2]), Err(Fault::Missing { .. })));
    }

    #[test]
    fn sizes_without_both_points_are_left_out_on_demand() {
        let points = [point(4, 100.0, 9.0, "a"), point(4, 0.0, 3.0, "b"), point(16, 0.0, 3.0, "c")];
        let (survey, left_out) = Survey::new(&points, true).unwrap();
        assert_eq!((survey.series[""].sizes.len(), left_out.len()), (1, 1));
        // without any complete size there is nothing to estimate
        assert!(Survey::new(&points[2..], true).is_err());
    }

    proptest! {
        #[test]
        fn the_order_of_points_does_not_matter(
            mut runs in prop::collection::vec((0..3_u64, 0..4_u16, 50.0..60.0_f64), 0..30),
        ) {
            let of = |runs: &[(u64, u16, f64)]| {
                let make = |(kib, tens, iops): &(u64, u16, f64)| {
                    point(1 + kib, f64::from(*tens) * 100.0 / 3.0, *iops, "x")
                };
                Survey::new(&runs.iter().map(make).collect::<Vec<_>>(), true).ok().map(|found| {
                    found.0.series[""].sizes.keys().copied().collect::<Vec<_>>()
                })
            };
            let before = of(&runs);
            runs.reverse();
            prop_assert_eq!(before, of(&runs));
        }
    }
}
