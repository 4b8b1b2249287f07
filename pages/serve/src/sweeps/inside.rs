//! Whether all that is read of a sweep lies in its directory.

use std::fs;
use std::path::{Path, PathBuf};

use foretell_datasets::{CONTENT_FILE, Content, SHARDS, journals};

/// Whether any file that is read of a sweep is a link, or is reached by one.
pub(super) fn has_links(directory: &Path) -> bool {
    let is_link = |name: &Path| {
        // each directory on the way counts, too
        let ways = name.ancestors().filter(|way| !way.as_os_str().is_empty());
        ways.map(|way| directory.join(way)).any(|way| {
            fs::symlink_metadata(way).is_ok_and(|found| !found.is_file() && !found.is_dir())
        })
    };
    if is_link(Path::new(SHARDS)) || is_link(Path::new(CONTENT_FILE)) {
        return true;
    }
    let inside = |path: PathBuf| path.strip_prefix(directory).map(Path::to_owned).ok();
    let journals = journals(directory).unwrap_or_default().into_iter().filter_map(inside);
    let content = Content::read(directory).ok().flatten();
    let files = content.iter().flat_map(|content| &content.files);
    let mut names = journals.chain(files.map(|file| PathBuf::from(&file.path)));
    names.any(|name| is_link(&name))
}
