//! Which settings a question may change: those that the model includes, and that the records say something
//! about.
//!
//! A change that the model does not include is refused, and the error names it. Otherwise the answer would
//! describe the unchanged cluster but look like an answer about the changed one.

use foretell_scenarios::model::{Arrivals, Host, Scenario, Switch, Workload, WorkloadKind};
use foretell_scenarios::{Change, workload_kinds_with};

use crate::error::WhatIfError;
use crate::load;
use crate::observed::Observed;

const OTHER_SYSTEM: &str = "the records of one storage system do not predict another; simulate the changed \
                            scenario instead";

const OTHER_TIMES: &str =
    "the records do not have the times of another trace; simulate the changed scenario instead";

/// Returns an error if the records say nothing about the changed setting.
///
/// `before`: the changes that precede this change in the question.
pub(crate) fn by_its_path(
    change: &Change,
    before: &[Change],
    seen: &Observed,
) -> Result<(), WhatIfError> {
    let recorded = &seen.scenario;
    let steps = change.path.split(['.', '[', ']']);
    let steps: Vec<&str> = steps.map(|step| step.trim_matches(['"', '\'', ' '])).collect();
    let section = steps.first().copied().unwrap_or_default();
    let reason = match (section, steps.get(1).copied()) {
        ("workload", Some(name))
            if is_drawn(recorded, name, steps.get(2).copied())
                && !is_described(before, name)
                && !is_number_of_threads(seen, name, steps.get(2).copied()) =>
        {
            "the records contain the requests, but not how the workload chose them; describe the whole \
             workload, `workload.NAME={ volume = ..., client = ..., kind = ..., ... }`, or simulate the \
             changed scenario"
        }
        ("device", Some(name)) if seen.measured.contains_key(name) => {
            "the records contain its measurements, but not its construction; describe a whole device under \
             another name, `device.new={ kind = ..., ... }`, and use it, `node.NAME.disk.0.device=new`"
        }
        ("seed", _) => "a prediction uses the recorded requests; run the scenario with it instead",
        ("record" | "payload", _) => {
            "it changes what is recorded or checked, and answers do not contain that; run the scenario with it instead"
        }
        ("warmup" | "duration" | "intervals", _) => {
            "a prediction covers the recorded time; run the scenario with it instead"
        }
        ("tracking", Some("metrics" | "clock_skew" | "sample_delay")) => {
            "metrics take no time in the cluster, and answers do not contain them; run the scenario with \
             it instead"
        }
        ("workload", _)
            if steps.get(2) == Some(&"times")
                || steps.get(2) == Some(&"arrivals") && change.value.trim() == "times" =>
        {
            OTHER_TIMES
        }
        ("cluster", None | Some("system"))
            if change.value.contains(|letter: char| letter.is_alphanumeric())
                && !change.value.contains(recorded.system.name())
                && change.value.trim() != "none" =>
        {
            OTHER_SYSTEM
        }
        // the scenario's own checks find unknown sections
        _ => return Ok(()),
    };
    Err(refused(change.to_string(), reason))
}

/// Whether a key describes how a workload draws its requests. A recorded workload has no such key, because
/// its requests are known.
fn is_drawn(recorded: &Scenario, workload: &str, key: Option<&str>) -> bool {
    let mut workloads = recorded.workloads.iter();
    let kinds = key.map_or_else(Vec::new, workload_kinds_with);
    workloads.any(|known| known.name == workload)
        && !kinds.is_empty()
        && !kinds.contains(&WorkloadKind::Recorded.name())
}

/// Whether a key is the number of threads of a workload. The records show how many requests were outstanding.
fn is_number_of_threads(seen: &Observed, workload: &str, key: Option<&str>) -> bool {
    let place = seen.scenario.workloads.iter().position(|known| known.name == workload);
    let kind = place.and_then(|place| seen.kinds[place].as_deref());
    key == Some("threads")
        && kind.is_some_and(|kind| workload_kinds_with("threads").contains(&kind))
}

/// Whether a change gives a workload another kind.
fn is_described(changes: &[Change], workload: &str) -> bool {
    let whole = format!("workload.{workload}");
    changes.iter().any(|change| change.path == whole || change.path == format!("{whole}.kind"))
}

