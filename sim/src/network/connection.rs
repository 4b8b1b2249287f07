//! What the sender of one TCP connection knows: its window, what is in flight, what was lost.
//!
//! **Window.** It opens by slow start up to a threshold and then by a segment a round trip (RFC
//! 5681), never beyond the receiver's, and only while it keeps data waiting (RFC 7661). It is kept
//! from message to message; an idle timeout halves it, down to the initial window (RFC 2861, as
//! Linux does).
//!
//! **Losses.** A segment is taken for lost when three that were sent later have been acknowledged
//! (SACK, RFC 6675). Then the window is halved once, and all that is known to be lost is sent again
//! as the window allows; until the gap is closed the window neither opens nor closes again. If too
//! few segments follow for that, the retransmission timeout passes: the window closes to one
//! segment, and the timeout doubles with each repetition (RFC 6298).
//!
//! **Probes** (RACK-TLP, RFC 8985; Linux has had them since 2013 and 2016). One later segment
//! acknowledged is enough, after an eighth of a round trip; or at once while a gap is open. When
//! nothing has come back for two round trips, one more segment is sent, so that its
//! acknowledgement shows the loss at the end. There is no probe while a gap is open, for a single
//! segment in flight, or after a probe: then the timeout is all there is.
//!
//! **Trains.** What goes out in one go is acknowledged in one go, when the last segment of it that
//! passed has come, as receive offload does. New data goes out in trains of a third of the window
//! (Linux: `tcp_tso_win_divisor`), of 64 KiB at the most (Linux: the greatest offloaded packet).
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
    round_trip: SimSpan,
    acks: Acks,
    /// When the last acknowledgement of what has passed so far arrives.
    last_ack: SimTime,
    /// When the connection is to be looked at; an event for it is pending.
    pub(super) wake: Option<SimTime>,
    state: State,
    /// Whether the window kept data waiting when it was looked at last.
    limited: bool,
    /// Number of the segment that was sent again last.
    resent: u64,
    /// Messages that did not go out whole, or lost something, or follow such a one.
    pub(super) backlog: Option<Box<Backlog>>,
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
}

/// Segments that the switch dropped, before the sender knows.
#[derive(Clone, Copy, Debug)]
struct Lost {
    piece: Piece,
    /// Segments that had passed before.
    before: u64,
    /// When the retransmission timer was set.
    since: SimTime,
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

    /// Segments sent, repetitions included.
    pub(super) fn sent(&self) -> u64 {
        self.sent
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
        let number = self.passed + self.dropped - 1;
        self.acks.push(Ack { at, sent, run, number });
    }

    /// The switch has dropped a segment that was sent at `sent`.
    pub(super) fn drop(&mut self, sent: SimTime, message: u32, run: Run) {
        let piece = Piece { message, run };
        let before = self.passed;
        self.dropped += u64::from(piece.run.segments);
        // the timer was set by the last acknowledgement before the gap
        let since = self.last_ack.max(sent);
        let lost = &mut self.backlog.as_mut().expect("the message is not complete").lost;
        match lost.back_mut() {
            Some(last) if (last.piece.message, last.before) == (piece.message, before) => {
                last.piece.run.append(piece.run);
            }
            _ => lost.push_back(Lost { piece, before, since, proof: None }),
        }
    }

    /// Takes in the acknowledgements that have arrived by `now`.
    #[inline]
    pub(super) fn settle(&mut self, now: SimTime, settings: &Settings) {
        while let Some(ack) = self.acks.take(now) {
            self.in_flight -= ack.run.wire;
            self.acked += u64::from(ack.run.segments);
            self.round_trip = (self.round_trip * (SMOOTHING - 1) + (ack.at - ack.sent)) / SMOOTHING;
            if self.state == State::Loss || (self.state == State::Open && self.limited) {
                self.open(ack.run.wire, settings);
            }
            let closed = match &mut self.backlog {
                None => true,
                Some(backlog) => {
                    backlog.timeouts = 0;
                    backlog.probed = false;
                    backlog.lost.is_empty() && backlog.resend.is_empty()
                }
            };
            if self.state != State::Open && closed && ack.number >= self.resent {
                self.state = State::Open;
            }
        }
    }

    /// Opens the window for so many bytes acknowledged.
    fn open(&mut self, bytes: u64, settings: &Settings) {
        let slow_start = bytes.min(self.threshold.saturating_sub(self.window));
        self.window += slow_start;
        self.window += (bytes - slow_start) * SEGMENT_WIRE / self.window;
        self.window = self.window.min(settings.receive_window);
    }

    /// By how much slow start will open the window.
    fn slow_start_left(&self, settings: &Settings) -> u64 {
        self.threshold.min(settings.receive_window).saturating_sub(self.window)
    }

    /// Half the window, from where it will open slowly.
    fn halve(&mut self) {
        self.threshold = (self.window / 2).max(LEAST_THRESHOLD);
    }

    /// Data waits for its turn.
    pub(super) fn enqueue(&mut self, message: u32, run: Run) {
        let backlog = self.backlog.as_mut().expect("its message is entered");
        backlog.incomplete.push_back(message);
        backlog.unsent.push_back(Piece { message, run });
    }

