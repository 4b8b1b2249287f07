use std::fs;

use tempfile::TempDir;

use super::*;

const RUN: Purpose<'static> = Purpose::of("run");

/// A directory of the user, with a file of the user's and room for ours.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::write(place.path("mine"), "mine").unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// Creates `out` with these files of ours in it.
    fn with(&self, names: &[&str]) -> PathBuf {
        let directory = Directory::take(&self.out(), RUN).unwrap();
        for name in names {
            directory.write(name, name.as_bytes()).unwrap();
        }
        self.out()
    }

    fn take(&self) -> Result<Directory, FilesError> {
        Directory::take(&self.out(), RUN)
    }

    fn force(&self) -> Result<Directory, FilesError> {
        Directory::take(&self.out(), RUN.forced(true))
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }
}

/// All files and directories below it, sorted.
fn tree(path: &Path) -> Vec<String> {
    fn walk(path: &Path, below: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{below}{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                walk(&entry.path(), &format!("{name}/"), found);
            }
            found.push(name);
        }
    }
    let mut found = Vec::new();
    walk(path, "", &mut found);
    found.sort();
    found
}

fn listed(path: &Path) -> Vec<String> {
    let dir = Dir::open(path).unwrap();
    Manifest::read(&dir, path).unwrap().unwrap().files.into_keys().collect()
}

fn refused<T: std::fmt::Debug>(done: Result<T, FilesError>, why: &str) {
    let error = done.unwrap_err();
    assert!(error.is_refusal() && error.to_string().contains(why), "{error}\nlacks\n{why}");
}

#[test]
fn what_is_ours_is_listed_replaced_and_removed() {
    let place = Place::new();
    let out = place.with(&["b", "a/b/c"]);
    assert_eq!(listed(&out), ["a/b/c", "b"]);
    assert_eq!(tree(&out), [MANIFEST, "a", "a/b", "a/b/c", "b"]);
    let directory = place.take().unwrap();
    directory.write("b", b"new").unwrap();
    assert_eq!(place.text("out/b"), "new");
    directory.remove("b").unwrap();
    directory.remove("b").unwrap();
    directory.clear(&[]).unwrap();
    assert_eq!(tree(&out), [MANIFEST]);
    // it is empty, so the directory is removed, because it was ours
    drop(directory);
    assert!(!out.exists());
    assert_eq!(tree(place.0.path()), ["mine"]);
}

#[test]
fn a_directory_that_nothing_comes_into_is_gone() {
    let place = Place::new();
    let deep = place.path("a/b/out");
    drop(Directory::take(&deep, RUN).unwrap());
    assert!(!place.path("a").exists());
    let directory = Directory::take(&deep, RUN).unwrap();
    drop(directory.begin("x/y").unwrap());
    drop(directory);
    assert!(!place.path("a").exists());
    // a directory that the user created stays, empty
    fs::create_dir(place.out()).unwrap();
    let directory = place.take().unwrap();
    drop(directory.begin("x/y").unwrap());
    drop(directory);
    assert_eq!(tree(&place.out()), [""; 0]);
}

#[test]
fn a_directory_that_is_neither_empty_nor_ours_is_refused() {
    let place = Place::new();
    for force in [false, true] {
        let taken = Directory::take(place.0.path(), RUN.forced(force));
        refused(taken, "is not empty, and nothing in it says that foretell made it");
    }
    assert_eq!(tree(place.0.path()), ["mine"]);
    fs::create_dir(place.out()).unwrap();
    for name in ["run.db", "truth.json", "run.toml"] {
        fs::write(place.out().join(name), "").unwrap();
    }
    refused(place.take(), "it looks like a run of an earlier version");
    refused(Directory::take(Path::new("-"), RUN), "standard output");
}

#[test]
fn what_users_put_into_a_directory_of_ours_is_theirs() {
    let place = Place::new();
    let out = place.with(&["data/a", "README.md"]);
    fs::write(out.join("data/measurements.csv"), "1").unwrap();
    fs::write(out.join("notes.txt"), "2").unwrap();
    fs::create_dir(out.join("empty")).unwrap();
    for force in [false, true] {
        let directory = Directory::take(&out, RUN.forced(force)).unwrap();
        directory.clear(&[]).unwrap();
        let theirs = [MANIFEST, "data", "data/measurements.csv", "empty", "notes.txt"];
        assert_eq!(tree(&out), theirs);
        for name in ["notes.txt", "data/measurements.csv"] {
            refused(directory.begin(name), "foretell did not make the file of that name");
            refused(directory.grow(name), "foretell did not make the file of that name");
            refused(directory.check(&["x", name]), "foretell did not make the file of that name");
            refused(directory.remove(name), "foretell did not make the file of that name");
        }
        refused(directory.begin("empty"), "foretell did not make the directory of that name");
        refused(directory.begin("notes.txt/x"), "it is a file");
        // there is room beside them
        directory.write("data/a", b"again").unwrap();
    }
    drop(Directory::take(&out, RUN).unwrap());
    assert_eq!(
        (place.text("out/notes.txt").as_str(), place.text("out/data/a").as_str()),
        ("2", "again")
    );
}

