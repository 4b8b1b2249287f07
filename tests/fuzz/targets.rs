//! What is fuzzed: for each reader, how a case's files and its command line are made.

use std::fs;
use std::path::Path;

use foretell_units::Stream;

use crate::corpus::{Corpus, TINY};
use crate::mutate::{below, bytes, hostile_number, hostile_text, one_of, text};
use crate::sandbox::Sandbox;
use crate::store;

/// A reader.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    /// Writes a case's files and gives its arguments.
    pub(crate) build: fn(&mut Case<'_>) -> Vec<String>,
    /// Whether it may take long, and is asked to end then.
    pub(crate) long: bool,
}

const fn short(name: &'static str, build: fn(&mut Case<'_>) -> Vec<String>) -> Target {
    Target { name, build, long: false }
}

const fn long(name: &'static str, build: fn(&mut Case<'_>) -> Vec<String>) -> Target {
    Target { name, build, long: true }
}

/// All of them.
pub(crate) static TARGETS: [Target; 29] = [
    long("scenario", scenario),
    long("scenario-file", scenario_file),
    long("set", set),
    long("what-if", what_if),
    long("sweep", sweep),
    long("condition", condition),
    long("trace", trace),
    long("trace-binary", trace_binary),
    long("fio-json", fio_json),
    long("fio-job", fio_job),
    long("cosbench", cosbench),
    short("dstat", dstat),
    short("joined", joined),
    short("diskspecs", diskspecs),
    long("device", device),
    short("validate", validate),
    long("learn", learn),
    short("folds", folds),
    short("model", model),
    short("journal", journal),
    short("manifest", manifest),
    short("data-set", data_set),
    long("store-ask", store_ask),
    short("store-trace", store_trace),
    short("store-export", store_export),
    long("score", score),
    short("truth", truth),
    short("points", points),
    short("history", history),
];

/// A case while it is made.
pub(crate) struct Case<'a> {
    pub(crate) stream: Stream,
    pub(crate) corpus: &'a Corpus,
    pub(crate) sandbox: &'a Sandbox,
}

impl Case<'_> {
    /// One of a kind, as it is.
    fn plain(&mut self, kind: &str) -> Vec<u8> {
        let all = self.corpus.all(kind);
        all.get(below(&mut self.stream, all.len())).cloned().unwrap_or_default()
    }

    /// One of a kind, mutated as a text.
    fn text(&mut self, kind: &str) -> Vec<u8> {
        let original = self.plain(kind);
        text(&mut self.stream, &original, self.corpus.all(kind))
    }

    /// The same, as a text that a command line takes.
    fn word(&mut self, kind: &str) -> String {
        let text = String::from_utf8_lossy(&self.text(kind)).replace('\0', "");
        text.chars().take(60_000).collect()
    }

    /// Writes a file of the input; what the command calls it.
    fn write(&mut self, name: &str, content: impl AsRef<[u8]>) -> String {
        fs::write(self.sandbox.input(name), content).unwrap();
        format!("../in/{name}")
    }

    /// Copies a directory that the command made.
    fn copy(&mut self, name: &str) -> String {
        copy(&self.corpus.made(name), &self.sandbox.input(name));
        format!("../in/{name}")
    }

    fn chance(&mut self, share: f64) -> bool {
        self.stream.chance(share)
    }

    fn one<'b>(&mut self, all: &[&'b str]) -> &'b str {
        one_of(&mut self.stream, all)
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().flatten() {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).unwrap();
    }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

fn scenario(case: &mut Case<'_>) -> Vec<String> {
    let scenario = case.text("scenario");
    let file = case.write("scenario.toml", scenario);
    match below(&mut case.stream, 4) {
        0 => words(&["run", &file, "-o", "../out/run"]),
        1 => words(&["run", &file, "--json", "--no-records"]),
        _ => words(&["run", &file]),
    }
}

/// One that comes with the project: larger, and of all kinds of systems.
fn scenario_file(case: &mut Case<'_>) -> Vec<String> {
    let scenario = case.text("scenario-file");
    let file = case.write("scenario.toml", scenario);
    let xml = case.plain("cosbench");
    case.write("cosbench.xml", xml);
    words(&["run", &file, "--set", "duration=200 ms", "--set", "warmup=0 s"])
}

fn set(case: &mut Case<'_>) -> Vec<String> {
    let file = case.write("scenario.toml", TINY);
    let mut arguments = words(&["run", &file]);
    for _ in 0..1 + below(&mut case.stream, 2) {
        arguments.extend([String::from("--set"), case.word("change")]);
    }
    arguments
}

