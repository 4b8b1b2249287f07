//! Process-level fuzzing of everything that reads: the built command gets inputs that somebody spoilt,
//! within limits of memory, time and place.
//!
//! Inputs are those that the command makes itself and that come with the project, mutated with their
//! structure in mind (`mutate.rs`; stores by SQL, too: `store.rs`). Whatever they are, the command must
//! end with status 0, 1 or 2, say why in some lines, take less than 2 GiB of memory and some seconds,
//! and leave everything outside its `-o` as it was (`sandbox.rs`). A simulation may be long, and so may a
//! search; what is long is asked to end (Ctrl-C) and must do so.
//!
//! `FORETELL_FUZZ_CASES` cases are run (400 without it), from `FORETELL_FUZZ_SEED` (1) on, of all targets
//! in turn or of `FORETELL_FUZZ_TARGET` alone. A case that fails is shown with its target and seed, with
//! which `FORETELL_FUZZ_TARGET=... FORETELL_FUZZ_SEED=... FORETELL_FUZZ_CASES=1` makes it again, and its
//! files are kept in `target/fuzz`. What was found once stays as a case in `tests/bad_input.rs`,
//! `tests/hostile.rs` or at its reader.
#![allow(
    clippy::format_push_string,
    clippy::type_complexity,
    clippy::range_minus_one,
    clippy::range_plus_one,
    clippy::disallowed_methods,
    clippy::case_sensitive_file_extension_comparisons,
    reason = "limits of time are those of the clock on the wall"
)]

#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod known;
mod mutate;
mod sandbox;
mod store;
mod targets;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use foretell_units::Seed;

use corpus::Corpus;
use sandbox::Sandbox;
use targets::{Case, TARGETS, Target};

/// Failures after which no more cases are begun.
const ENOUGH: usize = 40;

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}: a number")))
}

/// The targets that are wanted.
fn wanted() -> Vec<&'static Target> {
    let only = std::env::var("FORETELL_FUZZ_TARGET").ok();
    let found: Vec<&Target> =
        TARGETS.iter().filter(|t| only.as_deref().is_none_or(|only| only == t.name)).collect();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert!(!found.is_empty(), "there is no target {only:?}; there are {}", names.join(", "));
    found
}

#[test]
#[ignore = "ten minutes: `.ci/run --full` runs it"]
fn whatever_is_read_the_command_ends_in_order() {
    let (cases, seed) = (number("FORETELL_FUZZ_CASES", 400), number("FORETELL_FUZZ_SEED", 1));
    let targets = wanted();
    let corpus = Corpus::make();
    let next = AtomicU64::new(0);
    let failures: Mutex<Vec<String>> = Mutex::default();
    // by target: cases, those that were read, time, the longest
    let tally: Mutex<BTreeMap<&str, (u64, u64, f64, f64)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let sandbox = Sandbox::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= cases || failures.lock().unwrap().len() >= ENOUGH {
                        break;
                    }
                    let target = targets[(number % targets.len() as u64) as usize];
                    let seed = seed + number / targets.len() as u64;
                    let begun = Instant::now();
                    let outcome = one(target, seed, &corpus, &sandbox);
                    let seconds = begun.elapsed().as_secs_f64();
                    let mut tally = tally.lock().unwrap();
                    let of_target = tally.entry(target.name).or_default();
                    of_target.0 += 1;
                    of_target.1 += u64::from(outcome == Ok(Some(0)));
                    of_target.2 += seconds;
                    of_target.3 = of_target.3.max(seconds);
                    drop(tally);
                    if let Err(fault) = outcome {
                        let kept = sandbox.keep(target.name, seed);
                        let fault = format!(
                            "FORETELL_FUZZ_TARGET={} FORETELL_FUZZ_SEED={seed} FORETELL_FUZZ_CASES=1\n\
                             {fault}\nfiles: {}",
                            target.name,
                            kept.display()
                        );
                        eprintln!("{fault}\n");
                        failures.lock().unwrap().push(fault);
                    }
                }
            });
        }
    });
    for (target, (cases, read, seconds, longest)) in tally.into_inner().unwrap() {
        println!(
            "{target:12} {cases:6} cases, {read:6} read, {seconds:7.1} s, {longest:5.1} s at most"
        );
    }
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} failures:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Runs a case; how the command ended, or what is wrong with that.
fn one(
    target: &Target,
    seed: u64,
    corpus: &Corpus,
    sandbox: &Sandbox,
) -> Result<Option<i32>, String> {
    sandbox.clear();
    let stream = Seed(seed).stream(target.name);
    let mut case = Case { stream, corpus, sandbox };
    let arguments = (target.build)(&mut case);
    sandbox.run(&arguments, target.long).map(|ended| ended.status)
}
