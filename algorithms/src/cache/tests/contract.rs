//! Properties that every policy guarantees.

use proptest::prelude::*;
use std::collections::BTreeMap;

use crate::cache::{Access, MAX_CAPACITY, Policy, PolicyKind, SizedAccess, SizedPolicy};

proptest! {
    /// A policy for pages decides as the one for scattered objects does. A map from key to slot agrees with its own,
    /// and slots are below four times the capacity.
    #[test]
    fn policies_for_pages_decide_alike(
        keys in prop::collection::vec((0_u64..60, 0_u8..10), 0..500),
        capacity in 1_usize..24,
    ) {
        for &kind in PolicyKind::ALL {
            let mut objects = kind.build(capacity);
            let mut pages = kind.build_for_pages(capacity);
            let mut slots: BTreeMap<u64, u32> = BTreeMap::new();
            for &(key, what) in &keys {
                if what == 0 {
                    let removed = pages.remove(key);
                    prop_assert_eq!(objects.remove(key).is_some(), removed.is_some(), "{}", kind);
                    prop_assert_eq!(removed, slots.remove(&key), "{}", kind);
                    continue;
                }
                match (objects.access(key), pages.access(key)) {
                    (Access::Hit { .. }, Access::Hit { slot }) => {
                        prop_assert_eq!(slots.get(&key), Some(&slot), "{}", kind);
                    }
                    (Access::Miss { evicted: object, .. }, Access::Miss { slot, evicted: page }) => {
                        prop_assert_eq!(object.map(|e| e.key), page.map(|e| e.key), "{}", kind);
                        if let Some(page) = page {
                            prop_assert_eq!(slots.remove(&page.key), Some(page.slot), "{}", kind);
                        }
                        prop_assert!((slot as usize) < 4 * capacity, "{}", kind);
                        prop_assert!(slots.values().all(|&taken| taken != slot), "{}", kind);
                        slots.insert(key, slot);
                    }
                    (object, page) => prop_assert!(false, "{kind}: {object:?}, {page:?}"),
                }
                prop_assert_eq!(pages.len(), objects.len(), "{}", kind);
            }
        }
    }

    /// Slots are below the capacity, belong to one object each, and are stable while it is
    /// resident. A map from key to slot that a caller keeps agrees with the policy's own.
    #[test]
    fn a_caller_can_keep_arrays_by_slot(
        keys in prop::collection::vec((0_u64..40, 0_u8..10), 0..500),
        capacity in 1_usize..24,
    ) {
        for &kind in PolicyKind::ALL {
            let mut policy = kind.build(capacity);
            let mut slots: BTreeMap<u64, u32> = BTreeMap::new();
            for &(key, what) in &keys {
                if what == 0 {
                    prop_assert_eq!(policy.remove(key), slots.remove(&key), "{}", kind);
                } else {
                    match policy.access(key) {
                        Access::Hit { slot } => {
                            prop_assert_eq!(slots.get(&key), Some(&slot), "{}", kind);
                        }
                        Access::Miss { slot, evicted } => {
                            if let Some(object) = evicted {
                                prop_assert_eq!(slots.len(), capacity, "{}: left too early", kind);
                                prop_assert_eq!(slots.remove(&object.key), Some(object.slot));
                            }
                            prop_assert!((slot as usize) < capacity, "{}", kind);
                            prop_assert!(slots.values().all(|&taken| taken != slot), "{}", kind);
                            prop_assert_eq!(slots.insert(key, slot), None, "{}", kind);
                        }
                    }
                }
                prop_assert_eq!(policy.len(), slots.len(), "{}", kind);
                for key in 0..40 {
                    prop_assert_eq!(policy.contains(key), slots.get(&key).copied(), "{}", kind);
                }
            }
        }
    }

    /// The same with sizes: the residents fit, and every evicted object is reported.
    #[test]
    fn what_is_used_never_exceeds_the_capacity(
        steps in prop::collection::vec((0_u64..40, 0_u64..30, 0_u8..10), 0..500),
        capacity in 1_u64..400,
    ) {
        for &kind in PolicyKind::ALL {
            let mut policy = kind.build_sized(capacity);
            let mut objects: BTreeMap<u64, (u32, u64)> = BTreeMap::new();
            let mut evicted = Vec::new();
            for &(key, size, what) in &steps {
                if what == 0 {
                    let removed = objects.remove(&key).map(|(slot, _)| slot);
                    prop_assert_eq!(policy.remove(key), removed, "{}", kind);
                } else {
                    let access = policy.access_sized(key, size, &mut evicted);
                    for object in evicted.drain(..) {
                        let left = objects.remove(&object.key).map(|(slot, _)| slot);
                        prop_assert_eq!(left, Some(object.slot), "{}", kind);
                    }
                    match access {
                        SizedAccess::Hit { slot } => {
                            prop_assert_eq!(objects.get(&key).map(|o| o.0), Some(slot), "{}", kind);
                        }
                        SizedAccess::Miss { slot } => {
                            prop_assert!(objects.values().all(|o| o.0 != slot), "{}", kind);
                            prop_assert!(objects.insert(key, (slot, size)).is_none(), "{}", kind);
                        }
                        SizedAccess::Refused => {
                            prop_assert!(!objects.contains_key(&key), "{}", kind);
                        }
                    }
                }
                let used: u64 = objects.values().map(|o| o.1).sum();
                prop_assert_eq!(policy.used(), used, "{}", kind);
                prop_assert!(used <= capacity, "{}", kind);
                prop_assert_eq!(policy.len(), objects.len(), "{}", kind);
            }
        }
    }

    #[test]
    fn room_made_at_once_changes_no_decision(
        before in prop::collection::vec(0_u64..40, 0..60),
        keys in prop::collection::vec(0_u64..40, 0..300),
        capacity in 1_usize..24,
    ) {
        for &kind in PolicyKind::ALL {
            let mut policies = [kind.build(capacity), kind.build(capacity)];
            for &key in &before {
                for policy in &mut policies {
                    policy.access(key);
                }
            }
            policies[0].reserve(1000);
            for &key in &keys {
                let [reserved, plain] = policies.each_mut().map(|policy| policy.access(key));
                prop_assert_eq!(reserved, plain, "{}", kind);
            }
        }
    }
}

/// 1,000 caches of the largest capacity, each with one object. If memory were proportional to the
/// capacity, this would take terabytes.
#[test]
fn memory_grows_with_what_is_held() {
    for &kind in PolicyKind::ALL {
        let mut caches: Vec<_> = (0..1_000).map(|_| kind.build(MAX_CAPACITY)).collect();
        for (key, cache) in caches.iter_mut().enumerate() {
            assert_eq!(cache.access(key as u64), Access::Miss { slot: 0, evicted: None });
        }
    }
}

#[test]
fn a_cache_of_one_object_holds_the_last() {
    for &kind in PolicyKind::ALL {
        let mut policy = kind.build(1);
        assert!(policy.is_empty());
        for key in [5, 6, 5, 5, 7] {
            policy.access(key);
            assert_eq!((policy.len(), policy.contains(key)), (1, Some(0)), "{kind}");
        }
    }
}

#[test]
fn a_cache_that_holds_everything_misses_each_object_once() {
    for &kind in PolicyKind::ALL {
        let mut policy = kind.build(100);
        let misses = (0..1000).filter(|i| !policy.access(i * i % 100).is_hit()).count();
        // the squares modulo 100 have 22 distinct values
        assert_eq!((misses, policy.len()), (22, 22), "{kind}");
    }
}
