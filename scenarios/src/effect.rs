//! Finds changes without effect: a run would be the same without them.
//!
//! Two scenarios run alike if their checked models are equal after everything unused is left out:
//! hosts that no workload reaches, and settings that the rest of the scenario does not use. Each
//! such rule is below, with its reason. What only a run can show (a buffer that never fills, a
//! timeout that never expires) is not found here.

use std::fmt::Write as _;
use std::str::FromStr;

use foretell_algorithms::codec;
use foretell_sorted::SortedSet;
use foretell_units::{Bytes, HostId, Rate, SimSpan};

use crate::change::Change;
use crate::document::Document;
use crate::model::{Cost, CpuProfile, Scenario, Volume};
use crate::raw::Share;
use crate::tree::{Table, Value};

/// A change without effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Idle {
    /// The change, `path=value`; or an unused part that it adds.
    pub what: String,
    /// Why it has no effect.
    pub why: String,
}

impl std::fmt::Display for Idle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` has no effect: {}", self.what, self.why)
    }
}

/// Removes from a scenario what a run does not use; and the reason.
type Rule = (fn(&mut Scenario), &'static str);

/// In this order: later rules see the result of earlier ones.
const RULES: [Rule; 6] = [
    (only_reached_hosts, UNREACHED),
    (no_codes_without_work, "no data that the workloads read or write is encrypted or coded there"),
    (
        no_copies_at_clients,
        "no client copies data: that is for caches of nodes and of file servers",
    ),
    (no_posts_without_records, "activity records cost nothing in this scenario"),
    (
        no_alpha_without_shared_buffer,
        "ports have buffers of their own: `switch.shared_buffer` is not set",
    ),
    (
        no_least_servers_without_failures,
        "no server fails in this scenario. It changes only what is said about failures: with how many servers down \
         volumes serve",
    ),
];

/// Replaced by a text with the hosts' names.
const UNREACHED: &str = "no workload reaches the hosts that it is about";

impl Document {
    /// The changes of this document without which a run would be the same, and why; for changes
    /// with an effect, the added parts that no workload uses. Empty if the changed document, or
    /// this one, is wrong: [`Document::check`] finds that out.
    pub fn idle(&self, changes: &[Change]) -> Vec<Idle> {
        self.check().map_or_else(|_| Vec::new(), |before| self.idle_beside(&before, changes))
    }

    /// The same as [`Document::idle`], for a caller who has checked this document already: `before` is its scenario.
    pub fn idle_beside(&self, before: &Scenario, changes: &[Change]) -> Vec<Idle> {
        let with = |left_out: Option<usize>| {
            let mut document = self.clone();
            for (index, change) in changes.iter().enumerate() {
                if Some(index) != left_out {
                    document.set(&change.path, &change.value).ok()?;
                }
            }
            let checked = document.checked().ok()?;
            Some((checked.scenario, document))
        };
        let Some((after, document)) = with(None) else { return Vec::new() };
        let mut found = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            let alone = || (before.clone(), self.clone());
            let others = if changes.len() == 1 { Some(alone()) } else { with(Some(index)) };
            // a change without which the document is invalid has an effect
            let Some((without, others)) = others else { continue };
            let why = if after == without {
                let tree = |document: &Self| Some(document.checked().ok()?.tree);
                let same = match (tree(&document), tree(&others)) {
                    (Some(one), Some(other)) => same_table(&one, &other),
                    _ => false,
                };
                let overridden =
                    changes[index + 1..].iter().find(|later| later.path == change.path);
                Some(match overridden {
                    Some(later) => format!("a later change sets it to `{}`", later.value),
                    None if same => "this is already the case".to_owned(),
                    None => "it makes no difference to the scenario".to_owned(),
                })
            } else {
                alike(&after, &without)
            };
            found.extend(why.map(|why| Idle { what: change.to_string(), why }));
        }
        if found.is_empty() {
            found.extend(unused(before, &after));
        }
        found
    }
}

/// Whether two tables say the same, perhaps in other units.
fn same_table(a: &Table, b: &Table) -> bool {
    a.entries.len() == b.entries.len()
        && a.entries
            .iter()
            .zip(&b.entries)
            .all(|(a, b)| a.key == b.key && same_value(&a.node.value, &b.node.value))
}

fn same_value(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Text(a), Value::Text(b)) => {
            a == b
                || same_amount::<Bytes>(a, b)
                || same_amount::<SimSpan>(a, b)
                || same_amount::<Rate>(a, b)
                || same_share(one, other)
        }
        (Value::Whole(whole), Value::Number(number))
        | (Value::Number(number), Value::Whole(whole)) => (*whole as f64).total_cmp(number).is_eq(),
        (Value::Whole(a), Value::Whole(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => a.total_cmp(b).is_eq(),
        (Value::Flag(a), Value::Flag(b)) => a == b,
        (Value::Date(a), Value::Date(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(&a.value, &b.value))
        }
        (Value::Table(a), Value::Table(b)) => same_table(a, b),
        _ => same_share(one, other),
    }
}

/// Whether two values are the same share: `70%` is 0.7.
fn same_share(one: &Value, other: &Value) -> bool {
    let share = |value: &Value| match value {
        Value::Text(text) => Share::Text(text.clone()).number(),
        Value::Number(number) => Share::Number(*number).number(),
        Value::Whole(whole) => Share::Number(*whole as f64).number(),
        _ => None,
    };
    matches!((share(one), share(other)), (Some(a), Some(b)) if a.total_cmp(&b).is_eq())
}

/// Whether two texts are the same quantity.
fn same_amount<T: FromStr + PartialEq>(a: &str, b: &str) -> bool {
    matches!((a.parse::<T>(), b.parse::<T>()), (Ok(a), Ok(b)) if a == b)
}

/// Why two different scenarios run alike, if they do.
fn alike(a: &Scenario, b: &Scenario) -> Option<String> {
    let (mut left, mut right) = (a.clone(), b.clone());
    for (rule, why) in RULES {
        rule(&mut left);
        rule(&mut right);
        if left == right {
            return Some(if why == UNREACHED { unreached_differs(a, b) } else { why.to_owned() });
        }
    }
    None
}

/// Names the hosts in which two scenarios differ, among those that no workload reaches.
fn unreached_differs(a: &Scenario, b: &Scenario) -> String {
    let mut names: Vec<&str> = Vec::new();
    for (one, other) in [(a, b), (b, a)] {
        for (host, _) in one.hosts.iter().zip(reached(one)).filter(|(_, reached)| !reached) {
            let same = other.hosts.iter().any(|there| there == host);
            if !same && !names.contains(&host.name.as_str()) {
                names.push(&host.name);
            }
        }
    }
    format!("no workload reaches {}", listed(&names))
}

/// `a`, `a and b`, `a, b and c`; for many, only the first and the last.
fn listed(names: &[&str]) -> String {
    let mut text = String::new();
    match names {
        [] => text.push_str("the hosts that it is about"),
        [first, .., last] if names.len() > 4 => {
            let _ = write!(text, "`{first}` to `{last}` ({} hosts)", names.len());
        }
        [first @ .., last] => {
            for (index, name) in first.iter().enumerate() {
                let _ = write!(text, "{}`{name}`", if index > 0 { ", " } else { "" });
            }
            let _ = write!(text, "{}`{last}`", if first.is_empty() { "" } else { " and " });
        }
    }
    text
}

/// The new parts of `after` that no workload uses.
fn unused(before: &Scenario, after: &Scenario) -> Vec<Idle> {
    let mut found = Vec::new();
    let known: SortedSet<&str> = before.hosts.iter().map(|host| host.name.as_str()).collect();
    let hosts = after.hosts.iter().zip(reached(after));
    let new: Vec<&str> = hosts
        .filter(|(host, reached)| !reached && !known.contains(host.name.as_str()))
        .map(|(host, _)| host.name.as_str())
        .collect();
    if !new.is_empty() {
        let what = listed(&new).replace('`', "");
        found.push(Idle { what, why: "no workload reaches the new part".to_owned() });
    }
    for (index, volume) in after.volumes.iter().enumerate() {
        let is_used = after.workloads.iter().any(|workload| {
            let used = after.volume(workload.volume).bucket_index.map(|index| index.volume);
            used.into_iter().chain([workload.volume]).any(|used| used.index() == index)
        });
        if !is_used && !before.volumes.iter().any(|old| old.name == volume.name) {
            let why = "no workload uses this volume".to_owned();
            found.push(Idle { what: format!("volume.{}", volume.name), why });
        }
    }
    found
}

