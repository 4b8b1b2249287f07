//! Transactions: accesses that follow each other, each waiting for the one before.
//!
//! A benchmark does not count requests but transactions, operations, or bytes of a file. One
//! transaction is a list of steps for one thread; how many threads there are, and when each begins
//! its next transaction, is a matter of [`arrivals`](crate::arrivals).

use foretell_units::{Bytes, Op};

use crate::Access;

/// What a thread does before it goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// An access to the volume.
    Io(Access),
    /// Bytes that a server on the client's side has in its own cache: they cost its processor, and
    /// no access.
    Cached(Bytes),
}

impl Step {
    /// Reads `size` bytes.
    pub fn read(offset: Bytes, size: Bytes) -> Self {
        Self::Io(Access { op: Op::Read, offset, size })
    }

    /// Writes `size` bytes.
    pub fn write(offset: Bytes, size: Bytes) -> Self {
        Self::Io(Access { op: Op::Write, offset, size })
    }
}

/// A stream of transactions, with an end or without.
pub trait Transactions: Send {
    /// Appends the steps of the next transaction, at least one, to `steps`, which is empty; whether
    /// there is one. After `false` there are no more, now and ever after.
    fn next(&mut self, steps: &mut Vec<Step>) -> bool;

    /// Of which kind the last transaction is, where a stream has several that are counted apart.
    fn kind(&self) -> usize {
        0
    }
}

impl<T: Transactions + ?Sized> Transactions for Box<T> {
    fn next(&mut self, steps: &mut Vec<Step>) -> bool {
        (**self).next(steps)
    }

    fn kind(&self) -> usize {
        (**self).kind()
    }
}

/// What a benchmark counts its results in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Transactions per minute.
    PerMinute,
    /// Transactions per second.
    PerSecond,
    /// Operations per second.
    OperationsPerSecond,
    /// Megabytes (10⁶) per second, reads and writes each by the time in which there were any.
    MegabytesPerSecond,
}

impl Unit {
    /// As the benchmark prints it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PerMinute => "tpm",
            Self::PerSecond => "tps",
            Self::OperationsPerSecond => "op/s",
            Self::MegabytesPerSecond => "MB/s",
        }
    }
}
