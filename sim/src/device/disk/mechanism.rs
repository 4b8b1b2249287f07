//! A simple disk: an arm over rotating platters with seek, rotation and transfer.
//!
//! Seek time follows the three-part curve of the profile (Ruemmler & Wilkes 1994). The platter's angle is a
//! function of time ([`Spin`]); an access waits until its first sector comes round. The number of sectors
//! per track falls linearly from the outermost to the innermost cylinder. An access that continues where the
//! last one ended, without a pause of the disk, proceeds at media rate, because the drive has read ahead
//! into its buffer. Not modelled: zones as steps, skew, head switches, any other effect of the on-board
//! cache, bus transfer, thermal recalibration.
//!
//! [`super::drive`] models most of these. This model is kept because it needs fewer parameters and less
//! state. If a drive's buffer does not matter, the two models must agree.

use foretell_scenarios::device::{Mechanical, Seek};
use foretell_units::{Bytes, SECTOR_BYTES, Sectors, SimSpan, SimTime};

use super::spin::Spin;

/// The mechanism of one disk.
#[derive(Clone, Debug)]
pub struct Mechanism {
    seek: Seek,
    spin: Spin,
    cylinders: u32,
    total: u64,
    overhead: SimSpan,
    /// Sectors that pass the head in a revolution at the outermost and innermost cylinder.
    outer_sectors: f64,
    inner_sectors: f64,
    cylinder: u32,
    /// Sector and time at which the last access ended.
    end: Sectors,
    ended: SimTime,
}

impl Mechanism {
    /// The arm at the outermost cylinder, on the bench: at nominal speed, with the index mark passing at
    /// time zero.
    pub fn new(spec: &Mechanical) -> Self {
        Self::turning(spec, Spin::nominal(spec.revolution()))
    }

    /// The same with the rotation `spin`.
    pub fn turning(spec: &Mechanical, spin: Spin) -> Self {
        // the capacity of a track does not depend on its speed
        let revolution = spec.revolution();
        let per_revolution = |bytes_per_s: f64| {
            (bytes_per_s * revolution.as_secs_f64() / SECTOR_BYTES as f64).max(1.0)
        };
        Self {
            seek: spec.seek,
            spin,
            cylinders: spec.cylinders.max(1),
            total: (spec.capacity.get() / SECTOR_BYTES).max(1),
            overhead: spec.overhead,
            outer_sectors: per_revolution(spec.outer_rate.as_bytes_per_s_f64()),
            inner_sectors: per_revolution(spec.inner_rate.as_bytes_per_s_f64()),
            cylinder: 0,
            end: Sectors(0),
            ended: SimTime::ZERO,
        }
    }

    #[cfg(test)]
    pub(super) fn spin(&self) -> Spin {
        self.spin
    }

    /// Moves the arm, waits for the sector, transfers. Returns when the access is done.
    pub fn access(&mut self, now: SimTime, lbn: Sectors, sectors: Sectors) -> SimTime {
        let cylinder = self.cylinder_of(lbn);
        let track = self.sectors_per_revolution(cylinder);
        let sector_ns = self.spin.period_ns() as f64 / track;
        let transfer = SimSpan::from_ns((sectors.get().max(1) as f64 * sector_ns) as u64);
        let ready = now + self.overhead;
        // Sectors that follow on the medium have been read into the drive's buffer meanwhile.
        let streams = lbn == self.end
            && self.ended != SimTime::ZERO
            && now.saturating_since(self.ended) <= self.spin.period();
        let start = if streams {
            self.ended.max(now)
        } else {
            let arrived = ready + self.seek.time(self.cylinder.abs_diff(cylinder));
            arrived + self.rotation(arrived, lbn, track)
        };
        let finish = start + transfer.max(SimSpan::from_ns(1));
        let finish = finish.max(ready);
        self.end = lbn + sectors;
        self.cylinder = self.cylinder_of(self.end);
        self.ended = finish;
        finish
    }

    /// Time until sector `lbn`, on a track of `track` sectors, comes under the head.
    fn rotation(&self, now: SimTime, lbn: Sectors, track: f64) -> SimSpan {
        let turn = self.spin.period_ns();
        // the angle at which the sector lies, as a time after the index mark
        let place = lbn.get() as f64 / track;
        let wanted = ((place - place.floor()) * turn as f64) as u64 % turn;
        let present = self.spin.since_index_ns(now);
        SimSpan::from_ns((wanted + turn - present) % turn)
    }

