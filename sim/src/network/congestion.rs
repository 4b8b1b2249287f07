//! How large a window is: congestion control.
//!
//! Both kinds open by slow start up to a threshold, by as much as is acknowledged. Beyond it, Reno opens
//! by a segment a round trip and halves at a loss (RFC 5681). CUBIC, which Linux has had by default since
//! 2.6.19, opens along a cubic curve of the time since the last loss, or as fast as Reno would if that is
//! faster, and closes to 0.7 at a loss (RFC 9438; Linux: `net/ipv4/tcp_cubic.c`). On a local network,
//! where round trips are short, Reno's pace is the faster one.
//!
//! Left out: `HyStart`, which ends slow start before the first loss; the window that is given up in steps
//! during a recovery (RFC 6937).

use foretell_scenarios::model::Congestion;
use foretell_units::{SimSpan, SimTime};

use super::segment::SEGMENT_WIRE;

/// The smallest threshold after a loss (RFC 5681).
const LEAST: u64 = 2 * SEGMENT_WIRE;
/// CUBIC's window after a loss, to that before it (RFC 9438, 4.6; Linux: 717 of 1024).
const BETA: f64 = 0.7;
/// How steep CUBIC's curve is, in segments by s³ (RFC 9438, 5).
const STEEPNESS: f64 = 0.4;
/// How much a window opens in a round trip that closes to [`BETA`] and shall be as large on average as
/// Reno's (RFC 9438, 4.3).
const GENTLE: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// A congestion window, in bytes on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) size: u64,
    /// Below it the window opens by slow start.
    pub(super) threshold: u64,
    /// CUBIC's: where the last loss was, in segments; zero: none was.
    plateau: f64,
    /// When the window began to open along the curve; none: it has not since the last loss.
    begun: Option<SimTime>,
    /// When it will be back at the plateau, s after that.
    climb_s: f64,
    /// What it would be with Reno's pace, and where it was at the last loss, in segments.
    gentle: f64,
    before: f64,
}

impl Window {
    /// A new connection's window.
    pub(super) fn new(size: u64) -> Self {
        Self {
            size,
            threshold: u64::MAX,
            plateau: 0.0,
            begun: None,
            climb_s: 0.0,
            gentle: 0.0,
            before: 0.0,
        }
    }

    /// Opens for so many bytes acknowledged at `now`, up to `most`. `round_trip`: without queueing.
    #[inline]
    pub(super) fn open(
        &mut self,
        kind: Congestion,
        now: SimTime,
        bytes: u64,
        round_trip: SimSpan,
        most: u64,
    ) {
        let slow_start = bytes.min(self.threshold.saturating_sub(self.size));
        self.size += slow_start;
        let bytes = bytes - slow_start;
        if bytes > 0 && self.size < most {
            self.size += match kind {
                Congestion::Reno => bytes * SEGMENT_WIRE / self.size,
                Congestion::Cubic => self.along_the_curve(now, bytes, round_trip),
            };
        }
        self.size = self.size.min(most);
    }

    /// By how much CUBIC opens for so many bytes acknowledged.
    fn along_the_curve(&mut self, now: SimTime, bytes: u64, round_trip: SimSpan) -> u64 {
        let size = segments(self.size);
        let begun = *self.begun.get_or_insert_with(|| {
            self.climb_s = if size < self.plateau {
                libm::cbrt((self.plateau - size) / STEEPNESS)
            } else {
                self.plateau = size;
                0.0
            };
            self.gentle = size;
            now
        });
        let acked = segments(bytes);
        let pace = if self.gentle < self.before { GENTLE } else { 1.0 };
        self.gentle += pace * acked / size;
        // where the curve is a round trip from now
        let at = (now.saturating_since(begun) + round_trip).as_secs_f64() - self.climb_s;
        let target = (STEEPNESS * at * at * at + self.plateau).min(1.5 * size);
        let on_curve = ((target - size).max(0.0) / size * acked).max(0.01 * acked / size);
        let more = on_curve.max(self.gentle - size);
        (more * SEGMENT_WIRE as f64) as u64
    }

    /// Closes at a loss.
    pub(super) fn close(&mut self, kind: Congestion) {
        let size = segments(self.size);
        self.threshold = match kind {
            Congestion::Reno => self.size / 2,
            Congestion::Cubic => (self.size as f64 * BETA) as u64,
        };
        self.threshold = self.threshold.max(LEAST);
        // who has to give way below the last plateau gives up some more (fast convergence)
        self.plateau = if size < self.plateau { size * (1.0 + BETA) / 2.0 } else { size };
        (self.begun, self.before) = (None, size);
        self.size = self.size.min(self.threshold);
    }

    /// Nothing was acknowledged for long: one segment, and slow start.
    pub(super) fn collapse(&mut self) {
        self.size = SEGMENT_WIRE;
    }

    /// The connection had nothing under way for so long: the curve stood still.
    pub(super) fn rest(&mut self, idle: SimSpan) {
        if let Some(begun) = &mut self.begun {
            *begun += idle;
        }
    }

    /// Halves, as after each timeout that a connection is idle, down to `least` (RFC 2861).
    pub(super) fn fade(&mut self, timeouts: u64, least: u64) {
        // the way back is by slow start
        self.threshold = self.threshold.max(self.size / 4 * 3);
        self.size = (self.size >> timeouts.min(63)).max(least.min(self.size));
    }
}

fn segments(bytes: u64) -> f64 {
    bytes as f64 / SEGMENT_WIRE as f64
}
