//! Finds from the given points when the constant-capacity rule should not be trusted.

use std::fmt;

use foretell_units::Bytes;

use crate::knowledge::Knowledge;
use crate::plain::Throughput;
use crate::point::ReadShare;
use crate::survey::Series;

/// Smallest relevant error of the rule beyond noise.
const MATTERS: f64 = 0.05;
/// Number of standard errors that noise rarely exceeds.
const SIGNIFICANT: f64 = 2.0;
/// Standard error of an estimate above which no statement is possible.
const NOISE: f64 = 0.1;
/// Two sizes form a plateau if their bytes a second differ by less than this ...
const FLAT: f64 = 0.1;
/// ... and the sizes differ by at least this factor.
const APART: f64 = 2.0;
/// Sequential requests below this size are merged and read ahead.
const MERGED_BELOW: Bytes = Bytes::kib(64);

/// Why the rule may fail for a size.
#[derive(Clone, PartialEq, Debug)]
pub enum Warning {
    /// A measured mix differs from the rule's estimate.
    Mix {
        /// Which mix.
        reads: ReadShare,
        /// (estimated - measured) / measured.
        error: f64,
    },
    /// A mix has more reads, or writes, than the same load without the other.
    Beyond {
        /// Which mix.
        reads: ReadShare,
        /// `reads` or `writes`.
        what: &'static str,
    },
    /// Reads and writes alone fill opposite directions of the links.
    Opposite,
    /// Reads alone and writes alone transfer the same bytes a second as with another size. Each has
    /// reached a limit of bytes, and the two limits may be of different resources.
    Plateau,
    /// A write costs less than a read: it completes before the work is done.
    CheapWrites,
    /// Small sequential requests: neighbours are served together, but not in a mix.
    Sequential,
    /// Erasure-coded writes first read the data that they do not overwrite.
    Coded,
    /// Repeated runs differ too much.
    Noise {
        /// Standard error of the estimate at half reads, as a share.
        error: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mix { reads, error } => {
                let (what, percent) =
                    (if *error > 0.0 { "over" } else { "under" }, 100.0 * error.abs());
                write!(f, "at {reads} % reads it {what}-predicts by {percent:.1} %, beyond noise")
            }
            Self::Beyond { reads, what } => write!(
                f,
                "at {reads} % reads it does more {what} a second than with {what} alone, beyond noise: the \
                 points were not measured alike"
            ),
            Self::Opposite => f.write_str(
                "reads alone and writes alone fill opposite directions of the links, which work side \
                 by side: it under-predicts",
            ),
            Self::Plateau => f.write_str(
                "reads alone and writes alone each move the same bytes a second as with another size: \
                 their limits may be of different resources, and it under-predicts then",
            ),
            Self::CheapWrites => f.write_str(
                "a write costs less than a read: writes end in a cache, whose work comes later",
            ),
            Self::Sequential => f.write_str(
                "small sequential requests are merged and read ahead when they are alone, not when mixed: \
                 it over-predicts",
            ),
            Self::Coded => f.write_str(
                "erasure-coded writes read first, and so wait for the reads of a mix: it over-predicts",
            ),
            Self::Noise { error } => {
                write!(f, "runs differ: its estimates are known to ± {:.0} % only", 196.0 * error)
            }
        }
    }
}

/// Reasons why the rule may fail, by size. `sequential`: requests are sequential.
pub fn warnings(series: &Series, knowledge: Knowledge, sequential: bool) -> Vec<(Bytes, Warning)> {
    let mut found = Vec::new();
    for (&size, points) in &series.sizes {
        let mut warn = |warning| found.push((size, warning));
        let half = ReadShare::from_percent(50.0).expect("a percentage");
        for (reads, measured) in &points.mixed {
            let error = points.plain().throughput(*reads).total() / measured.iops - 1.0;
            let noise = points.plain_error(*reads).zip(measured.error);
            let noise = noise.map_or(0.0, |(of_rule, of_mix)| libm::hypot(of_rule, of_mix));
            if error.abs() > MATTERS.max(SIGNIFICANT * noise) {
                warn(Warning::Mix { reads: *reads, error });
            }
            let of_mix = Throughput::split(measured.iops, *reads);
            let pure =
                [("reads", of_mix.read, &points.read), ("writes", of_mix.write, &points.write)];
            for (what, found, alone) in pure {
                let noise = measured.error.zip(alone.error).map_or(0.0, |(a, b)| libm::hypot(a, b));
                if found / alone.iops - 1.0 > MATTERS.max(SIGNIFICANT * noise) {
                    warn(Warning::Beyond { reads: *reads, what });
                }
            }
        }
        if knowledge.opposite(size, points.read.iops, points.write.iops) {
            warn(Warning::Opposite);
        } else if knowledge.links.is_none() && plateau(series, size) {
            warn(Warning::Plateau);
        }
        if points.plain().f_rw() < 1.0 {
            warn(Warning::CheapWrites);
        }
        if sequential && size < MERGED_BELOW {
            warn(Warning::Sequential);
        }
        if knowledge.is_coded() {
            warn(Warning::Coded);
        }
        if let Some(error) = points.plain_error(half).filter(|error| *error > NOISE) {
            warn(Warning::Noise { error });
        }
    }
    found
}

