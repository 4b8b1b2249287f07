//! Errors in a scenario, shown with the line and the underlined value.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};
use thiserror::Error;

use crate::source::{Place, Source, SourceKind, Sources};

/// Maximum number of errors shown; further ones are only counted, because users want to see the first ones.
pub const MAX_ERRORS: usize = 20;

/// One error in a scenario, and its place.
#[derive(Clone, Debug, Error, Diagnostic)]
#[error("{message}")]
pub struct ScenarioError {
    message: String,
    #[help]
    help: Option<String>,
    #[source_code]
    source_code: Option<NamedSource<Arc<str>>>,
    #[label(collection)]
    labels: Vec<LabeledSpan>,
    /// Whether the text is a change, which is shown completely.
    is_change: bool,
}

impl ScenarioError {
    /// An error without a place in a text, such as a missing file.
    pub fn nowhere(message: impl Into<String>, help: Option<String>) -> Self {
        Self {
            message: message.into(),
            help,
            source_code: None,
            labels: Vec::new(),
            is_change: false,
        }
    }

    /// An error in a text of another language that names scenarios, such as a sweep. `span`: the
    /// wrong bytes of `text`.
    pub fn in_text(
        file: &str,
        text: &str,
        span: Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Self {
        let source_code = Some(NamedSource::new(file, Arc::from(text)));
        let labels = vec![LabeledSpan::new(None, span.start, span.len().max(1))];
        Self { message: message.into(), help, source_code, labels, is_change: false }
    }

    /// An error of the TOML reader in a text of another language. The reader's terms for types and fields become
    /// plain words.
    pub fn of_toml(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let (message, help) = crate::plain_toml::words(error.message());
        Self::in_text(file, text, error.span().unwrap_or(0..0), message, help)
    }

    /// The message: names in backticks, what was found, what is wanted.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What was probably meant, or how to fix it.
    pub fn help_text(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The name of the text: a file's path, or `--set` for a change.
    pub fn file(&self) -> Option<&str> {
        self.source_code.as_ref().map(NamedSource::name)
    }

    /// The text that contains the places.
    pub fn text(&self) -> Option<&str> {
        self.source_code.as_ref().map(|source| &**source.inner())
    }

    /// Byte ranges of the text to underline; the first is the place of the error.
    pub fn spans(&self) -> impl Iterator<Item = Range<usize>> {
        self.labels.iter().map(|label| label.offset()..label.offset() + label.len())
    }

    /// The underlined part of the text.
    pub fn underlined(&self) -> Option<&str> {
        self.text()?.get(self.spans().next()?)
    }

    /// The whole error in a line: `file:line:column: message; help`.
    pub fn line(&self) -> String {
        let place = match (self.file(), self.line_column()) {
            // a change is a line of its own, so it is shown completely
            (Some(name), _) if self.is_change => {
                format!("in `{}`: ", self.text().unwrap_or(name))
            }
            (Some(name), Some((line, column))) => format!("{name}:{line}:{column}: "),
            (Some(name), None) => format!("{name}: "),
            (None, _) => String::new(),
        };
        let help = self.help.as_ref().map_or(String::new(), |help| format!("; {help}"));
        foretell_input::one_line(&format!("{place}{}{help}", self.message)).into_owned()
    }

    /// Line and column of the first place, counted from one.
    pub fn line_column(&self) -> Option<(usize, usize)> {
        let before = self.text()?.get(..self.spans().next()?.start)?;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }
}

/// All errors in a scenario, in the order of its text; never empty.
///
/// A terminal shows them completely through [`Diagnostic`]; [`ScenarioErrors::lines`] is for logs and programs.
#[derive(Clone, Debug)]
pub struct ScenarioErrors {
    errors: Vec<ScenarioError>,
    left_out: usize,
}

impl ScenarioErrors {
    /// The first of these errors, and the number of the others; `None` if there are none.
    pub fn collect(mut errors: Vec<ScenarioError>) -> Option<Self> {
        let left_out = errors.len().saturating_sub(MAX_ERRORS);
        errors.truncate(MAX_ERRORS);
        (!errors.is_empty()).then_some(Self { errors, left_out })
    }

    /// The errors, at most [`MAX_ERRORS`].
    pub fn errors(&self) -> &[ScenarioError] {
        &self.errors
    }

    /// The error, if there is only one.
    fn single(&self) -> Option<&ScenarioError> {
        match (self.errors.as_slice(), self.left_out) {
            ([only], 0) => Some(only),
            _ => None,
        }
    }

    /// One line per error: `file:line:column: message; help`.
    pub fn lines(&self) -> String {
        let mut lines: Vec<String> = self.errors.iter().map(ScenarioError::line).collect();
        if self.left_out > 0 {
            lines.push(format!("... and {} more", self.left_out));
        }
        lines.join("\n")
    }

    /// Number of errors that were left out.
    pub fn left_out(&self) -> usize {
        self.left_out
    }
}

impl From<ScenarioError> for ScenarioErrors {
    fn from(error: ScenarioError) -> Self {
        Self { errors: vec![error], left_out: 0 }
    }
}

impl std::error::Error for ScenarioErrors {}

impl fmt::Display for ScenarioErrors {
    /// The message of a single error, or the number of errors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.errors.as_slice(), self.left_out) {
            ([only], 0) => fmt::Display::fmt(only, f),
            (errors, 0) => write!(f, "{} errors in the scenario", errors.len()),
            (errors, more) => {
                let (shown, all) = (errors.len(), errors.len() + more);
                write!(f, "{all} errors in the scenario; these are the first {shown}")
            }
        }
    }
}

