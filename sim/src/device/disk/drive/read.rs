//! Reads: from the buffer, from the medium, and read-ahead afterwards.

use foretell_scenarios::drive::{ReadAhead, Requested};
use foretell_units::{Op, SimTime};

use super::mechanics::Approach;
use super::run::{Pace, Run};
use super::transfer::{Arrivals, Sending};
use super::{Background, BufferUse, Drive, Reading, Served};

/// A read being served.
#[derive(Clone, Copy, Debug)]
struct Read {
    first: u64,
    /// Address after the last sector.
    next: u64,
    /// Time at which the bus is owned and the overhead of a hit is done: data can move from here on.
    /// `None` if the drive has disconnected because it was busy in the background.
    connected: Option<SimTime>,
    /// For the other case: time at which the drive has disconnected and can reconnect.
    left: SimTime,
    /// Time at which the overhead of a miss is done and the arm may move.
    ready: SimTime,
    /// Time at which the drive's earlier activity has ended.
    free: SimTime,
}

impl Read {
    /// When the arm may move, if the earlier activity was asked to stop at [`Read::free`] and stopped
    /// at `free`.
    fn moves_at(&self, free: SimTime) -> SimTime {
        self.ready.max(self.free) + (free - self.free)
    }
}

impl Drive {
    pub(super) fn read(&mut self, now: SimTime, first: u64, next: u64) -> Served {
        let ready = now + self.preparing(self.overhead.read_miss);
        let hit = now + self.preparing(self.overhead.read_hit) + self.overhead.data_preparation;
        let left = ready + self.after(self.overhead.read_disconnect);
        let mut read = Read { first, next, connected: Some(hit), left, ready, free: now };
        let mut found = self.find(first, next);
        if let Background::Writing(writing) = self.background {
            let cache = &self.cache;
            match found {
                Some((_, true)) if cache.full_hits_while_busy => {}
                Some((_, false)) if cache.partial_hits_while_busy => {
                    read.free = self.stop(now);
                }
                _ => {
                    // the drive does nothing else until all is written
                    self.written(writing);
                    read.free = writing.done.max(now);
                    read.connected = None;
                    found = self.find(first, next);
                }
            }
        } else if self.is_held(now) {
            let of_it = |(segment, _)| Some(segment) == self.reading_into();
            let at_once = match found {
                Some((_, true)) => self.cache.full_hits_while_busy,
                Some((_, false)) => self.cache.partial_hits_while_busy,
                None => false,
            };
            if !at_once && !found.is_some_and(of_it) {
                read.free = self.stop(now);
                read.connected = None;
                found = self.find(first, next);
            }
        }
        let (sent, buffer_use) = match found {
            Some((segment, true)) => (self.read_found(&read, segment), BufferUse::Whole),
            Some((segment, false)) => (self.read_part(&read, segment), BufferUse::Part),
            None => (self.read_missed(&read), BufferUse::Nothing),
        };
        Served { finish: sent + self.overhead.read_completion, buffer_use }
    }

    /// The segment that serves a read, and whether it serves all of it.
    pub(super) fn find(&self, first: u64, next: u64) -> Option<(usize, bool)> {
        if !self.cache.enabled {
            return None;
        }
        if let Some(segment) = self.segments.find(first, next, self.reading_into()) {
            return Some((segment, self.segments.get(segment).end >= next));
        }
        let segment = self.reading_into().filter(|_| self.cache.hits_on_next)?;
        (self.segments.get(segment).end == first).then_some((segment, false))
    }

    /// Costs of sending `sectors` sectors.
    fn sending(&self, sectors: u64) -> Sending {
        let cache = &self.cache;
        let segment = self.segments.size();
        let water = if cache.water_by_request {
            (cache.high_water * sectors.min(segment) as f64).floor()
        } else {
            (cache.high_water * segment as f64).ceil()
        };
        let overhead = &self.overhead;
        Sending {
            sector: self.bus.read_sector,
            water: (water as u64).max(1),
            held: self.bus.held_by_reads,
            first_connect: overhead.first_reselect + overhead.data_preparation,
            connect: overhead.first_reselect + overhead.data_preparation,
            disconnect: self.after(overhead.read_disconnect),
        }
    }

