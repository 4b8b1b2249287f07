//! Ctrl-C ends a command in order, so that nothing half-written is left; the second one ends it at once.
//! So does the first where the command does not look.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status of a command that was interrupted, as shells have it.
pub(crate) const STATUS: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);
static WATCHING: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C, and a request to terminate, end the command: at once until it [watches](watch).
pub(crate) fn install() {
    let handler = || {
        if !WATCHING.load(Ordering::Relaxed) || ASKED.swap(true, Ordering::Relaxed) {
            foretell_files::abandon();
            std::process::exit(i32::from(STATUS));
        }
    };
    // where the system has no signals a run cannot be interrupted in order; it still runs
    let _ = ctrlc::set_handler(handler);
}

/// From now on the command looks whether the user wants an end, and ends in order.
pub(crate) fn watch() {
    WATCHING.store(true, Ordering::Relaxed);
}

/// Whether the user wants an end.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Lets a run go on until the user wants an end.
pub(crate) fn unless_asked<T>(_: T) -> ControlFlow<()> {
    if asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
