//! Pearson's chi-square test of counts against a distribution, for the tests of this crate.

/// Asserts that `counts` are consistent with draws with probabilities in proportion to `weights`.
///
/// Panics if such a statistic would occur by chance less than once in 10⁵. Seeds are fixed, so a
/// test passes always or never. Cells with fewer than ten expected are merged with their
/// neighbours.
pub(crate) fn assert_fits(counts: &[u64], weights: &[f64]) {
    assert_eq!(counts.len(), weights.len());
    let draws = counts.iter().sum::<u64>() as f64;
    let total: f64 = weights.iter().sum();
    let (mut statistic, mut cells) = (0.0, 0_u32);
    let (mut count, mut expected) = (0.0, 0.0);
    for (index, (seen, weight)) in counts.iter().zip(weights).enumerate() {
        count += *seen as f64;
        expected += draws * weight / total;
        let rest: f64 = weights[index + 1..].iter().sum::<f64>() * draws / total;
        if expected >= 10.0 && (rest >= 10.0 || index + 1 == counts.len()) {
            statistic += (count - expected).powi(2) / expected;
            cells += 1;
            (count, expected) = (0.0, 0.0);
        }
    }
    assert!(cells > 1 && count == 0.0, "{cells} cells, {count} left over");
    // Wilson & Hilferty 1931: the cube root is nearly normal; 4.265 is the normal's 1 − 10⁻⁵.
    let freedom = f64::from(cells - 1);
    let spread = 2.0 / (9.0 * freedom);
    let critical = freedom * (1.0 - spread + 4.265 * spread.sqrt()).powi(3);
    assert!(statistic < critical, "chi-square {statistic:.1} of {freedom}, at most {critical:.1}");
}
