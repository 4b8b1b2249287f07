//! Helper functions for the formats' tests: traces from bytes, requests as text.

use std::io::Cursor;

use super::{Format, ReadOptions, TraceReader};
use crate::Request;

/// A reader of `bytes`.
pub(super) fn reader(format: Format, bytes: &[u8], skip_bad: bool) -> TraceReader {
    let options = ReadOptions { format: Some(format), skip_bad, ..ReadOptions::default() };
    TraceReader::new("test", Cursor::new(bytes.to_vec()), &options).unwrap()
}

/// A request as `nanoseconds read offset+size`, `-` for no time.
pub(super) fn text(request: Request) -> String {
    let at = request.at.map_or_else(|| "-".to_owned(), |at| at.as_ns().to_string());
    let access = request.access;
    format!("{at} {} {}+{}", access.op, access.offset.get(), access.size.get())
}

/// The requests of a good trace.
pub(super) fn list(format: Format, bytes: &[u8]) -> Vec<String> {
    reader(format, bytes, false).map(|request| text(request.unwrap())).collect()
}

/// The requests of one device of a good trace, and the number of lines left out.
pub(super) fn of_device(format: Format, bytes: &[u8], device: &str) -> (Vec<String>, u64) {
    let device = Some(device.to_owned());
    let options = ReadOptions { format: Some(format), device, ..ReadOptions::default() };
    let mut trace = TraceReader::new("test", Cursor::new(bytes.to_vec()), &options).unwrap();
    let requests = trace.by_ref().map(|request| text(request.unwrap())).collect();
    (requests, trace.other())
}

/// The error that ends a bad trace.
pub(super) fn error(format: Format, bytes: &[u8]) -> String {
    let mut trace = reader(format, bytes, false);
    let error = trace.find_map(Result::err).expect("an error").to_string();
    assert!(trace.next().is_none(), "an error ends the trace");
    error
}

/// A record of oracleGeneral.
pub(super) fn oracle_record(time_s: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    let mut record = time_s.to_le_bytes().to_vec();
    record.extend(object.to_le_bytes());
    record.extend(size.to_le_bytes());
    record.extend(next.to_le_bytes());
    record
}

/// A record of vscsi, version 1.
pub(super) fn vscsi1_record(command: u16, length: u32, lbn: u64, time_us: u64) -> Vec<u8> {
    let mut record = 1_u32.to_le_bytes().to_vec();
    record.extend(length.to_le_bytes());
    record.extend(2_u32.to_le_bytes());
    record.extend(command.to_le_bytes());
    record.extend(0x0100_u16.to_le_bytes());
    record.extend(lbn.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    record
}

/// A record of vscsi, version 2.
pub(super) fn vscsi2_record(command: u16, length: u32, lbn: u64, time_us: u64) -> Vec<u8> {
    let mut record = command.to_le_bytes().to_vec();
    record.extend(0x0200_u16.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(length.to_le_bytes());
    record.extend(2_u32.to_le_bytes());
    record.extend(lbn.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    record.extend(9_u64.to_le_bytes());
    record
}
