//! Figures and names as people read them.

use std::cmp::Ordering;

/// Ratio from which a change is shown as a multiple: nobody reads `+1629.9 %` as 17 times as much.
const MIN_MULTIPLE: f64 = 3.0;

/// A relative change as text: `+7.1 %`, `-3.0 %`, `0.0 %`; of much more, the multiple: `17 ×`.
///
/// `change`: the new value divided by the old one, less 1; `decimals` of the percentage.
pub fn relative_change(change: f64, decimals: usize) -> String {
    let ratio = 1.0 + change;
    if !change.is_finite() {
        return "unknown".to_owned();
    }
    if ratio >= MIN_MULTIPLE {
        let decimals = usize::from(ratio < 10.0);
        return format!("{ratio:.decimals$} ×");
    }
    let shown = format!("{:+.decimals$} %", 100.0 * change);
    // no change has no sign
    match shown.strip_prefix(['+', '-']) {
        Some(size) if size.bytes().all(|byte| matches!(byte, b'0' | b'.' | b' ' | b'%')) => {
            size.to_owned()
        }
        _ => shown,
    }
}

/// The order in which people list names: numbers in them count as numbers, `osd2` before `osd10`.
pub fn by_name(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    while let ([first, ..], [second, ..]) = (left, right) {
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let numbers = (number(&mut left), number(&mut right));
            // without leading zeros, the longer number is larger
            numbers.0.len().cmp(&numbers.1.len()).then_with(|| numbers.0.cmp(numbers.1))
        } else {
            (left, right) = (&left[1..], &right[1..]);
            first.cmp(second)
        };
        if order.is_ne() {
            return order;
        }
    }
    // a shorter name first; names that differ only in leading zeros keep an order
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

/// Takes the digits at the beginning of a text; returns them without leading zeros.
fn number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (found, rest) = text.split_at(digits);
    *text = rest;
    let zeros = found.iter().take_while(|byte| **byte == b'0').count();
    &found[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_changes_are_multiples() {
        let shown = |change| relative_change(change, 1);
        assert_eq!(shown(16.299), "17 ×");
        assert_eq!(shown(2.2), "3.2 ×");
        assert_eq!(shown(1.5), "+150.0 %");
        assert_eq!(shown(0.0714), "+7.1 %");
        assert_eq!(shown(-0.999), "-99.9 %");
        assert_eq!((shown(0.0), shown(-0.0001)), ("0.0 %".to_owned(), "0.0 %".to_owned()));
        assert_eq!(
            (relative_change(0.12, 0), relative_change(-0.001, 0)),
            ("+12 %".to_owned(), "0 %".to_owned())
        );
        assert_eq!(shown(f64::INFINITY), "unknown");
    }

    #[test]
    fn numbers_in_names_count() {
        let mut names = ["osd10", "osd2", "osd1", "osd01", "osd", "a10b2", "a10b10", "a9", "mon0"];
        names.sort_by(|a, b| by_name(a, b));
        assert_eq!(
            names,
            ["a9", "a10b2", "a10b10", "mon0", "osd", "osd01", "osd1", "osd2", "osd10"]
        );
        assert_eq!(
            by_name("r99999999999999999999999", "r100000000000000000000000"),
            Ordering::Less
        );
    }
}
