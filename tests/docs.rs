//! Examples in `docs/` do what they show.
//!
//! Each block of a document that has commands (`$ ...`) is run by a shell, block after block in one
//! directory for the document, and what a command prints must be what stands below it; a line `...` is
//! any number of lines. `UPDATE=1 cargo test --test program docs` writes what is printed; where lines are left out
//! (`...`), those that differ from the shown ones in their figures alone. The time that a run took on this
//! computer is not shown. Commands run in a directory with the repository's scenarios and lab files. What
//! a block needs and does not show is run before it: `<!-- before: COMMAND -->`. A block below
//! `<!-- file: NAME -->` is written to that file. A block that is not checked says so, and why, to readers too, in the line after it:
//!
//! - `*Not run here: REASON*`: it needs what no test has, or hours;
//! - `*Not compared: REASON*`: it is run, but prints something else each time;
//! - `*Run only in long tests: REASON*`: it takes minutes, and is run where `SLOW=1` is set.
#![cfg(unix)]

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{data, root};

/// Real files that examples name, and where they stand among the data.
const FILES: [(&str, &str); 13] = [
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
    ("report.json", "ceph-reports/report-04.json"),
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
    /// Files that are shown before, and what is in them.
    files: Vec<(String, String)>,
    /// Commands, and the lines that are shown below each.
    commands: Vec<(String, Vec<String>)>,
    treatment: Treatment,
}

/// The blocks of a document that have commands. Panics on a mark that gives no reason.
fn examples(text: &str) -> Vec<Example> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut before, mut files, mut at) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut file = None;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if let Some(command) =
            line.strip_prefix("<!-- before: ").and_then(|l| l.strip_suffix(" -->"))
        {
            before.push(command.to_owned());
        }
        if let Some(name) = line.strip_prefix("<!-- file: ").and_then(|l| l.strip_suffix(" -->")) {
            file = Some(name.to_owned());
        }
        if !line.starts_with("```") {
            continue;
        }
        let begin = at;
        while lines[at] != "```" {
            at += 1;
        }
        let shown = &lines[begin..at];
        at += 1;
        if let Some(name) = file.take() {
            files.push((name, shown.join("\n") + "\n"));
            continue;
        }
        let commands = commands(shown);
        if commands.is_empty() {
            continue;
        }
        let mark = lines[at..].iter().find(|line| !line.is_empty()).copied().unwrap_or("");
        let treatment = [
            ("*Not compared: ", Treatment::Run),
            ("*Run only in long tests: ", Treatment::Slow),
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
            files: std::mem::take(&mut files),
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

/// Which printed line each shown one is, `None` for `...`, which stands for any number of lines; no
/// answer if they are others.
fn places(
    shown: &[String],
    printed: &[&str],
    same: fn(&str, &str) -> bool,
) -> Option<Vec<Option<usize>>> {
    fn from(
        at: usize,
        shown: &[String],
        printed: &[&str],
        same: fn(&str, &str) -> bool,
        found: &mut Vec<Option<usize>>,
    ) -> bool {
        let Some((first, rest)) = shown.split_first() else { return at == printed.len() };
        let dots = first == "...";
        let last = if dots { printed.len() } else { at };
        for next in at..=last {
            if dots {
                found.push(None);
            } else if printed.get(next).is_some_and(|line| same(first, line)) {
                found.push(Some(next));
            } else {
                return false;
            }
            if from(next + usize::from(!dots), rest, printed, same, found) {
                return true;
            }
            found.pop();
        }
        false
    }
    let mut found = Vec::new();
    from(0, shown, printed, same, &mut found).then_some(found)
}

/// Whether lines are those that are shown.
fn matches(shown: &[String], printed: &[&str]) -> bool {
    places(shown, printed, |one, other| one == other).is_some()
}

/// Whether lines say the same but for figures and the widths of columns.
fn alike(one: &str, other: &str) -> bool {
    let words = |line: &str| -> String {
        line.chars().filter(|c| !(c.is_ascii_digit() || ".± -".contains(*c))).collect()
    };
    words(one) == words(other)
}

/// What is to be shown in place of lines that no longer match; no answer if lines are left out and the
/// shown ones cannot be found again.
fn renewed(shown: &[String], printed: &[&str]) -> Option<Vec<String>> {
    if !shown.iter().any(|line| line == "...") {
        return Some(printed.iter().map(|&line| line.to_owned()).collect());
    }
    let line = |place: Option<usize>| place.map_or("...", |at| printed[at]).to_owned();
    Some(places(shown, printed, alike)?.into_iter().map(line).collect())
}

/// Without the time that this computer took.
fn timeless(line: &str) -> &str {
    match line
        .find(" simulated after ")
        .and_then(|from| line[from..].find(" events in ").map(|at| from + at))
    {
        Some(at) => &line[..at + " events".len()],
        None => line,
    }
}

/// A directory with what examples name; `None`: the document names real data, and they are absent.
fn directory(text: &str) -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    let mut copy = Command::new("cp");
    copy.args(["-r", "scenarios"]).arg(dir.path()).current_dir(root());
    assert!(copy.status().unwrap().success(), "the scenarios are copied");
    let labs = dir.path().join("docs/labs");
    fs::create_dir_all(&labs).unwrap();
    for path in files(&root().join("docs/labs"), "toml") {
        fs::copy(&path, labs.join(path.file_name().unwrap())).unwrap();
    }
    let commands: Vec<String> = examples(text)
        .into_iter()
        .flat_map(|e| {
            e.before.into_iter().chain(e.commands.into_iter().map(|(command, _)| command))
        })
        .collect();
    let named = |name: &str| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        commands.iter().any(|command| command.split(|c| !is_part(c)).any(|word| word == name))
    };
    if FILES.iter().any(|(name, _)| named(name)) {
        // all of them: a file may name others
        for (name, place) in FILES {
            std::os::unix::fs::symlink(data(place)?, dir.path().join(name)).unwrap();
        }
    }
    Some(dir)
}

