//! Accuracy of predictions on questions that people wrote.
//!
//! A suite is a TOML file of runs, each with a scenario and questions. Each run is simulated once and its
//! records are kept. Each question is predicted from the records, and then simulated.

use std::path::Path;

use cpu_time::ThreadTime;
use foretell_files::Scratch;
use foretell_scenarios::device::Device;
use foretell_scenarios::model::{Scenario, Storage};
use foretell_scenarios::{Change, Document, ScenarioError};
use foretell_sim::SimError;
use foretell_whatif::{Model, PastScore, WhatIfError};
use serde::{Deserialize, Serialize};

use super::judge::{changed, open};
use super::{Comparison, Judge, Spread, Verdict, compare, reasons, spread};
use crate::error::Error;

/// A file of questions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Questions {
    run: Vec<Run>,
}

/// Runs and checked questions about them.
pub struct Suite(Vec<(Run, Document)>);

/// A scenario, and questions about it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    name: String,
    /// A file in the directory of the suite, or a shipped scenario.
    scenario: Option<String>,
    /// Or the scenario itself.
    text: Option<String>,
    /// Changes made to it before the run.
    #[serde(default)]
    set: Vec<String>,
    question: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// A description in words.
    #[serde(default)]
    ask: String,
    what_if: Vec<String>,
    /// The class in which errors are summarized, instead of the classes that follow from the question.
    class: Option<String>,
}

/// A question, its answer and the truth.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredQuestion {
    /// The run that it is about.
    pub run: String,
    /// A description in words.
    pub ask: String,
    /// The changes, each `PATH=VALUE`.
    pub what_if: Vec<String>,
    /// The class in which its errors are summarized.
    pub class: String,
    /// The model that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Model>,
    /// The answer beside the truth.
    pub comparisons: Vec<Comparison>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Whether the cluster would be overloaded, as predicted and as simulated. `None` if neither says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<Verdict>,
    /// Reasons for the error, the strongest first.
    pub reasons: Vec<String>,
    /// Processor time of the prediction, seconds.
    pub predicted_in_s: f64,
    /// Processor time of the simulation, seconds.
    pub simulated_in_s: f64,
    /// What each model's answer adds to the past scores.
    #[serde(skip)]
    pub learned: Vec<PastScore>,
}

impl Suite {
    /// Reads the suite called `name`. The files that it names are in the directory `beside`.
    ///
    /// # Errors
    ///
    /// If the text is not a suite, or if one of its scenarios or questions is impossible.
    pub fn parse(name: &str, text: &str, beside: &Path) -> Result<Self, Error> {
        let questions: Questions = toml::from_str(text).map_err(|error| {
            let error = ScenarioError::of_toml(name, text, &error);
            Error::Invalid(format!("{name} is not a suite of questions: {}", error.line()))
        })?;
        let mut runs = Vec::new();
        for run in questions.run {
            let document = document(&run, beside)?;
            check(&run, &document)?;
            runs.push((run, document));
        }
        Ok(Self(runs))
    }

    /// The number of its runs, and the number of its questions.
    pub fn size(&self) -> (usize, usize) {
        (self.0.len(), self.0.iter().map(|(run, _)| run.question.len()).sum())
    }

    /// Simulates each run and answers its questions. Results do not depend on the number of threads.
    ///
    /// # Errors
    ///
    /// If a simulation fails, or the observer ends the work.
    pub fn score(&self, judge: Judge<'_>) -> Result<Vec<ScoredQuestion>, Error> {
        let done = judge.workers.perform(&self.0, |(run, document)| answered(run, document, judge));
        Ok(done.all()?.into_iter().flatten().collect())
    }
}

