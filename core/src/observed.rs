//! A run as Inside-Out sees it: the metrics that the storage hosts' collectors posted, and what clients saw.

use foretell_ati::{Facts, HostKind, RunDb};
use foretell_metrics::{Collected, Observed};

use crate::error::Error;

/// The prefix of a host's features, by the role of the host. Clients have no prefix.
pub fn prefix(kind: HostKind) -> Option<&'static str> {
    match kind {
        HostKind::Node => Some("osd"),
        HostKind::Monitor => Some("mon"),
        HostKind::Client => None,
    }
}

/// The metrics that collectors posted in a run. The run must have collectors.
pub fn collected(run: &RunDb) -> Result<Collected, Error> {
    let collected = run.metrics().map_err(Error::NotARun)?;
    if collected.hosts.is_empty() {
        return Err(Error::Invalid(format!(
            "`{}` holds no metrics; run it with `--set tracking.metrics=true`",
            run.path().display()
        )));
    }
    Ok(collected)
}

/// The storage hosts and clients of a run.
pub fn of_run(collected: &Collected, facts: &Facts) -> Observed {
    let kinds: Vec<(Option<&str>, &str)> =
        facts.hosts.iter().map(|host| (prefix(host.kind), host.name.as_str())).collect();
    Observed::of_run(collected, &kinds, &[])
}
