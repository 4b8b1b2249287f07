//! `foretell trace`: the path of one request, step by step, agrees with its records.

use crate::common;

use std::collections::BTreeSet;
use std::path::Path;

use common::*;
use foretell_ati::rusqlite::Connection;
use serde_json::Value;

/// Tracking that costs nothing, so that batches of records do not come between.
const FREE: [&str; 2] = ["--set", "tracking.overhead=false"];

fn steps(dir: &Path, breadcrumb: i64) -> Vec<Value> {
    let printed = succeed(["trace", dir.to_str().unwrap(), &breadcrumb.to_string(), "--json"]);
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(document["breadcrumb"], breadcrumb);
    document["steps"].as_array().unwrap().clone()
}

fn ms(step: &Value, what: &str) -> f64 {
    step[what].as_f64().unwrap_or(0.0)
}

fn of<'a>(steps: &'a [Value], resource: &str) -> Vec<&'a Value> {
    steps.iter().filter(|step| step["resource"] == resource).collect()
}

/// What holds of every request's path; its response time in milliseconds.
fn is_sound(db: &Connection, breadcrumb: i64, steps: &[Value]) -> f64 {
    assert!(steps.is_sorted_by_key(|step| (ms(step, "at_ms") * 1e6).round() as u64));
    let ends = of(steps, "request");
    let descriptions: Vec<&str> = ends.iter().map(|step| step["what"].as_str().unwrap()).collect();
    assert_eq!(descriptions.len(), 2);
    assert!(
        descriptions[0].ends_with(" begins") && descriptions[1].ends_with(" is complete"),
        "{descriptions:?}"
    );
    assert_eq!((steps[0]["resource"].as_str(), ms(&steps[0], "at_ms")), (Some("request"), 0.0));
    let sql =
        format!("SELECT max(ts_ns) - min(ts_ns) FROM request WHERE breadcrumb = {breadcrumb}");
    let response = ms(ends[1], "at_ms");
    assert!((response - integer(db, &sql) as f64 / 1e6).abs() < 1e-6);
    for step in steps {
        assert!(ms(step, "waiting_ms") >= 0.0 && ms(step, "service_ms") >= 0.0, "{step}");
    }
    // every host that posted a record of the request is there, and no other
    let union = [
        "request",
        "kernel_process_switch",
        "user_thread_switch",
        "buffer_read_hit",
        "buffer_read_miss",
        "buffer_write",
        "buffer_flush",
        "network_transmit",
        "disk_op",
    ]
    .map(|table| format!("SELECT host FROM {table} WHERE breadcrumb = {breadcrumb}"))
    .join(" UNION ");
    let hosts = rows(db, &format!("SELECT name FROM hosts WHERE host IN ({union})"));
    let wanted: BTreeSet<String> = hosts
        .into_iter()
        .map(|row| match &row[0] {
            foretell_ati::rusqlite::types::Value::Text(name) => name.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    let found: BTreeSet<String> =
        steps.iter().map(|step| step["host"].as_str().unwrap().to_owned()).collect();
    assert_eq!(found, wanted);
    response
}

fn first(db: &Connection, sql: &str) -> i64 {
    integers(db, &format!("{sql} ORDER BY 1 LIMIT 1"))[0][0]
}

#[test]
fn a_read_that_missed_waits_for_one_disk() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &FREE);
    let db = store(&dir);
    let breadcrumb = first(
        &db,
        "SELECT breadcrumb FROM request WHERE op = 0 AND phase = 1 AND workload = 0
         AND breadcrumb > 1 AND breadcrumb IN (SELECT breadcrumb FROM buffer_read_miss)
         AND breadcrumb NOT IN (SELECT breadcrumb FROM buffer_read_hit)
         AND breadcrumb NOT IN (SELECT breadcrumb FROM buffer_read_ahead)",
    );
    let steps = steps(&dir, breadcrumb);
    let response = is_sound(&db, breadcrumb, &steps);
    assert_eq!(steps.last().unwrap()["resource"], "request", "a read leaves nothing behind");
    assert_eq!(of(&steps, "network").len(), 2, "to one node and back");
    let disk = of(&steps, "disk0");
    assert_eq!(disk.len(), 1);
    assert!(ms(disk[0], "service_ms") > 0.0 && ms(disk[0], "service_ms") < response);
    // one thing after the other: waiting and service are all of the response, to the microsecond
    let sum: f64 = steps.iter().map(|step| ms(step, "waiting_ms") + ms(step, "service_ms")).sum();
    assert!((sum - response).abs() < 1e-3, "{sum} of {response} ms");
}

#[test]
fn a_write_goes_to_all_replicas_and_its_flush_is_on_its_path() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &FREE);
    let db = store(&dir);
    let breadcrumb = first(
        &db,
        "SELECT DISTINCT breadcrumb FROM request JOIN buffer_flush AS flush USING (breadcrumb)
         WHERE op = 1 AND phase = 1 AND workload = 0 AND flush.ts_ns > request.ts_ns",
    );
    let steps = steps(&dir, breadcrumb);
    let response = is_sound(&db, breadcrumb, &steps);
    // 1-of-2: two messages to nodes, two back
    assert_eq!(of(&steps, "network").len(), 4);
    let begins_with = |step: &&&Value, word: &str| step["what"].as_str().unwrap().starts_with(word);
    let cache = of(&steps, "cache");
    assert_eq!(cache.iter().filter(|step| begins_with(step, "write: ")).count(), 2);
    let late = cache
        .iter()
        .filter(|step| begins_with(step, "buffer_flush ") && ms(step, "at_ms") > response);
    assert!(late.count() > 0, "it was flushed after it was complete");
}

