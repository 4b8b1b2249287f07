//! Transforms of inputs and target before learning: none, logarithms, products and ratios, alignment.
//!
//! Performance is multiplicative: the scale of inputs and target matters more than the choice of model. A
//! [`View`] is chosen from the training rows alone, so that nothing leaks from the rows to be predicted.
//! Columns that are positive and span a factor of [`SPAN`] can be taken as logarithms; for two such columns,
//! the logarithms of product and ratio can be inputs too. A column of shares (from 0 to 1, or to 100) mixes
//! two kinds of work; the rarer one may take most of the time. A quantity such as 1/(share·a + rest·b)
//! changes most where one of them vanishes. So the logarithms of the share and of the rest, each plus
//! [`RARE`], can be additional inputs. Storage treats a size of 28 KiB differently from one of 32 KiB,
//! because it works in pages and stripes: a write of a part of a page reads the page first. So the alignment
//! of a size can be an input: the largest power of two units that divides it, where all sizes are multiples
//! of a unit. [`Transform::Auto`] takes the view with the smallest error in
//! cross-validation: the relative error where the target is positive, the squared error otherwise. A Gaussian
//! process need not be fitted that often: it takes the view with the largest marginal likelihood (of the
//! target in its own unit).

use serde::{Deserialize, Serialize};

use crate::LearnError;
use crate::dataset::{Dataset, Feature, Schema};
use crate::gp::{self, Gp};
use crate::matrix::{Matrix, mean};
use crate::metrics::rmse;
use crate::model::{Model, logarithms};
use crate::spec::{Kind, Rows, Spec};

/// Minimum ratio of largest to smallest value, for a column whose logarithm is tried.
const SPAN: f64 = 3.0;
/// Added to a share before its logarithm is taken.
const RARE: f64 = 0.03;
/// Minimum number of different values of a column whose alignment is tried.
const SIZES: usize = 8;
/// Smallest common divisor of a column of sizes in bytes: a sector. Columns with a smaller one count something.
const SECTOR: u64 = 512;
/// Maximum number of columns that pairs are formed from, or whose alignments are tried.
const PAIRED: usize = 6;
/// Number of folds in which views are compared.
const FOLDS: usize = 5;
/// Maximum number of rows on which views are compared.
const ROWS: usize = 2_000;
/// Maximum number of rows on which likelihoods are compared.
const LIKELIHOOD_ROWS: usize = 250;

/// Which views are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transform {
    /// Inputs and target as they are.
    #[default]
    None,
    /// The target's logarithm.
    LogTarget,
    /// The target's logarithm, and the inputs that are best for it.
    LogTargetAuto,
    /// Logarithms of the target and of all inputs that allow it.
    Log,
    /// The best view of all.
    Auto,
}

impl Transform {
    /// The default transform of a model.
    pub fn default_of(spec: &Spec) -> Self {
        if spec.kind() == Kind::Gp { Self::Auto } else { Self::None }
    }

    /// The same, but the model learns the target's logarithm.
    #[must_use]
    pub fn with_log_target(self) -> Self {
        match self {
            Self::None | Self::LogTarget => Self::LogTarget,
            Self::Auto | Self::LogTargetAuto => Self::LogTargetAuto,
            Self::Log => Self::Log,
        }
    }

    /// Whether the model learns the target's logarithm, whatever the rows are.
    pub fn is_of_log_target(self) -> bool {
        matches!(self, Self::LogTarget | Self::LogTargetAuto | Self::Log)
    }

    /// `LogTarget` or `None`, for a plain yes or no.
    pub fn of_target(is_log: bool) -> Self {
        if is_log { Self::LogTarget } else { Self::None }
    }
}

