//! Hit rates as a table.

use std::fmt::Write;

use foretell_core::replay_cache::{CacheReport, Objects, Outcome};
use foretell_units::Bytes;

use crate::screen::fitted;
use crate::tables::table;

/// The headers of [`cells`].
const CELLS: [&str; 6] = ["miss", "hit", "byte miss", "byte hit", "read hit", "write hit"];

/// The cells of a row, under the headers [`CELLS`].
fn cells(outcome: &Outcome) -> [String; 6] {
    let (hit, byte_hit) = (outcome.ratio(), outcome.byte_ratio());
    let miss = |ratio: Option<f64>| digits(ratio.map(|ratio| 1.0 - ratio));
    [
        miss(hit),
        digits(hit),
        miss(byte_hit),
        digits(byte_hit),
        digits(outcome.only(0).ratio()),
        digits(outcome.only(1).ratio()),
    ]
}

/// The whole output.
pub(super) fn of(report: &CacheReport) -> String {
    let mut text = heading(report);
    if !report.rows().is_empty() {
        let mut table = table(&[&["size", "policy"], &CELLS[..]].concat());
        for row in report.rows() {
            let head = [size_of(report, row.size), row.policy.to_string()];
            table.add_row(head.into_iter().chain(cells(&row.outcome)));
        }
        let _ = writeln!(text, "\n{}", fitted(&table, 2));
        let refused = report.rows().iter().map(|row| row.refused).max().unwrap_or(0);
        if refused > 0 {
            let _ = writeln!(
                text,
                "\nUp to {refused} references were to objects larger than the cache: misses."
            );
        }
    }
    if let Some(rate) = report.curve_rate() {
        let how = if report.is_estimated() {
            format!("estimated from {} of the objects", percent(rate))
        } else {
            "exact".to_owned()
        };
        let mut table = table(&[&["size"], &CELLS[..]].concat());
        for (size, outcome) in report.curve() {
            table.add_row([size_of(report, size)].into_iter().chain(cells(&outcome)));
        }
        let _ = writeln!(text, "\nLRU of all sizes, {how}\n{}", fitted(&table, 1));
    }
    text
}

fn heading(report: &CacheReport) -> String {
    let [read, written] = report.requests();
    let mut text = format!(
        "{} ({}): {} requests, {read} reads and {written} writes, {}\n",
        report.trace().display(),
        report.format(),
        read + written,
        amount(report.bytes()),
    );
    if report.bad_records() > 0 {
        let _ =
            writeln!(text, "{} lines or records are wrong and were left out", report.bad_records());
    }
    let _ = match report.objects() {
        Objects::Addresses => {
            writeln!(text, "Each address is one object, whatever the sizes of its requests")
        }
        Objects::Pages(page) => {
            writeln!(text, "{} references to pages of {page}", report.references())
        }
        Objects::BySize => writeln!(
            text,
            "Each request is a reference to the object that its address names, as large as the request"
        ),
    };
    if let Some(objects) = report.different_objects() {
        let what = if matches!(report.objects(), Objects::Pages(_)) { "pages" } else { "objects" };
        let _ = writeln!(text, "{objects} different {what}");
    }
    text
}

/// A size in a suitable unit.
fn size_of(report: &CacheReport, size: u64) -> String {
    match report.objects() {
        Objects::Addresses => size.to_string(),
        Objects::Pages(_) => match report.size_bytes(size) {
            Some(bytes) => format!("{size} ({})", amount(bytes)),
            None => size.to_string(),
        },
        Objects::BySize => Bytes(size).to_string(),
    }
}

/// A ratio with four digits; empty if there is none.
fn digits(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.4}"))
}

/// A share in percent, with about three digits.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 0.995 => format!("{percent:.1} %"),
        percent if percent >= 0.0995 => format!("{percent:.2} %"),
        percent if percent >= 0.009_95 => format!("{percent:.3} %"),
        percent => format!("{percent:.2e} %"),
    }
}

/// Bytes with three or four digits, in powers of 1024.
fn amount(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let index = (bytes.max(1).ilog2() / 10) as usize;
    match bytes as f64 / (1_u64 << (10 * index)) as f64 {
        value if index == 0 || value >= 100.0 => format!("{value:.0} {}", units[index]),
        value => format!("{value:.1} {}", units[index]),
    }
}
