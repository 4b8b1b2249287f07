//! Low-level metrics of hosts: dstat's measurements, its files, and features over many hosts.
//!
//! Source: Hsu et al. 2016 (Inside-Out), sections III-A and IV-A.
#![cfg_attr(test, allow(clippy::float_cmp, reason = "tests by arithmetic expect exact figures"))]

mod civil;
mod client_log;
mod dstat;
mod error;
mod feature_table;
mod features;
mod heading;
mod joined;
mod metric;
mod sample;
mod series;

pub use client_log::{read_client_log, write_client_log};
pub use dstat::{read_dstat, write_dstat};
pub use error::MetricsError;
pub use feature_table::FeatureTable;
pub use features::{Features, Smoothing, features};
pub use joined::read_joined;
pub use metric::{METRICS, Metric};
pub use sample::{ClientSample, Collected, Sample};
pub use series::{HostSeries, Observed, Series, TARGETS, Target};
