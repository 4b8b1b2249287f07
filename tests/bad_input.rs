//! Whatever is given to it, the command says what is wrong, where, and what was expected; it ends
//! with status 2, prints no results, and leaves nothing that looks like a run.

use crate::common;

use std::path::Path;

use common::*;
use foretell_ati::rusqlite::Connection;
use foretell_scenarios::Document;
use proptest::prelude::*;

/// The status is 2, there are no results, and the message has all of this in it.
fn is_refused(what: &str, done: &Done, fragments: &[&str]) {
    assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{what}: {}", done.stderr);
    assert!(!done.stderr.contains("Error {") && !done.stderr.contains("Diagnostic"), "{what}");
    for fragment in fragments {
        assert!(done.stderr.contains(fragment), "{what}: no `{fragment}` in\n{}", done.stderr);
    }
}

/// The scenario with `wrong` in place of `right`; the message must show the line, with its number,
/// and underline `value` in it.
#[track_caller]
fn scenario_is_refused(right: &str, wrong: &str, value: &str, fragments: &[&str]) {
    assert_eq!(SMALL.matches(right).count(), 1, "`{right}` is there once");
    let text = SMALL.replace(right, wrong);
    let place = Place::with(&text);
    let done = run(place.keeping("out", &[]));
    is_refused(wrong, &done, fragments);
    let value_at = text.find(wrong).unwrap() + wrong.find(value).expect("is in what is wrong");
    let before = &text[..value_at];
    let (number, column) = (
        before.matches('\n').count() + 1,
        before.len() - before.rfind('\n').map_or(0, |at| at + 1),
    );
    let line = text.lines().nth(number - 1).unwrap();
    let address = format!("scenario.toml:{number}:{}]", column + 1);
    assert!(done.stderr.contains(&address), "no {address} in\n{}", done.stderr);
    let shown = format!("{number} │ {line}\n");
    let (_, below) = done.stderr.split_once(&shown).unwrap_or_else(|| panic!("{}", done.stderr));
    let (_, marks) = below.lines().next().unwrap().split_once("· ").expect("is underlined");
    // several values of one fault may be underlined, this one among them
    let underlined: String = marks.chars().skip(column).take_while(|mark| *mark != ' ').collect();
    let length = underlined.chars().filter(|mark| "─┬▲".contains(*mark)).count();
    assert_eq!(length, value.chars().count(), "`{value}` is underlined in\n{}", done.stderr);
    assert_eq!(files(&place.path("out")), [""; 0]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_is_wrong_in_a_scenario_is_shown_where_it_is() {
    type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);
    let cases: &[Case] = &[
        // unknown keys and names, and the nearest ones
        (
            "cache =",
            "cahce =",
            "cahce",
            &["`node.brick` has no key `cahce`", "did you mean `cache`?"],
        ),
        ("warmup ", "warump ", "warump", &["`warump`", "did you mean `warmup`?"]),
        (
            "\"cheetah-15k\"",
            "\"cheeta-15k\"",
            "\"cheeta-15k\"",
            &["no device profile `cheeta-15k`", "did you mean `cheetah-15k`?"],
        ),
        (
            "\"xeon-p4-3.0\"",
            "\"xeon-p4\"",
            "\"xeon-p4\"",
            &["no cpu profile `xeon-p4`", "`xeon-p4-3.0`"],
        ),
        (
            "volume      = \"mirror\"",
            "volume      = \"miror\"",
            "\"miror\"",
            &["there is no volume `miror`", "did you mean `mirror`?"],
        ),
        (
            "\"brick[0-2]\"",
            "\"brik[0-2]\"",
            "brik[0-2]",
            &["`brik[0-2]`", "did you mean `brick[0-2]`?"],
        ),
        ("\"brick[0-2]\"", "\"brick[0-9]\"", "0-9", &["there is no host `brick4`", "4 hosts"]),
        (
            "client      = \"app0\"",
            "client      = \"brick0\"",
            "brick0",
            &["`brick0` is a storage node"],
        ),
        (
            "pattern     = \"sequential\"",
            "pattern     = \"sequental\"",
            "\"sequental\"",
            &["`workload.stream.pattern` cannot be `sequental`", "did you mean `sequential`?"],
        ),
        // impossible encodings
        (
            "\"2-of-3\"",
            "\"3-of-2\"",
            "\"3-of-2\"",
            &["m = 3 of only n = 2", "m is at most n", "did you mean `2-of-3`?"],
        ),
        ("\"2-of-3\"", "\"0-of-3\"", "\"0-of-3\"", &["m is at least 1"]),
        ("\"2-of-3\"", "\"2-of-256\"", "\"2-of-256\"", &["n is at most 255"]),
        ("\"2-of-3\"", "\"2/3\"", "\"2/3\"", &["is not an encoding; write `m-of-n`"]),
        (
            "\"brick\"\nencoding = \"2-of-3\"",
            "\"brick\"\nencoding = \"2-of-5\"",
            "\"brick\"",
            &["writes 5 fragments of each block, but is on 4 nodes"],
        ),
        // quantities
        ("\"16 KiB\"", "\"0 KiB\"", "\"0 KiB\"", &["cannot be zero"]),
        ("\"16 KiB\"", "\"16 kilo\"", "\"16 kilo\"", &["`kilo` is not a unit of a size", "`KiB`"]),
        ("\"16 KiB\"", "\"-16 KiB\"", "\"-16 KiB\"", &["`-16 KiB` is negative"]),
        ("\"16 KiB\"", "16384", "16384", &["must be a size with its unit, in quotes"]),
        ("\"24 MiB\"", "\"1 KiB\"", "\"1 KiB\"", &["does not hold one page of 4 KiB"]),
        ("= 60", "= -60", "-60", &["`workload.update.rate` is -60", "must be more than 0"]),
        ("= 60", "= nan", "nan", &["`workload.update.rate` is NaN"]),
        ("\"1 s\"", "\"-1 s\"", "\"-1 s\"", &["`-1 s` is negative"]),
        ("\"1 s\"", "\"1 sec\"", "\"1 sec\"", &["`sec` is not a unit of a time", "`s`"]),
        ("\"90%\"", "\"190%\"", "\"190%\"", &["`190%` is not a share", "from \"0%\" to \"100%\""]),
        ("seed     = 7", "seed     = -7", "-7", &["`seed` is -7, and must be 0 or more"]),
        (
            "seed     = 7",
            "seed     = \"7\"",
            "\"7\"",
            &["must be a whole number", "without quotes"],
        ),
        // absurd counts
        ("count = 4", "count = 0", "0", &["`node.brick.count` is 0, and must be from 1 to 100000"]),
        ("count = 4", "count = 99999999999", "99999999999", &["must be from 1 to 100000"]),
        ("count = 4", "count = 4.5", "4.5", &["`node.brick.count` is 4.5"]),
        (
            "= 2\n\n[workload.update]",
            "= 1e12\n\n[workload.update]",
            "1e12",
            &["must be a whole number"],
        ),
        (
            "= 2\n\n[workload.update]",
            "= 9999999\n\n[workload.update]",
            "9999999",
            &["must be from 1 to 1048576"],
        ),
        (
            "\"24 MiB\"",
            "\"4000 TiB\"",
            "\"4000 TiB\"",
            &["more than 2^29 pages", "take larger pages"],
        ),
        ("\"1 s\"", "\"1e30 s\"", "\"1e30 s\"", &["too large for a time"]),
        ("\"1 s\"", "\"1000000 h\"", "\"1000000 h\"", &["more than ten years"]),
        // too little room
        (
            "[volume.mirror]\nsize     = \"64 MiB\"",
            "[volume.mirror]\nsize     = \"64 TiB\"",
            "\"64 TiB\"",
            &["`brick0`", "which has 136.7 GiB on 1 disk"],
        ),
        ("\"24 MiB\"", "\"16 MiB\"", "\"16 MiB\"", &["no room for the buffer of tracking, 20 MB"]),
        // settings that would do nothing
        (
            "rate     = 60",
            "rate = 60\nthink = \"1 s\"",
            "think",
            &["`workload.update.think` would have no effect"],
        ),
        (
            "seed     = 7",
            "record = \"every 100\"",
            "\"every 100\"",
            &["`every 100`", "`every 1/100 requests`"],
        ),
        (
            "seed     = 7",
            "record = \"every 1/0 requests\"",
            "\"every 1/0 requests\"",
            &["`every 1/100 requests`"],
        ),
    ];
    for (right, wrong, value, fragments) in cases {
        scenario_is_refused(right, wrong, value, fragments);
    }
}

#[test]
fn what_is_not_toml_is_shown_where_it_is() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("[client.app]", "[client.app", &["scenario.toml:12:9]", "[client.app", "expected `]`"]),
        ("seed     = 7", "seed     = ", &["scenario.toml:2:11]", "seed     = "]),
        ("seed     = 7", "seed     = seven", &["scenario.toml:2:12]", "in quotes: \"seven\""]),
        ("\"brick[0-2]\"", "\"brick[0-2]", &["scenario.toml:18:", "nodes    = \"brick[0-2]"]),
    ];
    for (right, wrong, fragments) in cases {
        let place = Place::with(&SMALL.replace(right, wrong));
        let done = run(place.keeping("out", &[]));
        is_refused(wrong, &done, fragments);
        is_refused(wrong, &done, &["TOML"]);
        assert!(!place.path("out").exists());
    }
    let twice = SMALL.replace("seed     = 7", "seed = 7\nseed = 8");
    let done = run(Place::with(&twice).arguments(&[]));
    is_refused("twice", &done, &["scenario.toml:3:1]", "`seed` occurs twice"]);
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let text =
        SMALL.replace("2-of-3", "3-of-2").replace("cache =", "cahce =").replace("= 60", "= 0");
    let done = run(Place::with(&text).arguments(&[]));
    is_refused(&text, &done, &["`3-of-2`", "`cahce`", "`workload.update.rate` is 0"]);
    // but not without end
    let many: Vec<String> = (0..500).map(|number| format!("nonsense{number} = 1")).collect();
    let many = many.join("\n");
    let done = run(Place::with(&format!("{many}{SMALL}")).arguments(&[]));
    is_refused("500 unknown keys", &done, &["`nonsense0`", "... and 480 more"]);
}