#[test]
fn a_file_that_users_changed_is_replaced_by_force_alone() {
    let place = Place::new();
    let out = place.with(&["README.md", "run.toml"]);
    fs::write(out.join("README.md"), "my own words").unwrap();
    let directory = place.take().unwrap();
    refused(directory.clear(&[]), "was changed after foretell wrote it (9 bytes then, 12 now)");
    refused(directory.begin("README.md"), "was changed after");
    // nothing was removed before the error
    assert_eq!(tree(&out), [MANIFEST, "README.md", "run.toml"]);
    // spared files stay, and may be replaced
    directory.clear(&["README.md"]).unwrap();
    assert_eq!(tree(&out), [MANIFEST, "README.md"]);
    directory.write("README.md", b"ours").unwrap();
    drop(directory);
    fs::write(out.join("README.md"), "my own words").unwrap();
    place.force().unwrap().clear(&[]).unwrap();
    assert!(!out.exists());
}

#[test]
fn another_commands_directory_is_replaced_by_force_alone() {
    let place = Place::new();
    let out = place.with(&["a/x", "y"]);
    fs::write(out.join("notes.txt"), "2").unwrap();
    let sweep = Purpose::of("sweep");
    refused(Directory::take(&out, sweep), "holds what `foretell run` made");
    let input = out.join("y");
    let inputs = [input.as_path()];
    let reads = sweep.forced(true).reading(&inputs);
    refused(Directory::take(&out, reads), "is in the directory that `--force` would replace");
    assert_eq!(listed(&out), ["a/x", "y"]);
    let directory = Directory::take(&out, sweep.forced(true)).unwrap();
    directory.write("z", b"").unwrap();
    assert_eq!(tree(&out), [MANIFEST, "notes.txt", "z"]);
    drop(directory);
    refused(place.take(), "holds what `foretell sweep` made, which `foretell run` would replace");
}

#[test]
fn an_altered_manifest_removes_nothing_elsewhere() {
    let place = Place::new();
    let out = place.with(&["a", "sub/b"]);
    let manifest = fs::read_to_string(out.join(MANIFEST)).unwrap();
    let absolute = place.path("mine").display().to_string();
    for name in ["../mine", "sub/../../mine", &absolute, "..", ".", "", "sub//b", MANIFEST] {
        for (from, to) in [("\"a\"", format!("\"{name}\"")), ("\"sub\"", format!("\"{name}\""))] {
            fs::write(out.join(MANIFEST), manifest.replace(from, &to)).unwrap();
            for force in [false, true] {
                let taken = Directory::take(&out, RUN.forced(force));
                refused(taken, "is not the list of files that foretell writes: it lists");
            }
        }
    }
    for text in ["", "{", "[]", "{\"format\": 2}", "null"] {
        fs::write(out.join(MANIFEST), text).unwrap();
        refused(place.force(), "is not the list of files that foretell writes");
    }
    fs::remove_file(out.join(MANIFEST)).unwrap();
    fs::create_dir(out.join(MANIFEST)).unwrap();
    refused(place.force(), "it is a directory");
    assert_eq!(place.text("mine"), "mine");
    assert_eq!(tree(&out), [MANIFEST, "a", "sub", "sub/b"]);
}

