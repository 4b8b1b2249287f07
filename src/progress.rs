//! A progress bar, on a terminal only.

use std::ops::ControlFlow;

use foretell_sim::Progress;
use indicatif::{ProgressBar, ProgressStyle};

use crate::interrupt;

/// Watches a run: moves the bar, and stops the run when the user asks for it.
pub(crate) struct Watch {
    bar: ProgressBar,
}

impl Watch {
    /// A bar on standard error, if that is a terminal.
    pub(crate) fn new() -> Self {
        interrupt::watch();
        let style = ProgressStyle::with_template(
            "{bar:30} {percent:>3} %  {msg}  elapsed {elapsed}, left {eta}",
        );
        let bar = ProgressBar::new(1000).with_style(style.expect("the template is right"));
        Self { bar }
    }

    /// Called by the run now and then.
    pub(crate) fn look(&self, progress: Progress) -> ControlFlow<()> {
        if let Some(end) = progress.end {
            let share = progress.now.as_ns() as f64 / end.as_ns().max(1) as f64;
            self.bar.set_position((share * 1000.0) as u64);
        }
        self.bar.set_message(format!(
            "{:.1} s simulated, {} requests",
            progress.now.as_secs_f64(),
            progress.requests
        ));
        if interrupt::asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