#[test]
fn what_is_no_scenario_is_refused() {
    let place = Place::with(SMALL);
    let path = |name: &str| place.path(name).display().to_string();
    let deep = |open: &str| format!("a = {}", open.repeat(100_000));
    let files: &[(&str, Vec<u8>, &[&str])] = &[
        (
            "empty.toml",
            vec![],
            &["the scenario has no storage nodes", "the scenario has no workload"],
        ),
        (
            "latin1.toml",
            b"# caf\xe9\nseed = 1\n".into(),
            &["latin1.toml`", "line 1 is not UTF-8 text"],
        ),
        ("utf16.toml", b"\xff\xfes\0e\0e\0d\0".into(), &["utf16.toml`", "is not UTF-8 text"]),
        ("zeros.toml", vec![0; 4096], &["this is not TOML"]),
        ("picture.toml", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".into(), &["picture.toml`", "UTF-8"]),
        ("words.toml", b"not a scenario at all\n".into(), &["words.toml:1:4]", "this is not TOML"]),
        ("lists.toml", deep("[").into(), &["lists.toml:1:", "this is not TOML"]),
        ("tables.toml", deep("{a=").into(), &["tables.toml:1:", "this is not TOML"]),
        ("dots.toml", format!("{}a = 1", "a.".repeat(100_000)).into(), &["dots.toml:1:"]),
        ("long.toml", vec![b'x'; 20_000_000], &["long.toml`", "it is larger than 4 MiB"]),
    ];
    for (name, content, fragments) in files {
        std::fs::write(place.path(name), content).unwrap();
        let done = run(["run", &path(name), "-o", &path("out")]);
        is_refused(name, &done, fragments);
        assert!(done.stderr.len() < 10_000, "{name}: {} bytes of message", done.stderr.len());
        assert!(!place.path("out").exists(), "{name}");
    }
    is_refused(
        "nothing",
        &run(["run", &path("first-lok.toml")]),
        &["there is no scenario `", "first-lok.toml`"],
    );
    is_refused("no trace", &run(["run", &path("io.csv")]), &["there is no ", "io.csv`"]);
    is_refused("a directory", &run(["run", &path("")]), &["is a directory"]);
    is_refused(
        "a directory below a file",
        &run(["run", "Cargo.toml/x.toml"]),
        &["Cargo.toml/x.toml"],
    );
    is_refused("the empty name", &run(["run", ""]), &["value is required for '<SCENARIO>'"]);
}

#[test]
fn a_change_that_is_wrong_is_shown_as_it_was_typed() {
    let place = Place::with(SMALL);
    let cases: &[(&str, &[&str])] = &[
        ("duration", &["--set", "`duration` is not a change", "PATH=VALUE"]),
        ("", &["--set", "is not a change"]),
        ("=5", &["--set", "`=5` is not a change"]),
        ("..=5", &["--set ..=5", "a name is missing"]),
        ("volume.mail.encoding=1-of-2", &["there is no volume `mail`"]),
        (
            "volume.miror.encoding=1-of-2",
            &["there is no volume `miror`", "did you mean `volume.mirror`?"],
        ),
        ("volume.mirror.encodng=1-of-2", &["`encodng`", "did you mean `encoding`?"]),
        ("volume.mirror.encoding=7-of-5", &["--set volume.mirror.encoding=7-of-5", "`5-of-7`"]),
        ("volume.mirror.encoding=\"", &["is not an encoding"]),
        ("volume.mirror=5", &["`volume.mirror`"]),
        ("node.brick.disk[7].device=cheetah-15k", &["disk"]),
        ("node.brick.disk[0].device=floppy", &["there is no device profile `floppy`"]),
        ("node.brick.cache.size=lots", &["`lots` is not a size"]),
        ("node.brick.cache.size=[1, 2", &["node.brick.cache.size"]),
        ("seed=9.5", &["`seed` is 9.5"]),
        ("duration=", &["duration"]),
        ("tracking.overhead=maybe", &["tracking.overhead", "true or false"]),
        ("workload.update.rate=0", &["must be more than 0"]),
    ];
    for (change, fragments) in cases {
        let done = run(place.keeping("out", &["--set", change]));
        is_refused(change, &done, fragments);
        assert!(!place.path("out").exists(), "{change}");
    }
}

#[test]
fn wrong_usage_is_refused() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["rnu"], &["unrecognized subcommand 'rnu'", "Usage: foretell"]),
        (&["run"], &["<SCENARIO>"]),
        (&["run", "a.toml", "b.toml"], &["unexpected argument 'b.toml'"]),
        (
            &["run", "--no-record", "a.toml"],
            &["unexpected argument '--no-record'", "'--no-records'"],
        ),
        (&["run", "a.toml", "-x"], &["unexpected argument '-x'"]),
        (&["run", "a.toml", "--seed", "minus"], &["invalid value 'minus' for '--seed <N>'"]),
        (&["run", "a.toml", "--seed=-1"], &["invalid value '-1' for '--seed <N>'"]),
        (
            &["run", "a.toml", "--seed", "18446744073709551615"],
            &["a seed is a whole number from 0 to 9223372036854775807"],
        ),
        (&["run", "a.toml", "-o"], &["a value is required for '--output <DIR>'"]),
        (&["trace"], &["<DIRECTORY>", "<BREADCRUMB>"]),
        (&["trace", "."], &["<BREADCRUMB>"]),
        (&["trace", ".", "first"], &["invalid value 'first' for '<BREADCRUMB>'"]),
        (&["trace", ".", "0"], &["breadcrumb 0", "begin at 1"]),
        (&["trace", ".", "1"], &["`.` has no `run.db`", "foretell run SCENARIO -o DIR"]),
        (&["trace", "no/such", "1"], &["`no/such` has no `run.db`"]),
    ];
    for (arguments, fragments) in cases {
        is_refused(&arguments.join(" "), &run(*arguments), fragments);
    }
}

