//! Sections of a run with events: the time line by the second with phases and events, a table of phases, and
//! recoveries.
//!
//! All of it comes from `truth.json`. Runs kept by earlier versions have no times of phases and events: their time
//! lines have neither bands nor marks, and the page says so. Long runs are shown in steps of several seconds.

use serde_json::Value;

use super::run::{Run, busiest_workloads};
use crate::chart::{Axis, Band, Chart, Mark, Series, View};
use crate::page::{Column, Part, Section, Table};
use crate::words::{at, count, entries, known, number, of_all, short_name, text};

/// Maximum number of points of a time line.
const MAX_POINTS: usize = 600;
/// Maximum number of events that a chart marks, and that a table lists.
const MAX_MARKS: usize = 40;
const MAX_EVENTS: usize = 100;
/// Maximum number of phases and events that a sentence names.
const MAX_IN_WORDS: usize = 8;
/// Maximum number of recoveries in the table; those that wrote most are shown.
const MAX_RECOVERIES: usize = 100;
/// Maximum number of workloads in a chart.
const MAX_LINES: usize = 5;
/// Maximum number of bands of a chart.
const MAX_BANDS: usize = 400;

/// The section on failures and recovery, if the run had events. `is_compared`: its time lines and phases stand beside
/// those of other runs ([`side_by_side`]).
pub(super) fn section(run: &Run, is_compared: bool) -> Option<Section> {
    let truth = run.truth.as_ref()?;
    let line = TimeLine::of(run)?;
    let mut section = Section::new("Failures and recovery");
    section.text(summary(truth));
    if line.step > 1 {
        section.text(format!("Each point of the time lines is a mean over {} s.", line.step));
    }
    if line.bands.is_empty() {
        section.push(Part::Gap(
            "This run does not say when its phases and events were; a version of the program from before kept it. Run \
             the scenario again to see them."
                .to_owned(),
        ));
    }
    if !is_compared {
        section.parts.extend(line.charts("", &line.xs, None));
    }
    section.parts.extend(events(truth));
    if !is_compared {
        section.push(Part::Table(phases(&[run])));
    }
    let recoveries = recoveries(truth);
    if !recoveries.0.rows.is_empty() {
        section.push(Part::Table(recoveries.0));
        section.parts.extend(recoveries.1.map(Part::Text));
    }
    Some(section)
}

/// Time lines of several runs side by side, with the same axes, and their phases. Adds nothing if no run had
/// events.
pub(super) fn side_by_side(runs: &[&Run], section: &mut Section) {
    let lines: Vec<(&Run, TimeLine)> =
        runs.iter().filter_map(|run| Some((*run, TimeLine::of(run)?))).collect();
    let Some(longest) = lines.iter().map(|(_, line)| &line.xs).max_by(|a, b| {
        let last = |xs: &[f64]| xs.last().copied().unwrap_or(0.0);
        last(a).total_cmp(&last(b))
    }) else {
        return;
    };
    let longest = longest.clone();
    let most = |values: &dyn Fn(&TimeLine) -> Vec<Option<f64>>| {
        let all = lines.iter().flat_map(|(_, line)| values(line)).flatten();
        all.fold(0.0, f64::max) * 1.06
    };
    let ceilings = [
        most(&|line| line.requests.clone()),
        most(&|line| line.means.clone()),
        most(&|line| line.p99.iter().flat_map(|(_, values)| values).copied().collect()),
    ];
    let mut columns = [Vec::new(), Vec::new()];
    for (run, line) in &lines {
        let name = short_name(&run.name);
        // extend the time axis to that of the longest run; steps differ, so each run keeps its own points
        let mut xs = line.xs.clone();
        let last = xs.last().copied().unwrap_or(0.0);
        xs.extend(longest.iter().filter(|x| **x > last));
        let charts = line.charts(&format!("{name}: "), &xs, Some(ceilings));
        for (column, part) in columns.iter_mut().zip(charts) {
            column.push(Column { of: name.clone(), part });
        }
    }
    section.parts.extend(columns.map(Part::Beside));
    let of: Vec<&Run> = lines.iter().map(|(run, _)| *run).collect();
    section.push(Part::Table(phases(&of)));
}

