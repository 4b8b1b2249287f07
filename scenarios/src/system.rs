//! The storage systems, and their properties for code that does not depend on a particular system.
//!
//! The table [`systems!`](crate::systems) is the only list of them. A system without its own
//! settings needs a line there and its folder in `systems`. One with settings also needs their
//! struct with its [`SystemTraits`], and the code that reads them (`raw/cluster.rs`,
//! `check/cluster.rs`).

use foretell_units::HostId;

use crate::model::{Ceph, Gateway, OsdStore, Swift, Volume};

/// Passes the table of storage systems to the named macro, after its other arguments.
///
/// A line has: the system's description; its variant of [`System`](crate::model::System), with the
/// struct of its settings or, without settings, with the type that has its traits; its folder in
/// `systems`; its name in scenarios; and, if any, the feature that includes it in the program.
#[macro_export]
macro_rules! systems {
    ($to:ident $($more:tt)*) => {
        $to! { [$($more)*]
            /// Clients encode, and send fragments to all nodes: Thereska et al. 2006.
            UrsaMinor as ClientsEncode, ursa_minor, "ursa-minor";
            /// The first OSD of a placement group does for the others what clients ask for.
            Ceph(settings: Ceph), ceph, "ceph";
            /// Proxies send copies to object servers.
            Swift(settings: Swift), swift, "swift";
            /// Two copies, on partners: the smallest new system.
            MirroredPairs as Plain, mirrored_pairs, "mirrored-pairs", if "test-system";
        }
    };
}

