//! Empty directories whose names are taken before anything is written into them.

use std::io;
use std::path::Path;

/// Makes an empty directory, and the directories above it. Returns an error of kind [`io::ErrorKind::AlreadyExists`] if
/// something has this name: of several processes, one makes it.
pub fn reserve_directory(path: &Path) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::create_dir(path)
}

/// Removes a directory that [`reserve_directory`] made, if it is still empty. A link is not followed.
pub fn release_directory(path: &Path) {
    // a directory with files in it is no longer ours alone, and stays
    let _ = std::fs::remove_dir(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_makes_a_directory_and_what_is_in_it_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("served/run-1");
        reserve_directory(&path).unwrap();
        assert_eq!(reserve_directory(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        std::fs::write(path.join("mine"), "").unwrap();
        release_directory(&path);
        assert!(path.join("mine").exists());
        std::fs::remove_file(path.join("mine")).unwrap();
        release_directory(&path);
        assert!(!path.exists());
    }
}
