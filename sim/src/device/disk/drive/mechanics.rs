//! Arm, heads and platters: the time until a sector passes the head.
//!
//! A move takes the longer of seek and head switch; a write adds its settling time to every move. The
//! platters turn at a constant rate, different for each drive ([`Spin`]), so the rotational delay is
//! exact. Not modelled: thermal recalibration, variation of the speed, retries.

use std::sync::Arc;

use foretell_scenarios::drive::Drive;
use foretell_units::{Op, SimSpan, SimTime};

use super::super::spin::Spin;
use super::layout::{Layout, Place, Turn};
use super::run::{Pace, Run};

/// The position of the arm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Position {
    pub(super) cylinder: u32,
    pub(super) head: u32,
}

/// The mechanism.
#[derive(Debug)]
pub(super) struct Mechanics {
    pub(super) layout: Layout,
    /// Seek time in nanoseconds by distance in cylinders.
    seek: Arc<[u32]>,
    head_switch: SimSpan,
    write_settle_ns: i64,
    spin: Spin,
    /// Pace of the sectors, by zone.
    pace: Vec<Pace>,
}

/// A rotational delay that is shorter than a whole turn by this much or less counts as none, because
/// the angles of consecutive sectors are rounded to the nanosecond separately.
const SLACK_NS: u64 = 16;

impl Mechanics {
    pub(super) fn new(drive: &Drive, spin: Spin) -> Self {
        let specification = drive.specification();
        let zones = &specification.geometry.zones;
        let period_ns = spin.period_ns();
        Self {
            layout: Layout::new(drive),
            seek: drive.seek_times(),
            head_switch: specification.head_switch,
            write_settle_ns: specification.write_settle_ns,
            spin,
            pace: zones.iter().map(|zone| Pace::new(period_ns, zone.sectors_per_track)).collect(),
        }
    }

    #[cfg(test)]
    pub(super) fn spin(&self) -> Spin {
        self.spin
    }

    /// Time of a revolution.
    pub(super) fn period(&self) -> SimSpan {
        self.spin.period()
    }

    /// Time of the longest move.
    #[cfg(test)]
    pub(super) fn longest_move(&self) -> SimSpan {
        let seek = SimSpan::from_ns(u64::from(self.seek.iter().copied().max().unwrap_or(0)));
        let settle = SimSpan::from_ns(self.write_settle_ns.max(0).unsigned_abs());
        seek.max(self.head_switch) + settle
    }

    /// Pace of the sectors at a place.
    pub(super) fn pace(&self, place: &Place) -> Pace {
        self.pace[place.zone as usize]
    }

    /// Time to move from one track to another.
    pub(super) fn travel(&self, from: Position, to: Position, op: Op) -> SimSpan {
        if from == to {
            return SimSpan::ZERO;
        }
        let seek = self.seek[from.cylinder.abs_diff(to.cylinder) as usize];
        let switch = if from.head == to.head { SimSpan::ZERO } else { self.head_switch };
        let moved = SimSpan::from_ns(u64::from(seek)).max(switch);
        match op {
            Op::Write if !moved.is_zero() => {
                SimSpan::from_ns(moved.as_ns().saturating_add_signed(self.write_settle_ns))
            }
            _ => moved,
        }
    }

    /// Time from `now` until `angle` is under the head, less than a turn.
    pub(super) fn rotation(&self, now: SimTime, angle: Turn) -> SimSpan {
        let period_ns = self.spin.period_ns();
        let wanted = angle.after_index_ns(period_ns);
        let present = self.spin.since_index_ns(now);
        let wait = if wanted >= present { wanted - present } else { wanted + period_ns - present };
        SimSpan::from_ns(if period_ns - wait <= SLACK_NS { 0 } else { wait })
    }

    /// Moves from `from` to `lbn`, beginning at `at`.
    pub(super) fn approach(&self, from: Position, at: SimTime, lbn: u64, op: Op) -> Approach {
        let place = self.layout.locate(lbn);
        let position = Position { cylinder: place.cylinder, head: place.head };
        let settled = at + self.travel(from, position, op);
        let wait = self.rotation(settled, place.angle);
        Approach { place, position, settled, wait, pace: self.pace(&place) }
    }
}

/// The result of a move to a track.
#[derive(Clone, Copy, Debug)]
pub(super) struct Approach {
    pub(super) place: Place,
    pub(super) position: Position,
    /// Time at which the head is on the track.
    pub(super) settled: SimTime,
    /// Delay from then until the first sector begins.
    pub(super) wait: SimSpan,
    pub(super) pace: Pace,
}

impl Approach {
    /// The sectors from `first` to the end of their run, with their times.
    pub(super) fn run(&self, first: u64) -> Run {
        Run { first, count: self.place.run, start: self.settled + self.wait, pace: self.pace }
    }

    /// If the head lands within the first `wanted` sectors: number of the first sector that passes as
    /// a whole.
    pub(super) fn lands_at(&self, wanted: u64, period: SimSpan) -> Option<u64> {
        if self.wait.is_zero() {
            return None;
        }
        let behind = period.saturating_sub(self.wait);
        let next = self.pace.begun_within(behind);
        (next < wanted).then_some(next)
    }
}
