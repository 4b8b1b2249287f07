//! `foretell ask DIR --questions FILE|-`: many questions about one run, which is opened once.
//!
//! A question is a line of JSON, and so is its answer, in the same order. The records' statistics, the
//! measurements of devices and the recorded run's own replay are computed once and serve all questions. If
//! a question cannot be answered, its line gives the reason; the others are answered all the same.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use cpu_time::ProcessTime;
use foretell_scenarios::Change;
use foretell_whatif::{Asked, Experience, Observed, UnknownModel};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::interrupt;
use crate::output;
use foretell_core::{Answered, PartsShelf, Prices};

/// Maximum length of a line in bytes.
const LONGEST: u64 = 1 << 20;

/// A line of the input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    /// An identifier that the answer repeats.
    #[serde(default)]
    id: Value,
    #[serde(default)]
    what_if: Vec<String>,
    /// The model, instead of the command's model.
    model: Option<String>,
}

/// Data that all answers share.
pub(super) struct AnswerContext<'a> {
    pub(super) observed: &'a Observed,
    pub(super) experience: &'a Experience,
    pub(super) prices: &'a Prices,
    pub(super) model: Asked,
}

impl AnswerContext<'_> {
    /// Answers the questions in a file, or on standard input.
    pub(super) fn answer_all(&self, path: &Path) -> Result<(), Failure> {
        if path == Path::new("-") {
            return self.answer_from(path, std::io::stdin().lock());
        }
        let file = foretell_input::open(path).map_err(Failure::file("read", path))?;
        self.answer_from(path, BufReader::new(file))
    }

    fn answer_from(&self, path: &Path, mut source: impl BufRead) -> Result<(), Failure> {
        interrupt::watch();
        let mut number = 0_u64;
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = source.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line);
            if count.map_err(Failure::file("read", path))? == 0 {
                return Ok(());
            }
            number += 1;
            if line.len() as u64 > LONGEST {
                let path = path.display();
                return Err(Failure::Usage(format!(
                    "line {number} of {path} is longer than 1 MiB; expected one question as JSON on each \
                     line"
                )));
            }
            if interrupt::asked() {
                return Err(Failure::Interrupted { done: format!("{} questions", number - 1) });
            }
            let text = String::from_utf8_lossy(&line);
            if text.trim().is_empty() {
                continue;
            }
            let answer = self.line(number, text.trim());
            output::print(&format!("{answer}\n"))?;
        }
    }

    /// The answer to a line, also a line.
    fn line(&self, number: u64, text: &str) -> Value {
        let start = ProcessTime::now();
        let cpu_ms = || (start.elapsed().as_secs_f64() * 1e6).round() / 1e3;
        // serde would take a list of the fields' values, too
        let object = serde_json::from_str::<Map<String, Value>>(text);
        let parsed = object.and_then(|object| serde_json::from_value(Value::Object(object)));
        let question: Question = match parsed {
            Ok(question) => question,
            Err(error) => {
                // the text is one line, so its own number says nothing
                let error = error.to_string().replace(" at line 1 column ", ", at column ");
                let error = format!(
                    "line {number} is not a question: {error}; expected a JSON object with `what_if`, a \
                     list of PATH=VALUE (none: the recorded run), and optionally `id` and `model`"
                );
                return json!({ "id": null, "error": error, "cpu_ms": cpu_ms() });
            }
        };
        match self.one(&question) {
            Ok((model, answer)) => {
                json!({ "id": question.id, "answer": answer, "model": model, "cpu_ms": cpu_ms() })
            }
            Err(error) => {
                json!({ "id": question.id, "error": error.to_string(), "cpu_ms": cpu_ms() })
            }
        }
    }

    fn one(&self, question: &Question) -> Result<(Value, Value), Failure> {
        let model = match &question.model {
            None => self.model,
            Some(name) => {
                name.parse().map_err(|error: UnknownModel| Failure::Usage(error.to_string()))?
            }
        };
        let changes = question.what_if.iter().map(|text| text.parse::<Change>());
        let changes: Vec<Change> =
            changes.collect::<Result<_, _>>().map_err(|error| Failure::Usage(error.to_string()))?;
        let (answer, scenario) =
            self.observed.answer(&changes, &mut PartsShelf, model, self.experience)?;
        let document = Answered::new(answer, &scenario, self.prices);
        let value = |known: serde_json::Result<Value>| known.expect("figures are JSON");
        let model = value(serde_json::to_value(document.answer.model));
        Ok((model, value(serde_json::to_value(&document))))
    }
}
