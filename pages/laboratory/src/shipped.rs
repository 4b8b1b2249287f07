//! The shipped lessons.

use crate::error::LessonError;
use crate::lesson::Lesson;

/// Names and texts, in the order of teaching.
const LESSONS: [(&str, &str); 8] = [
    ("knee", include_str!("../lessons/knee.md")),
    ("little", include_str!("../lessons/little.md")),
    ("cache", include_str!("../lessons/cache.md")),
    ("fan-out", include_str!("../lessons/fan-out.md")),
    ("codes", include_str!("../lessons/codes.md")),
    ("bottleneck", include_str!("../lessons/bottleneck.md")),
    ("failure", include_str!("../lessons/failure.md")),
    ("records", include_str!("../lessons/records.md")),
];

/// Prefix of the names of their scenarios.
const PREFIX: &str = "lesson/";

/// All shipped lessons.
///
/// # Errors
///
/// Never: tests parse all of them.
pub fn shipped() -> Result<Vec<Lesson>, LessonError> {
    let parse = |(name, text): &(&str, &str)| Lesson::parse(name, &format!("{PREFIX}{name}"), text);
    LESSONS.iter().map(parse).collect()
}

/// Their names.
pub fn shipped_names() -> impl Iterator<Item = &'static str> + Clone {
    LESSONS.iter().map(|(name, _)| *name)
}

/// The text of a lesson, as a start for a lesson of one's own.
pub fn shipped_text(name: &str) -> Option<&'static str> {
    LESSONS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The scenario of a lesson, by its name in commands: `lesson/knee`.
pub fn scenario_of(name: &str) -> Option<String> {
    Lesson::scenario_in(shipped_text(name.strip_prefix(PREFIX)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_lessons() {
        for lesson in shipped().unwrap_or_else(|error| panic!("{error}")) {
            assert!(scenario_of(&lesson.command).is_some_and(|text| text == lesson.scenario));
            assert!(!lesson.after.is_empty(), "{}", lesson.name);
        }
    }
}
