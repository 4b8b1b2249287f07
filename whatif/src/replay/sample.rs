//! Generates any number of requests that resemble recorded ones.
//!
//! A request does one of three things. It *returns* to the address of a recent request, for instance to write
//! back what was read. Or it *follows* a recent request, as the next piece of a file does. Or it *chooses* an
//! address. Requests that return or follow keep their distance (in requests) from the earlier request, so
//! pairs stay pairs and sequential runs stay runs. Chosen addresses are drawn like the recorded ones. If
//! chance alone explains that a request returns or follows (because addresses are popular, or few), it counts
//! as one that chooses.
//!
//! An address that was often recorded as chosen is drawn as often. Between such addresses, neighbours are
//! assumed to be equally likely. The share of requests to new addresses follows from this. If the record
//! shows that some neighbours are re-referenced more often than others, the share of requests to new
//! addresses is the share of requests to addresses that were recorded only once (Good, *The Population
//! Frequencies of Species and the Estimation of Population Parameters*, Biometrika 1953).
//!
//! Left out: changes of behaviour over time.

use std::cmp::Reverse;
use std::collections::VecDeque;

use foldhash::fast::FixedState;
use foretell_units::{Bytes, Op, Stream};
use hashbrown::HashMap;

use super::stream::NextRequest;
use crate::observed::Recorded;

/// Number of requests that count as recent. A request that returns later counts as one that chooses.
pub(super) const MOMENT: usize = 64;
/// An address that was chosen at least this often forms a range of its own. Other ranges end after
/// [`TOGETHER`] choices.
const OFTEN: usize = 16;
const TOGETHER: usize = 64;
/// With fewer addresses than this, the distance between neighbours cannot be estimated.
const FEW: usize = 8;
/// Smallest share of requests that return or follow, beyond chance, that is not neglected.
const NEGLIGIBLE: f64 = 0.01;
/// A stream is in order if at least this share of its requests have the same distance, and at least this
/// share of the others begin again.
const NEARLY_ALL: f64 = 0.9;

/// A model of a workload's recorded requests.
#[derive(Debug)]
pub(super) struct Sample {
    way: Way,
    /// By stream and request: its behavior. That of a stream's first request is not used.
    habits: Vec<Vec<Habit>>,
}

/// How addresses follow each other.
#[derive(Debug)]
enum Way {
    /// Sequential between these bytes, with this gap after the end of the last request. At the end
    /// it begins again, in the next lane if there is a gap.
    InOrder {
        from: u64,
        until: u64,
        gap: u64,
    },
    Drawn(Choices),
}

/// The behavior of a request. Distances are counted in requests, 1 to [`MOMENT`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Habit {
    Chooses,
    Returns(u8),
    Follows(u8),
}

/// The chosen addresses.
#[derive(Debug)]
struct Choices {
    chosen: Vec<Chosen>,
    ranges: Vec<AddressRange>,
    /// End of the last byte recorded.
    until: u64,
}

/// A recorded request that chose its address.
#[derive(Clone, Copy, Debug)]
struct Chosen {
    offset: u64,
    size: u32,
    op: Op,
    range: u32,
}

/// A range of addresses: neighbours that were chosen about equally often, or one address that was chosen
/// very often.
#[derive(Clone, Copy, Debug)]
struct AddressRange {
    from: u64,
    /// Number of places, and their distance.
    places: u64,
    grain: u64,
    /// Whether addresses are re-referenced more often than if all places were equally likely.
    repeats: bool,
    /// If so, the share of requests to new places.
    new: f64,
}

/// The recent requests of a stream, latest first: where each began and ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent(VecDeque<(u64, u64)>);

impl Recent {
    pub(super) fn of(requests: &[Recorded]) -> Self {
        let last = requests.iter().rev().take(MOMENT);
        Self(last.map(|request| (request.offset.get(), request.end())).collect())
    }

    /// Beginning of the latest request.
    pub(super) fn begin(&self) -> Option<u64> {
        self.0.front().map(|(first, _)| *first)
    }

    fn push(&mut self, request: &NextRequest) {
        let first = request.offset.get();
        self.0.push_front((first, first + request.size.get()));
        self.0.truncate(MOMENT);
    }
}

