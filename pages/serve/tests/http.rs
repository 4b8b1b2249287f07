//! The server as seen by well-meaning and hostile clients, over a socket.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use foretell_datasets::{EncodedEntry, Entry, JournalWriter, Value as Cell};
use foretell_serve::{Options, ServeError, Tools, serve};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Stub;

impl Tools for Stub {
    fn report(&self, runs: &[PathBuf]) -> Result<String, String> {
        Ok(format!("<p>{} runs</p>", runs.len()))
    }

    fn trace(&self, _: &Path, request: u64) -> Result<String, String> {
        if request > 9 {
            Err("no such request".to_owned())
        } else {
            Ok(format!("{{\"breadcrumb\": {request}}}"))
        }
    }
}

const SCENARIO: &str = r#"
warmup = "10 ms"
duration = "2 s"
[node.brick]
count = 3
cpu = "xeon-2023"
cache = { size = "64 MiB" }
disk = ["sata-7200-2005"]
[client.app]
cpu = "xeon-2023"
[volume.data]
size = "1 GiB"
nodes = "brick"
[workload.w]
volume = "data"
client = "app"
kind = "ssio"
reads = "70%"
outstanding = 4
"#;

/// A server of its own directory; it ends with the test's process.
struct Server {
    directory: Arc<TempDir>,
    address: SocketAddr,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

fn options(directory: &Path) -> Options {
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    Options { directory: directory.to_owned(), address, port: 0, token: None, jobs: 1 }
}

impl Server {
    fn with(token: Option<&str>) -> Self {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let address = begin(directory.path(), token);
        Self { directory, address }
    }

    /// Another server of the same directory.
    fn again(&self) -> Self {
        let directory = Arc::clone(&self.directory);
        Self { address: begin(directory.path(), None), directory }
    }

    fn new() -> Self {
        Self::with(None)
    }

    /// Sends bytes, and reads the answer to its end.
    fn raw(&self, request: &[u8]) -> Answer {
        let mut socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // a server may answer and close before it has received everything
        let _ = socket.write_all(request);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let (port, length) = (self.address.port(), body.len());
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let host = if headers.contains("Host:") {
            String::new()
        } else {
            format!("Host: localhost:{port}\r\n")
        };
        self.raw(
            format!("{method} {path} HTTP/1.1\r\n{host}{headers}{kind}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
                .as_bytes(),
        )
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", "")
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, "", &body.to_string())
    }

    /// Runs the scenario, and waits until it is kept.
    fn run(&self) -> String {
        let begun = self.post("/api/runs", &json!({ "text": SCENARIO, "title": "first" }));
        assert_eq!(begun.status, 201, "{}", begun.body);
        let id = begun.json()["id"].as_str().unwrap().to_owned();
        self.wait(&id, "done");
        id
    }

    #[expect(clippy::disallowed_methods, reason = "a server takes its time")]
    fn wait(&self, id: &str, state: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let runs = self.get("/api/runs").json();
            let run = runs["runs"].as_array().unwrap().iter().find(|run| run["id"] == id);
            match run.map(|run| run["state"].as_str().unwrap()) {
                Some(found) if found == state => return,
                _ => assert!(Instant::now() < end, "{id} is not {state}: {run:?}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.directory.path().to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(directory).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    open.push(entry.path());
                }
                found.push(entry.path().display().to_string());
            }
        }
        found.sort();
        found
    }
}

fn begin(directory: &Path, token: Option<&str>) -> SocketAddr {
    let options = Options { token: token.map(str::to_owned), ..options(directory) };
    let (ready, listening) = mpsc::channel();
    std::thread::spawn(move || serve(&options, Stub, |address| ready.send(address).unwrap()));
    listening.recv_timeout(Duration::from_secs(30)).expect("it listens")
}

