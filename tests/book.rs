//! The documentation is a book: each document is a chapter, and each link leads to a file and a heading
//! that exist. `.ci/book/run` builds it and checks the links of the built pages.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use common::root;

/// All documents below a directory.
fn documents(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(documents(&path));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// A document's lines outside of fenced blocks.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            prose += line;
            prose.push('\n');
        }
    }
    prose
}

/// Where the links of a text lead. Code is no link.
fn links(text: &str) -> Vec<String> {
    let (mut found, mut rest, mut code) = (Vec::new(), prose(text), false);
    rest.retain(|c| {
        code ^= c == '`';
        !code
    });
    for part in rest.split("](").skip(1) {
        let target = part.split([')', ' ', '\n']).next().unwrap();
        found.push(target.to_owned());
    }
    found
}

/// The anchors of a text's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts = BTreeMap::<String, u32>::new();
    let mut found = BTreeSet::new();
    for line in prose(text).lines().filter(|line| line.starts_with('#')) {
        let heading = line.trim_start_matches('#').trim();
        let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
        let anchor: String = heading.to_lowercase().chars().filter(kept).collect();
        let anchor = anchor.replace(' ', "-");
        let count = counts.entry(anchor.clone()).or_default();
        found.insert(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    found
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// What is wrong with a link of a document, if anything.
fn fault(document: &Path, text: &str, link: &str, within: &Path) -> Option<String> {
    if link.starts_with("https://") || link.starts_with("http://") {
        return None;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = plain(&document.parent().unwrap().join(file));
    let target = if file.is_empty() { document } else { &path };
    if !target.starts_with(within) {
        return Some("it leads out of the book".to_owned());
    }
    if !target.exists() {
        return Some("there is no such file".to_owned());
    }
    if anchor.is_empty() {
        return None;
    }
    let there = if file.is_empty() { text.to_owned() } else { fs::read_to_string(target).ok()? };
    (!anchors(&there).contains(anchor)).then(|| "there is no such heading".to_owned())
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let docs = root().join("docs");
    let mut faults = Vec::new();
    let mut checked = 0;
    let mut check = |document: &Path, within: &Path| {
        let text = fs::read_to_string(document).unwrap();
        for link in links(&text) {
            checked += 1;
            if let Some(what) = fault(document, &text, &link, within) {
                faults.push(format!("{}: {link}: {what}", document.display()));
            }
        }
    };
    for document in documents(&docs) {
        check(&document, &docs);
    }
    check(&root().join("README.md"), &root());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 100, "{checked} links were found");
}

#[test]
fn every_document_is_one_chapter() {
    let docs = root().join("docs");
    let summary = docs.join("SUMMARY.md");
    let mut chapters: Vec<PathBuf> =
        links(&fs::read_to_string(&summary).unwrap()).iter().map(|link| docs.join(link)).collect();
    chapters.sort();
    let mut found = documents(&docs);
    found.retain(|path| *path != summary);
    assert_eq!(chapters, found);
}

#[test]
fn every_lab_has_a_sheet_a_solution_and_a_scenario() {
    let labs = root().join("docs/labs");
    let sheets: Vec<PathBuf> = documents(&labs)
        .into_iter()
        .filter(|path| path.file_stem().unwrap().to_string_lossy().starts_with(char::is_numeric))
        .collect();
    let (solutions, sheets): (Vec<_>, Vec<_>) = sheets
        .into_iter()
        .partition(|path| path.file_stem().unwrap().to_string_lossy().ends_with("-solution"));
    assert_eq!((sheets.len(), solutions.len()), (5, 5));
    for sheet in sheets {
        let stem = sheet.file_stem().unwrap().to_string_lossy().into_owned();
        let links = links(&fs::read_to_string(&sheet).unwrap());
        assert!(links.contains(&format!("{stem}-solution.md")), "{stem}: no solution");
        let is_scenario = |link: &String| Path::new(link).extension().is_some_and(|e| e == "toml");
        assert!(links.iter().any(is_scenario), "{stem}: no scenario");
    }
}

#[test]
fn links_and_anchors_are_read_as_they_are_written() {
    let text = "# Of `ask DIR`: it's\n[a](b.md#c) ![x](y.svg) `[no](code)`\n```\n[no](fence)\n```\n\
                ## Twice\n## Twice\n";
    assert_eq!(links(text), ["b.md#c", "y.svg"]);
    let anchors = anchors(text);
    assert_eq!(anchors.iter().collect::<Vec<_>>(), ["of-ask-dir-its", "twice", "twice-1"]);
    let docs = root().join("docs");
    let fault = |link| fault(&docs.join("tutorial.md"), text, link, &docs);
    assert_eq!(fault("#twice-1"), None);
    assert_eq!(fault("labs/1-knee.md#4-the-laws"), None);
    assert_eq!(fault("#thrice").unwrap(), "there is no such heading");
    assert_eq!(fault("labs/1-knee.md#5-the-laws").unwrap(), "there is no such heading");
    assert_eq!(fault("labs/nothing.md").unwrap(), "there is no such file");
    assert_eq!(fault("../README.md").unwrap(), "it leads out of the book");
    assert_eq!(plain(Path::new("/book/a/../c/./d.md")), Path::new("/book/c/d.md"));
}
