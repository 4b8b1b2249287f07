//! The known formats, and how they are recognised.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{
    alibaba, blkparse, block_list, csv, disksim, fio_iolog, foretell, msr, oracle_general, spc,
    tencent, vscsi,
};

/// A format of block traces. Each has its own source file that describes it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// libCacheSim CSV, `version,time(s),op,size(B),lbn(512 B)`.
    Csv,
    /// libCacheSim `oracleGeneral`, 24-byte records, reads only.
    OracleGeneral,
    /// `vscsiStats` of `VMware`, versions 1 and 2.
    Vscsi,
    /// One block number per line, reads only, no times.
    BlockList,
    /// Microsoft Research Cambridge CSV.
    Msr,
    /// Alibaba block traces, CSV.
    Alibaba,
    /// Tencent cloud block storage, CSV.
    Tencent,
    /// Storage Performance Council, as the traces of `UMass`.
    Spc,
    /// fio's iolog, versions 2 and 3.
    FioIolog,
    /// The text of `blkparse`.
    Blkparse,
    /// DiskSim's ASCII format.
    DiskSim,
    /// The project's own CSV, `time_ns,op,offset,size`.
    Foretell,
}

/// Binary records have a zero or another control character among the first bytes, up to this
/// number.
const LOOKED_AT: usize = 256;

/// A name that does not belong to a format.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{name}` is not a trace format; did you mean `{nearest}`? There are {formats}")]
pub struct UnknownFormat {
    /// The name as given.
    pub name: String,
    /// The format with the most similar name.
    pub nearest: Format,
    /// The valid names.
    pub formats: String,
}

/// Whether a first line is of a format.
type Matches = fn(&[u8]) -> bool;

/// The text formats; those that are recognised most reliably come first.
const TEXT: &[(Format, Matches)] = &[
    (Format::Foretell, foretell::matches),
    (Format::FioIolog, fio_iolog::matches),
    (Format::Csv, csv::matches),
    (Format::Msr, msr::matches),
    (Format::Alibaba, alibaba::matches),
    (Format::Spc, spc::matches),
    (Format::Tencent, tencent::matches),
    (Format::Blkparse, blkparse::matches),
    (Format::DiskSim, disksim::matches),
    (Format::BlockList, block_list::matches),
];

impl Format {
    /// All formats.
    pub const ALL: [Self; 12] = [
        Self::Csv,
        Self::OracleGeneral,
        Self::Vscsi,
        Self::BlockList,
        Self::Msr,
        Self::Alibaba,
        Self::Tencent,
        Self::Spc,
        Self::FioIolog,
        Self::Blkparse,
        Self::DiskSim,
        Self::Foretell,
    ];

