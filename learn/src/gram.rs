//! Sums over rows from which linear models are fitted, for any folds and any columns.
//!
//! Columns are first centred and scaled over all rows. The sums over all other folds are the total
//! minus the fold's own sums, so ten folds cost two passes over the rows instead of ten.

use crate::folds::Folds;
use crate::matrix::{Matrix, add_scaled, dot, mean, squares_around};

/// Scaled rows, with the sums of each fold.
pub(crate) struct Folded {
    /// By column, over all rows: the values for centring and for scaling (0: the column is constant).
    middles: Vec<f64>,
    scales: Vec<f64>,
    /// See [`Standard::factors`].
    factors: Vec<f64>,
    all: Sums,
    of_folds: Vec<Sums>,
}

/// Weighted sums over rows of scaled columns x and of y.
#[derive(Clone)]
struct Sums {
    weight: f64,
    rows: usize,
    x: Vec<f64>,
    y: f64,
    yy: f64,
    /// p × p.
    xx: Matrix,
    xy: Vec<f64>,
}

/// Standardised columns and target: means, deviations and correlations of some rows.
pub(crate) struct Standard {
    /// Means of the columns before standardising.
    means: Vec<f64>,
    /// 1/n deviations; 0: the column is constant and gets no coefficient.
    pub(crate) deviations: Vec<f64>,
    y_mean: f64,
    pub(crate) y_deviation: f64,
    /// Correlations of columns, p × p.
    pub(crate) gram: Matrix,
    /// Correlations of columns with y.
    pub(crate) with_y: Vec<f64>,
    /// By column, the factor of its L1 penalty; 1 unless columns were weighed.
    pub(crate) factors: Vec<f64>,
    /// Number of rows.
    pub(crate) rows: usize,
}

impl Folded {
    /// `weights`: by row; without them, all are 1.
    pub(crate) fn new(
        x: &Matrix,
        y: &[f64],
        weights: Option<&[f64]>,
        folds: Option<&Folds>,
    ) -> Self {
        let n = x.rows() as f64;
        let (mut middles, mut scales) = (Vec::new(), Vec::new());
        for j in 0..x.columns() {
            let middle = mean(x.column(j));
            let spread = (squares_around(x.column(j), middle) / n).sqrt();
            middles.push(middle);
            scales.push(if spread <= 1e-12 * middle.abs() { 0.0 } else { spread });
        }
        let sums = |rows: &[usize]| {
            let roots: Vec<f64> = rows
                .iter()
                .map(|&row| weights.map_or(1.0, |weights| weights[row]).sqrt())
                .collect();
            let mut standard = Matrix::zeros(rows.len(), x.columns());
            for j in 0..x.columns() {
                if scales[j] > 0.0 {
                    let from = x.column(j);
                    let to = standard.column_mut(j).iter_mut().zip(rows).zip(&roots);
                    for ((to, &row), root) in to {
                        *to = root * (from[row] - middles[j]) / scales[j];
                    }
                }
            }
            let target: Vec<f64> =
                rows.iter().zip(&roots).map(|(&row, root)| root * y[row]).collect();
            Sums::of(&standard, &target, &roots)
        };
        let of_folds: Vec<Sums> = match folds {
            None => Vec::new(),
            Some(folds) => (0..folds.count()).map(|fold| sums(&folds.split(fold).1)).collect(),
        };
        let all = if let Some((first, others)) = of_folds.split_first() {
            others.iter().fold(first.clone(), |sum, fold| sum.plus(fold, 1.0))
        } else {
            sums(&(0..x.rows()).collect::<Vec<_>>())
        };
        Self { factors: vec![1.0; x.columns()], middles, scales, all, of_folds }
    }

    /// Makes the penalty of a column smaller the larger its weight: the factor is 1 over its share of
    /// the largest weight. If all weights are 0, nothing changes.
    pub(crate) fn weigh(&mut self, weights: &[f64]) {
        let most = weights.iter().copied().fold(0.0, f64::max);
        if most > 0.0 {
            self.factors = weights.iter().map(|weight| most / weight).collect();
        }
    }

    /// The standardised sums of all rows.
    pub(crate) fn whole(&self) -> Standard {
        self.standard(&self.all)
    }

    /// The standardised sums of all rows except those of a fold.
    pub(crate) fn without(&self, fold: usize) -> Standard {
        self.standard(&self.all.plus(&self.of_folds[fold], -1.0))
    }

