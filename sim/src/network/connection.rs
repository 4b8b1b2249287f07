//! The sender's state of one TCP connection: its window, the data in flight, and the losses.
//!
//! **Window.** It opens by slow start up to a threshold and then by a segment per round trip (RFC 5681),
//! never beyond the receiver's window, and only while it keeps data waiting (RFC 7661). It is kept from
//! message to message. An idle timeout halves it, down to the initial window (RFC 2861, as Linux does).
//!
//! **Losses.** A segment counts as lost when three segments that were sent later have been acknowledged
//! (SACK, RFC 6675). Then the window is halved once, and all segments known to be lost are sent again as
//! the window allows. The window does not open until the gap is closed. It is halved again only if a
//! segment is lost that was first sent after the last halving (beyond the recovery point). If too few
//! segments follow to show a loss, the retransmission timeout expires: the window closes to one segment,
//! and the timeout doubles with each repetition (RFC 6298).
//!
//! **Probes** (RACK-TLP, RFC 8985; Linux has had them since 2013 and 2016). With probes, one later
//! acknowledgement is enough, after an eighth of a round trip; or at once while a gap is open. When no
//! acknowledgement has come for two round trips, one more segment is sent, so that its acknowledgement
//! shows a loss at the end. There is no probe while a gap is open, for a single segment in flight, or
//! after a probe: in these cases only the timeout is left.
//!
//! **Trains.** Segments sent together are acknowledged together, when the last of them that passed has
//! arrived, as with receive offload. New data goes out in trains of a third of the window (Linux:
//! `tcp_tso_win_divisor`), but of 64 KiB at most (Linux: the greatest offloaded packet). If a message is
//! shorter than a train, the train continues with the next message.
//!
//! The network tells a connection in advance which segments will be acknowledged when, and which were
//! dropped. The connection acts on this only when the acknowledgement arrives or a timer expires.

use std::collections::VecDeque;

use foretell_units::{HostId, SimSpan, SimTime};

use super::acks::{Ack, Acks};
use super::segment::{Run, SEGMENT_WIRE};

/// Later segments acknowledged before a segment counts as lost (RFC 5681).
const LATER_ACKS: u64 = 3;
/// Minimum threshold after a loss (RFC 5681).
const MIN_THRESHOLD: u64 = 2 * SEGMENT_WIRE;
/// New data waits until one of this many parts of the window is free (Linux: `tcp_tso_win_divisor`).
const WINDOW_PARTS: u64 = 3;
/// Most segments in one train: those of 64 KiB.
const LONGEST_TRAIN: u32 = 45;
/// Longest retransmission timeout (Linux: `TCP_RTO_MAX`).
const LONGEST_TIMEOUT: SimSpan = SimSpan::from_secs(120);
/// A new measurement has a weight of one divided by this in the smoothed round trip (RFC 6298).
const SMOOTHING: u64 = 8;

/// Settings common to all connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpSettings {
    /// The receiver's window, in bytes on the wire.
    pub(super) receive_window: u64,
    /// The initial window, in bytes on the wire.
    pub(super) initial_window: u64,
    /// Minimum retransmission timeout; the round trip is added to it.
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

/// The segments that a connection sends next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) message: u32,
    pub(super) run: Run,
    /// Whether they were sent before.
    pub(super) again: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// No segment is known to be missing.
    Open,
    /// A loss was detected; missing segments are being sent again.
    Recovery,
    /// A timeout expired; missing segments are being sent again.
    Loss,
}

/// The sender's side of a connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) from: HostId,
    pub(super) to: HostId,
    /// The congestion window in bytes on the wire.
    window: u64,
    /// Below this threshold the window opens by slow start.
    threshold: u64,
    /// Bytes on the wire that were sent and are neither acknowledged nor known to be lost.
    in_flight: u64,
    /// Number of segments sent; of these, passed or dropped by the switch; of these, acknowledged.
    sent: u64,
    passed: u64,
    dropped: u64,
    acked: u64,
    last_sent: SimTime,
    /// Smoothed round trip, including acknowledgements still to come.
    round_trip: SimSpan,
    acks: Acks,
    /// Arrival time of the last acknowledgement for the segments that have passed so far.
    last_ack: SimTime,
    /// The next scheduled wake-up of the connection; an event is pending for it.
    pub(super) wake: Option<Wake>,
    state: State,
    /// Whether the window kept data waiting at the last check.
    limited: bool,
    /// Number of the segment that was last sent again.
    resent: u64,
    /// Number of the first segment sent after the window was last halved. If that or a later one is lost,
    /// the window is halved again (the recovery point of RFC 6675).
    recovery_point: u64,
    /// Messages that were not sent as a whole, or lost segments, or follow such a message.
    pub(super) backlog: Option<Box<Backlog>>,
}

