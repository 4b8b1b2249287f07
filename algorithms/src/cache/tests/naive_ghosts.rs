//! The policies with ghosts as plain lists, for objects of unit size. Newest first.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::naive::{CacheStep, Oracle, agrees, steps};
use crate::cache::{Arc, Lirs, Policy, S3Fifo, TwoQ};

type List = VecDeque<u64>;

/// Removes `key` from `list`. Returns whether it was there.
fn take(list: &mut List, key: u64) -> bool {
    let at = list.iter().position(|&other| other == key);
    at.is_some_and(|at| list.remove(at).is_some())
}

/// The share `share` of `capacity`, at least one.
fn part(capacity: usize, share: f64) -> usize {
    ((capacity as f64 * share) as usize).max(1)
}

#[derive(Default)]
struct NaiveTwoQ {
    capacity: usize,
    a1in: List,
    a1out: List,
    am: List,
}

impl Oracle for NaiveTwoQ {
    fn access(&mut self, key: u64, _: u64) -> (bool, Vec<u64>) {
        if take(&mut self.am, key) {
            self.am.push_front(key);
            return (true, vec![]);
        }
        if self.a1in.contains(&key) {
            return (true, vec![]);
        }
        let ghost = take(&mut self.a1out, key);
        let mut left = vec![];
        if self.a1in.len() + self.am.len() == self.capacity {
            if self.a1in.len() > part(self.capacity, 0.25) || self.am.is_empty() {
                let key = self.a1in.pop_back().unwrap();
                left.push(key);
                self.a1out.push_front(key);
                self.a1out.truncate(self.capacity / 2);
            } else {
                left.extend(self.am.pop_back());
            }
        }
        if ghost {
            self.am.push_front(key);
        } else {
            self.a1in.push_front(key);
        }
        (false, left)
    }

    fn remove(&mut self, key: u64) -> bool {
        take(&mut self.a1out, key);
        take(&mut self.a1in, key) || take(&mut self.am, key)
    }

    fn residents(&self) -> Vec<u64> {
        self.a1in.iter().chain(&self.am).copied().collect()
    }
}

#[derive(Default)]
struct NaiveArc {
    c: usize,
    p: f64,
    t1: List,
    t2: List,
    b1: List,
    b2: List,
}

impl NaiveArc {
    /// As Figure 4 of the paper.
    fn replace(&mut self, in_b2: bool) -> u64 {
        let t1 = self.t1.len() as f64;
        #[expect(clippy::float_cmp, reason = "the paper's |T1| = p")]
        let from_t1 = t1 >= 1.0 && (t1 > self.p || (in_b2 && t1 == self.p));
        if from_t1 || self.t2.is_empty() {
            let key = self.t1.pop_back().unwrap();
            self.b1.push_front(key);
            key
        } else {
            let key = self.t2.pop_back().unwrap();
            self.b2.push_front(key);
            key
        }
    }
}

impl Oracle for NaiveArc {
    fn access(&mut self, key: u64, _: u64) -> (bool, Vec<u64>) {
        if take(&mut self.t1, key) || take(&mut self.t2, key) {
            self.t2.push_front(key);
            return (true, vec![]);
        }
        let full = self.t1.len() + self.t2.len() == self.c;
        let (b1, b2) = (self.b1.len() as f64, self.b2.len() as f64);
        let mut left = vec![];
        if take(&mut self.b1, key) {
            self.p = (self.p + (b2 / b1).max(1.0)).min(self.c as f64);
            left.extend(full.then(|| self.replace(false)));
            self.t2.push_front(key);
        } else if take(&mut self.b2, key) {
            self.p = (self.p - (b1 / b2).max(1.0)).max(0.0);
            left.extend(full.then(|| self.replace(true)));
            self.t2.push_front(key);
        } else {
            if full {
                // Both tests read = c and |T1| < c in the paper, where nothing is ever removed.
                if self.t1.len() + self.b1.len() >= self.c {
                    if self.b1.is_empty() {
                        left.extend(self.t1.pop_back());
                    } else {
                        self.b1.pop_back();
                        left.push(self.replace(false));
                    }
                } else {
                    let all = self.t1.len() + self.t2.len() + self.b1.len() + self.b2.len();
                    if all >= 2 * self.c {
                        self.b2.pop_back();
                    }
                    left.push(self.replace(false));
                }
            }
            self.t1.push_front(key);
        }
        (false, left)
    }

