//! Errors in a question, or in the records that should answer it.

use std::path::PathBuf;

use foretell_ati::StoreError;
use foretell_scenarios::{Change, ScenarioErrors};
use foretell_units::SimSpan;
use thiserror::Error;

use crate::answer::{Model, Overload};

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1_u64 << 30) as f64
}

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum WhatIfError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The changed cluster is impossible, or the change names something that does not exist.
    #[error("the change is not possible: {}", .0.lines())]
    Scenario(#[from] ScenarioErrors),
    /// The store was written by a version that did not keep the needed information.
    #[error("`{}` does not contain {missing}; run the scenario again", path.display())]
    Unknown {
        /// The store.
        path: PathBuf,
        /// What is missing.
        missing: String,
    },
    /// The recorded measurement of a device is impossible.
    #[error(
        "`{}` is damaged: the fact `{fact}` should be the measurement of a device; found {found}",
        path.display()
    )]
    Measurement {
        /// The store.
        path: PathBuf,
        /// The fact.
        fact: String,
        /// What is wrong with it.
        found: String,
    },
    /// The run kept no records.
    #[error(
        "the run recorded nothing, and a prediction needs the records of all requests: run with `record = \"all\"`"
    )]
    NothingRecorded,
    /// Not all requests were recorded.
    #[error(
        "the records are {kept}, but a prediction needs the records of all requests: run with `record = \
         \"all\"` (the record type `request` is enough)"
    )]
    Sampled {
        /// What was kept.
        kept: String,
    },
    /// There are too few requests to predict from.
    #[error(
        "workload `{workload}` completed {found} requests in the measured time; a prediction \
         needs {needed}: run for longer"
    )]
    TooFew {
        /// The workload's name.
        workload: String,
        /// How many there are.
        found: u64,
        /// How many there must be.
        needed: u64,
    },
    /// A question that the records cannot answer.
    #[error("`{change}` cannot be asked: {reason}")]
    Refused {
        /// The change.
        change: String,
        /// Why not.
        reason: String,
    },
    /// The replay would need more memory than is available.
    #[error(
        "a prediction for {hosts} hosts with {disks} disks takes {:.1} GiB of memory, and {:.1} GiB are free",
        gib(*needed), gib(*available)
    )]
    TooLarge {
        /// Hosts of the changed cluster.
        hosts: usize,
        /// Their disks.
        disks: usize,
        /// Bytes that the replay needs.
        needed: u64,
        /// Bytes that the process may still use.
        available: u64,
    },
    /// The replay of the records would not end.
    #[error(
        "the replay does not end: after {events} events for {requests} recorded requests, it has reached \
         {at} of {until}"
    )]
    Endless {
        /// Events that were replayed.
        events: u64,
        /// Requests that are recorded.
        requests: u64,
        /// The time that the replay reached.
        at: SimSpan,
        /// The time that it should reach.
        until: SimSpan,
    },
    /// The changed cluster would not keep up.
    #[error("workload `{workload}` would issue requests faster than they complete: {overload}")]
    Overload {
        /// The open workload.
        workload: String,
        /// The resource that cannot keep up, and by how much.
        overload: Overload,
    },
}

impl WhatIfError {
    /// An error: a model other than the replay cannot follow these changes.
    pub fn not_followed(model: Model, changes: &[Change], reason: &str) -> Self {
        let mut changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
        if changes.is_empty() {
            changes.push("the recorded run".to_owned());
        }
        let reason = format!("model `{model}` cannot follow it: {reason}; ask with `replay`");
        Self::Refused { change: changes.join(", "), reason }
    }
}
