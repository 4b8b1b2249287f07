//! The model of a disk that serves one operation at a time, from measurements: positioning by distance,
//! transfer by place on the disk, and the cost of a pause before an operation that continues the previous
//! one.
//!
//! A place has an angle on the platter only if it is near the end of the last operation, or if the drive holds the
//! command. Otherwise, rotational latency is drawn from the measured distribution. Of the drive's buffer, only
//! read-ahead and buffered writes are modelled. Left out: a read that is in part in the buffer takes less transfer; of
//! a hit that the drive has held, a part of the overhead follows the transfer.

use std::collections::VecDeque;
use std::sync::Arc;

use foretell_units::{Op, SECTOR_BYTES, Sectors, SimSpan, SimTime, Stream};

use super::measurement::{ANY_ANGLE_SECTORS, Measurement, Positioning, QUANTILES, index};
use super::{Operation, Served, Taken};

/// Shortest time of an operation, so that time passes.
const MIN_OPERATION: SimSpan = SimSpan::from_ns(1000);

/// Distances up to this are looked up in sectors, longer ones by radius.
const NEAR_SECTORS: u64 = 8192;

/// A distribution that depends on a distance.
#[derive(Debug, Default)]
struct Curve(Vec<(f64, [f64; QUANTILES])>);

impl Curve {
    fn new(mut points: Vec<(f64, [f64; QUANTILES])>) -> Self {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self(points)
    }

    /// The value at a distance, at quantile `chance`.
    fn draw(&self, distance: f64, chance: f64) -> f64 {
        let Some(last) = self.0.len().checked_sub(1) else { return 0.0 };
        let above = self.0.partition_point(|(at, _)| *at < distance);
        let (low, high) = (&self.0[above.saturating_sub(1)], &self.0[above.min(last)]);
        let part = between(low.0, high.0, distance);
        let at = chance * (QUANTILES - 1) as f64;
        let below = (at as usize).min(QUANTILES - 2);
        let rest = at - below as f64;
        let of = |q: &[f64; QUANTILES]| q[below] * (1.0 - rest) + q[below + 1] * rest;
        of(&low.1) * (1.0 - part) + of(&high.1) * part
    }
}

/// Position of `at` between `low` and `high`, from 0 to 1.
fn between(low: f64, high: f64, at: f64) -> f64 {
    if high > low { ((at - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 }
}

/// A long distance, a part of the radius, as the coordinate of a curve. The time of an arm that speeds up and slows down
/// grows with the root of the distance, so values in between are found on a straight line.
fn long_way(distance: f64) -> f64 {
    distance.sqrt()
}

/// The median (the upper of two); 0 if there are no values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The time that a drive takes to prepare a command: the way ahead that is just not missed for a whole revolution.
fn preparing_ns(positioning: &[Positioning], turn_ns: f64) -> f64 {
    let ahead = positioning.iter().filter(|point| point.distance_sectors > 0);
    let reached = ahead.map(|point| (point.distance_sectors, point.quantiles_ns[QUANTILES / 2]));
    let reached = reached.filter(|(_, median_ns)| *median_ns < turn_ns / 4.0);
    reached.min_by_key(|(distance, _)| *distance).map_or(0.0, |(_, median_ns)| median_ns)
}

/// A span of this length, at least [`MIN_OPERATION`].
fn span(ns: f64) -> SimSpan {
    SimSpan::from_ns(ns.max(0.0) as u64).max(MIN_OPERATION)
}

/// Read-ahead in the device's buffer.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from: u64,
    /// Sector reached at time `at`.
    until: u64,
    at: SimTime,
    /// Sector at which read-ahead will end.
    end: u64,
}

impl Segment {
    /// The sector reached by now.
    fn reached(&self, now: SimTime, sectors_per_ns: f64) -> u64 {
        let more = now.saturating_since(self.at).as_ns() as f64 * sectors_per_ns;
        (self.until + more as u64).min(self.end)
    }

    /// Marks read-ahead as ended if it came to its end before now.
    fn stop_where_full(&mut self, now: SimTime, sectors_per_ns: f64) {
        if self.reached(now, sectors_per_ns) == self.end {
            self.until = self.end;
        }
    }
}

/// A command that a drive holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// When the drive took it.
    pub(super) since: SimTime,
    /// Angle of the first sector that it needs from the medium, as a part of a revolution.
    pub(super) angle: f64,
}

/// What is known about a command when the drive begins it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Begun {
    /// Its positioning time, if already drawn.
    pub(super) reach_ns: Option<f64>,
    /// How long the drive has held it.
    pub(super) held: SimSpan,
}

