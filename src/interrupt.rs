//! Ctrl-C ends a command in order, so that nothing half-written is left. A second Ctrl-C ends it at
//! once; so does the first one if the command does not check for it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status of an interrupted command, as in shells.
pub(crate) const STATUS: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);
static WATCHING: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C, and a request to terminate, end the command. It ends at once until the command
/// [watches](watch).
pub(crate) fn install() {
    let handler = || {
        if !WATCHING.load(Ordering::Relaxed) || ASKED.swap(true, Ordering::Relaxed) {
            foretell_files::abandon();
            std::process::exit(i32::from(STATUS));
        }
    };
    // on a system without signals a run cannot be interrupted in order, but it still runs
    let _ = ctrlc::set_handler(handler);
}

/// From now on the command itself checks for an interruption, and ends in order.
pub(crate) fn watch() {
    WATCHING.store(true, Ordering::Relaxed);
}

/// Whether the user asked to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Lets a run continue until the user asks to stop.
pub(crate) fn unless_asked<T>(_: T) -> ControlFlow<()> {
    if asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
