//! What the sender of one TCP connection knows: its window, what is in flight, what was lost.
//!
//! **Window.** It opens by slow start up to a threshold and then by a segment a round trip (RFC
//! 5681), never beyond the receiver's, and only while it keeps data waiting (RFC 7661). It is kept
//! from message to message; an idle timeout halves it, down to the initial window (RFC 2861, as
//! Linux does).
//!
//! **Losses.** A segment is taken for lost when three that were sent later have been acknowledged
//! (SACK, RFC 6675). Then the window is halved once, and all that is known to be lost is sent again as
//! the window allows. Until the gap is closed the window does not open. It is halved again only if a
//! segment is lost that was first sent after the last halving (beyond the recovery point). If too few
//! segments follow for that, the retransmission timeout passes: the window closes to one segment, and the
//! timeout doubles with each repetition (RFC 6298).
//!
//! **Probes** (RACK-TLP, RFC 8985; Linux has had them since 2013 and 2016). One later segment
//! acknowledged is enough, after an eighth of a round trip; or at once while a gap is open. When
//! nothing has come back for two round trips, one more segment is sent, so that its
//! acknowledgement shows the loss at the end. There is no probe while a gap is open, for a single
//! segment in flight, or after a probe: then the timeout is all there is.
//!
//! **Trains.** What goes out in one go is acknowledged in one go, when the last segment of it that
//! passed has come, as receive offload does. New data goes out in trains of a third of the window
//! (Linux: `tcp_tso_win_divisor`), of 64 KiB at the most (Linux: the greatest offloaded packet). Where a
//! message is shorter than a train, the train goes on with the next message.
//!
//! A connection is told by the network what will be acknowledged when and what was dropped; it acts
//! on it only when the acknowledgement arrives or a timer runs out.

use std::collections::VecDeque;

use foretell_units::{HostId, SimSpan, SimTime};

use super::acks::{Ack, Acks};
use super::segment::{Run, SEGMENT_WIRE};

/// Later segments acknowledged before a segment is taken for lost (RFC 5681).
const LATER_ACKS: u64 = 3;
/// The smallest threshold after a loss (RFC 5681).
const LEAST_THRESHOLD: u64 = 2 * SEGMENT_WIRE;
/// New data waits until this part of the window is free (Linux: `tcp_tso_win_divisor`).
const WINDOW_PARTS: u64 = 3;
/// The most segments that go out as one train: as many as 64 KiB hold.
const LONGEST_TRAIN: u32 = 45;
/// The longest retransmission timeout (Linux: `TCP_RTO_MAX`).
const LONGEST_TIMEOUT: SimSpan = SimSpan::from_secs(120);
/// The weight of a new measurement in the smoothed round trip is one in so many (RFC 6298).
const SMOOTHING: u64 = 8;

/// What connections have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    /// The receiver's window, in bytes on the wire.
    pub(super) receive_window: u64,
    /// The window to begin with, in bytes on the wire.
    pub(super) initial_window: u64,
    /// The retransmission timeout is this and a round trip.
    pub(super) least_timeout: SimSpan,
    /// Whether senders probe for losses.
    pub(super) probes: bool,
}

/// Segments of a message; `message` is an index of the network's table.
#[derive(Clone, Copy, Debug)]
struct Piece {
    message: u32,
    run: Run,
}

impl Piece {
    fn sending(self, again: bool) -> Sending {
        Sending { message: self.message, run: self.run, again }
    }
}

/// What a connection sends next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) message: u32,
    pub(super) run: Run,
    /// Whether it was sent before.
    pub(super) again: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing is known to be missing.
    Open,
    /// A loss showed; what is missing is being sent again.
    Recovery,
    /// A timeout passed; what is missing is being sent again.
    Loss,
}

/// The sender's side of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) from: HostId,
    pub(super) to: HostId,
    /// The congestion window in bytes on the wire.
    window: u64,
    /// Below it the window opens by slow start.
    threshold: u64,
    /// Sent, and neither acknowledged nor known to be lost: bytes on the wire.
    in_flight: u64,
    /// Segments sent, of these passed or dropped by the switch, and of these acknowledged.
    sent: u64,
    passed: u64,
    dropped: u64,
    acked: u64,
    last_sent: SimTime,
    /// Smoothed, with all acknowledgements to come.
    round_trip: SimSpan,
    acks: Acks,
    /// When the last acknowledgement of what has passed so far arrives.
    last_ack: SimTime,
    /// When the connection is to be looked at, which an event is pending for.
    pub(super) wake: Option<Wake>,
    state: State,
    /// Whether the window kept data waiting when it was looked at last.
    limited: bool,
    /// Number of the segment that was sent again last.
    resent: u64,
    /// Number of the first segment sent after the window was last halved: if that or a later one is lost,
    /// the window is halved again (the recovery point of RFC 6675).
    recovery_point: u64,
    /// Messages that did not go out whole, or lost something, or follow such a one.
    pub(super) backlog: Option<Box<Backlog>>,
}