#[cfg(unix)]
#[test]
fn arguments_that_are_not_text_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.toml");
    is_refused("latin 1", &run(["run".as_ref(), name]), &["caf\u{fffd}.toml"]);
    let change = std::ffi::OsStr::from_bytes(b"seed=\xe9");
    is_refused(
        "latin 1",
        &run(["run".as_ref(), "a.toml".as_ref(), "--set".as_ref(), change]),
        &["invalid UTF-8"],
    );
}

#[test]
fn a_trace_that_is_cut_mistyped_or_something_else_is_refused() {
    let place = Place::with("");
    let head = "version,time,op,size,lbn\n1,5,28,512,100\n";
    let csv = |rest: &str| format!("{head}{rest}").into_bytes();
    // vscsi: u32 sn, len, nSG, u16 cmd, ver, u64 lbn, ts
    let mut record = [0; 32];
    record[4..8].copy_from_slice(&4096_u32.to_le_bytes());
    record[12..16].copy_from_slice(&[0x28, 0, 0, 1]);
    let vscsi = record.repeat(100);
    let unknown: &[&str] = &["cannot tell the format of trace", "`csv`", "`vscsi`"];
    let files: &[(&str, Vec<u8>, &[&str])] = &[
        ("empty.csv", vec![], &["is empty"]),
        ("head.csv", head.lines().next().unwrap().into(), &["has no requests"]),
        ("cut.csv", csv("1,6,2"), &["line 3", "`op` is `", "SCSI read"]),
        ("short.csv", csv("1,6,28"), &["line 3", "`size` is missing"]),
        ("mistyped.csv", csv("1,6,28,4k,100\n"), &["line 3", "`size` is `4k`", "a whole number"]),
        ("zero.csv", csv("1,6,28,0,100\n"), &["line 3", "`size` is `0`", "at least 1"]),
        ("negative.csv", csv("1,-6,28,512,100\n"), &["line 3", "`time` is `-6`"]),
        ("huge.csv", csv("1,6,28,512,99999999999999999999\n"), &["line 3", "`lbn` is", "2^64"]),
        (
            "beyond.csv",
            csv("1,6,28,99999999999999,1\n"),
            &["line 3", "`size` is `99999999999999`", "at most 4 GiB"],
        ),
        ("far.csv", csv("1,1e300,28,512,1\n"), &["line 3", "`time` is `1e300`"]),
        ("other.csv", csv("1,6,55,512,1\n"), &["line 3", "`op` is `55`", "SCSI"]),
        ("cut.vscsi", vscsi[..1000].into(), &["ends inside record 32 (byte 992)", "8 bytes", "32"]),
        ("words.vscsi", b"these are words, and lines\n".repeat(9), unknown),
        ("noise.bin", (0..5000_u32).map(|at| ((at * at) >> 3) as u8).collect(), unknown),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".into(), unknown),
        ("scenario.txt", SMALL.into(), unknown),
        ("minus.trace", b"5\n6\n-7\n".into(), &["line 3", "`block` is `-7`"]),
        ("no.trace.gz", b"5\n6\n7\n".into(), &["no.trace.gz`"]),
        ("cut.trace.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x33\xe0\x02".into(), &["cut.trace.gz`"]),
    ];
    for (name, content, fragments) in files {
        std::fs::write(place.path(name), content).unwrap();
        let path = place.path(name).display().to_string();
        let done = run(["run", &path, "-o", &place.path("out").display().to_string()]);
        if *name == "no.trace.gz" && done.status == Some(0) {
            // only called compressed: what is in it is a trace all the same
            std::fs::remove_dir_all(place.path("out")).unwrap();
            continue;
        }
        is_refused(name, &done, fragments);
        assert!(done.stderr.contains(name), "{name}: {}", done.stderr);
        assert_eq!(common::files(&place.path("out")), [""; 0], "{name}");
    }
    std::fs::write(place.path("good.csv"), csv("1,6,28,512,100\n")).unwrap();
    let good = place.path("good.csv").display().to_string();
    let set = |change: &str| run(["run", &good, "--set", change]);
    is_refused("", &set("workload.replay.format=vscsi"), &["good.csv`"]);
    is_refused("", &set("workload.replay.format=vsci"), &["did you mean `vscsi`?", "`block-list`"]);
    is_refused("", &set("workload.replay.working_set=1 MiB"), &["`working_set`"]);
    assert_eq!(set("workload.replay.speed_up=2").status, Some(0));
}

