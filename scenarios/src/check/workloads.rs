//! Workloads.

use std::path::PathBuf;

use foretell_units::{Bytes, SECTOR_BYTES, SimSpan, VolumeId};

use super::host_list::AllowedHosts;
use super::quantities::Part;
use super::{Context, Hosts, MAX_OUTSTANDING, section, volumes};
use crate::error::Problem;
use crate::model::{Arrivals, Pattern, Think, Volume, Workload, WorkloadKind};
use crate::names::meant;
use crate::raw::{
    At, HostPatterns, Pacing, RawArrivals, RawChoice, RawCosbench, RawFfsb, RawFio, RawIozone,
    RawOltp, RawPace, RawPattern, RawPostmark, RawRecorded, RawSsio, RawThrough, RawTrace,
    RawTraceArrivals, RawWithin, Size,
};
use crate::source::Place;
use crate::tree::{Node, Table};

/// Maximum request size of a generator.
const MAX_ACCESS: Bytes = Bytes(1 << 30);
/// Maximum outstanding requests of all closed loops together.
const MAX_OUTSTANDING_TOTAL: u64 = 1 << 21;

/// A workload; its model is present if it is valid.
pub(crate) struct CheckedWorkload {
    pub(crate) name: String,
    pub(crate) is_trace: bool,
    /// Whether it ends by itself.
    pub(crate) ends: bool,
    pub(crate) model: Option<Workload>,
}

/// The hosts and volumes that workloads refer to.
#[derive(Clone, Copy)]
struct Around<'a> {
    hosts: &'a Hosts,
    volumes: &'a [volumes::CheckedVolume],
}

/// The volume and the clients of a workload, if they are valid.
struct Placed<'v> {
    volume: Option<(VolumeId, Option<&'v Volume>)>,
    clients: Option<Vec<foretell_units::HostId>>,
}

impl Placed<'_> {
    fn workload(
        self,
        name: &str,
        kind: WorkloadKind,
        arrivals: Arrivals,
        times: Option<PathBuf>,
        requests: Option<u64>,
    ) -> Option<Workload> {
        let (volume, clients) = (self.volume?.0, self.clients?);
        let name = name.to_owned();
        Some(Workload { name, volume, clients, kind, arrivals, times, requests })
    }
}

