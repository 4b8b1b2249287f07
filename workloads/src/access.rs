//! A request to a volume.

use foretell_units::{Bytes, Op, SimTime};

/// A range of a volume that is read or written.
///
/// Generators and trace readers return only accesses of at least one byte whose end is at most 2⁶⁴
/// − 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Read or write.
    pub op: Op,
    /// Offset of the first byte in the volume.
    pub offset: Bytes,
    /// Number of bytes.
    pub size: Bytes,
}

impl Access {
    /// The byte after the last.
    pub fn end(self) -> Bytes {
        self.offset + self.size
    }
}

/// An access, with its time of issue if that is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Time since the first request of its trace. `None`: the trace or generator has no times.
    pub at: Option<SimTime>,
    /// The access.
    pub access: Access,
}
