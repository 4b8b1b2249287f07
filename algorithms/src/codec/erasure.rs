//! Encodes blocks into fragments, and decodes them.
//!
//! Systematic Reed–Solomon over GF(2⁸) (Reed & Solomon 1960; a Vandermonde matrix turned
//! systematic, as Plank 1997). The first m fragments are the block itself, cut into m parts and
//! padded with zeros; the others are parity. Two cases need no arithmetic: m = 1, where every
//! fragment is a copy, and m = n, where there is no parity.
//!
//! A code that repairs locally also has parities of its groups ([`Shares`]).
//!
//! The code is that of the crate `reed-solomon-erasure`, which gives the factor of each fragment in
//! each other one. The crate's own arithmetic on whole fragments works byte by byte: its vector
//! instructions are chosen at build time, and a program built with them would crash on a machine
//! without them. So the sums are computed by `foretell-galois`, which detects the machine's
//! instructions at run time. Tests compare the results with the crate's own encoding.

use std::fmt;

use foretell_galois::multiply_add;
use foretell_sorted::SortedMap;
use foretell_units::Bytes;
use thiserror::Error;

use super::Encoding;
use super::shares::{Numbers, Shares};

/// Why fragments do not yield a block.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CodecError {
    /// Fewer than m fragments, or fragments that depend on each other.
    #[error("encoding `{encoding}` needs {} fragments to decode, found {found}{}", .encoding.m(), dependent(*.encoding, *.found))]
    TooFew {
        /// The encoding.
        encoding: Encoding,
        /// Number of fragments found.
        found: usize,
    },
    /// The same fragment twice.
    #[error("fragment {index} was given twice")]
    Duplicate {
        /// Its index.
        index: usize,
    },
    /// There is no such fragment.
    #[error("there is no fragment {index} in encoding `{encoding}`; they are 0 to {}", .encoding.n() - 1)]
    OutOfRange {
        /// The index as found.
        index: usize,
        /// The encoding.
        encoding: Encoding,
    },
    /// A fragment's length does not match the block's, so it does not match the other fragments' either.
    #[error(
        "fragment {index} has {found} bytes; a block of {block} bytes in encoding `{encoding}` has fragments of {wanted}"
    )]
    Length {
        /// Which fragment.
        index: usize,
        /// Its length.
        found: usize,
        /// The block's length.
        block: usize,
        /// The encoding.
        encoding: Encoding,
        /// The length that the block requires.
        wanted: usize,
    },
}

fn dependent(encoding: Encoding, found: usize) -> &'static str {
    if found < encoding.m() { "" } else { " that depend on each other" }
}

/// Encodes and decodes blocks in one [`Encoding`].
pub struct Erasure {
    encoding: Encoding,
    shares: Shares,
}

/// Bytes of a fragment that are summed at a time: together with those of a few others they stay in
/// the processor's first-level cache.
const PIECE: usize = 4096;

/// Adds the products of fragments and factors to each of the targets, which have the same length.
fn add_products(fragments: &[&[u8]], targets: &mut [(&[u8], &mut [u8])]) {
    let length = fragments.first().map_or(0, |fragment| fragment.len());
    for from in (0..length).step_by(PIECE) {
        let piece = from..(from + PIECE).min(length);
        for (factors, target) in &mut *targets {
            for (factor, fragment) in factors.iter().zip(fragments) {
                multiply_add(*factor, &fragment[piece.clone()], &mut target[piece.clone()]);
            }
        }
    }
}