impl Sample {
    /// The common behavior of streams that choose from the same addresses. No stream may be empty.
    pub(super) fn of(streams: &[&[Recorded]], volume: Bytes, draws: &mut Stream) -> Self {
        if let Some(way) = Way::in_order(streams, volume) {
            return Self { way, habits: Vec::new() };
        }
        let seen = Seen::of(streams);
        let (mut habits, mut chosen) = (Vec::new(), Vec::new());
        for requests in streams {
            let known = seen.habits(requests, draws);
            let choices =
                requests.iter().zip(&known).filter(|(_, habit)| **habit == Habit::Chooses);
            chosen.extend(choices.map(|(request, _)| Chosen {
                offset: request.offset.get(),
                size: request.size,
                op: request.op,
                range: 0,
            }));
            habits.push(known);
        }
        let until = streams.iter().flat_map(|requests| requests.iter()).map(Recorded::end).max();
        Self { way: Way::Drawn(Choices::of(chosen, until.unwrap_or(0))), habits }
    }

    /// The history of a new stream. Other streams begin at `others`. If the streams are sequential, the new
    /// one begins as far from them as possible.
    pub(super) fn begin(&self, like: &[Recorded], others: &[u64]) -> Recent {
        let Way::InOrder { from, until, gap } = self.way else { return Recent::default() };
        let (span, step) =
            ((until - from).max(1), gap + like.first().map_or(512, |one| u64::from(one.size)));
        let mut known: Vec<u64> = others.iter().map(|at| at.saturating_sub(from) % span).collect();
        known.sort_unstable();
        known.dedup();
        let next = known.iter().skip(1).copied().chain(known.first().map(|at| at + span));
        let apart = known.iter().zip(next).map(|(at, next)| (next - at, *at));
        // the first of equal gaps
        let widest = apart.max_by_key(|(apart, at)| (*apart, Reverse(*at)));
        let at = widest.map_or(0, |(apart, at)| (at + apart / 2) % span);
        let begin = from + at / step * step;
        Recent(VecDeque::from([(begin, begin.wrapping_sub(gap))]))
    }

    /// The next request of a stream with the history `recent`.
    ///
    /// `like`: the record of stream number `stream`. The request resembles number `index` of it,
    /// counted from its beginning and again from there at its end.
    pub(super) fn next(
        &self,
        like: &[Recorded],
        stream: usize,
        index: usize,
        recent: &mut Recent,
        draws: &mut Stream,
    ) -> NextRequest {
        // the behavior of a record's first request is unknown, because the record may begin anywhere
        let place = match like.len() {
            0 | 1 => 0,
            count => 1 + (index + count - 2) % (count - 1),
        };
        let request = &like[place];
        let next_request = |offset: u64, size: u32, op: Op| {
            let (offset, size) = (Bytes(offset), Bytes(u64::from(size)));
            NextRequest { op, offset, size }
        };
        let next = match &self.way {
            Way::InOrder { from, until, gap } => {
                let size = u64::from(request.size);
                let mut at = recent.0.front().map_or(*from, |(_, end)| end.wrapping_add(*gap));
                if at + size > *until {
                    let lane = at.saturating_sub(*from) % (size + gap).max(1);
                    at = from + (lane + size) % (size + gap).max(1);
                }
                next_request(at, request.size, request.op)
            }
            Way::Drawn(choices) => {
                let known = |back: u8| recent.0.get(usize::from(back) - 1);
                let offset = match self.habits[stream][place] {
                    Habit::Chooses => None,
                    Habit::Returns(back) => known(back).map(|(first, _)| *first),
                    Habit::Follows(back) => known(back).map(|(_, end)| *end),
                };
                let fits = |offset: &u64| offset + u64::from(request.size) <= choices.until;
                match offset.filter(fits) {
                    Some(offset) => next_request(offset, request.size, request.op),
                    None => choices.draw(draws),
                }
            }
        };
        recent.push(&next);
        next
    }
}