/// By host: whether any request, or anything that a request causes, reaches it.
fn reached(scenario: &Scenario) -> Vec<bool> {
    let mut reached = vec![false; scenario.hosts.len()];
    let mut mark = |host: HostId| reached[host.index()] = true;
    for workload in &scenario.workloads {
        workload.clients.iter().copied().for_each(&mut mark);
        let volume = scenario.volume(workload.volume);
        let index = volume.bucket_index.map(|index| scenario.volume(index.volume));
        let nodes = index.into_iter().chain([volume]).flat_map(|volume| &volume.nodes);
        nodes.copied().for_each(&mut mark);
    }
    if let Some(cost) = &scenario.tracking.cost {
        mark(cost.store);
    }
    // scrubbers read what no workload does
    let scrubbed = scenario.volumes.iter().filter(|_| scenario.scrub.is_some());
    scrubbed.flat_map(|volume| &volume.nodes).copied().for_each(&mut mark);
    let system = scenario.system.traits();
    system.hosts().into_iter().for_each(&mut mark);
    // nodes of groups with monitors report to them
    for (index, host) in scenario.hosts.iter().enumerate() {
        if host.role.storage().is_some() && !system.monitors_of(&host.group).is_empty() {
            mark(HostId::from(index));
        }
    }
    // the first guest stands for its machine, and machines are divided among all that are on them
    for (host, reached) in scenario.hosts.iter().zip(&mut reached) {
        *reached |= host.machine.is_some() || host.guest.is_some();
    }
    reached
}

