//! `foretell sweep`: many runs from a design of experiments, as a data set.
//!
//! Every finished run is added to a journal at once. The data set is made from complete journals, in
//! the order of runs. So its content does not depend on threads, shards or interruptions.
#![allow(clippy::similar_names, reason = "the words of the domain")]

mod check;
mod join;
mod queue;
mod work;

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foretell_core::sweep::Tables;
use foretell_datasets::{
    Content, DataError, Format, JOURNAL, Journals, MANIFEST_FILE, Manifest, SHARDS, Sweep, finish,
    journals,
};
use foretell_files::{Access, Directory, FilesError, Purpose};
use foretell_input::Limit;
use foretell_scenarios::Change;
use serde_json::json;

use crate::cli::{Shard, SweepArguments, SweepStep};
use crate::failure::{Failure, note};
use crate::{interrupt, jobs, output};

/// Version of the program; results of other versions may differ.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Copies of the files from which a sweep was made.
const SWEEP: &str = "sweep.toml";
const SCENARIO: &str = "scenario.toml";
/// Other files that a sweep writes; foreign files of these names must not be in the way.
const OUTCOME: [&str; 6] =
    [MANIFEST_FILE, SWEEP, SCENARIO, "README.md", "croissant.json", "content.json"];

/// Runs the command.
pub(crate) fn sweep(arguments: &SweepArguments) -> Result<(), Failure> {
    match (&arguments.step, &arguments.sweep) {
        (Some(SweepStep::Missing(arguments)), _) => join::missing(arguments),
        (Some(SweepStep::Merge(arguments)), _) => join::merge(arguments),
        (None, Some(file)) => run(arguments, file),
        // the command line requires one of them
        (None, None) => Err(Failure::Usage("expected a sweep file".to_owned())),
    }
}

/// A sweep that is ready to run.
struct Prepared {
    sweep: Sweep,
    tables: Tables,
    manifest: Manifest,
}

fn prepare(file: &Path) -> Result<Prepared, Failure> {
    let change = |path: &str, value: &str| Change { path: path.into(), value: value.into() };
    let mut sweep = foretell_core::Sweep::load(file)?.into_design();
    let base = sweep.base().check()?;
    let tables = Tables::new(&base, &sweep.factors, sweep.requests.is_some(), &sweep.records)?;
    if let Some(kept) = sweep.requests {
        sweep.change_base(&[
            change("record", &format!("every 1/{kept} requests")),
            change("tracking.types", &format!("{:?}", tables.kinds())),
        ])?;
    }
    let (points, wanted) = sweep.count_points();
    if let Some(wanted) = wanted.filter(|wanted| points < *wanted) {
        return Err(Failure::Usage(format!(
            "the constraints leave only {points} of {wanted} points, less than one candidate in a thousand"
        )));
    }
    let manifest = Manifest::of(&sweep, points, tables.schemas().to_vec(), VERSION);
    Ok(Prepared { sweep, tables, manifest })
}

fn run(arguments: &SweepArguments, file: &Path) -> Result<(), Failure> {
    if arguments.with_parent {
        interrupt::end_with_parent();
    }
    let prepared = prepare(file)?;
    let threads = jobs::threads(arguments.jobs);
    let shard = arguments.shard.unwrap_or(Shard::WHOLE);
    if arguments.check {
        let plan = check::check(&prepared, shard, threads, true)?;
        return output::print(&if arguments.json { plan.json() } else { plan.text() });
    }
    let path = arguments.output.as_deref().expect("the command line wants it");
    let purpose = purpose(shard, arguments.force);
    let wait = Duration::from_secs(arguments.wait);
    patiently(wait, || Ok(Directory::may_take(path, purpose)?))?;
    if !arguments.force
        && let Some(content) = begun(path, shard, arguments.resume, &prepared.manifest)?
    {
        return print_whole(path, &prepared.manifest, &content, arguments.json);
    }
    // check the sweep before anything is written
    let watched = std::io::stderr().is_terminal();
    let plan = check::check(&prepared, shard, threads, watched)?;
    if watched {
        eprint!("{}", foretell_input::printable(&plan.text()));
    } else if let Some(text) = &plan.note {
        note(text);
    }
    let place = patiently(wait, || Place::take(path, shard, arguments.force, &prepared))?;
    let done = work::perform(&prepared, &place, threads, plan.runs);
    let done = match done {
        Ok(done) => done,
        Err(failure) => {
            place.leave();
            return Err(failure);
        }
    };
    if shard != Shard::WHOLE {
        let text = if arguments.json {
            output::json(&json!({ "shard": shard.name(), "runs": plan.runs, "run_now": done }))
        } else {
            let (number, of, runs) = (shard.number, shard.of, plan.runs);
            format!("shard {number} of {of}: all of its {runs} runs are done, {done} of them now\n")
        };
        return output::print(&text);
    }
    let Place { directory, own, .. } = place;
    let content = whole(&directory, Some(own), &prepared.manifest, format_of(arguments.csv))?;
    print_whole(path, &prepared.manifest, &content, arguments.json)
}

