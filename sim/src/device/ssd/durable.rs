//! Writes that wait for flash: those of a drive whose buffer would be lost with power.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;

/// Which writes wait for the places of the buffer.
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
    /// A write waits for one unit: the one at this place.
    pub(super) fn wait(&mut self, place: u32, request: u32) {
        self.waiting.entry(place).or_default().push(request);
    }

    /// What is at this place is in flash: the writes that waited for it, once for each unit that they wrote to it.
    pub(super) fn programmed(&mut self, place: u32) -> Option<SmallVec<[u32; 4]>> {
        self.waiting.remove(&place)
    }
}
