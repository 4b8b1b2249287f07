//! The OSDs that a rule reaches, and the limits that it sets for the members of a group.

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

/// The OSDs below the buckets that a rule takes, with their CRUSH weights.
pub(crate) fn reached(map: &ClusterMap, rule: &Rule) -> SortedMap<i32, f64> {
    let parts = map.crush.parts();
    let mut weights = SortedMap::new();
    for step in &rule.steps {
        let Step::Take(item) = step else { continue };
        if *item >= 0 {
            weights.insert(*item, 1.0);
        } else {
            let below = parts.devices_below(*item);
            weights
                .extend(below.into_iter().map(|(osd, weight)| (osd, f64::from(weight) / 65_536.0)));
        }
    }
    weights
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