impl Way {
    /// The sequential order of streams, if all requests have the same distance from the previous one, and
    /// streams begin again at the end. If no stream was seen to begin again, the end is the end of the
    /// volume.
    fn in_order(streams: &[&[Recorded]], volume: Bytes) -> Option<Self> {
        let all = || streams.iter().flat_map(|requests| requests.iter());
        let pairs = || streams.iter().flat_map(|requests| requests.windows(2));
        let gap_of = |pair: &[Recorded]| pair[1].offset.get().checked_sub(pair[0].end());
        let mut gaps: HashMap<u64, usize, FixedState> = HashMap::default();
        for gap in pairs().filter_map(gap_of) {
            *gaps.entry(gap).or_default() += 1;
        }
        let found = gaps.iter().map(|(gap, count)| (*count, Reverse(*gap)));
        let (count, Reverse(gap)) = found.max()?;
        let from = all().map(|request| request.offset.get()).min()?;
        let until = all().map(Recorded::end).max()?;
        let lanes = gap + u64::from(all().next()?.size);
        let others = || pairs().filter(|pair| gap_of(pair) != Some(gap));
        let again = others().filter(|pair| pair[1].offset.get() <= from + lanes).count();
        let all_pairs = (count + others().count()) as f64;
        let is_in_order = count as f64 >= NEARLY_ALL * all_pairs
            && again as f64 >= NEARLY_ALL * (all_pairs - count as f64);
        let until = if again > 0 { until } else { until.max(volume.get()) };
        is_in_order.then_some(Self::InOrder { from, until, gap })
    }
}

/// Counts of recorded addresses, from which the effect of chance follows.
struct Seen {
    requests: f64,
    /// By address: number of requests that begin there, and that end there.
    begins: HashMap<u64, u32, FixedState>,
    ends: HashMap<u64, u32, FixedState>,
    /// Share of the requests that return, and share that follow, beyond chance.
    returns: f64,
    follows: f64,
}

/// Distances to the nearest recent request that one returns to, and that it follows.
type Nearest = (Option<u8>, Option<u8>);

impl Seen {
    fn of(streams: &[&[Recorded]]) -> Self {
        let mut this = Self {
            requests: 0.0,
            begins: HashMap::default(),
            ends: HashMap::default(),
            returns: 0.0,
            follows: 0.0,
        };
        for request in streams.iter().flat_map(|requests| requests.iter()) {
            this.requests += 1.0;
            *this.begins.entry(request.offset.get()).or_default() += 1;
            *this.ends.entry(request.end()).or_default() += 1;
        }
        let (mut returns, mut follows) = (Excess::default(), Excess::default());
        for requests in streams {
            for (request, (back, behind)) in requests.iter().zip(nearest(requests)) {
                let offset = request.offset.get();
                returns.add(back.is_some(), this.chance_to_return(offset));
                follows.add(behind.is_some(), this.chance_to_follow(offset));
            }
        }
        (this.returns, this.follows) = (returns.share(), follows.share());
        this
    }

    /// The probability that a recent request had this address, if all requests are independent.
    fn chance_to_return(&self, offset: u64) -> f64 {
        within_a_moment((f64::from(self.begins[&offset]) - 1.0) / self.requests)
    }

    /// The probability that a recent request ended at this address, if all requests are independent.
    fn chance_to_follow(&self, offset: u64) -> f64 {
        within_a_moment(f64::from(self.ends.get(&offset).copied().unwrap_or(0)) / self.requests)
    }

    /// The behavior of each request of a stream.
    fn habits(&self, requests: &[Recorded], draws: &mut Stream) -> Vec<Habit> {
        let mut habits = Vec::with_capacity(requests.len());
        for (request, (back, behind)) in requests.iter().zip(nearest(requests)) {
            let offset = request.offset.get();
            // keeps only the share of returning (or following) requests that is beyond chance
            let mut for_a_reason = |share: f64, chance: f64| {
                let reason = share / (share + (1.0 - share) * chance).max(f64::MIN_POSITIVE);
                reason > NEARLY_ALL || draws.chance(reason)
            };
            let back = back.filter(|_| for_a_reason(self.returns, self.chance_to_return(offset)));
            let behind =
                behind.filter(|_| for_a_reason(self.follows, self.chance_to_follow(offset)));
            habits.push(match (back, behind) {
                (Some(back), Some(behind)) if behind < back => Habit::Follows(behind),
                (Some(back), _) => Habit::Returns(back),
                (None, Some(behind)) => Habit::Follows(behind),
                (None, None) => Habit::Chooses,
            });
        }
        habits
    }
}

