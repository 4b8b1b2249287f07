//! The cost of the real codecs, and of copying memory.
//!
//! An operation is the work of a client on a block: compute the vector, encrypt, encode; or decode
//! and decrypt. Blocks and fragments are in the processor's caches, as for a client that has just
//! received them. Memory for the copying measurement is not in the caches.

use std::hint::black_box;

use foretell_algorithms::codec::{Cipher, Encoding, Erasure, KEY_LEN, Shares};
use foretell_core::calibrate::cost::Point;
use foretell_units::{Bytes, Seed, VolumeId};

use super::stopwatch::Stopwatch;
use crate::failure::Failure;

/// Sizes of blocks from which fixed costs and costs by size are separated.
pub(crate) const SIZES: [Bytes; 5] =
    [Bytes::kib(1), Bytes::kib(4), Bytes::kib(16), Bytes::kib(64), Bytes::kib(256)];

/// Memory that is copied from and to, in bytes: larger than the last-level cache of most
/// processors.
const COPIED: usize = 64 << 20;

const KEY: [u8; KEY_LEN] = *b"sixteen bytes ok";

/// Cost of one block in one encoding, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct BlockCost {
    pub(crate) encoding: Encoding,
    pub(crate) cipher: Cipher,
    /// Encryption and encoding.
    pub(crate) encode_ns: f64,
    /// Decoding from the first m fragments, and decryption.
    pub(crate) decode_ns: f64,
    /// Decoding from the last m fragments, and decryption; `None` without redundancy.
    pub(crate) rebuild_ns: Option<f64>,
}

/// A block of random bytes.
fn block_of(size: Bytes) -> Vec<u8> {
    let mut stream = Seed(1).stream("calibrate/block");
    (0..size.get()).map(|_| stream.bits() as u8).collect()
}

/// Number of data fragments missing among the last m of n fragments.
pub(crate) fn most_lost(encoding: Encoding) -> u64 {
    encoding.m().min(encoding.tolerates()) as u64
}

/// Number of multiply-and-add passes over a block to encode it.
pub(crate) fn passes(encoding: Encoding) -> u64 {
    encoding.passes() as u64
}

/// A block with everything needed to encode and decode it.
struct Bench {
    erasure: Erasure,
    cipher: Cipher,
    block: Vec<u8>,
}

impl Bench {
    fn encode(&self) -> Vec<Vec<u8>> {
        match self.cipher {
            Cipher::None => self.erasure.encode(black_box(&self.block)),
            cipher @ Cipher::Aes128Cbc => {
                let iv = cipher.iv(&KEY, VolumeId(1), 2, 3);
                self.erasure.encode(&cipher.encrypt(&KEY, &iv, black_box(&self.block)))
            }
        }
    }

    fn decode(&self, fragments: &[(usize, &[u8])]) -> Vec<u8> {
        let sealed =
            self.erasure.decode(black_box(fragments), self.block.len()).expect("enough fragments");
        match self.cipher {
            Cipher::None => sealed,
            cipher @ Cipher::Aes128Cbc => {
                let iv = cipher.iv(&KEY, VolumeId(1), 2, 3);
                cipher.decrypt(&KEY, &iv, &sealed).expect("it was sealed with this key")
            }
        }
    }
}

