//! Fitted models: predicting, describing, saving.

use std::io::{Read, Write};

use foretell_input::{Limit, MAX_COLUMNS, limited};
use serde::{Deserialize, Serialize};

use crate::LearnError;
use crate::boost::Boost;
use crate::cart::Tree;
use crate::cubist::Cubist;
use crate::dataset::{Dataset, Schema, check_missing};
use crate::forest::Forest;
use crate::gp::Gp;
use crate::intervals::{Interval, IntervalSettings, Intervals};
use crate::linear::LinearModel;
use crate::m5::M5;
use crate::mars::Mars;
use crate::matrix::Matrix;
use crate::spec::Spec;
use crate::table::Table;
use crate::transform::{Transform, View};

/// A fitted model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Linear: least squares, ridge, lasso, elastic net.
    Linear(LinearModel),
    /// Splines.
    Mars(Mars),
    /// One regression tree.
    Tree(Tree),
    /// A random forest.
    Forest(Forest),
    /// A model tree.
    M5(M5),
    /// Cubist rules.
    Cubist(Cubist),
    /// A sum of trees.
    Boost(Boost),
    /// A Gaussian process.
    Gp(Gp),
    /// A model that uses some of the columns.
    Selected(Selected),
}

/// A model that sees only some of the columns.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Selected {
    /// The columns, in the model's order.
    pub columns: Vec<usize>,
    /// The model.
    pub model: Box<Model>,
}

impl Model {
    /// The prediction for one row of features, in the order of the columns it was fitted on.
    pub fn predict_row(&self, row: &[f64]) -> f64 {
        match self {
            Self::Linear(model) => model.predict_row(row),
            Self::Mars(model) => model.predict_row(|column| row[column]),
            Self::Tree(model) => model.predict_row(|column| row[column]),
            Self::Forest(model) => model.predict_row(|column| row[column]),
            Self::M5(model) => model.predict_row(|column| row[column]),
            Self::Cubist(model) => model.predict_row(row),
            Self::Boost(model) => model.predict_row(|column| row[column]),
            Self::Gp(model) => model.predict_row(row),
            Self::Selected(Selected { columns, model }) => {
                let kept: Vec<f64> = columns.iter().map(|&column| row[column]).collect();
                model.predict_row(&kept)
            }
        }
    }

    /// The standard deviation of an observation at a row, if the model knows it.
    pub fn deviation_row(&self, row: &[f64]) -> Option<f64> {
        match self {
            Self::Gp(model) => Some(model.normal(row).deviation),
            _ => None,
        }
    }

    /// The predictions for all rows; `x` must have the columns that the model was fitted on.
    pub fn predict(&self, x: &Matrix) -> Vec<f64> {
        let mut predicted = vec![0.0; x.rows()];
        if let Self::Linear(model) = self {
            model.predict_into(x, &mut predicted);
            return predicted;
        }
        let mut row_values = Vec::with_capacity(x.columns());
        for (row, predicted) in predicted.iter_mut().enumerate() {
            x.copy_row(row, &mut row_values);
            *predicted = self.predict_row(&row_values);
        }
        predicted
    }

    /// Whether all columns and nodes that it refers to exist.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        match self {
            Self::Linear(model) => model.fits(columns),
            Self::Mars(model) => model.fits(columns),
            Self::Tree(model) => model.fits(columns),
            Self::Forest(model) => model.fits(columns),
            Self::M5(model) => model.fits(columns),
            Self::Cubist(model) => model.fits(columns),
            Self::Boost(model) => model.trees.iter().all(|tree| tree.fits(columns)),
            Self::Gp(model) => model.fits(columns),
            Self::Selected(Selected { columns: kept, model }) => {
                kept.iter().all(|column| *column < columns) && model.fits(kept.len())
            }
        }
    }

    /// Its terms, tree or rules as text; `names` are the names of the columns.
    pub fn describe(&self, names: &[String]) -> String {
        match self {
            Self::Linear(model) => model.describe(names),
            Self::Mars(model) => model.describe(names),
            Self::Tree(model) => model.describe(names),
            Self::Forest(model) => model.describe(names),
            Self::M5(model) => model.describe(names),
            Self::Cubist(model) => model.describe(names),
            Self::Boost(model) => model.describe(names),
            Self::Gp(model) => model.describe(names),
            Self::Selected(Selected { columns, model }) => {
                let kept: Vec<String> = columns.iter().map(|&c| names[c].clone()).collect();
                model.describe(&kept)
            }
        }
    }
}

