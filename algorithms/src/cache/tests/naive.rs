//! The policies without ghosts as plain lists, simple and slow: the oracles of the fast ones.

use proptest::prelude::*;

use crate::cache::{
    Access, Clock, Evicted, Fifo, Lfu, Lru, Policy, Sieve, SizedAccess, SizedPolicy,
};

/// A naive policy.
pub(super) trait Oracle {
    /// Returns whether it was a hit, and which objects left.
    fn access(&mut self, key: u64, size: u64) -> (bool, Vec<u64>);
    /// Returns whether it was there.
    fn remove(&mut self, key: u64) -> bool;
    fn residents(&self) -> Vec<u64>;
}

/// A resident object of an oracle.
#[derive(Clone, Debug)]
struct Object {
    key: u64,
    size: u64,
    used: bool,
    accesses: u64,
    /// Number of the cache's access that was the last to this object.
    last: u64,
}

/// A list with the newest object first, and a rule.
struct List {
    objects: Vec<Object>,
    capacity: u64,
    clock: u64,
    /// SIEVE's hand: the key of the object at which it points, if any.
    hand: Option<u64>,
    /// The effect of a hit at an index.
    hit: fn(&mut Vec<Object>, usize),
    /// The index of the object to evict.
    victim: fn(&mut Vec<Object>, &mut Option<u64>) -> usize,
}

impl List {
    fn used(&self) -> u64 {
        self.objects.iter().map(|object| object.size).sum()
    }
}

impl Oracle for List {
    fn access(&mut self, key: u64, size: u64) -> (bool, Vec<u64>) {
        self.clock += 1;
        if let Some(at) = self.objects.iter().position(|object| object.key == key) {
            self.objects[at].accesses += 1;
            self.objects[at].last = self.clock;
            (self.hit)(&mut self.objects, at);
            return (true, vec![]);
        }
        let mut left = vec![];
        if size <= self.capacity {
            while self.used() + size > self.capacity {
                let at = (self.victim)(&mut self.objects, &mut self.hand);
                left.push(self.objects.remove(at).key);
            }
            self.objects
                .insert(0, Object { key, size, used: false, accesses: 1, last: self.clock });
        }
        (false, left)
    }

    fn remove(&mut self, key: u64) -> bool {
        let Some(at) = self.objects.iter().position(|object| object.key == key) else {
            return false;
        };
        if self.hand == Some(key) {
            self.hand = at.checked_sub(1).map(|ahead| self.objects[ahead].key);
        }
        self.objects.remove(at);
        true
    }

    fn residents(&self) -> Vec<u64> {
        self.objects.iter().map(|object| object.key).collect()
    }
}

fn list(
    capacity: u64,
    hit: fn(&mut Vec<Object>, usize),
    victim: fn(&mut Vec<Object>, &mut Option<u64>) -> usize,
) -> List {
    List { objects: vec![], capacity, clock: 0, hand: None, hit, victim }
}

fn lru(capacity: u64) -> List {
    let to_front = |objects: &mut Vec<Object>, at: usize| objects[..=at].rotate_right(1);
    list(capacity, to_front, |objects, _| objects.len() - 1)
}

fn fifo(capacity: u64) -> List {
    list(capacity, |_, _| {}, |objects, _| objects.len() - 1)
}

fn clock(capacity: u64) -> List {
    list(
        capacity,
        |objects, at| objects[at].used = true,
        |objects, _| {
            while objects.last().is_some_and(|object| object.used) {
                let mut object = objects.pop().unwrap();
                object.used = false;
                objects.insert(0, object);
            }
            objects.len() - 1
        },
    )
}

fn sieve(capacity: u64) -> List {
    list(
        capacity,
        |objects, at| objects[at].used = true,
        |objects, hand| {
            let oldest = objects.len() - 1;
            let pointed = hand.and_then(|key| objects.iter().position(|object| object.key == key));
            let mut at = pointed.unwrap_or(oldest);
            while objects[at].used {
                objects[at].used = false;
                at = at.checked_sub(1).unwrap_or(oldest);
            }
            *hand = at.checked_sub(1).map(|ahead| objects[ahead].key);
            at
        },
    )
}

fn lfu(capacity: u64) -> List {
    // among equal numbers of accesses, the one that reached the number first: its last access is oldest
    list(
        capacity,
        |_, _| {},
        |objects, _| {
            let rank = |&at: &usize| (objects[at].accesses, objects[at].last);
            (0..objects.len()).min_by_key(rank).unwrap()
        },
    )
}

/// An access, or a removal, of a small key.
#[derive(Clone, Copy, Debug)]
pub(super) enum CacheStep {
    Access(u64, u64),
    Remove(u64),
}

