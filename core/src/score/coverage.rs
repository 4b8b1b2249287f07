//! How often the truth was inside a prediction's interval, by class.
//!
//! A class is marked if its coverage is too low. The test is a one-sided binomial test: if the intervals
//! held the truth with probability 80 %, a share as low as the observed one would occur in at most 1 % of
//! cases.

use foretell_sorted::SortedMap;
use serde::Serialize;

use super::Comparison;

/// The coverage below which a class's intervals are wrong, and the significance level of the test.
const TOO_FEW: (f64, f64) = (0.8, 0.01);

/// Coverage of a class of comparisons.
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// `all`; or `system`, `device` or `change` with its value; or a metric.
    pub class: String,
    /// Comparisons with an interval.
    pub comparisons: usize,
    /// The share of comparisons whose interval held the truth.
    pub held: f64,
    /// The median half-width of the intervals, as a share of the figure.
    pub half_width: f64,
    /// Whether the share is too low to be explained by chance.
    pub too_low: bool,
}

/// Coverage over all comparisons, and over each class.
pub fn coverage<'a>(comparisons: impl Iterator<Item = &'a Comparison>) -> Vec<Coverage> {
    let mut classes: SortedMap<(usize, String), Vec<(bool, f64)>> = SortedMap::new();
    for found in comparisons {
        let (Some(low), Some(high)) = (found.low, found.high) else { continue };
        if !found.measured.is_finite() || found.predicted <= 0.0 {
            continue;
        }
        let holds = (low..=high).contains(&found.measured);
        let half = (high - low) / 2.0 / found.predicted;
        let words = found.class.as_deref().into_iter().flat_map(|class| class.split(' '));
        let kinds = ["system", "device", "change"].iter().zip(words);
        let of_it = kinds.map(|(kind, word)| format!("{kind} {word}"));
        let all = std::iter::once("all".to_owned()).chain(of_it).chain([found.metric.to_string()]);
        for (place, class) in all.enumerate() {
            classes.entry((place, class)).or_default().push((holds, half));
        }
    }
    let held = |((_, class), all): ((usize, String), Vec<(bool, f64)>)| {
        let count = all.iter().filter(|(holds, _)| *holds).count();
        let mut widths: Vec<f64> = all.iter().map(|(_, half)| *half).collect();
        widths.sort_by(f64::total_cmp);
        Coverage {
            class,
            comparisons: all.len(),
            held: count as f64 / all.len() as f64,
            half_width: widths[widths.len() / 2],
            too_low: chance_of_at_most(count, all.len(), TOO_FEW.0) < TOO_FEW.1,
        }
    };
    classes.into_iter().map(held).collect()
}

/// The probability of `count` or fewer successes in `all` trials that each succeed with probability `each`.
fn chance_of_at_most(count: usize, all: usize, each: f64) -> f64 {
    // logarithms, because single terms for a thousand trials are too small for a number
    let mut log = all as f64 * libm::log(1.0 - each);
    let mut sum = libm::exp(log);
    for k in 1..=count {
        log += libm::log((all - k + 1) as f64 / k as f64) + libm::log(each / (1.0 - each));
        sum += libm::exp(log);
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(measured: f64, class: &str) -> Comparison {
        Comparison {
            workload: "mail".to_owned(),
            metric: "throughput_rps".into(),
            predicted: 100.0,
            measured,
            error: 0.0,
            low: Some(90.0),
            high: Some(110.0),
            class: Some(class.to_owned()),
            predicted_sd: None,
            measured_sd: None,
        }
    }

    #[test]
    fn the_binomial_test_is_that_of_tables() {
        // 8 of 10 at 80 %: 1 - 10 * .8^9 * .2 - .8^10
        let exact = 1.0 - 10.0 * 0.8_f64.powi(9) * 0.2 - 0.8_f64.powi(10);
        assert!((chance_of_at_most(8, 10, 0.8) - exact).abs() < 1e-12);
        assert!((chance_of_at_most(2000, 2000, 0.8) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_class_that_is_held_too_rarely_is_marked() {
        let good = (0..90).map(|_| comparison(105.0, "ceph flash load"));
        let bad = (0..20).map(|n| comparison(if n < 8 { 95.0 } else { 200.0 }, "swift disk load"));
        let all: Vec<Comparison> = good.chain(bad).collect();
        let held = coverage(all.iter());
        let of = |class: &str| held.iter().find(|held| held.class == class).unwrap();
        assert_eq!((of("all").comparisons, of("system ceph").held), (110, 1.0));
        assert!((of("system swift").held - 0.4).abs() < 1e-12);
        assert!(of("system swift").too_low && of("device disk").too_low);
        assert!(!of("system ceph").too_low);
        assert!((of("all").half_width - 0.1).abs() < 1e-12);
        assert_eq!(held[0].class, "all");
    }
}
