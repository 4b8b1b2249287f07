//! Scenarios for tests, built by hand.
#![allow(dead_code, unreachable_pub, reason = "shared with benchmarks, each of which uses a part")]

pub(crate) mod ceph;
pub(crate) mod flows;
pub(crate) mod incast;
pub(crate) mod outages;
pub(crate) mod swift;

use std::ops::ControlFlow;

use foretell_algorithms::codec::Encoding;
use foretell_ati::{Recorder, Selection};
use foretell_scenarios::device::{Device, Mechanical, Seek, Tolerance};
use foretell_scenarios::model::{
    Arrivals, Cache, Cipher, Cost, CpuProfile, Disk, Host, Layout, NetworkModel, Nic, Pattern,
    Payload, Placement, ReadFrom, Role, Scenario, Scheduler, Storage, Switch, System, Think,
    Tracking, Volume, Workload, WorkloadKind, WritePolicy,
};
use foretell_sim::truth::Truth;
use foretell_sim::{Cluster, SimError};
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, VolumeId};

/// A processor on which everything is free except a fixed cost of 10 us per request.
pub(crate) fn cpu() -> CpuProfile {
    CpuProfile {
        name: "test".to_owned(),
        cores: 1,
        smt: None,
        quantum: SimSpan::from_ms(10),
        context_switch: SimSpan::from_us(1),
        request: Cost { fixed: SimSpan::from_us(10), rate: None },
        send: Cost { fixed: SimSpan::from_us(5), rate: Some(Rate::bytes_per_s(400_000_000)) },
        receive: Cost { fixed: SimSpan::from_us(5), rate: Some(Rate::bytes_per_s(400_000_000)) },
        copy: Cost { fixed: SimSpan::ZERO, rate: Some(Rate::bytes_per_s(1_000_000_000)) },
        encrypt: Cost { fixed: SimSpan::from_us(2), rate: Some(Rate::bytes_per_s(113_000_000)) },
        decrypt: Cost { fixed: SimSpan::from_us(2), rate: Some(Rate::bytes_per_s(113_000_000)) },
        code: Cost { fixed: SimSpan::from_us(2), rate: Some(Rate::bytes_per_s(500_000_000)) },
        post: SimSpan::from_ns(500),
    }
}

pub(crate) fn disk() -> Disk {
    Disk {
        device_name: "test".to_owned(),
        device: Device::Mechanical(Mechanical {
            capacity: Bytes::gib(200),
            rpm: 7200,
            rpm_tolerance: Tolerance::USUAL,
            cylinders: 50_000,
            seek: Seek {
                knee: 1000,
                short_ms: 1.0,
                short_ms_per_sqrt: 0.1,
                long_ms: 4.0,
                long_ms_per_cylinder: 0.0002,
            },
            outer_rate: Rate::bytes_per_s(60_000_000),
            inner_rate: Rate::bytes_per_s(30_000_000),
            overhead: SimSpan::from_us(100),
        }),
        scheduler: Scheduler::Elevator,
        class: None,
        db: None,
        wal: None,
    }
}

pub(crate) fn cache(size: Bytes) -> Cache {
    Cache {
        policy: "lru".to_owned(),
        size,
        page: Bytes::kib(4),
        write: WritePolicy::Back,
        dirty_background: size / 10,
        dirty_limit: size * 2 / 5,
        dirty_expire: SimSpan::from_secs(30),
        flush_interval: SimSpan::from_secs(5),
        read_ahead: Bytes::kib(128),
    }
}

pub(crate) fn nic() -> Nic {
    Nic { rate: Rate::bits_per_s(1_000_000_000), latency: SimSpan::from_us(50) }
}

/// TCP as scenarios have it by default, except for a larger buffer.
pub(crate) fn switch() -> Switch {
    Switch {
        model: NetworkModel::Tcp,
        port_buffer: Bytes::mib(16),
        shared_buffer: None,
        shared_buffer_alpha: 1.0,
        retransmit_timeout: SimSpan::from_ms(200),
        receive_window: Bytes::mib(4),
        initial_window: 10,
        loss_probes: true,
    }
}

