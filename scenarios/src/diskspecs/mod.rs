//! DiskSim's drive descriptions into our own.
//!
//! DiskSim (Bucy et al., CMU-PDL-08-101) describes a drive in a parameter file (`.parv`: buses,
//! controllers, what hangs where) that sources a `.diskspecs` (overheads and on-board cache), which
//! sources a `.model` (geometry and mechanics), which names a `.seek` file (measured seek times).
//! [`import`] begins at any of these and takes over what our model uses; what it leaves out it
//! notes, if it could matter. Read: layouts of the first generation (`dm_layout_g1`), all of
//! DiskSim's seek types, and the bus and controller nearest to the disk. Refused: layouts
//! `dm_layout_g2` (it needs a map of every extent beside the file) and `dm_layout_g4` (it lists the
//! order of tracks one by one), drives of constant access time. Not read: everything above the
//! drive's own bus.

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
    /// The line at fault, from 1; 0 where the file as a whole is.
    pub line: u32,
    /// What is wrong, and what could be right.
    pub message: String,
}

/// A drive that has been read.
#[derive(Clone, PartialEq, Debug)]
pub struct Import {
    /// The drive.
    pub drive: Drive,
    /// Its name in the description.
    pub name: String,
    /// What the description says that our model does not, or the other way round.
    pub notes: Vec<String>,
}

/// Reads the description that begins in `file`, with what it sources, through `read`.
///
/// `disk` chooses one of several disks by the name of its block; `None` takes the only one, or the
/// only one that is instantiated. A file without buses (a `.diskspecs`, a `.model`) is completed by
/// the `.parv` of the same name beside it (without `_validate`, if need be), where there is one that
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
