//! Ctrl-C ends a command in order, so that nothing half-written is left. A second Ctrl-C ends it at
//! once; so does the first one if the command does not check for it. A command that checks may be in the middle of
//! something long: it gets a moment.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The exit status of an interrupted command, as in shells.
pub(crate) const STATUS: u8 = 130;

/// Time in which a command that checks for an interruption may end in order.
const MOMENT: Duration = Duration::from_secs(1);

static ASKED: AtomicBool = AtomicBool::new(false);
static WATCHING: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C, and a request to terminate, end the command. It ends at once until the command
/// [watches](watch).
pub(crate) fn install() {
    // on a system without signals a run cannot be interrupted in order, but it still runs
    let _ = ctrlc::set_handler(ask);
}

/// What Ctrl-C does.
fn ask() {
    if !WATCHING.load(Ordering::Relaxed) || ASKED.swap(true, Ordering::Relaxed) {
        end();
    }
    std::thread::spawn(|| {
        #[expect(clippy::disallowed_methods, reason = "people wait, not the simulation")]
        std::thread::sleep(MOMENT);
        end();
    });
}

/// Does what Ctrl-C does when standard input ends. The process that gave us a pipe as standard input need not live to say
/// so, and this works on every system.
pub(crate) fn end_with_parent() {
    std::thread::spawn(|| {
        // what comes in means nothing, and an error is an end, too
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        // a Ctrl-C that ended the parent has reached this process, too: it is not a second one
        if !asked() {
            ask();
        }
    });
}

/// Ends the process at once.
fn end() -> ! {
    foretell_files::abandon();
    std::process::exit(i32::from(STATUS));
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
