//! The host, rack, root, ... that an OSD is below.
//!
//! An OSD may be below several roots. Then it has several hosts by name, and for a pool only those count that its rule
//! can reach. A bucket below a host, such as a controller, is a failure domain of its own type and no host. Of nested
//! buckets of one type the outermost counts, as CRUSH chooses it.

use std::collections::{BTreeMap, BTreeSet};

use foretell_algorithms::crush::{Bucket, CrushMap, Rule, Step};
use foretell_sorted::{SortedMap, SortedSet};

use crate::limits::Limit;

/// By device and type: the buckets of that type that the device is below, from the device upwards.
pub(crate) struct Domains {
    above: BTreeMap<(i32, u16), Vec<i32>>,
}

impl Domains {
    /// In the trees from which a rule takes.
    pub(crate) fn of_rule(map: &CrushMap, rule: &Rule) -> Self {
        let tree = Tree::new(map);
        let taken: Vec<i32> = rule
            .steps
            .iter()
            .filter_map(|step| if let Step::Take(item) = step { Some(*item) } else { None })
            .collect();
        let mut allowed = tree.closure(&taken, Tree::below);
        allowed.extend(tree.closure(&taken, Tree::holders));
        Self::within(map, &tree, &allowed)
    }

    /// In all trees.
    pub(crate) fn of_all(map: &CrushMap) -> Self {
        let buckets = map.parts().buckets.iter().filter(|bucket| !bucket.is_shadow());
        Self::within(map, &Tree::new(map), &buckets.map(|bucket| bucket.id).collect())
    }

    fn within(map: &CrushMap, tree: &Tree<'_>, allowed: &BTreeSet<i32>) -> Self {
        let mut above: BTreeMap<(i32, u16), Vec<i32>> = BTreeMap::new();
        for device in map.placed_devices() {
            let mut open = vec![device];
            let mut seen = SortedSet::new();
            while let Some(item) = open.pop() {
                for holder in tree.holders(item) {
                    if !allowed.contains(&holder) || !seen.insert(holder) {
                        continue;
                    }
                    open.push(holder);
                    let Some(bucket) = tree.buckets.get(&holder) else { continue };
                    let of_kind = above.entry((device, bucket.kind)).or_default();
                    let original = tree.original(bucket);
                    if !of_kind.contains(&original) {
                        of_kind.push(original);
                    }
                }
            }
        }
        Self { above }
    }

    /// The bucket of type `kind` that holds a device; the device itself for type 0, or if there is none.
    pub(crate) fn of(&self, device: i32, kind: u16) -> i32 {
        self.all(device, kind).last().copied().unwrap_or(device)
    }

    /// All buckets of type `kind` that hold a device.
    pub(crate) fn all(&self, device: i32, kind: u16) -> &[i32] {
        self.above.get(&(device, kind)).map_or(&[], Vec::as_slice)
    }

    /// Whether a device is below some bucket of type `kind`; each device is of type 0.
    pub(crate) fn has(&self, device: i32, kind: u16) -> bool {
        kind == 0 || !self.all(device, kind).is_empty()
    }

    /// Number of these devices that may stay together: a greedy choice, exact where types are nested.
    pub(crate) fn most_kept(&self, devices: &[i32], limits: &[Limit]) -> usize {
        let mut counts: SortedMap<(u16, i32), usize> = SortedMap::new();
        let mut kept = SortedSet::new();
        for device in devices {
            let room = limits.iter().all(|limit| {
                let place = (limit.kind, self.of(*device, limit.kind));
                match counts.get(&place) {
                    Some(count) => *count < limit.each,
                    None => {
                        counts.keys().filter(|(kind, _)| *kind == limit.kind).count()
                            < limit.buckets
                    }
                }
            });
            if room && kept.insert(*device) {
                for limit in limits {
                    *counts.entry((limit.kind, self.of(*device, limit.kind))).or_default() += 1;
                }
            }
        }
        kept.len()
    }

    /// Whether these devices may be members of one group.
    pub(crate) fn allow(&self, devices: &[i32], limits: &[Limit]) -> bool {
        self.most_kept(devices, limits) == devices.len()
    }
}

