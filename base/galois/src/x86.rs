//! Multiplication with the shuffles of x86-64: SSSE3, sixteen bytes at a time, and AVX2,
//! thirty-two.
#![expect(unsafe_code, reason = "vector instructions; the head of the crate says why")]
#![allow(clippy::cast_ptr_alignment, reason = "the instructions that follow need no alignment")]

use std::arch::x86_64::{
    __m128i, __m256i, _mm_and_si128, _mm_loadu_si128, _mm_set1_epi8, _mm_shuffle_epi8,
    _mm_srli_epi16, _mm_storeu_si128, _mm_xor_si128, _mm256_and_si256, _mm256_broadcastsi128_si256,
    _mm256_loadu_si256, _mm256_set1_epi8, _mm256_shuffle_epi8, _mm256_srli_epi16,
    _mm256_storeu_si256, _mm256_xor_si256,
};

use crate::Method;
use crate::tables::Products;

/// Adds products. Returns how many bytes, from the first, were processed. The processor must
/// support `method`.
pub(crate) fn multiply_add(
    method: Method,
    products: &Products,
    source: &[u8],
    target: &mut [u8],
) -> usize {
    assert!(method.is_here());
    match method {
        // SAFETY: this processor has AVX2; that was just checked.
        Method::Avx2 => unsafe { avx2(products, source, target) },
        // SAFETY: this processor has SSSE3; that was just checked.
        Method::Ssse3 => unsafe { ssse3(products, source, target) },
        Method::Neon | Method::Portable => 0,
    }
}

#[target_feature(enable = "ssse3")]
fn ssse3(products: &Products, source: &[u8], target: &mut [u8]) -> usize {
    let (low, high, half) = (load(&products.low), load(&products.high), _mm_set1_epi8(15));
    let (sources, _) = source.as_chunks::<16>();
    let (targets, _) = target.as_chunks_mut::<16>();
    for (source, target) in sources.iter().zip(&mut *targets) {
        let bytes = load(source);
        let lows = _mm_shuffle_epi8(low, _mm_and_si128(bytes, half));
        let highs = _mm_shuffle_epi8(high, _mm_and_si128(_mm_srli_epi16::<4>(bytes), half));
        let sum = _mm_xor_si128(load(target), _mm_xor_si128(lows, highs));
        // SAFETY: `target` has the sixteen bytes that are written, and no alignment is required.
        unsafe { _mm_storeu_si128(std::ptr::from_mut(target).cast::<__m128i>(), sum) };
    }
    16 * sources.len().min(targets.len())
}

#[target_feature(enable = "avx2")]
fn avx2(products: &Products, source: &[u8], target: &mut [u8]) -> usize {
    let low = _mm256_broadcastsi128_si256(load(&products.low));
    let high = _mm256_broadcastsi128_si256(load(&products.high));
    let half = _mm256_set1_epi8(15);
    let (sources, _) = source.as_chunks::<32>();
    let (targets, _) = target.as_chunks_mut::<32>();
    for (source, target) in sources.iter().zip(&mut *targets) {
        let bytes = load_wide(source);
        let lows = _mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half));
        let highs =
            _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), half));
        let sum = _mm256_xor_si256(load_wide(target), _mm256_xor_si256(lows, highs));
        // SAFETY: `target` has the thirty-two bytes that are written, and no alignment is required.
        unsafe { _mm256_storeu_si256(std::ptr::from_mut(target).cast::<__m256i>(), sum) };
    }
    32 * sources.len().min(targets.len())
}

#[inline]
#[target_feature(enable = "ssse3")]
fn load(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: `bytes` has the sixteen bytes that are read, and no alignment is required.
    unsafe { _mm_loadu_si128(std::ptr::from_ref(bytes).cast::<__m128i>()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_wide(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: `bytes` has the thirty-two bytes that are read, and no alignment is required.
    unsafe { _mm256_loadu_si256(std::ptr::from_ref(bytes).cast::<__m256i>()) }
}
