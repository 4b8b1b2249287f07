//! Least squares of a few columns from their products, for models that are refitted many times with
//! fewer and fewer columns.

use crate::matrix::Matrix;

/// A column depends on others if its pivot is smaller than this share of its sum of squares.
const PIVOT: f64 = 1e-10;

/// Sums of products of centred columns with each other and with the centred target.
#[derive(Clone)]
pub(crate) struct Moments {
    /// Columns of x.
    pub(crate) columns: Vec<usize>,
    /// Means of the columns.
    pub(crate) means: Vec<f64>,
    pub(crate) target_mean: f64,
    /// Σ of products, k × k.
    products: Vec<f64>,
    /// Σ of products with the target.
    with_target: Vec<f64>,
    /// Σ of the target's squares.
    pub(crate) target_squares: f64,
}

impl Moments {
    /// The sums over these rows of `x` and `target`.
    pub(crate) fn new(x: &Matrix, target: &[f64], rows: &[u32], columns: Vec<usize>) -> Self {
        let n = rows.len().max(1) as f64;
        let at = |row: &u32| target[*row as usize];
        let target_mean = rows.iter().map(at).sum::<f64>() / n;
        let centred_target: Vec<f64> = rows.iter().map(|row| at(row) - target_mean).collect();
        let mut means = Vec::with_capacity(columns.len());
        let centred: Vec<Vec<f64>> = columns
            .iter()
            .map(|&column| {
                let values = x.column(column);
                let mean = rows.iter().map(|&row| values[row as usize]).sum::<f64>() / n;
                means.push(mean);
                rows.iter().map(|&row| values[row as usize] - mean).collect()
            })
            .collect();
        let k = columns.len();
        let mut products = vec![0.0; k * k];
        for a in 0..k {
            for b in 0..=a {
                let sum = crate::matrix::dot(&centred[a], &centred[b]);
                (products[a * k + b], products[b * k + a]) = (sum, sum);
            }
        }
        let with_target = centred.iter().map(|c| crate::matrix::dot(c, &centred_target)).collect();
        let target_squares = crate::matrix::dot(&centred_target, &centred_target);
        Self { columns, means, target_mean, products, with_target, target_squares }
    }

    /// Number of columns.
    pub(crate) fn count(&self) -> usize {
        self.columns.len()
    }

    /// Sum of squares of a column around its mean.
    pub(crate) fn squares(&self, place: usize) -> f64 {
        self.products[place * self.count() + place]
    }

    /// Squared error of a model with coefficients `beta` at `active` places.
    pub(crate) fn error(&self, active: &[usize], beta: &[f64]) -> f64 {
        let taken: f64 = active.iter().zip(beta).map(|(&a, beta)| self.with_target[a] * beta).sum();
        (self.target_squares - taken).max(0.0)
    }

    /// Coefficients of the columns at these places; `None` for columns that depend on others before
    /// them.
    pub(crate) fn solve(&self, active: &[usize]) -> Vec<Option<f64>> {
        let k = active.len();
        let full = self.count();
        let mut lower = vec![0.0; k * k];
        let mut solution = vec![0.0; k];
        let mut independent = vec![true; k];
        for i in 0..k {
            for j in 0..=i {
                let mut value = self.products[active[i] * full + active[j]];
                for m in 0..j {
                    value -= lower[i * k + m] * lower[j * k + m];
                }
                lower[i * k + j] = if i == j {
                    independent[i] = value > PIVOT * self.squares(active[i]) && value > 0.0;
                    if independent[i] { value.sqrt() } else { 0.0 }
                } else if independent[j] {
                    value / lower[j * k + j]
                } else {
                    0.0
                };
            }
            let mut value = self.with_target[active[i]];
            for m in 0..i {
                value -= lower[i * k + m] * solution[m];
            }
            solution[i] = if independent[i] { value / lower[i * k + i] } else { 0.0 };
        }
        for i in (0..k).rev() {
            if !independent[i] {
                continue;
            }
            let mut value = solution[i];
            for m in i + 1..k {
                if independent[m] {
                    value -= lower[m * k + i] * solution[m];
                }
            }
            solution[i] = value / lower[i * k + i];
        }
        solution.into_iter().zip(independent).map(|(value, is)| is.then_some(value)).collect()
    }

    /// The intercept for coefficients `beta` at `active` places: with it the mean residual is 0.
    pub(crate) fn intercept(&self, active: &[usize], beta: &[f64]) -> f64 {
        let means: f64 = active.iter().zip(beta).map(|(&a, beta)| self.means[a] * beta).sum();
        self.target_mean - means
    }
}

/// A linear model of few columns.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Plane {
    /// Value where all columns are 0.
    pub intercept: f64,
    /// Columns, ascending, and their coefficients.
    pub slopes: Vec<(usize, f64)>,
}

impl Plane {
    pub(crate) fn of_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        let slopes = self.slopes.iter().map(|(column, slope)| slope * row(*column));
        self.intercept + slopes.sum::<f64>()
    }

    /// `share` × this + (1 − `share`) × other.
    pub(crate) fn mixed(&self, share: f64, other: &Self) -> Self {
        let mut slopes: foretell_sorted::SortedMap<usize, f64> =
            self.slopes.iter().map(|(column, slope)| (*column, share * slope)).collect();
        for (column, slope) in &other.slopes {
            *slopes.entry(*column).or_insert(0.0) += (1.0 - share) * slope;
        }
        let intercept = share * self.intercept + (1.0 - share) * other.intercept;
        Self { intercept, slopes: slopes.into_iter().collect() }
    }

    pub(crate) fn fits(&self, columns: usize) -> bool {
        self.slopes.iter().all(|(column, _)| *column < columns)
    }

    pub(crate) fn describe(&self, names: &[String]) -> String {
        use std::fmt::Write;
        let mut text = format!("{:.6}", self.intercept);
        for (column, slope) in &self.slopes {
            let sign = if *slope < 0.0 { '-' } else { '+' };
            let _ = write!(text, " {sign} {:.6} {}", slope.abs(), names[*column]);
        }
        text
    }
}