/// The time line of a run.
struct TimeLine {
    /// Seconds between points.
    step: usize,
    /// The middle of each point's interval, in seconds.
    xs: Vec<f64>,
    /// Completed requests a second.
    requests: Vec<Option<f64>>,
    /// Failed requests a second.
    failed: Vec<Option<f64>>,
    /// Mean response times in milliseconds.
    means: Vec<Option<f64>>,
    /// 99th percentile of the response times of each workload in milliseconds, if the run recorded requests.
    p99: Vec<(String, Vec<Option<f64>>)>,
    /// MB/s written by recoveries.
    recovered: Vec<Option<f64>>,
    bands: Vec<Band>,
    marks: Vec<Mark>,
}

impl TimeLine {
    fn of(run: &Run) -> Option<Self> {
        let truth = run.truth.as_ref()?;
        let seconds = truth.get("timeline")?.as_array().filter(|seconds| !seconds.is_empty())?;
        let end = (run.observed.grid.span_ns as f64 / 1e9).max(1e-9);
        let step = seconds.len().div_ceil(MAX_POINTS);
        let mut line = Self {
            step,
            xs: Vec::new(),
            requests: Vec::new(),
            failed: Vec::new(),
            means: Vec::new(),
            p99: Vec::new(),
            recovered: Vec::new(),
            bands: bands(truth, end),
            marks: marks(truth),
        };
        for (place, some) in seconds.chunks(step).enumerate() {
            let from = (place * step) as f64;
            // the last second of a run may be incomplete
            let lasts = (end - from).clamp(1e-9, some.len() as f64);
            let sum = |key: &str| some.iter().filter_map(|one| at(one, &[key])).sum::<f64>();
            let requests = sum("requests");
            let waited = some
                .iter()
                .filter_map(|one| Some(at(one, &["mean_ms"])? * at(one, &["requests"])?));
            line.xs.push(from + lasts / 2.0);
            line.requests.push(Some(requests / lasts));
            line.failed.push(Some(sum("failed_requests") / lasts));
            line.means.push((requests > 0.0).then(|| waited.sum::<f64>() / requests));
            line.recovered.push(Some(sum("recovered_bytes") / 1e6 / lasts));
        }
        line.p99 = p99(run, &line.xs, step as f64);
        Some(line)
    }

    /// Its charts over the points `xs`, which begin with its own points; `ceilings`: the tops of the axes.
    fn charts(&self, prefix: &str, xs: &[f64], ceilings: Option<[f64; 3]>) -> [Part; 2] {
        let series = |name: &str, values: &[Option<f64>]| {
            let mut values = values.to_vec();
            values.resize(xs.len(), None);
            Series::new(name, values)
        };
        let axis = |label: &str, unit: &'static str, top: Option<f64>| {
            let axis = Axis::new(label, unit);
            top.filter(|top| *top > 0.0).map_or(axis.clone(), |top| axis.up_to(top))
        };
        let time = || Axis::new("time since the measuring began", "s");
        let mut completed = vec![series("completed", &self.requests)];
        if self.failed.iter().flatten().any(|failed| *failed > 0.0) {
            completed.push(series("given up", &self.failed));
        }
        let mut written =
            View::new("what recoveries write, MB/s", vec![series("recoveries", &self.recovered)]);
        written.y = Some(Axis::new("written by recoveries", "MB/s"));
        let (low, high) = range(&self.requests);
        let throughput_summary = format!(
            "Requests of all workloads, by the second: {} to {} a second.{}",
            number(low),
            number(high),
            self.in_words()
        );
        let throughput = Chart::Timeline {
            x: time(),
            y: axis("throughput", "requests/s", ceilings.map(|tops| tops[0])),
            xs: xs.to_vec(),
            views: vec![View::new("requests/s", completed), written],
            bands: self.bands.clone(),
            marks: self.marks.clone(),
        };
        let (low, high) = range(&self.means);
        let tails: Vec<String> = self
            .p99
            .iter()
            .map(|(name, values)| {
                let (low, high) = range(values);
                format!(" The p99 of {name}: {} to {} ms.", number(low), number(high))
            })
            .collect();
        let response_summary = format!(
            "Response times of the requests that completed in each second. The mean: {} to {} ms.{} The same phases \
             and events.",
            number(low),
            number(high),
            tails.concat()
        );
        let mut views = Vec::new();
        if !self.p99.is_empty() {
            let of = |(name, values): &(String, Vec<Option<f64>>)| series(name, values);
            let mut by_workload = View::new("p99 by workload", self.p99.iter().map(of).collect());
            by_workload.y = Some(axis("p99 of response times", "ms", ceilings.map(|tops| tops[2])));
            views.push(by_workload);
        }
        views.push(View::new("mean of all", vec![series("mean", &self.means)]));
        let response = Chart::Timeline {
            x: time(),
            y: axis("mean response time", "ms", ceilings.map(|tops| tops[1])),
            xs: xs.to_vec(),
            views,
            bands: self.bands.clone(),
            marks: self.marks.clone(),
        };
        let chart = |title: &str, summary, chart| Part::Chart {
            title: format!("{prefix}{title}"),
            summary,
            chart,
        };
        [
            chart("throughput through failures", throughput_summary, throughput),
            chart("response time through failures", response_summary, response),
        ]
    }

    /// Its phases and events in words.
    fn in_words(&self) -> String {
        let list = |what: &str, all: usize, first: Vec<String>| {
            let more = if all > first.len() { ", and so on" } else { "" };
            if all == 0 { String::new() } else { format!(" {what}: {}{more}.", first.join(", ")) }
        };
        let phase = |band: &Band| {
            format!("{} from {} to {} s", band.name, number(band.from), number(band.to))
        };
        let event =
            |mark: &Mark| format!("{} {} at {} s", mark.number, mark.label, number(mark.at));
        let phases = self.bands.iter().take(MAX_IN_WORDS).map(phase).collect();
        let events = self.marks.iter().take(MAX_IN_WORDS).map(event).collect();
        list("Phases", self.bands.len(), phases) + &list("Events", self.marks.len(), events)
    }
}