#[test]
fn a_scenario_is_checked_run_asked_and_removed() {
    let server = Server::new();
    let wrong = SCENARIO.replace("outstanding", "outstandin");
    let faults = server.post("/api/check", &json!({ "text": wrong })).json();
    let fault = &faults["faults"][0];
    assert!(fault["message"].as_str().unwrap().contains("`outstandin`"), "{faults}");
    let span = fault["span"].as_array().unwrap();
    let at = |index: usize| span[index].as_u64().unwrap() as usize;
    assert_eq!(&wrong[at(0)..at(1)], "outstandin");
    let fine = server.post("/api/check", &json!({ "text": SCENARIO })).json();
    assert_eq!(fine["faults"], json!([]));

    let id = server.run();
    let truth = server.get(&format!("/api/runs/{id}")).json();
    let measured = truth["workloads"]["w"]["throughput_rps"].as_f64().unwrap();
    assert!(measured > 0.0);
    let events = server.get(&format!("/api/runs/{id}/events"));
    assert!(events.body.contains("event: over") && events.body.contains("done"), "{}", events.body);
    let settings = server.get(&format!("/api/runs/{id}/settings")).json();
    let paths: Vec<&str> = settings["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|known| known["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["workload.w.outstanding", "volume.data.encoding", "node.brick.cache.size"]);
    let question = json!({ "what_if": ["workload.w.outstanding=8"], "model": "replay" });
    let answer = server.post(&format!("/api/runs/{id}/ask"), &question);
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.json()["workloads"]["w"]["throughput_rps"].as_f64().unwrap() > measured);
    assert_eq!(server.get(&format!("/api/runs/{id}/requests/7")).json()["breadcrumb"], 7);
    assert_eq!(server.get(&format!("/api/runs/{id}/requests/99")).status, 400);
    let page = server.get(&format!("/api/report?run={id}"));
    assert_eq!((page.status, page.body.contains("1 runs")), (200, true));

    assert_eq!(server.send("DELETE", &format!("/api/runs/{id}"), "", "").status, 204);
    assert_eq!(server.get(&format!("/api/runs/{id}")).status, 404);
    assert!(server.files().iter().all(|file| !file.ends_with("run.db")));
}

#[test]
fn every_page_has_what_it_needs_and_the_api_is_described() {
    let server = Server::new();
    for (path, kind) in [
        ("/", "text/html"),
        ("/app.js", "javascript"),
        ("/curve.js", "javascript"),
        ("/app.css", "css"),
        ("/chart.js", "javascript"),
        ("/chart.css", "css"),
    ] {
        let found = server.get(path);
        assert!(found.status == 200 && found.head.contains(kind), "{path}: {}", found.head);
        assert!(
            found.head.contains("content-security-policy: default-src 'none'"),
            "{}",
            found.head
        );
        assert!(found.head.contains("x-content-type-options: nosniff"), "{}", found.head);
    }
    let api = server.get("/api/openapi.json").json();
    for (path, methods) in api["paths"].as_object().unwrap() {
        // every described path exists
        let real = path
            .replace("{name}", "first-look")
            .replace("{id}", "served-9")
            .replace("{number}", "1");
        for method in methods.as_object().unwrap().keys() {
            let found = server.send(&method.to_ascii_uppercase(), &real, "", "");
            assert!(
                found.status != 405 && !found.body.contains("such page"),
                "{method} {real}: {}",
                found.status
            );
        }
    }
    let names = server.get("/api/scenarios").json();
    assert!(names["scenarios"].as_array().unwrap().contains(&json!("first-look")));
    assert!(
        server.get("/api/scenarios/first-look").json()["text"]
            .as_str()
            .unwrap()
            .contains("[volume.mail]")
    );
    assert_eq!(server.get("/api/schema").json()["type"], "object");
}