/// One input of a model, made of columns.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// A column as it is.
    Column {
        /// The column.
        column: usize,
    },
    /// The natural logarithm of a column.
    Log {
        /// The column.
        column: usize,
        /// Smaller values count as this one.
        least: f64,
    },
    /// The logarithm of a share, or of the rest (the whole minus the share).
    Share {
        /// The column.
        column: usize,
        /// The value of the whole: 1 or 100.
        whole: f64,
        /// Whether it is the logarithm of the rest.
        is_rest: bool,
    },
    /// The logarithm of the largest power of two times `unit` that divides a column, at most `most`; of half a unit
    /// where no whole unit does.
    Alignment {
        /// The column.
        column: usize,
        /// All known values are multiples of it.
        unit: f64,
        /// The largest known alignment.
        most: f64,
    },
    /// The logarithm of the product of two columns, or of their ratio.
    Pair {
        /// The first column.
        first: usize,
        /// The second column.
        second: usize,
        /// Whether the first is divided by the second.
        is_ratio: bool,
        /// Smaller values of the first count as this one.
        first_least: f64,
        /// Smaller values of the second count as this one.
        second_least: f64,
    },
}

/// The inputs and target that a model sees.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct View {
    /// The inputs; `None`: the columns unchanged.
    pub inputs: Option<Vec<Input>>,
    /// Whether it learns the target's natural logarithm.
    pub log_target: bool,
}

impl View {
    /// Chooses the view that `transform` asks for, for this model and these rows. Errors if a logarithm is
    /// asked of a target that is not positive, or if no view could be learned from.
    pub fn choose(spec: &Spec, data: &Dataset, transform: Transform) -> Result<Self, LearnError> {
        let simple = |log_target| Self { inputs: None, log_target };
        match transform {
            Transform::None => Ok(simple(false)),
            Transform::LogTarget => {
                logarithms(&data.y)?;
                Ok(simple(true))
            }
            Transform::Log => {
                logarithms(&data.y)?;
                let has_log = |set: &Option<Vec<Input>>| {
                    set.iter().flatten().any(|input| matches!(input, Input::Log { .. }))
                };
                let inputs = inputs(data).into_iter().find(has_log);
                Ok(Self { inputs: inputs.flatten(), log_target: true })
            }
            Transform::LogTargetAuto => {
                logarithms(&data.y)?;
                best(spec, data, &[true])
            }
            Transform::Auto => {
                let is_positive = data.y.iter().all(|y| *y > 0.0);
                best(spec, data, if is_positive { &[false, true] } else { &[false] })
            }
        }
    }

    /// The inputs for rows of columns.
    pub fn apply(&self, x: &Matrix) -> Matrix {
        let Some(inputs) = &self.inputs else { return x.clone() };
        let mut seen = Matrix::zeros(x.rows(), inputs.len());
        for (place, input) in inputs.iter().enumerate() {
            for (row, value) in seen.column_mut(place).iter_mut().enumerate() {
                *value = input.of_row(|column| x.get(row, column));
            }
        }
        seen
    }

    /// The inputs for a row of columns.
    pub(crate) fn apply_row(&self, row: &[f64]) -> Vec<f64> {
        match &self.inputs {
            None => row.to_vec(),
            Some(inputs) => inputs.iter().map(|input| input.of_row(|c| row[c])).collect(),
        }
    }

    /// Names of the inputs, from the names of the columns.
    pub fn names(&self, columns: &[String]) -> Vec<String> {
        match &self.inputs {
            None => columns.to_vec(),
            Some(inputs) => inputs.iter().map(|input| input.name(columns)).collect(),
        }
    }

    /// By input, the feature it belongs to; shares, alignments and pairs count as features of their own.
    pub(crate) fn owners(&self, owners: &[usize]) -> Vec<usize> {
        let Some(inputs) = &self.inputs else { return owners.to_vec() };
        let mut next = owners.iter().max().map_or(0, |most| most + 1);
        inputs
            .iter()
            .map(|input| match input {
                Input::Column { column } | Input::Log { column, .. } => owners[*column],
                Input::Share { .. } | Input::Alignment { .. } | Input::Pair { .. } => {
                    next += 1;
                    next - 1
                }
            })
            .collect()
    }