    /// Sends the sectors that are in the buffer and those that arrive. Returns when the last has been
    /// sent.
    fn send(&self, read: &Read, at_once: bool, arrivals: Arrivals<'_>) -> SimTime {
        let sending = self.sending(read.next - read.first);
        match read.connected {
            Some(at) if at_once => arrivals.send(at, true, &sending),
            _ => arrivals.send(read.left.max(read.free), false, &sending),
        }
    }

    fn read_found(&mut self, read: &Read, segment: usize) -> SimTime {
        self.segments.touch(segment);
        let limit = self.limit(segment, read.first, read.next);
        match &mut self.background {
            Background::Reading(reading) if reading.segment == segment => {
                reading.limit = reading.limit.max(limit);
                let least = (read.next + self.cache.least_read_ahead.get()).min(limit);
                reading.least = reading.least.max(least);
            }
            Background::Writing(_) => {}
            Background::Reading(_) | Background::Nothing => {
                let free = self.stop(read.free);
                let end = self.segments.get(segment).end;
                if self.cache.read_ahead_on_hit && end < limit {
                    let approach =
                        self.mechanics.approach(self.position, read.moves_at(free), end, Op::Read);
                    self.read_along(segment, &approach, approach.run(end), read.next, limit);
                }
            }
        }
        let arrivals = Arrivals { present: read.next - read.first, runs: &[] };
        let sent = self.send(read, true, arrivals);
        self.after_sending(segment, read.next);
        sent
    }

    fn read_part(&mut self, read: &Read, segment: usize) -> SimTime {
        self.segments.touch(segment);
        let end = self.segments.get(segment).end;
        let present = end - read.first;
        let limit = self.limit(segment, read.first, read.next);
        self.runs.clear();
        match self.background {
            Background::Reading(mut reading) if reading.segment == segment => {
                reading.limit = reading.limit.max(limit);
                self.collect(&mut reading, end, read.next);
                self.background = Background::Reading(reading);
            }
            _ => {
                let free = self.stop(read.free);
                self.fetch(read.moves_at(free), segment, end, read.next, limit);
            }
        }
        let wanted = read.next - read.first;
        let at_once =
            self.cache.partial_hits_at_once || present >= self.sending(wanted).water.min(wanted);
        let sent = self.send(read, at_once, Arrivals { present, runs: &self.runs });
        self.segments.extend(segment, read.next);
        self.after_sending(segment, read.next);
        sent
    }

    fn read_missed(&mut self, read: &Read) -> SimTime {
        let reading_into = self.reading_into();
        let free = self.stop(read.free);
        let segment = self.segments.take_for_read(read.first, reading_into);
        let mut at = read.moves_at(free);
        let mut piece = Read { free, ..*read };
        // a read larger than a segment passes through it piece by piece
        loop {
            piece.next = read.next.min(piece.first + self.segments.size());
            let limit = self.limit(segment, piece.first, piece.next);
            self.runs.clear();
            self.fetch(at, segment, piece.first, piece.next, limit);
            let come = self.runs.last().map_or(at, Run::end);
            let held = self.bus.held_by_reads && piece.first != read.first;
            piece.connected = held.then_some(piece.left);
            let sent = self.send(&piece, held, Arrivals { present: 0, runs: &self.runs });
            self.segments.extend(segment, piece.next);
            if piece.next == read.next {
                self.after_sending(segment, read.next);
                return sent;
            }
            // the medium continues, unless the bus keeps the segment full
            at = if sent > come + self.bus.read_sector { sent } else { come };
            if let Background::Reading(reading) = self.background {
                self.position = reading.position;
            }
            (piece.first, piece.left) = (piece.next, sent);
        }
    }

    /// Drops sectors that the host has received, if the drive does that.
    fn after_sending(&mut self, segment: usize, next: u64) {
        if self.cache.requested == Requested::Dropped {
            self.segments.drop_before(segment, next);
        }
    }

