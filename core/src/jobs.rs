//! Independent jobs on several threads, with an observer.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use foretell_sorted::SortedMap;

use crate::error::Error;

/// Follows the progress of long work, and may end it.
pub trait Watch: Sync {
    /// Work on this number of jobs begins.
    fn begin(&self, jobs: usize) {
        let _ = jobs;
    }

    /// One more job is done.
    fn done(&self) {}

    /// The work has ended, whether or not all jobs are done.
    fn end(&self) {}

    /// Whether the work should end. This is called before each job, and repeatedly during simulations.
    fn wants_end(&self) -> bool {
        false
    }
}

/// Ignores the progress, and lets the work go on to its end.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {}

/// Threads that do jobs, and the observer of their progress.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    /// The number of threads.
    pub threads: NonZeroUsize,
    /// The observer.
    pub watch: &'a dyn Watch,
}

/// The outcome of some jobs.
#[derive(Debug)]
pub struct Done<T, E> {
    /// Results by the number of their job. They do not depend on the order or the number of threads.
    pub results: SortedMap<usize, T>,
    /// Why not all jobs were done: the failure of the job with the lowest number, or an interruption.
    pub failure: Option<E>,
}

impl<T, E> Done<T, E> {
    /// The results in the order of their jobs, if all were done.
    pub fn all(self) -> Result<Vec<T>, E> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.results.into_values().collect()),
        }
    }
}

impl Workers<'_> {
    /// Does the jobs. They begin in the given order. No further job begins after one has failed, or after the
    /// observer has asked for the end.
    pub fn perform<J: Sync, T: Send, E: From<Error> + Send>(
        &self,
        jobs: &[J],
        job: impl Fn(&J) -> Result<T, E> + Sync,
    ) -> Done<T, E> {
        self.watch.begin(jobs.len());
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let collected: Mutex<SortedMap<usize, Result<T, E>>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..self.threads.get().min(jobs.len()) {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) && !self.watch.wants_end() {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        let Some(wanted) = jobs.get(number) else { break };
                        let result = job(wanted);
                        stop.fetch_or(result.is_err(), Ordering::Relaxed);
                        collected.lock().expect("no thread panics").insert(number, result);
                        self.watch.done();
                    }
                });
            }
        });
        self.watch.end();
        let (mut results, mut failure) = (SortedMap::new(), None);
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
        if self.watch.wants_end() && results.len() < jobs.len() {
            let done = format!("{} of {} runs", results.len(), jobs.len());
            failure = Some(Error::Interrupted { done }.into());
        }
        Done { results, failure }
    }

    /// An observer for simulations. It lets them go on until the observer of the jobs asks for the end.
    pub fn go_on<T>(&self, _: T) -> ControlFlow<()> {
        if self.watch.wants_end() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(threads: usize) -> Workers<'static> {
        Workers { threads: NonZeroUsize::new(threads).unwrap(), watch: &Unwatched }
    }

    #[test]
    fn results_are_in_the_order_of_their_jobs() {
        let jobs: Vec<u32> = (0..100).collect();
        let done = workers(4).perform(&jobs, |job| Ok::<_, Error>(job * 2));
        assert_eq!(done.all().unwrap(), (0..100).map(|job| job * 2).collect::<Vec<_>>());
    }

    #[test]
    fn after_a_failure_no_job_is_begun() {
        let jobs: Vec<u32> = (0..100).collect();
        let done = workers(1).perform(&jobs, |job| {
            if *job == 3 { Err(Error::Invalid("no".to_owned())) } else { Ok(*job) }
        });
        assert_eq!(done.results.into_values().collect::<Vec<_>>(), [0, 1, 2]);
        assert!(matches!(done.failure, Some(Error::Invalid(_))));
    }

    #[test]
    fn whoever_watches_is_told_of_each_job_and_may_end_the_work() {
        #[derive(Default)]
        struct Patience {
            done: AtomicUsize,
        }
        impl Watch for Patience {
            fn done(&self) {
                self.done.fetch_add(1, Ordering::Relaxed);
            }
            fn wants_end(&self) -> bool {
                self.done.load(Ordering::Relaxed) >= 2
            }
        }
        let watch = Patience::default();
        let workers = Workers { threads: NonZeroUsize::MIN, watch: &watch };
        let done = workers.perform(&[1, 2, 3], |job| Ok::<_, Error>(*job));
        assert_eq!(done.results.len(), 2);
        assert_eq!(done.failure.unwrap().to_string(), "interrupted after 2 of 3 runs");
    }
}