/// A model with all that is needed to use it on other tables.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Trained {
    /// Version of the file format.
    format: u32,
    /// The model that was asked for.
    pub spec: Spec,
    /// Name of the target.
    pub target: String,
    /// How the model transforms inputs and target.
    pub view: View,
    /// The features.
    pub schema: Schema,
    /// Number of rows that it was fitted on.
    pub rows: usize,
    /// The smallest and largest value of each numeric feature; empty in files of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<FeatureRange>,
    /// The model.
    pub model: Model,
    /// Data for its intervals, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
}

/// The values of a numeric feature in the training rows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FeatureRange {
    /// Name of the feature.
    pub name: String,
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
}

/// A value outside the training rows: the model extrapolates.
#[derive(Clone, PartialEq, Debug)]
pub struct Outside<'a> {
    /// Row, from 0.
    pub row: usize,
    /// The value.
    pub value: f64,
    /// The feature, and its values in the training rows.
    pub range: &'a FeatureRange,
}

/// The formats that are read; the last is written. Format 3 stores less of the forest behind intervals.
const FORMATS: std::ops::RangeInclusive<u32> = 2..=3;

/// How a model is trained, apart from its own parameters.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Training {
    /// Which transforms of inputs and target are allowed.
    pub transform: Transform,
    /// How its intervals are made; `None`: it has none.
    pub intervals: Option<IntervalSettings>,
}

impl From<Transform> for Training {
    fn from(transform: Transform) -> Self {
        Self { transform, intervals: None }
    }
}

impl Trained {
    /// Fits `spec` to all rows (with split intervals, to a part of them). Errors as [`Spec::fit`], and
    /// if a logarithm is asked of a target that is not positive.
    pub fn fit(spec: &Spec, data: &Dataset, training: &Training) -> Result<Self, LearnError> {
        Self::fitted(spec, data, training).map_err(|error| error.of_rows(data.y.len()))
    }

    fn fitted(spec: &Spec, data: &Dataset, training: &Training) -> Result<Self, LearnError> {
        data.check_missing(spec)?;
        let settings = training.intervals.as_ref();
        let part = Intervals::learned(data, settings)?.map(|rows| data.take_rows(&rows));
        let learned = part.as_ref().unwrap_or(data);
        let view = View::choose(spec, learned, training.transform)?;
        let model = view.fit(spec, learned)?;
        check_finite(spec, &model, learned, &view)?;
        let intervals = settings
            .map(|settings| Intervals::make(spec, &model, data, &view, settings))
            .transpose()?;
        Ok(Self {
            format: *FORMATS.end(),
            spec: spec.clone(),
            target: data.target.clone(),
            view,
            schema: data.schema.clone(),
            rows: learned.y.len(),
            ranges: ranges(data),
            model,
            intervals,
        })
    }

    /// Predictions for a table's rows, in the target's unit; columns are found by name.
    pub fn predict_table(&self, table: &Table) -> Result<Vec<f64>, LearnError> {
        Ok(self.predict(&self.encode(table)?))
    }

    /// A table's rows as a matrix; errors if a column is missing, or a value that the model needs.
    pub fn encode(&self, table: &Table) -> Result<Matrix, LearnError> {
        let x = self.schema.encode(table)?;
        check_missing(&self.spec, &self.schema, &x)?;
        Ok(x)
    }

