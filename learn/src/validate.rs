//! Out-of-fold predictions: each row is predicted by a model that never saw it.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::LearnError;
use crate::dataset::Dataset;
use crate::folds::Folds;
use crate::model::logarithms;
use crate::spec::{Rows, Spec};

/// Predictions for all rows, in the target's unit. With `log_target` the models learn its logarithm.
/// Folds are shared out among `jobs` threads; the result does not depend on it.
pub fn out_of_fold(
    spec: &Spec,
    data: &Dataset,
    folds: &Folds,
    log_target: bool,
    jobs: NonZeroUsize,
) -> Result<Vec<f64>, LearnError> {
    if folds.rows() != data.y.len() {
        let what = "folds".to_owned();
        return Err(LearnError::Length { what, found: folds.rows(), wanted: data.y.len() });
    }
    let y = if log_target { logarithms(&data.y)? } else { data.y.clone() };
    let owners = data.schema.column_features();
    let of_folds = in_parallel(folds.count(), jobs, |fold| {
        let (train, test) = folds.split(fold);
        let part = data.take_rows(&train);
        let train_y: Vec<f64> = train.iter().map(|&row| y[row]).collect();
        let known = Rows { owners: Some(&owners), groups: part.groups.as_deref() };
        let model = spec.fit_rows(&part.x, &train_y, &known)?;
        Ok::<_, LearnError>((test.clone(), model.predict(&data.x.take_rows(&test))))
    });
    let mut predicted = vec![0.0; y.len()];
    for of_fold in of_folds {
        let (rows, values) = of_fold?;
        for (row, value) in rows.into_iter().zip(values) {
            predicted[row] = if log_target { value.exp() } else { value };
        }
    }
    Ok(predicted)
}

/// What `work` gives for 0, 1, … `count` − 1, by up to `jobs` threads, in that order.
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