/// The scenario of a run.
fn document(run: &Run, beside: &Path) -> Result<Document, Error> {
    let document = match (&run.text, &run.scenario) {
        (Some(text), None) => Document::parse(&run.name, text, beside)?,
        (None, Some(name)) => {
            let path = beside.join(name);
            match Document::shipped(name).filter(|_| !path.exists()) {
                Some(shipped) => shipped?,
                None => Document::load(path)?,
            }
        }
        _ => {
            let name = &run.name;
            return Err(Error::Invalid(format!(
                "run `{name}` of the suite needs a scenario: its file as `scenario`, or itself as `text`"
            )));
        }
    };
    changed(&document, &changes(&run.set)?)
}

fn changes(texts: &[String]) -> Result<Vec<Change>, Error> {
    let parsed = texts.iter().map(|text| text.parse::<Change>());
    parsed.collect::<Result<_, _>>().map_err(|error| Error::Invalid(error.to_string()))
}

/// Checks that every question is possible before the first is simulated.
fn check(run: &Run, document: &Document) -> Result<(), Error> {
    document.check().map_err(|errors| {
        Error::Invalid(format!(
            "run `{}` of the suite: {}",
            run.name,
            errors.lines().replace('\n', "; ")
        ))
    })?;
    for question in &run.question {
        let possible = || -> Result<_, Error> {
            Ok(changed(document, &changes(&question.what_if)?)?.check()?)
        };
        possible().map_err(|error| of_question(run, question, &error))?;
    }
    Ok(())
}

/// An error that says which question it is about.
fn of_question(run: &Run, question: &Question, error: &Error) -> Error {
    let changes = question.what_if.join("`, `");
    Error::Invalid(format!(
        "the question `{changes}` about run `{}` has no result: {}",
        run.name,
        error.lines()
    ))
}

/// Simulates a run, keeps its records, and answers its questions.
fn answered(
    run: &Run,
    document: &Document,
    judge: Judge<'_>,
) -> Result<Vec<ScoredQuestion>, Error> {
    let directory = Scratch::new()?;
    judge.record(document, directory.path())?;
    let observed = open(directory.path())?;
    let before = document.check()?;
    let one = |question: &Question| -> Result<ScoredQuestion, Error> {
        let changes = changes(&question.what_if)?;
        let edited = changed(document, &changes)?;
        let after = edited.check()?;
        let start = ThreadTime::now();
        let predicted = judge.ask(&observed, &changes);
        let predicted_in_s = start.elapsed().as_secs_f64();
        let start = ThreadTime::now();
        let truth = match judge.simulate(&edited) {
            Ok(truth) => Some(truth),
            Err(Error::Run(SimError::Overload { .. })) => None,
            Err(error) => return Err(error),
        };
        let class = question.class.clone().unwrap_or_else(|| class(&before, &after).to_owned());
        let mut answered = ScoredQuestion {
            run: run.name.clone(),
            ask: question.ask.clone(),
            what_if: question.what_if.clone(),
            class,
            model: None,
            comparisons: Vec::new(),
            refused: None,
            overload: truth.is_none().then_some(Verdict { predicted: false, measured: true }),
            reasons: Vec::new(),
            predicted_in_s,
            simulated_in_s: start.elapsed().as_secs_f64(),
            learned: Vec::new(),
        };
        match (predicted, truth) {
            (Ok(predicted), Some(truth)) => {
                answered.model = Some(predicted.answer.model);
                answered.comparisons = compare(&predicted.answer, &truth);
                answered.overload = Verdict::of(&predicted.answer, &after, &truth);
                answered.reasons = reasons(&predicted.answer, &truth);
                answered.learned = predicted.learned(&changes, &truth);
            }
            (Ok(predicted), None) => answered.model = Some(predicted.answer.model),
            (Err(Error::WhatIf(WhatIfError::Overload { .. })), truth) => {
                answered.overload = Some(Verdict::of_overload(&after, truth.as_ref()));
            }
            (Err(Error::WhatIf(error @ WhatIfError::Refused { .. })), _) => {
                answered.refused = Some(error.to_string());
            }
            (Err(error), _) => return Err(error),
        }
        Ok(answered)
    };
    let named = |question| {
        one(question).map_err(|error| match error {
            Error::WhatIf(_)
            | Error::Run(SimError::NothingMeasured { .. } | SimError::Impossible { .. }) => {
                of_question(run, question, &error)
            }
            other => other,
        })
    };
    run.question.iter().map(named).collect()
}