fn what_if(case: &mut Case<'_>) -> Vec<String> {
    fs::copy(case.corpus.made("run/run.db"), case.sandbox.input("run.db")).unwrap();
    let change = case.word("change");
    let model = case.one(&["replay", "mva", "bounds"]);
    let change = format!("--what-if={change}");
    words(&["ask", "../in/run.db", "--model", model, &change])
}

fn sweep(case: &mut Case<'_>) -> Vec<String> {
    case.write("tiny.toml", TINY);
    let kind = if case.chance(0.7) { "sweep" } else { "sweep-file" };
    let sweep = case.text(kind);
    let file = case.write("sweep.toml", sweep);
    if case.chance(0.8) {
        words(&["sweep", &file, "--check"])
    } else {
        words(&["sweep", &file, "-o", "../out/set", "--jobs", "2"])
    }
}

fn condition(case: &mut Case<'_>) -> Vec<String> {
    case.write("tiny.toml", TINY);
    let condition = case.word("condition");
    let written = if case.chance(0.5) {
        format!("'''{}'''", condition.replace("'''", "''"))
    } else {
        format!("{condition:?}")
    };
    let sweep = String::from_utf8_lossy(&case.corpus.all("sweep")[0]).into_owned();
    let sweep = if case.chance(0.5) {
        let line = sweep.lines().find(|line| line.starts_with("constraints")).unwrap().to_owned();
        sweep.replace(&line, &format!("constraints = [{written}]"))
    } else {
        sweep.replace("\"outstanding == 4\"", &written)
    };
    let file = case.write("sweep.toml", sweep);
    words(&["sweep", &file, "--check"])
}

/// What is done with a trace.
fn with_trace(case: &mut Case<'_>, file: &str, format: &str) -> Vec<String> {
    let mut arguments = match below(&mut case.stream, 9) {
        0 => words(&["import", format, file]),
        1 => words(&["import", "auto", file, "-o", "../out/own.csv.gz"]),
        2 => words(&["inspect", file, "-o", "../out/inspected"]),
        3 => words(&["inspect", file, "--format", format, "--json"]),
        4 => {
            words(&["replay-cache", file, "--format", format, "--policy", "all", "--size", "2,10%"])
        }
        5 => words(&["replay-cache", file, "--pages", "4KiB", "--size", "64KiB", "--curve"]),
        6 => words(&["replay-cache", file, "--by-size", "--size", "1MiB", "--policy", "lru"]),
        _ => return words(&["run", file, "--set", &format!("workload.replay.format={format}")]),
    };
    if case.chance(0.4) {
        arguments.push("--skip-bad".to_owned());
    }
    if case.chance(0.1) {
        arguments.extend(["--block".to_owned(), case.one(&["1 B", "1 PiB", "512 B"]).to_owned()]);
    }
    arguments
}

fn trace(case: &mut Case<'_>) -> Vec<String> {
    let formats = [
        "csv",
        "msr",
        "alibaba",
        "tencent",
        "spc",
        "fio-iolog",
        "blkparse",
        "disksim",
        "foretell",
        "block-list",
        "trace",
    ];
    let kind = case.one(&formats);
    let format = if kind == "trace" { "csv" } else { kind };
    let content = case.text(kind);
    let file = case.write("trace.txt", content);
    with_trace(case, &file, format)
}

fn trace_binary(case: &mut Case<'_>) -> Vec<String> {
    let kind = case.one(&["oracle-general", "vscsi", "packed"]);
    let original = case.plain(kind);
    let content = bytes(&mut case.stream, &original);
    let format = if kind == "packed" { case.one(&["msr", "foretell"]) } else { kind };
    let name = if kind == "oracle-general" { "trace.oracleGeneral.bin" } else { "trace.vscsi" };
    let file = case.write(name, content);
    with_trace(case, &file, format)
}

fn fio_json(case: &mut Case<'_>) -> Vec<String> {
    let json = case.text("fio-json");
    let file = case.write("fio/a.json", json);
    let good = case.plain("fio-json");
    let more = case.write("fio/b.json", good);
    match below(&mut case.stream, 4) {
        0 => words(&["import", "fio-json", &file, "-o", "../out/fio.csv"]),
        1 => words(&["estimate", "--fio", "../in/fio", "--read", "50,75", "--skip"]),
        2 => words(&["calibrate", "disk", "--fio", &file, "--json"]),
        _ => words(&["calibrate", "disk", "--fio", &file, &more, "-o", "../out/mine.toml"]),
    }
}