    /// The rows with the inputs that the model sees; the target is unchanged.
    pub fn dataset(&self, data: &Dataset) -> Dataset {
        if self.inputs.is_none() {
            return data.clone();
        }
        let names = self.names(&data.schema.column_names());
        let features = names.into_iter().map(|name| Feature { name, levels: None }).collect();
        Dataset { schema: Schema { features }, x: self.apply(&data.x), ..data.clone() }
    }

    /// Fits a model to the transformed rows.
    pub(crate) fn fit(&self, spec: &Spec, data: &Dataset) -> Result<Model, LearnError> {
        let owners = self.owners(&data.schema.column_features());
        let known = Rows { owners: Some(&owners), groups: data.groups.as_deref() };
        spec.fit_rows(&self.apply(&data.x), &self.target(&data.y)?, &known)
    }

    pub(crate) fn target(&self, y: &[f64]) -> Result<Vec<f64>, LearnError> {
        if self.log_target { logarithms(y) } else { Ok(y.to_vec()) }
    }

    /// A prediction converted back to the target's unit.
    pub(crate) fn back(&self, value: f64) -> f64 {
        if self.log_target { libm::exp(value) } else { value }
    }

    /// Whether its columns exist.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        self.inputs.iter().flatten().all(|input| match input {
            Input::Column { column } => *column < columns,
            Input::Log { column, least } => *column < columns && *least > 0.0,
            Input::Share { column, whole, .. } => *column < columns && *whole > 0.0,
            Input::Alignment { column, unit, most } => {
                *column < columns && *unit > 0.0 && unit.is_finite() && most >= unit
            }
            Input::Pair { first, second, first_least, second_least, .. } => {
                let positive = *first_least > 0.0 && *second_least > 0.0;
                *first < columns && *second < columns && positive
            }
        })
    }

    /// Number of inputs.
    pub(crate) fn count(&self, columns: usize) -> usize {
        self.inputs.as_ref().map_or(columns, Vec::len)
    }

    /// A readable description; empty if nothing is changed.
    pub fn describe(&self) -> String {
        let is = |wanted: fn(&Input) -> bool| self.inputs.iter().flatten().any(wanted);
        let mut parts = Vec::new();
        if is(|input| matches!(input, Input::Log { .. })) {
            parts.push("logarithms of inputs");
        }
        if is(|input| matches!(input, Input::Share { .. })) {
            parts.push("logarithms of shares");
        }
        if is(|input| matches!(input, Input::Alignment { .. })) {
            parts.push("alignment of sizes");
        }
        if is(|input| matches!(input, Input::Pair { .. })) {
            parts.push("products and ratios of inputs");
        }
        if self.log_target {
            parts.push("the target's logarithm");
        }
        parts.join(", ")
    }
}

impl Input {
    fn of_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        let logarithm = |column: usize, least: f64| {
            let value = row(column);
            // missing values stay missing
            if value < least { libm::log(least) } else { libm::log(value) }
        };
        match *self {
            Self::Column { column } => row(column),
            Self::Log { column, least } => logarithm(column, least),
            Self::Share { column, whole, is_rest } => {
                let share = (row(column) / whole).clamp(0.0, 1.0);
                libm::log(if is_rest { 1.0 - share + RARE } else { share + RARE })
            }
            Self::Alignment { column, unit, most } => {
                let value = row(column);
                // missing values stay missing
                if value.is_nan() { value } else { libm::log(alignment(value, unit).min(most)) }
            }
            Self::Pair { first, second, is_ratio, first_least, second_least } => {
                let (a, b) = (logarithm(first, first_least), logarithm(second, second_least));
                if is_ratio { a - b } else { a + b }
            }
        }
    }

    fn name(&self, columns: &[String]) -> String {
        match *self {
            Self::Column { column } => columns[column].clone(),
            Self::Log { column, .. } => format!("ln {}", columns[column]),
            Self::Share { column, is_rest: false, .. } => format!("ln share {}", columns[column]),
            Self::Share { column, is_rest: true, .. } => format!("ln rest of {}", columns[column]),
            Self::Alignment { column, .. } => format!("ln alignment of {}", columns[column]),
            Self::Pair { first, second, is_ratio, .. } => {
                let sign = if is_ratio { "/" } else { "*" };
                format!("ln {}{sign}{}", columns[first], columns[second])
            }
        }
    }
}

