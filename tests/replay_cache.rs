//! `foretell replay-cache`, through the command.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use foretell_units::Seed;
use foretell_workloads::generate::Zipf;
use serde_json::Value;
use tempfile::TempDir;

fn foretell(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    command.arg("replay-cache").args(arguments).output().expect("the command starts")
}

/// What it prints with `--json`.
fn json(trace: &Path, arguments: &[&str]) -> Value {
    let trace = trace.to_str().unwrap();
    let output = foretell(&[&[trace, "--json"], arguments].concat());
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "", "progress is for terminals");
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

/// What it says when it fails because of its input.
fn fault(arguments: &[&str]) -> String {
    let output = foretell(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A directory with a trace of its own.
fn trace(content: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    std::fs::write(&path, content).unwrap();
    (directory, path)
}

/// The real traces, where they are present.
fn real(name: &str) -> Option<PathBuf> {
    foretell_test_data::shared(&format!("traces/{name}"))
}

fn four_digits(value: &Value) -> String {
    format!("{:.4}", value.as_f64().expect("a ratio"))
}

/// The row of a policy and a size.
fn row<'a>(document: &'a Value, policy: &str, size: u64) -> &'a Value {
    let rows = document["results"].as_array().unwrap();
    let found = rows.iter().find(|row| row["policy"] == policy && row["size"] == size);
    found.unwrap_or_else(|| panic!("no row of {policy} {size}"))
}

/// The point of the curve at a size.
fn point(document: &Value, size: u64) -> &Value {
    let points = document["curve"]["points"].as_array().unwrap();
    points.iter().find(|point| point["size"] == size).expect("a point")
}

#[test]
fn golden_cloudphysics_misses_of_libcachesim() {
    let Some(path) = real("cloudPhysicsIO.csv") else { return };
    // of 48,974 different blocks, 1 % are 489.74 and 20 % are 9,794.8
    let document = json(&path, &["--policy", "all", "--size", "1%,20%"]);
    for (size, policy, ratio) in [
        (489, "lru", "0.8380"),
        (489, "fifo", "0.8476"),
        (489, "clock", "0.8372"),
        (489, "arc", "0.8275"),
        (489, "2q", "0.8305"),
        (9_794, "lru", "0.7249"),
        (9_794, "fifo", "0.7128"),
        (9_794, "clock", "0.7483"),
        (9_794, "arc", "0.7026"),
        (9_794, "2q", "0.6954"),
    ] {
        assert_eq!(four_digits(&row(&document, policy, size)["miss_ratio"]), ratio, "{policy}");
    }
    assert_eq!(document["requests"], 113_872);
    assert_eq!((&document["reads"], &document["writes"]), (&46_974.into(), &66_898.into()));
    assert_eq!(document["results"].as_array().unwrap().len(), 2 * 9);
}

#[test]
fn golden_cloudphysics_misses_of_libcachesim_by_size() {
    let Some(path) = real("cloudPhysicsIO.csv") else { return };
    let arguments = ["--policy", "lru,arc,sieve", "--by-size", "--size", "128MiB,1GiB"];
    let document = json(&path, &arguments);
    for (size, policy, misses) in [
        (128 << 20, "lru", 93_151),
        (128 << 20, "arc", 89_372),
        (128 << 20, "sieve", 91_359),
        (1 << 30, "lru", 71_702),
        (1 << 30, "arc", 64_759),
        (1 << 30, "sieve", 64_376),
    ] {
        assert_eq!(row(&document, policy, size)["misses"], misses, "{policy} {size}");
    }
}

#[test]
fn golden_lru_hit_ratios_of_all_traces_by_cache_and_by_curve() {
    let cloud_physics = [(1_000, "0.1673"), (10_000, "0.3024"), (40_000, "0.5697")];
    let traces: [(&str, &[(u64, &str)]); 7] = [
        ("sprite.trace.gz", &[(100, "0.2158"), (400, "0.7077"), (1_000, "0.9064")]),
        ("multi1.trace.gz", &[(1_000, "0.4823"), (2_000, "0.8321")]),
        ("2_pools.trace.gz", &[(400, "0.4915")]),
        ("loop.trace.gz", &[(1_000, "0.0000"), (1_024, "0.9980")]),
        ("cloudPhysicsIO.csv", &cloud_physics),
        ("cloudPhysicsIO.vscsi", &cloud_physics),
        ("cloudPhysicsIO.oracleGeneral.bin", &cloud_physics),
    ];
    for (name, ratios) in traces {
        let Some(path) = real(name) else { return };
        let sizes: Vec<String> = ratios.iter().map(|(size, _)| size.to_string()).collect();
        let sizes = sizes.join(",");
        let caches = json(&path, &["--size", &sizes]);
        assert!(caches["curve"].is_null());
        let curve = json(&path, &["--curve", "--size", &sizes]);
        for &(size, ratio) in ratios {
            let of_cache = row(&caches, "lru", size);
            assert_eq!(four_digits(&of_cache["hit_ratio"]), ratio, "{name} {size}");
            assert_eq!(row(&curve, "lru", size), of_cache, "{name} {size}");
            assert_eq!(point(&curve, size)["hit_ratio"], of_cache["hit_ratio"], "{name} {size}");
        }
    }
}

