//! Shadow trees: for each device class, a copy of the tree with only the devices of that class.
//!
//! Rules that ask for a class begin at such a copy. JSON from a cluster lists the copies. The text
//! of a map has only their ids, and they are created when it is compiled. Ids missing from the text
//! are assigned in Ceph's order, because placement depends on ids.

use std::collections::{BTreeMap, BTreeSet};

use foretell_sorted::SortedMap;

use super::map::{Bucket, CrushError, Item, MapParts};

/// Adds the shadows of all trees for `classes`, in this order. `ids` has the known ids, by bucket
/// and class. Buckets must form trees without loops.
pub fn add_shadows(
    parts: &mut MapParts,
    classes: &[String],
    ids: &BTreeMap<i32, SortedMap<String, i32>>,
) -> Result<(), CrushError> {
    let originals: BTreeMap<i32, Bucket> =
        parts.buckets.iter().map(|bucket| (bucket.id, bucket.clone())).collect();
    let held: BTreeSet<i32> =
        originals.values().flat_map(|bucket| &bucket.items).map(|item| item.id).collect();
    let reserved: BTreeSet<i32> = ids.values().flat_map(SortedMap::values).copied().collect();
    let mut shadows = Shadows {
        originals,
        reserved,
        next: -1,
        ids,
        parts,
        made: BTreeMap::new(),
        above: BTreeSet::new(),
    };
    let roots: Vec<i32> =
        shadows.originals.keys().filter(|id| !held.contains(id)).copied().collect();
    for root in roots {
        for class in classes {
            shadows.make(root, class)?;
        }
    }
    Ok(())
}

struct Shadows<'a> {
    originals: BTreeMap<i32, Bucket>,
    /// Ids reserved for shadows.
    reserved: BTreeSet<i32>,
    /// No id above this one is free.
    next: i32,
    ids: &'a BTreeMap<i32, SortedMap<String, i32>>,
    parts: &'a mut MapParts,
    /// Ids and weights of the created shadows, by original and class.
    made: BTreeMap<(i32, String), (i32, u32)>,
    /// The ancestors of the bucket that is being copied.
    above: BTreeSet<i32>,
}

impl Shadows<'_> {
    /// Creates the shadow of bucket `original`. Returns its id and weight.
    fn make(&mut self, original: i32, class: &str) -> Result<(i32, u32), CrushError> {
        let key = (original, class.to_owned());
        if let Some(made) = self.made.get(&key) {
            return Ok(*made);
        }
        let Some(bucket) = self.originals.get(&original).cloned() else {
            // the map's own check reports the bucket that holds it
            return Ok((original, 0));
        };
        if !self.above.insert(original) {
            return Err(CrushError::Loop(bucket.name));
        }
        let mut items = Vec::new();
        for item in &bucket.items {
            if item.id < 0 {
                let (id, weight) = self.make(item.id, class)?;
                items.push(Item { id, weight });
            } else if self.parts.classes.get(&item.id).is_some_and(|of| of == class) {
                items.push(*item);
            }
        }
        self.above.remove(&original);
        let declared = self.ids.get(&original).and_then(|ids| ids.get(class)).copied();
        let id = declared.unwrap_or_else(|| self.free_id());
        let name = format!("{}~{class}", bucket.name);
        let copy = Bucket { id, name, items, ..bucket };
        let weight = u32::try_from(copy.weight()).unwrap_or(u32::MAX);
        self.parts.buckets.push(copy);
        self.made.insert(key, (id, weight));
        Ok((id, weight))
    }

    /// The first id from -1 downwards that is neither used nor reserved.
    fn free_id(&mut self) -> i32 {
        let taken = |id: &i32| self.originals.contains_key(id) || self.reserved.contains(id);
        let id = (i32::MIN..=self.next).rev().find(|id| !taken(id));
        let id = id.expect("fewer than 2^31 buckets");
        self.next = id - 1;
        id
    }
}
