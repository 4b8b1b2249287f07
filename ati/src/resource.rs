//! The resources of a host whose time requests use.

use std::fmt;

/// A resource of a host. The names `cpu`, `nic_transmit`, `nic_receive`, `cluster_nic_transmit`, `disk0` ... are used
/// in the store and in output.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Resource {
    /// Its processors.
    Cpu,
    /// The link from host to switch.
    Transmit,
    /// The link from switch to host.
    Receive,
    /// The link from host to switch of its second adapter, which carries messages between servers.
    ClusterTransmit,
    /// The link from switch to host of its second adapter.
    ClusterReceive,
    /// A disk, by its number.
    Disk(u32),
}

impl Resource {
    /// Number of resources of a host without disks.
    pub const BESIDE_DISKS: usize = 5;

    /// The sending direction of a host's first or second adapter.
    pub fn sending(second: bool) -> Self {
        if second { Self::ClusterTransmit } else { Self::Transmit }
    }

    /// The receiving direction of a host's first or second adapter.
    pub fn receiving(second: bool) -> Self {
        if second { Self::ClusterReceive } else { Self::Receive }
    }

    /// Its index among those of a host.
    pub fn index(self) -> usize {
        match self {
            Self::Cpu => 0,
            Self::Transmit => 1,
            Self::Receive => 2,
            Self::ClusterTransmit => 3,
            Self::ClusterReceive => 4,
            Self::Disk(disk) => Self::BESIDE_DISKS + disk as usize,
        }
    }

    /// The resource with that index.
    pub fn at(index: usize) -> Self {
        match index {
            0 => Self::Cpu,
            1 => Self::Transmit,
            2 => Self::Receive,
            3 => Self::ClusterTransmit,
            4 => Self::ClusterReceive,
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
            Self::ClusterTransmit => f.write_str("cluster_nic_transmit"),
            Self::ClusterReceive => f.write_str("cluster_nic_receive"),
            Self::Disk(disk) => write!(f, "disk{disk}"),
        }
    }
}
