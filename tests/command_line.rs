//! What all commands have in common: how errors look, how wide tables are, where scenarios are found.

use crate::common;

use common::{Place, SMALL, foretell, run, succeed};

/// The widest line of a text, in characters.
fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn errors_of_all_commands_look_alike() {
    let place = Place::with(SMALL);
    let scenario = place.scenario().display().to_string();
    let wrong = place.path("wrong.toml");
    std::fs::write(&wrong, SMALL.replace("2-of-3", "3-of-2")).unwrap();
    let wrong = wrong.display().to_string();
    let table = place.path("t.csv");
    std::fs::write(&table, "a,y\n1,2\n2,3\n3,5\n").unwrap();
    let table = table.display().to_string();
    let learn = ["learn", "train", "--data", &table, "--target", "z", "--model", "lrm"];
    for arguments in [
        &["run", "no-such-scenario"][..],
        &["run", &wrong],
        &["run", &scenario, "--set", "volume.coded.encoding=3-of-2"],
        &["run", &scenario, "--set", "nothing"],
        &["run", &scenario, "--no-such-option"],
        &["run"],
        &["rum", &scenario],
        &["ask", "no/such/run"],
        &["score"],
        &["sweep", &scenario, "-o", "out"],
        &["sweep", "missing", "no/such/sweep"],
        &["trace", "no/such/run", "1"],
        &["inspect", "no/such/trace"],
        &["replay-cache", "no/such/trace", "--size", "10"],
        &["replay-disk", "no-such-disk", "no/such/trace"],
        &["estimate", "--csv", "no/such/file"],
        &["calibrate", "disk", "--fio", "no/such/file"],
        &["import", "auto", "no/such/trace"],
        &["export", "no/such/run", "-o", "out"],
        &learn,
    ] {
        let done = run(arguments);
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        let text = &done.stderr;
        assert!(text.starts_with("  × "), "{arguments:?} says otherwise:\n{text}");
        assert!(
            !text.contains("error: ") && !text.contains("foretell: "),
            "{arguments:?}:\n{text}"
        );
    }
    // help that was asked for is no error
    let done = run(["run", "--help"]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    assert!(done.stdout.contains("Usage: foretell run"), "{}", done.stdout);
    let done = run(["--version"]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    // no command: something to begin with
    let done = run([""; 0]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    assert!(done.stdout.contains("foretell run first-look"), "{}", done.stdout);
    // what a misspelt option may have meant
    let done = run(["run", &scenario, "--seet", "seed=1"]);
    assert!(done.stderr.contains("  help: ") && done.stderr.contains("'--set'"), "{}", done.stderr);
}

#[test]
fn documents_say_their_version_first() {
    let place = Place::with(SMALL);
    let dir = place.keep("run", &["--set", "duration=1 s"]).display().to_string();
    let scenario = place.scenario().display().to_string();
    let at = |name: &str| place.path(name).display().to_string();
    let (trace, table, points) = (at("t.csv"), at("table.csv"), at("points.csv"));
    std::fs::write(&trace, "time_ns,op,offset,size\n0,r,0,4096\n1000,w,4096,4096\n").unwrap();
    let rows: Vec<_> = (0..20).map(|row| format!("{row},{}\n", 3 * row + row % 4)).collect();
    std::fs::write(&table, format!("a,y\n{}", rows.concat())).unwrap();
    std::fs::write(&points, "bs,read_percent,iops\n4096,0,100\n4096,100,300\n").unwrap();
    let (model, init) = (at("model.json"), at("new.toml"));
    for arguments in [
        &["run", &scenario][..],
        &["run", &scenario, "--replicates", "2"],
        &["ask", &dir],
        &["score", &dir],
        &["trace", &dir, "1"],
        &["inspect", &trace],
        &["replay-cache", &trace, "--size", "1"],
        &["estimate", "--csv", &points, "--read", "50"],
        &["import", "auto", &trace, "-o", &at("t.foretell")],
        &["learn", "train", "--data", &table, "--target", "y", "--model", "lrm", "-o", &model],
        &["learn", "evaluate", "--data", &table, "--target", "y", "--model", "lrm"],
        &["list"],
        &["show", "sata-ssd"],
        &["init", &init],
    ] {
        let done = run([arguments, &["--json"]].concat());
        assert_eq!(done.status, Some(0), "{arguments:?}: {}", done.stderr);
        let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        let first = document.as_object().unwrap().iter().next().unwrap();
        assert_eq!(first, (&"schema_version".to_owned(), &1.into()), "{arguments:?}");
    }
    let kept = std::fs::read_to_string(std::path::Path::new(&dir).join("truth.json")).unwrap();
    assert!(kept.starts_with("{\n  \"schema_version\": 1,\n"), "{kept}");
}

#[test]
fn tables_fit_the_screen_and_stay_whole_in_a_pipe() {
    let place = Place::with(SMALL);
    let dir = place.keep("run", &["--set", "duration=3 s"]);
    let scenario = place.scenario().display().to_string();
    let dir = dir.display().to_string();
    let run_it = ["run", &scenario][..].to_vec();
    let ask = vec!["ask", &dir, "--what-if", "node.brick.cache.size=48 MiB"];
    for (arguments, key) in [(&run_it, " stream"), (&ask, " stream")] {
        let printed = |columns: Option<&str>| {
            let mut command = foretell();
            command.args(arguments);
            if let Some(columns) = columns {
                command.env("COLUMNS", columns);
            }
            common::Done::from(command.output().unwrap()).stdout
        };
        let whole = printed(None);
        let rows = |text: &str| {
            text.lines().filter(|line| line.starts_with(' ')).map(str::to_owned).collect::<Vec<_>>()
        };
        assert!(rows(&whole).iter().any(|row| row.chars().count() > 80), "{whole}");
        assert_eq!(rows(&whole), rows(&printed(Some("500"))), "wide enough");
        assert_eq!(rows(&whole), rows(&printed(Some("wide"))), "no number");
        for columns in ["80", "60", "40"] {
            let narrow = rows(&printed(Some(columns))).join("\n");
            assert!(widest(&narrow) <= columns.parse().unwrap(), "{columns}:\n{narrow}");
            let (parts, part) =
                (narrow.matches(key).count(), rows(&whole).join("\n").matches(key).count());
            assert!(parts > part, "rows stand once in each part:\n{narrow}");
            let words = |text: &str| {
                let mut words: Vec<&str> = text.split_whitespace().collect();
                words.sort_unstable();
                words.dedup();
                words.into_iter().map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(words(&narrow), words(&rows(&whole).join("\n")), "nothing is left out");
        }
    }
}

#[test]
fn scenarios_that_come_with_the_program_are_found_by_name_anywhere() {
    let place = Place::with(SMALL);
    let here = |arguments: &[&str]| {
        let mut command = foretell();
        command.args(arguments).current_dir(place.path(""));
        common::Done::from(command.output().unwrap())
    };
    let brief = ["--set", "duration=100 ms", "--set", "warmup=100 ms"];
    let done = here(&[&["run", "first-look"][..], &brief].concat());
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    assert!(done.stdout.contains(" mail "), "{}", done.stdout);
    // with profiles that come with the program, and what stands here before them
    for name in ["array-server", "solid-state", "ceph", "swift", "benchmarks"] {
        let done = here(&[&["run", name][..], &brief[..2], &["--json"]].concat());
        assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""), "{name}");
    }
    // a file of the name goes first
    std::fs::write(place.path("ceph"), "not a trace, and no scenario").unwrap();
    assert_eq!(here(&["run", "ceph"]).status, Some(2));
    // what was perhaps meant
    for (name, help) in [
        ("first-lock", "did you mean `first-look`?"),
        ("scenarios/first-look.toml", "`first-look`, without directory and ending"),
        ("first-look.toml", "`first-look`, without directory and ending"),
    ] {
        let done = here(&["run", name]);
        assert_eq!(done.status, Some(2), "{name}");
        assert!(done.stderr.contains(&format!("there is no scenario `{name}`")), "{}", done.stderr);
        assert!(done.stderr.contains(help), "{name}: {}", done.stderr);
    }
}

#[test]
fn a_setting_without_effect_is_said_and_the_run_goes_on() {
    let place = Place::with(SMALL);
    let run_it = |change: &str| run(place.arguments(&["--set", change, "--json"]));
    let plain = run(place.arguments(&["--json"]));
    for (change, why) in [
        ("node.brick.count=4", "this is already the case"),
        ("workload.stream.reads=0.9", "this is already the case"),
        ("client.spare={ cpu = \"xeon-2023\" }", "no workload reaches `spare0`"),
        ("node.brick.cpu.encrypt.rate=1 MB/s", "encrypted or coded"),
        ("device.sata-ssd.queue_depth=1", "it makes no difference to the scenario"),
        ("switch.shared_buffer_alpha=0.5", "`switch.shared_buffer` is not set"),
        ("host.brick1={}", "it makes no difference to the scenario"),
        ("workload.stream.think=", "this is already the case"),
    ] {
        let done = run_it(change);
        assert_eq!(done.status, Some(0), "{}", done.stderr);
        let note = format!("note: `{change}` has no effect: ");
        assert!(done.stderr.starts_with(&note) && done.stderr.contains(why), "{}", done.stderr);
        // and it is true
        let clients = |text: &str| common::truth(text)["workloads"].clone();
        assert_eq!(clients(&done.stdout), clients(&plain.stdout), "{change}");
    }
    assert_eq!(run_it("volume.coded.nodes=brick[0-2]").stderr, "");
    // a new volume that nothing reads
    let done = run_it("volume.spare={ size = \"1 GiB\", nodes = \"brick\" }");
    assert!(
        done.stderr.contains("`volume.spare` has no effect: no workload uses"),
        "{}",
        done.stderr
    );
    // there is nothing to take away
    for host in ["brick3", "app0"] {
        let done = run_it(&format!("host.{host}=none"));
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
        assert!(done.stderr.contains(&format!("`{host}` is as its group")), "{}", done.stderr);
    }
    let done = run_it("host.osd3=none");
    assert!(done.status == Some(2) && done.stderr.contains("no host `osd3`"), "{}", done.stderr);
}

#[test]
fn the_option_of_another_command_names_that_command() {
    for arguments in [["run", "first-look", "--what-if", "x=y"], ["ask", "o", "--set", "x=y"]] {
        let done = run(arguments);
        assert_eq!(done.status, Some(2));
        let rule = "`run` takes `--set`; `ask` and `score` take `--what-if`";
        assert!(done.stderr.contains(rule), "{}", done.stderr);
        assert!(!done.stderr.contains("as a value"), "{}", done.stderr);
    }
}

#[test]
fn all_schemas_are_named() {
    let done = run(["schema", "nosuch"]);
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("`ask`") && done.stderr.contains("`validate`"), "{}", done.stderr);
    let done = run(["schema", "rnu"]);
    assert!(done.stderr.contains("did you mean `run`?"), "{}", done.stderr);
}

#[test]
fn help_says_that_a_build_has_no_server() {
    let note = "only in builds with `--features serve`";
    for help in [["serve", "--help"], ["help", "serve"]] {
        let text = succeed(help);
        assert_eq!(text.contains(note), !cfg!(feature = "serve"), "{text}");
    }
    assert_eq!(succeed(["--help"]).contains(note), !cfg!(feature = "serve"));
}

#[test]
fn a_drive_without_a_price_is_named_once() {
    let place = Place::with(SMALL);
    let prices = place.path("p.csv").display().to_string();
    std::fs::write(&prices, "drive,usd_per_tb\nhddd,12\n").unwrap();
    let done = run(place.arguments(&["--prices", &prices]));
    let note = format!("note: `{prices}` has no price for `cheetah-15k`\n");
    assert_eq!((done.status, done.stderr), (Some(0), note));
}

#[test]
fn a_workload_that_ended_in_the_warm_up_says_so() {
    let place = Place::with(SMALL);
    let text = succeed(place.arguments(&["--set", "workload.stream.requests=10"]));
    assert!(
        text.contains("it had ended in the warm-up, after `requests = 10` of each client"),
        "{text}"
    );
}

/// Many drives take one row for each kind, and a second of writes says nothing about years.
#[test]
fn the_wear_of_drives_is_summed_up() {
    let disks = r#"disk  = ["sata-ssd", "sata-ssd", "nvme-3gbs"]"#;
    let text = SMALL.replace(r#"disk  = ["cheetah-15k"]"#, disks);
    let place = Place::with(&text);
    let text = succeed(place.arguments(&["--no-records"]));
    let (_, table) = text.split_once("What writing cost solid-state drives\n").unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(rows.len(), 3, "{table}");
    assert!(
        rows.iter().any(|row| row.contains("brick sata-ssd") && row.contains(" 8 ")),
        "{table}"
    );
    assert!(!table.contains("worn out in"), "{table}");
    // the drive of which least is left, by name
    assert!(rows[1].contains(" disk"), "{table}");
}