#[test]
fn hostile_requests_are_refused_and_change_nothing() {
    let server = Server::new();
    let id = server.run();
    let port = server.address.port();
    let secret = server.directory.path().parent().unwrap().join("secret-of-foretell");
    fs::write(&secret, "1\n2\n3\n").unwrap();
    std::os::unix::fs::symlink("/etc", server.directory.path().join("etc")).unwrap();
    let before = server.files();
    let with = |headers: &str| server.send("GET", "/api/runs", headers, "").status;
    // names that lead here, and other pages
    assert_eq!(with("Host: evil.example\r\n"), 403);
    assert_eq!(with(&format!("Host: evil.example:{port}\r\n")), 403);
    assert_eq!(with(&format!("Host: localhost:{port}\r\nHost: evil.example\r\n")), 403);
    assert_eq!(with("Origin: http://evil.example\r\n"), 403);
    assert_eq!(with("Origin: null\r\n"), 403);
    assert_eq!(with("Sec-Fetch-Site: cross-site\r\n"), 403);
    assert_eq!(with(&format!("Origin: http://localhost:{port}\r\n")), 200);
    assert_eq!(server.raw(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").status / 100, 4);
    // paths out of the directory
    for path in [
        "/api/runs/..",
        "/api/runs/%2e%2e",
        "/api/runs/..%2f..%2fetc",
        "/api/runs/%2fetc",
        "/api/runs/etc",
        "/api/runs/.",
        "/api/runs/served",
        "/api/runs/served-01",
        "/api/runs/served-18446744073709551616",
        "/api/runs/a%00b",
        "/api/runs/served-1%2f..",
        "/api/scenarios/..%2f..%2fCargo",
        "/../../etc/passwd",
        "/api/nothing",
        "/api/report?run=..",
        "/api/report",
        "/api/report?run=a&run=b&run=c&run=d&run=e",
    ] {
        let found = server.get(path);
        assert_eq!(found.status / 100, 4, "{path}: {} {}", found.status, found.body);
    }
    for path in ["..", "etc", "served", "x"] {
        assert_eq!(
            server.send("DELETE", &format!("/api/runs/{path}"), "", "").status / 100,
            4,
            "{path}"
        );
    }
    // files that a scenario names
    let shown = secret.display().to_string();
    for file in [shown.as_str(), "../secret-of-foretell", "etc/passwd", "/dev/zero"] {
        let text = SCENARIO.replace(
            "kind = \"ssio\"\nreads = \"70%\"\noutstanding = 4",
            &format!("kind = \"trace\"\nfile = {file:?}"),
        );
        let found = server.post("/api/runs", &json!({ "text": text }));
        assert_eq!(found.status, 422, "{file}: {}", found.body);
        assert!(found.body.contains("no other file may be read here"), "{file}: {}", found.body);
        let set = json!({ "text": SCENARIO, "set": [format!("workload.w.file={file}"), "workload.w.kind=trace".to_owned()] });
        let found = server.post("/api/runs", &set);
        assert_eq!(found.status / 100, 4, "{file}: {}", found.body);
        assert!(!found.body.contains("root:"), "{}", found.body);
    }
    // bodies
    for body in ["", "{", "[]", "{\"text\": 1}", "{\"text\": \"\", \"more\": 1}", "\u{0}"] {
        let found = server.send("POST", "/api/runs", "", body);
        assert_eq!(found.status / 100, 4, "{body}: {}", found.status);
    }
    let large = json!({ "text": "x".repeat(2 << 20) }).to_string();
    assert_eq!(server.send("POST", "/api/check", "", &large).status, 413);
    let deep = json!({ "text": format!("a = {}", "[".repeat(100_000)) });
    assert_eq!(server.post("/api/check", &deep).status, 200);
    let many: Vec<String> = (0..1_000).map(|n| format!("seed={n}")).collect();
    assert_eq!(server.post("/api/runs", &json!({ "text": SCENARIO, "set": many })).status, 400);
    assert_eq!(
        server.post(&format!("/api/runs/{id}/ask"), &json!({ "what_if": many })).status,
        400
    );
    let title = "t".repeat(101);
    assert_eq!(server.post("/api/runs", &json!({ "text": SCENARIO, "title": title })).status, 400);
    let unknown = json!({ "what_if": [], "model": "oracle" });
    assert_eq!(server.post(&format!("/api/runs/{id}/ask"), &unknown).status, 400);
    let huge = SCENARIO.replace("count = 3", "count = 9000000");
    assert_eq!(server.post("/api/runs", &json!({ "text": huge })).status / 100, 4);
    // methods
    assert_eq!(server.send("PUT", "/api/runs", "", "").status, 405);
    assert_eq!(server.send("TRACE", "/", "", "").status / 100, 4);
    assert_eq!(server.files(), before);
    assert_eq!(server.get(&format!("/api/runs/{id}")).status, 200, "it still serves");
    fs::remove_file(secret).unwrap();
}

#[test]
fn a_token_is_asked_for_and_opens_the_page_once() {
    let server = Server::with(Some("0123456789abcdef"));
    assert_eq!(server.get("/").status, 401);
    assert_eq!(server.get("/?token=0123456789abcdeX").status, 401);
    assert_eq!(
        server.send("GET", "/api/runs", "Authorization: Bearer 0123456789abcdeX\r\n", "").status,
        401
    );
    assert_eq!(
        server.send("GET", "/api/runs", "Authorization: Bearer 0123456789abcdef\r\n", "").status,
        200
    );
    let opened = server.get("/?token=0123456789abcdef");
    assert_eq!(opened.status, 303);
    assert!(
        opened.head.contains("foretell_token=0123456789abcdef; httponly; samesite=strict"),
        "{}",
        opened.head
    );
    assert_eq!(
        server.send("GET", "/", "Cookie: a=b; foretell_token=0123456789abcdef\r\n", "").status,
        200
    );
}

#[test]
fn others_cannot_connect_without_a_token() {
    let directory = tempfile::tempdir().unwrap();
    let open = Options { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), ..options(directory.path()) };
    assert!(matches!(serve(&open, Stub, |_| ()), Err(ServeError::NeedsToken(_))));
    for token in ["short", "with spaces in it", "sixteen;characters"] {
        let bad = Options { token: Some(token.to_owned()), ..options(directory.path()) };
        assert!(matches!(serve(&bad, Stub, |_| ()), Err(ServeError::BadToken)), "{token}");
    }
    let nowhere = options(&directory.path().join("nowhere"));
    assert!(matches!(serve(&nowhere, Stub, |_| ()), Err(ServeError::Directory { .. })));
}

#[test]
fn runs_outlive_the_server_and_a_long_one_is_stopped() {
    let server = Server::new();
    let id = server.run();
    // another server of the same directory, as after a kill
    let later = server.again();
    assert_eq!(later.get(&format!("/api/runs/{id}")).status, 200);
    let long = SCENARIO.replace("2 s", "1000 h");
    let begun = later.post("/api/runs", &json!({ "text": long })).json();
    let long = begun["id"].as_str().unwrap();
    assert_eq!(long, "served-2", "no number is given twice");
    later.wait(long, "running");
    assert_eq!(later.get(&format!("/api/runs/{long}")).status, 400);
    assert_eq!(later.send("DELETE", &format!("/api/runs/{long}"), "", "").status, 204);
    later.wait(long, "stopped");
    assert!(later.files().iter().all(|file| !file.contains("run-2/run.db")), "{:?}", later.files());
}

/// A sweep's directory without runs.
fn sweep(directory: &Path) {
    let column = |name: &str, role: &str| json!({ "name": name, "kind": "number", "role": role, "unit": "", "description": "" });
    let columns = [column("run", "identity"), column("nodes", "factor"), column("rps", "observed")];
    let table = |name: &str| json!({ "name": name, "description": "", "columns": columns.clone(), "rows_per_file": 9 });
    let manifest = json!({
        "fingerprint": "a".repeat(64), "tool_version": "", "title": "Nodes <b>", "description": "",
        "license": "", "design": "full", "points": 4, "replicates": 1, "seed": 1, "factors": [],
        "constraints": [], "split": "", "tables": [table("runs"), table("failures")],
    });
    fs::create_dir_all(directory.join("shards/1-of-1")).unwrap();
    fs::write(directory.join("sweep.json"), manifest.to_string()).unwrap();
}

/// Appends runs to a sweep's journal.
fn append(directory: &Path, runs: std::ops::Range<u64>) {
    let path = directory.join("shards/1-of-1/runs.journal");
    let file = foretell_files::grow(&path).unwrap();
    let mut journal = JournalWriter::open(file, &path, &"a".repeat(64)).unwrap();
    for run in runs {
        let row = [run, 2 * run, 100 * run].map(Cell::count).to_vec();
        let tables = vec![if run == 2 { vec![] } else { vec![row] }, vec![]];
        let entry = Entry { run, split: "train".to_owned(), tables };
        journal.append(&EncodedEntry::new(&entry).unwrap()).unwrap();
    }
}

#[test]
fn a_sweep_under_way_is_followed() {
    let server = Server::new();
    assert_eq!(server.get("/api/sweeps").json(), json!({ "sweeps": [] }));
    let place = server.directory.path().join("grid");
    sweep(&place);
    append(&place, 0..1);
    let listed = || server.get("/api/sweeps").json()["sweeps"][0].clone();
    let first = listed();
    assert_eq!(
        (&first["id"], &first["title"], &first["state"]),
        (&json!("grid"), &json!("Nodes <b>"), &json!("under_way"))
    );
    assert_eq!((&first["runs"], &first["succeeded"]), (&json!(4), &json!(1)));
    assert_eq!(first["left_s"], Value::Null, "no pace is known yet");
    append(&place, 1..4);
    let later = listed();
    assert_eq!((&later["succeeded"], &later["failed"]), (&json!(3), &json!(1)));
    assert_eq!(later["left_s"], 0.0);
    assert!(later["idle_s"].as_f64().unwrap() < 60.0);
    let shown = server.get("/api/sweeps/grid").json();
    assert_eq!(shown["columns"][0]["name"], "nodes");
    assert_eq!(shown["columns"][1]["role"], "result");
    let points = server.get("/api/sweeps/grid/points?x=nodes&y=rps").json();
    assert_eq!(points["x"]["values"], json!([0, 2, 6]));
    assert_eq!(points["y"]["values"], json!([0, 100, 300]));
    assert_eq!(server.get("/api/sweeps/grid/report").status, 200);
    // a sweep that is begun again, and one that is gone
    fs::remove_dir_all(place.join("shards")).unwrap();
    assert_eq!(listed()["succeeded"], 0);
    fs::remove_dir_all(&place).unwrap();
    assert_eq!(server.get("/api/sweeps/grid").status, 404);
}

#[test]
fn no_sweep_leads_elsewhere_and_a_damaged_one_hurts_no_other() {
    let server = Server::new();
    let directory = server.directory.path();
    let outside = tempfile::tempdir().unwrap();
    sweep(outside.path());
    std::os::unix::fs::symlink(outside.path(), directory.join("link")).unwrap();
    sweep(&directory.join("good"));
    sweep(&directory.join("inside"));
    fs::remove_dir_all(directory.join("inside/shards")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("shards"), directory.join("inside/shards"))
        .unwrap();
    fs::create_dir(directory.join("bad")).unwrap();
    fs::write(directory.join("bad/sweep.json"), "{").unwrap();
    let found = server.get("/api/sweeps").json();
    let states: Vec<(&str, &str)> = found["sweeps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sweep| (sweep["id"].as_str().unwrap(), sweep["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("bad", "unreadable"), ("good", "under_way"), ("inside", "unreadable")]);
    for path in [
        "/api/sweeps/link",
        "/api/sweeps/inside/points?x=nodes&y=rps",
        "/api/sweeps/inside/report",
        "/api/sweeps/..",
        "/api/sweeps/%2e%2e",
        "/api/sweeps/..%2fgood",
        "/api/sweeps/good%2f..%2fgood",
        "/api/sweeps/served-1",
        "/api/sweeps/bad",
        "/api/sweeps/bad/report",
        "/api/sweeps/good/points",
        "/api/sweeps/good/points?x=nodes",
        "/api/sweeps/good/points?x=nodes&y=nothing",
        "/api/sweeps/good/points?x=run&y=rps",
    ] {
        let found = server.get(path);
        assert_eq!(found.status / 100, 4, "{path}: {} {}", found.status, found.body);
    }
    assert_eq!(server.send("DELETE", "/api/sweeps/good", "", "").status, 405);
}

