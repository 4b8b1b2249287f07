//! Files of past scores: predictions, their circumstances, and their errors.

use std::fmt::Write as _;
use std::path::Path;

use foretell_files::FileKind;
use foretell_input::Limit;
use foretell_whatif::{Experience, HISTORY_HEADER, PastScore};

use crate::error::Error;

/// Returns an error if the file exists but does not hold past scores, because scores cannot be appended to
/// it.
pub fn check_history(path: &Path) -> Result<(), Error> {
    foretell_files::check(path, FileKind::ANY)?;
    if path.exists() { read(path).map(drop) } else { Ok(()) }
}

/// Appends scores to a file, which is created if it does not exist.
///
/// # Errors
///
/// If it cannot be written.
pub fn append_history(path: &Path, scores: &[PastScore]) -> Result<(), Error> {
    let mut text = String::new();
    for score in scores {
        let _ = writeln!(text, "{score}");
    }
    Ok(foretell_files::append_line(path, &format!("{HISTORY_HEADER}\n"), &text)?)
}

fn read(path: &Path) -> Result<Experience, Error> {
    let text = foretell_input::text(path, Limit::POINTS).map_err(Error::file("read", path))?;
    Experience::parse(&text).map_err(|error| {
        Error::Invalid(format!("{} is not a history of scores: {error}", path.display()))
    })
}

/// The past scores that come with the program, and those in a file.
///
/// # Errors
///
/// If the file cannot be read, or holds something else.
pub fn experience(path: Option<&Path>) -> Result<Experience, Error> {
    let mut experience = Experience::shipped();
    if let Some(path) = path {
        experience.add(read(path)?);
    }
    Ok(experience)
}