    fn remove(&mut self, key: u64) -> bool {
        let _ = take(&mut self.b1, key) || take(&mut self.b2, key);
        take(&mut self.t1, key) || take(&mut self.t2, key)
    }

    fn residents(&self) -> Vec<u64> {
        self.t1.iter().chain(&self.t2).copied().collect()
    }
}

#[derive(Default)]
struct NaiveS3Fifo {
    capacity: usize,
    /// Keys with their numbers of hits.
    small: VecDeque<(u64, u32)>,
    main: VecDeque<(u64, u32)>,
    ghosts: List,
    evicted_once: bool,
}

impl NaiveS3Fifo {
    fn evict(&mut self) -> u64 {
        self.evicted_once = true;
        if self.main.len() <= self.capacity - part(self.capacity, 0.1) {
            while let Some((key, hits)) = self.small.pop_back() {
                if hits < 2 {
                    self.ghosts.push_front(key);
                    self.ghosts.truncate(part(self.capacity, 0.9));
                    return key;
                }
                self.main.push_front((key, 0));
            }
        }
        loop {
            let (key, hits) = self.main.pop_back().unwrap();
            if hits == 0 {
                return key;
            }
            self.main.push_front((key, hits.min(3) - 1));
        }
    }
}

impl Oracle for NaiveS3Fifo {
    fn access(&mut self, key: u64, _: u64) -> (bool, Vec<u64>) {
        let mut residents = self.small.iter_mut().chain(&mut self.main);
        if let Some(object) = residents.find(|object| object.0 == key) {
            object.1 += 1;
            return (true, vec![]);
        }
        let ghost = take(&mut self.ghosts, key);
        let mut left = vec![];
        if self.small.len() + self.main.len() == self.capacity {
            left.push(self.evict());
        }
        let filling = !self.evicted_once && self.small.len() >= part(self.capacity, 0.1);
        if ghost || filling {
            self.main.push_front((key, 0));
        } else {
            self.small.push_front((key, 0));
        }
        (false, left)
    }

    fn remove(&mut self, key: u64) -> bool {
        take(&mut self.ghosts, key);
        let before = self.small.len() + self.main.len();
        self.small.retain(|object| object.0 != key);
        self.main.retain(|object| object.0 != key);
        self.small.len() + self.main.len() < before
    }

    fn residents(&self) -> Vec<u64> {
        self.small.iter().chain(&self.main).map(|object| object.0).collect()
    }
}

#[derive(Default)]
struct NaiveLirs {
    capacity: usize,
    stack: List,
    lir: List,
    queue: List,
    ghosts: List,
}

impl NaiveLirs {
    fn lir_limit(&self) -> usize {
        self.capacity - part(self.capacity, 0.01)
    }

    fn prune(&mut self) {
        while let Some(&bottom) = self.stack.back()
            && !self.lir.contains(&bottom)
        {
            self.stack.pop_back();
            take(&mut self.ghosts, bottom);
        }
    }

    fn demote_bottom(&mut self) {
        let bottom = self.stack.pop_back().unwrap();
        assert!(take(&mut self.lir, bottom));
        self.queue.push_front(bottom);
        self.prune();
    }
}