    /// Address up to which the drive may read ahead after a read of `first` to before `next`.
    fn limit(&self, segment: usize, first: u64, next: u64) -> u64 {
        let size = self.segments.size();
        let most = self.cache.most_read_ahead.get();
        let layout = &self.mechanics.layout;
        let limit = match self.cache.read_ahead {
            ReadAhead::Off => next,
            ReadAhead::NextTrack if next < layout.total() => {
                let place = layout.locate(next);
                let end = layout.track_end(next, &place);
                let track = next - layout.before(next, &place);
                let more = if self.segments.get(segment).start < track {
                    layout.sectors_per_track(first)
                } else {
                    0
                };
                end + more
            }
            _ if most > 0 => next + most,
            _ if self.cache.requested == Requested::Kept => {
                (first + size).max(next + self.cache.least_read_ahead.get())
            }
            _ => next + size,
        };
        limit.min(layout.total()).max(next)
    }

    /// Starts read-ahead, in `run` and from there to `limit`.
    fn read_along(&mut self, segment: usize, approach: &Approach, run: Run, next: u64, limit: u64) {
        let least = next + self.cache.least_read_ahead.get();
        self.background = Background::Reading(Reading {
            segment,
            position: approach.position,
            settled: approach.settled,
            run,
            limit: limit.max(next),
            least: least.min(self.mechanics.layout.total()),
        });
    }

    /// Reads `first` to before `next` from the medium, beginning with a move at `at`, and continues
    /// until `limit`. Adds the arrival times of the sectors to `runs`.
    pub(super) fn fetch(&mut self, at: SimTime, segment: usize, first: u64, next: u64, limit: u64) {
        let mut from = self.position;
        let mut at = at;
        let mut sector = first;
        loop {
            let approach = self.mechanics.approach(from, at, sector, Op::Read);
            let wanted = approach.place.run.min(next - sector);
            let mut run = approach.run(sector);
            if sector == first && self.cache.keep_passing && self.segments.is_empty(segment) {
                let whole = approach.pace.whole_within(approach.wait);
                let before = self.mechanics.layout.before(sector, &approach.place);
                self.segments.begin_at(segment, sector - whole.min(before));
            }
            // to keep passing sectors, a drive reads from wherever it lands on the track
            let any = self.cache.keep_passing && sector == first && approach.place.sector > 0;
            match self.lands(self.cache.read_as_passing || any, &approach, wanted) {
                Some(earlier) => {
                    // the later sectors pass first; they can be sent only after the earlier ones
                    let early = run.part(sector, sector + earlier);
                    run = Run {
                        first: sector + earlier,
                        count: wanted - earlier,
                        start: early.end(),
                        pace: Pace::NONE,
                    };
                    self.runs.extend([early, run]);
                }
                None => self.runs.push(run.part(sector, sector + wanted)),
            }
            sector += wanted;
            if sector >= next {
                self.read_along(segment, &approach, run, next, limit);
                return;
            }
            from = approach.position;
            at = run.end();
        }
    }

    /// Where within the wanted sectors the head lands, if it may begin there. Returns how many of them
    /// have passed before.
    pub(super) fn lands(&self, may: bool, approach: &Approach, wanted: u64) -> Option<u64> {
        if may { approach.lands_at(wanted, self.mechanics.period()) } else { None }
    }

    /// Adds to `runs` the arrival times of the sectors from `first` to before `next`, which the
    /// read-ahead brings.
    fn collect(&mut self, reading: &mut Reading, first: u64, next: u64) {
        let least = reading.least.max(next + self.cache.least_read_ahead.get());
        reading.least = next; // its own sectors are read whatever read-ahead's rule
        loop {
            let part = reading.run.part(first, next);
            if part.count > 0 {
                self.runs.push(part);
            }
            if reading.run.next() >= next || !self.step(reading) {
                break;
            }
        }
        reading.least = least.min(self.mechanics.layout.total());
        reading.limit = reading.limit.max(next);
    }
}
