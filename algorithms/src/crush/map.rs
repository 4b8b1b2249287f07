//! A CRUSH map: buckets in a tree, rules, tunables, weight sets. It is checked once and then only read.

use std::collections::BTreeMap;

use foretell_sorted::{SortedMap, SortedSet};
use thiserror::Error;

use super::bucket::{Draw, Straw2, Urn};
use super::rule::{Rule, Step};

/// A hole in a set of devices: no device was found for this position.
pub const NONE: i32 = i32::MAX;

/// Maximum number of devices, and of buckets: far beyond any cluster, but small enough for memory.
pub const MAX_ITEMS: usize = 1 << 20;

/// How a bucket draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// All items are equal; a random permutation.
    Uniform,
    /// From the newest item to the oldest, each against the items before it.
    List,
    /// A binary tree of weights.
    Tree,
    /// Straws whose lengths depend on all weights.
    Straw,
    /// Straws that depend on the item's own weight alone.
    Straw2,
}

impl Algorithm {
    /// The algorithm with this name in Ceph's texts.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "uniform" => Self::Uniform,
            "list" => Self::List,
            "tree" => Self::Tree,
            "straw" => Self::Straw,
            "straw2" => Self::Straw2,
            _ => return None,
        })
    }

    /// The name that Ceph's texts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::List => "list",
            Self::Tree => "tree",
            Self::Straw => "straw",
            Self::Straw2 => "straw2",
        }
    }
}

/// An item of a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// A device (from 0) or a bucket (from -1 down).
    pub id: i32,
    /// 16.16 fixed point; by convention 1.0 is a TiB.
    pub weight: u32,
}

/// A host, rack, room, root, or the shadow of one with the devices of one class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// From -1 down.
    pub id: i32,
    /// Its name; that of a shadow is `NAME~CLASS`.
    pub name: String,
    /// Its type: an entry of [`MapParts::types`], not 0.
    pub kind: u16,
    /// How it draws.
    pub algorithm: Algorithm,
    /// In order.
    pub items: Vec<Item>,
}

impl Bucket {
    /// The sum of its items' weights, 16.16 fixed point.
    pub fn weight(&self) -> u64 {
        self.items.iter().map(|item| u64::from(item.weight)).sum()
    }

    /// Whether it is the shadow of another for one device class.
    pub fn is_shadow(&self) -> bool {
        self.name.contains('~')
    }

    pub(super) fn too_heavy(&self) -> CrushError {
        CrushError::Heavy { bucket: self.name.clone() }
    }
}

/// Settings for retries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tunables {
    /// Retries in the same bucket after a collision.
    pub choose_local_tries: u32,
    /// Further retries, from a permutation of the bucket.
    pub choose_local_fallback_tries: u32,
    /// Retries from the top. The number of attempts is one higher.
    pub choose_total_tries: u32,
    /// Whether the search for a leaf has only one attempt.
    pub chooseleaf_descend_once: bool,
    /// Whether the search for a leaf depends on the attempt, and how weakly (0: not at all).
    pub chooseleaf_vary_r: u32,
    /// Whether the search for a leaf does not depend on the position.
    pub chooseleaf_stable: bool,
    /// How straws are computed.
    pub straw_calc_version: u32,
    /// Descents of a rule that retries all its steps.
    pub msr_descents: u32,
    /// Attempts of such a rule after a collision.
    pub msr_collision_tries: u32,
}

impl Tunables {
    /// Before Bobtail: the tunables of a map that names none.
    pub const LEGACY: Self = Self {
        choose_local_tries: 2,
        choose_local_fallback_tries: 5,
        choose_total_tries: 19,
        chooseleaf_descend_once: false,
        chooseleaf_vary_r: 0,
        chooseleaf_stable: false,
        straw_calc_version: 0,
        msr_descents: 100,
        msr_collision_tries: 100,
    };
    /// Since Jewel: the tunables of a new cluster.
    pub const JEWEL: Self = Self {
        choose_local_tries: 0,
        choose_local_fallback_tries: 0,
        choose_total_tries: 50,
        chooseleaf_descend_once: true,
        chooseleaf_vary_r: 1,
        chooseleaf_stable: true,
        straw_calc_version: 1,
        msr_descents: 100,
        msr_collision_tries: 100,
    };
}

