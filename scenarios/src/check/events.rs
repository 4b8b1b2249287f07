//! Checks events: their targets, times and actions, and whether they are possible.

use foretell_units::{HostId, SimSpan};

use super::host_list::AllowedHosts;
use super::topology::racks;
use super::{Context, Hosts, section, volumes, workloads};
use crate::error::Problem;
use crate::model::{System, usual_min_size};
use crate::names::nearest;
use crate::outages::{Action, Event, Outages, Part};
use crate::raw::{At, HostPatterns, RawEvent, RawVolume, RawWhat};
use crate::source::Place;
use crate::tree::{Entry, Node, Table, Value};

/// The number of a disk, written only in digits.
fn disk_number(text: &str) -> Option<usize> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// An event at one host, and its place in the text.
pub(super) struct EventStep {
    pub(super) event: Event,
    pub(super) place: Place,
    /// Whether it is the end of the event, after the time in `for`.
    pub(super) is_end: bool,
}

impl Context<'_> {
    /// The events of a scenario; `None` inside if there are none. Errors if some are wrong, which was reported.
    pub(super) fn events(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        volumes: &[volumes::CheckedVolume],
        workloads: &[workloads::CheckedWorkload],
        system: Option<&System>,
        duration: Option<SimSpan>,
    ) -> Result<Option<Outages>, ()> {
        let mut entries = section(tree, "event").peekable();
        if entries.peek().is_none() {
            self.refuse_without_events(tree);
            return Ok(None);
        }
        self.fits_events(tree, system);
        let recovery = self.part(tree, "recovery").and_then(|raw| self.recovery(&raw, volumes));
        let mut steps = Vec::new();
        let mut good = true;
        for entry in entries {
            let broken = self.broken.entry("event", &entry.key);
            let raw: Option<RawEvent> = if broken { None } else { self.read(&entry.node) };
            let found = raw.and_then(|raw| self.event(entry, &raw, tree, hosts, duration));
            good &= found.is_some();
            steps.extend(found.into_iter().flatten());
        }
        // at equal times, events that end something come first
        steps.sort_by_key(|step| {
            let begins = match step.event.action {
                Action::Fail { .. } | Action::Drain => true,
                Action::Slow { factor } => factor > 1.0,
                Action::Return | Action::Add | Action::Set { .. } => false,
            };
            (step.event.at, begins)
        });
        good &= self.possible(&mut steps, hosts, duration);
        good &= self.disks_are_servers || self.enough_members(&steps, hosts, volumes);
        good &= self.without_clients(&steps, hosts, workloads);
        good &= self.without_relays(&steps, hosts, system);
        let events = steps.into_iter().map(|step| step.event).collect();
        match recovery {
            Some(recovery) if good => Ok(Some(Outages { events, recovery, settings: Vec::new() })),
            _ => Err(()),
        }
    }

    /// Reports settings that have a meaning only with events.
    fn refuse_without_events(&mut self, tree: &Table) {
        let help =
            "add an event, such as `[event.crash]` with `at`, `what` and `host`, or leave it out";
        if let Some(entry) = tree.entry("recovery") {
            let message = "`recovery` has no effect in a scenario without events";
            self.add(Problem::new(entry.key_place, message).help(help));
        }
    }

    /// Reports settings that cannot be combined with events.
    fn fits_events(&mut self, tree: &Table, system: Option<&System>) {
        let first = section(tree, "event").next().map_or_else(Place::default, |e| e.key_place);
        if let Some(system) = system.filter(|system| !system.traits().has_events()) {
            let message =
                format!("events are not simulated with `system = \"{}\"` yet", system.name());
            let help = "leave the events out; `ursa-minor`, `ceph` and `swift` have them";
            self.add(Problem::new(first, message).help(help));
        }
        self.fits_swift(tree);
        if self.keeps_objects {
            self.without_own_objects(tree, first);
        }
        if self.disks_are_servers {
            self.fits_ceph(tree);
        } else {
            let recovery = tree.get("recovery").and_then(Node::table);
            if let Some(entry) = recovery.and_then(|table| table.entry("max_backfills")) {
                let message = "`max_backfills` has no effect: it is Ceph's";
                self.add(Problem::new(entry.key_place, message).help("leave it out"));
            }
        }
        if let Some(entry) = tree.entry("intervals") {
            let message = "`intervals` may begin measuring again, which events do not follow";
            self.add(Problem::new(entry.key_place, message).also(first).help("leave it out"));
        }
        for client in section(tree, "client") {
            let guest = client.node.table().and_then(|table| table.entry("guest"));
            if let Some(guest) = guest {
                let message = format!(
                    "client `{}` has guests; what their block layers do in a failure is not \
                     simulated yet",
                    client.key
                );
                let help = "leave `guest` out, or the events";
                self.add(Problem::new(guest.key_place, message).also(first).help(help));
            }
        }
    }

    /// Reports workloads whose objects have sizes of their own.
    fn without_own_objects(&mut self, tree: &Table, first: Place) {
        for entry in section(tree, "workload") {
            let kind = entry.node.table().and_then(|table| table.get("kind"));
            if let Some(kind) = kind.filter(|kind| kind.text() == Some("cosbench")) {
                let message = format!(
                    "workload `{}` has objects of its own sizes, which are not recovered yet",
                    entry.key
                );
                let help = "use `ssio` or another kind, or leave the events out";
                self.add(Problem::new(kind.place, message).also(first).help(help));
            }
        }
    }

    /// Reports clients on hosts that fail.
    fn without_clients(
        &mut self,
        steps: &[EventStep],
        hosts: &Hosts,
        workloads: &[workloads::CheckedWorkload],
    ) -> bool {
        let mut good = true;
        for step in steps {
            let host = step.event.host;
            let fails = matches!(step.event.action, Action::Fail { .. });
            let runs = |found: &&workloads::CheckedWorkload| {
                found.model.as_ref().is_some_and(|workload| workload.clients.contains(&host))
            };
            let Some(found) = workloads.iter().find(runs).filter(|_| fails) else { continue };
            let name = found.model.as_ref().map_or("", |workload| workload.name.as_str());
            let message = format!(
                "`{}` fails (event `{}`), and workload `{name}` has a client there; failures of \
                 clients are not simulated yet",
                hosts.name(host),
                step.event.name
            );
            let help = "let the workload run on other hosts, of a group in `[client]`";
            self.add(Problem::new(step.place, message).help(help));
            good = false;
        }
        good
    }

    /// Reports gateways on hosts that fail.
    fn without_relays(
        &mut self,
        steps: &[EventStep],
        hosts: &Hosts,
        system: Option<&System>,
    ) -> bool {
        let relays = system.map_or(&[][..], |system| system.traits().relays());
        let fails = |step: &&EventStep| {
            let is_disk = matches!(step.event.part, Part::Disk(_));
            matches!(step.event.action, Action::Fail { .. }) && !is_disk
        };
        let mut failing = steps.iter().filter(fails);
        let Some(step) = failing.find(|step| relays.contains(&step.event.host)) else {
            return true;
        };
        let what = if matches!(step.event.part, Part::Link) { "the link of " } else { "" };
        let message = format!(
            "{what}`{}` fails (event `{}`), and a gateway runs there; failures of gateways are not simulated yet",
            hosts.name(step.event.host),
            step.event.name
        );
        let help = "let the gateway run on other hosts, of a group in `[client]`";
        self.add(Problem::new(step.place, message).help(help));
        false
    }

    fn event(
        &mut self,
        entry: &Entry,
        raw: &RawEvent,
        tree: &Table,
        hosts: &Hosts,
        duration: Option<SimSpan>,
    ) -> Option<Vec<EventStep>> {
        let (name, what) = (&entry.key, *raw.what.get());
        if self.is_swift() && self.is_not_of_swift(name, raw) {
            return None;
        }
        if let (RawWhat::Add | RawWhat::Drain, Some(disk)) = (what, &raw.disk)
            && !self.disks_are_servers
        {
            let message = format!(
                "event `{name}`: a disk alone cannot join or leave; files are striped over all disks \
                 of a node"
            );
            self.add(Problem::new(disk.place(), message).help("name its `host`"));
            return None;
        }
        if let (RawWhat::Add | RawWhat::Drain, Some(link)) = (what, &raw.link) {
            let message = format!("event `{name}`: a link cannot join or leave");
            self.add(Problem::new(link.place(), message).help("name its `host`"));
            return None;
        }
        let at = self.time(&raw.at);
        if what == RawWhat::Set {
            return self.sets(entry, raw, at, duration);
        }
        let targets = self.targets(entry, raw, tree, hosts);
        let lasts = match &raw.lasts {
            Some(time) => self.time_above_zero(time, "the time for which an event lasts").map(Some),
            None => Some(None),
        };
        let action = match (what, &raw.factor) {
            // a wrong factor was already reported
            (RawWhat::Slow, None) if !self.problems.is_empty() => return None,
            (RawWhat::Slow, None) => {
                let message = format!("event `{name}` does not say how slow: it has no `factor`");
                let help = "add `factor = 4.0` for four times as long";
                self.add(Problem::new(entry.key_place, message).help(help));
                return None;
            }
            (RawWhat::Slow, Some(factor)) if *factor.get() <= 1.0 => {
                let message = format!(
                    "event `{name}` has no effect: with a `factor` of {} the host is as fast as before",
                    factor.get()
                );
                let help = "write `factor = 4.0` for four times as long";
                self.add(Problem::new(factor.place(), message).help(help));
                return None;
            }
            (RawWhat::Slow, Some(factor)) => Action::Slow { factor: *factor.get() },
            (RawWhat::Add, _) => Action::Add,
            (RawWhat::Drain, _) => Action::Drain,
            (RawWhat::Return, _) => Action::Return,
            // a failed link loses no data
            _ => Action::Fail { keeps: lasts.flatten().is_some() || raw.link.is_some() },
        };
        let (at, lasts, targets) = (at?, lasts?, targets?);
        self.within(entry, at, raw.at.place(), duration)?;
        let ends = match action {
            Action::Slow { .. } => Action::Slow { factor: 1.0 },
            _ => Action::Return,
        };
        let place = entry.key_place;
        let mut steps = Vec::new();
        for (host, part) in targets {
            let event = |at, action| Event { name: name.clone(), at, host, part, action };
            steps.push(EventStep { event: event(at, action), place, is_end: false });
            if let Some(lasts) = lasts {
                steps.push(EventStep { event: event(at + lasts, ends), place, is_end: true });
            }
        }
        Some(steps)
    }

    /// Reports an event that is not simulated with Swift.
    fn is_not_of_swift(&mut self, name: &str, raw: &RawEvent) -> bool {
        let what = *raw.what.get();
        let (message, help, place) = match (what, &raw.disk) {
            (RawWhat::Add | RawWhat::Drain, Some(disk)) => (
                format!(
                    "event `{name}`: that a disk alone joins or leaves is not simulated with Swift yet"
                ),
                "name its `host`",
                disk.place(),
            ),
            (RawWhat::Set, _) => (
                format!("event `{name}` changes settings, which is not simulated with Swift yet"),
                "leave it out",
                raw.what.place(),
            ),
            _ => return false,
        };
        self.add(Problem::new(place, message).help(help));
        true
    }

    /// Checks that an event is within the run.
    fn within(
        &mut self,
        entry: &Entry,
        at: SimSpan,
        place: Place,
        duration: Option<SimSpan>,
    ) -> Option<()> {
        let Some(end) = duration.filter(|end| at >= *end) else { return Some(()) };
        let name = &entry.key;
        let message = format!("event `{name}` would happen at {at}, and the run ends at {end}");
        let help = "times of events count from the end of the warm-up";
        self.add(Problem::new(place, message).help(help));
        None
    }

    /// An event that changes settings; the new values are checked later.
    fn sets(
        &mut self,
        entry: &Entry,
        raw: &RawEvent,
        at: Option<SimSpan>,
        duration: Option<SimSpan>,
    ) -> Option<Vec<EventStep>> {
        let name = &entry.key;
        let whose = [
            raw.host.as_ref().map(|raw| ("host", raw.place())),
            raw.disk.as_ref().map(|raw| ("disk", raw.place())),
            raw.link.as_ref().map(|raw| ("link", raw.place())),
            raw.rack.as_ref().map(|raw| ("rack", raw.place())),
        ];
        if let Some((key, place)) = whose.into_iter().flatten().next() {
            let message = format!("event `{name}` changes settings, which have no `{key}`");
            self.add(Problem::new(place, message).help("leave it out"));
            return None;
        }
        if raw.set.as_ref().is_none_or(|set| set.keys().next().is_none()) {
            if self.problems.is_empty() {
                let message = format!("event `{name}` does not say what it sets");
                let help = "add `set = { \"volume.mail.encoding\" = \"3-of-5\" }`";
                self.add(Problem::new(entry.key_place, message).help(help));
            }
            return None;
        }
        self.within(entry, at?, raw.at.place(), duration)?;
        Some(Vec::new())
    }

    /// The hosts that an event concerns.
    fn targets(
        &mut self,
        entry: &Entry,
        raw: &RawEvent,
        tree: &Table,
        hosts: &Hosts,
    ) -> Option<Vec<(HostId, Part)>> {
        let name = &entry.key;
        let RawEvent { host, disk, link, rack, .. } = raw;
        let given = [
            host.as_ref().map(|raw| ("host", raw.place())),
            disk.as_ref().map(|raw| ("disk", raw.place())),
            link.as_ref().map(|raw| ("link", raw.place())),
            rack.as_ref().map(|raw| ("rack", raw.place())),
        ];
        let given: Vec<(&str, Place)> = given.into_iter().flatten().collect();
        match given.as_slice() {
            [] => {
                let message = format!("event `{name}` does not say what it happens to");
                let help = "add `host = \"brick3\"` or `disk = \"brick3.disk0\"`";
                self.add(Problem::new(entry.key_place, message).help(help));
                None
            }
            [_] => {
                let whose = format!("event `{name}`");
                let found = match (host, disk, link, rack) {
                    (Some(patterns), ..) => {
                        self.hosts_of(patterns, AllowedHosts::Nodes, &whose, hosts)
                    }
                    (_, Some(disk), ..) => {
                        return self.disk(disk, raw, &whose, hosts).map(|one| vec![one]);
                    }
                    (.., Some(patterns), _) => {
                        let found = self.links(patterns, raw, &whose, hosts)?;
                        return Some(found.into_iter().map(|host| (host, Part::Link)).collect());
                    }
                    (.., Some(rack)) => self.rack(rack, &whose, tree, hosts),
                    _ => None,
                };
                Some(found?.into_iter().map(|host| (host, Part::Whole)).collect())
            }
            [(one, _), (other, place), ..] => {
                let message = format!("event `{name}` is about a `{one}` and a `{other}`");
                self.add(Problem::new(*place, message).help("make them two events"));
                None
            }
        }
    }

    /// The hosts whose links an event concerns.
    fn links(
        &mut self,
        patterns: &At<HostPatterns>,
        event: &RawEvent,
        whose: &str,
        hosts: &Hosts,
    ) -> Option<Vec<HostId>> {
        // clients' links may be slow; clients that are cut off are not simulated
        let slow = *event.what.get() == RawWhat::Slow;
        let allowed = if slow { AllowedHosts::Both } else { AllowedHosts::Nodes };
        let found = self.hosts_of(patterns, allowed, whose, hosts)?;
        let shares = |host: &&HostId| hosts.get(**host).is_some_and(|host| host.machine.is_some());
        if let Some(host) = found.iter().find(shares) {
            let message = format!(
                "{whose}: `{}` is a virtual machine, and others share its machine's link",
                hosts.name(*host)
            );
            let help = "name the `host`s that are on the machine";
            self.add(Problem::new(patterns.place(), message).help(help));
            return None;
        }
        Some(found)
    }

    /// The nodes in a rack.
    fn rack(
        &mut self,
        raw: &At<String>,
        whose: &str,
        tree: &Table,
        hosts: &Hosts,
    ) -> Option<Vec<HostId>> {
        let (name, mut racks) = (raw.get().trim(), racks(tree, hosts));
        let found = racks.remove(name);
        if found.is_none() {
            let message = format!("{whose}: no node is in a rack `{name}`");
            let help = match nearest(name, racks.keys().map(String::as_str)) {
                Some(other) => format!("did you mean `{other}`?"),
                None if racks.is_empty() => {
                    let instead = "name the hosts instead, `host = \"brick[0-2]\"`";
                    format!("{instead}, or give nodes a `rack`")
                }
                None => {
                    let names: Vec<&str> = racks.keys().map(String::as_str).take(8).collect();
                    format!("there are `{}`", names.join("`, `"))
                }
            };
            self.add(Problem::new(raw.place(), message).help(help));
        }
        found
    }

    /// The node of a disk, such as `brick3.disk0`.
    fn disk(
        &mut self,
        raw: &At<String>,
        event: &RawEvent,
        whose: &str,
        hosts: &Hosts,
    ) -> Option<(HostId, Part)> {
        let (text, place) = (raw.get().as_str(), raw.place());
        let slow = *event.what.get() == RawWhat::Slow;
        let parts = text.rsplit_once(".disk");
        let Some((host, number)) =
            parts.and_then(|(host, number)| Some((host, disk_number(number)?)))
        else {
            let message = format!("`{text}` is not a disk of a storage node");
            self.add(Problem::new(place, message).help("a disk is such as `brick3.disk0`"));
            return None;
        };
        let found = self.host_list([(host, place)], AllowedHosts::Nodes, whose, hosts)?;
        let &[host] = found.as_slice() else {
            let message = format!("{whose} names the disk of one host, and `{host}` is several");
            self.add(Problem::new(place, message));
            return None;
        };
        let storage = hosts.get(host)?.role.storage()?;
        let (count, name) = (storage.disks.len(), hosts.name(host));
        if (count..storage.device_count()).contains(&number) {
            let message = format!(
                "device {number} of `{name}` has databases or logs of OSDs: that it fails is not modelled"
            );
            let help = "name the OSDs that lose them, each in its own event";
            self.add(Problem::new(place, message).help(help));
            return None;
        }
        if number >= count {
            let message = format!("`{name}` has no disk {number}");
            let last = count - 1;
            let help = match last {
                0 => format!("its only disk is `{name}.disk0`"),
                _ => format!("its disks are `{name}.disk0` to `{name}.disk{last}`"),
            };
            self.add(Problem::new(place, message).help(help));
            return None;
        }
        if storage.shared_by > 1 {
            let (what, help) = if slow {
                ("slow down", "name the hosts")
            } else {
                ("fail", "name the hosts, which fail together")
            };
            let message = format!(
                "`{name}` is a virtual machine: a disk that several share cannot {what} yet"
            );
            self.add(Problem::new(place, message).help(help));
            return None;
        }
        // if files are striped over disks, the whole node fails with one disk
        let alone = slow || self.disks_are_servers || self.is_swift();
        Some((host, if alone { Part::Disk(number as u32) } else { Part::Whole }))
    }

    /// Checks that volumes always have as many nodes as fragments, and that each host that joins or
    /// is drained belongs to one.
    fn enough_members(
        &mut self,
        steps: &[EventStep],
        hosts: &Hosts,
        volumes: &[volumes::CheckedVolume],
    ) -> bool {
        let moves = |step: &&EventStep| matches!(step.event.action, Action::Add | Action::Drain);
        let joins = |host: &HostId| {
            let is_it =
                |step: &&EventStep| step.event.action == Action::Add && step.event.host == *host;
            steps.iter().find(is_it)
        };
        let models: Option<Vec<_>> = volumes.iter().map(|found| found.model.as_ref()).collect();
        let Some(models) = models else { return false };
        let mut good = true;
        for step in steps.iter().filter(moves) {
            if models.iter().any(|volume| volume.nodes.contains(&step.event.host)) {
                continue;
            }
            let (name, what) = (hosts.name(step.event.host), step.event.action.name());
            let message = format!(
                "event `{}` has no effect: no volume is on `{name}`, which is to `{what}`",
                step.event.name
            );
            let help = format!("name `{name}` in the `nodes` of a volume, those that join too");
            self.add(Problem::new(step.place, message).help(help));
            good = false;
        }
        for volume in models {
            let n = usize::from(volume.n());
            let mut members: Vec<HostId> = volume.nodes.clone();
            members.retain(|node| joins(node).is_none());
            let first = volume.nodes.iter().find_map(joins).filter(|_| members.len() < n);
            if let Some(step) = first {
                let message = format!(
                    "volume `{}` writes {n} fragments of each block, and before event `{}` it is on {} \
                     node{}",
                    volume.name,
                    step.event.name,
                    members.len(),
                    if members.len() == 1 { "" } else { "s" }
                );
                let help = "what joins is not there until then: let the volume have more nodes";
                self.add(Problem::new(step.place, message).help(help));
                good = false;
                continue;
            }
            for step in steps.iter().filter(moves) {
                let host = step.event.host;
                if !volume.nodes.contains(&host) {
                    continue;
                }
                if step.event.action == Action::Add {
                    members.push(host);
                    continue;
                }
                members.retain(|node| *node != host);
                if members.len() < n {
                    let message = format!(
                        "`{}` cannot be drained (event `{}`): volume `{}` writes {n} fragments of each \
                         block, and {} node{} would be left",
                        hosts.name(host),
                        step.event.name,
                        volume.name,
                        members.len(),
                        if members.len() == 1 { "" } else { "s" }
                    );
                    let help = "let another node join first, with an event of its own";
                    self.add(Problem::new(step.place, message).help(help));
                    good = false;
                    break;
                }
            }
        }
        good
    }

    /// Minimum copies or shards with which a placement group serves requests.
    pub(super) fn min_size(&mut self, raw: &RawVolume, m: u8, n: u8) -> Option<u8> {
        if let Some(least) = &raw.min_write {
            let message = "`min_write` has no effect with Ceph, which reads no more than it writes \
                           when too few are left";
            self.add(Problem::new(least.place(), message).help("write `min_size`"));
            return None;
        }
        let Some(raw_least) = &raw.min_size else { return Some(usual_min_size(m, n)) };
        let least = u8::try_from(*raw_least.get()).ok().filter(|least| (m..=n).contains(least));
        if least.is_none() {
            let message = format!(
                "`min_size` is {}; with `{}` it is from {m} to {n}",
                raw_least.get(),
                raw.encoding.get().trim()
            );
            let help = format!("a read needs {m} of the {n} of a placement group");
            let place = raw.encoding.place();
            self.add(Problem::new(raw_least.place(), message).also(place).help(help));
        }
        least
    }

    /// Minimum fragments with which a write proceeds. `m`: those that are needed to read; `n`: all.
    pub(super) fn min_write(&mut self, raw: &RawVolume, quorum: u8, m: u8, n: u8) -> Option<u8> {
        if let Some(least) = &raw.min_size {
            let message = "`min_size` has no effect: it is Ceph's";
            let help = if self.is_swift() {
                "leave it out: writes of Swift need a quorum of the copies"
            } else {
                "write `min_write`"
            };
            self.add(Problem::new(least.place(), message).help(help));
            return None;
        }
        let Some(raw_least) = &raw.min_write else { return Some(m) };
        if self.is_swift() {
            let message =
                "`min_write` has no effect with Swift, whose writes need a quorum of the copies";
            self.add(Problem::new(raw_least.place(), message).help("leave it out"));
            return None;
        }
        let least =
            u8::try_from(*raw_least.get()).ok().filter(|least| (m..=quorum).contains(least));
        if least.is_none() {
            let with =
                if quorum < n { format!(" and `write_quorum = {quorum}`") } else { String::new() };
            let message = format!(
                "`min_write` is {}; with `{}`{with} it is from {m} to {quorum}",
                raw_least.get(),
                raw.encoding.get().trim()
            );
            let help = format!("a read needs {m}, and {quorum} acknowledgements complete a write");
            let place = raw.encoding.place();
            self.add(Problem::new(raw_least.place(), message).also(place).help(help));
        }
        least
    }
}

/// Adds `recovery` if there are events, so that its settings get their defaults.
pub(super) fn complete_recovery(tree: &mut Table) {
    let has_events = section(tree, "event").next().is_some();
    if has_events && tree.get("recovery").is_none() {
        let node = Node { value: Value::Table(Table::default()), place: Place::default() };
        let key = "recovery".to_owned();
        tree.insert(Entry { key, key_place: Place::default(), node });
    }
}
