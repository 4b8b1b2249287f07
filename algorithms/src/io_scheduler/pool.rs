//! Waiting requests that grow by merging: indexed by arrival, by address, and by their ends.
//!
//! If an operation closes the gap between two requests, they stay two (Linux joins them).

use std::collections::{BTreeMap, BTreeSet};

use foretell_units::{Sectors, SimTime};

use super::Io;
use super::Request;

/// Maximum size of a request: 512 KiB, Linux's usual `max_sectors_kb`.
pub(super) const LARGEST: Sectors = Sectors(1024);

/// A request's number: lower ones arrived earlier.
pub(super) type Number = u64;

/// Which operations are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Merging {
    /// An operation behind a waiting request. One in front of a request is merged only if the block
    /// layer checks that request anyway: the one that last grew (or, if that is gone, the first
    /// that came since).
    Back,
    /// An operation behind a waiting request, or in front of one.
    BackAndFront,
}

/// The side of a request at which an operation is merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Behind,
    Before,
}

/// Where waiting requests begin or end, in order. It is no part of the pool, whose code is compiled for each `T`.
#[derive(Default, Debug)]
struct Places(BTreeSet<(Sectors, Number)>);

impl Places {
    fn add(&mut self, place: Sectors, number: Number) {
        self.0.insert((place, number));
    }

    fn remove(&mut self, place: Sectors, number: Number) {
        self.0.remove(&(place, number));
    }

    /// The earliest request at `place` that fits.
    fn find(&self, place: Sectors, fits: &dyn Fn(&Number) -> bool) -> Option<Number> {
        let mut numbers = self.0.range((place, 0)..=(place, Number::MAX));
        numbers.find_map(|(_, number)| Some(*number).filter(fits))
    }

    /// The first request at `place` with `number` or a later one, or above `place`; and its place.
    fn from(&self, place: Sectors, number: Number) -> Option<(Number, Sectors)> {
        self.0.range((place, number)..).next().map(|(place, number)| (*number, *place))
    }

    /// The last place below `place`.
    fn before(&self, place: Sectors) -> Option<Sectors> {
        self.0.range(..(place, 0)).next_back().map(|(place, _)| *place)
    }
}

/// Waiting requests.
#[derive(Debug)]
pub(super) struct Pool<T> {
    merging: Merging,
    requests: BTreeMap<Number, Request<T>>,
    starts: Places,
    ends: Places,
    next: Number,
    /// Linux's `last_merge`.
    last: Option<Number>,
}

impl<T: Copy> Pool<T> {
    pub(super) fn new(merging: Merging) -> Self {
        Self {
            merging,
            requests: BTreeMap::new(),
            starts: Places::default(),
            ends: Places::default(),
            next: 0,
            last: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Adds an operation, merged into a waiting request if one fits. Returns whether it was merged.
    pub(super) fn add(&mut self, now: SimTime, io: Io<T>) -> bool {
        let Some((number, side)) = self.neighbour(&io) else {
            self.next += 1;
            self.put(self.next, Request::new(now, io));
            self.last = self.last.or(Some(self.next));
            return false;
        };
        let mut request = self.remove(number);
        if side == Side::Before {
            request.lbn = io.lbn;
        }
        request.sectors += io.sectors;
        request.merged.push((now, io));
        self.put(number, request);
        self.last = Some(number);
        true
    }

    /// The waiting request into which an operation is merged, and on which side. The one that last
    /// grew comes before others, the back before the front, and the earliest among equals.
    fn neighbour(&self, io: &Io<T>) -> Option<(Number, Side)> {
        let fits = |number: &Number| {
            let request = &self.requests[number];
            request.op == io.op && request.sectors + io.sectors <= LARGEST
        };
        let end = io.lbn + io.sectors;
        if let Some(last) = self.last.filter(fits) {
            let request = &self.requests[&last];
            if request.end() == io.lbn {
                return Some((last, Side::Behind));
            }
            if request.lbn == end {
                return Some((last, Side::Before));
            }
        }
        let behind = self.ends.find(io.lbn, &fits).map(|number| (number, Side::Behind));
        behind.or_else(|| {
            let fronts = self.merging == Merging::BackAndFront;
            let before = fronts.then(|| self.starts.find(end, &fits))?;
            before.map(|number| (number, Side::Before))
        })
    }

    fn put(&mut self, number: Number, request: Request<T>) {
        self.starts.add(request.lbn, number);
        self.ends.add(request.end(), number);
        self.requests.insert(number, request);
    }

    fn remove(&mut self, number: Number) -> Request<T> {
        let request = self.requests.remove(&number).expect("a number names a waiting request");
        self.starts.remove(request.lbn, number);
        self.ends.remove(request.end(), number);
        request
    }

    /// Removes a request.
    pub(super) fn take(&mut self, number: Number) -> Request<T> {
        if self.last == Some(number) {
            self.last = None;
        }
        self.remove(number)
    }

    /// The request that arrived first, and its arrival.
    pub(super) fn oldest(&self) -> Option<(Number, SimTime)> {
        self.requests.first_key_value().map(|(number, request)| (*number, request.first_arrived))
    }

    /// The first request at `place` or above, and where it begins; the earliest among equals.
    pub(super) fn above(&self, place: Sectors) -> Option<(Number, Sectors)> {
        self.starts.from(place, 0)
    }

    /// The last request below `place`, and where it begins; the earliest among equals.
    pub(super) fn below(&self, place: Sectors) -> Option<(Number, Sectors)> {
        self.starts.before(place).and_then(|lbn| self.above(lbn))
    }

    /// The request with the lowest address.
    pub(super) fn lowest(&self) -> Option<Number> {
        self.starts.from(Sectors(0), 0).map(|(number, _)| number)
    }

    /// The next request by address after one that was here.
    pub(super) fn after(&self, number: Number, lbn: Sectors) -> Option<Number> {
        self.starts.from(lbn, number + 1).map(|(number, _)| number)
    }

    /// When each of the waiting operations arrived.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = SimTime> + '_ {
        self.requests.values().flat_map(Request::operations).map(|(arrived, _)| arrived)
    }
}