/// Other weights or ids for one straw2 bucket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChooseArg {
    /// The bucket.
    pub bucket: i32,
    /// Weights of its items: one set for each position of the result; the last set also for all
    /// further positions. Empty: the bucket's own.
    pub weight_sets: Vec<Vec<u32>>,
    /// Hash inputs that replace the items' ids.
    pub ids: Option<Vec<i32>>,
}

/// Why a map cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CrushError {
    /// A bucket's id is that of a device, or out of bounds.
    #[error("bucket `{bucket}` has the id {id}; buckets have ids from -1 to -{MAX_ITEMS}")]
    BucketId {
        /// Its name.
        bucket: String,
        /// Its id.
        id: i32,
    },
    /// Two buckets have one id.
    #[error("buckets `{first}` and `{second}` both have the id {id}")]
    Twice {
        /// One name.
        first: String,
        /// The other.
        second: String,
        /// Their id.
        id: i32,
    },
    /// Type 0 is for devices.
    #[error("bucket `{0}` has the type 0, which is for devices")]
    DeviceType(String),
    /// An item is neither a bucket of the map nor a possible device.
    #[error("bucket `{bucket}` holds the item {item}, which is not in the map")]
    Item {
        /// Which bucket.
        bucket: String,
        /// Which item.
        item: i32,
    },
    /// The tree has a loop.
    #[error("bucket `{0}` contains itself, by way of its items")]
    Loop(String),
    /// Weights exceed 32 bits.
    #[error("the weights of bucket `{bucket}` add up to more than 65535")]
    Heavy {
        /// Which bucket.
        bucket: String,
    },
    /// A weight set does not fit its bucket.
    #[error(
        "choose_args {args}: bucket {bucket} has {items} items, but {what} of {found} are given"
    )]
    WeightSet {
        /// Which set of arguments.
        args: i64,
        /// Which bucket.
        bucket: i32,
        /// How many items it has.
        items: usize,
        /// What is wrong in number: weights or ids.
        what: &'static str,
        /// Number found.
        found: usize,
    },
    /// A weight set is for an unknown bucket.
    #[error("choose_args {args}: there is no bucket {bucket}")]
    NoBucket {
        /// Which set of arguments.
        args: i64,
        /// Which bucket.
        bucket: i32,
    },
    /// Two rules have one id.
    #[error("two rules have the id {0}")]
    RuleTwice(u32),
    /// A rule begins at an unknown item.
    #[error("rule `{rule}` takes the item {item}, which is not in the map")]
    Take {
        /// Which rule.
        rule: String,
        /// Which item.
        item: i32,
    },
    /// A search did not end in a reasonable number of attempts.
    #[error(
        "rule `{rule}` finds no placement for input {input} within {draws} draws: its tries are set \
         very high, and it cannot be met"
    )]
    Endless {
        /// Which rule.
        rule: String,
        /// Which input.
        input: u32,
        /// How many draws were made.
        draws: u64,
    },
    /// There is no such rule.
    #[error("there is no rule {0}")]
    NoRule(u32),
    /// A rule asks for something that is not known here.
    #[error("rule `{rule}` cannot be used: {what}")]
    UnknownRule {
        /// Which rule.
        rule: String,
        /// What it asks for.
        what: String,
    },
}

/// The parts of a map.
#[derive(Clone, PartialEq, Debug)]
pub struct MapParts {
    /// In any order.
    pub buckets: Vec<Bucket>,
    /// In any order.
    pub rules: Vec<Rule>,
    /// Settings for retries.
    pub tunables: Tunables,
    /// Names of types; type 0 is a device.
    pub types: SortedMap<u16, String>,
    /// Classes, by device that has one.
    pub classes: SortedMap<i32, String>,
    /// By pool; -1 is for all other pools.
    pub choose_args: SortedMap<i64, Vec<ChooseArg>>,
}

