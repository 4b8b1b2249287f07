//! Runs side by side: their differences, and their distributions and time lines in common charts.

use foretell_units::relative_change;

use crate::chart::{Axis, Chart, Series, View};
use crate::page::{Part, Section, Table};
use crate::run::Seen;
use crate::words::{at, known, number, of_all, percent, short_name};

use super::outages;
use super::run::{Run, busiest_workloads, curve, distribution_axes, nines};

/// Maximum number of workloads that are compared over time and by percentile.
const MAX_WORKLOADS: usize = 12;

/// Metrics of a workload that are compared: name, and path in the truth.
const METRICS: [(&str, &[&str]); 7] = [
    ("requests/s", &["throughput_rps"]),
    ("mean ms", &["response_time_ms", "mean"]),
    ("p50 ms", &["response_time_ms", "p50"]),
    ("p95 ms", &["response_time_ms", "p95"]),
    ("p99 ms", &["response_time_ms", "p99"]),
    ("max ms", &["response_time_ms", "max"]),
    ("read hit rate", &["read_hit_rate"]),
];

/// Sections that compare the runs.
pub(super) fn sections(runs: &[&Run]) -> Vec<Section> {
    let mut section = Section::new("Side by side");
    section.push(Part::Table(differences(runs)));
    outages::side_by_side(runs, &mut section);
    let mut names: Vec<(String, u64)> = Vec::new();
    for run in runs {
        for (number, seen) in run.observed.requests.iter().flat_map(|all| &all.by_workload) {
            let (name, requests) = (run.workload(*number), seen.all.requests());
            match names.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => *known = requests.max(*known),
                None => names.push((name, requests)),
            }
        }
    }
    let all = names.len();
    if all > MAX_WORKLOADS {
        names.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        names.truncate(MAX_WORKLOADS);
        section
            .parts
            .extend(of_all(names.len(), all, "workloads with most requests").map(Part::Text));
    }
    let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
    if names.is_empty() {
        section.push(Part::Gap(
            "None of these runs recorded requests: no distributions and no time lines.".to_owned(),
        ));
        return vec![section];
    }
    overlaid(runs, &names, &mut section);
    over_time(runs, &names, &mut section);
    vec![section]
}

/// The requests of a workload in a run, as its clients saw them.
fn seen<'a>(run: &'a Run, name: &str) -> Option<&'a crate::run::OfWorkload> {
    let requests = run.observed.requests.as_ref()?;
    let mut all = requests.by_workload.iter();
    all.find(|(number, _)| run.workload(**number) == name).map(|(_, seen)| seen)
}

fn differences(runs: &[&Run]) -> Table {
    let mut head = vec!["workload", "metric"];
    head.extend(runs.iter().map(|run| run.name.as_str()));
    let labels: Vec<String> =
        runs.iter().skip(1).map(|run| format!("{} against {}", run.name, runs[0].name)).collect();
    head.extend(labels.iter().map(String::as_str));
    let mut table = Table::new("What clients saw, and by how much the runs differ", 2, &head);
    let mut names: Vec<&String> = Vec::new();
    for run in runs {
        for (name, _) in run.truth.iter().flat_map(|truth| busiest_workloads(truth).0) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for name in names {
        for (metric, path) in METRICS {
            let values: Vec<Option<f64>> = runs
                .iter()
                .map(|run| at(run.truth.as_ref()?.get("workloads")?.get(name)?, path))
                .collect();
            if values.iter().all(Option::is_none) {
                continue;
            }
            let mut row = vec![short_name(name), metric.to_owned()];
            let share = metric.ends_with("rate");
            row.extend(
                values.iter().map(|value| known(*value, if share { percent } else { number })),
            );
            row.extend(values.iter().skip(1).map(|value| match (values[0], value) {
                (Some(first), Some(value)) if share => {
                    format!("{:+.1} points", 100.0 * (value - first))
                }
                (Some(first), Some(value)) if first != 0.0 => {
                    relative_change(value / first - 1.0, 1)
                }
                _ => "–".to_owned(),
            }));
            table.rows.push(row);
        }
    }
    table
}

fn overlaid(runs: &[&Run], names: &[String], section: &mut Section) {
    let most = runs
        .iter()
        .flat_map(|run| run.observed.requests.iter().flat_map(|all| all.by_workload.values()))
        .map(|seen| seen.all.requests())
        .max();
    let xs = nines(most.unwrap_or(0));
    let mut views = Vec::new();
    let mut median_texts = Vec::new();
    for name in names {
        for (operation, pick) in OPERATIONS {
            let of = of(name, pick);
            let lines: Vec<Series> = runs
                .iter()
                .filter_map(|run| {
                    of(run).map(|seen| Series::new(run.name.clone(), curve(seen, &xs)))
                })
                .collect();
            if operation == "all requests" {
                let medians = runs.iter().filter_map(|run| {
                    Some(format!("{} ms in {}", known(of(run)?.quantile_ms(0.5), number), run.name))
                });
                median_texts.push(format!(
                    "the median of {name} is {}",
                    medians.collect::<Vec<_>>().join(", ")
                ));
            }
            if !lines.is_empty() {
                views.push(View::new(format!("{name}, {operation}"), lines));
            }
        }
    }
    let (x, y) = distribution_axes();
    section.chart(
        "Response time by percentile",
        format!(
            "One line a run, a workload at a time: {}. The vertical axis is logarithmic.",
            median_texts.join("; ")
        ),
        Chart::Lines { x, y, xs, views },
    );
}

/// Requests of an operation of a workload, if there were any.
fn of<'a>(name: &'a str, pick: Pick) -> impl Fn(&&'a Run) -> Option<&'a Seen> + 'a {
    move |run| seen(run, name).map(pick).filter(|seen| seen.requests() > 0)
}