/// The 99th percentile of each workload around the times `xs`, each over `step` seconds, from the records. Requests that
/// failed have none.
fn p99(run: &Run, xs: &[f64], step: f64) -> Vec<(String, Vec<Option<f64>>)> {
    let Some(requests) = &run.observed.requests else { return Vec::new() };
    let grid = &run.observed.grid;
    let middles = grid.middles_s();
    let mut all: Vec<_> = requests.by_workload.iter().collect();
    all.sort_by_key(|(number, seen)| (u64::MAX - seen.all.requests(), **number));
    let of = |(number, seen): (&u32, &crate::run::OfWorkload)| {
        let value = |x: &f64| {
            // the bins whose middle is in the interval, or else the bin around its middle
            let first = middles.partition_point(|middle| *middle < x - step / 2.0);
            let end = middles.partition_point(|middle| *middle < x + step / 2.0);
            let around = grid.bin(grid.from_ns + (x * 1e9) as u64);
            let bins =
                if first < end { first..end } else { around.map_or(0..0, |bin| bin..bin + 1) };
            let mut times = bins.filter_map(|bin| seen.over_time.get(bin));
            let mut whole = times.next()?.clone();
            for one in times {
                whole.add(one).ok()?;
            }
            (!whole.is_empty()).then(|| whole.value_at_quantile(0.99) as f64 / 1e6)
        };
        (run.workload(*number), xs.iter().map(value).collect())
    };
    all.into_iter().take(MAX_LINES).map(of).collect()
}

fn range(values: &[Option<f64>]) -> (f64, f64) {
    let all = values.iter().flatten();
    let (low, high) =
        all.fold((f64::MAX, 0.0), |(low, high): (f64, f64), x| (low.min(*x), high.max(*x)));
    (low.min(high), high)
}

fn summary(truth: &Value) -> String {
    let whole = |key: &str| at(truth, &[key]).unwrap_or(0.0);
    let recoveries = truth["recoveries"].as_array().map_or(0, Vec::len) as u64;
    let lost = whole("bytes_lost");
    let stale = at(truth, &["stale_reads"])
        .map(|reads| format!("; {} stale", count(reads as u64, "read was", "reads were")));
    let waiting = at(truth, &["waiting_below_min_size"]).map(|requests| {
        let requests = count(requests as u64, "request", "requests");
        format!("; {requests} waited because too few servers of a group were up")
    });
    format!(
        "{} in the measured time; {} given up{}; {}{}.",
        count(recoveries, "recovery", "recoveries"),
        count(whole("failed_requests") as u64, "request was", "requests were"),
        waiting.unwrap_or_default(),
        if lost > 0.0 {
            format!("{} MB were lost", number(lost / 1e6))
        } else {
            "no data were lost".to_owned()
        },
        stale.unwrap_or_default()
    )
}

