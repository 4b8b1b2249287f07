//! `foretell score --suite`: how good predictions are on questions that people wrote.
//!
//! A suite is a TOML file of runs, each with a scenario and questions. Each run is kept once; each of its
//! questions is predicted from the records and then simulated. The suite of the program (`suite/` in the
//! sources) was written before the predictor answered any of it. Its largest errors have since shown two faults of
//! the device model, which were mended, so it is no longer an untouched test. A suite of one's own is.

use std::fmt::Write as _;
use std::path::Path;

use cpu_time::ThreadTime;
use foretell_files::Scratch;
use foretell_input::Limit;
use foretell_scenarios::device::Device;
use foretell_scenarios::model::{Scenario, Storage};
use foretell_scenarios::{Change, Document};
use foretell_sim::SimError;
use foretell_whatif::{Model, PastScore, WhatIfError};
use serde::{Deserialize, Serialize};

use super::many::{Spread, spread};
use super::reasons::reasons;
use super::{Comparison, Judge, change, compare, coverage, history, record, simulate};
use crate::ask::open;
use crate::cli::ScoreArguments;
use crate::failure::Failure;
use crate::jobs;
use crate::screen::fitted;
use crate::tables;

/// The suite that comes with the program, and the files that it names.
const SHIPPED: &str = include_str!("../../suite/questions.toml");
const SHIPPED_FILES: [(&str, &[u8]); 2] = [
    ("office.csv.zst", include_bytes!("../../suite/office.csv.zst")),
    ("nightly.csv.zst", include_bytes!("../../suite/nightly.csv.zst")),
];
/// Cases that are shown in full.
const WORST: usize = 10;

/// A file of questions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suite {
    run: Vec<Run>,
}

/// A scenario and what is asked about it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    name: String,
    /// A file beside that of the suite, or one that comes with the program.
    scenario: Option<String>,
    /// Or the scenario itself.
    text: Option<String>,
    /// Changes of it before it is run.
    #[serde(default)]
    set: Vec<String>,
    question: Vec<Question>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// In words.
    #[serde(default)]
    ask: String,
    what_if: Vec<String>,
    /// How errors are summed up, instead of the classes that follow from the question.
    class: Option<String>,
}

/// A question, its answer and what happened.
#[derive(Clone, Debug, Serialize)]
struct Answered {
    run: String,
    ask: String,
    what_if: Vec<String>,
    class: String,
    /// Who answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Model>,
    comparisons: Vec<Comparison>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// Whether the cluster would not keep up, where anybody says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    overload: Option<Verdict>,
    /// Why it is off, the strongest reason first.
    reasons: Vec<String>,
    /// Processor time, seconds.
    predicted_in_s: f64,
    simulated_in_s: f64,
    #[serde(skip)]
    learned: Vec<PastScore>,
}

/// Whether requests come faster than they are done.
#[derive(Clone, Copy, Debug, Serialize)]
struct Verdict {
    predicted: bool,
    measured: bool,
}

/// Scores a suite.
pub(super) fn score(
    file: Option<&Path>,
    arguments: &ScoreArguments,
    judge: Judge<'_>,
) -> Result<(), Failure> {
    let files = Scratch::new()?;
    let (name, text, beside) = if let Some(path) = file {
        let text =
            foretell_input::text(path, Limit::SCENARIO).map_err(Failure::file("read", path))?;
        let beside = path.parent().unwrap_or(Path::new("")).to_owned();
        (path.display().to_string(), text, beside)
    } else {
        for (name, content) in SHIPPED_FILES {
            foretell_files::write(&files.path().join(name), content)?;
        }
        ("the suite".to_owned(), SHIPPED.to_owned(), files.path().to_owned())
    };
    let suite = parse(&name, &text)?;
    let documents: Vec<Document> =
        suite.run.iter().map(|run| document(run, &beside)).collect::<Result<_, _>>()?;
    let runs: Vec<(&Run, &Document)> = suite.run.iter().zip(&documents).collect();
    for (run, document) in &runs {
        check(run, document)?;
    }
    let done =
        jobs::perform(&runs, jobs::threads(None), |(run, document)| answered(run, document, judge));
    let all: Vec<Answered> = done.all()?.into_iter().flatten().collect();
    if let Some(path) = &arguments.history {
        let learned: Vec<PastScore> = all.iter().flat_map(|one| one.learned.clone()).collect();
        history::append(path, &learned)?;
    }
    let classes = classes(&all);
    let held = coverage::by_class(all.iter().flat_map(|one| &one.comparisons));
    let text = if arguments.json {
        crate::output::json(&serde_json::json!({
            "model": arguments.model.name(), "classes": classes, "coverage": held, "questions": all,
        }))
    } else {
        in_words(&all, &classes, &held)
    };
    crate::output::print(&text)
}

