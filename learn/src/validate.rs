//! Out-of-fold predictions: each row is predicted by a model that never saw it.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use foretell_sorted::SortedSet;

use crate::LearnError;
use crate::dataset::Dataset;
use crate::folds::Folds;
use crate::intervals::Interval;
use crate::model::{Trained, Training, logarithms};
use crate::spec::Spec;
use crate::transform::{Transform, View};

/// Training rows and rows to predict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Name of the held-out part, for people: `fold 3`, `nodes = 8`.
    pub name: String,
    /// Training rows.
    pub train: Vec<usize>,
    /// Rows to predict.
    pub test: Vec<usize>,
}

/// Parts, each of which holds out some of the rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts(pub Vec<Part>);

impl From<&Folds> for Parts {
    fn from(folds: &Folds) -> Self {
        let part = |fold: usize| {
            let (train, test) = folds.split(fold);
            Part { name: format!("fold {}", fold + 1), train, test }
        };
        Self((0..folds.count()).map(part).collect())
    }
}

/// A feature with more different values than this counts as having no levels.
const LEVELS: usize = 24;

impl Parts {
    /// Leaves out, for each numeric feature, each level that lies between others. This tests how well a
    /// model predicts between the levels of a design. A row is predicted once for each feature in which
    /// it has such a level. Errors unless some feature has 3 to 24 levels.
    pub fn leave_level_out(data: &Dataset) -> Result<Self, LearnError> {
        let mut parts = Vec::new();
        for (column, name, levels) in levels(data) {
            for level in &levels[1..levels.len() - 1] {
                let is = |row: &usize| data.x.get(*row, column).to_bits() == level.to_bits();
                let (test, train) = (0..data.y.len()).partition(is);
                parts.push(Part { name: format!("{name} = {level}"), train, test });
            }
        }
        if parts.is_empty() {
            return Err(LearnError::NoLevels { most: LEVELS });
        }
        Ok(Self(parts))
    }
}

/// Numeric features with three or more levels: column, name, levels ascending.
fn levels(data: &Dataset) -> Vec<(usize, String, Vec<f64>)> {
    let owners = data.schema.column_features();
    let columns = (0..data.x.columns()).filter_map(|column| {
        let feature = &data.schema.features[owners[column]];
        let mut values = data.x.column(column).to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let is_design = (3..=LEVELS.min(data.y.len() / 3)).contains(&values.len());
        let known = values.iter().all(|value| !value.is_nan());
        (feature.levels.is_none() && is_design && known)
            .then(|| (column, feature.name.clone(), values))
    });
    columns.collect()
}

/// Whether the rows form a grid: each numeric feature has few levels, and most combinations occur.
pub fn is_grid(data: &Dataset) -> bool {
    let rows: SortedSet<Vec<u64>> = (0..data.y.len())
        .map(|row| (0..data.x.columns()).map(|c| data.x.get(row, c).to_bits()).collect())
        .collect();
    let levels = levels(data);
    let owners = data.schema.column_features();
    let is_number = |column: &usize| data.schema.features[owners[*column]].levels.is_none();
    let is_binary = |column: &usize| {
        let values = data.x.column(*column).iter();
        values.map(|value| value.to_bits()).collect::<SortedSet<u64>>().len() == 2
    };
    let numbers = (0..data.x.columns()).filter(is_number).count();
    let binary = (0..data.x.columns()).filter(is_number).filter(is_binary).count();
    let names = data.schema.features.iter().filter_map(|feature| feature.levels.as_ref());
    let cells = levels.iter().map(|(_, _, levels)| levels.len() as f64).product::<f64>()
        * names.map(|levels| levels.len() as f64).product::<f64>()
        * libm::pow(2.0, binary as f64);
    !levels.is_empty() && levels.len() + binary == numbers && rows.len() as f64 >= 0.5 * cells
}

/// One prediction of a row by a model that did not see it.
#[derive(Clone, PartialEq, Debug)]
pub struct LeftOut {
    /// The row.
    pub row: usize,
    /// Index of the part.
    pub part: usize,
    /// The prediction, in the target's unit.
    pub predicted: f64,
    /// The interval, if intervals were asked for.
    pub interval: Option<Interval>,
}