/// A scheduled wake-up of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wake {
    /// Time at which the host acts.
    pub(super) at: SimTime,
    /// Time since which there is something to do.
    pub(super) due: SimTime,
}

/// Data that have not yet arrived.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Messages that cannot be complete at the receiver yet, in the order of the stream.
    pub(super) incomplete: VecDeque<u32>,
    unsent: VecDeque<Piece>,
    /// Dropped segments that the sender has not learned of yet, in the order in which they were sent.
    lost: VecDeque<Lost>,
    /// Segments known to be lost.
    resend: VecDeque<Piece>,
    /// Consecutive timeouts.
    timeouts: u32,
    /// Whether one segment is sent regardless of the window: the first of a fast retransmission.
    urgent: bool,
    /// Whether a probe has been sent since the last acknowledgement.
    probed: bool,
    /// Number of segments that still fit into the train being sent.
    begun: u32,
}

/// Segments that the switch dropped, before the sender knows of it.
#[derive(Clone, Copy, Debug)]
struct Lost {
    piece: Piece,
    /// Number of the first of them, counting all segments sent on the connection.
    number: u64,
    /// Whether they were retransmissions.
    again: bool,
    /// When the last segment of their train reached the switch; the train cannot change after that.
    tail: SimTime,

    /// Number of segments that had passed before.
    before: u64,
    /// When the retransmission timer was started.
    since: SimTime,
    /// The round trip estimate from the acknowledgements up to then.
    round_trip: SimSpan,
    /// When a single later acknowledgement counts as proof of the loss.
    proof: Option<SimTime>,
}

