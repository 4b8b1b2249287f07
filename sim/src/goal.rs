//! Runs that continue until a figure is known precisely enough.
//!
//! At its end, a run computes the confidence interval by batch means. If the interval is wider than the goal,
//! the run continues for about as long as needed, assuming that the error falls with the square root of time.
//! Measurements are kept, so the run is the same as one with a longer `duration` from the start.
//!
//! Left out: a correction for the slight optimism of a run that stops as soon as it looks precise enough (Law
//! and Kelton's sequential procedures). A run has at least [`FEWEST_BATCHES`] batches, so that it seldom
//! stops by chance alone.

use foretell_units::{SimSpan, SimTime};

use crate::batches::{Batches, Estimate};

/// Minimum number of batches with requests before a run may end.
pub const FEWEST_BATCHES: usize = 32;

/// A figure of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Requests a second.
    Throughput,
    /// The mean response time.
    MeanResponseTime,
}

/// The precision that a run must reach before it ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal {
    /// The workload, by its place in the scenario.
    pub workload: usize,
    /// The figure that must be known.
    pub figure: Figure,
    /// Half the width of the 95 % confidence interval, as a share of the mean.
    pub half_width: f64,
    /// Longest measured time.
    pub longest: SimSpan,
}

impl Goal {
    /// The new measured time, instead of `measured`; `None` if the precision or the limit is reached.
    pub(crate) fn asks_for(
        &self,
        batches: &mut Batches,
        now: SimTime,
        measured: SimSpan,
    ) -> Option<SimSpan> {
        if measured >= self.longest {
            return None;
        }
        let (throughput, response) = batches.estimates(now);
        let Estimate { mean, half_width } = match self.figure {
            Figure::Throughput => throughput,
            Figure::MeanResponseTime => response,
        };
        let reached = half_width / mean;
        let few = batches.busy() < FEWEST_BATCHES;
        if reached <= self.half_width && !few {
            return None;
        }
        // a tenth more, because the width itself is an estimate
        let wanted = (reached / self.half_width).powi(2) * 1.1;
        let longer = if wanted.is_finite() { wanted.clamp(1.25, 4.0) } else { 2.0 };
        let longer = SimSpan::from_secs_f64(measured.as_secs_f64() * longer);
        Some(longer.min(self.longest))
    }
}
