//! Writes: to the medium, or early into the buffer with write-behind.

use foretell_scenarios::drive::{EarlyWrite, ExtraDisconnect};
use foretell_units::{Op, SimSpan, SimTime};

use super::run::{Pace, Run};
use super::{Background, BufferUse, Drive, Served, Writing};

/// The host's sectors as they cross the bus, one by one.
#[derive(Clone, Copy, Debug)]
struct Feed {
    first: u64,
    /// When the first sector begins to cross the bus.
    begin: SimTime,
    /// Time of each sector on the bus.
    sector: SimSpan,
    /// When enough sectors have crossed for the first to go to the medium.
    gathered: SimTime,
}

impl Feed {
    /// When a sector has crossed the bus.
    fn crosses(&self, sector: u64) -> SimTime {
        self.begin + self.sector * (sector - self.first + 1)
    }

    /// When a sector is in the buffer and may go to the medium.
    fn arrives(&self, sector: u64) -> SimTime {
        self.crosses(sector).max(self.gathered)
    }
}

/// Controller overheads of a write.
#[derive(Clone, Copy, Debug)]
struct Fees {
    /// Until the drive has disconnected, if it must.
    leave: SimSpan,
    /// Until data moves.
    data: SimSpan,
    /// Until the arm moves.
    arm: SimSpan,
    /// To disconnect after the data.
    disconnect: SimSpan,
    /// To reconnect.
    reselect: SimSpan,
}

impl Drive {
    pub(super) fn write(&mut self, now: SimTime, first: u64, next: u64) -> Served {
        let early = self.cache.early_write == EarlyWrite::On;
        let joined = match self.background {
            Background::Writing(writing) if early && self.cache.combine_writes => {
                Some(writing).filter(|writing| self.segments.get(writing.segment).end == first)
            }
            _ => None,
        };
        let (fees, begin, segment, arm) = if let Some(writing) = joined {
            while self.writes.front().is_some_and(|run| run.end() <= now) {
                self.writes.pop_front();
            }
            self.segments.touch(writing.segment);
            self.segments.drop_stale(first, next, Some(writing.segment));
            let fees = self.fees(early);
            (fees, now + fees.data, writing.segment, writing.done.max(now + fees.arm))
        } else {
            let waits = self.is_held(now);
            let segment = self.segments.choose_for_write(first, next, self.reading_into());
            let again = self.segments.follows_a_write(segment, first);
            let fees = match self.overhead.extra_disconnect {
                Some(extra) if again && !waits => self.extra_fees(&extra),
                _ => self.fees(early),
            };
            let free = self.stop(now);
            let overhead = &self.overhead;
            let (begin, arm) = if waits {
                let left = free.max(now + fees.leave);
                let begin = left + overhead.first_reselect + overhead.data_preparation;
                (begin, free.max(now + fees.arm))
            } else {
                (now + fees.data, free + fees.arm)
            };
            self.segments.begin_write(segment, first, next);
            (fees, begin, segment, arm)
        };
        let sector = self.bus.write_sector;
        let gathered = match self.overhead.extra_disconnect {
            Some(extra) if joined.is_none() => begin + sector * extra.gathered(next - first),
            _ => SimTime::ZERO,
        };
        let host = Feed { first, begin, sector, gathered };
        // a write that continues one still being written streams on
        let least = if joined.is_some() { SimSpan::ZERO } else { self.overhead.least_write_seek };
        let done = self.lay_down(arm, least, next, host);
        let mut sent = host.crosses(next - 1);
        if let Some(room) = self.room_before(next) {
            sent = sent.max(room + host.sector);
        }
        self.segments.extend(segment, next);
        let writing = Writing { segment, done: done.max(sent) };
        let finish = if early {
            self.background = Background::Writing(writing);
            sent
        } else {
            self.written(writing);
            done.max(sent + fees.disconnect) + fees.reselect
        };
        let buffer_use = if early { BufferUse::Early } else { BufferUse::Nothing };
        Served { finish: finish + self.overhead.write_completion, buffer_use }
    }

