//! Workloads.

use std::path::PathBuf;

use foretell_units::{Bytes, SECTOR_BYTES, VolumeId};

use super::quantities::Part;
use super::{Context, Hosts, MOST_OUTSTANDING, section, volumes};
use crate::error::Problem;
use crate::model::{Arrivals, Pattern, Think, Volume, Workload, WorkloadKind};
use crate::names::meant;
use crate::raw::{
    At, HostPatterns, RawPattern, RawRecorded, RawRecordedArrivals, RawSsio, RawSsioArrivals,
    RawTrace, RawTraceArrivals, Size,
};
use crate::source::Place;
use crate::tree::{Node, Table};

/// The largest request of a generator.
const MOST_ACCESS: Bytes = Bytes(1 << 30);
/// Most outstanding requests of closed loops.
const MOST_IN_ALL: u64 = 1 << 21;

/// A workload, as far as it is all right.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) is_trace: bool,
    /// Whether it ends by itself.
    pub(crate) ends: bool,
    pub(crate) model: Option<Workload>,
}

impl Context<'_> {
    pub(super) fn workloads(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        volumes: &[volumes::Found],
    ) -> Vec<Found> {
        let mut found = Vec::new();
        for entry in section(tree, "workload") {
            let name = entry.key.clone();
            let table = entry.node.table();
            let kind = table.and_then(|table| table.get("kind")).and_then(Node::text);
            let is_trace = kind == Some("trace");
            // where something is wrong, assume what gives no error
            let broken = self.broken.entry("workload", &name);
            let recorded = kind == Some("recorded");
            let is_trace = is_trace
                || recorded
                    && table.and_then(|t| t.get("arrivals")).and_then(Node::text) == Some("trace");
            let ends = broken
                || is_trace
                || recorded
                || table.is_some_and(|t| t.get("requests").is_some());
            let model = if broken {
                None
            } else if kind == Some("trace") {
                self.read::<RawTrace>(&entry.node)
                    .and_then(|raw| self.trace(&name, &raw, hosts, volumes))
            } else if recorded {
                self.read::<RawRecorded>(&entry.node)
                    .and_then(|raw| self.recorded(&name, &raw, hosts, volumes))
            } else {
                self.read::<RawSsio>(&entry.node)
                    .and_then(|raw| self.ssio(&name, &raw, hosts, volumes))
            };
            found.push(Found { name, is_trace, ends, model });
        }
        self.outstanding_in_all(tree, &found);
        if found.is_empty() && !self.broken.section("workload") && !self.broken.section("") {
            let message = "the scenario has no workload: nothing would happen";
            self.add(
                Problem::new(Place::default(), message)
                    .help("add one, `[workload.NAME]` with `volume`, `client`, `kind` and `reads`"),
            );
        }
        found
    }

    /// Checks that the closed loops do not keep more outstanding than a run has memory for.
    fn outstanding_in_all(&mut self, tree: &Table, found: &[Found]) {
        let mut in_all = 0;
        for (entry, found) in section(tree, "workload").zip(found) {
            let Some(Workload { clients, arrivals, .. }) = &found.model else { continue };
            if let Arrivals::Closed { outstanding, .. } = arrivals {
                in_all += u64::from(*outstanding) * clients.len() as u64;
            }
            if in_all > MOST_IN_ALL {
                let message = format!(
                    "with workload `{}` there are {in_all} outstanding requests; a run has \
                     {MOST_IN_ALL} at the most",
                    found.name
                );
                self.add(Problem::new(entry.key_place, message));
                return;
            }
        }
    }

    fn ssio(
        &mut self,
        name: &str,
        raw: &RawSsio,
        hosts: &Hosts,
        volumes: &[volumes::Found],
    ) -> Option<Workload> {
        let volume = self.volume_of(&raw.volume, volumes);
        let clients = self.clients(name, &raw.client, hosts);
        let read_share = self.share(&raw.reads);
        let access = self.sectors(&raw.access, "an access").and_then(|access| {
            if access > MOST_ACCESS {
                let message = format!("an access cannot be {access}; the largest is {MOST_ACCESS}");
                self.add(Problem::new(raw.access.place(), message));
                return None;
            }
            Some(access)
        });
        let model = volume.and_then(|(_, model)| model);
        let working_set =
            access.zip(model).and_then(|(access, model)| self.working_set(raw, access, model));
        let pattern = self.pattern(raw, access, working_set);
        let arrivals = match raw.arrivals.get() {
            RawSsioArrivals::Poisson => raw
                .rate
                .as_ref()
                .and_then(|rate| self.frequency(rate))
                .map(|rate_rps| Arrivals::Poisson { rate_rps }),
            RawSsioArrivals::Closed => {
                self.closed(raw.outstanding.as_ref(), raw.think.as_ref(), clients.as_deref())
            }
        };
        Some(Workload {
            name: name.to_owned(),
            volume: volume?.0,
            clients: clients?,
            kind: WorkloadKind::Ssio {
                read_share: read_share?,
                pattern: pattern?,
                access: access?,
                working_set: working_set?,
            },
            arrivals: arrivals?,
            requests: requests(raw.requests.as_ref()),
        })
    }

    fn trace(
        &mut self,
        name: &str,
        raw: &RawTrace,
        hosts: &Hosts,
        volumes: &[volumes::Found],
    ) -> Option<Workload> {
        let volume = self.volume_of(&raw.volume, volumes);
        let clients = self.clients(name, &raw.client, hosts);
        let block = raw.block.as_ref().map(|block| self.sectors(block, "a block of a trace"));
        let path = self.trace_file(name, &raw.file);
        let arrivals = match raw.arrivals.get() {
            RawTraceArrivals::Trace => {
                raw.speed_up.as_ref().map(|speed| Arrivals::Trace { speed_up: *speed.get() })
            }
            RawTraceArrivals::Closed => {
                self.closed(raw.outstanding.as_ref(), raw.think.as_ref(), clients.as_deref())
            }
        };
        let format = raw.format.get().as_str();
        Some(Workload {
            name: name.to_owned(),
            volume: volume?.0,
            clients: clients?,
            kind: WorkloadKind::Trace {
                path: path?,
                format: (format != "auto").then(|| format.to_owned()),
                wrap: *raw.wrap.get(),
                block: match block {
                    Some(block) => Some(block?),
                    None => None,
                },
            },
            arrivals: arrivals?,
            requests: requests(raw.requests.as_ref()),
        })
    }

    fn recorded(
        &mut self,
        name: &str,
        raw: &RawRecorded,
        hosts: &Hosts,
        volumes: &[volumes::Found],
    ) -> Option<Workload> {
        let volume = self.volume_of(&raw.volume, volumes);
        let clients = self.clients(name, &raw.client, hosts);
        let arrivals = match raw.arrivals.get() {
            RawRecordedArrivals::Trace => {
                raw.speed_up.as_ref().map(|speed| Arrivals::Trace { speed_up: *speed.get() })
            }
            RawRecordedArrivals::Poisson => raw
                .rate
                .as_ref()
                .and_then(|rate| self.frequency(rate))
                .map(|rate_rps| Arrivals::Poisson { rate_rps }),
            RawRecordedArrivals::Closed => {
                self.closed(raw.outstanding.as_ref(), raw.think.as_ref(), clients.as_deref())
            }
        };
        Some(Workload {
            name: name.to_owned(),
            volume: volume?.0,
            clients: clients?,
            kind: WorkloadKind::Recorded,
            arrivals: arrivals?,
            requests: requests(raw.requests.as_ref()),
        })
    }

    /// The number of a volume, and the volume if it is all right.
    fn volume_of<'v>(
        &mut self,
        raw: &At<String>,
        volumes: &'v [volumes::Found],
    ) -> Option<(VolumeId, Option<&'v Volume>)> {
        let name = raw.get();
        if let Some(index) = volumes.iter().position(|volume| volume.name == *name) {
            return Some((VolumeId::from(index), volumes[index].model.as_ref()));
        }
        if !self.broken.section("volume") {
            let message = format!("there is no volume `{name}`");
            let help = meant(name, volumes.iter().map(|volume| volume.name.as_str()));
            self.add(Problem::new(raw.place(), message).maybe_help(help));
        }
        None
    }

    fn clients(
        &mut self,
        name: &str,
        raw: &At<HostPatterns>,
        hosts: &Hosts,
    ) -> Option<Vec<foretell_units::HostId>> {
        self.hosts_of(raw, false, &format!("workload `{name}`"), hosts)
    }

    /// A size that is not zero and a whole number of sectors.
    fn sectors(&mut self, raw: &Size, what: &str) -> Option<Bytes> {
        let size = self.size_above_zero(raw, what)?;
        if size.get().is_multiple_of(SECTOR_BYTES) {
            return Some(size);
        }
        let near = Bytes(size.get().div_ceil(SECTOR_BYTES) * SECTOR_BYTES);
        let message = format!("{what} of {size} is not a whole number of sectors of 512 B");
        self.add(Problem::new(raw.place(), message).help(format!("the next is \"{near}\"")));
        None
    }

    fn working_set(&mut self, raw: &RawSsio, access: Bytes, volume: &Volume) -> Option<Bytes> {
        if access > volume.size {
            let message = format!(
                "an access of {access} is larger than the volume `{}`, {}",
                volume.name, volume.size
            );
            self.add(Problem::new(raw.access.place(), message));
            return None;
        }
        let place = raw.working_set.place();
        let working_set = match self.part_size(&raw.working_set)? {
            Part::Size(size) => size,
            part @ Part::Share(_) => {
                let bytes = part.of(volume.size, volume.size).get();
                Bytes(bytes / SECTOR_BYTES * SECTOR_BYTES)
            }
            Part::Auto => {
                let message = "a working set is a size or a percentage of the volume";
                self.add(Problem::new(place, message));
                return None;
            }
        };
        if working_set > volume.size {
            let message = format!(
                "a working set of {working_set} is larger than the volume `{}`, {}",
                volume.name, volume.size
            );
            self.add(Problem::new(place, message));
            return None;
        }
        if access > working_set {
            let message =
                format!("a working set of {working_set} does not hold one access of {access}");
            self.add(Problem::new(place, message).also(raw.access.place()));
            return None;
        }
        Some(working_set)
    }

    fn pattern(
        &mut self,
        raw: &RawSsio,
        access: Option<Bytes>,
        working_set: Option<Bytes>,
    ) -> Option<Pattern> {
        match raw.pattern.get() {
            RawPattern::Sequential => Some(Pattern::Sequential),
            RawPattern::Random => Some(Pattern::Random),
            RawPattern::Zipf => raw.alpha.as_ref().map(|a| Pattern::Zipf { alpha: *a.get() }),
            RawPattern::Strided => {
                let raw = raw.step.as_ref()?;
                let step = self.size_above_zero(raw, "a step")?;
                let (access, working_set) = (access?, working_set?);
                if !step.get().is_multiple_of(access.get()) {
                    let near = access * step.div_ceil(access);
                    let message =
                        format!("a step of {step} is not a multiple of the access, {access}");
                    let help = format!("the next is \"{near}\"");
                    self.add(Problem::new(raw.place(), message).help(help));
                } else if step / access.get() >= Bytes(working_set.get() / access.get()) {
                    let message =
                        format!("a step of {step} leaves the working set, {working_set}, at once");
                    self.add(Problem::new(raw.place(), message));
                }
                Some(Pattern::Strided { step })
            }
            RawPattern::HotCold => {
                let raw_fraction = raw.hot_fraction.as_ref()?;
                let fraction = self.share(raw_fraction);
                let share = self.share(raw.hot_share.as_ref()?);
                let (fraction, share) = (fraction?, share?);
                if fraction <= 0.0 || fraction >= 1.0 {
                    let which = if fraction <= 0.0 { "nothing" } else { "everything" };
                    let message = format!("with this fraction, {which} is hot");
                    self.add(Problem::new(raw_fraction.place(), message));
                }
                let (access, working_set) = (access?, working_set?);
                if working_set.get() / access.get() < 2 {
                    let message = format!(
                        "a working set of {working_set} has no hot and cold blocks of {access}"
                    );
                    self.add(Problem::new(raw.working_set.place(), message));
                }
                Some(Pattern::HotCold { fraction, share })
            }
        }
    }

    fn closed(
        &mut self,
        outstanding: Option<&At<i64>>,
        think: Option<&At<String>>,
        clients: Option<&[foretell_units::HostId]>,
    ) -> Option<Arrivals> {
        let think = self.think(think?);
        let raw = outstanding?;
        let outstanding = u32::try_from(*raw.get()).ok()?;
        let instances = clients.map_or(0, <[_]>::len) as u64;
        if u64::from(outstanding) * instances > MOST_OUTSTANDING {
            let message = format!(
                "{outstanding} outstanding requests of each of {instances} clients are more than \
                 {MOST_OUTSTANDING}"
            );
            self.add(Problem::new(raw.place(), message));
        }
        let think: Think = think?;
        Some(Arrivals::Closed { outstanding, think })
    }

    /// The trace, where it is: relative to the scenario, or in a change to the current directory.
    fn trace_file(&mut self, name: &str, raw: &At<String>) -> Option<PathBuf> {
        let path = self.resolve(raw.get(), raw.place());
        let message = if raw.get().trim().is_empty() {
            "the name of the trace is empty".to_owned()
        } else {
            match std::fs::metadata(&path) {
                Ok(file) if file.is_dir() => {
                    format!("the trace `{}` is a directory", path.display())
                }
                Ok(_) => return Some(path),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    format!("there is no trace `{}`", path.display())
                }
                Err(error) => format!("cannot read the trace `{}`: {error}", path.display()),
            }
        };
        let help = format!("give another one with `--set workload.{name}.file=PATH`");
        self.add(Problem::new(raw.place(), message).help(help));
        None
    }

    /// A path as absolute, so that the resolved scenario means the same in any directory.
    pub(crate) fn resolve(&self, path: &str, place: Place) -> PathBuf {
        resolve(path, self.sources.is_change(place), self.base)
    }
}

/// A path as absolute; one of a change is taken from the current directory.
pub(crate) fn resolve(path: &str, is_change: bool, base: &std::path::Path) -> PathBuf {
    let path = if is_change { PathBuf::from(path) } else { base.join(path) };
    std::path::absolute(&path).unwrap_or(path)
}

fn requests(raw: Option<&At<i64>>) -> Option<u64> {
    raw.and_then(|requests| u64::try_from(*requests.get()).ok())
}
