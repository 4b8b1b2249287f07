//! Writes that wait until they are in flash, for a drive whose buffer would lose its data with the power.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;

/// The writes that wait for each place of the buffer.
#[derive(Debug)]
pub(super) struct Durable {
    waiting: HashMap<u32, SmallVec<[u32; 4]>, FixedState>,
}

impl Default for Durable {
    fn default() -> Self {
        Self { waiting: HashMap::with_hasher(FixedState::with_seed(0)) }
    }
}

impl Durable {
    /// Lets a write wait for the unit at this place.
    pub(super) fn wait(&mut self, place: u32, request: u32) {
        self.waiting.entry(place).or_default().push(request);
    }

    /// The unit at this place is in flash. Returns the writes that waited for it, once for each time that they
    /// wrote it.
    pub(super) fn programmed(&mut self, place: u32) -> Option<SmallVec<[u32; 4]>> {
        self.waiting.remove(&place)
    }
}
