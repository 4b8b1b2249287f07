//! The demand of each workload at each resource: the roll-up `rollup_demand`.
//!
//! The accounts begin with the measured time. They are independent of the records and of their sampling. The
//! demand of a workload is the processor time of the tasks that work for it (without context switches), the
//! time of its messages on the wire, and the service time of its disk operations. A flush is charged to the
//! workload of its first write, although it may also write neighbouring pages. Hosts' own work is charged to
//! no workload.

use foretell_ati::{Demand, Resource};
use foretell_units::{HostId, SimSpan, WorkloadId};

/// No workload: a host's own work.
pub(crate) use foretell_algorithms::node::NO_CLIENT;

/// Accounts of each workload at each resource of each host.
#[derive(Debug)]
pub(crate) struct Demands {
    workloads: usize,
    /// By host: accounts by resource, then workload.
    hosts: Vec<Vec<Account>>,
}

#[derive(Clone, Copy, Default, Debug)]
struct Account {
    busy: SimSpan,
    operations: u64,
}

impl Demands {
    /// Empty accounts for `workloads` workloads and for hosts with the given numbers of disks.
    pub(crate) fn new(workloads: usize, disks: impl Iterator<Item = usize>) -> Self {
        let hosts = disks
            .map(|disks| vec![Account::default(); (Resource::BESIDE_DISKS + disks) * workloads]);
        Self { workloads, hosts: hosts.collect() }
    }

    /// Measuring begins: earlier charges are discarded.
    pub(crate) fn mark(&mut self) {
        self.hosts.iter_mut().flatten().for_each(|account| *account = Account::default());
    }

    /// Charges `workload` for an operation that `resource` of `host` served.
    pub(crate) fn charge(
        &mut self,
        host: HostId,
        resource: Resource,
        workload: u32,
        busy: SimSpan,
    ) {
        if workload != NO_CLIENT {
            let place = resource.index() * self.workloads + workload as usize;
            let account = &mut self.hosts[host.index()][place];
            account.busy += busy;
            account.operations += 1;
        }
    }

    /// The rows of the roll-up: workload by workload, for each resource that was used.
    pub(crate) fn rows(&self) -> Vec<Demand> {
        let mut rows = Vec::new();
        for workload in 0..self.workloads {
            for (host, accounts) in self.hosts.iter().enumerate() {
                for (number, account) in
                    accounts.iter().skip(workload).step_by(self.workloads).enumerate()
                {
                    if account.operations > 0 {
                        rows.push(Demand {
                            workload: WorkloadId::from(workload),
                            host: HostId::from(host),
                            resource: Resource::at(number).to_string(),
                            busy: account.busy,
                            operations: account.operations,
                        });
                    }
                }
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_listed_by_workload_host_and_resource() {
        let mut demands = Demands::new(2, [1, 0].into_iter());
        let span = SimSpan::from_us;
        demands.charge(HostId(1), Resource::Cpu, 1, span(5));
        demands.charge(HostId(0), Resource::Disk(0), 0, span(7));
        demands.charge(HostId(0), Resource::Disk(0), 0, span(3));
        demands.charge(HostId(0), Resource::Receive, 1, span(2));
        demands.charge(HostId(0), Resource::Cpu, NO_CLIENT, span(100));
        let rows = demands.rows();
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                (row.workload.0, row.host.0, row.resource.as_str(), row.busy, row.operations)
            })
            .collect();
        assert_eq!(
            rows,
            [
                (0, 0, "disk0", span(10), 2),
                (1, 0, "nic_receive", span(2), 1),
                (1, 1, "cpu", span(5), 1),
            ]
        );
    }
}
