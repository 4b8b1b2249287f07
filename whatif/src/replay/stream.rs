//! The requests of one client, as recorded, and what follows when the record ends.
//!
//! A faster cluster asks for more requests than were recorded. Then the record goes on as it was: a
//! sequential stream in its stride, any other as a sample of what was met. An address that was met
//! often comes as often again; between them, neighbouring addresses are taken to be alike, so that
//! new ones come as they must, unless what was met shows that some of them come again more often
//! than others (then as many are new as were met once only: Good & Turing's estimate).

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::fast::FixedState;
use foretell_units::{Bytes, Op, SimSpan, SimTime, Stream};
use hashbrown::HashMap;

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
    /// Completions that were followed.
    followed: usize,
    beyond: Option<Beyond>,
    /// The last addresses, the latest first.
    recent: VecDeque<u64>,
    /// Bytes of the volume.
    volume: Bytes,
}

/// How a record goes on.
#[derive(Debug)]
enum Beyond {
    /// In its stride, and from the first byte that was met again behind the last one. Where the record
    /// does not show that it ever began again, it goes on to the end of the volume before.
    Sequential { from: u64, until: u64 },
    /// As a sample of what was met.
    Drawn {
        /// Of each request, how many requests before it the same address was met, if it was within
        /// the last [`RECENT`]; otherwise 0: the address is chosen anew.
        returns: Vec<u8>,
        /// Requests whose addresses were chosen, and the stretch of each.
        chosen: Vec<(u32, u32)>,
        stretches: Vec<Stretch>,
        grain: u64,
    },
}

/// Neighbouring addresses that were met about equally often, or one that was met very often.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: u64,
    /// Places, a grain apart.
    places: u64,
    /// Whether addresses that were met come again more often than if all places were alike.
    repeats: bool,
    /// Then, which part of the requests goes to new places.
    new: f64,
}

/// An address that was met so often is a stretch of its own; so many requests make another.
const OFTEN: usize = 16;
/// Requests after which coming back to an address is a choice of its own: before, it belongs to the
/// first, as writing a record belongs to reading it.
const RECENT: usize = 64;
const TOGETHER: usize = 64;

impl Beyond {
    fn of(requests: &[Recorded], volume: Bytes) -> Self {
        let offsets = || requests.iter().map(|request| request.offset.get());
        let from = offsets().min().unwrap_or(0);
        let until = requests.iter().map(|r| r.offset.get() + u64::from(r.size)).max().unwrap_or(1);
        let follows = requests
            .windows(2)
            .filter(|pair| pair[1].offset.get() == pair[0].offset.get() + u64::from(pair[0].size))
            .count();
        if follows * 2 > requests.len() {
            let began_again = requests.windows(2).any(|pair| pair[1].offset < pair[0].offset);
            let until = if began_again { until } else { until.max(volume.get()) };
            return Self::Sequential { from, until };
        }
        let grain = offsets().fold(0, gcd).max(512);
        let returns = returns(requests);
        let fresh = |index: &u32| returns[*index as usize] == 0;
        let mut order: Vec<u32> = (0..requests.len() as u32).filter(fresh).collect();
        order.sort_by_key(|&index| requests[index as usize].offset);
        let mut chosen = Vec::with_capacity(order.len());
        let mut stretches = Vec::new();
        let at = |place: usize| requests[order[place] as usize].offset.get();
        let mut first = 0;
        while first < order.len() {
            // grows by whole addresses
            let (mut end, mut counts) = (first, Vec::new());
            while end < order.len() {
                let same = (end..order.len()).take_while(|&next| at(next) == at(end)).count();
                if !counts.is_empty() && (same >= OFTEN || end - first >= TOGETHER) {
                    break;
                }
                end += same;
                counts.push(same);
                if same >= OFTEN {
                    break;
                }
            }
            chosen.extend(order[first..end].iter().map(|index| (*index, stretches.len() as u32)));
            // up to the next stretch
            let last =
                if end < order.len() && counts.len() > 1 { at(end) - grain } else { at(end - 1) };
            stretches.push(Stretch::of(at(first), last, grain, &counts));
            first = end;
        }
        Self::Drawn { returns, chosen, stretches, grain }
    }
}

