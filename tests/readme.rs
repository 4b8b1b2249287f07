//! The README shows what the command really prints.

use std::path::Path;
use std::process::Command;

/// What stands before each output that is shown.
const BEGIN: &str = "kept true by tests/readme.rs -->\n```text\n";

/// What a command prints, without spaces at the ends of lines.
fn printed(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

#[test]
fn the_readme_shows_what_the_commands_print() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(&path).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().to_str().unwrap();
    let run = printed(&["run", "scenarios/first-look.toml"]);
    printed(&["run", "scenarios/first-look.toml", "-o", kept]);
    let score = printed(&["score", kept, "--what-if", "volume.mail.encoding=3-of-5"]);
    // without the time that this computer took
    let (first, rest) = run.split_once('\n').unwrap();
    let run = format!("{}\n{rest}", first.split(" in ").next().unwrap());
    let mut parts = readme.split(BEGIN);
    let mut written = parts.next().unwrap().to_owned();
    for printed in [run, score] {
        let (shown, after) = parts.next().expect("the README shows it").split_once("```").unwrap();
        if std::env::var_os("UPDATE").is_none() {
            assert_eq!(shown, printed, "`UPDATE=1 cargo test --test program readme` updates it");
        }
        written.extend([BEGIN, &printed, "```", after]);
    }
    assert!(parts.next().is_none(), "an output that no command here prints");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, written).unwrap();
    }
}
