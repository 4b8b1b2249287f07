//! The invariants of docs/architecture.md that are about the tree itself.
#![allow(clippy::case_sensitive_file_extension_comparisons, reason = "names of our own files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use foretell_input::{Limit, MAX_CELLS, MAX_COLUMNS, MAX_NAMES, MAX_RECORD};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The crates of ours that each uses, tests included: the table of docs/architecture.md.
const MAY_USE: &[(&str, &[&str])] = &[
    ("base/units", &[]),
    ("base/sorted", &[]),
    ("base/galois", &["units"]),
    ("base/input", &[]),
    ("base/files", &[]),
    ("algorithms", &["units", "sorted", "galois"]),
    ("base/no-schema", &[]),
    ("base/test-data", &[]),
    ("scenarios", &["units", "sorted", "algorithms", "input", "ceph-maps", "no-schema"]),
    ("pages/laboratory", &["scenarios"]),
    ("pages/serve", &["files", "scenarios", "report", "datasets", "core"]),
    ("pages/web", &["core"]),
    ("systems", &["units", "sorted", "algorithms", "scenarios"]),
    ("workloads", &["units", "algorithms", "input"]),
    ("data/metrics", &["input"]),
    ("ati", &["units", "files", "metrics"]),
    (
        "sim",
        &[
            "units",
            "sorted",
            "input",
            "metrics",
            "algorithms",
            "scenarios",
            "systems",
            "workloads",
            "ati",
        ],
    ),
    ("whatif", &["units", "sorted", "algorithms", "scenarios", "systems", "ati", "input"]),
    ("learn", &["units", "sorted", "input"]),
    ("data/estimate", &["units", "sorted"]),
    ("data/datasets", &["units", "input", "files", "scenarios"]),
    ("real/ceph-maps", &["sorted", "algorithms", "input"]),
    ("pages/report", &["units", "sorted", "input", "ati"]),
    (
        "core",
        &[
            "units",
            "sorted",
            "input",
            "files",
            "metrics",
            "algorithms",
            "scenarios",
            "systems",
            "ati",
            "workloads",
            "sim",
            "whatif",
            "estimate",
            "datasets",
        ],
    ),
    ("pages/pictures", &["files"]),
    ("real/twin", &["units", "sorted", "input", "scenarios", "sim", "core"]),
    (
        "papers",
        &[
            "units",
            "sorted",
            "input",
            "files",
            "metrics",
            "algorithms",
            "scenarios",
            "ati",
            "sim",
            "whatif",
            "learn",
            "estimate",
            "datasets",
            "pictures",
            "core",
            "twin",
        ],
    ),
];

/// Crates of ours named anywhere in a manifest.
fn used(manifest: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(manifest).unwrap();
    // a crate of ours is taken from the workspace, where it can be seen
    assert!(!text.contains("path = \"..") && !text.contains("path=\".."), "{}", manifest.display());
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("foretell-"))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        // the tests of any crate may read the real data
        .filter(|name| *name != "test-data")
        .map(str::to_owned)
        .collect()
}

#[test]
fn crates_depend_only_on_those_below() {
    for (name, allowed) in MAY_USE {
        let used = used(&root().join(name).join("Cargo.toml"));
        let allowed: BTreeSet<String> = allowed.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(used, allowed, "{name}");
    }
}

/// Tests that are one binary: its file, which lists the others beside it.
const SUITES: [&str; 5] = [
    "tests/program.rs",
    "sim/tests/simulation.rs",
    "scenarios/tests/files.rs",
    "real/ceph-maps/tests/maps.rs",
    "ati/tests/stores.rs",
];

#[test]
fn no_file_of_tests_is_left_out() {
    for suite in SUITES {
        let path = root().join(suite);
        let listed = fs::read_to_string(&path).unwrap();
        for entry in fs::read_dir(path.parent().unwrap()).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let Some(module) = name.strip_suffix(".rs") else { continue };
            let is_listed = listed.lines().any(|line| line == format!("mod {module};"));
            assert!(is_listed || entry.path() == path, "{suite} does not list {name}");
        }
    }
}

