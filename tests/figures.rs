//! Sentences of the course say what the output beside them says.
//!
//! What commands print is kept true by other tests; here the figures that sentences take from it are. Below a paragraph
//! stands a comment for each such figure:
//!
//! ```text
//! `web` would gain more than a third in throughput, and its p95 would fall from 122 to 73 ms.
//! <!-- figure: from 122 = [run mine ~ web all : 7] -->
//! <!-- figure: to 73 ms = [web : 5] -->
//! <!-- figure: more than a third < [web : 1] / [cipher=none ~ web : 1] - 1 -->
//! ```
//!
//! Before `=` stand words of the paragraph with one figure, after it a formula: numbers and cells, from left to right.
//! The figure is the formula's value, rounded as it is written; words such as `half` and `twice`, and figures after
//! `about`, are right within a tenth. With `<` or `>` the figure is smaller or larger than the value. A cell
//! `[COMMAND ~ LINE : N]` is the N-th number (-1: the last) of a line that is shown below a command which contains
//! COMMAND, or ends with it (`COMMAND$`): the first that begins with LINE (`LINE / OTHER`: the first after it that begins
//! with OTHER). The nearest such command above the
//! paragraph counts, or else the next one below. Without COMMAND it is the nearest that shows such a line.

use std::fs;
use std::path::PathBuf;

use crate::common::root;

/// A command, and the lines that are shown below it.
struct Shown {
    /// Of the document, from 0.
    at: usize,
    command: String,
    lines: Vec<String>,
}

/// A figure in a sentence, and the formula that it comes from.
struct Figure {
    at: usize,
    written: String,
    relation: char,
    formula: String,
}

const WORDS: [(&str, f64); 13] = [
    ("half", 0.5),
    ("halved", 0.5),
    ("third", 1.0 / 3.0),
    ("quarter", 0.25),
    ("fifth", 0.2),
    ("tenth", 0.1),
    ("twice", 2.0),
    ("double", 2.0),
    ("doubles", 2.0),
    ("twofold", 2.0),
    ("twelve", 12.0),
    ("three", 3.0),
    ("six", 6.0),
];
/// Tolerance of words, and of figures after `about`.
const ABOUT: f64 = 0.1;

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The number that a word is, without what stands around it.
fn number(word: &str) -> Option<f64> {
    let word = word.trim_matches(|c: char| !(c.is_ascii_digit() || c == '-'));
    let word = word.replace(',', "").replace('−', "-");
    word.starts_with(|c: char| c.is_ascii_digit() || c == '-').then(|| word.parse().ok())?
}

/// Whether it is a name, which may have digits in it.
fn is_name(word: &str) -> bool {
    let inside = word.trim_matches(|c: char| c.is_ascii_punctuation() || "±−µ°²".contains(c));
    inside.chars().any(char::is_alphabetic)
}

/// The numbers of a line.
fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().filter(|word| !is_name(word)).filter_map(number).collect()
}

/// What is written, and how far the truth may be from it.
fn written(text: &str) -> Option<(f64, f64)> {
    let is_about = text.split_whitespace().any(|word| ["about", "some", "nearly"].contains(&word));
    for word in text.split_whitespace() {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric());
        if let Some((_, value)) = WORDS.iter().find(|(known, _)| *known == plain) {
            return Some((*value, ABOUT * value));
        }
        if !is_name(word)
            && let Some(value) = number(word)
        {
            let digits = word
                .split_once('.')
                .map_or(0, |(_, end)| end.chars().take_while(char::is_ascii_digit).count());
            let half_a_unit = 0.5 * 10_f64.powi(-i32::try_from(digits).unwrap());
            let reach = if is_about { half_a_unit.max(ABOUT * value.abs()) } else { half_a_unit };
            return Some((value, reach * (1.0 + 1e-9)));
        }
    }
    None
}

fn read(text: &str) -> (Vec<Shown>, Vec<Figure>) {
    let (mut shown, mut figures): (Vec<Shown>, Vec<Figure>) = (Vec::new(), Vec::new());
    let mut is_block = false;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            is_block = !is_block;
            continue;
        }
        if !is_block {
            // an output of the README: the command stands in the comment above
            if let Some(command) = trimmed.strip_prefix("<!-- kept true by tests/") {
                shown.push(Shown { at, command: command.to_owned(), lines: Vec::new() });
            }
            let figure = trimmed.strip_prefix("<!-- figure: ").and_then(|l| l.strip_suffix(" -->"));
            if let Some(figure) = figure {
                // in front of the formula: neither its numbers nor what stands in brackets has a relation
                let end = figure.find('[').unwrap_or(figure.len());
                let place =
                    [" = ", " < ", " > "].iter().filter_map(|sign| figure[..end].rfind(sign)).max();
                let place = place.unwrap_or_else(|| panic!("line {}: no relation", at + 1));
                figures.push(Figure {
                    at,
                    written: figure[..place].to_owned(),
                    relation: figure[place + 1..].chars().next().unwrap(),
                    formula: figure[place + 3..].to_owned(),
                });
            }
            continue;
        }
        match (line.trim_start().strip_prefix("$ "), shown.last_mut()) {
            (Some(command), _) => {
                shown.push(Shown { at, command: command.to_owned(), lines: Vec::new() });
            }
            (None, Some(last)) if last.lines.is_empty() && last.command.ends_with('\\') => {
                last.command += " ";
                last.command += line;
            }
            (None, Some(last)) => last.lines.push(squeezed(line)),
            (None, None) => {}
        }
    }
    (shown, figures)
}

