//! Finds the real data that tests read: traces, drives, measurements. They stand beside the project and are no part of
//! it. Where they are absent, tests say that they skip; where [`REQUIRED`] is set, as in CI, they fail.

use std::path::{Path, PathBuf};

/// The environment variable with which absent data are an error.
pub const REQUIRED: &str = "FORETELL_REQUIRE_DATA";

/// A file or directory of the data; `None`, with a message, if it is absent.
///
/// # Panics
///
/// If it is absent and [`REQUIRED`] is set.
#[track_caller]
pub fn shared(name: &str) -> Option<PathBuf> {
    let data = "../shared/data";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(data).join(name);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os(REQUIRED).is_none(), "{data}/{name} is absent, and {REQUIRED} is set");
    println!("skipped: {data}/{name} is absent");
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_absent_is_skipped_or_an_error() {
        let found = std::panic::catch_unwind(|| shared("no such file"));
        assert_eq!(found.is_err(), std::env::var_os(REQUIRED).is_some());
        assert!(found.is_err() || found.is_ok_and(|path| path.is_none()));
    }
}
