use std::fs;

use super::*;

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn write(path: &Path, content: &[u8]) -> Result<(), FilesError> {
    super::write(path, FileKind::ANY, content)
}

fn refused(path: &Path, why: &str) {
    for error in [check(path, FileKind::ANY).unwrap_err(), write(path, b"ours").unwrap_err()] {
        assert!(error.is_refusal() && error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_file_is_whole_or_not_there() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("model.json");
    let mut file = NewFile::begin(&path, FileKind::ANY).unwrap();
    file.write_all(b"half").unwrap();
    assert!(!path.exists());
    drop(file);
    assert_eq!(names(place.path()), [""; 0]);
    write(&path, b"old").unwrap();
    let mut file = NewFile::begin(&path, FileKind::ANY).unwrap();
    file.write_all(b"new").unwrap();
    assert_eq!(text(&path), "old");
    file.commit().unwrap();
    assert_eq!(text(&path), "new");
    assert_eq!(names(place.path()), ["model.json"]);
}

#[test]
fn directories_above_a_file_are_made_and_go_if_it_does_not_come() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("devices/old/volume.toml");
    assert!(check(&path, FileKind::ANY).is_ok() && !place.path().join("devices").exists());
    drop(NewFile::begin(&path, FileKind::ANY).unwrap());
    assert!(!place.path().join("devices").exists());
    write(&path, b"x").unwrap();
    assert_eq!(text(&path), "x");
}

#[test]
fn nothing_but_an_ordinary_file_is_replaced() {
    let place = tempfile::tempdir().unwrap();
    refused(place.path(), "it is a directory");
    refused(&place.path().join("x/"), "it names a directory");
    refused(Path::new("-"), "standard output");
    refused(Path::new(".."), "it names a directory");
    assert_eq!(names(place.path()), [""; 0]);
}

#[test]
fn only_a_file_of_the_same_kind_is_replaced() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("out");
    let kind = FileKind::beginning("a table of ours", "row,").and_saying(",predicted");
    for other in ["my notes", "row,y\n1,2\n", "a,predicted\n", "\0"] {
        fs::write(&path, other).unwrap();
        for error in [check(&path, kind), super::write(&path, kind, b"row,y,predicted\n")] {
            let error = error.unwrap_err();
            assert!(error.is_refusal(), "{error}");
            assert!(error.to_string().contains("is not a table of ours"), "{error}");
        }
        assert_eq!(text(&path), other);
    }
    for ours in ["", "row,y,predicted\n1,2,3\n"] {
        fs::write(&path, ours).unwrap();
        check(&path, kind).unwrap();
        super::write(&path, kind, b"row,y,predicted\n").unwrap();
        assert_eq!(text(&path), "row,y,predicted\n");
    }
}

#[test]
fn of_an_input_it_is_said_that_it_is_one() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("in");
    fs::write(&path, "mine").unwrap();
    let kind = FileKind::beginning("a table of ours", "row,");
    let error = check_apart(Some(&path), kind, [&path]).unwrap_err();
    assert!(matches!(error, FilesError::IsInput { .. }), "{error}");
    let error = check_apart(Some(&path), kind, [place.path()]).unwrap_err();
    assert!(matches!(error, FilesError::OtherKind { .. }), "{error}");
    check_apart(None, kind, [&path]).unwrap();
}

#[cfg(unix)]
#[test]
fn links_pipes_and_devices_are_neither_followed_nor_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let place = tempfile::tempdir().unwrap();
    let (mine, link) = (place.path().join("mine"), place.path().join("link"));
    fs::write(&mine, "mine").unwrap();
    symlink(&mine, &link).unwrap();
    symlink(place.path().join("nowhere"), place.path().join("dangling")).unwrap();
    let pipe = place.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&link, "it is a symbolic link");
    refused(&place.path().join("dangling"), "it is a symbolic link");
    refused(&pipe, "it is a pipe");
    refused(Path::new("/dev/null"), "it is a device");
    assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(fs::symlink_metadata("/dev/null").unwrap().file_type().is_char_device());
    assert_eq!((text(&mine), names(place.path()).len()), ("mine".to_owned(), 4));
    // a link to a directory is a valid choice of the user
    symlink(place.path(), place.path().join("way")).unwrap();
    write(&place.path().join("way/there"), b"x").unwrap();
    assert_eq!(text(&place.path().join("there")), "x");
}

/// Someone who knows the names of half-written files may have set traps there.
#[cfg(unix)]
#[test]
fn what_stands_at_the_unfinished_name_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let (mine, path) = (place.path().join("mine"), place.path().join("out"));
    fs::write(&mine, "mine").unwrap();
    for number in 0..3 {
        let trap = place.path().join(dir::temporary("out", number));
        std::os::unix::fs::symlink(&mine, trap).unwrap();
    }
    fs::write(place.path().join("out.partial"), "mine, too").unwrap();
    write(&path, b"ours").unwrap();
    assert_eq!((text(&mine).as_str(), text(&path).as_str()), ("mine", "ours"));
    assert_eq!(names(place.path()).len(), 6);
}

#[test]
fn of_two_that_write_one_wins_and_the_other_says_so() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("out");
    for before in [None, Some("before")] {
        let _ = fs::remove_file(&path);
        if let Some(before) = before {
            fs::write(&path, before).unwrap();
        }
        let [mut first, mut second] =
            [(); 2].map(|()| NewFile::begin(&path, FileKind::ANY).unwrap());
        second.write_all(b"second").unwrap();
        second.commit().unwrap();
        first.write_all(b"first").unwrap();
        let error = first.commit().unwrap_err();
        assert!(matches!(error, FilesError::Overtaken { .. }) && !error.is_refusal(), "{error}");
        assert_eq!(text(&path), "second");
        assert_eq!(names(place.path()), ["out"]);
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_is_swapped_while_it_is_written_is_not_taken() {
    let place = tempfile::tempdir().unwrap();
    let (mine, path) = (place.path().join("mine"), place.path().join("out"));
    fs::write(&mine, "mine").unwrap();
    let file = NewFile::begin(&path, FileKind::ANY).unwrap();
    let unfinished = file.temporary_path();
    fs::remove_file(&unfinished).unwrap();
    std::os::unix::fs::symlink(&mine, &unfinished).unwrap();
    assert!(file.commit().is_err() && !path.exists());
    assert_eq!(text(&mine), "mine");
    // a link that appears at the file's name meanwhile stays there
    let file = NewFile::begin(&path, FileKind::ANY).unwrap();
    std::os::unix::fs::symlink(&mine, &path).unwrap();
    assert!(file.commit().is_err());
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(text(&mine), "mine");
}

#[cfg(unix)]
#[test]
fn permissions_stay_as_they_were() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("private");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    write(&path, b"new").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_was_written_can_be_read_before_it_has_its_name() {
    let place = tempfile::tempdir().unwrap();
    let mut file = NewFile::begin(&place.path().join("out"), FileKind::ANY).unwrap();
    file.write_all(b"abc").unwrap();
    let mut found = String::new();
    file.written().unwrap().read_to_string(&mut found).unwrap();
    assert_eq!(found, "abc");
}