impl Stretch {
    /// `counts`: how often each address that was met was.
    fn of(from: u64, last: u64, grain: u64, counts: &[usize]) -> Self {
        let places = last.saturating_sub(from) / grain + 1;
        let requests: usize = counts.iter().sum();
        // distinct addresses if all places were alike
        let alike = places as f64 * (1.0 - (1.0 - 1.0 / places as f64).powf(requests as f64));
        let single = counts.iter().filter(|&&count| count == 1).count();
        Self {
            from,
            places,
            repeats: (counts.len() as f64) < 0.8 * alike,
            new: single as f64 / requests as f64,
        }
    }
}

/// See [`Beyond::Drawn`]. Of an address so popular that it comes again within [`RECENT`] requests
/// about as often as not, every request is a choice.
fn returns(requests: &[Recorded]) -> Vec<u8> {
    let mut met: HashMap<u64, Met, FixedState> = HashMap::default();
    for request in requests {
        met.entry(request.offset.get()).or_default().times += 1;
    }
    let before = |(index, request): (usize, &Recorded)| {
        let met = met.get_mut(&request.offset.get()).expect("it was counted");
        let before = met.last.replace(index)?;
        let popular = met.times >= OFTEN && met.times * RECENT * 2 >= requests.len();
        Some(index - before).filter(|back| *back <= RECENT && !popular)
    };
    let returns = requests.iter().enumerate().map(before);
    returns.map(|back| back.unwrap_or(0) as u8).collect()
}

