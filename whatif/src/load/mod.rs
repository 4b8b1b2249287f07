//! Predicts a changed load of a recorded workload: another share of reads, other sizes, other addresses.
//!
//! The records contain the requests, not the process that generated them. So a changed load is made from the
//! recorded one. How this is done depends on the kind of workload, according to its documentation:
//!
//! - `ssio` follows one of a few laws. The law and its parameters are estimated from the recorded addresses
//!   ([`law`]). The change is applied to the law, and requests are drawn from it with a seed that no run
//!   uses. If only the share of reads changes, recorded requests keep their addresses, and some of them
//!   change direction.
//! - A trace has no law. Its requests keep their times. [`again`] draws their directions, or gives them
//!   another size at the same addresses.
//! - `postmark`, `oltp`, `iozone`, `ffsb` and traces keep their addresses when their volume grows, because
//!   their files do not grow.
//!
//! Left out: users who read less may issue requests more often. Here, the times and the number of outstanding
//! requests stay as recorded, unless the question changes them.

mod again;
mod law;

use foretell_scenarios::model::{Arrivals, Scenario, Think, WorkloadKind};
use foretell_scenarios::{Change, Document};
use foretell_units::{Bytes, SimSpan};

use crate::error::WhatIfError;
use crate::observed::{Observed, Recorded, Streams};
use crate::question::{Described, OperatorKnowledge};
use law::Law;

/// The name of the option for changes, for error messages.
pub(crate) const OPTION: &str = "--what-if";

/// Keys that describe the requests of a workload and that a question may change, by kind of workload.
const KEYS: [(&str, &[&str]); 2] = [
    (
        "ssio",
        &[
            "reads",
            "access",
            "pattern",
            "alpha",
            "step",
            "hot_fraction",
            "hot_share",
            "working_set",
        ],
    ),
    ("trace", &["reads", "access"]),
];

/// Kinds whose requests keep their addresses when their volume grows.
const STAY: [&str; 5] = ["trace", "postmark", "oltp", "iozone", "ffsb"];

/// The number of the recorded workload whose load a change affects. `None` if it affects something else.
///
/// `all`: the changes of the question. If one of them describes a workload, that workload has no recorded
/// load.
pub(crate) fn of_change(seen: &Observed, change: &Change, all: &[Change]) -> Option<usize> {
    let steps: Vec<&str> = change.path.split('.').map(plain).collect();
    let ["workload", name, key] = steps[..] else { return None };
    let described = |change: &Change| {
        let mut steps = change.path.split('.').map(plain);
        steps.next() == Some("workload")
            && steps.next() == Some(name)
            && steps.next().is_none_or(|key| key == "kind")
    };
    let workload = seen.scenario.workloads.iter().position(|known| known.name == name)?;
    let kind = seen.kinds[workload].as_deref()?;
    let is_key = KEYS.iter().any(|(known, keys)| *known == kind && keys.contains(&key));
    (is_key && !all.iter().any(described)).then_some(workload)
}

fn plain(step: &str) -> &str {
    step.trim_matches([' ', '"', '\''])
}

/// The key of a workload that a change sets.
fn key_of(change: &Change) -> Option<&str> {
    change.path.split('.').map(plain).nth(2)
}

/// Whether a question may change the size of the volume of a workload of this kind.
pub(crate) fn can_grow(kind: Option<&str>) -> bool {
    kind.is_some_and(|kind| kind == "ssio" || STAY.contains(&kind))
}

/// The requests of a changed load, and the assumptions about them.
pub(crate) struct Load {
    pub(crate) requests: Streams,
    pub(crate) assumed: String,
}

/// A changed load. Its workload has number `recorded` in the run, and number `workload` in the changed
/// cluster.
pub(crate) struct Asked<'a> {
    pub(crate) recorded: usize,
    pub(crate) workload: usize,
    /// The changes that affect its load.
    pub(crate) changes: Vec<&'a Change>,
    /// The changed cluster.
    pub(crate) document: &'a Document,
    pub(crate) scenario: &'a Scenario,
}

