//! A volume as the protocol sees it.

use foretell_algorithms::codec::{self, Shares};
use foretell_algorithms::distribution::Distribution;
use foretell_scenarios::model::{self, CpuProfile, Hedge, ReadFrom, Scenario};
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
    /// The nodes that hold it.
    pub nodes: Vec<HostId>,
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
        let of = |(index, volume): (usize, &model::Volume)| {
            let begins = base;
            base += volume.size;
            Self::new(VolumeId::from(index), volume, begins)
        };
        scenario.volumes.iter().enumerate().map(of).collect()
    }

    fn new(id: VolumeId, volume: &model::Volume, base: Bytes) -> Result<Self, SystemError> {
        let distribution = volume
            .distribution(id)
            .map_err(|reason| SystemError { volume: volume.name.clone(), reason })?;
        Ok(Self {
            shares: Shares::new(volume.encoding),
            distribution,
            cipher: volume.cipher.codec(),
            nodes: volume.nodes.clone(),
            base,
            quorum: volume.write_quorum,
            min_write: volume.min_write,
            read_from: volume.read_from,
            hedge: volume.hedge,
        })
    }

    /// Time to encrypt and encode so many bytes.
    pub(crate) fn seal_time(&self, cpu: &CpuProfile, size: Bytes) -> SimSpan {
        cpu.seal(self.cipher, self.distribution.encoding(), size)
    }
}
