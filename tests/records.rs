//! Activity records agree with what clients saw and resources did.

use crate::common;

use common::*;
use foretell_ati::RecordKind;
use foretell_ati::rusqlite::Connection;
use foretell_ati::rusqlite::types::Value as Cell;
use serde_json::Value;

/// Tracking that costs nothing, so that runs with different selections are the same run.
const FREE: [&str; 2] = ["--set", "tracking.overhead=false"];
/// `SMALL`'s warm-up, and the nanoseconds measured after it.
const WARM_NS: i64 = 200_000_000;
const MEASURED_NS: i64 = 1_000_000_000;

/// A recorded run of `SMALL`: its store and its truth.
fn recorded(place: &Place, name: &str, more: &[&str]) -> (Connection, Value) {
    let dir = place.keep(name, &[&FREE[..], more].concat());
    (store(&dir), truth_of(&dir))
}

fn named(db: &Connection, table: &str) -> Vec<(i64, String)> {
    let id = table.trim_end_matches('s');
    let pair = |row: Vec<Cell>| match (&row[0], &row[1]) {
        (Cell::Integer(id), Cell::Text(name)) => (*id, name.clone()),
        other => panic!("{other:?}"),
    };
    rows(db, &format!("SELECT {id}, name FROM {table}")).into_iter().map(pair).collect()
}

/// (host, `ts_ns`, breadcrumb) of all records.
fn headers() -> String {
    RecordKind::ALL
        .map(|kind| format!("SELECT host, ts_ns, breadcrumb FROM {}", kind.name()))
        .join(" UNION ALL ")
}

/// All rows of a table but for the time: a clock reads a nanosecond more for each record of the
/// same moment, and so less where fewer are kept.
fn timeless_rows(db: &Connection, table: &str, filter: &str) -> Vec<Vec<Cell>> {
    let names = rows(db, &format!("SELECT name FROM pragma_table_info('{table}')"));
    let columns: Vec<String> = names
        .into_iter()
        .filter_map(|row| match &row[0] {
            Cell::Text(name) if name != "ts_ns" => Some(name.clone()),
            _ => None,
        })
        .collect();
    rows(db, &format!("SELECT {} FROM {table} {filter} ORDER BY rowid", columns.join(", ")))
}

#[test]
fn requests_are_those_that_clients_made() {
    let (db, truth) = recorded(&Place::with(SMALL), "out", &[]);
    let count =
        |phase| integer(&db, &format!("SELECT count(*) FROM request WHERE phase = {phase}"));
    assert_eq!(truth["requests_issued"], count(0));
    assert_eq!(truth["requests_completed"], count(1));
    assert_eq!(truth["requests_in_flight"], count(0) - count(1));
    for (workload, name) in named(&db, "workloads") {
        let responses = integers(
            &db,
            &format!(
                "SELECT ended.ts_ns - begun.ts_ns FROM request AS ended
                 JOIN request AS begun USING (breadcrumb) WHERE ended.phase = 1 AND begun.phase = 0
                 AND ended.workload = {workload} AND ended.ts_ns >= {WARM_NS}"
            ),
        );
        let seen = &truth["workloads"][&name];
        assert_eq!(seen["requests"], responses.len());
        let sum: i64 = responses.iter().map(|row| row[0]).sum();
        let mean_ms = sum as f64 / responses.len() as f64 / 1e6;
        let seen_ms = seen["response_time_ms"]["mean"].as_f64().unwrap();
        // records of one moment are nanoseconds apart
        assert!((mean_ms - seen_ms).abs() < 1e-4, "{name}: {mean_ms} of {seen_ms} ms");
    }
}