#[test]
fn each_request_is_one_reference_to_its_address() {
    // lbn 8 is one object, whatever is read or written of it; lbn 9 is another
    let (_directory, path) = trace(
        "version,time,op,size,lbn\n\
         1,0,28,4096,8\n\
         1,0,2a,512,8\n\
         1,1,28,1024,9\n\
         1,1,28,8192,8\n",
    );
    let document = json(&path, &["--policy", "lru", "--size", "1,2"]);
    // with one place: the write hits; with two, the last read too
    let one = row(&document, "lru", 1);
    assert_eq!((&one["hits"], &one["misses"]), (&1.into(), &3.into()));
    assert_eq!((&one["read"]["hits"], &one["write"]["hits"]), (&0.into(), &1.into()));
    // 512 of 13,824 bytes
    assert_eq!((&one["hit_bytes"], &one["bytes"]), (&512.into(), &13_824.into()));
    assert_eq!(one["byte_hit_ratio"], 512.0 / 13_824.0);
    let two = row(&document, "lru", 2);
    assert_eq!((&two["hits"], &two["hit_bytes"]), (&2.into(), &8_704.into()));
    assert_eq!(two["read"]["hit_ratio"], 1.0 / 3.0);
    assert_eq!(two["write"]["hit_ratio"], 1.0);
}

#[test]
fn requests_are_split_into_pages() {
    // sectors 7 to 16: 1 of page 0, 8 of page 1, 1 of page 2
    let (_directory, path) =
        trace("version,time,op,size,lbn\n1,0,2a,5120,7\n1,1,28,512,0\n1,2,28,8192,8\n");
    for size in ["2", "8KiB", "11 KiB"] {
        let document = json(&path, &["--pages", "4KiB", "--size", size]);
        assert_eq!((&document["requests"], &document["references"]), (&3.into(), &6.into()));
        assert_eq!(
            (&document["size_unit"], &document["page_bytes"]),
            (&"pages".into(), &4096.into())
        );
        let row = row(&document, "lru", 2);
        assert_eq!(row["size_bytes"], 8192);
        // pages 0 1 2 | 0 | 1 2: two places hold 1 2, then 2 0, then 0 1, then 1 2
        assert_eq!((&row["hits"], &row["hit_bytes"]), (&0.into(), &0.into()));
        assert_eq!((&row["write"]["bytes"], &row["read"]["bytes"]), (&5_120.into(), &8_704.into()));
    }
    let document = json(&path, &["--pages", "4KiB"]);
    assert_eq!(document["objects"], 3);
    // with three, 0 hits, and then 1 and 2
    let point = point(&document, 3);
    assert_eq!((&point["hit_ratio"], &point["read_hit_ratio"]), (&0.5.into(), &1.0.into()));
    assert_eq!(point["byte_hit_ratio"], 8_704.0 / 13_824.0);
}

#[test]
fn a_request_may_touch_more_pages_than_a_batch_holds() {
    // 10,000 pages of 512 B, twice; and a last page at the end of the address space
    let (_directory, path) = trace(
        "version,time,op,size,lbn\n1,0,28,5120000,3\n1,1,28,5120000,3\n\
         1,2,28,511,36028797018963967\n",
    );
    for jobs in ["1", "3"] {
        let arguments =
            ["--pages", "512B", "--size", "9999,10000", "--policy", "lru,fifo", "--jobs", jobs];
        let document = json(&path, &arguments);
        assert_eq!(document["references"], 20_001);
        for policy in ["lru", "fifo"] {
            assert_eq!(row(&document, policy, 9_999)["hits"], 0);
            assert_eq!(row(&document, policy, 10_000)["hits"], 10_000);
        }
    }
}