/// The arm and the medium, modelled from a measurement.
#[derive(Debug)]
pub(super) struct Rotating {
    measured: Arc<Measurement>,
    sectors: f64,
    /// Radius at the places where rates were measured, from 0 (outer edge) to 1 (inner edge).
    radii: Vec<f64>,
    /// Positioning by [`Op`]: short distances forwards and backwards by sectors, long ones by [`long_way`].
    forwards: [Curve; 2],
    backwards: [Curve; 2],
    far: [Curve; 2],
    /// The read-ahead segments, latest first.
    segments: VecDeque<Segment>,
    /// Whether a hit elsewhere has ended the latest read-ahead.
    is_interrupted: bool,
    /// Time of a sector, ns, where short distances were measured.
    near_sector_ns: f64,
    /// Shortest positioning time, ns: that of a command.
    least_ns: f64,
    /// Time that the drive takes to prepare a command, ns.
    preparing_ns: f64,
    /// Time of a revolution: the range of positioning times over one long distance.
    turn_ns: f64,
    /// The kind of operation whose measured times are those of the arm, at short distances backwards and
    /// after a buffered write. Usually these are writes, because reads there may find their data in the
    /// buffer. On a drive whose writes hardly ever wait for the medium, they are reads.
    mechanical: Op,
    stream: Stream,
    end: Sectors,
    ended: SimTime,
    /// For each write in the buffer: when it is on the medium.
    written: VecDeque<SimTime>,
    /// Sectors of the last of them, including the writes that continued it.
    run: u64,
    /// Until when the medium is busy.
    busy_until: SimTime,
    /// The last operation on the medium.
    last: Op,
}

impl Rotating {
    pub(super) fn new(measured: Arc<Measurement>, stream: Stream) -> Self {
        // a cylinder holds one revolution's data, so cylinders are denser where the rate is lower
        let mut radii = vec![0.0];
        for pair in measured.stream_bytes_per_s[0].windows(2) {
            radii.push(radii[radii.len() - 1] + 2.0 / (pair[0] + pair[1]));
        }
        let whole = radii[radii.len() - 1];
        for radius in &mut radii {
            *radius /= whole;
        }
        let sectors = measured.capacity_bytes / SECTOR_BYTES;
        let radius = |sector: u64| at_place(&radii, sector as f64 / sectors as f64);
        let curve = |op: usize, kind: &dyn Fn(u64, i64) -> Option<f64>| {
            let points = measured.positioning[op].iter();
            let point =
                |p: &Positioning| Some((kind(p.from_sector, p.distance_sectors)?, p.quantiles_ns));
            Curve::new(points.filter_map(point).collect())
        };
        let near = |distance: i64| distance.unsigned_abs() <= NEAR_SECTORS;
        let forwards = |_: u64, d: i64| (near(d) && d >= 0).then_some(d as f64);
        let backwards = |_: u64, d: i64| (near(d) && d < 0).then_some(-d as f64);
        let far = |from: u64, d: i64| {
            let there = radius(from.saturating_add_signed(d));
            (!near(d)).then_some(long_way((there - radius(from)).abs()))
        };
        let turns = measured.positioning[0].iter();
        let turns = turns.filter(|point| !near(point.distance_sectors));
        let turns = turns
            .map(|p| (p.quantiles_ns[QUANTILES - 3] - p.quantiles_ns[2]) * (QUANTILES - 1) as f64)
            .map(|range| range / (QUANTILES - 5) as f64);
        let turn_ns = median(turns.collect());
        let median_ns = |op: Op| {
            let points = measured.positioning[index(op)].iter();
            let points = points.filter(|point| !near(point.distance_sectors));
            median(points.map(|point| point.quantiles_ns[QUANTILES / 2]).collect())
        };
        let mechanical =
            if median_ns(Op::Write) > 0.5 * median_ns(Op::Read) { Op::Write } else { Op::Read };
        let nearby = measured.positioning[0].iter().filter(|point| near(point.distance_sectors));
        let place = median(nearby.map(|point| point.from_sector as f64).collect());
        let shortest = measured.positioning[0].iter().map(|point| point.quantiles_ns[0]);
        let least = shortest.min_by(f64::total_cmp);
        let near_rate = at_place(&measured.stream_bytes_per_s[0], place / sectors as f64);
        Self {
            mechanical,
            near_sector_ns: SECTOR_BYTES as f64 / near_rate * 1e9,
            least_ns: least.unwrap_or(0.0),
            preparing_ns: preparing_ns(&measured.positioning[0], turn_ns),
            turn_ns,
            forwards: [curve(0, &forwards), curve(1, &forwards)],
            backwards: [curve(0, &backwards), curve(1, &backwards)],
            far: [curve(0, &far), curve(1, &far)],
            segments: VecDeque::new(),
            is_interrupted: false,
            sectors: sectors as f64,
            radii,
            stream,
            end: Sectors(0),
            ended: SimTime::ZERO,
            written: VecDeque::new(),
            run: 0,
            busy_until: SimTime::ZERO,
            last: Op::Read,
            measured,
        }
    }

    fn radius(&self, sector: Sectors) -> f64 {
        at_place(&self.radii, sector.get() as f64 / self.sectors)
    }

    fn transfer_ns(&self, lbn: Sectors, sectors: Sectors) -> f64 {
        // the transfer rate is the same for writes
        let rates = &self.measured.stream_bytes_per_s[0];
        let rate = at_place(rates, lbn.get() as f64 / self.sectors);
        (sectors.get() * SECTOR_BYTES) as f64 / rate * 1e9
    }

    /// Position of the head: it advances while read-ahead goes on.
    fn head(&self, now: SimTime) -> Sectors {
        let reading_on = self.segments.front().filter(|last| last.end > last.until);
        let reached = |last: &Segment| last.reached(now, self.sectors_per_ns(self.end));
        reading_on.map_or(self.end, |last| Sectors(reached(last)))
    }

