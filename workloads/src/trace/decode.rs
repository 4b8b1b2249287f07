//! From lines and records to requests: the parts common to all formats.

use foretell_units::{Bytes, SimTime};

use super::error::{Fault, FoundContent, Place, TraceError};
use super::input::{Input, Line};
use crate::{Access, Op};

/// The largest request: no block device accepts a larger one.
const MAX_SIZE: u64 = 1 << 32;

/// A request as read from a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw {
    /// Time on the trace's own clock, in the format's unit.
    pub(super) ticks: Option<u64>,
    pub(super) op: Op,
    /// In bytes.
    pub(super) offset: u64,
    /// In bytes.
    pub(super) size: u64,
}

/// The content of a line.
pub(super) enum Parsed {
    /// A request.
    Request(Raw),
    /// Nothing, correctly: a header or a comment.
    Nothing,
    /// Something that was not requested: another device, or an operation without data.
    Other,
}

/// A validated request, and its time.
#[derive(Clone, Copy)]
pub(super) struct Decoded {
    pub(super) ticks: Option<u64>,
    pub(super) access: Access,
}

impl Raw {
    /// The request, if its size and end are possible.
    #[inline]
    fn checked<'l>(self) -> Result<Decoded, Fault<'l>> {
        let Self { ticks, op, offset, size } = self;
        if size == 0 {
            let found = FoundContent::Number(0);
            return Err(Fault { field: "size", found, wanted: "at least 1 byte" });
        }
        if size > MAX_SIZE {
            let found = FoundContent::Number(size);
            return Err(Fault { field: "size", found, wanted: "at most 4 GiB" });
        }
        if offset.checked_add(size).is_none() {
            let found = FoundContent::Sum(offset, size);
            return Err(Fault { field: "end", found, wanted: "an address below 2^64 bytes" });
        }
        Ok(Decoded { ticks, access: Access { op, offset: Bytes(offset), size: Bytes(size) } })
    }
}

/// Counts of records that were left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Tally {
    /// Whether bad records are left out and counted. Otherwise the first one ends the trace.
    pub(super) skip_bad: bool,
    pub(super) bad: u64,
    pub(super) other: u64,
}

/// The decoder of a format, with its state.
pub(super) trait Decoder: Send {
    /// The next request; `None` at the end.
    fn next(&mut self, input: &mut Input, tally: &mut Tally)
    -> Result<Option<Decoded>, TraceError>;

    /// Nanoseconds in the format's unit of time.
    fn tick_ns(&self) -> u64;

    /// Actions of lines that would be requests with another choice of the action, and the number of lines of each.
    fn other_actions(&self) -> &[(String, u64)] {
        &[]
    }
}

/// A text format with one request per line.
pub(super) trait LineFormat: Send {
    /// Nanoseconds in the unit of [`Raw::ticks`].
    const TICK_NS: u64;

    /// Parses a line that is not blank.
    fn parse<'l>(&mut self, line: &'l [u8]) -> Result<Parsed, Fault<'l>>;

    /// As in [`Decoder::other_actions`].
    fn other_actions(&self) -> &[(String, u64)] {
        &[]
    }
}

/// Decodes a text format. Blank lines are skipped.
pub(super) struct Lines<F> {
    format: F,
    line: u64,
}

impl<F: LineFormat> Lines<F> {
    pub(super) fn new(format: F) -> Self {
        Self { format, line: 0 }
    }
}

impl<F: LineFormat> Decoder for Lines<F> {
    fn next(
        &mut self,
        input: &mut Input,
        tally: &mut Tally,
    ) -> Result<Option<Decoded>, TraceError> {
        loop {
            let line = match input.line()? {
                Line::Here(line) => line,
                Line::End => return Ok(None),
                Line::TooLong => {
                    self.line += 1;
                    if tally.skip_bad {
                        // a line may be endless: the rest is read only if the line is skipped
                        input.skip_line()?;
                        tally.bad += 1;
                        continue;
                    }
                    let trace = input.name().to_owned();
                    return Err(TraceError::LongLine { trace, line: self.line });
                }
            };
            self.line += 1;
            let line = input.bytes(line);
            if line.trim_ascii_start().is_empty() {
                continue;
            }
            let fault = match self.format.parse(line) {
                Ok(Parsed::Request(raw)) => match raw.checked() {
                    Ok(decoded) => return Ok(Some(decoded)),
                    Err(fault) => fault,
                },
                Ok(Parsed::Nothing) => continue,
                Ok(Parsed::Other) => {
                    tally.other += 1;
                    continue;
                }
                Err(fault) => fault,
            };
            if !tally.skip_bad {
                return Err(fault.at(input.name(), Place::Line(self.line)));
            }
            tally.bad += 1;
        }
    }