    /// Overheads of a write that disconnects before its data.
    fn extra_fees(&self, extra: &ExtraDisconnect) -> Fees {
        let overhead = &self.overhead;
        let away = extra.command + extra.disconnect + extra.away;
        Fees {
            leave: extra.command + extra.disconnect,
            data: away + overhead.first_reselect + overhead.data_preparation,
            arm: extra.command + extra.seek_delay,
            disconnect: extra.second_disconnect,
            reselect: overhead.other_reselect,
        }
    }

    /// Overheads of any other write.
    fn fees(&self, early: bool) -> Fees {
        let overhead = &self.overhead;
        let command = self.preparing(if early { overhead.write_hit } else { overhead.write_miss });
        Fees {
            leave: command + overhead.write_disconnect,
            data: command + overhead.data_preparation,
            arm: command,
            disconnect: overhead.write_disconnect,
            reselect: overhead.first_reselect,
        }
    }

    /// When the buffer has room for the sector before `next`; `None` if it always had room.
    fn room_before(&self, next: u64) -> Option<SimTime> {
        let oldest = self.writes.front()?.first;
        // all sectors before this one must be on the medium
        let written = next.checked_sub(self.segments.size()).filter(|to| *to > oldest)?;
        let run = self.writes.iter().find(|run| run.next() >= written)?;
        Some(run.done(written.saturating_sub(run.first)))
    }

    /// Writes the host's sectors up to before `next`. The arm is free at `at`, and reaches the
    /// medium no sooner than `least` after that. Returns when the last sector is on the medium, and
    /// adds the times of all to `writes`.
    fn lay_down(&mut self, at: SimTime, least: SimSpan, next: u64, host: Feed) -> SimTime {
        let period = self.mechanics.period();
        let mut at = at;
        let mut sector = host.first;
        while sector < next {
            let mut approach = self.mechanics.approach(self.position, at, sector, Op::Write);
            if sector == host.first && approach.settled < at + least {
                approach.settled = at + least;
                approach.wait = self.mechanics.rotation(approach.settled, approach.place.angle);
            }
            self.position = approach.position;
            let wanted = approach.place.run.min(next - sector);
            let run = approach.run(sector).part(sector, sector + wanted);
            sector += wanted;
            let lands = self.lands(self.cache.write_as_passing, &approach, wanted);
            at = match lands.filter(|_| host.arrives(sector - 1) <= approach.settled) {
                Some(earlier) => {
                    // the later sectors are written at once, the earlier ones when they come round
                    let start = run.done(earlier);
                    self.writes.push_back(Run { start, pace: Pace::NONE, ..run });
                    start
                }
                None => self.lay_down_run(run, host, period),
            };
        }
        at
    }

    /// Writes one run in the order of addresses. A sector that has not arrived from the host when
    /// its place passes is written a turn later.
    fn lay_down_run(&mut self, mut run: Run, host: Feed, period: SimSpan) -> SimTime {
        loop {
            let late = host.arrives(run.first).saturating_since(run.start);
            run.start += period * late.as_ns().div_ceil(period.as_ns().max(1));
            let written = in_time(&run, host);
            let part = run.part(run.first, run.first + written);
            self.writes.push_back(part);
            if written == run.count {
                return part.end();
            }
            run = Run { first: part.next(), count: run.count - written, start: part.end(), ..run };
        }
    }
}

/// Number of sectors of a run that arrive before their places pass; the first one does.
fn in_time(run: &Run, host: Feed) -> u64 {
    let in_time = |number: u64| host.arrives(run.first + number) <= run.done(number);
    let last = run.count - 1;
    if in_time(last) {
        return run.count;
    }
    // the host's lead shrinks steadily: search for the sector at which it is used up
    let (mut low, mut high) = (0, last);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if in_time(middle) { low = middle } else { high = middle }
    }
    high
}
