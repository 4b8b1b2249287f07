//! A volume from the protocol's point of view.

use foretell_algorithms::codec::{self, Shares};
use foretell_algorithms::distribution::Distribution;
use foretell_scenarios::model::{self, CpuProfile, Hedge, ReadFrom, Scenario};
use foretell_scenarios::outages::{Outages, SettingChange};
use foretell_units::{Bytes, HostId, SimSpan, VolumeId};

use crate::system::SystemError;

/// A volume.
pub struct Volume {
    /// Its division into blocks and groups.
    pub distribution: Distribution,
    /// The sets of fragments from which a block can be decoded.
    pub(crate) shares: Shares,
    /// The cipher of its data.
    pub cipher: codec::Cipher,
    /// Its nodes at the beginning.
    pub nodes: Vec<HostId>,
    /// Its size.
    pub size: Bytes,
    /// The volume of the scenario: this one, or the one that changes to this while the cluster
    /// runs.
    pub of: VolumeId,
    /// Nodes that hold none of it until they join.
    pub(crate) joining: Vec<HostId>,
    /// Its first address in a guest: volumes lie one after the other.
    pub(crate) base: Bytes,
    /// Number of acknowledgements that complete a write.
    pub(crate) quorum: u8,
    /// Minimum number of fragments for a write to proceed while nodes are down.
    pub(crate) min_write: u8,
    /// The nodes that a client reads from.
    pub(crate) read_from: ReadFrom,
    /// When a read asks one more node.
    pub(crate) hedge: Option<Hedge>,
}

impl Volume {
    /// All volumes of a scenario.
    pub(crate) fn all(scenario: &Scenario) -> Result<Vec<Self>, SystemError> {
        let mut base = Bytes::ZERO;
        let mut bases = Vec::new();
        // if disks are servers, the map knows which servers have not joined yet
        let outages = scenario.outages.as_ref();
        let outages = outages.filter(|_| !scenario.system.traits().disks_are_servers());
        let joining = outages.map(Outages::joining).unwrap_or_default();
        let of = |(index, volume): (usize, &model::Volume)| {
            let begins = base;
            base += volume.size;
            bases.push(begins);
            let id = VolumeId::from(index);
            Self::new(id, id, volume, begins, &joining)
        };
        let mut all: Vec<Self> =
            scenario.volumes.iter().enumerate().map(of).collect::<Result<_, _>>()?;
        // successors of volumes are numbered after them
        for setting in outages.iter().flat_map(|outages| &outages.settings) {
            let SettingChange::Volume { volume, now } = &setting.change else { continue };
            let joining = outages.map(|all| all.joining_after(setting.at)).unwrap_or_default();
            let id = VolumeId::from(all.len());
            all.push(Self::new(id, *volume, now, bases[volume.index()], &joining)?);
        }
        Ok(all)
    }

    fn new(
        id: VolumeId,
        of: VolumeId,
        volume: &model::Volume,
        base: Bytes,
        joining: &[HostId],
    ) -> Result<Self, SystemError> {
        let mut first = volume.clone();
        first.nodes.retain(|node| !joining.contains(node));
        let distribution = first
            .distribution(id)
            .map_err(|reason| SystemError { volume: volume.name.clone(), reason })?;
        Ok(Self {
            shares: Shares::new(volume.encoding),
            distribution,
            cipher: volume.cipher.codec(),
            size: volume.size,
            of,
            joining: volume.nodes.iter().copied().filter(|node| joining.contains(node)).collect(),
            nodes: first.nodes,
            base,
            quorum: volume.write_quorum,
            min_write: volume.min_write,
            read_from: volume.read_from,
            hedge: volume.hedge,
        })
    }

    /// Number of its groups of blocks.
    pub(crate) fn groups(&self) -> u64 {
        let blocks = self.size.get().div_ceil(self.distribution.block().get());
        blocks.div_ceil(self.distribution.group_blocks())
    }

    /// All nodes that hold some of it at some time, joining ones last.
    pub(crate) fn all_nodes(&self) -> impl Iterator<Item = HostId> + '_ {
        self.nodes.iter().chain(&self.joining).copied()
    }

    /// Time to encrypt and encode `size` bytes.
    pub(crate) fn encode_time(&self, cpu: &CpuProfile, size: Bytes) -> SimSpan {
        cpu.encode_time(self.cipher, self.distribution.encoding(), size)
    }
}
