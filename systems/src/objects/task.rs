//! The tasks of servers, and their progress.

use foretell_units::{Bytes, Op};

use super::pool::{Piece, Shard};
use crate::request::Stage;

/// A task of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// The exchange in which it was requested.
    pub(super) exchange: u32,
    /// The front server's task that this belongs to, or [`NO_TASK`].
    pub(super) front: u32,
    pub(crate) op: Op,
    pub(super) volume: u32,
    pub(crate) piece: Piece,
    /// The range on the device of this server; for the server in front, the range on every server.
    pub(crate) shard: Shard,
    pub(super) disk: u32,
    pub(super) stage: Stage,
    /// Number of answers, including its own device's, that it still needs.
    pub(super) needed: u32,
    /// Number of answers that have not arrived.
    pub(super) outstanding: u32,
    /// Whether a thread waits for the device.
    pub(super) holds: bool,
    /// Whether metadata are looked up before the write.
    pub(super) looks_up: bool,
    /// The number of its server's shard.
    pub(super) position: u8,
    /// Whether its interval has ended: events still pending for it are ignored.
    pub(super) is_dead: bool,
}

const NO_TASK: u32 = u32::MAX;

impl Task {
    /// The task of the server in front for a client.
    pub(super) fn in_front(op: Op, volume: u32, piece: Piece, shard: Shard, disk: u32) -> Self {
        let (stage, needed, outstanding) = (Stage::Transfer, 0, 0);
        let (exchange, front) = (0, NO_TASK);
        let (holds, looks_up, position, is_dead) = (false, false, 0, false);
        Self {
            exchange,
            front,
            op,
            volume,
            piece,
            shard,
            disk,
            stage,
            needed,
            outstanding,
            holds,
            looks_up,
            position,
            is_dead,
        }
    }

    /// The task that the server in front, whose task this is, gives to others.
    pub(super) fn for_others(&self, id: u32, op: Op, shard: Shard) -> Self {
        Self { front: id, op, shard, stage: Stage::Transfer, ..*self }
    }

    /// Whether a client requested it.
    pub(crate) fn is_front(&self) -> bool {
        self.front == NO_TASK
    }

    /// Bytes in its message; for the server in front, the client's data.
    pub(super) fn carried(&self) -> Bytes {
        if self.is_front() { self.piece.size } else { self.shard.size }
    }

    /// Expects only its own device's answer.
    pub(super) fn expect_own(&mut self) {
        (self.needed, self.outstanding) = (1, 1);
    }

    /// Begins to read the blocks that a write covers in part.
    pub(super) fn begin_fetch(&mut self) {
        self.stage = Stage::Fetch;
    }

    pub(super) fn end_fetch(&mut self) {
        self.stage = Stage::Transfer;
    }

    /// Whether the server in front is reading blocks that a write covers in part.
    pub(super) fn fetches(&self) -> bool {
        self.is_front() && self.stage == Stage::Fetch
    }

    /// Counts an answer. Returns whether it was the last that the task needed.
    pub(super) fn count_answer(&mut self) -> bool {
        self.outstanding -= 1;
        let completes = self.needed == 1;
        self.needed = self.needed.saturating_sub(1);
        completes
    }
}
