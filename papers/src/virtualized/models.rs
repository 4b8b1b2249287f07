//! The regression models: training, parameter search, prediction.
//!
//! Inputs are those of Table 1: scheduler and pattern by name, sizes and the share of reads as numbers.
//! Linear models also have the products of any of these as terms, up to all five (the paper's models "of
//! maximum degree n in the independent variables", Section 3.1). MARS has hinges of any of them.
//!
//! In addition, models are trained on inputs that an operator knows without measuring: the logarithm of a
//! request's size, and, instead of the file set's size, the share of it that does not fit into each
//! cache.

use std::num::NonZeroUsize;

use foretell_learn::metrics::Scores;
use foretell_learn::{
    Cells, Dataset, Folds, LearnError, SearchSettings, Spec, Table, Trained, Transform,
    default_ranges, tune,
};
use foretell_units::Seed;

use super::design::{Pattern, Point, Scheduler};
use super::measure::Measured;
use crate::error::Error;

/// Number of folds of the search's cross-validation.
const FOLDS: usize = 10;

/// A quantity to predict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    ReadTime,
    WriteTime,
    ReadThroughput,
    WriteThroughput,
}

impl Target {
    /// In the paper's order.
    pub(super) const ALL: [Self; 4] =
        [Self::ReadTime, Self::WriteTime, Self::ReadThroughput, Self::WriteThroughput];

    /// The paper's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReadTime => "RTr",
            Self::WriteTime => "RTw",
            Self::ReadThroughput => "TPr",
            Self::WriteThroughput => "TPw",
        }
    }

    /// Its measured value in milliseconds or MB/s; `None` if there were no such requests.
    pub(super) fn of(self, measured: &Measured) -> Option<f64> {
        match self {
            Self::ReadTime => measured.read.map(|read| read.response_ms),
            Self::WriteTime => measured.write.map(|write| write.response_ms),
            Self::ReadThroughput => measured.read.map(|read| read.mb_per_s),
            Self::WriteThroughput => measured.write.map(|write| write.mb_per_s),
        }
    }

    /// Whether it is about reads.
    pub(super) fn reads(self) -> bool {
        matches!(self, Self::ReadTime | Self::ReadThroughput)
    }
}

/// The paper's models.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Technique {
    Lrm,
    Mars,
    Cart,
    Cubist,
}

impl Technique {
    /// In the paper's order.
    pub(super) const ALL: [Self; 4] = [Self::Lrm, Self::Mars, Self::Cart, Self::Cubist];

    /// The paper's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lrm => "LRM",
            Self::Mars => "MARS",
            Self::Cart => "CART",
            Self::Cubist => "Cubist",
        }
    }

    /// The spec with standard parameters.
    fn standard(self) -> Spec {
        let text = match self {
            // products are columns of their own
            Self::Lrm => "lrm:interactions=false",
            Self::Mars => "mars:degree=5",
            Self::Cart => "cart",
            Self::Cubist => "cubist",
        };
        text.parse().expect("it is one")
    }
}

/// How models are trained.
#[derive(Clone, Copy, Debug)]
pub(super) struct Learning {
    /// Maximum number of iterations of the search.
    pub(super) iterations: usize,
    pub(super) threads: NonZeroUsize,
    /// Whether models learn the target's logarithm.
    pub(super) log_target: bool,
    pub(super) inputs: Inputs,
}

/// Inputs that models get of a configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Inputs {
    /// The factors of Table 1.
    Table,
    /// The same with the logarithm of the request's size, and, instead of the file set's size, the share
    /// that the caches do not hold.
    Known,
}

/// Models of one target, with standard parameters and with those that a search found.
pub(super) struct Pair {
    pub(super) technique: Technique,
    pub(super) target: Target,
    inputs: Inputs,
    pub(super) standard: Trained,
    pub(super) optimized: Trained,
    /// Number of points that the search evaluated; 0 if there is nothing to search.
    pub(super) evaluations: usize,
    /// Coefficient of determination of the optimized model on its training rows.
    pub(super) fit: f64,
}