#[cfg(unix)]
#[test]
fn links_are_neither_followed_nor_replaced() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    fs::create_dir(place.path("precious")).unwrap();
    fs::write(place.path("precious/b"), "sub/b").unwrap();
    let out = place.with(&["a", "sub/b"]);
    // a directory of ours is replaced by a link to one of the user's, with a file of the same name
    // and size
    fs::remove_dir_all(out.join("sub")).unwrap();
    symlink(place.path("precious"), out.join("sub")).unwrap();
    for force in [false, true] {
        let directory = Directory::take(&out, RUN.forced(force)).unwrap();
        refused(directory.clear(&[]), "out/sub`: it is a symbolic link");
        refused(directory.begin("sub/b"), "it is a symbolic link");
        refused(directory.begin("sub/new"), "it is a symbolic link");
        refused(directory.remove("sub/b"), "it is a symbolic link");
        refused(directory.part("sub/part", RUN), "it is a symbolic link");
    }
    assert_eq!(place.text("precious/b"), "sub/b");
    // the same with a file
    fs::remove_file(out.join("sub")).unwrap();
    fs::remove_file(out.join("a")).unwrap();
    symlink(place.path("mine"), out.join("a")).unwrap();
    let directory = place.force().unwrap();
    refused(directory.clear(&[]), "out/a`: it is a symbolic link");
    refused(directory.begin("a"), "it is a symbolic link");
    drop(directory);
    assert_eq!(place.text("mine"), "mine");
    // and with the manifest
    let elsewhere = place.path("manifest");
    fs::rename(out.join(MANIFEST), &elsewhere).unwrap();
    symlink(&elsewhere, out.join(MANIFEST)).unwrap();
    refused(place.force(), "it is a symbolic link");
    // but a link to the directory itself is a valid choice of the user
    fs::remove_file(out.join(MANIFEST)).unwrap();
    fs::remove_file(out.join("a")).unwrap();
    symlink(&out, place.path("way")).unwrap();
    let directory = Directory::take(&place.path("way"), RUN).unwrap();
    directory.write("x", b"").unwrap();
    drop(directory);
    assert_eq!(tree(&out), [MANIFEST, "x"]);
}

#[cfg(unix)]
#[test]
fn a_directory_that_is_swapped_meanwhile_is_not_followed() {
    let place = Place::new();
    let out = place.with(&["sub/b"]);
    fs::create_dir_all(place.path("precious/sub")).unwrap();
    fs::write(place.path("precious/sub/b"), "sub/b").unwrap();
    let directory = place.take().unwrap();
    // another directory appears at the path: we stay in the one that we took
    fs::rename(&out, place.path("moved")).unwrap();
    std::os::unix::fs::symlink(place.path("precious"), &out).unwrap();
    directory.write("new", b"").unwrap();
    directory.clear(&[]).unwrap();
    drop(directory);
    assert_eq!(place.text("precious/sub/b"), "sub/b");
    assert_eq!(tree(&place.path("precious")), ["sub", "sub/b"]);
    assert_eq!(tree(&place.path("moved")), [""; 0]);
}

#[test]
fn of_two_that_take_a_directory_one_says_so() {
    let place = Place::new();
    let out = place.with(&["a"]);
    let first = place.take().unwrap();
    for purpose in [RUN, RUN.forced(true), RUN.with_access(Access::Shared)] {
        let error = Directory::take(&out, purpose).unwrap_err();
        assert!(matches!(error, FilesError::Busy { .. }) && !error.is_refusal(), "{error}");
    }
    assert_eq!(tree(&out), [MANIFEST, "a"]);
    drop(first);
    place.take().unwrap();
    // there are two processes that share it at a time, and neither is alone then
    let share = RUN.with_access(Access::Shared);
    let both = [(); 2].map(|()| Directory::take(&out, share).unwrap());
    assert!(matches!(place.take().unwrap_err(), FilesError::Busy { .. }));
    for directory in &both {
        directory.write("same", b"same").unwrap();
    }
    both[0].write("of one", b"1").unwrap();
    both[1].write("of the other", b"2").unwrap();
    drop(both);
    assert_eq!(listed(&out), ["a", "of one", "of the other", "same"]);
}

#[test]
fn many_that_share_a_directory_list_everything() {
    let place = Place::new();
    let share = RUN.with_access(Access::Shared);
    for _ in 0..20 {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let place = &place;
                scope.spawn(move || {
                    let directory = Directory::take(&place.out(), share).unwrap();
                    directory.write("same", b"same").unwrap();
                    let part = directory.part(&format!("parts/{thread}"), RUN).unwrap();
                    part.write("own", b"own").unwrap();
                });
            }
        });
        let directory = place.take().unwrap();
        assert_eq!(listed(&place.out()), ["same"]);
        directory.clear(&[]).unwrap();
        drop(directory);
        assert!(!place.out().exists(), "{:?}", tree(&place.out()));
    }
}

