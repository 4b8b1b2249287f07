//! `foretell report`: what a page holds of each kind of result, and that nothing in them becomes markup.

use crate::common;

use std::fs;
use std::path::Path;

use common::{Place, SMALL, run, succeed, truth_of};
use foretell_ati::rusqlite::Connection;
use serde_json::{Value, json};

/// The page of `results`, and its outline.
fn page(results: &[&Path]) -> (String, Value) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("page.html");
    let results = results.iter().map(|path| path.display().to_string());
    let mut arguments = vec!["report".to_owned(), "--json".to_owned()];
    arguments.extend(results);
    arguments.extend(["-o".to_owned(), file.display().to_string()]);
    let outline: Value = serde_json::from_str(&succeed(arguments)).unwrap();
    let html = fs::read_to_string(file).unwrap();
    assert_eq!(outline["bytes"], html.len());
    (html, outline)
}

/// What a report that is refused says.
fn refused(arguments: &[&str]) -> String {
    let done = run([&["report"], arguments].concat());
    assert_eq!(done.status, Some(2), "{}", done.stderr);
    done.stderr
}

fn headings(outline: &Value) -> Vec<&str> {
    let sections = outline["sections"].as_array().unwrap();
    sections.iter().map(|section| section["heading"].as_str().unwrap()).collect()
}

fn parts(outline: &Value) -> impl Iterator<Item = &Value> {
    let sections = outline["sections"].as_array().unwrap().iter();
    sections.flat_map(|section| section["parts"].as_array().unwrap())
}

fn table<'a>(outline: &'a Value, title: &str) -> &'a Value {
    parts(outline)
        .find(|part| part["kind"] == "table" && part["title"] == title)
        .unwrap_or_else(|| panic!("no table `{title}`"))
}

fn chart<'a>(outline: &'a Value, title: &str) -> Option<&'a Value> {
    parts(outline).find(|part| part["kind"] == "chart" && part["title"] == title)
}

/// A cell of a table, by the first two cells of its row and the name of its column.
fn cell<'a>(table: &'a Value, row: [&str; 2], column: &str) -> &'a str {
    let place =
        table["columns"].as_array().unwrap().iter().position(|name| name == column).unwrap();
    let mut rows = table["rows"].as_array().unwrap().iter();
    let found = rows.find(|cells| cells[0] == row[0] && cells[1] == row[1]).unwrap();
    found[place].as_str().unwrap()
}

/// What the page calls the busiest resource of a document.
fn verdict(busiest: &Value) -> &'static str {
    let busy = busiest["utilization"].as_f64().unwrap();
    if busy < 0.8 { "busiest" } else { "bottleneck" }
}

fn number(cell: &str) -> f64 {
    cell.trim_end_matches([' ', '*', '%']).parse().unwrap()
}

#[test]
fn a_run_is_shown_as_its_truth_has_it() {
    let place = Place::with(SMALL);
    let kept = place.keep("kept", &[]);
    let (html, outline) = page(&[&kept]);
    assert_eq!(
        headings(&outline),
        [
            "What clients saw",
            "The cluster",
            "Over time",
            "Distribution of response times",
            "Resources over time",
            "Where time goes",
            "Single requests"
        ]
    );
    let charts =
        ["Throughput", "Response time", "Requests under way", "Response time by percentile"];
    for title in charts.into_iter().chain(["Utilization", "Queues of disks", "Hit rates of caches"])
    {
        let summary = chart(&outline, title).unwrap_or_else(|| panic!("no chart `{title}`"));
        assert!(summary["summary"].as_str().unwrap().len() > 20, "{title} has no words");
    }
    let truth = truth_of(&kept);
    let bottleneck = &truth["bottleneck"];
    let (host, resource) =
        (bottleneck["host"].as_str().unwrap(), bottleneck["resource"].as_str().unwrap());
    let verdict = verdict(bottleneck);
    assert!(html.contains(&format!("aria-label=\"{host}, the {verdict}: ")), "{host}");
    assert_eq!(html.contains("class=\"host bottleneck\""), verdict == "bottleneck");
    assert!(html.contains(&format!("The busiest resource is {resource} of {host}")));
    // what the records say is what the clients saw
    let percentiles = table(&outline, "Response time in milliseconds");
    let time = table(&outline, "Mean milliseconds of a request");
    let mut summed = 0;
    for (name, seen) in truth["workloads"].as_object().unwrap() {
        assert_eq!(cell(percentiles, [name, "all"], "requests"), seen["requests"].to_string());
        for (column, key) in [("mean", "mean"), ("p50", "p50"), ("p99", "p99"), ("max", "max")] {
            let truth = seen["response_time_ms"][key].as_f64().unwrap();
            let shown = number(cell(percentiles, [name, "all"], column));
            assert!((shown / truth - 1.0).abs() < 0.006, "{name} {key}: {shown}, not {truth}");
        }
        // where all requests are in the sample the parts make up the mean exactly
        if seen["requests"].as_u64().unwrap() <= 1000 {
            let [whole, mean] = [(time, "together"), (percentiles, "mean")];
            assert_eq!(cell(whole.0, [name, "all"], whole.1), cell(mean.0, [name, "all"], mean.1));
            summed += 1;
        }
    }
    assert!(summed > 0);
    assert!(html.len() < 1_000_000, "{}", html.len());
}