#[test]
fn what_is_no_store_is_no_run() {
    let place = Place::with(SMALL);
    let whole = std::fs::read(place.keep("whole", &[]).join("run.db")).unwrap();
    let dir = |name: &str| {
        std::fs::create_dir_all(place.path(name)).unwrap();
        place.path(name).join("run.db")
    };
    let sql = |name: &str, content: &[u8], statements: &str| {
        std::fs::write(dir(name), content).unwrap();
        Connection::open(dir(name)).unwrap().execute_batch(statements).unwrap();
    };
    std::fs::write(dir("garbage"), b"garbage ".repeat(9999)).unwrap();
    std::fs::write(dir("empty"), b"").unwrap();
    std::fs::write(dir("cut"), &whole[..whole.len() / 2]).unwrap();
    let mut zeroed = whole.clone();
    zeroed[4096..].fill(0);
    std::fs::write(dir("zeroed"), zeroed).unwrap();
    std::fs::create_dir_all(dir("directory")).unwrap();
    sql("other", b"", "CREATE TABLE songs(name TEXT); INSERT INTO songs VALUES('Fever');");
    sql("newer", &whole, "PRAGMA user_version = 2");
    sql("older", &whole, "PRAGMA user_version = 0");
    sql("dropped", &whole, "DROP TABLE disk_op");
    sql("nonsense", &whole, "UPDATE request SET host = -1");
    let cases: &[(&str, &[&str])] = &[
        ("garbage", &["is not a `run.db` of `foretell`: it is not an SQLite file"]),
        ("empty", &["is not a `run.db` of `foretell`: it is not an SQLite file"]),
        ("cut", &["is damaged: it should have ", "was it copied whole?"]),
        ("zeroed", &["malformed"]),
        ("directory", &["Is a directory"]),
        ("other", &["is not a `run.db` of `foretell`: its application_id is 0x0, not 0x666f7265"]),
        ("newer", &["has schema version 2", "reads 1; use a newer `foretell`"]),
        ("older", &["has schema version 0", "reads 1; run the scenario again"]),
        ("dropped", &["is not a `run.db` of `foretell`", "it has no table `disk_op`"]),
        ("nonsense", &["of `request`, `host` is -1; wanted a whole number from 0 to 2^32 - 1"]),
    ];
    for (name, fragments) in cases {
        let path = place.path(name).display().to_string();
        let done = run(["trace", &path, "100"]);
        is_refused(name, &done, fragments);
        assert!(done.stderr.contains(&format!("{name}/run.db`")), "{name}: {}", done.stderr);
    }
    let whole = place.path("whole").display().to_string();
    let done = run(["trace", &whole, "123456789"]);
    is_refused(
        "no such request",
        &done,
        &[
            "no record of `",
            "has breadcrumb 123456789",
            "column `breadcrumb` of the table `request`",
        ],
    );
    let json = run(["trace", &whole, "123456789", "--json"]);
    assert_eq!((json.status, json.stdout), (Some(2), String::new()));
}

