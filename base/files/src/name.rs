//! Names of files in a directory of ours, as they occur in manifests and other data.

use std::path::Path;

use crate::{FilesError, MANIFEST};

/// Most bytes of a name between slashes, and of the whole name: as supported by common file
/// systems.
const LONGEST_PART: usize = 255;
const LONGEST: usize = 1024;
/// Most directories on the path to a file.
const DEEPEST: usize = 16;

/// The error in `name` as the name of a file below a directory, if there is one. It must be a
/// relative path, with its parts separated by single slashes, and none of them `.` or `..`.
pub(crate) fn fault(name: &str) -> Option<&'static str> {
    if name.len() > LONGEST || name.split('/').any(|part| part.len() > LONGEST_PART) {
        return Some("it is too long");
    }
    // a backslash and a colon are separators on other systems
    if name.chars().any(|c| c.is_control() || matches!(c, '\\' | ':')) {
        return Some("it has a character that names do not have");
    }
    if name.starts_with('/') {
        return Some("it begins at the root");
    }
    let parts = || name.split('/');
    if parts().any(|part| matches!(part, "" | "." | "..")) {
        return Some("it leads elsewhere");
    }
    if parts().count() > DEEPEST {
        return Some("it has too many parts");
    }
    parts().any(|part| part == MANIFEST).then_some("that is the list of our files")
}

/// Errors unless `name`, which comes from data, names a file below `directory` and nothing outside
/// it.
pub fn check_name(directory: &Path, name: &str) -> Result<(), FilesError> {
    match fault(name) {
        None => Ok(()),
        // the displayed text comes from data too
        Some(fault) => Err(FilesError::Name {
            path: directory.to_owned(),
            name: name.chars().take(80).map(|c| if c.is_control() { '?' } else { c }).collect(),
            fault,
        }),
    }
}

/// The directories on the path to a file, and the file's own name.
pub(crate) fn split(name: &str) -> (Vec<&str>, &str) {
    let mut parts: Vec<&str> = name.split('/').collect();
    let last = parts.pop().expect("a text has a part");
    (parts, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_into_the_directory_alone() {
        for good in ["a", "data/train-00000-of-00001.parquet", ".x.1-0.partial", "a/b/c", "..a"] {
            assert_eq!(fault(good), None, "{good}");
        }
        let long = "x".repeat(256);
        let deep = "x/".repeat(16) + "x";
        for bad in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            "..",
            "../a",
            "a/../b",
            "a/..",
            ".",
            "./a",
            "a/./b",
            "a\0b",
            "a\nb",
            "a\\b",
            "C:a",
            MANIFEST,
            "a/.foretell.json",
            &long,
            &deep,
        ] {
            assert!(fault(bad).is_some(), "{bad:?}");
        }
    }
}