/// `nodes` nodes, then `clients` clients, and one volume of 1 GiB m-of-n over all nodes; no workload
/// yet.
pub(crate) fn cluster(nodes: u32, clients: u32, m: u8, n: u8) -> Scenario {
    let encoding = Encoding::new(u32::from(m), u32::from(n)).unwrap();
    cluster_with(nodes, clients, encoding)
}

/// The same with any encoding.
pub(crate) fn cluster_with(nodes: u32, clients: u32, encoding: Encoding) -> Scenario {
    let n = encoding.n() as u8;
    let node = |index| Host {
        name: format!("brick{index}"),
        group: "brick".to_owned(),
        role: Role::Node(Storage {
            cache: cache(Bytes::mib(64)),
            nvram: None,
            layout: Layout::InPlace,
            disks: vec![disk()],
            log_devices: Vec::new(),
            stripe: Bytes::mib(1),
            shared_by: 1,
        }),
        cpu: cpu(),
        nic: nic(),
        cluster_nic: None,
        guest: None,
        machine: None,
    };
    let client = |index| Host {
        name: format!("app{index}"),
        group: "app".to_owned(),
        role: Role::Client,
        cpu: cpu(),
        nic: nic(),
        cluster_nic: None,
        guest: None,
        machine: None,
    };
    Scenario {
        seed: Seed(42),
        warmup: SimSpan::from_secs(1),
        duration: Some(SimSpan::from_secs(5)),
        intervals: None,
        outages: None,
        uplinks: None,
        scrub: None,
        hosts: (0..nodes).map(node).chain((0..clients).map(client)).collect(),
        system: System::UrsaMinor,
        switch: switch(),
        volumes: vec![Volume {
            name: "mail".to_owned(),
            size: Bytes::gib(1),
            nodes: (0..nodes).map(HostId).collect(),
            encoding,
            cipher: Cipher::None,
            block: Bytes::kib(8),
            placement: Placement::Rotate,
            group: Bytes::mib(1),
            write_quorum: n,
            min_write: n - encoding.tolerates() as u8,
            read_from: ReadFrom::Primary,
            hedge: None,
            bucket_index: None,
        }],
        workloads: Vec::new(),
        tracking: Tracking {
            record: "none".to_owned(),
            kinds: Vec::new(),
            cost: None,
            metrics: None,
        },
        payload: Payload::None,
    }
}

/// Adds an ssio workload on one client.
pub(crate) fn ssio(scenario: &mut Scenario, client: u32, read_share: f64, outstanding: u32) {
    let nodes = scenario.hosts.iter().filter(|host| host.role.storage().is_some()).count() as u32;
    scenario.workloads.push(Workload {
        name: format!("load{}", scenario.workloads.len()),
        volume: VolumeId(0),
        clients: vec![HostId(nodes + client)],
        kind: WorkloadKind::Ssio {
            read_share,
            pattern: Pattern::Random,
            access: Bytes::kib(32),
            working_set: Bytes::mib(256),
        },
        arrivals: Arrivals::Closed { outstanding, think: Think::Fixed(SimSpan::ZERO) },
        times: None,
        requests: None,
    });
}

pub(crate) fn run(scenario: &Scenario) -> Result<Truth, SimError> {
    run_with(scenario, Recorder::none()).map(|(truth, _)| truth)
}

pub(crate) fn run_recorded(scenario: &Scenario) -> (Truth, Recorder) {
    run_with(scenario, Recorder::in_memory(Selection::ALL)).unwrap()
}

pub(crate) fn run_with(
    scenario: &Scenario,
    recorder: Recorder,
) -> Result<(Truth, Recorder), SimError> {
    let mut cluster = Cluster::new(scenario.clone(), recorder)?;
    let truth = cluster.run(|_| ControlFlow::Continue(()))?;
    Ok((truth, cluster.into_recorder()))
}

/// The shipped device of that name.
pub(crate) fn device(name: &str) -> Device {
    Device::named(name).unwrap_or_else(|errors| panic!("{}", errors.lines()))
}