impl Default for MapParts {
    fn default() -> Self {
        Self {
            buckets: Vec::new(),
            rules: Vec::new(),
            tunables: Tunables::JEWEL,
            types: SortedMap::from([(0, "osd".to_owned())]),
            classes: SortedMap::new(),
            choose_args: SortedMap::new(),
        }
    }
}

/// A checked map.
#[derive(Clone, Debug)]
pub struct CrushMap {
    parts: MapParts,
    /// By id of a bucket: its index among the parts.
    places: BTreeMap<i32, usize>,
    /// By device: its largest weight in any bucket that is no shadow.
    weights: BTreeMap<i32, u32>,
    /// Buckets by -1 - id.
    pub(super) urns: Vec<Option<Urn>>,
    /// Rules by number.
    pub(super) rules: SortedMap<u32, Rule>,
    /// One more than the largest device in any bucket.
    pub(super) devices: usize,
    /// By pool, then by -1 - id of the bucket: weights by position.
    pub(super) choose_args: SortedMap<i64, Vec<Vec<Straw2>>>,
}

/// The index of the bucket with this id; `None` for a device or an impossible id.
pub(super) fn slot(id: i32) -> Option<usize> {
    usize::try_from(-1 - i64::from(id)).ok()
}

impl CrushMap {
    /// Checks the parts: ids, items, loops, weights, rules.
    pub fn new(parts: MapParts) -> Result<Self, CrushError> {
        let mut places: BTreeMap<i32, usize> = BTreeMap::new();
        let mut slots = 0;
        for (place, bucket) in parts.buckets.iter().enumerate() {
            match slot(bucket.id) {
                Some(slot) if slot < MAX_ITEMS => slots = slots.max(slot + 1),
                _ => {
                    return Err(CrushError::BucketId {
                        bucket: bucket.name.clone(),
                        id: bucket.id,
                    });
                }
            }
            if bucket.kind == 0 {
                return Err(CrushError::DeviceType(bucket.name.clone()));
            }
            if let Some(first) = places.insert(bucket.id, place) {
                let (first, second) = (parts.buckets[first].name.clone(), bucket.name.clone());
                return Err(CrushError::Twice { first, second, id: bucket.id });
            }
        }
        let mut urns = vec![None; slots];
        let mut devices = 0;
        let mut weights: BTreeMap<i32, u32> = BTreeMap::new();
        for bucket in &parts.buckets {
            for item in &bucket.items {
                let known = if item.id < 0 {
                    places.contains_key(&item.id)
                } else {
                    devices = devices.max(item.id as usize + 1);
                    if !bucket.is_shadow() {
                        let weight = weights.entry(item.id).or_default();
                        *weight = item.weight.max(*weight);
                    }
                    (item.id as usize) < MAX_ITEMS
                };
                if !known {
                    return Err(CrushError::Item { bucket: bucket.name.clone(), item: item.id });
                }
            }
            let slot = slot(bucket.id).expect("checked above");
            urns[slot] = Some(Urn::new(bucket, &parts.tunables)?);
        }
        let mut rules = SortedMap::new();
        for rule in &parts.rules {
            for step in &rule.steps {
                if let Step::Take(item) = step
                    && *item < 0
                    && !places.contains_key(item)
                {
                    return Err(CrushError::Take { rule: rule.name.clone(), item: *item });
                }
            }
            if rules.insert(rule.id, rule.clone()).is_some() {
                return Err(CrushError::RuleTwice(rule.id));
            }
        }
        let choose_args = prepared_args(&parts.choose_args, &urns)?;
        let map = Self { parts, places, weights, urns, rules, devices, choose_args };
        map.no_loops()?;
        Ok(map)
    }

    /// The parts of the map.
    pub fn parts(&self) -> &MapParts {
        &self.parts
    }

    /// One more than the largest device in any bucket.
    pub fn devices(&self) -> usize {
        self.devices
    }

