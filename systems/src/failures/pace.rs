//! How fast a recovery writes, and how long the rest of it takes at that pace.
//!
//! Bytes are counted in batches of equal length. When there are [`MAX_BATCHES`], neighbours are joined and the length doubles,
//! as for the confidence intervals of a run. The interval of the rate is Student's, from the means of the batches, with
//! neighbours joined until fewer than [`FEW`] are left, because writes that follow each other are not independent.
//! Assumed: the rest is as fast as what was written so far. The last part may be slower, because its fragments wait for
//! the same few hosts: then the time left is up to twice as long (`core/tests/recoveries.rs`).

use foretell_units::{Bytes, SimSpan, SimTime, student_t_95};
use serde::Serialize;

/// Batches at which neighbours are joined.
const MAX_BATCHES: usize = 64;
/// Batches for an interval: fewer than this, and at least half as many.
const FEW: usize = 16;

/// Bytes written over time.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    start: SimTime,
    length: SimSpan,
    full: Vec<u64>,
    open: u64,
}

/// How far a recovery is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Bytes written in a second, over all of its time.
    pub rate_bytes_per_s: f64,
    /// Written share of the bytes that it writes in all, as far as they are known.
    pub share_done: f64,
    /// Time that the rest takes at this rate, h.
    pub hours_left: Result<HoursLeft, &'static str>,
}

/// A remaining time with its 90 % interval, h.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct HoursLeft {
    /// At the mean rate so far.
    pub value: f64,
    /// At the highest rate that is likely.
    pub low: f64,
    /// At the lowest rate that is likely.
    pub high: f64,
}

impl Pace {
    pub(crate) fn new(start: SimTime) -> Self {
        Self { start, length: SimSpan::from_us(100), full: Vec::new(), open: 0 }
    }

    /// Counts bytes that are written at `now`.
    pub(crate) fn add(&mut self, now: SimTime, bytes: Bytes) {
        self.close(now);
        self.open += bytes.get();
    }

    /// Closes the batches that have ended by `now`.
    fn close(&mut self, now: SimTime) {
        while now - self.start >= self.length * (self.full.len() as u64 + 1) {
            self.full.push(std::mem::take(&mut self.open));
            if self.full.len() == MAX_BATCHES {
                self.full = joined(&self.full);
                self.length = self.length * 2;
            }
        }
    }

    /// The progress at `now`, with `left` bytes still to write. `ended`: when the recovery ended, if it has.
    pub(crate) fn progress(&self, now: SimTime, ended: Option<SimTime>, left: Bytes) -> Progress {
        let mut own = self.clone();
        own.close(ended.unwrap_or(now));
        let seconds = (ended.unwrap_or(now) - own.start).as_secs_f64();
        let written = own.full.iter().sum::<u64>() + own.open;
        let rate = if seconds > 0.0 { written as f64 / seconds } else { 0.0 };
        let left = if ended.is_some() { 0.0 } else { left.get() as f64 };
        let all = written as f64 + left;
        let share_done = if all > 0.0 { written as f64 / all } else { 1.0 };
        Progress { rate_bytes_per_s: rate, share_done, hours_left: own.hours_left(left, rate) }
    }