#[test]
fn a_question_reaches_no_other_file() {
    let server = Server::new();
    let id = server.run();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.toml");
    fs::write(&secret, "root:x:0:0\n").unwrap();
    std::os::unix::fs::symlink(outside.path(), server.directory.path().join("devices")).unwrap();
    std::os::unix::fs::symlink(&secret, server.directory.path().join("link")).unwrap();
    let shown = secret.display().to_string();
    for file in [shown.as_str(), "/nosuch", "link", "../secret.toml", "/proc/self/environ"] {
        for change in [
            format!("cluster.crush={file}"),
            format!("cluster={{ system = \"ceph\", crush = {file:?} }}"),
            format!(
                "workload.w={{ volume = \"data\", client = \"app\", kind = \"trace\", file = {file:?} }}"
            ),
            format!(
                "workload.w={{ volume = \"data\", client = \"app\", kind = \"fio\", file = {file:?} }}"
            ),
        ] {
            for model in ["fast", "replay"] {
                let question = json!({ "what_if": [change], "model": model });
                let found = server.post(&format!("/api/runs/{id}/ask"), &question);
                assert_eq!(found.status / 100, 4, "{change}: {}", found.body);
                assert!(!found.body.contains("root:"), "{}", found.body);
                let says = |text| found.body.contains(text);
                // whether there is such a file must not show
                assert!(!says("No such file") && !says("there is no trace"), "{}", found.body);
            }
        }
    }
    let profile = json!({ "what_if": ["node.brick.disk=[\"secret\"]"], "model": "replay" });
    let found = server.post(&format!("/api/runs/{id}/ask"), &profile);
    assert!(found.status / 100 == 4 && !found.body.contains("root:"), "{}", found.body);
    // a scenario that names the profile by a change
    let set = json!({ "text": SCENARIO, "set": ["node.brick.disk=[\"secret\"]"] });
    for path in ["/api/check", "/api/runs"] {
        assert!(!server.post(path, &set).body.contains("root:"));
    }
}

