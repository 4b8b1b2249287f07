//! Checks gateways, and the bucket indexes of the volumes that they serve.

use foretell_units::Bytes;

use super::crush::{cluster_key, key};
use super::host_list::AllowedHosts;
use super::volumes::{CheckedVolume, WrittenIndex};
use super::{Context, Hosts, section};
use crate::cpu_file::cost;
use crate::error::Problem;
use crate::model::{BucketIndex, Gateway, System, Volume, Workload, WorkloadKind};
use crate::raw::{At, RawGateway};
use crate::source::Place;
use crate::tree::{Entry, Node, Table};

/// Instead of a volume's name: there is no index.
const NO_INDEX: &str = "none";

/// Objects that an index is spread over by default: `bucket_index_max_shards` of Ceph since Octopus.
const DEFAULT_SHARDS: u32 = 11;

impl Context<'_> {
    pub(super) fn gateway(&mut self, raw: &RawGateway, hosts: &Hosts) -> Option<Gateway> {
        let found = self.hosts_of(&raw.hosts, AllowedHosts::Both, "`gateway`", hosts);
        let [read, write] = [&raw.read, &raw.write].map(|raw| cost(raw, self));
        Some(Gateway { hosts: found?, read: read?, write: write? })
    }

    /// Gives volumes their bucket indexes, and reports those that cannot be.
    pub(super) fn bucket_indexes(
        &mut self,
        tree: &Table,
        system: &System,
        volumes: &mut [CheckedVolume],
    ) {
        let gateway = cluster_key(tree, "gateway");
        for number in 0..volumes.len() {
            let Some(index) = self.written_index(&volumes[number]) else { continue };
            let found = match without_gateway(&volumes[number].name, &index, system, gateway) {
                Some(problem) => {
                    self.add(problem);
                    continue;
                }
                None => self.bucket_index(number, &index, volumes),
            };
            let model = &mut volumes[number].model;
            match (model.as_mut(), found) {
                (Some(volume), Some(found)) => volume.bucket_index = Some(found),
                _ => *model = None,
            }
        }
        let has_index = |volume: &Entry| {
            key(volume, "bucket_index").is_some_and(|name| name.text() != Some(NO_INDEX))
        };
        if let Some(gateway) = gateway.filter(|_| !section(tree, "volume").any(has_index)) {
            let message = "`gateway` has no effect: no volume has a `bucket_index`";
            let help = "give the volumes that clients access through gateways a `bucket_index`, or leave \
                        `gateway` out";
            self.add(Problem::new(gateway.place, message).help(help));
        }
    }

    /// The name of the volume that holds the bucket index of a volume. Reports shards without an index.
    fn written_index(&mut self, volume: &CheckedVolume) -> Option<At<String>> {
        let WrittenIndex { volume: index, shards } = &volume.index;
        let index = index.clone().filter(|index| index.get() != NO_INDEX);
        if let (Some(shards), None) = (shards, &index) {
            let message = format!(
                "`index_shards` of volume `{}` has no effect without `bucket_index`",
                volume.name
            );
            self.add(Problem::new(shards.place(), message).help("leave it out"));
        }
        index
    }

    /// The bucket index of a volume; `number`: of the volume.
    fn bucket_index(
        &mut self,
        number: usize,
        index: &At<String>,
        volumes: &[CheckedVolume],
    ) -> Option<BucketIndex> {
        let CheckedVolume { name, index: written, .. } = &volumes[number];
        let (volume, found) = self.volume_of(index, volumes)?;
        if volume.index() == number {
            let message = format!("volume `{name}` cannot hold its own bucket index");
            let help = "name another volume, with copies (`1-of-3`)";
            self.add(Problem::new(index.place(), message).help(help));
            return None;
        }
        let other = &volumes[volume.index()].index.volume;
        if other.as_ref().is_some_and(|other| other.get() != NO_INDEX) {
            let message = format!(
                "volume `{}` is itself accessed through gateways, so it cannot hold the index of volume `{name}`",
                index.get()
            );
            self.add(Problem::new(index.place(), message).help("name another volume"));
            return None;
        }
        let found = found?;
        let shards = match &written.shards {
            Some(shards) => u32::try_from(*shards.get()).ok()?,
            None => DEFAULT_SHARDS,
        };
        let problem = not_of_an_index(found, shards);
        if let Some((message, help)) = problem {
            let place = index.place();
            self.add(Problem::new(place, format!("volume `{}` {message}", found.name)).help(help));
            return None;
        }
        Some(BucketIndex { volume, shards })
    }

    /// Reports a workload whose requests cannot each be an object, on a volume that is accessed through gateways.
    pub(super) fn is_for_gateways(&mut self, workload: &Workload, volume: &Volume, place: Place) {
        let kind = &workload.kind;
        let is_of_files = matches!(
            kind,
            WorkloadKind::Postmark { .. }
                | WorkloadKind::Iozone { .. }
                | WorkloadKind::Ffsb { .. }
                | WorkloadKind::Oltp { .. }
        );
        if volume.bucket_index.is_some() && is_of_files {
            let message = format!(
                "workload `{}` of kind `{}` works on parts of files, but clients access volume `{}` through \
                 gateways, which serve whole objects",
                workload.name,
                kind.name(),
                volume.name
            );
            let help = "use a workload of kind `cosbench`, `ssio`, `fio` or `trace`, each request of which is an \
                        object";
            self.add(Problem::new(place, message).help(help));
        }
    }
}

/// The problem with the bucket index of volume `name` if the cluster can have no gateways, or has none.
fn without_gateway(
    name: &str,
    index: &At<String>,
    system: &System,
    gateway: Option<&Node>,
) -> Option<Problem> {
    if !matches!(system, System::Ceph(_)) {
        let message = format!(
            "volume `{name}` has a `bucket_index`, which a cluster with `system = \"{}\"` does not have",
            system.name()
        );
        let help = "leave `bucket_index` out, or set `system = \"ceph\"` in `[cluster]`";
        return Some(Problem::new(index.place(), message).help(help));
    }
    if gateway.is_none() {
        let message =
            format!("volume `{name}` has a `bucket_index`, but the cluster has no gateway");
        let help = "add `gateway = { hosts = \"...\" }` to `[cluster]`";
        return Some(Problem::new(index.place(), message).help(help));
    }
    None
}

/// If a volume cannot hold a bucket index of `shards` objects: the reason, and a remedy.
fn not_of_an_index(volume: &Volume, shards: u32) -> Option<(String, String)> {
    if volume.m() > 1 {
        let message = "cannot have a bucket index, because it is erasure-coded".to_owned();
        return Some((message, "set its `encoding` to copies, for example \"1-of-3\"".to_owned()));
    }
    let needed = Bytes(volume.group.get().saturating_mul(u64::from(shards)));
    if volume.size < needed {
        let message = format!(
            "of {} cannot have a bucket index of {shards} objects of {}",
            volume.size, volume.group
        );
        return Some((message, format!("set its `size` to {needed}, or reduce `index_shards`")));
    }
    None
}
