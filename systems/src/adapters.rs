//! The network adapters of hosts, and which of them a message uses.
//!
//! Adapters are numbered. The first have the numbers of their hosts. The second adapters of nodes follow.

use foretell_scenarios::model::{Nic, Scenario, Uplinks};
use foretell_units::HostId;

use crate::exchange::Exchange;

/// The adapters of all hosts.
#[derive(Clone, Debug)]
pub struct Adapters {
    nics: Vec<Nic>,
    /// By host: the number of its second adapter. Empty if there are none.
    second: Vec<Option<HostId>>,
}

impl Adapters {
    /// Those of a scenario's hosts.
    pub fn of(scenario: &Scenario) -> Self {
        let mut nics: Vec<Nic> = scenario.hosts.iter().map(|host| host.nic).collect();
        let mut second = Vec::new();
        if scenario.hosts.iter().any(|host| host.cluster_nic.is_some()) {
            for host in &scenario.hosts {
                second.push(host.cluster_nic.map(|_| HostId::from(nics.len())));
                nics.extend(host.cluster_nic);
            }
        }
        Self { nics, second }
    }

    /// All adapters, by number.
    pub fn nics(&self) -> &[Nic] {
        &self.nics
    }

    /// The number of a host's second adapter.
    pub fn second(&self, host: HostId) -> Option<HostId> {
        self.second.get(host.index()).copied().flatten()
    }

    /// The adapters that send and receive the message of an exchange that is on its way.
    #[inline]
    pub fn between(&self, exchange: &Exchange) -> (HostId, HostId) {
        let hosts = (exchange.sender(), exchange.receiver());
        if self.second.is_empty() || !exchange.is_between_servers() {
            return hosts;
        }
        self.second(hosts.0).zip(self.second(hosts.1)).unwrap_or(hosts)
    }

    /// By adapter: the one whose link it uses. `owners`: by host, the host that owns the links of its machine.
    pub fn links(&self, owners: impl IntoIterator<Item = HostId>) -> Vec<HostId> {
        let mut links: Vec<HostId> = owners.into_iter().collect();
        for host in 0..self.second.len() {
            if self.second[host].is_some() {
                links.extend(self.second(links[host]));
            }
        }
        links
    }

    /// The uplinks of racks, with the second adapters of hosts in their racks.
    pub fn uplinks(&self, uplinks: Option<&Uplinks>) -> Option<Uplinks> {
        let mut uplinks = uplinks?.clone();
        for rack in &mut uplinks.racks {
            let second: Vec<HostId> =
                rack.hosts.iter().filter_map(|host| self.second(*host)).collect();
            rack.hosts.extend(second);
        }
        Some(uplinks)
    }
}