impl Oracle for NaiveLirs {
    fn access(&mut self, key: u64, _: u64) -> (bool, Vec<u64>) {
        let stacked = take(&mut self.stack, key);
        if self.lir.contains(&key) {
            self.stack.push_front(key);
            self.prune();
            return (true, vec![]);
        }
        if take(&mut self.queue, key) {
            self.stack.push_front(key);
            if stacked && self.lir_limit() > 0 {
                self.lir.push_front(key);
                if self.lir.len() > self.lir_limit() {
                    self.demote_bottom();
                }
            } else {
                self.queue.push_front(key);
            }
            self.prune();
            return (true, vec![]);
        }
        // not resident
        let ghost = take(&mut self.ghosts, key);
        let mut left = vec![];
        let becomes_lir = self.lir_limit() > 0 && (ghost || self.lir.len() < self.lir_limit());
        if becomes_lir && self.lir.len() == self.lir_limit() {
            self.demote_bottom();
        }
        if self.lir.len() + self.queue.len() == self.capacity {
            let oldest = self.queue.pop_back().unwrap();
            if self.stack.contains(&oldest) {
                self.ghosts.push_front(oldest);
            }
            left.push(oldest);
        }
        self.stack.push_front(key);
        if becomes_lir {
            self.lir.push_front(key);
        } else {
            self.queue.push_front(key);
        }
        self.prune();
        while self.stack.len() > 2 * self.capacity {
            let ghost = self.ghosts.pop_back().unwrap();
            take(&mut self.stack, ghost);
        }
        (false, left)
    }

    fn remove(&mut self, key: u64) -> bool {
        take(&mut self.stack, key);
        take(&mut self.ghosts, key);
        let found = take(&mut self.lir, key) || take(&mut self.queue, key);
        self.prune();
        found
    }

    fn residents(&self) -> Vec<u64> {
        self.lir.iter().chain(&self.queue).copied().collect()
    }
}

proptest! {
    #[test]
    fn oracle_2q_matches_naive_lists(steps in steps(), capacity in 1_usize..20) {
        let mut oracle = NaiveTwoQ { capacity, ..NaiveTwoQ::default() };
        agrees(&mut TwoQ::new(capacity), &mut oracle, &steps)?;
    }

    #[test]
    fn oracle_arc_matches_naive_lists(steps in steps(), capacity in 1_usize..20) {
        let mut oracle = NaiveArc { c: capacity, ..NaiveArc::default() };
        agrees(&mut Arc::new(capacity), &mut oracle, &steps)?;
    }

    #[test]
    fn oracle_s3_fifo_matches_naive_lists(steps in steps(), capacity in 1_usize..30) {
        let mut oracle = NaiveS3Fifo { capacity, ..NaiveS3Fifo::default() };
        agrees(&mut S3Fifo::new(capacity), &mut oracle, &steps)?;
    }

    #[test]
    fn oracle_lirs_matches_naive_lists(steps in steps(), capacity in 1_usize..20) {
        let mut oracle = NaiveLirs { capacity, ..NaiveLirs::default() };
        agrees(&mut Lirs::new(capacity), &mut oracle, &steps)?;
    }

    /// A larger cache, so that the HIR part is more than one object.
    #[test]
    fn oracle_lirs_matches_naive_lists_with_room(seed in any::<u64>(), capacity in 200_usize..400) {
        let mut stream = foretell_units::Seed(seed).stream("keys");
        let steps: Vec<_> = (0..3_000).map(|_| {
            let key = stream.below(30) * stream.below(30);
            if stream.chance(0.05) { CacheStep::Remove(key) } else { CacheStep::Access(key, 1) }
        }).collect();
        let mut oracle = NaiveLirs { capacity, ..NaiveLirs::default() };
        let mut policy = Lirs::new(capacity);
        for step in &steps {
            match *step {
                CacheStep::Access(key, _) => {
                    prop_assert_eq!(policy.access(key).is_hit(), oracle.access(key, 1).0);
                }
                CacheStep::Remove(key) => {
                    prop_assert_eq!(policy.remove(key).is_some(), oracle.remove(key));
                }
            }
        }
    }
}
