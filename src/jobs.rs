//! Independent jobs on several threads, with a bar on a terminal.

use std::num::NonZeroUsize;
use std::sync::Mutex;

use foretell_core::jobs::{Done, Watch, Workers};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::interrupt;

/// A bar on a terminal with the number of finished jobs. Ctrl-C ends the work.
struct Bar(Mutex<Option<ProgressBar>>);

impl Watch for Bar {
    fn begin(&self, jobs: usize) {
        interrupt::watch();
        self.set(Some(bar(jobs as u64)));
    }

    fn done(&self) {
        if let Some(bar) = self.0.lock().expect("no thread panics").as_ref() {
            bar.inc(1);
        }
    }

    fn end(&self) {
        self.set(None);
    }

    fn wants_end(&self) -> bool {
        interrupt::asked()
    }
}

impl Bar {
    fn set(&self, bar: Option<ProgressBar>) {
        let before = std::mem::replace(&mut *self.0.lock().expect("no thread panics"), bar);
        if let Some(before) = before {
            before.finish_and_clear();
        }
    }
}

/// Worker threads for the jobs of a library. The library runs one set of jobs after the other, so one bar
/// serves them all.
pub(crate) fn workers(asked: Option<NonZeroUsize>) -> Workers<'static> {
    static SHOWN: Bar = Bar(Mutex::new(None));
    Workers { threads: threads(asked), watch: &SHOWN }
}

/// Runs the jobs on this number of threads, with a bar ([`Workers::perform`]).
pub(crate) fn perform<J: Sync, T: Send>(
    jobs: &[J],
    threads: NonZeroUsize,
    job: impl Fn(&J) -> Result<T, Failure> + Sync,
) -> Done<T, Failure> {
    let watch = Bar(Mutex::new(None));
    Workers { threads, watch: &watch }.perform(jobs, job)
}

/// The number of threads to use: the number asked for, or one for each processor.
pub(crate) fn threads(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// The bar; it is shown on a terminal only.
fn bar(length: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} runs  elapsed {elapsed}, left {eta}");
    ProgressBar::new(length).with_style(style.expect("the template is right"))
}