#[test]
fn parts_go_with_the_whole() {
    let place = Place::new();
    let directory = place.take().unwrap();
    directory.write("a", b"").unwrap();
    let [one, two] = ["parts/one", "parts/two"].map(|name| directory.part(name, RUN).unwrap());
    one.write("x", b"").unwrap();
    two.write("deep/x", b"").unwrap();
    // another handle has part two
    let error = directory.clear(&[]).unwrap_err();
    assert!(matches!(error, FilesError::Busy { .. }), "{error}");
    drop([one, two]);
    // not a part: someone created it by hand
    drop(directory);
    let out = place.out();
    Directory::take(&out.join("parts/own"), RUN).unwrap().write("x", b"").unwrap();
    let directory = place.take().unwrap();
    directory.remove_part("parts/one").unwrap();
    assert!(!out.join("parts/one").exists() && out.join("parts/two/deep/x").exists());
    directory.remove_part("parts/own").unwrap();
    fs::write(out.join("parts/two/mine"), "").unwrap();
    directory.clear(&[]).unwrap();
    let left = [MANIFEST, "parts", "parts/own", "parts/own/.foretell.json", "parts/own/x"];
    let mut expected: Vec<&str> = left.to_vec();
    expected.extend(["parts/two", "parts/two/mine"]);
    assert_eq!(tree(&out), expected);
}

#[test]
fn a_part_that_nothing_comes_into_is_gone() {
    let place = Place::new();
    let directory = place.take().unwrap();
    drop(directory.part("scratch/one", RUN).unwrap());
    assert!(!place.path("out/scratch/one").exists());
    drop(directory);
    assert!(!place.out().exists());
}

#[test]
fn what_a_killed_process_left_is_cleaned() {
    let place = Place::new();
    let out = place.with(&["data/a"]);
    // a process that was killed has left these, and its list contains what it intended to write
    for name in ["data/.b.123-0.partial", "..foretell.json.123-0.partial", ".c.9-12.partial"] {
        fs::write(out.join(name), "half").unwrap();
    }
    fs::write(out.join("data/mine.partial"), "mine").unwrap();
    place.take().unwrap().clear(&[]).unwrap();
    assert_eq!(tree(&out), [MANIFEST, "data", "data/mine.partial"]);
    // a process that was killed while it created a part
    let directory = place.take().unwrap();
    directory.part("parts/kept", RUN).unwrap().write("x", b"").unwrap();
    for (name, manifest) in [(".p.123-0.partial", ""), (".p.123-1.partial", "{\n  \"note\"")] {
        let part = out.join("parts").join(name);
        fs::create_dir(&part).unwrap();
        fs::write(part.join(MANIFEST), manifest).unwrap();
    }
    // this has the form of one, and something of the user's in it
    let mine = out.join("parts/.p.123-2.partial");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join(MANIFEST), "").unwrap();
    fs::write(mine.join("mine"), "").unwrap();
    directory.remove_parts("parts").unwrap();
    let left = ["parts", "parts/.p.123-2.partial"];
    let files = ["parts/.p.123-2.partial/.foretell.json", "parts/.p.123-2.partial/mine"];
    let others = [MANIFEST, "data", "data/mine.partial"];
    assert_eq!(tree(&out), [&others[..], &left, &files].concat());
    // a process that was killed before its list existed
    let early = place.path("early");
    fs::create_dir(&early).unwrap();
    fs::write(early.join("..foretell.json.123-0.partial"), "{").unwrap();
    Directory::take(&early, RUN).unwrap().write("x", b"").unwrap();
}

#[test]
fn what_a_killed_process_left_is_cleaned_when_its_work_goes_on() {
    let place = Place::new();
    let out = place.with(&["data/a"]);
    place.take().unwrap().part("parts/one", RUN).unwrap().write("x", b"").unwrap();
    let left = ["data/.b.123-0.partial", ".c.9-12.partial", "parts/one/.x.7-0.partial"];
    for name in left {
        fs::write(out.join(name), "half").unwrap();
    }
    fs::write(out.join("data/mine.partial"), "mine").unwrap();
    // another process may be writing
    let shared = Directory::take(&out, RUN.with_access(Access::Shared)).unwrap();
    assert!(left.iter().all(|name| out.join(name).exists()));
    shared.part("parts/one", RUN).unwrap();
    assert_eq!(left.map(|name| out.join(name).exists()), [true, true, false]);
    drop(shared);
    place.take().unwrap();
    assert_eq!(left.map(|name| out.join(name).exists()), [false, false, false]);
    assert!(out.join("data/mine.partial").exists() && out.join("data/a").exists());
}