fn fio_job(case: &mut Case<'_>) -> Vec<String> {
    let jobs = case.text("fio-job");
    case.write("jobs.fio", jobs);
    let file = case.write("scenario.toml", with_program("fio", "jobs.fio"));
    words(&["run", &file])
}

fn cosbench(case: &mut Case<'_>) -> Vec<String> {
    let xml = case.text("cosbench");
    case.write("load.xml", xml);
    let file = case.write("scenario.toml", with_program("cosbench", "load.xml"));
    words(&["run", &file, "-o", "../out/run"])
}

/// The tiny cluster under a load of a benchmark's own file.
fn with_program(kind: &str, file: &str) -> String {
    let (cluster, _) = TINY.split_once("[workload.load]").unwrap();
    format!(
        "{cluster}[workload.load]\nvolume = \"data\"\nclient = \"app0\"\nkind = \"{kind}\"\nfile = \"{file}\"\n"
    )
}

fn dstat(case: &mut Case<'_>) -> Vec<String> {
    let (dstat, clients) = if case.chance(0.7) {
        (case.text("dstat"), case.plain("clients"))
    } else {
        (case.plain("dstat"), case.text("clients"))
    };
    let dstat = format!("osd={}", case.write("dstat.csv", dstat));
    let clients = case.write("clients.csv", clients);
    let window = case.one(&["1", "2", "60", "0.001"]);
    words(&[
        "learn",
        "features",
        "--dstat",
        &dstat,
        "--clients",
        &clients,
        "--window",
        window,
        "-o",
        "../out/features.csv",
    ])
}

fn joined(case: &mut Case<'_>) -> Vec<String> {
    let joined = case.text("joined");
    let joined = format!("osd={}", case.write("joined.csv", joined));
    words(&["learn", "features", "--joined", &joined, "--window", "2", "-o", "../out/features.csv"])
}

fn diskspecs(case: &mut Case<'_>) -> Vec<String> {
    let kinds = [
        ("parv", "a.parv"),
        ("diskspecs", "barracuda.diskspecs"),
        ("model-file", "barracuda.model"),
        ("seek", "barracuda.seek"),
    ];
    let bad = below(&mut case.stream, kinds.len());
    for (place, (kind, name)) in kinds.into_iter().enumerate() {
        let content = if place == bad { case.text(kind) } else { case.plain(kind) };
        if !content.is_empty() {
            case.write(name, content);
        }
    }
    words(&["import", "diskspecs", "../in/a.parv", "-o", "../out/drive.toml"])
}

fn device(case: &mut Case<'_>) -> Vec<String> {
    let device = case.text("device");
    let file = case.write("devices/mine.toml", device);
    if case.chance(0.3) {
        let trace = case.plain("validate");
        let trace = case.write("trace", trace);
        return words(&["replay-disk", &file, &trace]);
    }
    let scenario = TINY.replace("cheetah-15k", "mine");
    let file = case.write("scenario.toml", scenario);
    words(&["run", &file])
}

fn validate(case: &mut Case<'_>) -> Vec<String> {
    let trace = case.text("validate");
    let trace = case.write("trace", trace);
    let device = case.one(&["barracuda-4lp", "cheetah-15k"]);
    words(&["replay-disk", device, &trace])
}

/// A model with its parameters, some of them strange.
fn spec(case: &mut Case<'_>) -> String {
    let spec = case.one(&[
        "lrm",
        "ridge",
        "lasso",
        "elasticnet",
        "mars:degree=2,nnodes=21",
        "cart:cp=0,minsplit=2",
        "m5",
        "cubist:ntrees=3,ninstances=5",
        "forest:ntrees=3",
        "boost:ntrees=5",
        "inside-out",
        "pca",
        "two-level",
        "tree",
    ]);
    if case.chance(0.85) {
        return spec.to_owned();
    }
    let number = hostile_number(&mut case.stream);
    match spec.rsplit_once('=') {
        Some((before, _)) => format!("{before}={number}"),
        None => format!("{spec}:{}={number}", hostile_text(&mut case.stream)),
    }
    .replace('\0', "")
}

