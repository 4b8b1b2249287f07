//! Tests of every reader with corrupt input: no panic, no endless loop, no growing memory.

use std::io::{self, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use proptest::prelude::*;

use super::test::{oracle_record, text, vscsi1_record, vscsi2_record};
use super::{Format, ReadOptions, TraceError, TraceReader};
use crate::Request;

/// A good trace in each format, with its content described.
fn good(format: Format) -> Vec<u8> {
    match format {
        Format::Csv => {
            b"version,time,op,size,lbn\n1,10,2a,512,7\n1,11.5,28,4096,8\r\n\n1,9,88,512,\
                         36028797018963966\n1,12,0a,1,0"
                .to_vec()
        }
        Format::OracleGeneral => [
            oracle_record(10, 7, 512, 3),
            oracle_record(11, 8, 4096, -1),
            oracle_record(9, 7, 512, -1),
        ]
        .concat(),
        Format::Vscsi => [
            vscsi1_record(0x2a, 512, 7, 10),
            vscsi1_record(0x28, 4096, 8, 11),
            vscsi1_record(0x28, 512, 9, 5),
        ]
        .concat(),
        Format::Msr => b"128166372003061629,hm,1,Read,383496192,32768,413\n\
                         128166372003061630,hm,0,Write,310874112,4096,413\n"
            .to_vec(),
        Format::Alibaba => b"419,W,8792731648,16384,1577808144360767\n\
                             725,R,59110326272,360448,1577808144360813\n"
            .to_vec(),
        Format::Tencent => {
            b"1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n".to_vec()
        }
        Format::Spc => b"0,303567,3584,w,0.0\n1,55590,3072,W,0.01\n0,1,0,w,0.02\n".to_vec(),
        Format::FioIolog => b"fio version 3 iolog\n19 /a add\n826 /a open\n830 /a read 161 12288\n\
                              923 /a write 0 4096\n924 /a sync 0 0\n930 /a close\n"
            .to_vec(),
        Format::Blkparse => b"  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [k]\n  \
                              8,16   3        3     0.000002197   697  Q RAM 1000 + 16 [cat]\n  \
                              8,0    1        7     0.000011000   697  Q FWS [jbd2/sda]\nCPU0\n"
            .to_vec(),
        Format::DiskSim => {
            b"13.191135 30 7 5 1\n17.829285\t20 576560 6 0\n24.3 17 0 24 11\n".to_vec()
        }
        Format::Foretell => {
            b"time_ns,op,offset,size\n5,R,0,512\n,W,7,1\n\n9,W,1024,4096\n".to_vec()
        }
        Format::BlockList => b"1\n*\n22\r\n333\n\n4503599627370494\n* end\n5".to_vec(),
    }
}

/// All good traces, with both versions of vscsi and of fio's iolog.
fn all_good() -> Vec<(Format, Vec<u8>)> {
    let waits = b"fio version 2 iolog\n/a add\n/a read 0 512\n/a wait 500 0\n/a write 1 5\n";
    let second = [vscsi2_record(0x2a, 512, 7, 10), vscsi2_record(0x28, 4096, 8, 11)].concat();
    let mut traces: Vec<_> = Format::ALL.map(|format| (format, good(format))).to_vec();
    traces.push((Format::Vscsi, second));
    traces.push((Format::FioIolog, waits.to_vec()));
    traces
}

/// Returns its bytes in pieces of the given sizes, repeatedly, with an interruption in between.
struct Pieces {
    bytes: Cursor<Vec<u8>>,
    sizes: Vec<usize>,
    turn: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.turn += 1;
        if self.turn.is_multiple_of(3) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let size = self.sizes[self.turn % self.sizes.len()].clamp(1, buffer.len());
        self.bytes.read(&mut buffer[..size])
    }
}

/// The outcome of reading a trace: its requests, bad records, and the error that ended it.
#[derive(PartialEq, Debug)]
struct Outcome {
    requests: Vec<Request>,
    bad: u64,
    error: Option<String>,
}

