//! Kinds of files that commands write where the user says.

use std::fs::File;
use std::io::{self, Read};

/// Number of bytes at the beginning of a file in which its marks are looked for.
const LOOKED_AT: u64 = 8 << 10;

/// What the files of a kind have in common, so that our files can be told from others.
///
/// A file that the user names is replaced only if it is empty or of the kind that the command writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileKind<'a> {
    what: &'static str,
    begins: &'a str,
    says: &'static str,
}

impl<'a> FileKind<'a> {
    /// Any file.
    pub const ANY: Self = Self::beginning("a file", "");

    /// Files that begin with this text; `what`: their description as a noun.
    pub const fn beginning(what: &'static str, begins: &'a str) -> Self {
        Self { what, begins, says: "" }
    }

    /// Files that contain this text near their beginning.
    pub const fn saying(what: &'static str, says: &'static str) -> Self {
        Self::beginning(what, "").and_saying(says)
    }

    /// Files of this kind that also contain this text.
    #[must_use]
    pub const fn and_saying(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    /// The description.
    pub(crate) const fn what(self) -> &'static str {
        self.what
    }

    /// Whether a file is of this kind, or empty.
    pub(crate) fn has(self, file: &File) -> io::Result<bool> {
        let mut begin = Vec::new();
        file.take(LOOKED_AT).read_to_end(&mut begin)?;
        Ok(begin.is_empty() || self.matches(&begin))
    }

    /// Whether a file with this content is of this kind.
    pub(crate) fn matches(self, content: &[u8]) -> bool {
        let begin = &content[..content.len().min(LOOKED_AT as usize)];
        let says = self.says.as_bytes();
        let is_said = says.is_empty() || begin.windows(says.len()).any(|part| part == says);
        begin.starts_with(self.begins.as_bytes()) && is_said
    }
}