fn parse(name: &str, text: &str) -> Result<Suite, Failure> {
    let suite: Suite = toml::from_str(text)
        .map_err(|error| Failure::Usage(format!("{name} is no suite of questions: {error}")))?;
    Ok(suite)
}

/// The scenario of a run.
fn document(run: &Run, beside: &Path) -> Result<Document, Failure> {
    let mut document = match (&run.text, &run.scenario) {
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
            return Err(Failure::Usage(format!(
                "run `{name}` of the suite needs a scenario: its file as `scenario`, or itself as `text`"
            )));
        }
    };
    change(&mut document, &changes(&run.set)?)?;
    Ok(document)
}

fn changes(texts: &[String]) -> Result<Vec<Change>, Failure> {
    let parsed = texts.iter().map(|text| text.parse::<Change>());
    parsed.collect::<Result<_, _>>().map_err(|error| Failure::Usage(error.to_string()))
}

/// Every question is possible before the first is simulated.
fn check(run: &Run, document: &Document) -> Result<(), Failure> {
    document.check()?;
    for question in &run.question {
        let mut after = document.clone();
        change(&mut after, &changes(&question.what_if)?)?;
        after.check()?;
    }
    Ok(())
}

/// Keeps a run and answers its questions.
fn answered(run: &Run, document: &Document, judge: Judge<'_>) -> Result<Vec<Answered>, Failure> {
    let directory = Scratch::new()?;
    record(document, directory.path())?;
    let observed = open(directory.path())?;
    let before = document.check()?;
    let one = |question: &Question| -> Result<Answered, Failure> {
        let changes = changes(&question.what_if)?;
        let mut edited = document.clone();
        change(&mut edited, &changes)?;
        let after = edited.check()?;
        let start = ThreadTime::now();
        let predicted = judge.ask(&observed, &changes);
        let predicted_in_s = start.elapsed().as_secs_f64();
        let start = ThreadTime::now();
        let truth = match simulate(&edited) {
            Ok(truth) => Some(truth),
            Err(Failure::Run(SimError::Overload { .. })) => None,
            Err(error) => return Err(error),
        };
        let class = question.class.clone().unwrap_or_else(|| class(&before, &after).to_owned());
        let mut answered = Answered {
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
                answered.reasons = reasons(&predicted.answer, &truth);
                answered.learned = predicted.learned(&changes, &truth);
            }
            (Ok(predicted), None) => answered.model = Some(predicted.answer.model),
            (Err(Failure::WhatIf(WhatIfError::Overload { .. })), truth) => {
                answered.overload = Some(Verdict { predicted: true, measured: truth.is_none() });
            }
            (Err(Failure::WhatIf(error @ WhatIfError::Refused { .. })), _) => {
                answered.refused = Some(error.to_string());
            }
            (Err(error), _) => return Err(error),
        }
        Ok(answered)
    };
    run.question.iter().map(one).collect()
}

/// How the errors of a question are summed up: by what is hardest about it.
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
struct Summary {
    class: String,
    questions: usize,
    /// Questions to which there is no answer.
    refused: usize,
    /// Questions about overload where the verdict is wrong.
    wrong_verdicts: usize,
    /// Questions that the fast model answered.
    fast: usize,
    throughput: Spread,
    mean: Spread,
    p99: Spread,
}

