//! Tests of the readers with real traces: exact counts, and agreement of three formats of one trace.

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};

use foretell_test_data::shared as data;
use foretell_units::{Bytes, SECTOR_BYTES, SimTime};
use foretell_workloads::trace::{Format, ReadOptions, TraceReader, TraceSummary, scan, summarize};
use foretell_workloads::{Op, Request};

fn read(path: &Path) -> Vec<Request> {
    let trace = TraceReader::open(path, &ReadOptions::default()).unwrap();
    trace.collect::<Result<_, _>>().unwrap()
}

fn summary(path: &Path) -> TraceSummary {
    scan(path, &ReadOptions::default()).unwrap()
}

#[test]
fn golden_cloudphysics_csv() {
    let Some(path) = data("traces/cloudPhysicsIO.csv") else { return };
    let found = summary(&path);
    // counted with another program: requests, operations, sum and maximum of the sizes, range of the
    // addresses, lines whose time is before the latest so far
    let expected = TraceSummary {
        format: Format::Csv,
        requests: 113_872,
        reads: 46_974,
        writes: 66_898,
        bytes: Bytes(4_205_978_112),
        largest: Bytes(69_632),
        origin_ns: Some(5_633_898_000_000_000),
        first: Some(SimTime::ZERO),
        last: Some(SimTime::from_ns(7_200 * 1_000_000_000)),
        lowest: Bytes(15_943 * SECTOR_BYTES),
        highest: Bytes(33_584_938_496),
        out_of_order: 0,
        bad: 0,
        other: 0,
    };
    assert_eq!(found, expected);
}

#[test]
fn three_formats_of_one_trace_agree() {
    let Some(csv) = data("traces/cloudPhysicsIO.csv") else { return };
    let oracle = data("traces/cloudPhysicsIO.oracleGeneral.bin").expect("it stands beside");
    let vscsi = data("traces/cloudPhysicsIO.vscsi").expect("it stands beside");
    let [csv, oracle, vscsi] = [csv, oracle, vscsi].map(|path| read(&path));
    assert_eq!((oracle.len(), vscsi.len()), (csv.len(), csv.len()));
    let mut first_sizes = BTreeMap::new();
    let mut changed = 0;
    for ((a, b), c) in csv.iter().zip(&oracle).zip(&vscsi) {
        assert_eq!(a.access, c.access);
        assert_eq!(a.access.offset, b.access.offset);
        // oracleGeneral keeps the size of the first request of each object
        let first_size = *first_sizes.entry(a.access.offset).or_insert(a.access.size);
        assert_eq!(b.access.size, first_size);
        changed += u64::from(a.access.size != first_size);
        assert_eq!(b.access.op, Op::Read, "oracleGeneral does not tell reads from writes");
        // Seconds since the first second, and µs since the first request: at most a second apart in either
        // direction, where times do not decrease.
        let (a, b, c) = (a.at.unwrap(), b.at.unwrap(), c.at.unwrap());
        assert_eq!(a, b);
        let apart = a.saturating_since(c).max(c.saturating_since(a));
        assert!(apart.as_ns() <= 1_000_000_000, "{a} and {c}");
    }
    assert_eq!(changed, 13_671, "requests whose size is not that of their object's first");
}

#[test]
fn golden_block_lists() {
    for (name, requests) in
        [("sprite", 133_996), ("multi1", 15_858), ("2_pools", 100_000), ("loop", 505_500)]
    {
        let Some(path) = data(&format!("traces/{name}.trace.gz")) else { return };
        let found = summary(&path);
        assert_eq!(found.format, Format::BlockList);
        assert_eq!((found.requests, found.reads, found.bad), (requests, requests, 0), "{name}");
        assert_eq!(found.bytes, Bytes::kib(4) * requests);
        assert_eq!((found.first, found.origin_ns), (None, None), "there are no times");
    }
}

