//! Placement of a placement group by the map when some of its servers are out.
//!
//! Servers that stay keep their shards, even if they only replace others. A vacant place goes to the next
//! server that the map finds for the group. With straw2, this is the host that would hold the next copy if
//! there were one more. With a CRUSH map it is the server that the rule finds when servers that are out have
//! weight zero.
//!
//! A server whose weight is less than one (`ceph osd reweight`) is rejected for some groups, chosen by a hash, as CRUSH
//! does (`is_out` in Ceph's `mapper.c`).

use std::sync::Arc;

use foretell_algorithms::crush::ClusterMap;
use foretell_algorithms::mix;
use foretell_algorithms::placement::Crush;
use foretell_scenarios::model::Remap;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::HostId;

use super::super::pool::Target;

/// The map of a volume.
pub(crate) struct Mapper {
    kind: Kind,
    out: SortedSet<Target>,
    /// Weights that have been set.
    weights: SortedMap<Target, u32>,
}

enum Kind {
    /// straw2 over hosts, then over a host's devices; the volume's nodes.
    Straw { crush: Crush, nodes: Vec<HostId> },
    /// A CRUSH map, and the same map without the servers that are out.
    Map { remap: Arc<Remap>, without: Box<ClusterMap> },
}

impl Mapper {
    fn new(kind: Kind) -> Self {
        Self { kind, out: SortedSet::new(), weights: SortedMap::new() }
    }

    /// straw2 over `nodes`.
    pub(crate) fn straw(crush: Crush, nodes: Vec<HostId>) -> Self {
        Self::new(Kind::Straw { crush, nodes })
    }

    /// A CRUSH map.
    pub(crate) fn map(remap: &Arc<Remap>) -> Self {
        let (remap, without) = (Arc::clone(remap), Box::new(remap.map.clone()));
        Self::new(Kind::Map { remap, without })
    }

    /// Sets the servers that are out from now on, and the new weights.
    pub(super) fn set(&mut self, out: &SortedSet<Target>, weights: &SortedMap<Target, u32>) {
        self.out.clone_from(out);
        self.weights.clone_from(weights);
        if let Kind::Map { remap, without } = &mut self.kind {
            let weight = |host, disk| {
                let target = Target { host, disk };
                if out.contains(&target) { Some(0) } else { weights.get(&target).copied() }
            };
            **without = remap.with(&weight);
        }
    }

    /// Whether straw2 rejects a server for a group.
    fn rejects(&self, group: usize, target: Target) -> bool {
        let Some(weight) = self.weights.get(&target) else { return false };
        let server = mix(u64::from(target.host.0) << 32 | u64::from(target.disk));
        (mix(server ^ group as u64) & 0xffff) as u32 >= *weight
    }

    /// Servers for a group whose `usual` servers are those while no server is out, and whose servers are `now` these.
    pub(super) fn members(
        &self,
        group: usize,
        usual: &[Target],
        now: &[Option<Target>],
    ) -> Vec<Option<Target>> {
        // with a CRUSH map: its result, if weights have been set
        let found = match &self.kind {
            Kind::Map { remap, without } if !self.weights.is_empty() => {
                let found = remap.devices(without, group as u32).into_iter();
                Some(found.map(|(host, disk)| Target { host, disk }).collect::<Vec<_>>())
            }
            _ => None,
        };
        let is_left_out = |target: &Target| match &found {
            Some(found) => !found.contains(target),
            None => self.rejects(group, *target),
        };
        let stays = |target: &Target| {
            (!self.out.contains(target) && !is_left_out(target)).then_some(*target)
        };
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
            if !taken && !self.out.contains(&target) && !is_left_out(&target) {
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
        fresh.truncate(members.iter().filter(|member| member.is_none()).count());
        // else a server would have two shards of the group, and one failure would lose both
        for (member, now) in members.iter_mut().zip(now).filter(|(member, _)| member.is_none()) {
            let at = fresh.iter().position(|target| Some(*target) == *now);
            *member = at.map(|at| fresh.remove(at));
        }
        let mut fresh = fresh.into_iter();
        for member in members.iter_mut().filter(|member| member.is_none()) {
            *member = fresh.next();
        }
        members
    }
}
