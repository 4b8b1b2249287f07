//! The minimum of a smooth function within bounds: L-BFGS with projection.
//!
//! Directions come from the last steps (Nocedal 1980). Components at a bound that point outwards are
//! left out, and steps are cut back to the bounds (Bertsekas 1982). It is implemented here because the
//! Rust crates for it either have no bounds (`argmin`) or wrap C or Fortran.

/// Number of steps that are remembered.
const MEMORY: usize = 12;
/// Longest move of a component in one step; variables are logarithms.
const LONGEST: f64 = 2.0;
/// Share of the predicted descent that a step must achieve (Armijo).
const SUFFICIENT: f64 = 1e-4;

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Highest number of evaluations of the function.
    pub(super) evaluations: usize,
    /// A gradient whose largest component is at most this counts as zero.
    pub(super) gradient: f64,
    /// The search stops after a step that lowers the value by less than this share of it.
    pub(super) gain: f64,
}

/// Searches for the smallest value, beginning at `start`. `function` gives value and gradient, or
/// `None` where it has none. Returns the best point and its value; `None` if `start` has no value.
pub(super) fn minimize(
    start: &[f64],
    bounds: &[(f64, f64)],
    limits: Limits,
    mut function: impl FnMut(&[f64]) -> Option<(f64, Vec<f64>)>,
) -> Option<(Vec<f64>, f64)> {
    let clamp = |x: &mut [f64]| {
        for (x, (low, high)) in x.iter_mut().zip(bounds) {
            *x = x.clamp(*low, *high);
        }
    };
    let mut x = start.to_vec();
    clamp(&mut x);
    let (mut value, mut gradient) = function(&x)?;
    let mut evaluations = 1;
    let mut memory: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    let mut small = 0;
    while evaluations < limits.evaluations {
        let free: Vec<bool> = (0..x.len())
            .map(|i| {
                let (low, high) = bounds[i];
                !((x[i] <= low && gradient[i] > 0.0) || (x[i] >= high && gradient[i] < 0.0))
            })
            .collect();
        let steepest: Vec<f64> =
            gradient.iter().zip(&free).map(|(g, free)| if *free { *g } else { 0.0 }).collect();
        if steepest.iter().all(|g| g.abs() < limits.gradient) {
            break;
        }
        let mut direction = two_loops(&steepest, &free, &memory);
        if inner(&direction, &steepest) >= 0.0 {
            memory.clear();
            direction = steepest.iter().map(|g| -g).collect();
        }
        let longest = direction.iter().fold(0.0_f64, |most, d| most.max(d.abs()));
        let cap = if memory.is_empty() { 1.0_f64.min(LONGEST) } else { LONGEST };
        let mut step = if longest > cap { cap / longest } else { 1.0 };
        let mut accepted = None;
        while evaluations < limits.evaluations {
            let mut next: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + step * d).collect();
            clamp(&mut next);
            evaluations += 1;
            let moved: Vec<f64> = next.iter().zip(&x).map(|(next, x)| next - x).collect();
            let descent = inner(&moved, &steepest);
            if let Some((found, slope)) = function(&next)
                && found <= value + SUFFICIENT * descent
            {
                accepted = Some((next, moved, found, slope));
                break;
            }
            step *= 0.35;
            if step * longest < 1e-9 {
                break;
            }
        }
        let Some((next, moved, found, slope)) = accepted else {
            if memory.is_empty() {
                break;
            }
            memory.clear();
            continue;
        };
        let change: Vec<f64> = slope.iter().zip(&gradient).map(|(new, old)| new - old).collect();
        if inner(&moved, &change) > 1e-12 * inner(&change, &change) {
            if memory.len() == MEMORY {
                memory.remove(0);
            }
            memory.push((moved, change));
        }
        small = if value - found < limits.gain * (1.0 + value.abs()) { small + 1 } else { 0 };
        (x, value, gradient) = (next, found, slope);
        if small == 2 {
            break;
        }
    }
    Some((x, value))
}

fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// −H·g, estimated from the last steps; 0 in components that are not free.
fn two_loops(gradient: &[f64], free: &[bool], memory: &[(Vec<f64>, Vec<f64>)]) -> Vec<f64> {
    let mut q = gradient.to_vec();
    let mut shares = Vec::with_capacity(memory.len());
    for (moved, change) in memory.iter().rev() {
        let share = inner(moved, &q) / inner(moved, change);
        q.iter_mut().zip(change).for_each(|(q, change)| *q -= share * change);
        shares.push(share);
    }
    if let Some((moved, change)) = memory.last() {
        let scale = inner(moved, change) / inner(change, change);
        for q in &mut q {
            *q *= scale;
        }
    }
    for ((moved, change), share) in memory.iter().zip(shares.into_iter().rev()) {
        let other = inner(change, &q) / inner(moved, change);
        q.iter_mut().zip(moved).for_each(|(q, moved)| *q += (share - other) * moved);
    }
    q.iter().zip(free).map(|(q, free)| if *free { -q } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { evaluations: 500, gradient: 1e-9, gain: 0.0 };

    /// Rosenbrock's valley: least at (1, 1).
    #[expect(clippy::unnecessary_wraps, reason = "as `minimize` wants it")]
    fn rosenbrock(x: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        Some((a * a + 100.0 * b * b, vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b]))
    }

    #[test]
    fn the_end_of_the_valley_is_found() {
        let wide = [(-5.0, 5.0); 2];
        let (x, value) = minimize(&[-1.2, 1.0], &wide, LIMITS, rosenbrock).unwrap();
        assert!(value < 1e-12 && (x[0] - 1.0).abs() < 1e-5, "{x:?} {value}");
    }

    #[test]
    fn closed_form_minimum_at_a_bound() {
        // x ≤ 0.5: least at (0.5, 0.25), value 0.25
        let bounds = [(-5.0, 0.5), (-5.0, 5.0)];
        let (x, value) = minimize(&[-1.2, 1.0], &bounds, LIMITS, rosenbrock).unwrap();
        assert!((x[0] - 0.5).abs() < 1e-9 && (x[1] - 0.25).abs() < 1e-6, "{x:?}");
        assert!((value - 0.25).abs() < 1e-9);
    }

    #[test]
    fn points_without_a_value_are_walked_around() {
        let cut = |x: &[f64]| if x[0] > 0.0 { rosenbrock(x) } else { None };
        assert!(minimize(&[-1.0, 1.0], &[(-5.0, 5.0); 2], LIMITS, cut).is_none());
        let (x, _) = minimize(&[3.0, 1.0], &[(-5.0, 5.0); 2], LIMITS, cut).unwrap();
        assert!((x[0] - 1.0).abs() < 1e-4);
    }
}
