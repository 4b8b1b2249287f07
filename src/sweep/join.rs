//! `sweep missing` and `sweep merge`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use foretell_core::sweep;
use foretell_datasets::{Content, Manifest, SHARDS, finish, journals, missing as missing_runs};
use foretell_files::Directory;
use foretell_input::Limit;
use serde_json::json;

use super::{OUTCOME, SCENARIO, SWEEP, SWEEPING, format_of, print_whole, whole};
use crate::cli::{MergeArguments, MissingArguments};
use crate::failure::Failure;
use crate::{interrupt, output};

/// Lists the runs that have not been done, one range a line. If there are any, the exit status says so.
pub(super) fn missing(arguments: &MissingArguments) -> Result<(), Failure> {
    let manifest = common(&arguments.directories)?;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut count = 0;
    if !complete(&arguments.directories)? {
        let paths = all_journals(&arguments.directories)?;
        missing_runs(&paths, &manifest.fingerprint, manifest.runs(), |runs| {
            count += runs.end - runs.start;
            ranges.push((runs.start, runs.end - 1));
        })?;
    }
    if arguments.json {
        let document = json!({ "runs": manifest.runs(), "missing": count, "ranges": ranges });
        output::print(&output::json(&document))?;
        return if count == 0 { Ok(()) } else { Err(Failure::Incomplete) };
    }
    let mut text = format!("{count} of {} runs are missing\n", manifest.runs());
    for (first, last) in ranges {
        let _ = if first == last {
            writeln!(text, "{first}")
        } else {
            writeln!(text, "{first}-{last}")
        };
    }
    output::print(&text)?;
    if count == 0 { Ok(()) } else { Err(Failure::Incomplete) }
}

/// Merges shards.
pub(super) fn merge(arguments: &MergeArguments) -> Result<(), Failure> {
    let manifest = common(&arguments.directories)?;
    let format = format_of(arguments.csv);
    let own = match (&arguments.output, arguments.directories.as_slice()) {
        (Some(output), _) => output.clone(),
        (None, [only]) => only.clone(),
        (None, _) => {
            return Err(Failure::Usage(
                "the shards are in several directories; give another directory for the data set, `-o DIR`"
                    .to_owned(),
            ));
        }
    };
    let in_place = arguments.directories.iter().any(|directory| same(directory, &own));
    if in_place && let Some(content) = Content::read(&own)? {
        // already merged
        return print_whole(&own, &manifest, &content, arguments.json);
    }
    same_sources(&arguments.directories)?;
    let inputs: Vec<&Path> = arguments.directories.iter().map(PathBuf::as_path).collect();
    let purpose = SWEEPING.forced(arguments.force).reading(&inputs);
    Directory::may_take(&own, purpose)?;
    // report missing runs before anything is written
    let journals = all_journals(&arguments.directories)?;
    let another = match Manifest::read(&own) {
        Ok(found) => manifest.same(&found, &own),
        Err(_) => Ok(()),
    };
    if !arguments.force {
        another?;
    } else if in_place {
        return Err(Failure::Usage(format!(
            "`{}` is the directory of a shard; `--force` would remove it first",
            own.display()
        )));
    }
    let directory = Directory::take(&own, purpose)?;
    if arguments.force {
        directory.clear(&[])?;
    }
    directory.check(&OUTCOME)?;
    manifest.claim(&directory)?;
    let content = if in_place && arguments.directories.len() == 1 {
        whole(&directory, None, &manifest, format)?
    } else {
        interrupt::watch();
        let done = finish(&directory, &manifest, &journals, format, &interrupt::asked);
        let content = match done {
            Ok(content) => content,
            Err(error) => {
                if !in_place && Content::read(&own)?.is_none() {
                    // the first error says more than a second one would
                    let _ = directory.clear(&[]);
                }
                return Err(error.into());
            }
        };
        if !in_place {
            copy_sources(&arguments.directories[0], &directory)?;
        }
        content
    };
    print_whole(&own, &manifest, &content, arguments.json)
}

fn same(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Errors if the shards were not all made from the same files: the data set has only one copy of them.
fn same_sources(directories: &[PathBuf]) -> Result<(), Failure> {
    let (first, others) = directories.split_first().expect("the command line wants one");
    for name in [SWEEP, SCENARIO] {
        let text = source(first, name)?;
        for other in others {
            if source(other, name)? != text {
                return Err(Failure::Usage(format!(
                    "`{}` differs from `{}`; a data set is made from one sweep file and one scenario",
                    other.join(name).display(),
                    first.join(name).display()
                )));
            }
        }
    }
    Ok(())
}

/// A shard's copy of a file that the sweep was made from; `None`: the sweep file contains its scenario.
fn source(directory: &Path, name: &str) -> Result<Option<String>, Failure> {
    let path = directory.join(name);
    if name == SCENARIO && !path.exists() {
        return Ok(None);
    }
    let text = foretell_input::text(&path, Limit::SCENARIO);
    Ok(Some(text.map_err(Failure::file("read", &path))?))
}

fn copy_sources(from: &Path, to: &Directory) -> Result<(), Failure> {
    for name in [SWEEP, SCENARIO] {
        if let Some(text) = source(from, name)? {
            to.write(name, text.as_bytes())?;
        }
    }
    Ok(())
}

/// The sweep that all directories belong to.
fn common(directories: &[PathBuf]) -> Result<Manifest, Failure> {
    let manifest = Manifest::read(&directories[0])?;
    if let Some(unknown) = manifest.tables.iter().find(|table| !sweep::is_known(&table.name)) {
        let path = directories[0].join(foretell_datasets::MANIFEST_FILE);
        return Err(Failure::Usage(format!(
            "`{}` describes a table `{}`, which no sweep makes",
            path.display(),
            unknown.name
        )));
    }
    for directory in &directories[1..] {
        manifest.same(&Manifest::read(directory)?, directory)?;
    }
    Ok(manifest)
}

/// Whether one of them holds the whole data set.
fn complete(directories: &[PathBuf]) -> Result<bool, Failure> {
    for directory in directories {
        if Content::read(directory)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn all_journals(directories: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for directory in directories {
        let of_it = journals(directory)?;
        if of_it.is_empty() {
            let path = directory.join(SHARDS);
            return Err(Failure::Usage(format!("`{}` holds no shards of a sweep", path.display())));
        }
        found.extend(of_it);
    }
    Ok(found)
}