fn learn(case: &mut Case<'_>) -> Vec<String> {
    let kind = if case.chance(0.8) { "table" } else { "table-file" };
    let table = case.text(kind);
    let table = case.write("table.csv", table);
    let spec = spec(case);
    let mut arguments = match below(&mut case.stream, 4) {
        0 => words(&["learn", "evaluate", "--data", &table, "--target", "y", "--model", &spec]),
        1 => words(&[
            "learn",
            "search",
            "--data",
            &table,
            "--target",
            "y",
            "--model",
            &spec,
            "--iterations",
            "2",
        ]),
        _ => words(&[
            "learn",
            "train",
            "--data",
            &table,
            "--target",
            "y",
            "--model",
            &spec,
            "-o",
            "../out/model.json",
        ]),
    };
    if case.chance(0.2) {
        arguments.push("--log-target".to_owned());
    }
    if case.chance(0.2) {
        arguments.extend(words(&["--factor", case.one(&["a", "kind", "b"])]));
    }
    arguments
}

fn folds(case: &mut Case<'_>) -> Vec<String> {
    let (table, folds) = (case.plain("table"), case.text("folds"));
    let (table, folds) = (case.write("table.csv", table), case.write("folds.csv", folds));
    words(&[
        "learn", "evaluate", "--data", &table, "--target", "y", "--model", "lrm", "--folds", &folds,
    ])
}

fn model(case: &mut Case<'_>) -> Vec<String> {
    let model = case.text("model");
    let model = case.write("model.json", model);
    if case.chance(0.4) {
        return words(&["learn", "show", &model]);
    }
    let table = case.plain("table");
    let table = case.write("table.csv", table);
    words(&["learn", "predict", &model, "--data", &table])
}

/// What is done with shards of a sweep.
fn with_shards(case: &mut Case<'_>) -> Vec<String> {
    let shards = "../in/shards";
    match below(&mut case.stream, 3) {
        0 => words(&["sweep", "missing", shards]),
        1 => words(&["sweep", "merge", shards, "-o", "../out/set"]),
        _ => words(&["sweep", "merge", shards, "-o", "../out/set", "--csv"]),
    }
}

fn journal(case: &mut Case<'_>) -> Vec<String> {
    case.copy("shards");
    let path = case.sandbox.input("shards/shards/1-of-2/runs.journal");
    let path =
        if path.exists() { path } else { first_journal(&case.sandbox.input("shards/shards")) };
    let whole = fs::read(&path).unwrap();
    let changed =
        if case.chance(0.5) { bytes(&mut case.stream, &whole) } else { rows_changed(case, &whole) };
    fs::write(&path, changed).unwrap();
    with_shards(case)
}

fn first_journal(shards: &Path) -> std::path::PathBuf {
    let mut found: Vec<_> = fs::read_dir(shards).unwrap().flatten().map(|e| e.path()).collect();
    found.sort();
    found[0].join("runs.journal")
}

/// A journal whose frames are whole, with other rows in them.
fn rows_changed(case: &mut Case<'_>, whole: &[u8]) -> Vec<u8> {
    // two lines, then frames: length, checksum, run, content
    let head = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    let mut changed = whole[..head].to_vec();
    let mut rest = &whole[head..];
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize;
        let mut run = u64::from_le_bytes(rest[8..16].try_into().unwrap());
        let mut content = rest[16..16 + length].to_vec();
        rest = &rest[16 + length..];
        if case.chance(0.3) {
            let json = zstd::stream::decode_all(&content[..]).unwrap();
            let json = text(&mut case.stream, &json, &[]);
            content = zstd::bulk::compress(&json, 1).unwrap();
        }
        if case.chance(0.1) {
            run = [0, 1, 7, u64::MAX, 1 << 40][below(&mut case.stream, 5)];
        }
        let mut sum = crc32fast::Hasher::new();
        sum.update(&run.to_le_bytes());
        sum.update(&content);
        changed.extend((content.len() as u32).to_le_bytes());
        changed.extend(sum.finalize().to_le_bytes());
        changed.extend(run.to_le_bytes());
        changed.extend(content);
    }
    changed
}

fn manifest(case: &mut Case<'_>) -> Vec<String> {
    case.copy("shards");
    let manifest = case.text("manifest");
    case.write("shards/sweep.json", manifest);
    with_shards(case)
}

