//! Changes of a map as Ceph makes them: new weights, and hosts modelled on an existing one.

use std::collections::{BTreeMap, BTreeSet};

use foretell_sorted::SortedMap;

use super::map::{Bucket, Item, MapParts};

impl MapParts {
    /// The bucket of this name.
    pub fn named(&self, name: &str) -> Option<&Bucket> {
        self.buckets.iter().find(|bucket| bucket.name == name)
    }

    /// Gives an item this weight wherever it is, including weight sets, and updates the sums of all
    /// buckets above it, as `ceph osd crush reweight` does. Returns the number of buckets that hold
    /// it.
    pub fn set_weight(&mut self, item: i32, weight: u32) -> usize {
        let mut holders = Vec::new();
        for bucket in &mut self.buckets {
            let id = bucket.id;
            for (at, held) in
                bucket.items.iter_mut().enumerate().filter(|(_, held)| held.id == item)
            {
                held.weight = weight;
                holders.push(id);
                for arg in self.choose_args.values_mut().flatten().filter(|arg| arg.bucket == id) {
                    arg.weight_sets.iter_mut().for_each(|set| set[at] = weight);
                }
            }
        }
        for holder in &holders {
            self.sum_up(*holder, 0);
        }
        holders.len()
    }

    /// Sets the weight of `bucket` to the sum of its items' weights in all buckets that hold it, and so on upwards.
    fn sum_up(&mut self, bucket: i32, depth: usize) {
        // loops are detected after the change
        if depth > 64 {
            return;
        }
        let Some(held) = self.buckets.iter().find(|held| held.id == bucket) else { return };
        let weight = u32::try_from(held.weight()).unwrap_or(u32::MAX);
        let mut sums: SortedMap<i64, Vec<u32>> = SortedMap::new();
        for (pool, args) in &self.choose_args {
            if let Some(arg) = args.iter().find(|arg| arg.bucket == bucket) {
                let sum = |set: &Vec<u32>| set.iter().fold(0_u32, |sum, w| sum.saturating_add(*w));
                sums.insert(*pool, arg.weight_sets.iter().map(sum).collect());
            }
        }
        let mut above = Vec::new();
        for holder in &mut self.buckets {
            let Some(at) = holder.items.iter().position(|item| item.id == bucket) else { continue };
            holder.items[at].weight = weight;
            above.push(holder.id);
            for (pool, args) in &mut self.choose_args {
                for arg in args.iter_mut().filter(|arg| arg.bucket == holder.id) {
                    let sums = sums.get(pool).map_or(&[][..], Vec::as_slice);
                    for (position, set) in arg.weight_sets.iter_mut().enumerate() {
                        set[at] = *sums.get(position).or(sums.last()).unwrap_or(&weight);
                    }
                }
            }
        }
        for holder in above {
            self.sum_up(holder, depth + 1);
        }
    }

    /// Scales the weights of all devices below `bucket` so that they add up to `weight`. If all are
    /// zero, they get equal shares. Returns the number of devices.
    pub fn scale(&mut self, bucket: i32, weight: u32) -> usize {
        let devices = self.devices_below(bucket);
        let sum: u64 = devices.values().map(|weight| u64::from(*weight)).sum();
        for (device, own) in &devices {
            let share = match sum {
                0 => 1.0 / devices.len() as f64,
                sum => f64::from(*own) / sum as f64,
            };
            self.set_weight(*device, (share * f64::from(weight)).round() as u32);
        }
        devices.len()
    }

    /// The devices below a bucket, with their weights there.
    pub fn devices_below(&self, bucket: i32) -> SortedMap<i32, u32> {
        let by_id: BTreeMap<i32, &Bucket> = self.buckets.iter().map(|b| (b.id, b)).collect();
        let mut found = BTreeMap::new();
        let mut open = vec![bucket];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            for item in by_id.get(&id).into_iter().flat_map(|bucket| &bucket.items) {
                if item.id < 0 {
                    open.push(item.id);
                } else {
                    found.insert(item.id, item.weight);
                }
            }
        }
        found.into_iter().collect()
    }

    /// Adds a bucket called `name` modelled on `like`, beside it, in all trees and shadows. What it holds is copied,
    /// too: its devices are new, numbered from `first` on, and so are its buckets (`NAME/BUCKET`). Weight sets get the
    /// new devices' weights. Returns the pairs of original and new devices.
    pub fn add_like(&mut self, like: i32, name: &str, first: i32) -> Vec<(i32, i32)> {
        let Some(model) = self.buckets.iter().find(|bucket| bucket.id == like).cloned() else {
            return Vec::new();
        };
        let copies: Vec<(i32, i32)> = self.devices_below(like).into_keys().zip(first..).collect();
        for (old, new) in &copies {
            if let Some(class) = self.classes.get(old).cloned() {
                self.classes.insert(*new, class);
            }
        }
        let prefix = format!("{}~", model.name);
        let models: Vec<Bucket> = self
            .buckets
            .iter()
            .filter(|bucket| bucket.id == like || bucket.name.starts_with(&prefix))
            .cloned()
            .collect();
        for model in models {
            let class = model.name.split_once('~').map(|(_, class)| format!("~{class}"));
            let name = format!("{name}{}", class.unwrap_or_default());
            let copy = self.copy_tree(&model, &name, &copies, 0);
            let mut above = Vec::new();
            for holder in &mut self.buckets {
                if holder.items.iter().any(|item| item.id == model.id) {
                    holder.items.push(copy);
                    above.push(holder.id);
                }
            }
            for arg in self.choose_args.values_mut().flatten() {
                if above.contains(&arg.bucket) {
                    arg.weight_sets.iter_mut().for_each(|set| set.push(copy.weight));
                    arg.ids.iter_mut().for_each(|ids| ids.push(copy.id));
                }
            }
            for holder in above {
                self.sum_up(holder, 0);
            }
        }
        copies
    }

    /// Copies a bucket and all buckets below it, with these devices in place of the originals.
    fn copy_tree(
        &mut self,
        model: &Bucket,
        name: &str,
        copies: &[(i32, i32)],
        depth: usize,
    ) -> Item {
        let mut items = Vec::new();
        for item in &model.items {
            if item.id >= 0 {
                let copy = copies.iter().find(|(old, _)| *old == item.id);
                items.extend(copy.map(|(_, new)| Item { id: *new, weight: item.weight }));
            } else if let Some(below) =
                self.buckets.iter().find(|bucket| bucket.id == item.id && depth < 64).cloned()
            {
                // the part before `~` is the bucket's own name, the part after it a class
                let (host, class) = name.split_once('~').unwrap_or((name, ""));
                let own = below.name.split('~').next().unwrap_or_default();
                let tilde = if class.is_empty() { "" } else { "~" };
                let name = format!("{host}/{own}{tilde}{class}");
                items.push(self.copy_tree(&below, &name, copies, depth + 1));
            }
        }
        let id = (i32::MIN..0)
            .rev()
            .find(|id| self.buckets.iter().all(|bucket| bucket.id != *id))
            .expect("fewer than 2^31 buckets");
        let weight = items.iter().fold(0_u32, |sum, item| sum.saturating_add(item.weight));
        self.buckets.push(Bucket { id, name: name.to_owned(), items, ..model.clone() });
        Item { id, weight }
    }
}
