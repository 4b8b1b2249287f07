//! What is removed when the process ends before its time.
//!
//! A handler of signals may end the process while other threads still run. What they have half
//! written, and directories that nothing has come into, are entered here while they are there.

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

/// Something that is removed by [`abandon`], until this is dropped.
#[derive(Debug)]
pub(crate) struct Entered(u64);

impl Entered {
    /// Enters what `removal` removes. It must not wait for anything.
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
        // dropped after the lock is free: it may hold a file of ours
        let removal = register().removals.remove(&self.0);
        drop(removal);
    }
}

/// While this is held nothing is abandoned: files get their names in between.
pub(crate) fn not_now() -> MutexGuard<'static, Register> {
    register()
}

/// Removes everything that is half-written, and directories that nothing came into. For a process
/// that exits at once: whoever else writes a file waits from now on.
pub fn abandon() {
    let mut register = register();
    // files before the directories that they are in
    while let Some((_, removal)) = register.removals.pop_last() {
        removal();
    }
    std::mem::forget(register);
}