    /// `command`: that of the operation, if the drive has held it.
    fn positioning_ns(&mut self, now: SimTime, op: Op, lbn: Sectors, command: Option<Held>) -> f64 {
        // the drive prepares a command while it holds it
        let ready_ns = command.map_or(0.0, |command| {
            let since_ns = now.saturating_since(command.since).as_ns() as f64;
            since_ns.min(self.preparing_ns)
        });
        let head = self.head(now);
        let distance = lbn.get().abs_diff(head.get());
        if distance > NEAR_SECTORS {
            let way = long_way((self.radius(lbn) - self.radius(head)).abs());
            let known = if op == Op::Read { self.angle_of(lbn) } else { None };
            let chance = match known.or(command.map(|command| command.angle)) {
                Some(angle) if self.turn_ns > 0.0 => {
                    let arm_ns = self.far[index(op)].draw(way, 0.0) - ready_ns;
                    // the platter turns while a buffered write goes on, and while the arm moves
                    let begin = now.max(self.busy_until);
                    let turns = (begin.as_ns() as f64 + arm_ns) / self.turn_ns;
                    (angle - turns).rem_euclid(1.0)
                }
                _ => self.stream.unit(),
            };
            return (self.far[index(op)].draw(way, chance) - ready_ns).max(0.0);
        }
        let chance = self.stream.unit();
        let ahead = lbn >= head;
        // reads backwards, or near a write, may be served from the buffer, so their own times do not show the arm
        let shows_arm = op == Op::Write || ahead && !self.wrote_last();
        let curve = if shows_arm { op } else { self.mechanical };
        let curves = if ahead { &self.forwards } else { &self.backwards };
        // on a denser track, more sectors pass in the same time
        let scale = self.transfer_ns(lbn, Sectors(1)) / self.near_sector_ns;
        let away_ns = curves[index(curve)].draw(distance as f64 * scale, chance);
        let away_ns = if distance == 0 && self.wrote_last() { 0.0 } else { away_ns };
        let pause = now.saturating_since(self.ended);
        if self.wrote_last() {
            self.turned(away_ns, pause, 0.0)
        } else if distance < ANY_ANGLE_SECTORS && self.reads_no_further() {
            self.turned(away_ns, pause, self.least_ns)
        } else {
            away_ns
        }
    }

    /// The angle of a place, as a part of a revolution, if a reader has just come there: the next sectors of a sequential
    /// reader pass a revolution after they did so for the first time.
    fn angle_of(&self, lbn: Sectors) -> Option<f64> {
        let sector_ns = self.transfer_ns(lbn, Sectors(1));
        let most = (self.turn_ns / sector_ns) as u64;
        let mut behind =
            self.segments.iter().map(|segment| (segment, lbn.get().wrapping_sub(segment.until)));
        let (segment, sectors) = behind.find(|(_, sectors)| *sectors < most)?;
        let passes_ns = segment.at.as_ns() as f64 + sectors as f64 * sector_ns;
        Some((passes_ns / self.turn_ns).fract())
    }

    /// The angle of a place, as a part of a revolution. It follows from that of a place on the same track, if one of the
    /// `known` places is (each with its angle); otherwise it is drawn. Of two neighbors that the drive holds, it then
    /// reaches the first one first, and the second one right after it.
    pub(super) fn angle_beside(
        &mut self,
        lbn: Sectors,
        known: impl IntoIterator<Item = (Sectors, f64)>,
    ) -> f64 {
        let sectors_per_turn = self.turn_ns / self.transfer_ns(lbn, Sectors(1));
        let beside = known.into_iter().find_map(|(place, angle)| {
            let ahead = lbn.get() as f64 - place.get() as f64;
            (ahead.abs() < sectors_per_turn).then(|| angle + ahead / sectors_per_turn)
        });
        beside.map_or_else(|| self.stream.unit(), |angle| angle.rem_euclid(1.0))
    }

    /// Whether the drive does not read on after a read. If it does, measured times are those from where it is by then.
    fn reads_no_further(&self) -> bool {
        self.measured.read_ahead_streams == 0 && self.ended != SimTime::ZERO
    }

    /// Whether the last operation was a buffered write.
    fn wrote_last(&self) -> bool {
        self.last == Op::Write && self.measured.buffered_writes > 0
    }

    /// Time to a place after a pause, if that place was `away_ns` away before the pause: the platter keeps
    /// turning. It takes at least `least_ns`.
    fn turned(&self, away_ns: f64, pause: SimSpan, least_ns: f64) -> f64 {
        let left = away_ns - pause.as_ns() as f64;
        if left >= least_ns || self.turn_ns <= 0.0 {
            left.max(least_ns)
        } else {
            least_ns + (left - least_ns).rem_euclid(self.turn_ns)
        }
    }

