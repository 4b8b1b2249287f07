//! A sweep: what is run, checked.

use std::path::{Path, PathBuf};

use foretell_scenarios::{Change, Document, ScenarioErrors};
use foretell_units::Seed;

use crate::Value;
use crate::design::Design;
use crate::expression::Condition;
use crate::factor::{Factor, Setting};
use crate::split::{Part, Split};

/// What is done with a design point whose scenario is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// Nothing is run, and the point is named.
    Refuse,
    /// It is left out.
    Drop,
}

/// A sweep that was read and checked; only [`Sweep::load`] makes one.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// What the data set is called.
    pub title: String,
    /// What it is about.
    pub description: String,
    /// Its licence, as an SPDX or Hugging Face identifier.
    pub license: String,
    /// Where it was read from.
    pub file: PathBuf,
    /// All seeds come from this one.
    pub seed: u64,
    /// Which points are run.
    pub design: Design,
    /// Runs of each point, with seeds of their own.
    pub replicates: u64,
    /// What is varied, in the order of the file.
    pub factors: Vec<Factor>,
    /// What every point satisfies.
    pub constraints: Vec<Condition>,
    /// What to do with a point that is no valid scenario.
    pub invalid: Invalid,
    /// Which points are for what.
    pub split: Split,
    /// One in so many requests is kept, if any are.
    pub requests: Option<u32>,
    /// Record types that are kept of the same requests.
    pub records: Vec<String>,
    pub(crate) base: Document,
    /// The file's text, and where it names the base scenario.
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
    /// What the factors are set to.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.settings.iter().map(|setting| &setting.value)
    }

    /// `nodes=5, access=65536`: for people.
    pub fn told(&self, factors: &[Factor]) -> String {
        let pair = |(factor, value): (&Factor, &Value)| format!("{}={value}", factor.column_name());
        factors.iter().zip(self.values()).map(pair).collect::<Vec<_>>().join(", ")
    }
}

/// A run: a point with a seed.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// Its number, from 0: points in order, and the replicates of each.
    pub number: u64,
    /// Number among the runs of its point, from 0.
    pub replicate: u64,
    /// Of its random draws.
    pub seed: u64,
    /// What is run.
    pub point: Point,
    /// What it is for.
    pub part: Part,
}

impl Sweep {
    /// Reads the file at `path`; paths in it are taken from its directory. `changes` are made to the
    /// base scenario first. Errors with all that is wrong, the base scenario's errors included.
    pub fn load(path: impl AsRef<Path>, changes: &[Change]) -> Result<Self, ScenarioErrors> {
        crate::sweep_check::load(path.as_ref(), changes)
    }

    /// The base scenario, with what `set` changes.
    pub fn base(&self) -> &Document {
        &self.base
    }

    /// Changes the base scenario, before any factor does.
    pub fn change_base(&mut self, changes: &[Change]) -> Result<(), ScenarioErrors> {
        apply_all(&mut self.base, changes)?;
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

    /// How many points there are, and how many the design asked for (a full factorial one asks for
    /// nothing): fewer if the constraints leave no more.
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
                // a scenario's seed is a whole number of TOML: 63 bits
                let seed = Seed(self.seed).child(number).0 >> 1;
                Run { number, replicate, seed, point: point.clone(), part }
            })
        })
    }

    /// The scenario of a point, not yet checked; the seed is still that of the base scenario.
    /// Errors if a change does not fit.
    pub fn document(&self, point: &Point) -> Result<Document, ScenarioErrors> {
        let mut document = self.base.clone();
        for change in point.settings.iter().flat_map(|setting| &setting.changes) {
            document.apply("--set", change)?;
        }
        Ok(document)
    }

    /// The sweep file's text and the base scenario's, which it names as `file`; `None` if the sweep
    /// holds its scenario itself. Not with all defaults: some follow from what factors change.
    pub fn texts(&self, file: &str) -> (String, Option<&str>) {
        let Source { text, scenario, here, .. } = &self.source;
        if *here {
            return (text.clone(), None);
        }
        let text = format!("{}\"{file}\"{}", &text[..scenario.start], &text[scenario.end..]);
        (text, Some(self.base.text()))
    }

    /// What tells this sweep from others: two with equal fingerprints have equal data sets. Title,
    /// description and licence are no part of it.
    pub fn fingerprint(&self, tool_version: &str) -> String {
        let told = format!(
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
        crate::digest::hex_of(told.as_bytes())
    }
}

/// The changes that `set` makes before any factor.
pub(crate) fn apply_all(document: &mut Document, changes: &[Change]) -> Result<(), ScenarioErrors> {
    changes.iter().try_for_each(|change| document.apply("--set", change))
}