impl Diagnostic for ScenarioErrors {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.single()?.help()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.single()?.source_code()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.single()?.labels()
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        match self.single() {
            Some(_) => None,
            None => Some(Box::new(self.errors.iter().map(|error| error as &dyn Diagnostic))),
        }
    }
}

/// A problem during its description.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) place: Place,
    /// Other related values.
    pub(crate) also: Vec<Place>,
}

impl Problem {
    pub(crate) fn new(place: Place, message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, place, also: Vec::new() }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another related value, to be underlined as well.
    pub(crate) fn also(mut self, place: Place) -> Self {
        self.also.push(place);
        self
    }

    /// Adds help, if any.
    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = self.help.or(help);
        self
    }
}

/// Collects problems, so that one run shows all of them.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    pub(crate) fn add(&mut self, problem: Problem) {
        if !self.is_full() && !self.found.contains(&problem) {
            self.found.push(problem);
        }
    }

    /// Whether no more are kept: a damaged file can have a problem at every byte.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= 50 * MAX_ERRORS
    }

    pub(crate) fn add_all(&mut self, problems: Vec<Problem>) {
        for problem in problems {
            self.add(problem);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.found.len()
    }

    /// The problems as errors in the order of the text, with their excerpts; `None` if there are none.
    pub(crate) fn into_errors(mut self, sources: &Sources) -> Option<ScenarioErrors> {
        self.found.sort_by_key(|problem| problem.place.start);
        let left_out = self.found.len().saturating_sub(MAX_ERRORS);
        let errors: Vec<_> =
            self.found.into_iter().take(MAX_ERRORS).map(|p| sources.error(p)).collect();
        (!errors.is_empty()).then_some(ScenarioErrors { errors, left_out })
    }
}

impl Sources {
    fn error(&self, problem: Problem) -> ScenarioError {
        let Problem { message, help, place, also } = problem;
        // A change is blamed rather than the value that it conflicts with.
        let all = || std::iter::once(place).chain(also.iter().copied());
        let main = all()
            .find(|place| self.is_change(*place))
            .or_else(|| all().find(|place| !place.is_default()))
            .unwrap_or(place);
        let Some((source, mut span)) = self.find(main) else {
            // something is missing: the whole file is at fault
            let named = |source: &Source| NamedSource::new(&source.name, source.text.clone());
            let source_code = self.first().map(named);
            return ScenarioError {
                message,
                help,
                source_code,
                labels: Vec::new(),
                is_change: false,
            };
        };
        if span.is_empty() {
            // a default: underline the name of the table that lacks the key
            let rest = source.text.get(span.start..).unwrap_or("");
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            span.end += rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        }
        let label = |span: Range<usize>| LabeledSpan::new(None, span.start, span.len());
        // Other values can be shown if they are in the same text.
        let others =
            all().filter(|other| *other != main && !other.is_default()).filter_map(|other| {
                let (other, span) = self.find(other)?;
                Arc::ptr_eq(&other.text, &source.text).then(|| label(span))
            });
        let labels = std::iter::once(label(span)).chain(others).collect();
        let source_code = Some(NamedSource::new(&source.name, source.text.clone()));
        let is_change = source.kind == SourceKind::Change;
        ScenarioError { message, help, source_code, labels, is_change }
    }
}