impl Erasure {
    /// A codec. Its first use takes O(n·m²), so keep it.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, shares: Shares::new(encoding) }
    }

    /// The encoding.
    pub const fn encoding(&self) -> Encoding {
        self.encoding
    }

    fn fragment_len(&self, block_len: usize) -> usize {
        self.encoding.fragment_len(Bytes(block_len as u64)).get() as usize
    }

    /// The n fragments of `block`, each [`Encoding::fragment_len`] bytes.
    pub fn encode(&self, block: &[u8]) -> Vec<Vec<u8>> {
        let (m, n) = (self.encoding.m(), self.encoding.n());
        if m == 1 {
            return vec![block.to_vec(); n];
        }
        let len = self.fragment_len(block.len());
        let mut fragments: Vec<Vec<u8>> = (0..n)
            .map(|index| {
                let from = (index * len).min(block.len());
                let to = ((index + 1) * len).min(block.len());
                let mut fragment = Vec::with_capacity(len);
                if index < m {
                    fragment.extend_from_slice(&block[from..to]);
                }
                fragment.resize(len, 0);
                fragment
            })
            .collect();
        let (data, parity) = fragments.split_at_mut(m);
        let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        let factors = self.shares.parity().iter().map(Vec::as_slice);
        let mut targets: Vec<(&[u8], &mut [u8])> =
            factors.zip(parity.iter_mut().map(Vec::as_mut_slice)).collect();
        add_products(&data, &mut targets);
        fragments
    }

    /// The block of `block_len` bytes, from enough fragments with their indices: any m of them, or
    /// for a code that repairs locally those that [`Shares::decodes`] accepts.
    ///
    /// If more are given, those that need the least work are used. Contents are not checked: an
    /// altered fragment yields another block.
    ///
    /// # Errors
    ///
    /// If they do not suffice, if an index is given twice or is not in 0 to n − 1, or if a
    /// fragment's length does not match the encoding of a block of `block_len`.
    pub fn decode(
        &self,
        fragments: &[(usize, &[u8])],
        block_len: usize,
    ) -> Result<Vec<u8>, CodecError> {
        let m = self.encoding.m();
        let len = self.fragment_len(block_len);
        let present = self.present(fragments, block_len)?;
        if m == 1 {
            return Ok(present.into_values().next().expect("one at least").to_vec());
        }
        // data before parity, because data are only copied
        let (used, fragments) = self.used(&present)?;
        let mut block = vec![0; m * len];
        if len > 0 {
            for (&index, fragment) in used.iter().zip(&fragments) {
                if usize::from(index) < m {
                    block[usize::from(index) * len..][..len].copy_from_slice(fragment);
                }
            }
            let missing: Numbers = (0..m as u8).filter(|index| !used.contains(index)).collect();
            let factors = self.shares.factors(&missing, &used).expect("they suffice");
            let of = |index: usize| missing.iter().position(|one| usize::from(*one) == index);
            let targets = block.chunks_exact_mut(len).enumerate();
            let mut targets: Vec<(&[u8], &mut [u8])> = targets
                .filter_map(|(index, target)| Some((factors[of(index)?].as_slice(), target)))
                .collect();
            add_products(&fragments, &mut targets);
        }
        block.truncate(block_len);
        Ok(block)
    }

    /// Rebuilds a fragment from others that suffice ([`Shares::repair`]).
    ///
    /// # Errors
    ///
    /// As [`Erasure::decode`].
    pub fn repair(
        &self,
        lost: usize,
        fragments: &[(usize, &[u8])],
        block_len: usize,
    ) -> Result<Vec<u8>, CodecError> {
        let (encoding, m) = (self.encoding, self.encoding.m());
        if lost >= encoding.n() {
            return Err(CodecError::OutOfRange { index: lost, encoding });
        }
        let present = self.present(fragments, block_len)?;
        if m == 1 {
            return Ok(present.into_values().next().expect("one at least").to_vec());
        }
        let used: Numbers = present.keys().map(|index| *index as u8).collect();
        let Some(factors) = self.shares.factors(&[lost as u8], &used) else {
            return Err(CodecError::TooFew { encoding, found: present.len() });
        };
        let fragments: Vec<&[u8]> = present.into_values().collect();
        let mut made = vec![0; self.fragment_len(block_len)];
        add_products(&fragments, &mut [(&factors[0], &mut made)]);
        Ok(made)
    }

    /// The fragments by index, after a check of indices and lengths.
    fn present<'a>(
        &self,
        fragments: &[(usize, &'a [u8])],
        block: usize,
    ) -> Result<SortedMap<usize, &'a [u8]>, CodecError> {
        let (encoding, wanted) = (self.encoding, self.fragment_len(block));
        let mut present = SortedMap::new();
        for &(index, fragment) in fragments {
            if index >= encoding.n() {
                return Err(CodecError::OutOfRange { index, encoding });
            }
            if fragment.len() != wanted {
                let found = fragment.len();
                return Err(CodecError::Length { index, found, block, encoding, wanted });
            }
            if present.insert(index, fragment).is_some() {
                return Err(CodecError::Duplicate { index });
            }
        }
        if present.is_empty() {
            return Err(CodecError::TooFew { encoding, found: 0 });
        }
        Ok(present)
    }

    /// The first fragments present that suffice.
    fn used<'a>(
        &self,
        present: &SortedMap<usize, &'a [u8]>,
    ) -> Result<(Numbers, Vec<&'a [u8]>), CodecError> {
        let all: Numbers = present.keys().map(|index| *index as u8).collect();
        let (encoding, found) = (self.encoding, present.len());
        let used = self.shares.complete(&[], &all).ok_or(CodecError::TooFew { encoding, found })?;
        let fragments = used.iter().map(|index| present[&usize::from(*index)]).collect();
        Ok((used, fragments))
    }
}

