//! Routing of requests in volumes that change while the cluster runs.
//!
//! A request may span several groups of a volume, and some of them may already have the new encoding. The
//! first and the last block of the request are treated as their groups require, and each group gets its own
//! piece. Groups do not change while a request touches them: a conversion waits for outstanding requests, and
//! later requests wait for the conversion.

use foretell_algorithms::distribution::Piece;
use foretell_units::Bytes;
use smallvec::SmallVec;

use crate::failures::Routes;
use crate::protocol::Core;
use crate::system::VolumeExtent;
use crate::volume::Volume;

/// Pieces with the volumes that they are in.
pub(crate) type Pieces = SmallVec<[(u32, Piece); 2]>;

impl Core {
    /// The current volumes of groups, if any volume changes.
    fn routes(&self) -> Option<&Routes> {
        let routes = &self.failures.as_ref()?.holes.routes;
        (!routes.is_empty()).then_some(routes)
    }

    /// The group that contains a byte of a volume.
    pub(crate) fn group_of(&self, volume: u32, offset: Bytes) -> u64 {
        let distribution = &self.volumes[volume as usize].distribution;
        offset.get() / (distribution.block().get() * distribution.group_blocks())
    }

    /// The current volume of a byte's group.
    pub(crate) fn volume_at(&self, volume: u32, offset: Bytes) -> &Volume {
        let now = self.routes().map(|routes| routes.now(volume, self.group_of(volume, offset)));
        &self.volumes[now.unwrap_or(volume) as usize]
    }

    /// The current volumes at the two ends of a range.
    fn ends(&self, volume: u32, extent: VolumeExtent) -> (&Volume, &Volume) {
        let VolumeExtent { offset, size } = extent;
        let last = Bytes((offset + size).get().saturating_sub(1).max(offset.get()));
        (self.volume_at(volume, offset), self.volume_at(volume, last))
    }

    /// The range of a volume that a request touches.
    pub(crate) fn covering(&self, volume: u32, extent: VolumeExtent) -> VolumeExtent {
        let VolumeExtent { offset, size } = extent;
        if self.routes().is_none() {
            let distribution = &self.volumes[volume as usize].distribution;
            let (offset, size) = distribution.covering(offset, size);
            return VolumeExtent { offset, size };
        }
        let (first, last) = self.ends(volume, extent);
        let begin = first.distribution.covering(offset, size).0;
        let (start, length) = last.distribution.covering(offset, size);
        VolumeExtent { offset: begin, size: start + length - begin }
    }

    /// Blocks that a write covers in part, and so must fetch first.
    pub(crate) fn partial_blocks(&self, volume: u32, extent: VolumeExtent) -> SmallVec<[u64; 2]> {
        let VolumeExtent { offset, size } = extent;
        if self.routes().is_none() {
            let distribution = &self.volumes[volume as usize].distribution;
            return distribution.partial_blocks(offset, size).collect();
        }
        let (first, last) = self.ends(volume, extent);
        let block = first.distribution.block().get();
        let (head, end) = (offset.get() / block, (offset + size).get());
        let of_first = first.distribution.partial_blocks(offset, size);
        let of_last = last.distribution.partial_blocks(offset, size);
        let is_head = |number: &u64| *number == head && !offset.get().is_multiple_of(block);
        let tail = end / block;
        let of_last = of_last.filter(|number| *number == tail && !is_head(number));
        let mut blocks: SmallVec<[u64; 2]> = of_first.filter(is_head).collect();
        blocks.extend(of_last);
        blocks
    }

    /// The pieces of a range, with the volumes that they are in.
    pub(crate) fn pieces(&self, volume: u32, extent: VolumeExtent) -> Pieces {
        let VolumeExtent { offset, size } = extent;
        let Some(routes) = self.routes() else {
            let distribution = &self.volumes[volume as usize].distribution;
            return distribution.pieces(offset, size).map(|piece| (volume, piece)).collect();
        };
        let distribution = &self.volumes[volume as usize].distribution;
        let group_bytes = distribution.block().get() * distribution.group_blocks();
        let (mut at, end) = (offset.get(), (offset + size).get());
        let mut pieces = Pieces::new();
        while at < end {
            let group = at / group_bytes;
            let stop = end.min((group + 1) * group_bytes);
            let now = routes.now(volume, group);
            let distribution = &self.volumes[now as usize].distribution;
            pieces.extend(distribution.pieces(Bytes(at), Bytes(stop - at)).map(|one| (now, one)));
            at = stop;
        }
        pieces
    }
}
