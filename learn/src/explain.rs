//! What a model learned, and from how many rows: permutation importance, partial dependence, learning curves.
//!
//! Importance (Breiman 2001; of whole models Fisher, Rudin & Dominici 2019) is the growth of the error on
//! held-out rows when a feature's values are shuffled among them. All columns of a factor are shuffled
//! together. Correlated features share their importance or hide it from each other. Partial dependence
//! (Friedman 2001) is the mean prediction of rows in which one feature is set to a value. Where features
//! depend on each other, some of these rows cannot exist.

use std::num::NonZeroUsize;

use foretell_units::{Seed, Stream};
use serde::Serialize;

use crate::LearnError;
use crate::dataset::Dataset;
use crate::matrix::{Matrix, mean};
use crate::metrics::{Scores, rmse};
use crate::model::{Trained, Training};
use crate::spec::Spec;
use crate::validate::{Parts, in_parallel};

/// Number of shuffles of each feature.
const SHUFFLES: u64 = 5;
/// Most rows over which a partial dependence is averaged.
const ROWS: usize = 500;
/// Most values of a numeric feature at which the dependence is evaluated.
const PLACES: usize = 20;

/// A feature's importance.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Importance {
    /// The feature.
    pub feature: String,
    /// Root mean squared error with the feature shuffled, divided by the error without shuffling.
    pub rmse_ratio: f64,
    /// Growth of the mean relative error, in percentage points; `None` where a true value is 0.
    pub mape_points: Option<f64>,
}

/// Importances on the held-out rows of the parts, the largest first.
pub fn importance(
    spec: &Spec,
    data: &Dataset,
    parts: &Parts,
    training: &Training,
    seed: Seed,
    jobs: NonZeroUsize,
) -> Result<Vec<Importance>, LearnError> {
    let owners = data.schema.column_features();
    let features = &data.schema.features;
    // by part: true values, predictions, and the predictions by shuffled feature and shuffle
    let of_parts = in_parallel(parts.0.len(), jobs, |number| {
        let part = &parts.0[number];
        let trained = Trained::fit(spec, &data.take_rows(&part.train), training)?;
        let x = data.x.take_rows(&part.test);
        let mut stream = seed.child(number as u64).stream("learn/importance");
        let shuffled: Vec<Vec<Vec<f64>>> = (0..features.len())
            .map(|feature| {
                (0..SHUFFLES)
                    .map(|_| trained.predict(&shuffled(&x, &owners, feature, &mut stream)))
                    .collect()
            })
            .collect();
        Ok::<_, LearnError>((part.test.clone(), trained.predict(&x), shuffled))
    });
    let (mut truth, mut plain) = (Vec::new(), Vec::new());
    let mut others = vec![vec![Vec::new(); SHUFFLES as usize]; features.len()];
    for of_part in of_parts {
        let (rows, predicted, shuffled) = of_part?;
        truth.extend(rows.iter().map(|&row| data.y[row]));
        plain.extend(predicted);
        for (all, of_feature) in others.iter_mut().zip(shuffled) {
            for (all, of_shuffle) in all.iter_mut().zip(of_feature) {
                all.extend(of_shuffle);
            }
        }
    }
    let (least, before) = (rmse(&truth, &plain), Scores::of(&truth, &plain)?.mape_percent);
    let mut found: Vec<Importance> = features
        .iter()
        .zip(&others)
        .map(|(feature, shuffles)| {
            let ratios: Vec<f64> = shuffles.iter().map(|s| rmse(&truth, s) / least).collect();
            let mapes: Option<Vec<f64>> = shuffles
                .iter()
                .map(|s| Scores::of(&truth, s).ok().and_then(|scores| scores.mape_percent))
                .collect();
            Importance {
                feature: feature.name.clone(),
                rmse_ratio: mean(&ratios),
                mape_points: mapes.zip(before).map(|(mapes, before)| mean(&mapes) - before),
            }
        })
        .collect();
    found.sort_by(|a, b| b.rmse_ratio.total_cmp(&a.rmse_ratio));
    Ok(found)
}

/// The same rows with one feature's values shuffled among them.
fn shuffled(x: &Matrix, owners: &[usize], feature: usize, stream: &mut Stream) -> Matrix {
    let mut order: Vec<usize> = (0..x.rows()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, stream.below(last as u64 + 1) as usize);
    }
    let mut other = x.clone();
    for column in (0..x.columns()).filter(|column| owners[*column] == feature) {
        for (to, &from) in other.column_mut(column).iter_mut().zip(&order) {
            *to = x.get(from, column);
        }
    }
    other
}

