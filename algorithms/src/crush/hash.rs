//! Robert Jenkins' 32-bit mix, with Ceph's inputs (`rjenkins1`).
//!
//! Source: Jenkins, *A hash function for hash table lookup*, Dr. Dobb's Journal, September 1997 (public
//! domain); Ceph starts it from the constant 1315423911 and fills unused inputs with 231232 and 1232.

const START: u32 = 1_315_423_911;
const FILL_X: u32 = 231_232;
const FILL_Y: u32 = 1232;

/// Number of items hashed in parallel: two registers of four words on any x86-64.
pub(super) const LANES: usize = 8;

/// One mix: `a` and `b` are bits to mix in, `c` is the state.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "a lane is vectorised only where all mixes are in one loop"
)]
fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> 13);
    *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << 8);
    *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> 13);
    *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> 12);
    *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << 16);
    *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> 5);
    *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> 3);
    *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << 10);
    *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> 15);
}

/// The hash of two words.
pub fn hash2(mut a: u32, mut b: u32) -> u32 {
    let mut hash = START ^ a ^ b;
    let (mut x, mut y) = (FILL_X, FILL_Y);
    mix(&mut a, &mut b, &mut hash);
    mix(&mut x, &mut a, &mut hash);
    mix(&mut b, &mut y, &mut hash);
    hash
}

/// The hash of three words.
#[inline(always)]
#[expect(clippy::inline_always, reason = "called once a lane")]
#[expect(clippy::many_single_char_names, reason = "words of no meaning, named as Jenkins does")]
pub fn hash3(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    let mut hash = START ^ a ^ b ^ c;
    let (mut x, mut y) = (FILL_X, FILL_Y);
    mix(&mut a, &mut b, &mut hash);
    mix(&mut c, &mut x, &mut hash);
    mix(&mut y, &mut a, &mut hash);
    mix(&mut b, &mut x, &mut hash);
    mix(&mut y, &mut c, &mut hash);
    hash
}

/// The hash of four words.
#[expect(clippy::many_single_char_names, reason = "words of no meaning, named as Jenkins does")]
pub fn hash4(mut a: u32, mut b: u32, mut c: u32, mut d: u32) -> u32 {
    let mut hash = START ^ a ^ b ^ c ^ d;
    let (mut x, mut y) = (FILL_X, FILL_Y);
    mix(&mut a, &mut b, &mut hash);
    mix(&mut c, &mut d, &mut hash);
    mix(&mut a, &mut x, &mut hash);
    mix(&mut y, &mut b, &mut hash);
    mix(&mut c, &mut x, &mut hash);
    mix(&mut y, &mut d, &mut hash);
    hash
}

/// `hash3(a, item, c)` for several items.
#[inline]
pub(super) fn hash3_lanes(a: u32, items: &[u32; LANES], c: u32) -> [u32; LANES] {
    let mut hashes = [0; LANES];
    for (hash, &item) in hashes.iter_mut().zip(items) {
        *hash = hash3(a, item, c);
    }
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_the_plain_hash() {
        let items = [0, 1, 7, u32::MAX, 0x8000_0000, 12, 13, 14];
        for (hash, item) in hash3_lanes(99, &items, 3).into_iter().zip(items) {
            assert_eq!(hash, hash3(99, item, 3));
        }
    }
}
