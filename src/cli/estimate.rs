//! Arguments of `estimate`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use foretell_algorithms::codec::Encoding;
use foretell_units::{Bytes, Rate};
use foretell_workloads::fio::quantity;

/// Arguments of `estimate`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true).multiple(true).args(["fio", "cosbench", "csv", "run"]))]
pub struct EstimateArguments {
    /// Results of fio (`--output-format=json`): all `*.json` in this directory and below.
    #[arg(long, value_name = "DIR")]
    pub fio: Vec<PathBuf>,
    /// Results of COSBench: all workload reports (`*.csv`) in this directory and below. Other `*.csv` are ignored.
    #[arg(long, value_name = "DIR")]
    pub cosbench: Vec<PathBuf>,
    /// A table with columns `bs`, `read_percent`, `iops`, and `series` if the table holds several series of measurements.
    #[arg(long, value_name = "FILE.csv")]
    pub csv: Vec<PathBuf>,
    /// A run of the simulator, or a directory of runs.
    #[arg(long, value_name = "DIR")]
    pub run: Vec<PathBuf>,
    /// Percentages of reads to estimate for, separated by commas.
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = percentage)]
    pub read: Vec<f64>,
    /// Request sizes of the load and their shares: `16K:0.3,1M:0.7`. Without it, each size is estimated by
    /// itself.
    #[arg(long, value_name = "SIZE:SHARE,...", requires = "read")]
    pub sizes: Option<SizeShares>,
    /// Total rate of the links into all storage nodes: `36 Gbit/s`. With `--write-path proxy`: into all
    /// proxies.
    #[arg(long, value_name = "RATE", requires = "link_out")]
    pub link_in: Option<Rate>,
    /// Total rate of the links out of all storage nodes. With `--write-path proxy`: out of all proxies.
    #[arg(long, value_name = "RATE", requires = "link_in")]
    pub link_out: Option<Rate>,
    /// How data are stored: `1-of-3` is three copies.
    #[arg(long, value_name = "M-of-N", default_value = "1-of-1")]
    pub encoding: Encoding,
    /// Who sends the copies of a write. It matters for the links.
    #[arg(long, value_enum, default_value_t = WritePathChoice::Client, requires = "link_in")]
    pub write_path: WritePathChoice,
    /// Number of requests outstanding at a time. It is used if `--sizes` has several sizes and the links are
    /// given. Results of fio contain this number.
    #[arg(long, value_name = "N", requires = "link_in")]
    pub outstanding: Option<NonZeroU32>,
    /// Skip runs and sizes that cannot be used, and say which.
    #[arg(long)]
    pub skip: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

fn percentage(text: &str) -> Result<f64, String> {
    let found = text.trim().parse();
    found.map_err(|_| "expected a percentage from 0 to 100, such as `70`".to_owned())
}

/// Who sends the copies of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum WritePathChoice {
    /// The client, or a proxy beside the storage nodes.
    Client,
    /// The first storage node.
    Primary,
    /// A proxy. The given rates of links are then those of the proxies.
    Proxy,
}

/// One size of a load.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShareOfSize {
    /// Size of the requests.
    pub size: Bytes,
    /// Their share of all requests, from 0 to 1.
    pub share: f64,
}

/// Sizes of a load; their shares add up to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeShares(pub Vec<ShareOfSize>);

impl FromStr for SizeShares {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut found: Vec<ShareOfSize> = Vec::new();
        for part in text.split(',') {
            let wrong = || format!("`{part}` is not SIZE:SHARE, such as `16K:0.3`");
            let (size, share) = part.rsplit_once(':').ok_or_else(wrong)?;
            let size = quantity::size(size).filter(|size| *size > Bytes::ZERO).ok_or_else(wrong)?;
            let share: f64 = share.trim().parse().map_err(|_| wrong())?;
            if !(share > 0.0 && share <= 1.0) {
                return Err(format!(
                    "share `{share}` of {size}: expected a number above 0 and at most 1"
                ));
            }
            if found.iter().any(|other| other.size == size) {
                return Err(format!("size {size} is there twice"));
            }
            found.push(ShareOfSize { size, share });
        }
        let sum: f64 = found.iter().map(|one| one.share).sum();
        if (sum - 1.0).abs() > 1e-6 {
            return Err(format!("the shares add up to {sum}, not to 1"));
        }
        Ok(Self(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_sizes_add_up() {
        let SizeShares(found) = "16K:0.3,1M:0.7".parse().unwrap();
        assert_eq!((found[0].size, found[1].size), (Bytes::kib(16), Bytes::mib(1)));
        let fault = |text: &str| text.parse::<SizeShares>().unwrap_err();
        assert!(fault("16K").contains("not SIZE:SHARE"));
        assert!(fault("x:1").contains("not SIZE:SHARE"));
        assert!(fault("16K:0.3,1M:0.6").contains("add up to 0.89"));
        assert!(fault("16K:0.5,16384:0.5").contains("twice"));
        assert!(fault("16K:NaN").contains("expected a number above 0"));
    }
}
