//! Transactions: sequences of accesses, each of which waits for the one before.
//!
//! A benchmark does not count requests but transactions, operations, or bytes of a file. One
//! transaction is a list of steps for one thread. The number of threads, and the time when each
//! begins its next transaction, are in [`arrivals`](crate::arrivals).

use foretell_units::{Bytes, Op};

use crate::Access;

/// A step that a thread completes before the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStep {
    /// An access to the volume.
    Io(Access),
    /// Bytes that a server on the client's side has in its own cache: they take processor time, but
    /// need no access.
    Cached(Bytes),
}

impl TransactionStep {
    /// Reads `size` bytes.
    pub fn read(offset: Bytes, size: Bytes) -> Self {
        Self::Io(Access { op: Op::Read, offset, size })
    }

    /// Writes `size` bytes.
    pub fn write(offset: Bytes, size: Bytes) -> Self {
        Self::Io(Access { op: Op::Write, offset, size })
    }
}

/// A sequence of transactions, finite or endless.
pub trait Transactions: Send {
    /// Appends the steps of the next transaction, at least one, to `steps`, which is empty. Returns
    /// whether there is one. After `false` there are no more, now or later.
    fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool;

    /// The kind of the last transaction, if a stream has several that are counted separately.
    fn kind(&self) -> usize {
        0
    }
}

impl<T: Transactions + ?Sized> Transactions for Box<T> {
    fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
        (**self).next(steps)
    }

    fn kind(&self) -> usize {
        (**self).kind()
    }
}

/// The unit of a benchmark's results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Transactions per minute.
    PerMinute,
    /// Transactions per second.
    PerSecond,
    /// Operations per second.
    OperationsPerSecond,
    /// Megabytes (10⁶) per second, for reads and for writes each divided by the time during which
    /// they occurred.
    MegabytesPerSecond,
}

impl Unit {
    /// The name printed by the benchmark.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PerMinute => "tpm",
            Self::PerSecond => "tps",
            Self::OperationsPerSecond => "op/s",
            Self::MegabytesPerSecond => "MB/s",
        }
    }
}
