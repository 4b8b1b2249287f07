//! Independent jobs on several threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::interrupt;

/// What came of some jobs.
pub(crate) struct Done<T> {
    /// Results by the numbers of their jobs, so that neither order nor threads show.
    pub(crate) results: BTreeMap<usize, T>,
    /// Why not all jobs were done: the failure of the job with the lowest number, or an
    /// interruption by the user.
    pub(crate) failure: Option<Failure>,
}

impl<T> Done<T> {
    /// The results in the order of their jobs, if all were done.
    pub(crate) fn all(self) -> Result<Vec<T>, Failure> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.results.into_values().collect()),
        }
    }
}

/// Does the jobs, which are begun in the order given, on this many threads. After one has failed or
/// the user has asked for an end, no other is begun. A bar shows how many are done, on a terminal.
pub(crate) fn perform<J: Sync, T: Send>(
    jobs: &[J],
    threads: NonZeroUsize,
    job: impl Fn(&J) -> Result<T, Failure> + Sync,
) -> Done<T> {
    interrupt::watch();
    let bar = bar(jobs.len() as u64);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let collected: Mutex<BTreeMap<usize, Result<T, Failure>>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads.get().min(jobs.len()) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && !interrupt::asked() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(wanted) = jobs.get(number) else { break };
                    let result = job(wanted);
                    stop.fetch_or(result.is_err(), Ordering::Relaxed);
                    collected.lock().expect("no thread panics").insert(number, result);
                    bar.inc(1);
                }
            });
        }
    });
    bar.finish_and_clear();
    let (mut results, mut failure) = (BTreeMap::new(), None);
    for (number, outcome) in collected.into_inner().expect("no thread panics") {
        match outcome {
            Ok(result) => {
                results.insert(number, result);
            }
            Err(error) => {
                failure.get_or_insert(error);
            }
        }
    }
    if interrupt::asked() && results.len() < jobs.len() {
        let done = format!("{} of {} runs", results.len(), jobs.len());
        failure = Some(Failure::Interrupted { done });
    }
    Done { results, failure }
}

/// How many threads to use: as many as were asked for, or one for each processor.
pub(crate) fn threads(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// On a terminal only.
fn bar(length: u64) -> ProgressBar {
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} runs  elapsed {elapsed}, left {eta}");
    ProgressBar::new(length).with_style(style.expect("the template is right"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_jobs() {
        let jobs: Vec<u32> = (0..100).collect();
        let done = perform(&jobs, NonZeroUsize::MIN.saturating_add(3), |job| Ok(job * 2))
            .all()
            .expect("no job fails");
        assert_eq!(done, (0..100).map(|job| job * 2).collect::<Vec<_>>());
    }

    #[test]
    fn after_a_failure_no_job_is_begun() {
        let jobs: Vec<u32> = (0..100).collect();
        let done = perform(&jobs, NonZeroUsize::MIN, |job| {
            if *job == 3 { Err(Failure::Usage("no".to_owned())) } else { Ok(*job) }
        });
        assert_eq!(done.results.into_values().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(matches!(done.failure, Some(Failure::Usage(_))));
    }
}
