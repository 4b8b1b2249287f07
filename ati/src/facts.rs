//! The facts of a run: an operator's knowledge that does not come from the records.
//!
//! A self-predicting system knows its own configuration (Thereska et al. 2006, section III): its hosts,
//! the encoding and placement of data, cache sizes and policies, and the measurements made when a disk
//! or processor was installed. Facts never include seeds, the truth, or disk mechanics.

use std::collections::BTreeSet;

use foretell_units::{Bytes, HostId, SimSpan, VolumeId, WorkloadId};

use crate::StoreError;

/// All facts of a run, as stored.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    /// All hosts, in the order of their numbers.
    pub hosts: Vec<Host>,
    /// All volumes.
    pub volumes: Vec<Volume>,
    /// All workloads.
    pub workloads: Vec<Workload>,
    /// All processes.
    pub processes: Vec<Process>,
    /// All other facts, by path.
    pub settings: Vec<Fact>,
}

impl Facts {
    /// Adds the fact at `path`, such as `node.brick0.cache.size`, in `unit` (`"bytes"`, `"ns"`, `""` for
    /// none). A path may be set only once.
    pub fn set(&mut self, path: impl Into<String>, value: impl Into<FactValue>, unit: &str) {
        let (path, value, unit) = (path.into(), value.into(), unit.to_owned());
        self.settings.push(Fact { path, value, unit });
    }

    /// The fact at `path`, if there is one.
    pub fn get(&self, path: &str) -> Option<&Fact> {
        self.settings.iter().find(|fact| fact.path == path)
    }

    /// The facts below `path`: for `node.brick0`, `node.brick0.cache.size` and others.
    pub fn below<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Fact> {
        self.settings.iter().filter(move |fact| {
            fact.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'))
        })
    }

    /// Whether a process is the storage server of a node. A message that it sends to another node goes over the
    /// second adapters if both nodes have one. An answer to a client on a node does not, but records cannot tell the
    /// two apart.
    pub fn is_server(&self, process: u32) -> bool {
        self.processes.iter().any(|known| known.process == process && known.name == "server")
    }

    /// Names and paths must be unique.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        unique("fact", self.settings.iter().map(|fact| fact.path.as_str()))?;
        unique("host", self.hosts.iter().map(|host| host.name.as_str()))?;
        unique("volume", self.volumes.iter().map(|volume| volume.name.as_str()))?;
        unique("workload", self.workloads.iter().map(|workload| workload.name.as_str()))
    }

    /// The integer at `path`; errors if there is none.
    pub fn integer(&self, path: &str) -> Result<i64, StoreError> {
        match self.get(path).map(|fact| &fact.value) {
            Some(FactValue::Integer(value)) => Ok(*value),
            found => Err(bad_fact(path, "an integer", found)),
        }
    }

    /// The number at `path`, an integer or a real; errors if there is none.
    pub fn real(&self, path: &str) -> Result<f64, StoreError> {
        match self.get(path).map(|fact| &fact.value) {
            Some(FactValue::Real(value)) => Ok(*value),
            Some(FactValue::Integer(value)) => Ok(*value as f64),
            found => Err(bad_fact(path, "a number", found)),
        }
    }

    /// The text at `path`; errors if there is none.
    pub fn text(&self, path: &str) -> Result<&str, StoreError> {
        match self.get(path).map(|fact| &fact.value) {
            Some(FactValue::Text(value)) => Ok(value),
            found => Err(bad_fact(path, "a text", found)),
        }
    }
}

/// Errors with the first name that occurs twice.
fn unique<'a>(
    what: &'static str,
    mut names: impl Iterator<Item = &'a str>,
) -> Result<(), StoreError> {
    let mut seen = BTreeSet::new();
    match names.find(|name| !seen.insert(*name)) {
        Some(name) => Err(StoreError::Repeated { what, name: name.to_owned() }),
        None => Ok(()),
    }
}

fn bad_fact(path: &str, wanted: &'static str, found: Option<&FactValue>) -> StoreError {
    let found = match found {
        None => "nothing".to_owned(),
        Some(FactValue::Integer(value)) => format!("the integer {value}"),
        Some(FactValue::Real(value)) => format!("the number {value}"),
        Some(FactValue::Text(value)) => format!("the text `{value}`"),
    };
    StoreError::BadFact { path: path.to_owned(), wanted, found }
}