    fn continued_ns(&self, op: Op, pause: SimSpan) -> f64 {
        let points = &self.measured.continued[index(op)];
        let Some(last) = points.len().checked_sub(1) else { return 0.0 };
        let pause = pause.as_ns() as f64;
        let above = points.partition_point(|point| point.pause_ns < pause);
        let (low, high) = (points[above.saturating_sub(1)], points[above.min(last)]);
        let part = between(low.pause_ns, high.pause_ns, pause);
        low.mean_ns * (1.0 - part) + high.mean_ns * part
    }

    /// Draws the positioning time of an operation that the drive holds, from the arm's present place.
    /// Of a read in part of the buffer, the first sector that is missing counts.
    pub(super) fn reach_ns(&mut self, now: SimTime, what: Operation, held: Held) -> f64 {
        let Operation { op, lbn, sectors } = what;
        // a buffered write is positioned for later, over the same distance
        let buffered = op == Op::Write && self.measured.buffered_writes > 0;
        let op = if buffered { self.mechanical } else { op };
        let continues = lbn == self.end && !self.wrote_last();
        if continues {
            return 0.0;
        }
        let wanted = if op == Op::Read { self.missing(now, lbn, sectors) } else { Some(lbn) };
        wanted.map_or(0.0, |wanted| self.positioning_ns(now, op, wanted, Some(held)))
    }

    /// Serves an operation.
    pub(super) fn serve(&mut self, now: SimTime, what: Operation, begun: Begun) -> Served {
        let Operation { op, lbn, sectors } = what;
        let Begun { reach_ns, held } = begun;
        let mut taken_at = self.room_at(now);
        if op == Op::Write && self.measured.buffered_writes > 0 {
            return self.take_write(now, taken_at, lbn, sectors, reach_ns);
        }
        if self.measured.reads_wait_for_writes && !self.written.is_empty() {
            taken_at = taken_at.max(self.busy_until);
        }
        if op == Op::Read
            && let Some(done) = self.read_on(taken_at, lbn, sectors, held)
        {
            let service = done - now;
            return Served { done, taken: Taken { service, work: service, alone: service } };
        }
        let transfer = self.transfer_ns(lbn, sectors);
        let start = now.max(self.busy_until);
        let continues = lbn == self.end && self.ended != SimTime::ZERO && !self.wrote_last();
        let work = if continues && op == Op::Read && self.has_stopped() {
            // the platter has turned in the meantime
            self.stream.unit() * self.turn_ns + transfer
        } else if continues {
            self.continued_ns(op, start.saturating_since(self.ended)) + transfer
        } else {
            reach_ns.unwrap_or_else(|| self.positioning_ns(start, op, lbn, None)) + transfer
        };
        self.stop_reading_on(start);
        let done = start + span(work);
        (self.end, self.ended, self.busy_until) = (lbn + sectors, done, done);
        self.last = op;
        if op == Op::Read {
            self.begin_reading_on(lbn.get(), (lbn + sectors).get(), done);
        }
        let (service, alone) = (done - now, span(work));
        Served { done, taken: Taken { service, work: alone, alone } }
    }

    /// Starts read-ahead after a read.
    fn begin_reading_on(&mut self, from: u64, until: u64, at: SimTime) {
        let streams = self.measured.read_ahead_streams as usize;
        if streams == 0 {
            return;
        }
        let end = self.reads_on_to(from, until);
        self.segments.push_front(Segment { from, until, at, end });
        self.segments.truncate(streams);
    }

    /// The sector at which read-ahead after a read of these sectors ends.
    fn reads_on_to(&self, from: u64, until: u64) -> u64 {
        let room_from = if self.measured.read_ahead_holds_read { from } else { until };
        until.max(room_from + self.measured.read_ahead_sectors)
    }

    /// Stops read-ahead because another operation needs the arm.
    fn stop_reading_on(&mut self, now: SimTime) {
        let rate = self.sectors_per_ns(self.end);
        if let Some(segment) = self.segments.front_mut() {
            let reached = segment.reached(now, rate);
            if reached > segment.until {
                let passed = (reached - segment.until) as f64 / rate;
                segment.at = now.min(segment.at + SimSpan::from_ns(passed as u64));
            }
            segment.until = reached;
            segment.end = reached;
        }
        self.is_interrupted = false;
    }

    /// Whether read-ahead has stopped, at its maximum length or because of a hit elsewhere, so that the arm has lost its
    /// place.
    fn has_stopped(&self) -> bool {
        if self.is_interrupted {
            return true;
        }
        let last = self.segments.front().filter(|_| self.measured.read_ahead_stops);
        last.is_some_and(|last| last.until == last.end && last.end == self.end.get())
    }

    fn sectors_per_ns(&self, lbn: Sectors) -> f64 {
        1.0 / self.transfer_ns(lbn, Sectors(1))
    }

    /// The first sector of a read that is neither in the buffer nor on its way to it; `None` if there is none.
    fn missing(&self, now: SimTime, lbn: Sectors, sectors: Sectors) -> Option<Sectors> {
        let (first, rate) = (lbn.get(), self.sectors_per_ns(lbn));
        let holds = |segment: &&Segment| {
            segment.from <= first && first <= segment.reached(now, rate) && first < segment.end
        };
        let Some(segment) = self.segments.iter().find(holds) else { return Some(lbn) };
        let reached = segment.reached(now, rate);
        let is_there = reached < segment.end || first + sectors.get() <= reached;
        (!is_there).then_some(Sectors(reached))
    }

