//! A checked sweep: its points and runs.

use std::path::{Path, PathBuf};

use foretell_scenarios::{Change, Document, ScenarioErrors};
use foretell_units::Seed;

use crate::Value;
use crate::design::Design;
use crate::expression::Condition;
use crate::factor::{Factor, Setting};
use crate::split::{Part, Split};

/// What happens to a design point whose scenario is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// Nothing is run, and the point is named.
    Refuse,
    /// The point is left out.
    Drop,
}

/// A sweep that was read and checked; only [`Sweep::load`] makes one.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Title of the data set.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Its licence, as an SPDX or Hugging Face identifier.
    pub license: String,
    /// The file it was read from.
    pub file: PathBuf,
    /// The seed from which all others are derived.
    pub seed: u64,
    /// The choice of points.
    pub design: Design,
    /// Number of runs of each point, each with its own seed.
    pub replicates: u64,
    /// The factors, in the order of the file.
    pub factors: Vec<Factor>,
    /// Conditions that every point satisfies.
    pub constraints: Vec<Condition>,
    /// The treatment of points that are not valid scenarios.
    pub invalid: Invalid,
    /// The split of the points.
    pub split: Split,
    /// One in this number of requests is kept; `None`: no requests are kept.
    pub requests: Option<u32>,
    /// Record types that are kept for these requests.
    pub records: Vec<String>,
    pub(crate) base: Document,
    /// The file's text, and the place in it that names the base scenario.
    pub(crate) source: Source,
    /// The base scenario with all its defaults.
    pub(crate) resolved: String,
}

/// The text of a sweep file.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) scenario: std::ops::Range<usize>,
    pub(crate) here: bool,
}

/// A point of a design.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Its number, from 0, among those that satisfy the constraints.
    pub number: u64,
    /// A setting for each factor.
    pub settings: Vec<Setting>,
}

impl Point {
    /// The values of the factors.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.settings.iter().map(|setting| &setting.value)
    }

    /// The point as text: `nodes=5, access=65536`.
    pub fn described(&self, factors: &[Factor]) -> String {
        let pair = |(factor, value): (&Factor, &Value)| format!("{}={value}", factor.column_name());
        factors.iter().zip(self.values()).map(pair).collect::<Vec<_>>().join(", ")
    }
}

/// A run: a point with a seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Its number, from 0: ordered by point, then by replicate.
    pub number: u64,
    /// Number among the runs of its point, from 0.
    pub replicate: u64,
    /// Seed of its random draws.
    pub seed: u64,
    /// The design point.
    pub point: Point,
    /// The part of the split that it belongs to.
    pub part: Part,
}

impl Sweep {
    /// Reads the file at `path`; paths in it are relative to its directory. `changes` are applied to
    /// the base scenario first. Errors with all faults, including those of the base scenario.
    pub fn load(path: impl AsRef<Path>, changes: &[Change]) -> Result<Self, ScenarioErrors> {
        crate::sweep_check::load(path.as_ref(), changes)
    }

    /// The base scenario, with the changes of `set`.
    pub fn base(&self) -> &Document {
        &self.base
    }

    /// Changes the base scenario, before any factor does.
    pub fn change_base(&mut self, changes: &[Change]) -> Result<(), ScenarioErrors> {
        apply_all("--set", &mut self.base, changes)?;
        self.resolved = self.base.resolved()?;
        Ok(())
    }

    /// The points, in order.
    pub fn points(&self) -> impl Iterator<Item = Point> + Send {
        let (candidates, wanted) = self.design.extent(&self.factors);
        let seed = Seed(self.seed);
        (0..candidates)
            .map(move |index| self.design.candidate(index, &self.factors, seed))
            .filter(|settings| {
                let values: Vec<&Value> = settings.iter().map(|setting| &setting.value).collect();
                self.constraints.iter().all(|condition| condition.holds(&values))
            })
            .take(usize::try_from(wanted).unwrap_or(usize::MAX))
            .zip(0..)
            .map(|(settings, number)| Point { number, settings })
    }

    /// The number of points, and the number that the design asked for (`None` for a full factorial
    /// design). There are fewer points if the constraints leave no more.
    pub fn count_points(&self) -> (u64, Option<u64>) {
        let wanted = match self.design {
            Design::Full | Design::LatinHypercube { .. } => None,
            Design::Sobol { points } | Design::Random { points } => Some(points),
        };
        (self.points().count() as u64, wanted)
    }

    /// The runs, in order.
    pub fn runs(&self) -> impl Iterator<Item = Run> + Send {
        self.points().flat_map(move |point| {
            let part = self.split.part(&point.settings, self.seed);
            (0..self.replicates).map(move |replicate| {
                let number = point.number * self.replicates + replicate;
                // a scenario's seed is a whole number in TOML, which has 63 bits
                let seed = Seed(self.seed).child(number).0 >> 1;
                Run { number, replicate, seed, point: point.clone(), part }
            })
        })
    }

    /// The scenario of a point, not yet checked; it still has the seed of the base scenario. Errors
    /// if a change does not fit.
    pub fn document(&self, point: &Point) -> Result<Document, ScenarioErrors> {
        let mut document = self.base.clone();
        for (factor, setting) in self.factors.iter().zip(&point.settings) {
            apply_all(&format!("factor.{}", factor.name), &mut document, &setting.changes)?;
        }
        Ok(document)
    }

    /// The text of the sweep file, in which the base scenario is named `file`, and the base
    /// scenario's text. The latter is `None` if the sweep file contains its scenario. Defaults are
    /// not filled in, as some of them follow from what factors change.
    pub fn texts(&self, file: &str) -> (String, Option<&str>) {
        let Source { text, scenario, here, .. } = &self.source;
        if *here {
            return (text.clone(), None);
        }
        let text = format!("{}\"{file}\"{}", &text[..scenario.start], &text[scenario.end..]);
        (text, Some(self.base.text()))
    }

    /// Identifies the sweep: sweeps with equal fingerprints have equal data sets. Title, description
    /// and licence are not part of it.
    pub fn fingerprint(&self, tool_version: &str) -> String {
        let identity = format!(
            "{tool_version}\n{}\n{:?}\n{} {}\n{:?}\n{:?}\n{:?} {:?}\n{:?} {:?}",
            self.resolved,
            self.design,
            self.seed,
            self.replicates,
            self.factors,
            self.constraints,
            self.invalid,
            self.split,
            self.requests,
            self.records,
        );
        crate::digest::hex_of(identity.as_bytes())
    }
}

/// Applies changes; `origin` says in errors where they come from.
pub(crate) fn apply_all(
    origin: &str,
    document: &mut Document,
    changes: &[Change],
) -> Result<(), ScenarioErrors> {
    changes.iter().try_for_each(|change| document.apply(origin, change))
}
