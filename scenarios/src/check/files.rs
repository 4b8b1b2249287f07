//! Files named in scenarios: traces, job files, CRUSH maps.

use std::path::{Component, Path, PathBuf};

use super::Context;
use crate::source::Place;

impl Context<'_> {
    /// The path of a file: relative to the scenario, or in a change relative to the current
    /// directory. The result is absolute, so that the resolved scenario has the same meaning in any
    /// directory.
    ///
    /// Errors if files named here must be below a directory and this one is outside.
    pub(super) fn file(&self, written: &str, place: Place) -> Result<PathBuf, String> {
        let confined = self.sources.confined_at(place);
        let path = match confined {
            Some(directory) => directory.join(written),
            None if self.sources.is_change(place) => PathBuf::from(written),
            None => self.base.join(written),
        };
        if confined.is_some_and(|directory| !is_below(&path, Path::new(written), directory)) {
            return Err(format!(
                "`{written}` is not below the directory that this scenario may read, and no other file may be read here"
            ));
        }
        Ok(std::path::absolute(&path).unwrap_or(path))
    }
}

/// Whether a path leads to something below a directory, or to nothing in it. Files elsewhere are not opened.
pub(crate) fn is_below(path: &Path, written: &Path, base: &Path) -> bool {
    let stays =
        written.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // a link may lead outside
    let found = || match (path.canonicalize(), base.canonicalize()) {
        (Ok(path), Ok(base)) => path.starts_with(base),
        (Err(error), _) => error.kind() == std::io::ErrorKind::NotFound,
        (Ok(_), Err(_)) => false,
    };
    stays && found()
}

#[cfg(test)]
mod tests {
    use crate::Document;

    fn first_error(text: &str, changes: &[(&str, &str)], base: &std::path::Path) -> String {
        let mut document = Document::parse("test", text, base).unwrap().confined();
        for (path, value) in changes {
            document.set(path, value).unwrap();
        }
        document.check().map_or_else(|errors| errors.lines(), |_| String::new())
    }

    #[test]
    fn a_confined_scenario_names_files_of_its_directory_alone() {
        let outside = tempfile::tempdir().unwrap();
        let secret = outside.path().join("secret");
        std::fs::write(&secret, "1\n2\n").unwrap();
        let inside = tempfile::tempdir().unwrap();
        std::fs::write(inside.path().join("t.trace"), "1\n2\n").unwrap();
        std::os::unix::fs::symlink(&secret, inside.path().join("link")).unwrap();
        let text = Document::shipped("trace-replay").unwrap().unwrap().text().to_owned();
        let with =
            |path: &str| first_error(&text, &[("workload.replay.file", path)], inside.path());
        let shown = secret.display().to_string();
        for path in
            [shown.as_str(), "../secret", "a/../../secret", "link", "/etc/passwd", "/nosuch"]
        {
            let error = with(path);
            assert!(error.contains("no other file may be read here"), "{path}: {error}");
        }
        assert!(with("nosuch").contains("there is no trace"), "{}", with("nosuch"));
        let error = with("t.trace");
        assert!(!error.contains("may be read here") && !error.contains("there is no"), "{error}");
    }

    #[test]
    fn changes_alone_can_be_confined() {
        let outside = tempfile::tempdir().unwrap();
        let trace = outside.path().join("t.trace");
        std::fs::write(&trace, "1\n2\n").unwrap();
        let inside = tempfile::tempdir().unwrap();
        let mut document = Document::shipped("trace-replay").unwrap().unwrap();
        document.set("workload.replay.file", &trace.display().to_string()).unwrap();
        // the text of a kept run names files by their full paths
        let text = document.resolved().unwrap();
        let kept = || Document::parse("kept", &text, "").unwrap().confining_changes(inside.path());
        let errors = |change: Option<(&str, &str)>| {
            let mut document = kept();
            if let Some((path, value)) = change {
                document.set(path, value).unwrap();
            }
            document.check().map_or_else(|errors| errors.lines(), |_| String::new())
        };
        assert!(!errors(None).contains("may be read here"), "{}", errors(None));
        let shown = trace.display().to_string();
        for path in [shown.as_str(), "/nosuch", "../t.trace"] {
            let error = errors(Some(("workload.replay.file", path)));
            assert!(error.contains("no other file may be read here"), "{path}: {error}");
        }
        assert!(errors(Some(("workload.replay.file", "nosuch"))).contains("there is no trace"));
    }

    #[test]
    fn a_confined_scenario_finds_no_profile_by_a_link() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret.toml"), "password = 1\n").unwrap();
        let inside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("devices")).unwrap();
        let text = Document::shipped("trace-replay").unwrap().unwrap().text().to_owned();
        for (path, value) in [("node.server.disk", "[\"secret\"]"), ("device.secret.rpm", "1")] {
            let mut document = Document::parse("test", &text, inside.path()).unwrap().confined();
            let found = document.set(path, value);
            let error = found.err().or_else(|| document.check().err()).unwrap().lines();
            assert!(!error.contains("password"), "{error}");
        }
    }
}
