//! The response to a failed request: a status and `{"error", "help", "faults"}`.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use foretell_core::Error;
use foretell_scenarios::ScenarioErrors;
use serde::Serialize;

/// The reason why a request failed.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    error: String,
    faults: Vec<Fault>,
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
        Self { status, error: error.into(), faults: Vec::new() }
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
        Self { status, error: error.lines(), faults }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Body {
            error: String,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            faults: Vec<Fault>,
        }
        (self.status, Json(Body { error: self.error, faults: self.faults })).into_response()
    }
}
