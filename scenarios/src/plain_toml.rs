//! Messages of the TOML reader in plain words, for the small languages beside scenarios: sweeps, drive files and
//! suites of questions.

use crate::names::meant;

/// What the reader calls a type, and what users call it.
const TYPES: [(&str, &str); 15] = [
    ("integer `", "the number `"),
    ("floating point `", "the number `"),
    ("boolean `", "the flag `"),
    ("string ", "the text "),
    ("sequence", "a list"),
    ("map", "a table"),
    ("a sequence", "a list"),
    ("a map", "a table"),
    ("a boolean", "`true` or `false`"),
    ("a string", "a text in quotes"),
    ("i64", "a whole number"),
    ("u64", "a whole number of at least 0"),
    ("u32", "a whole number of at least 0"),
    ("f64", "a number"),
    ("usize", "a whole number of at least 0"),
];

/// A message of a reader of TOML or JSON in plain words.
pub fn in_plain_words(message: &str) -> String {
    words(message).0
}

/// The message in plain words, and help.
pub(crate) fn words(message: &str) -> (String, Option<String>) {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        [found, known @ ..] if message.starts_with("unknown field") => {
            let help = meant(found, known.iter().copied());
            (format!("there is no key `{found}` here"), help)
        }
        [found, known @ ..] if message.starts_with("unknown variant") => {
            let help = match known {
                [only] => Some(format!("expected `{only}`")),
                _ => meant(found, known.iter().copied()),
            };
            (format!("`{found}` is not possible here"), help)
        }
        [name] if message.starts_with("missing field") => {
            (format!("the key `{name}` is missing"), None)
        }
        _ => {
            let wrong = message
                .strip_prefix("invalid type: ")
                .and_then(|rest| rest.rsplit_once(", expected "));
            match wrong {
                Some((found, wanted)) => {
                    (format!("expected {}, not {}", plain(wanted), plain(found)), None)
                }
                None => (message.to_owned(), None),
            }
        }
    }
}

fn plain(what: &str) -> String {
    if what.starts_with("struct ") {
        return "a table".to_owned();
    }
    let known = TYPES.iter().find_map(|(reader, users)| {
        let rest = what.strip_prefix(reader)?;
        (rest.is_empty() || reader.ends_with([' ', '`'])).then(|| format!("{users}{rest}"))
    });
    known.unwrap_or_else(|| what.to_owned())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct Settings {
        title: String,
        points: Option<i64>,
        levels: Option<Vec<f64>>,
        flag: Option<bool>,
    }

    #[test]
    fn the_readers_words_become_plain() {
        let right = "title = 'a'\npoints = 1\nlevels = [1.5]\nflag = true";
        let Settings { title, points, levels, flag } = toml::from_str(right).unwrap();
        assert_eq!(
            (title.as_str(), points, levels, flag),
            ("a", Some(1), Some(vec![1.5]), Some(true))
        );
        let of = |text: &str| words(toml::from_str::<Settings>(text).unwrap_err().message());
        let said = |message: &str| (message.to_owned(), None);
        assert_eq!(of(""), said("the key `title` is missing"));
        assert_eq!(of("title = 1"), said("expected a text in quotes, not the number `1`"));
        assert_eq!(
            of("title = '1'\npoints = 'ten'"),
            said("expected a whole number, not the text \"ten\"")
        );
        assert_eq!(of("title = ''\nlevels = 1.5"), said("expected a list, not the number `1.5`"));
        assert_eq!(of("title = ''\nflag = []"), said("expected `true` or `false`, not a list"));
        let (message, help) = of("title = ''\npoint = 1");
        assert_eq!(message, "there is no key `point` here");
        assert_eq!(help.unwrap(), "did you mean `points`?");
    }
}