/// The mean prediction at a value of a feature.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Dependence {
    /// The value: a number, or a name.
    pub value: String,
    /// The value as a number; `None` if it is a name.
    pub number: Option<f64>,
    /// Mean prediction over the rows.
    pub mean: f64,
    /// 10th and 90th percentile of the predictions over the rows.
    pub tenths: (f64, f64),
    /// Share of the rows that have this value, or are nearer to it than to the other values.
    pub share: f64,
}

/// Partial dependence on a feature; errors if there is no feature of that name.
pub fn dependence(
    trained: &Trained,
    data: &Dataset,
    feature: &str,
) -> Result<Vec<Dependence>, LearnError> {
    let features = &data.schema.features;
    let Some(place) = features.iter().position(|known| known.name == feature) else {
        let names = features.iter().map(|known| known.name.as_str());
        let nearest = crate::error::nearest(feature, names);
        return Err(LearnError::NoColumn { column: feature.to_owned(), nearest });
    };
    let owners = data.schema.column_features();
    let columns: Vec<usize> = (0..owners.len()).filter(|&c| owners[c] == place).collect();
    let n = data.y.len();
    let few = n.min(ROWS);
    let rows: Vec<usize> = (0..few).map(|row| row * n / few).collect();
    let x = data.x.take_rows(&rows);
    // by evaluated value: its name, its number, the values of the columns
    let places: Vec<(String, Option<f64>, Vec<f64>)> = if let Some(levels) = &features[place].levels
    {
        levels
            .iter()
            .enumerate()
            .map(|(level, name)| {
                let is = |column: usize| f64::from(u8::from(column + 1 == level));
                (name.clone(), None, (0..columns.len()).map(is).collect())
            })
            .collect()
    } else {
        let values = numbers(data.x.column(columns[0]));
        values.into_iter().map(|value| (value.to_string(), Some(value), vec![value])).collect()
    };
    let nearest = |row: usize| -> usize {
        let own = |column: &usize| data.x.get(row, *column);
        let apart = |values: &[f64]| -> f64 {
            columns.iter().zip(values).map(|(c, value)| (own(c) - value).abs()).sum()
        };
        let order = |a: &usize, b: &usize| apart(&places[*a].2).total_cmp(&apart(&places[*b].2));
        (0..places.len()).min_by(order).unwrap_or(0)
    };
    let mut counts = vec![0_usize; places.len()];
    (0..n).for_each(|row| counts[nearest(row)] += 1);
    Ok(places
        .iter()
        .zip(counts)
        .map(|((value, number, values), count)| {
            let mut asked = x.clone();
            for (column, value) in columns.iter().zip(values) {
                asked.column_mut(*column).fill(*value);
            }
            let mut predicted = trained.predict(&asked);
            predicted.sort_unstable_by(f64::total_cmp);
            let at =
                |share: f64| predicted[(share * (predicted.len() - 1) as f64).round() as usize];
            Dependence {
                value: value.clone(),
                number: *number,
                mean: mean(&predicted),
                tenths: (at(0.1), at(0.9)),
                share: count as f64 / n as f64,
            }
        })
        .collect())
}

/// The different values, or quantiles if there are many.
fn numbers(column: &[f64]) -> Vec<f64> {
    let mut values: Vec<f64> = column.iter().copied().filter(|value| !value.is_nan()).collect();
    values.sort_unstable_by(f64::total_cmp);
    let all = values.clone();
    values.dedup();
    if values.len() > PLACES {
        let last = (all.len() - 1) as f64;
        let at = |place: usize| all[(place as f64 / (PLACES - 1) as f64 * last).round() as usize];
        values = (0..PLACES).map(at).collect();
        values.dedup();
    }
    values
}

/// A point of the learning curve.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Learned {
    /// Mean number of training rows.
    pub rows: usize,
    /// Errors on the held-out rows.
    pub errors: Scores,
}

