//! How a block is spread over nodes: m-of-n.

use std::fmt;
use std::str::FromStr;

use foretell_units::Bytes;
use thiserror::Error;

/// m-of-n: a block becomes `n` fragments, any `m` of which suffice to get it back.
///
/// `m` = 1 is replication, `m` = `n` striping without redundancy. The limit n ≤ 255 keeps
/// fragment numbers in a byte, and within what Reed–Solomon over GF(2⁸) can do (256).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Encoding {
    m: u8,
    n: u8,
}

/// Why a text or a pair of numbers is no encoding.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EncodingError {
    /// Not of the form `M-of-N`.
    #[error("`{0}` is not an encoding; write `m-of-n`, such as `3-of-5` or `1-of-3`")]
    Form(String),
    /// Data and parity fragments, as many products write it.
    #[error(
        "`{text}` is not an encoding; did you mean `{data}-of-{fragments}`? Of n fragments in all any \
         m suffice"
    )]
    DataAndParity {
        /// What was written.
        text: String,
        /// Data fragments.
        data: u32,
        /// Data and parity fragments.
        fragments: u32,
    },
    /// A block needs one fragment at least.
    #[error("encoding `{m}-of-{n}` has m = 0; m is at least 1, and `1-of-{n}` is replication")]
    Zero {
        /// As found.
        m: u32,
        /// As found.
        n: u32,
    },
    /// More fragments needed than there are.
    #[error("encoding `{m}-of-{n}` needs m = {m} of only n = {n} fragments; m is at most n{}", swapped(*.m, *.n))]
    MoreThanAll {
        /// As found.
        m: u32,
        /// As found.
        n: u32,
    },
    /// More fragments than can be told apart.
    #[error("encoding `{m}-of-{n}` has n = {n} fragments; n is at most 255")]
    TooMany {
        /// As found.
        m: u32,
        /// As found.
        n: u32,
    },
}

fn swapped(m: u32, n: u32) -> String {
    if n >= 1 && m <= 255 { format!("; did you mean `{n}-of-{m}`?") } else { String::new() }
}

impl Encoding {
    /// `m`-of-`n`, if 1 ≤ m ≤ n ≤ 255.
    ///
    /// # Errors
    ///
    /// If they are not.
    pub fn new(m: u32, n: u32) -> Result<Self, EncodingError> {
        if m == 0 {
            return Err(EncodingError::Zero { m, n });
        }
        if m > n {
            return Err(EncodingError::MoreThanAll { m, n });
        }
        match (u8::try_from(m), u8::try_from(n)) {
            (Ok(m), Ok(n)) => Ok(Self { m, n }),
            _ => Err(EncodingError::TooMany { m, n }),
        }
    }

    /// Fragments that suffice to decode.
    pub const fn m(self) -> usize {
        self.m as usize
    }

    /// Fragments in all.
    pub const fn n(self) -> usize {
        self.n as usize
    }

    /// Whether each fragment is a whole copy.
    pub const fn is_replication(self) -> bool {
        self.m == 1
    }

    /// The size of each fragment of a block: an m-th of it, rounded up.
    pub const fn fragment_len(self, block: Bytes) -> Bytes {
        Bytes(block.0.div_ceil(self.m as u64))
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}-of-{}", self.m, self.n))
    }
}

impl FromStr for Encoding {
    type Err = EncodingError;

    /// Reads `"3-of-5"`.
    fn from_str(text: &str) -> Result<Self, EncodingError> {
        let number = |part: &str| {
            part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
        };
        text.split_once("-of-")
            .and_then(|(m, n)| Some((number(m)?, number(n)?)))
            .ok_or_else(|| match text.split_once('+') {
                Some((data, parity)) => match (number(data.trim()), number(parity.trim())) {
                    (Some(data), Some(parity)) => {
                        let fragments = u32::saturating_add(data, parity);
                        EncodingError::DataAndParity { text: text.to_owned(), data, fragments }
                    }
                    _ => EncodingError::Form(text.to_owned()),
                },
                None => EncodingError::Form(text.to_owned()),
            })
            .and_then(|(m, n)| Self::new(m, n))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["1-of-1", "1-of-3", "3-of-5", "5-of-5", "200-of-255"] {
            assert_eq!(text.parse::<Encoding>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn names_the_fault() {
        let fault = |text: &str| text.parse::<Encoding>().unwrap_err().to_string();
        assert!(fault("0-of-3").contains("m = 0"));
        assert!(fault("8+3").contains("did you mean `8-of-11`?"));
        assert!(fault("5-of-3").contains("m = 5 of only n = 3 fragments"));
        assert!(fault("5-of-3").contains("did you mean `3-of-5`?"));
        assert!(fault("3-of-0").contains("m is at most n") && !fault("3-of-0").contains("mean"));
        assert!(fault("3-of-256").contains("n is at most 255"));
        for text in ["", "3", "3of5", "3-of-", "-of-5", "+3-of-5", "3-of-5x", "9999999999-of-5"] {
            assert!(fault(text).contains("write `m-of-n`"), "{text}");
        }
    }

    #[test]
    fn a_fragment_is_an_mth_rounded_up() {
        let len = |text: &str, block| text.parse::<Encoding>().unwrap().fragment_len(Bytes(block));
        // 8192 / 3 = 2730.67
        assert_eq!(len("3-of-5", 8192), Bytes(2731));
        assert_eq!(len("1-of-3", 8192), Bytes(8192));
        assert_eq!(len("5-of-5", 0), Bytes(0));
    }
}