/// How often an address was met, and by which request last.
#[derive(Default)]
struct Met {
    times: usize,
    last: Option<usize>,
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Requests {
    pub(super) fn new(recorded: Arc<[Recorded]>, volume: Bytes) -> Self {
        Self { recorded, next: 0, followed: 0, beyond: None, recent: VecDeque::new(), volume }
    }

    /// Whether nothing was recorded, so that nothing can be said of what follows.
    pub(super) fn is_empty(&self) -> bool {
        self.recorded.is_empty()
    }

    /// When the next request was issued, if it is recorded.
    pub(super) fn next_issued(&self) -> Option<SimTime> {
        self.recorded.get(self.next).map(|request| request.issued)
    }

    /// How long the client works on its own before it follows a completion.
    pub(super) fn next_pause(&mut self) -> SimSpan {
        let Some(followed) = self.recorded.get(self.followed) else { return SimSpan::ZERO };
        let pause = followed.pause;
        self.followed = (self.followed + 1) % self.recorded.len();
        pause
    }

    /// The mean of all such times.
    pub(super) fn mean_pause(&self) -> SimSpan {
        let all: SimSpan = self.recorded.iter().map(|request| request.pause).sum();
        all / (self.recorded.len() as u64).max(1)
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
            let recent = &mut self.recent;
            let beyond = self.beyond.get_or_insert_with(|| {
                recent.extend(recorded.iter().rev().take(RECENT).map(|last| last.offset.get()));
                Beyond::of(recorded, self.volume)
            });
            let wanted = go_on(recorded, beyond, index, recent, stream);
            recent.push_front(wanted.offset.get());
            recent.truncate(RECENT);
            wanted
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
fn go_on(
    requests: &[Recorded],
    beyond: &Beyond,
    index: usize,
    recent: &VecDeque<u64>,
    stream: &mut Stream,
) -> Wanted {
    let count = requests.len().max(1);
    let wanted = |request: &Recorded, offset: u64| Wanted {
        op: request.op,
        offset: Bytes(offset),
        size: Bytes(u64::from(request.size)),
    };
    match beyond {
        Beyond::Sequential { from, until } => {
            let request = &requests[index % count];
            let last = requests[count - 1];
            let end = last.offset.get() + u64::from(last.size);
            let offset = end + (index - count) as u64 * u64::from(request.size);
            wanted(request, from + (offset - from) % (until - from).max(1))
        }
        Beyond::Drawn { returns, chosen, stretches, grain } => {
            let back = returns[index % count];
            if back > 0
                && let Some(same) = recent.get(usize::from(back) - 1)
            {
                return wanted(&requests[index % count], *same);
            }
            let (drawn, stretch) = chosen[stream.below(chosen.len() as u64) as usize];
            let (request, stretch) = (&requests[drawn as usize], stretches[stretch as usize]);
            if stretch.repeats && !stream.chance(stretch.new) {
                return wanted(request, request.offset.get());
            }
            wanted(request, stretch.from + stream.below(stretch.places) * grain)
        }
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;

    const SIZE: u64 = 4096;

    /// What is asked for after a record of requests to these blocks, of a volume of so many.
    fn beyond(volume: u64, blocks: impl IntoIterator<Item = u64>, count: usize) -> Vec<u64> {
        let recorded = |block: u64| Recorded {
            issued: SimTime::ZERO,
            pause: SimSpan::ZERO,
            offset: Bytes(block * SIZE),
            size: SIZE as u32,
            op: Op::Read,
        };
        let recorded: Arc<[Recorded]> = blocks.into_iter().map(recorded).collect();
        let met = recorded.len();
        let mut requests = Requests::new(recorded, Bytes(volume * SIZE));
        let mut stream = Seed(1).stream("requests");
        let all = (0..met + count).map(|_| requests.next(&mut stream).offset.get() / SIZE);
        all.skip(met).collect()
    }

    #[test]
    fn a_stream_that_never_began_again_goes_on_to_the_end_of_the_volume() {
        let expected: Vec<u64> = (40..100).chain(30..40).collect();
        assert_eq!(beyond(100, 30..40, 70), expected);
    }

    #[test]
    fn a_stream_that_began_again_does_so_where_it_did() {
        let expected: Vec<u64> = (15..40).chain(10..20).collect();
        assert_eq!(beyond(100, (30..40).chain(10..15), 35), expected);
    }

    #[test]
    fn what_came_at_random_comes_from_where_it_came() {
        let mut draws = Seed(2).stream("record");
        let met: Vec<u64> = (0..2000).map(|_| 1000 + draws.below(5000)).collect();
        let found = beyond(10_000, met.clone(), 5000);
        assert!(found.iter().all(|block| (1000..6000).contains(block)));
        for tenth in 0..10 {
            let of_it = |block: &&u64| (**block - 1000) / 500 == tenth;
            let [found, met] = [&found, &met].map(|all| all.iter().filter(of_it).count() as f64);
            assert!((found - 2.5 * met).abs() < 4.0 * found.sqrt(), "{tenth}: {found} {met}");
        }
        let new = found.iter().filter(|block| !met.contains(block)).count();
        // exp(-2000 / 5000) of the places were not met
        assert!((3150..3550).contains(&new), "{new}");
    }

    #[test]
    fn what_was_met_often_comes_often() {
        let mut draws = Seed(3).stream("record");
        let mut draw = || if draws.chance(0.01) { 7 } else { 1000 + draws.below(5000) };
        let met: Vec<u64> = (0..20_000).map(|_| draw()).collect();
        let found = beyond(10_000, met, 20_000);
        let hot = found.iter().filter(|&&block| block == 7).count();
        assert!((140..260).contains(&hot), "{hot}");
    }

    #[test]
    fn what_is_asked_for_twice_at_once_is_so_again() {
        let mut draws = Seed(4).stream("record");
        let pairs = (0..1000).map(|_| draws.below(9_000)).flat_map(|block| [block, block]);
        let found = beyond(10_000, pairs, 1000);
        let again = found.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((450..=550).contains(&again), "{again}");
    }
}