    fn cylinder_of(&self, lbn: Sectors) -> u32 {
        // Sectors before cylinder c: c·s₀ − c²·(s₀ − s₁)/2C, in units of a mean cylinder; solved for c.
        let share = (lbn.get() as f64 / self.total as f64).min(1.0);
        let outer = self.outer_sectors;
        let slope = (self.outer_sectors - self.inner_sectors) / 2.0;
        let mean = outer - slope;
        let fraction = if slope.abs() < 1e-9 {
            share
        } else {
            (outer - (outer * outer - 4.0 * slope * share * mean).max(0.0).sqrt()) / (2.0 * slope)
        };
        ((fraction * f64::from(self.cylinders)) as u32).min(self.cylinders - 1)
    }

    fn sectors_per_revolution(&self, cylinder: u32) -> f64 {
        let inwards = f64::from(cylinder) / f64::from(self.cylinders);
        self.outer_sectors + (self.inner_sectors - self.outer_sectors) * inwards
    }

    /// Media rate at `lbn`, in bytes a second.
    pub fn media_rate_bytes_per_s(&self, lbn: Sectors) -> f64 {
        self.sectors_per_revolution(self.cylinder_of(lbn)) * SECTOR_BYTES as f64
            / self.spin.period().as_secs_f64()
    }

    /// Capacity in bytes.
    pub fn capacity(&self) -> Bytes {
        Sectors(self.total).bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_scenarios::device::Tolerance;
    use foretell_units::{Rate, Seed};

    fn spec() -> Mechanical {
        Mechanical {
            capacity: Bytes::gib(100),
            rpm: 7200,
            rpm_tolerance: Tolerance::USUAL,
            cylinders: 50_000,
            seek: Seek {
                knee: 1000,
                short_ms: 1.0,
                short_ms_per_sqrt: 0.1,
                long_ms: 4.0,
                long_ms_per_cylinder: 0.0002,
            },
            outer_rate: Rate::bytes_per_s(60_000_000),
            inner_rate: Rate::bytes_per_s(30_000_000),
            overhead: SimSpan::from_us(100),
        }
    }

    #[test]
    fn a_sequential_stream_runs_at_media_rate() {
        let mut disk = Mechanism::new(&spec());
        let mut now = SimTime::ZERO;
        let first = disk.access(now, Sectors(0), Sectors(256));
        now = first;
        for index in 1..1000 {
            now = disk.access(now, Sectors(index * 256), Sectors(256));
        }
        // 999 × 128 KiB at 60 MB/s is 2.18 s
        let found = (now - first).as_secs_f64();
        assert!((found / (999.0 * 131_072.0 / 60e6) - 1.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn random_accesses_wait_half_a_turn_and_stay_within_bounds() {
        let mut disk = Mechanism::new(&spec());
        let mut stream = Seed(3).stream("disk");
        let mut now = SimTime::ZERO;
        let mut total = SimSpan::ZERO;
        for _ in 0..10_000 {
            let lbn = Sectors(stream.below(Bytes::gib(100).get() / 512 - 8));
            let finish = disk.access(now, lbn, Sectors(8));
            let took = finish - now;
            // overhead + longest seek (4 + .0002 × 50 000 = 14 ms) + a turn (8.34) + 8 sectors
            assert!(took <= SimSpan::from_us(100 + 14_000 + 8_334 + 200), "{took}");
            total += took;
            now = finish;
        }
        // overhead .1 + mean seek near a third of the stroke (4 + .0002 × 16 667 = 7.3; a little
        // less because the outer cylinders hold more) + half a turn 4.17 + transfer .1
        let mean = total.as_ms_f64() / 10_000.0;
        assert!((mean - 11.6).abs() < 0.3, "{mean}");
    }

    #[test]
    fn addresses_fill_the_cylinders_in_order() {
        let disk = Mechanism::new(&spec());
        assert_eq!(disk.cylinder_of(Sectors(0)), 0);
        assert_eq!(disk.cylinder_of(Sectors(disk.total)), 49_999);
        assert!((disk.media_rate_bytes_per_s(Sectors(0)) / 60e6 - 1.0).abs() < 1e-3);
        assert!((disk.media_rate_bytes_per_s(Sectors(disk.total)) / 30e6 - 1.0).abs() < 1e-3);
    }
}
