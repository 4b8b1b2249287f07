//! The texts of a scenario: its file, profiles, changes.
//!
//! All texts are in one address space, one after the other. So a [`Place`] alone identifies its
//! text, even after a change was inserted into the tree of the file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes in the address space of all [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Place {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Place {
    /// Whether it is the place of a default, where nothing is written.
    pub(crate) fn is_default(self) -> bool {
        self.start == self.end
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

impl From<Range<usize>> for Place {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// The kind of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SourceKind {
    /// The scenario's file, or a profile.
    File,
    /// A change on the command line.
    Change,
}

/// A text.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: Arc<str>,
    pub(crate) kind: SourceKind,
    base: usize,
}

/// All texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    texts: Vec<Source>,
    /// Which files may be named; `None`: any.
    pub(crate) confined: Option<Confined>,
}

/// The only directory whose files may be named.
#[derive(Clone, Debug)]
pub(crate) struct Confined {
    pub(crate) directory: PathBuf,
    /// Whether the scenario's own text may name any file, so that only changes are confined.
    pub(crate) only_changes: bool,
}

impl Sources {
    /// Adds a text and returns the address of its first byte.
    ///
    /// Address zero belongs to no text: values there were not written by the user.
    pub(crate) fn add(&mut self, name: &str, text: &str, kind: SourceKind) -> usize {
        // one address between texts, so that the end of one is not the beginning of the next
        let base = self.texts.last().map_or(1, |last| last.base + last.text.len() + 1);
        self.texts.push(Source { name: name.to_owned(), text: text.into(), kind, base });
        base
    }

    /// The scenario's own file.
    pub(crate) fn first(&self) -> Option<&Source> {
        self.texts.first()
    }

    /// The text that contains the place, and the range in it.
    pub(crate) fn find(&self, place: Place) -> Option<(&Source, Range<usize>)> {
        let after = self.texts.partition_point(|source| source.base <= place.start);
        let source = &self.texts[after.checked_sub(1)?];
        let limit = source.text.len();
        let start = (place.start - source.base).min(limit);
        let end = place.end.saturating_sub(source.base).clamp(start, limit);
        Some((source, start..end))
    }

    /// The directory below which files named at the place must be; `None`: they may be anywhere.
    pub(crate) fn confined_at(&self, place: Place) -> Option<&Path> {
        let confined = self.confined.as_ref()?;
        (!confined.only_changes || self.is_change(place)).then_some(confined.directory.as_path())
    }

    /// Whether the place is in a change, not in a file.
    pub(crate) fn is_change(&self, place: Place) -> bool {
        self.find(place).is_some_and(|(source, _)| source.kind == SourceKind::Change)
    }

    /// The place of `part` (bytes of the value) of the text at `place`, if the text is written
    /// there literally, with or without quotes.
    pub(crate) fn part(&self, place: Place, value: &str, part: Range<usize>) -> Place {
        if part.is_empty() {
            return place;
        }
        let Some((source, span)) = self.find(place) else { return place };
        let written = &source.text[span];
        for quotes in [0, 1] {
            if written.get(quotes..quotes + value.len()) == Some(value) {
                let start = place.start + quotes;
                return Place { start: start + part.start, end: start + part.end };
            }
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_finds_its_text() {
        let mut sources = Sources::default();
        assert!(sources.find(Place::default()).is_none());
        let a = sources.add("a", "seed = 1", SourceKind::File);
        let b = sources.add("--set", "seed=2", SourceKind::Change);
        assert!(sources.find(Place::default()).is_none());
        let of = |place: Place| {
            let (source, span) = sources.find(place).unwrap();
            (source.name.as_str(), &source.text[span])
        };
        assert_eq!(of((a + 7..a + 8).into()), ("a", "1"));
        assert_eq!(of((b + 5..b + 6).into()), ("--set", "2"));
        assert_eq!(of((b + 5..b + 600).into()), ("--set", "2"));
        assert!(sources.is_change((b..b).into()) && !sources.is_change((a..a).into()));
    }

    #[test]
    fn a_part_of_a_quoted_value() {
        let mut sources = Sources::default();
        let base = sources.add("a", "nodes = \"brick[0-9]\"", SourceKind::File);
        let value: Place = (base + 8..base + 20).into();
        // brick[0-9]: the 9 is byte 8 of the value, and byte 17 of the text
        assert_eq!(sources.part(value, "brick[0-9]", 8..9), (base + 17..base + 18).into());
        assert_eq!(sources.part(value, "else", 0..1), value);
    }
}