/// Phases as bands up to the `end` of the measured time. If there are too many, short ones are joined to the band
/// before them.
fn bands(truth: &Value, end: f64) -> Vec<Band> {
    let changes: Vec<(f64, &str)> = truth["phase_changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| Some((at(change, &["at_s"])?, text(change, &["phase"])?)))
        .filter(|(from, _)| (0.0..end).contains(from))
        .collect();
    let shortest = if changes.len() > MAX_BANDS { end / MAX_BANDS as f64 } else { 0.0 };
    let mut bands: Vec<Band> = Vec::new();
    for (place, (from, name)) in changes.iter().enumerate() {
        let to = changes.get(place + 1).map_or(end, |next| next.0);
        match bands.last_mut() {
            Some(last) if to - last.from <= shortest || last.name == *name => last.to = to,
            _ => bands.push(Band { from: *from, to, name: short_name(*name) }),
        }
    }
    bands
}

fn happened(truth: &Value) -> impl Iterator<Item = (f64, &str, &str, &str)> {
    truth["happened"].as_array().into_iter().flatten().filter_map(|one| {
        let word = |key| text(one, &[key]);
        Some((at(one, &["at_s"])?, word("event")?, word("what")?, word("host")?))
    })
}

/// The verb for an event.
fn verb(what: &str) -> &str {
    match what {
        "fail" => "fails",
        "return" => "returns",
        "add" => "joins",
        "drain" => "is drained",
        "set" => "changes",
        "slow" => "is slow",
        "slow-ends" => "is as fast as before",
        other => other,
    }
}

/// The marks of a chart; events of one moment share a mark.
fn marks(truth: &Value) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut here = 0;
    for (place, (at, _, what, host)) in happened(truth).enumerate() {
        if let Some(last) = marks.last_mut()
            && last.at >= at
        {
            here += 1;
            let label = last.label.split(" and ").next().unwrap_or_default().to_owned();
            last.label = format!("{label} and {}", count(here, "more", "more"));
            continue;
        }
        if marks.len() == MAX_MARKS {
            break;
        }
        here = 0;
        let label = format!("{} {}", short_name(host), verb(what));
        marks.push(Mark { at, number: place + 1, label });
    }
    marks
}

fn events(truth: &Value) -> Vec<Part> {
    let mut table = Table::new("Events", 0, &["number", "at s", "event", "host", "what"]);
    let mut all = 0;
    for (place, (at, event, what, host)) in happened(truth).enumerate() {
        all += 1;
        if place < MAX_EVENTS {
            table.rows.push(vec![
                (place + 1).to_string(),
                number(at),
                short_name(event),
                short_name(host),
                verb(what).to_owned(),
            ]);
        }
    }
    let others = of_all(table.rows.len(), all, "first events").map(Part::Text);
    let table = (all > 0).then_some(Part::Table(table));
    table.into_iter().chain(others).collect()
}

/// Response times and throughput in each phase, with the names of runs if there are several.
fn phases(runs: &[&Run]) -> Table {
    let head = [
        "run",
        "phase",
        "lasted s",
        "workload",
        "requests/s",
        "MB/s",
        "mean ms",
        "p50",
        "p95",
        "p99",
        "max",
        "requests",
        "given up",
        "waited: too few servers up",
    ];
    let truths = runs.iter().filter_map(|run| run.truth.as_ref());
    let some_waited = truths.into_iter().any(|truth| truth["waiting_below_min_size"].is_u64());
    let head = if some_waited { &head[..] } else { &head[..head.len() - 1] };
    let skipped = usize::from(runs.len() == 1);
    let mut table = Table::new("What clients saw in each phase", 2 - skipped, &head[skipped..]);
    for run in runs {
        let Some(truth) = &run.truth else { continue };
        let (shown, _) = busiest_workloads(truth);
        for phase in truth["phases"].as_array().into_iter().flatten() {
            let name = text(phase, &["phase"]).unwrap_or("–");
            for (workload, seen) in entries(phase, "workloads") {
                if !shown.iter().any(|(known, _)| *known == workload) {
                    continue;
                }
                let value = |path: &[&str]| known(at(seen, path), number);
                let time = |key| known(at(seen, &["response_time_ms", key]), number);
                let bytes = at(seen, &["throughput_bytes_per_s"]);
                let mut row = vec![
                    short_name(&run.name),
                    short_name(name),
                    known(at(phase, &["seconds"]), number),
                    short_name(workload),
                    value(&["throughput_rps"]),
                    known(bytes.map(|bytes| bytes / 1e6), number),
                    time("mean"),
                    time("p50"),
                    time("p95"),
                    time("p99"),
                    time("max"),
                    value(&["requests"]),
                    value(&["failed_requests"]),
                ];
                if some_waited {
                    let waited = at(seen, &["waiting_below_min_size"]).unwrap_or(0.0);
                    row.push(number(waited));
                }
                table.rows.push(row.into_iter().skip(skipped).collect());
            }
        }
    }
    table
}

