//! Every setting of a scenario, one by one: none is ignored without a word.
//!
//! The schema says which settings there are. Each is changed where it stands in some small scenario, and
//! then the run must differ, or the change be refused, or be said to have no effect. Of `ask` the answer must
//! differ from that of the recorded run, or the question be refused by the setting's name, or the answer say
//! that nothing differs; and then nothing does, in the simulation either.

#[path = "../common/mod.rs"]
mod common;

mod bases;
mod leaves;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use foretell_ati::{RecordKind, Recorder, Selection};
use foretell_scenarios::device::Device;
use foretell_scenarios::model::Scenario;
use foretell_scenarios::{Change, Document};
use foretell_sim::Cluster;
use foretell_sim::Drawn;
use foretell_whatif::{
    Answer, Described, DescribedClient, Measurement, Model, Observed, OperatorKnowledge,
};
use serde_json::Value;

/// What a run of a scenario shows: the truth, and what its collectors posted. An error is something that
/// shows, too.
fn shown(scenario: &Scenario) -> Result<Value, String> {
    let run = || -> Result<Value, String> {
        let failed = |error: foretell_sim::SimError| error.to_string();
        let mut cluster = Cluster::new(scenario.clone(), Recorder::none()).map_err(failed)?;
        let selection: Selection = scenario.tracking.record.parse().expect("it was checked");
        let kinds = &scenario.tracking.kinds;
        let selection = if kinds.is_empty() {
            selection
        } else {
            selection
                .of_kinds(kinds.iter().map(|kind| kind.parse::<RecordKind>().unwrap()).collect())
        };
        cluster.record_to(Recorder::forgetful(selection));
        let truth = cluster.run(|_| ControlFlow::Continue(())).map_err(failed)?;
        let mut value = serde_json::to_value(&truth).expect("a truth is JSON");
        value["wall_seconds"] = Value::Null;
        let metrics = cluster.take_metrics();
        value["metrics"] = Value::String(format!("{metrics:?}"));
        Ok(value)
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Err("it panicked".to_owned()))
}

/// Settings that no run shows, and why.
const NOT_SHOWN: [(&str, &str); 12] = [
    ("/source", "it says where figures come from"),
    ("(curves)/capacity", "it only says what volumes fit"),
    ("/first_cylinder", "a zone begins where the one before it ends"),
    ("/last_cylinder", "a zone ends where the next one begins"),
    (
        "/node/*/cpu/encrypt/fixed",
        "said to have no effect: no system encrypts at nodes, which share the profiles of clients",
    ),
    (
        "/node/*/cpu/encrypt/rate",
        "said to have no effect: no system encrypts at nodes, which share the profiles of clients",
    ),
    (
        "/node/*/cpu/decrypt/fixed",
        "said to have no effect: no system encrypts at nodes, which share the profiles of clients",
    ),
    (
        "/node/*/cpu/decrypt/rate",
        "said to have no effect: no system encrypts at nodes, which share the profiles of clients",
    ),
    ("/partial_hits_while_busy", "the drive's own tests: no load here meets it"),
    ("/zone/[]/defects", "the drive's own tests: no load here reads just those sectors"),
    ("/cpu/*/request/rate", "hosts show it: `/node/*/cpu/request/rate`"),
    ("/cpu/*/smt", "hosts show it: `/node/*/cpu/smt`"),
];

/// Settings that cannot be set here: of what only records know, and what is refused so far.
const NOT_SIMULATED: [&str; 3] = ["/device/*(measured)", "/workload/*(recorded)", "/event/*/rack"];