/// A line of the first-look scenario, changed by hand as hands change things.
#[derive(Clone, Debug)]
enum Slip {
    Delete,
    Double,
    Swap(usize),
    /// A value from elsewhere in the file, or one that nobody would write.
    Value(String),
    Cut(usize),
    Insert(usize, char),
}

fn slip() -> impl Strategy<Value = (prop::sample::Index, Slip)> {
    let values = FIRST_LOOK
        .lines()
        .filter_map(|line| Some(line.split_once(" = ")?.1.split(" #").next()?.trim().to_owned()))
        .chain(
            [
                "0",
                "-1",
                "1e400",
                "nan",
                "\"\"",
                "[]",
                "{}",
                "true",
                "\"0 B\"",
                "1979-05-27",
                "\"%\"",
            ]
            .map(str::to_owned),
        )
        .collect::<Vec<_>>();
    let slip = prop_oneof![
        Just(Slip::Delete),
        Just(Slip::Double),
        (0..40_usize).prop_map(Slip::Swap),
        prop::sample::select(values).prop_map(Slip::Value),
        (0..40_usize).prop_map(Slip::Cut),
        ((0..40_usize), any::<char>()).prop_map(|(at, what)| Slip::Insert(at, what)),
    ];
    (any::<prop::sample::Index>(), slip)
}

const FIRST_LOOK: &str = include_str!("../scenarios/first-look.toml");

fn slipped(slips: &[(prop::sample::Index, Slip)]) -> String {
    let mut lines: Vec<String> = FIRST_LOOK.lines().map(str::to_owned).collect();
    for (index, slip) in slips {
        let at = index.index(lines.len());
        let chars = lines[at].chars().count();
        match slip {
            Slip::Delete => drop(lines.remove(at)),
            Slip::Double => lines.insert(at, lines[at].clone()),
            Slip::Swap(other) => {
                let other = other % lines.len();
                lines.swap(at, other);
            }
            Slip::Value(value) => {
                if let Some((key, _)) = lines[at].clone().split_once('=') {
                    lines[at] = format!("{key}= {value}");
                }
            }
            Slip::Cut(after) => lines[at] = lines[at].chars().take(after % (chars + 1)).collect(),
            Slip::Insert(before, what) => {
                let mut line: Vec<char> = lines[at].chars().collect();
                line.insert(before % (chars + 1), *what);
                lines[at] = line.into_iter().collect();
            }
        }
    }
    lines.join("\n")
}

