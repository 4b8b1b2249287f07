//! The runs of a sweep.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use foretell_core::Simulation;
use foretell_core::sweep::PointFacts;
use foretell_datasets::{
    EncodedEntry, Entry, Invalid, JOURNAL, JournalWriter, Journals, Run, hex_of,
};
use foretell_sim::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use super::{Place, Prepared, VERSION};
use crate::failure::Failure;
use crate::interrupt;

/// Does the runs that the journals of a place lack; `all`: the number of runs of the place. Returns
/// the number of runs done now.
pub(super) fn perform(
    prepared: &Prepared,
    place: &Place,
    threads: NonZeroUsize,
    all: u64,
) -> Result<u64, Failure> {
    interrupt::watch();
    let fingerprint = &prepared.manifest.fingerprint;
    let file = place.own.grow(JOURNAL)?;
    let journal = JournalWriter::open(file, &place.journal, fingerprint)?;
    let before = count(place, fingerprint)?;
    let mut done = Done::open(place, fingerprint)?;
    let shard = place.shard;
    let left =
        prepared.sweep.runs().filter(move |run| shard.has(run.number)).filter_map(move |run| {
            match done.has(run.number) {
                Ok(true) => None,
                Ok(false) => Some(Ok(run)),
                Err(error) => Some(Err(error)),
            }
        });
    let bar = bar(all.saturating_sub(before));
    let journal = Mutex::new(journal);
    let (now, failure) = super::queue::perform(left, threads, |run: Run| {
        let until =
            |_| if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let entry = attempt(prepared, &run, until)?;
        journal.lock().expect("no thread panics").append(&entry)?;
        bar.inc(1);
        Ok(())
    });
    bar.finish_and_clear();
    journal.into_inner().expect("no thread panics").sync()?;
    let progress = format!("{} of {all} runs; `--resume` goes on", before + now);
    match failure {
        _ if interrupt::asked() && before + now < all => {
            Err(Failure::Interrupted { done: progress })
        }
        Some(failure) => Err(failure),
        None => Ok(now),
    }
}

/// The bar; it is shown on a terminal only.
fn bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:30} {pos}/{len} runs  {per_sec}  elapsed {elapsed}, left {eta}",
    );
    ProgressBar::new(length).with_style(style.expect("the template is right"))
}

/// Number of runs in the journals of a place.
fn count(place: &Place, fingerprint: &str) -> Result<u64, Failure> {
    let mut journals = Journals::open(&place.all(), Some(fingerprint))?;
    let mut runs = 0;
    while journals.next_run()?.is_some() {
        runs += 1;
    }
    Ok(runs)
}

/// The runs that were done before, queried in ascending order.
struct Done {
    journals: Journals,
    next: Option<u64>,
}

impl Done {
    fn open(place: &Place, fingerprint: &str) -> Result<Self, Failure> {
        let mut journals = Journals::open(&place.all(), Some(fingerprint))?;
        let next = journals.next_run()?;
        Ok(Self { journals, next })
    }

    fn has(&mut self, run: u64) -> Result<bool, Failure> {
        while self.next.is_some_and(|next| next < run) {
            self.next = self.journals.next_run()?;
        }
        Ok(self.next == Some(run))
    }
}

/// Does a run. A failure of the run is its result; an error is a failure of the sweep.
pub(super) fn attempt(
    prepared: &Prepared,
    run: &Run,
    mut watch: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<EncodedEntry, Failure> {
    let mut cut_off = false;
    let look = |progress| {
        let flow = watch(progress);
        cut_off = flow.is_break();
        flow
    };
    // a bug that makes one run panic must not lose the others
    let outcome = catch_unwind(AssertUnwindSafe(|| rows(prepared, run, look)));
    let outcome = outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Failure::Usage(format!("the program failed: {}", text.unwrap_or_default())))
    });
    if cut_off {
        return Err(Failure::Interrupted { done: format!("a part of run {}", run.number) });
    }
    let tables = match outcome {
        Ok(tables) => tables,
        Err(Failure::Scenario(_)) if prepared.sweep.invalid == Invalid::Drop => Vec::new(),
        Err(Failure::Scenario(errors)) => prepared.tables.failed(run, &errors.lines()),
        // failures of the machine, not of the run
        Err(
            error @ (Failure::File { .. }
            | Failure::Files(_)
            | Failure::Store(_)
            | Failure::Data(_)),
        ) => {
            return Err(error);
        }
        Err(error) => prepared.tables.failed(run, &error.to_string()),
    };
    let split = run.part.name().to_owned();
    Ok(EncodedEntry::new(&Entry { run: run.number, split, tables })?)
}

/// The rows of a run, table by table.
fn rows(
    prepared: &Prepared,
    run: &Run,
    watch: impl FnMut(Progress) -> ControlFlow<()>,
) -> Result<Vec<Vec<foretell_datasets::Row>>, Failure> {
    let mut document = prepared.sweep.document(&run.point)?;
    let hash = hex_of(document.resolved()?.as_bytes());
    document.set("seed", &run.seed.to_string())?;
    let simulation = Simulation::new(&document)?;
    let scenario = simulation.scenario.clone();
    let seen = simulation.remember(prepared.sweep.requests.is_some(), watch)?;
    // half of the digits are enough to distinguish scenarios
    let facts = PointFacts { scenario_hash: &hash[..32], tool_version: VERSION };
    Ok(prepared.tables.rows(run, &facts, &scenario, &seen))
}