/// The class in which the errors of a question are summarized. It is named after the question's hardest
/// aspect.
fn class(before: &Scenario, after: &Scenario) -> &'static str {
    let added = after.workloads.iter().any(|new| {
        let old = before.workloads.iter().find(|old| old.name == new.name);
        old.is_some_and(|old| new.clients.len() > old.clients.len())
    });
    let guests = after.hosts.iter().any(|host| host.guest.is_some());
    let disks = |scenario: &Scenario| -> Vec<Device> {
        let storage = scenario.hosts.iter().filter_map(|host| host.role.storage());
        storage.flat_map(Storage::devices).map(|disk| disk.device.clone()).collect()
    };
    let turns = |device: &Device| matches!(device, Device::Mechanical(_) | Device::Drive(_));
    if added {
        "added clients"
    } else if guests || !after.system.traits().clients_encode() {
        "systems"
    } else if disks(before).iter().chain(&disks(after)).all(turns) {
        "disks and traces"
    } else {
        "flash and arrays"
    }
}

/// Errors of a class of questions.
#[derive(Clone, Debug, Serialize)]
pub struct ClassErrors {
    /// Its name; `all` for all classes together.
    pub class: String,
    /// Questions of the class.
    pub questions: usize,
    /// Questions without an answer.
    pub refused: usize,
    /// Questions about overload with a wrong verdict.
    pub wrong_verdicts: usize,
    /// Questions that the fast model answered.
    pub fast: usize,
    /// Errors of throughput.
    pub throughput: Spread,
    /// Errors of mean response times.
    pub mean: Spread,
    /// Errors of 99th percentiles of response times.
    pub p99: Spread,
}

/// Errors by class, in the order of names; at the end those of all classes together.
pub fn by_class(all: &[ScoredQuestion]) -> Vec<ClassErrors> {
    let mut names: Vec<&str> = all.iter().map(|one| one.class.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |name: Option<&str>| {
        let these = || all.iter().filter(move |one| name.is_none_or(|name| one.class == name));
        let errors = |metric| spread(these().flat_map(|one| &one.comparisons), metric);
        ClassErrors {
            class: name.unwrap_or("all").to_owned(),
            questions: these().count(),
            refused: these().filter(|one| one.refused.is_some()).count(),
            wrong_verdicts: these()
                .filter(|one| {
                    one.overload.is_some_and(|overload| overload.predicted != overload.measured)
                })
                .count(),
            fast: these().filter(|one| one.model == Some(Model::Fast)).count(),
            throughput: errors("throughput_rps"),
            mean: errors("response_time_ms.mean"),
            p99: errors("response_time_ms.p99"),
        }
    };
    names.into_iter().map(Some).chain([None]).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_suite_says_why() {
        let parse = |text: &str| Suite::parse("mine.toml", text, Path::new(""));
        let error = parse("[[run]]\nname = \"a\"\nquestions = []").err().unwrap();
        let error = error.to_string();
        assert!(error.starts_with("mine.toml is not a suite of questions"), "{error}");
        assert!(error.contains("questions"), "{error}");
        let question = "[[run.question]]\nwhat_if = [\"node.brick.count=none\"]";
        let run = format!("[[run]]\nname = \"a\"\nscenario = \"first-look\"\n{question}");
        let error = parse(&run).err().unwrap().to_string();
        assert!(error.contains("question `node.brick.count=none` about run `a`"), "{error}");
        let error = parse("[[run]]\nname = \"a\"\nquestion = []").err().unwrap().to_string();
        assert!(error.contains("run `a` of the suite needs a scenario"), "{error}");
    }
}
