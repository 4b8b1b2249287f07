//! What every policy promises, whatever it decides.

use proptest::prelude::*;
use std::collections::BTreeMap;

use crate::cache::{Access, Policy, PolicyKind};

proptest! {
    /// Slots are below the capacity, of one object each, stable while it is resident; the map
    /// from key to slot that a caller can keep is the policy's own.
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
        // the squares modulo 100 take 22 values
        assert_eq!((misses, policy.len()), (22, 22), "{kind}");
    }
}