#[test]
fn a_run_that_replaces_another_answers_for_itself() {
    let server = Server::new();
    let id = server.run();
    // a run of the user's own
    let own = server.directory.path().join("mine");
    fs::rename(server.directory.path().join("served/run-1"), &own).unwrap();
    assert_eq!(server.get(&format!("/api/runs/{id}")).status, 404);
    let ask = || {
        let question = json!({ "what_if": ["workload.w.outstanding=8"], "model": "replay" });
        let found = server.post("/api/runs/mine/ask", &question);
        assert_eq!(found.status, 200, "{}", found.body);
        found.json()["workloads"]["w"]["throughput_rps"].as_f64().unwrap()
    };
    let before = ask();
    let faster = SCENARIO.replace("sata-7200-2005", "nvme-3gbs");
    let begun = server.post("/api/runs", &json!({ "text": faster })).json();
    let other = begun["id"].as_str().unwrap().to_owned();
    server.wait(&other, "done");
    fs::remove_dir_all(&own).unwrap();
    let number = other.strip_prefix("served-").unwrap();
    fs::rename(server.directory.path().join(format!("served/run-{number}")), &own).unwrap();
    assert!(ask() > 3.0 * before, "the drives are much faster");
}

#[test]
fn servers_of_one_directory_give_no_number_twice() {
    let first = Server::new();
    let second = first.again();
    let begun = |server: &Server| {
        let begun = server.post("/api/runs", &json!({ "text": SCENARIO })).json();
        begun["id"].as_str().unwrap().to_owned()
    };
    let ids = [begun(&first), begun(&second), begun(&first), begun(&second)];
    assert_eq!(ids, ["served-1", "served-2", "served-3", "served-4"]);
    for (server, id) in [(&first, &ids[0]), (&second, &ids[1]), (&first, &ids[2])] {
        server.wait(id, "done");
    }
    second.wait(&ids[3], "done");
    // each sees the runs of both, and none is listed twice
    for server in [&first, &second] {
        let runs = server.get("/api/runs").json();
        assert_eq!(runs["runs"].as_array().unwrap().len(), 4, "{runs}");
    }
    assert_eq!(second.send("DELETE", "/api/runs/served-1", "", "").status, 204);
    assert_eq!(first.get("/api/runs").json()["runs"].as_array().unwrap().len(), 3);
}

