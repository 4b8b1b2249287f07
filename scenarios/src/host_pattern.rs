//! Hosts by name: `brick3`, `brick`, `brick*`, `brick[0-4]`, `brick[0,2,5-7], fast[0-1]`.

use std::ops::Range;

use crate::names::{nearest, one_of};

/// A group of equal hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) count: usize,
    /// Number of its first host among all hosts.
    pub(crate) first: usize,
    /// Whether its hosts are storage nodes; otherwise they are clients.
    pub(crate) is_node: bool,
}

impl Group {
    /// `brick0` to `brick7`, for messages.
    pub(crate) fn shown(&self) -> String {
        match self.count {
            1 => format!("`{}0`", self.name),
            count => format!("`{0}0` to `{0}{1}`", self.name, count - 1),
        }
    }
}

/// Why a pattern names no hosts, and which of its bytes are wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PatternError {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) part: Range<usize>,
}

/// The hosts that `pattern` names, by number, in its order, with the bytes that name each.
pub(crate) fn hosts(
    pattern: &str,
    groups: &[Group],
) -> Result<Vec<(usize, Range<usize>)>, PatternError> {
    let mut found = Vec::new();
    for part in split(pattern) {
        one(pattern, part, groups, &mut found)?;
    }
    Ok(found)
}

/// The host called `name`, by number.
pub(crate) fn host(name: &str, groups: &[Group]) -> Option<usize> {
    groups.iter().find_map(|group| {
        let index = name.strip_prefix(group.name.as_str())?;
        // as written in names: no sign, no leading zeros
        let canonical = index.bytes().all(|b| b.is_ascii_digit())
            && (index.len() == 1 || !index.starts_with('0'));
        let index: usize = canonical.then(|| index.parse().ok()).flatten()?;
        (index < group.count).then(|| group.first + index)
    })
}

