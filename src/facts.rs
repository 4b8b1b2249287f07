//! What an operator knows of the cluster, for `run.db`: hosts, links, caches, encodings,
//! placements, and what was measured when a processor was installed. The seed, the disks'
//! mechanics, and what workloads will do are not among it.

use foretell_ati::{Facts, Host, HostKind, Volume, Workload};
use foretell_scenarios::model::{Arrivals, Cost, Layout, Role, Scenario, Storage, Think};
use foretell_units::{HostId, VolumeId, WorkloadId};

/// The facts of a scenario.
pub(crate) fn of(scenario: &Scenario) -> Facts {
    let mut facts = Facts::default();
    for (index, host) in scenario.hosts.iter().enumerate() {
        let kind = match host.role {
            Role::Node(_) => HostKind::Node,
            Role::Client => HostKind::Client,
        };
        facts.hosts.push(Host { host: HostId::from(index), name: host.name.clone(), kind });
        let root = format!("{}.{}", kind.name(), host.name);
        facts.set(format!("{root}.nic.rate"), host.nic.rate.as_bits_per_s() as i64, "bit/s");
        facts.set(format!("{root}.nic.latency"), host.nic.latency.as_ns() as i64, "ns");
        cpu(&mut facts, &root, host);
        if let Role::Node(storage) = &host.role {
            self::storage(&mut facts, &root, storage);
        }
    }
    for (index, volume) in scenario.volumes.iter().enumerate() {
        facts.volumes.push(Volume {
            volume: VolumeId::from(index),
            name: volume.name.clone(),
            size: volume.size,
            encoding: format!("{}-of-{}", volume.m, volume.n),
            cipher: volume.cipher.name().to_owned(),
            nodes: volume.nodes.clone(),
        });
        let root = format!("volume.{}", volume.name);
        facts.set(format!("{root}.block"), volume.block.get() as i64, "bytes");
        facts.set(format!("{root}.group"), volume.group.get() as i64, "bytes");
        facts.set(format!("{root}.placement"), volume.placement.name(), "");
        facts.set(format!("{root}.write_quorum"), i64::from(volume.write_quorum), "");
        facts.set(format!("{root}.read_from"), volume.read_from.name(), "");
    }
    for (index, workload) in scenario.workloads.iter().enumerate() {
        facts.workloads.push(Workload {
            workload: WorkloadId::from(index),
            name: workload.name.clone(),
            volume: workload.volume,
            client: workload.clients[0],
        });
        let root = format!("workload.{}", workload.name);
        let clients: Vec<&str> =
            workload.clients.iter().map(|client| scenario.host(*client).name.as_str()).collect();
        facts.set(format!("{root}.clients"), clients.join(","), "");
        arrivals(&mut facts, &root, workload.arrivals);
    }
    facts.set("switch.port_buffer", scenario.switch.port_buffer.get() as i64, "bytes");
    facts.set("warmup", scenario.warmup.as_ns() as i64, "ns");
    facts
}

fn cpu(facts: &mut Facts, root: &str, host: &foretell_scenarios::model::Host) {
    let cpu = &host.cpu;
    facts.set(format!("{root}.cpu.profile"), cpu.name.as_str(), "");
    facts.set(format!("{root}.cpu.cores"), i64::from(cpu.cores), "");
    let mut cost = |name: &str, cost: Cost| {
        facts.set(format!("{root}.cpu.{name}.fixed"), cost.fixed.as_ns() as i64, "ns");
        if let Some(rate) = cost.rate {
            let bytes_per_s = rate.as_bytes_per_s_f64();
            facts.set(format!("{root}.cpu.{name}.rate"), bytes_per_s, "bytes/s");
        }
    };
    cost("request", cpu.request);
    cost("send", cpu.send);
    cost("receive", cpu.receive);
    cost("copy", cpu.copy);
    cost("encrypt", cpu.encrypt);
    cost("decrypt", cpu.decrypt);
    cost("code", cpu.code);
    facts.set(format!("{root}.cpu.context_switch"), cpu.context_switch.as_ns() as i64, "ns");
    facts.set(format!("{root}.cpu.post"), cpu.post.as_ns() as i64, "ns");
}

fn storage(facts: &mut Facts, root: &str, storage: &Storage) {
    let cache = &storage.cache;
    facts.set(format!("{root}.cache.policy"), cache.policy.as_str(), "");
    for (name, size) in [
        ("size", cache.size),
        ("page", cache.page),
        ("dirty_background", cache.dirty_background),
        ("dirty_limit", cache.dirty_limit),
        ("read_ahead", cache.read_ahead),
    ] {
        facts.set(format!("{root}.cache.{name}"), size.get() as i64, "bytes");
    }
    facts.set(format!("{root}.cache.write"), cache.write.name(), "");
    if let Some(nvram) = storage.nvram {
        facts.set(format!("{root}.nvram"), nvram.get() as i64, "bytes");
    }
    let layout = match storage.layout {
        Layout::InPlace => "in-place",
        Layout::LogStructured { .. } => "log-structured",
    };
    facts.set(format!("{root}.layout"), layout, "");
    for (index, disk) in storage.disks.iter().enumerate() {
        let disk_root = format!("{root}.disk{index}");
        facts.set(format!("{disk_root}.device"), disk.device_name.as_str(), "");
        facts.set(format!("{disk_root}.scheduler"), disk.scheduler.name(), "");
        let capacity = disk.device.capacity().get() as i64;
        facts.set(format!("{disk_root}.capacity"), capacity, "bytes");
    }
}

fn arrivals(facts: &mut Facts, root: &str, arrivals: Arrivals) {
    let (mode, outstanding) = match arrivals {
        Arrivals::Closed { outstanding, .. } => ("closed", Some(outstanding)),
        Arrivals::Poisson { .. } => ("poisson", None),
        Arrivals::Trace { .. } => ("trace", None),
    };
    facts.set(format!("{root}.arrivals"), mode, "");
    if let Some(outstanding) = outstanding {
        facts.set(format!("{root}.outstanding"), i64::from(outstanding), "");
    }
    if let Arrivals::Closed { think, .. } = arrivals {
        let (Think::Fixed(think) | Think::Exponential(think)) = think;
        facts.set(format!("{root}.think"), think.as_ns() as i64, "ns");
    }
}
