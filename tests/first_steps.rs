//! What a newcomer types first, outside the repository: each works the first time.

use crate::common;

use std::path::Path;

use clap::CommandFactory;
use common::{Done, foretell};
use foretell::cli::{self, Cli};
use serde_json::Value;
use tempfile::TempDir;

/// Runs the command in a directory.
fn here(directory: &Path, arguments: &[&str]) -> Done {
    Done::from(foretell().args(arguments).current_dir(directory).output().unwrap())
}

/// The words of a command line as a shell takes them.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Runs a line that begins with `foretell`; it must succeed.
fn try_line(directory: &Path, line: &str) -> Done {
    let words = words(line);
    assert_eq!(words[0], "foretell", "{line}");
    let done = Done::from(foretell().args(&words[1..]).current_dir(directory).output().unwrap());
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""), "{line}");
    done
}

/// The lines of a text that are commands.
fn commands(text: &str) -> Vec<String> {
    let command = |line: &str| {
        let line = line.trim().strip_prefix("foretell ")?;
        Some(format!("foretell {}", line.split("  ").next().unwrap()))
    };
    text.lines().filter_map(command).collect()
}

fn json(done: &Done) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}: {}", done.stdout))
}

#[test]
fn the_command_alone_shows_three_commands_that_work() {
    let place = TempDir::new().unwrap();
    let done = here(place.path(), &[]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    let lines = commands(&done.stdout);
    assert_eq!(lines.len(), 3, "{}", done.stdout);
    for line in &lines {
        try_line(place.path(), line);
    }
}

#[test]
fn what_there_is_can_be_listed_and_shown() {
    let place = TempDir::new().unwrap();
    let all = json(&here(place.path(), &["list", "--json"]));
    let kinds = all["kinds"].as_array().unwrap();
    let mut seen = 0;
    for kind in kinds {
        let name = kind["kind"].as_str().unwrap();
        let alone = here(place.path(), &["list", name, "--json"]);
        assert_eq!(json(&alone)["kinds"][0], *kind, "{name}");
        let text = here(place.path(), &["list", name]).stdout;
        for item in kind["items"].as_array().unwrap() {
            let item_name = item["name"].as_str().unwrap();
            assert!(text.contains(&format!(" {item_name}  ")), "{name}: {item_name}\n{text}");
            assert!(item["about"].as_str().unwrap().len() >= 5, "{name}: {item_name}");
            if matches!(name, "scenarios" | "sweeps" | "devices" | "cpus") {
                seen += 1;
                let shown = here(place.path(), &["show", &format!("{name}/{item_name}")]);
                assert_eq!((shown.status, shown.stderr.as_str()), (Some(0), ""), "{item_name}");
                assert!(shown.stdout.starts_with("# "), "{}", shown.stdout);
                toml::from_str::<toml::Table>(&shown.stdout).unwrap();
            }
        }
    }
    assert!(seen > 35, "{seen}");
    let names = |kind: &str| -> Vec<String> {
        let kind = kinds.iter().find(|known| known["kind"] == kind).unwrap();
        kind["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["name"].as_str().unwrap().into())
            .collect()
    };
    assert_eq!(names("policies")[..2], ["lru", "fifo"]);
    assert_eq!(names("ciphers"), ["none", "aes-128-cbc"]);
    assert_eq!(names("systems"), ["ursa-minor", "ceph", "swift"]);
    assert!(names("workloads").contains(&"ssio".to_owned()));
    assert!(!names("workloads").contains(&"recorded".to_owned()), "it cannot be run");
    assert!(names("schedulers").contains(&"cfq".to_owned()));
    assert!(names("formats").contains(&"fio-iolog".to_owned()));
    assert!(names("encodings").contains(&"3-of-5".to_owned()));
    assert!(names("encodings").contains(&"lrc(12,2,2)".to_owned()));
    // what is shown is the file itself
    let text = std::fs::read_to_string(common::root().join("scenarios/devices/sata-ssd.toml"));
    assert_eq!(here(place.path(), &["show", "sata-ssd"]).stdout, text.unwrap());
    let document = json(&here(place.path(), &["show", "sata-ssd", "--json"]));
    assert_eq!((&document["kind"], &document["name"]), (&"device".into(), &"sata-ssd".into()));
    // names in error
    for (arguments, help) in [
        (&["show", "sata-sssd"][..], "did you mean `sata-ssd`?"),
        (&["show", "first-lok"], "did you mean `first-look`?"),
        (&["show", "devices/first-look"], "there is no device `first-look`"),
        (&["show", "arc"], "`foretell list policies`"),
        (&["list", "device"], "'devices'"),
        (&["run", "ursa-minor/cding"], "did you mean `ursa-minor/coding`?"),
        (&["sweep", "encoding-choise", "--check"], "did you mean `encoding-choice`?"),
        (&["sweep", "sweeps/virtualized.toml", "--check"], "`virtualized`"),
        (&["replay-disk", "sata-7200-205", "no-trace"], "did you mean `sata-7200-2005`?"),
    ] {
        let done = here(place.path(), arguments);
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(done.stderr.contains(help), "{arguments:?}: {}", done.stderr);
    }
}

#[test]
fn profiles_beside_scenarios_are_listed_and_shown_before_those_of_the_program() {
    let place = TempDir::new().unwrap();
    let own = place.path().join("devices");
    std::fs::create_dir(&own).unwrap();
    let text = here(place.path(), &["show", "sata-ssd"]).stdout;
    let text = text.replacen("# ", "# Mine. ", 1);
    std::fs::write(own.join("sata-ssd.toml"), &text).unwrap();
    std::fs::write(own.join("mine.toml"), "kind = \"disk\"\n").unwrap();
    assert_eq!(here(place.path(), &["show", "sata-ssd"]).stdout, text);
    assert_eq!(here(place.path(), &["show", "mine"]).stdout, "kind = \"disk\"\n");
    let listed = json(&here(place.path(), &["list", "devices", "--json"]));
    let items = listed["kinds"][0]["items"].as_array().unwrap();
    let find = |name: &str| items.iter().find(|item| item["name"] == name).unwrap();
    assert_eq!(find("mine")["file"], "devices/mine.toml");
    assert_eq!(find("sata-ssd")["about"], "Mine.");
    assert_eq!(find("cheetah-15k")["file"], Value::Null);
}

#[test]
fn a_first_scenario_is_written_and_every_command_beside_it_works() {
    let place = TempDir::new().unwrap();
    for (file, shown) in
        [("scenario.toml", "scenario.toml"), ("a dir/it's.toml", "a dir/it's.toml")]
    {
        let arguments: &[&str] = if file == "scenario.toml" { &["init"] } else { &["init", file] };
        let done = here(place.path(), &[arguments, &["--json"]].concat());
        assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
        assert_eq!(json(&done)["file"], shown);
        let text = std::fs::read_to_string(place.path().join(file)).unwrap();
        assert!(text.lines().filter(|line| line.contains('#')).count() > 20, "it is commented");
        // never overwritten
        let before = std::fs::read(place.path().join(file)).unwrap();
        let again = here(place.path(), arguments);
        assert_eq!((again.status, again.stdout.as_str()), (Some(2), ""));
        assert!(again.stderr.contains("is there already"), "{}", again.stderr);
        assert_eq!(std::fs::read(place.path().join(file)).unwrap(), before);
    }
    // as a person sees it: the commands it names work
    std::fs::remove_file(place.path().join("scenario.toml")).unwrap();
    let printed = here(place.path(), &["init"]).stdout;
    let lines = commands(&printed);
    assert!(lines.len() >= 3, "{printed}");
    for line in &lines {
        try_line(place.path(), line);
    }
    let text = std::fs::read_to_string(place.path().join("scenario.toml")).unwrap();
    let in_text = text.lines().filter_map(|line| line.strip_prefix('#')).collect::<Vec<_>>();
    assert_eq!(commands(&in_text.join("\n")), lines, "the text names the same commands");
    // a shipped one as a beginning
    assert_eq!(here(place.path(), &["init", "mine.toml", "--from", "solid-state"]).status, Some(0));
    let copied = std::fs::read_to_string(place.path().join("mine.toml")).unwrap();
    let shown = here(place.path(), &["show", "solid-state"]).stdout;
    assert_eq!(copied, shown.replace("run solid-state", "run mine.toml"));
    // a name that would end the comment is not written into it
    #[cfg(unix)]
    {
        let broken = ["init", "two\nlines.toml", "--from", "solid-state"];
        assert_eq!(here(place.path(), &broken).status, Some(0));
        assert_eq!(std::fs::read_to_string(place.path().join(broken[1])).unwrap(), shown);
    }
    for (arguments, fault) in [
        (&["init", "mine"][..], "`mine.toml`"),
        (&["init", "new.toml", "--from", "sata-ssd"], "no scenario `sata-ssd`"),
        (&["init", "a dir/"], "directory"),
        (&["init", "-"], "`-`"),
    ] {
        let done = here(place.path(), arguments);
        assert_eq!((done.status, done.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(done.stderr.contains(fault), "{arguments:?}: {}", done.stderr);
    }
    assert!(!place.path().join("new.toml").exists());
    // links are not followed, whatever they lead to
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere.toml", place.path().join("link.toml")).unwrap();
        assert_eq!(here(place.path(), &["init", "link.toml"]).status, Some(2));
        assert!(!place.path().join("nowhere.toml").exists());
    }
}

#[test]
fn the_schema_is_that_of_the_repository() {
    let place = TempDir::new().unwrap();
    let done = here(place.path(), &["schema"]);
    let file = common::root().join("scenarios/scenario.schema.json");
    assert_eq!(done.stdout, std::fs::read_to_string(file).unwrap());
}

#[test]
fn sweeps_are_found_by_name() {
    let sweep = foretell_datasets::Sweep::load("virtualized", &[]).unwrap();
    assert_eq!(sweep.count_points().0, 1120);
}

/// Every command, with the words that lead to it.
fn walk(
    command: &clap::Command,
    path: &[String],
    visit: &mut impl FnMut(&clap::Command, &[String]),
) {
    visit(command, path);
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        walk(inner, &[path, &[inner.get_name().to_owned()]].concat(), visit);
    }
}

#[test]
fn the_help_of_each_command_ends_with_an_example_that_can_be_typed() {
    let mut count = 0;
    walk(&cli::command(), &[], &mut |command, path| {
        count += 1;
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = commands(&help);
        assert!(help.starts_with("Example") && !lines.is_empty(), "{path:?}: {help}");
        for line in lines {
            let words = words(line.split(" > ").next().unwrap());
            assert!(line.len() <= 76, "{line}");
            cli::parse(words.clone()).unwrap_or_else(|error| panic!("{line}: {error}"));
            let named = path.iter().zip(&words[1..]).all(|(part, word)| part == word);
            assert!(named, "the example of {path:?} is of another command: {line}");
        }
    });
    assert!(count > 45, "{count}");
    let done = common::run(["run", "--help"]);
    assert!(
        done.stdout.trim_end().lines().last().unwrap().contains("foretell run"),
        "{}",
        done.stdout
    );
}

#[test]
fn man_pages_are_printed_and_written() {
    let place = TempDir::new().unwrap();
    let done = here(place.path(), &["man", "learn", "train"]);
    assert!(done.stdout.contains(".TH foretell-learn-train 1"), "{}", done.stdout);
    assert!(done.stdout.contains(".SH EXAMPLES"), "{}", done.stdout);
    assert!(here(place.path(), &["man"]).stdout.contains("foretell\\-replay\\-cache"));
    let done = here(place.path(), &["man", "lern"]);
    assert_eq!(done.status, Some(2));
    assert!(done.stderr.contains("did you mean `learn`?"), "{}", done.stderr);
    let done = here(place.path(), &["man", "-o", "man1"]);
    assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""));
    let pages = common::files(&place.path().join("man1"));
    let mut expected = Vec::new();
    walk(&Cli::command(), &["foretell".to_owned()], &mut |_, path| {
        expected.push(format!("{}.1", path.join("-")));
    });
    expected.sort();
    assert_eq!(pages, expected);
    for page in &pages {
        let text = std::fs::read_to_string(place.path().join("man1").join(page)).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{page}");
    }
}