fn checked(text: &str) -> Result<(), String> {
    let checked = Document::parse("slipped.toml", text, root().join("scenarios"))
        .and_then(|document| document.check());
    checked.map(drop).map_err(|errors| errors.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    #[test]
    fn a_slip_of_the_hand_is_understood_or_explained(slips in prop::collection::vec(slip(), 1..4)) {
        if let Err(message) = checked(&slipped(&slips)) {
            prop_assert!(!message.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 25, ..ProptestConfig::default() })]
    #[test]
    fn the_command_takes_or_refuses_a_slip(slips in prop::collection::vec(slip(), 1..3)) {
        let text = slipped(&slips);
        let place = Place::with(&text);
        let short = ["--set", "duration=10 ms", "--set", "warmup=0 s", "--no-records"];
        let done = run(place.arguments(&short));
        if done.status == Some(0) {
            prop_assert_eq!(done.stderr, "");
            prop_assert!(done.stdout.contains("What clients saw"));
        } else {
            prop_assert_eq!(done.status, Some(2), "{}", done.stderr);
            prop_assert_eq!(done.stdout, "");
            prop_assert!(!done.stderr.is_empty());
        }
    }
}

#[test]
fn shipped_scenarios_are_found_from_anywhere() {
    // the README's first command, from another directory
    let scenario = root().join("scenarios/first-look.toml");
    let mut command = foretell();
    command.current_dir(std::env::temp_dir()).arg("run").arg(&scenario);
    command.args(["--set", "duration=10 ms", "--set", "warmup=0 s", "--no-records"]);
    assert_eq!(Done::from(command.output().unwrap()).status, Some(0));
    assert!(Path::new(&scenario).exists());
}

/// `SMALL` with changes is refused, without results and without a run.
#[track_caller]
fn change_is_refused(changes: &[&str], fragments: &[&str]) {
    let place = Place::with(SMALL);
    let more: Vec<&str> = changes.iter().flat_map(|change| ["--set", change]).collect();
    let done = run(place.keeping("out", &more));
    is_refused(&changes.join(" "), &done, fragments);
}

#[test]
fn amounts_beyond_what_a_run_can_hold_are_refused() {
    change_is_refused(&["volume.mirror.block=8 GiB"], &["a block cannot be 8 GiB", "1 GiB"]);
    change_is_refused(&["volume.mirror.group=2 GiB"], &["a block group cannot be 2 GiB"]);
    change_is_refused(
        &[
            "workload.stream.outstanding=1048576",
            "workload.update.arrivals=closed",
            "workload.update.outstanding=524289",
        ],
        &["at most 2097152"],
    );
    change_is_refused(&["seed=9223372036854775808"], &["whole numbers end at 9223372036854775807"]);
    change_is_refused(
        &["node.brick.count=90000", "node.brick.disk=[{device=\"cheetah-15k\",count=1024}]"],
        &["disks; a cluster has at most 262144"],
    );
    // an open load that the cluster cannot keep up with ends when there is no room for more
    let rate = ["workload.stream.arrivals=poisson", "workload.stream.rate=1e9", "duration=1000 s"];
    change_is_refused(&rate, &["cannot keep up with workload `stream`"]);
}

#[test]
fn a_run_that_ends_within_its_warm_up_says_so() {
    let place = Place::with(SMALL);
    let text = SMALL
        .replace("duration", "# duration")
        .replace("outstanding = 2", "requests = 5")
        .replace("rate     = 60", "rate = 60\nrequests = 5");
    std::fs::write(place.scenario(), text).unwrap();
    let done = run(place.keeping("out", &["--set", "warmup=1000 s"]));
    is_refused("warm-up", &done, &["nothing was measured", "within the warm-up of 1000 s"]);
    // by itself it is measured from the beginning
    let dir = place.keep("measured", &["--set", "warmup=auto"]);
    assert!(truth_of(&dir)["requests_completed"].as_u64().unwrap() >= 5);
}

#[test]
fn the_scenario_of_a_kept_run_survives_a_rerun_into_its_directory() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &[]);
    let (scenario, out) = (dir.join("run.toml"), dir.to_str().unwrap());
    let before = std::fs::read_to_string(&scenario).unwrap();
    // a run that is refused leaves the old one whole
    let bad = place.path("bad.csv");
    std::fs::write(&bad, "1,2,3\n").unwrap();
    let trace = format!(
        "workload.stream={{volume=\"mirror\",client=\"app0\",kind=\"trace\",file=\"{}\"}}",
        bad.display()
    );
    let done = run(["run", scenario.to_str().unwrap(), "-o", out, "--set", &trace]);
    is_refused("a bad trace", &done, &["bad.csv"]);
    assert_eq!(files(&dir), ["run.db", "run.toml", "truth.json"]);
    // a rerun of what was kept gives it again
    succeed(["run", scenario.to_str().unwrap(), "-o", out]);
    assert_eq!(std::fs::read_to_string(&scenario).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn links_in_the_output_directory_are_not_written_through() {
    let place = Place::with(SMALL);
    let (dir, precious) = (place.path("out"), place.path("precious.txt"));
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(&precious, "mine").unwrap();
    for name in ["run.toml.partial", "truth.json.partial", "run.toml", "truth.json"] {
        std::os::unix::fs::symlink(&precious, dir.join(name)).unwrap();
        is_refused(name, &run(place.keeping("out", &[])), &["is not empty"]);
        std::fs::remove_file(dir.join(name)).unwrap();
    }
    place.keep("out", &[]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "mine");
    assert!(std::fs::symlink_metadata(dir.join("truth.json")).unwrap().is_file());
}

#[cfg(unix)]
#[test]
fn a_profile_beside_the_scenario_that_cannot_be_read_is_not_passed_over() {
    let place = Place::with(SMALL);
    let directory = place.path("cpus");
    std::fs::create_dir(&directory).unwrap();
    let profile = if SMALL.contains("xeon-2023") { "xeon-2023" } else { "pentium4-2.6" };
    let file = directory.join(format!("{profile}.toml"));
    std::os::unix::fs::symlink(place.path("nowhere"), &file).unwrap();
    is_refused("a dangling link", &run(place.keeping("out", &[])), &["cannot read the profile"]);
}

/// On a machine with 2 GB of address space.
#[test]
#[cfg(target_os = "linux")]
fn more_hosts_than_there_is_memory_for_are_refused() {
    let script = "ulimit -v 2000000; exec \"$0\" run first-look --set node.brick.count=5000000";
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", script, env!("CARGO_BIN_EXE_foretell")]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(message.contains("5000004 hosts take 71.5 GiB of memory, and 1."), "{message}");
}

/// On a machine with 1 GB of address space.
#[test]
#[cfg(target_os = "linux")]
fn more_flash_than_there_is_memory_for_is_refused() {
    let script =
        "ulimit -v 1000000; exec \"$0\" run swift --set device.hardly-used-sata.pages_per_block=2";
    let mut command = std::process::Command::new("sh");
    let output = command.args(["-c", script, env!("CARGO_BIN_EXE_foretell")]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("mapping tables of these solid-state drives take 3.0 GiB"),
        "{message}"
    );
    assert!(message.contains("disk  = ") && message.contains("pages_per_block"), "{message}");
}

/// A name that leads nowhere is the user's to mend: status 2, whatever the command does with it.
#[test]
fn what_is_not_there_is_wrong_input() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = dir.path().join("set");
    std::fs::create_dir(&sweep).unwrap();
    let missing = dir.path().join("missing").display().to_string();
    let page = dir.path().join("page.html").display().to_string();
    for (line, why) in [
        (vec!["report", &missing, "-o", &page], "No such file or directory"),
        (vec!["score", &missing, "--what-if", "node.a.count=2"], "has no `run.db`; make one with"),
        (vec!["ask", &missing], "has no `run.db`; make one with"),
        (vec!["run", "-"], "`run` reads no standard input"),
        (vec!["import", "ceph", "scenarios/first-look.toml"], "is not a file of a Ceph cluster"),
        (
            vec!["learn", "evaluate", "--data", &missing, "--target", "y", "--model", "lrm"],
            "missing",
        ),
    ] {
        let done = run(&line);
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{line:?}: {}", done.stderr);
        assert!(done.stderr.contains(why), "{line:?}: {}", done.stderr);
    }
}

