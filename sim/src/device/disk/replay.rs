//! Compares a drive with its real counterpart: replay of DiskSim's `validate` traces.
//!
//! A line is `R|W buffer-action block sectors service_us next_us`: the request to the real drive, how long it
//! took, and how long after its completion the next request came. As in DiskSim's `validate`, the replay is a
//! closed loop: one request is outstanding, and the next one comes `next_us` after the *model* has completed
//! it. So the rotational positions of the model and the real drive differ, and their response times are
//! compared as distributions. The demerit figure of Ruemmler & Wilkes (1994) is the root mean square
//! horizontal distance between the two cumulative distributions of response time, here at quantiles 0.0001,
//! 0.0002 … 1.

use std::io::{BufRead, Read};

use foretell_units::{Op, SECTOR_BYTES, Sectors, SimSpan, SimTime};
use thiserror::Error;

use super::Mechanism;
use super::drive::Drive;

/// A disk that serves one operation at a time.
pub trait Spindle {
    /// Number of sectors that it holds.
    fn sectors(&self) -> Sectors;

    /// Serves an operation that arrives at `now`, after the last is done. Returns when it is done.
    fn serve(&mut self, now: SimTime, op: Op, lbn: Sectors, sectors: Sectors) -> SimTime;
}

impl Spindle for Drive {
    fn sectors(&self) -> Sectors {
        Self::sectors(self)
    }

    fn serve(&mut self, now: SimTime, op: Op, lbn: Sectors, sectors: Sectors) -> SimTime {
        Self::serve(self, now, op, lbn, sectors).finish
    }
}

impl Spindle for Mechanism {
    fn sectors(&self) -> Sectors {
        Sectors(self.capacity().get() / SECTOR_BYTES)
    }

    fn serve(&mut self, now: SimTime, _op: Op, lbn: Sectors, sectors: Sectors) -> SimTime {
        self.access(now, lbn, sectors)
    }
}

/// Longest line. A longer one is cut, and is then rejected.
const MAX_LINE: u64 = 4096;
/// Number of characters of a rejected field that are shown.
const SHOWN: usize = 40;

/// One request of a trace, and how the real drive served it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exchange {
    /// Direction.
    pub op: Op,
    /// First sector.
    pub lbn: Sectors,
    /// Number of sectors.
    pub sectors: Sectors,
    /// Response time of the real drive.
    pub service: SimSpan,
    /// From its completion to the next arrival.
    pub think: SimSpan,
}

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum TraceError {
    /// A line is not a request.
    #[error(
        "line {line}: {field} is {found}; a line is `R|W action block sectors service_us next_us`"
    )]
    Line {
        /// The line's number, from 1.
        line: u64,
        /// The field at fault.
        field: &'static str,
        /// The field's text.
        found: String,
    },
    /// A request reaches beyond the drive's end.
    #[error(
        "line {line}: sectors {first} to {last} are requested, but the drive ends before sector {total}"
    )]
    Beyond {
        /// The line's number, from 1.
        line: u64,
        /// First sector.
        first: u64,
        /// Last sector.
        last: u64,
        /// Number of sectors of the drive.
        total: u64,
    },
    /// There is no request.
    #[error("the trace is empty")]
    Empty,
    /// The trace cannot be read.
    #[error("line {line}: {error}")]
    Read {
        /// The line that could not be read.
        line: u64,
        /// The cause.
        error: std::io::Error,
    },
}

/// Summary of response times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Summary {
    /// Mean, milliseconds.
    pub mean_ms: f64,
    /// The 95th percentile, milliseconds.
    pub p95_ms: f64,
    /// The 99th percentile, milliseconds.
    pub p99_ms: f64,
}

/// Model and real drive side by side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// Number of requests.
    pub requests: u64,
    /// Number of reads among them.
    pub reads: u64,
    /// Response times of the model.
    pub model: Summary,
    /// Response times of the real drive.
    pub real: Summary,
    /// The demerit figure, milliseconds.
    pub rms_ms: f64,
}