/// When a connection is to be looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wake {
    /// The host gets round to it then.
    pub(super) at: SimTime,
    /// There is something to do since then.
    pub(super) due: SimTime,
}

/// What a connection has not got across.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Messages that the receiver cannot have yet, in the order of the stream.
    pub(super) incomplete: VecDeque<u32>,
    unsent: VecDeque<Piece>,
    /// Dropped, and the sender does not know; in the order in which they were sent.
    lost: VecDeque<Lost>,
    /// Known to be lost.
    resend: VecDeque<Piece>,
    /// Timeouts in a row.
    timeouts: u32,
    /// Whether a segment goes out whatever the window says: the first of a fast retransmission.
    urgent: bool,
    /// Whether a probe has been sent since the last acknowledgement.
    probed: bool,
    /// Segments that still fit into the train that is being sent.
    begun: u32,
}

/// Segments that the switch dropped, before the sender knows.
#[derive(Clone, Copy, Debug)]
struct Lost {
    piece: Piece,
    /// Number of the first of them, counting all that were sent on the connection.
    number: u64,
    /// Whether they had been sent again.
    again: bool,
    /// When the last segment of their train was at the switch: nothing happens to the train later.
    tail: SimTime,

    /// Segments that had passed before.
    before: u64,
    /// When the retransmission timer was set.
    since: SimTime,
    /// The round trip by the acknowledgements up to then.
    round_trip: SimSpan,
    /// When the sender takes a single later acknowledgement for a proof.
    proof: Option<SimTime>,
}

impl Connection {
    /// A connection that has sent nothing, and whose round trip was measured when it was set up.
    pub(super) fn new(from: HostId, to: HostId, round_trip: SimSpan, settings: &Settings) -> Self {
        Self {
            from,
            to,
            window: settings.initial_window.min(settings.receive_window),
            threshold: u64::MAX,
            in_flight: 0,
            sent: 0,
            passed: 0,
            dropped: 0,
            acked: 0,
            last_sent: SimTime::ZERO,
            round_trip,
            acks: Acks::default(),
            last_ack: SimTime::ZERO,
            wake: None,
            state: State::Open,
            limited: false,
            resent: 0,
            recovery_point: 0,
            backlog: None,
        }
    }

    /// Whether a message may go out at once and whole.
    ///
    /// What was dropped and the sender does not know of is no hindrance.
    #[inline]
    pub(super) fn may_send(&mut self, now: SimTime, run: Run, settings: &Settings) -> bool {
        let idle = self.backlog.as_ref().is_none_or(|backlog| backlog.is_idle());
        if !idle || self.state != State::Open || run.segments > LONGEST_TRAIN {
            return false;
        }
        self.settle(now, settings);
        if self.in_flight == 0 && self.window > settings.initial_window {
            self.wake_from_idleness(now, settings);
        }
        let may = self.in_flight + run.wire <= self.window;
        self.limited &= !may;
        may
    }

    /// Each timeout that the connection was idle halves its window, down to the initial one.
    fn wake_from_idleness(&mut self, now: SimTime, settings: &Settings) {
        let timeout = settings.least_timeout + self.round_trip;
        let mut idle = now.saturating_since(self.last_sent);
        if idle > timeout {
            // the way back is by slow start (RFC 2861)
            self.threshold = self.threshold.max(self.window / 4 * 3);
        }
        while idle > timeout && self.window > settings.initial_window {
            self.window = (self.window / 2).max(settings.initial_window);
            idle -= timeout;
        }
    }

    /// Segments have gone out.
    #[inline]
    pub(super) fn note_sent(&mut self, now: SimTime, run: Run) {
        self.in_flight += run.wire;
        self.sent += u64::from(run.segments);
        self.last_sent = now;
    }

    /// Segments sent whose fate is not known to the network.
    pub(super) fn under_way(&self) -> u64 {
        self.sent - self.passed - self.dropped
    }