/// Characters that a terminal obeys, that turn the order of characters around, and that end a line.
const STEERING: &str = "\u{1b}]0;owned\u{7}\u{202e}gnp\u{9b}31m\u{2066}";

/// Runs the command in the directory.
fn run_in(place: &Place, arguments: &[&str]) -> Done {
    let mut command = foretell();
    command.current_dir(place.path("")).args(arguments).output().expect("it starts").into()
}

/// Everything that the program prints about foreign text is safe to show.
#[test]
fn no_terminal_obeys_foreign_text() {
    let place = Place::with("");
    let write = |name: &str, text: String| std::fs::write(place.path(name), text).unwrap();
    let hostile = |text: &str| text.replace('@', STEERING);
    write("a.toml", hostile("[node.\"@\"]\ncount = 1\n[volume.v]\nsize = \"@\"\nnodes = \"@\"\n"));
    write("b.toml", hostile("duration = \"1 s\" # @ comment\nseed = \"@\n"));
    write("a.csv", hostile("\"x@\",\"y\n@\",z\n1,2,3\n2,@,4\n3,4,5\n"));
    write("a.trace", hostile("1,@,Read,0,4096,1\n@\n"));
    write("a.fio", hostile("[job@]\nrw=@\nbs=4k\n@=1\n"));
    write("a.json", hostile("{\"@\": 1, \"jobs\": [{\"jobname\": \"@\"}]}"));
    write("a.xml", hostile("<workload name=\"@\"><@/></workload>"));
    for command in [
        vec!["run", "a.toml"],
        vec!["run", "b.toml"],
        vec!["run", "first-look", "--no-records", "--set", "node.\u{202e}x=1"],
        vec![
            "run",
            "first-look",
            "--no-records",
            "--set",
            "workload.mail={ kind = \"fio\", file = \"a.fio\", volume = \"mail\", client = \"app\" }",
        ],
        vec!["run", "a.trace"],
        vec!["inspect", "a.trace"],
        vec!["learn", "train", "--data", "a.csv", "--target", "z", "--model", "lrm", "-o", "m"],
        vec!["learn", "evaluate", "--data", "a.csv", "--target", "none", "--model", "lrm"],
        vec!["import", "ceph", "a.json"],
        vec!["import", "fio-json", "a.json"],
        vec!["import", "diskspecs", "a.fio"],
        vec!["import", "cluster", "a.json"],
        vec!["report", "a.json"],
        vec!["sweep", "b.toml", "-o", "s"],
        vec!["ask", "\u{1b}[31m\u{202e}"],
        vec!["\u{1b}[31m\u{202e}"],
        vec!["list", "\u{202e}"],
    ] {
        let done = run_in(&place, &command);
        for text in [&done.stdout, &done.stderr] {
            let is_obeyed = |c| foretell_input::is_control_or_bidi(c) && !matches!(c, '\n' | '\t');
            assert!(!text.contains(is_obeyed), "{command:?}: {text:?}");
        }
    }
}

/// A report of a small Ceph cluster with these texts in it.
fn ceph_report(version: &str, name: &str) -> String {
    serde_json::json!({
        "version": version,
        "crushmap": {
            "devices": [{ "id": 0, "name": "osd.0" }],
            "types": [{ "type_id": 0, "name": "osd" }, { "type_id": 1, "name": "host" }, { "type_id": 11, "name": "root" }],
            "buckets": [
                { "id": -1, "name": "default", "type_id": 11, "type_name": "root", "weight": 65536, "alg": "straw2", "hash": "rjenkins1", "items": [{ "id": -2, "weight": 65536, "pos": 0 }] },
                { "id": -2, "name": "h", "type_id": 1, "type_name": "host", "weight": 65536, "alg": "straw2", "hash": "rjenkins1", "items": [{ "id": 0, "weight": 65536, "pos": 0 }] },
            ],
            "rules": [{ "rule_id": 0, "rule_name": name, "type": 1, "steps": [
                { "op": "take", "item": -1, "item_name": "default" },
                { "op": "chooseleaf_firstn", "num": 0, "type": "host" },
                { "op": "emit" },
            ] }],
            "tunables": { "choose_local_tries": 0, "choose_local_fallback_tries": 0, "choose_total_tries": 50, "chooseleaf_descend_once": 1, "chooseleaf_vary_r": 1, "chooseleaf_stable": 1, "straw_calc_version": 1 },
            "choose_args": {},
        },
        "osdmap": {
            "pools": [{ "pool": 1, "pool_name": name, "flags": 1, "type": 1, "size": 1, "min_size": 1, "crush_rule": 0, "pg_num": 4, "pg_placement_num": 4, "application_metadata": { "rbd": {} } }],
            "osds": [{ "osd": 0, "up": 1, "in": 1, "weight": 1 }],
        },
        "osd_metadata": [{ "id": 0, "hostname": name, "cpu": name, "bluestore_bdev_devices": "sda", "device_ids": "sda=A_B_1", "bluestore_bdev_size": "4000000000000" }],
    })
    .to_string()
}