macro_rules! model {
    ([] $(
        #[doc = $about:literal]
        $variant:ident $(($field:ident: $settings:ident))? $(as $plain:ident)?, $folder:ident, $name:literal
        $(, if $feature:literal)?;
    )*) => {
        /// A storage system: who does what with a request.
        #[derive(Clone, PartialEq, Debug)]
        pub enum System {
            $($(#[cfg(feature = $feature)])? #[doc = $about] $variant $(($settings))?),*
        }

        impl System {
            /// Its name in scenarios.
            pub const fn name(&self) -> &'static str {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant { .. } => $name),*
                }
            }

            /// Its properties.
            pub fn traits(&self) -> &dyn SystemTraits {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant $(($field))? => $($field)? $(&$plain)?),*
                }
            }

            /// Renumbers the hosts that its settings name.
            pub(crate) fn renumber(&mut self, new: &dyn Fn(HostId) -> Option<HostId>) {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant $(($field))? => {
                        $($field.renumber(new);)?
                    }),*
                }
            }

            /// The system with this name, if it has no settings of its own.
            pub(crate) fn without_settings(name: &str) -> Option<Self> {
                $(
                    $(#[cfg(feature = $feature)])?
                    {
                        $(if name == $name {
                            let _ = $plain;
                            return Some(Self::$variant);
                        })?
                    }
                )*
                None
            }
        }

        /// Names of systems that are not in the schema: only tests know them.
        pub(crate) const FOR_TESTS: &[&str] = &[$($(#[cfg(feature = $feature)] $name,)?)*];
    };
}

systems!(model);

/// Properties of a storage system. The defaults are those of the simplest one: clients address
/// files of nodes, hosts do not fail, and there is nothing else.
pub trait SystemTraits {
    /// Whether clients encrypt, encode and place data; then volumes have the settings for that.
    /// Otherwise servers do any encoding.
    fn clients_encode(&self) -> bool {
        false
    }

    /// Whether servers keep objects and choose their places; then clients may run on storage nodes.
    fn servers_keep_objects(&self) -> bool {
        false
    }

    /// Whether storage nodes send messages to each other while nothing fails.
    fn nodes_exchange(&self) -> bool {
        false
    }

    /// Whether each disk of a node is its own server (an OSD), which fails, joins and leaves separately.
    fn disks_are_servers(&self) -> bool {
        false
    }

    /// Whether its stores may have databases and logs on separate devices.
    fn has_log_devices(&self) -> bool {
        false
    }

    /// Whether hosts may fail during a run.
    fn has_events(&self) -> bool {
        false
    }

    /// Whether a read may return an older version than the one that was acknowledged last: copies are consistent only
    /// in the end. Such reads are counted.
    fn reads_may_be_stale(&self) -> bool {
        false
    }

    /// Whether requests can carry real bytes, in a scenario with or without events.
    fn carries_bytes(&self, _with_events: bool) -> bool {
        false
    }

    /// Why it cannot serve a volume, and what to do about it.
    fn refuses(&self, _volume: &Volume) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Hosts through which clients' data pass.
    fn relays(&self) -> &[HostId] {
        &[]
    }

    /// The gateways that serve volumes with a bucket index.
    fn gateway(&self) -> Option<&Gateway> {
        None
    }

    /// Hosts to which the nodes of a group report.
    fn monitors_of(&self, _group: &str) -> &[HostId] {
        &[]
    }

    /// All hosts that its settings name.
    fn hosts(&self) -> Vec<HostId> {
        self.relays().to_vec()
    }

    /// Whether any nodes report to a host.
    fn is_monitor(&self, _host: HostId) -> bool {
        false
    }

    /// Maximum fill level of a device.
    fn full_ratio(&self) -> f64 {
        1.0
    }

    /// What may fail without loss of data, by kind of unit, if that is known beyond the volume's encoding.
    fn survives(&self, _volume: usize) -> Option<&[(String, usize)]> {
        None
    }

    /// What may fail while every group still accepts reads and writes, by kind of unit, if that is known beyond the
    /// volume's settings.
    fn serves(&self, _volume: usize) -> Option<&[(String, usize)]> {
        None
    }
}

/// A system without special properties.
#[allow(dead_code, reason = "no system that users have is so plain")]
struct Plain;

impl SystemTraits for Plain {}

/// Ursa Minor.
struct ClientsEncode;

impl SystemTraits for ClientsEncode {
    fn clients_encode(&self) -> bool {
        true
    }

    fn has_events(&self) -> bool {
        true
    }

    fn carries_bytes(&self, _with_events: bool) -> bool {
        true
    }
}

/// Fill level above which an OSD accepts no more writes: `mon_osd_full_ratio`.
const FULL_RATIO: f64 = 0.95;

impl SystemTraits for Ceph {
    fn servers_keep_objects(&self) -> bool {
        true
    }

    fn nodes_exchange(&self) -> bool {
        true
    }

    fn disks_are_servers(&self) -> bool {
        true
    }

    fn has_log_devices(&self) -> bool {
        matches!(self.store, OsdStore::BlueStore { .. })
    }

    fn has_events(&self) -> bool {
        true
    }

    fn carries_bytes(&self, with_events: bool) -> bool {
        with_events
    }

    fn refuses(&self, volume: &Volume) -> Option<(&'static str, &'static str)> {
        (volume.encoding.groups() > 0).then_some((
            "repairs locally, which is not simulated with `system = \"ceph\"`",
            "write `m-of-n`, or leave `system` out",
        ))
    }

    fn relays(&self) -> &[HostId] {
        self.gateway.as_ref().map_or(&[], |gateway| &gateway.hosts)
    }

    fn gateway(&self) -> Option<&Gateway> {
        self.gateway.as_deref()
    }

    fn monitors_of(&self, group: &str) -> &[HostId] {
        self.own_monitors.get(group).unwrap_or(&self.monitors)
    }

    fn hosts(&self) -> Vec<HostId> {
        let monitors = self.own_monitors.values().chain([&self.monitors]).flatten();
        monitors.chain(self.relays()).copied().collect()
    }

    fn is_monitor(&self, host: HostId) -> bool {
        self.own_monitors.values().chain([&self.monitors]).any(|all| all.contains(&host))
    }

    fn full_ratio(&self) -> f64 {
        FULL_RATIO
    }

    fn survives(&self, volume: usize) -> Option<&[(String, usize)]> {
        Some(&self.places.as_ref()?.get(volume)?.survives)
    }

    fn serves(&self, volume: usize) -> Option<&[(String, usize)]> {
        Some(&self.places.as_ref()?.get(volume)?.serves)
    }
}

impl Ceph {
    fn renumber(&mut self, new: &dyn Fn(HostId) -> Option<HostId>) {
        let monitors = self.own_monitors.values_mut().chain([&mut self.monitors]);
        monitors.for_each(|hosts| keep(hosts, new));
        self.gateway.iter_mut().for_each(|gateway| keep(&mut gateway.hosts, new));
        let places = self.places.iter_mut().flatten();
        for (host, _) in places.flat_map(|places| &mut places.devices) {
            *host = new(*host).unwrap_or(*host);
        }
    }
}

impl SystemTraits for Swift {
    fn servers_keep_objects(&self) -> bool {
        true
    }

    fn has_events(&self) -> bool {
        true
    }

    fn reads_may_be_stale(&self) -> bool {
        true
    }

    fn carries_bytes(&self, with_events: bool) -> bool {
        with_events
    }

    fn refuses(&self, volume: &Volume) -> Option<(&'static str, &'static str)> {
        (volume.m() > 1).then_some((
            "is erasure-coded; here Swift keeps copies only",
            "write \"1-of-3\" for three copies",
        ))
    }

    fn relays(&self) -> &[HostId] {
        &self.proxies
    }
}

impl Swift {
    fn renumber(&mut self, new: &dyn Fn(HostId) -> Option<HostId>) {
        keep(&mut self.proxies, new);
    }
}

/// Keeps the hosts that still exist, with their new numbers.
fn keep(hosts: &mut Vec<HostId>, new: &dyn Fn(HostId) -> Option<HostId>) {
    *hosts = hosts.iter().filter_map(|host| new(*host)).collect();
}
