//! The OSDs that a rule reaches, and the limits that it sets for the members of a group.

use std::collections::BTreeMap;

use foretell_algorithms::crush::{ClusterMap, Rule, Step};
use foretell_sorted::SortedMap;

/// A limit that a rule sets for the members of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limit {
    /// Type of the buckets.
    pub(crate) kind: u16,
    /// Maximum number of members below each.
    pub(crate) each: usize,
    /// Maximum number of buckets of this type with members.
    pub(crate) buckets: usize,
}

/// The OSDs below the buckets that a rule takes, with their weights in the tree: an OSD of weight 1 in a host that counts
/// with half of its OSDs' weights has 0.5. Weight sets (`choose_args`), with which a balancer corrects chance, do not
/// change what an OSD should have.
pub(crate) fn reached(map: &ClusterMap, rule: &Rule) -> SortedMap<i32, f64> {
    let mut weights: BTreeMap<i32, f64> = BTreeMap::new();
    for step in &rule.steps {
        let Step::Take(taken) = step else { continue };
        // what an item counts for each unit of its own weight, summed over all ways to it
        let mut factors = BTreeMap::from([(*taken, 1.0)]);
        for id in above_first(map, *taken) {
            let factor = factors.get(&id).copied().unwrap_or(0.0);
            let Some(bucket) = map.crush.bucket(id) else {
                *weights.entry(id).or_default() += factor;
                continue;
            };
            for item in &bucket.items {
                let weight = f64::from(item.weight) / 65_536.0;
                let own = match map.crush.bucket(item.id) {
                    // what a bucket holds counts as much as the bucket
                    Some(below) => {
                        let sum: f64 =
                            below.items.iter().map(|item| f64::from(item.weight) / 65_536.0).sum();
                        if sum > 0.0 { weight / sum } else { 0.0 }
                    }
                    None => weight,
                };
                *factors.entry(item.id).or_default() += factor * own;
            }
        }
    }
    weights.into_iter().collect()
}

/// All items below one and itself, each after all buckets that hold it. A map has no loops.
fn above_first(map: &ClusterMap, top: i32) -> Vec<i32> {
    let items = |id: i32| map.crush.bucket(id).map_or(&[][..], |bucket| &bucket.items);
    let mut holders: BTreeMap<i32, usize> = BTreeMap::from([(top, 0)]);
    let mut open = vec![top];
    while let Some(id) = open.pop() {
        for item in items(id) {
            let count = holders.entry(item.id).or_insert_with(|| {
                open.push(item.id);
                0
            });
            *count += 1;
        }
    }
    let mut order = vec![top];
    let mut next = 0;
    while let Some(&id) = order.get(next) {
        next += 1;
        for item in items(id) {
            let left = holders.get_mut(&item.id).expect("it was found");
            *left -= 1;
            if *left == 0 {
                order.push(item.id);
            }
        }
    }
    order
}

/// The limits that a rule sets for a group of `size` members.
pub(crate) fn limits(rule: &Rule, size: u32) -> Vec<Limit> {
    /// The items that a step chooses below each item of the step before.
    struct Choice {
        kind: u16,
        count: usize,
        /// A rule that retries all steps chooses at least this number, and more where some are out.
        at_least: bool,
    }
    let choice = |step: &Step| match *step {
        Step::Choose { count, kind, .. } => {
            let count = if count > 0 { count } else { (size.cast_signed() + count).max(1) };
            Some(Choice { kind, count: count as usize, at_least: false })
        }
        Step::ChooseMsr { count, kind } => {
            let count = if count == 0 { size } else { count };
            Some(Choice { kind, count: count as usize, at_least: true })
        }
        _ => None,
    };
    let choices: Vec<Choice> = rule.steps.iter().filter_map(choice).collect();
    let size = size as usize;
    // with several `emit` steps, the only limit is that no device is chosen twice
    let ends = rule.steps.iter().filter(|step| matches!(step, Step::Emit)).count();
    if ends > 1 {
        return vec![Limit { kind: 0, each: 1, buckets: size }];
    }
    let product = |choices: &[Choice]| {
        choices.iter().fold(1_usize, |product, choice| product.saturating_mul(choice.count))
    };
    let limit = |at: usize| Limit {
        kind: choices[at].kind,
        each: product(&choices[at + 1..]).min(size),
        buckets: if choices[at].at_least { usize::MAX } else { product(&choices[..=at]) },
    };
    (0..choices.len()).map(limit).collect()
}
