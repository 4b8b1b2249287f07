//! Failures of commands, and their messages.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use foretell_ati::StoreError;
use foretell_datasets::DataError;
use foretell_files::FilesError;
use foretell_input::{one_line, printable, printable_in_place};
use foretell_learn::LearnError;
use foretell_metrics::MetricsError;
use foretell_scenarios::{ScenarioError, ScenarioErrors};
use foretell_sim::SimError;
use foretell_whatif::WhatIfError;
use foretell_workloads::trace::TraceError;
use miette::{
    Diagnostic, LabeledSpan, MietteHandler, MietteHandlerOpts, NamedSource, ReportHandler,
    SourceCode,
};
use thiserror::Error;

use crate::interrupt;

/// Why a command failed.
#[derive(Debug, Error)]
pub enum Failure {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioErrors),
    /// The request is wrong in another way.
    #[error("{0}")]
    Usage(String),
    /// The request is wrong in several places.
    #[error("{message}; {}", places.join("; "))]
    Several {
        /// What is wrong.
        message: String,
        /// Where, and why; a line each.
        places: Vec<String>,
    },
    /// Data or a model is wrong.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A file of metrics is wrong.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A data set cannot be written, read or joined.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The user interrupted the command.
    #[error("interrupted after {done}")]
    Interrupted {
        /// The work done until then.
        done: String,
    },
    /// A file or directory does not belong to this program, or cannot be written.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// A check found a difference from what was stated; the results give details.
    #[error("{0}")]
    Differs(String),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] SimError),
    /// The record store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no prediction.
    #[error(transparent)]
    WhatIf(#[from] WhatIfError),
    /// The path given as a run cannot be read as one.
    #[error(transparent)]
    NotARun(StoreError),
    /// A file or directory cannot be written.
    #[error("cannot {what} `{}`: {error}", path.display())]
    File {
        /// The failed action.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The data asked about is incomplete; the printed results say what is missing.
    #[error("something is missing")]
    Incomplete,
    /// Standard output is closed or full.
    #[error("cannot write the results: {0}")]
    Output(std::io::Error),
}

impl From<foretell_core::Error> for Failure {
    fn from(error: foretell_core::Error) -> Self {
        use foretell_core::Error;
        match error {
            Error::Scenario(errors) => Self::Scenario(errors),
            Error::Invalid(message) => Self::Usage(message),
            Error::Trace(error) => Self::Trace(error),
            Error::Run(error) => Self::Run(error),
            Error::Files(error) => Self::Files(error),
            Error::Store(error) => Self::Store(error),
            Error::NotARun(error) => Self::NotARun(error),
            Error::WhatIf(error) => Self::WhatIf(error),
            Error::File { what, path, error } => Self::File { what, path, error },
            Error::Interrupted { done } => Self::Interrupted { done },
        }
    }
}

impl From<foretell_papers::Error> for Failure {
    fn from(error: foretell_papers::Error) -> Self {
        use foretell_papers::Error;
        match error {
            Error::Core(error) => error.into(),
            Error::Learn(error) => Self::Learn(error),
            Error::Metrics(error) => Self::Metrics(error),
        }
    }
}

impl Failure {
    /// For `map_err`: the failed action `what` on the file at `path`.
    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }

    /// Whether the failure is due to the user's input, rather than to the run.
    fn is_input(&self) -> bool {
        match self {
            Self::Scenario(_)
            | Self::Usage(_)
            | Self::Several { .. }
            | Self::NotARun(_)
            | Self::Learn(_)
            | Self::Metrics(_)
            | Self::WhatIf(_)
            | Self::Trace(_)
            | Self::Run(
                SimError::Source { .. }
                | SimError::Impossible { .. }
                | SimError::NothingMeasured { .. }
                | SimError::Overload { .. },
            ) => true,
            Self::Files(error)
            | Self::Store(StoreError::Files(error))
            | Self::Data(DataError::Files(error)) => error.is_refusal(),
            // a refused file is the input's fault; any other read error is the system's
            Self::File { error, .. } | Self::Data(DataError::File { error, .. }) => {
                foretell_input::is_refusal(error) || leads_nowhere(error)
            }
            Self::Data(error) => !matches!(error, DataError::Interrupted),
            Self::Incomplete
            | Self::Interrupted { .. }
            | Self::Differs(_)
            | Self::Run(_)
            | Self::Store(_)
            | Self::Output(_) => false,
        }
    }

    /// Whether the user interrupted the command.
    fn is_interruption(&self) -> bool {
        matches!(
            self,
            Self::Interrupted { .. }
                | Self::Run(SimError::Interrupted { .. })
                | Self::Data(DataError::Interrupted)
        )
    }

    /// Prints the message on standard error and returns the exit status.
    pub(crate) fn report(self) -> ExitCode {
        let status = match &self {
            failure if failure.is_interruption() => interrupt::STATUS,
            failure if failure.is_input() => 2,
            _ => 1,
        };
        let status = ExitCode::from(status);
        match self {
            // the reader of our output has closed it: not an error
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Self::Incomplete => {}
            Self::Scenario(errors) | Self::WhatIf(WhatIfError::Scenario(errors)) => show(&errors),
            Self::Several { message, places } => {
                let lines = std::iter::once(&message).chain(&places);
                let lines: Vec<_> = lines.map(|line| one_line(line)).collect();
                show_plain(short(&lines.join("\n  ")), None);
            }
            // a message is one line, whatever names are in it
            failure => show_plain(short(&one_line(&failure.to_string())), None),
        }
        status
    }
}

