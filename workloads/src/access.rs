//! A request to a volume.

use foretell_units::{Bytes, Op, SimTime};

/// Bytes of a volume that are read or written.
///
/// Generators and trace readers give only accesses of one byte or more whose end is at most
/// 2⁶⁴ − 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Read or write.
    pub op: Op,
    /// The first byte, from the beginning of the volume.
    pub offset: Bytes,
    /// How many bytes.
    pub size: Bytes,
}

impl Access {
    /// The byte after the last.
    pub fn end(self) -> Bytes {
        self.offset + self.size
    }
}

/// An access and the time that it is to be issued, where one is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Request {
    /// Since the first request of its trace. `None`: the trace or generator gives no times.
    pub at: Option<SimTime>,
    /// What is asked.
    pub access: Access,
}
