//! The seek curve of a disk from three figures of its data sheet.
//!
//! The curve is Ruemmler & Wilkes' (IEEE Computer, March 1994): a + b·√d up to a knee, where the
//! arm only accelerates and brakes, and c + e·d beyond, where it coasts. That is five unknowns. The
//! data sheet gives the time to the next cylinder t₁ = t(1), over the full stroke t₂ = t(C − 1) of
//! C cylinders, and the average tₐ. Two more conditions make the curve unique: at the knee k the
//! two parts meet, and they meet smoothly (an arm does not change its speed abruptly):
//!
//! ```text
//! a + b        = t₁
//! c + e·(C−1)  = t₂
//! a + b·√k     = c + e·k
//! b / (2·√k)   = e
//! ```
//!
//! Eliminating a, c and e gives b = (t₂ − t₁) / (√k/2 + (C−1)/(2·√k) − 1). The knee is then found
//! by bisection, so that the mean over all pairs of different cylinders is tₐ: a seek over d has
//! weight C − d, the weighting that Hitachi's data sheets define under "average seek time". A far
//! knee makes the curve steep at first, so the average is large. The mean grows from t₁ + (t₂ −
//! t₁)/3 (a straight line) to t₁ + (t₂ − t₁)·8/15 (a square root throughout). An average outside
//! this range is inconsistent with the other two figures.

use foretell_units::SimSpan;

use crate::device::Seek;

/// The three figures of a data sheet.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct DataSheet {
    pub(crate) track_to_track: SimSpan,
    pub(crate) average: SimSpan,
    pub(crate) full_stroke: SimSpan,
}

/// The range of averages that are consistent with the other two figures, milliseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PossibleAverages {
    pub(crate) least_ms: f64,
    pub(crate) most_ms: f64,
}

/// The curve with these figures on a disk of `cylinders` cylinders, at least 16.
///
/// The figures must be positive, and the full stroke must take longer than the step to the next track.
pub(crate) fn curve(sheet: DataSheet, cylinders: u32) -> Result<Seek, PossibleAverages> {
    let last = cylinders - 1;
    let mean = |knee| self::average_ms(&with_knee(sheet, last, knee), cylinders);
    let (mut low, mut high) = (1, last);
    let possible = PossibleAverages { least_ms: mean(low), most_ms: mean(high) };
    let average_ms = sheet.average.as_ms_f64();
    if !(possible.least_ms..=possible.most_ms).contains(&average_ms) {
        return Err(possible);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if mean(middle) < average_ms { low = middle } else { high = middle }
    }
    Ok(with_knee(sheet, last, high))
}

fn with_knee(sheet: DataSheet, last: u32, knee: u32) -> Seek {
    let root = f64::from(knee).sqrt();
    let last = f64::from(last);
    let first = sheet.track_to_track.as_ms_f64();
    let rise = sheet.full_stroke.as_ms_f64() - first;
    let b = rise / (root / 2.0 + last / (2.0 * root) - 1.0);
    let a = first - b;
    Seek {
        knee,
        short_ms: a,
        short_ms_per_sqrt: b,
        long_ms: a + b * root / 2.0,
        long_ms_per_cylinder: b / (2.0 * root),
    }
}

/// The mean over all pairs of different cylinders, in closed form.
///
/// Σ (C − d)·t(d) / Σ (C − d) for d = 1 … C − 1. Powers of d are summed exactly; roots by the
/// Euler–Maclaurin formula, whose error here is below 10⁻⁴ of a root.
pub(crate) fn average_ms(seek: &Seek, cylinders: u32) -> f64 {
    let c = f64::from(cylinders);
    let last = c - 1.0;
    let k = f64::from(seek.knee).min(last);
    let ones = |n: f64| n;
    let firsts = |n: f64| n * (n + 1.0) / 2.0;
    let squares = |n: f64| n * (n + 1.0) * (2.0 * n + 1.0) / 6.0;
    // Σ √d and Σ d·√d for d = 1 … n, with ζ(−1/2) and ζ(−3/2)
    let roots = |n: f64| {
        let r = n.sqrt();
        2.0 / 3.0 * n * r + r / 2.0 + 1.0 / (24.0 * r) - 0.207_886_224_977
    };
    let root_cubes = |n: f64| {
        let r = n.sqrt();
        0.4 * n * n * r + n * r / 2.0 + r / 8.0 - 0.025_485_201_889
    };
    let weight = |n: f64| c * ones(n) - firsts(n);
    let short = seek.short_ms * weight(k) + seek.short_ms_per_sqrt * (c * roots(k) - root_cubes(k));
    let moment = |n: f64| c * firsts(n) - squares(n);
    let long = seek.long_ms * (weight(last) - weight(k))
        + seek.long_ms_per_cylinder * (moment(last) - moment(k));
    (short + long) / weight(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean by a sum over every distance.
    fn naive_average_ms(seek: &Seek, cylinders: u32) -> f64 {
        let (mut total, mut weight) = (0.0, 0.0);
        for distance in 1..cylinders {
            let pairs = f64::from(cylinders - distance);
            total += pairs * seek.time(distance).as_ms_f64();
            weight += pairs;
        }
        total / weight
    }

    #[test]
    fn oracle_the_average_matches_the_sum_over_all_distances() {
        let seek = Seek {
            knee: 372,
            short_ms: 1.332,
            short_ms_per_sqrt: 0.2998,
            long_ms: 5.533,
            long_ms_per_cylinder: 0.004_285,
        };
        for cylinders in [16, 373, 374, 2982, 40_000] {
            let (fast, slow) = (average_ms(&seek, cylinders), naive_average_ms(&seek, cylinders));
            assert!((fast / slow - 1.0).abs() < 1e-4, "{cylinders}: {fast} is not {slow}");
        }
    }

    #[test]
    fn a_curve_has_the_three_figures_it_was_made_from() {
        for (first, average, full, cylinders) in
            [(0.8, 8.0, 17.0, 120_000), (0.3, 3.5, 7.4, 50_000), (1.0, 12.0, 24.0, 2_000)]
        {
            let [track_to_track, mean, full_stroke] =
                [first, average, full].map(SimSpan::from_ms_f64);
            let sheet = DataSheet { track_to_track, average: mean, full_stroke };
            let seek = curve(sheet, cylinders).unwrap();
            let ms = |distance| seek.time(distance).as_ms_f64();
            assert!((ms(1) - first).abs() < 1e-5);
            assert!((ms(cylinders - 1) - full).abs() < 1e-5);
            // no jump and no bend at the knee
            let (before, after) =
                (ms(seek.knee) - ms(seek.knee - 1), ms(seek.knee + 1) - ms(seek.knee));
            assert!(before >= after * 0.99 && after >= 0.0 && before < after * 1.02 + 2e-6);
            let found = naive_average_ms(&seek, cylinders);
            assert!((found / average - 1.0).abs() < 0.01, "{found} is not {average}");
        }
    }

    #[test]
    fn an_average_that_does_not_fit_names_those_that_do() {
        let [track_to_track, average, full_stroke] = [1, 12, 16].map(SimSpan::from_ms);
        let sheet = DataSheet { track_to_track, average, full_stroke };
        let possible = curve(sheet, 100_000).unwrap_err();
        // 1 + 15/3 = 6, and 1 + 15 * 8/15 = 9
        assert!((possible.least_ms - 6.0).abs() < 0.1, "{possible:?}");
        assert!((possible.most_ms - 9.0).abs() < 0.1, "{possible:?}");
    }
}
