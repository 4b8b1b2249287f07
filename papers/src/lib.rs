//! Experiments of papers, and predictions for clusters that others measured. Each figure becomes a table and a picture,
//! and its claims are checked.
//!
//! [`reproduce`] runs the experiments of one [`Paper`]. Tables, pictures and `summary.json` go to a directory, and the
//! results are returned. A claim that fails has a reason only where figures of the same run support it.
//!
//! A figure of Thereska et al. 2006 names the clusters that it needs simulated and the questions about their records
//! (`plan`). All runs of all figures are then done in parallel (`lab`), and each figure turns the results into a
//! `sheet`. Predictions come from `run.db` alone.

mod chart;
mod clusters;
mod constant_capacity;
mod error;
mod figures;
mod inside_out;
mod lab;
mod page;
mod plan;
mod sheet;
mod statistics;
mod summary;
mod virtualized;

use std::path::Path;

use foretell_core::jobs::Workers;
use foretell_files::Directory;
use foretell_sorted::SortedSet;

use figures::Figure;
use lab::Results;
use plan::Plan;
use sheet::Sheet;

pub use constant_capacity::{Errors, Verdict, size_name};
pub use error::Error;
pub use sheet::Claim;
pub use summary::{Accuracy, Comparison, Summary};

/// Number of runs of each point, as in Thereska et al. 2006 (IV-A).
const SEEDS: u64 = 10;
/// The number of runs with `quick`.
const QUICK_SEEDS: u64 = 3;

/// The source of the experiments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paper {
    /// Thereska et al. 2006.
    UrsaMinor,
    /// Noorshams et al. 2013.
    Virtualized,
    /// Ra and Lee 2018.
    ConstantCapacity,
    /// Hsu et al. 2016.
    InsideOut,
    /// Clusters that others measured.
    Clusters,
}

impl Paper {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::UrsaMinor,
        Self::Virtualized,
        Self::ConstantCapacity,
        Self::InsideOut,
        Self::Clusters,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::UrsaMinor => "ursa-minor",
            Self::Virtualized => "virtualized",
            Self::ConstantCapacity => "constant-capacity",
            Self::InsideOut => "inside-out",
            Self::Clusters => "clusters",
        }
    }

    /// The paper with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|paper| paper.name() == name)
    }

    /// Its subject in one line.
    pub fn about(self) -> &'static str {
        match self {
            Self::UrsaMinor => {
                "Thereska et al. 2006: self-prediction in Ursa Minor, Figures 3 to 11"
            }
            Self::Virtualized => {
                "Noorshams et al. 2013: regression models of virtualized storage, Figures 1 to 13"
            }
            Self::ConstantCapacity => {
                "Ra and Lee 2018: the constant-capacity rule on Ceph and Swift, Figures 2 to 5"
            }
            Self::InsideOut => {
                "Hsu et al. 2016: performance from low-level metrics (Inside-Out), Tables I and II, Figures 3 \
                 to 9"
            }
            Self::Clusters => {
                "Clusters that others measured: costs are fitted to a few points, the rest are predicted"
            }
        }
    }

    /// Names of the figures to which its experiments can be limited.
    pub fn figures(self) -> Vec<&'static str> {
        match self {
            Self::UrsaMinor => figures::ALL.iter().map(|figure| figure.file).collect(),
            Self::ConstantCapacity => constant_capacity::FILES.to_vec(),
            Self::InsideOut => inside_out::names().collect(),
            Self::Clusters => clusters::names().collect(),
            Self::Virtualized => Vec::new(),
        }
    }

    /// Names of all figures, each once.
    pub fn all_figures() -> impl Iterator<Item = &'static str> {
        let all: SortedSet<&str> = Self::ALL.into_iter().flat_map(Self::figures).collect();
        all.into_iter()
    }
}

/// The extent of the experiments, and the workers that run them.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// A reduced version of all experiments.
    pub quick: bool,
    /// For [`Paper::Virtualized`]: measure as long as the paper did.
    pub full: bool,
    /// Keep the data that figures are made from.
    pub keep: bool,
    /// Make only these figures; empty: all.
    pub figures: &'a [String],
    /// For [`Paper::Clusters`]: the directory of the measured clusters, with a folder for each source.
    pub data: &'a Path,
    /// The worker threads, and the observer of progress.
    pub workers: Workers<'a>,
}

impl Options<'_> {
    /// Whether a figure is to be made.
    fn wants(&self, figure: &str) -> bool {
        self.figures.is_empty() || self.figures.iter().any(|name| name == figure)
    }
}

/// Results of experiments.
#[derive(Debug)]
pub enum Reproduction {
    /// Claims and predictions.
    UrsaMinor(Summary),
    /// Claims and estimates.
    ConstantCapacity(Verdict),
    /// Claims.
    Virtualized(Vec<Claim>),
    /// Claims.
    InsideOut(Vec<Claim>),
    /// The text of `clusters.txt`: parameters and errors of each fit.
    Clusters(String),
}

/// Runs the experiments of a paper. Tables, pictures and `summary.json` are written to a directory; finished ones stay
/// there if something fails.
pub fn reproduce(
    paper: Paper,
    options: &Options<'_>,
    directory: &Directory,
) -> Result<Reproduction, Error> {
    Ok(match paper {
        Paper::UrsaMinor => Reproduction::UrsaMinor(ursa_minor(options, directory)?),
        Paper::ConstantCapacity => {
            Reproduction::ConstantCapacity(constant_capacity::reproduce(options, directory)?)
        }
        Paper::Virtualized => {
            Reproduction::Virtualized(virtualized::reproduce(options, directory)?)
        }
        Paper::InsideOut => Reproduction::InsideOut(inside_out::reproduce(options, directory)?),
        Paper::Clusters => Reproduction::Clusters(clusters::reproduce(options, directory)?),
    })
}

/// The experiments of Thereska et al. 2006.
fn ursa_minor(options: &Options<'_>, directory: &Directory) -> Result<Summary, Error> {
    let wanted = |figure: &&Figure| options.wants(figure.file);
    let figures: Vec<&Figure> = figures::ALL.iter().filter(wanted).collect();
    let seeds = if options.quick { QUICK_SEEDS } else { SEEDS };
    let mut plan = Plan::default();
    for figure in &figures {
        (figure.needs)(&mut plan);
    }
    let (results, failure) = lab::perform(&plan, seeds, options.workers, directory, options.keep);
    let mut sheets = Vec::new();
    for figure in figures {
        // finished figures are written even if others failed
        if let Some(sheet) = finished(figure, &results, seeds) {
            sheet.write(directory)?;
            sheets.push(sheet);
        }
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    let summary = Summary::of(&sheets, options.quick, seeds);
    directory.write("summary.json", summary.json().as_bytes())?;
    Ok(summary)
}

/// The sheet of a figure, if all of its runs are there.
fn finished(figure: &Figure, results: &Results, seeds: u64) -> Option<Sheet> {
    let mut needs = Plan::default();
    (figure.needs)(&mut needs);
    results.have(&needs, seeds).then(|| {
        let mut sheet = Sheet::new(figure.file, figure.title);
        (figure.report)(results, &mut sheet);
        sheet
    })
}
