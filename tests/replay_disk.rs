//! `foretell replay-disk` and `foretell import diskspecs`, through the command.

use crate::common;

use std::path::PathBuf;

use common::{Place, data, files, foretell, run, succeed};
use serde_json::Value;

/// What a command says that fails because of its input: one line.
fn fault(arguments: &[&str]) -> String {
    let done = run(arguments);
    assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{arguments:?}");
    done.stderr
}

fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("our paths are UTF-8")
}

/// Imports a drive of the real data into a place of the test's own.
fn imported(place: &Place, parameters: &str) -> Option<PathBuf> {
    let parameters = data(&format!("disks/{parameters}"))?;
    let device = place.path("device.toml");
    let printed = succeed(["import", "diskspecs", text(&parameters), "-o", text(&device)]);
    assert!(printed.ends_with(&format!("in {}\n", device.display())), "{printed}");
    Some(device)
}

#[test]
fn published_validation_through_import_and_replay() {
    for (drive, requests, disksim_rms_ms) in
        [("hp_c3323a", 9074, 0.305), ("cheetah9LP", 10_000, 0.107), ("barracuda", 10_000, 0.348)]
    {
        let place = Place::with("");
        let Some(device) = imported(&place, &format!("{drive}.parv")) else { return };
        let trace = data(&format!("disks/{drive}.trace")).unwrap();
        let printed = succeed(["replay-disk", text(&device), text(&trace), "--json"]);
        let found: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(found["requests"], requests);
        let rms_ms = found["rms_ms"].as_f64().unwrap();
        assert!(rms_ms <= 1.5 * disksim_rms_ms, "{drive}: {rms_ms}");
        for who in ["model", "real"] {
            for figure in ["mean_ms", "p95_ms", "p99_ms"] {
                assert!(found[who][figure].as_f64().unwrap() > 0.0, "{who} {figure}");
            }
        }
    }
}

