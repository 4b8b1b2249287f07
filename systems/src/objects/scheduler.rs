//! The choice of a thread's next operation in an OSD: WPQ and mClock.
//!
//! An OSD has *shards*, each with its own queue and threads; a placement group belongs to one shard.
//!
//! - *WPQ* draws a class at random, by priority: operations of clients and of replicas have priority 63,
//!   recovery has 3, scrubbing has 5. An expensive operation is skipped more often, up to nine times in ten
//!   (`WeightedPriorityQueue.h`). The model gives the same shares without random draws: the class that is
//!   furthest behind its share is next.
//! - *mClock* gives each class a reservation, a weight and a limit, as shares of the OSD's capacity (Gulati
//!   et al., *mClock*, OSDI 2010; Ceph's dmclock with `AtLimit::Wait`). Operations whose reservation is due
//!   go first. Then, of the classes below their limits, the one with the least work divided by its weight is
//!   next. If all classes are at their limits, the threads wait. Costs are in operations: 50 us and 11 ns a
//!   byte (`osd_mclock_cost_per_io_usec_ssd`, `osd_mclock_cost_per_byte_usec_ssd`), at least one operation.
//!   An object that a primary begins to recover counts as 20 MiB (`osd_recovery_cost`), and a chunk of a
//!   scrub counts as 50 MiB (`osd_scrub_cost`). Requests of other OSDs are not scheduled, as up to Quincy.
//!
//! Left out: other best effort (trimming of snapshots, deletion), priorities of single clients.

use std::collections::VecDeque;

use foretell_scenarios::model::{Share, Shares};
use foretell_units::SimTime;

/// The purpose of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// It continues an operation that was scheduled.
    Continued,
    /// A request of a client.
    Client,
    /// A request of another OSD on behalf of a client.
    Replica,
    /// A primary begins to recover an object.
    Recovery,
    /// A request of another OSD for a recovery.
    RecoveryMessage,
    /// A scrubber reads a chunk.
    BestEffort,
}

/// Number of classes with queues of their own: clients, recovery, best effort.
const CLASSES: usize = 3;

/// Bytes charged for an object that a primary begins to recover, `osd_recovery_cost`.
const RECOVERY_COST: u64 = 20 << 20;
/// Bytes charged for a chunk of a scrub, `osd_scrub_cost`.
const SCRUB_COST: u64 = 50 << 20;
/// Seconds charged for an operation, and for each byte.
const COST_PER_IO: f64 = 50e-6;
const COST_PER_BYTE: f64 = 0.011e-6;
/// Priorities: `osd_client_op_priority`, `osd_recovery_op_priority`, `osd_scrub_priority`.
const PRIORITIES: [f64; CLASSES] = [63.0, 3.0, 5.0];
/// Share of the operations of the highest cost that WPQ skips.
const PASSED_OVER: f64 = 0.9;

/// The next step of a shard's threads.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Pick {
    /// Carry out this job.
    Job(u32),
    /// Nothing waits.
    Nothing,
    /// All waiting operations have reached their limits: nothing before this time.
    At(SimTime),
}

/// The policy of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Policy {
    Wpq,
    /// `capacity`: operations a second of the shard; and the share of each class.
    Mclock {
        capacity: f64,
        shares: Shares,
    },
}

/// Operations of one class in order.
#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<(u32, f64)>,
    /// With WPQ: work so far divided by weight. With mClock: when the first one is due by weight.
    pass: f64,
    /// When the first one is due by its reservation, and when its limit allows it.
    reserved: f64,
    limited: f64,
}

/// The queue of a shard.
#[derive(Debug)]
pub(super) struct Scheduler {
    policy: Policy,
    strict: VecDeque<u32>,
    queues: [Queue; CLASSES],
    most: f64,
}

impl Scheduler {
    pub(super) fn new(policy: Policy) -> Self {
        let queues = std::array::from_fn(|_| Queue::default());
        Self { policy, strict: VecDeque::new(), queues, most: 0.0 }
    }

    /// Removes all waiting jobs and returns them.
    pub(super) fn drain(&mut self) -> Vec<u32> {
        let mut all: Vec<u32> = self.strict.drain(..).collect();
        for queue in &mut self.queues {
            all.extend(queue.jobs.drain(..).map(|(job, _)| job));
        }
        all
    }

