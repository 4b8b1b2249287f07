//! `foretell replay-cache`: hit rates of simulated caches on a real trace.

mod text;

use std::ops::ControlFlow;

use foretell_algorithms::cache::PolicyKind;
use foretell_core::replay_cache::{CacheProgress, CacheReplay, Objects};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::{PolicyChoice, ReplayCacheArguments};
use crate::failure::Failure;
use crate::interrupt;

/// Runs the command.
pub(crate) fn replay_cache(arguments: &ReplayCacheArguments) -> Result<(), Failure> {
    if arguments.by_size && arguments.sizes.is_empty() {
        let fault = "`--by-size` needs `--size`, such as `--size 1GiB`: the curve of all sizes needs \
                     objects of one size";
        return Err(Failure::Usage(fault.to_owned()));
    }
    interrupt::watch();
    let bar = bar();
    let look = |progress: CacheProgress| -> ControlFlow<()> {
        if let Some(length) = progress.of_bytes {
            bar.set_length(length);
        }
        bar.set_position(progress.read_bytes);
        bar.set_message(format!("{} requests", progress.requests));
        interrupt::unless_asked(progress)
    };
    let report = foretell_core::replay_cache(&replay(arguments), look);
    bar.finish_and_clear();
    let report = report?;
    let text = if arguments.json { crate::output::json(&report) } else { text::of(&report) };
    crate::output::print(&text)
}

/// The replay that the arguments ask for.
fn replay(arguments: &ReplayCacheArguments) -> CacheReplay {
    let policies = arguments.policies.iter().flat_map(|choice| match choice {
        PolicyChoice::All => PolicyKind::ALL.to_vec(),
        PolicyChoice::One(kind) => vec![*kind],
    });
    CacheReplay {
        trace: arguments.trace.clone(),
        policies: policies.collect(),
        sizes: arguments.sizes.clone(),
        objects: match arguments.pages {
            Some(page) => Objects::Pages(page),
            None if arguments.by_size => Objects::BySize,
            None => Objects::Addresses,
        },
        curve: arguments.curve,
        sample: arguments.sample,
        format: arguments.format,
        block: arguments.reading.block,
        device: arguments.reading.device.clone(),
        blkparse_action: arguments.reading.blkparse_action,
        skip_bad: arguments.reading.skip_bad,
        threads: arguments.jobs,
    }
}

/// The bar; it is shown on a terminal only.
fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template(
        "{bar:30} {percent:>3} %  {binary_bytes} read, {msg}  elapsed {elapsed}, left {eta}",
    );
    ProgressBar::no_length().with_style(style.expect("the template is right"))
}
