//! Runs numbered jobs on several threads; their sequence is too long to be held in memory.
//!
//! Jobs begin in order. A job waits if the job [`WINDOW`] places before it is still running, so
//! that results are written nearly in order.

use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard};

use foretell_datasets::{Point, Run, WINDOW};
use foretell_sorted::SortedSet;

use crate::failure::Failure;
use crate::interrupt;

/// An item with a position in a sequence.
pub(super) trait Numbered {
    /// The position; later jobs have larger numbers.
    fn number(&self) -> u64;
}

impl Numbered for Point {
    fn number(&self) -> u64 {
        self.number
    }
}

impl Numbered for Run {
    fn number(&self) -> u64 {
        self.number
    }
}

struct State<I: Iterator> {
    jobs: I,
    /// A job that has to wait.
    next: Option<I::Item>,
    under_way: SortedSet<u64>,
    failure: Option<Failure>,
    done: u64,
}

/// Runs all jobs; returns the number of finished jobs, and the failure if not all were done. After
/// a failure or an interruption by the user, no further job begins.
pub(super) fn perform<J: Numbered + Send>(
    jobs: impl Iterator<Item = Result<J, Failure>> + Send,
    threads: NonZeroUsize,
    work: impl Fn(J) -> Result<(), Failure> + Sync,
) -> (u64, Option<Failure>) {
    let state =
        Mutex::new(State { jobs, next: None, under_way: SortedSet::new(), failure: None, done: 0 });
    let moved = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 0..threads.get() {
            scope.spawn(|| {
                let mut held = lock(&state);
                while let Some(job) = take(&mut held) {
                    let number = job.number();
                    let first = held.under_way.first().copied().unwrap_or(number);
                    if number >= first + WINDOW {
                        held.next = Some(Ok(job));
                        held = moved.wait(held).expect("no thread panics");
                        continue;
                    }
                    held.under_way.insert(number);
                    drop(held);
                    let result = work(job);
                    held = lock(&state);
                    held.under_way.remove(&number);
                    match result {
                        Ok(()) => held.done += 1,
                        Err(error) => drop(held.failure.get_or_insert(error)),
                    }
                    moved.notify_all();
                }
            });
        }
    });
    let state = state.into_inner().expect("no thread panics");
    (state.done, state.failure)
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().expect("no thread panics")
}

fn take<J, I: Iterator<Item = Result<J, Failure>>>(state: &mut State<I>) -> Option<J> {
    if state.failure.is_some() || interrupt::asked() {
        return None;
    }
    match state.next.take().or_else(|| state.jobs.next())? {
        Ok(job) => Some(job),
        Err(error) => {
            state.failure = Some(error);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Numbered for u64 {
        fn number(&self) -> u64 {
            *self
        }
    }

    #[test]
    fn no_job_runs_far_ahead_of_another() {
        let threads = NonZeroUsize::MIN.saturating_add(3);
        let (first, most) = (Mutex::new(true), Mutex::new(0));
        // job 0 waits until another job has got as far ahead as it may, so that a further one would
        // show
        let (done, failure) = perform((0..WINDOW + 100).map(Ok), threads, |job: u64| {
            if job == 0 {
                while *most.lock().unwrap() < WINDOW - 1 {
                    std::thread::yield_now();
                }
                *first.lock().unwrap() = false;
            } else {
                let mut most = most.lock().unwrap();
                *most = job.max(*most);
                assert!(job < WINDOW || !*first.lock().unwrap());
            }
            Ok(())
        });
        assert!(failure.is_none());
        assert_eq!(done, WINDOW + 100);
    }

    #[test]
    fn a_failure_ends_it() {
        let (done, failure) = perform((0..100).map(Ok), NonZeroUsize::MIN, |job: u64| {
            if job == 7 { Err(Failure::Usage("no".to_owned())) } else { Ok(()) }
        });
        assert_eq!(done, 7);
        assert!(matches!(failure, Some(Failure::Usage(_))));
    }
}
