//! A processor profile as text, in the form that `run` reads.

use std::fmt::Write;

use foretell_scenarios::model::{Cost, CpuProfile};
use foretell_units::{Rate, SimSpan};

use super::machine::Machine;

/// Remarks on how the figures of a profile were found.
pub(crate) struct Notes {
    /// Number of operations of a measured run.
    pub(crate) operations: u32,
    /// The encodings from which the cost of coding was computed.
    pub(crate) coded: String,
    /// The system's error, if messages could not be measured.
    pub(crate) no_sockets: Option<String>,
}

/// Values that cannot be measured by running codecs; they are those of the profile `xeon-2023`.
pub(crate) mod assumed {
    use foretell_scenarios::model::Cost;
    use foretell_units::{Rate, SimSpan};

    /// Linux CFS: the minimum time that a thread runs while others wait.
    pub(crate) const QUANTUM: SimSpan = SimSpan::from_ms(3);
    /// A microsecond in the kernel, plus the effect of caches that go cold.
    pub(crate) const CONTEXT_SWITCH: SimSpan = SimSpan::from_ns(1_500);
    /// Half a dozen system calls, look-ups, and the hand-over between threads.
    pub(crate) const REQUEST: Cost = Cost { fixed: SimSpan::from_us(5), rate: None };
    /// About 300 cycles to fill in a record in a buffer of the same core.
    pub(crate) const POST: SimSpan = SimSpan::from_ns(100);
    /// System call and wake-up; one core sends 80 Gbit/s with segmentation offload.
    pub(crate) const SEND: Cost =
        Cost { fixed: SimSpan::from_us(2), rate: Some(Rate::bits_per_s(80_000_000_000)) };
    /// System call and wake-up; one core receives 40 Gbit/s.
    pub(crate) const RECEIVE: Cost =
        Cost { fixed: SimSpan::from_us(2), rate: Some(Rate::bits_per_s(40_000_000_000)) };
}

/// The text of a profile's file.
pub(crate) fn text(profile: &CpuProfile, machine: &Machine, notes: &Notes) -> String {
    let mut text = format!("# {}, measured.\n", machine.processor);
    let source = format!(
        "Measured by `foretell calibrate cpu` {} on one core of {} ({}, {}): the program's own \
         AES-128-CBC and Reed-Solomon codecs, copies in memory{}; CPU time, medians of {} runs of \
         {} operations or more. All else is assumed, for the reasons given in the profile's file.",
        env!("CARGO_PKG_VERSION"),
        machine.processor,
        cores(machine.cores),
        machine.platform,
        if notes.no_sockets.is_none() { ", messages over loopback" } else { "" },
        super::stopwatch::RUNS,
        notes.operations,
    );
    let _ = writeln!(text, "source = \"\"\"\\\n{}\"\"\"\n", wrapped(&source));
    let _ = writeln!(text, "cores = {}", profile.cores);
    let quantum = "Linux CFS: the least time that a thread runs while others wait";
    let _ = writeln!(text, "# Assumed. {quantum}.\nquantum = \"{}\"", profile.quantum);
    let switch = "a microsecond in the kernel, and caches that go cold";
    let _ = writeln!(
        text,
        "# Assumed: {switch}.\ncontext_switch = \"{}\"\n",
        span(profile.context_switch)
    );
    let mut cost = |comment: &str, costs: &[(&str, Cost)]| {
        for line in fill(comment, 96) {
            let _ = writeln!(text, "# {line}");
        }
        for (name, cost) in costs {
            let _ = writeln!(text, "{name} = {}", inline(*cost));
        }
        text.push('\n');
    };
    cost(
        "Assumed: half a dozen system calls, look-ups, and the hand-over between threads.",
        &[("request", profile.request)],
    );
    let messages = match &notes.no_sockets {
        None => "Measured over loopback: system calls, wake-ups and TCP, but no adapter and no \
                 interrupt; a part of receiving is done in the sender's time."
            .to_owned(),
        Some(error) => format!(
            "Assumed, because loopback could not be used ({error}): one core receives 40 Gbit/s \
             and sends twice that with segmentation offload; 2 us for the system call and the \
             wake-up."
        ),
    };
    cost(&messages, &[("send", profile.send), ("receive", profile.receive)]);
    cost("Measured: from memory to memory, in no cache.", &[("copy", profile.copy)]);
    cost(
        "Measured: AES-128-CBC with its keys and vector.",
        &[("encrypt", profile.encrypt), ("decrypt", profile.decrypt)],
    );
    cost(
        &format!(
            "Measured: {}. Bytes of the block times passes, n - m to encode, one for each lost \
             data fragment to decode; the fragments' memory is part of it.",
            notes.coded
        ),
        &[("code", profile.code)],
    );
    let post = "some 300 cycles to fill in a record in a buffer of the core's own";
    let _ = writeln!(text, "# Assumed: {post}.\npost = \"{}\"", span(profile.post));
    text
}