pub(super) fn steps() -> impl Strategy<Value = Vec<CacheStep>> {
    // squared, so that small keys are frequent
    let key = (0_u64..7).prop_flat_map(|root| 0..=root * root);
    prop::collection::vec(
        prop_oneof![
            9 => (key.clone(), 1_u64..12).prop_map(|(key, size)| CacheStep::Access(key, size)),
            1 => key.prop_map(CacheStep::Remove),
        ],
        0..400,
    )
}

/// The fast policy makes the decisions of the oracle, with unit sizes.
pub(super) fn agrees(
    policy: &mut impl Policy,
    oracle: &mut impl Oracle,
    steps: &[CacheStep],
) -> Result<(), TestCaseError> {
    for step in steps {
        match *step {
            CacheStep::Access(key, _) => {
                let (hit, left) = oracle.access(key, 1);
                let access = policy.access(key);
                prop_assert_eq!(access.is_hit(), hit);
                let evicted = match access {
                    Access::Miss { evicted, .. } => evicted.map(|object| object.key),
                    Access::Hit { .. } => None,
                };
                prop_assert_eq!(evicted.as_slice(), left.as_slice());
            }
            CacheStep::Remove(key) => {
                prop_assert_eq!(policy.remove(key).is_some(), oracle.remove(key));
            }
        }
        prop_assert_eq!(policy.len(), oracle.residents().len());
        for key in oracle.residents() {
            prop_assert!(policy.contains(key).is_some());
        }
    }
    Ok(())
}

/// The same with sizes.
fn agrees_sized(
    policy: &mut impl SizedPolicy,
    oracle: &mut List,
    steps: &[CacheStep],
) -> Result<(), TestCaseError> {
    let mut evicted: Vec<Evicted> = vec![];
    for step in steps {
        match *step {
            CacheStep::Access(key, size) => {
                let (hit, left) = oracle.access(key, size);
                evicted.clear();
                let access = policy.access_sized(key, size, &mut evicted);
                prop_assert_eq!(matches!(access, SizedAccess::Hit { .. }), hit);
                let keys: Vec<_> = evicted.iter().map(|object| object.key).collect();
                prop_assert_eq!(keys, left);
            }
            CacheStep::Remove(key) => {
                prop_assert_eq!(policy.remove(key).is_some(), oracle.remove(key));
            }
        }
        prop_assert_eq!(policy.used(), oracle.used());
        prop_assert_eq!(policy.len(), oracle.objects.len());
    }
    Ok(())
}

proptest! {
    #[test]
    fn oracle_lru_matches_naive_list(steps in steps(), capacity in 1_u64..20) {
        agrees(&mut Lru::new(capacity as usize), &mut lru(capacity), &steps)?;
        agrees_sized(&mut Lru::sized(capacity), &mut lru(capacity), &steps)?;
    }

    #[test]
    fn oracle_fifo_matches_naive_list(steps in steps(), capacity in 1_u64..20) {
        agrees(&mut Fifo::new(capacity as usize), &mut fifo(capacity), &steps)?;
        agrees_sized(&mut Fifo::sized(capacity), &mut fifo(capacity), &steps)?;
    }

    #[test]
    fn oracle_clock_matches_naive_list(steps in steps(), capacity in 1_u64..20) {
        agrees(&mut Clock::new(capacity as usize), &mut clock(capacity), &steps)?;
        agrees_sized(&mut Clock::sized(capacity), &mut clock(capacity), &steps)?;
    }

    #[test]
    fn oracle_sieve_matches_naive_list(steps in steps(), capacity in 1_u64..20) {
        agrees(&mut Sieve::new(capacity as usize), &mut sieve(capacity), &steps)?;
        agrees_sized(&mut Sieve::sized(capacity), &mut sieve(capacity), &steps)?;
    }

    #[test]
    fn oracle_lfu_matches_naive_list(steps in steps(), capacity in 1_u64..20) {
        agrees(&mut Lfu::new(capacity as usize), &mut lfu(capacity), &steps)?;
        agrees_sized(&mut Lfu::sized(capacity), &mut lfu(capacity), &steps)?;
    }

    #[test]
    fn oracle_lru_matches_the_lru_crate(
        keys in prop::collection::vec(0_u64..60, 0..600),
        capacity in 1_usize..40,
    ) {
        let mut other = lru::LruCache::new(capacity.try_into().unwrap());
        let mut policy = Lru::new(capacity);
        for key in keys {
            let hit = other.get(&key).is_some();
            let left = if hit { None } else { other.push(key, ()) };
            let access = policy.access(key);
            prop_assert_eq!(access.is_hit(), hit);
            if let Access::Miss { evicted, .. } = access {
                prop_assert_eq!(evicted.map(|object| object.key), left.map(|(key, ())| key));
            }
        }
    }
}