#[test]
fn uplinks_are_drawn_with_the_network() {
    let place = Place::with(SMALL);
    let slow = "switch.uplink=\"10 Mbit/s\"";
    let racks = "node.brick.rack=[\"left\", \"right\"]";
    let kept = place.keep("racks", &["--set", slow, "--set", racks, "--set", "duration=\"5 s\""]);
    let (html, _) = page(&[&kept]);
    let truth = truth_of(&kept);
    let bottleneck = &truth["bottleneck"];
    assert!(bottleneck["resource"].as_str().unwrap().starts_with("uplink_"), "{bottleneck}");
    let rack = bottleneck["host"].as_str().unwrap();
    let verdict = verdict(bottleneck);
    assert!(html.contains(&format!("aria-label=\"uplink of {rack}, the {verdict}: from core ")));
    assert!(html.contains("2 uplinks of racks"));
    let answer = succeed(["ask", kept.to_str().unwrap(), "--json"]);
    fs::write(place.path("ask.json"), &answer).unwrap();
    let (html, _) = page(&[&place.path("ask.json")]);
    let verdict = self::verdict(&serde_json::from_str::<Value>(&answer).unwrap()["bottleneck"]);
    assert!(html.contains(&format!("aria-label=\"uplink of {rack}, the {verdict}: from core ")));
}

/// The utilization of disks over time must average to that of the truth: 1 s, all of it measured.
#[test]
fn what_is_drawn_over_time_averages_to_the_truth() {
    let place = Place::with(SMALL);
    let kept = place.keep("kept", &[]);
    let (html, _) = page(&[&kept]);
    let data = chart_data(&html, "Utilization");
    let truth = truth_of(&kept);
    let mut compared = 0;
    for (row, values) in
        data["rows"].as_array().unwrap().iter().zip(data["values"].as_array().unwrap())
    {
        let (host, resource) = row.as_str().unwrap().split_once(' ').unwrap();
        if !resource.starts_with("disk") {
            continue;
        }
        let values: Vec<f64> =
            values.as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let truth = 100.0 * truth["hosts"][host][resource]["utilization"].as_f64().unwrap();
        assert!((mean - truth).abs() < 1.0, "{row}: {mean} %, not {truth} %");
        compared += 1;
    }
    assert!(compared >= 4, "{compared}");
}

/// The data of a chart, as the browser reads them.
fn chart_data(html: &str, title: &str) -> Value {
    let mut blocks = html.split("<script type=\"application/json\"").skip(1).map(|block| {
        let text = block.split_once('>').unwrap().1.split_once("</script>").unwrap().0;
        serde_json::from_str::<Value>(text).unwrap()
    });
    let mut found = blocks.find(|block| block["name"] == title).unwrap();
    found["data"].take()
}