/// Whether a path given by the user leads to nothing usable.
fn leads_nowhere(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;

    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

/// Maximum number of characters in a line of a message, as quotes from a file may be long.
const LONGEST_QUOTED: usize = 2000;

/// A text whose long lines are cut.
fn short(message: &str) -> String {
    let cut = |line: &str| match line.char_indices().nth(LONGEST_QUOTED) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_owned(),
    };
    message.split('\n').map(cut).collect::<Vec<_>>().join("\n")
}

/// Prints a note about a command that continues.
pub(crate) fn note(text: &str) {
    say(&crate::output::note(text));
}

/// Prints to standard error; if that fails, the exit status must suffice.
fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Prints an error of the command line in the form of all errors, or the help that was asked for.
/// Returns the exit status.
pub fn report_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match error.print() {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
            _ => ExitCode::SUCCESS,
        };
    }
    let text = error.render().to_string();
    let Some(text) = text.strip_prefix("error: ") else {
        // without any command, the help is printed
        say(&printable(&text));
        return ExitCode::from(2);
    };
    let (message, help) = text.split_once("\n\n").unwrap_or((text, ""));
    let swapped = swapped(message, help);
    let help = swapped.as_deref().unwrap_or(help);
    let message = printable(&in_plain_words(message)).into_owned();
    show_plain(message, Some(help.trim()).filter(|help| !help.is_empty()));
    ExitCode::from(2)
}

/// Help for the option of changes of another command, in place of the tip to pass the option as a value.
fn swapped(message: &str, help: &str) -> Option<String> {
    let (_, usage) = help.split_once("Usage: foretell ")?;
    let command = usage.split_whitespace().next()?;
    let is_swapped = match command {
        "run" => message.contains("unexpected argument '--what-if'"),
        "ask" | "score" => message.contains("unexpected argument '--set'"),
        _ => false,
    };
    let rule = "`run` takes `--set`; `ask` and `score` take `--what-if`";
    is_swapped.then(|| format!("{rule}\n\nUsage: foretell {usage}"))
}

