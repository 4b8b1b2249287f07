//! The experiments of Hsu et al. 2016: performance of clients, predicted from low-level metrics of
//! hosts.
//!
//! A few hundred runs of a Ceph-like cluster are simulated ([`runs`]). Learners are fitted to some of
//! them and predict others ([`scenarios`]). Each figure is a table of accuracies. The paper's Table II
//! says which runs are learned from and which are predicted.

mod figures;
mod learners;
mod online;
mod runs;
mod scenarios;

use std::fmt::Write as _;

use foretell_core::jobs::Workers;
use foretell_files::{Directory, Scratch};
use foretell_metrics::TARGETS;
use foretell_sorted::SortedMap;
use serde::Serialize;

use super::page::Page;
use super::sheet::Claim;
use crate::Options;
use crate::error::Error;
use learners::{Learner, accuracy};
use runs::{Rows, Setup};

/// The index of read throughput among the targets; Table I and Figures 3 and 8 are about it.
const READ_THROUGHPUT: usize = 0;

/// The accuracy of a learner in one scenario, for one target.
#[derive(Clone, Debug, Serialize)]
struct Score {
    figure: &'static str,
    scenario: &'static str,
    learner: &'static str,
    target: &'static str,
    accuracy_percent: f64,
}

/// Summary of all scores of a learner, in percent.
#[derive(Debug, Serialize)]
struct Overall {
    average: f64,
    tenth_percentile: f64,
    worst: f64,
}

#[derive(Debug, Serialize)]
struct Summary {
    paper: &'static str,
    quick: bool,
    runs: usize,
    rows: Vec<Claim>,
    learners: SortedMap<&'static str, Overall>,
}

/// All data that figures are made from.
struct Results {
    setups: Vec<Setup>,
    /// The rows of each run.
    rows: Vec<Rows>,
    scores: Vec<Score>,
}

impl Results {
    /// The rows of the runs that are wanted.
    fn rows_of(&self, wanted: impl Fn(&Setup) -> bool) -> Result<Rows, Error> {
        let mut all = Rows::default();
        for (setup, rows) in self.setups.iter().zip(&self.rows) {
            if wanted(setup) {
                all.extend(rows)?;
            }
        }
        Ok(all)
    }

    /// All rows, with the settings of their runs.
    fn csv(&self) -> String {
        let mut text = "run,osds,drivers,workers,request,read_percent,monitors,instance,\
                        network_mbit_per_s,neighbour,time_s"
            .to_owned();
        let names = self.rows.first().map(|rows| rows.found.names.as_slice()).unwrap_or_default();
        for name in TARGETS.iter().map(|target| target.name).chain(names.iter().map(String::as_str))
        {
            text.push(',');
            text += name;
        }
        text.push('\n');
        for (number, (setup, rows)) in self.setups.iter().zip(&self.rows).enumerate() {
            let request = match setup.request {
                runs::Request::Fixed => "512KB",
                runs::Request::Variable => "1-1024KB",
            };
            let instance = if setup.medium { "m1.medium" } else { "m1.small" };
            let found = &rows.found;
            for row in 0..found.times.len() {
                let Setup { osds, drivers, workers, read_percent, monitors, network, .. } = setup;
                let _ = write!(
                    text,
                    "{number},{osds},{drivers},{workers},{request},{read_percent},{monitors},\
                     {instance},{network},{},{}",
                    u8::from(setup.neighbour),
                    found.times[row]
                );
                for column in found.targets.iter().chain(&found.columns) {
                    let _ = write!(text, ",{}", column[row]);
                }
                text.push('\n');
            }
        }
        text
    }
}

/// Names of the tables and figures.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    figures::ALL.iter().map(|(name, _)| *name).chain(["fig08"])
}

