//! The experiments of papers, and of clusters that others measured: each figure as a table and a picture, and what
//! holds of its claims.
//!
//! [`reproduce`] does those of one [`Paper`]: tables, pictures and `summary.json` go to a directory, and what they come
//! to is returned. A claim that fails has a reason only where figures of that very run support it.
//!
//! A figure of Thereska et al. 2006 says which clusters it needs simulated and which questions it asks of their
//! records (`plan`); all runs of all figures are then done side by side (`lab`), and each figure turns what came out
//! into a `sheet`. Predictions come from `run.db` alone.

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

use std::collections::BTreeSet;
use std::path::Path;

use foretell_core::jobs::Workers;
use foretell_files::Directory;

use figures::Figure;
use lab::Results;
use plan::Plan;
use sheet::Sheet;

pub use constant_capacity::{Errors, Verdict, size_name};
pub use error::Error;
pub use sheet::Claim;
pub use summary::{Accuracy, Comparison, Summary};

/// How often each point is measured, as in Thereska et al. 2006 (IV-A).
const SEEDS: u64 = 10;
/// The same with less of everything.
const QUICK_SEEDS: u64 = 3;

/// Whose experiments.
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

    /// What it is called by.
    pub fn name(self) -> &'static str {
        match self {
            Self::UrsaMinor => "ursa-minor",
            Self::Virtualized => "virtualized",
            Self::ConstantCapacity => "constant-capacity",
            Self::InsideOut => "inside-out",
            Self::Clusters => "clusters",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|paper| paper.name() == name)
    }

    /// What it is about, in a line.
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
                "Clusters that others measured: fitted to few of their points, all others predicted"
            }
        }
    }

    /// Names of the figures that its experiments can be reduced to.
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
        let all: BTreeSet<&str> = Self::ALL.into_iter().flat_map(Self::figures).collect();
        all.into_iter()
    }
}

/// How much is done, and by whom.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Less of everything.
    pub quick: bool,
    /// Of [`Paper::Virtualized`]: measure as long as the paper did.
    pub full: bool,
    /// Keep what figures are made from.
    pub keep: bool,
    /// Only these figures; none: all.
    pub figures: &'a [String],
    /// Of [`Paper::Clusters`]: the directory of the measured clusters, with a folder for each source.
    pub data: &'a Path,
    /// Who does it, and who watches.
    pub workers: Workers<'a>,
}

impl Options<'_> {
    /// Whether a figure is to be made.
    fn wants(&self, figure: &str) -> bool {
        self.figures.is_empty() || self.figures.iter().any(|name| name == figure)
    }
}

/// What experiments came to.
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
    /// What `clusters.txt` says: parameters and errors of each fit.
    Clusters(String),
}

/// Does the experiments of a paper. Tables, pictures and `summary.json` are written into a directory; what is finished
/// stays there if something fails.
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

/// Thereska et al. 2006.
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
        // what is finished is kept
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