/// The possible sets of inputs: unchanged, logarithms, and the logarithms with pairs, with shares, and with
/// both.
fn inputs(data: &Dataset) -> Vec<Option<Vec<Input>>> {
    let owners = data.schema.column_features();
    let alone = |column: &usize| data.schema.features[owners[*column]].levels.is_none();
    let range = |column: usize| {
        let values = data.x.column(column).iter();
        let most = |(low, high): (f64, f64), v: &f64| (low.min(*v), high.max(*v));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), most)
    };
    let ranges: Vec<(usize, f64, f64)> = (0..data.x.columns())
        .filter(alone)
        .map(|column| (column, range(column)))
        .map(|(column, (low, high))| (column, low, high))
        .collect();
    let wide: Vec<(usize, f64)> = ranges
        .iter()
        .filter(|(_, low, high)| *low > 0.0 && *high >= SPAN * low)
        .map(|(column, low, _)| (*column, low / 2.0))
        .collect();
    let shares: Vec<Input> = ranges
        .iter()
        .filter_map(|&(column, low, high)| {
            let whole = if (0.5..=1.0).contains(&high) { 1.0 } else { 100.0 };
            let is_share = low >= 0.0 && low < 0.5 * whole && (0.5 * whole..=whole).contains(&high);
            (is_share && is_graded(data.x.column(column))).then_some((column, whole))
        })
        .flat_map(|(column, whole)| {
            [false, true].map(|is_rest| Input::Share { column, whole, is_rest })
        })
        .collect();
    let plain: Vec<Input> = (0..data.x.columns())
        .map(|column| match wide.iter().find(|(other, _)| *other == column) {
            Some(&(_, least)) => Input::Log { column, least },
            None => Input::Column { column },
        })
        .collect();
    let mut pairs = Vec::new();
    if (2..=PAIRED).contains(&wide.len()) {
        for (place, &(first, first_least)) in wide.iter().enumerate() {
            for &(second, second_least) in &wide[place + 1..] {
                for is_ratio in [false, true] {
                    pairs.push(Input::Pair { first, second, is_ratio, first_least, second_least });
                }
            }
        }
    }
    let mut sets = vec![None];
    let none: &[Input] = &[];
    for (with, is_new) in [
        ([none, none], !wide.is_empty()),
        ([&pairs[..], none], !pairs.is_empty()),
        ([none, &shares[..]], !shares.is_empty()),
        ([&pairs[..], &shares[..]], !pairs.is_empty() && !shares.is_empty()),
    ] {
        if is_new {
            sets.push(Some([&plain, with[0], with[1]].concat()));
        }
    }
    sets
}

/// The largest power of two times `unit` that divides a value; half a unit if it is not a multiple of a unit, or too
/// large to tell.
fn alignment(value: f64, unit: f64) -> f64 {
    let units = value / unit;
    if units.fract() != 0.0 || units.abs() > LARGEST_WHOLE {
        return 0.5 * unit;
    }
    // zero is a multiple of everything
    let powers = (units.abs() as u64).trailing_zeros();
    unit * libm::exp2(f64::from(powers))
}

/// Whole numbers up to here are exact.
const LARGEST_WHOLE: f64 = 9e15;