    /// So many segments have passed the switch.
    #[inline]
    pub(super) fn pass(&mut self, segments: u32) {
        self.passed += u64::from(segments);
    }

    /// The last segment of a train has reached the switch; what has passed of it will be
    /// acknowledged.
    #[inline]
    pub(super) fn expect_ack(&mut self, at: SimTime, sent: SimTime, run: Run) {
        let at = at.max(self.last_ack);
        self.last_ack = at;
        self.round_trip = (self.round_trip * (SMOOTHING - 1) + (at - sent)) / SMOOTHING;
        let number = self.passed + self.dropped - 1;
        self.acks.push(Ack { at, run, number });
    }

    /// The switch has dropped a segment of a train that was sent at `sent` and is there at `tail`.
    pub(super) fn drop(
        &mut self,
        (sent, tail): (SimTime, SimTime),
        message: u32,
        run: Run,
        again: bool,
    ) {
        let piece = Piece { message, run };
        let (before, number) = (self.passed, self.passed + self.dropped);
        self.dropped += u64::from(piece.run.segments);
        // the timer was set by the last acknowledgement before the gap
        let since = self.last_ack.max(sent);
        let lost = &mut self.backlog.as_mut().expect("the message is not complete").lost;
        match lost.back_mut() {
            Some(newest) if (newest.tail, newest.before) == (tail, before) => {
                newest.piece.run.append(piece.run);
            }
            _ => {
                let round_trip = self.round_trip;
                lost.push_back(Lost {
                    piece,
                    number,
                    again,
                    before,
                    tail,
                    since,
                    round_trip,
                    proof: None,
                });
            }
        }
    }

    /// Takes in the acknowledgements that have arrived by `now`.
    #[inline]
    pub(super) fn settle(&mut self, now: SimTime, settings: &Settings) {
        while let Some(ack) = self.acks.take(now) {
            let (window, state) = self.after(&ack, self.window, self.state, settings);
            (self.window, self.state) = (window, state);
            self.in_flight -= ack.run.wire;
            self.acked += u64::from(ack.run.segments);
            if let Some(backlog) = &mut self.backlog {
                backlog.timeouts = 0;
                backlog.probed = false;
            }
        }
    }

    /// What the window and the state are after an acknowledgement, if they are so before it.
    fn after(&self, ack: &Ack, window: u64, state: State, settings: &Settings) -> (u64, State) {
        let opens = state == State::Loss || (state == State::Open && self.limited);
        let window = if opens { self.opened(window, ack.run.wire, settings) } else { window };
        if state == State::Open {
            return (window, state);
        }
        let gap = self.backlog.as_ref().is_some_and(|backlog| {
            let lost = backlog.lost.front().is_some_and(|lost| lost.number < ack.number);
            lost || !backlog.resend.is_empty()
        });
        let closed = !gap && ack.number >= self.resent;
        (window, if closed { State::Open } else { state })
    }

    /// The window, opened for so many bytes acknowledged.
    fn opened(&self, window: u64, bytes: u64, settings: &Settings) -> u64 {
        let slow_start = bytes.min(self.threshold.saturating_sub(window));
        let window = window + slow_start;
        (window + (bytes - slow_start) * SEGMENT_WIRE / window).min(settings.receive_window)
    }

    /// Half the window, from where it will open slowly.
    fn halve(&mut self) {
        self.threshold = (self.window / 2).max(LEAST_THRESHOLD);
    }

    /// Data waits for its turn.
    pub(super) fn enqueue(&mut self, message: u32, run: Run) {
        let backlog = self.backlog.as_mut().expect("its message is entered");
        backlog.unsent.push_back(Piece { message, run });
    }

    /// Finds the losses that show by now; whether that halved the window.
    pub(super) fn find_losses(&mut self, now: SimTime, settings: &Settings) -> bool {
        let Some(backlog) = &mut self.backlog else { return false };
        let (mut found, mut since_then) = (false, false);
        while let Some(lost) = backlog.lost.front_mut() {
            let later = self.acked.saturating_sub(lost.before);
            if later < LATER_ACKS {
                if later == 0 || !settings.probes {
                    break;
                }
                let proof = *lost.proof.get_or_insert(now + lost.round_trip / 8);
                if self.state == State::Open && proof > now {
                    break;
                }
            }
            self.in_flight -= lost.piece.run.wire;
            backlog.resend.push_back(lost.piece);
            since_then |= !lost.again && lost.number >= self.recovery_point;
            backlog.lost.pop_front();
            found = true;
        }
        let closes = match self.state {
            State::Open => found,
            State::Recovery => since_then,
            // all goes out again anyhow, from a window of one segment
            State::Loss => false,
        };
        if !closes {
            return false;
        }
        backlog.urgent = true;
        self.state = State::Recovery;
        self.recovery_point = self.sent;
        self.halve();
        self.window = self.threshold;
        true
    }

