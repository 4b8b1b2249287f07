//! The checking pass: from a tree of the right structure to a [`Scenario`].
//!
//! All errors in values and their relations are found here and nowhere later. A check whose inputs
//! are wrong themselves is skipped silently.

mod adapters;
mod cluster;
mod crush;
mod events;
mod files;
mod gateway;
mod hedge;
mod host_list;
mod hosts;
mod machines;
mod memory;
mod possible;
mod quantities;
mod recovery;
mod scrub;
mod settings;
mod storage;
mod topology;
mod uplinks;
mod volumes;
mod workloads;

use std::path::Path;

use foretell_sorted::SortedMap;
use foretell_units::{Bytes, Seed, SimSpan};
use serde::de::DeserializeOwned;

pub(crate) use files::is_below;
use host_list::AllowedHosts;
pub(crate) use hosts::{Hosts, groups_of};

use crate::device::Device;
use crate::device::file;
use crate::error::{Problem, Problems, ScenarioError, ScenarioErrors};
use crate::model::{
    Intervals, Metrics, NetworkModel, Payload, Scenario, Switch, System, SystemTraits, Tracking,
    TrackingCost,
};
use crate::profiles::{self, ProfileKind, Profiles};
use crate::raw::{
    At, RawIntervals, RawNetworkModel, RawPayload, RawSwitch, RawTracking, Size, Time,
};
use crate::read::read;
use crate::shape;
use crate::source::{Place, Sources};
use crate::structure::{Broken, check_scenario, complete};
use crate::tree::{Entry, Node, Table, Value};

/// Names of trace formats as in `workloads`, which depends on this crate.
pub const TRACE_FORMATS: [&str; 12] = [
    "csv",
    "oracle-general",
    "vscsi",
    "block-list",
    "msr",
    "alibaba",
    "tencent",
    "spc",
    "fio-iolog",
    "blkparse",
    "disksim",
    "foretell",
];

/// Maximum number of hosts. Memory is exhausted long before.
pub(crate) const MAX_HOSTS: usize = 10_000_000;

/// Memory that a host needs before its first request, in the scenario and in a simulation (measured with
/// 1,000, 10,000 and 100,000 idle nodes, each with one disk: 14 to 15 KiB).
pub(crate) const BYTES_BY_HOST: u64 = 15 << 10;

/// Maximum outstanding requests of a workload, over all its clients.
pub(crate) const MAX_OUTSTANDING: u64 = 1 << 20;

/// A valid scenario.
pub(crate) struct Checked {
    pub(crate) scenario: Scenario,
    /// Its text as a tree, with all defaults and all profiles.
    pub(crate) tree: Table,
}

/// Checks everything.
pub(crate) fn check(
    tree: &Table,
    sources: &Sources,
    base: &Path,
) -> Result<Checked, ScenarioErrors> {
    let mut checked = check_at_first(tree, sources, base)?;
    let settings = settings::of(tree, &checked.scenario, sources, base)?;
    if let Some(outages) = &mut checked.scenario.outages {
        settings::add(outages, settings);
    }
    Ok(checked)
}

