//! A question: what would happen if these settings were changed?

use std::sync::Arc;

use foretell_scenarios::device::Device;
use foretell_scenarios::model::{Arrivals, Scenario, Storage, Workload, WorkloadKind};
use foretell_scenarios::{Change, Document};
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, Op, SimSpan, SimTime};

use crate::askable;
use crate::disk::Measurement;
use crate::error::WhatIfError;
use crate::load;
use crate::observed::{Observed, Recorded, Sharing, Streams, is_whole};

/// Information beyond the records: devices that can be measured before they are bought, and
/// workloads that are described before they exist.
pub trait OperatorKnowledge {
    /// The measurement of a device that the recorded cluster does not have; `None` if there is none.
    fn measure(&mut self, name: &str, device: &Device) -> Option<Measurement>;

    /// The first requests of each client of a workload that was not recorded.
    ///
    /// The error says why they cannot be determined.
    fn requests(
        &mut self,
        scenario: &Scenario,
        workload: usize,
    ) -> Result<Vec<DescribedClient>, String>;
}

/// The first requests of a client of a workload that was not recorded.
#[derive(Clone, Debug)]
pub struct DescribedClient {
    /// The requests.
    pub requests: Vec<Described>,
    /// Number of transactions that they belong to; `None` if each request is one.
    pub transactions: Option<usize>,
}

/// A request of a workload that was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Described {
    /// The time of issue, if the workload has its own times.
    pub at: Option<SimTime>,
    /// Direction.
    pub op: Op,
    /// Byte offset in the volume.
    pub offset: Bytes,
    /// Size in bytes.
    pub size: Bytes,
}

/// The changed cluster and its inputs.
pub(crate) struct Changed {
    pub(crate) scenario: Scenario,
    pub(crate) requests: Vec<Streams>,
    pub(crate) stretch: Vec<f64>,
    pub(crate) measured: Vec<Vec<Arc<Measurement>>>,
    /// Assumptions about loads that were not recorded.
    pub(crate) assumed: Vec<String>,
}

impl Changed {
    /// By workload: mean number of requests of a transaction.
    pub(crate) fn per_transaction(&self) -> Vec<f64> {
        self.requests.iter().map(|known| known.per_transaction.unwrap_or(1.0)).collect()
    }
}