/// The alignments of columns of sizes: of multiples of a [`SECTOR`] or more, with at least [`SIZES`] different values,
/// over a range in which their logarithms are tried. The alignment must not follow from the order of the values: of powers of two it is the
/// size itself, and nothing is known about other sizes.
fn alignments(data: &Dataset) -> Vec<Input> {
    let owners = data.schema.column_features();
    let of_column = |column: usize| {
        if data.schema.features[owners[column]].levels.is_some() {
            return None;
        }
        let mut values = data.x.column(column).to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let (low, high) = (*values.first()?, *values.last()?);
        let is_size = |value: &f64| *value > 0.0 && value.fract() == 0.0 && *value < LARGEST_WHOLE;
        if values.len() < SIZES || high < SPAN * low || !values.iter().all(is_size) {
            return None;
        }
        let divisor =
            values.iter().fold(0, |divisor, value| greatest_divisor(divisor, *value as u64));
        if divisor < SECTOR {
            return None;
        }
        let unit = divisor as f64;
        let known: Vec<f64> = values.iter().map(|value| alignment(*value, unit)).collect();
        let most = known.iter().copied().fold(0.0, f64::max);
        (!known.is_sorted()).then_some(Input::Alignment { column, unit, most })
    };
    let found: Vec<Input> = (0..data.x.columns()).filter_map(of_column).collect();
    if found.len() > PAIRED { Vec::new() } else { found }
}

/// Euclid's algorithm.
fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

/// Whether a column has enough different values between its ends.
fn is_graded(column: &[f64]) -> bool {
    let mut values = column.to_vec();
    values.sort_unstable_by(f64::total_cmp);
    values.dedup();
    values.len() > 2 && values.iter().all(|value| !value.is_nan())
}

/// The best view; `targets`: for the target and for its logarithm, whether it is learned.
fn best(spec: &Spec, data: &Dataset, targets: &[bool]) -> Result<View, LearnError> {
    let by_likelihood = spec.kind() == Kind::Gp;
    let most = if by_likelihood { LIKELIHOOD_ROWS } else { ROWS };
    let part = data.take_rows(&some_rows(data.y.len(), most));
    let mut best: Option<(f64, View)> = None;
    let mut fault = None;
    let mut compare = |view: View, best: &mut Option<(f64, View)>| {
        let cost = if by_likelihood {
            unlikelihood(spec, &part, &view)
        } else {
            error(spec, &part, &view)
        };
        match cost {
            Ok(cost) if best.as_ref().is_none_or(|(least, _)| cost < *least) => {
                *best = Some((cost, view));
            }
            Ok(_) => {}
            Err(error) => fault = Some(error),
        }
    };
    for inputs in inputs(data) {
        for &log_target in targets {
            compare(View { inputs: inputs.clone(), log_target }, &mut best);
        }
    }
    // the best of these views, with alignments
    let aligned = alignments(data);
    if let (Some((_, view)), false) = (&best, aligned.is_empty()) {
        let columns = (0..data.x.columns()).map(|column| Input::Column { column });
        let mut inputs = view.inputs.clone().unwrap_or_else(|| columns.collect());
        inputs.extend(aligned);
        compare(View { inputs: Some(inputs), ..*view }, &mut best);
    }
    best.map(|(_, view)| view).ok_or_else(|| fault.unwrap_or(LearnError::NotPositive))
}

/// All rows, or a random choice of `most` rows.
fn some_rows(rows: usize, most: usize) -> Vec<usize> {
    if rows <= most { (0..rows).collect() } else { gp::choice(rows, most) }
}

