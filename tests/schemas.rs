//! The documents of `--json` are as `docs/schemas` says, and have no keys that it does not name.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;

use common::measured::{CONFIG, POINTS};
use common::{data, foretell, succeed};
use foretell_ati::rusqlite::Connection;
use serde_json::Value;

/// What is wrong with a document, with its place. Knows the keywords that our schemas use; a key that a
/// schema does not name is wrong here, though not for those who read documents.
fn faults(schema: &Value, document: &Value, place: &str, found: &mut Vec<String>) {
    let keys = schema.as_object().unwrap();
    for (keyword, wanted) in keys {
        match keyword.as_str() {
            "$schema" | "title" | "description" | "properties" => {}
            "const" if document == wanted => {}
            "type" if is_of(document, wanted) => {}
            "required" => {
                let Some(object) = document.as_object() else { continue };
                let missing = wanted.as_array().unwrap().iter().filter_map(Value::as_str);
                let missing = missing.filter(|key| !object.contains_key(*key));
                found.extend(missing.map(|key| format!("{place} has no `{key}`")));
            }
            "items" => {
                for item in document.as_array().into_iter().flatten() {
                    faults(wanted, item, &format!("{place}[]"), found);
                }
            }
            "additionalProperties" => {
                for (key, value) in document.as_object().into_iter().flatten() {
                    faults(wanted, value, &format!("{place}.{key}"), found);
                }
            }
            "const" | "type" => found.push(format!("{place} is {document:.60}, not {wanted}")),
            other => panic!("{place}: the keyword `{other}` is not known to this test"),
        }
    }
    if let Some(object) = document.as_object()
        && !keys.contains_key("additionalProperties")
    {
        for (key, value) in object {
            match keys.get("properties").and_then(|known| known.get(key)) {
                Some(known) => faults(known, value, &format!("{place}.{key}"), found),
                None => found.push(format!("{place}.{key} is in no schema")),
            }
        }
    }
}

fn is_of(document: &Value, wanted: &Value) -> bool {
    let is = |name: &str| match name {
        "null" => document.is_null(),
        "boolean" => document.is_boolean(),
        "integer" => document.is_u64() || document.is_i64(),
        "number" => document.is_number(),
        "string" => document.is_string(),
        "array" => document.is_array(),
        "object" => document.is_object(),
        other => panic!("no type is called `{other}`"),
    };
    match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => false,
    }
}

/// Documents by the names of their schemas.
fn documents(directory: &Path) -> Vec<(&'static str, Vec<String>)> {
    let path = |name: &str| directory.join(name).display().to_string();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let brief = "--set warmup=100ms --set duration=600ms";
    let (data, model, blocks, run) =
        (path("d.csv"), path("m.json"), path("blocks.txt"), path("run"));
    let rows = (0..80).map(|row| {
        let (a, b) = (f64::from(row % 9), f64::from(row * 7 % 11));
        format!("{a},{b},{}\n", 1.0 + a + b * b)
    });
    std::fs::write(&data, format!("a,b,y\n{}", rows.collect::<String>())).unwrap();
    let accesses = (0..500).map(|number| format!("{}\n", number * 7919 % 61));
    std::fs::write(&blocks, accesses.collect::<String>()).unwrap();
    succeed(words(&format!("run first-look {brief} -o {run}")));
    let [sweep, config, points, few, twin] =
        ["sweep.toml", "config.json", "points.csv", "few.csv", "twin"].map(path);
    let factor = "path = 'workload.mail.outstanding'\nvalues = [1, 2]";
    let text =
        format!("title = 't'\nscenario = 'run/run.toml'\nreplicates = 1\n[factor.o]\n{factor}\n");
    let mixes = "bs,read_percent,iops\n4096,0,1000\n4096,100,4000\n4096,70,2000\n65536,0,300\n65536,100,900\n";
    let rows: Vec<&str> = POINTS.lines().collect();
    let chosen = [rows[0], rows[3], rows[4], ""].join("\n");
    for (name, text) in [
        ("sweep.toml", &*text),
        ("mixes.csv", mixes),
        ("config.json", CONFIG),
        ("points.csv", POINTS),
        ("few.csv", &*chosen),
    ] {
        std::fs::write(directory.join(name), text).unwrap();
    }
    let database = Connection::open(Path::new(&run).join("run.db")).unwrap();
    let sql = "SELECT breadcrumb FROM request LIMIT 1";
    let breadcrumb: i64 = database.query_row(sql, [], |row| row.get(0)).unwrap();
    // no spaces: it is cut into words
    let crash = "--what-if event.e={at='200ms',what='fail',host='brick3',for='200ms'}";
    let learn = format!("--data {data} --target y --model cart");
    let commands = [
        ("run", format!("run first-look --no-records {brief}")),
        ("run", format!("run swift --no-records {brief}")),
        ("run", format!("run hedge --no-records {brief}")),
        ("run", format!("run hedge --no-records {brief} --set scrub.rate=20MB/s")),
        ("run", format!("run solid-state --no-records {brief}")),
        ("run", format!("run array-server --no-records {brief}")),
        ("runs", format!("run first-look --no-records --replicates 2 {brief}")),
        ("runs", format!("run hedge --no-records --replicates 2 {brief}")),
        ("ask", format!("ask {run} --what-if volume.mail.encoding=3-of-5")),
        ("ask", format!("ask {run} --model bounds")),
        ("ask", format!("ask {run} --what-if volume.mail.hedge=20ms")),
        ("ask", format!("ask {run} --what-if scrub.rate=20MB/s")),
        ("ask", format!("ask {run} {crash}")),
        ("score", format!("score {run} {crash}")),
        ("ask", format!("ask {run} --what-if workload.mail.reads=30%")),
        ("score", format!("score {run} --what-if workload.mail.outstanding=8")),
        ("score", format!("score {run} --what-if workload.mail.reads=80%")),
        ("trace", format!("trace {run} {breadcrumb}")),
        ("replay-cache", format!("replay-cache {blocks} --policy all --size 10% --curve")),
        ("replay-cache", format!("replay-cache {blocks} --sample 50%")),
        ("inspect", format!("inspect {blocks}")),
        ("list", "list".to_owned()),
        ("list", "list devices".to_owned()),
        ("learn-train", format!("learn train {learn} -o {model}")),
        ("learn-evaluate", format!("learn evaluate {learn} --model lrm --intervals")),
        ("learn-predict", format!("learn predict {model} --data {data}")),
        ("learn-search", format!("learn search {learn}")),
        ("learn-explain", format!("learn explain {learn}")),
        ("learn-score", format!("learn score {learn} --test {data}")),
        ("calibrate-cpu", "calibrate cpu".to_owned()),
        ("init", format!("init {}", path("mine.toml"))),
        ("show", "show sata-ssd".to_owned()),
        ("report", format!("report {run} -o {}", path("page.html"))),
        ("import-trace", format!("import auto {blocks} -o {}", path("blocks.trace"))),
        ("estimate", format!("estimate --csv {} --read 30,70", path("mixes.csv"))),
        ("sweep-check", format!("sweep {sweep} --check")),
        ("sweep", format!("sweep {sweep} -o {}", path("set"))),
        ("sweep-shard", format!("sweep {sweep} --shard 1/2 -o {}", path("shards"))),
        ("sweep-shard", format!("sweep {sweep} --shard 2/2 -o {}", path("shards"))),
        ("sweep-missing", format!("sweep missing {}", path("shards"))),
        ("import-cluster", format!("import cluster {config} --points {points} -o {twin}")),
        ("validate", format!("validate {twin} --points {points}")),
        (
            "calibrate-cluster",
            format!("calibrate cluster {twin} --points {few} --predict {points}"),
        ),
    ];
    commands.map(|(name, command)| (name, words(&format!("{command} --json")))).into()
}