#[test]
fn nothing_stays_of_runs_that_were_stopped() {
    let server = Server::new();
    let long = SCENARIO.replace("2 s", "1000 h");
    for _ in 0..60 {
        let begun = server.post("/api/runs", &json!({ "text": long })).json();
        let id = begun["id"].as_str().unwrap();
        assert_eq!(server.send("DELETE", &format!("/api/runs/{id}"), "", "").status, 204);
        server.wait(id, "stopped");
    }
    let runs = server.get("/api/runs").json();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 50, "the last ones are listed");
    let runs = fs::read_dir(server.directory.path().join("served")).unwrap().flatten();
    let left: Vec<_> = runs.map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Copies a directory, without the locks of its processes: what they leave if they are killed.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn a_killed_server_leaves_nothing_for_the_next_one() {
    let first = Server::new();
    let kept = first.run();
    let long = SCENARIO.replace("2 s", "1000 h");
    let begun = [(); 2].map(|()| first.post("/api/runs", &json!({ "text": long })).json());
    let ids = begun.map(|begun| begun["id"].as_str().unwrap().to_owned());
    first.wait(&ids[0], "running");
    first.wait(&ids[1], "waiting");
    // directories of the user's own
    let place = first.directory.path().join("served");
    fs::create_dir(place.join("run-7")).unwrap();
    fs::create_dir_all(place.join("run-8/mine")).unwrap();
    let numbers = |place: &Path| {
        let entries = fs::read_dir(place).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|one| one.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let all = ["run-1", "run-2", "run-3", "run-7", "run-8"];
    assert_eq!(numbers(&place), all);
    let later = tempfile::tempdir().unwrap();
    copy(&place, &later.path().join("served"));
    begin(later.path(), None);
    assert_eq!(numbers(&later.path().join("served")), ["run-1", "run-7", "run-8"]);
    // the first server lives, and another one beside it removes nothing
    let second = first.again();
    assert_eq!(numbers(&place), all);
    assert_eq!(second.get(&format!("/api/runs/{kept}")).status, 200);
    for id in ids {
        assert_eq!(first.send("DELETE", &format!("/api/runs/{id}"), "", "").status, 204);
        first.wait(&id, "stopped");
    }
    assert_eq!(numbers(&place), ["run-1", "run-7", "run-8"]);
}

#[test]
fn a_link_in_place_of_the_kept_runs_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("served");
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    let found = serve(&options(directory.path()), Stub, |_| ());
    assert!(matches!(found, Err(ServeError::Directory { .. })));
    // and if it becomes one while the server runs
    let server = Server::new();
    let id = server.run();
    let place = server.directory.path().join("served");
    fs::rename(&place, outside.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("moved"), &place).unwrap();
    assert_eq!(server.get(&format!("/api/runs/{id}")).status, 404);
    assert_eq!(server.get("/api/runs").json(), json!({ "runs": [] }));
    assert_eq!(server.send("DELETE", &format!("/api/runs/{id}"), "", "").status / 100, 4);
    assert_eq!(server.post("/api/runs", &json!({ "text": SCENARIO })).status / 100, 5);
    assert!(outside.path().join("moved/run-1/run.db").exists());
}

