//! Waiting requests that grow by merging: in order of arrival, by address, and by their ends.

use std::collections::{BTreeMap, BTreeSet};

use foretell_units::{Op, Sectors, SimTime};

use super::Request;
use crate::disk::Io;

/// No request grows beyond this: 512 KiB, Linux's usual `max_sectors_kb`.
const LARGEST: Sectors = Sectors(1024);

/// A request's number: lower ones arrived earlier.
pub(super) type Number = u64;

/// What may be merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merging {
    /// An operation behind a waiting request; before one only if that was the last to grow.
    Back,
    /// An operation behind a waiting request, or before one.
    BackAndFront,
}

/// Waiting requests.
#[derive(Debug)]
pub(super) struct Pool<T> {
    merging: Merging,
    requests: BTreeMap<Number, Request<T>>,
    starts: BTreeSet<(Sectors, Number)>,
    ends: BTreeSet<(Sectors, Number)>,
    next: Number,
    /// The last to be added or to grow.
    last: Option<Number>,
}

impl<T: Copy> Pool<T> {
    pub(super) fn new(merging: Merging) -> Self {
        Self {
            merging,
            requests: BTreeMap::new(),
            starts: BTreeSet::new(),
            ends: BTreeSet::new(),
            next: 0,
            last: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Adds an operation, to a waiting request if it fits to one.
    pub(super) fn add(&mut self, now: SimTime, io: Io<T>) {
        let number = match self.neighbour(&io) {
            Some((number, behind)) => {
                let mut request = self.take(number).expect("it waits");
                if !behind {
                    request.lbn = io.lbn;
                }
                request.sectors += io.sectors;
                request.merged.push((now, io));
                self.put(number, request);
                number
            }
            None => {
                self.next += 1;
                self.put(self.next, Request::new(now, io));
                self.next
            }
        };
        self.last = Some(number);
    }

    /// A waiting request that the operation continues, or precedes (`false`).
    fn neighbour(&self, io: &Io<T>) -> Option<(Number, bool)> {
        let fits = |number: &Number, op: Op| {
            let request = &self.requests[number];
            request.op == op && (request.sectors + io.sectors) <= LARGEST
        };
        let at = |set: &BTreeSet<(Sectors, Number)>, place: Sectors| {
            let numbers = set.range((place, 0)..=(place, Number::MAX)).map(|(_, number)| *number);
            numbers.into_iter().find(|number| fits(number, io.op))
        };
        if let Some(number) = at(&self.ends, io.lbn) {
            return Some((number, true));
        }
        let front = at(&self.starts, io.lbn + io.sectors)?;
        let allowed = self.merging == Merging::BackAndFront || self.last == Some(front);
        allowed.then_some((front, false))
    }

    fn put(&mut self, number: Number, request: Request<T>) {
        self.starts.insert((request.lbn, number));
        self.ends.insert((request.end(), number));
        self.requests.insert(number, request);
    }

    /// Takes a request out.
    pub(super) fn take(&mut self, number: Number) -> Option<Request<T>> {
        let request = self.requests.remove(&number)?;
        self.starts.remove(&(request.lbn, number));
        self.ends.remove(&(request.end(), number));
        if self.last == Some(number) {
            self.last = None;
        }
        Some(request)
    }

    /// The request that arrived first, and when.
    pub(super) fn oldest(&self) -> Option<(Number, SimTime)> {
        self.requests.first_key_value().map(|(number, request)| (*number, request.first_arrived))
    }

    /// The first request at `place` or above.
    pub(super) fn above(&self, place: Sectors) -> Option<(Number, Sectors)> {
        self.starts.range((place, 0)..).next().map(|(lbn, number)| (*number, *lbn))
    }

    /// The last request below `place`.
    pub(super) fn below(&self, place: Sectors) -> Option<(Number, Sectors)> {
        self.starts.range(..(place, 0)).next_back().map(|(lbn, number)| (*number, *lbn))
    }

    /// The request with the lowest address.
    pub(super) fn lowest(&self) -> Option<(Number, Sectors)> {
        self.above(Sectors(0))
    }

    /// When each of the waiting operations arrived.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = SimTime> + '_ {
        self.requests.values().flat_map(Request::arrivals)
    }
}