impl Pair {
    /// Trains both models on measured configurations.
    pub(super) fn learn(
        technique: Technique,
        target: Target,
        learned: &[(&Point, f64)],
        how: Learning,
    ) -> Result<Self, Error> {
        let points: Vec<&Point> = learned.iter().map(|(point, _)| *point).collect();
        let y: Vec<f64> = learned.iter().map(|(_, value)| *value).collect();
        let data = dataset(technique, how.inputs, target, &points, y)?;
        let standard = technique.standard();
        let ranges = default_ranges(standard.kind(), data.y.len() - data.y.len() / FOLDS);
        let (spec, evaluations) = if ranges.is_empty() {
            (standard.clone(), 0)
        } else {
            let folds = Folds::random(data.y.len(), FOLDS, Seed(1))?;
            let settings = SearchSettings {
                iterations: how.iterations,
                jobs: how.threads,
                ..SearchSettings::default()
            };
            let tuned = tune(&standard, &data, &folds, how.log_target, &ranges, &settings)?;
            (tuned.spec, tuned.found.evaluated.len())
        };
        let training = Transform::of_target(how.log_target).into();
        let optimized = Trained::fit(&spec, &data, &training)?;
        let standard = Trained::fit(&standard, &data, &training)?;
        let fit = Scores::of(&data.y, &optimized.predict(&data.x))?.r2.unwrap_or(0.0);
        let inputs = how.inputs;
        Ok(Self { technique, target, inputs, standard, optimized, evaluations, fit })
    }

    /// Predictions of the optimized model for configurations.
    pub(super) fn predict(&self, measured: &[(&Point, f64)]) -> Result<Vec<f64>, LearnError> {
        let points: Vec<&Point> = measured.iter().map(|(point, _)| *point).collect();
        self.optimized.predict_table(&features(self.technique, self.inputs, &points))
    }

    /// Relative errors of a model, for measured configurations.
    pub(super) fn errors(
        &self,
        model: &Trained,
        measured: &[(&Point, f64)],
    ) -> Result<Vec<f64>, LearnError> {
        let points: Vec<&Point> = measured.iter().map(|(point, _)| *point).collect();
        let predicted = model.predict_table(&features(self.technique, self.inputs, &points))?;
        let errors = measured.iter().zip(&predicted);
        Ok(errors.map(|((_, value), predicted)| (predicted - value).abs() / value).collect())
    }
}

fn dataset(
    technique: Technique,
    inputs: Inputs,
    target: Target,
    points: &[&Point],
    y: Vec<f64>,
) -> Result<Dataset, LearnError> {
    let features = features(technique, inputs, points);
    let mut columns: Vec<(String, Cells)> =
        features.columns().map(|(name, cells)| (name.to_owned(), cells.clone())).collect();
    columns.push((target.name().to_owned(), Cells::Numbers(y)));
    Dataset::new(&Table::from_columns(columns), target.name(), &[])
}

/// The write cache and the volatile one, MiB (Section 4.2).
const CACHES_MIB: [f64; 2] = [2.0 * 1024.0, 50.0 * 1024.0];

/// The numeric inputs of models.
fn sizes(inputs: Inputs, points: &[&Point]) -> Vec<(&'static str, Vec<f64>)> {
    let numbers = |of: &dyn Fn(&Point) -> f64| points.iter().map(|point| of(point)).collect();
    let reads = ("reads_percent", numbers(&|point| f64::from(point.reads_percent)));
    if inputs == Inputs::Table {
        return vec![
            ("file_set_gib", numbers(&|point| point.file_set_mib as f64 / 1024.0)),
            ("request_kib", numbers(&|point| point.request_bytes as f64 / 1024.0)),
            reads,
        ];
    }
    let beyond =
        |cache: f64| move |point: &Point| (1.0 - cache / point.file_set_mib as f64).max(0.0);
    vec![
        ("beyond_nvc", numbers(&beyond(CACHES_MIB[0]))),
        ("beyond_vc", numbers(&beyond(CACHES_MIB[1]))),
        ("request_log2", numbers(&|point| libm::log2(point.request_bytes as f64))),
        reads,
    ]
}