/// A host of the cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Its number in the records.
    pub host: HostId,
    /// Its name, `brick0`.
    pub name: String,
    /// Its role.
    pub kind: HostKind,
}

/// The role of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostKind {
    /// A storage node.
    Node,
    /// A client machine.
    Client,
    /// A monitor of the cluster.
    Monitor,
}

impl HostKind {
    /// `node`, `client` or `monitor`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Client => "client",
            Self::Monitor => "monitor",
        }
    }

    /// First part of the paths of facts about such a host: scenarios list monitors among the clients.
    pub const fn table(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Client | Self::Monitor => "client",
        }
    }
}

/// A volume and its data distribution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Volume {
    /// Its number; the `file` of the records.
    pub volume: VolumeId,
    /// Its name, `mail`.
    pub name: String,
    /// Bytes that clients can address.
    pub size: Bytes,
    /// `m-of-n`; m = 1 is replication.
    pub encoding: String,
    /// `aes-128-cbc`, or `none`.
    pub cipher: String,
    /// The nodes that hold its fragments, in order of placement.
    pub nodes: Vec<HostId>,
}

/// A workload and the machines that run it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workload {
    /// Its number in the records.
    pub workload: WorkloadId,
    /// Its name, `postmark`.
    pub name: String,
    /// The volume it uses.
    pub volume: VolumeId,
    /// The client machines that run it, one instance each.
    pub clients: Vec<HostId>,
}

/// A kernel-level process, with the same number on each host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number, `pid` in the records.
    pub process: u32,
    /// Its name: `server`, `flusher`, or the name of a workload.
    pub name: String,
}

/// One fact, found by its path.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    /// Its path in the scenario: `node.brick0.cache.size`.
    pub path: String,
    /// Its value.
    pub value: FactValue,
    /// The unit of a number, or empty.
    pub unit: String,
}

/// The value of a fact.
#[derive(Clone, PartialEq, Debug)]
pub enum FactValue {
    /// A count or a size.
    Integer(i64),
    /// A measurement.
    Real(f64),
    /// A name or a choice.
    Text(String),
}

impl From<i64> for FactValue {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<u32> for FactValue {
    fn from(value: u32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f64> for FactValue {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<&str> for FactValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for FactValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// The demand of one workload at one resource of one host: a row of the roll-ups.
///
/// The simulation sums these while it records, so that the most common question needs no scan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Demand {
    /// The workload.
    pub workload: WorkloadId,
    /// The host.
    pub host: HostId,
    /// The resource of the host: `cpu`, `nic_transmit`, `nic_receive`, `disk0`.
    pub resource: String,
    /// Busy time of the resource for the workload.
    pub busy: SimSpan,
    /// Number of operations served for the workload.
    pub operations: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_by_path() {
        let mut facts = Facts::default();
        facts.set("node.brick0.cache.size", 512_i64 << 20, "bytes");
        facts.set("node.brick0.disk.0.seek", 8.5, "ms");
        facts.set("node.brick01.cache.policy", "lru", "");
        assert_eq!(facts.integer("node.brick0.cache.size").unwrap(), 512 << 20);
        assert_eq!(facts.text("node.brick01.cache.policy").unwrap(), "lru");
        // an integer also counts as a number: 536 870 912
        assert!(facts.real("node.brick0.cache.size").unwrap() > 536_870_911.9);
        // `brick01` is not below `brick0`
        assert_eq!(facts.below("node.brick0").count(), 2);
    }

    #[test]
    fn a_missing_fact_is_named() {
        let mut facts = Facts::default();
        facts.set("node.brick0.cache.policy", "lru", "");
        let message = |path| facts.integer(path).unwrap_err().to_string();
        assert_eq!(
            message("node.brick0.cache.size"),
            "the fact `node.brick0.cache.size` should be an integer; found nothing"
        );
        assert!(message("node.brick0.cache.policy").ends_with("found the text `lru`"));
    }
}