    /// Finds the losses that show by now; whether that halved the window.
    pub(super) fn find_losses(&mut self, now: SimTime, settings: &Settings) -> bool {
        let Some(backlog) = &mut self.backlog else { return false };
        let mut found = false;
        while let Some(lost) = backlog.lost.front_mut() {
            let later = self.acked.saturating_sub(lost.before);
            if later < LATER_ACKS {
                if later == 0 || !settings.probes {
                    break;
                }
                let proof = *lost.proof.get_or_insert(now + self.round_trip / 8);
                if self.state == State::Open && proof > now {
                    break;
                }
            }
            self.in_flight -= lost.piece.run.wire;
            backlog.resend.push_back(lost.piece);
            backlog.lost.pop_front();
            found = true;
        }
        if !found || self.state != State::Open {
            return false;
        }
        backlog.urgent = true;
        self.state = State::Recovery;
        self.halve();
        self.window = self.threshold;
        true
    }

    /// When the retransmission timeout passes, if something is lost.
    fn deadline(&self, settings: &Settings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let timeout = settings.least_timeout + self.round_trip;
        let backed_off = (timeout * (1 << backlog.timeouts.min(16))).min(LONGEST_TIMEOUT);
        Some(backlog.lost.front()?.since + backed_off)
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
        self.window = SEGMENT_WIRE;
        let backlog = self.backlog.as_mut().expect("it has a deadline");
        backlog.timeouts += 1;
        while let Some(lost) = backlog.lost.pop_front() {
            self.in_flight -= lost.piece.run.wire;
            backlog.resend.push_back(lost.piece);
        }
        true
    }

    /// When a probe is due, if one is.
    fn probe_at(&self, settings: &Settings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let lost = backlog.lost.front()?;
        let allowed = settings.probes && self.state == State::Open && !backlog.probed;
        let needed = self.acked <= lost.before && self.in_flight > SEGMENT_WIRE;
        (allowed && needed).then(|| lost.since + self.round_trip * 2)
    }

    /// Sends one segment more when the time for it has come: a new one or, failing that, the last.
    pub(super) fn probe(&mut self, now: SimTime, settings: &Settings) -> Option<Sending> {
        if self.probe_at(settings).is_none_or(|at| at > now) {
            return None;
        }
        let backlog = self.backlog.as_mut().expect("a probe is due");
        backlog.probed = true;
        for lost in &mut backlog.lost {
            lost.since = now;
        }
        if !backlog.unsent.is_empty() {
            return Some(take(&mut backlog.unsent, 1).sending(false));
        }
        let last = backlog.lost.back_mut().expect("a probe is due");
        let (message, run) = (last.piece.message, last.piece.run);
        let run = if run.segments > 1 {
            let (head, tail) = run.split(run.segments - 1);
            last.piece.run = head;
            tail.expect("one segment is left")
        } else {
            backlog.lost.pop_back();
            run
        };
        self.in_flight -= run.wire;
        self.resent = self.sent;
        Some(Sending { message, run, again: true })
    }

    /// The least new data worth sending when more is waiting, and the most that goes out as one
    /// train, in segments.
    fn portion(&self) -> u32 {
        let portion = self.window / (WINDOW_PARTS * SEGMENT_WIRE);
        portion.clamp(1, u64::from(LONGEST_TRAIN)) as u32
    }

    /// What the window allows to be sent now.
    pub(super) fn next(&mut self) -> Option<Sending> {
        let backlog = self.backlog.as_ref()?;
        let again = !backlog.resend.is_empty();
        let queue = if again { &backlog.resend } else { &backlog.unsent };
        let Some(piece) = queue.front() else {
            self.limited = false;
            return None;
        };
        let room = piece.run.fitting(self.window.saturating_sub(self.in_flight));
        let portion = self.portion();
        let least = if again { u32::from(!backlog.urgent) } else { portion };
        if room < least.min(piece.run.segments) && self.in_flight > 0 {
            self.limited = true;
            return None;
        }
        let backlog = self.backlog.as_mut().expect("it is there");
        backlog.urgent = false;
        let queue = if again { &mut backlog.resend } else { &mut backlog.unsent };
        let piece = take(queue, room.clamp(1, portion));
        if again {
            self.resent = self.sent + u64::from(piece.run.segments) - 1;
        }
        Some(piece.sending(again))
    }

    /// When there is something to do, as far as it is known now; perhaps it was to be done before.
    pub(super) fn next_wake(&self, settings: &Settings) -> Option<SimTime> {
        let backlog = self.backlog.as_ref()?;
        let room = self.room_at(backlog, settings);
        let (shows, proof) = match backlog.lost.front() {
            None => (None, None),
            Some(lost) => {
                let later = (lost.before + LATER_ACKS).saturating_sub(self.acked);
                let shows = if later == 0 { Some(SimTime::ZERO) } else { self.acks.nth(later) };
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

    /// When the window has room for what is to be sent next.
    fn room_at(&self, backlog: &Backlog, settings: &Settings) -> Option<SimTime> {
        let wanted = if let Some(piece) = backlog.resend.front() {
            piece.run.first_wire()
        } else {
            backlog.unsent.front()?.run.split(self.portion()).0.wire
        };
        let mut missing = (self.in_flight + wanted).saturating_sub(self.window).max(1);
        if self.slow_start_left(settings) > 0 {
            // each byte acknowledged opens the window by another one
            missing = missing.div_ceil(2);
        }
        for ack in self.acks.iter() {
            if missing <= ack.run.wire {
                return Some(ack.at);
            }
            missing -= ack.run.wire;
        }
        // more is known when what is under way has reached the switch
        if self.under_way() > 0 { None } else { self.acks.last() }
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

    /// Makes it ready to be used for another connection.
    pub(super) fn reset(&mut self) {
        debug_assert!(self.incomplete.is_empty() && self.unsent.is_empty());
        debug_assert!(self.lost.is_empty() && self.resend.is_empty());
        (self.timeouts, self.urgent, self.probed) = (0, false, false);
    }
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
