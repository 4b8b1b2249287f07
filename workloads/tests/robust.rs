//! Tests of readers of benchmarks' own files with invalid input: ten million random bytes for each,
//! in texts of all lengths, and damaged good files. There must be no panic, no exhaustion of memory
//! and no endless loop.

use foretell_units::{Seed, Stream};
use foretell_workloads::cosbench::Workload;
use foretell_workloads::fio::JobFile;
use foretell_workloads::results::fio;
use proptest::prelude::*;

/// Number of random bytes for each reader.
const BYTES: usize = 10_000_000;

const JOBS: &str = "[global]\nioengine=libaio\nbs=4k,64k\nsize=1g\n[a]\nrw=randrw\nrwmixread=70\n\
                    iodepth=16\nbssplit=4k/60:64k/40\nrandom_distribution=zoned:60/10:40/90\n[b]\n\
                    rw=write\nbsrange=4k-16k\nrate=1m\nthinktime=5ms\nnumjobs=4\nstonewall\n";

const RESULT: &str = r#"{ "fio version" : "fio-3.33", "jobs" : [ { "jobname" : "a", "groupid" : 0,
 "error" : 0, "job options" : { "rw" : "randrw", "bs" : "4k", "iodepth" : "16" },
 "read" : { "io_bytes" : 40960, "total_ios" : 10, "iops" : 3.5, "bw_bytes" : 14336, "runtime" : 2800,
  "lat_ns" : { "mean" : 1000.5, "stddev" : 1.0, "max" : 2000 },
  "clat_ns" : { "mean" : 900.0, "percentile" : { "1.000000" : 100, "99.000000" : 1900 } } },
 "write" : { "total_ios" : 3, "iops" : 1.5, "lat" : { "mean" : 4.0 } } } ],
 "disk_util" : [ { "name" : "vda" } ] }"#;

const WORKLOAD: &str = r#"<?xml version="1.0"?>
<workload name="small"><storage type="s3" config="a=b" /><workflow>
 <workstage name="init"><work type="init" workers="1" config="cprefix=x;containers=r(1,2)" /></workstage>
 <workstage name="main" closuredelay="2"><work name="main" workers="4" rampup="1" runtime="2">
  <operation type="read" ratio="80" config="containers=u(1,2);objects=u(1,10)" />
  <operation type="write" ratio="20" config="containers=c(1);objects=s(1,9);sizes=h(1|4|80,5|9|20)KB" />
 </work></workstage></workflow></workload>
"#;

/// Reads a text in every supported way. Returns whether it was valid.
type Reader = fn(&str) -> bool;

const READERS: [(&str, &str, Reader); 3] = [
    ("fio job file", JOBS, |text| JobFile::parse(text).is_ok()),
    ("fio result", RESULT, |text| {
        // a valid result must also allow its jobs to be examined
        fio::parse("noise", text).is_ok_and(|results| {
            results.runs.iter().flat_map(|run| &run.jobs).all(|job| job.job().is_ok())
        })
    }),
    ("COSBench workload", WORKLOAD, |text| Workload::parse(text).is_ok()),
];

/// Typical pieces of such files, so that noise gets past the first byte.
const PIECES: &[&str] = &[
    "\n",
    " ",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "\"",
    "=",
    "<",
    ">",
    "/>",
    "</",
    "<!--",
    "-->",
    "0",
    "9",
    "1e9",
    "-1",
    "4k",
    "100",
    "null",
    "rw",
    "bs",
    "[a]\n",
    "rw=",
    "bssplit=",
    "jobs",
    "read",
    "\"jobs\":[",
    "<workload name=\"a\">",
    "<workflow>",
    "<workstage>",
    "<work workers=\"1\">",
    "config=\"",
    "objects=u(1,",
    ";",
    "(",
    ")",
    "randread",
    "iodepth=",
    "\u{fffd}",
];

/// A text of about `bytes` random bytes, or of typical pieces.
fn noise(stream: &mut Stream, bytes: usize, pieces: bool) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        if pieces {
            text += PIECES[stream.below(PIECES.len() as u64) as usize];
        } else {
            let eight = stream.bits().to_le_bytes();
            text += &String::from_utf8_lossy(&eight);
        }
    }
    text
}

#[test]
fn the_good_files_are_good() {
    for (name, good, reader) in READERS {
        assert!(reader(good), "{name}");
    }
}

#[test]
fn ten_million_random_bytes_are_read_to_an_end_by_every_reader() {
    for (name, good, reader) in READERS {
        let mut stream = Seed(9).stream(name);
        let mut left = BYTES;
        // one text is long, the others are short, so that many beginnings are tried
        for pieces in [false, true] {
            let text = noise(&mut stream, BYTES / 10, pieces);
            left -= BYTES / 10;
            assert!(!reader(&text), "{name}: noise was read");
        }
        while left > 0 {
            let length = 1 + stream.below(4096) as usize;
            let pieces = stream.chance(0.5);
            let text = noise(&mut stream, length.min(left), pieces);
            left -= length.min(left);
            reader(&text);
            // and noise in the middle of a good text, which is ASCII
            let cut = stream.below(good.len() as u64) as usize;
            let piece: String = text.chars().take(24).collect();
            reader(&format!("{}{piece}{}", &good[..cut], &good[cut..]));
        }
    }
}

#[test]
fn many_elements_take_no_more_than_their_number() {
    // a million elements: a reader that looks back at each of them would not finish
    let text = format!("<workload>{}</workload>", "<a/>\n".repeat(1_000_000));
    assert!(Workload::parse(&text).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn damaged_files_are_read_or_refused(
        which in 0..READERS.len(),
        at in any::<prop::sample::Index>(),
        length in 0..40_usize,
        new in "[ -~\n]{0,12}|.{0,6}",
    ) {
        let (_, good, reader) = READERS[which];
        let begin = at.index(good.len());
        let end = (begin + length).min(good.len());
        // the good text is ASCII
        reader(&format!("{}{new}{}", &good[..begin], &good[end..]));
    }
}