#[test]
fn caches_and_disks_did_what_is_recorded() {
    let (db, truth) = recorded(&Place::with(SMALL), "out", &[]);
    for (host, name) in named(&db, "hosts") {
        if !name.starts_with("brick") {
            continue;
        }
        let pages = |table: &str| {
            let sql = format!(
                "SELECT ifnull(sum(size), 0) FROM {table} WHERE host = {host} AND ts_ns >= {WARM_NS}"
            );
            integer(&db, &sql) / 4096
        };
        let (hits, misses) = (pages("buffer_read_hit"), pages("buffer_read_miss"));
        let cache = &truth["caches"][&name];
        assert_eq!(cache["pages_read"], hits + misses);
        let rate = cache["read_hit_rate"].as_f64().unwrap();
        assert!((rate - hits as f64 / (hits + misses) as f64).abs() < 1e-12);
        let done = format!(
            "SELECT count(*) FROM disk_op WHERE host = {host} AND phase = 1 AND ts_ns >= {WARM_NS}"
        );
        assert_eq!(truth["hosts"][&name]["disk0"]["operations"], integer(&db, &done));
    }
    // a read of `stream` is 16 KiB of one node's file: each page of it a hit or a miss
    let partial = "SELECT count(*) FROM request AS r WHERE op = 0 AND phase = 1 AND workload = 0
        AND 16384 <> (SELECT ifnull(sum(size), 0) FROM buffer_read_hit WHERE breadcrumb = r.breadcrumb)
            + (SELECT ifnull(sum(size), 0) FROM buffer_read_miss WHERE breadcrumb = r.breadcrumb)";
    assert_eq!(integer(&db, partial), 0);
    // what completes was issued; what was not yet complete is at most what disks may hold
    let ops = |phase| integer(&db, &format!("SELECT count(*) FROM disk_op WHERE phase = {phase}"));
    assert!((0..100).contains(&(ops(0) - ops(1))), "{} issued, {} complete", ops(0), ops(1));
    // a flush carries the breadcrumb of a write that dirtied those pages before
    let strange = "SELECT count(*) FROM buffer_flush AS flush WHERE NOT EXISTS (
        SELECT 1 FROM buffer_write AS w WHERE w.host = flush.host AND w.file = flush.file
        AND w.breadcrumb = flush.breadcrumb AND w.ts_ns < flush.ts_ns
        AND w.offset / 4096 * 4096 <= flush.offset
        AND w.offset + w.size + 4095 >= flush.offset + flush.size)";
    assert_eq!(integer(&db, strange), 0);
    assert!(integer(&db, "SELECT count(*) FROM buffer_flush") > 100);
}

#[test]
fn processors_and_links_were_as_busy_as_recorded() {
    let (db, truth) = recorded(&Place::with(SMALL), "out", &[]);
    let end = WARM_NS + MEASURED_NS;
    for (host, name) in named(&db, "hosts") {
        // one core each: busy from a switch to a process until the next switch
        let switches = integers(
            &db,
            &format!(
                "SELECT ts_ns, newprocess FROM kernel_process_switch WHERE host = {host}
                 ORDER BY ts_ns"
            ),
        );
        let until = switches.iter().skip(1).map(|next| next[0]).chain([end]);
        let busy: i64 = switches
            .iter()
            .zip(until)
            .filter(|(switch, _)| switch[1] != 0)
            .map(|(switch, until)| (until.min(end) - switch[0].max(WARM_NS)).max(0))
            .sum();
        let seen = truth["hosts"][&name]["cpu"]["utilization"].as_f64().unwrap();
        let recorded = busy as f64 / MEASURED_NS as f64;
        assert!((recorded - seen).abs() < 1e-4 * seen + 1e-6, "{name}: {recorded} of {seen}");
        // 8 ns a byte at 1 Gbit/s; what is sent around either end of the measuring is in doubt
        let sql = format!(
            "SELECT ifnull(sum(numbytes), 0) FROM network_transmit
             WHERE sender = {host} AND ts_ns BETWEEN {WARM_NS} AND {end}"
        );
        let seen = truth["hosts"][&name]["nic_transmit"]["utilization"].as_f64().unwrap();
        let recorded = integer(&db, &sql) as f64 * 8.0 / MEASURED_NS as f64;
        assert!((recorded - seen).abs() < 0.002, "{name}: {recorded} of {seen}");
    }
}

#[test]
fn headers_are_unique_and_lead_to_requests() {
    // with the records of shipping records, too
    let dir = Place::with(SMALL);
    let db = store(&dir.keep("out", &[]));
    let headers = headers();
    let twice = format!(
        "SELECT count(*) FROM (SELECT 1 FROM ({headers}) GROUP BY host, ts_ns HAVING count(*) > 1)"
    );
    assert_eq!(integer(&db, &twice), 0, "a timestamp is unique on its host");
    let strays = format!(
        "SELECT count(*) FROM ({headers}) WHERE breadcrumb <> 0
         AND breadcrumb NOT IN (SELECT breadcrumb FROM request WHERE phase = 0)"
    );
    assert_eq!(integer(&db, &strays), 0);
}