#[test]
fn the_table_says_what_the_document_says() {
    let Some(trace) = data("disks/cheetah9LP.trace") else { return };
    let table = succeed(["replay-disk", "cheetah-9lp", text(&trace)]);
    let document = succeed(["replay-disk", "cheetah-9lp", text(&trace), "--json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let row = |name: &str| -> Vec<f64> {
        let row = table.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
        row.split_whitespace().map(|cell| cell.parse().unwrap()).collect()
    };
    for (name, key) in [("model", "model"), ("real disk", "real")] {
        let times = ["mean_ms", "p95_ms", "p99_ms"].map(|figure| &document[key][figure]);
        let cells = row(name);
        assert!((cells[0] - 10_000.0).abs() < 0.5, "{table}");
        for (cell, time) in cells[1..].iter().zip(times) {
            assert!((cell - time.as_f64().unwrap()).abs() <= 0.0005, "{table}");
        }
    }
    // the data's own README: mean 4.273, p95 12.12, p99 14.24 ms
    assert_eq!(row("real disk")[1..], [4.273, 12.110, 14.236]);
    assert!(table.contains("6594 reads and 3406 writes"), "{table}");
}

/// Requests that took 10 and 20 ms, a second of thinking between them.
const TWO: &str = "R Miss 800 8 10000.0 1000000\nW Miss 160000 8 20000.0 0\n";
/// The trace of [`TWO`], compressed by gzip.
const TWO_GZ: &[u8] = b"\
    \x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x0b\x52\xf0\xcd\x2c\x2e\x56\xb0\x30\x30\x50\xb0\
    \x50\x30\x34\x00\x02\x3d\x03\x08\x6d\x60\xc0\x15\x0e\x91\x34\x34\x03\xf1\x80\xf2\x46\x50\
    \x79\x03\x2e\x00\x39\x66\x58\x3a\x37\x00\x00\x00";

#[test]
fn simple_disks_and_compressed_traces_are_replayed_too() {
    let place = Place::with("");
    let trace = place.path("t.trace");
    std::fs::write(&trace, TWO).unwrap();
    let plain = succeed(["replay-disk", "barracuda-7200.8", text(&trace), "--json"]);
    let found: Value = serde_json::from_str(&plain).unwrap();
    assert_eq!((&found["reads"], &found["writes"]), (&Value::from(1), &Value::from(1)));
    assert_eq!(found["real"]["mean_ms"], 15.0);
    let packed = place.path("t.trace.gz");
    std::fs::write(&packed, TWO_GZ).unwrap();
    let unpacked = succeed(["replay-disk", "barracuda-7200.8", text(&packed), "--json"]);
    let unpacked: Value = serde_json::from_str(&unpacked).unwrap();
    assert_eq!(unpacked["model"], found["model"]);
}

#[test]
fn wrong_devices_and_traces_are_told_in_one_message() {
    let place = Place::with("");
    let trace = place.path("t.trace");
    std::fs::write(&trace, "R Hit 8 8 100 200\n").unwrap();
    let trace = text(&trace);
    let write = |name: &str, content: &[u8]| {
        let path = place.path(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };

    let found = fault(&["replay-disk", "cheetah-9l", trace]);
    assert!(found.contains("there is no device `cheetah-9l`"), "{found}");
    assert!(found.contains("did you mean `cheetah-9lp`?"), "{found}");
    let found = fault(&["replay-disk", "devices", trace]);
    assert!(found.contains("there is no device `devices`, and no file of that name"), "{found}");
    let cpu = write("cpu.toml", b"source = \"nowhere\"\ncores = 2\n");
    let found = fault(&["replay-disk", &cpu, trace]);
    assert!(found.contains("the profile has no `kind`"), "{found}");
    let drive = include_str!("../scenarios/devices/sata-7200-2005.toml");
    let slip = write("slip.toml", drive.replace("heads        =", "haeds        =").as_bytes());
    let found = fault(&["replay-disk", &slip, trace]);
    assert!(found.contains("no key `haeds`") && found.contains("did you mean `heads`?"), "{found}");
    let binary = write("binary.toml", &[0xff, 0xfe, 0]);
    let found = fault(&["replay-disk", &binary, trace]);
    assert!(found.contains("it is not UTF-8 text"), "{found}");

    let one_line = |arguments: &[&str], wanted: &str| {
        let found = fault(arguments);
        assert!(found.contains(wanted) && found.lines().count() == 1, "{found}");
    };
    one_line(
        &["replay-disk", "cheetah-9lp", "nosuch.trace"],
        "cannot read the trace `nosuch.trace`",
    );
    one_line(&["replay-disk", "cheetah-9lp", &write("empty", b"")], "the trace is empty");
    let other = write("other.csv", b"version,time,op,size,lbn\n1,5633898,2a,512,42932745\n");
    one_line(
        &["replay-disk", "cheetah-9lp", &other],
        "line 1: the direction is `version,time,op,size,lbn`; a line is `R|W action block sectors",
    );
    let cut = write("cut.trace", b"R Hit 8 8 100 200\nR Hit 16 8 10");
    one_line(
        &["replay-disk", "cheetah-9lp", &cut],
        "line 2: the time to the next request is missing",
    );
    let beyond = write("beyond.trace", b"R Hit 8 8 100 200\nR Hit 17918380 8 100 0\n");
    one_line(
        &["replay-disk", "cheetah-9lp", &beyond],
        "line 2: sectors 17918380 to 17918387 are requested, but the drive ends before",
    );
    let packed = write("packed.gz", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x55]);
    one_line(&["replay-disk", "cheetah-9lp", &packed], "cannot read the trace");
}

/// A drive of our own invention, in three files.
const DISKSPECS: &str = "
disksim_disk TOY { Model = source toy.model, Bulk sector transfer time = 0.025,
   Number of buffer segments = 4, Segment size (in blks) = 128, Enable caching in buffer = 1,
   Buffer continuous read = 3, Fast write level = 2, Read miss over. after read = 0.25 }
disksim_disk OTHER { Model = source toy.model, Bulk sector transfer time = 0.1, Number of buffer segments = 1,
   Segment size (in blks) = 128 }
instantiate [ disk0 ] as TOY
";
const MODEL: &str = "
dm_disk TOY_model {
   Number of data surfaces = 2, Number of cylinders = 30, Block count = 7200,
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 0, Sparing scheme used = 0,
      Zones = [ dm_layout_g1_zone { First cylinder number = 0, Last cylinder number = 29,
         Blocks per track = 120, Skew for track switch = 10.0, Skew for cylinder switch = 20.0 } ] },
   Mechanical Model = dm_mech_g1 { Access time type = trackSwitchPlusRotation,
      Seek type = extracted, Full seek curve = toy.seek, Add. write settling delay = 0.25,
      Head switch time = 0.5, Rotation speed (in rpms) = 7200 } }
";
const SEEK: &str = "Seek distances measured: 2\n1, 1.0\n29, 3.9\n";

fn toy() -> Place {
    let place = Place::with("");
    for (name, content) in [("toy.diskspecs", DISKSPECS), ("toy.model", MODEL), ("toy.seek", SEEK)]
    {
        std::fs::write(place.path(name), content).unwrap();
    }
    place
}

#[test]
fn an_imported_drive_is_a_device_of_scenarios() {
    let place = toy();
    std::fs::create_dir(place.path("devices")).unwrap();
    let device = place.path("devices/toy.toml");
    let printed =
        succeed(["import", "diskspecs", text(&place.path("toy.diskspecs")), "-o", text(&device)]);
    // 30 cylinders of 2 tracks of 120 sectors
    assert!(printed.starts_with("TOY: 7200 sectors, 7200 rpm, 2 heads, 1 zones\n"), "{printed}");
    assert!(printed.contains("note: no bus is described"), "{printed}");
    let file = std::fs::read_to_string(&device).unwrap();
    assert!(file.contains("# note: no bus is described"), "{file}");
    // without -o the same is printed
    assert_eq!(succeed(["import", "diskspecs", text(&place.path("toy.diskspecs"))]), file);
    std::fs::write(
        place.scenario(),
        r#"
duration = "1 s"
node.n = { cpu = "pentium4-2.6", cache = { size = "32 MiB" }, disk = ["toy"] }
client.c = { cpu = "pentium4-2.6" }
volume.v = { size = "2 MiB", nodes = "n" }
workload.w = { volume = "v", client = "c", kind = "ssio", reads = "50%" }
"#,
    )
    .unwrap();
    succeed(place.arguments(&[]));
}