/// The machine of each OSD: the bucket of the type `host` above it, by name.
///
/// An OSD below no host, or in a map without hosts, has none. Of several hosts in different trees the first in the
/// map's order counts.
pub(crate) fn hosts(map: &CrushMap) -> BTreeMap<i32, &str> {
    let host = map.parts().types.iter().find(|(_, name)| *name == "host").map(|(kind, _)| *kind);
    let Some(host) = host else { return BTreeMap::new() };
    let domains = Domains::of_all(map);
    let order = map.parts().buckets.iter().enumerate().map(|(at, bucket)| (bucket.id, at));
    let order: BTreeMap<i32, usize> = order.collect();
    let host_of = |device: i32| {
        let first = domains.all(device, host).iter().min_by_key(|id| order.get(id))?;
        Some((device, map.bucket(*first)?.name.as_str()))
    };
    map.placed_devices().into_iter().filter_map(host_of).collect()
}

/// OSDs that are below several hosts of one tree, with the hosts' names.
pub(crate) fn shared_hosts(map: &CrushMap) -> Vec<(i32, String)> {
    let host = map.parts().types.iter().find(|(_, name)| *name == "host").map(|(kind, _)| *kind);
    let Some(host) = host else { return Vec::new() };
    let domains = Domains::of_all(map);
    let tree = Tree::new(map);
    let top = |id: i32| -> BTreeSet<i32> {
        let above = tree.closure(&[id], Tree::holders);
        above.into_iter().filter(|id| tree.holders(*id).is_empty()).collect()
    };
    let shared = |device: i32| {
        let hosts = domains.all(device, host);
        let below_one_root = hosts.iter().enumerate().any(|(at, host)| {
            let tops = top(*host);
            hosts[..at].iter().any(|other| !tops.is_disjoint(&top(*other)))
        });
        let names = hosts.iter().filter_map(|id| Some(map.bucket(*id)?.name.as_str()));
        below_one_root.then(|| (device, names.collect::<Vec<_>>().join(", ")))
    };
    map.placed_devices().into_iter().filter_map(shared).collect()
}

/// The edges of a map in both directions.
struct Tree<'a> {
    buckets: BTreeMap<i32, &'a Bucket>,
    holders: BTreeMap<i32, Vec<i32>>,
    by_name: BTreeMap<&'a str, i32>,
}

impl<'a> Tree<'a> {
    fn new(map: &'a CrushMap) -> Self {
        let all = &map.parts().buckets;
        let mut holders: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for bucket in all {
            for item in &bucket.items {
                holders.entry(item.id).or_default().push(bucket.id);
            }
        }
        let originals = all.iter().filter(|bucket| !bucket.is_shadow());
        Self {
            buckets: all.iter().map(|bucket| (bucket.id, bucket)).collect(),
            holders,
            by_name: originals.map(|bucket| (bucket.name.as_str(), bucket.id)).collect(),
        }
    }

    /// The bucket that this one shadows, or itself.
    fn original(&self, bucket: &Bucket) -> i32 {
        let own = bucket.name.split('~').next().unwrap_or_default();
        self.by_name.get(own).copied().unwrap_or(bucket.id)
    }

    fn holders(&self, item: i32) -> Vec<i32> {
        self.holders.get(&item).cloned().unwrap_or_default()
    }

    fn below(&self, bucket: i32) -> Vec<i32> {
        let items = self.buckets.get(&bucket).into_iter().flat_map(|bucket| &bucket.items);
        items.map(|item| item.id).filter(|id| *id < 0).collect()
    }

    /// All buckets that are reached from these, and they themselves.
    fn closure(&self, from: &[i32], next: impl Fn(&Self, i32) -> Vec<i32>) -> BTreeSet<i32> {
        let mut reached = BTreeSet::new();
        let mut open = from.to_vec();
        while let Some(item) = open.pop() {
            if reached.insert(item) {
                open.extend(next(self, item));
            }
        }
        reached
    }
}