#[test]
fn objects_may_be_as_large_as_their_requests() {
    let (_directory, path) = trace(
        "version,time,op,size,lbn\n\
         1,0,28,2048,1\n\
         1,0,28,1024,9\n\
         1,1,28,1024,1\n\
         1,2,28,4096,5\n\
         1,3,28,512,9\n",
    );
    // 3 KiB hold the first two, so that the third hits; the fourth is too large, the last hits
    let document = json(&path, &["--by-size", "--size", "3KiB,3071"]);
    let row_3k = row(&document, "lru", 3072);
    assert_eq!((&row_3k["hits"], &row_3k["refused"]), (&2.into(), &1.into()));
    assert_eq!(row_3k["hit_bytes"], 1536);
    // a byte less: the second drives out the first, which comes back with 1 KiB; the last hits
    assert_eq!(row(&document, "lru", 3071)["hit_bytes"], 512);
    // 2048 + 1024 + 4096 bytes of different objects, half of them
    let document = json(&path, &["--by-size", "--size", "50%"]);
    assert_eq!(document["results"][0]["size"], 3584);
}

#[test]
fn objects_may_have_any_number() {
    // hashes, which are no addresses of blocks
    let hashes = [u64::MAX - 4096, 0x9e37_79b9_7f4a_7c15, u64::MAX - 4096];
    let mut records = Vec::new();
    for hash in hashes {
        records.extend(7_u32.to_le_bytes());
        records.extend(hash.to_le_bytes());
        records.extend(100_u32.to_le_bytes());
        records.extend((-1_i64).to_le_bytes());
    }
    let lines = hashes.map(|hash| format!("{hash}\n")).concat();
    for (content, bytes) in [(records, 300), (lines.into_bytes(), 3 * 4096)] {
        let (_directory, path) = trace(content);
        let document = json(&path, &["--size", "2"]);
        assert_eq!(
            (&document["results"][0]["hits"], &document["bytes"]),
            (&1.into(), &bytes.into())
        );
    }
}

/// A trace with reads and writes of several sizes, popular blocks and others.
fn mixed(requests: u64, blocks: u64) -> String {
    let zipf = Zipf::new(blocks, 0.9).unwrap();
    let mut stream = Seed(11).stream("test");
    let mut text = String::from("version,time,op,size,lbn\n");
    for number in 0..requests {
        let op = if stream.chance(0.3) { "2a" } else { "28" };
        let (size, block) =
            (512 << stream.below(5), zipf.draw(&mut stream) * 2_654_435_761 % blocks);
        let _ = writeln!(text, "1,{number},{op},{size},{}", block * 8);
    }
    text
}

#[test]
fn oracle_curve_is_what_caches_of_each_size_hit() {
    let (_directory, path) = trace(mixed(20_000, 3_000));
    for pages in [&[][..], &["--pages", "4KiB"]] {
        let curve = json(&path, &[&["--curve"], pages].concat());
        let points = curve["curve"]["points"].as_array().unwrap();
        let useful = curve["curve"]["largest_useful_size"].as_u64().unwrap();
        assert_eq!(points.last().unwrap()["size"], useful);
        assert!(points.len() > 100 && useful > 1_000);
        let sizes: Vec<String> = points.iter().map(|point| point["size"].to_string()).collect();
        let caches = json(&path, &[&["--size", &sizes.join(",")], pages].concat());
        for (point, row) in points.iter().zip(caches["results"].as_array().unwrap()) {
            for ratio in ["hit_ratio", "miss_ratio", "byte_hit_ratio", "byte_miss_ratio"] {
                assert_eq!(point[ratio], row[ratio], "{ratio} {}", row["size"]);
            }
            assert_eq!(point["read_hit_ratio"], row["read"]["hit_ratio"]);
            assert_eq!(point["write_hit_ratio"], row["write"]["hit_ratio"]);
        }
    }
}

#[test]
fn a_sample_is_near_the_curve() {
    let (_directory, path) = trace(mixed(400_000, 100_000));
    let exact = json(&path, &[]);
    // so few objects, a tenth of which is followed, tell the curve to a hundredth or two
    for (sample, near) in [("10%", 0.02), ("1.0", 0.000_1), ("5000", 0.02)] {
        let sampled = json(&path, &["--sample", sample]);
        assert_eq!(sampled["curve"]["estimated"], true);
        let (mut sum, mut count) = (0.0, 0);
        for point in exact["curve"]["points"].as_array().unwrap() {
            let size = point["size"].as_u64().unwrap();
            if size < 1000 {
                continue;
            }
            let points = sampled["curve"]["points"].as_array().unwrap();
            let Some(other) = points.iter().find(|other| other["size"] == size) else { continue };
            for ratio in ["hit_ratio", "read_hit_ratio", "write_hit_ratio"] {
                sum += (point[ratio].as_f64().unwrap() - other[ratio].as_f64().unwrap()).abs();
                count += 1;
            }
            assert!(other["byte_hit_ratio"].is_null());
        }
        let mean = sum / f64::from(count);
        assert!(count > 200 && mean < near, "{sample}: {mean} of {count}");
    }
    // a size asked for is a row too, and says that it is estimated
    let sampled = json(&path, &["--sample", "0.1", "--size", "10000"]);
    let row = row(&sampled, "lru", 10_000);
    assert_eq!((&row["estimated"], &row["hits"]), (&true.into(), &Value::Null));
    assert_eq!(row["hit_ratio"], point(&sampled, 10_000)["hit_ratio"]);
}