/// Time between attempts to take a directory that another process has.
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// Takes what another process may have, which is waited for.
fn patiently<T>(
    wait: Duration,
    mut take: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
    let begin = Instant::now();
    loop {
        match take() {
            Err(Failure::Files(FilesError::Busy { .. }))
                if begin.elapsed() < wait && !interrupt::asked() =>
            {
                #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
                std::thread::sleep(BETWEEN_ATTEMPTS);
            }
            taken => return taken,
        }
    }
}

/// The purpose for which a sweep takes its directory.
const SWEEPING: Purpose<'static> = Purpose::of("sweep");
/// The purpose of a shard's directory.
const SHARD: Purpose<'static> = Purpose::of("sweep --shard");

/// Shards may run side by side; a whole sweep, or one that replaces it, has the directory alone.
fn purpose(shard: Shard, force: bool) -> Purpose<'static> {
    let shared = shard != Shard::WHOLE && !force;
    SWEEPING.with_access(if shared { Access::Shared } else { Access::Alone }).forced(force)
}

/// The content of a directory, if it holds the whole data set. Errors if it holds another sweep, or if
/// this shard of it was begun and `resume` is not set.
fn begun(
    directory: &Path,
    shard: Shard,
    resume: bool,
    manifest: &Manifest,
) -> Result<Option<Content>, Failure> {
    match Manifest::read(directory) {
        Ok(found) => manifest.same(&found, directory)?,
        Err(DataError::NoSweep { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let content = Content::read(directory)?;
    let shards = directory.join(SHARDS);
    let own = if shard == Shard::WHOLE { shards } else { shards.join(shard.name()).join(JOURNAL) };
    if (own.exists() || content.is_some()) && !resume {
        return Err(Failure::Usage(format!(
            "`{}` holds this sweep already; `--resume` continues it, `--force` starts again",
            directory.display()
        )));
    }
    Ok(content)
}

fn format_of(csv: bool) -> Format {
    if csv { Format::Csv } else { Format::Parquet }
}

/// Makes the data set from complete journals, and removes the journals; `own`: the shard that was done
/// now.
fn whole(
    directory: &Directory,
    own: Option<Directory>,
    manifest: &Manifest,
    format: Format,
) -> Result<Content, Failure> {
    interrupt::watch();
    let journals = journals(directory.path())?;
    let content = finish(directory, manifest, &journals, format, &interrupt::asked)?;
    // all is in the data set now; if this fails, the remaining files do no harm
    if let Some(own) = own {
        let _ = own.clear(&[]);
    }
    let _ = directory.remove_parts(SHARDS);
    Ok(content)
}

fn print_whole(
    directory: &Path,
    manifest: &Manifest,
    content: &Content,
    as_json: bool,
) -> Result<(), Failure> {
    if as_json {
        let document = json!({
            "directory": directory.display().to_string(),
            "title": manifest.title,
            "points": manifest.points,
            "content": content,
        });
        return output::print(&output::json(&document));
    }
    let mut text = format!("{}: {} runs", directory.display(), content.runs);
    if content.failures > 0 {
        let _ = write!(text, ", {} failed (table `failures`)", content.failures);
    }
    if content.left_out > 0 {
        let _ = write!(text, ", {} left out", content.left_out);
    }
    let bytes: u64 = content.files.iter().map(|file| file.bytes).sum();
    let (files, bytes, digest) =
        (output::counted(content.files.len(), "file"), size(bytes as f64), &content.digest);
    let _ = writeln!(text, "; {files}, {bytes}\ndigest {digest}");
    output::print(&text)
}

/// The place where a shard of a sweep is written.
struct Place {
    shard: Shard,
    journal: PathBuf,
    /// Journals of other shards, or of other divisions into shards, that a whole sweep continues from.
    others: Vec<PathBuf>,
    /// The directory of the journal.
    own: Directory,
    /// The directory of the whole sweep.
    directory: Directory,
}

impl Place {
    /// Takes the directory for this shard of a sweep, and keeps the sweep's sources in it. With
    /// `force`, our own files in it are removed.
    fn take(path: &Path, shard: Shard, force: bool, prepared: &Prepared) -> Result<Self, Failure> {
        let directory = Directory::take(path, purpose(shard, force))?;
        if force {
            // keep the sources, as a sweep may be made again from its own copies
            directory.clear(&[SWEEP, SCENARIO])?;
        }
        directory.check(&OUTCOME)?;
        prepared.manifest.claim(&directory)?;
        keep_sources(prepared, &directory)?;
        let name = format!("{SHARDS}/{}", shard.name());
        let own = directory.part(&name, SHARD)?;
        let journal = own.path().join(JOURNAL);
        let others = if shard == Shard::WHOLE { journals(path)? } else { Vec::new() };
        let others = others.into_iter().filter(|other| *other != journal).collect();
        Ok(Self { shard, journal, others, own, directory })
    }

    /// If no run was done, removes what was made to take the directory, unless other shards need it.
    fn leave(self) {
        let runs = || {
            let mut journals = Journals::open(&self.all(), None).ok()?;
            journals.next_run().ok()?
        };
        if runs().is_some() {
            return;
        }
        // if this fails, `--resume` can continue from what remains
        let Self { own, directory, .. } = self;
        let _ = own.clear(&[]);
        drop(own);
        if journals(directory.path()).is_ok_and(|found| found.is_empty())
            && Content::read(directory.path()).is_ok_and(|content| content.is_none())
        {
            let _ = directory.clear(&[]);
        }
    }

    /// All journals with finished runs.
    fn all(&self) -> Vec<PathBuf> {
        std::iter::once(self.journal.clone()).chain(self.others.iter().cloned()).collect()
    }
}

/// Keeps the sweep file and the base scenario in the data set, so that it can be made again from them.
fn keep_sources(prepared: &Prepared, directory: &Directory) -> Result<(), Failure> {
    let (sweep, base) = prepared.sweep.texts(SCENARIO);
    let base = base.map(|base| (SCENARIO, base));
    for (name, text) in base.into_iter().chain([(SWEEP, sweep.as_str())]) {
        // shards that begin at the same time write the same text
        let path = directory.path().join(name);
        if foretell_input::text(&path, Limit::SCENARIO).ok().as_deref() != Some(text) {
            directory.write(name, text.as_bytes())?;
        }
    }
    Ok(())
}

/// Number of runs of a shard.
fn runs_of(shard: Shard, all: u64) -> u64 {
    // the runs below `all` whose number modulo `of` is `number - 1`
    (all + shard.of.get() - shard.number) / shard.of
}

/// Bytes in a suitable unit.
fn size(bytes: f64) -> String {
    if bytes < 1e6 { format!("{:.0} kB", bytes / 1e3) } else { format!("{:.1} MB", bytes / 1e6) }
}

/// Time on this number of threads.
fn share(total_s: f64, threads: NonZeroUsize) -> f64 {
    total_s / threads.get() as f64
}
