//! Measures an array: its setup, a single member, and its controller.

use foretell_scenarios::device::{Array, ArrayCache, Device as Profile};
use foretell_units::{Op, SECTOR_BYTES, Sectors, SimSpan};
use foretell_whatif::{ArrayCacheFacts, ArrayFacts, WriteCacheFacts};

use super::rig::Bench;
use super::steady::Load;

/// Sizes of operations used to measure the controller.
const SIZES: [u64; 3] = [4 << 10, 64 << 10, 256 << 10];
/// Operations outstanding while the controller is kept busy, and how many of them are measured.
const DEEP: (u32, u64) = (128, 512);
/// Bytes that are read into the controller's memory, so that they can be read again.
const WARM: u64 = 8 << 20;
/// Trials of times that hardly vary, and of times that do.
const TRIALS: (usize, usize) = (9, 400);
/// If a repeated read takes longer than this, ns, the data are not in any cache.
const IN_MEMORY: f64 = 1e6;

/// The known facts and the measurements of an array.
pub(super) fn measure(name: &str, profile: &Profile, array: &Array) -> ArrayFacts {
    let member = super::measure(&array.device_name, &array.device);
    let fresh = || Bench::new(name, profile);
    let in_memory = array.cache.is_some();
    let reads = if in_memory {
        let mut bench = fresh();
        SIZES.map(|bytes| (bytes, bench.again(bytes)))
    } else {
        let member = || Bench::new(&array.device_name, &array.device);
        SIZES.map(|bytes| (bytes, beside_members(&mut fresh(), &mut member(), bytes)))
    };
    let by_byte = ((reads[2].1 - reads[0].1) / (SIZES[2] - SIZES[0]) as f64).max(0.0);
    let mut line_ns = SIZES.map(|bytes| (bytes, bytes as f64 * by_byte)).to_vec();
    if in_memory {
        let mut bench = fresh();
        bench.warm();
        line_ns = SIZES.map(|bytes| (bytes, bench.deep(Op::Read, bytes))).to_vec();
    }
    let mut controller_ns = [reads.to_vec(), reads.to_vec()];
    let mut line_ns = [line_ns.clone(), line_ns];
    let write = array.cache.as_ref().and_then(|cache| cache.write);
    if let Some(write) = write {
        let mut bench = fresh();
        controller_ns[1] = SIZES.map(|bytes| (bytes, bench.write_alone(bytes))).to_vec();
        let room = write.low.get() / 4;
        let fits = |bytes: u64| bytes * (DEEP.1 + 2 * u64::from(DEEP.0)) < room;
        if fits(SIZES[0]) {
            let smallest = fresh().deep(Op::Write, SIZES[0]);
            // sizes that do not fit into the cache get the time for each byte of the smallest size
            line_ns[1] = SIZES
                .map(|bytes| {
                    let by_byte = smallest * (bytes / SIZES[0]) as f64;
                    (bytes, if fits(bytes) { fresh().deep(Op::Write, bytes) } else { by_byte })
                })
                .to_vec();
        }
    }
    ArrayFacts {
        level: array.level.name().to_owned(),
        members: array.members,
        stripe_unit_bytes: array.stripe_unit.get(),
        member,
        cache: array.cache.as_ref().map(caches),
        controller_ns,
        line_ns,
    }
}

/// The caches of an array according to its data sheet.
fn caches(cache: &ArrayCache) -> ArrayCacheFacts {
    ArrayCacheFacts {
        bytes: cache.size.get(),
        page_bytes: cache.page.get(),
        policy: cache.policy.clone(),
        read_ahead_bytes: cache.read_ahead.get(),
        write: cache.write.map(|write| WriteCacheFacts {
            bytes: write.size.get(),
            low_bytes: write.low.get(),
            high_bytes: write.high.get(),
            destage: write.destage.name().to_owned(),
        }),
    }
}

/// Fills the write cache of an array to its high mark with random writes of `bytes` each. Returns the number
/// of bytes that then still fit.
///
/// On a real array these writes would take time. Here they take none.
pub(super) fn fill(bench: &mut Bench, array: &Array, bytes: u64) -> u64 {
    let Some(write) = array.cache.as_ref().and_then(|cache| cache.write) else { return 0 };
    let sectors = bytes / SECTOR_BYTES;
    for _ in 0..write.high.get() / bytes {
        let lbn = bench.anywhere(sectors);
        bench.device.touch(Op::Write, Sectors(lbn), Sectors(sectors));
    }
    let room = write.size.get() - write.high.get();
    room + room / 8
}

/// By how much longer a read of an array takes than a read of a single member, ns.
fn beside_members(array: &mut Bench, member: &mut Bench, bytes: u64) -> f64 {
    let (whole, part) = (array.again(bytes), member.again(bytes));
    if part < IN_MEMORY {
        return (whole - part).max(0.0);
    }
    (array.reads_alone(bytes) - member.reads_alone(bytes)).max(0.0)
}

impl Bench {
    /// Time of a repeated read, ns.
    fn again(&mut self, bytes: u64) -> f64 {
        let sectors = bytes / SECTOR_BYTES;
        let mut times: Vec<f64> = (0..TRIALS.0)
            .map(|_| {
                let lbn = self.anywhere(sectors);
                self.one(Op::Read, lbn, sectors);
                self.pause(SimSpan::from_ms(20));
                self.one(Op::Read, lbn, sectors)
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[TRIALS.0 / 2]
    }

    /// Mean time of random reads after pauses, ns.
    fn reads_alone(&mut self, bytes: u64) -> f64 {
        let sectors = bytes / SECTOR_BYTES;
        let mut one = || {
            let idle = self.stream.below(20_000_000);
            self.pause(SimSpan::from_ns(idle));
            let lbn = self.anywhere(sectors);
            self.one(Op::Read, lbn, sectors)
        };
        (0..TRIALS.1).map(|_| one()).sum::<f64>() / TRIALS.1 as f64
    }

    /// Time of a random write after a pause, ns.
    fn write_alone(&mut self, bytes: u64) -> f64 {
        let sectors = bytes / SECTOR_BYTES;
        let mut times: Vec<f64> = (0..TRIALS.0)
            .map(|_| {
                self.pause(SimSpan::from_ms(50));
                let lbn = self.anywhere(sectors);
                self.one(Op::Write, lbn, sectors)
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[TRIALS.0 / 2]
    }

    /// Reads the first sectors of the array into its memory.
    fn warm(&mut self) {
        for piece in 0..WARM / SIZES[1] {
            let sectors = SIZES[1] / SECTOR_BYTES;
            self.one(Op::Read, piece * sectors, sectors);
        }
        self.pause(SimSpan::from_secs(1));
    }

    /// Mean time between completions while many operations are outstanding that do not need a member, ns.
    fn deep(&mut self, op: Op, bytes: u64) -> f64 {
        let (read_share, sectors) = match op {
            Op::Read => (1.0, WARM / SECTOR_BYTES),
            Op::Write => (0.0, self.sectors),
        };
        let load = Load { bytes, depth: DEEP.0, read_share, sectors };
        let round = self.after_the_first(&load, DEEP.1);
        1e9 / round.per_s(op).max(1.0)
    }
}