/// Measures an encoding with blocks of `size`.
pub(crate) fn block_cost(
    stopwatch: &Stopwatch,
    encoding: Encoding,
    cipher: Cipher,
    size: Bytes,
) -> Result<BlockCost, Failure> {
    let bench = Bench { erasure: Erasure::new(encoding), cipher, block: block_of(size) };
    let fragments = bench.encode();
    let all: Vec<(usize, &[u8])> =
        fragments.iter().enumerate().map(|(index, bytes)| (index, bytes.as_slice())).collect();
    let first = &all[..encoding.m()];
    // the last fragments that suffice
    let order: Vec<u8> = (0..encoding.n() as u8).rev().collect();
    let last = Shares::new(encoding).complete(&[], &order).expect("all of them suffice");
    let last: Vec<(usize, &[u8])> = last.iter().map(|index| all[usize::from(*index)]).collect();
    // check that the code decodes, or the measurement would mean nothing
    assert!(bench.decode(first) == bench.block && bench.decode(&last) == bench.block);
    let what = format!("{encoding}, {cipher}, {size}");
    let encode_ns = stopwatch.measure(&what, || drop(black_box(bench.encode())))?;
    let decode_ns = stopwatch.measure(&what, || drop(black_box(bench.decode(first))))?;
    let rebuild_ns = (most_lost(encoding) > 0)
        .then(|| stopwatch.measure(&what, || drop(black_box(bench.decode(&last)))))
        .transpose()?;
    Ok(BlockCost { encoding, cipher, encode_ns, decode_ns, rebuild_ns })
}

/// Encryption and decryption alone, by size.
pub(crate) fn cipher_costs(stopwatch: &Stopwatch) -> Result<[Vec<Point>; 2], Failure> {
    let cipher = Cipher::Aes128Cbc;
    let (mut encrypt, mut decrypt) = (Vec::new(), Vec::new());
    for size in SIZES {
        let block = block_of(size);
        let seal = || {
            let iv = cipher.iv(&KEY, VolumeId(1), 2, 3);
            cipher.encrypt(&KEY, &iv, black_box(&block))
        };
        let sealed = seal();
        let open = || {
            let iv = cipher.iv(&KEY, VolumeId(1), 2, 3);
            cipher.decrypt(&KEY, &iv, black_box(&sealed)).expect("it was sealed with this key")
        };
        let what = format!("{cipher}, {size}");
        let bytes = size.get() as f64;
        encrypt.push((bytes, stopwatch.measure(&what, || drop(black_box(seal())))?));
        decrypt.push((bytes, stopwatch.measure(&what, || drop(black_box(open())))?));
    }
    Ok([encrypt, decrypt])
}

/// Erasure coding alone: cost by bytes times passes, for encoding, and for decoding with as many
/// lost fragments as possible. It includes the cost of the fragments' memory.
pub(crate) fn code_costs(
    stopwatch: &Stopwatch,
    encodings: &[Encoding],
) -> Result<Vec<Point>, Failure> {
    let mut points = Vec::new();
    for &encoding in encodings {
        for size in SIZES {
            let cost = block_cost(stopwatch, encoding, Cipher::None, size)?;
            let bytes = size.get() as f64;
            points.push((bytes * passes(encoding) as f64, cost.encode_ns));
            if let Some(rebuild_ns) = cost.rebuild_ns {
                points.push((bytes * most_lost(encoding) as f64, rebuild_ns));
            }
        }
    }
    Ok(points)
}

/// Copying from memory to memory.
pub(crate) fn copy_costs(stopwatch: &Stopwatch) -> Result<Vec<Point>, Failure> {
    let source = vec![1_u8; COPIED];
    let mut target = vec![2_u8; COPIED];
    let mut points = Vec::new();
    for size in SIZES {
        let length = size.get() as usize;
        let mut at = 0;
        let ns = stopwatch.measure(&format!("copying {size}"), || {
            target[at..at + length].copy_from_slice(black_box(&source[at..at + length]));
            black_box(&mut target);
            at = (at + length) % COPIED;
        })?;
        points.push((length as f64, ns));
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_those_that_the_simulator_charges() {
        let of = |text: &str| {
            let encoding: Encoding = text.parse().unwrap();
            (passes(encoding), most_lost(encoding))
        };
        assert_eq!(of("1-of-1"), (0, 0));
        assert_eq!(of("1-of-3"), (0, 1));
        assert_eq!(of("3-of-5"), (2, 2));
        assert_eq!(of("2-of-5"), (3, 2));
        assert_eq!(of("5-of-5"), (0, 0));
    }
}
