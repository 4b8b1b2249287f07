//! Joins writes, as librbd does: writes to one object of an image, while another write to this object is
//! outstanding.
//!
//! The first write to an object is sent at once. Writes that arrive before its answer wait, and adjacent ones
//! among them become one write. When the first write is answered, the waiting writes are sent, and the next
//! write that arrives is the first again. So a sequential stream with many writes outstanding alternates
//! between one small and one large write. If a write or a read overlaps a waiting write, the waiting write is
//! sent first.
//!
//! Source: `SimpleSchedulerObjectDispatch` of librbd, `rbd_io_scheduler = simple`, the default since Octopus.
//! Left out: librbd joins nothing before it knows the latencies of ten writes, and it sends waiting writes
//! after half of the sum of the last ten latencies. By then the outstanding write is nearly always answered.
//! A client is assumed to have one image for each volume.

use std::collections::BTreeMap;

use foretell_algorithms::slab::Slab;
use foretell_units::{Bytes, HostId};

use super::pool::Piece;
use crate::system::Few;

/// An object of an image: client, volume, and offset of its first byte.
pub(super) type Key = (HostId, u32, Bytes);

/// Marks the numbers of joined writes among those of parts.
pub(super) const JOINED: u32 = 1 << 31;

/// Adjacent writes that are sent as one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Joined {
    /// Start in the object, and end (exclusive).
    pub(super) start: Bytes,
    pub(super) end: Bytes,
    /// Parts of requests that its answer completes.
    pub(super) parts: Few<u32>,
}

/// A write that was sent.
#[derive(Debug)]
struct Sent {
    key: Key,
    parts: Few<u32>,
}

/// An object with an outstanding write that others wait for.
#[derive(Debug)]
struct Held {
    /// The outstanding write.
    first: u32,
    /// Waiting writes, ordered by offset, none adjacent to the next.
    waits: Vec<Joined>,
}

/// All waiting writes of all clients.
#[derive(Debug, Default)]
pub(super) struct Coalescer {
    objects: BTreeMap<Key, Held>,
    sent: Slab<Sent>,
    /// Parts whose write was answered and that were not taken yet.
    answered: Vec<u32>,
}

