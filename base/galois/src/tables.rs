//! Tables of products, and the method that works on every machine.
#![allow(
    clippy::cast_possible_truncation,
    clippy::precedence,
    reason = "numbers below 256 in loops that run when the program is compiled"
)]

/// x⁸ + x⁴ + x³ + x² + 1 without its first term: the value of x⁸ in the field.
const POLYNOMIAL: u8 = 0x1d;

/// Products of one factor with each low and each high half of a byte.
#[derive(Clone, Copy)]
pub(crate) struct Products {
    /// Products with 0 to 15.
    pub(crate) low: [u8; 16],
    /// Products with 0, 16 to 240.
    pub(crate) high: [u8; 16],
}

/// The products of all factors.
static ALL: [Products; 256] = all();

const fn product(mut a: u8, mut b: u8) -> u8 {
    let mut sum = 0;
    while b != 0 {
        if b & 1 == 1 {
            sum ^= a;
        }
        let carry = a >> 7;
        a = (a << 1) ^ (carry * POLYNOMIAL);
        b >>= 1;
    }
    sum
}

const fn all() -> [Products; 256] {
    let mut all = [Products { low: [0; 16], high: [0; 16] }; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut half = 0;
        while half < 16 {
            all[factor].low[half] = product(factor as u8, half as u8);
            all[factor].high[half] = product(factor as u8, (half as u8) << 4);
            half += 1;
        }
        factor += 1;
    }
    all
}

impl Products {
    pub(crate) fn of(factor: u8) -> Self {
        ALL[usize::from(factor)]
    }

    fn with(&self, byte: u8) -> u8 {
        self.low[usize::from(byte & 15)] ^ self.high[usize::from(byte >> 4)]
    }

    /// Adds the product with each byte of `source`, byte by byte.
    pub(crate) fn multiply_add(&self, source: &[u8], target: &mut [u8]) {
        // a table for all bytes pays off if there are more bytes than its entries
        if source.len() > 256 {
            let whole: [u8; 256] = std::array::from_fn(|byte| self.with(byte as u8));
            for (target, source) in target.iter_mut().zip(source) {
                *target ^= whole[usize::from(*source)];
            }
        } else {
            for (target, source) in target.iter_mut().zip(source) {
                *target ^= self.with(*source);
            }
        }
    }
}
