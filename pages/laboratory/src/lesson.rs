//! A lesson: text, a question, a scenario with a slider, and a law beside the measurement.
//!
//! It is Markdown with two blocks of TOML, `toml scenario` and `toml lesson`. The text before the first rule
//! (`---`) is shown at once, the rest when the question is answered. `docs/laboratory.md` describes the keys.

use std::path::Path;

use foretell_scenarios::{Document, ScenarioError};
use serde::{Deserialize, Serialize};

use crate::error::LessonError;
use crate::formula::Formula;
use crate::markdown::parts;

/// Maximum number of values of a slider; each is a run.
const MAX_VALUES: usize = 24;
/// Maximum number of strategies side by side.
const MAX_SIDES: usize = 3;
/// Maximum length of the time for which requests are shown, ms.
const MAX_ANIMATION_MS: f64 = 60_000.0;

/// A lesson, checked.
#[derive(Clone, Debug, Serialize)]
pub struct Lesson {
    /// Its name in links: the file's name without the extension.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// HTML that is shown at once.
    pub before: String,
    /// HTML that is shown when the question is answered.
    pub after: String,
    /// The scenario's TOML.
    pub scenario: String,
    /// Its name for `foretell run`: a file, or the name of a shipped scenario.
    pub command: String,
    /// Further settings.
    pub settings: LessonSettings,
}

/// The block `toml lesson`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LessonSettings {
    /// The question at the beginning.
    pub question: String,
    /// Possible answers.
    pub choices: Vec<String>,
    /// The number of the right choice, from 1.
    pub answer: usize,
    /// The explanation of the answer.
    pub because: String,
    /// The workload that quantiles are of.
    pub workload: String,
    /// The slider.
    pub slider: Slider,
    /// The measured figure.
    pub measure: Curve,
    /// The figure that the law predicts.
    pub law: Curve,
    /// Strategies side by side; if empty, there is only one.
    #[serde(default)]
    pub side: Vec<Side>,
    /// The requests that are shown on their way.
    #[serde(default)]
    pub film: Animation,
}

/// A slider over settings.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Slider {
    /// Its label.
    pub label: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// Changes of the scenario, with `{x}` in place of the value.
    pub set: Vec<String>,
    /// Its values.
    pub values: Vec<f64>,
    /// The initial value.
    pub start: f64,
}

/// A figure as a function of the slider.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Its label.
    pub label: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// The formula that computes it.
    pub formula: String,
    /// The parsed formula.
    #[serde(skip_deserializing)]
    pub tree: Option<Formula>,
}

/// One of several strategies.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Its name.
    pub name: String,
    /// Changes to its scenario.
    pub set: Vec<String>,
}

/// The requests that are shown on their way.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the unit of a bare number is in its name")]
pub struct Animation {
    /// Begin of the shown time, after the warm-up, ms.
    pub from_ms: f64,
    /// Length of the shown time, ms.
    pub for_ms: f64,
    /// Simulated milliseconds in a second of the animation.
    pub pace_ms: f64,
}

impl Default for Animation {
    fn default() -> Self {
        Self { from_ms: 0.0, for_ms: 400.0, pace_ms: 20.0 }
    }
}

impl Lesson {
    /// Parses a lesson. `name` is its name in links, `command` the name of its scenario on the command line.
    ///
    /// # Errors
    ///
    /// If a part is missing, or the scenario is wrong at a value of the slider.
    pub fn parse(name: &str, command: &str, text: &str) -> Result<Self, LessonError> {
        let parts = parts(text);
        let missing = |what, wanted| LessonError::Missing { lesson: name.to_owned(), what, wanted };
        if parts.title.is_empty() {
            return Err(missing("title", "a heading `# Title`"));
        }
        let block = |wanted: &str| {
            parts.blocks.iter().find(|(name, _)| name == wanted).map(|(_, text)| text.as_str())
        };
        let scenario = block("scenario").ok_or_else(|| {
            missing("scenario", "a block of code that begins with ```toml scenario")
        })?;
        let settings = block("lesson").ok_or_else(|| {
            missing("settings", "a block of code that begins with ```toml lesson")
        })?;
        let settings: LessonSettings =
            toml::from_str(settings).map_err(|error| LessonError::Toml {
                lesson: name.to_owned(),
                error: ScenarioError::of_toml("toml lesson", settings, &error).line(),
            })?;
        let mut lesson = Self {
            name: name.to_owned(),
            title: parts.title,
            before: parts.before,
            after: parts.after,
            scenario: scenario.to_owned(),
            command: command.to_owned(),
            settings,
        };
        lesson.check()?;
        Ok(lesson)
    }

