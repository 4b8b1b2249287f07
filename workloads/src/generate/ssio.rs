//! The SSIO benchmark of Thereska et al. 2006 (Section IV-A).
//!
//! A micro-benchmark with a given read:write ratio, access pattern and number of outstanding
//! requests, and accesses of 32 KB. The paper does not say how reads and writes are mixed. Here
//! each request is a read with probability `read_share`, independent of all others, because that
//! mix favours neither. The paper does not give the size of its working sets, so it must be given;
//! whole accesses of it are used from the beginning of the volume. "32 KB" is taken as 32 KiB, a
//! multiple of the pages of its file systems.
//!
//! With several requests outstanding, the order of issue follows the pattern: the order in which
//! two clients' requests complete does not disturb a sequential stream.

use foretell_units::{Bytes, Stream};

use super::pattern::check_share;
use super::{Addresses, GenerateError, Generator, Pattern};
use crate::{Access, Op};

/// Settings of the SSIO benchmark.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ssio {
    /// Share of the requests that are reads, 0 to 1.
    pub read_share: f64,
    /// Order of addresses.
    pub pattern: Pattern,
    /// Bytes of each request; addresses are multiples of it.
    pub access: Bytes,
    /// Bytes used, from the beginning of the volume; `None`: all of the volume.
    pub working_set: Option<Bytes>,
}

impl Ssio {
    /// The access size of the paper.
    pub const ACCESS: Bytes = Bytes::kib(32);

    /// The paper's access size over all of the volume.
    pub fn new(read_share: f64, pattern: Pattern) -> Self {
        Self { read_share, pattern, access: Self::ACCESS, working_set: None }
    }

    /// The generator of requests to a volume of `volume` bytes.
    ///
    /// Every request draws from `stream` once for its operation, whatever the share, and then for
    /// its address. So generators that differ only in the share address the same blocks.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, or the working set does not fit the volume.
    pub fn over(self, volume: Bytes, stream: Stream) -> Result<SsioGenerator, GenerateError> {
        check_share("read_share", self.read_share)?;
        let working_set = self.working_set.unwrap_or(volume);
        if working_set > volume {
            return Err(GenerateError::BeyondVolume { working_set, volume });
        }
        let addresses = self.pattern.over(working_set, self.access)?;
        let Self { read_share, access, .. } = self;
        Ok(SsioGenerator { read_share, access, addresses, stream })
    }
}

/// The SSIO benchmark's requests.
#[derive(Clone, Debug)]
pub struct SsioGenerator {
    read_share: f64,
    access: Bytes,
    addresses: Addresses,
    stream: Stream,
}

impl SsioGenerator {
    /// Lets a sequential stream begin with access number `block` of the working set, so that
    /// several clients do not access the same blocks one after the other.
    pub fn starting_at(mut self, block: u64) -> Self {
        self.addresses.start_at(block);
        self
    }
}

impl Generator for SsioGenerator {
    #[inline]
    fn next(&mut self) -> Access {
        let op = if self.stream.chance(self.read_share) { Op::Read } else { Op::Write };
        let block = self.addresses.next(&mut self.stream);
        // block + 1 accesses fit in the working set, so this does not overflow
        Access { op, offset: self.access * block, size: self.access }
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;

    fn requests(ssio: Ssio, count: usize) -> Vec<Access> {
        let mut generator = ssio.over(Bytes::gib(1), Seed(5).stream("ssio")).unwrap();
        (0..count).map(|_| generator.next()).collect()
    }

    #[test]
    fn accesses_are_32_kib_and_aligned() {
        let accesses = requests(Ssio::new(0.5, Pattern::Sequential), 4);
        let offsets: Vec<u64> = accesses.iter().map(|access| access.offset.get() >> 10).collect();
        assert_eq!(offsets, [0, 32, 64, 96]);
        assert!(accesses.iter().all(|access| access.size == Bytes::kib(32)));
    }

    #[test]
    fn the_working_set_is_kept_and_its_rest_unused() {
        // 100 KiB hold three accesses of 32 KiB
        let working_set = Some(Bytes::kib(100));
        let ssio = Ssio { working_set, ..Ssio::new(1.0, Pattern::Random) };
        let accesses = requests(ssio, 1000);
        let highest = accesses.iter().map(|access| access.end()).max();
        assert_eq!(highest, Some(Bytes::kib(96)));
    }

    #[test]
    fn the_read_share_is_met() {
        for share in [0.0, 0.25, 0.9, 1.0] {
            let accesses = requests(Ssio::new(share, Pattern::Random), 100_000);
            let reads = accesses.iter().filter(|access| access.op == Op::Read).count();
            // four standard deviations of a binomial share
            let tolerance = 4.0 * (share * (1.0 - share) / 1e5).sqrt();
            assert!((reads as f64 / 1e5 - share).abs() <= tolerance, "{reads} at {share}");
        }
    }

    #[test]
    fn the_share_does_not_move_addresses() {
        let blocks = |share| {
            let accesses = requests(Ssio::new(share, Pattern::Zipf { alpha: 0.9 }), 100);
            accesses.into_iter().map(|access| access.offset).collect::<Vec<_>>()
        };
        assert_eq!(blocks(0.1), blocks(0.9));
    }

    #[test]
    fn golden_requests_never_change() {
        let accesses = requests(Ssio::new(0.5, Pattern::Zipf { alpha: 1.0 }), 6);
        let text = |access: &Access| format!("{} {}", access.op, access.offset);
        let found: Vec<String> = accesses.iter().map(text).collect();
        assert_eq!(found, GOLDEN, "the same seed must give the same run in every version");
    }

    const GOLDEN: [&str; 6] = [
        "write 272064 KiB",
        "read 2688 KiB",
        "read 47872 KiB",
        "write 512 KiB",
        "write 554 MiB",
        "read 928 KiB",
    ];

    #[test]
    fn impossible_settings_are_refused() {
        let message =
            |ssio: Ssio| ssio.over(Bytes::mib(1), Seed(1).stream("x")).unwrap_err().to_string();
        assert_eq!(
            message(Ssio::new(1.01, Pattern::Random)),
            "`read_share` is 1.01; wanted a share from 0 to 1"
        );
        let ssio = Ssio::new(1.0, Pattern::Random);
        assert_eq!(
            message(Ssio { working_set: Some(Bytes::mib(2)), ..ssio }),
            "`working_set` is 2 MiB, but the volume has 1 MiB"
        );
        assert_eq!(
            message(Ssio { access: Bytes::mib(2), ..ssio }),
            "`working_set` is 1 MiB; wanted at least 2 MiB: 1 accesses of 2 MiB"
        );
    }
}