/// Replays a `validate` trace on a fresh disk and compares.
pub fn replay_validate(
    drive: &mut impl Spindle,
    trace: impl BufRead,
) -> Result<Comparison, TraceError> {
    let total = drive.sectors().get();
    let exchanges = read_lines(trace, |line, exchange| {
        let (first, sectors) = (exchange.lbn.get(), exchange.sectors.get());
        if first.checked_add(sectors).is_some_and(|next| next <= total) {
            return Ok(());
        }
        let last = first.saturating_add(sectors - 1);
        Err(TraceError::Beyond { line, first, last, total })
    })?;
    let model = replay(drive, &exchanges);
    let real = exchanges.iter().map(|exchange| exchange.service).collect();
    let reads = exchanges.iter().filter(|exchange| exchange.op == Op::Read).count();
    let (model, real, rms_ms) = compare(model, real).ok_or(TraceError::Empty)?;
    let requests = exchanges.len() as u64;
    Ok(Comparison { requests, reads: reads as u64, model, real, rms_ms })
}

/// The response times of the model, in the order of the trace.
pub fn replay(drive: &mut impl Spindle, exchanges: &[Exchange]) -> Vec<SimSpan> {
    let mut now = SimTime::ZERO;
    exchanges
        .iter()
        .map(|exchange| {
            let finish = drive.serve(now, exchange.op, exchange.lbn, exchange.sectors);
            let took = finish - now;
            now = finish + exchange.think;
            took
        })
        .collect()
}

/// Compares response times as distributions. Returns the two summaries and the demerit figure in
/// milliseconds; `None` if there are no response times.
pub fn compare(mut model: Vec<SimSpan>, mut real: Vec<SimSpan>) -> Option<(Summary, Summary, f64)> {
    if model.is_empty() || real.is_empty() {
        return None;
    }
    model.sort_unstable();
    real.sort_unstable();
    let squares: f64 = (1..=QUANTILES)
        .map(|number| {
            let apart = at_quantile(&model, number) - at_quantile(&real, number);
            apart * apart
        })
        .sum();
    Some((summary(&model), summary(&real), (squares / QUANTILES as f64).sqrt()))
}

const QUANTILES: u64 = 10_000;

/// The quantile `number` / [`QUANTILES`] of the sorted times, ms.
fn at_quantile(sorted: &[SimSpan], number: u64) -> f64 {
    let rank = (number * sorted.len() as u64).div_ceil(QUANTILES).max(1);
    sorted[rank as usize - 1].as_ms_f64()
}

fn summary(sorted: &[SimSpan]) -> Summary {
    let total: SimSpan = sorted.iter().copied().sum();
    Summary {
        mean_ms: total.as_ms_f64() / sorted.len() as f64,
        p95_ms: at_quantile(sorted, QUANTILES / 100 * 95),
        p99_ms: at_quantile(sorted, QUANTILES / 100 * 99),
    }
}

/// Reads a `validate` trace. Empty lines are skipped.
pub fn read_trace(trace: impl BufRead) -> Result<Vec<Exchange>, TraceError> {
    read_lines(trace, |_, _| Ok(()))
}

fn read_lines(
    mut trace: impl BufRead,
    check: impl Fn(u64, &Exchange) -> Result<(), TraceError>,
) -> Result<Vec<Exchange>, TraceError> {
    let mut exchanges = Vec::new();
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let read = trace.by_ref().take(MAX_LINE).read_until(b'\n', &mut text);
        if read.map_err(|error| TraceError::Read { line, error })? == 0 {
            break;
        }
        let mut fields =
            text.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty()).peekable();
        if fields.peek().is_none() {
            continue;
        }
        let exchange = exchange(line, &mut fields)?;
        check(line, &exchange)?;
        exchanges.push(exchange);
    }
    Ok(exchanges)
}

fn exchange<'a>(
    line: u64,
    fields: &mut impl Iterator<Item = &'a [u8]>,
) -> Result<Exchange, TraceError> {
    let wrong = |field, text: Option<&[u8]>| {
        let shown = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            let mut short: String = text.chars().take(SHOWN).collect();
            if short.len() < text.len() {
                short.push_str("...");
            }
            format!("`{}`", foretell_input::one_line(&short))
        };
        TraceError::Line { line, field, found: text.map_or("missing".to_owned(), shown) }
    };
    let mut text = || fields.next();
    let direction = text();
    let op = match direction {
        Some(b"R" | b"r") => Op::Read,
        Some(b"W" | b"w") => Op::Write,
        other => return Err(wrong("the direction", other)),
    };
    text().ok_or_else(|| wrong("the buffer action", None))?;
    let mut whole = |field, least| {
        let text = text();
        let number = text.and_then(whole_number).filter(|number| *number >= least);
        number.ok_or_else(|| wrong(field, text))
    };
    let lbn = Sectors(whole("the block", 0)?);
    let sectors = Sectors(whole("the number of sectors", 1)?);
    let mut time = |field| {
        let text = fields.next();
        text.and_then(time_us).ok_or_else(|| wrong(field, text))
    };
    let service = time("the service time")?;
    let think = time("the time to the next request")?;
    match fields.next() {
        None => Ok(Exchange { op, lbn, sectors, service, think }),
        more => Err(wrong("a seventh field", more)),
    }
}