#[test]
fn threads_make_no_difference() {
    let (_directory, path) = trace(mixed(30_000, 5_000));
    let trace = path.to_str().unwrap();
    let run = |jobs| {
        let arguments =
            [trace, "--policy", "all", "--size", "50,500,5%", "--curve", "--json", "--jobs", jobs];
        let output = foretell(&arguments);
        assert!(output.status.success());
        output.stdout
    };
    let alone = run("1");
    for jobs in ["2", "5", "100"] {
        assert!(run(jobs) == alone, "{jobs}");
    }
}

#[test]
fn a_table_shows_policies_by_size() {
    let (_directory, path) = trace("1\n2\n1\n3\n1\n");
    let output = foretell(&[path.to_str().unwrap(), "--policy", "lru,fifo", "--size", "2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    // LRU holds 1 throughout: 2 of 5; FIFO loses it to 3
    let expected = [
        "size policy miss hit byte miss byte hit read hit write hit",
        "2 lru 0.6000 0.4000 0.6000 0.4000 0.4000",
        "2 fifo 0.8000 0.2000 0.8000 0.2000 0.2000",
    ];
    for line in expected {
        let wanted: Vec<&str> = line.split(' ').collect();
        assert!(lines.contains(&wanted), "{text}");
    }
}

#[test]
fn wrong_input_is_named() {
    let (_directory, path) = trace("1\n2\n3\n");
    let trace_path = path.to_str().unwrap();
    for (arguments, wanted) in [
        (&["--policy", "clok"][..], "did you mean `clock`?"),
        (&["--policy", "lru,,arc"], "is not a cache policy"),
        (&["--policy", "arc"], "policy `arc` needs `--size`"),
        (&["--size", "0"], "`0` leaves no room"),
        (&["--size", "10,ten"], "`ten` is not the size of a cache"),
        (&["--size", "600000000"], "a cache of 600000000 objects is too large"),
        (&["--size", "1GiB"], "split requests into pages (`--pages 4KiB`)"),
        (&["--size", "1KiB", "--pages", "4KiB"], "does not hold one page of 4 KiB"),
        (&["--size", "4", "--pages", "0 B"], "a page has at least one byte"),
        (&["--by-size"], "`--by-size` needs `--size`"),
        (&["--by-size", "--size", "1", "--pages", "1KiB"], "--pages"),
        (&["--sample", "2.5"], "`2.5` is not a sample"),
        (&["--format", "vcsci"], "did you mean `vscsi`?"),
        (&["--device", "sda"], "does not tell devices apart"),
        (&["--format", "csv", "--block", "4KiB"], "block sizes belong to `oracle-general`"),
        (&["--jobs", "0"], "--jobs"),
    ] {
        let message = fault(&[&[trace_path], arguments].concat());
        assert!(message.contains(wanted), "{arguments:?}: {message}");
    }
    let absent = fault(&["no/such/trace", "--size", "1%"]);
    assert!(absent.starts_with("  × cannot open trace `no/such/trace`: "), "{absent}");
}

#[test]
fn a_wrong_trace_is_named_with_its_line() {
    let (_directory, path) = trace("1\n2\nx\n2\n");
    let trace_path = path.to_str().unwrap();
    for arguments in
        [&["--size", "1"][..], &["--size", "1%"], &["--policy", "all", "--size", "1,2"]]
    {
        let message = fault(&[&[trace_path, "--format", "block-list"], arguments].concat());
        assert!(message.contains("line 3: `block` is `x`"), "{message}");
    }
    let document = json(&path, &["--skip-bad"]);
    assert_eq!((&document["requests"], &document["bad_records"]), (&3.into(), &1.into()));
    let (_directory, path) = trace("version,time,op,size,lbn\n");
    assert!(fault(&[path.to_str().unwrap()]).contains("holds no requests"));
    let (_directory, path) = trace("");
    assert!(fault(&[path.to_str().unwrap()]).contains("is empty"));
}

#[test]
fn a_trace_comes_from_standard_input_too() {
    use std::io::Write as _;
    use std::process::Stdio;

    let mut child = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(["replay-cache", "-", "--size", "2"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"1\n2\n1\n2\n3\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    // two of five references hit
    assert!(output.status.success() && printed.contains("0.4000"), "{printed}");
}
