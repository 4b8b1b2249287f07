//! Tables that fit the width of the screen.
//!
//! A terminal reports its width, and the environment variable `COLUMNS` gives it for any reader. If
//! neither is known (a file, a pipe), tables keep their full width, so that programs find a row in one
//! line. A table that is too wide is cut between columns, and each part repeats the first columns.

use std::borrow::Cow;

use comfy_table::{Cell, Table};
use foretell_input::one_line;

/// Minimum width; no table fits a narrower screen.
const MIN_WIDTH: usize = 20;

/// Width of the screen in characters, if known.
fn columns() -> Option<usize> {
    let from_environment = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let known = from_environment.or_else(|| Table::new().width().map(usize::from));
    known.filter(|columns| *columns >= MIN_WIDTH)
}

/// The text of a table, without spaces at the ends of lines and without a final line end. `keys`: how
/// many of its first columns identify a row.
pub(crate) fn fitted(table: &Table, keys: usize) -> String {
    cut(&in_lines(table), keys, columns())
}

/// The table with each cell in one line: a name from a foreign file may end a line and begin another.
fn in_lines(table: &Table) -> Table {
    let mut table = table.clone();
    for row in table.row_iter_mut() {
        let lines = row.cell_iter().map(Cell::content);
        if lines.clone().any(|cell| matches!(one_line(&cell), Cow::Owned(_))) {
            *row = lines.map(|cell| one_line(&cell).into_owned()).collect::<Vec<_>>().into();
        }
    }
    table
}

/// A text after a head, in lines no wider than the screen; further lines are indented below the text.
pub(crate) fn wrapped(head: &str, text: &str) -> String {
    wrap(head, text, columns())
}

fn wrap(head: &str, text: &str, columns: Option<usize>) -> String {
    let indent = head.chars().count();
    // if the head leaves no room, lines are not wrapped
    let most = columns.filter(|columns| *columns > indent + MIN_WIDTH).unwrap_or(usize::MAX);
    let below = " ".repeat(indent);
    let lines = textwrap::Options::new(most)
        .initial_indent(head)
        .subsequent_indent(&below)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    let filled = if text.is_empty() { head.to_owned() } else { textwrap::fill(text, lines) };
    format!("{}\n", filled.trim_end())
}

fn cut(table: &Table, keys: usize, columns: Option<usize>) -> String {
    let text = table.to_string();
    let rows: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let mut spans = Vec::new();
    let mut at = 0;
    for width in table.column_max_content_widths() {
        // one space on either side
        let end = at + usize::from(width) + 2;
        spans.push(at..end);
        at = end;
    }
    let is_plain = rows.iter().all(|row| row.len() == at);
    let most = columns.filter(|columns| is_plain && at > *columns + 1);
    let parts = most.map_or_else(
        || vec![(0..spans.len()).collect()],
        |most| parts(&spans.iter().map(ExactSizeIterator::len).collect::<Vec<_>>(), keys, most),
    );
    let mut shown = String::new();
    for (number, part) in parts.into_iter().enumerate() {
        if number > 0 {
            shown.push('\n');
        }
        for row in &rows {
            let line: String = if is_plain {
                part.iter().flat_map(|&column| &row[spans[column].clone()]).collect()
            } else {
                row.iter().collect()
            };
            shown.push_str(line.trim_end());
            shown.push('\n');
        }
    }
    shown.truncate(shown.trim_end_matches('\n').len());
    shown
}

/// The columns of each part: the keys, and as many other columns as fit, but at least one.
fn parts(widths: &[usize], keys: usize, most: usize) -> Vec<Vec<usize>> {
    let keys = keys.min(widths.len());
    let first: usize = widths[..keys].iter().sum();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (column, width) in widths.iter().enumerate().skip(keys) {
        // the last space of a line is not written
        if parts.is_empty() || *width > room + 1 {
            parts.push((0..keys).collect());
            room = most.saturating_sub(first);
        }
        room = room.saturating_sub(*width);
        parts.last_mut().expect("one was begun").push(column);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::table;

    fn sample() -> Table {
        let mut table = table(&["workload", "req/s", "mean ms", "p95", "bottleneck"]);
        table.add_row(["mail", "197", "40.6 ± 1.26", "143", "brick3.disk0"]);
        table.add_row(["web", "894", "8.94", "60.1", "brick3.disk0"]);
        table
    }

    #[test]
    fn a_table_for_nobody_in_particular_is_as_wide_as_it_is() {
        let whole = " workload  req/s      mean ms   p95    bottleneck\n \
                      mail        197  40.6 ± 1.26   143  brick3.disk0\n \
                      web         894         8.94  60.1  brick3.disk0";
        assert_eq!(cut(&sample(), 1, None), whole);
        assert_eq!(cut(&sample(), 1, Some(80)), whole);
        // to the last letter
        assert_eq!(cut(&sample(), 1, Some(49)), whole);
    }

    #[test]
    fn a_text_is_wrapped_beside_its_head() {
        assert_eq!(wrap(" a  ", "one two three", None), " a  one two three\n");
        assert_eq!(wrap(" a  ", "", Some(80)), " a\n");
        let text = "one two three four five six seven";
        let expected = " a  one two three four\n    five six seven\n";
        assert_eq!(wrap(" a  ", text, Some(25)), expected);
        assert_eq!(wrap(" a  ", text, Some(24)), format!(" a  {text}\n"), "no room");
    }

    #[test]
    fn a_wide_table_is_cut_between_columns() {
        let expected = " workload  req/s      mean ms   p95\n \
                         mail        197  40.6 ± 1.26   143\n \
                         web         894         8.94  60.1\n\
                         \n \
                         workload    bottleneck\n \
                         mail      brick3.disk0\n \
                         web       brick3.disk0";
        for columns in [36, 40, 48] {
            assert_eq!(cut(&sample(), 1, Some(columns)), expected, "{columns}");
        }
        for columns in 20..60 {
            let text = cut(&sample(), 1, Some(columns));
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= columns.max(24), "{columns}: {widest}\n{text}");
        }
    }
}