#[test]
fn a_partial_write_of_a_coded_block_reads_first() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &FREE);
    let db = store(&dir);
    let breadcrumb = first(
        &db,
        "SELECT breadcrumb FROM request WHERE op = 1 AND phase = 1 AND workload = 1
         AND breadcrumb IN (SELECT breadcrumb FROM buffer_read_miss)",
    );
    let steps = steps(&dir, breadcrumb);
    is_sound(&db, breadcrumb, &steps);
    // 2-of-3: two nodes are asked for the block and three get it, and all answer
    assert_eq!(of(&steps, "network").len(), 2 * (2 + 3));
    let at = |word: &str| {
        let is = |step: &Value| step["what"].as_str().unwrap().starts_with(word);
        steps.iter().position(is).unwrap_or_else(|| panic!("no step `{word}`"))
    };
    assert!(at("miss: ") < at("write: "));
    // processors are nearly idle: a thread that sleeps until all nodes have answered does not wait for one
    let waits = |step: &&Value| ms(step, "waiting_ms");
    let longest = of(&steps, "cpu").iter().map(waits).fold(0.0, f64::max);
    let disk = of(&steps, "disk0").iter().map(|step| ms(step, "service_ms")).fold(0.0, f64::max);
    assert!(longest < disk / 10.0, "{longest} of {disk} ms: {steps:#?}");
}

#[test]
fn the_table_has_the_steps_of_the_document_and_nothing_is_touched() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &FREE);
    let before = std::fs::read(dir.join("run.db")).unwrap();
    let steps = steps(&dir, 100);
    let table = succeed(["trace", dir.to_str().unwrap(), "100"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 1 + steps.len());
    for title in ["ms", "host", "resource", "what", "waiting ms", "service ms"] {
        assert!(lines[0].contains(title), "{}", lines[0]);
    }
    for (line, step) in lines[1..].iter().zip(&steps) {
        assert!(line.contains(step["what"].as_str().unwrap()), "{line}");
    }
    // the store itself may be given, too
    assert_eq!(succeed(["trace", dir.join("run.db").to_str().unwrap(), "100"]), table);
    assert_eq!(files(&dir), ["run.db", "run.toml", "truth.json"]);
    assert!(std::fs::read(dir.join("run.db")).unwrap() == before);
}

#[test]
fn a_run_without_records_says_so() {
    let place = Place::with(SMALL);
    let dir = place.keep("out", &["--no-records"]);
    let done = run(["trace", dir.to_str().unwrap(), "5"]);
    assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""));
    assert!(done.stderr.contains("has no records: the run kept none"), "{}", done.stderr);
}

/// One node that two clients ask for the same page, or write to faster than its disk takes.
const CROWDED: &str = r#"
seed     = 3
warmup   = "0 s"
duration = "2 s"

[node.brick]
cpu   = "xeon-2023"
cache = { size = "1 MiB", read_ahead = "0 B" }
disk  = ["cheetah-15k"]
nic   = { rate = "1 Gbit/s", latency = "50 us" }

[client.app]
cpu = "xeon-2023"
nic = { rate = "1 Gbit/s", latency = "50 us" }

[volume.data]
size  = "1 GiB"
nodes = "brick"

[workload.load]
volume      = "data"
client      = "app"
kind        = "ssio"
reads       = "100%"
pattern     = "sequential"
access      = "2 KiB"
working_set = "512 MiB"
outstanding = 2

[tracking]
overhead = false
"#;

#[test]
fn who_finds_a_page_that_another_reads_waits_for_it() {
    // two reads at once of the two halves of each page: the second finds it on its way
    let place = Place::with(CROWDED);
    let dir = place.keep("out", &[]);
    let db = store(&dir);
    let steps = steps(&dir, 2);
    let response = is_sound(&db, 2, &steps);
    let mentions = |step: &&Value, words: &str| step["what"].as_str().unwrap().contains(words);
    let waits: Vec<&Value> =
        steps.iter().filter(|step| mentions(step, "another request")).collect();
    assert_eq!(waits.len(), 1);
    assert_eq!(of(&steps, "disk0").len(), 0, "it reads nothing itself");
    assert!(ms(waits[0], "waiting_ms") > 0.5 * response, "the disk takes most of the time");
    let sum: f64 = steps.iter().map(|step| ms(step, "waiting_ms") + ms(step, "service_ms")).sum();
    assert!((sum - response).abs() < 1e-3, "{sum} of {response} ms");
}

#[test]
fn a_writer_waits_until_there_is_room_for_dirty_pages() {
    let place = Place::with(CROWDED);
    let change =
        |path: &str, value: &str| ["--set".to_owned(), format!("workload.load.{path}={value}")];
    let changes = [
        change("reads", "0%"),
        change("pattern", "random"),
        change("access", "64 KiB"),
        change("outstanding", "16"),
    ];
    let changes: Vec<&str> = changes.iter().flatten().map(String::as_str).collect();
    let dir = place.keep("out", &changes);
    let db = store(&dir);
    // 400 KiB may be dirty: the first six writes go through, the hundredth waits
    let first = steps(&dir, 1);
    let late = steps(&dir, 100);
    is_sound(&db, 1, &first);
    is_sound(&db, 100, &late);
    let write = |steps: &[Value]| {
        let is = |step: &&&Value| step["what"].as_str().unwrap().starts_with("write: ");
        ms(of(steps, "cache").iter().find(is).unwrap(), "waiting_ms")
    };
    assert!(write(&first) < 1e-6);
    assert!(write(&late) > 1.0, "{} ms", write(&late));
}