    /// Serves a read from read-ahead, if its data are there or about to be. `held`: how long the drive has held it.
    fn read_on(
        &mut self,
        now: SimTime,
        lbn: Sectors,
        sectors: Sectors,
        held: SimSpan,
    ) -> Option<SimTime> {
        let (first, last) = (lbn.get(), (lbn + sectors).get());
        let place = self.segments.iter().position(|s| first >= s.from && last <= s.end)?;
        let rate = self.sectors_per_ns(lbn);
        if place == 0 && self.measured.read_ahead_stops {
            self.segments[0].stop_where_full(now, rate);
        }
        let segment = self.segments[place];
        // sectors not yet reached by read-ahead are no hit: their measured distances include the time to them
        if first > segment.reached(now, rate) {
            return None;
        }
        let missing = last.saturating_sub(segment.until) as f64 / rate;
        // only the latest segment still grows
        let there = segment.at + SimSpan::from_ns(missing as u64);
        let bytes = (sectors.get() * SECTOR_BYTES) as f64;
        let hits = &self.measured.read_ahead_hit_ns;
        // the drive prepares a command while it holds it, so that only the transfer remains
        let prepared_ns = alone_ns(hits, 0.0).min(held.as_ns() as f64);
        let hit = span(alone_ns(hits, bytes) - prepared_ns);
        let done = (now + hit).max(there);
        if place > 0 && self.measured.hits_end_read_ahead {
            let latest = self.segments[0];
            let is_interrupted = self.is_interrupted || latest.reached(now, rate) < latest.end;
            self.stop_reading_on(now);
            self.is_interrupted = is_interrupted;
        }
        if place == 0 {
            let ahead = self.measured.read_ahead_sectors;
            let end = self.reads_on_to(first, last);
            let segment = &mut self.segments[0];
            if last > segment.until {
                (segment.until, segment.at) = (last, there);
            }
            if segment.end > segment.until {
                // the window moves with the reader
                segment.end = segment.end.max(end);
                segment.from = segment.from.max(last.saturating_sub(ahead));
            }
            (self.end, self.ended) = (Sectors(last), self.ended.max(there));
        }
        Some(done)
    }

    /// When the device takes a command: a full buffer must first empty a write.
    fn room_at(&mut self, now: SimTime) -> SimTime {
        while self.written.front().is_some_and(|at| *at <= now) {
            self.written.pop_front();
        }
        let room = self.measured.buffered_writes as usize;
        let until = self.written.len().checked_sub(room);
        until.and_then(|until| self.written.get(until)).map_or(now, |at| now.max(*at))
    }

    /// When a write that continues a buffered one is merged into it; `None` if it is not.
    fn joins_at(&self, now: SimTime, lbn: Sectors, sectors: Sectors) -> Option<SimTime> {
        let last = self.written.back().filter(|at| **at > now && lbn == self.end)?;
        let room = self.measured.joined_write_sectors.checked_sub(sectors.get())?;
        if self.run <= room {
            return Some(now);
        }
        // as soon as the rest of the buffered data leaves enough room
        let left_ns = self.transfer_ns(lbn, Sectors(room)) as u64;
        Some(now.max(SimTime::from_ns(last.as_ns().saturating_sub(left_ns))))
    }

    /// Puts a write into the drive's buffer, from where it goes to the medium after earlier ones.
    fn take_write(
        &mut self,
        now: SimTime,
        room_at: SimTime,
        lbn: Sectors,
        sectors: Sectors,
        reach_ns: Option<f64>,
    ) -> Served {
        let joins_at = self.joins_at(now, lbn, sectors);
        let taken_at = joins_at.map_or(room_at, |at| at.min(room_at));
        if joins_at.is_some() {
            self.written.pop_back();
        } else {
            self.run = 0;
        }
        self.run += sectors.get();
        let start = now.max(self.busy_until);
        // the write that continues the last one is in the buffer before the end of the last one is on the
        // medium
        let follows = start > now && lbn == self.end;
        let move_ns = match reach_ns {
            _ if follows => 0.0,
            // the scheduler chose the write because the arm reaches it first
            Some(reach_ns) => reach_ns,
            None => self.positioning_ns(start, self.mechanical, lbn, None),
        };
        self.stop_reading_on(start);
        let work = span(move_ns + self.transfer_ns(lbn, sectors));
        self.busy_until = start + work;
        self.written.push_back(self.busy_until);
        (self.end, self.ended) = (lbn + sectors, self.busy_until);
        self.last = Op::Write;
        let bytes = (sectors.get() * SECTOR_BYTES) as f64;
        let done = taken_at + span(alone_ns(&self.measured.write_alone_ns, bytes));
        let service = done - now;
        Served { done, taken: Taken { service, work, alone: service } }
    }
}

/// Interpolates an operation's time linearly by size, and extrapolates beyond the measured sizes.
fn alone_ns(known: &[(u64, f64)], bytes: f64) -> f64 {
    let (Some(first), Some(last)) = (known.first(), known.last()) else { return 0.0 };
    let size = (last.0 - first.0) as f64;
    let slope = if size > 0.0 { (last.1 - first.1) / size } else { 0.0 };
    (first.1 + (bytes - first.0 as f64) * slope).max(0.0)
}