/// Returns an error if the changed cluster differs from the recorded one in something that the model does not
/// follow.
pub(crate) fn by_what_differs(seen: &Observed, after: &Scenario) -> Result<(), WhatIfError> {
    let before = &seen.scenario;
    if std::mem::discriminant(&after.system) != std::mem::discriminant(&before.system) {
        return Err(refused(format!("cluster.system={}", after.system.name()), OTHER_SYSTEM));
    }
    for host in &after.hosts {
        let Some(old) = before.hosts.iter().find(|old| old.name == host.name) else { continue };
        processors(after, old, host)?;
    }
    switches(&before.switch, &after.switch)?;
    for workload in &after.workloads {
        arrivals(workload)?;
        addresses(seen, after, workload)?;
    }
    Ok(())
}

fn refused(change: String, reason: impl Into<String>) -> WhatIfError {
    WhatIfError::Refused { change, reason: reason.into() }
}

/// Compares the processor's settings if old and new processor have the same profile. Another profile means
/// another processor.
fn processors(after: &Scenario, old: &Host, new: &Host) -> Result<(), WhatIfError> {
    if old.cpu.name != new.cpu.name {
        return Ok(());
    }
    let kind = if new.role.storage().is_some() { "node" } else { "client" };
    let of_it = |key: &str| format!("{kind}.{}.cpu.{key}", new.group);
    if old.cpu.quantum != new.cpu.quantum {
        let reason = "the model does not interrupt long tasks for others";
        return Err(refused(of_it("quantum"), reason));
    }
    let relays = after.system.traits().relays();
    let relays = relays.iter().any(|relay| after.host(*relay).name == new.name);
    if new.role.storage().is_none() && !relays && old.cpu.copy != new.cpu.copy {
        let reason = "the records do not say what file servers on clients copy";
        let is_fixed = old.cpu.copy.fixed != new.cpu.copy.fixed;
        return Err(refused(of_it(if is_fixed { "copy.fixed" } else { "copy.rate" }), reason));
    }
    Ok(())
}

/// Checks how the switch behaves when a port is full.
fn switches(old: &Switch, new: &Switch) -> Result<(), WhatIfError> {
    if old.model != new.model {
        return Ok(());
    }
    let differs = [
        ("shared_buffer", old.shared_buffer != new.shared_buffer),
        (
            "shared_buffer_alpha",
            old.shared_buffer_alpha.to_bits() != new.shared_buffer_alpha.to_bits(),
        ),
        ("retransmit_timeout", old.retransmit_timeout != new.retransmit_timeout),
        ("loss_probes", old.loss_probes != new.loss_probes),
    ];
    match differs.into_iter().find(|(_, differs)| *differs) {
        None => Ok(()),
        Some((name @ ("shared_buffer" | "shared_buffer_alpha"), _)) => Err(refused(
            format!("switch.{name}"),
            "in the model, each port has its own buffer; ports do not share one",
        )),
        Some((name, _)) => Err(refused(
            format!("switch.{name}"),
            "the model leaves out how senders react to losses: in it, a sender waits while a port is full",
        )),
    }
}

/// Checks when a workload issues requests: recorded times can be stretched, and arrivals with a law can be drawn.
fn arrivals(workload: &Workload) -> Result<(), WhatIfError> {
    if let Arrivals::Times { .. } = workload.arrivals {
        return Err(refused(format!("workload.{}.times", workload.name), OTHER_TIMES));
    }
    Ok(())
}

/// Checks the volume's size. Only for some kinds of workloads is it known which addresses they would request
/// on a volume of another size.
fn addresses(seen: &Observed, after: &Scenario, workload: &Workload) -> Result<(), WhatIfError> {
    let before = &seen.scenario;
    let Some(old) = recorded_as(before, workload) else { return Ok(()) };
    let (was, is) = (before.volume(old.volume), after.volume(workload.volume));
    let place = before.workloads.iter().position(|known| known.name == old.name);
    let kind = place.and_then(|place| seen.kinds[place].as_deref());
    if was.size == is.size || load::can_grow(kind) {
        return Ok(());
    }
    let reason = format!(
        "the requests of workload `{}` were recorded on a volume of {}, and records do not say where \
         they would go on one of {}",
        workload.name, was.size, is.size
    );
    let change = if was.name == is.name {
        format!("volume.{}.size", is.name)
    } else {
        format!("workload.{}.volume={}", workload.name, is.name)
    };
    Err(refused(change, reason))
}

/// The recorded settings of a workload that is predicted from its records.
fn recorded_as<'a>(before: &'a Scenario, workload: &Workload) -> Option<&'a Workload> {
    let mut recorded = before.workloads.iter();
    recorded.find(|old| old.name == workload.name && workload.kind == WorkloadKind::Recorded)
}