#[test]
fn a_page_loads_nothing_and_is_the_same_each_time() {
    let place = Place::with(SMALL);
    let kept = place.keep("kept", &[]);
    let (html, _) = page(&[&kept]);
    assert!(html.starts_with("<!DOCTYPE html>"));
    assert!(html.contains("default-src 'none'"));
    for loading in
        ["src=\"http", "href=\"http", "url(http", "@import", "fetch(", "XMLHttpRequest", "import("]
    {
        assert!(!html.contains(loading), "{loading}");
    }
    assert_eq!(page(&[&kept]).0, html);
}

#[test]
fn runs_are_compared() {
    let place = Place::with(SMALL);
    let slow = place.keep("slow", &[]);
    let fast = place.keep("fast", &["--set", "node.brick.cache.size=48MiB"]);
    let (html, outline) = page(&[&slow, &fast]);
    // each section once, whatever the number of runs
    assert_eq!(
        headings(&outline),
        [
            "Designs",
            "Side by side",
            "What clients saw",
            "The cluster",
            "Over time",
            "Distribution of response times",
            "Resources over time",
            "Where time goes",
            "Single requests"
        ]
    );
    let designs = table(&outline, "The designs, by what decides between them");
    assert_eq!(designs["columns"], json!(["", "slow", "fast"]));
    let rows = designs["rows"].as_array().unwrap();
    let row = |label: &str| {
        let found = rows.iter().find(|row| row[0] == label);
        found.unwrap_or_else(|| panic!("no row `{label}` in {designs}"))
    };
    for (column, dir) in [(1, &slow), (2, &fast)] {
        let truth = truth_of(dir);
        let p99 = truth["workloads"]["stream"]["response_time_ms"]["p99"].as_f64().unwrap();
        let shown = number(row("stream: p99 ms")[column].as_str().unwrap());
        assert!((shown / p99 - 1.0).abs() < 0.006, "{shown}, not {p99}");
        assert_eq!(row("mirror: survives any")[column], "1 device or 1 host");
        let limit = row("limit")[column].as_str().unwrap();
        assert!(limit.starts_with(verdict(&truth["bottleneck"])), "{limit}");
    }
    // charts of both runs stand side by side
    let utilization: Vec<&Value> = parts(&outline)
        .filter(|part| part["kind"] == "chart" && part["title"] == "Utilization")
        .map(|part| &part["of"])
        .collect();
    assert_eq!(utilization, ["slow", "fast"]);
    let differences = table(&outline, "What clients saw, and by how much the runs differ");
    let mean = |dir: &Path| {
        truth_of(dir)["workloads"]["stream"]["response_time_ms"]["mean"].as_f64().unwrap()
    };
    let wanted = 100.0 * (mean(&fast) / mean(&slow) - 1.0);
    let shown = cell(differences, ["stream", "mean ms"], "fast against slow");
    assert_eq!(shown, format!("{wanted:+.1} %"));
    let data = chart_data(&html, "Throughput over time");
    let lines: Vec<&Value> =
        data["views"][0]["series"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(lines, ["slow", "fast"]);
    let many = vec![slow.to_str().unwrap(); 7];
    assert!(
        refused(&[many.as_slice(), &["-o", "x.html"]].concat()).contains("too many for a page")
    );
}

/// [`SMALL`], in which a host is down for a while.
fn failing(place: &Place, name: &str, more: &[&str]) -> std::path::PathBuf {
    let event = r#"event.crash={ at = "1 s", what = "fail", host = "brick1", for = "800 ms" }"#;
    let recovery = r#"recovery={ heartbeat = "100 ms", grace = "200 ms", timeout = "100 ms" }"#;
    let set = ["--set", "duration=4s", "--set", event, "--set", recovery];
    place.keep(name, &[set.as_slice(), more].concat())
}

#[test]
fn failures_are_shown_as_the_truth_has_them() {
    let place = Place::with(SMALL);
    let kept = failing(&place, "kept", &[]);
    let truth = truth_of(&kept);
    let (html, outline) = page(&[&kept]);
    assert_eq!(headings(&outline)[2], "Failures and recovery");
    // second by second, what the truth has
    let line = chart_data(&html, "throughput through failures");
    let seconds = truth["timeline"].as_array().unwrap();
    let values = &line["views"][0]["series"][0]["values"];
    for (place, second) in seconds.iter().enumerate() {
        assert_eq!(values[place].as_f64(), second["requests"].as_f64(), "second {place}");
    }
    // the tail of each workload, beside the mean of all
    let times = chart_data(&html, "response time through failures");
    assert_eq!(times["views"][0]["name"], "p99 by workload");
    let names: Vec<&Value> =
        times["views"][0]["series"].as_array().unwrap().iter().map(|line| &line["name"]).collect();
    assert!(names.contains(&&json!("stream")) && names.contains(&&json!("update")), "{names:?}");
    // the phases one after the other, to the end
    let changes = truth["phase_changes"].as_array().unwrap();
    let bands = line["bands"].as_array().unwrap();
    assert_eq!(bands.len(), changes.len());
    for (place, (band, change)) in bands.iter().zip(changes).enumerate() {
        assert_eq!(band["name"], change["phase"]);
        assert_eq!(band["from"], change["at_s"]);
        let end = changes.get(place + 1).map_or(4.0, |next| next["at_s"].as_f64().unwrap());
        assert_eq!(band["to"], end);
    }
    assert!(bands.len() >= 3, "{bands:?}");
    let labels: Vec<&Value> =
        line["marks"].as_array().unwrap().iter().map(|mark| &mark["label"]).collect();
    assert_eq!(labels, ["brick1 fails", "brick1 returns"]);
    // tables: phases of each workload, and recoveries
    let phases = table(&outline, "What clients saw in each phase");
    let rows = phases["rows"].as_array().unwrap();
    let of_truth = truth["phases"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * of_truth.len());
    assert_eq!(rows[0][0], "before");
    let seen = &of_truth[0]["workloads"]["stream"];
    assert_eq!(rows[0][2], "stream");
    assert_eq!(rows[0][10], seen["requests"].to_string());
    assert_eq!(rows[0][11], seen["failed_requests"].to_string());
    let recoveries = table(&outline, "Recoveries");
    let first = &truth["recoveries"][0];
    let shown = number(cell(recoveries, ["brick1", "catch-up"], "written MB"));
    let written = first["bytes_written"].as_f64().unwrap() / 1e6;
    assert!((shown / written - 1.0).abs() < 0.01, "{shown}, not {written}");
    let objects = cell(recoveries, ["brick1", "catch-up"], "objects");
    assert_eq!(objects, first["objects"].to_string());
    let events = table(&outline, "Events")["rows"].as_array().unwrap();
    assert_eq!(events[0], json!(["1", "1", "crash", "brick1", "fails"]));
}

#[test]
fn time_lines_of_two_runs_with_failures_are_side_by_side() {
    let place = Place::with(SMALL);
    let one = failing(&place, "one", &[]);
    let other = failing(&place, "other", &["--set", "event.crash.at=2 s", "--set", "duration=5s"]);
    let whole = place.keep("whole", &[]);
    let (html, outline) = page(&[&one, &other, &whole]);
    assert_eq!(headings(&outline)[1], "Side by side");
    let side = &outline["sections"][1]["parts"];
    let titles: Vec<&str> =
        side.as_array().unwrap().iter().filter_map(|part| part["title"].as_str()).collect();
    for name in ["one", "other"] {
        for what in ["throughput", "response time"] {
            let title = format!("{name}: {what} through failures");
            assert!(titles.contains(&title.as_str()), "{titles:?}");
        }
    }
    let lines = ["one", "other"]
        .map(|name| chart_data(&html, &format!("{name}: throughput through failures")));
    // the same axes: what is higher is more, what is further right is later
    assert_eq!(lines[0]["y"]["max"], lines[1]["y"]["max"]);
    let last = |line: &Value| line["xs"].as_array().unwrap().last().cloned().unwrap();
    assert_eq!(last(&lines[0]), last(&lines[1]));
    assert_eq!(
        (&lines[0]["marks"][0]["at"], &lines[1]["marks"][0]["at"]),
        (&json!(1.0), &json!(2.0))
    );
    let phases = table(&outline, "What clients saw in each phase");
    let runs: std::collections::BTreeSet<&str> =
        phases["rows"].as_array().unwrap().iter().map(|row| row[0].as_str().unwrap()).collect();
    assert_eq!(runs.into_iter().collect::<Vec<_>>(), ["one", "other"]);
}

/// A cluster of thousands of hosts, names that no one would type, a run of a day: a page stays small, and says
/// what it leaves out.
#[test]
fn a_page_is_small_however_large_the_result() {
    let place = Place::with(SMALL);
    let kept = failing(&place, "kept", &[]);
    let db = Connection::open(kept.join("run.db")).unwrap();
    let long = "x".repeat(300_000);
    for table in ["hosts", "workloads", "processes", "volumes"] {
        db.execute(&format!("UPDATE {table} SET name = name || ?1"), [&long]).unwrap();
    }
    drop(db);
    let mut truth = truth_of(&kept);
    let name =
        |what: &str, number: usize| format!("{what}{}{number}", "-of-a-long-name".repeat(40));
    let host = truth["hosts"]["brick0"].clone();
    truth["hosts"] = (0..4000).map(|n| (name("host", n), host.clone())).collect();
    let stream = truth["workloads"]["stream"].clone();
    truth["workloads"] = (0..2000).map(|n| (name("workload", n), stream.clone())).collect();
    let seen = truth["phases"][0]["workloads"]["stream"].clone();
    for phase in truth["phases"].as_array_mut().unwrap() {
        phase["workloads"] = (0..2000).map(|n| (name("workload", n), seen.clone())).collect();
    }
    let second = truth["timeline"][0].clone();
    truth["timeline"] = vec![second; 20_000].into();
    let recovery = truth["recoveries"][0].clone();
    truth["recoveries"] = vec![recovery; 5000].into();
    let event = truth["happened"][0].clone();
    truth["happened"] = (0..5000)
        .map(|n| {
            let mut event = event.clone();
            (event["at_s"], event["host"]) = (json!(n), json!(name("host", n)));
            event
        })
        .collect();
    fs::write(kept.join("truth.json"), truth.to_string()).unwrap();
    let (html, outline) = page(&[&kept]);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    for sentence in [
        "Drawn are the 24 busiest of 4000 storage nodes.",
        "Shown are the 50 workloads with most requests, of 2000.",
        "Shown are the 100 recoveries that wrote most, of 5000.",
        "Shown are the 100 first events, of 5000.",
    ] {
        assert!(html.contains(sentence), "{sentence}");
    }
    assert!(
        table(&outline, "What clients saw in each phase")["rows"].as_array().unwrap().len() <= 200
    );
    // six of them beside each other
    let copies: Vec<_> = (0..6).map(|n| place.path(&format!("copy{n}"))).collect();
    for copy in &copies {
        fs::create_dir(copy).unwrap();
        for file in ["run.db", "truth.json"] {
            fs::copy(kept.join(file), copy.join(file)).unwrap();
        }
    }
    let all: Vec<&Path> = copies.iter().map(std::path::PathBuf::as_path).collect();
    let bytes = page(&all).0.len();
    assert!(bytes < 6_000_000, "{bytes} bytes");
}

#[test]
fn what_cannot_be_shown_is_said() {
    let place = Place::with(SMALL);
    let bare = place.keep("bare", &["--no-records"]);
    let (html, outline) = page(&[&bare]);
    assert!(html.contains("The run kept no records"));
    assert_eq!(headings(&outline), ["What clients saw", "The cluster"]);
    let sampled = place.keep("sampled", &["--set", "record=every 1/10 requests"]);
    let (html, outline) = page(&[&sampled]);
    assert!(html.contains("one request in 10"), "{:?}", headings(&outline));
    assert!(chart(&outline, "Throughput").is_some() && chart(&outline, "Utilization").is_none());
    // of a store alone, without the truth beside it
    let alone = place.path("alone");
    fs::create_dir(&alone).unwrap();
    fs::copy(place.keep("whole", &[]).join("run.db"), alone.join("run.db")).unwrap();
    let (html, outline) = page(&[&alone]);
    assert!(html.contains("There is no <code>truth.json</code>"));
    assert!(chart(&outline, "Utilization").is_some());
}

#[test]
fn names_in_a_store_cannot_become_markup() {
    let place = Place::with(SMALL);
    let kept = place.keep("kept", &[]);
    let evil = "</script><img src=x onerror=alert(1)>\"'><svg onload=alert(2)>";
    let db = Connection::open(kept.join("run.db")).unwrap();
    for table in ["hosts", "workloads", "processes", "volumes"] {
        db.execute(&format!("UPDATE {table} SET name = name || ?1"), [evil]).unwrap();
    }
    drop(db);
    let truth = fs::read_to_string(kept.join("truth.json")).unwrap();
    let mut truth: Value = serde_json::from_str(&truth).unwrap();
    let stream = truth["workloads"]["stream"].take();
    truth["workloads"] = json!({ evil: stream });
    fs::write(kept.join("truth.json"), truth.to_string()).unwrap();
    let (html, _) = page(&[&kept]);
    assert!(html.contains("&lt;img src=x"), "the name is not shown");
    assert!(!html.contains("<img") && !html.contains("<svg onload"));
    // those of the page itself: one for each chart, and the script
    let charts = html.matches("<script type=\"application/json\"").count();
    assert_eq!(html.matches("</script>").count(), charts + 1);
}

#[test]
fn a_damaged_store_is_refused() {
    let place = Place::with(SMALL);
    let kept = place.keep("kept", &[]);
    fs::write(kept.join("run.db"), b"SQLite format 3\0 and nothing else").unwrap();
    let output = place.path("page.html");
    let message = refused(&[kept.to_str().unwrap(), "-o", output.to_str().unwrap()]);
    assert!(message.contains("run.db"), "{message}");
    assert!(!output.exists());
}

#[test]
fn answers_and_scores_are_shown() {
    let place = Place::with(SMALL);
    let kept = place.keep("kept", &[]);
    let answer = succeed(["ask", kept.to_str().unwrap(), "--json"]);
    fs::write(place.path("ask.json"), &answer).unwrap();
    let (html, outline) = page(&[&place.path("ask.json")]);
    assert_eq!(headings(&outline), ["What clients would see", "The cluster"]);
    let verdict = verdict(&serde_json::from_str::<Value>(&answer).unwrap()["bottleneck"]);
    assert!(html.contains(&format!(", the {verdict}: ")));
    let score = json!({
        "comparisons": [
            { "workload": "a", "metric": "throughput_rps", "predicted": 90.0, "measured": 100.0, "error": 0.1 },
            { "workload": "a", "metric": "read_hit_rate", "predicted": 0.5, "measured": 0.5, "error": 0.0 },
        ],
        "changes": ["node.brick.count=5"],
    });
    fs::write(place.path("score.json"), score.to_string()).unwrap();
    let (html, outline) = page(&[&place.path("score.json")]);
    assert!(html.contains("The largest error is 10.0 % of a throughput_rps"));
    let rows = table(&outline, "Each metric of each workload");
    assert_eq!(cell(rows, ["a", "throughput_rps"], "measured"), "100");
}

#[test]
fn a_measured_cluster_is_shown_beside_its_twin() {
    let place = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/pages/twin");
    let (config, points) = (root.join("config.json"), root.join("points.csv"));
    let [config, points] = [config, points].map(|path| path.to_str().unwrap().to_owned());
    let twin = place.path().join("twin").display().to_string();
    succeed(["import", "cluster", &config, "--points", &points, "-o", &twin]);
    let document = succeed(["validate", &twin, "--points", &points, "--json"]);
    let file = place.path().join("twin.json");
    fs::write(&file, &document).unwrap();
    let (html, outline) = page(&[&file]);
    assert_eq!(headings(&outline), ["Measured and simulated", "Load curves", "Points"]);
    assert_eq!(table(&outline, "All points")["rows"].as_array().unwrap().len(), 10);
    let document: Value = serde_json::from_str(&document).unwrap();
    // four depths of reads, and of writes
    let reads = chart_data(&html, "rep2, random reads of 4 KiB");
    assert_eq!(reads["xs"], json!([1, 4, 16, 64]));
    let series = &reads["views"][0]["series"];
    assert_eq!(series[0]["values"], json!([1200, 4700, 17000, 52000]));
    let simulated = series[1]["values"][0].as_f64().unwrap();
    let truth = document["rows"][0]["predicted"]["iops"].as_f64().unwrap();
    assert!((simulated / truth - 1.0).abs() < 1e-3, "{simulated}, not {truth}");
    assert!(chart(&outline, "Measured against simulated").is_some());
    // the output of a calibration holds the same document
    let calibrated = json!({ "fitted": "twin/fitted.toml", "predicted": document });
    fs::write(&file, calibrated.to_string()).unwrap();
    assert_eq!(page(&[&file]).1["sections"], outline["sections"]);
}

#[test]
fn caches_are_shown() {
    let place = tempfile::tempdir().unwrap();
    let trace = place.path().join("blocks.txt");
    fs::write(&trace, (0..2000).map(|n| format!("{}\n", n * n % 97)).collect::<Vec<_>>().concat())
        .unwrap();
    let text = ["--policy", "lru,arc", "--size", "10,40", "--curve", "--json"];
    let document = succeed([&["replay-cache", trace.to_str().unwrap()], text.as_slice()].concat());
    let file = place.path().join("caches.json");
    fs::write(&file, &document).unwrap();
    let (html, outline) = page(&[&file]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let lines = chart_data(&html, "Hit rate by size, LRU");
    let curve = document["curve"]["points"].as_array().unwrap();
    let last = lines["views"][0]["series"][0]["values"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .as_f64()
        .unwrap();
    let truth = 100.0 * curve.last().unwrap()["hit_ratio"].as_f64().unwrap();
    assert!((last - truth).abs() < 0.01, "{last}, not {truth}");
    assert!(chart(&outline, "Hit rate by size and policy").is_some());
    assert_eq!(table(&outline, "By size and policy")["rows"].as_array().unwrap().len(), 4);
}

#[test]
fn a_sweep_can_be_explored() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("sweep.toml");
    fs::write(&file, include_str!("../.ci/pages/sweep.toml").replace("1 s", "200 ms")).unwrap();
    let data = place.path().join("data");
    for csv in [false, true] {
        let mut arguments =
            vec!["sweep", file.to_str().unwrap(), "-o", data.to_str().unwrap(), "--force"];
        arguments.extend(csv.then_some("--csv"));
        if !csv && !cfg!(feature = "parquet") {
            continue;
        }
        run(arguments);
        let (html, _) = page(&[&data]);
        let chart = chart_data(&html, "Any factor against any result");
        let columns = chart["columns"].as_array().unwrap();
        let of = |name: &str| columns.iter().find(|column| column["name"] == name).unwrap();
        assert_eq!(of("encoding")["levels"], json!(["1-of-2", "1-of-3", "3-of-5"]));
        assert_eq!(of("outstanding")["role"], "factor");
        assert_eq!(of("mail_throughput_rps")["values"].as_array().unwrap().len(), 12);
    }
}

#[test]
fn a_sweep_under_way_shows_the_runs_that_are_over() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("sweep.toml");
    fs::write(&file, include_str!("../.ci/pages/sweep.toml").replace("1 s", "200 ms")).unwrap();
    let data = place.path().join("data");
    let of_shard = ["--shard", "1/3", "-o", data.to_str().unwrap()];
    run([["sweep", file.to_str().unwrap()].as_slice(), &of_shard].concat());
    let (html, _) = page(&[&data]);
    assert!(html.contains("The sweep is not complete: of 12 runs, 4 are over."));
    let chart = chart_data(&html, "Any factor against any result");
    let columns = chart["columns"].as_array().unwrap();
    let of = |name: &str| columns.iter().find(|column| column["name"] == name).unwrap();
    assert_eq!(of("outstanding")["values"], json!([1, 8, 4, 2]));
    assert_eq!(of("mail_throughput_rps")["values"].as_array().unwrap().len(), 4);
}

#[test]
fn a_reproduction_shows_its_claims_and_pictures_that_cannot_run() {
    let place = tempfile::tempdir().unwrap();
    let summary = json!({ "paper": "a paper", "rows": [
        { "figure": "fig07", "claim": "it <b>grows</b>", "ours": "it does", "holds": true },
        { "figure": "fig08", "claim": "it falls", "ours": "it rises", "holds": false, "why": "noise" },
    ] });
    fs::write(place.path().join("summary.json"), summary.to_string()).unwrap();
    fs::write(place.path().join("fig07.svg"), "<svg onload='alert(1)'/>").unwrap();
    let (html, outline) = page(&[place.path()]);
    assert!(html.contains("1 of 2 claims hold."));
    assert!(html.contains("src=\"data:image/svg+xml;base64,"));
    assert!(!html.contains("onload='alert") && !html.contains("<b>grows"));
    assert_eq!(headings(&outline), ["Claims", "Figures"]);
    // nothing among the results is replaced but a page
    let results = place.path().to_str().unwrap();
    for name in ["fig07.svg", "run.db-wal", ".foretell.json", "new.txt"] {
        let output = place.path().join(name).display().to_string();
        assert!(refused(&[results, "-o", &output]).contains("ends in `.html`"), "{name}");
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
    // a link could lead to any file of whoever makes the page; what is no picture is none
    #[cfg(unix)]
    {
        let secret = place.path().join("secret");
        fs::write(&secret, "<svg>not yours</svg>").unwrap();
        std::os::unix::fs::symlink(&secret, place.path().join("link.svg")).unwrap();
        assert_eq!(page(&[place.path()]).0.matches("data:image/svg+xml").count(), 1);
    }
    fs::write(place.path().join("text.svg"), "a text").unwrap();
    let output = place.path().join("page.html").display().to_string();
    assert!(refused(&[results, "-o", &output]).contains("is no SVG picture"));
}

#[test]
fn an_imported_cluster_is_shown() {
    let Some(report) = common::data("ceph-reports/report-01.json") else { return };
    let place = tempfile::tempdir().unwrap();
    let kept = place.path().join("cluster");
    run(["import", "ceph", report.to_str().unwrap(), "-o", kept.to_str().unwrap()]);
    let (_, outline) = page(&[&kept]);
    let pools = table(&outline, "Pools")["rows"].as_array().unwrap();
    assert!(!pools.is_empty());
    assert!(chart(&outline, "How evenly data lie").is_some());
}

#[test]
fn wrong_inputs_are_refused_and_nothing_is_written() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let output = place.path().join("page.html").display().to_string();
    let cases = [
        (place.path().display().to_string(), "holds nothing that can be shown"),
        (write("text.json", "not JSON"), "is no JSON document"),
        (write("list.json", "[1, 2]"), "is not a document that can be shown"),
        (write("truth.json", r#"{"workloads": {}, "hosts": {}}"#), "give the directory of the run"),
        (write("deep.json", &"[".repeat(100_000)), "is no JSON document"),
        (place.path().join("absent").display().to_string(), "absent"),
    ];
    for (input, expected) in &cases {
        let done = run(["report", input, "-o", &output]);
        assert!(matches!(done.status, Some(1 | 2)), "{input}: {:?}", done.status);
        assert!(done.stderr.contains(expected), "{input}: {}", done.stderr);
    }
    assert!(!Path::new(&output).exists());
    // the output would replace an input
    let score = write("score.json", r#"{"comparisons": []}"#);
    assert!(refused(&[&score, "-o", &score]).contains("is read by this command"));
    assert_eq!(fs::read_to_string(&score).unwrap(), r#"{"comparisons": []}"#);
    // no link is followed
    #[cfg(unix)]
    {
        let link = place.path().join("link.html");
        std::os::unix::fs::symlink(place.path().join("elsewhere"), &link).unwrap();
        refused(&[&score, "-o", link.to_str().unwrap()]);
        assert!(!place.path().join("elsewhere").exists());
    }
}
