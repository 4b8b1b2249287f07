//! The list of our files in a directory.
//!
//! It is untrusted data: it is read with a size limit and through no link, and no name in it may
//! lead outside.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::FilesError;
use crate::dir::{Dir, Kind};
use crate::name;

/// Name of the manifest's file.
pub const MANIFEST: &str = ".foretell.json";

const FORMAT: u32 = 1;
const NOTE: &str = "foretell replaces and removes the files that are listed here, and no others";
/// A longer one is not ours: this is a million names of a hundred bytes.
const LONGEST: u64 = 100 << 20;

/// The manifest of a directory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Manifest {
    note: String,
    format: u32,
    /// Version of the program that last wrote it.
    version: String,
    /// The command that created the directory.
    pub(crate) command: String,
    /// Whether it belongs to the directory above it.
    pub(crate) part: bool,
    /// Subdirectories that we created.
    pub(crate) directories: BTreeSet<String>,
    /// Our files, with their sizes in bytes; `None` for a file that grows.
    pub(crate) files: BTreeMap<String, Option<u64>>,
}

impl Manifest {
    /// A manifest without files.
    pub(crate) fn new(command: &str, part: bool) -> Self {
        Self {
            note: NOTE.to_owned(),
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: command.to_owned(),
            part,
            directories: BTreeSet::new(),
            files: BTreeMap::new(),
        }
    }

    /// Reads the manifest of a directory, if there is one; `path` is for messages.
    pub(crate) fn read(dir: &Dir, path: &Path) -> Result<Option<Self>, FilesError> {
        Self::read_as(dir, MANIFEST, path)
    }

    /// The same under another name.
    pub(crate) fn read_as(dir: &Dir, name: &str, path: &Path) -> Result<Option<Self>, FilesError> {
        let own = path.join(MANIFEST);
        let failed = |error| FilesError::system("read", &own)(error);
        let bad =
            |fault: &str| FilesError::BadManifest { path: own.clone(), fault: fault.to_owned() };
        let Some(entry) = dir.entry(name).map_err(failed)? else { return Ok(None) };
        if entry.kind != Kind::File {
            return Err(bad(entry.kind.described()));
        }
        let file = dir.open_file(name, false).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > LONGEST {
            return Err(bad("it is too long"));
        }
        Self::parse(&bytes).map(Some).map_err(|fault| bad(&fault))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format } =
            serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if format != FORMAT {
            return Err(format!("it has format {format}, and this version knows {FORMAT}"));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if manifest.command.len() > 80 || manifest.command.chars().any(char::is_control) {
            return Err("it names no command".to_owned());
        }
        for name in manifest.files.keys().chain(&manifest.directories) {
            if let Some(fault) = name::fault(name) {
                let shown: String = name.chars().take(80).collect();
                return Err(format!("it lists {shown:?}, and {fault}"));
            }
        }
        Ok(manifest)
    }

    /// The text that is written.
    pub(crate) fn text(&self) -> String {
        let own = Self { version: env!("CARGO_PKG_VERSION").to_owned(), ..self.clone() };
        serde_json::to_string_pretty(&own).expect("keys are texts") + "\n"
    }

    /// Whether it lists everything that another one does.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.directories.is_superset(&other.directories)
            && other.files.keys().all(|name| self.files.contains_key(name))
    }

    /// Adds the entries that another process has listed meanwhile.
    pub(crate) fn add(&mut self, other: Self) {
        self.directories.extend(other.directories);
        for (name, bytes) in other.files {
            self.files.entry(name).or_insert(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn example() -> Manifest {
        let mut manifest = Manifest::new("run", false);
        manifest.directories.insert("archive".to_owned());
        manifest.files.insert("archive/a.csv".to_owned(), Some(3));
        manifest.files.insert("run.db.partial".to_owned(), None);
        manifest
    }

    #[test]
    fn what_is_written_is_read_back() {
        let manifest = example();
        assert_eq!(Manifest::parse(manifest.text().as_bytes()), Ok(manifest));
    }

    #[test]
    fn a_manifest_that_leads_elsewhere_is_none() {
        for bad in ["../x", "/etc/passwd", "a/../../x", "", ".", MANIFEST, "a//b"] {
            let mut manifest = example();
            manifest.files.insert(bad.to_owned(), Some(0));
            let fault = Manifest::parse(manifest.text().as_bytes()).unwrap_err();
            assert!(fault.starts_with("it lists "), "{bad}: {fault}");
            let mut manifest = example();
            manifest.directories.insert(bad.to_owned());
            assert!(Manifest::parse(manifest.text().as_bytes()).is_err(), "{bad}");
        }
        let mut manifest = example();
        manifest.format = 2;
        let fault = Manifest::parse(manifest.text().as_bytes()).unwrap_err();
        assert_eq!(fault, "it has format 2, and this version knows 1");
    }

    proptest! {
        /// Any text is either rejected or contains only plain names.
        #[test]
        fn no_text_leads_elsewhere(name in "[./a\\\\-]{0,6}", cut in 0_usize..400) {
            let mut manifest = example();
            manifest.files.insert(name.clone(), Some(1));
            let text = manifest.text();
            if let Ok(read) = Manifest::parse(text.as_bytes()) {
                prop_assert!(read.files.keys().all(|name| name::fault(name).is_none()));
            } else {
                prop_assert!(name::fault(&name).is_some());
            }
            let cut = cut.min(text.len() - 2);
            prop_assert!(Manifest::parse(&text.as_bytes()[..cut]).is_err());
        }
    }
}