#[test]
fn every_setting_changes_some_run() {
    let dir = tempfile::tempdir().unwrap();
    bases::write_files(dir.path());
    let mut left: BTreeSet<String> = leaves::all();
    left.retain(|id| !NOT_SIMULATED.iter().any(|start| id.starts_with(start)));
    let mut outcomes_by_id: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    // one of them alone, while it is being worked on
    let only = std::env::var("FORETELL_SETTINGS_BASE").ok();
    for (name, text) in bases::all() {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let document = Document::parse(name, &text, dir.path()).unwrap();
        let resolved =
            document.resolved().unwrap_or_else(|e| panic!("{name}: {}\n{text}", e.lines()));
        // in full, so that a setting that was left out can be changed inside
        let document = Document::parse(name, &resolved, dir.path()).unwrap();
        let before = shown(&document.check().unwrap());
        assert!(before.is_ok(), "{name}: {before:?}");
        let mut leaves = leaves::of(&resolved);
        leaves.retain(|leaf| left.contains(&leaf.id));
        let tried = side_by_side(&leaves, |leaf| {
            let mut outcomes = Vec::new();
            for value in leaf.others() {
                // files are beside the scenario
                let value = value.replace("DIR", &dir.path().display().to_string());
                let outcome = attempt(&document, &leaf.path, &value, &before);
                if outcome.is_empty() {
                    return Ok(());
                }
                outcomes.push(format!("{name}: {}={value}: {outcome}", leaf.path));
            }
            Err(outcomes)
        });
        for (leaf, outcome) in leaves.iter().zip(tried) {
            match outcome {
                Ok(()) => {
                    left.remove(&leaf.id);
                }
                Err(outcomes) => {
                    outcomes_by_id.entry(leaf.id.clone()).or_default().extend(outcomes);
                }
            }
        }
    }
    left.retain(|id| !NOT_SHOWN.iter().any(|(end, _)| id.ends_with(end)));
    let why = |id: &String| {
        outcomes_by_id.get(id).map_or_else(
            || "is in no scenario here".to_owned(),
            |outcomes| format!("{:#?}", outcomes.iter().take(6).collect::<Vec<_>>()),
        )
    };
    let listed: Vec<String> = left.iter().map(|id| format!("{id}: {}", why(id))).collect();
    assert!(left.is_empty(), "{} settings change nothing:\n{}", left.len(), listed.join("\n"));
}

/// What `try_one` finds of each, in their order, found by as many threads as there are processors.
fn side_by_side<T: Sync, R: Send>(all: &[T], try_one: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(at) else { return found };
            found.push((at, try_one(one)));
        }
    };
    let mut found: Vec<(usize, R)> = thread::scope(|scope| {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, found)| found).collect()
}

/// Makes a change and runs; empty if the run differs, otherwise why it does not.
fn attempt(document: &Document, path: &str, value: &str, before: &Result<Value, String>) -> String {
    let mut after = document.clone();
    let changed = after.set(path, value).and_then(|()| after.check());
    let scenario = match changed {
        Ok(scenario) => scenario,
        Err(errors) => return errors.lines().lines().next().unwrap_or_default().to_owned(),
    };
    let change = Change { path: path.to_owned(), value: value.to_owned() };
    let idle = document.idle(std::slice::from_ref(&change));
    let after = shown(&scenario);
    if !idle.is_empty() {
        // what is said to have no effect has none on any client
        let clients = |run: &Result<Value, String>| run.clone().map(|run| run["workloads"].clone());
        let claim = format!("{idle:?}, and yet the run differs");
        assert_eq!(clients(before), clients(&after), "{path}={value}: {claim}");
        return format!("no effect: {}", idle[0].why);
    }
    match &after {
        Err(error) if error == "it panicked" => panic!("{path}={value}: {error}"),
        after if after == before => "the run is the same".to_owned(),
        _ => String::new(),
    }
}

/// A shelf without devices: those of the run must do.
struct Bare;

impl OperatorKnowledge for Bare {
    fn measure(&mut self, _: &str, _: &Device) -> Option<Measurement> {
        None
    }

    fn requests(
        &mut self,
        scenario: &Scenario,
        workload: usize,
    ) -> Result<Vec<DescribedClient>, String> {
        let drawn =
            foretell_sim::drawn_requests(scenario, workload, 2000).map_err(|e| e.to_string())?;
        let one = |request: foretell_workloads::Request| Described {
            at: request.at,
            op: request.access.op,
            offset: request.access.offset,
            size: request.access.size,
        };
        let client = |Drawn { requests, transactions }: Drawn| DescribedClient {
            requests: requests.into_iter().map(one).collect(),
            transactions,
        };
        Ok(drawn.into_iter().map(client).collect())
    }
}

/// What is asked about: two kinds of nodes, and every law of arrivals, with enough requests each.
fn asked() -> String {
    let text = bases::PLAIN
        .replace("metrics = true\n", "")
        .replace(
            "intervals = { count = 4, requests = 100, error = \"20%\", longest = \"3 s\" }\n",
            "",
        )
        .replace("duration = \"2 s\"", "duration = \"6 s\"")
        .replace("requests = 200\n", "");
    text.replace("profile = \"pentium4-2.6\", cores = 1", "profile = \"pentium4-2.6\"")
}

/// What a question came to.
enum Answered {
    Refused(String),
    /// It has no effect, for these reasons.
    Nothing(Vec<String>),
    Figures(Box<Answer>),
}

fn ask(observed: &Observed, path: &str, value: &str) -> Answered {
    let change = Change { path: path.to_owned(), value: value.to_owned() };
    match observed.predict(&[change], &mut Bare) {
        Err(error) => Answered::Refused(error.to_string()),
        Ok(prediction) => {
            let answer = prediction.answer(Model::Replay);
            if prediction.differs() {
                Answered::Figures(Box::new(answer))
            } else {
                Answered::Nothing(answer.notes)
            }
        }
    }
}