/// A message about a wrong value of an option. What the libraries say about numbers is replaced by what was expected.
fn in_plain_words(message: &str) -> String {
    let Some((option, reason)) = message.rsplit_once(": ") else { return message.to_owned() };
    let range = reason.split_once(" is not in ").and_then(|(_, range)| range.split_once("..="));
    let expected = match (reason, range) {
        (_, Some((low, high))) => format!("expected a whole number from {low} to {high}"),
        ("number would be zero for non-zero type", _) => {
            "expected a whole number from 1".to_owned()
        }
        ("invalid digit found in string" | "cannot parse integer from empty string", _) => {
            "expected a whole number".to_owned()
        }
        ("number too large to fit in target type", _) => "the number is too large".to_owned(),
        _ => return message.to_owned(),
    };
    format!("{option}: {expected}")
}

/// The appearance of all errors.
fn handler() -> MietteHandler {
    // messages are not wrapped, so that searching finds them in one piece; a terminal wraps by itself
    MietteHandlerOpts::new().terminal_links(false).wrap_lines(false).build()
}

/// An error without a position in a text.
#[derive(Error)]
#[error("{message}")]
struct Plain<'a> {
    message: String,
    help: Option<&'a str>,
    handler: MietteHandler,
}

impl fmt::Debug for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handler.debug(self, f)
    }
}

impl Diagnostic for Plain<'_> {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.help.map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }
}

/// Shows a message, which is printable already: the handler adds colours.
fn show_plain(message: String, help: Option<&str>) {
    let help = help.map(printable);
    let help = help.as_deref();
    say(&format!("{:?}", Plain { message, help, handler: handler() }));
}

/// Shows the errors of a scenario, each once, with its line.
fn show(errors: &ScenarioErrors) {
    let handler = handler();
    for (index, error) in errors.errors().iter().enumerate() {
        if index > 0 {
            say("\n");
        }
        say(&short(&format!("{:?}", Shown::new(error, &handler))));
    }
    if errors.left_out() > 0 {
        say(&format!("  ... and {} more\n", errors.left_out()));
    }
}

/// Maximum length of a line that is shown, in characters. In a longer one the underlined part is hard
/// to find (and the handler panics beyond 65535).
const LONGEST_LINE: usize = 500;

/// An error of a scenario as it is shown: the message, the line with the value underlined, help.
#[derive(Error)]
struct Shown<'a> {
    error: &'a ScenarioError,
    /// The text with the error, as it may be printed.
    source_text: Option<NamedSource<String>>,
    handler: &'a MietteHandler,
}

impl<'a> Shown<'a> {
    fn new(error: &'a ScenarioError, handler: &'a MietteHandler) -> Self {
        let named = error.text().zip(error.file()).map(|(text, file)| {
            NamedSource::new(one_line(file), printable_in_place(text).into_owned())
        });
        Self { error, source_text: named, handler }
    }

    /// Whether the lines around the underlined values are short enough to be shown.
    fn has_lines(&self) -> bool {
        let Some(text) = self.error.text() else { return false };
        self.error.spans().all(|span| {
            let before = text.get(..span.start).unwrap_or("").lines().next_back().unwrap_or("");
            let rest = text.get(span.start..).unwrap_or("").lines().next().unwrap_or("");
            before.len() + rest.len() <= LONGEST_LINE
        })
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.error.file(), self.error.line_column()) {
            (Some(file), Some((line, column))) if !self.has_lines() => {
                write!(f, "{}:{line}:{column}: ", one_line(file))?;
            }
            (Some(file), None) => write!(f, "{}: ", one_line(file))?,
            _ => {}
        }
        f.write_str(&one_line(self.error.message()))
    }
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handler.debug(self, f)
    }
}

/// Like the error itself, but without the code, which means nothing to users.
impl Diagnostic for Shown<'_> {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        let help = self.error.help_text()?;
        Some(Box::new(one_line(help)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        let source = self.source_text.as_ref().filter(|_| self.has_lines())?;
        Some(source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.error.labels().filter(|_| self.has_lines())
    }
}
