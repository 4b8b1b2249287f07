//! How a block is spread over nodes: m-of-n, or a code that repairs locally.

use std::fmt;
use std::str::FromStr;

use foretell_units::Bytes;
use thiserror::Error;

/// A block is written as `n` fragments. To restore it, `m` of them are read.
///
/// *m-of-n*: any m suffice. `m` = 1 is replication, `m` = `n` striping without redundancy.
///
/// *lrc(k,l,r)*: k data fragments in l groups of equal size, a local parity for each group, and r
/// global parities; m = k and n = k + l + r (Huang et al. 2012, *Erasure Coding in Windows Azure
/// Storage*). A fragment of a group can be rebuilt from the others of its group. Any r + 1 losses
/// are survived, and larger ones that leave enough in each group. Fragments are numbered in this
/// order: data, local parities, global parities.
///
/// The limit n ≤ 255 keeps fragment numbers in a byte, and within what Reed–Solomon over GF(2⁸) can do (256).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Encoding {
    m: u8,
    n: u8,
    /// Number of local parities; 0: any m fragments suffice.
    locals: u8,
}

/// Why a text or a pair of numbers is not an encoding.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EncodingError {
    /// Not of the form `M-of-N`.
    #[error(
        "`{0}` is not an encoding; write `m-of-n`, such as `3-of-5` or `1-of-3`, or `lrc(k,l,r)`, such as `lrc(12,2,2)`"
    )]
    Form(String),
    /// Data fragments that cannot be divided evenly into groups.
    #[error(
        "encoding `lrc({data},{groups},{global})` has {data} data fragments in {groups} groups; groups must be 2 at least and of equal size"
    )]
    Groups {
        /// Data fragments.
        data: u32,
        /// Groups.
        groups: u32,
        /// Global parities.
        global: u32,
    },
    /// Numbers of data and parity fragments, as many products write it.
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
    /// A block needs at least one fragment.
    #[error("encoding `{m}-of-{n}` has m = 0; m is at least 1, and `1-of-{n}` is replication")]
    Zero {
        /// As found.
        m: u32,
        /// As found.
        n: u32,
    },
    /// More fragments needed than exist.
    #[error("encoding `{m}-of-{n}` needs m = {m} of only n = {n} fragments; m is at most n{}", swapped(*.m, *.n))]
    MoreThanAll {
        /// As found.
        m: u32,
        /// As found.
        n: u32,
    },
    /// More fragments than can be numbered.
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
    /// If these bounds are violated.
    pub fn new(m: u32, n: u32) -> Result<Self, EncodingError> {
        if m == 0 {
            return Err(EncodingError::Zero { m, n });
        }
        if m > n {
            return Err(EncodingError::MoreThanAll { m, n });
        }
        match (u8::try_from(m), u8::try_from(n)) {
            (Ok(m), Ok(n)) => Ok(Self { m, n, locals: 0 }),
            _ => Err(EncodingError::TooMany { m, n }),
        }
    }

    /// A code that repairs locally: `data` fragments in `groups`, and `global` parities.
    ///
    /// # Errors
    ///
    /// If there are fewer than two groups, if they are not of equal size, or if there are more than
    /// 255 fragments in all.
    pub fn lrc(data: u32, groups: u32, global: u32) -> Result<Self, EncodingError> {
        if groups < 2 || data == 0 || !data.is_multiple_of(groups) {
            return Err(EncodingError::Groups { data, groups, global });
        }
        let all = data.saturating_add(groups).saturating_add(global);
        let code = Self::new(data, all)?;
        Ok(Self { locals: u8::try_from(groups).expect("fewer than n"), ..code })
    }

    /// Number of fragments that suffice to decode.
    pub const fn m(self) -> usize {
        self.m as usize
    }

    /// Total number of fragments.
    pub const fn n(self) -> usize {
        self.n as usize
    }

    /// Number of groups with a local parity; 0: any m fragments suffice.
    pub const fn groups(self) -> usize {
        self.locals as usize
    }

    /// Number of losses that are always survived.
    pub const fn tolerates(self) -> usize {
        let parities = (self.n - self.m - self.locals) as usize;
        if self.locals == 0 { parities } else { parities + 1 }
    }

    /// Multiply-and-add passes over a block to encode it: one for each parity, where all local ones
    /// together count as one.
    pub const fn passes(self) -> usize {
        if self.is_replication() { 0 } else { self.tolerates() }
    }

    /// The fragments of a fragment's group, including itself; `None` for a global parity, and without groups.
    pub fn group_of(self, fragment: usize) -> Option<impl Iterator<Item = usize>> {
        let (m, groups) = (self.m(), self.groups());
        let each = m.checked_div(groups)?;
        let group = if fragment < m { fragment / each } else { fragment - m };
        (group < groups).then(|| (group * each..(group + 1) * each).chain([m + group]))
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
        let Self { m, n, locals } = *self;
        if locals > 0 {
            return f.pad(&format!("lrc({m},{locals},{})", n - m - locals));
        }
        f.pad(&format!("{m}-of-{n}"))
    }
}

impl FromStr for Encoding {
    type Err = EncodingError;

    /// Reads `"3-of-5"` and `"lrc(12,2,2)"`.
    fn from_str(text: &str) -> Result<Self, EncodingError> {
        let number = |part: &str| {
            part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
        };
        if let Some(inner) = text.strip_prefix("lrc(").and_then(|rest| rest.strip_suffix(')')) {
            let numbers: Option<Vec<u32>> =
                inner.split(',').map(|part| number(part.trim())).collect();
            return match numbers.as_deref() {
                Some(&[data, groups, global]) => Self::lrc(data, groups, global),
                _ => Err(EncodingError::Form(text.to_owned())),
            };
        }
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
        for text in
            ["1-of-1", "1-of-3", "3-of-5", "5-of-5", "200-of-255", "lrc(12,2,2)", "lrc(4,2,0)"]
        {
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
        assert!(fault("lrc(12,5,2)").contains("of equal size"));
        assert!(fault("lrc(12,1,2)").contains("2 at least"));
        assert!(fault("lrc(250,2,9)").contains("n is at most 255"));
        for text in [
            "lrc",
            "lrc(1)",
            "lrc(4,2)",
            "lrc(4,2,1,1)",
            "lrc(4,2,x)",
            "",
            "3",
            "3of5",
            "3-of-",
            "-of-5",
            "+3-of-5",
            "3-of-5x",
            "9999999999-of-5",
        ] {
            assert!(fault(text).contains("write `m-of-n`"), "{text}");
        }
    }

    #[test]
    fn groups_are_data_and_a_local_parity() {
        let code: Encoding = "lrc(6,2,2)".parse().unwrap();
        assert_eq!((code.m(), code.n(), code.groups(), code.tolerates()), (6, 10, 2, 3));
        let group = |of: usize| code.group_of(of).map(Iterator::collect::<Vec<_>>);
        assert_eq!((group(4), group(6)), (Some(vec![3, 4, 5, 7]), Some(vec![0, 1, 2, 6])));
        assert_eq!((group(8), group(9)), (None, None));
        let plain: Encoding = "6-of-9".parse().unwrap();
        assert!(plain.group_of(0).is_none() && plain.tolerates() == 3);
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