#[test]
fn the_list_is_there_before_the_first_file() {
    let place = Place::new();
    let directory = place.take().unwrap();
    let mut file = directory.begin("data/a").unwrap();
    assert!(place.path("out/.foretell.json").exists());
    assert_eq!(listed(&place.out()), [""; 0]);
    file.write_all(b"x").unwrap();
    file.commit().unwrap();
    assert_eq!(listed(&place.out()), ["data/a"]);
    let growing = directory.begin_as("run.db", "run.db.partial").unwrap();
    assert_eq!(listed(&place.out()), ["data/a", "run.db.partial"]);
    assert_eq!(growing.temporary_path(), place.path("out/run.db.partial").canonicalize().unwrap());
    drop(growing);
    // a name left by an interrupted command
    fs::write(place.path("out/run.db.partial"), "half").unwrap();
    directory.begin_as("run.db", "run.db.partial").unwrap().commit().unwrap();
    drop(directory);
    assert_eq!(listed(&place.out()), ["data/a", "run.db"]);
}

#[test]
fn files_that_grow_are_ours() {
    let place = Place::new();
    place.take().unwrap().grow("journal").unwrap().write_all(b"1").unwrap();
    let directory = place.take().unwrap();
    assert_eq!(directory.files(), ["journal"]);
    let mut file = directory.grow("journal").unwrap();
    io::Seek::seek(&mut file, io::SeekFrom::End(0)).unwrap();
    file.write_all(b"2").unwrap();
    assert_eq!(place.text("out/journal"), "12");
    directory.clear(&[]).unwrap();
    drop(directory);
    assert!(!place.out().exists());
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let place = Place::new();
    let directory = place.take().unwrap();
    for name in ["../mine", "/etc/x", "a/../../mine", "", "..", MANIFEST] {
        refused(directory.begin(name), "cannot be the name of a file in");
        refused(directory.grow(name), "cannot be the name of a file in");
        refused(directory.remove(name), "cannot be the name of a file in");
        refused(directory.part(name, RUN), "cannot be the name of a file in");
        refused(directory.remove_part(name), "cannot be the name of a file in");
        let file = directory.begin("good").unwrap();
        let named = NewFile::commit_all(&directory, [(file, name.to_owned())]);
        refused(named, "cannot be the name of a file in");
    }
    assert_eq!(place.text("mine"), "mine");
}

#[test]
fn several_files_get_their_names_together() {
    let place = Place::new();
    let directory = place.take().unwrap();
    let files = ["a", "b"].map(|name| {
        let mut file = directory.begin(&format!("data/{name}")).unwrap();
        file.write_all(name.as_bytes()).unwrap();
        (file, format!("data/{name}-of-2"))
    });
    NewFile::commit_all(&directory, files).unwrap();
    assert_eq!(tree(&place.out()), [MANIFEST, "data", "data/a-of-2", "data/b-of-2"]);
    // a user's file that has appeared meanwhile stays, and is not listed
    let file = directory.begin("late").unwrap();
    fs::write(place.path("out/late"), "").unwrap();
    refused(file.commit(), "foretell did not make the file");
    drop(directory);
    assert_eq!(listed(&place.out()), ["data/a-of-2", "data/b-of-2"]);
    assert_eq!(place.text("out/late"), "");
}

/// Files of a directory that are written but not yet named.
fn written(directory: &Directory, names: &[&str]) -> Vec<(NewFile, String)> {
    let begin = |&name: &&str| {
        let mut file = match name {
            "run.db" => directory.begin_as(name, "run.db.partial"),
            _ => directory.begin(name),
        }
        .unwrap();
        file.write_all(format!("new {name}").as_bytes()).unwrap();
        (file, name.to_owned())
    };
    names.iter().map(begin).collect()
}

