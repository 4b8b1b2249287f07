//! Figure 8: read throughput over hours of changing load, by a model that is built anew half-way.
//!
//! The initial model has learned from runs that began with empty caches; the stages go on without a
//! pause. At half time it is built again, from what it had and what was seen since.

use std::path::Path;

use foretell_core::jobs::Workers;
use foretell_pictures::Chart;
use foretell_units::Seed;

use super::learners::{self, INSIDE_OUT, accuracy};
use super::runs::{Request, Rows, Work, run, staged};
use super::{READ_THROUGHPUT, Results, scenarios};
use crate::error::Error;
use crate::page::Page;
use crate::sheet::figure;

/// Stages of the paper's twelve hours, and with `--quick`.
const STAGES: u64 = 720;
const QUICK_STAGES: u64 = 72;
/// A stage's mean length and its deviation.
const STAGE_S: (f64, f64) = (60.0, 20.0);
/// Drivers of the paper's experiment, and workers of each at the most.
const DRIVERS: u32 = 4;
const MOST_WORKERS: u64 = 8;
/// Of the rows that end every 5 s, each so many is kept.
const EVERY: usize = 2;

/// The figure.
pub(super) fn page(
    results: &Results,
    quick: bool,
    files: &Path,
    workers: Workers<'_>,
) -> Result<Page, Error> {
    let works = works(if quick { QUICK_STAGES } else { STAGES });
    let document = staged(&files.join("online.xml"), &works, DRIVERS)?;
    let found = run(document, 8, workers)?;
    let mut online = Rows::of_run(0, &found, EVERY);
    // one group would leave nothing to validate with: a quarter of an hour each
    for (group, time) in online.groups.iter_mut().zip(&online.found.times) {
        *group = 1_000_000 + (time / 900.0) as i64;
    }
    let half = online.found.times.len() / 2;
    let (first, second): (Vec<usize>, Vec<usize>) =
        (0..online.found.times.len()).partition(|row| *row < half);
    let learner =
        learners::ALL.iter().find(|learner| learner.name == INSIDE_OUT).expect("it is among them");
    let mut known = results.rows_of(scenarios::usual)?;
    let initial = learner.predict(&learner.fit(&known, READ_THROUGHPUT)?, &online)?;
    known.extend(&online.take(&first))?;
    let later = learner.predict(&learner.fit(&known, READ_THROUGHPUT)?, &online)?;
    let truth = &online.found.targets[READ_THROUGHPUT];
    let header = "hours,measured_mb_per_s,initial_model_mb_per_s,rebuilt_model_mb_per_s";
    let mut page = Page::new("fig08", header);
    let mb = |value: f64| value / 1e6;
    let mut lines: [Vec<(f64, f64)>; 2] = Default::default();
    for row in 0..truth.len() {
        let hours = online.found.times[row] / 3600.0;
        let rebuilt = if row < half { String::new() } else { figure(mb(later[row])) };
        page.row(vec![figure(hours), figure(mb(truth[row])), figure(mb(initial[row])), rebuilt]);
        lines[0].push((hours, mb(truth[row])));
        // the model in use
        let used = if row < half { initial[row] } else { later[row] };
        lines[1].push((hours, mb(used)));
    }
    let mut chart = Chart::lines("", "Figure 8: read throughput", "hours", "MB/s");
    chart.line("measured", &lines[0]);
    chart.line("predicted, model rebuilt half-way", &lines[1]);
    page.chart(chart);
    let of = |rows: &[usize], predicted: &[f64]| {
        let pick = |values: &[f64]| rows.iter().map(|&row| values[row]).collect::<Vec<_>>();
        accuracy(&pick(truth), &pick(predicted)).unwrap_or(0.0)
    };
    let (before, kept) = (of(&first, &initial), of(&second, &initial));
    let rebuilt = of(&second, &later);
    page.claim(
        ("Fig. 8", "a model that is built anew has learned the new behaviour"),
        (
            rebuilt > kept,
            format!(
                "{before:.1} % in the first half; in the second {rebuilt:.1} %, {kept:.1} % by the first model"
            ),
        ),
        None,
    );
    Ok(page)
}

/// Stages of random length, load and mix.
fn works(stages: u64) -> Vec<Work> {
    let mut stream = Seed(8).stream("inside-out/online");
    (0..stages)
        .map(|stage| {
            // a sum of twelve uniform numbers is nearly normal, and within bounds
            let normal = (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0;
            let seconds = (STAGE_S.0 + STAGE_S.1 * normal).round().max(5.0) as u64;
            Work {
                name: format!("stage{stage}"),
                workers: 1 + stream.below(MOST_WORKERS) as u32,
                request: Request::Fixed,
                read_percent: 25 * stream.below(5) as u32,
                seconds,
            }
        })
        .collect()
}