/// Whether two ranges have a byte in common.
fn overlap(a: (Bytes, Bytes), b: (Bytes, Bytes)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

impl Coalescer {
    /// A client has a write. Returns the writes to send before it, and whether to send it too; if not, it waits.
    pub(super) fn offer(&mut self, key: Key, piece: &Piece, part: u32) -> (Vec<Joined>, bool) {
        let (start, end) = (piece.start, piece.start + piece.size);
        let Some(held) = self.objects.get_mut(&key) else { return (Vec::new(), true) };
        if held.waits.iter().any(|one| overlap((one.start, one.end), (start, end))) {
            let held = self.objects.remove(&key).expect("it was found");
            return (held.waits, true);
        }
        held.join(Joined { start, end, parts: Few::from_slice(&[part]) });
        (Vec::new(), false)
    }

    /// The waiting writes that a read of a client causes to be sent.
    pub(super) fn before_read(&mut self, key: Key, piece: &Piece) -> Vec<Joined> {
        let stretch = (piece.start, piece.start + piece.size);
        let meets =
            |held: &Held| held.waits.iter().any(|one| overlap((one.start, one.end), stretch));
        if !self.objects.get(&key).is_some_and(meets) {
            return Vec::new();
        }
        self.objects.remove(&key).map_or_else(Vec::new, |held| held.waits)
    }

    /// A write is sent. `first`: others wait until it is answered. Returns its number.
    pub(super) fn sends(&mut self, key: Key, parts: Few<u32>, first: bool) -> u32 {
        let number = self.sent.insert(Sent { key, parts });
        assert!(number < JOINED);
        if first {
            self.objects.insert(key, Held { first: number, waits: Vec::new() });
        }
        number
    }

    /// A write is answered. Returns its object, and the writes that waited for it.
    pub(super) fn take_answer(&mut self, number: u32) -> (Key, Vec<Joined>) {
        let sent = self.sent.remove(number);
        let key = sent.key;
        self.answered.extend(std::mem::take(&mut sent.parts).into_iter().rev());
        if self.objects.get(&key).is_none_or(|held| held.first != number) {
            return (key, Vec::new());
        }
        (key, self.objects.remove(&key).map_or_else(Vec::new, |held| held.waits))
    }

    /// The next part whose write was answered.
    pub(super) fn next_answered(&mut self) -> Option<u32> {
        self.answered.pop()
    }
}

impl Held {
    /// Adds a write to the waiting ones, and joins it with adjacent ones.
    fn join(&mut self, write: Joined) {
        let at = self.waits.partition_point(|one| one.start < write.start);
        let before = at.checked_sub(1).filter(|&before| self.waits[before].end == write.start);
        let at = if let Some(before) = before {
            let one = &mut self.waits[before];
            one.end = write.end;
            one.parts.extend(write.parts);
            before
        } else {
            self.waits.insert(at, write);
            at
        };
        if self.waits.get(at + 1).is_some_and(|next| next.start == self.waits[at].end) {
            let next = self.waits.remove(at + 1);
            self.waits[at].end = next.end;
            self.waits[at].parts.extend(next.parts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (HostId(1), 0, Bytes(0));

    fn piece(start: u64, size: u64) -> Piece {
        let (start, size) = (Bytes::kib(start), Bytes::kib(size));
        Piece { object: Bytes(0), start, size, is_whole: false }
    }

    fn joined(start: u64, end: u64, parts: &[u32]) -> Joined {
        Joined { start: Bytes::kib(start), end: Bytes::kib(end), parts: Few::from_slice(parts) }
    }

    #[test]
    fn what_follows_a_write_under_way_goes_out_as_one() {
        let mut all = Coalescer::default();
        assert_eq!(all.offer(KEY, &piece(0, 4), 10), (vec![], true));
        let first = all.sends(KEY, Few::from_slice(&[10]), true);
        // 8 to 12 KiB comes last and closes the gap
        for (start, part) in [(4, 11), (12, 12), (8, 13)] {
            assert_eq!(all.offer(KEY, &piece(start, 4), part), (vec![], false));
        }
        // a write to another object need not wait
        assert!(all.offer((HostId(2), 0, Bytes(0)), &piece(4, 4), 20).1);
        assert_eq!(all.take_answer(first), (KEY, vec![joined(4, 16, &[11, 13, 12])]));
        assert_eq!(all.next_answered(), Some(10));
        assert_eq!(all.next_answered(), None);
        // no write waits for those that had waited
        let second = all.sends(KEY, Few::from_slice(&[11, 13, 12]), false);
        assert!(all.offer(KEY, &piece(16, 4), 14).1);
        assert_eq!(all.take_answer(second), (KEY, vec![]));
        assert_eq!(
            [all.next_answered(), all.next_answered(), all.next_answered()],
            [Some(11), Some(13), Some(12)]
        );
    }

    #[test]
    fn what_overlaps_a_write_that_waits_sends_it_out() {
        let mut all = Coalescer::default();
        let first = all.sends(KEY, Few::from_slice(&[1]), true);
        assert!(!all.offer(KEY, &piece(4, 4), 2).1);
        assert!(all.before_read(KEY, &piece(8, 4)).is_empty());
        assert_eq!(all.offer(KEY, &piece(6, 4), 3), (vec![joined(4, 8, &[2])], true));
        let second = all.sends(KEY, Few::from_slice(&[3]), true);
        // the first write is no longer the one that others wait for
        assert!(!all.offer(KEY, &piece(12, 4), 4).1);
        assert_eq!(all.take_answer(first).1, []);
        assert_eq!(all.before_read(KEY, &piece(12, 4)), [joined(12, 16, &[4])]);
        assert_eq!(all.take_answer(second).1, []);
    }
}