#[test]
fn files_are_replaced_together_and_stay_until_then() {
    let place = Place::new();
    let out = place.with(&["a", "archive/b", "run.db"]);
    fs::write(out.join("notes"), "mine").unwrap();
    let old = tree(&out);
    let contents = || ["a", "run.db"].map(|name| place.text(&format!("out/{name}")));
    // abandoned: nothing has changed
    let directory = place.take().unwrap();
    directory.may_replace(&["a", "run.db"], &[]).unwrap();
    drop(written(&directory, &["a", "tables/c", "run.db"]));
    drop(directory);
    assert_eq!((tree(&out), contents()), (old, ["a".to_owned(), "run.db".to_owned()]));
    assert_eq!(listed(&out), ["a", "archive/b", "run.db"]);
    // completed: files that were not replaced are gone
    let directory = place.take().unwrap();
    let files = written(&directory, &["run.db", "tables/c", "a"]);
    assert_eq!(contents(), ["a".to_owned(), "run.db".to_owned()]);
    directory.replace(files, "run.db").unwrap();
    assert_eq!(contents(), ["new a".to_owned(), "new run.db".to_owned()]);
    assert_eq!(tree(&out), [MANIFEST, "a", "notes", "run.db", "tables", "tables/c"]);
    drop(directory);
    assert_eq!(listed(&out), ["a", "run.db", "tables/c"]);
    // the list has the new sizes
    fs::write(out.join("a"), "longer than it was").unwrap();
    let directory = place.take().unwrap();
    refused(directory.may_replace(&["a"], &[]), "was changed after foretell wrote it");
    let files = written(&directory, &["run.db"]);
    refused(directory.replace(files, "run.db"), "was changed after foretell wrote it");
    assert_eq!(place.text("out/run.db"), "new run.db");
    directory.may_replace(&["a"], &["a"]).unwrap();
    directory.replace(written(&directory, &["run.db"]), "run.db").unwrap();
    drop(directory);
    assert_eq!(tree(&out), [MANIFEST, "notes", "run.db"]);
}

#[test]
fn what_a_killed_replacement_leaves_is_replaced() {
    let place = Place::new();
    let out = place.with(&["a", "archive/b", "run.db"]);
    // killed after the old mark was removed, before any file had its name
    let text = fs::read_to_string(out.join(MANIFEST)).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    for name in ["a", "run.db", "run.db.partial"] {
        manifest["files"][name] = serde_json::Value::Null;
    }
    fs::write(out.join(MANIFEST), manifest.to_string()).unwrap();
    fs::remove_file(out.join("run.db")).unwrap();
    fs::write(out.join("run.db.partial"), "whole").unwrap();
    fs::write(out.join(".a.123-0.partial"), "whole").unwrap();
    fs::write(out.join("a"), "of another size").unwrap();
    let directory = place.take().unwrap();
    directory.may_replace(&["a", "run.db"], &[]).unwrap();
    directory.replace(written(&directory, &["run.db", "a"]), "run.db").unwrap();
    drop(directory);
    assert_eq!(tree(&out), [MANIFEST, "a", "run.db"]);
    assert_eq!(listed(&out), ["a", "run.db"]);
}

#[test]
fn another_commands_files_stay_until_they_are_replaced() {
    let place = Place::new();
    let out = place.with(&["a", "sub/b"]);
    let purpose = Purpose::of("sweep").forced(true).replacing_late();
    let old = tree(&out);
    let directory = Directory::take(&out, purpose).unwrap();
    drop(written(&directory, &["c", "run.db"]));
    drop(directory);
    assert_eq!(tree(&out), old);
    // it still belongs to the first command
    let directory = place.take().unwrap();
    drop(directory);
    let directory = Directory::take(&out, purpose).unwrap();
    directory.replace(written(&directory, &["c", "run.db"]), "run.db").unwrap();
    drop(directory);
    assert_eq!(tree(&out), [MANIFEST, "c", "run.db"]);
    refused(place.take(), "holds what `foretell sweep` made");
}

#[test]
fn no_directory_is_made_while_an_interrupt_cleans_up() {
    let place = Place::new();
    let whole = Directory::take(&place.path("whole"), RUN).unwrap();
    let (out, part) = (place.path("above/out"), place.path("whole/part"));
    // as a handler of signals does: what is made from now on would stay
    let held = crate::abandon::not_now();
    std::thread::scope(|scope| {
        let taking = scope.spawn(|| Directory::take(&out, RUN));
        let parting = scope.spawn(|| whole.part("part", RUN));
        std::thread::park_timeout(Duration::from_millis(50));
        assert!(!place.path("above").exists() && !part.exists());
        drop(held);
        // afterwards each is made, registered, and removed at its end
        let (out_, part_) = (taking.join().unwrap().unwrap(), parting.join().unwrap().unwrap());
        let is_registered =
            |directory: &Directory| directory.inner.entered.lock().unwrap().is_some();
        assert!(out.exists() && part.exists() && is_registered(&out_) && is_registered(&part_));
    });
    assert!(!place.path("above").exists() && !part.exists());
}
