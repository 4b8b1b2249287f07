//! Common parts of the tests of Swift with events.

use foretell_scenarios::model::{Arrivals, Role, Scenario, Swift, System};
use foretell_scenarios::outages::{Recovery, SwiftRecovery};
use foretell_units::{Bytes, HostId, SimSpan};

use super::ceph::cost;
use super::outages::{ms, recovery, set_working_set};
use super::{cluster, ssio};

/// Times with which failures have their effects within seconds.
pub(crate) fn quick() -> Recovery {
    Recovery {
        swift: SwiftRecovery {
            conn_timeout: ms(20),
            node_timeout: ms(100),
            error_suppression_interval: ms(300),
            replicator_interval: ms(200),
            min_part_hours: SimSpan::ZERO,
            ..SwiftRecovery::USUAL
        },
        ..recovery()
    }
}

/// The same, in which proxies never avoid a server.
pub(crate) fn never_avoiding() -> Recovery {
    let mut recovery = quick();
    recovery.swift.error_suppression_limit = 1_000_000;
    recovery
}

/// A small volume with `copies` copies, objects of 64 KiB; one client, and a proxy on a host of its own.
pub(crate) fn small(nodes: u32, copies: u8, reads: f64, outstanding: u32) -> Scenario {
    let mut scenario = cluster(nodes, 2, 1, copies);
    scenario.system = System::Swift(Swift {
        proxies: vec![HostId(nodes + 1)],
        partition_power: 6,
        x_newest: false,
        metadata: Bytes::kib(8),
        proxy: cost(60),
        relay: cost(30),
        read: cost(60),
        write: cost(60),
    });
    scenario.warmup = ms(500);
    scenario.duration = Some(SimSpan::from_secs(6));
    let volume = &mut scenario.volumes[0];
    (volume.size, volume.group) = (Bytes::mib(4), Bytes::kib(64));
    ssio(&mut scenario, 0, reads, outstanding);
    set_working_set(&mut scenario, Bytes::mib(1), Bytes::kib(8));
    scenario
}

pub(crate) fn rate(scenario: &mut Scenario, rate_rps: f64) {
    scenario.workloads[0].arrivals = Arrivals::Deterministic { rate_rps };
}

/// Gives each node as many disks more as this, like its first.
pub(crate) fn add_disks(scenario: &mut Scenario, more: usize) {
    for host in &mut scenario.hosts {
        if let Role::Node(storage) = &mut host.role {
            let first = storage.disks[0].clone();
            storage.disks.extend(vec![first; more]);
        }
    }
}