fn data_set(case: &mut Case<'_>) -> Vec<String> {
    let set = if case.chance(0.6) { "set" } else { "parquet" };
    case.copy(set);
    let data = case.sandbox.input(&format!("{set}/data"));
    let mut files: Vec<_> = fs::read_dir(data).unwrap().flatten().map(|e| e.path()).collect();
    files.sort();
    match below(&mut case.stream, 4) {
        0 => {
            let manifest = fs::read(case.sandbox.input(&format!("{set}/sweep.json"))).unwrap();
            let manifest = text(&mut case.stream, &manifest, &[]);
            case.write(&format!("{set}/sweep.json"), manifest);
        }
        1 => {
            let content = fs::read(case.sandbox.input(&format!("{set}/content.json"))).unwrap();
            let content = text(&mut case.stream, &content, &[]);
            case.write(&format!("{set}/content.json"), content);
        }
        _ => {
            let path = &files[below(&mut case.stream, files.len())];
            let whole = fs::read(path).unwrap();
            let changed = if set == "set" {
                text(&mut case.stream, &whole, &[])
            } else {
                bytes(&mut case.stream, &whole)
            };
            fs::write(path, changed).unwrap();
        }
    }
    let directory = format!("../in/{set}");
    let target = "load_throughput_rps";
    match below(&mut case.stream, 3) {
        0 => words(&["sweep", "merge", &directory]),
        _ => words(&[
            "learn", "train", "--data", &directory, "--target", target, "--model", "lrm",
            "--split", "all",
        ]),
    }
}

/// A run's store, altered.
fn altered(case: &mut Case<'_>, run: &str) {
    let path = case.sandbox.input("run/run.db");
    fs::copy(case.corpus.made(run).join("run.db"), &path).unwrap();
    store::alter(&mut case.stream, &path);
}

fn store_ask(case: &mut Case<'_>) -> Vec<String> {
    altered(case, "run");
    let model = case.one(&["replay", "mva", "bounds"]);
    let mut arguments = words(&["ask", "../in/run", "--model", model]);
    if case.chance(0.5) {
        let change = case.one(&[
            "volume.data.encoding=1-of-1",
            "node.brick.cache.size=1 MiB",
            "workload.load.outstanding=16",
            "node.brick.disk.0.device=sata-ssd",
            "workload.load.arrivals=poisson",
            "workload.load=none",
        ]);
        arguments.extend(words(&["--what-if", change]));
    }
    arguments
}

fn store_trace(case: &mut Case<'_>) -> Vec<String> {
    altered(case, "run");
    let breadcrumb = case.one(&["1", "5", "17", "100", "4294967295", "18446744073709551615"]);
    words(&["trace", "../in/run", breadcrumb])
}

fn store_export(case: &mut Case<'_>) -> Vec<String> {
    altered(case, "measured");
    match below(&mut case.stream, 4) {
        0 => words(&["export", "../in/run", "-o", "../out/tables"]),
        1 => words(&["export", "../in/run", "-o", "../out/tables", "--csv"]),
        2 => words(&["export", "../in/run", "-o", "../out/tables", "--dstat"]),
        _ => {
            words(&["learn", "features", "../in/run", "--window", "2", "-o", "../out/features.csv"])
        }
    }
}

fn score(case: &mut Case<'_>) -> Vec<String> {
    case.copy("run");
    let scenario = case.text("run-toml");
    case.write("run/run.toml", scenario);
    words(&["score", "../in/run", "--what-if", "volume.data.encoding=1-of-1"])
}

fn truth(case: &mut Case<'_>) -> Vec<String> {
    // an estimate needs both; half of the cases leave one of them as it was
    for (name, kind) in [("reads", "truth-of-reads"), ("writes", "truth-of-writes")] {
        let truth = if case.chance(0.5) { case.plain(kind) } else { case.text(kind) };
        case.write(&format!("runs/{name}/truth.json"), truth);
    }
    words(&["estimate", "--run", "../in/runs", "--read", "50", "--skip", "--json"])
}

fn points(case: &mut Case<'_>) -> Vec<String> {
    let mut arguments = if case.chance(0.6) {
        let points = case.text("points");
        let file = case.write("points.csv", points);
        words(&["estimate", "--csv", &file])
    } else {
        let report = case.text("report");
        case.write("reports/w1.csv", report);
        words(&["estimate", "--cosbench", "../in/reports"])
    };
    let reads = case.one(&["50", "0", "100", "33.3,66.6"]);
    arguments.extend(words(&["--read", reads, "--skip"]));
    if case.chance(0.4) {
        arguments.extend(words(&["--link-in", "10 Gbit/s", "--link-out", "10 Gbit/s"]));
    }
    if case.chance(0.3) {
        arguments.extend(words(&["--sizes", "4k:0.5,64k:0.5"]));
    }
    arguments
}

fn history(case: &mut Case<'_>) -> Vec<String> {
    fs::copy(case.corpus.made("run/run.db"), case.sandbox.input("run.db")).unwrap();
    let history = case.text("history");
    let file = case.write("history.csv", history);
    let change = "volume.data.encoding=1-of-1";
    words(&["ask", "../in/run.db", "--history", &file, "--what-if", change])
}