#[test]
fn all_files_of_a_description_may_be_given_wherever_they_are() {
    let place = toy();
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    for name in ["toy.model", "toy.seek"] {
        std::fs::rename(place.path(name), place.path("elsewhere").join(name)).unwrap();
    }
    let found = fault(&["import", "diskspecs", text(&place.path("toy.diskspecs"))]);
    assert!(found.contains("toy.model` cannot be read"), "{found}");
    let paths = ["elsewhere/toy.seek", "toy.diskspecs", "elsewhere/toy.model", "scenario.toml"];
    let paths = paths.map(|name| place.path(name).display().to_string());
    let mut arguments = vec!["import".to_owned(), "diskspecs".to_owned()];
    arguments.extend(paths.iter().take(3).cloned());
    let printed = succeed(&arguments);
    assert!(printed.contains("\n# TOY: 7200 sectors"), "{printed}");
    // which disk, if there are several; what does not belong to it
    arguments.extend(["--disk".to_owned(), "OTHER".to_owned()]);
    assert!(succeed(&arguments).contains("\n# OTHER: 7200 sectors"));
    let two = [&paths[0], &paths[2]].map(String::as_str);
    let found = fault(&["import", "diskspecs", two[0]]);
    assert!(found.contains("a part of a description alone is not a drive"), "{found}");
    let found = fault(&["import", "diskspecs", two[1], &paths[1], &paths[1]]);
    assert!(found.contains("give the files of one drive"), "{found}");
}

#[test]
fn a_wrong_description_is_told_with_its_line_and_leaves_nothing() {
    let place = toy();
    let specs = place.path("toy.diskspecs");
    let out = place.path("out.toml");
    let import = |wanted: &str| {
        let found = fault(&["import", "diskspecs", text(&specs), "-o", text(&out)]);
        assert!(found.contains(wanted) && found.lines().count() == 1, "{found}\nlacks\n{wanted}");
        let left = files(&place.path(""));
        assert_eq!(left, ["scenario.toml", "toy.diskspecs", "toy.model", "toy.seek"]);
    };
    // cut off in the middle
    std::fs::write(place.path("toy.model"), &MODEL[..MODEL.len() / 2]).unwrap();
    import("the file ends before what begins on line");
    std::fs::write(place.path("toy.model"), MODEL.replace("g1 {\n      LBN", "g4 {\n      LBN"))
        .unwrap();
    import("toy.model:4: the layout is `dm_layout_g4`");
    std::fs::write(place.path("toy.model"), MODEL.replace("= 7200 }", "= 0 }")).unwrap();
    import("`rpm`");
    std::fs::write(place.path("toy.model"), MODEL).unwrap();
    std::fs::write(place.path("toy.seek"), "").unwrap();
    import("toy.seek: there is no seek time in it");
    std::fs::write(&specs, "").unwrap();
    import("toy.diskspecs: there is no block of type `disksim_disk` or `dm_disk`");
    std::fs::write(&specs, [0xff, 0xfe]).unwrap();
    import("toy.diskspecs:1: the text is not UTF-8");
    let found = fault(&["import", "diskspecs", "nosuch.parv"]);
    assert!(found.contains("nosuch.parv: cannot be read"), "{found}");
}

#[test]
fn an_output_that_cannot_be_written_is_a_failure_and_leaves_what_was_there() {
    let place = toy();
    let specs = place.path("toy.diskspecs");
    let failed = |out: &str, status: i32, why: &str| {
        let done = run(["import", "diskspecs", text(&specs), "-o", out]);
        assert_eq!((done.status, done.stdout.as_str()), (Some(status), ""), "{out}");
        assert!(done.stderr.contains(&format!("cannot write `{out}`: {why}")), "{}", done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    };
    failed(text(&place.path("toy.model/out.toml")), 1, "Not a directory");
    std::fs::create_dir(place.path("directory")).unwrap();
    failed(text(&place.path("directory")), 2, "it is a directory");
    // a directory is made where there is none
    succeed(["import", "diskspecs", text(&specs), "-o", text(&place.path("nowhere/out.toml"))]);
    // what is half-written has a name that nobody else takes
    std::fs::write(place.path("out.toml"), "").unwrap();
    std::fs::create_dir(place.path("out.toml.partial")).unwrap();
    succeed(["import", "diskspecs", text(&specs), "-o", text(&place.path("out.toml"))]);
    assert!(std::fs::read_to_string(place.path("out.toml")).unwrap().contains("rpm"));
    if cfg!(target_os = "linux") {
        failed("/dev/full", 2, "it is a device");
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = foretell();
        command.args(["import", "diskspecs", text(&specs)]).stdout(full);
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(1));
        let message = String::from_utf8(done.stderr).unwrap();
        assert!(message.contains("cannot write the results"), "{message}");
    }
}
