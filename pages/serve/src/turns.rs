//! Turns: only a few pieces of work are done at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// Turns, and a queue of limited length for them.
#[derive(Debug)]
pub(crate) struct Turns {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
    most_waiting: usize,
}

/// A turn. The work holds it, not the request: work whose client has gone still takes a processor.
pub(crate) type Turn = OwnedSemaphorePermit;

/// A place in the queue, which is free again when the client has its turn or goes.
struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Turns {
    /// So many turns at a time, for which so many may wait.
    pub(crate) fn new(count: usize, most_waiting: usize) -> Self {
        let places = Arc::new(Semaphore::new(count));
        Self { places, waiting: AtomicUsize::new(0), most_waiting }
    }

    /// Waits for a turn. Errors if too many wait already.
    pub(crate) async fn take(&self, what: &str) -> Result<Turn, Problem> {
        let queued = Queued(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.most_waiting {
            return Err(Problem::busy(format!("too many {what} wait already")));
        }
        let turn = Arc::clone(&self.places).acquire_owned().await.expect("it is never closed");
        drop(queued);
        Ok(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_goes_leaves_the_queue() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(client_goes());
    }

    async fn client_goes() {
        let turns = Turns::new(1, 1);
        let held = turns.take("checks").await.unwrap();
        for _ in 0..3 {
            let waits =
                tokio::time::timeout(std::time::Duration::from_millis(1), turns.take("checks"));
            assert!(waits.await.is_err(), "it waits, and goes");
        }
        assert_eq!(turns.waiting.load(Ordering::Relaxed), 0);
        drop(held);
        drop(turns.take("checks").await.unwrap());
    }
}