/// Checks everything except the new values of settings that change while the cluster runs.
fn check_at_first(tree: &Table, sources: &Sources, base: &Path) -> Result<Checked, ScenarioErrors> {
    let mut tree = tree.clone();
    settings::flatten(&mut tree);
    let mut problems = Problems::default();
    let broken = check_scenario(&mut tree, &mut problems);
    let groups = tree.clone();
    events::complete_recovery(&mut tree);
    complete(&mut tree, shape::scenario(), Place::default());
    let mut context = Context {
        problems,
        sources: sources.clone(),
        broken: &broken,
        base,
        profiles: Profiles::new(&groups, base, &broken),
        devices: SortedMap::new(),
        keeps_objects: false,
        disks_are_servers: false,
        crush_text: None,
    };
    let scenario = context.scenario(&tree, &groups);
    let Context { problems, sources, profiles, crush_text, .. } = context;
    if let Some(errors) = problems.into_errors(&sources) {
        return Err(errors);
    }
    let cluster = tree.get_mut("cluster").and_then(Node::table_mut);
    if let Some(text) = crush_text
        && let Some(crush) = cluster.and_then(|cluster| cluster.get_mut("crush"))
    {
        crush.value = Value::Text(text);
    }
    let profiles: Vec<_> = profiles.into_found().collect();
    for (kind, name, node) in profiles {
        let section = tree.get_mut(kind.section()).and_then(Node::table_mut);
        let section = section.expect("sections were filled in");
        section.insert(Entry { key: name, key_place: Place::default(), node });
    }
    match scenario {
        Some(scenario) => Ok(Checked { scenario, tree }),
        None => Err(ScenarioError::nowhere(
            "the scenario cannot be read, for a reason that was not found",
            Some("this is a fault of the program; please report it".to_owned()),
        )
        .into()),
    }
}

/// Checks a device without a scenario, from the text of its file.
pub(crate) fn check_device(file: &str, text: &str) -> Result<Device, ScenarioErrors> {
    let (mut sources, mut problems) = (Sources::default(), Problems::default());
    let node = profiles::read(ProfileKind::Device, file, text, &mut sources, &mut problems);
    let (broken, empty, base) = (Broken::default(), Table::default(), Path::new(""));
    let profiles = Profiles::new(&empty, base, &broken);
    let devices = SortedMap::new();
    let broken = &broken;
    let (keeps_objects, disks_are_servers) = (false, false);
    let crush_text = None;
    let mut context = Context {
        problems,
        sources,
        broken,
        base,
        profiles,
        devices,
        keeps_objects,
        disks_are_servers,
        crush_text,
    };
    let device = node.and_then(|node| file::device(&node, &mut context));
    let Context { problems, sources, .. } = context;
    match (device, problems.into_errors(&sources)) {
        (Some(device), None) => Ok(device),
        (_, Some(errors)) => Err(errors),
        (None, None) => Err(ScenarioError::nowhere(
            format!("the device `{file}` cannot be read, for a reason that was not found"),
            Some("this is a fault of the program; please report it".to_owned()),
        )
        .into()),
    }
}

/// The common inputs of all checks.
pub(crate) struct Context<'a> {
    problems: Problems,
    sources: Sources,
    broken: &'a Broken,
    base: &'a Path,
    profiles: Profiles<'a>,
    /// Devices by name: all hosts with one profile share the result.
    devices: SortedMap<String, Option<Device>>,
    /// Whether servers keep objects; then workloads may run on storage nodes.
    keeps_objects: bool,
    /// Whether each disk is its own server.
    disks_are_servers: bool,
    /// The map of `crush` as text, which is kept with a run.
    crush_text: Option<String>,
}