fn cores(count: u32) -> String {
    if count == 1 { "1 core".to_owned() } else { format!("{count} cores") }
}

/// A cost as an inline table.
fn inline(cost: Cost) -> String {
    let fixed = (cost.fixed > SimSpan::ZERO || cost.rate.is_none())
        .then(|| format!("fixed = \"{}\"", span(cost.fixed)));
    let rate = cost.rate.map(|rate| format!("rate = \"{}\"", self::rate(rate)));
    let parts: Vec<String> = fixed.into_iter().chain(rate).collect();
    format!("{{ {} }}", parts.join(", "))
}

/// A time in a suitable unit: `1.5 us`.
pub(crate) fn span(span: SimSpan) -> String {
    let units = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
    let ns = span.as_ns();
    match units.into_iter().find(|(_, size)| ns as f64 >= *size) {
        Some((unit, size)) => format!("{} {unit}", ns as f64 / size),
        None => format!("{ns} ns"),
    }
}

/// A rate in bytes a second: `1.28 GB/s`.
pub(crate) fn rate(rate: Rate) -> String {
    let bytes = rate.as_bytes_per_s_f64();
    let units = [("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)];
    match units.into_iter().find(|(_, size)| bytes >= *size) {
        Some((unit, size)) => format!("{} {unit}", bytes / size),
        None => format!("{bytes} B/s"),
    }
}

/// The words of `text` in lines no longer than `width`, unless a single word is longer.
fn fill(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// `text` as several lines of a TOML string.
fn wrapped(text: &str) -> String {
    fill(text, 94).join(" \\\n")
}

#[cfg(test)]
mod tests {
    use foretell_scenarios::Document;
    use proptest::prelude::*;

    use super::*;

    const SCENARIO: &str = r#"
duration = "1 s"
[node.brick]
cpu = "here"
cache = { size = "64 MiB" }
disk = ["barracuda-7200.8"]
[client.app]
cpu = "here"
[volume.v]
size = "1 GiB"
nodes = "brick"
[workload.w]
volume = "v"
client = "app"
kind = "ssio"
reads = 0.5
"#;

    fn machine() -> Machine {
        Machine {
            processor: "Testium 4 (r) @ 3 GHz".to_owned(),
            cores: 4,
            platform: "x86_64, linux".to_owned(),
        }
    }

    /// The profile that `run` reads from this profile's text.
    fn read_back(profile: &CpuProfile, notes: &Notes) -> CpuProfile {
        let text = text(profile, &machine(), notes);
        assert!(text.lines().all(|line| line.len() <= 100), "{text}");
        let text = format!("{SCENARIO}\n[cpu.here]\n{text}");
        let document = Document::parse("t.toml", &text, "").unwrap_or_else(|e| panic!("{e}"));
        let scenario = document.check().unwrap_or_else(|e| panic!("{e}"));
        CpuProfile::clone(&scenario.hosts[0].cpu)
    }

    fn cost() -> impl Strategy<Value = Cost> {
        // as in fits: three digits
        let whole = (1..1000_u64, 0..7_u32).prop_map(|(digits, zeros)| digits * 10_u64.pow(zeros));
        (whole.clone(), any::<bool>(), prop::option::of(whole)).prop_map(|(fixed, free, rate)| {
            Cost {
                fixed: if free { SimSpan::ZERO } else { SimSpan::from_ns(fixed) },
                rate: rate.map(Rate::bytes_per_s),
            }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn run_reads_what_calibrate_writes(
            costs in prop::array::uniform6(cost()),
            cores in 1..1025_u32,
            loopback in any::<bool>(),
        ) {
            let [send, receive, copy, encrypt, decrypt, code] = costs;
            let profile = CpuProfile {
                name: "here".to_owned(),
                cores,
                smt: None,
                quantum: assumed::QUANTUM,
                context_switch: assumed::CONTEXT_SWITCH,
                request: assumed::REQUEST,
                send, receive, copy, encrypt, decrypt, code,
                post: assumed::POST,
            };
            let notes = Notes {
                operations: 100,
                coded: "3-of-5".to_owned(),
                no_sockets: (!loopback).then(|| "Permission denied (os error 13)".to_owned()),
            };
            prop_assert_eq!(read_back(&profile, &notes), profile);
        }
    }

    #[test]
    fn quantities_are_short() {
        assert_eq!(span(SimSpan::from_ns(520)), "520 ns");
        assert_eq!(span(SimSpan::from_ns(1_230)), "1.23 us");
        assert_eq!(span(SimSpan::ZERO), "0 ns");
        assert_eq!(rate(Rate::bytes_per_s(1_280_000_000)), "1.28 GB/s");
        assert_eq!(rate(Rate::bytes_per_s(867_000_000)), "867 MB/s");
        assert_eq!(rate(Rate::bytes_per_s(7)), "7 B/s");
    }
}
