//! No text makes the program panic, and valid scenarios survive being resolved.

use foretell_scenarios::Document;
use proptest::prelude::*;

/// A scenario with every section and most keys.
const RICH: &str = r#"
seed = 7
warmup = "1 s"
duration = "2 s"
record = "every 1/100 requests"
payload = "none"
[node.brick]
count = 4
cpu = { profile = "pentium4-2.6", cores = 2, encrypt = { rate = "1 GB/s" } }
cache = { policy = "arc", size = "64 MiB", page = "8 KiB", write = "back", dirty_background = "10%", dirty_limit = "16 MiB", dirty_expire = "10 s", flush_interval = "1 s", read_ahead = "0 B" }
nvram = "32 MiB"
layout = "log-structured"
segment = "256 KiB"
stripe = "512 KiB"
disk = ["barracuda-7200.8", { device = "mine", scheduler = "sstf", count = 2 }]
nic = { rate = "1 Gbit/s", latency = "50 us" }
[node.fast]
cpu = "xeon-2023"
cache = { size = "1 GiB", write = "through" }
disk = [{ device = "cheetah-15k", scheduler = "fcfs" }]
[client.app]
count = 2
cpu = "xeon-p4-3.0"
[host.brick1]
nic = { rate = "100 Mbit/s" }
cpu = { cores = 1 }
[switch]
port_buffer = "64 KiB"
retransmit_timeout = "1 s"
[volume.mail]
size = "1 GiB"
nodes = "brick[0,1-3], fast"
encoding = "2-of-4"
cipher = "aes-128-cbc"
block = "16 KiB"
placement = "hash"
group = "64 KiB"
write_quorum = 3
read_from = "random"
[volume.web]
size = "100 MiB"
nodes = ["fast0"]
[workload.a]
volume = "mail"
client = "app"
kind = "ssio"
reads = "70%"
pattern = "hot-cold"
hot_fraction = 0.1
hot_share = "90%"
access = "8 KiB"
working_set = "50%"
outstanding = 3
think = "exponential 10 ms"
requests = 1000
[workload.b]
volume = "web"
client = ["app1"]
kind = "ssio"
reads = 1
pattern = "strided"
step = "64 KiB"
arrivals = "poisson"
rate = "200/s"
[tracking]
overhead = true
types = ["disk_op", "request"]
buffer = "1 MiB"
record_size = "48 B"
batch = "16 KiB"
store = "fast0"
[device.mine]
kind = "disk"
source = "made up"
capacity = "10 GB"
rpm = 5400
cylinders = 3000
seek = { knee = 372, short = "1.332 ms", short_per_sqrt = "0.2998 ms", long = "5.533 ms", long_per_cylinder = "4.285 us" }
outer_rate = "10 MB/s"
inner_rate = "6 MB/s"
overhead = "1 ms"
"#;

/// Values that replace others.
const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "255",
    "256",
    "65536",
    "9223372036854775807",
    "0.5",
    "-0.5",
    "1e308",
    "nan",
    "inf",
    "true",
    "[]",
    "{}",
    "[1]",
    "\"\"",
    "\"x\"",
    "\"0 B\"",
    "\"1 B\"",
    "\"512 B\"",
    "\"4 KiB\"",
    "\"1 MiB\"",
    "\"1024 PiB\"",
    "\"17 EB\"",
    "\"16 TiB\"",
    "\"1 ns\"",
    "\"584 h\"",
    "\"10%\"",
    "\"100%\"",
    "\"1 Gbit/s\"",
    "\"auto\"",
    "\"none\"",
    "\"all\"",
    "\"trace\"",
    "\"ssio\"",
    "\"zipf\"",
    "\"poisson\"",
    "\"closed\"",
    "\"1-of-1\"",
    "\"255-of-255\"",
    "\"brick[0-4294967295]\"",
    "\"brick\"",
    "\"app\"",
    "[\"brick\", \"fast\"]",
    "1979-05-27",
    "\"exponential 1 s\"",
    "\"mail\"",
    "{ exponential = \"1 s\" }",
    "\"\\u0000\"",
    "\"é\"",
];

/// Lines that are inserted.
const LINES: &[&str] = &[
    "[node.brick2]",
    "[node.x.cache]",
    "[volume]",
    "[[workload.a]]",
    "count = 100000",
    "x = 1",
    "outstanding = 1048576",
    "[host.app0]",
    "[host.brick9]",
    "kind = \"trace\"",
    "file = \"x\"",
    "alpha = 1",
    "[client.brick]",
    "[device.barracuda]",
    "nodes = \"fast[0]\"",
    "count = 3",
    "[workload.c]",
    "[\"\"]",
    "layout = \"in-place\"",
    "write = \"through\"",
    "]",
    "\"",
];