    /// When the retransmission timeout passes, if something is lost.
    fn deadline(&self, settings: &Settings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let lost = backlog.lost.front()?;
        let timeout = settings.least_timeout + lost.round_trip;
        let after = |timeouts: u32| {
            let timeout = (timeout * (1 << timeouts.min(16))).min(LONGEST_TIMEOUT);
            (lost.since + timeout).max(lost.tail)
        };
        let deadline = after(backlog.timeouts);
        // an acknowledgement ends the row of timeouts
        let ends = self.acks.iter().next().filter(|ack| ack.at <= deadline);
        Some(ends.map_or(deadline, |ack| after(0).max(ack.at)))
    }

    /// Acts on the retransmission timeout, if it has passed; whether it has.
    pub(super) fn time_out(&mut self, now: SimTime, settings: &Settings) -> bool {
        if self.deadline(settings).is_none_or(|deadline| deadline > now) {
            return false;
        }
        if self.state == State::Open {
            self.halve();
        }
        self.state = State::Loss;
        self.recovery_point = self.sent;
        self.window = SEGMENT_WIRE;
        let backlog = self.backlog.as_mut().expect("it has a deadline");
        backlog.timeouts += 1;
        while let Some(lost) = backlog.lost.front().filter(|lost| lost.tail <= now) {
            self.in_flight -= lost.piece.run.wire;
            backlog.resend.push_back(lost.piece);
            backlog.lost.pop_front();
        }
        true
    }

    /// When a probe is due, if one is.
    fn probe_at(&self, settings: &Settings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let lost = backlog.lost.front().filter(|_| settings.probes)?;
        let due = (lost.since + lost.round_trip * 2).max(lost.tail);
        // things as they will be then
        let (mut state, mut in_flight, mut acked) = (self.state, self.in_flight, self.acked);
        let mut probed = backlog.probed;
        for ack in self.acks.iter().take_while(|ack| ack.at <= due) {
            state = self.after(ack, self.window, state, settings).1;
            in_flight -= ack.run.wire;
            acked += u64::from(ack.run.segments);
            probed = false;
        }
        let needed = acked <= lost.before && in_flight > SEGMENT_WIRE;
        (needed && state == State::Open && !probed).then_some(due)
    }

    /// Sends one segment more when the time for it has come: a new one or, failing that, the last.
    pub(super) fn probe(&mut self, now: SimTime, settings: &Settings) -> Option<Sending> {
        if self.probe_at(settings).is_none_or(|at| at > now) {
            return None;
        }
        let backlog = self.backlog.as_mut().expect("a probe is due");
        backlog.probed = true;
        let known = backlog.lost.iter().take_while(|lost| lost.tail <= now).count();
        for lost in backlog.lost.iter_mut().take(known) {
            lost.since = now;
        }
        if !backlog.unsent.is_empty() {
            return Some(take(&mut backlog.unsent, 1).sending(false));
        }
        let last = &mut backlog.lost[known - 1];
        let (message, run) = (last.piece.message, last.piece.run);
        let run = if run.segments > 1 {
            let (head, tail) = run.split(run.segments - 1);
            last.piece.run = head;
            tail.expect("one segment is left")
        } else {
            backlog.lost.remove(known - 1);
            run
        };
        self.in_flight -= run.wire;
        self.resent = self.sent;
        Some(Sending { message, run, again: true })
    }

    /// What the window allows to be sent now.
    pub(super) fn next(&mut self) -> Option<Sending> {
        let backlog = self.backlog.as_mut()?;
        let Some(count) = backlog.room(self.window, self.in_flight) else {
            self.limited = !backlog.is_idle();
            backlog.begun = 0;
            return None;
        };
        backlog.urgent = false;
        let again = !backlog.resend.is_empty();
        let queue = if again { &mut backlog.resend } else { &mut backlog.unsent };
        let piece = take(queue, count);
        if again {
            self.resent = self.sent + u64::from(piece.run.segments) - 1;
        } else {
            // the next message goes on with the same train
            let left = if backlog.begun > 0 { backlog.begun } else { portion(self.window) };
            backlog.begun = left - piece.run.segments;
        }
        Some(piece.sending(again))
    }