impl Asked<'_> {
    /// The changed requests; `None` if they are the recorded ones.
    pub(crate) fn load(
        &self,
        seen: &Observed,
        parts: &mut dyn OperatorKnowledge,
    ) -> Result<Option<Load>, WhatIfError> {
        let known = &seen.requests[self.recorded];
        let workload = &self.scenario.workloads[self.workload];
        let before = seen.scenario.volume(seen.scenario.workloads[self.recorded].volume).size;
        let volume = self.scenario.volume(workload.volume).size;
        let (name, kind) = (&workload.name, seen.kinds[self.recorded].as_deref());
        if self.changes.is_empty() && before == volume {
            return Ok(None);
        }
        match kind {
            Some("ssio") => self.by_law(known, before, volume, parts).map(Some),
            Some(kind) if STAY.contains(&kind) => {
                let end = known.of_clients.iter().flat_map(|all| all.iter()).map(Recorded::end);
                if end.max().unwrap_or(0) > volume.get() {
                    let reason =
                        format!("workload `{name}` has requested addresses beyond {volume}");
                    return Err(self.refused(reason));
                }
                let mut load = if self.changes.is_empty() {
                    Load { requests: known.clone(), assumed: String::new() }
                } else {
                    self.again(known, volume)?
                };
                if before != volume {
                    let stay = format!(
                        "workload `{name}` requests the recorded addresses, on a volume of {volume}"
                    );
                    let others = std::mem::take(&mut load.assumed);
                    load.assumed =
                        if others.is_empty() { stay } else { format!("{others}; {stay}") };
                }
                Ok(Some(load))
            }
            _ => Ok(None),
        }
    }

    fn refused(&self, reason: String) -> WhatIfError {
        let of_volume = || {
            let volume = self.scenario.workloads[self.workload].volume;
            format!("volume.{}.size", self.scenario.volume(volume).name)
        };
        let change = self.changes.first().map_or_else(of_volume, ToString::to_string);
        WhatIfError::Refused { change, reason }
    }

    /// The settings of `ssio` after the question's changes to `settings`.
    fn changed(&self, settings: &str) -> Result<WorkloadKind, WhatIfError> {
        let workload = &self.scenario.workloads[self.workload];
        let volume = &self.scenario.volume(workload.volume).name;
        let client = |id| format!("{:?}", self.scenario.host(id).name);
        let clients: Vec<String> = workload.clients.iter().map(|id| client(*id)).collect();
        let mut document = self.document.clone();
        let described = format!(
            "{{ volume = {volume:?}, client = [{}], kind = \"ssio\", requests = 1, {settings} }}",
            clients.join(", ")
        );
        document.set(&format!("workload.\"{}\"", workload.name), &described)?;
        // recorded keys that a change makes meaningless are removed
        let mut document = Document::parse("the recorded load", &document.resolved()?, "")?
            .confined_as(self.document);
        for change in &self.changes {
            document.apply(OPTION, change)?;
        }
        let checked = document.check()?;
        let mut found = checked.workloads.into_iter();
        let found = found.find(|found| found.name == workload.name);
        Ok(found.expect("it was described").kind)
    }

    /// Draws requests by the changed law of the recorded ones.
    fn by_law(
        &self,
        known: &Streams,
        before: Bytes,
        volume: Bytes,
        parts: &mut dyn OperatorKnowledge,
    ) -> Result<Load, WhatIfError> {
        let name = &self.scenario.workloads[self.workload].name;
        let law = Law::of(&known.of_clients, before).map_err(|why| {
            self.refused(format!(
                "{why}; describe the workload again, `workload.{name}={{ ... }}`, or simulate the changed \
                 scenario"
            ))
        })?;
        let as_recorded = self.settings(&law, before, volume)?;
        let kind = self.changed(&law.settings(before, volume))?;
        let WorkloadKind::Ssio { read_share, .. } = kind else { unreachable!("it is ssio") };
        let shown = format!("{law}, as {} requests show", law.requests);
        if before == volume && is_alike(&kind, &as_recorded) {
            let assumed = format!(
                "workload `{name}` ({shown}) keeps its recorded addresses and times; which of its requests \
                 are reads, now {:.1} %, is drawn at random",
                100.0 * read_share
            );
            return Ok(Load {
                requests: again::flipped(known, name, law.reads, read_share),
                assumed,
            });
        }
        let mut scenario = self.scenario.clone();
        let workload = &mut scenario.workloads[self.workload];
        workload.kind = kind;
        workload.requests = None;
        workload.arrivals = Arrivals::Closed { outstanding: 1, think: Think::Fixed(SimSpan::ZERO) };
        let drawn = parts.requests(&scenario, self.workload).map_err(|why| self.refused(why))?;
        let drawn: Vec<Vec<Described>> = drawn.into_iter().map(|client| client.requests).collect();
        let open =
            !matches!(self.scenario.workloads[self.workload].arrivals, Arrivals::Closed { .. });
        let requests = again::drawn(known, &drawn, open);
        let asked = |key: &str| self.changes.iter().any(|change| key_of(change) == Some(key));
        let grown = match (before == volume || asked("working_set"), law.whole) {
            (true, _) => String::new(),
            (false, true) => "; it uses all of the volume as before".to_owned(),
            (false, false) => format!(
                "; it uses the same share of the volume as before (if it does not, set \
                 `workload.{name}.working_set`, too)"
            ),
        };
        let assumed = format!(
            "workload `{name}` ({shown}) has other requests, drawn from the changed law{grown}; their \
             times are as recorded or as requested"
        );
        Ok(Load { requests, assumed })
    }

    /// The recorded law on the changed volume, as scenario settings.
    fn settings(
        &self,
        law: &Law,
        before: Bytes,
        volume: Bytes,
    ) -> Result<WorkloadKind, WhatIfError> {
        let unchanged = Asked { changes: Vec::new(), ..*self };
        unchanged.changed(&law.settings(before, volume))
    }

    /// The requests of a trace with other directions or sizes.
    fn again(&self, known: &Streams, volume: Bytes) -> Result<Load, WhatIfError> {
        let name = &self.scenario.workloads[self.workload].name;
        // given values are checked as settings of `ssio`
        let kind = self.changed("reads = 0.5, access = \"512 B\"")?;
        let WorkloadKind::Ssio { read_share, access, .. } = kind else {
            unreachable!("it is ssio")
        };
        let asks_for = |key: &str| self.changes.iter().any(|change| key_of(change) == Some(key));
        let (mut requests, mut assumed) = (known.clone(), Vec::new());
        if asks_for("access") {
            requests = again::of_size(&requests, access, volume);
            assumed.push(format!(
                "have {access} and begin at the multiple of it at or below the recorded address"
            ));
        }
        if asks_for("reads") {
            requests = again::drawn_directions(&requests, name, read_share);
            let share = 100.0 * read_share;
            assumed.push(format!("are reads with a probability of {share:.1} %, at any address"));
        }
        let assumed = format!(
            "requests of workload `{name}` keep their recorded times, {}",
            assumed.join(", and ")
        );
        Ok(Load { requests, assumed })
    }
}

/// Whether two loads of `ssio` differ in no more than their share of reads.
fn is_alike(one: &WorkloadKind, other: &WorkloadKind) -> bool {
    let places = |kind: &WorkloadKind| match kind {
        WorkloadKind::Ssio { pattern, access, working_set, .. } => {
            Some((*pattern, *access, *working_set))
        }
        _ => None,
    };
    places(one) == places(other)
}

#[cfg(test)]
mod tests {
    use foretell_scenarios::model::Pattern;

    use super::*;

    #[test]
    fn loads_differ_in_places_or_in_reads() {
        let load = |read_share, access| WorkloadKind::Ssio {
            read_share,
            pattern: Pattern::Random,
            access: Bytes(access),
            working_set: Bytes::gib(1),
        };
        assert!(is_alike(&load(0.5, 4096), &load(0.9, 4096)));
        assert!(!is_alike(&load(0.5, 4096), &load(0.5, 8192)));
    }
}