/// Error in cross-validation: mean relative error where the target is positive, root mean squared error
/// otherwise.
fn error(spec: &Spec, data: &Dataset, view: &View) -> Result<f64, LearnError> {
    let known = Rows { owners: None, groups: data.groups.as_deref() };
    let n = data.y.len();
    let folds = known.folds(n, FOLDS).ok_or_else(|| known.too_few(n))?;
    let seen = view.apply(&data.x);
    let y = view.target(&data.y)?;
    let owners = view.owners(&data.schema.column_features());
    let mut predicted = vec![0.0; n];
    for fold in 0..folds.count() {
        let (train, test) = folds.split(fold);
        let train_y: Vec<f64> = train.iter().map(|&row| y[row]).collect();
        let groups = data.groups_of(&train);
        let rows = Rows { owners: Some(&owners), groups: groups.as_deref() };
        let model = spec.fit_rows(&seen.take_rows(&train), &train_y, &rows)?;
        for (row, value) in test.iter().zip(model.predict(&seen.take_rows(&test))) {
            predicted[*row] = view.back(value);
        }
    }
    let cost = if data.y.iter().all(|y| *y > 0.0) {
        let relative = |(y, predicted): (&f64, &f64)| (predicted / y - 1.0).abs();
        mean(&data.y.iter().zip(&predicted).map(relative).collect::<Vec<_>>())
    } else {
        rmse(&data.y, &predicted)
    };
    Ok(if cost.is_nan() { f64::INFINITY } else { cost })
}

/// −ln of the marginal likelihood of the target in its own unit.
fn unlikelihood(spec: &Spec, data: &Dataset, view: &View) -> Result<f64, LearnError> {
    let y = view.target(&data.y)?;
    let owners = view.owners(&data.schema.column_features());
    let settings = gp::GpSettings { is_quick: true, ..spec.gp() };
    let gp = Gp::fit(&view.apply(&data.x), &y, &owners, &settings)?;
    // z = (y − m)/d or (ln y − m)/d: dz/dy = 1/d or 1/(d·y)
    let slopes = y.len() as f64 * libm::log(gp.target.deviation);
    let of_logarithm: f64 = if view.log_target { y.iter().sum() } else { 0.0 };
    Ok(-gp.log_marginal_likelihood + slopes + of_logarithm)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::table::Table;

    /// Rows of sizes in KiB; a size that is no whole number of pages of 16 KiB takes twice as long.
    fn sizes(kib: impl Iterator<Item = u32>) -> Dataset {
        let mut text = "size,depth,y\n".to_owned();
        for (row, kib) in kib.enumerate() {
            let (bytes, depth) = (1024 * kib, 1 + row % 5);
            let time = f64::from(kib) * if kib % 16 == 0 { 1.0 } else { 2.0 };
            let _ = writeln!(text, "{bytes},{depth},{}", time * (1.0 + 0.1 * depth as f64));
        }
        let table = Table::read(text.as_bytes(), "sizes", &[]).unwrap();
        Dataset::new(&table, "y", &[]).unwrap()
    }

    fn chosen(data: &Dataset) -> View {
        View::choose(&"lrm".parse().unwrap(), data, Transform::Auto).unwrap()
    }

    #[test]
    fn sizes_that_are_not_aligned_are_told_apart() {
        let data = sizes((0..120).map(|row| 4 * (1 + row * 7 % 40)));
        let view = chosen(&data);
        assert_eq!(
            view.inputs.iter().flatten().filter(|i| matches!(i, Input::Alignment { .. })).count(),
            1
        );
        assert!(view.describe().contains("alignment of sizes"), "{}", view.describe());
        assert!(
            view.names(&data.schema.column_names()).contains(&"ln alignment of size".to_owned())
        );
        assert!(view.fits(2) && !view.fits(0));
    }

    #[test]
    fn of_powers_of_two_the_alignment_is_the_size_itself() {
        assert_eq!(alignments(&sizes((0..120).map(|row| 1 << (row % 10)))), []);
    }

    #[test]
    fn alignments_of_values() {
        let of = |value: u32| (alignment(f64::from(value), 4096.0) / 2048.0).round() as u32;
        assert_eq!([4096, 12288, 16384, 40960, 5000].map(of), [2, 2, 8, 4, 1]);
        let input = Input::Alignment { column: 0, unit: 4096.0, most: 65536.0 };
        let seen = [0.0, f64::from(1 << 20), f64::INFINITY].map(|value| input.of_row(|_| value));
        assert_eq!(seen.map(|value| libm::exp(value).round() as u32), [65536, 65536, 2048]);
        assert!(input.of_row(|_| f64::NAN).is_nan());
    }
}
