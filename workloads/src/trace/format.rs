//! The formats there are, and how to tell them apart.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{block_list, csv, oracle_general, vscsi};

/// A format of block traces. Each has a file of its own that describes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// libCacheSim CSV, `version,time(s),op,size(B),lbn(512 B)`.
    Csv,
    /// libCacheSim `oracleGeneral`, 24-byte records, reads only.
    OracleGeneral,
    /// `vscsiStats` of `VMware`, versions 1 and 2.
    Vscsi,
    /// One block number a line, reads only, no times.
    BlockList,
}

/// Binary records have a zero or another control character among so many bytes.
const LOOKED_AT: usize = 256;

/// A name that belongs to no format.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{name}` is not a trace format; did you mean `{nearest}`? There are {formats}")]
pub struct UnknownFormat {
    /// The name as given.
    pub name: String,
    /// The format whose name is nearest.
    pub nearest: Format,
    /// The names there are.
    pub formats: String,
}

/// Whether a first line is of a format.
type Matches = fn(&[u8]) -> bool;

/// The text formats, those that are surest of themselves first.
const TEXT: &[(Format, Matches)] =
    &[(Format::Csv, csv::matches), (Format::BlockList, block_list::matches)];

impl Format {
    /// All formats.
    pub const ALL: [Self; 4] = [Self::Csv, Self::OracleGeneral, Self::Vscsi, Self::BlockList];

    /// What the format is called in a scenario and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::OracleGeneral => "oracle-general",
            Self::Vscsi => "vscsi",
            Self::BlockList => "block-list",
        }
    }

    /// The names of all, as a list for people.
    pub fn names() -> String {
        Self::ALL.map(|format| format!("`{format}`")).join(", ")
    }

    /// The format of a file, from the beginning of its (decompressed) content and its name.
    ///
    /// Content decides; the name helps where content tells little. `None`: it is none of those
    /// known.
    pub fn detect(name: &str, head: &[u8]) -> Option<Self> {
        if vscsi::version(head).is_some() {
            return Some(Self::Vscsi);
        }
        let control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
        if head.iter().take(LOOKED_AT).any(control) {
            let named = name.contains("oracleGeneral") && head.len() >= oracle_general::RECORD;
            let plausible = named || oracle_general::matches(head);
            return plausible.then_some(Self::OracleGeneral);
        }
        let line = head
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .find(|line| !line.is_empty())?;
        TEXT.iter().find(|(_, matches)| matches(line)).map(|(format, _)| *format)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let distance = |format: &Self| strsim::damerau_levenshtein(format.name(), name);
        let nearest = Self::ALL.into_iter().min_by_key(distance).expect("there are formats");
        if nearest.name() == name {
            return Ok(nearest);
        }
        Err(UnknownFormat { name: name.to_owned(), nearest, formats: Self::names() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::test::{oracle_record, vscsi1_record, vscsi2_record};

    #[test]
    fn formats_are_told_by_content() {
        let told = |head: &[u8]| Format::detect("trace", head);
        assert_eq!(told(b"version,time,op,size,lbn\n1,2"), Some(Format::Csv));
        assert_eq!(told(b"\n1,5633898,2a,512,42932745\n"), Some(Format::Csv));
        assert_eq!(told(b"17\n18\n"), Some(Format::BlockList));
        assert_eq!(told(b"*\n18\n"), Some(Format::BlockList));
        assert_eq!(told(&vscsi1_record(0x2a, 512, 7, 1)), Some(Format::Vscsi));
        assert_eq!(told(&vscsi2_record(0x2a, 512, 7, 1)), Some(Format::Vscsi));
        assert_eq!(told(&oracle_record(1, 1, 512, -1)), Some(Format::OracleGeneral));
        assert_eq!(told(b""), None);
        assert_eq!(told(b"\n\n"), None);
        assert_eq!(told(b"hello world\n"), None);
        assert_eq!(told(&[0; 100]), None);
    }

    #[test]
    fn names_are_read_and_the_nearest_suggested() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let message = "vcsi".parse::<Format>().unwrap_err().to_string();
        assert_eq!(
            message,
            "`vcsi` is not a trace format; did you mean `vscsi`? There are `csv`, \
             `oracle-general`, `vscsi`, `block-list`"
        );
    }
}