    fn standard(&self, sums: &Sums) -> Standard {
        let (n, p) = (sums.weight, sums.x.len());
        let means: Vec<f64> = sums.x.iter().map(|sum| sum / n).collect();
        let y_mean = sums.y / n;
        let y_deviation = (sums.yy / n - y_mean * y_mean).max(0.0).sqrt();
        // columns have scale 1 over all rows, so differences are as precise as floating point allows
        let spread = |j: usize| (sums.xx.get(j, j) / n - means[j] * means[j]).max(0.0).sqrt();
        let deviations: Vec<f64> =
            (0..p).map(spread).map(|s| if s < 1e-7 { 0.0 } else { s }).collect();
        let mut gram = Matrix::zeros(p, p);
        for j in 0..p {
            let (mean, scale) = (means[j], deviations[j]);
            let from = sums.xx.column(j);
            for (k, to) in gram.column_mut(j).iter_mut().enumerate() {
                let both = scale * deviations[k];
                *to = if both > 0.0 { (from[k] / n - mean * means[k]) / both } else { 0.0 };
            }
        }
        let with_y = (0..p).map(|j| {
            let both = deviations[j] * y_deviation;
            if both > 0.0 { (sums.xy[j] / n - means[j] * y_mean) / both } else { 0.0 }
        });
        Standard {
            with_y: with_y.collect(),
            gram,
            y_mean,
            y_deviation,
            means: (0..p).map(|j| self.middles[j] + means[j] * self.scales[j]).collect(),
            deviations: (0..p).map(|j| deviations[j] * self.scales[j]).collect(),
            factors: self.factors.clone(),
            rows: sums.rows,
        }
    }
}

impl Sums {
    fn of(x: &Matrix, y: &[f64], roots: &[f64]) -> Self {
        let p = x.columns();
        let mut xx = Matrix::zeros(p, p);
        for j in 0..p {
            for k in 0..=j {
                let value = dot(x.column(j), x.column(k));
                xx.column_mut(j)[k] = value;
                xx.column_mut(k)[j] = value;
            }
        }
        Self {
            weight: dot(roots, roots),
            rows: y.len(),
            x: (0..p).map(|j| dot(x.column(j), roots)).collect(),
            y: dot(y, roots),
            yy: dot(y, y),
            xx,
            xy: (0..p).map(|j| dot(x.column(j), y)).collect(),
        }
    }

    /// The sum of both (`sign` 1), or the difference (`sign` −1).
    fn plus(&self, other: &Self, sign: f64) -> Self {
        let mut sum = self.clone();
        sum.weight += sign * other.weight;
        sum.rows = if sign > 0.0 { self.rows + other.rows } else { self.rows - other.rows };
        sum.y += sign * other.y;
        sum.yy += sign * other.yy;
        add_scaled(&mut sum.x, sign, &other.x);
        add_scaled(&mut sum.xy, sign, &other.xy);
        for j in 0..sum.x.len() {
            add_scaled(sum.xx.column_mut(j), sign, other.xx.column(j));
        }
        sum
    }
}

impl Standard {
    /// The same for these columns alone.
    pub(crate) fn keep(&self, columns: &[usize]) -> Self {
        let pick = |values: &[f64]| -> Vec<f64> { columns.iter().map(|&j| values[j]).collect() };
        let mut gram = Matrix::zeros(columns.len(), columns.len());
        for (to, &from) in columns.iter().enumerate() {
            gram.column_mut(to).copy_from_slice(&pick(self.gram.column(from)));
        }
        Self {
            means: pick(&self.means),
            deviations: pick(&self.deviations),
            y_mean: self.y_mean,
            y_deviation: self.y_deviation,
            with_y: pick(&self.with_y),
            factors: pick(&self.factors),
            gram,
            rows: self.rows,
        }
    }

    /// Intercept and coefficients for the columns before standardising, from standardised `beta`.
    pub(crate) fn unscaled(&self, beta: &[f64]) -> (f64, Vec<f64>) {
        let scale = |(beta, deviation): (&f64, &f64)| {
            if *deviation > 0.0 { beta * self.y_deviation / deviation } else { 0.0 }
        };
        let coefficients: Vec<f64> = beta.iter().zip(&self.deviations).map(scale).collect();
        (self.y_mean - dot(&coefficients, &self.means), coefficients)
    }
}