/// Runs the experiments, and returns the claims with their results.
pub(super) fn reproduce(options: &Options<'_>, directory: &Directory) -> Result<Vec<Claim>, Error> {
    let wanted = |figure: &str| options.wants(figure);
    let workers = options.workers;
    let files = Scratch::new()?;
    let mut setups = scenarios::setups(options.quick);
    setups.retain(|setup| scenarios::is_needed(setup, &wanted));
    let rows = runs::perform(&setups, workers, files.path())?;
    let mut results = Results { setups, rows, scores: Vec::new() };
    if options.keep {
        directory.write("features.csv", results.csv().as_bytes())?;
    }
    results.scores = scores(&results, workers, &wanted)?;
    if !results.scores.is_empty() {
        accuracies(&results.scores).write(directory)?;
    }
    let mut pages: Vec<Page> = Vec::new();
    for (name, make) in figures::ALL {
        if wanted(name) {
            let page = make(&results, workers)?;
            page.write(directory)?;
            pages.push(page);
        }
    }
    if wanted("fig08") {
        let page = online::page(&results, options.quick, files.path(), workers)?;
        page.write(directory)?;
        pages.push(page);
    }
    let claims: Vec<Claim> = pages.into_iter().flat_map(|page| page.claims).collect();
    let summary = Summary {
        paper: "inside-out",
        quick: options.quick,
        runs: results.setups.len(),
        learners: learners::ALL
            .iter()
            .filter_map(|learner| Some((learner.name, overall(&results.scores, learner.name)?)))
            .collect(),
        rows: claims,
    };
    directory.write("summary.json", foretell_core::to_json(&summary).as_bytes())?;
    Ok(summary.rows)
}

/// The accuracies of all learners in all scenarios of the wanted figures.
fn scores(
    results: &Results,
    workers: Workers<'_>,
    wanted: &impl Fn(&str) -> bool,
) -> Result<Vec<Score>, Error> {
    let mut changes = Vec::new();
    for change in scenarios::ALL.iter().filter(|change| change.is_scored(wanted)) {
        let rows = [results.rows_of(change.learned)?, results.rows_of(change.predicted)?];
        changes.push((change, rows));
    }
    let mut jobs = Vec::new();
    for (change, rows) in &changes {
        for learner in &learners::ALL {
            jobs.extend((0..TARGETS.len()).map(|target| (*change, rows, learner, target)));
        }
    }
    let done = workers.perform::<_, _, Error>(
        &jobs,
        |&(change, [learned, predicted], learner, target)| {
            let model = learner.fit(learned, target)?;
            let predictions = learner.predict(&model, predicted)?;
            // `None`: there was nothing to predict
            let found = accuracy(&predicted.found.targets[target], &predictions);
            Ok(found.map(|accuracy_percent| Score {
                figure: change.figure,
                scenario: change.name,
                learner: learner.name,
                target: TARGETS[target].name,
                accuracy_percent,
            }))
        },
    );
    Ok(done.all()?.into_iter().flatten().collect())
}

/// A table in percent, with a line for each scenario and target, and a column for each learner.
fn accuracies(scores: &[Score]) -> Page {
    let names = learners::ALL.map(|learner| learner.name).join(",");
    let mut page = Page::new("accuracies", &format!("figure,scenario,target,{names}"));
    let line = |score: &Score| [score.figure, score.scenario, score.target];
    let mut lines: Vec<[&str; 3]> = Vec::new();
    for score in scores {
        if !lines.contains(&line(score)) {
            lines.push(line(score));
        }
    }
    for asked in lines {
        let accuracy = |learner: &Learner| {
            let is_asked = |score: &&Score| line(score) == asked && score.learner == learner.name;
            let of = scores.iter().find(is_asked);
            of.map(|score| format!("{:.1}", score.accuracy_percent)).unwrap_or_default()
        };
        let cells = learners::ALL.iter().map(accuracy);
        page.row(asked.into_iter().map(str::to_owned).chain(cells).collect());
    }
    page
}