fn classes(all: &[Answered]) -> Vec<Summary> {
    let mut names: Vec<&str> = all.iter().map(|one| one.class.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let of = |name: Option<&str>| {
        let these = || all.iter().filter(move |one| name.is_none_or(|name| one.class == name));
        let errors = |metric| spread(these().flat_map(|one| &one.comparisons), metric);
        Summary {
            class: name.unwrap_or("all").to_owned(),
            questions: these().count(),
            refused: these().filter(|one| one.refused.is_some()).count(),
            wrong_verdicts: these()
                .filter(|one| one.overload.is_some_and(|said| said.predicted != said.measured))
                .count(),
            fast: these().filter(|one| one.model == Some(Model::Fast)).count(),
            throughput: errors("throughput_rps"),
            mean: errors("response_time_ms.mean"),
            p99: errors("response_time_ms.p99"),
        }
    };
    names.into_iter().map(Some).chain([None]).map(of).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// The largest error in throughput or mean response time.
fn worst(answered: &Answered) -> f64 {
    let of = |found: &&Comparison| {
        found.metric == "throughput_rps" || found.metric == "response_time_ms.mean"
    };
    let errors = answered.comparisons.iter().filter(of).map(|found| found.error);
    errors.filter(|error| error.is_finite()).fold(0.0, f64::max)
}

fn in_words(all: &[Answered], classes: &[Summary], held: &[coverage::Coverage]) -> String {
    let mut text = String::new();
    let mut questions = tables::table(&[
        "question", "workload", "model", "req/s", "really", "error", "mean ms", "really", "error",
        "p99 ms", "really", "error",
    ]);
    let mut run = "";
    for one in all {
        if one.run != run {
            run = &one.run;
            questions.add_row([run]);
        }
        let what = one.what_if.join(", ");
        let model = one.model.map_or_else(|| "-".to_owned(), |model| model.to_string());
        let verdict = match (&one.refused, one.overload) {
            (Some(_), _) => Some("refused"),
            (_, Some(Verdict { predicted: true, measured: true })) => Some("overload, rightly"),
            (_, Some(Verdict { predicted: true, measured: false })) => Some("overload, wrongly"),
            (_, Some(_)) => Some("overload, unforeseen"),
            _ => None,
        };
        if let Some(verdict) = verdict {
            questions.add_row([format!(" {what}"), "-".to_owned(), verdict.to_owned()]);
        }
        let mut names: Vec<&str> = one.comparisons.iter().map(|c| c.workload.as_str()).collect();
        names.dedup();
        for name in names {
            let mut row = vec![format!(" {what}"), name.to_owned(), model.clone()];
            for metric in ["throughput_rps", "response_time_ms.mean", "response_time_ms.p99"] {
                let found = one.comparisons.iter();
                let mut found = found.filter(|c| c.workload == name && c.metric == metric);
                match found.next() {
                    Some(c) => row.extend([
                        format!("{:.3}", c.predicted),
                        format!("{:.3}", c.measured),
                        percent(c.error),
                    ]),
                    None => row.extend(["-", "-", "-"].map(str::to_owned)),
                }
            }
            questions.add_row(row);
        }
    }
    let _ = writeln!(text, "{}\n", fitted(&questions, 1));
    let mut table = tables::table(&[
        "class",
        "questions",
        "refused",
        "wrong verdicts",
        "fast",
        "req/s median",
        "90 % under",
        "mean median",
        "90 % under",
        "p99 median",
        "90 % under",
    ]);
    for class in classes {
        let mut row = vec![
            class.class.clone(),
            class.questions.to_string(),
            class.refused.to_string(),
            class.wrong_verdicts.to_string(),
            class.fast.to_string(),
        ];
        for spread in [class.throughput, class.mean, class.p99] {
            row.extend([percent(spread.median), percent(spread.p90)]);
        }
        table.add_row(row);
    }
    let _ = writeln!(text, "{}\n\n{}", fitted(&table, 1), coverage::table(held));
    text += &the_worst(all);
    let sum = |of: fn(&Answered) -> f64| all.iter().map(of).sum::<f64>();
    let _ = writeln!(
        text,
        "\n{:.1} CPU-s to predict, {:.1} CPU-s to simulate",
        sum(|one| one.predicted_in_s),
        sum(|one| one.simulated_in_s)
    );
    text
}

/// The worst cases in full, and what was refused.
fn the_worst(all: &[Answered]) -> String {
    let mut text = String::new();
    let mut order: Vec<&Answered> = all.iter().collect();
    order.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    text += "The worst, and what was predicted for what was measured on the way\n";
    for one in order.into_iter().take(WORST) {
        let _ = writeln!(
            text,
            "{}: {} {}; {}",
            one.run,
            one.ask,
            one.what_if.join(", "),
            percent(worst(one))
        );
        for found in &one.comparisons {
            let Comparison { workload, metric, predicted, measured, error, .. } = found;
            let _ = writeln!(
                text,
                "  {workload} {metric}: {predicted:.4}, really {measured:.4}, {}",
                percent(*error)
            );
        }
        if !one.reasons.is_empty() {
            let strongest = one.reasons.iter().take(3).cloned().collect::<Vec<_>>();
            let _ = writeln!(text, "  {}", strongest.join("; "));
        }
    }
    for one in all {
        if let Some(reason) = &one.refused {
            let _ = writeln!(text, "refused, {}: {reason}", one.run);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_has_80_questions_that_can_be_simulated() {
        let suite = parse("the suite", SHIPPED).unwrap();
        assert_eq!(suite.run.len(), 15);
        assert_eq!(suite.run.iter().map(|run| run.question.len()).sum::<usize>(), 80);
        for run in &suite.run {
            let document = document(run, Path::new("suite")).unwrap_or_else(|e| panic!("{e}"));
            check(run, &document).unwrap_or_else(|error| panic!("{}: {error}", run.name));
        }
    }

    #[test]
    fn a_file_that_is_no_suite_says_why() {
        let error = parse("mine.toml", "[[run]]\nname = \"a\"\nquestions = []").err().unwrap();
        let error = error.to_string();
        assert!(error.starts_with("mine.toml is no suite of questions"), "{error}");
        assert!(error.contains("questions"), "{error}");
        let run = parse("mine.toml", "[[run]]\nname = \"a\"\nquestion = []").unwrap();
        let error = document(&run.run[0], Path::new("")).err().unwrap().to_string();
        assert!(error.contains("run `a` of the suite needs a scenario"), "{error}");
    }
}
