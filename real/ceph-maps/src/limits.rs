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

/// The OSDs below the buckets that a rule takes, with the weights by which CRUSH chooses them: an OSD of weight 1 in a
/// host that counts with half of its OSDs' weights has 0.5.
pub(crate) fn reached(map: &ClusterMap, rule: &Rule) -> SortedMap<i32, f64> {
    let mut weights: BTreeMap<i32, f64> = BTreeMap::new();
    for step in &rule.steps {
        let Step::Take(item) = step else { continue };
        // an item, and what it counts for each unit of its own weight
        let mut open = vec![(*item, 1.0)];
        while let Some((item, factor)) = open.pop() {
            let Some(bucket) = map.crush.bucket(item) else {
                weights.insert(item, factor);
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
                open.push((item.id, factor * own));
            }
        }
    }
    weights.into_iter().collect()
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
