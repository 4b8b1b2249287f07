//! Virtual machines: the machine of each storage node, and the shared parts of a machine.

use foretell_sorted::SortedMap;
use foretell_units::{HostId, Rate};

use super::{Context, section};
use crate::error::Problem;
use crate::host_pattern::Group;
use crate::model::{Host, Machine, Role};
use crate::names::nearest;
use crate::raw::RawMachine;
use crate::source::Place;
use crate::tree::{Entry, Node, Table};

/// The machines of a group of virtual machines.
struct GroupMachines {
    /// The group that defines the number of machines, and that number.
    owner: String,
    count: usize,
    bandwidth: Option<Rate>,
    place: Place,
}

/// Assigns hosts to their machines.
pub(super) fn place(
    tree: &Table,
    groups: &[Group],
    list: &mut [Option<Host>],
    context: &mut Context<'_>,
) {
    let mut by_group = SortedMap::new();
    for entry in section(tree, "node") {
        let Some(node) = machine_of(entry) else { continue };
        if let Some(found) = machines(entry, node, tree, context) {
            by_group.insert(entry.key.as_str(), found);
        }
    }
    // by owner and number of the machine: its hosts
    let mut on: SortedMap<(&str, usize), Vec<usize>> = SortedMap::new();
    for group in groups {
        let Some(GroupMachines { owner, count, .. }) = by_group.get(group.name.as_str()) else {
            continue;
        };
        for index in 0..group.count {
            on.entry((owner, index % count)).or_default().push(group.first + index);
        }
    }
    for hosts in on.values() {
        let Some(first) = list[hosts[0]].clone() else { continue };
        for (place, &number) in hosts.iter().enumerate() {
            let Some(host) = &mut list[number] else { continue };
            let GroupMachines { bandwidth, place: written, .. } = by_group[host.group.as_str()];
            let [own, shared] = [&*host, &first]
                .map(|host| host.role.storage().map(|of| (&of.disks, &of.log_devices)));
            let adapters = |host: &Host| (host.nic, host.cluster_nic);
            if adapters(host) != adapters(&first) || own != shared {
                let message = format!(
                    "`{}` and `{}` are on one machine and cannot have different adapters or disks",
                    host.name, first.name
                );
                let help = "give both groups the same `nic`, `cluster_nic` and `disk`";
                context.add(Problem::new(written, message).help(help));
                return;
            }
            if let Some(rate) = bandwidth.filter(|rate| *rate > first.nic.rate) {
                let message =
                    format!("a bandwidth of {rate} is more than the machine's, {}", first.nic.rate);
                context.add(Problem::new(written, message));
                return;
            }
            let (machine, place) = (HostId::from(hosts[0]), place as u32);
            host.machine = Some(Machine { host: machine, place, bandwidth });
            if let Role::Node(storage) = &mut host.role {
                storage.shared_by = hosts.len() as u32;
            }
        }
    }
}

fn machine_of(entry: &Entry) -> Option<&Node> {
    entry.node.table()?.get("machine")
}

/// A group's settings of its machines.
fn machines(
    entry: &Entry,
    node: &Node,
    tree: &Table,
    context: &mut Context<'_>,
) -> Option<GroupMachines> {
    let raw: RawMachine = context.read(node)?;
    let bandwidth = match &raw.bandwidth {
        Some(rate) => Some(context.rate(rate)?),
        None => None,
    };
    let place = node.place;
    let own = |raw: &RawMachine| usize::try_from(*raw.count.as_ref()?.get()).ok();
    match (&raw.count, &raw.of) {
        (Some(_), None) => {
            Some(GroupMachines { owner: entry.key.clone(), count: own(&raw)?, bandwidth, place })
        }
        (None, Some(of)) => {
            let name = of.get().as_str();
            let has_count = |node: &Node| node.table().is_some_and(|t| t.get("count").is_some());
            let others =
                || section(tree, "node").filter(|other| machine_of(other).is_some_and(has_count));
            let owner = others().find(|other| other.key == name);
            let raw: Option<RawMachine> =
                owner.and_then(machine_of).and_then(|node| context.read(node));
            if let Some(count) = raw.as_ref().and_then(own) {
                return Some(GroupMachines { owner: name.to_owned(), count, bandwidth, place });
            }
            let message = format!("`{name}` is not a group of nodes with `machine.count`");
            let near = nearest(name, others().map(|other| other.key.as_str()));
            let help = near.map(|near| format!("did you mean `{near}`?"));
            context.add(Problem::new(of.place(), message).maybe_help(help));
            None
        }
        (Some(_), Some(of)) => {
            let message = "a group has machines of its own, `count`, or those `of` another group";
            context.add(Problem::new(of.place(), message).help("leave one of them out"));
            None
        }
        (None, None) => {
            let message = "`machine` says neither how many machines there are nor whose they are";
            context.add(
                Problem::new(place, message)
                    .help("add `count = 10`, or `of` with the name of a group"),
            );
            None
        }
    }
}
