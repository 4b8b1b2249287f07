//! Figure 8: read throughput over hours of changing load, predicted by a model that is rebuilt
//! half-way.
//!
//! The initial model has learned from runs that began with empty caches; the stages follow each
//! other without a pause. At half time the model is rebuilt from the initial rows and the rows
//! observed since.

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

/// Number of stages: of the paper's twelve hours, and with `--quick`.
const STAGES: u64 = 720;
const QUICK_STAGES: u64 = 72;
/// Mean length of a stage and its standard deviation.
const STAGE_S: (f64, f64) = (60.0, 20.0);
/// Drivers of the paper's experiment, and the maximum number of workers of each.
const DRIVERS: u32 = 4;
const MAX_WORKERS: u64 = 8;
/// One in this number of rows is kept; a row ends every 5 s.
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
    // a single group could not be cross-validated, so each quarter of an hour is a group
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
        // the model in use at that time
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
    page.claim("Fig. 8", "a model that is built anew has learned the new behaviour",
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

/// Stages with random length, load and mix.
fn works(stages: u64) -> Vec<Work> {
    let mut stream = Seed(8).stream("inside-out/online");
    (0..stages)
        .map(|stage| {
            // a sum of twelve uniform numbers is nearly normal, and bounded
            let normal = (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0;
            let seconds = (STAGE_S.0 + STAGE_S.1 * normal).round().max(5.0) as u64;
            Work {
                name: format!("stage{stage}"),
                workers: 1 + stream.below(MAX_WORKERS) as u32,
                request: Request::Fixed,
                read_percent: 25 * stream.below(5) as u32,
                seconds,
            }
        })
        .collect()
}
