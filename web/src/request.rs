//! Requests and their answers.

use std::ops::ControlFlow;

use foretell_core::{Asked, Change, Model, Progress, Run, Scenario, remember, to_json};
use serde::Deserialize;

/// Holds the last run, to be asked.
#[derive(Debug, Default)]
pub struct Engine {
    run: Option<Run>,
}

/// What can be requested.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    /// Simulates a scenario and keeps its records: the truth, as `foretell run --json` prints it.
    Run {
        /// Its TOML, or the name of one that comes with the program.
        scenario: String,
        /// Changes, `PATH=VALUE`.
        #[serde(default)]
        set: Vec<String>,
    },
    /// What the records of the last run say of a change, as `foretell ask --json` prints it.
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
    /// The document that answers a request, or what is wrong with it. `progress` hears what part of a run is
    /// done.
    pub fn answer(
        &mut self,
        request: &str,
        progress: impl FnMut(f64),
    ) -> Result<String, String> {
        let request: Request =
            serde_json::from_str(request).map_err(|error| format!("the request: {error}"))?;
        match request {
            Request::Run { scenario, set } => self.run(&scenario, &set, progress),
            Request::Ask { what_if, model } => self.ask(&what_if, model.as_deref()),
        }
    }

    fn run(
        &mut self,
        scenario: &str,
        set: &[String],
        mut progress: impl FnMut(f64),
    ) -> Result<String, String> {
        // a run that fails leaves none to ask
        self.run = None;
        let mut scenario = if scenario.contains('\n') {
            Scenario::parse(scenario, "")
        } else {
            Scenario::load(scenario)
        }
        .map_err(|error| error.to_string())?;
        scenario.change(&changes(set)?).map_err(|error| error.to_string())?;
        let observer = |seen: Progress| {
            if let Some(end) = seen.end {
                progress(seen.now.as_ns() as f64 / end.as_ns().max(1) as f64);
            }
            ControlFlow::Continue(())
        };
        let (outcome, run) =
            remember(&scenario, |_| false, observer).map_err(|error| error.to_string())?;
        self.run = Some(run);
        Ok(to_json(&outcome))
    }

    fn ask(&self, what_if: &[String], model: Option<&str>) -> Result<String, String> {
        let run = self.run.as_ref().ok_or("there is no run to ask: request one first")?;
        let asked = match model.unwrap_or("auto") {
            "auto" => Asked::Auto,
            "fast" => Asked::Of(Model::Fast),
            "replay" => Asked::Of(Model::Replay),
            "mva" => Asked::Of(Model::Mva),
            "bounds" => Asked::Of(Model::Bounds),
            other => {
                let all = "`auto`, `fast`, `replay`, `mva`, `bounds`";
                return Err(format!("there is no model `{other}`; there are {all}"));
            }
        };
        let answered = run.answered(&changes(what_if)?, asked);
        answered.map(|document| to_json(&document)).map_err(|error| error.to_string())
    }
}

fn changes(texts: &[String]) -> Result<Vec<Change>, String> {
    let changes = texts.iter().map(|text| text.parse::<Change>());
    changes.collect::<Result<_, _>>().map_err(|error| error.to_string())
}
