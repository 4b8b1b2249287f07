//! What a server was asked to do, and how far it has come.

use foretell_units::{Bytes, Op};

use super::pool::{Piece, Shard};
use crate::request::Stage;

/// What a server was asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// The exchange by which it was asked.
    pub(super) exchange: u32,
    /// The task of the server in front that this is a part of, or [`NO_TASK`].
    pub(super) front: u32,
    pub(crate) op: Op,
    pub(super) volume: u32,
    pub(crate) piece: Piece,
    /// What it is on the device of this server; of the server in front, on each server's.
    pub(crate) shard: Shard,
    pub(super) disk: u32,
    pub(super) stage: Stage,
    /// Answers, that of the own device among them, that it still needs.
    pub(super) needed: u32,
    /// Answers that have not come.
    pub(super) outstanding: u32,
    /// Whether a thread waits for its device.
    pub(super) holds: bool,
    /// Whether metadata are looked up before it writes.
    pub(super) looks_up: bool,
    /// Which shard its server has.
    pub(super) position: u8,
    /// Whether its interval is over: what is still pending for it is ignored.
    pub(super) is_dead: bool,
}

const NO_TASK: u32 = u32::MAX;

impl Task {
    /// What a client asks of the server in front.
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

    /// What the server in front, whose task this is, asks others.
    pub(super) fn for_others(&self, id: u32, op: Op, shard: Shard) -> Self {
        Self { front: id, op, shard, stage: Stage::Transfer, ..*self }
    }

    /// Whether a client asked for it.
    pub(crate) fn is_front(&self) -> bool {
        self.front == NO_TASK
    }

    /// Bytes of its message: to the server in front, the client's own.
    pub(super) fn carried(&self) -> Bytes {
        if self.is_front() { self.piece.size } else { self.shard.size }
    }

    /// It needs its own device and nothing else.
    pub(super) fn expect_own(&mut self) {
        (self.needed, self.outstanding) = (1, 1);
    }

    /// Blocks that a write touches in part are read first.
    pub(super) fn begin_fetch(&mut self) {
        self.stage = Stage::Fetch;
    }

    pub(super) fn end_fetch(&mut self) {
        self.stage = Stage::Transfer;
    }

    /// Whether the server in front reads what a write touches in part.
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