#[test]
fn a_sample_keeps_whole_requests_and_nothing_of_others() {
    let place = Place::with(SMALL);
    let (all, truth) = recorded(&place, "all", &[]);
    let (sample, same) = recorded(&place, "sample", &["--set", "record=every 1/7 requests"]);
    assert_eq!(timeless(truth), timeless(same), "sampling for nothing changes nothing");
    let kept = integers(&sample, "SELECT DISTINCT breadcrumb FROM request");
    let issued = integer(&all, "SELECT count(DISTINCT breadcrumb) FROM request");
    // 1784 / 7 = 255, standard deviation 15
    assert!(
        (issued / 10..issued / 5).contains(&i64::try_from(kept.len()).unwrap()),
        "{} of {issued}",
        kept.len()
    );
    let list: Vec<String> = kept.iter().map(|row| row[0].to_string()).collect();
    let filter = format!("WHERE breadcrumb = 0 OR breadcrumb IN ({})", list.join(", "));
    for kind in RecordKind::ALL {
        // a switch from a request that was kept to one that was not is of the first in the sample
        let to_others = match kind {
            RecordKind::KernelProcessSwitch => "WHERE oldprocess <> pid OR newprocess = 0",
            RecordKind::UserThreadSwitch => "WHERE oldthread <> tid",
            _ => "",
        };
        let wanted = timeless_rows(&all, kind.name(), &filter);
        assert!(wanted == timeless_rows(&sample, kind.name(), to_others), "{}", kind.name());
    }
}

#[test]
fn a_sampled_request_has_the_processor_time_that_it_has_among_all() {
    let place = Place::with(SMALL);
    let more = ["--set", "workload.stream.outstanding=8"];
    let sampled = [&FREE[..], &more, &["--set", "record=every 1/7 requests"]].concat();
    let all = place.keep("all", &[&FREE[..], &more].concat());
    let sample = place.keep("sample", &sampled);
    let processor_ms = |dir: &std::path::Path, breadcrumb: i64| -> f64 {
        let text = succeed(["trace", dir.to_str().unwrap(), &breadcrumb.to_string(), "--json"]);
        let document: Value = serde_json::from_str(&text).unwrap();
        let steps = document["steps"].as_array().unwrap();
        let on_cpu = steps.iter().filter(|step| step["resource"] == "cpu");
        on_cpu.map(|step| step["service_ms"].as_f64().unwrap()).sum()
    };
    let kept = "SELECT DISTINCT breadcrumb FROM request WHERE phase = 1 LIMIT 40";
    for row in integers(&store(&sample), kept) {
        let (of_all, of_sample) = (processor_ms(&all, row[0]), processor_ms(&sample, row[0]));
        assert!((of_all - of_sample).abs() < 1e-4, "{}: {of_all}, {of_sample} ms", row[0]);
    }
}

#[test]
fn the_documented_hit_rate_is_the_true_one() {
    let (db, truth) = recorded(&Place::with(SMALL), "out", &[]);
    let docs = std::fs::read_to_string(root().join("docs/records.md")).unwrap();
    let example = docs.split("Read hit rate of each node").nth(1).unwrap();
    let sql = example.split("```").nth(1).unwrap().trim_start_matches("sql");
    let found = rows(&db, sql);
    assert!(found.len() >= 3);
    for row in found {
        let (Cell::Text(host), Cell::Real(rate)) = (&row[0], &row[1]) else { panic!("{row:?}") };
        let truly = truth["caches"][host]["read_hit_rate"].as_f64().unwrap();
        assert!((rate - truly).abs() < 1e-12, "{host}: {rate} of {truly}");
    }
}

#[test]
fn only_the_types_asked_for_are_kept() {
    let place = Place::with(SMALL);
    let (all, _) = recorded(&place, "all", &[]);
    let types = "tracking.types=[\"disk_op\", \"request\"]";
    let (some, _) = recorded(&place, "some", &["--set", types]);
    for kind in RecordKind::ALL {
        let found = timeless_rows(&some, kind.name(), "");
        if [RecordKind::DiskOp, RecordKind::Request].contains(&kind) {
            assert!(!found.is_empty() && found == timeless_rows(&all, kind.name(), ""));
        } else {
            assert!(found.is_empty(), "{}", kind.name());
        }
    }
}

#[test]
fn a_run_without_records_keeps_its_facts() {
    let place = Place::with(SMALL);
    let (all, _) = recorded(&place, "all", &[]);
    let (none, _) = recorded(&place, "none", &["--no-records"]);
    assert_eq!(integer(&none, &format!("SELECT count(*) FROM ({})", headers())), 0);
    // the configuration says what is recorded, too
    let others = "SELECT path, value FROM facts
                  WHERE path NOT LIKE 'records.%' AND path <> 'configuration'";
    assert_eq!(rows(&none, others), rows(&all, others));
    assert_eq!(named(&none, "hosts"), named(&all, "hosts"));
}

