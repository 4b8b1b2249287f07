//! What an operator knows about the cluster, for `run.db`: hosts, links, caches, encodings, placements, and
//! the measured costs of processors. The seed, the mechanics of disks, and the future requests of workloads
//! are not included.

use foretell_ati::{Facts, Host, HostKind, Process, Volume, Workload};
use foretell_scenarios::model::{
    Arrivals, Cache, Cost, Layout, NetworkModel, Role, Scenario, Storage, Switch, Think,
    TrackingCost,
};
use foretell_sim::process;
use foretell_sim::truth::Truth;
use foretell_units::{Bytes, HostId, SimSpan, VolumeId, WorkloadId};
use foretell_whatif::CONFIGURATION_FACT;

/// The facts of a scenario, except the measurements of its devices.
///
/// `configuration`: the scenario as its operator knows it.
pub(crate) fn of(scenario: &Scenario, configuration: &str) -> Facts {
    let mut facts = Facts::default();
    facts.set(CONFIGURATION_FACT, configuration, "");
    for (index, (host, kind)) in scenario.hosts.iter().zip(host_kinds(scenario)).enumerate() {
        facts.hosts.push(Host { host: HostId::from(index), name: host.name.clone(), kind });
        let root = format!("{}.{}", kind.table(), host.name);
        for (name, nic) in [("nic", Some(host.nic)), ("cluster_nic", host.cluster_nic)] {
            let Some(nic) = nic else { continue };
            let rate = integer(nic.rate.as_bits_per_s());
            facts.set(format!("{root}.{name}.rate"), rate, "bit/s");
            span(&mut facts, format!("{root}.{name}.latency"), nic.latency);
        }
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
            encoding: volume.encoding.to_string(),
            cipher: volume.cipher.name().to_owned(),
            nodes: volume.nodes.clone(),
        });
        let root = format!("volume.{}", volume.name);
        bytes(&mut facts, format!("{root}.block"), volume.block);
        bytes(&mut facts, format!("{root}.group"), volume.group);
        facts.set(format!("{root}.placement"), volume.placement.name(), "");
        facts.set(format!("{root}.write_quorum"), i64::from(volume.write_quorum), "");
        facts.set(format!("{root}.read_from"), volume.read_from.name(), "");
        if let Some(hedge) = volume.hedge {
            facts.set(format!("{root}.hedge"), hedge.to_string(), "");
        }
    }
    for (index, workload) in scenario.workloads.iter().enumerate() {
        facts.workloads.push(Workload {
            workload: WorkloadId::from(index),
            name: workload.name.clone(),
            volume: workload.volume,
            clients: workload.clients.clone(),
        });
        let root = format!("workload.{}", workload.name);
        facts.set(format!("{root}.kind"), workload.kind.name(), "");
        arrivals(&mut facts, &root, &workload.arrivals);
    }
    let applications = (0..).zip(&scenario.workloads).map(|(index, workload)| Process {
        process: process::application(index),
        name: workload.name.clone(),
    });
    let system = process::system(scenario.scrub.is_some())
        .map(|(process, name)| Process { process, name: name.to_owned() });
    facts.processes = system.chain(applications).collect();
    switch(&mut facts, &scenario.switch);
    if let Some(uplinks) = &scenario.uplinks {
        facts.set("switch.uplink", integer(uplinks.rate.as_bits_per_s()), "bit/s");
    }
    span(&mut facts, "warmup", scenario.warmup);
    tracking(&mut facts, scenario);
    facts
}

/// The role of each host, in the order of hosts.
pub fn host_kinds(scenario: &Scenario) -> impl Iterator<Item = HostKind> {
    let is_monitor = |host: usize| scenario.system.traits().is_monitor(HostId::from(host));
    scenario.hosts.iter().enumerate().map(move |(index, host)| match host.role {
        Role::Node(_) => HostKind::Node,
        Role::Client if is_monitor(index) => HostKind::Monitor,
        Role::Client => HostKind::Client,
    })
}

/// The settings of the switch and of the hosts' TCP that limit anything.
fn switch(facts: &mut Facts, switch: &Switch) {
    if switch.model == NetworkModel::Queue {
        return;
    }
    bytes(facts, "switch.port_buffer", switch.port_buffer);
    if let Some(buffer) = switch.shared_buffer {
        bytes(facts, "switch.shared_buffer", buffer);
    }
    span(facts, "switch.retransmit_timeout", switch.retransmit_timeout);
    bytes(facts, "switch.receive_window", switch.receive_window);
}

fn bytes(facts: &mut Facts, path: impl Into<String>, amount: Bytes) {
    facts.set(path, integer(amount.get()), "bytes");
}

fn span(facts: &mut Facts, path: impl Into<String>, span: SimSpan) {
    facts.set(path, integer(span.as_ns()), "ns");
}

