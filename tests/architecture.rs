//! The invariants of docs/architecture.md that are about the tree itself.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The crates of ours that each uses, tests included: the table of docs/architecture.md.
const MAY_USE: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("algorithms", &["units"]),
    ("scenarios", &["units", "algorithms"]),
    ("workloads", &["units", "algorithms"]),
    ("metrics", &[]),
    ("ati", &["units", "metrics"]),
    ("sim", &["units", "metrics", "algorithms", "scenarios", "workloads", "ati"]),
    ("whatif", &["units", "algorithms", "scenarios", "ati"]),
    ("learn", &["units"]),
    ("estimate", &["units"]),
    ("datasets", &["units", "scenarios"]),
    ("ceph-maps", &["algorithms"]),
];

/// Crates of ours named anywhere in a manifest.
fn used(manifest: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(manifest).unwrap();
    // a crate of ours is taken from the workspace, where it can be seen
    assert!(!text.contains("path = \"..") && !text.contains("path=\".."), "{}", manifest.display());
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("foretell-"))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
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

#[test]
fn every_crate_is_in_the_table_and_takes_the_lints() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"forbid\""));
    let members = workspace.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    for member in members.split(',').map(|member| member.trim().trim_matches('"')) {
        assert!(MAY_USE.iter().any(|(name, _)| *name == member), "{member} is not in the table");
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{member}");
    }
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
