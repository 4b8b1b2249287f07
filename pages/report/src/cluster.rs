//! The drawing of the cluster: each host with the utilization of its resources, and the busiest one marked by a
//! word; if it is a bottleneck, by a thick frame, too. Each host is a small picture of its own, so that they flow on a narrow screen.

use foretell_ati::HostKind;
use foretell_units::by_name;
use maud::{Markup, html};
use serde_json::Value;

use crate::words::{at, entries, percent, short_name, text};

/// Maximum number of hosts drawn of each kind; the busiest are drawn.
const MAX_DRAWN: usize = 24;
/// Maximum number of disks drawn of a host; the busiest are drawn.
const MAX_DISKS: usize = 6;
/// Maximum number of other resources drawn of a host. There are three, but a document from elsewhere may name
/// any number.
const MAX_OTHERS: usize = 6;

/// What a drawn part of the cluster is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A host with clients.
    Client,
    /// A storage node.
    Node,
    /// A monitor of the cluster, which stores nothing.
    Monitor,
    /// The uplink of a rack, which has the rack's name.
    Uplink,
}

impl Kind {
    /// The kind of a host that the records describe.
    pub(crate) fn of_host(kind: HostKind) -> Self {
        match kind {
            HostKind::Client => Self::Client,
            HostKind::Node => Self::Node,
            HostKind::Monitor => Self::Monitor,
        }
    }

    /// Its name in the plural.
    fn plural(self) -> &'static str {
        match self {
            Self::Client => "clients",
            Self::Node => "storage nodes",
            Self::Monitor => "monitors",
            Self::Uplink => "uplinks",
        }
    }
}

/// A host or an uplink, and the utilization of its resources.
#[derive(Clone, Debug)]
pub(crate) struct Busy {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Utilization, as a share of time, by resource (`cpu`, `disk0`).
    pub resources: Vec<(String, f64)>,
}

impl Busy {
    fn most(&self) -> f64 {
        self.resources.iter().map(|(_, share)| *share).fold(0.0, f64::max)
    }
}

/// The hosts and uplinks of a `truth.json` or an answer, by name. `kind_of` says what a host is, if that is known.
pub(crate) fn hosts(document: &Value, kind_of: impl Fn(&str) -> Option<Kind>) -> Vec<Busy> {
    let of_truth = document.get("hosts").is_some();
    // in an answer, uplinks stand among the hosts
    let lists: &[&str] = if of_truth { &["hosts", "uplinks"] } else { &["utilization"] };
    let all = lists.iter().flat_map(|list| entries(document, list));
    let all = all.map(|(name, resources)| {
        let shares = resources.as_object().into_iter().flatten().filter_map(|(resource, value)| {
            let share = if of_truth { at(value, &["utilization"]) } else { value.as_f64() };
            share.map(|share| (resource.clone(), share))
        });
        let resources: Vec<_> = shares.collect();
        let any = |prefix| resources.iter().any(|(resource, _)| resource.starts_with(prefix));
        // a host and a rack of the same name have one entry in an answer
        let kind = if any("uplink_") && !any("cpu") {
            Kind::Uplink
        } else {
            // without records, what stores nothing is taken for a client
            kind_of(name).unwrap_or(if any("disk") { Kind::Node } else { Kind::Client })
        };
        Busy { name: name.clone(), kind, resources }
    });
    let mut all: Vec<Busy> = all.collect();
    all.sort_by(|a, b| by_name(&a.name, &b.name));
    all
}

/// Said of a busiest resource that also stores the records of tracking.
pub const STORES_RECORDS: &str = "It also stores the records of tracking, and may be the busiest only because of them: \
                                  `tracking.overhead = false` records at no cost";

/// The same as a further sentence, if it holds of a document.
pub(crate) fn and_records(document: &Value) -> String {
    let holds = document["bottleneck"]["keeps_records"] == true;
    if holds { format!(" {STORES_RECORDS}.") } else { String::new() }
}

/// The busiest resource that a document names: host and resource.
pub(crate) fn bottleneck(document: &Value) -> Option<(String, String)> {
    if let Some(joined) = text(document, &["bottleneck"]) {
        let (host, resource) = joined.rsplit_once('.')?;
        return Some((host.to_owned(), resource.to_owned()));
    }
    let host = text(document, &["bottleneck", "host"])?;
    Some((host.to_owned(), text(document, &["bottleneck", "resource"])?.to_owned()))
}

/// Utilization from which the busiest resource is a bottleneck: a request then takes about five times as long as it is
/// served (M/M/1: 1 / (1 - 0.8)).
pub const MIN_BOTTLENECK_UTILIZATION: f64 = 0.8;

/// Measured time from which the wear of drives is extrapolated to years. A few seconds say little about a day.
pub const MIN_EXTRAPOLATED_S: f64 = 60.0;

/// What the busiest resource is called.
pub(crate) fn verdict(utilization: f64) -> &'static str {
    if utilization < MIN_BOTTLENECK_UTILIZATION { "busiest" } else { "bottleneck" }
}