    /// Name in a scenario and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::OracleGeneral => "oracle-general",
            Self::Vscsi => "vscsi",
            Self::BlockList => "block-list",
            Self::Msr => "msr",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Spc => "spc",
            Self::FioIolog => "fio-iolog",
            Self::Blkparse => "blkparse",
            Self::DiskSim => "disksim",
            Self::Foretell => "foretell",
        }
    }

    /// Whether traces of the format distinguish devices.
    pub const fn has_devices(self) -> bool {
        !matches!(
            self,
            Self::Csv | Self::OracleGeneral | Self::Vscsi | Self::BlockList | Self::Foretell
        )
    }

    /// Whether the format has numbers of blocks whose size it does not define.
    pub const fn has_blocks(self) -> bool {
        matches!(self, Self::BlockList | Self::OracleGeneral | Self::Spc | Self::DiskSim)
    }

    /// Other common names of the format.
    pub const fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &["libcachesim", "libcachesim-csv"],
            Self::OracleGeneral => &["oraclegeneral", "libcachesim-oracle-general"],
            Self::Vscsi => &["cloudphysics"],
            Self::BlockList => &["lirs"],
            Self::Msr => &["msr-cambridge"],
            Self::Alibaba => &["alibaba-block"],
            Self::Tencent => &["tencent-cbs", "cbs"],
            Self::Spc => &["umass"],
            Self::FioIolog => &["iolog", "fio"],
            Self::Blkparse => &["blktrace"],
            Self::DiskSim => &["disksim-ascii"],
            Self::Foretell => &["own"],
        }
    }

    /// The names of all formats, as a readable list.
    pub fn names() -> String {
        Self::ALL.map(|format| format!("`{format}`")).join(", ")
    }

    /// Detects the format of a file from the beginning of its (decompressed) content and its name.
    ///
    /// The content decides; the name is used if the content is not conclusive. `None`: it is not a
    /// known format.
    pub fn detect(name: &str, head: &[u8]) -> Option<Self> {
        if vscsi::version(head).is_some() {
            return Some(Self::Vscsi);
        }
        let is_binary = |bytes: &[u8]| {
            let control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
            bytes.iter().take(LOOKED_AT).any(control)
        };
        let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let line = lines.find(|line| !line.is_empty())?;
        // names in later lines of a text may have any character
        let of_text = TEXT.iter().find(|(_, matches)| !is_binary(line) && matches(line));
        if let Some((format, _)) = of_text {
            return Some(*format);
        }
        let named = name.contains("oracleGeneral") && head.len() >= oracle_general::RECORD;
        let plausible = is_binary(head) && (named || oracle_general::matches(head));
        plausible.then_some(Self::OracleGeneral)
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
        let known = name.to_ascii_lowercase().replace('_', "-");
        let called =
            |format: &Self| format.name() == known || format.aliases().contains(&known.as_str());
        if let Some(format) = Self::ALL.into_iter().find(called) {
            return Ok(format);
        }
        let distance = |format: &Self| strsim::damerau_levenshtein(format.name(), name);
        let nearest = Self::ALL.into_iter().min_by_key(distance).expect("there are formats");
        Err(UnknownFormat { name: name.to_owned(), nearest, formats: Self::names() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::test::{oracle_record, vscsi1_record, vscsi2_record};

    #[test]
    fn formats_are_told_by_content() {
        let detected = |head: &[u8]| Format::detect("trace", head);
        assert_eq!(detected(b"version,time,op,size,lbn\n1,2"), Some(Format::Csv));
        assert_eq!(detected(b"\n1,5633898,2a,512,42932745\n"), Some(Format::Csv));
        assert_eq!(detected(b"17\n18\n"), Some(Format::BlockList));
        assert_eq!(detected(b"*\n18\n"), Some(Format::BlockList));
        assert_eq!(detected(&vscsi1_record(0x2a, 512, 7, 1)), Some(Format::Vscsi));
        assert_eq!(detected(&vscsi2_record(0x2a, 512, 7, 1)), Some(Format::Vscsi));
        assert_eq!(detected(&oracle_record(1, 1, 512, -1)), Some(Format::OracleGeneral));
        assert_eq!(
            detected(b"128166372003061629,hm,1,Read,383496192,32768,413"),
            Some(Format::Msr)
        );
        assert_eq!(detected(b"419,W,8792731648,16384,1577808144360767"), Some(Format::Alibaba));
        assert_eq!(detected(b"1538323200,12910952,128,0,1063"), Some(Format::Tencent));
        assert_eq!(detected(b"0,303567,3584,w,0.000000"), Some(Format::Spc));
        assert_eq!(detected(b"fio version 3 iolog\n"), Some(Format::FioIolog));
        assert_eq!(detected(b"  8,0  3  1  0.0   697  G   W 2 + 8 [k]"), Some(Format::Blkparse));
        assert_eq!(detected(b"13.191135 30 0 5 1"), Some(Format::DiskSim));
        assert_eq!(detected(b"time_ns,op,offset,size\n"), Some(Format::Foretell));
        assert_eq!(detected(b"op,offset,size\n"), Some(Format::Foretell));
        assert_eq!(detected(b""), None);
        assert_eq!(detected(b"\n\n"), None);
        assert_eq!(detected(b"hello world\n"), None);
        assert_eq!(detected(&[0; 100]), None);
    }

    #[test]
    fn names_are_read_and_the_nearest_suggested() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
            for alias in format.aliases() {
                assert_eq!(alias.parse(), Ok(format));
            }
        }
        assert_eq!("oracleGeneral".parse(), Ok(Format::OracleGeneral));
        assert_eq!("MSR_Cambridge".parse(), Ok(Format::Msr));
        let message = "vcsi".parse::<Format>().unwrap_err().to_string();
        assert_eq!(
            message,
            "`vcsi` is not a trace format; did you mean `vscsi`? There are `csv`, \
             `oracle-general`, `vscsi`, `block-list`, `msr`, `alibaba`, `tencent`, `spc`, \
             `fio-iolog`, `blkparse`, `disksim`, `foretell`"
        );
    }
}