/// The files below a directory with this ending, sorted.
fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What a shell prints for a command, which must end well and say nothing else but notes.
fn shell(dir: &Path, command: &str) -> String {
    let programs = Path::new(env!("CARGO_BIN_EXE_foretell")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(dir);
    shell.env("PATH", &path).env("NO_COLOR", "1").env_remove("COLUMNS");
    let output = shell.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let silent = errors.lines().all(|line| line.starts_with("note: "));
    assert!(output.status.success() && silent, "$ {command}\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Commands of the solution of a lab sheet, where they are run with what they print.
fn solved(document: &str) -> Vec<String> {
    let solution = root().join("docs").join(document.replace(".md", "-solution.md"));
    let Ok(text) = fs::read_to_string(solution) else { return Vec::new() };
    examples(&text).into_iter().flat_map(|e| e.commands).map(|(command, _)| command).collect()
}

/// Runs the examples of a document, and compares or writes what they print.
fn check(document: &str) {
    let path = root().join("docs").join(document);
    let text = fs::read_to_string(&path).unwrap();
    let Some(dir) = directory(&text) else { return };
    let solved = solved(document);
    let update = std::env::var_os("UPDATE").is_some();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut moved = 0_isize;
    for example in examples(&text) {
        let slow = std::env::var_os("SLOW").is_some();
        if example.treatment == Treatment::NotRun || example.treatment == Treatment::Slow && !slow {
            continue;
        }
        for (name, content) in &example.files {
            fs::write(dir.path().join(name), content).unwrap();
        }
        for command in &example.before {
            shell(dir.path(), command);
        }
        let mut at = example.line.checked_add_signed(moved).unwrap() - 1;
        for (command, shown) in &example.commands {
            at += command.lines().count();
            if shown.is_empty() && solved.contains(command) {
                continue;
            }
            let printed = shell(dir.path(), command);
            let printed: Vec<&str> =
                printed.trim_end().lines().map(|line| timeless(line.trim_end())).collect();
            let is_shown = !shown.is_empty() && example.treatment == Treatment::Compared;
            if is_shown && !matches(shown, &printed) {
                let whole = printed.join("\n");
                let difference =
                    format!("docs/{document}, line {}: $ {command}\n{whole}", example.line);
                assert!(update, "{difference}");
                let new = renewed(shown, &printed).expect(&difference);
                moved += new.len().cast_signed() - shown.len().cast_signed();
                let until = at + shown.len();
                at += new.len();
                lines.splice(at - new.len()..until, new);
            } else {
                at += shown.len();
            }
        }
    }
    if update {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
    }
}

/// A test for each document, so that they run side by side.
macro_rules! documents {
    ($($(#[$how:meta])? $name:ident: $document:literal,)*) => {
        /// Documents with examples.
        const DOCUMENTS: &[&str] = &[$($document),*];

        $(
            #[test]
            $(#[$how])?
            fn $name() {
                check($document);
            }
        )*
    };
}

documents! {
    examples_of_clusters_hold: "clusters.md",
    examples_of_commands_hold: "commands.md",
    examples_of_howto_ceph_hold: "howto/ceph.md",
    examples_of_howto_fio_hold: "howto/fio.md",
    examples_of_howto_slurm_hold: "howto/slurm.md",
    #[ignore = "takes half a minute: `.ci/run --full` runs it"]
    examples_of_howto_trace_hold: "howto/trace.md",
    examples_of_laboratory_hold: "laboratory.md",
    #[ignore = "takes half a minute: `.ci/run --full` runs it"]
    examples_of_lab_1_knee_solution_hold: "labs/1-knee-solution.md",
    examples_of_lab_1_knee_hold: "labs/1-knee.md",
    #[ignore = "takes half a minute: `.ci/run --full` runs it"]
    examples_of_lab_2_caches_solution_hold: "labs/2-caches-solution.md",
    examples_of_lab_2_caches_hold: "labs/2-caches.md",
    #[ignore = "takes half a minute: `.ci/run --full` runs it"]
    examples_of_lab_3_codes_solution_hold: "labs/3-codes-solution.md",
    examples_of_lab_3_codes_hold: "labs/3-codes.md",
    examples_of_lab_4_tails_solution_hold: "labs/4-tails-solution.md",
    examples_of_lab_4_tails_hold: "labs/4-tails.md",
    examples_of_lab_5_rebuild_solution_hold: "labs/5-rebuild-solution.md",
    examples_of_lab_5_rebuild_hold: "labs/5-rebuild.md",
    examples_of_metrics_hold: "metrics.md",
    examples_of_report_hold: "report.md",
    examples_of_scaling_hold: "scaling.md",
    examples_of_sweep_hold: "sweep.md",
    examples_of_systems_hold: "systems.md",
    #[ignore = "takes half a minute: `.ci/run --full` runs it"]
    examples_of_tutorial_hold: "tutorial.md",
    examples_of_validation_hold: "validation.md",
}

#[test]
fn all_documents_with_examples_are_checked() {
    let docs = root().join("docs");
    let has_examples = |path: &PathBuf| !examples(&fs::read_to_string(path).unwrap()).is_empty();
    let found: Vec<String> = files(&docs, "md")
        .into_iter()
        .filter(has_examples)
        .map(|path| path.strip_prefix(&docs).unwrap().display().to_string())
        .collect();
    assert_eq!(found, DOCUMENTS);
}

#[test]
fn a_block_is_read_with_what_is_shown_and_how_it_is_treated() {
    let text = "<!-- file: a.toml -->\n```toml\na = 1\n```\n<!-- before: make it -->\n```console\n$ one \\\n    two\nshown\n...\n$ three\n```\n\n\
                *Not compared: it differs.*\n\n```\nno command\n```\n\n```\n$ four\n```\nText.\n";
    let found = examples(text);
    assert_eq!(found.len(), 2);
    let shown = vec!["shown".to_owned(), "...".to_owned()];
    assert_eq!(
        found[0].commands,
        [("one \\\n    two".to_owned(), shown.clone()), ("three".to_owned(), vec![])]
    );
    assert_eq!((found[0].before.len(), found[0].line, found[0].treatment), (1, 7, Treatment::Run));
    assert_eq!(found[0].files, [("a.toml".to_owned(), "a = 1\n".to_owned())]);
    assert_eq!(
        (found[1].before.len(), found[1].line, found[1].treatment),
        (0, 21, Treatment::Compared)
    );
    assert!(matches(&shown, &["shown"]) && matches(&shown, &["shown", "a", "b"]));
    assert!(!matches(&shown, &["other", "a"]) && !matches(&shown[..1], &["shown", "a"]));
}

#[test]
fn where_lines_are_left_out_an_update_finds_the_shown_ones_again() {
    let shown = ["head", "...", " load 1.5 ± 0.2  3 ms", "..."].map(str::to_owned);
    let printed = ["head", "other 1", " load  17.25 ± 0.02  4 ms", "rest"];
    assert!(!matches(&shown, &printed));
    let new = renewed(&shown, &printed).unwrap();
    assert_eq!(new, ["head", "...", " load  17.25 ± 0.02  4 ms", "..."]);
    assert!(matches(&new, &printed) && renewed(&shown, &["head", "load 1 s"]).is_none());
    assert_eq!(
        timeless("4 s simulated after 1 s of warm-up: 2 requests, 9 events in 2 s"),
        "4 s simulated after 1 s of warm-up: 2 requests, 9 events"
    );
    assert_eq!(timeless("9 events in 2 s"), "9 events in 2 s");
}
