//! Runs that go on until a figure is known well enough.
//!
//! At its end a run looks at the confidence interval by batch means. While that is wider than what is aimed at,
//! the run goes on, about as long as an error that falls with the square root of time asks for. What was
//! measured stays: the run is the one that a longer `duration` would have given from the start.
//!
//! Left out: the slight optimism of a run that stops as soon as it looks good (Law and Kelton's sequential
//! procedures); so that chance alone seldom stops it, a run has at least [`FEWEST_BATCHES`] batches.

use foretell_units::{SimSpan, SimTime};

use crate::batches::{Batches, Estimate};

/// Batches with requests, at the least, before a run may end.
pub const FEWEST_BATCHES: usize = 32;

/// A figure of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// Requests a second.
    Throughput,
    /// The mean response time.
    MeanResponseTime,
}

/// What a run is to know before it ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Goal {
    /// The workload, by its place in the scenario.
    pub workload: usize,
    /// What of it.
    pub figure: Figure,
    /// Half the width of the 95 % confidence interval, as a share of the mean.
    pub half_width: f64,
    /// How long is measured at the most.
    pub longest: SimSpan,
}

impl Goal {
    /// How long is to be measured instead of `measured`; `None`: it is known well enough, or the limit is
    /// reached.
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
        // a tenth more, since the width is an estimate, too
        let wanted = (reached / self.half_width).powi(2) * 1.1;
        let longer = if wanted.is_finite() { wanted.clamp(1.25, 4.0) } else { 2.0 };
        let longer = SimSpan::from_secs_f64(measured.as_secs_f64() * longer);
        Some(longer.min(self.longest))
    }
}