/// Paths of changes.
const PATHS: &[&str] = &[
    "seed",
    "duration",
    "warmup",
    "record",
    "payload",
    "node.brick.count",
    "node.brick.cpu",
    "node.brick.cpu.cores",
    "node.brick.cpu.encrypt.rate",
    "node.brick.cache.size",
    "node.brick.cache.page",
    "node.brick.cache.write",
    "node.brick.cache.dirty_limit",
    "node.brick.nvram",
    "node.brick.layout",
    "node.brick.segment",
    "node.brick.stripe",
    "node.brick.disk",
    "node.brick.disk[1]",
    "node.brick.disk.1.count",
    "node.brick2.nic.rate",
    "node.brick[2].disk[0].device",
    "node.brick1",
    "host.brick1",
    "node.brick",
    "client.app.count",
    "volume.mail.size",
    "volume.mail.nodes",
    "volume.mail.encoding",
    "volume.mail.block",
    "volume.mail.group",
    "volume.mail.write_quorum",
    "volume.web",
    "workload.a.reads",
    "workload.a.kind",
    "workload.a.arrivals",
    "workload.a.pattern",
    "workload.a.access",
    "workload.a.working_set",
    "workload.a.outstanding",
    "workload.b.rate",
    "workload.b.step",
    "workload.b",
    "tracking.types",
    "tracking.overhead",
    "tracking.buffer",
    "tracking.store",
    "device.mine.cylinders",
    "device.mine.seek.knee",
    "device.mine.kind",
    "cpu.xeon-2023.cores",
    "workload.new",
    "switch",
    "",
];

/// Performs every operation on a text.
fn exercise(text: &str) -> Result<(), TestCaseError> {
    let document = match Document::parse("t.toml", text, "") {
        Ok(document) => document,
        Err(errors) => {
            prop_assert!(!errors.lines().is_empty());
            return Ok(());
        }
    };
    exercise_document(&document)
}

fn exercise_document(document: &Document) -> Result<(), TestCaseError> {
    match document.check() {
        Err(errors) => {
            prop_assert!(!errors.errors().is_empty());
            for error in errors.errors() {
                prop_assert!(
                    !error.message().starts_with("the value cannot be read"),
                    "{}",
                    errors.lines()
                );
                // every place is within its text
                prop_assert!(
                    error.spans().next().is_none() || error.underlined().is_some(),
                    "{}",
                    errors.lines()
                );
            }
        }
        Ok(scenario) => {
            let full = document.resolved().unwrap();
            let again = Document::parse("run.toml", &full, "");
            let again = again
                .map_err(|errors| TestCaseError::fail(format!("{}\n{full}", errors.lines())))?;
            let read = again.check();
            let read =
                read.map_err(|errors| TestCaseError::fail(format!("{}\n{full}", errors.lines())))?;
            prop_assert_eq!(read, scenario);
            prop_assert_eq!(again.resolved().unwrap(), full);
        }
    }
    Ok(())
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(VALUES).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
        1 => any::<i64>().prop_map(|number| number.to_string()),
    ]
}

/// A text with one line changed.
fn mutated(text: &str, (line, how, value, put): (usize, u8, String, usize)) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = line % lines.len().max(1);
    match how {
        // another value
        0 | 1 => {
            if let Some((key, _)) = lines[at].split_once('=') {
                lines[at] = format!("{key}= {value}");
            }
        }
        // removes, repeats, moves or inserts a line
        2 => {
            lines.remove(at);
        }
        3 => lines.insert(at, lines[at].clone()),
        4 => {
            let line = lines.remove(at);
            lines.insert((at + put) % (lines.len() + 1), line);
        }
        5 => lines.insert(at, LINES[put % LINES.len()].to_owned()),
        // removes a character
        6 => {
            let mut chars: Vec<char> = lines[at].chars().collect();
            if !chars.is_empty() {
                chars.remove(put % chars.len());
            }
            lines[at] = chars.into_iter().collect();
        }
        // replaces one of several values in a line
        _ => {
            let parts: Vec<&str> = lines[at].split('"').collect();
            if parts.len() > 2 {
                let inside = value.trim_matches('"');
                let place = 1 + 2 * (put % (parts.len() / 2));
                let mut parts: Vec<&str> = parts;
                parts[place] = inside;
                lines[at] = parts.join("\"");
            }
        }
    }
    lines.join("\n")
}

#[test]
fn the_rich_scenario_is_right() {
    let document = Document::parse("t.toml", RICH, "").unwrap();
    document.check().unwrap_or_else(|errors| panic!("{}", errors.lines()));
    exercise_document(&document).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*|[\\[\\]{}=.,\"'#\n a-z0-9-]*") {
        exercise(&text)?;
        let mut document = Document::parse("t.toml", RICH, "").unwrap();
        let _ = document.set(&text, "1");
        let _ = document.set("volume.mail.nodes", &text);
        let _ = document.set("workload.a", &text);
        exercise_document(&document)?;
    }

    #[test]
    fn a_wrong_scenario_is_refused_and_a_right_one_survives(
        mutations in prop::collection::vec((0..200_usize, 0..8_u8, value(), 0..100_usize), 1..4)
    ) {
        exercise(&mutations.into_iter().fold(RICH.to_owned(), |text, how| mutated(&text, how)))?;
    }

    #[test]
    fn changes_are_refused_or_survive(
        changes in prop::collection::vec((prop::sample::select(PATHS), value()), 1..5)
    ) {
        let mut document = Document::parse("t.toml", RICH, "").unwrap();
        for (path, value) in &changes {
            let _ = document.set(path, value);
            let _ = document.set(path, value.trim_matches('"'));
        }
        exercise_document(&document)?;
    }
}
