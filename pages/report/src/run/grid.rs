//! Time in bins: the activity of a run over time, in memory that does not grow with the run.

use serde::Serialize;

/// Maximum number of bins of a grid.
const MAX_BINS: usize = 120;
/// Minimum number of requests per bin, so that its figures are not noise.
const REQUESTS_PER_BIN: u64 = 40;

/// The measured time, cut into equal bins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Grid {
    /// Begin of the first bin, in nanoseconds since the simulation began.
    pub from_ns: u64,
    /// Total length of all bins.
    pub span_ns: u64,
    /// Number of bins.
    pub bins: usize,
}

impl Grid {
    /// A grid over `span_ns` from `from_ns`, for about this number of `requests`.
    pub(crate) fn new(from_ns: u64, span_ns: u64, requests: u64) -> Self {
        let bins = (requests / REQUESTS_PER_BIN).clamp(10, MAX_BINS as u64) as usize;
        Self { from_ns, span_ns: span_ns.max(bins as u64), bins }
    }

    /// Length of a bin in nanoseconds.
    pub(crate) fn bin_ns(&self) -> f64 {
        self.span_ns as f64 / self.bins as f64
    }

    /// End of the last bin.
    pub(crate) fn end_ns(&self) -> u64 {
        self.from_ns.saturating_add(self.span_ns)
    }

    /// The bin of a moment; `None` outside the measured time.
    #[inline]
    pub(crate) fn bin(&self, ts_ns: u64) -> Option<usize> {
        let since = ts_ns.checked_sub(self.from_ns)?;
        (since < self.span_ns).then(|| {
            let bin = u128::from(since) * self.bins as u128 / u128::from(self.span_ns);
            usize::try_from(bin).unwrap_or(0).min(self.bins - 1)
        })
    }

    /// The middle of each bin, in seconds since the measurement began.
    pub(crate) fn middles_s(&self) -> Vec<f64> {
        let bin = self.bin_ns() / 1e9;
        (0..self.bins).map(|index| (index as f64 + 0.5) * bin).collect()
    }
}

/// A quantity that lasts (a busy disk, outstanding requests), integrated bin by bin.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub(crate) struct Integral {
    /// By bin: the sum of duration in nanoseconds times weight.
    pub by_bin: Vec<f64>,
}

impl Integral {
    /// An integral of zero.
    pub(crate) fn new(grid: &Grid) -> Self {
        Self { by_bin: vec![0.0; grid.bins] }
    }

    /// Adds `weight` for the time from `from_ns` to `to_ns`; time outside the measured time does not
    /// count.
    #[inline]
    pub(crate) fn add(&mut self, grid: &Grid, from_ns: u64, to_ns: u64, weight: f64) {
        let (from, to) = (from_ns.max(grid.from_ns), to_ns.min(grid.end_ns()));
        if from >= to {
            return;
        }
        let bin_ns = grid.bin_ns();
        let (from, to) = ((from - grid.from_ns) as f64, (to - grid.from_ns) as f64);
        let last = grid.bins - 1;
        let (first, end) =
            (((from / bin_ns) as usize).min(last), ((to / bin_ns) as usize).min(last));
        for bin in first..=end {
            let (begins, ends) = (bin as f64 * bin_ns, (bin as f64 + 1.0) * bin_ns);
            let within = to.min(ends) - from.max(begins);
            self.by_bin[bin] += weight * within.max(0.0);
        }
    }

    /// The mean over time in each bin.
    pub(crate) fn means(&self, grid: &Grid) -> Vec<f64> {
        self.by_bin.iter().map(|sum| sum / grid.bin_ns()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // ten bins of 10 ns from 100: 95 to 125 covers two bins whole and half of the third
    #[test]
    fn an_interval_is_spread_over_its_bins() {
        let grid = Grid::new(100, 100, 0);
        assert_eq!(grid.bins, 10);
        let mut busy = Integral::new(&grid);
        busy.add(&grid, 95, 125, 2.0);
        let tenths: Vec<u64> = busy.means(&grid).iter().map(|mean| (mean * 10.0) as u64).collect();
        assert_eq!(tenths[..4], [20, 20, 10, 0]);
        assert_eq!(
            (grid.bin(99), grid.bin(100), grid.bin(199), grid.bin(200)),
            (None, Some(0), Some(9), None)
        );
    }
}
