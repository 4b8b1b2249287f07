//! The part of a scenario that an operator knows: everything that does not need a simulation.

use crate::document::Document;
use crate::error::ScenarioErrors;
use crate::model::{Arrivals, Storage, WorkloadKind};

impl Document {
    /// The scenario as an operator of the cluster would write it down, as TOML: hosts, links,
    /// caches, encodings, placements, the number of requests that clients keep outstanding. It has
    /// neither the seed, nor the mechanics of disks, nor the requests of workloads: those are
    /// measured and recorded.
    ///
    /// It can be changed and checked like any scenario, but not simulated. Errors as in [`Document::check`].
    pub fn known_to_operator(&self) -> Result<String, ScenarioErrors> {
        let scenario = self.check()?;
        let mut known = Self::parse("the run's configuration", &self.resolved()?, "")?;
        known.set("seed", "")?;
        known.set("payload", "")?;
        known.set("warmup", &scenario.warmup.to_string())?;
        for workload in &scenario.workloads {
            if workload.kind != WorkloadKind::Recorded {
                let of_it = |key: &str| format!("workload.{}.{key}", workload.name);
                known.set(&of_it("kind"), "recorded")?;
                if let Arrivals::Times { .. } = workload.arrivals {
                    known.set(&of_it("arrivals"), "trace")?;
                }
                if let Arrivals::Closed { outstanding, .. } = workload.arrivals {
                    // a kind may have another name for it
                    known.set(&of_it("outstanding"), &outstanding.to_string())?;
                }
                if workload.requests.is_none() && ends_by_itself(&workload.kind) {
                    // the records show when
                    known.set(&of_it("requests"), &i64::MAX.to_string())?;
                }
            }
        }
        // all devices of the document, including unused ones
        for name in known.section_names("device") {
            let path = format!("device.\"{name}\"");
            let disks = scenario.hosts.iter().filter_map(|host| host.role.storage());
            let mut disks = disks.flat_map(Storage::devices);
            let value = match disks.find(|disk| disk.device_name == name) {
                Some(disk) => format!(
                    "{{ kind = \"measured\", source = \"measured when it was installed\", capacity \
                     = \"{} B\" }}",
                    disk.device.capacity().get()
                ),
                None => "none".to_owned(),
            };
            known.set(&path, &value)?;
        }
        let text = known.resolved()?;
        // the default replaces the run's own seed
        let lines = text.lines().filter(|line| !line.starts_with("seed "));
        Ok(lines.fold(String::new(), |text, line| text + line + "\n"))
    }

    /// The names of a section's entries, as written.
    fn section_names(&self, section: &str) -> Vec<String> {
        let table = self.tree.get(section).and_then(crate::tree::Node::table);
        table.into_iter().flat_map(|table| &table.entries).map(|entry| entry.key.clone()).collect()
    }
}

/// Whether a workload ends without a given number of requests.
fn ends_by_itself(kind: &WorkloadKind) -> bool {
    match kind {
        WorkloadKind::Trace { .. }
        | WorkloadKind::Postmark { .. }
        | WorkloadKind::Iozone { .. }
        | WorkloadKind::Fio { .. }
        | WorkloadKind::Cosbench { .. } => true,
        WorkloadKind::Oltp { transactions: last, .. }
        | WorkloadKind::Ffsb { operations: last, .. } => last.is_some(),
        WorkloadKind::Ssio { .. } | WorkloadKind::Recorded => false,
    }
}
