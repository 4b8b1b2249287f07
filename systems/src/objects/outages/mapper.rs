//! Where a map wants a placement group when some of its servers are out.
//!
//! Servers that stay keep their shards. A vacant place goes to the next server that the map finds for the group.
//! With straw2 this is the host that would hold one more copy. With a CRUSH map it is the server that the rule
//! finds when servers that are out have weight zero.

use std::collections::BTreeSet;
use std::sync::Arc;

use foretell_algorithms::crush::ClusterMap;
use foretell_algorithms::placement::Crush;
use foretell_scenarios::model::Remap;
use foretell_units::HostId;

use super::super::pool::Target;

/// The map of a volume.
pub(crate) struct Mapper {
    kind: Kind,
    out: BTreeSet<Target>,
}

enum Kind {
    /// straw2 over hosts, then over a host's devices; the volume's nodes.
    Straw { crush: Crush, nodes: Vec<HostId> },
    /// A CRUSH map, and the same without those that are out.
    Map { remap: Arc<Remap>, without: Box<ClusterMap> },
}

impl Mapper {
    /// straw2 over `nodes`.
    pub(crate) fn straw(crush: Crush, nodes: Vec<HostId>) -> Self {
        Self { kind: Kind::Straw { crush, nodes }, out: BTreeSet::new() }
    }

    /// A CRUSH map.
    pub(crate) fn map(remap: &Arc<Remap>) -> Self {
        let (remap, without) = (Arc::clone(remap), Box::new(remap.map.clone()));
        Self { kind: Kind::Map { remap, without }, out: BTreeSet::new() }
    }

    /// These servers are out from now on, and no others.
    pub(super) fn set_out(&mut self, out: &BTreeSet<Target>) {
        self.out.clone_from(out);
        if let Kind::Map { remap, without } = &mut self.kind {
            let is_out = |host, disk| out.contains(&Target { host, disk });
            **without = remap.without(&is_out);
        }
    }

    /// Where the map wants a group that lies on `usual` while no server is out.
    pub(super) fn members(&self, group: usize, usual: &[Target]) -> Vec<Option<Target>> {
        let stays = |target: &Target| (!self.out.contains(target)).then_some(*target);
        let mut members: Vec<Option<Target>> = usual.iter().map(stays).collect();
        if members.iter().all(Option::is_some) {
            return members;
        }
        let mut fresh: Vec<Target> = Vec::new();
        let mut add = |target: Target, by_host: bool| {
            let meets = |other: &Target| {
                if by_host { other.host == target.host } else { *other == target }
            };
            let taken = members.iter().flatten().chain(&fresh).any(meets);
            if !taken && !self.out.contains(&target) {
                fresh.push(target);
            }
        };
        match &self.kind {
            Kind::Straw { crush, nodes } => {
                for (host, disk) in crush.ranked(group as u64) {
                    add(Target { host: nodes[host as usize], disk }, true);
                }
            }
            Kind::Map { remap, without } => {
                for (host, disk) in remap.devices(without, group as u32) {
                    add(Target { host, disk }, false);
                }
            }
        }
        let mut fresh = fresh.into_iter();
        for member in members.iter_mut().filter(|member| member.is_none()) {
            *member = fresh.next();
        }
        members
    }
}
