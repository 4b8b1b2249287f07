//! Imports a description whose files are given together.

use std::cell::RefCell;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use foretell_input::Limit;
use foretell_sorted::SortedSet;

use super::{Import, ImportError, import};

/// Reads the description of one drive from its files, in any order. It begins at the `.parv`,
/// otherwise at the `.diskspecs`, otherwise at the `.model`. If the description names a file that
/// is not at its path, it is looked up among `files` by name. `disk` as in [`import`].
///
/// Errors if two files could be the first, and as in [`import`].
///
/// # Panics
///
/// If `files` is empty.
pub fn import_files(files: &[PathBuf], disk: Option<&str>) -> Result<Import, ImportError> {
    let first = first(files)?;
    let used = RefCell::new(SortedSet::new());
    let read = |path: &Path| {
        let found = foretell_input::bytes(path, Limit::DESCRIPTION);
        let (path, found) = match found {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                match files.iter().find(|file| file.file_name() == path.file_name()) {
                    Some(file) => (file.as_path(), foretell_input::bytes(file, Limit::DESCRIPTION)),
                    None => (path, Err(error)),
                }
            }
            found => (path, found),
        };
        used.borrow_mut().insert(path.file_name().map(ToOwned::to_owned));
        found
    };
    let mut import = import(first, disk, &read)?;
    for file in files {
        if !used.borrow().contains(&file.file_name().map(ToOwned::to_owned)) {
            let note = format!("{} is not part of the description", file.display());
            import.notes.push(note);
        }
    }
    Ok(import)
}

/// The file at which the description begins.
fn first(files: &[PathBuf]) -> Result<&Path, ImportError> {
    let rank = |file: &PathBuf| match file.extension().and_then(|name| name.to_str()) {
        Some("parv") => 3,
        Some("seek" | "seeks" | "layout") => 0,
        Some("model") => 1,
        _ => 2,
    };
    let highest = files.iter().map(rank).max().expect("there is a file");
    let mut candidates = files.iter().filter(|file| rank(file) == highest);
    let first = candidates.next().expect("one has the highest rank");
    let fail = |message: String| ImportError { file: first.clone(), line: 0, message };
    if highest == 0 && first.is_file() {
        return Err(fail(
            "a part of a description alone is not a drive; give the `.parv`, `.diskspecs` or `.model` \
             that names it"
                .to_owned(),
        ));
    }
    match candidates.next() {
        None => Ok(first),
        Some(second) => Err(fail(format!(
            "either this or {} could be the first; give the files of one drive",
            second.display()
        ))),
    }
}
