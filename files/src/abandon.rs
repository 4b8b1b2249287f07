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
    /// Registers an item; `removal` removes it. It must not wait for anything.
    pub(crate) fn new(removal: impl FnOnce() + Send + 'static) -> Self {
        let mut register = register();
        let number = register.next;
        register.next += 1;
        register.removals.insert(number, Box::new(removal));
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