    /// Adds an operation that brings `bytes` of data.
    pub(super) fn push(&mut self, now: SimTime, job: u32, class: Class, bytes: u64) {
        let is_mclock = matches!(self.policy, Policy::Mclock { .. });
        let place = match class {
            Class::Continued => None,
            Class::Replica | Class::RecoveryMessage if is_mclock => None,
            Class::Client | Class::Replica => Some(0),
            Class::Recovery | Class::RecoveryMessage => Some(1),
            Class::BestEffort => Some(2),
        };
        let Some(place) = place else { return self.strict.push_back(job) };
        let bytes = match class {
            Class::Recovery => RECOVERY_COST,
            Class::BestEffort => SCRUB_COST,
            _ => bytes,
        };
        let cost = match self.policy {
            Policy::Wpq => bytes as f64,
            Policy::Mclock { capacity, .. } => {
                (capacity * (COST_PER_IO + COST_PER_BYTE * bytes as f64)).round().max(1.0)
            }
        };
        self.most = self.most.max(cost);
        let others = self.progress_beside(place);
        let queue = &mut self.queues[place];
        queue.jobs.push_back((job, cost));
        if queue.jobs.len() == 1 {
            match self.policy {
                // an idle class accumulates no credit
                Policy::Wpq => queue.pass = queue.pass.max(others),
                Policy::Mclock { capacity, shares } => {
                    queue.tag(now.as_secs_f64(), capacity, share_of(shares, place));
                }
            }
        }
    }

    /// How far the other classes are: the one that is furthest behind of those that wait, or the foremost if none
    /// waits.
    fn progress_beside(&self, place: usize) -> f64 {
        let others = self.queues.iter().enumerate().filter(|(other, _)| *other != place);
        let waiting = others.clone().filter(|(_, queue)| !queue.jobs.is_empty());
        let least = waiting.map(|(_, queue)| queue.pass).reduce(f64::min);
        least.unwrap_or_else(|| others.map(|(_, queue)| queue.pass).fold(0.0, f64::max))
    }

    /// Takes the next operation.
    pub(super) fn pop(&mut self, now: SimTime) -> Pick {
        if let Some(job) = self.strict.pop_front() {
            return Pick::Job(job);
        }
        match self.policy {
            Policy::Wpq => self.pop_wpq(),
            Policy::Mclock { capacity, shares } => self.pop_mclock(now, capacity, shares),
        }
    }

    /// The classes with waiting operations.
    fn waiting(&self) -> impl Iterator<Item = usize> {
        (0..CLASSES).filter(|&place| !self.queues[place].jobs.is_empty())
    }

    fn pop_wpq(&mut self) -> Pick {
        // of equal ones the first
        let behind = |one: &usize, other: &usize| {
            self.queues[*one].pass.total_cmp(&self.queues[*other].pass)
        };
        let Some(place) = self.waiting().min_by(behind) else { return Pick::Nothing };
        let queue = &mut self.queues[place];
        let (job, cost) = queue.jobs.pop_front().expect("it has one");
        let taken = 1.0 - PASSED_OVER * cost / self.most.max(1.0);
        queue.pass += 1.0 / (PRIORITIES[place] * taken);
        Pick::Job(job)
    }

    fn pop_mclock(&mut self, now: SimTime, capacity: f64, shares: Shares) -> Pick {
        // tags are in seconds; one that is due within half a nanosecond is due
        let at = now.as_secs_f64() + 5e-10;
        // of those that are due by one tag, the one with the least other tag
        let first = |due: fn(&Queue) -> f64, tag: fn(&Queue) -> f64| {
            let found = self.waiting().filter(|&place| due(&self.queues[place]) <= at);
            found.min_by(|&one, &other| tag(&self.queues[one]).total_cmp(&tag(&self.queues[other])))
        };
        let by_reservation = first(|queue| queue.reserved, |queue| queue.reserved);
        let by_weight = first(|queue| queue.limited, |queue| queue.pass);
        let Some(place) = by_reservation.or(by_weight) else {
            let when = self.waiting().map(|place| {
                let Queue { reserved, limited, .. } = self.queues[place];
                reserved.min(limited)
            });
            let when = when.min_by(f64::total_cmp);
            let later = |when: f64| SimTime::from_ns((when * 1e9).ceil() as u64);
            return when.map_or(Pick::Nothing, |when| Pick::At(later(when).max(now)));
        };
        let share = share_of(shares, place);
        let queue = &mut self.queues[place];
        let (job, cost) = queue.jobs.pop_front().expect("it has one");
        if by_reservation.is_none() && share.reservation > 0.0 {
            // service by weight does not count against the reservation
            queue.reserved -= cost / (share.reservation * capacity);
        }
        if !queue.jobs.is_empty() {
            queue.tag(now.as_secs_f64(), capacity, share);
        }
        Pick::Job(job)
    }
}

/// The share of a class.
fn share_of(shares: Shares, place: usize) -> Share {
    [shares.client, shares.recovery, shares.best_effort][place]
}