impl fmt::Debug for Erasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Erasure").field(&self.encoding).finish()
    }
}

impl Clone for Erasure {
    fn clone(&self) -> Self {
        Self::new(self.encoding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Seed;
    use proptest::prelude::*;
    use reed_solomon_erasure::galois_8::ReedSolomon;

    fn erasure(text: &str) -> Erasure {
        Erasure::new(text.parse().unwrap())
    }

    fn bytes(len: usize) -> Vec<u8> {
        let mut stream = Seed(7).stream("block");
        (0..len).map(|_| stream.bits() as u8).collect()
    }

    /// Decodes from the fragments with these indices.
    fn decode_from(
        codec: &Erasure,
        fragments: &[Vec<u8>],
        indices: &[usize],
        block_len: usize,
    ) -> Result<Vec<u8>, CodecError> {
        let chosen: Vec<_> = indices.iter().map(|&i| (i, fragments[i].as_slice())).collect();
        codec.decode(&chosen, block_len)
    }

    #[test]
    fn every_subset_of_m_decodes() {
        for n in 1..=7_u32 {
            for m in 1..=n {
                let codec = Erasure::new(Encoding::new(m, n).unwrap());
                for len in [0, 1, 2, 64, 97] {
                    let block = bytes(len);
                    let fragments = codec.encode(&block);
                    assert_eq!(fragments.len(), n as usize);
                    for subset in 0..1_u32 << n {
                        let mut indices: Vec<_> =
                            (0..n as usize).filter(|i| subset >> i & 1 == 1).collect();
                        indices.reverse(); // order does not matter
                        let decoded = decode_from(&codec, &fragments, &indices, len);
                        if indices.len() >= m as usize {
                            assert_eq!(decoded.as_ref(), Ok(&block), "{m}-of-{n} {indices:?}");
                        } else {
                            let found = indices.len();
                            let encoding = codec.encoding();
                            assert_eq!(decoded, Err(CodecError::TooFew { encoding, found }));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_first_m_fragments_are_the_block() {
        // 10 bytes in 3: 4 + 4 + 2, padded with two zeros
        let fragments = erasure("3-of-5").encode(b"0123456789");
        assert_eq!(fragments[..3], [b"0123".to_vec(), b"4567".to_vec(), b"89\0\0".to_vec()]);
        assert_eq!(erasure("1-of-2").encode(b"ab"), [b"ab".to_vec(), b"ab".to_vec()]);
        assert_eq!(erasure("2-of-2").encode(b"abc"), [b"ab".to_vec(), b"c\0".to_vec()]);
    }

    #[test]
    fn a_block_shorter_than_m_still_decodes() {
        let codec = erasure("5-of-8");
        let fragments = codec.encode(b"xy");
        assert!(fragments.iter().all(|fragment| fragment.len() == 1));
        assert_eq!(decode_from(&codec, &fragments, &[2, 3, 5, 6, 7], 2), Ok(b"xy".to_vec()));
    }

    #[test]
    fn names_what_is_wrong_with_fragments() {
        let codec = erasure("2-of-3");
        let a: &[u8] = &[1, 2];
        let fault = |fragments: &[(usize, &[u8])]| codec.decode(fragments, 4).unwrap_err();
        assert_eq!(fault(&[(0, a), (0, a)]), CodecError::Duplicate { index: 0 });
        assert_eq!(
            fault(&[(0, a), (3, a)]).to_string(),
            "there is no fragment 3 in encoding `2-of-3`; they are 0 to 2"
        );
        assert_eq!(
            fault(&[(0, a), (1, &[1])]).to_string(),
            "fragment 1 has 1 bytes; a block of 4 bytes in encoding `2-of-3` has fragments of 2"
        );
        assert_eq!(
            fault(&[(2, a)]).to_string(),
            "encoding `2-of-3` needs 2 fragments to decode, found 1"
        );
    }

    #[test]
    fn up_to_255_fragments() {
        for (m, n) in [(1, 255), (2, 255), (128, 255), (254, 255), (255, 255), (100, 200)] {
            let codec = Erasure::new(Encoding::new(m, n).unwrap());
            let block = bytes(1000);
            let fragments = codec.encode(&block);
            // the last m: as much parity as possible
            let last: Vec<_> = ((n - m) as usize..n as usize).collect();
            assert_eq!(decode_from(&codec, &fragments, &last, 1000).as_ref(), Ok(&block));
        }
    }

    #[test]
    fn oracle_fragments_are_those_of_the_crate() {
        let mut stream = Seed(8).stream("oracle");
        for _ in 0..200 {
            let n = 3 + stream.below(30) as usize;
            let m = 2 + stream.below(n as u64 - 2) as usize;
            let codec = Erasure::new(Encoding::new(m as u32, n as u32).unwrap());
            let block = bytes(1 + stream.below(30_000) as usize);
            let found = codec.encode(&block);
            let code = ReedSolomon::new(m, n - m).unwrap();
            let mut expected = found.clone();
            expected[m..].iter_mut().for_each(|parity| parity.fill(0x77));
            code.encode(&mut expected).unwrap();
            assert!(found == expected, "{m}-of-{n}, {} bytes", block.len());
            // lost fragments are rebuilt as the crate rebuilds them
            let mut kept: Vec<Option<Vec<u8>>> = found.iter().cloned().map(Some).collect();
            for _ in 0..n - m {
                kept[stream.below(n as u64) as usize] = None;
            }
            let left: Vec<_> =
                kept.iter().enumerate().filter_map(|(i, f)| Some((i, f.as_deref()?))).collect();
            let decoded = codec.decode(&left, block.len()).unwrap();
            let mut rebuilt = kept.clone();
            code.reconstruct_data(&mut rebuilt).unwrap();
            let mut expected: Vec<u8> =
                rebuilt.into_iter().take(m).flat_map(Option::unwrap).collect();
            expected.truncate(block.len());
            assert!(decoded == expected && decoded == block, "{m}-of-{n}");
        }
    }

    #[test]
    fn local_codes_decode_and_repair() {
        for text in ["lrc(4,2,1)", "lrc(6,2,2)", "lrc(12,2,2)", "lrc(6,3,0)"] {
            let codec = erasure(text);
            let (n, shares) = (codec.encoding().n(), Shares::new(codec.encoding()));
            let block = bytes(1001);
            let fragments = codec.encode(&block);
            let mut stream = Seed(9).stream(text);
            for _ in 0..300 {
                let kept: Vec<usize> = (0..n).filter(|_| stream.below(3) > 0).collect();
                let numbers: Numbers = kept.iter().map(|index| *index as u8).collect();
                let decoded = decode_from(&codec, &fragments, &kept, block.len());
                assert_eq!(decoded.is_ok(), shares.decodes(&numbers), "{text} {kept:?}");
                assert!(decoded.is_err() || decoded == Ok(block.clone()), "{text} {kept:?}");
                let lost = stream.below(n as u64) as usize;
                let others: Numbers =
                    numbers.iter().copied().filter(|one| usize::from(*one) != lost).collect();
                let Some(sources) = shares.repair(lost as u8, &[], &others) else { continue };
                let sources: Vec<(usize, &[u8])> = sources
                    .iter()
                    .map(|index| (usize::from(*index), fragments[usize::from(*index)].as_slice()))
                    .collect();
                let made = codec.repair(lost, &sources, block.len());
                assert_eq!(made.as_ref(), Ok(&fragments[lost]), "{text} {lost}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn sampled_subsets_decode(
            (m, n) in (1_u32..=64).prop_flat_map(|n| (1..=n, Just(n))),
            block in prop::collection::vec(any::<u8>(), 0..3000),
            seed in any::<u64>(),
        ) {
            let codec = Erasure::new(Encoding::new(m, n).unwrap());
            let fragments = codec.encode(&block);
            let mut stream = Seed(seed).stream("subset");
            let mut indices: Vec<usize> = (0..n as usize).collect();
            for left in 0..m as usize {
                let other = left + stream.below(u64::from(n) - left as u64) as usize;
                indices.swap(left, other);
            }
            indices.truncate(m as usize);
            prop_assert_eq!(decode_from(&codec, &fragments, &indices, block.len()), Ok(block));
        }
    }
}