fn outcome(trace: Result<TraceReader, TraceError>, length: usize) -> Outcome {
    let mut requests = Vec::new();
    let mut trace = match trace {
        Ok(trace) => trace,
        Err(error) => {
            return Outcome { requests, bad: 0, error: Some(error.to_string()) };
        }
    };
    let mut error = None;
    for request in &mut trace {
        match request {
            Ok(request) => requests.push(request),
            Err(bad) => error = Some(bad.to_string()),
        }
        assert!(requests.len() <= length, "a request takes at least a byte");
    }
    let accesses = requests.iter().map(|request| request.access);
    assert!(accesses.clone().all(|access| access.size.get() > 0));
    assert!(accesses.clone().all(|access| access.offset.get() <= u64::MAX - access.size.get()));
    assert!(requests.is_sorted_by_key(|request| request.at), "time is never taken back");
    if let Some(error) = &error {
        assert!(error.chars().all(|character| !character.is_control()), "{error:?}");
        assert!(error.len() < 1000, "{error}");
    }
    Outcome { requests, bad: trace.bad(), error }
}

/// Reads all of `bytes`.
fn whole(bytes: &[u8], options: &ReadOptions) -> Outcome {
    outcome(TraceReader::new("x", Cursor::new(bytes.to_vec()), options), bytes.len())
}

/// Reads `bytes` in every way that may make a difference, and compares the outcomes.
fn torture(bytes: &[u8], sizes: &[usize]) {
    let formats = Format::ALL.map(Some).into_iter().chain([None]);
    for format in formats {
        for skip_bad in [false, true] {
            let several = format.is_some_and(Format::has_devices);
            let device = (several && sizes.len().is_multiple_of(2)).then(|| "0".to_owned());
            let options = ReadOptions { format, device, skip_bad, ..ReadOptions::default() };
            let at_once = whole(bytes, &options);
            let bytes_in_pieces =
                Pieces { bytes: Cursor::new(bytes.to_vec()), sizes: sizes.to_vec(), turn: 0 };
            let in_pieces = outcome(TraceReader::new("x", bytes_in_pieces, &options), bytes.len());
            assert_eq!(at_once, in_pieces, "how a file is read must not matter");
            if skip_bad {
                let error = at_once.error.unwrap_or_default();
                let names_one = |word: &str| {
                    let mut after = error.split(word).skip(1);
                    after.any(|after| after.starts_with(|next: char| next.is_ascii_digit()))
                };
                assert!(!names_one("line ") && !names_one("record "), "{error}");
            } else {
                assert_eq!(at_once.bad, 0);
            }
        }
    }
}

