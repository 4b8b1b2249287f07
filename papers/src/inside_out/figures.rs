//! Tables and figures except Figure 8.

use foretell_core::jobs::Workers;
use foretell_learn::{LinearModel, Model, Term};
use foretell_metrics::TARGETS;
use foretell_pictures::Chart;
use foretell_sorted::SortedMap;

use super::learners::{self, INSIDE_OUT, Learner, OURS, accuracy};
use super::scenarios::{self, Change};
use super::{Overall, READ_THROUGHPUT, Results, Score, overall, sorted};
use crate::error::Error;
use crate::page::Page;
use crate::sheet::figure;

/// Accuracies that differ by less than this, in percent, count as equal.
const ALIKE_PERCENT: f64 = 2.0;

type Make = fn(&Results, Workers<'_>) -> Result<Page, Error>;

/// All figures, by the names of their files.
pub(super) const ALL: [(&str, Make); 7] = [
    ("tab01", table_1),
    ("fig03", figure_3),
    ("fig04", |results, _| Ok(accuracies(results, "fig04", "Diverse workloads"))),
    ("fig05", |results, _| Ok(accuracies(results, "fig05", "Reconfigured clusters"))),
    ("fig06", |results, _| Ok(accuracies(results, "fig06", "Scaling out and shrinking in"))),
    ("fig07", |results, _| Ok(accuracies(results, "fig07", "Two tenants"))),
    ("fig09", |results, _| Ok(figure_9(results))),
];

/// Number of features that Table I shows.
const SHOWN: usize = 10;
/// The paper's average accuracy.
const PUBLISHED_PERCENT: f64 = 91.1;
/// No scenario and target should have an accuracy below this.
const MIN_PERCENT: f64 = 75.0;

/// Table I: the most important features, and the accuracy in cross-validation.
fn table_1(results: &Results, workers: Workers<'_>) -> Result<Page, Error> {
    let rows = results.rows_of(scenarios::usual)?;
    let learners = learners::singles();
    let found = workers.perform::<_, _, Error>(learners, |learner| {
        let model = learner.fit(&rows, READ_THROUGHPUT)?;
        let matrix = rows.matrix()?;
        let weights =
            weights(&model, rows.found.names.len(), |column| deviation(matrix.column(column)));
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let names: Vec<String> =
            order.iter().take(SHOWN).map(|&column| rows.found.names[column].clone()).collect();
        Ok((names, learner.cross_validated(&rows, READ_THROUGHPUT)?))
    });
    let found = found.all()?;
    let mut page = Page::new("tab01", "learner,rank,feature,accuracy_percent");
    for (learner, (names, accuracy)) in learners.iter().zip(&found) {
        for (rank, name) in (1..).zip(names) {
            let rank = rank.to_string();
            page.row(vec![learner.name.to_owned(), rank, name.clone(), figure(*accuracy)]);
        }
    }
    let least = found.iter().map(|(_, accuracy)| *accuracy).fold(f64::INFINITY, f64::min);
    page.claim(
        "Table I",
        "all learners reach 96 % or more in 10-fold cross-validation of read throughput",
        (least >= 96.0, format!("at least {least:.1} %")),
        None,
    );
    let first = &found[0].0;
    let differ = found.iter().any(|(names, _)| names != first);
    page.claim(
        "Table I",
        "learners choose different features",
        (
            differ,
            format!(
                "their ten most important ones {}",
                if differ { "differ" } else { "are the same" }
            ),
        ),
        None,
    );
    Ok(page)
}

/// The weight of each column in a model.
fn weights(model: &Model, columns: usize, deviation: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut weights = vec![0.0; columns];
    match model {
        Model::Linear(LinearModel { terms, .. }) => {
            for (term, coefficient) in terms {
                if let (Term::Column(column), Some(value)) = (term, coefficient) {
                    weights[*column] = (value * deviation(*column)).abs();
                }
            }
        }
        Model::Tree(tree) => tree.add_taken(&mut weights),
        Model::Forest(forest) => {
            for tree in &forest.trees {
                tree.add_taken(&mut weights);
            }
        }
        _ => unreachable!("Table I is about linear models and trees"),
    }
    weights
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / values.len() as f64).sqrt()
}

