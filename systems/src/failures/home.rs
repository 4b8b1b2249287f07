//! What fails, and where fragments are before anything has.

use foretell_algorithms::distribution::Distribution;
use foretell_units::HostId;

use crate::objects::Pool;
use crate::volume::Volume;

/// A host, or a disk of one that a server has for itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Unit {
    /// The host.
    pub host: HostId,
    /// Which of its disks; `None`: all of it.
    pub disk: Option<u32>,
}

/// Where a volume's fragments are at the beginning.
pub enum Home {
    /// Rows of nodes, in turn or by hashing.
    Nodes {
        /// How blocks are spread.
        distribution: Box<Distribution>,
        /// The volume's nodes.
        nodes: Vec<HostId>,
    },
    /// Objects in placement groups.
    Servers(Box<ObjectHome>),
}

/// Where the objects of a volume are.
pub struct ObjectHome {
    pub(crate) pool: Pool,
    /// Bytes of a block.
    pub(crate) block: u64,
    /// By placement group and fragment: the number of the server.
    pub(crate) servers: Vec<u32>,
}

impl Home {
    pub(crate) fn of(volume: &Volume) -> Self {
        let distribution = Box::new(volume.distribution.clone());
        Self::Nodes { distribution, nodes: volume.nodes.clone() }
    }

    /// Who has a fragment of a block.
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