#[test]
fn completions_are_there_for_five_shells() {
    let place = TempDir::new().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = here(place.path(), &["completions", shell]);
        assert_eq!((done.status, done.stderr.as_str()), (Some(0), ""), "{shell}");
        assert!(done.stdout.contains("replay-cache"), "{shell}");
        if matches!(shell, "bash" | "zsh") {
            assert!(done.stdout.contains("sata-7200-2005"), "{shell}: names to show");
        }
    }
    assert_eq!(here(place.path(), &["completions", "csh"]).status, Some(2));
}

/// Types into a bash of its own in a pseudo-terminal, with the completions loaded.
#[test]
fn bash_completes_commands_names_and_files_in_a_terminal() {
    let present =
        |program: &str| std::process::Command::new(program).arg("--version").output().is_ok();
    if !present("bash") || !present("python3") {
        println!("skipped: bash or python3 is absent");
        return;
    }
    let place = TempDir::new().unwrap();
    std::fs::write(place.path().join("mine.toml"), "").unwrap();
    let program = std::path::PathBuf::from(env!("CARGO_BIN_EXE_foretell"));
    let typed = common::root().join("tests/common/type_in_bash.py");
    let output = std::process::Command::new("python3")
        .arg(typed)
        .arg(program.parent().unwrap())
        .args(["foretell repl\tc\t", "foretell run fir\t", "foretell run mi\t"])
        .args([
            "foretell show sata-ss\t",
            "foretell list dev\t",
            "foretell run first-look --no-r\t",
        ])
        .current_dir(place.path())
        .output()
        .unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = [
        "foretell replay-cache",
        "foretell run first-look",
        "foretell run mine.toml",
        "foretell show sata-ssd",
        "foretell list devices",
        "foretell run first-look --no-records",
    ];
    assert_eq!(lines.lines().map(str::trim_end).collect::<Vec<_>>(), expected);
}