impl Observed {
    /// Applies the changes to the cluster.
    pub(crate) fn changed(
        &self,
        changes: &[Change],
        parts: &mut dyn OperatorKnowledge,
    ) -> Result<Changed, WhatIfError> {
        let mut document: Document = self.document.clone();
        for (index, change) in changes.iter().enumerate() {
            if load::of_change(self, change, changes).is_some() {
                continue;
            }
            askable::by_its_path(change, &changes[..index], self)?;
            document.apply(load::OPTION, change)?;
        }
        let scenario = document.check()?;
        askable::by_what_differs(self, &scenario)?;
        let measured = self.devices(&scenario, parts)?;
        let (mut requests, mut stretch, mut assumed) = (Vec::new(), Vec::new(), Vec::new());
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let before = self.scenario.workloads.iter().position(|old| old.name == workload.name);
            if let Some(before) = before.filter(|_| workload.kind == WorkloadKind::Recorded) {
                let is_of_it =
                    |change: &&Change| load::of_change(self, change, changes) == Some(before);
                let asked = load::Asked {
                    recorded: before,
                    workload: index,
                    changes: changes.iter().filter(is_of_it).collect(),
                    document: &document,
                    scenario: &scenario,
                };
                self.knows_arrivals(before, workload)?;
                match asked.load(self, parts)? {
                    Some(load) => {
                        requests.push(load.requests);
                        assumed.push(load.assumed);
                    }
                    None => requests.push(self.requests[before].clone()),
                }
                let old = self.scenario.workloads[before].arrivals;
                stretch.push(stretched(old, workload.arrivals));
            } else {
                let refused = |reason| WhatIfError::Refused {
                    change: format!("workload.{}", workload.name),
                    reason,
                };
                let described = parts.requests(&scenario, index).map_err(refused)?;
                let of_clients =
                    described.iter().map(|client| recorded(&client.requests)).collect();
                let per_transaction = Some(per_transaction(&described));
                let whole = is_whole(workload.kind.name());
                let (sharing, of_threads) = (Sharing::Shared, Vec::new());
                let (creates, ended) = (false, false);
                requests.push(Streams {
                    of_clients,
                    sharing,
                    whole,
                    creates,
                    ended,
                    per_transaction,
                    of_threads,
                });
                stretch.push(1.0);
            }
        }
        Ok(Changed { scenario, requests, stretch, measured, assumed })
    }

    /// Returns an error if a question about a recorded workload needs the number of requests of a transaction, and the
    /// records do not show it.
    fn knows_arrivals(&self, before: usize, workload: &Workload) -> Result<(), WhatIfError> {
        let needs = match workload.arrivals {
            Arrivals::Closed { think, .. } => !think.mean().is_zero(),
            _ => workload.arrivals.mean_rate_rps().is_some(),
        };
        if !needs || self.requests[before].per_transaction.is_some() {
            return Ok(());
        }
        let name = &workload.name;
        Err(WhatIfError::Refused {
            change: format!("workload.{name}.arrivals"),
            reason: format!(
                "the records of a run without think times and without a rate do not show how many requests a \
                 transaction of `{name}` has; describe the workload again, `workload.{name}={{ ... }}`"
            ),
        })
    }

    /// The measurement of each disk, by host.
    fn devices(
        &self,
        scenario: &Scenario,
        parts: &mut dyn OperatorKnowledge,
    ) -> Result<Vec<Vec<Arc<Measurement>>>, WhatIfError> {
        let mut new: SortedMap<String, Arc<Measurement>> = SortedMap::new();
        let mut all = Vec::new();
        for host in &scenario.hosts {
            let disks = host.role.storage().into_iter().flat_map(Storage::devices);
            let mut here = Vec::new();
            for disk in disks {
                let name = &disk.device_name;
                if let Some(known) = self.measured.get(name).or_else(|| new.get(name)) {
                    here.push(Arc::clone(known));
                    continue;
                }
                let device = Some(&disk.device).filter(|device| !device.is_only_measured());
                let measured = device.and_then(|device| parts.measure(name, device));
                let measured = measured.ok_or_else(|| WhatIfError::Refused {
                    change: format!("device.{name}"),
                    reason: match &disk.device {
                        Device::Array(_) => {
                            "its members were recorded, so they are known only by measurements; \
                                             simulate the changed scenario"
                        }
                        _ => "nothing was measured of it",
                    }
                    .to_owned(),
                })?;
                let measured = Arc::new(measured);
                new.insert(name.clone(), Arc::clone(&measured));
                here.push(measured);
            }
            all.push(here);
        }
        Ok(all)
    }
}

/// The factor by which recorded times are stretched for other arrivals. 0: recorded times cannot be used.
pub(crate) fn stretched(old: Arrivals, new: Arrivals) -> f64 {
    if let Arrivals::Bursty { .. } = new {
        // recorded bursts do not show other ones
        return f64::from(u8::from(old == new));
    }
    if let Some((before, after)) = old.mean_rate_rps().zip(new.mean_rate_rps())
        && std::mem::discriminant(&old) == std::mem::discriminant(&new)
    {
        return before / after;
    }
    match (old, new) {
        (Arrivals::Trace { speed_up: old }, Arrivals::Trace { speed_up: new }) => old / new,
        (_, Arrivals::Trace { .. }) => 1.0,
        _ => 0.0,
    }
}

/// Mean number of requests of a transaction.
fn per_transaction(clients: &[DescribedClient]) -> f64 {
    let requests: usize = clients.iter().map(|client| client.requests.len()).sum();
    let of_client = |client: &DescribedClient| client.transactions.unwrap_or(client.requests.len());
    let transactions: usize = clients.iter().map(of_client).sum();
    if requests == 0 { 1.0 } else { requests as f64 / transactions.max(1) as f64 }
}

fn recorded(described: &[Described]) -> Arc<[Recorded]> {
    described
        .iter()
        .map(|request| Recorded {
            pause: SimSpan::ZERO,
            issued: request.at.unwrap_or(SimTime::ZERO),
            offset: request.offset,
            size: request.size.get() as u32,
            op: request.op,
        })
        .collect()
}
