//! Examples in `docs/` do what they show.
//!
//! Each block of a document that has commands (`$ ...`) is run by a shell, block after block in one
//! directory for the document, and what a command prints must be what stands below it; a line `...` is
//! any number of lines. `UPDATE=1 cargo test --test docs` writes what is printed. What a block needs and
//! does not show is run before it: `<!-- before: COMMAND -->`. A block that is not checked says so, and
//! why, to readers too, in the line after it:
//!
//! - `*Not run here: REASON*`: it needs what no test has, or hours;
//! - `*Not compared: REASON*`: it is run, but prints something else each time;
//! - `*Run by SLOW=1: REASON*`: it takes minutes, and is run where that variable is set.
#![cfg(unix)]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{data, root};

/// Documents with examples.
const DOCUMENTS: [&str; 5] = ["commands.md", "metrics.md", "report.md", "scaling.md", "sweep.md"];

/// Real files that examples name, and where they stand among the data.
const FILES: [(&str, &str); 12] = [
    ("cloudPhysicsIO.csv", "traces/cloudPhysicsIO.csv"),
    ("cloudPhysicsIO.vscsi", "traces/cloudPhysicsIO.vscsi"),
    ("cheetah9LP.trace", "disks/cheetah9LP.trace"),
    ("cheetah9LP.parv", "disks/cheetah9LP.parv"),
    ("cheetah9LP.model", "disks/cheetah9LP.model"),
    ("cheetah9LP.diskspecs", "disks/cheetah9LP.diskspecs"),
    ("cheetah9LP.seek", "disks/cheetah9LP.seek"),
    ("results", "fio/randrw-interleaved"),
    ("iolog_run.json", "fio/iolog_run.json"),
    ("ssd_random_iops.csv", "regression/ssd_random_iops.csv"),
    ("ssd_random_iops.folds.csv", "regression/ssd_random_iops.folds.csv"),
    ("fio-and-dstat-1s.csv", "dstat/fio-and-dstat-1s.csv"),
];

/// What becomes of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Treatment {
    Compared,
    Run,
    Slow,
    NotRun,
}

/// A block of commands.
#[derive(Debug)]
struct Example {
    /// Of the document, from 1.
    line: usize,
    before: Vec<String>,
    /// Commands, and the lines that are shown below each.
    commands: Vec<(String, Vec<String>)>,
    treatment: Treatment,
}

/// The blocks of a document that have commands. Panics on a mark that gives no reason.
fn examples(text: &str) -> Vec<Example> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut before, mut at) = (Vec::new(), Vec::new(), 0);
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some(command) =
            line.strip_prefix("<!-- before: ").and_then(|l| l.strip_suffix(" -->"))
        {
            before.push(command.to_owned());
        }
        if !line.starts_with("```") {
            continue;
        }
        let begin = at;
        while lines[at] != "```" {
            at += 1;
        }
        let commands = commands(&lines[begin..at]);
        at += 1;
        if commands.is_empty() {
            continue;
        }
        let mark = lines[at..].iter().find(|line| !line.is_empty()).copied().unwrap_or("");
        let treatment = [
            ("*Not compared: ", Treatment::Run),
            ("*Run by SLOW=1: ", Treatment::Slow),
            ("*Not run here: ", Treatment::NotRun),
        ]
        .into_iter()
        .find_map(|(start, treatment)| {
            let reason = mark.strip_prefix(start)?.trim_end_matches(['*', '.']);
            assert!(reason.len() > 5, "line {at}: no reason is given");
            Some(treatment)
        });
        found.push(Example {
            line: begin + 1,
            before: std::mem::take(&mut before),
            commands,
            treatment: treatment.unwrap_or(Treatment::Compared),
        });
    }
    found
}

fn commands(lines: &[&str]) -> Vec<(String, Vec<String>)> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    for line in lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), Vec::new())),
            (None, Some((command, shown))) if shown.is_empty() && command.ends_with('\\') => {
                *command += "\n";
                *command += line;
            }
            (None, Some((_, shown))) => shown.push((*line).to_owned()),
            (None, None) => {}
        }
    }
    commands
}

