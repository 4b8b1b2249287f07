//! Summarises a trace in one pass.

use std::path::Path;

use foretell_units::{Bytes, SimTime};

use super::{Format, ReadOptions, TraceError, TraceReader};
use crate::Op;

/// The summary of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceSummary {
    /// Its format, given or detected.
    pub format: Format,
    /// Number of requests.
    pub requests: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Bytes read and written; limited to 2⁶⁴ − 1.
    pub bytes: Bytes,
    /// The largest request.
    pub largest: Bytes,
    /// The first request's time on the trace's own clock, in nanoseconds; `None`: no times.
    pub origin_ns: Option<u128>,
    /// Time of the first request that has one: zero.
    pub first: Option<SimTime>,
    /// Time of the last request, since the first.
    pub last: Option<SimTime>,
    /// The lowest byte requested; zero without requests.
    pub lowest: Bytes,
    /// The byte after the highest requested: the minimum size of a volume.
    pub highest: Bytes,
    /// Number of requests whose time was before that of an earlier one. They keep their place in
    /// the order and get the latest time so far.
    pub out_of_order: u64,
    /// Number of bad lines and records left out.
    pub bad: u64,
    /// Number of good lines left out, because they move no data or were not requested.
    pub other: u64,
}

/// Reads the trace at `path` to its end and summarises it.
///
/// # Errors
///
/// As with [`TraceReader`]: if it cannot be read, or contains something bad that is not to be
/// skipped.
pub fn scan(path: &Path, options: &ReadOptions) -> Result<TraceSummary, TraceError> {
    summarize(TraceReader::open(path, options)?)
}

/// Reads a trace to its end and summarises it.
///
/// # Errors
///
/// As with [`scan`].
pub fn summarize(mut trace: TraceReader) -> Result<TraceSummary, TraceError> {
    let (mut requests, mut reads, mut bytes, mut largest) = (0, 0, 0_u64, Bytes::ZERO);
    let (mut lowest, mut highest) = (Bytes(u64::MAX), Bytes::ZERO);
    let (mut first, mut last) = (None, None);
    for request in &mut trace {
        let request = request?;
        let access = request.access;
        requests += 1;
        reads += u64::from(access.op == Op::Read);
        bytes = bytes.saturating_add(access.size.get());
        largest = largest.max(access.size);
        lowest = lowest.min(access.offset);
        highest = highest.max(access.end());
        first = first.or(request.at);
        last = request.at.or(last);
    }
    Ok(TraceSummary {
        format: trace.format(),
        requests,
        reads,
        writes: requests - reads,
        bytes: Bytes(bytes),
        largest,
        origin_ns: trace.origin_ns(),
        first,
        last,
        lowest: if requests == 0 { Bytes::ZERO } else { lowest },
        highest,
        out_of_order: trace.out_of_order(),
        bad: trace.bad(),
        other: trace.other(),
    })
}
