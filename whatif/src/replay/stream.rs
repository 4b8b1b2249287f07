//! The requests of one client, as recorded, and what follows when the record ends.
//!
//! A faster cluster asks for more requests than were recorded. Then the record goes on as it was: a
//! sequential stream in its stride, any other with addresses drawn from those recorded; of those that
//! were met once only, as many as there were turn into new ones (Good & Turing's estimate of what has
//! not been seen).

use std::sync::Arc;

use foretell_units::{Bytes, Op, SimTime, Stream};

use crate::observed::Recorded;

/// What a client asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Wanted {
    pub(super) op: Op,
    pub(super) offset: Bytes,
    pub(super) size: Bytes,
}

/// The requests of one client.
#[derive(Debug)]
pub(super) struct Requests {
    recorded: Arc<[Recorded]>,
    next: usize,
    beyond: Option<Beyond>,
    /// Bytes of the volume.
    volume: Bytes,
}

/// How a record goes on.
#[derive(Debug)]
pub(super) struct Beyond {
    sequential: bool,
    /// Sorted offsets that were met once.
    single: Vec<bool>,
    /// Where new addresses lie, and their grain.
    from: u64,
    until: u64,
    grain: u64,
}

impl Beyond {
    fn of(requests: &[Recorded]) -> Self {
        let mut follows = 0;
        for pair in requests.windows(2) {
            if pair[1].offset.get() == pair[0].offset.get() + u64::from(pair[0].size) {
                follows += 1;
            }
        }
        let mut order: Vec<u32> = (0..requests.len() as u32).collect();
        order.sort_unstable_by_key(|&index| requests[index as usize].offset);
        let mut single = vec![true; requests.len()];
        for pair in order.windows(2) {
            let [a, b] = [pair[0] as usize, pair[1] as usize];
            if requests[a].offset == requests[b].offset {
                single[a] = false;
                single[b] = false;
            }
        }
        let offsets = || requests.iter().map(|request| request.offset.get());
        let from = offsets().min().unwrap_or(0);
        let until = requests.iter().map(|r| r.offset.get() + u64::from(r.size)).max().unwrap_or(1);
        let grain = offsets().fold(until, gcd).max(1);
        Self { sequential: follows * 2 > requests.len(), single, from, until, grain }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Requests {
    pub(super) fn new(recorded: Arc<[Recorded]>, volume: Bytes) -> Self {
        Self { recorded, next: 0, beyond: None, volume }
    }

    /// When the next request was issued, if it is recorded.
    pub(super) fn next_issued(&self) -> Option<SimTime> {
        self.recorded.get(self.next).map(|request| request.issued)
    }

    /// The next request.
    pub(super) fn next(&mut self, stream: &mut Stream) -> Wanted {
        let index = self.next;
        self.next += 1;
        let wanted = if let Some(request) = self.recorded.get(index) {
            let size = Bytes(u64::from(request.size));
            Wanted { op: request.op, offset: request.offset, size }
        } else {
            let recorded = &self.recorded;
            let beyond = self.beyond.get_or_insert_with(|| Beyond::of(recorded));
            go_on(recorded, beyond, index, stream)
        };
        // a smaller volume is wrapped around in
        let room = self.volume.get().saturating_sub(wanted.size.get()) + 1;
        if wanted.offset.get() < room {
            return wanted;
        }
        Wanted { offset: Bytes(wanted.offset.get() % room), ..wanted }
    }
}

/// Request number `index` of a record that has fewer.
fn go_on(requests: &[Recorded], beyond: &Beyond, index: usize, stream: &mut Stream) -> Wanted {
    let count = requests.len().max(1);
    let wanted = |request: &Recorded, offset: u64| Wanted {
        op: request.op,
        offset: Bytes(offset),
        size: Bytes(u64::from(request.size)),
    };
    if beyond.sequential {
        // on from the end, and from the beginning again behind the last byte that was met
        let request = &requests[index % count];
        let last = requests[count - 1];
        let end = last.offset.get() + u64::from(last.size);
        let offset = end + (index - count) as u64 * u64::from(request.size);
        let length = (beyond.until - beyond.from).max(1);
        return wanted(request, beyond.from + (offset - beyond.from) % length);
    }
    let drawn = stream.below(count as u64) as usize;
    let request = &requests[drawn];
    if beyond.single[drawn] {
        let length = beyond.until - beyond.from;
        let places = (length.saturating_sub(u64::from(request.size)) / beyond.grain + 1).max(1);
        return wanted(request, beyond.from + stream.below(places) * beyond.grain);
    }
    wanted(request, request.offset.get())
}
