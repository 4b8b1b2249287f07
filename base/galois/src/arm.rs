//! Multiplication with the table look-ups of 64-bit ARM: NEON, sixteen bytes at a time.
#![expect(unsafe_code, reason = "vector instructions; the head of the crate says why")]
#![allow(clippy::cast_ptr_alignment, reason = "the instructions that follow need no alignment")]

use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vdupq_n_u8, veorq_u8, vld1q_u8, vqtbl1q_u8, vshrq_n_u8, vst1q_u8,
};

use crate::Method;
use crate::tables::Products;

/// Adds products. Returns how many bytes, from the first, were processed. The processor must have
/// NEON.
pub(crate) fn multiply_add(products: &Products, source: &[u8], target: &mut [u8]) -> usize {
    assert!(Method::Neon.is_here());
    // SAFETY: this processor has NEON; that was just checked.
    unsafe { neon(products, source, target) }
}

#[target_feature(enable = "neon")]
fn neon(products: &Products, source: &[u8], target: &mut [u8]) -> usize {
    let (low, high, half) = (load(&products.low), load(&products.high), vdupq_n_u8(15));
    let (sources, _) = source.as_chunks::<16>();
    let (targets, _) = target.as_chunks_mut::<16>();
    for (source, target) in sources.iter().zip(&mut *targets) {
        let bytes = load(source);
        let lows = vqtbl1q_u8(low, vandq_u8(bytes, half));
        let highs = vqtbl1q_u8(high, vshrq_n_u8::<4>(bytes));
        let sum = veorq_u8(load(target), veorq_u8(lows, highs));
        // SAFETY: `target` has the sixteen bytes that are written, and no alignment is required.
        unsafe { vst1q_u8(target.as_mut_ptr(), sum) };
    }
    16 * sources.len().min(targets.len())
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: `bytes` has the sixteen bytes that are read, and no alignment is required.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}