/// Draws hosts: clients above, then the network with the uplinks of racks, then nodes and monitors. The busiest resource
/// is marked.
pub(crate) fn drawn(hosts: &[Busy], busiest: Option<&(String, String)>) -> Markup {
    let group = |kind: Kind| {
        let mut all: Vec<&Busy> = hosts.iter().filter(|host| host.kind == kind).collect();
        let more = all.len().saturating_sub(MAX_DRAWN);
        if more > 0 {
            all.sort_by(|a, b| b.most().total_cmp(&a.most()));
            all.truncate(MAX_DRAWN);
        }
        (all, more)
    };
    let list = |(hosts, more): (Vec<&Busy>, usize)| {
        html! {
            ul.hosts { @for one in &hosts { li { (host(one, busiest)) } } }
            @if more > 0 { p.faint { "Drawn are the " (MAX_DRAWN) " busiest of " (MAX_DRAWN + more) " " (hosts[0].kind.plural()) "." } }
        }
    };
    html! {
        (list(group(Kind::Client)))
        div.wire { "network" }
        @if hosts.iter().any(|host| host.kind == Kind::Uplink) { (list(group(Kind::Uplink))) }
        (list(group(Kind::Node)))
        @if hosts.iter().any(|host| host.kind == Kind::Monitor) { (list(group(Kind::Monitor))) }
    }
}

fn host(host: &Busy, busiest: Option<&(String, String)>) -> Markup {
    let marked = busiest.filter(|(name, _)| *name == host.name);
    let marked =
        marked.and_then(|(_, name)| host.resources.iter().find(|(known, _)| known == name));
    let verdict = marked.map(|(_, share)| verdict(*share));
    let is_bottleneck = verdict == Some("bottleneck");
    let marked = marked.map(|(name, _)| name.as_str());
    let mut rows: Vec<&(String, f64)> = Vec::new();
    let others = host.resources.iter().filter(|(resource, _)| !resource.starts_with("disk"));
    rows.extend(others.take(MAX_OTHERS));
    let mut disks: Vec<_> =
        host.resources.iter().filter(|(resource, _)| resource.starts_with("disk")).collect();
    let more = disks.len().saturating_sub(MAX_DISKS);
    if more > 0 {
        disks.sort_by(|a, b| b.1.total_cmp(&a.1));
        disks.truncate(MAX_DISKS);
    }
    rows.extend(disks);
    let height = 30 + 18 * rows.len() + if more > 0 { 16 } else { 0 };
    let shares: Vec<String> = rows
        .iter()
        .map(|(resource, share)| format!("{} {}", label(resource), percent(*share)))
        .collect();
    let title = match host.kind {
        Kind::Uplink => format!("uplink of {}", short_name(&host.name)),
        Kind::Client | Kind::Node | Kind::Monitor => short_name(&host.name),
    };
    let label_of = format!(
        "{}{}: {}",
        title,
        verdict.map_or(String::new(), |verdict| format!(", the {verdict}")),
        shares.join(", ")
    );
    let name: String = if title.chars().count() > 16 {
        title.chars().take(15).chain(['…']).collect()
    } else {
        title
    };
    html! {
        svg.host.bottleneck[is_bottleneck] width="196" height=(height) viewBox={ "0 0 196 " (height) } role="img" aria-label=(label_of) {
            title { (label_of) }
            rect.frame x="2" y="2" width="192" height=(height - 4) rx="5" {}
            text.name x="9" y="19" { (name) }
            @if let Some(verdict) = verdict { text.mark x="187" y="19" text-anchor="end" { (verdict) } }
            @for (index, (resource, share)) in rows.iter().enumerate() {
                @let y = 26 + 18 * index;
                text x="9" y=(y + 11) { (label(resource)) }
                rect.back x="76" y=(y + 2) width="66" height="11" {}
                rect.fill.hot[marked == Some(resource.as_str())] x="76" y=(y + 2) width=(format!("{:.1}", 66.0 * share.clamp(0.0, 1.0))) height="11" {}
                text x="187" y=(y + 12) text-anchor="end" { (percent(*share)) }
            }
            @if more > 0 { text x="9" y=(height - 8) { "and " (more) " disks less busy" } }
        }
    }
}

/// A resource's name in words that fit into the drawing.
fn label(resource: &str) -> String {
    match resource {
        "cpu" => "processor".to_owned(),
        "nic_transmit" => "sends".to_owned(),
        "nic_receive" => "receives".to_owned(),
        "cluster_nic_transmit" => "2nd sends".to_owned(),
        "cluster_nic_receive" => "2nd recv".to_owned(),
        "uplink_transmit" => "to core".to_owned(),
        "uplink_receive" => "from core".to_owned(),
        other => other.chars().take(9).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hosts_are_by_name_and_monitors_are_no_storage_nodes() {
        let host = json!({ "cpu": { "utilization": 0.07 }, "disk0": { "utilization": 0.05 } });
        let monitor = json!({ "cpu": { "utilization": 0.0 } });
        let truth =
            json!({ "hosts": { "mon0": monitor, "osd1": host, "osd10": host, "osd2": host } });
        let kind_of = |name: &str| name.starts_with("mon").then_some(Kind::Monitor);
        let found = hosts(&truth, kind_of);
        let names: Vec<&str> = found.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["mon0", "osd1", "osd2", "osd10"]);
        assert_eq!(found[0].kind, Kind::Monitor);
        assert!(found[1..].iter().all(|host| host.kind == Kind::Node));
        // nothing limits a cluster whose busiest resource is busy 7 % of the time
        let busiest = ("osd2".to_owned(), "cpu".to_owned());
        let drawn = drawn(&found, Some(&busiest)).into_string();
        assert!(drawn.contains("osd2, the busiest: ") && !drawn.contains("bottleneck"), "{drawn}");
    }
}