impl Connection {
    /// A connection that has sent nothing. Its round trip was measured at set-up.
    pub(super) fn new(
        from: HostId,
        to: HostId,
        round_trip: SimSpan,
        settings: &TcpSettings,
    ) -> Self {
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

    /// Whether a message may be sent at once and as a whole.
    ///
    /// Drops that the sender does not know of do not prevent this.
    #[inline]
    pub(super) fn may_send(&mut self, now: SimTime, run: Run, settings: &TcpSettings) -> bool {
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

    /// Halves the window for each timeout that the connection was idle, down to the initial window.
    fn wake_from_idleness(&mut self, now: SimTime, settings: &TcpSettings) {
        let timeout = settings.least_timeout + self.round_trip;
        let mut idle = now.saturating_since(self.last_sent);
        if idle > timeout {
            // the window recovers by slow start (RFC 2861)
            self.threshold = self.threshold.max(self.window / 4 * 3);
        }
        while idle > timeout && self.window > settings.initial_window {
            self.window = (self.window / 2).max(settings.initial_window);
            idle -= timeout;
        }
    }

    /// Records segments that were sent.
    #[inline]
    pub(super) fn note_sent(&mut self, now: SimTime, run: Run) {
        self.in_flight += run.wire;
        self.sent += u64::from(run.segments);
        self.last_sent = now;
    }

    /// Number of segments that were sent, but have not yet passed the switch or been dropped.
    pub(super) fn under_way(&self) -> u64 {
        self.sent - self.passed - self.dropped
    }

    /// `segments` segments have passed the switch.
    #[inline]
    pub(super) fn pass(&mut self, segments: u32) {
        self.passed += u64::from(segments);
    }

    /// The last segment of a train has reached the switch. The segments that passed will be acknowledged
    /// at `at`.
    #[inline]
    pub(super) fn expect_ack(&mut self, at: SimTime, sent: SimTime, run: Run) {
        let at = at.max(self.last_ack);
        self.last_ack = at;
        self.round_trip = (self.round_trip * (SMOOTHING - 1) + (at - sent)) / SMOOTHING;
        let number = self.passed + self.dropped - 1;
        self.acks.push(Ack { at, run, number });
    }

    /// The switch has dropped a segment of a train that was sent at `sent` and ends there at `tail`.
    pub(super) fn drop(
        &mut self,
        sent: SimTime,
        tail: SimTime,
        message: u32,
        run: Run,
        again: bool,
    ) {
        let piece = Piece { message, run };
        let (before, number) = (self.passed, self.passed + self.dropped);
        self.dropped += u64::from(piece.run.segments);
        // the timer was started by the last acknowledgement before the gap
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

    /// Processes the acknowledgements that have arrived by `now`.
    #[inline]
    pub(super) fn settle(&mut self, now: SimTime, settings: &TcpSettings) {
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

    /// The window and state after an acknowledgement, given those before it.
    fn after(&self, ack: &Ack, window: u64, state: State, settings: &TcpSettings) -> (u64, State) {
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

    /// The window after it has opened for `bytes` acknowledged bytes.
    fn opened(&self, window: u64, bytes: u64, settings: &TcpSettings) -> u64 {
        let slow_start = bytes.min(self.threshold.saturating_sub(window));
        let window = window + slow_start;
        (window + (bytes - slow_start) * SEGMENT_WIRE / window).min(settings.receive_window)
    }

    /// Sets the threshold to half the window; from there the window opens slowly.
    fn halve(&mut self) {
        self.threshold = (self.window / 2).max(MIN_THRESHOLD);
    }

    /// Queues data of a message for sending.
    pub(super) fn enqueue(&mut self, message: u32, run: Run) {
        let backlog = self.backlog.as_mut().expect("its message is entered");
        backlog.unsent.push_back(Piece { message, run });
    }

    /// Detects the losses that show by now. Returns whether that halved the window.
    pub(super) fn find_losses(&mut self, now: SimTime, settings: &TcpSettings) -> bool {
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
            // everything is sent again anyway, from a window of one segment
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

    /// When the retransmission timeout expires, if something is lost.
    fn deadline(&self, settings: &TcpSettings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let lost = backlog.lost.front()?;
        let timeout = settings.least_timeout + lost.round_trip;
        let after = |timeouts: u32| {
            let timeout = (timeout * (1 << timeouts.min(16))).min(LONGEST_TIMEOUT);
            (lost.since + timeout).max(lost.tail)
        };
        let deadline = after(backlog.timeouts);
        // an acknowledgement resets the doubling of the timeout
        let ends = self.acks.iter().next().filter(|ack| ack.at <= deadline);
        Some(ends.map_or(deadline, |ack| after(0).max(ack.at)))
    }

    /// Acts on the retransmission timeout if it has expired. Returns whether it has.
    pub(super) fn time_out(&mut self, now: SimTime, settings: &TcpSettings) -> bool {
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

    /// Time of the next probe, if one is due.
    fn probe_at(&self, settings: &TcpSettings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let lost = backlog.lost.front().filter(|_| settings.probes)?;
        let due = (lost.since + lost.round_trip * 2).max(lost.tail);
        // the state as it will be at that time
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

    /// Returns one more segment to send when a probe is due: a new one or, if there is none, the last one
    /// sent.
    pub(super) fn probe(&mut self, now: SimTime, settings: &TcpSettings) -> Option<Sending> {
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

    /// The next segments that the window allows to be sent.
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
            // the next message continues the same train
            let left = if backlog.begun > 0 { backlog.begun } else { portion(self.window) };
            backlog.begun = left - piece.run.segments;
        }
        Some(piece.sending(again))
    }

    /// Time of the next action, as far as it is known now.
    pub(super) fn next_wake(&self, settings: &TcpSettings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let room = self.room_at(backlog, settings);
        let (shows, proof) = match backlog.lost.front() {
            None => (None, None),
            Some(lost) => {
                // if the loss shows already, a wake-up is planned for it
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

    /// Arrival time of the acknowledgement after which the window has room for the next data.
    fn room_at(&self, backlog: &Backlog, settings: &TcpSettings) -> Option<SimTime> {
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

    /// Bytes in flight, summed from their parts: acknowledgements to come, and losses.
    pub(super) fn accounted_for(&self) -> u64 {
        let acks: u64 = self.acks.iter().map(|ack| ack.run.wire).sum();
        let lost = self.backlog.iter().flat_map(|backlog| &backlog.lost);
        acks + lost.map(|lost| lost.piece.run.wire).sum::<u64>()
    }

    /// Bytes on the wire that were sent and are neither acknowledged nor known to be lost.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }
}

impl Backlog {
    /// Whether nothing waits to be sent.
    fn is_idle(&self) -> bool {
        self.unsent.is_empty() && self.resend.is_empty()
    }

    /// How many of the first waiting segments may be sent, if enough may.
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
        // the window may have more room than the message needs
        let free = room.max((window.saturating_sub(in_flight) / SEGMENT_WIRE) as u32);
        (free >= self.waiting(portion) || in_flight == 0).then(|| room.clamp(1, portion))
    }

    /// Number of segments that wait to be sent for the first time, up to `most`.
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

    /// Resets it for use by another connection.
    pub(super) fn reset(&mut self) {
        debug_assert!(self.incomplete.is_empty() && self.unsent.is_empty());
        debug_assert!(self.lost.is_empty() && self.resend.is_empty());
        (self.timeouts, self.urgent, self.probed, self.begun) = (0, false, false, 0);
    }
}

/// The smallest amount of new data worth sending when more is waiting, which is also the longest train,
/// in segments.
fn portion(window: u64) -> u32 {
    (window / (WINDOW_PARTS * SEGMENT_WIRE)).clamp(1, u64::from(LONGEST_TRAIN)) as u32
}

/// Takes up to `count` segments off the front of a queue.
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