    /// When there will be something to do, as far as it is known now.
    pub(super) fn next_wake(&self, settings: &Settings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let room = self.room_at(backlog, settings);
        let (shows, proof) = match backlog.lost.front() {
            None => (None, None),
            Some(lost) => {
                // if it shows already, the connection is to be looked at for that
                let later = (lost.before + LATER_ACKS).saturating_sub(self.acked);
                let shows = if later == 0 { None } else { self.acks.nth(later) };
                let proof = lost.proof.or_else(|| {
                    let wanted = settings.probes && self.acked <= lost.before;
                    let later = wanted.then(|| lost.before + 1 - self.acked)?;
                    self.acks.nth(later)
                });
                (shows, proof)
            }
        };
        let timers = [self.probe_at(settings), self.deadline(settings)];
        [room, shows, proof].into_iter().chain(timers).flatten().min()
    }

    /// After which acknowledgement the window has room for what is to be sent next.
    fn room_at(&self, backlog: &Backlog, settings: &Settings) -> Option<SimTime> {
        if backlog.is_idle() {
            return None;
        }
        let (mut window, mut state, mut in_flight) = (self.window, self.state, self.in_flight);
        for ack in self.acks.iter() {
            (window, state) = self.after(ack, window, state, settings);
            in_flight -= ack.run.wire;
            if backlog.room(window, in_flight).is_some() {
                return Some(ack.at);
            }
        }
        None
    }

    /// Bytes in flight, as its parts make them up: acknowledgements to come, and losses.
    pub(super) fn accounted_for(&self) -> u64 {
        let acks: u64 = self.acks.iter().map(|ack| ack.run.wire).sum();
        let lost = self.backlog.iter().flat_map(|backlog| &backlog.lost);
        acks + lost.map(|lost| lost.piece.run.wire).sum::<u64>()
    }

    /// Sent, and neither acknowledged nor known to be lost: bytes on the wire.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }
}

impl Backlog {
    /// Whether nothing waits to be sent.
    fn is_idle(&self) -> bool {
        self.unsent.is_empty() && self.resend.is_empty()
    }

    /// How many segments of what waits first may go out, if enough may.
    fn room(&self, window: u64, in_flight: u64) -> Option<u32> {
        let again = !self.resend.is_empty();
        let queue = if again { &self.resend } else { &self.unsent };
        let run = queue.front()?.run;
        let room = run.fitting(window.saturating_sub(in_flight));
        let portion = portion(window);
        if again {
            let enough = room >= u32::from(!self.urgent) || in_flight == 0;
            return enough.then(|| room.clamp(1, portion));
        }
        if self.begun > 0 {
            return (room > 0).then(|| room.min(self.begun));
        }
        // beyond the message, too
        let free = room.max((window.saturating_sub(in_flight) / SEGMENT_WIRE) as u32);
        (free >= self.waiting(portion) || in_flight == 0).then(|| room.clamp(1, portion))
    }

    /// Segments that wait to be sent for the first time, as far as `most`.
    fn waiting(&self, most: u32) -> u32 {
        let mut sum = 0;
        for piece in &self.unsent {
            sum += piece.run.segments;
            if sum >= most {
                return most;
            }
        }
        sum
    }

    /// Makes it ready to be used for another connection.
    pub(super) fn reset(&mut self) {
        debug_assert!(self.incomplete.is_empty() && self.unsent.is_empty());
        debug_assert!(self.lost.is_empty() && self.resend.is_empty());
        (self.timeouts, self.urgent, self.probed, self.begun) = (0, false, false, 0);
    }
}

/// The least new data worth sending when more is waiting, and the most that goes out as one train,
/// in segments.
fn portion(window: u64) -> u32 {
    (window / (WINDOW_PARTS * SEGMENT_WIRE)).clamp(1, u64::from(LONGEST_TRAIN)) as u32
}

/// Takes so many segments off the front of a queue.
fn take(queue: &mut VecDeque<Piece>, count: u32) -> Piece {
    let front = queue.front_mut().expect("something is queued");
    let message = front.message;
    let (run, rest) = front.run.split(count);
    match rest {
        Some(rest) => front.run = rest,
        None => {
            queue.pop_front();
        }
    }
    Piece { message, run }
}
