//! Rates per CPU-second of this process: trace records read, addresses drawn.
//!
//! `cargo bench -p foretell-workloads`. Each figure is the best of several runs, with its target
//! beside it. Traces are read from memory, so the disk has no influence.

use std::hint::black_box;
use std::io::{Cursor, Write};
use std::time::Duration;

use cpu_time::ProcessTime;
use foretell_units::{Bytes, Seed};
use foretell_workloads::generate::{Generator, Pattern, Ssio, Zipf};
use foretell_workloads::trace::{Format, ReadOptions, TraceReader, summarize};

/// Runs of each benchmark. The best counts, because other processes can only slow it down.
const RUNS: usize = 5;

/// Prints how many of `count` items `work` handles in a CPU-second.
fn measure(name: &str, target: &str, count: u64, mut work: impl FnMut()) {
    let once = |work: &mut dyn FnMut()| {
        let start = ProcessTime::now();
        work();
        start.elapsed()
    };
    let best = (0..RUNS).map(|_| once(&mut work)).min().expect("there are runs");
    let rate = count as f64 / best.max(Duration::from_micros(1)).as_secs_f64();
    println!("{name:<44} {:>9.2} M/s  {:>7.1} ns  {target}", rate / 1e6, 1e9 / rate);
}

/// Repeatable, scattered numbers.
fn scatter(index: u64) -> u64 {
    index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 38
}

fn csv(lines: u64) -> Vec<u8> {
    let mut text = b"version,time,op,size,lbn\n".to_vec();
    for index in 0..lines {
        let op = if index % 3 == 0 { "28" } else { "2a" };
        let time = 5_633_898 + index / 16;
        writeln!(text, "1,{time},{op},4096,{}", scatter(index)).expect("memory");
    }
    text
}

fn block_list(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 0..lines {
        writeln!(text, "{}", scatter(index)).expect("memory");
    }
    text
}

fn vscsi(records: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for index in 0..records {
        bytes.extend((index as u32).to_le_bytes());
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend([0x2a, 0, 0, 1]);
        bytes.extend(scatter(index).to_le_bytes());
        bytes.extend((index * 60).to_le_bytes());
    }
    bytes
}

fn msr(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 0..lines {
        let time = 128_166_372_003_061_629 + index * 600;
        writeln!(text, "{time},hm,1,Read,{},4096,413", scatter(index) * 512).expect("memory");
    }
    text
}

fn spc(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 0..lines {
        writeln!(text, "0,{},3584,w,{}.026214", scatter(index), index / 16).expect("memory");
    }
    text
}

fn alibaba(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 0..lines {
        let time = 1_577_808_144_360_767 + index * 60;
        writeln!(text, "419,W,{},16384,{time}", scatter(index) * 512).expect("memory");
    }
    text
}

fn tencent(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 0..lines {
        let time = 1_538_323_200 + index / 16;
        writeln!(text, "{time},{},8,0,1063", scatter(index)).expect("memory");
    }
    text
}

fn blkparse(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 0..lines {
        let (seconds, ns, lbn) = (index / 16_000, index % 16_000 * 62_500, scatter(index));
        let before = format!("  8,0    3 {index:>8} {seconds:>5}.{ns:09}");
        writeln!(text, "{before}   697  Q  WS {lbn} + 8 [kjournald]").expect("memory");
    }
    text
}

fn disksim(lines: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for index in 0..lines {
        writeln!(text, "{}.{:06} 0 {} 8 1", index / 16, index % 16 * 62_500, scatter(index))
            .expect("memory");
    }
    text
}

fn fio_iolog(lines: u64) -> Vec<u8> {
    let mut text = b"fio version 3 iolog\n".to_vec();
    for index in 0..lines {
        let offset = scatter(index) * 512;
        writeln!(text, "{} /data/testfile.bin read {offset} 4096", index * 60).expect("memory");
    }
    text
}

fn oracle_general(records: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for index in 0..records {
        bytes.extend((index as u32 / 16).to_le_bytes());
        bytes.extend(scatter(index).to_le_bytes());
        bytes.extend(4096_u32.to_le_bytes());
        bytes.extend((-1_i64).to_le_bytes());
    }
    bytes
}

/// Makes a trace of that many requests.
type Make = fn(u64) -> Vec<u8>;

fn traces() {
    let count = 2_000_000;
    let cases: [(Format, &str, Make); 11] = [
        (Format::Csv, "target 3 M/s", csv),
        (Format::Msr, "target 3 M/s", msr),
        (Format::Alibaba, "target 3 M/s", alibaba),
        (Format::Tencent, "target 3 M/s", tencent),
        (Format::Spc, "target 3 M/s", spc),
        (Format::FioIolog, "target 3 M/s", fio_iolog),
        (Format::Blkparse, "target 3 M/s", blkparse),
        (Format::DiskSim, "target 3 M/s", disksim),
        (Format::BlockList, "target 3 M/s", block_list),
        (Format::Vscsi, "target 20 M/s", vscsi),
        (Format::OracleGeneral, "target 20 M/s", oracle_general),
    ];
    for (format, target, make) in cases {
        let bytes: &'static [u8] = make(count).leak();
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        measure(&format!("read {format}"), target, count, || {
            let trace = TraceReader::new("bench", Cursor::new(bytes), &options).unwrap();
            assert_eq!(summarize(trace).unwrap().requests, count);
        });
    }
}

fn addresses() {
    let count = 5_000_000;
    let mut stream = Seed(1).stream("bench");
    let mut sum = 0_u64;
    for (population, alpha) in [(1_000, 0.99), (1 << 20, 0.8), (1 << 40, 0.8), (1 << 40, 1.2)] {
        let zipf = Zipf::new(population, alpha).unwrap();
        measure(&format!("zipf {alpha} of {population}"), "", count, || {
            for _ in 0..count {
                sum = sum.wrapping_add(zipf.draw(&mut stream));
            }
        });
        let inverting = rand_distr::Zipf::new(population as f64, alpha).unwrap();
        measure(&format!("  the same by rand_distr {alpha}"), "", count / 10, || {
            for _ in 0..count / 10 {
                sum = sum.wrapping_add(stream.sample(&inverting) as u64);
            }
        });
    }
    let patterns = [
        ("sequential", Pattern::Sequential),
        ("random", Pattern::Random),
        ("zipf 0.9", Pattern::Zipf { alpha: 0.9 }),
        ("hot-cold", Pattern::HotCold { fraction: 0.2, share: 0.8 }),
        ("strided", Pattern::Strided { step: Bytes::mib(1) }),
    ];
    for (name, pattern) in patterns {
        let mut generator =
            Ssio::new(0.7, pattern).over(Bytes::gib(100), Seed(1).stream("bench")).unwrap();
        measure(&format!("ssio {name}"), "", count, || {
            for _ in 0..count {
                sum = sum.wrapping_add(generator.next().offset.get());
            }
        });
    }
    black_box(sum);
}

fn main() {
    traces();
    addresses();
}