/// Accuracies of a learner, the lowest first.
fn sorted(scores: &[Score], learner: &str) -> Vec<f64> {
    let of = scores.iter().filter(|score| score.learner == learner);
    let mut all: Vec<f64> = of.map(|score| score.accuracy_percent).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

fn overall(scores: &[Score], learner: &str) -> Option<Overall> {
    let all = sorted(scores, learner);
    let worst = *all.first()?;
    Some(Overall {
        average: all.iter().sum::<f64>() / all.len() as f64,
        tenth_percentile: all[all.len() / 10],
        worst,
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use foretell_core::jobs::Unwatched;

    use super::*;
    use runs::Request;

    fn workers(threads: usize) -> Workers<'static> {
        Workers { threads: NonZeroUsize::new(threads).unwrap(), watch: &Unwatched }
    }

    #[test]
    fn all_accuracies_are_in_one_table() {
        let score = |scenario, learner, target, accuracy_percent| Score {
            figure: "fig07",
            scenario,
            learner,
            target,
            accuracy_percent,
        };
        let table = accuracies(&[
            score("Tenants", "Lasso", "TPr", 97.24),
            score("Tenants", learners::OURS, "TPr", 50.0),
            score("Tenants, one throttled", "Lasso", "TPw", 0.0),
        ])
        .csv();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].starts_with("figure,scenario,target,Lasso,Ridge,Elastic Net,"));
        assert_eq!(lines[1], "fig07,Tenants,TPr,97.2,,,,,,,,50.0");
        assert_eq!(lines[2], "fig07,\"Tenants, one throttled\",TPw,0.0,,,,,,,,");
    }

    #[test]
    fn objects_are_as_large_where_all_requests_read_as_where_some_write() {
        let place = tempfile::tempdir().unwrap();
        let setup = |read_percent| Setup { osds: 4, drivers: 1, read_percent, ..Setup::BASE };
        let setups = [setup(0), setup(50), setup(100)];
        let rows = runs::perform(&setups, workers(1), place.path()).unwrap();
        for (setup, rows) in setups.iter().zip(&rows) {
            let [read, written, reads, writes] = &rows.found.targets;
            for (bytes, operations) in [(read, reads), (written, writes)] {
                for (bytes, operations) in bytes.iter().zip(operations) {
                    let off = (bytes - 512_000.0 * operations).abs();
                    assert!(off <= 1e-9 * bytes, "{}: {bytes} {operations}", setup.read_percent);
                }
            }
        }
    }

    /// Trains on six loads of a small cluster, and predicts two others.
    #[test]
    fn what_clients_see_is_told_from_the_hosts_metrics() {
        let place = tempfile::tempdir().unwrap();
        let setup = |workers, read_percent| Setup {
            osds: 4,
            drivers: 1,
            workers,
            read_percent,
            request: Request::Fixed,
            ..Setup::BASE
        };
        let loads = [(1, 25), (4, 25), (8, 25), (1, 75), (4, 75), (8, 75), (2, 50), (6, 50)];
        let setups: Vec<Setup> = loads.map(|(workers, reads)| setup(workers, reads)).into();
        let rows = runs::perform(&setups, workers(2), place.path()).unwrap();
        // OSDs and monitors, 32 metrics, 4 features
        assert_eq!(rows[0].found.names.len(), 256);
        let results = Results { setups, rows, scores: Vec::new() };
        let learned = results.rows_of(|setup| setup.read_percent != 50).unwrap();
        let asked = results.rows_of(|setup| setup.read_percent == 50).unwrap();
        let inside_out = &learners::ALL[7];
        assert_eq!(inside_out.name, learners::INSIDE_OUT);
        for (target, what) in TARGETS.iter().enumerate() {
            let model = inside_out.fit(&learned, target).unwrap();
            let predicted = inside_out.predict(&model, &asked).unwrap();
            let found = accuracy(&asked.found.targets[target], &predicted).unwrap();
            assert!(found > 85.0, "{}: {found}", what.name);
        }
    }
}