/// A way of damaging a good trace.
#[derive(Clone, Debug)]
enum Damage {
    Set(usize, u8),
    Insert(usize, u8),
    Remove(usize, usize),
    Repeat(usize, usize),
    Cut(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    // bytes with a meaning are more likely to do harm
    let byte =
        prop_oneof![any::<u8>(), proptest::sample::select(b"0129,.-+ \t\r\n*#:fRW\0\xff".to_vec())];
    let place = 0..200_usize;
    prop_oneof![
        4 => (place.clone(), byte.clone()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        2 => (place.clone(), byte).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        2 => (place.clone(), 1..20_usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        1 => (place.clone(), 1..20_usize).prop_map(|(at, count)| Damage::Repeat(at, count)),
        1 => place.prop_map(Damage::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    let length = bytes.len();
    let within = |at: usize| at % length.max(1);
    match *damage {
        _ if length == 0 => {}
        Damage::Set(at, byte) => bytes[within(at)] = byte,
        Damage::Insert(at, byte) => bytes.insert(within(at), byte),
        Damage::Remove(at, count) => {
            bytes.drain(within(at)..(within(at) + count).min(length));
        }
        Damage::Repeat(at, count) => {
            let piece = bytes[within(at)..(within(at) + count).min(length)].to_vec();
            bytes.extend(piece);
        }
        Damage::Cut(at) => bytes.truncate(within(at)),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn the_good_traces_are_good_and_detected() {
    for (format, bytes) in all_good() {
        let found = whole(&bytes, &ReadOptions::default());
        assert_eq!(found.error, None, "{format}");
        assert!(found.requests.len() >= 2, "{format}");
        let given = whole(&bytes, &ReadOptions { format: Some(format), ..Default::default() });
        assert_eq!(found, given, "{format} is told by its content");
    }
}

/// Counts the bytes that are read from it.
struct Counted<R>(R, Arc<AtomicU64>);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}

#[test]
fn a_line_without_end_is_refused_in_fixed_memory() {
    let endless = || Cursor::new(b"1,1,28,512,7\n".to_vec()).chain(io::repeat(b'7').take(1 << 24));
    let mut options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
    let mut trace = TraceReader::new("x", endless(), &options).unwrap();
    assert_eq!(text(trace.next().unwrap().unwrap()), "0 read 3584+512");
    assert_eq!(
        trace.next().unwrap().unwrap_err().to_string(),
        "trace `x`, line 2 is longer than 65536 bytes; wanted lines of one request each"
    );
    assert!(trace.next().is_none());
    // the error comes at once: the line is not read to its end, which may be far away
    let read = Arc::new(AtomicU64::new(0));
    let counted = Counted(io::repeat(b'7').take(1 << 40), Arc::clone(&read));
    assert!(TraceReader::new("x", counted, &options).unwrap().next().unwrap().is_err());
    assert!(read.load(Relaxed) < 1 << 20);
    options.skip_bad = true;
    let more = endless().chain(Cursor::new(b"\n1,2,28,512,8\n".to_vec()));
    let mut trace = TraceReader::new("x", more, &options).unwrap();
    assert_eq!(trace.by_ref().map(Result::unwrap).count(), 2);
    assert_eq!(trace.bad(), 1);
}

#[test]
fn a_line_of_the_longest_length_is_read() {
    for (length, fits) in [(65_536, true), (65_537, false)] {
        for end in ["", "\n", "\n5"] {
            let line = format!("{}17{end}", " ".repeat(length - 2));
            let options = ReadOptions { format: Some(Format::BlockList), ..ReadOptions::default() };
            let found = whole(line.as_bytes(), &options);
            assert_eq!(found.error.is_none(), fits, "{length} {end:?}");
        }
    }
}

/// A given number of random bytes from a generator, never in memory together; `alphabet`: the bytes
/// to choose from, or all.
struct Noise {
    stream: foretell_units::Stream,
    alphabet: &'static [u8],
    left: usize,
}

impl Read for Noise {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(self.left);
        for eight in buffer[..count].chunks_mut(8) {
            for (byte, bits) in eight.iter_mut().zip(self.stream.bits().to_le_bytes()) {
                *byte = match self.alphabet {
                    [] => bits,
                    some => some[usize::from(bits) % some.len()],
                };
            }
        }
        self.left -= count;
        Ok(count)
    }
}

#[test]
fn ten_million_random_bytes_are_read_to_an_end_by_every_reader() {
    const BYTES: usize = 10_000_000;
    let alphabets: [&'static [u8]; 2] = [b"", b"0123456789,. \n\nRWrw-"];
    for format in Format::ALL {
        for alphabet in alphabets {
            // lines or records that are valid by chance may come first; everything else is bad
            let head = good(format);
            let left = BYTES / alphabets.len();
            let stream = foretell_units::Seed(9).stream(format.name());
            let noise = Cursor::new(head).chain(Noise { stream, alphabet, left });
            let options =
                ReadOptions { format: Some(format), skip_bad: true, ..ReadOptions::default() };
            let mut trace = TraceReader::new("noise", noise, &options).unwrap();
            let requests = trace.by_ref().map(Result::unwrap).count();
            assert!(requests >= 2, "{format}: {requests} requests, {} bad", trace.bad());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_read_to_an_end(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..300),
            prop::collection::vec(proptest::sample::select(b"0123456789,. \r\n*aRW-".to_vec()), 0..300),
        ],
        sizes in prop::collection::vec(1..40_usize, 1..5),
    ) {
        torture(&bytes, &sizes);
    }

    #[test]
    fn damaged_traces_are_read_to_an_end(
        which in 0..all_good().len(),
        damages in prop::collection::vec(damage(), 1..6),
        sizes in prop::collection::vec(1..40_usize, 1..5),
    ) {
        let mut bytes = all_good().swap_remove(which).1;
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        torture(&bytes, &sizes);
    }

    #[test]
    fn damaged_compressed_traces_are_read_to_an_end(
        which in 0..all_good().len(),
        zipped in any::<bool>(),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let (_, bytes) = all_good().swap_remove(which);
        let mut bytes = if zipped { gzip(&bytes) } else { zstd::encode_all(&bytes[..], 1).unwrap() };
        for damage in &damages {
            apply(&mut bytes, damage);
        }
        // A damaged length may decompress to more than the original; reading ends all the same.
        let trace = TraceReader::new("x", Cursor::new(bytes), &ReadOptions::default());
        outcome(trace, usize::MAX);
    }
}
