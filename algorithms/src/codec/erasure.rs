//! Blocks into fragments and back.
//!
//! Systematic Reed–Solomon over GF(2⁸) (Reed & Solomon 1960; a Vandermonde matrix turned
//! systematic, as Plank 1997): the first m fragments are the block itself, cut in m and padded
//! with zeros, the others are parity. Two cases need no arithmetic: m = 1, where every fragment
//! is a copy, and m = n, where there is no parity.
//!
//! The code is that of the crate `reed-solomon-erasure`: it says which fragment has which share in which
//! other. The crate's own arithmetic on whole fragments is byte by byte (its vector instructions are
//! chosen when it is built, and a machine without them would die), so the sums are made by
//! `foretell-galois`, which asks the machine when it runs. What the crate itself makes of a block is the
//! oracle.

use std::collections::BTreeMap;
use std::fmt;

use foretell_galois::multiply_add;
use foretell_units::Bytes;
use reed_solomon_erasure::galois_8::ReedSolomon;
use thiserror::Error;

use super::Encoding;

/// Why fragments do not give a block.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CodecError {
    /// Fewer than m.
    #[error("encoding `{encoding}` needs {} fragments to decode, found {found}", .encoding.m())]
    TooFew {
        /// The encoding.
        encoding: Encoding,
        /// How many fragments there were.
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
    /// A fragment is not as long as the block asks for, so not as long as the others either.
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
        /// The length that follows.
        wanted: usize,
    },
}

/// Encodes and decodes blocks in one [`Encoding`].
pub struct Erasure {
    encoding: Encoding,
    /// For 1 < m < n.
    code: Option<Code>,
}

/// Bytes of a fragment that are summed at a time: with those of a few others they stay in the
/// processor's first cache.
const PIECE: usize = 4096;

/// The code, and what it makes of data.
struct Code {
    shares: ReedSolomon,
    /// For each parity fragment, the factor of each data fragment in it.
    parity: Vec<Vec<u8>>,
}

impl Code {
    fn new(encoding: Encoding) -> Self {
        let (m, n) = (encoding.m(), encoding.n());
        let shares = ReedSolomon::new(m, n - m).expect("1 < m < n <= 255 is within GF(2^8)");
        // of fragments of m bytes that are 1 at their own place, parity is the factors
        let mut fragments = vec![vec![0; m]; n];
        for (place, fragment) in fragments[..m].iter_mut().enumerate() {
            fragment[place] = 1;
        }
        shares.encode(&mut fragments).expect("n fragments of equal length");
        Self { shares, parity: fragments.split_off(m) }
    }

    /// For each data fragment that is not among the m `used` ones, its place and the factor of each of
    /// them in it.
    fn recovery(&self, used: &[usize]) -> Vec<(usize, Vec<u8>)> {
        let (m, n) = (self.shares.data_shard_count(), self.shares.total_shard_count());
        let mut fragments = vec![(vec![0; m], false); n];
        for (place, index) in used.iter().enumerate() {
            fragments[*index].0[place] = 1;
            fragments[*index].1 = true;
        }
        let mut shards: Vec<(&mut [u8], bool)> =
            fragments.iter_mut().map(|(shard, used)| (shard.as_mut_slice(), *used)).collect();
        self.shares.reconstruct_data(&mut shards).expect("m shards of equal length");
        let missing = (0..m).filter(|index| !used.contains(index));
        missing.map(|index| (index, std::mem::take(&mut fragments[index].0))).collect()
    }
}

/// Adds the products of fragments with their factors to each of the targets, which are as long.
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
    /// A codec; it takes O(n·m²) to prepare, so keep it.
    pub fn new(encoding: Encoding) -> Self {
        let (m, n) = (encoding.m(), encoding.n());
        let code = (1 < m && m < n).then(|| Code::new(encoding));
        Self { encoding, code }
    }

    /// Which encoding it is.
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
        if let Some(code) = &self.code {
            let (data, parity) = fragments.split_at_mut(m);
            let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            let mut targets: Vec<(&[u8], &mut [u8])> = code
                .parity
                .iter()
                .map(Vec::as_slice)
                .zip(parity.iter_mut().map(Vec::as_mut_slice))
                .collect();
            add_products(&data, &mut targets);
        }
        fragments
    }

    /// The block of `block_len` bytes, from any m distinct fragments with their indices.
    ///
    /// More than m may be given; those that need least work are used. Contents are not checked:
    /// a fragment that was altered gives another block.
    ///
    /// # Errors
    ///
    /// If there are fewer than m, or an index is given twice or is none of 0 to n − 1, or a
    /// fragment is not as long as the encoding of a block of `block_len` makes it.
    pub fn decode(
        &self,
        fragments: &[(usize, &[u8])],
        block_len: usize,
    ) -> Result<Vec<u8>, CodecError> {
        let encoding = self.encoding;
        let (m, n) = (encoding.m(), encoding.n());
        let len = self.fragment_len(block_len);
        let mut present = BTreeMap::new();
        for &(index, fragment) in fragments {
            if index >= n {
                return Err(CodecError::OutOfRange { index, encoding });
            }
            if fragment.len() != len {
                let (found, block) = (fragment.len(), block_len);
                return Err(CodecError::Length { index, found, block, encoding, wanted: len });
            }
            if present.insert(index, fragment).is_some() {
                return Err(CodecError::Duplicate { index });
            }
        }
        if present.len() < m {
            return Err(CodecError::TooFew { encoding, found: present.len() });
        }
        if m == 1 {
            return Ok(present.into_values().next().expect("one at least").to_vec());
        }
        let mut block = vec![0; m * len];
        if len > 0 {
            self.fill(&mut block, len, &present);
        }
        block.truncate(block_len);
        Ok(block)
    }

    /// Fills `block`, m fragments of `len` bytes, from the first m that are present: data before
    /// parity, because data is only copied.
    fn fill(&self, block: &mut [u8], len: usize, present: &BTreeMap<usize, &[u8]>) {
        let m = self.encoding.m();
        let used: Vec<usize> = present.keys().copied().take(m).collect();
        let fragments: Vec<&[u8]> = present.values().copied().take(m).collect();
        for (&index, fragment) in used.iter().zip(&fragments).filter(|(index, _)| **index < m) {
            block[index * len..][..len].copy_from_slice(fragment);
        }
        let Some(code) = &self.code else { return };
        if used.last().is_none_or(|last| *last < m) {
            return;
        }
        let recovery = code.recovery(&used);
        let of = |index: usize| recovery.iter().find(|(missing, _)| *missing == index);
        let mut targets: Vec<(&[u8], &mut [u8])> = block
            .chunks_exact_mut(len)
            .enumerate()
            .filter_map(|(index, target)| Some((of(index)?.1.as_slice(), target)))
            .collect();
        add_products(&fragments, &mut targets);
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

    fn erasure(text: &str) -> Erasure {
        Erasure::new(text.parse().unwrap())
    }

    fn bytes(len: usize) -> Vec<u8> {
        let mut stream = Seed(7).stream("block");
        (0..len).map(|_| stream.bits() as u8).collect()
    }

    /// Decodes from the fragments named.
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
            // the last m: as much parity as there is
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
            // what is lost comes back as the crate brings it back
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