#[test]
fn every_crate_is_in_the_table_and_takes_the_lints() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"forbid\""));
    let members = workspace.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    for member in members.split(',').map(|member| member.trim().trim_matches('"')) {
        assert!(MAY_USE.iter().any(|(name, _)| *name == member), "{member} is not in the table");
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
        if MAY_BE_UNSAFE.iter().any(|(crate_, _)| *crate_ == member) {
            assert!(manifest.contains("unsafe_code = \"deny\"\n"), "{member}");
            assert!(manifest.contains("undocumented_unsafe_blocks = \"deny\"\n"), "{member}");
        } else {
            assert!(manifest.contains("[lints]\nworkspace = true"), "{member}");
        }
    }
}

/// A stranger finds each folder of the root in README's map.
#[test]
fn the_readme_says_what_each_folder_is() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let map = readme.split_once("## The sources").unwrap().1.split_once("\n## ").unwrap().0;
    let tracked =
        std::process::Command::new("git").args(["ls-files"]).current_dir(root()).output().unwrap();
    if !tracked.status.success() {
        println!("skipped: the sources are no git checkout");
        return;
    }
    let tracked = String::from_utf8(tracked.stdout).unwrap();
    let folders: BTreeSet<&str> = tracked
        .lines()
        .filter_map(|file| file.split_once('/'))
        .map(|(folder, _)| folder)
        .filter(|folder| !folder.starts_with('.'))
        .collect();
    let rows = map.lines().filter(|line| line.starts_with("| `"));
    let mapped: BTreeSet<&str> = rows
        .filter_map(|row| row.split('|').nth(1))
        .flat_map(|names| names.split(','))
        .map(|name| name.trim().trim_matches('`'))
        .collect();
    assert_eq!(mapped, folders);
    assert!(folders.len() <= 20, "{folders:?}");
}

/// Files that CONTRIBUTING.md and docs/architecture.md tell to change exist.
#[test]
fn the_files_to_change_are_there() {
    for document in ["CONTRIBUTING.md", "docs/architecture.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let named = text.split('`').skip(1).step_by(2).filter(|name| {
            let folders = [
                "src/",
                "scenarios/",
                "sim/",
                "whatif/",
                "systems/",
                "learn/",
                "workloads/",
                "pages/",
                "real/",
                "base/",
            ];
            folders.iter().any(|folder| name.starts_with(folder))
                && !name.contains(['*', ' ', '\n'])
                && !name.contains("NAME")
        });
        let missing: Vec<&str> = named.filter(|name| !root().join(name).exists()).collect();
        assert!(missing.is_empty(), "{document} names {missing:?}");
    }
}

/// The crates with `unsafe` code, and their files that have any: vector instructions, chosen when the
/// program runs, are called where the compiler cannot see that the processor has them; and pages call
/// functions by names that the linker must keep. Everywhere else the compiler forbids it.
const MAY_BE_UNSAFE: [(&str, &[&str]); 2] =
    [("base/galois", &["arm.rs", "x86.rs"]), ("pages/web", &["exports.rs"])];

#[test]
fn few_files_are_unsafe() {
    for (member, files) in MAY_BE_UNSAFE {
        let mut lifted = Vec::new();
        for entry in fs::read_dir(root().join(member).join("src")).unwrap().map(Result::unwrap) {
            let text = fs::read_to_string(entry.path()).unwrap();
            if text.contains("(unsafe_code") {
                lifted.push(entry.file_name().into_string().unwrap());
            }
        }
        lifted.sort();
        assert_eq!(lifted, files, "{member}");
    }
}

/// Calls that make, change, rename or remove files, and crates that do.
const WRITING: &[&str] = &[
    "File::create",
    "File::options",
    "OpenOptions",
    "DirBuilder",
    "fs::copy",
    "fs::create_dir",
    "fs::hard_link",
    "fs::remove_",
    "fs::rename",
    "fs::set_permissions",
    "fs::write",
    "set_readonly",
    "symlink(",
    "tempfile::",
    "rustix::",
    "BitMapBackend::new(",
    "SVGBackend::new(",
    "ArrowWriter::try_new(File",
];

