//! The response to a failed request: a status and `{"error", "faults", "overload"}`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use foretell_core::{Error, WhatIfError};
use foretell_scenarios::ScenarioErrors;
use serde::Serialize;

/// The reason why a request failed.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    error: String,
    faults: Vec<Fault>,
    overload: Option<Overload>,
}

/// Why a question has no answer: a workload would issue requests faster than they complete.
#[derive(Debug, Serialize)]
struct Overload {
    workload: String,
    #[serde(flatten)]
    of: foretell_core::Overload,
}

/// A fault of a scenario, and its place.
#[derive(Debug, Serialize)]
pub(crate) struct Fault {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// First and last byte in the text that was sent, if the fault is in that text.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<[usize; 2]>,
    /// Line and column, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<[usize; 2]>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, error: error.into(), faults: Vec::new(), overload: None }
    }

    pub(crate) fn bad(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(crate) fn missing(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no {what}"))
    }

    /// What is wrong, for people.
    pub(crate) fn message(&self) -> &str {
        &self.error
    }

    pub(crate) fn busy(error: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, error)
    }
}

/// The faults of a scenario whose text is `text`.
pub(crate) fn faults(errors: &ScenarioErrors, text: &str) -> Vec<Fault> {
    let fault = |error: &foretell_scenarios::ScenarioError| {
        // faults of changes and of profiles are in other texts
        let is_here = error.text() == Some(text);
        let span = error.spans().next().filter(|_| is_here);
        Fault {
            message: error.message().to_owned(),
            help: error.help_text().map(str::to_owned),
            span: span.map(|span| [span.start, span.end]),
            at: error.line_column().filter(|_| is_here).map(|(line, column)| [line, column]),
        }
    };
    errors.errors().iter().map(fault).collect()
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::about("", &error)
    }
}

impl Problem {
    /// The problem for an error of a scenario whose text is `text`.
    pub(crate) fn about(text: &str, error: &Error) -> Self {
        let status = match error {
            Error::Scenario(_) | Error::Invalid(_) | Error::WhatIf(_) | Error::Trace(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            Error::NotARun(_) => StatusCode::CONFLICT,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let faults = match error {
            Error::Scenario(errors) => faults(errors, text),
            _ => Vec::new(),
        };
        let overload = match error {
            Error::WhatIf(WhatIfError::Overload { workload, overload }) => {
                Some(Overload { workload: workload.clone(), of: overload.clone() })
            }
            _ => None,
        };
        Self { status, error: error.lines(), faults, overload }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Body {
            error: String,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            faults: Vec<Fault>,
            #[serde(skip_serializing_if = "Option::is_none")]
            overload: Option<Overload>,
        }
        let Self { status, error, faults, overload } = self;
        (status, Json(Body { error, faults, overload })).into_response()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_overload_is_named_apart_from_the_words() {
        let of = foretell_core::Overload { resource: "brick3.disk0".to_owned(), factor: 2.5 };
        let error = WhatIfError::Overload { workload: "web".to_owned(), overload: of };
        let problem = Problem::from(Error::WhatIf(error));
        assert_eq!(problem.status, StatusCode::UNPROCESSABLE_ENTITY);
        let found = serde_json::to_value(problem.overload).unwrap();
        let wanted = json!({ "workload": "web", "resource": "brick3.disk0", "factor": 2.5 });
        assert_eq!(found, wanted);
    }
}