/// Figure 3: single learners, principal components and a choice of features by hand, for changes of
/// the cluster, the share of reads or the sizes.
fn figure_3(results: &Results, workers: Workers<'_>) -> Result<Page, Error> {
    let is_shown = |change: &&Change| scenarios::FIGURE_3.contains(&change.name);
    let changes: Vec<&Change> = scenarios::ALL.iter().filter(is_shown).collect();
    let learners: Vec<&Learner> = learners::singles().iter().chain(&learners::OTHERS).collect();
    let mut asked = Vec::new();
    for &change in &changes {
        asked.extend(learners.iter().map(|&learner| (change, learner)));
    }
    let done = workers.perform::<_, _, Error>(&asked, |&(change, learner)| {
        let known = results.rows_of(change.learned)?;
        let rows = results.rows_of(change.predicted)?;
        let model = learner.fit(&known, READ_THROUGHPUT)?;
        let predicted = learner.predict(&model, &rows)?;
        Ok(accuracy(&rows.found.targets[READ_THROUGHPUT], &predicted).unwrap_or(0.0))
    });
    let found = done.all()?;
    let mut page = Page::new("fig03", "scenario,learner,accuracy_percent");
    let title = "Figure 3: read throughput";
    let mut chart = Chart::bars("", title, "", "accuracy, %");
    for learner in &learners {
        let of = asked.iter().zip(&found).filter(|((_, other), _)| other.name == learner.name);
        let bars: Vec<(&str, f64)> =
            of.map(|((change, _), accuracy)| (change.name, *accuracy)).collect();
        for (scenario, accuracy) in &bars {
            page.row(vec![(*scenario).to_owned(), learner.name.to_owned(), figure(*accuracy)]);
        }
        chart.bar(learner.name, &bars);
    }
    page.chart(chart);
    let of = |name: &str| -> Vec<f64> {
        let of = asked.iter().zip(&found).filter(|((_, learner), _)| learner.name == name);
        of.map(|(_, accuracy)| *accuracy).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (lasso, pca) = (mean(&of("Lasso")), mean(&of("PCA")));
    page.claim(
        "Fig. 3",
        "regression on ten principal components does not help",
        (pca < lasso, format!("{pca:.1} %, where the lasso reaches {lasso:.1} %")),
        None,
    );
    Ok(page)
}

/// Accuracies of all learners in the scenarios of a figure, target by target.
fn accuracies(results: &Results, file: &'static str, title: &str) -> Page {
    let mut page = Page::new(file, "scenario,target,learner,accuracy_percent");
    for target in TARGETS {
        let mut chart =
            Chart::bars(target.name, format!("{title}: {}", target.name), "", "accuracy, %");
        for learner in &learners::ALL {
            let bars: Vec<(&str, f64)> = results
                .scores
                .iter()
                .filter(|score| {
                    score.figure == file
                        && score.target == target.name
                        && score.learner == learner.name
                })
                .map(|score| (score.scenario, score.accuracy_percent))
                .collect();
            for (scenario, accuracy) in &bars {
                let cells = [*scenario, target.name, learner.name].map(str::to_owned);
                page.row(cells.into_iter().chain([figure(*accuracy)]).collect());
            }
            chart.bar(learner.name, &bars);
        }
        page.chart(chart);
    }
    page
}

/// Figure 9: the density of the accuracy of every learner over all scenarios and targets.
fn figure_9(results: &Results) -> Page {
    let mut page = Page::new("fig09", "learner,accuracy_percent,density_per_percent");
    let mut chart =
        Chart::lines("", "Figure 9: density of accuracy", "accuracy, %", "density, 1/%");
    for learner in &learners::ALL {
        let density = density(&sorted(&results.scores, learner.name));
        for (accuracy, density) in &density {
            page.row(vec![learner.name.to_owned(), figure(*accuracy), figure(*density)]);
        }
        chart.line(learner.name, &density);
    }
    page.chart(chart);
    claims(results, &mut page);
    page
}

/// A Gaussian kernel's density from 0 to 100 %, with the bandwidth of Silverman's rule.
fn density(values: &[f64]) -> Vec<(f64, f64)> {
    let width = (1.06 * deviation(values) * libm::pow(values.len() as f64, -0.2)).max(0.5);
    let kernel = |x: f64| libm::exp(-0.5 * x * x) / (2.0 * std::f64::consts::PI).sqrt();
    let at = |x: f64| {
        let sum: f64 = values.iter().map(|value| kernel((x - value) / width)).sum();
        sum / (width * values.len() as f64)
    };
    (0..=100).map(|x| (f64::from(x), at(f64::from(x)))).collect()
}

fn claims(results: &Results, page: &mut Page) {
    let of = |name| overall(&results.scores, name).expect("all learners were asked");
    let (inside_out, ours) = (of(INSIDE_OUT), of(OURS));
    let Overall { average, tenth_percentile, worst } = inside_out;
    page.claim(
        "Section V",
        "Inside-Out predicts with 91.1 % accuracy on average",
        (average >= PUBLISHED_PERCENT, format!("{average:.1} % over all scenarios and targets")),
        None,
    );
    page.claim(
        "Section V",
        "no scenario and target is below 75 % (our own aim)",
        (worst >= MIN_PERCENT, format!("at least {worst:.1} %")),
        least_of(results, INSIDE_OUT),
    );
    let singles = learners::singles().iter().map(|learner| (learner.name, of(learner.name)));
    let best = singles
        .max_by(|a, b| a.1.tenth_percentile.total_cmp(&b.1.tenth_percentile))
        .expect("there are five");
    let apart = apart(results, INSIDE_OUT, best.0);
    page.claim(
        "Fig. 9",
        "Inside-Out is more consistent than every single learner: its 10th percentile",
        (
            tenth_percentile > best.1.tenth_percentile,
            format!(
                "{tenth_percentile:.1} %; of the best single one, {}, {:.1} %",
                best.0, best.1.tenth_percentile
            ),
        ),
        (apart < ALIKE_PERCENT).then(|| {
            format!("both predict alike: their accuracies are {apart:.1} % apart in the mean")
        }),
    );
    let scale_out = |name: &str| {
        let of = results
            .scores
            .iter()
            .filter(|score| score.learner == name && score.scenario.starts_with("Scale out"));
        let all: Vec<f64> = of.map(|score| score.accuracy_percent).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    };
    let (theirs, own) = (scale_out(INSIDE_OUT), scale_out(OURS));
    page.claim(
        "Our own",
        "an adaptive lasso of relative errors beats Inside-Out on average, and scaling out",
        (
            ours.average > average && own >= theirs,
            format!(
                "{:.1} % against {average:.1} %; scaling out {own:.1} % against {theirs:.1} %",
                ours.average
            ),
        ),
        None,
    );
}

/// The scenario and target with a learner's lowest accuracy, in words.
fn least_of(results: &Results, learner: &str) -> Option<String> {
    let of = results.scores.iter().filter(|score| score.learner == learner);
    let least = of.min_by(|a, b| a.accuracy_percent.total_cmp(&b.accuracy_percent))?;
    let Score { figure, scenario, target, accuracy_percent, .. } = least;
    Some(format!("the least is {accuracy_percent:.1} %, of {target} in {scenario} ({figure})"))
}

/// Mean difference between the accuracies of two learners, in percent.
fn apart(results: &Results, one: &str, other: &str) -> f64 {
    let of = |name: &str| {
        let of = results.scores.iter().filter(|score| score.learner == name);
        let asked = of.map(|score| ((score.scenario, score.target), score.accuracy_percent));
        asked.collect::<SortedMap<_, _>>()
    };
    let (one, other) = (of(one), of(other));
    let both =
        one.iter().filter_map(|(asked, accuracy)| Some((accuracy - other.get(asked)?).abs()));
    both.sum::<f64>() / one.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_density_sums_to_one() {
        let density = density(&[40.0, 50.0, 60.0, 52.0]);
        let sum: f64 = density.iter().map(|(_, density)| density).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
    }
}
