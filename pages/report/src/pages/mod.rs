//! The sections for each kind of result.

mod answer;
mod beside;
mod cache;
mod ceph;
mod compare;
mod designs;
mod outages;
mod reproduction;
mod run;
mod score;
mod sweep;
mod validation;

use serde_json::Value;

pub use self::ceph::{Ceph, Pool};
pub use self::reproduction::{Picture, Reproduction};
pub use self::run::Run;
pub use self::sweep::{Sweep, UnderWay};
use crate::page::{Page, Section};

/// A result to show.
#[derive(Debug)]
pub enum Source {
    /// A recorded run.
    Run(Box<Run>),
    /// `score --json`.
    Score(String, Value),
    /// `ask --json`.
    Answer(String, Value),
    /// `replay-cache --json`.
    Cache(String, Value),
    /// `validate --json`, or `calibrate cluster --predict --json`.
    Validation(String, Value),
    /// A data set of a sweep.
    Sweep(Sweep),
    /// The output of `reproduce`.
    Reproduction(Reproduction),
    /// An imported Ceph cluster.
    Ceph(Ceph),
}

impl Source {
    fn name(&self) -> &str {
        match self {
            Self::Run(run) => &run.name,
            Self::Score(name, _)
            | Self::Answer(name, _)
            | Self::Cache(name, _)
            | Self::Validation(name, _) => name,
            Self::Sweep(sweep) => &sweep.name,
            Self::Reproduction(reproduction) => &reproduction.name,
            Self::Ceph(cluster) => &cluster.name,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Run(_) => "a run",
            Self::Score(..) => "a scored prediction",
            Self::Answer(..) => "a prediction",
            Self::Cache(..) => "caches of a trace",
            Self::Validation(..) => "a measured cluster and its twin",
            Self::Sweep(_) => "a sweep",
            Self::Reproduction(_) => "a reproduction",
            Self::Ceph(_) => "a Ceph cluster",
        }
    }

    fn sections(&self) -> Vec<Section> {
        match self {
            Self::Run(run) => run::sections(run, false),
            Self::Score(_, document) => score::sections(document),
            Self::Answer(_, document) => answer::sections(document),
            Self::Cache(_, document) => cache::sections(document),
            Self::Validation(_, document) => validation::sections(document),
            Self::Sweep(sweep) => sweep::sections(sweep),
            Self::Reproduction(reproduction) => reproduction::sections(reproduction),
            Self::Ceph(cluster) => ceph::sections(cluster),
        }
    }
}

/// A page of these results. Several runs are shown side by side: first what they are worth as designs, then each chart of
/// all of them. Other results follow one after the other.
pub fn page(title: Option<&str>, sources: &[Source]) -> Page {
    let runs: Vec<&Run> = sources
        .iter()
        .filter_map(|source| if let Source::Run(run) = source { Some(run.as_ref()) } else { None })
        .collect();
    let mut sections = Vec::new();
    if runs.len() > 1 {
        sections.push(designs::section(&runs));
        sections.extend(compare::sections(&runs));
        sections.extend(beside::sections(&runs));
    }
    for source in sources {
        if runs.len() > 1 && matches!(source, Source::Run(_)) {
            continue;
        }
        let mut own = source.sections();
        if sources.len() > 1 {
            for section in &mut own {
                section.heading = format!("{}: {}", source.name(), section.heading.to_lowercase());
            }
        }
        sections.extend(own);
    }
    let names: Vec<&str> = sources.iter().map(Source::name).collect();
    let title = title.map_or_else(|| names.join(", "), str::to_owned);
    let shown: Vec<String> =
        sources.iter().map(|source| format!("{} ({})", source.name(), source.kind())).collect();
    Page { title, lead: format!("Shown: {}.", shown.join(", ")), sections }
}
