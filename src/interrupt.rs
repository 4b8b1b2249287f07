//! Ctrl-C ends a run in order, so that nothing half-written is left; the second one ends it at once.

use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static WATCHING: OnceLock<()> = OnceLock::new();

/// Begins to watch for Ctrl-C and for a request to terminate.
pub(crate) fn watch() {
    WATCHING.get_or_init(|| {
        let handler = || {
            if ASKED.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        };
        // where the system has no signals a run cannot be interrupted in order; it still runs
        let _ = ctrlc::set_handler(handler);
    });
}

/// Whether the user wants an end.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Lets a run go on until the user wants an end.
pub(crate) fn unless_asked<T>(_: T) -> ControlFlow<()> {
    if asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