/// Picks the requests of an operation.
type Pick = fn(&crate::run::OfWorkload) -> &Seen;
const OPERATIONS: [(&str, Pick); 3] = [
    ("all requests", |seen| &seen.all),
    ("reads", |seen| &seen.by_op[0]),
    ("writes", |seen| &seen.by_op[1]),
];

fn over_time(runs: &[&Run], names: &[String], section: &mut Section) {
    // runs of different lengths have bins of different lengths: use the finest grid, and read each
    // run by its own bins
    let longest = runs.iter().map(|run| run.observed.grid.span_ns).max().unwrap_or(1) as f64 / 1e9;
    let bins = runs.iter().map(|run| run.observed.grid.bins).max().unwrap_or(10);
    let xs: Vec<f64> = (0..bins).map(|bin| (bin as f64 + 0.5) * longest / bins as f64).collect();
    let lines = |name: &str, value: &dyn Fn(&Run, usize) -> Option<f64>| {
        let of = |run: &&Run| {
            seen(run, name)?;
            let grid = &run.observed.grid;
            let at = |x: &f64| {
                let bin = grid.bin(grid.from_ns + (x * 1e9) as u64)?;
                value(run, bin)
            };
            Some(Series::new(run.name.clone(), xs.iter().map(at).collect()))
        };
        runs.iter().filter_map(of).collect::<Vec<_>>()
    };
    let mut rates = Vec::new();
    let mut times = Vec::new();
    for name in names {
        let rate = |run: &Run, bin: usize| {
            let weight = f64::from(run.observed.one_in.max(1));
            let completed = seen(run, name)?.all.completed[bin] as f64;
            Some(completed * weight / (run.observed.grid.bin_ns() / 1e9))
        };
        rates.push(View::new(name.clone(), lines(name, &rate)));
        for (share, label) in [(0.5, "p50"), (0.99, "p99")] {
            let time = |run: &Run, bin: usize| {
                let times = &seen(run, name)?.over_time[bin];
                (!times.is_empty()).then(|| times.value_at_quantile(share) as f64 / 1e6)
            };
            times.push(View::new(format!("{name}, {label}"), lines(name, &time)));
        }
    }
    let time = || Axis::new("time since the measuring began", "s");
    let y = Axis::new("throughput", "requests/s");
    let summary = "Requests completed in a second, one line a run, a workload at a time; the table above has the means.";
    section.chart(
        "Throughput over time",
        summary,
        Chart::Lines { x: time(), y, xs: xs.clone(), views: rates },
    );
    let y = Axis::new("response time", "ms");
    let summary = "Response times of the requests completed in each interval, one line a run.";
    section.chart(
        "Response time over time",
        summary,
        Chart::Lines { x: time(), y, xs, views: times },
    );
}