    /// The scenario's TOML in a lesson's text, if there is one.
    pub fn scenario_in(text: &str) -> Option<String> {
        parts(text).blocks.into_iter().find(|(name, _)| name == "scenario").map(|(_, text)| text)
    }

    /// The changes of a side at a value of the slider.
    pub fn changes(&self, side: usize, x: f64) -> Vec<String> {
        let own = self.settings.side.get(side).map_or(&[][..], |side| &side.set);
        let moved =
            self.settings.slider.set.iter().map(|change| change.replace("{x}", &x.to_string()));
        own.iter().cloned().chain(moved).collect()
    }

    fn check(&mut self) -> Result<(), LessonError> {
        let wrong = |what: String| Err(LessonError::Setting { lesson: self.name.clone(), what });
        let LessonSettings { choices, answer, slider, side, film, workload, .. } = &self.settings;
        if !(2..=9).contains(&choices.len()) {
            return wrong(format!("`choices` are 2 to 9 answers; found {}", choices.len()));
        }
        if !(1..=choices.len()).contains(answer) {
            let most = choices.len();
            return wrong(format!("`answer` is one of the {most} choices, from 1; found {answer}"));
        }
        let values = &slider.values;
        if !(2..=MAX_VALUES).contains(&values.len()) {
            let found = values.len();
            return wrong(format!("`slider.values` are 2 to {MAX_VALUES} numbers; found {found}"));
        }
        if !values.is_sorted_by(|one, next| one < next) {
            return wrong("`slider.values` ascend".to_owned());
        }
        if !values.contains(&slider.start) {
            let start = slider.start;
            return wrong(format!("`slider.start` is one of its values; found {start}"));
        }
        if !slider.set.iter().any(|change| change.contains("{x}")) {
            return wrong("`slider.set` has no `{x}`, where the slider's value goes".to_owned());
        }
        if side.len() > MAX_SIDES {
            return wrong(format!("at most {MAX_SIDES} of `side`; found {}", side.len()));
        }
        let long = film.for_ms > 0.0 && film.for_ms <= MAX_ANIMATION_MS;
        if !(long && film.from_ms >= 0.0 && film.pace_ms > 0.0 && film.pace_ms.is_finite()) {
            return wrong(format!(
                "`film` has `from_ms` of 0 or more, `for_ms` up to {MAX_ANIMATION_MS}, and `pace_ms` above 0"
            ));
        }
        for side in 0..side.len().max(1) {
            for &x in values {
                let scenario = self.at(side, x)?;
                if !scenario.contains(workload) {
                    let known = scenario.join("`, `");
                    return wrong(format!(
                        "`workload` is one of the scenario's, `{known}`; found `{workload}`"
                    ));
                }
            }
        }
        for curve in [&mut self.settings.measure, &mut self.settings.law] {
            let tree = Formula::parse(&curve.formula).map_err(|error| LessonError::Setting {
                lesson: self.name.clone(),
                what: error.to_string(),
            })?;
            curve.tree = Some(tree);
        }
        Ok(())
    }

    /// Checks the scenario at a value of the slider; returns the names of its workloads.
    fn at(&self, side: usize, x: f64) -> Result<Vec<String>, LessonError> {
        let changes = self.changes(side, x);
        let wrong = |error: String| LessonError::Scenario {
            lesson: self.name.clone(),
            with: if changes.is_empty() {
                String::new()
            } else {
                format!(" with {}", changes.join(", "))
            },
            error,
        };
        let mut document = Document::parse(&self.name, &self.scenario, Path::new(""))
            .map_err(|error| wrong(error.lines()))?;
        for change in &changes {
            let change: foretell_scenarios::Change = change
                .parse()
                .map_err(|error: foretell_scenarios::ChangeError| wrong(error.to_string()))?;
            document.set(&change.path, &change.value).map_err(|error| wrong(error.lines()))?;
        }
        let model = document.check().map_err(|error| wrong(error.lines()))?;
        Ok(model.workloads.iter().map(|workload| workload.name.clone()).collect())
    }
}
