//! Predicts the effect of changes from activity records alone.
//!
//! A self-predicting cluster answers questions such as "what would throughput and response time be if this
//! cache were larger?" from its own records (Thereska et al. 2006, sections III-C and IV). This crate gets
//! only a `run.db` and a question. It uses the software of the storage system itself, the measurements of the
//! hardware, and the recorded requests.

mod answer;
mod arriving;
mod askable;
mod bounds;
mod caches;
mod circumstances;
mod classes;
mod correction;
mod disk;
mod error;
mod expected;
mod load;
mod mva;
mod observed;
mod outages;
mod predict;
mod question;
mod replay;

pub use answer::{
    Answer, Busiest, EXPECTED_METRICS, Misfit, Model, Overload, ResponseTimeMs, WITH_EVENTS,
    WorkloadAnswer,
};
pub use circumstances::{About, ChangeKind, Circumstances, DeviceKind, SystemKind};
pub use disk::{
    ANY_ANGLE_SECTORS, ArrayCacheFacts, ArrayFacts, Continued, LaneShape, LongWrites, Measurement,
    Mixed, Positioning, QUANTILES, Random, ReadsBesideWrites, Rewriting, TAIL, Trial, WriteBuffer,
    WriteCacheFacts, trial,
};
pub use error::WhatIfError;
pub use expected::{ExpectedError, Experience, HISTORY_HEADER, Interval, PastScore};
pub use observed::{CONFIGURATION_FACT, MIN_REQUESTS, Observed, measurement_fact};
pub use outages::{OutageAnswer, PhaseAnswer, PhaseChange, PhaseWorkload, RecoveryAnswer};
pub use predict::{Asked, Prediction, UnknownModel};
pub use question::{Described, DescribedClient, OperatorKnowledge};
pub use replay::falls_behind;
