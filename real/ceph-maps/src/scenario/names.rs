//! Names that a scenario accepts.

use foretell_input::one_line;
use foretell_sorted::SortedSet;

/// Maximum length of a name.
const LONGEST: usize = 48;

/// Names given so far.
#[derive(Default)]
pub(super) struct Names(SortedSet<String>);

impl Names {
    /// A name like `wanted` that has only letters, digits, `_` and `-`, and differs from all names
    /// before.
    pub(super) fn give(&mut self, wanted: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let name: String = wanted.chars().map(plain).take(LONGEST).collect();
        let name = name.trim_matches(['-', '_']);
        let name = if name.is_empty() { "pool" } else { name }.to_owned();
        let mut free = name.clone();
        let mut number = 2;
        while !self.0.insert(free.clone()) {
            free = format!("{name}-{number}");
            number += 1;
        }
        free
    }
}

/// `a`, `b`, ..., `z`, `aa`, ...: no digits, because hosts are named by their group and a number.
pub(super) fn letters(mut number: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(b'a' + (number % 26) as u8);
        number /= 26;
        if number == 0 {
            break;
        }
        number -= 1;
    }
    letters.iter().rev().map(|letter| char::from(*letter)).collect()
}

/// A foreign name as a comment has it.
pub(super) fn written(name: &str) -> String {
    one_line(name).into_owned()
}

/// Numbers as ranges: `0-3, 7`.
pub(super) fn ranges(numbers: &[i32]) -> String {
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |(first, last): &(i32, i32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_unlike() {
        let mut names = Names::default();
        assert_eq!(names.give(".mgr"), "mgr");
        assert_eq!(names.give("default.rgw.log"), "default-rgw-log");
        assert_eq!(names.give("mgr"), "mgr-2");
        assert_eq!(names.give("..."), "pool");
        assert_eq!([0, 25, 26, 27].map(letters), ["a", "z", "aa", "ab"]);
        assert_eq!(ranges(&[0, 1, 2, 7, 5, 6]), "0-2, 7, 5-6");
    }
}
