//! Waiting disk operations, in the order in which a scheduler serves them.

use std::collections::{BTreeMap, VecDeque};

use foretell_scenarios::model::Scheduler;
use foretell_units::{Sectors, SimTime};

use super::Io;

/// Waiting operations with the time at which each arrived.
#[derive(Debug)]
pub(super) enum Queue<T> {
    /// First come, first served.
    Fcfs(VecDeque<(SimTime, Io<T>)>),
    /// By address; equal addresses in order of arrival.
    Sorted { order: Order, waiting: BTreeMap<(Sectors, u64), (SimTime, Io<T>)>, sequence: u64 },
}

/// How an address-ordered queue chooses.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// C-LOOK: the next address upwards, else the lowest of all.
    Upwards,
    /// The nearest address; of two equally near ones the lower.
    Nearest,
}

impl<T: Copy> Queue<T> {
    pub(super) fn new(scheduler: Scheduler) -> Self {
        let sorted = |order| Self::Sorted { order, waiting: BTreeMap::new(), sequence: 0 };
        match scheduler {
            Scheduler::Fcfs => Self::Fcfs(VecDeque::new()),
            Scheduler::Elevator => sorted(Order::Upwards),
            Scheduler::Sstf => sorted(Order::Nearest),
        }
    }

    pub(super) fn push(&mut self, now: SimTime, io: Io<T>) {
        match self {
            Self::Fcfs(waiting) => waiting.push_back((now, io)),
            Self::Sorted { waiting, sequence, .. } => {
                waiting.insert((io.lbn, *sequence), (now, io));
                *sequence += 1;
            }
        }
    }

    /// When each of the waiting operations arrived.
    pub(super) fn arrivals(&self) -> Box<dyn Iterator<Item = SimTime> + '_> {
        match self {
            Self::Fcfs(waiting) => Box::new(waiting.iter().map(|(arrived, _)| *arrived)),
            Self::Sorted { waiting, .. } => Box::new(waiting.values().map(|(arrived, _)| *arrived)),
        }
    }

    /// Takes the operation to be served next when the head is at `head`.
    pub(super) fn pop(&mut self, head: Sectors) -> Option<(SimTime, Io<T>)> {
        match self {
            Self::Fcfs(waiting) => waiting.pop_front(),
            Self::Sorted { order, waiting, .. } => {
                let above = waiting.range((head, 0)..).next().map(|(key, _)| *key);
                let key = match order {
                    Order::Upwards => above.or_else(|| waiting.keys().next().copied()),
                    Order::Nearest => {
                        let below = waiting
                            .range(..(head, 0))
                            .next_back()
                            // the first to arrive of those at that address
                            .and_then(|(&(lbn, _), _)| waiting.range((lbn, 0)..).next())
                            .map(|(key, _)| *key);
                        match (below, above) {
                            (Some(b), Some(a)) if head.0 - b.0.0 <= a.0.0 - head.0 => Some(b),
                            (below, above) => above.or(below),
                        }
                    }
                }?;
                waiting.remove(&key)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Op;

    fn served(scheduler: Scheduler, head: u64) -> Vec<u64> {
        let mut queue = Queue::new(scheduler);
        for lbn in [500, 100, 300, 900, 310] {
            let io = Io { lbn: Sectors(lbn), sectors: Sectors(1), op: Op::Read, tag: () };
            queue.push(SimTime::ZERO, io);
        }
        let mut head = Sectors(head);
        std::iter::from_fn(|| {
            let (_, io) = queue.pop(head)?;
            head = io.lbn;
            Some(io.lbn.0)
        })
        .collect()
    }

    #[test]
    fn fcfs_keeps_the_order_of_arrival() {
        assert_eq!(served(Scheduler::Fcfs, 305), [500, 100, 300, 900, 310]);
    }

    #[test]
    fn the_elevator_goes_up_and_begins_again_at_the_lowest() {
        assert_eq!(served(Scheduler::Elevator, 305), [310, 500, 900, 100, 300]);
    }

    #[test]
    fn sstf_takes_the_nearest() {
        // from 305 both 300 and 310 are 5 away: the lower first
        assert_eq!(served(Scheduler::Sstf, 305), [300, 310, 500, 100, 900]);
    }
}