#[test]
fn golden_fio_iolog() {
    let Some(path) = data("fio/sample_v3.iolog") else { return };
    let found = summary(&path);
    assert_eq!(found.format, Format::FioIolog);
    assert_eq!((found.requests, found.reads), (7_652, 5_298));
    assert_eq!((found.bytes, found.largest), (Bytes(268_447_744), Bytes(65_536)));
    assert_eq!((found.lowest, found.highest), (Bytes(167_936), Bytes(268_435_456)));
    // from 830 µs to 333 064 µs after the start
    assert_eq!(found.origin_ns, Some(830_000));
    assert_eq!(found.last, Some(SimTime::from_ns(332_234_000)));
    assert_eq!(found.out_of_order, 0);
}

#[test]
fn compression_changes_nothing() {
    let Some(path) = data("traces/cloudPhysicsIO.csv") else { return };
    let plain = std::fs::read(&path).unwrap();
    let expected = summary(&path);
    // two gzip members, as `cat a.gz b.gz` makes, and zstd
    let (first, second) = plain.split_at(plain.len() / 2);
    let mut gzip = Vec::new();
    for part in [first, second] {
        let mut encoder = flate2::write::GzEncoder::new(&mut gzip, flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap();
    }
    let zstd = zstd::encode_all(&plain[..], 1).unwrap();
    for compressed in [gzip, zstd] {
        let source = Cursor::new(compressed);
        let trace = TraceReader::new("compressed", source, &ReadOptions::default()).unwrap();
        assert_eq!(summarize(trace).unwrap(), expected);
    }
}

#[test]
fn a_cut_compressed_file_is_an_error() {
    let Some(path) = data("traces/loop.trace.gz") else { return };
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.truncate(bytes.len() / 2);
    let trace = TraceReader::new("cut.gz", Cursor::new(bytes), &ReadOptions::default()).unwrap();
    let error = summarize(trace).unwrap_err().to_string();
    assert!(error.starts_with("cannot read trace `cut.gz` after byte "), "{error}");
}

#[test]
fn oracle_fast_csv_agrees_with_the_naive_reader() {
    let Some(path) = data("traces/cloudPhysicsIO.csv") else { return };
    let text = std::fs::read_to_string(&path).unwrap();
    let naive = text.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let op = if fields[2] == "28" { Op::Read } else { Op::Write };
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        (op, number(4) * SECTOR_BYTES, number(3))
    });
    let fast = read(&path);
    assert!(naive.eq(fast.iter().map(|request| {
        let access = request.access;
        (access.op, access.offset.get(), access.size.get())
    })));
}

#[test]
fn every_fio_result_is_read_whole() {
    use foretell_workloads::results::fio::parse;
    let Some(dir) = data("fio/randrw-interleaved") else { return };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 120);
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let jobs = parse(name, &text).unwrap().runs.remove(0).jobs;
        let (job, ignored) = jobs[0].job().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(ignored.is_empty(), "{name}: {ignored:?}");
        // cN-BS-R: cycle, block size, percentage of reads
        let mut parts = name.split('-');
        let (block, reads) = (parts.nth(1).unwrap(), parts.next().unwrap().parse::<f64>().unwrap());
        assert_eq!(
            Some(job.sizes[0].largest()),
            foretell_workloads::fio::quantity::size(block),
            "{name}"
        );
        assert!((job.read_share * 100.0 - reads).abs() < 1e-9, "{name}: {}", job.read_share);
        assert_eq!(job.iodepth, 16, "{name}");
        let ways = if reads > 0.0 && reads < 100.0 { 2 } else { 1 };
        assert_eq!(jobs[0].measured.len(), ways, "{name}");
        for measured in &jobs[0].measured {
            // the rate is the count divided by the time that fio gives, in ms
            let rate = measured.requests as f64 / (measured.runtime_ms as f64 / 1e3);
            assert!(
                (measured.iops / rate - 1.0).abs() < 1e-3,
                "{name}: {} and {rate}",
                measured.iops
            );
            assert!(measured.mean_ms > 0.0 && measured.max_ms >= measured.mean_ms, "{name}");
            assert!(measured.percentiles_ms.len() > 10, "{name}");
        }
    }
}