/// Whether lines are those that are shown, of which `...` stands for any number.
fn matches(shown: &[String], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((dots, rest)) if dots == "..." => {
            (0..=printed.len()).any(|from| matches(rest, &printed[from..]))
        }
        Some((first, rest)) => {
            printed.first().is_some_and(|line| line == first) && matches(rest, &printed[1..])
        }
    }
}

/// A directory with what examples name; `None`: real data are absent.
fn directory() -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = Command::new("cp");
    copy.args(["-r", "scenarios"]).arg(dir.path()).current_dir(root());
    assert!(copy.status().unwrap().success(), "the scenarios are copied");
    for (name, place) in FILES {
        std::os::unix::fs::symlink(data(place)?, dir.path().join(name)).unwrap();
    }
    Some(dir)
}

/// What a shell prints for a command, which must end well and say nothing else.
fn shell(dir: &Path, command: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_foretell")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(dir);
    shell.env("PATH", &path).env("NO_COLOR", "1").env_remove("COLUMNS");
    let output = shell.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "$ {command}\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs the examples of a document, and compares or writes what they print.
fn check(document: &str) {
    let Some(dir) = directory() else { return };
    let path = root().join("docs").join(document);
    let text = fs::read_to_string(&path).unwrap();
    let update = std::env::var_os("UPDATE").is_some();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut moved = 0_isize;
    for example in examples(&text) {
        let slow = std::env::var_os("SLOW").is_some();
        if example.treatment == Treatment::NotRun || example.treatment == Treatment::Slow && !slow {
            continue;
        }
        for command in &example.before {
            shell(dir.path(), command);
        }
        let mut at = example.line.checked_add_signed(moved).unwrap() - 1;
        for (command, shown) in &example.commands {
            at += command.lines().count();
            let printed = shell(dir.path(), command);
            let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
            let is_shown = !shown.is_empty() && example.treatment == Treatment::Compared;
            if is_shown && !matches(shown, &printed) {
                let whole = printed.join("\n");
                let told = format!("docs/{document}, line {}: $ {command}\n{whole}", example.line);
                assert!(update && !shown.iter().any(|line| line == "..."), "{told}");
                lines.splice(at..at + shown.len(), printed.iter().map(|&line| line.to_owned()));
                moved += printed.len().cast_signed() - shown.len().cast_signed();
                at += printed.len();
            } else {
                at += shown.len();
            }
        }
    }
    if update {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    }
}

#[test]
fn examples_of_commands_hold() {
    check("commands.md");
}

#[test]
fn examples_of_metrics_hold() {
    check("metrics.md");
}

#[test]
fn examples_of_reports_hold() {
    check("report.md");
}

#[test]
fn examples_of_scaling_hold() {
    check("scaling.md");
}

#[test]
fn examples_of_sweeps_hold() {
    check("sweep.md");
}

#[test]
fn all_documents_with_examples_are_checked() {
    let mut found = Vec::new();
    for file in fs::read_dir(root().join("docs")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.extension().is_some_and(|ending| ending == "md")
            && !examples(&fs::read_to_string(&path).unwrap()).is_empty()
        {
            found.push(name);
        }
    }
    found.sort();
    assert_eq!(found, DOCUMENTS);
}

#[test]
fn a_block_is_read_with_what_is_shown_and_how_it_is_treated() {
    let text = "<!-- before: make it -->\n```console\n$ one \\\n    two\nshown\n...\n$ three\n```\n\n\
                *Not compared: it differs.*\n\n```\nno command\n```\n\n```\n$ four\n```\nText.\n";
    let found = examples(text);
    assert_eq!(found.len(), 2);
    let shown = vec!["shown".to_owned(), "...".to_owned()];
    assert_eq!(
        found[0].commands,
        [("one \\\n    two".to_owned(), shown.clone()), ("three".to_owned(), vec![])]
    );
    assert_eq!((found[0].before.len(), found[0].line, found[0].treatment), (1, 3, Treatment::Run));
    assert_eq!(
        (found[1].before.len(), found[1].line, found[1].treatment),
        (0, 17, Treatment::Compared)
    );
    assert!(matches(&shown, &["shown"]) && matches(&shown, &["shown", "a", "b"]));
    assert!(!matches(&shown, &["other", "a"]) && !matches(&shown[..1], &["shown", "a"]));
}
