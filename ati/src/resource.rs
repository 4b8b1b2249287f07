//! The resources of a host that requests take time of.

use std::fmt;

/// A resource of a host. The names `cpu`, `nic_transmit`, `nic_receive`, `disk0` ... stand in the
/// store and in what is printed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    /// Its processors.
    Cpu,
    /// Host to switch.
    Transmit,
    /// Switch to host.
    Receive,
    /// A disk, by its number.
    Disk(u32),
}

impl Resource {
    /// How many resources a host without disks has.
    pub const BESIDE_DISKS: usize = 3;

    /// Its place among those of a host.
    pub fn index(self) -> usize {
        match self {
            Self::Cpu => 0,
            Self::Transmit => 1,
            Self::Receive => 2,
            Self::Disk(disk) => Self::BESIDE_DISKS + disk as usize,
        }
    }

    /// That at a place.
    pub fn at(index: usize) -> Self {
        match index {
            0 => Self::Cpu,
            1 => Self::Transmit,
            2 => Self::Receive,
            disk => Self::Disk((disk - Self::BESIDE_DISKS) as u32),
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Transmit => f.write_str("nic_transmit"),
            Self::Receive => f.write_str("nic_receive"),
            Self::Disk(disk) => write!(f, "disk{disk}"),
        }
    }
}