/// A learning curve: errors on the held-out rows of the parts, for models fitted to shares of the training
/// rows. The rows of a smaller share are among those of a larger one; groups stay whole.
pub fn learning_curve(
    spec: &Spec,
    data: &Dataset,
    parts: &Parts,
    training: &Training,
    shares: &[f64],
    seed: Seed,
    jobs: NonZeroUsize,
) -> Result<Vec<Learned>, LearnError> {
    let parts_count = parts.0.len();
    let of_jobs = in_parallel(shares.len() * parts_count, jobs, |job| {
        let (share, number) = (shares[job / parts_count], job % parts_count);
        let part = &parts.0[number];
        let mut stream = seed.child(number as u64).stream("learn/curve");
        let groups: Vec<i64> = match &data.groups {
            Some(groups) => part.train.iter().map(|&row| groups[row]).collect(),
            None => part.train.iter().map(|&row| (row as u64).cast_signed()).collect(),
        };
        let mut different = groups.clone();
        different.sort_unstable();
        different.dedup();
        for last in (1..different.len()).rev() {
            different.swap(last, stream.below(last as u64 + 1) as usize);
        }
        let count = (share * different.len() as f64).round().max(2.0) as usize;
        different.truncate(count);
        different.sort_unstable();
        let kept = |(_, group): &(&usize, &i64)| different.binary_search(group).is_ok();
        let rows: Vec<usize> =
            part.train.iter().zip(&groups).filter(kept).map(|(row, _)| *row).collect();
        let trained = Trained::fit(spec, &data.take_rows(&rows), training)?;
        Ok::<_, LearnError>((rows.len(), trained.predict(&data.x.take_rows(&part.test))))
    });
    let truth: Vec<f64> =
        parts.0.iter().flat_map(|part| part.test.iter().map(|&row| data.y[row])).collect();
    let mut of_jobs = of_jobs.into_iter();
    let mut curve = Vec::new();
    for _ in shares {
        let (mut rows, mut predicted) = (0, Vec::new());
        for of_part in of_jobs.by_ref().take(parts_count) {
            let (count, values) = of_part?;
            rows += count;
            predicted.extend(values);
        }
        let errors = Scores::of(&truth, &predicted)?;
        curve.push(Learned { rows: rows / parts_count.max(1), errors });
    }
    Ok(curve)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::folds::Folds;
    use crate::table::Table;
    use crate::transform::Transform;

    /// y = 10·a + 1, plus 5 if kind is q; b has no effect.
    fn data() -> Dataset {
        let mut stream = Seed(1).stream("explain");
        let mut text = String::from("a,b,kind,y\n");
        for row in 0..120 {
            let (a, b) = (stream.unit(), stream.unit());
            let (kind, bonus) = [("p", 0.0), ("q", 5.0), ("r", 0.0)][row % 3];
            let y = 10.0 * a + bonus + 1.0;
            let _ = writeln!(text, "{a},{b},{kind},{y}");
        }
        let table = Table::read(text.as_bytes(), "t", &[]).unwrap();
        Dataset::new(&table, "y", &[]).unwrap()
    }

    #[test]
    fn what_matters_is_important_and_seen() {
        let data = data();
        let spec: Spec = "forest:ntrees=50".parse().unwrap();
        let training = Transform::None.into();
        let folds = Folds::random(120, 5, Seed(1)).unwrap();
        let parts = Parts::from(&folds);
        let found =
            importance(&spec, &data, &parts, &training, Seed(1), NonZeroUsize::MIN).unwrap();
        let names: Vec<&str> = found.iter().map(|of| of.feature.as_str()).collect();
        assert_eq!(names, ["a", "kind", "b"]);
        assert!(found[0].rmse_ratio > 3.0 && found[2].rmse_ratio < 1.1, "{found:?}");
        let spec: Spec = "lrm:interactions=false".parse().unwrap();
        let trained = Trained::fit(&spec, &data, &training).unwrap();
        let of_kind = dependence(&trained, &data, "kind").unwrap();
        assert!((of_kind[1].mean - of_kind[0].mean - 5.0).abs() < 1e-9);
        assert!((of_kind[2].share - 1.0 / 3.0).abs() < 1e-12);
        let of_a = dependence(&trained, &data, "a").unwrap();
        let (first, last) = (&of_a[0], &of_a[of_a.len() - 1]);
        let slope = (last.mean - first.mean) / (last.number.unwrap() - first.number.unwrap());
        assert!((slope - 10.0).abs() < 1e-9, "{slope}");
        assert!(dependence(&trained, &data, "c").is_err());
    }

    #[test]
    fn more_rows_learn_more() {
        let data = data();
        let folds = Folds::random(120, 5, Seed(1)).unwrap();
        let curve = learning_curve(
            &"forest:ntrees=50".parse().unwrap(),
            &data,
            &Parts::from(&folds),
            &Transform::None.into(),
            &[0.1, 1.0],
            Seed(1),
            NonZeroUsize::MIN,
        )
        .unwrap();
        assert_eq!((curve[0].rows, curve[1].rows), (10, 96));
        assert!(curve[1].errors.rmse < 0.6 * curve[0].errors.rmse, "{curve:?}");
    }
}
