//! Names: which are allowed, and a suggestion for a wrong one.

use std::fmt::Write as _;

/// The known name nearest to `found`, if it is near enough to be a typing error.
pub(crate) fn nearest<'a>(
    found: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let lower = found.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|&(distance, name)| {
            let shorter = name.chars().count().min(lower.chars().count());
            distance <= (shorter / 2).clamp(1, 4) || name.starts_with(&lower) && shorter >= 3
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, name)| name)
}

/// Help for a wrong name: the nearest one, or all names.
pub fn meant<'a>(found: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> Option<String> {
    if let Some(name) = nearest(found, known.clone()) {
        return Some(format!("did you mean `{name}`?"));
    }
    let list = one_of(known);
    (!list.is_empty()).then(|| format!("there are {list}."))
}

/// `` `a`, `b` ``, shortened if there are many.
pub(crate) fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 24;
    let names: Vec<_> = names.into_iter().collect();
    let mut text =
        names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        let _ = write!(text, ", and {} more", names.len() - SHOWN);
    }
    text
}

/// Help for a key that has a meaning only with these values of the key `tag`.
pub(crate) fn belongs<'a>(
    key: &str,
    tag: &str,
    values: impl IntoIterator<Item = &'a str>,
) -> String {
    let values: Vec<_> = values.into_iter().map(|value| format!("`{tag} = \"{value}\"`")).collect();
    format!("`{key}` belongs to {}", values.join(" or "))
}

/// Whether a volume, a workload or (if it begins with a letter) a group of hosts may have the name.
///
/// Names are parts of paths and of host patterns, so they must not contain the special characters of these.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// Whether a profile may have the name: it must be safe as a file name.
pub(crate) fn is_profile_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_is_near() {
        let known = ["cache", "disk", "nic", "count"];
        assert_eq!(nearest("cahce", known), Some("cache"));
        assert_eq!(nearest("DISK", known), Some("disk"));
        assert_eq!(nearest("memory", known), None);
        assert_eq!(meant("xyzzyx", ["a", "b"]).unwrap(), "there are `a`, `b`.");
        assert_eq!(meant("wbe", ["web"]).unwrap(), "did you mean `web`?");
    }

    #[test]
    fn names_have_no_characters_of_paths_and_patterns() {
        assert!(is_name("mail-2") && is_profile_name("barracuda-7200.8"));
        for name in ["", "a.b", "a b", "a[0]", "a*", "-a", "ä", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
        assert!(!is_profile_name("../x") && !is_profile_name(".hidden"));
    }
}
