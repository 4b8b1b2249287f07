//! Products of bytes in GF(2⁸) for erasure codes: many bytes times one factor.
//!
//! The field is that of `reed-solomon-erasure`, whose generating polynomial is x⁸ + x⁴ + x³ + x² + 1. A
//! product is the sum of the products of a byte's two halves, which a shuffle instruction looks up sixteen
//! or thirty-two at a time (Plank, Greenan & Miller, *Screaming Fast Galois Field Arithmetic Using Intel
//! SIMD Instructions*, FAST 2013). The available instructions are detected at run time, so one build runs
//! on every machine. All methods give the same bytes; the crate `reed-solomon-erasure` is the oracle.
//!
//! This is the only crate of the workspace with `unsafe` code, and it has no other purpose. It needs
//! `unsafe` for two things that the compiler cannot check: that a function with vector instructions is
//! called only on a processor that has them, and that a vector is loaded from and stored to valid memory.
//! The alternative was C, compiled for one kind of processor without detection at run time.
#![allow(clippy::cast_possible_truncation, reason = "draws of tests are small")]

mod tables;

#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod x86;

use tables::Products;

/// A method of multiplication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Tables, byte by byte: available on every machine.
    Portable,
    /// 16 bytes at a time: x86-64 since 2006.
    Ssse3,
    /// 32 bytes at a time: x86-64 since 2013.
    Avx2,
    /// 16 bytes at a time: 64-bit ARM.
    Neon,
}

impl Method {
    /// All methods, the fastest first.
    pub const ALL: [Self; 4] = [Self::Avx2, Self::Ssse3, Self::Neon, Self::Portable];

    /// Whether this machine has the instructions.
    pub fn is_here(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => std::arch::is_x86_feature_detected!("ssse3"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            _ => false,
        }
    }

    /// The fastest method that this machine supports.
    pub fn fastest() -> Self {
        let here = Self::ALL.into_iter().find(|method| method.is_here());
        here.unwrap_or(Self::Portable)
    }

    /// `portable`, `ssse3`, `avx2` or `neon`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Ssse3 => "ssse3",
            Self::Avx2 => "avx2",
            Self::Neon => "neon",
        }
    }
}

/// Adds `factor` times each byte of `source` to the byte of `target` at the same index, with the fastest
/// method.
///
/// # Panics
///
/// If the two differ in length.
pub fn multiply_add(factor: u8, source: &[u8], target: &mut [u8]) {
    multiply_add_with(Method::fastest(), factor, source, target);
}

/// The same with the given method; if the machine does not support it, byte by byte.
///
/// # Panics
///
/// If the two differ in length.
pub fn multiply_add_with(method: Method, factor: u8, source: &[u8], target: &mut [u8]) {
    assert_eq!(source.len(), target.len(), "source and target are of one length");
    match factor {
        0 => return,
        1 => {
            for (target, source) in target.iter_mut().zip(source) {
                *target ^= source;
            }
            return;
        }
        _ => {}
    }
    let products = Products::of(factor);
    let done = match method {
        #[cfg(target_arch = "x86_64")]
        Method::Ssse3 | Method::Avx2 if method.is_here() => {
            x86::multiply_add(method, &products, source, target)
        }
        #[cfg(target_arch = "aarch64")]
        Method::Neon if method.is_here() => arm::multiply_add(&products, source, target),
        _ => 0,
    };
    products.multiply_add(&source[done..], &mut target[done..]);
}

#[cfg(test)]
mod tests {
    use foretell_units::{Seed, Stream};
    use reed_solomon_erasure::galois_8::mul_slice_xor;

    use super::*;

    fn bytes(stream: &mut Stream, length: usize) -> Vec<u8> {
        (0..length).map(|_| stream.bits() as u8).collect()
    }

    fn here() -> impl Iterator<Item = Method> {
        Method::ALL.into_iter().filter(|method| method.is_here())
    }

    #[test]
    fn oracle_every_factor_and_byte() {
        let source: Vec<u8> = (0..=255).collect();
        for method in here() {
            for factor in 0..=255 {
                let mut expected = vec![0x5a; 256];
                let mut found = expected.clone();
                mul_slice_xor(factor, &source, &mut expected);
                multiply_add_with(method, factor, &source, &mut found);
                assert_eq!(found, expected, "{method:?}, {factor}");
            }
        }
    }

    #[test]
    fn oracle_every_length_and_alignment() {
        let mut stream = Seed(11).stream("galois");
        let (sources, targets) = (bytes(&mut stream, 400), bytes(&mut stream, 400));
        for method in here() {
            for length in 0..=260 {
                let (from, to) = (stream.below(64) as usize, stream.below(64) as usize);
                let factor = stream.bits() as u8;
                let (mut expected, mut found) = (targets.clone(), targets.clone());
                let source = &sources[from..from + length];
                mul_slice_xor(factor, source, &mut expected[to..to + length]);
                multiply_add_with(method, factor, source, &mut found[to..to + length]);
                // the bytes before and after are unchanged
                assert_eq!(found, expected, "{method:?}, {length} from {from} to {to}");
            }
            for from in 0..64 {
                for to in 0..64 {
                    let (mut expected, mut found) = (targets.clone(), targets.clone());
                    let source = &sources[from..from + 97];
                    mul_slice_xor(0x8e, source, &mut expected[to..to + 97]);
                    multiply_add_with(method, 0x8e, source, &mut found[to..to + 97]);
                    assert_eq!(found, expected, "{method:?}, from {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn oracle_random_strings() {
        let mut stream = Seed(12).stream("galois");
        for _ in 0..300 {
            let length = stream.below(20_000) as usize;
            let factor = stream.bits() as u8;
            let (source, target) = (bytes(&mut stream, length), bytes(&mut stream, length));
            let mut expected = target.clone();
            mul_slice_xor(factor, &source, &mut expected);
            for method in here() {
                let mut found = target.clone();
                multiply_add_with(method, factor, &source, &mut found);
                assert!(found == expected, "{method:?}, {factor}, {length} bytes");
            }
        }
    }

    #[test]
    fn a_method_that_is_not_here_gives_the_same() {
        for method in Method::ALL.into_iter().filter(|method| !method.is_here()) {
            let mut target = [1, 2, 3];
            multiply_add_with(method, 2, &[1, 1, 128], &mut target);
            // 2 · 128 = 0x100, minus the polynomial 0x11d
            assert_eq!(target, [3, 0, 3 ^ 0x1d]);
        }
    }

    #[test]
    #[should_panic(expected = "one length")]
    fn lengths_must_agree() {
        multiply_add(7, &[1, 2], &mut [1]);
    }
}
