//! The indexed queues, compared with lists that are searched completely.

use proptest::prelude::*;

use super::super::pool::{LARGEST, Merging, Number, Pool};
use super::*;

/// [`Pool`] as a list in the order of arrival.
struct List {
    merging: Merging,
    requests: Vec<(Number, Request<u64>)>,
    next: Number,
    last: Option<Number>,
}

impl List {
    fn add(&mut self, now: SimTime, io: Io<u64>) {
        let fits =
            |request: &Request<u64>| request.op == io.op && request.sectors + io.sectors <= LARGEST;
        let behind = |request: &Request<u64>| fits(request) && request.end() == io.lbn;
        let before = |request: &Request<u64>| fits(request) && io.lbn + io.sectors == request.lbn;
        let last = |number: Number| self.last == Some(number);
        let any_before = self.merging == Merging::BackAndFront;
        let requests = &mut self.requests;
        let place = |wanted: &dyn Fn(Number, &Request<u64>) -> bool| {
            requests.iter().position(|(number, request)| wanted(*number, request))
        };
        let found = place(&|number, request| last(number) && behind(request))
            .or_else(|| place(&|number, request| last(number) && before(request)))
            .or_else(|| place(&|_, request| behind(request)))
            .or_else(|| place(&|_, request| any_before && before(request)));
        if let Some(index) = found {
            let (number, request) = &mut requests[index];
            request.lbn = request.lbn.min(io.lbn);
            request.sectors += io.sectors;
            request.merged.push((now, io));
            self.last = Some(*number);
        } else {
            self.next += 1;
            self.requests.push((self.next, Request::new(now, io)));
            self.last = self.last.or(Some(self.next));
        }
    }

    fn take(&mut self, number: Number) -> Request<u64> {
        let index = self.requests.iter().position(|(other, _)| *other == number).unwrap();
        self.last = self.last.filter(|last| *last != number);
        self.requests.remove(index).1
    }

    fn first(&self, wanted: impl Fn(Sectors, Number) -> bool) -> Option<(Sectors, Number)> {
        let places = self.requests.iter().map(|(number, request)| (request.lbn, *number));
        places.filter(|(lbn, number)| wanted(*lbn, *number)).min()
    }
}

#[derive(Clone, Debug)]
enum SchedulerStep {
    Add { op: Op, lbn: u64, sectors: u64 },
    Take(prop::sample::Index),
}

/// Many operations that touch, on a short disk; some are too large to be merged.
fn steps() -> impl Strategy<Value = Vec<SchedulerStep>> {
    let op = prop_oneof![3 => Just(Op::Read), 1 => Just(Op::Write)];
    let sectors = prop_oneof![8 => Just(8_u64), 1 => Just(16), 1 => Just(600)];
    let add = (op, 0_u64..40, sectors).prop_map(|(op, place, sectors)| SchedulerStep::Add {
        op,
        lbn: 8 * place,
        sectors,
    });
    let take = any::<prop::sample::Index>().prop_map(SchedulerStep::Take);
    prop::collection::vec(prop_oneof![3 => add, 1 => take], 0..120)
}

proptest! {
    #[test]
    fn oracle_the_pool_of_requests_is_a_list(steps in steps(), both: bool) {
        let merging = if both { Merging::BackAndFront } else { Merging::Back };
        let mut pool = Pool::new(merging);
        let mut list = List { merging, requests: Vec::new(), next: 0, last: None };
        for (now, step) in (0..).zip(steps) {
            match step {
                SchedulerStep::Add { op, lbn, sectors } => {
                    let io = Io { sectors: Sectors(sectors), ..io(op, 0, lbn) };
                    let before = list.requests.len();
                    list.add(ms(now), io);
                    let merged = pool.add(ms(now), io);
                    prop_assert_eq!(merged, list.requests.len() == before);
                }
                SchedulerStep::Take(_) if list.requests.is_empty() => {}
                SchedulerStep::Take(index) => {
                    let number = list.requests[index.index(list.requests.len())].0;
                    let (expected, found) = (list.take(number), pool.take(number));
                    prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
                    let after = list.first(|lbn, other| (lbn, other) > (found.lbn, number));
                    prop_assert_eq!(pool.after(number, found.lbn), after.map(|(_, after)| after));
                }
            }
            prop_assert_eq!(pool.is_empty(), list.requests.is_empty());
            let oldest = list.requests.first().map(|(number, first)| (*number, first.first_arrived));
            prop_assert_eq!(pool.oldest(), oldest);
            prop_assert_eq!(pool.lowest(), list.first(|_, _| true).map(|(_, number)| number));
            for place in (0..330).step_by(8).map(Sectors) {
                let above = list.first(|lbn, _| lbn >= place);
                prop_assert_eq!(pool.above(place), above.map(|(lbn, number)| (number, lbn)));
                let lower = list.requests.iter().map(|(_, request)| request.lbn);
                let lower = lower.filter(|lbn| *lbn < place).max();
                let below = lower.and_then(|lower| list.first(|lbn, _| lbn == lower));
                prop_assert_eq!(pool.below(place), below.map(|(lbn, number)| (number, lbn)));
            }
            let arrived: usize = list.requests.iter().map(|(_, r)| r.operations().count()).sum();
            prop_assert_eq!(pool.arrivals().count(), arrived);
        }
    }

    #[test]
    fn oracle_elevator_and_sstf_search_a_list(steps in steps(), nearest: bool) {
        let mut queue = new(if nearest { Sstf } else { Elevator });
        let mut list: Vec<(u64, u64)> = Vec::new();
        let mut head = 0_u64;
        for (number, step) in (0..).zip(steps) {
            if let SchedulerStep::Add { op, lbn, .. } = step {
                queue.add(ms(0), Io { tag: number, ..io(op, 0, lbn) });
                list.push((lbn, number));
                continue;
            }
            let expected = if nearest {
                list.iter().min_by_key(|(lbn, number)| (head.abs_diff(*lbn), *lbn, *number))
            } else {
                list.iter().min_by_key(|(lbn, number)| (*lbn < head, *lbn, *number))
            };
            let expected = expected.copied();
            let found = match queue.next(ms(0), Sectors(head)) {
                Choice::Serve(request) => Some((request.lbn.get(), request.first.tag)),
                _ => None,
            };
            prop_assert_eq!(found, expected);
            list.retain(|waiting| Some(*waiting) != found);
            head = found.map_or(head, |(lbn, _)| lbn + 8);
        }
    }
}