    fn tick_ns(&self) -> u64 {
        F::TICK_NS
    }

    fn other_actions(&self) -> &[(String, u64)] {
        self.format.other_actions()
    }
}

/// A binary format of records of `N` bytes.
pub(super) trait RecordFormat<const N: usize>: Send {
    /// Nanoseconds in the unit of [`Raw::ticks`].
    const TICK_NS: u64;

    /// Parses a record.
    fn parse(&self, record: &[u8; N]) -> Result<Raw, Fault<'static>>;
}

/// Decodes a binary format.
pub(super) struct Records<F, const N: usize> {
    format: F,
    number: u64,
}

impl<F: RecordFormat<N>, const N: usize> Records<F, N> {
    pub(super) fn new(format: F) -> Self {
        Self { format, number: 0 }
    }
}

impl<F: RecordFormat<N>, const N: usize> Decoder for Records<F, N> {
    fn next(
        &mut self,
        input: &mut Input,
        tally: &mut Tally,
    ) -> Result<Option<Decoded>, TraceError> {
        loop {
            let Some(record) = input.window().first_chunk::<N>() else {
                if input.fill()? {
                    continue;
                }
                let left = input.window().len();
                if left == 0 {
                    return Ok(None);
                }
                let (number, offset) = (self.number + 1, input.offset());
                input.consume(left);
                if tally.skip_bad {
                    tally.bad += 1;
                    return Ok(None);
                }
                let trace = input.name().to_owned();
                return Err(TraceError::Truncated { trace, number, offset, left, wanted: N });
            };
            let parsed = self.format.parse(record).and_then(Raw::checked);
            self.number += 1;
            match parsed {
                Ok(decoded) => {
                    input.consume(N);
                    return Ok(Some(decoded));
                }
                Err(_) if tally.skip_bad => tally.bad += 1,
                Err(fault) => {
                    let place = Place::Record { number: self.number, offset: input.offset() };
                    return Err(fault.at(input.name(), place));
                }
            }
            input.consume(N);
        }
    }

    fn tick_ns(&self) -> u64 {
        F::TICK_NS
    }
}

/// The time of a trace: since its first request, never decreasing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    tick_ns: u64,
    /// The first time, on the trace's own clock.
    first: Option<u64>,
    last: SimTime,
    out_of_order: u64,
}

impl Clock {
    pub(super) fn new(tick_ns: u64) -> Self {
        Self { tick_ns, ..Self::default() }
    }

    /// The same clock; time starts at zero on the trace's own clock.
    pub(super) fn starting_at_zero(self) -> Self {
        Self { first: Some(0), ..self }
    }

    /// Time of issue of the request with these `ticks`: not before that of the previous request.
    ///
    /// Real traces have decreasing times if several CPUs log, or if completions are logged. The
    /// order of the file is kept, and the time is held at the latest so far. This is the smallest
    /// shift that keeps times in order. More than 2⁶⁴ ns (584 years) after the first request, time
    /// stops.
    #[inline]
    pub(super) fn at(&mut self, ticks: u64) -> SimTime {
        let first = *self.first.get_or_insert(ticks);
        let since = ticks.saturating_sub(first).saturating_mul(self.tick_ns);
        let at = SimTime::from_ns(since);
        if at < self.last || ticks < first {
            self.out_of_order += 1;
        } else {
            self.last = at;
        }
        self.last
    }

    /// Number of requests whose time was before that of an earlier one.
    pub(super) fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// The first request's time on the trace's own clock, in nanoseconds.
    pub(super) fn origin_ns(&self) -> Option<u128> {
        self.first.map(|ticks| u128::from(ticks) * u128::from(self.tick_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_starts_at_the_first_request_and_never_runs_backwards() {
        let mut clock = Clock::new(1_000);
        // 50 µs is the origin; 45 lies before it, and 60 and 55 are in the wrong order
        let at: Vec<u64> = [50, 45, 60, 55, 60, 61].map(|us| clock.at(us).as_ns()).to_vec();
        assert_eq!(at, [0, 0, 10_000, 10_000, 10_000, 11_000]);
        assert_eq!(clock.out_of_order(), 2);
        assert_eq!(clock.origin_ns(), Some(50_000));
        assert_eq!(clock.at(u64::MAX), SimTime::MAX);
    }
}