/// The words of the paragraph above a comment.
fn paragraph(lines: &[&str], at: usize) -> String {
    let mut end = at;
    while end > 0
        && (lines[end - 1].trim().is_empty() || lines[end - 1].trim_start().starts_with("<!--"))
    {
        end -= 1;
    }
    let mut begin = end;
    while begin > 0 && !lines[begin - 1].trim().is_empty() && !lines[begin - 1].starts_with("```") {
        begin -= 1;
    }
    squeezed(&lines[begin..end].join(" "))
}

/// The N-th number of the line that a cell names.
fn cell(text: &str, at: usize, shown: &[Shown]) -> Result<f64, String> {
    let (place, index) = text.rsplit_once(" : ").ok_or("a cell ends with ` : N`")?;
    let index: isize = index.trim().parse().map_err(|_| "a cell ends with ` : N`")?;
    let (command, line) = place.split_once(" ~ ").unwrap_or(("", place));
    let find = |shown: &Shown| {
        let mut lines = shown.lines.iter();
        let mut found = None;
        for part in line.split(" / ") {
            let part = squeezed(part);
            found =
                Some(lines.find(|line| **line == part || line.starts_with(&format!("{part} ")))?);
        }
        found.cloned()
    };
    let is_command = |shown: &Shown| match command.strip_suffix('$') {
        Some(end) => shown.command.ends_with(end),
        None => shown.command.contains(command),
    };
    let fits = |shown: &&Shown| is_command(shown) && find(shown).is_some();
    let above = shown.iter().rev().find(|shown| shown.at < at && fits(shown));
    let found = above.or_else(|| shown.iter().find(fits)).ok_or("no command shows such a line")?;
    let line = find(found).expect("it fits");
    let all = numbers(&line);
    let place = if index < 0 {
        all.len().checked_add_signed(index)
    } else {
        index.unsigned_abs().checked_sub(1)
    };
    let found = place.and_then(|place| all.get(place).copied());
    found.ok_or_else(|| format!("`{line}` has no number {index}"))
}

fn value(formula: &str, at: usize, shown: &[Shown]) -> Result<f64, String> {
    let (mut result, mut sign, mut rest) = (0.0, '+', formula.trim());
    while !rest.is_empty() {
        let (term, after) = if let Some(inner) = rest.strip_prefix('[') {
            let (inside, after) = inner.split_once(']').ok_or("`]` is missing")?;
            (cell(inside, at, shown)?, after)
        } else {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            (number(word).ok_or_else(|| format!("`{word}` is no number"))?, after)
        };
        match sign {
            '+' => result += term,
            '-' => result -= term,
            '*' => result *= term,
            '/' => result /= term,
            other => return Err(format!("`{other}` is no sign")),
        }
        rest = after.trim_start();
        let mut letters = rest.chars();
        sign = letters.next().unwrap_or('+');
        rest = letters.as_str().trim_start();
    }
    Ok(result)
}

/// What is wrong with the figures of a document.
fn faults(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let (shown, figures) = read(text);
    let fault = |figure: &Figure| {
        let said = paragraph(&lines, figure.at);
        if !said.contains(&squeezed(&figure.written)) {
            return Some(format!("the paragraph above does not say it: {said}"));
        }
        let Some((stated, reach)) = written(&figure.written) else {
            return Some("there is no figure in it".to_owned());
        };
        let found = match value(&figure.formula, figure.at, &shown) {
            Ok(found) => found,
            Err(error) => return Some(error),
        };
        let holds = match figure.relation {
            '<' => stated < found,
            '>' => stated > found,
            _ => (stated - found).abs() <= reach,
        };
        (!holds).then(|| format!("it is {found}"))
    };
    let of = |figure: &Figure| {
        let what = format!("line {}: `{}` {}", figure.at + 1, figure.written, figure.relation);
        fault(figure).map(|fault| format!("{what} {}: {fault}", figure.formula))
    };
    figures.iter().filter_map(of).collect()
}

fn documents(directory: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(documents(path));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn sentences_say_what_the_output_beside_them_says() {
    let mut all = documents(root().join("docs"));
    all.push(root().join("README.md"));
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        count += text.matches("<!-- figure: ").count();
        wrong.extend(faults(&text).into_iter().map(|fault| format!("{}, {fault}", path.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "{count} figures are checked");
}

#[test]
fn a_figure_is_compared_as_it_is_written() {
    let text = "```console\n$ foretell one\n web all  389 ± 12.1   1.60 s\n  read 7\n b read 8.26 %\n$ foretell two \\\n    --more\n web all 198\n```\n\n\
                It falls from 389 by half, to 198, and\nreads take 8.3 %, about 8 %.\n";
    let check = |figure: &str| faults(&format!("{text}<!-- figure: {figure} -->\n"));
    for right in [
        "from 389 = [one ~ web all : 1]",
        "by half = [web all : 1] / [one ~ web all : 1]",
        "to 198 = [--more ~ web all : 1]",
        "reads take 8.3 % = [b read : 1]",
        "and reads take 8.3 % > [web all / read : 1]",
        "about 8 % = [b read : 1]",
        "reads take 8.3 % < 4 * 2 + 1",
        "8.3 % = [one$ ~ b read : -1]",
    ] {
        assert_eq!(check(right), Vec::<String>::new(), "{right}");
    }
    for (wrong, why) in [
        ("from 389 = [web all : 1]", "it is 198"),
        ("to 198 = [one ~ web all : 2]", "it is 12.1"),
        ("to 199 = [web all : 1]", "does not say it"),
        ("by half = [web all : 1] / 300", "it is 0.66"),
        ("8.3 % = [web read : 1]", "no command shows such a line"),
        ("8.3 % = [b read : 2]", "has no number 2"),
        ("It falls = [b read : 1]", "no figure in it"),
    ] {
        assert!(check(wrong)[0].contains(why), "{wrong}: {:?}", check(wrong));
    }
}