/// SQLite's integers are signed. No value that an operator knows exceeds their range.
fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn cpu(facts: &mut Facts, root: &str, host: &foretell_scenarios::model::Host) {
    let cpu = &host.cpu;
    facts.set(format!("{root}.cpu.profile"), cpu.name.as_str(), "");
    facts.set(format!("{root}.cpu.cores"), i64::from(cpu.cores), "");
    if let Some(smt) = cpu.smt {
        facts.set(format!("{root}.cpu.smt"), smt, "");
    }
    let mut cost = |name: &str, cost: Cost| {
        span(facts, format!("{root}.cpu.{name}.fixed"), cost.fixed);
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
    span(facts, format!("{root}.cpu.context_switch"), cpu.context_switch);
    span(facts, format!("{root}.cpu.post"), cpu.post);
}

// The pattern names every field, so that a new setting does not compile until it is handled here.
fn storage(facts: &mut Facts, root: &str, storage: &Storage) {
    let Storage { cache, nvram, layout, disks: _, log_devices: _, stripe, shared_by: _ } = storage;
    let Cache {
        policy,
        size,
        page,
        write,
        dirty_background,
        dirty_limit,
        dirty_expire,
        flush_interval,
        read_ahead,
    } = cache;
    facts.set(format!("{root}.cache.policy"), policy.as_str(), "");
    facts.set(format!("{root}.cache.write"), write.name(), "");
    for (name, amount) in [
        ("cache.size", size),
        ("cache.page", page),
        ("cache.dirty_background", dirty_background),
        ("cache.dirty_limit", dirty_limit),
        ("cache.read_ahead", read_ahead),
        ("stripe", stripe),
    ] {
        bytes(facts, format!("{root}.{name}"), *amount);
    }
    span(facts, format!("{root}.cache.dirty_expire"), *dirty_expire);
    span(facts, format!("{root}.cache.flush_interval"), *flush_interval);
    if let Some(nvram) = nvram {
        bytes(facts, format!("{root}.nvram"), *nvram);
    }
    match layout {
        Layout::InPlace => facts.set(format!("{root}.layout"), "in-place", ""),
        Layout::LogStructured { segment } => {
            facts.set(format!("{root}.layout"), "log-structured", "");
            bytes(facts, format!("{root}.segment"), *segment);
        }
    }
    for (index, (disk, capacity)) in storage.devices().zip(storage.device_capacities()).enumerate()
    {
        let disk_root = format!("{root}.disk{index}");
        facts.set(format!("{disk_root}.device"), disk.device_name.as_str(), "");
        facts.set(format!("{disk_root}.scheduler"), disk.scheduler.name(), "");
        bytes(facts, format!("{disk_root}.capacity"), capacity);
        for (what, part) in [("db", disk.db), ("wal", disk.wal)] {
            if let Some(part) = part {
                let (number, _, size) = storage.place_of(part);
                facts.set(format!("{disk_root}.{what}"), format!("disk{number}"), "");
                bytes(facts, format!("{disk_root}.{what}_size"), size);
            }
        }
    }
}

/// Resources that activity tracking uses: the cache that it leaves free, and the file that its node writes.
fn tracking(facts: &mut Facts, scenario: &Scenario) {
    let Some(TrackingCost { buffer, record, batch, store }) = &scenario.tracking.cost else {
        return;
    };
    for (name, amount) in [("buffer", buffer), ("record_size", record), ("batch", batch)] {
        bytes(facts, format!("tracking.{name}"), *amount);
    }
    facts.set("tracking.store", scenario.host(*store).name.as_str(), "");
    facts.set("tracking.file", integer(scenario.volumes.len() as u64), "");
}

fn arrivals(facts: &mut Facts, root: &str, arrivals: &Arrivals) {
    let (mode, outstanding) = match arrivals {
        Arrivals::Closed { outstanding, .. } => ("closed", Some(*outstanding)),
        Arrivals::Poisson { .. } => ("poisson", None),
        Arrivals::Deterministic { .. } => ("deterministic", None),
        Arrivals::Bursty { .. } => ("bursty", None),
        Arrivals::Times { .. } => ("times", None),
        Arrivals::Trace { .. } => ("trace", None),
    };
    facts.set(format!("{root}.arrivals"), mode, "");
    if let Some(outstanding) = outstanding {
        facts.set(format!("{root}.outstanding"), i64::from(outstanding), "");
    }
    if let Arrivals::Closed { think, .. } = arrivals {
        let (Think::Fixed(think) | Think::Exponential(think)) = think;
        span(facts, format!("{root}.think"), *think);
    }
}

/// Adds facts that are known after the run: the measured time, and the counters of hosts and of the
/// switch.
pub(crate) fn ended(facts: &mut Facts, truth: &Truth) {
    let measured_ns = (truth.simulated_seconds * 1e9).round() as i64;
    facts.set("measured", measured_ns, "ns");
    // measuring may have begun later than the scenario says
    if let Some(warmup) = facts.settings.iter_mut().find(|fact| fact.path == "warmup") {
        warmup.value = integer(truth.warmup.as_ns()).into();
    }
    let hosts: Vec<(String, &str)> =
        facts.hosts.iter().map(|host| (host.name.clone(), host.kind.table())).collect();
    for (host, kind) in hosts {
        for nic in ["nic", "cluster_nic"] {
            let of = |direction: &str| truth.hosts[&host].get(&format!("{nic}_{direction}"));
            // of the virtual machines on one machine, only the first has the link's counters
            let (Some(sends), Some(receives)) = (of("transmit"), of("receive")) else { continue };
            for (counter, count) in [
                ("segments_resent", sends.segments_resent),
                ("timeouts", sends.timeouts),
                ("segments_dropped", receives.segments_dropped),
            ] {
                let count = integer(count.unwrap_or(0));
                facts.set(format!("{kind}.{host}.{nic}.{counter}"), count, "");
            }
        }
    }
}