/// The source files below a directory, without tests and benches.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "tests" {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// What of a source file is not a module of tests at its end.
fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {").next().unwrap()
}

/// One module writes, so that users lose nothing: docs/architecture.md, `files`.
#[test]
fn nothing_but_the_module_for_it_writes_files() {
    let mut all = Vec::new();
    sources(&root().join("src"), &mut all);
    for (name, _) in MAY_USE.iter().filter(|(name, _)| *name != "base/files") {
        sources(&root().join(name).join("src"), &mut all);
    }
    assert!(all.len() > 200, "{}", all.len());
    let mut faults = Vec::new();
    for path in all {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in without_tests(&text).lines().enumerate() {
            let code = line.split("//").next().unwrap();
            if WRITING.iter().any(|call| code.contains(call)) {
                faults.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "what is written goes through `foretell-files`, which neither follows links nor replaces what \
         is not ours:\n{}",
        faults.join("\n")
    );
}

#[test]
fn the_store_knows_neither_seed_nor_mechanics() {
    let dir = tempfile::tempdir().unwrap();
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args([
            "run",
            "scenarios/first-look.toml",
            "--set",
            "duration=100 ms",
            "--seed",
            "987654321",
        ])
        .args(["--set", "warmup=0 s", "--set", "record=every 1/100 requests", "-o"])
        .arg(dir.path())
        .current_dir(root())
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let facts = foretell_ati::open_run(dir.path()).unwrap().facts().unwrap();
    assert!(facts.settings.len() > 50);
    for fact in &facts.settings {
        for secret in ["seed", "rpm", "seek", "cylinder"] {
            assert!(!fact.path.contains(secret), "{}", fact.path);
        }
        assert!(!format!("{:?}", fact.value).contains("987654321"), "{}", fact.path);
    }
}

/// `scenarios` may depend on neither `workloads` nor `ati`, so it holds copies of their names.
#[test]
fn scenarios_know_the_formats_and_record_types_that_there_are() {
    let formats: Vec<&str> =
        foretell_workloads::trace::Format::ALL.iter().map(|format| format.name()).collect();
    assert_eq!(foretell_scenarios::TRACE_FORMATS.to_vec(), formats);
    let mut document = foretell_scenarios::Document::shipped("first-look").unwrap().unwrap();
    let kinds: Vec<&str> = foretell_ati::RecordKind::ALL.iter().map(|kind| kind.name()).collect();
    document.set("tracking.types", &format!("{kinds:?}")).unwrap();
    assert_eq!(document.check().unwrap().tracking.kinds, kinds);
}

/// The wall between predictor and truth: whatever `whatif` needs, tests included, `sim` is not in it.
#[test]
fn a_predictor_never_sees_the_truth() {
    let tree = std::process::Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--package",
            "foretell-whatif",
            "--edges",
            "all",
            "--prefix",
            "none",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.contains("foretell-ati"), "{tree}");
    for hidden in ["foretell-sim", "foretell-workloads"] {
        assert!(!tree.contains(hidden), "{hidden} is in the tree of foretell-whatif");
    }
}

/// `docs/limits.md` says the limits that there are.
#[test]
fn documented_limits_are_those_there_are() {
    let docs = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let rows: Vec<&str> = docs.lines().filter(|line| line.contains(" MiB | ")).collect();
    let limits =
        Limit::ALL.map(|limit| format!("| {} MiB | {} |", limit.bytes() >> 20, limit.of()));
    assert_eq!(rows, limits);
    for number in [MAX_CELLS, MAX_COLUMNS as u64, MAX_NAMES as u64] {
        assert!(docs.contains(&format!("{number} ")), "{number}");
    }
    assert!(docs.contains(&format!("a row has {} MiB at most", MAX_RECORD >> 20)));
}
