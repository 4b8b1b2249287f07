//! Long sequential writes to a solid-state drive.
//!
//! Data that were written one after the other lie in the same blocks. If all of them are written again, as a log
//! does, whole blocks become free without a move. Random writes leave valid pages in each block, and the drive moves
//! them. At the beginning of a run, the drive still collects blocks that the run has not reached. The measurement
//! ([`LongWrites`]) has the rate by the length of the run. Left out: other writes leave valid pages in the blocks of a
//! run.

use foretell_units::Op;

use super::buffer::{by_size, most_per_s};
use super::measurement::{LongWrites, Measurement, index};

/// Least number of bytes after which a run of sequential writes counts as long. Assumed: a run must pass several rows on
/// each die.
const LONG: u64 = 16 << 20;
/// A write continues a run if it begins at most this many bytes before or after its end: outstanding writes may overtake
/// each other.
const NEAR: u64 = 1 << 20;
/// Number of runs that are followed at a time.
const FOLLOWED: usize = 32;

/// The runs of writes to a drive.
#[derive(Debug)]
pub(super) struct Runs {
    /// By size in bytes: time of a random write, ns.
    random_ns: Vec<(f64, f64)>,
    /// By length of the run, bytes: its rate, bytes/s.
    rates: Vec<(f64, f64)>,
    /// Where a run ends, and its length, bytes; the latest first.
    ends: Vec<(u64, u64)>,
}

impl Runs {
    /// `None`: the rate of long sequential writes is not known.
    pub(super) fn new(measured: &Measurement) -> Option<Self> {
        let LongWrites { rates } = measured.long_writes.as_ref()?;
        let rates = rates.iter().map(|(bytes, per_s)| (*bytes as f64, *per_s)).collect();
        let random = most_per_s(&measured.random[index(Op::Write)]);
        let random_ns = random.into_iter().map(|(bytes, per_s)| (bytes, 1e9 / per_s)).collect();
        Some(Self { random_ns, rates, ends: Vec::new() })
    }

    /// Notes a write. Returns its time as a share of that of a random write.
    pub(super) fn write(&mut self, from: u64, bytes: u64) -> f64 {
        let known = self.ends.iter().position(|(end, _)| end.abs_diff(from) <= NEAR);
        let (end, before) = known.map_or((from, 0), |place| self.ends.remove(place));
        if self.ends.len() == FOLLOWED {
            // most writes of a random load begin a run that nothing continues
            let short = self.ends.iter().rposition(|(_, length)| *length < NEAR);
            self.ends.remove(short.unwrap_or(FOLLOWED - 1));
        }
        self.ends.insert(0, (end.max(from + bytes), before + bytes));
        if before < LONG {
            return 1.0;
        }
        let random_ns = by_size(&self.random_ns, bytes as f64);
        let per_s = self.rate_at(before as f64);
        (bytes as f64 / per_s * 1e9 / random_ns.max(1.0)).min(1.0)
    }

    /// The rate of a run of this length, bytes/s: linear between the parts that were measured.
    fn rate_at(&self, length: f64) -> f64 {
        let above = self.rates.partition_point(|(bytes, _)| *bytes < length);
        let last = self.rates.len() - 1;
        let (low, high) = (self.rates[above.saturating_sub(1)], self.rates[above.min(last)]);
        let part = if high.0 > low.0 { (length - low.0) / (high.0 - low.0) } else { 0.0 };
        low.1 * (1.0 - part) + high.1 * part
    }
}

#[cfg(test)]
mod tests {
    use super::super::measurement::{Random, nothing};
    use super::*;

    #[test]
    fn a_write_in_a_long_run_costs_what_such_a_run_does() {
        let random = Random { bytes: 65_536, depth: 16, mean_ns: 1e6, per_s: 1000.0, steady: true };
        let measured = Measurement {
            random: [Vec::new(), vec![random]],
            long_writes: Some(LongWrites {
                rates: [(LONG, 4.0), (2 * LONG, 8.0)]
                    .map(|(bytes, times)| (bytes, times * 65_536_000.0))
                    .to_vec(),
            }),
            ..nothing()
        };
        let mut runs = Runs::new(&measured).unwrap();
        let mut log = 1 << 40;
        for number in 0..LONG / 65_536 {
            assert_eq!(runs.write(log, 65_536).to_bits(), 1.0_f64.to_bits());
            log += 65_536;
            // other writes between them
            runs.write(number * 177 * 65_536, 65_536);
        }
        assert!((runs.write(log + 65_536, 65_536) - 0.25).abs() < 1e-9);
        assert!((runs.write(log, 65_536) - 0.25).abs() < 0.002);
        // it gets faster with its length
        for _ in 0..LONG / 65_536 {
            log += 65_536;
            runs.write(log, 65_536);
        }
        assert!((runs.write(log + 65_536, 65_536) - 0.125).abs() < 0.002);
        // another run begins
        assert!((runs.write(log + NEAR + (1 << 20), 65_536) - 1.0).abs() < 1e-9);
    }
}