/// Whatever ends a line in a foreign name, what follows it does not read as a line of ours.
#[test]
fn a_foreign_name_makes_no_line_of_its_own() {
    const NAME: &str = "x\nFORGED: all is well\r\nFORGED\u{2028}FORGED\u{85}FORGED\rFORGED";
    let place = Place::with("");
    let write = |name: &str, text: String| std::fs::write(place.path(name), text).unwrap();
    write("report.json", ceph_report(NAME, NAME));
    // a pool whose rule allows no such size is named in a note
    write(
        "ruleless.json",
        ceph_report("17.2.5", NAME).replace("\"crush_rule\":0", "\"crush_rule\":7"),
    );
    let quoted = serde_json::to_string(NAME).unwrap();
    let config = include_str!("../.ci/pages/twin/config.json");
    assert!(config.contains("\"rep2\"") && config.contains("\"nodes\": 3"));
    let background = format!("\"nodes\": 3, \"background\": {{ \"kind\": {quoted} }}, {quoted}: 1");
    write("config.json", config.replace("\"rep2\"", &quoted).replace("\"nodes\": 3", &background));
    let cell = format!("\"{NAME}\"");
    let points = include_str!("../.ci/pages/twin/points.csv");
    let with_column = |(at, line): (usize, &str)| match at {
        0 => format!("{line},{cell}"),
        _ => format!("{},1", line.replace("rep2", &cell)),
    };
    let lines: Vec<_> = points.lines().enumerate().map(with_column).collect();
    write("points.csv", lines.join("\n"));
    write("unknown.csv", points.replace("rep2", &format!("\"y{NAME}\"")));
    let job = serde_json::json!({
        "fio version": "fio-3.36",
        "jobs": [{ "jobname": NAME, "error": 0, "job options": { "rw": "randread", "bs": "4k" },
            "read": { "total_ios": 10, "iops": 10.0, "bw_bytes": 40960, "runtime": 1000, "lat_ns": { "mean": 1e6 } },
            "sync": { "total_ios": 5, "lat_ns": { "mean": 2e6, "N": 5 } } }],
    });
    write("fio.json", job.to_string());
    let rows: Vec<_> = (0..40).map(|n| format!("{n},{},{}", n % 7, 3 * n + 1)).collect();
    write("rows.csv", format!("{cell},b,c\n{}\n", rows.join("\n")));
    let missing = format!("{NAME}!");
    let train = |target| {
        let options = ["--data", "rows.csv", "--model", "lrm", "-o", "m.json", "--target"];
        [&["learn", "train"], &options[..], &[target]].concat()
    };
    for (command, is_fine) in [
        (vec!["import", "ceph", "report.json", "-o", "ceph"], true),
        (vec!["import", "ceph", "ruleless.json"], true),
        (vec!["import", "cluster", "config.json", "--points", "points.csv", "-o", "twin"], true),
        (vec!["import", "cluster", "config.json", "--points", "unknown.csv", "-o", "twin"], true),
        (vec!["import", "fio-json", "fio.json", "-o", "fio.csv"], true),
        (train("c"), true),
        (vec!["learn", "show", "m.json"], true),
        (vec!["learn", "explain", "--data", "rows.csv", "--target", "c", "--model", "lrm"], true),
        (train(&missing), false),
        (vec!["run", NAME], false),
        (vec!["ask", NAME], false),
    ] {
        let done = run_in(&place, &command);
        assert_eq!(done.status == Some(0), is_fine, "{command:?}: {}{}", done.stdout, done.stderr);
        let all = format!("{}\n{}", done.stdout, done.stderr);
        let mut lines = all.split(['\n', '\r', '\u{85}', '\u{2028}']);
        assert!(!lines.any(|line| line.trim_start().starts_with("FORGED")), "{command:?}: {all}");
        assert!(all.contains("x FORGED"), "{command:?}: the name is shown: {all}");
    }
}

/// A name in a Ceph report is no key of the scenario.
#[test]
fn a_foreign_name_adds_nothing_to_a_written_scenario() {
    let place = Place::with("");
    let written = |version: &str, name: &str| {
        std::fs::write(place.path("report.json"), ceph_report(version, name)).unwrap();
        let done = run_in(&place, &["import", "ceph", "report.json", "-o", "out"]);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let text = std::fs::read_to_string(place.path("out/scenario.toml")).unwrap();
        std::fs::remove_dir_all(place.path("out")).unwrap();
        text
    };
    let plain = written("17.2.5", "name");
    let tricky = "name\nseed = 4711\r\u{2028}[cluster]\u{202e}\"\\";
    let found = written(tricky, tricky);
    assert!(!found.contains(|c| foretell_input::is_control_or_bidi(c) && c != '\n'), "{found}");
    let keys = |text: &str| {
        let document: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
        document.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&found), keys(&plain), "{found}");
    assert!(!keys(&found).contains(&"seed".to_owned()));
}