impl Context<'_> {
    pub(crate) fn add(&mut self, problem: Problem) {
        self.problems.add(problem);
    }

    /// Reads the struct at `key`.
    fn part<T: DeserializeOwned>(&mut self, table: &Table, key: &str) -> Option<T> {
        let node = table.get(key)?;
        self.read(node)
    }

    /// Reads a struct. Errors of its structure check are not reported again.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, node: &Node) -> Option<T> {
        match read(node) {
            Ok(value) => Some(value),
            Err(error) => {
                if self.problems.is_empty() {
                    self.add(Problem::new(
                        node.place,
                        format!("the value cannot be read: {error}"),
                    ));
                }
                None
            }
        }
    }

    /// The profile called `name`, complete.
    pub(crate) fn profile(&mut self, kind: ProfileKind, name: &str, place: Place) -> Option<Node> {
        let Self { profiles, sources, problems, .. } = self;
        profiles.get(kind, name, place, sources, problems).cloned()
    }

    /// The device of this profile.
    fn device(&mut self, name: &str, place: Place) -> Option<Device> {
        if let Some(device) = self.devices.get(name) {
            return device.clone();
        }
        let node = self.profile(ProfileKind::Device, name, place);
        let device = node.and_then(|node| file::device(&node, self));
        self.devices.insert(name.to_owned(), device.clone());
        device
    }

    fn scenario(&mut self, tree: &Table, groups: &Table) -> Option<Scenario> {
        let hosts = Hosts::new(tree, groups, self);
        self.flash_fits(tree, &hosts);
        let mut system = self.system(tree, &hosts);
        let (has_system, traits) = (system.is_some(), system.as_ref().map(System::traits));
        self.keeps_objects = traits.is_some_and(SystemTraits::servers_keep_objects);
        self.disks_are_servers = traits.is_some_and(SystemTraits::disks_are_servers);
        let switch = self.part(tree, "switch").and_then(|raw| self.switch(&raw));
        let uplinks = self.uplinks(tree, &hosts);
        let mut volumes = self.volumes(tree, &hosts, has_system);
        let ceph = match &mut system {
            Some(System::Ceph(ceph)) => Some(ceph),
            _ => None,
        };
        // if the system is wrong, nothing that depends on it is checked
        if has_system {
            let places = self.crush_places(ceph.as_deref(), tree, &hosts, &volumes);
            if let Some(ceph) = ceph {
                ceph.places = places;
            }
        }
        if let Some(system) = &system {
            self.bucket_indexes(tree, system, &mut volumes);
        }
        let workloads = self.workloads(tree, &hosts, &volumes);
        if let Some(system) = &system {
            self.fits_system(system, tree, &hosts, &volumes);
        }
        let tracking = self.tracking(tree, &hosts);
        let seed = self.part::<At<i64>>(tree, "seed");
        let payload = self.part::<At<RawPayload>>(tree, "payload");
        let duration = self.part::<Time>(tree, "duration");
        let has_duration = tree.get("duration").is_some();
        let duration = duration.map(|time| self.time_above_zero(&time, "a duration"));
        let intervals = match tree.get("intervals") {
            Some(node) => self.intervals(node, duration.flatten()).map(Some),
            None => Some(None),
        };
        let warmup = self.warmup(tree, &workloads);
        let duration_found = duration.flatten();
        let system_found = system.as_ref();
        let outages = self.events(tree, &hosts, &volumes, &workloads, system_found, duration_found);
        if let (Some(system), Ok(outages)) = (&system, &outages) {
            self.adapters_are_used(tree, &hosts, system, outages.is_some());
        }
        let timeout = outages.as_ref().ok().and_then(Option::as_ref);
        self.fits_hedges(tree, system.as_ref(), timeout.map(|outages| outages.recovery.timeout));
        let scrub = self.scrub(tree, system.as_ref(), duration_found);
        if !has_duration && !self.broken.section("") {
            self.needs_duration(tree, &workloads);
        }
        Some(Scenario {
            seed: Seed(u64::try_from(*seed?.get()).ok()?),
            warmup: warmup?,
            duration: match duration {
                Some(duration) => Some(duration?),
                None => None,
            },
            intervals: intervals?,
            system: system?,
            hosts: hosts.into_model()?,
            switch: switch?,
            uplinks: uplinks.ok()?,
            volumes: volumes.into_iter().map(|volume| volume.model).collect::<Option<_>>()?,
            workloads: workloads
                .into_iter()
                .map(|workload| workload.model)
                .collect::<Option<_>>()?,
            tracking: tracking?,
            payload: match payload?.get() {
                RawPayload::None => Payload::None,
                RawPayload::Real => Payload::Real,
            },
            outages: outages.ok()?,
            scrub: scrub.ok()?,
        })
    }

    fn intervals(&mut self, node: &Node, duration: Option<SimSpan>) -> Option<Intervals> {
        let raw: RawIntervals = self.read(node)?;
        let error = self.share(&raw.error);
        let Some(duration) = duration else {
            let message = "without a `duration` there is no measured time to cut into intervals";
            self.add(Problem::new(node.place, message).help("add `duration = \"60 s\"`"));
            return None;
        };
        let place = raw.longest.place();
        let longest = match raw.longest.get().as_str() {
            "auto" => duration,
            text => self.time_of(text, place)?,
        };
        if longest < duration {
            let message = format!("`longest`, {longest}, is less than `duration`, {duration}");
            self.add(Problem::new(place, message));
        }
        let count = u32::try_from(*raw.count.get()).ok()?;
        let requests = u64::try_from(*raw.requests.get()).ok()?;
        Some(Intervals { count, requests, error: error?, longest })
    }

    fn switch(&mut self, raw: &RawSwitch) -> Option<Switch> {
        if matches!(raw.model.get(), RawNetworkModel::Queue) {
            return Some(Switch::QUEUE);
        }
        let alpha = *raw.shared_buffer_alpha.as_ref()?.get();
        let port_buffer = self.buffer(raw.port_buffer.as_ref()?, 1.0, "a port's buffer");
        let shared_buffer = match &raw.shared_buffer {
            Some(size) => self.buffer(size, alpha, "a port's share of it").map(Some),
            None => Some(None),
        };
        let timeout = self.time_above_zero(raw.retransmit_timeout.as_ref()?, "a timeout");
        let window = self.size_above_zero(raw.receive_window.as_ref()?, "a window");
        Some(Switch {
            model: NetworkModel::Tcp,
            port_buffer: port_buffer?,
            shared_buffer: shared_buffer?,
            shared_buffer_alpha: alpha,
            retransmit_timeout: timeout?,
            receive_window: window?,
            initial_window: u32::try_from(*raw.initial_window.as_ref()?.get()).ok()?,
            loss_probes: *raw.loss_probes.as_ref()?.get(),
        })
    }

    /// A buffer size; a port may use `times` its free part.
    fn buffer(&mut self, raw: &Size, times: f64, what: &str) -> Option<Bytes> {
        let size = self.size(raw)?;
        let least = Switch::MIN_BUFFER;
        if size.get() as f64 * times >= least.get() as f64 {
            return Some(size);
        }
        let message = format!("{what} must be at least {least}, two full segments");
        self.problems.add(Problem::new(raw.place(), message));
        None
    }

    fn tracking(&mut self, tree: &Table, hosts: &Hosts) -> Option<Tracking> {
        let record = self.part::<At<String>>(tree, "record").and_then(|raw| self.record(&raw));
        let raw: RawTracking = self.part(tree, "tracking")?;
        let mut kinds: Vec<String> = Vec::new();
        for kind in &raw.types {
            let name = kind.get().name();
            if kinds.iter().any(|other| other == name) {
                let message = format!("the record type `{name}` is listed twice");
                self.add(Problem::new(kind.place(), message));
            }
            kinds.push(name.to_owned());
        }
        // without records, recording costs nothing
        let records = record.as_deref() != Some("none");
        let cost = if *raw.overhead.get() {
            Some(self.tracking_cost(&raw, hosts, records)?).filter(|_| records)
        } else {
            None
        };
        let metrics = self.metrics(&raw);
        Some(Tracking { record: record?, kinds, cost, metrics })
    }

    fn metrics(&mut self, raw: &RawTracking) -> Option<Metrics> {
        if !*raw.metrics.get() {
            return None;
        }
        let clock_skew = self.time_within_a_second(raw.clock_skew.as_ref()?)?;
        let sample_delay = self.time_within_a_second(raw.sample_delay.as_ref()?)?;
        Some(Metrics { clock_skew, sample_delay })
    }

    fn tracking_cost(
        &mut self,
        raw: &RawTracking,
        hosts: &Hosts,
        records: bool,
    ) -> Option<TrackingCost> {
        let (buffer, record, batch, store) = (
            raw.buffer.as_ref()?,
            raw.record_size.as_ref()?,
            raw.batch.as_ref()?,
            raw.store.as_ref()?,
        );
        let (raw_buffer, batch_place) = (buffer, batch.place());
        let buffer = self.size_above_zero(buffer, "the buffer of tracking");
        let record = self.size_above_zero(record, "a record");
        let batch = self.size_above_zero(batch, "a batch of records");
        let store = self.store(store, hosts);
        let (buffer, record, batch) = (buffer?, record?, batch?);
        if record > batch {
            let message = format!("a batch of {batch} does not hold one record of {record}");
            self.add(Problem::new(batch_place, message));
        }
        if batch > buffer {
            let message =
                format!("a batch of {batch} never waits in a buffer of {buffer}: it is larger");
            self.add(Problem::new(batch_place, message));
        }
        if records {
            hosts.hold_buffer(buffer, raw_buffer, self);
        }
        Some(TrackingCost { buffer, record, batch, store: store? })
    }

    fn store(&mut self, raw: &At<String>, hosts: &Hosts) -> Option<foretell_units::HostId> {
        let name = raw.get().as_str();
        if name == "auto" {
            return hosts.first_node();
        }
        if let [only] = self
            .host_list([(name, raw.place())], AllowedHosts::Nodes, "the store of records", hosts)?
            .as_slice()
        {
            Some(*only)
        } else {
            let message = format!("the store of records is one node, and `{name}` is several");
            self.add(Problem::new(raw.place(), message));
            None
        }
    }

    /// Normalizes `all`, `none` or `every 1/K requests`.
    fn record(&mut self, raw: &At<String>) -> Option<String> {
        let words: Vec<&str> = raw.get().split_whitespace().collect();
        let found = match *words.as_slice() {
            [word @ ("all" | "none")] => Some(word.to_owned()),
            ["every", fraction, "request" | "requests"] => fraction
                .strip_prefix("1/")
                .and_then(|k| k.parse::<u32>().ok())
                .filter(|&k| k > 0)
                .map(|k| format!("every 1/{k} requests")),
            _ => None,
        };
        if found.is_none() {
            let message = format!("`{}` does not say which requests are recorded", raw.get());
            let help = "write `all`, `none`, or `every 1/100 requests`, with a whole number after \
                        the `1/`";
            self.add(Problem::new(raw.place(), message).help(help));
        }
        found
    }

    fn warmup(
        &mut self,
        tree: &Table,
        workloads: &[workloads::CheckedWorkload],
    ) -> Option<SimSpan> {
        let raw = self.part::<At<String>>(tree, "warmup")?;
        if raw.get() == "auto" {
            let all = |is: fn(&workloads::CheckedWorkload) -> bool| workloads.iter().all(is);
            let ends = tree.get("duration").is_none() && all(|found| found.ends);
            let at_once = all(|found| found.is_trace) || ends;
            let seconds = if at_once && !workloads.is_empty() { 0 } else { 5 };
            return Some(SimSpan::from_secs(seconds));
        }
        self.time_of(raw.get(), raw.place())
    }

    /// Reports a missing duration if some workload never ends.
    fn needs_duration(&mut self, tree: &Table, workloads: &[workloads::CheckedWorkload]) {
        let Some(endless) = workloads.iter().find(|found| !found.ends) else { return };
        let place = tree
            .get("workload")
            .and_then(Node::table)
            .and_then(|section| section.entry(&endless.name))
            .map(|entry| entry.key_place)
            .unwrap_or_default();
        let message =
            format!("the scenario has no `duration`, and workload `{}` never ends", endless.name);
        self.add(Problem::new(place, message).help(
            "add `duration = \"60 s\"` at the top, or give the workload a number of `requests`",
        ));
    }
}

/// The entries of a section whose keys are names.
pub(crate) fn section<'a>(tree: &'a Table, name: &str) -> impl Iterator<Item = &'a Entry> {
    match tree.get(name).map(|node| &node.value) {
        Some(Value::Table(table)) => table.entries.iter(),
        _ => [].iter(),
    }
}
