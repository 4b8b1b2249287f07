//! Confidence intervals by batch means.
//!
//! Response times of neighbouring requests are correlated, so their plain standard deviation
//! understates the error of their mean. The measured time is cut into batches that are long
//! compared with that correlation, so the batches' means are nearly independent (Law & Kelton). The
//! run's length need not be known beforehand: when there are 64 batches, neighbours are joined in
//! pairs. So a run ends with 32 to 64 batches (or fewer if it is very short).

use foretell_units::{SimSpan, SimTime, student_t_975};

const MAX_BATCHES: usize = 64;

/// Minimum number of non-empty batches for an estimate of the error.
const FEWEST: usize = 5;

/// Requests completed and their response times, by batch.
#[derive(Clone, Debug)]
pub struct Batches {
    start: SimTime,
    length: SimSpan,
    full: Vec<Batch>,
    open: Batch,
}

#[derive(Clone, Copy, Default, Debug)]
struct Batch {
    requests: u64,
    response_ns: u128,
}

/// A mean and the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of the interval; NaN with too few batches.
    pub half_width: f64,
}

impl Batches {
    /// No requests yet; measuring begins at `start`.
    pub fn new(start: SimTime) -> Self {
        Self { start, length: SimSpan::from_us(100), full: Vec::new(), open: Batch::default() }
    }

    /// Counts a request that completes at `now`.
    pub fn add(&mut self, now: SimTime, response: SimSpan) {
        self.close(now);
        self.open.requests += 1;
        self.open.response_ns += u128::from(response.as_ns());
    }

    /// Closes the batches that have ended by `now`.
    fn close(&mut self, now: SimTime) {
        while now - self.start >= self.length * (self.full.len() as u64 + 1) {
            self.full.push(std::mem::take(&mut self.open));
            if self.full.len() == MAX_BATCHES {
                for pair in 0..MAX_BATCHES / 2 {
                    let (a, b) = (self.full[2 * pair], self.full[2 * pair + 1]);
                    self.full[pair] = Batch {
                        requests: a.requests + b.requests,
                        response_ns: a.response_ns + b.response_ns,
                    };
                }
                self.full.truncate(MAX_BATCHES / 2);
                self.length = self.length * 2;
            }
        }
    }

    /// Number of complete batches that contain requests.
    pub(crate) fn busy(&self) -> usize {
        self.full.iter().filter(|batch| batch.requests > 0).count()
    }

    /// Returns (throughput in requests a second, response time in milliseconds) up to `now`.
    ///
    /// Means are over all requests; half-widths are from complete batches.
    pub fn estimates(&mut self, now: SimTime) -> (Estimate, Estimate) {
        self.close(now);
        let count = self.full.len() as f64;
        let all = self.full.iter().chain([&self.open]);
        let (requests, response_ns) = all.fold((0, 0), |(requests, ns), batch| {
            (requests + batch.requests, ns + batch.response_ns)
        });
        let seconds = (now - self.start).as_secs_f64();
        let throughput = if seconds > 0.0 { requests as f64 / seconds } else { 0.0 };
        let response = if requests > 0 { response_ns as f64 / 1e6 / requests as f64 } else { 0.0 };
        // a handful of requests, or requests in only a few batches, are not enough for an estimate
        if self.busy() < FEWEST || requests < 10 {
            let unknown = |mean| Estimate { mean, half_width: f64::NAN };
            return (unknown(throughput), unknown(response));
        }
        let t = student_t_975(self.full.len() - 1);
        let per_batch = self.full.iter().map(|batch| batch.requests).sum::<u64>() as f64 / count;
        // spread of the counts, and of each batch's total about the total that the mean response
        // predicts
        let (mut spread, mut ratio_spread) = (0.0, 0.0);
        for batch in &self.full {
            let requests = batch.requests as f64;
            spread += (requests - per_batch) * (requests - per_batch);
            let residual = batch.response_ns as f64 / 1e6 - response * requests;
            ratio_spread += residual * residual;
        }
        let standard_error = |sum: f64| (sum / (count - 1.0) / count).sqrt();
        let length = self.length.as_secs_f64();
        let ratio = if per_batch > 0.0 { standard_error(ratio_spread) / per_batch } else { 0.0 };
        (
            Estimate { mean: throughput, half_width: t * standard_error(spread) / length },
            Estimate { mean: response, half_width: t * ratio },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Seed;

    #[test]
    fn the_interval_covers_the_truth_19_times_in_20() {
        // Poisson arrivals at 1000 a second for 20 s with exponential response of mean 5 ms.
        let mut covered = (0, 0);
        for seed in 0..400 {
            let mut stream = Seed(seed).stream("batches");
            let mut batches = Batches::new(SimTime::ZERO);
            let mut now = SimTime::ZERO;
            let end = SimTime::ZERO + SimSpan::from_secs(20);
            loop {
                now += stream.exponential(SimSpan::from_ms(1));
                if now > end {
                    break;
                }
                batches.add(now, stream.exponential(SimSpan::from_ms(5)));
            }
            let (throughput, response) = batches.estimates(end);
            covered.0 += u32::from((throughput.mean - 1000.0).abs() <= throughput.half_width);
            covered.1 += u32::from((response.mean - 5.0).abs() <= response.half_width);
        }
        // 380 of 400 expected, standard deviation 4.4; the limit is three of them below
        assert!(covered.0 >= 366 && covered.1 >= 366, "{covered:?} of 400");
    }
}
