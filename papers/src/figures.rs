//! The figures of Thereska et al. 2006.

mod caches;
mod encodings;
mod interference;
mod movement;
mod outstanding;
mod overhead;
mod read_shares;

use foretell_sim::truth::Truth;
use foretell_whatif::Answer;

use super::lab::Results;
use super::plan::Plan;
use super::sheet::Sheet;

/// A figure of the paper, or a part of its text that has measurements.
pub(crate) struct Figure {
    /// Name of its files, without ending.
    pub(crate) file: &'static str,
    /// What it shows.
    pub(crate) title: &'static str,
    /// Adds the simulations and questions that it needs.
    pub(crate) needs: fn(&mut Plan),
    /// Makes its table and picture, and checks the paper's claims.
    pub(crate) report: fn(&Results, &mut Sheet),
}

/// All figures, in the order of the paper.
pub(crate) const ALL: &[Figure] = &[
    encodings::CPU,
    encodings::NETWORK,
    caches::HITS,
    caches::DISKS,
    read_shares::ENCRYPTION,
    read_shares::CODING,
    movement::MOVEMENT,
    interference::INTERFERENCE,
    outstanding::OUTSTANDING,
    overhead::OVERHEAD,
];

/// The error of a prediction that the paper calls sufficient for most planning.
const ACCEPTED: f64 = 0.15;

/// MB/s of a workload, predicted and measured.
fn throughput_mb_s(workload: &'static str) -> (impl Fn(&Answer) -> f64, impl Fn(&Truth) -> f64) {
    (
        move |found: &Answer| found.workloads[workload].throughput_bytes_per_s / 1e6,
        move |truth: &Truth| truth.workloads[workload].throughput_bytes_per_s / 1e6,
    )
}

/// Share of the pages read that were in a node's cache, predicted and measured.
fn hit_rate(workload: &'static str) -> (impl Fn(&Answer) -> f64, impl Fn(&Truth) -> f64) {
    (
        move |found: &Answer| found.workloads[workload].read_hit_rate.unwrap_or(0.0),
        move |truth: &Truth| truth.workloads[workload].read_hit_rate.unwrap_or(0.0),
    )
}

/// A share in percent, for readers.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