    /// The values of rows that are outside the training rows, row by row; `x` is as [`Trained::encode`] returns it.
    /// None is found for a model from a file without ranges.
    pub fn outside(&self, x: &Matrix) -> Vec<Outside<'_>> {
        let columns = numeric_columns(&self.schema);
        let of_feature = |range: &FeatureRange| {
            columns.iter().find(|(name, _)| *name == range.name).map(|(_, column)| *column)
        };
        let ranged: Vec<(&FeatureRange, usize)> =
            self.ranges.iter().filter_map(|range| Some((range, of_feature(range)?))).collect();
        let of_row = |row: usize| {
            ranged.iter().filter_map(move |(range, column)| {
                let value = x.get(row, *column);
                (value < range.low || value > range.high).then_some(Outside { row, value, range })
            })
        };
        (0..x.rows()).flat_map(of_row).collect()
    }

    /// Predictions for rows of a matrix with the columns that the model was fitted on.
    pub fn predict(&self, x: &Matrix) -> Vec<f64> {
        let mut predicted = self.model.predict(&self.view.apply(x));
        for value in &mut predicted {
            *value = self.view.back(*value);
        }
        predicted
    }

    /// Predictions with intervals that contain an observation with probability `level` (default: the
    /// level that was trained for). `None` if the model was trained without intervals.
    pub fn predict_intervals(&self, x: &Matrix, level: Option<f64>) -> Option<Vec<Interval>> {
        let intervals = self.intervals.as_ref()?;
        let level = level.unwrap_or(intervals.level);
        let mut row_values = Vec::new();
        let of_row = |row: usize| {
            x.copy_row(row, &mut row_values);
            let seen = self.view.apply_row(&row_values);
            let Interval { low, high } = intervals.of_row(&self.model, &seen, &row_values, level);
            Interval { low: self.view.back(low), high: self.view.back(high) }
        };
        Some((0..x.rows()).map(of_row).collect())
    }

    /// Standard deviations of observations, for models that have them. They are of the target's
    /// logarithm if the model learned that.
    pub fn deviations(&self, x: &Matrix) -> Option<Vec<f64>> {
        let seen = self.view.apply(x);
        let mut row_values = Vec::new();
        (0..seen.rows())
            .map(|row| {
                seen.copy_row(row, &mut row_values);
                self.model.deviation_row(&row_values)
            })
            .collect()
    }

    /// Names of the model's inputs.
    pub fn input_names(&self) -> Vec<String> {
        self.view.names(&self.schema.column_names())
    }

    /// A readable description of the model.
    pub fn describe(&self) -> String {
        let target = foretell_input::one_line(&self.target);
        let ln = if self.view.log_target { "ln " } else { "" };
        let names = self.input_names();
        let names: Vec<String> =
            names.iter().map(|name| foretell_input::one_line(name).into_owned()).collect();
        let model = self.model.describe(&names);
        format!("{} for {ln}{target}, fitted on {} rows\n{model}", self.spec, self.rows)
    }

    /// Writes the model as JSON.
    pub fn save(&self, output: impl Write) -> std::io::Result<()> {
        serde_json::to_writer(output, self).map_err(std::io::Error::from)
    }

    /// Reads a model that [`Trained::save`] wrote.
    pub fn load(input: impl Read) -> Result<Self, LearnError> {
        let not_a_model = |error: String| LearnError::NotAModel { error };
        // read everything first: parsing a text is several times as fast as parsing a stream
        let mut text = Vec::new();
        let read = limited(input, Limit::MODEL).read_to_end(&mut text);
        read.map_err(|error| not_a_model(error.to_string()))?;
        let model: Self =
            serde_json::from_slice(&text).map_err(|error| not_a_model(error.to_string()))?;
        if !FORMATS.contains(&model.format) {
            let (first, last) = (FORMATS.start(), FORMATS.end());
            let error = format!("its format is {}, but {first} to {last} are known", model.format);
            return Err(not_a_model(error));
        }
        model.check().map_err(not_a_model)?;
        Ok(model)
    }

    /// Checks that predictions cannot panic, even if the file was tampered with.
    fn check(&self) -> Result<(), String> {
        let columns = self.schema.column_features().len();
        if columns > MAX_COLUMNS {
            return Err(format!("it has {columns} columns; {MAX_COLUMNS} are known at most"));
        }
        let inputs = self.view.count(columns);
        let intervals = self.intervals.as_ref();
        if self.view.fits(columns)
            && self.model.fits(inputs)
            && intervals.is_none_or(|intervals| intervals.fits(columns, inputs))
        {
            Ok(())
        } else {
            Err("it names columns or nodes that it does not have".into())
        }
    }
}

