//! Requests and their answers.

use std::ops::{ControlFlow, Range};

use foretell_core::{Asked, Change, MemoryRun, Progress, Record, Run, Scenario, remember, to_json};
use serde::Deserialize;

/// Holds the last run, to answer questions about it.
#[derive(Debug, Default)]
pub struct Engine {
    scenario: Option<Scenario>,
    /// Begin of the measured time, and the period of its animation; ns.
    measured_from: u64,
    window: Range<u64>,
    /// Its records, until the first question.
    records: Option<MemoryRun>,
    run: Option<Run>,
}

/// A period, in ms after the warm-up.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Window {
    from_ms: f64,
    for_ms: f64,
}

/// The possible requests.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Simulates a scenario and keeps its records. Returns the truth, as printed by `foretell run --json`.
    Run {
        /// Its TOML, or the name of a shipped scenario.
        scenario: String,
        /// Changes, `PATH=VALUE`.
        #[serde(default)]
        set: Vec<String>,
        /// The period that the animation shows.
        #[serde(default)]
        film: Option<Window>,
    },
    /// The animation: requests of the last run on their way, in the period of its `film`.
    #[serde(rename = "film")]
    Animation {},
    /// Response times of the last run's requests, of one workload, at equal shares.
    Quantiles {
        /// The workload's name.
        workload: String,
        /// The number of shares.
        count: usize,
    },
    /// The prediction for a change from the records of the last run, as printed by `foretell ask --json`.
    Ask {
        /// Changes, `PATH=VALUE`.
        #[serde(default)]
        what_if: Vec<String>,
        /// `auto`, `fast`, `replay`, `mva` or `bounds`.
        #[serde(default)]
        model: Option<String>,
    },
}

impl Engine {
    /// The document that answers a request, or an error message. `progress` is called with the finished part
    /// of a run.
    pub fn answer(&mut self, request: &str, progress: impl FnMut(f64)) -> Result<String, String> {
        let request: Request =
            serde_json::from_str(request).map_err(|error| format!("the request: {error}"))?;
        match request {
            Request::Run { scenario, set, film } => self.run(&scenario, &set, film, progress),
            Request::Animation {} => {
                let Range { start, end } = self.window.clone();
                json(&crate::animation::animation(self.records()?, start, end)?)
            }
            Request::Quantiles { workload, count } => {
                let from = self.measured_from;
                json(&crate::animation::quantiles(self.records()?, &workload, from, count)?)
            }
            Request::Ask { what_if, model } => self.ask(&what_if, model.as_deref()),
        }
    }

    fn run(
        &mut self,
        scenario: &str,
        set: &[String],
        film: Option<Window>,
        mut progress: impl FnMut(f64),
    ) -> Result<String, String> {
        // after a failed run there is none to ask about
        *self = Self::default();
        let mut scenario = if scenario.contains('\n') {
            Scenario::parse(scenario, "")
        } else {
            Scenario::load(scenario)
        }
        .map_err(|error| error.lines())?;
        scenario.change(&changes(set)?).map_err(|error| error.lines())?;
        let observer = |seen: Progress| {
            if let Some(end) = seen.end {
                progress(seen.now.as_ns() as f64 / end.as_ns().max(1) as f64);
            }
            ControlFlow::Continue(())
        };
        let model = scenario.check().map_err(|error| error.lines())?;
        let from = model.warmup.as_ns();
        let window = film.map_or(0..0, |film| {
            // saturates: a time beyond the end of the run has no records
            let ns = |ms: f64| (ms * 1e6) as u64;
            let start = from.saturating_add(ns(film.from_ms));
            start..start.saturating_add(ns(film.for_ms))
        });
        let shown = window.clone();
        let wanted = move |record: &Record| shown.contains(&record.header.ts_ns);
        let (outcome, run) =
            remember(&scenario, wanted, observer).map_err(|error| error.lines())?;
        (self.measured_from, self.window) = (from, window);
        (self.scenario, self.records) = (Some(scenario), Some(run));
        Ok(to_json(&outcome))
    }

    fn records(&self) -> Result<&MemoryRun, String> {
        let message = "there are no records: request a run first, and its film before a question";
        self.records.as_ref().ok_or_else(|| message.to_owned())
    }

    fn ask(&mut self, what_if: &[String], model: Option<&str>) -> Result<String, String> {
        let asked = model.unwrap_or("auto").parse::<Asked>().map_err(|error| error.to_string())?;
        if let (Some(records), Some(scenario)) = (self.records.take(), &self.scenario) {
            let run = Run::in_memory(records, scenario).map_err(|error| error.lines())?;
            self.run = Some(run);
        }
        let run = self.run.as_ref().ok_or("there is no run to ask: request one first")?;
        let answered = run.answered(&changes(what_if)?, asked);
        answered.map(|document| to_json(&document)).map_err(|error| error.lines())
    }
}

fn json(document: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(document).map_err(|error| error.to_string())
}

fn changes(texts: &[String]) -> Result<Vec<Change>, String> {
    let changes = texts.iter().map(|text| text.parse::<Change>());
    changes.collect::<Result<_, _>>().map_err(|error| error.to_string())
}
