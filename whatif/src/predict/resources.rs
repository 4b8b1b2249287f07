//! Utilization of resources, and the resources that limit workloads.

use foretell_ati::Resource;
use foretell_scenarios::model::{Arrivals, Workload};
use foretell_sorted::SortedMap;

use super::Prediction;
use crate::answer::{Busiest, Overload};
use crate::replay::{WorkloadOutcome, uplink_name};

/// Utilization from which a resource counts as full.
const FULL: f64 = 0.9;

/// A resource and the peak throughput that it allows.
pub(super) struct Limit {
    pub(super) peak_rps: f64,
    /// Its name: `brick3.disk0`.
    pub(super) resource: String,
}

impl Prediction<'_> {
    /// Utilization of every resource, and the busiest.
    pub(super) fn utilization(
        &self,
    ) -> (SortedMap<String, SortedMap<String, f64>>, Option<Busiest>) {
        let mut of_hosts = vec![SortedMap::new(); self.scenario.hosts.len()];
        let (mut busiest, mut bottleneck) = (f64::NEG_INFINITY, None);
        for found in &self.outcome.resources {
            let host = self.scenario.hosts[found.host].name.clone();
            let resource = Resource::at(found.place).to_string();
            // a device that drains a buffer while it reads can do more than the sum of both, each measured
            // alone
            let share = found.utilization.min(1.0);
            of_hosts[found.host].insert(resource.clone(), share);
            if busiest < found.occupancy {
                busiest = found.occupancy;
                let keeps_records =
                    foretell_systems::keeps_records(&self.scenario, &host, &resource);
                bottleneck = Some(Busiest { host, resource, utilization: share, keeps_records });
            }
        }
        let names = self.scenario.hosts.iter().map(|host| host.name.clone());
        let of_hosts = names.zip(of_hosts).filter(|(_, resources)| !resources.is_empty());
        let mut utilization: SortedMap<String, SortedMap<String, f64>> = of_hosts.collect();
        for (share, rack, direction) in self.uplinks() {
            let [host, resource] = uplink_name(&self.scenario, rack, direction);
            let share = share.min(1.0);
            utilization.entry(host.clone()).or_default().insert(resource.clone(), share);
            if busiest < share {
                busiest = share;
                let keeps_records = false;
                bottleneck = Some(Busiest { host, resource, utilization: share, keeps_records });
            }
        }
        (utilization, bottleneck)
    }

    /// Utilization of the uplinks, with the rack and the direction.
    fn uplinks(&self) -> impl Iterator<Item = (f64, usize, usize)> {
        let all = self.outcome.uplinks.iter().enumerate();
        all.flat_map(|(rack, both)| [(both[0], rack, 0), (both[1], rack, 1)])
    }

    /// How far an open workload's load exceeds the capacity, and the busiest of its resources.
    pub(super) fn overload(
        &self,
        workload: &Workload,
        found: &WorkloadOutcome,
    ) -> Option<Overload> {
        if matches!(workload.arrivals, Arrivals::Closed { .. }) {
            return None;
        }
        let factor = found.overload()?;
        let used = self.outcome.resources.iter();
        let used = used.filter(|known| !found.usage[known.host][known.place].busy.is_zero());
        let busiest = used.max_by(|a, b| a.occupancy.total_cmp(&b.occupancy))?;
        // which workloads use an uplink is not known
        let uplink = self.uplinks().max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((share, rack, direction)) = uplink.filter(|(share, ..)| *share > FULL)
            && share > busiest.occupancy
        {
            let resource = uplink_name(&self.scenario, rack, direction).join(".");
            return Some(Overload { resource, factor });
        }
        // if requests wait although no resource is full, they came in a burst
        let host = &self.scenario.hosts[busiest.host].name;
        let resource = format!("{host}.{}", Resource::at(busiest.place));
        (busiest.occupancy > FULL).then_some(Overload { resource, factor })
    }

    /// Utilization of the busiest resource that a workload uses.
    pub(super) fn busiest_of(&self, found: &WorkloadOutcome) -> f64 {
        let used = self.outcome.resources.iter();
        let used = used.filter(|known| !found.usage[known.host][known.place].busy.is_zero());
        used.map(|known| known.occupancy).fold(0.0, f64::max)
    }

    /// The resource that limits the workload at `index`, beside the load of the others. `paces`: their throughputs as
    /// multiples of the replay's; empty if they are the replay's.
    pub(super) fn limit(&self, index: usize, paces: &[f64]) -> Option<Limit> {
        let found = &self.outcome.workloads[index];
        let completed = (found.completed as f64).max(1.0);
        let mut limit: Option<Limit> = None;
        for known in &self.outcome.resources {
            let busy = found.usage[known.host][known.place].busy.as_secs_f64();
            let demand = busy / completed;
            if demand <= 0.0 {
                continue;
            }
            // the share that other workloads use is not available
            let servers = known.servers as f64;
            let share = |found: &WorkloadOutcome| {
                found.usage[known.host][known.place].busy.as_secs_f64()
                    / self.outcome.seconds
                    / servers
            };
            let more: f64 = (0..paces.len())
                .filter(|other| *other != index)
                .map(|other| share(&self.outcome.workloads[other]) * (paces[other] - 1.0))
                .sum();
            let others = (known.occupancy - share(found) + more).clamp(0.0, 0.99);
            let peak_rps = servers * (1.0 - others) / demand;
            if limit.as_ref().is_none_or(|limit| peak_rps < limit.peak_rps) {
                let host = &self.scenario.hosts[known.host].name;
                let resource = format!("{host}.{}", Resource::at(known.place));
                limit = Some(Limit { peak_rps, resource });
            }
        }
        limit
    }
}