#[test]
fn a_run_is_found_among_many_files() {
    let server = Server::new();
    server.run();
    let own = server.directory.path().join("mine");
    fs::rename(server.directory.path().join("served/run-1"), own).unwrap();
    for number in 0..6_000 {
        fs::write(server.directory.path().join(format!("file-{number}.csv")), "").unwrap();
    }
    let runs = server.get("/api/runs").json();
    assert_eq!(runs["runs"][0]["id"], "mine", "{runs}");
}

/// A scenario with so many workloads.
fn with_workloads(count: usize) -> String {
    let (head, workload) = SCENARIO.split_at(SCENARIO.find("[workload.w]").unwrap());
    let each = |number| workload.replace("workload.w]", &format!("workload.w{number}]"));
    head.to_owned() + &(0..count).map(each).collect::<String>()
}

#[test]
fn a_check_of_many_workloads_ends_soon_and_locks_out_nobody() {
    let server = Server::new();
    let text = with_workloads(2_000);
    #[expect(clippy::disallowed_methods, reason = "a server takes its time")]
    let began = Instant::now();
    let body = json!({ "text": text }).to_string();
    let request = format!(
        "POST /api/check HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.address.port(),
        body.len()
    );
    // clients that go at once
    for _ in 0..16 {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
    }
    assert_eq!(server.get("/api/runs").status, 200);
    let found = server.post("/api/check", &json!({ "text": text })).json();
    assert_eq!(found["faults"], json!([]));
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
}

#[test]
fn a_client_that_sends_nothing_is_let_go() {
    let server = Server::new();
    for sent in ["", "GET / HTTP/1.1\r\nHost: localhost"] {
        let mut socket = TcpStream::connect(server.address).unwrap();
        socket.write_all(sent.as_bytes()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
        let mut rest = Vec::new();
        // the server closes the connection; it need not say anything
        assert!(socket.read_to_end(&mut rest).is_ok(), "{sent:?}");
    }
}
