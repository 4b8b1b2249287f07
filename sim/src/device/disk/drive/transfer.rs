//! Sends a read's sectors to the host while they come off the medium.

use foretell_units::{SimSpan, SimTime};

use super::run::Run;

/// The sectors of a read in the order of their addresses, with the times at which each is in the
/// buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrivals<'a> {
    /// Number of sectors that are in the buffer from the beginning.
    pub(super) present: u64,
    /// The other sectors.
    pub(super) runs: &'a [Run],
}

/// The costs of sending.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Time for a sector.
    pub(super) sector: SimSpan,
    /// Number of sectors that must be in the buffer before the bus is taken.
    pub(super) water: u64,
    /// Whether the bus is held while waiting for the medium.
    pub(super) held: bool,
    /// Time to take the bus the first time and to prepare the data.
    pub(super) first_connect: SimSpan,
    /// Time to take the bus again.
    pub(super) connect: SimSpan,
    /// Time to leave the bus.
    pub(super) disconnect: SimSpan,
}

impl Arrivals<'_> {
    fn total(&self) -> u64 {
        self.present + self.runs.iter().map(|run| run.count).sum::<u64>()
    }

    /// When `count` sectors are in the buffer; time zero if they are there from the beginning.
    fn when(&self, count: u64) -> SimTime {
        let mut missing = count.saturating_sub(self.present);
        if missing == 0 {
            return SimTime::ZERO;
        }
        for run in self.runs {
            if missing <= run.count {
                return run.done(missing);
            }
            missing -= run.count;
        }
        self.runs.last().map_or(SimTime::ZERO, Run::end)
    }

    /// Number of sectors that are in the buffer at `now`.
    fn by(&self, now: SimTime) -> u64 {
        let mut count = self.present;
        for run in self.runs {
            let done = run.done_by(now);
            count += done;
            if done < run.count {
                break;
            }
        }
        count
    }

    /// When all have been sent, if the bus is free from `now` on. `connected`: the bus is already
    /// owned, and data moves at once.
    pub(super) fn send(&self, now: SimTime, connected: bool, sending: &Sending) -> SimTime {
        let total = self.total();
        if total == 0 {
            return now;
        }
        let mut at = now;
        if !connected {
            let water = sending.water.clamp(1, total);
            at = now.max(self.when(water)) + sending.first_connect;
        }
        let free = sending.connect.is_zero() && sending.disconnect.is_zero();
        if sending.held || (free && sending.water <= 1) {
            self.stream(at, sending.sector)
        } else {
            self.in_pieces(at, sending)
        }
    }

    /// Every sector leaves when it is in the buffer and the previous one has left. Within a run, sectors come
    /// at a steady pace, so either the bus or the medium is the slower one throughout.
    fn stream(&self, at: SimTime, sector: SimSpan) -> SimTime {
        let mut at = at + sector * self.present;
        for run in self.runs.iter().filter(|run| run.count > 0) {
            let all = sector * run.count;
            at = (at + all).max(run.done(1) + all).max(run.end() + sector);
        }
        at
    }

    /// Sends all sectors that are in the buffer, then leaves the bus until enough have come.
    fn in_pieces(&self, at: SimTime, sending: &Sending) -> SimTime {
        let total = self.total();
        let mut at = at;
        let mut sent = 0;
        loop {
            let there = self.by(at);
            if there > sent {
                at += sending.sector * (there - sent);
                sent = there;
                if sent == total {
                    return at;
                }
            } else if sending.held {
                at = at.max(self.when(sent + 1));
            } else {
                let enough = total.min(sent + sending.water.max(1));
                let left = at + sending.disconnect;
                at = left.max(self.when(enough)) + sending.connect;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::Pace;
    use super::*;
    use proptest::prelude::*;

    fn sending(sector_ns: u64, water: u64, held: bool) -> Sending {
        Sending {
            sector: SimSpan::from_ns(sector_ns),
            water,
            held,
            first_connect: SimSpan::ZERO,
            connect: SimSpan::ZERO,
            disconnect: SimSpan::ZERO,
        }
    }

    #[test]
    fn the_slower_of_bus_and_medium_sets_the_pace() {
        // four sectors of 100 ns from 1000 on: the last is in the buffer at 1400
        let runs =
            [Run { first: 0, count: 4, start: SimTime::from_ns(1000), pace: Pace::new(400, 4) }];
        let arrivals = Arrivals { present: 0, runs: &runs };
        // a bus of 10 ns finishes one sector after the medium
        let finish = arrivals.send(SimTime::ZERO, false, &sending(10, 1, false));
        assert_eq!(finish, SimTime::from_ns(1410));
        // a bus of 300 ns begins with the first sector, at 1100, and takes 4 × 300
        let finish = arrivals.send(SimTime::ZERO, false, &sending(300, 1, false));
        assert_eq!(finish, SimTime::from_ns(2300));
        // a water mark of four sectors: all are in the buffer at 1400, then 4 × 10
        let finish = arrivals.send(SimTime::ZERO, false, &sending(10, 4, false));
        assert_eq!(finish, SimTime::from_ns(1440));
    }

    proptest! {
        #[test]
        fn oracle_streaming_equals_sending_piece_by_piece(
            present in 0_u64..5,
            shape in proptest::collection::vec((0_u64..2000, 1_u64..20, 1_u64..500), 0..4),
            bus in 0_u64..700,
            begin in 0_u64..3000,
            held: bool,
            connected: bool,
        ) {
            let mut runs = Vec::new();
            let mut at = SimTime::ZERO;
            for (gap, count, pace) in shape {
                let run =
                    Run { first: 0, count, start: at + SimSpan::from_ns(gap), pace: Pace::new(pace, 1) };
                at = run.end();
                runs.push(run);
            }
            let arrivals = Arrivals { present, runs: &runs };
            if arrivals.total() == 0 {
                return Ok(());
            }
            let sending = sending(bus, 1, held);
            let begin = SimTime::from_ns(begin);
            let fast = arrivals.send(begin, connected, &sending);
            let start = if connected { begin } else { begin.max(arrivals.when(1)) };
            prop_assert_eq!(fast, arrivals.in_pieces(start, &sending));
            prop_assert!(fast >= at.max(begin) || arrivals.total() == present);
        }
    }
}