/// Interpolates a function with evenly spaced known values at a place from 0 to 1.
fn at_place(known: &[f64], place: f64) -> f64 {
    let at = place.clamp(0.0, 1.0) * (known.len() - 1) as f64;
    let below = (at as usize).min(known.len().saturating_sub(2));
    let part = at - below as f64;
    known[below] * (1.0 - part) + known[(below + 1).min(known.len() - 1)] * part
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::super::measurement::nothing;
    use super::*;

    const MS: f64 = 1e6;

    /// 100 MB/s; whatever does not continue takes 5 ms to position; 512 sectors of read-ahead; no
    /// write is taken before it is on the medium.
    fn measurement() -> Measurement {
        let positioning = |distance_sectors| Positioning {
            from_sector: 0,
            distance_sectors,
            quantiles_ns: [5.0 * MS; QUANTILES],
        };
        let positioning = [1, 64, 100_000].map(positioning).to_vec();
        Measurement {
            positioning: [positioning.clone(), positioning],
            read_ahead_sectors: 512,
            read_ahead_streams: 1,
            read_ahead_hit_ns: vec![(4096, 0.1 * MS), (65536, 0.1 * MS)],
            ..nothing()
        }
    }

    fn disk(measured: Measurement) -> Rotating {
        Rotating::new(Arc::new(measured), Seed(1).stream("disk"))
    }

    /// Time of a read of 8 sectors at `lbn`, a pause after a read of the first 8, ms.
    fn after_ms(lbn: u64, pause: SimSpan) -> f64 {
        let mut disk = disk(measurement());
        let first = disk
            .serve(
                SimTime::ZERO,
                Operation { op: Op::Read, lbn: Sectors(0), sectors: Sectors(8) },
                Begun::default(),
            )
            .done;
        let then = first + pause;
        let served = disk.serve(
            then,
            Operation { op: Op::Read, lbn: Sectors(lbn), sectors: Sectors(8) },
            Begun::default(),
        );
        (served.done - then).as_ms_f64()
    }

    #[test]
    fn what_was_read_on_to_is_there_and_what_follows_comes() {
        assert!((after_ms(200, SimSpan::from_ms(2)) - 0.1).abs() < 0.001);
        // the sectors themselves pass in 41 us
        assert!((after_ms(8, SimSpan::ZERO) - 0.1).abs() < 0.001);
    }

    #[test]
    fn what_the_arm_would_come_to_is_positioned_for() {
        assert!((after_ms(24, SimSpan::ZERO) - 5.041).abs() < 0.001);
        // 390 of 504 sectors are there
        assert!((after_ms(450, SimSpan::from_ms(2)) - 5.041).abs() < 0.001);
    }

    #[test]
    fn neighbors_that_a_drive_holds_have_angles_in_the_order_of_their_sectors() {
        let mut disk = disk(measurement());
        // a revolution of 8 ms passes 1562.5 sectors
        disk.turn_ns = 8.0 * MS;
        let held = [(Sectors(9000), 0.3), (Sectors(900), 0.9)];
        let mut angle = |lbn: u64| disk.angle_beside(Sectors(lbn), held);
        assert!((angle(9000 + 625) - 0.7).abs() < 1e-9);
        assert!((angle(900 - 250) - 0.74).abs() < 1e-9);
        // past the end of the revolution
        assert!((angle(900 + 250) - 0.06).abs() < 1e-9);
        // any angle on another track
        assert!((0.0..1.0).contains(&angle(50_000)));
        assert!((angle(50_000) - angle(50_000)).abs() > 1e-9);
    }

    #[test]
    fn a_buffered_write_that_the_arm_reaches_first_is_soon_on_the_medium() {
        let buffered = Measurement {
            buffered_writes: 1,
            write_alone_ns: vec![(4096, 0.1 * MS), (131_072, 0.1 * MS)],
            ..measurement()
        };
        // the second write finds room when the first is on the medium
        let second_ms = |reach_ns: Option<f64>| {
            let mut disk = disk(buffered.clone());
            let write =
                |lbn: u64| Operation { op: Op::Write, lbn: Sectors(lbn), sectors: Sectors(8) };
            disk.serve(SimTime::ZERO, write(100_000), Begun { reach_ns, ..Begun::default() });
            let second = disk.serve(SimTime::ZERO, write(200_000), Begun::default());
            (second.done - SimTime::ZERO).as_ms_f64()
        };
        // the drawn time if the scheduler chose it; otherwise the measured one
        assert!((second_ms(Some(1.0 * MS)) - 1.141).abs() < 0.001, "{}", second_ms(Some(1.0 * MS)));
        assert!((second_ms(None) - 5.141).abs() < 0.001, "{}", second_ms(None));
    }

    #[test]
    fn writes_that_continue_the_last_join_it_as_far_as_there_is_room() {
        let buffered = Measurement {
            buffered_writes: 1,
            joined_write_sectors: 512,
            write_alone_ns: vec![(4096, 0.1 * MS), (131_072, 0.1 * MS)],
            ..measurement()
        };
        // submits four writes of 256 sectors at once, which begin at these sectors
        let times_ms = |lbns: [u64; 4]| {
            let mut disk = disk(buffered.clone());
            lbns.map(|lbn| {
                let write = Operation { op: Op::Write, lbn: Sectors(lbn), sectors: Sectors(256) };
                (disk.serve(SimTime::ZERO, write, Begun::default()).done - SimTime::ZERO)
                    .as_ms_f64()
            })
        };
        let near = |found: [f64; 4], expected: [f64; 4]| {
            let off = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
            assert!(off.fold(0.0, f64::max) < 0.001, "{found:?}");
        };
        // 256 sectors transfer in 1.311 ms: the third finds room when the first has left, the
        // fourth when the second has
        near(times_ms([9000, 9256, 9512, 9768]), [0.1, 0.1, 6.411, 7.722]);
        // at other places, each write waits until the previous one is on the medium
        near(times_ms([9000, 900, 19_000, 500]), [0.1, 6.411, 12.722, 19.032]);
    }

    #[test]
    fn a_hit_elsewhere_may_end_read_ahead() {
        for ends in [false, true] {
            let measured =
                Measurement { read_ahead_streams: 2, hits_end_read_ahead: ends, ..measurement() };
            let mut disk = disk(measured);
            let mut read = |at_ms: u64, lbn: u64| {
                let now = SimTime::ZERO + SimSpan::from_ms(at_ms);
                disk.serve(
                    now,
                    Operation { op: Op::Read, lbn: Sectors(lbn), sectors: Sectors(8) },
                    Begun::default(),
                )
                .done
                    - now
            };
            read(0, 0);
            read(100, 1_000_000);
            // a hit of the first stream, while the drive reads on behind the second
            let hit = read(106, 8);
            assert!(hit < SimSpan::from_ms(1), "{hit:?}");
            let later = read(200, 1_000_400);
            assert_eq!(later < SimSpan::from_ms(1), !ends, "{later:?}");
        }
    }

    /// A disk whose buffer takes two writes. It has read the first 8 sectors, read ahead, and just
    /// taken a write of 8 at 9000. A place near a write is 7 ms away; a revolution takes 8 ms.
    fn after_a_write(reads_wait_for_writes: bool) -> (Rotating, SimTime) {
        let mut measured = Measurement {
            buffered_writes: 2,
            write_alone_ns: vec![(4096, 0.1 * MS), (131_072, 0.1 * MS)],
            reads_wait_for_writes,
            ..measurement()
        };
        let near = |distance_sectors| Positioning {
            from_sector: 0,
            distance_sectors,
            quantiles_ns: [7.0 * MS; QUANTILES],
        };
        measured.positioning[1].extend([-1, -64, 32].map(near));
        let mut disk = disk(measured);
        disk.turn_ns = 8.0 * MS;
        let read = disk
            .serve(
                SimTime::ZERO,
                Operation { op: Op::Read, lbn: Sectors(0), sectors: Sectors(8) },
                Begun::default(),
            )
            .done;
        let begin = read + SimSpan::from_ms(2);
        let write = Operation { op: Op::Write, lbn: Sectors(9000), sectors: Sectors(8) };
        let written = disk.serve(begin, write, Begun::default()).done;
        assert!(((written - begin).as_ms_f64() - 0.1).abs() < 0.001);
        (disk, begin)
    }

    #[test]
    fn reads_wait_for_writes_where_they_were_seen_to() {
        // the write is on the medium after 5.041 ms
        for (waits, expected_ms) in [(true, 5.141), (false, 0.2)] {
            let (mut disk, begin) = after_a_write(waits);
            let now = begin + SimSpan::from_us(100);
            let hit = disk
                .serve(
                    now,
                    Operation { op: Op::Read, lbn: Sectors(8), sectors: Sectors(8) },
                    Begun::default(),
                )
                .done;
            assert!(((hit - begin).as_ms_f64() - expected_ms).abs() < 0.001, "{hit:?}");
        }
    }

    #[test]
    fn what_is_near_a_write_comes_by_after_a_turn_less_the_pause() {
        for (pause_ms, expected_ms) in [(5, 7.041), (7, 5.082), (13, 7.082)] {
            let (mut disk, begin) = after_a_write(true);
            let now = begin + SimSpan::from_ms(pause_ms);
            let near = disk
                .serve(
                    now,
                    Operation { op: Op::Read, lbn: Sectors(8950), sectors: Sectors(8) },
                    Begun::default(),
                )
                .done;
            // from the end of the write, or from now, whichever is later
            let from = now.max(begin + SimSpan::from_us(5041));
            let took = (near - from).as_ms_f64();
            assert!((took - expected_ms).abs() < 0.002, "{pause_ms}: {took}");
        }
    }

    #[test]
    fn a_place_waits_until_its_angle_comes_by() {
        // the arm takes 1 ms, and a revolution 8 ms
        let far = |distance_sectors| Positioning {
            from_sector: 0,
            distance_sectors,
            quantiles_ns: std::array::from_fn(|at| (1.0 + at as f64 / 2.0) * MS),
        };
        let positioning = [100_000, 1_000_000].map(far).to_vec();
        let mut disk =
            disk(Measurement { positioning: [positioning.clone(), positioning], ..nothing() });
        disk.turn_ns = 8.0 * MS;
        let place = Sectors(500_000);
        for (now_ms, expected_ms) in [(0, 4.0), (2, 2.0), (4, 8.0), (12, 8.0)] {
            let now = SimTime::ZERO + SimSpan::from_ms(now_ms);
            let held = Held { since: now, angle: 0.5 };
            let reach_ms = disk.reach_ns(
                now,
                Operation { op: Op::Read, lbn: place, sectors: Sectors(8) },
                held,
            ) / MS;
            assert!((reach_ms - expected_ms).abs() < 0.001, "{now_ms}: {reach_ms}");
        }
    }

    #[test]
    fn of_a_hit_that_the_drive_has_held_only_the_transfer_remains() {
        // a hit takes 50 us and 5 us for each KiB
        let mut measured = measurement();
        measured.read_ahead_hit_ns = vec![(4096, 0.07 * MS), (65_536, 0.37 * MS)];
        let read = |lbn: u64| Operation { op: Op::Read, lbn: Sectors(lbn), sectors: Sectors(8) };
        for (held_us, expected_us) in [(0, 70.0), (20, 50.0), (400, 20.0)] {
            let mut disk = disk(measured.clone());
            let first = disk.serve(SimTime::ZERO, read(1000), Begun::default()).done;
            let now = first + SimSpan::from_ms(1);
            let begun = Begun { held: SimSpan::from_us(held_us), ..Begun::default() };
            let took = disk.serve(now, read(1008), begun).done - now;
            assert!((took.as_ms_f64() * 1e3 - expected_us).abs() < 0.5, "{held_us}: {took:?}");
        }
    }

    #[test]
    fn a_read_in_part_is_reached_by_its_missing_sector() {
        let mut disk = disk(measurement());
        disk.serve(
            SimTime::ZERO,
            Operation { op: Op::Read, lbn: Sectors(1000), sectors: Sectors(8) },
            Begun::default(),
        );
        let stopped = disk.segments[0].end;
        let now = SimTime::ZERO + SimSpan::from_secs(1);
        let wants = |first: u64, sectors: u64| disk.missing(now, Sectors(first), Sectors(sectors));
        assert_eq!(wants(1004, 8), None);
        assert_eq!(wants(stopped - 4, 8), Some(Sectors(stopped)));
        assert_eq!(wants(stopped + 4, 8), Some(Sectors(stopped + 4)));
    }

    #[test]
    fn a_short_way_ahead_is_missed_after_a_pause() {
        // a revolution takes 8 ms, and 64 sectors take 1 ms where short distances were measured
        let near = |distance_sectors| Positioning {
            from_sector: 0,
            distance_sectors,
            quantiles_ns: [distance_sectors as f64 / 64.0 * MS; QUANTILES],
        };
        let positioning = [4, 32, 64, 128].map(near).to_vec();
        let rates = [32.768e6, 32.768e6, 65.536e6, 65.536e6].to_vec();
        let measured = Measurement {
            capacity_bytes: 1 << 30,
            stream_bytes_per_s: [rates.clone(), rates],
            positioning: [positioning.clone(), positioning],
            ..nothing()
        };
        let took_ms = |first: u64, pause: SimSpan| {
            let mut disk = disk(measured.clone());
            disk.turn_ns = 8.0 * MS;
            let read =
                |lbn: u64| Operation { op: Op::Read, lbn: Sectors(lbn), sectors: Sectors(8) };
            let from = disk.serve(SimTime::ZERO, read(first), Begun::default()).done + pause;
            let done = disk.serve(from, read(first + 8 + 64), Begun::default()).done;
            (done - from).as_ms_f64()
        };
        for (pause_us, expected_ms) in [(0, 1.0), (600, 0.4), (1600, 7.4), (9600, 7.4)] {
            let took = took_ms(0, SimSpan::from_us(pause_us)) - 0.125;
            assert!((took - expected_ms).abs() < 0.002, "{pause_us}: {took}");
        }
        // twice as many sectors pass in the same time where the rate is twice as high
        let took = took_ms((1 << 21) - 1000, SimSpan::ZERO) - 0.0625;
        assert!((took - 0.5).abs() < 0.002, "{took}");
    }

    #[test]
    fn what_follows_a_write_is_as_far_as_the_platter_has_turned_on() {
        let (mut disk, begin) = after_a_write(true);
        let (next, held) = (Sectors(9008), Held { since: begin, angle: 0.5 });
        // while the write is in progress, its continuation takes no positioning
        assert!(
            disk.reach_ns(begin, Operation { op: Op::Read, lbn: next, sectors: Sectors(8) }, held)
                .abs()
                < 1.0
        );
        // the write ends after 5.041 ms, and a revolution takes 8
        let reach_ms = disk.reach_ns(
            begin + SimSpan::from_ms(7),
            Operation { op: Op::Read, lbn: next, sectors: Sectors(8) },
            held,
        ) / MS;
        assert!((reach_ms - (8.0 - 1.959)).abs() < 0.001, "{reach_ms}");
    }
}