#[test]
fn demands_by_workload_add_up_to_what_resources_did() {
    let (db, truth) = recorded(&Place::with(SMALL), "out", &["--set", "warmup=0 s"]);
    let seconds = truth["simulated_seconds"].as_f64().unwrap();
    let mut compared = 0;
    for (host, resources) in truth["hosts"].as_object().unwrap() {
        for (resource, did) in resources.as_object().unwrap() {
            let of = format!(
                "FROM rollup_demand JOIN hosts USING (host)
                 WHERE name = '{host}' AND resource = '{resource}'"
            );
            let busy_ms =
                integer(&db, &format!("SELECT coalesce(sum(busy_ns), 0) {of}")) as f64 / 1e6;
            let operations = integer(&db, &format!("SELECT coalesce(sum(operations), 0) {of}"));
            let truly = did["utilization"].as_f64().unwrap() * seconds * 1e3;
            let done = did["operations"].as_i64().unwrap();
            compared += 1;
            match resource.as_str() {
                // what a core spends on switching threads belongs to no workload
                "cpu" => assert!(busy_ms > 0.0, "{host}"),
                // a message is charged when it is handed over, and arrives later
                "nic_transmit" | "nic_receive" => {
                    assert!((busy_ms - truly).abs() < 0.01 * truly + 5.0, "{host} {resource}");
                    assert!((operations - done).abs() <= 20, "{host} {resource}");
                }
                // an operation is charged when it is done; one may be in service at the end
                _ => {
                    assert_eq!(operations, done, "{host} {resource}");
                    assert!(busy_ms <= truly + 1e-3 && truly < busy_ms + 50.0, "{host} {resource}");
                }
            }
        }
    }
    assert!(compared > 10);
    // sampling changes records, not the accounts
    let sampled = ["--set", "warmup=0 s", "--set", "record=every 1/10 requests"];
    let (sampled, _) = recorded(&Place::with(SMALL), "sampled", &sampled);
    let all = "SELECT * FROM rollup_demand";
    assert_eq!(rows(&db, all), rows(&sampled, all));
}

#[test]
fn every_key_of_the_truth_is_documented() {
    fn keys(value: &Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
        let Some(map) = value.as_object() else { return };
        for (key, value) in map {
            // names of workloads, volumes, hosts, resources and kinds of devices are not keys
            if !["workloads", "volumes", "survives", "serves", "hosts", "caches", "host"]
                .contains(&path)
            {
                found.insert(key.clone());
            }
            let below = if path == "hosts" { "host" } else { key.as_str() };
            keys(value, below, found);
        }
    }
    let truth = truth(&succeed(Place::with(SMALL).arguments(&["--json", "--set", "payload=real"])));
    let docs = std::fs::read_to_string(root().join("docs/commands.md")).unwrap();
    let section = docs.split("### `truth.json`").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut found = std::collections::BTreeSet::new();
    keys(&truth, "", &mut found);
    assert!(found.len() > 30, "{found:?}");
    for key in found {
        let named = [format!("`{key}`"), format!("`{key}.")];
        assert!(named.iter().any(|name| section.contains(name)), "`{key}` is not documented");
    }
}

#[test]
fn a_recorded_run_of_virtual_machines_can_be_run_again() {
    let text = SMALL.replace(
        "[node.brick]\n",
        "[node.brick]\nmachine = { count = 2, bandwidth = \"500 Mbit/s\" }\n",
    );
    let place = Place::with(&text);
    let dir = place.keep("first", &[]);
    let truth = truth_of(&dir);
    let resources = |host: &str| -> Vec<String> {
        truth["hosts"][host].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(resources("brick1"), ["cpu", "disk0", "nic_receive", "nic_transmit"]);
    assert_eq!(resources("brick2"), ["cpu"]);
    // disk operations are the virtual machines', though the disk is the machine's
    let db = store(&dir);
    let hosts = integer(&db, "SELECT count(DISTINCT host) FROM disk_op");
    assert_eq!(hosts, 4);
    let again = place.path("again");
    succeed(["run", dir.join("run.toml").to_str().unwrap(), "-o", again.to_str().unwrap()]);
    assert_eq!(timeless(truth), timeless(truth_of(&again)));
    // and the machines can be asked about
    let change = "node.brick.machine.bandwidth=100 Mbit/s";
    succeed(["ask", dir.to_str().unwrap(), "--what-if", change]);
}