impl Context<'_> {
    pub(super) fn workloads(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        volumes: &[volumes::CheckedVolume],
    ) -> Vec<CheckedWorkload> {
        let mut found = Vec::new();
        for entry in section(tree, "workload") {
            let name = entry.key.clone();
            let table = entry.node.table();
            let kind = table.and_then(|table| table.get("kind")).and_then(Node::text);
            let at_times = table.and_then(|table| table.get("arrivals")).and_then(Node::text);
            let is_trace =
                kind == Some("trace") || kind == Some("recorded") && at_times == Some("trace");
            // in a wrong workload, assume what causes no further error
            let broken = self.broken.entry("workload", &name);
            let has = |key| table.is_some_and(|table| table.get(key).is_some());
            let ends = broken
                || is_trace
                || at_times == Some("times")
                || ["requests", "transactions", "operations"].into_iter().any(has)
                || matches!(kind, Some("iozone" | "fio" | "cosbench" | "recorded"));
            let around = Around { hosts, volumes };
            let model = if broken {
                None
            } else {
                self.kind(&name, kind.unwrap_or_default(), &entry.node, around)
            };
            if let Some(workload) = &model
                && let Some(volume) = &volumes[workload.volume.index()].model
            {
                self.is_for_gateways(workload, volume, entry.key_place);
            }
            found.push(CheckedWorkload { name, is_trace, ends, model });
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

    /// A workload of a known kind.
    fn kind(&mut self, name: &str, kind: &str, node: &Node, around: Around) -> Option<Workload> {
        match kind {
            "trace" => self.read(node).and_then(|raw| self.trace(name, &raw, around)),
            "oltp" => self.read(node).and_then(|raw| self.oltp(name, &raw, around)),
            "postmark" => self.read(node).and_then(|raw| self.postmark(name, &raw, around)),
            "iozone" => self.read(node).and_then(|raw| self.iozone(name, &raw, around)),
            "recorded" => self.read(node).and_then(|raw| self.recorded(name, &raw, around)),
            "cosbench" => self.read(node).and_then(|raw| self.cosbench(name, &raw, around)),
            "fio" => self.read(node).and_then(|raw| self.fio(name, &raw, around)),
            "ffsb" => self.read(node).and_then(|raw| self.ffsb(name, &raw, around)),
            _ => self.read(node).and_then(|raw| self.ssio(name, &raw, around)),
        }
    }

    /// Checks that the closed loops do not keep more requests outstanding than a run has memory for.
    fn outstanding_in_all(&mut self, tree: &Table, found: &[CheckedWorkload]) {
        let mut in_all = 0;
        for (entry, found) in section(tree, "workload").zip(found) {
            let Some(Workload { clients, arrivals, .. }) = &found.model else { continue };
            if let Arrivals::Closed { outstanding, .. } = arrivals {
                in_all += u64::from(*outstanding) * clients.len() as u64;
            }
            if in_all > MAX_OUTSTANDING_TOTAL {
                let message = format!(
                    "with workload `{}` there are {in_all} outstanding requests; a run has at most \
                     {MAX_OUTSTANDING_TOTAL}",
                    found.name
                );
                self.add(Problem::new(entry.key_place, message));
                return;
            }
        }
    }

    fn ssio(&mut self, name: &str, raw: &RawSsio, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let read_share = self.share(&raw.reads);
        let access = self.access(&raw.access, "an access");
        let model = placed.volume.and_then(|(_, model)| model);
        let working_set =
            access.zip(model).and_then(|(access, model)| self.working_set(raw, access, model));
        let pattern = self.pattern(raw, access, working_set);
        let arrivals = self.arrivals(name, &raw.pace(), placed.clients.as_deref());
        let kind = WorkloadKind::Ssio {
            read_share: read_share?,
            pattern: pattern?,
            access: access?,
            working_set: working_set?,
        };
        let (arrivals, times) = arrivals?;
        placed.workload(name, kind, arrivals, times, requests(raw.requests.as_ref()))
    }

    fn oltp(&mut self, name: &str, raw: &RawOltp, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let record = self.access(&raw.record, "a record");
        let database = self.size_above_zero(&raw.database, "a database");
        self.fits(database, raw.database.place(), "a database", &placed, 1);
        if let Some((record, database)) = record.zip(database)
            && record > database
        {
            let message = format!("a database of {database} does not hold one record of {record}");
            self.add(Problem::new(raw.database.place(), message).also(raw.record.place()));
            return None;
        }
        let pattern = match raw.pattern.get() {
            RawChoice::Random => Some(Pattern::Random),
            RawChoice::Zipf => raw.alpha.as_ref().map(|a| Pattern::Zipf { alpha: *a.get() }),
        };
        let server_cache = self.server_cache(*raw.through.get(), raw.server_cache.as_ref());
        let arrivals = self.arrivals(name, &raw.pace(), placed.clients.as_deref());
        let kind = WorkloadKind::Oltp {
            database: database?,
            record: record?,
            records: count(&raw.records)?,
            pattern: pattern?,
            server_cache: server_cache?,
            transactions: requests(raw.transactions.as_ref()),
        };
        let (arrivals, times) = arrivals?;
        placed.workload(name, kind, arrivals, times, None)
    }

    fn postmark(&mut self, name: &str, raw: &RawPostmark, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let smallest = self.size_above_zero(&raw.smallest, "a file");
        let largest = self.size_above_zero(&raw.largest, "a file");
        if let Some((smallest, largest)) = smallest.zip(largest)
            && smallest > largest
        {
            let message =
                format!("the smallest file, {smallest}, is larger than the largest, {largest}");
            self.add(Problem::new(raw.smallest.place(), message).also(raw.largest.place()));
            return None;
        }
        if largest.is_some_and(|largest| largest > MAX_ACCESS) {
            let message = format!("a file that is read whole is at most {MAX_ACCESS}");
            self.add(Problem::new(raw.largest.place(), message));
            return None;
        }
        let (read_share, create_share) = (self.share(&raw.reads), self.share(&raw.creations));
        let server_cache = self.server_cache(*raw.through.get(), raw.server_cache.as_ref());
        let arrivals = self.arrivals(name, &raw.pace(), placed.clients.as_deref());
        let kind = WorkloadKind::Postmark {
            files: count(&raw.files)?,
            transactions: u64::try_from(*raw.transactions.get()).ok()?,
            subdirectories: count(&raw.subdirectories)?,
            smallest: smallest?,
            largest: largest?,
            read_share: read_share?,
            create_share: create_share?,
            server_cache: server_cache?,
        };
        let (arrivals, times) = arrivals?;
        placed.workload(name, kind, arrivals, times, None)
    }

    fn iozone(&mut self, name: &str, raw: &RawIozone, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let record = self.access(&raw.record, "a record");
        let file = self.size_above_zero(&raw.file, "a file");
        let instances = placed.clients.as_ref().map_or(1, Vec::len) as u64;
        self.fits(file, raw.file.place(), "a file", &placed, instances);
        let server_cache = self.server_cache(*raw.through.get(), raw.server_cache.as_ref());
        let arrivals = self.arrivals(name, &raw.pace(), placed.clients.as_deref());
        let kind = WorkloadKind::Iozone {
            file: file?,
            record: record?,
            passes: u64::try_from(*raw.passes.get()).ok()?,
            server_cache: server_cache?,
        };
        let (arrivals, times) = arrivals?;
        placed.workload(name, kind, arrivals, times, None)
    }

    fn ffsb(&mut self, name: &str, raw: &RawFfsb, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let request = self.access(&raw.request, "a sub-request");
        let file = self.size_above_zero(&raw.file, "a file");
        let file_set = self.size_above_zero(&raw.file_set, "a set of files");
        self.fits(file_set, raw.file_set.place(), "a set of files", &placed, 1);
        for (part, part_place, whole, whole_place, what) in [
            (request, raw.request.place(), file, raw.file.place(), "a sub-request"),
            (file, raw.file.place(), file_set, raw.file_set.place(), "a file"),
        ] {
            if let Some((part, whole)) = part.zip(whole)
                && part > whole
            {
                let message = format!("{what} of {part} is larger than what it is in, {whole}");
                self.add(Problem::new(part_place, message).also(whole_place));
                return None;
            }
        }
        let read_share = self.share(&raw.reads);
        let arrivals = self.arrivals(name, &raw.pace(), placed.clients.as_deref());
        let kind = WorkloadKind::Ffsb {
            read_share: read_share?,
            file_set: file_set?,
            file: file?,
            request: request?,
            sub_requests: count(&raw.sub_requests)?,
            sequential: *raw.pattern.get() == RawWithin::Sequential,
            operations: requests(raw.operations.as_ref()),
        };
        let (arrivals, times) = arrivals?;
        placed.workload(name, kind, arrivals, times, None)
    }

    /// The size of a workload's requests.
    fn access(&mut self, raw: &Size, what: &str) -> Option<Bytes> {
        let access = self.sectors(raw, what)?;
        if access > MAX_ACCESS {
            let message = format!("{what} cannot be {access}; the largest is {MAX_ACCESS}");
            self.add(Problem::new(raw.place(), message));
            return None;
        }
        Some(access)
    }

    /// Reports that `times` times the data of a workload exceed its volume.
    fn fits(&mut self, size: Option<Bytes>, place: Place, what: &str, placed: &Placed, times: u64) {
        let volume = placed.volume.and_then(|(_, model)| model);
        let Some((size, volume)) = size.zip(volume) else { return };
        if size.get().saturating_mul(times) <= volume.size.get() {
            return;
        }
        let of_each =
            if times > 1 { format!(" for each of {times} clients") } else { String::new() };
        let message = format!(
            "{what} of {size}{of_each} does not fit the volume `{}`, {}",
            volume.name, volume.size
        );
        self.add(Problem::new(place, message));
    }

    /// The cache of a file server in front of a benchmark, if there is one.
    #[expect(clippy::option_option, reason = "wrong, or none, or some")]
    fn server_cache(&mut self, through: RawThrough, raw: Option<&Size>) -> Option<Option<Bytes>> {
        match through {
            RawThrough::Direct => Some(None),
            RawThrough::FileServer => self.size(raw?).map(Some),
        }
    }

    fn placed<'v>(
        &mut self,
        name: &str,
        volume: &At<String>,
        client: &At<HostPatterns>,
        around: Around<'v>,
    ) -> Placed<'v> {
        Placed {
            volume: self.volume_of(volume, around.volumes),
            clients: self.clients(name, client, around.hosts),
        }
    }

    fn arrivals(
        &mut self,
        name: &str,
        raw: &RawPace,
        clients: Option<&[foretell_units::HostId]>,
    ) -> Option<(Arrivals, Option<PathBuf>)> {
        if raw.arrivals == Pacing::Own(RawArrivals::Times) {
            let path = self.trace_file(name, "times", raw.times?);
            return Some((Arrivals::Times { speed_up: *raw.speed_up?.get() }, Some(path?)));
        }
        self.own_arrivals(raw, clients).map(|arrivals| (arrivals, None))
    }

    fn own_arrivals(
        &mut self,
        raw: &RawPace,
        clients: Option<&[foretell_units::HostId]>,
    ) -> Option<Arrivals> {
        let arrivals = match raw.arrivals {
            Pacing::Own(arrivals) => arrivals,
            Pacing::Trace => return Some(Arrivals::Trace { speed_up: *raw.speed_up?.get() }),
        };
        match arrivals {
            RawArrivals::Closed => self.closed(raw.outstanding, raw.think, clients),
            RawArrivals::Poisson => {
                self.frequency(raw.rate?).map(|rate_rps| Arrivals::Poisson { rate_rps })
            }
            RawArrivals::Deterministic => {
                self.frequency(raw.rate?).map(|rate_rps| Arrivals::Deterministic { rate_rps })
            }
            RawArrivals::Bursty => {
                let burst_rps = self.frequency(raw.burst_rate?);
                let burst = self.time_above_zero(raw.burst?, "a burst");
                let quiet = self.time_above_zero(raw.quiet?, "the time between bursts");
                let quiet_rps = match raw.quiet_rate {
                    Some(rate) => self.frequency(rate),
                    None => Some(0.0),
                };
                Some(Arrivals::Bursty {
                    quiet_rps: quiet_rps?,
                    quiet: quiet?,
                    burst_rps: burst_rps?,
                    burst: burst?,
                })
            }
            RawArrivals::Times => None,
        }
    }

    fn trace(&mut self, name: &str, raw: &RawTrace, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let block = raw.block.as_ref().map(|block| self.sectors(block, "a block of a trace"));
        let path = self.trace_file(name, "file", &raw.file);
        let arrivals = match raw.arrivals.get() {
            RawTraceArrivals::Trace => {
                raw.speed_up.as_ref().map(|speed| Arrivals::Trace { speed_up: *speed.get() })
            }
            RawTraceArrivals::Closed => {
                self.closed(raw.outstanding.as_ref(), raw.think.as_ref(), placed.clients.as_deref())
            }
        };
        let format = raw.format.get().as_str();
        let read_share = raw.reads.as_ref().map(|reads| self.share(reads));
        let access = raw.access.as_ref().map(|raw| {
            let access = self.access(raw, "a request");
            self.fits(access, raw.place(), "a request", &placed, 1);
            access
        });
        let kind = WorkloadKind::Trace {
            path: path?,
            format: (format != "auto").then(|| format.to_owned()),
            wrap: *raw.wrap.get(),
            block: match block {
                Some(block) => Some(block?),
                None => None,
            },
            device: raw.device.as_ref().map(|device| device.get().clone()),
            blkparse_action: self.action(&raw.blkparse_action)?,
            skip_bad: *raw.skip_bad.get(),
            read_share: match read_share {
                Some(share) => Some(share?),
                None => None,
            },
            access: match access {
                Some(access) => Some(access?),
                None => None,
            },
        };
        placed.workload(name, kind, arrivals?, None, requests(raw.requests.as_ref()))
    }

    fn fio(&mut self, name: &str, raw: &RawFio, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let path = self.input_file("job file", name, "file", &raw.file)?;
        // the jobs define their own outstanding requests
        let arrivals = Arrivals::Closed { outstanding: 1, think: Think::Fixed(SimSpan::ZERO) };
        placed.workload(name, WorkloadKind::Fio { path }, arrivals, None, None)
    }

    fn cosbench(&mut self, name: &str, raw: &RawCosbench, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let path = self.input_file("workload file", name, "file", &raw.file)?;
        // the works define their own workers
        let arrivals = Arrivals::Closed { outstanding: 1, think: Think::Fixed(SimSpan::ZERO) };
        placed.workload(name, WorkloadKind::Cosbench { path }, arrivals, None, None)
    }

    fn recorded(&mut self, name: &str, raw: &RawRecorded, around: Around) -> Option<Workload> {
        let placed = self.placed(name, &raw.volume, &raw.client, around);
        let arrivals = self.arrivals(name, &raw.pace(), placed.clients.as_deref());
        let (arrivals, times) = arrivals?;
        placed.workload(
            name,
            WorkloadKind::Recorded,
            arrivals,
            times,
            requests(raw.requests.as_ref()),
        )
    }

    /// The number of a volume, and the volume if it is valid.
    pub(super) fn volume_of<'v>(
        &mut self,
        raw: &At<String>,
        volumes: &'v [volumes::CheckedVolume],
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
        // a client may share its machine with servers of objects
        let allowed = if self.keeps_objects { AllowedHosts::Both } else { AllowedHosts::Clients };
        self.hosts_of(raw, allowed, &format!("workload `{name}`"), hosts)
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
        if u64::from(outstanding) * instances > MAX_OUTSTANDING {
            let message = format!(
                "{outstanding} outstanding requests of each of {instances} clients are more than \
                 {MAX_OUTSTANDING}"
            );
            self.add(Problem::new(raw.place(), message));
        }
        let think: Think = think?;
        Some(Arrivals::Closed { outstanding, think })
    }

    /// An action of blkparse.
    fn action(&mut self, raw: &At<String>) -> Option<char> {
        let mut letters = raw.get().chars();
        let letter = letters.next().filter(char::is_ascii_uppercase);
        if let (Some(letter), None) = (letter, letters.next()) {
            return Some(letter);
        }
        let message = format!("`{}` is no action of blkparse", raw.get());
        let help =
            "an action is a capital letter, such as `Q` (queued) or `D` (sent to the device)";
        self.add(Problem::new(raw.place(), message).help(help));
        None
    }

    /// The trace's path: relative to the scenario, or in a change relative to the current directory.
    fn trace_file(&mut self, name: &str, key: &str, raw: &At<String>) -> Option<PathBuf> {
        self.input_file("trace", name, key, raw)
    }

    /// The path of a file that a workload reads, `what`.
    fn input_file(
        &mut self,
        what: &str,
        name: &str,
        key: &str,
        raw: &At<String>,
    ) -> Option<PathBuf> {
        let path = match self.file(raw.get(), raw.place()) {
            Ok(path) => path,
            Err(message) => {
                self.add(Problem::new(raw.place(), message));
                return None;
            }
        };
        let message = if raw.get().trim().is_empty() {
            format!("the name of the {what} is empty")
        } else {
            match std::fs::metadata(&path) {
                Ok(file) if file.is_dir() => {
                    format!("the {what} `{}` is a directory", path.display())
                }
                Ok(_) => return Some(path),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    format!("there is no {what} `{}`", path.display())
                }
                Err(error) => format!("cannot read the {what} `{}`: {error}", path.display()),
            }
        };
        let help = format!("give another one with `--set workload.{name}.{key}=PATH`");
        self.add(Problem::new(raw.place(), message).help(help));
        None
    }
}

/// A count whose range was checked.
fn count(raw: &At<i64>) -> Option<u32> {
    u32::try_from(*raw.get()).ok()
}

fn requests(raw: Option<&At<i64>>) -> Option<u64> {
    raw.and_then(|requests| u64::try_from(*requests.get()).ok())
}
