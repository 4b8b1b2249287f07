//! Cleanup when the process ends early.
//!
//! A signal handler may end the process while other threads still run. Their half-written files,
//! and directories without content, are registered here while they exist.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Removal = Box<dyn FnOnce() + Send>;

pub(crate) struct Register {
    next: u64,
    removals: BTreeMap<u64, Removal>,
}

static REGISTER: Mutex<Register> = Mutex::new(Register { next: 0, removals: BTreeMap::new() });

fn register() -> MutexGuard<'static, Register> {
    REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A registered item that [`abandon`] removes, until this is dropped.
#[derive(Debug)]
pub(crate) struct Entered(u64);

impl Entered {
    /// Makes something and registers what removes it, which must not wait for anything. Nothing is abandoned in
    /// between: it would stay.
    pub(crate) fn made<T, E, R: FnOnce() + Send + 'static>(
        make: impl FnOnce() -> Result<(T, R), E>,
    ) -> Result<(T, Self), E> {
        let mut register = register();
        let (something, removal) = make()?;
        Ok((something, Self::enter(&mut register, Box::new(removal))))
    }

    fn enter(register: &mut Register, removal: Removal) -> Self {
        let number = register.next;
        register.next += 1;
        register.removals.insert(number, removal);
        Self(number)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // dropped after the lock is free, because it may hold one of our files
        let removal = register().removals.remove(&self.0);
        drop(removal);
    }
}

/// While this is held nothing is abandoned. Files get their names during that time.
pub(crate) fn not_now() -> MutexGuard<'static, Register> {
    register()
}

/// Removes all half-written files, and all directories without content. For a process that exits at
/// once: any other thread that writes a file waits from now on.
pub fn abandon() {
    let mut register = register();
    // files before their directories
    while let Some((_, removal)) = register.removals.pop_last() {
        removal();
    }
    std::mem::forget(register);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn nothing_is_abandoned_between_making_something_and_entering_it() {
        let begun = AtomicBool::new(false);
        let is_made = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let maker = scope.spawn(|| {
                Entered::made(|| {
                    begun.store(true, Ordering::SeqCst);
                    std::thread::park_timeout(std::time::Duration::from_millis(50));
                    is_made.store(true, Ordering::SeqCst);
                    Ok::<_, ()>(((), || {}))
                })
            });
            while !begun.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            // as a handler of signals does
            let held = not_now();
            assert!(is_made.load(Ordering::SeqCst));
            drop(held);
            assert!(maker.join().unwrap().is_ok());
        });
    }
}