/// Maximum number of rows whose predictions are checked: sums that overflow spoil all of them.
const CHECKED: usize = 100;

/// Returns an error if predictions of the rows that were learned from are not finite.
fn check_finite(spec: &Spec, model: &Model, data: &Dataset, view: &View) -> Result<(), LearnError> {
    let n = data.y.len();
    let rows: Vec<usize> = (0..n).step_by(n.div_ceil(CHECKED).max(1)).collect();
    let predicted = model.predict(&view.apply(&data.x.take_rows(&rows)));
    match predicted.iter().position(|value| !view.back(*value).is_finite()) {
        None => Ok(()),
        Some(place) => Err(LearnError::NoNumber {
            model: spec.to_string(),
            target: data.target.clone(),
            row: rows[place] + 1,
        }),
    }
}

/// The numeric features of a schema, and their columns in a matrix.
fn numeric_columns(schema: &Schema) -> Vec<(&str, usize)> {
    let owners = schema.column_features();
    let features = owners.into_iter().map(|owner| &schema.features[owner]).enumerate();
    let numeric = features.filter(|(_, feature)| feature.levels.is_none());
    numeric.map(|(column, feature)| (feature.name.as_str(), column)).collect()
}

/// The smallest and largest value of each numeric feature, without missing values.
fn ranges(data: &Dataset) -> Vec<FeatureRange> {
    let range = |(name, column): (&str, usize)| {
        let values = || data.x.column(column).iter().copied().filter(|value| !value.is_nan());
        let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        Some(FeatureRange { name: name.to_owned(), low, high })
    };
    numeric_columns(&data.schema).into_iter().filter_map(range).collect()
}

/// Natural logarithms; errors if a value is not above 0.
pub(crate) fn logarithms(y: &[f64]) -> Result<Vec<f64>, LearnError> {
    if let Some(row) = y.iter().position(|y| *y <= 0.0) {
        return Err(LearnError::LogOfTarget { row: row + 1, value: y[row] });
    }
    Ok(y.iter().map(|y| libm::log(*y)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trained(text: &str) -> Result<Trained, LearnError> {
        let data = Dataset::new(&Table::read(text.as_bytes(), "t", &[])?, "y", &[])?;
        let intervals = Some(IntervalSettings::default());
        Trained::fit(&"cart".parse()?, &data, &Training { transform: Transform::None, intervals })
    }

    #[test]
    fn rows_outside_the_training_rows_are_found() {
        let model = trained("k,x,y\na,0,1\nb,10,2\na,5,3\nb,7,4\na,3,6\n").unwrap();
        let asked = Table::read("x,k\n0,a\n-1,b\n10,a\n10.5,a\n".as_bytes(), "t", &[]).unwrap();
        let rows = |model: &Trained| {
            let x = model.encode(&asked).unwrap();
            let outside = model.outside(&x);
            outside.iter().map(|o| (o.row, o.value, o.range.low, o.range.high)).collect::<Vec<_>>()
        };
        assert_eq!(rows(&model), [(1, -1.0, 0.0, 10.0), (3, 10.5, 0.0, 10.0)]);
        let mut file = Vec::new();
        model.save(&mut file).unwrap();
        assert_eq!(rows(&Trained::load(file.as_slice()).unwrap()).len(), 2);
        // a file of an older version
        let mut older: serde_json::Value = serde_json::from_slice(&file).unwrap();
        older.as_object_mut().unwrap().remove("ranges").unwrap();
        let older = Trained::load(older.to_string().as_bytes()).unwrap();
        assert_eq!(rows(&older), []);
    }

    #[test]
    fn too_few_rows_are_those_of_the_table() {
        assert_eq!(
            trained("x,y\n1,1\n2,2\n").unwrap_err().to_string(),
            "2 rows are too few to hold some out: 1 of them would be left to learn from; expected 2 or more"
        );
    }
}
