//! The progress of one scrubber over the data of its disk.

use foretell_scenarios::model::Scrub;
use foretell_units::{Bytes, SimSpan, SimTime, Stream};

use super::places::Region;
use crate::objects::Target;

/// The scrubber of a disk.
#[derive(Debug)]
pub(crate) struct Scrubber {
    pub(super) server: Target,
    /// Places of the disk with data, in the order of addresses; not empty.
    regions: Vec<Region>,
    /// The place of the current chunk: the region, and the bytes of it that come before.
    region: usize,
    within: Bytes,
    /// When the current chunk began.
    pub(super) began: SimTime,
    /// When it first reads.
    pub(super) phase: SimSpan,
    /// Whether it waits for its server to return.
    pub(super) is_stopped: bool,
}

impl Scrubber {
    /// A scrubber that begins at a random place and time. `None`: the disk holds nothing.
    pub(super) fn new(
        server: Target,
        regions: Vec<Region>,
        Scrub { rate, chunk }: Scrub,
        draws: &mut Stream,
    ) -> Option<Self> {
        let stored: u64 = regions.iter().map(|region| region.size.get()).sum();
        if stored == 0 {
            return None;
        }
        let phase = draws.part_of(rate.time_for(chunk));
        let (mut region, mut within) = (0, draws.below(stored));
        while within >= regions[region].size.get() {
            within -= regions[region].size.get();
            region += 1;
        }
        let within = Bytes(within / chunk.get() * chunk.get());
        let (began, is_stopped) = (SimTime::ZERO, false);
        Some(Self { server, regions, region, within, began, phase, is_stopped })
    }

    /// The place of the current chunk: at most `most` bytes of a region.
    pub(super) fn chunk(&self, most: Bytes) -> Region {
        let region = self.regions[self.region];
        let rest = region.size.saturating_sub(self.within);
        Region { begin: region.begin + self.within, size: rest.min(most), ..region }
    }

    /// Goes on to the next chunk. Returns whether that begins a new pass.
    pub(super) fn advance(&mut self, most: Bytes) -> bool {
        self.within += self.chunk(most).size;
        if self.within < self.regions[self.region].size {
            return false;
        }
        self.within = Bytes::ZERO;
        self.region = (self.region + 1) % self.regions.len();
        self.region == 0
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::{HostId, Rate, Seed};

    use super::*;

    const CHUNK: Bytes = Bytes::kib(8);

    fn scrubber(seed: u64) -> Scrubber {
        let region = |begin, size| {
            let (begin, size) = (Bytes::kib(begin), Bytes::kib(size));
            Region { volume: 0, begin, size }
        };
        let regions = vec![region(0, 20), region(100, 16)];
        let server = Target { host: HostId(0), disk: 0 };
        let settings = Scrub { rate: Rate::bytes_per_s(8192), chunk: CHUNK };
        Scrubber::new(server, regions, settings, &mut Seed(seed).stream("scrub")).unwrap()
    }

    #[test]
    fn a_pass_reads_each_byte_once_in_the_order_of_addresses() {
        let mut one = scrubber(1);
        while !one.advance(CHUNK) {}
        let mut read = Vec::new();
        for _ in 0..5 {
            let Region { begin, size, .. } = one.chunk(CHUNK);
            read.push((begin.get() >> 10, size.get() >> 10));
            let is_pass = one.advance(CHUNK);
            assert_eq!(is_pass, read.len() == 5);
        }
        assert_eq!(read, [(0, 8), (8, 8), (16, 4), (100, 8), (108, 8)]);
    }

    #[test]
    fn scrubbers_begin_at_places_and_times_of_their_own() {
        let all: Vec<Scrubber> = (0..100).map(scrubber).collect();
        let mut places: Vec<Bytes> = all.iter().map(|one| one.chunk(CHUNK).begin).collect();
        assert!(all.iter().all(|one| one.phase < SimSpan::from_secs(1)));
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 5, "each of the five chunks");
        let mut phases: Vec<SimSpan> = all.iter().map(|one| one.phase).collect();
        phases.sort_unstable();
        phases.dedup();
        assert_eq!(phases.len(), 100);
    }

    #[test]
    fn a_disk_without_data_has_no_scrubber() {
        let server = Target { host: HostId(0), disk: 0 };
        let settings = Scrub { rate: Rate::bytes_per_s(1), chunk: CHUNK };
        let mut draws = Seed(1).stream("scrub");
        assert!(Scrubber::new(server, Vec::new(), settings, &mut draws).is_none());
    }
}
