//! The agenda: the queue of pending events.
//!
//! Pending events are kept in a 4-ary heap ordered by one integer, with the time in the upper bits and a
//! sequence number in the lower ones. So events at equal times come out in the order in which they were
//! scheduled. Some events may be scheduled earlier or later in a run without changing its result. They have a
//! rank instead of a sequence number, and come after all other events of their time. A 4-ary heap is half as
//! deep as a binary one, and siblings share a cache line. Calendar queues are faster on smooth loads, but
//! slow if some events are microseconds away and others seconds.

use dary_heap::QuaternaryHeap;
use foretell_units::SimTime;
use std::cmp::Ordering;

/// Pending events of type `E`, and the current time.
#[derive(Debug)]
pub struct Agenda<E> {
    now: SimTime,
    sequence: u64,
    /// Events that were scheduled by rank.
    ranked: u64,
    pending: QuaternaryHeap<Entry<E>>,
}

/// Set in the sequence number of an event that has a rank instead.
const RANKED: u64 = 1 << 63;

/// An entry has 24 bytes if an event has 8. With an aligned 128-bit key it would have 32.
#[derive(Debug, Clone, Copy)]
struct Entry<E> {
    at: u64,
    sequence: u64,
    event: E,
}

impl<E> Entry<E> {
    /// Time in the upper 64 bits, sequence number in the lower ones. Keys are unique, except those of ranked
    /// events.
    fn key(&self) -> u128 {
        (u128::from(self.at) << 64) | u128::from(self.sequence)
    }
}

impl<E: Copy> Agenda<E> {
    /// An empty agenda at time zero.
    pub fn new() -> Self {
        Self {
            now: SimTime::ZERO,
            sequence: 0,
            ranked: 0,
            pending: QuaternaryHeap::with_capacity(1024),
        }
    }

    /// The current time: the time of the event that was taken last.
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Number of events taken so far: those scheduled minus those pending.
    pub fn taken(&self) -> u64 {
        self.sequence + self.ranked - self.pending.len() as u64
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Pending events, in no particular order.
    #[cfg(test)]
    pub(crate) fn pending(&self) -> impl Iterator<Item = (SimTime, E)> + '_ {
        self.pending.iter().map(|entry| (SimTime::from_ns(entry.at), entry.event))
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Puts `event` on the agenda at `at`, which must not be in the past.
    pub fn schedule(&mut self, at: SimTime, event: E) {
        self.push(at, self.sequence, event);
        self.sequence += 1;
    }

    /// Like [`Agenda::schedule`], but `event` comes after all events scheduled without a rank for
    /// `at`. Ranked events at the same time come in the order of their ranks, whenever they were
    /// scheduled.
    pub fn schedule_ranked(&mut self, at: SimTime, rank: u32, event: E) {
        self.push(at, RANKED | u64::from(rank), event);
        self.ranked += 1;
    }

    fn push(&mut self, at: SimTime, sequence: u64, event: E) {
        assert!(at >= self.now, "an event at {at} is scheduled in the past of {}", self.now);
        self.pending.push(Entry { at: at.as_ns(), sequence, event });
    }

    /// Takes the next event and advances the current time to it.
    #[expect(clippy::should_implement_trait, reason = "an agenda is filled while it is emptied")]
    pub fn next(&mut self) -> Option<E> {
        let entry = self.pending.pop()?;
        self.now = SimTime::from_ns(entry.at);
        Some(entry.event)
    }

    /// Time of the next event, if one is pending.
    pub fn next_at(&self) -> Option<SimTime> {
        self.pending.peek().map(|entry| SimTime::from_ns(entry.at))
    }

    /// Advances the current time to `at`. No event may be pending before `at`.
    pub fn advance_to(&mut self, at: SimTime) {
        assert!(at >= self.now);
        assert!(self.next_at().is_none_or(|next| next >= at));
        self.now = at;
    }
}

impl<E: Copy> Default for Agenda<E> {
    fn default() -> Self {
        Self::new()
    }
}

// The heap keeps its greatest on top, so an earlier key is a greater entry.
impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Seed;

    #[test]
    fn equal_times_keep_the_order_of_scheduling() {
        let mut agenda = Agenda::new();
        for event in 0..100 {
            agenda.schedule(SimTime::from_ns(7), event);
        }
        let order: Vec<i32> = std::iter::from_fn(|| agenda.next()).collect();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        assert_eq!(agenda.taken(), 100);
    }

    #[test]
    fn ranked_events_come_last_and_by_rank() {
        let mut agenda = Agenda::new();
        let at = SimTime::from_ns(7);
        agenda.schedule_ranked(at, 2, "second");
        agenda.schedule_ranked(at, 1, "first");
        agenda.schedule(at, "plain");
        agenda.schedule(SimTime::from_ns(8), "later");
        let order: Vec<&str> = std::iter::from_fn(|| agenda.next()).collect();
        assert_eq!(order, ["plain", "first", "second", "later"]);
        assert_eq!(agenda.taken(), 4);
    }

    #[test]
    fn oracle_order_matches_a_sorted_list() {
        let mut stream = Seed(7).stream("agenda");
        let mut agenda = Agenda::new();
        let mut list = Vec::new();
        for event in 0..10_000_u32 {
            let at = SimTime::from_ns(stream.below(500));
            agenda.schedule(at, event);
            list.push((at, event));
        }
        list.sort_unstable();
        for (at, event) in list {
            assert_eq!(agenda.next(), Some(event));
            assert_eq!(agenda.now(), at);
        }
    }

    #[test]
    #[should_panic(expected = "past")]
    fn the_past_is_closed() {
        let mut agenda = Agenda::new();
        agenda.schedule(SimTime::from_ns(5), ());
        agenda.next();
        agenda.schedule(SimTime::from_ns(4), ());
    }
}
