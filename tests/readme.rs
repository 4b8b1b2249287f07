//! The README shows what the command really prints.

use std::path::Path;
use std::process::Command;

const BEGIN: &str = "kept true by tests/readme.rs -->\n```text\n";

/// What the README's first command prints, without the time that this computer took.
fn printed() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(["run", "scenarios/first-look.toml"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let first = first.split(" in ").next().unwrap();
    let rest: Vec<&str> = rest.lines().map(str::trim_end).collect();
    format!("{first}\n{}\n", rest.join("\n").trim_end())
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = readme.split_once(BEGIN).expect("the README shows the output");
    let (shown, after) = rest.split_once("```").unwrap();
    let printed = printed();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{printed}```{after}")).unwrap();
    } else {
        assert_eq!(shown, printed, "`UPDATE=1 cargo test --test readme` writes it anew");
    }
}