fn whole_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Parses microseconds with a fraction, to the nanosecond (further digits are cut off).
fn time_us(text: &[u8]) -> Option<SimSpan> {
    let mut parts = text.splitn(2, |byte| *byte == b'.');
    let whole = whole_number(parts.next()?)?;
    let mut nanoseconds = 0;
    let mut unit = 100;
    for byte in parts.next().unwrap_or_default() {
        if !byte.is_ascii_digit() {
            return None;
        }
        nanoseconds += u64::from(byte - b'0') * unit;
        unit /= 10;
    }
    // a request of more than a thousand years is rejected
    let whole = whole.checked_mul(1000).filter(|ns| *ns < u64::MAX / 1000)?;
    Some(SimSpan::from_ns(whole + nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> SimSpan {
        SimSpan::from_ms(n)
    }

    #[test]
    fn the_demerit_figure_is_the_distance_between_the_distributions() {
        // order does not matter; every quantile differs by 2 ms
        let (_, _, rms_ms) = compare(vec![ms(4), ms(3)], vec![ms(1), ms(2)]).unwrap();
        assert_eq!(rms_ms, 2.0);
        // half of the quantiles agree, half differ by 2 ms: √(4 / 2)
        let (model, _, rms_ms) = compare(vec![ms(1), ms(4)], vec![ms(1), ms(2)]).unwrap();
        assert!((rms_ms - 2.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!((model.mean_ms, model.p95_ms), (2.5, 4.0));
        assert_eq!(compare(vec![], vec![]), None);
    }

    #[test]
    fn reads_a_line_to_the_nanosecond() {
        let found =
            read_trace(&b"R Hit  2992396   4  13670.00000  35942.1234\r\n\nW Miss 0 1 5 0"[..]);
        let found = found.unwrap();
        let first = Exchange {
            op: Op::Read,
            lbn: Sectors(2_992_396),
            sectors: Sectors(4),
            service: SimSpan::from_us(13_670),
            think: SimSpan::from_ns(35_942_123),
        };
        assert_eq!((found[0], found.len()), (first, 2));
        assert_eq!(found[1].service, SimSpan::from_us(5));
    }

    #[test]
    fn names_line_and_field_of_a_fault() {
        let fault = |text: &str| read_trace(text.as_bytes()).unwrap_err().to_string();
        let good = "R Hit 8 8 100 200\n";
        let found = fault(&format!("{good}X Hit 8 8 100 200"));
        assert!(found.starts_with("line 2: the direction is `X`"), "{found}");
        let found = fault(&format!("{good}{good}R Hit 8 eight 100 200"));
        assert!(found.starts_with("line 3: the number of sectors is `eight`"), "{found}");
        let found = fault("R Hit 8 8 100");
        assert!(found.starts_with("line 1: the time to the next request is missing"), "{found}");
        let found = fault("R Hit 8 8 -1 100");
        assert!(found.starts_with("line 1: the service time is `-1`"), "{found}");
        let found = fault(&"\u{1b}".repeat(5000));
        assert!(
            found.starts_with(&format!("line 1: the direction is `{}...`", "\u{fffd}".repeat(40)))
        );
        let found = fault("R Hit 8 0 1 100");
        assert!(found.starts_with("line 1: the number of sectors is `0`"), "{found}");
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_trace(&bytes[..]);
        }

        #[test]
        fn no_line_like_text_does(text in "([RW] [a-z]{1,4}( [0-9.e-]{0,25}){0,6}\n){0,4}") {
            let _ = read_trace(text.as_bytes());
        }
    }
}
