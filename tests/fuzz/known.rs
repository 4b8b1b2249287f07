//! What was found once: inputs that took all memory, never ended, or made the command panic.

use std::fs::{self, File};
use std::process::Command;

use foretell_ati::rusqlite::Connection;

use crate::common::succeed;
use crate::corpus::TINY;
use crate::sandbox::Sandbox;

/// Runs the command, which must refuse; the message has all of this in it.
#[track_caller]
fn is_refused(sandbox: &Sandbox, arguments: &[&str], fragments: &[&str]) {
    let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    let ended = sandbox.run(&arguments, false).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(ended.status, Some(2), "{arguments:?}: {}", ended.stderr);
    for fragment in fragments {
        assert!(
            ended.stderr.contains(fragment),
            "{arguments:?}: no `{fragment}` in {}",
            ended.stderr
        );
    }
}

/// Commands that read a file: `FILE` stands for it.
const READERS: [&[&str]; 24] = [
    &["run", "FILE"],
    &["sweep", "FILE", "--check"],
    &["import", "csv", "FILE"],
    &["import", "oracle-general", "FILE", "-o", "../out/x"],
    &["import", "auto", "FILE"],
    &["inspect", "FILE"],
    &["replay-cache", "FILE", "--format", "csv"],
    &["replay-disk", "cheetah-15k", "FILE"],
    &["replay-disk", "FILE", "../in/validate"],
    &["import", "fio-json", "FILE"],
    &["import", "diskspecs", "FILE"],
    &["calibrate", "disk", "--fio", "FILE"],
    &["estimate", "--csv", "FILE", "--read", "50"],
    &["learn", "train", "--data", "FILE", "--target", "y", "--model", "lrm"],
    &[
        "learn",
        "evaluate",
        "--data",
        "../in/table.csv",
        "--target",
        "y",
        "--model",
        "lrm",
        "--folds",
        "FILE",
    ],
    &["learn", "show", "FILE"],
    &["learn", "predict", "FILE", "--data", "../in/table.csv"],
    &["learn", "features", "--joined", "osd=FILE", "-o", "../out/x"],
    &[
        "learn",
        "features",
        "--dstat",
        "osd=FILE",
        "--clients",
        "../in/clients.csv",
        "-o",
        "../out/x",
    ],
    &["learn", "features", "--dstat", "osd=../in/table.csv", "--clients", "FILE", "-o", "../out/x"],
    &["ask", "../in/run", "--history", "FILE"],
    &["ask", "FILE"],
    &["trace", "FILE", "1"],
    &["export", "FILE", "-o", "../out/x"],
];

/// A sandbox with what the readers need beside the file.
fn prepared() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.clear();
    fs::write(sandbox.input("table.csv"), "a,y\n1,2\n2,3\n3,5\n4,4\n").unwrap();
    fs::write(sandbox.input("clients.csv"), "epoch,read_iops\n1,2\n").unwrap();
    fs::write(sandbox.input("validate"), "R 0 100 8 5000 1000\n").unwrap();
    fs::write(sandbox.input("tiny.toml"), TINY).unwrap();
    let at = |name: &str| sandbox.input(name).display().to_string();
    succeed(["run", &at("tiny.toml"), "-o", &at("run")]);
    sandbox
}

fn with_file<'a>(arguments: &[&'a str], file: &'a str) -> Vec<String> {
    arguments.iter().map(|word| word.replace("FILE", file)).collect()
}