#[test]
fn documents_are_as_their_schemas_say() {
    let directory = tempfile::tempdir().unwrap();
    let mut all = documents(directory.path());
    if let (Some(report), Some(fio)) =
        (data("ceph-reports/report-04.json"), data("fio/randrw-interleaved"))
    {
        let report = report.display().to_string();
        let words = |command: &[&str]| command.iter().map(|&word| word.to_owned()).collect();
        all.push(("import-ceph", words(&["import", "ceph", &report, "--check", "--json"])));
        let plan = ["plan", &report, "--what-if", "osd.3=out", "--upmap", "stay", "--json"];
        all.push(("plan", words(&plan)));
        let fio = |run: &str| fio.join(run).display().to_string();
        let (writes, reads) = (fio("c1-4k-0.json"), fio("c1-4k-100.json"));
        let device = directory.path().join("device.toml").display().to_string();
        let disk =
            ["calibrate", "disk", "--fio", &writes, &reads, "--capacity", "200GiB", "-o", &device];
        all.push(("calibrate-disk", words(&[&disk[..], &["--json"]].concat())));
    }
    let mut schemas: BTreeMap<&str, Value> = BTreeMap::new();
    for (name, command) in all {
        let schema = schemas.entry(name).or_insert_with(|| {
            serde_json::from_str(&succeed(["schema", name])).expect("a schema is JSON")
        });
        let document: Value = serde_json::from_str(&succeed(&command)).unwrap();
        let mut found = Vec::new();
        faults(schema, &document, name, &mut found);
        assert!(found.is_empty(), "{command:?}:\n{}", found.join("\n"));
    }
}

#[test]
fn a_document_that_differs_is_found() {
    let schema: Value = serde_json::from_str(&succeed(["schema", "list"])).unwrap();
    let of = |text: &str| {
        let mut found = Vec::new();
        faults(&schema, &serde_json::from_str(text).unwrap(), "list", &mut found);
        found
    };
    assert_eq!(of(r#"{"schema_version": 1, "kinds": []}"#), [""; 0]);
    assert_eq!(of(r#"{"kinds": []}"#), ["list has no `schema_version`"]);
    assert_eq!(of(r#"{"schema_version": 1, "kinds": 2}"#), ["list.kinds is 2, not \"array\""]);
    assert_eq!(of(r#"{"schema_version": 1, "kinds": [], "x": 0}"#), ["list.x is in no schema"]);
}

#[test]
fn an_unknown_document_is_named() {
    let done = foretell().args(["schema", "rum"]).output().unwrap();
    let error = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2));
    assert!(error.contains("no document is called `rum`; did you mean `run`?"), "{error}");
}