/// The inputs of models for configurations.
fn features(technique: Technique, inputs: Inputs, points: &[&Point]) -> Table {
    let sizes = sizes(inputs, points);
    if technique != Technique::Lrm {
        let names =
            |of: fn(&Point) -> &'static str| Cells::names(points.iter().map(move |p| of(p)));
        let mut columns = vec![
            ("scheduler".to_owned(), names(|point| point.scheduler.name())),
            ("pattern".to_owned(), names(|point| point.pattern.name())),
        ];
        let numbers = |(name, values): (&str, _)| (name.to_owned(), Cells::Numbers(values));
        columns.extend(sizes.into_iter().map(numbers));
        return Table::from_columns(columns);
    }
    let is = |yes: bool| f64::from(u8::from(yes));
    let mut inputs = vec![
        ("noop", points.iter().map(|p| is(p.scheduler == Scheduler::Noop)).collect()),
        ("sequential", points.iter().map(|p| is(p.pattern == Pattern::Sequential)).collect()),
    ];
    inputs.extend(sizes);
    let products = (1..1_usize << inputs.len()).map(|subset| {
        let chosen: Vec<&(&str, Vec<f64>)> = inputs
            .iter()
            .enumerate()
            .filter(|(at, _)| subset >> at & 1 == 1)
            .map(|(_, i)| i)
            .collect();
        let names: Vec<&str> = chosen.iter().map(|(name, _)| *name).collect();
        let product = |row: usize| chosen.iter().map(|(_, values)| values[row]).product();
        (names.join("*"), Cells::Numbers((0..points.len()).map(product).collect()))
    });
    Table::from_columns(products.collect())
}

#[cfg(test)]
mod tests {
    use foretell_scenarios::device::Device;

    use super::super::design;
    use super::*;

    #[test]
    fn the_caches_that_models_know_are_those_of_the_system() {
        let scenario = foretell_scenarios::Document::shipped("virtualized").unwrap().unwrap();
        let scenario = scenario.check().unwrap();
        let storage = scenario.hosts.iter().find_map(|host| host.role.storage()).unwrap();
        let Device::Array(array) = &storage.disks[0].device else { panic!("it is an array") };
        let cache = array.cache.as_ref().unwrap();
        let mib =
            [cache.write.unwrap().size, cache.size].map(|size| size.get() as f64 / 1_048_576.0);
        let off = mib.iter().zip(CACHES_MIB).map(|(mib, known)| (mib - known).abs());
        assert!(off.sum::<f64>() < 1e-9, "{mib:?}");
    }

    #[test]
    fn linear_models_have_all_products_of_five_inputs() {
        let points = design::learned(true);
        let points: Vec<&Point> = points.iter().collect();
        let table = features(Technique::Lrm, Inputs::Table, &points);
        assert_eq!(table.names().count(), 31);
        // the last configuration is noop, sequential, 100 GiB, 32 KiB, 100 % reads
        let Cells::Numbers(product) =
            table.column("noop*sequential*file_set_gib*request_kib*reads_percent").unwrap()
        else {
            panic!("products are numbers")
        };
        assert!((product[product.len() - 1] - 100.0 * 32.0 * 100.0).abs() < 1e-9);
        assert!(product[0].abs() < 1e-9);
    }

    #[test]
    fn a_linear_law_with_products_is_learned_exactly() {
        let points = design::learned(true);
        let law = |point: &Point| {
            let sequential = f64::from(u8::from(point.pattern == Pattern::Sequential));
            5.0 + point.request_bytes as f64 / 1024.0
                + sequential * point.file_set_mib as f64 / 1024.0 * f64::from(point.reads_percent)
        };
        let learned: Vec<(&Point, f64)> = points.iter().map(|point| (point, law(point))).collect();
        let (threads, inputs) = (NonZeroUsize::MIN, Inputs::Table);
        let how = Learning { iterations: 1, threads, log_target: false, inputs };
        let pair = Pair::learn(Technique::Lrm, Target::ReadTime, &learned, how).unwrap();
        let others = design::interpolated(20, (25, 100), "test");
        let others: Vec<(&Point, f64)> = others.iter().map(|point| (point, law(point))).collect();
        let errors = pair.errors(&pair.optimized, &others).unwrap();
        assert!(errors.iter().all(|error| *error < 1e-6), "{errors:?}");
        assert!(pair.fit > 0.999_999);
    }
}
