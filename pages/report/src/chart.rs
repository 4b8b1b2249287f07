//! Charts as data; `assets/report.js` draws them in the browser.

use serde::Serialize;

use crate::words::short_name;

/// A chart.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Chart {
    /// Lines over a common axis, in one or more views to choose from.
    Lines {
        /// The horizontal axis.
        x: Axis,
        /// The vertical axis of views without their own.
        y: Axis,
        /// Values of the horizontal axis.
        #[serde(serialize_with = "short")]
        xs: Vec<f64>,
        /// Views; the first is shown at the beginning.
        views: Vec<View>,
    },
    /// Lines over time, with phases and events.
    Timeline {
        /// The horizontal axis.
        x: Axis,
        /// The vertical axis of views without their own.
        y: Axis,
        /// Values of the horizontal axis.
        #[serde(serialize_with = "short")]
        xs: Vec<f64>,
        /// Views; the first is shown at the beginning.
        views: Vec<View>,
        /// Bands behind the lines, from left to right.
        bands: Vec<Band>,
        /// Events, from left to right.
        marks: Vec<Mark>,
    },
    /// A colour for each row and moment.
    Heat {
        /// Name of the horizontal axis, whose unit is seconds.
        x: String,
        /// Unit of the values.
        unit: &'static str,
        /// The value that gets the last colour.
        max: f64,
        /// The middle of each bin in seconds.
        #[serde(serialize_with = "short")]
        xs: Vec<f64>,
        /// Names of the rows.
        rows: Vec<String>,
        /// Values by row and bin.
        #[serde(serialize_with = "short_lists")]
        values: Vec<Vec<Option<f64>>>,
    },
    /// Columns of a table, any against any other.
    Explore {
        /// The columns, all of the same length.
        columns: Vec<Column>,
        /// Whether the Pareto front is marked at first.
        front: bool,
    },
}

/// A part of the horizontal axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Band {
    /// Where it begins.
    pub from: f64,
    /// Where it ends.
    pub to: f64,
    /// Its name: `before`, `degraded`, `recovering` or `after`.
    pub name: String,
}

/// A marked moment.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Mark {
    /// When.
    pub at: f64,
    /// Its number in the table of the page.
    pub number: usize,
    /// What happened, in a few words.
    pub label: String,
}

/// An axis of a chart.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    label: String,
    unit: &'static str,
    scale: Scale,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
}

/// Scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Linear, from zero.
    Linear,
    /// Logarithmic: equal ratios have equal distances.
    Log,
    /// A share `q` is drawn at `-log10(1 - q)`, which stretches the tail.
    Nines,
}

impl Axis {
    /// A linear axis.
    pub fn new(label: impl Into<String>, unit: &'static str) -> Self {
        Self { label: label.into(), unit, scale: Scale::Linear, max: None }
    }

    /// The same axis with another scale.
    pub fn scaled(self, scale: Scale) -> Self {
        Self { scale, ..self }
    }

    /// The same axis, ending at this value.
    pub fn up_to(self, max: f64) -> Self {
        Self { max: Some(max), ..self }
    }
}

/// A few lines that are shown together.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// Its name in the choice of views.
    pub name: String,
    /// The vertical axis, if it differs from the chart's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<Axis>,
    /// The lines.
    pub series: Vec<Series>,
}

impl View {
    /// A view of lines on the chart's axis.
    pub fn new(name: impl Into<String>, series: Vec<Series>) -> Self {
        Self { name: short_name(name), y: None, series }
    }
}

/// A line.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Name.
    pub name: String,
    /// Values; `None` where the value is not known.
    #[serde(serialize_with = "short_list")]
    pub values: Vec<Option<f64>>,
}

impl Series {
    /// A line of these values.
    pub fn new(name: impl Into<String>, values: Vec<Option<f64>>) -> Self {
        Self { name: short_name(name), values }
    }
}

/// A column of a table to explore.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Unit in words; empty if there is none.
    pub unit: String,
    /// `factor` or `result`.
    pub role: &'static str,
    /// The texts that the numbers stand for, if the cells are texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<String>>,
    /// Cells.
    #[serde(serialize_with = "short_list")]
    pub values: Vec<Option<f64>>,
}

/// Maximum number of different texts of a column to choose from.
const MAX_LEVELS: usize = 200;
/// Maximum number of cells of the columns of a page.
const MAX_CELLS: usize = 240_000;

/// Columns with every k-th row, and k: the smallest for which a page has room.
pub(crate) fn thinned(columns: Vec<Column>) -> (Vec<Column>, usize) {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let step = (rows * columns.len()).div_ceil(MAX_CELLS).max(1);
    let thin = |column: Column| {
        let values = column.values.into_iter().step_by(step).collect();
        Column { values, ..column }
    };
    (columns.into_iter().map(thin).collect(), step)
}

impl Column {
    /// A column of numbers; `role` is `factor` or `result`.
    pub fn of_numbers(
        name: &str,
        unit: &str,
        role: &'static str,
        values: Vec<Option<f64>>,
    ) -> Self {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Self { name, unit, role, levels: None, values }
    }

    /// A column of texts; `None` if it has too many different texts to choose from.
    pub fn of_texts(
        name: &str,
        unit: &str,
        role: &'static str,
        texts: &[Option<String>],
    ) -> Option<Self> {
        let (levels, values) = levels(texts);
        let fits = levels.len() <= MAX_LEVELS;
        fits.then(|| Self { levels: Some(levels), ..Self::of_numbers(name, unit, role, values) })
    }
}

/// The different texts in order, and the place of each text among them.
pub(crate) fn levels(texts: &[Option<String>]) -> (Vec<String>, Vec<Option<f64>>) {
    let mut levels: Vec<String> = texts.iter().flatten().cloned().collect();
    levels.sort();
    levels.dedup();
    let place = |text: &Option<String>| {
        let place = levels.binary_search(text.as_ref()?).ok()?;
        Some(place as f64)
    };
    let places = texts.iter().map(place).collect();
    (levels, places)
}

/// Rounds to four digits: an eye can see no more, and more digits would make a page large.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    format!("{value:.4e}").parse().unwrap_or(value)
}

/// A number, written without `.0` if it is whole.
#[derive(Serialize)]
#[serde(untagged)]
enum Short {
    Whole(i64),
    Number(f64),
    Nothing(()),
}

fn number(value: Option<f64>) -> Short {
    match value.filter(|value| value.is_finite()).map(rounded) {
        None => Short::Nothing(()),
        Some(value) if value.fract() == 0.0 && value.abs() < 1e15 => Short::Whole(value as i64),
        Some(value) => Short::Number(value),
    }
}

fn short<S: serde::Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| number(Some(*value))))
}

fn short_list<S: serde::Serializer>(
    values: &[Option<f64>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| number(*value)))
}

fn short_lists<S: serde::Serializer>(
    lists: &[Vec<Option<f64>>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let list = |values: &Vec<Option<f64>>| values.iter().map(|value| number(*value)).collect();
    serializer.collect_seq(lists.iter().map(list as fn(&Vec<Option<f64>>) -> Vec<Short>))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let series = Series::new("a", vec![Some(1.234_567_8), Some(2.0), None, Some(f64::NAN)]);
        let text = serde_json::to_string(&series).unwrap();
        assert_eq!(text, r#"{"name":"a","values":[1.2346,2,null,null]}"#);
    }
}
