//! A volume as the protocol sees it.

use foretell_algorithms::codec::{self, Shares};
use foretell_algorithms::distribution::Distribution;
use foretell_scenarios::model::{self, CpuProfile, Hedge, ReadFrom, Scenario};
use foretell_scenarios::outages::Outages;
use foretell_units::{Bytes, HostId, SimSpan, VolumeId};

use crate::system::SystemError;

/// A volume.
pub struct Volume {
    /// How it is cut into blocks and groups.
    pub distribution: Distribution,
    /// Which fragments a block can be made of.
    pub(crate) shares: Shares,
    /// What its data are encrypted with.
    pub cipher: codec::Cipher,
    /// The nodes that hold it at the beginning.
    pub nodes: Vec<HostId>,
    /// Nodes that hold nothing of it until they join.
    pub(crate) joining: Vec<HostId>,
    /// Where it begins in the addresses of a guest: volumes lie one after the other.
    pub(crate) base: Bytes,
    /// Acknowledgements that complete a write.
    pub(crate) quorum: u8,
    /// Fragments without which a write does not go on while nodes are down.
    pub(crate) min_write: u8,
    /// Which of the nodes a client reads from.
    pub(crate) read_from: ReadFrom,
    /// When a read asks one more.
    pub(crate) hedge: Option<Hedge>,
}

impl Volume {
    /// All volumes of a scenario.
    pub(crate) fn all(scenario: &Scenario) -> Result<Vec<Self>, SystemError> {
        let mut base = Bytes::ZERO;
        // where disks are servers, the map knows who is not there yet
        let outages = scenario.outages.as_ref();
        let outages = outages.filter(|_| !scenario.system.traits().disks_are_servers());
        let joining = outages.map(Outages::joining).unwrap_or_default();
        let of = |(index, volume): (usize, &model::Volume)| {
            let begins = base;
            base += volume.size;
            Self::new(VolumeId::from(index), volume, begins, &joining)
        };
        scenario.volumes.iter().enumerate().map(of).collect()
    }

    fn new(
        id: VolumeId,
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
            joining: volume.nodes.iter().copied().filter(|node| joining.contains(node)).collect(),
            nodes: first.nodes,
            base,
            quorum: volume.write_quorum,
            min_write: volume.min_write,
            read_from: volume.read_from,
            hedge: volume.hedge,
        })
    }

    /// All nodes that hold some of it at some time, those that join last.
    pub(crate) fn all_nodes(&self) -> impl Iterator<Item = HostId> + '_ {
        self.nodes.iter().chain(&self.joining).copied()
    }

    /// Time to encrypt and encode so many bytes.
    pub(crate) fn seal_time(&self, cpu: &CpuProfile, size: Bytes) -> SimSpan {
        cpu.seal(self.cipher, self.distribution.encoding(), size)
    }
}