impl Queue {
    /// Computes the tags of the operation that is now first. Without a reservation, none is due by it.
    fn tag(&mut self, now: f64, capacity: f64, share: Share) {
        let cost = self.jobs[0].1;
        let next = |tag: f64, rate: f64| (tag + cost / rate).max(now);
        self.reserved = next(self.reserved, share.reservation * capacity);
        self.pass = next(self.pass, share.weight * capacity);
        self.limited = match share.limit {
            Some(limit) => next(self.limited, limit * capacity),
            None => now,
        };
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::SimSpan;

    use super::*;

    fn share(reservation: f64, weight: f64, limit: Option<f64>) -> Share {
        Share { reservation, weight, limit }
    }

    const CLASS: [Class; CLASSES] = [Class::Client, Class::Recovery, Class::BestEffort];

    /// Operations served of (clients, recovery, scrubbing) in ten seconds in which each always has that number
    /// waiting, if a shard serves `rate` of them a second.
    fn served(policy: Policy, rate: u64, bytes: u64, counts: [u64; CLASSES]) -> [u64; CLASSES] {
        let mut scheduler = Scheduler::new(policy);
        let (mut now, end) = (SimTime::ZERO, SimTime::ZERO + SimSpan::from_secs(10));
        let mut done = [0; CLASSES];
        for place in 0..CLASSES {
            for _ in 0..counts[place] {
                scheduler.push(now, place as u32, CLASS[place], bytes);
            }
        }
        while now < end {
            match scheduler.pop(now) {
                Pick::Job(job) => {
                    done[job as usize] += 1;
                    now += SimSpan::from_ns(1_000_000_000 / rate);
                    scheduler.push(now, job, CLASS[job as usize], bytes);
                }
                Pick::At(at) => now = at,
                Pick::Nothing => break,
            }
        }
        done
    }

    #[test]
    fn closed_form_limits_hold() {
        // alone, recovery gets its limit: 2000 operations/s. An object costs 461 of them (20 MiB, 11 ns a byte)
        let best_effort = share(0.25, 2.0, None);
        let (client, recovery) = (share(0.5, 2.0, None), share(0.25, 1.0, Some(1.0)));
        let shares = Shares { client, recovery, best_effort };
        let policy = Policy::Mclock { capacity: 2000.0, shares };
        let [_, objects, _] = served(policy, 1000, 4096, [0, 4, 0]);
        assert_eq!(objects, 10 * 2000 / 461);
        let twice = Shares { recovery: share(0.25, 1.0, Some(2.0)), ..shares };
        let [_, objects, _] =
            served(Policy::Mclock { capacity: 2000.0, shares: twice }, 1000, 4096, [0, 4, 0]);
        assert!((86..=88).contains(&objects), "{objects}");
    }

    #[test]
    fn closed_form_reservations_and_weights() {
        // a shard that is too slow: clients and recovery get their reservations
        let best_effort = share(0.25, 1.0, None);
        let (client, recovery) = (share(0.5, 1.0, None), share(0.25, 1.0, None));
        let shares = Shares { client, recovery, best_effort };
        let policy = Policy::Mclock { capacity: 1000.0, shares };
        let [clients, objects, _] = served(policy, 500, 4096, [64, 4, 0]);
        // 250 of 1000 operations/s are reserved for objects of 231: one in 0.92 s, and weights add more
        assert!(objects >= 10 && clients >= 4900, "{clients} {objects}");
    }

    #[test]
    fn wpq_passes_over_what_costs_much() {
        let [clients, objects, _] = served(Policy::Wpq, 1000, 4096, [64, 4, 0]);
        // 63 to 3, times one in ten
        let ratio = clients as f64 / objects as f64;
        assert!((ratio / 210.0 - 1.0).abs() < 0.02, "{ratio}");
    }

    #[test]
    fn closed_form_scrubbing_has_its_reservation_and_its_weight() {
        // a chunk costs (50 us + 50 MiB × 11 ns) × 2000 = 1154 operations
        let (client, recovery) = (share(0.5, 2.0, None), share(0.25, 1.0, Some(1.0)));
        let with = Shares { client, recovery, best_effort: share(0.25, 2.0, None) };
        // as with `high_recovery_ops`
        let without = Shares { best_effort: share(0.0, 2.0, None), ..with };
        let policy = |shares| Policy::Mclock { capacity: 2000.0, shares };
        let chunks = |shares, rate, clients| served(policy(shares), rate, 4096, [clients, 0, 1])[2];
        // 500/s are less than the 1000/s that are reserved for clients: nothing is left for weights. A quarter is
        // reserved for scrubbing: one chunk in 1154 / 500 = 2.31 s
        assert_eq!([chunks(with, 500, 64), chunks(without, 500, 64)], [4, 0]);
        // 1500/s are less than the weight of clients stands for: scrubbing has all of its own, 4000 / 1154 = 3.47/s
        assert_eq!([chunks(with, 1500, 64), chunks(without, 1500, 64)], [34, 34]);
        // nothing else waits: no limit
        assert_eq!([chunks(with, 500, 0), chunks(without, 500, 0)], [5000, 5000]);
    }

    #[test]
    fn wpq_gives_scrubbing_its_priority() {
        let [clients, objects, chunks] = served(Policy::Wpq, 1000, 4096, [64, 4, 1]);
        // 63 to 5, times one in ten; recovery, of 20 of 50 MiB, is passed over 36 % of the time: 3 × 0.64
        let ratio = clients as f64 / chunks as f64;
        assert!((ratio / 126.0 - 1.0).abs() < 0.05, "{ratio}");
        let ratio = objects as f64 / chunks as f64;
        assert!((ratio / (3.0 * 0.64 / 0.5) - 1.0).abs() < 0.05, "{ratio}");
    }
}