#[test]
fn what_never_ends_is_refused() {
    let sandbox = prepared();
    let made = Command::new("mkfifo").arg(sandbox.input("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()));
    for file in ["/dev/zero", "../in/pipe", "../in"] {
        for reader in READERS {
            let arguments = with_file(reader, file);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            is_refused(&sandbox, &arguments, &[]);
        }
    }
}

#[test]
fn files_of_ten_gigabytes_are_refused_before_they_are_read() {
    let sandbox = prepared();
    // they take no room on the disk: nothing, and nothing behind a first line
    File::create(sandbox.input("nothing")).unwrap().set_len(10 << 30).unwrap();
    fs::write(sandbox.input("begun"), "a,b,y\n1,2,3\n").unwrap();
    File::options().write(true).open(sandbox.input("begun")).unwrap().set_len(10 << 30).unwrap();
    fs::write(sandbox.input("json"), "{\"jobs\": [").unwrap();
    File::options().write(true).open(sandbox.input("json")).unwrap().set_len(10 << 30).unwrap();
    for file in ["../in/nothing", "../in/begun", "../in/json"] {
        for reader in READERS {
            let arguments = with_file(reader, file);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            is_refused(&sandbox, &arguments, &[]);
        }
    }
    is_refused(&sandbox, &["run", "../in/x.toml"], &["there is no scenario"]);
    fs::rename(sandbox.input("nothing"), sandbox.input("x.toml")).unwrap();
    is_refused(&sandbox, &["run", "../in/x.toml"], &["larger than 4 MiB", "a scenario"]);
    let learn = ["learn", "train", "--data", "../in/begun", "--target", "y", "--model", "lrm"];
    is_refused(&sandbox, &learn, &["row 3 is longer than 16 MiB"]);
    is_refused(&sandbox, &["import", "fio-json", "../in/json"], &["larger than 16 MiB", "fio"]);
}

#[test]
fn records_that_no_run_has_are_named() {
    for (sql, fragments) in [
        ("UPDATE request SET client = 0", ["row 1 of `request`, `client` is 0", "runs the workload"]),
        ("UPDATE request SET ts_ns = -1", ["row 1 of `request`, `ts_ns` is -1", "from 0 to 2^62"]),
        (
            "UPDATE request SET ts_ns = 9223372036854775807 WHERE rowid = 7",
            ["row 7 of `request`, `ts_ns` is 9223372036854775807", "from 0 to 2^62"],
        ),
        ("UPDATE request SET workload = 9", ["`workload` is 9", "workload of the configuration"]),
        ("UPDATE request SET file = 3", ["`file` is 3", "the workload's volume"]),
        ("UPDATE request SET size = 0", ["`size` is 0", "from 1 to 2^32 - 1"]),
        ("UPDATE request SET size = 1 << 33", ["`size` is 8589934592", "from 1 to 2^32 - 1"]),
        ("UPDATE request SET offset = 1 << 40", ["`offset` is 1099511627776", "within the volume"]),
        ("UPDATE request SET breadcrumb = 5", ["`breadcrumb` is 5", "not under way"]),
        ("UPDATE request SET ts_ns = 0 WHERE phase = 1", ["`ts_ns` is 0", "was issued"]),
        ("UPDATE facts SET value = -5 WHERE path = 'measured'", ["`measured`", "from 0 to 2^62"]),
        (
            "UPDATE facts SET value = replace(value, '\"depth\":', '\"depth\":99999999')
             WHERE path LIKE 'device.%.measured'",
            ["the measurement of a device", "a `depth` that no device has"],
        ),
        (
            "DROP TABLE facts; CREATE VIEW facts AS WITH RECURSIVE more(x) AS
             (SELECT 1 UNION ALL SELECT x + 1 FROM more) SELECT x AS path, x AS value, '' AS unit FROM more",
            ["is not a `run.db`", "its `facts` is not a table"],
        ),
    ] {
        let sandbox = prepared();
        let db = Connection::open(sandbox.input("run/run.db")).unwrap();
        db.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        drop(db);
        is_refused(&sandbox, &["ask", "../in/run"], &fragments);
    }
}

/// The sweep with only this changed.
fn sweep(constraint: &str, count: &str) -> String {
    format!(
        "scenario = \"tiny.toml\"\nconstraints = [{constraint:?}]\n[factor.outstanding]\n\
         path = \"workload.load.outstanding\"\nrange = [1, 4]\ncount = {count}\n"
    )
}

#[test]
fn conditions_and_designs_have_limits() {
    let sandbox = Sandbox::new();
    sandbox.clear();
    fs::write(sandbox.input("tiny.toml"), TINY).unwrap();
    let parentheses =
        |depth: usize| format!("{}outstanding > 1{}", "(".repeat(depth), ")".repeat(depth));
    let long = vec!["outstanding > 0"; 20_000].join(" and ");
    for (constraint, count, fragment) in [
        (parentheses(400).as_str(), "2", "50 deep at most"),
        (parentheses(5000).as_str(), "2", "1000 names, numbers and signs at most"),
        (long.as_str(), "2", "1000 names, numbers and signs at most"),
        ("outstanding > 0", "1000000000", "`count` is a whole number from 0 to 10000000"),
    ] {
        fs::write(sandbox.input("sweep.toml"), sweep(constraint, count)).unwrap();
        is_refused(&sandbox, &["sweep", "../in/sweep.toml", "--check"], &[fragment]);
    }
    let second = "[factor.access]\npath = \"workload.load.access\"\nrange = [\"4 KiB\", \"64 KiB\"]\n\
                  count = 10000\n";
    let text = sweep("outstanding > 0", "10000") + second;
    fs::write(sandbox.input("sweep.toml"), text).unwrap();
    let fragments = ["100000000 points", "10000000 at most", "sobol"];
    is_refused(&sandbox, &["sweep", "../in/sweep.toml", "--check"], &fragments);
}

/// Within the time that each command has.
#[test]
fn a_scenario_that_is_wrong_everywhere_is_refused_in_time() {
    let sandbox = prepared();
    let keys: Vec<String> = (0..150_000).map(|key| format!("key{key} = 1")).collect();
    for (text, end) in [
        (format!("a = {{{}", ",".repeat(1_000_000)), "more"),
        (keys.join("\n"), "more"),
        ("[".repeat(1_000_000), "not TOML"),
    ] {
        fs::write(sandbox.input("wrong.toml"), text).unwrap();
        is_refused(&sandbox, &["run", "../in/wrong.toml"], &[end]);
    }
}

#[test]
fn nesting_has_limits() {
    let sandbox = prepared();
    let within = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
    for depth in [500, 300_000] {
        let key = vec!["a"; depth].join(".");
        for (name, text, command) in [
            ("x.toml", format!("x = {}", within("[", "]", depth)), &["run", "../in/x.toml"][..]),
            ("x.toml", format!("{key} = 1"), &["run", "../in/x.toml"]),
            ("x.toml", format!("[{key}]"), &["run", "../in/x.toml"]),
            ("x.toml", format!("[[{key}]]"), &["sweep", "../in/x.toml", "--check"]),
            ("x.toml", format!("{key} = 1"), &["sweep", "../in/x.toml", "--check"]),
            ("x.toml", format!("{key} = 1"), &["replay-disk", "../in/x.toml", "../in/validate"]),
            ("x.json", within("{\"a\":", "}", depth), &["import", "fio-json", "../in/x.json"]),
            ("x.json", within("[", "]", depth), &["learn", "show", "../in/x.json"]),
            (
                "runs/truth.json",
                within("{\"a\":", "}", depth),
                &["estimate", "--run", "../in/runs"],
            ),
            (
                "x.parv",
                within("disksim_disk A { x = ", " }", depth),
                &["import", "diskspecs", "../in/x.parv"],
            ),
            (
                "x.parv",
                format!("x y {{ z = {}", within("[", "]", depth)),
                &["import", "diskspecs", "../in/x.parv"],
            ),
        ] {
            fs::write(sandbox.input(name), text).unwrap();
            is_refused(&sandbox, command, &[]);
        }
        let xml = within("<a>", "</a>", depth);
        fs::write(sandbox.input("load.xml"), xml).unwrap();
        let (cluster, _) = TINY.split_once("[workload.load]").unwrap();
        let load = "[workload.load]\nvolume = \"data\"\nclient = \"app0\"\nkind = \"cosbench\"\nfile = \"load.xml\"\n";
        fs::write(sandbox.input("x.toml"), format!("{cluster}{load}")).unwrap();
        is_refused(&sandbox, &["run", "../in/x.toml"], &["too deep"]);
        let change = format!("a={}", within("[", "]", depth.min(60_000)));
        is_refused(&sandbox, &["run", "../in/tiny.toml", "--set", &change], &[]);
        let change = format!("{}=1", vec!["a"; depth.min(60_000)].join("."));
        is_refused(&sandbox, &["run", "../in/tiny.toml", "--set", &change], &[]);
    }
}

#[test]
fn trees_that_are_none_are_refused() {
    let sandbox = prepared();
    let table = sandbox.input("table.csv").display().to_string();
    let model = sandbox.input("model.json").display().to_string();
    succeed([
        "learn",
        "train",
        "--data",
        &table,
        "--target",
        "y",
        "--model",
        "cart:minsplit=2,cp=0",
        "-o",
        &model,
    ]);
    let whole = fs::read_to_string(&model).unwrap();
    let begin = whole.find("\"nodes\":[").unwrap() + "\"nodes\":[".len();
    let end = begin + whole[begin..].find(']').unwrap();
    let node = |left: usize, right: usize| {
        format!(
            "{{\"rows\":1,\"mean\":1.0,\"deviance\":1.0,\"split\":{{\"column\":0,\"cut\":1.0,\"left\":{left},\
             \"right\":{right}}}}},"
        )
    };
    let leaf = "{\"rows\":1,\"mean\":1.0,\"deviance\":1.0,\"split\":null}";
    // each node twice the child of the one before: shown, it would have 2^1000 leaves
    let twice: String = (0..1000).map(|place| node(place + 1, place + 1)).collect();
    fs::write(&model, format!("{}{twice}{leaf}{}", &whole[..begin], &whole[end..])).unwrap();
    is_refused(&sandbox, &["learn", "show", "../in/model.json"], &["it does not have"]);
    // a tree of 50,000 levels is one, and is shown without ten gigabytes of indentation
    let deep: String =
        (0..50_000).map(|level| node(2 * level + 1, 2 * level + 2) + leaf + ",").collect();
    fs::write(&model, format!("{}{deep}{leaf}{}", &whole[..begin], &whole[end..])).unwrap();
    let arguments = ["learn", "show", "../in/model.json"].map(str::to_owned);
    let ended = sandbox.run(&arguments, false).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
}
