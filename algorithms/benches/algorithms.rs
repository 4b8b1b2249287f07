//! Measures references, blocks and placements per second of this process's CPU time.
//!
//! `cargo bench -p foretell-algorithms` prints all lines. Words after `--` select the lines that contain one of them.

use std::hint::black_box;

use cpu_time::ProcessTime;
use foretell_algorithms::cache::{Policy, PolicyKind};
use foretell_algorithms::codec::{Cipher, Erasure};
use foretell_algorithms::placement::{Layout, Placement};
use foretell_algorithms::reuse::{ReuseDistances, SampledReuse};
use foretell_units::{Seed, Stream, VolumeId};

/// Number of references in each trace.
const REFERENCES: usize = 10_000_000;

/// The best of three runs, in seconds of CPU time; `prepare` is not timed.
fn best<T>(mut prepare: impl FnMut() -> T, mut run: impl FnMut(&mut T)) -> f64 {
    let once = |_| {
        let mut subject = prepare();
        let start = ProcessTime::now();
        run(&mut subject);
        let seconds = start.elapsed().as_secs_f64();
        black_box(&subject);
        seconds
    };
    (0..3).map(once).fold(f64::INFINITY, f64::min)
}

/// Prints one line, if it was selected.
fn line(name: &str, unit: &str, count: f64, seconds: impl FnOnce() -> f64) {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    if chosen.is_empty() || chosen.iter().any(|word| name.contains(word.as_str())) {
        println!("{name:55} {:8.2} {unit}", count / seconds());
    }
}

/// Objects drawn with probability in proportion to 1 / rank, popular ones scattered over the keys.
fn zipf(objects: u64, references: usize) -> Vec<u64> {
    let mut sum = 0.0;
    let shares: Vec<f64> = (1..=objects)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    let mut stream = Seed(1).stream("zipf");
    let draw = |stream: &mut Stream| {
        let at = stream.unit() * sum;
        let rank = shares.partition_point(|&share| share < at) as u64;
        // an odd factor permutes the numbers modulo 2^20
        rank.wrapping_mul(0x9e37_79b1) & ((1 << 20) - 1)
    };
    (0..references).map(|_| draw(&mut stream)).collect()
}

/// Runs of 8 to 16 consecutive pages from random places, as a storage node sees them.
fn runs(pages: u64, references: usize) -> Vec<u64> {
    let mut stream = Seed(2).stream("runs");
    let mut keys = Vec::with_capacity(references + 16);
    while keys.len() < references {
        // the product of two uniform numbers: some places are more popular
        let start = (stream.unit() * stream.unit() * pages as f64) as u64;
        keys.extend(start..start + 8 + stream.below(9));
    }
    keys.truncate(references);
    keys
}

fn caches() {
    let million = REFERENCES as f64 / 1e6;
    for (trace_name, trace, capacity) in [
        ("zipf 1.0, 10^6 objects, 10 % cached", zipf(1_000_000, REFERENCES), 100_000),
        ("runs of 8-16 pages, 131072 cached", runs(1_000_000, REFERENCES), 131_072),
    ] {
        for &kind in PolicyKind::ALL {
            line(&format!("{kind:8} {trace_name}"), "M references/s", million, || {
                best(
                    || kind.build(capacity),
                    |policy| {
                        for &key in &trace {
                            black_box(policy.access(key));
                        }
                    },
                )
            });
        }
        for &kind in PolicyKind::ALL {
            let name = format!("{kind:8} for pages, {trace_name}");
            line(&name, "M references/s", million, || {
                best(
                    || kind.build_for_pages(capacity),
                    |policy| {
                        for &key in &trace {
                            black_box(policy.access(key));
                        }
                    },
                )
            });
        }
        line(&format!("lru crate {trace_name}"), "M references/s", million, || {
            best(
                || lru::LruCache::new(capacity.try_into().expect("not zero")),
                |cache| {
                    for &key in &trace {
                        if cache.get(&key).is_none() {
                            cache.push(key, ());
                        }
                    }
                },
            )
        });
    }
}

fn reuse() {
    let million = REFERENCES as f64 / 1e6;
    let trace = zipf(1_000_000, REFERENCES);
    line("exact reuse distances, zipf", "M references/s", million, || {
        best(ReuseDistances::new, |reuse| {
            for &key in &trace {
                black_box(reuse.refer(key));
            }
        })
    });
    for rate in [0.1, 0.01] {
        line(&format!("sampled reuse distances, rate {rate}"), "M references/s", million, || {
            best(
                || SampledReuse::fixed_rate(rate),
                |reuse| trace.iter().for_each(|&key| reuse.refer(key)),
            )
        });
    }
    line("sampled reuse distances, 8192 objects", "M references/s", million, || {
        best(
            || SampledReuse::fixed_size(8192),
            |reuse| trace.iter().for_each(|&key| reuse.refer(key)),
        )
    });
}

fn codecs() {
    const BLOCK: usize = 1 << 16;
    const BLOCKS: usize = 4_000;
    let gigabytes = (BLOCK * BLOCKS) as f64 / 1e9;
    let mut stream = Seed(3).stream("block");
    let block: Vec<u8> = (0..BLOCK).map(|_| stream.bits() as u8).collect();
    for encoding in ["1-of-3", "3-of-5", "10-of-14", "5-of-5"] {
        let codec = Erasure::new(encoding.parse().expect("an encoding"));
        let fragments = codec.encode(&block);
        let last: Vec<_> = fragments.iter().enumerate().rev().map(|(i, f)| (i, &f[..])).collect();
        let last = &last[..codec.encoding().m()];
        line(&format!("encode {encoding}, 64 KiB blocks"), "GB/s", gigabytes, || {
            best(|| (), |()| (0..BLOCKS).for_each(|_| drop(black_box(codec.encode(&block)))))
        });
        line(&format!("decode {encoding} with all parity"), "GB/s", gigabytes, || {
            let decode = || drop(black_box(codec.decode(last, BLOCK)));
            best(|| (), |()| (0..BLOCKS).for_each(|_| decode()))
        });
    }
    let (key, iv) = ([1; 16], [2; 16]);
    let sealed = Cipher::Aes128Cbc.encrypt(&key, &iv, &block);
    line("encrypt aes-128-cbc", "GB/s", gigabytes, || {
        let encrypt = || drop(black_box(Cipher::Aes128Cbc.encrypt(&key, &iv, &block)));
        best(|| (), |()| (0..BLOCKS).for_each(|_| encrypt()))
    });
    line("decrypt aes-128-cbc", "GB/s", gigabytes, || {
        let decrypt = || drop(black_box(Cipher::Aes128Cbc.decrypt(&key, &iv, &sealed)));
        best(|| (), |()| (0..BLOCKS).for_each(|_| decrypt()))
    });
}

fn placements() {
    const GROUPS: u64 = 2_000_000;
    for (placement, count) in
        [(Placement::Rotate, 10), (Placement::Hash, 10), (Placement::Hash, 100)]
    {
        let ids: Vec<u32> = (0..count).collect();
        let layout = Layout::new(placement, VolumeId(1), &ids).expect("a layout");
        line(&format!("{placement} 5 of {count} nodes"), "M groups/s", GROUPS as f64 / 1e6, || {
            best(
                || [0; 5],
                |nodes| (0..GROUPS).for_each(|group| layout.nodes_for(group, black_box(nodes))),
            )
        });
    }
}

fn main() {
    caches();
    reuse();
    codecs();
    placements();
}