/// The parts between commas outside brackets, without surrounding blanks.
fn split(pattern: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, c) in pattern.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(trim(pattern, start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(trim(pattern, start..pattern.len()));
    parts
}

fn trim(pattern: &str, part: Range<usize>) -> Range<usize> {
    let text = &pattern[part.clone()];
    let start = part.start + (text.len() - text.trim_start().len());
    start..start + text.trim().len()
}

fn one(
    pattern: &str,
    part: Range<usize>,
    groups: &[Group],
    found: &mut Vec<(usize, Range<usize>)>,
) -> Result<(), PatternError> {
    let text = &pattern[part.clone()];
    let fail = |message: String, help: Option<String>, part: Range<usize>| {
        Err(PatternError { message, help, part })
    };
    if text.is_empty() {
        return fail(
            "hosts are missing here".to_owned(),
            Some("write a host or a group, such as `brick[0-4]`".to_owned()),
            // never empty, so that there is something to underline
            part.start.saturating_sub(1)..(part.end + 1).min(pattern.len()),
        );
    }
    let group_of = |name: &str| groups.iter().find(|group| group.name == name);
    let (name, bracket) = match text.find('[') {
        Some(at) => (&text[..at], Some(at)),
        None => (text.strip_suffix('*').unwrap_or(text), None),
    };
    let Some(group) = group_of(name.trim_end()) else {
        if bracket.is_none()
            && let Some(index) = host(text, groups)
        {
            found.push((index, part));
            return Ok(());
        }
        return unknown(text, name.trim_end(), groups, part);
    };
    let Some(at) = bracket else {
        found.extend((group.first..group.first + group.count).map(|host| (host, part.clone())));
        return Ok(());
    };
    let Some(inside) = text[at + 1..].strip_suffix(']') else {
        let help = format!("for example `{}[0-{}]`", group.name, group.count - 1);
        return fail(format!("`{text}` does not end with `]`"), Some(help), part);
    };
    let mut start = part.start + at + 1;
    for item in inside.split(',') {
        let range = trim(pattern, start..start + item.len());
        start += item.len() + 1;
        let item = &pattern[range.clone()];
        let (low, high) = item.split_once('-').unwrap_or((item, item));
        let (Ok(low), Ok(high)) = (low.trim().parse::<u32>(), high.trim().parse::<u32>()) else {
            let range = if range.is_empty() { part } else { range };
            return fail(
                format!("`{item}` is neither a host's number nor a range of them"),
                Some(format!("for example `{}[0,2,5-7]`", group.name)),
                range,
            );
        };
        if low > high {
            let help = format!("write `{high}-{low}`");
            return fail(format!("the range `{item}` runs backwards"), Some(help), range);
        }
        if high as usize >= group.count {
            let missing = format!("{}{}", group.name, (low as usize).max(group.count));
            let help = format!("`{}` has {} hosts, {}", group.name, group.count, group.shown());
            return fail(format!("there is no host `{missing}`"), Some(help), range);
        }
        let numbers = low as usize..=high as usize;
        found.extend(numbers.map(|index| (group.first + index, range.clone())));
    }
    Ok(())
}

fn unknown(
    text: &str,
    name: &str,
    groups: &[Group],
    part: Range<usize>,
) -> Result<(), PatternError> {
    // `brick9` where there are eight is not a typing error
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let help = if let Some(group) = groups.iter().find(|g| g.name == stem && stem != name) {
        Some(format!("`{stem}` has {} hosts, {}", group.count, group.shown()))
    } else if let Some(near) = nearest(stem, groups.iter().map(|group| group.name.as_str())) {
        Some(format!("did you mean `{near}{}`?", &text[stem.len().min(text.len())..]))
    } else if groups.is_empty() {
        None
    } else {
        Some(format!("there are the groups {}", one_of(groups.iter().map(|g| g.name.as_str()))))
    };
    Err(PatternError { message: format!("there is no host or group `{text}`"), help, part })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups() -> Vec<Group> {
        let group = |name: &str, count, first, is_node| Group {
            name: name.to_owned(),
            count,
            first,
            is_node,
        };
        vec![group("brick", 8, 0, true), group("fast", 2, 8, true), group("app", 1, 10, false)]
    }

    fn numbers(pattern: &str) -> Vec<usize> {
        hosts(pattern, &groups()).unwrap().into_iter().map(|(host, _)| host).collect()
    }

    #[test]
    fn patterns_name_hosts_in_their_order() {
        assert_eq!(numbers("brick[0-4]"), [0, 1, 2, 3, 4]);
        assert_eq!(numbers("brick[0,2,5-7]"), [0, 2, 5, 6, 7]);
        assert_eq!(numbers("brick3"), [3]);
        assert_eq!(numbers("fast"), [8, 9]);
        assert_eq!(numbers("fast*"), [8, 9]);
        assert_eq!(numbers("app"), [10]);
        assert_eq!(numbers("app0"), [10]);
        assert_eq!(numbers(" fast1 , brick[ 2 - 3 ],app "), [9, 2, 3, 10]);
    }

    #[test]
    fn the_part_to_blame_is_named() {
        let fault = |pattern: &str| {
            let error = hosts(pattern, &groups()).unwrap_err();
            (error.message, pattern[error.part].to_owned(), error.help.unwrap_or_default())
        };
        let (message, part, help) = fault("fast0, brick[0,6-9]");
        assert_eq!((message.as_str(), part.as_str()), ("there is no host `brick8`", "6-9"));
        assert_eq!(help, "`brick` has 8 hosts, `brick0` to `brick7`");
        assert_eq!(fault("brick8").2, "`brick` has 8 hosts, `brick0` to `brick7`");
        assert_eq!(fault("brik[0-4]").2, "did you mean `brick[0-4]`?");
        assert_eq!(fault("brick[4-0]").2, "write `0-4`");
        assert_eq!(fault("brick[0-4").1, "brick[0-4");
        assert_eq!(fault("brick[x]").1, "x");
        assert_eq!(fault("brick[]").1, "brick[]");
        assert_eq!(fault("brick03").0, "there is no host or group `brick03`");
        for pattern in ["", ",", "brick0,", "[", "]", "*", "[0]", "é[0-1]", "brick[0-99999999999]"]
        {
            assert!(hosts(pattern, &groups()).is_err(), "{pattern}");
        }
    }
}