/// The probability that at least one recent request is of a kind that is this share of all requests.
fn within_a_moment(share: f64) -> f64 {
    1.0 - libm::pow(1.0 - share.clamp(0.0, 1.0), MOMENT as f64)
}

/// Number of requests that return or follow, compared with chance.
#[derive(Default)]
struct Excess {
    seen: f64,
    by_chance: f64,
    all: f64,
}

impl Excess {
    fn add(&mut self, seen: bool, chance: f64) {
        self.seen += f64::from(u8::from(seen));
        self.by_chance += chance;
        self.all += 1.0;
    }

    /// The share of all requests that is beyond chance.
    fn share(&self) -> f64 {
        let share = (self.seen - self.by_chance) / (self.all - self.by_chance).max(1.0);
        if share < NEGLIGIBLE { 0.0 } else { share.min(1.0) }
    }
}

/// For each request of a stream: the recent requests that it returns to and follows.
fn nearest(requests: &[Recorded]) -> impl Iterator<Item = Nearest> + '_ {
    let mut begun: HashMap<u64, usize, FixedState> = HashMap::default();
    let mut ended: HashMap<u64, usize, FixedState> = HashMap::default();
    requests.iter().enumerate().map(move |(index, request)| {
        let offset = request.offset.get();
        let distance = |last: Option<&usize>| {
            last.map(|last| index - last).filter(|back| *back <= MOMENT).map(|back| back as u8)
        };
        let found = (distance(begun.get(&offset)), distance(ended.get(&offset)));
        begun.insert(offset, index);
        ended.insert(request.end(), index);
        found
    })
}

impl Choices {
    fn of(mut chosen: Vec<Chosen>, until: u64) -> Self {
        let grain = chosen.iter().map(|one| one.offset).fold(0, gcd).max(512);
        // a stable sort: equal addresses keep their order
        chosen.sort_by_key(|one| one.offset);
        let mut ranges = Vec::new();
        let mut first = 0;
        while first < chosen.len() {
            // a range grows by whole addresses
            let (mut end, mut counts) = (first, Vec::new());
            while end < chosen.len() {
                let at = chosen[end].offset;
                let same = chosen[end..].iter().take_while(|next| next.offset == at).count();
                if !counts.is_empty() && (same >= OFTEN || end - first >= TOGETHER) {
                    break;
                }
                end += same;
                counts.push(same);
                if same >= OFTEN {
                    break;
                }
            }
            let number = ranges.len() as u32;
            chosen[first..end].iter_mut().for_each(|one| one.range = number);
            // a few addresses do not show the distance between places
            let from = chosen[first].offset;
            let apart = chosen[first..end].iter().map(|one| one.offset - from).fold(0, gcd);
            let grain = if counts.len() < FEW { grain } else { apart.max(512) };
            // up to the next range
            let last = match chosen.get(end) {
                Some(next) if counts.len() > 1 => next.offset - 1,
                _ => chosen[end - 1].offset,
            };
            ranges.push(AddressRange::of(from, last, grain, &counts));
            first = end;
        }
        Self { chosen, ranges, until }
    }

    fn draw(&self, draws: &mut Stream) -> NextRequest {
        let like = self.chosen[draws.below(self.chosen.len() as u64) as usize];
        let range = self.ranges[like.range as usize];
        let offset = if range.repeats && !draws.chance(range.new) {
            like.offset
        } else {
            range.from + draws.below(range.places) * range.grain
        };
        NextRequest { op: like.op, offset: Bytes(offset), size: Bytes(u64::from(like.size)) }
    }
}

impl AddressRange {
    /// `counts`: the number of requests to each recorded address.
    fn of(from: u64, last: u64, grain: u64, counts: &[usize]) -> Self {
        let places = last.saturating_sub(from) / grain + 1;
        let requests: usize = counts.iter().sum();
        // expected number of distinct addresses if all places were equally likely
        let alike = places as f64 * (1.0 - libm::pow(1.0 - 1.0 / places as f64, requests as f64));
        let single = counts.iter().filter(|&&count| count == 1).count();
        Self {
            from,
            places,
            grain,
            repeats: (counts.len() as f64) < 0.8 * alike,
            new: single as f64 / requests as f64,
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
