//! Imports DiskSim's drive descriptions.
//!
//! DiskSim (Bucy et al., CMU-PDL-08-101) describes a drive in a parameter file (`.parv`: buses,
//! controllers, topology). It sources a `.diskspecs` (overheads and on-board cache), which sources
//! a `.model` (geometry and mechanics), which names a `.seek` file (measured seek times).
//! [`import`] begins at any of these and imports what our model uses. It notes what it leaves out
//! if that could matter. Imported: layouts of the first generation (`dm_layout_g1`), all of
//! DiskSim's seek types, and the bus and controller nearest to the disk. Refused: layouts
//! `dm_layout_g2` (it needs a separate map of every extent) and `dm_layout_g4` (it lists the order
//! of tracks one by one), drives of constant access time. Ignored: everything above the drive's own
//! bus.

mod convert;
mod files;
mod lex;
mod parse;
mod seek;
mod view;
mod wires;

use std::path::{Path, PathBuf};

use foretell_input::Limit;
use thiserror::Error;

use crate::drive::Drive;

/// Why a description could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{}{}: {message}", file.display(), if *line == 0 { String::new() } else { format!(":{line}") })]
pub struct ImportError {
    /// The file at fault.
    pub file: PathBuf,
    /// The line at fault, from 1; 0 if the whole file is.
    pub line: u32,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// An imported drive.
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    /// The drive.
    pub drive: Drive,
    /// Its name in the description.
    pub name: String,
    /// Differences between the description and our model.
    pub notes: Vec<String>,
}

/// Reads the description that begins in `file`, with the files that it sources, through `read`.
///
/// `disk` chooses one of several disks by the name of its block; `None` takes the only one, or the
/// only one that is instantiated. A file without buses (a `.diskspecs`, a `.model`) is completed by
/// the `.parv` of the same name beside it (without `_validate`, if necessary), if that exists and
/// uses the same disk.
pub fn import(
    file: &Path,
    disk: Option<&str>,
    read: &dyn Fn(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<Import, ImportError> {
    let document = parse::parse(file, read)?;
    convert::convert(file, &document, disk, read)
}

/// The same, from the file system.
pub fn import_file(file: &Path, disk: Option<&str>) -> Result<Import, ImportError> {
    import(file, disk, &|path| foretell_input::bytes(path, Limit::DESCRIPTION))
}

pub use files::import_files;

#[cfg(test)]
mod tests;
