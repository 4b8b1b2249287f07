//! The option `--prices` of commands that print costs.

use std::path::PathBuf;

use clap::Args;
use foretell_core::Prices;

use crate::failure::{Failure, note};

/// The option `--prices` of commands that print costs.
#[derive(Debug, Args)]
pub struct PriceArguments {
    /// Prices of drives, for the cost of a usable TiB: CSV with the columns `drive` (`hdd`, `ssd`,
    /// `nvme`, a device, a model) and a price such as `usd_per_tb`. Without it, prices of 2022 to 2025.
    #[arg(long, value_name = "FILE.csv")]
    pub prices: Option<PathBuf>,
}

impl PriceArguments {
    /// The prices to use.
    pub(crate) fn read(&self) -> Result<Prices, Failure> {
        self.prices.as_deref().map_or_else(|| Ok(Prices::shipped()), |path| Ok(Prices::read(path)?))
    }

    /// Says for which drives the file has no price.
    pub(crate) fn note_unpriced(&self, drives: &[String]) {
        if let Some(file) = &self.prices {
            for drive in drives {
                note(&format!("`{}` has no price for `{drive}`", file.display()));
            }
        }
    }
}
