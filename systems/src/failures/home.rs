//! Units that can fail, and the initial places of fragments.

use foretell_algorithms::distribution::Distribution;
use foretell_units::HostId;

use crate::objects::Pool;
use crate::volume::Volume;

/// A host, or one of its disks if that disk has a server of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Unit {
    /// The host.
    pub host: HostId,
    /// The number of the disk; `None` for the whole host.
    pub disk: Option<u32>,
}

/// The initial places of a volume's fragments.
pub enum Home {
    /// On consecutive nodes, by rotation or by hashing.
    Nodes {
        /// How blocks are spread.
        distribution: Box<Distribution>,
        /// The volume's nodes.
        nodes: Vec<HostId>,
    },
    /// Objects in placement groups.
    Servers(Box<ObjectHome>),
}

/// The places of a volume's objects.
pub struct ObjectHome {
    pub(crate) pool: Pool,
    /// Bytes in a block.
    pub(crate) block: u64,
    /// The number of the server, by placement group and fragment.
    pub(crate) servers: Vec<u32>,
}

impl Home {
    pub(crate) fn of(volume: &Volume) -> Self {
        let distribution = Box::new(volume.distribution.clone());
        Self::Nodes { distribution, nodes: volume.nodes.clone() }
    }

    /// The node that has a fragment of a block.
    pub fn node(&self, block: u64, fragment: u8) -> HostId {
        match self {
            Self::Nodes { distribution, nodes } => {
                let (mut chosen, mut places) = (Vec::new(), Vec::new());
                let group = block / distribution.group_blocks();
                distribution.places(group, &mut chosen, &mut places);
                nodes[places[usize::from(fragment)].node as usize]
            }
            Self::Servers(home) => {
                let group = home.pool.group_at(block * home.block);
                let copies = home.pool.encoding.n();
                HostId(home.servers[group * copies + usize::from(fragment)])
            }
        }
    }
}