    fn hours_left(&self, left: f64, rate: f64) -> Result<HoursLeft, &'static str> {
        if left <= 0.0 {
            return Ok(HoursLeft { value: 0.0, low: 0.0, high: 0.0 });
        }
        let later = &self.full[self.full.len() / 2..];
        if rate <= 0.0 {
            return Err("it has written nothing yet");
        }
        if self.open == 0 && later.iter().all(|bytes| *bytes == 0) && !later.is_empty() {
            return Err("it has written nothing in the second half of its time");
        }
        let mut batches = self.full.clone();
        while batches.len() >= FEW {
            batches = joined(&batches);
        }
        if batches.len() < FEW / 2 {
            return Err("it has run too briefly to tell its rate");
        }
        if batches.iter().filter(|bytes| **bytes > 0).count() < FEW / 4 {
            return Err("it has written too seldom to tell its rate");
        }
        let length = self.length.as_secs_f64() * (self.full.len() / batches.len()) as f64;
        let count = batches.len() as f64;
        let mean = batches.iter().sum::<u64>() as f64 / count;
        let square = |bytes: &u64| (*bytes as f64 - mean) * (*bytes as f64 - mean);
        let squares: f64 = batches.iter().map(square).sum();
        let t = student_t_95(batches.len() - 1);
        let half_width = t * (squares / (count - 1.0) / count).sqrt() / length;
        if half_width >= rate {
            return Err("its rate varies too much to tell");
        }
        let hours = |rate: f64| left / rate / 3600.0;
        Ok(HoursLeft {
            value: hours(rate),
            low: hours(rate + half_width),
            high: hours(rate - half_width),
        })
    }
}

/// Neighbours joined; an odd last one is left out.
fn joined(batches: &[u64]) -> Vec<u64> {
    batches.chunks_exact(2).map(|pair| pair[0] + pair[1]).collect()
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;

    fn at(ms: u64) -> SimTime {
        SimTime::ZERO + SimSpan::from_ms(ms)
    }

    #[test]
    fn a_steady_recovery_ends_when_its_rate_says() {
        // 1 MB every 10 ms: 100 MB/s; 3.6 GB are left, which take 36 s
        let mut pace = Pace::new(at(1000));
        for step in 1..=1000 {
            pace.add(at(1000 + 10 * step), Bytes(1_000_000));
        }
        let found = pace.progress(at(11_000), None, Bytes(3_600_000_000));
        assert!((found.rate_bytes_per_s / 1e8 - 1.0).abs() < 1e-9, "{found:?}");
        assert!((found.share_done - 1.0 / 4.6).abs() < 1e-9, "{found:?}");
        let left = found.hours_left.unwrap();
        assert!((left.value - 0.01).abs() < 1e-9, "{left:?}");
        assert!(left.low > 0.0095 && left.low <= left.value && left.high < 0.0105, "{left:?}");
        let ended = pace.progress(at(20_000), Some(at(11_000)), Bytes::ZERO);
        assert_eq!((ended.share_done, ended.hours_left.unwrap().high), (1.0, 0.0));
        assert!((ended.rate_bytes_per_s / 1e8 - 1.0).abs() < 1e-9, "{ended:?}");
    }

    #[test]
    fn what_cannot_be_told_has_a_reason() {
        let mut pace = Pace::new(at(0));
        let why =
            |pace: &Pace, ms| pace.progress(at(ms), None, Bytes::gib(1)).hours_left.unwrap_err();
        assert_eq!(why(&pace, 500), "it has written nothing yet");
        pace.add(at(500), Bytes::mib(1));
        assert!(why(&pace, 501).contains("seldom"), "all of it in the last moment");
        assert!(why(&pace, 9000).contains("second half"), "it waits");
        let mut pace = Pace::new(at(0));
        pace.add(at(0), Bytes::mib(1));
        assert!(pace.progress(SimTime::from_ns(200_000), None, Bytes::gib(1)).hours_left.is_err());
    }

    #[test]
    fn the_interval_holds_the_truth_9_times_in_10() {
        let mut covered = 0;
        for seed in 0..400 {
            // objects of 4 MB, 25 in a second at random times: 100 MB/s, and 360 MB are left
            let mut stream = Seed(seed).stream("pace");
            let (mut pace, mut now) = (Pace::new(SimTime::ZERO), SimTime::ZERO);
            while now < at(60_000) {
                now += stream.exponential(SimSpan::from_ms(40));
                pace.add(now, Bytes(4_000_000));
            }
            let left = pace.progress(now, None, Bytes(360_000_000)).hours_left.unwrap();
            covered += u32::from((left.low..=left.high).contains(&0.001));
        }
        assert!((340..=380).contains(&covered), "{covered} of 400");
    }
}