    /// Notes that users should read before they rely on the map.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let straws =
            self.parts.buckets.iter().filter(|bucket| bucket.algorithm == Algorithm::Straw);
        let straws: Vec<&str> = straws.map(|bucket| bucket.name.as_str()).collect();
        if let Some(first) = straws.first() {
            let (count, version) = (straws.len(), self.parts.tunables.straw_calc_version);
            notes.push(format!(
                "{count} buckets of kind `straw` (`{first}`, ...): their straws are computed by version \
                 {version}; a map that was changed since may keep older ones"
            ));
        }
        for rule in &self.parts.rules {
            if let Some(what) = &rule.unknown {
                notes.push(format!("rule `{}` cannot be used: {what}", rule.name));
            }
        }
        notes
    }

    /// The bucket with this id.
    pub fn bucket(&self, id: i32) -> Option<&Bucket> {
        self.parts.buckets.get(*self.places.get(&id)?)
    }

    /// The weight of a device: the largest that it has in any tree. `None` if it is in none.
    pub fn weight_of(&self, device: i32) -> Option<u32> {
        self.weights.get(&device).copied()
    }

    /// The rule with this number.
    pub fn rule(&self, id: u32) -> Option<&Rule> {
        self.rules.get(&id)
    }

    /// All devices that are in a bucket.
    pub fn placed_devices(&self) -> SortedSet<i32> {
        let items = self.parts.buckets.iter().flat_map(|bucket| &bucket.items);
        items.map(|item| item.id).filter(|id| *id >= 0).collect()
    }

    /// Fails if a bucket is below itself: a depth-first walk that visits each bucket once.
    fn no_loops(&self) -> Result<(), CrushError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Not,
            Above,
            Done,
        }
        let mut seen = vec![Seen::Not; self.urns.len()];
        for start in self.urns.iter().flatten() {
            let mut path = vec![(start, 0)];
            seen[slot(start.id).expect("a bucket")] = match seen[slot(start.id).expect("a bucket")]
            {
                Seen::Done => continue,
                _ => Seen::Above,
            };
            while let Some((urn, next)) = path.last_mut() {
                let Some(item) = urn.items.get(*next) else {
                    seen[slot(urn.id).expect("a bucket")] = Seen::Done;
                    path.pop();
                    continue;
                };
                *next += 1;
                let Some(below) = slot(*item) else { continue };
                match seen[below] {
                    Seen::Done => {}
                    Seen::Above => {
                        let name = self.bucket(*item).map(|bucket| bucket.name.clone());
                        return Err(CrushError::Loop(name.unwrap_or_default()));
                    }
                    Seen::Not => {
                        seen[below] = Seen::Above;
                        path.push((self.urns[below].as_ref().expect("checked"), 0));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Weight sets prepared for draws; only straw2 buckets use them.
fn prepared_args(
    all: &SortedMap<i64, Vec<ChooseArg>>,
    urns: &[Option<Urn>],
) -> Result<SortedMap<i64, Vec<Vec<Straw2>>>, CrushError> {
    let mut prepared = SortedMap::new();
    for (&args, buckets) in all {
        let mut by_slot = vec![Vec::new(); urns.len()];
        for arg in buckets {
            let urn = slot(arg.bucket).and_then(|slot| urns.get(slot)?.as_ref());
            let Some(urn) = urn else {
                return Err(CrushError::NoBucket { args, bucket: arg.bucket });
            };
            let items = urn.items.len();
            let wrong = |what, found| {
                Err(CrushError::WeightSet { args, bucket: arg.bucket, items, what, found })
            };
            if let Some(ids) = &arg.ids
                && ids.len() != items
            {
                return wrong("ids", ids.len());
            }
            if let Some(set) = arg.weight_sets.iter().find(|set| set.len() != items) {
                return wrong("weights", set.len());
            }
            let Draw::Straw2(own) = &urn.draw else { continue };
            let ids = arg.ids.as_ref().unwrap_or(&urn.items);
            let sets: Vec<Straw2> =
                arg.weight_sets.iter().map(|weights| Straw2::new(ids, weights)).collect();
            by_slot[slot(arg.bucket).expect("a bucket")] = match (sets.is_empty(), &arg.ids) {
                (false, _) => sets,
                (true, Some(ids)) => vec![own.with_ids(ids)],
                (true, None) => Vec::new(),
            };
        }
        prepared.insert(args, by_slot);
    }
    Ok(prepared)
}