/// What an answer that nothing differs may be off by: it is a prediction.
const NO_DIFFERENCE: f64 = 0.05;

/// By how much throughputs and mean response times of two sets of runs differ on average at the most, as a
/// share.
fn furthest(a: &[Value], b: &[Value]) -> f64 {
    let mean = |runs: &[Value], workload: &str, figure: &str| {
        let of = |run: &Value| run["workloads"][workload].pointer(figure).and_then(Value::as_f64);
        let figures: Option<Vec<f64>> = runs.iter().map(of).collect();
        figures.map(|figures| figures.iter().sum::<f64>() / figures.len() as f64)
    };
    let workloads = a[0]["workloads"].as_object().expect("a truth has workloads").keys();
    let figures = workloads.flat_map(|name| {
        ["/throughput_rps", "/response_time_ms/mean"]
            .map(|figure| (mean(a, name, figure), mean(b, name, figure)))
    });
    let differ = |(before, after): (Option<f64>, Option<f64>)| match (before, after) {
        (Some(before), Some(after)) => (after / before - 1.0).abs(),
        _ => f64::INFINITY,
    };
    figures.map(differ).fold(0.0, f64::max)
}

/// Runs whose means are compared if a single run differs, which may be chance: a workload here has only
/// 200 requests, and a lost segment changes which others are lost.
const SEEDS: std::ops::Range<i64> = 100..120;

/// By how much what clients see differs between a scenario and a changed one.
fn truly_differs(truth: &Value, before: &Document, after: &Document) -> f64 {
    let once = furthest(std::slice::from_ref(truth), &[shown(&after.check().unwrap()).unwrap()]);
    if once <= NO_DIFFERENCE {
        return once;
    }
    let seeds: Vec<i64> = SEEDS.collect();
    let runs = |document: &Document| {
        side_by_side(&seeds, |seed| {
            let mut seeded = document.clone();
            seeded.set("seed", &seed.to_string()).unwrap();
            shown(&seeded.check().unwrap()).unwrap()
        })
    };
    furthest(&runs(before), &runs(after))
}

#[test]
#[ignore = "asks hundreds of questions: more than ten minutes"]
fn every_question_is_answered_or_refused_or_said_to_change_nothing() {
    let place = common::Place::with(&asked());
    bases::write_files(&place.path(""));
    let dir = place.keep("run", &[]);
    let observed = Observed::open(&dir).unwrap();
    // with the correction that every answer has
    let same = Change { path: "switch.model".to_owned(), value: "tcp".to_owned() };
    let plain = observed.predict(&[same], &mut Bare).unwrap().answer(Model::Replay);
    assert_eq!(plain.notes.len(), 1);
    let plain = Answer { notes: Vec::new(), ..plain };
    let document = Document::load(dir.join("run.toml")).unwrap();
    let resolved = std::fs::read_to_string(dir.join("run.toml")).unwrap();
    let truth = shown(&document.check().unwrap()).unwrap();
    let mut classes: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for leaf in leaves::of(&resolved) {
        for value in leaf.others() {
            let change = format!("{}={value}", leaf.path);
            let mut after = document.clone();
            let possible = after.set(&leaf.path, &value).is_ok() && after.check().is_ok();
            let class = match ask(&observed, &leaf.path, &value) {
                Answered::Refused(error) => {
                    let named =
                        error.contains(leaf.key()) || error.contains(&leaf.path) || !possible;
                    if !named {
                        wrong.push(format!("{change} is refused by another name: {error}"));
                    }
                    if possible { "refused" } else { continue }
                }
                Answered::Nothing(notes) => {
                    if notes.is_empty() {
                        wrong.push(format!("{change}: nothing differs, without a word"));
                    }
                    let off = truly_differs(&truth, &document, &after);
                    if off > NO_DIFFERENCE {
                        wrong.push(format!(
                            "{change}: {notes:?}, and what clients see differs by {:.0} %",
                            off * 100.0
                        ));
                    }
                    "no effect"
                }
                Answered::Figures(answer) => {
                    let figures = |answer: &Answer| serde_json::to_value(answer).unwrap();
                    if figures(&answer) == figures(&plain) {
                        wrong.push(format!("{change}: the same, without a word"));
                    }
                    "answered"
                }
            };
            classes.entry(leaf.id.clone()).or_default().insert(class);
        }
    }
    assert!(wrong.is_empty(), "{} answers mislead:\n{}", wrong.len(), wrong.join("\n"));
    let mut listed = String::new();
    for (id, classes) in &classes {
        let classes: Vec<&str> = classes.iter().copied().collect();
        writeln!(listed, "{id}: {}", classes.join(", ")).unwrap();
    }
    println!("{listed}");
}
