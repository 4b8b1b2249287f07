//! Segments: the pieces in which messages are sent. Their sizes are in [`foretell_algorithms::message`].

use foretell_units::Bytes;

pub use foretell_algorithms::message::wire_bytes;
pub(super) use foretell_algorithms::message::{SEGMENT_DATA, SEGMENT_WIRE};

/// Consecutive segments of one message: full ones, except for the last of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    /// Number of segments; at least one.
    pub(super) segments: u32,
    /// Their bytes on the wire.
    pub(super) wire: u64,
}

/// Number of segments of a message of `wire` bytes on the wire.
pub fn segments(wire: Bytes) -> u64 {
    // each segment but the last is full, and the last is not empty
    wire.get().div_ceil(SEGMENT_WIRE).max(1)
}

impl Run {
    /// A whole message of `wire` bytes on the wire; at most 6 TB.
    pub(super) fn message(wire: Bytes) -> Self {
        let segments =
            u32::try_from(segments(wire)).expect("a message has fewer than 2^32 segments");
        Self { segments, wire: wire.get() }
    }

    /// Bytes on the wire of one of its segments.
    pub(super) fn wire_of_one(self, last: bool) -> u64 {
        if last { self.last_wire() } else { SEGMENT_WIRE }
    }

    /// Bytes on the wire of its last segment.
    pub(super) fn last_wire(self) -> u64 {
        self.wire - u64::from(self.segments - 1) * SEGMENT_WIRE
    }

    /// Its first `count` segments, and the others if there are any.
    pub(super) fn split(self, count: u32) -> (Self, Option<Self>) {
        assert!(count > 0);
        if count >= self.segments {
            return (self, None);
        }
        let wire = u64::from(count) * SEGMENT_WIRE;
        let rest = Self { segments: self.segments - count, wire: self.wire - wire };
        (Self { segments: count, wire }, Some(rest))
    }

    /// Appends the segments that follow.
    pub(super) fn append(&mut self, next: Self) {
        self.segments += next.segments;
        self.wire += next.wire;
    }

    /// Number of segments, from the first, that fit into `bytes` bytes.
    pub(super) fn fitting(self, bytes: u64) -> u32 {
        if self.wire <= bytes { self.segments } else { (bytes / SEGMENT_WIRE) as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_94_percent_of_the_wire() {
        let share = 1_448_000.0 / wire_bytes(Bytes(1_448_000)).get() as f64;
        assert!((share - 0.9415).abs() < 1e-4, "{share}");
        assert_eq!(wire_bytes(Bytes(0)), Bytes(90));
    }

    #[test]
    fn a_message_is_cut_into_full_segments_and_a_rest() {
        for (data, segments) in [(0, 1), (1, 1), (1448, 1), (1449, 2), (2896, 2), (2897, 3)] {
            assert_eq!(Run::message(wire_bytes(Bytes(data))).segments, segments, "{data}");
        }
        // 3000 bytes are 1448 + 1448 + 104, with 90 bytes of overhead each
        let run = Run::message(wire_bytes(Bytes(3000)));
        let (head, tail) = run.split(2);
        assert_eq!((head.wire, tail.unwrap()), (3076, Run { segments: 1, wire: 194 }));
        assert_eq!((run.fitting(3269), run.fitting(3270)), (2, 3));
    }
}