fn recoveries(truth: &Value) -> (Table, Option<String>) {
    let mut table = Table::new(
        "Recoveries",
        2,
        &[
            "of",
            "kind",
            "began s",
            "ended s",
            "took s",
            "objects",
            "read MB",
            "sent MB",
            "written MB",
            "MB/s",
            "done",
            "hours left",
        ],
    );
    let mut all: Vec<&Value> = truth["recoveries"].as_array().into_iter().flatten().collect();
    let count = all.len();
    if count > MAX_RECOVERIES {
        let written = |one: &Value| at(one, &["bytes_written"]).unwrap_or(0.0);
        all.sort_by(|a, b| written(b).total_cmp(&written(a)));
        all.truncate(MAX_RECOVERIES);
    }
    for one in &all {
        let (began, ended) = (at(one, &["began_s"]), at(one, &["ended_s"]));
        let mb = |key| known(at(one, &[key]).map(|bytes| bytes / 1e6), number);
        let took = ended.zip(began).map(|(ended, began)| ended - began);
        let name = |key| short_name(text(one, &[key]).unwrap_or("–"));
        table.rows.push(vec![
            name("host"),
            name("kind"),
            known(began, number),
            ended.map_or_else(|| "not yet".to_owned(), number),
            known(took, number),
            known(at(one, &["objects"]), number),
            mb("bytes_read"),
            mb("bytes_sent"),
            mb("bytes_written"),
            mb("rate_bytes_per_s"),
            known(at(one, &["share_done"]), |share| format!("{:.1} %", 100.0 * share)),
            hours_left(one),
        ]);
    }
    (table, of_all(all.len(), count, "recoveries that wrote most"))
}

/// Time that the rest of a recovery takes, with its interval, or why it is not known.
fn hours_left(recovery: &Value) -> String {
    let of = |key| at(recovery, &["hours_left", key]);
    match (of("value"), of("low"), of("high")) {
        (Some(value), ..) if value <= 0.0 => "0".to_owned(),
        (Some(value), Some(low), Some(high)) => {
            format!("{} ({} to {})", number(value), number(low), number(high))
        }
        _ => text(recovery, &["why"]).unwrap_or("–").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn phases_are_bands_up_to_the_end() {
        let truth = json!({ "phase_changes": [
            { "at_s": 0.0, "phase": "before" }, { "at_s": 2.0, "phase": "degraded" }, { "at_s": 9.0, "phase": "after" },
        ] });
        let found: Vec<_> = bands(&truth, 8.0)
            .into_iter()
            .map(|band| (band.from as u32, band.to as u32, band.name))
            .collect();
        assert_eq!(found, [(0, 2, "before".to_owned()), (2, 8, "degraded".to_owned())]);
        // many short phases: no more bands than a chart can show, and no gap between them
        let changes: Vec<Value> = (0..50_000)
            .map(|place| (f64::from(place), ["degraded", "recovering"][place as usize % 2]))
            .map(|(at, phase)| json!({ "at_s": at, "phase": phase }))
            .collect();
        let many = bands(&json!({ "phase_changes": changes }), 50_000.0);
        assert!(many.len() <= MAX_BANDS + 1, "{}", many.len());
        assert!(many.windows(2).all(|pair| (pair[0].to - pair[1].from).abs() < 1e-9));
    }

    #[test]
    fn events_of_one_moment_are_one_mark() {
        let one =
            |at: f64, host: &str| json!({ "at_s": at, "event": "e", "what": "fail", "host": host });
        let truth =
            json!({ "happened": [one(1.0, "a"), one(1.0, "b"), one(1.0, "c"), one(2.0, "d")] });
        let found: Vec<_> =
            marks(&truth).into_iter().map(|mark| (mark.number, mark.label)).collect();
        assert_eq!(found, [(1, "a fails and 2 more".to_owned()), (4, "d fails".to_owned())]);
    }
}
