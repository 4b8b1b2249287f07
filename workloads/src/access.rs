//! A request to a volume.

use std::fmt;

use foretell_units::{Bytes, SimTime};

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// Data go from the volume to the client.
    Read,
    /// Data go from the client to the volume.
    Write,
}

impl Op {
    /// `read` or `write`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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