fn only_reached_hosts(scenario: &mut Scenario) {
    let reached = reached(scenario);
    let mut next = 0;
    let places: Vec<Option<HostId>> = reached
        .iter()
        .map(|reached| {
            reached.then(|| {
                next += 1;
                HostId(next - 1)
            })
        })
        .collect();
    let mut number = 0;
    scenario.hosts.retain(|_| {
        number += 1;
        reached[number - 1]
    });
    let moved = |hosts: &mut Vec<HostId>| {
        *hosts = hosts.iter().filter_map(|host| places[host.index()]).collect();
    };
    if let Some(outages) = &mut scenario.outages {
        outages.events.retain(|event| places[event.host.index()].is_some());
        if outages.events.is_empty() {
            scenario.outages = None;
        }
    }
    let place = |host: &mut HostId| *host = places[host.index()].unwrap_or(*host);
    scenario.volumes.iter_mut().for_each(|volume| moved(&mut volume.nodes));
    scenario.workloads.iter_mut().for_each(|workload| moved(&mut workload.clients));
    if let Some(cost) = &mut scenario.tracking.cost {
        place(&mut cost.store);
    }
    let events = scenario.outages.iter_mut().flat_map(|outages| &mut outages.events);
    events.for_each(|event| place(&mut event.host));
    for machine in scenario.hosts.iter_mut().filter_map(|host| host.machine.as_mut()) {
        place(&mut machine.host);
    }
    scenario.system.renumber(&|host| places[host.index()]);
}

/// Removes codes without work: only clients of `ursa-minor` encrypt and encode, and servers of Ceph encode.
fn no_codes_without_work(scenario: &mut Scenario) {
    let by_clients = scenario.system.traits().clients_encode();
    let mut work = vec![(false, false); scenario.hosts.len()];
    for workload in &scenario.workloads {
        let volume: &Volume = scenario.volume(workload.volume);
        let hosts = if by_clients { &workload.clients } else { &volume.nodes };
        for host in hosts {
            let (encrypts, codes) = &mut work[host.index()];
            *encrypts |= by_clients && volume.cipher.codec() != codec::Cipher::None;
            *codes |= volume.m() > 1;
        }
    }
    for (host, (encrypts, codes)) in scenario.hosts.iter_mut().zip(work) {
        let CpuProfile { encrypt, decrypt, code, .. } = &mut host.cpu;
        if !encrypts {
            (*encrypt, *decrypt) = (Cost::FREE, Cost::FREE);
        }
        if !codes {
            *code = Cost::FREE;
        }
    }
}

/// The servers of a group that must be up matter only while some are down.
fn no_least_servers_without_failures(scenario: &mut Scenario) {
    if scenario.outages.is_none() {
        scenario.volumes.iter_mut().for_each(|volume| volume.min_write = volume.m());
    }
}

fn no_copies_at_clients(scenario: &mut Scenario) {
    use crate::model::WorkloadKind::{Iozone, Oltp, Postmark};
    let mut copies: Vec<bool> =
        scenario.hosts.iter().map(|host| host.role.storage().is_some()).collect();
    for workload in &scenario.workloads {
        let serves = matches!(
            workload.kind,
            Oltp { server_cache: Some(_), .. }
                | Postmark { server_cache: Some(_), .. }
                | Iozone { server_cache: Some(_), .. }
        );
        if serves {
            workload.clients.iter().for_each(|host| copies[host.index()] = true);
        }
    }
    scenario.system.traits().relays().iter().for_each(|host| copies[host.index()] = true);
    for (host, copies) in scenario.hosts.iter_mut().zip(copies) {
        if !copies {
            host.cpu.copy = Cost::FREE;
        }
    }
}

fn no_posts_without_records(scenario: &mut Scenario) {
    if scenario.tracking.cost.is_none() {
        scenario.hosts.iter_mut().for_each(|host| host.cpu.post = SimSpan::ZERO);
    }
}

fn no_alpha_without_shared_buffer(scenario: &mut Scenario) {
    if scenario.switch.shared_buffer.is_none() {
        scenario.switch.shared_buffer_alpha = 1.0;
    }
}