/// Predictions of the held-out rows, part after part. All choices (views, hyperparameters, errors for
/// intervals) are made in the training rows. Parts are distributed over `jobs` threads; the result does
/// not depend on their number.
pub fn left_out(
    spec: &Spec,
    data: &Dataset,
    parts: &Parts,
    training: &Training,
    jobs: NonZeroUsize,
) -> Result<(Vec<LeftOut>, Vec<View>), LearnError> {
    data.check_missing(spec)?;
    if training.transform.is_of_log_target() {
        // an error names the row's number in the whole data
        logarithms(&data.y)?;
    }
    let of_parts = in_parallel(parts.0.len(), jobs, |number| {
        let Part { train, test, .. } = &parts.0[number];
        let trained = Trained::fit(spec, &data.take_rows(train), training)
            .map_err(|error| error.of_rows(data.y.len()))?;
        let x = data.x.take_rows(test);
        let intervals = trained.predict_intervals(&x, None);
        let predicted = trained.predict(&x);
        let of_row = |(place, row): (usize, &usize)| LeftOut {
            row: *row,
            part: number,
            predicted: predicted[place],
            interval: intervals.as_ref().map(|intervals| intervals[place]),
        };
        Ok::<_, LearnError>((test.iter().enumerate().map(of_row).collect::<Vec<_>>(), trained.view))
    });
    let (mut all, mut views) = (Vec::new(), Vec::new());
    for of_part in of_parts {
        let (rows, view) = of_part?;
        all.extend(rows);
        views.push(view);
    }
    Ok((all, views))
}

/// Predictions of rows by models that did not see them.
#[derive(Clone, PartialEq, Debug)]
pub struct OutOfFold {
    /// Predictions for all rows, in the target's unit.
    pub predicted: Vec<f64>,
    /// The intervals, if these were asked for.
    pub intervals: Option<Vec<Interval>>,
    /// By fold: the transform of inputs and target that its model used.
    pub views: Vec<View>,
}

/// Predictions for all rows by models of the other folds, as in [`left_out`].
pub fn out_of_fold_with(
    spec: &Spec,
    data: &Dataset,
    folds: &Folds,
    training: &Training,
    jobs: NonZeroUsize,
) -> Result<OutOfFold, LearnError> {
    if folds.rows() != data.y.len() {
        let what = "folds".to_owned();
        return Err(LearnError::Length { what, found: folds.rows(), wanted: data.y.len() });
    }
    let (all, views) = left_out(spec, data, &Parts::from(folds), training, jobs)?;
    let mut predicted = vec![0.0; data.y.len()];
    let nothing = Interval { low: 0.0, high: 0.0 };
    let mut intervals = training.intervals.as_ref().map(|_| vec![nothing; data.y.len()]);
    for LeftOut { row, predicted: value, interval, .. } in all {
        predicted[row] = value;
        if let (Some(intervals), Some(interval)) = (&mut intervals, interval) {
            intervals[row] = interval;
        }
    }
    Ok(OutOfFold { predicted, intervals, views })
}

/// The predictions alone, for models of the target or of its logarithm.
pub fn out_of_fold(
    spec: &Spec,
    data: &Dataset,
    folds: &Folds,
    log_target: bool,
    jobs: NonZeroUsize,
) -> Result<Vec<f64>, LearnError> {
    let training = Transform::of_target(log_target).into();
    Ok(out_of_fold_with(spec, data, folds, &training, jobs)?.predicted)
}

/// The results of `work` for 0, 1, … `count` − 1, in that order, computed by up to `jobs` threads.
pub(crate) fn in_parallel<T: Send>(
    count: usize,
    jobs: NonZeroUsize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    let jobs = jobs.get().min(count);
    if jobs <= 1 {
        return (0..count).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<T>>> = Mutex::new((0..count).map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let result = work(index);
                    done.lock().expect("no other thread panicked")[index] = Some(result);
                }
            });
        }
    });
    let done = done.into_inner().expect("no thread panicked");
    done.into_iter().map(|result| result.expect("every index was worked on")).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::Table;

    fn grid() -> Dataset {
        let mut text = String::from("a,b,kind,y\n");
        for (a, b, kind) in
            (0..5).flat_map(|a| (0..4).flat_map(move |b| ["p", "q"].map(|kind| (a, b, kind))))
        {
            let _ = writeln!(text, "{a},{b},{kind},{}", 10 * a + b);
        }
        let table = Table::read(text.as_bytes(), "t", &[]).unwrap();
        Dataset::new(&table, "y", &[]).unwrap()
    }

    #[test]
    fn levels_between_others_are_left_out() {
        let data = grid();
        let parts = Parts::leave_level_out(&data).unwrap().0;
        let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["a = 1", "a = 2", "a = 3", "b = 1", "b = 2"]);
        for part in &parts {
            assert_eq!(part.train.len() + part.test.len(), 40);
        }
        assert!(parts[0].test.iter().all(|&row| (data.x.get(row, 0) - 1.0).abs() < 1e-12));
    }

    #[test]
    fn grids_are_recognised() {
        let data = grid();
        assert!(is_grid(&data));
        let some: Vec<usize> = (0..40).step_by(3).collect();
        assert!(!is_grid(&data.take_rows(&some)), "a third of it is none");
    }
}