/// Whether another size that differs by at least the factor [`APART`] has the same bytes a second in both directions.
fn plateau(series: &Series, size: Bytes) -> bool {
    let of = &series.sizes[&size];
    series.sizes.iter().any(|(other, points)| {
        let factor = other.get() as f64 / size.get() as f64;
        let apart = factor >= APART || factor <= 1.0 / APART;
        let flat = |a: f64, b: f64| (b * factor / a - 1.0).abs() < FLAT;
        apart && flat(of.read.iops, points.read.iops) && flat(of.write.iops, points.write.iops)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Point;
    use crate::survey::Survey;

    /// Size in KiB, percent of reads, requests a second.
    fn found(points: &[(u64, f64, f64)], knowledge: Knowledge, sequential: bool) -> Vec<Warning> {
        let make = |(kib, percent, iops): &(u64, f64, f64)| Point {
            series: String::new(),
            size: Bytes::kib(*kib),
            reads: ReadShare::from_percent(*percent).unwrap(),
            iops: *iops,
            origin: String::new(),
        };
        let points: Vec<Point> = points.iter().map(make).collect();
        let (survey, _) = Survey::new(&points, false).unwrap();
        warnings(&survey.series[""], knowledge, sequential)
            .into_iter()
            .map(|found| found.1)
            .collect()
    }

    #[test]
    fn a_system_that_follows_the_rule_is_trusted() {
        // 1 / (0.5 / 9000 + 0.5 / 3000) = 4500
        let points = [(4, 100.0, 9000.0), (4, 0.0, 3000.0), (4, 50.0, 4500.0)];
        assert_eq!(found(&points, Knowledge::default(), false), []);
    }

    #[test]
    fn each_reason_is_found() {
        let pure = [(4, 100.0, 9000.0), (4, 0.0, 3000.0)];
        let with = |more: &[(u64, f64, f64)]| {
            found(&[&pure[..], more].concat(), Knowledge::default(), false)
        };
        // 4500 estimated, 4000 measured
        let mix = with(&[(4, 50.0, 4000.0)]);
        assert!(matches!(mix[..], [Warning::Mix { error, .. }] if (error - 0.125).abs() < 1e-9));
        assert_eq!(
            with(&[(16, 100.0, 2250.0), (16, 0.0, 750.0)]),
            [Warning::Plateau, Warning::Plateau]
        );
        assert_eq!(with(&[(16, 100.0, 3000.0), (16, 0.0, 4000.0)]), [Warning::CheapWrites]);
        // at 90 %: 9900 reads a second, but 9000 alone
        let beyond = with(&[(4, 90.0, 11_000.0)]);
        let what = Warning::Beyond { reads: ReadShare::from_percent(90.0).unwrap(), what: "reads" };
        assert!(
            matches!(&beyond[..], [Warning::Mix { .. }, found] if *found == what),
            "{beyond:?}"
        );
        let noise = with(&[(4, 100.0, 4000.0), (4, 0.0, 9000.0)]);
        assert!(matches!(noise[..], [Warning::Noise { .. }]), "{noise:?}");
        assert_eq!(found(&pure, Knowledge::default(), true), [Warning::Sequential]);
        let coded = Knowledge { needed: 3, stored: 5, ..Knowledge::default() };
        assert_eq!(found(&pure, coded, false), [Warning::Coded]);
    }

    #[test]
    fn noise_hides_a_small_error() {
        let runs = [
            (4, 100.0, 8000.0),
            (4, 100.0, 10_000.0),
            (4, 0.0, 2700.0),
            (4, 0.0, 3300.0),
            (4, 50.0, 4100.0),
        ];
        // about 4500 estimated: 10 % off, which is within two standard errors
        assert_eq!(found(&runs, Knowledge::default(), false), []);
    }
}
